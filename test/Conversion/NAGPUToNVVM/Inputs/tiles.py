# Lowers kernels that use every nagpu operation, runs them for all threads of a
# CTA (see cta.py), and compares what they store with NumPy. Inputs are small
# integers, so that all sums are exact.

import itertools
import subprocess
import sys

import numpy as np

from cta import CTA, decode, encode

OPTION = "-convert-nagpu-to-nvvm"


class Case:
    def __init__(self, name, dtype="bf16", product="mma", queries=(4, 16),
                 keys=(2, 16), channels=32, values=None, warps=4, dilation=(1, 1),
                 tokens=(9, 21), at=(0, 0), heads=2, swizzle="xor", out=None,
                 steps=3, identity=True):
        self.name, self.dtype, self.product = name, dtype, product
        self.queries, self.keys, self.channels = queries, keys, channels
        self.values = values or channels
        self.warps, self.dilation, self.tokens = warps, dilation, tokens
        self.at, self.heads, self.swizzle = at, heads, swizzle
        self.out, self.steps, self.identity = out or dtype, steps, identity


CASES = [
    Case("bf16"),
    Case("f16, outside on all sides", dtype="f16", at=(-1, 13)),
    Case("f32 output", out="f32", at=(6, -5)),
    Case("128 channels, one warp", channels=128, queries=(1, 16), warps=1),
    Case("64 channels", channels=64, dilation=(2, 1), at=(1, 0)),
    Case("16 channels", channels=16, dilation=(1, 3), at=(0, 2)),
    Case("odd multiple of 8 channels", channels=24, swizzle="padded"),
    Case("80 channels", channels=80, swizzle="padded", at=(5, 7)),
    Case("4-byte copies", channels=26, swizzle="padded", at=(-2, -2)),
    Case("8-byte copies", channels=28, swizzle="xor"),
    Case("odd channels", channels=13, swizzle="xor", at=(3, 10)),
    Case("odd channels, f16", channels=17, dtype="f16", swizzle="padded"),
    Case("linear rows", channels=40, swizzle="linear"),
    Case("boxes that are no powers of two", queries=(8, 6), keys=(4, 12), warps=3),
    Case("steps that leave the tile", keys=(3, 16), at=(-1, 9)),
    Case("steps that leave the tile, odd channels", keys=(3, 16), channels=11),
    Case("boxes of 28", keys=(4, 28), channels=64, at=(2, -7)),
    Case("three warps, 256 channels", channels=256, queries=(6, 8), keys=(2, 8),
         warps=3),
    Case("two rows of blocks a warp", queries=(4, 16), warps=2),
    Case("eight warps", queries=(8, 16), keys=(1, 16), warps=8, channels=64),
    Case("values differ from channels", channels=32, values=64),
    Case("dynamic sizes", identity=False, at=(-1, 3)),
    Case("three axes", queries=(2, 4, 8), keys=(2, 2, 4), tokens=(3, 5, 9),
         at=(1, -1, 3), dilation=(1, 2, 1)),
    Case("one axis", queries=(64,), keys=(32,), tokens=(75,), at=(-3,),
         dilation=(2,)),
    Case("tf32", dtype="f32", at=(-1, 1)),
    Case("tf32, padded", dtype="f32", swizzle="padded", channels=20),
    Case("tf32, odd channels", dtype="f32", channels=9, warps=2),
    Case("fma", dtype="f32", product="fma", swizzle="padded", at=(2, -2)),
    Case("fma, xor", dtype="f32", product="fma", channels=64, warps=2),
    Case("fma, odd channels", dtype="f32", product="fma", channels=7,
         swizzle="padded"),
]


