"""On fixed feet the base accelerates as the balance controller requires; compared with dense equations and a paper."""

from typing import Any, cast

import numpy as np
import pytest

import linkwork as lw
from legged_mechanisms import FEET, SOLES, crouched, quadruped, randomly_bent, seven_joint_biped
from linkwork.algorithms import inverse_dynamics
from linkwork.algorithms.jacobians import jacobian, jacobian_rate
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.algorithms.passive_joint_forces import passive
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.traced_array import lifted
from linkwork.examples import biped, biped_reach
from linkwork.spatial.rotation import conjugate, exp_quaternion, matrix_from_quaternion, product
from linkwork.spatial.scalar import Array
from random_mechanisms import relative

TARGET = np.array([0.05, -0.02, 0.5, 0.98, 0.1, -0.1, 0.15])
RNG = np.random.default_rng(0)


def legged_mechanism(name: str) -> tuple[lw.Mechanism, tuple[str, ...], Array, int]:
    """A mechanism, its feet, a position, and the number of constraint rows per foot."""
    if name == "biped":
        m = biped.build()
        return m, biped.FEET, m.integrate(m.keyframes["start"].q, 0.1 * RNG.normal(size=m.nv)), 6
    if name.startswith("quadruped"):
        m = quadruped(arm="arm" in name)
        return m, FEET, m.integrate(crouched(m), 0.1 * RNG.normal(size=m.nv)), 3
    m = seven_joint_biped(waist="waist" in name)
    return m, SOLES, randomly_bent(m, RNG), 6


MACHINES = ("biped", "quadruped", "quadruped with an arm", "seven joints", "seven joints and a waist")


def acceleration_on_fixed_feet(
    m: lw.Mechanism, feet: tuple[str, ...], rows: int, q: Array, v: Array, tau: Array
) -> Array:
    """Accelerations (nv,) with feet that do not accelerate, from one dense system."""
    J = np.concatenate([jacobian(m, q, foot)[:rows] for foot in feet])
    drift = np.concatenate([(jacobian_rate(m, q, v, foot) @ v)[:rows] for foot in feet])
    K = np.block([[mass_matrix(m, q), -J.T], [J, np.zeros((len(J), len(J)))]])
    right = np.concatenate([tau + passive(m, q, v) - inverse_dynamics.bias(m, q, v), -drift])
    return np.linalg.solve(K, right)[: m.nv]


def joint_forces_of_feet(m: lw.Mechanism, feet: tuple[str, ...], q: Array, wrenches: Array) -> Array:
    """Joint forces (nv,) of wrenches on the feet; the base components are the wrench on the base."""
    pairs = zip(feet, wrenches, strict=True)
    return np.sum([jacobian(m, q, foot).T @ wrench for foot, wrench in pairs], axis=0)


@pytest.mark.parametrize("name", MACHINES)
def test_base_has_the_acceleration_that_the_balance_controller_requires(name: str) -> None:
    """Also with an arm whose forces are included."""
    m, feet, q, rows = legged_mechanism(name)
    v = 0.3 * RNG.normal(size=m.nv)

    def others(t: Any, q: Array, v: Array) -> Array:
        return np.r_[np.zeros(6), np.sin(np.arange(6, m.nv)) * 3.0]

    controller: Any = lw.balance(m, feet, TARGET, 40.0, 9.0, dynamics="exact", point_feet=rows == 3, others=others)
    found, tau = controller.stages(0.0, q, v), controller(0.0, q, v)
    added = joint_forces_of_feet(m, feet, q, found.feet)[:6]
    assert relative(added, found.wrench) < 1e-12
    assert relative(acceleration_on_fixed_feet(m, feet, rows, q, v, tau)[:6], found.wanted) < 1e-9
    assert (tau[:6] == 0.0).all()
    if "arm" in name:
        assert (tau[-2:] == others(0.0, q, v)[-2:]).all()


@pytest.mark.parametrize("name", ["biped", "quadruped"])
def test_balance_with_friction_cones_gives_the_required_base_acceleration(name: str) -> None:
    """Where the ground can supply the required forces."""
    m, feet, _, rows = legged_mechanism(name)
    q = m.keyframes["start"].q if name == "biped" else crouched(m)
    target, v = m.integrate(q, np.r_[0.01, -0.02, 0.03, 0.02, 0.03, -0.01, np.zeros(m.nv - 6)])[:7], np.zeros(m.nv)
    controller: Any = lw.balance(m, feet, target, 40.0, 9.0, dynamics="exact", point_feet=rows == 3, friction=1.0)
    found = controller.stages(0.0, q, v)
    added = joint_forces_of_feet(m, feet, q, found.feet)[:6]
    assert relative(added, found.wrench) < 1e-6
    assert relative(acceleration_on_fixed_feet(m, feet, rows, q, v, found.tau)[:6], found.wanted) < 1e-4


