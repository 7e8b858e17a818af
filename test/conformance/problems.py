# ===- problems.py - Problems, their data and what they must give -----------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Problems of neighborhood attention: parameters, inputs, expected results."""

import dataclasses
import itertools
import json
import os
from typing import List, Optional

import numpy as np

import reference
from window_oracle import visible

HERE = os.path.dirname(os.path.abspath(__file__))

STORED = {
    "f64": np.dtype("<f8"),
    "f32": np.dtype("<f4"),
    # f32 whose products are made from factors rounded to tf32.
    "tf32": np.dtype("<f4"),
    "f16": np.dtype("<f2"),
    "bf16": np.dtype("<u2"),
}


def store(values, dtype):
    """The array of values as it is stored in a file, rounded to nearest even."""
    values = np.asarray(values, np.float64)
    if dtype != "bf16":
        return values.astype(STORED[dtype])
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(STORED[dtype])


def load(array, dtype):
    """The values, in f64, of an array as it is stored."""
    if dtype != "bf16":
        return array.astype(np.float64)
    return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def rounded(values, dtype):
    return load(store(values, dtype), dtype)


@dataclasses.dataclass(frozen=True)
class Problem:
    """The arguments of one attention operation; lists have an entry per axis."""

    shape: List[int]
    window: List[int]
    stride: Optional[List[int]] = None
    dilation: Optional[List[int]] = None
    causal: Optional[List[bool]] = None
    batch: int = 1
    heads: int = 1
    kv_heads: Optional[int] = None
    head_dim: int = 16
    value_dim: Optional[int] = None
    extra_kv: int = 0
    bias: Optional[str] = None  # The bias's type.
    scale: Optional[float] = None
    dtype: str = "f32"
    lse: bool = True
    dynamic: bool = False
    dynamic_batch: bool = False
    # The gradients, of the output and, with `lse_grad`, of the LSE too.
    backward: bool = False
    lse_grad: bool = False
    # The output and the LSE of a backward are the reference's, as inputs.
    reads_output: bool = False

    def __post_init__(self):
        rank = len(self.shape)
        for name, value in (
            ("stride", [1] * rank),
            ("dilation", [1] * rank),
            ("causal", [False] * rank),
            ("kv_heads", self.heads),
            ("value_dim", self.head_dim),
        ):
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)

    def replace(self, **changes):
        return dataclasses.replace(self, **changes)

    @property
    def tokens(self):
        return int(np.prod(self.shape))

    @property
    def lse_dtype(self):
        return "f64" if self.dtype == "f64" else "f32"

    @property
    def windows(self):
        """The arguments of the reference that say who sees whom."""
        return dict(
            window=self.window,
            stride=self.stride,
            dilation=self.dilation,
            causal=self.causal,
        )

    def axes(self):
        return zip(self.shape, self.window, self.stride, self.dilation, self.causal)

    def pairs(self):
        """Query-key pairs over all batches and heads; more than that if causal."""
        keys = int(np.prod(self.window)) + self.extra_kv
        return self.batch * self.heads * self.tokens * keys

    def work(self):
        """Multiply-adds, at most."""
        # Two products of the forward and five of the backward.
        products = 3.5 if self.backward else 1
        return int(products * self.pairs() * (self.head_dim + self.value_dim))

    def mask(self):
        """Which key (column) each query (row) sees, over flat tokens."""
        mask = np.ones((1, 1), bool)
        for axis in self.axes():
            rows = np.zeros((axis[0], axis[0]), bool)
            for query, keys in enumerate(visible(*axis)):
                rows[query, keys] = True
            mask = np.kron(mask, rows)
        return mask

    def input_types(self):
        """(shape, dtype) of each input by its name."""
        kv = (self.batch, *self.shape, self.kv_heads)
        types = {
            "q": ((self.batch, *self.shape, self.heads, self.head_dim), self.dtype),
            "k": ((*kv, self.head_dim), self.dtype),
            "v": ((*kv, self.value_dim), self.dtype),
        }
        if self.bias:
            sizes = [2 * w - 1 for w in self.window]
            types["bias"] = ((self.heads, *sizes), self.bias)
        if self.extra_kv:
            extra = (self.batch, self.extra_kv, self.kv_heads)
            types["ek"] = ((*extra, self.head_dim), self.dtype)
            types["ev"] = ((*extra, self.value_dim), self.dtype)
        if self.backward:
            rows = (self.batch, *self.shape, self.heads)
            types["do"] = ((*rows, self.value_dim), self.dtype)
            if self.lse_grad:
                types["dlse"] = (rows, self.lse_dtype)
            if self.reads_output:
                types["o"] = ((*rows, self.value_dim), self.dtype)
                types["lse"] = (rows, self.lse_dtype)
        return types

    def output_types(self):
        if self.backward:
            inputs = self.input_types()
            names = [n for n in ("q", "k", "v", "bias", "ek", "ev") if n in inputs]
            return {"d" + name: inputs[name] for name in names}
        rows = (self.batch, *self.shape, self.heads)
        types = {"o": ((*rows, self.value_dim), self.dtype)}
        if self.lse:
            types["lse"] = (rows, self.lse_dtype)
        return types

    def flags(self):
        """na-run's flags; those at their defaults are left out."""
        flags = []

        def box(name, values, default=None):
            if values != default:
                flags.append(f"--{name}=" + "x".join(map(str, values)))

        def flag(name, value, default):
            if value != default:
                flags.append(f"--{name}={value}")

        ones = [1] * len(self.shape)
        box("shape", self.shape)
        box("window", self.window)
        box("stride", self.stride, ones)
        box("dilation", self.dilation, ones)
        if any(self.causal):
            flags.append("--causal=" + ",".join("ft"[c] for c in self.causal))
        flag("batch", self.batch, 1)
        flag("heads", self.heads, 1)
        flag("kv-heads", self.kv_heads, self.heads)
        flag("head-dim", self.head_dim, 32)
        flag("value-dim", self.value_dim, self.head_dim)
        flag("extra-kv", self.extra_kv, 0)
        if self.scale is not None:
            flags.append(f"--scale={self.scale!r}")
        if self.bias:
            flags.append(f"--bias={self.bias}")
        flag("dtype", "f32" if self.dtype == "tf32" else self.dtype, "f32")
        if self.dtype == "tf32":
            flags.append("--tf32")
        if self.backward:
            flags.append("--backward")
        elif not self.lse:
            flags.append("--lse=false")
        if self.dynamic:
            flags.append("--dynamic")
        elif self.dynamic_batch:
            flags.append("--dynamic-batch")
        return flags


