# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The PyTorch operator, NATTEN's functions and modules.

`torch.ops.na_mlir.attention` works under torch.compile(fullgraph=True) and on tensors of the CPU
and of CUDA devices, there on the current stream. Output and log-sum-exp are differentiable once, by
`torch.ops.na_mlir.attention_backward`; a backward of the backward raises NotImplementedError.

Under CUDA graph capture, call once with the same problem before: loading a kernel cannot be
captured.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Optional, Sequence, Tuple, Union

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from . import _attention as _functions
from . import _eager
from ._gradients import ARRAYS as GRADIENT_ARRAYS
from ._gradients import gradient_problem
from ._problem import Problem, check_window, integer
from ._tensors import Arrays, Launcher, cast_for_autocast, check_tensors, describe, make, target_of

__all__ = [
    "NeighborhoodAttention1D",
    "NeighborhoodAttention2D",
    "NeighborhoodAttention3D",
    "na1d",
    "na2d",
    "na3d",
]

# ===-----------------------------------------------------------------------------------------===
# The operator
# ===-----------------------------------------------------------------------------------------===

torch.library.define(
    "na_mlir::attention",
    "(Tensor q, Tensor k, Tensor v, Tensor? additional_keys, Tensor? additional_values, "
    "Tensor? bias, int[] window, int[] stride, int[] dilation, bool[] causal, float? scale, "
    "bool lse, str mode, str f32_math, bool deterministic=False) -> (Tensor, Tensor)",
)


def _run(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    additional_keys: Optional[Tensor],
    additional_values: Optional[Tensor],
    bias: Optional[Tensor],
    window: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    causal: Sequence[bool],
    scale: Optional[float],
    lse: bool,
    mode: str,
    f32_math: str,
    deterministic: bool = False,
) -> Tuple[Tensor, Tensor]:
    # Of the gradients only: the attention itself always is deterministic.
    del deterministic
    others = (additional_keys, additional_values, bias)
    parameters = (tuple(window), tuple(stride), tuple(dilation), tuple(causal), scale)
    call = _eager.find_call(q, k, v, others, parameters, mode, f32_math)
    output, statistics = call.run((q, k, v, *others), lse)
    if statistics is None:
        statistics = torch.empty((0,), dtype=call.lse_dtype, device=q.device)
    return output, statistics


torch.library.impl("na_mlir::attention", ("cpu", "cuda"), _run)


@torch.library.register_fake("na_mlir::attention")
def _fake(
    q, k, v, additional_keys, additional_values, bias, window, stride, dilation, causal, scale, lse,
    mode, f32_math, deterministic=False,
):
    arrays = (q, k, v, additional_keys, additional_values, bias)
    if all(type(size) is int for t in arrays if t is not None for size in t.shape):
        # Dynamic sizes are checked when they are known.
        make(arrays, (tuple(window), tuple(stride), tuple(dilation), tuple(causal), scale, lse))
    output = q.new_empty((*q.shape[:-1], v.shape[-1]))
    lse_type = torch.float64 if q.dtype == torch.float64 else torch.float32
    return output, q.new_empty(q.shape[:-1] if lse else (0,), dtype=lse_type)


# ===-----------------------------------------------------------------------------------------===
# Its gradients
# ===-----------------------------------------------------------------------------------------===

torch.library.define(
    "na_mlir::attention_backward",
    "(Tensor q, Tensor k, Tensor v, Tensor? additional_keys, Tensor? additional_values, "
    "Tensor? bias, Tensor output, Tensor lse, Tensor output_grad, Tensor? lse_grad, int[] window, "
    "int[] stride, int[] dilation, bool[] causal, float? scale, bool additional, bool bias_grad, "
    "bool deterministic, str mode, str f32_math) "
    "-> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
)


# By what a call of the operator is made of, so that a repeated one is not checked again.
_gradients: Dict[Any, Launcher] = {}


def _make_gradients(
    arrays: Arrays, parameters: Tuple[Any, ...], flags: Tuple[bool, bool, bool]
) -> Problem:
    check_tensors(arrays, GRADIENT_ARRAYS)
    return gradient_problem(tuple(map(describe, arrays)), parameters, *flags)


