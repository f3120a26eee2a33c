"""Single equations of Nelson and Quinn, each compared with the motion of the whole tree or of one rigid body."""

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms import inverse_dynamics, mass_matrix
from linkwork.algorithms.formulations.limb_dynamics import limb_at
from linkwork.algorithms.formulations.limb_systems import limb_system
from linkwork.algorithms.formulations.limb_velocity_maps import (
    relative_to_absolute,
    true_to_relative,
    with_base_position,
)
from linkwork.algorithms.formulations.single_limb_equations import Limb, applied_forces, true_equations
from linkwork.algorithms.kinematics import joint_poses, world_poses
from linkwork.spatial import Transform
from linkwork.spatial.rotation import matrix_from_rpy
from linkwork.spatial.scalar import Array, hat
from random_mechanisms import random_inertia, relative, revolute_tree, state

FREE = [5, 7, 11, 15]  # trees on free bases


def motion(seed: int) -> tuple[lw.Mechanism, Array, Array, Array]:
    """A tree on a free base, its poses (nbodies, 4, 4) and twists (nbodies, 6), and wrenches on its bodies."""
    m = revolute_tree(seed)
    s, d = state(m, seed), lw.compile(m, target="numpy")
    return m, d.poses(s.q), d.velocities(s.q, s.v), s.wrenches


def limbs_of(m: lw.Mechanism, poses: Array) -> list[tuple[Limb, list[int]]]:
    """All limbs with the indices of their bodies."""
    system = limb_system(m)
    placed = [Transform(np.eye(3), np.zeros(3)), *(Transform(X[:3, :3], X[:3, 3]) for X in poses)]
    return [(limb_at(m, system, path, placed), list(path)) for path in system.paths]


@pytest.mark.parametrize("seed", FREE)
def test_center_of_mass_velocities_and_their_rate_match_kinematics(seed: int) -> None:
    """(2), (7): I_v R' + Phi omega. (8): Phi' by the rates of its rotations, here by a complex step."""
    m, poses, twists, _ = motion(seed)
    for limb, path in limbs_of(m, poses):
        own = [number - 1 for number in path]
        omega = twists[own, 3:].ravel()
        found = limb.I_v @ (limb.C[0] @ twists[own[0], :3]) + limb.Phi @ omega
        expected = [
            C @ (twist[:3] + np.cross(twist[3:], S)) for C, twist, S in zip(limb.C, twists[own], limb.S, strict=True)
        ]
        assert relative(found, np.concatenate(expected)) < 1e-13
        moved = limb._replace(
            C=np.array([C + 1e-30j * C @ hat(w) for C, w in zip(limb.C, twists[own, 3:], strict=True)])
        )
        assert relative(limb.Phi_rate(omega), np.imag(moved.Phi) / 1e-30) < 1e-13


@pytest.mark.parametrize("seed", FREE)
def test_applied_forces_have_the_same_power_in_absolute_and_joint_velocities(seed: int) -> None:
    """(12), (15): absolute moments, relative moments and torques have the power of all wrenches on all bodies."""
    m, poses, twists, wrenches = motion(seed)
    v, D0 = state(m, seed).v, limb_system(m).D0
    for (limb, path), D in zip(limbs_of(m, poses), D0, strict=True):
        own = [number - 1 for number in path]
        absolute = applied_forces(limb, wrenches[own, :3], wrenches[own, 3:])
        base = np.concatenate([limb.C[0] @ twists[own[0], :3], twists[own[0], 3:]])
        power = (wrenches[own] * twists[own]).sum()
        assert absolute @ np.concatenate([base[:3], twists[own, 3:].ravel()]) == pytest.approx(power, rel=1e-11)
        torques = D.T @ with_base_position(relative_to_absolute(limb.C)).T @ absolute
        rate = np.concatenate([base, [v[m.joints[number - 1].v.start] for number in path[1:]]])
        assert torques @ rate == pytest.approx(power, rel=1e-11)


