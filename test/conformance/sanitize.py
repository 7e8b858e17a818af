#!/usr/bin/env python3
# ===- sanitize.py - Runs a sample of problems under compute-sanitizer -------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Runs a random sample of the conformance problems under compute-sanitizer.

The entries of problems.json and corners.json that are small enough are drawn with
random causal axes; half of the programs in f16, half in bf16. Every tool runs on
every chip, pipeline and problem. Under racecheck all lanes of a warp arrive at
the barriers of sm_90a: it does not see that they have passed a barrier of their
warp when one of them arrives for all. With --sweep the programs are those of run.py's
sweep of random problems and schedules for warpgroups instead. The last line is
'N passed, N failed'; the exit code is 1 if any failed.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import numpy as np

from harness import PIPELINES
from problems import read_problems, with_dtype
from sweep import hopper_tests

# The tools make a kernel slower by two to three orders of magnitude.
WORK = int(3e9)
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (.*)")
CLEAN = re.compile(r"0 (?:errors|hazards displayed \(0 errors, 0 warnings\))")


def sample(options):
    """(name, problem) of the programs, drawn without replacement."""
    rng = np.random.default_rng([options.seed, 11])
    problems = []
    for name, problem in read_problems():
        if options.channels:
            problem = problem.replace(
                head_dim=options.channels, value_dim=options.channels
            )
        problem = problem.replace(backward=options.backward)
        # Entries can become equal when they get the same head dim.
        if 0 < problem.work() <= WORK and all(problem != p for _, p in problems):
            problems.append((name, problem))
    count = min(options.count, len(problems))
    for number, index in enumerate(rng.permutation(len(problems))[:count]):
        name, problem = problems[index]
        causal = [bool(c) for c in rng.random(len(problem.shape)) < 0.3]
        dtype = ("bf16", "f16")[number % 2]
        yield name, with_dtype(problem.replace(causal=causal), dtype)


def swept(options):
    """(name, flags) of programs with random schedules."""
    tests = hopper_tests(("--target=cuda", "--chip=sm_90a"), options.seed, 1000)
    small = [t for t in tests if t.jobs[0].data.problem.work() <= WORK]
    for test in small[: options.count]:
        yield test.name, test.jobs[0].flags()


def sampled(options):
    """(name, flags) of programs that are entries of the files."""
    for name, problem in sample(options):
        for chip in options.chips.split(","):
            for pipeline in options.pipelines.split(","):
                flags = ["--target=cuda", f"--chip={chip}", f"--pipeline={pipeline}"]
                yield name, problem.flags() + flags


def run(sanitizer, tool, command, seconds):
    """(whether it is clean, what the tool said)."""
    if tool == "racecheck":
        command = [*command, "--arrive-by-lanes"]
    # Reading the parameters of a kernel ends in an error that means "no more".
    tool = [sanitizer, "--report-api-errors", "no", "--tool", tool]
    try:
        done = subprocess.run(
            tool + command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f"not finished after {seconds} s"
    found = SUMMARY.search(done.stdout)
    clean = done.returncode == 0 and found and CLEAN.match(found[1])
    return bool(clean), found[1] if clean else done.stdout[-4000:]


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--na-run", default="na-run", metavar="PATH")
    parser.add_argument("--sanitizer", default="compute-sanitizer", metavar="PATH")
    parser.add_argument("--count", type=int, default=20, help="problems (20)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--backward", action="store_true", help="the gradients")
    parser.add_argument(
        "--sweep", action="store_true", help="random problems and schedules"
    )
    parser.add_argument("--channels", type=int, metavar="N", help="head dim of all")
    parser.add_argument("--chips", default="sm_90a", metavar="LIST")
    parser.add_argument("--pipelines", default="fused", metavar="LIST")
    parser.add_argument("--tools", default="memcheck,racecheck", metavar="LIST")
    parser.add_argument("--jobs", type=int, default=8, metavar="N")
    parser.add_argument("--seconds", type=int, default=120, help="for a program")
    parser.add_argument("--json", metavar="FILE", help="write the results there")
    options = parser.parse_args()
    for pipeline in options.pipelines.split(","):
        if pipeline not in PIPELINES:
            parser.error(f"--pipelines: '{pipeline}' is none of {', '.join(PIPELINES)}")
    for program in (options.na_run, options.sanitizer):
        if not shutil.which(program):
            parser.error(f"cannot run '{program}'")
    return options


def main():
    options = parse_arguments()
    programs = [
        (name, tool, [options.na_run, *flags])
        for name, flags in (swept if options.sweep else sampled)(options)
        for tool in options.tools.split(",")
    ]
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = [
            pool.submit(run, options.sanitizer, tool, command, options.seconds)
            for _, tool, command in programs
        ]
        for (name, tool, command), future in zip(programs, futures):
            clean, text = future.result()
            if not clean:
                print(f"FAILED {tool} {name}: {shlex.join(command)}\n{text}")
            results.append(
                {
                    "problem": name,
                    "tool": tool,
                    "flags": command[1:],
                    "clean": clean,
                    "report": text,
                }
            )
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    passed = sum(result["clean"] for result in results)
    print(f"{passed} passed, {len(results) - passed} failed")
    sys.exit(passed != len(results))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
