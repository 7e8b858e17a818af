#!/usr/bin/env python3
# ===- make_photo.py - Makes data/chelsea.npy ---------------------------------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Cuts a square out of a photograph and scales it to 224x224 pixels.

usage: make_photo.py PHOTO.png LEFT TOP SIZE OUT.npy

data/README.md says which photograph data/chelsea.npy was made of, and how.
"""

import sys

import numpy as np
from PIL import Image

PIXELS = 224


def main(photo, left, top, size, out):
    left, top, size = int(left), int(top), int(size)
    with Image.open(photo) as image:
        square = image.convert("RGB").crop((left, top, left + size, top + size))
    small = square.resize((PIXELS, PIXELS), Image.Resampling.LANCZOS)
    np.save(out, np.asarray(small, np.uint8))


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
