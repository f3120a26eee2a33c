"""The only thing that changes: verbs that describe a mechanism piece by piece, then `build()`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Self

import numpy as np

from linkwork.errors import ModelError, listed, unknown_name
from linkwork.model.bodies import Attachment, Body, Frame, Part, six_inertias
from linkwork.model.faults import Fault, errors_in, settle
from linkwork.model.geometry import ROLES, Geometry, Role, Shape
from linkwork.model.joints import JointKind, Weld
from linkwork.model.mechanism import WORLD, Joint, Keyframe, Mechanism, numbered
from linkwork.model.mimic import Mimic, followed, mimic_faults
from linkwork.model.naming import Named
from linkwork.model.soundness import mass_faults, massless_faults, part_faults, tolerant_faults
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array

ZERO = (0.0, 0.0, 0.0)
UNNUMBERED = slice(0, 0)
SNAPPED = 4e-12  # how far snapping takes a rotation from being one: such are kept to the bit
MANY = 100  # faults of a tree that are worth telling
Acceptance = Callable[[Array], Array]  # which of some numbers are acceptable


@dataclass(frozen=True, eq=False)
class JointRequest:
    """What one call of `Builder.joint` said."""

    name: str
    kind: JointKind
    parent: str
    child: str
    offset: Transform
    numbers: dict[str, Array]


@dataclass(frozen=True, eq=False)
class FrameRequest:
    """What one call of `Builder.frame` said."""

    name: str
    body: str
    pose: Transform


class Builder:
    """Describes a mechanism: bodies, joints and frames in any order, then `build()`.

    `gravity` (3,) [m/s^2] is in the world's axes. Every verb returns the builder.
    """

    def __init__(self, name: str = "mechanism", gravity: Any = (0.0, 0.0, -9.81)):
        self.name = _name(name, "mechanism")
        self.gravity = _numbers(gravity, (3,), "gravity", f"mechanism {name!r}")
        self._parts: dict[str, Part] = {}
        self._joints: dict[str, JointRequest] = {}
        self._frames: dict[str, FrameRequest] = {}
        self._geometry: dict[str, list[Geometry]] = {}
        self._mimics: dict[str, Mimic] = {}
        self._keyframes: dict[str, dict[str, Array]] = {}

    def body(self, name: str, mass: float = 0.0, com: Any = ZERO, inertia: Any = ZERO) -> Self:
        """Add a rigid body.

        `mass` [kg]; `com` (3,) [m], the centre of mass in the body's frame; `inertia` [kg m^2] about the centre of
        mass in the body's axes: (ixx, iyy, izz), or (ixx, iyy, izz, ixy, ixz, iyz), or 3x3.
        """
        element = f"body {_name(name, 'body')!r}"
        self._refuse_taken(name, element)
        mass = float(_numbers(mass, (), "mass", element, _anything))
        com = _numbers(com, (3,), "com", element, _anything)
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
        element = f"joint {_name(name, 'joint')!r}"
        if name in self._joints:
            raise ModelError("there is already a joint of that name", element)
        if not isinstance(kind, JointKind):
            raise ModelError(f"kind must be a joint kind such as lw.Revolute(axis=(0, 0, 1)); got {kind!r}", element)
        lower, upper = _limits(limits, kind, element)
        rest = kind.neutral() if rest is None else _numbers(rest, (kind.nq,), "rest", element)
        numbers = {
            "armature": _not_negative(armature, kind, "armature", element),
            "damping": _not_negative(damping, kind, "damping", element),
            "stiffness": _not_negative(stiffness, kind, "stiffness", element),
            "rest": rest,
            "friction": _not_negative(friction, kind, "friction", element),
            "lower": lower,
            "upper": upper,
            "velocity_limit": _not_negative(velocity_limit, kind, "velocity_limit", element, _or_infinite),
            "effort_limit": _not_negative(effort_limit, kind, "effort_limit", element, _or_infinite),
        }
        offset = _placement(at, rpy, rotation, element)
        self._joints[name] = JointRequest(name, kind, str(parent), str(child), offset, numbers)
        return self

    def frame(self, name: str, body: str, at: Any = ZERO, rpy: Any = ZERO, *, rotation: Any = None) -> Self:
        """Name a frame on `body` (or "world"): `at` (3,) [m], `rpy` (3,) [rad] or `rotation` (3, 3) in its frame."""
        element = f"frame {_name(name, 'frame')!r}"
        self._refuse_taken(name, element)
        self._frames[name] = FrameRequest(name, str(body), _placement(at, rpy, rotation, element))
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
        if not isinstance(shape, Shape):
            raise ModelError(f"shape must be a shape such as lw.Box((1, 1, 1)); got {shape!r}", element)
        if role not in ROLES:
            raise ModelError(f"role must be one of {', '.join(ROLES)}; got {role!r}", element)
        if color is not None:
            rgba = _numbers(color, (4,), "color", element)
            if (rgba < 0.0).any() or (rgba > 1.0).any():
                raise ModelError(f"color must be four numbers from 0 to 1; got {color!r}", element)
            color = tuple(rgba.tolist())
        item = Geometry(shape, _placement(at, rpy, rotation, element), role, color, name)
        self._geometry.setdefault(str(body), []).append(item)
        return self

    def mimic(self, joint: str, of: str, multiplier: float = 1.0, offset: float = 0.0) -> Self:
        """Let `joint` follow the joint `of`: q = multiplier q_of + offset [rad or m]; both have one coordinate."""
        element = f"joint {_name(joint, 'joint')!r}"
        if joint in self._mimics:
            raise ModelError(f"it already mimics joint {self._mimics[joint].of!r}", element)
        numbers = (_numbers(x, (), what, element) for x, what in ((multiplier, "multiplier"), (offset, "offset")))
        self._mimics[joint] = Mimic(joint, _name(of, "joint"), *map(float, numbers))
        return self

    def keyframe(self, name: str, positions: Mapping[str, Any]) -> Self:
        """Name a position: coordinates [rad or m, or quaternions] of some joints by their names; others are neutral."""
        element = f"keyframe {_name(name, 'keyframe')!r}"
        if name in self._keyframes:
            raise ModelError("there is already a keyframe of that name", element)
        if not isinstance(positions, Mapping):
            raise ModelError(f"positions must be given by joint, as in {{'knee': 0.5}}; got {positions!r}", element)
        given = {joint: list(q) if np.iterable(q) else [q] for joint, q in positions.items()}
        self._keyframes[name] = {
            joint: _numbers(q, (len(q),), f"the position of joint {joint!r}", element) for joint, q in given.items()
        }
        return self

    @property
    def mimics(self) -> dict[str, Mimic]:
        """Every joint that mimics another, chains of them followed to the joint that moves on its own."""
        return followed(self._mimics)[0]

    def build(self, strict: bool = True) -> Mechanism:
        """The finished mechanism, or a ModelError that names what is wrong: masses and inertias, or the whole.

        With `strict=False` a part whose inertia no mass distribution has is warned about, not refused, where the body
        that it is welded into can be computed with.
        """
        mechanism, faults = self.examine(strict)
        settle(faults)
        assert mechanism
        return mechanism

    def examine(self, strict: bool = True) -> tuple[Mechanism | None, list[Fault]]:
        """The mechanism, unless its joints make no tree, and all that is wrong with it; see `build`."""
        judge = part_faults if strict else mass_faults
        faults = [fault for part in self._parts.values() for fault in judge(part)]
        children = self._children()
        broken = list(islice(self._tree_faults(children), MANY))
        faults += broken
        if broken:
            return None, faults
        mechanism = self._numbered(children)
        if not faults:
            faults += [] if strict else [fault for body in mechanism.bodies for fault in tolerant_faults(body)]
            faults += [] if errors_in(faults) else massless_faults(mechanism)
        return mechanism, faults

    def _refuse_taken(self, name: str, element: str) -> None:
        if name == "world" or name in self._parts or name in self._frames:
            raise ModelError("there is already a body or frame of that name", element)

    def _children(self) -> dict[str, list[JointRequest]]:
        """The joints on each body, in the order they were added."""
        children: dict[str, list[JointRequest]] = {name: [] for name in ("world", *self._parts)}
        for joint in self._joints.values():
            children.get(joint.parent, []).append(joint)
        return children

    def _tree_faults(self, children: dict[str, list[JointRequest]]) -> Iterator[Fault]:
        """Why this is not one tree hanging on the world, and who names what is not in it."""
        carried: dict[str, str] = {}
        sound = True
        for joint in self._joints.values():
            element = f"joint {joint.name!r}"
            for role, body in (("parent", joint.parent), ("child", joint.child)):
                if body not in children:
                    sound = False
                    yield Fault(f"its {role}: {unknown_name('body', body, children).reason}", element)
            if joint.child == "world":
                sound = False
                yield Fault("the world cannot be a child", element)
            if joint.child in carried:
                sound = False
                yield Fault(
                    f"its child {joint.child!r} is already carried by joint {carried[joint.child]!r}",
                    element,
                    "a body hangs on one joint",
                )
            carried.setdefault(joint.child, joint.name)
        yield from mimic_faults(self._mimics, {joint.name: joint.kind for joint in self._joints.values()})
        for request in self._frames.values():
            if request.body not in children:
                yield Fault(unknown_name("body", request.body, children).reason, f"frame {request.name!r}")
        for body in self._geometry:
            if body not in children:
                yield Fault(unknown_name("body", body, children).reason, f"geometry of body {body!r}")
        yield from self._keyframe_faults()
        if not sound:  # what follows would only repeat it
            return
        loose = [name for name in self._parts if name not in carried]
        for name in loose:
            yield Fault("no joint carries it", f"body {name!r}", "give it one, for example lw.Free() on the world")
        if not loose:
            reached, stack = {"world"}, ["world"]
            while stack:
                below = [joint.child for joint in children[stack.pop()]]
                reached.update(below)
                stack.extend(below)
            lost = [name for name in self._parts if name not in reached]
            if lost:
                others = f", as do: {listed(lost[1:])}" if lost[1:] else ""
                yield Fault(f"it hangs on a ring of joints that never reaches the world{others}", f"body {lost[0]!r}")

    def _keyframe_faults(self) -> Iterator[Fault]:
        for name, positions in self._keyframes.items():
            for joint, q in positions.items():
                kind = self._joints[joint].kind if joint in self._joints else None
                if kind is None:
                    yield Fault(unknown_name("joint", joint, self._joints).reason, f"keyframe {name!r}")
                elif q.shape != (kind.nq,):
                    reason = f"the position of joint {joint!r} must have {kind.nq} numbers; got {q.tolist()}"
                    yield Fault(reason, f"keyframe {name!r}")

    def _numbered(self, children: dict[str, list[JointRequest]]) -> Mechanism:
        """Number depth-first in the order joints were added; weld parts into bodies."""
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
                joints.append(Joint(*who, *spans, *placed, **request.numbers, carrier=request.parent))
            frames.append(Frame(part.name, *home[part.name]))
            stack.extend(reversed(children[part.name]))
        for request in self._frames.values():
            body, pose = home[request.body]
            attachment = Attachment(request.body, request.pose)
            frames.append(Frame(request.name, body, (pose @ request.pose).snapped(), attachment))
        elsewhere = {frame.name: f"It is a frame on {names[frame.body]!r}: see m.frames." for frame in frames}
        resolved = self.mimics
        mimics = Named("mimic", [resolved[joint.name] for joint in joints if joint.name in resolved])
        leaders = [joint for joint in joints if joint.name not in mimics]
        bodies = [Body(name, k, tuple(p)) for k, (name, p) in enumerate(zip(names, parts, strict=True))]
        return Mechanism(
            self.name,
            self.gravity,
            Named("body", bodies, elsewhere),
            numbered(Named("joint", joints), mimics),
            Named("frame", frames),
            mimics,
            Named("keyframe", [_keyframe(name, leaders, given) for name, given in self._keyframes.items()]),
        )


def _keyframe(name: str, joints: list[Joint], given: Mapping[str, Array]) -> Keyframe:
    """The position of the joints that have one of their own, neutral where none is given."""
    q = np.concatenate([np.zeros(0), *(given.get(joint.name, joint.kind.neutral()) for joint in joints)])
    q.flags.writeable = False  # a mechanism never changes
    return Keyframe(name, q)


# --- reading what users hand in ---


def _anything(array: Array) -> Array:
    """Numbers that `build()` checks together."""
    return np.full(array.shape, True)


def _or_infinite(array: Array) -> Array:
    return ~np.isnan(array)


def _name(name: object, what: str) -> str:
    if not isinstance(name, str) or not name.strip():
        raise ModelError(f"a {what} needs a name, a text that is not empty; got {name!r}")
    return name


def _numbers(value: Any, shape: tuple[int, ...], what: str, element: str, accept: Acceptance = np.isfinite) -> Array:
    """`value` as floats of the given shape, each of which `accept` must accept."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be numbers; got {value!r}", element) from None
    if array.shape != shape:
        wanted = " x ".join(map(str, shape)) + " numbers" if shape else "one number"
        raise ModelError(f"{what} must be {wanted}; got {value!r}", element)
    if not accept(array).all():
        raise ModelError(f"{what} must be finite; got {value!r}", element)
    array.flags.writeable = False  # a mechanism never changes
    return array


