"""Commands of drives: forces in kernels and on floats, MuJoCo's servo motion, and rejected commands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.drive_forces import drive_forces
from linkwork.spatial.scalar import Array
from quick_test_selection import mark_slow_pairs

Y = (0, 1, 0)


def arm(mimics: bool = False) -> lw.Mechanism:
    """Two links; a servo of the shoulder with limits, and a motor over both joints."""
    b = lw.Builder("arm")
    for name, parent, at in (
        ("upper", "world", (0, 0, 1)),
        ("fore", "upper", (0, 0, -0.5)),
        ("hand", "fore", (0, 0, 0)),
    ):
        b.body(name, 1.0, (0.01, 0, -0.2), (0.02, 0.02, 0.01))
        b.joint(f"{name} joint", lw.Revolute(Y), parent, name, at, damping=0.3)
    if mimics:
        b.mimic("hand joint", "fore joint", -0.5, 0.1)
    b.drive("servo", {"upper joint": 5.0}, gain=8.0, bias=(0, -8.0, -1.0), control_limits=(-1, 1), force_limits=(-3, 3))
    return b.drive("motor", {"upper joint": 1.0, "hand joint": -2.0}, bias=(0.1, 0, -0.2)).build()


def waving(t: Any, q: Array, v: Array) -> Array:
    return np.stack([np.clip(2.0 * np.sin(3.0 * t), -1.5, 1.5), 0.3 * np.cos(q[0]) - 0.1 * v[1]])


COMMANDS: dict[str, Any] = {
    "fixed": [0.5, -0.2],
    "reference": lw.Reference([0.0, 0.1, 0.3], [[0.0, 0.0], [0.8, -0.2], [-0.5, 0.3]]),
    "function": waving,
}


def control(command: Any, t: float, q: Array, v: Array) -> Array:
    return np.asarray(command(t, q, v) if command is waving else command(t) if callable(command) else command)


@pytest.mark.parametrize("mimics", [False, True], ids=["independent", "mimics"])
@pytest.mark.parametrize("name", COMMANDS)
def test_forces_of_drive_commands_match_the_drive_equations(name: str, mimics: bool) -> None:
    m, command, rng = arm(mimics), COMMANDS[name], np.random.default_rng(0)
    controller = lw.feedback.drives(m, command)
    for t in (0.0, 0.07, 0.5):
        q, v = m.random(rng), rng.normal(size=m.nv)
        assert (controller(t, q, v) == drive_forces(m, q, v, control(command, t, q, v))).all()


@pytest.mark.parametrize(("name", "mimics"), mark_slow_pairs(COMMANDS, (False, True)))
def test_compiled_drive_commands_and_those_called_in_python_give_the_same_motion(name: str, mimics: bool) -> None:
    m, rate = arm(mimics), 1000.0
    controller = lw.feedback.drives(m, COMMANDS[name])
    for method in ("semi-implicit", "rk4"):
        runs = [
            lw.simulate(m, m.random(1), duration=0.3, dt=1e-3, method=method, controller=chosen).check()
            for chosen in (lw.sampled(controller, rate), lw.host(controller, rate))
        ]
        assert np.abs(runs[0].q - runs[1].q).max() < 1e-10
        assert np.abs(runs[0].v - runs[1].v).max() < 1e-9
        assert np.abs(runs[0].q - runs[0].q[0]).max() > 0.1
    fast, plain = (
        lw.simulate(m, m.random(1), duration=0.05, dt=1e-3, method="rk4", controller=controller, target=target)
        for target in ("cpu", "numpy")
    )
    assert np.abs(fast.q - plain.q).max() < 1e-11


def test_constant_array_of_drive_commands_is_copied() -> None:
    m, u = arm(), np.array([0.5, -0.2])
    controller = lw.feedback.drives(m, u)
    before = controller(0.0, np.zeros(3), np.zeros(3))
    u[:] = 9.0
    assert (controller(0.0, np.zeros(3), np.zeros(3)) == before).all()


SERVO = """
<mujoco><option timestep="0.002" integrator="Euler"/><worldbody>
<body name="upper" pos="0 0 1"><joint name="a" axis="0 1 0" damping="0.2" armature="0.05"/>
  <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.04" contype="0" conaffinity="0"/>
  <body name="fore" pos="0 0 -0.5"><joint name="b" axis="1 1 0" damping="0.1" armature="0.02"/>
    <geom type="capsule" fromto="0 0 0 0.1 0 -0.4" size="0.03" contype="0" conaffinity="0"/></body></body></worldbody>
