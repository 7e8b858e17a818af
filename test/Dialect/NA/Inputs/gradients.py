# ===- gradients.py - Runs the tiled gradients against the reference --------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Compiles the problems of the naive lowering's test of gradients, and some of its
own, by the fused pipeline, and compares each with the f64 reference. Tiles are drawn
at random, for the CPU and for a GPU, whose form runs on the CPU too; some problems
leave them to the cost model.

Usage: gradients.py NA_OPT MLIR_TRANSLATE CLANG CONFORMANCE_FOLDER WORK_FOLDER
"""

import sys

import numpy as np

import unfused
import execute


class Buffer(unfused.Buffer):
    """With NaNs around what is padded: no tile may read them."""

    def __init__(self, values, dtype, dynamic=False, padded=False):
        super().__init__(values, dtype, dynamic, padded)
        if padded:
            inner = self.data.copy()
            self.data.base[...] = 0x7FC0 if dtype == "bf16" else np.nan
            self.data[...] = inner


execute.Buffer = Buffer
import execute_grad  # takes its Buffer from execute

PIPELINES = [
    "na-to-cpu{mode=fused parallel=false}",
    "na-to-cpu{mode=fused parallel=false vector-bits=128 registers=16}",
]


def schedule(rng, problem):
    """Gives the parts that are tiled schedules, each of its own."""
    kind = rng.choice(["cpu", "sm_80", None], p=[0.45, 0.4, 0.15])
    lines = problem.op.split("\n  ")
    for i, line in enumerate(lines):
        if kind and line.startswith(("na.attention_dq", "na.attention_dkv")):
            lines[i] = unfused.with_schedule(rng, line, kind)
    problem.op = "\n  ".join(lines)
    return problem


def wide(rng):
    """Tiles of more than one vector, and inverse windows of many lengths."""
    for dtype in execute.FLOATS:
        how = dict(dtype=dtype, dim=16, value_dim=32)
        yield execute_grad.grad(
            rng, f"wide_{dtype}", [90], [37], [9], [1], [False], extra=19, **how)
        yield execute_grad.grad(
            rng, f"wide_2d_{dtype}", [12, 70], [5, 41], [2, 3], [2, 1], [False, True],
            heads=6, kv_heads=2, bias="f64" if dtype == "f64" else "f32", **how)
    # Blocks that do not overlap, and windows as long as their axis: no masks.
    for i in range(6):
        yield execute_grad.grad(
            rng, f"blocks{i}", [48, 8], [12, 8], [12, 1], [1, 1], [False, False])


def problems(rng):
    for problem in [*execute_grad.problems(rng), *wide(rng)]:
        if problem.name.startswith("grad_"):
            yield schedule(rng, problem)


def main():
    todo = list(problems(np.random.default_rng(1867)))
    failures = []
    for index, pipeline in enumerate(PIPELINES):
        part = todo[index :: len(PIPELINES)]
        library = execute.compile_problems(
            part, f"builtin.module({pipeline})", f"gradients{index}")
        failures += [f for problem in part for f in problem.run(library)]
    return execute.report(todo, failures)


if __name__ == "__main__":
    sys.exit(main())