def round_up(x, multiple):
    return -(-x // multiple) * multiple


class Program:
    """The kernel of a case, as nagpu operations."""

    def __init__(self, case):
        self.case = c = case
        self.M, self.N = int(np.prod(c.queries)), int(np.prod(c.keys))
        self.depth = 8 if c.dtype == "f32" else 16
        # Channels are padded to whole blocks; the chunks of a swizzled row to
        # a power of two.
        self.D, self.V = (self.pad(x) for x in (c.channels, c.values))
        self.axes = len(c.tokens)

    def pad(self, channels):
        size = 4 if self.case.dtype == "f32" else 2
        padded = round_up(channels, self.depth)
        if self.case.swizzle == "xor":
            chunks = padded * size // 16
            padded = (1 << (chunks - 1).bit_length()) * 16 // size
        return padded

    def fragment(self, m, n, kind, role):
        return f"!nagpu.fragment<{m}x{n}x{kind}, {role}, {self.case.warps}>"

    def memref(self, channels, kind):
        sizes = [2, *self.case.tokens, self.case.heads]
        if not self.case.identity:
            sizes = ["?"] * len(sizes)
        if channels:
            sizes.append(channels)
        return "memref<" + "x".join(map(str, sizes)) + f"x{kind}>"

    def copy(self, name, source, box, at, dest, types):
        c = self.case
        dilation = ", ".join(map(str, c.dilation))
        box = ", ".join(map(str, box))
        return (f"{name} = nagpu.async_copy {source}[%b, %h] at({at}) box [{box}]"
                f" dilation [{dilation}] into {dest} warps {c.warps} : {types}")

    def text(self):
        c, M, N, D, V, T = self.case, self.M, self.N, self.D, self.V, self.case.dtype
        size = 4 if T == "f32" else 2
        shared = lambda rows, columns: f"!nagpu.shared<{rows}x{columns}x{T}, {c.swizzle}>"
        ring = lambda columns: f"!nagpu.shared<2x{N}x{columns}x{T}, {c.swizzle}>"
        tile_bytes = lambda rows, columns: round_up(
            rows * (columns * size + 16), 128)
        kt, vt = tile_bytes(M, D), tile_bytes(M, D) + 2 * tile_bytes(N, D)
        self.shared_bytes = vt + 2 * tile_bytes(N, V) + 128
        q, o = self.memref(c.channels, T), self.memref(c.values, c.out)
        v, r = self.memref(c.values, T), self.memref(None, "f32")
        S, O = self.fragment(M, N, "f32", "accumulator"), self.fragment(
            M, V, "f32", "accumulator")
        row = f"!nagpu.fragment<{M}xf32, row, {c.warps}>"
        partial = f"!nagpu.fragment<{M}xf32, partial_row, {c.warps}>"
        starts = ", ".join(f"%at{i}" for i in range(self.axes))
        key_starts = ", ".join(["%kx"] + [f"%at{i}" for i in range(1, self.axes)])
        out = []
        emit = out.append
        arguments = [f"%q: {q}, %k: {q}, %v: {v}, %o: {o}, %max: {r}, %sum: {r}"]
        arguments += ["%b: index, %h: index"]
        arguments += [f"%at{i}: index" for i in range(self.axes)]
        emit(f"func.func @kernel({', '.join(arguments)}) {{")
        emit(f"""
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %steps = arith.constant {c.steps} : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %qt = nagpu.alloc {{offset = 0 : i64}} : {shared(M, D)}
  %kring = nagpu.alloc {{offset = {kt} : i64}} : {ring(D)}
  %vring = nagpu.alloc {{offset = {vt} : i64}} : {ring(V)}
  {self.copy("%tq", "%q", c.queries, starts, "%qt", f"{q}, {shared(M, D)}")}
  %o0 = nagpu.splat %zero : f32 -> {O}
  %l0 = nagpu.splat %zero : f32 -> {partial}
  %m0 = nagpu.splat %low : f32 -> {row}
  %r:4 = scf.for %i = %c0 to %steps step %c1
      iter_args(%oi = %o0, %li = %l0, %mi = %m0, %token = %tq)
      -> ({O}, {partial}, {row}, !nagpu.token) {{
    %kx = arith.addi %i, %at0 : index
    %slot = arith.remui %i, %c2 : index
    %kslot = nagpu.slot %kring[%slot] : {ring(D)} -> {shared(N, D)}
    %vslot = nagpu.slot %vring[%slot] : {ring(V)} -> {shared(N, V)}
    {self.copy("%tk", "%k", c.keys, key_starts, "%kslot", f"{q}, {shared(N, D)}")}
    {self.copy("%tv", "%v", c.keys, key_starts, "%vslot", f"{v}, {shared(N, V)}")}
    %group = nagpu.async_commit %token, %tk, %tv
    %q1, %k1, %v1 = nagpu.async_wait %group pending 0 tiles(%qt, %kslot, %vslot)
      : {shared(M, D)}, {shared(N, D)}, {shared(N, V)}
    %s0 = nagpu.splat %zero : f32 -> {S}""")
        if c.product == "fma":
            emit(f"    %s = nagpu.fma %q1, %k1, %s0 transposed"
                 f" : {shared(M, D)}, {shared(N, D)}, {S}")
        else:
            # Slices of two depths, so that `extract` and columns matter.
            step = self.depth
            last = "%s0"
            for k in range(0, D, step):
                a, b = self.fragment(M, step, T, "lhs"), self.fragment(
                    step, N, T, "rhs")
                name = "%s" if k + step >= D else f"%s_{k}"
                emit(f"""    %a_{k} = nagpu.ldmatrix %q1[0, {k}] : {shared(M, D)} -> {a}
    %b_{k} = nagpu.ldmatrix %k1[0, {k}] transposed : {shared(N, D)} -> {b}
    {name} = nagpu.mma %a_{k}, %b_{k}, {last} : {a}, {b}, {S}""")
                last = name
        emit(f"""    %w = nagpu.map(%s : {S}) {{
    ^bb0(%x: f32):
      %four = arith.constant 4 : i32
      %three = arith.constant 3 : i32
      %ri = nagpu.index 0
      %ci = nagpu.index 1
      %rj = arith.remui %ri, %four : i32
      %cj = arith.remui %ci, %three : i32
      %d = arith.subi %rj, %cj : i32
      %f = arith.sitofp %d : i32 to f32
      %y = arith.addf %x, %f : f32
      nagpu.yield %y : f32
    }} : {S}
    %m1 = nagpu.reduce max %w : {S} -> {row}
    %l1 = nagpu.reduce add %w : {S} -> {partial}
    %mn = nagpu.map(%mi, %m1 : {row}, {row}) {{
    ^bb0(%x: f32, %y: f32):
      %z = arith.maxnumf %x, %y : f32
      nagpu.yield %z : f32
    }} : {row}
    %ln = nagpu.map(%li, %l1 : {partial}, {partial}) {{
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      nagpu.yield %z : f32
    }} : {partial}""")
        if c.product == "fma":
            emit(f"    %on = nagpu.fma %w, %v1, %oi : {S}, {shared(N, V)}, {O}")
        else:
            P = self.fragment(M, N, T, "lhs")
            emit(f"    %p = nagpu.convert %w : {S} -> {P}")
            permuted = "permuted " if T == "f32" else ""
            last = "%oi"
            for k in range(0, N, self.depth):
                a = self.fragment(M, self.depth, T, "lhs")
                b = self.fragment(self.depth, V, T, "rhs")
                name = "%on" if k + self.depth >= N else f"%o_{k}"
                emit(f"""    %pa_{k} = nagpu.extract %p[{k}] : {P} -> {a}
    %pb_{k} = nagpu.ldmatrix %v1[{k}, 0] {permuted}: {shared(N, V)} -> {b}
    {name} = nagpu.mma %pa_{k}, %pb_{k}, {last} : {a}, {b}, {O}""")
                last = name
        box = ", ".join(map(str, c.queries))
        dilation = ", ".join(map(str, c.dilation))
        place = f"[%b, %h] at({starts}) box [{box}] dilation [{dilation}]"
        emit(f"""    nagpu.barrier
    %next = nagpu.async_commit none
    scf.yield %on, %ln, %mn, %next : {O}, {partial}, {row}, !nagpu.token
  }}
  %l = nagpu.convert %r#1 : {partial} -> {row}
  nagpu.store %r#0 into %o{place} : {O}, {o}
  nagpu.store %r#2 into %max{place} : {row}, {r}
  nagpu.store %l into %sum{place} : {row}, {r}
  return
}}""")
        return "\n".join(out)


def gather(tensor, at, box, dilation, batch, head):
    """The rows of a box, and which of them are in the tensor."""
    rows, inside = [], []
    for digits in itertools.product(*map(range, box)):
        place = [a + d * s for a, d, s in zip(at, digits, dilation)]
        ok = all(0 <= p < n for p, n in zip(place, tensor.shape[1:-2]))
        inside.append(tuple(place) if ok else None)
        rows.append(tensor[(batch, *place, head)] if ok else
                    np.zeros(tensor.shape[-1]))
    return np.array(rows), inside


def expected(case, tensors, batch, head):
    q, k, v = tensors
    Q, inside = gather(q, case.at, case.queries, case.dilation, batch, head)
    rows, columns = len(Q), int(np.prod(case.keys))
    bias = np.arange(rows)[:, None] % 4 - np.arange(columns)[None] % 3
    O, total, largest = 0, 0, -np.inf
    for i in range(case.steps):
        at = (case.at[0] + i, *case.at[1:])
        K, _ = gather(k, at, case.keys, case.dilation, batch, head)
        V, _ = gather(v, at, case.keys, case.dilation, batch, head)
        S = Q @ K.T + bias
        O = O + S @ V
        total = total + S.sum(1)
        largest = np.maximum(largest, S.max(1))
    return inside, O, largest, total


def check(case, lowered):
    rng = np.random.default_rng(0)
    shape = (2, *case.tokens, case.heads)
    tensors = [rng.integers(-1, 2, shape + (n,)).astype(np.float32)
               for n in (case.channels, case.channels, case.values)]
    program = Program(case)
    program.text()
    cta = CTA(lowered, 32 * case.warps, program.shared_bytes)
    cta.shared[:] = 0xFF  # not a number, where it is not filled
    inputs = [cta.allocate(x, case.dtype) for x in tensors]
    unset = 7.0
    outputs = [cta.allocate(np.full(shape + (case.values,), unset), case.out)]
    outputs += [cta.allocate(np.full(shape, unset), "f32") for _ in range(2)]
    cta.writes = np.zeros(len(cta.memory), np.int64)
    batch, head = 1, case.heads - 1
    cta.run("kernel", [*inputs, *outputs, batch, head, *case.at])
    assert cta.writes.max() == 1, "an element is stored twice"

    inside, *wanted = expected(case, tensors, batch, head)
    for name, memref, values in zip(("O", "max", "sum"), outputs, wanted):
        want = np.full(memref["shape"], unset, np.float32)
        for place, value in zip(inside, values):
            if place is not None:
                want[(batch, *place, head)] = value
        want = decode(encode(want, memref["kind"]), memref["kind"])
        got = cta.read_back(memref)
        if not (want == got).all():
            bad = np.argwhere(want != got)
            sys.exit(f"{case.name}: {name} differs in {len(bad)} elements, first "
                     f"at {tuple(bad[0])}: got {got[tuple(bad[0])]}, want "
                     f"{want[tuple(bad[0])]}")


def main():
    chosen = [c for c in CASES if not sys.argv[1:] or c.name in sys.argv[1:]]
    for case in chosen:
        lowered = subprocess.run(
            ["na-opt", OPTION, "--canonicalize", "--cse",
             "--mlir-print-op-generic", "--mlir-print-local-scope"],
            input=Program(case).text(), text=True, check=True,
            stdout=subprocess.PIPE).stdout
        check(case, lowered)
        print("ok:", case.name)


main()
