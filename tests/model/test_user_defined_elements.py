"""User-defined element kinds are built, varied, saved, checked and simulated like the built-in ones."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import linkwork as lw
from linkwork.app.check_command import description
from linkwork.evaluation.dynamics_kernels import has_kinds_of_users, kernel_of
from linkwork.model.documents.loading import document_schema
from linkwork.model.documents.toml_schema import joint_kinds
from linkwork.model.elements.constraint import Bound
from linkwork.model.elements.element import Element
from linkwork.model.elements.force import Acting, Force, point_motion
from linkwork.model.elements.key_types import (
    body_name,
    finite,
    joint_name,
    key,
    not_negative,
    point,
    positive,
    switch,
)
from linkwork.model.elements.velocity_constraint import VelocityConstraint, VelocityRow
from linkwork.spatial import Motion as Twist
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Number
from scalars_of_unknown_value import from_opaque, to_opaque

Z = (0, 0, 1)


class Belt(VelocityConstraint, section="belts"):
    """A belt over two pulleys with radii `inner` and `outer` [m]; it slips above its `grip` [N]."""

    a: str = key(joint_name("pulley a"))
    b: str = key(joint_name("pulley b"))
    inner: Number = key(positive("m"), "radius of a", default=1.0, parameter=True)
    outer: Number = key(positive("m"), "radius of b", default=1.0, parameter=True)
    grip: Number = key(positive("N", infinite=True), "above which it slips", default=np.inf, parameter=True)
    engaged: Number = key(switch, default=True, mode=True)

    @property
    def velocity_rows(self) -> Iterator[VelocityRow]:
        """Slip speed of the belt."""
        yield VelocityRow(self.name, ((self.b, 0, self.outer), (self.a, 0, -self.inner)), self.engaged)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Largest belt force [N]."""
        return ((-self.grip, self.grip),)


class Magnet(Force, section="magnets"):
    """Attracts a point of a body to the world's origin with the force strength / (distance^2 + reach^2) [N]."""

    body: str = key(body_name())
    at: Any = key(point("body"), default=(0, 0, 0), parameter=True)
    strength: Number = key(finite("N m^2"), default=1.0, parameter=True)
    reach: Number = key(not_negative("m"), default=0.1, kw_only=True, parameter=True)

    def force(self, motion: Any) -> Acting:
        """Force towards the world's origin."""
        p, _ = point_motion(motion, self.body, self.at.offset.p)
        distance = np.sqrt(p @ p)
        return Acting().on_body(self.body, p * (-self.strength / (distance * (p @ p + self.reach**2))), at=p)


def pulleys(**belt: Any) -> lw.Builder:
    b = lw.Builder("pulleys", gravity=(0, 0, 0))
    for name in "ab":
        b.body(name, 1.0, inertia=(1, 1, 1)).joint(name, lw.Revolute(Z), "world", name)
    return b.add(Belt("belt", "a", "b", **belt))


def test_user_defined_constraint_sticks_and_slips_at_its_bound() -> None:
    m = pulleys(inner=2.0).build()
    assert m.belts["belt"].inner == 2.0
    assert m.velocity_constraints == (m.belts["belt"],)
    tau = np.array([1.0, 0.0])
    clutched = lw.Builder("clutched", gravity=(0, 0, 0))
    for name in "ab":
        clutched.body(name, 1.0, inertia=(1, 1, 1)).joint(name, lw.Revolute(Z), "world", name)
    same = clutched.clutch("clutch", "a", "b", 2.0, engaged=True).build()
    for target in ("numpy", "cpu"):
        a, expected = (lw.compile(one, target=target).forward_dynamics([0, 0], [1, 2], tau) for one in (m, same))
        assert np.allclose(a, expected, rtol=1e-14)
    run = lw.simulate(pulleys(grip=0.5).build(), v0=[1.0, 0.0], duration=0.5, dt=0.01)
    assert np.allclose(run.v[-1], [0.75, 0.25], atol=1e-12)  # it pushes with its grip


def test_parameters_of_user_defined_elements_can_vary() -> None:
    m = pulleys(grip=0.5).build()
    assert {"belt.inner", "belt.outer", "belt.grip", "belt.engaged"} <= set(m.parameters)
    grips = np.array([0.25, 0.5, 1.0])
    start = np.tile([1.0, 0.0], (3, 1))
    runs = lw.simulate(m, np.zeros((3, 2)), start, duration=0.5, dt=0.01, parameters={"belt.grip": grips})
    assert np.allclose(runs.v[:, -1, 1], [0.125, 0.25, 0.5], atol=1e-12)
    with pytest.raises(lw.ModelError, match=r"parameter 'belt\.inner': must be > 0"):
        m.with_parameters({"belt.inner": 0.0})


