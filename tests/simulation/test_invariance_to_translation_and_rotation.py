"""Linkages move the same wherever they are placed, also where constraint rows of their loops vanish."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.scalar import Array
from randomly_placed_linkages import EVERYWHERE, arm, chain, four_bar, moved

FLAT, ORDINARY = np.array([0.0, 0.0, np.pi]), np.array([0.7, -0.7, 0.7 + np.pi])
V, TAU = np.array([1.3, -1.3, 1.3]), np.array([0.3, -0.2, 0.1])


def parallelogram_with_mimics(seed: int, far: float, loop: bool) -> lw.Mechanism:
    """A parallelogram with mimic joints that already satisfy its loop."""
    s = chain((seed, far), 0.2, 0.5, 0.2)
    if loop:
        s.pin("end", "link 2", at=(0.5, 0, 0), to=(0.9, 0, 0))
    s.b.mimic("link 1", "link 0", -1.0).mimic("link 2", "link 0", 1.0, np.pi)
    return s.b.build()


@cache
def expected(what: str) -> tuple[Array, ...]:
    """Accelerations (3,) and consistent velocities (3,) of the four-bar at the origin."""
    d = lw.compile(four_bar(0, 0.0), target="numpy")
    q = FLAT if what == "flat" else ORDINARY
    return d.forward_dynamics(q, V, TAU), d.consistent(q, [1.0, 0.5, -0.2])


@EVERYWHERE
def test_four_bar_accelerations_do_not_depend_on_placement(seed: int, far: float) -> None:
    d = lw.compile(four_bar(seed, far), target="numpy")
    for what, q in (("flat", FLAT), ("ordinary", ORDINARY)):
        a, v = expected(what)
        assert np.allclose(d.forward_dynamics(q, V, TAU), a, rtol=1e-7, atol=1e-7)
        assert np.allclose(d.consistent(q, [1.0, 0.5, -0.2]), v, rtol=1e-9, atol=1e-9)


@EVERYWHERE
def test_rod_along_a_stretched_arm_does_not_change_the_acceleration_of_the_arm(seed: int, far: float) -> None:
    """The constraint row of the rod vanishes there and must not be divided by its own norm."""
    m, free = arm(seed, far), chain((seed, far), 1.0, 1.0).b.build()
    for swing in (0.0, 0.4, -2.0):
        q, v, tau = np.array([swing, 0.0]), np.zeros(2), np.array([0.3, -0.2])
        wanted = lw.compile(free, target="numpy").forward_dynamics(q, v, tau)
        assert np.allclose(lw.compile(m, target="numpy").forward_dynamics(q, v, tau), wanted, rtol=1e-9)
        for name in ("mass matrix", "newton-euler"):
            assert np.allclose(lw.formulations[name](m).forward_dynamics(q, v, tau), wanted, rtol=1e-9), name


@EVERYWHERE
def test_loop_that_mimic_joints_close_has_no_effect(seed: int, far: float) -> None:
    held, free = (lw.compile(parallelogram_with_mimics(seed, far, loop), target="numpy") for loop in (True, False))
    for turn in (0.0, 0.7):
        wanted = free.forward_dynamics([turn], [1.3], [0.6])
        assert np.allclose(held.forward_dynamics([turn], [1.3], [0.6]), wanted, rtol=1e-9)
        for name in ("mass matrix", "newton-euler"):
            found = lw.formulations[name](held.mechanism).forward_dynamics([turn], [1.3], [0.6])
            assert np.allclose(found, wanted, rtol=1e-9), name


@pytest.mark.parametrize("name", [e.name for e in lw.examples() if e.build().loops])
@pytest.mark.parametrize(("seed", "far"), [(1, 0.0), (2, 1.0), (3, 1e3)])
def test_examples_with_loops_do_not_depend_on_placement(name: str, seed: int, far: float) -> None:
    """Accelerations and reactions; those of redundant loops are the least-norm ones."""
    m = lw.example(name)
    here, there = (lw.compile(one, target="numpy") for one in (m, moved(m, seed, far)))
    q, rng = m.keyframes[0].q, np.random.default_rng(seed)
    v, tau = here.consistent(q, rng.normal(size=m.nv)), rng.normal(size=m.nv)
    for answer in ("forward_dynamics", "reactions"):
        expected = getattr(here, answer)(q, v, tau)
        assert np.abs(getattr(there, answer)(q, v, tau) - expected).max() < 1e-8 * np.abs(expected).max(), answer


@pytest.mark.parametrize(
    ("seed", "far"),
    [pytest.param(1, 0.0, marks=pytest.mark.slow), (2, 1.0), pytest.param(3, 1e3, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("method", [pytest.param("variational", marks=pytest.mark.slow), "midpoint", "energy-momentum"])
def test_step_derivatives_do_not_depend_on_placement(seed: int, far: float, method: str) -> None:
    """The step equations have redundant rows, whose round-off must not matter."""
    A, B = lw.Simulator(four_bar(0, 0.0), ORDINARY, V, 2e-3, method).step_derivatives(TAU)
    found = lw.Simulator(four_bar(seed, far), ORDINARY, V, 2e-3, method).step_derivatives(TAU)
    assert np.abs(found.A - A).max() < 1e-7 * np.abs(A).max()
    assert np.abs(found.B - B).max() < 1e-7 * np.abs(B).max()


@pytest.mark.parametrize(("seed", "far"), [(1, 0.0), (2, 1.0), (3, 10.0)])
def test_redundant_rods_are_not_reported_as_singular(seed: int, far: float) -> None:
    """Near a stretched arm both rows are small and their round-off is not; one direction is well constrained."""
    s = chain((seed, far), 1.0, 1.0)
    for name in ("rod", "other rod"):
        s.rod(name, 2.0, "link 1", at=(0, 0, 0), to=(2, 0, 0))
    run = lw.simulate(s.b.build(), [0.4, 1e-7], duration=2e-3, dt=1e-3, method="rk4")
    assert run.report()["loop conditioning"].value == 1.0
