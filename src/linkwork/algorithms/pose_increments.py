"""Increments of body poses over a step, and discrete momenta (S4 5.4; Bou-Rabee and Marsden 2009).

A body moves from one pose to another in a step h [s]. In its first frame it rotates by the unit quaternion f =
conj(q_0) q_1, where q_0 and q_1 are the orientations before and after, and the origin of its frame moves by d. The
discrete Lagrangian L_d belongs to a Lie group variational integrator with the exponential map: with the rotation vector
xi = log f and the displacement e of the centre of mass,

    L_d = m |e|^2 / (2 h) + xi^T I xi / (2 h)

It is exact for a free body that rotates about a principal axis (`Exponential`). Wendlandt's midpoint rule for
quaternions (S4, equation 2.23) has 2 sin(|xi| / 2) in place of |xi|; it turns too far at large steps and has no
solution beyond |omega| h = 1. A body that rotates about an axis or a point fixed in the world has the inertia about
that point in place of I, and e is the displacement along the axis: this is exact for one joint, wherever the centre of
mass is.

Increments, not poses, are multiplied along the tree, so that momenta are accurate for arbitrarily small steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.tree_traversal import outward
from linkwork.model.mechanism import WORLD, Mechanism
from linkwork.spatial import Force, Transform
from linkwork.spatial.inertia import RigidInertia
from linkwork.spatial.rotation import angle_per_sine, matrix_from_quaternion, product
from linkwork.spatial.scalar import Array, Number, cross, dot, hat


class Increment(NamedTuple):
    """Motion of a frame over a step: rotation f (4,), a unit quaternion, and displacement d (3,) [m].

    Both are in the axes of the frame at the beginning of the step.
    """

    f: Array
    d: Array

    def shift(self, r: Array) -> Array:
        """Return the displacement (3,) [m] of a point r (3,) [m] fixed in the frame, due to the rotation f alone."""
        w, v = self.f[0], self.f[1:]
        first = cross(v, r)
        return (first * w + cross(v, first)) * 2.0

    def seen_after(self, u: Array) -> Array:
        """Return a vector's components (3,) in the frame's axes at the end of the step.

        u (3,) are its components in the axes at the beginning of the step.
        """
        w, v = self.f[0], self.f[1:]
        first = cross(v, u)
        return u + (cross(v, first) - first * w) * 2.0

    @property
    def rotation(self) -> Array:
        """Rotation matrix (3, 3) from the frame's axes at the end of the step to those at its beginning.

        f must be a unit quaternion.
        """
        w, v = self.f[0], self.f[1:]
        scaled = v * 2.0
        return np.outer(scaled, v) + hat(scaled * w) + np.eye(3) * (1.0 - dot(scaled, v))

    def then(self, other: Increment) -> Increment:
        """Return the increment of this motion followed by the motion `other`.

        `other` is given in the axes of the frame at the end of this increment.
        """
        return Increment(product(self.f, other.f), self.d + other.d + self.shift(other.d))

    def at_fixed_frame(self, X: Transform) -> Increment:
        """Return the increment of a second frame that is fixed in this frame at the pose X."""
        turned = np.concatenate([self.f[:1], X.R.T @ self.f[1:]])
        return Increment(turned, X.R.T @ (self.d + self.shift(X.p)))

    @property
    def transform(self) -> Transform:
        """Pose of the frame at the end of the step, in the frame at its beginning."""
        return Transform(matrix_from_quaternion(self.f), self.d)


STILL = Increment(np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3))


def joint_increments(mechanism: Mechanism, q: Array, dv: Array) -> list[Increment]:
    """Return the increment of every body relative to its inboard body, for joint displacements dv (nv,) from q (nq,).

    The increments are in the frames of the bodies at the beginning of the step; entry 0 is the world.
    """
    return [STILL, *(Increment(*j.kind.moved(q[j.q], dv[j.v])) for j in outward(mechanism))]


def body_increments(mechanism: Mechanism, X: list[Transform], joints: list[Increment]) -> list[Increment]:
    """Return the motion of every body over a step, from the increments `joints` of its joints.

    X are the poses of the bodies in their inboard bodies at the beginning of the step.
    """
    found = [STILL]
    for j in outward(mechanism):
        found.append(found[j.i].at_fixed_frame(X[j.o]).then(joints[j.o]))
    return found


class Momenta(NamedTuple):
    """Discrete momenta [N s, N m s] of a body at the beginning and end of a step, about the origin of its frame.

    `before` is -D1 L_d, minus the derivative of the discrete Lagrangian L_d with respect to the pose at the beginning,
    in the axes of this pose. `after` is D2 L_d, the derivative with respect to the pose at the end, in the axes of that
    pose.
    """

    before: Force
    after: Force


class SplitInertia(NamedTuple):
    """Inertia of a body for the discrete Lagrangian: mass [kg] at a reference point, and rotational inertia about it.

    The point is c (3,) [m]; I (3, 3) [kg m^2] is the inertia about c. c is the centre of mass, or for a body that
    rotates about a point or axis fixed in the world, the origin of its frame.
    """

    mass: Number
    c: Array
    I: Array


def split_inertias(mechanism: Mechanism) -> list[SplitInertia]:
    """Return the inertia of every body, split into the mass at a reference point and the rotation about that point.

    The reference point is the centre of mass, so that the centre of mass of free bodies moves uniformly. If a joint to
    the world keeps the origin of the body's frame on the axis of rotation, the reference point is this origin.
    """
    found = [SplitInertia(0.0, np.zeros(3), np.zeros((3, 3)))]
    for j in outward(mechanism):
        inertia = mechanism.bodies[j.o].inertia
        if j.i == WORLD and j.kind.origin_on_axis:
            found.append(SplitInertia(inertia.mass, np.zeros(3), inertia.rotational))
        else:
            found.append(SplitInertia(inertia.mass, *_centre(inertia)))
    return found


class RotationRule(ABC):
    """Rule for the angular momenta of a body that rotates by the unit quaternion f = (w, v) in a step h [s].

    The rotation vector is xi = 2 y v with y(w) = x / sin(x), x = acos(w). y' and y'' are the derivatives of y with
    respect to w. I (3, 3) is the inertia in the axes of the body, and v^ the skew matrix of v.
    """

    @abstractmethod
    def momenta(self, I: Array, f: Array, h: Number) -> tuple[Array, Array]:
        """Return the angular momenta (3,) [N m s] of the body at the beginning and at the end of a step h [s].

        Each momentum is in the body's axes at that time. I (3, 3) [kg m^2] is the inertia, and f (4,) the rotation of
        the step.
        """

    @abstractmethod
    def derivative(self, I: Array, f: Array, h: Number) -> Array:
        """Return the derivative (3, 3) of the angular momentum before a step h [s] by the body's pose after the step.

        The change of the pose is a small rotation u (3,) [rad] in the axes of the body after the step. It changes v by
        (w + v^) u / 2 and w by -v . u / 2. I (3, 3) is the inertia, and f (4,) the rotation of the step.
        """


class Exponential(RotationRule):
    """Symplectic rotation rule by the exponential map: the angular momenta of L_d = xi^T I xi / (2 h).

    -D1 L_d = T(xi) I xi / h and D2 L_d = T(-xi) I xi / h. T(xi) = y w + y v^ - y' v v^T is the inverse of the
    right-trivialized derivative of the exponential map: a rotation u of the second pose changes xi by T(xi) u. See
    Bou-Rabee and Marsden 2009.
    """

    def momenta(self, I: Array, f: Array, h: Number) -> tuple[Array, Array]:
        """Return the angular momenta (3,) [N m s] of the body at the beginning and at the end of a step h [s].

        Each momentum is in the body's axes at that time. I (3, 3) [kg m^2] is the inertia, and f (4,) the rotation of
        the step.
        """
        w, v = f[0], f[1:]
        y, slope, _ = angle_per_sine(w)
        spin = I @ v * (2.0 / h * y)
        straight, bent = spin * (y * w) - v * (slope * dot(v, spin)), cross(v, spin) * y
        return straight + bent, straight - bent

    def derivative(self, I: Array, f: Array, h: Number) -> Array:
        """Return the derivative (3, 3) of the angular momentum before a step h [s] by the body's pose after the step.

        I (3, 3) is the inertia, and f (4,) the rotation of the step.
        """
        w, v = f[0], f[1:]
        y, slope, curvature = angle_per_sine(w)
        n = I @ v
        vn, a, b = dot(v, n), y * y, y * slope
        # The momentum is 2 / h times y^2 w n + y^2 v x n - y y' v (v . n)
        by_v = (I * w + hat(v) @ I - hat(n)) * a - (np.eye(3) * vn + np.outer(v, n * 2.0)) * b
        by_w = n * (a + 2.0 * b * w) + cross(v, n) * (2.0 * b) - v * (vn * (slope * slope + y * curvature))
        return (by_v @ (np.eye(3) * w + hat(v)) - np.outer(by_w, v)) * (1.0 / h)


class MeanVelocity(RotationRule):
    """Rotation rule of energy-momentum methods: xi / h is the mean of the angular velocities before and after the step.

    The momentum is constant in the world, and a free body conserves its energy (Simo and Wong 1991). With s = v / w,
    the rotation is (1 + s^) (1 - s^)^-1, and the momenta are (1 + s^) I xi / h and (1 - s^) I xi / h.
    """

    def momenta(self, I: Array, f: Array, h: Number) -> tuple[Array, Array]:
        """Return the angular momenta (3,) [N m s] of the body at the beginning and at the end of a step h [s].

        Each momentum is in the body's axes at that time. I (3, 3) [kg m^2] is the inertia, and f (4,) the rotation of
        the step.
        """
        w, v = f[0], f[1:]
        spin = I @ v * (2.0 / h * angle_per_sine(w)[0])
        bent = cross(v, spin) * (1.0 / w)
        return spin + bent, spin - bent

    def derivative(self, I: Array, f: Array, h: Number) -> Array:
        """Return the derivative (3, 3) of the angular momentum before a step h [s] by the body's pose after the step.

        I (3, 3) is the inertia, and f (4,) the rotation of the step.
        """
        w, v = f[0], f[1:]
        y, slope, _ = angle_per_sine(w)
        s = v * (1.0 / w)
        by_u = I @ (np.eye(3) * (y * w) + hat(v * y) - np.outer(v * slope, v))
        spin, S = I @ v * y, hat(s)
        return (by_u + S @ by_u - hat(spin) @ (np.eye(3) + S + np.outer(s, s))) * (1.0 / h)


EXPONENTIAL, MEAN_VELOCITY = Exponential(), MeanVelocity()


def momenta(rule: RotationRule, inertia: SplitInertia, moved: Increment, h: Number) -> Momenta:
    """Return the discrete momenta [N s, N m s] of a body that moves by the increment `moved` in a step h [s].

    `rule` is the rule for the angular momenta, and `inertia` the inertia of the body.
    """
    c = inertia.c
    push = (moved.d + moved.shift(c)) * (inertia.mass * (1.0 / h))
    pushes, turning = (push, moved.seen_after(push)), rule.momenta(inertia.I, moved.f, h)
    return Momenta(*(Force(p, n + cross(c, p)) for p, n in zip(pushes, turning, strict=True)))


def momentum_derivative(rule: RotationRule, inertia: SplitInertia, moved: Increment, h: Number) -> Array:
    """Return the derivative (6, 6) of a body's momentum before a step with respect to its pose after the step.

    The body moves by the increment `moved` in the step h [s]. Changes of the pose are twists in the axes of the second
    pose. For a discrete Lagrangian L_d the derivative is D2 D1 of -L_d. `rule` is the rule for the angular momenta, and
    `inertia` the inertia of the body.
    """
    along = moved.rotation * (inertia.mass * (1.0 / h))
    C = hat(inertia.c)
    about = rule.derivative(inertia.I, moved.f, h)
    return np.block([[along, -along @ C], [C @ along, about - C @ along @ C]])


def _centre(inertia: RigidInertia) -> tuple[Array, Array]:
    """Return the centre of mass (3,) [m] of a body, and its inertia (3, 3) [kg m^2] about that point."""
    m = inertia.mass
    if isinstance(m, float) and m == 0.0:
        return np.zeros(3), inertia.rotational
    c = inertia.moment / m
    return c, inertia.rotational - (np.eye(3) * dot(c, c) - np.outer(c, c)) * m
