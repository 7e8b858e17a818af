# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls past PyTorch's dispatcher: that they are the operator's, and that who wants to see the
operator does."""

import pytest
import torch
from tensors import DEVICES, inputs, leaves_of, random_like
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

import na_mlir
import na_mlir.torch  # noqa: F401 - the operators
from na_mlir import _eager

ATTENTION = torch.ops.na_mlir.attention
attention = na_mlir.neighborhood_attention


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


@pytest.fixture
def seen(monkeypatch):
    """How often calls went each way: straight, or not."""
    counts = {"straight": 0}
    run = _eager.Call.run

    def counted(self, arrays, lse):
        counts["straight"] += 1
        return run(self, arrays, lse)

    monkeypatch.setattr(_eager.Call, "run", counted)
    return counts


class Operators(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        self.names.append(str(function))
        return function(*arguments, **(keywords or {}))


def operator(q, k, v, lse=False):
    return ATTENTION(q, k, v, None, None, None, [5], [1], [1], [False], None, lse, "fused", "ieee")


def test_both_ways_give_the_same(device):
    leaves = leaves_of(device, (12,))
    output_grad = random_like(leaves[0])
    straight, lse = attention(*leaves, 5, return_lse=True)
    assert "_Attention" in type(straight.grad_fn).__name__
    other, other_lse = operator(*leaves, True)
    assert "_Attention" not in type(other.grad_fn).__name__
    assert torch.equal(straight, other) and torch.equal(lse, other_lse)
    for result, wanted in zip(
        torch.autograd.grad([straight, lse], leaves, [output_grad, torch.ones_like(lse)]),
        torch.autograd.grad([other, other_lse], leaves, [output_grad, torch.ones_like(lse)]),
    ):
        assert torch.equal(result, wanted)
    with torch.no_grad():
        assert attention(*leaves, 5).grad_fn is None
    with torch.inference_mode():
        assert torch.equal(attention(*leaves, 5), straight)


def test_who_wants_to_see_the_operator_does(device):
    q, k, v = inputs(device, (12,))
    expected = attention(q, k, v, 5)
    with Operators() as mode:
        assert torch.equal(attention(q, k, v, 5), expected)
    assert "na_mlir.attention.default" in mode.names
    leaves = leaves_of(device, (12,))
    with Operators() as mode:
        attention(*leaves, 5).sum().backward()
    assert "na_mlir.attention_backward.default" in mode.names
    with torch.profiler.profile() as profile:
        attention(q, k, v, 5)
    assert "na_mlir::attention" in {event.key for event in profile.key_averages()}
    # Of a forward that went straight, the backward is seen too.
    output = attention(*leaves, 5)
    with torch.profiler.profile() as profile:
        output.sum().backward()
    assert "na_mlir::attention_backward" in {event.key for event in profile.key_averages()}


def test_subclasses(device):
    class Named(torch.Tensor):
        pass

    q, k, v = inputs(device, (12,))
    expected = attention(q, k, v, 5)
    for arrays in ((q.as_subclass(Named), k, v), (q, k, v.as_subclass(Named))):
        o = attention(*arrays, 5)
        assert torch.equal(o.as_subclass(torch.Tensor), expected)
    assert torch.equal(attention(torch.nn.Parameter(q), k, v, 5), expected)


def test_repeated_calls_are_found(seen, fresh_cache):
    q, k, v = inputs("cpu", (6, 6))
    expected = attention(q, k, v, (3, 5))
    for window in ((3, 5), [3, 5]):
        assert torch.equal(attention(q, k, v, window), expected)
    assert seen["straight"] == 3 and len(_eager._calls) == 1
    # What differs in type alone is another call, and wrong.
    for window in ((3, 5.0), (3.0, 5), (True, 5)):
        with pytest.raises(TypeError, match="expected an int"):
            attention(q, k, v, window)
    na_mlir.clear_cache()
    assert not _eager._calls and torch.equal(attention(q, k, v, (3, 5)), expected)


def test_meta():
    q, k, v = (t.to("meta") for t in inputs("cpu", (12,), value_dim=4))
    o, lse = attention(q, k, v, 5, return_lse=True)
    assert o.is_meta and o.shape == (1, 12, 2, 4) and lse.shape == (1, 12, 2)


def test_what_autograd_does_with_what_it_keeps(device):
    leaves = leaves_of(device, (12,))
    output_grad = random_like(leaves[0])

    def function(q, k, v):
        return attention(q * 2, k, v, 5)

    expected = torch.autograd.grad(function(*leaves), leaves, output_grad)

    def check(output):
        results = torch.autograd.grad(output, leaves, output_grad)
        assert all(map(torch.equal, results, expected))

    with torch.autograd.graph.save_on_cpu():
        check(function(*leaves))
    check(checkpoint(function, *leaves, use_reentrant=False))
    output = function(*leaves)
    torch.autograd.grad(output, leaves, output_grad, retain_graph=True)
    check(output)
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(output, leaves, output_grad)
    q = leaves[0] * 1
    output = attention(q, *leaves[1:], 5)
    q.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.sum().backward()


def test_transforms(device):
    """PyTorch has none of operators like this one; it says so, and the next call works."""
    q, k, v = inputs(device, (12,))
    expected = attention(q, k, v, 5)
    with pytest.raises(RuntimeError, match="functorch"):
        torch.func.grad(lambda t: attention(t, k, v, 5).sum())(q)
    assert torch.equal(attention(q, k, v, 5), expected)


def test_forward_mode(device):
    """Refused: PyTorch itself would give zeros."""
    q, k, v = inputs(device, (12,))
    expected = attention(q, k, v, 5)
    for transform in (
        lambda: torch.func.jvp(lambda t: attention(t, k, v, 5), (q,), (q,)),
        lambda: torch.func.jacfwd(lambda t: attention(q, t, k, 5).sum())(k),
    ):
        with pytest.raises(NotImplementedError, match="no forward-mode gradients"):
            transform()
    with torch.autograd.forward_ad.dual_level():
        with pytest.raises(NotImplementedError, match="no forward-mode gradients"):
            attention(q, k, torch.autograd.forward_ad.make_dual(v, v), 5)
        # Nothing here has a tangent.
        assert torch.equal(attention(q, k, v, 5), expected)


def test_vmap(device):
    q, k, v = (torch.stack([t, t + 1]) for t in inputs(device, (12,)))
    mapped = torch.vmap(lambda *arrays: attention(*arrays, 5))(q, k, v)
    for i in range(2):
        assert torch.equal(mapped[i], attention(q[i], k[i], v[i], 5))


def test_graph_breaks(device):
    """What is not traced in a compiled function goes straight."""
    torch._dynamo.reset()

    def function(q, k, v):
        o = attention(q, k, v, 5)
        torch._dynamo.graph_break()
        return attention(o + 1, k, v, 5)

    arrays = inputs(device, (12,))
    compiled = torch.compile(function, backend="aot_eager")
    for _ in range(2):
        assert torch.equal(compiled(*arrays), function(*arrays))
