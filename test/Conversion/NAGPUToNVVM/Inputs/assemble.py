# Reads a module with a gpu.binary that holds PTX, assembles it for the chip
# given, and prints what ptxas says of registers and spills and how often the
# PTX has each of the instructions that matter.

import re
import subprocess
import sys

INSTRUCTIONS = ["ldmatrix.sync.aligned.m8n8.x4.shared.b16",
                "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
                "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
                "cp.async.cg.shared.global.L2::128B", "ex2.approx.ftz.f32",
                "max.f32", "cvt.rn.bf16x2.f32", "st.global.v4", "setp.nan"]


def main():
    chip = sys.argv[1]
    text = re.search(r'assembly = "((?:[^"\\]|\\.)*)"', sys.stdin.read())[1]
    ptx = re.sub(r"\\([0-9A-Fa-f]{2})", lambda m: chr(int(m[1], 16)), text)
    ptx = ptx.rstrip("\0")
    ran = subprocess.run(["ptxas", f"-arch={chip}", "-v", "-o", "/dev/null", "-"],
                         input=ptx, text=True, capture_output=True, check=False)
    if ran.returncode:
        sys.exit(ran.stderr)
    registers = int(re.search(r"Used (\d+) registers", ran.stderr)[1])
    spilled = int(re.search(r"(\d+) bytes spill stores", ran.stderr)[1])
    print(f"registers {'ok' if registers <= 255 else registers}, "
          f"spilled {spilled}")
    for name in INSTRUCTIONS:
        count = len(re.findall(rf"(?<![\w.]){re.escape(name)}(?![\w:])", ptx))
        print(f"{name}: {count}")


main()
