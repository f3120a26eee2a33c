"""The base classes of force elements, which apply forces that depend on positions and velocities.

A force element defines its forces (`force`), its stored energy (`energy`) and the power that it adds to the total
energy of the mechanism (`power`). All three are traced, so they must not branch on values.
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
    """Interface through which a force element reads positions and velocities of bodies and joints, by name."""

    def pose(self, body: str) -> Transform:
        """Return the pose X_WB of the frame of the named body in the world frame."""
        ...

    def twist(self, body: str) -> Twist:
        """Return the velocity [m/s] of a body's origin and its angular velocity [rad/s], each (3,) in world axes."""
        ...

    def coordinates(self, joint: str) -> Array:
        """Return the coordinates (nq of the joint,) [rad or m, or quaternions] of the joint called `joint`."""
        ...

    def velocities(self, joint: str) -> Array:
        """Return the velocities (nv of the joint,) [rad/s or m/s] of the joint called `joint`."""
        ...


def point_motion(motion: Motion, body: str, r: Any) -> tuple[Array, Array]:
    """Return the position (3,) [m] and velocity (3,) [m/s] of a point of a body, in the world frame.

    `r` (3,) [m] is the point in the body's frame. `motion` gives positions and velocities of bodies.
    """
    X, V = motion.pose(body), motion.twist(body)
    arm = X.R @ np.asarray(r)
    return X.p + arm, V.linear + cross(V.angular, arm)


@dataclass(frozen=True, eq=False)
class Acting:
    """The forces and torques that a force element applies to bodies and joints.

    The methods `on_body` and `on_joint` add a force and return the extended collection, for example
    `Acting().on_body("arm", force, at=point).on_joint("knee", [torque])`.
    """

    bodies: tuple[tuple[str, Array, Array, Array], ...] = ()  # body, force [N], point [m], torque [N m], in the world
    joints: tuple[tuple[str, Array], ...] = ()  # joint, and one force for each velocity [N m or N]

    def on_body(self, body: str, force: Any = (0.0, 0.0, 0.0), at: Any = None, torque: Any = (0.0, 0.0, 0.0)) -> Acting:
        """Return these forces together with a further force (3,) [N] and torque (3,) [N m] on the body called `body`.

        Force and torque are in world axes. The force acts at the point `at` (3,) [m] in the world, which may be omitted
        if there is only a torque.
        """
        point = np.zeros(3) if at is None else np.asarray(at)
        one = (body, np.asarray(force), point, np.asarray(torque))
        return Acting((*self.bodies, one), self.joints)

    def on_joint(self, joint: str, force: Any) -> Acting:
        """Return these forces together with further joint forces [N m or N] on the joint called `joint`.

        `force` has one number for each velocity of the joint.
        """
        return Acting(self.bodies, (*self.joints, (joint, np.asarray(force))))

    def __add__(self, other: Acting) -> Acting:
        return Acting((*self.bodies, *other.bodies), (*self.joints, *other.joints))

    def wrench(self, body: str) -> Wrench:
        """Return total force [N] on a body, and torque [N m] about the world's origin, each (3,) in world axes."""
        total = Wrench.zero()
        for name, force, point, torque in self.bodies:
            if name == body:
                total = total + Wrench(force, torque + cross(point, force))
        return total

    def power(self, motion: Motion) -> Number:
        """Return the total power [W] of these forces at the velocities that `motion` gives."""
        total: Number = 0.0
        for body, force, point, torque in self.bodies:
            X, V = motion.pose(body), motion.twist(body)
            total = total + force @ (V.linear + cross(V.angular, point - X.p)) + torque @ V.angular
        for joint, force in self.joints:
            total = total + force @ motion.velocities(joint)
        return total


class LineForce(Element):
    """Base class of a spring and damper along the line between a point on one body and a point on another.

    The tension [N], positive if it pulls the points together, is stiffness (L - length) + damping dL/dt. L [m] is the
    distance between the points, and `length` the free length.
    """

    if TYPE_CHECKING:  # subclasses define these properties as fields

        @property
        def at(self) -> Place:
            """The end point of the spring on the first body."""
            ...

        @property
        def to(self) -> Place:
            """The end point of the spring on the second body."""
            ...

        @property
        def stiffness(self) -> Number:
            """Spring stiffness [N/m]."""
            ...

        @property
        def damping(self) -> Number:
            """Damping coefficient [N s/m]."""
            ...

        @property
        def length(self) -> Number:
            """Free length [m] of the spring: the distance between its end points at which the spring force is zero."""
            ...


class Force(Element):
    """Base class of a force element, which applies forces to bodies and joints."""

    def force(self, motion: Motion) -> Acting:
        """Return the forces [N] and torques [N m] that the element applies.

        `motion` gives positions and velocities of bodies and joints.
        """
        raise self.lacks("force")

    def energy(self, motion: Motion) -> Number:
        """Return the energy [J] stored in the element, whose negative gradient is the conservative part of its force.

        `motion` gives positions of bodies and joints.
        """
        return 0.0

    def power(self, motion: Motion, acting: Acting) -> Number:
        """Return the power [W] that the element adds to the total energy of the mechanism and of all elements.

        By default, this is the power of all the element's forces `acting` for a class without its own `energy`, and
        zero for a class with `energy`. `motion` gives positions and velocities of bodies and joints.
        """
        return acting.power(motion) if type(self).energy is Force.energy else 0.0
