"""Structure-preserving integrators compared with MuJoCo and Exudyn: accuracy against computing time.

`python -m benchmarks.structure_preservation docs/figures/structure.png` draws position errors and energy errors against
computing time, for several step sizes. Each method runs on one thread; all methods are timed in alternating turns.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.four_bar_ladders import both
from benchmarks.peer_libraries import Contender, NotAvailable
from benchmarks.simulation_speed import Rollout, linkwork_rollout, mujoco_rollout
from benchmarks.timing import QUICK, Effort, Row, race

import linkwork as lw
from linkwork.papers.wendlandt_integrators import MASSES, pendulum_start
from linkwork.spatial.scalar import Array

EVERY = 0.05  # interval between compared samples [s]
STEPS = (0.05, 0.025, 0.01, 0.005, 0.0025, 0.001)  # step sizes of the figure [s]
BALL = 0.2  # radius of the pendulum's masses [m]
SURE = 1e-9  # largest difference between two reference solutions [m]
LONG = 3.0  # computing time of a run [s] after which a curve gets no smaller steps
TURNS = Effort(0.02, 0.2, 2.0, 3, 9)  # measuring time of the figure


class Machine(NamedTuple):
    """A mechanism to simulate from its neutral position, with initial velocities v (nv,) and a duration [s]."""

    name: str
    m: lw.Mechanism
    v: Array
    duration: float


def pendulums(duration: float = 30.0) -> Machine:
    """Return Wendlandt's double spherical pendulum: two balls on massless rods, as in his Table 2.2."""
    x, xdot = (rows.reshape(2, 3) for rows in pendulum_start())
    rods, rates = np.diff(x, axis=0, prepend=0.0), np.diff(xdot, axis=0, prepend=0.0)
    b = lw.Builder("pendulums")
    for name, mass, rod in zip(("upper", "lower"), MASSES, rods, strict=True):
        b.body(name, mass, rod, 0.4 * mass * BALL**2 * np.eye(3))
    b.joint("hook", lw.Ball(), "world", "upper")
    b.joint("knot", lw.Ball(), "upper", "lower", at=rods[0])
    spins = np.cross(rods, rates) / (rods * rods).sum(axis=1)[:, None]
    return Machine("pendulums", b.build(), np.concatenate([spins[0], spins[1] - spins[0]]), duration)


def tree(duration: float = 10.0, joints: int = 30) -> Machine:
    """Return a hanging binary tree of links with alternating joint axes and random initial rates."""
    b = lw.Builder("tree")
    for k in range(1, joints + 1):
        b.body(f"link {k}", 0.5, (0.02, -0.01, -0.1), np.diag([0.004, 0.004, 0.001]))
        at = (0.05 * (-1.0) ** k, 0.0, -0.2) if k > 1 else (0.0, 0.0, 0.0)
        parent = f"link {k // 2}" if k > 1 else "world"
        b.joint(f"joint {k}", lw.Revolute(np.eye(3)[k % 2]), parent, f"link {k}", at=at)
    return Machine(f"tree{joints}", b.build(), np.random.default_rng(1).normal(size=joints), duration)


MACHINES: dict[str, Callable[..., Machine]] = {"pendulums": pendulums, "tree30": tree}


# --- contenders ---


def linkwork(machine: Machine, method: str, h: float, order: int | None = None) -> Contender:
    """Return the contender `lw.simulate`, with every step recorded; it reads the motion at the compared times."""
    m, steps = machine.m, round(machine.duration / h)
    found = linkwork_rollout(Rollout(m, method, m.neutral(), machine.v, steps, partial(seldom, h), h), order)
    return found._replace(name=f"linkwork, {method}" + (f", order {order}" if order else ""))


def mujoco(machine: Machine, integrator: str, h: float) -> Contender:
    """Return the contender `mujoco.rollout`, with every step recorded."""
    m, steps = machine.m, round(machine.duration / h)
    task = Rollout(m, integrator, m.neutral(), machine.v, steps, partial(seldom, h), h)
    return mujoco_rollout(task)._replace(name=f"MuJoCo, {integrator}")


