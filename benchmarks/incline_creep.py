"""Creep of a block that should stick on an incline, in linkwork and in MuJoCo with several settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from benchmarks.four_bar_ladders import both
from benchmarks.peer_libraries import Contender, NotAvailable
from benchmarks.simulation_speed import spaced
from benchmarks.timing import Effort, Row

import linkwork as lw
from linkwork.examples import incline_block as block
from linkwork.spatial.scalar import Array

STEP = 1e-3  # [s]
SETTLING = 2.0  # time before the creep is measured [s]
INCLINES = ((0.1, 0.0), (0.2, 1.0), (0.3, 2.5))  # angle of each incline, and azimuth of its descent [rad]
SETTINGS = {
    "MuJoCo, default settings": "",
    "MuJoCo, elliptic cones, impratio 100": 'cone="elliptic" impratio="100"',
    "MuJoCo, elliptic cones, impratio 100, 100 noslip iterations": (
        'cone="elliptic" impratio="100" noslip_iterations="100" noslip_tolerance="0"'
    ),
}


def downhill() -> Array:
    """Return the gravity vectors (3, 3) [m/s^2] of the three inclines, in the axes of the incline."""
    angle, azimuth = np.array(INCLINES).T
    across = np.sin(angle)
    return block.GRAVITY * np.stack([across * np.cos(azimuth), across * np.sin(azimuth), -np.cos(angle)], axis=1)


def linkwork(duration: float) -> Contender:
    """Return the contender `lw.simulate`, which simulates the blocks on all inclines as one batch.

    It reads positions (3, T, 3) [m] every 0.1 s.
    """
    m, gravity = block.build(0.0), downhill()
    q = np.tile(block.resting(0.0), (len(INCLINES), 1))

    def call() -> lw.Run:
        return lw.simulate(
            m, q, duration=duration, dt=STEP, method="variational", record=("q",), every=100, threads=1,
            parameters={"gravity": gravity}, progress=False,
        ).check()  # fmt: skip

    call()  # the first call compiles the kernel
    return Contender("linkwork, variational", call, lambda run: run.q[..., :3])


def mujoco(name: str, duration: float) -> Contender:
    """Return the contender `mujoco.rollout`, which simulates a box on a plane with the same mass and inertia."""
    try:
        there: Any = import_module("mujoco")
        rollout: Any = import_module("mujoco.rollout")
    except ModuleNotFoundError:
        raise NotAvailable("MuJoCo is not installed (the extra 'peers')") from None
    models = [there.MjModel.from_xml_string(mjcf(gravity, SETTINGS[name])) for gravity in downhill()]
    spec, steps = there.mjtState.mjSTATE_FULLPHYSICS, round(duration / STEP)
    data = [there.MjData(model) for model in models]
    starts = [np.zeros((1, there.mj_stateSize(model, spec))) for model in models]
    for start, model in zip(starts, models, strict=True):
        start[0, 1 : 1 + model.nq] = model.qpos0

    def call() -> list[Array]:
        runs = zip(models, data, starts, strict=True)
        return [rollout.rollout(model, one, start, nstep=steps)[0][0, 99::100, 1:4] for model, one, start in runs]

    return Contender(name, call, np.stack)


def mjcf(gravity: Array, option: str) -> str:
    """Return the MJCF model of the block on a plane, with this gravity (3,) [m/s^2]."""
    width, depth, height = block.SIZE
    inertia = block.MASS / 12.0 * (np.square(block.SIZE).sum() - np.square(block.SIZE))
    half, friction = (width / 2, depth / 2, height / 2), f'friction="{block.FRICTION} 0 0" condim="3"'
    return f"""<mujoco><option timestep="{STEP}" gravity="{spaced(gravity)}" {option}/><worldbody>
<geom type="plane" size="5 5 0.1" {friction}/><body pos="0 0 {height / 2}"><freejoint/>
<inertial pos="0 0 {-height / 2}" mass="{block.MASS}" diaginertia="{spaced(inertia)}"/>
<geom type="box" size="{spaced(np.array(half))}" {friction}/></body></worldbody></mujoco>"""


def crept(places: Array) -> float:
    """Return the largest distance [m] of a block from its settled position, for positions (3, T, 3) [m] every 0.1 s."""
    settled = places[:, round(SETTLING / 0.1) :]
    return float(np.linalg.norm(settled - settled[:, :1], axis=-1).max())


def run_creep(name: str, minute: float, effort: Effort, row: Row) -> None:
    """Measure the time per block and step, and the largest creep in `minute` seconds after settling."""
    duration = SETTLING + minute
    steps = len(INCLINES) * round(duration / STEP)
    row.unit, row.size = "us per step", {"nv": 6, "states": len(INCLINES), "steps": steps}
    for side, places in both(row, partial(linkwork, duration), partial(mujoco, name, duration), steps, effort).items():
        row.accuracy[side] = {f"creep in {minute:g} s [m]": crept(places)}


def rows(minute: float, effort: Effort) -> dict[str, Callable[[Row], None]]:
    """Return the creep benchmarks by name, as functions that fill a row of the result table."""
    return {f"incline: a block that sticks, {name}": partial(run_creep, name, minute, effort) for name in SETTINGS}
