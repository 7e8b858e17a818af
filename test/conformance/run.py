#!/usr/bin/env python3
# ===- run.py - Execution tests against the f64 reference --------------------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Runs attention problems through na-run and checks the results.

Three parts:
  problems  every entry of problems.json and corners.json, with every combination
            of causal axes, against an f64 reference in NumPy (reference.py); a
            sample that changes by the day, or, with --full, all that is feasible
  probes    exact properties of the operation, and shapes at the edges of tiles
  sweep     random problems and random tiles against the reference

With --target=cuda the problems run on a GPU: all of them, with every combination
of causal axes, in the types of --dtypes. The sweep then is of random schedules
for the warpgroups of Hopper. This needs nothing but Python, NumPy and
the portable na-run. Of large problems the reference computes chosen rows (see
problems.py); all rows must be finite.

With --backward all of this is of the gradients, on the CPU and on a GPU; the
probes and the sweeps are those of gradients.py, finite differences included.

Each test runs once per pipeline. A failing test prints what is wrong, an na-run
command on the same inputs, and, by --only, how to repeat the test. The last line
is 'N passed, N failed'; the exit code is 1 if any failed.
"""

import argparse
import collections
import datetime
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

# One thread per worker: set before NumPy loads its BLAS.
for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

import gradients
import probes
import sweep
from harness import PIPELINES, SPEED, Job, Settings, Test, run_tests
from problems import Data, check_reference, read_problems, with_dtype

SAMPLE = 230
SWEEP = 520
# Programs of gradients take longer to compile.
BACKWARD_SAMPLE = 60
BACKWARD_SWEEP = 80
# Seconds that one execution may take, by the estimate of SPEED.
SAMPLE_SECONDS = 1.5
FULL_SECONDS = 12
# Bytes of scores that the unfused form may hold.
SCORE_BYTES = 1 << 30
# Every fifth entry is enough for the types that are there for completeness.
CUDA_DTYPES = "f16,bf16,f32/5,tf32/5"
DTYPES = ("f64", "f32", "tf32", "f16", "bf16")

# In a full run the cheapest path takes one variant of each problem however large.
LARGE_SECONDS = 120

Entry = collections.namedtuple("Entry", "name data large")


def reason_to_leave_out(problem, pipeline, seconds):
    """Why a problem is not run; None if it is."""
    if problem.work() / SPEED[pipeline] > seconds:
        return f"more than {seconds} s on the {pipeline} path"
    scores = problem.batch * problem.heads * problem.tokens * np.prod(problem.window)
    if pipeline == "unfused" and 4 * scores > SCORE_BYTES:
        return f"more than {SCORE_BYTES >> 20} MiB of scores on the unfused path"
    return None


def entry_tests(entry, options, seconds, left_out):
    for number, pipeline in enumerate(options.pipelines):
        large = entry.large and pipeline == "fused"
        limit = max(seconds, LARGE_SECONDS) if large else seconds
        why = reason_to_leave_out(entry.data.problem, pipeline, limit)
        if why:
            left_out[why] += 1
            continue
        yield Test(
            f"{entry.name}/{pipeline}",
            [Job(entry.data, pipeline, threads=1 + (entry.data.seed[0] + number) % 3)],
            lambda outputs, data=entry.data: check_reference(data, outputs),
        )


def entries(options):
    """(name, problem) of each entry of the files, or its gradients."""
    for number, (name, problem) in enumerate(read_problems()):
        if options.backward:
            problem = problem.replace(backward=True, lse_grad=number % 3 == 0)
        yield name, problem


def variants(name, problem):
    """The problem with every combination of causal axes."""
    for causal in itertools.product([False, True], repeat=len(problem.shape)):
        letters = "".join("ft"[c] for c in causal)
        yield f"{name}/causal={letters}", problem.replace(causal=list(causal))


def all_entries(options):
    """Everything: f32 and bf16, and for one variant of each entry f16 and f64."""
    rng = np.random.default_rng(options.seed)
    for name, base in entries(options):
        cases = list(variants(name, base))
        extra = rng.integers(len(cases))
        for number, (label, problem) in enumerate(cases):
            for dtype in ("f32", "bf16") + (("f16", "f64") if number == extra else ()):
                seed = [int(rng.integers(1 << 30))]
                data = Data(with_dtype(problem, dtype), seed)
                large = not options.limit and number == extra and dtype == "f32"
                yield Entry(f"{label}/{dtype}", data, large)


def sample_entries(options):
    """One random variant and type of each entry, then a second of some, ..."""
    rng = np.random.default_rng(options.seed)
    bases = list(entries(options))
    for number in range(options.sample):
        if number % len(bases) == 0:
            order = rng.permutation(len(bases))
        name, base = bases[order[number % len(bases)]]
        cases = list(variants(name, base))
        label, problem = cases[rng.integers(len(cases))]
        dtype = str(rng.choice(["f32", "bf16", "f16", "f64"], p=[0.4, 0.4, 0.1, 0.1]))
        data = Data(with_dtype(problem, dtype), [int(rng.integers(1 << 30))])
        yield Entry(f"{label}/{dtype}", data, False)


def dtype_entries(options):
    """Every combination of causal axes in the types that were asked for."""
    rng = np.random.default_rng(options.seed)
    for number, (name, base) in enumerate(entries(options)):
        if options.channels:
            base = base.replace(
                head_dim=options.channels, value_dim=options.channels
            )
        for label, problem in variants(name, base):
            for dtype, every in options.dtypes:
                seed = [int(rng.integers(1 << 30))]
                if number % every == 0:
                    data = Data(with_dtype(problem, dtype), seed)
                    yield Entry(f"{label}/{dtype}", data, False)


def cuda_tests(options):
    index, count = options.shard
    tests = []
    for entry in itertools.islice(dtype_entries(options), index, None, count):
        for pipeline in options.pipelines:
            # The plain loops have no tensor cores to round for.
            if pipeline == "naive" and entry.data.problem.dtype == "tf32":
                continue
            tests.append(
                Test(
                    f"{entry.name}/{pipeline}",
                    [Job(entry.data, pipeline, target=options.target_flags)],
                    lambda outputs, data=entry.data: check_reference(data, outputs),
                )
            )
    return tests


def problem_tests(options):
    if options.target == "cuda":
        return cuda_tests(options)
    entries = all_entries(options) if options.full else sample_entries(options)
    seconds = options.limit or (FULL_SECONDS if options.full else SAMPLE_SECONDS)
    left_out = collections.Counter()
    tests = {}
    for entry in entries:
        for test in entry_tests(entry, options, seconds, left_out):
            tests.setdefault(test.name, test)
    for why, count in left_out.items():
        print(f"left out: {count} runs that would take {why}")
    return list(tests.values())


def set_target(parser, options):
    """Checks what belongs to a target and gives it the form that others use."""
    if options.target == "cpu":
        for name in ("chip", "device", "dtypes", "channels"):
            if getattr(options, name) is not None:
                parser.error(f"--{name} needs --target=cuda")
        return
    if options.parts == parser.get_default("parts"):
        options.parts = "problems"
    elif "probes" in options.parts.split(",") and not options.backward:
        parser.error("--target=cuda has no part 'probes'")
    flags = ["--target=cuda"]
    flags += [f"--chip={options.chip}"] if options.chip else []
    flags += [f"--device={options.device}"] if options.device else []
    options.target_flags = tuple(flags)
    dtypes = []
    for item in (options.dtypes or CUDA_DTYPES).split(","):
        found = re.fullmatch(r"(\w+)(?:/([1-9]\d*))?", item)
        if not found or found[1] not in DTYPES:
            parser.error(
                f"--dtypes: '{item}' is none of {', '.join(DTYPES)}, with or "
                "without a divisor such as /5"
            )
        dtypes.append((found[1], int(found[2] or 1)))
    options.dtypes = dtypes
    shard = re.fullmatch(r"(\d+)/([1-9]\d*)", options.shard)
    if not shard or int(shard[1]) >= int(shard[2]):
        parser.error(f"--shard: '{options.shard}' is not I/N with I less than N")
    options.shard = int(shard[1]), int(shard[2])


def ask_device(options):
    """What na-run says about the GPU; ends the program if it cannot use it."""
    command = [options.na_run, *options.target_flags, "--pipeline=naive", "--json"]
    command += ["--shape=8", "--window=3", "--head-dim=8"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        sys.exit(done.stderr.strip() or f"na-run exits with {done.returncode}")
    report = json.loads(done.stdout)
    return {key: report[key] for key in ("gpu", "driver", "cuda", "chip")}


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )

    def number(least):
        def parse(text):
            value = int(text)
            if value < least:
                raise argparse.ArgumentTypeError(f"{value} is less than {least}")
            return value

        return parse

    build = os.path.join(os.path.dirname(__file__), "..", "..", "build", "bin")
    parser.add_argument(
        "--na-run",
        default=os.path.normpath(os.path.join(build, "na-run")),
        metavar="PATH",
        help="the program under test (default: %(default)s)",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--sample",
        nargs="?",
        type=number(1),
        metavar="K",
        help="K random variants of the entries of the files "
        f"(default: {SAMPLE}, with --backward {BACKWARD_SAMPLE})",
    )
    which.add_argument(
        "--full", action="store_true", help="every variant that is feasible"
    )
    parser.add_argument(
        "--limit",
        type=float,
        metavar="SECONDS",
        help="leave out problems whose execution is estimated to take longer "
        f"(default: {SAMPLE_SECONDS}, with --full {FULL_SECONDS})",
    )
    parser.add_argument(
        "--sweep",
        type=number(0),
        metavar="N",
        help=f"random problems (default: {SWEEP}, with --backward {BACKWARD_SWEEP})",
    )
    parser.add_argument(
        "--backward", action="store_true", help="test the gradients instead"
    )
    parser.add_argument(
        "--target",
        choices=("cpu", "cuda"),
        default="cpu",
        help="where to run (default: %(default)s)",
    )
    parser.add_argument(
        "--chip", metavar="NAME", help="GPU code to generate (default: the GPU's)"
    )
    parser.add_argument(
        "--device", type=number(0), metavar="N", help="which GPU (default: 0)"
    )
    parser.add_argument(
        "--dtypes",
        metavar="LIST",
        help="with --target=cuda, element types; f32/5 is f32 for every fifth entry "
        f"of the files (default: {CUDA_DTYPES})",
    )
    parser.add_argument(
        "--channels",
        type=number(1),
        metavar="N",
        help="with --target=cuda, head dim and value dim of every problem",
    )
    parser.add_argument(
        "--shard",
        default="0/1",
        metavar="I/N",
        help="with --target=cuda, only every N-th problem, starting with the I-th "
        "from 0, for hosts that are lent for minutes",
    )
    parser.add_argument(
        "--parts",
        default="problems,probes,sweep",
        metavar="LIST",
        help="which parts to run (default: %(default)s)",
    )
    parser.add_argument(
        "--pipelines",
        "--mode",
        default=",".join(PIPELINES),
        metavar="LIST",
        help="which pipelines to test (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=number(0),
        metavar="N",
        help="decides what is random (default: today's date)",
    )
    parser.add_argument(
        "--jobs",
        type=number(1),
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes (default: one per CPU)",
    )
    parser.add_argument(
        "--only", metavar="REGEX", help="only tests whose name matches somewhere"
    )
    parser.add_argument(
        "--opt-level",
        type=int,
        choices=range(4),
        help="LLVM's optimization level (default: 3, for the probes 1: they are "
        "many, and what they look at is decided before LLVM)",
    )
    parser.add_argument(
        "--keep",
        metavar="FOLDER",
        help="where inputs of failing tests go (default: a new temporary folder)",
    )
    parser.add_argument(
        "--slowest",
        type=number(0),
        default=0,
        metavar="N",
        help="print the N slowest tests of each part",
    )
    parser.add_argument(
        "--minutes",
        type=float,
        metavar="M",
        help="start nothing after so many minutes; what is left fails the run",
    )
    parser.add_argument(
        "--json", metavar="FILE", help="write the results there, failures included"
    )
    parser.add_argument(
        "--list", action="store_true", help="print the tests' names and stop"
    )
    options = parser.parse_args()
    set_target(parser, options)
    for name, allowed in (
        ("parts", ("problems", "probes", "sweep")),
        ("pipelines", PIPELINES),
    ):
        chosen = getattr(options, name).split(",")
        for item in chosen:
            if item not in allowed:
                parser.error(f"--{name}: '{item}' is none of {', '.join(allowed)}")
        setattr(options, name, [item for item in allowed if item in chosen])
    if options.sample is None:
        options.sample = BACKWARD_SAMPLE if options.backward else SAMPLE
    if options.sweep is None:
        options.sweep = BACKWARD_SWEEP if options.backward else SWEEP
    if options.seed is None:
        options.seed = int(datetime.date.today().strftime("%Y%m%d"))
    found = shutil.which(options.na_run)
    if not options.list and not found:
        parser.error(f"--na-run: cannot run '{options.na_run}'")
    options.na_run = found
    return options


def make_tests(part, options, chip):
    if part == "problems":
        return problem_tests(options)
    seed, count = options.seed, options.sweep
    cuda = options.target == "cuda"
    if options.backward:
        if part == "probes":
            target = options.target_flags if cuda else ()
            return gradients.probes(options.pipelines, seed, target)
        if cuda:
            return gradients.cuda_tests(options.target_flags, chip, seed, count)
        return gradients.tests(options.pipelines, seed, count)
    if part == "probes":
        return probes.tests(options.pipelines, seed)
    if cuda:
        return sweep.hopper_tests(options.target_flags, seed, count)
    return sweep.tests(options.pipelines, seed, count)


def main():
    options = parse_arguments()
    folder = options.keep or tempfile.mkdtemp(prefix="na-conformance-failed-")
    os.makedirs(folder, exist_ok=True)
    settings = Settings(
        na_run=options.na_run,
        workers=options.jobs,
        keep=folder,
    )
    record = {"seed": options.seed, "target": options.target, "failures": []}
    if options.target == "cuda" and not options.list:
        # A process that starts has to open the device first.
        settings.chunk = 30
        settings.timeout = 120
        # Memory, where there is such a folder: files are large and many.
        if os.access("/dev/shm", os.W_OK):
            settings.scratch = "/dev/shm"
        record.update(ask_device(options))
        print(f"{record['gpu']}, driver {record['driver']}, {record['chip']} code")

    def report(failure):
        print(f"FAILED {failure.name}\n  {failure.message}")
        for command in failure.commands:
            print(f"  {command}")
        again = f"run.py --seed={options.seed} --only='^{re.escape(failure.name)}$'"
        again += " --backward" if options.backward else ""
        if options.target == "cuda":
            again += " " + " ".join(options.target_flags)
        print(f"  {again}{' --full' if options.full else ''}", flush=True)
        record["failures"].append({"test": failure.name, "message": failure.message})

    print(f"seed {options.seed}")
    passed = failed = left = 0
    begin = time.monotonic()
    if options.minutes is not None:
        settings.deadline = begin + 60 * options.minutes
    remarks = collections.Counter()
    # Without a device to ask, warpgroups are what is listed.
    chip = record.get("chip") or options.chip or "sm_90a"
    for part in options.parts:
        tests = make_tests(part, options, chip)
        if options.opt_level is not None:
            for job in itertools.chain.from_iterable(test.jobs for test in tests):
                job.opt_level = options.opt_level
        if options.only:
            tests = [test for test in tests if re.search(options.only, test.name)]
        if options.list:
            print(*[test.name for test in tests], sep="\n")
            continue
        if not tests:
            continue
        start = time.monotonic()
        print(f"{part}: {len(tests)} tests", flush=True)
        outcome = run_tests(settings, tests, report)
        left += outcome.left
        passed += outcome.count - len(outcome.failures)
        failed += len(outcome.failures)
        for seconds, name in sorted(outcome.times, reverse=True)[: options.slowest]:
            print(f"  {seconds:.2f} s in na-run: {name}")
        remarks.update(text for _, text in outcome.remarks)
        print(f"{part}: {time.monotonic() - start:.0f} s", flush=True)
    try:
        os.rmdir(folder)
    except OSError:
        print(f"inputs of failing tests: {folder}")
    for text, count in remarks.most_common():
        print(f"remark, {count} times: {text}")
    if options.json:
        record.update(
            passed=passed,
            failed=failed,
            not_run=left,
            seconds=round(time.monotonic() - begin, 1),
            remarks=dict(remarks),
        )
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=1)
            file.write("\n")
    if not options.list:
        not_run = f", {left} not run" if left else ""
        print(f"{passed} passed, {failed} failed{not_run}")
    return 1 if failed or left or not (passed or options.list) else 0


if __name__ == "__main__":
    sys.exit(main())
