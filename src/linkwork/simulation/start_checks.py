"""Starts that are refused: loops that are open or opening, holders that slip and must not."""

from __future__ import annotations

import numpy as np

from linkwork import evaluation
from linkwork.errors import LinkworkError
from linkwork.simulation.events.schedule import slips
from linkwork.simulation.problem import Problem
from linkwork.tolerances import CLOSURE_OPEN

REMEDIES = [f"{call}, with d = lw.compile(m)" for call in ("q0 = d.assemble(q0)", "v0 = d.consistent(q0, v0)")]


def refuse_open(problem: Problem, opening: bool = True) -> None:
    """Raise a LinkworkError if loops are open at the start, or opening, or if something slips that is engaged.

    Where a run is continued, loops that are `opening` are not at fault: some methods leave them so.
    """
    m, given = problem.mechanism, problem.parameters
    if m.frame_constraints:
        d = evaluation.compile(m, parameters=given)
        q = problem.start.q[None]  # a batch: a call on one state would make the next one quick, and there is none
        errors = np.abs(d.constraint(q, parameters=given))
        J = d.constraint_jacobian(q, parameters=given)
        speeds = np.abs((J @ problem.start.v[..., None])[..., 0])
        for what, found, remedy in zip(("is open by", "opens at"), (errors, speeds), REMEDIES, strict=True):
            if found.max(initial=0.0) > CLOSURE_OPEN and (opening or found is errors):
                name = m.frame_constraint_of_row(int(np.argmax(found.reshape(-1, m.nc).max(axis=0)))).name
                raise LinkworkError(f"loop {name!r} {what} {found.max():.3g} at the start; {remedy}, closes it")
    refuse_slipping(problem)


def refuse_slipping(problem: Problem) -> None:
    """Raise a LinkworkError if something slips at the start that is engaged, and must not."""
    for name, speeds in slips(problem.mechanism, problem.start.v, problem.parameters).items():
        if speeds.max(initial=0.0) > CLOSURE_OPEN:
            raise LinkworkError(f"{name} slips at {speeds.max():.3g} at the start; {REMEDIES[1]}, holds it")
