# ===- gradients.py - Tests of the backward ---------------------------------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Properties of the gradients, and random problems, on the CPU and on a GPU.

Tiles by hand are those of both kernels: the rows of dq are the queries of a query
tile, those of dk and dv the keys of a key tile, and a warpgroup's share divides
both.
"""

import numpy as np

import reference
import sweep
from harness import PIPELINES, Job, Test
from problems import (
    Data,
    Problem,
    check_reference,
    eighths,
    random_inputs,
    with_dtype,
    with_known_output,
)
from probes import differs, flat, mask_problems, unflat

CPU_DTYPES = ("f32", "bf16", "f16", "f64")
CUDA_DTYPES = ("bf16", "f16", "tf32")
EPSILON = {"f64": 2.0**-52, "f32": 2.0**-23, "tf32": 2.0**-10, "f16": 2.0**-10}
EPSILON["bf16"] = 2.0**-7


class Maker:
    """Makes tests of one pipeline; `target` has the flags of a GPU."""

    def __init__(self, pipeline, seed, target):
        self.pipeline, self.seed, self.target = pipeline, seed, target
        self.dtypes = CUDA_DTYPES if target else CPU_DTYPES
        # The plain loops have no tensor cores to round for.
        if target and pipeline == "naive":
            self.dtypes = CUDA_DTYPES[:2]
        self.number = 0

    def rng(self):
        self.number += 1
        return np.random.default_rng([self.seed, 12, self.number])

    def test(self, name, problem, make=random_inputs, check=None, tiles=()):
        """Against the reference, unless a check of the data and outputs is given.

        Without tiles they are random, on a GPU the compiler's.
        """
        rng = self.rng()
        data = Data(problem, [self.seed, 13, self.number], make)
        job = Job(data, self.pipeline, target=self.target)
        if not self.target:
            job.threads, job.opt_level = 1 + self.number % 3, 1
        if self.pipeline != "naive":
            if tiles:
                job.query_tile, job.key_tile = tiles
            elif not self.target:
                set_cpu_tiles(rng, job)
        check = check or check_reference
        return Test(
            f"gradients/{name}/{problem.dtype}/{self.pipeline}",
            [job],
            lambda outputs: check(data, outputs),
        )


def set_cpu_tiles(rng, job):
    """Random tiles, some for a GPU, whose form of the program runs here too."""
    problem = job.data.problem
    job.query_tile, job.key_tile = sweep.random_tiles(rng, problem)
    if rng.random() < 0.4:
        job.schedule_target = str(rng.choice(sweep.GPUS))
        if job.query_tile and job.pipeline == "fused" and rng.random() < 0.6:
            job.query_tile, own = sweep.split_tile(rng, job.query_tile)
            job.key_tile, job.warpgroup_tile = list(own), own
            job.key_tile[rng.integers(len(own))] *= int(rng.integers(1, 4))


# ===------------------------------------------------------------------------===#
# The inverse mask
# ===------------------------------------------------------------------------===#


def probed_queries(problem, batch, head):
    """The queries whose output has a gradient, as many as have a channel each."""
    group = problem.heads // problem.kv_heads
    count = min(problem.tokens, problem.value_dim // group)
    order = np.random.default_rng([7, batch, head]).permutation(problem.tokens)
    return order[:count]


def first_channel(problem, head):
    group = problem.heads // problem.kv_heads
    return head % group * (problem.value_dim // group)


def one_hot_inputs(problem, rng):
    """All logits are 0; the gradient of a probed query's output is one-hot."""
    made = random_inputs(problem, rng)
    made["q"] *= 0
    made["k"] *= 0
    rows = (problem.batch, problem.tokens, problem.heads, problem.value_dim)
    grads = np.zeros(rows)
    for batch in range(problem.batch):
        for head in range(problem.heads):
            queries = probed_queries(problem, batch, head)
            channels = first_channel(problem, head) + np.arange(len(queries))
            grads[batch, queries, head, channels] = 1
    made["do"] = unflat(grads, problem.shape)
    return made


