"""Forward dynamics with bearing friction in all joints, compared with linkwork's forward dynamics without friction."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.peer_libraries import Contender
from benchmarks.robots import States, draw, robot
from benchmarks.timing import Effort, Row, available, keep_times

import linkwork as lw
from linkwork.model.elements.joint_friction import JointFriction

BEARINGS = {"rolling bearings": lw.Bearing(mu=0.003, radius=0.02), "plain bearings": lw.Bearing(mu=0.1, radius=0.02)}


def rows(robots: tuple[str, ...], states: int, target: str, effort: Effort) -> dict[str, Callable[[Row], None]]:
    """Return the benchmarks by name: each robot with each kind of bearing in all of its joints with one velocity."""
    return {
        f"{name}: forward dynamics, friction of {bearings}": partial(run, name, bearings, states, target, effort)
        for name in robots
        for bearings in BEARINGS
    }


def run(name: str, bearings: str, states: int, target: str, effort: Effort, row: Row) -> None:
    """Time forward dynamics with friction; the peer is linkwork without friction, so that the results differ."""
    m = robot(name).m
    found = [JointFriction(j.name, BEARINGS[bearings]) for j in m.joints if j.kind.nv == 1]
    rubbing, s = m.with_elements(JointFriction.section, found), draw(m, states)
    row.unit, row.size = "us per state", {"nv": m.nv, "states": states}
    ours, theirs = (partial(contender, rubbing, s, target, friction) for friction in (True, False))
    keep_times(row, available(row, ours, theirs), states, effort)


def contender(m: lw.Mechanism, s: States, target: str, friction: bool) -> Contender:
    """Return linkwork on one thread, with or without friction."""
    d = lw.compile(m, target=target, threads=1 if target == "cpu" else None)
    title = "linkwork with friction" if friction else "linkwork without friction"
    return Contender(title, lambda: d.forward_dynamics(s.q, s.v, s.tau, friction=friction), lambda found: found)
