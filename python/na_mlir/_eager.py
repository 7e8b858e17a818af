# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls that nothing traces, past PyTorch's dispatcher.

A call of an operator that is written in Python costs more than all else that a call does: for each
layer of the dispatcher its arguments are converted and back. Where nobody but autograd has to know
of a call, it goes straight to the program instead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch import Tensor
from torch.autograd import forward_ad

from ._gradients import find_results, gradient_problem, list_inputs
from ._programs import is_constant
from ._tensors import TORCH_DTYPES, Arrays, Launcher, cast_for_autocast, describe, make, target_of

# Subclasses have a say in what is done with them.
_PLAIN = frozenset((Tensor, torch.nn.Parameter))

_is_compiling = torch.compiler.is_compiling
_dispatch_modes = torch._C._len_torch_dispatch_stack
_function_modes = torch._C._len_torch_function_stack
_transforms_active = torch._C._are_functorch_transforms_active
_tracing_state = torch._C._get_tracing_state
_profiler_enabled = torch.autograd._profiler_enabled
_autocast_enabled = torch._C._is_any_autocast_enabled
_grad_enabled = torch.is_grad_enabled


def _is_watched() -> bool:
    """Whether a mode, a transform, a tracer or the profiler wants to see operators."""
    return (
        _dispatch_modes() > 0
        or _function_modes() > 0
        or _transforms_active()
        or _tracing_state() is not None
        or _profiler_enabled()
        or forward_ad._current_level >= 0
    )


class Call:
    """What calls with the same shapes, types, device and parameters have in common."""

    def __init__(self, arrays: Arrays, parameters: Tuple[Any, ...], mode: str, f32_math: str):
        q = arrays[0]
        assert q is not None
        self.problem = make(arrays, (*parameters, False))
        self.target = target_of(q, mode, f32_math)
        self.dtype, self.device = q.dtype, q.device
        self.lse_dtype = TORCH_DTYPES[self.problem.lse_dtype]
        self._specs = [describe(t) for t in arrays]
        # Without and with a log-sum-exp.
        self._launchers: List[Optional[Launcher]] = [None, None]
        self._gradients: Dict[Tuple[bool, ...], Launcher] = {}

    def parameters(self) -> Tuple[Any, ...]:
        problem = self.problem
        return problem.window, problem.stride, problem.dilation, problem.causal, problem.scale

    def run(self, arrays: Arrays, lse: bool) -> Tuple[Tensor, Optional[Tensor]]:
        launcher = self._launchers[lse]
        if launcher is None:
            problem = replace(self.problem, lse=lse)
            launcher = self._launchers[lse] = Launcher(problem, self.target)
        problem = self.problem
        output = torch.empty(problem.output_shape, dtype=self.dtype, device=self.device)
        statistics = None
        outputs = [output]
        if lse:
            statistics = torch.empty(problem.lse_shape, dtype=self.lse_dtype, device=self.device)
            outputs.append(statistics)
        if problem.batch:
            inputs: List[Any] = list(arrays[:3])
            if problem.bias is not None:
                inputs.append(arrays[5])
            if problem.additional:
                inputs += arrays[3:5]
            launcher(inputs, outputs)
        return output, statistics

    def run_backward(
        self, arrays: Sequence[Any], additional: bool, bias: bool, deterministic: bool
    ) -> Tuple[Optional[Tensor], ...]:
        """`arrays` as _gradients.ARRAYS, of shapes that autograd has checked."""
        with_lse = arrays[9] is not None
        key = (with_lse, additional, bias, deterministic)
        launcher = self._gradients.get(key)
        if launcher is None:
            specs = [*self._specs, *map(describe, arrays[6:])]
            problem = gradient_problem(specs, self.parameters(), additional, bias, deterministic)
            launcher = self._gradients[key] = Launcher(problem, self.target)
        return launch_backward(launcher, arrays, additional, bias)


def launch_backward(
    launcher: Launcher, arrays: Sequence[Any], additional: bool, bias: bool
) -> Tuple[Optional[Tensor], ...]:
    results = new_gradients(arrays, additional, bias)
    if launcher.program is None:
        return tuple(t if t is None else t.zero_() for t in results)
    launcher(list_inputs(launcher.problem, arrays), find_results(launcher.problem, results))
    return results


def new_gradients(
    arrays: Sequence[Any], additional: bool, bias: bool
) -> Tuple[Optional[Tensor], ...]:
    """Row-major, as q, k, v, additional keys and values, bias; None for those not asked for."""
    asked = (True, True, True, additional, additional, bias)
    return tuple(
        torch.empty_like(t, memory_format=torch.contiguous_format)
        if wanted and t is not None
        else None
        for t, wanted in zip(arrays, asked)
    )


