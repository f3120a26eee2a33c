"""Computing time of a variational step of long chains: time per joint, and iterations of Newton's method."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from benchmarks.peer_libraries import Contender
from benchmarks.robots import CHAIN, chain_mechanism
from benchmarks.timing import Effort, Row, race

import linkwork as lw

STEPS = 200


def run_chain(joints: int, effort: Effort, row: Row) -> None:
    """Measure a variational step of a chain and fill the row: time per joint, without the fixed cost of `simulate`."""
    m = chain_mechanism(joints)
    rng = np.random.default_rng(0)
    q, v, h = 0.3 * rng.normal(size=joints), 0.1 * rng.normal(size=joints), 1e-3

    def steps(count: int) -> lw.Run:
        return lw.simulate(
            m, q, v, count * h, h, "variational", record=("q", "iterations"), stops=None, threads=1, progress=False
        )

    begin = time.perf_counter()
    steps(1)
    first = time.perf_counter() - begin
    row.unit, row.size = "us per joint", {"nv": joints, "states": 1, "steps": STEPS}
    few = Contender("one step", partial(steps, 1), lambda run: run.q)
    many = Contender("linkwork, variational", partial(steps, STEPS + 1), lambda run: run.q)
    iterations = steps(STEPS + 1)["iterations"][1:].mean()
    around, whole = race([few, many], STEPS * joints, effort)
    row.linkwork = replace(whole, **{x: getattr(whole, x) - around.median for x in ("median", "low", "high", "best")})
    row.note = f"the first run took {first:.1f} s; {iterations:.1f} iterations of Newton's method per step"


def rows(joints: tuple[int, ...], effort: Effort) -> dict[str, Callable[[Row], None]]:
    """Return the chain benchmarks by name, as functions that fill a row of the result table."""
    return {f"{CHAIN}{n}: a variational step": partial(run_chain, n, effort) for n in joints}
