"""Each feedback controller has its theoretical properties, on arms, trees with every joint kind and free bases."""

from typing import Any, cast

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.rotation import exp_matrix, log_matrix
from linkwork.spatial.scalar import Array
from random_mechanisms import relative, state, tree, tree_with_mimics

FIXED = (4, 6, 10, 12)  # trees on the world with every joint kind
FLOATING = (3, 5, 7)


def plain(m: lw.Mechanism) -> lw.Dynamics:
    return lw.compile(m, target="numpy")


def acceleration(m: lw.Mechanism, q: Array, v: Array, tau: Array) -> Array:
    """Accelerations (nv,) under controller forces and the joints' springs and dampers, as in a simulation."""
    return plain(m).forward_dynamics(q, v, tau + plain(m).passive(q, v))


def arm(joints: int = 6, damping: float = 0.3, base: bool = False, armature: float = 0.01) -> lw.Mechanism:
    """An arm with rotated axes on the world, or on a free base in space."""
    b = lw.Builder("arm", gravity=(0, 0, 0) if base else (0.3, -0.2, -9.81))
    parent = "world"
    if base:
        b.body("base", mass=20.0, com=(0.1, 0, 0), inertia=(2.0, 3.0, 4.0)).joint("float", lw.Free(), "world", "base")
        parent = "base"
    axes = [(0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0)]
    for k in range(joints):
        b.body(f"link {k}", mass=2.0 - 0.2 * k, com=(0.02, 0.01, 0.15), inertia=(0.02, 0.02, 0.01))
        at = (0, 0, 0.3) if k else (0, 0, 0.1)
        b.joint(f"joint {k}", lw.Revolute(axes[k]), parent, f"link {k}", at=at, damping=damping, armature=armature)
        parent = f"link {k}"
    b.frame("tool", body=parent, at=(0.05, 0, 0.2), rpy=(0.1, 0.2, 0.3))
    return b.build()


