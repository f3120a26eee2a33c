"""A changed parameter equals a new build, and is rejected for the same reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import NameNotFound
from linkwork.spatial.scalar import Array
from random_mechanisms import relative
from scalars_of_unknown_value import from_opaque, lift, to_opaque

Z = (0, 0, 1)
SPRING = ("at", "to", "stiffness", "damping", "length")
OWN = ("armature", "damping", "stiffness", "friction")

DEFAULTS: dict[str, Any] = {
    "gravity": (0.0, 0.0, -9.81),
    "upper.mass": 2.0,
    "upper.com": (0.1, 0.2, 0.3),
    "upper.inertia": (1.0, 1.1, 1.2, 0.1, 0.0, -0.1),
    "cuff.mass": 1.0,
    "cuff.com": (0.0, 0.0, 0.1),
    "cuff.inertia": (0.1, 0.1, 0.1, 0.0, 0.0, 0.0),
    "fore.mass": 1.0,
    "fore.com": (0.3, 0.0, 0.0),
    "fore.inertia": (0.1, 0.2, 0.25, 0.0, 0.0, 0.0),
    "cart.mass": 2.0,
    "cart.com": (0.0, 0.0, 0.0),
    "cart.inertia": (1.0, 1.0, 1.0, 0.0, 0.0, 0.0),
    "shoulder.at": (0.0, 0.0, 1.0),
    "elbow.at": (0.5, 0.0, 0.1),
    "rail.at": (3.0, 0.0, 0.0),
    **{f"shoulder.{key}": (0.1, 0.2, 0.3) for key in OWN},
    **{f"elbow.{key}": (0.4,) for key in OWN},
    **{f"rail.{key}": (0.0, 0.0, 0.5) for key in OWN},
    **{f"belt.{key}": value for key, value in (("stiffness", 9.0), ("damping", 0.5), ("length", 0.2))},
    "belt.at": (0.0, 0.0, 0.1),
    "belt.to": (0.0, 0.0, 0.0),
}


def robot(values: Mapping[str, Any]) -> lw.Mechanism:
    """A mechanism with these parameters: an upper arm with a welded cuff, a forearm on the cuff, and a cart."""
    given = DEFAULTS | dict(values)
    b = lw.Builder("robot", gravity=given["gravity"])
    for name in ("upper", "cuff", "fore", "cart"):
        b.body(name, **{key: given[f"{name}.{key}"] for key in ("mass", "com", "inertia")})

    def numbers(name: str) -> dict[str, Any]:
        return {key: given[f"{name}.{key}"] for key in ("at", *OWN)}

    b.joint("shoulder", lw.Ball(), "world", "upper", **numbers("shoulder"))
    b.joint("glue", lw.Weld(), "upper", "cuff", at=(0.2, 0.1, 0.0), rpy=(0.1, 0.2, 0.3))
    b.joint("elbow", lw.Revolute(Z), "cuff", "fore", rpy=(0.3, 0.0, 0.1), **numbers("elbow"))
    b.joint("rail", lw.Planar(), "world", "cart", **numbers("rail"))
    b.spring("belt", "fore", "cart", **{key: given[f"belt.{key}"] for key in SPRING})
    return b.build()


def all_values(m: lw.Mechanism) -> Array:
    """All values of a mechanism in one array."""
    parts: list[Any] = [m.gravity, m.mass]
    for body in m.bodies[1:]:
        parts += [body.inertia.mass, body.inertia.moment, body.inertia.rotational]
    for joint in m.joints:
        parts += [joint.place.matrix, joint.armature, joint.damping, joint.stiffness, joint.friction]
    for spring in m.springs:
        parts += [spring.stiffness, spring.damping, spring.length, spring.at.pose.matrix, spring.to.pose.matrix]
    return np.concatenate([np.ravel(part) for part in [*parts, m.armature]])


CHANGES: dict[str, Any] = {
    "gravity": (1.0, 2.0, 3.0),
    "upper.mass": 5.0,
    "upper.com": (0.3, -0.2, 0.0),
    "upper.inertia": (2.0, 2.1, 2.2, 0.3, 0.2, 0.1),
    "cuff.mass": 0.25,
    "cuff.com": (0.0, 1.0, 0.0),
    "cuff.inertia": (0.2, 0.2, 0.1, 0.0, 0.0, 0.0),
    "shoulder.at": (1.0, 2.0, 3.0),
    "elbow.at": (1.0, 2.0, 3.0),
    "elbow.armature": (0.7,),
    "elbow.damping": (0.8,),
    "elbow.friction": (0.9,),
    "rail.stiffness": (1.0, 2.0, 3.0),
    "belt.stiffness": 3.0,
    "belt.damping": 0.0,
    "belt.length": 0.7,
    "belt.at": (0.2, 0.1, 0.3),
    "belt.to": (-0.2, 0.1, 0.0),
}


def test_parameters_of_a_mechanism_have_the_values_of_the_builder_arguments() -> None:
    found = robot({}).parameters
    assert set(found) == set(DEFAULTS)
    for name, value in found.items():
        assert np.array_equal(value, DEFAULTS[name]), name


@pytest.mark.parametrize("name", CHANGES)
def test_mechanism_with_one_changed_parameter_equals_a_new_build(name: str) -> None:
    before = robot({})
    change = {name: CHANGES[name]}
    changed = before.with_parameters(change)
    assert (all_values(changed) == all_values(robot(change))).all()
    assert not np.array_equal(all_values(changed), all_values(before))
    assert (all_values(before) == all_values(robot({}))).all()  # the first mechanism is still what it was
    assert np.array_equal(changed.parameters[name], CHANGES[name])
    assert changed.parameters.keys() == before.parameters.keys()


def test_mechanism_with_many_changed_parameters_equals_a_new_build_and_can_be_restored() -> None:
    m = robot({})
    changed = m.with_parameters(CHANGES)
    assert (all_values(changed) == all_values(robot(CHANGES))).all()
    assert (all_values(changed.with_parameters(m.parameters)) == all_values(m)).all()
    assert (all_values(m.with_parameters({})) == all_values(m)).all()
    assert str(changed).splitlines()[1] == "world"
    assert changed.frames["cuff"].pose is m.frames["cuff"].pose


def test_with_parameters_never_branches_on_the_value_of_a_parameter() -> None:
    hidden = {name: to_opaque(value) if np.ndim(value) else lift(value) for name, value in CHANGES.items()}
    one_by_one = robot({})
    for name, value in CHANGES.items():  # every other one is hidden
        one_by_one = one_by_one.with_parameters({name: hidden[name] if len(name) % 2 else value})
    for m in (robot({}).with_parameters(hidden), one_by_one):
        assert relative(from_opaque(all_values(m)), all_values(robot(CHANGES))) < 1e-15


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("uper.mass", "Did you mean 'upper.mass'?"),
        ("upper.damping", "there is no parameter 'upper.damping'"),
        ("glue.at", "there is no parameter 'glue.at'"),
        ("mass", "Valid: gravity, upper.mass, upper.com"),
    ],
)
def test_unknown_parameters_are_rejected(name: str, says: str) -> None:
    with pytest.raises(NameNotFound) as caught:
        robot({}).with_parameters({name: 1.0})
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "shape"),
    [
        ("upper.mass", (1.0,), r"\(\)"),
        ("upper.com", (1.0, 2.0), r"\(3,\)"),
        ("upper.inertia", (1.0, 1.0, 1.0), r"\(6,\)"),
        ("elbow.at", np.zeros((2, 3)), r"\(3,\)"),
        ("rail.damping", 1.0, r"\(3,\)"),
        ("gravity", (1.0, 2.0), r"\(3,\)"),
    ],
)
def test_parameters_of_wrong_shape_are_rejected(name: str, value: Any, shape: str) -> None:
    with pytest.raises(lw.ShapeError, match=f"{name}.*expected {shape}"):
        robot({}).with_parameters({name: value})


WEIGHTLESS = {f"fore.{key}": np.zeros(n) if n else 0.0 for key, n in {"mass": 0, "com": 3, "inertia": 6}.items()}
UNPHYSICAL: dict[str, dict[str, Any]] = {
    "mass negative": {"upper.mass": -1.0},
    "mass nan": {"upper.mass": np.nan},
    "mass inf": {"upper.mass": np.inf},
    "mass text": {"upper.mass": "heavy"},
    "com nan": {"upper.com": (0.0, np.nan, 0.0)},
    "inertia nan": {"upper.inertia": (np.nan, 1.0, 1.0, 0.0, 0.0, 0.0)},
    "inertia indefinite": {"upper.inertia": (1.0, 1.0, 1.0, 2.0, 0.0, 0.0)},
    "inertia triangle": {"cuff.inertia": (1.0, 1.0, 3.0, 0.0, 0.0, 0.0)},
    "inertia without mass": {"cuff.mass": 0.0},
    "at nan": {"elbow.at": (0.0, 0.0, np.nan)},
    "armature negative": {"elbow.armature": (-1.0,)},
    "damping negative": {"elbow.damping": (-1.0,)},
    "stiffness nan": {"elbow.stiffness": (np.nan,)},
    "spring stiffness negative": {"belt.stiffness": -1.0},
    "spring length negative": {"belt.length": -1.0},
    "spring damping inf": {"belt.damping": np.inf},
    "gravity inf": {"gravity": (0.0, 0.0, np.inf)},
    "nothing to move": WEIGHTLESS | {"elbow.armature": (0.0,)},
}


@pytest.mark.parametrize("name", UNPHYSICAL)
def test_values_rejected_by_the_builder_are_rejected_as_parameters(name: str) -> None:
    with pytest.raises(lw.ModelError):
        robot(UNPHYSICAL[name])
    with pytest.raises(lw.LinkworkError) as caught:
        robot({}).with_parameters(UNPHYSICAL[name])
    culprits = {key.split(".")[0] for key in UNPHYSICAL[name]}
    assert any(culprit in str(caught.value) for culprit in culprits)


def test_only_modes_of_the_mechanism_are_rounded_for_controllers() -> None:
    m = lw.example("two_speed_gearbox")
    assert m.possible_mode("gearbox.selected", 1.7) == 1.0
    with pytest.raises(NameNotFound, match=r"no mode 'gearbox.selectd'. Did you mean 'gearbox.selected'"):
        m.possible_mode("gearbox.selectd", 1.0)
