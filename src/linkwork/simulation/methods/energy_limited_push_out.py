"""Push-out: displacement of contacts out of penetration, with a work of at most the energy that they dissipated in the
step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.algorithms.contact_tolerances import PUSH_OUT_ROUND_OFF, PUSH_OUT_SHARE
from linkwork.algorithms.tangent_space import displaced
from linkwork.simulation.simulated_system import System
from linkwork.spatial.scalar import Array, Condition, Number, largest, maximum, where
from linkwork.spatial.traceable_loops import iterate

# largest number of fractions of a displacement that are tried; if all need too much work, the position does not change
TRIALS = 3


class PushOut(NamedTuple):
    """State q (nq,), v (nv,) after contacts are pushed out of penetration, and the `work` [J] of this displacement."""

    q: Array
    v: Array
    work: Number


def energy_limited_push_out(system: System, q: Array, v: Array, shift: Array, budget: Number) -> PushOut:
    """Return the state after the largest fraction of the displacement `shift` (nv,) whose work is at most `budget` [J].

    `shift` is in [rad, m]; q (nq,) and v (nv,) are the state before. The work is the change of kinetic energy and of
    the potential energy of gravity and springs. Later steps make the rest of the displacement.
    """
    energies = system.energies(q, v)
    before, most = sum(energies), maximum(budget, 0.0) + sum(map(abs, energies)) * PUSH_OUT_ROUND_OFF

    def trial(turn: Number, share: Number, *_: Any) -> tuple[tuple[Any, ...], Condition]:
        moved, after = displaced(system.mechanism, q, v, shift * share)
        work = sum(system.energies(moved, after)) - before
        fits = work <= most
        smaller = where(turn < TRIALS - 1, share * maximum(budget, 0.0) / where(fits, 1.0, work) * PUSH_OUT_SHARE, 0.0)
        ends = fits | (share == 0.0)
        return (turn + 1.0, where(ends, share, smaller), moved, after, where(share == 0.0, 0.0, work)), ends

    moves = largest(shift) > 0.0
    (_, _, moved, after, work), _, _ = iterate(TRIALS + 1, trial, 0.0, 1.0, q, v, 0.0, start=moves)
    return PushOut(moved, after, work)
