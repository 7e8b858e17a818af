# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients: what is asked for, and the function for NumPy arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _attention, _library, _numpy, _problem
from ._problem import Problem, Spec, make_problem
from ._programs import Target, get_program

# The arrays of a call, in the order in which they are passed around.
ARRAYS = (*_problem.ARRAYS, "output", "lse", "output_grad", "lse_grad")


class Gradients(NamedTuple):
    """Gradients of the arguments of `neighborhood_attention`; None for those not given."""

    q: Any
    k: Any
    v: Any
    additional_keys: Any
    additional_values: Any
    bias: Any


def gradient_problem(
    specs: Sequence[Optional[Spec]],
    parameters: Tuple[Any, ...],
    additional: bool,
    bias: bool,
    deterministic: bool,
) -> Problem:
    """From the specs of ARRAYS and (window, stride, dilation, causal, scale); the flags say whether
    gradients of the additional keys and values, and of the bias, are wanted."""
    problem = make_problem(*specs[:3], *parameters, *specs[3:6], lse=True)
    outputs = (problem.output_shape, problem.dtype)
    statistics = (problem.lse_shape, problem.lse_dtype)
    for name, spec, (shape, dtype) in zip(
        ARRAYS[6:], specs[6:], (outputs, statistics, outputs, statistics)
    ):
        if spec is None:
            continue
        if spec.dtype != dtype:
            raise TypeError(f"{name}: dtype {spec.dtype} is not {dtype}")
        if spec.shape != shape:
            of = "log-sum-exp" if "lse" in name else "output"
            raise ValueError(f"{name}: shape {spec.shape} is not that of the {of}, {shape}")
    if bias and problem.bias is None:
        raise ValueError("bias: None, but its gradient is asked for")
    flags = 0
    if specs[9] is not None:
        flags |= _library.GRADIENT_LSE
    if bias:
        flags |= _library.GRADIENT_BIAS
    if additional and problem.additional:
        flags |= _library.GRADIENT_ADDITIONAL
    if deterministic:
        flags |= _library.GRADIENT_DETERMINISTIC
    return replace(problem, gradients=flags)


def list_inputs(problem: Problem, arrays: Sequence[Any]) -> List[Any]:
    """The inputs of a launch in its order, of the arrays in theirs."""
    q, k, v, additional_keys, additional_values, bias, output, lse, output_grad, lse_grad = arrays
    inputs = [q, k, v, output, lse, output_grad]
    if lse_grad is not None:
        inputs.append(lse_grad)
    if bias is not None:
        inputs.append(bias)
    if problem.additional:
        inputs += [additional_keys, additional_values]
    return inputs


def find_results(problem: Problem, gradients: Sequence[Any]) -> List[Any]:
    """The outputs of a launch in its order, of all gradients in the order of those of an attention."""
    flags = problem.gradients or 0
    outputs = list(gradients[:3])
    if flags & _library.GRADIENT_BIAS:
        outputs.append(gradients[5])
    if flags & _library.GRADIENT_ADDITIONAL:
        outputs += gradients[3:5]
    return outputs


def neighborhood_attention_backward(
    q: Any,
    k: Any,
    v: Any,
    output: Any,
    lse: Any,
    output_grad: Any,
    window: _attention.PerAxis,
    stride: _attention.PerAxis = 1,
    dilation: _attention.PerAxis = 1,
    causal: _attention.PerAxisBool = False,
    scale: Optional[float] = None,
    additional_keys: Any = None,
    additional_values: Any = None,
    bias: Any = None,
    lse_grad: Any = None,
    deterministic: bool = False,
    *,
    mode: str = "fused",
    f32_math: str = "ieee",
) -> Gradients:
    """The gradients of `neighborhood_attention`, from those of its output and its log-sum-exp.

    In PyTorch autograd calls this; it is for NumPy, and for other arrays through DLPack.

        o, lse = na_mlir.neighborhood_attention(q, k, v, 7, return_lse=True)
        dq, dk, dv, *_ = na_mlir.neighborhood_attention_backward(q, k, v, o, lse, do, 7)

    Args:
        q, k, v, window, stride, dilation, causal, scale, additional_keys, additional_values, bias:
            the arguments of `neighborhood_attention`.
        output: what it returned, `[B, X.., H, Dv]`.
        lse: the log-sum-exp that it returned with `return_lse`, `[B, X.., H]`.
        output_grad: the gradient of the output, of its shape and type.
        lse_grad: the gradient of the log-sum-exp, of its shape and type; None: 0.
        deterministic: the same gradients bit for bit in every run.
        mode: how they are computed: "fused" (memory linear in tokens), "unfused" (the weights in
            memory) or "naive" (the definition).
        f32_math: as for `neighborhood_attention`.

    Returns:
        The gradients of q, k, v, additional_keys, additional_values and bias, each row-major and of
        the type of its array, or None where that is None.

    Raises:
        As `neighborhood_attention`.
    """
    arrays, tensors = _attention.import_arrays(
        (
            q, k, v, additional_keys, additional_values, bias, output, lse, output_grad, lse_grad,
        ),
        ARRAYS,
    )
    for name, array in zip(ARRAYS[6:9], arrays[6:9]):
        if array is None:
            raise TypeError(f"{name}: expected an array, not None")
    parameters = (window, stride, dilation, causal, scale)
    if tensors:
        from . import torch as binding

        results: Sequence[Any] = binding._attention_backward(
            arrays, parameters, mode, f32_math, bool(deterministic)
        )
    else:
        results = _backward_of_numpy(arrays, parameters, mode, f32_math, bool(deterministic))
    return Gradients(*(g if a is not None else None for g, a in zip(results, arrays)))


def _backward_of_numpy(
    arrays: Tuple[Optional[np.ndarray], ...],
    parameters: Tuple[Any, ...],
    mode: str,
    f32_math: str,
    deterministic: bool,
) -> List[Optional[np.ndarray]]:
    specs = [a if a is None else _numpy.describe(n, a) for n, a in zip(ARRAYS, arrays)]
    target = Target(mode=mode, f32_math=f32_math)
    problem = gradient_problem(
        specs, parameters, arrays[3] is not None, arrays[5] is not None, deterministic
    )
    # The bias has no batch axis: its gradient is 0 where there is nothing to compute.
    new = np.empty if problem.batch else np.zeros
    results = [
        a if a is None else new(a.shape, a.dtype.newbyteorder("=")) for a in arrays[:6]
    ]
    if problem.batch:
        # Copies live until the launch is over.
        used = [_numpy.usable(array) for array in list_inputs(problem, arrays)]
        used += find_results(problem, results)
        get_program(problem, target).launch([_numpy._address(array) for array in used])
    return results
