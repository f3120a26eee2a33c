"""Cable drives: the coordinate is the rotation of a link relative to the body that holds the motor (S0 29)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.drive_forces import drive_forces, motor_speeds
from linkwork.algorithms.formulations.limb_dynamics import system_equations
from linkwork.algorithms.formulations.limb_systems import limb_system

Y = (0, 1, 0)


def arm(*cables: tuple[str, str], axes=(Y, Y, Y)) -> lw.Builder:
    """Three links on a rotating stand; a pad is welded between two of them."""
    b = lw.Builder("arm").body("stand", 2.0, inertia=(0.1, 0.1, 0.1)).joint("yaw", lw.Revolute(), "world", "stand")
    parent = "stand"
    for name, axis in zip(("shoulder", "elbow", "wrist"), axes, strict=True):
        b.body(f"{name} link", 1.0, com=(0.2, 0.02, 0), inertia=(0.01, 0.03, 0.03))
        b.joint(name, lw.Revolute(axis), parent, f"{name} link", at=(0.4, 0, 0))
        parent = f"{name} link"
        if name == "elbow":
            b.body("pad", 0.1, inertia=(1e-3, 1e-3, 1e-3)).joint("glue", lw.Weld(), parent, "pad", at=(0.1, 0, 0))
            parent = "pad"
    for joint, body in cables:
        b.drive(f"{joint} from {body}", {joint: 1.0}, measured_from=body, rotor_inertia=0.01, gear=3.0)
    return b


def test_cable_drive_acts_on_all_joints_between_its_motor_and_its_joint():
    m = arm(("wrist", "stand"), ("elbow", "shoulder link"), ("wrist", "pad")).build()
    assert dict(m.drives[0].ratios).keys() == {"wrist"}
    assert m.drives[0].joints == ("wrist", "elbow", "shoulder")
    np.testing.assert_array_equal([drive.row for drive in m.drives], [[0, 1, 1, 1], [0, 0, 1, 0], [0, 0, 0, 1]])


def test_torque_of_a_cable_drive_acts_on_the_angle_measured_from_the_stand_only():
    """The power is the same: with rotations measured from the stand, a cable's torque acts on one coordinate."""
    m = arm(("wrist", "stand"), ("elbow", "stand"), ("shoulder", "stand")).build()
    system = limb_system(m, measured_from={"wrist": "stand", "elbow": "stand"})
    rng = np.random.default_rng(0)
    q, v, u = rng.normal(size=4), rng.normal(size=4), rng.normal(size=3)
    tau = drive_forces(m, q, v, u)
    by_coordinate = system.velocity_map.T @ tau
    numbers = [m.joints.index_of(name) for name in ("wrist", "elbow", "shoulder")]
    assert by_coordinate[numbers] == pytest.approx(3.0 * u, abs=1e-12)
    rate = np.linalg.solve(system.velocity_map, v)
    assert motor_speeds(m, v) == pytest.approx(3.0 * rate[numbers], rel=1e-12)
    M, h = system_equations(m, system, q, rate)
    a = system.velocity_map @ np.linalg.solve(M, by_coordinate - h)
    np.testing.assert_allclose(a, lw.compile(m).forward_dynamics(q, v, tau), rtol=1e-10)


def test_cable_servo_holds_orientation_relative_to_the_stand():
    """Commands are rotations of links: the shoulder swings and the hand keeps its orientation."""
    b = arm()
    for joint in ("shoulder", "elbow", "wrist"):
        b.drive(f"{joint} servo", {joint: 1.0}, gain=800, bias=(0, -800, -20), measured_from="stand")
    b.drive("yaw servo", {"yaw": 1.0}, gain=800, bias=(0, -800, -20))
    m = b.build()
    command = lw.feedback.drives(
        m, lambda t, q, v: np.stack([0.5 * np.sin(2 * t), 0.0 * t - 0.2, 0.0 * t + 0.3, 0.0 * t])
    )
    run = lw.simulate(m, [0, 0, -0.2, 0.5], duration=2.0, dt=1e-3, controller=command, method="rk4")
    turned = run.q[500:, 1:].cumsum(axis=1)
    assert np.ptp(turned[:, 0]) > 0.8
    assert np.abs(turned[:, 2] - 0.3).max() < 0.01


def test_cable_drive_is_restored_from_a_saved_document():
    from linkwork.model.documents.toml_reader import read_text
    from linkwork.model.documents.toml_writer import document_text

    m = arm(("wrist", "stand")).build()
    text = document_text(m)
    assert 'measured_from = "stand"' in text
    again = read_text(text.encode(), Path("arm.toml")).mechanism
    assert again is not None
    assert (again.drives[0].row == m.drives[0].row).all()


@pytest.mark.parametrize(
    ("cable", "message"),
    [
        (("wrist", "elbow"), "inboard of joint 'wrist': there is no body 'elbow'. Did you mean 'elbow link'?"),
        (("elbow", "wrist link"), "inboard of joint 'elbow': there is no body 'wrist link'"),
        (("nose", "stand"), "there is no joint 'nose'"),
    ],
)
def test_cable_drive_from_a_body_that_is_not_inboard_is_rejected(cable, message):
    with pytest.raises(lw.ModelError, match="drive") as caught:
        arm(cable).build()
    assert message in str(caught.value)


def test_cable_drive_over_a_ball_joint_is_rejected():
    b = lw.Builder("arm")
    b.body("upper", 1.0, inertia=(1, 1, 1)).joint("ball", lw.Ball(), "world", "upper")
    b.body("fore", 1.0, inertia=(1, 1, 1)).joint("elbow", lw.Revolute(Y), "upper", "fore", at=(1, 0, 0))
    with pytest.raises(lw.ModelError, match="its cables run over joint 'ball', a Ball"):
        b.drive("cable", {"elbow": 1.0}, measured_from="world").build()
