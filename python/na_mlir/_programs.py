# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled programs, one per problem and target."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

from . import _library
from ._problem import Problem


@dataclass(frozen=True)
class Target:
    """What to compile for. Without a device, a program for CUDA can only be looked at."""

    cuda: bool = False
    device: int = -1
    chip: Optional[str] = None
    mode: str = "fused"
    f32_math: str = "ieee"
    tuning_file: Optional[str] = field(default_factory=lambda: _tuning_file)

    def __post_init__(self) -> None:
        if self.chip is not None and not isinstance(self.chip, str):
            raise TypeError(f"chip: expected a name such as 'sm_90', not {self.chip!r}")
        if self.chip == "":
            raise ValueError("chip: '' is not the name of one, such as 'sm_90'")
        for name, value, known in (
            ("mode", self.mode, _library.MODES),
            ("f32_math", self.f32_math, _library.F32_MATH),
        ):
            if not isinstance(value, str) or value not in known:
                raise ValueError(f"{name}: {value!r} is not one of {', '.join(map(repr, known))}")

    def struct(self) -> _library.OptionsStruct:
        struct = _library.OptionsStruct()
        _library.library().naOptionsInit(struct)
        struct.target = int(self.cuda)
        struct.mode = _library.MODES[self.mode]
        struct.f32_math = _library.F32_MATH[self.f32_math]
        struct.device = self.device
        struct.chip = None if self.chip is None else self.chip.encode()
        struct.tuning_file = None if self.tuning_file is None else os.fsencode(self.tuning_file)
        return struct


_tuning_file: Optional[str] = None

_Key = Tuple[Problem, Target]
_programs: Dict[_Key, _library.Program] = {}
_building: Dict[_Key, threading.Lock] = {}
_lock = threading.Lock()


def get_program(problem: Problem, target: Target) -> _library.Program:
    """The program of a problem, compiled on first use. Threads that ask for the same one wait
    for one of them; different ones are compiled at the same time."""
    key = (problem, target)
    program = _programs.get(key)
    if program is not None:
        return program
    with _lock:
        mine = _building.setdefault(key, threading.Lock())
    try:
        with mine:
            program = _programs.get(key)
            if program is None:
                program = _library.Program(
                    problem.struct(), target.struct(), f" [{problem}]", problem.gradients
                )
                _programs[key] = program
    finally:
        with _lock:
            _building.pop(key, None)
    return program


def _renew_locks() -> None:
    """In the child of a fork: a thread of the parent may have held them."""
    global _lock
    _lock = threading.Lock()
    _building.clear()


os.register_at_fork(after_in_child=_renew_locks)


def is_compiled(problem: Problem, target: Target) -> bool:
    return (problem, target) in _programs


def clear() -> None:
    with _lock:
        _programs.clear()


def size() -> int:
    return len(_programs)


def set_tuning_file(path: Optional[str]) -> None:
    global _tuning_file
    _tuning_file = path


# ===-----------------------------------------------------------------------------------------===
# What calls on any kind of array share
# ===-----------------------------------------------------------------------------------------===

# There is no program where there is nothing to compute.
Plan = Tuple[Problem, Optional[_library.Program]]


_CONSTANTS = (int, float, type(None), np.generic)


def is_constant(parameters: Tuple[Any, ...]) -> bool:
    """Whether a call with these parameters may be known by them: a tensor, say, is equal to itself
    after its number has changed."""
    return all(
        isinstance(entry, _CONSTANTS)
        for value in parameters
        for entry in (value if type(value) is tuple else (value,))
    )


def make_plan(problem: Problem, target: Target) -> Plan:
    return problem, get_program(problem, target) if problem.batch else None


def list_arguments(
    problem: Problem,
    arrays: Sequence[Any],
    usable: Callable[[Any], Any],
    output: Any,
    lse: Any,
) -> List[Any]:
    """The arguments of a launch in its order, `usable` ones in place of arrays of the caller."""
    q, k, v, additional_keys, additional_values, bias = arrays
    used = [usable(q), usable(k), usable(v)]
    if bias is not None:
        used.append(usable(bias))
    if problem.additional:
        used += [usable(additional_keys), usable(additional_values)]
    used.append(output)
    if problem.lse:
        used.append(lse)
    return used
