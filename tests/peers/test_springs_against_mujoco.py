"""Springs between bodies match MuJoCo's straight spatial tendons: accelerations and passive forces to 1e-9."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from mujoco_reference import MujocoReference, acceleration_for_mujoco
from random_mechanisms import relative

AGREE = 1e-9
BALL = '<geom size="0.1" contype="0" conaffinity="0"/>'
TREE = f"""
<body name="base" pos="1 2 3"><freejoint name="free"/>{BALL}<site name="s0" pos="0.1 0.2 0"/>
  <body name="upper" pos="0 0 1" euler="10 20 30"><joint name="a" axis="1 2 3" stiffness="2" damping="0.3"/>{BALL}
    <site name="s1" pos="0.1 0.2 0.3"/>
    <body name="fore" pos="0.3 0 0"><joint name="c" type="ball" damping="0.1"/>{BALL}<site name="s2" pos="0.2 0 0.1"/>
    </body></body></body>
<body name="other" pos="0 1 0" euler="5 0 90"><joint name="d"/>{BALL}<site name="s3" pos="0 0 0.4"/></body>
<site name="s4" pos="1 1 0"/>"""
PLACES = {
    "s0": ("base", (0.1, 0.2, 0)),
    "s1": ("upper", (0.1, 0.2, 0.3)),
    "s2": ("fore", (0.2, 0, 0.1)),
    "s3": ("other", (0, 0, 0.4)),
    "s4": ("world", (1, 1, 0)),
}
PAIRS = {"parent and child": "s1 s2", "apart in a chain": "s0 s2", "two branches": "s2 s3", "the world": "s4 s1"}


def tree_with_springs(pairs: list[str]) -> tuple[lw.Mechanism, str]:
    """The tree with a spring for each pair of sites, as a Mechanism and as MJCF text."""
    b, tendons = lw.Builder("tree"), []
    inertia = np.full(3, 0.4 * 0.1**2)
    mass = 1000.0 * 4.0 / 3.0 * np.pi * 0.1**3
    for name in ("base", "upper", "fore", "other"):
        b.body(name, mass, inertia=mass * inertia)
    b.joint("free", lw.Free(), "world", "base")
    upper, other = (_xyz_turned(angles) for angles in ((10, 20, 30), (5, 0, 90)))
    b.joint("a", lw.Revolute((1, 2, 3)), "base", "upper", (0, 0, 1), rotation=upper, stiffness=2, damping=0.3)
    b.joint("c", lw.Ball(), "upper", "fore", (0.3, 0, 0), damping=0.1)
    b.joint("d", lw.Revolute(), "world", "other", (0, 1, 0), rotation=other)
    for k, pair in enumerate(pairs):
        (a, at), (other, to) = (PLACES[site] for site in pair.split())
        stiffness, damping, length = 30.0 + k, 4.0 + k, 0.3 + 0.1 * k
        b.spring(f"t{k}", a, other, at, to, stiffness=stiffness, damping=damping, length=length)
        sites = "".join(f'<site site="{site}"/>' for site in pair.split())
        numbers = f'stiffness="{stiffness}" damping="{damping}" springlength="{length}"'
        tendons.append(f'<spatial name="t{k}" {numbers}>{sites}</spatial>')
    text = f"<mujoco><worldbody>{TREE}</worldbody><tendon>{''.join(tendons)}</tendon></mujoco>"
    return b.build(), text


def _xyz_turned(degrees: tuple[float, ...]) -> np.ndarray:
    """Rotations about the body-fixed x, y and z axes, in this order."""
    R = np.eye(3)
    for axis, angle in zip(np.eye(3), np.radians(degrees), strict=True):
        R = R @ lw.Revolute(axis).transform(np.array([angle])).R
    return R


CASES = [[pair] for pair in PAIRS.values()] + [list(PAIRS.values())]


@pytest.mark.parametrize("pairs", CASES, ids=[*PAIRS, "all"])
def test_spring_accelerations_match_mujoco(pairs: list[str]) -> None:
    m, text = tree_with_springs(pairs)
    assert_matches_mujoco(m, MujocoReference(text))


def assert_matches_mujoco(m: lw.Mechanism, mujoco_side: MujocoReference) -> None:
    """Compare accelerations, passive forces and spring energy in random states."""
    d, rng = lw.compile(m, target="numpy"), np.random.default_rng(0)
    for _ in range(10):
        q, v = m.random(rng), rng.normal(size=m.nv)
        qpos, qvel = lw.convert(m, q, v, target="mujoco")
        there = mujoco_side.forward(qpos, qvel, np.zeros(m.nv))
        passive = d.passive(q, v)
        a = d.forward_dynamics(q, v, passive)
        assert relative(acceleration_for_mujoco(m, q, v, a), there) < AGREE
        assert relative(lw.convert(m, q, passive, target="mujoco")[1], mujoco_side.data.qfrc_passive) < AGREE
        energy = 0.5 * sum(
            spring.stiffness * (length - spring.length) ** 2
            for spring, length in zip(m.springs, mujoco_side.data.ten_length, strict=True)
        )
        energy += 0.5 * 2.0 * q[m.joints["a"].q][0] ** 2
        assert abs(d.spring_energy(q) - energy) < AGREE * energy


@pytest.mark.parametrize("pairs", CASES, ids=[*PAIRS, "all"])
def test_straight_tendons_are_loaded_as_springs(pairs: list[str], tmp_path: Path) -> None:
    m, text = tree_with_springs(pairs)
    (tmp_path / "tree.xml").write_text(text)
    found = lw.load(tmp_path / "tree.xml")
    assert found.springs.names == m.springs.names
    for here, there in zip(m.springs, found.springs, strict=True):
        assert (here.a, here.b) == (there.a, there.b)
        assert (here.stiffness, here.damping, here.length) == (there.stiffness, there.damping, there.length)
        assert np.allclose(here.at.pose.p, there.at.pose.p, atol=1e-15)
    assert_matches_mujoco(found, MujocoReference(text))


def test_springs_without_a_length_have_their_length_in_the_model_position(tmp_path: Path) -> None:
    text = tree_with_springs(["s2 s3"])[1].replace('springlength="0.3"', "").replace('name="t0"', 'name="d"')
    (tmp_path / "tree.xml").write_text(text)
    m = lw.load(tmp_path / "tree.xml")
    assert m.springs.names == ("d_",)  # there is a joint called d
    assert abs(lw.compile(m, target="numpy").spring_energy(m.keyframes["qpos0"].q)) < 1e-20
    assert_matches_mujoco(m, MujocoReference(text))


def test_disabled_springs_and_dampers_are_ignored(tmp_path: Path) -> None:
    path, text = tmp_path / "tree.xml", tree_with_springs(["s2 s3"])[1]
    path.write_text(text.replace("<worldbody>", '<option><flag spring="disable"/></option><worldbody>'))
    found = lw.load(path).springs["t0"]
    assert (found.stiffness, found.damping) == (0.0, 4.0)
    flags = '<option><flag spring="disable" damper="disable"/></option><worldbody>'
    path.write_text(text.replace("<worldbody>", flags))
    with pytest.warns(lw.ModelWarning, match="tendons t0"):
        assert not lw.load(path).springs
