"""Closing loops from afar: the nearest position that does, or which loops stay open, and why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from linkwork.algorithms.ranks import least_squares, row_scales
from linkwork.errors import NotConverged, listed
from linkwork.spatial.scalar import Array
from linkwork.tolerances import CLOSURE_ASSEMBLED

if TYPE_CHECKING:
    from linkwork.evaluation.dynamics import Dynamics

ROUND_OFF = 1e3 * CLOSURE_ASSEMBLED  # what may be left of it where no step makes it less
ROUNDS = 200
MOST_TOLD = 5  # loops that stay open
STEP = 0.5  # farthest that a round moves a coordinate [rad or m]
NUDGES = (1e-3, 1e-2, 0.1, 0.3, 1.0)  # out of places, such as stretched arms, from where no small move closes more


def assembled(d: Dynamics, q: Array, fixed: Iterable[str]) -> Array:
    """Coordinates (nq,) near q that close all loops, by Newton's method with a line search on the manifold."""
    found, left = _nearest_closed(d, q, fixed)
    if left > ROUND_OFF:
        raise NotConverged(_why_open(d, q, found, fixed))
    return found


def _nearest_closed(d: Dynamics, q: Array, fixed: Iterable[str]) -> tuple[Array, float]:
    """Coordinates (nq,) that close loops best among some that are reached from q, and the largest error there."""
    m = d.mechanism
    free = np.ones(m.nv, dtype=bool)
    for name in fixed:
        free[m.joints[name].v] = False
    rng = np.random.default_rng(0)
    found, best = np.array(q), np.inf
    for nudge in (0.0, *NUDGES):
        reached = _descended(d, m.integrate(q, nudge * free * rng.normal(size=m.nv)) if nudge else np.array(q), free)
        left = float(np.abs(d.constraint(reached)).max(initial=0.0))
        if left < best:
            found, best = reached, left
        if best < ROUND_OFF:
            break
    return found, best


def _why_open(d: Dynamics, q: Array, found: Array, fixed: Iterable[str]) -> str:
    """Which loops stay open at best, and whether the others would close without the worst."""
    m = d.mechanism
    errors: dict[str, float] = {}
    for row, error in enumerate(np.abs(d.constraint(found))):
        name = m.frame_constraint_of_row(row).name
        errors[name] = max(errors.get(name, 0.0), float(error))
    worst, *others = sorted((name for name in errors if errors[name] > ROUND_OFF), key=lambda name: -errors[name])
    held = f" with {listed(fixed)} fixed" if list(fixed) else ""
    told = f"the loops of {m.name!r} do not close from here{held}: loop {worst!r} stays open by {errors[worst]:.3g}"
    told += "".join(f", loop {name!r} by {errors[name]:.3g}" for name in others[: MOST_TOLD - 1])
    told += " (m or rad). Start nearer, or look whether the lengths allow it"
    if others:
        without = m.keeping(lambda one: not one.holonomic or one.name != worst)
        _, left = _nearest_closed(type(d)(without, (), "numpy", None, True), q, fixed)
        if left < ROUND_OFF:
            told += f". Without loop {worst!r} the others close: it contradicts them, or is too far from closing"
    return told


def _descended(d: Dynamics, q: Array, free: Array) -> Array:
    """Coordinates (nq,) from which no step along the free velocities closes loops any more."""
    m = d.mechanism
    scale = float(row_scales(m, q)[: m.nc].max(initial=0.0))
    for _ in range(ROUNDS):
        g = d.constraint(q)
        if float(np.abs(g).max(initial=0.0)) < CLOSURE_ASSEMBLED:
            return q
        J = d.constraint_jacobian(q)[:, free]
        dq = np.zeros(m.nv)
        dq[free] = -least_squares(J, g, scale)
        dq *= min(1.0, STEP / max(float(np.abs(dq).max()), 1e-300))
        q, better = _along(d, q, dq, float(g @ g))
        if not better:
            break
    return q


def _along(d: Dynamics, q: Array, dq: Array, before: float) -> tuple[Array, bool]:
    """The farthest of some steps along dq that lessens the error; and whether there is one."""
    for part in 0.5 ** np.arange(12):
        moved = d.mechanism.integrate(q, part * dq)
        g = d.constraint(moved)
        if g @ g < before * (1.0 - 1e-4 * part):
            return moved, True
    return q, False
