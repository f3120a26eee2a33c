"""`linkwork bench`: run the repository's benchmarks if they are available, else measure the examples."""

from __future__ import annotations

import runpy
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from timeit import repeat
from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

import linkwork as lw
from linkwork.app.check_command import BROKEN
from linkwork.app.run_command import start_of
from linkwork.spatial.scalar import Array

STATES = 1000  # number of states in a batch
MEMBERS, STEPS, STEP = 256, 50, 1e-3  # number of batch members and steps of a simulation; step [s]
TURNS = 5  # number of repetitions, of which the median is reported


def bench(console: Console, arguments: Sequence[str]) -> int:
    """Run the repository's benchmarks with the given arguments, or measure the examples; return the exit code."""
    if not _repository_has_benchmarks():
        if arguments:
            raise lw.LinkworkError(
                f"arguments are only for the benchmarks of the repository, which are not available here; got "
                f"{arguments[0]!r}. Run the command in a clone of the repository, or without arguments"
            )
        return measure(console)
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
    """Return whether Python can import the folder `benchmarks` of linkwork's repository."""
    spec = find_spec("benchmarks")
    places = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    return any((place / "robots.py").is_file() and (place / "peer_libraries.py").is_file() for place in places)


def measure(console: Console) -> int:
    """Print the times of compiled forward dynamics and of simulations of every example; return the exit code.

    Warnings and errors of examples are printed below the table. The exit code is 2 if an example cannot be measured.
    """
    columns = ("example", "nv", "one state, us", f"batch of {STATES}, us/state", f"rk4 steps/s, {MEMBERS} members")
    table = Table(*columns, box=SIMPLE, title="Forward dynamics and simulation, medians", title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    notes: list[Text] = []
    code = 0
    for example in lw.examples():
        m = example.build()
        with warnings.catch_warnings(record=True) as caught, console.status(f"measuring {example.name} ..."):
            warnings.simplefilter("always")
            try:
                once, each, rate = times(m)
                table.add_row(example.name, str(m.nv), f"{once * 1e6:.2f}", f"{each * 1e6:.3f}", f"{rate:.3g}")
            except lw.LinkworkError as error:
                table.add_row(example.name, str(m.nv), "-", "-", "-")
                notes.append(Text.assemble((f"{example.name}: ", "red"), str(error)))
                code = BROKEN
        for message in dict.fromkeys(str(warning.message) for warning in caught):
            notes.append(Text.assemble((f"{example.name}: ", "yellow"), message))
    console.print(table)
    for note in notes:
        console.print(note, soft_wrap=True)
    return code


def times(m: lw.Mechanism) -> tuple[float, float, float]:
    """Return the times [s] of forward dynamics for one state and per state of a batch, and the steps per second.

    Steps per second are the rk4 steps of all members of a simulated batch, divided by its computing time.
    """
    rng, tau, d = np.random.default_rng(0), np.zeros(m.nv), lw.compile(m)
    q = np.tile(start_of(m, 0).q, (STATES, 1))  # at other positions, loops may be open, and feet deep in the ground
    v = d.consistent(q, rng.normal(size=(STATES, m.nv)))
    dt = _step(m, q[0])
    how: dict[str, Any] = {"duration": STEPS * dt, "dt": dt, "method": "rk4", "every": STEPS}
    once = _median(lambda: d.forward_dynamics(q[0], v[0], tau), 500)
    each = _median(lambda: d.forward_dynamics(q, v, tau), 1) / STATES
    runs = [lw.simulate(m, q[:MEMBERS], 0.1 * v[:MEMBERS], **how).wall for _ in range(TURNS + 1)]
    return once, each, MEMBERS * STEPS / float(np.median(runs[1:]))


def _step(m: lw.Mechanism, q: Array) -> float:
    """Return the integration step [s] that `simulate` chooses for the method "rk4" and a start at q (nq,)."""
    dt = lw.simulate(m, q, duration=STEP, method="rk4", record=("q",)).settings.dt
    assert dt is not None
    return dt


def _median(act: Callable[[], Any], number: int) -> float:
    """Return the median time [s] of a call of `act`; a first call is not measured.

    The median is taken over TURNS samples; each sample is the mean time of `number` calls.
    """
    act()
    return float(np.median(repeat(act, number=number, repeat=TURNS))) / number
