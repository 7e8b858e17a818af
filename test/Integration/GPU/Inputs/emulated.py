# Lowers na.attention, na.qk, na.av and their gradients (na.attention_dq, na.qk_dk
# and so on) to the operations of a GPU's threads, runs every thread block
# of the kernel (see ../../../Conversion/NAGPUToNVVM/Inputs/cta.py), and compares
# with the f64 reference: layouts, masks, pipelines and shared memory as one,
# where there is no GPU. Outputs start as NaN, and NaNs lie between the tensors.

import os
import subprocess
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [sys.argv[1],
                os.path.join(here, "../../../Conversion/NAGPUToNVVM/Inputs")]

import reference
from cta import decode, encode
from kernel import Kernel

PASSES = """--na-tile-and-fuse --na-tile-unfused --nagpu-map-grid --canonicalize --cse
  --nagpu-assign-layouts={layouts} --canonicalize --cse --nagpu-defer-row-sums
  --nagpu-narrow-index
  --nagpu-schedule-pipeline --nagpu-expand-pipeline --canonicalize --cse
  --nagpu-assign-shared-memory --convert-nagpu-to-nvvm --canonicalize --cse
  --mlir-print-op-generic"""


class Case:
    def __init__(self, name, shape, window, query_tile, key_tile, warps,
                 dtype="bf16", stages=2, heads=1, key_heads=None, channels=16,
                 values=None, batch=1, tf32=False, bias=False, extra=0,
                 scale=None, op="attention", tile_heads=1, weights="f32", **axes):
        self.name, self.shape, self.window = name, shape, window
        self.query_tile, self.key_tile, self.warps = query_tile, key_tile, warps
        self.dtype, self.stages, self.heads = dtype, stages, heads
        self.key_heads = key_heads or heads
        self.channels, self.values = channels, values or channels
        self.batch, self.tf32, self.bias, self.extra = batch, tf32, bias, extra
        self.scale, self.op, self.axes = scale, op, axes
        # Query heads that share a tile.
        self.tile_heads = tile_heads
        # The type of weights and their gradient, where they have one of their own.
        self.weights = weights


