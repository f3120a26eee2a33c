"""The middle of a step of Moreau's method: positions after half a step of free flight, and velocity changes by
impulses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linkwork.algorithms.constraints.dense_solver import DenseConstraints
from linkwork.algorithms.mass_matrix import matrix_factors
from linkwork.algorithms.mimic_reduction import constraint_row_matrix
from linkwork.algorithms.passive_joint_forces import dampers
from linkwork.algorithms.tangent_space import free_acceleration, free_flight
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.simulated_system import Loads, System, stiffened_matrix
from linkwork.simulation.state import StepState
from linkwork.spatial.scalar import Array, Number, dot


@dataclass(frozen=True, eq=False)
class Middle:
    """The system at the middle of a step h [s]: all quantities that do not depend on the velocities at the end.

    `q` (nq,) are the coordinates at mid-step, and `v` (nv,) the velocities there, before all impulses. `solve` maps
    impulses (nv,) [N s, N m s] to velocity changes (nv,). `project` removes the velocity components (nv,) that violate
    loops. `M` (nv, nv) is the mass matrix plus h times the damping matrix; `solve` uses it. The step begins at t [s],
    and `held` (nv,) [N m or N] are the joint forces of a sampled controller.
    """

    system: System
    t: Number
    h: Number
    held: Array
    q: Array
    v: Array
    solve: Callable[[Array], Array]
    project: Callable[[Array], Array]
    M: Array

    def loads(self, v: Array) -> Loads:
        """Return the external loads at mid-step, for velocities v (nv,) [rad/s, m/s] after the impulses."""
        return self.system.loads(self.t + 0.5 * self.h, self.q, (self.v + v) * 0.5, self.held)

    def free(self, v: Array) -> Array:
        """Return the velocities (nv,) at mid-step after the impulses of all forces except those of contacts.

        Velocity-dependent forces are evaluated as if these velocities were v (nv,). `free_flight` has already changed
        the velocities by the gyroscopic terms of single bodies; the remaining gyroscopic terms act here.
        """
        system, last, m = self.system, self.v, self.system.mechanism
        loads, mean = self.loads(v), (last + v) * 0.5
        needed = system.needed(self.q, mean, free_acceleration(m, mean), loads)
        found = last + self.solve(system.joint_forces(self.q, last, loads) - needed) * self.h
        # The mean velocity satisfies the loops, which preserves the order of the step
        return self.project(last + found) - last

    def response(self, row: Array) -> Array:
        """Return the velocity change (nv,) due to a unit impulse [N s or N m s] along the constraint row `row`
        (nv,).
        """
        return self.project(self.solve(row))


def middle_of_step(system: System, t: Number, now: StepState, h: Number, held: Array) -> Middle:
    """Return the system at the middle of a step h [s] from the state `now` at t [s], after half a step of free flight.

    `held` (nv,) are the joint forces of a sampled controller.
    """
    m = system.mechanism
    q, v = free_flight(m, now.q, now.v, 0.5 * h)
    M = stiffened_matrix(m, q, dampers(m.tree) * h, [spring.damping * h for spring in m.line_forces])
    solve = matrix_factors(m, M).solve
    project = DenseConstraints.of(constraint_row_matrix(m, q), solve).without_rates
    return Middle(system, t, h, held, q, v, solve, project, M)


def resting_speed(m: Mechanism, h: Number) -> Number:
    """Return the resting speed [m/s], below which contacts do not bounce: the speed that gravity adds in a step h [s].

    Contacts that approach more slowly would bounce for less than two steps.
    """
    return np.sqrt(dot(m.gravity, m.gravity)) * h