def some_state(m: lw.Mechanism, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return m.integrate(m.random(rng), np.zeros(m.nv)), rng.normal(size=m.nv)


def driven(m: lw.Mechanism) -> Array:
    return np.array([d for j in m.leaders if not isinstance(j.kind, lw.Free) for d in range(j.v.start, j.v.stop)])


# --- joint space ---


@pytest.mark.parametrize("seed", FIXED)
def test_gravity_compensation_gives_zero_acceleration_at_rest(seed: int) -> None:
    m = tree(seed)
    every = [j.name for j in m.leaders]
    q, _ = some_state(m, seed)
    tau = lw.feedback.gravity_compensation(m, actuated=every)(0.0, q, np.zeros(m.nv))
    assert np.abs(plain(m).forward_dynamics(q, np.zeros(m.nv), tau)).max() < 1e-9


@pytest.mark.parametrize("seed", FIXED)
def test_pd_controller_acts_as_springs_and_dampers_also_on_rotations(seed: int) -> None:
    """At a displacement from the target, the force is kp times the displacement back."""
    m = tree(seed)
    q, v = some_state(m, seed)
    kp, kd = np.random.default_rng(seed).uniform(0.5, 2.0, size=(2, m.nv))
    away = 0.5 * np.random.default_rng(seed + 1).normal(size=m.nv)
    controller = lw.feedback.pd(m, q, kp, kd, actuated=[j.name for j in m.leaders])
    assert relative(controller(0.0, m.integrate(q, away), v), -kp * away - kd * v) < 1e-9
    limited = lw.feedback.pd(m, q, kp, kd, limit=0.2, actuated=[j.name for j in m.leaders])
    assert relative(limited(0.0, m.integrate(q, away), v), np.clip(-kp * away - kd * v, -0.2, 0.2)) < 1e-9


def test_pd_controller_dissipates_energy_and_reaches_its_target() -> None:
    """PD with gravity compensation (Takegaki and Arimoto): V = kinetic energy + e kp e / 2 never grows."""
    m = arm(3, armature=0.5)
    d = plain(m)
    target = np.array([0.5, -0.8, 1.0])
    pd, gravity = lw.feedback.pd(m, target, 60.0, 12.0), lw.feedback.gravity_compensation(m)
    q, v = np.array([-0.6, 0.9, -0.4]), np.zeros(3)

    def measure(q: Array, v: Array) -> float:
        return float(d.energy(q, v)[0]) + 30.0 * float(np.sum(m.difference(q, target) ** 2))

    def rates(q: Array, v: Array) -> tuple[Array, Array]:
        return v, acceleration(m, q, v, pd(0.0, q, v) + gravity(0.0, q, v))

    before = first = measure(q, v)
    for _ in range(300):
        q, v = rk4(rates, q, v, 0.02)
        assert measure(q, v) < before + 1e-9
        before = measure(q, v)
    assert before < 1e-5 * first


def rk4(rates: Any, q: Array, v: Array, dt: float) -> tuple[Array, Array]:
    k1 = rates(q, v)
    k2 = rates(q + 0.5 * dt * k1[0], v + 0.5 * dt * k1[1])
    k3 = rates(q + 0.5 * dt * k2[0], v + 0.5 * dt * k2[1])
    k4 = rates(q + dt * k3[0], v + dt * k3[1])
    return tuple(x + dt / 6.0 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip((q, v), k1, k2, k3, k4, strict=True))


@pytest.mark.parametrize("seed", [*FIXED, *FLOATING])
def test_computed_torque_gives_linear_error_dynamics_in_driven_joints(seed: int) -> None:
    m = tree(seed)
    q, v = some_state(m, seed)
    target = m.integrate(q, 0.5 * np.random.default_rng(seed).normal(size=m.nv))
    kp, kd = np.random.default_rng(seed + 1).uniform(0.5, 2.0, size=(2, m.nv))
    tau = lw.feedback.computed_torque(m, target, kp, kd)(0.0, q, v)
    idle = np.setdiff1d(np.arange(m.nv), driven(m))
    assert (tau[idle] == 0.0).all()
    a, wanted = acceleration(m, q, v, tau), kp * m.difference(q, target) - kd * v
    rounding = np.finfo(float).eps * np.linalg.cond(plain(m).mass_matrix(q))  # forward dynamics undoes no better
    assert relative(a[driven(m)], wanted[driven(m)]) < max(1e-10, 10.0 * rounding)


def test_computed_torque_follows_a_reference() -> None:
    m, rng = arm(), np.random.default_rng(0)
    r = lw.Reference([0.0, 0.4, 1.0, 1.5], rng.normal(size=(4, m.nq)))
    controller = lw.feedback.computed_torque(m, r, 100.0, 20.0)
    for t in (-1.0, 0.2, 0.9, 3.0):
        q, v = some_state(m, 3)
        wanted = r.acceleration(t) + 20.0 * (r.rate(t) - v) + 100.0 * (r(t) - q)
        assert relative(acceleration(m, q, v, controller(t, q, v)), wanted) < 1e-10


def test_target_given_as_a_function_of_time_moves_joints_with_quaternions() -> None:
    b = lw.Builder("ball").body("top", mass=1.0, com=(0, 0.1, 0.3), inertia=(0.1, 0.2, 0.3))
    m = b.joint("ball", lw.Ball(), "world", "top").build()
    spin = np.array([0.3, -0.2, 0.9])

    def turning(t: Any) -> tuple[Array, Array, Array]:
        return m.integrate(m.neutral(), spin * t), spin, np.zeros(3)

    controller = lw.feedback.computed_torque(m, turning, 4.0, 2.0)
    q, _, _ = turning(0.7)
    assert np.abs(acceleration(m, q, spin, controller(0.7, q, spin))).max() < 1e-12
    with pytest.raises(lw.LinkworkError, match="joint 'ball', which has a quaternion"):
        lw.feedback.computed_torque(m, lw.Reference([0, 1], np.eye(4)[:2]), 4.0, 2.0)


@pytest.mark.parametrize("seed", [4, 10, 22])
def test_computed_torque_works_with_mimic_joints(seed: int) -> None:
    m = tree_with_mimics(seed)
    s = state(m, seed)
    target = m.integrate(s.q, 0.3 * s.a)
    every = [j.name for j in m.leaders]
    tau = lw.feedback.computed_torque(m, target, 2.0, 1.0, actuated=every)(0.0, s.q, s.v)
    assert relative(acceleration(m, s.q, s.v, tau), 2.0 * m.difference(s.q, target) - s.v) < 1e-10


# --- with memory ---


def test_pid_has_no_steady_state_error_under_constant_load() -> None:
    m = arm(2, armature=0.5)
    target = np.array([0.4, -0.7])
    controller: Any = lw.feedback.pid(m, target, 60.0, 80.0, 15.0, dt=0.01)
    q, v, memory = target.copy(), np.zeros(2), controller.memory
    for k in range(1200):
        tau, memory = controller(0.01 * k, q, v, memory)
        q, v = rk4(lambda q, v, tau=tau: (v, acceleration(m, q, v, tau)), q, v, 0.01)
    assert np.abs(q - target).max() < 1e-5
    assert np.abs(80.0 * memory - plain(m).gravity(target)).max() < 1e-2  # the integral has learnt the load


def test_pid_integral_does_not_wind_up_at_its_limit() -> None:
    m = arm(2)
    controller: Any = lw.feedback.pid(m, np.array([3.0, 0.0]), 10.0, 5.0, 1.0, dt=0.1, limit=4.0)
    assert controller.dt == 0.1
    memory = controller.memory
    for k in range(50):
        tau, memory = controller(0.1 * k, np.array([0.0, 0.2]), np.zeros(2), memory)
        assert np.abs(tau).max() <= 4.0
    assert memory[0] == 0.0
    assert -0.5 < memory[1] < 0.0  # this joint's force may still grow, until it is at its limit
    _, less = controller(5.0, np.array([3.5, 0.2]), np.zeros(2), np.array([9.0, 0.0]))
    assert less[0] < 9.0  # an error of the other sign unwinds at once


# --- frames ---


def frame_state(m: lw.Mechanism, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
    """Pose, twist and twist rate of the tool in world axes, from the Jacobian."""
    d = plain(m)
    J, dJ = d.jacobian(q, "tool", "mixed"), d.jacobian_rate(q, v, "tool", "mixed")
    return d.pose(q, "tool"), J @ v, J @ a + dJ @ v


POSE = np.eye(4)
POSE[:3, :3], POSE[:3, 3] = exp_matrix(np.array([0.4, -0.8, 0.3])), [0.3, 0.2, 0.6]


@pytest.mark.parametrize("base", [False, True])
@pytest.mark.parametrize("target", [POSE[:3, 3], POSE], ids=["position", "pose"])
def test_operational_space_gives_the_required_frame_acceleration(base: bool, target: Array) -> None:
    m = arm(7, base=base)
    controller = lw.feedback.operational_space(m, "tool", target, 25.0, 10.0, null_damping=2.0)
    for seed in range(3):
        q, v = some_state(m, seed)
        tau = controller(0.0, q, v)
        assert (np.delete(tau, driven(m)) == 0.0).all()
        X, V, A = frame_state(m, q, v, acceleration(m, q, v, tau))
        turn = X[:3, :3] @ log_matrix(X[:3, :3].T @ POSE[:3, :3])
        e = np.concatenate([POSE[:3, 3] - X[:3, 3], turn])
        rows = 3 if target.ndim == 1 else 6
        assert relative(A[:rows], (25.0 * e - 10.0 * V)[:rows]) < 1e-9


def test_operational_space_follows_a_moving_point() -> None:
    m = arm()
    r = lw.Reference([0.0, 1.0, 2.0], [[0.3, 0.2, 0.6], [0.1, 0.5, 0.8], [0.3, -0.2, 0.6]])
    controller = lw.feedback.operational_space(m, "tool", r, [25.0, 30.0, 35.0], 10.0)
    q, v = some_state(m, 5)
    X, V, A = frame_state(m, q, v, acceleration(m, q, v, controller(0.7, q, v)))
    wanted = r.acceleration(0.7) + 10.0 * (r.rate(0.7) - V[:3]) + np.array([25.0, 30.0, 35.0]) * (r(0.7) - X[:3, 3])
    assert relative(A[:3], wanted) < 1e-9


def test_null_space_motion_under_operational_space_control_decays_at_null_damping() -> None:
    """At rest in the task, with v in the null space of J: damping changes only v, which decays at the given rate."""
    m = arm(7, damping=0.0)
    q, v = some_state(m, 8)
    d = plain(m)
    J = d.jacobian(q, "tool", "mixed")
    v = v - np.linalg.pinv(J) @ (J @ v)
    controllers = [lw.feedback.operational_space(m, "tool", POSE, 25.0, 10.0, null_damping=c) for c in (0.0, 3.0)]
    with_none, with_some = (acceleration(m, q, v, controller(0.0, q, v)) for controller in controllers)
    assert relative(with_some - with_none, -3.0 * v) < 1e-8


@pytest.mark.parametrize("base", [False, True])
@pytest.mark.parametrize("target", [POSE[:3, 3], POSE], ids=["position", "pose"])
def test_resolved_rate_controller_moves_a_frame_on_a_straight_line(base: bool, target: Array) -> None:
    """With little damping J rates = gain e; the velocity loop reaches those rates at its bandwidth."""
    m = arm(7, base=base)
    controller = lw.feedback.resolved_rate(m, "tool", target, gain=2.0, damping=1e-6, bandwidth=40.0)
    q, v = some_state(m, 2)
    tau = controller(0.0, q, v)
    a = acceleration(m, q, v, tau)
    rates = v[driven(m)] + a[driven(m)] / 40.0
    assert (np.delete(tau, driven(m)) == 0.0).all()
    d = plain(m)
    after = v.copy()
    after[driven(m)] = rates
    if base:  # the base moves as momentum, which no joint force changes, demands
        i, k = np.ix_(range(6), range(6)), np.ix_(range(6), driven(m).tolist())
        M = d.mass_matrix(q)
        after[:6] = np.linalg.solve(M[i], M[i] @ v[:6] + M[k] @ (v - after)[driven(m)])
        assert relative(d.momentum(q, after), d.momentum(q, v)) < 1e-12
    X, V, _ = frame_state(m, q, after, a)
    turn = X[:3, :3] @ log_matrix(X[:3, :3].T @ POSE[:3, :3])
    rows = 3 if target.ndim == 1 else 6
    assert relative(V[:rows], 2.0 * np.concatenate([POSE[:3, 3] - X[:3, 3], turn])[:rows]) < 1e-6


def test_joint_rates_of_resolved_rate_control_stay_bounded_at_singular_positions() -> None:
    """A straight arm with a target along itself: undamped rates would be unbounded."""
    m, v = arm(3, damping=0.0), np.zeros(3)
    controller = lw.feedback.resolved_rate(m, "tool", [0.0, 0.0, 5.0], gain=1.0, damping=0.1, bandwidth=10.0)
    q = np.array([0.3, 1e-9, 1e-9])
    rates = acceleration(m, q, v, controller(0.0, q, v)) / 10.0
    assert np.abs(rates).max() < 5.0 / (2 * 0.1) + 1e-6  # s / (s^2 + damping^2) is at most 1 / (2 damping)


# --- what is refused ---


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda m: lw.feedback.pd(m, np.zeros(3), 1, 1), r"target has shape \(3,\), expected \(6,\)"),
        (lambda m: lw.feedback.pd(m, np.full(6, np.nan), 1, 1), r"target\[0\] is nan"),
        (lambda m: lw.feedback.pd(m, np.zeros(6), [1, 2], 1), r"kp has shape \(2,\), expected one number or \(6,\)"),
        (lambda m: lw.feedback.pd(m, np.zeros(6), 1, -1), "kd must be at least 0; got -1"),
        (lambda m: lw.feedback.pd(m, np.zeros(6), 1, 1, actuated=["joint 9"]), "Did you mean 'joint"),
        (lambda m: lw.feedback.pd(m, np.zeros(6), 1, 1, actuated=[]), "arm has no actuated joints"),
        (lambda m: lw.feedback.pd(m, lw.Reference([0, 1], np.zeros((2, 5))), 1, 1), r"Reference of shape \(5,\)"),
        (lambda m: lw.feedback.pd(cast(Any, "arm"), np.zeros(6), 1, 1), "needs a Mechanism as its first argument"),
        (lambda m: lw.feedback.pid(m, np.zeros(6), 1, 1, 1, dt=0.0), "dt must be a number of seconds above 0"),
        (lambda m: lw.feedback.operational_space(m, "tol", np.zeros(3), 1, 1), "Did you mean 'tool'"),
        (lambda m: lw.feedback.operational_space(m, "tool", np.zeros(4), 1, 1), r"expected \(3,\) or \(4, 4\)"),
        (lambda m: lw.feedback.operational_space(m, "tool", np.ones((4, 4)), 1, 1), "target is not a pose"),
        (lambda m: lw.feedback.resolved_rate(m, "tool", lambda t: (np.zeros(2), 0, 0), 1), r"shape \(2,\)"),
        (
            lambda m: lw.feedback.resolved_rate(m, "tool", lambda t: np.zeros(3), 1),
            r"tuple \(q, v, a\) or \(pose, velocity, accel",
        ),
    ],
)
def test_invalid_controllers_are_rejected(make: Any, says: str) -> None:
    with pytest.raises(lw.LinkworkError, match=says):
        make(arm())
