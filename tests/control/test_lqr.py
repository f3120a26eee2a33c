"""Linear quadratic regulators solve the Riccati equation of a mechanism linearised by hand, and stabilise it."""

from typing import Any

import numpy as np
import pytest
from scipy.linalg import solve_continuous_are

import linkwork as lw
from linkwork.control.controlled_plant import Plant
from linkwork.control.lqr import linearised
from linkwork.spatial.scalar import Array

CART, POLE, LENGTH, INERTIA, DRAG, SPRING, G = 1.3, 0.4, 0.6, 0.02, 0.25, 0.7, 9.81


def cart_pole() -> lw.Mechanism:
    """A pole, upright at q = 0, pinned to a cart on a rail with viscous drag and a centring spring."""
    b = lw.Builder("cart pole", gravity=(0, 0, -G))
    b.body("cart", mass=CART, inertia=(0.1, 0.1, 0.1))
    b.body("pole", mass=POLE, com=(0, 0, LENGTH), inertia=(INERTIA, INERTIA, INERTIA))
    b.joint("rail", lw.Prismatic((1, 0, 0)), "world", "cart", damping=DRAG, stiffness=SPRING)
    return b.joint("pin", lw.Revolute((0, 1, 0)), "cart", "pole").build()


def by_hand() -> tuple[Array, Array]:
    """Return A and B of the cart-pole, linearised by hand.

    (M + m) x'' + m l th'' = u - b x' - k x; m l x'' + (I + m l^2) th'' = m g l th.
    """
    M = np.array([[CART + POLE, POLE * LENGTH], [POLE * LENGTH, INERTIA + POLE * LENGTH**2]])
    inverse = np.linalg.inv(M)
    A = np.zeros((4, 4))
    A[:2, 2:] = np.eye(2)
    A[2:, :2] = inverse @ np.diag([-SPRING, POLE * G * LENGTH])
    A[2:, 2:] = inverse @ np.diag([-DRAG, 0.0])
    return A, np.concatenate([np.zeros((2, 1)), inverse[:, :1]])


Q, R = np.diag([1.0, 10.0, 0.5, 0.1]), np.array([[0.3]])


def test_cart_pole_gains_match_the_linearisation_by_hand() -> None:
    A, B = by_hand()
    controller: Any = lw.feedback.lqr(cart_pole(), np.zeros(2), Q, R, actuated=["rail"])
    for ours, theirs in zip(linearised(Plant(cart_pole(), ["rail"]), np.zeros(2), np.zeros(2)), (A, B), strict=True):
        assert np.abs(ours - theirs).max() < 1e-9
    P = solve_continuous_are(A, B, Q, R)
    assert controller.K.shape == (1, 4)
    assert np.abs(controller.K - np.linalg.solve(R, B.T @ P)).max() < 1e-8 * np.abs(controller.K).max()
    assert np.linalg.eigvals(A - B @ controller.K).real.max() < 0.0
    same: Any = lw.feedback.lqr(cart_pole(), np.zeros(2), np.diag(Q), 0.3, actuated=["rail"])
    assert (same.K == controller.K).all()


def test_lqr_stabilises_a_falling_pole() -> None:
    m = cart_pole()
    d = lw.compile(m, target="numpy")
    controller = lw.feedback.lqr(m, np.zeros(2), Q, R, actuated=["rail"])
    q, v = np.array([0.2, 0.15]), np.array([0.0, -0.1])
    for k in range(4000):
        v = v + 0.005 * d.forward_dynamics(q, v, controller(0.005 * k, q, v) + d.passive(q, v))
        q = q + 0.005 * v
    assert np.abs([*q, *v]).max() < 1e-4


def test_lqr_holds_a_ball_joint_away_from_neutral() -> None:
    """The state error is on the manifold: near q0 the closed loop is x' = (A - B K) x to first order."""
    b = lw.Builder("top").body("top", mass=1.0, com=(0, 0.05, 0.3), inertia=(0.1, 0.2, 0.3))
    m = b.joint("ball", lw.Ball(), "world", "top", stiffness=2.0, damping=0.3).build()
    q0 = m.random(3)
    d = lw.compile(m, target="numpy")
    controller: Any = lw.feedback.lqr(m, q0, 1.0, 0.1)
    A, B = linearised(Plant(m), q0, controller(0.0, q0, np.zeros(3)))
    assert np.linalg.eigvals(A - B @ controller.K).real.max() < 0.0
    x = 1e-5 * np.random.default_rng(0).normal(size=6)
    q, v = m.integrate(q0, x[:3]), x[3:]
    a = d.forward_dynamics(q, v, controller(0.0, q, v) + d.passive(q, v))
    assert np.abs(a - ((A - B @ controller.K) @ x)[3:]).max() < 1e-8


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((np.array([0.0, 0.3]), Q, R), "q0 is not an equilibrium: under tau0 joint 'pin' accelerates by"),
        ((np.zeros(2), Q, R, [0.5, 0.0]), "q0 is not an equilibrium: under tau0 joint '(rail|pin)'"),
        ((np.zeros(2), Q, R, [0.0, 0.5]), "joint 'pin' is not actuated"),
        ((np.zeros(3), Q, R), r"q0 has shape \(3,\), expected \(2,\)"),
        ((np.zeros(2), np.eye(3), R), r"Q has shape \(3, 3\), expected one number, \(4,\) or \(4, 4\)"),
        ((np.zeros(2), -1.0, R), "Q must be positive semidefinite"),
        ((np.zeros(2), Q, 0.0), "R must be positive"),
        ((np.zeros(2), Q + np.eye(4, k=1), R), "Q must be symmetric"),
    ],
)
def test_invalid_lqr_arguments_are_rejected(arguments: tuple[Any, ...], says: str) -> None:
    with pytest.raises(lw.LinkworkError, match=says):
        lw.feedback.lqr(cart_pole(), *arguments, actuated=["rail"])


def test_lqr_reports_that_an_arm_cannot_stabilise_its_free_base() -> None:
    m = lw.example("free_flyer")
    with pytest.raises(lw.LinkworkError, match="cannot be stabilised: no actuated joint excites the mode of"):
        lw.feedback.lqr(m, m.neutral(), 1.0, 1.0)


def test_lqr_reports_an_unstable_mode_without_weight() -> None:
    b = lw.Builder("slider", gravity=(0, 0, 0)).body("block", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m = b.joint("rail", lw.Prismatic((1, 0, 0)), "world", "block").build()
    with pytest.raises(lw.NotConverged, match=r"Q must penalise"):
        lw.feedback.lqr(m, [0.0], 0.0, 1.0)
