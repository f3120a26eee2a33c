"""`python -m benchmarks`: linkwork and its peers side by side in one process, as a table and as JSON."""

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

from benchmarks import creep, ladders, peers, step_costs, structure, walkers
from benchmarks.measure import AGREE, FULL, QUICK, Effort, Row, Timing, compare, compare_compile
from benchmarks.robots import BUNDLED, CHAIN, Robot, States, draw, robot
from benchmarks.rollouts import run_rollout
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

PACKAGES = ("linkwork", "numpy", "pin", "example-robot-data", "mujoco", "exudyn", "llvmlite")
BUSY = 0.5  # processes at work before we start, on average
WIDTH = 160  # where the output is no terminal


class Sizes(NamedTuple):
    """Which machines are run, on how many states. Derivatives are few because each has 3 nv^2 numbers."""

    robots: tuple[str, ...]
    chains: tuple[int, ...]
    batch: int
    derivatives: int
    threads: int
    links: int  # states times joints of a chain's batch, at most
    compiles: int
    effort: Effort
    rollouts: tuple[tuple[str, str, int, int], ...]  # robot, method, members, steps
    ladders: tuple[int, ...]  # cells
    ladder_steps: int
    structure: tuple[float, float | None]  # step of methods that keep structure [s], and how long they run [s]
    step_chains: tuple[int, ...]  # joints
    creep: float  # how long blocks stick [s]
    walkers: tuple[int, float]  # members, and how long they walk [s]


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
)


class Task(NamedTuple):
    """One method of linkwork, its inputs and the peer that answers the same question."""

    title: str
    method: str
    inputs: tuple[str, ...]
    peer: Callable[[Robot, States], peers.Contender]
    states: Callable[[Sizes], int]


FORWARD = "forward_dynamics", ("q", "v", "tau")
TASKS = (
    Task("forward dynamics, batch", *FORWARD, peers.aba_batch, lambda z: z.batch),
    Task("inverse dynamics, batch", "inverse_dynamics", ("q", "v", "a"), peers.rnea_batch, lambda z: z.batch),
    Task("mass matrix, batch", "mass_matrix", ("q",), peers.crba_loop, lambda z: z.batch),
    Task(
        "forward dynamics derivatives, batch",
        "forward_dynamics_derivatives",
        ("q", "v", "tau"),
        peers.derivatives_loop,
        lambda z: z.derivatives,
    ),
    Task("forward dynamics, one call", *FORWARD, peers.aba_once, lambda _: 1),
)
ON_CHAINS = (
    Task("forward dynamics, batch", *FORWARD, peers.aba_batch, lambda z: z.batch),
    Task("forward dynamics, one call, MuJoCo", *FORWARD, peers.mujoco_once, lambda _: 1),
)


# --- the rows ---


