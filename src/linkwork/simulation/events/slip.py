"""Holders that slip above their capacity, and hold again when the speeds meet: clutches, brakes, ratchets.

Each that can slip has a number in the state: 0 while it holds, else the sign of its slip, against which it then pushes
with its capacity. While it holds it is a row of the mechanism, until that carries more than the capacity. A ratchet is
a clutch without capacity one way: ahead of it everything slips freely, and what falls behind is held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.algorithms.constraints.velocity_constraints import factors
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array, Number, where

STANDING = 1e-9  # slip [rad/s or m/s] that counts as none
LIGHT = 1e-9  # force [N m or N] beyond a capacity that counts as none


def may_be_finite(capacity: Any) -> bool:
    """Whether a capacity is finite, or may be: a number that hides its value may."""
    return np.asarray(capacity).dtype == object or bool(np.isfinite(capacity))


def holding(mechanism: Mechanism, slip: Array) -> Mechanism:
    """The mechanism in which those that slip hold nothing."""
    pairs = zip(mechanism.slippers, slip, strict=True)
    return mechanism.varied({f"{item.name}.engaged": item.engaged * where(s == 0.0, 1.0, 0.0) for item, s in pairs})


def unbounded(mechanism: Mechanism) -> Mechanism:
    """The mechanism in which those that can slip hold nothing: what is left has no bound on its forces."""
    return (
        mechanism.varied({f"{item.name}.engaged": 0.0 for item in mechanism.slippers})
        if mechanism.slippers
        else mechanism
    )


def slip_rows(mechanism: Mechanism) -> Array:
    """What slips (n, nv): rows times v, of those that can slip, engaged or not."""
    tree = [factors(mechanism.tree, next(iter(item.ties))) for item in mechanism.slippers]
    return np.array(tree).reshape(-1, mechanism.tree.nv) @ mechanism.spread


def slip_speeds(mechanism: Mechanism, v: Array) -> Array:
    """How fast each slips (n,) [rad/s or m/s]."""
    return slip_rows(mechanism) @ v


def slip_pushes(mechanism: Mechanism, slip: Iterable[Any]) -> list[Any]:
    """With what [N m or N] each that slips pushes against it, were it engaged."""
    found = []
    for item, s in zip(mechanism.slippers, slip, strict=True):
        backward, forward = (most if np.isfinite(most) else 0.0 for most in item.capacities)
        found.append(where(s > 0.0, -backward, where(s < 0.0, forward, 0.0)))
    return found


def slip_forces(mechanism: Mechanism, slip: Array) -> Array:
    """Joint forces (nv,) [N m or N] of those that slip."""
    pushes = zip(slip_pushes(mechanism, slip), mechanism.slippers, strict=True)
    return slip_rows(mechanism).T @ np.array([push * item.engaged for push, item in pushes])


def begun(slippers: Sequence[Any], speeds: Iterable[Any], slip: Iterable[Any]) -> list[Any]:
    """Which way each slips at these speeds; as `slip` says where that is none. What cannot slip that way holds."""
    found = []
    for item, w, s in zip(slippers, speeds, slip, strict=True):
        ahead, behind = (float(np.isfinite(most)) for most in item.capacities)
        found.append(where(w > STANDING, ahead, where(w < -STANDING, -behind, s)) * item.engaged)
    return found


def slip_margins(mechanism: Mechanism, slip: Array, v: Array, carried: Sequence[Number]) -> list[Number]:
    """Two for each (2n,), not negative as long as it slips the way it does, or holds what it carries [N m or N].

    The first is negative where it is to slip backward, or no longer does so; the second is that of slipping forward.
    """
    found: list[Number] = []
    for item, s, w, force in zip(mechanism.slippers, slip, slip_speeds(mechanism, v), carried, strict=True):
        backward, forward = (most + LIGHT if np.isfinite(most) else np.inf for most in item.capacities)
        less = forward - force if np.isfinite(forward) else 1.0
        more = force + backward if np.isfinite(backward) else 1.0
        on = item.engaged > 0.0
        found.append(where(on, where(s == 0.0, less, where(s < 0.0, STANDING - w, 1.0)), 1.0))
        found.append(where(on, where(s == 0.0, more, where(s > 0.0, w + STANDING, 1.0)), 1.0))
    return found


def one_lets_go(slip: Array, which: Sequence[Any]) -> list[Any]:
    """Of those margins (2n,) that became negative, all but those of holders that let go after the first.

    What is carried changes as one of them lets go, so that others may hold: they are looked at again.
    """
    found: list[Any] = []
    first: Number = 1.0
    for s, backward, forward in zip(slip, which[::2], which[1::2], strict=True):
        allowed = (s != 0.0) | (first == 1.0)
        found += [backward & allowed, forward & allowed]
        first = where((s == 0.0) & (backward | forward), 0.0, first)
    return found


def slipped(slip: Array, which: Sequence[Any]) -> list[Number]:
    """Which way each slips after some of those margins (2n,) became negative."""
    pairs = zip(slip, which[::2], which[1::2], strict=True)
    return [
        where(backward, where(s == 0.0, -1.0, 0.0), where(forward, where(s == 0.0, 1.0, 0.0), s))
        for s, backward, forward in pairs
    ]


def tie_speeds(mechanism: Mechanism, v: Array, given: Mapping[str, Array]) -> Iterator[tuple[str, Any, Array]]:
    """Every holder, as messages call it, with its parameters `given`, and how fast (...) it slips at v (..., nv)."""
    velocities = mechanism.tree_velocity(v)
    for what, items in mechanism.holder_kinds.items():
        for item in items:
            names = {key: f"{item.name}.{key}" for key in ("engaged", "ratio", "direction", "selected")}
            now = replace(item, **{key: given[name] for key, name in names.items() if name in given})
            for tie in now.ties:
                joints = [(mechanism.tree.joints[joint].v.start + k, by) for joint, k, by in tie.velocities]
                speed = sum((velocities[..., k] * by for k, by in joints), np.zeros(v.shape[:-1]))
                yield f"{what} {item.name!r}", now, speed
