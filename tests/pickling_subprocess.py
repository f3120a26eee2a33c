"""Functions that a spawned process applies to pickled mechanisms, dynamics, runs and simulators."""

from __future__ import annotations

from multiprocessing.connection import Connection
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.spatial.scalar import Array
from other_instruction_sets import apply_processor_variant


def motion(d: lw.Dynamics) -> list[Array]:
    """Return results of a Dynamics object for one state and for a batch."""
    m = d.mechanism
    rng = np.random.default_rng(5)
    q, v, tau = m.keyframes[0].q if m.keyframes else m.random(rng), rng.normal(size=m.nv), rng.normal(size=m.nv)
    v = d.consistent(q, v)
    single = [d.forward_dynamics(q, v, tau), d.mass_matrix(q), d.inverse_dynamics(q, v, tau), *d.energy(q, v)]
    return [*single, d.forward_dynamics(q, np.outer(np.linspace(0.0, 1.0, 7), v), tau), d.poses(q)]


def going_on(run: lw.Run) -> list[Array]:
    """Return recorded and derived series of a run, and those of its continuation."""
    onwards = lw.simulate(run.mechanism, run, duration=0.05)
    return [run.q, run.v, run["energy"], run["center_of_mass"], onwards.q, onwards.v, onwards.t]


def stepped(sim: lw.Simulator) -> list[Array]:
    """Return the state of a simulator after some steps, and the derivative of the next step."""
    for _ in range(5):
        sim.step(np.full(sim.mechanism.nv, 0.1))
    return [np.array(sim.state.t), sim.state.q, sim.state.v, sim.step_derivatives().A]


def called(what: tuple[Any, tuple[Array, ...]]) -> Array:
    """Return the result of calling a function with arguments; `what` is the pair of both."""
    function, arguments = what
    return function(*arguments)


def same_bits(a: list[Array], b: list[Array]) -> bool:
    return [np.asarray(x).tobytes() for x in a] == [np.asarray(x).tobytes() for x in b]


def serve(connection: Connection) -> None:
    """Apply functions of this file, by name, to received items and send the results back, until None is received."""
    apply_processor_variant()  # to be the processor that the tests run on
    while (received := connection.recv()) is not None:
        name, item = received
        found: Any = globals()[name](item)
        connection.send(found)
