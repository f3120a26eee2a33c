"""Spanning tree of the joints of a mechanism with cycles: the joints outside the tree become loop closures."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from linkwork.errors import listed
from linkwork.model.builder_specifications import JointSpecification
from linkwork.model.elements.element import Element
from linkwork.model.elements.loop import closing_joint
from linkwork.model.model_definition_faults import Fault

OWN = ("armature", "damping", "stiffness", "friction")


class Spanned(NamedTuple):
    """A spanning tree of joints, and loops for the joints outside the tree.

    `joints` are the joints of the spanning tree, `closing` the loops that replace the other joints, and `faults` the
    faults of joints that no loop can replace.
    """

    joints: dict[str, JointSpecification]
    closing: list[Element]
    faults: list[Fault]


def spanned(joints: Mapping[str, JointSpecification], loops: Collection[str]) -> Spanned:
    """Return a breadth-first spanning tree of the joints, rooted in the world, and loops for all other joints.

    A joint to a body that another joint has reached becomes a loop. Joints that no path connects to the world stay
    among the joints of the result, and the Builder reports them later. `loops` are the names of existing loops.
    """
    on: dict[str, list[JointSpecification]] = {}
    for joint in joints.values():
        on.setdefault(joint.parent, []).append(joint)
    reached, cut, queue = {"world"}, set[str](), deque(["world"])
    while queue:
        for joint in on.get(queue.popleft(), []):
            if joint.child in reached:
                cut.add(joint.name)
            else:
                reached.add(joint.child)
                queue.append(joint.child)
    tree = {name: joint for name, joint in joints.items() if name not in cut}
    closing = {name: joint for name, joint in joints.items() if name in cut}
    faults = [fault for joint in closing.values() for fault in _faults(joint, loops)]
    if closing and not faults:
        reason = f"joints make cycles; these joints became loop closures: {listed(closing)}"
        faults = [
            Fault(
                reason,
                "mechanism",
                "to choose the loop closures yourself, add them with `close` instead of `joint`",
                "warning",
            )
        ]
    return Spanned(tree, [closing_joint(joint) for joint in closing.values()], faults)


def _faults(joint: JointSpecification, loops: Collection[str]) -> Iterator[Fault]:
    """Yield a fault for each reason why a loop cannot replace the joint, such as damping, which a loop cannot have.

    `loops` are the names of existing loops.
    """
    element, remedy = f"joint {joint.name!r}", "set it on another joint of the cycle"
    cut = f"its child {joint.child!r} is already the child of another joint, so it would become a loop closure"
    lost = [key for key in OWN if joint.numbers[key].any()]
    lost += ["limits"] if np.isfinite([joint.numbers["lower"], joint.numbers["upper"]]).any() else []
    if lost:
        yield Fault(f"{cut}, which cannot have {lost[0]}", element, remedy)
    if not joint.kind.closing:
        yield Fault(f"{cut}, but its kind {type(joint.kind).__name__} imposes no constraint", element, "remove it")
    if joint.name in loops:
        yield Fault(f"{cut}, but a loop already has its name", element, "rename one of them")