CASES = [
    Case("one axis", (50,), (9,), (32,), (16,), 2, heads=2, batch=2),
    Case("a tile and one more", (33,), (33,), (32,), (32,), 1, channels=24),
    Case("causal, grouped heads", (41,), (20,), (16,), (16,), 1, heads=4,
         key_heads=2, causal=[True], stages=3),
    Case("dilated, odd channels", (37,), (5,), (16,), (16,), 1, channels=13,
         values=20, dilation=[3]),
    Case("two axes, strided and causal", (21, 19), (5, 7), (4, 8), (2, 8), 2,
         channels=24, heads=2, key_heads=1, stride=[2, 1],
         causal=[False, True]),
    Case("two rows of blocks a warp, f16", (17, 20), (7, 6), (8, 8), (4, 12), 2,
         dtype="f16", stages=1, channels=32),
    Case("three axes", (5, 6, 9), (3, 4, 5), (2, 2, 8), (2, 2, 4), 2,
         dilation=[1, 1, 1], channels=32),
    Case("three axes, dilated", (4, 9, 8), (2, 3, 4), (1, 4, 4), (1, 4, 4), 1,
         dilation=[2, 2, 1], causal=[True, False, False]),
    Case("bias", (12, 13), (5, 7), (4, 4), (2, 8), 1, heads=2, bias=True),
    Case("tiles of four heads", (41,), (9,), (8,), (16,), 2, heads=8,
         key_heads=2, tile_heads=4, batch=2, channels=32),
    Case("tiles of two of six heads, causal, f16", (37,), (12,), (8,), (16,), 1,
         heads=6, key_heads=1, tile_heads=2, causal=[True], dtype="f16"),
    Case("tiles of three heads, odd channels", (33,), (7,), (16,), (16,), 3,
         heads=6, key_heads=2, tile_heads=3, channels=13, values=20, extra=5,
         dilation=[3]),
    Case("tiles of heads in two axes, strided and causal", (9, 11), (5, 7),
         (2, 4), (2, 8), 2, heads=8, key_heads=2, tile_heads=4, channels=24,
         stride=[2, 1], causal=[False, True], dilation=[1, 1]),
    Case("tiles of heads, tf32", (30,), (11,), (8,), (16,), 1, dtype="f32",
         tf32=True, heads=4, key_heads=2, tile_heads=2),
    Case("additional keys", (20,), (7,), (16,), (16,), 1, extra=21, heads=2),
    Case("a negative scale", (20,), (7,), (16,), (16,), 1, scale=-1.5),
    Case("f32", (30,), (11,), (32,), (16,), 2, dtype="f32", channels=12),
    Case("f32 in two axes", (9, 11), (3, 6), (4, 8), (4, 4), 1, dtype="f32",
         channels=36, stages=1, causal=[True, True]),
    Case("tf32", (30,), (11,), (32,), (16,), 2, dtype="f32", tf32=True,
         channels=24),
    Case("scores", (11, 13), (5, 4), (4, 8), (2, 8), 2, op="qk", heads=2,
         key_heads=1, batch=2),
    Case("scores with a bias, f32", (23,), (7,), (16,), (16,), 1, op="qk",
         dtype="f32", bias=True, dilation=[2]),
    Case("scores of a tile with more slots than lanes", (50,), (45,), (32,),
         (48,), 1, op="qk", dtype="f16", channels=32),
    Case("scores in three axes, windows in one tile", (5, 6, 9), (3, 3, 5),
         (2, 2, 8), (2, 4, 12), 2, op="qk", dilation=[1, 2, 1]),
    Case("scores, sixteen rows a warp", (9, 21), (3, 7), (4, 8), (6, 16), 2,
         op="qk", heads=2, stride=[1, 3]),
    Case("scores, tf32", (23,), (9,), (32,), (32,), 1, op="qk", dtype="f32",
         tf32=True, channels=24),
    Case("weighted sums", (11, 13), (5, 4), (4, 8), (2, 8), 2, op="av", heads=2,
         key_heads=1, causal=[True, False], values=24),
    Case("weighted sums, f32", (23,), (7,), (32,), (16,), 1, op="av",
         dtype="f32", stride=[3]),
    Case("weighted sums, tf32", (23,), (9,), (32,), (32,), 1, op="av",
         dtype="f32", tf32=True, values=24),
    Case("weighted sums of a tile with more slots than lanes", (9, 50), (3, 21),
         (2, 16), (4, 36), 2, op="av", dtype="f16", heads=2),
    Case("weighted sums in three axes", (5, 6, 9), (3, 3, 5), (2, 2, 8),
         (2, 4, 12), 1, op="av", dilation=[1, 2, 1],
         causal=[True, False, True], values=32),
    Case("dq", (33,), (9,), (32,), (16,), 2, op="dq", heads=2, batch=2),
    Case("dq, causal, grouped heads, f16", (65,), (20,), (64,), (32,), 2,
         op="dq", dtype="f16", heads=4, key_heads=2, causal=[True], stages=3,
         channels=24, values=40),
    Case("dq in two axes, strided and dilated", (17, 19), (5, 6), (4, 8),
         (2, 8), 1, op="dq", stride=[2, 1], dilation=[1, 3], channels=32,
         causal=[False, True]),
    Case("dq in three axes, one stage", (5, 5, 9), (3, 2, 5), (2, 2, 8),
         (2, 2, 4), 2, op="dq", dilation=[1, 2, 1], stages=1),
    Case("dq with additional keys and a bias", (33,), (8,), (32,), (16,), 1,
         op="dq", extra=21, bias=True, heads=2, key_heads=1),
    Case("dq, a negative scale", (20,), (7,), (16,), (16,), 1, op="dq",
         scale=-1.5),
    Case("dq, no scale", (20,), (7,), (16,), (16,), 1, op="dq", scale=0.0),
    Case("dq, tf32", (33,), (11,), (32,), (16,), 2, op="dq", dtype="f32",
         tf32=True, channels=24),
    Case("dq, f32", (33,), (11,), (32,), (16,), 2, op="dq", dtype="f32",
         channels=12, causal=[True]),
    Case("dkv", (33,), (9,), (16,), (32,), 2, op="dkv", heads=2, batch=2),
    Case("dkv, causal, grouped heads, f16", (65,), (20,), (32,), (64,), 2,
         op="dkv", dtype="f16", heads=6, key_heads=2, causal=[True], stages=3,
         channels=24, values=40),
    Case("dkv in two axes, strided and dilated", (17, 19), (5, 6), (2, 8),
         (4, 8), 1, op="dkv", stride=[2, 1], dilation=[1, 3], channels=32,
         causal=[False, True]),
    Case("dkv in three axes, one stage", (5, 5, 9), (3, 2, 5), (2, 2, 4),
         (2, 2, 8), 2, op="dkv", dilation=[1, 2, 1], stages=1),
    Case("dkv with a bias", (9, 13), (4, 5), (4, 4), (4, 8), 1, op="dkv",
         bias=True, heads=2, key_heads=1),
    Case("dkv of rows with additional keys", (33,), (8,), (16,), (32,), 1,
         op="dkv", extra=21, heads=2),
    Case("dkv, a negative scale", (20,), (7,), (16,), (16,), 1, op="dkv",
         scale=-1.5),
    Case("dkv, no scale", (20,), (7,), (16,), (16,), 1, op="dkv", scale=0.0),
    Case("dkv, two rows of blocks a warp", (65,), (17,), (16,), (64,), 2,
         op="dkv", channels=64, heads=3, key_heads=1),
    Case("dkv, tf32", (33,), (11,), (16,), (32,), 2, op="dkv", dtype="f32",
         tf32=True, channels=24),
    Case("dkv, f32", (33,), (11,), (16,), (32,), 2, op="dkv", dtype="f32",
         channels=12, stride=[3]),
    Case("dq of scores", (11, 13), (5, 4), (4, 8), (2, 8), 2, op="qk_dq", heads=4,
         key_heads=2, causal=[True, False], channels=24, batch=2),
    Case("dq of scores, f32", (23,), (7,), (32,), (16,), 1, op="qk_dq",
         dtype="f32", stride=[3], scale=-0.5),
    Case("dq of scores, tf32", (23,), (9,), (32,), (32,), 1, op="qk_dq",
         dtype="f32", tf32=True, channels=24),
    Case("dk of scores", (33,), (9,), (32,), (32,), 2, op="qk_dk", heads=2,
         batch=2),
    Case("dk of scores, causal, grouped heads, f16", (65,), (20,), (32,), (64,),
         2, op="qk_dk", dtype="f16", heads=6, key_heads=2, causal=[True],
         stages=3, channels=24),
    Case("dk of scores in two axes, strided and dilated", (17, 19), (5, 6),
         (2, 8), (4, 8), 1, op="qk_dk", stride=[2, 1], dilation=[1, 3],
         channels=32, causal=[False, True]),
    Case("dk of scores in three axes, one stage", (5, 5, 9), (3, 2, 5), (2, 2, 8),
         (2, 2, 8), 2, op="qk_dk", dilation=[1, 2, 1], stages=1),
    Case("dk of scores, two rows of blocks a warp", (65,), (17,), (64,), (128,), 4,
         op="qk_dk", channels=64, heads=3, key_heads=1, scale=0.0),
    Case("dk of scores, more slots than lanes", (9, 50), (3, 21), (2, 16), (4, 16),
         2, op="qk_dk", heads=2, channels=40),
    Case("dk of scores, f32", (33,), (11,), (32,), (32,), 2, op="qk_dk",
         dtype="f32", channels=12, stride=[3], heads=2, key_heads=1),
    Case("dk of scores, two rows of blocks a warp, f32", (9, 12), (5, 6), (4, 8),
         (4, 8), 1, op="qk_dk", dtype="f32", channels=20),
    Case("dk of scores, tf32", (33,), (11,), (32,), (32,), 1, op="qk_dk",
         dtype="f32", tf32=True, channels=24, causal=[True]),
    Case("dk of scores, two warps, tf32", (9, 12), (5, 6), (4, 8), (4, 8), 2,
         op="qk_dk", dtype="f32", tf32=True, channels=16),
    Case("dv of weights", (41,), (9,), (32,), (64,), 2, op="av_dv", heads=4,
         key_heads=2, values=40, causal=[True], weights="bf16"),
    Case("dv of weights of f32", (11, 13), (5, 4), (4, 8), (4, 8), 2, op="av_dv",
         heads=2, key_heads=1, values=24, dilation=[2, 1]),
    Case("dv of weights, f16", (5, 6, 9), (3, 3, 5), (2, 2, 8), (2, 4, 4), 2,
         op="av_dv", dtype="f16", weights="f16", stride=[1, 2, 1]),
    Case("gradient of weights", (11, 13), (5, 4), (4, 8), (2, 8), 2,
         op="av_dweights", heads=2, key_heads=1, batch=2, stride=[1, 2]),
    Case("gradient of weights, bf16", (23,), (7,), (16,), (16,), 1,
         op="av_dweights", weights="bf16", dilation=[2], values=24),
    Case("gradient of weights, tf32", (23,), (9,), (32,), (32,), 1,
         op="av_dweights", dtype="f32", tf32=True),
    Case("dk", (33,), (9,), (16,), (32,), 2, op="dk", heads=2, batch=2,
         channels=24, values=40),
    Case("dk, causal, grouped heads, a bias", (41,), (13,), (32,), (32,), 2,
         op="dk", heads=4, key_heads=2, causal=[True], bias=True),
    Case("dk, tf32", (33,), (11,), (16,), (32,), 2, op="dk", dtype="f32",
         tf32=True, channels=24),
    Case("dk of 256 channels", (33,), (9,), (16,), (32,), 2, op="dk",
         channels=256),
    Case("dv", (33,), (9,), (16,), (32,), 2, op="dv", heads=2, batch=2,
         channels=40, values=24),
    Case("dv in two axes, strided and dilated, f16", (17, 19), (5, 6), (2, 8),
         (4, 8), 1, op="dv", dtype="f16", stride=[2, 1], dilation=[1, 3],
         causal=[False, True], stages=1),
    Case("dv with a bias, a negative scale", (9, 13), (4, 5), (4, 4), (4, 8), 1,
         op="dv", bias=True, heads=2, key_heads=1, scale=-1.5),
    Case("dv of 256 channels", (33,), (9,), (32,), (32,), 2, op="dv",
         channels=256),
    Case("dv, f32", (33,), (11,), (16,), (32,), 2, op="dv", dtype="f32",
         channels=12),
]

