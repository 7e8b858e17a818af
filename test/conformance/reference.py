# ===- reference.py - Neighborhood attention in f64 NumPy -------------------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Neighborhood attention in f64, straight from the definition.

The keys of a query come from window_oracle.py and from nowhere else, so this is
independent of the compiler. Tensors are heads-last ([B, X.., H, D]); `window`,
`stride`, `dilation` and `causal` have one entry per axis. Only the keys that a
query sees are read: a NaN in another key cannot reach it.
"""

import itertools

import numpy as np

from window_oracle import visible

# Largest relative error of an output: of the whole tensor, of the worst row.
TOLERANCES = {
    "f64": (1e-12, 5e-12),
    "f32": (1e-5, 5e-5),
    "tf32": (1e-3, 5e-3),
    "f16": (2e-3, 1e-2),
    "bf16": (1e-2, 5e-2),
}

# Largest absolute error of an LSE by the type of the inputs.
LSE_TOLERANCES = {"f64": 1e-12, "f32": 1e-5, "tf32": 1e-3, "f16": 1e-3, "bf16": 1e-3}


def lse_tolerance(dtype, ref):
    """The allowed absolute error of each LSE: the table's, or 4 ulp if more.

    An LSE of -inf has the table's; compare such entries for equality.
    """
    stored = np.float64 if dtype == "f64" else np.float32
    with np.errstate(invalid="ignore"):
        ulp = np.spacing(np.abs(np.asarray(ref)).astype(stored)).astype(np.float64)
    return np.fmax(LSE_TOLERANCES[dtype], 4 * ulp)


def relative_errors(out, ref, gradient=False):
    """Returns (whole, worst_row) of ||out - ref|| / ||ref||.

    A row is a last-axis vector. With `gradient`, a row's error is divided by the
    root mean square of the row norms if that is more: rows of gradients can be
    exactly 0, and rows of scores almost.
    Values that are not finite, and errors where the reference is 0, give inf.
    """
    out = np.asarray(out, np.float64)
    ref = np.asarray(ref, np.float64)
    if out.shape != ref.shape:
        raise ValueError(f"shapes differ: {out.shape} and {ref.shape}")
    if out.size == 0:
        return 0.0, 0.0
    if not (np.isfinite(out).all() and np.isfinite(ref).all()):
        return np.inf, np.inf

    def ratio(error, norm):
        safe = np.where(norm > 0, norm, 1)
        return np.where(norm > 0, error / safe, np.where(error > 0, np.inf, 0.0))

    error = np.linalg.norm(out - ref, axis=-1)
    norm = np.linalg.norm(ref, axis=-1)
    whole = ratio(np.linalg.norm(error), np.linalg.norm(norm))
    if gradient:
        norm = np.maximum(norm, np.sqrt(np.mean(norm**2)))
    return float(whole), float(ratio(error, norm).max())


class _Windows:
    """The queries of a problem, grouped by the keys that they see."""

    def __init__(self, shape, window, stride=None, dilation=None, causal=None):
        rank = len(shape)
        self.shape = tuple(shape)
        self.window = tuple(window)
        stride = stride or [1] * rank
        self.dilation = tuple(dilation or [1] * rank)
        causal = causal or [False] * rank
        self.axes = []
        for args in zip(shape, window, stride, self.dilation, causal):
            groups = {}
            for query, keys in enumerate(visible(*args)):
                groups.setdefault(tuple(keys), []).append(query)
            self.axes.append([(np.array(q), np.array(k)) for k, q in groups.items()])

    def count(self):
        """The number of groups."""
        return int(np.prod([len(axis) for axis in self.axes]))

    def _parts(self, rows):
        """Yields for each group the (queries, keys) of each axis."""
        if rows is None:
            yield from itertools.product(*self.axes)
            return
        keys = [{q: k for group, k in axis for q in group} for axis in self.axes]
        for row in rows:
            coordinates = np.unravel_index(row, self.shape)
            yield [(np.array([c]), k[c]) for c, k in zip(coordinates, keys)]

    def groups(self, rows=None):
        """Yields (queries, keys, slots, offsets) of each group.

        `queries` and `keys` are flat token indices, `slots` the slot of each
        key in a row of attention weights, `offsets` for each axis the
        [queries, keys] indices into the bias. With `rows`, a list of queries,
        each of them is a group of its own, and there are no others.
        """
        for parts in self._parts(rows):
            queries = [p[0] for p in parts]
            keys = [p[1] for p in parts]
            slots = [np.arange(len(k)) for k in keys]
            q_grid = np.meshgrid(*queries, indexing="ij")
            k_grid = np.meshgrid(*keys, indexing="ij")
            offsets = [
                (k.reshape(1, -1) - q.reshape(-1, 1)) // d + w - 1
                for q, k, d, w in zip(q_grid, k_grid, self.dilation, self.window)
            ]
            yield (
                _flatten(queries, self.shape),
                _flatten(keys, self.shape),
                _flatten(slots, self.window),
                offsets,
            )


def _flatten(coordinates, shape):
    grid = np.meshgrid(*coordinates, indexing="ij")
    return np.ravel_multi_index([g.ravel() for g in grid], shape)


def _heads_first(x, repeat=1):
    """[B, X.., H, D] as [B, H * repeat, tokens, D] in f64."""
    x = np.asarray(x, np.float64)
    # Not -1 for the tokens: there may be no batch.
    x = x.reshape(x.shape[0], int(np.prod(x.shape[1:-2])), *x.shape[-2:])
    return np.repeat(np.ascontiguousarray(x.transpose(0, 2, 1, 3)), repeat, axis=1)


def _heads_last(x, shape):
    """[B, H, tokens, D] as [B, X.., H, D]."""
    x = x.transpose(0, 2, 1, 3)
    return np.ascontiguousarray(x).reshape(x.shape[0], *shape, *x.shape[2:])


def _per_key_head(x, group):
    """Sums [B, Hq, ..] over the query heads of each key head."""
    heads = x.shape[1] // group
    return x.reshape(x.shape[0], heads, group, *x.shape[2:]).sum(axis=2)


def _default_scale(scale, q):
    return 1 / np.sqrt(q.shape[-1]) if scale is None else scale


def _row_bias(bias, offsets):
    """[Hq, queries, keys]"""
    return np.asarray(bias, np.float64)[(slice(None), *offsets)]


def attention(
    q,
    k,
    v,
    window,
    stride=None,
    dilation=None,
    causal=None,
    scale=None,
    bias=None,
    ek=None,
    ev=None,
    rows=None,
):
    """Returns (output [B, X.., Hq, Dv], lse [B, X.., Hq]).

    With `rows`, a list of flat query indices, X.. is one axis of these queries
    only, and the cost depends on them alone.
    """
    windows = _Windows(q.shape[1:-2], window, stride, dilation, causal)
    scale = _default_scale(scale, q)
    repeat = q.shape[-2] // k.shape[-2]
    qh, kh, vh = _heads_first(q), _heads_first(k, repeat), _heads_first(v, repeat)
    if ek is not None:
        ekh, evh = _heads_first(ek, repeat), _heads_first(ev, repeat)
    count = qh.shape[2] if rows is None else len(rows)
    out = np.full((*qh.shape[:2], count, vh.shape[3]), np.nan)
    lse = np.full((*qh.shape[:2], count, 1), np.nan)
    for index, (queries, keys, _, offsets) in enumerate(windows.groups(rows)):
        qg, kg, vg = qh[:, :, queries], kh[:, :, keys], vh[:, :, keys]
        places = queries if rows is None else [index]
        logits = scale * (qg @ kg.swapaxes(2, 3))
        if bias is not None:
            logits += _row_bias(bias, offsets)
        if ek is not None:
            extra = scale * (qg @ ekh.swapaxes(2, 3))
            logits = np.concatenate([logits, extra], axis=3)
            vg = np.concatenate([vg, evh], axis=2)
        top = logits.max(axis=3, keepdims=True)
        weights = np.exp(logits - top)
        total = weights.sum(axis=3, keepdims=True)
        out[:, :, places] = weights @ vg / total
        lse[:, :, places] = top + np.log(total)
    shape = windows.shape if rows is None else (count,)
    return _heads_last(out, shape), _heads_last(lse, shape)[..., 0]


def attention_grad(
    q,
    k,
    v,
    do,
    window,
    stride=None,
    dilation=None,
    causal=None,
    scale=None,
    bias=None,
    ek=None,
    ev=None,
    dlse=None,
):
    """Returns the gradients of sum(output * do) + sum(lse * dlse), by name.

    These are dq, dk, dv, with `bias` dbias, with `ek` dek and dev. They come from
    the softmax itself, not from an output or an LSE of whoever is tested.
    """
    windows = _Windows(q.shape[1:-2], window, stride, dilation, causal)
    scale = _default_scale(scale, q)
    group = q.shape[-2] // k.shape[-2]
    qh, doh = _heads_first(q), _heads_first(do)
    kh, vh = _heads_first(k, group), _heads_first(v, group)
    tokens = kh.shape[2]
    if ek is not None:
        # The additional keys are the last ones.
        kh = np.concatenate([kh, _heads_first(ek, group)], axis=2)
        vh = np.concatenate([vh, _heads_first(ev, group)], axis=2)
    dlseh = np.zeros((*q.shape[:-1], 1)) if dlse is None else dlse[..., None]
    dlseh = _heads_first(dlseh)
    dqh, dkh, dvh = np.zeros_like(qh), np.zeros_like(kh), np.zeros_like(vh)
    dbias = None if bias is None else np.zeros(np.shape(bias))
    for queries, keys, _, offsets in windows.groups():
        seen = np.concatenate([keys, np.arange(tokens, kh.shape[2])])
        qg, dog = qh[:, :, queries], doh[:, :, queries]
        kg, vg = kh[:, :, seen], vh[:, :, seen]
        logits = scale * (qg @ kg.swapaxes(2, 3))
        if bias is not None:
            logits[..., : len(keys)] += _row_bias(bias, offsets)
        weights = np.exp(logits - logits.max(axis=3, keepdims=True))
        weights /= weights.sum(axis=3, keepdims=True)
        dweights = dog @ vg.swapaxes(2, 3)
        mean = (weights * dweights).sum(axis=3, keepdims=True)
        dlogits = weights * (dweights - mean + dlseh[:, :, queries])
        dqh[:, :, queries] = scale * (dlogits @ kg)
        dkh[:, :, seen] += scale * (dlogits.swapaxes(2, 3) @ qg)
        dvh[:, :, seen] += weights.swapaxes(2, 3) @ dog
        if bias is not None:
            # Pairs of one relative position add up.
            np.add.at(dbias, (slice(None), *offsets),
                      dlogits[..., : len(keys)].sum(axis=0))

    dkh, dvh = _per_key_head(dkh, group), _per_key_head(dvh, group)
    grads = {
        "dq": _heads_last(dqh, windows.shape),
        "dk": _heads_last(dkh[:, :, :tokens], windows.shape),
        "dv": _heads_last(dvh[:, :, :tokens], windows.shape),
    }
    if bias is not None:
        grads["dbias"] = dbias
    if ek is not None:
        grads["dek"] = _heads_last(dkh[:, :, tokens:], (ek.shape[1],))
        grads["dev"] = _heads_last(dvh[:, :, tokens:], (ev.shape[1],))
    return grads


def group_count(shape, window, stride=None, dilation=None, causal=None):
    """How many different sets of keys there are; all rows cost as many products."""
    return _Windows(shape, window, stride, dilation, causal).count()


def qk(q, k, window, stride=None, dilation=None, causal=None, scale=None, bias=None):
    """Returns the scores [B, X.., Hq, prod(window)]."""
    windows = _Windows(q.shape[1:-2], window, stride, dilation, causal)
    scale = _default_scale(scale, q)
    qh, kh = _heads_first(q), _heads_first(k, q.shape[-2] // k.shape[-2])
    scores = np.full((*qh.shape[:3], int(np.prod(window))), -np.inf)
    for queries, keys, slots, offsets in windows.groups():
        logits = scale * (qh[:, :, queries] @ kh[:, :, keys].swapaxes(2, 3))
        if bias is not None:
            logits += _row_bias(bias, offsets)
        scores[:, :, queries[:, None], slots[None, :]] = logits
    return _heads_last(scores, windows.shape)


def av(w, v, window, stride=None, dilation=None, causal=None):
    """Returns the weighted sums [B, X.., Hq, Dv]."""
    windows = _Windows(w.shape[1:-2], window, stride, dilation, causal)
    wh, vh = _heads_first(w), _heads_first(v, w.shape[-2] // v.shape[-2])
    out = np.full((*wh.shape[:3], vh.shape[3]), np.nan)
    for queries, keys, slots, _ in windows.groups():
        weights = wh[:, :, queries[:, None], slots[None, :]]
        out[:, :, queries] = weights @ vh[:, :, keys]
    return _heads_last(out, windows.shape)


def qk_grad(
    q, k, ds, window, stride=None, dilation=None, causal=None, scale=None, bias=False
):
    """Returns the gradients of sum(scores * ds): dq, dk and, with `bias`, dbias."""
    windows = _Windows(q.shape[1:-2], window, stride, dilation, causal)
    scale = _default_scale(scale, q)
    group = q.shape[-2] // k.shape[-2]
    qh, kh, dsh = _heads_first(q), _heads_first(k, group), _heads_first(ds)
    dqh, dkh = np.zeros_like(qh), np.zeros_like(kh)
    dbias = np.zeros((q.shape[-2], *[2 * w - 1 for w in window]))
    for queries, keys, slots, offsets in windows.groups():
        dlogits = dsh[:, :, queries[:, None], slots[None, :]]
        dqh[:, :, queries] = scale * (dlogits @ kh[:, :, keys])
        dkh[:, :, keys] += scale * (dlogits.swapaxes(2, 3) @ qh[:, :, queries])
        np.add.at(dbias, (slice(None), *offsets), dlogits.sum(axis=0))
    grads = {
        "dq": _heads_last(dqh, windows.shape),
        "dk": _heads_last(_per_key_head(dkh, group), windows.shape),
    }
    return {**grads, "dbias": dbias} if bias else grads


def av_grad(w, v, do, window, stride=None, dilation=None, causal=None):
    """Returns the gradients of sum(output * do): dw and dv."""
    windows = _Windows(w.shape[1:-2], window, stride, dilation, causal)
    group = w.shape[-2] // v.shape[-2]
    wh, vh, doh = _heads_first(w), _heads_first(v, group), _heads_first(do)
    dwh, dvh = np.zeros_like(wh), np.zeros_like(vh)
    for queries, keys, slots, _ in windows.groups():
        at = (slice(None), slice(None), queries[:, None], slots[None, :])
        dwh[at] = doh[:, :, queries] @ vh[:, :, keys].swapaxes(2, 3)
        dvh[:, :, keys] += wh[at].swapaxes(2, 3) @ doh[:, :, queries]
    return {
        "dw": _heads_last(dwh, windows.shape),
        "dv": _heads_last(_per_key_head(dvh, group), windows.shape),
    }


def merge_grad(outputs, lses, do, dlse=None):
    """Returns the gradients of the outputs and of the LSEs, two lists."""
    outputs = np.stack([np.asarray(o, np.float64) for o in outputs])
    lses = np.stack([np.asarray(l, np.float64) for l in lses])
    output, lse = merge(outputs, lses)
    empty = np.isneginf(lses)
    weights = np.where(empty, 0, np.exp(lses - np.where(np.isneginf(lse), 0, lse)))
    dots = (do * (np.where(empty[..., None], 0, outputs) - output)).sum(axis=-1)
    dots += 0 if dlse is None else dlse
    return list(weights[..., None] * do), list(weights * dots)


def merge(outputs, lses):
    """Returns (output, lse) over the union of disjoint sets of keys."""
    outputs = np.stack([np.asarray(o, np.float64) for o in outputs])
    lses = np.stack([np.asarray(l, np.float64) for l in lses])
    top = lses.max(axis=0)
    base = np.where(np.isneginf(top), 0, top)
    weights = np.exp(lses - base)
    total = weights.sum(axis=0)
    # A part without keys contributes nothing, whatever it holds.
    empty = np.isneginf(lses)[..., None]
    terms = np.where(empty, 0, weights[..., None] * outputs)
    output = terms.sum(axis=0) / np.where(total == 0, 1, total)[..., None]
    with np.errstate(divide="ignore"):
        return output, base + np.log(total)
