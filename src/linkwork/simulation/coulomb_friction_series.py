"""Dry friction of joints at the samples of a run by the midpoint rule, which applies Coulomb's law at rest too.

A moving joint has its full friction against the velocity. A joint at rest has the friction that keeps it at rest, at
most its limit: the forces p (nv,) and the accelerations a = a_0 + S p satisfy, for every velocity k at rest,

    a_k = 0 and |p_k| <= f_k    or    p_k = -f_k sign(a_k)

with the inverse inertia S (nv, nv) of the constrained mechanism and the accelerations a_0 without this friction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwork.algorithms.tree_traversal import outward
from linkwork.model.parameter_value_checks import FADING_SPEED
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from linkwork.simulation.results.run_data import RunData

SAMPLES = 512  # number of samples that are solved at once
SWEEPS = 5000  # largest number of Gauss-Seidel sweeps
SETTLED = 1e-14  # change of friction forces at which the sweeps end, relative to the largest


def regularized_friction(run: RunData) -> Array:
    """Return the regularized dry friction (*batch, T, nv) [N m or N] along a run.

    This friction is part of the forces that `Dynamics.passive` returns.
    """
    tree = run.mechanism.tree_velocity(run.v)
    forces = -_tree_limits(run) * tree / np.sqrt(tree * tree + FADING_SPEED**2)
    return forces @ run.mechanism.spread


def coulomb_friction(run: RunData, others: Array, wrenches: Array | None) -> Array:
    """Return the Coulomb friction forces of the joints (*batch, T, nv) [N m or N] at all samples of a run.

    `others` (*batch, T, nv) are all other joint forces, `wrenches` (*batch, T, nbodies, 6) the wrenches on bodies.
    """
    m, samples = run.mechanism, run.v.shape[:-1]
    limits = np.broadcast_to(_tree_limits(run) @ np.abs(m.spread), run.v.shape)
    found = -limits * np.sign(run.v)
    rests = (run.v == 0.0) & (limits > 0.0)
    pick = rests.any(axis=-1)

    def picked(x: Array, shape: tuple[int, ...]) -> Array:
        return np.broadcast_to(x, samples + shape)[pick]

    given = {name: picked(x, m.parameters[name].shape) for name, x in run.along_time().items()}
    q, v, tau, highest = run.q[pick], run.v[pick], (others + found)[pick], np.where(rests, limits, 0.0)[pick]
    pushes = None if wrenches is None else picked(wrenches, (m.nbodies, 6))
    holding = np.zeros_like(tau)
    for start in range(0, len(tau), SAMPLES):
        part = slice(start, start + SAMPLES)

        def accelerations(more: Array, part: slice = part) -> Array:
            some, outside = {name: x[part] for name, x in given.items()}, None if pushes is None else pushes[part]
            return run.dynamics.forward_dynamics(q[part], v[part], tau[part] + more, outside, parameters=some)

        free = accelerations(np.zeros(m.nv))
        S = np.stack([accelerations(unit) - free for unit in np.eye(m.nv)], axis=-1)
        holding[part] = _resting_friction(S, free, highest[part])
    found[pick] += holding
    return found


def _resting_friction(S: Array, a: Array, limits: Array) -> Array:
    """Return the friction forces (n, nv) [N m or N] that hold joints at rest in n samples, as far as limits allow.

    S (n, nv, nv) is the change of the accelerations per unit joint force, `a` (n, nv) are the accelerations without
    friction, and `limits` (n, nv) the largest friction forces. Projected Gauss-Seidel sweeps solve each velocity with
    the others fixed.
    """
    p = np.zeros_like(a)
    columns = [k for k in range(a.shape[-1]) if limits[:, k].any()]
    for _ in range(SWEEPS):
        largest = 0.0
        for k in columns:
            response = S[:, k, k]
            wanted = np.divide(-a[:, k], response, out=np.zeros(len(a)), where=response > 0.0)
            change = np.clip(p[:, k] + wanted, -limits[:, k], limits[:, k]) - p[:, k]
            p[:, k] += change
            a = a + S[:, :, k] * change[:, None]
            largest = max(largest, np.abs(change).max(initial=0.0))
        if largest <= SETTLED * limits.max(initial=0.0):
            break
    return p


def _tree_limits(run: RunData) -> Array:
    """Return the largest dry friction forces (*batch, T, tree.nv) [N m or N] of all joints, mimic joints included.

    Batch and time axes along which all forces are constant may have length 1 or be missing.
    """
    given = run.along_time()
    each = [np.zeros(0), *(given.get(f"{j.name}.friction", j.friction) for j in outward(run.mechanism.tree))]
    shape = np.broadcast_shapes(*(x.shape[:-1] for x in each))
    return np.concatenate([np.broadcast_to(x, (*shape, x.shape[-1])) for x in each], axis=-1)
