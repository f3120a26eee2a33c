"""Boxes of hinged panels with many redundant loops: one that folds, and a rigid cube."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import linkwork as lw
from linkwork.algorithms.constraints import constrained_dynamics
from linkwork.examples.planar_linkage_formulas import MovingLink, input_force
from linkwork.model.bodies import Place
from linkwork.model.elements.loop import Loop
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array
from random_mechanisms import relative

HALF, PANEL = 0.3, 0.4  # half the box's width, and the height of a panel [m]
SIDE, LID, STIFFNESS = 0.7, 2.0, 30.0  # masses of a side's panel and of the lid [kg], of lower hinges [N m/rad]
INERTIA = (0.01, 0.02, 0.012)  # of panels and lid [kg m^2]
X = (1, 0, 0)


def solve(m: lw.Mechanism) -> lw.Dynamics:
    return lw.compile(m, target="numpy")


def sides() -> list[tuple[Array, Array]]:
    """Outward directions (3,) of four sides, and axes (3, 3) of frames on them: x along the edge, y inward, z up."""
    found = [np.array([np.cos(a), np.sin(a), 0.0]).round() for a in np.arange(4) * np.pi / 2]
    return [(out, np.column_stack([np.cross([0, 0, 1], out), -out, [0, 0, 1]])) for out in found]


# --- a box that folds: Sarrus' linkage with four sides ---


def folding_box(angle: float = 0.6, spring: float = 0.0) -> lw.Mechanism:
    """A fixed bottom, a lid, and four sides of two panels each: nine hinges form a tree, three close loops.

    All twelve hinges are horizontal along edges. The panels lean outward by `angle` [rad] from upright, and the lid
    moves straight up and down. Two sides that are not parallel suffice for that; the other two are redundant.
    """
    b = lw.Builder("folding box")
    (first, R0), *_ = sides()
    start: dict[str, float] = {}
    for k, (out, R) in enumerate(sides()):
        for part in ("lower", "upper"):
            b.body(f"{part} {k}", SIDE, com=(0, 0, PANEL / 2), inertia=INERTIA)
        hinge = {"stiffness": spring, "rest": (0.5,)} if spring else {}
        b.joint(f"floor {k}", lw.Revolute(X), "world", f"lower {k}", at=HALF * out, rotation=R, **hinge)
        b.joint(f"knee {k}", lw.Revolute(X), f"lower {k}", f"upper {k}", at=(0, 0, PANEL))
        start |= {f"floor {k}": angle, f"knee {k}": -2 * angle}
    b.body("lid", LID, com=(0, HALF, 0), inertia=INERTIA)
    b.joint("rim 0", lw.Revolute(X), "upper 0", "lid", at=(0, 0, PANEL))
    for k, (out, R) in enumerate(sides()[1:], 1):
        place = {"to": R0.T @ (HALF * (out - first)), "to_rotation": R0.T @ R}
        b.close(f"rim {k}", lw.Revolute(X), f"upper {k}", "lid", at=(0, 0, PANEL), **place)
    return b.keyframe("start", start | {"rim 0": angle}).build()


def push(angle: float, speed: float, acceleration: float) -> float:
    """Return the torque [N m] on a lower hinge for the panels' angle [rad], speed and acceleration.

    It follows from Eksergian's equation.
    """
    s, c, half = np.sin(angle), np.cos(angle), PANEL / 2
    links = [MovingLink(LID, 0.0, np.array([0, -4 * half * s, 0]), np.array([0, -4 * half * c, 0]))]
    for up in (1, 3):  # halves of panels at which centres are; x is outward and y upward
        panel = MovingLink(SIDE, INERTIA[0], half * np.array([c, -up * s, 1 / half]), half * np.array([-s, -up * c, 0]))
        links += [panel] * 4
    return input_force(links, speed, acceleration, 9.81)


def slopes(m: lw.Mechanism) -> Array:
    """The derivative (9,) of the coordinates by the panels' angle."""
    found = np.zeros(m.nv)
    for j in m.joints:
        found[j.v] = -2.0 if j.name.startswith("knee") else 1.0
    return found


@pytest.mark.parametrize("angle", [0.1, 0.6, 1.1])
def test_folding_box_has_one_degree_of_freedom_and_redundant_loops(angle: float) -> None:
    m = folding_box(angle)
    d, q = solve(m), m.keyframes["start"].q
    assert np.abs(d.constraint(q)).max() < 1e-15
    check = m.check_loops(q)
    assert (m.nv, m.nc, check.mobility, check.rank) == (9, 15, 1, 8)
    assert check.redundant == {"rim 1": 1, "rim 2": 3, "rim 3": 3}
    assert relative(check.free[0] / check.free[0][0], slopes(m)) < 1e-12
    lid = d.pose(q, "lid") @ [0.0, HALF, 0.0, 1.0]
    assert relative(lid[:3], np.array([0.0, 0.0, 2 * PANEL * np.cos(angle)])) < 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_folding_box_matches_eksergians_equation_with_least_norm_reactions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    angle, speed, acceleration = rng.uniform(0.1, 1.1), rng.normal() * 3, rng.normal() * 10
    m = folding_box(angle)
    d, q, v = solve(m), m.keyframes["start"].q, speed * slopes(m)
    tau = np.zeros(m.nv)
    tau[m.joints["floor 2"].v] = push(angle, speed, acceleration)
    found = constrained_dynamics.forward_dynamics(m, q, v, tau)
    assert relative(found.a, acceleration * slopes(m)) < 1e-9
    J = d.constraint_jacobian(q)
    least = np.linalg.pinv(J.T, rcond=1e-10) @ (d.inverse_dynamics(q, v, found.a) - tau)
    assert relative(found.multipliers, least) < 1e-6
    assert relative(lw.formulations["newton-euler"](m).forward_dynamics(q, v, tau), found.a) < 1e-8


