"""Structure-preserving steps are exact for rotation about one axis, with omega h of up to half a turn."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.pose_increments import (
    EXPONENTIAL,
    MEAN_VELOCITY,
    Increment,
    RotationRule,
    SplitInertia,
    momenta,
    momentum_derivative,
)
from linkwork.model.joints import JointKind
from linkwork.spatial.rotation import angle_per_sine, exp_quaternion, matrix_from_quaternion, product
from linkwork.spatial.scalar import Array
from quick_test_selection import mark_slow_pairs

FAMILY = ("variational", "rattle", "shake", "energy-momentum")
H = 0.1


def one_body(kind: JointKind, com: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> lw.Mechanism:
    b = lw.Builder("one body", gravity=(0, 0, 0)).body("body", 2.0, com=com, inertia=(0.1, 0.2, 0.15))
    return b.joint("joint", kind, "world", "body").build()


@pytest.mark.parametrize(("method", "turn"), mark_slow_pairs(FAMILY, [0.5, 0.9, 2.0, 3.1]))  # omega h
def test_flywheel_turns_exactly_in_steps_of_any_length(method: str, turn: float) -> None:
    """Wherever its centre of mass is, and while it moves along its axis."""
    off_axis = (0.4, 0.1, -0.2)
    for kind, com in (
        (lw.Revolute((0, 0, 1)), (0.0, 0.0, 0.0)),
        (lw.Revolute((1, 2, 2)), off_axis),
        (lw.Screw((0, 0, 1), 0.1), off_axis),
    ):
        run = lw.simulate(one_body(kind, com), None, [turn / H], 20 * H, H, method).check()
        assert np.abs(run.q[:, 0] - turn / H * run.t).max() < 1e-11 * turn / H
    run = lw.simulate(one_body(lw.Cylindrical(), off_axis), None, [0.7, turn / H], 20 * H, H, method).check()
    assert np.abs(run.q - np.outer(run.t, [0.7, turn / H])).max() < 1e-11 * turn / H


@pytest.mark.parametrize("turn", [0.9, 2.0, 3.1])
@pytest.mark.parametrize("method", FAMILY)
def test_free_body_that_spins_about_a_principal_axis_is_exact(method: str, turn: float) -> None:
    """It moves straight as well, and its centre of mass is not at its frame."""
    com, spin, speed = np.array([0.3, 0.1, 0.2]), np.array([0.0, turn / H, 0.0]), np.array([1.0, -0.5, 0.3])
    m = one_body(lw.Free(), tuple(com))
    run = lw.simulate(m, None, [*(speed - np.cross(spin, com)), *spin], 20 * H, H, method).check()
    assert np.abs(run["center_of_mass"] - com - np.outer(run.t, speed)).max() < 1e-11
    assert np.abs(run.v[:, 3:] - spin).max() < 1e-9 * turn / H


def test_body_that_turns_more_than_half_a_turn_in_a_step_is_not_solved() -> None:
    run = lw.simulate(one_body(lw.Revolute()), None, [3.5 / H], 1.0, H, "variational")
    assert run.outcome.kind == "not converged"


@pytest.mark.parametrize("method", ["variational", "energy-momentum"])
def test_tumbling_body_at_large_steps_conserves_momentum(method: str) -> None:
    m = one_body(lw.Free(), (0.1, 0.0, 0.2))
    run = lw.simulate(m, None, [0.3, 0.1, -0.2, 4.0, 10.0, 3.0], 20.0, H, method).check()
    report = run.report()
    assert max(float(report[name].value) for name in ("momentum", "angular momentum")) < 1e-12
    spread = np.ptp(run.energy) / run.energy[0]
    assert spread < (1e-12 if method == "energy-momentum" else 0.2)
    moved = run["center_of_mass"] - run["center_of_mass"][0]
    assert np.abs(moved - np.outer(run.t / run.t[-1], moved[-1])).max() < 1e-11  # uniform motion


def random_inertia() -> SplitInertia:
    A = np.random.default_rng(0).normal(size=(3, 3))
    return SplitInertia(1.7, np.array([0.1, -0.3, 0.2]), A @ A.T)


def turned(angle: float, twist: Array, amount: float) -> Increment:
    """The increment of a rotation by `angle`, whose second pose is then moved by amount times a twist (6,)."""
    f = exp_quaternion(np.array([0.6, -0.48, 0.64]) * angle)
    d = np.array([0.3, 0.2, 0.1]) + matrix_from_quaternion(f) @ twist[:3] * amount
    return Increment(product(f, exp_quaternion(twist[3:] * amount)), d)


def slope(angle: float, function: Callable[[Increment], Any], twist: Array) -> Any:
    """The derivative of a function of the increment by the second pose along a twist (6,), of fourth order."""
    e = 1e-4
    steps = [(function(turned(angle, twist, k * e)) - function(turned(angle, twist, -k * e))) / k for k in (1, 2)]
    return (4.0 * steps[0] - steps[1]) / (6.0 * e)


@pytest.mark.parametrize("angle", [0.0, 1e-8, 1e-3, 0.3, 1.5, 3.0])
@pytest.mark.parametrize("rule", [EXPONENTIAL, MEAN_VELOCITY], ids=lambda rule: type(rule).__name__)
def test_discrete_momenta_conserve_angular_momentum_and_have_exact_derivatives(
    rule: RotationRule, angle: float
) -> None:
    inertia, h = random_inertia(), 0.3
    here = turned(angle, np.zeros(6), 0.0)
    found = momenta(rule, inertia, here, h)
    by_twist = [slope(angle, lambda moved: momenta(rule, inertia, moved, h).before.array, V) for V in np.eye(6)]
    B = momentum_derivative(rule, inertia, here, h)
    assert np.abs(B - np.transpose(by_twist)).max() < 1e-8 * np.abs(B).max()
    R = matrix_from_quaternion(here.f)
    moment = R @ found.after.angular + np.cross(here.d, R @ found.after.linear)
    assert np.abs(moment - found.before.angular).max() < 1e-13 * np.abs(found.before.angular).max()


@pytest.mark.parametrize("angle", [0.0, 1e-8, 1e-3, 0.3, 1.5, 3.0])
def test_momentum_after_a_step_is_the_derivative_of_the_discrete_lagrangian(angle: float) -> None:
    inertia, h = random_inertia(), 0.3
    found = momenta(EXPONENTIAL, inertia, turned(angle, np.zeros(6), 0.0), h).after.array

    def action(moved: Increment) -> float:
        xi = 2.0 * angle_per_sine(moved.f[0])[0] * moved.f[1:]
        chord = moved.d + moved.shift(inertia.c)
        return float(inertia.mass * chord @ chord + xi @ inertia.I @ xi) / (2.0 * h)

    after = [slope(angle, action, twist) for twist in np.eye(6)]
    assert np.abs(found - after).max() < 1e-8 * np.abs(found).max()


@pytest.mark.parametrize("method", ["variational", "energy-momentum"])
def test_batch_members_with_large_rotations_match_single_runs(method: str) -> None:
    m = one_body(lw.Ball(), (0.1, 0.0, 0.3))
    v = np.random.default_rng(3).normal(size=(5, 3)) * 3.0
    batch = lw.simulate(m, None, v, 1.0, H, method)
    for k in range(5):
        assert np.array_equal(batch.q[k], lw.simulate(m, None, v[k], 1.0, H, method).q)
