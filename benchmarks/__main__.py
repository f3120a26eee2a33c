"""`python -m benchmarks`: compares linkwork with other libraries (peers); prints tables and writes a JSON file."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import (
    bearing_friction,
    contact_scenes,
    four_bar_ladders,
    incline_creep,
    peer_libraries,
    structure_preservation,
    variational_step_times,
    walkers,
)
from benchmarks.robots import BUNDLED, CHAIN, Robot, States, draw, robot
from benchmarks.simulation_speed import run_rollout
from benchmarks.timing import AGREE, FULL, QUICK, Effort, Row, Timing, compare, compare_compile
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

PACKAGES = ("linkwork", "numpy", "pin", "example-robot-data", "mujoco", "exudyn", "llvmlite")
BUSY = 0.5  # load average at the start above which the computer counts as busy
WIDTH = 160  # columns of output that does not go to a terminal


class Sizes(NamedTuple):
    """Sizes of all benchmarks: mechanisms and numbers of states. Derivatives are few: each has 3 nv^2 numbers."""

    robots: tuple[str, ...]
    chains: tuple[int, ...]
    batch: int
    derivatives: int
    threads: int
    links: int  # largest product of states and joints in a batch of chains
    compiles: int
    effort: Effort
    rollouts: tuple[tuple[str, str, int, int], ...]  # robot, method, members, steps
    ladders: tuple[int, ...]  # cells
    ladder_steps: int
    structure: tuple[float, float | None]  # step [s] and duration [s] of structure-preserving methods
    step_chains: tuple[int, ...]  # joints
    creep: float  # time for which the creep of blocks is measured [s]
    walkers: tuple[int, float]  # members, and duration of their walk [s]
    contacts: tuple[int, float, tuple[int, ...]]  # members, duration [s], boxes of the stacks
    rubbing: tuple[str, ...]  # robots with friction in all joints


ROLLOUTS = (
    ("arm7", "rk4", 1024, 200),
    ("arm7", "rk4", 1, 20_000),
    ("humanoid", "semi-implicit", 1024, 200),
    ("humanoid", "semi-implicit", 1, 10_000),
)
LADDERS = (1, 2, 5, 10, 20, 50, 100)
LARGE = Sizes(
    tuple(BUNDLED),
    (4, 16, 64, 256, 1024),
    10_000,
    1_000,
    100_000,
    200_000,
    3,
    FULL,
    ROLLOUTS,
    LADDERS,
    1000,
    (1e-3, None),
    (8, 32, 128, 512),
    60.0,
    (1000, 1.0),
    (256, 0.5, (3, 5, 8, 20)),
    ("arm7", "humanoid"),
)
SMALL = Sizes(
    ("arm6", "arm7"),
    (4, 16),
    64,
    16,
    128,
    256,
    1,
    QUICK,
    (("arm7", "rk4", 8, 10),),
    (1, 2),
    10,
    (0.01, 1.0),
    (4, 8),
    1.0,
    (3, 0.1),
    (2, 0.01, (2,)),
    ("arm7",),
)


class Task(NamedTuple):
    """A benchmark of one method of linkwork: its inputs, and the function of a peer that computes the same quantity."""

    title: str
    method: str
    inputs: tuple[str, ...]
    peer: Callable[[Robot, States], peer_libraries.Contender]
    states: Callable[[Sizes], int]


FORWARD = "forward_dynamics", ("q", "v", "tau")
TASKS = (
    Task("forward dynamics, batch", *FORWARD, peer_libraries.aba_batch, lambda z: z.batch),
    Task("inverse dynamics, batch", "inverse_dynamics", ("q", "v", "a"), peer_libraries.rnea_batch, lambda z: z.batch),
    Task("mass matrix, batch", "mass_matrix", ("q",), peer_libraries.crba_loop, lambda z: z.batch),
    Task(
        "forward dynamics derivatives, batch",
        "forward_dynamics_derivatives",
        ("q", "v", "tau"),
        peer_libraries.derivatives_loop,
        lambda z: z.derivatives,
    ),
    Task("forward dynamics, one call", *FORWARD, peer_libraries.aba_once, lambda _: 1),
)
ON_CHAINS = (
    Task("forward dynamics, batch", *FORWARD, peer_libraries.aba_batch, lambda z: z.batch),
    Task("forward dynamics, one call, MuJoCo", *FORWARD, peer_libraries.mujoco_once, lambda _: 1),
)


# --- benchmarks, one per row ---


def plan(sizes: Sizes, target: str) -> dict[str, Callable[[Row], None]]:
    """Return the benchmarks by name (mechanism, then quantity), as functions that fill a row of the result table."""
    rows: dict[str, Callable[[Row], None]] = {}
    for name in sizes.robots:
        for task in TASKS:
            rows[f"{name}: {task.title}"] = partial(run_task, task, name, task.states(sizes), target, sizes.effort)
        rows[f"{name}: forward dynamics, two threads"] = partial(run_threads, name, sizes, target)
        rows[f"{name}: first answer, from cache"] = partial(run_compile, name, sizes, target)
    rows |= bearing_friction.rows(sizes.rubbing, sizes.batch, target, sizes.effort)
    for name, method, members, steps in sizes.rollouts:
        title = f"{name}: rollout, {method}, {members} member{'s' * (members > 1)}"
        rows[title] = partial(run_rollout, name, method, members, steps, sizes.effort)
    for n in sizes.ladders:
        name = f"{four_bar_ladders.LADDER}{n}"
        rows[f"{name}: forward dynamics, one call"] = partial(four_bar_ladders.run_forward, n, target, sizes.effort)
        rows[f"{name}: a simulated run, rk4"] = partial(
            four_bar_ladders.run_second, n, sizes.ladder_steps, sizes.effort
        )
    rows |= structure_preservation.rows(*sizes.structure, sizes.effort)
    rows |= variational_step_times.rows(sizes.step_chains, sizes.effort)
    rows |= incline_creep.rows(sizes.creep, sizes.effort)
    rows |= walkers.rows(*sizes.walkers, sizes.effort)
    members, duration, boxes = sizes.contacts
    rows |= contact_scenes.rows(members, duration, sizes.effort, boxes)
    for n in sizes.chains:
        for task in ON_CHAINS:
            states = min(task.states(sizes), max(1, sizes.links // n))
            rows[f"{CHAIN}{n}: {task.title}"] = partial(run_task, task, f"{CHAIN}{n}", states, target, sizes.effort)
    return rows


def run_task(task: Task, name: str, n: int, target: str, effort: Effort, row: Row) -> None:
    """Compare one method of linkwork with its peer and fill the row; for chains, with times per joint."""
    found, per_joint = robot(name), name.startswith(CHAIN)
    states = draw(found.m, n)
    row.unit = f"us per {'joint' if per_joint else 'state'}"
    row.size = {"nv": found.m.nv, "states": n}
    inputs = tuple(getattr(states, key)[slice(None) if n > 1 else 0] for key in task.inputs)
    ours = partial(peer_libraries.linkwork, found.m, target, task.method, inputs)
    compare(row, ours, partial(task.peer, found, states), n * (found.m.nv if per_joint else 1), effort)


def run_threads(name: str, sizes: Sizes, target: str, row: Row) -> None:
    """Compare linkwork on two threads with linkwork on one thread, and fill the row."""
    m = robot(name).m
    states = draw(m, sizes.threads)
    row.unit, row.size = "us per state", {"nv": m.nv, "states": sizes.threads}
    contender = partial(peer_libraries.linkwork, m, target, FORWARD[0], (states.q, states.v, states.tau))
    two = contender(2)  # if two threads are not available, the comparison is skipped
    compare(row, lambda: two, partial(contender, 1), sizes.threads, sizes.effort)


def run_compile(name: str, sizes: Sizes, target: str, row: Row) -> None:
    """Compare the time until the first result with a filled and with an empty kernel cache, and fill the row."""
    row.unit, row.size = "s", {"nv": robot(name).m.nv, "states": 1}
    compare_compile(row, name, target, sizes.compiles)


# --- computer and versions ---


def surroundings(target: str, quick: bool) -> dict[str, Any]:
    """Return date, versions, processor and load of the computer, for the JSON file."""
    affinity = getattr(os, "sched_getaffinity", None)
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "target": target,
        "quick": quick,
        "python": platform.python_version(),
        "versions": {name: version_of(name) for name in PACKAGES},
        "cpu": {
            "model": cpu_model(),
            "cores": os.cpu_count(),
            "usable_cores": len(affinity(0)) if affinity else os.cpu_count(),
            "load_at_start": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        },
    }


def version_of(package: str) -> str | None:
    """Return the installed version of a package, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def cpu_model() -> str:
    """Return the name of the processor, as far as the system reports it."""
    listing = Path("/proc/cpuinfo")
    lines = listing.read_text(encoding="utf-8").splitlines() if listing.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


