"""Loops of every kind between any two bodies: Jacobians, accelerations and reactions satisfy mechanics identities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.constraints import constrained_dynamics
from linkwork.algorithms.mimic_reduction import project_state, to_tree
from linkwork.model.bodies import Place
from linkwork.model.elements.loop import Loop
from linkwork.spatial import Force, Transform
from linkwork.spatial.scalar import Array
from quick_test_selection import mark_slow_except
from random_loops import CASES, CLOSING_KINDS, SMALL, label, looped_tree, with_loops
from random_mechanisms import State, relative, state, tree
from random_spatial_quantities import rate
from scalars_of_unknown_value import from_opaque, to_opaque

Case = tuple[int, tuple[str, ...], bool]
EVERY_KIND = CASES[:10]
MESHES = CASES[34:36]
every_case = pytest.mark.parametrize(
    "case", mark_slow_except(CASES, EVERY_KIND + CASES[20::2] + MESHES, label)
)  # larger trees wait


def solve(case: Case) -> tuple[lw.Mechanism, State, lw.Dynamics]:
    m, s = looped_tree(*case)
    return m, s, lw.compile(m, target="numpy")


def second_rate(m: lw.Mechanism, s: State, a: Array) -> Array:
    """Return the second time derivatives J a + gamma (nc,) of the loop closure errors, from the rows of the tree."""
    q, v, joints = to_tree(m, ("q", "v", "a"), (s.q, s.v, a))
    J, gamma = constrained_dynamics.rows_and_bias(m.tree, q, v)
    return J @ joints + gamma


def free_directions(J: Array) -> Array:
    """An orthonormal basis (nv, mobility) of the velocities with J v = 0."""
    _, sizes, directions = np.linalg.svd(J, full_matrices=True)
    return directions[(sizes > 1e-9 * sizes.max()).sum() :].T


def test_random_loops_cover_every_kind_of_loop() -> None:
    assert {kind for _, kinds, _ in SMALL for kind in kinds} == set(CLOSING_KINDS)
    for mimics in (False, True):
        assert {kind for _, kinds, with_mimics in CASES for kind in kinds if with_mimics == mimics} == set(
            CLOSING_KINDS
        )
    ends = {name for case in CASES for loop in looped_tree(*case)[0].loops for name in (loop.a, loop.b)}
    welded = {part.name for case in CASES for body in looped_tree(*case)[0].bodies for part in body.parts[1:]}
    assert "world" in ends
    assert ends & welded


# --- rows ---


@every_case
def test_constraint_jacobian_is_the_derivative_of_the_constraint_error(case: Case) -> None:
    """At closed and at open loops."""
    m, s, d = solve(case)
    for q in (s.q, m.integrate(s.q, 0.05 * s.a)):
        found = d.constraint_jacobian(q) @ s.a
        expected = rate(lambda t, q=q: d.constraint(m.integrate(q, t * s.a)))
        assert relative(found, expected, scale=1.0) < 1e-8


@every_case
def test_bias_of_loop_constraints_is_the_derivative_of_their_velocity_at_zero_acceleration(case: Case) -> None:
    m, s, d = solve(case)
    for q in (s.q, m.integrate(s.q, 0.05 * s.a)):
        found = second_rate(m, s._replace(q=q, v=s.a), np.zeros(m.nv))
        expected = rate(lambda t, q=q: d.constraint_jacobian(m.integrate(q, t * s.a)) @ s.a)
        assert relative(found, expected, scale=1.0) < 1e-7


@every_case
def test_random_closed_loops_have_zero_position_and_velocity_error(case: Case) -> None:
    _, s, d = solve(case)
    assert np.abs(d.constraint(s.q)).max() < 1e-14
    assert np.abs(d.constraint_jacobian(s.q) @ s.v).max() < 1e-12


# --- accelerations ---


@every_case
def test_accelerations_satisfy_the_second_derivative_of_the_loop_constraints(case: Case) -> None:
    m, s, d = solve(case)
    a = d.forward_dynamics(s.q, s.v, s.tau, s.wrenches)
    assert np.abs(second_rate(m, s, a)).max() < 1e-10 * max(1.0, np.abs(a).max())


@every_case
def test_accelerations_of_closed_loops_match_those_in_minimal_coordinates(case: Case) -> None:
    """Tree equations projected onto the free directions, which removes the reactions."""
    m, s, d = solve(case)
    J = d.constraint_jacobian(s.q)
    Z, gamma = free_directions(J), second_rate(m, s, np.zeros(m.nv))
    assert Z.shape[1] == m.nv - m.nc
    particular = -np.linalg.pinv(J) @ gamma
    rest = d.inverse_dynamics(s.q, s.v, particular, s.wrenches)
    expected = particular + Z @ np.linalg.solve(Z.T @ d.mass_matrix(s.q) @ Z, Z.T @ (s.tau - rest))
    assert relative(d.forward_dynamics(s.q, s.v, s.tau, s.wrenches), expected) < 1e-10


@pytest.mark.parametrize("case", mark_slow_except(CASES, EVERY_KIND + CASES[20:35:2], label))
def test_all_formulations_agree_on_closed_loops(case: Case) -> None:
    m, s, d = solve(case)
    a = d.forward_dynamics(s.q, s.v, s.tau, s.wrenches)
    through = d.reactions(s.q, s.v, s.tau, s.wrenches)
    for formulation in (one for one in lw.formulations.values() if one.applies(m)):
        assert relative(formulation.forward(m, s.q, s.v, s.tau, s.wrenches), a) < 1e-10, formulation.name
        if formulation.reactions:
            found = formulation.reactions(m, s.q, s.v, s.tau, s.wrenches)
            assert relative(found, through) < 1e-10, formulation.name


@pytest.mark.parametrize("case", mark_slow_except(CASES[::4], CASES[:8], label))
def test_cross_check_reports_agreement_on_closed_loops(case: Case) -> None:
    m, _, _ = solve(case)
    table = lw.cross_check(m, samples=3)
    assert table.worst < 1e-10, table


@pytest.mark.parametrize("case", EVERY_KIND + MESHES, ids=label)
def test_acceleration_derivatives_with_loops_match_finite_differences(case: Case) -> None:
    m, s, d = solve(case)
    by_q, by_v, by_tau = d.forward_dynamics_derivatives(s.q, s.v, s.tau)
    rng = np.random.default_rng(0)
    dq, dv, dtau = rng.normal(size=(3, m.nv))
    found = by_q @ dq + by_v @ dv + by_tau @ dtau
    along = rate(lambda t: d.forward_dynamics(m.integrate(s.q, t * dq), s.v + t * dv, s.tau + t * dtau))
    assert relative(found, along) < 1e-6


# --- reactions ---


def power(m: lw.Mechanism, d: lw.Dynamics, q: Array, v: Array, wrenches: Array) -> float:
    """Power [W] of wrenches (nbodies, 6) on all bodies at the velocity v."""
    return float((d.velocities(q, v) * wrenches).sum())


def on_bodies(m: lw.Mechanism, d: lw.Dynamics, q: Array, through: Array, loops: list[Loop]) -> Array:
    """Return the wrenches (nbodies, 6) of these loops on their bodies, from the rows of `reactions`.

    They are shifted by hand from the frame of part b to that of part a, and from each part's frame to its body's.
    """
    total = np.zeros((len(m.bodies), 6))
    home = {part.name: (body.index, part.pose) for body in m.bodies for part in body.parts}
    home["world"] = (0, Transform.identity())
    for loop, wrench in zip(loops, through, strict=True):
        b = Force.of(wrench)
        B_in_A = np.linalg.inv(d.pose(q, loop.a)) @ d.pose(q, loop.b)
        opposite = Force(-(B_in_A[:3, :3] @ b.linear), -(B_in_A[:3, :3] @ b.angular))
        opposite = Force(opposite.linear, opposite.angular + np.cross(B_in_A[:3, 3], opposite.linear))
        for (body, pose), F in ((home[loop.b], b), (home[loop.a], opposite)):
            linear = pose.R @ F.linear
            total[body] += [*linear, *(pose.R @ F.angular + np.cross(pose.p, linear))]
    return total[1:]


@every_case
def test_loop_reactions_do_no_virtual_work(case: Case) -> None:
    m, s, d = solve(case)
    through = d.reactions(s.q, s.v, s.tau, s.wrenches)[len(m.joints) :]
    assert np.abs(through).max() > 1e-3  # they do hold something
    wrenches = on_bodies(m, d, s.q, through, list(m.loops))
    Z = free_directions(d.constraint_jacobian(s.q))
    for direction in (Z @ np.random.default_rng(0).normal(size=(Z.shape[1], 5))).T:
        twists = np.abs(d.velocities(s.q, direction)).max()
        assert abs(power(m, d, s.q, direction, wrenches)) < 1e-10 * max(1.0, np.abs(wrenches).max() * twists)


@every_case
def test_loop_replaced_by_its_reaction_gives_the_same_acceleration(case: Case) -> None:
    """Each loop alone, then all loops."""
    m, s, d = solve(case)
    a = d.forward_dynamics(s.q, s.v, s.tau, s.wrenches)
    through = d.reactions(s.q, s.v, s.tau, s.wrenches)[len(m.joints) :]
    every = set(range(len(m.loops)))
    for removed in ({0}, every):
        stay = [loop for k, loop in enumerate(m.loops) if k not in removed]
        gone = [loop for k, loop in enumerate(m.loops) if k in removed]
        fewer = lw.compile(m.with_elements("loops", stay), target="numpy")
        pushed = s.wrenches + on_bodies(m, d, s.q, through[sorted(removed)], gone)
        assert relative(fewer.forward_dynamics(s.q, s.v, s.tau, pushed), a) < 1e-10


@pytest.mark.parametrize("seed", mark_slow_except(range(8, 17), range(8, 12)))
def test_loop_parallel_to_an_equal_joint_has_zero_reaction(seed: int) -> None:
    """The tree already satisfies the constraint, so the constraint rows and the reactions are zero."""
    m, s = tree(seed), state(tree(seed), seed)
    free = lw.compile(m, target="numpy").forward_dynamics(s.q, s.v, s.tau)
    for joint in m.joints:
        if joint.kind.closing:
            d = lw.compile(repeated(m, joint.name), target="numpy")
            assert np.abs(d.constraint(s.q)).max() < 1e-13
            assert relative(d.forward_dynamics(s.q, s.v, s.tau), free) < 1e-12
            assert np.abs(d.reactions(s.q, s.v, s.tau)[-1]).max() < 1e-12
            assert relative(d.consistent(s.q, s.v), s.v) < 1e-14
            assert d.mechanism.check_loops(s.q).redundant == {"copy": d.mechanism.nc}


def repeated(m: lw.Mechanism, name: str) -> lw.Mechanism:
    """The mechanism with one more loop that duplicates one of its joints."""
    joint, here = m.joints[name], Transform.identity()
    at, to = Place.stated(joint.place).on(joint.i, here), Place.stated(here).on(joint.o, here)
    copy = Loop("copy", joint.kind, m.bodies[joint.i].name, m.bodies[joint.o].name, at, to)
    return m.with_elements("loops", [*m.loops, copy])


@pytest.mark.parametrize("case", CASES[::3], ids=label)
def test_two_equal_loops_share_the_reaction_equally(case: Case) -> None:
    """The motion is that without the copy; least-norm reactions are equal halves."""
    m, s, d = solve(case)
    twice = m.with_elements("loops", [*m.loops, *(replace(one, name=f"{one.name} again") for one in m.loops)])
    e = lw.compile(twice, target="numpy")
    expected = d.forward_dynamics(s.q, s.v, s.tau, s.wrenches)
    assert relative(e.forward_dynamics(s.q, s.v, s.tau, s.wrenches), expected) < 1e-9
    one, two = (x.reactions(s.q, s.v, s.tau, s.wrenches)[len(m.joints) :] for x in (d, e))
    assert relative(two, np.concatenate([one, one]) / 2) < 1e-7
    assert e.mechanism.check_loops(s.q).redundant == {f"{loop.name} again": len(loop.kind.closing) for loop in m.loops}
    assert e.mechanism.check_loops(s.q).mobility == m.nv - m.nc


# --- closing again ---


@every_case
def test_velocity_projection_onto_loops_is_minimal_in_the_kinetic_energy_norm(case: Case) -> None:
    """Corrections are along M^-1 J^T: they have no component in free directions, in the kinetic energy metric."""
    m, s, d = solve(case)
    q, v = m.integrate(s.q, 1e-6 * s.a), s.v + 1e-3 * s.a
    assert np.abs(d.constraint(q)).max() > 1e-8
    closed_q, closed_v, error, _ = project_state(m, q, v)
    assert abs(np.abs(d.constraint(closed_q)).max() - error) < 1e-15
    assert error < 1e-12
    J, M = d.constraint_jacobian(closed_q), d.mass_matrix(closed_q)
    assert np.abs(J @ closed_v).max() < 1e-11
    Z = free_directions(J)
    moved, pushed = m.difference(q, closed_q), closed_v - v
    assert np.abs(Z.T @ M @ moved).max() < 1e-3 * np.abs(M @ moved).max()
    assert np.abs(Z.T @ M @ pushed).max() < 1e-10 * np.abs(M @ pushed).max()
    assert relative(closed_v, d.consistent(closed_q, v)) < 1e-12


@every_case
def test_assembled_positions_satisfy_the_loops(case: Case) -> None:
    m, s, d = solve(case)
    q = d.assemble(m.integrate(s.q, 0.03 * s.a))
    assert np.abs(d.constraint(q)).max() < 1e-12
    J = d.constraint_jacobian(s.q)
    without = {joint.name: np.delete(J, joint.v, axis=1) for joint in m.leaders}
    held = max(without, key=lambda name: np.linalg.svd(without[name], compute_uv=False).min())  # hinders least
    start = m.integrate(s.q, 0.001 * s.a)
    found = d.assemble(start, fixed=held)
    assert np.abs(d.constraint(found)).max() < 1e-12
    assert relative(found[m.joints[held].q], start[m.joints[held].q]) < 1e-15


# --- numbers of any kind ---

ANSWERS = {
    "forward_dynamics": ("q", "v", "tau", "wrenches"),
    "reactions": ("q", "v", "tau", "wrenches"),
    "consistent": ("q", "a"),
    "constraint": ("q",),
    "constraint_jacobian": ("q",),
}


@pytest.mark.parametrize("case", mark_slow_except(SMALL, [*SMALL[:8], *SMALL[9:14:2]], label))
def test_closed_loop_dynamics_never_branch_on_the_value_of_a_number(case: Case) -> None:
    _, s, d = solve(case)
    for answer, names in ANSWERS.items():
        state = [getattr(s, name) for name in names]
        expected = getattr(d, answer)(*state)
        found = from_opaque(getattr(d, answer)(*(to_opaque(x) for x in state)))
        assert relative(found, expected, scale=1e-3) < 1e-11, answer


@pytest.mark.parametrize(
    "case", mark_slow_except([*CASES[:5:2], CASES[22], *CASES[33:36]], [CASES[0], CASES[34]], label)
)
def test_closed_loop_kernels_match_numpy(case: Case) -> None:
    m, s, d = solve(case)
    fast = lw.compile(m)
    for answer, names in ANSWERS.items():
        state = [getattr(s, name) for name in names]
        assert relative(getattr(fast, answer)(*state), getattr(d, answer)(*state), scale=1e-3) < 1e-11, answer


def test_mechanisms_that_differ_in_a_loop_have_different_kernels() -> None:
    m, s, _ = solve(CASES[33])
    for loops in (list(m.loops), list(m.loops)[:1], [replace(m.loops[0], kind=lw.Ball())], []):
        changed = m.with_elements("loops", loops)
        expected = lw.compile(changed, target="numpy").forward_dynamics(s.q, s.v, s.tau)
        assert relative(lw.compile(changed).forward_dynamics(s.q, s.v, s.tau), expected) < 1e-11


def test_closed_loop_dynamics_with_changed_parameters_equal_those_of_a_new_mechanism() -> None:
    m, s, _ = solve(CASES[0])
    name = f"{m.bodies[1].name}.mass"
    varied = lw.compile(m, [name], target="numpy")
    masses = np.array([1.0, 2.0, 3.0])
    found = varied.forward_dynamics(s.q, s.v, s.tau, parameters={name: masses})
    for mass, a in zip(masses, found, strict=True):
        changed = lw.compile(m.with_parameters({name: mass}), target="numpy")
        assert relative(a, changed.forward_dynamics(s.q, s.v, s.tau)) < 1e-13
    assert np.abs(found[0] - found[2]).max() > 1e-3


def test_mechanism_without_loops_has_no_constraints() -> None:
    s, d = state(tree(8), 8), lw.compile(tree(8), target="numpy")
    assert (d.consistent(s.q, s.v) == s.v).all()
    assert (d.assemble(s.q) == s.q).all()
    assert d.constraint(s.q).shape == (0,)
    assert d.mechanism.check_loops(s.q).mobility == tree(8).nv


def test_nearly_duplicate_loops_keep_accelerations_bounded() -> None:
    """Two rods almost in one place: the acceleration stays that of one rod at any distance between them."""
    m, s = tree(8), state(tree(8), 8)
    one = with_loops(m, s.q, ("rod",), np.random.default_rng(3))
    still = lw.compile(one, target="numpy").forward_dynamics(s.q, 0.0 * s.v, s.tau)
    loop = one.loops[0]
    for gap in 10.0 ** -np.arange(4.0, 17.0):
        moved = Place(loop.at.offset, loop.at.body, Transform(loop.at.pose.R, loop.at.pose.p + gap))
        two = one.with_elements("loops", [loop, replace(loop, name="other", at=moved)])
        a = lw.compile(two, target="numpy").forward_dynamics(s.q, 0.0 * s.v, s.tau)
        assert np.isfinite(a).all()
        assert np.abs(a).max() < 10.0 * np.abs(still).max()
        if gap < 1e-8:
            assert relative(a, still) < 1e-6
