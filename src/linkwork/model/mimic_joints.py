"""Mimic joints, whose coordinate is q = multiplier q_of + offset, and chains of mimic joints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from linkwork.errors import listed, unknown_name
from linkwork.model.joints import JointKind
from linkwork.model.model_definition_faults import Fault
from linkwork.model.named_collections import Named
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from linkwork.model.mechanism import Joint

INDEPENDENT = "load a file with mimic=False to leave all joints independent"  # remedy in error messages


@dataclass(frozen=True)
class Mimic:
    """The mimic relation of the joint `joint` to the joint `of`: q = multiplier q_of + offset [rad or m]."""

    joint: str
    of: str
    multiplier: float = 1.0
    offset: float = 0.0

    @property
    def name(self) -> str:
        """The name of the mimic joint."""
        return self.joint

    def position(self, q: Array) -> Array:
        """Return the coordinate of the mimic joint [rad or m] for the coordinate q of the joint `of`."""
        return q * self.multiplier + self.offset

    def through(self, next_: Mimic) -> Mimic:
        """Return the composed relation of this mimic joint to the joint that its joint `of` itself mimics.

        `next_` is the mimic relation of the joint `of`.
        """
        return Mimic(
            self.joint,
            next_.of,
            self.multiplier * next_.multiplier,
            self.multiplier * next_.offset + self.offset,
        )


def resolved_chains(mimics: Mapping[str, Mimic]) -> tuple[dict[str, Mimic], list[list[str]]]:
    """Return the mimic relations to independent joints, by joint name, and the cycles of joints that mimic each other.

    If a joint mimics another mimic joint, the two relations are composed. Joints on a cycle, or that mimic a joint on a
    cycle, are not in the first result. `mimics` are the relations by joint name; each cycle is a list of names.
    """
    done: dict[str, Mimic] = {}
    rings: list[list[str]] = []
    lost: set[str] = set()  # joints on a cycle, or that mimic a joint on a cycle
    for first in mimics:
        path: dict[str, None] = {}
        name = first
        while name in mimics and name not in done and name not in lost and name not in path:
            path[name] = None
            name = mimics[name].of
        walked = list(path)
        if name in path:
            rings.append(walked[walked.index(name) :])
        if name in path or name in lost:
            lost.update(walked)
            continue
        for follower in reversed(walked):
            mimic = mimics[follower]
            done[follower] = mimic.through(done[mimic.of]) if mimic.of in done else mimic
    return done, rings


def mimic_faults(mimics: Mapping[str, Mimic], kinds: Mapping[str, JointKind]) -> Iterator[Fault]:
    """Yield a fault for each invalid mimic relation: unknown joints, unsuitable joint kinds, and cycles.

    `kinds` are the kinds of all joints by name. `mimics` are the mimic relations by joint name.
    """
    valid = [name for name, kind in kinds.items() if kind.nq == kind.nv == 1]
    for mimic in mimics.values():
        element = f"joint {mimic.joint!r}"
        for role, name in (("it", mimic.joint), ("the joint that it mimics", mimic.of)):
            if name not in kinds:
                reason = unknown_name("joint", name, valid).reason.removesuffix(".")
                yield Fault(f"{role}: {reason}", element, INDEPENDENT)
            elif not kinds[name].nq == kinds[name].nv == 1:
                kind = type(kinds[name]).__name__
                yield Fault(
                    f"{role}, {name!r}, is a {kind} joint; a mimic relation needs joints with one coordinate",
                    element,
                    INDEPENDENT,
                )
    for ring in resolved_chains(mimics)[1]:
        if len(ring) == 1:
            yield Fault("it mimics itself", f"joint {ring[0]!r}", "name another joint")
        else:
            reason = f"these joints mimic each other in a cycle: {listed(ring)}"
            yield Fault(reason, f"joint {ring[0]!r}", "make one of them independent")


def numbered(joints: Named[Joint], mimics: Mapping[str, Mimic] = MappingProxyType({})) -> Named[Joint]:
    """Return the `joints` with their slices of q and v, and with their mimic relations `mimics` by joint name.

    A mimic joint has the slices of its independent joint.
    """
    slices: dict[str, tuple[slice, slice]] = {}
    nq = nv = 0
    for joint in joints:
        if joint.name not in mimics:
            slices[joint.name] = slice(nq, nq + joint.kind.nq), slice(nv, nv + joint.kind.nv)
            nq, nv = nq + joint.kind.nq, nv + joint.kind.nv
    found = []
    for joint in joints:
        mimic = mimics.get(joint.name)
        q, v = slices[joint.name if mimic is None else mimic.of]
        found.append(replace(joint, q=q, v=v, mimic=mimic))
    return joints.replaced(found)
