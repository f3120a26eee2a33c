"""Ratchets and latches: couplings that hold one way only, and locks that fall in by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from linkwork.model.elements.clutches import Side, Tie, side_faults, summed
from linkwork.model.faults import Fault
from linkwork.model.joints import JointKind
from linkwork.model.mimic import Mimic
from linkwork.spatial.scalar import Number

SIDES = {"below": -1.0, "above": 1.0, "both": 0.0}  # from which a latch is reached


@dataclass(frozen=True)
class Ratchet:
    """Lets its side `b` run ahead of ratio times its side `a`, but not fall behind: v_b >= ratio v_a while `engaged`.

    Without b, a itself turns forward only. With the `direction` -1 it is the other way round. It slips above its
    `capacity`, the force with which it can push b [N m or N]; ahead of it, b is free.
    """

    name: str
    a: Side
    b: Side | None
    ratio: Number
    capacity: float
    engaged: Number
    direction: Number = 1.0

    @property
    def ties(self) -> Iterator[Tie]:
        """What it holds together while it holds: how fast b runs ahead is zero."""
        ahead = [(joint, factor) for joint, factor in summed(self.a if self.b is None else self.b)]
        behind = [] if self.b is None else [(joint, -self.ratio * factor) for joint, factor in summed(self.a)]
        velocities = [(joint, 0, self.direction * factor) for joint, factor in (*ahead, *behind)]
        yield Tie(self.name, tuple(velocities), self.engaged)

    @property
    def capacities(self) -> tuple[float, float]:
        """The most that it can push [N m or N] against what runs ahead, and against what falls behind."""
        return 0.0, self.capacity

    def faults(self, kinds: Mapping[str, JointKind], mimics: Mapping[str, Mimic]) -> Iterator[Fault]:
        """What is wrong with it, given the kinds of all joints and who follows whom."""
        sides = {"joint a": self.a} | ({} if self.b is None else {"joint b": self.b})
        yield from side_faults("ratchet", self.name, sides, kinds, mimics)


@dataclass(frozen=True)
class Latch:
    """Holds a joint from when it reaches the position `at` [rad or m], until it is released.

    `side` says from where it must come: "below", "above" or "both".
    """

    name: str
    joint: str
    at: float
    side: str
    engaged: Number

    @property
    def ties(self) -> Iterator[Tie]:
        """What it holds still."""
        yield Tie(self.name, ((self.joint, 0, 1.0),), self.engaged)

    @property
    def capacities(self) -> tuple[float, float]:
        """The most that it can hold [N m or N], either way."""
        return np.inf, np.inf

    def faults(self, kinds: Mapping[str, JointKind], mimics: Mapping[str, Mimic]) -> Iterator[Fault]:
        """What is wrong with it, given the kinds of all joints and who follows whom."""
        yield from side_faults("latch", self.name, {"its joint": self.joint}, kinds, mimics)
