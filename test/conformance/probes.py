# ===- probes.py - Exact properties of the forward pass ---------------------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Properties that hold exactly or to rounding, and shapes at edges of tiles.

A probe is a generator of tests for one pipeline. `visible` of window_oracle.py
says who sees whom; nothing here is compared with another path of the compiler,
except outputs that must be permutations or shifts of each other.
"""

import itertools

import numpy as np

import reference
from harness import Job, Test
from problems import (
    Data,
    Problem,
    check_reference,
    compare,
    eighths,
    random_inputs,
    rounded,
    with_dtype,
)
from sweep import random_tiles
from window_oracle import visible

DTYPES = ("f32", "bf16", "f16", "f64")
EPSILON = {"f32": 2.0**-23, "f64": 2.0**-52}


def flat(array, rank):
    """[B, X.., H, ..] as [B, tokens, H, ..]."""
    return array.reshape(array.shape[0], -1, *array.shape[1 + rank :])


def unflat(array, shape):
    return array.reshape(array.shape[0], *shape, *array.shape[2:])


class Maker:
    """Makes tests of one pipeline; what is random comes from the seed."""

    def __init__(self, pipeline, seed):
        self.pipeline = pipeline
        self.seed = seed
        self.number = 0

    def rng(self):
        self.number += 1
        return np.random.default_rng([self.seed, 9, self.number])

    def job(self, data, tiles=None):
        """`tiles` is a (query tile, key tile), None for random ones."""
        self.number += 1
        if self.pipeline == "naive":
            tiles = (None, None)
        elif tiles is None:
            tiles = random_tiles(self.rng(), data.problem)
        threads = 1 + self.number % 3
        return Job(data, self.pipeline, *tiles, threads=threads, opt_level=1)

    def data(self, problem, make=random_inputs):
        self.number += 1
        return Data(problem, [self.seed, 10, self.number], make)

    def test(self, name, jobs, check):
        return Test(f"probes/{name}/{self.pipeline}", jobs, check)

    def against_reference(self, name, problem, make=random_inputs, tiles=None):
        data = self.data(problem, make)
        return self.test(
            name,
            [self.job(data, tiles)],
            lambda outputs: check_reference(data, outputs),
        )


def differs(got, want, name):
    """None, or the first element that is not exactly as wanted."""
    wrong = ~((got == want) | (np.isnan(got) & np.isnan(want)))
    if not wrong.any():
        return None
    at = tuple(np.argwhere(wrong)[0])
    return (
        f"{name}: {int(wrong.sum())} of {wrong.size} elements differ, the first at "
        f"{list(map(int, at))}: {got[at]!r} instead of {want[at]!r}"
    )


# ===------------------------------------------------------------------------===#
# The mask
# ===------------------------------------------------------------------------===#


def channel_of(problem, key, batch, head):
    """Where the value of a key has its one; another place per batch and head."""
    return (key + 5 * batch + 3 * head) % problem.tokens


def one_hot_inputs(problem, rng):
    """Every key's value is a one in a channel of its own, all logits are 0."""
    made = random_inputs(problem, rng)
    if problem.scale != 0:
        made["q"] *= 0
        made["k"] *= 0
    values = np.zeros((problem.batch, problem.tokens, problem.kv_heads, problem.tokens))
    keys = np.arange(problem.tokens)
    for batch in range(problem.batch):
        for head in range(problem.kv_heads):
            at = channel_of(problem, keys, batch, head)
            values[batch, keys, head, at] = 1
    made["v"] = unflat(values, problem.shape)
    return made


def check_mask(problem, outputs):
    """The output is 1/count exactly at the keys that a row sees, 0 elsewhere."""
    mask = problem.mask()
    count = mask.sum(axis=1)
    weight = rounded(rounded(1 / count, problem.lse_dtype), problem.dtype)
    want = np.zeros((problem.batch, problem.tokens, problem.heads, problem.tokens))
    keys = np.arange(problem.tokens)
    for batch in range(problem.batch):
        for head in range(problem.heads):
            key_head = head * problem.kv_heads // problem.heads
            at = channel_of(problem, keys, batch, key_head)
            want[batch, :, head, at] = (mask * weight[:, None]).T
    message = differs(outputs["o"], unflat(want, problem.shape), "o")
    lse = np.broadcast_to(np.log(count)[None, :, None], want.shape[:3])
    return message or compare(
        outputs["lse"], unflat(lse, problem.shape), "lse", problem.dtype
    )


