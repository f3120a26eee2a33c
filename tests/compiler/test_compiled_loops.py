"""Loops of traced functions match Python in compiled code, for each batch member independently of the others."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.forward_dynamics import forward_dynamics
from linkwork.compiler.graph import Count, Loop, fused, verify
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.traced_loops import Rows
from linkwork.compiler.tracing import trace
from linkwork.spatial.scalar import Array, where
from linkwork.spatial.traceable_loops import iterate, record, repeat
from random_mechanisms import relative, state, tree

STEPS, EVERY = Count(0), Count(1)


def members(kernel: Kernel, arrays: list[Array], *counts: int, threads: int = 1) -> list[Array]:
    """Return the results of a kernel for the arrays of a batch with one leading axis."""
    return kernel.over_batch(arrays, (len(arrays[0]),), threads, counts=counts)[0]


# --- a rollout: a counted loop that records, with another one inside ---


def swing(x: Array, gain: Array, push: Any, steps: Any, every: Any) -> tuple[Any, ...]:
    """A driven pendulum with semi-implicit steps: last state, angles at every frame, and applied forces."""
    dt = 0.01

    def frame(k: Any, angle: Any, rate: Any, pushed: Array) -> tuple[Any, Any]:
        def step(i: Any, angle: Any, rate: Any) -> tuple[Any, Any]:
            rate = rate + dt * (pushed[0] - gain[0] * np.sin(angle))
            return angle + dt * rate, rate

        angle, rate = repeat(every, step, angle, rate)
        return (angle, rate), (np.array([angle, rate]), k * pushed)

    (angle, rate), (motion, pushes) = record(steps, frame, x[0], x[1], each=(push,))
    return np.array([angle, rate]), motion, pushes


SWING = Kernel(
    "swing",
    swing,
    [(2,), (1,), Rows(STEPS, (1,))],
    [(2,), Rows(STEPS, (2,)), Rows(STEPS, (1,))],
    key="swing",
    counts=2,
)


@pytest.mark.parametrize(("count", "steps", "every"), [(1, 5, 3), (4, 7, 1), (11, 3, 4), (70, 2, 2), (2, 4, 0)])
def test_compiled_rollout_matches_python(count: int, steps: int, every: int) -> None:
    rng = np.random.default_rng(count)
    x, gain, push = rng.normal(size=(count, 2)), rng.uniform(1, 9, (count, 1)), rng.normal(size=(count, steps, 1))
    last, motion, pushes = members(SWING, [x, gain, push], steps, every)
    assert motion.shape == (count, steps, 2)
    assert pushes.shape == (count, steps, 1)
    for k in range(count):
        expected = swing(x[k], gain[k], push[k], steps, every)
        for found, wanted in zip((last[k], motion[k], pushes[k]), expected, strict=True):
            assert np.abs(found - wanted.reshape(found.shape)).max(initial=0.0) < 1e-13


def test_compiled_rollout_has_the_same_bits_alone_in_any_batch_and_on_any_thread() -> None:
    rng = np.random.default_rng(0)
    x, gain, push = rng.normal(size=(900, 2)), rng.uniform(1, 9, (900, 1)), rng.normal(size=(900, 6, 1))
    together = members(SWING, [x, gain, push], 6, 3)
    for threads in (2, 3):
        for ours, theirs in zip(members(SWING, [x, gain, push], 6, 3, threads=threads), together, strict=True):
            assert (ours == theirs).all()
    for k in (0, 5, 899):
        alone = members(SWING, [x[k : k + 1], gain[k : k + 1], push[k : k + 1]], 6, 3)
        for ours, theirs in zip(alone, together, strict=True):
            assert (ours[0] == theirs[k]).all()


def test_compiled_loop_with_zero_iterations_leaves_its_state_unchanged() -> None:
    x = np.random.default_rng(2).normal(size=(5, 2))
    last, motion, pushes = members(SWING, [x, np.ones((5, 1)), np.empty((5, 0, 1))], 0, 3)
    assert (last == x).all()
    assert motion.shape == (5, 0, 2)
    assert pushes.shape == (5, 0, 1)


def test_batch_members_can_share_one_input_table() -> None:
    rng = np.random.default_rng(1)
    x, gain, push = rng.normal(size=(9, 2)), np.array([4.0]), rng.normal(size=(6, 1))
    shared, _ = SWING.over_batch([x, gain, push], (9,), 1, counts=(6, 2))
    own, _ = SWING.over_batch([x, np.tile(gain, (9, 1)), np.tile(push, (9, 1, 1))], (9,), 1, counts=(6, 2))
    for ours, theirs in zip(shared, own, strict=True):
        assert (ours == theirs).all()


def test_nonfinite_values_inside_a_compiled_loop_are_reported() -> None:
    x, gain, push = np.zeros((6, 2)), np.ones((6, 1)), np.zeros((6, 4, 1))
    _, finite = SWING.over_batch([x, gain, push], (6,), 1, counts=(4, 1))
    assert finite
    push[3, 2] = np.inf
    found, finite = SWING.over_batch([x, gain, push], (6,), 1, counts=(4, 1))
    assert not finite
    assert np.isfinite(np.delete(found[1], 3, axis=0)).all()


@pytest.mark.parametrize("seed", [0, 4, 8])
def test_dynamics_of_a_whole_mechanism_compile_inside_a_loop(seed: int) -> None:
    """The loop body is cut into many chunks and captures the mechanism's values."""
    m = tree(seed)
    start = state(m, seed)

    def run(q: Array, v: Array, tau: Array, steps: Any) -> tuple[Array, Array]:
        def step(_: Any, q: Array, v: Array) -> tuple[Array, Array]:
            v = v + 1e-3 * forward_dynamics(m, q, v, tau)
            return q + 1e-3 * m.qdot(q, v), v

        return repeat(steps, step, q, v)

    shapes = [(m.nq,), (m.nv,), (m.nv,)]
    kernel = Kernel("run", run, shapes, [(m.nq,), (m.nv,)], key=f"run of tree {seed}", counts=1)
    found, _ = kernel.over_batch([start.q, start.v, start.tau], (), 1, counts=(20,))
    for ours, theirs in zip(found, run(start.q, start.v, start.tau, 20), strict=True):
        assert relative(ours, theirs) < 1e-11
    wide = members(kernel, [np.tile(x, (5, 1)) for x in (start.q, start.v, start.tau)], 20)
    for ours, theirs in zip(wide, found, strict=True):
        assert (ours == theirs).all()


