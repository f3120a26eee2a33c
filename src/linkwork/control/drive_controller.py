"""Controller that sends commands to the drives of a mechanism and reports the forces of the motors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from linkwork.algorithms.drive_forces import drive_forces, motor_forces
from linkwork.control.controlled_plant import controller
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array


@dataclass(frozen=True, eq=False)
class DriveController:
    """Controller that sends the control signals `command(t, q, v)` (ndrives,) to all drives of a mechanism.

    If parameters of the drives vary in a batch, `simulate` uses the controller that `on` returns for each member.
    """

    mechanism: Mechanism
    command: Callable[[Any, Any, Any], Array]

    def __call__(self, t: Any, q: Any, v: Any) -> Array:
        """Return the joint forces (nv,) [N m, N] of all drives at time t [s] in the state q (nq,), v (nv,)."""
        forces = controller(lambda t, q, v, u: drive_forces(self.mechanism, q, v, u))
        return forces(t, q, v, self.command(t, q, v))

    def motors(self, t: Any, q: Any, v: Any) -> Array:
        """Return the motor forces (ndrives,) [N m or N] before the gears, at t [s], q (nq,) and v (nv,)."""
        forces = controller(lambda t, q, v, u: motor_forces(self.mechanism, q, v, u))
        return forces(t, q, v, self.command(t, q, v))

    def on(self, mechanism: Mechanism) -> DriveController:
        """Return a controller with the same commands for another mechanism that has the same drives."""
        return replace(self, mechanism=mechanism)