def test_invalid_user_elements_are_rejected_and_the_key_is_named() -> None:
    with pytest.raises(lw.ModelError, match="belt 'belt': inner must be > 0"):
        pulleys(inner=-1.0)
    with pytest.raises(lw.ModelError, match="a belt with this name already exists"):
        pulleys().add(Belt("belt", "a", "b"))
    with pytest.raises(lw.ModelError, match="pulley b: there is no joint 'c'"):
        lw.Builder("x").body("a", 1.0, inertia=(1, 1, 1)).joint("a", lw.Revolute(), "world", "a").add(
            Belt("belt", "a", "c")
        ).build()
    with pytest.raises(lw.ModelError, match="has the name of a clutch"):
        pulleys().clutch("belt", "a", "b").build()
    with pytest.raises(lw.ModelError, match="element must be an Element"):
        lw.Builder("x").add("belt")  # pyright: ignore[reportArgumentType]


def test_user_elements_are_saved_loaded_and_checked(tmp_path: Path) -> None:
    b = pulleys(inner=2.0, grip=3.0).body("c", 1.0, inertia=(1, 1, 1)).joint("c", lw.Free(), "world", "c")
    m = b.add(Magnet("magnet", "c", (0.1, 0, 0), 5.0)).build()
    lw.save(m, tmp_path / "pulleys.toml")
    text = (tmp_path / "pulleys.toml").read_text()
    assert '[belts.belt]\na = "a"\nb = "b"\ninner = 2.0\nouter = 1.0\ngrip = 3.0\nengaged = true\n' in text
    assert '[magnets.magnet]\nbody = "c"\nat = [0.1, 0.0, 0.0]\nstrength = 5.0\n' in text  # reach is as usual
    again = lw.load(tmp_path / "pulleys.toml")
    assert [*again.belts["belt"].digest(), *again.magnets["magnet"].digest()] == [
        *m.belts["belt"].digest(),
        *m.magnets["magnet"].digest(),
    ]
    console = Console(file=io.StringIO(), width=200)
    console.print(description(again))
    shown = console.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]
    assert "belt" in shown
    assert "grip 3.0" in shown
    assert "magnet" in shown
    assert "belts" in document_schema()["$defs"]["Document"]["properties"]


def test_kernels_of_user_elements_have_their_own_keys() -> None:
    m = pulleys(inner=2.0).build()
    assert has_kinds_of_users(m)
    assert not has_kinds_of_users(m.with_elements("belts", []))
    once, twice = (kernel_of(m, ("same name",), lambda q, by=by: by * q, [(2,)], (2,)) for by in (1.0, 2.0))
    assert once.key != twice.key  # they are known by their graphs


def test_new_element_kinds_do_not_change_other_mechanisms(tmp_path: Path) -> None:
    """Whether the kind was defined before the mechanism, after it, or never."""
    m = lw.example("double_pendulum")

    class Tape(Magnet, section="tapes"):
        """A kind that no mechanism here uses."""

    lw.save(m, tmp_path / "m.toml")
    assert list(lw.load(tmp_path / "m.toml").elements) == list(m.elements) == []
    assert len(getattr(m, Tape.section)) == 0


def test_error_names_an_element_class_with_a_missing_method() -> None:
    class Rope(VelocityConstraint, section="ropes"):
        """A constraint without constraint rows."""

        engaged: Number = key(switch, default=True, mode=True)

    b = lw.Builder("m").body("a", mass=1.0, inertia=(1, 1, 1)).joint("j", lw.Revolute(Z), "world", "a")
    with pytest.raises(lw.LinkworkError, match="rope 'r': its class 'Rope' must define 'velocity_rows'"):
        lw.simulate(b.add(Rope("r")).build(), duration=0.1)


def test_section_of_a_document_belongs_to_one_element_class() -> None:
    with pytest.raises(lw.ModelError, match="the section 'clutches' already belongs to"):
        type("Other", (Element,), {}, section="clutches")


# --- joint kinds ---


