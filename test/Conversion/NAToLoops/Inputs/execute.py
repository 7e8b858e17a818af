# ===- execute.py - Runs the naive lowering against the reference -----------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Compiles one module of many small problems by PASSES, a list (default:
convert-na-to-loops), and upstream passes, runs each and compares it with the f64 reference.

Usage: execute.py NA_OPT MLIR_TRANSLATE CLANG CONFORMANCE_FOLDER WORK_FOLDER [PASSES]
"""

import ctypes
import os
import subprocess
import sys

import numpy as np

na_opt, mlir_translate, clang, conformance, work = sys.argv[1:6]
sys.path.insert(0, conformance)
import reference

PASSES = sys.argv[6] if len(sys.argv) > 6 else "convert-na-to-loops"
PIPELINE = f"""builtin.module({PASSES}, canonicalize, cse,
  expand-strided-metadata, lower-affine, arith-expand{{include-bf16=true}},
  convert-math-to-llvm, convert-scf-to-cf, convert-vector-to-llvm, convert-cf-to-llvm,
  finalize-memref-to-llvm, convert-arith-to-llvm, convert-index-to-llvm,
  convert-func-to-llvm, reconcile-unrealized-casts)"""

FLOATS = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.uint16}


class Buffer:
    """An array of one of the four float types, with its memref type.

    `padded` puts the array into a larger one, so that its strides are not those
    of its shape; the type then has dynamic strides and offset.
    """

    def __init__(self, values, dtype, dynamic=False, padded=False):
        values = np.asarray(values, np.float64)
        if dtype == "bf16":
            bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
            data = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
            data = np.where(np.isnan(values), 0x7FC0, data).astype(np.uint16)
        else:
            data = values.astype(FLOATS[dtype])
        self.dtype = dtype
        if padded:
            outer = np.zeros([n + 2 for n in data.shape], data.dtype)
            inner = outer[tuple(slice(1, n + 1) for n in data.shape)]
            inner[...] = data
            data = inner
        self.data = data
        sizes = ["?" if dynamic else str(n) for n in data.shape]
        self.type = "memref<" + "x".join(sizes + [dtype])
        if padded:
            strides = ", ".join(["?"] * data.ndim)
            self.type += f", strided<[{strides}], offset: ?>"
        self.type += ">"

    def values(self):
        if self.dtype == "bf16":
            bits = self.data.astype(np.uint32) << 16
            return bits.view(np.float32).astype(np.float64)
        return self.data.astype(np.float64)

    def descriptor(self):
        rank = self.data.ndim

        class Descriptor(ctypes.Structure):
            _fields_ = [
                ("allocated", ctypes.c_void_p),
                ("aligned", ctypes.c_void_p),
                ("offset", ctypes.c_int64),
                ("sizes", ctypes.c_int64 * rank),
                ("strides", ctypes.c_int64 * rank),
            ]

        pointer = self.data.ctypes.data
        strides = [s // self.data.itemsize for s in self.data.strides]
        return Descriptor(
            pointer,
            pointer,
            0,
            (ctypes.c_int64 * rank)(*self.data.shape),
            (ctypes.c_int64 * rank)(*strides),
        )


def poison(shape, dtype, **kwargs):
    return Buffer(np.full(shape, np.nan), dtype, **kwargs)


class Problem:
    """One function, its buffers, and what they must hold after a call."""

    def __init__(self, name, op, buffers, expected):
        self.name, self.op, self.buffers, self.expected = name, op, buffers, expected

    def text(self):
        args = ", ".join(f"%{n}: {b.type}" for n, b in self.buffers.items())
        return (
            f"func.func @{self.name}({args}) attributes "
            f"{{llvm.emit_c_interface}} {{\n  {self.op}\n  return\n}}\n"
        )

    def run(self, library):
        function = getattr(library, f"_mlir_ciface_{self.name}")
        descriptors = [b.descriptor() for b in self.buffers.values()]
        function(*[ctypes.byref(d) for d in descriptors])
        for name, (dtype, want) in self.expected().items():
            got = self.buffers[name].values()
            # Infinities and NaNs must be the reference's, the rest near it.
            holes = ~np.isfinite(want)
            good = np.array_equal(got[holes], want[holes], equal_nan=True)
            got = np.where(holes, 0, got)
            want = np.where(holes, 0, want)
            if name == "lse":
                error = np.abs(got - want)
                good &= (error <= reference.lse_tolerance(dtype, want)).all()
                error = error.max(initial=0)
            else:
                error = reference.relative_errors(
                    got,
                    want,
                    # A gradient, or a score of a row of one key, can be as near 0
                    # as it likes.
                    gradient=name[0] in "sd",
                )
                good &= all(np.array(error) <= reference.TOLERANCES[dtype])
            if not good:
                yield f"{self.name}: {name} is off by {error}\n{self.text()}"


def listing(buffers, *names):
    names = [n for n in names if n in buffers]
    return (
        ", ".join(f"%{n}" for n in names)
        + " : "
        + ", ".join(buffers[n].type for n in names)
    )


def window_text(window, stride, dilation, causal):
    causal = ", ".join("true" if c else "false" for c in causal)
    return (
        f"window(<size = {window}, stride = {stride}, dilation = {dilation}, "
        f"causal = [{causal}]>)"
    )


def windowed(rng, name, shape, window, stride, dilation, causal, dtype="f32", batch=2,
             heads=2, kv_heads=2, dim=8, value_dim=5, scale=None, bias=None, extra=None,
             lse=True, dynamic=False, padded=False, sample=None, nan=False):
    """Yields the attention, qk and av problems of one set of arguments.

    `sample` draws queries, keys and values; with `nan`, one key and one value
    have a NaN.
    """
    how = dict(dynamic=dynamic, padded=padded)

    def random(*sizes, of=dtype, sample=sample):
        return Buffer((sample or rng.standard_normal)(sizes), of, **how)

    statistic = "f64" if dtype == "f64" else "f32"
    args = (window, stride, dilation, causal)
    base = {
        "q": random(batch, *shape, heads, dim),
        "k": random(batch, *shape, kv_heads, dim),
    }
    scale_text = "" if scale is None else f" {{scale = {scale:e} : f64}}"
    clause = ""
    if bias:
        base["bias"] = random(heads, *[2 * w - 1 for w in window], of=bias,
                              sample=rng.standard_normal)
        clause = f" bias({listing(base, 'bias')})"

    def bias_values():
        return base["bias"].values() if bias else None

    scores = {**base, "s": poison((batch, *shape, heads, int(np.prod(window))),
                                  statistic, **how)}
    yield Problem(
        f"qk_{name}",
        f"na.qk ins({listing(scores, 'q', 'k')}){clause} "
        f"outs({listing(scores, 's')}) {window_text(*args)}{scale_text}",
        scores,
        lambda: {"s": (statistic, reference.qk(
            scores["q"].values(), scores["k"].values(), *args, scale,
            bias_values()))},
    )

    value = random(batch, *shape, kv_heads, value_dim)
    if nan:
        middle = [n // 2 for n in shape]
        base["k"].data[(0, *middle, 0)] = np.nan
        value.data[(batch - 1, *middle, kv_heads - 1, 0)] = np.nan
    slots = rng.random((batch, *shape, heads, int(np.prod(window))))
    # The slots that no key fills must not be read.
    empty = reference.qk(np.zeros((batch, *shape, heads, 1)),
                         np.zeros((batch, *shape, kv_heads, 1)), *args)
    slots[np.isneginf(empty)] = np.nan
    weighted = {"w": Buffer(slots, statistic if bias else dtype, **how), "v": value,
                "o": poison((batch, *shape, heads, value_dim), dtype, **how)}
    yield Problem(
        f"av_{name}",
        f"na.av ins({listing(weighted, 'w', 'v')}) outs({listing(weighted, 'o')}) "
        f"{window_text(*args)}",
        weighted,
        lambda: {"o": (dtype, reference.av(
            weighted["w"].values(), weighted["v"].values(), *args))},
    )

    whole = {**base, "v": value,
             "o": poison((batch, *shape, heads, value_dim), dtype, **how)}
    if extra is not None:
        whole["ek"] = random(batch, extra, kv_heads, dim)
        whole["ev"] = random(batch, extra, kv_heads, value_dim)
        clause += f" additional({listing(whole, 'ek', 'ev')})"
    if lse:
        whole["lse"] = poison((batch, *shape, heads), statistic, **how)

    def expected():
        pair = {n: whole[n].values() for n in ("ek", "ev")} if extra is not None else {}
        o, l = reference.attention(
            *[whole[n].values() for n in "qkv"], *args, scale, bias_values(), **pair)
        return {"o": (dtype, o), **({"lse": (dtype, l)} if lse else {})}

    yield Problem(
        f"attention_{name}",
        f"na.attention ins({listing(whole, 'q', 'k', 'v')}){clause} "
        f"outs({listing(whole, 'o', 'lse')}) {window_text(*args)}{scale_text}",
        whole,
        expected,
    )


def merged(rng, name, shape, parts, dtype="f32", out=None, lse=True, **how):
    """Joins parts of which some rows, and all parts of one row, have no key."""
    out = out or dtype
    statistic = "f64" if dtype == "f64" else "f32"
    buffers = {}
    for i in range(parts):
        values = rng.standard_normal(shape)
        lses = np.array(rng.standard_normal(shape[:-1]) * 5)
        empty = np.array(rng.random(shape[:-1]) < 0.3)
        if empty.size:
            empty.flat[0] = True
        values[empty] = np.nan
        lses[empty] = -np.inf
        buffers[f"o{i}"] = Buffer(values, dtype, **how)
        buffers[f"l{i}"] = Buffer(lses, statistic, **how)
    buffers["o"] = poison(shape, out, **how)
    if lse:
        buffers["lse"] = poison(shape[:-1], statistic, **how)
    outputs = [f"o{i}" for i in range(parts)]
    lses = [f"l{i}" for i in range(parts)]

    def expected():
        o, l = reference.merge([buffers[n].values() for n in outputs],
                               [buffers[n].values() for n in lses])
        # As precise as the coarser of the two types.
        loose = max(out, dtype, key=lambda d: reference.TOLERANCES[d])
        return {"o": (loose, o), **({"lse": (dtype, l)} if lse else {})}

    return Problem(
        f"merge_{name}",
        f"na.merge ins({listing(buffers, *outputs)}) lses({listing(buffers, *lses)}) "
        f"outs({listing(buffers, 'o', 'lse')})",
        buffers,
        expected,
    )


def problems(rng):
    plain = ([1], [1], [False])
    one = [2, 1], [1, 2], [True, False]
    for dtype in FLOATS:
        yield from windowed(rng, f"{dtype}_1d", [13], [4], *plain, dtype=dtype)
        yield from windowed(rng, f"{dtype}_2d", [7, 9], [3, 4], *one, dtype=dtype,
                            heads=4, bias=dtype, extra=3)
        yield from windowed(rng, f"{dtype}_dynamic", [7, 9], [3, 4], *one, dtype=dtype,
                            heads=4, bias="f32", extra=3, dynamic=True)
        yield from windowed(rng, f"{dtype}_padded", [7, 9], [3, 4], *one, dtype=dtype,
                            heads=6, bias="f32", extra=2, padded=True)
        yield merged(rng, f"{dtype}_one", (4, 5), 1, dtype)
        yield merged(rng, f"{dtype}_three", (2, 3, 4, 5), 3, dtype, padded=True)
        yield merged(rng, f"{dtype}_to_f32", (6, 5), 2, dtype, out="f32", dynamic=True)
    yield merged(rng, "bf16_to_f16", (6, 5), 2, "bf16", out="f16", lse=False)
    yield merged(rng, "one_row", (5,), 2)
    yield merged(rng, "no_row", (0, 5), 2)
    for name, scale in ("zero", 0.0), ("negative", -0.75), ("large", 3.0):
        yield from windowed(rng, f"scale_{name}", [11], [5], *plain, scale=scale)
    yield from windowed(rng, "no_batch", [5], [3], *plain, batch=0, extra=2)
    yield from windowed(rng, "no_batch_dynamic", [5], [3], *plain, batch=0,
                        dynamic=True)
    yield from windowed(rng, "no_extra", [5], [3], *plain, extra=0)
    yield from windowed(rng, "no_extra_dynamic", [5], [3], *plain, extra=0,
                        dynamic=True)
    yield from windowed(rng, "no_lse", [5], [3], *plain, lse=False, dtype="bf16")
    yield from windowed(rng, "single", [1], [1], [1], [1], [True])
    yield from windowed(rng, "wide", [6], [6], [6], [1], [False], dim=33, value_dim=17)
    yield from windowed(rng, "long", [300], [257], [64], [1], [True], dtype="bf16",
                        dim=64, value_dim=64)
    # More channels than a thread of the form for GPUs has.
    yield from windowed(rng, "parts", [9], [3], *plain, dtype="f16", dim=16,
                        value_dim=80, extra=2)
    yield from windowed(rng, "parts_odd", [9], [3], *plain, dtype="bf16", dim=6,
                        value_dim=131)
    # Exponentials that overflow without the maximum, and logits of +-250000, of
    # which the largest take all.
    yield from windowed(rng, "steep", [20], [7], *plain, dtype="f64",
                        sample=lambda sizes: rng.standard_normal(sizes) * 20)
    for dtype in FLOATS:
        yield from windowed(rng, f"{dtype}_huge", [20], [7], *plain, dtype=dtype, dim=1,
                            scale=1.0, sample=lambda sizes: rng.choice([-500, 500], sizes))
    # Reaches exactly the rows that see the key.
    yield from windowed(rng, "nan", [8, 9], [3, 4], *one, nan=True, heads=4)
    yield from windowed(rng, "nan_causal", [30], [7], [2], [2], [True], nan=True,
                        dtype="f16")
    for i in range(60):
        rank = int(rng.integers(1, 4))
        shape = [int(n) for n in rng.integers(1, (40, 12, 7)[rank - 1], rank)]
        dilation = [int(rng.integers(1, min(n, 4) + 1)) for n in shape]
        window = [int(rng.integers(1, n // d + 1)) for n, d in zip(shape, dilation)]
        stride = [int(rng.integers(1, w + 1)) for w in window]
        causal = [bool(c) for c in rng.integers(0, 2, rank)]
        kv_heads = int(rng.integers(1, 3))
        yield from windowed(
            rng, f"random{i}", shape, window, stride, dilation, causal,
            dtype=list(FLOATS)[i % 4], batch=int(rng.integers(1, 3)),
            heads=kv_heads * int(rng.integers(1, 4)), kv_heads=kv_heads,
            dim=int(rng.integers(1, 20)), value_dim=int(rng.integers(1, 20)),
            bias=[None, "f32", list(FLOATS)[i % 4]][i % 3],
            extra=[None, None, 2][int(rng.integers(0, 3))], dynamic=i % 5 == 0,
            padded=i % 7 == 0)


def compile_problems(todo, pipeline, name):
    """Returns the library of the functions of `todo`."""
    os.makedirs(work, exist_ok=True)
    source, lowered, llvm, library = (
        os.path.join(work, f"{name}.{s}") for s in ("mlir", "llvm.mlir", "ll", "so"))
    with open(source, "w") as file:
        file.writelines(problem.text() for problem in todo)
    for command in (
        [na_opt, source, "--pass-pipeline=" + pipeline.replace("\n", ""), "-o", lowered],
        [mlir_translate, "--mlir-to-llvmir", lowered, "-o", llvm],
        # Conversions to bf16 are calls on hosts without instructions for them, which
        # older versions of libgcc lack.
        [clang, "-O1", "-march=native", "-Wno-override-module", "-shared",
         "-rtlib=compiler-rt", llvm, "-lm",
         "-o", library],
    ):
        subprocess.run(command, check=True)
    return ctypes.CDLL(library)


def report(todo, failures):
    print("\n".join(failures), end="\n" if failures else "")
    print(f"{len(todo)} problems, {len(failures)} failures")
    return 1 if failures else 0


def main():
    todo = list(problems(np.random.default_rng(2022)))
    library = compile_problems(todo, PIPELINE, "naive")
    return report(todo, [f for problem in todo for f in problem.run(library)])


if __name__ == "__main__":
    sys.exit(main())
