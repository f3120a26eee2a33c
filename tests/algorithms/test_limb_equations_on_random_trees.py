"""Random trees with locked, coupled and cable-driven joints by D and C^R match constraint multipliers.

Constraint rows come from Jacobians of the whole tree, not from the limb equations.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms import inverse_dynamics, mass_matrix
from linkwork.algorithms.formulations.limb_dynamics import accelerations, system_equations
from linkwork.algorithms.formulations.limb_systems import limb_system
from linkwork.algorithms.jacobians import jacobian
from linkwork.algorithms.kinematics import joint_poses, world_poses
from linkwork.spatial.rotation import matrix_from_rpy
from linkwork.spatial.scalar import Array
from random_mechanisms import random_inertia, relative, state

QUICK = 12
SEEDS = [*range(QUICK), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(QUICK, 200))]


class RandomMode(NamedTuple):
    """A mechanism with a random mode of locked, coupled and driven joints, given as arguments of `limb_system`."""

    mechanism: lw.Mechanism
    mode: dict[str, Any]


def random_mode(seed: int) -> RandomMode:
    """A tree of 4 to 12 revolute joints, many parallel to their parent's, fixed or on a free base, in a random mode."""
    rng = np.random.default_rng([seed, 21])
    b = lw.Builder(f"random {seed}", gravity=rng.normal(size=3) * 9.81)
    free, axes, inboard = seed % 2, {}, {}
    names = ["base"] if free else []
    if free:
        b.body("base", mass=2.0, com=rng.normal(size=3) * 0.1, inertia=random_inertia(rng))
        b.joint("base", lw.Free(), "world", "base")
    for k in range(4 + seed % 9):
        name, turn = f"link {k}", matrix_from_rpy(*rng.uniform(-3, 3, size=3))
        parent = names[-1] if names and rng.random() < 0.6 else str(rng.choice(names or ["world"]))
        parallel = parent in axes and rng.random() < 0.7
        axes[name] = turn.T @ axes[parent] * rng.choice([-1.0, 1.0]) if parallel else np.eye(3)[rng.integers(3)]
        inboard[name] = [*(inboard[parent] if parallel else []), parent]  # bodies past which its cables can run
        b.body(name, mass=1.0, com=rng.normal(size=3) * 0.2, inertia=random_inertia(rng))
        b.joint(name, lw.Revolute(axes[name]), parent, name, rng.normal(size=3) * 0.4, rotation=turn,
                armature=float(rng.uniform(0.0, 0.2)))  # fmt: skip
        names.append(name)
    links = names[free:]
    measured = {name: str(rng.choice(inboard[name])) for name in links if rng.random() < 0.5}
    rng.shuffle(links)
    locked, motors = links[: rng.integers(0, 3)], {}
    left = links[len(locked) :]
    while len(left) > 1 and rng.random() < 0.7:
        count = int(rng.integers(2, min(4, len(left)) + 1))
        motors[f"motor {len(motors)}"] = {
            name: float(rng.choice([-1, 1]) * rng.uniform(0.3, 3)) for name in left[:count]
        }
        left = left[count:]
    return RandomMode(b.build(), {"couplings": motors, "locked": locked, "measured_from": measured})


def constraint_rows(m: lw.Mechanism, q: Array, mode: Mapping[str, Any]) -> Array:
    """Constraint rows on v (constraints, nv): rotation about each joint axis, relative to the reference body."""
    poses = world_poses(m, joint_poses(m, q))

    def turn(name: str) -> Array:
        joint = m.joints[name]
        axis = poses[joint.o].R @ joint.kind.subspace(np.zeros(1)).angular[:, 0]
        from_body = mode["measured_from"].get(name, m.bodies[joint.i].name)
        inner = np.zeros(m.nv) if from_body == "world" else axis @ jacobian(m, q, from_body, "mixed")[3:]
        return axis @ jacobian(m, q, m.bodies[joint.o].name, "mixed")[3:] - inner

    found = [turn(name) for name in mode["locked"]]
    for ratios in mode["couplings"].values():
        (first, ratio), *others = ratios.items()
        found += [turn(name) * ratio - turn(first) * other for name, other in others]
    return np.array(found).reshape(-1, m.nv)


@pytest.mark.parametrize("seed", SEEDS)
def test_limb_accelerations_and_mass_matrix_match_lagrange_multipliers(seed: int) -> None:
    m, mode = random_mode(seed)
    s, system = state(m, seed), limb_system(m, **mode)
    A, P = constraint_rows(m, s.q, mode), system.velocity_map
    assert P.shape == (m.nv, m.nv - len(A))
    assert np.abs(A @ P).max(initial=0.0) < 1e-13
    rate = np.random.default_rng(seed).normal(size=P.shape[1])
    M, h = (
        mass_matrix.mass_matrix(m, s.q),
        inverse_dynamics.inverse_dynamics(m, s.q, P @ rate, np.zeros(m.nv), s.wrenches).tau,
    )
    saddle = np.block([[M, A.T], [A, np.zeros((len(A), len(A)))]])
    expected = np.linalg.solve(saddle, np.concatenate([s.tau - h, np.zeros(len(A))]))
    assert relative(P @ accelerations(m, system, s.q, rate, s.tau, s.wrenches), expected[: m.nv]) < 1e-10
    found = system_equations(m, system, s.q, rate, s.wrenches)
    assert relative(found.M, P.T @ M @ P) < 1e-12
    assert relative(found.h, P.T @ h) < 1e-11


def test_random_locks_couplings_and_cables_cover_all_constraint_kinds() -> None:
    """Both bases, locks, couplings, cables past one joint and past several, and all of them in one mechanism."""
    modes = [random_mode(seed).mode for seed in range(QUICK)]
    assert all(any(mode[what] for mode in modes) for what in ("couplings", "locked", "measured_from"))
    assert any(all(mode[what] for what in ("couplings", "locked", "measured_from")) for mode in modes)
    past = []
    for seed in range(QUICK):
        m, mode = random_mode(seed)
        for name, body in mode["measured_from"].items():
            joint, count = m.joints[name], 0
            while m.bodies[joint.i].name != body:
                joint, count = m.joints[joint.i - 1], count + 1
            past.append(count)
    assert {0, 1, 2} <= set(past)
