"""`linkwork run`: simulates an example or a model file, prints the report, writes a run file and a figure."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

import linkwork as lw
from linkwork.app.terminal_output import INTERRUPTED, keeping_stopped_runs, labelled, plain
from linkwork.errors import unknown_name
from linkwork.model.mechanism import Joint
from linkwork.papers.output_folder import FAILED, PASSED, drawing, ready_folder
from linkwork.spatial.scalar import Array

SPEED = 0.5  # standard deviation of random velocities [rad/s, m/s]
OPEN = 1e-9  # if a closure error at the start [m or rad] is larger, the loops are closed first
MODEL_FILES = (".toml", ".urdf", ".xml", ".xacro")


class Start(NamedTuple):
    """Initial state of a run: coordinates q (nq,), velocities v (nv,), and a text `about` on how the state was
    chosen.
    """

    q: Array
    v: Array
    about: str


def run_machine(
    console: Console, what: str, out: Path, seed: int, plot: bool | None, report: bool, compare: bool, **how: Any
) -> int:
    """Simulate an example or a model file; return PASSED, FAILED if a check failed, or INTERRUPTED after Ctrl-C.

    `what` is the name of the example or file, `out` the folder for results, and `seed` the seed of random velocities.
    `plot`, `report` and `compare` are true to draw a figure, to print the report, and to repeat the run with half the
    step. `how` are arguments of `simulate`; for None, the value of the example applies, or else the default.
    """
    drawn = drawing(plot)
    given = {name: value for name, value in how.items() if value is not None}
    arguments = next((one.arguments(given.get("duration")) for one in lw.examples() if one.name == what), {})
    about = "with the settings of the example: controller, schedule, method and step"
    m = arguments["mechanism"] if arguments else found(console, what)
    ready_folder(out)
    if not arguments:
        q, v, about = start_of(m, seed)
        arguments = {"mechanism": m, "q0": q, "v0": v}
    console.print(plain(f"{m.name}: {m.nv} degrees of freedom, {m.mass:.6g} kg; {about}"), soft_wrap=True)
    with keeping_stopped_runs():
        run = lw.simulate(**arguments | given)
    if any(outcome.kind == "stopped" for outcome in run.outcomes.flat):
        return _save_stopped(console, run, out)
    return finish(console, run, out, drawn, report, compare)


def finish(console: Console, run: lw.Run, out: Path, drawn: bool, shown: bool = True, compare: bool = False) -> int:
    """Write a run and its figure to a folder and print its report; return PASSED, or FAILED if a check failed.

    The figure is drawn if `drawn` is true, and the report printed if `shown` is true; if `compare` is true, the run is
    repeated with half the step.
    """
    files = [_run_file(run, out)]
    run.save(files[0])
    if drawn:
        files.append(files[0].with_suffix(".png"))
        run.plot(path=files[-1])
    report = run.report(compare)
    if shown:
        console.print(report)
    elif not report.passed:
        console.print(plain(report.summary, "bold red"))
    console.print(plain(f"written: {', '.join(map(str, files))}"), soft_wrap=True)
    return PASSED if report.passed else FAILED


def _save_stopped(console: Console, run: lw.Run, out: Path) -> int:
    """Write the computed part of a run that the user stopped with Ctrl-C; return INTERRUPTED."""
    file = _run_file(run, out)
    run.save(file)
    console.print(plain(f"interrupted; written: {file} with {len(run.t)} samples"), soft_wrap=True)
    return INTERRUPTED


def _run_file(run: lw.Run, out: Path) -> Path:
    """Return the path of the run file of a run in the folder `out`."""
    name = re.sub(r"[^\w.-]+", "_", run.mechanism.name).strip(".") or "run"
    return out / f"{name}.npz"


def found(console: Console, what: str) -> lw.Mechanism:
    """Return the mechanism of the example or model file named `what`; print the warnings about the file."""
    names = [example.name for example in lw.examples()]
    if what in names:
        return lw.example(what)
    if not (Path(what).exists() or what.lower().endswith(MODEL_FILES)):
        raise unknown_name("example", what, names, " There is no file of this name either.")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        m = lw.load(what)
    for warning in caught:
        console.print(labelled("warning: ", "yellow", str(warning.message)), soft_wrap=True)
    return m


def start_of(m: lw.Mechanism, seed: int) -> Start:
    """Return the initial state of a run: keyframe "start", else the first keyframe, else the neutral position.

    If all velocities are zero, they are replaced by random velocities from the random seed `seed`. If a closure error
    of the position exceeds OPEN, the loops are closed first. The velocities satisfy the constraints.
    """
    d = lw.compile(m, target="numpy")
    if m.keyframes:
        first = m.keyframes["start" if "start" in m.keyframes else 0]
        q, v, about = first.q, first.v, f"from keyframe {first.name!r}"
    else:
        q, v, about = m.by_joint(_neutral_within_limits), np.zeros(m.nv), "from its neutral position"
    if np.abs(d.constraint(q)).max(initial=0.0) > OPEN:
        q, about = d.assemble(q), f"{about}, after closing its loops"
    if np.any(v):
        return Start(q, d.consistent(q, v), about)
    v = d.consistent(q, np.random.default_rng(seed).normal(size=m.nv) * SPEED)
    return Start(q, v, f"{about}, with random velocities of about {SPEED:g} rad/s or m/s (seed {seed})")


def _neutral_within_limits(joint: Joint) -> Array:
    """Return the neutral coordinates of a joint, clipped to its limits unless the joint has a quaternion."""
    q = joint.kind.neutral()
    limited = np.isfinite(joint.lower).any() or np.isfinite(joint.upper).any()
    return np.clip(q, joint.lower, joint.upper) if limited and joint.kind.nq == joint.kind.nv else q
