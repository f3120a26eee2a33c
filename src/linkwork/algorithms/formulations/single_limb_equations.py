"""Equations of motion of one limb in quasicoordinates (S0 sections 2 and 3): a chain of bodies on a free base.

The unknowns are the base position R and the absolute angular velocities of all bodies, stacked, each in its own frame.
These equations have no Coriolis terms and do not depend on the joints. The joints enter by two matrices, C^R and D of
`limb_velocity_maps`, which transform the equations to true coordinates. Misprints of the paper are corrected as proved
in docs/papers/nelson-quinn.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from linkwork.spatial.scalar import Array, cross, hat


class Limb(NamedTuple):
    """A limb of n frames in one position, from the base outwards.

    A body may have several frames, each with the mass of one region of the body (section 3.1). `m` (n,) [kg] are the
    masses of the frames. `S` (n, 3) [m] are the centres of mass. `L` (n - 1, 3) [m] has for each frame but the last the
    origin of the next frame. Both are from the frame's origin, in its axes. `I` (n, 3, 3) [kg m^2] are the inertias
    about the centres of mass, in the frames' axes, and `C` (n, 3, 3) the rotations from the frames to the inertial
    frame.
    """

    m: Array
    S: Array
    L: Array
    I: Array
    C: Array

    @property
    def I_v(self) -> Array:
        """Stacked identity matrices (3n, 3), one for each of the n frames; equation (2)."""
        return np.tile(np.eye(3), (len(self.m), 1))

    @property
    def m_bar(self) -> Array:
        """Diagonal matrix (3n, 3n) of the masses [kg], three times each; equation (3)."""
        return np.diag(np.repeat(self.m, 3))

    @property
    def I_star(self) -> Array:
        """Block-diagonal matrix (3n, 3n) of the inertias [kg m^2]; equation (9)."""
        return block_diagonal(self.I)

    @property
    def Phi(self) -> Array:
        """Matrix Phi (3n, 3n) [m] of equation (7): the velocities of all centres of mass are I_v R' + Phi omega.

        R' (3,) [m/s] is the velocity of the base's origin. Velocities of points are in inertial axes. omega (3n,)
        [rad/s] are the angular velocities of the n frames, each in its own axes.
        """
        return _global_velocity(self.C, self.S, self.L)

    def Phi_rate(self, omega: Array) -> Array:
        """Return dPhi/dt (3n, 3n) [m/s] at angular velocities omega (3n,) [rad/s], each in its frame's own axes.

        The result follows from the rates C' = C w~ of the rotations, equation (8).
        """
        return _global_velocity([C @ hat(w) for C, w in zip(self.C, omega.reshape(-1, 3), strict=True)], self.S, self.L)


class Equations(NamedTuple):
    """Equations of motion M x'' + h = forces in k coordinates x: mass matrix M (k, k) and bias h (k,) [N, N m]."""

    M: Array
    h: Array


def absolute_equations(limb: Limb, omega: Array, gravity: Array, drift: Array | None = None) -> Equations:
    """Return the equations of motion (1) of a limb in absolute quasicoordinates: M (R'', omega') + h = (F, moments).

    M is (3 + 3n, 3 + 3n), h (3 + 3n,). F (3,) [N] is the total force in inertial axes, and the moments (3n,) [N m] are
    in the axes of the n frames. `omega` (3n,) [rad/s] are the frames' angular velocities, each in its own axes.
    `gravity` (3,) [m/s^2] is in inertial axes. If `drift` (3n,) [rad/s^2] is given, the unknown is omega' - drift, and
    h contains the effect of the drift.
    """
    I_v, m, Phi, I = limb.I_v, limb.m_bar, limb.Phi, limb.I_star
    drift = np.zeros(len(omega)) if drift is None else drift
    M = np.block([[I_v.T @ m @ I_v, I_v.T @ m @ Phi], [Phi.T @ m @ I_v, Phi.T @ m @ Phi + I]])
    w = block_diagonal([hat(w) for w in omega.reshape(-1, 3)])  # equation (6)
    Gamma = limb.Phi_rate(omega) @ omega + Phi @ drift - I_v @ gravity  # equation (20), misprinted with Phi^T for both
    # Equation (19); equals (1) without drift. The paper prints w~^T, which reverses the sign of Euler's term
    return Equations(M, np.concatenate([I_v.T @ m @ Gamma, Phi.T @ m @ Gamma + w @ I @ omega + I @ drift]))


def true_equations(
    limb: Limb, C_R: Array, D: Array, rate: Array, gravity: Array, D_rate: Array | None = None
) -> Equations:
    """Return the equations of motion (18) of a limb in true coordinates: M alpha'' + h = forces, M (k, k), h (k,).

    The velocities alpha' are `rate` (k,) [m/s, rad/s]. `C_R` (3 + 3n, 3 + 3n) and `D` (3 + 3n, k) are the matrices of
    `limb_velocity_maps`, with the rows of R' above those of angular velocities, as in equation (17). If D is not
    constant, `D_rate` (3n, k) is the time derivative of its rows of angular velocities. `gravity` (3,) [m/s^2] is in
    inertial axes.
    """
    Omega = D @ rate  # equation (13)
    omega = (C_R @ Omega)[3:]  # equation (10)
    xi = np.concatenate([cross(*pair) for pair in zip(omega.reshape(-1, 3), Omega[3:].reshape(-1, 3), strict=True)])
    xi = xi if D_rate is None else xi + D_rate @ rate  # equation (20), misprinted with D instead of its rate
    M, h = absolute_equations(limb, omega, gravity, C_R[3:, 3:] @ xi)
    to_absolute = C_R @ D
    return Equations(to_absolute.T @ M @ to_absolute, to_absolute.T @ h)  # equation (16)


def applied_forces(limb: Limb, forces: Array | Sequence[Array], torques: Array | Sequence[Array]) -> Array:
    """Return force F and moments (3 + 3n,) [N, N m], the right-hand side of equation (1), due to loads on the n frames.

    `forces` (n, 3) [N] act at the frames' origins. Forces and `torques` (n, 3) [N m] are given in the axes of the
    frames. `limb` is the limb in the position to which the result applies. `absolute_equations` has the axes of F and
    the moments.
    """
    inertial = np.concatenate([C @ f for C, f in zip(limb.C, forces, strict=True)])
    at_origins = _global_velocity(limb.C, np.zeros((len(limb.m), 3)), limb.L)
    return np.concatenate([limb.I_v.T @ inertial, at_origins.T @ inertial + np.concatenate(list(torques))])


def block_diagonal(blocks: Sequence[Array] | Array) -> Array:
    """Return the block-diagonal matrix of `blocks` (r, c), which may differ in size and may have no columns."""
    rows = [
        [block if k == place else np.zeros((len(block), other.shape[1])) for k, other in enumerate(blocks)]
        for place, block in enumerate(blocks)
    ]
    return np.block(rows)


def _global_velocity(C: Sequence[Array] | Array, S: Array, L: Array) -> Array:
    """Return the matrix Phi (3n, 3n) of equation (7) for rotations C (n, 3, 3); for the rates of C, the rate of Phi.

    S (n, 3) and L (n - 1, 3) [m] are those of `Limb`. The blocks of Phi are C S~^T on the diagonal and C L~^T below.
    """
    own = [rotation @ hat(s).T for rotation, s in zip(C, S, strict=True)]
    onward = [rotation @ hat(step).T for rotation, step in zip(C, L, strict=False)]
    nothing = np.zeros((3, 3))
    return np.block([[*onward[:i], block, *[nothing] * (len(own) - 1 - i)] for i, block in enumerate(own)])
