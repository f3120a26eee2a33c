"""Springs and dampers between points of bodies: lengths, Jacobian rows, forces and energies are consistent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.kinematics import joint_poses, world_poses
from linkwork.algorithms.mimic_reduction import for_mimic_joints
from linkwork.algorithms.passive_joint_forces import passive, spring_energy
from linkwork.algorithms.point_springs import (
    frame_damper_power,
    frame_spring_energy,
    frame_spring_forces,
    frame_spring_matrix,
    spring_lengths,
)
from linkwork.spatial.scalar import Array
from random_mechanisms import relative, state, tree, tree_with_springs
from random_spatial_quantities import rate
from scalars_of_unknown_value import from_opaque, lift, to_opaque

SEEDS = (0, 1, 2, 3, 7, 8, 11, 15, 22, 29, 34)  # every joint kind between them, both bases; one body and thirty


def ends(m: lw.Mechanism, q: Array) -> list[tuple[Array, Array]]:
    """Both points of every spring in the world (3,) [m]."""
    X = world_poses(m, joint_poses(m, q))
    return [(X[s.at.body].point(s.at.pose.p), X[s.to.body].point(s.to.pose.p)) for s in m.springs]


def without_dampers(m: lw.Mechanism) -> lw.Mechanism:
    nothing = {name: np.zeros_like(x) for name, x in m.parameters.items() if name.endswith((".damping", ".friction"))}
    return m.with_parameters(nothing)


@pytest.mark.parametrize("seed", SEEDS)
def test_spring_length_is_the_distance_of_its_ends_and_its_row_gives_the_rate(seed: int) -> None:
    m = tree_with_springs(seed)
    s = state(m, seed)
    found = spring_lengths(m, s.q)
    apart = np.array([np.linalg.norm(b - a) for a, b in ends(m, s.q)])
    assert relative(np.array([one.length for one in found]), apart) < 1e-13
    for k, one in enumerate(found):
        expected = rate(lambda t, k=k: np.asarray(spring_lengths(m, m.integrate(s.q, t * s.v))[k].length))
        assert abs(one.row @ s.v - expected) < 1e-8 * max(1.0, abs(expected))


@pytest.mark.parametrize("mimics", [False, True], ids=["independent", "mimics"])
@pytest.mark.parametrize("seed", SEEDS)
def test_spring_energy_rate_equals_the_power_of_spring_forces(seed: int, mimics: bool) -> None:
    m = without_dampers(tree_with_springs(seed, mimics))
    s = state(m, seed)
    energy, forces = (
        for_mimic_joints("spring_energy", spring_energy, ["q"]),
        for_mimic_joints("passive", passive, ["q", "v"]),
    )
    found = rate(lambda t: np.asarray(energy(m, m.integrate(s.q, t * s.v))), 1e-4)  # some joint is near half a turn
    power = np.abs(forces(m, s.q, s.v) * s.v).sum()
    assert abs(found + forces(m, s.q, s.v) @ s.v) < 1e-8 * max(1.0, power)


@pytest.mark.parametrize("seed", SEEDS)
def test_spring_forces_match_wrenches_on_both_bodies(seed: int) -> None:
    """Apply the tension at both points, in the world frame, through the points' Jacobians."""
    m = tree_with_springs(seed)
    s, total = state(m, seed), np.zeros(m.nv)
    for spring, (a, b) in zip(m.springs, ends(m, s.q), strict=True):
        jacobians = []
        for place in (spring.at, spring.to):
            carried = replace(m.frames[m.bodies[place.body].name], pose=place.pose)
            framed = replace(m, frames=m.frames.replaced([carried]))
            J = lw.compile(framed, target="numpy").jacobian(s.q, carried.name, "mixed")
            jacobians.append(J[:3])
        e = (b - a) / np.linalg.norm(b - a)
        speed = e @ (jacobians[1] - jacobians[0]) @ s.v
        tension = spring.stiffness * (np.linalg.norm(b - a) - spring.length) + spring.damping * speed
        total += (jacobians[0] - jacobians[1]).T @ e * tension
    assert relative(frame_spring_forces(m, s.q, s.v), total, scale=1.0) < 1e-11
    assert relative(passive(m, s.q, s.v), passive(tree(seed), s.q, s.v) + total, scale=1.0) < 1e-11