def _run_backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    additional_keys: Optional[Tensor],
    additional_values: Optional[Tensor],
    bias: Optional[Tensor],
    output: Tensor,
    lse: Tensor,
    output_grad: Tensor,
    lse_grad: Optional[Tensor],
    window: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    causal: Sequence[bool],
    scale: Optional[float],
    additional: bool,
    bias_grad: bool,
    deterministic: bool,
    mode: str,
    f32_math: str,
) -> Tuple[Tensor, ...]:
    arrays = (
        q, k, v, additional_keys, additional_values, bias, output, lse, output_grad, lse_grad,
    )
    parameters = (tuple(window), tuple(stride), tuple(dilation), tuple(causal), scale)
    deterministic = deterministic or torch.are_deterministic_algorithms_enabled()
    flags = (additional, bias_grad, deterministic)
    key = (
        tuple(t if t is None else (t.shape, t.dtype, t.device) for t in arrays),
        parameters,
        flags,
        mode,
        f32_math,
    )
    launcher = _gradients.get(key)
    if launcher is None:
        problem = _make_gradients(arrays, parameters, flags)
        launcher = _gradients[key] = Launcher(problem, target_of(q, mode, f32_math))
    return _complete(q, _eager.launch_backward(launcher, arrays, additional, bias_grad))


def _complete(q: Tensor, results: Tuple[Optional[Tensor], ...]) -> Tuple[Tensor, ...]:
    """An operator cannot return None: what is not asked for is empty."""
    return tuple(q.new_empty((0,)) if t is None else t for t in results)


torch.library.impl("na_mlir::attention_backward", ("cpu", "cuda"), _run_backward)


@torch.library.register_fake("na_mlir::attention_backward")
def _fake_backward(
    q, k, v, additional_keys, additional_values, bias, output, lse, output_grad, lse_grad, window,
    stride, dilation, causal, scale, additional, bias_grad, deterministic, mode, f32_math,
):
    arrays = (
        q, k, v, additional_keys, additional_values, bias, output, lse, output_grad, lse_grad,
    )
    if all(type(size) is int for t in arrays if t is not None for size in t.shape):
        # Dynamic sizes are checked when they are known.
        parameters = (tuple(window), tuple(stride), tuple(dilation), tuple(causal), scale)
        _make_gradients(arrays, parameters, (additional, bias_grad, deterministic))
    return _complete(q, _eager.new_gradients(arrays, additional, bias_grad))


def _setup_context(ctx: Any, inputs: Tuple[Any, ...], output: Tuple[Tensor, Tensor]) -> None:
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*inputs[:6], *output)
    ctx.parameters = inputs[6:]


def _backward(
    ctx: Any, output_grad: Optional[Tensor], lse_grad: Optional[Tensor]
) -> Tuple[Optional[Tensor], ...]:
    *arrays, output, lse = ctx.saved_tensors
    *parameters, with_lse, mode, f32_math, deterministic = ctx.parameters
    needed = ctx.needs_input_grad
    if not with_lse:
        # Of a call of the operator itself: functions here ask for it where gradients are wanted.
        lse_grad = None
        _, lse = torch.ops.na_mlir.attention(*arrays, *parameters, True, mode, f32_math)
    if output_grad is None:
        output_grad = torch.zeros_like(output)
    gradients = torch.ops.na_mlir.attention_backward(
        *arrays, output, lse, output_grad, lse_grad, *parameters, needed[3] or needed[4], needed[5],
        deterministic, mode, f32_math,
    )
    # An argument that has its default value may be missing from `needed`.
    others = (None,) * (len(needed) - len(gradients))
    return tuple(g if need else None for g, need in zip(gradients, needed)) + others


torch.library.register_autograd("na_mlir::attention", _backward, setup_context=_setup_context)


def _no_second_backward(ctx: Any, *gradients: Optional[Tensor]) -> Any:
    raise NotImplementedError(
        "na_mlir: gradients of neighborhood attention have no gradients themselves; call backward "
        "without create_graph=True"
    )


torch.library.register_autograd("na_mlir::attention_backward", _no_second_backward)

_eager.backward_operator = torch.ops.na_mlir.attention_backward
_functions._attention_of_tensors = _eager.attention


def _per_axis(value: Any, rank: int) -> Any:
    return list(value) if isinstance(value, (tuple, list)) else [value] * rank


