"""A batch member has the same bits alone, with any number of threads, traced or in Python, continued or not."""

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation.state import flatten
from linkwork.spatial.scalar import Array
from random_mechanisms import state, tree, tree_with_mimics

M = lw.example("double_pendulum")
STARTS = np.random.default_rng(0).normal(size=(70, 2))
KP = np.linspace(1.0, 9.0, 70)
MASS = np.linspace(0.5, 2.0, 70)


def spring(t: float, q: Array, v: Array, kp: Array) -> Array:
    return -kp * q - 0.3 * v + np.array([np.sin(t), 0.0])


def integral(t: float, q: Array, v: Array, memory: Array) -> tuple[Array, Array]:
    """An integral limited to one, reset when the first angle is negative."""
    total = np.where(q[0] < 0.0, 0.0, np.clip(memory[0] + 0.01 * q[0], -1.0, 1.0))
    return -4.0 * q - np.stack([total, 0.2 * v[1]]), np.stack([total, memory[1] + 1.0])


def same(a: lw.Run, b: lw.Run, member: Any = ...) -> bool:
    return all(np.array_equal(a.recorded[name], b.recorded[name][member]) for name in a.recorded)


@pytest.mark.parametrize("method", ["semi-implicit", "rk4", "midpoint"])
def test_batch_member_has_the_same_bits_as_a_single_run(method: str) -> None:
    options: dict[str, Any] = {"duration": 0.3, "dt": 1e-3, "method": method, "controller": spring}
    name = M.bodies[1].name + ".mass"
    both = lw.simulate(M, STARTS, **options, gains={"kp": KP}, parameters={name: MASS})
    assert both.q.shape == (70, 301, 2)
    for k in (0, 3, 17, 69):
        alone = lw.simulate(M, STARTS[k], **options, gains={"kp": KP[k]}, parameters={name: MASS[k]})
        assert same(alone, both, k)
        assert np.array_equal(alone.energy, both.energy[k])
    assert not np.array_equal(both.q[3], lw.simulate(M, STARTS[3], **options, gains={"kp": KP[3]}).q)


def test_number_of_threads_does_not_change_a_bit_of_a_run() -> None:
    starts = np.tile(STARTS, (20, 1))
    one, two = (lw.simulate(M, starts, duration=0.05, dt=1e-3, threads=n) for n in (1, 2))
    assert same(one, two)


def test_simulations_accept_batches_of_any_shape() -> None:
    run = lw.simulate(M, STARTS[:6].reshape(2, 3, 2), STARTS[6:9] * 0.1, 0.1, 1e-2)
    assert run.q.shape == (2, 3, 11, 2)
    assert same(lw.simulate(M, STARTS[4], STARTS[7] * 0.1, 0.1, 1e-2), run, (1, 1))
    empty = lw.simulate(M, np.zeros((0, 2)), duration=0.1, dt=1e-2, method="rk4")
    assert empty.q.shape[0] == 0


@pytest.mark.parametrize("method", ["semi-implicit", "rk4", "midpoint"])
def test_compiled_and_numpy_runs_of_a_batch_agree(method: str) -> None:
    for m in (tree(3), tree_with_mimics(6)):  # every kind of joint between them
        s = state(m, 2)
        fast, plain = (
            lw.simulate(m, s.q, 0.2 * s.v, 0.01, 1e-3, method, wrenches=0.1 * s.wrenches, target=target)
            for target in ("cpu", "numpy")
        )
        assert np.abs(fast.q - plain.q).max() < 1e-12
        assert np.abs(fast.v - plain.v).max() < 1e-11


def test_controller_called_in_python_gives_the_same_run_as_the_compiled_controller() -> None:
    def pd(t: float, q: Array, v: Array) -> Array:
        return -5.0 * q - np.where(v > 0.0, 1.0, 0.5) * v + np.cos(t)

    for rate in (1000.0, 250.0):
        traced = lw.simulate(M, STARTS[:3], duration=0.5, dt=1e-3, controller=lw.sampled(pd, rate))
        hosted = lw.simulate(M, STARTS[:3], duration=0.5, dt=1e-3, controller=lw.host(pd, rate))
        for name in traced.recorded:
            assert np.abs(traced[name] - hosted[name]).max() < 1e-12, name
    assert np.abs(traced.tau[:, :4] - traced.tau[:, :1]).max() == 0.0  # held for four steps
    assert np.abs(np.diff(traced.tau[:, ::4], axis=1)).min() > 0.0


