# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the command lines of the package share: problems from flags, inputs, pictures."""

from __future__ import annotations

import argparse
import errno
import fnmatch
import json
import os
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

from ._library import CompileError, DeviceError
from ._problem import ARRAYS, Problem, Spec, integer, make_problem

DTYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}
_DTYPE_NAMES = {**DTYPES, **{name: name for name in DTYPES.values()}}


class UsageError(Exception):
    """Something is wrong with the command line or with what it names."""


def run_main(name: str, body: Callable[[], int]) -> int:
    """Runs a command; what it refuses is one line on standard error and exit code 1."""
    try:
        return body()
    except (UsageError, TypeError, ValueError, ImportError, OSError, MemoryError, CompileError,
            DeviceError) as error:
        print(f"{name}: error: {error or 'out of memory'}", file=sys.stderr)
        return 1


def integers(text: str) -> Tuple[int, ...]:
    """"7x7" or "7,7"."""
    try:
        return tuple(int(part) for part in text.replace(",", "x").split("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form 7x7") from None


def booleans(text: str) -> Tuple[bool, ...]:
    known = {"t": True, "true": True, "1": True, "f": False, "false": False, "0": False}
    try:
        return tuple(known[part] for part in text.lower().split(","))
    except KeyError:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form t,f") from None


def add_problem_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("problem")
    add = group.add_argument
    add("--shape", type=integers, metavar="XxYxZ", help="tokens per axis, 1 to 3 axes")
    add("--window", type=integers, metavar="XxYxZ", help="keys that a query sees, per axis")
    add("--stride", type=integers, metavar="XxYxZ", help="queries that share a window (1)")
    add("--dilation", type=integers, metavar="XxYxZ", help="distance of neighbouring keys (1)")
    add("--causal", type=booleans, metavar="t,f,..", help="hide later keys, per axis (f)")
    add("--batch", type=int, default=1, metavar="N")
    add("--heads", type=int, default=1, metavar="N")
    add("--kv-heads", type=int, metavar="N", help="key heads (--heads)")
    add("--head-dim", type=int, default=32, metavar="N")
    add("--value-dim", type=int, metavar="N", help="channels of values (--head-dim)")
    add("--extra-kv", type=int, default=0, metavar="N", help="additional keys (0)")
    add("--bias", action="store_true", help="with a relative position bias")
    add("--scale", type=float, metavar="X", help="factor of the logits (1/sqrt(--head-dim))")
    add("--dtype", choices=sorted(_DTYPE_NAMES), default="f32", metavar="TYPE",
        help="f64, f32, f16 or bf16 (f32)")
    add("--suite", metavar="FILE", help="a file of problems, such as benchmarks/suite.json")
    add("--problems", default="*", metavar="LIST", help="names or patterns of the suite (*)")


def make_specs(
    shape: Sequence[int], batch: int, heads: int, kv_heads: int, head_dim: int, value_dim: int,
    extra_kv: int, dtype: str, bias: Optional[Sequence[int]],
) -> List[Optional[Spec]]:
    """The specs of ARRAYS."""

    def spec(tokens: Sequence[int], count: int, channels: int) -> Spec:
        return Spec((batch, *tokens, count, channels), dtype)

    specs: List[Optional[Spec]] = [
        spec(shape, heads, head_dim), spec(shape, kv_heads, head_dim),
        spec(shape, kv_heads, value_dim), None, None, None,
    ]
    if extra_kv:
        specs[3] = spec((extra_kv,), kv_heads, head_dim)
        specs[4] = spec((extra_kv,), kv_heads, value_dim)
    if bias is not None:
        kind = "float64" if dtype == "float64" else "float32"
        specs[5] = Spec((heads, *(2 * size - 1 for size in bias)), kind)
    return specs


def _make(fields: Dict[str, Any]) -> Problem:
    for name in ("shape", "window"):
        if not fields.get(name):
            raise UsageError(f"--{name} is missing; --help lists the flags")

    def get(name: str, default: Any = None) -> Any:
        return default if fields.get(name) is None else fields[name]

    dtype = get("dtype", "f32")
    if dtype not in _DTYPE_NAMES:
        raise UsageError(f"dtype: {dtype!r} is not one of {', '.join(DTYPES)}")
    heads, head_dim = get("heads", 1), get("head_dim", 32)
    sizes = {
        "batch": get("batch", 1), "heads": heads, "kv_heads": get("kv_heads", heads),
        "head_dim": head_dim, "value_dim": get("value_dim", head_dim),
        "extra_kv": get("extra_kv", 0),
    }
    for name, value in sizes.items():
        integer(f"--{name.replace('_', '-')}", value, 0 if name in ("batch", "extra_kv") else 1)
    for axis, length in enumerate(fields["shape"]):
        integer(f"--shape, axis {axis}", length, 1, 2**63 - 1)
    specs = make_specs(
        fields["shape"], dtype=_DTYPE_NAMES[dtype],
        bias=fields["window"] if get("bias") else None, **sizes,
    )
    q, k, v, keys, values, bias = specs
    assert q is not None and k is not None and v is not None
    return make_problem(
        q, k, v, fields["window"], get("stride", 1), get("dilation", 1),
        get("causal", False), get("scale"), keys, values, bias,
    )


def read_problems(options: argparse.Namespace) -> Dict[str, Problem]:
    """By name, in order."""
    if not options.suite:
        return {"problem": _make(vars(options))}
    if options.shape or options.window:
        raise UsageError("--suite has the problems: --shape and --window are not possible")
    try:
        with open(options.suite, encoding="utf-8") as file:
            entries = json.load(file)["problems"]
        entries = {entry.get("id", str(i)): entry for i, entry in enumerate(entries)}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"--suite={options.suite}: is no suite ({error})") from None
    patterns = options.problems.split(",")
    chosen = {
        name: entry for name, entry in entries.items()
        if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
    }
    if not chosen:
        raise UsageError(f"--problems={options.problems}: no such problem in {options.suite}")
    problems = {}
    for name, entry in chosen.items():
        try:
            problems[name] = _make(entry)
        except (UsageError, TypeError, ValueError) as error:
            raise UsageError(f"--suite={options.suite}, problem {name}: {error}") from None
    return problems


