# The part of a CTA of Hopper that warpgroups share: barriers, tiles and
# mailboxes in shared memory, the TMA, and a scheduler of agents (a producer's
# thread, a consumer warpgroup) that takes turns in a chosen order.
#
# Races are found by what happens before what, not by luck of the order. Each
# agent has a clock, a dictionary from
#   the number of an agent -> how much of its work is known to be done,
#   (barrier, slot) -> how many phases are known to have ended.
# An arrival gives the agent's clock to the barrier, and the end of the phase
# hands the clocks of all its arrivals to those who wait. A tile may be read if
# the reader's clock holds the phase that the copy was counted in, and
# overwritten if the writer's holds the ends of all reads.

import numpy as np


class Fault(Exception):
    """What a kernel does wrong."""


def join(clock, other):
    for key, value in other.items():
        if clock.get(key, 0) < value:
            clock[key] = value


class Wait:
    """What an agent waits for; `ready` may raise a fault."""

    def __init__(self, ready, text):
        self.ready, self.text = ready, text


class Barrier:
    """One mbarrier."""

    def __init__(self, name, slot, arrivals):
        self.name, self.slot, self.arrivals = name, slot, arrivals
        self.phase = 0
        self.pending, self.bytes = arrivals, 0
        # Of the bytes, those of copies on their way.
        self.flying = 0
        # Of the arrivals of this phase, and of all phases that have ended.
        self.coming, self.ended = {}, {}

    @property
    def key(self):
        return self.name, self.slot

    def __str__(self):
        return f"barrier {self.name} slot {self.slot}"

    def state(self):
        return (f"phase {self.phase} lacks {self.pending} of {self.arrivals} "
                f"arrivals and {self.bytes} bytes")

    def arrive(self, agent, count, announced=0):
        if count > self.pending:
            raise Fault(f"{count} arrivals at {self}, {self.state()}")
        join(self.coming, agent.clock)
        # What the agent does from here on is not covered by this arrival.
        agent.clock[agent.number] += 1
        self.bytes += announced
        self.pending -= count
        self.advance()

    def start(self, count):
        if self.flying + count > self.bytes:
            raise Fault(f"copies {count} bytes for {self}, {self.state()}, of "
                        f"which {self.flying} are on their way")
        self.flying += count

    def complete(self, count):
        self.bytes -= count
        self.flying -= count
        self.advance()

    def advance(self):
        if self.pending or self.bytes:
            return
        self.phase += 1
        self.pending = self.arrivals
        join(self.ended, self.coming)
        self.ended[self.key] = self.phase
        self.coming = {}

    def wait(self, agent, parity):
        """The wait of `agent` for the phase of this parity to end."""
        known = agent.clock.get(self.key, 0)
        # Either the next phase, or the last one of which the agent knows that
        # it has ended; -1 is the phase before the first.
        target = known if known % 2 == parity else known - 1

        def ready():
            if self.phase > target + 1:
                raise Fault(f"waits for parity {parity} of {self} to end phase "
                            f"{target}, but it is in phase {self.phase} already")
            return self.phase == target + 1

        return Wait(ready, lambda: f"{self} parity {parity}, {self.state()}")


class NamedBarrier:
    def __init__(self, number):
        self.number, self.threads, self.arrived = number, None, 0
        self.round, self.coming, self.ended = 0, {}, {}

    def arrive(self, agent, count, threads):
        if self.arrived and threads != self.threads:
            raise Fault(f"named barrier {self.number} of {threads} threads, of "
                        f"which others expect {self.threads}")
        self.threads = threads
        self.arrived += count
        if self.arrived > threads:
            raise Fault(f"{self.arrived} threads at named barrier "
                        f"{self.number} of {threads}")
        join(self.coming, agent.clock)
        agent.clock[agent.number] += 1
        here = self.round
        if self.arrived == threads:
            self.round += 1
            self.arrived = 0
            join(self.ended, self.coming)
            self.coming = {}
        return Wait(lambda: self.round > here, lambda: (
            f"named barrier {self.number}, {self.arrived} of {threads} threads"
            " are there"))


class Slot:
    """One tile of an allocation, or the words of a slot of a mailbox."""

    def __init__(self, name, number, data):
        self.name, self.number, self.data = name, number, data
        # (key, value) of the clock that knows of the last write.
        self.written = None
        # Agent number -> its time of the last read; (agent, its operation) of
        # products that may read until the agent waits for them.
        self.reads, self.reading = {}, {}
        # The agent whose threads stored what is there, and when.
        self.stored = None

    def __str__(self):
        return f"slot {self.number} of {self.name}"

    def check_read(self, agent):
        if self.written is None:
            raise Fault(f"reads {self}, which nobody has written")
        key, value = self.written
        if agent.clock.get(key, 0) < value:
            raise Fault(f"reads {self} without having waited for what is "
                        "written to it")

    def check_write(self, agent):
        for reader, _ in self.reading:
            raise Fault(f"overwrites {self}, which {reader} reads in a product "
                        "that it has not waited for")
        for number, (reader, time) in self.reads.items():
            if agent.clock.get(number, 0) < time:
                raise Fault(f"overwrites {self}, which {reader} may be reading")
        if self.written is not None:
            key, value = self.written
            if agent.clock.get(key, 0) < value:
                raise Fault(f"overwrites {self}, to which something else may "
                            "still be written")

    def read(self, agent):
        self.reads[agent.number] = agent, agent.clock[agent.number]

    def wrote(self, key, value):
        self.written = key, value
        self.reads, self.reading = {}, {}
        self.stored = None


