# Takes na.attention and its gradients through the pipeline for sm_90a as far as the operations of
# warpgroups go, runs the blocks of the kernel with the agents in different orders
# (see warpgroups.py), and compares with the f64 reference. Outputs start as NaN.
#
#   hopper.py CONFORMANCE [--passes="--na-tile-and-fuse .."] [--only=NAME] ..
#             [--random=COUNT --seed=FIRST]
#
# runs the problems of these names, or random ones with random schedules, through
# other passes if they are given.

import argparse
import os
import re
import subprocess
import sys

# The products are small: threads of the BLAS only wait for each other.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser()
parser.add_argument("conformance")
parser.add_argument("--passes")
# Everything before the conversion to NVVM.
parser.add_argument("--after", default="nagpu-assign-shared-memory",
                    help="the pass of the pipeline behind which to stop")
parser.add_argument("--order", help="one order instead of all")
parser.add_argument("--only", action="append", help="the name of a problem")
parser.add_argument("--random", type=int, default=0)
parser.add_argument("--seed", type=int, default=0)
options = parser.parse_args()
sys.path[:0] = [options.conformance,
                os.path.join(here, "../../../Conversion/NAGPUToNVVM/Inputs")]

import reference
from machine import ORDERS, Fault
from scalars import rounded
from warpgroups import Global, Module


class Case:
    def __init__(self, name, shape, window, query_tile, warpgroup_tile,
                 key_tile, dtype="bf16", stages=2, heads=1, key_heads=None,
                 channels=128, values=None, batch=1, scale=None, blocks=None,
                 bias=None, extra=0, op="attention", tile_heads=1, **axes):
        self.name, self.shape, self.window = name, shape, window
        self.query_tile, self.key_tile = query_tile, key_tile
        self.warpgroup_tile, self.stages = warpgroup_tile, stages
        self.dtype, self.heads, self.batch = dtype, heads, batch
        self.key_heads, self.channels = key_heads or heads, channels
        self.values = values or channels
        self.scale, self.blocks, self.axes = scale, blocks, axes
        # How many query heads share a tile.
        self.op, self.tile_heads = op, tile_heads
        # The type of the bias, and how many additional keys there are.
        self.bias, self.extra = bias, extra


