"""The Builder: its methods describe a mechanism piece by piece, and `build()` returns it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import fields
from itertools import islice
from typing import Any, Self

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.bodies import Part, six_inertias
from linkwork.model.builder_argument_checks import (
    accept_all,
    accept_infinite,
    checked_name,
    joint_kind,
    joint_limits,
    new_element,
    not_negative,
    number_of,
    numbers_by_joint,
    numbers_of,
    placement,
)
from linkwork.model.builder_specifications import FrameSpecification, JointSpecification, KeyframeSpecification
from linkwork.model.elements import ElementMethods
from linkwork.model.elements.element import Element, kinds
from linkwork.model.elements.joint_friction import JointFriction, checked_law
from linkwork.model.elements.key_types import ZERO
from linkwork.model.elements.loop import closing_section
from linkwork.model.friction import FrictionLaw
from linkwork.model.geometry import ROLES, Geometry, Role, Shape, checked_shape
from linkwork.model.joints import JointKind
from linkwork.model.mechanism import Mechanism
from linkwork.model.mechanism_assembly import Assembly
from linkwork.model.mimic_joints import Mimic
from linkwork.model.model_definition_faults import Fault, errors_in, raise_or_warn
from linkwork.model.physical_validity import (
    element_faults,
    mass_faults,
    massless_faults,
    massless_warnings,
    part_faults,
    tolerant_faults,
)
from linkwork.model.spanning_tree import spanned
from linkwork.spatial import Transform

MANY = 100  # largest number of faults of the tree of joints that are reported


class Builder(Assembly, ElementMethods):
    """Builder of a mechanism: add bodies, joints and elements in any order, then call `build()`.

    Every method that adds something returns the builder, so calls can be chained. Names that do not exist and
    contradictions are reported by `build`.

    Parameters
    ----------
    name : str, default "mechanism"
        Name of the mechanism.
    gravity : array_like, shape (3,), [m/s^2], default (0, 0, -9.81)
        Gravitational acceleration in world axes.

    Examples
    --------
    >>> b = lw.Builder("pendulum").body("bob", mass=2.0, com=(0, 0, -0.5))
    >>> b.joint("pin", lw.Revolute((0, 1, 0)), "world", "bob").build()
    <Mechanism 'pendulum': 1 bodies, 1 joints, nq=1, nv=1>

    """

    def __init__(self, name: str = "mechanism", gravity: Any = (0.0, 0.0, -9.81)):
        checked_name(name, "mechanism")
        super().__init__(name, numbers_of(gravity, (3,), "gravity", f"mechanism {name!r}"))

    def body(self, name: str, mass: float = 0.0, com: Any = ZERO, inertia: Any = ZERO) -> Self:
        """Add a rigid body.

        Parameters
        ----------
        name : str
            Name of the body.
        mass : float, [kg], default 0
            Mass.
        com : array_like, shape (3,), [m], default (0, 0, 0)
            Centre of mass in the body's frame.
        inertia : array_like, shape (3,), (6,) or (3, 3), [kg m^2], default (0, 0, 0)
            Inertia about the centre of mass in the body's axes: (ixx, iyy, izz),
            (ixx, iyy, izz, ixy, ixz, iyz) or the symmetric matrix with these entries.

        Returns
        -------
        Builder
            The builder itself, for chained calls.

        Examples
        --------
        >>> b = lw.Builder().body("arm", mass=2.0, com=(0, 0, 0.25), inertia=(0.05, 0.05, 0.002))

        """
        element = f"body {checked_name(name, 'body')!r}"
        self._refuse_taken(name, element)
        mass = number_of(mass, "mass", element, accept_all)
        com = numbers_of(com, (3,), "com", element, accept_all)
        self._parts[name] = Part(name, mass, com, six_inertias(inertia, element), Transform.identity())
        return self

    def joint(
        self,
        name: str,
        kind: JointKind,
        parent: str,
        child: str,
        at: Any = ZERO,
        rpy: Any = ZERO,
        *,
        rotation: Any = None,
        armature: Any = 0.0,
        damping: Any = 0.0,
        stiffness: Any = 0.0,
        rest: Any = None,
        friction: Any = 0.0,
        limits: Any = None,
        velocity_limit: Any = np.inf,
        effort_limit: Any = np.inf,
    ) -> Self:
        """Add a joint that connects `child` to `parent`.

        In the neutral position the child's frame coincides with the joint frame. For parameters of shape (nv,), one
        number sets the values of all nv velocities of the joint.

        Parameters
        ----------
        name : str
            Name of the joint.
        kind : JointKind
            Kind of the joint, such as `lw.Revolute((0, 0, 1))`.
        parent : str
            Parent body, or "world".
        child : str
            Child body; every body is the child of one joint.
        at : array_like, shape (3,), [m], default (0, 0, 0)
            Origin of the joint frame in the parent's frame.
        rpy : array_like, shape (3,), [rad], default (0, 0, 0)
            Roll, pitch and yaw angles of the joint frame, about the fixed x, y and z axes of the parent's frame.
        rotation : array_like, shape (3, 3), optional
            Rotation matrix from the joint frame to the parent's frame, instead of `rpy`.
        armature : array_like, shape (nv,), [kg m^2 or kg], default 0
            Inertia of the motor's rotor and gear, reflected to the joint; it adds to the diagonal of the mass matrix.
        damping : array_like, shape (nv,), [N m s/rad or N s/m], default 0
            Viscous damping.
        stiffness : array_like, shape (nv,), [N m/rad or N/m], default 0
            Stiffness of a spring in the joint.
        rest : array_like, shape (nq,), [rad or m], optional
            Coordinates at which the spring force is zero; the neutral position by default.
        friction : array_like, shape (nv,), [N m or N], or friction law, default 0
            Dry friction: a force of constant magnitude against the motion, or a friction law such as `lw.Bearing`, by
            which friction depends on the load of the joint.
        limits : (lower, upper), [rad or m], optional
            Position limits, each of shape (nv,); none by default.
        velocity_limit : array_like, shape (nv,), [rad/s or m/s], default inf
            Largest speed. Simulations do not enforce it; the report of a run shows where it is exceeded.
        effort_limit : array_like, shape (nv,), [N m or N], default inf
            Largest force or torque of an actuator. Simulations enforce it only with `clip_effort=True`.

        Returns
        -------
        Builder
            The builder itself, for chained calls.

        Examples
        --------
        >>> b = lw.Builder().body("arm", 2.0, (0, 0, 0.25))
        >>> m = b.joint("hip", lw.Revolute((0, 1, 0)), "world", "arm", at=(0, 0, 1), damping=0.1).build()
        >>> m.joints["hip"].damping.tolist()
        [0.1]

        """
        element = new_element(self._joints, "joint", name)
        kind = joint_kind(kind, element)
        lower, upper = joint_limits(limits, kind, element)
        by_load = checked_law(friction, element) if isinstance(friction, (FrictionLaw, str, type)) else None
        rest = kind.neutral() if rest is None else numbers_of(rest, (kind.nq,), "rest", element)
        numbers = {
            "armature": not_negative(armature, kind, "armature", element),
            "damping": not_negative(damping, kind, "damping", element),
            "stiffness": not_negative(stiffness, kind, "stiffness", element),
            "rest": rest,
            "friction": not_negative(friction if by_load is None else 0.0, kind, "friction", element),
            "lower": lower,
            "upper": upper,
            "velocity_limit": not_negative(velocity_limit, kind, "velocity_limit", element, accept_infinite),
            "effort_limit": not_negative(effort_limit, kind, "effort_limit", element, accept_infinite),
        }
        offset = placement(at, rpy, rotation, element)
        self._joints[name] = JointSpecification(name, kind, str(parent), str(child), offset, numbers)
        return self if by_load is None else self.add(JointFriction(name, by_load))

    def frame(self, name: str, body: str, at: Any = ZERO, rpy: Any = ZERO, *, rotation: Any = None) -> Self:
        """Add a named frame that is fixed to a body.

        Parameters
        ----------
        name : str
            Name of the frame; no body or other frame may have it.
        body : str
            Body or welded part, or "world".
        at : array_like, shape (3,), [m], default (0, 0, 0)
            Origin of the frame in the body's frame.
        rpy : array_like, shape (3,), [rad], default (0, 0, 0)
            Roll, pitch and yaw angles of the frame, about the fixed x, y and z axes of the body.
        rotation : array_like, shape (3, 3), optional
            Rotation matrix from the frame to the body's frame, instead of `rpy`.

        Returns
        -------
        Builder
            The builder itself, for chained calls.

        Examples
        --------
        >>> b = lw.Builder().body("arm", 2.0, (0, 0, 0.25)).joint("hip", lw.Revolute((0, 1, 0)), "world", "arm")
        >>> b.frame("tip", "arm", at=(0, 0, 0.5)).build().frames["tip"].pose.p.tolist()
        [0.0, 0.0, 0.5]

        """
        element = f"frame {checked_name(name, 'frame')!r}"
        self._refuse_taken(name, element)
        self._frames[name] = FrameSpecification(name, str(body), placement(at, rpy, rotation, element))
        return self

    def geometry(
        self,
        body: str,
        shape: Shape,
        at: Any = ZERO,
        rpy: Any = ZERO,
        *,
        rotation: Any = None,
        role: Role = "visual",
        color: Any = None,
        name: str | None = None,
    ) -> Self:
        """Add a shape to a body, for display or as collision geometry.

        Shapes have no mass. Shapes with the role "collision" can touch other solids if `collide` names them or their
        bodies; for contacts of points and balls, use `surface` and `touch`.

        Parameters
        ----------
        body : str
            Body or welded part, or "world".
        shape : Box, Sphere, Cylinder, Capsule, Plane, Mesh or Hull
            Shape, such as `lw.Box((1, 1, 1))`.
        at : array_like, shape (3,), [m], default (0, 0, 0)
            Origin of the shape in the body's frame.
        rpy : array_like, shape (3,), [rad], default (0, 0, 0)
            Roll, pitch and yaw angles of the shape, about the fixed x, y and z axes of the body.
        rotation : array_like, shape (3, 3), optional
            Rotation matrix from the shape's frame to the body's frame, instead of `rpy`.
        role : {"visual", "collision"}, default "visual"
            Purpose of the shape: display, or contact with other solids.
        color : array_like, shape (4,), optional
            Red, green, blue and opacity, each from 0 to 1.
        name : str, optional
            Name of the shape; it has no effect on the dynamics.

        Returns
        -------
        Builder
            The builder itself, for chained calls.

        Examples
        --------
        >>> b = lw.Builder().body("arm", 2.0).geometry("arm", lw.Sphere(0.1), color=(1, 0, 0, 1))

        """
        element = f"geometry of body {body!r}"
        shape = checked_shape(shape, element)
        if role not in ROLES:
            raise ModelError(f"role must be one of {', '.join(ROLES)}; got {role!r}", element)
        if color is not None:
            rgba = numbers_of(color, (4,), "color", element)
            if (rgba < 0.0).any() or (rgba > 1.0).any():
                raise ModelError(f"color must be four numbers from 0 to 1; got {color!r}", element)
            color = tuple(rgba.tolist())
        item = Geometry(shape, placement(at, rpy, rotation, element), role, color, name)
        self._geometry.setdefault(str(body), []).append(item)
        return self

    def mimic(self, joint: str, of: str, multiplier: float = 1.0, offset: float = 0.0) -> Self:
        """Make `joint` a mimic joint of the joint `of`: q = multiplier q_of + offset.

        A mimic joint has no independent coordinates. Each of the two joints must have exactly one coordinate.

        Parameters
        ----------
        joint : str
            Mimic joint.
        of : str
            Joint that the mimic joint follows.
        multiplier : float, default 1
            Factor of the coordinate q_of of the joint `of`.
        offset : float, [rad or m], default 0
            Position of the mimic joint at q_of = 0.

        Returns
        -------
        Builder
            The builder itself, for chained calls.

        Examples
        --------
        >>> b = lw.Builder().body("left", 1.0).body("right", 1.0)
        >>> b = b.joint("l", lw.Prismatic(), "world", "left").joint("r", lw.Prismatic(), "world", "right")
        >>> b.mimic("r", "l", multiplier=-1.0).build().nq
        1

        """
        element = f"joint {checked_name(joint, 'joint')!r}"
        if joint in self._mimics:
            raise ModelError(f"it already mimics joint {self._mimics[joint].of!r}", element)
        numbers = number_of(multiplier, "multiplier", element), number_of(offset, "offset", element)
        self._mimics[joint] = Mimic(joint, checked_name(of, "joint"), *numbers)
        return self

    def keyframe(
        self, name: str, positions: Mapping[str, Any] | None = None, velocities: Mapping[str, Any] | None = None
    ) -> Self:
        """Add a keyframe: a named state of the mechanism.

        Parameters
        ----------
        name : str
            Name of the keyframe.
        positions : dict of str to float or array_like, [rad or m, or quaternions], optional
            Coordinates by joint name: a number, or an array with one number for each coordinate of the joint. Other
            joints are in their neutral position.
        velocities : dict of str to float or array_like, [rad/s or m/s], optional
            Velocities by joint name: a number, or an array with one number for each velocity of the joint. Other
            velocities are zero.

        Returns
        -------
        Builder
            The builder itself, for chained calls.

        Examples
        --------
        >>> b = lw.Builder().body("arm", 2.0, (0, 0, 0.25)).joint("hip", lw.Revolute((0, 1, 0)), "world", "arm")
        >>> b.keyframe("raised", {"hip": 0.5}).build().keyframes["raised"].q.tolist()
        [0.5]

        """
        element = new_element(self._keyframes, "keyframe", name)
        q = numbers_by_joint({} if positions is None else positions, "positions", "the position", element)
        v = numbers_by_joint({} if velocities is None else velocities, "velocities", "the velocity", element)
        self._keyframes[name] = KeyframeSpecification(name, q, v)
        return self

    def add(self, element: Element) -> Self:
        """Add an element object: of a user-defined class, or taken from another mechanism.

        Parameters
        ----------
        element : Element
            Instance of a subclass of `Element` that names its section, the attribute of the mechanism that lists such
            elements, as in `class Balloon(Force, section="balloons")`. The bodies and joints that it names
            must exist when `build` is called.

        Returns
        -------
        Builder
            The builder itself, for chained calls.

        Examples
        --------
        >>> b = lw.Builder().body("wheel", 1.0, inertia=(1, 1, 1)).joint("hub", lw.Revolute(), "world", "wheel")
        >>> m = b.brake("parking", "hub").build()
        >>> c = lw.Builder().body("disc", 1.0, inertia=(1, 1, 1)).joint("hub", lw.Revolute(), "world", "disc")
        >>> c.add(m.brakes["parking"]).build().brakes.names
        ('parking',)

        """
        if not isinstance(element, Element) or element.section not in kinds():
            raise ModelError(f"element must be an Element whose class has a section; got {element!r:.80}")
        if element.section in {field.name for field in fields(Mechanism)} or hasattr(Mechanism, element.section):
            reason = f"its section {element.section!r} is an attribute of Mechanism; choose another section"
            raise ModelError(reason, element.label)
        for one in element.several():
            there = self._elements.setdefault(one.section, {})
            new_element(there, one.what, one.name)
            there[one.name] = one.checked()
        return self

    def build(self, strict: bool = True) -> Mechanism:
        """Check the description and return the mechanism.

        If joints form cycles, the builder selects a spanning tree; the other joints become loop closures, and a
        ModelWarning names these joints.

        Parameters
        ----------
        strict : bool, default True
            True: an inertia that no mass distribution can have is an error. False: it is a ModelWarning, but a negative
            mass or a body whose kinetic energy can be negative is still an error. With False, a joint that moves no
            inertia also gives only a ModelWarning; forward dynamics and `simulate` raise an error for it.

        Returns
        -------
        Mechanism
            The mechanism. Its joints are numbered depth-first, the joints of one body in the order in which they were
            added; body k + 1 is the child of joint k.

        Raises
        ------
        ModelError
            If the description is invalid. The message names the element, the reason and the remedy.

        Examples
        --------
        >>> b = lw.Builder().body("bob", 2.0, (0, 0, -0.5)).joint("pin", lw.Revolute((0, 1, 0)), "world", "bob")
        >>> b.build().nv
        1

        """
        mechanism, faults = self.examine(strict)
        raise_or_warn(faults)
        assert mechanism
        return mechanism

    def examine(self, strict: bool = True, cycles: bool = True) -> tuple[Mechanism | None, list[Fault]]:
        """Return the mechanism and a list of all faults of its description, without raising or warning.

        Parameters
        ----------
        strict : bool, default True
            True: an inertia that no mass distribution can have is an error. False: it is a warning; see `build`.
        cycles : bool, default True
            True: if joints form a cycle, one of them becomes a loop closure. False: a cycle is an error.

        Returns
        -------
        mechanism : Mechanism or None
            The mechanism; None if the joints form no tree (apart from permitted cycles) or an element is invalid.
        faults : list of Fault
            Errors and warnings, each with `reason`, `element`, `remedy` and `severity`.

        Examples
        --------
        >>> mechanism, faults = lw.Builder().body("bob", 2.0).examine()
        >>> faults[0].reason
        'it is not the child of any joint'

        """
        judge = part_faults if strict else mass_faults
        faults = [fault for part in self._parts.values() for fault in judge(part)]
        whole = copy(self)
        if cycles:
            whole._joints, closing, about = spanned(self._joints, self._elements.get(closing_section, ()))
            faults += about
            loops = {**self._elements.get(closing_section, {}), **{one.name: one for one in closing}}
            whole._elements = {**self._elements, closing_section: loops}
        broken = list(islice(whole._faults(), MANY))
        faults += broken
        if broken:
            return None, faults
        mechanism = whole._numbered()
        faults += element_faults(mechanism)
        if not errors_in(faults):
            faults += [] if strict else [fault for body in mechanism.bodies for fault in tolerant_faults(body)]
            massless = massless_faults if strict else massless_warnings
            faults += [] if errors_in(faults) else massless(mechanism)
        return mechanism, faults

    def _refuse_taken(self, name: str, element: str) -> None:
        if name == "world" or name in self._parts or name in self._frames:
            raise ModelError("this name is already used by a body or frame; choose another", element)