def two_regions(joint: Any, angle: float = 0.0) -> lw.Mechanism:
    """Return Figure 1 of the paper: a region with the base frame and a second region, on `joint` or in one piece."""
    rng = np.random.default_rng(3)
    b = lw.Builder("body", gravity=(1.0, -2.0, -9.0))
    for name in ("one", "two"):
        b.body(name, mass=1.0 + rng.random(), com=rng.normal(size=3) * 0.3, inertia=random_inertia(rng))
    turn = matrix_from_rpy(0.3, -0.8, 0.5)
    if isinstance(joint, lw.Weld):
        turn = turn @ matrix_from_rpy(angle, 0.0, 0.0)
    b.joint("base", lw.Free(), "world", "one").joint("between", joint, "one", "two", at=(0.4, 0.1, -0.2), rotation=turn)
    return b.build()


def test_velocity_of_a_point_is_the_same_from_both_frames_of_a_rigid_body() -> None:
    """(22) equals (25) by the substitutions (23) and (24)."""
    rng = np.random.default_rng(0)
    C_N1, C_12 = (matrix_from_rpy(*rng.uniform(-3, 3, 3)) for _ in range(2))
    C_N2, C_21 = C_N1 @ C_12, C_12.T
    R_rate, omega_1, L_1, p_2 = rng.normal(size=(4, 3))
    omega_2 = C_21 @ omega_1  # (24)
    assert np.allclose(C_N1, C_N2 @ C_21)  # (23)
    assert np.allclose(C_21 @ hat(omega_1) @ C_21.T, hat(C_21 @ omega_1))
    one_piece = R_rate + C_N1 @ hat(omega_1) @ (L_1 + C_12 @ p_2)  # (22)
    assert np.allclose(R_rate + C_N1 @ hat(omega_1) @ L_1 + C_N2 @ hat(omega_2) @ p_2, one_piece, rtol=0, atol=1e-14)
    # `Limb` says the same: a second frame whose region has its centre of mass in p_2
    limb = Limb(np.ones(2), np.array([np.zeros(3), p_2]), L_1[None], np.zeros((2, 3, 3)), np.array([C_N1, C_N2]))
    velocities = limb.I_v @ R_rate + limb.Phi @ np.concatenate([omega_1, omega_2])
    assert np.allclose(velocities[3:], one_piece, rtol=0, atol=1e-14)


@pytest.mark.parametrize("angle", [0.0, 0.9])
def test_a_column_of_the_matrix_d_inserts_a_joint_into_a_rigid_body_of_two_frames(angle: float) -> None:
    """3.1, (26): the same limb of two frames is one rigid body, or two bodies on a joint, by one column of D."""
    rng, jointed, whole = np.random.default_rng(1), two_regions(lw.Revolute((1, 0, 0))), two_regions(lw.Weld(), angle)
    base = whole.random(rng)
    q, v = np.append(base, angle), rng.normal(size=7)
    system, poses = limb_system(jointed), world_poses(jointed, joint_poses(jointed, q))
    limb = limb_at(jointed, system, system.paths[0], poses)
    C_R, C = with_base_position(relative_to_absolute(limb.C)), limb.C[0]
    turn, nothing = np.array([[1.0], [0.0], [0.0]]), np.zeros((3, 0))
    for m, block, own in ((jointed, turn, v), (whole, nothing, v[:6])):
        D = with_base_position(true_to_relative([np.eye(3), block]))
        rate = np.concatenate([C @ own[:3], own[3:]])
        M, h = true_equations(limb, C_R, D, rate, m.gravity)
        T = np.eye(len(own))
        T[:3, :3] = C  # R' = C v, R'' = C (v' + omega x v)
        drift = np.concatenate([C @ np.cross(own[3:6], own[:3]), np.zeros(len(own) - 3)])
        place = q if m is jointed else base
        assert relative(T.T @ M @ T, mass_matrix.mass_matrix(m, place)) < 1e-13
        assert relative(T.T @ (h + M @ drift), inverse_dynamics.bias(m, place, own)) < 1e-12
