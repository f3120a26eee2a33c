"""Friction of the teeth of gears and racks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.model.elements.element_key_definition import key
from linkwork.model.elements.key_types import not_negative, positive
from linkwork.model.elements.loop_kinds import Gear, Rack
from linkwork.model.friction.friction_law import (
    FrictionLaw,
    FrictionLimit,
    LoadTerm,
    mu_key,
    mu_static_key,
    of_force,
    required_length_key,
    stribeck_key,
)
from linkwork.model.joints import ClosingKind
from linkwork.spatial import Motion


@dataclass(frozen=True)
class Teeth(FrictionLaw):
    """Friction law of the teeth of a loop of kind `Gear` or `Rack`.

    The normal force of the teeth is N = |F| / cos(pressure_angle) with the tangential force F. The sliding speed of the
    teeth is the speed of the relative rotation of the gears times the distance of the contact from the pitch point. The
    law replaces this distance by its mean over the path of contact, pi module cos(pressure_angle) (1 - c + c^2 / 2) / 2
    for the contact ratio c. The loss of a pair with z1 and z2 teeth is about the fraction mu pi (1 / z1 + 1 / z2) (1 -
    c + c^2 / 2) of the power, as in Niemann's handbook.

    Parameters
    ----------
    mu : float
        Coefficient of dynamic friction, >= 0.
    pressure_angle : float, [rad]
        Pressure angle of the teeth, often 20 degrees.
    module : float, [m]
        Module of the teeth: pitch diameter over number of teeth, > 0.
    contact_ratio : float, default 1
        Mean number of pairs of teeth in contact, > 0.
    mu_static : float, optional
        Coefficient of static friction, >= mu; by default `mu`.
    stribeck : float, [rad/s], optional
        Speed of relative rotation at which the excess of static over dynamic friction has decayed to 37 %; by default,
        static friction acts at rest only.

    Examples
    --------
    >>> lw.Teeth(mu=0.08, pressure_angle=np.radians(20), module=0.002).module
    0.002

    """

    mu: float = mu_key()
    pressure_angle: float = key(not_negative("rad"), "Pressure angle of the teeth", parameter=True)
    module: float = required_length_key("Module of the teeth")
    contact_ratio: float = key(positive(), "Mean number of pairs of teeth in contact", default=1.0, parameter=True)
    mu_static: float | None = mu_static_key()
    stribeck: float | None = stribeck_key()

    def require_consistent(self) -> None:
        super().require_consistent()
        if not self.pressure_angle < np.pi / 2.0:
            raise self.error(f"pressure_angle must be < pi / 2; got {self.pressure_angle:g}")

    def misfit(self, kind: ClosingKind, in_tree: bool) -> str | None:
        return None if isinstance(kind, Gear | Rack) else "loops of kind Gear and Rack"

    def slip_subspace(self, kind: ClosingKind) -> Motion:
        assert isinstance(kind, Gear | Rack)
        return Motion(np.zeros((3, 1)), np.array(kind.axis)[:, None])

    def limits(self, S: Motion) -> tuple[FrictionLimit, ...]:
        c = self.contact_ratio
        inclination = np.cos(self.pressure_angle)
        distance = self.module * inclination * (1.0 - c + c * c * 0.5) * (np.pi / 2.0)
        mu = self.sliding * (distance / inclination)
        return (FrictionLimit((0,), (1.0,), (LoadTerm(mu, of_force(np.eye(3))),), mu * 0.0, self.stribeck),)
