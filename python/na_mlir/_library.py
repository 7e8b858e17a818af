# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C API (include/na-c/Runtime.h) through ctypes."""

from __future__ import annotations

import ctypes
import os
import threading
from ctypes import POINTER, byref, c_char_p, c_double, c_int32, c_int64, c_size_t
from ctypes import c_void_p
from typing import Dict, Optional, Sequence

TYPES = {"float64": 1, "float32": 2, "float16": 3, "bfloat16": 4}
MODES = {"fused": 0, "unfused": 1, "naive": 2}
F32_MATH = {"ieee": 0, "tf32": 1}
# Flags of naCompileGradients.
GRADIENT_LSE, GRADIENT_BIAS, GRADIENT_ADDITIONAL, GRADIENT_DETERMINISTIC = 1, 2, 4, 8
TEXTS = {
    "source": 0,
    "schedule": 1,
    "lowered": 2,
    "ptx": 3,
    "remarks": 4,
    "chip": 5,
    "times": 6,
}
FORMS = {"json": 0, "text": 1, "svg": 2}


class CompileError(RuntimeError):
    """The compiler refused a problem, or cannot do it on the target."""


class DeviceError(RuntimeError):
    """There is no GPU or driver, or the driver refused a call."""


_ERRORS = {
    1: ValueError,
    2: CompileError,
    3: CompileError,
    4: DeviceError,
    5: DeviceError,
    6: MemoryError,
}


class _Status(ctypes.Structure):
    _fields_ = [("code", c_int32), ("message", c_void_p)]


class ProblemStruct(ctypes.Structure):
    """NaProblem."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("rank", c_int32),
        ("type", c_int32),
        ("bias_type", c_int32),
        ("lse", c_int32),
        ("has_scale", c_int32),
        ("causal", c_int32 * 3),
        ("batch", c_int64),
        ("tokens", c_int64 * 3),
        ("heads", c_int64),
        ("kv_heads", c_int64),
        ("head_dim", c_int64),
        ("value_dim", c_int64),
        ("window", c_int64 * 3),
        ("stride", c_int64 * 3),
        ("dilation", c_int64 * 3),
        ("additional", c_int64),
        ("scale", c_double),
    ]


class OptionsStruct(ctypes.Structure):
    """NaOptions."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("target", c_int32),
        ("mode", c_int32),
        ("f32_math", c_int32),
        ("device", c_int32),
        ("chip", c_char_p),
        ("query_tile", c_int64 * 3),
        ("key_tile", c_int64 * 3),
        ("tuning_file", c_char_p),
    ]


