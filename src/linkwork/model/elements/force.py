"""Forces: elements that push bodies and joints, by where they are and how they move.

A force element says what it applies, `force`, what it stores, `energy`, and at which rate it changes the energy of the
whole beyond that, `power`. All three are formulas of any numbers: they are traced, so they must not branch on values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from linkwork.model.bodies import Place
from linkwork.model.elements.element import Element
from linkwork.spatial import Force as Wrench
from linkwork.spatial import Motion as Twist
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, Number, cross


class Motion(Protocol):
    """Where bodies and joints are and how they move, by name."""

    def pose(self, body: str) -> Transform:
        """The pose X_WB of a body's frame in the world."""
        ...

    def twist(self, body: str) -> Twist:
        """Velocity of a body's origin [m/s] and its angular velocity [rad/s], both in the world's axes."""
        ...

    def coordinates(self, joint: str) -> Array:
        """The coordinates (nq,) of a joint [rad or m, or quaternions]."""
        ...

    def velocities(self, joint: str) -> Array:
        """The velocities (nv,) of a joint [rad/s or m/s]."""
        ...


def point_motion(motion: Motion, body: str, r: Any) -> tuple[Array, Array]:
    """Position (3,) [m] and velocity (3,) [m/s], in the world, of the point r (3,) [m] in the frame of a body."""
    X, V = motion.pose(body), motion.twist(body)
    arm = X.R @ np.asarray(r)
    return X.p + arm, V.linear + cross(V.angular, arm)


@dataclass(frozen=True, eq=False)
class Acting:
    """Forces on bodies and joints, collected: `Acting().on_body("arm", force, at=point).on_joint("knee", [torque])`."""

    bodies: tuple[tuple[str, Array, Array, Array], ...] = ()  # body, force [N], point [m], torque [N m], of the world
    joints: tuple[tuple[str, Array], ...] = ()  # joint, one force for each velocity [N m or N]

    def on_body(self, body: str, force: Any = (0.0, 0.0, 0.0), at: Any = None, torque: Any = (0.0, 0.0, 0.0)) -> Acting:
        """These and a force (3,) [N] at a point (3,) [m], and a torque (3,) [N m], all in the world's frame.

        The point may be left out where there is a torque alone.
        """
        point = np.zeros(3) if at is None else np.asarray(at)
        one = (body, np.asarray(force), point, np.asarray(torque))
        return Acting((*self.bodies, one), self.joints)

    def on_joint(self, joint: str, force: Any) -> Acting:
        """These and forces (nv,) [N m or N] on the velocities of a joint."""
        return Acting(self.bodies, (*self.joints, (joint, np.asarray(force))))

    def __add__(self, other: Acting) -> Acting:
        return Acting((*self.bodies, *other.bodies), (*self.joints, *other.joints))

    def wrench(self, body: str) -> Wrench:
        """What acts on a body: force [N], and torque about the world's origin [N m], in the world's axes."""
        total = Wrench.zero()
        for name, force, point, torque in self.bodies:
            if name == body:
                total = total + Wrench(force, torque + cross(point, force))
        return total

    def power(self, motion: Motion) -> Number:
        """The power [W] of all of them."""
        total: Number = 0.0
        for body, force, point, torque in self.bodies:
            X, V = motion.pose(body), motion.twist(body)
            total = total + force @ (V.linear + cross(V.angular, point - X.p)) + torque @ V.angular
        for joint, force in self.joints:
            total = total + force @ motion.velocities(joint)
        return total


class LineForce(Element):
    """A spring and a damper along the line between the point `at` of one body and the point `to` of another.

    Its tension at the distance L is stiffness (L - length) + damping dL/dt [N].
    """

    if TYPE_CHECKING:  # fields of its kinds

        @property
        def at(self) -> Place:
            """The point on one body."""
            ...

        @property
        def to(self) -> Place:
            """The point on the other."""
            ...

        @property
        def stiffness(self) -> Number:
            """By length [N/m]."""
            ...

        @property
        def damping(self) -> Number:
            """By rate of length [N s/m]."""
            ...

        @property
        def length(self) -> Number:
            """Between the points, at rest [m]."""
            ...


class Force(Element):
    """Pushes bodies and joints."""

    def force(self, motion: Motion) -> Acting:
        """What it applies, [N] and [N m]."""
        raise self.lacks("force")

    def energy(self, motion: Motion) -> Number:
        """What it stores [J]; its force is the negative gradient of that."""
        return 0.0

    def power(self, motion: Motion, acting: Acting) -> Number:
        """The power [W] that it adds to the energy of the whole, with what it stores; `acting` is its force.

        That of an element without energy is all of its power; one that stores energy adds none, unless it says so.
        """
        return acting.power(motion) if type(self).energy is Force.energy else 0.0
