# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients: of PyTorch's autograd on a plain masked attention in f64, and of NumPy calls against
the reference."""

import itertools

import numpy as np
import pytest
import torch
from conftest import SHORT, check, check_lse, make, name_of, reference, sample_problems
from tensors import (
    DEVICES, compare, gradients_of, leaves_of, plain_attention, random_like, to_numpy,
)

import na_mlir
import na_mlir.torch as binding

BACKWARD = torch.ops.na_mlir.attention_backward


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def test_the_plain_attention():
    """The comparison itself, against the reference that does not come from PyTorch."""
    q, k, v = make((5, 6), heads=4, kv_heads=2, value_dim=12, batch=2)
    keys, values = make((3,), heads=2, value_dim=12, batch=2, seed=1)[1:]
    bias = np.random.default_rng(2).standard_normal((4, 3, 5)).astype(np.float32)
    arrays = [torch.from_numpy(a) for a in (q, k, v, keys, values, bias)]
    output, lse = plain_attention(
        *arrays[:3], (2, 3), (1, 2), (2, 1), (False, True), 0.3, *arrays[3:]
    )
    expected, expected_lse = reference.attention(
        q, k, v, (2, 3), (1, 2), (2, 1), (False, True), 0.3, bias=bias, ek=keys, ev=values
    )
    check(output.numpy(), expected, "float64")
    check_lse(lse.numpy(), expected_lse, "float64")


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("problem", sample_problems(8), ids=name_of)
def test_conformance_sample(device, problem, causal):
    leaves = leaves_of(
        device,
        problem["shape"],
        problem["heads"],
        problem["kv_heads"],
        problem["head_dim"],
        problem["value_dim"],
        problem["batch"],
    )
    arguments = [problem[key] for key in ("window", "stride", "dilation")]
    arguments.append([causal] * problem["rank"])
    output = na_mlir.neighborhood_attention(*leaves, *arguments)
    output_grad = random_like(output)
    output.backward(output_grad)
    expected = gradients_of(
        lambda *t: plain_attention(*t, *arguments), leaves, output_grad
    )
    compare([t.grad for t in leaves], expected)


@pytest.mark.parametrize("mode", ["fused", "unfused", "naive"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_everything(device, dtype, mode):
    """Types, grouped heads, a bias, additional keys, and a gradient of the log-sum-exp."""
    leaves = leaves_of(
        device, (6, 7), heads=4, kv_heads=2, dim=16, value_dim=24, batch=2, dtype=dtype
    )
    _, keys, values = leaves_of(
        device, (3,), heads=2, dim=16, value_dim=24, batch=2, dtype=dtype, seed=1
    )
    bias_type = dtype if dtype == torch.float64 else torch.float32
    bias = random_like(torch.empty(4, 5, 9, device=device, dtype=bias_type), 3)
    leaves += [keys, values, bias.requires_grad_()]
    options = {"scale": 0.3, "stride": (1, 2), "causal": (True, False)}

    def ours(q, k, v, keys, values, bias):
        return na_mlir.neighborhood_attention(
            q, k, v, (3, 5), additional_keys=keys, additional_values=values, bias=bias,
            return_lse=True, mode=mode, **options,
        )

    if device == "cuda" and dtype == torch.float64:
        with pytest.raises(na_mlir.CompileError, match="takes element types f32, f16 and bf16"):
            ours(*leaves)
        return
    output, lse = ours(*leaves)
    output_grad, lse_grad = random_like(output), random_like(lse, 8)
    torch.autograd.backward([output, lse], [output_grad, lse_grad])
    assert [t.grad.dtype for t in leaves] == [t.dtype for t in leaves]
    expected = gradients_of(
        lambda q, k, v, *others: plain_attention(
            q, k, v, (3, 5), (1, 2), None, (True, False), 0.3, *others
        ),
        leaves, output_grad, lse_grad,
    )
    compare([t.grad for t in leaves], expected, str(dtype).replace("torch.", ""))


def test_gradcheck():
    """Finite differences in f64."""
    leaves = leaves_of("cpu", (7,), heads=2, kv_heads=1, dim=3, dtype=torch.float64)
    _, keys, values = leaves_of("cpu", (2,), heads=1, dim=3, dtype=torch.float64, seed=1)
    bias = torch.linspace(-1, 1, 10, dtype=torch.float64).reshape(2, 5).requires_grad_()

    def function(q, k, v, keys, values, bias):
        return na_mlir.neighborhood_attention(
            q, k, v, 3, dilation=2, causal=True, additional_keys=keys, additional_values=values,
            bias=bias, return_lse=True,
        )

    assert torch.autograd.gradcheck(function, (*leaves, keys, values, bias))


def test_only_the_log_sum_exp(device):
    q, k, v = leaves_of(device, (12,))
    _, lse = na_mlir.neighborhood_attention(q, k, v, 5, return_lse=True)
    lse_grad = random_like(lse)
    lse.backward(lse_grad)
    expected = gradients_of(
        lambda *t: plain_attention(*t, 5), [q, k, v], torch.zeros_like(q), lse_grad
    )
    compare([q.grad, k.grad], expected[:2])
    assert not v.grad.any()


def test_merged_by_log_sum_exp(device):
    """Two windows merged, as those do who split the keys: both outputs of each count."""
    leaves = leaves_of(device, (12,))

    def merged(attention):
        def function(q, k, v):
            (o1, l1), (o2, l2) = attention(q, k, v, 3), attention(q, k, v, 4, dilation=2)
            weight = torch.sigmoid(l1 - l2).unsqueeze(-1)
            return o1 * weight + o2 * (1 - weight), torch.logaddexp(l1, l2)

        return function

    output, lse = merged(plain_attention)(*leaves)
    output_grad, lse_grad = random_like(output), random_like(lse, 8)
    results, expected = (
        gradients_of(merged(attention), leaves, output_grad, lse_grad)
        for attention in (
            lambda *a, **k: na_mlir.neighborhood_attention(*a, **k, return_lse=True),
            plain_attention,
        )
    )
    compare(results, expected)


@pytest.mark.parametrize("which", list(itertools.product([False, True], repeat=3)))
def test_some_gradients(device, which):
    """Only what is asked for, and that the same."""
    expected = leaves_of(device, (12,))
    output = na_mlir.neighborhood_attention(*expected, 5)
    output_grad = random_like(output)
    output.backward(output_grad)
    leaves = [t.detach().requires_grad_(wanted) for t, wanted in zip(expected, which)]
    output = na_mlir.neighborhood_attention(*leaves, 5)
    assert output.requires_grad == any(which)
    if any(which):
        output.backward(output_grad)
    for leaf, wanted, other in zip(leaves, which, expected):
        assert torch.equal(leaf.grad, other.grad) if wanted else leaf.grad is None


def test_strides(device):
    """Of arguments, and of the gradients that arrive."""
    q, k, v = leaves_of(device, (6, 5), heads=3)

    def run(change, output_grad):
        leaves = [t.detach().requires_grad_() for t in (q, k, v)]
        output = na_mlir.neighborhood_attention(*map(change, leaves), 3)
        output.backward(output_grad)
        return [t.grad for t in leaves]

    def strided(t):
        return t.transpose(1, -2).contiguous().transpose(1, -2)

    def equal(results, expected):
        return all(map(torch.equal, results, expected))

    output_grad = random_like(q)
    expected = run(lambda t: t, output_grad)
    assert not strided(q).is_contiguous() and not strided(output_grad).is_contiguous()
    assert equal(run(strided, output_grad), expected)
    assert equal(run(lambda t: t, strided(output_grad)), expected)
    moved = torch.cat([output_grad.new_zeros(1), output_grad.flatten()])[1:].view(q.shape)
    assert equal(run(lambda t: t, moved), expected)
    # The gradient of a sum has strides 0.
    one = torch.ones((), device=device).expand(q.shape)
    assert equal(run(lambda t: t, one), run(lambda t: t, one.clone()))
    assert equal(run(lambda t: t, torch._neg_view(output_grad)), run(lambda t: t, -output_grad))
    # An argument that is expanded gets the sum.
    key = k.detach()[:, :1].requires_grad_()
    na_mlir.neighborhood_attention(q, key.expand(k.shape), v, 3).backward(output_grad)
    plain = k.detach()[:, :1].expand(k.shape).clone().requires_grad_()
    na_mlir.neighborhood_attention(q, plain, v, 3).backward(output_grad)
    assert torch.equal(key.grad, plain.grad.sum(1, keepdim=True))


def test_empty_batch(device):
    q, k, v = leaves_of(device, (12,), batch=0)
    bias = torch.ones(2, 9, device=device, requires_grad=True)
    na_mlir.neighborhood_attention(q, k, v, 5, bias=bias).sum().backward()
    assert q.grad.shape == q.shape and k.grad.shape == k.shape and v.grad.shape == v.shape
    assert torch.equal(bias.grad, torch.zeros_like(bias))


def test_no_additional_keys(device):
    q, k, v = leaves_of(device, (12,))
    keys, values = (t.detach()[:, :0].requires_grad_() for t in (k, v))
    na_mlir.neighborhood_attention(
        q, k, v, 5, additional_keys=keys, additional_values=values
    ).sum().backward()
    assert keys.grad.shape == keys.shape and values.grad.shape == values.shape


@pytest.mark.parametrize("lse", [False, True])
def test_opcheck(device, lse):
    q, k, v = leaves_of(device, (12,), heads=4, kv_heads=2)
    keys, values = (t.detach()[:, :2].clone().requires_grad_() for t in (k, v))
    bias = torch.zeros(4, 9, device=device, requires_grad=True)
    for arguments in (
        (q, k, v, None, None, None),
        (q, k, v, keys, values, bias),
        (q, k.detach(), v.detach(), None, None, bias.detach()),
    ):
        torch.library.opcheck(
            torch.ops.na_mlir.attention,
            (*arguments, [5], [1], [1], [False], None, lse, "fused", "ieee"),
        )


def test_opcheck_backward(device):
    arrays = [t.detach() for t in leaves_of(device, (12,), heads=4, kv_heads=2)]
    q, k, v = arrays
    output, lse = na_mlir.neighborhood_attention(q, k, v, 5, return_lse=True)
    bias = torch.zeros(4, 9, device=device)
    for others, lse_grad, flags in (
        ((None, None, None), None, (False, False, False)),
        ((k[:, :2], v[:, :2], bias), random_like(lse), (True, True, True)),
        ((k[:, :2], v[:, :2], bias), None, (False, False, False)),
    ):
        torch.library.opcheck(
            BACKWARD,
            (q, k, v, *others, output, lse, random_like(output).transpose(1, 2).contiguous()
             .transpose(1, 2), lse_grad, [5], [1], [1], [False], None, *flags, "fused", "ieee"),
        )


@pytest.mark.parametrize("backend", ["aot_eager", "aot_eager_decomp_partition"])
def test_compile_fullgraph(device, backend):
    def block(q, k, v, bias):
        o, lse = na_mlir.neighborhood_attention(q * 2, k, v, (3, 3), bias=bias, return_lse=True)
        return o.sin().sum() + lse.exp().sum()

    torch._dynamo.reset()
    leaves = leaves_of(device, (6, 7))
    leaves.append(torch.zeros(2, 5, 5, device=device, requires_grad=True))
    results = torch.autograd.grad(
        torch.compile(block, fullgraph=True, backend=backend)(*leaves), leaves
    )
    expected = torch.autograd.grad(block(*leaves), leaves)
    for result, wanted in zip(results, expected):
        torch.testing.assert_close(result, wanted)


def test_compile_without_log_sum_exp(device):
    torch._dynamo.reset()
    leaves = leaves_of(device, (12,))
    compiled = torch.compile(
        lambda q, k, v: na_mlir.neighborhood_attention(q, k, v, 5).square().sum(),
        fullgraph=True,
        backend="aot_eager",
    )
    results = torch.autograd.grad(compiled(*leaves), leaves)
    output = na_mlir.neighborhood_attention(*leaves, 5)
    for result, wanted in zip(results, torch.autograd.grad(output.square().sum(), leaves)):
        assert torch.equal(result, wanted)


def test_compile_dynamic_batch(device):
    graphs = []

    def count(graph, example):
        graphs.append(graph)
        return torch._dynamo.lookup_backend("aot_eager")(graph, example)

    torch._dynamo.reset()
    compiled = torch.compile(
        lambda q, k, v: na_mlir.neighborhood_attention(q, k, v, 5),
        fullgraph=True, dynamic=True, backend=count,
    )
    for batch in (3, 5, 7):
        leaves = leaves_of(device, (12,), batch=batch)
        output_grad = random_like(leaves[0])
        results = torch.autograd.grad(compiled(*leaves), leaves, output_grad)
        output = na_mlir.neighborhood_attention(*leaves, 5)
        for result, wanted in zip(results, torch.autograd.grad(output, leaves, output_grad)):
            assert torch.equal(result, wanted)
    assert len(graphs) == 1


def test_autocast(device):
    """Computed in bfloat16, returned in the types of the arguments."""
    leaves = leaves_of(device, (12,))
    bias = torch.linspace(-1, 1, 18, device=device).reshape(2, 9).requires_grad_()
    with torch.autocast(device, torch.bfloat16):
        output = na_mlir.neighborhood_attention(*leaves, 5, bias=bias)
    assert output.dtype == torch.bfloat16
    output_grad = random_like(output)
    output.backward(output_grad)
    assert all(t.grad.dtype == torch.float32 for t in (*leaves, bias))
    half = [t.detach().bfloat16().requires_grad_() for t in leaves]
    other = bias.detach().requires_grad_()
    na_mlir.neighborhood_attention(*half, 5, bias=other).backward(output_grad)
    for leaf, wanted in zip(leaves, half):
        assert torch.equal(leaf.grad, wanted.grad.float())
    assert torch.equal(bias.grad, other.grad)


@pytest.mark.parametrize("how", ["argument", "setting"])
def test_deterministic(device, how):
    """Asked for in either way, the program is one of the deterministic kind, and repeats itself."""
    na_mlir.clear_cache()
    leaves = leaves_of(device, (9, 9), heads=4, kv_heads=2)
    output_grad = random_like(leaves[0])
    torch.use_deterministic_algorithms(how == "setting")
    try:
        runs = []
        for _ in range(5):
            output = na_mlir.neighborhood_attention(*leaves, 3, deterministic=how == "argument")
            runs.append(torch.autograd.grad(output, leaves, output_grad))
    finally:
        torch.use_deterministic_algorithms(False)
    for run in runs[1:]:
        assert all(map(torch.equal, run, runs[0]))
    texts = [
        launcher.program.text("source")
        for launcher in binding._launchers()
        if launcher.problem.gradients is not None
    ]
    assert len(texts) == 1 and "deterministic" in texts[0]
    na_mlir.clear_cache()
    output = na_mlir.neighborhood_attention(*leaves, 3)
    torch.autograd.grad(output, leaves, output_grad)
    (text,) = (
        launcher.program.text("source")
        for launcher in binding._launchers()
        if launcher.problem.gradients is not None
    )
    assert "na.attention_grad" in text and "deterministic" not in text


def test_no_second_backward(device):
    leaves = leaves_of(device, (12,))
    output = na_mlir.neighborhood_attention(*leaves, 5)
    gradient, *_ = torch.autograd.grad(output.square().sum(), leaves, create_graph=True)
    with pytest.raises(NotImplementedError, match="create_graph"):
        gradient.sum().backward()


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_modules(device, rank):
    kind = (
        binding.NeighborhoodAttention1D,
        binding.NeighborhoodAttention2D,
        binding.NeighborhoodAttention3D,
    )[rank - 1]
    torch.manual_seed(0)
    module = kind(embed_dim=16, num_heads=2, kernel_size=3, dilation=1, is_causal=True).to(device)
    x = torch.randn(2, *(6, 5, 4)[:rank], 16, device=device, requires_grad=True)
    leaves = [x, *module.parameters()]
    results = torch.autograd.grad(module(x).square().sum(), leaves)
    q, k, v = module.qkv(x).unflatten(-1, (3, 2, 8)).unbind(-3)
    output, _ = plain_attention(q, k, v, 3, causal=[True] * rank)
    expected = torch.autograd.grad(module.proj(output.float().flatten(-2)).square().sum(), leaves)
    compare(results, expected)


def test_training_step(device):
    """A loss falls."""
    torch.manual_seed(0)
    module = binding.NeighborhoodAttention1D(16, 2, 5).to(device)
    optimizer = torch.optim.Adam(module.parameters(), 1e-2)
    x = torch.randn(2, 24, 16, device=device)
    losses = []
    for _ in range(30):
        loss = (module(x) - x.flip(-1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0], losses


# ===-----------------------------------------------------------------------------------------===
# neighborhood_attention_backward
# ===-----------------------------------------------------------------------------------------===


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_numpy(dtype):
    q, k, v = make((6, 7), heads=4, kv_heads=2, dim=8, value_dim=12, batch=2, dtype=dtype)
    _, keys, values = make((3,), heads=2, dim=8, value_dim=12, batch=2, dtype=dtype, seed=1)
    rng = np.random.default_rng(3)
    bias = rng.standard_normal((4, 5, 9)).astype(dtype)
    options = {"additional_keys": keys, "additional_values": values, "bias": bias}
    arguments = ((3, 5), (1, 2), 1, (True, False), -0.3)
    o, lse = na_mlir.neighborhood_attention(q, k, v, *arguments, **options, return_lse=True)
    do, dlse = rng.standard_normal(o.shape).astype(dtype), rng.standard_normal(lse.shape)
    dlse = dlse.astype(lse.dtype)
    gradients = na_mlir.neighborhood_attention_backward(
        q, k, v, o, lse, do, *arguments, **options, lse_grad=dlse
    )
    expected = reference.attention_grad(
        q, k, v, do, (3, 5), (1, 2), (1, 1), (True, False), -0.3, bias, keys, values, dlse
    )
    names = {"additional_keys": "dek", "additional_values": "dev"}
    for name, result in gradients._asdict().items():
        assert result.dtype == dtype
        wanted = expected[names.get(name, "d" + name)]
        whole, row = reference.relative_errors(result, wanted, gradient=True)
        limits = reference.TOLERANCES[SHORT[dtype]]
        assert whole <= limits[0] and row <= limits[1], (name, whole, row)


def test_numpy_strides_batch_and_torch():
    q, k, v = make((12,), heads=3)
    o, lse = na_mlir.neighborhood_attention(q, k, v, 5, return_lse=True)
    do = np.random.default_rng(1).standard_normal(o.shape).astype(np.float32)
    expected = na_mlir.neighborhood_attention_backward(q, k, v, o, lse, do, 5)
    assert expected[3:] == (None, None, None)
    views = [np.asfortranarray(a) for a in (q, k, v, o, lse, do)]
    assert not any(a.flags.c_contiguous for a in views)
    results = na_mlir.neighborhood_attention_backward(*views, 5)
    assert all(map(np.array_equal, results[:3], expected[:3]))
    results = na_mlir.neighborhood_attention_backward(
        *map(torch.from_numpy, (q, k, v, o, lse, do)), 5
    )
    assert results[3:] == (None, None, None)
    assert all(np.array_equal(t.numpy(), a) for t, a in zip(results[:3], expected[:3]))
    # Nothing to compute, but the bias has a gradient.
    bias = np.ones((3, 9), np.float32)
    empty = na_mlir.neighborhood_attention_backward(
        *(a[:0] for a in (q, k, v, o, lse, do)), 5, bias=bias
    )
    assert empty.q.shape == (0, 12, 3, 8) and np.array_equal(empty.bias, np.zeros_like(bias))


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_errors(kind):
    q, k, v = make((12,))
    o, lse = na_mlir.neighborhood_attention(q, k, v, 5, return_lse=True)
    good = {"q": q, "k": k, "v": v, "output": o, "lse": lse, "output_grad": np.ones_like(o)}
    cases = [
        ({"output": o[:, :5]}, ValueError, r"output: shape \(1, 5, 2, 8\) is not .* output, \(1, 12"),
        ({"lse": lse[..., None]}, ValueError, r"lse: shape \(1, 12, 2, 1\) .* log-sum-exp"),
        ({"lse": None}, TypeError, "lse: expected an array, not None"),
        ({"output_grad": o.astype(np.float64)}, TypeError, "output_grad: dtype float64 is not float"),
        ({"lse_grad": lse[:, 1:]}, ValueError, r"lse_grad: shape \(1, 11, 2\)"),
        ({"k": k[:, 1:]}, ValueError, "k, axis 1: size 11 is not that of q, 12"),
        ({"window": 13}, ValueError, "window, axis 0: 13"),
        ({"stride": 1.5}, TypeError, "stride, axis 0: expected an int, not 1.5"),
        ({"mode": "slow"}, ValueError, "mode: 'slow' is not one of"),
    ]

    def call(change):
        arguments = {"window": 5, **good, **change}
        if kind == "torch":
            arguments = {
                n: torch.from_numpy(a) if isinstance(a, np.ndarray) else a
                for n, a in arguments.items()
            }
        return na_mlir.neighborhood_attention_backward(**arguments)

    expected = np.asarray(call({}).q)
    for change, error, message in cases:
        with pytest.raises(error, match=message):
            call(change)
        assert np.array_equal(np.asarray(call({}).q), expected)
    with pytest.raises(TypeError, match="lse: is a PyTorch tensor, but q is a NumPy array"):
        na_mlir.neighborhood_attention_backward(q, k, v, o, torch.from_numpy(lse), o, 5)
