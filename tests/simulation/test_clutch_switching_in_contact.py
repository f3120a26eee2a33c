"""A clutch engages while a foot is in contact: methods agree on the velocity jump and keep their order."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.compliant_contact import STICKING
from linkwork.algorithms.constraints.velocity_constraints import velocity_row_matrix
from linkwork.algorithms.drive_forces import drive_forces
from linkwork.simulation.results.run import Run

STRUCTURED = ("midpoint", "variational", "rattle", "energy-momentum")
STEPS = {"semi-implicit": 2e-4} | dict.fromkeys(STRUCTURED, 2e-3)  # [s]
ENGAGED, RELEASED, END = 0.2, 0.3, 0.36  # [s]
HARD = 2e4  # of the ground [N/m]


@cache
def trestle() -> lw.Mechanism:
    """A frame that does not rotate, on two legs: a servo holds one, a clutch turns the other against it.

    Half a step of the servo's damper is four times the inertia of a leg.
    """
    b = lw.Builder("trestle").surface("floor", lw.Plane())
    b.body("cart", 0.5, inertia=(0.01, 0.01, 0.01)).joint("along", lw.Prismatic((1, 0, 0)), "world", "cart")
    b.body("frame", 4.0, inertia=(0.1, 0.1, 0.1)).joint("up", lw.Prismatic((0, 0, 1)), "cart", "frame")
    for side, at in (("left", (-0.1, 0, 0)), ("right", (0.1, 0, 0.05))):
        b.body(f"{side} leg", 0.3, com=(0, 0, -0.2), inertia=(0.004, 0.004, 1e-4))
        b.joint(f"{side} hip", lw.Revolute((0, 1, 0)), "frame", f"{side} leg", at=at)
        b.touch(f"{side} foot", f"{side} leg", at=(0, 0, -0.4), stiffness=HARD, damping=200.0, friction=0.8)
    b.drive("motor", {"left hip": 1.0}, gain=3000.0, bias=(0.0, -3000.0, -60.0))
    return b.clutch("clutch", "left hip", "right hip", -1.0).build()


def bow(t, q, v):
    return drive_forces(trestle(), q, v, np.stack([5.0 * np.maximum(t - 0.02, 0.0) ** 3]))


@cache
def stepped(method: str, halved: int = 0, engaged: float = ENGAGED) -> Run:
    """Return a run in which the servo turns the leg in contact, slowly at first, so that the foot always sticks."""
    m, dt = trestle(), STEPS[method] / 2**halved
    start = [0.0, 0.4 - sum(body.inertia.mass for body in m.bodies[1:]) * 9.81 / HARD, 0.0, 0.0]
    schedule = [(engaged, "engage", "clutch"), (RELEASED, "release", "clutch")]
    return lw.simulate(m, start, duration=END, dt=dt, method=method, controller=bow, schedule=schedule).check()


@pytest.mark.parametrize("method", STEPS)
def test_velocity_jump_is_the_projection_in_the_kinetic_energy_metric(method):
    m, run, at = trestle(), stepped(method), round(ENGAGED / STEPS[method])
    before, after, q = stepped(method, engaged=ENGAGED + 0.02).v[at], run.v[at], run.q[at]
    M = lw.compile(m, target="numpy").mass_matrix(q)
    C = velocity_row_matrix(m.with_parameters({"clutch.engaged": 1.0}))
    impulse = np.linalg.solve(C @ np.linalg.solve(M, C.T), -C @ before)
    size = abs(M @ before).max()
    assert abs(C @ before).max() > 0.1
    assert run["contact.state"][at, 0] == STICKING
    np.testing.assert_allclose(M @ (after - before), C.T @ impulse, rtol=0, atol=1e-12 * size)
    engaged, released = run.events
    assert engaged.impulse == pytest.approx(impulse[0], rel=1e-11)
    assert engaged.energy == pytest.approx(-0.5 * (after - before) @ M @ (after - before), rel=1e-11)
    assert released.impulse == released.energy == 0.0
    assert abs(released.carried) > 0.01


@pytest.mark.parametrize("method", STEPS)
def test_clutched_legs_stay_coupled_during_contact(method):
    run = stepped(method)
    held = slice(*(round(t / STEPS[method]) for t in (ENGAGED, RELEASED)))
    assert (run["contact.state"][10:, 0] == STICKING).all()
    assert abs(run.v[held] @ velocity_row_matrix(trestle().with_parameters({"clutch.engaged": 1.0})).T).max() < 1e-12
    turned = run.q[held, 3] + run.q[held, 2]
    assert abs(turned - turned[0]).max() < 1e-13
    assert abs(run.v[-1, 3] + run.v[-1, 2]) > 0.01


@pytest.mark.parametrize("method", STRUCTURED)
def test_integration_methods_keep_their_order_when_a_clutch_switches(method):
    """Halving the step divides the error by four: neither the switch nor the contact has a first-order error."""
    coarse, fine, finer = (stepped(method, halved) for halved in range(3))
    for name in ("q", "v"):
        one, two = (abs(a[name][-1] - b[name][-1]).max() for a, b in ((coarse, fine), (fine, finer)))
        assert np.log2(one / two) > 1.9
    assert max(float(run.final.most_iterations) for run in (coarse, fine, finer)) < 15 * (
        4 if "energy" in method else 1
    )


def test_integration_methods_agree_on_the_trajectory_after_a_clutch_switches():
    best = stepped("variational", 2)
    for method in STRUCTURED:
        assert abs(stepped(method, 2).q[-1] - best.q[-1]).max() < 4e-6
    assert abs(stepped("semi-implicit").q[-1] - best.q[-1]).max() < 1e-3