def plan(sizes: Sizes, target: str) -> dict[str, Callable[[Row], None]]:
    """What fills each row, by the row's name: machine, then question."""
    rows: dict[str, Callable[[Row], None]] = {}
    for name in sizes.robots:
        for task in TASKS:
            rows[f"{name}: {task.title}"] = partial(run_task, task, name, task.states(sizes), target, sizes.effort)
        rows[f"{name}: forward dynamics, two threads"] = partial(run_threads, name, sizes, target)
        rows[f"{name}: first answer, from cache"] = partial(run_compile, name, sizes, target)
    for name, method, members, steps in sizes.rollouts:
        title = f"{name}: rollout, {method}, {members} member{'s' * (members > 1)}"
        rows[title] = partial(run_rollout, name, method, members, steps, sizes.effort)
    for n in sizes.ladders:
        name = f"{ladders.LADDER}{n}"
        rows[f"{name}: forward dynamics, one call"] = partial(ladders.run_forward, n, target, sizes.effort)
        rows[f"{name}: a simulated run, rk4"] = partial(ladders.run_second, n, sizes.ladder_steps, sizes.effort)
    rows |= structure.rows(*sizes.structure, sizes.effort)
    rows |= step_costs.rows(sizes.step_chains, sizes.effort)
    rows |= creep.rows(sizes.creep, sizes.effort)
    rows |= walkers.rows(*sizes.walkers, sizes.effort)
    for n in sizes.chains:
        for task in ON_CHAINS:
            states = min(task.states(sizes), max(1, sizes.links // n))
            rows[f"{CHAIN}{n}: {task.title}"] = partial(run_task, task, f"{CHAIN}{n}", states, target, sizes.effort)
    return rows


def run_task(task: Task, name: str, n: int, target: str, effort: Effort, row: Row) -> None:
    """One method against the peer that answers the same question; of chains, the cost per joint."""
    found, per_joint = robot(name), name.startswith(CHAIN)
    states = draw(found.m, n)
    row.unit = f"us per {'joint' if per_joint else 'state'}"
    row.size = {"nv": found.m.nv, "states": n}
    inputs = tuple(getattr(states, key)[slice(None) if n > 1 else 0] for key in task.inputs)
    ours = partial(peers.linkwork, found.m, target, task.method, inputs)
    compare(row, ours, partial(task.peer, found, states), n * (found.m.nv if per_joint else 1), effort)


def run_threads(name: str, sizes: Sizes, target: str, row: Row) -> None:
    """Two threads of linkwork against one."""
    m = robot(name).m
    states = draw(m, sizes.threads)
    row.unit, row.size = "us per state", {"nv": m.nv, "states": sizes.threads}
    contender = partial(peers.linkwork, m, target, FORWARD[0], (states.q, states.v, states.tau))
    two = contender(2)  # if this cannot be, one thread need not run alone
    compare(row, lambda: two, partial(contender, 1), sizes.threads, sizes.effort)


def run_compile(name: str, sizes: Sizes, target: str, row: Row) -> None:
    """Time until the first answer with a filled cache against an empty one."""
    row.unit, row.size = "s", {"nv": robot(name).m.nv, "states": 1}
    compare_compile(row, name, target, sizes.compiles)


# --- where and when ---


def surroundings(target: str, quick: bool) -> dict[str, Any]:
    """Versions, processor and date, without which numbers mean little."""
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
    """The installed version, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def cpu_model() -> str:
    """The processor's name, as well as the system tells it."""
    listing = Path("/proc/cpuinfo")
    lines = listing.read_text(encoding="utf-8").splitlines() if listing.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


# --- what is shown ---


def table(rows: list[Row]) -> Table:
    """All rows, a section for each machine; the spread is half the distance between the quartiles."""
    shown = Table(title="ratio = peer / linkwork: above 1, linkwork is faster", box=SIMPLE, pad_edge=False)
    for title in ("", "states", "linkwork", "peer", "ratio", "agree to", "unit", "the peer"):
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
            end_section=following is not None and machine(following) != machine(row),
        )
    return shown


def accuracy_table(rows: list[Row]) -> Table:
    """How far each side is from what must be, where answers differ by nature: as parts of the whole, or as it says."""
    shown = Table(title="accuracy", box=SIMPLE, pad_edge=False)
    for title in ("", "measured", "linkwork", "peer"):
        shown.add_column(title, justify="right" if title in ("linkwork", "peer") else "left")
    for row in rows:
        ours, theirs = (row.accuracy.get(side, {}) for side in ("linkwork", "peer"))
        for measured in ours | theirs:
            numbers = (f"{side[measured]:.0e}" if measured in side else "-" for side in (ours, theirs))
            shown.add_row(row.name, measured, *numbers)
    return shown


def machine(row: Row) -> str:
    """The first part of a row's name."""
    return row.name.partition(":")[0]


def timing_text(timing: Timing | None) -> str:
    """A median with its spread."""
    if timing is None:
        return "-"
    return number_text(timing.median) + (f" ±{timing.spread:.0%}" if timing.turns > 1 else "")


def number_text(x: float) -> str:
    """Three figures, without powers of ten where there is room."""
    return f"{x:.0f}" if x >= 1000.0 else f"{x:#.3g}".removesuffix(".")


def main() -> int:
    """Run the rows that were asked for; 1 if any failed or gave different answers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="linkwork and its peers, side by side")
    parser.add_argument("--quick", action="store_true", help="small machines, tiny batches, three turns")
    parser.add_argument("--only", default="", metavar="NAME", help="rows whose name contains this")
    parser.add_argument("--target", default="cpu", help="linkwork's target (default: cpu)")
    parser.add_argument("--json", default="out/benchmarks.json", type=Path, metavar="FILE", help="default: %(default)s")
    arguments = parser.parse_args()
    planned = plan(SMALL if arguments.quick else LARGE, arguments.target)
    chosen = {name: fill for name, fill in planned.items() if arguments.only.lower() in name.lower()}
    if not chosen:
        parser.error(f"no row's name contains {arguments.only!r}; they are:\n  " + "\n  ".join(planned))
    console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False, markup=False)
    rows: list[Row] = []
    about = surroundings(arguments.target, arguments.quick)
    if (about["cpu"]["load_at_start"] or 0.0) > BUSY:
        console.print("The machine is busy with other work: expect wide spreads, and little from a second thread.")
    try:
        for name, fill in chosen.items():
            row = Row(name, "")
            rows.append(row)
            print(name, file=sys.stderr, flush=True)  # no spinner: its thread would disturb what is timed
            try:
                fill(row)
            except peers.NotAvailable as reason:
                row.status, row.note = "not available", str(reason)
            except Exception as error:  # one row that breaks must not cost the others
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
