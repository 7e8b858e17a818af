# ===- execute_grad.py - Runs the lowerings of gradients -------------------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Compiles gradients of many small problems, runs each and compares it with the f64
reference. PASSES is a list that lowers the parts of na.attention_grad on memrefs,
or a pipeline, na-to-cpu{..}, for the whole operation.

Usage: execute_grad.py NA_OPT MLIR_TRANSLATE CLANG CONFORMANCE_FOLDER WORK_FOLDER PASSES
"""

import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import execute
import reference
from execute import Buffer, Problem, listing, poison, window_text

WHOLE = execute.PASSES.startswith("na-to-cpu")


class Probe(Problem):
    """A problem whose gradients are 0 in exactly the places of the reference."""

    def run(self, library):
        yield from super().run(library)
        for name, (_, want) in self.expected().items():
            got = self.buffers[name].values()
            if not np.array_equal(got != 0, want != 0):
                yield f"{self.name}: {name} has other zeros\n{self.text()}"


def whole_op(buffers, tail):
    clauses = ""
    if "dlse" in buffers:
        clauses += f" dlse({listing(buffers, 'dlse')})"
    if "bias" in buffers:
        clauses += f" bias({listing(buffers, 'bias')})"
    if "ek" in buffers:
        clauses += f" additional({listing(buffers, 'ek', 'ev')})"
    outs = f" outs({listing(buffers, 'dq', 'dk', 'dv')})"
    if "dbias" in buffers:
        outs += f" dbias({listing(buffers, 'dbias')})"
    if "dek" in buffers:
        outs += f" dadditional({listing(buffers, 'dek', 'dev')})"
    return (
        f"na.attention_grad ins({listing(buffers, 'q', 'k', 'v', 'o', 'lse', 'do')})"
        f"{clauses}{outs} {tail}"
    )


def part_ops(buffers, window, scale, apart):
    """The operations that na.attention_grad is made of; with `apart` one for the
    gradient of the keys and one for that of the values."""
    ins = f"ins({listing(buffers, 'q', 'k', 'v', 'do')})"
    stats = f"stats({listing(buffers, 'lse', 'delta')})"
    bias = f" bias({listing(buffers, 'bias')})" if "bias" in buffers else ""
    extra = f" additional({listing(buffers, 'ek', 'ev')})" if "ek" in buffers else ""
    ops = [
        f"na.attention_dq {ins} {stats}{bias}{extra} outs({listing(buffers, 'dq')}) "
        f"{window}{scale}",
    ]
    outs = [f"outs({listing(buffers, 'dk', 'dv')})"]
    if apart:
        outs = [f"{name}({listing(buffers, name)})" for name in ("dk", "dv")]
    ops += [f"na.attention_dkv {ins} {stats}{bias} {out} {window}{scale}"
            for out in outs]
    if "dbias" in buffers:
        ops.append(f"na.attention_dbias {ins} {stats}{bias} "
                   f"outs({listing(buffers, 'dbias')}) {window}{scale}")
    if "dek" in buffers:
        ops.append(f"na.attention_dadditional ins({listing(buffers, 'q', 'do', 'ek', 'ev')})"
                   f" {stats} outs({listing(buffers, 'dek', 'dev')}){scale}")
    return "\n  ".join(ops)


def grad(rng, name, shape, window, stride, dilation, causal, dtype="f32", batch=2,
         heads=2, kv_heads=2, dim=8, value_dim=5, scale=None, bias=None, extra=None,
         dlse=True, dynamic=False, padded=False, inputs=None, kind=Problem):
    """The gradients of one set of arguments. `inputs` replaces random ones."""
    how = dict(dynamic=dynamic, padded=padded)
    statistic = "f64" if dtype == "f64" else "f32"
    args = (window, stride, dilation, causal)
    shapes = {
        "q": (batch, *shape, heads, dim),
        "k": (batch, *shape, kv_heads, dim),
        "v": (batch, *shape, kv_heads, value_dim),
        "do": (batch, *shape, heads, value_dim),
    }
    if extra is not None:
        shapes["ek"] = (batch, extra, kv_heads, dim)
        shapes["ev"] = (batch, extra, kv_heads, value_dim)
    types = dict.fromkeys(shapes, dtype)
    if bias:
        shapes["bias"], types["bias"] = (heads, *[2 * w - 1 for w in window]), bias
    if dlse:
        shapes["dlse"], types["dlse"] = (batch, *shape, heads), statistic
    buffers = {
        n: Buffer((inputs or {}).get(n, rng.standard_normal(s)), types[n], **how)
        for n, s in shapes.items()
    }

    def values(*names):
        return [buffers[n].values() if n in buffers else None for n in names]

    o, lse = reference.attention(*values("q", "k", "v"), *args, scale,
                                 *values("bias", "ek", "ev"))
    buffers["lse"] = Buffer(lse, statistic, **how)
    wanted = [n for n in shapes if n not in ("do", "dlse")]
    (lse_grad,) = values("dlse")
    if WHOLE:
        buffers["o"] = Buffer(o, dtype, **how)
    else:
        delta = (o * buffers["do"].values()).sum(axis=-1)
        if dlse:
            delta -= buffers.pop("dlse").values()
        buffers["delta"] = Buffer(delta, statistic, **how)
    for n in wanted:
        buffers[f"d{n}"] = poison(shapes[n], types[n], **how)

    def expected():
        grads = reference.attention_grad(
            *values("q", "k", "v", "do"), *args, scale, *values("bias", "ek", "ev"),
            dlse=lse_grad)
        # As precise as the coarser of the types of the inputs and the gradient.
        return {n: (max(dtype, types[n[1:]], key=lambda d: reference.TOLERANCES[d]), g)
                for n, g in grads.items()}

    attributes = "" if scale is None else f" {{scale = {scale:e} : f64}}"
    window_clause = window_text(*args)
    op = (whole_op(buffers, window_clause + attributes) if WHOLE
          else part_ops(buffers, window_clause, attributes,
                        apart=sum(map(ord, name)) % 2 == 1))
    return kind(f"grad_{name}", op, buffers, expected)


def products(rng, name, shape, window, stride, dilation, causal, dtype="f32", batch=2,
             heads=2, kv_heads=2, dim=8, value_dim=5, scale=None, bias=None,
             **how):
    """The gradients of na.qk and na.av. Slots that no key fills hold NaN."""
    statistic = "f64" if dtype == "f64" else "f32"
    args = (window, stride, dilation, causal)
    slots = (batch, *shape, heads, int(np.prod(window)))
    rows, keys = (batch, *shape, heads), (batch, *shape, kv_heads)
    empty = np.isneginf(reference.qk(np.zeros((*rows, 1)), np.zeros((*keys, 1)), *args))

    def random(shape, of=dtype):
        return Buffer(rng.standard_normal(shape), of, **how)

    def slotted(of):
        return Buffer(np.where(empty, np.nan, rng.standard_normal(slots)), of, **how)

    b = {"q": random((*rows, dim)), "k": random((*keys, dim)), "ds": slotted(statistic)}
    for n in "qk":
        b[f"d{n}"] = poison(b[n].data.shape, dtype, **how)
    outs = f"outs({listing(b, 'dq', 'dk')})"
    if bias:
        b["dbias"] = poison((heads, *[2 * w - 1 for w in window]), bias, **how)
        outs += f" dbias({listing(b, 'dbias')})"
    attributes = "" if scale is None else f" {{scale = {scale:e} : f64}}"
    yield Problem(
        f"qk_grad_{name}",
        f"na.qk_grad ins({listing(b, 'q', 'k', 'ds')}) {outs} {window_text(*args)}"
        + attributes,
        b,
        lambda: {n: (max(dtype, b[n].dtype, key=lambda d: reference.TOLERANCES[d]), g)
                 for n, g in reference.qk_grad(
                     *[b[n].values() for n in ("q", "k", "ds")], *args, scale,
                     bias=bool(bias)).items()},
    )

    w = {"w": slotted(statistic if bias else dtype), "v": random((*keys, value_dim)),
         "do": random((*rows, value_dim))}
    w["dw"] = poison(slots, w["w"].dtype, **how)
    w["dv"] = poison(w["v"].data.shape, dtype, **how)
    yield Problem(
        f"av_grad_{name}",
        f"na.av_grad ins({listing(w, 'w', 'v', 'do')}) outs({listing(w, 'dw', 'dv')}) "
        f"{window_text(*args)}",
        w,
        lambda: {n: (dtype, g) for n, g in reference.av_grad(
            *[w[n].values() for n in ("w", "v", "do")], *args).items()},
    )


def merged(rng, name, shape, parts, dtype="f32", dlse=True, **how):
    """The gradients of na.merge. Some parts of rows, and all of one, have no key."""
    statistic = "f64" if dtype == "f64" else "f32"
    b = {}
    for i in range(parts):
        values = rng.standard_normal(shape)
        lses = rng.standard_normal(shape[:-1]) * 3
        empty = rng.random(shape[:-1]) < 0.3
        empty.flat[0] = True
        b[f"o{i}"] = Buffer(np.where(empty[..., None], np.nan, values), dtype, **how)
        b[f"l{i}"] = Buffer(np.where(empty, -np.inf, lses), statistic, **how)
    b["do"] = Buffer(rng.standard_normal(shape), dtype, **how)
    clause = ""
    if dlse:
        b["dlse"] = Buffer(rng.standard_normal(shape[:-1]), statistic, **how)
        clause = f" dlse({listing(b, 'dlse')})"
    outputs, lses = ([f"{n}{i}" for i in range(parts)] for n in "ol")
    for n in outputs + lses:
        b[f"d{n}"] = poison(b[n].data.shape, b[n].dtype, **how)

    def expected():
        values = [[b[n].values() for n in names] for names in (outputs, lses)]
        grads = reference.merge_grad(
            *values, b["do"].values(), b["dlse"].values() if dlse else None)
        return {f"d{n}": (dtype, g) for names, of in zip((outputs, lses), grads)
                for n, g in zip(names, of)}

    return Problem(
        f"merge_grad_{name}",
        f"na.merge_grad ins({listing(b, *outputs)}) lses({listing(b, *lses)}) "
        f"grad({listing(b, 'do')}){clause} "
        f"outs({listing(b, *['d' + n for n in outputs])}) "
        f"dlses({listing(b, *['d' + n for n in lses])})",
        b,
        expected,
    )


def one_hot(rng, name, shape, window, stride, dilation, causal, **how):
    """Batch entry b has its gradient at query b alone, and all weights of a query
    are equal: dv is 1 / count on exactly the keys that query b sees."""
    tokens = int(np.prod(shape))
    hot = np.eye(tokens).reshape(tokens, *shape, 1, 1)
    zeros = np.zeros((tokens, *shape, 1, 1))
    return grad(rng, f"probe_{name}", shape, window, stride, dilation, causal,
                batch=tokens, heads=1, kv_heads=1, dim=1, value_dim=1, dlse=False,
                inputs={"q": zeros, "k": zeros, "v": zeros, "do": hot},
                kind=Probe, **how)


def problems(rng):
    plain = ([1], [1], [False])
    one = [2, 1], [1, 2], [True, False]
    for dtype in execute.FLOATS:
        yield grad(rng, f"{dtype}_1d", [13], [4], *plain, dtype=dtype)
        yield grad(rng, f"{dtype}_2d", [7, 9], [3, 4], *one, dtype=dtype, heads=4,
                   bias=dtype, extra=3)
        yield grad(rng, f"{dtype}_dynamic", [7, 9], [3, 4], *one, dtype=dtype, heads=4,
                   bias="f32", extra=3, dynamic=True)
        yield grad(rng, f"{dtype}_padded", [7, 9], [3, 4], *one, dtype=dtype, heads=6,
                   bias="f32", extra=2, padded=True)
        yield from products(rng, f"{dtype}_1d", [13], [4], *plain, dtype=dtype, bias="f32")
        yield from products(rng, f"{dtype}_dynamic", [7, 9], [3, 4], *one, dtype=dtype,
                            heads=4, bias=dtype, dynamic=True)
        yield from products(rng, f"{dtype}_padded", [7, 9], [3, 4], *one, dtype=dtype,
                            heads=6, padded=True, scale=-0.5)
        yield merged(rng, f"{dtype}_one", (4, 5), 1, dtype)
        yield merged(rng, f"{dtype}_three", (2, 3, 4, 5), 3, dtype, padded=True)
    yield merged(rng, "no_dlse", (6, 5), 2, dlse=False, dynamic=True)
    for name, scale in ("zero", 0.0), ("negative", -0.75), ("large", 3.0):
        yield grad(rng, f"scale_{name}", [11], [5], *plain, scale=scale)
    yield grad(rng, "no_batch", [5], [3], *plain, batch=0, extra=2)
    yield grad(rng, "no_batch_dynamic", [5], [3], *plain, batch=0, dynamic=True)
    yield grad(rng, "no_extra", [5], [3], *plain, extra=0)
    yield grad(rng, "no_dlse", [5], [3], *plain, dlse=False, dtype="bf16")
    yield grad(rng, "single", [3], [1], [1], [1], [True])
    yield grad(rng, "whole", [6], [6], [6], [1], [False], dim=33, value_dim=17)
    yield grad(rng, "long", [300], [257], [64], [1], [True], dtype="bf16", dim=64,
               value_dim=64, batch=1)
    # More channels than a thread of the form for GPUs has.
    yield grad(rng, "parts", [9], [3], *plain, dtype="f16", dim=16, value_dim=80,
               extra=2)
    yield grad(rng, "parts_odd", [9], [3], *plain, dtype="bf16", dim=131, value_dim=6,
               extra=1)
    yield grad(rng, "three_to_one", [40], [9], [4], [2], [True], heads=6, kv_heads=2)
    yield grad(rng, "eight_to_one", [12], [5], *plain, heads=8, kv_heads=1, bias="f32")
    yield one_hot(rng, "plain", [13], [4], *plain)
    yield one_hot(rng, "stride", [23], [7], [5], [3], [False])
    yield one_hot(rng, "causal", [23], [5], [3], [2], [True])
    yield one_hot(rng, "2d", [7, 9], [3, 4], *one)
    yield one_hot(rng, "3d", [4, 5, 6], [2, 3, 4], [2, 1, 3], [2, 1, 1],
                  [False, True, False])
    for i in range(60):
        rank = int(rng.integers(1, 4))
        shape = [int(n) for n in rng.integers(1, (40, 12, 7)[rank - 1], rank)]
        dilation = [int(rng.integers(1, min(n, 4) + 1)) for n in shape]
        window = [int(rng.integers(1, n // d + 1)) for n, d in zip(shape, dilation)]
        stride = [int(rng.integers(1, w + 1)) for w in window]
        causal = [bool(c) for c in rng.integers(0, 2, rank)]
        kv_heads = int(rng.integers(1, 3))
        dtype = list(execute.FLOATS)[i % 4]
        yield grad(
            rng, f"random{i}", shape, window, stride, dilation, causal, dtype=dtype,
            batch=int(rng.integers(1, 3)), heads=kv_heads * int(rng.integers(1, 4)),
            kv_heads=kv_heads, dim=int(rng.integers(1, 20)),
            value_dim=int(rng.integers(1, 20)), bias=[None, "f32", dtype][i % 3],
            extra=[None, None, 2][int(rng.integers(0, 3))],
            # Without it the gradients of the logits of a row of one key are 0.
            dlse=bool(rng.integers(0, 2)) or np.prod(window) == 1, dynamic=i % 5 == 0, padded=i % 7 == 0)
        if i % 2 == 0:
            yield from products(
                rng, f"random{i}", shape, window, stride, dilation, causal, dtype=dtype,
                heads=kv_heads * int(rng.integers(1, 4)), kv_heads=kv_heads,
                dim=int(rng.integers(1, 20)), value_dim=int(rng.integers(1, 20)),
                bias=[None, "f32", dtype][i % 3], padded=i % 7 == 0)
        if i % 3 == 0 and np.prod(shape) < 200:
            yield one_hot(rng, f"random{i}", shape, window, stride, dilation, causal,
                          dtype=dtype, dynamic=i % 5 == 0)


def main():
    todo = list(problems(np.random.default_rng(6)))
    pipeline = f"builtin.module({execute.PASSES})" if WHOLE else execute.PIPELINE
    library = execute.compile_problems(todo, pipeline, "grad")
    return execute.report(todo, [f for problem in todo for f in problem.run(library)])


if __name__ == "__main__":
    sys.exit(main())
