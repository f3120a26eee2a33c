"""Joints that form cycles: the Builder keeps a shallow tree, turns the other joints into loops, and warns."""

import warnings
from typing import Any

import numpy as np
import pytest

import linkwork as lw

Y = (0, 1, 0)


def four_bar(order: str = "abcd", **numbers: Any) -> lw.Builder:
    b = lw.Builder("four bar")
    for name in ("crank", "coupler", "rocker"):
        b.body(name, mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    joints = {
        "a": ("world", "crank", (0, 0, 0)),
        "b": ("crank", "coupler", (1, 0, 0)),
        "c": ("world", "rocker", (2, 0, 0)),
        "d": ("rocker", "coupler", (1.5, 0, 0)),
    }
    for name in order:
        parent, child, at = joints[name]
        b.joint(name, lw.Revolute(Y), parent, child, at, **(numbers if name == "d" else {}))
    return b


def test_cycle_of_joints_is_cut_where_the_tree_stays_shallow() -> None:
    with pytest.warns(lw.ModelWarning, match="these joints became loop closures: d"):
        m = four_bar().build()
    assert (list(m.joints.names), list(m.loops.names)) == (["a", "b", "c"], ["d"])
    with pytest.warns(lw.ModelWarning, match="became loop closures: b"):
        m = four_bar("cdab").build()
    assert (list(m.joints.names), list(m.loops.names)) == (["c", "d", "a"], ["b"])


def test_cycle_that_the_builder_cuts_moves_as_a_loop_added_by_close() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)
        cut = four_bar().build()
    by_hand = four_bar("abc").close("d", lw.Revolute(Y), "rocker", "coupler", at=(1.5, 0, 0)).build()
    q, v, tau = np.array([-1.0, 0.5, -1.2]), np.array([0.3, 0.2, -0.4]), np.array([1.0, 0.0, 2.0])
    found, expected = (lw.compile(m, target="numpy").forward_dynamics(q, v, tau) for m in (cut, by_hand))
    assert np.array_equal(found, expected)


def test_joint_to_the_world_can_close_a_cycle_of_joints() -> None:
    b = lw.Builder("hanging").body("bar", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    b.joint("left", lw.Ball(), "world", "bar").joint("right", lw.Ball(), "bar", "world", at=(1, 0, 0))
    with pytest.warns(lw.ModelWarning, match="became loop closures: right"):
        assert list(b.build().loops.names) == ["right"]


def test_joint_properties_that_loops_lack_are_rejected_on_cut_joints() -> None:
    for key, value in (("damping", 0.1), ("armature", 0.1), ("limits", (-1, 1)), ("friction", 1.0)):
        with pytest.raises(lw.ModelError, match=f"joint 'd'.*cannot have {key}"):
            four_bar("abcd", **{key: value}).build()
    b = four_bar("abc").close("d", lw.Revolute(Y), "crank", "rocker")
    b.joint("d", lw.Revolute(Y), "rocker", "coupler")
    with pytest.raises(lw.ModelError, match="a loop already has its name"):
        b.build()
    free = four_bar("abc").joint("d", lw.Free(), "rocker", "coupler")
    with pytest.raises(lw.ModelError, match="imposes no constraint"):
        free.build()
