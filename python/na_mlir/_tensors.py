# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of PyTorch as arguments, and launches on them."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

import torch
from torch import Tensor

from . import _library
from ._problem import ARRAYS, Problem, Spec, problem_of
from ._programs import Target, get_program, is_compiled

DTYPES = {
    torch.float64: "float64",
    torch.float32: "float32",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
}
TORCH_DTYPES = {name: dtype for dtype, name in DTYPES.items()}

Arrays = Tuple[Optional[Tensor], ...]


def describe(tensor: Optional[Tensor]) -> Optional[Spec]:
    if tensor is None:
        return None
    dtype = DTYPES.get(tensor.dtype, str(tensor.dtype).replace("torch.", ""))
    return Spec(tuple(tensor.shape), dtype)


def check_tensors(arrays: Arrays, names: Sequence[str] = ARRAYS) -> None:
    q = arrays[0]
    for index, (name, tensor) in enumerate(zip(names, arrays)):
        if tensor is None and index >= 3:
            continue
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name}: expected a tensor, not {type(tensor).__name__}")
        for is_so, kind in ((tensor.is_nested, "nested"), (tensor.is_quantized, "quantized")):
            if is_so:
                raise TypeError(f"{name}: {kind} tensors are not supported")
        if tensor.layout != torch.strided:
            raise TypeError(f"{name}: layout {tensor.layout} is not strided")
        if tensor.device != q.device:
            raise ValueError(f"{name}: is on {tensor.device}, but q is on {q.device}")
    if q.device.type not in ("cpu", "cuda", "meta"):
        raise ValueError(f"q: is on {q.device}, not on the CPU or a CUDA device")


def make(arrays: Arrays, parameters: Tuple[Any, ...]) -> Problem:
    check_tensors(arrays)
    return problem_of([describe(tensor) for tensor in arrays], parameters)


def target_of(q: Tensor, mode: str, f32_math: str) -> Target:
    if q.device.type == "cuda":
        return Target(cuda=True, device=q.device.index or 0, mode=mode, f32_math=f32_math)
    return Target(mode=mode, f32_math=f32_math)


def usable(tensor: Tensor, alignment: Optional[int] = None) -> Tensor:
    """The tensor itself where compiled code can read it, else a copy."""
    if tensor._is_zerotensor():
        return tensor.new_zeros(tensor.shape)
    if tensor.is_neg():
        tensor = tensor.resolve_neg()
    if not tensor.is_contiguous():
        return tensor.contiguous()
    if alignment is None:
        # Kernels load 16 bytes at a time.
        alignment = 16 if tensor.is_cuda else tensor.element_size()
    if tensor.data_ptr() % alignment:
        return tensor.clone(memory_format=torch.contiguous_format)
    return tensor


class Launcher:
    """The program of a problem on a device, ready to be called on tensors of it."""

    __slots__ = ("problem", "program", "_launch", "_workspace", "_device", "_alignment")

    def __init__(self, problem: Problem, target: Target):
        self.problem = problem
        # There is nothing to compute in an empty batch.
        self.program: Optional[_library.Program] = None
        if problem.batch:
            if target.cuda and torch.cuda.is_current_stream_capturing():
                _check_capture(problem, target)
            self.program = get_program(problem, target)
            self._launch = self.program.launch
            self._workspace = self.program.workspace
        self._device = target.device if target.cuda else -1
        # On the CPU of the widest element, so that most tensors need no closer look.
        self._alignment = 16 if target.cuda else 8 if problem.dtype == "float64" else 4

    def __call__(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
        """Enqueues the program on the current stream of its device; outputs are row-major."""
        addresses: List[int] = []
        # Copies live until the launch is enqueued; their memory is the stream's.
        copies = []
        alignment, device = self._alignment, self._device
        for tensor in inputs:
            address = tensor.data_ptr()
            if (
                address % alignment
                or not address
                or not tensor.is_contiguous()
                or tensor.is_neg()
            ):
                tensor = usable(tensor, alignment if device >= 0 else None)
                copies.append(tensor)
                address = tensor.data_ptr()
            addresses.append(address)
        for tensor in outputs:
            addresses.append(tensor.data_ptr())
        if device < 0:
            self._launch(addresses)
        elif self._workspace:
            workspace = allocate_workspace(self._workspace, outputs[0].device)
            self.program.launch_in(  # type: ignore[union-attr]
                workspace.data_ptr(), addresses, current_stream(device)
            )
        else:
            self._launch(addresses, current_stream(device))


def _check_capture(problem: Problem, target: Target) -> None:
    """Loading kernels under capture would end in an error of the driver that says nothing."""
    if not is_compiled(problem, target):
        raise _library.DeviceError(
            "na_mlir: a CUDA graph is being captured, but the kernels of this problem are not "
            f"loaded yet; call once with the same problem before [{problem}]"
        )


def allocate_workspace(size: int, device: torch.device) -> Tensor:
    """From PyTorch's allocator: it belongs to the stream, also where a graph is captured."""
    return torch.empty(size, dtype=torch.uint8, device=device)


def _current_stream(device: int) -> int:
    stream: int = torch.cuda.current_stream(device).cuda_stream
    return stream


# The handle alone, where PyTorch has a function for it: it takes a tenth of the time.
current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", _current_stream)


def cast_for_autocast(arrays: Arrays) -> Arrays:
    """Under autocast: all but the bias in its type, as for PyTorch's own attention."""
    kind = arrays[0].device.type
    if kind not in ("cpu", "cuda") or not torch.is_autocast_enabled(kind):
        return arrays
    dtype = torch.get_autocast_dtype(kind)
    cast = tuple(
        t.to(dtype) if t is not None and t.dtype in (torch.float32, torch.float16, torch.bfloat16)
        else t
        for t in arrays[:5]
    )
    bias = arrays[5]
    if bias is not None and bias.dtype not in (torch.float32, dtype):
        bias = bias.to(dtype)
    return (*cast, bias)
