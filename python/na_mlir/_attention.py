# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of the package."""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Optional, Sequence, Tuple, Union

import numpy as np

from . import _library, _numpy, _problem, _programs
from ._problem import ARRAYS

PerAxis = Union[int, Sequence[int]]
PerAxisBool = Union[bool, Sequence[bool]]


# Of calls that PyTorch does not trace; set by .torch. What it does not know it answers by None.
_attention_of_tensors: Optional[Callable[..., Any]] = None


def is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _from_dlpack(name: str, value: Any) -> Any:
    """Another library's array, as NumPy has it or, on a GPU, as PyTorch does."""
    if not (hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__")):
        kind = type(value)
        raise TypeError(
            f"{name}: expected a NumPy array, a PyTorch tensor or an object with __dlpack__, not "
            f"{kind.__module__}.{kind.__qualname__}"
        )
    reason = ""
    if value.__dlpack_device__()[0] in (1, 3):  # On the host.
        try:
            return np.from_dlpack(value)
        except (AttributeError, BufferError, RuntimeError) as error:
            # NumPy has no bfloat16.
            reason = f" (NumPy: {error})"
    try:
        import torch
    except ImportError:
        raise TypeError(
            f"{name}: PyTorch is needed for arrays on a GPU and for types that NumPy has not{reason}"
        ) from None
    try:
        return torch.from_dlpack(value)
    except Exception as error:  # Whatever two libraries find to say.
        raise TypeError(f"{name}: cannot be taken through DLPack: {error}{reason}") from error


def import_arrays(
    values: Tuple[Any, ...], names: Sequence[str] = ARRAYS
) -> Tuple[Tuple[Any, ...], bool]:
    """The arguments as arrays of one kind, and whether they are tensors of PyTorch."""
    arrays = tuple(
        value
        if value is None or isinstance(value, np.ndarray) or is_tensor(value)
        else _from_dlpack(name, value)
        for name, value in zip(names, values)
    )
    for name, array in zip(names[:3], arrays):
        if array is None:
            raise TypeError(f"{name}: expected an array, not None")
    tensors = not isinstance(arrays[0], np.ndarray)
    for name, array in zip(names, arrays):
        if array is not None and isinstance(array, np.ndarray) == tensors:
            kinds = ("a NumPy array", "a PyTorch tensor")
            raise TypeError(f"{name}: is {kinds[not tensors]}, but q is {kinds[tensors]}")
    return arrays, tensors


def neighborhood_attention(
    q: Any,
    k: Any,
    v: Any,
    window: PerAxis,
    stride: PerAxis = 1,
    dilation: PerAxis = 1,
    causal: PerAxisBool = False,
    scale: Optional[float] = None,
    additional_keys: Any = None,
    additional_values: Any = None,
    bias: Any = None,
    return_lse: bool = False,
    deterministic: bool = False,
    *,
    mode: str = "fused",
    f32_math: str = "ieee",
) -> Any:
    """Attention in which each query sees the keys in a window around it.

    Arrays are heads-last, with one to three spatial axes `X`: all of NumPy, or all of PyTorch on
    one device. Other arrays come in through DLPack. Any strides are right; row-major arrays are
    used in place, others are copied.

    Args:
        q: `[B, X.., H, D]` of float64, float32, float16 or bfloat16 (in NumPy by ml_dtypes).
        k: `[B, X.., Hkv, D]`; `Hkv` divides `H`, and query head h reads head h // (H // Hkv).
        v: `[B, X.., Hkv, Dv]`.
        window: how many keys a query sees on each axis. At a border the window is shifted inward.
        stride: how many neighbouring queries share a window; at most the window.
        dilation: the distance of neighbouring keys; window * dilation is at most the length.
        causal: whether keys after the query are hidden, for each axis.
        scale: what logits are multiplied by; None: 1 / sqrt(D). It is part of the compiled code:
            where it changes from call to call or is learnt, multiply q instead.
        additional_keys: `[B, T, Hkv, D]`, keys that every query sees too.
        additional_values: `[B, T, Hkv, Dv]`, their values.
        bias: `[H, 2 * window - 1, ..]` of float32 or the type of q, added to the logits by the
            position of the key relative to the query.
        return_lse: whether to return the natural log-sum-exp of the logits too.
        deterministic: the same result, and the same gradients in PyTorch, bit for bit in every
            run. The result always is.
        mode: how it is computed: "fused" (memory linear in tokens), "unfused" (the weights in
            memory) or "naive" (the definition).
        f32_math: how products of float32 are computed on a GPU: "ieee", or "tf32" for factors
            rounded to tf32.

    Returns:
        The output `[B, X.., H, Dv]`, row-major, of the type of q; with `return_lse` also the
        log-sum-exp `[B, X.., H]` of float32 (float64 for float64).

    Raises:
        TypeError: for an argument of the wrong type, dtype or kind of array.
        ValueError: for a shape, window, .. outside of its limits.
        CompileError: for what the compiler cannot do on the target.
        DeviceError: for what the driver of the GPU refuses.
    """
    if _attention_of_tensors is not None:
        found = _attention_of_tensors(
            q, k, v, additional_keys, additional_values, bias, window, stride, dilation, causal,
            scale, bool(return_lse), mode, f32_math, bool(deterministic),
        )
        if found is not None:
            return found if return_lse else found[0]
    if (
        type(q) is type(k) is type(v) is np.ndarray
        and additional_keys is additional_values is bias is None
    ):
        arrays, tensors = (q, k, v, None, None, None), False
    else:
        arrays, tensors = import_arrays((q, k, v, additional_keys, additional_values, bias))
    parameters = (window, stride, dilation, causal, scale, bool(return_lse))
    if tensors:
        from . import torch as binding

        output, lse = binding._attention(arrays, parameters, mode, f32_math, bool(deterministic))
    else:
        output, lse = _numpy.attention(arrays, parameters, mode, f32_math)
    return (output, lse) if return_lse else output


def set_num_threads(count: int) -> None:
    """Sets how many threads programs for the CPU use, at most 4096; 0: one per CPU."""
    _library.library().naSetNumThreads(_problem.integer("count", count, 0, 4096))


def get_num_threads() -> int:
    """How many threads programs for the CPU use."""
    return _library.library().naGetNumThreads()


def clear_cache() -> None:
    """Forgets all compiled programs."""
    _programs.clear()
    _numpy.clear()
    binding = sys.modules.get(__package__ + ".torch")
    if binding is not None:
        binding._clear()


def set_tuning_file(path: Union[str, "os.PathLike[str]", None]) -> None:
    """Measured schedules (na-tune writes such files) for programs that are compiled from now on;
    None: of the file that the environment variable NA_TUNING_FILE names, if any; "": of no file."""
    _programs.set_tuning_file(None if path is None else os.fspath(path))
    clear_cache()


def cache_size() -> int:
    """How many programs are kept."""
    return _programs.size()


def version() -> str:
    """The versions of the compiler and of LLVM."""
    return _library.library().naVersion().decode()