def mask_test(maker, name, problem, tiles=None):
    problem = problem.replace(value_dim=problem.tokens)
    data = maker.data(problem, one_hot_inputs)
    return maker.test(
        name, [maker.job(data, tiles)], lambda outputs: check_mask(problem, outputs)
    )


def legal_axes(length):
    for dilation in range(1, length + 1):
        for window in range(1, length // dilation + 1):
            for stride in range(1, window + 1):
                for causal in (False, True):
                    yield length, window, stride, dilation, causal


def every_window(maker):
    """All legal arguments of short axes, several axes to a problem."""
    for lengths, rank in ((range(1, 6), 3), (range(6, 8), 2)):
        axes = [axis for length in lengths for axis in legal_axes(length)]
        order = maker.rng().permutation(len(axes))
        # Fill the last problem with axes of the first.
        order = np.concatenate([order, order[: -len(order) % rank]])
        for number, group in enumerate(order.reshape(-1, rank)):
            arguments = map(list, zip(*[axes[i] for i in group]))
            problem = Problem(*arguments, head_dim=4, dtype=DTYPES[number % 4])
            words = "_".join(
                f"L{n}w{w}s{s}d{d}" + "c" * c for n, w, s, d, c in problem.axes()
            )
            yield mask_test(maker, f"every-window/{words}", problem)


def mask_problems():
    return [
        Problem([65], [3]),
        Problem([129], [64], causal=[True]),
        Problem([60], [9], [4], [3]),
        Problem([61], [6], [6], [5], [True]),
        Problem([50], [50], [7]),
        Problem([40], [8], [5], [5]),
        Problem([13, 17], [4, 5]),
        Problem([15, 14], [5, 4], [2, 3], [3, 2], [True, False]),
        Problem([12, 18], [6, 6], [6, 4], [2, 3], [False, True]),
        Problem([5, 6, 7], [3, 2, 4], [1, 2, 3], [1, 2, 1], [False, True, False]),
        Problem([6, 6, 6], [2, 3, 6], [2, 3, 6], [3, 2, 1], [True, True, True]),
        Problem([7, 5, 9], [2, 5, 3], dilation=[2, 1, 3]),
    ]


def masks(maker):
    """Masks of larger problems, with batches, grouped heads and odd tiles."""
    for number, problem in enumerate(mask_problems()):
        problem = problem.replace(
            batch=2, heads=4, kv_heads=2, head_dim=5, dtype=DTYPES[number % 4]
        )
        name = f"mask/{number}"
        yield mask_test(maker, name, problem)
        yield mask_test(maker, name + "/scale0", problem.replace(scale=0.0))
        yield mask_test(maker, name + "/dynamic", problem.replace(dynamic=True))


# ===------------------------------------------------------------------------===#
# Values
# ===------------------------------------------------------------------------===#


def constant_values(maker):
    """V constant over the keys: O equals it to rounding."""

    def make(problem, rng):
        made = random_inputs(problem, rng)
        v = made["v"]
        each = eighths(rng, (problem.batch, problem.kv_heads, problem.value_dim), 1, 2)
        shape = (problem.batch, *[1] * len(problem.shape), *each.shape[1:])
        made["v"] = np.broadcast_to(each.reshape(shape), v.shape).copy()
        if problem.extra_kv:
            ev = made["ev"]
            made["ev"] = np.broadcast_to(each[:, None], ev.shape).copy()
        return made

    def check(data, outputs):
        problem = data.problem
        first = flat(data.values()["v"], len(problem.shape))[:, :1]
        want = np.repeat(first, problem.heads // problem.kv_heads, axis=2)
        want = np.broadcast_to(want, flat(outputs["o"], len(problem.shape)).shape)
        return near(flat(outputs["o"], len(problem.shape)), want, problem)

    for number, problem in enumerate(
        [
            Problem([70], [13], [3], [2], batch=2, heads=4, kv_heads=2),
            Problem([11, 14], [5, 4], causal=[True, False], batch=2, heads=2),
            Problem([6, 5, 8], [3, 3, 4], dilation=[2, 1, 2], batch=2, heads=2),
            Problem([12, 13], [5, 4], batch=2, heads=2, extra_kv=7),
        ]
    ):
        for dtype in DTYPES:
            data = maker.data(with_dtype(problem, dtype), make)
            yield maker.test(
                f"constant-v/{number}/{dtype}",
                [maker.job(data)],
                lambda outputs, data=data: check(data, outputs),
            )


def near(got, want, problem):
    """None, or where values that a row's weights only average are off.

    The average is rounded once per key; narrow types round that away.
    """
    if problem.dtype in ("f16", "bf16"):
        return differs(got, want, "o")
    limit = EPSILON[problem.dtype] * (np.prod(problem.window) + problem.extra_kv + 4)
    wrong = ~(np.abs(got - want) <= limit * np.abs(want))
    if not wrong.any():
        return None
    at = tuple(np.argwhere(wrong)[0])
    return f"o: {got[at]!r} instead of {want[at]!r} at {list(map(int, at))}"


def large_constants(maker):
    """q = k = v = 1e4: logits of 1e8, all equal."""

    def make(problem, _):
        return {n: np.full(s, 1e4) for n, (s, _) in problem.input_types().items()}

    def check(data, outputs):
        problem = data.problem
        value = float(rounded(1e4, problem.dtype))
        message = near(outputs["o"], np.full_like(outputs["o"], value), problem)
        counts = problem.mask().sum(axis=1)
        lse = problem.scale * problem.head_dim * value**2 + np.log(counts)
        lse = np.broadcast_to(
            lse.reshape(*problem.shape, 1), outputs["lse"].shape
        ).copy()
        return message or compare(outputs["lse"], lse, "lse", problem.dtype)

    for number, problem in enumerate(
        [
            Problem([33], [9], batch=2, heads=2),
            Problem([9, 10], [4, 5], [2, 1], causal=[False, True], batch=2),
        ]
    ):
        for dtype in DTYPES:
            for sign in (1, -1):
                # The logits are exact: 16 squares times a power of two.
                signed = problem.replace(dtype=dtype, scale=sign * 0.25)
                data = maker.data(signed, make)
                yield maker.test(
                    f"constant-1e4/{number}/{dtype}/{'-+'[sign > 0]}",
                    [maker.job(data)],
                    lambda outputs, data=data: check(data, outputs),
                )


def winners(maker):
    """Logits near +-2.5e5, 1024 apart: each row is exactly its winner's value."""

    def make(problem, rng):
        made = random_inputs(problem, rng)
        tokens = problem.tokens
        made["k"] *= 0
        for batch, head in np.ndindex(problem.batch, problem.kv_heads):
            # Distinct keys from 256 to 510, which 8 bits hold.
            keys = 256.0 + 2 * rng.permutation(128)[:tokens]
            made["k"][batch, ..., head, 0] = keys.reshape(problem.shape)
        made["q"][..., 0] = 512 * rng.choice([-1, 1], made["q"].shape[:-1])
        return made

    def check(data, outputs):
        problem = data.problem
        rank = len(problem.shape)
        q, k, v = (flat(data.values()[n], rank) for n in "qkv")
        repeat = problem.heads // problem.kv_heads
        k, v = np.repeat(k, repeat, axis=2), np.repeat(v, repeat, axis=2)
        logits = problem.scale * np.einsum("bqh,bkh->bhqk", q[..., 0], k[..., 0])
        logits = np.where(problem.mask(), logits, -np.inf)
        best = logits.argmax(axis=3)
        batches, heads = np.ogrid[: problem.batch, : problem.heads]
        want = v[batches[..., None], best, heads[..., None]].transpose(0, 2, 1, 3)
        lse = logits.max(axis=3).transpose(0, 2, 1)
        return differs(flat(outputs["o"], rank), want, "o") or differs(
            flat(outputs["lse"], rank), lse, "lse"
        )

    for number, problem in enumerate(
        [
            Problem([128], [20], head_dim=1),
            Problem([120], [15], [15], [4], [True], head_dim=8),
            Problem([9, 14], [5, 6], [3, 1], causal=[False, True], head_dim=3),
            Problem([5, 4, 6], [3, 2, 2], dilation=[1, 2, 3], head_dim=16),
        ]
    ):
        for dtype in DTYPES:
            for scale in (1.0, -1.0):
                data = maker.data(
                    problem.replace(
                        batch=2,
                        heads=4,
                        kv_heads=2,
                        value_dim=11,
                        dtype=dtype,
                        scale=scale,
                    ),
                    make,
                )
                yield maker.test(
                    f"winner/{number}/{dtype}/{'-+'[scale > 0]}",
                    [maker.job(data)],
                    lambda outputs, data=data: check(data, outputs),
                )


# ===------------------------------------------------------------------------===#
# Other operations in disguise
# ===------------------------------------------------------------------------===#


def softmax_attention(q, k, v, scale):
    """Dense attention over axis 1 of [B, tokens, H, D]: (output, LSE)."""
    repeat = q.shape[2] // k.shape[2]
    k, v = np.repeat(k, repeat, axis=2), np.repeat(v, repeat, axis=2)
    logits = scale * np.einsum("bqhd,bkhd->bhqk", q, k)
    top = logits.max(axis=3, keepdims=True)
    weights = np.exp(logits - top)
    total = weights.sum(axis=3, keepdims=True)
    output = np.einsum("bhqk,bkhd->bqhd", weights / total, v)
    return output, (top + np.log(total))[..., 0].transpose(0, 2, 1)


def check_blocks(data, outputs, blocks, window):
    """Attention inside of blocks of `window` tokens per axis and class.

    An axis is [blocks, window, dilation] in row-major order.
    """
    problem = data.problem
    rank = len(problem.shape)
    outer = [0] + [1 + 3 * i for i in range(rank)] + [3 + 3 * i for i in range(rank)]
    inner = [2 + 3 * i for i in range(rank)]
    split = [n for axis in zip(blocks, window, problem.dilation) for n in axis]

    def cut(array):
        rest = array.shape[1 + rank :]
        order = outer + inner + [1 + 3 * rank + i for i in range(len(rest))]
        parts = array.reshape(array.shape[0], *split, *rest).transpose(order)
        return parts.reshape(-1, int(np.prod(window)), *rest)

    scale = problem.head_dim**-0.5 if problem.scale is None else problem.scale
    output, lse = softmax_attention(*[cut(data.values()[n]) for n in "qkv"], scale)
    return compare(cut(outputs["o"]), output, "o", problem.dtype) or compare(
        cut(outputs["lse"]), lse, "lse", problem.dtype
    )


def blocked(maker):
    """window == length is dense attention, stride == window attention in blocks."""
    cases = [
        ("dense", Problem([37], [37]), [1]),
        ("dense", Problem([30], [30], [7]), [1]),
        ("dense", Problem([8, 9], [8, 9], [3, 9]), [1, 1]),
        ("dense", Problem([4, 5, 6], [4, 5, 6]), [1, 1, 1]),
        # One window per residue class.
        ("dense", Problem([36], [9], dilation=[4]), [1]),
        ("blocked", Problem([60], [12], [12]), [5]),
        ("blocked", Problem([60], [5], [5], [4]), [3]),
        ("blocked", Problem([12, 15], [4, 5], [4, 5]), [3, 3]),
        ("blocked", Problem([12, 14], [3, 7], [3, 7], [2, 1]), [2, 2]),
        ("blocked", Problem([6, 4, 10], [3, 2, 5], [3, 2, 5]), [2, 2, 2]),
    ]
    for number, (name, problem, blocks) in enumerate(cases):
        for dtype in (DTYPES[number % 4], DTYPES[(number + 1) % 4]):
            data = maker.data(
                problem.replace(batch=2, heads=4, kv_heads=2, value_dim=9, dtype=dtype)
            )
            yield maker.test(
                f"{name}/{number}/{dtype}",
                [maker.job(data)],
                lambda outputs, data=data, blocks=blocks: check_blocks(
                    data, outputs, blocks, data.problem.window
                ),
            )


def swapped_axes(maker):
    """Two axes swapped together with their arguments swap the output's axes."""
    arguments = ("shape", "window", "stride", "dilation", "causal")
    cases = [
        (Problem([9, 14], [4, 5], [2, 1], [2, 1], [True, False]), (0, 1)),
        (Problem([5, 8, 6], [3, 2, 6], [2, 1, 3], [1, 4, 1]), (0, 2)),
        (Problem([7, 4, 9], [2, 4, 3], causal=[False, True, True]), (1, 2)),
    ]
    for number, (problem, (a, b)) in enumerate(cases):
        order = list(range(len(problem.shape)))
        order[a], order[b] = b, a
        axes = [0] + [1 + i for i in order]

        def swap(array, rank=len(order), axes=tuple(axes)):
            return array.transpose(*axes, *range(1 + rank, array.ndim))

        for dtype in ("f32", "bf16"):
            one = maker.data(problem.replace(batch=2, heads=2, dtype=dtype))
            two = maker.data(
                one.problem.replace(
                    **{n: [getattr(problem, n)[i] for i in order] for n in arguments}
                ),
                lambda _, rng, one=one, swap=swap: {
                    n: swap(x) for n, x in one.values().items()
                },
            )
            first = maker.job(one)
            tiles = [
                tile and [tile[i] for i in order]
                for tile in (first.query_tile, first.key_tile)
            ]
            yield maker.test(
                f"swapped-axes/{number}/{dtype}",
                [first, maker.job(two, tiles)],
                lambda a, b, swap=swap, dtype=dtype: compare(
                    swap(a["o"]), b["o"], "o", dtype
                )
                or compare(swap(a["lse"]), b["lse"], "lse", dtype),
            )


def shifted_logits(maker):
    """A constant added to all logits moves the LSE by it, and nothing else.

    The constant comes from a channel of K, or from the bias. All logits are
    exact, so the outputs agree to the last bit, unless parts are joined by their
    LSEs, which are rounded.
    """
    constant = 40.0

    def check(problem, a, b):
        merged = problem.extra_kv and maker.pipeline == "unfused"
        if merged:
            message = compare(b["o"], a["o"], "o", problem.dtype)
        else:
            message = differs(b["o"], a["o"], "o")
        return message or compare(b["lse"], a["lse"] + constant, "lse", problem.dtype)

    def make(problem, rng, value):
        made = random_inputs(problem, rng)
        if problem.bias:
            made["bias"][...] = value
            return made
        made["q"][..., -1] = 2
        made["k"][..., -1] = value
        if problem.extra_kv:
            made["ek"][..., -1] = value
        return made

    for number, problem in enumerate(
        [
            Problem([50], [9], [2], [3]),
            Problem([11, 12], [5, 4], causal=[True, False], extra_kv=5),
            Problem([5, 6, 7], [3, 4, 5], bias="f32"),
            Problem([31], [6], [4], causal=[True], bias="f32"),
        ]
    ):
        for dtype in DTYPES:
            # Half of the 2 in Q times the value in K.
            problem = problem.replace(batch=2, heads=4, kv_heads=2, scale=0.5)
            datas = [
                Data(
                    with_dtype(problem, dtype),
                    [maker.seed, 11, number],
                    lambda p, rng, value=value: make(p, rng, value),
                )
                for value in (0.0, constant)
            ]
            first = maker.job(datas[0])
            second = maker.job(datas[1], (first.query_tile, first.key_tile))
            yield maker.test(
                f"shifted-logits/{number}/{dtype}",
                [first, second],
                lambda a, b, problem=datas[0].problem: check(problem, a, b),
            )


# ===------------------------------------------------------------------------===#
# NaN and infinity
# ===------------------------------------------------------------------------===#


def visited(problem, query_tile, key_tile):
    """Which key (column) the tile of each query (row) reads at most.

    Query tiles start at the multiples of their size in each residue class, key
    tiles at the first key that a query of the tile sees.
    """
    result = np.ones((1, 1), bool)
    for axis, queries, keys in zip(problem.axes(), query_tile, key_tile):
        length, _, _, dilation, _ = axis
        rows = np.zeros((length, length), bool)
        seen = visible(*axis)
        for coordinate in range(length):
            begin = coordinate // dilation // queries * queries
            tile = range(
                coordinate % dilation + begin * dilation,
                min(coordinate % dilation + (begin + queries) * dilation, length),
                dilation,
            )
            first = min(seen[i][0] for i in tile)
            last = max(seen[i][-1] for i in tile)
            steps = (last - first) // dilation // keys + 1
            rows[coordinate, first : first + steps * keys * dilation : dilation] = True
        result = np.kron(result, rows)
    return result


# What goes where: batch, key head, input, value.
SPOILED = (
    (0, 0, "k", np.nan),
    (0, 1, "v", np.inf),
    (1, 0, "v", np.nan),
    (2, 1, "k", np.inf),
    (2, 0, "k", -np.inf),
)


def not_finite(maker):
    """One spoiled key per batch and head; the others must not notice."""

    def make(problem, rng, key):
        made = random_inputs(problem, rng)
        at = np.unravel_index(key, problem.shape)
        for batch, head, name, value in SPOILED:
            made[name][(batch, *at, head, 1)] = value
        return made

    def check(data, key, reach, outputs):
        problem = data.problem
        rank = len(problem.shape)
        _, expected = data.expected()
        repeat = problem.heads // problem.kv_heads
        for batch, head in np.ndindex(problem.batch, problem.heads):
            spoiled = [
                (n, v)
                for b, h, n, v in SPOILED
                if (b, h * repeat) == (batch, head // repeat * repeat)
            ]
            may = np.zeros(problem.tokens, bool)
            if spoiled:
                may = reach[:, key]
            for name in ("o", "lse"):
                got = flat(outputs[name], rank)[batch, :, head]
                want = flat(expected[name], rank)[batch, :, head]
                where = f"batch {batch}, head {head}"
                lost, due = ~np.isfinite(got), ~np.isfinite(want)
                if name == "lse" and not (spoiled and spoiled[0][0] == "k"):
                    may = np.zeros(problem.tokens, bool)
                rows = lost.any(axis=1) if name == "o" else lost
                if (due & ~lost).any():
                    at = np.argwhere(due & ~lost)[0]
                    return f"{name}: {where}: finite at {at}, which sees {spoiled}"
                if (rows & ~may).any():
                    at = np.argwhere(rows & ~may)[0]
                    return f"{name}: {where}: not finite at row {at}, beyond reach"
                if maker.pipeline == "naive" and (lost & ~due).any():
                    at = np.argwhere(lost & ~due)[0]
                    return f"{name}: {where}: not finite at {at}, unlike the reference"
                bad = rows.reshape(-1, 1) if name == "o" else rows
                message = compare(
                    np.where(bad, 0, got), np.where(bad, 0, want), name, problem.dtype
                )
                if message:
                    return f"{where}: {message}"
        return None

    cases = [
        (Problem([41], [9]), [8], [8]),
        (Problem([40], [7], [3], causal=[True]), [5], [4]),
        (Problem([43], [6], [2], [4]), [3], [5]),
        (Problem([10, 13], [3, 4], [2, 1], [1, 2], [True, False]), [4, 3], [2, 3]),
        (Problem([12, 9], [5, 9]), [1, 8], [5, 4]),
        (Problem([5, 6, 8], [3, 2, 4], dilation=[1, 3, 2]), [2, 1, 4], [3, 2, 2]),
    ]
    for number, (problem, query_tile, key_tile) in enumerate(cases):
        tokens = problem.tokens
        for dtype, key in zip(("f32", "bf16", "f64"), (tokens // 2 + 1, 0, tokens - 1)):
            small = problem.replace(
                batch=3, heads=4, kv_heads=2, head_dim=8, value_dim=9, dtype=dtype
            )
            data = maker.data(small, lambda p, rng, key=key: make(p, rng, key))
            reach = problem.mask()
            if maker.pipeline != "naive":
                reach = visited(problem, query_tile, key_tile)
            assert not (problem.mask() & ~reach).any()
            yield maker.test(
                f"not-finite/{number}/{dtype}",
                [maker.job(data, (query_tile, key_tile))],
                lambda outputs, data=data, key=key, reach=reach: check(
                    data, key, reach, outputs
                ),
            )


def spoiled_extras(maker):
    """A NaN in an additional key or value reaches its batch and head only."""
    for name, dtype in itertools.product(("ek", "ev"), ("f32", "bf16")):

        def make(problem, rng, name=name):
            made = random_inputs(problem, rng)
            made[name][1, 2, 1, 0] = np.nan
            return made

        def check(outputs, name=name, data=None):
            for output in ("o", "lse"):
                spoiled = np.isnan(outputs[output][1, :, 2:])
                if output == "o":
                    spoiled = spoiled[..., 0]
                if spoiled.all() != (name == "ek" or output == "o"):
                    return f"{output}: the NaN of {name} is lost, or where it is not"
                clean = outputs[output].copy()
                clean[1, :, 2:] = 0
                want = data.expected()[1][output].copy()
                want[1, :, 2:] = 0
                message = compare(clean, want, output, dtype)
                if message:
                    return message
            return None

        data = maker.data(
            Problem([23], [5], batch=2, heads=4, kv_heads=2, extra_kv=4, dtype=dtype),
            make,
        )
        yield maker.test(
            f"spoiled-extras/{name}/{dtype}",
            [maker.job(data)],
            lambda outputs, data=data, check=check: check(outputs, data=data),
        )


# ===------------------------------------------------------------------------===#
# Edges of tiles
# ===------------------------------------------------------------------------===#


def edges(maker):
    """Shapes at which tiles, windows and classes do not come out even."""
    cases = {
        "one-token": (Problem([1], [1]), [4], [4]),
        "one-token-3d": (Problem([1, 1, 1], [1, 1, 1]), [2, 2, 2], [1, 3, 2]),
        "one-more-than-tiles": (Problem([33], [9]), [16], [8]),
        "one-more-than-tiles-2d": (Problem([9, 17], [5, 6]), [4, 8], [4, 8]),
        "one-less-than-tiles": (Problem([31], [16]), [16], [16]),
        "smaller-than-tiles": (Problem([5, 3], [3, 2]), [8, 16], [16, 11]),
        "gpu-tile": (Problem([300], [177]), [128], [176]),
        "gpu-tile-2d": (Problem([20, 23], [9, 12]), [8, 16], [16, 11]),
        "gpu-tile-3d": (Problem([7, 9, 11], [3, 4, 5]), [4, 4, 8], [4, 4, 11]),
        "uneven-classes": (Problem([29], [4], dilation=[6]), [4], [3]),
        "uneven-classes-2d": (
            Problem([17, 19], [3, 4], [2, 1], [4, 3]),
            [2, 4],
            [2, 3],
        ),
        "empty-last-tile": (Problem([41], [5], dilation=[8]), [5], [2]),
        "full-dilation": (Problem([42], [7], [3], [6]), [3], [4]),
        "full-dilation-2d": (
            Problem([12, 20], [4, 5], dilation=[3, 4]),
            [2, 2],
            [3, 5],
        ),
        "even-windows": (Problem([14, 15], [4, 6], [2, 3]), [3, 4], [5, 2]),
        "even-causal": (Problem([27], [8], [4], causal=[True]), [6], [3]),
        "ragged-stride": (Problem([23], [9], [7]), [5], [4]),
        "ragged-causal": (Problem([23], [9], [7], causal=[True]), [5], [4]),
        "ragged-classes": (Problem([47], [7], [5], [4], [True]), [3], [4]),
        "window-1": (Problem([19, 5], [1, 4]), [4, 2], [2, 4]),
        "key-tile-of-1": (Problem([13, 9], [5, 3]), [1, 1], [1, 1]),
        "query-tile-of-1": (Problem([13, 9], [5, 3]), [1, 1], [8, 8]),
    }
    for number, (name, (problem, *tiles)) in enumerate(cases.items()):
        for offset, dynamic in ((0, False), (1, True)):
            dtype = DTYPES[(number + offset) % 4]
            sized = problem.replace(
                batch=2, heads=4, kv_heads=2, head_dim=20, value_dim=13, dynamic=dynamic
            )
            for causal in (False, True):
                label = f"edges/{name}/{dtype}"
                if causal:
                    if all(problem.causal):
                        continue
                    label += "/causal"
                    sized = sized.replace(causal=[True] * len(problem.shape))
                yield maker.against_reference(
                    label, with_dtype(sized, dtype), tiles=tiles
                )


def scales(maker):
    """Scales of 0 and below, and one whose logits are large, against the reference."""
    for scale in (0.0, -0.0, -0.5, -2.0, 8.0, 1e-30):
        for dtype in ("f32", "f16"):
            problem = Problem(
                [9, 11], [4, 5], batch=2, heads=2, scale=scale, dtype=dtype
            )
            yield maker.against_reference(f"scale/{scale}/{dtype}", problem)


PROBES = (
    every_window,
    masks,
    constant_values,
    large_constants,
    winners,
    blocked,
    swapped_axes,
    shifted_logits,
    not_finite,
    spoiled_extras,
    edges,
    scales,
)


def tests(pipelines, seed):
    result = []
    for probe in PROBES:
        for pipeline in pipelines:
            result += probe(Maker(pipeline, seed))
    return result
