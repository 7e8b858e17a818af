# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times calls on a GPU by events, or on the CPU by a steady clock.

Caches are flushed before each run. Two regimes: "cool" pauses for 10 ms before
each run, "sustained" runs back to back after a warm-up, so that the clock has
settled at the power limit.
"""

import statistics
import time

REGIMES = ("cool", "sustained")
PAUSE_S = 0.010
WARM_UP_S = 0.3


def run_count(seconds, runs, budget):
    """Fewer runs where they would take longer than the budget; at least 3."""
    return max(3, min(runs, int(budget / max(seconds, 1e-9))))


class GpuClock:
    def __init__(self, torch, device):
        self.torch, self.device = torch, device
        cache = torch.cuda.get_device_properties(device).L2_cache_size
        self.flushed = torch.empty(max(4 * cache, 256 << 20), dtype=torch.uint8,
                                   device=device)

    def estimate(self, call):
        """Seconds of one call, after a first one."""
        call()
        return self._runs(call, 1, pause=0, hide=0)[0]

    def measure(self, call, regime, runs, budget):
        """Seconds of each run."""
        torch = self.torch
        call()
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        queued = time.perf_counter() - start
        torch.cuda.synchronize()
        total = time.perf_counter() - start
        # A spinning kernel keeps the GPU busy while the host queues the call's
        # kernels: their launches are not what is measured. The clock is below
        # 2 GHz, so that this spins for longer than the host needs.
        hide = int(2e9 * min(1.5 * queued, 5e-3))
        runs = run_count(total, runs, budget)
        if regime == "cool":
            return self._runs(call, runs + 2, PAUSE_S, hide)[2:]
        warm = run_count(total, 1000, min(WARM_UP_S, budget))
        for _ in range(0, warm, 10):
            self._runs(call, min(warm, 10), 0, 0)
        return self._runs(call, runs, 0, hide)

    def _runs(self, call, runs, pause, hide):
        torch = self.torch
        events = []
        for _ in range(runs):
            if pause:
                torch.cuda.synchronize()
                time.sleep(pause)
            pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            self.flushed.zero_()
            if hide:
                torch.cuda._sleep(hide)
            pair[0].record()
            call()
            pair[1].record()
            events.append(pair)
        torch.cuda.synchronize()
        return [a.elapsed_time(b) * 1e-3 for a, b in events]


class CpuClock:
    def estimate(self, call):
        call()
        return self._runs(call, 1, 0)[0]

    def measure(self, call, regime, runs, budget):
        runs = run_count(self.estimate(call), runs, budget)
        return self._runs(call, runs, PAUSE_S if regime == "cool" else 0)

    def _runs(self, call, runs, pause):
        times = []
        for _ in range(runs):
            time.sleep(pause)
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        return times


def measure_rates(torch, clock, device, dtypes, small=False):
    """Matrix products per dtype (FLOP/s) and copies (bytes/s), read + write."""
    size = 512 if small else 8192
    rates = {"matmul": {}, "copy": {}}
    for name, dtype in dtypes.items():
        a, b = (torch.randn(size, size, device=device).to(dtype)
                for _ in range(2))
        out = torch.empty_like(a)
        rates["matmul"][name] = {
            regime: 2 * size**3 / statistics.median(clock.measure(
                lambda: torch.matmul(a, b, out=out), regime, 20, 2))
            for regime in REGIMES}
    count = 1 << (20 if small else 30)
    source = torch.zeros(count, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    for regime in REGIMES:
        rates["copy"][regime] = 2 * count / statistics.median(clock.measure(
            lambda: target.copy_(source), regime, 20, 2))
    return rates
