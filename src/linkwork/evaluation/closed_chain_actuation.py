"""Closed chains: motor forces that produce a given motion, and the motion of joints without sensors.

All functions take one position with closed loops. Velocities satisfy J v = 0, accelerations J a + gamma = 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork.algorithms.constraint_ranks import free_motions, least_squares, row_scales
from linkwork.algorithms.constraints.constrained_dynamics import rows_and_bias
from linkwork.algorithms.constraints.constraint_tolerances import UNBALANCED_FORCE
from linkwork.algorithms.mimic_reduction import to_tree
from linkwork.errors import LinkworkError, listed
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from linkwork.evaluation.constraint_methods import ConstraintMethods


def closure_rows(m: Mechanism, q: Array, v: Array) -> tuple[Array, Array]:
    """Return the constraint Jacobian J (nh, nv), and the bias gamma (nh,) in J a + gamma = 0, at q (nq,) and v (nv,).

    The nh rows are those of loops, then of velocity constraints such as engaged clutches. a (nv,) are the accelerations
    of the independent joints; mimic joints are eliminated.
    """
    J, gamma = rows_and_bias(m.tree, *to_tree(m, ("q", "v"), (q, v)))
    return J @ m.spread, gamma


def velocities_of(m: Mechanism, names: Iterable[str]) -> Array:
    """Return, in ascending order, the indices in v of the velocities of the joints called `names`."""
    found: list[int] = []
    for name in names:
        joint = m.joints[name]
        found += range(joint.v.start, joint.v.stop)
    return np.array(sorted(set(found)), dtype=int)


def joints_of(m: Mechanism, numbers: Iterable[int]) -> list[str]:
    """Return the names of the joints to which the velocities with the indices `numbers` belong."""
    wanted = set(numbers)
    return [j.name for j in m.leaders if wanted & set(range(j.v.start, j.v.stop))]


# --- forces of actuated joints ---


class Actuation(NamedTuple):
    """Result of `actuation`: joint forces `tau` (nv,) [N m, N] and constraint `multipliers` (nh,) [N, N m].

    The joint forces are zero at joints without a motor. The multipliers belong to the rows of the loops, then to those
    of engaged clutches and other velocity constraints.
    """

    tau: Array
    multipliers: Array


def actuation(
    d: ConstraintMethods,
    q: Array,
    v: Array,
    a: Array,
    actuated: Iterable[str],
    weights: Mapping[str, float],
    wrenches: Any,
) -> Actuation:
    """Return the forces of the actuated joints that produce the acceleration a (nv,) of a closed chain.

    This is equation (20) of S2. The state is q (nq,), v (nv,), with closed loops. `d` are the compiled dynamics of the
    mechanism, and `actuated` names the joints with a motor. `weights` has positive weights of joints by name, 1 by
    default; `wrenches` are external wrenches (nbodies, 6) [N, N m] on the bodies. Without its loops, the mechanism
    would need the joint forces inverse_dynamics(q, v, a). The loops contribute J^T lambda, which does no work on
    motions with closed loops. If more joints are actuated than the motion needs, the sum of weight * force^2 over the
    actuated joints is minimal. If too few joints are actuated, the function raises a LinkworkError.
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
    shares = free.T[:, driven] / scale[driven]  # the rows of `free` have a norm of at most 1
    tau[driven] = least_squares(shares, free.T @ needed, float((1.0 / scale[driven]).max(initial=0.0))) / scale[driven]
    residual = free.T @ (needed - tau)
    if np.abs(residual).max(initial=0.0) > UNBALANCED_FORCE * max(1.0, float(np.abs(needed).max(initial=0.0))):
        idle = joints_of(m, np.flatnonzero(np.abs(free @ residual) > 1e-3 * np.abs(residual).max()))
        raise LinkworkError(
            f"actuating {listed(actuated) or 'no joint'} cannot produce this motion; it also needs a force at "
            f"{listed(idle)}"
        )
    return Actuation(tau, least_squares(J.T, needed - tau, scales.max(initial=0.0)))


# --- joints without sensors ---


class Observed(NamedTuple):
    """Result of `observed`: coordinates q (nq,), velocities v (nv,) and accelerations a (nv,) of all joints.

    The units are [rad or m], [rad/s or m/s] and [rad/s^2 or m/s^2]. Values of sensed joints are measurements; the
    others are computed.
    """

    q: Array
    v: Array
    a: Array


def observed(d: ConstraintMethods, q: Array, v: Array, a: Array, sensed: Iterable[str]) -> Observed:
    """Return the motion of all joints of a mechanism with loops, from the measured motion of the sensed joints.

    S1 describes this method. `d` are the compiled dynamics of the mechanism, and `sensed` names the joints with
    sensors. The entries of q (nq,), v (nv,) and a (nv,) that belong to these joints are measurements. The search for a
    position with closed loops starts at the other entries of q; the other entries of v and a are ignored.
    """
    m = d.mechanism
    names = list(sensed)
    known = velocities_of(m, names)
    others = np.setdiff1d(np.arange(m.nv), known)
    q = d.assemble(q, fixed=names)
    scales = row_scales(m, q)
    J = closure_rows(m, q, np.zeros(m.nv))[0] / scales[:, None]
    _require_determined(m, free_motions(J[:, others], np.ones(len(J))), others)
    rates = np.zeros(m.nv)
    rates[known] = v[known]
    rates[others] = -least_squares(J[:, others], J[:, known] @ v[known], 1.0)
    _, gamma = closure_rows(m, q, rates)
    changes = np.zeros(m.nv)
    changes[known] = a[known]
    changes[others] = -least_squares(J[:, others], J[:, known] @ a[known] + gamma / scales, 1.0)
    return Observed(q, rates, changes)


def _require_determined(m: Mechanism, unseen: Array, others: Array) -> None:
    """Raise a LinkworkError if joints without sensors can move while the sensed joints are at rest.

    `others` (n,) are the indices in v of the joints without sensors. The k columns of `unseen` (n, k) are the motions
    of these joints with closed loops and resting sensed joints; the motion is determined if k = 0.
    """
    if unseen.shape[1]:
        undetermined = others[np.abs(unseen).max(axis=1) > 1e-6]
        raise LinkworkError(
            f"these sensors do not determine the motion: {listed(joints_of(m, undetermined))} can still move in "
            f"{unseen.shape[1]} direction{'s' * (unseen.shape[1] > 1)}; sense more joints"
        )