@pytest.mark.slow
def test_folding_box_stays_closed_in_a_long_simulation() -> None:
    m = folding_box(0.3, STIFFNESS)
    run = lw.simulate(m, duration=2.0, dt=1e-3, method="rk4", every=50)
    d = solve(m)
    angles = run.q[:, m.joints["floor 0"].q][:, 0]
    assert np.ptp(angles) > 0.3
    assert 0.0 < angles.min() < angles.max() < 1.5
    assert np.abs(d.constraint(run.q)).max() < 1e-12
    assert relative(run.q, np.outer(angles, slopes(m))) < 1e-10
    assert np.ptp(run.energy) < 1e-7 * np.ptp(run["energy.kinetic"])
    assert run.report().passed

    def alone(_: float, state: Array) -> list[float]:
        """Eksergian's equation of the one freedom under the springs."""
        angle, speed = state
        rest = push(angle, speed, 0.0)
        return [speed, (4 * STIFFNESS * (0.5 - angle) - rest) / (push(angle, speed, 1.0) - rest)]

    expected = solve_ivp(alone, (0.0, 2.0), [0.3, 0.0], "DOP853", rtol=1e-11, atol=1e-12).y[0, -1]
    assert abs(angles[-1] - expected) < 1e-8


# --- a cube that nothing moves ---


def cube() -> lw.Mechanism:
    """Six square panels, hinged along all twelve edges: five hinges form a tree, seven close loops."""
    b = lw.Builder("cube").body("bottom", 1.0, inertia=(0.1, 0.1, 0.2)).joint("floor", lw.Weld(), "world", "bottom")
    for k, (out, R) in enumerate(sides()):
        b.body(f"side {k}", 1.0, com=(0, 0, 0.5), inertia=(0.1, 0.2, 0.1))
        b.joint(f"edge {k}", lw.Revolute((1, 0, 0)), "bottom", f"side {k}", at=out / 2, rotation=R)
    b.body("top", 1.0, com=(0, 0.5, 0), inertia=(0.1, 0.1, 0.2))
    b.joint("lid", lw.Revolute((1, 0, 0)), "side 0", "top", at=(0, 0, 1))
    for k in range(4):
        # Along z, where the edge of side k is that of the next: x = 1/2 of one is x = -1/2 of the other
        after = f"side {(k + 1) % 4}"
        b.close(f"corner {k}", lw.Revolute((0, 0, 1)), f"side {k}", after, at=(0.5, 0, 0), to=(-0.5, 0, 0))
    return b.build()


def with_lid(m: lw.Mechanism) -> lw.Mechanism:
    """The cube with the three other edges of its lid closed at their neutral positions."""
    d, loops = solve(m), list(m.loops)
    top = d.pose(m.neutral(), "top")
    for k in (1, 2, 3):
        here = d.pose(m.neutral(), f"side {k}") @ Transform(np.eye(3), np.array([0.0, 0.0, 1.0])).matrix
        offset = np.linalg.inv(top) @ here
        to = Place.stated(Transform(offset[:3, :3], offset[:3, 3])).on(m.bodies.index_of("top"), Transform.identity())
        at = Place.stated(Transform(np.eye(3), np.array([0.0, 0.0, 1.0])))
        at = at.on(m.bodies.index_of(f"side {k}"), Transform.identity())
        loops.append(Loop(f"rim {k}", lw.Revolute((1, 0, 0)), f"side {k}", "top", at, to))
    return m.with_elements("loops", loops)


def test_hinged_cube_is_rigid_with_least_norm_reactions() -> None:
    m = with_lid(cube())
    d, rng = solve(m), np.random.default_rng(0)
    q, still = m.neutral(), np.zeros(m.nv)
    assert np.abs(d.constraint(q)).max() < 1e-15
    check = m.check_loops(q)
    assert (m.nv, m.nc, check.mobility, check.rank) == (5, 35, 0, 5)
    assert sum(check.redundant.values()) == 30
    tau, wrenches = rng.normal(size=5) * 10, rng.normal(size=(m.nbodies, 6)) * 10
    assert np.abs(d.forward_dynamics(q, still, tau, wrenches)).max() < 1e-8
    found = constrained_dynamics.forward_dynamics(m, q, still, tau, wrenches)
    J = d.constraint_jacobian(q)
    push = tau - d.inverse_dynamics(q, still, still, wrenches)
    least = -np.linalg.pinv(J.T) @ push  # of all multipliers with J^T lambda = -push, the smallest
    assert relative(found.multipliers, least) < 1e-6
    rest = lw.formulations["newton-euler"](m).forward_dynamics(q, still, tau, wrenches)
    assert np.abs(rest).max() < 1e-8
