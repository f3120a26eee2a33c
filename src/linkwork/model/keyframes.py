"""States of a mechanism that its author named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from linkwork.model.naming import Named
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from linkwork.model.mechanism import Joint


@dataclass(frozen=True, eq=False)
class Keyframe:
    """A state that the model's author named: position q (nq,) and velocity v (nv,)."""

    name: str
    q: Array
    v: Array

    @staticmethod
    def of(name: str, positions: Mapping[str, Array], velocities: Mapping[str, Array], joints: list[Joint]) -> Keyframe:
        """The state of joints, by their names, that is neutral and at rest where none is given."""
        q = [positions.get(joint.name, joint.kind.neutral()) for joint in joints]
        v = [velocities.get(joint.name, np.zeros(joint.kind.nv)) for joint in joints]
        state = [np.concatenate([np.zeros(0), *parts]) for parts in (q, v)]
        for array in state:
            array.flags.writeable = False  # a mechanism never changes
        return Keyframe(name, *state)


NO_KEYFRAMES: Named[Keyframe] = Named("keyframe", [])
