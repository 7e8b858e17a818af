# Runs kernels of Hopper at the level of nagpu, before convert-nagpu-to-nvvm: a
# fragment is one array of rows and columns, each producer and each consumer
# warpgroup of nagpu.roles is an agent of machine.py. Reads the generic form of
# the operations.

import re

import numpy as np

import scalars
from cta import Op, parse
from machine import (Agent, Barrier, Copy, Fault, LaneCopies, Machine, NamedBarrier, Order,
                     Slot, join)
from scalars import rounded

BYTES = {"f32": 4, "f16": 2, "bf16": 2, "i32": 4}


def integer(op, name, default=None):
    match = re.search(rf"\b{name} = (-?\d+)", op.attrs)
    assert match or default is not None, (name, op.attrs)
    return int(match[1]) if match else default


def integers(op, name):
    match = re.search(rf"\b{name} = array<i\d+(?:: ([^>]*))?>", op.attrs)
    return [int(x) for x in match[1].split(",")] if match[1] else []


def once(function):
    """Remembers on the operation what its attributes say."""
    memo = "_" + function.__name__

    def remembered(op, *args):
        known = op.__dict__.setdefault(memo, {})
        if args not in known:
            known[args] = function(op, *args)
        return known[args]
    return remembered


Op.integer = once(integer)
Op.integers = once(integers)
TYPES = {}


def tile_type(text):
    """Shape and element type of a fragment, shared tile, map or memref."""
    if text not in TYPES:
        match = re.search(r"<((?:[\d?]+x)*)(\w+)", text)
        shape = tuple(int(x) if x != "?" else None
                      for x in match[1].split("x")[:-1])
        TYPES[text] = shape, match[2]
    return TYPES[text]


class Global:
    """A memref argument: its values as f32, and how often each is written."""

    def __init__(self, name, values, kind):
        self.name, self.kind = name, kind
        self.values = np.array(values, np.float32)
        self.writes = np.zeros(self.values.shape, np.uint8)

    def reshaped(self, shape):
        """The same memory."""
        view = Global(self.name, 0, self.kind)
        view.values = self.values.reshape(shape)
        view.writes = self.writes.reshape(shape)
        return view


