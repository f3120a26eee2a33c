"""How a race is run: answers are compared first, then the contenders take turns and medians are kept."""

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
from benchmarks.peers import Contender, NotAvailable, compiled
from benchmarks.robots import draw, robot

import linkwork as lw
from linkwork.spatial.scalar import Array

AGREE = 1e-8  # of the largest number of a state's answer
ROOT = Path(__file__).parent.parent
Entry = Callable[[], Contender]  # raises NotAvailable


class Effort(NamedTuple):
    """How long to measure: turns from `short` to `long` [s], a row of about `row` [s] with `least` to `most` turns."""

    short: float
    long: float
    row: float
    least: int
    most: int


FULL, QUICK = Effort(0.02, 1.0, 3.0, 5, 31), Effort(0.002, 0.002, 0.0, 3, 3)


@dataclass(frozen=True)
class Timing:
    """Times of one contender in the row's unit: median, quartiles and best, and how often it was measured."""

    name: str
    best: float
    median: float
    low: float
    high: float
    turns: int
    calls_per_turn: int

    @classmethod
    def of(cls, name: str, times: Sequence[float], calls: int = 1) -> Timing:
        """From the times of all turns."""
        best, low, median, high = (float(x) for x in np.percentile(times, (0, 25, 50, 75)))
        return cls(name, best, median, low, high, len(times), calls)

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, as a part of the median."""
        return (self.high - self.low) / (2.0 * self.median)


@dataclass
class Row:
    """One comparison. `status` is "ok", "not available", "answers differ" or "failed"; only "ok" has a ratio."""

    name: str
    unit: str
    size: dict[str, int] = field(default_factory=dict)
    status: str = "ok"
    note: str = ""
    disagreement: float | None = None
    linkwork: Timing | None = None
    peer: Timing | None = None
    accuracy: dict[str, dict[str, float]] = field(default_factory=dict)  # by side, where answers differ by nature

    @property
    def ratio(self) -> float | None:
        """The peer's median over linkwork's: above one, linkwork is faster."""
        return self.peer.median / self.linkwork.median if self.status == "ok" and self.linkwork and self.peer else None

    def record(self) -> dict[str, Any]:
        """The row as it is written to JSON."""
        agreed = self.disagreement if self.disagreement is not None and math.isfinite(self.disagreement) else None
        return asdict(self) | {"disagreement": agreed, "ratio": self.ratio}


def disagreement(ours: Array, theirs: Array) -> float:
    """The largest difference in any state, as a part of the largest number of that state's answer (or matrix)."""
    if ours.shape != theirs.shape:
        raise ValueError(f"answers of shapes {ours.shape} and {theirs.shape} cannot be compared")
    axes = (-1,) if ours.ndim < 3 else (-2, -1)
    return float(np.max(np.abs(ours - theirs).max(axes) / np.abs(theirs).max(axes)))


def compare(row: Row, ours: Entry, theirs: Entry, work: float, effort: Effort) -> None:
    """Fill in the row. `work` divides the time of a call [us]; who is not available leaves the other to run alone."""
    present = available(row, ours, theirs)
    if not present:
        return
    if len(present) == 2:
        row.disagreement = disagreement(*(contender.read(contender.call()) for contender in present.values()))
        if not row.disagreement < AGREE:
            row.status, row.note = "answers differ", f"by {row.disagreement:.1e} of the largest number; not timed"
            return
    keep_times(row, present, work, effort)


def available(row: Row, ours: Entry, theirs: Entry) -> dict[str, Contender]:
    """The contenders by side; the row says who is missing, and why."""
    present: dict[str, Contender] = {}
    for side, make in (("linkwork", ours), ("peer", theirs)):
        try:
            present[side] = make()
        except NotAvailable as reason:
            row.status, row.note = "not available", str(reason)
    return present


def keep_times(row: Row, present: dict[str, Contender], work: float, effort: Effort) -> None:
    """Race whoever is present and keep their times in the row."""
    for side, timing in zip(present, race(list(present.values()), work, effort), strict=True):
        setattr(row, side, timing)


def race(contenders: list[Contender], work: float, effort: Effort) -> list[Timing]:
    """Time the contenders in turns, each turn in the opposite order.

    A turn lasts as long for the quick as for the slow, in more calls: other work on the machine, which comes in slices,
    would spare short turns and so favour the quick.
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


# --- the time until the first answer, each in a process of its own ---


def first_answer(name: str, target: str) -> None:
    """Print the seconds that `compile` and the first forward dynamics of a robot take in this process."""
    m = robot(name).m
    s = draw(m, 1)
    start = time.perf_counter()
    compiled(m, target, 1).forward_dynamics(s.q[0], s.v[0], s.tau[0])
    print(time.perf_counter() - start)


def compare_compile(row: Row, name: str, target: str, repeats: int) -> None:
    """Time the first answer with an empty cache (as the peer) and again with what that left there (as linkwork)."""
    cold, warm = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            for times in (cold, warm):
                times.append(_fresh_process(name, target, cache))
    row.peer = Timing.of("linkwork, cache empty", cold)
    row.linkwork = Timing.of("linkwork, cache filled", warm)


def _fresh_process(name: str, target: str, cache: str) -> float:
    script = f"from benchmarks.measure import first_answer; first_answer({name!r}, {target!r})"
    environment = os.environ | {"LINKWORK_CACHE_DIR": cache}
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        last = ran.stderr.strip().splitlines()[-1]
        refused = last.startswith(lw.LinkworkError.__module__)
        raise NotAvailable(f"linkwork: {last.partition(': ')[2]}") if refused else RuntimeError(last)
    return float(ran.stdout)
