"""Controllers that are stiff relative to the inertias: implicit steps use the derivative of the controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw

H, COUNT = 0.01, 20
METHODS = ("midpoint", "variational", "rattle", "energy-momentum")


def slides() -> lw.Builder:
    """Three masses, each on a rail on the one before, so that M (3, 3) is full and constant."""
    b = lw.Builder("slides", gravity=(0, 0, 0))
    for k, mass in enumerate((1.0, 0.5, 0.2)):
        b.body(f"mass {k}", mass, inertia=(0.01, 0.01, 0.01))
        b.joint(f"rail {k}", lw.Prismatic((1, 0, 0)), f"mass {k - 1}" if k else "world", f"mass {k}")
    return b


def full(size: int, scale: float, seed: int) -> np.ndarray:
    """A positive definite, full, nonsymmetric matrix (size, size), like controller gains."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(size, size))
    return scale * (A @ A.T + np.eye(size) + 0.3 * (A - A.T))


def linear_controller(K: np.ndarray, D: np.ndarray) -> Callable[..., Any]:
    return lambda t, q, v: -(K @ q) - D @ v


def midpoint_velocities(M: np.ndarray, K: np.ndarray, D: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Velocities after each step of the midpoint rule, which all these methods are on rails (S4 2.23)."""
    A, found = M + 0.5 * H * D + 0.25 * H * H * K, [v]
    for _ in range(COUNT):
        after = np.linalg.solve(A, (M - 0.5 * H * D - 0.25 * H * H * K) @ v - H * K @ q)
        q, v = q + 0.5 * H * (v + after), after
        found.append(v)
    return np.array(found)


@pytest.mark.parametrize("coupled", [False, True], ids=["each its own", "each on all"])
@pytest.mark.parametrize("method", METHODS[:3])
@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_steps_with_stiff_servos_match_the_linear_system(target, method, coupled):
    """Half a step of the controller's damping is hundreds of times the masses."""
    m = slides().build()
    M = lw.compile(m, target="numpy").mass_matrix(np.zeros(3))
    K, D = full(3, 1e4, 1), full(3, 4e4, 2)
    if not coupled:
        K, D = np.diag(np.diag(K)), np.diag(np.diag(D))
    q, v = np.array([0.1, -0.2, 0.05]), np.array([1.0, 0.5, -2.0])
    run = lw.simulate(m, q, v, COUNT * H, H, method, controller=linear_controller(K, D), target=target).check()
    np.testing.assert_allclose(run.v, midpoint_velocities(M, K, D, q, v), rtol=0, atol=1e-10)
    assert float(run.final.most_iterations) <= 6


@pytest.mark.parametrize("method", METHODS)
def test_stiff_controllers_work_with_mimic_joints(method):
    """The third mass mimics the first: G^T M G, with a controller of the two independent joints."""
    m = slides().mimic("rail 2", "rail 0", -0.5).build()
    M = lw.compile(m, target="numpy").mass_matrix(np.zeros(2))
    K, D = full(2, 1e4, 1), full(2, 4e4, 2)
    q, v = np.array([0.1, -0.2]), np.array([1.0, 0.5])
    run = lw.simulate(m, q, v, COUNT * H, H, method, controller=linear_controller(K, D)).check()
    tolerance = 1e-10 if method != "energy-momentum" else 1e-2
    np.testing.assert_allclose(run.v, midpoint_velocities(M, K, D, q, v), rtol=0, atol=tolerance)


@pytest.mark.parametrize("method", METHODS)
def test_light_link_comes_to_rest_at_a_joint_stop(method):
    """It comes to rest where a motor presses it against the stop."""
    b = lw.Builder("gate", gravity=(0, 0, 0)).body("gate", 0.1, com=(0.1, 0, 0), inertia=(1e-4, 1e-4, 1e-4))
    m = b.joint("hinge", lw.Revolute((0, 0, 1)), "world", "gate", limits=(-1.0, 0.5)).build()
    run = lw.simulate(m, [0.0], [3.0], 1.0, H, method, controller=lambda t, q, v: [0.01], stops=0.02).check()
    inertia = 1e-4 + 0.1 * 0.1**2
    assert run.q[:, 0].max() > 0.52
    assert run.q[-1, 0] == pytest.approx(0.5 + 0.01 * 0.02**2 / inertia, abs=1e-12)
    assert abs(run.v[-1, 0]) < 1e-12


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("servo", [False, True], ids=["springs", "servos"])
def test_arm_comes_to_rest_under_its_weight(servo, method):
    """At rest there is no momentum as a scale for convergence, but there are impulses that balance each other."""
    own: dict[str, float] = {} if servo else {"stiffness": 50.0, "damping": 5.0}
    b = lw.Builder("arm")
    for k in range(3):
        b.body(f"link {k}", 1.0, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02))
        inner, at = (f"link {k - 1}", (0.4, 0, 0)) if k else ("world", (0, 0, 0))
        b.joint(f"hinge {k}", lw.Revolute((0, 1, 0)), inner, f"link {k}", at=at, **own)
    controller = (lambda t, q, v: -50.0 * q - 5.0 * v) if servo else None
    m = b.build()
    run = lw.simulate(m, [0.3, 0.2, 0.1], None, 30.0, H, method, controller=controller, every=100).check()
    assert abs(run.v[-1]).max() < 1e-13
    needed = lw.compile(m, target="numpy").inverse_dynamics(run.q[-1], np.zeros(3), np.zeros(3))
    np.testing.assert_allclose(-50.0 * run.q[-1], needed, rtol=0, atol=1e-11)


def test_steps_with_long_controllers_converge_without_their_derivatives():
    """Kernels leave out the derivative of computed torque; the NumPy target has it and gives the same result."""
    m = slides().build()
    controller = lw.feedback.computed_torque(m, np.zeros(3), kp=100.0, kd=20.0)
    runs = [
        lw.simulate(m, [0.1, -0.2, 0.05], None, COUNT * H, H, "variational", controller=controller, target=target)
        for target in ("cpu", "numpy")
    ]
    np.testing.assert_allclose(runs[0].check().v, runs[1].check().v, rtol=0, atol=1e-11)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_controllers_without_a_derivative_at_rest_can_start_there(target, method):
    """Drag proportional to speed, with a square root of zero at the start: its derivative is NaN, its value is not."""
    m, push = slides().build(), np.array([1.0, 0.0, 0.0])

    def drag(t, q, v):
        return push - 5.0 * np.sqrt(v @ v) * v

    runs = [lw.simulate(m, np.zeros(3), None, 0.1, H, by, drag, target=target) for by in (method, "rk4")]
    np.testing.assert_allclose(runs[0].check().v, runs[1].check().v, rtol=0, atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_servo_rests_at_its_target(method):
    """No other force acts: the residual is below the resolution of the coordinates, without momentum as a scale."""
    b = lw.Builder("slide", gravity=(0, 0, 0)).body("mass", 0.1).joint("rail", lw.Prismatic((1, 0, 0)), "world", "mass")

    def held(t, q, v):
        return -20.0 * (q - 0.05) - 2.0 * v

    run = lw.simulate(b.build(), [0.1], None, 20.0, H, method, controller=held, every=100).check()
    assert abs(run.q[-1, 0] - 0.05) < 1e-16
    assert abs(run.v[-1, 0]) < 1e-15
