"""Rotor inertia of drives: a rotor that turns with one velocity adds to the diagonal; others couple several joints."""

from __future__ import annotations

import numpy as np

from linkwork.model.mechanism import Joint, Mechanism
from linkwork.spatial.scalar import Array, Number


def turns_with_rotor(mechanism: Mechanism, joint: Joint) -> bool:
    """Whether the rotor of a drive turns with a joint."""
    return any(drive.rotor and joint.name in drive.joints for drive in mechanism.actuators)


def rotor_matrix(mechanism: Mechanism) -> Array:
    """The contribution of all rotors to the mass matrix (nv, nv) [kg m^2, kg m, kg]."""
    return np.diag(mechanism.armature) + coupling_matrix(mechanism)


def rotor_momenta(mechanism: Mechanism, v: Array) -> Array:
    """The momenta (nv,) [N s, N m s] of all rotors at velocities v (nv,); for accelerations, their forces."""
    return mechanism.armature * v + coupling_momenta(mechanism, v)


def coupling_matrix(mechanism: Mechanism) -> Array:
    """The contribution (nv, nv) of rotors that turn with several velocities: the sum of inertia row row^T."""
    M: list[list[Number]] = [[0.0] * mechanism.nv for _ in range(mechanism.nv)]
    for rotor in mechanism.rotors:
        turning = np.flatnonzero(rotor.row)
        for i in turning:
            for k in turning:
                M[i][k] = M[i][k] + rotor.inertia * (rotor.row[i] * rotor.row[k])
    return np.array(M).reshape(mechanism.nv, mechanism.nv)


def coupling_momenta(mechanism: Mechanism, v: Array) -> Array:
    """The product of `coupling_matrix` with velocities or accelerations v (nv,)."""
    p: list[Number] = [0.0] * mechanism.nv
    for rotor in mechanism.rotors:
        turning = np.flatnonzero(rotor.row)
        momentum = rotor.inertia * sum(rotor.row[k] * v[k] for k in turning)
        for k in turning:
            p[k] = p[k] + rotor.row[k] * momentum
    return np.array(p)
