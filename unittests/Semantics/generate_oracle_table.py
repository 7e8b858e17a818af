#!/usr/bin/env python3
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write what the window oracle says as a table for WindowTest.cpp.

usage: generate_oracle_table.py CONFORMANCE_DIR OUTPUT

The lines of the table:
  rows LENGTH WINDOW STRIDE DILATION CAUSAL {FIRST COUNT}*LENGTH
      for every legal argument with LENGTH <= 24: query i sees COUNT keys from
      FIRST on, DILATION apart.
  golden LENGTH WINDOW STRIDE DILATION CAUSAL PAIRS
      the pair counts that the oracle prints when it is run.
  problem LENGTH WINDOW STRIDE DILATION CAUSAL PAIRS
      the axes of problems.json and corners.json, each with and without
      causality, as far as the oracle counts them quickly.
"""

import json
import pathlib
import re
import subprocess
import sys

MAX_LENGTH = 24
MAX_PAIRS = 1 << 15


def rows(visible, args):
    line = []
    for keys in visible(*args):
        # The header describes ranges: a gap has to fail here, not to pass as
        # the range around it.
        expected = range(keys[0], keys[0] + len(keys) * args[3], args[3])
        assert keys == list(expected), (args, keys)
        line += [keys[0], len(keys)]
    return line


def legal():
    for length in range(1, MAX_LENGTH + 1):
        for dilation in range(1, length + 1):
            for window in range(1, length // dilation + 1):
                for stride in range(1, window + 1):
                    for causal in (0, 1):
                        yield length, window, stride, dilation, causal


def golden(oracle):
    printed = subprocess.run([sys.executable, "-B", oracle], check=True,
                             capture_output=True, text=True).stdout
    pattern = r"L(\d+) w(\d+) s(\d+) d(\d+) causal=([01]): (\d+) pairs"
    found = re.findall(pattern, printed)
    assert len(found) == printed.count("pairs") > 0
    return found


def problem_axes(directory):
    axes = set()
    for name in ("problems.json", "corners.json"):
        for problem in json.loads((directory / name).read_text())["problems"]:
            axes.update(zip(problem["shape"], problem["window"],
                            problem["stride"], problem["dilation"]))
    return sorted(a for a in axes if a[0] * a[1] <= MAX_PAIRS)


def main():
    directory, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    sys.path.insert(0, str(directory))
    from window_oracle import visible

    lines = [("rows", *args, *rows(visible, args)) for args in legal()]
    lines += [("golden", *entry)
              for entry in golden(directory / "window_oracle.py")]
    for axis in problem_axes(directory):
        for causal in (0, 1):
            pairs = sum(map(len, visible(*axis, causal)))
            lines.append(("problem", *axis, causal, pairs))
    output.write_text("".join(" ".join(map(str, line)) + "\n"
                              for line in lines))


if __name__ == "__main__":
    main()
