"""Closing loops from afar, and what they leave free: positions that close, mobility, rows that repeat others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from linkwork.errors import LinkworkError, NotConverged, listed
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from linkwork.evaluation.dynamics import Dynamics

CLOSED = 1e-13  # error of closure [m or rad] that is as good as none
ROUNDS = 200
RANK = 1e-9  # singular values below this part of the largest are taken for zero
STEP = 0.5  # farthest that a round moves a coordinate [rad or m]
NUDGES = (1e-3, 1e-2, 0.1, 0.3, 1.0)  # out of places, such as stretched arms, from where no small move closes more


def assembled(d: Dynamics, q: Array, fixed: Iterable[str]) -> Array:
    """Coordinates (nq,) near q that close all loops, by Newton's method with a line search on the manifold."""
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
        if best < 1e3 * CLOSED:  # round-off is all that is left
            return found
    g = np.abs(d.constraint(found))
    worst = m.loop_of_row(int(np.argmax(g)))
    held = f" with {listed(fixed)} fixed" if list(fixed) else ""
    raise NotConverged(
        f"the loops of {m.name!r} do not close from here{held}: loop {worst.name!r} stays open by {best:.3g} "
        "(m or rad). Start nearer, or look whether the lengths allow it"
    )


def _descended(d: Dynamics, q: Array, free: Array) -> Array:
    """Coordinates (nq,) from which no step along the free velocities closes loops any more."""
    m = d.mechanism
    for _ in range(ROUNDS):
        g = d.constraint(q)
        if float(np.abs(g).max(initial=0.0)) < CLOSED:
            return q
        J = d.constraint_jacobian(q)[:, free]
        dq = np.zeros(m.nv)
        dq[free] = -np.linalg.lstsq(J, g, rcond=RANK)[0]
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


@dataclass(frozen=True)
class LoopCheck:
    """What loops leave free in one position.

    `mobility` is the number of independent velocities; `rank` that of independent rows among `nc`. `redundant` names
    loops some of whose rows repeat those of loops before them, with how many. `free` (mobility, nv) are orthonormal
    directions of velocities that keep all loops closed.
    """

    mobility: int
    rank: int
    nc: int
    redundant: dict[str, int]
    free: Array

    def __str__(self) -> str:
        lines = [f"mobility {self.mobility}: {self.rank} of {self.nc} closure rows are independent"]
        for name, count in self.redundant.items():
            lines.append(f"loop {name!r}: {f'{count} rows repeat' if count > 1 else '1 row repeats'} others")
        return "\n".join(lines)


def checked_loops(d: Dynamics, q: Array) -> LoopCheck:
    """Mobility, and rows that repeat others, in a position that closes all loops."""
    m = d.mechanism
    if float(np.abs(d.constraint(q)).max(initial=0.0)) > 1e-6:
        raise LinkworkError("the loops are not closed at q: use d.assemble(q) first")
    J = d.constraint_jacobian(q)
    _, sizes, directions = np.linalg.svd(J, full_matrices=True) if len(J) else (None, np.zeros(0), np.eye(m.nv))
    rank = int((sizes > RANK * sizes.max(initial=0.0)).sum()) if sizes.max(initial=0.0) > 0.0 else 0
    redundant: dict[str, int] = {}
    kept, start = 0, 0
    for loop in m.loops:  # one after the other: how many new rows each brings
        start += len(loop.kind.closing)
        known = np.linalg.matrix_rank(J[:start], tol=RANK * sizes.max(initial=1.0)) if sizes.size else 0
        repeated = len(loop.kind.closing) - (int(known) - kept)
        kept = int(known)
        if repeated:
            redundant[loop.name] = repeated
    return LoopCheck(m.nv - rank, rank, m.nc, redundant, directions[rank:])
