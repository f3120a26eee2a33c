"""Every URDF of Pinocchio's example robots is loaded, or rejected for a known reason.

Loaded robots match Pinocchio's inverse dynamics, forward dynamics and mass matrix to 1e-9, on fixed and free bases.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.scalar import Array
from pinocchio_reference import FOLDER, coordinates, mass_matrix, pin, velocity_order
from quick_test_selection import mark_slow_pairs
from random_mechanisms import relative, state

AGREE = 1e-9
STATES = 2
# Without mimics, some joints of these move no inertia: they have no forward dynamics
MASSLESS = ("bluevolta_bravo7_gripper.urdf", "bravo7_gripper.urdf", "falcon_bravo7_gripper.urdf", "romeo.urdf")
REFUSED = {  # and a part of the reason
    "romeo_laas_small.urdf": "each must be >= 0",  # negative moments of inertia
    "falcon.urdf": "there is no body 'Z_propeller'",  # Pinocchio refuses it, too
    "ur3.urdf": "there is no <link>",  # Pinocchio refuses it, too
}
FILES = sorted(FOLDER.rglob("*.urdf"))
SOUND = [path for path in FILES if path.name not in REFUSED]


def load(path: Path, floating: bool) -> lw.Mechanism:
    """Load without mimic joints, as Pinocchio does, and without warnings about doubtful links."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)
        return lw.load(path, floating=floating, mimic=False)


def assert_agreement(m: lw.Mechanism, model: Any, seed: int, massless: bool) -> None:
    data, d, order = model.createData(), lw.compile(m, target="numpy"), velocity_order(m, model)
    s = state(m, seed)
    q, v, a, tau = coordinates(m, model, s.q), s.v[order], s.a[order], s.tau[order]
    assert relative(d.inverse_dynamics(s.q, s.v, s.a)[order], pin.rnea(model, data, q, v, a)) < AGREE
    if massless:
        with pytest.raises(lw.ModelError, match="motion has no inertia"):
            d.forward_dynamics(s.q, s.v, s.tau)
    else:
        assert relative(d.forward_dynamics(s.q, s.v, s.tau)[order], pin.aba(model, data, q, v, tau)) < AGREE
    assert relative(d.mass_matrix(s.q)[np.ix_(order, order)], mass_matrix(model, data, q)) < AGREE


def label(value: Path | bool) -> str:
    """Return the name of a file in the folder of robots, or of their base."""
    return str(value.relative_to(FOLDER)) if isinstance(value, Path) else ("free" if value else "fixed")


@pytest.mark.parametrize(("path", "floating"), mark_slow_pairs(SOUND, (False, True), label))
def test_loaded_urdf_robot_matches_pinocchio(path: Path, floating: bool) -> None:
    model = pin.buildModelFromUrdf(str(path), *[pin.JointModelFreeFlyer()] * floating)
    m = load(path, floating)
    assert (m.nv, sorted(m.joints.names)) == (model.nv, sorted(model.names[1:]))
    for seed in range(STATES):
        assert_agreement(m, model, seed, path.name in MASSLESS)


def test_urdf_robots_are_rejected_only_for_known_reasons() -> None:
    for path in FILES:
        if path.name in REFUSED:
            for floating in (False, True):
                with pytest.raises(lw.ModelError, match=REFUSED[path.name]) as caught:
                    load(path, floating)
                assert caught.value.file == str(path)
                assert caught.value.line
    assert len(SOUND) >= 60  # releases differ in which robots they have
    print(f"\n{len(FILES)} URDF files: {len(SOUND)} loaded and compared, {len(FILES) - len(SOUND)} refused")


def test_joint_limits_of_urdf_robots_match_pinocchio() -> None:
    path = FOLDER / "panda_description/urdf/panda.urdf"
    m, model = load(path, False), pin.buildModelFromUrdf(str(path))
    order = velocity_order(m, model)
    for ours, theirs in (
        ("lower", model.lowerPositionLimit),
        ("upper", model.upperPositionLimit),
        ("velocity_limit", model.velocityLimit),
        ("effort_limit", model.effortLimit),
        ("friction", model.friction),
        ("damping", model.damping),
    ):
        assert np.array_equal(np.concatenate([getattr(j, ours) for j in m.joints])[order], theirs), ours


