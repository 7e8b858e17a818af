# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy arrays as arguments."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import numpy as np

from ._problem import ARRAYS, Problem, Spec, problem_of
from ._programs import Plan, Target, is_constant, list_arguments, make_plan

# By what is hashable about a call, so that a repeated call is not checked again.
_plans: Dict[Any, Plan] = {}


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
    arrays: Tuple[Any, ...],
    parameters: Tuple[Any, ...],
    mode: str,
    f32_math: str,
) -> Tuple[np.ndarray, Optional[np.ndarray]]:
    """Output and log-sum-exp; `arrays` are q, k, v, additional keys and values, bias."""
    q, k, v, *others = arrays
    key: Any = (
        q.shape, q.dtype, type(q), k.shape, k.dtype, type(k), v.shape, v.dtype, type(v),
        *[a if a is None else (a.shape, a.dtype, type(a)) for a in others],
        # Types too: 3.0 equals 3 and True equals 1, but only one of each is legal.
        parameters,
        *[tuple(map(type, p)) if type(p) is tuple else type(p) for p in parameters],
        mode,
        f32_math,
    )
    try:
        plan = _plans.get(key)
    except TypeError:  # A list, say, cannot be a key.
        key, plan = None, None
    if plan is None:
        target = Target(mode=mode, f32_math=f32_math)
        plan = make_plan(make(arrays, parameters), target)
        if key is not None and is_constant(parameters):
            _plans[key] = plan
    problem, program = plan
    output = np.empty(problem.output_shape, q.dtype if q.dtype.isnative else problem.dtype)
    lse = np.empty(problem.lse_shape, problem.lse_dtype) if problem.lse else None
    if program is None:
        return output, lse
    # Copies live until the launch is over.
    used = list_arguments(problem, arrays, usable, output, lse)
    program.launch([array.__array_interface__["data"][0] for array in used])
    return output, lse


def make(arrays: Tuple[Optional[np.ndarray], ...], parameters: Tuple[Any, ...]) -> Problem:
    specs = [a if a is None else describe(name, a) for name, a in zip(ARRAYS, arrays)]
    return problem_of(specs, parameters)


def clear() -> None:
    _plans.clear()
