# ===- photo.py - Checks the arrays and the picture of the first run ---------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Usage: photo.py features|windows|picture WORK [NA_RUN EXAMPLES CONFORMANCE]"""

import subprocess
import sys

import numpy as np

action, work, *rest = sys.argv[1:]


def features():
    x = np.load(f"{work}/arrays/x.npy")
    mean, variance = abs(x.mean(dtype=np.float64)), x.var(dtype=np.float64)
    print(f"{x.shape} {x.dtype} mean {mean:.2f} variance {variance:.2f}")


def windows():
    na_run, examples, conformance = rest
    sys.path[:0] = [examples, conformance]
    import reference
    import show

    names = ["x", "norm1_gain", "norm1_shift", "qkv_weight", "qkv_shift"]
    names.append("position_bias")
    subprocess.run(
        [
            na_run,
            f"{examples}/nat_block.mlir",
            "--entry=attention_weights",
            "--inputs=" + ",".join(f"{n}={work}/arrays/{n}.npy" for n in names),
            f"--outputs=weights={work}/weights.npy",
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    weights = np.load(f"{work}/weights.npy")

    # The weights of make_features.py make queries and keys the normalised
    # features themselves.
    x = np.load(f"{work}/arrays/x.npy").astype(np.float64)[0]
    x -= x.mean(axis=-1, keepdims=True)
    x /= np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5)
    bias = np.load(f"{work}/arrays/position_bias.npy").astype(np.float64)
    for name, query in show.QUERIES.items():
        rows, columns = (
            reference.visible(show.TOKENS, show.WINDOW, 1, 1, False)[at]
            for at in query
        )
        first = show.first_key(query)
        count = errors = 0
        for head in range(2):
            part = slice(32 * head, 32 * head + 32)
            shown = show.query_weights(weights, query, head)
            logits = np.full(shown.shape, -np.inf)
            for row in rows:
                for column in columns:
                    score = x[query][part] @ x[row, column][part] / np.sqrt(32)
                    score += bias[head, row - query[0] + 6, column - query[1] + 6]
                    logits[row - first[0], column - first[1]] = score
            want = np.exp(logits) / np.exp(logits).sum()
            errors = max(errors, reference.relative_errors(shown, want)[0])
            count = np.isfinite(logits).sum()
        print(
            f"{name}: {count} weights, error {errors:.1e}: "
            f"{'pass' if errors < reference.TOLERANCES['f32'][0] else 'FAIL'}"
        )


def picture():
    from PIL import Image

    with Image.open(f"{work}/picture.png") as image:
        colours = image.convert("RGB").getcolors(1 << 24)
        kind = "many" if len(colours) > 1000 else "few"
        print(f"{image.width}x{image.height}, {kind} colours")


{"features": features, "windows": windows, "picture": picture}[action]()
