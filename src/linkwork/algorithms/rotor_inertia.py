"""Inertia of motor rotors: their contribution to the mass matrix and to the momenta.

A rotor that turns with one joint velocity adds to the diagonal of the mass matrix (armature); a rotor that turns with
several velocities couples their joints.
"""

from __future__ import annotations

import numpy as np

from linkwork.model.mechanism import Joint, Mechanism
from linkwork.spatial.scalar import Array, Number


def turns_with_rotor(mechanism: Mechanism, joint: Joint) -> bool:
    """Return whether the rotor of any drive turns with the given joint."""
    return any(drive.rotor and joint.name in drive.joints for drive in mechanism.actuators)


def rotor_matrix(mechanism: Mechanism) -> Array:
    """Return the contribution (nv, nv) [kg m^2, kg m, kg] of all rotors to the mass matrix."""
    return np.diag(mechanism.armature) + coupling_matrix(mechanism)


def rotor_momenta(mechanism: Mechanism, v: Array) -> Array:
    """Return the generalized momenta (nv,) [N s, N m s] of all rotors at joint velocities v (nv,).

    For accelerations instead of velocities, the result is the inertial forces [N, N m].
    """
    return mechanism.armature * v + coupling_momenta(mechanism, v)


def coupling_matrix(mechanism: Mechanism) -> Array:
    """Return the contribution (nv, nv) [kg m^2, kg m, kg] to the mass matrix of rotors coupled to several joints.

    The contribution is the sum of inertia row row^T, where row (nv,) gives the rotor speed row v.
    """
    M: list[list[Number]] = [[0.0] * mechanism.nv for _ in range(mechanism.nv)]
    for rotor in mechanism.rotors:
        turning = np.flatnonzero(rotor.row)
        for i in turning:
            for k in turning:
                M[i][k] = M[i][k] + rotor.inertia * (rotor.row[i] * rotor.row[k])
    return np.array(M).reshape(mechanism.nv, mechanism.nv)


def coupling_momenta(mechanism: Mechanism, v: Array) -> Array:
    """Return the generalized momenta (nv,) [N s, N m s] at velocities v (nv,) of rotors that turn with several joints.

    The result is the product of `coupling_matrix` and v. For accelerations instead of velocities, the result is the
    inertial forces.
    """
    p: list[Number] = [0.0] * mechanism.nv
    for rotor in mechanism.rotors:
        turning = np.flatnonzero(rotor.row)
        momentum = rotor.inertia * sum(rotor.row[k] * v[k] for k in turning)
        for k in turning:
            p[k] = p[k] + rotor.row[k] * momentum
    return np.array(p)
