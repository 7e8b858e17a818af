# arith and math on single values (int, np.float32) and, in the regions of
# nagpu.map, on arrays of rows and columns.

import re

import numpy as np

from cta import WIDTHS

DTYPES = {"i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32,
          "i64": np.int64, "index": np.int64, "f32": np.float32,
          "f64": np.float64, "bf16": np.float32, "f16": np.float32}


def rounded(x, kind):
    """Rounded to nearest even, as f32."""
    if kind == "f16":
        return np.asarray(x).astype(np.float16).astype(np.float32)[()]
    if kind == "bf16":
        x = np.ascontiguousarray(x, np.float32)
        bits = x.view(np.uint32)
        near = (bits + (0x7FFF + ((bits >> 16) & 1))) & np.uint32(0xFFFF0000)
        return np.where(np.isnan(x), x, near.view(np.float32))[()]
    return np.asarray(x).astype(DTYPES[kind], copy=False)[()]


def is_array(x):
    return isinstance(x, np.ndarray)


def typed(x, kind):
    """A result of integer arithmetic, wrapped to its type."""
    if is_array(x):
        return x.astype(DTYPES[kind], copy=False)
    bits = WIDTHS[kind]
    x = int(x) & ((1 << bits) - 1)
    # An i1 is 0 or 1.
    return x - (1 << bits) if bits > 1 and x >> (bits - 1) else x


def unsigned(x, kind):
    if is_array(x):
        return x if kind == "i1" else x.view(f"u{x.dtype.itemsize}")
    return int(x) & ((1 << WIDTHS[kind]) - 1)


def truncated(a, b):
    quotient = abs(a) // abs(b)
    if is_array(quotient):
        return np.where((a < 0) != (b < 0), -quotient, quotient)
    return -quotient if (a < 0) != (b < 0) else quotient


def minimum(a, b):
    return np.minimum(a, b) if is_array(a) or is_array(b) else min(a, b)


def maximum(a, b):
    return np.maximum(a, b) if is_array(a) or is_array(b) else max(a, b)


SIGNED = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "minsi": minimum,
    "maxsi": maximum,
    "divsi": truncated,
    "remsi": lambda a, b: a - truncated(a, b) * b,
    "floordivsi": lambda a, b: a // b,
    "ceildivsi": lambda a, b: -(-a // b),
    "shli": lambda a, b: a << b,
    "shrsi": lambda a, b: a >> b,
}
UNSIGNED = {
    "divui": lambda a, b: a // b,
    "remui": lambda a, b: a % b,
    "ceildivui": lambda a, b: -(-a // b),
    "minui": minimum,
    "maxui": maximum,
    "shrui": lambda a, b: a >> b,
}
FLOAT = {
    "arith.addf": np.add, "arith.subf": np.subtract,
    "arith.mulf": np.multiply, "arith.divf": np.divide,
    "arith.negf": np.negative,
    # The first two give NaN if one is NaN, the others the number.
    "arith.maximumf": np.maximum, "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax, "arith.minnumf": np.fmin,
    "math.exp2": np.exp2, "math.exp": np.exp, "math.log": np.log,
    "math.log2": np.log2, "math.absf": np.abs, "math.sqrt": np.sqrt,
}


def integers(name, kind):
    if name in SIGNED:
        function = SIGNED[name]
        return lambda op, args: typed(function(*args), kind)
    function = UNSIGNED[name]
    return lambda op, args: typed(function(*(unsigned(x, kind) for x in args)),
                                  kind)


def floats(name, kind):
    return lambda op, args: rounded(FLOAT[name](*args), kind)


def constant(op):
    kind = op.result_types[0]
    text = re.search(r"value = (\S+?)(?: :|}>)", op.attrs)[1]
    if kind in WIDTHS:
        text = {"true": "1", "false": "0"}.get(text, text)
        return typed(int(text), kind)
    if text.startswith("0x"):
        bits = {"f32": np.uint32, "f16": np.uint16, "bf16": np.uint16,
                "f64": np.uint64}[kind](int(text, 16))
        if kind == "bf16":
            return (np.uint32(bits) << 16).view(np.float32)
        return DTYPES[kind](bits.view({"f16": np.float16}.get(kind, DTYPES[kind])))
    return rounded(float(text), kind)


def compare_integers(op, args):
    predicate = op.integer("predicate")
    a, b = args
    if predicate >= 6:
        a, b = (unsigned(x, op.types[0]) for x in args)
    result = [a == b, a != b, a < b, a <= b, a > b, a >= b, a < b, a <= b,
              a > b, a >= b][predicate]
    return result if is_array(result) else int(result)


def compare_floats(op, args):
    predicate = op.integer("predicate")
    a, b = args
    no = np.isnan(a) | np.isnan(b)
    if predicate in (0, 7, 14, 15):
        result = np.full_like(no, predicate % 2)
    else:
        result = [np.equal, np.greater, np.greater_equal, np.less, np.less_equal,
                  np.not_equal][predicate - (1 if predicate < 8 else 8)](a, b)
    # NaN makes codes from 8 on true and the others false.
    result = (result | no if predicate >= 8 else result & ~no)[()]
    return result if is_array(result) else int(result)


def select(op, args):
    condition, yes, no = args
    if is_array(condition):
        return np.where(condition, yes, no).astype(
            DTYPES[op.result_types[0]], copy=False)
    return yes if condition else no


def convert(op, args):
    (x,), source, kind = args, op.types[0], op.result_types[0]
    name = op.name.split(".")[1]
    if name in ("extui", "index_castui", "uitofp"):
        x = unsigned(x, source)
    elif source == "i1" and not is_array(x):
        x = -x  # Sign extension.
    elif source == "i1":
        x = -x.astype(np.int8)
    if kind in WIDTHS:
        return typed(x if source in WIDTHS else np.trunc(x), kind)
    return rounded(x, kind)


def fma(op, args):
    a, b, c = args
    return np.add(np.multiply(a, b, dtype=np.float64), c).astype(
        DTYPES[op.result_types[0]])


def bitcast(op, args):
    dtype = DTYPES[op.result_types[0]]
    return np.asarray(args[0], DTYPES[op.types[0]]).view(dtype)[()]


OTHERS = {
    "arith.constant": lambda op, args: op.value,
    "arith.cmpi": compare_integers, "arith.cmpf": compare_floats,
    "arith.select": select, "math.fma": fma, "arith.bitcast": bitcast,
    **{f"arith.{name}": convert for name in (
        "index_cast", "index_castui", "trunci", "extsi", "extui", "truncf",
        "extf", "sitofp", "uitofp", "fptosi")},
}


def handler(op):
    """The function of an operation of arith or math; None if it is another."""
    kind = op.result_types[0] if op.result_types else None
    dialect, _, name = op.name.partition(".")
    if dialect == "arith" and (name in SIGNED or name in UNSIGNED):
        return integers(name, kind)
    if op.name in FLOAT:
        return floats(op.name, kind)
    if op.name == "arith.constant":
        op.value = constant(op)
    return OTHERS.get(op.name)
