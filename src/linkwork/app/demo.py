"""Demo: a free-flying robot moves both arms, and its base reacts. `python -m linkwork.app.demo` or `make demo`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from timeit import repeat
from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import linkwork as lw
from linkwork.app.check_command import BROKEN, refusal
from linkwork.app.run_command import finish
from linkwork.app.terminal_output import Terminal, exiting_after_interrupt
from linkwork.papers.output_folder import drawing, ready_folder
from linkwork.spatial.scalar import Array

OUT = Path("out")
DURATION, RAMP = 10.0, 6.0  # duration of the run, and of the motion to the target position [s]
TARGET = np.radians([60.0, -40.0, 70.0, 30.0, 50.0, 0.0, -20.0, 30.0, -60.0, 0.0, -45.0, 20.0])  # left arm, right arm
STIFFNESS = np.tile([80.0, 80.0, 40.0, 2.0, 2.0, 1.0], 2)  # gain at each joint [N m/rad]
DAMPING = np.tile([60.0, 60.0, 30.0, 0.5, 0.5, 0.2], 2)  # gain at each joint [N m s/rad]


def reach(t: Any, q: Array, v: Array) -> Array:
    """Return the joint forces (18,) [N, N m] of a PD controller that moves both arms smoothly to TARGET.

    The forces on the base are zero.
    """
    done = np.minimum(t / RAMP, 1.0)
    path = done * done * (3.0 - 2.0 * done)
    return np.concatenate([np.zeros(6), STIFFNESS * (path * TARGET - q[7:]) - DAMPING * v[6:]])


def main() -> int:
    """Print the robot, simulate it, print results and the report, and write a run file and a figure to the folder
    out.
    """
    console, start = Terminal(), time.perf_counter()
    try:
        ready_folder(OUT)
        m = lw.example("free_flyer")
        console.print(Panel(Text(str(m)), title="A free-flying two-arm robot", expand=False))
        run = lw.simulate(m, duration=DURATION, controller=reach)
        console.print(_arms(run), _reaction(run), Text(_speed(m)), sep="\n")
        check = lw.cross_check(m, samples=5)
        console.print(Panel(Text(str(check)), title="Comparison of six independent formulations", expand=False))
        code = finish(console, run, OUT, drawing(None))
    except lw.LinkworkError as error:
        Terminal(stderr=True).print(refusal(error), soft_wrap=True)
        return BROKEN
    console.print(f"done in {time.perf_counter() - start:.1f} s")
    return code


def _arms(run: lw.Run) -> Table:
    """Return a table of the arms' initial, target and final joint angles [degrees] and largest torques [N m]."""
    title = Text(f"The arms move to their target in {RAMP:g} s and hold it [degrees, N m]")
    table = Table("joint", "start", "target", "end", "largest torque", box=SIMPLE, title=title, title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for joint, target in zip(run.mechanism.joints[1:], np.degrees(TARGET), strict=True):
        first, last = np.degrees(run.q[[0, -1], joint.q.start]).round(1) + 0.0  # adding 0.0 changes -0 to 0
        most = np.abs(run.tau[:, joint.v.start]).max()
        table.add_row(joint.name, f"{first:.1f}", f"{target:.1f}", f"{last:.1f}", f"{most:.2f}")
    return table


def _reaction(run: lw.Run) -> Table:
    """Return a table of the displacements of base, tool and centre of mass in a run, and its drift of momentum."""
    base, tool = run["pose.base"][[0, -1]], run["pose.left tool"][[0, -1]]
    turned = np.degrees(np.linalg.norm(run.mechanism.difference(run.q[0], run.q[-1])[3:6]))
    drift = np.abs(run.momentum - run.momentum[0]).max(axis=0)
    centre = np.abs(run["center_of_mass"] - run["center_of_mass"][0]).max()
    table = Table("quantity", "value", box=SIMPLE, title="Motion of the base; conserved momentum", title_justify="left")
    table.add_row("displacement of the left tool", f"{np.linalg.norm(np.diff(tool[:, :3, 3], axis=0)):.3f} m")
    table.add_row("displacement of the base", f"{np.linalg.norm(np.diff(base[:, :3, 3], axis=0)):.3f} m")
    table.add_row("rotation of the base", f"{turned:.2f} degrees")
    table.add_row("largest drift of the centre of mass", f"{centre:.1e} m")
    table.add_row("largest drift of the momentum, initially zero", f"{drift[:3].max():.1e} kg m/s")
    table.add_row("largest drift of the angular momentum", f"{drift[3:].max():.1e} kg m^2/s")
    return table


def _speed(m: lw.Mechanism) -> str:
    """Return a sentence with the median time of forward dynamics on this computer, for one state and for a batch."""
    d, rng = lw.compile(m), np.random.default_rng(2)
    q, v, tau = np.array([m.random(rng) for _ in range(2000)]), np.ones(m.nv), np.zeros(m.nv)
    once = np.median(repeat(lambda: d.forward_dynamics(q[0], v, tau), number=500, repeat=7)) / 500
    many = np.median(repeat(lambda: d.forward_dynamics(q, v, tau), number=1, repeat=7)) / len(q)
    return (
        f"forward dynamics, compiled for this robot: {once * 1e6:.1f} us for one state, "
        f"{many * 1e6:.2f} us per state in a batch of {len(q)}"
    )


if __name__ == "__main__":
    with exiting_after_interrupt():
        sys.exit(main())