# Inputs, statistics, outputs of each operation, or of a part of one.
OPERANDS = {
    "attention": ("q k v", "", "o lse"), "qk": ("q k", "", "s"),
    "av": ("w v", "", "o"),
    "dq": ("q k v do", "lse delta", "dq"),
    "dkv": ("q k v do", "lse delta", "dk dv"),
    "qk_dq": ("k ds", "", "dq"), "qk_dk": ("q ds", "", "dk"),
    "av_dweights": ("v do", "", "dw"), "av_dv": ("w do", "", "dv"),
    "dk": ("q k v do", "lse delta", "dk"),
    "dv": ("q k v do", "lse delta", "dv"),
}


def lower(case, arguments):
    types = {name: f"memref<{'x'.join(map(str, x.shape))}x{kind}>"
             for name, (x, kind) in arguments.items()}
    window = ", ".join(
        [f"size = {list(case.window)}"]
        + [f"{key} = {str(value).lower()}" for key, value in case.axes.items()])
    schedule = (f'#na.schedule<target = "sm_90", query_tile = '
                f"{list(case.query_tile)}, key_tile = {list(case.key_tile)}, "
                f"stages = {case.stages}, warps = {case.warps}, "
                f"heads_per_tile = {case.tile_heads}>")
    attributes = f"schedule = {schedule}"
    if case.scale is not None:
        attributes += f", scale = {case.scale:e} : f64"
    def group(names):
        return (", ".join(f"%{name}" for name in names) + " : "
                + ", ".join(types[name] for name in names))

    inputs, statistics, outputs = (
        names.split() for names in OPERANDS[case.op])
    optional = ""
    if statistics:
        optional += f" stats({group(statistics)})"
    if case.bias:
        optional += f" bias(%bias : {types['bias']})"
    if "ek" in types:
        optional += f" additional(%ek, %ev : {types['ek']}, {types['ev']})"

    name = f"attention_{case.op}" if statistics else case.op
    outs = "outs"
    if case.op in ("dk", "dv"):
        name, outs = "attention_dkv", case.op
    text = f"""
func.func @main({', '.join(f'%{n}: {t}' for n, t in types.items())}) {{
  na.{name} ins({group(inputs)}) {optional} {outs}({group(outputs)})
    window(<{window}>) {{{attributes}}}
  return
}}"""
    layouts = "tf32=true" if case.tf32 else "tf32=false"
    done = subprocess.run(
        ["na-opt", *PASSES.format(layouts=layouts).split()], input=text,
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + text
    return done.stdout


def compare(case, name, out, expected, gradient=False):
    dtype = "tf32" if case.tf32 else case.dtype
    if name == "lse":
        error = np.abs(out.astype(np.float64) - expected).max()
        assert error <= reference.LSE_TOLERANCES[dtype], (case.name, error)
        return
    whole, row = reference.relative_errors(out.astype(np.float64), expected,
                                           gradient)
    limits = reference.TOLERANCES[dtype]
    assert whole <= limits[0] and row <= limits[1], (case.name, name, whole, row)


def product_gradients(case, random, inputs, shapes):
    """The inputs of a gradient of na.qk or na.av, and what comes out. Slots that no
    key fills hold NaN."""
    whole = "q k ds" if case.op.startswith("qk") else "w v do"
    options = dict(window=list(case.window), **case.axes)
    empty = np.isneginf(reference.qk(np.zeros((*shapes["q"][:-1], 1)),
                                     np.zeros((*shapes["k"][:-1], 1)), **options))
    values = {}
    for name in whole.split():
        x = random.standard_normal(shapes[name]).astype(np.float32)
        if name in ("ds", "w"):
            x[empty] = np.nan
        values[name] = decode(encode(x, kind_of(case, name)), kind_of(case, name))
    exact = {name: x.astype(np.float64) for name, x in values.items()}
    if case.op.startswith("qk"):
        options["scale"] = case.scale
    gradients = getattr(reference, case.op[:2] + "_grad")(**exact, **options)
    return {name: values[name] for name in inputs}, gradients


def kind_of(case, name):
    if name in ("s", "ds", "lse", "delta"):
        return "f32"
    # Those of na.av have the type of the values.
    return case.weights if name in ("w", "dw") and case.op != "av" else case.dtype


def run(case, seed):
    random = np.random.default_rng(seed)
    inputs, statistics, outputs = (
        names.split() for names in OPERANDS[case.op])
    tokens = (case.batch, *case.shape)
    slots = int(np.prod(case.window))
    shapes = {"q": (case.heads, case.channels), "w": (case.heads, slots),
              "k": (case.key_heads, case.channels),
              "v": (case.key_heads, case.values),
              "do": (case.heads, case.values), "o": (case.heads, case.values),
              "s": (case.heads, slots), "lse": (case.heads,)}
    shapes.update(dq=shapes["q"], dk=shapes["k"], dv=shapes["v"],
                  ds=shapes["s"], dw=shapes["w"])
    shapes = {name: (*tokens, *shape) for name, shape in shapes.items()}
    if case.bias:
        shapes["bias"] = case.heads, *(2 * w - 1 for w in case.window)
        inputs.append("bias")
    if case.extra:
        shapes["ek"] = case.batch, case.extra, case.key_heads, case.channels
        shapes["ev"] = *shapes["ek"][:-1], case.values
        inputs += ["ek", "ev"]

    values, gradient = {}, bool(statistics) or "_" in case.op
    for name in inputs:
        x = random.standard_normal(shapes[name]).astype(np.float32)
        values[name] = decode(encode(x, case.dtype), case.dtype)
    exact = {name: x.astype(np.float64) for name, x in values.items()}
    options = dict(window=list(case.window), **case.axes)
    if case.op != "av":
        options["scale"] = case.scale
    if "_" in case.op:
        values, expected = product_gradients(case, random, inputs, shapes)
    elif statistics:
        expected = reference.attention_grad(**exact, **options)
        output_grad = exact.pop("do")
        output, lse = reference.attention(**exact, **options)
        values["lse"] = lse.astype(np.float32)
        values["delta"] = (output * output_grad).sum(-1).astype(np.float32)
    else:
        results = getattr(reference, case.op)(**exact, **options)
        expected = dict(zip(outputs, results if len(outputs) > 1 else [results]))
    # Additional keys are none of the operands of all gradients.
    if case.op == "dkv" and case.extra:
        del values["ek"], values["ev"]
    for name in outputs:
        values[name] = np.full(shapes[name], np.nan)

    kinds = {name: kind_of(case, name) for name in values}
    cta = Kernel(lower(case, {name: (x, kinds[name])
                              for name, x in values.items()}),
                 32 * case.warps, 1 << 17)
    memrefs = {name: cta.allocate(x, kinds[name]) for name, x in values.items()}
    cta.run("main", list(memrefs.values()))
    cta.check_gaps()
    for name in outputs:
        compare(case, name, cta.read_back(memrefs[name]), expected[name],
                gradient=gradient)


with np.errstate(all="ignore"):
    for seed, case in enumerate(CASES):
        run(case, seed)
print(f"{len(CASES)} kernels are right")
