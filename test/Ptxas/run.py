#!/usr/bin/env python3
# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles generated GPU code and checks what ptxas says. Needs no GPU.

Each schedule of schedules.json is compiled for each chip and type by na-opt and
assembled by `ptxas -v`. A case fails if
  na-opt fails, or reports that a slower path was taken, or tiles of a type that
  tensor cores multiply use none (of warpgroups, no wgmma),
  ptxas fails, or warns (C7510 and the like: serialised or injected code),
  a kernel spills registers,
  a kernel needs more registers than a block of its size can have, or than the
  schedule allows,
  tiles of warpgroups lack their overlap in machine code (see sass.py; where
  there is an nvdisasm).
Prints a table; the last line is 'N passed, N failed'. Where ptxas is not
installed it prints so and exits with 77.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import gradients
import sass

HERE = os.path.dirname(os.path.abspath(__file__))
CHIPS = ("sm_80", "sm_89", "sm_90")
REGISTERS = 65536
NO_PTXAS = 77


class Failure(Exception):
    """A case fails; the message says why."""


def call(command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True)


def first_error(output):
    lines = [line for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line]
    return (errors or lines or ["no message"])[0].strip()[:200]


def unescape(text):
    """A string attribute as it is printed to what it holds."""
    return re.sub(r"\\([0-9A-F]{2}|[\\\"nt])", lambda m: {
        "\\": "\\", '"': '"', "n": "\n", "t": "\t"}.get(m[1])
        or chr(int(m[1], 16)), text)


def ptx_of(text):
    """The PTX in the gpu.binary of a compiled module."""
    found = re.findall(r'\bassembly = "((?:[^"\\]|\\.)*)"', text)
    programs = [unescape(program).rstrip("\0") for program in found]
    if not programs or ".entry" not in "".join(programs):
        raise Failure("na-opt: the module holds no kernel")
    return programs


def compile_case(tools, case):
    dtype = case["dtype"].replace("tf32", "f32")
    if "gradient" in case:
        schedule = ", ".join(
            [f'target = "{case["chip"]}"']
            + [f"{name.replace('-', '_')} = {case[name]}"
               for name in ("query-tile", "key-tile", "warpgroup-tile",
                            "stages", "warps")
               if name in case])
        module = gradients.program(case["gradient"], case["flags"], dtype,
                                   schedule if "query-tile" in case else "")
    else:
        done = call([tools.na_run, "--emit-mlir", *case["flags"],
                     f"--dtype={dtype}"])
        if done.returncode:
            raise Failure("na-run: " + first_error(done.stderr))
        module = done.stdout
    pipeline = [f"chip={case['chip']}", "format=isa", f"mode={case['mode']}"]
    if case["dtype"] == "tf32":
        pipeline.append("f32-math=tf32")
    pipeline += [f"{name}={','.join(map(str, case[name]))}"
                 for name in ("query-tile", "key-tile", "warpgroup-tile")
                 if name in case and "gradient" not in case]
    if "heads-per-tile" in case:
        pipeline.append(f"heads-per-tile={case['heads-per-tile']}")
    done = call([tools.na_opt, "--pass-pipeline=builtin.module(na-to-nvvm{"
                 + " ".join(pipeline) + "})", "-"], module)
    if done.returncode:
        raise Failure("na-opt: " + first_error(done.stderr))
    remarks = [line for line in done.stderr.splitlines() if "remark:" in line]
    if remarks:
        raise Failure("na-opt: " + remarks[0].split("remark:")[1].strip())
    programs = ptx_of(done.stdout)
    tiled = case["mode"] != "naive" and case["dtype"] != "f32"
    products = "wgmma.mma_async" if "warpgroup-tile" in case else "mma.sync"
    if tiled and products not in "".join(programs):
        raise Failure(f"no kernel uses the tensor cores ({products})")
    return programs


def block_sizes(ptx):
    """{kernel: threads of its blocks}, of those that declare them."""
    sizes = {}
    for header in re.findall(r"\.entry\s+(.*?)\{", ptx, re.DOTALL):
        bound = re.search(r"\.(?:req|max)ntid\s+([\d,\s]+)", header)
        if bound:
            threads = 1
            for size in bound[1].split(","):
                threads *= int(size)
            sizes[re.match(r"[\w$.]+", header)[0]] = threads
    return sizes


def parse_report(text):
    """[{kernel, registers, spilled, stack, shared}] of ptxas -v."""
    kernels = []
    for line in text.splitlines():
        entry = re.search(r"Compiling entry function '([^']+)'", line)
        if entry:
            kernels.append(dict(kernel=entry[1], registers=None, spilled=0,
                                stack=0, shared=0))
        if not kernels:
            continue
        frame = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, "
                          r"(\d+) bytes spill loads", line)
        if frame:
            kernels[-1]["stack"] = int(frame[1])
            kernels[-1]["spilled"] = int(frame[2]) + int(frame[3])
        used = re.search(r"Used (\d+) registers", line)
        if used:
            kernels[-1]["registers"] = int(used[1])
        shared = re.search(r"(\d+) bytes smem", line)
        if shared:
            kernels[-1]["shared"] = int(shared[1])
    return kernels


