"""From the coordinates of a machine to angular velocities of bodies: the matrices C^R and D (S0 section 3).

omega = C^R Omega and Omega = D alpha'. C^R says from which body each turns are measured, D which turns joints allow.
Locked and coupled joints, transmissions and clutches that reverse are other matrices D, and leave the rest as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from linkwork.algorithms.formulations.limbs import block_diagonal
from linkwork.errors import LinkworkError, unknown_name
from linkwork.spatial.scalar import Array, Number


def relative_to_absolute(C: Array | Sequence[Array], measured_from: Sequence[int] | None = None) -> Array:
    """C^R (3n, 3n) of frames with rotations C (n, 3, 3) to the inertial frame: omega = C^R Omega (10).

    `measured_from` has for every frame the one from which its turn is measured, -1 for the base. That is the frame
    before it (11) if nothing is said; one further inboard leaves a column empty below the diagonal, as in (29).
    """
    measured_from = range(-1, len(C) - 1) if measured_from is None else measured_from
    rows = []
    for x, rotation in enumerate(C):
        row, i = [np.zeros((3, 3))] * len(C), x
        while i >= 0:
            row[i] = rotation.T @ C[i] if i != x else np.eye(3)  # C_xi
            i = measured_from[i]
        rows.append(row)
    return np.block(rows)


def with_place(matrix: Array) -> Array:
    """The same (3 + r, 3 + c) with an identity for the base's place R before it (17)."""
    return block_diagonal([np.eye(3), matrix])


def true_to_relative(blocks: Sequence[Array]) -> Array:
    """D (3n, k), of the turns (3, k_j) that each joint allows, in the frame of its outer body (14)."""
    return block_diagonal(blocks)


def euler_base(roll: Number, pitch: Number) -> Array:
    """The base's block D_1 (3, 3) of (42) for an ordered set of angles [rad]: yaw about z, pitch about y, roll about x.

    Its angular velocity, in its own frame, is D_1 (roll', pitch', yaw').
    """
    s, c = np.sin(roll), np.cos(roll)
    return np.array(
        [[1.0, 0.0, -np.sin(pitch)], [0.0, c, s * np.cos(pitch)], [0.0, -s, c * np.cos(pitch)]],
    )


def constrained(names: Sequence[str], couplings: Mapping[str, Mapping[str, float]], locked: Collection[str]) -> Array:
    """D (k, k'), from k' coordinates of a machine with constraints to the k that have `names`.

    Locked ones have no column (26). Those that are coupled share one, with the ratios of their motor (27), (28); it
    stands where the first of them stood. A motor that is reversed by its clutch has the other signs.
    """
    owner: dict[str, str] = {}
    for motor, ratios in couplings.items():
        for name, ratio in ratios.items():
            if name in owner:
                raise LinkworkError(f"coupling {motor!r}: {name!r} is driven by {owner[name]!r} already; leave one out")
            if name in locked:
                raise LinkworkError(f"coupling {motor!r}: {name!r} is locked; leave it out, or unlock it")
            if not (np.isfinite(ratio) and ratio != 0.0):
                raise LinkworkError(f"coupling {motor!r}: the ratio of {name!r} must be finite and not 0; got {ratio}")
            owner[name] = motor
    for name in (*owner, *locked):
        if name not in names:
            raise unknown_name("joint", name, names)
    places: dict[str, int] = {}  # of columns, by motor, or by coordinate where no motor couples it
    D = np.zeros((len(names), len(names)))
    for row, name in enumerate(names):
        if name not in locked:
            motor = owner.get(name)
            column = places.setdefault(f"joint {name}" if motor is None else f"motor {motor}", len(places))
            D[row, column] = 1.0 if motor is None else couplings[motor][name]
    return D[:, : len(places)]