CASES = [
    Case("one axis", (200,), (77,), (128,), (64,), (64,), heads=2, batch=2),
    Case("a tile and one more", (129,), (129,), (128,), (64,), (128,)),
    Case("causal, grouped heads, f16", (300,), (120,), (128,), (64,), (80,),
         heads=4, key_heads=2, dtype="f16", causal=[True]),
    Case("one warpgroup, three stages", (150,), (40,), (64,), (64,), (32,),
         stages=3, causal=[True], stride=[4]),
    Case("three warpgroups", (400,), (90,), (192,), (64,), (96,)),
    Case("two axes", (24, 40), (9, 11), (8, 16), (8, 8), (22, 8), heads=2,
         key_heads=1),
    Case("a last warpgroup without queries", (9, 17), (9, 9), (8, 16), (8, 8),
         (4, 8), batch=2),
    Case("strided, causal", (20, 37), (7, 12), (16, 8), (8, 8), (6, 8),
         heads=2, stride=[2, 1], causal=[False, True]),
    Case("causal in the axis that is split", (17, 33), (8, 20), (8, 16), (8, 8),
         (8, 10), causal=[True, True]),
    Case("a window for each warpgroup", (8, 48), (5, 3), (8, 16), (8, 8),
         (8, 2), stride=[1, 2]),
    Case("three axes", (5, 10, 20), (3, 5, 9), (1, 8, 16), (1, 8, 8), (1, 12, 16)),
    Case("three axes, the first is split", (5, 9, 9), (3, 4, 5), (2, 8, 8),
         (1, 8, 8), (2, 11, 8), heads=2, causal=[True, False, False]),
    Case("strided in three axes", (8, 8, 17), (4, 8, 12), (2, 2, 32), (2, 2, 16),
         (4, 4, 11), stride=[2, 1, 3], dtype="f16"),
    Case("176 keys in two axes", (30, 34), (22, 20), (8, 16), (8, 8), (22, 8),
         blocks=8, heads=3),
    Case("a negative scale", (70,), (33,), (64,), (64,), (48,), scale=-0.5),
    Case("tiles of eight heads, causal", (300,), (128,), (16,), (8,), (144,),
         heads=16, key_heads=2, tile_heads=8, batch=2, channels=64,
         causal=[True]),
    Case("tiles of four of eight heads, f16", (150,), (33,), (32,), (16,), (48,),
         heads=8, key_heads=1, tile_heads=4, dtype="f16", channels=48,
         values=112),
    Case("tiles of heads in two axes, additional keys", (13, 30), (5, 9),
         (8, 12), (8, 4), (6, 8), heads=4, key_heads=2, tile_heads=2, extra=49,
         batch=2, causal=[False, True], channels=32, stride=[2, 1]),
    Case("tiles of heads, dilated in two axes", (15, 30), (3, 9), (4, 8), (4, 4),
         (5, 16), dilation=[5, 2], heads=8, key_heads=2, tile_heads=4,
         channels=64, stages=3),
    Case("tiles of 64 heads", (11,), (7,), (2,), (1,), (16,), heads=64,
         key_heads=1, tile_heads=64, channels=16, scale=-0.5),
    Case("no scale at all", (150,), (33,), (128,), (64,), (48,), scale=0),
    Case("a bias", (150,), (40,), (128,), (64,), (64,), bias="f32", heads=2,
         channels=64),
    Case("a bias in two axes, negative scale", (13, 30), (5, 8), (8, 16), (8, 8),
         (6, 8), bias="bf16", heads=2, key_heads=1, scale=-0.25,
         causal=[True, False], channels=64),
    Case("a bias in three axes, dilated", (4, 15, 9), (3, 4, 5), (2, 4, 16),
         (2, 4, 8), (3, 4, 4), bias="f16", dtype="f16", dilation=[1, 3, 1],
         channels=32, batch=2),
    Case("additional keys", (150,), (40,), (128,), (64,), (48,), extra=48,
         heads=2, channels=64),
    Case("a tile and one more of additional keys", (12, 30), (5, 9), (8, 16),
         (8, 8), (6, 8), extra=49, heads=4, key_heads=2, batch=2,
         causal=[False, True], channels=64),
    Case("one additional key, in three warpgroups", (9, 40), (3, 7), (8, 24),
         (8, 8), (4, 8), extra=1, dtype="f16", channels=32, stride=[1, 3]),
    Case("many additional keys, a bias, dilated", (10, 51), (3, 7), (8, 16),
         (8, 8), (4, 12), extra=300, bias="f32", channels=32, values=64,
         dilation=[2, 3], batch=2, stages=3),
    Case("one tile of the window, and additional keys", (14, 14), (7, 7),
         (8, 8), (8, 8), (14, 16), extra=230, channels=16, bias="f32"),
    Case("more channels of values", (90,), (31,), (64,), (64,), (48,),
         channels=48, values=112, heads=2),
    Case("fewer channels of values", (12, 30), (5, 9), (8, 24), (8, 8), (4, 12),
         channels=208, values=32, causal=[False, True]),
    Case("256 channels", (150,), (70,), (128,), (64,), (80,), channels=256),
    Case("one key tile of 224 keys", (15, 21), (7, 7), (8, 8), (8, 8), (14, 16),
         channels=32, batch=2),
    Case("16 channels, 256 keys", (300,), (256,), (128,), (64,), (256,),
         channels=16, dtype="f16"),
    Case("dilated", (204,), (21,), (128,), (64,), (48,), dilation=[3], heads=2,
         batch=2),
    Case("dilated in two axes", (25, 50), (3, 9), (8, 16), (8, 8), (5, 16),
         dilation=[5, 2], causal=[False, True], heads=4, key_heads=2,
         channels=64),
    Case("dilated in three axes", (8, 12, 15), (3, 4, 2), (4, 4, 8), (2, 4, 8),
         (3, 4, 4), dilation=[2, 3, 5], stride=[1, 2, 1], channels=32, batch=2,
         dtype="f16"),
    Case("a token of each residue", (40,), (1,), (64,), (64,), (16,),
         dilation=[40], channels=16),
    Case("64 channels", (14, 30), (5, 9), (8, 16), (8, 8), (6, 8), channels=64,
         heads=2, key_heads=1),
    Case("dq", (200,), (77,), (128,), (64,), (64,), heads=2, batch=2, op="dq"),
    Case("dq, grouped heads, causal, f16", (300,), (120,), (128,), (64,), (80,),
         heads=4, key_heads=2, dtype="f16", causal=[True], op="dq"),
    Case("dq in two axes", (20, 37), (7, 12), (8, 16), (8, 8), (6, 8), heads=2,
         stride=[2, 1], causal=[False, True], op="dq", channels=64, values=96),
    Case("dq in three axes", (5, 9, 9), (3, 4, 5), (2, 8, 8), (1, 8, 8),
         (1, 4, 8), op="dq", channels=32, scale=-0.5),
    Case("dq, dilated, with additional keys", (60,), (9,), (128,), (64,), (48,),
         dilation=[3], extra=70, heads=2, key_heads=1, op="dq", channels=64),
    Case("dq with a bias", (12, 30), (5, 9), (8, 16), (8, 8), (4, 12),
         bias="f32", op="dq", channels=32, heads=2),
    Case("dkv, dilated in two axes", (25, 50), (3, 9), (4, 8), (8, 8), (8, 16),
         dilation=[5, 2], causal=[False, True], heads=4, key_heads=2,
         channels=64, op="dkv"),
    Case("dkv, one warpgroup", (100,), (31,), (32,), (64,), (64,), channels=64,
         op="dkv"),
    Case("dkv", (200,), (77,), (64,), (64,), (128,), heads=2, batch=2,
         op="dkv"),
    Case("dkv, a tile and one more", (129,), (129,), (64,), (64,), (128,),
         op="dkv", channels=64),
    Case("dkv, grouped heads, causal, f16", (300,), (120,), (48,), (64,), (128,),
         heads=6, key_heads=2, dtype="f16", causal=[True], op="dkv",
         channels=96, values=64),
    Case("dkv in two axes", (20, 37), (7, 12), (6, 8), (8, 8), (8, 16), heads=2,
         stride=[2, 1], causal=[False, True], op="dkv", channels=64),
    Case("dkv, a last warpgroup without keys", (9, 17), (9, 9), (4, 8), (8, 8),
         (8, 16), batch=2, op="dkv", channels=32),
    Case("dkv in three axes, three stages", (5, 9, 9), (3, 4, 5), (1, 4, 8),
         (1, 8, 8), (2, 8, 8), op="dkv", channels=32, scale=-0.5, stages=3),
    Case("dkv with a bias", (12, 30), (5, 9), (4, 12), (8, 8), (8, 16),
         bias="f32", op="dkv", channels=32, heads=2, key_heads=1),
    Case("dkv with a bias, causal, dilated, f16", (150,), (40,), (48,), (64,),
         (128,), bias="f16", dtype="f16", op="dkv", channels=64, dilation=[3],
         causal=[True], batch=2, scale=-0.25),
    Case("dkv with a bias in three axes", (5, 9, 9), (3, 4, 5), (1, 4, 8),
         (1, 8, 8), (2, 8, 8), op="dkv", channels=32, bias="bf16"),
    Case("dk of 256 channels", (200,), (77,), (48,), (64,), (128,), op="dk",
         channels=256),
    Case("dk in two axes, grouped heads, f16", (20, 37), (7, 12), (6, 8), (8, 8),
         (8, 16), heads=4, key_heads=2, stride=[2, 1], causal=[False, True],
         op="dk", channels=64, values=96, dtype="f16"),
    Case("dk with a bias", (12, 30), (5, 9), (4, 12), (8, 8), (8, 16),
         bias="f32", op="dk", channels=160, heads=2),
    Case("dv of 256 channels", (200,), (77,), (64,), (64,), (128,), op="dv",
         channels=256, batch=2),
    Case("dv, grouped heads, causal, f16", (300,), (120,), (48,), (64,), (128,),
         heads=6, key_heads=2, dtype="f16", causal=[True], op="dv",
         channels=96, values=192),
    Case("dv, a last warpgroup without keys", (9, 17), (9, 9), (4, 8), (8, 8),
         (8, 16), batch=2, op="dv", channels=32),
    Case("dv in three axes with a bias, three stages", (5, 9, 9), (3, 4, 5),
         (1, 4, 8), (1, 8, 8), (2, 8, 8), op="dv", channels=32, bias="f32",
         stages=3),
    Case("dqkv", (200,), (77,), (64,), (64,), (128,), heads=2, batch=2,
         op="dqkv"),
    Case("dqkv, a tile and one more", (129,), (129,), (64,), (64,), (128,),
         op="dqkv"),
    Case("dqkv, grouped heads, causal, f16", (300,), (120,), (48,), (64,),
         (128,), heads=6, key_heads=2, dtype="f16", causal=[True], op="dqkv",
         values=96),
    Case("dqkv in two axes", (20, 37), (7, 12), (6, 8), (8, 8), (8, 16), heads=2,
         stride=[2, 1], causal=[False, True], op="dqkv"),
    Case("dqkv, a last warpgroup without keys", (9, 17), (9, 9), (4, 8), (8, 8),
         (8, 16), batch=2, op="dqkv"),
    Case("dqkv in three axes, three stages", (5, 9, 9), (3, 4, 5), (1, 4, 8),
         (1, 8, 8), (2, 8, 8), op="dqkv", scale=-0.5, stages=3),
    Case("dqkv, one tile of queries for each head", (41,), (9,), (48,), (64,),
         (128,), heads=3, key_heads=1, causal=[True], batch=2, op="dqkv",
         channels=64),
    Case("dqkv of 64 channels, narrow weights", (300,), (140,), (128,), (64,),
         (128,), batch=2, op="dqkv", channels=64),
    Case("dqkv of 64 channels in two axes, grouped heads", (20, 37), (7, 12),
         (6, 8), (8, 8), (8, 16), heads=4, key_heads=2, stride=[2, 1],
         causal=[False, True], op="dqkv", channels=64, values=32),
    Case("dqkv of 64 channels in three axes", (5, 9, 9), (3, 4, 5), (1, 4, 8),
         (1, 8, 8), (2, 8, 8), op="dqkv", channels=64, dtype="f16"),
]