@pytest.mark.parametrize("name", MACHINES)
def test_big_base_workspace_dynamics_approximate_the_exact_workspace_dynamics(name: str) -> None:
    m, feet, q, rows = legged_mechanism(name)
    v = 0.3 * RNG.normal(size=m.nv)
    near, exact = (
        cast(Any, lw.balance(m, feet, TARGET, 40.0, 9.0, dynamics=kind, point_feet=rows == 3)).stages(0.0, q, v)
        for kind in ("big base", "exact")
    )
    assert relative(near.workspace.P, exact.workspace.P) < 1e-4
    assert relative(near.workspace.z, exact.workspace.z) < 1e-4
    assert np.abs(near.workspace.P - exact.workspace.P).max() > 1e-9  # and are not the same thing


def test_balance_controller_matches_wendlandts_values_at_the_start_of_his_first_experiment() -> None:
    """Workspace dynamics, wrench and torques at the exact start of the first experiment, checked by hand elsewhere."""
    m = biped_reach.build()
    controller: Any = biped_reach.controller(m)
    found = controller.stages(0.0, m.keyframes["start"].q, np.zeros(m.nv))
    assert np.allclose(found.workspace.z[:3], [99.7, 0.0, 590.3], rtol=0, atol=0.05)
    assert np.allclose(
        np.diag(found.workspace.P), [57.8, 61.2, 59.2, 3.17, 2.51, 0.87], rtol=0, atol=[0.05] * 3 + [0.005] * 3
    )
    assert np.allclose(found.wrench[:3], [216.0, -28.0, 1359.5], rtol=0, atol=0.5)
    assert np.allclose(found.wrench[3:], [-20.7, -36.8, 1.2], rtol=0, atol=0.05)
    knees = found.tau[[m.joints[f"{side} knee"].v.start for side in ("left", "right")]]
    assert np.allclose(knees, 152.0, rtol=0, atol=0.5)
    assert np.abs(found.tau).max() == np.abs(knees).max()


@pytest.mark.parametrize("name", MACHINES)
def test_leg_torques_are_the_transposed_jacobian_times_the_foot_forces(name: str) -> None:
    m, feet, q, rows = legged_mechanism(name)
    v = np.zeros(m.nv)
    controller: Any = lw.balance(m, feet, TARGET, 40.0, 9.0, point_feet=rows == 3)
    found = controller.stages(0.0, q, v)
    expected = -joint_forces_of_feet(m, feet, q, found.feet)
    legs = slice(6, m.nv - 2 if "arm" in name else m.nv)
    assert relative(found.tau[legs] + passive(m, q, v)[legs], expected[legs]) < 1e-13


def test_balance_with_a_lifted_foot_equals_balance_on_the_other_feet() -> None:
    """With one foot lifted the controller equals that of the other three feet; the leg gets the `others` torques."""
    m, q = quadruped(), crouched(quadruped())
    v = 0.2 * RNG.normal(size=m.nv)

    def others(t: Any, q: Array, v: Array) -> Array:
        return -0.5 * v * (np.arange(m.nv) >= 6)

    def all_but_one(t: Any, q: Array, v: Array) -> list[bool]:
        return [True, True, False, True]

    for dynamics in ("big base", "exact"):
        lifted_law: Any = lw.balance(
            m, FEET, TARGET, 40.0, 9.0, dynamics=dynamics, point_feet=True, standing=all_but_one, others=others
        )
        three: Any = lw.balance(
            m, (*FEET[:2], FEET[3]), TARGET, 40.0, 9.0, dynamics=dynamics, point_feet=True, others=others
        )
        assert relative(lifted_law.stages(0.0, q, v).workspace.P, three.stages(0.0, q, v).workspace.P) < 1e-9
        assert relative(lifted_law(0.0, q, v), three(0.0, q, v)) < 1e-7
        assert (lifted_law.stages(0.0, q, v).feet[2] == 0.0).all()


