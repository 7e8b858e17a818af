# Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that look at a call: its programs, its schedules, its time."""

from __future__ import annotations

import functools
import inspect
import json
import re
import time
from dataclasses import asdict, dataclass
from typing import Any, Callable, Dict, Optional, Sequence, Tuple, TypeVar, Union

from . import _library, _numpy
from ._attention import import_arrays, is_tensor, neighborhood_attention
from ._problem import ARRAYS, Problem, integer, integers
from ._programs import Target, get_program

T = TypeVar("T")


class Call:
    """The arguments of a call of neighborhood_attention."""

    def __init__(
        self,
        q: Any,
        k: Any,
        v: Any,
        window: Any,
        stride: Any,
        dilation: Any,
        causal: Any,
        scale: Any,
        additional_keys: Any,
        additional_values: Any,
        bias: Any,
        return_lse: bool,
        deterministic: bool,
        mode: str,
        f32_math: str,
    ):
        arrays = (q, k, v, additional_keys, additional_values, bias)
        self.arrays, self.tensors = import_arrays(arrays)
        self.mode, self.f32_math = mode, f32_math
        parameters = (window, stride, dilation, causal, scale, bool(return_lse))
        if self.tensors:
            from . import _tensors

            self.problem: Problem = _tensors.make(self.arrays, parameters)
            self._own = _tensors.target_of(self.arrays[0], mode, f32_math)
            self._usable: Callable[[Any], Any] = _tensors.usable
        else:
            self.problem = _numpy.make(self.arrays, parameters)
            self._own = Target(mode=mode, f32_math=f32_math)
            self._usable = _numpy.usable

    def target(self, chip: Optional[str]) -> Target:
        if chip is None:
            return self._own
        return Target(cuda=True, chip=chip, mode=self.mode, f32_math=self.f32_math)

    def program(self, chip: Optional[str]) -> _library.Program:
        return get_program(self.problem, self.target(chip))

    def copied(self) -> Sequence[str]:
        """The arrays that a call copies because compiled code cannot read them in place."""
        return [
            name
            for name, array in zip(ARRAYS, self.arrays)
            if array is not None and self._usable(array) is not array
        ]


_SIGNATURE = inspect.signature(neighborhood_attention)


def _of_a_call(function: Callable[..., T]) -> Callable[..., T]:
    """A function that takes the arguments of neighborhood_attention in place of its first one, the
    call."""
    own = list(inspect.signature(function).parameters.values())[1:]

    @functools.wraps(function)
    def wrapper(*arguments: Any, **keywords: Any) -> T:
        mine = {p.name: keywords.pop(p.name) for p in own if p.name in keywords}
        bound = _SIGNATURE.bind(*arguments, **keywords)
        bound.apply_defaults()
        return function(Call(**bound.arguments), **mine)

    parameters = [*_SIGNATURE.parameters.values(), *own]
    wrapper.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        parameters, return_annotation=inspect.signature(function).return_annotation
    )
    wrapper.__doc__ = (function.__doc__ or "") + (
        "\n\n    Takes the arguments of `neighborhood_attention`, and by name those above."
    )
    return wrapper


@_of_a_call
def mlir(call: Call, *, stage: str = "source", chip: Optional[str] = None) -> str:
    """The MLIR of a call: at `stage` "source", "schedule" (with a schedule) or "lowered" (after all
    passes). For the device of the arrays, or the GPU `chip`, which need not be there."""
    if stage not in ("source", "schedule", "lowered"):
        raise ValueError(f"stage: {stage!r} is not one of 'source', 'schedule', 'lowered'")
    return call.program(chip).text(stage)


@_of_a_call
def ptx(call: Call, *, chip: Optional[str] = None) -> str:
    """The PTX of a call: for the GPU of the arrays, or for `chip` ("sm_90", ..), which need not be
    there. Arrays on the CPU need `chip`."""
    q = call.arrays[0]
    if chip is None and not (is_tensor(q) and q.device.type == "cuda"):
        raise ValueError("chip: None, but q is not on a GPU; give one, such as 'sm_90'")
    return call.program(chip).text("ptx")


@_of_a_call
def explain(
    call: Call,
    *,
    chip: Optional[str] = None,
    candidates: int = 5,
    query_tile: Optional[Sequence[int]] = None,
    form: str = "text",
) -> Union[str, Dict[str, Any]]:
    """What a call is compiled to, and why: target, schedule, remarks, copies, compile time, and the
    ranking of the cost model with the key tiles that a query tile visits.

    For the device of the arrays, or the GPU `chip`, which need not be there. `candidates` schedules
    are listed; `query_tile` has the index on each axis of the tile that is drawn. `form`: "text",
    "json" (a dictionary: the ranking alone, nothing is compiled) or "svg" (the picture alone)."""
    if form not in _library.FORMS:
        raise ValueError(f"form: {form!r} is not one of 'text', 'json', 'svg'")
    candidates = integer("candidates", candidates, 0 if form == "text" else 1)
    if form != "text":
        if call.mode != "fused":
            raise ValueError(f"mode: {call.mode!r} has no ranking of schedules; 'fused' has one")
        return explain_problem(call.problem, call.target(chip), candidates, query_tile, form)
    problem, program = call.problem, call.program(chip)
    lines = [
        ("problem", str(problem)),
        ("target", f"{program.text('chip')}, {call.mode}"),
    ]
    if call.mode == "fused":
        schedule = re.search(r"#na\.schedule<(.*?)>", program.text("schedule"))
        lines.append(("schedule", schedule.group(1) if schedule else "none"))
    lines.append(("copied", ", ".join(call.copied()) or "nothing"))
    for remark in filter(None, program.text("remarks").split("\n")):
        lines.append(("remark", remark))
    lines.append(("compile", program.text("times")))
    text = "\n".join(f"{name:<10}{text}" for name, text in lines)
    if call.mode == "fused" and candidates > 0:
        ranking = explain_problem(problem, call.target(chip), candidates, query_tile, "text")
        # The problem is there already.
        text += "\n\n" + str(ranking).split("\n", 2)[2].rstrip("\n")
    return text


