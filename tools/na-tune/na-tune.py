#!/usr/bin/env python3
# ===- na-tune.py - Measures schedules and keeps the best -------------------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Measures the schedules that the cost model ranks first, and writes the best
one to a tuning file, which the compiler reads instead of its model.

  na-tune --output=tuned.json --target=cuda --shape=256x256 --window=80x80 \\
          --heads=24 --head-dim=128 --dtype=bf16
  na-tune --output=tuned.json --suite=benchmarks/suite.json --target=cuda
  na-run --tuning-file=tuned.json ...

What is not an option of na-tune is one of na-run (see na-run --help): the
problem, the target, the data. It needs Python and na-run, nothing else.

Candidates are compiled side by side (--workers) and timed one after the other;
the fastest few are timed again, variants of the best one too (stages, warps),
and the winner is verified against the naive lowering. The file keeps what it had
of other problems.
"""

import argparse
import concurrent.futures
import datetime
import errno
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

FORMAT = "na-tuning 1"
HERE = os.path.dirname(os.path.abspath(__file__))


class Failure(Exception):
    """Something that cannot be done; the message says why."""


class Progress:
    """A bar on standard error: tqdm's if there is one, a line that is overwritten
    on terminals, and a line per step elsewhere."""

    def __init__(self, total, title, quiet=False):
        self.total, self.title, self.done = total, title, 0
        self.quiet, self.bar = quiet, None
        self.start = time.monotonic()
        if quiet:
            return
        if sys.stderr.isatty():
            try:
                from tqdm import tqdm

                self.bar = tqdm(total=total, desc=title, leave=False)
            except ImportError:
                pass

    def more(self, count):
        self.total += count
        if self.bar:
            self.bar.total = self.total
            self.bar.refresh()

    def step(self, text):
        self.done += 1
        if self.quiet:
            return
        if self.bar:
            self.bar.set_postfix_str(text, refresh=False)
            self.bar.update()
        elif sys.stderr.isatty():
            width = 24
            full = width * self.done // max(self.total, 1)
            left = (time.monotonic() - self.start) / self.done * (self.total - self.done)
            sys.stderr.write(f"\r\033[K{self.title} [{'#' * full}{'.' * (width - full)}] "
                             f"{self.done}/{self.total}, {left:.0f} s left, {text}"[:160])
            sys.stderr.flush()
        else:
            print(f"{self.title} {self.done}/{self.total} {text}", file=sys.stderr)

    def close(self):
        if self.bar:
            self.bar.close()
        elif not self.quiet and sys.stderr.isatty():
            sys.stderr.write("\r\033[K")


def run(command, timeout):
    """Standard output of a process; a failure is a Failure with its last words."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise Failure(f"took more than {timeout:.0f} s") from None
    except OSError as error:
        raise Failure(f"cannot run {command[0]}: {error.strerror or error}") from None
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        errors = [line for line in lines if "error" in line.lower()]
        why = (errors or lines[-1:] or [f"exit code {done.returncode}, no message"])[0]
        if done.returncode < 0:
            why = f"killed by signal {-done.returncode}: {why}"
        raise Failure(why.strip()[:300])
    return done.stdout


def run_json(command, timeout):
    text = run(command, timeout)
    try:
        return json.loads(text)
    except ValueError:
        raise Failure(f"{command[0]} did not print JSON but {text.strip()[:80]!r}") from None


def format_box(box):
    return "x".join(map(str, box))


def describe(schedule):
    text = f"query {format_box(schedule['query_tile'])}, key {format_box(schedule['key_tile'])}"
    if schedule.get("warpgroup_tile"):
        text += f", warpgroup {format_box(schedule['warpgroup_tile'])}"
    for name, label in (("warps", "warps"), ("stages", "stages"), ("value_tile", "values")):
        if schedule.get(name):
            text += f", {label} {schedule[name]}"
    if schedule.get("heads_per_tile", 1) != 1:
        text += f", heads {schedule['heads_per_tile']}"
    return text


def format_time(seconds):
    return f"{seconds * 1e3:.4g} ms"


