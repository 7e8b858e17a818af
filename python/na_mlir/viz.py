# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws which keys a query sees, and which key tiles a query tile visits:

    python -m na_mlir.viz --shape=24x24 --window=7x7 --query=2x12 --output=window.png
    python -m na_mlir.viz --shape=256x256 --window=80x80 --dtype=bf16 --head-dim=128 --heads=24 \\
        --what=tiles --target=sm_90a --output=tiles.svg

Windows come from the arithmetic that the compiler uses, tiles from its cost model for the target.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from . import _cli, _library
from ._inspection import explain_problem
from ._problem import Problem
from ._programs import Target

_BACKGROUND, _KEY, _QUERY, _BOTH = range(4)
_COLORS = ["#eeeeee", "#8fb8de", "#d7301f", "#d7301f"]
_KINDS = {"interior": "#2e8b57", "boundary": "#f0a030", "skipped": "#d8d8d8"}
# Slices of the first of three axes that are drawn at most.
MAX_SLICES = 12


def visible_keys(problem: Problem, query: Sequence[int]) -> List[range]:
    """The coordinates of the keys that a query sees, on each axis."""
    if len(query) != len(problem.tokens):
        raise ValueError(
            f"query: {tuple(query)} has {len(query)} entries, but there are "
            f"{len(problem.tokens)} spatial axes"
        )
    struct = problem.struct()
    for axis, (at, length) in enumerate(zip(query, problem.tokens)):
        if not 0 <= at < length:
            raise ValueError(f"query, axis {axis}: {at} is not in 0 to {length - 1}")
    return [_library.keys_of(struct, axis, at) for axis, at in enumerate(query)]


def window_map(problem: Problem, query: Sequence[int]) -> np.ndarray:
    """Over all tokens: 1 for a key that the query sees, 2 for the query, 3 for both, else 0."""
    seen = np.zeros(problem.tokens, np.int8)
    seen[np.ix_(*(list(keys) for keys in visible_keys(problem, query)))] = _KEY
    seen[tuple(query)] += _QUERY
    return seen


def _choose_slices(wanted: Sequence[int], at: int) -> List[int]:
    """Those next to `at` where there are more than can be drawn."""
    wanted = sorted(wanted, key=lambda i: abs(i - at))[:MAX_SLICES]
    return sorted(wanted)


