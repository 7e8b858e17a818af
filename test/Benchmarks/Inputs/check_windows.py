# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the windows of the benchmarks with the oracle, on every legal axis of
up to 12 tokens and some longer ones.

usage: check_windows.py BENCHMARKS PROGRAM, PROGRAM built from windows.cpp
"""

import random
import subprocess
import sys

sys.path.insert(0, sys.argv[1])
from common import Problem, attended_pairs, keys_of  # noqa: E402
from window_oracle import visible  # noqa: E402


def legal_axes():
    rng = random.Random(0)
    lengths = list(range(1, 13)) + [rng.randrange(13, 90) for _ in range(20)]
    for length in lengths:
        for window in range(1, length + 1):
            for dilation in range(1, length // window + 1):
                strides = range(1, window + 1)
                if length > 12:
                    strides = [rng.choice(strides)]
                for stride in strides:
                    for causal in (False, True):
                        yield length, window, stride, dilation, causal


axes = list(legal_axes())
text = "\n".join(" ".join(str(int(x)) for x in axis) for axis in axes)
lines = subprocess.run([sys.argv[2]], input=text, text=True, check=True,
                       stdout=subprocess.PIPE).stdout.splitlines()
at = 0
for axis in axes:
    rows = visible(*axis)
    for query, keys in enumerate(rows):
        if list(map(int, lines[at].split())) != keys:
            sys.exit(f"naive_window.h: {axis}, query {query}: {lines[at]} "
                     f"instead of {keys}")
        if list(keys_of(axis, query)) != keys:
            sys.exit(f"common.py: {axis}, query {query}: "
                     f"{list(keys_of(axis, query))} instead of {keys}")
        at += 1
    problem = Problem(shape=[axis[0]], window=[axis[1]], stride=[axis[2]],
                      dilation=[axis[3]], causal=[axis[4]], extra_kv=3)
    pairs = sum(map(len, rows)) + 3 * len(rows)
    if attended_pairs(problem) != pairs:
        sys.exit(f"common.py: {axis}: {attended_pairs(problem)} pairs instead "
                 f"of {pairs}")
assert at == len(lines)
print(f"{len(axes)} axes agree")
