# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch tensors, the operator, NATTEN's names and the modules: on the CPU and, where there is
one, on a GPU."""

import itertools

import numpy as np
import pytest
import torch
from conftest import check, check_lse, reference
from tensors import DEVICES, inputs, to_numpy

import na_mlir
import na_mlir.torch as binding

ATTENTION = torch.ops.na_mlir.attention


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_dtypes(device, dtype):
    q, k, v = inputs(device, (6, 9), heads=4, kv_heads=2, dim=16, value_dim=24, dtype=dtype)
    bias = torch.linspace(-1, 1, 4 * 5 * 9, device=device).reshape(4, 5, 9)
    o, lse = na_mlir.neighborhood_attention(q, k, v, (3, 5), bias=bias, return_lse=True)
    assert o.dtype == dtype and lse.dtype == torch.float32 and o.device == q.device
    name = str(dtype).replace("torch.", "")
    expected, expected_lse = reference.attention(
        *map(to_numpy, (q, k, v)), (3, 5), bias=to_numpy(bias)
    )
    check(to_numpy(o), expected, name)
    check_lse(to_numpy(lse), expected_lse, name)


def test_additional_keys(device):
    q, k, v = inputs(device, (12,), batch=2)
    keys, values = inputs(device, (3,), batch=2, seed=1)[:2]
    o = na_mlir.neighborhood_attention(
        q, k, v, 5, causal=True, additional_keys=keys, additional_values=values
    )
    expected, _ = reference.attention(
        *map(to_numpy, (q, k, v)), [5], causal=[True], ek=to_numpy(keys), ev=to_numpy(values)
    )
    check(to_numpy(o), expected)


@pytest.mark.parametrize("which", list(itertools.product([False, True], repeat=3)))
def test_strides(device, which):
    arrays = inputs(device, (12,), heads=3)
    expected = na_mlir.neighborhood_attention(*arrays, 5)
    views = [
        t.transpose(1, 2).contiguous().transpose(1, 2) if change else t
        for t, change in zip(arrays, which)
    ]
    assert [not t.is_contiguous() for t in views] == list(which)
    assert torch.equal(na_mlir.neighborhood_attention(*views, 5), expected)


def test_views(device):
    q, k, v = inputs(device, (12,))
    expected = na_mlir.neighborhood_attention(q, k, v, 5)
    # One element off any alignment.
    moved = [torch.cat([t.new_zeros(1), t.flatten()])[1:].view(t.shape) for t in (q, k, v)]
    assert torch.equal(na_mlir.neighborhood_attention(*moved, 5), expected)
    k, v = k[:, :1].expand(k.shape), v[:, :, :1].expand(v.shape)
    o = na_mlir.neighborhood_attention(q, k, v, 5)
    assert torch.equal(o, na_mlir.neighborhood_attention(q, k.clone(), v.clone(), 5))
    negative = torch._neg_view(q)
    assert torch.equal(
        na_mlir.neighborhood_attention(negative, k, v, 5),
        na_mlir.neighborhood_attention(-q, k, v, 5),
    )


def test_empty_batch(device):
    q, k, v = inputs(device, (12,), batch=0)
    o, lse = na_mlir.neighborhood_attention(q, k, v, 5, return_lse=True)
    assert o.shape == q.shape and lse.shape == q.shape[:-1] and o.device == q.device


@pytest.mark.parametrize("lse", [False, True])
def test_opcheck(device, lse):
    q, k, v = inputs(device, (12,), heads=4, kv_heads=2)
    bias = torch.zeros(4, 9, device=device)
    for arguments in (
        (q, k, v, None, None, None),
        (q, k, v, k[:, :2], v[:, :2], bias),
        (q.transpose(1, 2).contiguous().transpose(1, 2), k, v, None, None, None),
    ):
        torch.library.opcheck(
            ATTENTION, (*arguments, [5], [1], [1], [False], None, lse, "fused", "ieee")
        )


def test_compile_fullgraph(device):
    def block(q, k, v):
        o, lse = na_mlir.neighborhood_attention(q * 2, k, v, (3, 3), return_lse=True)
        return o + 1, lse.exp()

    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    q, k, v = inputs(device, (6, 7))
    for result, expected in zip(compiled(q, k, v), block(q, k, v)):
        assert torch.equal(result, expected)


def test_compile_dynamic_batch(device):
    graphs = []

    def count(graph, example):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(
        lambda q, k, v: na_mlir.neighborhood_attention(q, k, v, 5) + 1,
        fullgraph=True,
        dynamic=True,
        backend=count,
    )
    for batch in (3, 5, 7):
        q, k, v = inputs(device, (12,), batch=batch)
        assert torch.equal(compiled(q, k, v), na_mlir.neighborhood_attention(q, k, v, 5) + 1)
    assert len(graphs) == 1


def test_compile_shows_errors():
    def block(q, k, v):
        return na_mlir.neighborhood_attention(q, k, v, 13)

    q, k, v = inputs("cpu", (12,))
    with pytest.raises(Exception, match="window, axis 0: 13"):
        torch.compile(block, fullgraph=True, backend="aot_eager")(q, k, v)
    with pytest.raises(ValueError, match="window, axis 0: 13"):
        block(q, k, v)


def test_autocast(device):
    q, k, v = inputs(device, (12,))
    with torch.autocast(device, torch.bfloat16):
        o = na_mlir.neighborhood_attention(q, k, v, 5)
    assert o.dtype == torch.bfloat16
    half = [t.bfloat16() for t in (q, k, v)]
    assert torch.equal(o, na_mlir.neighborhood_attention(*half, 5))


def test_errors():
    q, k, v = inputs("cpu", (12,))
    cases = [
        ((q, k.to("meta"), v), {}, ValueError, "k: is on meta, but q is on cpu"),
        ((q, k.numpy(), v), {}, TypeError, "k: is a NumPy array, but q is a PyTorch tensor"),
        ((q.to_sparse(), k, v), {}, TypeError, "q: layout torch.sparse_coo is not strided"),
        ((q, None, v), {}, TypeError, "k: expected an array, not None"),
        (
            (q, torch.quantize_per_tensor(k, 1.0, 0, torch.qint8), v), {}, TypeError,
            "k: quantized tensors are not supported",
        ),
        (
            (q, k, torch.nested.nested_tensor([v[0]])), {}, TypeError,
            "v: nested tensors are not supported",
        ),
        ((q.int(), k, v), {}, TypeError, "q: dtype int32 is not one of"),
        ((q, k.double(), v), {}, TypeError, "k: dtype float64 is not that of q, float32"),
        ((q[0, 0], k, v), {}, ValueError, r"q: shape \(2, 8\) has 2 axes"),
        ((q, k, v), {"window": 13}, ValueError, "window, axis 0: 13"),
        ((q, k, v), {"window": 5.0}, TypeError, "window, axis 0: expected an int, not 5.0"),
        ((q, k, v), {"causal": 1}, TypeError, "causal, axis 0: expected a bool, not 1"),
        ((q, k, v), {"scale": float("inf")}, ValueError, "scale: inf is not finite"),
        ((q, k, v), {"mode": "slow"}, ValueError, "mode: 'slow' is not one of"),
    ]
    expected = na_mlir.neighborhood_attention(q, k, v, 5)
    for arguments, keywords, error, message in cases:
        with pytest.raises(error, match=message):
            na_mlir.neighborhood_attention(*arguments, **{"window": 5, **keywords})
        assert torch.equal(na_mlir.neighborhood_attention(q, k, v, 5), expected)


def test_integer_scale_and_numpy_integers(device):
    q, k, v = inputs(device, (12,))
    expected = na_mlir.neighborhood_attention(q, k, v, 5, scale=2.0)
    assert torch.equal(na_mlir.neighborhood_attention(q, k, v, np.int64(5), scale=2), expected)


def test_scale_as_a_tensor(device):
    q, k, v = inputs(device, (12,))
    scale = torch.tensor(2.0)
    for number in (2.0, 0.5):
        # The number in the tensor at the time of the call.
        scale.fill_(number)
        expected = na_mlir.neighborhood_attention(q, k, v, 5, scale=number)
        assert torch.equal(na_mlir.neighborhood_attention(q, k, v, 5, scale=scale), expected)
    # A learnt scale would not learn.
    scale.requires_grad_()
    with pytest.raises(TypeError, match="scale: has no gradient, but requires one; multiply q"):
        na_mlir.neighborhood_attention(q, k, v, 5, scale=scale)
    with pytest.raises(TypeError, match="scale: expected a float or None"):
        na_mlir.neighborhood_attention(q, k, v, 5, scale=torch.ones(2))


@pytest.mark.parametrize(
    "change,error,message",
    [
        ({"kernel_size": 13}, ValueError, r"kernel_size, axis 0: 13 .* query \(1, 12, 2, 8\)"),
        ({"kernel_size": (3, 3)}, ValueError, "kernel_size: .* 2 entries, but there are 1 spatial"),
        ({"is_causal": 1}, TypeError, "is_causal, axis 0: expected a bool, not 1"),
        ({"key": torch.ones(1, 11, 2, 8)}, ValueError, "key, axis 1: size 11 .* of query, 12"),
        ({"value": torch.ones(1, 12, 2, 8).int()}, TypeError, "value: dtype int32 .* of query"),
        ({"query": torch.ones(1, 12, 2, 8).numpy()}, TypeError, "query: expected a tensor, not nd"),
        ({"value": None}, TypeError, "value: expected a tensor, not NoneType"),
        ({"stride": 6}, ValueError, "stride, axis 0: 6 is not in 1 to the kernel_size, 5"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_errors_have_natten_names(change, error, message):
    q, k, v = inputs("cpu", (12,))
    arguments = {"query": q, "key": k, "value": v, "kernel_size": 5}
    with pytest.raises(error, match=message):
        binding.na1d(**{**arguments, **change})
    assert torch.equal(binding.na1d(**arguments), na_mlir.neighborhood_attention(q, k, v, 5))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_natten_names(device, rank):
    function = (binding.na1d, binding.na2d, binding.na3d)[rank - 1]
    q, k, v = inputs(device, (6, 5, 4)[:rank])
    o, lse = function(
        q, k, v, kernel_size=3, stride=2, dilation=1, is_causal=True, scale=0.5, return_lse=True,
        backend="cutlass-fna",
    )
    expected, expected_lse = reference.attention(
        *map(to_numpy, (q, k, v)), [3] * rank, [2] * rank, [1] * rank, [True] * rank, 0.5
    )
    check(to_numpy(o), expected)
    check_lse(to_numpy(lse), expected_lse)
    with pytest.raises(TypeError, match=rf"na{rank}d\(\) has no argument 'kernel'"):
        function(q, k, v, 3, kernel=3)
    with pytest.raises(ValueError, match=rf"query: .* na{rank}d takes {rank + 3}"):
        function(q[0], k, v, 3)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_modules(device, rank):
    kind = (
        binding.NeighborhoodAttention1D,
        binding.NeighborhoodAttention2D,
        binding.NeighborhoodAttention3D,
    )[rank - 1]
    torch.manual_seed(0)
    module = kind(embed_dim=16, num_heads=2, kernel_size=3, is_causal=True).to(device).eval()
    assert sorted(module.state_dict()) == ["proj.bias", "proj.weight", "qkv.bias", "qkv.weight"]
    x = torch.randn(2, *(6, 5, 4)[:rank], 16, device=device)
    with torch.no_grad():
        result = module(x)
        q, k, v = module.qkv(x).reshape(*x.shape[:-1], 3, 2, 8).unbind(-3)
        expected, _ = reference.attention(
            *map(to_numpy, (q, k, v)), [3] * rank, causal=[True] * rank
        )
        expected = module.proj(torch.from_numpy(expected).float().to(device).flatten(-2))
    assert result.shape == x.shape
    check(to_numpy(result), to_numpy(expected))
    with pytest.raises(ValueError, match="x: shape"):
        module(x[0])
    with pytest.raises(ValueError, match="num_heads: 3 does not divide embed_dim, 16"):
        kind(embed_dim=16, num_heads=3, kernel_size=3)
    with pytest.raises(ValueError, match="num_heads: 0 is not at least 1"):
        kind(embed_dim=16, num_heads=0, kernel_size=3)
    # What needs no input is checked before there is one.
    for wrong, error, message in (
        ({"kernel_size": (3,) * (rank + 1)}, ValueError, f"kernel_size: .* are {rank} spatial"),
        ({"kernel_size": 0}, ValueError, "kernel_size, axis 0: 0 is not at least 1"),
        ({"kernel_size": 3, "stride": 4}, ValueError, "stride, axis 0: 4 .* the kernel_size, 3"),
        ({"kernel_size": 3, "dilation": 0}, ValueError, "dilation, axis 0: 0"),
        ({"kernel_size": 3.0}, TypeError, "kernel_size, axis 0: expected an int"),
        ({"kernel_size": 3, "is_causal": 1}, TypeError, "is_causal, axis 0: expected a bool"),
    ):
        with pytest.raises(error, match=message):
            kind(embed_dim=16, num_heads=2, **wrong)
    with pytest.raises(ValueError, match="kernel_size, axis 0: 3 .* the length, 2"):
        module(x[:, :2])


def test_explain(device):
    q, k, v = inputs(device, (14, 14), dim=16)
    text = na_mlir.explain(q.transpose(1, 2), k, v, 7)
    assert "tokens 14x14, window 7x7" in text and "copied    q\n" in text
