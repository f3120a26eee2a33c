"""Keyframes: named states of a mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from linkwork.model.named_collections import Named
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from linkwork.model.mechanism import Joint


@dataclass(frozen=True, eq=False)
class Keyframe:
    """A named state: coordinates q (nq,) [rad, m, quaternions] and velocities v (nv,) [rad/s, m/s]."""

    name: str
    q: Array
    v: Array

    @staticmethod
    def of(name: str, positions: Mapping[str, Array], velocities: Mapping[str, Array], joints: list[Joint]) -> Keyframe:
        """Return the keyframe `name` with these positions and velocities, which are given by joint name.

        Joints without a position are neutral, and joints without a velocity are at rest.
        """
        q = [positions.get(joint.name, joint.kind.neutral()) for joint in joints]
        v = [velocities.get(joint.name, np.zeros(joint.kind.nv)) for joint in joints]
        state = [np.concatenate([np.zeros(0), *parts]) for parts in (q, v)]
        for array in state:
            array.flags.writeable = False  # mechanisms are immutable
        return Keyframe(name, *state)


NO_KEYFRAMES: Named[Keyframe] = Named("keyframe", [])
