# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the benchmark drivers share: problems, masks, references, processes."""

import json
import math
import os
import platform
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, "test", "conformance"))

from problems import Problem, pick_rows  # noqa: E402
from reference import TOLERANCES, relative_errors  # noqa: E402

ITEM_BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2}
PROBLEM_FIELDS = ("shape", "window", "stride", "dilation", "causal", "batch",
                  "heads", "kv_heads", "head_dim", "value_dim", "extra_kv",
                  "scale", "dtype")


class Skip(Exception):
    """Something is left out; the message says why."""


def read_suite(path):
    """{id: Problem} in the order of the file."""
    with open(path, encoding="utf-8") as file:
        entries = json.load(file)["problems"]
    return {e["id"]: Problem(**{k: e[k] for k in PROBLEM_FIELDS if k in e},
                             lse=False)
            for e in entries}


def as_json(problem):
    return {field: getattr(problem, field) for field in PROBLEM_FIELDS}


# The window of one axis. `q` and `k` are coordinates: integers, or arrays of
# NumPy or PyTorch, for which `lib` has minimum, maximum.


def window_of(q, length, window, stride, dilation, causal, minimum, maximum):
    """[begin, end) of the keys of query q, in positions of its residue class."""
    residue, position = q % dilation, q // dilation
    size = (length - residue + dilation - 1) // dilation
    group = position // stride * stride
    # The query that leads the group has window // 2 keys on its left; with
    # causality the last query leads and has all others on its left.
    begin = group + (stride - window if causal else stride // 2 - window // 2)
    begin = maximum(minimum(begin, size - window), size * 0)
    return begin, (position + 1 if causal else begin + window)


def numpy_ranges(length, window, stride, dilation, causal):
    """begin, end of window_of for every coordinate of the axis."""
    return window_of(np.arange(length), length, window, stride, dilation,
                     causal, np.minimum, np.maximum)


def keys_of(axis, q):
    """The coordinates of the keys that coordinate q of the axis sees."""
    dilation = axis[3]
    begin, end = window_of(np.int64(q), *axis, np.minimum, np.maximum)
    return q % dilation + dilation * np.arange(begin, end)


def sees_its_class(axis):
    """Whether every query sees all keys of its residue class."""
    length, window, _, dilation, causal = axis
    return not causal and window * dilation == length


def axis_visible(torch, axis, q, k):
    """Whether coordinate k is visible to q; tensors that broadcast."""
    length, window, stride, dilation, causal = axis
    if sees_its_class(axis):
        return q % dilation == k % dilation
    begin, end = window_of(q, *axis, torch.minimum, torch.maximum)
    position = k // dilation
    here = (position >= begin) & (position < end)
    return here if dilation == 1 else here & (q % dilation == k % dilation)


def always_visible(axis):
    return sees_its_class(axis) and axis[3] == 1


def coordinates(index, shape):
    """Flat row-major tokens to a list of coordinates per axis."""
    result = []
    for length in reversed(shape):
        result.append(index % length)
        index = index // length
    return result[::-1]


def mask_of(torch, problem):
    """mask(query, key) of flat tokens, true where visible."""
    axes = list(problem.axes())

    def visible(q, k):
        result = None
        for axis, qi, ki in zip(axes, coordinates(q, problem.shape),
                                coordinates(k, problem.shape)):
            if always_visible(axis):
                continue
            here = axis_visible(torch, axis, qi, ki)
            result = here if result is None else result & here
        return (q >= 0) & (k >= 0) if result is None else result
    return visible


def attended_pairs(problem):
    """Query-key pairs of one head and batch, the additional keys included."""
    window_pairs = 1
    for axis in problem.axes():
        begin, end = numpy_ranges(*axis)
        window_pairs *= int((end - begin).sum())
    return window_pairs + problem.tokens * problem.extra_kv


def useful_flop(problem):
    return (4 * problem.batch * problem.heads * attended_pairs(problem)
            * (problem.head_dim + problem.value_dim) // 2)


def least_bytes(problem):
    """Every input read once and the output written once."""
    shapes = [shape for shape, _ in problem.input_types().values()]
    shapes.append(problem.output_types()["o"][0])
    return sum(map(math.prod, shapes)) * ITEM_BYTES[problem.dtype]


def weights_elements(problem):
    """Entries of the weights that the unfused forms hold in memory."""
    keys = math.prod(problem.window) + problem.extra_kv
    return problem.batch * problem.tokens * problem.heads * keys


def dense_problem(problem):
    """All pairs; for causal sequences, all pairs in order."""
    ones = [1] * len(problem.shape)
    causal = (problem.causal if len(problem.shape) == 1
              else [False] * len(problem.shape))
    return problem.replace(window=list(problem.shape), stride=ones,
                           dilation=ones, causal=causal)


def pick_samples(problem, seed, count=48):
    """(batch, token, head) of the rows that are verified, corners included."""
    rng = np.random.default_rng(seed)
    tokens = pick_rows(problem, rng, count)
    return [(int(rng.integers(problem.batch)), int(token),
             int(rng.integers(problem.heads))) for token in tokens]


def reference_rows(torch, problem, tensors, samples):
    """The sampled rows of the output in f64, from the rounded inputs."""
    scale = problem.scale
    if scale is None:
        scale = 1 / math.sqrt(problem.head_dim)
    group = problem.heads // problem.kv_heads
    q, k, v = (tensors[n].flatten(1, -3) for n in "qkv")
    rows = []
    for batch, token, head in samples:
        flat = np.zeros(1, np.int64)
        for axis, at in zip(problem.axes(), coordinates(token, problem.shape)):
            flat = (flat[:, None] * axis[0] + keys_of(axis, at)).ravel()
        flat = torch.from_numpy(flat).to(q.device)
        keys, values = k[batch, flat, head // group], v[batch, flat,
                                                        head // group]
        if problem.extra_kv:
            keys = torch.cat([keys, tensors["ek"][batch, :, head // group]])
            values = torch.cat([values, tensors["ev"][batch, :, head // group]])
        scores = keys.double() @ q[batch, token, head].double() * scale
        rows.append(torch.softmax(scores, 0) @ values.double())
    return torch.stack(rows).cpu().numpy()


def check_rows(got, want, dtype):
    """(whole error, worst row's error, within the tolerances)"""
    whole, worst = (float(e) for e in relative_errors(got, want))
    whole_limit, row_limit = TOLERANCES[dtype]
    return whole, worst, whole <= whole_limit and worst <= row_limit


def run_process(command, timeout):
    """Runs it; a failure is a Skip with the last line that it printed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Skip(f"took more than {timeout:.0f} s") from None
    except OSError as error:
        raise Skip(str(error)) from None
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        errors = [line for line in lines if "error" in line.lower()]
        why = (errors or lines[-1:] or ["no message"])[0]
        raise Skip(f"exit code {done.returncode}: {why.strip()[:300]}")
    return done.stdout


def commit():
    """The commit of the project; NA_COMMIT where there is no repository."""
    if "NA_COMMIT" in os.environ:
        return os.environ["NA_COMMIT"]
    try:
        return run_process(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"],
                           20).strip()
    except Skip:
        return "unknown"


def host_cpu():
    model = platform.processor()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    model = line.split(":")[1].strip()
                    break
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} cores"
