"""Symmetries of a mechanism, with the names of the momenta that they conserve."""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.constraints.constraint_tolerances import SYMMETRY_ROUND_OFF
from linkwork.algorithms.symmetries import symmetries
from linkwork.model.analysis_results import Symmetry
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array


def named_symmetries(m: Mechanism) -> tuple[Symmetry, ...]:
    """Return the symmetries of a mechanism, each with the name of its conserved momentum."""
    return tuple(_named(twist) for twist in symmetries(m))


def _named(twist: Array) -> Symmetry:
    """Return the symmetry along a twist (6,) of the world's frame, with the name of its conserved momentum.

    The linear part of the twist [m/s] is first, then the angular part [rad/s]. Its magnitude does not matter.
    """
    along, turn = twist[:3], twist[3:]
    if np.linalg.norm(turn) < SYMMETRY_ROUND_OFF:
        along = along / np.linalg.norm(along)
        return Symmetry(f"momentum along {_axis(along)}", np.concatenate([along, np.zeros(3)]), np.zeros(3))
    along, turn = along / np.linalg.norm(turn), turn / np.linalg.norm(turn)
    through, pitch = np.cross(turn, along), float(turn @ along)
    name = f"angular momentum about {_axis(turn)}"
    if np.linalg.norm(through) > SYMMETRY_ROUND_OFF:
        name += f" through {_numbers(through)}"
    if abs(pitch) > SYMMETRY_ROUND_OFF:
        name += f", with {pitch:.3g} m/rad along it"
    return Symmetry(name, np.concatenate([along, turn]), through)


def _axis(n: Array) -> str:
    """Return the name of a unit vector n (3,) in world axes: an axis, such as "z" or "-x", or the components of n."""
    for name, unit in zip("xyz", np.eye(3), strict=True):
        if abs(n @ unit) > 1.0 - SYMMETRY_ROUND_OFF:
            return name if n @ unit > 0.0 else f"-{name}"
    return _numbers(n)


def _numbers(x: Array) -> str:
    """Return the components of the vector x as text, with three significant digits, such as "(0, 0.5, 1)"."""
    return f"({', '.join(f'{value:.3g}' for value in x + 0.0)})"
