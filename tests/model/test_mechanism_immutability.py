"""A built mechanism never changes, whatever users do with it or with their input arrays."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import linkwork as lw


def test_arrays_and_fields_of_a_mechanism_are_read_only() -> None:
    m = lw.example("free_flyer")
    with pytest.raises(ValueError, match="read-only"):
        m.gravity[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        m.joints["left upper joint"].armature[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        m.bodies["base"].parts[0].com[0] = 1.0
    with pytest.raises(FrozenInstanceError):
        m.name = "other"  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(FrozenInstanceError):
        m.joints[0].i = 3  # pyright: ignore[reportAttributeAccessIssue]


def test_keyframes_have_positions_of_all_joints() -> None:
    b = lw.Builder("arm").body("a", mass=1.0, inertia=(1, 1, 1)).body("b", mass=1.0, inertia=(1, 1, 1))
    b.joint("ball", lw.Ball(), "world", "a").joint("hinge", lw.Revolute(), "a", "b")
    m = b.keyframe("bent", {"hinge": 0.5}).keyframe("turned", {"ball": (0, 1, 0, 0)}).build()
    assert {key.name: key.q.tolist() for key in m.keyframes} == {"bent": [1, 0, 0, 0, 0.5], "turned": [0, 1, 0, 0, 0]}
    with pytest.raises(ValueError, match="read-only"):
        m.keyframes["bent"].q[0] = 1.0
    with pytest.raises(lw.ModelError, match="no keyframe 'bend'"):
        m.keyframes["bend"]  # pyright: ignore[reportUnusedExpression]
    assert m.with_parameters({"a.mass": 2.0}).keyframes is m.keyframes


def test_builder_copies_its_input_arrays() -> None:
    com, gravity = np.array([0.1, 0.2, 0.3]), np.array([0.0, 0.0, -1.0])
    b = lw.Builder("copy", gravity=gravity)
    b.body("body", mass=1.0, com=com, inertia=(1, 1, 1)).joint("float", lw.Free(), "world", "body")
    m = b.build()
    com[0], gravity[2] = 9.0, 9.0
    assert m.bodies["body"].inertia.moment.tolist() == [0.1, 0.2, 0.3]
    assert m.gravity.tolist() == [0.0, 0.0, -1.0]


def test_builder_can_add_elements_after_build() -> None:
    b = lw.Builder("grows")
    b.body("one", mass=1.0, inertia=(1, 1, 1)).joint("a", lw.Free(), "world", "one")
    first = b.build()
    b.body("two", mass=1.0, inertia=(1, 1, 1)).joint("b", lw.Ball(), "one", "two")
    assert (first.nv, b.build().nv) == (6, 9)