class Candidate:
    """A schedule and what was found out about it."""

    def __init__(self, key, entry):
        self.key, self.schedule = key, entry["schedule"]
        self.predicted = entry["prediction"]["seconds"]
        self.seconds, self.error, self.report = None, None, {}

    def as_json(self):
        result = {"schedule": self.schedule, "predicted_s": self.predicted}
        if self.error:
            result["error"] = self.error
        else:
            result["seconds"] = self.seconds
        return result


class Tuning:
    """The measurements of one problem."""

    def __init__(self, options, flags, folder):
        self.options, self.flags, self.folder = options, flags, folder
        self.on_gpu = False
        self.lock = threading.Lock()
        self.files = 0

    def explain(self, count, *more):
        command = [self.options.na_run, *self.flags, "--explain", "--json",
                   f"--candidates={count}", *more]
        result = run_json(command, self.options.process_limit)
        operations = result.get("operations", [])
        if len(operations) != 1:
            raise Failure(f"the program has {len(operations)} operations to tune, expected 1")
        self.on_gpu = operations[0]["target"] != "cpu"
        return operations[0]

    def write_candidate(self, candidate):
        """A tuning file that holds nothing but the candidate."""
        with self.lock:
            self.files += 1
            path = os.path.join(self.folder, f"{self.files}.json")
        save(path, {"format": FORMAT,
                    "entries": {candidate.key: {"schedule": candidate.schedule}}})
        return path

    def command(self, candidate, *more):
        command = [self.options.na_run, *self.flags,
                   f"--tuning-file={self.write_candidate(candidate)}", "--json"]
        if self.on_gpu:
            command += [f"--lock={self.options.lock}", "--no-fallback"]
        return command + list(more)

    def measure(self, candidate):
        options = self.options
        more = ["--bench", f"--runs={options.runs}"]
        if self.on_gpu:
            more.append(f"--pause={options.pause}")
        try:
            report = run_json(self.command(candidate, *more), options.process_limit)
            if report.get("warnings"):
                raise Failure(report["warnings"][0][:300])
            seconds = float(report["bench"]["median_s"])
        except (KeyError, TypeError, ValueError):
            candidate.error = "na-run reported no time"
            return
        except Failure as failure:
            candidate.error = str(failure)
            return
        candidate.report = report
        if candidate.seconds is None or seconds < candidate.seconds:
            candidate.seconds = seconds

    def measure_all(self, candidates, progress):
        workers = self.options.workers if self.on_gpu else 1
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            running = {}
            for candidate in candidates:
                running[pool.submit(self.measure, candidate)] = candidate
            for future in concurrent.futures.as_completed(running):
                future.result()
                candidate = running[future]
                what = candidate.error or format_time(candidate.seconds)
                progress.step(f"{describe(candidate.schedule)}: {what}")

    def verify(self, candidate):
        run(self.command(candidate, "--verify"), self.options.process_limit)

    def run(self):
        """The entry of the tuning file, and its key."""
        options = self.options
        explanation = self.explain(options.candidates)
        key = explanation["key"]
        candidates = [Candidate(key, entry) for entry in explanation["candidates"]]
        if not candidates:
            raise Failure("no schedule fits the target")
        if options.list:
            return key, {"candidates": [c.as_json() for c in candidates]}
        progress = Progress(len(candidates), options.title, options.quiet)
        try:
            self.measure_all(candidates, progress)
            model = candidates[0]
            self.measure_variants(candidates, progress)
            again = rank(candidates)[: options.finalists]
            progress.more(len(again))
            self.measure_all(again, progress)
            winner = self.find_verified(candidates)
        finally:
            progress.close()
        return key, self.make_entry(winner, model, candidates)

    def measure_variants(self, candidates, progress):
        """The tiles of the best one with other stages, warps and chunks of values."""
        measured = rank(candidates)
        if not measured or self.options.variants < 1:
            return
        best = measured[0].schedule
        flags = [f"--{name}-tile={format_box(best[name + '_tile'])}"
                 for name in ("query", "key", "warpgroup") if best.get(name + "_tile")]
        flags.append(f"--heads-per-tile={best.get('heads_per_tile', 1)}")
        found = self.explain(self.options.variants + 1, *flags)
        known = [candidate.schedule for candidate in candidates]
        variants = [Candidate(candidates[0].key, entry) for entry in found["candidates"]
                    if entry["schedule"] not in known]
        variants = variants[: self.options.variants]
        progress.more(len(variants))
        self.measure_all(variants, progress)
        candidates += variants

    def find_verified(self, candidates):
        for candidate in rank(candidates):
            try:
                self.verify(candidate)
                return candidate
            except Failure as failure:
                candidate.error = f"verification: {failure}"
        errors = [candidate.error for candidate in candidates if candidate.error]
        raise Failure(f"none of {len(candidates)} candidates can be used; the first one: "
                      f"{errors[0]}")

    def make_entry(self, winner, model, candidates):
        report = winner.report
        return {
            "schedule": winner.schedule,
            "seconds": winner.seconds,
            "predicted_s": winner.predicted,
            "model_schedule": model.schedule,
            "model_seconds": model.seconds,
            "gpu": report.get("gpu") or report.get("cpu") or "",
            "driver": report.get("driver"),
            "cuda": report.get("cuda"),
            "commit": self.options.commit,
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "runs": self.options.runs,
            "flags": self.flags,
            "candidates": [candidate.as_json() for candidate in rank(candidates)]
            + [candidate.as_json() for candidate in candidates if candidate.error],
        }


