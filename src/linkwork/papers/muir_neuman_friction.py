"""Friction, which the paper omits, in the pins of Muir and Neuman's examples: coupling matrices, torques and energy.

All pins are journal bearings. For a given direction of slip, the friction torque of a bearing is linear in its load: it
is mu r times the component of the load along its present direction, and opposes the slip. mu is the coefficient of
friction and r the radius of the journal. The factors of the load components are entries of the coupling matrix.
"""

from __future__ import annotations

import numpy as np

import linkwork as lw
from linkwork.algorithms.formulations.linear_friction import LinearFriction, LoopFriction
from linkwork.algorithms.formulations.propagation import forward_dynamics, inverse_dynamics
from linkwork.algorithms.formulations.propagation_equations import propagation
from linkwork.examples import double_pendulum, frontal_biped
from linkwork.papers import muir_neuman_biped, muir_neuman_pendulum
from linkwork.papers.printed_values import Compared
from linkwork.spatial.scalar import Array

MU, PENDULUM_RADIUS, BIPED_RADIUS = 0.2, 0.3, 0.03  # coefficient of friction, radii of the journals [m]
STIFFNESS = 2000.0  # stiffness [N m/rad] of the spring at the left ankle, which stabilizes the upright biped


def friction_results() -> list[Compared]:
    """Return coupling matrices, torques and accelerations with friction, each computed in two formulations.

    One uses coupling matrices with friction, the other the friction laws of the bearings.
    """
    return [*_pendulum(), *_biped()]


def swinging_pendulum(duration: float = 30.0) -> lw.Run:
    """Return a simulation, for `duration` [s], of the pendulum from rest at joint angles of 1.2 and 0.5 rad."""
    m = double_pendulum.build(*muir_neuman_pendulum.NUMBERS, friction=lw.Bearing(MU, PENDULUM_RADIUS))
    return lw.simulate(m, [1.2, 0.5], duration=duration, dt=2e-3, method="rk4", progress=False)


def swaying_biped(duration: float = 3.0) -> lw.Run:
    """Return a simulation of the biped, which sways with both feet on the ground; it begins at rest.

    A spring acts at its left ankle. `duration` [s] is the simulated time.
    """
    m = frontal_biped.build(friction=lw.Bearing(MU, BIPED_RADIUS)).with_parameters(
        {"left ankle.stiffness": [STIFFNESS]}
    )
    return lw.simulate(m, duration=duration, dt=1e-3, method="rk4", progress=False)


def _pendulum() -> list[Compared]:
    """Return the coupling matrices of the pendulum's two pins, and its joint torques for given accelerations."""
    m = double_pendulum.build(*muir_neuman_pendulum.NUMBERS, friction=lw.Bearing(MU, PENDULUM_RADIUS))
    q, w, alpha = map(np.array, muir_neuman_pendulum.STATE)
    d = lw.compile(m, target="numpy")
    tau = d.inverse_dynamics(q, w, alpha, friction=True)
    loads = d.reactions(q, w, tau, friction=True)
    rows = [_coefficients(load, rate, PENDULUM_RADIUS) for load, rate in zip(loads, w, strict=True)]
    friction = LinearFriction({joint.name: row[None] for joint, row in zip(m.joints, rows, strict=True)})
    plain = double_pendulum.build(*muir_neuman_pendulum.NUMBERS)
    found = propagation(plain, q, w, None, friction)
    by_coupling = inverse_dynamics(plain, q, w, alpha, None, friction).tau
    names = ("^A C_EL1", "^L12 C_L1L2")
    return [
        *(
            Compared(name, f"coupling of pin {k + 1} with friction", found.joints[k + 1].C, _with_row(rows[k]))
            for k, name in enumerate(names)
        ),
        Compared("τ1, τ2", "torques with friction, by coupling and by load", by_coupling, tau),
        Compared("τ1, τ2", "part of the torques that overcomes friction", by_coupling - d.inverse_dynamics(q, w, alpha),
                 tau - d.inverse_dynamics(q, w, alpha)),
    ]  # fmt: skip


def _biped() -> list[Compared]:
    """Return the accelerations of the biped for given motor torques, with friction in all four pins."""
    m = frontal_biped.build(friction=lw.Bearing(MU, BIPED_RADIUS))
    q, v = (frontal_biped.relative(x) for x in (muir_neuman_biped.THETA, muir_neuman_biped.OMEGA))
    wrenches = np.zeros((3, 6))
    wrenches[2, 5] = muir_neuman_biped.U[3]
    d, u = lw.compile(m, target="numpy"), muir_neuman_biped.U[:3]
    a = d.forward_dynamics(q, v, u, wrenches, friction=True)
    # wrenches of the three joints, then of the loop at the right ankle
    loads = d.reactions(q, v, u, wrenches, friction=True)
    # clockwise rates of the joint coordinates, and rate of the right leg about z
    rates = [*v, -muir_neuman_biped.OMEGA[2]]
    rows = [_coefficients(load, rate, BIPED_RADIUS) for load, rate in zip(loads, rates, strict=True)]
    at_loop = LoopFriction(np.outer([0.0, 0.0, 0.0, 0.0, 0.0, 1.0], rows[3]), np.zeros(6))
    tree = {name: row[None] for name, row in zip(frontal_biped.NAMES, rows[:3], strict=True)}
    friction = LinearFriction(tree, loops={"right ankle": at_loop})
    plain = frontal_biped.build()
    by_coupling = forward_dynamics(plain, q, v, u, wrenches, friction).a
    without = d.forward_dynamics(q, v, u, wrenches)
    return [
        Compared("biped", "accelerations of the joint angles with friction, by coupling and by load", by_coupling, a),
        Compared("biped", "part of the accelerations that friction causes", by_coupling - without, a - without),
    ]


def _coefficients(load: Array, rate: float, radius: float) -> Array:
    """Return the friction row (6,) of the coupling matrix of a pin about z: friction torque per load component [m].

    `load` (6,) [N, N m] is the wrench that the pin transmits, in its axes. The sign of `rate` [rad/s] is the direction
    of slip, and `radius` [m] the radius of the journal.
    """
    along = load[:2] / np.hypot(*load[:2])
    return np.array([*(-np.sign(rate) * MU * radius * along), 0.0, 0.0, 0.0, 0.0])


def _with_row(row: Array) -> Array:
    """Return the coupling matrix (6, 6) of a pin about z with the friction row `row` (6,) [m]."""
    return np.diag([1.0, 1.0, 1.0, 1.0, 1.0, 0.0]) + np.outer([0.0, 0.0, 0.0, 0.0, 0.0, 1.0], row)
