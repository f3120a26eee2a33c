"""A mechanism and what acts on it, and how its motion then changes: one state, any numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.coupled import coupled, to_tree
from linkwork.algorithms.forward import forward_dynamics
from linkwork.algorithms.inverse import inverse_dynamics
from linkwork.algorithms.kinematics import external_forces, kinematics
from linkwork.algorithms.passive import Stops, passive, resistance, stop_forces
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array, Number

Law = Callable[[Number, Array, Array], Array]  # of time [s], q (nq,) and v (nv,)
FORCES = "passive"  # forces of the tree's joints reduce as those do


class Loads(NamedTuple):
    """What acts at one instant: `control` (nv,) and `stops` (nv,) [N m or N], and wrenches on the bodies, if any."""

    control: Array
    stops: Array
    wrenches: Array | None


@dataclass(frozen=True, eq=False)
class System:
    """A mechanism, a law for its joint forces, a law (nbodies, 6) for the wrenches on its bodies, and its stops."""

    mechanism: Mechanism
    control: Law | None = None
    wrenches: Law | None = None
    stops: Stops | None = None

    def loads(self, t: Number, q: Array, v: Array, held: Array) -> Loads:
        """What acts in a state, where `held` (nv,) [N m or N] comes from controllers that are sampled."""
        m, stops = self.mechanism, self.stops
        control = held if self.control is None else held + self.control(t, q, v)
        pushes = np.zeros(m.nv)
        if stops is not None:
            pushes = coupled(FORCES, lambda m, q, v: stop_forces(m, stops, q, v), ("q", "v"))(m, q, v)
        return Loads(control, pushes, None if self.wrenches is None else self.wrenches(t, q, v))

    def acceleration(self, q: Array, v: Array, loads: Loads, implicit: Number = 0.0) -> Array:
        """Accelerations (nv,) under the loads and the joints' own forces.

        With `implicit` a step [s], dampers and friction act with the velocity at its end: (M + h D) a = ... - D v.
        """
        m = self.mechanism
        tau = loads.control + loads.stops + coupled(FORCES, passive, ("q", "v"))(m, q, v)
        if isinstance(implicit, float) and implicit == 0.0:
            stiffer = m
        else:
            stiffer = with_armature(m, resistance(m.tree, *to_tree(m, ("v",), (v,))) * implicit)
        names = ("q", "v", "tau", "wrenches")[: 3 if loads.wrenches is None else 4]
        return coupled("forward_dynamics", forward_dynamics, names)(stiffer, q, v, tau, *_given(loads.wrenches))

    def imbalance(self, q: Array, v: Array, a: Array, loads: Loads) -> Array:
        """Joint forces (nv,) [N m or N] that lack for the acceleration a: zero if the equations of motion hold."""
        names = ("q", "v", "a", "wrenches")[: 3 if loads.wrenches is None else 4]
        needed = coupled("inverse_dynamics", lambda m, *state: inverse_dynamics(m, *state).tau, names)
        m = self.mechanism
        given = loads.control + loads.stops + coupled(FORCES, passive, ("q", "v"))(m, q, v)
        return needed(m, q, v, a, *_given(loads.wrenches)) - given

    def power(self, q: Array, v: Array, loads: Loads) -> Number:
        """Power [W] of all forces that no energy belongs to: controllers, wrenches, stops, dampers and friction."""
        m = self.mechanism
        position, speed = to_tree(m, ("q", "v"), (q, v))
        total = (loads.control + loads.stops) @ v - (resistance(m.tree, speed) * speed) @ speed
        if loads.wrenches is not None:
            twists = kinematics(m.tree, position, speed).twist
            for V, F in zip(twists, external_forces(m, loads.wrenches), strict=True):
                total = total + V.pair(F)
        return total


def _given(wrenches: Array | None) -> tuple[Array, ...]:
    return () if wrenches is None else (wrenches,)


def with_armature(mechanism: Mechanism, extra: Array) -> Mechanism:
    """The mechanism with `extra` (tree.nv,) [kg m^2 or kg] added to the armature of its joints."""
    pairs = zip(mechanism.joints, mechanism.tree.joints, strict=True)
    return replace(
        mechanism, joints=mechanism.joints.replaced([replace(j, armature=j.armature + extra[k.v]) for j, k in pairs])
    )
