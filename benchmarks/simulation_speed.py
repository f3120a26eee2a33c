"""Simulations by `lw.simulate` and by `mujoco.rollout`: same mechanism, method and step, on one thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from benchmarks.peer_libraries import Contender, NotAvailable
from benchmarks.robots import draw, robot
from benchmarks.timing import Effort, Row, compare

import linkwork as lw
from linkwork.spatial.rotation import quaternion_from_matrix
from linkwork.spatial.scalar import Array

STEP = 1e-3  # [s]
INTEGRATORS = {"rk4": "RK4", "semi-implicit": "Euler"}
EARLY = 100  # steps after which positions are compared; later ones are chaotic
CALM = 0.1  # standard deviation of initial velocities [rad/s, m/s]: small, so that no run diverges
Look = Callable[[lw.Mechanism, Array, Array], Array]  # of mechanism, q (members, steps, nq), v (members, steps, nv)


class Rollout(NamedTuple):
    """A simulation to time: mechanism, method, initial q (..., nq) and v (..., nv), and `steps` steps of `step` [s].

    `look` extracts the result to be compared.
    """

    m: lw.Mechanism
    method: str
    q: Array
    v: Array
    steps: int
    look: Look
    step: float = STEP


def run_rollout(name: str, method: str, members: int, steps: int, effort: Effort, row: Row) -> None:
    """Measure the time per member and step of a simulation from random positions, and fill the row."""
    m = quiet(robot(name).m)
    states = draw(m, members)
    row.unit, row.size = "us per step", {"nv": m.nv, "states": members, "steps": steps}
    q, v = (states.q, states.v * CALM) if members > 1 else (states.q[0], states.v[0] * CALM)
    task = Rollout(m, method, q, v, steps, seen)
    compare(row, partial(linkwork_rollout, task), partial(mujoco_rollout, task), members * steps, effort)


@lru_cache(maxsize=2)
def quiet(m: lw.Mechanism) -> lw.Mechanism:
    """Return the mechanism without dry friction and joint limits, which are constraints in MuJoCo."""
    b = lw.Builder(m.name, gravity=m.gravity)
    for body in m.bodies[1:]:
        inertia = body.inertia
        com = inertia.moment / inertia.mass if inertia.mass else np.zeros(3)
        about = inertia.rotational - inertia.mass * (com @ com * np.eye(3) - np.outer(com, com))
        b.body(body.name, float(inertia.mass), com, 0.5 * (about + about.T))
    for j in m.joints:
        parent, child = m.bodies[j.i].name, m.bodies[j.o].name
        numbers = {"armature": j.armature, "damping": j.damping}
        b.joint(j.name, j.kind, parent, child, j.place.p, rotation=j.place.R, **numbers)
    return b.build(strict=False)


def linkwork_rollout(task: Rollout, order: int | None = None) -> Contender:
    """Return the contender `lw.simulate`, with q and v recorded at every step, as MuJoCo does."""
    m, method, q, v, steps, look, step = task
    more: dict[str, Any] = {} if order is None else {"order": order}

    def call() -> lw.Run:
        return lw.simulate(
            m, q, v, steps * step, step, method, record=("q", "v"), stops=None, threads=1, progress=False, **more
        )

    call()  # the first call compiles the kernel

    def read(run: lw.Run) -> Array:
        return look(m, run.q.reshape(-1, steps + 1, m.nq)[:, 1:], run.v.reshape(-1, steps + 1, m.nv)[:, 1:])

    return Contender(f"linkwork simulate, {method}", call, read)


def mujoco_rollout(task: Rollout, equality: str = "") -> Contender:
    """Return the contender `mujoco.rollout` in C++ on one thread, with the MJCF constraints `equality` only.

    Contacts, actuators and other constraints are left out.
    """
    m, method, q, v, steps, look, step = task
    q, v = np.atleast_2d(q), np.atleast_2d(v)
    try:
        mujoco: Any = import_module("mujoco")
        rollout: Any = import_module("mujoco.rollout")
    except ModuleNotFoundError:
        raise NotAvailable("MuJoCo is not installed (the extra 'peers')") from None
    model = mujoco.MjModel.from_xml_string(mjcf(m, INTEGRATORS.get(method, method), equality, step))
    q_there, v_there = lw.convert(m, q, v, target="mujoco")
    spec = mujoco.mjtState.mjSTATE_FULLPHYSICS
    data = mujoco.MjData(model)
    start = np.zeros((len(q), mujoco.mj_stateSize(model, spec)))
    start[:, 1 : 1 + m.nq], start[:, 1 + m.nq : 1 + m.nq + m.nv] = q_there, v_there
    out = np.empty((len(q), steps, start.shape[1]))

    def call() -> Array:
        rollout.rollout(model, data, start, nstep=steps, state=out)
        return out

    def read(found: Array) -> Array:
        return look(m, found[..., 1 : 1 + m.nq], found[..., 1 + m.nq : 1 + m.nq + m.nv])

    return Contender(f"mujoco.rollout, {INTEGRATORS.get(method, method)}", call, read)


def seen(m: lw.Mechanism, q: Array, v: Array) -> Array:
    """Return the part of a simulation that both libraries compute equally.

    This part is the joint velocities after one step and, with a fixed base, positions after EARLY steps. MuJoCo
    integrates a free base in the world's axes, which differs in second order of the step.
    """
    joints = np.concatenate([np.arange(m.nv)[j.v] for j in m.joints if j.kind.nv == 1])
    free = len(joints) < m.nv
    return v[:, 0, joints] if free else np.hstack([v[:, 0], q[:, min(EARLY, q.shape[1]) - 1]])


def mjcf(m: lw.Mechanism, integrator: str, equality: str = "", step: float = STEP) -> str:
    """Return a tree of revolute, prismatic, ball and free joints as MJCF without geometry.

    `equality` is the MJCF text of constraints. The names of the bodies are b1, b2 and so on.
    """
    inside: dict[int, list[str]] = {k: [] for k in range(len(m.bodies))}
    for j in reversed(list(m.joints)):
        inertia = m.bodies[j.o].inertia
        com = inertia.moment / inertia.mass
        I = inertia.rotational - inertia.mass * (com @ com * np.eye(3) - np.outer(com, com))
        full = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
        joint = '<joint type="ball"/>' if isinstance(j.kind, lw.Ball) else "<freejoint/>"
        if isinstance(j.kind, (lw.Revolute, lw.Prismatic)):
            kind = "hinge" if isinstance(j.kind, lw.Revolute) else "slide"
            numbers = f'armature="{float(j.armature[0])!r}" damping="{float(j.damping[0])!r}"'
            joint = f'<joint type="{kind}" axis="{spaced(np.array(j.kind.axis))}" {numbers}/>'
        mass = float(inertia.mass)
        body = (
            f'<body name="b{j.o}" pos="{spaced(j.place.p)}" quat="{spaced(quaternion_from_matrix(j.place.R))}">'
            f'<inertial pos="{spaced(com)}" mass="{mass!r}" fullinertia="{spaced(np.array(full))}"/>{joint}'
        )
        inside[j.i].insert(0, body + "".join(inside[j.o]) + "</body>")
    return (
        f'<mujoco><compiler angle="radian" autolimits="false"/><option timestep="{step}" '
        f'integrator="{integrator}" gravity="{spaced(m.gravity)}">'
        f'<flag contact="disable" constraint="{"enable" if equality else "disable"}"/></option>'
        f"<worldbody>{''.join(inside[0])}</worldbody><equality>{equality}</equality></mujoco>"
    )


def spaced(numbers: Array) -> str:
    """Return numbers as text, separated by spaces as in MJCF."""
    return " ".join(repr(float(x)) for x in numbers)
