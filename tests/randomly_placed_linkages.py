"""Planar linkages that are rotated and moved as a whole, with random frames.

They are the same mechanisms as in the plane, except for round-off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.joints import ClosingKind
from linkwork.model.mechanism import WORLD
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array
from random_loops import random_rotation

X, Y = (1, 0, 0), (0, 1, 0)
PLACES = [(seed, far) for seed in range(5) for far in (0.0, 1.0, 1e3)]
EVERYWHERE = pytest.mark.parametrize(("seed", "far"), PLACES)
Point = Sequence[float]


class MovedLinkageBuilder:
    """Builder of planar linkages in the plane x, z of a base that is rotated at random and `far` [m] away.

    Points are in the base frame with all joints at zero, times `size` [m].
    """

    def __init__(self, seed: int, far: float, size: float = 1.0):
        self.rng, self.size = np.random.default_rng(seed), size
        self.base = random_rotation(self.rng)
        self.b = lw.Builder("linkage", gravity=self.base @ (0.0, 0.0, -9.81))
        away = self.rng.normal(size=3)
        self.frames: dict[str, tuple[Array, Array]] = {"world": (np.eye(3), -far * away / np.linalg.norm(away))}

    def seen(self, body: str, point: Point) -> Array:
        """Return a point of the linkage in the frame of the named body, (3,) [m]."""
        R, origin = self.frames[body]
        return R.T @ (self.base @ (self.size * np.array(point, dtype=float)) - origin)

    def link(self, name: str, parent: str, at: Point, kind: type[lw.Revolute | lw.Prismatic] = lw.Revolute) -> None:
        """Add a body to the linkage on a pin about y, or on a slider along x, at a point."""
        R = random_rotation(self.rng)
        moment = 0.01 * self.size**2
        self.b.body(name, 1.0, 0.3 * self.size * (R.T @ self.base[:, 0]), (moment, moment, moment))
        axis = R.T @ self.base @ (Y if kind is lw.Revolute else X)
        self.b.joint(name, kind(axis), parent, name, at=self.seen(parent, at), rotation=self.frames[parent][0].T @ R)
        self.frames[name] = R, self.base @ (self.size * np.array(at, dtype=float))

    def pin(self, name: str, body: str, at: Point, to: Point, world: str = "world") -> None:
        """Close a loop by a pin about y between a point of a body and a point of the world or of another body."""
        Q = random_rotation(self.rng)
        self._close(name, lw.Revolute(Q.T @ Y), body, at, to, world, Q)

    def rod(self, name: str, length: float, body: str, at: Point, to: Point) -> None:
        """Close a loop by a rod of the given length [m] between a point of a body and a point of the world."""
        self._close(name, lw.Rod(length), body, at, to, "world", random_rotation(self.rng))

    def _close(self, name: str, kind: ClosingKind, body: str, at: Point, to: Point, world: str, Q: Array) -> None:
        turns = [self.frames[one][0].T @ self.base @ Q for one in (world, body)]
        ends = {"at": self.seen(world, at), "to": self.seen(body, to), "rotation": turns[0], "to_rotation": turns[1]}
        self.b.close(name, kind, world, body, **ends)


def chain(place: tuple[int, float], *lengths: float, size: float = 1.0) -> MovedLinkageBuilder:
    """Return a builder with links in a row along x, each on a pin at the end of the one before."""
    s, parent, at = MovedLinkageBuilder(*place, size), "world", 0.0
    for k, length in enumerate(lengths):
        s.link(f"link {k}", parent, (at, 0, 0))
        parent, at = f"link {k}", at + length
    return s


def four_bar(seed: int, far: float, size: float = 1.0) -> lw.Mechanism:
    """Return a parallelogram four-bar: links of 0.2, 0.5 and 0.2, with pins 0.5 apart on the ground."""
    s = chain((seed, far), 0.2, 0.5, 0.2, size=size)
    s.pin("end", "link 2", at=(0.5, 0, 0), to=(0.9, 0, 0))
    return s.b.build()


def arm(seed: int, far: float) -> lw.Mechanism:
    """Return an arm of two links of 1 m whose end a rod of 2 m connects to the first pin.

    The loop is closed only when the arm is stretched.
    """
    s = chain((seed, far), 1.0, 1.0)
    s.rod("rod", 2.0, "link 1", at=(0, 0, 0), to=(2, 0, 0))
    return s.b.build()


def slider_crank(seed: int, far: float, size: float = 1.0) -> lw.Mechanism:
    """Return a slider-crank: a crank of 0.3 and a rod of 0.5 that ends at a slider along x."""
    s = chain((seed, far), 0.3, 0.5, size=size)
    s.link("slider", "world", (0.8, 0, 0), lw.Prismatic)
    s.pin("pin", "link 1", at=(0.8, 0, 0), to=(0.8, 0, 0), world="slider")
    return s.b.build()


def slider_crank_coordinates(crank: float, size: float = 1.0) -> Array:
    """Return the coordinates (3,) of the closed slider-crank for a crank angle [rad]."""
    lean = np.arcsin(0.3 * np.sin(crank) / 0.5)
    return np.array([crank, -lean - crank, size * (0.3 * np.cos(crank) + 0.5 * np.cos(lean) - 0.8)])


def moved(m: lw.Mechanism, seed: int, far: float) -> lw.Mechanism:
    """Return the mechanism with all objects on the world and gravity rotated at random and moved `far` [m] away."""
    rng = np.random.default_rng(seed)
    away = rng.normal(size=3)
    there = Transform(random_rotation(rng), far * away / np.linalg.norm(away))
    joints = [replace(j, mount=there @ j.mount) if j.i == WORLD else j for j in m.joints]
    loops = [
        replace(loop, at=replace(loop.at, pose=there @ loop.at.pose)) if loop.at.body == WORLD else loop
        for loop in m.loops
    ]
    loops = [
        replace(loop, to=replace(loop.to, pose=there @ loop.to.pose)) if loop.to.body == WORLD else loop
        for loop in loops
    ]
    found = replace(m, gravity=there.R @ m.gravity, joints=m.joints.replaced(joints))
    return found.with_elements("loops", loops)
