# ===- exp_to_arith.py - The expanded exponential against NumPy -------------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Runs exp over the whole range of f32, as vectors and as scalars, and compares
with NumPy in f64.

Usage: exp_to_arith.py NA_RUN PROGRAM WORK_FOLDER
"""

import os
import subprocess
import sys

import numpy as np

na_run, program, work = sys.argv[1:4]
os.makedirs(work, exist_ok=True)

# Bit patterns at a prime distance meet every exponent and sign; then the values
# where something changes, and what lies around them.
COUNT = 1 << 20
bits = np.arange(COUNT, dtype=np.uint64) * 4093 % (1 << 32)
x = bits.astype(np.uint32).view(np.float32).copy()
near = np.float32([-87.5, -87.0, -86.98, -86.9, -1.0, -0.0, 0.0, 1e-45, 1.0, 88.7,
                   88.72283, 88.722839, 88.75, 89.0, 89.5, 128.0])
special = np.concatenate(
    [np.float32([np.nan, -np.nan, np.inf, -np.inf, 3.4028235e38, -3.4028235e38])]
    + [np.nextafter(near, np.float32(to)) for to in (-np.inf, np.inf)] + [near]
    + [np.linspace(-88, 89.5, 1 << 18, dtype=np.float32)])
x[: len(special)] = special
np.save(os.path.join(work, "x.npy"), x)

with np.errstate(all="ignore"):
    want = np.exp(x.astype(np.float64))
faults = []
for entry in "vectors", "scalars":
    path = os.path.join(work, entry + ".npy")
    subprocess.run(
        [na_run, program, "--entry=" + entry,
         "--inputs=x=" + os.path.join(work, "x.npy"), "--outputs=e=" + path],
        check=True, stdout=subprocess.DEVNULL)
    got = np.load(path)

    def check(what, where, good):
        bad = where & ~good
        print(f"{entry}: {what}: {np.count_nonzero(where)} values, "
              f"{np.count_nonzero(bad)} wrong")
        for i in np.flatnonzero(bad)[:5]:
            faults.append(f"{entry}: exp({x[i]!r}) = {got[i]!r}, expected {want[i]!r}")

    tiny = x < np.float32(-86.98)
    # What rounds to f32's largest value or less is finite.
    large = want >= 3.4028235677973366e38
    check("NaN", np.isnan(x), np.isnan(got))
    check("below -86.98", tiny, got == 0)
    check("overflow", large, got == np.inf)
    normal = ~np.isnan(x) & ~tiny & ~large
    with np.errstate(all="ignore"):
        error = np.abs(got.astype(np.float64) - want) / want
    check("relative error <= 2e-7", normal, error <= 2e-7)
    print(f"{entry}: largest relative error {error[normal].max():.2e}")
print("\n".join(faults), end="\n" if faults else "")
print(f"{len(faults)} faults")
sys.exit(bool(faults))
