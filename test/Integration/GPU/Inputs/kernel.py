# A kernel of the host's function, run thread block by thread block (see
# ../../../Conversion/NAGPUToNVVM/Inputs/cta.py for the threads of one block).

import re

import numpy as np

from cta import CTA, decode, encode, size_of


class Kernel(CTA):
    """A host function with launches, whose thread blocks run one by one."""

    def _memref_assume_alignment(self, op, args, active):
        return args[0]

    def _memref_expand_shape(self, op, args, active):
        shape = re.search(r"memref<((?:\d+x)+)", op.result_types[0])[1]
        return dict(args[0], shape=tuple(map(int, shape.split("x")[:-1])))

    def _gpu_launch(self, op, args, active):
        grid, threads = int(args[0][0]), int(args[3][0])
        assert threads == self.T, "the test says how many threads there are"
        body = op.regions[0]
        names = self.arguments[id(body)]
        for number in range(grid):
            # What a block leaves in shared memory is nothing to the next.
            self.shared[:] = 0xFF
            env = dict(self.env)
            env.update({name: np.zeros(self.T, np.int64) for name in names})
            env[names[0]] = np.full(self.T, number)
            env[names[3]] = np.arange(self.T)
            self.block(body, env, np.ones(self.T, bool))

    def block(self, ops, env, active):
        # The launch reads the values around it.
        if any(op.name == "gpu.launch" for op in ops):
            self.env = env
        return super().block(ops, env, active)

    def _gpu_terminator(self, op, args, active):
        return None

    def _arith_ceildivsi(self, op, args, active):
        return -(-args[0] // args[1])

    def _arith_floordivsi(self, op, args, active):
        return args[0] // args[1]

    def _arith_subf(self, op, args, active):
        return args[0] - args[1]

    def _arith_divf(self, op, args, active):
        return args[0] / args[1]

    def _arith_negf(self, op, args, active):
        return -args[0]

    def _arith_extf(self, op, args, active):
        return args[0].astype(np.float32)

    def _arith_cmpf(self, op, args, active):
        predicate = int(re.search(r"predicate = (\d+)", op.attrs)[1])
        a, b = args
        return {1: a == b, 2: a > b, 3: a >= b, 4: a < b,
                5: a <= b}[predicate].astype(np.int64)

    def _math_log(self, op, args, active):
        return np.log(args[0])

    def _llvm_call_intrinsic(self, op, args, active):
        if "llvm.nvvm.rcp.approx.ftz.f" in op.attrs:
            return 1 / args[0]
        assert "llvm.nvvm.ex2.approx.ftz.f32" in op.attrs, op.attrs
        return np.exp2(args[0])

    def _memref_load(self, op, args, active):
        memref, *indices = args
        address = address_of(memref, indices)
        raw = self.load_bytes(np.where(active, address, memref["base"]),
                              size_of(memref["kind"]), active)
        return decode(raw, memref["kind"])

    def _memref_store(self, op, args, active):
        value, memref, *indices = args
        address = address_of(memref, indices)
        if active.any():
            self.store_bytes(address, encode(value, memref["kind"]), active)


def address_of(memref, indices):
    strides = np.cumprod((1,) + memref["shape"][:0:-1])[::-1]
    return memref["base"] + size_of(memref["kind"]) * sum(
        i * int(s) for i, s in zip(indices, strides))
