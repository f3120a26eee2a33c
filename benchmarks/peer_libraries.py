"""Contenders of the benchmarks: calls of linkwork, Pinocchio and MuJoCo to be timed, with conversion of results.

Inputs are prepared in the layout of each library, so that the timed call contains no conversion. Batches of Pinocchio
are (nq, n) in column-major order, the same memory layout as linkwork's (n, nq).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from benchmarks.robots import Robot, States, chain_mjcf, pin

import linkwork as lw
from linkwork.spatial.scalar import Array


class NotAvailable(Exception):
    """Raised when a contender cannot run the benchmark; the message gives the reason."""


class Contender(NamedTuple):
    """A library call to be timed, and a function that converts its result to linkwork's layout.

    `call` is timed; `read` converts its result to an array in linkwork's order of states and velocities.
    """

    name: str
    call: Callable[[], Any]
    read: Callable[[Any], Array] = np.asarray


# --- linkwork ---


@lru_cache(maxsize=4)
def compiled(m: lw.Mechanism, target: str, threads: int) -> Any:
    """Return the `Dynamics` of a mechanism, compiled once for all benchmarks."""
    return lw.compile(m, target=target, threads=threads)


def linkwork(m: lw.Mechanism, target: str, method: str, inputs: tuple[Array, ...], threads: int = 1) -> Contender:
    """Return the contender for a method of linkwork's `Dynamics`.

    If the method returns several matrices, they are stacked on the third last axis.
    """
    try:
        call = getattr(compiled(m, target, threads), method, None)
    except lw.LinkworkError as error:
        raise NotAvailable(f"linkwork: {error}") from None
    if call is None:
        raise NotAvailable(f"linkwork: target {target!r} has no {method}")
    call(*inputs)  # the first call compiles the kernel, which then replaces the method
    call = getattr(compiled(m, target, threads), method)
    name = f"linkwork {method}, {threads} thread{'s' * (threads > 1)}"
    return Contender(name, partial(call, *inputs), lambda x: np.stack(x, -3) if isinstance(x, tuple) else np.asarray(x))


# --- Pinocchio ---

# Pinocchio 4.1 reserves four blocks of nv^3 numbers for second derivatives, and twice that while it creates them.
MOST_VELOCITIES = 400  # 4 GB


def fresh_data(robot: Robot) -> Any:
    """Return Pinocchio's working memory (`Data`) for a robot."""
    _refuse_too_large(robot)
    return robot.model.createData()


def _refuse_too_large(robot: Robot) -> None:
    if robot.m.nv > MOST_VELOCITIES:
        raise NotAvailable(f"Pinocchio: would reserve {64e-9 * robot.m.nv**3:.0f} GB for {robot.m.nv} velocities")


def back(robot: Robot) -> Array:
    """Return the index (nv,) in Pinocchio's velocity vector of each velocity of linkwork."""
    ours = [np.arange(robot.m.nv)[robot.m.joints[name].v] for name in robot.model.names[1:]]
    return np.argsort(np.concatenate(ours))


def coordinates(robot: Robot, q: Array) -> Array:
    """Return the coordinates (n, model.nq) of Pinocchio for those of linkwork (n, nq).

    Pinocchio has the scalar part of quaternions last, and cosine and sine of continuous joints.
    """
    columns = []
    for name, joint in zip(robot.model.names[1:], list(robot.model.joints)[1:], strict=True):
        own = q[:, robot.m.joints[name].q]
        if joint.nq == 7:
            own = np.hstack([own[:, :3], own[:, 4:], own[:, 3:4]])
        elif joint.nq > joint.nv:
            own = np.hstack([np.cos(own), np.sin(own)])
        columns.append(own)
    return np.ascontiguousarray(np.hstack(columns))


def velocities(robot: Robot, v: Array) -> Array:
    """Return velocities, accelerations or forces (n, nv) of linkwork in Pinocchio's order."""
    return np.ascontiguousarray(v[:, np.argsort(back(robot))])


def aba_batch(robot: Robot, s: States) -> Contender:
    """Return the contender Pinocchio for forward dynamics of a batch, by a loop in C++ on one thread."""
    return _parallel(robot, "abaInParallel", s.q, s.v, s.tau)


def rnea_batch(robot: Robot, s: States) -> Contender:
    """Return the contender Pinocchio for inverse dynamics of a batch, by a loop in C++ on one thread."""
    return _parallel(robot, "rneaInParallel", s.q, s.v, s.a)


def _parallel(robot: Robot, function: str, q: Array, v: Array, x: Array) -> Contender:
    _refuse_too_large(robot)
    columns = coordinates(robot, q).T, velocities(robot, v).T, velocities(robot, x).T
    call = partial(getattr(pin, function), 1, pin.ModelPool(robot.model, 1), *columns)
    return Contender(f"pin.{function}", call, lambda answer: answer.T[:, back(robot)])


def crba_loop(robot: Robot, s: States) -> Contender:
    """Return the contender Pinocchio for mass matrices of a batch, by a loop in Python.

    Pinocchio has no batch function for mass matrices.
    """
    model, data, Q = robot.model, fresh_data(robot), list(coordinates(robot, s.q))
    M = np.empty((len(Q), robot.m.nv, robot.m.nv))

    def call() -> Array:
        for k, q in enumerate(Q):
            M[k] = pin.crba(model, data, q)
        return M

    return Contender("pin.crba in a loop", call, lambda M: _both_ways(robot, M))


def derivatives_loop(robot: Robot, s: States) -> Contender:
    """Return the contender Pinocchio for derivatives of forward dynamics by q, v and tau (n, 3, nv, nv).

    The batch is a loop in Python.
    """
    model, data = robot.model, fresh_data(robot)
    states = list(zip(coordinates(robot, s.q), velocities(robot, s.v), velocities(robot, s.tau), strict=True))
    D = np.empty((len(states), 3, robot.m.nv, robot.m.nv))

    def call() -> Array:
        for k, (q, v, tau) in enumerate(states):
            D[k, 0], D[k, 1], D[k, 2] = pin.computeABADerivatives(model, data, q, v, tau)
        return D

    return Contender("pin.computeABADerivatives in a loop", call, lambda D: _both_ways(robot, D))


def _both_ways(robot: Robot, matrices: Array) -> Array:
    order = back(robot)
    return matrices[..., order[:, None], order]


def aba_once(robot: Robot, s: States) -> Contender:
    """Return the contender Pinocchio for forward dynamics of one state, one call from Python."""
    state = coordinates(robot, s.q)[0], velocities(robot, s.v)[0], velocities(robot, s.tau)[0]
    call = partial(pin.aba, robot.model, fresh_data(robot), *state)
    return Contender("pin.aba", call, lambda answer: answer[back(robot)])


# --- MuJoCo ---


def mujoco_once(robot: Robot, s: States) -> Contender:
    """Return the contender MuJoCo for forward dynamics of one state of a chain; writing the state is not timed."""
    try:
        mujoco: Any = import_module("mujoco")
    except ModuleNotFoundError:
        raise NotAvailable("MuJoCo is not installed (the extra 'peers')") from None
    try:
        model = mujoco.MjModel.from_xml_string(chain_mjcf(robot.m.nv))
    except ValueError as error:  # MuJoCo limits the nesting depth of bodies
        raise NotAvailable(f"MuJoCo: {' '.join(str(error).split())}") from None
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = s.q[0], s.v[0], s.tau[0]
    return Contender("mujoco.mj_forward", partial(mujoco.mj_forward, model, data), lambda _: np.array(data.qacc))
