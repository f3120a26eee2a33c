"""Equations of one limb in quasicoordinates (S0 sections 2 and 3): a chain of bodies on a base that moves freely.

The equations are those of the base's place R and of the absolute angular velocities of all bodies, stacked, each in its
own frame: no Coriolis terms, and nothing that knows of joints. What joints allow enters by two matrices, C^R and D of
`limb_coordinates`, after which the same equations hold in true coordinates. Misprints are corrected as
docs/papers/nelson-quinn.md proves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linkwork.spatial.scalar import Array, cross, hat


class Limb(NamedTuple):
    """A limb of n frames in one position; a body may have several frames, with the masses of its regions (3.1).

    `m` (n,) [kg] masses, `S` (n, 3) [m] centres of mass, `L` (n - 1, 3) [m] origin of the next frame, both in the
    frame itself, `I` (n, 3, 3) [kg m^2] inertias about the centres of mass, `C` (n, 3, 3) from each frame to the
    inertial one.
    """

    m: Array
    S: Array
    L: Array
    I: Array
    C: Array

    @property
    def I_v(self) -> Array:
        """As many identities as frames, on each other (3n, 3) (2)."""
        return np.tile(np.eye(3), (len(self.m), 1))

    @property
    def m_bar(self) -> Array:
        """Masses [kg] on the diagonal (3n, 3n) (3)."""
        return np.diag(np.repeat(self.m, 3))

    @property
    def I_star(self) -> Array:
        """Inertias [kg m^2] on the diagonal (3n, 3n) (9)."""
        return block_diagonal(self.I)

    @property
    def Phi(self) -> Array:
        """Velocities of all centres of mass, in inertial axes, are I_v R' + Phi omega: (3n, 3n) [m] (7)."""
        return _global_velocity(self.C, self.S, self.L)

    def Phi_rate(self, omega: Array) -> Array:
        """dPhi/dt (3n, 3n) [m/s], by the rates C' = C w~ of its rotations (8)."""
        return _global_velocity([C @ hat(w) for C, w in zip(self.C, omega.reshape(-1, 3), strict=True)], self.S, self.L)


class Equations(NamedTuple):
    """M x'' + h = forces, M (k, k) and h (k,), in some coordinates x."""

    M: Array
    h: Array


def absolute_equations(limb: Limb, omega: Array, gravity: Array, drift: Array | None = None) -> Equations:
    """M (3 + 3n, 3 + 3n) and h (3 + 3n,) in absolute quasicoordinates (1): M (R'', omega') + h = (F, moments).

    For angular velocities omega (3n,) [rad/s] in the bodies' frames and gravity (3,) [m/s^2]. With a `drift` (3n,)
    [rad/s^2], the unknown is omega' less this drift, which h contains.
    """
    I_v, m, Phi, I = limb.I_v, limb.m_bar, limb.Phi, limb.I_star
    drift = np.zeros(len(omega)) if drift is None else drift
    M = np.block([[I_v.T @ m @ I_v, I_v.T @ m @ Phi], [Phi.T @ m @ I_v, Phi.T @ m @ Phi + I]])
    w = block_diagonal([hat(w) for w in omega.reshape(-1, 3)])  # (6)
    Gamma = limb.Phi_rate(omega) @ omega + Phi @ drift - I_v @ gravity  # (20), which prints Phi^T for both
    # (19), as (1) where there is no drift; they print w~^T, which turns Euler's term about
    return Equations(M, np.concatenate([I_v.T @ m @ Gamma, Phi.T @ m @ Gamma + w @ I @ omega + I @ drift]))


def true_equations(
    limb: Limb, C_R: Array, D: Array, rate: Array, gravity: Array, D_rate: Array | None = None
) -> Equations:
    """M (k, k) and h (k,) in true coordinates, of which `rate` (k,) are the velocities (18): M alpha'' + h = forces.

    `C_R` (3 + 3n, 3 + 3n) and `D` (3 + 3n, k) have the rows of R' above those of omega (17). Where D is not constant,
    `D_rate` (3n, k) is the rate of its rows of omega.
    """
    Omega = D @ rate  # (13)
    omega = (C_R @ Omega)[3:]  # (10)
    xi = np.concatenate([cross(*pair) for pair in zip(omega.reshape(-1, 3), Omega[3:].reshape(-1, 3), strict=True)])
    xi = xi if D_rate is None else xi + D_rate @ rate  # (20), which prints D for its rate
    M, h = absolute_equations(limb, omega, gravity, C_R[3:, 3:] @ xi)
    to_absolute = C_R @ D
    return Equations(to_absolute.T @ M @ to_absolute, to_absolute.T @ h)  # (16)


def applied_forces(limb: Limb, forces: Array | Sequence[Array], torques: Array | Sequence[Array]) -> Array:
    """F and moments (3 + 3n,) [N, N m] of (1), for forces (n, 3) [N] at the frames' origins and torques (n, 3) [N m].

    Both are in the frames themselves.
    """
    inertial = np.concatenate([C @ f for C, f in zip(limb.C, forces, strict=True)])
    at_origins = _global_velocity(limb.C, np.zeros((len(limb.m), 3)), limb.L)
    return np.concatenate([limb.I_v.T @ inertial, at_origins.T @ inertial + np.concatenate(list(torques))])


def block_diagonal(blocks: Sequence[Array] | Array) -> Array:
    """The matrices (r, c) along a diagonal, zeros elsewhere; blocks may have no columns."""
    rows = [
        [block if k == place else np.zeros((len(block), other.shape[1])) for k, other in enumerate(blocks)]
        for place, block in enumerate(blocks)
    ]
    return np.block(rows)


def _global_velocity(C: Sequence[Array] | Array, S: Array, L: Array) -> Array:
    """(7), of rotations or their rates: S~ on the diagonal, L~ below."""
    own = [rotation @ hat(s).T for rotation, s in zip(C, S, strict=True)]
    onward = [rotation @ hat(step).T for rotation, step in zip(C, L, strict=False)]
    nothing = np.zeros((3, 3))
    return np.block([[*onward[:i], block, *[nothing] * (len(own) - 1 - i)] for i, block in enumerate(own)])
