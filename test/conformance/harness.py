# ===- harness.py - Runs tests through na-run -------------------------------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Runs tests: compiled and executed by na-run, many per process; checked here."""

import concurrent.futures
import contextlib
import dataclasses
import json
import multiprocessing
import os
import queue
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from typing import Callable, List, Optional

import numpy as np

from problems import STORED, Data, load

PIPELINES = ("naive", "unfused", "fused")

# Multiply-adds per second and thread, roughly, to plan and to limit the time.
SPEED = {"naive": 5e8, "unfused": 6e9, "fused": 2e10}

# Bytes of attention weights from which on few programs run on a GPU at a time,
# and how many.
HEAVY_BYTES = 1 << 30
HEAVY_WORKERS = 3

# Elements of inputs that a chunk of tests holds at most, in f64 in memory and in
# files, unless it is one problem.
CHUNK_ELEMENTS = 1 << 27


@dataclasses.dataclass
class Job:
    """One program, run once. Sharing `data` shares the files and the reference."""

    data: Data
    pipeline: str
    query_tile: Optional[List[int]] = None
    key_tile: Optional[List[int]] = None
    threads: int = 1
    opt_level: int = 3
    vector_bits: Optional[int] = None
    # The flags that say where to run; none for the CPU.
    target: tuple = ()
    # What tiles are made for, where that is not the CPU.
    schedule_target: Optional[str] = None
    # The part of a query tile that one warpgroup of a GPU owns.
    warpgroup_tile: Optional[List[int]] = None
    # Query heads that share a tile; none for the compiler's choice.
    heads_per_tile: Optional[int] = None

    def flags(self):
        flags = self.data.problem.flags() + [f"--pipeline={self.pipeline}"]
        flags += self.target
        if self.opt_level != 3:
            flags.append(f"--opt-level={self.opt_level}")
        if self.vector_bits:
            flags.append(f"--vector-bits={self.vector_bits}")
        if self.schedule_target:
            flags.append(f"--schedule-target={self.schedule_target}")
        for name, tile in (
            ("query", self.query_tile),
            ("key", self.key_tile),
            ("warpgroup", self.warpgroup_tile),
        ):
            if tile:
                flags.append(f"--{name}-tile=" + "x".join(map(str, tile)))
        if self.heads_per_tile:
            flags.append(f"--heads-per-tile={self.heads_per_tile}")
        return flags + [f"--threads={self.threads}"]

    def seconds(self):
        if self.target:
            # Compilation and the reference are most of it.
            return 1 + min(self.data.problem.work(), self.data.MOST_WORK) / 3e9
        return 0.3 + self.data.problem.work() / SPEED[self.pipeline]

    def is_heavy(self):
        problem = self.data.problem
        return (
            bool(self.target)
            and self.pipeline != "fused"
            and (12 if problem.backward else 4) * problem.pairs() > HEAVY_BYTES
        )


@dataclasses.dataclass
class Test:
    """Jobs, and a check of the outputs of all of them.

    The check takes a dictionary of outputs, in f64, per job, and returns None
    or what is wrong.
    """

    name: str
    jobs: List[Job]
    check: Callable

    def seconds(self):
        return sum(job.seconds() for job in self.jobs)


@dataclasses.dataclass
class Settings:
    na_run: str
    workers: int
    # Where the inputs of failing tests go.
    keep: str
    # Without a result for as long as this, na-run counts as hanging. Machines
    # that are shared can be slow for minutes.
    timeout: float = 600
    # Seconds of work that one process of na-run gets, roughly.
    chunk: float = 6
    # No process starts after this time, by time.monotonic().
    deadline: Optional[float] = None
    # Where inputs and outputs go; None for where temporary files do.
    scratch: Optional[str] = None


@dataclasses.dataclass
class Outcome:
    """What became of some tests."""

    count: int
    failures: list
    # (seconds in na-run, test) of each job that ran.
    times: list
    # (test, remark) where the compiler says what it could not do.
    remarks: list = dataclasses.field(default_factory=list)
    # Tests that there was no time for.
    left: int = 0


@dataclasses.dataclass
class Failure:
    name: str
    message: str
    commands: List[str]


