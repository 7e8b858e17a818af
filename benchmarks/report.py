# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables and pictures of the GPU benchmark's results."""

import math

REGIMES = ("cool", "sustained")
# What the summary compares: the fastest of each group.
GROUPS = {
    "fused": ("na-fused",),
    "fused sm_90": ("na-fused-sm90",),
    "fused tf32": ("na-fused-tf32",),
    "unfused": ("na-unfused",),
    "unfused tf32": ("na-unfused-tf32",),
    "naive": ("na-naive", "naive-cuda"),
    "flex": ("flex-rows-128", "flex-rows-64", "flex-tiles-128",
             "flex-tiles-64"),
    "hopper": ("hopper-cuda",),
    "dense": ("dense-cudnn", "dense-flash", "dense-efficient"),
}

OURS = ("fused", "fused sm_90", "fused tf32", "unfused", "unfused tf32")


def print_rates(rates):
    for dtype, rate in rates["matmul"].items():
        print(f"matmul {dtype}: " + ", ".join(
            f"{rate[r] / 1e12:.1f} TFLOP/s {r}" for r in REGIMES))
    print("copy: " + ", ".join(
        f"{rates['copy'][r] / 1e12:.2f} TB/s {r}" for r in REGIMES), flush=True)


def floor_ms(result, regime):
    """The least time by the matmul and copy rates of the same run."""
    rates, dtype = result["rates"], result["problem"]["dtype"]
    return 1e3 * max(result["useful_flop"] / rates["matmul"][dtype][regime],
                     result["least_bytes"] / rates["copy"][regime])


def rate_of(result, entry, regime):
    """Useful TFLOP/s."""
    return result["useful_flop"] / entry[regime]["median_ms"] / 1e9


def print_problem(key, result):
    problem = result["problem"]
    box = "x".join(map(str, problem["shape"]))
    window = "x".join(map(str, problem["window"]))
    print(f"{key}: {box} window {window}, {problem['dtype']}, "
          f"{result['useful_flop'] / 1e9:.1f} GFLOP, floor "
          + ", ".join(f"{floor_ms(result, r):.3f} ms {r}" for r in REGIMES))
    print(f"  {'':16} {'cool ms':>9} {'TFLOP/s':>8} {'floor':>6} {'sust. ms':>9} "
          f"{'TFLOP/s':>8} {'floor':>6} {'runs':>5} {'error':>8}")
    for name, entry in result["entries"].items():
        if "skipped" in entry:
            print(f"  {name:16} left out: {entry['skipped']}")
            continue
        line = f"  {name:16}"
        runs = 0
        for regime in REGIMES:
            if regime not in entry:
                line += f" {'':>9} {'':>8} {'':>6}"
                continue
            median = entry[regime]["median_ms"]
            runs = max(runs, entry[regime]["runs"])
            # Dense operators compute more than the problem needs.
            line += (f" {median:9.3f} {rate_of(result, entry, regime):8.1f} "
                     f"{100 * floor_ms(result, regime) / median:5.0f}%")
        print(f"{line} {runs:5} {entry.get('error', math.nan):8.1e}")
    print(flush=True)


def fastest(result, group, regime):
    """(ms, name) of the fastest of a group; None if none was timed."""
    times = [(entry[regime]["median_ms"], name)
             for name, entry in result["entries"].items()
             if name in GROUPS[group] and "skipped" not in entry
             and regime in entry]
    return min(times, default=None)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def summarize(results):
    """Per problem and regime the fastest of each group, and geometric means of
    how much faster than the naive base our paths are."""
    table, speedups = {}, {}
    for key, result in results["problems"].items():
        problem = result["problem"]
        kind = "f32" if problem["dtype"] == "f32" else "half"
        for regime in REGIMES:
            best = {group: fastest(result, group, regime) for group in GROUPS}
            if not any(best.values()):
                continue
            table.setdefault(key, {})[regime] = {
                group: dict(ms=b[0], name=b[1]) for group, b in best.items()
                if b}
            for group in OURS:
                if best[group] and best["naive"]:
                    where = f"{len(problem['shape'])}-D {kind} {regime}"
                    speedups.setdefault(where, {}).setdefault(
                        group, []).append(best["naive"][0] / best[group][0])
    means = {where: {group: dict(geometric_mean=geometric_mean(v),
                                 least=min(v), most=max(v), problems=len(v))
                     for group, v in groups.items()}
             for where, groups in sorted(speedups.items())}
    return dict(problems=table, over_naive=means)