def rank(candidates):
    """Those that were timed, the fastest one first."""
    timed = [c for c in candidates if c.seconds is not None and not c.error]
    return sorted(timed, key=lambda candidate: candidate.seconds)


def save(path, content):
    """Writes a file so that nobody reads half of it."""
    folder = os.path.dirname(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(dir=folder, suffix=".json")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.write("\n")
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def check_writable(path):
    """Before what takes long: whether `save` can write there."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.access(folder, os.W_OK):
        code = errno.EACCES if os.path.isdir(folder) else errno.ENOENT
        raise Failure(f"--output={path}: {os.strerror(code)}")


def read_tuning(path):
    """The content of a tuning file, an empty one where there is no file."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except FileNotFoundError:
        return {"format": FORMAT, "entries": {}}
    except (OSError, ValueError) as error:
        raise Failure(f"--output={path}: {error}") from None
    if not isinstance(content, dict) or not isinstance(content.get("entries"), dict):
        raise Failure(f"--output={path}: the file is there, and is no tuning file")
    if content.get("format") != FORMAT:
        raise Failure(f"--output={path}: its format is {content.get('format')!r}, this is "
                      f"{FORMAT!r}")
    return content


def suite_problems(path, patterns, more):
    """(name, flags) of the problems of a suite like benchmarks/suite.json."""
    try:
        with open(path, encoding="utf-8") as file:
            entries = json.load(file)["problems"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failure(f"--suite={path}: {error}") from None
    problems = []
    for index, entry in enumerate(entries):
        name = entry.get("id", str(index))
        if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns.split(",")):
            continue
        flags = []
        for field in ("shape", "window", "stride", "dilation"):
            if entry.get(field):
                flags.append(f"--{field}={format_box(entry[field])}")
        if entry.get("causal"):
            flags.append("--causal=" + ",".join("ft"[c] for c in entry["causal"]))
        for field in ("batch", "heads", "kv_heads", "head_dim", "value_dim", "extra_kv",
                      "scale", "bias", "dtype"):
            value = entry.get(field)
            if value is not None and value is not False:
                name_of_flag = f"--{field.replace('_', '-')}"
                flags.append(name_of_flag if value is True else f"{name_of_flag}={value}")
        problems.append((name, flags + more))
    if not problems:
        raise Failure(f"--problems={patterns}: no such problem in {path}")
    return problems


def find_na_run(given):
    if given:
        return given
    beside = os.path.join(HERE, "na-run")
    found = beside if os.access(beside, os.X_OK) else shutil.which("na-run")
    if not found:
        raise Failure("there is no na-run beside na-tune or on PATH; give --na-run")
    return found


def find_commit():
    if "NA_COMMIT" in os.environ:
        return os.environ["NA_COMMIT"]
    try:
        return run(["git", "-C", HERE, "rev-parse", "--short", "HEAD"], 20).strip()
    except Failure:
        return "unknown"


def parse_options():
    parser = argparse.ArgumentParser(
        prog="na-tune", description=__doc__, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--output", default="tuning.json", metavar="FILE",
        help="the tuning file; what it has of other problems is kept (default: tuning.json)")
    add("--na-run", metavar="FILE", help="default: beside na-tune, or on PATH")
    add("--suite", metavar="FILE", help="tune the problems of a suite (benchmarks/suite.json)")
    add("--problems", default="*", metavar="LIST", help="names or patterns of the suite")
    add("--candidates", type=int, default=16, metavar="N",
        help="schedules of the ranking to measure (default: 16)")
    add("--variants", type=int, default=4, metavar="N",
        help="variants of the best one to measure (default: 4)")
    add("--finalists", type=int, default=3, metavar="N",
        help="how many of the fastest to measure again (default: 3)")
    add("--workers", type=int, default=min(4, os.cpu_count() or 1), metavar="N",
        help="processes that compile side by side for a GPU; kernels run in turn")
    add("--runs", type=int, default=20, metavar="N", help="timed runs at least (default: 20)")
    add("--pause", type=int, default=10, metavar="MS",
        help="rest before each run on a GPU (default: 10)")
    add("--lock", metavar="FILE", help="file that processes which share the GPU lock")
    add("--process-limit", type=float, default=300, metavar="S",
        help="seconds that one na-run may take (default: 300)")
    add("--list", action="store_true", help="print the candidates, measure nothing")
    add("--quiet", action="store_true", help="no progress")
    options, flags = parser.parse_known_args()
    for name, least in (("candidates", 1), ("variants", 0), ("finalists", 0), ("workers", 1),
                        ("runs", 1), ("pause", 0), ("process_limit", 1)):
        value = getattr(options, name)
        if value < least:
            parser.error(f"--{name.replace('_', '-')}={value} is less than {least}")
    return options, flags


def report(name, key, entry):
    print(f"{name}: {key}")
    if "seconds" not in entry:
        for candidate in entry["candidates"]:
            print(f"  predicted {format_time(candidate['predicted_s'])}  "
                  f"{describe(candidate['schedule'])}")
        return
    print(f"  best   {format_time(entry['seconds'])}  {describe(entry['schedule'])}")
    if entry["model_seconds"] is None:
        print("  model  failed")
    else:
        more = entry["model_seconds"] / entry["seconds"] - 1
        print(f"  model  {format_time(entry['model_seconds'])}  (+{100 * more:.1f} %)  "
              f"{describe(entry['model_schedule'])}")
    failed = [c for c in entry["candidates"] if "error" in c]
    for candidate in failed:
        print(f"  failed {describe(candidate['schedule'])}: {candidate['error']}")


def tune_all(options, flags, folder):
    problems = [("problem", flags)]
    if options.suite:
        problems = suite_problems(options.suite, options.problems, flags)
    content = read_tuning(options.output)
    if not options.list:
        check_writable(options.output)
    failed, close = [], 0
    measured = 0
    for index, (name, problem) in enumerate(problems):
        options.title = name if len(problems) == 1 else f"{name} ({index + 1}/{len(problems)})"
        try:
            key, entry = Tuning(options, problem, folder).run()
        except Failure as failure:
            if not options.suite:
                raise
            print(f"{name}: {failure}")
            failed.append(name)
            continue
        report(name, key, entry)
        if options.list:
            continue
        measured += 1
        close += bool(entry["model_seconds"]) and entry["model_seconds"] <= 1.1 * entry["seconds"]
        content["entries"][key] = entry
        # After each problem, so that a run that is cut off keeps what it has.
        save(options.output, content)
    if len(problems) > 1 and not options.list:
        print(f"the model's choice was within 10 % of the best on {close} of {measured} problems")
    if failed:
        raise Failure(f"{len(failed)} of {len(problems)} problems failed: {', '.join(failed)}")


def main():
    options, flags = parse_options()
    # What is known comes out at once, and in order with errors.
    sys.stdout.reconfigure(line_buffering=True)
    try:
        options.na_run = find_na_run(options.na_run)
        options.commit = find_commit()
        with tempfile.TemporaryDirectory(prefix="na-tune-") as folder:
            options.lock = options.lock or os.path.join(folder, "lock")
            tune_all(options, flags, folder)
    except Failure as failure:
        print(f"na-tune: error: {failure}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"na-tune: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("na-tune: interrupted; what was measured is in the file", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
