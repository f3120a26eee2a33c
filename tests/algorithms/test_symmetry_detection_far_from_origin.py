"""The conserved momenta found do not depend on the distance of the mechanism from the world origin."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.scalar import Array
from random_loops import random_rotation

FAR = pytest.mark.parametrize("far", [0.0, 1.0, 1e3, 1e5])
SEEDS = pytest.mark.parametrize("seed", range(4))


def anchored(kinds: dict[str, lw.JointKind], at: list[Array], R: Array, gravity: Array) -> lw.Mechanism:
    """Bodies that springs connect, each on a joint to the world."""
    b = lw.Builder("anchored", gravity=gravity)
    for (name, kind), p in zip(kinds.items(), at, strict=True):
        b.body(name, 1.0, com=(0.1, 0.2, -0.5), inertia=(0.1, 0.2, 0.15))
        b.joint(name, kind, "world", name, at=p, rotation=R)
    return b.build()


@FAR
@SEEDS
@pytest.mark.parametrize("apart", [1e-2, 1.0])
def test_pins_to_the_world_on_different_axes_leave_no_conserved_angular_momentum(
    seed: int, far: float, apart: float
) -> None:
    """Rotations about parallel but separate axes differ, however small their angle seen from far away."""
    rng = np.random.default_rng(seed)
    R, away = random_rotation(rng), far * rng.normal(size=3)
    pins = {"left": lw.Revolute((0, 0, 1)), "right": lw.Revolute((0, 0, 1))}
    assert not anchored(pins, [away, away + apart * R[:, 0]], R, np.zeros(3)).symmetries()


@FAR
@SEEDS
def test_pins_to_the_world_on_one_axis_leave_the_angular_momentum_about_the_axis(seed: int, far: float) -> None:
    rng = np.random.default_rng(seed)
    R, away = random_rotation(rng), far * rng.normal(size=3)
    pins = {"low": lw.Revolute((0, 0, 1)), "high": lw.Revolute((0, 0, 1))}
    for gravity in (np.zeros(3), -9.81 * R[:, 2]):
        (found,) = anchored(pins, [away, away + 0.3 * R[:, 2]], R, gravity).symmetries()
        n = found.twist[3:]
        assert np.allclose(np.abs(n @ R), [0, 0, 1], atol=1e-9)
        off = found.through - away
        assert np.linalg.norm(off - n * (n @ off)) < 1e-9 * (1.0 + far)  # the axis goes through the pins
        assert abs(n @ found.twist[:3]) < 1e-9 * (1.0 + far)  # without advance


@FAR
@SEEDS
def test_slider_and_free_body_leave_one_conserved_linear_momentum(seed: int, far: float) -> None:
    rng = np.random.default_rng(seed)
    R, away = random_rotation(rng), far * rng.normal(size=3)
    kinds = {"slider": lw.Prismatic((1, 0, 0)), "free": lw.Free()}
    (found,) = anchored(kinds, [away, away + rng.normal(size=3)], R, np.zeros(3)).symmetries()
    assert np.allclose(np.abs(found.twist[:3] @ R), [1, 0, 0], atol=1e-9)
    assert not found.twist[3:].any()
    assert len(anchored({"free": lw.Free()}, [away], R, np.zeros(3)).symmetries()) == 6


@SEEDS
def test_ball_joints_to_the_world_at_one_point_leave_all_angular_momenta_about_the_point(seed: int) -> None:
    """The mean of their points differs by round-off, which must not count as a distance."""
    rng = np.random.default_rng(seed)
    place = rng.normal(size=3)
    found = anchored(
        {f"ball {k}": lw.Ball() for k in range(3)}, [place] * 3, random_rotation(rng), np.zeros(3)
    ).symmetries()
    assert len(found) == 3
    for one in found:
        assert np.allclose(one.twist[:3] + np.cross(one.twist[3:], place), 0.0, atol=1e-12)  # what it does to the place