class _Process:
    """na-run --jobs, whose lines arrive with a time limit."""

    def __init__(self, settings, path, errors):
        self.process = subprocess.Popen(
            [settings.na_run, f"--jobs={path}"],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        self.lines = queue.Queue()
        self.timeout = settings.timeout
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def next(self, seconds):
        """The next line, None at the end; kills a process that takes too long."""
        try:
            return self.lines.get(timeout=self.timeout + 20 * seconds)
        except queue.Empty:
            self.process.kill()
            raise TimeoutError from None

    def close(self):
        self.thread.join()
        self.process.stdout.close()
        return self.process.wait()


# A kernel that faults takes the device away from its process.
_LOST_DEVICE = re.compile(
    "CUDA_ERROR_(ILLEGAL|MISALIGNED|LAUNCH_|ASSERT|HARDWARE|INVALID_PC|INVALID_ADDR"
    "|CONTEXT_IS_DESTROYED|ECC|UNKNOWN)"
)


def _run_jobs(settings, jobs, arguments, folder):
    """Returns for each job its error, None if it ran, its seconds and remarks."""
    errors = ["not run"] * len(jobs)
    seconds = [0.0] * len(jobs)
    remarks = [[] for _ in jobs]
    log = os.path.join(folder, "stderr.txt")
    start = 0
    while start < len(jobs):
        path = os.path.join(folder, "jobs.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            for line in arguments[start:]:
                print(json.dumps({"args": line}), file=file)
        with open(log, "w+", encoding="utf-8", errors="replace") as stderr:
            process = _Process(settings, path, stderr)
            late = restart = False
            while start < len(jobs):
                try:
                    line = process.next(jobs[start].seconds())
                except TimeoutError:
                    late = True
                    break
                if line is None:
                    break
                result = json.loads(line)
                errors[start] = (
                    None if result["ok"] else "error: " + result.get("error", "none")
                )
                if result["ok"]:
                    seconds[start] = (
                        result["compile_s"]["total"] + result["first_run_s"]
                    )
                    remarks[start] = result.get("remarks", [])
                start += 1
                if _LOST_DEVICE.search(errors[start - 1] or ""):
                    restart = True
                    process.process.kill()
                    break
            code = process.close()
            stderr.seek(0)
            said = stderr.read()
        if start < len(jobs) and not restart:
            how = "hangs" if late else f"died with exit code {code}"
            errors[start] = f"na-run {how}: {said[-1500:].strip()}"
            start += 1
    return errors, seconds, remarks


def _read_outputs(problem, files):
    outputs = {}
    for name, (shape, dtype) in problem.output_types().items():
        array = np.load(files[name])
        if array.shape != shape or array.dtype != STORED[dtype]:
            raise ValueError(
                f"{name} is {array.dtype}{list(array.shape)}, not "
                f"{STORED[dtype]}{list(shape)}"
            )
        outputs[name] = load(array, dtype)
    return outputs


def _run_chunk(settings, tests):
    """Runs some tests in one process of na-run."""
    failures, times, said = [], [], []
    with tempfile.TemporaryDirectory(
        prefix="na-conformance-", dir=settings.scratch
    ) as folder:
        jobs, arguments, files = [], [], []
        folders = {}
        for test in tests:
            for job in test.jobs:
                if id(job.data) not in folders:
                    inputs = os.path.join(folder, f"in{len(folders)}")
                    os.mkdir(inputs)
                    folders[id(job.data)] = inputs
                    job.data.write(inputs)
                outputs = {
                    name: os.path.join(folder, f"out{len(jobs)}.{name}.npy")
                    for name in job.data.problem.output_types()
                }
                line = job.flags() + [
                    "--inputs=" + _list(job.data.paths),
                    "--outputs=" + _list(outputs),
                ]
                jobs.append(job)
                files.append(outputs)
                arguments.append(line)
        errors, seconds, remarks = _run_jobs(settings, jobs, arguments, folder)

        first = 0
        for test in tests:
            mine = range(first, first + len(test.jobs))
            first += len(test.jobs)
            times += [(seconds[i], test.name) for i in mine]
            said += [(test.name, text) for i in mine for text in remarks[i]]
            message = next((errors[i] for i in mine if errors[i]), None)
            if message is None:
                try:
                    message = test.check(
                        *[_read_outputs(jobs[i].data.problem, files[i]) for i in mine]
                    )
                except Exception:  # pylint: disable=broad-except
                    message = traceback.format_exc().strip()
            for i in mine:
                for path in files[i].values():
                    if os.path.exists(path):
                        os.remove(path)
            if message:
                commands = [
                    _command(settings, jobs[i], folders[id(jobs[i].data)]) for i in mine
                ]
                failures.append(Failure(test.name, message, commands))
        for job in jobs:
            job.data.release()
    return Outcome(len(tests), failures, times, said)


def _list(paths):
    return ",".join(f"{name}={path}" for name, path in paths.items())


def _command(settings, job, folder):
    """The command that repeats a job; its inputs are kept for it."""
    kept = tempfile.mkdtemp(prefix="inputs-", dir=settings.keep)
    paths = {}
    for name, path in job.data.paths.items():
        paths[name] = os.path.join(kept, os.path.basename(path))
        shutil.copyfile(path, paths[name])
    words = [settings.na_run, *job.flags(), "--inputs=" + _list(paths)]
    if job.pipeline != "naive" or job.target:
        words.append("--verify")
    return shlex.join(words)


def _chunks(tests, limit):
    """Cuts tests into chunks of about `limit` seconds, each of which one process
    runs; neighbours share data."""
    chunks, chunk, seconds, elements, last = [], [], 0.0, 0, None
    for test in tests:
        data = test.jobs[0].data
        more = 0
        if data is not last:
            types = data.problem.input_types().values()
            more = sum(int(np.prod(shape)) for shape, _ in types)
            if chunk and (seconds > limit or elements + more > CHUNK_ELEMENTS):
                chunks.append((seconds, chunk))
                chunk, seconds, elements = [], 0.0, 0
        chunk.append(test)
        seconds += test.seconds()
        elements += more
        last = data
    if chunk:
        chunks.append((seconds, chunk))
    # The longest first, so that no worker ends long after the others.
    chunks.sort(key=lambda c: -c[0])
    return [chunk for _, chunk in chunks]


# Forked workers find their chunks here: tests hold functions, which do not
# travel between processes.
_work = None


def _run_numbered(index):
    settings, chunks = _work
    if settings.deadline and time.monotonic() > settings.deadline:
        return Outcome(0, [], [], left=len(chunks[index]))
    return _run_chunk(settings, chunks[index])


def run_tests(settings, tests, report):
    """Runs all tests; calls `report(failure)` for each failure as it comes."""
    global _work  # pylint: disable=global-statement
    light, heavy = [], []
    for test in tests:
        (heavy if any(job.is_heavy() for job in test.jobs) else light).append(test)
    heavy_chunks = _chunks(heavy, settings.chunk)
    chunks = heavy_chunks + _chunks(light, settings.chunk)
    _work = settings, chunks
    context = multiprocessing.get_context("fork")
    total = Outcome(0, [], [])
    start = shown = time.monotonic()
    sys.stdout.flush()
    few = min(HEAVY_WORKERS, settings.workers, len(heavy_chunks))
    pools = [
        concurrent.futures.ProcessPoolExecutor(max(count, 1), context)
        for count in (few, settings.workers - few)
    ]
    with contextlib.ExitStack() as stack:
        for pool in pools:
            stack.enter_context(pool)
        futures = {
            pools[i >= len(heavy_chunks)].submit(_run_numbered, i): i
            for i in range(len(chunks))
        }
        for future in concurrent.futures.as_completed(futures):
            try:
                outcome = future.result()
            except Exception as error:  # pylint: disable=broad-except
                chunk = chunks[futures[future]]
                why = f"the worker failed: {error!r}"
                outcome = Outcome(
                    len(chunk), [Failure(test.name, why, []) for test in chunk], []
                )
            total.count += outcome.count
            total.failures += outcome.failures
            total.times += outcome.times
            total.remarks += outcome.remarks
            total.left += outcome.left
            for failure in outcome.failures:
                report(failure)
            now = time.monotonic()
            if now - shown > 20:
                shown = now
                print(
                    f"  {total.count} of {len(tests)} tests, {now - start:.0f} s",
                    flush=True,
                )
    return total
