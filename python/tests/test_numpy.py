# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""neighborhood_attention on NumPy arrays."""

import itertools
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import check, check_lse, make, name_of, reference, sample_problems

import na_mlir
from na_mlir import _library, _programs


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("problem", sample_problems(), ids=name_of)
def test_conformance_sample(problem, causal):
    q, k, v = make(
        problem["shape"],
        problem["heads"],
        problem["kv_heads"],
        problem["head_dim"],
        problem["value_dim"],
        problem["batch"],
    )
    arguments = [problem[key] for key in ("window", "stride", "dilation")]
    flags = [causal] * problem["rank"]
    o, lse = na_mlir.neighborhood_attention(q, k, v, *arguments, flags, return_lse=True)
    expected, expected_lse = reference.attention(q, k, v, *arguments, flags)
    check(o, expected)
    check_lse(lse, expected_lse)


@pytest.mark.parametrize("mode", ["fused", "unfused", "naive"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_dtypes_and_modes(dtype, mode):
    q, k, v = make((6, 9), dim=16, dtype=dtype)
    o, lse = na_mlir.neighborhood_attention(q, k, v, (3, 5), return_lse=True, mode=mode)
    assert o.dtype == dtype and lse.dtype == ("float64" if dtype == "float64" else "float32")
    expected, expected_lse = reference.attention(q, k, v, (3, 5))
    check(o, expected, dtype)
    check_lse(lse, expected_lse, dtype)


def test_bias_additional_keys_scale_and_heads():
    q, k, v = make((7, 8), heads=4, kv_heads=2, dim=8, value_dim=12, batch=2)
    rng = np.random.default_rng(1)
    keys = rng.standard_normal((2, 3, 2, 8)).astype(np.float32)
    values = rng.standard_normal((2, 3, 2, 12)).astype(np.float32)
    bias = rng.standard_normal((4, 5, 9)).astype(np.float32)
    o, lse = na_mlir.neighborhood_attention(
        q, k, v, (3, 5), scale=-0.3, additional_keys=keys, additional_values=values, bias=bias,
        return_lse=True,
    )
    expected, expected_lse = reference.attention(
        q, k, v, (3, 5), scale=-0.3, bias=bias, ek=keys, ev=values
    )
    check(o, expected)
    check_lse(lse, expected_lse)
    # No additional key is the same as none at all.
    empty = na_mlir.neighborhood_attention(
        q, k, v, 3, additional_keys=keys[:, :0], additional_values=values[:, :0]
    )
    assert np.array_equal(empty, na_mlir.neighborhood_attention(q, k, v, 3))


def test_one_entry_stands_for_all_axes():
    q, k, v = make((6, 6))
    expected = na_mlir.neighborhood_attention(q, k, v, (3, 3), (2, 2), (2, 2), (True, True))
    size = np.int64(3)
    assert np.array_equal(na_mlir.neighborhood_attention(q, k, v, size, 2, 2, True), expected)
    assert np.array_equal(na_mlir.neighborhood_attention(q, k, v, [3, 3], [2, 2], 2, True), expected)


def strided(array):
    """The same numbers, heads first in memory."""
    return np.ascontiguousarray(array.swapaxes(1, 2)).swapaxes(1, 2)


@pytest.mark.parametrize("which", list(itertools.product([False, True], repeat=3)))
def test_strides(which):
    arrays = make((12,), heads=3)
    expected = na_mlir.neighborhood_attention(*arrays, 5)
    views = [strided(a) if change else a for a, change in zip(arrays, which)]
    assert [not a.flags.c_contiguous for a in views] == list(which)
    assert np.array_equal(na_mlir.neighborhood_attention(*views, 5), expected)


def misaligned(array):
    memory = bytearray(array.nbytes + 1)
    view = np.frombuffer(memory, array.dtype, array.size, 1).reshape(array.shape)
    view[...] = array
    return view


@pytest.mark.parametrize(
    "change",
    [
        lambda a: np.ascontiguousarray(a[:, ::-1])[:, ::-1],
        lambda a: np.concatenate([a, a], axis=1)[:, : a.shape[1]],
        lambda a: np.concatenate([a[:, :1] * 0, a], axis=1)[:, 1:],
        lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
        misaligned,
        lambda a: a.astype(a.dtype.newbyteorder()),
        lambda a: a.copy(order="F"),
    ],
    ids=["reversed", "first half", "offset", "every second", "misaligned", "byte order", "fortran"],
)
def test_views(change):
    arrays = make((12,), heads=3, batch=2)
    expected = na_mlir.neighborhood_attention(*arrays, 5)
    o = na_mlir.neighborhood_attention(*map(change, arrays), 5)
    assert np.array_equal(o, expected) and o.dtype == np.float32


def test_expanded():
    q, k, v = make((12,))
    k, v = np.broadcast_to(k[:, :1], k.shape), np.broadcast_to(v[:, :, :1], v.shape)
    o = na_mlir.neighborhood_attention(q, k, v, 5)
    assert np.array_equal(o, na_mlir.neighborhood_attention(q, k.copy(), v.copy(), 5))


def test_arguments_are_not_written():
    arrays = make((12,))
    copies = [a.copy() for a in arrays]
    for a in arrays:
        a.flags.writeable = False
    na_mlir.neighborhood_attention(*arrays, 5)
    assert all(np.array_equal(a, c) for a, c in zip(arrays, copies))


def test_empty_batch(fresh_cache):
    q, k, v = make((12,), batch=0)
    o, lse = na_mlir.neighborhood_attention(q, k, v, 5, return_lse=True)
    assert o.shape == q.shape and lse.shape == q.shape[:-1]
    assert na_mlir.cache_size() == 0


def test_shapes_in_turn(fresh_cache):
    a, b = make((12,)), make((5, 6))
    first = na_mlir.neighborhood_attention(*a, 5)
    second = na_mlir.neighborhood_attention(*b, 5)
    assert np.array_equal(na_mlir.neighborhood_attention(*a, 5), first)
    assert np.array_equal(na_mlir.neighborhood_attention(*b, 5), second)
    assert na_mlir.cache_size() == 2
    check(first, reference.attention(*a, [5])[0])
    check(second, reference.attention(*b, [5, 5])[0])


@pytest.mark.parametrize(
    "change",
    [
        {"stride": 2},
        {"dilation": 2},
        {"causal": True},
        {"scale": 0.5},
        {"return_lse": True},
        {"mode": "naive"},
        {"bias": np.ones((2, 9), np.float32)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_cache_tells_apart(fresh_cache, change):
    arrays = make((12,))
    na_mlir.neighborhood_attention(*arrays, 5)
    na_mlir.neighborhood_attention(*arrays, 5)
    assert na_mlir.cache_size() == 1
    na_mlir.neighborhood_attention(*arrays, 5, **change)
    assert na_mlir.cache_size() == 2


def test_threads(fresh_cache):
    problems = [make((8 + i,), seed=i) for i in range(8)]
    shared, failures = make((9, 9)), []
    expected_shared = reference.attention(*shared, [3, 3])[0]

    def work(i):
        try:
            for _ in range(5):
                check(
                    na_mlir.neighborhood_attention(*problems[i], 3),
                    reference.attention(*problems[i], [3])[0],
                )
                check(na_mlir.neighborhood_attention(*shared, 3), expected_shared)
        except BaseException as error:  # noqa: BLE001 - reported below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    assert na_mlir.cache_size() == 9


class OnlyDLPack:
    """An array of another library."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **arguments):
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack():
    arrays = make((12,))
    o = na_mlir.neighborhood_attention(*map(OnlyDLPack, arrays), 5)
    assert np.array_equal(o, na_mlir.neighborhood_attention(*arrays, 5))


class Refuses(OnlyDLPack):
    def __dlpack__(self, **arguments):
        raise BufferError("this array is lent")


def test_dlpack_that_refuses(monkeypatch):
    q, k, v = make((12,))
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(TypeError, match=r"k: PyTorch is needed .*\(NumPy: this array is lent\)"):
        na_mlir.neighborhood_attention(q, Refuses(k), v, 5)
    monkeypatch.undo()
    pytest.importorskip("torch")
    with pytest.raises(TypeError, match="k: cannot be taken through DLPack: .*this array is lent"):
        na_mlir.neighborhood_attention(q, Refuses(k), v, 5)


def changed(index, array):
    def change(arrays):
        arrays[index] = array(arrays[index])

    return change


ERRORS = [
    ("list", changed(0, lambda a: a.tolist()), {}, TypeError, r"q: expected a NumPy array.*list"),
    ("none", changed(1, lambda a: None), {}, TypeError, r"k: expected an array, not None"),
    ("dtype", changed(0, lambda a: a.astype(np.int32)), {}, TypeError, r"q: dtype int32 is not one of"),
    (
        "mixed dtypes",
        changed(2, lambda a: a.astype(np.float64)),
        {},
        TypeError,
        r"v: dtype float64 is not that of q, float32",
    ),
    ("masked", changed(0, np.ma.masked_array), {}, TypeError, r"q: masked arrays"),
    (
        "rank",
        changed(0, lambda a: a[0]),
        {},
        ValueError,
        r"q: shape \(6, 9, 2, 8\)|k: shape \(1, 6, 9, 2, 8\) has 5 axes, q has 4",
    ),
    ("rank 2", changed(0, lambda a: a[0, 0, 0]), {}, ValueError, r"q: shape \(2, 8\) has 2 axes"),
    (
        "length",
        changed(1, lambda a: a[:, :, :8]),
        {},
        ValueError,
        r"k, axis 2: size 8 is not that of q, 9 \(q \(1, 6, 9, 2, 8\)",
    ),
    ("head dim", changed(1, lambda a: a[..., :4]), {}, ValueError, r"k, axis 4: size 4 .* 8"),
    ("heads", changed(2, lambda a: a[:, :, :, :1]), {}, ValueError, r"v, axis 3: 1 heads, k has 2"),
    (
        "empty",
        lambda arrays: arrays.__setitem__(slice(None), [a[:, :0] for a in arrays]),
        {},
        ValueError,
        r"q, axis 1: size 0 is not at least 1",
    ),
    (
        "window",
        None,
        {"window": (3, 10)},
        ValueError,
        r"window, axis 1: 10 \* dilation 1 = 10 exceeds the length, 9.*\(1, 6, 9, 2, 8\)",
    ),
    ("window 0", None, {"window": (0, 3)}, ValueError, r"window, axis 0: 0 is not at least 1"),
    ("window float", None, {"window": 3.0}, TypeError, r"window, axis 0: expected an int, not 3.0"),
    ("window floats", None, {"window": (3, 3.0)}, TypeError, r"window, axis 1: expected an int, not 3.0"),
    ("window bool", None, {"window": True}, TypeError, r"window, axis 0: expected an int, not True"),
    ("window text", None, {"window": "33"}, TypeError, r"window: expected an int"),
    ("entries", None, {"window": (3, 3, 3)}, ValueError, r"window: .* has 3 entries.* 2 spatial axes"),
    (
        "dilation",
        None,
        {"dilation": (1, 4)},
        ValueError,
        r"window, axis 1: 3 \* dilation 4 = 12 exceeds the length, 9",
    ),
    ("dilation 0", None, {"dilation": 0}, ValueError, r"dilation, axis 0: 0 is not at least 1"),
    ("stride", None, {"stride": (1, 4)}, ValueError, r"stride, axis 1: 4 is not in 1 to the window, 3"),
    ("causal", None, {"causal": (True, 1)}, TypeError, r"causal, axis 1: expected a bool, not 1"),
    ("scale", None, {"scale": "big"}, TypeError, r"scale: expected a float"),
    ("scale as text", None, {"scale": "0.5"}, TypeError, r"scale: expected a float or None, not '0.5'"),
    ("scale huge", None, {"scale": 10**400}, ValueError, r"scale: inf is not finite"),
    ("scale complex", None, {"scale": 1j}, TypeError, r"scale: expected a float or None, not 1j"),
    ("scale in f32", None, {"scale": 1e300}, ValueError, r"scale: 1e\+300 is not finite in float32"),
    ("scale nan", None, {"scale": float("nan")}, ValueError, r"scale: nan is not finite"),
    ("mode", None, {"mode": "fast"}, ValueError, r"mode: 'fast' is not one of 'fused'"),
    ("f32 math", None, {"f32_math": "fp8"}, ValueError, r"f32_math: 'fp8' is not one of 'ieee'"),
    (
        "only keys",
        None,
        {"additional_keys": np.ones((1, 2, 2, 8), np.float32)},
        ValueError,
        r"additional_values: None",
    ),
    (
        "additional",
        None,
        {
            "additional_keys": np.ones((1, 2, 2, 8), np.float32),
            "additional_values": np.ones((1, 3, 2, 8), np.float32),
        },
        ValueError,
        r"additional_values: shape \(1, 3, 2, 8\) is not \(1, 2, 2, 8\)",
    ),
    (
        "additional axes",
        None,
        {
            "additional_keys": np.ones((2, 2, 8), np.float32),
            "additional_values": np.ones((2, 2, 8), np.float32),
        },
        ValueError,
        r"additional_keys: shape \(2, 2, 8\) is not \(1, T, 2, 8\): batch, number of keys",
    ),
    (
        "bias",
        None,
        {"bias": np.ones((2, 5, 4), np.float32)},
        ValueError,
        r"bias: shape \(2, 5, 4\) is not \(2, 5, 5\)",
    ),
    (
        "bias dtype",
        None,
        {"bias": np.ones((2, 5, 5))},
        TypeError,
        r"bias: dtype float64 is not float32",
    ),
]


@pytest.mark.parametrize(
    "change,keywords,error,message", [e[1:] for e in ERRORS], ids=[e[0] for e in ERRORS]
)
def test_errors(change, keywords, error, message):
    arrays = list(make((6, 9)))
    good = list(arrays)
    expected = na_mlir.neighborhood_attention(*good, 3)
    na_mlir.neighborhood_attention(*good, (3, 3))
    if change:
        change(arrays)
    with pytest.raises(error, match=message):
        na_mlir.neighborhood_attention(*arrays, **{"window": 3, **keywords})
    assert np.array_equal(na_mlir.neighborhood_attention(*good, 3), expected)


def test_heads_that_do_not_divide():
    q, k, v = make((12,), heads=3, kv_heads=2)
    with pytest.raises(ValueError, match="k, axis 2: 2 heads do not divide the 3 heads of q"):
        na_mlir.neighborhood_attention(q, k, v, 3)


def test_inspection():
    q, k, v = make((14, 14), dim=16)
    text = na_mlir.explain(q, strided(k), v, 7)
    assert "tokens 14x14, window 7x7" in text and "query_tile" in text
    assert "copied    k\n" in text
    assert "na.attention" in na_mlir.mlir(q, k, v, 7)
    assert "#na.schedule" in na_mlir.mlir(q, k, v, 7, stage="schedule")
    lowered = na_mlir.mlir(q, k, v, 7, stage="lowered")
    assert "llvm.func" in lowered and "na.attention" not in lowered
    code = na_mlir.ptx(q, k, v, 7, chip="sm_80")
    assert ".target sm_80" in code and ".visible .entry" in code
    assert 'target = "sm_80"' in na_mlir.mlir(q, k, v, 7, stage="schedule", chip="sm_80")
    with pytest.raises(ValueError, match="chip: None"):
        na_mlir.ptx(q, k, v, 7)
    with pytest.raises(ValueError, match="unknown chip 'sm_1'; available: sm_80"):
        na_mlir.ptx(q, k, v, 7, chip="sm_1")
    with pytest.raises(ValueError, match="chip: '' is not the name of one"):
        na_mlir.ptx(q, k, v, 7, chip="")
    with pytest.raises(ValueError, match="stage: 'end' is not one of"):
        na_mlir.mlir(q, k, v, 7, stage="end")
    assert "LLVM 22" in na_mlir.version()


def test_number_of_threads():
    before = na_mlir.get_num_threads()
    na_mlir.set_num_threads(1)
    assert na_mlir.get_num_threads() == 1
    na_mlir.set_num_threads(0)
    assert na_mlir.get_num_threads() == before
    for count, error, message in (
        (-1, ValueError, "count: -1 is not at least 0"),
        (2**32, ValueError, f"count: {2**32} is not at most 4096"),
        (2.0, TypeError, "count: expected an int, not 2.0"),
        ("2", TypeError, "count: expected an int, not '2'"),
    ):
        with pytest.raises(error, match=message):
            na_mlir.set_num_threads(count)
    assert na_mlir.get_num_threads() == before


FORK = """
import os, signal
import numpy as np
import na_mlir

na_mlir.set_num_threads(2)
q = np.random.default_rng(0).standard_normal((2, 64, 2, 8)).astype(np.float32)
expected = na_mlir.neighborhood_attention(q, q, q, 5)
child = os.fork()
if child == 0:
    signal.alarm(60)
    o = na_mlir.neighborhood_attention(q, q, q, 5)
    na_mlir.set_num_threads(4)
    other = na_mlir.neighborhood_attention(q, q, q, 7, dilation=2)
    again = na_mlir.neighborhood_attention(q, q, q, 5)
    right = np.array_equal(o, expected) and np.array_equal(again, expected)
    os._exit(0 if right and np.isfinite(other).all() else 1)
assert os.waitpid(child, 0)[1] == 0
assert np.array_equal(na_mlir.neighborhood_attention(q, q, q, 5), expected)
"""


def test_children_of_a_fork():
    """As workers that load data are."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr


def test_what_fails_leaves_nothing(monkeypatch, fresh_cache):
    q, k, v = make((12,))
    expected = na_mlir.neighborhood_attention(q, k, v, 5)

    def refuse(*arguments):
        raise na_mlir.CompileError("no")

    with monkeypatch.context() as patched:
        patched.setattr(_library, "Program", refuse)
        with pytest.raises(na_mlir.CompileError):
            na_mlir.neighborhood_attention(q, k, v, 3)
    assert not _programs._building and na_mlir.cache_size() == 1
    assert np.array_equal(na_mlir.neighborhood_attention(q, k, v, 5), expected)
    na_mlir.neighborhood_attention(q, k, v, 3)


class Counter:
    """Counts up; equal to itself all the while."""

    def __init__(self):
        self.value = 1

    def __index__(self):
        self.value += 2
        return self.value


def test_parameters_that_change(fresh_cache):
    q, k, v = make((12,))
    size = Counter()
    for window in (3, 5):
        expected = na_mlir.neighborhood_attention(q, k, v, window)
        assert np.array_equal(na_mlir.neighborhood_attention(q, k, v, size), expected)
