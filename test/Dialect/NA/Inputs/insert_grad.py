# ===- insert_grad.py - Runs backward functions against the reference -------===#
#
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Differentiates functions by na-insert-grad, runs the backward functions and compares
them with the f64 reference, put together by hand.

Usage: insert_grad.py NA_OPT MLIR_TRANSLATE CLANG CONFORMANCE_FOLDER WORK_FOLDER
"""

import os
import subprocess
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "../../../Conversion/NAToLoops/Inputs"))
import execute
import reference

PIPELINE = "builtin.module(na-to-cpu{mode=naive parallel=false})"


def tensor(buffer):
    return buffer.type.replace("memref", "tensor")


class Backward(execute.Problem):
    """A function on tensors, and a call of its backward function from one on memrefs.
    Buffers are its arguments, the gradients of its results, and theirs."""

    def __init__(self, name, function, inputs, grads, expected):
        self.function, self.inputs, self.grads = function, inputs, grads
        results = {f"d{n}": execute.poison(b.data.shape, b.dtype)
                   for n, b in inputs.items()}
        super().__init__(name, "", {**inputs, **grads, **results}, expected)
        self.results = results

    def text(self):
        values = {**self.inputs, **self.grads}
        args = ", ".join(f"%{n}: {b.type}" for n, b in self.buffers.items())
        lines = [
            f"%{n}_t = bufferization.to_tensor %{n} restrict : {b.type} to {tensor(b)}"
            for n, b in values.items()
        ]
        types = [", ".join(tensor(b) for b in of.values())
                 for of in (values, self.results)]
        operands = ", ".join(f"%{n}_t" for n in values)
        lines.append(f"%r:{len(self.results)} = call @{self.name}_f_grad({operands}) "
                     f": ({types[0]}) -> ({types[1]})")
        lines += [
            f"bufferization.materialize_in_destination %r#{i} in restrict writable %{n} "
            f": ({tensor(b)}, {b.type}) -> ()"
            for i, (n, b) in enumerate(self.results.items())
        ]
        body = "\n  ".join(lines)
        # The backward function comes first: a call needs it.
        return (
            f"{self.backward()}func.func @{self.name}({args}) attributes "
            f"{{llvm.emit_c_interface}} {{\n  {body}\n  return\n}}\n"
        )

    def backward(self):
        """The function and its backward function, as na-opt prints them."""
        args = ", ".join(f"%{n}: {tensor(b)}" for n, b in self.inputs.items())
        results = ", ".join(tensor(b) for b in self.grads.values())
        module = subprocess.run(
            [execute.na_opt, "-", "-na-insert-grad"], check=True, text=True,
            stdout=subprocess.PIPE,
            input=f"func.func @{self.name}_f({args}) -> ({results}) {{\n"
            f"{self.function}}}\n").stdout
        lines = module.splitlines(keepends=True)
        assert lines[0] == "module {\n" and "}\n" in lines[-2:]
        return "".join(lines[1 : lines.index("}\n")])


def buffers(rng, **shapes):
    return {n: execute.Buffer(rng.standard_normal(s), "f64") for n, s in shapes.items()}


def merged(rng):
    """Two attentions joined by their LSEs, and the square of the output."""
    q, o = "tensor<2x13x4x6xf64>", "tensor<2x13x4x5xf64>"
    k, v, l = "tensor<2x13x2x6xf64>", "tensor<2x13x2x5xf64>", "tensor<2x13x4xf64>"
    b, ek, ev = "tensor<4x7xf64>", "tensor<2x3x2x6xf64>", "tensor<2x3x2x5xf64>"
    function = f"""
  %e = tensor.empty() : {o}
  %d = tensor.empty() : {l}
  %0:2 = na.attention ins(%q, %k, %v : {q}, {k}, {v}) bias(%b : {b})
      outs(%e, %d : {o}, {l}) window(<size = [4], stride = [2]>) -> {o}, {l}
  %1:2 = na.attention ins(%q, %k, %v : {q}, {k}, {v})
      additional(%ek, %ev : {ek}, {ev}) outs(%e, %d : {o}, {l})
      window(<size = [3], dilation = [3], causal = [true]>) -> {o}, {l}
  %2:2 = na.merge ins(%0#0, %1#0 : {o}, {o}) lses(%0#1, %1#1 : {l}, {l})
      outs(%e, %d : {o}, {l}) -> {o}, {l}
  %3 = arith.mulf %2#0, %2#0 : {o}
  return %3, %2#1 : {o}, {l}
"""
    inputs = buffers(rng, q=(2, 13, 4, 6), k=(2, 13, 2, 6), v=(2, 13, 2, 5), b=(4, 7),
                     ek=(2, 3, 2, 6), ev=(2, 3, 2, 5))
    grads = buffers(rng, gr=(2, 13, 4, 5), gl=(2, 13, 4))

    def expected():
        q, k, v, b, ek, ev = (x.values() for x in inputs.values())
        gr, gl = (x.values() for x in grads.values())
        first = ([4], [2], [1], [False])
        second = ([3], [1], [3], [True])
        extra = {"ek": ek, "ev": ev}
        o0, l0 = reference.attention(q, k, v, *first, bias=b)
        o1, l1 = reference.attention(q, k, v, *second, **extra)
        o, _ = reference.merge([o0, o1], [l0, l1])
        (g0, g1), (h0, h1) = reference.merge_grad([o0, o1], [l0, l1], 2 * o * gr, gl)
        a = reference.attention_grad(q, k, v, g0, *first, bias=b, dlse=h0)
        c = reference.attention_grad(q, k, v, g1, *second, **extra, dlse=h1)
        want = {n: a[n] + c[n] for n in ("dq", "dk", "dv")}
        want.update(db=a["dbias"], dek=c["dek"], dev=c["dev"])
        return {n: ("f64", g) for n, g in want.items()}

    return Backward("merged", function, inputs, grads, expected)


def products(rng):
    """Both products, with the weights exp(s / 4) - s between them."""
    q, k, s = "tensor<2x13x4x6xf64>", "tensor<2x13x2x6xf64>", "tensor<2x13x4x5xf64>"
    b = "tensor<4x9xf64>"
    function = f"""
  %e = tensor.empty() : {s}
  %f = tensor.empty() : {q}
  %four = arith.constant dense<4.0> : {s}
  %0 = na.qk ins(%q, %k : {q}, {k}) bias(%b : {b}) outs(%e : {s})
      window(<size = [5]>) -> {s}
  %1 = arith.divf %0, %four : {s}
  %2 = math.exp %1 : {s}
  %3 = arith.subf %2, %0 : {s}
  %4 = na.av ins(%3, %k : {s}, {k}) outs(%f : {q}) window(<size = [5]>) -> {q}
  return %4 : {q}
"""
    inputs = buffers(rng, q=(2, 13, 4, 6), k=(2, 13, 2, 6), b=(4, 9))
    grads = buffers(rng, gr=(2, 13, 4, 6))

    def expected():
        q, k, b = (x.values() for x in inputs.values())
        gr = grads["gr"].values()
        s = reference.qk(q, k, [5], bias=b)
        w = np.exp(s / 4) - s
        a = reference.av_grad(w, k, gr, [5])
        c = reference.qk_grad(q, k, a["dw"] * (np.exp(s / 4) / 4 - 1), [5], bias=True)
        want = {"dq": c["dq"], "dk": c["dk"] + a["dv"], "db": c["dbias"]}
        return {n: ("f64", g) for n, g in want.items()}

    return Backward("products", function, inputs, grads, expected)


def main():
    rng = np.random.default_rng(66)
    todo = [merged(rng), products(rng)]
    library = execute.compile_problems(todo, PIPELINE, "insert_grad")
    return execute.report(todo, [f for problem in todo for f in problem.run(library)])


if __name__ == "__main__":
    sys.exit(main())