def specs_of(problem: Problem) -> List[Optional[Spec]]:
    specs = make_specs(
        problem.tokens, problem.batch, problem.heads, problem.kv_heads, problem.head_dim,
        problem.value_dim, problem.additional, problem.dtype,
        problem.window if problem.bias else None,
    )
    return specs


def make_inputs(problem: Problem, device: str, seed: int = 0) -> Dict[str, Any]:
    """Random arrays by name: of NumPy for the device "numpy", else of PyTorch."""
    arrays: Dict[str, Any] = {}
    if device == "numpy":
        if problem.dtype == "bfloat16":
            raise UsageError("--dtype=bf16 needs PyTorch (--device=cpu)")
        rng = np.random.default_rng(seed)
        for name, spec in zip(ARRAYS, specs_of(problem)):
            if spec is not None:
                values = rng.standard_normal(spec.shape, np.float32)
                arrays[name] = values.astype(spec.dtype)
        return arrays
    try:
        import torch
    except ImportError:
        raise UsageError(f"--device={device} needs PyTorch; --device=numpy does not") from None
    try:
        where = torch.device(device)
        generator = torch.Generator(where).manual_seed(seed)
    except RuntimeError as error:
        raise UsageError(f"--device={device}: {str(error).splitlines()[0]}") from None
    for name, spec in zip(ARRAYS, specs_of(problem)):
        if spec is not None:
            values = torch.randn(spec.shape, generator=generator, device=where)
            arrays[name] = values.to(getattr(torch, spec.dtype))
    return arrays


# ===-----------------------------------------------------------------------------------------===
# Pictures
# ===-----------------------------------------------------------------------------------------===


def check_picture(path: str) -> str:
    """A file name whose ending says what to write."""
    if os.path.splitext(path)[1].lower() not in (".png", ".svg", ".pdf"):
        raise UsageError(f"{path}: the name must end in .png, .svg or .pdf")
    return path


def check_writable(path: str) -> None:
    """Before what takes long: the error of a file that cannot be written."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        code = errno.ENOENT
    elif os.path.isdir(path):
        code = errno.EISDIR
    elif not os.access(path if os.path.exists(path) else folder, os.W_OK):
        code = errno.EACCES
    else:
        return
    raise OSError(code, os.strerror(code), path)


def make_figure(width: float, height: float) -> Any:
    """A figure of matplotlib, which is optional."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "pictures are drawn by matplotlib, which is not installed: pip install matplotlib "
            "(or na-mlir[plot])"
        ) from None
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Any, path: str) -> None:
    figure.savefig(check_picture(path), dpi=120)