@pytest.mark.parametrize("every", [1, 7])
def test_controller_memory_is_updated_at_each_sample(every: int) -> None:
    for controller in (integral, lw.sampled(integral, 500.0)):
        traced = lw.simulate(M, STARTS[:3], None, 0.4, 1e-3, controller=controller, memory=np.zeros(2), every=every)
        ticks = 1 + np.floor(traced.t / (1e-3 if controller is integral else 2e-3) + 1e-9)
        assert np.array_equal(traced["memory"][0, :, 1], ticks)
    hosted = lw.simulate(
        M, STARTS[:3], None, 0.4, 1e-3, controller=lw.host(integral, 500.0), memory=np.zeros(2), every=every
    )
    for name in traced.recorded:
        assert np.abs(traced[name] - hosted[name]).max() < 1e-12, name


@pytest.mark.parametrize("controller", [None, integral, lw.sampled(integral, 250.0), lw.host(integral, 250.0)])
def test_continued_run_equals_an_uninterrupted_run(controller: Any) -> None:
    memory = None if controller is None else np.array([0.0, 0.0])
    whole = lw.simulate(M, STARTS[:3], None, 1.0, 1e-3, "rk4", controller, memory=memory)
    half = lw.simulate(M, STARTS[:3], None, 0.5, 1e-3, "rk4", controller, memory=memory)
    rest = lw.simulate(M, half, duration=0.5, controller=controller)
    assert rest.t[0] == half.t[-1]
    for name in whole.recorded:
        both = np.concatenate([half[name][:, :-1], rest[name]], axis=1)
        assert np.array_equal(both, whole[name]), name
    assert all(np.array_equal(a, b) for a, b in zip(flatten(whole.final), flatten(rest.final), strict=True))


def test_interval_between_samples_does_not_change_the_recorded_states() -> None:
    full = lw.simulate(M, STARTS[0], duration=0.1, dt=1e-3, controller=spring, gains={"kp": 3.0})
    for every in (2, 7, 30, 1000):
        some = lw.simulate(M, STARTS[0], duration=0.1, dt=1e-3, controller=spring, gains={"kp": 3.0}, every=every)
        rows = np.append(np.arange(0, 100, min(every, 100)), 100)
        assert np.array_equal(some.t, full.t[rows])
        assert np.array_equal(some.q, full.q[rows])
        assert np.array_equal(some.tau, full.tau[rows])


def test_simulator_steps_match_simulate() -> None:
    for m in (M, tree(3)):
        s = state(m, 5)
        run = lw.simulate(m, s.q, 0.3 * s.v, 0.05, 1e-3, "rk4", wrenches=s.wrenches)
        simulator = lw.Simulator(m, s.q, 0.3 * s.v, dt=1e-3)
        for body, wrench in zip(m.bodies[1:], s.wrenches, strict=True):
            simulator.push(body.name, wrench, duration=0.05)
        for _ in range(50):
            simulator.step()
        assert np.abs(simulator.state.q - run.q[-1]).max() < 1e-13
        assert simulator.state.t == run.t[-1]
        simulator.step()  # the push is over
        free = lw.simulate(m, run.q[-1], run.v[-1], 1e-3, 1e-3, "rk4")
        assert np.abs(simulator.state.v - free.v[-1]).max() < 1e-12


def test_hundred_thousand_pendulums_are_simulated_in_one_call() -> None:
    starts = np.random.default_rng(1).normal(size=(100_000, 2))
    run = lw.simulate(M, starts, duration=0.05, dt=1e-3, method="rk4", every=50)
    assert run.ending == "100000 finished"
    assert np.abs(run.energy[:, -1] - run.energy[:, 0]).max() < 1e-6
    k = 77_777
    assert np.array_equal(lw.simulate(M, starts[k], duration=0.05, dt=1e-3, method="rk4", every=50).q, run.q[k])