def eighths(rng, shape, low=-3, high=3):
    """Random multiples of 1/8.

    Every type holds them exactly, and dot products of up to 512 of them are
    exact in f32, so that large logits carry no error into the results.
    """
    return rng.integers(int(8 * low), int(8 * high), shape, endpoint=True) / 8


def random_inputs(problem, rng):
    """Inputs for a comparison within the tolerances."""
    values = {}
    problem = problem.replace(reads_output=False)
    for name, (shape, _) in problem.input_types().items():
        if name in ("v", "ev") and problem.value_dim < 8:
            # Rows of few channels could cancel to almost nothing, and their
            # relative errors would measure the data.
            values[name] = eighths(rng, shape, 1, 2)
        elif name == "bias":
            values[name] = eighths(rng, shape, -2, 2)
        elif name in ("v", "ev"):
            values[name] = eighths(rng, shape)
        else:
            # About as wide as the standard normal distribution. Scaled logits of
            # wider ones round by more than an LSE may be off where the scale is
            # not a power of two.
            values[name] = eighths(rng, shape, -1.75, 1.75)
    return values


def inverse_windows(problem):
    """For each axis and key coordinate, the query coordinates that see it."""
    inverse = []
    for axis in problem.axes():
        queries = [[] for _ in range(axis[0])]
        for query, seen in enumerate(visible(*axis)):
            for key in seen:
                queries[key].append(query)
        inverse.append(queries)
    return inverse


def seeing(problem, inverse, keys):
    """The queries that see one of these keys, all as flat indices."""
    found = []
    for key in keys:
        coordinates = np.unravel_index(key, problem.shape)
        lists = [queries[c] for queries, c in zip(inverse, coordinates)]
        grid = np.meshgrid(*lists, indexing="ij")
        found.append(np.ravel_multi_index([g.ravel() for g in grid], problem.shape))
    return np.unique(np.concatenate(found))


def pick_rows(problem, rng, count):
    """Queries to compare; half of the coordinates are near an edge."""
    coordinates = []
    for length, window, _, dilation, _ in problem.axes():
        anywhere = rng.integers(0, length, count)
        near = rng.integers(0, min(length, window * dilation), count)
        edge = np.where(rng.random(count) < 0.5, near, length - 1 - near)
        coordinates.append(np.where(rng.random(count) < 0.5, anywhere, edge))
    corners = [(0, length - 1) for length in problem.shape]
    for axis, ends in enumerate(zip(*itertools.product(*corners))):
        coordinates[axis] = np.concatenate([ends, coordinates[axis]])
    return np.unique(np.ravel_multi_index(coordinates, problem.shape))


