"""Locked, coupled and cable-driven joints by D and C^R (S0 3.1) match multipliers, welds and mimic joints."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms import inverse_dynamics, mass_matrix
from linkwork.algorithms.formulations.limb_dynamics import accelerations, limb_at, system_equations
from linkwork.algorithms.formulations.limb_systems import limb_system
from linkwork.algorithms.formulations.limb_velocity_maps import constrained, relative_to_absolute, with_base_position
from linkwork.algorithms.formulations.single_limb_equations import block_diagonal
from linkwork.algorithms.kinematics import joint_poses, world_poses
from linkwork.model.mechanism import numbered
from linkwork.model.mimic_joints import Mimic
from linkwork.spatial.rotation import matrix_about_axis, matrix_from_rpy
from linkwork.spatial.scalar import Array, hat
from random_mechanisms import random_inertia, relative, revolute_tree, state

MODES = ("free", "locked", "coupled", "measured", "all")


class Arms(NamedTuple):
    """A mechanism with two arms of four parallel joints; `signs` gives each axis' direction along that of the arm."""

    mechanism: lw.Mechanism
    signs: dict[str, float]


def arms(seed: int, locked: Mapping[str, float] | None = None) -> Arms:
    """Two arms on a free base or a base on a pin. Joints in `locked` are welds at the given angle [rad]."""
    rng = np.random.default_rng([seed, 11])
    b, signs = lw.Builder("arms", gravity=rng.normal(size=3) * 9.81), {}
    b.body("base", mass=2.0, com=rng.normal(size=3) * 0.1, inertia=random_inertia(rng))
    b.joint("base", lw.Free() if seed % 2 else lw.Revolute(rng.normal(size=3)), "world", "base")
    for side in "ab":
        parent, axis = "base", np.array([0.0, 0.0, 1.0])
        for k in range(4):
            name, turn = f"{side}{k}", matrix_from_rpy(*rng.uniform(-3, 3, size=3))
            signs[name] = float(rng.choice([-1.0, 1.0]))
            axis = turn.T @ axis  # that of the arm, in the frame of its next body
            b.body(name, mass=1.0, com=rng.normal(size=3) * 0.2, inertia=random_inertia(rng))
            kind, at, armature = lw.Revolute(signs[name] * axis), rng.normal(size=3) * 0.4, rng.uniform(0, 0.2)
            if name in (locked or {}):
                turn = turn @ matrix_about_axis(signs[name] * axis, (locked or {})[name])
                axis = matrix_about_axis(signs[name] * axis, (locked or {})[name]).T @ axis
                b.joint(name, lw.Weld(), parent, name, at, rotation=turn)
            else:
                b.joint(name, kind, parent, name, at, rotation=turn, armature=armature)
            parent = name
    return Arms(b.build(), signs)


def mode(name: str) -> dict[str, Any]:
    """Return the arguments of `limb_system` for a named mode of locked, coupled or cable-driven joints."""
    locked = ("a1", "b3")
    couplings = {"one": {"a0": 1.0, "b0": -1.5}, "two": {"a3": 2.0, "b1": 0.5, "b2": 1.0}}
    measured = {"a3": "a1", "b1": "base", "b2": "base"}  # a belt over one joint, over two
    return {
        "free": {},
        "locked": {"locked": locked},
        "coupled": {"couplings": couplings},
        "measured": {"measured_from": measured},
        "all": {"locked": locked, "couplings": couplings, "measured_from": measured},
    }[name]


def constraint_rows(m: lw.Mechanism, signs: Mapping[str, float], arguments: Mapping[str, Any]) -> Array:
    """Constraint rows on the joint velocities, written by hand: (constraints, nv)."""

    def turn(joint: str) -> Array:
        """Return the row (nv,) of a joint's rotation relative to the body before it or to one further inboard."""
        row, side, k = np.zeros(m.nv), joint[0], int(joint[1])
        source = arguments.get("measured_from", {}).get(joint)
        first = k if source is None else 0 if source == "base" else int(source[1]) + 1
        for between in range(first, k + 1):
            row[m.joints[f"{side}{between}"].v] = signs[f"{side}{between}"] * signs[joint]
        return row

    found = [turn(joint) for joint in arguments.get("locked", ())]
    for ratios in arguments.get("couplings", {}).values():
        (first, ratio), *others = ratios.items()
        found += [turn(joint) * ratio - turn(first) * other for joint, other in others]
    return np.array(found).reshape(-1, m.nv)


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("seed", range(4))
def test_constraint_matrices_give_the_same_accelerations_as_lagrange_multipliers(seed: int, name: str) -> None:
    m, signs = arms(seed)
    s, system = state(m, seed), limb_system(m, **mode(name))
    A, P = constraint_rows(m, signs, mode(name)), system.velocity_map
    assert P.shape == (m.nv, m.nv - len(A))
    assert np.abs(A @ P).max(initial=0.0) < 1e-14
    rate = np.random.default_rng(seed).normal(size=P.shape[1])
    v = P @ rate
    h = inverse_dynamics.inverse_dynamics(m, s.q, v, np.zeros(m.nv), s.wrenches).tau
    saddle = np.block([[mass_matrix.mass_matrix(m, s.q), A.T], [A, np.zeros((len(A), len(A)))]])
    expected = np.linalg.solve(saddle, np.concatenate([s.tau - h, np.zeros(len(A))]))[: m.nv]
    found = accelerations(m, system, s.q, rate, s.tau, s.wrenches)
    assert relative(P @ found, expected) < 1e-11


