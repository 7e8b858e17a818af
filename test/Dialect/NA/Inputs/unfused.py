# ===- unfused.py - Runs the unfused form against the reference -------------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Compiles the problems of the naive lowering's test, and some of its own, by the
unfused pipeline, with tiles drawn at random, and compares each with the f64
reference.

Usage: unfused.py NA_OPT MLIR_TRANSLATE CLANG CONFORMANCE_FOLDER WORK_FOLDER
"""

import os
import re
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "../../../Conversion/NAToLoops/Inputs"))
import execute

# Narrow vectors too: runs are then longer than one vector.
PIPELINES = [
    "na-to-cpu{mode=unfused parallel=false}",
    "na-to-cpu{mode=unfused parallel=false vector-bits=128 registers=16}",
]


class Buffer(execute.Buffer):
    """If dynamic, then in batch and the first axis: heads and channels have to be
    static to be tiled."""

    def __init__(self, values, dtype, dynamic=False, padded=False):
        super().__init__(values, dtype, dynamic, padded)
        if dynamic:
            sizes = ["?", "?", *map(str, self.data.shape[2:])]
            rest = self.type.split("x" + dtype, 1)[1]
            self.type = f"memref<{'x'.join([*sizes, dtype])}{rest}"


execute.Buffer = Buffer


def with_schedule(rng, op, target="cpu"):
    """`op` with tiles whose sizes have nothing to do with the problem's."""
    rank = len(re.search(r"size = \[([^]]*)\]", op)[1].split(","))
    top = (40, 9, 5)[rank - 1]
    query, key = ([int(n) for n in rng.integers(1, top + 1, rank)] for _ in range(2))
    schedule = (
        f'schedule = #na.schedule<target = "{target}", query_tile = {query}, '
        f"key_tile = {key}>"
    )
    if op.endswith("}"):
        return op[:-1] + f", {schedule}}}"
    return op + f" {{{schedule}}}"


def contain(problem):
    """Lets a NaN reach all rows of its batch and head, as tiled products may, but
    no others, and demands it where the reference has it."""
    reference = problem.expected

    def expected():
        results = {}
        for name, (dtype, want) in reference().items():
            got = problem.buffers[name].values()
            tokens = tuple(range(1, want.ndim - (1 if name == "lse" else 2)))
            reached = np.isnan(want)
            if name != "lse":
                reached = reached.any(axis=-1, keepdims=True)
            reached = reached.any(axis=tokens, keepdims=True)
            results[name] = dtype, np.where(reached & np.isnan(got), np.nan, want)
        return results

    problem.expected = expected


def wide(rng):
    """Rows and tiles of more than one vector, at both alignments of its end."""
    plain = ([1], [1], [False])
    for name, window in ("whole", 64), ("part", 37):
        for dtype in "f32", "f64", "bf16":
            yield from execute.windowed(
                rng, f"wide_{name}_{dtype}", [90], [window], *plain, dtype=dtype,
                bias="f32" if dtype != "f64" else "f64", dim=16, value_dim=32)
    yield from execute.windowed(
        rng, "wide_2d", [12, 70], [5, 41], [2, 3], [2, 1], [False, True], bias="f32",
        extra=5, heads=6, kv_heads=3, dim=16, value_dim=32)


def problems(rng):
    for problem in [*execute.problems(rng), *wide(rng)]:
        if problem.name.startswith("merge"):
            continue
        if "_nan" in problem.name:
            contain(problem)
        if rng.random() < 0.8:
            problem.op = with_schedule(rng, problem.op)
        yield problem


def main():
    todo = list(problems(np.random.default_rng(1848)))
    failures = []
    for index, pipeline in enumerate(PIPELINES):
        part = todo[index :: len(PIPELINES)]
        library = execute.compile_problems(
            part, f"builtin.module({pipeline})", f"unfused{index}")
        failures += [f for problem in part for f in problem.run(library)]
    return execute.report(todo, failures)


if __name__ == "__main__":
    sys.exit(main())