def _per_velocity(value: Any, kind: JointKind, what: str, element: str, accept: Acceptance = np.isfinite) -> Array:
    """One number for all velocities of a joint, or one for each: (nv,)."""
    return _numbers(np.full(kind.nv, value) if np.ndim(value) == 0 else value, (kind.nv,), what, element, accept)


def _not_negative(value: Any, kind: JointKind, what: str, element: str, accept: Acceptance = np.isfinite) -> Array:
    """The same, refusing numbers below zero."""
    array = _per_velocity(value, kind, what, element, accept)
    if (array < 0.0).any():
        raise ModelError(f"{what} must be >= 0; got {value!r}", element)
    return array


def _limits(limits: Any, kind: JointKind, element: str) -> tuple[Array, Array]:
    free = np.full(kind.nv, np.inf)
    if limits is None:
        return -free, free
    if kind.nq != kind.nv:
        raise ModelError(
            f"limits need one number per coordinate; a {type(kind).__name__} joint has a quaternion", element
        )
    try:
        lower, upper = limits
    except (TypeError, ValueError):
        raise ModelError(f"limits must be (lower, upper); got {limits!r}", element) from None
    lower, upper = (_per_velocity(end, kind, "limits", element, _or_infinite) for end in (lower, upper))
    if (lower > upper).any():
        raise ModelError(f"the lower limit must not exceed the upper one; got {limits!r}", element)
    return lower, upper


def _placement(at: Any, rpy: Any, rotation: Any, element: str) -> Transform:
    at = _numbers(at, (3,), "at", element)
    if rotation is None:
        return Transform.place(at, _numbers(rpy, (3,), "rpy", element)).snapped()
    R = _numbers(rotation, (3, 3), "rotation", element)
    left, _, right = np.linalg.svd(R)
    nearest = left @ right
    off = float(np.abs(nearest - R).max())
    if np.linalg.det(nearest) < 0.0 or off > 1e-6:
        raise ModelError(f"rotation must be a 3x3 rotation matrix; got {rotation!r}", element)
    return Transform(R if off < SNAPPED else nearest, at).snapped()
