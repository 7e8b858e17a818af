# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rankings, tuning files, benchmark, and the command lines bench and viz."""

import inspect
import itertools
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from conftest import make

import na_mlir
from na_mlir import _cli, bench, viz
from na_mlir._problem import Spec, make_problem
from window_oracle import visible

PNG = b"\x89PNG\r\n\x1a\n"


def problem_of(shape, window, stride=1, dilation=1, causal=False, channels=16, heads=2):
    spec = Spec((1, *shape, heads, channels), "float32")
    return make_problem(spec, spec, spec, window, stride, dilation, causal)


# ===-----------------------------------------------------------------------------------------===
# explain, benchmark, tuning files
# ===-----------------------------------------------------------------------------------------===


def test_explain_prints_the_ranking():
    q, k, v = make((20, 20), dim=16)
    text = na_mlir.explain(q, k, v, 7, candidates=3)
    assert "schedule  target" in text and "rank  predicted" in text and "   3  " in text
    assert "   4  " not in text
    assert "# interior (no mask), + boundary (masked), . skipped" in text
    assert "rank" not in na_mlir.explain(q, k, v, 7, candidates=0)
    assert "rank" not in na_mlir.explain(q, k, v, 7, mode="naive")


def test_explain_as_json_and_svg():
    q, k, v = make((20, 24), heads=4, kv_heads=2, dim=64, dtype="float16")
    result = na_mlir.explain(q, k, v, (7, 5), dilation=(1, 2), chip="sm_80", candidates=4, form="json")
    assert result["target"] == "sm_80" and len(result["candidates"]) == 4
    assert result["problem"]["shape"] == [20, 24] and result["problem"]["kv_heads"] == 2
    assert result["selected"] == result["candidates"][0]["schedule"]
    assert result["key"].endswith("dim 64/64 f16 on sm_80")
    # What is selected is what a call is compiled with.
    schedule = na_mlir.mlir(q, k, v, (7, 5), dilation=(1, 2), chip="sm_80", stage="schedule")
    assert f"query_tile = {result['selected']['query_tile']}" in schedule
    assert f"key_tile = {result['selected']['key_tile']}" in schedule
    corner = na_mlir.explain(q, k, v, (7, 5), form="json", query_tile=(0, 0))["coverage"]
    assert [axis["query"][0] for axis in corner["axes"]] == [0, 0]
    picture = na_mlir.explain(q, k, v, (7, 5), form="svg")
    assert picture.startswith("<svg ") and "20x24" in picture


@pytest.mark.parametrize(
    "keywords,message",
    [
        ({"form": "yaml"}, "form: 'yaml' is not one of"),
        ({"form": "json", "candidates": 0}, "candidates: 0 is not at least 1"),
        ({"form": "json", "query_tile": (0,)}, r"query_tile: \(0,\) has 1 entries, but there are 2"),
        ({"form": "json", "query_tile": (99, 0)}, "query tile, axis 0: 99 is not in 0 to"),
        ({"query_tile": (0, -1)}, "query_tile, axis 1: -1 is not at least 0"),
        # Numbers that would be others in 32 or 64 bits.
        ({"form": "svg", "query_tile": (2**64, 0)}, f"query_tile, axis 0: {2**64} is not at most"),
        ({"candidates": 2**32 + 1}, f"candidates: {2**32 + 1} is not at most"),
        ({"candidates": -1}, "candidates: -1 is not at least 0"),
        ({"form": "json", "chip": "sm_1"}, "unknown chip 'sm_1'"),
        ({"form": "json", "mode": "naive"}, "mode: 'naive' has no ranking of schedules"),
    ],
)
def test_explain_errors(keywords, message):
    q, k, v = make((20, 20))
    with pytest.raises(ValueError, match=message):
        na_mlir.explain(q, k, v, 7, **keywords)


@pytest.mark.parametrize(
    "keywords,message",
    [
        ({"candidates": 2.5}, "candidates: expected an int, not 2.5"),
        ({"query_tile": (0, 0.5)}, "query_tile, axis 1: expected an int, not 0.5"),
        ({"chip": 90}, "chip: expected a name such as 'sm_90', not 90"),
    ],
)
def test_explain_types(keywords, message):
    q, k, v = make((20, 20))
    with pytest.raises(TypeError, match=message):
        na_mlir.explain(q, k, v, 7, **keywords)


