#!/usr/bin/env python3
# ===- make_features.py - Makes the arguments of nat_block.mlir ---------------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Makes features of a photograph and weights for examples/nat_block.mlir.

usage: make_features.py PHOTO.npy OUT_FOLDER

PHOTO.npy holds 224x224x3 bytes. The folder gets one f32 array per argument of
the program; standard output gets the value of na-run's --inputs.

A token is a patch of 8x8 pixels, 4 apart: 56x56 tokens. Its 64 features are
coefficients of the discrete cosine transform of the patch, low frequencies
first: 32 of the brightness, 16 of each of the two colour differences. Features
0, 32 and 48 are the means over the patch.

The weights are made, not trained. Queries and keys are the normalised features
themselves, so a query gives most weight to the tokens that look like it: head 0
compares brightness and texture, head 1 compares colours. Values and projection
are the features as well, the MLP is random.
"""

import os
import sys

import numpy as np

PATCH, STEP, TOKENS, FEATURES, HEADS, HIDDEN = 8, 4, 56, 64, 2, 192


def cosine_transform(size):
    """The orthonormal DCT-II; row k holds frequency k."""
    frequency = np.arange(size)[:, None]
    angle = np.pi * (2 * np.arange(size) + 1) * frequency / (2 * size)
    matrix = np.cos(angle) * np.sqrt(2 / size)
    matrix[0] /= np.sqrt(2)
    return matrix


def patch_features(channel, count):
    """The `count` lowest frequencies of the patches of one channel."""
    margin = (PATCH - STEP) // 2
    padded = np.pad(channel, margin, mode="edge")
    patches = np.lib.stride_tricks.sliding_window_view(padded, (PATCH, PATCH))
    matrix = cosine_transform(PATCH)
    spectrum = matrix @ patches[::STEP, ::STEP] @ matrix.T
    order = sorted(np.ndindex(PATCH, PATCH), key=lambda at: (sum(at), at))
    rows, columns = zip(*order[:count])
    return spectrum[..., rows, columns]


def make_features(photo):
    red, green, blue = np.moveaxis(photo / 127.5 - 1, -1, 0)
    brightness = 0.299 * red + 0.587 * green + 0.114 * blue
    features = np.concatenate(
        [
            patch_features(brightness, 32),
            patch_features(0.564 * (blue - brightness), 16),
            patch_features(0.713 * (red - brightness), 16),
        ],
        axis=-1,
    )
    centred = features - features.mean(axis=(0, 1))
    return centred[None] / centred.std()


def make_weights():
    rng = np.random.default_rng(0)
    # The program divides by sqrt(inputs).
    identity = np.sqrt(FEATURES) * np.eye(FEATURES)
    # A near key is preferred to one as similar that is farther away.
    offset = np.arange(-6, 7)
    distance2 = offset[:, None] ** 2 + offset[None, :] ** 2
    return {
        "norm1_gain": np.ones(FEATURES),
        "norm1_shift": np.zeros(FEATURES),
        "qkv_weight": np.concatenate([1.0 * identity, identity, identity], axis=1),
        "qkv_shift": np.zeros(3 * FEATURES),
        "position_bias": np.tile(-0.05 * distance2, (HEADS, 1, 1)),
        "projection_weight": identity,
        "projection_shift": np.zeros(FEATURES),
        "norm2_gain": np.ones(FEATURES),
        "norm2_shift": np.zeros(FEATURES),
        "mlp1_weight": rng.standard_normal((FEATURES, HIDDEN)),
        "mlp1_shift": np.zeros(HIDDEN),
        "mlp2_weight": 0.5 * rng.standard_normal((HIDDEN, FEATURES)),
        "mlp2_shift": np.zeros(FEATURES),
    }


def main(photo_path, folder):
    try:
        photo = np.load(photo_path)
    except (OSError, ValueError) as error:
        sys.exit(f"error: {photo_path} cannot be read: {error}")
    if photo.shape != (STEP * TOKENS, STEP * TOKENS, 3) or photo.dtype != np.uint8:
        sys.exit(f"error: {photo_path} holds no 224x224x3 array of bytes")
    os.makedirs(folder, exist_ok=True)
    arrays = {"x": make_features(photo), **make_weights()}
    for name, array in arrays.items():
        np.save(f"{folder}/{name}.npy", array.astype(np.float32))
    print(",".join(f"{name}={folder}/{name}.npy" for name in arrays))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
