"""Walks of the K2T Walker: runs of `examples.walker_gaits`, and what happened on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import linkwork as lw
from linkwork.examples import footsteps
from linkwork.examples import walker_gaits as gaits

RECORDED = ("q", "v", "tau", "contact.state", "contact.anchor")
ROW = 0.005  # [s] between recorded rows: close enough to see feet slip as they are put down
WALKING = 2.0 * gaits.PERIOD  # [s] after which strides are full
STANDS = np.radians(45.0)  # the walker has fallen where it leans more


class Course(NamedTuple):
    """A walk to be made, what it is in words, and whether a run of it has got where it should."""

    walk: Callable[[], gaits.Walk]
    about: str
    arrived: Callable[[lw.Run], bool]


COURSES = {
    "straight": Course(gaits.straight, "flat ground, frames locked to each other", lambda run: run.q[-1, 0] > 10.0),
    "rough": Course(gaits.rough, "rough ground, yaw keeps the heading", lambda run: run.q[-1, 0] > 10.0),
    "turning": Course(gaits.turning, "flat ground, to the left by 90°", lambda run: abs(_heading(run) - 90.0) < 3.0),
    "climb": Course(gaits.climb, "rough ground, up a step of 14 cm", lambda run: run.q[-1, 0] > 3.5),
}


class Walked(NamedTuple):
    """A walk that was made: its name, what it is, and the run."""

    name: str
    course: Course
    run: lw.Run

    @property
    def arrived(self) -> bool:
        """Whether the walker got where it should, and never fell."""
        return self.run.outcome.kind == "finished" and self.leaned < STANDS and bool(self.course.arrived(self.run))

    @property
    def leaned(self) -> float:
        """How far the top frame leaned at most [rad]."""
        return float(gaits.tilt(self.run.q).max())

    def told(self) -> tuple[str, ...]:
        """Name, ground, time, way, heading at the end, leaning, and whether it arrived."""
        way = float(np.hypot(*self.run.q[-1, :2]))
        leaned, verdict = f"{np.degrees(self.leaned):.1f}°", "yes" if self.arrived else "no"
        time = f"{self.run.t[-1]:g} s"
        return self.name, self.course.about, time, f"{way:.2f} m", f"{round(_heading(self.run))}°", leaned, verdict

    def gait(self) -> tuple[str, ...]:
        """Name, speed, how far feet slip in a stand, heights of the top frame, power, and cost of transport."""
        late, slips = self.run.t >= WALKING, footsteps.slips(self.run, WALKING)
        way = np.linalg.norm(np.diff(self.run.q[late, :2], axis=0), axis=1).sum()
        low, high = 100.0 * self.run.q[late, 2].min(), 100.0 * self.run.q[late, 2].max()
        power, cost = footsteps.motor_power(self.run, WALKING).sum(), footsteps.cost_of_transport(self.run, WALKING)
        usual, most = (f"{1000.0 * np.quantile(slips, part):.1f} mm" for part in (0.5, 0.95))
        speed = f"{way / np.ptp(self.run.t[late]):.3f} m/s"
        return self.name, speed, usual, most, f"{low:.1f} to {high:.1f} cm", f"{power:.0f} W", f"{cost:.2f}"

    def events(self) -> list[tuple[str, ...]]:
        """When, what, energy won, impulse and torque of each switch but those at the start."""
        return [
            (f"{event.time:.3f} s", event.what.partition(" (")[0], *map(_number, event[3:], (3, 3, 1)))
            for event in self.run.events
            if event.time > 0.0
        ]


TOLD = ("walk", "where", "time", "way", "heading", "leans", "arrived")
GAIT = ("walk", "speed", "feet slip", "19 of 20 below", "top frame at", "motors give", "cost of transport")


def walked(name: str) -> Walked:
    """The walk of that name, made."""
    course = COURSES[name]
    request: dict[str, Any] = course.walk().request | {"every": round(ROW / gaits.STEP)}
    return Walked(name, course, lw.simulate(**request, record=RECORDED))


def _number(x: float, decimals: int) -> str:
    return f"{round(x, decimals) + 0.0:.{decimals}f}"  # not minus zero


def _heading(run: lw.Run) -> float:
    """Where the walker looks at the end [degrees]."""
    return float(np.degrees(gaits.heading(run.mechanism, run.q[-1])))