def test_balance_controller_detects_stance_by_contacts_and_by_heights() -> None:
    m = quadruped()
    q = crouched(m)
    q[2] = 0.0
    low = min(float(lw.compile(m).poses(q)[k, 2, 3]) for k in range(m.nbodies))
    foot = m.frames[FEET[0]]
    height = float((lw.compile(m).poses(q)[foot.body - 1] @ np.r_[foot.pose.p, 1.0])[2])
    assert height < low
    q[2] = -height - 1e-3  # a millimetre deep
    q[m.joints["fore left joint 1"].q] += 0.3  # and one leg raised
    options: dict[str, Any] = {"point_feet": True, "dynamics": "exact"}
    specified: Any = lw.balance(m, FEET, TARGET, 40.0, 9.0, standing=lambda t, q, v: [1, 1, 1, 0], **options)
    for standing in ("contacts", 0.0, 0.005):
        judged: Any = lw.balance(m, FEET, TARGET, 40.0, 9.0, standing=standing, **options)
        assert (judged(0.0, q, np.zeros(m.nv)) == specified(0.0, q, np.zeros(m.nv))).all()
    assert (specified.stages(0.0, q, np.zeros(m.nv)).feet[3] == 0.0).all()


def test_torque_limits_clip_the_torques_of_the_balance_controller() -> None:
    m = biped_reach.build()
    q, v = m.keyframes["start"].q, np.zeros(m.nv)
    free, bound = biped_reach.controller(m)(0.0, q, v), biped_reach.controller(m, limit=100.0)(0.0, q, v)
    assert np.abs(free).max() > 150.0
    assert (bound == np.clip(free, -100.0, 100.0)).all()


# --- error dynamics ---


def moving_target(t: Any) -> tuple[Array, Array, Array]:
    """A target that moves on a circle and rotates about a changing axis."""
    w, dw = np.array([0.3 * np.cos(t), 0.5, -0.2 * t]), np.array([-0.3 * np.sin(t), 0.0, -0.2])
    return (
        np.r_[np.cos(t), np.sin(t), 0.5, TARGET[3:]],
        np.r_[-np.sin(t), np.cos(t), 0.0, w],
        np.r_[-np.cos(t), -np.sin(t), 0.0, dw],
    )


def test_pose_tracking_errors_satisfy_wendlandts_error_dynamics() -> None:
    """(4.14) and (4.25): second derivatives of the errors match the error dynamics, by differences along the motion."""
    from linkwork.control.controller_targets import Wanted
    from linkwork.control.pose_tracking import tracking
    from linkwork.spatial import Motion, Transform

    kp, kd, h = np.array([50.0, 40.0, 200.0, 30.0, 60.0, 45.0]), np.array([7.0, 6.0, 14.0, 5.0, 9.0, 8.0]), 1e-5
    for seed in range(5):
        rng = np.random.default_rng(seed)
        turn = exp_quaternion(rng.normal(size=3))
        R, p = matrix_from_quaternion(turn), rng.normal(size=3)
        speed, spin = rng.normal(size=3), rng.normal(size=3)  # in the world's axes
        wanted = Wanted(*moving_target(0.3))
        found = tracking(Transform(R, p), turn, Motion(R.T @ speed, R.T @ spin), wanted, kp, kd)
        pull = R @ found.acceleration[:3] + np.cross(spin, speed)  # (4.11): of the origin in the world
        twist = R @ found.acceleration[3:]
        away, gone = p - wanted.place[:3], speed - wanted.rate[:3]
        assert relative(pull - wanted.acceleration[:3], -kd[:3] * gone - kp[:3] * away) < 1e-12

        def slip(t: float, wanted: Any = wanted, turn: Any = turn, spin: Any = spin, twist: Any = twist) -> Array:
            """w_e at a nearby time: (4.20)."""
            own = product(exp_quaternion(spin * t + 0.5 * t * t * twist), turn)
            led = product(exp_quaternion(wanted.rate[3:] * t), wanted.place[3:] / np.linalg.norm(wanted.place[3:]))
            R_e = matrix_from_quaternion(own) @ matrix_from_quaternion(led).T
            return spin + twist * t - R_e @ (wanted.rate[3:] + wanted.acceleration[3:] * t)

        rate = (slip(h) - slip(-h)) / (2.0 * h)
        assert relative(rate, -kd[3:] * slip(0.0) - kp[3:] * found.error[4:]) < 1e-6
        assert found.error[3] >= 0.0


