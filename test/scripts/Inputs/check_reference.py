# ===- check_reference.py - The reference against dense masked attention ----===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Compares reference.py with a mask over all pairs, on random problems.

Usage: check_reference.py CONFORMANCE_FOLDER
"""

import itertools
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import reference
from problems import Data, at_rows, pick_rows
from sweep import random_problem


def dense(problem, q, k, v, bias=None, ek=None, ev=None):
    """Every pair, one head at a time: what is not visible gets -inf."""
    scale = problem.head_dim**-0.5 if problem.scale is None else problem.scale
    coordinates = list(itertools.product(*map(range, problem.shape)))
    shape = (problem.batch, problem.tokens, problem.heads)
    output, lse = np.empty((*shape, problem.value_dim)), np.empty(shape)
    mask = problem.mask()
    for batch, head in np.ndindex(problem.batch, problem.heads):
        shared = head // (problem.heads // problem.kv_heads)

        def rows(array, at):
            return array[batch, ..., at, :].reshape(-1, array.shape[-1])

        logits = scale * rows(q, head) @ rows(k, shared).T
        if bias is not None:
            for i, j in zip(*np.nonzero(mask)):
                steps = [
                    (key - query) // dilation + window - 1
                    for query, key, dilation, window in zip(
                        coordinates[i], coordinates[j], problem.dilation, problem.window
                    )
                ]
                logits[i, j] += bias[(head, *steps)]
        logits[~mask] = -np.inf
        values = rows(v, shared)
        if ek is not None:
            extra = scale * rows(q, head) @ rows(ek, shared).T
            logits = np.concatenate([logits, extra], axis=1)
            values = np.concatenate([values, rows(ev, shared)])
        top = logits.max(axis=1, keepdims=True)
        weights = np.exp(logits - top)
        total = weights.sum(axis=1, keepdims=True)
        output[batch, :, head] = weights @ values / total
        lse[batch, :, head] = (top + np.log(total))[:, 0]
    return output, lse


def main():
    checked = 0
    for number in range(60):
        rng = np.random.default_rng([5, number])
        problem = random_problem(rng)
        if problem.batch == 0 or problem.tokens > 200:
            continue
        values = Data(problem, [6, number]).values()
        want = dense(problem, **values)
        arguments = dict(values, **problem.windows, scale=problem.scale)
        whole = reference.attention(**arguments)
        chosen = pick_rows(problem, rng, 5)
        part = reference.attention(**arguments, rows=chosen)
        for got, few, expected in zip(whole, part, want):
            np.testing.assert_allclose(
                got.reshape(expected.shape), expected, rtol=1e-11, atol=1e-12
            )
            rank = len(problem.shape)
            np.testing.assert_allclose(few, at_rows(got, rank, chosen), rtol=1e-12)
        checked += 1
    print(f"{checked} problems agree")


main()
