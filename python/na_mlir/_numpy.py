# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy arrays as arguments."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from ._library import Program
from ._problem import Problem, Spec, make_problem
from ._programs import Target, get_program

# By what is hashable about a call, so that a repeated call is not checked again. There is no
# program where there is nothing to compute.
_plans: Dict[Any, Tuple[Problem, Optional[Program]]] = {}


def describe(name: str, array: np.ndarray) -> Spec:
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{name}: masked arrays are not supported")
    return Spec(array.shape, array.dtype.name)


def usable(array: np.ndarray) -> np.ndarray:
    """The array itself where compiled code can read it, else a copy: row-major, aligned, in the
    byte order of the host."""
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    flags = array.flags
    if flags.c_contiguous and flags.aligned:
        return array
    return np.array(array, order="C", copy=True, subok=False)


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def attention(
    arrays: Tuple[Optional[np.ndarray], ...],
    parameters: Tuple[Any, ...],
    mode: str,
    f32_math: str,
) -> Tuple[np.ndarray, Optional[np.ndarray]]:
    """Output and log-sum-exp; `arrays` are q, k, v, additional keys and values, bias."""
    # Types too: 3.0 equals 3 and True equals 1, but only one of each is legal.
    key: Any = (
        tuple(a if a is None else (a.shape, a.dtype, type(a)) for a in arrays),
        parameters,
        tuple(tuple(map(type, p)) if type(p) is tuple else type(p) for p in parameters),
        mode,
        f32_math,
    )
    try:
        plan = _plans.get(key)
    except TypeError:  # A list, say, cannot be a key.
        key, plan = None, None
    if plan is None:
        target = Target(mode=mode, f32_math=f32_math)
        problem = make(arrays, parameters)
        plan = problem, get_program(problem, target) if problem.batch else None
        if key is not None:
            _plans[key] = plan
    problem, program = plan
    q, k, v, additional_keys, additional_values, bias = arrays
    output = np.empty(problem.output_shape, q.dtype.newbyteorder("="))
    lse = np.empty(problem.lse_shape, problem.lse_dtype) if problem.lse else None
    if program is None:
        return output, lse
    # Copies live until the launch is over.
    used: List[np.ndarray] = [usable(q), usable(k), usable(v)]
    if bias is not None:
        used.append(usable(bias))
    if problem.additional:
        used += [usable(additional_keys), usable(additional_values)]
    used.append(output)
    if lse is not None:
        used.append(lse)
    program.launch([_address(array) for array in used])
    return output, lse


def make(arrays: Tuple[Optional[np.ndarray], ...], parameters: Tuple[Any, ...]) -> Problem:
    names = ("q", "k", "v", "additional_keys", "additional_values", "bias")
    specs = [a if a is None else describe(name, a) for name, a in zip(names, arrays)]
    window, stride, dilation, causal, scale, lse = parameters
    return make_problem(
        *specs[:3], window, stride, dilation, causal, scale, specs[3], specs[4], specs[5], lse
    )


def clear() -> None:
    _plans.clear()
