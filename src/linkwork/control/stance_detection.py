"""Detection of the foot points in stance (on the ground), by one of four methods.

In stance are: all points, points whose contact penetrates a surface, points below a height, or all points of the feet
that a user's function selects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.algorithms.contact_kinematics import contact_kinematics
from linkwork.control.legs_and_feet import LeggedState, Stance
from linkwork.errors import LinkworkError, ShapeError
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array, Number, dot, maximum, where

CONTACTS = "contacts"
StanceDetector = Callable[
    [Any, LeggedState], list[list[Number]]
]  # function of (t, state) that returns 1 (in stance) or 0 for every point of every foot


def stance_detector(stance: Stance, given: Any) -> StanceDetector:
    """Return a function of (t, state) that detects which foot points are in stance (on the ground).

    The function takes the time t [s] and a `LeggedState`, and returns for each foot a list with 1 or 0 for each point.
    `stance` has the feet. `given` is the argument `standing` of `balance`: "contacts", a height [m] in the world, a
    function of (t, q, v), or None for all points.
    """
    points = stance.points()
    if given is None:
        always = [[1.0] * len(own) for own in points]
        return lambda t, now: always
    if isinstance(given, str):
        return _by_contacts(stance, given)
    if callable(given):
        return _by_function(given, [len(own) for own in points])
    if not (isinstance(given, (int, float)) and np.isfinite(given)):
        raise LinkworkError(
            f"standing must be {CONTACTS!r}, a height [m], a function of (t, q, v), or None for all feet; "
            f"got {given!r:.60}"
        )
    up = up_direction(stance.mechanism)

    def by_height(t: Any, now: LeggedState) -> list[list[Number]]:
        places = [now.poses[foot.body] @ foot.pose for foot in stance.feet]
        pairs = zip(places, points, strict=True)
        return [[where(dot(X.point(p), up) < given, 1.0, 0.0) for p in own] for X, own in pairs]

    return by_height


def up_direction(m: Mechanism) -> Array:
    """Return the unit vector (3,) opposite to gravity, in the world's axes; the z axis if there is no gravity."""
    size = np.linalg.norm(m.gravity)
    return -m.gravity / size if size > 0.0 else np.array([0.0, 0.0, 1.0])


def in_stance(points: Sequence[Number]) -> Number:
    """Return 1 if at least one point of a foot is in stance, else 0; `points` has 1 or 0 for each point."""
    found = points[0]
    for one in points[1:]:
        found = 1.0 if isinstance(found, float) and found == 1.0 else maximum(found, one)
    return found


def _by_contacts(stance: Stance, given: str) -> StanceDetector:
    """Return a detector for which the foot points whose contact penetrates a surface are in stance.

    Raise a LinkworkError if a foot of `stance` has no contacts, or `given` is not "contacts".
    """
    m = stance.mechanism
    if given != CONTACTS:
        raise LinkworkError(
            f"standing must be {CONTACTS!r}, a height [m], a function of (t, q, v), or None for all feet; got {given!r}"
        )
    numbers = []
    for foot in stance.feet:
        names = [c.name for c in m.contacts if c.at.body == foot.body]
        if not names:
            raise LinkworkError(
                f"standing={CONTACTS!r} needs contacts, but foot {foot.name!r} has none: "
                "add them with Builder.touch, or give a height"
            )
        numbers.append([[k for k, pair in enumerate(m.contact_pairs) if pair.contact.name == name] for name in names])

    def by_contacts(t: Any, now: LeggedState) -> list[list[Number]]:
        there, _ = contact_kinematics(m, now.q, now.v)
        inside = [where(at.distance < 0.0, 1.0, 0.0) for at in there]
        return [[in_stance([inside[k] for k in pairs]) for pairs in own] for own in numbers]

    return by_contacts


def _by_function(given: Callable[..., Any], sizes: Sequence[int]) -> StanceDetector:
    """Return a detector that calls the user's function `given` of (t, q, v), which returns one truth value per foot.

    The value of a foot holds for all its points; `sizes` has the number of points of each foot.
    """

    def by_function(t: Any, now: LeggedState) -> list[list[Number]]:
        found = list(given(t, now.q, now.v))
        if len(found) != len(sizes):
            raise ShapeError(f"standing must return {len(sizes)} values, one for each foot; got {len(found)}")
        return [[where(_is_true(one), 1.0, 0.0)] * size for one, size in zip(found, sizes, strict=True)]

    return by_function


def _is_true(value: Any) -> Any:
    """Return a truth value `value` of the user's function as a condition; a number above 0.5 counts as true."""
    return value if hasattr(value, "select") or isinstance(value, (bool, np.bool_)) else value > 0.5