def test_signatures_are_those_of_a_call():
    call = inspect.signature(na_mlir.neighborhood_attention).parameters
    for function, own in (
        (na_mlir.mlir, ["stage", "chip"]),
        (na_mlir.ptx, ["chip"]),
        (na_mlir.explain, ["chip", "candidates", "query_tile", "form"]),
        (na_mlir.benchmark, ["runs", "warm_up", "cold"]),
    ):
        assert list(inspect.signature(function).parameters) == [*call, *own]
        assert function.__doc__
    q, k, v = make((12,))
    with pytest.raises(TypeError, match="window"):
        na_mlir.explain(q, k, v)
    with pytest.raises(TypeError, match="unexpected keyword argument 'windows'"):
        na_mlir.mlir(q, k, v, 3, windows=3)


def test_benchmark():
    q, k, v = make((20, 20), heads=2, dim=16)
    found = na_mlir.benchmark(q, k, v, 5, runs=4, warm_up=1)
    assert len(found.times) == 4 and 0 < found.fastest <= found.median <= max(found.times)
    assert found.flop == 2 * 400 * 25 * 32 * 2 and found.predicted > 0
    assert found.as_dict()["median"] == found.median and json.dumps(found.as_dict())
    assert "median" in str(found) and "tokens 20x20" in str(found)
    naive = na_mlir.benchmark(q, k, v, 5, causal=True, runs=1, warm_up=0, mode="naive")
    assert naive.predicted is None and naive.mode == "naive"
    assert naive.flop < found.flop
    with pytest.raises(ValueError, match="runs: 0"):
        na_mlir.benchmark(q, k, v, 5, runs=0)
    with pytest.raises(ValueError, match="warm_up: -1"):
        na_mlir.benchmark(q, k, v, 5, warm_up=-1)


def test_tuning_file(tmp_path):
    q, k, v = make((20, 20), heads=2, dim=8)
    expected = na_mlir.neighborhood_attention(q, k, v, 5)
    explained = na_mlir.explain(q, k, v, 5, form="json", candidates=20)
    tuned = explained["candidates"][-1]["schedule"]
    assert tuned != explained["selected"]
    path = tmp_path / "tuned file.json"
    entries = {explained["key"]: {"schedule": tuned, "seconds": 0.5, "gpu": "here"}}
    path.write_text(json.dumps({"format": "na-tuning 1", "entries": entries}))
    try:
        na_mlir.set_tuning_file(path)
        again = na_mlir.explain(q, k, v, 5, form="json")
        assert again["selected"] == tuned and again["measured_s"] == 0.5
        text = na_mlir.mlir(q, k, v, 5, stage="schedule")
        assert f"query_tile = {tuned['query_tile']}, key_tile = {tuned['key_tile']}" in text
        np.testing.assert_allclose(
            na_mlir.neighborhood_attention(q, k, v, 5), expected, rtol=1e-4, atol=1e-5
        )
        # Stale and wrong files.
        entries[explained["key"]]["schedule"] = {**tuned, "target": "sm_80"}
        path.write_text(json.dumps({"format": "na-tuning 1", "entries": entries}))
        na_mlir.set_tuning_file(str(path))
        assert "is stale" in na_mlir.explain(q, k, v, 5)
        path.write_text("{}")
        na_mlir.set_tuning_file(path)
        with pytest.raises(na_mlir.CompileError, match="it has no \"format\""):
            na_mlir.neighborhood_attention(q, k, v, 5)
    finally:
        na_mlir.set_tuning_file(None)
    assert np.array_equal(na_mlir.neighborhood_attention(q, k, v, 5), expected)


# ===-----------------------------------------------------------------------------------------===
# viz
# ===-----------------------------------------------------------------------------------------===

AXES = [(12, 5, 1, 1, False), (13, 4, 3, 2, False), (9, 3, 2, 1, True), (10, 5, 1, 2, True)]


@pytest.mark.parametrize("axes", [AXES[:1], AXES[1:3], AXES[1:4]], ids=len)
def test_window_map_meets_the_oracle(axes):
    shape, window, stride, dilation, causal = zip(*axes)
    problem = problem_of(shape, window, stride, dilation, causal)
    keys = [visible(*axis) for axis in axes]
    rng = np.random.default_rng(0)
    for query in [tuple(0 for _ in shape), tuple(n - 1 for n in shape)] + [
        tuple(int(rng.integers(n)) for n in shape) for _ in range(20)
    ]:
        seen = viz.window_map(problem, query)
        expected = np.ones((), bool)
        for length, rows, at in zip(shape, keys, query):
            expected = np.multiply.outer(expected, np.isin(np.arange(length), rows[at]))
        assert np.array_equal((seen & 1).astype(bool), expected)
        assert seen[query] >= 2 and (seen >= 2).sum() == 1


def test_tile_kinds_add_up():
    problem = problem_of((64, 64, 9), (21, 13, 3), channels=64)
    for target in ("cpu", "sm_80", "sm_89"):
        coverage = viz.explain_tiles(problem, target)["coverage"]
        counts = {"interior": 0, "boundary": 0, "skipped": 0}
        for tile in itertools.product(*(range(axis["tiles"]) for axis in coverage["axes"])):
            for part in range(coverage["parts"]):
                counts[viz.tile_kind(coverage, part, tile)] += 1
        assert counts == {kind: coverage[kind] for kind in counts}


