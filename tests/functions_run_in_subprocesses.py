"""Functions that tests run in spawned or forked processes."""

from multiprocessing.connection import Connection

import numpy as np

import linkwork as lw


def many_pendulums() -> float:
    """Return the last of four thousand equal accelerations of a pendulum, computed on several threads."""
    q = np.tile([0.3, -0.4], (4000, 1))
    d = lw.compile(lw.example("double_pendulum"), threads=2)
    return float(d.forward_dynamics(q, np.array([1.0, 2.0]), np.array([0.1, 0.2]))[-1, 0])


def send_many_pendulums(connection: Connection) -> None:
    connection.send(many_pendulums())
