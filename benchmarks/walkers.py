"""The walker of Nelson and Quinn with switching clutches: time per simulation step, alone and in a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from benchmarks.peer_libraries import Contender
from benchmarks.timing import Effort, Row, race

import linkwork as lw
from linkwork.examples import walker_gaits as gaits

ALONE = 10.0  # duration of the walk of one walker [s]


def run_walk(make: Callable[[], gaits.Walk], members: int, effort: Effort, row: Row) -> None:
    """Measure the time per member and step of a simulated walk, and fill the row.

    The note gives the part of the time that a call with one step takes too.
    """
    walk = make()
    steps = round(walk.duration / gaits.STEP)
    row.unit = "us per step"
    row.size = {"nv": walk.mechanism.nv, "states": members, "steps": steps}
    arguments: dict[str, Any] = walk.arguments | {"record": ("q",), "threads": 1, "progress": False}
    nothing = arguments | {"duration": gaits.STEP, "every": 1, "schedule": walk.schedule[:-2]}
    whole = Contender("linkwork simulate, semi-implicit", partial(lw.simulate, **arguments), lambda run: run.q)
    around = Contender("one step", partial(lw.simulate, **nothing), lambda run: run.q)
    for contender in (whole, around):
        contender.call()  # the first call compiles the kernels
    timing, before = race([whole, around], 1.0, effort)
    work = float(members * steps)
    scaled = {name: getattr(timing, name) / work for name in ("median", "low", "high", "best")}
    row.linkwork = replace(timing, **scaled)
    seconds = timing.median * 1e-6
    row.note = (
        f"{members * walk.duration:g} s of walking in {seconds:.2f} s, "
        f"of which a call with one step takes {before.median * 1e-6:.2f} s"
    )


def rows(members: int, duration: float, effort: Effort) -> dict[str, Callable[[Row], None]]:
    """Return the walker benchmarks by name, as functions that fill a row of the result table."""
    one, many = partial(gaits.turning, turn=0.5, duration=ALONE), partial(gaits.crowd, members, duration)
    return {
        f"walker: {ALONE:g} s alone": partial(run_walk, one, 1, effort),
        f"walker: {members} walks, different schedules": partial(run_walk, many, members, effort),
    }
