"""Friction that does not depend on the load: Coulomb, static, Stribeck and viscous friction."""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.model.elements.element_key_definition import key
from linkwork.model.elements.key_types import not_negative
from linkwork.model.friction.friction_law import Coefficient, FrictionLaw, FrictionLimit, stribeck_key, viscous_key
from linkwork.model.joints import ClosingKind, JointKind
from linkwork.spatial import Motion
from linkwork.spatial.scalar import maximum


@dataclass(frozen=True)
class DryFriction(FrictionLaw):
    """Friction law: a force of constant magnitude against the motion (Coulomb); its limit may be larger at rest.

    To give each velocity of a joint its own friction force, use the argument `friction` of `Builder.joint` instead.

    Parameters
    ----------
    force : float, [N m or N]
        Friction force during slip, for each velocity of the joint.
    static : float, [N m or N], optional
        Largest friction force at rest; by default `force`.
    stribeck : float, [rad/s or m/s], optional
        Stribeck speed: at the slip speed u, the friction force is force + (static - force) exp(-(u / stribeck)^2). By
        default, static friction acts at rest only.
    viscous : float, [N m s/rad or N s/m], default 0
        Viscous friction. `Builder.build` adds it to the damping of the joint.

    Examples
    --------
    >>> b = lw.Builder().body("wheel", 1.0, inertia=(1, 1, 1))
    >>> m = b.joint("hub", lw.Revolute(), "world", "wheel", friction=lw.DryFriction(0.2, static=0.3)).build()
    >>> m.frictions["hub"].law.static
    0.3

    """

    force: float = key(not_negative("N m or N"), "Friction force or torque during slip", parameter=True)
    static: float | None = key(
        not_negative("N m or N"), "Largest friction force or torque at rest", default=None, parameter=True
    )
    stribeck: float | None = stribeck_key()
    viscous: float = viscous_key()

    def require_consistent(self) -> None:
        if self.static is not None and self.static < self.force:
            raise self.error(f"static must be >= force = {self.force:g}; got {self.static:g}")

    def misfit(self, kind: ClosingKind, in_tree: bool) -> str | None:
        return None if isinstance(kind, JointKind) and kind.nv else "joints that move"

    def limits(self, S: Motion) -> tuple[FrictionLimit, ...]:
        static = self.force if self.static is None else maximum(self.static, self.force)
        each = Coefficient(self.force, static)
        return tuple(FrictionLimit((d,), (1.0,), (), each, self.stribeck) for d in range(S.linear.shape[1]))