# Inputs, statistics and outputs of each operation, or of a part of one.
OPERANDS = {"attention": ("q k v", "", "o lse"),
            "dq": ("q k v do", "lse delta", "dq"),
            "dkv": ("q k v do", "lse delta", "dk dv"),
            "dk": ("q k v do", "lse delta", "dk"),
            "dv": ("q k v do", "lse delta", "dv"),
            "dqkv": ("q k v do", "lse delta", "dq dk dv")}


def lower(case, arguments):
    types = {name: f"memref<{'x'.join(map(str, x.values.shape))}x{x.kind}>"
             for name, x in arguments.items()}
    window = ", ".join(
        [f"size = {list(case.window)}"]
        + [f"{key} = {str(value).lower()}" for key, value in case.axes.items()])
    schedule = (
        '#na.schedule<target = "sm_90a", '
        f"query_tile = {list(case.query_tile)}, "
        f"key_tile = {list(case.key_tile)}, "
        f"warpgroup_tile = {list(case.warpgroup_tile)}, "
        f"stages = {case.stages}, heads_per_tile = {case.tile_heads}>")
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

    inputs, statistics, outputs = (x.split() for x in OPERANDS[case.op])
    gradient = f"_{case.op} " if statistics else ""
    outs = "outs"
    if case.op in ("dk", "dv"):
        gradient, outs = "_dkv", case.op
    stats = f"stats({group(statistics)})" if statistics else ""
    text = f"""
func.func @main({', '.join(f'%{n}: {t}' for n, t in types.items())}) {{
  na.attention{gradient} ins({group(inputs)}) {stats} {optional} {outs}({group(outputs)})
    window(<{window}>) {{{attributes}}}
  return
}}"""
    flags = (options.passes or "--na-to-nvvm-kernels=chip=sm_90a").split()
    if not options.passes:
        # The rest of the pipeline runs too; what it says is not of interest.
        flags += [f"--mlir-print-ir-after={options.after}",
                  "--mlir-disable-threading", "--mlir-print-ir-module-scope"]
    done = subprocess.run(["na-opt", *flags, "--mlir-print-op-generic"],
                          input=text, capture_output=True, text=True)
    if options.passes:
        assert done.returncode == 0, done.stderr + text
        return done.stdout
    dumps = re.findall(r"^// -----// IR Dump After .*?\n(.*?^\}\) : \(\) -> \(\))$",
                       done.stderr, flags=re.M | re.S)
    assert dumps, done.stderr + text
    return dumps[-1]


