"""Ranks of constraint rows do not depend on round-off.

Each linkage is rotated and moved as a whole. This changes only round-off, as another processor does.
"""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.constraint_ranks import least_squares, row_scales
from linkwork.algorithms.constraints import constrained_dynamics
from linkwork.spatial.scalar import Array
from randomly_placed_linkages import EVERYWHERE, arm, chain, four_bar, moved, slider_crank, slider_crank_coordinates

# --- mobility ---


@EVERYWHERE
def test_constraint_of_a_rod_along_a_stretched_arm_has_rank_zero(seed: int, far: float) -> None:
    m = arm(seed, far)
    for swing in (0.0, 0.4, -2.0):
        check = m.check_loops([swing, 0.0])
        assert (check.mobility, check.rank, check.redundant) == (2, 0, {"rod": 1})
        assert np.abs(np.abs(check.singular) - [[0.0, 1.0]]).max() < 1e-6
        assert not lw.compile(m, target="numpy").constraint_jacobian([swing, 0.0]).any()  # zero to the bit


@EVERYWHERE
def test_flat_parallelogram_has_mobility_two_and_one_elsewhere(seed: int, far: float) -> None:
    m = four_bar(seed, far)
    flat = m.check_loops([0.0, 0.0, np.pi])
    assert (flat.mobility, flat.rank, flat.redundant, len(flat.singular)) == (2, 1, {"end": 4}, 2)
    for turn in (0.05, 0.7, 2.0):
        check = m.check_loops([turn, -turn, turn + np.pi])
        assert (check.mobility, check.rank, check.redundant, len(check.singular)) == (1, 2, {"end": 3}, 0)


@EVERYWHERE
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_four_bars_and_slider_cranks_of_all_sizes_have_mobility_one(seed: int, far: float, size: float) -> None:
    far = far * size
    bars, slider = four_bar(seed, far, size), slider_crank(seed, far, size)
    for check in (bars.check_loops([0.7, -0.7, 0.7 + np.pi]), slider.check_loops(slider_crank_coordinates(0.7, size))):
        assert (check.mobility, check.rank, len(check.singular)) == (1, 2, 0)
        assert sum(check.redundant.values()) == 3


@EVERYWHERE
def test_loop_parallel_to_an_equal_joint_is_redundant(seed: int, far: float) -> None:
    s = chain((seed, far), 0.4, 0.3)
    s.pin("again", "link 0", at=(0, 0, 0), to=(0, 0, 0))
    m = s.b.build()
    for q in ([0.0, 0.0], [0.3, -0.8]):
        check = m.check_loops(q)
        assert (check.mobility, check.rank, check.redundant, len(check.singular)) == (2, 0, {"again": 5}, 0)
        assert m.independent(q).joints == ["link 0", "link 1"]


