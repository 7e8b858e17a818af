# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call asks of the driver, on the stand-in of the unit tests (unittests/Runtime/FakeCuda.h),
whose kernels do nothing: tensors are of the CPU, and nothing is said about results."""

import ctypes
import os
import pathlib

import pytest
import torch
from tensors import inputs, leaves_of

import na_mlir
from na_mlir import _eager, _tensors
from na_mlir._programs import Target

STANDIN = pathlib.Path(os.environ.get("NA_MLIR_LIBRARY", "")).parent / "libNAFakeCuda.so"
if not STANDIN.is_file():
    pytest.skip("there is no libNAFakeCuda.so beside NA_MLIR_LIBRARY", allow_module_level=True)
if torch.cuda.is_available():
    pytest.skip("there is a driver", allow_module_level=True)

WAITS = ("cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize")
LOADS = ("cuModuleLoadDataEx", "cuModuleGetFunction", "cuFuncSetAttribute")
MEMORY = ("cuMemAlloc_v2", "cuMemAllocAsync", "cuMemFreeAsync", "cuMemFree_v2")


def aligned(size, device):
    memory = torch.empty(size + 256, dtype=torch.uint8, device=device)
    return memory[-memory.data_ptr() % 256:][:size]


class Driver:
    def __init__(self, monkeypatch):
        self.library = ctypes.CDLL(str(STANDIN))
        self.library.fakeStream.restype = ctypes.c_void_p
        self.device, self.stream, self.capturing = 0, 0x1230, False
        monkeypatch.setenv("NA_CUDA_DRIVER", str(STANDIN))
        monkeypatch.setattr(
            _eager, "target_of",
            lambda q, mode, f32_math: Target(
                cuda=True, device=self.device, mode=mode, f32_math=f32_math
            ),
        )
        monkeypatch.setattr(_tensors, "current_stream", self.current_stream)
        monkeypatch.setattr(_tensors, "allocate_workspace", aligned)
        monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: self.capturing)

    def current_stream(self, device):
        assert device == self.device
        return self.stream

    def calls(self, *functions):
        return sum(self.library.fakeCalls(name.encode()) for name in functions)


@pytest.fixture
def driver(monkeypatch, fresh_cache):
    yield Driver(monkeypatch)
    na_mlir.clear_cache()


def step(leaves, **keywords):
    output = na_mlir.neighborhood_attention(*leaves, 5, **keywords)
    torch.autograd.grad(output, leaves, torch.ones_like(output))


@pytest.mark.parametrize("mode", ["fused", "unfused", "naive"])
def test_a_repeated_step_only_launches(driver, mode):
    """On the current stream; its memory is PyTorch's, nothing is loaded and nobody waits."""
    leaves = leaves_of("cpu", (24,), dim=16)
    step(leaves, mode=mode)
    driver.library.fakeClearCalls()
    driver.stream = 0x4560
    step(leaves, mode=mode)
    assert driver.calls("cuLaunchKernel") >= 2 and driver.library.fakeStream() == 0x4560
    assert driver.calls(*WAITS, *LOADS, *MEMORY) == 0
    assert driver.library.fakeContextDepth() == 0
    driver.library.fakeClearCalls()
    driver.capturing = True
    step(leaves, mode=mode)
    assert driver.calls("cuLaunchKernel") >= 2 and driver.calls(*WAITS, *LOADS, *MEMORY) == 0


def test_each_device_has_its_program(driver):
    q, k, v = inputs("cpu", (24,), dim=16)
    na_mlir.neighborhood_attention(q, k, v, 5)
    before = driver.library.fakeRetained(1)
    driver.device = 1
    na_mlir.clear_cache()
    na_mlir.neighborhood_attention(q, k, v, 5)
    assert driver.library.fakeRetained(1) == max(before, 1)
    assert driver.library.fakeContextDepth() == 0


def test_what_kernels_cannot_read_is_copied(driver):
    q, k, v = inputs("cpu", (24,), dim=16)
    moved = torch.cat([q.new_zeros(1), q.flatten()])[1:].view(q.shape)
    assert moved.data_ptr() % 16
    strided = k.transpose(1, 2).contiguous().transpose(1, 2)
    # The run time refuses addresses that a kernel cannot use.
    na_mlir.neighborhood_attention(moved, strided, v[:, :1].expand(v.shape), 5)


def test_capture_of_what_is_not_loaded(driver):
    leaves = leaves_of("cpu", (24,), dim=16)
    driver.capturing = True
    message = r"call once with the same problem before \[neighborhood attention, tokens 24"
    with pytest.raises(na_mlir.DeviceError, match=message):
        na_mlir.neighborhood_attention(*leaves, 5)
    assert na_mlir.cache_size() == 0
    driver.capturing = False
    output = na_mlir.neighborhood_attention(*leaves, 5)
    driver.capturing = True
    with pytest.raises(na_mlir.DeviceError, match=r"before \[gradients of"):
        output.sum().backward()
    driver.capturing = False
    step(leaves)
    driver.capturing = True
    step(leaves)


def test_a_failed_launch_is_an_error_and_the_next_call_works(driver):
    q, k, v = inputs("cpu", (24,), dim=16)
    na_mlir.neighborhood_attention(q, k, v, 5)
    driver.library.fakeFail(b"cuLaunchKernel", 999)
    with pytest.raises(na_mlir.DeviceError, match="cuLaunchKernel.*tokens 24"):
        na_mlir.neighborhood_attention(q, k, v, 5)
    na_mlir.neighborhood_attention(q, k, v, 5)
