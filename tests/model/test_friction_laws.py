"""Friction laws: which numbers and joints they accept, documents, parameters, and limits that motor forces leave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.joint_friction.friction_sites import motor_directions
from linkwork.model.friction import FrictionLaw
from linkwork.model.joints import JointKind
from linkwork.spatial.scalar import Array
from random_friction_laws import random_law
from random_mechanisms import random_kind


def pin() -> Array:
    C = np.diag([1.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    C[5, :5] = 0.01, 0.02, 0.03, 0.04, 0.05
    return C


def changed(row: int, column: int, value: float) -> Array:
    C = pin()
    C[row, column] = value
    return C


FAULTY: list[tuple[Callable[[], object], str]] = [
    (lambda: lw.Bearing(-0.1, 0.02), "Bearing: mu must be >= 0; got -0.1"),
    (lambda: lw.Bearing(float("nan"), 0.02), "Bearing: mu must be finite; got nan"),
    (lambda: lw.Bearing(0.1, "thick"), "Bearing: radius must be numbers; got 'thick'"),  # type: ignore[arg-type]
    (lambda: lw.Bearing(0.1, 0.0), "Bearing: radius must be > 0 for a journal; got 0"),
    (lambda: lw.Bearing(0.1, 0.0, 0.05, length=0.3), "Bearing: radius must be > 0 for a bearing with length; got 0"),
    (lambda: lw.Bearing(0.2, 0.02, mu_static=0.1), "Bearing: mu_static must be >= mu = 0.2; got 0.1"),
    (lambda: lw.Bearing(0.2, 0.02, stribeck=0.0), "Bearing: stribeck must be > 0; got 0.0"),
    (lambda: lw.Guide(0.1, 0.0), "Guide: length must be > 0; got 0.0"),
    (lambda: lw.Thread(0.1, -0.01), "Thread: radius must be > 0; got -0.01"),
    (lambda: lw.Thread(0.1, 0.01, flank=1.6), "Thread: flank must be < pi / 2; got 1.6"),
    (lambda: lw.DryFriction(2.0, static=1.0), "DryFriction: static must be >= force = 2; got 1"),
    (lambda: lw.Coupling(np.eye(3)), "Coupling: C must be 6 x 6 numbers; got"),
    (lambda: lw.Coupling(changed(5, 0, -0.1)), "C[5, 0] must be >= 0, because a negative friction coefficient would"),
    (lambda: lw.Coupling(changed(2, 0, 0.1)), "C[2, 0] must be 0, because it is in the row of a transmitted component"),
    (lambda: lw.Coupling(changed(2, 2, 0.5)), "C[2, 2] must be 1 for a transmitted component or 0 for a freedom"),
]


@pytest.mark.parametrize(("make", "reason"), FAULTY)
def test_invalid_numbers_of_friction_laws_are_rejected_with_name_and_inequality(
    make: Callable[[], object], reason: str
) -> None:
    with pytest.raises(lw.ModelError) as caught:
        make()
    assert reason in str(caught.value)


def joint(kind: JointKind, friction: object, name: str = "knee") -> lw.Builder:
    b = lw.Builder().body("shin", 1.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.1, 0.1))
    return b.joint(name, kind, "world", "shin", friction=friction)


@pytest.mark.parametrize(
    ("kind", "friction_law", "reason"),
    [
        (lw.Revolute(), lw.Guide(0.1, 0.2), "law: Guide is for prismatic joints; the kind is Revolute"),
        (lw.Prismatic(), lw.Bearing(0.1, 0.2), "law: Bearing is for revolute and universal joints; the kind is Pris"),
        (lw.Screw(pitch=0.0), lw.Thread(0.1, 0.2), "law: Thread is for screw joints with a pitch; the kind is Screw"),
        (lw.Revolute(), lw.Socket(0.1, 0.2), "law: Socket is for ball joints; the kind is Revolute"),
        (lw.Revolute(), lw.Sleeve(0.1, 0.2), "law: Sleeve is for cylindrical joints; the kind is Revolute"),
        (lw.Prismatic(), lw.Coupling(pin()), "the zeros on the diagonal of C (Mz); the kind is Prismatic"),
    ],
)
def test_a_friction_law_on_the_wrong_kind_of_joint_is_rejected(
    kind: JointKind, friction_law: FrictionLaw, reason: str
) -> None:
    with pytest.raises(lw.ModelError) as caught:
        joint(kind, friction_law).build()
    assert "friction 'knee'" in str(caught.value)
    assert reason in str(caught.value)


@pytest.mark.parametrize("friction", ["much", lw.Bearing])
def test_friction_that_is_neither_a_number_nor_a_friction_law_is_rejected(friction: object) -> None:
    with pytest.raises(lw.ModelError, match=r"friction must be a number or a friction law such as lw\.Bearing"):
        joint(lw.Revolute(), friction)


def test_documents_store_all_friction_laws(tmp_path: Path) -> None:
    rng, b, parent, used = np.random.default_rng(0), lw.Builder("many"), "world", set()
    kinds = ("revolute", "prismatic", "screw", "cylindrical", "universal", "ball", "planar")
    for k in range(40):
        kind = random_kind(rng, kinds[k % 7])
        friction = random_law(kind, True, rng)
        used.add(type(friction))
        b.body(f"body {k}", 1.0, inertia=(1, 1, 1)).joint(f"joint {k}", kind, parent, f"body {k}", friction=friction)
        parent = f"body {k}"
    m = b.build()
    assert len(used) == 7
    lw.save(m, tmp_path / "many.toml")
    again = lw.load(tmp_path / "many.toml")
    assert [one.law for one in again.frictions] == [one.law for one in m.frictions]


def test_documents_report_faulty_friction_with_the_line(tmp_path: Path) -> None:
    lw.save(joint(lw.Revolute(), lw.Bearing(0.1, 0.02)).build(), tmp_path / "leg.toml")
    text = (tmp_path / "leg.toml").read_text()
    for good, bad, reason in [
        ("mu = 0.1", "mu = -0.1", "mu must be >= 0"),
        ('"bearing"', '"bering"', "Did you mean 'bearing'"),
        ("radius = 0.02\n", "", "radius"),
        ("[frictions.knee]", "[frictions.ankle]", "no joint 'ankle'"),
    ]:
        (tmp_path / "bad.toml").write_text(text.replace(good, bad))
        with pytest.raises(lw.ModelError) as caught:
            lw.load(tmp_path / "bad.toml")
        assert reason in str(caught.value)
        assert "frictions." in str(caught.value)
        assert "bad.toml" in str(caught.value)


def test_numbers_of_friction_laws_are_parameters() -> None:
    m = joint(lw.Revolute(), lw.Bearing(0.1, 0.02, mu_static=0.2, viscous=0.3)).build()
    assert {"knee.mu", "knee.radius", "knee.mu_static", "knee.preload"} <= m.parameters.keys()
    assert m.joints["knee"].damping.tolist() == [0.3]  # the viscous part is damping
    assert m.with_parameters({"knee.mu": 0.15}).frictions["knee"].law == lw.Bearing(0.15, 0.02, mu_static=0.2)
    with pytest.raises(lw.ModelError, match=r"parameter 'knee.mu': must be >= 0; got -1"):
        m.with_parameters({"knee.mu": -1.0})
    with pytest.raises(lw.ModelError, match=r"mu_static must be >= mu = 0\.3; got 0\.2"):
        m.with_parameters({"knee.mu": 0.3})


def test_friction_with_the_name_of_both_a_joint_and_a_loop_is_rejected() -> None:
    b = joint(lw.Revolute(), lw.Bearing(0.1, 0.02)).body("foot", 1.0, inertia=(1, 1, 1))
    b.joint("ankle", lw.Revolute(), "world", "foot").close("knee", lw.Ball(), "shin", "foot")
    with pytest.raises(lw.ModelError, match="both a joint and a loop have this name"):
        b.build()


@pytest.mark.parametrize("seed", range(30))
def test_forces_along_the_freedoms_of_a_joint_do_not_count_as_load(seed: int) -> None:
    """A motor force T x changes the wrench through the joint, but not the friction: L T = 0."""
    rng = np.random.default_rng(seed)
    kind = random_kind(rng, ("revolute", "prismatic", "screw", "cylindrical", "universal", "ball")[seed % 6])
    found = random_law(kind, True, rng)
    assert found
    S = kind.subspace(kind.random(rng))
    for limit in found.limits(S):
        for _, L, _ in limit.terms:
            assert np.abs(L @ motor_directions(S).array).max() < 1e-14


def test_closing_a_loop_with_friction_adds_the_same_friction_as_the_builder_method_friction(tmp_path: Path) -> None:
    def linkage(**more: Any) -> lw.Builder:
        b = lw.Builder().body("left", 1.0, inertia=(1, 1, 1)).body("right", 1.0, inertia=(1, 1, 1))
        y = lw.Revolute((0, 1, 0))
        b.joint("pin", y, "world", "left").joint("pivot", y, "left", "right", at=(1, 0, 0))
        return b.close("hinge", y, "world", "right", at=(1, 0, 1), to=(0, 0, 1), **more)

    bearing = lw.Bearing(mu=0.1, radius=0.02)
    m = linkage(friction=bearing).build()
    lw.save(m, tmp_path / "one.toml")
    lw.save(linkage().friction("hinge", bearing).build(), tmp_path / "other.toml")
    assert (tmp_path / "one.toml").read_text() == (tmp_path / "other.toml").read_text()
    assert lw.load(tmp_path / "one.toml").frictions["hinge"].law == bearing
    assert linkage(friction=0.3).build().frictions["hinge"].law == lw.DryFriction(0.3)
    for none in (0.0, None):
        assert not len(linkage(friction=none).build().frictions)
    for wrong, reason in (
        (-1.0, "loop 'hinge': friction: force must be >= 0"),
        (np.nan, "loop 'hinge': friction: force must be finite"),
        ("sticky", "loop 'hinge': friction must be a number or a friction law"),
        (True, "loop 'hinge': friction must be a number or a friction law"),
        (lw.Guide(0.1, 0.2), "friction 'hinge': law: Guide is for prismatic joints"),
    ):
        with pytest.raises(lw.ModelError, match=reason):
            linkage(friction=wrong).build()