# --- Newton: a bounded while-loop in which each member ends on its own ---


def kepler(x: Array) -> Array:
    """Return E, iterations and convergence of Newton's method for Kepler's equation E - e sin E = M."""
    mean, eccentricity = x

    def newton(E: Any) -> tuple[tuple[Any], Any]:
        change = (E - eccentricity * np.sin(E) - mean) / (1.0 - eccentricity * np.cos(E))
        return (E - change,), abs(change) < 1e-12

    (E,), iterations, done = iterate(12, newton, mean)
    return np.array([E, iterations, where(done, 1.0, 0.0)])


KEPLER = Kernel("kepler", kepler, [(2,)], [(3,)], key="kepler")


def test_compiled_newton_iteration_converges_for_each_batch_member_separately() -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.uniform(-3, 3, 203), rng.uniform(0, 0.9, 203)])
    (found,) = members(KEPLER, [x])
    expected = np.array([kepler(row) for row in x])
    assert (found[:, 1:] == expected[:, 1:]).all()
    assert np.abs(found[:, 0] - expected[:, 0]).max() < 1e-13
    assert len(set(found[:, 1])) > 3  # iteration counts differ between members
    assert (found[:, 2] == 1.0).all()
    for k in (0, 100, 202):
        assert (members(KEPLER, [x[k : k + 1]])[0][0] == found[k]).all()


def test_diverging_member_of_a_batch_stops_at_the_iteration_limit_and_others_are_unaffected() -> None:
    x = np.array([[0.3, 0.2], [np.nan, 0.5], [1.0, 0.4], [2.0, 0.1], [0.5, 0.7]])
    (found,) = members(KEPLER, [x])
    assert (found[1, 1:] == [12.0, 0.0]).all()
    for k in (0, 2, 3, 4):
        assert (members(KEPLER, [x[k : k + 1]])[0][0] == found[k]).all()
        assert found[k, 2] == 1.0