_calls: Dict[Any, Call] = {}


def clear() -> None:
    _calls.clear()


def launchers() -> List[Launcher]:
    """All that there are."""
    return [
        launcher for call in _calls.values()
        for launcher in (*call._launchers, *call._gradients.values()) if launcher is not None
    ]


def _kind(value: Any) -> Any:
    return tuple(map(type, value)) if type(value) is tuple else type(value)


def find_call(
    q: Tensor, k: Tensor, v: Tensor, others: Tuple[Optional[Tensor], ...],
    parameters: Tuple[Any, ...], mode: str, f32_math: str,
) -> Call:
    """The one of the arguments, checked where it is new."""
    key: Any = (
        q.shape, q.dtype, q.device, q.layout,
        k.shape, k.dtype, k.device, k.layout,
        v.shape, v.dtype, v.device, v.layout,
        None if others[0] is None and others[1] is None and others[2] is None
        else tuple(t if t is None else (t.shape, t.dtype, t.device, t.layout) for t in others),
        # Types too: 3.0 equals 3 and True equals 1, but only one of each is legal.
        parameters, tuple(map(_kind, parameters)), mode, f32_math,
    )
    call = _calls.get(key)
    if call is None:
        call = Call((q, k, v, *others), parameters, mode, f32_math)
        if is_constant(parameters):
            _calls[key] = call
    return call


# The operator of the gradients, for what is traced; set by .torch.
backward_operator: Callable[..., Tuple[Tensor, ...]]


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, additional_keys, additional_values, bias, call, deterministic):
        arrays = (q, k, v, additional_keys, additional_values, bias)
        output, lse = call.run(arrays, True)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*arrays, output, lse)
        ctx.call, ctx.deterministic = call, deterministic
        return output, lse

    @staticmethod
    def backward(ctx, output_grad, lse_grad):
        *arrays, output, lse = ctx.saved_tensors
        call, needed = ctx.call, ctx.needs_input_grad
        if output_grad is None:
            output_grad = torch.zeros_like(output)
        arrays += [output, lse, output_grad, lse_grad]
        additional, bias = needed[3] or needed[4], needed[5]
        # Gradients of gradients: the operator says that there are none.
        if (
            _grad_enabled()
            or _is_compiling()
            or _is_watched()
            or type(output_grad) is not Tensor
            or type(lse_grad) not in (Tensor, type(None))
        ):
            gradients: Tuple[Optional[Tensor], ...] = backward_operator(
                *arrays, *map(list, call.parameters()[:4]), call.problem.scale, additional, bias,
                ctx.deterministic, call.target.mode, call.target.f32_math,
            )
        else:
            deterministic = ctx.deterministic or torch.are_deterministic_algorithms_enabled()
            gradients = call.run_backward(arrays, additional, bias, deterministic)
        return (*(g if need else None for g, need in zip(gradients, needed)), None, None)


def attention(
    q: Any, k: Any, v: Any, additional_keys: Any, additional_values: Any, bias: Any, window: Any,
    stride: Any, dilation: Any, causal: Any, scale: Any, lse: bool, mode: str, f32_math: str,
    deterministic: bool,
) -> Optional[Tuple[Tensor, Optional[Tensor]]]:
    """Output and, where it is asked for, log-sum-exp; None where the operator has to be called, or
    an argument is not what this function knows."""
    if _is_compiling() or type(q) not in _PLAIN or _is_watched():
        return None
    if type(k) not in _PLAIN or type(v) not in _PLAIN:
        return None
    others = (additional_keys, additional_values, bias)
    for t in others:
        if t is not None and type(t) not in _PLAIN:
            return None
    if _autocast_enabled():
        q, k, v, *rest = cast_for_autocast((q, k, v, *others))
        others = tuple(rest)
    if q.is_meta:
        return None
    # A list cannot be a key.
    parameters = (
        tuple(window) if type(window) is list else window,
        tuple(stride) if type(stride) is list else stride,
        tuple(dilation) if type(dilation) is list else dilation,
        tuple(causal) if type(causal) is list else causal,
        scale,
    )
    try:
        call = find_call(q, k, v, others, parameters, mode, f32_math)
    except (TypeError, RuntimeError):
        # Of what is wrong the checks of the other way tell.
        return None
    if _grad_enabled() and (
        q.requires_grad
        or k.requires_grad
        or v.requires_grad
        or any(t is not None and t.requires_grad for t in others)
    ):
        output, statistics = _Attention.apply(q, k, v, *others, call, deterministic)
        return output, statistics if lse else None
    return call.run((q, k, v, *others), lse)