@pytest.mark.parametrize("seed", SEEDS)
def test_dampers_between_points_dissipate_energy(seed: int) -> None:
    m = tree_with_springs(seed)
    s, springless = state(m, seed), {f"{spring.name}.stiffness": 0.0 for spring in m.springs}
    power = frame_damper_power(m, s.q, s.v)
    assert power > 0.0
    assert abs(frame_spring_forces(m.with_parameters(springless), s.q, s.v) @ s.v + power) < 1e-12 * power
    K = frame_spring_matrix(m, s.q, [spring.damping for spring in m.springs])
    assert abs(s.v @ K @ s.v - power) < 1e-12 * power


@pytest.mark.parametrize("seed", SEEDS)
def test_spring_forces_never_branch_on_the_value_of_a_number(seed: int) -> None:
    m = tree_with_springs(seed)
    s = state(m, seed)
    for answer in (
        lambda m, q, v: passive(m, q, v),
        lambda m, q, v: spring_energy(m, q),
        lambda m, q, v: frame_damper_power(m, q, v),
        lambda m, q, v: frame_spring_matrix(m, q, [spring.stiffness for spring in m.springs]),
    ):
        expected = np.asarray(answer(m, s.q, s.v))
        assert relative(from_opaque(answer(m, to_opaque(s.q), to_opaque(s.v))), expected) < 1e-11
        varied = m.with_parameters({f"spring 1.{key}": lift(m.parameters[f"spring 1.{key}"]) for key in KEYS})
        assert relative(from_opaque(answer(varied, s.q, s.v)), expected) < 1e-11


KEYS = ("stiffness", "damping", "length")


@pytest.mark.parametrize("mimics", [False, True], ids=["independent", "mimics"])
def test_spring_kernels_match_numpy_and_take_parameters(mimics: bool) -> None:
    m = tree_with_springs(11, mimics)
    s, names = state(m, 3), [f"spring 1.{key}" for key in KEYS]
    plain, fast = (lw.compile(m, names, target=target) for target in ("numpy", "cpu"))
    given = {name: np.array([0.5, 1.0, 2.0]) * m.parameters[name] for name in names}
    for d in (plain, fast):
        one_by_one = [m.with_parameters({name: x[k] for name, x in given.items()}) for k in range(3)]
        forces = [lw.compile(one, target="numpy").passive(s.q, s.v) for one in one_by_one]
        energies = [lw.compile(one, target="numpy").spring_energy(s.q) for one in one_by_one]
        assert relative(d.passive(s.q, s.v, parameters=given), np.array(forces)) < 1e-12
        assert relative(d.spring_energy(s.q, parameters=given), np.array(energies)) < 1e-12


def test_mechanisms_that_differ_in_a_spring_have_different_kernels() -> None:
    m = tree_with_springs(2)
    s = state(m, 2)
    for change in ({}, {"spring 0.stiffness": 1.0}, {"spring 1.length": 0.0}, {"spring 2.damping": 0.0}):
        changed = m.with_parameters(change)
        assert relative(lw.compile(changed).passive(s.q, s.v), passive(changed, s.q, s.v)) < 1e-12
    fewer = m.with_elements("springs", m.springs[:1])
    assert relative(lw.compile(fewer).passive(s.q, s.v), passive(fewer, s.q, s.v)) < 1e-12


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_spring_with_coincident_ends_has_zero_force(target: str) -> None:
    b = lw.Builder("touching").body("ball", 1.0, inertia=(1, 1, 1)).joint("float", lw.Free(), "world", "ball")
    m = b.spring("coil", "world", "ball", stiffness=10.0, damping=1.0, length=0.5).build()
    d = lw.compile(m, target=target)
    assert d.passive(m.neutral(), np.ones(6)).tolist() == [0.0] * 6
    assert d.spring_energy(m.neutral()) == 0.5 * 10.0 * 0.25
    assert np.isfinite(d.passive(m.integrate(m.neutral(), np.full(6, 1e-9)), np.ones(6))).all()


def test_springs_exert_no_force_on_joints_that_move_both_ends_of_the_spring() -> None:
    b = lw.Builder("chain")
    for k, kind in enumerate((lw.Free(), lw.Ball(), lw.Revolute((0, 1, 0)), lw.Prismatic())):
        b.body(f"b{k}", 1.0, inertia=(1, 1, 1)).joint(
            f"j{k}", kind, f"b{k - 1}" if k else "world", f"b{k}", (0.3, 0, 0)
        )
    m = b.spring("inner", "b3", "b1", (0, 0.1, 0), (0.1, 0, 0), stiffness=5.0).build()
    ((length, row),) = spring_lengths(m, m.random(0))
    assert length > 0.0
    assert row[:9].tolist() == [0.0] * 9
    assert (row[9:] != 0.0).all()
    assert frame_spring_energy(m, m.random(0)) == 2.5 * length**2
