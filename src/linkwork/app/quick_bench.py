"""What `linkwork bench` does: the repository's benchmarks where they are at hand, else a short look at the examples."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from timeit import repeat
from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

import linkwork as lw

STATES = 1000  # of a batch
MEMBERS, STEPS, STEP = 256, 50, 1e-3  # of a rollout, its step [s]
TURNS = 5  # of which the median is told


def bench(console: Console, arguments: Sequence[str]) -> int:
    """Run the repository's benchmarks with these arguments, or measure the examples; gives the exit code."""
    if not _repository_has_benchmarks():
        if arguments:
            raise lw.LinkworkError(
                f"arguments are for the benchmarks of the repository, which are not at hand here; got {arguments[0]!r}"
            )
        console.print(measured())
        return 0
    before = sys.argv
    sys.argv = ["benchmarks", *arguments]
    try:
        runpy.run_module("benchmarks", run_name="__main__")
    except SystemExit as ended:
        return int(ended.code or 0)
    finally:
        sys.argv = before
    return 0


def _repository_has_benchmarks() -> bool:
    """Whether `benchmarks` can be imported and is the one that belongs to linkwork."""
    spec = find_spec("benchmarks")
    places = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    return any((place / "robots.py").is_file() and (place / "peers.py").is_file() for place in places)


def measured() -> Table:
    """Times of forward dynamics and of whole runs of every example, in machine code on this machine."""
    columns = ("example", "freedoms", "one state, us", f"each of {STATES}, us", f"rk4 steps/s, {MEMBERS} members")
    table = Table(*columns, box=SIMPLE, title="forward dynamics and runs, medians", title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for example in lw.examples():
        m = example.build()
        once, each, rate = times(m)
        table.add_row(example.name, str(m.nv), f"{once * 1e6:.2f}", f"{each * 1e6:.3f}", f"{rate:.3g}")
    return table


def times(m: lw.Mechanism) -> tuple[float, float, float]:
    """Seconds of one call, seconds of each state of a batch, and steps of runs per second."""
    rng = np.random.default_rng(0)
    q = np.array([m.random(rng) for _ in range(STATES)])
    v, tau, d = rng.normal(size=(STATES, m.nv)), np.zeros(m.nv), lw.compile(m)
    if m.frame_constraints:
        q = np.tile(d.assemble(m.keyframes[0].q if m.keyframes else m.neutral()), (STATES, 1))
        v = d.consistent(q, v)
    how: dict[str, Any] = {"duration": STEPS * STEP, "dt": STEP, "method": "rk4", "every": STEPS}
    once = _median(lambda: d.forward_dynamics(q[0], v[0], tau), 500)
    each = _median(lambda: d.forward_dynamics(q, v, tau), 1) / STATES
    runs = [lw.simulate(m, q[:MEMBERS], 0.1 * v[:MEMBERS], **how).wall for _ in range(TURNS + 1)]
    return once, each, MEMBERS * STEPS / float(np.median(runs[1:]))


def _median(act: Callable[[], Any], number: int) -> float:
    """Median seconds of a call, after one that warms up."""
    act()
    return float(np.median(repeat(act, number=number, repeat=TURNS))) / number
