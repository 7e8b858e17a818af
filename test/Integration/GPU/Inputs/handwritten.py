# What the emulator of warpgroups must see: a pipelined kernel of attention,
# written by hand, is right in every order of the agents; and every fault put
# into it is found in every order, with a message that says what is wrong.

import os
import re
import subprocess
import sys

# The products are small: threads of the BLAS only wait for each other.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
CONVERSION = os.path.join(here, "../../../Conversion/NAGPUToNVVM/Inputs")
sys.path[:0] = [sys.argv[1], CONVERSION]

import reference
from machine import ORDERS, Fault
from scalars import rounded
from warpgroups import Global, Map, Module

# Dense attention, see there.
with open(os.path.join(here, "pipelined.mlir"), encoding="utf-8") as file:
    KERNEL = file.read()


def generic(text):
    done = subprocess.run(["na-opt", "-mlir-print-op-generic"], input=text,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Module(done.stdout)


random = np.random.default_rng(0)
KEYS = 75
q, k, v = (rounded(random.standard_normal((1, n, 2, 16)), "bf16")
           for n in (128, KEYS, KEYS))


def check(out, expected):
    errors = reference.relative_errors(out, expected)
    limits = reference.TOLERANCES["bf16"]
    assert errors[0] <= limits[0] and errors[1] <= limits[1], errors


def run(module, order):
    """Both heads; checked against the definition."""
    out = Global("out", np.full(q.shape, np.nan), "bf16")
    lse = Global("lse", np.full(q.shape[:-1], np.nan), "f32")
    maps = [Map(Global(name, x, "bf16"))
            for name, x in (("q", q), ("k", k), ("v", v))]
    module.run_kernel("attention", [*maps, out, lse], [(0, 0, 0), (1, 0, 0)],
                      order)
    scores = np.einsum("bqhd,bkhd->bqhk", *(x.astype(np.float64)
                                            for x in (q, k))) / 4
    weights = np.exp(scores)
    total = weights.sum(-1)
    expected = np.einsum("bqhk,bkhd->bqhd", weights, v) / total[..., None]
    check(out.values, expected)
    error = np.abs(lse.values - np.log(total)).max()
    assert error <= reference.LSE_TOLERANCES["bf16"], (order, error)


# What is wrong, an edit of one place of the kernel, what the fault must say.
FAULTS = [
    # Waits that are missing.
    ("no wait for the queries",
     "nagpu.mbarrier_wait %q_full[%group] parity %p0 : !two", "",
     "reads slot . of tile .* without having waited"),
    ("no wait for the first keys",
     "nagpu.mbarrier_wait %k_full[%c0] parity %p0 : !two", "",
     "reads slot 0 of (tile|mailbox)|nobody has written"),
    ("no wait for the next keys",
     "nagpu.mbarrier_wait %k_full[%ki] parity %kp : !two", "",
     "reads slot 1 of (tile|mailbox)|nobody has written"),
    ("no wait for the values",
     "nagpu.mbarrier_wait %v_full[%vi] parity %vp : !two", "",
     "reads slot 0 of tile|nobody has written"),
    ("keys are loaded to a slot that is not free",
     "nagpu.mbarrier_wait %k_free[%i] parity %p : !two", "",
     "overwrites slot 0 of|arrivals at barrier .* slot 0"),
    ("values are loaded to a slot that is not free",
     "nagpu.mbarrier_wait %v_free[%i] parity %p : !two", "",
     "overwrites slot 0 of tile|arrivals at barrier .* slot 0"),
    # Wrong parities and slots.
    ("the producer starts with parity 0",
     "iter_args(%i = %c0, %p = %p1) -> (index, i32) {\n"
     "      %x = arith.muli %t, %c16 : index\n      %first",
     "iter_args(%i = %c0, %p = %p0) -> (index, i32) {\n"
     "      %x = arith.muli %t, %c16 : index\n      %first",
     r"deadlock: producer 0 waits for barrier .* slot 0 parity 0, phase 0 lacks "
     "8 of 8 arrivals and 0 bytes .*; producer 1 waits .*; consumer 0 waits for "
     ".* slot 0 parity 0, phase 0 lacks 1 of 1 arrivals"),
    ("the consumers start with parity 1",
     "nagpu.mbarrier_wait %k_full[%c0] parity %p0 : !two",
     "nagpu.mbarrier_wait %k_full[%c0] parity %p1 : !two",
     "reads slot 0 of mailbox .* (without|nobody)|to end phase -1"),
    ("the parity of the values never changes",
     "nagpu.mbarrier_wait %v_full[%vi] parity %vp : !two",
     "nagpu.mbarrier_wait %v_full[%vi] parity %p0 : !two",
     "reads slot 0 of tile .* without|to end phase 0"),
    ("slots and parities of a longer ring",
     "%vi1, %vp1 = nagpu.advance %vi, %vp in 2",
     "%vi1, %vp1 = nagpu.advance %vi, %vp in 3",
     "slot 2 of 2"),
    ("the other slot", "nagpu.slot %v[%vi]", "nagpu.slot %v[%c1]",
     "reads slot 1 of tile .* (without|nobody)|overwrites slot 1"),
    # Releases that are missing, early, or too many.
    ("the first keys are not released",
     "nagpu.mbarrier_arrive %k_free[%c0] : !two", "",
     "deadlock: producer 0 waits for barrier .* slot 0 parity 0, phase 0 lacks "
     "8 of 8"),
    ("one consumer does not release its values",
     "nagpu.mbarrier_arrive %v_free[%vi] : !two",
     """%mine = arith.cmpi eq, %group, %c0 : index
      scf.if %mine { nagpu.mbarrier_arrive %v_free[%vi] : !two }""",
     "deadlock: producer 1|producer 1 waits for barrier .* lacks 4 of 8"),
    ("keys are released before the product is waited for",
     """%s0 = nagpu.wgmma_wait pending 0 (%f0 : !scores)
    nagpu.mbarrier_arrive %k_free[%c0] : !two""",
     """nagpu.mbarrier_arrive %k_free[%c0] : !two
    %s0 = nagpu.wgmma_wait pending 0 (%f0 : !scores)""",
     "overwrites slot 0 of tile .*, which consumer . (may be reading|reads in)"),
    ("values are released before they are read",
     """%o4 = nagpu.wgmma_wait pending 0 (%o3 : !sums)
      nagpu.mbarrier_arrive %v_free[%vi] : !two""",
     """nagpu.mbarrier_arrive %v_free[%vi] : !two
      %o4 = nagpu.wgmma_wait pending 0 (%o3 : !sums)""",
     "overwrites slot 0 of tile .*, which consumer . (may be reading|reads in)"),
    ("values are released twice",
     "nagpu.mbarrier_arrive %v_free[%vi] : !two",
     "nagpu.mbarrier_arrive %v_free[%vi] : !two\n"
     "      nagpu.mbarrier_arrive %v_free[%vi] : !two",
     "overwrites slot|already|4 arrivals at|reads slot . of tile .* without"),
    ("the barrier counts warpgroups and not warps",
     "%v_free = nagpu.mbarrier_init arrivals 8",
     "%v_free = nagpu.mbarrier_init arrivals 2",
     "4 arrivals at barrier .* lacks 2 of 2"),
    # Bytes and copies.
    ("fewer bytes are announced than come",
     "%k_full[%i] bytes 512", "%k_full[%i] bytes 256",
     "copies 512 bytes for barrier .* and 256 bytes"),
    ("more bytes are announced than come",
     "%k_full[%i] bytes 512", "%k_full[%i] bytes 1024",
     "deadlock: .*consumer 0 waits for barrier .* lacks 0 of 1 arrivals and 512"),
    ("bytes are announced behind the copy",
     """nagpu.mbarrier_expect_tx %v_full[%i] bytes 512 : !two
      nagpu.tma_load %vm[%c0, %x, %c] into %vt signal %v_full[%i] : !map, !tile, !two""",
     """nagpu.tma_load %vm[%c0, %x, %c] into %vt signal %v_full[%i] : !map, !tile, !two
      nagpu.mbarrier_expect_tx %v_full[%i] bytes 512 : !two""",
     "copies 512 bytes for barrier .* and 0 bytes"),
    ("a copy signals the other barrier",
     "into %vt signal %v_full[%i]", "into %vt signal %k_full[%i]",
     "copies 512 bytes|512 bytes arrive|deadlock|without having waited"),
    ("the kernel ends before a copy",
     "scf.for %t = %c0 to %tiles step %c1 iter_args(%i = %c0, %p = %p1) -> (index, i32) {\n"
     "      %x = arith.muli %t, %c16 : index\n      %vt",
     "%six = arith.constant 6 : index\n"
     "    scf.for %t = %c0 to %six step %c1 iter_args(%i = %c0, %p = %p1) -> (index, i32) {\n"
     "      %x = arith.muli %t, %c16 : index\n      %vt",
     "the kernel ends, but nobody has waited for the copy to slot 1 of tile"),
    # Mailboxes.
    ("words are put behind what publishes them",
     """nagpu.mailbox_put %box[%i, %c1] %first : !nagpu.mailbox<2x2x1>
      nagpu.mbarrier_expect_tx %k_full[%i] bytes 512 : !two""",
     """nagpu.mbarrier_expect_tx %k_full[%i] bytes 512 : !two
      nagpu.mailbox_put %box[%i, %c1] %first : !nagpu.mailbox<2x2x1>""",
     "consumer 1 .* reads slot 0 of mailbox"),
    ("words are not put for a reader",
     "nagpu.mailbox_put %box[%i, %c1] %first : !nagpu.mailbox<2x2x1>", "",
     "consumer 1 .* reads slot 0 of mailbox .*, which nobody has written"),
    ("words are read behind the release",
     """%at0 = nagpu.mailbox_get %box[%c0, %group] : !nagpu.mailbox<2x2x1>
    nagpu.wgmma_fence
    %f0 = nagpu.wgmma %qt, %kt0 transposed : !qtile, !tile -> !scores
    nagpu.wgmma_commit
    %s0 = nagpu.wgmma_wait pending 0 (%f0 : !scores)
    nagpu.mbarrier_arrive %k_free[%c0] : !two""",
     """nagpu.wgmma_fence
    %f0 = nagpu.wgmma %qt, %kt0 transposed : !qtile, !tile -> !scores
    nagpu.wgmma_commit
    %s0 = nagpu.wgmma_wait pending 0 (%f0 : !scores)
    nagpu.mbarrier_arrive %k_free[%c0] : !two
    %at0 = nagpu.mailbox_get %box[%c0, %group] : !nagpu.mailbox<2x2x1>""",
     "overwrites slot 0 of mailbox .* (may be reading|was not read)|"
     "reads slot 0 of mailbox .* without"),
    ("words are overwritten unread",
     "%a = nagpu.mailbox_get %box[%ki, %group] : !nagpu.mailbox<2x2x1>",
     "%c16i = arith.constant 16 : i32\n        %a = arith.addi %at, %c16i : i32",
     "overwrites slot 1 of mailbox .*, which was not read"),
    # Products.
    ("no fence",
     "%kt0 = nagpu.slot %k[%c0] : !ring -> !tile\n"
     "    nagpu.mbarrier_wait %k_full[%c0] parity %p0 : !two\n"
     "    %at0 = nagpu.mailbox_get %box[%c0, %group] : !nagpu.mailbox<2x2x1>\n"
     "    nagpu.wgmma_fence",
     "%kt0 = nagpu.slot %k[%c0] : !ring -> !tile\n"
     "    nagpu.mbarrier_wait %k_full[%c0] parity %p0 : !two\n"
     "    %at0 = nagpu.mailbox_get %box[%c0, %group] : !nagpu.mailbox<2x2x1>",
     "no nagpu.wgmma_fence before this group"),
    ("the left operand is computed behind the fence",
     """%o2, %pf = nagpu.wgmma_fence(%o1, %pw : !sums, !weights)
      """,
     """%o2 = nagpu.wgmma_fence(%o1 : !sums)
      %pf = nagpu.convert %w : !scores -> !weights
      """,
     "a product reads registers that are written behind the last"),
    ("no commit",
     "%o3 = nagpu.wgmma %pf, %vt, %o2 : !weights, !tile -> !sums\n"
     "      nagpu.wgmma_commit",
     "%o3 = nagpu.wgmma %pf, %vt, %o2 : !weights, !tile -> !sums",
     "is still in flight behind this wait"),
    ("the wait leaves the product in flight",
     "nagpu.wgmma_wait pending 0 (%o3 : !sums)",
     "nagpu.wgmma_wait pending 1 (%o3 : !sums)",
     "is still in flight behind this wait"),
    ("the next scores are read in flight",
     "scf.yield %sn, %an, %o4", "scf.yield %fn, %an, %o4",
     "reads the product of line .*, for which nobody has waited"),
    ("a sum is used that another product has added to",
     "%o4 = nagpu.wgmma_wait pending 0 (%o3 : !sums)",
     "%o5 = nagpu.wgmma_wait pending 0 (%o3 : !sums)\n"
     "      %o4 = nagpu.wgmma_wait pending 0 (%o3 : !sums)",
     "the product of line .* is used again"),
    # The result.
    ("two consumers write the same rows",
     "nagpu.store %stat into %lse[%c0, %h] at(%x)",
     "nagpu.store %stat into %lse[%c0, %h] at(%c0)",
     "writes elements of lse for the second time"),
    # Barriers of a number.
    ("a named barrier that the other consumer does not reach",
     "%sum = nagpu.convert",
     """%mine = arith.cmpi eq, %group, %c0 : index
    scf.if %mine { nagpu.named_barrier %c1 threads 256 }
    %sum = nagpu.convert""",
     "deadlock: consumer 0 waits for named barrier 1, 128 of 256 threads"),
    ("a named barrier of other threads",
     "%sum = nagpu.convert",
     "nagpu.named_barrier %c1 threads 192\n    %sum = nagpu.convert",
     "256 threads at named barrier 1 of 192"),
]


def run_single_tile(order):
    """The kernel of the conversion's test, of one tile of keys; its scores and
    weights go without the maximum's part in the sum."""
    script = os.path.join(CONVERSION, "hopper.py")
    done = subprocess.run([sys.executable, script, "2", "56", "224"],
                          capture_output=True, text=True, check=True)
    module = generic(done.stdout)
    shape, scale = (1, 24, 31, 2, 128), np.float32(0.1)
    q, k, v = (rounded(random.standard_normal(shape), "bf16") for _ in range(3))
    out = Global("out", np.full(shape, np.nan), "bf16")
    maps = [Map(Global(name, x, "bf16"))
            for name, x in (("q", q), ("k", k), ("v", v))]
    # Of the last block, consumer 1 has no rows.
    for head, block in ((1, 0), (0, 2)):
        module.run_kernel("attention", [*maps, out, scale], [(head, block, 0)],
                          order)
        x = 8 * block
        rows = slice(x, min(x + 16, 24))
        keys = [np.pad(t, [(0, 0), (0, 8), (0, 22), (0, 0), (0, 0)])[
            0, x : x + 8, x : x + 22, head].reshape(176, 128)
            .astype(np.float64) for t in (k, v)]
        scores = q[0, rows, x : x + 8, head] @ keys[0].T * float(scale)
        scores -= scores.max(-1, keepdims=True)
        check(out.values[0, rows, x : x + 8, head],
              np.exp2(scores) @ keys[1])
    assert out.writes.sum() == (16 + 8) * 8 * 128


kernel = generic(KERNEL)
for order in ORDERS:
    run(kernel, order)
    run_single_tile(order)

for name, old, new, message in FAULTS:
    assert KERNEL.count(old) == 1, (name, KERNEL.count(old))
    kernel = generic(KERNEL.replace(old, new))
    for order in ORDERS:
        try:
            run(kernel, order)
        except Fault as fault:
            assert re.search(message, str(fault)), (name, order, str(fault))
        else:
            raise AssertionError(f"{name}, {order}: no fault was found")
print(f"{len(FAULTS)} faults are found in {len(ORDERS)} orders")