def _as_schema(
    arrays: Arrays, parameters: Tuple[Any, ...]
) -> Tuple[Sequence[Any], Optional[float]]:
    """Window, stride, dilation, causal as lists, and the scale, of the types of the operators."""
    window, stride, dilation, causal, scale = parameters
    rank = arrays[0].dim() - 3
    lists = [_per_axis(value, max(rank, 1)) for value in (window, stride, dilation, causal)]
    kinds = (int, int, int, bool)
    if any(type(entry) is not kind for entries, kind in zip(lists, kinds) for entry in entries) or (
        scale is not None and type(scale) is not float
    ):
        # The operators' schemas would refuse or convert these less readably.
        problem = make(arrays, (*parameters, False))
        lists = [problem.window, problem.stride, problem.dilation, problem.causal]
        scale = problem.scale
    return lists, scale


def _check_forward_mode(arrays: Arrays) -> None:
    """PyTorch would take an operator without a rule for a constant."""
    if forward_ad._current_level < 0:
        return
    if any(t is not None and forward_ad.unpack_dual(t).tangent is not None for t in arrays):
        raise NotImplementedError(
            "na_mlir: neighborhood attention has no forward-mode gradients (jvp, jacfwd); use "
            "backward"
        )


def _attention(
    arrays: Arrays,
    parameters: Tuple[Any, ...],
    mode: str,
    f32_math: str,
    deterministic: bool = False,
) -> Tuple[Tensor, Optional[Tensor]]:
    found = _eager.attention(*arrays, *parameters, mode, f32_math, deterministic)
    if found is not None:
        return found
    check_tensors(arrays)
    _check_forward_mode(arrays)
    arrays = cast_for_autocast(arrays)
    *others, lse = parameters
    lists, scale = _as_schema(arrays, tuple(others))
    if not lse and torch.is_grad_enabled():
        # The backward reads it.
        lse = any(t is not None and t.requires_grad for t in arrays)
    return torch.ops.na_mlir.attention(
        *arrays, *lists, scale, lse, mode, f32_math, deterministic
    )


def _attention_backward(
    arrays: Arrays, parameters: Tuple[Any, ...], mode: str, f32_math: str, deterministic: bool
) -> Tuple[Tensor, ...]:
    """`arrays` as _gradients.ARRAYS; all gradients that there are."""
    check_tensors(arrays, GRADIENT_ARRAYS)
    lists, scale = _as_schema(arrays[:6], parameters)
    return torch.ops.na_mlir.attention_backward(
        *arrays, *lists, scale, arrays[3] is not None, arrays[5] is not None, deterministic, mode,
        f32_math,
    )


# ===-----------------------------------------------------------------------------------------===
# NATTEN's names
# ===-----------------------------------------------------------------------------------------===

_PerAxis = Union[int, Sequence[int]]
_PerAxisBool = Union[bool, Sequence[bool]]

# What chooses among NATTEN's own kernels; there is nothing to choose here.
_TUNING = frozenset(
    (
        "attention_kwargs",
        "backend",
        "backward_kv_splits",
        "backward_kv_tile_shape",
        "backward_q_tile_shape",
        "backward_use_pt_reduction",
        "kernel_schedule",
        "kv_tile_shape",
        "q_tile_shape",
        "run_persistent_kernel",
        "torch_compile",
    )
)


# Where their names differ from those of neighborhood_attention, which errors have.
_NAMES = {"q": "query", "k": "key", "v": "value", "window": "kernel_size", "causal": "is_causal"}
_NAME = re.compile(rf"\b({'|'.join(_NAMES)})\b")


def _renamed(error: Exception) -> Exception:
    return type(error)(_NAME.sub(lambda match: _NAMES[match[0]], str(error)))


def _call(arrays: Arrays, parameters: Tuple[Any, ...]) -> Tuple[Tensor, Optional[Tensor]]:
    """The call of a function or module with NATTEN's names."""
    if torch.compiler.is_compiling():
        return _attention(arrays, parameters, "fused", "ieee")
    try:
        return _attention(arrays, parameters, "fused", "ieee")
    except (TypeError, ValueError) as error:
        if type(error) not in (TypeError, ValueError):
            raise
        raise _renamed(error) from None