def explain_problem(
    problem: Problem,
    target: Target,
    candidates: int = 5,
    query_tile: Optional[Sequence[int]] = None,
    form: str = "json",
) -> Union[str, Dict[str, Any]]:
    """The ranking of a problem, without arrays."""
    rank = len(problem.tokens)
    if query_tile is not None:
        query_tile = integers("query_tile", query_tile, rank)
        for axis, index in enumerate(query_tile):
            integer(f"query_tile, axis {axis}", index, 0)
    text = _library.explain_problem(
        problem.struct(), target.struct(), candidates, query_tile, form, f" [{problem}]"
    )
    return json.loads(text) if form == "json" else text


@dataclass(frozen=True)
class Benchmark:
    """The times of a call, in seconds."""

    problem: str
    target: str
    mode: str
    times: Tuple[float, ...]
    # The first call in this measurement: it compiles what is not in the cache.
    first_call: float
    # Floating-point operations that the windows need.
    flop: float
    # What the cost model expects; None where it says nothing about the mode.
    predicted: Optional[float]

    @property
    def median(self) -> float:
        # Here, as its import takes a fifth of that of the package.
        import statistics

        return statistics.median(self.times)

    @property
    def fastest(self) -> float:
        return min(self.times)

    @property
    def flop_per_s(self) -> float:
        return self.flop / self.median

    def as_dict(self) -> Dict[str, Any]:
        return {
            **asdict(self),
            "median": self.median,
            "fastest": self.fastest,
            "flop_per_s": self.flop_per_s,
        }

    def __str__(self) -> str:
        return (
            f"{self.problem}\n{self.target}, {self.mode}: median {self.median * 1e3:.4g} ms, "
            f"fastest {self.fastest * 1e3:.4g} ms of {len(self.times)} runs, "
            f"{self.flop_per_s * 1e-9:.4g} GFLOP/s"
        )


def _time_on_gpu(call: Callable[[], Any], runs: int, cold: bool, device: Any) -> Tuple[float, ...]:
    import torch

    times = []
    with torch.cuda.device(device):
        # Larger than the second-level caches.
        flush = torch.empty(256 << 20, dtype=torch.uint8, device=device) if cold else None
        torch.cuda.synchronize(device)
        start = time.perf_counter()
        call()
        # The GPU spins for longer than the host needs to queue the kernels: their launches are
        # not what is measured. Its clock is below 2 GHz.
        cycles = int(2e9 * min(2 * (time.perf_counter() - start), 5e-3))
        for _ in range(runs):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            if flush is not None:
                flush.zero_()
            torch.cuda._sleep(cycles)
            begin.record()
            call()
            end.record()
            end.synchronize()
            times.append(1e-3 * begin.elapsed_time(end))
    return tuple(times)


def _time_on_host(call: Callable[[], Any], runs: int) -> Tuple[float, ...]:
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return tuple(times)


@_of_a_call
def benchmark(
    call: Call, *, runs: int = 20, warm_up: int = 3, cold: bool = True
) -> Benchmark:
    """Times `runs` calls after `warm_up` others: on a GPU by events on the current stream, with the
    caches flushed before each run if `cold`; on the CPU by a clock around the call."""
    runs, warm_up = integer("runs", runs, 1), integer("warm_up", warm_up, 0)
    problem = call.problem
    q, k, v, additional_keys, additional_values, bias = call.arrays

    def run() -> Any:
        return neighborhood_attention(
            q, k, v, problem.window, problem.stride, problem.dilation, problem.causal,
            problem.scale, additional_keys, additional_values, bias, problem.lse, mode=call.mode,
            f32_math=call.f32_math,
        )

    on_gpu = is_tensor(q) and q.device.type == "cuda"
    begin = time.perf_counter()
    run()
    if on_gpu:
        import torch

        torch.cuda.synchronize(q.device)
    first = time.perf_counter() - begin
    for _ in range(warm_up):
        run()
    times = _time_on_gpu(run, runs, cold, q.device) if on_gpu else _time_on_host(run, runs)
    fused = Target(
        cuda=call.target(None).cuda, device=call.target(None).device, f32_math=call.f32_math
    )
    ranking = explain_problem(problem, fused, 1)
    assert isinstance(ranking, dict)
    best = ranking["candidates"]
    predicted = best[0]["prediction"]["seconds"] if best and call.mode == "fused" else None
    if not on_gpu and predicted is not None:
        predicted /= _library.library().naGetNumThreads()
    target = "CPU" if not on_gpu else ranking["target"]
    return Benchmark(
        str(problem), target, call.mode, times, first, ranking["flop"], predicted
    )
