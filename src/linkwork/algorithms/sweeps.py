"""Outward and inward walks: the only loops over a tree."""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.model.mechanism import WORLD, Joint, Mechanism


def outward(mechanism: Mechanism) -> Iterator[Joint]:
    """Every joint, inboard ones before outboard ones."""
    assert not mechanism.mimics, "sweeps are over trees: see algorithms.coupled"
    return iter(mechanism.joints)


def inward(mechanism: Mechanism) -> Iterator[Joint]:
    """Every joint, outboard ones before inboard ones."""
    assert not mechanism.mimics, "sweeps are over trees: see algorithms.coupled"
    return reversed(mechanism.joints)


def to_root(mechanism: Mechanism, body: int) -> Iterator[Joint]:
    """The joints between `body` and the world, outermost first."""
    while body != WORLD:
        joint = mechanism.joints[body - 1]
        yield joint
        body = joint.i