@pytest.mark.parametrize(
    "flags",
    [
        ["--shape=40", "--window=9", "--causal=t"],
        ["--shape=1000", "--window=9", "--query=999"],
        ["--shape=12x20", "--window=5x7", "--dilation=2x1", "--query=0x19"],
        ["--shape=20x8x9", "--window=15x3x3"],
        ["--what=tiles", "--shape=512", "--window=100", "--target=sm_80", "--dtype=f16",
         "--head-dim=64"],
        ["--what=tiles", "--shape=128x96", "--window=60x48", "--target=sm_90a", "--dtype=bf16",
         "--head-dim=128", "--heads=8", "--query-tile=0x0"],
        ["--what=tiles", "--shape=30x48x80", "--window=18x24x24", "--target=sm_90a",
         "--dtype=bf16", "--head-dim=128", "--heads=8"],
    ],
    ids=lambda flags: "-".join(flags[:2]).replace("--", ""),
)
@pytest.mark.parametrize("ending", ["png", "svg"])
def test_viz(tmp_path, capsys, flags, ending):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"picture.{ending}"
    assert viz.main([*flags, f"--output={path}"]) == 0
    data = path.read_bytes()
    assert data.startswith(PNG) if ending == "png" else b"<svg" in data
    assert len(data) > 3000
    assert f"wrote {path}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "flags,message",
    [
        (["--shape=9"], "--window is missing"),
        (["--shape=9", "--window=11"], "window, axis 0: 11 * dilation 1 = 11 exceeds the length, 9"),
        (["--shape=9", "--window=3", "--query=9"], "query, axis 0: 9 is not in 0 to 8"),
        (["--shape=9", "--window=3", "--query=1x1"], "query: (1, 1) has 2 entries"),
        (["--shape=9", "--window=3", "--output=a.txt"], "must end in .png, .svg or .pdf"),
        (["--shape=9", "--window=3", "--what=tiles", "--target=sm_1"], "unknown chip 'sm_1'"),
        (["--shape=9", "--window=3", "--heads=4", "--kv-heads=3"], "3 heads do not divide the 4"),
        (["--shape=9", "--window=3", "--heads=-1"], "--heads: -1 is not at least 1"),
        (["--shape=9", "--window=3", "--output=no-such-folder/a.png"], "No such file or directory"),
        (["--suite=no-such-file.json"], "No such file or directory"),
        (["--shape=9", "--window=3", "--heads=0"], "--heads: 0 is not at least 1"),
        (["--shape=9", "--window=3", "--kv-heads=0"], "--kv-heads: 0 is not at least 1"),
        (["--shape=9", "--window=3", "--head-dim=0"], "--head-dim: 0 is not at least 1"),
        (["--shape=9", "--window=3", "--stride=0"], "stride, axis 0: 0 is not in 1 to"),
        (["--shape=-9", "--window=3"], "--shape, axis 0: -9 is not at least 1"),
        ([f"--shape=9x{2**64}", "--window=3x3"], f"--shape, axis 1: {2**64} is not at most"),
        (["--shape=9", "--window=3", "--output=/dev/null/a.png"], "/dev/null/a.png"),
    ],
)
def test_viz_errors(capsys, flags, message):
    pytest.importorskip("matplotlib")
    assert viz.main(flags) == 1
    error = capsys.readouterr().err
    assert error.startswith("na_mlir.viz: error: ") and message in error


def test_without_matplotlib(monkeypatch, capsys, tmp_path):
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    assert viz.main(["--shape=9", "--window=3", f"--output={tmp_path}/a.png"]) == 1
    assert "matplotlib, which is not installed: pip install matplotlib" in capsys.readouterr().err
    flags = ["--shape=9", "--window=3", "--device=numpy", "--runs=1"]
    assert bench.main([*flags, f"--plot={tmp_path}/a.png"]) == 1
    captured = capsys.readouterr()
    assert "pip install matplotlib" in captured.err and "median" not in captured.out
    assert bench.main(flags) == 0


# ===-----------------------------------------------------------------------------------------===
# bench
# ===-----------------------------------------------------------------------------------------===