@pytest.mark.parametrize("name", MODES)
def test_constraint_matrices_give_the_angular_velocities_of_all_bodies(name: str) -> None:
    """Equation (40); its product over all limbs equals the result for each limb."""
    m, _ = arms(1)
    s, system = state(m, 1), limb_system(m, **mode(name))
    rate = np.random.default_rng(1).normal(size=system.D3.shape[1])
    poses = world_poses(m, joint_poses(m, s.q))
    twists = lw.compile(m, target="numpy").velocities(s.q, system.velocity_map @ rate)
    x = np.concatenate([poses[1].R @ rate[:3], rate[3:]])  # R' of the base for its own linear velocity
    C_0, found = [], []
    for path, measured_from, D in zip(system.paths, system.measured_from, system.maps, strict=True):
        C_0.append(with_base_position(relative_to_absolute([poses[body].R for body in path], measured_from)))
        found.append(C_0[-1] @ D @ x)
        assert relative(found[-1][3:], np.concatenate([twists[body - 1][3:] for body in path])) < 1e-13
        assert relative(found[-1][:3], poses[1].R @ twists[0][:3]) < 1e-14
    whole = block_diagonal(C_0) @ block_diagonal(system.D0) @ system.D1 @ system.D2 @ system.D3
    assert relative(whole @ x, np.concatenate(found)) < 1e-14


@pytest.mark.parametrize("seed", range(3))
def test_limb_with_a_locked_joint_moves_as_with_a_weld(seed: int) -> None:
    """(26), and (21) to (25): two frames in one rigid body, between which a joint is inserted or removed."""
    angles = {"a1": 0.7, "b3": -1.9}
    m, welded = arms(seed).mechanism, arms(seed, angles).mechanism
    s = state(welded, seed)
    system = limb_system(m, locked=tuple(angles))
    q = np.concatenate([[angles[j.name]] if j.name in angles else s.q[welded.joints[j.name].q] for j in m.joints])
    loose = [j for j in m.joints if j.name not in angles]
    M, h = system_equations(m, system, q, s.v)
    assert [j.name for j in loose] == [j.name for j in welded.joints]
    assert relative(M, mass_matrix.mass_matrix(welded, s.q)) < 1e-12
    assert relative(h, inverse_dynamics.bias(welded, s.q, s.v)) < 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_limb_with_coupled_joints_moves_as_with_mimic_joints(seed: int) -> None:
    """(27), (28), with transmission ratios."""
    m = revolute_tree(12 + seed)
    names = [j.name for j in m.joints if isinstance(j.kind, lw.Revolute)]
    motor = {names[1]: 1.0, names[3]: -1.0, names[4]: 2.5}
    coupled = lw.compile(_mimicking(m, motor), target="numpy")
    s = state(coupled.mechanism, seed)
    q = coupled.mechanism.tree_position(s.q)
    system = limb_system(m, {"motor": motor})
    tau = np.linalg.lstsq(system.velocity_map.T, s.tau, rcond=None)[0]  # joint forces that act on alpha as tau does
    assert relative(system.velocity_map, coupled.mechanism.spread) < 1e-15
    expected = coupled.forward_dynamics(s.q, s.v, s.tau, s.wrenches)
    assert relative(accelerations(m, system, q, s.v, tau, s.wrenches), expected) < 1e-10


def _mimicking(m: lw.Mechanism, motor: Mapping[str, float]) -> lw.Mechanism:
    """Return the same mechanism, in which the motor's other joints are mimic joints of its first joint."""
    first, *others = motor
    mimics = {name: Mimic(name, first, motor[name] / motor[first], 0.0) for name in others}
    return replace(m, joints=numbered(m.joints, mimics))


def rotations(n: int, seed: int = 0) -> Array:
    angles = np.random.default_rng(seed).uniform(-3, 3, size=(n, 3))
    return np.array([matrix_from_rpy(*three) for three in angles])