def _show(axes: Any, seen: np.ndarray, title: str) -> None:
    from matplotlib.colors import ListedColormap

    axes.imshow(seen, cmap=ListedColormap(_COLORS), vmin=0, vmax=3, interpolation="nearest",
                aspect="auto" if seen.shape[0] == 1 else "equal")
    axes.set_title(title, fontsize=9)
    axes.tick_params(labelsize=7)
    for axis, length in ((axes.set_xticks, seen.shape[1]), (axes.set_yticks, seen.shape[0])):
        if length <= 64:
            axis(np.arange(length + 1) - 0.5, [], minor=True)
    axes.grid(which="minor", color="white", linewidth=0.4)
    axes.tick_params(which="minor", length=0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.yaxis.get_major_locator().set_params(integer=True)


def draw_window(problem: Problem, query: Sequence[int]) -> Any:
    """A figure of the keys that a query sees."""
    seen = window_map(problem, query)
    count = int((seen & _KEY).astype(bool).sum())
    title = f"query {'x'.join(map(str, query))}: {count} keys"
    if seen.ndim == 1:
        length = problem.tokens[0]
        # All queries as rows, as far as they can be told apart.
        rows = range(length) if length <= 512 else [query[0]]
        figure = _cli.make_figure(6, 6 if len(rows) > 1 else 1.6)
        image = np.stack([window_map(problem, (row,)) for row in rows])
        if len(rows) > 1:
            others = np.arange(length) != query[0]
            image[others] = np.where(image[others] & _KEY, _KEY, _BACKGROUND)
        axes = figure.add_subplot()
        _show(axes, image, title + (", and those of all queries (rows)" if len(rows) > 1 else ""))
        axes.set_xlabel("key", fontsize=8)
        if len(rows) == 1:
            axes.set_yticks([])
        return figure
    if seen.ndim == 2:
        figure = _cli.make_figure(6, 6 * max(0.3, min(2, seen.shape[0] / seen.shape[1])))
        _show(figure.add_subplot(), seen, title)
        return figure
    first = visible_keys(problem, query)[0]
    slices = _choose_slices(sorted({*first, query[0]}), query[0])
    figure, grid = _make_panels(len(slices))
    for axes, at in zip(grid, slices):
        _show(axes, seen[at], f"slice {at}" + (" (query)" if at == query[0] else ""))
    figure.suptitle(title + f" in {len(first)} slices of axis 0", fontsize=10)
    return figure


def _make_panels(count: int) -> Tuple[Any, List[Any]]:
    columns = min(count, 4)
    rows = -(-count // columns)
    figure = _cli.make_figure(2.6 * columns + 0.4, 2.7 * rows + 0.6)
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes in grid[count:]:
        axes.set_axis_off()
    return figure, list(grid[:count])


def tile_kind(coverage: Dict[str, Any], part: int, tile: Sequence[int]) -> str:
    """"interior", "boundary" or "skipped": how a warpgroup (part) computes a key tile."""
    inside = True
    for axis, at in zip(coverage["axes"], tile):
        own = axis["parts"][part]
        if not own["computed"][0] <= at < own["computed"][1]:
            return "skipped"
        inside &= own["inside"][0] <= at < own["inside"][1]
    return "interior" if inside else "boundary"


_LINE = {"size": 1, "query": [0, 1], "span": [0, 1], "tiles": 1, "key_tile": 1}


def _draw_tiles(axes: Any, coverage: Dict[str, Any], prefix: Tuple[int, ...]) -> None:
    from matplotlib.patches import Rectangle

    ofaxes = coverage["axes"]
    columns = ofaxes[-1]
    rows = ofaxes[-2] if len(ofaxes) > 1 else _LINE
    parts = coverage["parts"]
    for row, column in itertools.product(range(rows["tiles"]), range(columns["tiles"])):
        y = rows["span"][0] + row * rows["key_tile"]
        x = columns["span"][0] + column * columns["key_tile"]
        height = min(rows["key_tile"], rows["size"] - y)
        width = min(columns["key_tile"], columns["size"] - x)
        tile = (*prefix, row, column)[-len(ofaxes):]
        for part in range(parts):
            kind = tile_kind(coverage, part, tile)
            axes.add_patch(Rectangle((x + width * part / parts, y), width / parts, height,
                                     facecolor=_KINDS[kind], edgecolor="none"))
        axes.add_patch(Rectangle((x, y), width, height, fill=False, edgecolor="white",
                                 linewidth=0.8))
    for part in range(parts):
        x0, x1 = columns["parts"][part]["query"]
        y0, y1 = rows["parts"][part]["query"] if "parts" in rows else rows["query"]
        axes.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, facecolor="#1f4fa0", alpha=0.4))
        axes.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, edgecolor="#1f4fa0"))
    for axis, limits in ((columns, axes.set_xlim), (rows, axes.set_ylim)):
        low = min(axis["span"][0], axis["query"][0])
        high = max(axis["span"][1], axis["query"][1])
        beside = max(1, (high - low) // 12) if axis is not _LINE else 0
        low, high = max(0, low - beside), min(axis["size"], high + beside)
        limits((low, high) if axis is columns else (high, low))
    if rows is _LINE:
        axes.set_yticks([])
    axes.tick_params(labelsize=7)


def draw_tiles(explanation: Dict[str, Any]) -> Any:
    """A figure of the key tiles that a query tile visits, from what `explain(.., form="json")`
    returns."""
    from matplotlib.patches import Patch

    coverage = explanation["coverage"]
    if coverage is None:
        raise ValueError("no schedule fits the target, so there are no tiles")
    axes = coverage["axes"]
    if len(axes) < 3:
        figure = _cli.make_figure(7, 5.5 if len(axes) > 1 else 2)
        _draw_tiles(figure.add_subplot(), coverage, ())
    else:
        first = axes[0]
        middle = (first["query"][0] - first["span"][0]) // first["key_tile"]
        slices = _choose_slices(range(first["tiles"]), middle)
        figure, grid = _make_panels(len(slices))
        for panel, tile in zip(grid, slices):
            begin = first["span"][0] + tile * first["key_tile"]
            end = min(begin + first["key_tile"], first["size"])
            _draw_tiles(panel, coverage, (tile,))
            panel.set_title(f"keys {begin}..{end} of axis 0", fontsize=8)
    schedule = explanation["selected"]
    boxes = ", ".join(
        f"{name} {'x'.join(map(str, schedule[name + '_tile']))}"
        for name in ("query", "key", "warpgroup") if schedule[name + "_tile"]
    )
    if schedule.get("heads_per_tile", 1) != 1:
        boxes += f", {schedule['heads_per_tile']} heads"
    figure.suptitle(
        f"query tile {'x'.join(map(str, coverage['query_tile']))} of "
        f"{'x'.join(map(str, coverage['query_tiles']))} on {explanation['target']}: {boxes}",
        fontsize=10,
    )
    handles = [Patch(color=color, label=f"{kind}: {coverage[kind]}")
               for kind, color in _KINDS.items() if coverage[kind]]
    handles.append(Patch(color="#1f4fa0", alpha=0.5, label="queries"))
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=8)
    return figure


def explain_tiles(
    problem: Problem, target: str = "cpu", query_tile: Optional[Sequence[int]] = None
) -> Dict[str, Any]:
    """The ranking for "cpu" or a chip, which need not be there."""
    on_gpu = target != "cpu"
    result = explain_problem(
        problem, Target(cuda=on_gpu, chip=target if on_gpu else None), 1, query_tile
    )
    assert isinstance(result, dict)
    return result


def _parse(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m na_mlir.viz", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _cli.add_problem_flags(parser)
    add = parser.add_argument
    add("--what", choices=("window", "tiles"), default="window",
        help="the window of a query, or the key tiles of a query tile (window)")
    add("--query", type=_cli.integers, metavar="XxYxZ", help="the query (one in the middle)")
    add("--target", default="cpu", metavar="NAME",
        help="whose tiles: cpu, or a chip such as sm_90a, which need not be there (cpu)")
    add("--query-tile", type=_cli.integers, metavar="XxYxZ",
        help="index of the query tile (one in the middle)")
    add("--output", default="viz.png", metavar="FILE", help=".png, .svg or .pdf (viz.png)")
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> int:
    _cli.check_writable(_cli.check_picture(options.output))
    problems = _cli.read_problems(options)
    if len(problems) != 1:
        raise _cli.UsageError(f"--problems={options.problems}: {len(problems)} problems, expected 1")
    problem = next(iter(problems.values()))
    if options.what == "window":
        query = options.query or tuple(length // 2 for length in problem.tokens)
        figure = draw_window(problem, query)
    else:
        figure = draw_tiles(explain_tiles(problem, options.target, options.query_tile))
    _cli.save_figure(figure, options.output)
    print(f"wrote {options.output}")
    return 0


def main(arguments: Optional[Sequence[str]] = None) -> int:
    return _cli.run_main("na_mlir.viz", lambda: _run(_parse(arguments)))


if __name__ == "__main__":
    sys.exit(main())
