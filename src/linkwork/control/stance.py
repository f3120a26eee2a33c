"""How a mechanism stands: a base that floats, and legs from it to feet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.kinematics import Kinematics, kinematics, world_poses
from linkwork.algorithms.sweeps import to_root
from linkwork.control.plant import refuse_no_mechanism
from linkwork.errors import LinkworkError, listed
from linkwork.model.bodies import Frame
from linkwork.model.joints import Free
from linkwork.model.mechanism import Joint, Mechanism
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array

SOLE, POINT = 6, 3  # rows of a foot: it takes a wrench, or a force alone
FEW_POINTS = {1: "turns about the one foot", 2: "the turn about the line through both feet"}


class Now(NamedTuple):
    """One state of a mechanism: q (nq,), v (nv,), how its bodies move, and their poses in the world."""

    q: Array
    v: Array
    motion: Kinematics
    poses: list[Transform]


def seen(m: Mechanism, q: Array, v: Array) -> Now:
    """The state q (nq,), v (nv,) with what follows from it."""
    motion = kinematics(m, q, v)
    return Now(q, v, motion, world_poses(m, motion.X))


@dataclass(frozen=True, eq=False)
class Stance:
    """A base whose free joint is `base`, and feet: frames, each of `rows` rows, at the ends of legs.

    `legs` are the joints from each foot inward to the base. `carried` are all joints that the base carries, inboard
    ones first.
    """

    mechanism: Mechanism
    base: Joint
    feet: tuple[Frame, ...]
    legs: tuple[tuple[Joint, ...], ...]
    carried: tuple[Joint, ...]
    rows: int

    @property
    def velocities(self) -> list[int]:
        """The numbers of all velocities that the base carries, in order; not its own."""
        return [d for j in self.carried for d in range(j.v.start, j.v.stop)]

    def points(self) -> list[list[Array]]:
        """Where each foot can touch, points (3,) [m] in its frame: those of its contacts, or its origin without any."""
        found = []
        for foot in self.feet:
            own = [c.at.pose.p for c in self.mechanism.contacts if c.at.body == foot.body]
            found.append([foot.pose.R.T @ (p - foot.pose.p) for p in own] or [np.zeros(3)])
        return found


def stance(m: Mechanism, feet: Any, point_feet: bool) -> Stance:
    """The stance of a tree on the named feet, frames or bodies; errors say what is missing."""
    refuse_no_mechanism(m)
    for what, there in (("loops, clutches or brakes", m.constrained), ("joints that mimic others", m.mimics)):
        if there:
            raise LinkworkError(f"balance is for trees, whose legs move freely; {m.name} has {what}")
    names = [feet] if isinstance(feet, str) else list(feet)
    if not names:
        raise LinkworkError(f"{m.name} stands on nothing: name at least one foot, a frame or body")
    if len(set(names)) < len(names):
        raise LinkworkError(f"feet {listed(names)} name one foot twice")
    frames = tuple(m.frames[name] for name in names)  # an unknown name is told with those that there are
    paths = [list(to_root(m, foot.body)) for foot in frames]
    base = _base(m, names, paths)
    legs = tuple(tuple(path[: path.index(base)]) for path in paths)
    rows = POINT if point_feet else SOLE
    for name, leg in zip(names, legs, strict=True):
        _refuse_weak(name, leg, rows)
    if rows == POINT and len(legs) in FEW_POINTS:
        raise LinkworkError(
            f"{len(legs)} point feet cannot balance: nothing holds {FEW_POINTS[len(legs)]}; name three feet, or let "
            "feet take torques by point_feet=False"
        )
    carried = tuple(j for j in m.joints if j is not base and any(k is base for k in to_root(m, j.o)))
    return Stance(m, base, frames, legs, carried, rows)


def _base(m: Mechanism, names: Sequence[str], paths: Sequence[Sequence[Joint]]) -> Joint:
    """The free joint on which all feet hang."""
    roots = []
    for name, path in zip(names, paths, strict=True):
        if not path or not isinstance(path[-1].kind, Free):
            on = f"it hangs on {path[-1].name!r}, a {type(path[-1].kind).__name__} joint" if path else "it is the world"
            raise LinkworkError(f"foot {name!r} carries no base that floats: {on}; its root must be a Free joint")
        roots.append(path[-1])
    for name, root in zip(names, roots, strict=True):
        if root is not roots[0]:
            bodies = f"{m.bodies[roots[0].o].name!r} and {m.bodies[root.o].name!r}"
            raise LinkworkError(f"feet {names[0]!r} and {name!r} carry different bases, {bodies}: balance each alone")
    return roots[0]


def _refuse_weak(name: str, leg: Sequence[Joint], rows: int) -> None:
    """A leg moves the base in as many directions as it has velocities, at most."""
    freedoms = sum(j.kind.nv for j in leg)
    if freedoms >= rows:
        return
    if not leg:
        raise LinkworkError(f"foot {name!r} is on the base itself: a leg of joints must lead to it")
    short = rows - freedoms
    lost = (
        f"{short} direction{'s' if short > 1 else ''} of the base's motion, which no torque could reach, would be lost"
    )
    remedy = "" if rows == POINT else "; if it is a point that takes a force alone, point_feet=True needs 3"
    raise LinkworkError(
        f"the leg to {name!r} has {freedoms} velocities, and a foot of {rows} rows needs {rows}: {lost}{remedy}"
    )
