# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the machine code of a fused kernel of Hopper, as `nvdisasm -c` prints
it: what the schedule says must be there after ptxas, which may move waits.

  Products with the left operand in shared memory (scores) and in registers
  (values) are HGMMA instructions.
  The exponentials of a tile (half as many a thread as the tile has keys) stand
  between a wait that leaves a product in flight and the wait for that product.
  Only the first tile of a warpgroup has none to compute behind.
  Descriptors are in uniform registers: an R2UR before every product means that
  ptxas found what loops carry to differ between lanes of the consumers.

usage: sass.py FILE; prints what it counted, fails with what is missing.
"""

import re
import sys

# Moves to uniform registers for each product.
UNIFORM_MOVES = 1.0


def parse(text):
    """The instructions of each function, without their predicates."""
    functions = [[]]
    for line in text.splitlines():
        line = line.strip()
        if line.startswith(".section\t.text") or line.startswith(".section .text"):
            functions.append([])
        code = re.match(r"/\*[0-9a-f]+\*/\s+(.*?);", line)
        if code:
            functions[-1].append(
                re.sub(r"^@!?U?P[0-9T]+\s+", "", code[1]))
    return [function for function in functions if function]


def check(text):
    """(what was counted, [what is wrong]) of the kernel with the most products."""
    kernels = parse(text)
    if not kernels:
        return {}, ["no machine code"]
    code = max(kernels, key=lambda kernel: sum(
        instruction.startswith("HGMMA") for instruction in kernel))
    hgmma = [i for i in code if i.startswith("HGMMA")]
    # `HGMMA.64x176x16.F32.BF16 R24, gdesc[UR8], ..`, or a register second.
    shared = [i for i in hgmma if re.match(r"\S+\s+R\d+,\s*gdesc", i)]
    registers = [i for i in hgmma if re.match(r"\S+\s+R\d+,\s*R\d+", i)]
    overlapped = alone = 0
    pending = 0
    for instruction in code:
        wait = re.match(r"WARPGROUP\.DEPBAR\.LE\s+gsb0,\s*0x([0-9a-f]+)",
                        instruction)
        if wait:
            pending = int(wait[1], 16)
        elif instruction.startswith("MUFU.EX2"):
            overlapped += pending > 0
            alone += pending == 0
    # The producers, which stand before the first product, are one thread each.
    at = [i for i, instruction in enumerate(code) if instruction in hgmma] or [0]
    moves = sum(i.startswith("R2UR") for i in code[at[0]:at[-1]])
    counts = dict(scores=len(shared), values=len(registers), overlapped=overlapped,
                  alone=alone, moves=moves)
    wrong = []
    if not shared:
        wrong.append("no HGMMA with both operands in shared memory")
    if not registers:
        wrong.append("no HGMMA with an operand in registers")
    keys = re.match(r"HGMMA\.64x(\d+)x", shared[0])[1] if shared else 0
    tile = 64 * int(keys) // 128
    if overlapped < tile:
        wrong.append(f"{overlapped} of {overlapped + alone} exponentials stand "
                     f"between a product's start and the wait for it, expected "
                     f"{tile} (WARPGROUP.DEPBAR behind MUFU)")
    if moves > UNIFORM_MOVES * len(hgmma):
        wrong.append(f"{moves} R2UR for {len(hgmma)} HGMMA")
    return counts, wrong


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        counts, wrong = check(file.read())
    print(", ".join(f"{name} {count}" for name, count in counts.items()))
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
