# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests on tensors share: devices, inputs, and attention as PyTorch differentiates it."""

import pytest
import torch
from conftest import SHORT, make, reference
from window_oracle import visible

CUDA = pytest.param(
    "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
)
DEVICES = ["cpu", CUDA]


def inputs(device, *arguments, dtype=torch.float32, **keywords):
    """q, k and v of a problem."""
    return tuple(torch.from_numpy(a).to(device, dtype) for a in make(*arguments, **keywords))


def to_numpy(tensor):
    return tensor.detach().double().cpu().numpy()


def leaves_of(device, *arguments, dtype=torch.float32, **keywords):
    """q, k and v that want gradients."""
    return [t.requires_grad_() for t in inputs(device, *arguments, dtype=dtype, **keywords)]


def random_like(tensor, seed=7):
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.randn(tensor.shape, generator=generator, dtype=torch.float64)
    return numbers.to(tensor.device, tensor.dtype)


def plain_attention(
    q, k, v, window, stride=None, dilation=None, causal=None, scale=None, keys=None, values=None,
    bias=None,
):
    """Masked attention in f64 as PyTorch differentiates it: output and log-sum-exp."""
    rank = q.dim() - 3
    lists = [
        list(value) if isinstance(value, (tuple, list)) else [value] * rank
        for value in (window, stride or 1, dilation or 1, causal or False)
    ]
    tokens = q.shape[1:-2]
    mask = torch.ones(1, 1)
    for length, *axis in zip(tokens, *lists):
        seen = torch.zeros(length, length)
        for query, keys_of_query in enumerate(visible(length, *axis)):
            seen[query, list(keys_of_query)] = 1
        mask = torch.kron(mask, seen)
    group = q.shape[-2] // k.shape[-2]

    def heads_first(t, repeat=1):
        return t.double().flatten(1, -3).transpose(1, 2).repeat_interleave(repeat, 1)

    qh, kh, vh = heads_first(q), heads_first(k, group), heads_first(v, group)
    logits = qh @ kh.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if bias is not None:
        # Of pairs that see each other the distance is a multiple of the dilation.
        places = torch.stack(torch.meshgrid(*map(torch.arange, tokens), indexing="ij"), -1)
        places = places.reshape(-1, rank)
        distance = places[None] - places[:, None]
        index = [
            (distance[..., axis] // lists[2][axis] + lists[0][axis] - 1).clamp(
                0, 2 * lists[0][axis] - 2
            )
            for axis in range(rank)
        ]
        logits = logits + bias.double()[(slice(None), *index)]
    logits = logits.masked_fill(mask.to(q.device) == 0, float("-inf"))
    if keys is not None:
        kh, vh = heads_first(keys, group), torch.cat([vh, heads_first(values, group)], 2)
        more = qh @ kh.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
        logits = torch.cat([logits, more], -1)
    output = (logits.softmax(-1) @ vh).transpose(1, 2).reshape(*q.shape[:-1], v.shape[-1])
    return output, logits.logsumexp(-1).transpose(1, 2).reshape(q.shape[:-1])


def gradients_of(function, leaves, output_grad, lse_grad=None):
    """The gradients of the leaves, through new ones."""
    leaves = [None if t is None else t.detach().requires_grad_() for t in leaves]
    output, lse = function(*leaves)
    total = (output.double() * output_grad.double()).sum()
    if lse_grad is not None:
        total = total + (lse.double() * lse_grad.double()).sum()
    return torch.autograd.grad(total, [t for t in leaves if t is not None])


def compare(results, expected, dtype="float32"):
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected):
        whole, row = reference.relative_errors(to_numpy(result), to_numpy(wanted), gradient=True)
        limits = reference.TOLERANCES[SHORT[dtype]]
        assert whole <= limits[0] and row <= limits[1], (whole, row, limits)
