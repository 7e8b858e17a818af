# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples of examples/python, and the plain PyTorch that they compare with."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import torch
from conftest import check, make, reference
from tensors import DEVICES

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"
sys.path.insert(0, str(EXAMPLES))

import common  # noqa: E402


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("example", ["nat_block", "video_block", "language_model_layer"])
def test_example(example, device):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{example}.py"), f"--device={device}"],
        capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
             "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok" in done.stdout and "plain PyTorch" in done.stdout


def test_an_example_can_fail(monkeypatch, capsys):
    """What differs from plain PyTorch is found."""
    import video_block

    monkeypatch.setattr(sys, "argv", ["video_block.py", "--device=cpu"])
    right = common.attention_by_definition
    monkeypatch.setattr(
        common, "attention_by_definition", lambda *a, **k: 1.001 * right(*a, **k)
    )
    with pytest.raises(SystemExit) as exit_:
        common.run("video", video_block.make)
    assert exit_.value.code == 1 and "WRONG" in capsys.readouterr().out


@pytest.mark.parametrize(
    "shape,window,dilation,causal",
    [((13,), (4,), (3,), (False,)), ((7, 9), (3, 4), (2, 1), (True, False)),
     ((4, 5, 6), (3, 2, 5), (1, 2, 1), (False, True, False))],
)
def test_plain_pytorch_meets_the_reference(shape, window, dilation, causal):
    arrays = make(shape, heads=4, kv_heads=2, dim=8, value_dim=4, batch=2)
    result = common.attention_by_definition(
        *map(torch.from_numpy, arrays), window, dilation, causal
    )
    expected, _ = reference.attention(
        *arrays, window, [1] * len(shape), dilation, causal
    )
    check(np.asarray(result), expected)
