"""Friction of screw threads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.model.elements.element_key_definition import key
from linkwork.model.elements.key_types import not_negative
from linkwork.model.friction.friction_law import (
    FrictionLaw,
    FrictionLimit,
    LoadTerm,
    is_zero,
    length_key,
    mu_key,
    mu_static_key,
    neutral_subspace,
    of_force,
    required_length_key,
    stribeck_key,
    viscous_key,
)
from linkwork.model.joints import ClosingKind
from linkwork.spatial import Motion


@dataclass(frozen=True)
class Thread(FrictionLaw):
    """Friction law of a screw joint, by the normal force on the flanks of the thread.

    For the lead angle lambda, tan lambda = pitch / radius, with the pitch [m/rad] of the joint. For the friction angle
    phi, tan phi = mu / cos(flank angle of the normal section). The friction acts along the helix and changes the normal
    force. The torque that raises a load W is W radius tan(phi + lambda), the torque that lowers it W radius tan(phi -
    lambda). If phi >= lambda, the screw is self-locking: no load drives the screw. Radial forces and tilting moments
    cause no friction.

    Parameters
    ----------
    mu : float
        Coefficient of dynamic friction, >= 0.
    radius : float, [m]
        Mean radius of the thread, > 0.
    flank : float, [rad], default 0
        Flank angle of the thread in the section through the axis: 0 for a square thread, half the thread angle for a
        V-thread.
    collar_radius : float, [m], default 0
        Mean radius of a collar: the lever arm of the friction that the axial load also causes there, with the same
        coefficients; 0 for no collar.
    mu_static : float, optional
        Coefficient of static friction, >= mu; by default `mu`.
    viscous : float, [N m s/rad], default 0
        Viscous friction. `Builder.build` adds it to the damping of the joint.
    preload : float, [N], default 0
        Normal force on the flanks that is always present.
    stribeck : float, [rad/s], optional
        Slip speed at which the excess of static over dynamic friction has decayed to 37 %; by default, static friction
        acts at rest only.

    Examples
    --------
    >>> b = lw.Builder().body("nut", 2.0, inertia=(0.1, 0.1, 0.1))
    >>> m = b.joint("jack", lw.Screw(pitch=0.001), "world", "nut", friction=lw.Thread(mu=0.15, radius=0.01)).build()
    >>> m.frictions["jack"].law.mu
    0.15

    """

    mu: float = mu_key()
    radius: float = required_length_key("Mean radius of the thread")
    flank: float = key(not_negative("rad"), "Flank angle of the thread", default=0.0, parameter=True)
    collar_radius: float = length_key("Mean radius of a collar that carries the axial load too", default=0.0)
    mu_static: float | None = mu_static_key()
    viscous: float = viscous_key()
    preload: float = key(not_negative("N"), "Normal force that is always present", default=0.0, parameter=True)
    stribeck: float | None = stribeck_key()

    def require_consistent(self) -> None:
        super().require_consistent()
        if not self.flank < np.pi / 2.0:
            raise self.error(f"flank must be < pi / 2; got {self.flank:g}")

    def misfit(self, kind: ClosingKind, in_tree: bool) -> str | None:
        S = neutral_subspace(kind)
        screws = S is not None and S.linear.shape[1] == 1 and np.any(S.linear) and np.any(S.angular)
        return None if screws else "screw joints with a pitch"

    def limits(self, S: Motion) -> tuple[FrictionLimit, ...]:
        axis = S.angular[:, 0]
        lead = S.linear[:, 0] @ axis / self.radius  # tan lambda, with the lead angle lambda
        steep = np.sqrt(1.0 + lead * lead)  # 1 / cos lambda
        flank = np.sin(self.flank) / np.cos(self.flank) / steep
        # `flank` is the tangent of the flank angle in the section normal to the helix.
        # The axial force is F = N cos(lambda) + (axial part of the friction f), and f = mu' N radius / cos(lambda) is
        # a torque, whose force along the helix has the axial part f sin(lambda) cos(lambda) / radius
        mu = self.sliding * np.sqrt(1.0 + flank * flank)
        own = -lead / (steep * steep) / self.radius
        terms = [LoadTerm(mu * (self.radius * steep * steep), of_force(axis[None]), own)]
        if not is_zero(self.collar_radius):
            terms.append(LoadTerm(self.sliding * self.collar_radius, of_force(axis[None])))
        constant = mu * (self.radius * steep * self.preload)
        return (FrictionLimit((0,), (1.0,), tuple(terms), constant, self.stribeck),)
