# ===- raise.py - Runs programs with and without raising --------------------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Runs each function of a file as it is and after na-raise-attention, on the same
arguments, and compares the results. Then draws masks at random, of windows and
of almost windows, and checks that exactly the windows are raised.

Usage: raise.py NA_OPT NA_RUN FILE WORK_FOLDER
"""

import itertools
import os
import re
import subprocess
import sys

import numpy as np

na_opt, na_run, file, work = sys.argv[1:]
sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../conformance")
)
import reference

DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16}


def compile_file(target, *options):
    subprocess.run([na_opt, *options, "-o", target], check=True)
    return target


def run(program, entry, arrays, output):
    """On arrays by position: bytecode has no names of values."""
    inputs = ",".join(f"arg{index}={path}" for index, path in enumerate(arrays))
    subprocess.run(
        [na_run, program, f"--entry={entry}", f"--inputs={inputs}",
         f"--outputs=result0={output}"],
        check=True, stdout=subprocess.DEVNULL,
    )
    return np.load(output).astype(np.float64)


def run_file():
    with open(file) as text:
        source = text.read()
    functions = re.findall(r"func\.func @(\w+)\((.*?)\)\s*->", source, re.DOTALL)
    plain = compile_file(f"{work}/plain.mlirbc", file, "-emit-bytecode")
    raised = compile_file(f"{work}/raised.mlirbc", file, "-na-raise-attention",
                          "-emit-bytecode")
    with open(compile_file(f"{work}/raised.mlir", raised)) as text:
        assert text.read().count("na.attention") == len(functions)
    failed = False
    rng = np.random.default_rng(31)
    for name, arguments in functions:
        arrays = []
        for argument, sizes, dtype in re.findall(
            r"%(\w+): tensor<([0-9x]+)x(f\d+)>", arguments
        ):
            arrays.append(f"{work}/{name}-{argument}.npy")
            shape = [int(size) for size in sizes.split("x")]
            np.save(arrays[-1], rng.standard_normal(shape).astype(DTYPES[dtype]))
        want = run(plain, name, arrays, f"{work}/{name}-plain.npy")
        got = run(raised, name, arrays, f"{work}/{name}-raised.npy")
        errors = reference.relative_errors(got, want)
        good = all(e <= limit for e, limit in zip(errors, reference.TOLERANCES[dtype]))
        failed |= not good
        print(f"{name}: error {errors[0]:.1e}, worst row {errors[1]:.1e}: "
              f"{'pass' if good else 'FAIL'}")
    return failed


def axis_mask(length, window, stride, dilation, causal):
    """From the definition: the window of the leader of the query's group."""
    mask = np.zeros((length, length), bool)
    for query, key in itertools.product(range(length), repeat=2):
        if query % dilation != key % dilation:
            continue
        size = len(range(query % dilation, length, dilation))
        q, k = query // dilation, key // dilation
        group = q // stride * stride
        if causal:
            first = min(max(group + stride - window, 0), size - window)
            mask[query, key] = first <= k <= q
        else:
            leader = min(group + stride // 2, size - 1)
            first = min(max(leader - window // 2, 0), size - window)
            mask[query, key] = first <= k < first + window
    return mask


PROGRAM = """
func.func @{name}(%q: tensor<{n}x4xf32>, %k: tensor<4x{n}xf32>,
    %v: tensor<{n}x4xf32>) -> tensor<{n}x4xf32> {{
  %zeros = arith.constant dense<0.0> : tensor<{n}x{n}xf32>
  %zeros1 = arith.constant dense<0.0> : tensor<{n}x4xf32>
  %mask = arith.constant dense<{mask}> : tensor<{n}x{n}xi1>
  %hidden = arith.constant dense<0xFF800000> : tensor<{n}x{n}xf32>
  %s = linalg.matmul ins(%q, %k : tensor<{n}x4xf32>, tensor<4x{n}xf32>)
      outs(%zeros : tensor<{n}x{n}xf32>) -> tensor<{n}x{n}xf32>
  %l = arith.select %mask, %s, %hidden : tensor<{n}x{n}xi1>, tensor<{n}x{n}xf32>
  %d = tensor.empty() : tensor<{n}x{n}xf32>
  %p = linalg.softmax dimension(1) ins(%l : tensor<{n}x{n}xf32>)
      outs(%d : tensor<{n}x{n}xf32>) -> tensor<{n}x{n}xf32>
  %o = linalg.matmul ins(%p, %v : tensor<{n}x{n}xf32>, tensor<{n}x4xf32>)
      outs(%zeros1 : tensor<{n}x4xf32>) -> tensor<{n}x4xf32>
  return %o : tensor<{n}x4xf32>
}}
"""


def mask_of(shape, axes):
    mask = np.ones((1, 1), bool)
    for length, axis in zip(shape, axes):
        mask = np.kron(mask, axis_mask(length, *axis))
    return mask


def read_window(function):
    """The mask of the window that a function was raised to; None if it was not."""
    op = re.search(r"ins\(.*?: tensor<1x([0-9x]+)x1x4xf32>.*window\(<(.*?)>\)", function)
    if not op:
        return None
    shape = [int(size) for size in op[1].split("x")]
    lists = dict(re.findall(r"(\w+) = \[([^]]*)\]", op[2]))

    def entries(name, default):
        if name not in lists:
            return [default] * len(shape)
        return [{"true": 1, "false": 0}.get(e.strip()) if name == "causal" else int(e)
                for e in lists[name].split(",")]
    return mask_of(shape, list(zip(entries("size", 1), entries("stride", 1),
                                   entries("dilation", 1), entries("causal", 0))))


def run_random():
    rng = np.random.default_rng(1107)
    masks = []
    for _ in range(150):
        rank = int(rng.integers(1, 4))
        shape = rng.integers(2, (25, 8, 5)[rank - 1], rank)
        axes = []
        for length in shape:
            dilation = int(rng.integers(1, 1 + min(3, length)))
            window = int(rng.integers(1, length // dilation + 1))
            stride = int(rng.integers(1, window + 1)) if rng.random() < 0.4 else 1
            axes.append((window, stride, dilation, bool(rng.integers(2))))
        mask = mask_of(shape, axes)
        masks.append((mask, True))
        # Without a query's own key no mask is a window.
        almost = mask.copy()
        query = int(rng.integers(len(mask)))
        almost[query, query] = False
        if almost[query].any():
            masks.append((almost, False))
    source = f"{work}/random.mlir"
    with open(source, "w") as text:
        for number, (mask, _) in enumerate(masks):
            text.write(PROGRAM.format(name=f"f{number}", n=len(mask),
                                      mask=str(mask.tolist()).lower()))
    with open(compile_file(f"{work}/random-raised.mlir", source,
                           "-na-raise-attention")) as text:
        functions = text.read().split("func.func")
    failures = 0
    for number, (mask, is_window) in enumerate(masks):
        got = read_window(functions[number + 1])
        if got is None if is_window else got is not None:
            print(f"f{number}: {'not ' if is_window else ''}raised")
            failures += 1
        elif is_window and not np.array_equal(got, mask):
            print(f"f{number}: raised to another window")
            failures += 1
    print(f"{len(masks)} random programs, {failures} failures")
    return failures


def main():
    os.makedirs(work, exist_ok=True)
    failed = run_file()
    return bool(run_random()) or failed


if __name__ == "__main__":
    sys.exit(main())
