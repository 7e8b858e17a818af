# ===- sweep.py - Random problems -------------------------------------------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Small random problems, with random tiles, against the reference.

Some tiles are those of a GPU's schedule, whose form of the tiled program runs on
the CPU too.
"""

import math

import numpy as np

from harness import Job, Test
from problems import Data, Problem, check_reference

# The longest axis by rank.
LENGTHS = {1: 100, 2: 24, 3: 10}
# Tokens per tile that a GPU would take, cut into boxes.
GPU_QUERIES, GPU_KEYS = 128, 176
# GPUs whose form of the tiled program is run on the CPU as well.
GPUS = ("sm_80", "sm_90")
# Scales whose products with the data's dots are exact where they are large.
SCALES = [0.0, -0.5, -0.125, 0.01, 1.0]


def random_axis(rng, longest):
    """(length, window, stride, dilation, causal), the edges of the rules often."""
    length = int(rng.integers(1, longest + 1))
    dilation = 1 if rng.random() < 0.5 else int(rng.integers(1, min(length, 6) + 1))
    most = length // dilation
    window = most if rng.random() < 0.15 else int(rng.integers(1, most + 1))
    kind = rng.random()
    if kind < 0.4:
        stride = 1
    elif kind < 0.55:
        stride = window
    else:
        stride = int(rng.integers(1, window + 1))
    if rng.random() < 0.1:
        length = window * dilation
    return length, window, stride, dilation, bool(rng.random() < 0.4)


def random_problem(rng):
    rank = int(rng.choice([1, 2, 3], p=[0.35, 0.35, 0.3]))
    axes = [random_axis(rng, LENGTHS[rank]) for _ in range(rank)]
    shape, window, stride, dilation, causal = map(list, zip(*axes))
    dtype = str(rng.choice(["f32", "bf16", "f16", "f64"], p=[0.4, 0.3, 0.15, 0.15]))

    def channels():
        if rng.random() < 0.5:
            return int(rng.choice([8, 16, 32, 64]))
        return int(rng.integers(1, 41))

    head_dim = channels()
    kv_heads = int(rng.integers(1, 4))
    bias = None
    if rng.random() < 0.3:
        bias = "f64" if dtype == "f64" else str(rng.choice(["f32", dtype]))
    scales = [None] * 5 + SCALES
    return Problem(
        shape,
        window,
        stride,
        dilation,
        causal,
        batch=int(rng.choice([0, 1, 2, 3], p=[0.02, 0.5, 0.38, 0.1])),
        heads=kv_heads * int(rng.integers(1, 4)),
        kv_heads=kv_heads,
        head_dim=head_dim,
        value_dim=head_dim if rng.random() < 0.5 else channels(),
        extra_kv=int(rng.integers(1, 10)) if rng.random() < 0.25 else 0,
        bias=bias,
        scale=scales[rng.integers(len(scales))],
        dtype=dtype,
        lse=bool(rng.random() < 0.9),
        dynamic=bool(rng.random() < 0.25),
    )


def random_box(rng, tokens, rank):
    """A box of exactly so many tokens."""
    box = [1] * rank
    for factor in (f for f in range(2, tokens + 1) if tokens % f == 0):
        while tokens % factor == 0:
            box[rng.integers(rank)] *= factor
            tokens //= factor
    return box


def random_tiles(rng, problem):
    """(query tile, key tile), or (None, None) for the compiler's choice."""
    rank = len(problem.shape)
    kind = rng.random()
    if kind < 0.35:
        return None, None
    if kind < 0.5:
        return random_box(rng, GPU_QUERIES, rank), random_box(rng, GPU_KEYS, rank)

    def tile():
        box = []
        for length in problem.shape:
            # Larger than the axis, or one less so that a tile of one is left.
            most = min(length + 4, math.ceil(200 ** (1 / rank)))
            exact = max(1, (length - 1) // max(1, int(rng.integers(1, 5))))
            box.append(
                min(exact, most)
                if rng.random() < 0.3
                else int(rng.integers(1, most + 1))
            )
        return box

    return tile(), tile()


def split_tile(rng, query):
    """A query tile of up to three warpgroups, of as many tokens or fewer each."""
    own = list(query)
    axis = int(rng.integers(len(query)))
    own[axis] = max(1, query[axis] // int(rng.integers(1, 4)))
    query = list(own)
    query[axis] *= int(rng.integers(1, 4))
    return query, own


def random_heads(rng, problem):
    """Query heads that share a tile."""
    if len(problem.shape) > 2 or problem.bias:
        return 1
    group = problem.heads // problem.kv_heads
    return int(rng.choice([n for n in range(1, group + 1) if group % n == 0]))


def tests(pipelines, seed, count):
    """`count` problems, each on one of the pipelines."""
    weights = {"naive": 1, "unfused": 2, "fused": 4}
    chance = np.array([weights[p] for p in pipelines], float)
    result = []
    for number in range(count):
        rng = np.random.default_rng([seed, 7, number])
        problem = random_problem(rng)
        pipeline = str(rng.choice(pipelines, p=chance / chance.sum()))
        tiles = (None, None)
        gpu = None
        if pipeline != "naive":
            tiles = random_tiles(rng, problem)
            gpu = str(rng.choice(GPUS)) if rng.random() < 0.35 else None
        if gpu and rng.random() < 0.15:
            # Values in chunks, of which the last overlaps the one before.
            problem = problem.replace(value_dim=int(rng.integers(257, 600)))
        if gpu and problem.dtype in ("bf16", "f16") and problem.value_dim < 8:
            # Weights are rounded to the type of the values: a row of a few
            # channels that cancel has no relative accuracy.
            problem = problem.replace(value_dim=problem.value_dim + 8)
        data = Data(problem, [seed, 8, number])
        job = Job(data, pipeline, *tiles, threads=int(rng.integers(1, 4)))
        job.schedule_target = gpu
        # Code for narrower registers than the host's, which other hosts run.
        job.vector_bits = [None, None, 128, 256][rng.integers(4)]
        if gpu and tiles[0] and pipeline == "fused" and rng.random() < 0.6:
            job.query_tile, job.warpgroup_tile = split_tile(rng, job.query_tile)
        if tiles[0] and pipeline == "fused":
            job.heads_per_tile = random_heads(rng, problem)
        result.append(
            Test(
                f"sweep[{number}]/{pipeline}",
                [job],
                lambda outputs, data=data: check_reference(data, outputs),
            )
        )
    return result


# ===------------------------------------------------------------------------===#
# Warpgroups of Hopper
# ===------------------------------------------------------------------------===#

HOPPER_LENGTHS = {1: 700, 2: 44, 3: 17}
# Queries of a warpgroup, bytes of shared memory, registers of a thread for
# scores, weights and accumulator by the number of warpgroups.
WARPGROUP, SHARED_BYTES = 64, 220 << 10
REGISTERS = {1: 190, 2: 190, 3: 110}


def hopper_problem(rng):
    """A problem in the scope of kernels with warpgroups."""
    rank = int(rng.integers(1, 4))
    axes = [random_axis(rng, HOPPER_LENGTHS[rank]) for _ in range(rank)]
    shape, window, stride, dilation, causal = map(list, zip(*axes))
    # Such kernels are for dilations that divide the length.
    shape = [-(-n // d) * d for n, d in zip(shape, dilation)]
    kv_heads = int(rng.integers(1, 3))
    head_dim = 128 if rng.random() < 0.5 else 16 * int(rng.integers(1, 17))
    dtype = str(rng.choice(["bf16", "f16"]))
    scales = [None] * 5 + SCALES
    return Problem(
        shape,
        window,
        stride,
        dilation,
        causal,
        batch=int(rng.integers(1, 4)),
        heads=kv_heads * int(rng.integers(1, 4)),
        kv_heads=kv_heads,
        head_dim=head_dim,
        value_dim=head_dim,
        extra_kv=int(rng.integers(1, 300)) if rng.random() < 0.3 else 0,
        bias=str(rng.choice(["f32", dtype])) if rng.random() < 0.25 else None,
        scale=scales[rng.integers(len(scales))],
        dtype=dtype,
        lse=bool(rng.random() < 0.9),
        # Only tokens must be static for the boxes of the TMA.
        dynamic_batch=bool(rng.random() < 0.25),
    )


def share_tiles(rng, problem):
    """(problem, heads): one with tiles of several heads, where it can have any."""
    if len(problem.shape) > 2 or problem.bias or rng.random() < 0.4:
        return problem, 1
    heads = 2 ** int(rng.integers(1, 5))
    group = heads * int(rng.integers(1, 3))
    return problem.replace(heads=problem.kv_heads * group), heads


def hopper_tiles(rng, problem, heads):
    """(query tile, key tile, warpgroup tile) that fit a multiprocessor."""
    rank, depth = len(problem.shape), problem.head_dim
    # Accumulators of many channels leave no room for a third warpgroup.
    groups = int(rng.integers(1, 4 if depth <= 128 else 3))
    own = random_box(rng, WARPGROUP // heads, rank)
    query = list(own)
    query[rng.integers(rank)] *= groups
    fits = [
        keys
        for keys in range(16, 257, 16)
        if 3 * keys / 4 + depth / 2 <= REGISTERS[groups]
        and 2 * depth * (WARPGROUP * groups + 4 * keys) <= SHARED_BYTES
    ]
    return query, random_box(rng, int(rng.choice(fits)), rank), own


def hopper_tests(target, seed, count):
    """`count` fused problems with random schedules of warpgroups."""
    result = []
    for number in range(count):
        rng = np.random.default_rng([seed, 9, number])
        problem, heads = share_tiles(rng, hopper_problem(rng))
        data = Data(problem, [seed, 10, number])
        job = Job(data, "fused", target=target)
        tiles = hopper_tiles(rng, problem, heads)
        job.query_tile, job.key_tile, job.warpgroup_tile = tiles
        job.heads_per_tile = heads
        result.append(
            Test(
                f"hopper[{number}]/fused",
                [job],
                lambda outputs, data=data: check_reference(data, outputs),
            )
        )
    return result
