# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times problems: python -m na_mlir.bench --shape=56x56 --window=7x7 --heads=4

A table on standard output, and on request JSON and a picture. Times are of whole calls: on a GPU by
events, with the caches flushed before each run; on the CPU by a clock around the call.

    python -m na_mlir.bench --shape=4096 --window=256 --causal=t --heads=8 --modes=fused,unfused
    python -m na_mlir.bench --suite=benchmarks/suite.json --problems='nat-*' --device=cuda \\
        --json=results.json --plot=results.png
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, Dict, List, Optional, Sequence

from . import _cli, _library, benchmark, clear_cache, set_num_threads, version
from ._inspection import Benchmark


def _default_device() -> str:
    try:
        import torch
    except ImportError:
        return "numpy"
    return "cuda" if torch.cuda.is_available() else "cpu"


def _parse(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m na_mlir.bench", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _cli.add_problem_flags(parser)
    add = parser.add_argument
    add("--modes", default="fused", metavar="LIST", help="fused, unfused, naive (fused)")
    add("--device", metavar="NAME",
        help="cuda, cuda:1, cpu, or numpy for the CPU without PyTorch (the first that is there)")
    add("--runs", type=int, default=20, metavar="N", help="timed calls (20)")
    add("--warm", action="store_true", help="leave the caches of a GPU as they are")
    add("--tf32", action="store_true", help="round factors of f32 products on a GPU")
    add("--threads", type=int, metavar="N", help="threads of the CPU (one per CPU)")
    add("--json", metavar="FILE", help="write the results; - for standard output")
    add("--plot", metavar="FILE", help="write a picture, .png or .svg")
    options = parser.parse_args(arguments)
    options.modes = options.modes.split(",")
    for mode in options.modes:
        if mode not in _library.MODES:
            parser.error(f"--modes: {mode!r} is not one of {', '.join(_library.MODES)}")
    if options.runs < 1:
        parser.error(f"--runs={options.runs} is less than 1")
    return options


def measure(
    name: str, problem: Any, mode: str, device: str, runs: int, cold: bool, f32_math: str
) -> Dict[str, Any]:
    """One line of the table; what cannot be timed has an entry `error`."""
    result: Dict[str, Any] = {"name": name, "mode": mode, "device": device}
    try:
        arrays = _cli.make_inputs(problem, device)
        found: Benchmark = benchmark(
            **arrays, window=problem.window, stride=problem.stride, dilation=problem.dilation,
            causal=problem.causal, scale=problem.scale, mode=mode, f32_math=f32_math, runs=runs,
            cold=cold,
        )
        result.update(found.as_dict())
    except (_library.CompileError, _library.DeviceError, MemoryError, RuntimeError) as error:
        result["error"] = str(error).splitlines()[0]
    return result


def format_table(results: Sequence[Dict[str, Any]]) -> str:
    header = ("problem", "mode", "median", "fastest", "GFLOP/s", "model", "first call")
    rows: List[Sequence[str]] = [header]
    for r in results:
        if "error" in r:
            rows.append((r["name"], r["mode"], "failed: " + r["error"][:100]))
            continue
        predicted = "" if r["predicted"] is None else f"{r['predicted'] * 1e3:.4g} ms"
        rows.append((
            r["name"], r["mode"], f"{r['median'] * 1e3:.4g} ms", f"{r['fastest'] * 1e3:.4g} ms",
            f"{r['flop_per_s'] * 1e-9:,.1f}", predicted, f"{r['first_call']:.2f} s",
        ))
    whole = [row for row in rows if len(row) == len(header)]
    widths = [max(len(row[i]) for row in whole) for i in range(len(header))]
    for row in rows:
        widths[0] = max(widths[0], len(row[0]))
    lines = []
    for row in rows:
        cells = [cell.ljust(w) if i < 2 else cell.rjust(w) if len(row) > 3 else cell
                 for i, (cell, w) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def draw(results: Sequence[Dict[str, Any]]) -> Any:
    """Bars of the medians, in milliseconds."""
    timed = [r for r in results if "error" not in r]
    names = list(dict.fromkeys(r["name"] for r in timed))
    modes = list(dict.fromkeys(r["mode"] for r in timed))
    figure = _cli.make_figure(max(4.5, 1.5 + 0.8 * len(names)), 4)
    axes = figure.add_subplot()
    width = 0.8 / max(len(modes), 1)
    for i, mode in enumerate(modes):
        mine = {r["name"]: r["median"] * 1e3 for r in timed if r["mode"] == mode}
        places = [names.index(name) + (i - (len(modes) - 1) / 2) * width for name in mine]
        bars = axes.bar(places, list(mine.values()), width, label=mode)
        axes.bar_label(bars, fmt="%.3g", fontsize=7)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.margins(y=0.15)
    axes.set_ylabel("ms, median")
    axes.set_xticks(range(len(names)), names, rotation=45 if len(names) > 3 else 0, ha="right"
                    if len(names) > 3 else "center")
    if timed:
        axes.set_title(f"neighborhood attention on {timed[0]['target']}", fontsize=10)
        axes.legend(fontsize=8)
    return figure


def _run(options: argparse.Namespace) -> int:
    problems = _cli.read_problems(options)
    if options.json and options.json != "-":
        _cli.check_writable(options.json)
    if options.plot:
        _cli.check_writable(_cli.check_picture(options.plot))
        _cli.make_figure(1, 1)  # An error before the measurements.
    if options.threads is not None:
        set_num_threads(options.threads)
    device = options.device or _default_device()
    results = []
    todo = [(name, mode) for name in problems for mode in options.modes]
    for i, (name, mode) in enumerate(todo):
        if sys.stderr.isatty():
            print(f"\r\033[K{i + 1}/{len(todo)} {name} {mode}", end="", file=sys.stderr)
        results.append(measure(
            name, problems[name], mode, device, options.runs, not options.warm,
            "tf32" if options.tf32 else "ieee",
        ))
        # Suites have more programs than memory should hold.
        clear_cache()
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    if options.json != "-":
        print(format_table(results))
    if options.json:
        text = json.dumps({"version": version(), "results": results}, indent=1)
        if options.json == "-":
            print(text)
        else:
            with open(options.json, "w", encoding="utf-8") as file:
                file.write(text + "\n")
    if options.plot:
        _cli.save_figure(draw(results), options.plot)
    return 1 if any("error" in r for r in results) else 0


def main(arguments: Optional[Sequence[str]] = None) -> int:
    return _cli.run_main("na_mlir.bench", lambda: _run(_parse(arguments)))


if __name__ == "__main__":
    sys.exit(main())
