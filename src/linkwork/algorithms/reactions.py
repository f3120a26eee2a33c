"""Reaction wrenches: what every joint's parent puts on its child."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.forward import forward_dynamics
from linkwork.algorithms.inverse import inverse_dynamics
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array


def reactions(mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None) -> Array:
    """Wrench (njoints, 6) of the parent on the child through each joint, at the child's frame, in its axes [N, N m].

    It holds the constraint forces and the joint force: along the joint's freedoms S^T F = tau - armature a.
    """
    a = forward_dynamics(mechanism, q, v, tau, wrenches)
    force = inverse_dynamics(mechanism, q, v, a, wrenches).force
    return np.array([F.array for F in force[1:]]).reshape(len(mechanism.joints), 6)
