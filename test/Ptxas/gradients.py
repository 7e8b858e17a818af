# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program of a gradient, from the flags that na-run takes for attention."""

import argparse
import math


# Gradients of na.qk and na.av: inputs and output.
PRODUCTS = {"qk_dq": ("k", "s", "q"), "qk_dk": ("q", "s", "k"),
            "av_dweights": ("v", "do", "s"), "av_dv": ("s", "do", "v")}


def numbers(text):
    return [int(number) for number in text.split("x")]


def parse(flags):
    parser = argparse.ArgumentParser(prog="flags", add_help=False)
    for flag in ("shape", "window", "stride", "dilation"):
        parser.add_argument(f"--{flag}", type=numbers)
    for flag in ("batch", "heads", "kv-heads", "head-dim", "value-dim",
                 "extra-kv"):
        parser.add_argument(f"--{flag}", type=int)
    parser.add_argument("--causal", type=lambda x: [c == "t" for c in x.split(",")])
    parser.add_argument("--bias", action="store_true")
    parser.set_defaults(batch=1, heads=1, head_dim=64)
    return parser.parse_args(flags)


def program(name, flags, dtype, schedule=""):
    """A function of one na.attention_dq, _dkv or _dqkv ("dk" and "dv" are _dkv
    with one of its results), or of one of the gradients of na.qk and na.av, on
    memrefs.

    `schedule` holds the fields of an attribute #na.schedule, if there is one.
    """
    problem = parse(flags)
    key_heads = problem.kv_heads or problem.heads
    values = problem.value_dim or problem.head_dim
    tokens = [problem.batch, *problem.shape]

    def memref(*sizes, kind=dtype):
        return f"memref<{'x'.join(map(str, sizes))}x{kind}>"

    types = {"q": memref(*tokens, problem.heads, problem.head_dim),
             "k": memref(*tokens, key_heads, problem.head_dim),
             "v": memref(*tokens, key_heads, values),
             "do": memref(*tokens, problem.heads, values),
             "lse": memref(*tokens, problem.heads, kind="f32"),
             "delta": memref(*tokens, problem.heads, kind="f32")}
    if name in PRODUCTS:
        types["s"] = memref(*tokens, problem.heads, math.prod(problem.window),
                            kind="f32")
        types = {key: types[key] for key in PRODUCTS[name]}
    elif problem.bias:
        types["bias"] = memref(problem.heads,
                               *(2 * size - 1 for size in problem.window))
    if problem.extra_kv and name == "dq":
        extra = [problem.batch, problem.extra_kv, key_heads]
        types["ek"] = memref(*extra, problem.head_dim)
        types["ev"] = memref(*extra, values)
    outs = name if name in ("dk", "dv") else "outs"
    if name not in PRODUCTS:
        outputs = {"dkv": ["dk", "dv"],
                   "dqkv": ["dq", "dk", "dv"]}.get(name, [name])
        types.update({output: types[output[1:]] for output in outputs})

    def group(names):
        return (", ".join(f"%{name}" for name in names) + " : "
                + ", ".join(types[name] for name in names))

    optional = ""
    if problem.bias:
        optional += f" bias({group(['bias'])})"
    if "ek" in types:
        optional += f" additional({group(['ek', 'ev'])})"
    window = [f"size = {problem.window}"]
    for key in ("stride", "dilation", "causal"):
        value = getattr(problem, key)
        if value:
            window.append(f"{key} = {str(value).lower()}")
    attributes = f"{{schedule = #na.schedule<{schedule}>}}" if schedule else ""
    arguments = ", ".join(f"%{key}: {kind}" for key, kind in types.items())
    if name in PRODUCTS:
        *inputs, output = PRODUCTS[name]
        return f"""func.func @main({arguments}) {{
  na.{name} ins({group(inputs)}) outs({group([output])})
    window(<{', '.join(window)}>) {attributes}
  return
}}
"""
    return f"""func.func @main({arguments}) {{
  na.attention_{'dkv' if name in ('dk', 'dv') else name} ins({group(['q', 'k', 'v', 'do'])})
    stats({group(['lse', 'delta'])}){optional} {outs}({group(outputs)})
    window(<{', '.join(window)}>) {attributes}
  return
}}
"""