@EVERYWHERE
def test_round_off_in_constraint_rows_does_not_change_their_rank(
    seed: int, far: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Perturb the entries by the round-off that another order of summation would give."""
    exact, rng = constrained_dynamics.rows_and_terms, np.random.default_rng([seed, 1])

    def noisy(*given: object) -> tuple[Array, Array]:
        J, squares = exact(*given)  # type: ignore[arg-type]
        return J + 1e-15 * rng.choice([-1.0, 1.0], J.shape) * np.sqrt(squares), squares

    monkeypatch.setattr(constrained_dynamics, "rows_and_terms", noisy)
    for m, q, mobility, redundant, singular in (
        (arm(seed, far), [0.4, 0.0], 2, {"rod": 1}, 1),
        (four_bar(seed, far), [0.0, 0.0, np.pi], 2, {"end": 4}, 2),
        (four_bar(seed, far), [0.3, -0.3, 0.3 + np.pi], 1, {"end": 3}, 0),
        (slider_crank(seed, far), slider_crank_coordinates(0.7), 1, {"pin": 3}, 0),
    ):
        check = m.check_loops(q)
        assert (check.mobility, check.redundant, len(check.singular)) == (mobility, redundant, singular)


@EVERYWHERE
def test_loop_closed_by_mimic_joints_is_redundant(seed: int, far: float) -> None:
    """Its rows are not zero for the tree joints, but cancel when these move as mimics of each other."""
    s = chain((seed, far), 0.2, 0.5, 0.2)
    s.pin("end", "link 2", at=(0.5, 0, 0), to=(0.9, 0, 0))
    s.b.mimic("link 1", "link 0", -1.0).mimic("link 2", "link 0", 1.0, np.pi)
    m = s.b.build()
    for turn in (0.0, 0.3, 1.7):
        check = m.check_loops([turn])
        assert (check.mobility, check.rank, check.redundant, len(check.singular)) == (1, 0, {"end": 5}, 0)


@pytest.mark.parametrize("name", [e.name for e in lw.examples() if e.build().constrained])
def test_constraint_ranks_of_examples_do_not_depend_on_their_place_in_the_world(name: str) -> None:
    m = lw.example(name)
    q = m.keyframes[0].q if m.keyframes else m.neutral()
    here = m.check_loops(q)
    for seed, far in ((0, 0.0), (1, 1.0), (2, 1e3), (3, 1e5)):
        there = moved(m, seed, far).check_loops(q)
        assert (there.mobility, there.rank, there.redundant) == (here.mobility, here.rank, here.redundant)
        assert there.repeating == here.repeating
        assert np.abs(there.free.T @ there.free - here.free.T @ here.free).max() < 1e-7  # the same directions
        assert there.singular.shape == here.singular.shape


# --- what follows from ranks ---


@EVERYWHERE
def test_actuating_an_immobile_joint_is_rejected(seed: int, far: float) -> None:
    """Its share of the free motion is round-off; dividing by it gives no valid force."""
    s = chain((seed, far), 0.2, 0.5, 0.1, 0.3)
    s.pin("end", "link 3", at=(0.4, 0, 0), to=(1.1, 0, 0))
    s.b.brake("lock", "link 2", engaged=True)
    d = lw.compile(s.b.build(), target="numpy")
    q = d.assemble([0.7, 0.4, 0.3, 2.0], fixed=["link 2"])
    check = d.mechanism.check_loops(q)
    assert check.mobility == 1
    with pytest.raises(lw.LinkworkError, match="actuating link 2 cannot produce this motion"):
        d.actuation(q, np.zeros(4), check.free[0], actuated=["link 2"])


@EVERYWHERE
@pytest.mark.parametrize("bend", [1e-7, 1e-8])
def test_assembly_of_nearly_equal_loops_does_not_change_free_coordinates(seed: int, far: float, bend: float) -> None:
    """Two rods of an almost stretched arm are equal but for round-off, as are their small constraint rows."""
    s = chain((seed, far), 1.0, 1.0)
    for name in ("rod", "other rod"):
        s.rod(name, 2.0 - 1e-10, "link 1", at=(0, 0, 0), to=(2, 0, 0))
    q = lw.compile(s.b.build(), target="numpy").assemble([0.4, bend])
    assert abs(q[0] - 0.4) < 1e-9
    assert abs(q[1] - 2e-5) < 1e-3 * 2e-5


@EVERYWHERE
def test_sensors_that_do_not_determine_the_motion_are_rejected(seed: int, far: float) -> None:
    d = lw.compile(arm(seed, far), target="numpy")
    with pytest.raises(lw.LinkworkError, match="do not determine the motion"):
        d.observed([0.3, 0.0], [0.0, 0.0], [0.0, 0.0], sensed=["link 0"])


@EVERYWHERE
def test_sizes_of_constraint_rows_for_the_rank_are_their_lever_arms(seed: int, far: float) -> None:
    """Scales do not depend on the placement of a linkage and grow with its size."""
    here = row_scales(four_bar(seed, 0.0), np.array([0.0, 0.0, np.pi]))
    assert (here > 0.1).all()
    assert (here < 10.0).all()
    there = row_scales(four_bar(seed, far), np.array([0.0, 0.0, np.pi]))
    assert np.allclose(here, there, rtol=1e-9)


def test_least_squares_solution_with_a_matrix_of_round_off_is_zero() -> None:
    A = np.array([[1e-17, -3e-17], [2e-17, 1e-17]])
    assert not least_squares(A, np.ones(2), 1.0).any()
    assert np.allclose(least_squares(np.diag([2.0, 1e-12]), np.ones(2), 1.0), [0.5, 0.0])
    assert least_squares(np.zeros((0, 2)), np.zeros(0), 0.0).shape == (2,)


@pytest.mark.parametrize("seed", range(3))
def test_cross_check_agrees_if_brakes_lock_all_joints(seed: int) -> None:
    """The accelerations are round-off there and are compared at the scale of those without brakes."""
    s = chain((seed, 1.0), 0.2, 0.5)
    s.b.brake("shoulder", "link 0", engaged=True).brake("elbow", "link 1", engaged=True)
    assert lw.cross_check(s.b.build(), samples=3).worst < 1e-12
