"""Bounds of the depth of solids: never below the depth of the contact points, and equal for simple shapes."""

from unittest import mock

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.solid_separation import body_poses
from linkwork.simulation import solid_contacts
from linkwork.simulation.solid_separation_bounds import depth_bounds, solid_tables, stacked

RNG = np.random.default_rng(0)
SHAPES = {
    "sphere": lw.Sphere(0.3),
    "capsule": lw.Capsule(0.2, 0.6),
    "cylinder": lw.Cylinder(0.25, 0.5),
    "box": lw.Box((0.3, 0.5, 0.8)),
    "hull": lw.Hull(0.3 * RNG.normal(size=(12, 3)) + 0.2),
}
EXACT = {"Sphere", "Capsule", "Box"}  # for two of the same class; with planes for all


def zoo() -> lw.Mechanism:
    """Two free bodies of each shape, a tilted plane and a height field."""
    b = lw.Builder("zoo").surface("floor", lw.Plane(), rpy=(0.1, 0.2, 0))
    b.surface("field", lw.HeightField((4, 4), RNG.uniform(-0.2, 0.2, (5, 5))), at=(0, 0, -0.2))
    for k, shape in enumerate([*SHAPES.values()] * 2):
        b.body(f"b{k}", 1.0, inertia=(0.1, 0.1, 0.1)).joint(f"j{k}", lw.Free(), "world", f"b{k}")
        b.geometry(f"b{k}", shape, RNG.normal(size=3) * 0.1, rpy=RNG.normal(size=3), role="collision")
    return b.collide("all", friction=0.5, stiffness=1e4).build()


@pytest.mark.parametrize("spread", [0.0, 0.1, 0.5])
def test_depth_bounds_are_at_least_the_penetration_depth(spread: float) -> None:
    m = zoo()
    q = m.random(np.random.default_rng(1)).reshape(10, 7)
    q[:, :3] = spread * RNG.uniform(-1.0, 1.0, (10, 3))
    poses = stacked(body_poses(m, q.reshape(-1)))
    (bounds,) = depth_bounds(solid_tables(m), poses)
    compared = 0
    for pair, bound in zip(m.solid_pairs, bounds, strict=True):
        depth = max(0.0, solid_contacts._depth(pair, poses[0]))
        assert bound >= depth - 1e-14, pair.name
        kinds = {type(one.shape).__name__ for one in (pair.first, pair.second)}
        if "Plane" in kinds or (spread and kinds <= EXACT and len(kinds) == 1):
            assert bound == pytest.approx(depth, abs=1e-14), pair.name
            assert solid_tables(m).exact[m.solid_pairs.index(pair)]
            compared += depth > 0.0
    assert compared >= 4


def test_depth_bounds_of_several_states_equal_the_bounds_of_single_states() -> None:
    m = zoo()
    several = np.concatenate([stacked(body_poses(m, m.random(np.random.default_rng(k)))) for k in range(4)])
    together = depth_bounds(solid_tables(m), several, 1e-3)
    for poses, bounds in zip(several, together, strict=True):
        assert np.array_equal(depth_bounds(solid_tables(m), poses[None], 1e-3)[0], bounds)


def test_solids_that_start_apart_need_no_contact_points() -> None:
    """Before, the contact points of all near pairs were computed in Python at each call of simulate."""
    b = lw.Builder("stack", gravity=(0, 0, -9.81)).surface("floor", lw.Plane())
    for k in range(3):
        b.body(f"ball {k}", 1.0, inertia=(0.1, 0.1, 0.1)).joint(f"free {k}", lw.Free(), "world", f"ball {k}")
        b.geometry(f"ball {k}", lw.Sphere(0.5), role="collision")
    m = b.collide("all", friction=0.5).build()
    start = np.concatenate([[0, 0, 0.5 + k, 1, 0, 0, 0] for k in range(3)])
    with mock.patch.object(solid_contacts, "_depth", side_effect=AssertionError):
        for q in (start, [start] * 9):
            lw.simulate(m, q, duration=1e-3, dt=1e-3, contact="rigid", target="numpy", record=["q"])
    deep = start.copy()
    deep[9] -= 0.01
    for q in (deep, [start] * 8 + [deep]):
        member = r"of member \(8,\) " if len(np.shape(q)) == 2 else ""
        with pytest.warns(UserWarning, match=f"solids 'ball 0 on ball 1' {member}start 0.01 m inside each other"):
            lw.simulate(m, q, duration=1e-3, dt=1e-3, contact="rigid", target="numpy", record=["q"])
