#!/usr/bin/env python3
# ===- video_block.py - A block of a video model ----------------------------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""A block of a small video model: 3-D neighborhood attention over frames of 12x20
tokens, causal in time, beside the same in plain PyTorch."""

import common
import torch
from torch import nn

from na_mlir.torch import NeighborhoodAttention3D


class Block(nn.Module):
    def __init__(self, dim, heads, kernel_size):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = NeighborhoodAttention3D(
            dim, heads, kernel_size, is_causal=(True, False, False)
        )
        self.mlp = common.MLP(dim)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


def make_video(frames, height, width, dim, device):
    """Something that moves: a wave through the frames, and noise."""
    t, y, x = torch.meshgrid(
        *(torch.linspace(0, 1, n) for n in (frames, height, width)), indexing="ij"
    )
    phases = torch.linspace(0, 6, dim)
    wave = torch.sin(12 * (x + y)[..., None] - 9 * t[..., None] + phases)
    return (wave + 0.1 * torch.randn(wave.shape))[None].to(device)


def make(device):
    return Block(dim=64, heads=4, kernel_size=(3, 5, 7)), make_video(8, 12, 20, 64, device)


if __name__ == "__main__":
    common.run("3-D video block", make)
