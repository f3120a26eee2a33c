"""Clutches and brakes that slip above their capacity, and hold again when the speeds meet.

Each that can slip has a number in the state: 0 while it holds, else the sign of its slip, against which it then pushes
with its capacity. While it holds it is a row of the mechanism; where that carries more than the capacity after a step,
it begins to slip. Where speeds meet within a step, the step is made in parts, before and after.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.algorithms.coupled import carried, consistent_velocity, coupled
from linkwork.algorithms.passive import passive
from linkwork.algorithms.ties import factors
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.moving import Moving, Step
from linkwork.simulation.parting import Switching, in_parts
from linkwork.simulation.system import FORCES, System
from linkwork.spatial.scalar import Array, Number, where

STANDING = 1e-9  # slip [rad/s or m/s] below which a clutch that is engaged holds at once


def slipping(step: Step) -> Step:
    """The step, in which clutches and brakes may slip."""

    def run(system: System, t: Number, now: Moving, h: Number, held: Array) -> tuple[Moving, Any]:
        m = system.mechanism
        if not m.slippers:
            return step(system, t, now, h, held)

        def part(begin: Moving, gone: Number, duration: Number) -> tuple[Moving, Any]:
            pushes, holds = slip_forces(m, begin.slip), replace(system, mechanism=holding(m, begin.slip))
            moved, solved = step(holds, t + gone, begin, duration, held + pushes)
            return moved._replace(slip=begin.slip), solved

        def margins(begin: Moving, end: Moving) -> Array:
            speeds = slip_speeds(m, end.v)
            return np.array([where(s == 0.0, 1.0, w * s) for s, w in zip(begin.slip, speeds, strict=True)])

        def met(end: Moving, _: Number, which: list[Any]) -> Moving:
            slip = [where(meets, 0.0, s) for meets, s in zip(which, end.slip, strict=True)]
            return _held(m, end._replace(slip=np.array(slip)))

        ended, solved = in_parts(Switching(part, margins, met), now, h)
        return _overloaded(system, t + h, ended, held), solved

    return run


def holding(mechanism: Mechanism, slip: Array) -> Mechanism:
    """The mechanism in which those that slip hold nothing."""
    pairs = zip(mechanism.slippers, slip, strict=True)
    return mechanism.with_parameters(
        {f"{item.name}.engaged": item.engaged * where(s == 0.0, 1.0, 0.0) for item, s in pairs}
    )


def rows(mechanism: Mechanism) -> Array:
    """What slips (n, nv): rows times v, of those that can slip, engaged or not."""
    tree = [factors(mechanism.tree, next(iter(item.ties))) for item in mechanism.slippers]
    return np.array(tree).reshape(-1, mechanism.tree.nv) @ mechanism.spread


def slip_speeds(mechanism: Mechanism, v: Array) -> Array:
    """How fast each slips (n,) [rad/s or m/s]."""
    return rows(mechanism) @ v


def slip_forces(mechanism: Mechanism, slip: Array) -> Array:
    """Joint forces (nv,) [N m or N] of those that slip."""
    forces = [-(s * item.capacity * item.engaged) for s, item in zip(slip, mechanism.slippers, strict=True)]
    return rows(mechanism).T @ np.array(forces)


def begun(mechanism: Mechanism, v: Array, engaged: Array) -> Array:
    """Which way (..., n) those that are `engaged` (..., n) begin to slip at v (..., nv); 0 where they need not."""
    speeds = np.moveaxis(v @ rows(mechanism).T, -1, 0)
    signs = [where(w > STANDING, 1.0, where(w < -STANDING, -1.0, 0.0)) for w in speeds]
    return np.stack([np.asarray(sign) for sign in signs], axis=-1) * engaged


def _held(mechanism: Mechanism, now: Moving) -> Moving:
    """With velocities at which those that hold do not slip, not by round-off either."""
    return now._replace(v=consistent_velocity(holding(mechanism, now.slip), now.q, now.v))


def _overloaded(system: System, t: Number, now: Moving, held: Array) -> Moving:
    """Those that carry more than they can begin to slip."""
    m = holding(system.mechanism, now.slip)
    loads = system.loads(t, now.q, now.v, held + slip_forces(system.mechanism, now.slip))
    tau = loads.control + loads.stops + coupled(FORCES, passive, ("q", "v"))(system.mechanism, now.q, now.v)
    forces = carried(m, now.q, now.v, tau, loads.outside)
    names = [item.name for item in (*m.clutches, *m.brakes) for _ in item.ties]
    slip = []
    for item, s in zip(system.mechanism.slippers, now.slip, strict=True):
        force = forces[names.index(item.name)]
        begins = where(force > item.capacity, -1.0, where(force < -item.capacity, 1.0, 0.0))
        slip.append(where(s == 0.0, begins, s))
    return now._replace(slip=np.array(slip))
