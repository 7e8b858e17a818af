#!/usr/bin/env python3
"""Assembles the PTX of the gpu.binary in an MLIR module with ptxas.

usage: na-opt ... | assemble.py CHIP [--ptx=FILE]

Prints, per kernel, its name, registers, bytes spilled and static shared
memory. Exit code 1, with ptxas's messages, where the PTX does not assemble.
"""

import argparse
import re
import subprocess
import sys
import tempfile


def extract_ptx(module):
    """The string of the only object, with MLIR's escapes undone."""
    found = re.findall(r'assembly = "((?:[^"\\]|\\.)*)"', module)
    if len(found) != 1:
        sys.exit(f"expected one object with assembly, found {len(found)}")
    return re.sub(
        r"\\([0-9A-Fa-f]{2}|.)",
        lambda m: chr(int(m[1], 16)) if len(m[1]) == 2 else m[1],
        found[0],
    ).rstrip("\0")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("chip")
    parser.add_argument("--ptx", help="write the PTX to this file too")
    arguments = parser.parse_args()
    ptx = extract_ptx(sys.stdin.read())
    if arguments.ptx:
        with open(arguments.ptx, "w", encoding="utf-8") as file:
            file.write(ptx)
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as source:
        source.write(ptx)
        source.flush()
        run = subprocess.run(
            ["ptxas", "-v", f"-arch={arguments.chip}", "-o", "/dev/null",
             source.name],
            capture_output=True,
            text=True,
        )
    if run.returncode != 0:
        sys.exit(run.stdout + run.stderr)
    pattern = re.compile(
        r"Function properties for (\S+)\n.*?(\d+) bytes spill stores, (\d+) "
        r"bytes spill loads\n.*?Used (\d+) registers(?:.*?(\d+) bytes smem)?"
    )
    for name, stores, loads, registers, shared in pattern.findall(run.stderr):
        print(
            f"{name}: {registers} registers, {int(stores) + int(loads)} bytes "
            f"spilled, {shared or 0} bytes of shared memory"
        )
    for line in run.stderr.splitlines():
        if "warning" in line:
            print(line)


if __name__ == "__main__":
    main()
