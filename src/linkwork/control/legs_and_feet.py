"""Floating base, legs and feet of a legged mechanism, for the balance controller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.kinematics import Kinematics, kinematics, world_poses
from linkwork.algorithms.tree_traversal import to_root
from linkwork.control.controlled_plant import refuse_no_mechanism
from linkwork.errors import LinkworkError, listed
from linkwork.model.bodies import Frame
from linkwork.model.joints import Free
from linkwork.model.mechanism import Joint, Mechanism
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array

SOLE, POINT = 6, 3  # numbers of rows of a foot: 6 if it transmits a wrench, 3 if it transmits only a force
FEW_POINTS = {1: "rotation about the foot", 2: "rotation about the line through both feet"}


class LeggedState(NamedTuple):
    """One state of a legged mechanism: q (nq,), v (nv,), kinematics `motion`, and the world `poses` of its bodies."""

    q: Array
    v: Array
    motion: Kinematics
    poses: list[Transform]


def evaluated(m: Mechanism, q: Array, v: Array) -> LeggedState:
    """Return the state q (nq,), v (nv,) together with the kinematics and poses of all bodies."""
    motion = kinematics(m, q, v)
    return LeggedState(q, v, motion, world_poses(m, motion.X))


@dataclass(frozen=True, eq=False)
class Stance:
    """The floating base of a legged mechanism, its feet, and the legs between them.

    `base` is the free joint of the base. `feet` are the frames of the feet; a foot on the ground constrains `rows`
    components of its twist: 6, or 3 (linear) for a point foot. `legs` has, for each foot, the joints from the foot
    inward to the base. `carried` are all joints outboard of the base, inboard joints first.
    """

    mechanism: Mechanism
    base: Joint
    feet: tuple[Frame, ...]
    legs: tuple[tuple[Joint, ...], ...]
    carried: tuple[Joint, ...]
    rows: int

    @property
    def velocities(self) -> list[int]:
        """The indices in v (nv,) of the velocities of all joints outboard of the base, inboard joints first."""
        return [d for j in self.carried for d in range(j.v.start, j.v.stop)]

    def points(self) -> list[list[Array]]:
        """Return, for each foot, its contact points (3,) [m] in its frame; the frame's origin if it has no contacts."""
        found = []
        for foot in self.feet:
            own = [c.at.pose.p for c in self.mechanism.contacts if c.at.body == foot.body]
            found.append([foot.pose.R.T @ (p - foot.pose.p) for p in own] or [np.zeros(3)])
        return found


def stance(m: Mechanism, feet: Any, point_feet: bool) -> Stance:
    """Return the floating base and the legs of a mechanism for the named `feet` (frames or bodies).

    Raise a LinkworkError that names an unsuitable foot and the reason. If `point_feet` is true, the feet transmit
    forces but no torques.
    """
    refuse_no_mechanism(m)
    for what, there in (("loops, clutches or brakes", m.constrained), ("mimic joints", m.mimics)):
        if there:
            raise LinkworkError(f"balance supports only trees of independent joints; {m.name} has {what}")
    names = [feet] if isinstance(feet, str) else list(feet)
    if not names:
        raise LinkworkError(f"balance of {m.name} needs at least one foot; name a frame or body in feet=[...]")
    if len(set(names)) < len(names):
        raise LinkworkError(f"feet must be different; {listed(names)} contains a foot twice")
    frames = tuple(m.frames[name] for name in names)  # the error for an unknown name lists the valid ones
    paths = [list(to_root(m, foot.body)) for foot in frames]
    base = _base(m, names, paths)
    legs = tuple(tuple(path[: path.index(base)]) for path in paths)
    rows = POINT if point_feet else SOLE
    for name, leg in zip(names, legs, strict=True):
        _refuse_weak(name, leg, rows)
    if rows == POINT and len(legs) in FEW_POINTS:
        raise LinkworkError(
            f"{len(legs)} point feet cannot balance: nothing prevents {FEW_POINTS[len(legs)]}; name three feet, or set "
            "point_feet=False for feet that transmit torques"
        )
    carried = tuple(j for j in m.joints if j is not base and any(k is base for k in to_root(m, j.o)))
    return Stance(m, base, frames, legs, carried, rows)


def _base(m: Mechanism, names: Sequence[str], paths: Sequence[Sequence[Joint]]) -> Joint:
    """Return the free joint of the floating base, the body to which all legs are attached.

    `names` are the names of the feet, and `paths` the joints from each foot to the world.
    """
    roots = []
    for name, path in zip(names, paths, strict=True):
        if not path or not isinstance(path[-1].kind, Free):
            on = f"its root joint {path[-1].name!r} is a {type(path[-1].kind).__name__}" if path else "it is the world"
            raise LinkworkError(f"foot {name!r} has no floating base: {on}; the root joint must be a Free joint")
        roots.append(path[-1])
    for name, root in zip(names, roots, strict=True):
        if root is not roots[0]:
            bodies = f"{m.bodies[roots[0].o].name!r} and {m.bodies[root.o].name!r}"
            raise LinkworkError(
                f"feet {names[0]!r} and {name!r} have different bases, {bodies}; make one balance controller for each"
            )
    return roots[0]


def _refuse_weak(name: str, leg: Sequence[Joint], rows: int) -> None:
    """Raise a LinkworkError if a leg has too few velocities to move the base while its foot is on the ground.

    `leg` are the joints of the leg and `name` is the name of its foot. A foot in stance constrains `rows` components of
    its twist (6 or 3); the leg needs at least as many velocities.
    """
    freedoms = sum(j.kind.nv for j in leg)
    if freedoms >= rows:
        return
    if not leg:
        raise LinkworkError(f"foot {name!r} is on the base itself; it must be at the end of a leg with joints")
    short = rows - freedoms
    lost = f"its torques cannot control {short} direction{'s' if short > 1 else ''} of the base's motion"
    remedy = "" if rows == POINT else "; a foot that transmits only a force needs 3: set point_feet=True"
    raise LinkworkError(f"the leg to {name!r} has {freedoms} joint velocities, but needs {rows}: {lost}{remedy}")
