# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's attention operators on a problem of the suite.

Every peer is a function of no arguments from the heads-last inputs to
[B, heads, tokens, Dv], whose permutes and concatenations are part of it.

  dense-*  scaled_dot_product_attention over all pairs, one backend each
  flex-*   compiled FlexAttention with the problem's mask; tokens in row-major
           order, or permuted so that a block of the mask is a box of tokens of
           one residue class
"""

import math

from common import (Skip, always_visible, axis_visible, coordinates,
                    dense_problem, sees_its_class)

DENSE = ("dense-cudnn", "dense-flash", "dense-efficient")
FLEX = ("flex-rows-128", "flex-rows-64", "flex-tiles-128", "flex-tiles-64")
PEERS = DENSE + FLEX


def heads_first(tensor):
    """[B, X.., H, D] as a view [B, H, tokens, D]."""
    return tensor.flatten(1, -3).transpose(1, 2)


def with_extra(torch, problem, tensors):
    """q, k and v heads first, the additional keys behind the others."""
    q, k, v = (heads_first(tensors[n]) for n in "qkv")
    if problem.extra_kv:
        k = torch.cat([k, tensors["ek"].transpose(1, 2)], 2)
        v = torch.cat([v, tensors["ev"].transpose(1, 2)], 2)
    return q, k, v


def make_dense(torch, name, problem, tensors):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    backend = {"dense-cudnn": SDPBackend.CUDNN_ATTENTION,
               "dense-flash": SDPBackend.FLASH_ATTENTION,
               "dense-efficient": SDPBackend.EFFICIENT_ATTENTION}[name]
    if tensors["q"].device.type == "cpu":
        backend = SDPBackend.MATH
    causal = any(dense_problem(problem).causal)

    def call():
        q, k, v = with_extra(torch, problem, tensors)
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=causal, scale=problem.scale,
                enable_gqa=problem.heads != problem.kv_heads)
    return call


class RowOrder:
    """Tokens as they are."""

    def __init__(self, problem, block):
        del block
        self.problem, self.tokens = problem, problem.tokens
        self.padded = problem.shape

    def permute(self, tensor):
        return heads_first(tensor)

    def restore(self, tensor):
        return tensor

    def token_coordinates(self, index):
        return coordinates(index, self.problem.shape)



def pick_tile(problem, block):
    """A box of `block` tokens, a power of two along each axis."""
    sizes = [-(-length // dilation) for length, dilation
             in zip(problem.shape, problem.dilation)]
    tile = [1] * len(sizes)
    for _ in range(int(math.log2(block))):
        # Grow the axis that is shortest in relation to its window, among
        # those that the tile does not cover yet; the last one in doubt.
        open_axes = [a for a in range(len(sizes)) if tile[a] < sizes[a]]
        axis = min(open_axes or range(len(sizes)), key=lambda a: (
            tile[a] / problem.window[a] if problem.window[a] == sizes[a]
            else tile[a], -a))
        tile[axis] *= 2
    return tile


class TileOrder:
    """Residue classes apart, and in each one, boxes of `block` tokens.

    A coordinate is (tile, position in the tile, residue), padded at the end.
    """
    def __init__(self, problem, block):
        self.problem = problem
        self.tile = pick_tile(problem, block)
        self.tiles = [
            -(-(-(-length // dilation)) // tile) for length, dilation, tile
            in zip(problem.shape, problem.dilation, self.tile)]
        self.padded = [c * t * d for c, t, d in
                       zip(self.tiles, self.tile, problem.dilation)]
        self.tokens = math.prod(self.padded)
        rank = len(self.tile)
        # Of [B, (tile, position, residue).., H, D].
        groups = [[1 + 3 * a + part for a in range(rank)]
                  for part in (2, 0, 1)]
        self.order = [0, 1 + 3 * rank, *sum(groups, []), 2 + 3 * rank]
        self.inverse = [self.order.index(i) for i in range(len(self.order))]
        self.digits = [size for part in (problem.dilation, self.tiles,
                                         self.tile) for size in part]

    def permute(self, tensor):
        from torch.nn.functional import pad
        shape = tensor.shape
        margins = [m - l for m, l in zip(self.padded, self.problem.shape)]
        if any(margins):
            tensor = pad(tensor, [0, 0, 0, 0, *sum(
                ([0, m] for m in reversed(margins)), [])])
        split = [s for t in zip(self.tiles, self.tile, self.problem.dilation)
                 for s in t]
        tensor = tensor.reshape(shape[0], *split, *shape[-2:])
        return tensor.permute(self.order).reshape(shape[0], shape[-2],
                                                  self.tokens, shape[-1])

    def restore(self, tensor):
        """[B, H, tokens, D] to the problem's order; a contiguous heads-last
        tensor seen heads first."""
        batch, heads, _, dim = tensor.shape
        tensor = tensor.reshape(batch, heads, *self.digits, dim)
        tensor = tensor.permute(self.inverse).reshape(batch, *self.padded,
                                                      heads, dim)
        for axis, length in enumerate(self.problem.shape):
            tensor = tensor.narrow(1 + axis, 0, length)
        return heads_first(tensor.contiguous())

    def token_coordinates(self, index):
        digits = coordinates(index, self.digits)
        rank = len(self.tile)
        residue, tile, position = (digits[i * rank:(i + 1) * rank]
                                   for i in range(3))
        return [(t * size + p) * dilation + r for r, t, p, size, dilation
                in zip(residue, tile, position, self.tile,
                       self.problem.dilation)]


def flex_mask(torch, problem, order):
    """mask_mod of FlexAttention for tokens in this order."""
    axes = list(problem.axes())

    def visible(b, h, q, k):
        result = None
        extra = k >= order.tokens
        for axis, padded, qi, ki in zip(axes, order.padded,
                                        order.token_coordinates(q),
                                        order.token_coordinates(k)):
            terms = []
            # Other windows end before the padding.
            if padded > axis[0] and sees_its_class(axis):
                terms.append(ki < axis[0])
            if not always_visible(axis):
                terms.append(axis_visible(torch, axis, qi, ki))
            for term in terms:
                result = term if result is None else result & term
        if result is None:
            result = (q >= 0) & (k >= 0)
        return result | extra if problem.extra_kv else result
    return visible


def block_mask_of(torch, problem, order, block, device):
    """The BlockMask: which blocks are visited, and which need no mask.

    create_block_mask would hold several integers per pair; here a stripe of
    queries at a time is evaluated, axis by axis. The mask itself is the one
    that the kernel evaluates.
    """
    from torch.nn.attention.flex_attention import BlockMask
    keys = order.tokens + problem.extra_kv
    columns = -(-keys // block)
    mask_mod = flex_mask(torch, problem, order)
    index = torch.arange(keys, device=device)
    queries = torch.arange(order.tokens, device=device)
    real = torch.ones(order.tokens, dtype=torch.bool, device=device)
    for at, length in zip(order.token_coordinates(queries), problem.shape):
        real &= at < length
    rows = -(-order.tokens // block)
    some = torch.zeros(rows, columns, dtype=torch.bool, device=device)
    every = torch.zeros_like(some)
    # Of about 128 MB per temporary.
    stripe = max(1, (1 << 27) // (block * keys))
    for first in range(0, rows, stripe):
        last = min(first + stripe, rows)
        q = queries[first * block:last * block]
        if last * block > order.tokens:
            q = torch.nn.functional.pad(q, [0, last * block - order.tokens],
                                        value=-1)
        inside = (q >= 0) & real[q.clamp(min=0)]
        mask = mask_mod(0, 0, q.clamp(min=0)[:, None], index[None, :])
        seen = mask & inside[:, None]
        # Rows that are no tokens need nothing and forbid nothing. A block that
        # reaches beyond the last key is partial: the kernel must cut it.
        free = mask | ~inside[:, None]
        pad = [0, columns * block - keys]
        shape = (last - first, block, columns, block)
        some[first:last] = torch.nn.functional.pad(seen, pad).reshape(
            shape).any(3).any(1)
        every[first:last] = torch.nn.functional.pad(free, pad).reshape(
            shape).all(3).all(1)
    if order.tokens % block:
        every[-1] = False
    every &= some
    tables = []
    for table in (some & ~every, every):
        counts = table.sum(1, dtype=torch.int32)
        order_of = torch.argsort(table.to(torch.int8), dim=1, descending=True,
                                 stable=True).to(torch.int32)
        tables += [counts[None, None].contiguous(),
                   order_of[None, None].contiguous()]
    return BlockMask.from_kv_blocks(*tables, BLOCK_SIZE=block,
                                    mask_mod=mask_mod,
                                    seq_lengths=(order.tokens, keys))


def make_flex(torch, name, problem, tensors):
    from torch.nn.attention.flex_attention import flex_attention
    _, kind, block = name.split("-")
    block = int(block)
    if kind == "tiles" and len(problem.shape) == 1 and problem.dilation == [1]:
        raise Skip("row-major order is the tile order")
    order = (TileOrder if kind == "tiles" else RowOrder)(problem, block)
    device = tensors["q"].device
    block_mask = block_mask_of(torch, problem, order, block, device)
    options = ({"BLOCK_M": block, "BLOCK_N": block}
               if block < 128 and device.type == "cuda" else None)
    # One compilation per problem, for its sizes.
    torch._dynamo.reset()
    compiled = torch.compile(flex_attention, dynamic=False)

    def call():
        q, k, v = (order.permute(tensors[n]) for n in "qkv")
        if problem.extra_kv:
            k = torch.cat([k, tensors["ek"].transpose(1, 2)], 2)
            v = torch.cat([v, tensors["ev"].transpose(1, 2)], 2)
        return order.restore(compiled(
            q, k, v, block_mask=block_mask, scale=problem.scale,
            enable_gqa=problem.heads != problem.kv_heads,
            kernel_options=options))
    call.details = {"blocks": int(block_mask.kv_num_blocks.sum()
                                  + block_mask.full_kv_num_blocks.sum()),
                    "full_blocks": int(block_mask.full_kv_num_blocks.sum())}
    call.details["executed_pairs"] = call.details["blocks"] * block * block
    if kind == "tiles":
        call.details["tile"] = order.tile
    return call


def make_peer(torch, name, problem, tensors):
    make = make_dense if name in DENSE else make_flex
    return make(torch, name, problem, tensors)
