"""What a Builder was given: joints, frames, states and elements; and why that makes no mechanism."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from linkwork.errors import listed, unknown_name
from linkwork.model.faults import Fault
from linkwork.model.joints import JointKind
from linkwork.model.mimic import Mimic
from linkwork.model.naming import Named
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from linkwork.model.elements.element import Element
    from linkwork.model.mechanism import Joint

Homes = Mapping[str, tuple[int, Transform]]  # by part: the number of its body, and its pose there
Positions = Mapping[str, Array]  # numbers by the names of joints


class JointRequest(NamedTuple):
    """What one call of `Builder.joint` said."""

    name: str
    kind: JointKind
    parent: str
    child: str
    offset: Transform
    numbers: dict[str, Array]


class FrameRequest(NamedTuple):
    """What one call of `Builder.frame` said."""

    name: str
    body: str
    pose: Transform


class KeyframeRequest(NamedTuple):
    """What one call of `Builder.keyframe` said."""

    name: str
    positions: Positions
    velocities: Positions


@dataclass(frozen=True, eq=False)
class Draft:
    """What a Builder has: names of `bodies`, `joints` as given, who `mimics` whom, `elements` by section and name."""

    bodies: Collection[str]
    joints: Mapping[str, JointRequest]
    mimics: Mapping[str, Mimic]
    elements: Mapping[str, Mapping[str, Element]]

    @cached_property
    def kinds(self) -> dict[str, JointKind]:
        """The kinds of all joints."""
        return {joint.name: joint.kind for joint in self.joints.values()}


class Layout(NamedTuple):
    """The numbered tree: where parts are (`homes`), its `joints`, and joints as given (`requests`).

    `elements` has those sections that are on the tree already.
    """

    homes: Homes
    joints: Named[Joint]
    requests: Mapping[str, JointRequest]
    elements: Mapping[str, Named[Element]]


def tree_faults(joints: Iterable[JointRequest], parts: Iterable[str]) -> Iterator[Fault]:
    """Why these joints do not make one tree of these parts, hanging on the world."""
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
            yield Fault("the world cannot be a child", element)
        if joint.child in carried:
            sound = False
            yield Fault(
                f"its child {joint.child!r} is already carried by joint {carried[joint.child]!r}",
                element,
                "a body hangs on one joint",
            )
        carried.setdefault(joint.child, joint.name)
    if not sound:  # what follows would only repeat it
        return
    loose = [name for name in parts if name not in carried]
    for name in loose:
        yield Fault("no joint carries it", f"body {name!r}", "give it one, for example lw.Free() on the world")
    lost = [] if loose else _never_reached(joints, parts)
    if lost:
        others = f", as do: {listed(lost[1:])}" if lost[1:] else ""
        yield Fault(f"it hangs on a ring of joints that never reaches the world{others}", f"body {lost[0]!r}")


def _never_reached(joints: Iterable[JointRequest], parts: Iterable[str]) -> list[str]:
    """The parts that no chain of joints joins to the world."""
    below: dict[str, list[str]] = {}
    for joint in joints:
        below.setdefault(joint.parent, []).append(joint.child)
    reached, stack = {"world"}, ["world"]
    while stack:
        children = below.get(stack.pop(), [])
        reached.update(children)
        stack.extend(children)
    return [name for name in parts if name not in reached]


def keyframe_faults(keyframe: KeyframeRequest, kinds: Mapping[str, JointKind]) -> Iterator[Fault]:
    """What is wrong with a keyframe of joints of these kinds."""
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
    """What is named but is not there: `given` has names of a `what` by the role in which each is given."""
    for role, name in given.items():
        if name not in valid:
            yield Fault(f"{role}: {unknown_name(what, name, valid).reason}", element)
