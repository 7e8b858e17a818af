#!/usr/bin/env python3
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times our GPU paths beside PyTorch's operators and naive kernels on one GPU.

  benchmarks/gpu.py --na-run ./na-run --output results.json --plot results.png

Per problem of the suite, what is measured takes turns: all of it cool, then all
of it sustained (clock.py). Everything is verified first, on sampled rows, against
an f64 reference from the same rounded inputs. Times are of whole operators, in
memory order heads-last: permutes, concatenations and softmax included.

What can be measured (--what, a comma-separated list of names or patterns):
  na-fused na-unfused na-naive  our paths, each run a process of na-run; with
                                -tf32, the f32 problems with rounded factors;
                                with -sm90, the code that Hopper shares with
                                older chips
  naive-cuda                    the hand-written kernels of peers/naive.cu
  hopper-cuda                   a program built from peers/hopper_na_forward.cu
                                (--hopper), on the problems that it knows
  dense-*                       PyTorch's attention over all pairs
  flex-*                        compiled FlexAttention with the same mask

Results are written after every problem, so that a run that is cut off keeps what
it has; --resume continues one. --report prints the tables of a stored file.
"""

import argparse
import contextlib
import datetime
import fcntl
import fnmatch
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import clock
import report
from common import (HERE, ITEM_BYTES, Skip, as_json, check_rows, commit,
                    dense_problem, host_cpu, least_bytes, pick_samples,
                    read_suite, reference_rows, run_process, useful_flop,
                    weights_elements)
from torch_peers import DENSE, PEERS, make_peer

OURS = ("na-fused", "na-fused-sm90", "na-fused-tf32", "na-unfused", "na-unfused-tf32",
        "na-naive")
NAIVE = "naive-cuda"
HOPPER = "hopper-cuda"
WHAT = OURS + (NAIVE, HOPPER) + PEERS
WEIGHTS_LIMIT = 40e9
DENSE_LIMIT_S = 1.0
# For the estimate of what the dense operators would take.
DENSE_RATE = {"bf16": 300e12, "f16": 300e12, "f32": 20e12}
PROCESS_LIMIT_S = 150


class Measured:
    """One thing that is timed on a problem."""

    def __init__(self, name, run):
        self.name, self.run = name, run
        self.samples = {regime: [] for regime in clock.REGIMES}
        self.entry = {}

    def check_weights(self, element_bytes):
        size = weights_elements(self.run.problem) * element_bytes
        if size > WEIGHTS_LIMIT:
            raise Skip(f"the weights would take {size / 1e9:.0f} GB, over "
                       f"{WEIGHTS_LIMIT / 1e9:.0f}")

    def record_error(self, rows, want):
        dtype = self.run.problem.dtype
        if self.name.endswith("-tf32"):
            dtype = "tf32"
        whole, worst, passed = check_rows(rows, want, dtype)
        self.entry.update(error=whole, worst_row_error=worst)
        if not passed:
            raise Skip(f"WRONG: error {whole:.1e}, worst row {worst:.1e}")


class Peer(Measured):
    """A PyTorch operator, in this process."""

    def prepare(self):
        run, torch = self.run, self.run.torch
        expected = run.reference
        if self.name in DENSE:
            dense = dense_problem(run.problem)
            seconds = useful_flop(dense) / DENSE_RATE[run.problem.dtype]
            if seconds > DENSE_LIMIT_S:
                raise Skip(f"would take about {seconds:.1f} s")
            expected = run.dense_reference
        start = time.perf_counter()
        try:
            with run.on_device():
                self.call = make_peer(torch, self.name, run.problem,
                                      run.tensors)
                out = self.call()
                rows = torch.stack([out[b, h, t] for b, t, h in run.samples])
                rows = rows.double().cpu().numpy()
                del out
        except Skip:
            raise
        except Exception as error:  # Whatever PyTorch cannot do.
            raise Skip(f"{type(error).__name__}: {first_line(error)}") from None
        self.entry["prepare_s"] = time.perf_counter() - start
        self.entry.update(getattr(self.call, "details", {}))
        self.record_error(rows, expected())

    def measure(self, regime):
        options = self.run.options
        with self.run.on_device():
            return self.run.clock.measure(self.call, regime, options.runs,
                                          options.budget)


class Ours(Measured):
    """One of our paths; every measurement is a process."""

    def command(self, *more):
        run, options = self.run, self.run.options
        return [options.na_run, *run.problem.flags(),
                f"--target={'cuda' if run.on_gpu else 'cpu'}",
                f"--pipeline={self.name.split('-')[1]}", "--bench",
                "--inputs=" + ",".join(f"{n}={p}" for n, p
                                       in run.input_files().items()),
                *(["--no-fallback"] if run.on_gpu else []),
                *(["--tf32"] if self.name.endswith("-tf32") else []),
                *(["--chip=sm_90"] if self.name.endswith("-sm90") else []),
                *([f"--lock={options.lock}"]
                  if options.lock and run.on_gpu else []),
                *options.na_run_args.split(), *more]

    def execute(self, *more):
        path = os.path.join(self.run.folder, "report.json")
        self.run.free_memory()
        run_process(self.command(f"--json={path}", *more),
                    self.run.process_limit())
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def prepare(self):
        run = self.run
        if not self.name.startswith("na-fused"):
            # Scores are f32; the weights are in the type of the inputs.
            self.check_weights(4)
        output = os.path.join(run.folder, "o.npy")
        result = self.execute("--runs=1", f"--outputs=o={output}")
        self.seconds = result["bench"]["median_s"]
        for key in ("compile_s", "load_s", "first_run_s", "chip", "launches",
                    "remarks"):
            if key in result:
                self.entry[key] = result[key]
        values = np.load(output, mmap_mode="r")
        values = values.reshape(values.shape[0], -1, *values.shape[-2:])
        rows = np.stack([values[b, t, h] for b, t, h in run.samples])
        os.remove(output)
        if rows.dtype.itemsize == 2 and run.problem.dtype == "bf16":
            rows = (rows.view(np.uint16).astype(np.uint32) << 16).view(
                np.float32)
        self.record_error(rows.astype(np.float64), run.reference())

    def measure(self, regime):
        options = self.run.options
        runs = clock.run_count(self.seconds, options.runs, options.budget)
        flags = [f"--runs={runs}", "--cold"]
        if self.run.on_gpu:
            flags.append("--pause=10" if regime == "cool" else "--pause=0")
        result = self.execute(*flags)["bench"]
        self.entry.setdefault("bench", {})[regime] = result
        return result.get("times_s") or [result["median_s"]] * result["runs"]


class NaiveCuda(Measured):
    """The hand-written naive kernels; every measurement is a process."""

    def execute(self, *more):
        if not self.run.naive:
            raise Skip("there is no naive program")
        self.run.free_memory()
        with self.run.on_device():
            return json.loads(run_process(
                [self.run.naive, *self.run.problem.flags(), *more],
                self.run.process_limit()))

    def prepare(self):
        dtype = self.run.problem.dtype
        # Weights in the inputs' type are faster. Logits that are too large for
        # it are rounded by more than the tolerance: then f32.
        for self.weights in ("input", "f32")[:1 if dtype == "f32" else 2]:
            self.check_weights(
                4 if self.weights == "f32" else ITEM_BYTES[dtype])
            result = self.execute("--runs=1", f"--weights={self.weights}")
            if result["ok"]:
                break
        self.seconds = result["median_s"]
        for key in ("error", "worst_row_error", "kernels_s", "weights",
                    "weights_bytes"):
            self.entry[key] = result[key]
        if not result["ok"]:
            raise Skip(f"WRONG: error {result['error']:.1e}, worst row "
                       f"{result['worst_row_error']:.1e}")

    def measure(self, regime):
        options = self.run.options
        runs = clock.run_count(self.seconds, options.runs, options.budget)
        result = self.execute(
            f"--runs={runs}", "--verify=0", f"--weights={self.weights}",
            "--pause=10" if regime == "cool" else "--pause=0")
        return result["times_s"]


class HopperCuda(Measured):
    """The hand-written Hopper kernels: the problems that are built in, with
    their own data and verification; the L2 is not flushed."""

    NAMES = {"dense-16k": "dense-16k", "dense-16k-d64": "dense-d64",
             "seq-32k-s1": "seq-32k-s1", "flux-s1": "flux-s1",
             "flux-s16": "flux-s16", "hunyuan-s1": "hunyuan-s1",
             "hunyuan-s16": "hunyuan-s16", "video-16x44x80": "video16"}

    def execute(self, runs, pause_us):
        """Seconds, error and line of the fastest schedule."""
        name = self.NAMES[self.run.key]
        self.run.free_memory()
        with self.run.on_device():
            text = run_process([self.run.options.hopper, name, str(runs),
                                str(pause_us)], self.run.process_limit())
        found = []
        for line in text.splitlines():
            match = re.match(r"(\S+) .*? ([\d.]+) ms .* rel (\S+) ", line)
            if match and match[1] == name:
                if not line.endswith(" ok"):
                    raise Skip(f"WRONG: {line}")
                found.append((1e-3 * float(match[2]), float(match[3]), line))
        if not found:
            raise Skip(f"it printed no line of {name}")
        return min(found)

    def prepare(self):
        if not self.run.options.hopper:
            raise Skip("--hopper names no program")
        if self.run.key not in self.NAMES:
            raise Skip("the problem is not built in")
        self.seconds, self.entry["error"], _ = self.execute(3, 0)

    def measure(self, regime):
        options = self.run.options
        runs = clock.run_count(self.seconds, options.runs, options.budget)
        if regime == "cool":
            seconds, _, line = self.execute(runs, 10000)
        else:
            runs = clock.run_count(self.seconds, 1000, 1.0)
            seconds, _, line = self.execute(runs, 0)
        self.entry.setdefault("lines", {})[regime] = line
        return [seconds] * runs


def first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines or ["no message"])[0][:200]


class ProblemRun:
    """A problem with its inputs on the device."""

    def __init__(self, session, key, problem, seed=0):
        self.__dict__.update(session.__dict__)
        self.key, self.problem = key, problem
        torch = self.torch
        dtype = self.dtypes[problem.dtype]
        with self.on_device():
            generator = torch.Generator(self.device).manual_seed(seed)
            self.tensors = {
                name: torch.randn(shape, generator=generator,
                                  device=self.device,
                                  dtype=torch.float32).to(dtype)
                for name, (shape, _) in problem.input_types().items()}
        self.samples = pick_samples(problem, seed)
        self.cached = {}
        self.folder = tempfile.mkdtemp(dir=self.scratch)

    def reference(self):
        return self._reference("window", self.problem)

    def dense_reference(self):
        return self._reference("dense", dense_problem(self.problem))

    def _reference(self, key, problem):
        if key not in self.cached:
            with self.on_device():
                self.cached[key] = reference_rows(self.torch, problem,
                                                  self.tensors, self.samples)
        return self.cached[key]

    def input_files(self):
        if "files" not in self.cached:
            files = {}
            for name, tensor in self.tensors.items():
                files[name] = os.path.join(self.folder, f"{name}.npy")
                if tensor.dtype == self.torch.bfloat16:
                    tensor = tensor.view(self.torch.int16)
                    array = tensor.cpu().numpy().view(np.uint16)
                else:
                    array = tensor.cpu().numpy()
                np.save(files[name], array)
            self.cached["files"] = files
        return self.cached["files"]

    @contextlib.contextmanager
    def on_device(self):
        """Around whatever runs kernels: no other worker does so meanwhile."""
        if not self.options.lock:
            yield
            return
        with open(self.options.lock, "a", encoding="utf-8") as file:
            fcntl.lockf(file, fcntl.LOCK_EX)
            yield
            if self.on_gpu:
                self.torch.cuda.synchronize()

    def free_memory(self):
        if self.on_gpu:
            self.torch.cuda.empty_cache()

    def process_limit(self):
        left = self.deadline - time.monotonic()
        if left < 5:
            raise Skip("no time left")
        # The processes of workers wait for each other.
        return left if self.options.lock else min(PROCESS_LIMIT_S, left)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.tensors = None
        self.free_memory()


class Session:
    """What all problems share."""

    def __init__(self, options):
        import torch
        self.options, self.torch = options, torch
        self.deadline = time.monotonic() + options.time_limit
        self.on_gpu = options.device == "cuda"
        if self.on_gpu and not torch.cuda.is_available():
            sys.exit("error: PyTorch sees no GPU; --device=cpu tries the "
                     "driver on the CPU")
        self.device = torch.device(options.device)
        self.clock = (clock.GpuClock(torch, self.device) if self.on_gpu
                      else clock.CpuClock())
        self.dtypes = {"f32": torch.float32, "f16": torch.float16,
                       "bf16": torch.bfloat16}
        shared = "/dev/shm"
        self.scratch = options.scratch or (
            shared if os.access(shared, os.W_OK) else None)
        self.naive = None

    def describe(self):
        torch = self.torch
        facts = dict(date=datetime.datetime.now().isoformat(timespec="minutes"),
                     commit=commit(), command=" ".join(sys.argv),
                     host=host_cpu(), torch=torch.__version__)
        if self.on_gpu:
            facts.update(
                gpu=torch.cuda.get_device_name(self.device),
                cuda=torch.version.cuda,
                driver=query_gpu("driver_version"),
                power_limit=query_gpu("power.limit"))
            try:
                import triton
                facts["triton"] = triton.__version__
            except ImportError:
                pass
        return facts


def query_gpu(field):
    try:
        done = subprocess.run(
            ["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader"],
            capture_output=True, text=True, timeout=20)
        return done.stdout.splitlines()[0].strip()
    except (OSError, IndexError, subprocess.TimeoutExpired):
        return "unknown"


def build_naive(options, folder):
    """The program of peers/naive.cu; None, and a line, if there is none."""
    if options.naive:
        return options.naive
    program = os.path.join(folder, "naive")
    command = [options.nvcc, "-O3", "-std=c++17", "-arch=native", "-o", program,
               os.path.join(HERE, "peers", "naive.cu")]
    print("build: " + " ".join(command), flush=True)
    try:
        run_process(command, 300)
    except Skip as error:
        print(f"{NAIVE} is left out: {error}")
        return None
    return program


def measure_problem(run, names):
    """{name: entry} of one problem."""
    measured, results = [], {}

    def give_up(item, error):
        item.entry["skipped"] = str(error)
        print(f"  {item.name}: {error}", flush=True)
        if item in measured:
            measured.remove(item)

    for name in names:
        if name.endswith("-tf32") and run.problem.dtype != "f32":
            continue
        if name in OURS:
            kind = Ours
        else:
            kind = {NAIVE: NaiveCuda, HOPPER: HopperCuda}.get(name, Peer)
        item = kind(name, run)
        results[name] = item.entry
        try:
            run.process_limit()
            item.prepare()
            measured.append(item)
        except Skip as error:
            give_up(item, error)
    for _ in range(run.options.rounds):
        for regime in run.options.regimes:
            for item in list(measured):
                seconds = getattr(item, "seconds", 0)
                if regime != "cool" and seconds > run.options.budget:
                    item.entry["note"] = "slower than the budget: cool only"
                    continue
                try:
                    run.process_limit()
                    item.samples[regime] += item.measure(regime)
                except (Skip, RuntimeError) as error:
                    give_up(item, error)
    for item in measured:
        for regime, times in item.samples.items():
            if times:
                item.entry[regime] = dict(
                    median_ms=1e3 * statistics.median(times),
                    fastest_ms=1e3 * min(times), runs=len(times))
    return results


def prewarm(options, problems, names):
    """Compiles FlexAttention's kernels in processes side by side, into the cache
    on disk that this process then finds them in."""
    flex = [name for name in names if name.startswith("flex-")]
    keys = list(problems)
    start = time.monotonic()
    workers = []
    for first in range(min(options.prewarm, len(keys)) if flex else 0):
        mine = keys[first::options.prewarm]
        workers.append(subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "--compile-only",
             "--device", options.device, "--suite", options.suite,
             "--problems", ",".join(sorted({k.split("@")[0] for k in mine})),
             "--dtypes", options.dtypes, "--what", ",".join(flex)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    for worker in workers:
        worker.wait()
    print(f"prewarm: {time.monotonic() - start:.0f} s", flush=True)


def compile_only(options, problems, names):
    session = Session(options)
    with session.torch.no_grad():
        for key, problem in problems.items():
            run = ProblemRun(session, key, problem)
            for name in names:
                try:
                    Peer(name, run).prepare()
                except Skip as error:
                    print(f"{key} {name}: {error}")
            run.close()


def parse_options(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--na-run", default="build/bin/na-run", metavar="PATH")
    parser.add_argument("--na-run-args", default="", metavar="FLAGS",
                        help="more flags for na-run, separated by spaces")
    parser.add_argument("--suite", default=os.path.join(HERE, "suite.json"))
    parser.add_argument("--problems", default="*", metavar="PATTERNS",
                        help="names or patterns, separated by commas; a leading "
                        "'-' leaves out (default: all)")
    parser.add_argument("--dtypes", default="suite", metavar="LIST",
                        help="types instead of the suite's: f32,f16,bf16")
    parser.add_argument("--what", default="*", metavar="PATTERNS",
                        help="what to measure (see above; default: all)")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--regimes", default="cool,sustained")
    parser.add_argument("--budget", type=float, default=4, metavar="SECONDS",
                        help="of timed runs per path, problem and regime; slower "
                        "ones get fewer runs, at least 3 (default: 4)")
    parser.add_argument("--quick", action="store_true",
                        help="5 runs, a budget of 1 s, cool only")
    parser.add_argument("--time-limit", type=float, default=1e9,
                        metavar="SECONDS", help="stop in time")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--nvcc", default="nvcc", metavar="PATH")
    parser.add_argument("--naive", metavar="PATH",
                        help="a program built from peers/naive.cu")
    parser.add_argument("--hopper", metavar="PATH",
                        help="a program built from peers/hopper_na_forward.cu")
    parser.add_argument("--scratch", metavar="FOLDER",
                        help="where arrays are exchanged (default: /dev/shm)")
    parser.add_argument("--output", metavar="FILE", help="write JSON")
    parser.add_argument("--resume", metavar="FILE",
                        help="start from these results; leave out what they have")
    parser.add_argument("--plot", metavar="FILE",
                        help="draw the results as PNG (needs matplotlib)")
    parser.add_argument("--report", metavar="FILE",
                        help="measure nothing; print (and --plot) a JSON file")
    parser.add_argument("--prewarm", type=int, default=0, metavar="N",
                        help="compile FlexAttention in N processes first, which "
                        "saves minutes on a host of many cores")
    parser.add_argument("--workers", type=int, default=1, metavar="N",
                        help="processes that prepare problems side by side; "
                        "they run kernels in turn")
    parser.add_argument("--lock", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--compile-only", action="store_true",
                        help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true",
                        help="print the problems and what would be measured")
    options = parser.parse_args(arguments)
    if options.quick:
        options.runs, options.budget, options.regimes = 5, 1.0, "cool"
    options.regimes = options.regimes.split(",")
    for regime in options.regimes:
        if regime not in clock.REGIMES:
            parser.error(f"--regimes: '{regime}' is none of {clock.REGIMES}")
    for dtype in options.dtypes.split(","):
        if dtype not in ("suite", "f32", "f16", "bf16"):
            parser.error(f"--dtypes: '{dtype}' is none of suite, f32, f16, bf16")
    return options


def select(names, patterns, option):
    """The names that a pattern matches, in order."""
    chosen = []
    parts = [p for p in patterns.split(",") if p]
    wanted = [p for p in parts if not p.startswith("-")] or ["*"]
    unwanted = [p[1:] for p in parts if p.startswith("-")]
    for pattern in wanted + unwanted:
        if not fnmatch.filter(names, pattern):
            sys.exit(f"error: {option}: nothing is called '{pattern}'; there "
                     f"are {', '.join(names)}")
    for name in names:
        if (any(fnmatch.fnmatch(name, p) for p in wanted)
                and not any(fnmatch.fnmatch(name, p) for p in unwanted)):
            chosen.append(name)
    return chosen


def select_problems(options):
    """{key: Problem}; the key names the type where it is not the suite's."""
    suite = read_suite(options.suite)
    chosen = {}
    for name in select(list(suite), options.problems, "--problems"):
        for dtype in options.dtypes.split(","):
            own = dtype in ("suite", suite[name].dtype)
            key = name if own else f"{name}@{dtype}"
            chosen[key] = (suite[name] if own
                           else suite[name].replace(dtype=dtype))
    return chosen


