# ===- warpgroups.py - Tiles split among warpgroups, on the CPU -------------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Runs na-run --verify on programs whose query tiles have several warpgroups."""

import json
import os
import subprocess
import sys
import tempfile

# Per program: shape, window, stride, causal, query tile, warpgroup tile, key
# tile, further flags.
PROGRAMS = [
    # One axis; the last tile full, with one query, and with whole warpgroups
    # beyond the end.
    ("96", "21", "1", "f", "32", "16", "16"),
    ("97", "21", "1", "f", "32", "16", "16"),
    ("113", "21", "1", "f", "32", "16", "16"),
    ("65", "33", "1", "f", "48", "16", "8", "--dtype=f16"),
    ("49", "12", "1", "f", "48", "16", "16", "--dtype=f32"),
    # Much of the span belongs to one warpgroup alone.
    ("200", "3", "1", "f", "64", "32", "8"),
    ("200", "40", "7", "f", "64", "32", "5"),
    ("200", "90", "1", "f", "64", "32", "16", "--heads=4", "--kv-heads=2"),
    ("70", "1", "1", "f", "32", "16", "16"),
    ("1", "1", "1", "f", "32", "16", "16"),
    ("64", "64", "1", "f", "32", "16", "24"),
    ("128", "40", "32", "f", "32", "16", "8"),
    ("100", "100", "1", "t", "32", "16", "16"),
    ("129", "30", "1", "t", "32", "16", "7", "--dtype=f16"),
    ("129", "30", "11", "t", "48", "16", "16"),
    ("40", "40", "1", "f", "16", "16", "16"),
    # Two axes, split along either.
    ("20x23", "7x9", "1x1", "f,f", "4x8", "4x4", "8x4"),
    ("20x23", "7x9", "1x1", "f,f", "8x4", "4x4", "8x4", "--dtype=f32"),
    ("17x17", "7x9", "2x3", "f,f", "8x8", "4x8", "3x5"),
    ("17x9", "5x9", "1x1", "t,f", "16x4", "8x4", "4x9", "--dtype=f16"),
    ("21x13", "8x4", "8x4", "f,f", "8x4", "4x4", "4x4"),
    ("19x26", "19x11", "1x4", "t,t", "2x24", "2x8", "4x8"),
    ("12x9", "4x9", "1x1", "t,f", "1x8", "1x4", "1x9"),
    ("12x9", "5x9", "3x1", "t,f", "1x8", "1x4", "1x9"),
    # Three axes.
    ("6x7x9", "3x5x4", "1x1x1", "f,f,f", "2x4x4", "2x2x4", "2x4x3"),
    ("6x7x9", "3x5x4", "2x1x3", "f,f,f", "4x2x4", "2x2x4", "2x4x3"),
    ("5x9x7", "5x4x3", "1x2x1", "t,f,t", "2x2x8", "2x2x4", "5x1x4"),
    ("4x8x13", "4x8x5", "1x1x1", "f,f,f", "2x2x12", "2x2x4", "4x2x2"),
    # What the fused program has beside windows.
    ("40", "9", "1", "f", "32", "16", "16", "--extra-kv=5", "--bias"),
    ("41", "9", "1", "f", "32", "16", "16", "--dilation=3", "--batch=2"),
    ("30", "9", "1", "f", "32", "16", "16", "--value-dim=300"),
]


def flags(shape, window, stride, causal, query, warpgroup, key, *further):
    result = [
        f"--shape={shape}",
        f"--window={window}",
        f"--stride={stride}",
        f"--causal={causal}",
        f"--query-tile={query}",
        f"--warpgroup-tile={warpgroup}",
        f"--key-tile={key}",
        "--schedule-target=sm_90a",
        "--head-dim=16",
        "--verify",
    ]
    if not any(flag.startswith("--dtype") for flag in further):
        result.append("--dtype=bf16")
    return result + list(further)


def main():
    jobs = [flags(*program) for program in PROGRAMS]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "jobs")
        with open(path, "w", encoding="utf-8") as file:
            for job in jobs:
                print(json.dumps({"args": job}), file=file)
        output = subprocess.run(
            [sys.argv[1], f"--jobs={path}"],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        ).stdout
    results = [json.loads(line) for line in output.splitlines()]
    failures = len(jobs) - len(results)
    for job, result in zip(jobs, results):
        checks = result.get("verify", [])
        if len(checks) != 2 or not all(check["pass"] for check in checks):
            failures += 1
            print("na-run", *job, json.dumps(result))
    print(f"{len(jobs)} programs, {failures} failures")


main()
