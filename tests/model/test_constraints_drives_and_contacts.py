"""Loops, drives, clutches, brakes, surfaces and contacts have correct indices, placements and effects."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.drive_forces import drive_forces
from linkwork.spatial.scalar import Array
from random_mechanisms import relative
from scalars_of_unknown_value import from_opaque, to_opaque

Y = (0, 1, 0)


def four_bar(**held: Any) -> lw.Builder:
    """A crank, a coupler with a welded hand, and a rocker; `held` has arguments of a brake and a clutch."""
    b = lw.Builder("four-bar")
    for name, length in (("crank", 0.2), ("coupler", 0.5), ("rocker", 0.4)):
        b.body(name, 1.0, (length / 2, 0, 0), (0.01, 0.01, 0.01))
    b.body("hand", 0.1).joint("grip", lw.Weld(), "coupler", "hand", (0.3, 0.1, 0), (0.1, 0.2, 0.3))
    b.joint("a", lw.Revolute(Y), "world", "crank").joint("b", lw.Revolute(Y), "crank", "coupler", (0.2, 0, 0))
    b.joint("d", lw.Revolute(Y), "world", "rocker", (0.5, 0, 0))
    b.brake("hold", "d", **held).clutch("shaft", "a", "d", -2.0, **held)
    return b.drive("motor", {"a": 3.0, "d": -1.0}, gain=2.0, bias=(0.5, -4.0, -0.1), control_limits=(-1, 1))


def closed() -> lw.Builder:
    b = four_bar().close("c", lw.Revolute(Y), "hand", "rocker", (0.2, 0, 0.1), (0.4, 0, 0), rpy=(0.3, 0.2, 0.1))
    b.surface("ground", lw.Plane(), at=(0, 0, -1)).surface("palm", lw.Box((1, 1, 1)), "hand", (0, 0, 0.1), (1, 0, 0))
    b.touch("toe", "rocker", (0.4, 0, 0), stiffness=1e4, friction=0.5)
    return b.touch("heel", "hand", (0.1, 0, 0), stiffness=1e4, radius=0.1, friction=(0.8, 0.5))


# --- where things are ---


def test_placements_on_welded_parts_become_placements_on_bodies() -> None:
    """A frame at the same placement of the same part has the same pose."""
    b = closed()
    b.frame("c at", "hand", (0.2, 0, 0.1), (0.3, 0.2, 0.1)).frame("c to", "rocker", (0.4, 0, 0))
    b.frame("palm at", "hand", (0, 0, 0.1), (1, 0, 0)).frame("heel at", "hand", (0.1, 0, 0))
    m = b.build()
    loop, palm, heel = m.loops["c"], m.surfaces["palm"], m.contacts["heel"]
    for place, frame in ((loop.at, "c at"), (loop.to, "c to"), (palm.place, "palm at"), (heel.at, "heel at")):
        assert place.body == m.frames[frame].body
        assert (place.pose.matrix == m.frames[frame].pose.matrix).all()
    assert (m.bodies[loop.at.body].name, m.bodies[loop.to.body].name) == ("coupler", "rocker")
    assert (loop.a, loop.b) == ("hand", "rocker")
    assert loop.at.offset.p.tolist() == [0.2, 0, 0.1]


def test_contacts_use_all_surfaces_of_other_bodies_by_default() -> None:
    m = closed().touch("tip", "crank", stiffness=1.0, against="palm").build()
    assert {contact.name: contact.against for contact in m.contacts} == {
        "toe": ("ground", "palm"),
        "heel": ("ground",),
        "tip": ("palm",),
    }
    named = closed().touch("tip", "crank", stiffness=1.0, against=(name for name in ("palm", "palm"))).build()
    assert named.contacts["tip"].against == ("palm",)
    assert m.contacts["toe"].friction == (0.5, 0.5)
    assert (m.contacts["toe"].tangential_stiffness, m.contacts["toe"].tangential_damping) == (1e4, 0.0)


def test_elements_are_immutable_and_can_be_pickled() -> None:
    m = closed().build()
    with pytest.raises(ValueError, match="read-only"):
        m.drives["motor"].row[0] = 1.0
    with pytest.raises(FrozenInstanceError):
        m.brakes["hold"].engaged = True  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(lw.ModelError, match=r"no loop 'd'\. Valid: c"):
        m.loops["d"]  # pyright: ignore[reportUnusedExpression]
    again = pickle.loads(pickle.dumps(m))
    assert again.drives["motor"].row.tolist() == m.drives["motor"].row.tolist()
    changed = m.with_parameters({"crank.mass": 2.0})
    assert changed.loops["c"].at is m.loops["c"].at
    assert changed.contacts is m.contacts


# --- what drives do ---


def driven(seed: int, mimics: bool) -> lw.Mechanism:
    """Joints of several kinds, some of them mimic joints, and drives over them."""
    rng, b = np.random.default_rng(seed), lw.Builder("driven")
    kinds = {"s": lw.Prismatic(Y), "ball": lw.Ball(), "r": lw.Revolute(Y), "w": lw.Screw(pitch=0.1), "x": lw.Revolute()}
    for name, kind in kinds.items():
        b.body(name, 1.0, rng.normal(size=3), (1, 1, 1)).joint(name, kind, "world", name)
    if mimics:
        b.mimic("r", "x", *rng.normal(size=2)).mimic("s", "r", *rng.normal(size=2))
    ratios = {name: rng.normal() for name in ("s", "r", "w", "x")}
    b.drive("servo", ratios, gain=2.0, bias=rng.normal(size=3), control_limits=(-1, np.inf), force_limits=(-30, 30))
    b.drive("spinner", {"ball": rng.normal(size=3), "s": 0.5}, bias=(0.1, 0, -0.3), force_limits=(-np.inf, 3))
    return b.drive("motor", {"w": 7.0}).build()


def expected(m: lw.Mechanism, q: Array, v: Array, u: Array) -> tuple[Array, Array]:
    """Forces and rates of the drives (ndrives,), by their definition on the tree of independent joints."""
    tree, forces, rates = m.tree, [], []
    q, v = m.tree_position(q), m.tree_velocity(v)
    for drive, control in zip(m.drives, u, strict=True):
        rate = sum(float(ratio @ v[tree.joints[name].v]) for name, ratio in drive.ratios)
        alone = [(float(ratio[0]), tree.joints[name]) for name, ratio in drive.ratios if len(ratio) == 1]
        length = sum(ratio * q[j.q][0] for ratio, j in alone)
        f = drive.gain * np.clip(control, *drive.control_limits) + drive.bias @ (1.0, length, rate)
        forces.append(np.clip(f, *drive.force_limits))
        rates.append(rate)
    return np.array(forces), np.array(rates)


@pytest.mark.parametrize("mimics", [False, True], ids=["independent", "mimics"])
@pytest.mark.parametrize("seed", range(6))
def test_power_of_drive_forces_is_motor_force_times_motor_rate(seed: int, mimics: bool) -> None:
    m, rng = driven(seed, mimics), np.random.default_rng([seed, 1])
    for scale in (0.1, 100.0):  # within all limits, and beyond some
        q, v, u = m.random(rng), rng.normal(size=m.nv), rng.normal(size=3) * scale
        forces, rates = expected(m, q, v, u)
        tau = drive_forces(m, q, v, u)
        assert relative(np.array([drive.row @ v for drive in m.drives]), rates) < 1e-13
        assert relative(tau, forces @ np.array([drive.row for drive in m.drives])) < 1e-13
        assert abs(tau @ v - forces @ rates) < 1e-11 * np.abs(forces * rates).max()  # virtual power
        hidden = drive_forces(m, to_opaque(q), to_opaque(v), to_opaque(u))
        assert (from_opaque(hidden) == tau).all()


def test_drives_of_the_tree_with_mimic_joints_have_equivalent_ratios() -> None:
    m = driven(0, mimics=True)
    assert len(m.drives["servo"].row) == m.nv == 5
    assert len(m.tree.drives["servo"].row) == m.tree.nv == 7
    for drive, on_tree in zip(m.drives, m.tree.drives, strict=True):
        assert relative(on_tree.row @ m.spread, drive.row) < 1e-15
        assert on_tree.offset == 0.0
    assert m.drives["servo"].offset != 0.0


# --- what holds ---


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_engaged_brake_gives_its_joint_zero_acceleration(target: str) -> None:
    m = four_bar().brake("stop", "a", engaged=True).build()
    free, d = (lw.compile(one, target=target) for one in (four_bar().build(), m))
    state = m.neutral(), np.zeros(m.nv), np.ones(m.nv)
    assert d.forward_dynamics(*state)[m.joints["a"].v] == pytest.approx(0.0, abs=1e-12)
    assert abs(free.forward_dynamics(*state)[m.joints["a"].v]) > 0.1  # its kernels are others


def test_constraints_do_not_change_poses_mass_matrix_energy_or_inverse_dynamics() -> None:
    m, n = closed().build(), four_bar().build()
    d, e = lw.compile(m, target="numpy"), lw.compile(n, target="numpy")
    q, v, a = m.random(0), np.ones(3), np.arange(3.0)
    for ask in (
        lambda d: d.poses(q),
        lambda d: d.jacobian(q, "hand"),
        lambda d: d.inverse_dynamics(q, v, a),
        lambda d: d.inverse_dynamics_derivatives(q, v, a),
        lambda d: d.mass_matrix(q),
        lambda d: d.energy(q, v),
        lambda d: d.momentum(q, v),
        lambda d: d.passive(q, v),
    ):
        assert (np.asarray(ask(d)) == np.asarray(ask(e))).all()


def test_released_clutches_and_brakes_have_no_effect() -> None:
    b = four_bar()
    assert lw.compile(b.build(), target="numpy").forward_dynamics(np.zeros(3), np.zeros(3), np.ones(3)).shape == (3,)
    assert lw.cross_check(b.build(), samples=1).worst < 1e-10