def run(case, seed):
    random = np.random.default_rng(seed)
    tokens = (case.batch, *case.shape)
    inputs, statistics, outputs = (x.split() for x in OPERANDS[case.op])
    shapes = {"q": (case.heads, case.channels),
              "k": (case.key_heads, case.channels),
              "v": (case.key_heads, case.values),
              "o": (case.heads, case.values), "lse": (case.heads,)}
    shapes.update(do=shapes["o"], dq=shapes["q"], dk=shapes["k"], dv=shapes["v"])
    values = {name: rounded(random.standard_normal((*tokens, *shapes[name])),
                            case.dtype) for name in inputs}
    extra = (case.batch, case.extra, case.key_heads)
    kinds = {}
    if case.bias:
        kinds["bias"] = case.bias
        values["bias"] = rounded(random.standard_normal(
            (case.heads, *(2 * w - 1 for w in case.window))), case.bias)
    if case.extra:
        for name, channels in (("ek", case.channels), ("ev", case.values)):
            values[name] = rounded(random.standard_normal((*extra, channels)),
                                   case.dtype)
    expected = references(case, values)
    for name in statistics:
        values[name] = expected.pop(name).astype(np.float32)
    for name in outputs:
        values[name] = np.full((*tokens, *shapes[name]), np.nan)
    kinds.update(lse="f32", delta="f32")
    # Additional keys and their gradients are no operands of all operations.
    if case.op == "dkv" and case.extra:
        del values["ek"], values["ev"]
    arguments = {name: Global(name, x, kinds.get(name, case.dtype))
                 for name, x in values.items()}
    orders = [options.order] if options.order else ORDERS

    def blocks(total):
        """(Block, order) of some; all of them unless the case says how many."""
        count = min(case.blocks or total, total)
        grids.append((count, total))
        for i in range(count):
            yield i * total // count, orders[(seed + i) % len(orders)]

    grids = []
    Module(lower(case, arguments)).run_host(
        "main", list(arguments.values()), blocks)
    ((count, total),) = grids
    errors = []
    for name in outputs:
        out = arguments[name]
        there = out.writes > 0 if name == "lse" else (out.writes > 0).all(-1)
        assert there.all() if count == total else there.any()
        errors += check(case, name, out.values[there], expected[name], there)
    print(f"{case.name}: {count} of {total} blocks, error "
          + ", ".join(f"{error:.1e}" for error in errors), flush=True)


