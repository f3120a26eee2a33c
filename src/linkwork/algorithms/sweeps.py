"""Outward and inward walks: the only loops over a tree."""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.model.mechanism import WORLD, Joint, Mechanism


def outward(mechanism: Mechanism) -> Iterator[Joint]:
    """Every joint, inboard ones before outboard ones."""
    assert mechanism.tree is mechanism, "sweeps are over trees: see algorithms.reduction"
    return iter(mechanism.joints)


def inward(mechanism: Mechanism) -> Iterator[Joint]:
    """Every joint, outboard ones before inboard ones."""
    return reversed(tuple(outward(mechanism)))


def to_root(mechanism: Mechanism, body: int) -> Iterator[Joint]:
    """The joints between `body` and the world, outermost first."""
    while body != WORLD:
        joint = mechanism.joints[body - 1]
        yield joint
        body = joint.i


def to_meeting(mechanism: Mechanism, a: int, b: int) -> tuple[list[Joint], list[Joint]]:
    """The joints between each of two bodies and the outermost body that both hang on, outermost first."""
    first, second = list(to_root(mechanism, a)), list(to_root(mechanism, b))
    while first and second and first[-1] is second[-1]:
        first.pop()
        second.pop()
    return first, second
