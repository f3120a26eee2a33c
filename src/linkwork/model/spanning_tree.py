"""Joints that make cycles: a tree of them is kept, the others close loops."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from linkwork.errors import listed
from linkwork.model.elements.element import Element
from linkwork.model.elements.loop import closing_joint
from linkwork.model.faults import Fault
from linkwork.model.specifications import JointRequest

OWN = ("armature", "damping", "stiffness", "friction")


class Spanned(NamedTuple):
    """Joints that make a tree, the loops that others close, and what is to be said of these."""

    joints: dict[str, JointRequest]
    closing: list[Element]
    faults: list[Fault]


def spanned(joints: Mapping[str, JointRequest], loops: Collection[str]) -> Spanned:
    """The joints of a shallow tree that hangs on the world, in their order, and the others as loops.

    `loops` are names that are taken. Bodies are reached from the world breadth first, so that each hangs as near to it
    as joints allow; a joint to a body that was reached before is cut. Joints that nothing leads to stay as they are:
    there is no tree then.
    """
    on: dict[str, list[JointRequest]] = {}
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
        reason = f"joints make cycles, which are cut at {listed(closing)}: loops are closed there"
        faults = [Fault(reason, "mechanism", "name them in `close` to say so yourself", "warning")]
    return Spanned(tree, [closing_joint(joint) for joint in closing.values()], faults)


def _faults(joint: JointRequest, loops: Collection[str]) -> Iterator[Fault]:
    """What is lost where a joint is cut: loops have no inertia, springs, dampers or limits, and names of their own."""
    element, remedy = f"joint {joint.name!r}", "give that to another joint of the cycle"
    lost = [key for key in OWN if joint.numbers[key].any()]
    lost += ["limits"] if np.isfinite([joint.numbers["lower"], joint.numbers["upper"]]).any() else []
    if lost:
        yield Fault(f"its child {joint.child!r} hangs on joints already, and loops have no {lost[0]}", element, remedy)
    if not joint.kind.closing:
        yield Fault(f"its child {joint.child!r} hangs on joints already, and it closes nothing", element)
    if joint.name in loops:
        yield Fault(f"its child {joint.child!r} hangs on joints already, and there is a loop of its name", element)
