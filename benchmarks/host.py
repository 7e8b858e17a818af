#!/usr/bin/env python3
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call costs the host: na_mlir beside compiled FlexAttention, in one run.

  benchmarks/host.py --json=host.json

Per problem:

  first call   from shapes that were never seen to a result: compiles and loads;
               FlexAttention's block mask is not counted, caches on disk are
               empty (the driver's is off)
  repeated     median host time of a call when calls are queued one after the
               other and nothing waits: problems are so small that the GPU is
               not what is waited for
  GPU          median time of the kernels of a call, by events, hidden from the
               host's time by a spinning kernel

`forward` is without gradients, `training` a forward that autograd records,
`step` that and its backward. `operator` is torch.ops.na_mlir.attention, which is
what compiled graphs call; `graph` is the replay of a captured call. Needs
na_mlir, PyTorch 2.5 or later and, for FlexAttention, what torch.compile needs.
"""

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

# Before PyTorch: what is compiled is compiled here.
_caches = tempfile.TemporaryDirectory(prefix="na-host-")
os.environ.update(TORCHINDUCTOR_CACHE_DIR=_caches.name + "/inductor",
                  TRITON_CACHE_DIR=_caches.name + "/triton",
                  CUDA_CACHE_DISABLE="1", TORCHINDUCTOR_FX_GRAPH_CACHE="0")
os.environ.pop("NA_CACHE_DIR", None)

import torch  # noqa: E402

import na_mlir  # noqa: E402
import na_mlir.torch  # noqa: E402
from common import Problem, commit  # noqa: E402
from torch_peers import RowOrder, block_mask_of  # noqa: E402

# Two shapes of each kind: the second is not the first thing that is compiled.
PROBLEMS = {
    "causal-1d": dict(shape=[1024], window=[128], causal=[True], heads=4, head_dim=64),
    "causal-1d-b": dict(shape=[1280], window=[200], causal=[True], heads=4, head_dim=64),
    "2d": dict(shape=[32, 32], window=[7, 7], heads=4, head_dim=64),
    "2d-128": dict(shape=[24, 32], window=[9, 9], heads=2, head_dim=128),
}
COLUMNS = ("forward", "operator", "training", "step", "graph")


class Host:
    def __init__(self, options):
        self.device = torch.device(options.device)
        self.on_gpu = self.device.type == "cuda"
        self.rounds, self.batch = options.rounds, 64 if self.on_gpu else 8

    def synchronize(self):
        if self.on_gpu:
            torch.cuda.synchronize(self.device)

    def first(self, call):
        """Seconds to the result, and the result."""
        self.synchronize()
        begin = time.perf_counter()
        result = call()
        self.synchronize()
        return time.perf_counter() - begin, result

    def repeated(self, call):
        """Host seconds of a call, median of the rounds."""
        times = []
        for _ in range(self.rounds + 2):
            self.synchronize()
            begin = time.perf_counter()
            for _ in range(self.batch):
                call()
            times.append((time.perf_counter() - begin) / self.batch)
        self.synchronize()
        return statistics.median(times[2:])

    def on_device(self, call):
        """GPU seconds of a call."""
        if not self.on_gpu:
            return None
        times = []
        for _ in range(self.rounds + 2):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(2_000_000)
            begin.record()
            call()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) * 1e-3)
        return statistics.median(times[2:])

    def graph(self, call):
        if not self.on_gpu:
            return None
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call()
        return graph


def differentiate(call, leaves):
    """A function that calls and differentiates."""
    grad = torch.randn_like(call(*leaves))
    return lambda: torch.autograd.grad(call(*leaves), leaves, grad)


def measure(host, attention, leaves, operator=None):
    """The first calls, then the repeated ones; `attention` takes q, k and v."""
    entry = {"repeated_s": {}, "gpu_s": {}, "first_s": {}}

    plain = [t.detach() for t in leaves]

    def forward():
        return attention(*plain)

    entry["first_s"]["forward"], output = host.first(forward)
    calls = {"forward": forward}
    if operator:
        calls["operator"] = lambda: operator(*plain)
    try:
        entry["first_s"]["step"], step = host.first(lambda: differentiate(attention, leaves))
        seconds, _ = host.first(step)
        entry["first_s"]["step"] += seconds
        calls.update(training=lambda: attention(*leaves), step=step)
    except Exception as error:  # FlexAttention has no backward on a CPU.
        entry["no_step"] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    try:
        graph = host.graph(forward)
        if graph is not None:
            calls["graph"] = graph.replay
    except Exception as error:
        entry["no_graph"] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    for name, call in calls.items():
        entry["repeated_s"][name] = host.repeated(call)
    for name in {"forward", "step"} & set(calls):
        entry["gpu_s"][name] = host.on_device(calls[name])
    return entry, output


def measure_ours(host, problem, leaves):
    def attention(q, k, v):
        return na_mlir.neighborhood_attention(
            q, k, v, window, causal=causal)

    window, causal = tuple(problem.window), tuple(bool(c) for c in problem.causal)
    ones = [1] * len(window)

    def operator(q, k, v):
        return torch.ops.na_mlir.attention.default(
            q, k, v, None, None, None, list(window), ones, ones, list(causal), None, False,
            "fused", "ieee", False)
    return measure(host, attention, leaves, operator)


def measure_flex(host, problem, leaves):
    from torch.nn.attention.flex_attention import flex_attention
    mask = block_mask_of(torch, problem, RowOrder(problem, 128), 128, host.device)
    torch._dynamo.reset()
    compiled = torch.compile(flex_attention, dynamic=False)

    def attention(q, k, v):
        return compiled(q, k, v, block_mask=mask)

    heads_first = [t.detach().flatten(1, -3).transpose(1, 2).contiguous().requires_grad_()
                   for t in leaves]
    entry, output = measure(host, attention, heads_first)
    return entry, output.transpose(1, 2).reshape(leaves[0].shape)


def run(options):
    """The results, problem by problem."""
    host = Host(options)
    a = torch.randn(64, 64, device=host.device)
    (a @ a).sum().item()  # PyTorch's own libraries are loaded.
    dtype = {"bf16": torch.bfloat16, "f32": torch.float32}[options.dtype]
    for name, fields in PROBLEMS.items():
        if options.problems and name not in options.problems.split(","):
            continue
        problem = Problem(**{"causal": [False] * len(fields["shape"]), "batch": 1,
                             "dtype": options.dtype, **fields})
        shape = (1, *problem.shape, problem.heads, problem.head_dim)
        torch.manual_seed(0)
        leaves = [torch.randn(shape, device=host.device).to(dtype).requires_grad_()
                  for _ in range(3)]
        entry = {"name": name, **fields}
        entry["na_mlir"], ours = measure_ours(host, problem, leaves)
        if not options.no_flex:
            compare(host, problem, leaves, entry, ours)
        yield entry


def compare(host, problem, leaves, entry, ours):
    try:
        entry["flex"], theirs = measure_flex(host, problem, leaves)
    except Exception as error:  # Whatever PyTorch cannot do.
        entry["flex_error"] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        return
    entry["difference"] = (
        (ours.double() - theirs.double()).norm() / theirs.double().norm()).item()
    if not entry["difference"] < 1e-2:
        sys.exit(f"{entry['name']}: results differ by {entry['difference']:.1e}")


def print_header():
    print("{:14}{:10}".format("problem", "") + "".join(f"{c:>10}" for c in COLUMNS)
          + f"{'first fwd':>12}{'first step':>12}{'GPU fwd':>10}{'GPU step':>10}")
    print("{:24}".format("") + f"{'us':>10}" * len(COLUMNS) + f"{'s':>12}" * 2 + f"{'us':>10}" * 2,
          flush=True)


def print_rows(entry):
    def cells(values, names, factor, width, digits):
        return "".join(
            f"{'-' if values.get(name) is None else f'{values[name] * factor:.{digits}f}':>{width}}"
            for name in names)

    for who in ("na_mlir", "flex"):
        if who in entry:
            found = entry[who]
            print(f"{entry['name']:14}{who:10}" + cells(found["repeated_s"], COLUMNS, 1e6, 10, 1)
                  + cells(found["first_s"], ("forward", "step"), 1, 12, 2)
                  + cells(found["gpu_s"], ("forward", "step"), 1e6, 10, 1))
            for reason in ("no_step", "no_graph"):
                if reason in found:
                    print(f"{'':14}{who:10}{found[reason]}")
    if "flex_error" in entry:
        print(f"{entry['name']:14}flex      {entry['flex_error']}")
    sys.stdout.flush()


def driver_version():
    try:
        return subprocess.run(
            ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
            capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    add("--dtype", choices=("bf16", "f32"), default="bf16")
    add("--problems", metavar="LIST", help=f"of {', '.join(PROBLEMS)} (all)")
    add("--rounds", type=int, default=20, metavar="N", help="medians are of so many (20)")
    add("--no-flex", action="store_true", help="na_mlir alone")
    add("--json", metavar="FILE", help="write the results")
    options = parser.parse_args()
    on_gpu = torch.device(options.device).type == "cuda"
    record = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "device": torch.cuda.get_device_name() if on_gpu else "cpu",
        "driver": driver_version() if on_gpu else None,
        "commit": commit(), "command": " ".join(sys.argv), "torch": torch.__version__,
        "python": sys.version.split()[0], "na_mlir": na_mlir.version(), "results": [],
    }
    print_header()
    for entry in run(options):
        print_rows(entry)
        record["results"].append(entry)
        # After each, so that a run that is cut off keeps what it has.
        if options.json:
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump(record, file, indent=1)
                file.write("\n")


if __name__ == "__main__":
    main()
