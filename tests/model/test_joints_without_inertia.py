"""Joints that move no inertia: `build` rejects them; files load, and only what inverts the mass matrix raises an error.

A joint about an axis that contains all the mass has no inertia, whatever the round-off.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.documents.loading import find_faults
from random_loops import random_rotation


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("mass", [1e-6, 1.0, 1e6])
def test_point_mass_on_a_revolute_axis_is_rejected(seed: int, mass: float) -> None:
    rng = np.random.default_rng(seed)
    n = random_rotation(rng)[0]
    b = lw.Builder("point").body("point", mass, 0.7 * n, (0, 0, 0)).joint("pin", lw.Revolute(n), "world", "point")
    with pytest.raises(
        lw.ModelError, match=r"joint 'pin': .* has no inertia \(the smallest eigenvalue of S\^T I S is 0, must be > 0\)"
    ):
        b.build()


@pytest.mark.parametrize("seed", range(20))
def test_point_mass_on_a_cylindrical_axis_is_rejected(seed: int) -> None:
    """The slider moves the mass, the rotation does not; the two have different units."""
    n = random_rotation(np.random.default_rng(seed))[0]
    b = lw.Builder("point").body("point", 1.0, 0.7 * n, (0, 0, 0)).joint("sleeve", lw.Cylindrical(n), "world", "point")
    with pytest.raises(lw.ModelError, match="has no inertia"):
        b.build()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3])
def test_thin_bodies_of_any_size_have_enough_inertia_to_be_accepted(seed: int, size: float) -> None:
    """A rod with a relative thickness of 1e-6 rotates about its own axis with a very small inertia."""
    R = random_rotation(np.random.default_rng(seed))
    inertia = size**2 * R @ np.diag([1.0, 1.0, 1e-9]) @ R.T
    inertia = (inertia + inertia.T) / 2.0
    b = lw.Builder("rod").body("rod", 1.0, 0.5 * size * R[:, 2], inertia)
    assert b.joint("spin", lw.Revolute(R[:, 2]), "world", "rod").build().nv == 1


# --- robots without inertia ---

HAND = """<robot name="hand">
<link name="palm"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="base"/><link name="left"/><link name="right"/>
<joint name="wrist" type="continuous"><parent link="base"/><child link="palm"/><axis xyz="0 0 1"/></joint>
<joint name="l" type="continuous"><parent link="palm"/><child link="left"/><origin xyz="1 0 0"/></joint>
<joint name="r" type="continuous"><parent link="palm"/><child link="right"/><origin xyz="2 0 0"/></joint>
</robot>
"""
BARE = HAND.replace(HAND[HAND.index("<inertial>") : HAND.index("</link>")], "")


def loaded(folder: Path, text: str) -> tuple[lw.Mechanism, list[str]]:
    path = folder / "hand.urdf"
    path.write_text(text)
    with pytest.warns(lw.ModelWarning) as caught:
        m = lw.load(path)
    return m, [str(warning.message) for warning in caught]


@pytest.mark.parametrize("text", [HAND, BARE], ids=["fingers", "all"])
@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_kinematics_and_inverse_dynamics_of_a_massless_robot_work(tmp_path: Path, text: str, target: str) -> None:
    m, messages = loaded(tmp_path, text)
    assert len(messages) == 1
    assert f"hand.urdf:{7 - (text == BARE)}: <joint name=\"r\">: it moves body 'right'" in messages[0]
    assert "the same holds for joints 'l'" in messages[0]
    d, q = lw.compile(m, target=target), np.array([0.3, 0.2, 0.1])
    assert np.allclose(d.pose(q, "right")[:3, 3], [2 * np.cos(0.3), 2 * np.sin(0.3), 0.0])
    assert d.jacobian(q, "left").shape == (6, 3)
    assert d.mass_matrix(q)[1:].any() == 0
    assert np.allclose(d.inverse_dynamics(q, q, [2.0, 0.0, 0.0]), [2.0 * (text == HAND), 0.0, 0.0])


Z = np.zeros(3)
SOLVING: dict[str, Callable[[lw.Mechanism], Any]] = {
    "forward dynamics": lambda m: lw.compile(m).forward_dynamics(Z, Z, Z),
    "derivatives": lambda m: lw.compile(m, target="numpy").forward_dynamics_derivatives(Z, Z, Z),
    "reactions": lambda m: lw.compile(m).reactions(Z, Z, Z),
    "simulate": lambda m: lw.simulate(m, duration=0.1),
    "simulate by radau": lambda m: lw.simulate(m, duration=0.1, method="radau"),
    "simulator": lambda m: lw.Simulator(m, dt=0.01),
    "cross-check": lambda m: lw.cross_check(m),
    "lqr": lambda m: lw.feedback.lqr(m, Z, 1.0, 1.0),
}


@pytest.mark.parametrize("name", SOLVING)
def test_dynamics_of_a_massless_robot_names_the_joint_and_the_remedy(tmp_path: Path, name: str) -> None:
    m, _ = loaded(tmp_path, HAND)
    for _ in range(2):
        with pytest.raises(
            lw.ModelError, match=r"joint 'r': it moves body 'right'.*no inertia.*'r\.armature'\) \(and 1 more fault"
        ):
            SOLVING[name](m)


def test_joints_that_move_no_inertia_work_after_they_get_an_armature_or_a_mass(tmp_path: Path) -> None:
    m, _ = loaded(tmp_path, HAND)
    half = m.with_parameters({"l.armature": [0.1]})
    with pytest.raises(lw.ModelError, match=r"joint 'r': it moves body 'right'[^(]*\([^(]*\);[^(]*\([^(]*\)$"):
        lw.simulate(half, duration=0.1)
    whole = half.with_parameters({"r.armature": [0.1]})
    assert lw.simulate(whole, duration=0.1).outcome.kind == "finished"
    with pytest.raises(lw.ModelError, match="no inertia"):
        whole.with_parameters({"r.armature": [0.0]})
    d = lw.compile(m, parameters=["l.armature", "r.armature"])
    a = d.forward_dynamics(Z, Z, [0, 1, 1], parameters={"l.armature": [0.1], "r.armature": [0.2]})
    assert np.allclose(a, [0.0, 10.0, 5.0])


def test_massless_robot_can_be_saved_and_pickled(tmp_path: Path) -> None:
    m, _ = loaded(tmp_path, HAND)
    lw.save(m, tmp_path / "hand.toml")
    (fault,) = find_faults(tmp_path / "hand.toml")
    assert (fault.severity, fault.element) == ("warning", "joints.r")
    with pytest.warns(lw.ModelWarning):
        again = lw.load(tmp_path / "hand.toml")
    for copy in (again, pickle.loads(pickle.dumps(m))):
        assert np.allclose(lw.compile(copy, target="numpy").mass_matrix(Z), np.diag([1.0, 0.0, 0.0]))


def test_massless_links_on_fixed_joints_give_no_warning(tmp_path: Path) -> None:
    path = tmp_path / "hand.urdf"
    fixed = HAND.replace('name="l" type="continuous"', 'name="l" type="fixed"')
    path.write_text(fixed.replace('name="r" type="continuous"', 'name="r" type="fixed"'))
    assert lw.simulate(lw.load(path), duration=0.1).outcome.kind == "finished"
