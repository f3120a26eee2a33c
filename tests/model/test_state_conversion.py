"""`convert` maps a state to another tool's layout and back without loss, up to round-off."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.state_conversion import JOINT_LAYOUTS
from linkwork.spatial.rotation import matrix_from_rpy
from random_mechanisms import MOVING_KINDS, random_kind

HAVE = {  # kinds of joints that a tool has
    "pinocchio": ("revolute", "prismatic", "screw", "universal", "ball", "planar", "free"),
    "mujoco": ("revolute", "prismatic", "ball", "free"),
    "drake": ("revolute", "prismatic", "screw", "universal", "ball", "planar", "free"),
}


def chain(kinds: Sequence[str], seed: int = 0) -> lw.Mechanism:
    """A chain of bodies on joints named after their kind."""
    rng = np.random.default_rng(seed)
    b, parent = lw.Builder("chain"), "world"
    for name in kinds:
        b.body(f"body of {name}", 1.0, (0.1, 0.2, 0.3), (1, 1, 1))
        b.joint(name, random_kind(rng, name), parent, f"body of {name}", rng.normal(size=3), rng.normal(size=3))
        parent = f"body of {name}"
    return b.build()


@pytest.mark.parametrize("tool", JOINT_LAYOUTS)
@pytest.mark.parametrize("batch", [(), (7,), (2, 0), (2, 1, 3)])
def test_conversion_round_trip_restores_the_state(tool: str, batch: tuple[int, ...]) -> None:
    m, rng = chain(HAVE[tool]), np.random.default_rng(1)
    q = np.array([m.random(rng) for _ in range(int(np.prod(batch)))]).reshape(*batch, m.nq)
    v = rng.normal(size=(*batch, m.nv))
    names = rng.permutation(m.joints.names).tolist()
    there_q, there_v = lw.convert(m, q, v, target=tool, names=names)
    assert there_q.shape[:-1] == there_v.shape[:-1] == batch
    assert there_q.flags.c_contiguous
    again_q, again_v = lw.convert(m, there_q, there_v, source=tool, names=names)
    # Roll, pitch and yaw do not distinguish a quaternion from its negative, which is the same rotation
    assert np.abs(m.difference(q, again_q)).max(initial=0.0) < 1e-9
    assert np.allclose(again_v, v, rtol=0, atol=1e-14)
    assert np.array_equal(lw.convert(m, q, target=tool, names=names), there_q)
    once = lw.convert(m, again_q, target=tool, names=names)
    assert np.allclose(once, there_q, rtol=0, atol=1e-14)


def test_conversion_of_states_accepts_batches() -> None:
    m = chain(HAVE["mujoco"])
    q, v = lw.convert(m, m.random(0), np.ones((4, 3, m.nv)), target="mujoco")
    assert (q.shape, v.shape) == ((4, 3, m.nq), (4, 3, m.nv))


def test_drake_free_body_layout_matches_its_documentation() -> None:
    """Drake: q is quaternion, then position; v is angular, then linear, both in world axes."""
    m = chain(["free"])
    d, rng = lw.compile(m, target="numpy"), np.random.default_rng(3)
    q, v = m.random(rng), rng.normal(size=6)
    there_q, there_v = lw.convert(m, q, v, target="drake")
    assert there_q.tolist() == [*q[3:], *q[:3]]
    mixed = d.jacobian(q, "body of free", "mixed") @ v  # of the body's origin, in the world's axes, linear first
    world = m.joints[0].place.R.T  # Drake's velocities are in the axes of the frame that the joint is placed at
    assert np.allclose(there_v, [*(world @ mixed[3:]), *(world @ mixed[:3])], rtol=0, atol=1e-14)


def test_drake_ball_joint_is_roll_pitch_yaw() -> None:
    m = chain(["ball"])
    q = lw.convert(m, [0.3, -0.4, 0.5], source="drake")
    assert np.allclose(m.joints[0].kind.transform(q).R, matrix_from_rpy(0.3, -0.4, 0.5), rtol=0, atol=1e-14)


# --- what cannot be ---


def assert_rejected(words: str, error: type[Exception] = lw.LinkworkError, **options: object) -> None:
    m = chain(["revolute", "prismatic"])
    given = {"q": [0.0, 0.0], "target": "mujoco"} | options
    with pytest.raises(error, match=words):
        lw.convert(m, **given)  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_invalid_conversions_are_rejected() -> None:
    assert_rejected("no layout 'mujco'. Did you mean 'mujoco'", target="mujco")
    assert_rejected("must be 'linkwork'", target="linkwork")
    assert_rejected("must be 'linkwork'", source="drake")
    assert_rejected(r"q has shape \(3,\), expected \(..., 2\)", lw.ShapeError, q=[0, 0, 0])
    assert_rejected(r"v has shape \(1,\), expected \(..., 2\)", lw.ShapeError, v=[0])
    assert_rejected("no joint 'prismatik'. Did you mean 'prismatic'", names=["revolute", "prismatik"])
    assert_rejected("does not contain joint 'prismatic'", names=["revolute"])
    assert_rejected("contains joint 'revolute' twice", names=["revolute", "revolute"])
    assert_rejected("no revolute joint 'prismatic'", target="pinocchio", continuous=["prismatic"])
    assert_rejected(r"q\[1\] is nan", lw.NonFinite, q=[0, np.nan])


@pytest.mark.parametrize("tool", JOINT_LAYOUTS)
def test_conversion_error_names_joints_without_a_counterpart(tool: str) -> None:
    for kind in MOVING_KINDS:
        if kind not in HAVE[tool]:
            m = chain([kind])
            with pytest.raises(lw.ModelError, match=f"joint '{kind}': {tool} has no joint that corresponds"):
                lw.convert(m, m.neutral(), target=tool)


def test_conversion_rejects_a_zero_quaternion() -> None:
    m = chain(["revolute", "ball"])
    for options in ({"target": "mujoco"}, {"source": "mujoco"}):
        with pytest.raises(lw.NonFinite, match="joint 'ball': its quaternion is zero"):
            lw.convert(m, np.zeros(5), np.zeros(4), **options)


def test_conversion_gives_mimic_joints_their_coordinates_in_other_tools() -> None:
    b = lw.Builder("hand")
    for name in ("palm", "left", "right"):
        b.body(name, mass=1.0, inertia=(1.0, 1.0, 1.0))
    b.joint("base", lw.Free(), "world", "palm").joint("right pin", lw.Revolute((1, 0, 0)), "palm", "right")
    b.joint("left pin", lw.Revolute((1, 0, 0)), "palm", "left")
    m = b.mimic("right pin", "left pin", -2.0, 0.1).build()
    rng = np.random.default_rng(0)
    q, v = np.array([m.random(rng) for _ in range(4)]), rng.normal(size=(4, m.nv))
    there_q, there_v = lw.convert(m, q, v, target="mujoco")
    assert there_q.shape == (4, 9)
    assert np.allclose(there_q[:, 7], -2.0 * there_q[:, 8] + 0.1, atol=1e-15)
    assert np.allclose(there_v[:, 6], -2.0 * there_v[:, 7], atol=1e-15)
    back_q, back_v = lw.convert(m, there_q, there_v, source="mujoco")
    assert np.allclose(back_q, q, atol=1e-15)
    assert np.allclose(back_v, v, atol=1e-15)
    assert (lw.convert(m, there_q, source="mujoco") == back_q).all()
