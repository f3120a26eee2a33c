"""Energy balance of a run: the change of the stored energy, compared with the work of all other forces.

    stored    kinetic energy, potential energy of gravity, energy of springs of joints and between bodies
    work      controllers, wrenches, contacts, stops, dampers, friction, impulses at impacts and switches

The balance is E(t) - E(0) = work, where E is the stored energy. Compliant contacts store energy in their springs and
return part of it. The work includes this exchange; the series "contact.energy" is the energy stored at one instant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from linkwork import evaluation
from linkwork.algorithms.element_forces import element_power
from linkwork.algorithms.kinematics import external_forces, kinematics
from linkwork.algorithms.mimic_reduction import to_tree
from linkwork.algorithms.momentum import kinetic_energy, potential_energy
from linkwork.algorithms.passive_joint_forces import dampers, spring_energy
from linkwork.algorithms.point_springs import frame_damper_power
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.results.report_tolerances import LEAST_EXCHANGED
from linkwork.simulation.results.series_extremes import largest_magnitude, range_over_time
from linkwork.spatial.scalar import Array, Number


class Stored(NamedTuple):
    """Kinetic energy and potential energies of gravity and springs [J]: numbers in one state, or arrays (..., T) along
    a run.
    """

    kinetic: Number
    gravity: Number
    elastic: Number

    @property
    def potential(self) -> Number:
        """Potential energy of gravity and springs [J]."""
        return self.gravity + self.elastic

    @property
    def total(self) -> Number:
        """Total energy [J]: kinetic energy plus potential energy of gravity and springs."""
        return self.kinetic + self.gravity + self.elastic


def stored_energy(mechanism: Mechanism, q: Array, v: Array) -> Stored:
    """Return the kinetic energy, and the potential energies of gravity and springs [J], in one state q (nq,) [rad, m],
    v (nv,) [rad/s, m/s].

    The entries of q and v are floats or traced numbers.
    """
    tree = mechanism.tree
    position, speed = to_tree(mechanism, ("q", "v"), (q, v))
    gravity, springs = potential_energy(tree, position), spring_energy(tree, position)
    return Stored(kinetic_energy(tree, position, speed), gravity, springs)


def stored_energies(dynamics: evaluation.Dynamics, q: Array, v: Array, parameters: Mapping[str, Array]) -> Stored:
    """Return the kinetic and potential energies (...) [J] in states q (..., nq) [rad, m], v (..., nv) [rad/s, m/s], by
    compiled functions.

    `parameters` has the values of varied parameters by name.
    """
    kinetic, gravity = dynamics.energy(q, v, parameters=parameters)
    return Stored(kinetic, gravity, dynamics.spring_energy(q, parameters=parameters))


class Powers(NamedTuple):
    """Power [W] of all forces outside the stored energy: the total, and the parts of contacts and of joint dampers.

    `contacts` is the power of compliant contacts, `joints` that of joint dampers. The `total` includes these two and
    all other forces except gravity and springs. The springs of contacts are not part of the stored energy.
    """

    total: Number
    contacts: Number
    joints: Number


def working_powers(
    mechanism: Mechanism, q: Array, v: Array, forces: Array, wrenches: Array | None, touching: Array | None
) -> Powers:
    """Return the power [W] of all forces except gravity and springs, such as forces of controllers, dampers and
    contacts.

    `forces` (nv,) [N m or N] is the sum of the forces of controllers, stops and dry friction. `wrenches` (given by the
    user) and `touching` (of contacts) are wrenches (nbodies, 6) [N, N m] on the bodies, about their origins and in
    their axes, or None. The state is q (nq,), v (nv,). The function adds the power of the dampers and force elements of
    the mechanism.
    """
    m = mechanism
    position, speed = to_tree(m, ("q", "v"), (q, v))
    resisted = (dampers(m.tree) * speed) @ speed
    total = forces @ v - resisted
    total = total - frame_damper_power(m.tree, position, speed) + element_power(m.tree, position, speed)
    given = [None if one is None else external_forces(m, one) for one in (wrenches, touching)]
    sums: list[Number] = [0.0, 0.0]
    if any(one is not None for one in given):
        twists = kinematics(m.tree, position, speed).twist
        for k, acting in enumerate(given):
            for V, F in zip(twists, acting or [], strict=acting is not None):
                sums[k] = sums[k] + V.pair(F)
    return Powers(total + sums[0] + sums[1], sums[1], -resisted)


class Balance(NamedTuple):
    """Energy balance of a run: the largest `error` |E(t) - E(0) - work| over time, and the energy exchanged, `scale`;
    each (*batch,) [J].

    Reports give the error relative to `scale`.
    """

    error: Array
    scale: Array


def balance(stored: Stored, work: Array) -> Balance:
    """Return the energy balance of a run from its stored energies and the work done (*batch, T) [J].

    The energy exchanged is the largest of: the kinetic energy, the range of the potential energy, the work, and
    LEAST_EXCHANGED times the total energy (all as magnitudes, over time).
    """
    done, total = work - work[..., :1], np.asarray(stored.total)
    error = largest_magnitude(total - total[..., :1] - done)
    exchanged = [largest_magnitude(np.asarray(stored.kinetic)), range_over_time(np.asarray(stored.potential))]
    least = LEAST_EXCHANGED * largest_magnitude(total)
    return Balance(error, np.maximum.reduce([*exchanged, largest_magnitude(done), least]))