def test_compiled_iterations_can_be_nested() -> None:
    """A root solve inside each pass of a counted loop, starting from a constant, with a captured condition."""

    def function(x: Array, steps: Any) -> Array:
        upwards = x[1] > 0.0

        def step(_: Any, y: Any, total: Any) -> tuple[Any, Any]:
            def halley(z: Any) -> tuple[tuple[Any], Any]:
                new = z * (z * z + 2.0 * y) / (2.0 * z * z + y)  # the cube root's sibling: z^3 -> y by rational steps
                return (new,), abs(new - z) < 1e-13

            (root,), iterations, _ = iterate(50, halley, 1.0)
            return where(upwards, y + root, y * 0.5), total + iterations

        y, total = repeat(steps, step, x[0], 0.0)
        return np.array([y, total])

    kernel = Kernel("nested", function, [(2,)], [(2,)], key="nested", counts=1)
    x = np.column_stack([np.linspace(0.5, 4.0, 9), np.linspace(-1.0, 1.0, 9)])
    (found,) = members(kernel, [x], 5)
    expected = np.array([function(row, 5) for row in x])
    assert np.abs(found[:, 0] - expected[:, 0]).max() < 1e-12
    assert (found[:, 1] == expected[:, 1]).all()


def chained(x: Array) -> Array:
    """Loops that begin with inputs, with the state of the loop before, twice with one value, and with values that are
    used again after the loop.
    """

    def halve(*state: Any) -> tuple[tuple[Any, ...], Any]:
        new = tuple(0.5 * y + 0.1 * k for k, y in enumerate(state))
        return new, abs(new[0]) < 0.2

    def outer(y: Any, z: Any) -> tuple[tuple[Any, ...], Any]:
        (inner, z), _, _ = iterate(3, halve, y * y, z)
        return (y - inner, z), abs(z) < 1e-3

    first, _, _ = iterate(9, halve, x[0], x[1], start=x[0] > 0.0)
    second, _, _ = iterate(1, halve, first[0], first[1], x[2], start=first[1] > 0.3)
    product = second[0] * second[1]
    twice, _, _ = iterate(4, halve, product, product)
    sine = np.sin(second[2])
    (third, *_), _, _ = iterate(5, outer, sine, x[1])
    return np.array([*second, *twice, sine, third, product])


@pytest.mark.parametrize("count", [1, 3, 40])
def test_values_with_which_compiled_loops_begin_can_be_inputs_states_of_other_loops_and_used_again(count: int) -> None:
    kernel = Kernel("chained", chained, [(3,)], [(8,)], key="chained")
    x = 3.0 * np.random.default_rng(count).normal(size=(count, 3))
    (found,) = members(kernel, [x])
    assert relative(found, np.array([chained(one) for one in x])) < 1e-14


def test_state_variables_of_a_compiled_loop_can_exchange_their_values() -> None:
    def fibonacci(x: Array, steps: Any) -> Array:
        return np.array(repeat(steps, lambda _, a, b: (b, a + b), x[0], x[1]))

    kernel = Kernel("fibonacci", fibonacci, [(2,)], [(2,)], key="fibonacci", counts=1)
    (found,) = members(kernel, [np.array([[0.0, 1.0], [2.0, 1.0]])], 10)
    assert (found == [[55.0, 89.0], [123.0, 199.0]]).all()


# --- what is refused ---

LEAKED: list[Any] = []


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda x, n: repeat(n, lambda k, y: (y[:1],), x)[0], "same shapes"),
        (lambda x, n: repeat(n, lambda k, y: y, x)[0], "as a tuple"),
        (lambda x, n: repeat(n, lambda k, y: (LEAKED.append(y[0]) or y,), x)[0] + LEAKED[-1], "inside a loop"),
        (lambda x, n: record(3, lambda k, y: ((y,), (y,)), x)[1][0], "number of iterations must be an argument"),
        (lambda x, n: record(n, lambda k, y: ((y,), (y,)), x)[0][0], "return all arrays that its loops record"),
        (
            lambda x, n: record(n, lambda k, y, row: ((y,), ()), x, each=(x,))[0][0],
            "must be a kernel argument with one row per iteration; got",
        ),
        (lambda x, n: iterate(n, lambda y: ((y,), y[0] > 0.0), x)[0][0], "must be an integer >= 0"),
        (lambda x, n: iterate(9, lambda y: ((y,), 1.0 if y[0] else 0.0), x)[0][0], "branches on"),
    ],
)
def test_loops_that_cannot_be_compiled_are_rejected(function: Callable[..., Any], says: str) -> None:
    with pytest.raises(lw.NotTraceable, match=says):
        trace(function, [(2,)], counts=1)


def test_graph_verifier_rejects_invalid_loop_bodies() -> None:
    graph = fused(trace(lambda x, n: repeat(n, lambda k, y: (y * y[0] + x,), x)[0], [(2,)], counts=1))
    verify(graph)
    (loop,) = (node[0] for node in graph.nodes if isinstance(node[0], Loop))
    loop.body.nodes[-1] = ("mul", 0)
    with pytest.raises(AssertionError):
        verify(graph)