def test_joint_angle_measured_from_an_inboard_body_gives_zero_blocks_of_the_matrix_c_r() -> None:
    """(29), with j = 4: C_x3 = 0 for x = 4, 5; all else is as in (11)."""
    C = rotations(5)
    usual, redefined = (relative_to_absolute(C, source) for source in (None, (-1, 0, 1, 1, 3)))
    for x in range(5):
        for i in range(5):
            here = slice(3 * x, 3 * x + 3), slice(3 * i, 3 * i + 3)
            expected = C[x].T @ C[i] if i <= x else np.zeros((3, 3))
            assert np.allclose(usual[here], expected, rtol=0, atol=1e-15)
            emptied = i == 2 and x >= 3
            assert np.allclose(redefined[here], np.zeros((3, 3)) if emptied else expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("measured_from", [(-1, 0, 1, 2, 3), (-1, 0, 1, 1, 3), (-1, 0, 0, 0, 2)])
def test_time_derivative_of_the_matrix_c_r_matches_its_closed_form(measured_from: tuple[int, ...]) -> None:
    """d(C^R)/dt Omega = C^R (omega~ Omega), behind (20), by exact derivatives, for (11) and (29)."""
    C, Omega = rotations(5), np.random.default_rng(1).normal(size=15)
    C_R = relative_to_absolute(C, measured_from)
    omega = (C_R @ Omega).reshape(-1, 3)
    moved = np.array([R + 1e-30j * R @ hat(w) for R, w in zip(C, omega, strict=True)])  # (8)
    rate = np.imag(relative_to_absolute(moved, measured_from)) / 1e-30
    assert relative(rate @ Omega, C_R @ np.cross(omega, Omega.reshape(-1, 3)).ravel()) < 1e-13


def test_mass_shares_of_the_limbs_add_up_to_the_body_masses() -> None:
    """(38), (39): the mass shares of the limbs add up to the body masses, for any tree."""
    for seed in range(8):
        m = revolute_tree(seed)
        system, q = limb_system(m), m.random(seed)
        poses = world_poses(m, joint_poses(m, q))
        total = np.zeros(len(m.bodies))
        for path in system.paths:
            limb = limb_at(m, system, path, poses)
            np.add.at(total, list(path), limb.m)
        assert relative(total[1:], np.array([body.mass for body in m.bodies[1:]])) < 1e-15


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "driven twice": (
        {"couplings": {"one": {"a0": 1.0}, "two": {"a1": 1.0, "a0": 2.0}}},
        "coupling 'two': joint 'a0' is already driven by coupling 'one'; remove one of the two couplings",
    ),
    "zero ratio": ({"couplings": {"one": {"a0": 0.0}}}, "the ratio of 'a0' must be finite and not 0; got 0.0"),
    "no ratio": ({"couplings": {"one": {"a0": np.nan}}}, "must be finite"),
    "locked and driven": ({"couplings": {"one": {"a0": 1.0}}, "locked": ["a0"]}, "'a0' is locked"),
    "unknown lock": ({"locked": ["a9"]}, "there is no joint 'a9'.*Valid: base, a0"),
    "unknown driven": ({"couplings": {"one": {"c0": 1.0}}}, "there is no joint 'c0'"),
    "free base": ({"locked": ["base"]}, "joint 'base' is free"),
    "unknown body": ({"measured_from": {"a2": "c0"}}, "there is no body 'c0'"),
    "other arm": (
        {"measured_from": {"a2": "b0"}},
        "'a2' cannot be measured from 'b0': .*Inboard bodies: a1, a0, base, world",
    ),
    "past the base": ({"measured_from": {"a2": "world"}}, "not parallel to that of joint 'base'"),
}


@pytest.mark.parametrize("case", BAD)
def test_contradictory_arguments_of_limb_system_are_rejected(case: str) -> None:
    arguments, says = BAD[case]
    with pytest.raises(lw.LinkworkError, match=says):
        limb_system(arms(1).mechanism, **arguments)


def test_limb_systems_represent_mimic_joints_by_couplings_of_the_tree() -> None:
    coupled = _mimicking(arms(1).mechanism, {"a0": 1.0, "b0": 2.0})
    with pytest.raises(lw.LinkworkError, match=r"has mimic joints; use mechanism\.tree"):
        limb_system(coupled)
    assert np.array_equal(limb_system(coupled.tree, {"motor": {"a0": 1.0, "b0": 2.0}}).velocity_map, coupled.spread)


def test_measuring_an_angle_across_a_joint_with_another_axis_is_rejected() -> None:
    m = revolute_tree(15)
    joint = next(j for j in m.joints if j.i and m.joints[j.i - 1].i != 0)
    grandparent = m.bodies[m.joints[joint.i - 1].i].name
    with pytest.raises(lw.LinkworkError, match=f"'{joint.name}' cannot be measured from .* not parallel"):
        limb_system(m, measured_from={joint.name: grandparent})


def test_constraint_matrices_reject_unknown_joint_names() -> None:
    with pytest.raises(lw.LinkworkError, match=r"there is no joint 'elbo'. Did you mean 'elbow'"):
        constrained(["shoulder", "elbow"], {}, ["elbo"])
    D = constrained(["a", "b", "c", "d"], {"m": {"d": -2.0, "b": 1.0}}, ["c"])
    assert D.tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, -2.0]]
