"""Actuators: motors with a control input that act on joints through a row of constant ratios."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwork.model.elements.element import Element
from linkwork.spatial.scalar import Array, Number

if TYPE_CHECKING:
    from linkwork.model.mechanism import Mechanism


class Actuator(Element):
    """A motor with one coordinate. Its rate is gear * (row v), with `row` (nv,); `joints` names the driven joints."""

    what = "drive"

    if TYPE_CHECKING:  # subclasses define these as fields or properties

        @property
        def row(self) -> Array:
            """The ratio (nv,) of every velocity."""
            ...

        @property
        def gear(self) -> Number:
            """Motor speed divided by row v."""
            ...

        @property
        def joints(self) -> tuple[str, ...]:
            """The names of the joints that it drives."""
            ...

    def speed(self, v: Array) -> Number:
        """Return the motor's speed [rad/s or m/s] at the velocities v (nv,)."""
        raise self.lacks("speed")

    def motor_force(self, mechanism: Mechanism, q: Array, v: Array, u: Number) -> Number:
        """Return the motor's force [N m or N] for the control u."""
        raise self.lacks("motor_force")

    def output(self, f: Number, v: Array) -> Number:
        """Return the force [N m or N] after gears and losses for a motor force f; joint k receives row[k] times it."""
        raise self.lacks("output")