def print_summary(summary):
    print("Milliseconds, the fastest of each group; 'x': time over na-fused")
    print(f"{'problem':24} {'':9} {'fused':>9} {'unfused':>9} {'x':>6} "
          f"{'naive':>9} {'x':>6} {'flex':>9} {'x':>6} {'dense':>9} {'x':>6}")
    for key, regimes in summary["problems"].items():
        for regime, best in regimes.items():
            line = f"{key:24} {regime:9}"
            own = best.get("fused", {}).get("ms")
            line += f" {own:9.3f}" if own else f" {'-':>9}"
            for group in ("unfused", "naive", "flex", "dense"):
                ms = best.get(group, {}).get("ms")
                line += f" {ms:9.3f}" if ms else f" {'-':>9}"
                line += f" {ms / own:6.2f}" if ms and own else f" {'-':>6}"
            print(line)
    if summary["over_naive"]:
        print("Faster than the naive base (the faster of na-naive and "
              "naive-cuda), geometric mean")
    for where, groups in summary["over_naive"].items():
        print(f"  {where:20} " + "   ".join(
            f"{group} {g['geometric_mean']:.2f}x ({g['least']:.2f}x to "
            f"{g['most']:.2f}x, {g['problems']} problems)"
            for group, g in groups.items()))


def draw(results, path, regime="cool"):
    """Useful TFLOP/s of the fastest of each group, as a PNG."""
    try:
        import matplotlib
    except ImportError:
        print(f"cannot draw {path}: matplotlib is not installed; store the "
              "results by --output and draw elsewhere by --report and --plot")
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    summary = results.get("summary") or summarize(results)
    keys = [k for k in results["problems"]
            if regime in summary["problems"].get(k, {})]
    if not keys:
        print(f"cannot draw {path}: no {regime} results")
        return
    colors = {"naive": "#9e9e9e", "unfused": "#f2a65a", "fused": "#1f5fa8",
              "flex": "#57a773", "dense": "#c9b6e4"}
    labels = {"naive": "naive (ours or CUDA, the faster)",
              "unfused": "unfused (ours)", "fused": "fused (ours)",
              "flex": "FlexAttention, compiled (best order)",
              "dense": "PyTorch over all pairs (best)"}
    figure, axes = plt.subplots(
        figsize=(9, 1.2 + 0.62 * len(keys)), layout="constrained")
    height = 0.8 / len(colors)
    for row, key in enumerate(keys):
        result = results["problems"][key]
        best = summary["problems"][key][regime]
        for slot, group in enumerate(colors):
            if group not in best:
                continue
            rate = result["useful_flop"] / best[group]["ms"] / 1e9
            y = row + (slot - (len(colors) - 1) / 2) * height
            axes.barh(y, rate, height, color=colors[group],
                      label=labels[group])
            axes.text(rate, y, f" {best[group]['ms']:.3g} ms", va="center",
                      fontsize=6)
        ceiling = result["useful_flop"] / floor_ms(result, regime) / 1e9
        axes.plot([ceiling] * 2, [row - 0.45, row + 0.45], color="black",
                  linewidth=1.2, label="bound by matmul and copy rates")
    handles = dict(zip(*reversed(axes.get_legend_handles_labels())))
    axes.legend(handles.values(), handles.keys(), fontsize=7, ncols=2,
                loc="lower right", bbox_to_anchor=(1, 1))
    axes.set_yticks(range(len(keys)), keys, fontsize=8)
    axes.set_ylim(len(keys) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.set_xlabel(f"useful TFLOP/s, {regime} (more is better)\n"
                    f"{results.get('gpu', results.get('host', ''))}, "
                    f"{results.get('date', '')[:10]}, commit "
                    f"{results.get('commit', '')}", fontsize=8)
    axes.grid(axis="x", alpha=0.3)
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")
