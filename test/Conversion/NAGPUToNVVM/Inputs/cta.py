# Runs a function that convert-nagpu-to-nvvm has lowered, for all threads of a
# CTA in lockstep: every value is an array over the threads. Reads the generic
# form of the operations. Copies complete at once, so that a missing wait or
# barrier stays unseen.

import re
import numpy as np

WIDTHS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 64}
GLOBAL_BASE = 1 << 32


def bf16_bits(x):
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def bf16_value(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def encode(x, kind):
    """The bytes of numbers; the last axis grows by their size."""
    if kind == "bf16":
        raw = bf16_bits(x)
    else:
        dtype = {"f32": np.float32, "f16": np.float16}.get(kind)
        raw = np.asarray(x).astype(dtype or f"<i{WIDTHS[kind] // 8}")
    raw = np.ascontiguousarray(raw)
    return raw.view(np.uint8).reshape(raw.shape + (raw.dtype.itemsize,))


def decode(raw, kind):
    raw = np.ascontiguousarray(raw)
    if kind == "bf16":
        return bf16_value(raw.view(np.uint16)[..., 0])
    if kind == "f16":
        return raw.view(np.float16)[..., 0].astype(np.float32)
    if kind == "f32":
        return raw.view(np.float32)[..., 0]
    return raw.view(f"<i{WIDTHS[kind] // 8}")[..., 0].astype(np.int64)


def size_of(kind):
    return {"f32": 4, "f16": 2, "bf16": 2}.get(kind) or WIDTHS[kind] // 8


def vector(kind):
    match = re.fullmatch(r"vector<(\d+)x(\w+)>", kind)
    return (int(match[1]), match[2]) if match else None


def round_to_tf32(x):
    bits = x.view(np.uint32).astype(np.uint64) + 0x1000
    return (bits & 0xFFFFE000).astype(np.uint32).view(np.float32)


def wrap(x, kind):
    bits = WIDTHS[kind]
    x = x.astype(np.int64)
    if bits == 64:
        return x
    x = x & ((1 << bits) - 1)
    if bits == 1:
        return x
    return np.where(x >> (bits - 1), x - (1 << bits), x)


def unsigned(x, kind):
    return x & ((1 << WIDTHS[kind]) - 1) if WIDTHS[kind] < 64 else x


class Op:
    def __init__(self, name, results, operands, attrs, line):
        self.name, self.results, self.operands = name, results, operands
        self.attrs, self.regions, self.line = attrs, [], line
        self.types, self.result_types = [], []


LINE = re.compile(
    r'(?:(%[\w#:, %]+) = )?"([\w.]+)"\(([^)]*)\)(?:\[[^\]]*\])?(.*)$'
)


def split_types(text):
    out, depth, current = [], 0, ""
    text = text.strip()
    if text.startswith("("):
        text = text[1:-1]
    for char in text:
        depth += (char in "(<[") - (char in ")>]")
        if char == "," and depth == 0:
            out.append(current.strip())
            current = ""
        else:
            current += char
    return out + [current.strip()] if current.strip() else out


def set_types(op, text):
    # The last ` : ` at depth 0 starts the function type.
    start = text.rfind(" : (")
    types = text[start + 3 :]
    depth = 0
    for i, char in enumerate(types):
        depth += (char in "(<[") - (char in ")>]" and types[i - 1] != "-")
        if depth == 0:
            break
    op.types = split_types(types[: i + 1])
    op.result_types = split_types(types[i + 1 :].replace("->", "", 1))


def parse(text):
    """Nested operations of the module."""
    top = [[]]
    blocks = [top[0]]  # innermost open block last
    stack = []
    arguments = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line:
            continue
        if line.startswith("^bb"):
            names = re.findall(r"(%\w+): ((?:[^,()<]|<[^>]*(?:<[^>]*>)?[^>]*>)+)",
                               line)
            arguments[id(blocks[-1])] = [name for name, _ in names]
            continue
        if line.startswith("}, {"):
            blocks[-1] = []
            stack[-1].regions.append(blocks[-1])
            continue
        if line.startswith("})"):
            op = stack.pop()
            op.attrs += line
            set_types(op, line)
            blocks.pop()
            continue
        match = LINE.match(line)
        assert match, line
        results = []
        for name in (match[1] or "").replace(" ", "").split(","):
            if ":" in name:
                base, count = name.split(":")
                results += [f"{base}#{i}" for i in range(int(count))]
            elif name:
                results.append(name)
        op = Op(match[2], results,
                [x.strip() for x in match[3].split(",") if x.strip()], match[4],
                number)
        blocks[-1].append(op)
        if line.endswith("({"):
            stack.append(op)
            blocks.append([])
            op.regions.append(blocks[-1])
        else:
            set_types(op, line)
    return top[0], arguments


class CTA:
    def __init__(self, text, threads, shared_bytes):
        self.ops, self.arguments = parse(text)
        self.T = threads
        self.shared = np.zeros(shared_bytes, np.uint8)
        self.memory = np.zeros(0, np.uint8)
        self.writes = None
        # Where the arguments lie, with NaNs between them.
        self.ranges = []

    def check_gaps(self):
        """Nothing was written beside the arguments."""
        gaps = np.ones(len(self.memory), bool)
        for start, end in self.ranges:
            gaps[start:end] = False
        assert (self.memory[gaps] == 0xFF).all(), "stored beside a tensor"

    def allocate(self, array, kind):
        """A memref argument: address and shape."""
        start = (len(self.memory) + 511) // 256 * 256
        raw = encode(array, kind).reshape(-1)
        # All bits set are a NaN in each type.
        grown = np.full(start + raw.size + 256, 0xFF, np.uint8)
        grown[: len(self.memory)] = self.memory
        grown[start : start + raw.size] = raw
        self.memory = grown
        self.ranges.append((start, start + raw.size))
        return {"base": GLOBAL_BASE + start, "shape": array.shape, "kind": kind}

    def read_back(self, memref):
        start = memref["base"] - GLOBAL_BASE
        count = int(np.prod(memref["shape"])) * size_of(memref["kind"])
        raw = self.memory[start : start + count].reshape(
            memref["shape"] + (size_of(memref["kind"]),))
        return decode(raw, memref["kind"])

    def run(self, name, values):
        def find(ops):
            for op in ops:
                if op.name == "func.func" and f'"{name}"' in op.attrs:
                    return op
                for region in op.regions:
                    if found := find(region):
                        return found
            return None

        function = find(self.ops)
        block = function.regions[0]
        env = {}
        for argument, value in zip(self.arguments[id(block)], values):
            if not isinstance(value, dict):
                value = np.full(self.T, value)
            env[argument] = value
        self.block(block, env, np.ones(self.T, bool))

    # Memory: `pointers` is an address for each thread.
    def space(self, pointers, size, active):
        shared = pointers[active]
        if not shared.size:
            return self.shared, 0
        if (shared >= GLOBAL_BASE).all():
            memory, base = self.memory, GLOBAL_BASE
        else:
            memory, base = self.shared, 0
        low, high = shared.min() - base, shared.max() - base + size
        assert low >= 0 and high <= len(memory), (low, high, len(memory))
        assert (shared % size == 0).all(), f"unaligned access of {size} bytes"
        return memory, base

    def load_bytes(self, pointers, size, active):
        memory, base = self.space(pointers, size, active)
        index = np.where(active, pointers - base, 0)[:, None] + np.arange(size)
        return memory[index]

    def store_bytes(self, pointers, raw, active):
        size = raw.shape[1]
        memory, base = self.space(pointers, size, active)
        index = (pointers - base)[:, None] + np.arange(size)
        memory[index[active]] = raw[active]
        if self.writes is not None and base:
            np.add.at(self.writes, index[active], 1)

    def block(self, ops, env, active):
        for op in ops:
            if op.name in ("scf.yield", "func.return", "scf.reduce"):
                return [env[x] for x in op.operands]
            self.execute(op, env, active)
        return []

    def execute(self, op, env, active):
        args = [env[x] for x in op.operands]
        name = op.name.split(".", 1)
        if op.name == "scf.for":
            lower, upper, step = (int(x[0]) for x in args[:3])
            carried = args[3:]
            block = op.regions[0]
            names = self.arguments[id(block)]
            for i in range(lower, upper, step):
                inner = dict(env)
                inner[names[0]] = np.full(self.T, i)
                inner.update(zip(names[1:], carried))
                carried = self.block(block, inner, active)
            results = carried
        elif op.name == "scf.if":
            condition = args[0].astype(bool)
            then = self.block(op.regions[0], dict(env), active & condition)
            other = []
            if len(op.regions) > 1:
                other = self.block(op.regions[1], dict(env), active & ~condition)
            results = [np.where(condition if x.ndim == 1 else condition[:, None],
                                x, y) for x, y in zip(then, other)]
        else:
            handler = getattr(self, "_" + op.name.replace(".", "_"), None)
            assert handler, f"unknown operation {op.name}"
            results = handler(op, args, active)
            if results is None:
                results = []
            elif not isinstance(results, list):
                results = [results]
        assert len(results) == len(op.results), op.name
        env.update(zip(op.results, results))

    # arith
    def _arith_constant(self, op, args, active):
        kind = op.result_types[0]
        match = re.search(r"value = (\S+?)(?: :|}>)", op.attrs)
        text = match[1]
        if kind in WIDTHS:
            value = {"true": -1, "false": 0}.get(text)
            value = int(text) if value is None else value
            return wrap(np.full(self.T, value), kind)
        if text.startswith("0x"):
            bits = np.full(self.T, int(text, 16), np.uint32)
            assert kind == "f32"
            return bits.view(np.float32)
        return np.full(self.T, float(text), np.float32)

    def binary(self, op, args, function):
        return wrap(function(args[0], args[1]), op.types[0])

    def _arith_addi(self, op, args, active):
        return self.binary(op, args, lambda a, b: a + b)

    def _arith_subi(self, op, args, active):
        return self.binary(op, args, lambda a, b: a - b)

    def _arith_muli(self, op, args, active):
        return self.binary(op, args, lambda a, b: a * b)

    def _arith_andi(self, op, args, active):
        return self.binary(op, args, lambda a, b: a & b)

    def _arith_xori(self, op, args, active):
        return self.binary(op, args, lambda a, b: a ^ b)

    def _arith_ori(self, op, args, active):
        return self.binary(op, args, lambda a, b: a | b)

    def shift(self, op, args, function):
        # A larger amount gives poison; an impossible number shows its use.
        bits = WIDTHS[op.types[0]]
        value = unsigned(args[0], op.types[0])
        inside = unsigned(args[1], op.types[0]) < bits
        shifted = function(value, np.where(inside, args[1], 0))
        return wrap(np.where(inside, shifted, 0x5A5A5A5A), op.types[0])

    def _arith_shli(self, op, args, active):
        return self.shift(op, args, lambda a, b: a << b)

    def _arith_shrui(self, op, args, active):
        return self.shift(op, args, lambda a, b: (
            a.astype(np.uint64) >> b.astype(np.uint64)).astype(np.int64))

    def _arith_shrsi(self, op, args, active):
        return self.shift(op, args, lambda a, b: wrap(a, op.types[0]) >> b)

    def _arith_minsi(self, op, args, active):
        return np.minimum(*args)

    def _arith_maxsi(self, op, args, active):
        return np.maximum(*args)

    def _arith_minui(self, op, args, active):
        return np.minimum(*(unsigned(x, op.types[0]) for x in args))

    def _arith_extui(self, op, args, active):
        return unsigned(args[0], op.types[0])

    def _arith_divui(self, op, args, active):
        a, b = (unsigned(x, op.types[0]) for x in args)
        return wrap(a // b, op.types[0])

    def _arith_remui(self, op, args, active):
        a, b = (unsigned(x, op.types[0]) for x in args)
        return wrap(a % b, op.types[0])

    def _arith_shrui(self, op, args, active):
        a, b = (unsigned(x, op.types[0]).astype(np.uint64) for x in args)
        return wrap(a >> b, op.types[0])

    def _arith_minui(self, op, args, active):
        return np.where(self._less(args, op.types[0]), *args)

    def _less(self, args, kind):
        a, b = (unsigned(x, kind).astype(np.uint64) for x in args)
        return a < b

    def _arith_minsi(self, op, args, active):
        return np.minimum(*args)

    def _arith_maxsi(self, op, args, active):
        return np.maximum(*args)

    def _arith_cmpi(self, op, args, active):
        predicate = int(re.search(r"predicate = (\d+)", op.attrs)[1])
        a, b = args
        if predicate >= 6:
            a, b = (x.astype(np.uint64) for x in (a, b))
        return [a == b, a != b, a < b, a <= b, a > b, a >= b, a < b, a <= b,
                a > b, a >= b][predicate].astype(np.int64)

    def _arith_select(self, op, args, active):
        condition = args[0].astype(bool)
        if args[1].ndim > 1:
            condition = condition[:, None]
        return np.where(condition, args[1], args[2])

    _llvm_select = _arith_select

    def _arith_index_cast(self, op, args, active):
        return wrap(args[0], op.result_types[0])

    _arith_trunci = _arith_extsi = _arith_index_cast

    def _arith_sitofp(self, op, args, active):
        return args[0].astype(np.float32)

    def _arith_addf(self, op, args, active):
        return args[0] + args[1]

    def _arith_mulf(self, op, args, active):
        return args[0] * args[1]

    def _math_fma(self, op, args, active):
        return (args[0].astype(np.float64) * args[1] + args[2]).astype(np.float32)

    def _arith_truncf(self, op, args, active):
        kind = op.result_types[0]
        kind = vector(kind)[1] if vector(kind) else kind
        return decode(encode(args[0], kind), kind)

    def _llvm_intr_maxnum(self, op, args, active):
        return np.fmax(args[0], args[1])

    # llvm
    def _llvm_inttoptr(self, op, args, active):
        return args[0]

    _llvm_ptrtoint = _llvm_inttoptr

    def _llvm_getelementptr(self, op, args, active):
        if len(args) == 2:
            return args[0] + args[1]
        return args[0] + int(re.search(r"array<i32: (-?\d+)>", op.attrs)[1])

    def _llvm_load(self, op, args, active):
        kind = op.result_types[0]
        count, element = vector(kind) or (1, kind)
        size = size_of(element)
        raw = self.load_bytes(args[0], count * size, active)
        values = decode(raw.reshape(self.T, count, size), element)
        return values if vector(kind) else values[:, 0]

    def _llvm_store(self, op, args, active):
        kind = op.types[0]
        element = vector(kind)[1] if vector(kind) else kind
        raw = encode(args[0], element).reshape(self.T, -1)
        self.store_bytes(args[1], raw, active)

    def _llvm_bitcast(self, op, args, active):
        source, target = op.types[0], op.result_types[0]
        element = vector(source)[1] if vector(source) else source
        raw = encode(args[0], element).reshape(self.T, -1)
        count, element = vector(target) or (1, target)
        values = decode(raw.reshape(self.T, count, -1), element)
        return values if vector(target) else values[:, 0]

    def _llvm_extractvalue(self, op, args, active):
        return args[0][int(re.search(r"array<i64: (\d+)>", op.attrs)[1])]

    def _llvm_mlir_poison(self, op, args, active):
        count, element = vector(op.result_types[0])
        if element in WIDTHS:
            return np.full((self.T, count), -1, np.int64)
        return np.full((self.T, count), np.nan, np.float32)

    def _llvm_insertelement(self, op, args, active):
        out = args[0].copy()
        out[:, int(args[2][0])] = args[1]
        return out

    def _llvm_extractelement(self, op, args, active):
        return args[0][:, int(args[1][0])]

    # gpu, memref
    def _gpu_dynamic_shared_memory(self, op, args, active):
        return {"base": 0}

    def _gpu_barrier(self, op, args, active):
        assert active.all(), "a barrier that not all threads reach"

    def _memref_extract_aligned_pointer_as_index(self, op, args, active):
        return np.full(self.T, args[0]["base"])

    def _memref_extract_strided_metadata(self, op, args, active):
        shape = args[0]["shape"]
        strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
        return [args[0]] + [np.full(self.T, x) for x in (0, *shape, *strides)]

    # nvvm
    def _nvvm_read_ptx_sreg_tid_x(self, op, args, active):
        return np.arange(self.T)

    def predicated_store(self, op, args, active):
        match = re.search(r'"(@\$(\d+) )?st\.global(?:\.v(\d))?\.b(\d+) '
                          r'\[\$0\+(-?\d+)\], \{?([$\d, ]+)\}?;"', op.attrs)
        assert match, op.attrs
        guard, condition, count, bits, offset, values = match.groups()
        size = int(bits) // 8
        values = [int(v.strip()[1:]) for v in values.split(",")]
        assert values == [*range(1, 1 + int(count or 1))]
        address = args[0] + int(offset)
        if guard:
            active = active & args[int(condition)].astype(bool)
        assert not (address[active] % (size * len(values))).any(), "alignment"
        raw = np.concatenate([encode(args[v], f"i{bits}") for v in values], -1)
        self.store_bytes(address, raw, active)

    def _llvm_inline_asm(self, op, args, active):
        if "st.global" in op.attrs:
            return self.predicated_store(op, args, active)
        if 'asm_string = ""' in op.attrs:
            assert 'constraints = "=f,0,' in op.attrs
            return args[0]
        match = re.search(
            r'"(@\$2 )?cp\.async\.(c[ag])\.shared\.global\.L2::128B '
            r'\[\$0\+(-?\d+)\], \[\$1\+(-?\d+)\], (\d+)(, \$\d)?;"', op.attrs)
        assert match, op.attrs
        guard, cache, to, start, size, ignore = match.groups()
        size = int(size)
        assert (cache == "cg") == (size == 16)
        if guard:
            active = active & args[2].astype(bool)
        reads = active
        if ignore:
            reads = active & ~args[int(ignore[3:])].astype(bool)
        raw = self.load_bytes(args[1] + int(start), size, reads)
        raw = np.where(reads[:, None], raw, 0).astype(np.uint8)
        self.store_bytes(args[0] + int(to), raw, active)

    def _nvvm_bar_warp_sync(self, op, args, active):
        assert active.all(), "a warp whose lanes do not meet"

    def _nvvm_cp_async_commit_group(self, op, args, active):
        return None

    def _nvvm_cp_async_wait_group(self, op, args, active):
        return None

    def _nvvm_shfl_sync(self, op, args, active):
        assert active.all()
        lane = np.arange(self.T)
        offset = args[2]
        if "bfly" in op.attrs:
            source = lane ^ offset
        else:
            assert "idx" in op.attrs
            source = lane // 32 * 32 + offset
        return args[1][source]

    def _nvvm_ldmatrix(self, op, args, active):
        count = int(re.search(r"num = (\d+)", op.attrs)[1])
        transposed = "mma_layout<col>" in op.attrs
        lane = np.arange(self.T)
        results = []
        for m in range(count):
            # The rows of matrix m come from lanes 8 m .. 8 m + 7 of the warp.
            rows = args[0].reshape(-1, 32)[:, 8 * m : 8 * m + 8]
            raw = self.load_bytes_of(rows.reshape(-1), 16)
            matrix = raw.reshape(-1, 8, 8, 2)
            if transposed:
                matrix = matrix.transpose(0, 2, 1, 3)
            g, t = lane % 32 // 4, lane % 4
            pair = np.stack([matrix[lane // 32, g, 2 * t],
                             matrix[lane // 32, g, 2 * t + 1]], axis=1)
            results.append(decode(pair.reshape(self.T, 4), "i32"))
        return results[0] if count == 1 else [results]

    def load_bytes_of(self, addresses, size):
        assert (addresses % size == 0).all()
        assert addresses.min() >= 0 and addresses.max() + size <= len(self.shared)
        return self.shared[addresses[:, None] + np.arange(size)]

    def _nvvm_convert_float_to_tf32(self, op, args, active):
        assert "rna" in op.attrs
        return decode(encode(round_to_tf32(args[0]), "f32"), "i32")

    def _nvvm_mma_sync(self, op, args, active):
        wide = "tf32" in op.attrs
        depth = 8 if wide else 16
        assert f"k = {depth}" in op.attrs
        kind = "f32" if wide else "bf16" if "bf16" in op.attrs else "f16"

        def numbers(x):
            if x.ndim == 2:
                return x
            raw = encode(x, "i32")
            return decode(raw.reshape(self.T, -1, size_of(kind)), kind)

        warps = self.T // 32
        lane = np.arange(self.T)
        w, g, t = lane // 32, lane % 32 // 4, lane % 4
        a = np.zeros((warps, 16, depth), np.float32)
        b = np.zeros((warps, depth, 8), np.float32)
        for r in range(4):
            values = numbers(args[r])
            for e in range(values.shape[1]):
                column = depth // 2 * (r // 2) + (t if wide else 2 * t + e)
                a[w, g + 8 * (r % 2), column] = values[:, e]
        for r in range(2):
            values = numbers(args[4 + r])
            for e in range(values.shape[1]):
                row = depth // 2 * r + (t if wide else 2 * t + e)
                b[w, row, g] = values[:, e]
        product = np.einsum("wmk,wkn->wmn", a, b)
        return [[args[6 + e] + product[w, g + 8 * (e // 2), 2 * t + e % 2]
                 for e in range(4)]]
