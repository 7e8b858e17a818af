#!/usr/bin/env python3
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the fused CPU pipeline beside PyTorch's attention on the same host.

Needs PyTorch (a CPU build is enough) and a C++ compiler for torch.compile.
Every problem runs in rounds: our kernel, then each peer, so that all see the
same machine. Peers are checked against our output before they are timed.
"""

import argparse
import datetime
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

PROBLEMS = {
    "nat-56x56-w7": dict(shape=[56, 56], window=[7, 7], heads=4, dim=32),
    "image-128x128-w25": dict(shape=[128, 128], window=[25, 25], heads=2, dim=64),
    "dense-4k-d64": dict(shape=[4096], window=[4096], heads=2, dim=64),
    "dense-4k-d128": dict(shape=[4096], window=[4096], heads=2, dim=128),
}


def useful_flops(p):
    # Windows are shifted inward at borders, so every query sees a full window.
    tokens, keys = math.prod(p["shape"]), math.prod(p["window"])
    return 4 * p["heads"] * tokens * keys * p["dim"]


def na_run(args, p, arrays, folder):
    """One process of ours: returns its JSON report and the output."""
    inputs = ",".join(f"{n}={folder}/{n}.npy" for n in arrays)
    for name, array in arrays.items():
        np.save(f"{folder}/{name}.npy", array)
    report = f"{folder}/report.json"
    command = [
        args.na_run, "--shape=" + "x".join(map(str, p["shape"])),
        "--window=" + "x".join(map(str, p["window"])), f"--heads={p['heads']}",
        f"--head-dim={p['dim']}", "--dtype=f32", "--lse=false", "--bench",
        f"--threads={args.threads}", f"--runs={args.runs}",
        "--inputs=" + inputs, f"--outputs=o={folder}/o.npy",
        f"--json={report}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    with open(report) as file:
        return json.load(file), np.load(f"{folder}/o.npy")


def mask_of(torch, p):
    """mask(query, key) of flattened tokens, true where visible."""
    shape, window = p["shape"], p["window"]

    def visible(q, k):
        result = None
        for axis in reversed(range(len(shape))):
            length, w = shape[axis], window[axis]
            qi, ki = q % length, k % length
            q, k = q // length, k // length
            begin = torch.clamp(qi - w // 2, 0, length - w)
            here = (ki >= begin) & (ki < begin + w)
            result = here if result is None else result & here
        return result
    return visible


def peers_of(torch, p, arrays):
    """Callables on [B, H, tokens, D] tensors, by name."""
    import torch.nn.functional as F
    from torch.nn.attention.flex_attention import (create_block_mask,
                                                   flex_attention)
    q, k, v = (torch.from_numpy(a).flatten(1, -3).transpose(1, 2).contiguous()
               for a in arrays.values())
    tokens = q.shape[2]
    dense = p["shape"] == p["window"]
    peers = {}
    if dense:
        peers["sdpa"] = lambda: F.scaled_dot_product_attention(q, k, v)
    else:
        visible = mask_of(torch, p)
        index = torch.arange(tokens)
        mask = visible(index[:, None], index[None, :])
        peers["sdpa+mask"] = lambda: F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask)
        block_mask = create_block_mask(
            lambda b, h, qi, ki: visible(qi, ki), None, None, tokens, tokens,
            device="cpu")
        # One compilation per problem, for its sizes.
        torch._dynamo.reset()
        compiled = torch.compile(flex_attention, dynamic=False)
        peers["flex (compiled)"] = lambda: compiled(q, k, v,
                                                    block_mask=block_mask)
    return peers


def time_once(call, runs):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


def host():
    model = platform.processor()
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":")[1].strip()
                break
    return f"{model}, {os.cpu_count()} cores"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--na-run", default="build/bin/na-run")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--runs", type=int, default=20, help="per round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", choices=PROBLEMS)
    parser.add_argument("--output", help="write the results to a JSON file")
    args = parser.parse_args()
    import torch
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)

    results = dict(
        date=datetime.date.today().isoformat(), host=host(),
        threads=args.threads, torch=torch.__version__,
        commit=subprocess.run(["git", "rev-parse", "--short", "HEAD"],
                              capture_output=True, text=True).stdout.strip(),
        command=" ".join(sys.argv), problems={})
    print(f"{results['host']}, {args.threads} threads, PyTorch "
          f"{torch.__version__}, commit {results['commit']}")
    print(f"{'problem':20} {'what':18} {'median ms':>10} {'GFLOP/s':>9} "
          f"{'ours is':>9}")
    for name in args.only or PROBLEMS:
        p = PROBLEMS[name]
        rng = np.random.default_rng(0)
        shape = [1, *p["shape"], p["heads"], p["dim"]]
        arrays = {n: rng.standard_normal(shape, dtype=np.float32)
                  for n in ("q", "k", "v")}
        medians, rate = {}, None
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            peers = peers_of(torch, p, arrays)
            _, ours = na_run(args, p, arrays, folder)
            for peer, call in peers.items():
                theirs = call().transpose(1, 2).reshape(ours.shape).numpy()
                error = (np.linalg.norm(ours - theirs) /
                         np.linalg.norm(theirs))
                if not error < 1e-5:
                    sys.exit(f"{name}: {peer} differs from ours by {error:.1e}")
            samples = {peer: [] for peer in ["na", *peers]}
            for _ in range(args.rounds):
                report, _ = na_run(args, p, arrays, folder)
                samples["na"].append(report["bench"]["median_s"])
                for peer, call in peers.items():
                    time_once(call, 3)
                    samples[peer] += time_once(call, args.runs)
            medians = {peer: statistics.median(t) for peer, t in samples.items()}
            rate = report["bench"]["matmul_flop_per_s"] / 1e9
        flops = useful_flops(p)
        for peer, median in medians.items():
            ratio = "" if peer == "na" else f"{median / medians['na']:.2f}x"
            print(f"{name:20} {peer:18} {median * 1e3:10.3f} "
                  f"{flops / median / 1e9:9.1f} {ratio:>9}", flush=True)
        results["problems"][name] = dict(
            problem=p, useful_flops=flops, matmul_gflops=rate,
            median_ms={peer: t * 1e3 for peer, t in medians.items()})
    if args.output:
        with open(args.output, "w") as file:
            json.dump(results, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