def print_list(problems, names):
    print(f"{'problem':24} {'type':5} {'GFLOP':>10} {'MB':>8} {'weights GB':>11}")
    for key, p in problems.items():
        print(f"{key:24} {p.dtype:5} {useful_flop(p) / 1e9:10.1f} "
              f"{least_bytes(p) / 1e6:8.1f} "
              f"{weights_elements(p) * 4 / 1e9:11.2f}")
    print(f"{len(problems)} problems: {', '.join(names)}")


def save(results, path):
    if not path:
        return
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
        file.write("\n")
    os.replace(path + ".tmp", path)


def run_all(options, problems, names):
    session = Session(options)
    results = dict(session.describe(), problems={})
    if options.resume:
        with open(options.resume, encoding="utf-8") as file:
            before = json.load(file)
        results["problems"] = before.pop("problems")
        results["runs_before"] = before.pop("runs_before", []) + [before]
    print(f"{results.get('gpu', results['host'])}, PyTorch {results['torch']}, "
          f"commit {results['commit']}", flush=True)
    with tempfile.TemporaryDirectory() as folder, session.torch.no_grad():
        if NAIVE in names and (session.on_gpu or options.naive):
            session.naive = build_naive(options, folder)
        if options.prewarm:
            prewarm(options, problems, names)
        used = {p.dtype: session.dtypes[p.dtype] for p in problems.values()}
        if not options.lock:
            results["rates"] = clock.measure_rates(
                session.torch, session.clock, session.device, used,
                small=not session.on_gpu)
            report.print_rates(results["rates"])
        if options.workers > 1:
            run_workers(options, problems, results, folder, session)
            return results
        for key, problem in problems.items():
            if key in results["problems"]:
                continue
            if session.deadline - time.monotonic() < 15:
                print(f"no time left for {key} and what follows")
                break
            print(f"{key}", flush=True)
            start = time.monotonic()
            run = ProblemRun(session, key, problem)
            try:
                entries = measure_problem(run, names)
            finally:
                run.close()
            results["problems"][key] = dict(
                problem=as_json(problem), useful_flop=useful_flop(problem),
                dense_flop=useful_flop(dense_problem(problem)),
                least_bytes=least_bytes(problem), rates=results.get("rates"),
                wall_s=time.monotonic() - start, entries=entries)
            if not options.lock:
                report.print_problem(key, results["problems"][key])
            save(results, options.output)
    return results


