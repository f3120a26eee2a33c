"""Actuators: motors that controllers command, which act on joints through a row of ratios."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwork.model.elements.element import Element
from linkwork.spatial.scalar import Array, Number

if TYPE_CHECKING:
    from linkwork.model.mechanism import Mechanism


class Actuator(Element):
    """A motor with one coordinate, whose rate is gear row v with `row` (nv,); `joints` are those that it turns."""

    what = "drive"

    if TYPE_CHECKING:  # fields and properties of its kinds

        @property
        def row(self) -> Array:
            """The ratios (nv,) of all velocities."""
            ...

        @property
        def gear(self) -> Number:
            """Turns of the motor for one of row v."""
            ...

        @property
        def joints(self) -> tuple[str, ...]:
            """The names of the joints that it turns."""
            ...

    def speed(self, v: Array) -> Number:
        """The motor's speed [rad/s or m/s] at velocities v (nv,)."""
        raise self.lacks("speed")

    def motor_force(self, mechanism: Mechanism, q: Array, v: Array, u: Number) -> Number:
        """The motor's force [N m or N] at the control u."""
        raise self.lacks("motor_force")

    def output(self, f: Number, v: Array) -> Number:
        """What of a motor's force f [N m or N] the joints feel, each times its entry of `row`."""
        raise self.lacks("output")
