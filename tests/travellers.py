"""What a started process does with mechanisms, dynamics, runs and simulators that travelled to it."""

from __future__ import annotations

from multiprocessing.connection import Connection
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.spatial.scalar import Array
from portable import pretend


def motion(d: lw.Dynamics) -> list[Array]:
    """Answers of a Dynamics to one state, and to a batch."""
    m = d.mechanism
    rng = np.random.default_rng(5)
    q, v, tau = m.keyframes[0].q if m.keyframes else m.random(rng), rng.normal(size=m.nv), rng.normal(size=m.nv)
    v = d.consistent(q, v)
    single = [d.forward_dynamics(q, v, tau), d.mass_matrix(q), d.inverse_dynamics(q, v, tau), *d.energy(q, v)]
    return [*single, d.forward_dynamics(q, np.outer(np.linspace(0.0, 1.0, 7), v), tau), d.poses(q)]


def going_on(run: lw.Run) -> list[Array]:
    """The series of a run, what follows from them, and how it goes on."""
    onwards = lw.simulate(run.mechanism, run, duration=0.05)
    return [run.q, run.v, run["energy"], run["center_of_mass"], onwards.q, onwards.v, onwards.t]


def stepped(sim: lw.Simulator) -> list[Array]:
    """Where a simulator is after some steps, and the derivative of the next."""
    for _ in range(5):
        sim.step(np.full(sim.mechanism.nv, 0.1))
    return [np.array(sim.state.t), sim.state.q, sim.state.v, sim.step_derivatives().A]


def called(what: tuple[Any, tuple[Array, ...]]) -> Array:
    """What a function says."""
    function, arguments = what
    return function(*arguments)


def same_bits(a: list[Array], b: list[Array]) -> bool:
    return [np.asarray(x).tobytes() for x in a] == [np.asarray(x).tobytes() for x in b]


def answer(connection: Connection) -> None:
    """Send back what functions of this file, by name, say of what is received, until None is."""
    pretend()  # to be the processor that the tests run on
    while (asked := connection.recv()) is not None:
        name, item = asked
        found: Any = globals()[name](item)
        connection.send(found)
