# Lowers kernels that mask the columns of a fragment on one axis, and on several
# at once, runs them for all threads of a CTA (see cta.py), and compares with NumPy. The boxes are those
# whose coordinates a thread finds in different ways.

import itertools
import subprocess
import sys

import numpy as np

from cta import CTA

BOXES = [
    [176], [16], [256], [64], [128],          # one axis, up to two pairs of words
    [22, 8], [2, 88], [2, 4, 24], [4, 2, 8],   # no carry from the lane
    [16, 4], [8, 2, 2], [176, 1], [64, 1], [4, 44],
    [2, 4, 14], [2, 8, 12], [16, 12, 1], [4, 4, 5], [16, 3], [16, 7], [2, 24, 2],
    [16, 5], [4, 4, 11], [2, 104],             # carries
]
WARPS = 2
ROWS = 16 * WARPS
FACTORS = [11, 7, 5]


def text(name, box, axis, size):
    columns = int(np.prod(box))
    S = f"!nagpu.fragment<{ROWS}x{columns}xf32, accumulator, {WARPS}>"
    row = f"!nagpu.fragment<{ROWS}xi32, row, {WARPS}>"
    bound = f"size {size}" if size else ""
    end, end_type = ("", "") if size else (" to %bounds#1", f", {row}")
    o = f"memref<1x{ROWS}x1x{columns}xf32>"
    return f"""func.func @{name}(%o: {o}, %c: index, %factor: i32, %modulus: i32, %first: i32) {{
  %v = nagpu.map() {{
    %n = nagpu.index 1
    %f = arith.sitofp %n : i32 to f32
    nagpu.yield %f : f32
  }} : {S}
  %bounds:2 = nagpu.map() {{
    %r = nagpu.index 0
    %seven = arith.constant 7 : i32
    %p = arith.muli %r, %factor : i32
    %q = arith.remui %p, %modulus : i32
    %begin = arith.addi %q, %first : i32
    %more = arith.remui %r, %seven : i32
    %end = arith.addi %begin, %more : i32
    nagpu.yield %begin, %end : i32, i32
  }} : {row}, {row}
  %m = nagpu.mask %v axis {axis} of {box} from %bounds#0{end} {bound}
    : {S}, {row}{end_type}
  nagpu.store %m into %o[%c, %c] at(%c) box [{ROWS}] dilation [1] : {S}, {o}
  return
}}"""


def text_box(name, box, axes):
    """All axes have the same bounds but for a constant."""
    columns = int(np.prod(box))
    S = f"!nagpu.fragment<{ROWS}x{columns}xf32, accumulator, {WARPS}>"
    row = f"!nagpu.fragment<{ROWS}xi32, row, {WARPS}>"
    o = f"memref<1x{ROWS}x1x{columns}xf32>"
    count = len(axes)
    bounds = "".join(f"""
    %f{i} = arith.constant {FACTORS[axis]} : i32
    %m{i} = arith.constant {box[axis] + 12} : i32
    %p{i} = arith.muli %r, %f{i} : i32
    %q{i} = arith.remui %p{i}, %m{i} : i32
    %begin{i} = arith.addi %q{i}, %first : i32
    %more{i} = arith.constant {box[axis] // 2 + 3} : i32
    %end{i} = arith.addi %begin{i}, %more{i} : i32""" for i, axis in enumerate(axes))
    names = ([f"%begin{i}" for i in range(count)]
             + [f"%end{i}" for i in range(count)])
    begins = ", ".join(f"%bounds#{i}" for i in range(count))
    ends = ", ".join(f"%bounds#{count + i}" for i in range(count))
    return f"""func.func @{name}(%o: {o}, %c: index, %first: i32) {{
  %v = nagpu.map() {{
    %n = nagpu.index 1
    %f = arith.sitofp %n : i32 to f32
    nagpu.yield %f : f32
  }} : {S}
  %bounds:{2 * count} = nagpu.map() {{
    %r = nagpu.index 0{bounds}
    nagpu.yield {", ".join(names)} : {", ".join(["i32"] * 2 * count)}
  }} : {", ".join([row] * 2 * count)}
  %m = nagpu.mask_box %v axes {axes} of {box} from {begins} to {ends}
    : {S}, {row}
  nagpu.store %m into %o[%c, %c] at(%c) box [{ROWS}] dilation [1] : {S}, {o}
  return
}}"""


def check_boxes(box):
    """Masks of every two axes or more."""
    sets = [axes for count in range(1, len(box) + 1)
            for axes in itertools.combinations(range(len(box)), count)]
    cases = {"axes" + "_".join(map(str, axes)): list(axes) for axes in sets}
    lowered = lower(text_box(name, box, axes) for name, axes in cases.items())
    cta = CTA(lowered, 32 * WARPS, 0)
    columns = int(np.prod(box))
    rows = np.arange(ROWS)
    cut = 0
    for name, axes in cases.items():
        o = cta.allocate(np.full((1, ROWS, 1, columns), 7.5), "f32")
        cta.run(name, [o, 0, -6])
        inside = np.full((ROWS, columns), True)
        for axis in axes:
            begin = rows * FACTORS[axis] % (box[axis] + 12) - 6
            end = begin + box[axis] // 2 + 3
            coordinate = np.indices(box)[axis].reshape(-1)
            inside &= (coordinate >= begin[:, None]) & (coordinate < end[:, None])
        compare(box, name, inside, cta.read_back(o))
        cut += inside.any() and not inside.all()
    return cut


def compare(box, name, inside, got):
    """Fails where `got` is not the column inside, and -inf outside."""
    want = np.where(inside, np.arange(inside.shape[1]), -np.inf).astype(np.float32)
    got = got.reshape(want.shape)
    if not (want == got).all():
        bad = tuple(np.argwhere(want != got)[0])
        sys.exit(f"box {box}, {name}: {(want != got).sum()} elements differ, "
                 f"first {bad}: got {got[bad]}, want {want[bad]}")


def lower(functions):
    return subprocess.run(
        ["na-opt", "-convert-nagpu-to-nvvm", "--canonicalize", "--cse",
         "--mlir-print-op-generic", "--mlir-print-local-scope"],
        input="\n".join(functions), text=True, check=True,
        stdout=subprocess.PIPE).stdout


def check(box):
    cases = {f"axis{axis}_size{size}": (axis, size)
             for axis in range(len(box)) for size in (None, 1, 20)}
    lowered = lower(text(name, box, *case) for name, case in cases.items())
    cta = CTA(lowered, 32 * WARPS, 0)
    columns = int(np.prod(box))
    rows = np.arange(ROWS)
    cut = 0
    for name, (axis, size) in cases.items():
        o = cta.allocate(np.full((1, ROWS, 1, columns), 7.5), "f32")
        # Bounds from well before the box to well behind it.
        modulus = box[axis] + 40
        cta.run(name, [o, 0, 11, modulus, -30])
        begin = rows * 11 % modulus - 30
        end = begin + (size or rows % 7)
        coordinate = np.indices(box)[axis].reshape(-1)
        inside = (coordinate >= begin[:, None]) & (coordinate < end[:, None])
        compare(box, name, inside, cta.read_back(o))
        cut += inside.any() and not inside.all()
    return cut


def main():
    print("ok:", sum(map(check, BOXES)), "masks that cut")
    print("ok:", sum(map(check_boxes, BOXES)), "boxes that cut")


main()