def seldom(h: float, m: lw.Mechanism, q: Array, v: Array) -> Array:
    """Return the motion (T, bodies, 9) at the compared times, from samples at every step h [s]."""
    every = round(EVERY / h)
    return motion(m, q[0, every - 1 :: every], v[0, every - 1 :: every])


def motion(m: lw.Mechanism, q: Array, v: Array) -> Array:
    """Return the motion (T, bodies, 9) of all bodies at the states q, v.

    It has centres of mass and their velocities in the world, and angular velocities in body axes.
    """
    d = compiled(m)
    poses, twists = d.poses(q), d.velocities(q, v)
    com = np.array([body.inertia.moment / body.inertia.mass for body in m.bodies[1:]])
    R, w = poses[..., :3, :3], twists[..., 3:]
    centre = poses[..., :3, 3] + np.einsum("tbij,bj->tbi", R, com)
    rate = np.einsum("tbij,tbj->tbi", R, twists[..., :3] + np.cross(w, com))
    return np.concatenate([centre, rate, w], axis=-1)


@cache
def compiled(m: lw.Mechanism) -> Any:
    """Return the `Dynamics` of a mechanism, compiled once."""
    return lw.compile(m)


def exudyn(machine: Machine, h: float) -> Contender:
    """Return the contender Exudyn: rigid bodies with joint constraints, generalized-alpha with default damping."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exu: Any = import_module("exudyn")
            tools: Any = import_module("exudyn.utilities")
    except ModuleNotFoundError:
        raise NotAvailable("Exudyn is not installed (pip install exudyn)") from None
    m = machine.m
    poses, start = compiled(m).poses(m.neutral()), motion(m, m.neutral()[None], machine.v[None])[0]
    container = exu.SystemContainer()  # keep a reference: it owns the system
    system = container.AddSystem()
    bodies = [system.CreateGround()]
    for body, X, state in zip(m.bodies[1:], poses, start, strict=True):
        bodies.append(
            system.CreateRigidBody(
                inertia=tools.RigidBodyInertia(mass=float(body.inertia.mass), inertiaTensor=central(body)),
                referencePosition=state[:3],
                referenceRotationMatrix=X[:3, :3],
                initialVelocity=state[3:6],
                initialAngularVelocity=X[:3, :3] @ state[6:],
                gravity=list(m.gravity),
            )
        )
    for j in m.joints:
        X = poses[j.o - 1]
        held = {"itemNumbers": [bodies[j.i], bodies[j.o]], "position": X[:3, 3], "useGlobalFrame": True}
        if isinstance(j.kind, lw.Revolute):
            system.CreateRevoluteJoint(axis=X[:3, :3] @ np.array(j.kind.axis), **held)
        else:
            system.CreateSphericalJoint(**held)
    kinds = (
        exu.OutputVariableType.Position,
        exu.OutputVariableType.Velocity,
        exu.OutputVariableType.AngularVelocityLocal,
    )
    sensors = [
        [
            system.AddSensor(tools.SensorBody(bodyNumber=b, storeInternal=True, outputVariableType=kind))
            for kind in kinds
        ]
        for b in bodies[1:]
    ]
    system.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = round(machine.duration / h)
    settings.timeIntegration.endTime = machine.duration
    settings.timeIntegration.verboseMode = 0
    settings.timeIntegration.newton.useModifiedNewton = True  # the fastest setting
    settings.timeIntegration.adaptiveStep = False
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = EVERY

    def call() -> Any:
        assert container is not None
        return system.SolveDynamic(settings, solverType=exu.DynamicSolverType.GeneralizedAlpha)

    def read(_: Any) -> Array:
        rows = [np.hstack([system.GetSensorStoredData(one)[1:, 1:] for one in three]) for three in sensors]
        return np.stack(rows, axis=1)

    try:
        call()
    except exu.SolverError:
        raise NotAvailable(f"Exudyn finds no solution with steps of {h:g} s") from None
    return Contender("Exudyn, generalized-alpha", call, read)


def central(body: Any) -> Array:
    """Return the moments of inertia (3, 3) [kg m^2] of a body about its centre of mass."""
    inertia = body.inertia
    com = inertia.moment / inertia.mass
    return inertia.rotational - inertia.mass * (com @ com * np.eye(3) - np.outer(com, com))


# --- accuracy ---


@cache
def reference(name: str) -> Array:
    """Return the reference motion of the mechanism `name`, on which two methods must agree."""
    machine = MACHINES[name]()
    m, h = machine.m, 2e-4
    fine = lw.simulate(
        m, m.neutral(), machine.v, machine.duration, EVERY, "dop853", rtol=1e-13, atol=1e-14, progress=False
    )
    found = motion(m, fine.q[1:], fine.v[1:])
    contender = linkwork(machine, "rk4", h)
    apart = np.abs(found - contender.read(contender.call()))[..., :3].max()
    assert apart < SURE, f"references of {name} differ by {apart:.1e} m"
    return found


def measured(machine: Machine, found: Array) -> dict[str, float]:
    """Return the errors of a motion by name: position [m], and energy relative to the largest kinetic energy.

    The position error is the largest of any centre of mass.
    """
    exact = reference(machine.name)[: len(found)]
    whole = energies(machine.m, found)[1]
    most, right = energies(machine.m, exact)
    return {
        "error [m]": float(np.abs(found - exact)[..., :3].max()),
        "energy drift": float(np.abs(whole - right[0]).max() / most.max()),
    }


def energies(m: lw.Mechanism, found: Array) -> tuple[Array, Array]:
    """Return the kinetic and the total energies, (T,) [J] each, of a motion."""
    masses = np.array([float(body.inertia.mass) for body in m.bodies[1:]])
    inertias = np.array([central(body) for body in m.bodies[1:]])
    centre, rate, w = found[..., :3], found[..., 3:6], found[..., 6:]
    kinetic = 0.5 * (masses * (rate**2).sum(axis=-1)).sum(axis=-1)
    kinetic = kinetic + 0.5 * np.einsum("tbi,bij,tbj->t", w, inertias, w)
    return kinetic, kinetic - ((centre @ m.gravity) * masses).sum(axis=-1)


# --- rows of `make bench` ---

PAIRS: tuple[tuple[str, str], ...] = (
    ("variational", "implicitfast"),
    ("energy-momentum", "implicitfast"),
    ("rk4", "RK4"),
    ("variational", "Exudyn"),
)


def run_beside(name: str, method: str, peer: str, h: float, duration: float | None, effort: Effort, row: Row) -> None:
    """Compare a method of linkwork with a peer at the same step size, and fill the row: time per step and errors."""
    machine = MACHINES[name](*(() if duration is None else (duration,)))
    steps = round(machine.duration / h)
    row.unit, row.size = "us per step", {"nv": machine.m.nv, "states": 1, "steps": steps}
    theirs = partial(exudyn, machine, h) if peer == "Exudyn" else partial(mujoco, machine, peer, h)
    for side, found in both(row, partial(linkwork, machine, method, h), theirs, steps, effort).items():
        row.accuracy[side] = measured(machine, found)


def rows(h: float, duration: float | None, effort: Effort) -> dict[str, Callable[[Row], None]]:
    """Return the benchmarks by name, as functions that fill a row, for steps h [s]; `duration` [s] shortens runs."""
    found: dict[str, Callable[[Row], None]] = {}
    for name in MACHINES:
        for method, peer in PAIRS:
            title = f"{name}: a run by steps of {1e3 * h:g} ms, {method} vs {peer}"
            found[title] = partial(run_beside, name, method, peer, h, duration, effort)
    return found


# --- the figure ---


class Curve(NamedTuple):
    """A curve of the figure: its name, its line style, and the function that makes its contender."""

    name: str
    style: dict[str, Any]
    make: Callable[[Machine, float], Contender]


def curves() -> list[Curve]:
    """Return all curves of the figure: linkwork in colours with filled markers, peers in grey."""
    ours = (
        ("variational", None, "#1f5fa8", "o"),
        ("variational", 4, "#5b9bd5", "P"),
        ("variational", 6, "#0b2f5e", "X"),
        ("energy-momentum", None, "#c2571a", "s"),
        ("rk4", None, "#2a9d57", "^"),
    )
    others = (("RK4", "0.35", "^"), ("implicitfast", "0.6", "v"))
    found = [
        Curve(
            f"linkwork, {method}" + (f", order {order}" if order else ""),
            {"color": colour, "marker": mark},
            lambda x, h, k=method, o=order: linkwork(x, k, h, o),
        )
        for method, order, colour, mark in ours
    ]
    grey = {"fillstyle": "none", "linestyle": "--"}
    found += [
        Curve(f"MuJoCo, {name}", {"color": c, "marker": mark} | grey, lambda x, h, k=name: mujoco(x, k, h))
        for name, c, mark in others
    ]
    return [*found, Curve("Exudyn, generalized-alpha", {"color": "0.5", "marker": "D"} | grey, exudyn)]


def sweep(machine: Machine, effort: Effort) -> dict[str, list[tuple[float, dict[str, float]]]]:
    """Return computing time [s] and errors of every curve at every step size; unavailable contenders are printed."""
    found: dict[str, list[tuple[float, dict[str, float]]]] = {}
    ended: set[str] = set()
    for h in STEPS:
        present: dict[str, Contender] = {}
        for curve in curves():
            if curve.name in ended:
                continue
            try:
                present[curve.name] = curve.make(machine, h)
            except NotAvailable as reason:
                print(f"{machine.name} h={h:g} {curve.name}: {reason}", flush=True)
        timings = race(list(present.values()), 1e6, effort)
        for (name, contender), timing in zip(present.items(), timings, strict=True):
            quality = measured(machine, contender.read(contender.call()))
            found.setdefault(name, []).append((timing.median, quality))
            if timing.median > LONG:
                ended.add(name)
            print(f"{machine.name} h={h:g} {name}: {timing.median:.4f} s ±{timing.spread:.0%} {quality}", flush=True)
    return found


def draw(file: Path, effort: Effort) -> None:
    """Draw position errors and energy errors of all mechanisms against computing time to a file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 7.6), layout="constrained")
    axes = figure.subplots(2, len(MACHINES), sharex="col")
    titles = {"pendulums": "double spherical pendulum, 30 s", "tree30": "tree of 30 joints, 10 s"}
    for column, (name, make) in enumerate(MACHINES.items()):
        found = sweep(make(), effort)
        for row, (what, label) in enumerate(
            (("error [m]", "largest position error [m]"), ("energy drift", "energy error / kinetic energy"))
        ):
            one = axes[row][column]
            for curve in curves():
                points = [(t, quality[what]) for t, quality in found.get(curve.name, []) if np.isfinite(quality[what])]
                if points:
                    one.loglog(*np.array(points).T, label=curve.name, linewidth=1.3, markersize=5, **curve.style)
            one.grid(color="0.92", linewidth=0.8)
            one.set_axisbelow(True)
            one.set_ylabel(label)
        axes[0][column].set_title(titles[name], fontsize=11)
        axes[1][column].set_xlabel("computing time, one thread [s]")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(file, dpi=110)


def main() -> None:
    """Draw the figure to the file given on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.structure_preservation", description=__doc__)
    parser.add_argument("file", type=Path, help="file of the figure")
    parser.add_argument("--quick", action="store_true", help="short measurement")
    arguments = parser.parse_args()
    draw(arguments.file, QUICK if arguments.quick else TURNS)


if __name__ == "__main__":
    main()
