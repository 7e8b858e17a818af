# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call asks for: checked arguments, without their data."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any, Optional, Sequence, Tuple

from . import _library

Shape = Tuple[int, ...]

DTYPES = tuple(_library.TYPES)
_LARGEST = (2 - 2.0**-23) * 2.0**127

# The arrays of a call, in the order in which they are passed around.
ARRAYS = ("q", "k", "v", "additional_keys", "additional_values", "bias")


@dataclass(frozen=True)
class Spec:
    """Shape and element type of an argument. The type is its name, as NumPy has it."""

    shape: Shape
    dtype: str


@dataclass(frozen=True)
class Problem:
    """One neighborhood attention: everything that decides the compiled code but the target."""

    dtype: str
    batch: int
    tokens: Shape
    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    window: Shape
    stride: Shape
    dilation: Shape
    causal: Tuple[bool, ...]
    scale: Optional[float]
    additional: int
    bias: Optional[str]
    lse: bool
    # Of the gradients of the problem: flags of the C API.
    gradients: Optional[int] = None

    @property
    def output_shape(self) -> Shape:
        return (self.batch, *self.tokens, self.heads, self.value_dim)

    @property
    def lse_shape(self) -> Shape:
        return (self.batch, *self.tokens, self.heads)

    @property
    def lse_dtype(self) -> str:
        return "float64" if self.dtype == "float64" else "float32"

    def struct(self) -> _library.ProblemStruct:
        struct = _library.ProblemStruct()
        _library.library().naProblemInit(struct)
        struct.rank = len(self.tokens)
        struct.type = _library.TYPES[self.dtype]
        struct.bias_type = _library.TYPES[self.bias] if self.bias else 0
        struct.lse = self.lse
        if self.scale is not None:
            struct.has_scale, struct.scale = 1, self.scale
        struct.batch, struct.heads, struct.kv_heads = self.batch, self.heads, self.kv_heads
        struct.head_dim, struct.value_dim = self.head_dim, self.value_dim
        struct.additional = self.additional
        for axis in range(struct.rank):
            struct.tokens[axis] = self.tokens[axis]
            struct.window[axis] = self.window[axis]
            struct.stride[axis] = self.stride[axis]
            struct.dilation[axis] = self.dilation[axis]
            struct.causal[axis] = self.causal[axis]
        return struct

    def __str__(self) -> str:
        heads = f"{self.heads}"
        if self.kv_heads != self.heads:
            heads += f" on {self.kv_heads} key heads"
        dims = f"{self.head_dim}"
        if self.value_dim != self.head_dim:
            dims += f", values {self.value_dim}"
        text = "" if self.gradients is None else "gradients of "
        text += (
            f"neighborhood attention, tokens {_times(self.tokens)}, window {_times(self.window)}"
        )
        if any(size != 1 for size in self.stride):
            text += f", stride {_times(self.stride)}"
        if any(size != 1 for size in self.dilation):
            text += f", dilation {_times(self.dilation)}"
        if any(self.causal):
            text += f", causal {self.causal}"
        text += f", batch {self.batch}, heads {heads}, head dim {dims}"
        if self.additional:
            text += f", additional keys {self.additional}"
        if self.bias:
            text += f", bias {self.bias}"
        return text + f", {self.dtype}"


def _times(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes))


def integer(name: str, value: Any, least: int, most: int = 2**31 - 1) -> int:
    """An argument that is one integer; ctypes would cut off what does not fit."""
    if isinstance(value, bool):
        raise TypeError(f"{name}: expected an int, not {value!r}")
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected an int, not {value!r}") from None
    if value < least:
        raise ValueError(f"{name}: {value} is not at least {least}")
    if value > most:
        raise ValueError(f"{name}: {value} is not at most {most}")
    return int(value)


