# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Neighborhood attention, compiled by MLIR, on NumPy arrays and PyTorch tensors.

    import numpy as np, na_mlir
    q = k = v = np.random.rand(1, 56, 56, 4, 32).astype(np.float32)
    o = na_mlir.neighborhood_attention(q, k, v, window=(7, 7))

Each problem (shapes, types, window, ..) is compiled on first use, in a fraction of a second, and
kept for the life of the process. `na_mlir.torch` has the PyTorch operator, functions with NATTEN's
argument names, and modules. `python -m na_mlir.bench` times problems, `python -m na_mlir.viz` draws
windows and tiles.
"""

from __future__ import annotations

from ._attention import (
    cache_size,
    clear_cache,
    get_num_threads,
    neighborhood_attention,
    set_num_threads,
    set_tuning_file,
    version,
)
from ._gradients import Gradients, neighborhood_attention_backward
from ._inspection import Benchmark, benchmark, explain, mlir, ptx
from ._library import CompileError, DeviceError

__all__ = [
    "Benchmark",
    "CompileError",
    "DeviceError",
    "Gradients",
    "benchmark",
    "cache_size",
    "clear_cache",
    "explain",
    "get_num_threads",
    "mlir",
    "neighborhood_attention",
    "neighborhood_attention_backward",
    "ptx",
    "set_num_threads",
    "set_tuning_file",
    "version",
]

__version__ = "0.1.0"
