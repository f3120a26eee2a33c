"""Compliant contacts converge to rigid ones as stiffness grows and steps shrink.

Batch members have stiffness k, 4 k and 16 k, with damping proportional to its square root. Runs have two step sizes.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation.results.run import Run

G, MU, DEGREE = 9.81, 0.5, np.pi / 180.0
STIFFER = np.array([1.0, 4.0, 16.0])
STEPS = (2e-4, 1e-4)  # [s]
SOFT, DAMPED = 2e4, 2.0  # [N/m] of all contacts together for 1 kg, and dampers over sqrt(stiffness mass)
SLOW = 1e-4  # [m/s] below which what slides comes to stick, of the softest


class Case(NamedTuple):
    """A mechanism of 1 kg with contacts, its initial state, end time [s], and the error (members,) at that time."""

    m: lw.Mechanism
    q: Any
    v: Any
    gravity: Any
    duration: float
    error: Callable[[Run], np.ndarray]
    damped: float = DAMPED
    along: float = DAMPED


def downhill(angle: float) -> np.ndarray:
    return G * np.array([np.sin(angle), 0.0, -np.cos(angle)])


def plate() -> lw.Mechanism:
    """A square of 0.2 m with a contact at each corner and its centre of mass in the sole."""
    b = lw.Builder("plate").body("it", 1.0, inertia=np.array([1, 1, 2]) * 0.04 / 12.0)
    b.joint("free", lw.Free(), "world", "it").surface("floor", lw.Plane())
    corners = np.array([(x, y, 0.0) for x in (-0.1, 0.1) for y in (-0.1, 0.1)])
    return b.touch("foot", "it", corners, stiffness=1.0, friction=MU).build()


def disk() -> lw.Mechanism:
    """A disk of 0.1 m that rests on eight points of its rim."""
    b = lw.Builder("disk").body("it", 1.0, inertia=np.array([1, 1, 2]) * 0.01 / 4.0)
    b.joint("free", lw.Free(), "world", "it").surface("floor", lw.Plane())
    turn = 2.0 * np.pi * np.arange(8) / 8.0
    rim = 0.1 * np.stack([np.cos(turn), np.sin(turn), 0.0 * turn], axis=1)
    return b.touch("rim", "it", rim, stiffness=1.0, friction=MU).build()


def ball(friction: float = MU) -> lw.Mechanism:
    b = lw.Builder("ball").body("it", 1.0, inertia=0.4 * 0.01 * np.ones(3)).joint("free", lw.Free(), "world", "it")
    return b.surface("floor", lw.Plane()).touch("skin", "it", radius=0.1, stiffness=1.0, friction=friction).build()


def cases() -> dict[str, Case]:
    angle, speed, slope = np.arctan(MU), 1.0, 10.0 * DEGREE
    above, flat = angle + 0.1 * DEGREE, downhill(0.0)
    fall = 0.5 * (np.sin(above) - MU * np.cos(above)) * G
    brake = MU * G * 0.1 / 0.005  # of the disk's spin, by friction at its rim
    high, flown = 0.05, np.sqrt(2.0 * 0.05 / G)
    return {
        "held 0.1 degree below the angle": Case(
            plate(), 0, 0, downhill(angle - 0.1 * DEGREE), 1.0, lambda run: run.q[:, -1, 0], along=20.0
        ),
        "slides 0.1 degree above it": Case(
            plate(), 0, 0, downhill(above), 1.0, lambda run: run.q[:, -1, 0] - fall, along=20.0
        ),
        "stopping distance": Case(
            plate(), 0, [speed, 0, 0, 0, 0, 0], flat, 0.5, lambda run: run.q[:, -1, 0] - speed**2 / (2.0 * MU * G)
        ),
        "elastic bounce": Case(
            ball(0.0), high, 0, flat, 2.0 * flown, lambda run: run.q[:, -1, 2] - (0.1 + high), damped=0.0
        ),
        "rolls down a slope": Case(
            ball(), 0, 0, downhill(slope), 0.5, lambda run: run.q[:, -1, 0] - 2.5 / 7.0 * G * np.sin(slope) * 0.25
        ),
        "2/7 rule": Case(
            ball(), 0, [speed, 0, 0, 0, 0, 0], flat, 0.5, lambda run: run.v[:, -1, 4] * 0.1 - 5.0 / 7.0 * speed
        ),
        "spinning disk": Case(
            disk(),
            0,
            [0, 0, 0, 0, 0, 5.0],
            flat,
            0.2,
            lambda run: 2 * np.arctan2(run.q[:, -1, 6], run.q[:, -1, 3]) - 25 / (2 * brake),
        ),
    }


@cache
def errors(name: str, dt: float, locate: bool = True) -> np.ndarray:
    """Final error of each member (3,), by stiffness."""
    case = cases()[name]
    m, gravity = case.m, np.broadcast_to(case.gravity, (3, 3))
    count, hard = len(m.contacts), SOFT * STIFFER
    values = {"stiffness": hard / count, "tangential_stiffness": hard / count}
    values |= {"damping": case.damped * np.sqrt(hard) / count, "tangential_damping": case.along * np.sqrt(hard) / count}
    values |= {"rest_speed": SLOW / np.sqrt(STIFFER)}
    given = {f"{name}.{key}": value for name in m.contacts.names for key, value in values.items()}
    q = np.zeros((3, 7))
    bottom = 0.1 if "ball" in m.name else 0.0
    q[:, 2] = bottom + (case.q if case.q else gravity[:, 2] / hard)  # resting, or high
    q[:, 3] = 1.0
    v = np.zeros((3, 6)) + case.v
    parameters = given | {"gravity": gravity}
    run = lw.simulate(
        m,
        q,
        v,
        dt * round(case.duration / dt),
        dt,
        "variational",
        parameters=parameters,
        locate=locate,
        record=("q", "v"),
    )
    return np.abs(case.error(run.check()))


STIFFNESS = {  # by how much an error falls where springs are four times as stiff
    "slides 0.1 degree above it": 2.0,  # with the speed below which it would stick, from which it starts
    "elastic bounce": 4.0,
}
LOCATED = "2/7 rule", "spinning disk"


@pytest.mark.parametrize("name", STIFFNESS)
def test_errors_against_rigid_bodies_fall_with_contact_stiffness(name: str) -> None:
    found = errors(name, STEPS[1])
    assert found[:-1] / found[1:] == pytest.approx(STIFFNESS[name], rel=0.07)


def test_compliant_contacts_of_bodies_at_rest_start_in_equilibrium() -> None:
    """Anchor springs that began unstretched would let the plate move by 2e-4 m, and the ball err by 7e-6 m."""
    assert errors("held 0.1 degree below the angle", STEPS[1]).max() < 1e-12
    coarse, fine = (errors("rolls down a slope", dt) for dt in STEPS)
    assert fine.max() < 2e-9
    assert coarse / fine == pytest.approx(4.0, rel=0.01)


def test_errors_of_compliant_contacts_fall_with_the_step_size() -> None:
    coarse, fine = (errors("2/7 rule", dt) for dt in STEPS)
    assert (coarse / fine > 0.99 * 4.0).all()
    assert fine.max() < 1e-8


def test_spinning_disk_stops_at_the_closed_form_angle() -> None:
    """Free rotation is exact; what remains of the error is due to the contacts."""
    coarse, fine = (errors("spinning disk", dt) for dt in STEPS)
    assert (coarse.max() < 1e-8, fine.max() < 4e-9) == (True, True)


def test_pushed_plate_stops_at_the_stopping_distance() -> None:
    """Within rest_speed^2 / (2 mu g), the distance left at the speed at which it sticks."""
    for dt in STEPS:
        assert (errors("stopping distance", dt) < 1.05 * SLOW**2 / STIFFER / (2.0 * MU * G)).all()


@pytest.mark.slow
def test_errors_of_compliant_contacts_are_larger_without_event_location() -> None:
    for name in LOCATED:
        assert (errors(name, STEPS[1], locate=False) > 5.0 * errors(name, STEPS[1])).all()
