"""Assembly: search for a position near a given position at which all loops are closed; errors name the open loops."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from linkwork.algorithms.constraint_ranks import least_squares, row_scales
from linkwork.errors import NotConverged, listed
from linkwork.spatial.scalar import Array
from linkwork.tolerances import CLOSURE_ASSEMBLED

if TYPE_CHECKING:
    from linkwork.evaluation.constraint_methods import ConstraintMethods

# closure error [m or rad] at which a loop counts as closed if no further step reduces the error
ROUND_OFF = 1e3 * CLOSURE_ASSEMBLED
ITERATIONS = 200  # largest number of iterations of Newton's method
MOST_LISTED = 5  # largest number of open loops that an error message lists
STEP = 0.5  # largest change of a coordinate in one iteration [rad or m]
# random displacements [rad, m], tried in turn, which lead out of singular positions such as stretched arms
NUDGES = (1e-3, 1e-2, 0.1, 0.3, 1.0)


def assembled_position(d: ConstraintMethods, q: Array, fixed: Iterable[str]) -> Array:
    """Return coordinates (nq,) near q (nq,) at which all loops are closed, by Newton's method with a line search.

    `d` are the compiled dynamics of the mechanism. The joints called `fixed` do not move. Raise a NotConverged error if
    a loop remains open.
    """
    found, left = _nearest_closed(d, q, fixed)
    if left > ROUND_OFF:
        raise NotConverged(_why_open(d, q, found, fixed))
    return found


def _nearest_closed(d: ConstraintMethods, q: Array, fixed: Iterable[str]) -> tuple[Array, float]:
    """Return the coordinates (nq,) with the smallest loop closure error in several searches, and this error [m or rad].

    The error is the largest magnitude of an entry of `constraint`. The first search starts at q, the others at random
    displacements from q. The joints called `fixed` do not move.
    """
    m = d.mechanism
    free = np.ones(m.nv, dtype=bool)
    for name in fixed:
        free[m.joints[name].v] = False
    rng = np.random.default_rng(0)
    found, best = np.array(q), np.inf
    for nudge in (0.0, *NUDGES):
        reached = _least_closure_error(
            d, m.integrate(q, nudge * free * rng.normal(size=m.nv)) if nudge else np.array(q), free
        )
        left = float(np.abs(d.constraint(reached)).max(initial=0.0))
        if left < best:
            found, best = reached, left
        if best < ROUND_OFF:
            break
    return found, best


def _why_open(d: ConstraintMethods, q: Array, found: Array, fixed: Iterable[str]) -> str:
    """Return an error message that names the loops that are open at the position `found` (nq,).

    The message also says whether the other loops can be closed without the loop that has the largest error. `q` is the
    position at which the search began; the joints called `fixed` did not move.
    """
    m = d.mechanism
    errors: dict[str, float] = {}
    for row, error in enumerate(np.abs(d.constraint(found))):
        name = m.frame_constraint_of_row(row).name
        errors[name] = max(errors.get(name, 0.0), float(error))
    worst, *others = sorted((name for name in errors if errors[name] > ROUND_OFF), key=lambda name: -errors[name])
    fixed_text = f" with {listed(fixed)} fixed" if list(fixed) else ""
    message = f"the loops of {m.name!r} cannot be closed from this position{fixed_text}: "
    message += f"loop {worst!r} still has a closure error of {errors[worst]:.3g}"
    message += "".join(f", loop {name!r} of {errors[name]:.3g}" for name in others[: MOST_LISTED - 1])
    message += " (m or rad). Start nearer to a closed position, or check that the lengths of the links allow one"
    if others:
        without = m.keeping(lambda one: not one.holonomic or one.name != worst)
        _, left = _nearest_closed(type(d)(without, (), "numpy", None, True), q, fixed)
        if left < ROUND_OFF:
            message += f". Without loop {worst!r}, all other loops can be closed: this loop contradicts the others, "
            message += "or its frames are too far apart"
    return message


def _least_closure_error(d: ConstraintMethods, q: Array, free: Array) -> Array:
    """Return coordinates (nq,) with a local minimum of the squared loop closure error; the search starts at q (nq,).

    Only the velocities selected by the boolean array `free` (nv,) move.
    """
    m = d.mechanism
    scale = float(row_scales(m, q)[: m.nc].max(initial=0.0))
    for _ in range(ITERATIONS):
        g = d.constraint(q)
        if float(np.abs(g).max(initial=0.0)) < CLOSURE_ASSEMBLED:
            return q
        J = d.constraint_jacobian(q)[:, free]
        dq = np.zeros(m.nv)
        dq[free] = -least_squares(J, g, scale)
        dq *= min(1.0, STEP / max(float(np.abs(dq).max()), 1e-300))
        q, better = _line_search(d, q, dq, float(g @ g))
        if not better:
            break
    return q


def _line_search(d: ConstraintMethods, q: Array, dq: Array, before: float) -> tuple[Array, bool]:
    """Return q displaced by the first of dq, dq/2, dq/4, ... (nv,) that reduces the squared loop closure error.

    dq is in the tangent space at q (nq,). `before` is the squared error at q: the sum over all rows. The second result
    is whether such a step was found; if not, q is returned.
    """
    for part in 0.5 ** np.arange(12):
        moved = d.mechanism.integrate(q, part * dq)
        g = d.constraint(moved)
        if g @ g < before * (1.0 - 1e-4 * part):
            return moved, True
    return q, False
