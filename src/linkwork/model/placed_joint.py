"""A joint in its place on the tree: its kind, its bodies, its slices of coordinates, and its own numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from linkwork.model.joints import JointKind
from linkwork.model.mimic import Mimic
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint in its place. `i` and `o` are the numbers of the inboard and outboard body (the paper's k.i and k.o).

    `q` and `v` are the slices of its coordinates and velocities. `armature` [kg m^2 or kg], `damping` [N m s/rad or
    N s/m] and `stiffness` [N m/rad or N/m] towards `rest` have one number per velocity; so have the dry `friction`
    [N m or N] and the limits `lower` and `upper` [rad or m], `velocity_limit` [rad/s or m/s] and `effort_limit`
    [N m or N], infinite where there is none. A joint with a `mimic` has no coordinates of its own: its slices are those
    of the joint that it mimics.
    """

    name: str
    kind: JointKind
    parent: str
    child: str
    i: int
    o: int
    q: slice
    v: slice
    mount: Transform  # the parent as its author framed it, in the frame of the body it is welded into
    offset: Transform  # the joint frame in that parent
    armature: Array
    damping: Array
    stiffness: Array
    rest: Array
    friction: Array
    lower: Array
    upper: Array
    velocity_limit: Array
    effort_limit: Array
    carrier: str  # the part of the parent that `mount` places, as its author named it
    mimic: Mimic | None

    @cached_property
    def place(self) -> Transform:
        """Pose of the joint frame in the inboard body's frame."""
        return (self.mount @ self.offset).snapped()

    @property
    def limits(self) -> tuple[Array, Array]:
        """`lower` and `upper`, each (nv,) [rad or m]."""
        return self.lower, self.upper

    def random(self, rng: np.random.Generator) -> Array:
        """Random coordinates (nq,), within the limits where there are any."""
        q = self.kind.random(rng)
        below, above = np.isfinite(self.lower), np.isfinite(self.upper)
        if not (below | above).any():
            return q
        reach = np.where(self.kind.turns, 2.0 * np.pi, 2.0)  # how far to go from a limit that has no other end
        lower = np.where(below, self.lower, np.where(above, self.upper - reach, q))
        upper = np.where(above, self.upper, np.where(below, self.lower + reach, q))
        return rng.uniform(lower, upper)
