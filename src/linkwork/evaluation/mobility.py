"""Mobility of mechanisms with loops: redundant constraint rows, singular directions, independent velocities."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

import numpy as np

from linkwork.algorithms.constraint_ranks import free_motions, least_squares, row_scales
from linkwork.algorithms.constraints.constraint_tolerances import ROW_CHANGE
from linkwork.errors import LinkworkError, listed
from linkwork.evaluation.closed_chain_actuation import closure_rows, joints_of, velocities_of
from linkwork.evaluation.dynamics import Dynamics, compile
from linkwork.model.analysis_results import Independent, LoopCheck
from linkwork.model.batch_broadcasting import Input, one_state
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array
from linkwork.tolerances import CLOSURE_OPEN, RANK

STEP = 1e-4  # step of central differences of constraint rows [rad or m]


def checked_loops(m: Mechanism, q: Any) -> LoopCheck:
    """Return the mobility, redundant constraint rows and singular directions of a mechanism at the position q (nq,).

    All loops must be closed at q. Engaged clutches, brakes and other velocity constraints count as constraints; open
    loops (with `closed` = 0) do not.
    """
    (q,) = one_state({"q": Input(q, (m.nq,))})
    m = m.keeping(lambda one: not one.holonomic or bool(one.engaged))
    d = compile(m, target="numpy")
    require_closed_loops(d, q)
    scales = row_scales(m, q)
    J = closure_rows(m, q, np.zeros(m.nv))[0] / scales[:, None]
    left, sizes, right = np.linalg.svd(J) if J.size else (np.eye(m.nh), np.zeros(0), np.eye(m.nv))
    rank = int((sizes > RANK).sum())
    repeating: dict[str, int] = {}
    rank_before, start = 0, 0
    # for each constraint in turn, count the independent rows that it adds
    for owner, rows in groupby(map(m.constraint_of_row, range(m.nh))):
        count = len(list(rows))
        start += count
        known = int(np.linalg.matrix_rank(J[:start], tol=RANK)) if J.size else 0
        if known - rank_before < count:
            repeating[owner] = count - (known - rank_before)
        rank_before = known
    free = right[rank:]
    loops = {one.name: repeating.pop(one.label, 0) for one in m.frame_constraints}
    redundant = {name: count for name, count in loops.items() if count}
    # without the rows of velocity constraints, which are constant
    singular = singular_directions(d, q, free, left[: m.nc, rank:], scales)
    return LoopCheck(m.nv - rank, rank, m.nh, redundant, free, singular, repeating)


def require_closed_loops(d: Dynamics, q: Array) -> None:
    """Raise a LinkworkError unless all loops are closed at q (nq,).

    `d` are the compiled dynamics of the mechanism.
    """
    errors = np.abs(d.constraint(q))
    if errors.max(initial=0.0) > CLOSURE_OPEN:
        loop = d.mechanism.frame_constraint_of_row(int(np.argmax(errors)))
        raise LinkworkError(
            f"the loops are not closed at q: loop {loop.name!r} has a closure error of {errors.max():.3g} (m or rad); "
            "use d.assemble(q) first"
        )


def singular_directions(d: Dynamics, q: Array, free: Array, repeating: Array, scales: Array) -> Array:
    """Return orthonormal velocities (k, nv) along which redundant constraint rows become independent.

    The rows of `free` (mobility, nv) are the directions of motion that satisfy all loops. The s columns of `repeating`
    (nc, s) are the coefficients of linear combinations of the constraint rows that vanish at q (nq,); each row is first
    divided by its entry of `scales`. `d` are the compiled dynamics of the mechanism. If a motion along a
    free direction makes such a combination nonzero, the position is singular, and the result contains the direction. If
    the closed positions near q form a manifold, the combinations also vanish at all nearby positions, and no direction
    is singular.
    """
    none = np.zeros((0, d.mechanism.nv))
    if not (len(free) and repeating.size):
        return none

    def changes(directions: Array) -> tuple[Array, float]:
        """Return the derivatives, along k directions, of the s vanishing combinations of rows, as (k, s * mobility).

        `directions` (k, nv) are velocities. The derivatives are per unit of motion; of each combination, only the
        components along the free directions count. The second result is the magnitude up to which a derivative is
        round-off.
        """
        moved = [d.constraint_jacobian(d.mechanism.integrate(q, side * STEP * directions)) for side in (1.0, -1.0)]
        J = (moved[0] - moved[1]) / (2.0 * STEP) / scales[: d.mechanism.nc, None]
        size = max(float(np.abs(J).max()), 1.0)
        return (repeating.T @ J @ free.T).reshape(len(directions), -1), ROW_CHANGE * size

    any_direction = np.random.default_rng(0).normal(size=len(free)) @ free
    gained, enough = changes(any_direction[None])
    if np.abs(gained).max() <= enough:  # if any derivative were nonzero, that along a random direction would be nonzero
        return none
    gained, enough = changes(free)
    combined, sizes, _ = np.linalg.svd(gained, full_matrices=False)
    return combined[:, sizes > enough].T @ free


def independent(m: Mechanism, q: Any, v: Any, choose: str | Iterable[str] | None) -> Independent:
    """Return independent velocities of a mechanism with constraints, and the map from these to all velocities.

    `choose` names the joints whose velocities are the independent velocities; if it is None, well-conditioned
    velocities are chosen. All loops must be closed at q (nq,). v (nv,), zero by default, determines the bias of the map
    from independent to all accelerations. The function raises a LinkworkError if the chosen velocities do not determine
    all others.
    """
    v = np.zeros(m.nv) if v is None else v
    q, v = one_state({"q": Input(q, (m.nq,)), "v": Input(v, (m.nv,))})
    require_closed_loops(compile(m, target="numpy"), q)
    J, gamma = closure_rows(m, q, v)
    scales = row_scales(m, q)
    free = free_motions(J, scales)
    count = free.shape[1]
    if choose is None:
        numbers = _pivots(free)
    else:
        names = [choose] if isinstance(choose, str) else list(choose)
        numbers = velocities_of(m, names)
        if len(numbers) != count:
            raise LinkworkError(
                f"choose joints with {count} velocities in total, the mobility of {m.name!r}; {listed(names)} have "
                f"{len(numbers)}"
            )
    picked = free[numbers]
    condition = float(np.linalg.cond(picked)) if count else 1.0
    if not condition < 1.0 / RANK:
        raise LinkworkError(
            f"the velocities of {listed(joints_of(m, numbers))} depend on each other in this position; "
            "choose other joints"
        )
    others = np.setdiff1d(np.arange(m.nv), numbers)
    bias = np.zeros(m.nv)
    bias[others] = -least_squares(J[:, others] / scales[:, None], gamma / scales, 1.0)
    return Independent(numbers, joints_of(m, numbers), free @ np.linalg.inv(picked), bias, condition)


def _pivots(free: Array) -> Array:
    """Return the indices (k,) of k of the nv rows of `free` (nv, k) that form a well-conditioned square matrix.

    The rows are chosen one by one, by greedy pivoting.
    """
    left, numbers = np.array(free), []
    for _ in range(free.shape[1]):
        best = int(np.argmax((left * left).sum(axis=1)))
        direction = left[best] / np.linalg.norm(left[best])
        left = left - np.outer(left @ direction, direction)
        numbers.append(best)
    return np.array(sorted(numbers), dtype=int)
