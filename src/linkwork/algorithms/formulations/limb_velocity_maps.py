"""Maps from generalized velocities to angular velocities of bodies: the matrices C^R and D (S0 section 3).

omega = C^R Omega and Omega = D alpha': omega are absolute and Omega relative angular velocities, and alpha' the rates
of the true coordinates. C^R depends on the body from which each rotation is measured, D on the rotations that joints
allow. Locked and coupled joints, transmissions and reversing clutches change the matrix D only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from linkwork.algorithms.formulations.single_limb_equations import block_diagonal
from linkwork.errors import LinkworkError, unknown_name
from linkwork.spatial.scalar import Array, Number


def relative_to_absolute(C: Array | Sequence[Array], measured_from: Sequence[int] | None = None) -> Array:
    """Return C^R (3n, 3n), which maps relative to absolute angular velocities: omega = C^R Omega, equation (10).

    C (n, 3, 3) are the rotations from the n frames to the inertial frame. `measured_from` gives for every frame the
    index of the frame from which its rotation is measured; -1 for the first frame, measured from the inertial frame.
    The default is the previous frame, as in equation (11). If a rotation is measured from a frame further inboard, the
    blocks for the frames between are zero, as in equation (29).
    """
    measured_from = range(-1, len(C) - 1) if measured_from is None else measured_from
    rows = []
    for x, rotation in enumerate(C):
        row, i = [np.zeros((3, 3))] * len(C), x
        while i >= 0:
            row[i] = rotation.T @ C[i] if i != x else np.eye(3)  # rotation C_xi from frame i to frame x
            i = measured_from[i]
        rows.append(row)
    return np.block(rows)


def with_base_position(matrix: Array) -> Array:
    """Return `matrix` (r, c) extended to (3 + r, 3 + c): first an identity block for the velocity R' (3,) of the base.

    `matrix` is C^R or D, which have angular velocities as results. See equation (17).
    """
    return block_diagonal([np.eye(3), matrix])


def true_to_relative(blocks: Sequence[Array]) -> Array:
    """Return D (3n, k), which maps true coordinate rates to relative angular velocities of n frames; equation (14).

    D is block-diagonal: blocks[j] (3, k_j) has the axes of the rotations that joint j allows, in the frame of its outer
    body.
    """
    return block_diagonal(blocks)


def euler_base(roll: Number, pitch: Number) -> Array:
    """Return the block D_1 (3, 3) of a freely rotating base, equation (42), for Euler angles `roll` and `pitch` [rad].

    The rotations are, in this order, yaw about z, pitch about y, roll about x. The angular velocity in the base frame
    is D_1 (roll', pitch', yaw').
    """
    s, c = np.sin(roll), np.cos(roll)
    return np.array(
        [[1.0, 0.0, -np.sin(pitch)], [0.0, c, s * np.cos(pitch)], [0.0, -s, c * np.cos(pitch)]],
    )


def constrained(names: Sequence[str], couplings: Mapping[str, Mapping[str, float]], locked: Collection[str]) -> Array:
    """Return the matrix D (k, f) that maps the rates of f free coordinates to the rates of all k coordinates.

    `names` are the names of the k coordinates. A locked coordinate has a row of zeros in D and no column, equation
    (26). Coordinates driven by one motor share one column, equations (27) and (28). Its entries are their ratios: the
    rate of the coordinate per rate of the motor, negative if a clutch reverses the motor. `couplings` maps each motor
    to the coordinates that it drives, with their ratios; `locked` has the names of locked coordinates.
    """
    owner: dict[str, str] = {}
    for motor, ratios in couplings.items():
        for name, ratio in ratios.items():
            if name in owner:
                raise LinkworkError(
                    f"coupling {motor!r}: joint {name!r} is already driven by coupling {owner[name]!r}; remove one of "
                    f"the two couplings"
                )
            if name in locked:
                raise LinkworkError(
                    f"coupling {motor!r}: {name!r} is locked; remove it from the coupling, or unlock it"
                )
            if not (np.isfinite(ratio) and ratio != 0.0):
                raise LinkworkError(f"coupling {motor!r}: the ratio of {name!r} must be finite and not 0; got {ratio}")
            owner[name] = motor
    for name in (*owner, *locked):
        if name not in names:
            raise unknown_name("joint", name, names)
    places: dict[str, int] = {}  # motor, or coordinate without motor: its column
    D = np.zeros((len(names), len(names)))
    for row, name in enumerate(names):
        if name not in locked:
            motor = owner.get(name)
            column = places.setdefault(f"joint {name}" if motor is None else f"motor {motor}", len(places))
            D[row, column] = 1.0 if motor is None else couplings[motor][name]
    return D[:, : len(places)]
