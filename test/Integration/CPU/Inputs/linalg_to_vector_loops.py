# ===- linalg_to_vector_loops.py - Vector loops against upstream's loops ----===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Compiles random linalg operations by linalg-to-vector-loops and by upstream's
convert-linalg-to-loops, runs both on the same data and compares every byte.

Inputs are small integers, so that no order of the sums and no fused rounding
changes a result. All buffers lie in larger ones, of which the rest must not
change.

Usage: linalg_to_vector_loops.py NA_OPT MLIR_TRANSLATE CLANG WORK_FOLDER
"""

import concurrent.futures
import ctypes
import os
import subprocess
import sys

import numpy as np

na_opt, mlir_translate, clang, work = sys.argv[1:5]

TO_LLVM = """canonicalize, cse, expand-strided-metadata, lower-affine,
  arith-expand{include-bf16=true}, convert-scf-to-cf, convert-math-to-llvm,
  convert-vector-to-llvm, finalize-memref-to-llvm, convert-arith-to-llvm,
  convert-index-to-llvm, convert-cf-to-llvm, convert-func-to-llvm,
  reconcile-unrealized-casts"""
VECTORS = "linalg-to-vector-loops{vector-bits=%d registers=%d}"
PIPELINES = {
    "upstream": "func.func(convert-linalg-to-loops)",
    "avx512": VECTORS % (512, 32) + ", parallel-to-runtime",
    "avx2": VECTORS % (256, 16) + ", parallel-to-runtime",
    "sse": VECTORS % (128, 16),
    "small": VECTORS % (64, 4),
}

# What the compiled code may call: halves of the iterations, and the conversions
# that a compiler's library may lack.
RUNTIME = """
#include <stdint.h>
#include <string.h>
void naParallelFor(int64_t count, void (*body)(int64_t, int64_t, void *),
                   void *context) {
  body(count / 2, count, context);
  body(0, count / 2, context);
}
__bf16 __truncsfbf2(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  uint16_t half = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  __bf16 result;
  memcpy(&result, &half, 2);
  return result;
}
"""

NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.uint16,
         "i64": np.int64, "i32": np.int32, "i16": np.int16, "i1": np.uint8}


def to_storage(values, dtype):
    if dtype == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(NUMPY[dtype])


class Buffer:
    """A memref of random small integers; `layout` is plain, dense (a part of a
    larger buffer with contiguous last dimension) or strided (not even that)."""

    def __init__(self, rng, shape, dtype, layout="plain"):
        self.shape, self.dtype = shape, dtype
        step = 2 if layout == "strided" else 1
        outer = [n + (0 if layout == "plain" else 3) for n in shape]
        if outer:
            outer[-1] *= step
        guard = 64
        size = int(np.prod(outer, dtype=np.int64))
        low, high = (0, 2) if dtype == "i1" else (-1, 2)
        self.start = to_storage(rng.integers(low, high, size + 2 * guard), dtype)
        strides = [int(np.prod(outer[i + 1:], dtype=np.int64)) for i in range(len(outer))]
        if strides:
            strides[-1] = step
        self.offset = guard
        self.strides = strides
        self.type = "memref<" + "x".join([str(n) for n in shape] + [dtype])
        if layout != "plain":
            known = [str(s) for s in strides[-1:]]
            self.type += f", strided<[{', '.join(['?'] * (len(shape) - 1) + known)}], offset: ?>"
        self.type += ">"

    def reset(self):
        self.data = self.start.copy()

    def descriptor(self):
        rank = len(self.shape)

        class Descriptor(ctypes.Structure):
            _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p),
                        ("offset", ctypes.c_int64), ("sizes", ctypes.c_int64 * rank),
                        ("strides", ctypes.c_int64 * rank)]

        # Types without a layout say that the offset is 0.
        plain = "strided" not in self.type
        pointer = self.data.ctypes.data
        if plain:
            pointer += self.offset * self.data.itemsize
        return Descriptor(pointer, pointer, 0 if plain else self.offset,
                          (ctypes.c_int64 * rank)(*self.shape),
                          (ctypes.c_int64 * rank)(*self.strides))


class Case:
    def __init__(self, name, op, buffers, vectorizes=True):
        self.name, self.op, self.buffers = name, op, buffers
        self.vectorizes = vectorizes

    def text(self):
        args = ", ".join(f"%{n}: {b.type}" for n, b in self.buffers.items())
        return (f"func.func @{self.name}({args}) attributes {{llvm.emit_c_interface}} "
                f"{{\n  {self.op}\n  return\n}}\n")

    def run(self, library):
        for buffer in self.buffers.values():
            buffer.reset()
        descriptors = [b.descriptor() for b in self.buffers.values()]
        getattr(library, f"_mlir_ciface_{self.name}")(
            *[ctypes.byref(d) for d in descriptors])
        return {n: b.data for n, b in self.buffers.items()}


def generic(buffers, maps, iterators, inputs, outputs, body):
    """`body` computes from the arguments, named like the buffers."""
    def operands(names):
        return (", ".join(f"%{n}" for n in names) + " : "
                + ", ".join(buffers[n].type for n in names))

    dims = ", ".join(f"d{i}" for i in range(len(iterators)))
    maps = ", ".join(f"affine_map<({dims}) -> ({m})>" for m in maps)
    kinds = ", ".join('"parallel"' if i == "p" else '"reduction"' for i in iterators)
    args = ", ".join(f"%{n}_: {buffers[n].dtype}" for n in inputs + outputs)
    ins = f"ins({operands(inputs)}) " if inputs else ""
    return (f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
            f"{ins}outs({operands(outputs)}) {{\n  ^bb0({args}):\n    {body}\n  }}")


def add(dtype):
    return "arith.addf" if "f" in dtype else "arith.addi"


def mul(dtype):
    return "arith.mulf" if "f" in dtype else "arith.muli"


def contraction(rng, name, extents, maps, iterators, dtype, accumulator=None,
                layouts=("plain", "plain", "plain"), vectorizes=True):
    """output += a * b, over any maps of dimensions and constants."""
    accumulator = accumulator or dtype
    shapes = [[extents[int(e.strip()[1:])] if e.strip().startswith("d") else 3
               for e in m.split(",") if e.strip()] for m in maps]
    buffers = {n: Buffer(rng, s, t, l) for n, s, t, l in
               zip("abc", shapes, (dtype, dtype, accumulator), layouts)}
    body, x, y = "", "%a_", "%b_"
    if accumulator != dtype:
        body = (f"%x = arith.extf %a_ : {dtype} to {accumulator}\n    "
                f"%y = arith.extf %b_ : {dtype} to {accumulator}\n    ")
        x, y = "%x", "%y"
    body += (f"%m = {mul(accumulator)} {x}, {y} : {accumulator}\n    "
             f"%s = {add(accumulator)} %c_, %m : {accumulator}\n    "
             f"linalg.yield %s : {accumulator}")
    op = generic(buffers, maps, iterators, ["a", "b"], ["c"], body)
    return Case(name, op, buffers, vectorizes)


def cases(rng):
    def size(*choices):
        return int(rng.choice(choices))

    # Products: plain, transposed operands, batches, two reductions, outer and
    # row products, a fixed index; every float type, integers, mixed types.
    forms = {
        "nn": (["d0, d2", "d2, d1", "d0, d1"], "ppr"),
        "tn": (["d2, d0", "d2, d1", "d0, d1"], "ppr"),
        "nt": (["d0, d2", "d1, d2", "d0, d1"], "ppr"),
        "swapped": (["d1, d2", "d2, d0", "d0, d1"], "ppr"),
        "batch": (["d0, d1, d3", "d0, d3, d2", "d0, d1, d2"], "pppr"),
        "two": (["d0, d2, d3", "d2, d3, d1", "d0, d1"], "pprr"),
        "inner": (["d1, d0", "d1, d2", "d0, d2"], "prp"),
        "outer": (["d0", "d1", "d0, d1"], "pp"),
        "row": (["d1", "d1, d0", "d0"], "pr"),
        "fixed": (["1, d1, d0", "d1", "d0"], "pr"),
    }
    types = [("f32", None), ("f64", None), ("f16", None), ("bf16", None), ("i32", None),
             ("i16", None), ("bf16", "f32"), ("f16", "f32"), ("f32", "f64"), ("i64", None)]
    for i in range(100):
        form = list(forms)[i % len(forms)]
        maps, iterators = forms[form]
        dtype, accumulator = types[(i // 3) % len(types)]
        extents = [size(1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 33, 40) for _ in iterators]
        # "nt" has rows along the reduction, which floats are summed along;
        # "swapped" has nothing contiguous.
        lanes = form != "swapped" and (form != "nt" or "f" in dtype)
        layouts = [("plain", "dense")[int(rng.integers(0, 2))] for _ in range(3)]
        yield contraction(rng, f"contract{i}_{form}", extents, maps, iterators, dtype,
                          accumulator, layouts, lanes)
    # Large enough to become parallel: over outer dimensions, over panels of rows
    # with and without a rest, over nothing.
    for i, (form, extents) in enumerate([
            ("batch", [9, 13, 33, 7]), ("nn", [97, 65, 31]), ("nn", [96, 64, 16]),
            ("tn", [25, 129, 40]), ("nn", [3, 300, 40]), ("two", [70, 19, 6, 5]),
            ("batch", [2, 50, 48, 20]), ("row", [300, 90]), ("nt", [97, 65, 31]),
            ("nt", [3, 301, 40])]):
        maps, iterators = forms[form]
        for dtype in "f32", "f64":
            yield contraction(rng, f"large{i}_{dtype}", extents, maps, iterators, dtype)
    # A strided left operand is scalars anyway; a strided output is not for
    # vectors.
    yield contraction(rng, "strided_lhs", [5, 19, 7], *forms["nn"], "f32",
                      layouts=("strided", "plain", "plain"))
    yield contraction(rng, "strided_out", [5, 19, 7], *forms["nn"], "f32",
                      layouts=("plain", "plain", "strided"), vectorizes=False)

    for i in range(40):
        dtype = ["f32", "f64", "f16", "bf16", "i32", "i64"][i % 6]
        rows, lanes = size(1, 2, 3, 5, 12, 13), size(1, 2, 7, 8, 15, 16, 17, 33, 64, 100)
        layout = ("plain", "dense")[i % 2]
        plus, times = add(dtype), mul(dtype)

        def make(shapes, of=dtype):
            types = {"flag": "i1"}
            return {n: Buffer(rng, s, types.get(n, of), layout) for n, s in shapes.items()}

        # A reduction to a row, and to a row while the terms are kept.
        b = make({"x": [rows, lanes], "sum": [lanes]})
        yield Case(f"reduce{i}", generic(
            b, ["d0, d1", "d1"], "rp", ["x"], ["sum"],
            f"%0 = {plus} %x_, %sum_ : {dtype}\n    linalg.yield %0 : {dtype}"), b)
        b = make({"shift": [lanes], "x": [rows, lanes], "sum": [lanes]})
        yield Case(f"outputs{i}", generic(
            b, ["d1", "d0, d1", "d1"], "rp", ["shift"], ["x", "sum"],
            f"%0 = {plus} %x_, %shift_ : {dtype}\n    %1 = {plus} %sum_, %0 : {dtype}\n"
            f"    linalg.yield %0, %1 : {dtype}, {dtype}"), b)
        # Reductions of each row, along it: one, two at once, and a running sum
        # of which the largest is asked for.
        b = make({"x": [rows, lanes], "sum": [rows], "max": [rows]})
        if "f" in dtype:
            yield Case(f"along{i}", generic(
                b, ["d0, d1", "d0"], "pr", ["x"], ["sum"],
                f"%0 = {times} %x_, %x_ : {dtype}\n    %1 = {plus} %sum_, %0 : {dtype}\n"
                f"    linalg.yield %1 : {dtype}"), b)
            yield Case(f"pair{i}", generic(
                b, ["d0, d1", "d0", "d0"], "pr", ["x"], ["sum", "max"],
                f"%0 = {plus} %x_, %sum_ : {dtype}\n"
                f"    %1 = arith.maximumf %max_, %x_ : {dtype}\n"
                f"    linalg.yield %0, %1 : {dtype}, {dtype}"), b)
            yield Case(f"running{i}", generic(
                b, ["d0, d1", "d0", "d0"], "pr", ["x"], ["sum", "max"],
                f"%0 = {plus} %x_, %sum_ : {dtype}\n"
                f"    %1 = arith.maximumf %max_, %0 : {dtype}\n"
                f"    linalg.yield %0, %1 : {dtype}, {dtype}"), b, False)
        # Broadcasts of rows, columns and one element; a flag per row, another
        # output, the old value of the output.
        b = make({"x": [lanes], "y": [rows], "z": [], "flag": [rows],
                  "o": [rows, lanes], "p": [rows, lanes]})
        if layout == "dense":
            b["z"] = Buffer(rng, [], dtype)
        yield Case(f"broadcast{i}", generic(
            b, ["d1", "d0", "", "d0", "d0, d1", "d0, d1"], "pp",
            ["x", "y", "z", "flag"], ["o", "p"],
            f"%0 = {times} %x_, %y_ : {dtype}\n    %1 = {plus} %0, %z_ : {dtype}\n"
            f"    %2 = arith.select %flag_, %1, %o_ : {dtype}\n"
            f"    linalg.yield %2, %0 : {dtype}, {dtype}"), b)
        # Indices of lanes, rows and other dimensions.
        if dtype in ("i32", "i64"):
            b = make({"o": [size(1, 3), rows, lanes]})
            yield Case(f"index{i}", generic(
                b, ["d0, d1, d2"], "ppp", [], ["o"],
                f"%i = linalg.index 0 : index\n    %j = linalg.index 1 : index\n"
                f"    %k = linalg.index 2 : index\n    %l = arith.muli %j, %k : index\n"
                f"    %m = arith.addi %i, %l : index\n"
                f"    %n = arith.index_cast %m : index to {dtype}\n"
                f"    linalg.yield %n : {dtype}"), b)
        # Rows of another buffer, by fixed indices.
        b = make({"r": [4, lanes], "o": [rows, lanes]})
        yield Case(
            f"rows{i}",
            f"linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (1, d1)>, "
            f"affine_map<(d0, d1) -> (3, d1)>, affine_map<(d0, d1) -> (d0, d1)>], "
            f'iterator_types = ["parallel", "parallel"]}} '
            f"ins(%r, %r : {b['r'].type}, {b['r'].type}) outs(%o : {b['o'].type}) {{\n"
            f"  ^bb0(%x: {dtype}, %y: {dtype}, %z: {dtype}):\n"
            f"    %0 = {plus} %x, %y : {dtype}\n    linalg.yield %0 : {dtype}\n  }}", b)
        # Named operations.
        b = make({"o": [rows, lanes]})
        zero = "1.0" if "f" in dtype else "1"
        yield Case(f"fill{i}", f"%c = arith.constant {zero} : {dtype}\n  linalg.fill "
                   f"ins(%c : {dtype}) outs(%o : {b['o'].type})", b)
        b = make({"x": [rows, lanes], "y": [rows, lanes], "o": [rows, lanes]})
        yield Case(f"add{i}", f"linalg.add ins(%x, %y : {b['x'].type}, {b['y'].type}) "
                   f"outs(%o : {b['o'].type})", b)
    # A flag per element is bytes in memory and bits in a vector.
    b = {"c": Buffer(rng, [3, 21], "i1"), "x": Buffer(rng, [3, 21], "f32"),
         "y": Buffer(rng, [3, 21], "f32"), "o": Buffer(rng, [3, 21], "f32")}
    yield Case("flags", "linalg.select ins(%c, %x, %y : memref<3x21xi1>, "
               "memref<3x21xf32>, memref<3x21xf32>) outs(%o : memref<3x21xf32>)", b, False)
    b = {"o": Buffer(rng, [0, 8], "f32")}
    yield Case("empty", "%c = arith.constant 1.0 : f32\n  linalg.fill ins(%c : f32) "
               "outs(%o : memref<0x8xf32>)", b, False)


def run(command, **how):
    return subprocess.run(command, check=True, **how)


def compile_by(name, source, runtime):
    path = os.path.join(work, name)
    first = PIPELINES[name]
    pipeline = f"builtin.module({first}, func.func(convert-linalg-to-loops), {TO_LLVM})"
    run([na_opt, source, "--pass-pipeline=" + pipeline.replace("\n", ""), "-o",
         path + ".mlir"])
    run([mlir_translate, "--mlir-to-llvmir", path + ".mlir", "-o", path + ".ll"])
    run([clang, "-O1", "-march=native", "-ffp-contract=off", "-Wno-override-module",
         "-shared", "-rtlib=compiler-rt", "-fPIC", path + ".ll", runtime, "-lm", "-o", path + ".so"])
    return ctypes.CDLL(path + ".so")


def main():
    rng = np.random.default_rng(2022)
    todo = list(cases(rng))
    os.makedirs(work, exist_ok=True)
    source, runtime = os.path.join(work, "ops.mlir"), os.path.join(work, "runtime.c")
    with open(source, "w") as file:
        file.writelines(case.text() for case in todo)
    with open(runtime, "w") as file:
        file.write(RUNTIME)
    failures = []

    # Whether an operation became vectors or was left is part of the contract.
    lowered = run([na_opt, source, "-linalg-to-vector-loops"], capture_output=True,
                  text=True).stdout
    for function in lowered.split("func.func @")[1:]:
        name = function.split("(")[0]
        left = "linalg." in function
        expected = next(case for case in todo if case.name == name)
        if left == expected.vectorizes:
            failures.append(f"{name} was {'left' if left else 'lowered'}\n{expected.text()}")

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        libraries = dict(zip(PIPELINES, pool.map(
            lambda name: compile_by(name, source, runtime), PIPELINES)))
    for case in todo:
        want = case.run(libraries["upstream"])
        for name in PIPELINES:
            got = case.run(libraries[name])
            for buffer in want:
                if want[buffer].tobytes() != got[buffer].tobytes():
                    failures.append(f"{case.name}: {buffer} differs by {name}\n{case.text()}")
    print("\n".join(failures), end="\n" if failures else "")
    vectors = sum(case.vectorizes for case in todo)
    print(f"{len(todo)} operations, {vectors} as vectors, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