def test_orientation_tracking_dissipates_energy_from_any_initial_orientation() -> None:
    """V = 2 kp (1 - q_e^s) + |w_e|^2 / 2 falls by w_e . kd w_e; the paper shows this only near the target."""
    from linkwork.control.controller_targets import Wanted
    from linkwork.control.pose_tracking import tracking
    from linkwork.spatial import Motion, Transform

    kp, kd = np.full(6, 50.0), np.array([1.0, 1.0, 1.0, 3.0, 7.0, 11.0])
    for seed in range(50):
        rng = np.random.default_rng(seed)
        turn, goal = rng.normal(size=4), rng.normal(size=4)
        turn, goal = turn / np.linalg.norm(turn), goal / np.linalg.norm(goal)
        R, spin = matrix_from_quaternion(turn), 3.0 * rng.normal(size=3)
        still = Wanted(np.r_[np.zeros(3), goal], np.zeros(6), np.zeros(6))
        found = tracking(Transform(R, np.zeros(3)), turn, Motion(np.zeros(3), R.T @ spin), still, kp, kd)
        q_e = found.error[3:]
        assert np.allclose(abs(q_e), abs(product(turn, conjugate(goal))), rtol=0, atol=1e-15)
        rate_of_q = product(np.r_[0.0, 0.5 * spin], q_e)  # (4.22)
        falls = -2.0 * 50.0 * rate_of_q[0] + spin @ (R @ found.acceleration[3:])
        assert np.isclose(falls, -spin @ (kd[3:] * spin), rtol=1e-12, atol=1e-12)


def test_angular_velocity_of_a_quaternion_reference_matches_its_motion() -> None:
    from linkwork.control.controller_targets import base_target

    values = np.array([[0, 0, 1, 1.0, 0, 0, 0], [0.1, 0, 1.1, 1.2, 0.3, -0.4, 0.1], [0, 0.2, 1, 0.5, 0.5, 0.1, 0.2]])
    target, h = base_target(lw.Reference([0.0, 1.0, 2.0], values)), 1e-4

    def unit(t: float) -> Array:
        r = np.asarray(target(t).place)[3:]
        return r / np.linalg.norm(r)

    for t in (0.4, 1.3):
        by_differences = (product((unit(t + h) - unit(t - h)) / (2.0 * h), conjugate(unit(t))) * 2.0)[1:]
        rate = (target(t + h).rate - target(t - h).rate) / (2.0 * h)
        assert relative(target(t).rate[3:], by_differences) < 1e-6
        assert relative(target(t).acceleration, rate) < 1e-6


# --- in machine code ---


@pytest.mark.parametrize(
    "options", [{}, {"dynamics": "exact", "standing": "contacts"}, {"friction": 0.3, "limit": 200.0}]
)
def test_balance_controller_kernel_matches_python(options: dict[str, Any]) -> None:
    m = biped_reach.build()
    controller = biped_reach.controller(m, **options)
    kernel = Kernel("balance", lifted(controller), [(), (m.nq,), (m.nv,)], [(m.nv,)], key=None)
    rng = np.random.default_rng(1)
    q = np.array([m.integrate(m.keyframes["start"].q, 0.03 * rng.normal(size=m.nv)) for _ in range(5)])
    q[:, 2] -= 0.01
    arrays = [np.zeros(5), q, 0.3 * rng.normal(size=(5, m.nv))]
    (found,), _ = kernel.over_batch(arrays, (5,), 1)
    expected = np.array([controller(*(a[k] for a in arrays)) for k in range(5)])
    assert relative(found, expected) < 1e-8  # where feet are 1e6 times as heavy, six digits are lost
    assert (kernel.over_batch([a[3] for a in arrays], (), 1)[0][0] == found[3]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "dt", "rate"), [("semi-implicit", 5e-4, None), ("variational", 1e-4, 500), ("rk4", 1e-4, 500)]
)
def test_biped_rises_under_continuous_and_sampled_control_with_every_integrator(
    method: str, dt: float, rate: float | None
) -> None:
    m = biped_reach.build()
    controller = biped_reach.controller(m)
    run = lw.simulate(
        m, None, None, 1.5, dt, method, controller if rate is None else lw.sampled(controller, rate), every=100
    )
    assert np.abs(run.q[-1, :3] - biped_reach.TARGET[:3]).max() < 1e-4
