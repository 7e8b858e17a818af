#!/usr/bin/env python3
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the fused CPU pipeline beside PyTorch's attention on the same host.

Needs PyTorch (a CPU build is enough) and a C++ compiler for torch.compile.
Every problem runs in rounds: our kernel, then each peer, so that all see the
same machine. Peers are checked against our output before they are timed.

With --backward times are of a forward pass and the gradients of q, k and v, ours
as two programs, the peers' by autograd. FlexAttention has no gradients on a CPU.
"""

import argparse
import dataclasses
import datetime
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from common import Problem, as_json, commit, host_cpu, mask_of, useful_flop


def f32_problem(shape, window, heads, dim):
    return Problem(shape=shape, window=window, heads=heads, head_dim=dim,
                   lse=False)


PROBLEMS = {
    "nat-56x56-w7": f32_problem([56, 56], [7, 7], 4, 32),
    "image-128x128-w25": f32_problem([128, 128], [25, 25], 2, 64),
    "dense-4k-d64": f32_problem([4096], [4096], 2, 64),
    "dense-4k-d128": f32_problem([4096], [4096], 2, 128),
}


def na_run(args, p, arrays, folder, outputs=("o",), flags=()):
    """One process of ours: returns its JSON report and the outputs."""
    inputs = ",".join(f"{n}={folder}/{n}.npy" for n in arrays)
    for name, array in arrays.items():
        np.save(f"{folder}/{name}.npy", array)
    report = f"{folder}/report.json"
    command = [
        args.na_run, *p.flags(), *flags, "--bench",
        f"--threads={args.threads}", f"--runs={args.runs}",
        "--inputs=" + inputs,
        "--outputs=" + ",".join(f"{n}={folder}/{n}.npy" for n in outputs),
        f"--json={report}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    with open(report) as file:
        return json.load(file), [np.load(f"{folder}/{n}.npy") for n in outputs]


def forward_and_gradients(args, p, arrays, folder):
    """As na_run; the seconds are of the two programs together."""
    inputs = {n: arrays[n] for n in ("q", "k", "v")}
    p = dataclasses.replace(p, lse=True)
    forward, (o, lse) = na_run(args, p, inputs, folder, ("o", "lse"))
    report, gradients = na_run(args, p, {**arrays, "o": o, "lse": lse}, folder,
                               ("dq", "dk", "dv"), ("--backward",))
    report["bench"]["median_s"] += forward["bench"]["median_s"]
    return report, [o, *gradients]


def peers_of(torch, p, arrays):
    """Callables on [B, H, tokens, D] tensors, by name."""
    import torch.nn.functional as F
    from torch.nn.attention.flex_attention import (create_block_mask,
                                                   flex_attention)
    q, k, v, *grad = (
        torch.from_numpy(a).flatten(1, -3).transpose(1, 2).contiguous()
        for a in arrays.values())

    def of(attention):
        """Calls it with the gradients that are asked for."""
        if not grad:
            return lambda: [attention(q, k, v)]
        leaves = [x.requires_grad_() for x in (q, k, v)]

        def call():
            o = attention(*leaves)
            return [o.detach(), *torch.autograd.grad(o, leaves, grad[0])]
        return call
    tokens = q.shape[2]
    dense = p.shape == p.window
    peers = {}
    if dense:
        peers["sdpa"] = of(F.scaled_dot_product_attention)
    else:
        visible = mask_of(torch, p)
        index = torch.arange(tokens)
        mask = visible(index[:, None], index[None, :])
        peers["sdpa+mask"] = of(functools.partial(
            F.scaled_dot_product_attention, attn_mask=mask))
        if grad:
            return peers
        block_mask = create_block_mask(
            lambda b, h, qi, ki: visible(qi, ki), None, None, tokens, tokens,
            device="cpu")
        # One compilation per problem, for its sizes.
        torch._dynamo.reset()
        compiled = torch.compile(flex_attention, dynamic=False)
        peers["flex (compiled)"] = of(functools.partial(
            compiled, block_mask=block_mask))
    return peers


def time_once(call, runs):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--na-run", default="build/bin/na-run")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--runs", type=int, default=20, help="per round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", choices=PROBLEMS)
    parser.add_argument("--backward", action="store_true",
                        help="a forward pass and its gradients")
    parser.add_argument("--output", help="write the results to a JSON file")
    args = parser.parse_args()
    import torch
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)

    results = dict(
        date=datetime.date.today().isoformat(), host=host_cpu(),
        threads=args.threads, torch=torch.__version__,
        commit=commit(), command=" ".join(sys.argv), problems={})
    print(f"{results['host']}, {args.threads} threads, PyTorch "
          f"{torch.__version__}, commit {results['commit']}")
    print(f"{'problem':20} {'what':18} {'median ms':>10} {'GFLOP/s':>9} "
          f"{'ours is':>9}")
    for name in args.only or PROBLEMS:
        p = PROBLEMS[name]
        rng = np.random.default_rng(0)
        shape = [1, *p.shape, p.heads, p.head_dim]
        arrays = {n: rng.standard_normal(shape, dtype=np.float32)
                  for n in ("q", "k", "v", "do")[:4 if args.backward else 3]}
        run_ours = forward_and_gradients if args.backward else na_run
        medians, rate = {}, None
        with (tempfile.TemporaryDirectory() as folder,
              torch.set_grad_enabled(args.backward)):
            peers = peers_of(torch, p, arrays)
            _, ours = run_ours(args, p, arrays, folder)
            for peer, call in peers.items():
                for a, b in zip(ours, call()):
                    b = b.transpose(1, 2).reshape(a.shape).numpy()
                    error = np.linalg.norm(a - b) / np.linalg.norm(b)
                    if not error < 1e-5:
                        sys.exit(f"{name}: {peer} differs from ours by "
                                 f"{error:.1e}")
            samples = {peer: [] for peer in ["na", *peers]}
            for _ in range(args.rounds):
                report, _ = run_ours(args, p, arrays, folder)
                samples["na"].append(report["bench"]["median_s"])
                for peer, call in peers.items():
                    time_once(call, 3)
                    samples[peer] += time_once(call, args.runs)
            medians = {peer: statistics.median(t) for peer, t in samples.items()}
            rate = report["bench"]["matmul_flop_per_s"] / 1e9
        # Two products forward, five backward.
        flops = useful_flop(p) * (3.5 if args.backward else 1)
        for peer, median in medians.items():
            ratio = "" if peer == "na" else f"{median / medians['na']:.2f}x"
            print(f"{name:20} {peer:18} {median * 1e3:10.3f} "
                  f"{flops / median / 1e9:9.1f} {ratio:>9}", flush=True)
        results["problems"][name] = dict(
            problem=as_json(p), useful_flops=flops, matmul_gflops=rate,
            median_ms={peer: t * 1e3 for peer, t in medians.items()})
    if args.output:
        with open(args.output, "w") as file:
            json.dump(results, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