class Copy:
    """A box on its way to a tile."""

    def __init__(self, agent, slot, values, barrier, count):
        self.slot, self.values = slot, values
        self.barrier, self.count = barrier, count
        self.phase = barrier.phase
        barrier.start(count)
        slot.check_write(agent)
        slot.data[:] = np.nan
        slot.wrote(barrier.key, barrier.phase + 1)

    def finish(self):
        self.slot.data[:] = self.values
        self.barrier.complete(self.count)


class LaneCopies(Copy):
    """What the 32 lanes of a producer copy, each of which arrives behind it."""

    def __init__(self, agent, copies, barrier):
        self.copies, self.barrier = copies, barrier
        self.slot = copies[0][0]
        self.phase = barrier.phase
        # An arrival gives what the agent knows now.
        self.agent = Agent(agent.number, agent.name, agent.warps)
        self.agent.clock = dict(agent.clock)
        agent.clock[agent.number] += 1
        for slot, _ in copies:
            slot.wrote(barrier.key, barrier.phase + 1)

    def finish(self):
        for slot, values in self.copies:
            slot.data[:] = values
        self.barrier.arrive(self.agent, 32)


class Agent:
    """A producer's thread or a consumer warpgroup."""

    def __init__(self, number, name, warps):
        self.number, self.name, self.warps = number, name, warps
        self.clock = {number: 1}
        self.steps, self.wait, self.done = None, None, False
        # Products that were started: groups in flight, the open group. Then
        # the same of copies by threads, as tiles.
        self.groups, self.open = [], []
        self.copies = []
        # Tiles that the TMA reads, in groups.
        self.adds = []
        self.proxy_fence = -1
        # Numbers of operations, to tell what is behind the last fence.
        self.time, self.fence, self.fenced = 0, -1, False
        self.line = None

    @property
    def producer(self):
        return self.warps == 0

    def __str__(self):
        return self.name


class Order:
    """Who goes next: chooses among agents that can go and copies."""

    def __init__(self, name):
        self.name = name
        kind, _, seed = name.partition(" ")
        self.choose = getattr(self, kind.replace("-", "_"))
        self.random = np.random.default_rng(int(seed or 0))
        self.last = -1

    def round_robin(self, agents, copies):
        if copies:
            return copies[0]
        following = [a for a in agents if a.number > self.last]
        agent = (following or agents)[0]
        self.last = agent.number
        return agent

    def producers_first(self, agents, copies):
        """Copies take as long as they can."""
        return (agents + copies)[0]

    def consumers_first(self, agents, copies):
        """And the last copy is the first to complete."""
        consumers = [a for a in agents if not a.producer]
        return (consumers + agents + copies[::-1])[0]

    def last_consumer_first(self, agents, copies):
        return (copies + agents[::-1])[0]

    def shuffled(self, agents, copies):
        choices = agents + copies
        return choices[self.random.integers(len(choices))]


ORDERS = ["round-robin", "producers-first", "consumers-first",
          "last-consumer-first", "shuffled 1", "shuffled 2"]


class Machine:
    """What one CTA shares."""

    def __init__(self):
        self.barriers, self.named = [], {}
        # In flight, and all that were ever started.
        self.copies, self.started = [], []
        self.extents = []

    def copy(self, copy):
        self.copies.append(copy)
        self.started.append(copy)

    def place(self, name, offset, size):
        """Memory that a pass has placed must not lie in other memory."""
        if offset < 0:
            return
        for other, start, end in self.extents:
            if offset < end and start < offset + size:
                raise Fault(f"{name} at byte {offset} overlaps {other}")
        self.extents.append((name, offset, offset + size))

    def run(self, agents, order):
        """Lets all agents go until they are done."""
        while True:
            able = [a for a in agents if not a.done and self.able(a)]
            if not able and not self.copies:
                break
            choice = order.choose(able, self.copies)
            if isinstance(choice, Copy):
                self.copies.remove(choice)
                choice.finish()
                continue
            try:
                choice.wait = next(choice.steps)
            except StopIteration:
                choice.done = True
            except Fault as fault:
                raise self.located(choice, fault) from None
        stuck = [f"{a} waits for {a.wait.text()} (line {a.line})"
                 for a in agents if not a.done]
        if stuck:
            raise Fault("deadlock: " + "; ".join(stuck))
        self.check_end(agents)

    def able(self, agent):
        try:
            return agent.wait is None or agent.wait.ready()
        except Fault as fault:
            raise self.located(agent, fault) from None

    def located(self, agent, fault):
        return Fault(f"{agent} (line {agent.line}): {fault}")

    def check_end(self, agents):
        """Nothing is in flight, whoever is last."""
        known = {}
        for agent in agents:
            join(known, agent.clock)
            if agent.groups or agent.open:
                raise Fault(f"{agent} ends with products in flight")
            if sum(agent.adds, []):
                raise Fault(f"{agent} ends while the TMA reads its tiles")
        for barrier in self.barriers:
            if barrier.bytes:
                raise Fault(f"the kernel ends, but at {barrier} {barrier.state()}")
        for copy in self.started:
            if known.get(copy.barrier.key, 0) <= copy.phase:
                raise Fault(f"the kernel ends, but nobody has waited for the copy "
                            f"to {copy.slot} to end")