def test_user_joint_kind_is_saved_and_loaded_also_in_loops(tmp_path: Path) -> None:
    assert "coil" not in joint_kinds()

    @dataclass(frozen=True)
    class Coil(lw.Screw):
        """A screw joint with another name and one more parameter."""

        slack: float = 0.0

    assert {name: kind.__name__ for name, kind in joint_kinds().items()}["coil"] == "Coil"
    b = lw.Builder("coiled").body("nut", 1.0, inertia=(1, 1, 1)).joint("nut", lw.Free(), "world", "nut")
    b.body("bolt", 1.0, inertia=(1, 1, 1)).joint("thread", Coil(Z, 0.02, slack=0.1), "world", "bolt")
    m = b.close("held", Coil(Z, 0.01, slack=0.2), "world", "nut").build()
    lw.save(m, tmp_path / "coiled.toml")
    again = lw.load(tmp_path / "coiled.toml")
    assert again.joints["thread"].kind == m.joints["thread"].kind
    assert again.loops["held"].kind == m.loops["held"].kind
    assert "CoilJoint" in document_schema()["$defs"]


def test_user_joint_kind_cannot_replace_a_built_in_one(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Revolute(lw.Revolute):
        """A joint kind with the name of a built-in one."""

    assert joint_kinds()["revolute"] is lw.Revolute
    b = lw.Builder("one").body("a", 1.0, inertia=(1, 1, 1)).joint("a", Revolute(Z), "world", "a")
    with pytest.raises(
        lw.ModelError, match=r"joint 'a': in documents the kind 'revolute' means linkwork.model.joints.Revolute"
    ):
        lw.save(b.build(), tmp_path / "one.toml")


# --- forces ---


class BodyMotion:
    """One moving body and a joint."""

    def __init__(self, X: Transform, V: Twist, v: Any = (0.0,)):
        self.X, self.V, self.v = X, V, np.asarray(v)

    def pose(self, body: str) -> Transform:
        return self.X if body == "c" else Transform.identity()

    def twist(self, body: str) -> Twist:
        return self.V if body == "c" else Twist.zero()

    def coordinates(self, joint: str) -> Any:
        return np.zeros(1)

    def velocities(self, joint: str) -> Any:
        return self.v


class Lifted(Force, section="lifts"):
    """A constant force [N] that stores energy."""

    body: str = key(body_name())
    lift: Number = key(finite("N"), default=1.0, parameter=True)

    def force(self, motion: Any) -> Acting:
        """Upward force at the body's origin."""
        return Acting().on_body(self.body, np.array([0.0, 0.0, 1.0]) * self.lift, at=motion.pose(self.body).p)

    def energy(self, motion: Any) -> Number:
        """Work done to pull the body down [J]."""
        return -self.lift * motion.pose(self.body).p[2]


def test_user_defined_forces_have_the_expected_wrenches_and_powers() -> None:
    rng = np.random.default_rng(0)
    X = Transform.place(rng.normal(size=3), rng.normal(size=3))
    V = Twist(rng.normal(size=3), rng.normal(size=3))
    b = lw.Builder("one").body("c", 1.0, inertia=(1, 1, 1)).joint("c", lw.Free(), "world", "c")
    m = b.add(Magnet("magnet", "c", (0.1, 0.2, 0.3), 5.0)).add(Lifted("lift", "c", 3.0)).build()
    assert m.forces == (m.magnets["magnet"], m.lifts["lift"])
    motion, magnet, lift = BodyMotion(X, V), m.magnets["magnet"], m.lifts["lift"]
    acting = magnet.force(motion)
    p, v = X.point(np.array([0.1, 0.2, 0.3])), V.linear + np.cross(V.angular, X.R @ [0.1, 0.2, 0.3])
    force = -5.0 * p / np.linalg.norm(p) / (p @ p + 0.01)
    wrench = acting.wrench("c")
    assert np.allclose(wrench.linear, force)
    assert np.allclose(wrench.angular, np.cross(p, force))
    assert np.allclose(magnet.power(motion, acting), force @ v)
    assert magnet.energy(motion) == 0.0
    assert lift.power(motion, lift.force(motion)) == 0.0  # it is in the rate of its energy
    assert np.allclose(lift.force(motion).power(motion), 3.0 * V.linear[2])
    more = acting + Acting().on_body("c", torque=(0, 0, 2.0)).on_joint("c", (4.0,))
    assert np.allclose(more.power(BodyMotion(X, V, [0.5])), force @ v + 2.0 * V.angular[2] + 2.0)
    hidden = BodyMotion(Transform(to_opaque(X.R), to_opaque(X.p)), Twist(to_opaque(V.linear), to_opaque(V.angular)))
    found = magnet.force(hidden)
    assert np.allclose(from_opaque(found.wrench("c").array), wrench.array)
    assert np.allclose(from_opaque(np.array([magnet.power(hidden, found)])), force @ v)
