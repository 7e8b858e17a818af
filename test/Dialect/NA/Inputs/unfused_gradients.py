# ===- unfused_gradients.py - Runs tiled products against the reference -----===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Compiles the gradients of na.qk and na.av of the naive lowering's test, and some
of its own, by the unfused pipeline, and compares each with the f64 reference. Tiles
are drawn at random, for the CPU and for a GPU, whose form runs on the CPU too; some
problems leave them to the cost model. Slots that no key fills hold NaN.

Usage: unfused_gradients.py NA_OPT MLIR_TRANSLATE CLANG CONFORMANCE_FOLDER WORK_FOLDER
"""

import sys

import numpy as np

import unfused
import execute
import execute_grad  # takes its Buffer from execute


def wide(rng):
    """Runs of more than one vector, and inverse windows of many lengths."""
    for dtype in execute.FLOATS:
        how = dict(dtype=dtype, dim=16, value_dim=37)
        yield from execute_grad.products(
            rng, f"wide_{dtype}", [90], [37], [9], [1], [False], **how)
        yield from execute_grad.products(
            rng, f"wide_2d_{dtype}", [12, 70], [5, 41], [2, 3], [2, 1], [False, True],
            heads=6, kv_heads=2, bias="f64" if dtype == "f64" else "f32", **how)
        yield from execute_grad.products(
            rng, f"wide_3d_{dtype}", [5, 6, 17], [3, 2, 9], [3, 1, 2], [1, 3, 1],
            [False, True, False], heads=2, kv_heads=1, scale=-0.5, **how)
    yield from execute_grad.products(
        rng, "no_batch", [20], [7], [1], [1], [True], batch=0)


def problems(rng):
    for problem in [*execute_grad.problems(rng), *wide(rng)]:
        if problem.name.startswith(("qk_grad_", "av_grad_")):
            kind = rng.choice(["cpu", "sm_80", None], p=[0.45, 0.4, 0.15])
            if kind:
                problem.op = unfused.with_schedule(rng, problem.op, kind)
            yield problem


def main():
    todo = list(problems(np.random.default_rng(2203)))
    failures = []
    for index, pipeline in enumerate(unfused.PIPELINES):
        part = todo[index :: len(unfused.PIPELINES)]
        library = execute.compile_problems(
            part, f"builtin.module({pipeline})", f"unfused_gradients{index}")
        failures += [f for problem in part for f in problem.run(library)]
    return execute.report(todo, failures)


if __name__ == "__main__":
    sys.exit(main())