def _natten(rank: int) -> Callable[..., Any]:
    """The function of a number of spatial axes."""
    name = f"na{rank}d"

    def function(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        kernel_size: _PerAxis,
        stride: _PerAxis = 1,
        dilation: _PerAxis = 1,
        is_causal: Optional[_PerAxisBool] = False,
        scale: Optional[float] = None,
        additional_keys: Optional[Tensor] = None,
        additional_values: Optional[Tensor] = None,
        return_lse: bool = False,
        **tuning: Any,
    ) -> Any:
        unknown = sorted(set(tuning) - _TUNING)
        if unknown:
            raise TypeError(f"{name}() has no argument {unknown[0]!r}")
        if not isinstance(query, Tensor):
            raise TypeError(f"query: expected a tensor, not {type(query).__name__}")
        if query.dim() != rank + 3:
            raise ValueError(
                f"query: shape {tuple(query.shape)} has {query.dim()} axes, {name} takes "
                f"{rank + 3}: batch, {rank} spatial, heads, channels"
            )
        causal = False if is_causal is None else is_causal
        arrays = (query, key, value, additional_keys, additional_values, None)
        parameters = (kernel_size, stride, dilation, causal, scale, bool(return_lse))
        output, lse = _call(arrays, parameters)
        return (output, lse) if return_lse else output

    axes = ", ".join("XYZ"[:rank])
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{rank}-D neighborhood attention with NATTEN's argument names: query "
        f"`[B, {axes}, heads, dim]`.\n\n"
        "Arguments that tune NATTEN's kernels (`backend`, `q_tile_shape`, ..) are accepted and "
        "change\nnothing. See `na_mlir.neighborhood_attention` for the others."
    )
    return function


na1d = _natten(1)
na2d = _natten(2)
na3d = _natten(3)


# ===-----------------------------------------------------------------------------------------===
# Modules
# ===-----------------------------------------------------------------------------------------===


class _NeighborhoodAttention(nn.Module):
    """Linear projections around neighborhood attention, with NATTEN's arguments and the same
    parameters (`qkv`, `proj`), so that its checkpoints load."""

    rank = 0

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        kernel_size: _PerAxis,
        stride: _PerAxis = 1,
        dilation: _PerAxis = 1,
        is_causal: _PerAxisBool = False,
        qkv_bias: bool = True,
        qk_scale: Optional[float] = None,
        proj_drop: float = 0.0,
    ):
        super().__init__()
        embed_dim = integer("embed_dim", embed_dim, 1)
        num_heads = integer("num_heads", num_heads, 1)
        if embed_dim % num_heads:
            raise ValueError(f"num_heads: {num_heads} does not divide embed_dim, {embed_dim}")
        try:
            check_window(kernel_size, stride, dilation, is_causal, self.rank)
        except (TypeError, ValueError) as error:
            raise _renamed(error) from None
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.head_dim = embed_dim // num_heads
        self.kernel_size, self.stride, self.dilation = kernel_size, stride, dilation
        self.is_causal = is_causal
        self.scale = self.head_dim**-0.5 if qk_scale is None else float(qk_scale)
        self.qkv = nn.Linear(embed_dim, embed_dim * 3, bias=qkv_bias)
        self.proj = nn.Linear(embed_dim, embed_dim)
        self.proj_drop = nn.Dropout(proj_drop)

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() != self.rank + 2:
            raise ValueError(
                f"x: shape {tuple(x.shape)} has {x.dim()} axes, expected {self.rank + 2}: batch, "
                f"{self.rank} spatial, channels"
            )
        # One copy puts q, k and v one after the other.
        qkv = self.qkv(x).unflatten(-1, (3, self.num_heads, self.head_dim))
        q, k, v = qkv.movedim(-3, 0).contiguous().unbind(0)
        parameters = (
            self.kernel_size, self.stride, self.dilation, self.is_causal, self.scale, False,
        )
        output, _ = _call((q, k, v, None, None, None), parameters)
        return self.proj_drop(self.proj(output.flatten(-2)))

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, dilation={self.dilation}, "
            f"is_causal={self.is_causal}, num_heads={self.num_heads}"
        )


class NeighborhoodAttention1D(_NeighborhoodAttention):
    """Neighborhood attention over `[B, X, embed_dim]`."""

    rank = 1


class NeighborhoodAttention2D(_NeighborhoodAttention):
    """Neighborhood attention over `[B, X, Y, embed_dim]`."""

    rank = 2


class NeighborhoodAttention3D(_NeighborhoodAttention):
    """Neighborhood attention over `[B, X, Y, Z, embed_dim]`."""

    rank = 3


def _clear() -> None:
    _eager.clear()
    _gradients.clear()


def _launchers() -> Sequence[Launcher]:
    """All that are kept."""
    return [*_eager.launchers(), *_gradients.values()]
