"""Contact between solids in linkwork and in MuJoCo: a thrown box, stacks of boxes, a humanoid that stands or falls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.four_bar_ladders import both
from benchmarks.peer_libraries import Contender, NotAvailable
from benchmarks.simulation_speed import spaced
from benchmarks.timing import Effort, Row

import linkwork as lw
from linkwork.spatial.scalar import Array

STEP = 1e-3  # [s]
FRICTION, SIDE, MASS = 0.5, 0.2, 1.0  # of the boxes; side [m], mass [kg]
GAP, TILT = 0.01, 0.02  # between the boxes of a stack at the start [m], and their random tilt [rad]
# Heights of the humanoid's root [m]: its soles touch the floor, and 0.11 m above the floor; random joint angles [rad]
STANDING, FALLING = 1.2855, 1.4
SLACK = 0.05
CROWD_TURNS = 3  # least number of turns with many members, since a turn takes up to half a minute


class Scene(NamedTuple):
    """A mechanism of linkwork and the same model as MJCF, with start states q (n, nq) and v (n, nv)."""

    mechanism: lw.Mechanism
    mjcf: str
    q: Array
    v: Array


def stack(count: int, members: int, thrown: bool = False) -> Scene:
    """Return a stack of `count` boxes that fall by a small gap with a small tilt, or one thrown box."""
    b = lw.Builder(f"stack{count}").surface("floor", lw.Plane())
    inertia = MASS * SIDE**2 / 6.0 * np.ones(3)
    bodies = []
    for k in range(count):
        b.body(f"box {k}", MASS, inertia=inertia).joint(f"free {k}", lw.Free(), "world", f"box {k}")
        b.geometry(f"box {k}", lw.Box((SIDE, SIDE, SIDE)), role="collision")
        bodies.append(
            f'<body pos="0 0 {k + 1}"><freejoint/><inertial pos="0 0 0" mass="{MASS}" diaginertia="{spaced(inertia)}"/>'
            f'<geom type="box" size="{SIDE / 2} {SIDE / 2} {SIDE / 2}" friction="{FRICTION} 0 0"/></body>'
        )
    m = b.collide("all", friction=FRICTION).build()
    rng = np.random.default_rng(count)
    q, v = np.zeros((members, count, 7)), np.zeros((members, count, 6))
    q[..., 2] = SIDE / 2 + np.arange(count) * SIDE + (1 + np.arange(count)) * GAP
    q[..., 3] = 1.0
    q[..., 4:] = rng.normal(size=(members, count, 3)) * (0.5 if thrown else 0.5 * TILT)
    if thrown:
        q[..., 2] += SIDE
        v += rng.normal(size=v.shape)
    text = (
        f'<mujoco><option timestep="{STEP}" gravity="0 0 -9.81"/><worldbody>'
        f'<geom type="plane" size="5 5 0.1" friction="{FRICTION} 0 0"/>{"".join(bodies)}</worldbody></mujoco>'
    )
    return Scene(m, text, q.reshape(members, -1), v.reshape(members, -1))


def humanoid(members: int, height: float = FALLING) -> Scene:
    """Return the humanoid of dm_control's suite with its root at a height [m]; without control, it falls to the floor.

    From the height STANDING, it stands upright at first.
    """
    try:
        suite: Any = import_module("dm_control.suite")
    except ModuleNotFoundError:
        raise NotAvailable("dm_control is not installed (the extra 'peers')") from None
    path = Path(suite.__file__).parent / "humanoid.xml"
    m = lw.load(path, contacts=True)
    q = np.tile(m.neutral(), (members, 1))
    q[:, 2] = height
    if height > STANDING:
        q[:, 7:] += SLACK * np.random.default_rng(0).normal(size=(members, m.nq - 7))
    else:
        q[:, :2] += np.random.default_rng(0).normal(size=(members, 2))
    return Scene(m, str(path), q, np.zeros((members, m.nv)))


def linkwork(scene: Scene, steps: int, threads: int) -> Contender:
    """Return the contender `lw.simulate` with rigid contacts; it reads the final coordinates (n, nq)."""

    def call() -> lw.Run:
        return lw.simulate(
            scene.mechanism, scene.q, scene.v, duration=steps * STEP, dt=STEP, contact="rigid", record=("q",),
            every=steps, threads=threads, progress=False,
        )  # fmt: skip

    call()  # the first call compiles the kernel
    return Contender("linkwork, rigid contact", call, lambda run: run.q[:, -1])


def mujoco(scene: Scene, steps: int, threads: int) -> Contender:
    """Return the contender `mujoco.rollout` with its default settings; it reads the final coordinates (n, nq)."""
    try:
        there: Any = import_module("mujoco")
        rollout: Any = import_module("mujoco.rollout")
    except ModuleNotFoundError:
        raise NotAvailable("MuJoCo is not installed (the extra 'peers')") from None
    load = there.MjModel.from_xml_string if scene.mjcf.startswith("<") else there.MjModel.from_xml_path
    model = load(scene.mjcf)
    model.opt.timestep = STEP
    spec, m = there.mjtState.mjSTATE_FULLPHYSICS, scene.mechanism
    data = [there.MjData(model) for _ in range(threads)]
    start = np.zeros((len(scene.q), there.mj_stateSize(model, spec)))
    q, v = lw.convert(m, scene.q, scene.v, target="mujoco")
    start[:, 1 : 1 + m.nq], start[:, 1 + m.nq : 1 + m.nq + m.nv] = q, v

    def call() -> Array:
        return rollout.rollout(model, data if threads > 1 else data[0], start, nstep=steps)[0]

    def read(found: Array) -> Array:
        return np.asarray(found)[:, -1, 1 : 1 + m.nq]

    return Contender("mujoco.rollout, default settings", call, read)


def lowest(scene: Scene, q: Array) -> float:
    """Return the height [m] of the lowest free body in the final coordinates q (n, nq)."""
    places = [joint.q.start + 2 for joint in scene.mechanism.joints if isinstance(joint.kind, lw.Free)]
    return float(q[:, places].min())


def run_scene(
    make: Callable[[int], Scene], members: int, duration: float, threads: int, effort: Effort, row: Row
) -> None:
    """Compare the time per member and step, and the height of the lowest body at the end, and fill the row."""
    scene, steps = make(members), round(duration / STEP)
    row.unit = "us per step"
    row.size = {"nv": scene.mechanism.nv, "states": members, "steps": steps}
    entries = partial(linkwork, scene, steps, threads), partial(mujoco, scene, steps, threads)
    for side, q in both(row, *entries, members * steps, effort).items():
        row.accuracy[side] = {"height of the lowest body [m]": lowest(scene, q)}


def rows(many: int, duration: float, effort: Effort, counts: tuple[int, ...]) -> dict[str, Callable[[Row], None]]:
    """Return the benchmarks of contact scenes by name, alone and with `many` members, as functions that fill a row."""
    scenes: dict[str, Callable[[int], Scene]] = {"thrown box": partial(stack, 1, thrown=True)}
    scenes |= {f"stack of {count} boxes": partial(stack, count) for count in counts}
    scenes |= {"humanoid, standing": partial(humanoid, height=STANDING), "humanoid, falling": humanoid}
    found: dict[str, Callable[[Row], None]] = {}
    for name, make in scenes.items():
        found[f"contact: {name}, alone"] = partial(run_scene, make, 1, duration, 1, effort)
    long = effort._replace(least=min(effort.least, CROWD_TURNS))
    for name, make in scenes.items():
        found[f"contact: {name}, {many} members"] = partial(run_scene, make, many, duration, 2, long)
    return found
