"""Timing of benchmarks: compares the results of two contenders, then times them in alternating turns."""

from __future__ import annotations

import gc
import math
import os
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.peer_libraries import Contender, NotAvailable, compiled
from benchmarks.robots import draw, robot

import linkwork as lw
from linkwork.spatial.scalar import Array

AGREE = 1e-8  # largest accepted difference, relative to the largest number in the result of a state
ROOT = Path(__file__).parent.parent
Entry = Callable[[], Contender]  # raises NotAvailable


class Effort(NamedTuple):
    """How long to measure: turns of `short` to `long` [s], about `row` [s] per row, with `least` to `most` turns."""

    short: float
    long: float
    row: float
    least: int
    most: int


FULL, QUICK = Effort(0.02, 1.0, 3.0, 5, 31), Effort(0.002, 0.002, 0.0, 3, 3)


@dataclass(frozen=True)
class Timing:
    """Measured times of one contender in the row's unit: best, median, quartiles `low` and `high`, number of turns."""

    name: str
    best: float
    median: float
    low: float
    high: float
    turns: int
    calls_per_turn: int

    @classmethod
    def of(cls, name: str, times: Sequence[float], calls: int = 1) -> Timing:
        """Return the statistics of the times of all turns."""
        best, low, median, high = (float(x) for x in np.percentile(times, (0, 25, 50, 75)))
        return cls(name, best, median, low, high, len(times), calls)

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles of the time, relative to the median."""
        return (self.high - self.low) / (2.0 * self.median)


@dataclass
class Row:
    """Result of one benchmark, a row of the table. Only a row with the status "ok" has a ratio.

    `status` is "ok", "not available", "answers differ" or "failed".
    """

    name: str
    unit: str
    size: dict[str, int] = field(default_factory=dict)
    status: str = "ok"
    note: str = ""
    disagreement: float | None = None
    linkwork: Timing | None = None
    peer: Timing | None = None
    accuracy: dict[str, dict[str, float]] = field(default_factory=dict)  # errors by side, if results must differ

    @property
    def ratio(self) -> float | None:
        """Median time of the peer divided by that of linkwork: above 1, linkwork is faster."""
        return self.peer.median / self.linkwork.median if self.status == "ok" and self.linkwork and self.peer else None

    def record(self) -> dict[str, Any]:
        """Return the benchmark result as a dict for JSON."""
        agreed = self.disagreement if self.disagreement is not None and math.isfinite(self.disagreement) else None
        return asdict(self) | {"disagreement": agreed, "ratio": self.ratio}


def disagreement(ours: Array, theirs: Array) -> float:
    """Return the largest relative difference between the results of linkwork and of the peer in any state.

    The difference is relative to the largest number in the result (or matrix) of that state.
    """
    if ours.shape != theirs.shape:
        raise ValueError(f"results must have equal shapes; got {ours.shape} and {theirs.shape}")
    axes = (-1,) if ours.ndim < 3 else (-2, -1)
    return float(np.max(np.abs(ours - theirs).max(axes) / np.abs(theirs).max(axes)))


def compare(row: Row, ours: Entry, theirs: Entry, work: float, effort: Effort) -> None:
    """Compare results and times of linkwork and the peer, and fill the row.

    If one side is not available, the other is timed alone. The time of a call [us] is divided by `work`, such as the
    number of states.
    """
    present = available(row, ours, theirs)
    if not present:
        return
    if len(present) == 2:
        row.disagreement = disagreement(*(contender.read(contender.call()) for contender in present.values()))
        if not row.disagreement < AGREE:
            row.status, row.note = "answers differ", f"relative difference {row.disagreement:.1e}; not timed"
            return
    keep_times(row, present, work, effort)


def available(row: Row, ours: Entry, theirs: Entry) -> dict[str, Contender]:
    """Return the contenders that can run, by side; the row notes why a contender is not available."""
    present: dict[str, Contender] = {}
    for side, make in (("linkwork", ours), ("peer", theirs)):
        try:
            present[side] = make()
        except NotAvailable as reason:
            row.status, row.note = "not available", str(reason)
    return present


def keep_times(row: Row, present: dict[str, Contender], work: float, effort: Effort) -> None:
    """Time the available contenders and store their times in the row."""
    for side, timing in zip(present, race(list(present.values()), work, effort), strict=True):
        setattr(row, side, timing)


def race(contenders: list[Contender], work: float, effort: Effort) -> list[Timing]:
    """Time the contenders in alternating turns; each turn reverses their order.

    Turns have the same duration for fast and slow contenders; the fast one makes more calls. Short turns would often
    escape interruptions by other processes, which would favour the fast contender.
    """
    timers = [timeit.Timer(contender.call) for contender in contenders]
    once = [min(timer.repeat(2, 1)) for timer in timers]
    length = min(max(effort.short, *once), effort.long)
    calls = [max(1, round(length / t)) for t in once]
    lap = sum(t * n for t, n in zip(once, calls, strict=True))
    turns = int(np.clip(effort.row / lap, effort.least, effort.most))
    times: list[list[float]] = [[] for _ in contenders]
    for turn in range(turns):
        for k in range(len(contenders))[:: 1 if turn % 2 else -1]:
            gc.collect()
            times[k].append(timers[k].timeit(calls[k]) / calls[k] / work * 1e6)
    return [Timing.of(c.name, t, n) for c, t, n in zip(contenders, times, calls, strict=True)]


# --- time until the first result, each in a separate process ---


def first_answer(name: str, target: str) -> None:
    """Print the time [s] of `compile` and the first forward dynamics of a robot in this process."""
    m = robot(name).m
    s = draw(m, 1)
    start = time.perf_counter()
    compiled(m, target, 1).forward_dynamics(s.q[0], s.v[0], s.tau[0])
    print(time.perf_counter() - start)


def compare_compile(row: Row, name: str, target: str, repetitions: int) -> None:
    """Time the first result with an empty cache (shown as the peer), then with the filled cache (as linkwork)."""
    cold, warm = [], []
    for _ in range(repetitions):
        with tempfile.TemporaryDirectory() as cache:
            for times in (cold, warm):
                times.append(_fresh_process(name, target, cache))
    row.peer = Timing.of("linkwork, cache empty", cold)
    row.linkwork = Timing.of("linkwork, cache filled", warm)


def _fresh_process(name: str, target: str, cache: str) -> float:
    script = f"from benchmarks.timing import first_answer; first_answer({name!r}, {target!r})"
    environment = os.environ | {"LINKWORK_CACHE_DIR": cache}
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        last = ran.stderr.strip().splitlines()[-1]
        refused = last.startswith(lw.LinkworkError.__module__)
        raise NotAvailable(f"linkwork: {last.partition(': ')[2]}") if refused else RuntimeError(last)
    return float(ran.stdout)