class Map:
    """A tensor map: heads and channels are one dimension, to which the residues
    of dilated axes add."""

    def __init__(self, memref, dilation=()):
        *tokens, heads, self.channels = memref.values.shape
        self.dilated = any(d != 1 for d in dilation)
        self.values = memref.values.reshape(*tokens, heads * self.channels)
        self.sizes = list(self.values.shape)
        self.strides = [x // 4 for x in self.values.strides]
        for axis, d in enumerate(dilation, 1):
            if d == 1:
                continue
            length, stride = self.sizes[axis], self.strides[axis]
            assert length % d == 0, "residues of different sizes"
            self.sizes[axis] = length // d
            self.sizes[-1] += (d - 1) * stride
            self.strides[axis] *= d

    def read(self, at, box):
        if not self.dilated:
            return read_box(self.values, at, box)
        inside, places = np.ones(box, bool), np.zeros(box, int)
        for index, start, size, stride in zip(np.indices(box), at, self.sizes,
                                              self.strides):
            inside &= (start + index >= 0) & (start + index < size)
            places += (start + index) * stride
        places = places[inside]
        if ((places < 0) | (places >= self.values.size)).any():
            raise Fault(f"a box at {at} reads beyond the tensor")
        values = np.zeros(box, np.float32)
        values[inside] = self.values.reshape(-1)[places]
        return values


    def add(self, at, box, values):
        """Adds what lies inside."""
        assert not self.dilated
        places = [start + index for start, index in zip(at, np.indices(box))]
        inside = np.ones(box, bool)
        for place, size in zip(places, self.values.shape):
            inside &= (place >= 0) & (place < size)
        index = tuple(place[inside] for place in places)
        self.values[index] += values.reshape(box)[inside]


class Fragment:
    """Rows are a column: [rows, 1]. `time` is the last write to it."""

    def __init__(self, values, time):
        self.values, self.time = values, time


class Product:
    """A fragment in flight."""

    def __init__(self, values, reads, line):
        self.values, self.reads, self.line = values, reads, line
        self.gone = False


class Tile:
    def __init__(self, slots):
        self.slots = slots

    @property
    def slot(self):
        assert len(self.slots) == 1
        return self.slots[0]

    @property
    def data(self):
        return self.slot.data


class Part(Tile):
    """Some rows (axis 0) or columns (axis 1) of a tile."""

    def __init__(self, tile, axis, first, count):
        super().__init__([tile.slot])
        part = slice(first, first + count)
        self.region = (part, slice(None)) if axis == 0 else (slice(None), part)

    @property
    def data(self):
        return self.slot.data[self.region]


class Unknown:
    """What differs between threads has no value here."""

    def __init__(self, what):
        self.what = what


TERMINATORS = {"scf.yield", "scf.condition", "func.return", "gpu.return",
               "gpu.terminator", "nagpu.yield", "scf.forall.in_parallel"}
CONTROL = {"scf.for": "for_", "scf.if": "if_", "scf.while": "while_",
           "nagpu.mbarrier_wait": "mbarrier_wait",
           "nagpu.named_barrier": "named_barrier"}
# Another agent may come between these; between others it makes no difference.
VISIBLE = {f"nagpu.{name}" for name in (
    "mbarrier_wait", "mbarrier_arrive", "mbarrier_expect_tx",
    "mbarrier_arrive_copies", "named_barrier", "tma_load", "tma_store", "tma_add",
    "tma_store_wait", "store_transposed", "async_copy", "ldvector", "wgmma", "wgmma_wait", "mailbox_put",
    "mailbox_get")}


def extents(text):
    """Rows and columns of a fragment's type; 1 along which it is the same."""
    shape, _ = tile_type(text)
    if len(shape) == 2:
        return shape
    return (1, shape[0]) if "column" in text else (shape[0], 1)


class Block:
    """One CTA."""

    def __init__(self, module, order):
        self.arguments = module.arguments
        self.machine = Machine()
        self.order = order

    def run(self, body, env):
        main = Agent(-1, "the CTA", 4)
        for _ in self.body(main, body, env):
            raise Fault("waits outside of nagpu.roles")

    def body(self, agent, ops, env):
        for op in ops:
            agent.line = op.line
            name = op.name
            if name in TERMINATORS:
                return [env[x] for x in op.operands]
            agent.time += 1
            if name in VISIBLE and agent.number >= 0:
                yield None
                agent.line = op.line
            try:
                args = [env[x] for x in op.operands]
                if name in CONTROL:
                    results = yield from getattr(self, CONTROL[name])(
                        agent, op, args, env)
                elif name in ("nagpu.roles", "scf.forall"):
                    self.roles(op, env)
                    results = []
                else:
                    results = self.execute(agent, op, args, env)
            except Fault:
                raise
            except Exception as error:
                raise AssertionError(f"line {op.line}: {op.name}") from error
            assert len(results) == len(op.results), op.name
            env.update(zip(op.results, results))
        return []

    def execute(self, agent, op, args, env):
        if not hasattr(op, "handler"):
            op.handler = scalars.handler(op)
        if op.handler:
            for x in args:
                if isinstance(x, (Unknown, Product, Fragment)):
                    raise AssertionError(f"{op.name} of {x}")
            return [op.handler(op, args)]
        handler = getattr(self, "_" + op.name.replace(".", "_"), None)
        assert handler, f"unknown operation {op.name}"
        results = handler(agent, op, args, env)
        if results is None:
            return []
        return results if isinstance(results, list) else [results]

    # Control flow.
    def for_(self, agent, op, args, env):
        lower, upper, step, *carried = args
        body = op.regions[0]
        names = self.arguments[id(body)]
        for i in range(lower, upper, step):
            env[names[0]] = i
            env.update(zip(names[1:], carried))
            carried = yield from self.body(agent, body, env)
        return carried

    def if_(self, agent, op, args, env):
        region = 0 if args[0] else 1
        if region == len(op.regions):
            return []
        return (yield from self.body(agent, op.regions[region], env))

    def while_(self, agent, op, args, env):
        before, after = op.regions
        while True:
            env.update(zip(self.arguments.get(id(before), []), args))
            condition, *args = yield from self.body(agent, before, env)
            if not condition:
                return args
            env.update(zip(self.arguments.get(id(after), []), args))
            args = yield from self.body(agent, after, env)

    def roles(self, op, env):
        if op.name == "scf.forall":  # Warpgroups that have no roles yet.
            (groups,) = op.integers("staticUpperBound")
            consumers, producers = op.regions[0], []
        else:
            consumers, *producers = op.regions
            groups = op.integer("groups")
        agents = []
        bodies = [(f"producer {i}", 0, body, None)
                  for i, body in enumerate(producers)]
        bodies += [(f"consumer {i}", 4, consumers, i) for i in range(groups)]
        for name, warps, body, group in bodies:
            agent = Agent(len(agents), name, warps)
            mine = dict(env)
            if group is not None:
                mine[self.arguments[id(body)][0]] = group
            agent.steps = self.body(agent, body, mine)
            agents.append(agent)
        self.machine.run(agents, self.order)

    # Barriers.
    def _nagpu_mbarrier_init(self, agent, op, args, env):
        assert agent.number < 0, "initialised by a role"
        count = int(re.search(r"<(\d+)>", op.result_types[0])[1])
        self.machine.place(op.results[0], op.integer("offset", -1), 8 * count)
        barriers = [Barrier(op.results[0], i, op.integer("arrivals"))
                    for i in range(count)]
        self.machine.barriers += barriers
        return [barriers]

    def pick(self, ring, index):
        if not 0 <= index < len(ring):
            raise Fault(f"slot {index} of {len(ring)}")
        return ring[index]

    def mbarrier_wait(self, agent, op, args, env):
        barrier = self.pick(args[0], args[1])
        if args[2] not in (0, 1):
            raise Fault(f"waits for parity {args[2]}")
        yield barrier.wait(agent, args[2])
        join(agent.clock, barrier.ended)
        return []

    def _nagpu_mbarrier_arrive(self, agent, op, args, env):
        # The first lane of each warp, or the producer's thread.
        self.pick(args[0], args[1]).arrive(agent, agent.warps or 1)

    def _nagpu_mbarrier_expect_tx(self, agent, op, args, env):
        self.pick(args[0], args[1]).arrive(agent, 1, op.integer("bytes"))

    def _nagpu_advance(self, agent, op, args, env):
        index, parity = args
        if index + 1 == op.integer("slots"):
            return [0, 1 - parity]
        return [index + 1, parity]

    def named_barrier(self, agent, op, args, env):
        barrier = self.machine.named.setdefault(args[0], NamedBarrier(args[0]))
        wait = barrier.arrive(agent, 32 * (agent.warps or 1),
                              op.integer("threads"))
        if not re.search(r"<\{.*\barrive\b.*\}>", op.attrs):
            yield wait
            join(agent.clock, barrier.ended)
        return []

    def _nagpu_barrier(self, agent, op, args, env):
        assert agent.number < 0, "a barrier of all threads in a role"

    _gpu_barrier = _nagpu_barrier

    # Shared memory.
    def _nagpu_alloc(self, agent, op, args, env):
        shape, kind = tile_type(op.result_types[0])
        size = int(np.prod(shape)) * BYTES[kind]
        self.machine.place(op.results[0], op.integer("offset", -1), size)
        count = shape[0] if len(shape) == 3 else 1
        return Tile([Slot(f"tile {op.results[0]}", i,
                          np.full(shape[-2:], np.nan, np.float32))
                     for i in range(count)])

    def _nagpu_slot(self, agent, op, args, env):
        return Tile([self.pick(args[0].slots, args[1])])

    def part(self, op, args, axis):
        count = tile_type(op.result_types[0])[0][axis]
        first = args[1] * count
        if not 0 <= first < args[0].slot.data.shape[axis]:
            raise Fault(f"{op.name} {args[1]}")
        return Part(args[0], axis, first, count)

    def _nagpu_panel(self, agent, op, args, env):
        return self.part(op, args, 1)

    def _nagpu_rows(self, agent, op, args, env):
        return self.part(op, args, 0)

    def _nagpu_store_transposed(self, agent, op, args, env):
        source, dest = args
        dest.slot.check_write(agent)
        dest.slot.data[:] = self.fragment(source).T
        dest.slot.wrote(agent.number, agent.clock[agent.number])
        dest.slot.stored = agent, agent.time

    def check_fence(self, slot):
        """What threads have stored is fenced before another proxy reads it."""
        if slot.stored and slot.stored[0].proxy_fence < slot.stored[1]:
            raise Fault(f"reads {slot} without a nagpu.proxy_fence behind the "
                        "stores to it")

    def _nagpu_mailbox_alloc(self, agent, op, args, env):
        slots, readers, words = (
            int(x) for x in re.findall(r"\d+", op.result_types[0]))
        self.machine.place(op.results[0], op.integer("offset", -1),
                           16 * slots * readers)
        return [[[Slot(f"mailbox {op.results[0]} of reader {j}", i,
                       [None] * words) for j in range(readers)]
                 for i in range(slots)]]

    def _nagpu_mailbox_put(self, agent, op, args, env):
        box, slot, reader, *words = args
        words_of = self.pick(self.pick(box, slot), reader)
        if words_of.written and not words_of.reads:
            raise Fault(f"overwrites {words_of}, which was not read")
        words_of.check_write(agent)
        assert len(words) == len(words_of.data)
        words_of.data = words
        words_of.wrote(agent.number, agent.clock[agent.number])

    def _nagpu_mailbox_get(self, agent, op, args, env):
        box, slot, reader = args
        words = self.pick(self.pick(box, slot), reader)
        words.check_read(agent)
        words.read(agent)
        return list(words.data)

    # Copies by the threads of a warpgroup, before they are given to the TMA.
    def _nagpu_async_copy(self, agent, op, args, env):
        source, batch, head, *at, dest = args
        slot = dest.slot
        slot.check_write(agent)
        # Numbers of tokens lie in one row.
        vector = source.values.ndim == len(at) + 2
        values = source.values[batch, ..., head, None if vector else slice(None)]
        # The tokens from the first on that are in its residue class.
        dilation = op.integers("dilation")
        first = [x % d for x, d in zip(at, dilation)]
        values = values[tuple(slice(x, None, d) for x, d in zip(first, dilation))]
        at = [(x - y) // d for x, y, d in zip(at, first, dilation)]
        box = read_box(values, at + [0], (
            *op.integers("box"), 1 if vector else slot.data.shape[1]))
        box = box.reshape(slot.data.shape)
        slot.data[:] = np.nan if agent.producer else box
        slot.wrote(agent.number, np.inf)
        return [[(slot, box) if agent.producer else slot]]

    def _nagpu_mbarrier_arrive_copies(self, agent, op, args, env):
        barriers, index, *tokens = args
        self.machine.copy(LaneCopies(agent, sum(tokens, []),
                                     self.pick(barriers, index)))

    def _nagpu_ldvector(self, agent, op, args, env):
        slot = args[0].slot
        slot.check_read(agent)
        slot.read(agent)
        values = slot.data.reshape(extents(op.result_types[0]))
        return Fragment(np.array(values, np.float32), agent.time)

    def _nagpu_async_commit(self, agent, op, args, env):
        agent.copies.append(sum(args, []))
        return [[]]

    def _nagpu_async_wait(self, agent, op, args, env):
        count = max(len(agent.copies) - op.integer("pending"), 0)
        for slot in sum(agent.copies[:count], []):
            slot.wrote(agent.number, agent.clock[agent.number])
        del agent.copies[:count]
        return args[len(args) - len(op.results) :]

    # The TMA.
    def _nagpu_tma_load(self, agent, op, args, env):
        tensor, *at, tile, barriers, index = args
        box, kind = tile_type(op.types[0])
        shape, _ = tile_type(op.types[-3])
        rows, columns = shape
        if at[-1] % tensor.channels + columns > tensor.channels:
            raise Fault(f"copies {columns} channels from {at[-1]} on, which are "
                        f"not of one head of {tensor.channels}")
        panels = [tensor.read(at[:-1] + [at[-1] + first], box)
                  for first in range(0, columns, box[-1])]
        values = np.concatenate([x.reshape(rows, -1) for x in panels], axis=1)
        self.machine.copy(Copy(agent, tile.slot, values,
                               self.pick(barriers, index),
                               rows * columns * BYTES[kind]))

    def _nagpu_tma_store(self, agent, op, args, env):
        raise AssertionError("no kernel stores by the TMA yet")

    def _nagpu_tma_add(self, agent, op, args, env):
        box, _ = tile_type(op.types[1])
        source, tensor, *at = args
        if len(at) > len(box) and not at.pop():
            agent.adds.append([])
            return
        slot = source.slot
        slot.check_read(agent)
        self.check_fence(slot)
        key = agent, agent.time
        slot.reading[key] = True
        agent.adds.append([(slot, key)])
        for first in range(0, slot.data.shape[1], box[-1]):
            tensor.add(at[:-1] + [at[-1] + first], box,
                       slot.data[:, first : first + box[-1]])

    def _nagpu_tma_store_wait(self, agent, op, args, env):
        count = max(len(agent.adds) - op.integer("pending"), 0)
        for slot, key in sum(agent.adds[:count], []):
            if slot.reading.pop(key, None):
                slot.read(agent)
        del agent.adds[:count]

    def _nagpu_proxy_fence(self, agent, op, args, env):
        agent.proxy_fence = agent.time

    # Products.
    def _nagpu_wgmma_fence(self, agent, op, args, env):
        agent.fence, agent.fenced = agent.time, True
        # The values were written before.
        return [Fragment(self.fragment(x), agent.time - 1) for x in args]

    def operand(self, agent, x):
        """The values of a shared tile or fragment that a product reads."""
        if isinstance(x, Tile):
            # What nobody has written is any number; the result may be dropped.
            if x.slot.written is not None:
                x.slot.check_read(agent)
            self.check_fence(x.slot)
            return x.data
        values = self.fragment(x)
        if x.time > agent.fence:
            raise Fault("a product reads registers that are written behind the "
                        "last nagpu.wgmma_fence")
        return values

    def _nagpu_wgmma(self, agent, op, args, env):
        if not agent.fenced:
            raise Fault("no nagpu.wgmma_fence before this group of products")
        lhs, rhs = (self.operand(agent, x) for x in args[:2])
        if re.search(r"\btransposed", op.attrs):
            rhs = rhs.T
        if "lhs_transposed" in op.attrs:
            lhs = lhs.T
        values = lhs @ rhs
        if len(args) == 3:
            acc = args[2]
            if isinstance(acc, Product):
                self.take(acc)
                values += acc.values
            else:
                values += self.operand(agent, acc)
        slots = [x.slot for x in args[:2] if isinstance(x, Tile)]
        key = agent, agent.time
        for slot in slots:
            slot.reading[key] = True
        product = Product(values, [(slot, key) for slot in slots], op.line)
        agent.open.append(product)
        return product

    def take(self, product):
        if product.gone:
            raise Fault(f"the product of line {product.line} is used again")
        product.gone = True

    def _nagpu_wgmma_commit(self, agent, op, args, env):
        agent.groups.append(agent.open)
        agent.open, agent.fenced = [], False

    def _nagpu_wgmma_wait(self, agent, op, args, env):
        count = max(len(agent.groups) - op.integer("pending"), 0)
        for group in agent.groups[:count]:
            for product in group:
                for slot, key in product.reads:
                    if slot.reading.pop(key, None):
                        slot.read(agent)
        del agent.groups[:count]
        flying = [x for group in agent.groups + [agent.open] for x in group]
        results = []
        for x in args:
            if isinstance(x, Product):
                self.take(x)
                if any(x is y for y in flying):
                    raise Fault(f"the product of line {x.line} is still in "
                                "flight behind this wait")
                x = Fragment(x.values, -1)
            results.append(x)
        return results

    # Fragments.
    def fragment(self, x):
        if isinstance(x, Product):
            raise Fault(f"reads the product of line {x.line}, for which nobody "
                        "has waited")
        assert isinstance(x, Fragment), x
        return x.values

    def _nagpu_splat(self, agent, op, args, env):
        shape, kind = tile_type(op.result_types[0])
        if "partial_row" in op.result_types[0] and args[0] != 0:
            raise Fault("a partial_row starts with another value than 0")
        shape = shape if len(shape) == 2 else (shape[0], 1)
        return Fragment(np.full(shape, args[0], scalars.DTYPES[kind]),
                        agent.time)

    def _nagpu_extract(self, agent, op, args, env):
        (_, columns), _ = tile_type(op.result_types[0])
        first = op.integer("column")
        return Fragment(self.fragment(args[0])[:, first : first + columns],
                        args[0].time)

    def _nagpu_convert(self, agent, op, args, env):
        # A partial_row is its sum over the lanes here.
        _, kind = tile_type(op.result_types[0])
        return Fragment(rounded(self.fragment(args[0]), kind), agent.time)

    def _nagpu_reduce(self, agent, op, args, env):
        values = self.fragment(args[0])
        reduce = [np.fmax.reduce, np.add.reduce][op.integer("kind")]
        return Fragment(reduce(values, axis=1, keepdims=True), agent.time)

    def _nagpu_mask(self, agent, op, args, env):
        scores, begin, *end = (self.fragment(x) for x in args)
        coordinate = np.indices(op.integers("box"))[op.integer("axis")]
        coordinate = coordinate.reshape(1, -1)
        end = end[0] if end else begin + op.integer("size")
        inside = (begin <= coordinate) & (coordinate < end)
        return Fragment(np.where(inside, scores, np.float32(-np.inf)),
                        agent.time)

    def _nagpu_mask_box(self, agent, op, args, env):
        scores, *bounds = (self.fragment(x) for x in args)
        axes = op.integers("axes")
        for axis, begin, end in zip(axes, bounds, bounds[len(axes):]):
            coordinate = np.indices(op.integers("box"))[axis].reshape(1, -1)
            inside = (begin <= coordinate) & (coordinate < end)
            scores = np.where(inside, scores, np.float32(-np.inf))
        return Fragment(scores, agent.time)

    def _nagpu_map(self, agent, op, args, env):
        body = op.regions[0]
        types = [t for t in op.types + op.result_types] + re.findall(
            r"over = (!nagpu\.fragment<[^>]*>)", op.attrs)
        shape = np.broadcast_shapes(*(extents(t) for t in types))
        env.update(zip(self.arguments.get(id(body), []),
                       (self.fragment(x) for x in args)))
        rows = np.arange(shape[0], dtype=np.int32)[:, None]
        columns = np.arange(shape[1], dtype=np.int32)[None]
        for inner in body:
            operands = [env[x] for x in inner.operands]
            if inner.name == "nagpu.yield":
                break
            if inner.name == "nagpu.index":
                results = [columns if inner.integer("dim") else rows]
            else:
                agent.line = inner.line
                results = self.execute(agent, inner, operands, env)
            env.update(zip(inner.results, results))
        out = []
        for x, kind in zip(operands, op.result_types):
            x = np.asarray(x, scalars.DTYPES[tile_type(kind)[1]])
            out.append(Fragment(np.broadcast_to(x, extents(kind)), agent.time))
        return out

    # What threads read of global memory by themselves: a bias.
    def _memref_collapse_shape(self, agent, op, args, env):
        # All dimensions become one.
        assert len(tile_type(op.result_types[0])[0]) == 1
        whole = args[0]
        return Global(whole.name, whole.values.reshape(-1), whole.kind)

    def _memref_load(self, agent, op, args, env):
        memref, *indices = args
        for index, size in zip(indices, memref.values.shape, strict=True):
            if (np.asarray(index) < 0).any() or (np.asarray(index) >= size).any():
                raise Fault(f"reads beyond {memref.name}")
        return memref.values[tuple(indices)]

    def _nagpu_store(self, agent, op, args, env):
        source, dest, batch, head, *at = args
        values = self.fragment(source)
        box, dilation = op.integers("box"), op.integers("dilation")
        rows = np.unravel_index(np.arange(len(values)), box)
        places = [x + i * d for x, i, d in zip(at, rows, dilation)]
        lengths = dest.values.shape[1 : 1 + len(at)]
        inside = np.ones(len(values), bool)
        for place, length in zip(places, lengths):
            inside &= (place >= 0) & (place < length)
        index = (batch, *(x[inside] for x in places), head)
        columns = "row," not in op.types[0]
        if columns:
            width = dest.values.shape[-1]
            values = values[:, :width]
            index += (slice(0, width),)
            assert values.shape[1] == width
        else:
            values = values[:, 0]
        if (dest.writes[index] > 0).any():
            raise Fault(f"writes elements of {dest.name} for the second time")
        dest.writes[index] = 1
        dest.values[index] = rounded(values[inside], dest.kind)


def read_box(values, at, box):
    """The box, with zeros where it lies outside."""
    out = np.zeros(box, np.float32)
    inner, outer = [], []
    for start, size, length in zip(at, box, values.shape):
        first, last = max(start, 0), min(start + size, length)
        if first >= last:
            return out
        outer.append(slice(first, last))
        inner.append(slice(first - start, last - start))
    out[tuple(inner)] = values[tuple(outer)]
    return out


class Module:
    def __init__(self, text):
        # Names of affine maps say nothing here.
        text = re.sub(r"^#map.*\n", "", text, flags=re.M)
        self.ops, self.arguments = parse(text)

    def find(self, kind, name):
        def search(ops):
            for op in ops:
                if op.name == kind and f'sym_name = "{name}"' in op.attrs:
                    return op
                for region in op.regions:
                    if found := search(region):
                        return found
            return None

        found = search(self.ops)
        assert found, f"no {kind} {name}"
        return found

    def run_kernel(self, name, args, blocks, order="round-robin"):
        """Runs some blocks, each (x, y, z), of a gpu.func."""
        body = self.find("gpu.func", name).regions[0]
        for block in blocks:
            env = dict(zip(self.arguments[id(body)], args))
            self.run_block(body, env, block, order)

    def run_block(self, body, env, block, order):
        machine = Kernel(self, Order(order), block)
        try:
            with np.errstate(all="ignore"):
                machine.run(body, env)
        except Fault as fault:
            raise Fault(f"block {block}, {order}: {fault}") from None

    def run_host(self, name, args, choose):
        """Runs a function of the host; `choose` gives the blocks of each launch,
        as (number, order), from the number of all."""
        body = self.find("func.func", name).regions[0]
        host = Host(self, choose)
        env = dict(zip(self.arguments[id(body)], args))
        host.run(body, env)


class Kernel(Block):
    def __init__(self, module, order, block):
        super().__init__(module, order)
        self.number = block

    def _gpu_block_id(self, agent, op, args, env):
        return self.number["xyz".index(re.search(r"#gpu<dim (\w)>", op.attrs)[1])]


class Host(Block):
    """A function of the host, whose blocks run one by one."""

    def __init__(self, module, choose):
        super().__init__(module, None)
        self.module, self.choose = module, choose

    def _nagpu_tensor_map(self, agent, op, args, env):
        dilated = "dilation" in op.attrs
        return Map(args[0], op.integers("dilation") if dilated else ())

    def _nagpu_multiprocessors(self, agent, op, args, env):
        # Few, so that a CTA of a persistent grid has several items.
        return 3

    def _memref_assume_alignment(self, agent, op, args, env):
        return args[0] if op.results else None

    def _memref_expand_shape(self, agent, op, args, env):
        return args[0].reshaped(tile_type(op.result_types[0])[0])

    # A workspace, and what is made of it.
    def _memref_alloc(self, agent, op, args, env):
        shape, kind = tile_type(op.result_types[0])
        return Global(op.results[0], np.full(shape, np.nan), kind)

    def _memref_dealloc(self, agent, op, args, env):
        pass

    def _linalg_fill(self, agent, op, args, env):
        args[1].values[:] = args[0]

    def _linalg_generic(self, agent, op, args, env):
        """Of elements, one by one."""
        body, dest = op.regions[0], args[-1]
        env.update(zip(self.arguments[id(body)], (x.values for x in args)))
        for inner in body:
            operands = [env[x] for x in inner.operands]
            if inner.name == "linalg.yield":
                break
            env.update(zip(inner.results,
                           self.execute(agent, inner, operands, env)))
        dest.values[:] = rounded(operands[0], dest.kind)
        dest.writes[:] = 1

    def _memref_dim(self, agent, op, args, env):
        return args[0].values.shape[args[1]]

    def _gpu_launch(self, agent, op, args, env):
        grid, threads = args[:3], args[3:6]
        body = op.regions[0]
        names = self.arguments[id(body)]
        for number, order in self.choose(int(np.prod(grid))):
            block = (number % grid[0], number // grid[0] % grid[1],
                     number // grid[0] // grid[1])
            inner = dict(env)
            inner.update(zip(names, (*block, *[Unknown("thread")] * 3, *grid,
                                     *threads)))
            self.module.run_block(body, inner, block, order)