def run_workers(options, problems, results, folder, session):
    """Deals the problems to processes of this program, which compile, write
    and read side by side and take turns on the GPU."""
    left = [key for key in problems if key not in results["problems"]]
    # Large problems first, one to each, so that no worker ends with two.
    left.sort(key=lambda key: -useful_flop(problems[key]))
    running = {}

    def start(key):
        output = os.path.join(folder, f"{key}.json")
        name = key.partition("@")[0]
        command = [
            sys.executable, os.path.abspath(__file__), *sys.argv[1:],
            "--workers=1", "--prewarm=0", "--resume=", "--plot=",
            f"--problems={name}",
            f"--dtypes={problems[key].dtype}", f"--output={output}",
            f"--lock={os.path.join(folder, 'lock')}",
            f"--time-limit={session.deadline - time.monotonic():.0f}"]
        if session.naive:
            command.append(f"--naive={session.naive}")
        log = open(output + ".log", "w", encoding="utf-8")
        running[key] = (subprocess.Popen(command, stdout=log, stderr=log),
                        output, log)

    def collect(key):
        process, output, log = running.pop(key)
        log.close()
        try:
            with open(output, encoding="utf-8") as file:
                found = list(json.load(file)["problems"].values())
        except (OSError, ValueError):
            found = []
        if not found:
            with open(output + ".log", encoding="utf-8") as file:
                print(f"{key}: no result (status {process.returncode}); its "
                      f"last lines:\n{''.join(file.readlines()[-5:])}")
            return
        results["problems"][key] = dict(found[0], rates=results.get("rates"))
        report.print_problem(key, results["problems"][key])
        save(results, options.output)

    while left or running:
        late = session.deadline - time.monotonic() < 15
        while left and len(running) < options.workers and not late:
            start(left.pop(0))
        if late and left:
            print("no time left for " + ", ".join(left))
            left.clear()
        for key in [k for k, v in running.items() if v[0].poll() is not None]:
            collect(key)
        time.sleep(0.1)
    results["workers"] = options.workers


def main():
    options = parse_options()
    if options.report:
        with open(options.report, encoding="utf-8") as file:
            results = json.load(file)
        for key, problem in results["problems"].items():
            report.print_problem(key, problem)
    else:
        problems = select_problems(options)
        names = select(list(WHAT), options.what, "--what")
        if not options.hopper and HOPPER not in options.what.split(","):
            names = [name for name in names if name != HOPPER]
        if options.list:
            print_list(problems, names)
            return 0
        if options.compile_only:
            compile_only(options, problems, names)
            return 0
        results = run_all(options, problems, names)
    results["summary"] = report.summarize(results)
    report.print_summary(results["summary"])
    save(results, options.output)
    if options.plot:
        report.draw(results, options.plot)
    wrong = [f"{key}: {name}" for key, problem in results["problems"].items()
             for name, entry in problem["entries"].items()
             if entry.get("skipped", "").startswith("WRONG")]
    for line in wrong:
        print(f"error: wrong results of {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
