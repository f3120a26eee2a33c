"""The walker of Nelson and Quinn: what a step costs where clutches switch, alone and in a batch of all schedules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from benchmarks.measure import Effort, Row, race
from benchmarks.peers import Contender

import linkwork as lw
from linkwork.examples import walker_gaits as gaits

ALONE = 10.0  # seconds that one walks


def run_walk(make: Callable[[], gaits.Walk], members: int, effort: Effort, row: Row) -> None:
    """Time per member and step of a whole call; the note tells how much of it is there for a single step, too."""
    walk = make()
    steps = round(walk.duration / gaits.STEP)
    row.unit = "us per step"
    row.size = {"nv": walk.mechanism.nv, "states": members, "steps": steps}
    request: dict[str, Any] = walk.request | {"record": ("q",), "threads": 1, "progress": False}
    nothing = request | {"duration": gaits.STEP, "every": 1, "schedule": walk.schedule[:-2]}
    whole = Contender("linkwork simulate, semi-implicit", partial(lw.simulate, **request), lambda run: run.q)
    around = Contender("one step", partial(lw.simulate, **nothing), lambda run: run.q)
    for contender in (whole, around):
        contender.call()  # the first builds the kernels
    timing, before = race([whole, around], 1.0, effort)
    work = float(members * steps)
    scaled = {name: getattr(timing, name) / work for name in ("median", "low", "high", "best")}
    row.linkwork = replace(timing, **scaled)
    seconds = timing.median * 1e-6
    row.note = (
        f"{members * walk.duration:g} s of walking in {seconds:.2f} s, "
        f"of which {before.median * 1e-6:.2f} s is what one step takes"
    )


def rows(members: int, duration: float, effort: Effort) -> dict[str, Callable[[Row], None]]:
    """What fills each row, by its name."""
    one, many = partial(gaits.turning, turn=0.5, duration=ALONE), partial(gaits.crowd, members, duration)
    return {
        f"walker: {ALONE:g} s alone": partial(run_walk, one, 1, effort),
        f"walker: {members} walks, schedules of their own": partial(run_walk, many, members, effort),
    }
