"""Questions that closed chains raise: which forces make a motion, what sensors tell.

All are about one position that closes the loops. Velocities v there obey J v = 0, accelerations J a + gamma = 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork.algorithms.constraints.closure import rows_and_bias
from linkwork.algorithms.ranks import free_motions, least_squares, row_scales
from linkwork.algorithms.reduction import to_tree
from linkwork.errors import LinkworkError, listed
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from linkwork.evaluation.dynamics import Dynamics

NEEDED = 1e-8  # part of the forces of a motion beyond which a lack of actuation is told


def closure_rows(m: Mechanism, q: Array, v: Array) -> tuple[Array, Array]:
    """J (nc, nv) and gamma (nc,) of a mechanism with or without mimics, in one state."""
    J, gamma = rows_and_bias(m.tree, *to_tree(m, ("q", "v"), (q, v)))
    return J @ m.spread, gamma


def velocities_of(m: Mechanism, names: Iterable[str]) -> Array:
    """The numbers (k,) of the velocities of named joints, in order."""
    found: list[int] = []
    for name in names:
        joint = m.joints[name]
        found += range(joint.v.start, joint.v.stop)
    return np.array(sorted(set(found)), dtype=int)


def joints_of(m: Mechanism, numbers: Iterable[int]) -> list[str]:
    """The names of the joints to which velocities belong."""
    wanted = set(numbers)
    return [j.name for j in m.leaders if wanted & set(range(j.v.start, j.v.stop))]


# --- which forces make a motion ---


class Actuation(NamedTuple):
    """Joint forces tau (nv,) [N m, N], zero where nothing is driven, and the loops' multipliers (nc,) [N, N m]."""

    tau: Array
    multipliers: Array


def actuation(
    d: Dynamics, q: Array, v: Array, a: Array, actuated: Iterable[str], weights: Mapping[str, float], wrenches: Any
) -> Actuation:
    """Forces of the actuated joints alone that make a motion of a closed chain (S2, 20).

    The open chain needs the forces inverse_dynamics(q, v, a); loops give a part J^T lambda of them, which does no work
    on motions that keep them closed. Where more joints are driven than the motion needs, the sum of
    weight force^2 is least.
    """
    m = d.mechanism
    needed = d.inverse_dynamics(q, v, a, wrenches)
    J, _ = closure_rows(m, q, v)
    scales = row_scales(m, q)
    free = free_motions(J, scales)
    driven = velocities_of(m, actuated)
    scale = np.ones(m.nv)
    for name, weight in weights.items():
        if not (np.isfinite(weight) and weight > 0.0):
            raise LinkworkError(f"the weight of joint {name!r} must be a positive number; got {weight!r}")
        scale[m.joints[name].v] = np.sqrt(weight)
    tau = np.zeros(m.nv)
    shares = free.T[:, driven] / scale[driven]  # the rows of `free` are at most 1
    tau[driven] = least_squares(shares, free.T @ needed, float((1.0 / scale[driven]).max(initial=0.0))) / scale[driven]
    lack = free.T @ (needed - tau)
    if np.abs(lack).max(initial=0.0) > NEEDED * max(1.0, float(np.abs(needed).max(initial=0.0))):
        idle = joints_of(m, np.flatnonzero(np.abs(free @ lack) > 1e-3 * np.abs(lack).max()))
        raise LinkworkError(
            f"driving {listed(actuated) or 'no joint'} cannot make this motion; a force is lacking at {listed(idle)}"
        )
    return Actuation(tau, least_squares(J.T, needed - tau, scales.max(initial=0.0)))


# --- what sensors tell ---


class Observed(NamedTuple):
    """Positions q (nq,), velocities v (nv,) and accelerations a (nv,) of all joints."""

    q: Array
    v: Array
    a: Array


def observed(d: Dynamics, q: Array, v: Array, a: Array, sensed: Iterable[str]) -> Observed:
    """All joints' motion from that of the sensed ones, whose entries in q, v and a are taken (S1, unsensed joints).

    Entries of q of other joints are where the search for a closed position starts; those of v and a are not looked at.
    """
    m = d.mechanism
    names = list(sensed)
    known = velocities_of(m, names)
    others = np.setdiff1d(np.arange(m.nv), known)
    q = d.assemble(q, fixed=names)
    scales = row_scales(m, q)
    J = closure_rows(m, q, np.zeros(m.nv))[0] / scales[:, None]
    _refuse_blind(m, free_motions(J[:, others], np.ones(len(J))), others)
    rates = np.zeros(m.nv)
    rates[known] = v[known]
    rates[others] = -least_squares(J[:, others], J[:, known] @ v[known], 1.0)
    _, gamma = closure_rows(m, q, rates)
    changes = np.zeros(m.nv)
    changes[known] = a[known]
    changes[others] = -least_squares(J[:, others], J[:, known] @ a[known] + gamma / scales, 1.0)
    return Observed(q, rates, changes)


def _refuse_blind(m: Mechanism, unseen: Array, others: Array) -> None:
    """Raise a LinkworkError if joints without sensors can move on their own, along the directions `unseen` (n, k)."""
    if unseen.shape[1]:
        moving = others[np.abs(unseen).max(axis=1) > 1e-6]
        raise LinkworkError(
            f"these sensors do not suffice: {listed(joints_of(m, moving))} can still move ({unseen.shape[1]} ways)"
        )