def register_limit(threads, wanted=None):
    """What one block of so many threads can have, in units of 8."""
    limit = min(255, REGISTERS // threads // 8 * 8)
    return min(limit, wanted or limit)


def check_report(text, sizes, wanted=None):
    """The kernels of ptxas's output; a Failure for what is wrong with them."""
    warnings = [line for line in text.splitlines()
                if re.search(r"\bwarning\b|\bC75\d\d\b", line)]
    if warnings:
        raise Failure("ptxas: " + warnings[0].strip()[:200])
    kernels = parse_report(text)
    if not kernels or any(k["registers"] is None for k in kernels):
        raise Failure("ptxas reported no registers")
    for kernel in kernels:
        name = kernel["kernel"]
        if kernel["spilled"]:
            raise Failure(f"{name} spills {kernel['spilled']} bytes")
        limit = register_limit(sizes.get(name, 256), wanted)
        if kernel["registers"] > limit:
            raise Failure(f"{name} uses {kernel['registers']} registers, more "
                          f"than {limit}")
    return kernels


def check_code(tools, cubin):
    done = call([tools.nvdisasm, "-c", cubin])
    if done.returncode:
        raise Failure("nvdisasm: " + first_error(done.stderr))
    _, wrong = sass.check(done.stdout)
    if wrong:
        raise Failure("machine code: " + wrong[0])


def run_case(tools, case):
    """(kernels, None) or (None, what is wrong)"""
    try:
        kernels = []
        for ptx in compile_case(tools, case):
            with tempfile.TemporaryDirectory() as folder:
                source = os.path.join(folder, "kernels.ptx")
                with open(source, "w", encoding="utf-8") as file:
                    file.write(ptx)
                if tools.keep:
                    shutil.copy(source, os.path.join(
                        tools.keep, label(case).replace(" ", "-") + ".ptx"))
                cubin = os.path.join(folder, "kernels.cubin")
                done = call([tools.ptxas, "-v", "--gpu-name", case["chip"], "-o",
                             cubin, source])
                if done.returncode:
                    raise Failure("ptxas: " + first_error(done.stderr))
                kernels += check_report(done.stderr + done.stdout,
                                        block_sizes(ptx), case.get("registers"))
                # The waits of gradients are elsewhere.
                if ("wgmma" in ptx and "gradient" not in case
                        and shutil.which(tools.nvdisasm)):
                    check_code(tools, cubin)
        return kernels, None
    except Failure as failure:
        return None, str(failure)


def label(case):
    return f"{case['name']} {case['mode']} {case['dtype']} {case['chip']}"


def read_cases(path, only):
    with open(path, encoding="utf-8") as file:
        schedules = json.load(file)["schedules"]
    cases = []
    for schedule in schedules:
        for mode in schedule.get("modes", ["fused"]):
            for dtype in schedule["dtypes"]:
                for chip in schedule.get("chips", CHIPS):
                    case = dict(schedule, mode=mode, dtype=dtype, chip=chip)
                    if re.search(only, label(case)):
                        cases.append(case)
    return cases


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tools = os.path.join(HERE, "..", "..", "build", "bin")
    parser.add_argument("--na-opt", default=os.path.join(tools, "na-opt"))
    parser.add_argument("--na-run", default=os.path.join(tools, "na-run"))
    parser.add_argument("--ptxas", default="ptxas")
    parser.add_argument("--nvdisasm", default="nvdisasm",
                        help="a part of the CUDA toolkit; optional")
    parser.add_argument("--schedules",
                        default=os.path.join(HERE, "schedules.json"))
    parser.add_argument("--only", default="", metavar="REGEX",
                        help="cases whose line matches, as in 'bf16 sm_90'")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", metavar="FOLDER", help="keep the PTX there")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    cases = read_cases(options.schedules, options.only)
    if options.list:
        print("\n".join(map(label, cases)))
        return 0
    if not shutil.which(options.ptxas):
        print(f"left out: '{options.ptxas}' is not installed; it is a part of "
              "the CUDA toolkit")
        return NO_PTXAS
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    failed = 0
    print(f"{'schedule':24} {'mode':8} {'type':5} {'chip':6} {'registers':>9} "
          f"{'spilled':>8} {'stack':>6}  kernels")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for case, (kernels, problem) in zip(
                cases, pool.map(lambda case: run_case(options, case), cases)):
            line = (f"{case['name']:24} {case['mode']:8} {case['dtype']:5} "
                    f"{case['chip']:6}")
            if problem:
                failed += 1
                print(f"{line} FAIL {problem}", flush=True)
                continue
            print(f"{line} {max(k['registers'] for k in kernels):9} "
                  f"{sum(k['spilled'] for k in kernels):8} "
                  f"{max(k['stack'] for k in kernels):6}  {len(kernels)}",
                  flush=True)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