def references(case, values):
    """The outputs in f64, and the statistics of gradients."""
    exact = {name: x.astype(np.float64) for name, x in values.items()}
    settings = dict(window=list(case.window), scale=case.scale, **case.axes)
    if case.op == "attention":
        o, lse = reference.attention(**exact, **settings)
        return dict(o=o, lse=lse)
    gradients = reference.attention_grad(**exact, **settings)
    output_grad = exact.pop("do")
    o, lse = reference.attention(**exact, **settings)
    return dict(gradients, lse=lse, delta=(o * output_grad).sum(-1))


def check(case, name, out, expected, there):
    """The errors of the rows that are there."""
    if name == "lse":
        error = np.abs(out.astype(np.float64) - expected[there]).max()
        assert error <= reference.LSE_TOLERANCES[case.dtype], (case.name, error)
        return [error]
    whole, row = reference.relative_errors(out, expected[there],
                                           gradient=case.op != "attention")
    limits = reference.TOLERANCES[case.dtype]
    assert whole <= limits[0] and row <= limits[1], (case.name, name, whole, row)
    return [whole, row]


def random_tile(random, rank, size):
    """A box of `size` tokens."""
    tile = [1] * rank
    while size > 1:
        prime = next(p for p in range(2, size + 1) if size % p == 0)
        tile[random.integers(rank)] *= prime
        size //= prime
    return tile


