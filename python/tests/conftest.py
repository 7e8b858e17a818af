# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference of the conformance tests, and inputs."""

import json
import pathlib
import sys

import numpy as np
import pytest

CONFORMANCE = pathlib.Path(__file__).parents[2] / "test" / "conformance"
sys.path.insert(0, str(CONFORMANCE))

import reference  # noqa: E402

import na_mlir  # noqa: E402

SHORT = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16"}


def check(result, expected, dtype="float32"):
    """Holds an output to the tolerances of the conformance tests."""
    whole, row = reference.relative_errors(result, expected)
    limits = reference.TOLERANCES[SHORT[dtype]]
    assert whole <= limits[0] and row <= limits[1], (whole, row, limits)


def check_lse(result, expected, dtype="float32"):
    error = np.abs(np.asarray(result, np.float64) - expected)
    assert (error <= reference.lse_tolerance(SHORT[dtype], expected)).all(), error.max()


def make(shape, heads=2, kv_heads=None, dim=8, value_dim=None, batch=1, dtype="float32", seed=0):
    """q, k and v of a problem."""
    rng = np.random.default_rng(seed)
    kv_heads, value_dim = kv_heads or heads, value_dim or dim
    return tuple(
        rng.standard_normal((batch, *shape, h, d)).astype(dtype)
        for h, d in ((heads, dim), (kv_heads, dim), (kv_heads, value_dim))
    )


def sample_problems(count=12):
    """Small problems from the conformance file, evenly spread."""
    with open(CONFORMANCE / "problems.json", encoding="utf-8") as file:
        problems = json.load(file)["problems"]
    small = [p for p in problems if np.prod(p["shape"]) * p["batch"] * p["heads"] <= 2000]
    return small[:: max(1, len(small) // count)]


def name_of(problem):
    if not isinstance(problem, dict):
        return None
    return "-".join(
        key[0] + "x".join(map(str, problem[key])) for key in ("shape", "window", "stride", "dilation")
    )


@pytest.fixture
def fresh_cache():
    """For tests that count programs."""
    na_mlir.clear_cache()