def test_bench_writes_table_json_and_picture(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    results, picture = tmp_path / "a.json", tmp_path / "a.png"
    flags = ["--shape=20x20", "--window=5x5", "--heads=2", "--modes=fused,naive", "--runs=2",
             "--device=numpy", "--bias", "--extra-kv=3", f"--json={results}", f"--plot={picture}"]
    assert bench.main(flags) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[0].split()[:2] == ["problem", "mode"] and len(table) == 3
    assert table[1].split()[1] == "fused" and table[2].split()[1] == "naive"
    stored = json.loads(results.read_text())
    assert [r["mode"] for r in stored["results"]] == ["fused", "naive"]
    assert all(len(r["times"]) == 2 and r["median"] > 0 for r in stored["results"])
    assert picture.read_bytes().startswith(PNG)


def test_bench_of_a_suite(tmp_path, capsys):
    suite = tmp_path / "suite.json"
    suite.write_text(json.dumps({"problems": [
        {"id": "one", "shape": [24], "window": [5], "stride": [1], "dilation": [2],
         "causal": [True], "batch": 2, "heads": 4, "kv_heads": 2, "head_dim": 8, "value_dim": 8,
         "extra_kv": 0, "scale": None, "dtype": "f16"},
        {"id": "two", "shape": [6, 7], "window": [3, 3], "dtype": "f32"},
        {"id": "other", "shape": [6], "window": [7]},
    ]}))
    flags = [f"--suite={suite}", "--device=numpy", "--runs=1"]
    assert bench.main([*flags, "--problems=one,t*", "--json=-"]) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    assert [r["name"] for r in results] == ["one", "two"]
    assert "batch 2, heads 4 on 2 key heads" in results[0]["problem"]
    assert bench.main([*flags, "--problems=none"]) == 1
    assert "--problems=none: no such problem" in capsys.readouterr().err
    assert bench.main(flags) == 1
    assert "suite.json, problem other: window, axis 0: 7" in capsys.readouterr().err
    assert bench.main([*flags, "--shape=3"]) == 1
    assert "--suite has the problems" in capsys.readouterr().err
    suite.write_text("[]")
    assert bench.main(flags) == 1
    assert "is no suite" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--json={}/no-such-folder/a.json", "--plot={}/no-such-folder/a.png"])
def test_files_that_cannot_be_written_come_before_measurements(tmp_path, capsys, flag):
    flags = ["--shape=20", "--window=5", "--device=numpy", flag.format(tmp_path)]
    assert bench.main(flags) == 1
    captured = capsys.readouterr()
    assert "No such file or directory" in captured.err and not captured.out


def test_what_cannot_be_timed_is_a_line(monkeypatch, capsys):
    def refuse(**arguments):
        raise na_mlir.CompileError("no such kernel\nmore")

    monkeypatch.setattr(bench, "benchmark", refuse)
    assert bench.main(["--shape=20", "--window=5", "--device=numpy"]) == 1
    assert "failed: no such kernel" in capsys.readouterr().out


def test_bench_on_pytorch(capsys):
    pytest.importorskip("torch")
    flags = ["--shape=20", "--window=5", "--dtype=bf16", "--runs=1", "--json=-"]
    assert bench.main([*flags, "--device=cpu"]) == 0
    result = json.loads(capsys.readouterr().out)["results"][0]
    assert result["device"] == "cpu" and "bfloat16" in result["problem"]
    assert bench.main([*flags, "--device=nowhere"]) == 1
    assert "--device=nowhere" in capsys.readouterr().err
    assert bench.main([*flags, "--device=numpy"]) == 1
    assert "--dtype=bf16 needs PyTorch" in capsys.readouterr().err


def test_benchmark_of_host_times(tmp_path):
    """benchmarks/host.py, without the peer."""
    torch = pytest.importorskip("torch")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    script = pathlib.Path(__file__).parents[2] / "benchmarks" / "host.py"
    done = subprocess.run(
        [sys.executable, str(script), f"--device={device}", "--dtype=f32", "--problems=2d",
         "--rounds=1", "--no-flex", f"--json={tmp_path}/host.json"],
        capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].split()[:2] == ["2d", "na_mlir"]
    (result,) = json.loads((tmp_path / "host.json").read_text())["results"]
    for name in ("forward", "operator", "training", "step"):
        assert 0 < result["na_mlir"]["repeated_s"][name] < 1
    assert all(seconds > 0 for seconds in result["na_mlir"]["first_s"].values())


def test_as_modules():
    """python -m na_mlir.bench, with flags that argparse refuses."""
    for module, flags, message in (
        ("bench", ["--modes=fast"], "'fast' is not one of"),
        ("bench", ["--runs=0"], "--runs=0 is less than 1"),
        ("viz", ["--shape=3y"], "'3y' is not of the form 7x7"),
        ("viz", ["--causal=x"], "'x' is not of the form t,f"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", f"na_mlir.{module}", *flags], capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert done.returncode == 2 and message in done.stderr, done.stderr
    assert _cli.integers("3x4") == _cli.integers("3,4") == (3, 4)