def random_case(seed):
    random = np.random.default_rng(seed)
    rank = int(random.integers(1, 4))
    has_bias = random.random() < 0.25
    tile_heads = 1
    if rank < 3 and not has_bias and random.random() < 0.4:
        tile_heads = 2 ** int(random.integers(1, 5))
    warpgroup = random_tile(random, rank, 64 // tile_heads)
    query = list(warpgroup)
    query[random.integers(rank)] *= int(random.integers(1, 4))
    key = random_tile(random, rank, 16 * int(random.integers(1, 12)))
    most = {1: 400, 2: 40, 3: 14}[rank]
    shape = [int(random.integers(1, most + 1)) for _ in range(rank)]
    axis = random.integers(rank)
    if random.random() < 0.3:
        shape[axis] = min(query[axis] + 1, 2 * most)
    # What the TMA reads has equally many tokens of each residue.
    dilation = [int(random.choice([d for d in range(1, 7) if n % d == 0]))
                if random.random() < 0.3 else 1 for n in shape]
    window = [int(random.integers(1, n // d + 1))
              for n, d in zip(shape, dilation)]
    key_heads = int(random.integers(1, 3))
    channels = 16 * int(random.integers(1, 17))
    values = (16 * int(random.integers(1, 17)) if random.random() < 0.5
              else channels)
    # Wide products leave no registers for a third warpgroup.
    if np.prod(query) * tile_heads > 128 and max(values, np.prod(key)) > 192:
        query = list(warpgroup)
    # The tiles must fit into shared memory.
    bytes_left = 220 * 1024 - 2 * channels * tile_heads * int(np.prod(query))
    most = bytes_left // (2 * (channels + values) * int(np.prod(key)))
    while most < 1:
        key = random_tile(random, rank, int(np.prod(key)) - 16)
        most = bytes_left // (2 * (channels + values) * int(np.prod(key)))
    dtype = str(random.choice(["bf16", "f16"]))
    scales = [None] * 5 + [0.0, -0.5, 0.1]
    return Case(
        f"random {seed}", shape, window, query, warpgroup, key,
        dtype=dtype, scale=scales[random.integers(len(scales))],
        bias=str(random.choice(["f32", dtype])) if has_bias else None,
        extra=int(random.integers(1, 200)) if random.random() < 0.3 else 0,
        stages=min(int(random.integers(1, 4)), most),
        key_heads=key_heads, tile_heads=tile_heads,
        heads=key_heads * tile_heads * int(random.integers(1, 3)),
        channels=channels, values=values, blocks=12,
        batch=int(random.integers(1, 3)),
        stride=[int(random.integers(1, w + 1)) if random.random() < 0.5 else 1
                for w in window],
        causal=[bool(random.random() < 0.3) for _ in shape], dilation=dilation)


if options.random:
    CASES = [random_case(options.seed + i) for i in range(options.random)]
failures = 0
for seed, case in enumerate(CASES):
    if case.name in (options.only or [case.name]):
        try:
            run(case, seed)
        except (AssertionError, Fault) as failure:
            failures += 1
            print(f"FAILED {case.name}: {vars(case)}\n{failure}", flush=True)
sys.exit(failures > 0)