def check_inverse_mask(data, outputs):
    """dV is 1/count on exactly the keys that a query sees, 0 elsewhere."""
    problem = data.problem
    rank = len(problem.shape)
    mask = problem.mask()
    count = mask.sum(axis=1)
    want = np.zeros((problem.batch, problem.tokens, problem.kv_heads, problem.value_dim))
    for batch in range(problem.batch):
        for head in range(problem.heads):
            queries = probed_queries(problem, batch, head)
            channels = first_channel(problem, head) + np.arange(len(queries))
            key_head = head * problem.kv_heads // problem.heads
            weights = (mask / count[:, None])[queries]
            want[batch, :, key_head, channels] = weights
    got = flat(outputs["dv"], rank)
    if not np.isfinite(got).all():
        return "dv is not finite"
    message = differs((got != 0) * 1.0, (want != 0) * 1.0, "dv != 0")
    # Weights come from an exponential of the LSE.
    limit = 2 * EPSILON[problem.dtype] + 8 * EPSILON[problem.lse_dtype]
    wrong = ~(np.abs(got - want) <= limit * want)
    if not message and wrong.any():
        at = tuple(np.argwhere(wrong)[0])
        message = f"dv: {got[at]!r} instead of {want[at]!r} at {list(map(int, at))}"
    return message or next(
        filter(None, (differs(outputs[n], 0 * outputs[n], n) for n in ("dq", "dk"))),
        None,
    )


def inverse_masks(maker):
    problems = mask_problems()
    problems.insert(9, Problem([33, 20], [16, 7], [1, 3], [2, 1], [True, True]))
    for number, problem in enumerate(problems):
        for group in (1, 3):
            # The other pipelines have no tiles to get wrong.
            if maker.pipeline != "fused" and (number + group) % 4:
                continue
            dtype = maker.dtypes[(number + group) % len(maker.dtypes)]
            sized = problem.replace(
                batch=2, heads=2 * group, kv_heads=2, head_dim=16, dtype=dtype
            )
            # A multiple of 16, which kernels with tensor cores need.
            sized = sized.replace(value_dim=48 if group == 3 else 64, backward=True)
            yield maker.test(
                f"mask/{number}/group={group}",
                sized,
                one_hot_inputs,
                check_inverse_mask,
            )


# ===------------------------------------------------------------------------===#
# Values
# ===------------------------------------------------------------------------===#


