# ===- common.py - What the PyTorch examples share --------------------------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Neighborhood attention in plain PyTorch, from the definition, and the comparison
of a model with itself on it."""

import argparse
import contextlib
import math
import sys
import time

import torch
import torch.nn.functional as F

import na_mlir.torch


def axis_mask(length, window, dilation, causal):
    """[query, key] of one axis: whether the query sees the key."""
    query = torch.arange(length)[:, None]
    key = torch.arange(length)[None, :]
    # Tokens of other residues are not neighbours.
    residue, position = query % dilation, query // dilation
    tokens = (length - residue + dilation - 1) // dilation
    if causal:
        first = (position - window + 1).clamp(min=0)
        last = position
    else:
        first = (position - window // 2).clamp(min=0).minimum(tokens - window)
        last = first + window - 1
    here = key // dilation
    return (key % dilation == residue) & (here >= first) & (here <= last)


def attention_by_definition(query, key, value, kernel_size, dilation, is_causal, scale=None):
    """Softmax over all keys, with those outside of the window masked: heads-last tensors."""
    shape = query.shape[1:-2]
    rank = len(shape)

    def per_axis(entry):
        return list(entry) if isinstance(entry, (tuple, list)) else [entry] * rank

    masks = [axis_mask(*axis) for axis in zip(shape, per_axis(kernel_size), per_axis(dilation),
                                              per_axis(is_causal))]
    visible = masks[0]
    for mask in masks[1:]:
        visible = torch.kron(visible.int(), mask.int()).bool()
    group = query.shape[-2] // key.shape[-2]
    q = query.flatten(1, -3)
    k, v = (t.flatten(1, -3).repeat_interleave(group, dim=2) for t in (key, value))
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * scale
    weights = scores.masked_fill(~visible.to(q.device), -math.inf).softmax(-1)
    out = torch.einsum("bhqk,bkhd->bqhd", weights, v)
    return out.reshape(*query.shape[:-1], value.shape[-1])


@contextlib.contextmanager
def plain_pytorch():
    """Within, na1d, na2d, na3d and the modules compute by the definition."""

    def attention(arrays, parameters, mode, f32_math):
        window, stride, dilation, causal, scale, lse = parameters
        assert arrays[3:] == (None, None, None) and not lse
        assert all(s == 1 for s in (stride if isinstance(stride, (tuple, list)) else [stride]))
        return attention_by_definition(*arrays[:3], window, dilation, causal, scale), None

    ours = na_mlir.torch._attention
    na_mlir.torch._attention = attention
    try:
        yield
    finally:
        na_mlir.torch._attention = ours


def run(description, make):
    """Parses the command line; `make(device)` gives a model and its input. Exit code 1 if the model
    differs from itself in plain PyTorch."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    model, x = make(options.device)
    model = model.to(options.device).eval()
    with torch.no_grad():
        model(x)  # Compiles.
        seconds, result = timed(model, x)
        with plain_pytorch():
            plain_seconds, expected = timed(model, x)
    error = ((result - expected).double().norm() / expected.double().norm()).item()
    limit = 1e-5
    tokens = "x".join(map(str, x.shape[:-1]))
    print(f"{description}: tokens {tokens}, device {options.device}")
    print(f"  na_mlir        {seconds * 1e3:8.2f} ms")
    print(f"  plain PyTorch  {plain_seconds * 1e3:8.2f} ms")
    print(f"  relative error {error:.1e}, limit {limit:.0e}: {'ok' if error <= limit else 'WRONG'}")
    sys.exit(0 if error <= limit else 1)


def timed(model, x):
    if x.is_cuda:
        torch.cuda.synchronize()
    begin = time.perf_counter()
    result = model(x)
    if x.is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - begin, result


class MLP(torch.nn.Module):
    def __init__(self, dim, ratio=4):
        super().__init__()
        self.up = torch.nn.Linear(dim, ratio * dim)
        self.down = torch.nn.Linear(ratio * dim, dim)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))