<actuator><position name="shoulder" joint="a" kp="60" kv="3" ctrlrange="-1 1"/>
  <position name="elbow" joint="b" kp="20" kv="1" forcerange="-4 4"/></actuator></mujoco>"""


def test_position_servo_matches_mujoco(tmp_path: Path) -> None:
    """Semi-implicit steps with implicit joint dampers, for 1 s of a sinusoidal command that reaches both limits."""
    mujoco: Any = pytest.importorskip("mujoco", reason="MuJoCo is not installed (the extra 'mjcf')")
    (tmp_path / "servo.xml").write_text(SERVO)
    m, model = lw.load(tmp_path / "servo.xml"), mujoco.MjModel.from_xml_string(SERVO)

    def command(t: Any, q: Array, v: Array) -> Array:
        return np.stack([1.3 * np.sin(4.0 * t), 0.8 * np.cos(3.0 * t)])

    run = lw.simulate(
        m, duration=1.0, dt=0.002, method="semi-implicit", controller=lw.feedback.drives(m, command)
    ).check()
    data, there = mujoco.MjData(model), []
    for _ in range(501):
        there.append((data.qpos.copy(), data.qvel.copy()))
        data.ctrl[:] = command(data.time, data.qpos, data.qvel)
        mujoco.mj_step(model, data)
    q, v = (np.array(x) for x in zip(*there, strict=True))
    assert np.abs(run.q).max() > 0.5
    assert np.abs(run.q - q).max() < 1e-9
    assert np.abs(run.v - v).max() < 1e-9


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "too few": (
        [1.0],
        lw.ShapeError,
        "command has shape (1,), expected (2,), one control for each drive: servo",
    ),
    "one number": (1.0, lw.ShapeError, "command has shape (), expected (2,)"),
    "a text": ("full speed", lw.LinkworkError, "command"),
    "not finite": ([1.0, np.nan], lw.LinkworkError, "command"),
    "a Reference of another size": (
        lw.Reference([0, 1], [[0.0], [1.0]]),
        lw.ShapeError,
        "the Reference of the command has shape (1,), expected (2,), one control for each drive: servo, motor",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_drive_commands_are_rejected(name: str) -> None:
    command, error, says = REFUSED[name]
    with pytest.raises(error, match=re.escape(says)):
        lw.feedback.drives(arm(), command)


def test_drive_command_function_that_returns_a_wrong_size_is_rejected_when_called() -> None:
    m = arm()
    controller = lw.feedback.drives(m, lambda t, q, v: q)
    for call in (
        lambda: controller(0.0, np.zeros(3), np.zeros(3)),
        lambda: lw.simulate(m, duration=0.1, controller=controller),
    ):
        with pytest.raises(lw.LinkworkError, match=r"returns has shape \(3,\), expected \(2,\).*servo, motor"):
            call()


def test_drive_controller_rejects_mechanisms_without_drives() -> None:
    with pytest.raises(lw.LinkworkError, match=r"double_pendulum has no drives: .*Builder\.drive"):
        lw.feedback.drives(lw.example("double_pendulum"), [])
    with pytest.raises(lw.ModelError, match="needs a Mechanism as its first argument"):
        lw.feedback.drives("arm", [])  # pyright: ignore[reportArgumentType]
