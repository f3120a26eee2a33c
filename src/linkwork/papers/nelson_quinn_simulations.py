"""Simulated walks of the K2T Walker with the gaits of `examples.walker_gaits`, and tables about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import linkwork as lw
from linkwork.examples import gait_measures
from linkwork.examples import walker_gaits as gaits

RECORDED = ("q", "v", "tau", "contact.state", "contact.anchor")
SAMPLE = 0.005  # [s] time between samples, short enough to resolve the slip of feet at touch-down
WALKING = 2.0 * gaits.PERIOD  # [s] time from which strides have full length
FALLEN = np.radians(45.0)  # tilt [rad] from which the walker counts as fallen


class Course(NamedTuple):
    """A walk to simulate, its description, and a function that returns whether a run of it reached the goal."""

    walk: Callable[[], gaits.Walk]
    about: str
    arrived: Callable[[lw.Run], bool]


COURSES = {
    "straight": Course(gaits.straight, "flat ground, yaw joint locked", lambda run: run.q[-1, 0] > 10.0),
    "rough": Course(gaits.rough, "rough ground, heading controlled by yaw", lambda run: run.q[-1, 0] > 10.0),
    "turning": Course(gaits.turning, "flat ground, left turn by 90°", lambda run: abs(_heading(run) - 90.0) < 3.0),
    "climb": Course(gaits.climb, "rough ground, up a ledge of 14 cm", lambda run: run.q[-1, 0] > 3.5),
}


class Walked(NamedTuple):
    """A simulated walk: its name, its course (the walk and its goal) and the run."""

    name: str
    course: Course
    run: lw.Run

    @property
    def arrived(self) -> bool:
        """Whether the walker reached the goal and never fell."""
        return self.run.outcome.kind == "finished" and self.tilt < FALLEN and bool(self.course.arrived(self.run))

    @property
    def tilt(self) -> float:
        """Largest tilt [rad] of the walker's top frame in the run."""
        return float(gaits.tilt(self.run.q).max())

    def summary(self) -> tuple[str, ...]:
        """Return the table row of this walk as texts: name, course, time, distance, heading, tilt, goal reached.

        WALK_COLUMNS are the headings.
        """
        distance = float(np.hypot(*self.run.q[-1, :2]))
        tilt, verdict = f"{np.degrees(self.tilt):.1f}°", "yes" if self.arrived else "no"
        time = f"{self.run.t[-1]:g} s"
        return self.name, self.course.about, time, f"{distance:.2f} m", f"{round(_heading(self.run))}°", tilt, verdict

    def gait(self) -> tuple[str, ...]:
        """Return the table row of the gait as texts: name, speed, foot slip, height, motor power and cost of transport.

        All values are measured from the time WALKING [s] on. GAIT_COLUMNS are the headings.
        """
        late, slips = self.run.t >= WALKING, gait_measures.slips(self.run, WALKING)
        path = np.linalg.norm(np.diff(self.run.q[late, :2], axis=0), axis=1).sum()
        low, high = 100.0 * self.run.q[late, 2].min(), 100.0 * self.run.q[late, 2].max()
        power = gait_measures.motor_power(self.run, WALKING).sum()
        cost = gait_measures.cost_of_transport(self.run, WALKING)
        median, high_slip = (f"{1000.0 * np.quantile(slips, part):.1f} mm" for part in (0.5, 0.95))
        speed = f"{path / np.ptp(self.run.t[late]):.3f} m/s"
        return self.name, speed, median, high_slip, f"{low:.1f} to {high:.1f} cm", f"{power:.0f} W", f"{cost:.2f}"

    def events(self) -> list[tuple[str, ...]]:
        """Return a table row for each event after 0 s: time, event, energy gain, impulse and constraint torque, as
        texts.
        """
        return [
            (f"{event.time:.3f} s", event.what.partition(" (")[0], *map(_number, event[3:], (3, 3, 1)))
            for event in self.run.events
            if event.time > 0.0
        ]


WALK_COLUMNS = ("walk", "course", "time", "distance", "final heading", "largest tilt", "goal reached")
GAIT_COLUMNS = (
    "walk", "speed", "foot slip, median", "95th percentile", "height of top frame", "motor power", "cost of transport"
)  # fmt: skip


def walked(name: str) -> Walked:
    """Return the walk called `name` with its simulated run."""
    course = COURSES[name]
    options: dict[str, Any] = course.walk().arguments | {"every": round(SAMPLE / gaits.STEP)}
    return Walked(name, course, lw.simulate(**options, record=RECORDED))


def _number(x: float, decimals: int) -> str:
    """Return a number as text with the given number of decimals."""
    return f"{round(x, decimals) + 0.0:.{decimals}f}"  # adding 0.0 changes -0 to 0


def _heading(run: lw.Run) -> float:
    """Return the heading [degrees] of the walker at the end of a run."""
    return float(np.degrees(gaits.heading(run.mechanism, run.q[-1])))