def check_no_gradient(data, outputs):
    """V is constant: dQ and dK are 0 to rounding, and no weight is above 1."""
    problem = data.problem
    values = data.values()
    dots = problem.value_dim * np.abs(values["do"]).max() * np.abs(values["v"]).max()
    scale = abs(problem.scale or problem.head_dim**-0.5)
    limit = reference.TOLERANCES[problem.dtype][1] * dots * scale
    for name, other in (("dq", "k"), ("dk", "q")):
        largest = np.abs(outputs[name]).max()
        if not largest <= limit * np.abs(values[other]).max():
            return f"{name}: {largest:.2e} instead of 0"
    seen = problem.mask().sum(axis=0).reshape(1, -1, 1, 1)
    most = seen * (problem.heads // problem.kv_heads) * np.abs(values["do"]).max()
    got = np.abs(flat(outputs["dv"], len(problem.shape)))
    if not (got <= 1.05 * most).all():
        return f"dv: {np.nanmax(got / most):.2e} times what weights of 1 give"
    return None


def constants(maker):
    """V constant, and all inputs 1e4, whose logits are all equal."""

    def constant_values(problem, rng):
        made = random_inputs(problem, rng)
        made["v"][...] = eighths(rng, (problem.value_dim,), 1, 2)
        return made

    def all_constant(problem, _):
        made = {n: np.full(s, 1e4) for n, (s, _) in problem.input_types().items()}
        # The sum over a window of queries must not be too large for f16.
        made["do"] /= 100
        return made

    def check_finite(_, outputs):
        for name, got in outputs.items():
            if not np.isfinite(got).all():
                return f"{name} is not finite"
        return None

    for number, problem in enumerate(
        [
            Problem([33], [9], batch=2, heads=2),
            Problem([9, 10], [4, 5], [2, 1], causal=[False, True], heads=2, kv_heads=1),
        ]
    ):
        for dtype in maker.dtypes:
            if maker.pipeline != "fused" and number:
                continue
            sized = problem.replace(dtype=dtype, backward=True)
            name = f"constant-v/{number}"
            yield maker.test(name, sized, constant_values, check_no_gradient)
            # The logits are exact: squares times a power of two. An LSE of 2e5
            # has 6 bits behind the point; one of 8e8 has none, and the weights
            # are what is left of a difference of such numbers.
            name = f"constant-1e4/{number}"
            sized = sized.replace(scale=2.0**-14 * (-1) ** number)
            yield maker.test(name, sized, all_constant, check_no_gradient)
            if dtype != "f16":
                sized = sized.replace(scale=0.25 * (-1) ** number)
                yield maker.test(name + "/large", sized, all_constant, check_finite)


# ===------------------------------------------------------------------------===#
# Shapes
# ===------------------------------------------------------------------------===#


def edges(maker):
    """A tile and one more, no batch, all operands, against the reference."""
    cases = {
        "tile+1": (Problem([65], [9]), [16], [16]),
        "2*tile+1": (Problem([129], [70]), [64], [32]),
        "tile+1-causal": (Problem([49], [20], causal=[True]), [16], [48]),
        "tile+1-strided": (Problem([33], [9], [4]), [32], [16]),
        "tile+1-dilated": (Problem([97], [5], dilation=[3]), [32], [16]),
        "2-axes": (Problem([9, 17], [5, 6], causal=[True, False]), [8, 8], [4, 16]),
        "3-axes": (Problem([5, 9, 5], [3, 4, 3]), [4, 4, 4], [2, 8, 2]),
        "window=length": (Problem([12, 11], [12, 11]), [8, 8], [4, 8]),
        "window*dilation=length": (Problem([24], [8], dilation=[3]), [16], [16]),
        "no-batch": (Problem([33], [9], batch=0), [16], [16]),
        "no-batch-2": (Problem([9, 17], [5, 6], batch=0), [8, 8], [4, 16]),
    }
    for number, (name, (problem, *tiles)) in enumerate(cases.items()):
        dtype = maker.dtypes[number % len(maker.dtypes)]
        sized = problem.replace(heads=4, kv_heads=2, head_dim=32, backward=True)
        if problem.batch:
            sized = sized.replace(batch=2)
        sized = with_dtype(sized, dtype)
        if maker.pipeline == "fused":
            yield maker.test(f"edges/{name}", sized, tiles=tiles)
        bias = "f64" if dtype == "f64" else "f32"
        sized = sized.replace(extra_kv=17, bias=bias, lse_grad=True)
        yield maker.test(f"edges/{name}/all", sized, tiles=tiles)


# ===------------------------------------------------------------------------===#
# Finite differences
# ===------------------------------------------------------------------------===#


def check_differences(data, outputs):
    """Derivatives along random directions, of the reference's forward."""
    problem = data.problem
    values = dict(data.values())
    grad, lse_grad = values.pop("do"), values.pop("dlse")
    rng = data.rng(4)

    def loss(name, moved):
        o, lse = reference.attention(
            **{**values, name: moved}, **problem.windows, scale=problem.scale
        )
        return (o * grad).sum() + (lse * lse_grad).sum()

    for name, gradient in outputs.items():
        name = name[1:]
        direction = rng.standard_normal(values[name].shape)
        step = 1e-3 / max(np.abs(direction).max(), 1)
        # Of fourth order.
        near, far = (
            loss(name, values[name] + s * step * direction)
            - loss(name, values[name] - s * step * direction)
            for s in (1, 2)
        )
        slope = (8 * near - far) / (12 * step)
        got = (gradient * direction).sum()
        # What rounding leaves of a difference of losses, and the order's error.
        size = np.abs(grad).sum() * np.abs(values["v"]).max() + np.abs(lse_grad).sum()
        limit = 1e-8 * np.linalg.norm(gradient) * np.linalg.norm(direction)
        limit += 1e-14 * size / step
        if not abs(got - slope) <= limit:
            return f"d{name}: slope {got!r} instead of {slope!r} (limit {limit:.1e})"
    return None


def finite_differences(maker):
    """Random small problems in f64, with all operands."""
    if maker.target:
        return
    for number in range(20):
        # Each on one pipeline.
        if PIPELINES[number % 3] != maker.pipeline:
            continue
        rng = np.random.default_rng([maker.seed, 14, number])
        problem = sweep.random_problem(rng)
        scale = problem.scale
        problem = problem.replace(
            dtype="f64",
            bias="f64" if number % 2 else None,
            extra_kv=number % 3,
            batch=max(problem.batch, 1),
            scale=None if scale is None or abs(scale) > 0.5 else scale,
            backward=True,
            lse_grad=True,
        )
        yield maker.test(f"differences/{number}", problem, check=check_differences)


# ===------------------------------------------------------------------------===#
# Many channels
# ===------------------------------------------------------------------------===#


def many_channels(maker):
    """Registers hold the sum of the keys or that of the values, not both.

    On the CPU with tiles of a GPU, which make two programs of one; on a GPU with
    the compiler's.
    """
    if maker.pipeline != "fused":
        return
    cases = {
        "warps": (Problem([70], [23]), 256, 256, "sm_80", [16], [32], None),
        "warps/2-axes": (
            Problem([9, 17], [5, 6], [2, 1], causal=[False, True]),
            256, 128, "sm_80", [4, 4], [4, 16], None,
        ),
        "warps/bias": (
            Problem([50], [9], dilation=[2], bias="f32"),
            192, 192, "sm_90", [16], [16], None,
        ),
        "warpgroups": (
            Problem([130], [41], causal=[True]), 256, 256, "sm_90a", [64], [64], [64],
        ),
        "warpgroups/2-axes": (
            Problem([16, 20], [7, 6], bias="f32"),
            208, 240, "sm_90a", [8, 8], [8, 8], [8, 8],
        ),
    }
    for number, (name, case) in enumerate(cases.items()):
        problem, head, value, chip, queries, keys, warpgroup = case
        sized = with_dtype(
            problem.replace(
                heads=4,
                kv_heads=2,
                head_dim=head,
                value_dim=value,
                backward=True,
            ),
            ("bf16", "f16")[number % 2],
        )
        tiles = () if maker.target else (queries, keys)
        test = maker.test(f"many-channels/{name}", sized, tiles=tiles)
        if not maker.target:
            test.jobs[0].schedule_target = chip
            test.jobs[0].warpgroup_tile = warpgroup
        yield test


PROBES = (inverse_masks, constants, edges, finite_differences, many_channels)


def probes(pipelines, seed, target=()):
    result = []
    for probe in PROBES:
        for pipeline in pipelines:
            result += probe(Maker(pipeline, seed, target))
    return result


# ===------------------------------------------------------------------------===#
# Random problems
# ===------------------------------------------------------------------------===#


def backward_of(rng, problem):
    """The problem's gradients, with an LSE that has one or not."""
    problem = with_known_output(
        problem.replace(backward=True, lse=True, lse_grad=bool(rng.random() < 0.3))
    )
    # The reference has no time for all of the output.
    if problem.reads_output and Data(problem, [0]).rows() is not None:
        problem = problem.replace(reads_output=False, scale=None)
    return problem


def tests(pipelines, seed, count):
    """`count` problems on the CPU, each on one of the pipelines."""
    weights = {"naive": 1, "unfused": 2, "fused": 5}
    chance = np.array([weights[p] for p in pipelines], float)
    result = []
    for number in range(count):
        rng = np.random.default_rng([seed, 15, number])
        problem = backward_of(rng, sweep.random_problem(rng))
        # Rows of a few channels that cancel have no relative accuracy.
        if problem.dtype in ("bf16", "f16"):
            problem = with_known_output(
                problem.replace(
                    head_dim=max(problem.head_dim, 8),
                    value_dim=max(problem.value_dim, 8),
                )
            )
        pipeline = str(rng.choice(pipelines, p=chance / chance.sum()))
        data = Data(problem, [seed, 16, number])
        job = Job(data, pipeline, threads=int(rng.integers(1, 4)))
        if pipeline != "naive":
            set_cpu_tiles(rng, job)
        job.vector_bits = [None, None, 128, 256][rng.integers(4)]
        result.append(
            Test(
                f"gradients/sweep[{number}]/{pipeline}",
                [job],
                lambda outputs, data=data: check_reference(data, outputs),
            )
        )
    return result


SHARED_BYTES = 90 << 10


def fits_warps(problem, queries, keys):
    """Whether tiles of so many tokens suit kernels of mma.sync."""
    head, value = problem.head_dim, problem.value_dim
    size = 4 if problem.dtype == "tf32" else 2
    registers = 84 + 40 * bool(problem.bias)
    shared = size * (head + value) * max(queries + 2 * keys, keys + 2 * queries)
    return shared <= SHARED_BYTES and 255 >= registers + max(
        head / 2 + 1.25 * keys, (head + value) / 2 + 1.25 * queries
    )


def fits_warpgroups(problem, queries, keys):
    """Whether consumers of 64 rows each can hold tiles of so many tokens."""
    head, value = problem.head_dim, problem.value_dim
    registers = {1: 240, 2: 240, 3: 160}
    start = {1: 256, 2: 168, 3: 128}
    for rows, columns, carried in (
        (queries, keys, head / 2),
        (keys, queries, (head + value) / 2),
    ):
        groups = rows // sweep.WARPGROUP
        if (
            carried + 1.25 * columns + 32 > registers[groups]
            or max(columns, head, value) / 2 + 30 > start[groups]
            or 2 * (head + value) * (rows + 2 * columns) > sweep.SHARED_BYTES
        ):
            return False
    return True


def legal_tiles(problem, warpgroups):
    """(queries, keys) of the tiles that fit a multiprocessor."""
    sizes = range(64, 193, 64) if warpgroups else (16, 32, 48, 64, 96, 128)
    fits = fits_warpgroups if warpgroups else fits_warps
    return [(q, k) for q in sizes for k in sizes if fits(problem, q, k)]


def cuda_problem(rng, warpgroups):
    problem = sweep.hopper_problem(rng)
    head_dim = 128 if rng.random() < 0.3 else 16 * int(rng.integers(1, 9))
    value_dim = head_dim
    if rng.random() < 0.3:
        value_dim = 16 * int(rng.integers(1, 9))
    dtype = problem.dtype
    if not warpgroups and rng.random() < 0.2:
        dtype = "tf32"
    bias = problem.bias and ("f32" if dtype == "tf32" else problem.bias)
    problem = problem.replace(
        head_dim=head_dim, value_dim=value_dim, dtype=dtype, bias=bias
    )
    if not legal_tiles(problem, warpgroups):
        problem = problem.replace(head_dim=64, value_dim=64)
    return backward_of(rng, problem)


def cuda_tiles(rng, problem, warpgroups):
    """(query tile, key tile, warpgroup tile), the last None without any."""
    rank = len(problem.shape)
    legal = legal_tiles(problem, warpgroups)
    queries, keys = legal[rng.integers(len(legal))]
    if not warpgroups:
        boxes = (sweep.random_box(rng, n, rank) for n in (queries, keys))
        return *boxes, None
    own = sweep.random_box(rng, sweep.WARPGROUP, rank)
    query, key = list(own), list(own)
    query[rng.integers(rank)] *= queries // sweep.WARPGROUP
    key[rng.integers(rank)] *= keys // sweep.WARPGROUP
    return query, key, own


def cuda_tests(target, chip, seed, count):
    """`count` fused problems with random tiles, of warps and of warpgroups."""
    result = []
    for number in range(count):
        rng = np.random.default_rng([seed, 17, number])
        warpgroups = chip == "sm_90a" and number % 2 == 0
        problem = cuda_problem(rng, warpgroups)
        data = Data(problem, [seed, 18, number])
        job = Job(data, "fused", target=target)
        tiles = cuda_tiles(rng, problem, warpgroups)
        job.query_tile, job.key_tile, job.warpgroup_tile = tiles
        kind = "warpgroups" if warpgroups else "warps"
        result.append(
            Test(
                f"gradients/{kind}[{number}]/fused",
                [job],
                lambda outputs, data=data: check_reference(data, outputs),
            )
        )
    return result