def _load() -> ctypes.CDLL:
    path = os.environ.get("NA_MLIR_LIBRARY") or os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "libNAMLIRC.so"
    )
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"na_mlir cannot load its compiler: {error}. Install the wheel (pip install .), or "
            "set NA_MLIR_LIBRARY to the libNAMLIRC.so of a build"
        ) from error
    signatures = {
        "naStatusRelease": (None, [_Status]),
        "naVersion": (c_char_p, []),
        "naProblemInit": (None, [POINTER(ProblemStruct)]),
        "naOptionsInit": (None, [POINTER(OptionsStruct)]),
        "naCompileProblem": (
            _Status,
            [POINTER(ProblemStruct), POINTER(OptionsStruct), POINTER(c_void_p)],
        ),
        "naCompileGradients": (
            _Status,
            [POINTER(ProblemStruct), c_int32, POINTER(OptionsStruct), POINTER(c_void_p)],
        ),
        "naProgramRelease": (None, [c_void_p]),
        "naProgramGetText": (_Status, [c_void_p, c_int32, POINTER(c_char_p)]),
        "naLaunchAddresses": (_Status, [c_void_p, c_void_p, c_int32, c_void_p]),
        "naProgramGetWorkspaceSize": (c_int64, [c_void_p]),
        "naLaunchInWorkspace": (
            _Status,
            [c_void_p, c_void_p, c_int32, c_void_p, c_int64, c_void_p],
        ),
        "naProblemGetKeys": (
            _Status,
            [POINTER(ProblemStruct), c_int32, c_int64] + 3 * [POINTER(c_int64)],
        ),
        "naExplainProblem": (
            _Status,
            [
                POINTER(ProblemStruct),
                POINTER(OptionsStruct),
                c_int32,
                POINTER(c_int64),
                c_int32,
                POINTER(c_void_p),
            ],
        ),
        "naTextRelease": (None, [c_void_p]),
        "naSetNumThreads": (None, [ctypes.c_int]),
        "naGetNumThreads": (ctypes.c_int, []),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


_library: Optional[ctypes.CDLL] = None
_library_lock = threading.Lock()


def _renew_lock() -> None:
    """In the child of a fork: a thread of the parent may have held it."""
    global _library_lock
    _library_lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


def library() -> ctypes.CDLL:
    """The library, loaded on first use."""
    global _library
    if _library is None:
        with _library_lock:
            if _library is None:
                _library = _load()
    return _library


def _check(status: _Status, context: str) -> None:
    if status.code == 0:
        return
    message = ctypes.string_at(status.message).decode(errors="replace")
    library().naStatusRelease(status)
    raise _ERRORS.get(status.code, RuntimeError)(message + context)


class Program:
    """A compiled program, of gradients where there are flags for them. Any number of threads may
    launch it."""

    def __init__(
        self,
        problem: ProblemStruct,
        options: OptionsStruct,
        context: str,
        gradients: Optional[int] = None,
    ):
        self._handle = c_void_p()
        self._context = context
        lib = library()
        self._launch = lib.naLaunchAddresses
        self._release = lib.naProgramRelease
        self._texts: Dict[str, str] = {}
        handle = byref(self._handle)
        if gradients is None:
            status = lib.naCompileProblem(byref(problem), byref(options), handle)
        else:
            status = lib.naCompileGradients(byref(problem), gradients, byref(options), handle)
        _check(status, context)
        self._launch_in_workspace = lib.naLaunchInWorkspace
        # Bytes of the device that a launch takes beside the arguments.
        self.workspace: int = lib.naProgramGetWorkspaceSize(self._handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._release(self._handle)

    def launch(self, addresses: Sequence[int], stream: Optional[int] = None) -> None:
        """Runs the program on memory whose layout the caller has checked."""
        count = len(addresses)
        status = self._launch(self._handle, (c_void_p * count)(*addresses), count, stream)
        if status.code:
            _check(status, self._context)

    def launch_in(self, workspace: int, addresses: Sequence[int], stream: Optional[int]) -> None:
        """The same in memory at the address `workspace`, of so many bytes."""
        count = len(addresses)
        status = self._launch_in_workspace(
            self._handle, (c_void_p * count)(*addresses), count, workspace, self.workspace, stream
        )
        if status.code:
            _check(status, self._context)

    def text(self, kind: str) -> str:
        if kind not in self._texts:
            text = c_char_p()
            _check(
                library().naProgramGetText(self._handle, TEXTS[kind], byref(text)),
                self._context,
            )
            self._texts[kind] = (text.value or b"").decode()
        return self._texts[kind]


def keys_of(problem: ProblemStruct, axis: int, query: int) -> range:
    """The coordinates of the keys that a query sees on an axis."""
    first, count, step = c_int64(), c_int64(), c_int64()
    _check(
        library().naProblemGetKeys(
            byref(problem), axis, query, byref(first), byref(count), byref(step)
        ),
        "",
    )
    return range(first.value, first.value + count.value * step.value, step.value)


def explain_problem(
    problem: ProblemStruct,
    options: OptionsStruct,
    count: int,
    query_tile: Optional[Sequence[int]],
    form: str,
    context: str,
) -> str:
    """Why a schedule is selected: `form` "json", "text" or "svg"."""
    tile = None if query_tile is None else (c_int64 * len(query_tile))(*query_tile)
    text = c_void_p()
    lib = library()
    _check(
        lib.naExplainProblem(
            byref(problem), byref(options), count, tile, FORMS[form], byref(text)
        ),
        context,
    )
    try:
        return ctypes.string_at(text.value).decode() if text.value else ""
    finally:
        lib.naTextRelease(text)