# --- tables ---


def table(rows: list[Row]) -> Table:
    """Return the printed table of all benchmark results, with a section for each mechanism.

    The spread (±) is half the distance between the quartiles.
    """
    shown = Table(
        title="ratio = time of peer / time of linkwork; above 1 linkwork is faster", box=SIMPLE, pad_edge=False
    )
    for title in ("benchmark", "states", "linkwork", "peer", "ratio", "agree to", "unit", "peer function"):
        numbers = title in ("states", "linkwork", "peer", "ratio", "agree to")
        shown.add_column(title, justify="right" if numbers else "left")
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        shown.add_row(
            row.name,
            f"{row.size['states']}" if row.size else "",
            timing_text(row.linkwork),
            timing_text(row.peer),
            number_text(row.ratio) if row.ratio else row.status,
            "" if row.disagreement is None else f"{row.disagreement:.0e}",
            row.unit,
            row.peer.name if row.peer else "",
            end_section=following is not None and mechanism(following) != mechanism(row),
        )
    return shown


def accuracy_table(rows: list[Row]) -> Table:
    """Return the printed table of errors of linkwork and of the peer, for benchmarks whose results differ by nature.

    Errors are relative, or in the given unit.
    """
    shown = Table(title="accuracy", box=SIMPLE, pad_edge=False)
    for title in ("benchmark", "error", "linkwork", "peer"):
        shown.add_column(title, justify="right" if title in ("linkwork", "peer") else "left")
    for row in rows:
        ours, theirs = (row.accuracy.get(side, {}) for side in ("linkwork", "peer"))
        for measured in ours | theirs:
            numbers = (f"{side[measured]:.0e}" if measured in side else "-" for side in (ours, theirs))
            shown.add_row(row.name, measured, *numbers)
    return shown


