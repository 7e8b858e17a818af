#!/usr/bin/env python3
# ===- language_model_layer.py - A layer with a sliding window --------------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""A layer of a language model with a causal sliding window, as in Mistral: rotary
positions, 8 query heads on 2 key heads, a gated MLP; beside the same in plain PyTorch."""

import common
import torch
import torch.nn.functional as F
from torch import nn

import na_mlir.torch


def rotate(x):
    """Rotary positions of `[B, X, heads, dim]`."""
    half = x.shape[-1] // 2
    frequencies = 10000.0 ** -(torch.arange(half, device=x.device) / half)
    angles = (torch.arange(x.shape[1], device=x.device)[:, None] * frequencies)[:, None]
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angles.cos() - b * angles.sin(),
                      b * angles.cos() + a * angles.sin()], -1)


class Layer(nn.Module):
    def __init__(self, dim=256, heads=8, kv_heads=2, window=128, hidden=512):
        super().__init__()
        self.heads, self.kv_heads, self.window = heads, kv_heads, window
        self.head_dim = dim // heads
        self.norm1, self.norm2 = nn.RMSNorm(dim), nn.RMSNorm(dim)
        self.q = nn.Linear(dim, dim, bias=False)
        self.kv = nn.Linear(dim, 2 * kv_heads * self.head_dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)
        self.gate, self.up = (nn.Linear(dim, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, dim, bias=False)

    def attention(self, x):
        q = self.q(x).unflatten(-1, (self.heads, self.head_dim))
        kv = self.kv(x).unflatten(-1, (2, self.kv_heads, self.head_dim))
        k, v = kv.unbind(-3)
        # At the start of the text the window is as long as the text.
        o = na_mlir.torch.na1d(rotate(q), rotate(k), v, min(self.window, x.shape[1]),
                               is_causal=True)
        return self.out(o.flatten(-2))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


def make(device):
    return Layer(), torch.randn(2, 512, 256, device=device)


if __name__ == "__main__":
    common.run("1-D causal sliding window layer of a language model", make)
