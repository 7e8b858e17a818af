# Lowers na.attention, na.qk and na.av to the operations of a GPU's threads, runs every thread
# block of the kernel (see ../../Conversion/NAGPUToNVVM/Inputs/cta.py), and
# compares with the f64 reference: layouts, masks, pipelines and shared memory
# as one, where there is no GPU. Outputs start as NaN.

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
                 scale=None, op="attention", **axes):
        self.name, self.shape, self.window = name, shape, window
        self.query_tile, self.key_tile, self.warps = query_tile, key_tile, warps
        self.dtype, self.stages, self.heads = dtype, stages, heads
        self.key_heads = key_heads or heads
        self.channels, self.values = channels, values or channels
        self.batch, self.tf32, self.bias, self.extra = batch, tf32, bias, extra
        self.scale, self.op, self.axes = scale, op, axes


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
]


def lower(case, arguments):
    types = {name: f"memref<{'x'.join(map(str, x.shape))}x{kind}>"
             for name, (x, kind) in arguments.items()}
    window = ", ".join(
        [f"size = {list(case.window)}"]
        + [f"{key} = {str(value).lower()}" for key, value in case.axes.items()])
    schedule = (f'#na.schedule<target = "sm_90", query_tile = '
                f"{list(case.query_tile)}, key_tile = {list(case.key_tile)}, "
                f"stages = {case.stages}, warps = {case.warps}>")
    attributes = f"schedule = {schedule}"
    if case.scale is not None:
        attributes += f", scale = {case.scale:e} : f64"
    optional = ""
    if case.bias:
        optional += f" bias(%bias : {types['bias']})"
    if case.extra:
        optional += f" additional(%ek, %ev : {types['ek']}, {types['ev']})"

    def group(names):
        return (", ".join(f"%{name}" for name in names) + " : "
                + ", ".join(types[name] for name in names))

    inputs, outputs = {"attention": ("qkv", ("o", "lse")), "qk": ("qk", "s"),
                       "av": ("wv", "o")}[case.op]
    text = f"""
func.func @main({', '.join(f'%{n}: {t}' for n, t in types.items())}) {{
  na.{case.op} ins({group(inputs)}) {optional} outs({group(outputs)})
    window(<{window}>) {{{attributes}}}
  return
}}"""
    layouts = "tf32=true" if case.tf32 else "tf32=false"
    done = subprocess.run(
        ["na-opt", *PASSES.format(layouts=layouts).split()], input=text,
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + text
    return done.stdout


def run(case, seed):
    random = np.random.default_rng(seed)

    def draw(*shape):
        x = random.standard_normal(shape).astype(np.float32)
        return decode(encode(x, case.dtype), case.dtype)

    tokens = (case.batch, *case.shape)
    slots = int(np.prod(case.window))
    arguments = {}
    if case.op != "av":
        arguments["q"] = draw(*tokens, case.heads, case.channels), case.dtype
        arguments["k"] = draw(*tokens, case.key_heads, case.channels), case.dtype
    else:
        arguments["w"] = draw(*tokens, case.heads, slots), case.dtype
    if case.op != "qk":
        arguments["v"] = draw(*tokens, case.key_heads, case.values), case.dtype
    if case.bias:
        arguments["bias"] = (
            draw(case.heads, *(2 * w - 1 for w in case.window)), case.dtype)
    if case.extra:
        for name, channels in (("ek", case.channels), ("ev", case.values)):
            arguments[name] = (
                draw(case.batch, case.extra, case.key_heads, channels),
                case.dtype)
    inputs = {name: x.astype(np.float64) for name, (x, _) in arguments.items()}
    if case.op == "qk":
        arguments["s"] = np.full((*tokens, case.heads, slots), np.nan), "f32"
    else:
        arguments["o"] = (
            np.full((*tokens, case.heads, case.values), np.nan), case.dtype)
    if case.op == "attention":
        arguments["lse"] = np.full((*tokens, case.heads), np.nan), "f32"

    cta = Kernel(lower(case, arguments), 32 * case.warps, 1 << 17)
    memrefs = {name: cta.allocate(x, kind)
               for name, (x, kind) in arguments.items()}
    cta.run("main", list(memrefs.values()))

    options = dict(window=list(case.window), **case.axes)
    if case.op != "av":
        options.update(scale=case.scale, bias=inputs.pop("bias", None))
    expected = getattr(reference, case.op)(**inputs, **options)
    dtype = "tf32" if case.tf32 else case.dtype
    if case.op == "attention":
        expected, lse = expected
        error = np.abs(cta.read_back(memrefs["lse"]).astype(np.float64) - lse)
        assert error.max() <= reference.LSE_TOLERANCES[dtype], (
            case.name, error.max())
    out = cta.read_back(memrefs["s" if case.op == "qk" else "o"])
    whole, row = reference.relative_errors(out.astype(np.float64), expected)
    limits = reference.TOLERANCES[dtype]
    assert whole <= limits[0] and row <= limits[1], (case.name, whole, row)


with np.errstate(all="ignore"):
    for seed, case in enumerate(CASES):
        run(case, seed)
print(f"{len(CASES)} kernels are right")
