"""The base class of actuators: motors with one control input that act on joints through constant ratios."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwork.model.elements.element import Element
from linkwork.spatial.scalar import Array, Number

if TYPE_CHECKING:
    from linkwork.model.mechanism import Mechanism


class Actuator(Element):
    """A motor that drives one or more joints through constant ratios.

    At the velocities v (nv,), the motor speed [rad/s or m/s] is gear (row . v). `row` (nv,) has the ratio of each
    velocity, and `joints` are the names of the driven joints.
    """

    what = "drive"

    if TYPE_CHECKING:  # subclasses define these as fields or properties

        @property
        def row(self) -> Array:
            """The ratios (nv,), one for each velocity of the mechanism: the motor speed is `gear` times row . v."""
            ...

        @property
        def gear(self) -> Number:
            """The gear ratio of the motor: its speed divided by the weighted sum row . v of the velocities v (nv,)."""
            ...

        @property
        def joints(self) -> tuple[str, ...]:
            """The names of the joints that the motor drives."""
            ...

    def speed(self, v: Array) -> Number:
        """Return the motor's speed [rad/s or m/s] at the velocities v (nv,)."""
        raise self.lacks("speed")

    def motor_force(self, mechanism: Mechanism, q: Array, v: Array, u: Number) -> Number:
        """Return the motor's force [N m or N] for its control u at q (nq,), v (nv,), before gear ratio and losses."""
        raise self.lacks("motor_force")

    def output(self, f: Number, v: Array) -> Number:
        """Return the output force [N m or N] of the drive, after gear ratio and losses, for the motor force f.

        v (nv,) are the velocities of the mechanism. The force on velocity k is row[k] times the output force.
        """
        raise self.lacks("output")
