"""Checks of the start state: closed loops, and no slip of engaged constraints."""

from __future__ import annotations

import numpy as np

from linkwork.errors import LinkworkError
from linkwork.simulation.events.schedule import slips
from linkwork.simulation.loop_constraint_rows import loop_rows
from linkwork.simulation.simulation_problem import Problem
from linkwork.tolerances import CLOSURE_OPEN

REMEDIES = [f"{call} with d = lw.compile(m)" for call in ("q0 = d.assemble(q0)", "v0 = d.consistent(q0, v0)")]
ERRORS = "position error of {:.3g} m or rad", "velocity error of {:.3g} m/s or rad/s"


def refuse_open(problem: Problem, opening: bool = True) -> None:
    """Raise a LinkworkError if the start state violates the constraints of closed loops, engaged clutches or brakes.

    `opening` is true for a new run. In a continued run, velocity errors of loops are allowed, because some methods
    cause them.
    """
    m, errors = problem.mechanism, loop_rows(problem).errors_at_start()
    checked = errors if opening else errors[:1]
    for what, found, remedy in zip(ERRORS, checked, REMEDIES, strict=False):
        if found.max(initial=0.0) > CLOSURE_OPEN:
            name = m.frame_constraint_of_row(int(np.argmax(found.reshape(-1, m.nc).max(axis=0)))).name
            raise LinkworkError(f"loop {name!r} has a {what.format(found.max())} at the start; use {remedy}")
    refuse_slipping(problem)


def refuse_slipping(problem: Problem) -> None:
    """Raise a LinkworkError if an engaged constraint without a capacity slips in the start state."""
    for name, speeds in slips(problem.mechanism, problem.start.v, problem.parameters).items():
        if speeds.max(initial=0.0) > CLOSURE_OPEN:
            raise LinkworkError(
                f"{name} is engaged, but slips at {speeds.max():.3g} rad/s or m/s at the start; use {REMEDIES[1]}"
            )
