"""The arguments that a Builder collects before `build`, and the check that the joints make a tree."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from linkwork.errors import listed, unknown_name
from linkwork.model.joints import JointKind
from linkwork.model.mimic_joints import Mimic
from linkwork.model.model_definition_faults import Fault
from linkwork.model.named_collections import Named
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from linkwork.model.elements.element import Element
    from linkwork.model.mechanism import Joint

Homes = Mapping[str, tuple[int, Transform]]  # name of a part: number of its body, and its pose in that body's frame
Positions = Mapping[str, Array]  # name of a joint: its coordinates or velocities


class JointSpecification(NamedTuple):
    """The arguments of one call of `Builder.joint`, stored until `build`."""

    name: str
    kind: JointKind
    parent: str
    child: str
    offset: Transform
    numbers: dict[str, Array]


class FrameSpecification(NamedTuple):
    """The arguments of one call of `Builder.frame`, stored until `build`."""

    name: str
    body: str
    pose: Transform


class KeyframeSpecification(NamedTuple):
    """The arguments of one call of `Builder.keyframe`, stored until `build`."""

    name: str
    positions: Positions
    velocities: Positions


@dataclass(frozen=True, eq=False)
class Draft:
    """The content of a Builder before `build`: bodies, joints, mimic relations and elements.

    `bodies` are the names of all bodies. `joints` and `mimics` are by joint name. `elements` has one dict from name to
    element for each section, such as "clutches".
    """

    bodies: Collection[str]
    joints: Mapping[str, JointSpecification]
    mimics: Mapping[str, Mimic]
    elements: Mapping[str, Mapping[str, Element]]

    @cached_property
    def kinds(self) -> dict[str, JointKind]:
        """The kinds of all joints, by name."""
        return {joint.name: joint.kind for joint in self.joints.values()}


class Layout(NamedTuple):
    """The numbered bodies and joints of a mechanism, which `build` passes to each element that it attaches to them.

    `homes` maps the name of each part to the number of its body and its pose in that body's frame. `joints` are the
    numbered joints, `specifications` the arguments of `Builder.joint` by joint name, and `elements` the elements that
    are already attached, by section, such as "surfaces".
    """

    homes: Homes
    joints: Named[Joint]
    specifications: Mapping[str, JointSpecification]
    elements: Mapping[str, Named[Element]]


def tree_faults(joints: Iterable[JointSpecification], parts: Iterable[str]) -> Iterator[Fault]:
    """Yield a fault for each reason why the joints do not connect all parts in one tree rooted in the world.

    `parts` are the names of all bodies that were added, before welded ones are merged.
    """
    joints, parts = list(joints), list(parts)
    bodies = {"world": None} | dict.fromkeys(parts)
    carried: dict[str, str] = {}
    sound = True
    for joint in joints:
        element = f"joint {joint.name!r}"
        for role, body in (("parent", joint.parent), ("child", joint.child)):
            if body not in bodies:
                sound = False
                yield Fault(f"its {role}: {unknown_name('body', body, bodies).reason}", element)
        if joint.child == "world":
            sound = False
            yield Fault("the world cannot be a child", element, "swap parent and child")
        if joint.child in carried:
            sound = False
            yield Fault(
                f"its child {joint.child!r} is already the child of joint {carried[joint.child]!r}",
                element,
                "a body is the child of one joint only",
            )
        carried.setdefault(joint.child, joint.name)
    if not sound:  # the checks below would report the same faults again
        return
    loose = [name for name in parts if name not in carried]
    for name in loose:
        remedy = 'add a joint with this child, for example lw.Free() with the parent "world"'
        yield Fault("it is not the child of any joint", f"body {name!r}", remedy)
    lost = [] if loose else _never_reached(joints, parts)
    if lost:
        others = f"; the same holds for {listed(lost[1:])}" if lost[1:] else ""
        reason = f"it is on a cycle of joints that is not connected to the world{others}"
        yield Fault(reason, f"body {lost[0]!r}")


def _never_reached(joints: Iterable[JointSpecification], parts: Iterable[str]) -> list[str]:
    """Return the names of the parts that no chain of joints connects to the world."""
    below: dict[str, list[str]] = {}
    for joint in joints:
        below.setdefault(joint.parent, []).append(joint.child)
    reached, stack = {"world"}, ["world"]
    while stack:
        children = below.get(stack.pop(), [])
        reached.update(children)
        stack.extend(children)
    return [name for name in parts if name not in reached]


def keyframe_faults(keyframe: KeyframeSpecification, kinds: Mapping[str, JointKind]) -> Iterator[Fault]:
    """Yield a fault for each unknown joint, or wrong number of values, in a keyframe.

    `kinds` are the kinds of all joints by name.
    """
    element = f"keyframe {keyframe.name!r}"
    for what, role, given in (
        ("position", "positions", keyframe.positions),
        ("velocity", "velocities", keyframe.velocities),
    ):
        for joint, numbers in given.items():
            if joint not in kinds:
                yield from unknown_faults(element, "joint", {role: joint}, kinds)
                continue
            count = kinds[joint].nq if what == "position" else kinds[joint].nv
            if numbers.shape != (count,):
                yield Fault(f"the {what} of joint {joint!r} must have {count} numbers; got {numbers.tolist()}", element)


def unknown_faults(element: str, what: str, given: Mapping[str, str], valid: Collection[str]) -> Iterator[Fault]:
    """Yield a fault for each name that an element refers to and that does not exist.

    `given` maps roles to names, such as {"parent": "base"}; `what` is the kind of object that they name, and `valid`
    are the existing names.
    """
    for role, name in given.items():
        if name not in valid:
            yield Fault(f"{role}: {unknown_name(what, name, valid).reason}", element)
