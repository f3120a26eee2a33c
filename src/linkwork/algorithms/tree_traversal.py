"""Iteration over the joints of a tree: outward, inward, and along the path of a body to the world."""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.model.mechanism import WORLD, Joint, Mechanism


def outward(mechanism: Mechanism) -> Iterator[Joint]:
    """Return all joints of a tree, inboard joints before outboard joints."""
    assert mechanism.tree is mechanism, "mechanism has mimic joints: use its tree (see algorithms.mimic_reduction)"
    return iter(mechanism.joints)


def inward(mechanism: Mechanism) -> Iterator[Joint]:
    """Return all joints of a tree, outboard joints before inboard joints."""
    return reversed(tuple(outward(mechanism)))


def to_root(mechanism: Mechanism, body: int) -> Iterator[Joint]:
    """Yield the joints between `body` and the world, outermost first."""
    while body != WORLD:
        joint = mechanism.joints[body - 1]
        yield joint
        body = joint.i


def to_common_ancestor(mechanism: Mechanism, a: int, b: int) -> tuple[list[Joint], list[Joint]]:
    """Return the joints on the paths from body a and from body b inward to their outermost common ancestor."""
    first, second = list(to_root(mechanism, a)), list(to_root(mechanism, b))
    while first and second and first[-1] is second[-1]:
        first.pop()
        second.pop()
    return first, second
