"""Pickled and copied mechanisms, dynamics, runs and simulators give bit-identical results, also after use."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.evaluation.dynamics_kernels import mechanism_digest
from pickling_subprocess import going_on, motion, same_bits, serve, stepped
from quick_test_selection import mark_slow_pairs

EXAMPLES = [example.name for example in lw.examples()]
SOME = ["double_pendulum", "four_bar", "free_flyer", "two_speed_gearbox"]


def pickled(item: Any) -> Any:
    return pickle.loads(pickle.dumps(item))


COPY_METHODS = pytest.mark.parametrize("copied", [pickled, copy.deepcopy, copy.copy])


@pytest.fixture(scope="module")
def child() -> Iterator[Callable[[str, Any], Any]]:
    """A function that sends an item to a spawned process and returns the result of the named function there."""
    context: Any = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve, args=(there,))
    process.start()
    there.close()  # so that a process that failed is noticed

    def ask(name: str, item: Any) -> Any:
        here.send((name, item))
        assert here.poll(120)
        return here.recv()

    yield ask
    here.send(None)
    process.join(60)
    assert process.exitcode == 0


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_mechanism_is_identical_after_pickling(name: str) -> None:
    m = lw.example(name)
    once = pickled(m)
    assert str(m)
    assert (m.tree, m.parameters, m.spread) is not None  # computed on first use and cached
    for other in (once, pickled(m)):
        assert mechanism_digest(other) == mechanism_digest(m)
        assert other.neutral().tobytes() == m.neutral().tobytes()
        assert list(other.parameters) == list(m.parameters)
        with pytest.raises(ValueError, match="read-only"):
            other.gravity[0] = 1.0
        with pytest.raises(ValueError, match="read-only"):
            other.bodies[1].parts[0].com[0] = 1.0
    assert copy.deepcopy(m) is m


@COPY_METHODS
@pytest.mark.parametrize(("name", "target"), mark_slow_pairs(SOME, ["cpu", "numpy"]))
def test_copied_dynamics_give_identical_results(copied: Callable[[Any], Any], target: str, name: str) -> None:
    d = lw.compile(lw.example(name), target=target)
    before = copied(d)
    found = motion(d)
    assert same_bits(motion(d), found)  # through quick calls
    for other in (before, copied(d), copied(copied(d))):
        assert same_bits(motion(other), found)
        assert (other.target, other.threads, other.check, other.varying) == (d.target, d.threads, d.check, d.varying)


def test_varying_parameters_are_pickled() -> None:
    d = lw.compile(lw.example("double_pendulum"), parameters=["link 1.mass"], check=False, threads=1)
    name = d.varying[0]
    q, v, tau = np.array([0.3, -0.2]), np.ones(2), np.zeros(2)
    found = d.forward_dynamics(q, v, tau, parameters={name: 2.5})
    other = pickled(d)
    assert (other.varying, other.check, other.threads) == ((name,), False, 1)
    assert same_bits([other.forward_dynamics(q, v, tau, parameters={name: 2.5})], [found])


def test_bound_methods_can_be_pickled(child: Callable[[str, Any], Any]) -> None:
    """As pool.map(d.forward_dynamics, ...) sends them, also once the fast call has replaced them."""
    d = lw.compile(lw.example("double_pendulum"))
    state = np.array([0.3, -0.2]), np.array([1.0, 2.0]), np.array([0.1, 0.0])
    for _ in range(2):
        assert same_bits([child("called", (d.forward_dynamics, state))], [d.forward_dynamics(*state)])
        assert pickled(d.forward_dynamics).__doc__ == lw.Dynamics.forward_dynamics.__doc__


@pytest.mark.parametrize("name", SOME)
def test_dynamics_work_in_a_spawned_process(name: str, child: Callable[[str, Any], Any]) -> None:
    d = lw.compile(lw.example(name))
    fresh = child("motion", d)
    found = motion(d)
    assert same_bits(fresh, found)
    assert same_bits(child("motion", d), found)


@pytest.mark.parametrize("name", ["double_pendulum", "four_bar"])
def test_pickled_runs_can_be_continued(name: str, child: Callable[[str, Any], Any]) -> None:
    m = lw.example(name)
    run = lw.simulate(m, duration=0.1, dt=1e-3, method="rk4", controller=lambda t, q, v: -0.1 * v)
    fresh = child("going_on", run)
    found = going_on(run)
    for other in (fresh, child("going_on", run), going_on(pickled(run)), going_on(copy.deepcopy(run))):
        assert same_bits(other, found)
    assert copy.deepcopy(run).report(compare=True).passed  # in this process its controller is known


@pytest.mark.parametrize("options", [{}, {"method": "variational", "order": 4}, {"method": "midpoint"}])
def test_pickled_simulators_can_be_continued(options: dict[str, Any], child: Callable[[str, Any], Any]) -> None:
    sim = lw.Simulator(lw.example("four_bar"), dt=1e-3, **options)
    other = pickled(sim)
    assert same_bits(child("stepped", sim), stepped(other))
    found = stepped(sim)
    assert same_bits(stepped(pickled(lw.Simulator(sim.mechanism, dt=1e-3, **options))), found)
    copies = [pickled(sim), copy.deepcopy(sim), copy.copy(sim)]
    there = child("stepped", sim)
    assert all(same_bits(stepped(one), there) for one in copies)  # each on its own
    assert same_bits(stepped(sim), there)


@COPY_METHODS
def test_copied_simulators_keep_user_wrenches_and_switched_parameters(copied: Callable[[Any], Any]) -> None:
    sim = lw.Simulator(lw.example("four_bar"), dt=1e-3)
    sim.step()
    sim.push(sim.mechanism.bodies[2].name, [1.0, 0.0, 2.0, 0.0, 0.1, 0.0], duration=3e-3)
    sim.open(sim.mechanism.loops[0].name)
    sim.step()
    other = copied(sim)
    assert same_bits(stepped(other), stepped(sim))
    locked = lw.Simulator(lw.example("double_pendulum"), [0.4, 0.3], dt=1e-3)
    joint = locked.mechanism.joints[1].name
    locked.step()
    locked.lock(joint)
    locked.step()
    other = copied(locked)
    assert same_bits(stepped(other), stepped(locked))
    for one in (locked, other):
        one.unlock(joint)
    assert same_bits(stepped(copied(other)), stepped(locked))
