"""The cross-check reports agreement of correct formulations and detects a wrong one."""

from dataclasses import replace
from types import ModuleType
from unittest import mock

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.formulations import limb_dynamics, newton_euler, spacedyn
from linkwork.examples import four_bar_ladder
from random_loops import SMALL, label, looped_tree
from random_mechanisms import tree

EXAMPLES = [found.name for found in lw.examples()]


@pytest.mark.parametrize("name", EXAMPLES)
def test_all_formulations_agree_on_every_example(name: str) -> None:
    check = lw.cross_check(lw.example(name), samples=5)
    assert check.worst < 1e-10
    assert {*check.differences, *check.left_out} == set(lw.formulations)
    assert not {*check.differences} & {*check.left_out}


@pytest.mark.parametrize(
    ("module", "function"),
    [(newton_euler, "newton_euler"), (limb_dynamics, "system_equations"), (spacedyn, "equations_of_motion")],
)
def test_cross_check_solves_for_all_constraint_rows_at_once(module: ModuleType, function: str) -> None:
    """The response of a formulation to all constraint rows comes from one factorization, not from a call per row."""
    m = four_bar_ladder.build(3)
    with mock.patch.object(module, function, wraps=getattr(module, function)) as counted:
        assert lw.cross_check(m, samples=1).worst < 1e-11
    assert counted.call_count <= 8 < m.nc


@pytest.mark.parametrize("case", SMALL[::4], ids=label)
def test_accelerations_due_to_added_forces_equal_differences_of_forward_dynamics(
    case: tuple[int, tuple[str, ...], bool],
) -> None:
    m, s = looped_tree(*case)
    tree, rng = m.tree, np.random.default_rng(case[0])
    q, v, wrenches = m.tree_position(s.q), m.tree_velocity(s.v), np.zeros((m.nbodies, 6))
    forces = rng.normal(size=(tree.nv, 2))
    for name, one in lw.formulations.items():
        if not one.applies(m):
            continue
        open_tree = tree.keeping(lambda _: False)
        free = one.forward(open_tree, q, v, np.zeros(tree.nv), wrenches)
        expected = np.array([one.forward(open_tree, q, v, tau, wrenches) - free for tau in forces.T]).T
        assert np.abs(one.added_accelerations(tree, q, forces) - expected).max() < 1e-9 * np.abs(expected).max(), name


def test_cross_check_detects_a_wrong_formulation() -> None:
    wrong = replace(lw.formulations["spacedyn"], forward=lambda m, q, v, tau, w: 1.001 * np.ones(m.nv))
    with mock.patch.dict(lw.formulations, {"spacedyn": wrong}):
        check = lw.cross_check(tree(5), samples=2)
    assert check.worst == check.differences["spacedyn"]["accelerations"] > 1e-3
    assert check.differences["newton-euler"]["accelerations"] < 1e-10


def test_cross_check_is_reproducible_and_prints_a_table() -> None:
    m = lw.example("branched_tree")
    first, second = lw.cross_check(m, samples=3, seed=4), lw.cross_check(m, samples=3, seed=4)
    assert first == second
    assert first != lw.cross_check(m, samples=3, seed=5)
    text = str(first)
    for name in lw.formulations:
        assert name in text
    assert f"worst: {first.worst:.1e}" in text
    assert text.count("reference") == 4  # one source for each quantity


def test_every_formulation_evaluates_batches_of_states() -> None:
    m = tree(8)
    q = np.array([m.random(seed) for seed in range(3)])
    v, tau = np.ones(m.nv), np.zeros(m.nv)
    expected = lw.compile(m, target="numpy").forward_dynamics(q, v, tau)
    for formulation in (one for one in lw.formulations.values() if one.applies(m)):
        found = formulation(m).forward_dynamics(q, v, tau)
        assert np.abs(found - expected).max() < 1e-10 * np.abs(expected).max()
        back = formulation(m).inverse_dynamics(q, v, found)
        assert np.abs(back - tau).max() < 1e-9


def test_cross_check_skips_a_formulation_that_does_not_apply_and_gives_the_reason() -> None:
    m = lw.example("branched_tree")
    check, limbs = lw.cross_check(m, samples=1), lw.formulations["limbs"]
    reason = "limbs are serial chains of revolute joints from the world or from a base on a free joint; "
    reason += "joint 'joint 3' is Ball"
    assert check.left_out == {"limbs": reason}
    assert f"does not apply: {reason}" in str(check)
    assert not limbs.applies(m)
    with pytest.raises(lw.LinkworkError, match=r"limb formulation.*to 'branched_tree': .*'joint 3' is Ball"):
        limbs(m).forward_dynamics(m.neutral(), np.zeros(m.nv), np.zeros(m.nv))
    assert limbs.applies(lw.example("free_flyer"))
