"""A joint of a mechanism: its kind, its two bodies, its slices of q and v, and its properties such as damping."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from linkwork.model.joints import JointKind
from linkwork.model.mimic_joints import Mimic
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint of a mechanism. `i` and `o` are the numbers of its inboard and outboard body (Wendlandt's k.i and k.o).

    `q` and `v` are the slices of its coordinates and velocities in those of the mechanism. The following properties are
    arrays with one number per velocity. `armature` is in [kg m^2 or kg], `damping` in [N m s/rad or N s/m], and dry
    `friction` in [N m or N]. `stiffness` [N m/rad or N/m] is that of a spring about the coordinates `rest` (nq,). The
    limits are `lower` and `upper` [rad or m], `velocity_limit` [rad/s or m/s] and `effort_limit` [N m or N]; they are
    infinite if not set. A joint with a `mimic` relation has the slices of its independent joint.
    """

    name: str
    kind: JointKind
    parent: str
    child: str
    i: int
    o: int
    q: slice
    v: slice
    mount: Transform  # pose of the parent part in the frame of the body that it is welded into
    offset: Transform  # pose of the joint frame in the frame of the parent part
    armature: Array
    damping: Array
    stiffness: Array
    rest: Array
    friction: Array
    lower: Array
    upper: Array
    velocity_limit: Array
    effort_limit: Array
    carrier: str  # name of the parent part
    mimic: Mimic | None

    @cached_property
    def place(self) -> Transform:
        """The pose of the joint frame in the inboard body's frame."""
        return (self.mount @ self.offset).snapped()

    @property
    def limits(self) -> tuple[Array, Array]:
        """The position limits `lower` and `upper` of the joint, each (nv,) [rad or m]."""
        return self.lower, self.upper

    def random(self, rng: np.random.Generator) -> Array:
        """Return random joint coordinates (nq,) within the position limits, from the random generator `rng`."""
        q = self.kind.random(rng)
        below, above = np.isfinite(self.lower), np.isfinite(self.upper)
        if not (below | above).any():
            return q
        reach = np.where(self.kind.turns, 2.0 * np.pi, 2.0)  # range of random coordinates if only one limit is finite
        lower = np.where(below, self.lower, np.where(above, self.upper - reach, q))
        upper = np.where(above, self.upper, np.where(below, self.lower + reach, q))
        return rng.uniform(lower, upper)