# --- every joint type, rotated inertial frames, axes that are not unit, welds between ---

LIMIT = '<limit lower="-1" upper="2" effort="3" velocity="4"/>'
TYPES = ["revolute", "fixed", "floating", "continuous", "prismatic", "fixed", "revolute", "planar"]
AXES = ["0 3 0", "0 0 0", "0 0 0", "1 2 -2", "0.3 -0.4 0.5", "1 0 0", "0 0 -7", "0 0 1"]


def all_types() -> str:
    rng = np.random.default_rng(5)

    def row(scale: float) -> str:
        return " ".join(f"{x:.6f}" for x in rng.normal(size=3) * scale)

    def link(k: int) -> str:
        return (
            f'<link name="l{k}"><inertial><origin xyz="{row(0.2)}" rpy="{row(1.0)}"/><mass value="{1 + k / 4}"/>'
            '<inertia ixx="0.03" ixy="0.002" ixz="-0.003" iyy="0.05" iyz="0.004" izz="0.06"/></inertial></link>'
        )

    joints = [
        f'<joint name="j{k}" type="{type_}"><origin xyz="{row(0.3)}" rpy="{row(1.0)}"/>'
        f'<parent link="l{max(k - 1, 0)}"/><child link="l{k + 1}"/><axis xyz="{axis}"/>{LIMIT}'
        '<dynamics damping="0.5" friction="0.25"/></joint>'
        for k, (type_, axis) in enumerate(zip(TYPES, AXES, strict=True))
    ]
    return f'<robot name="all types">{"".join(map(link, range(len(TYPES) + 1)))}{"".join(joints)}</robot>'


def sliding_in_the_child(m: lw.Mechanism, q: Array) -> Array:
    """Return the matrix T (nv, nv) that maps linkwork's v to Pinocchio's.

    Pinocchio's planar joint slides along the child's axes, not the joint's.
    """
    T = np.eye(m.nv)
    planar = m.joints["j7"]
    c, s = np.cos(q[planar.q][2]), np.sin(q[planar.q][2])
    T[planar.v.start : planar.v.start + 2, planar.v.start : planar.v.start + 2] = [[c, s], [-s, c]]
    return T


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "free"])
def test_every_joint_type_of_urdf_matches_pinocchio(tmp_path: Path, floating: bool) -> None:
    path = tmp_path / "all_types.urdf"
    path.write_text(all_types(), encoding="utf-8")
    model = pin.buildModelFromUrdf(str(path), *[pin.JointModelFreeFlyer()] * floating)
    m, data = lw.load(path, floating=floating), model.createData()
    d, order = lw.compile(m, target="numpy"), velocity_order(m, model)
    for seed in range(5):
        s, h = state(m, seed), 1e-6
        q, T = coordinates(m, model, s.q), sliding_in_the_child(m, s.q)
        rate = sliding_in_the_child(m, s.q + h * m.qdot(s.q, s.v)) - sliding_in_the_child(m, s.q - h * m.qdot(s.q, s.v))
        v, a = T @ s.v, T @ s.a + rate @ s.v / (2 * h)
        tau = T.T @ pin.rnea(model, data, q, v[order], a[order])[np.argsort(order)]
        assert relative(d.inverse_dynamics(s.q, s.v, s.a), tau) < AGREE
        M = mass_matrix(model, data, q)[np.ix_(np.argsort(order), np.argsort(order))]
        assert relative(d.mass_matrix(s.q), T.T @ M @ T) < AGREE
        assert relative(d.inverse_dynamics(s.q, s.v, d.forward_dynamics(s.q, s.v, s.tau)), s.tau) < AGREE
