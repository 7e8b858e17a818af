#!/usr/bin/env python3
# ===- show.py - Draws what a NAT block does to a photograph ------------------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Draws the photograph, the windows of two queries with their attention weights,
and the output of examples/nat_block.mlir.

usage: show.py PHOTO.npy X.npy WEIGHTS.npy Y.npy OUT.png [--text]

X is the input of the block, WEIGHTS the result of its function
attention_weights, Y its output (see make_features.py for the features). Without
matplotlib, or with --text, the weights and the output are printed instead.
"""

import sys

import numpy as np

TOKENS, STEP, WINDOW = 56, 4, 7
# Rows and columns of tokens: inside the picture, and at its upper right border,
# where the window is shifted inward.
QUERIES = {"A": (22, 17), "B": (1, 53)}
COLOURS = {"A": "#00e5ff", "B": "#ffe600"}
HEADS = ["head 0 (texture)", "head 1 (colour)"]
# The features that are the means of a patch.
MEANS = [0, 32, 48]


def first_key(query):
    """The first token of a window of 7 centred at the query, shifted inward at a
    border."""
    return tuple(min(max(q - WINDOW // 2, 0), TOKENS - WINDOW) for q in query)


def query_weights(weights, query, head):
    """The weights of the 49 keys, as a picture of 7x7."""
    return weights[0, query[0], query[1], head].reshape(WINDOW, WINDOW)


def as_picture(features):
    """The means of brightness and colours, as red, green and blue from 0 to 1."""
    means = features[0][..., MEANS]
    brightness, blue, red = np.moveaxis(means - means.mean(axis=(0, 1)), -1, 0)
    # Four standard deviations of brightness span the range.
    blue, red = brightness + blue / 0.564, brightness + red / 0.713
    green = (brightness - 0.299 * red - 0.114 * blue) / 0.587
    picture = np.stack([red, green, blue], axis=-1) / (4 * brightness.std()) + 0.5
    return np.clip(picture, 0, 1)


def draw(photo, x, weights, y, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.patches import Rectangle

    figure = plt.figure(figsize=(15, 5.4), layout="constrained")
    grid = figure.add_gridspec(2, 5, width_ratios=[2.15, 1, 1, 1, 1])

    def panel(where, title):
        axes = figure.add_subplot(where)
        axes.set_title(title, fontsize=10)
        axes.set_xticks([])
        axes.set_yticks([])
        return axes

    def box(axes, first, size, colour, width=2.0):
        axes.add_patch(
            Rectangle(
                (first[1] * STEP - 0.5, first[0] * STEP - 0.5),
                size * STEP,
                size * STEP,
                fill=False,
                edgecolor=colour,
                linewidth=width,
            )
        )

    axes = panel(grid[:, 0], "two of 56x56 query tokens, their 7x7 windows")
    axes.imshow(photo)
    for name, query in QUERIES.items():
        box(axes, first_key(query), WINDOW, COLOURS[name])
        box(axes, query, 1, COLOURS[name], 1.5)
        axes.text(
            (first_key(query)[1]) * STEP,
            (first_key(query)[0] + WINDOW) * STEP + 9,
            name,
            color=COLOURS[name],
            fontsize=14,
            fontweight="bold",
        )
    for row, (name, query) in enumerate(QUERIES.items()):
        top, left = (STEP * k for k in first_key(query))
        side = WINDOW * STEP
        place = (left - 0.5, left + side - 0.5, top + side - 0.5, top - 0.5)
        axes = panel(grid[row, 1], f"window of {name}")
        axes.imshow(photo[top : top + side, left : left + side], extent=place)
        box(axes, query, 1, COLOURS[name])
        for head, what in enumerate(HEADS):
            picture = query_weights(weights, query, head)
            axes = panel(
                grid[row, 2 + head], f"{what}: 0 to {100 * picture.max():.0f} %"
            )
            axes.imshow(picture, cmap="magma", vmin=0, extent=place)
            box(axes, query, 1, COLOURS[name])
    axes = panel(grid[0, 4], "input, means of the patches")
    axes.imshow(as_picture(x))
    axes = panel(grid[1, 4], "output of the block, likewise")
    axes.imshow(as_picture(y))
    figure.savefig(path, dpi=100)


def print_text(weights, y):
    for name, query in QUERIES.items():
        print(f"query {name}, token {query}: weights of the keys in percent")
        print(f"window from token {first_key(query)}; {HEADS[0]} | {HEADS[1]}")
        heads = [query_weights(weights, query, head) for head in range(2)]
        for rows in zip(*heads):
            print(" | ".join("".join(f"{100 * w:4.0f}" for w in r) for r in rows))
    print("output of the block, brightness")
    brightness = as_picture(y).mean(axis=-1)
    # Characters are about twice as tall as wide.
    for row in brightness.reshape(TOKENS // 2, 2, TOKENS).mean(axis=1):
        print("".join(" .:-=+*#%@"[min(int(10 * value), 9)] for value in row))


def main(arguments):
    text = "--text" in arguments
    paths = [a for a in arguments if a != "--text"]
    if len(paths) != 5:
        sys.exit(__doc__)
    photo, x, weights, y = (np.load(path) for path in paths[:4])
    if not text:
        try:
            draw(photo, x, weights, y, paths[4])
            print(f"picture: {paths[4]}")
            return
        except ImportError as error:
            print(f"no picture ({error}); as text:")
    print_text(weights, y)


if __name__ == "__main__":
    main(sys.argv[1:])
