"""What `linkwork run` does: a machine from its name or file, a run of it, its report, and what is left in a folder."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.text import Text

import linkwork as lw
from linkwork.errors import unknown_name
from linkwork.model.mechanism import Joint
from linkwork.papers.output import DOUBTED, TRUSTED, drawing, ready_folder
from linkwork.spatial.scalar import Array

SPEED = 0.5  # of random velocities [rad/s, m/s]
OPEN = 1e-9  # errors of closure [m or rad] of a start that is closed as it is
MODEL_FILES = (".toml", ".urdf", ".xml", ".xacro")


class Start(NamedTuple):
    """Where a run starts: coordinates q (nq,), velocities v (nv,), and how they came about."""

    q: Array
    v: Array
    about: str


def run_machine(
    console: Console, what: str, out: Path, seed: int, plot: bool | None, report: bool, compare: bool, **how: Any
) -> int:
    """Run an example or a model file with the arguments `how` of `simulate`; TRUSTED, or DOUBTED if a check failed.

    What is None in `how` is left to the example, or to `simulate`.
    """
    drawn = drawing(plot)
    asked = {name: value for name, value in how.items() if value is not None}
    request = next((one.request(asked.get("duration")) for one in lw.examples() if one.name == what), {})
    about = "with the motors and the schedule of the example"
    m = request["mechanism"] if request else found(console, what)
    ready_folder(out)
    if not request:
        q, v, about = start_of(m, seed)
        request = {"mechanism": m, "q0": q, "v0": v}
    console.print(Text(f"{m.name}: {m.nv} degrees of freedom, {m.mass:.6g} kg; {about}"), soft_wrap=True)
    return finish(console, lw.simulate(**request | asked), out, drawn, report, compare)


def finish(console: Console, run: lw.Run, out: Path, drawn: bool, told: bool = True, compare: bool = False) -> int:
    """Write a run and its figure to a folder and print its report; TRUSTED, or DOUBTED if a check failed."""
    name = re.sub(r"[^\w.-]+", "_", run.mechanism.name).strip(".") or "run"
    files = [out / f"{name}.npz"]
    run.save(files[0])
    if drawn:
        files.append(out / f"{name}.png")
        run.plot(path=files[-1])
    report = run.report(compare)
    if told:
        console.print(report)
    elif not report.passed:
        console.print(Text(report.summary, "bold red"))
    console.print(Text(f"written: {', '.join(map(str, files))}"), soft_wrap=True)
    return TRUSTED if report.passed else DOUBTED


def found(console: Console, what: str) -> lw.Mechanism:
    """The example of that name, or the mechanism of that file; warnings of files are told."""
    names = [example.name for example in lw.examples()]
    if what in names:
        return lw.example(what)
    if not (Path(what).exists() or what.lower().endswith(MODEL_FILES)):
        raise unknown_name("example", what, names, " There is no such file either.")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        m = lw.load(what)
    for warning in caught:
        console.print(Text.assemble(("warning: ", "yellow"), str(warning.message)), soft_wrap=True)
    return m


def start_of(m: lw.Mechanism, seed: int) -> Start:
    """The keyframe "start" or the first, or the neutral position within limits; random velocities where there are none.

    Loops that are open there are closed, and velocities keep them so.
    """
    d = lw.compile(m, target="numpy")
    if m.keyframes:
        first = m.keyframes["start" if "start" in m.keyframes else 0]
        q, v, about = first.q, first.v, f"from keyframe {first.name!r}"
    else:
        q, v, about = m.by_joint(_neutral_within_limits), np.zeros(m.nv), "from its neutral position"
    if np.abs(d.constraint(q)).max(initial=0.0) > OPEN:
        q, about = d.assemble(q), f"{about}, where its loops were closed"
    if np.any(v):
        return Start(q, d.consistent(q, v), about)
    v = d.consistent(q, np.random.default_rng(seed).normal(size=m.nv) * SPEED)
    return Start(q, v, f"{about}, with random velocities of about {SPEED:g} rad/s and m/s (seed {seed})")


def _neutral_within_limits(joint: Joint) -> Array:
    q = joint.kind.neutral()
    limited = np.isfinite(joint.lower).any() or np.isfinite(joint.upper).any()
    return np.clip(q, joint.lower, joint.upper) if limited and joint.kind.nq == joint.kind.nv else q
