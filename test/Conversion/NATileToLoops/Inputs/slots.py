# ===- slots.py - Runs the slots and biases of tiles against NumPy ----------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Compiles na.tile.scatter, na.tile.gather and na.tile.bias in both layouts, on
random windows and boxes, and compares every entry with loops over the definition.

Usage: slots.py NA_OPT MLIR_TRANSLATE CLANG CONFORMANCE_FOLDER WORK_FOLDER
"""

import ctypes
import itertools
import os
import subprocess
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "../../NAToLoops/Inputs"))
import execute
from execute import Buffer
from window_oracle import visible

VECTOR_BITS = [128, 512]

# Run-time libraries lack the conversion from f64 to bf16.
NARROW = {"f32": ["bf16", "f16"], "f64": ["f32", "f16"]}


class Ranges(Buffer):
    def __init__(self, values):
        super().__init__(values, "f32")
        self.data = np.asarray(values, np.int32)
        self.type = self.type.replace("f32", "i32")


def lanes(box):
    return list(itertools.product(*map(range, box)))


class Case:
    """Windows, boxes and where they lie; what all three operations need."""

    def __init__(self, rng):
        self.rank = rank = int(rng.integers(1, 4))
        self.shape = [int(n) for n in rng.integers(1, (60, 25, 9)[rank - 1], rank)]
        self.dilation = [int(rng.integers(1, min(n, 3) + 1)) for n in self.shape]
        self.size = [
            int(rng.integers(1, n // d + 1)) for n, d in zip(self.shape, self.dilation)
        ]
        stride = [int(rng.integers(1, w + 1)) for w in self.size]
        causal = [bool(c) for c in rng.integers(0, 2, rank)]
        top = (40, 24, 5)[rank - 1]
        self.query_box = [int(n) for n in rng.integers(1, top, rank)]
        self.key_box = [int(n) for n in rng.integers(1, top, rank)]
        residue = [int(rng.integers(0, d)) for d in self.dilation]
        self.sizes = [
            -(-(n - r) // d) for n, r, d in zip(self.shape, residue, self.dilation)
        ]
        # The last tile of a class may hold no query.
        self.query_at = [int(rng.integers(0, n + 1)) for n in self.sizes]
        self.at = [
            r + p * d for r, p, d in zip(residue, self.query_at, self.dilation)
        ]
        self.key_at = [int(rng.integers(0, n)) for n in self.sizes]
        self.ranges = np.zeros((2 * rank, len(lanes(self.query_box))), np.int32)
        for axis in range(rank):
            keys = visible(self.shape[axis], self.size[axis], stride[axis],
                           self.dilation[axis], causal[axis])
            for lane, index in enumerate(lanes(self.query_box)):
                position = min(self.query_at[axis] + index[axis],
                               self.sizes[axis] - 1)
                seen = keys[residue[axis] + position * self.dilation[axis]]
                self.ranges[2 * axis, lane] = seen[0] // self.dilation[axis]
                self.ranges[2 * axis + 1, lane] = seen[-1] // self.dilation[axis] + 1
        causal = ", ".join("true" if c else "false" for c in causal)
        self.window = (f"<size = {self.size}, stride = {stride}, "
                       f"dilation = {self.dilation}, causal = [{causal}]>")
        self.key_major = bool(rng.integers(0, 2))
        self.boxes = f"query_box {self.query_box} key_box {self.key_box}"
        if self.key_major:
            self.boxes += " key_major"

    def tile_shape(self):
        shape = (len(lanes(self.query_box)), len(lanes(self.key_box)))
        return shape[::-1] if self.key_major else shape

    def entry(self, query, key):
        return (key, query) if self.key_major else (query, key)

    def in_window(self):
        """Yields (tile entry, token, slot) of every pair that has a slot."""
        for q, query in enumerate(lanes(self.query_box)):
            token = [a + i * d for a, i, d in zip(self.at, query, self.dilation)]
            if any(c >= n for c, n in zip(token, self.shape)):
                continue
            for k, key in enumerate(lanes(self.key_box)):
                slot = 0
                for axis in range(self.rank):
                    position = self.key_at[axis] + key[axis]
                    begin, end = self.ranges[2 * axis : 2 * axis + 2, q]
                    if not begin <= position < end:
                        break
                    slot = slot * self.size[axis] + position - begin
                else:
                    yield self.entry(q, k), tuple(token), int(slot)


class Problem(execute.Problem):
    def __init__(self, name, constants, op, buffers, changed, expected):
        text = [f"%{n} = arith.constant {v} : index\n" for n, v in constants.items()]
        super().__init__(name, "  ".join(text) + "  " + op, buffers, None)
        self.changed, self.want = changed, expected

    def run(self, library):
        function = getattr(library, f"_mlir_ciface_{self.name}")
        function(*[ctypes.byref(b.descriptor()) for b in self.buffers.values()])
        got = self.buffers[self.changed].values()
        if not np.array_equal(got, self.want, equal_nan=True):
            yield f"{self.name} differs:\n{self.text()}"


def operands(case):
    """Index operands by name, and lists of them for the text of an operation."""
    constants = {"b": 1, "h": 2}
    lists = {}
    for name in "at", "key_at", "query_at":
        values = getattr(case, name)
        names = [f"{name}{axis}" for axis in range(case.rank)]
        constants.update(zip(names, values))
        lists[name] = ", ".join(f"%{n}" for n in names)
    return constants, lists


def moved(rng, name, scatter):
    case = Case(rng)
    constants, at = operands(case)
    tile_type = str(rng.choice(["f32", "f64"]))
    whole_type = str(rng.choice([tile_type, *NARROW[tile_type]]))
    padded = bool(rng.integers(0, 2))
    tile = Buffer(rng.standard_normal(case.tile_shape()), tile_type)
    slots = int(np.prod(case.size))
    whole = Buffer(rng.standard_normal((2, *case.shape, 3, slots)), whole_type,
                   padded=padded, dynamic=bool(rng.integers(0, 2)))
    buffers = {"t": tile, "r": Ranges(case.ranges), "w": whole}
    ranges = f"ranges(%r : {buffers['r'].type}) key_at({at['key_at']})"
    place = f"%w[%b, %h] at({at['at']})"
    if scatter:
        want = whole.values()
        rounded = Buffer(tile.values(), whole_type).values()
        for entry, token, slot in case.in_window():
            want[(1, *token, 2, slot)] = rounded[entry]
        op = (f"na.tile.scatter %t {ranges} into {place} {case.window} {case.boxes} "
              f": {tile.type}, {whole.type}")
        return Problem(f"scatter_{name}", constants, op, buffers, "w", want)
    want = np.zeros(case.tile_shape())
    for entry, token, slot in case.in_window():
        want[entry] = whole.values()[(1, *token, 2, slot)]
    op = (f"na.tile.gather {place} {ranges} {case.window} {case.boxes} into %t "
          f": {whole.type}, {tile.type}")
    return Problem(f"gather_{name}", constants, op, buffers, "t", want)


def biased(rng, name):
    case = Case(rng)
    constants, at = operands(case)
    tile_type = str(rng.choice(["f32", "f64"]))
    table_type = str(rng.choice([tile_type, *NARROW[tile_type]]))
    tile = Buffer(rng.standard_normal(case.tile_shape()), tile_type)
    table = Buffer(rng.standard_normal((3, *[2 * w - 1 for w in case.size])),
                   table_type, padded=bool(rng.integers(0, 2)))
    want, entries = tile.data.copy(), table.values().astype(tile.data.dtype)
    for q, query in enumerate(lanes(case.query_box)):
        for k, key in enumerate(lanes(case.key_box)):
            index = [
                kp + ki - qp - qi + w - 1
                for kp, ki, qp, qi, w in zip(case.key_at, key, case.query_at, query,
                                             case.size)
            ]
            if all(0 <= i < 2 * w - 1 for i, w in zip(index, case.size)):
                want[case.entry(q, k)] += entries[(2, *index)]
    op = (f"na.tile.bias %t table(%w[%h] : {table.type}) {case.window} "
          f"query_at({at['query_at']}) key_at({at['key_at']}) {case.boxes} "
          f": {tile.type}")
    return Problem(f"bias_{name}", constants, op, {"t": tile, "w": table}, "t",
                   want.astype(np.float64))


def main():
    rng = np.random.default_rng(1882)
    os.makedirs(execute.work, exist_ok=True)
    count, failures = 0, []
    for bits in VECTOR_BITS:
        todo = []
        for i in range(40):
            todo += [moved(rng, i, True), moved(rng, i, False), biased(rng, i)]
        count += len(todo)
        source, lowered, llvm, library = (
            os.path.join(execute.work, f"slots{bits}.{s}")
            for s in ("mlir", "llvm.mlir", "ll", "so")
        )
        with open(source, "w") as file:
            file.writelines(problem.text() for problem in todo)
        pipeline = f"na-to-cpu{{mode=naive parallel=false vector-bits={bits}}}"
        for command in (
            [execute.na_opt, source, f"--pass-pipeline=builtin.module({pipeline})",
             "-o", lowered],
            [execute.mlir_translate, "--mlir-to-llvmir", lowered, "-o", llvm],
            # Conversions to bf16 are calls on hosts without instructions for
            # them, which older versions of libgcc lack.
            [execute.clang, "-O1", "-march=native", "-Wno-override-module", "-shared",
             "-rtlib=compiler-rt", llvm, "-lm", "-o", library],
        ):
            subprocess.run(command, check=True)
        loaded = ctypes.CDLL(library)
        failures += [f for problem in todo for f in problem.run(loaded)]
    print("\n".join(failures), end="\n" if failures else "")
    print(f"{count} problems, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
