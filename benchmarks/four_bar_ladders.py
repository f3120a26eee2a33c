"""Ladders of four-bar linkages: loops of linkwork compared with MuJoCo's equality constraints, in time and accuracy.

A cell adds three bodies and one loop. Loops of linkwork are exact. Those of MuJoCo are soft, here as stiff as allowed,
so that the results differ. The benchmark measures times, and for both sides the errors against the closed form, the
position errors of the loops and the energy drift.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from benchmarks.peer_libraries import Contender, NotAvailable, linkwork
from benchmarks.simulation_speed import Rollout, linkwork_rollout, mjcf, mujoco_rollout, spaced
from benchmarks.timing import Effort, Entry, Row, available, keep_times

import linkwork as lw
from linkwork.examples import four_bar_ladder
from linkwork.spatial.scalar import Array

LADDER = "ladder"
SOFTNESS = 'solref="0.002 1" solimp="0.9999 0.9999 0.001"'  # stiffest setting: two steps, largest impedance
LOOKED_AT = 21  # states of a run at which loop errors and energy are measured


class MovingLadder(NamedTuple):
    """State of a swinging ladder: q, v and tau (nv,), and its acceleration a (nv,) by the closed form."""

    m: lw.Mechanism
    q: Array
    v: Array
    tau: Array
    a: Array


def swinging(cells: int) -> MovingLadder:
    """Return a ladder of `cells` cells without motors, with random angles and rates of its rails."""
    m, rng = four_bar_ladder.build(cells), np.random.default_rng(0)
    angles, rates = rng.uniform(-0.5, 0.5, cells), rng.normal(size=cells)
    a = four_bar_ladder.accelerations(angles, rates, np.zeros(cells))
    q, v, a = (four_bar_ladder.coordinates(m, x) for x in (angles, rates, a))
    return MovingLadder(m, q, v, np.zeros(m.nv), a)


def run_forward(cells: int, target: str, effort: Effort, row: Row) -> None:
    """Measure forward dynamics of one state, and its error against the closed form."""
    s = swinging(cells)
    row.unit, row.size = "us per call", {"nv": s.m.nv, "states": 1}
    ours = partial(linkwork, s.m, target, "forward_dynamics", (s.q, s.v, s.tau))
    for side, found in both(row, ours, partial(mujoco_forward, s), 1.0, effort).items():
        row.accuracy[side] = {"closed form": float(np.abs(found - s.a).max() / np.abs(s.a).max())}


def run_second(cells: int, steps: int, effort: Effort, row: Row) -> None:
    """Measure a run from rest with rk4: time per step, position errors of the loops, and energy drift."""
    m = four_bar_ladder.build(cells)
    q, v = m.keyframes["start"].q, np.zeros(m.nv)
    row.unit, row.size = "us per step", {"nv": m.nv, "states": 1, "steps": steps}
    task = Rollout(m, "rk4", q, v, steps, whole)
    ours, theirs = partial(linkwork_rollout, task), partial(mujoco_rollout, task, equality(m))
    d = lw.compile(m, target="numpy")
    for side, found in both(row, ours, theirs, steps, effort).items():
        states = found[0, np.linspace(0, steps - 1, min(LOOKED_AT, steps)).astype(int)]
        positions, velocities = states[:, : m.nq], states[:, m.nq :]
        kinetic, potential = d.energy(positions, velocities)
        first = sum(d.energy(q, v))
        row.accuracy[side] = {
            "position error of loops [m]": float(np.abs(d.constraint(positions)).max()),
            "energy drift": float(np.abs(kinetic + potential - first).max() / np.ptp(kinetic)),
        }


def both(row: Row, ours: Entry, theirs: Entry, work: float, effort: Effort) -> dict[str, Array]:
    """Time linkwork and the peer, if they are available, and return their results."""
    present = available(row, ours, theirs)
    keep_times(row, present, work, effort)
    return {side: contender.read(contender.call()) for side, contender in present.items()}


def whole(m: lw.Mechanism, q: Array, v: Array) -> Array:
    """Return the complete states (members, steps, nq + nv): positions and velocities side by side."""
    return np.concatenate([q, v], axis=-1)


def equality(m: lw.Mechanism) -> str:
    """Return the loops of the ladder as MJCF equality constraints.

    In the plane, coincident points are sufficient; MuJoCo takes them from the neutral position.
    """
    return "".join(
        f'<connect body1="b{loop.at.body}" body2="b{loop.to.body}" anchor="{spaced(loop.at.pose.p)}" {SOFTNESS}/>'
        for loop in m.loops
    )


def mujoco_forward(s: MovingLadder) -> Contender:
    """Return the contender MuJoCo for forward dynamics with equality constraints; writing the state is not timed."""
    try:
        mujoco: Any = import_module("mujoco")
    except ModuleNotFoundError:
        raise NotAvailable("MuJoCo is not installed (the extra 'peers')") from None
    model = mujoco.MjModel.from_xml_string(mjcf(s.m, "RK4", equality(s.m)))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = lw.convert(s.m, s.q, s.v, target="mujoco")
    return Contender("mujoco.mj_forward", partial(mujoco.mj_forward, model, data), lambda _: np.array(data.qacc))
