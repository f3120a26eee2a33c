"""Wheels on parallel shafts for tests of clutches, gears and brakes."""

from __future__ import annotations

from typing import Any

import linkwork as lw


def two_wheels() -> lw.Builder:
    """Return a Builder with wheels of 2 and 3 kg m^2 on the joints "a" and "b"."""
    b = lw.Builder("flywheels", gravity=(0, 0, 0))
    b.body("first", 1.0, inertia=(1, 1, 2)).body("second", 1.0, inertia=(2, 2, 3))
    return b.joint("a", lw.Revolute(), "world", "first").joint("b", lw.Revolute(), "world", "second", at=(1, 0, 0))


def flywheels(**clutch: Any) -> lw.Mechanism:
    """Return a mechanism of two wheels with a clutch between them; the arguments are options of the clutch."""
    return two_wheels().clutch("clutch", "a", "b", **clutch).build()


def shafts(count: int = 5) -> lw.Builder:
    """Return a Builder with equal wheels of 1 kg m^2 on the first `count` of the joints "a", "b", "c", "d", "e"."""
    b = lw.Builder("shafts", gravity=(0, 0, 0))
    for k, name in enumerate("abcde"[:count]):
        b.body(name, 1.0, inertia=(1, 1, 1)).joint(name, lw.Revolute(), "world", name, at=(k, 0, 0))
    return b
