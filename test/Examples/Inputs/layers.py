# ===- layers.py - Runs the examples against NumPy ---------------------------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Runs a layer of examples/ by na-run and compares it with the same layer in f64.

Usage: layers.py NA_RUN EXAMPLES CONFORMANCE WORK LAYER PIPELINE...

LAYER is a function of this file. It is written from the definition of the layer,
not from the program; its attention is that of conformance/reference.py. Prints
one line per pipeline; the exit code is 1 if one fails.
"""

import inspect
import math
import os
import subprocess
import sys

import numpy as np

na_run, examples, conformance, work, layer_name, *pipelines = sys.argv[1:]
sys.path.insert(0, conformance)
import reference


def linear(x, weight, shift=0.0):
    """Weights have unit variance: the sum is divided by sqrt(inputs)."""
    return x @ weight / np.sqrt(weight.shape[0]) + shift


def layer_norm(x, gain, shift, epsilon=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + epsilon) * gain + shift


def rms_norm(x, gain, epsilon):
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + epsilon) * gain


def erf(x):
    """Of each element; NumPy has none."""
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def gelu(x):
    return x / 2 * (1 + erf(x / np.sqrt(2)))


def gelu_tanh(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def split_heads(x, heads):
    return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads)


def join_heads(x):
    return x.reshape(*x.shape[:-2], -1)


# Each parameter is an argument of the program, its annotation the shape. The
# result maps outputs of the program to what they must be.


def nat_block(
    x: (1, 56, 56, 64),
    norm1_gain: (64,), norm1_shift: (64,),
    qkv_weight: (64, 192), qkv_shift: (192,),
    position_bias: (2, 13, 13),
    projection_weight: (64, 64), projection_shift: (64,),
    norm2_gain: (64,), norm2_shift: (64,),
    mlp1_weight: (64, 192), mlp1_shift: (192,),
    mlp2_weight: (192, 64), mlp2_shift: (64,),
):
    qkv = linear(layer_norm(x, norm1_gain, norm1_shift), qkv_weight, qkv_shift)
    q, k, v = (split_heads(part, 2) for part in np.split(qkv, 3, axis=-1))
    attention, _ = reference.attention(q, k, v, [7, 7], bias=position_bias)
    y = x + linear(join_heads(attention), projection_weight, projection_shift)
    hidden = linear(layer_norm(y, norm2_gain, norm2_shift), mlp1_weight, mlp1_shift)
    return {"y": y + linear(gelu(hidden), mlp2_weight, mlp2_shift)}


def nat_weights(
    x: (1, 56, 56, 64),
    norm1_gain: (64,), norm1_shift: (64,),
    qkv_weight: (64, 192), qkv_shift: (192,),
    position_bias: (2, 13, 13),
):
    qkv = linear(layer_norm(x, norm1_gain, norm1_shift), qkv_weight, qkv_shift)
    q, k, _ = (split_heads(part, 2) for part in np.split(qkv, 3, axis=-1))
    scores = reference.qk(q, k, [7, 7], bias=position_bias)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return {"weights": weights / weights.sum(axis=-1, keepdims=True)}


def dinat_block(
    x: (2, 28, 28, 192),
    norm1_gain: (192,), norm1_shift: (192,),
    q_weight: (192, 6, 32), q_shift: (6, 32),
    k_weight: (192, 6, 32), k_shift: (6, 32),
    v_weight: (192, 6, 32), v_shift: (6, 32),
    position_bias: (6, 13, 13),
    projection_weight: (6, 32, 192), projection_shift: (192,),
    layer_scale1: (192,),
    norm2_gain: (192,), norm2_shift: (192,),
    mlp1_weight: (192, 384), mlp1_shift: (384,),
    mlp2_weight: (384, 192), mlp2_shift: (192,),
    layer_scale2: (192,),
):
    norm1 = layer_norm(x, norm1_gain, norm1_shift)
    q, k, v = (
        split_heads(linear(norm1, weight.reshape(192, 192), shift.reshape(192)), 6)
        for weight, shift in [
            (q_weight, q_shift), (k_weight, k_shift), (v_weight, v_shift)
        ]
    )
    attention, _ = reference.attention(
        q, k, v, [7, 7], dilation=[4, 4], bias=position_bias
    )
    projection = linear(
        join_heads(attention), projection_weight.reshape(192, 192), projection_shift
    )
    y = x + layer_scale1 * projection
    hidden = linear(layer_norm(y, norm2_gain, norm2_shift), mlp1_weight, mlp1_shift)
    return {"y": y + layer_scale2 * linear(gelu(hidden), mlp2_weight, mlp2_shift)}


def video_block(
    x: (1, 8, 12, 20, 128), text: (1, 16, 128),
    shift1: (128,), scale1: (128,), gate1: (128,),
    shift2: (128,), scale2: (128,), gate2: (128,),
    qkv_weight: (128, 384), q_gain: (64,), k_gain: (64,),
    text_weight: (128, 256), projection_weight: (128, 128),
    mlp1_weight: (128, 512), mlp1_shift: (512,),
    mlp2_weight: (512, 128), mlp2_shift: (128,),
):
    qkv = linear(layer_norm(x, 1 + scale1, shift1, 1e-6), qkv_weight)
    q, k, v = (split_heads(part, 2) for part in np.split(qkv, 3, axis=-1))
    # The program leaves out the factor 1 / sqrt(128), which the norm cancels but
    # for the epsilon.
    q = rms_norm(q, q_gain, 1e-6 / 128)
    k = rms_norm(k, k_gain, 1e-6 / 128)
    text_k, text_v = (
        split_heads(part, 2) for part in np.split(linear(text, text_weight), 2, axis=-1)
    )
    attention, _ = reference.attention(
        q, k, v, [4, 6, 10], stride=[1, 2, 2], causal=[True, False, False],
        ek=text_k, ev=text_v,
    )
    y = x + gate1 * linear(join_heads(attention), projection_weight)
    hidden = linear(layer_norm(y, 1 + scale2, shift2, 1e-6), mlp1_weight, mlp1_shift)
    return {"y": y + gate2 * linear(gelu_tanh(hidden), mlp2_weight, mlp2_shift)}


def rotate(x):
    """Rotary position embedding; features i and i + half are a pair."""
    tokens, half = x.shape[1], x.shape[-1] // 2
    angles = np.outer(np.arange(tokens), 10000.0 ** (-np.arange(half) / half))
    turn = np.exp(1j * angles)[:, None, :]
    turned = (x[..., :half] + 1j * x[..., half:]) * turn
    return np.concatenate([turned.real, turned.imag], axis=-1)


def sliding_window_layer(
    x: (1, 1024, 256), norm1_gain: (256,),
    q_weight: (256, 256), k_weight: (256, 64), v_weight: (256, 64),
    projection_weight: (256, 256), norm2_gain: (256,),
    gate_weight: (256, 512), up_weight: (256, 512), down_weight: (512, 256),
):
    norm1 = rms_norm(x, norm1_gain, 1e-5)
    attention, _ = reference.attention(
        rotate(split_heads(linear(norm1, q_weight), 8)),
        rotate(split_heads(linear(norm1, k_weight), 2)),
        split_heads(linear(norm1, v_weight), 2),
        [256],
        causal=[True],
    )
    y = x + linear(join_heads(attention), projection_weight)
    norm2 = rms_norm(y, norm2_gain, 1e-5)
    gate = linear(norm2, gate_weight)
    hidden = gate / (1 + np.exp(-gate)) * linear(norm2, up_weight)
    return {"y": y + linear(hidden, down_weight)}


# Layers that are a function of a file, not a file.
ENTRIES = {"nat_weights": ("nat_block", "attention_weights")}


def main():
    layer = globals()[layer_name]
    file, entry = ENTRIES.get(layer_name, (layer_name, "main"))
    os.makedirs(work, exist_ok=True)
    rng = np.random.default_rng(2024)
    shapes = {
        name: parameter.annotation
        for name, parameter in inspect.signature(layer).parameters.items()
    }
    inputs = {
        name: rng.standard_normal(shape).astype(np.float32)
        for name, shape in shapes.items()
    }
    for name, array in inputs.items():
        np.save(f"{work}/{name}.npy", array)
    wanted = layer(**{n: a.astype(np.float64) for n, a in inputs.items()})

    failed = False
    for pipeline in pipelines:
        outputs = {name: f"{work}/{pipeline}-{name}.npy" for name in wanted}
        subprocess.run(
            [
                na_run,
                f"{examples}/{file}.mlir",
                f"--entry={entry}",
                f"--pipeline={pipeline}",
                "--inputs=" + ",".join(f"{n}={work}/{n}.npy" for n in inputs),
                "--outputs=" + ",".join(f"{n}={p}" for n, p in outputs.items()),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        for name, want in wanted.items():
            errors = reference.relative_errors(np.load(outputs[name]), want)
            limits = reference.TOLERANCES["f32"]
            good = all(error <= limit for error, limit in zip(errors, limits))
            failed |= not good
            print(
                f"{layer_name} {pipeline} {name}: error {errors[0]:.1e}, "
                f"worst row {errors[1]:.1e}: {'pass' if good else 'FAIL'}"
            )
    return failed


if __name__ == "__main__":
    sys.exit(main())
