"""The only thing that changes: verbs that describe a mechanism piece by piece, then `build()`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import fields, replace
from itertools import islice
from typing import Any, Self

import numpy as np

from linkwork.errors import ModelError, unknown_name
from linkwork.model.arguments import (
    anything,
    checked_name,
    joint_kind,
    joint_limits,
    new_element,
    not_negative,
    number_of,
    numbers_by_joint,
    numbers_of,
    or_infinite,
    placement,
)
from linkwork.model.bodies import Attachment, Body, Frame, Part, six_inertias
from linkwork.model.elements import Verbs
from linkwork.model.elements.element import Element, kinds
from linkwork.model.elements.keys import ZERO
from linkwork.model.elements.loop import closing_section
from linkwork.model.elements.velocity_constraint import shared_name_faults
from linkwork.model.faults import Fault, errors_in, settle
from linkwork.model.geometry import ROLES, Geometry, Role, Shape, checked_shape
from linkwork.model.joints import JointKind, Weld
from linkwork.model.keyframes import Keyframe
from linkwork.model.mechanism import WORLD, Joint, Mechanism, numbered
from linkwork.model.mimic import Mimic, followed, mimic_faults
from linkwork.model.naming import Named, Sections
from linkwork.model.physical_validity import (
    element_faults,
    mass_faults,
    massless_faults,
    part_faults,
    tolerant_faults,
)
from linkwork.model.spanning_tree import spanned
from linkwork.model.specifications import (
    Draft,
    FrameRequest,
    JointRequest,
    KeyframeRequest,
    Layout,
    keyframe_faults,
    tree_faults,
    unknown_faults,
)
from linkwork.spatial import Transform

UNNUMBERED = slice(0, 0)
MANY = 100  # faults of a tree that are worth telling


class Builder(Verbs):
    """Describes a mechanism: bodies, joints and whatever else there is, in any order, then `build()`.

    `gravity` (3,) [m/s^2] is in the world's axes. Every verb returns the builder.
    """

    def __init__(self, name: str = "mechanism", gravity: Any = (0.0, 0.0, -9.81)):
        self.name = checked_name(name, "mechanism")
        self.gravity = numbers_of(gravity, (3,), "gravity", f"mechanism {name!r}")
        self._parts: dict[str, Part] = {}
        self._joints: dict[str, JointRequest] = {}
        self._frames: dict[str, FrameRequest] = {}
        self._geometry: dict[str, list[Geometry]] = {}
        self._mimics: dict[str, Mimic] = {}
        self._keyframes: dict[str, KeyframeRequest] = {}
        self._elements: dict[str, dict[str, Element]] = {}

    def body(self, name: str, mass: float = 0.0, com: Any = ZERO, inertia: Any = ZERO) -> Self:
        """Add a rigid body.

        `mass` [kg]; `com` (3,) [m], the centre of mass in the body's frame; `inertia` [kg m^2] about the centre of
        mass in the body's axes: (ixx, iyy, izz), or (ixx, iyy, izz, ixy, ixz, iyz), or 3x3.
        """
        element = f"body {checked_name(name, 'body')!r}"
        self._refuse_taken(name, element)
        mass = number_of(mass, "mass", element, anything)
        com = numbers_of(com, (3,), "com", element, anything)
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
        """Join `child` to `parent` (the name of a body, or "world").

        `at` (3,) [m] and `rpy` (3,) [rad], or a `rotation` (3, 3) instead, place the joint in the parent's frame; the
        child's frame is that frame, moved by the joint. The other numbers are one for the joint or one per
        velocity: `armature`, the inertia of the drive as the joint feels it [kg m^2 or kg], `damping`
        [N m s/rad or N s/m], `stiffness` [N m/rad or N/m] towards the coordinates `rest` (neutral if not given),
        dry `friction` [N m or N]; `limits` is (lower, upper) [rad or m], `velocity_limit` [rad/s or m/s],
        `effort_limit` [N m or N].
        """
        element = new_element(self._joints, "joint", name)
        kind = joint_kind(kind, element)
        lower, upper = joint_limits(limits, kind, element)
        rest = kind.neutral() if rest is None else numbers_of(rest, (kind.nq,), "rest", element)
        numbers = {
            "armature": not_negative(armature, kind, "armature", element),
            "damping": not_negative(damping, kind, "damping", element),
            "stiffness": not_negative(stiffness, kind, "stiffness", element),
            "rest": rest,
            "friction": not_negative(friction, kind, "friction", element),
            "lower": lower,
            "upper": upper,
            "velocity_limit": not_negative(velocity_limit, kind, "velocity_limit", element, or_infinite),
            "effort_limit": not_negative(effort_limit, kind, "effort_limit", element, or_infinite),
        }
        offset = placement(at, rpy, rotation, element)
        self._joints[name] = JointRequest(name, kind, str(parent), str(child), offset, numbers)
        return self

    def frame(self, name: str, body: str, at: Any = ZERO, rpy: Any = ZERO, *, rotation: Any = None) -> Self:
        """Name a frame on `body` (or "world"): `at` (3,) [m], `rpy` (3,) [rad] or `rotation` (3, 3) in its frame."""
        element = f"frame {checked_name(name, 'frame')!r}"
        self._refuse_taken(name, element)
        self._frames[name] = FrameRequest(name, str(body), placement(at, rpy, rotation, element))
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
        """Give `body` (or "world") a shape, such as lw.Box((1, 1, 1)), for viewing or for contact.

        `at` (3,) [m], `rpy` (3,) [rad] or `rotation` (3, 3) place it in the body's frame; `role` is "visual" or
        "collision"; `color` is (red, green, blue, opacity), each from 0 to 1.
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
        """Let `joint` follow the joint `of`: q = multiplier q_of + offset [rad or m]; both have one coordinate."""
        element = f"joint {checked_name(joint, 'joint')!r}"
        if joint in self._mimics:
            raise ModelError(f"it already mimics joint {self._mimics[joint].of!r}", element)
        numbers = number_of(multiplier, "multiplier", element), number_of(offset, "offset", element)
        self._mimics[joint] = Mimic(joint, checked_name(of, "joint"), *numbers)
        return self

    def keyframe(
        self, name: str, positions: Mapping[str, Any] | None = None, velocities: Mapping[str, Any] | None = None
    ) -> Self:
        """Name a state: coordinates [rad or m, or quaternions] of some joints by their names; others are neutral.

        So with `velocities` [rad/s or m/s]; others are zero.
        """
        element = new_element(self._keyframes, "keyframe", name)
        q = numbers_by_joint({} if positions is None else positions, "positions", "the position", element)
        v = numbers_by_joint({} if velocities is None else velocities, "velocities", "the velocity", element)
        self._keyframes[name] = KeyframeRequest(name, q, v)
        return self

    def add(self, element: Element) -> Self:
        """Put an element on the mechanism: one of a user's own kind, or one that another mechanism has."""
        if not isinstance(element, Element) or element.section not in kinds():
            raise ModelError(f"what is added is an element, of a class with a section; got {element!r:.80}")
        if element.section in {field.name for field in fields(Mechanism)} or hasattr(Mechanism, element.section):
            raise ModelError(f"its section {element.section!r} is an attribute of all mechanisms", element.label)
        there = self._elements.setdefault(element.section, {})
        for one in element.several():
            new_element(there, one.what, one.name)
            there[one.name] = one.checked()
        return self

    @property
    def mimics(self) -> dict[str, Mimic]:
        """Every joint that mimics another, chains of them followed to the joint that moves on its own."""
        return followed(self._mimics)[0]

    def build(self, strict: bool = True) -> Mechanism:
        """The finished mechanism, or a ModelError that names what is wrong: masses and inertias, or the whole.

        With `strict=False` a part whose inertia no mass distribution has is warned about, not refused, where the body
        that it is welded into can be computed with. Where joints make cycles, a shallow tree of them is kept and the
        others close loops; a warning says which.
        """
        mechanism, faults = self.examine(strict)
        settle(faults)
        assert mechanism
        return mechanism

    def examine(self, strict: bool = True, cycles: bool = True) -> tuple[Mechanism | None, list[Fault]]:
        """The mechanism, unless its joints make no tree (or `cycles`, where not allowed), and all that is wrong."""
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
            faults += [] if errors_in(faults) else massless_faults(mechanism)
        return mechanism, faults

    def _refuse_taken(self, name: str, element: str) -> None:
        if name == "world" or name in self._parts or name in self._frames:
            raise ModelError("there is already a body or frame of that name", element)

    def _faults(self) -> Iterator[Fault]:
        """Why this is not one tree hanging on the world, and who names what is not in it."""
        yield from tree_faults(self._joints.values(), self._parts)
        bodies = {"world": None} | dict.fromkeys(self._parts)
        joints = {joint.name: joint.kind for joint in self._joints.values()}
        yield from mimic_faults(self._mimics, joints)
        for frame in self._frames.values():
            yield from unknown_faults(f"frame {frame.name!r}", "body", {"its body": frame.body}, bodies)
        for body in self._geometry:
            if body not in bodies:
                yield Fault(unknown_name("body", body, bodies).reason, f"geometry of body {body!r}")
        for keyframe in self._keyframes.values():
            yield from keyframe_faults(keyframe, joints)
        elements = {section: self._elements.get(section, {}) for section in kinds()}
        draft = Draft(bodies, self._joints, self.mimics, elements)
        for one in (one for items in elements.values() for one in items.values()):
            yield from one.draft_faults(draft)
        yield from shared_name_faults(one for items in elements.values() for one in items.values())

    def _children(self) -> dict[str, list[JointRequest]]:
        """The joints on each body, in the order they were added."""
        children: dict[str, list[JointRequest]] = {name: [] for name in ("world", *self._parts)}
        for joint in self._joints.values():
            children[joint.parent].append(joint)
        return children

    def _numbered(self) -> Mechanism:
        """Number depth-first in the order joints were added; weld parts into bodies."""
        children = self._children()
        shapes = {name: tuple(items) for name, items in self._geometry.items()}
        ground = Part("world", 0.0, np.zeros(3), np.zeros(6), Transform.identity(), shapes.get("world", ()))
        parts: list[list[Part]] = [[ground] if ground.geometry else []]
        names, joints, frames = ["world"], [], [Frame("world", WORLD, Transform.identity())]
        home: dict[str, tuple[int, Transform]] = {"world": (WORLD, Transform.identity())}  # body and pose of each part
        stack = list(reversed(children["world"]))
        while stack:
            request = stack.pop()
            i, mount = home[request.parent]
            part = replace(self._parts[request.child], geometry=shapes.get(request.child, ()))
            if isinstance(request.kind, Weld):
                home[part.name] = i, (mount @ request.offset).snapped()
                attachment = Attachment(request.parent, request.offset, request.name)
                parts[i].append(replace(part, pose=home[part.name][1], attachment=attachment))
            else:
                o = len(names)
                home[part.name] = o, Transform.identity()
                names.append(part.name)
                parts.append([part])
                who, placed = (request.name, request.kind, names[i], part.name, i, o), (mount, request.offset)
                spans = UNNUMBERED, UNNUMBERED
                joints.append(Joint(*who, *spans, *placed, **request.numbers, carrier=request.parent, mimic=None))
            frames.append(Frame(part.name, *home[part.name]))
            stack.extend(reversed(children[part.name]))
        for request in self._frames.values():
            body, pose = home[request.body]
            attachment = Attachment(request.body, request.pose)
            frames.append(Frame(request.name, body, (pose @ request.pose).snapped(), attachment))
        elsewhere = {frame.name: f"It is a frame on {names[frame.body]!r}: see m.frames." for frame in frames}
        own = numbered(Named("joint", joints), self.mimics)
        leaders = [joint for joint in own if joint.mimic is None]
        bodies = [Body(name, k, tuple(p)) for k, (name, p) in enumerate(zip(names, parts, strict=True))]
        states = [Keyframe.of(k.name, k.positions, k.velocities, leaders) for k in self._keyframes.values()]
        elements: dict[str, Named[Element]] = {}
        layout = Layout(home, own, self._joints, elements)
        for section, class_ in kinds().items():
            items = self._elements.get(section, {}).values()
            elements[section] = Named(class_.what, [one.laid_out(layout) for one in items])
        return Mechanism(
            self.name,
            self.gravity,
            Named("body", bodies, elsewhere),
            own,
            Named("frame", frames),
            Named("keyframe", states),
            Sections(elements),
        )
