# ===- execute.py - Runs the expanded functions on the CPU ------------------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Compiles the functions of expand-f64-math and compares them with Python's.

Usage: execute.py NA_OPT MLIR_TRANSLATE CLANG WORK_FOLDER
"""

import ctypes
import math
import os
import random
import subprocess
import sys

na_opt, mlir_translate, clang, work = sys.argv[1:5]
PIPELINE = (
    "builtin.module(expand-f64-math,convert-math-to-llvm,convert-arith-to-llvm,"
    "convert-func-to-llvm,reconcile-unrealized-casts)"
)
EPSILON = 2.0**-52


def exp(x):
    if x > 709.4:  # 2^1023 times more than 1.41
        return math.inf
    return 0.0 if x < -708 else math.exp(x)


def main():
    os.makedirs(work, exist_ok=True)
    paths = [os.path.join(work, f"f64.{s}") for s in ("mlir", "llvm.mlir", "ll", "so")]
    source, lowered, llvm, library = paths
    with open(source, "w") as file:
        for name in ("exp", "sin", "cos"):
            file.write(
                f"func.func @test_{name}(%x: f64) -> f64 {{\n"
                f"  %y = math.{name} %x : f64\n  return %y : f64\n}}\n"
            )
    for command in (
        [na_opt, source, f"--pass-pipeline={PIPELINE}", "-o", lowered],
        [mlir_translate, "--mlir-to-llvmir", lowered, "-o", llvm],
        [clang, "-O1", "-march=native", "-Wno-override-module", "-shared", "-rtlib=compiler-rt", llvm,
         "-lm", "-o", library],
    ):
        subprocess.run(command, check=True)
    loaded = ctypes.CDLL(library)

    draw = random.Random(3).uniform
    angles = [0.0, 1e-300, math.pi, 1e9]
    angles += [draw(-r, r) for r in (1e-8, 1, 4, 1e3, 1e6, 1e9) for _ in range(2000)]
    powers = [0.0, -0.0, 709.3, 710, -707.9, -709, 1e300, -1e300, math.inf,
              -math.inf, math.nan]
    powers += [draw(-r, r) for r in (1e-8, 1, 20, 707) for _ in range(3000)]
    # The relative error of exp, the absolute one of the others.
    for name, values, want in (
        ("exp", powers, exp),
        ("sin", angles, math.sin),
        ("cos", angles, math.cos),
    ):
        function = getattr(loaded, f"test_{name}")
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double]
        failures = 0
        for x in values:
            y, wanted = function(x), want(x)
            scale = wanted if name == "exp" else 1
            good = y == wanted or (math.isnan(y) and math.isnan(wanted))
            if not good and not abs(y - wanted) <= 4 * EPSILON * scale:
                failures += 1
                print(f"{name}({x!r}) = {y!r}, expected {wanted!r}")
        print(f"{name}: {len(values)} values, {failures} failures")


if __name__ == "__main__":
    main()
