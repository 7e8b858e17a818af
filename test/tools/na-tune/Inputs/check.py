"""Checks a tuning file: path, number of entries, seconds of the first, and what
the commands of the log must have."""

import json
import sys

path, count, seconds, model = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
with open(path, encoding="utf-8") as file:
    content = json.load(file)
assert content["format"] == "na-tuning 1"
assert len(content["entries"]) == count, list(content["entries"])
key, entry = next(iter(content["entries"].items()))
assert key.startswith("attention 64 window 16 "), key
assert entry["seconds"] == float(seconds), entry["seconds"]
assert entry["model_seconds"] == (None if model == "none" else float(model))
assert entry["gpu"] == "Fake GPU" and entry["driver"] == "1.2" and entry["commit"] == "abc"
winner = [c for c in entry["candidates"] if c["schedule"] == entry["schedule"]]
assert len(winner) == 1 and winner[0]["seconds"] == entry["seconds"]
times = [c["seconds"] for c in entry["candidates"] if "seconds" in c]
assert times == sorted(times)
