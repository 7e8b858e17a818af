#!/usr/bin/env python3
# ===- nat_block.py - Two blocks of NAT on a photograph ---------------------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Two blocks of a neighborhood attention transformer on a photograph of 224x224
pixels, the second one dilated as in DiNAT, beside the same in plain PyTorch."""

import pathlib

import common
import numpy as np
import torch
from torch import nn

from na_mlir.torch import NeighborhoodAttention2D

PHOTO = pathlib.Path(__file__).parents[1] / "data" / "chelsea.npy"


class Block(nn.Module):
    def __init__(self, dim, heads, kernel_size, dilation):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = NeighborhoodAttention2D(dim, heads, kernel_size, dilation=dilation)
        self.mlp = common.MLP(dim)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Network(nn.Module):
    """Patches of 4x4 pixels, then the blocks: [B, H, W, 3] to [B, H/4, W/4, dim]."""

    def __init__(self, dim=64, heads=2, kernel_size=7):
        super().__init__()
        self.patches = nn.Conv2d(3, dim, 4, stride=4)
        self.blocks = nn.Sequential(Block(dim, heads, kernel_size, dilation=1),
                                    Block(dim, heads, kernel_size, dilation=8))

    def forward(self, image):
        return self.blocks(self.patches(image.movedim(-1, 1)).movedim(1, -1))


def make(device):
    image = torch.from_numpy(np.load(PHOTO)).float().to(device) / 127.5 - 1
    return Network(), image[None]


if __name__ == "__main__":
    common.run("NAT and DiNAT block on a photograph", make)