def integers(name: str, value: Any, rank: int) -> Shape:
    """An integer per axis, from one for all or one each."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name}: expected an int or a tuple of ints, not {value!r}")
    try:
        values = tuple(value)
    except TypeError:
        values = (value,) * rank
    if len(values) != rank:
        raise ValueError(
            f"{name}: {values} has {len(values)} entries, but there are {rank} spatial axes"
        )
    result = []
    for axis, entry in enumerate(values):
        if isinstance(entry, bool):
            raise TypeError(f"{name}, axis {axis}: expected an int, not {entry!r}")
        try:
            result.append(operator.index(entry))
        except TypeError:
            raise TypeError(f"{name}, axis {axis}: expected an int, not {entry!r}") from None
    return tuple(result)


def booleans(name: str, value: Any, rank: int) -> Tuple[bool, ...]:
    try:
        values = tuple(value)
    except TypeError:
        values = (value,) * rank
    if len(values) != rank:
        raise ValueError(
            f"{name}: {values} has {len(values)} entries, but there are {rank} spatial axes"
        )
    for axis, entry in enumerate(values):
        # NumPy's booleans are not Python's.
        if entry is not True and entry is not False and type(entry).__name__ not in ("bool_", "bool"):
            raise TypeError(f"{name}, axis {axis}: expected a bool, not {entry!r}")
    return tuple(map(bool, values))


def check_window(
    window: Any, stride: Any, dilation: Any, causal: Any, rank: int
) -> Tuple[Shape, Shape, Shape, Tuple[bool, ...]]:
    """Window, stride, dilation and causal, one entry per axis: what can be checked without the
    lengths of the axes."""
    windows = integers("window", window, rank)
    strides = integers("stride", stride, rank)
    dilations = integers("dilation", dilation, rank)
    for axis in range(rank):
        size, step, distance = windows[axis], strides[axis], dilations[axis]
        if size < 1:
            raise ValueError(f"window, axis {axis}: {size} is not at least 1; window {windows}")
        if distance < 1:
            raise ValueError(
                f"dilation, axis {axis}: {distance} is not at least 1; dilation {dilations}"
            )
        if not 1 <= step <= size:
            raise ValueError(
                f"stride, axis {axis}: {step} is not in 1 to the window, {size}; stride {strides}, "
                f"window {windows}"
            )
    return windows, strides, dilations, booleans("causal", causal, rank)


def _check_scale(scale: Any, dtype: str) -> Optional[float]:
    if scale is None:
        return None
    if getattr(scale, "requires_grad", False):
        raise TypeError(
            "scale: has no gradient, but requires one; multiply q by it instead, with scale=1.0"
        )
    try:
        # Text that reads as a number is a slip too.
        number = float("" if isinstance(scale, (str, bytes, bytearray)) else scale)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"scale: expected a float or None, not {scale!r}") from None
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"scale: {number} is not finite")
    # What logits are computed in.
    if dtype != "float64" and abs(number) > _LARGEST:
        raise ValueError(f"scale: {number} is not finite in float32")
    return number


def make_problem(
    q: Spec,
    k: Spec,
    v: Spec,
    window: Any,
    stride: Any = 1,
    dilation: Any = 1,
    causal: Any = False,
    scale: Optional[float] = None,
    additional_keys: Optional[Spec] = None,
    additional_values: Optional[Spec] = None,
    bias: Optional[Spec] = None,
    lse: bool = False,
) -> Problem:
    """Checks the arguments of a call; errors name argument, axis, value and limit."""
    shapes = f" (q {q.shape}, k {k.shape}, v {v.shape})"
    if q.dtype not in DTYPES:
        raise TypeError(f"q: dtype {q.dtype} is not one of {', '.join(DTYPES)}")
    for name, spec in (
        ("k", k),
        ("v", v),
        ("additional_keys", additional_keys),
        ("additional_values", additional_values),
    ):
        if spec is not None and spec.dtype != q.dtype:
            raise TypeError(f"{name}: dtype {spec.dtype} is not that of q, {q.dtype}")
    if bias is not None and bias.dtype not in ("float32", q.dtype):
        raise TypeError(f"bias: dtype {bias.dtype} is not float32 or that of q, {q.dtype}")
    if not 4 <= len(q.shape) <= 6:
        raise ValueError(
            f"q: shape {q.shape} has {len(q.shape)} axes, expected 4 to 6: batch, 1 to 3 spatial "
            "axes, heads, channels"
        )
    rank = len(q.shape) - 3
    for name, spec in (("k", k), ("v", v)):
        if len(spec.shape) != len(q.shape):
            raise ValueError(
                f"{name}: shape {spec.shape} has {len(spec.shape)} axes, q has {len(q.shape)}"
                + shapes
            )
        for axis in range(rank + 1):
            if spec.shape[axis] != q.shape[axis]:
                raise ValueError(
                    f"{name}, axis {axis}: size {spec.shape[axis]} is not that of q, "
                    f"{q.shape[axis]}" + shapes
                )
    heads, kv_heads, head_dim = q.shape[-2], k.shape[-2], q.shape[-1]
    if k.shape[-1] != head_dim:
        raise ValueError(
            f"k, axis {rank + 2}: size {k.shape[-1]} is not the head dim of q, {head_dim}" + shapes
        )
    if v.shape[-2] != kv_heads:
        raise ValueError(
            f"v, axis {rank + 1}: {v.shape[-2]} heads, k has {kv_heads}" + shapes
        )
    for name, spec in (("q", q), ("k", k), ("v", v)):
        for axis in range(1, rank + 3):
            if spec.shape[axis] < 1:
                raise ValueError(
                    f"{name}, axis {axis}: size {spec.shape[axis]} is not at least 1" + shapes
                )
    if heads % kv_heads:
        raise ValueError(
            f"k, axis {rank + 1}: {kv_heads} heads do not divide the {heads} heads of q" + shapes
        )
    tokens = q.shape[1:-2]
    windows, strides, dilations, causals = check_window(window, stride, dilation, causal, rank)
    for axis in range(rank):
        size, distance = windows[axis], dilations[axis]
        if size * distance > tokens[axis]:
            raise ValueError(
                f"window, axis {axis}: {size} * dilation {distance} = {size * distance} exceeds "
                f"the length, {tokens[axis]}; window {windows}, dilation {dilations}, q {q.shape}"
            )
    additional = 0
    if (additional_keys is None) != (additional_values is None):
        missing = "additional_keys" if additional_keys is None else "additional_values"
        raise ValueError(f"{missing}: None, but the other of keys and values is given")
    if additional_keys is not None and additional_values is not None:
        given = additional_keys.shape
        additional = given[1] if len(given) == 4 else 0
        for name, spec, channels in (
            ("additional_keys", additional_keys, head_dim),
            ("additional_values", additional_values, v.shape[-1]),
        ):
            expected = (q.shape[0], additional, kv_heads, channels)
            if spec.shape != expected:
                count = "T" if len(given) != 4 else additional
                raise ValueError(
                    f"{name}: shape {spec.shape} is not ({q.shape[0]}, {count}, {kv_heads}, "
                    f"{channels}): batch, number of keys, heads of k, channels" + shapes
                )
    if bias is not None:
        expected = (heads, *(2 * size - 1 for size in windows))
        if bias.shape != expected:
            raise ValueError(
                f"bias: shape {bias.shape} is not {expected}: heads of q, then 2 * window - 1 for "
                f"each axis; window {windows}" + shapes
            )
    return Problem(
        dtype=q.dtype,
        batch=q.shape[0],
        tokens=tokens,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        value_dim=v.shape[-1],
        window=windows,
        stride=strides,
        dilation=dilations,
        causal=causals,
        scale=_check_scale(scale, q.dtype),
        additional=additional,
        bias=bias.dtype if bias is not None else None,
        lse=bool(lse),
    )


def problem_of(specs: Sequence[Optional[Spec]], parameters: Tuple[Any, ...]) -> Problem:
    """From the specs of ARRAYS and (window, stride, dilation, causal, scale, lse)."""
    q, k, v, additional_keys, additional_values, bias = specs
    assert q is not None and k is not None and v is not None
    *others, lse = parameters
    return make_problem(q, k, v, *others, additional_keys, additional_values, bias, lse)
