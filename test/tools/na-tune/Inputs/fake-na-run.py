#!/usr/bin/env python3
"""Stands in for na-run on a host without a GPU: explains with the real one, and
makes times up. The behaviour of each candidate depends on its rank.

FAKE_TIMES holds, per rank, seconds or what goes wrong: crash, stale, garbage,
error, slow; a time followed by ! is that of wrong results."""

import json
import os
import signal
import subprocess
import sys
import time

arguments = sys.argv[1:]
flags = dict(a.lstrip("-").partition("=")[::2] for a in arguments)
with open(os.environ["FAKE_LOG"], "a", encoding="utf-8") as log:
    log.write(" ".join(arguments) + "\n")
if "explain" in flags:
    sys.exit(subprocess.run(["na-run", *arguments]).returncode)

problem = [a for a in arguments if a.split("=")[0] in
           ("--shape", "--window", "--heads", "--head-dim", "--dtype", "--target")]
behaviours = os.environ["FAKE_TIMES"].split()
explained = subprocess.run(
    ["na-run", *problem, "--explain", "--json", f"--candidates={len(behaviours)}"],
    capture_output=True, text=True, check=True)
operation = json.loads(explained.stdout)["operations"][0]
with open(flags["tuning-file"], encoding="utf-8") as file:
    tuning = json.load(file)
assert tuning["format"] == "na-tuning 1"
schedule = tuning["entries"][operation["key"]]["schedule"]
ranked = [c["schedule"] for c in operation["candidates"]]
# Variants that are not in the ranking are slow.
behaviour = behaviours[ranked.index(schedule)] if schedule in ranked else "0.5"
assert "no-fallback" in flags and os.path.exists(os.path.dirname(flags["lock"]))
if behaviour == "crash":
    os.kill(os.getpid(), signal.SIGSEGV)
if behaviour == "garbage":
    print("no JSON at all")
    sys.exit(0)
if behaviour == "error":
    print("na-run: error: out of registers", file=sys.stderr)
    sys.exit(1)
if behaviour == "slow":
    time.sleep(600)
report = {"ok": True, "gpu": "Fake GPU", "driver": "1.2", "cuda": "13.0"}
if behaviour == "stale":
    report["warnings"] = ["the entry is stale"]
    behaviour = "1e-9"
if "verify" in flags and behaviour.endswith("!"):
    print("na-run: error: verification failed", file=sys.stderr)
    sys.exit(1)
if "bench" in flags:
    assert flags["runs"] == "7" and flags["pause"] == "3"
    report["bench"] = {"median_s": float(behaviour.rstrip("!"))}
print(json.dumps(report))