def mechanism(row: Row) -> str:
    """Return the name of the mechanism of a benchmark result: the first part of the row's name."""
    return row.name.partition(":")[0]


def timing_text(timing: Timing | None) -> str:
    """Return a measured time as text: median and spread."""
    if timing is None:
        return "-"
    return number_text(timing.median) + (f" ±{timing.spread:.0%}" if timing.turns > 1 else "")


def number_text(x: float) -> str:
    """Return a number as text with three significant digits, without an exponent."""
    return f"{x:.0f}" if x >= 1000.0 else f"{x:#.3g}".removesuffix(".")


def main() -> int:
    """Run the selected benchmarks; return 1 if one failed or its results differ, else 0."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Compare linkwork with peer libraries: times and results."
    )
    parser.add_argument(
        "--quick", action="store_true", help="short test: small mechanisms, tiny batches, three repetitions"
    )
    parser.add_argument("--only", default="", metavar="NAME", help="run only benchmarks whose name contains NAME")
    parser.add_argument("--target", default="cpu", help="target of lw.compile, cpu or numpy (default: %(default)s)")
    parser.add_argument(
        "--json",
        default="out/benchmarks.json",
        type=Path,
        metavar="FILE",
        help="file for the results (default: %(default)s)",
    )
    arguments = parser.parse_args()
    planned = plan(SMALL if arguments.quick else LARGE, arguments.target)
    chosen = {name: fill for name, fill in planned.items() if arguments.only.lower() in name.lower()}
    if not chosen:
        parser.error(f"no benchmark name contains {arguments.only!r}; valid names:\n  " + "\n  ".join(planned))
    console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False, markup=False)
    rows: list[Row] = []
    about = surroundings(arguments.target, arguments.quick)
    if (about["cpu"]["load_at_start"] or 0.0) > BUSY:
        console.print("The computer is busy: times have a large spread, and a second thread gains little.")
    try:
        for name, fill in chosen.items():
            row = Row(name, "")
            rows.append(row)
            print(name, file=sys.stderr, flush=True)  # no spinner: its thread would disturb the timing
            try:
                fill(row)
            except peer_libraries.NotAvailable as reason:
                row.status, row.note = "not available", str(reason)
            except Exception as error:  # a benchmark that fails must not stop the others
                row.status, row.note = "failed", f"{type(error).__name__}: {error}"
    finally:
        record = about | {"agree": AGREE, "rows": [row.record() for row in rows]}
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    console.print(table(rows))
    if any(row.accuracy for row in rows):
        console.print(accuracy_table(rows))
    for row in rows:
        if row.note:
            console.print(f"{row.name}: {row.status}: {row.note}", style="dim")
    console.print(f"written to {arguments.json}")
    return int(any(row.status in ("failed", "answers differ") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