class Data:
    """The inputs of a problem and the reference's results for them.

    Both are made when they are first asked for, and kept until release().
    `make(problem, rng)` gives the inputs' values, by their names.
    """

    # What the reference does of a problem in about a second: groups of rows
    # that see the same keys, and multiply-adds. Beyond it chosen rows only.
    MOST_GROUPS = 3000
    MOST_WORK = 1_500_000_000
    ROWS = 256

    def __init__(self, problem, seed, make=random_inputs):
        self.problem = problem
        self.seed = seed
        self.make = make
        self.release()

    def release(self):
        self._values = self._expected = self._backward = None
        self.paths = None

    def rng(self, purpose):
        return np.random.default_rng([purpose, *np.atleast_1d(self.seed)])

    def values(self):
        """The inputs, rounded to their types."""
        if self._values is None:
            made = self.make(self.problem, self.rng(0))
            if self.problem.backward:
                self._keep_active(made)
            types = self.problem.replace(reads_output=False).input_types()
            assert made.keys() == types.keys()
            for name, (shape, dtype) in types.items():
                assert made[name].shape == shape, name
                made[name] = rounded(made[name], dtype)
            self._values = made
            if self.problem.reads_output:
                self._add_output()
        return self._values

    def _add_output(self):
        """Adds the output and the LSE to the inputs, rounded like those."""
        problem = self.problem
        forward = {n: x for n, x in self._values.items() if n[:2] not in ("do", "dl")}
        self._exact_output, lse = reference.attention(
            **forward, **problem.windows, scale=problem.scale
        )
        self._values["o"] = rounded(self._exact_output, problem.dtype)
        self._values["lse"] = rounded(lse, problem.lse_dtype)

    def write(self, folder):
        """Writes the inputs once; returns their files."""
        if self.paths is None:
            self.paths = {}
            types = self.problem.input_types()
            for name, values in self.values().items():
                path = os.path.join(folder, name + ".npy")
                np.save(path, store(values, types[name][1]))
                self.paths[name] = path
        return self.paths

    def rows(self):
        """The queries that the reference computes; None for all."""
        problem = self.problem
        if problem.work() <= self.MOST_WORK and (
            reference.group_count(problem.shape, **problem.windows) <= self.MOST_GROUPS
        ):
            return None
        # A row costs its keys; the time is bounded, the corners always in.
        keys = int(np.prod(problem.window)) + problem.extra_kv
        cost = keys * problem.heads * max(problem.batch, 1)
        cost *= problem.head_dim + problem.value_dim
        count = max(8, min(self.ROWS, self.MOST_WORK // (4 * cost)))
        return pick_rows(problem, self.rng(1), count)

    def backward_rows(self):
        """(active, queries, keys) of a backward, each None for all.

        The sums are over the `active` queries; dq is compared at `queries`, the
        other gradients at `keys`. Of a large problem these are some keys and all
        queries that see them. Where that is still too much, or where a gradient
        is a sum over all queries, the output's gradient is 0 except at some
        queries, and all of each gradient is compared.
        """
        if self._backward is None:
            problem = self.problem
            active = self.rows()
            self._backward = active, None, None
            # About as many queries see a key as a query sees keys.
            most = 2 * min(
                self.MOST_GROUPS,
                self.MOST_WORK * problem.tokens / max(problem.work(), 1),
            )
            if (
                active is not None
                and not problem.bias
                and not problem.extra_kv
                and np.prod(problem.window) <= most
            ):
                inverse = inverse_windows(problem)
                keys = pick_rows(problem, self.rng(2), 8)
                for count in (len(keys), 4, 1):
                    keys = self.rng(3).permutation(keys)[:count]
                    queries = seeing(problem, inverse, keys)
                    work = problem.work() * len(queries) / problem.tokens
                    if len(queries) <= self.MOST_GROUPS and work <= self.MOST_WORK:
                        self._backward = queries, queries, np.sort(keys)
                        break
        return self._backward

    def _keep_active(self, made):
        active, queries, _ = self.backward_rows()
        if active is None or queries is not None:
            return
        for name in ("do", "dlse"):
            if name not in made:
                continue
            # Larger, since the weights of large windows are small and f16 has
            # few bits for gradients that are.
            flat = 16 * made[name].reshape(
                made[name].shape[0],
                self.problem.tokens,
                *made[name].shape[1 + len(self.problem.shape) :],
            )
            kept = np.zeros_like(flat)
            kept[:, active] = flat[:, active]
            made[name] = kept.reshape(made[name].shape)

    def expected_gradients(self):
        """The gradients by name; see backward_rows."""
        if self._expected is None:
            values = dict(self.values())
            if self.problem.reads_output:
                # The rounding of the output acts as a gradient of the LSE does.
                error = values.pop("o") - self._exact_output
                del values["lse"]
                values["dlse"] = values.get("dlse", 0) - (error * values["do"]).sum(-1)
            self._expected = reference.attention_grad(
                **values,
                **self.problem.windows,
                scale=self.problem.scale,
                rows=self.backward_rows()[0],
            )
        return self._expected

    def expected(self):
        """(rows, {"o": .., "lse": ..}); X.. is one axis of rows if there are."""
        if self._expected is None:
            rows = self.rows()
            with np.errstate(invalid="ignore", over="ignore"):
                o, lse = reference.attention(
                    **self.values(),
                    **self.problem.windows,
                    scale=self.problem.scale,
                    rows=rows,
                )
            self._expected = rows, {"o": o, "lse": lse}
        return self._expected


def at_rows(array, rank, rows):
    """[B, X.., ..] with the axes X.. flattened, at these rows."""
    flat = array.reshape(array.shape[0], -1, *array.shape[1 + rank :])
    return flat[:, rows]


def compare(got, want, name, dtype):
    """None, or what is wrong with an output within the tolerances."""
    if not np.isfinite(got).all():
        bad = np.argwhere(~np.isfinite(got))
        where = ", ".join(map(str, bad[0]))
        return f"{name}: {len(bad)} elements are not finite, the first at [{where}]"
    if name == "lse":
        error = np.abs(got - want)
        limit = reference.lse_tolerance(dtype, want)
        if (error <= limit).all():
            return None
        worst = np.unravel_index(np.argmax(error - limit), error.shape)
        return (
            f"lse: off by {error[worst]:.2e} (limit {limit[worst]:.0e}) at "
            f"{list(map(int, worst))}: {got[worst]!r} instead of {want[worst]!r}"
        )
    gradient = name.startswith("d")
    whole, worst_row = reference.relative_errors(got, want, gradient)
    whole_limit, row_limit = reference.TOLERANCES[dtype]
    if whole <= whole_limit and worst_row <= row_limit:
        return None
    error = np.linalg.norm(got - want, axis=-1)
    norm = np.linalg.norm(want, axis=-1)
    if gradient:
        norm = np.maximum(norm, np.sqrt(np.mean(norm**2)))
    ratio = error / np.where(norm > 0, norm, 1)
    worst = np.unravel_index(np.argmax(ratio), ratio.shape)
    wrong = int((ratio > row_limit).sum())
    return (
        f"{name}: error {whole:.2e} (limit {whole_limit:.0e}), worst row "
        f"{worst_row:.2e} (limit {row_limit:.0e}) at {list(map(int, worst))}; "
        f"{wrong} of {ratio.size} rows over their limit"
    )


def check_gradients(data, outputs):
    """None, or how the gradients differ from the reference."""
    problem = data.problem
    expected = data.expected_gradients()
    _, queries, keys = data.backward_rows()
    messages = []
    for name, got in outputs.items():
        want = expected[name]
        rows = queries if name == "dq" else keys
        # Rows that are not compared must be written all the same.
        if rows is not None and np.isfinite(got).all():
            got, want = (at_rows(x, len(problem.shape), rows) for x in (got, want))
        message = compare(got, want, name, problem.dtype)
        if message:
            messages.append(message)
    return "; ".join(messages) or None


def check_reference(data, outputs):
    """None, or how the outputs differ from the reference."""
    if data.problem.backward:
        return check_gradients(data, outputs)
    rows, expected = data.expected()
    problem = data.problem
    for name, got in outputs.items():
        # Rows that are not compared must be written all the same.
        if not np.isfinite(got).all():
            return compare(got, got, name, problem.dtype)
        if rows is not None:
            got = at_rows(got, len(problem.shape), rows)
        message = compare(got, expected[name], name, problem.dtype)
        if message:
            return message
    return None


def read_problems():
    """(name, problem without its causal axes and dtype, causal) of each entry."""
    for name in ("problems", "corners"):
        with open(os.path.join(HERE, f"{name}.json"), encoding="utf-8") as file:
            entries = json.load(file)["problems"]
        for index, entry in enumerate(entries):
            yield f"{name}[{index}]", Problem(
                shape=entry["shape"],
                window=entry["window"],
                stride=entry["stride"],
                dilation=entry["dilation"],
                batch=entry["batch"],
                heads=entry["heads"],
                kv_heads=entry["kv_heads"],
                head_dim=entry["head_dim"],
                value_dim=entry["value_dim"],
                extra_kv=entry.get("extra_kv", 0),
                bias="f32" if entry.get("bias") else None,
                scale=entry.get("scale"),
            )


def with_dtype(problem, dtype):
    """The problem in another type; a bias is f64 where the inputs are."""
    bias = problem.bias and ("f64" if dtype == "f64" else problem.bias)
    return with_known_output(problem.replace(dtype=dtype, bias=bias))


def with_known_output(problem):
    """The problem, with its output as an input where that decides the gradients.

    Of weights near 0 and 1, gradients are small differences, which the rounding
    of the output to 16 bits alone exceeds, however exact the rest is.
    """
    peaked = abs(problem.scale or 0) * problem.head_dim**0.5 > 2
    narrow = problem.dtype in ("f16", "bf16")
    return problem.replace(reads_output=problem.backward and narrow and peaked)
