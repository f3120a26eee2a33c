"""Positions on the configuration manifold and their tangent vectors: integrate, difference, rates, joint by joint."""

from __future__ import annotations

import numpy as np

from linkwork.model.mechanism import Joint, Mechanism
from linkwork.spatial.scalar import Array, Number, ldlt


def integrate(mechanism: Mechanism, q: Array, dv: Array) -> Array:
    """Return the coordinates (nq,) reached from q (nq,) after unit time at the constant velocity dv (nv,)."""
    return mechanism.by_joint(lambda j: j.kind.integrate(q[j.q], dv[j.v]))


def free_flight(mechanism: Mechanism, q: Array, v: Array, h: Number) -> tuple[Array, Array]:
    """Return coordinates (nq,) and velocities (nv,) after a time h [s] in which every joint moves without forces.

    q (nq,) and v (nv,) are the coordinates and velocities before. Each joint moves its child as if the parent were at
    rest and nothing else were attached to the child.
    """
    moved = {j.name: j.kind.free_flight(mechanism.bodies[j.o].inertia, q[j.q], v[j.v], h) for j in mechanism.leaders}
    return mechanism.by_joint(lambda j: moved[j.name][0]), mechanism.by_joint(lambda j: moved[j.name][1])


def displaced(mechanism: Mechanism, q: Array, v: Array, dv: Array) -> tuple[Array, Array]:
    """Return the coordinates integrate(q, dv), and velocities (nv,) there that give all bodies the same motion.

    The angular velocities in body axes, and the velocities of the centres of mass of free bodies, are the same as with
    the velocities v (nv,) at q (nq,). dv (nv,) is the displacement.
    """
    moved = {
        j.name: j.kind.displaced(mechanism.bodies[j.o].inertia, q[j.q], v[j.v], dv[j.v]) for j in mechanism.leaders
    }
    return mechanism.by_joint(lambda j: moved[j.name][0]), mechanism.by_joint(lambda j: moved[j.name][1])


def free_acceleration(mechanism: Mechanism, v: Array) -> Array:
    """Return the rate (nv,) [rad/s^2 or m/s^2] at which velocities v (nv,) change in `free_flight`."""
    return mechanism.by_joint(lambda j: j.kind.free_acceleration(mechanism.bodies[j.o].inertia, v[j.v]))


def tangent_rate(mechanism: Mechanism, dv: Array, v: Array) -> Array:
    """Return the time derivative (nv,) of dv for which the position integrate(q, dv) moves at the velocity v (nv,).

    The position q is constant, and dv is (nv,); see `JointKind.tangent_rate`.
    """
    return mechanism.by_joint(lambda j: j.kind.tangent_rate(dv[j.v], v[j.v]))


def qdot(mechanism: Mechanism, q: Array, v: Array) -> Array:
    """Return the time derivative (nq,) of the coordinates at q (nq,) and velocity v (nv,) (S4, equation 3.34)."""
    return mechanism.by_joint(lambda j: j.kind.qdot(q[j.q], v[j.v]))


def difference(mechanism: Mechanism, q0: Array, q1: Array) -> Array:
    """Return the constant velocity (nv,) from q0 (nq,) to q1 (nq,) in unit time: the inverse of `integrate`."""
    return mechanism.by_joint(lambda j: j.kind.difference(q0[j.q], q1[j.q]))


def tangent(mechanism: Mechanism, q: Array, rate: Array) -> Array:
    """Return the velocity (nv,) that corresponds to a coordinate rate (nq,) at q (nq,): the inverse of `qdot`."""

    def of_joint(j: Joint) -> Array:
        if not j.kind.nv:
            return rate[j.q]
        B = np.array([j.kind.qdot(q[j.q], one) for one in np.eye(j.kind.nv)]).T
        return ldlt(B.T @ B).solve(B.T @ rate[j.q])

    return mechanism.by_joint(of_joint)
