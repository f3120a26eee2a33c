"""A step of Moreau's method with contact of solids: what `moreau` does with points, for pairs of solids in loops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.algorithms.solid_contact.impulse_iteration import SETTLED, PairImpulses, solve_pairs
from linkwork.algorithms.solid_contact.pair_restitution import solve_pairs_with_restitution
from linkwork.algorithms.solid_contact.rigid_pairs import CONDITIONS
from linkwork.algorithms.tangent_space import free_flight, integrate
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.methods.moreau_mid_step import middle_of_step, resting_speed
from linkwork.simulation.methods.solids_after_impulses import SolidsAfterImpulses
from linkwork.simulation.methods.solids_conditions import pass_conditions
from linkwork.simulation.methods.solids_mid_step import remembered_impulses, solids_at_mid_step
from linkwork.simulation.simulated_system import System
from linkwork.simulation.state import StepState
from linkwork.spatial.row_arrays import RowArray, row_array
from linkwork.spatial.scalar import Array, Condition, Number, maximum, where
from linkwork.spatial.traceable_loops import repeat

NEAR = 1e-9  # distance [m] below which points of two solids touch
FIRST_SETTLED = 1e-10  # as SETTLED, for the first of two passes; it finds which points stick


def moreau_with_solids(
    system: System, t: Number, now: StepState, h: Number, held: Array
) -> tuple[StepState, Condition]:
    """Make one step h [s] of Moreau's method with contact of solids: half a step, impulses, half a step.

    `now` is the state at t [s], and `held` (nv,) are the joint forces of a sampled controller.
    """
    m, middle = system.mechanism, middle_of_step(system, t, now, h, held)
    weights = np.array([np.sqrt(x) for x in np.diag(middle.M)])
    solids = solids_at_mid_step(
        m, middle.q, middle.v, middle.response, weights, now.solid_memory, resting_speed(m, h), NEAR
    )
    count, bounces = len(m.solid_pairs), _may_bounce(m)

    def once(k: Number, v: Array, p: RowArray, conditions: RowArray, iterations: Number, *_: Any) -> tuple[Any, ...]:
        conditions = pass_conditions(solids, middle, k == 0, v, conditions)
        pairs = replace(solids.pairs, conditions=conditions)
        free, settled = middle.free(v), where(k == 0, FIRST_SETTLED, SETTLED)
        if bounces:
            found, conditions = solve_pairs_with_restitution(pairs, middle.v, free, p, settled)
        else:
            found = solve_pairs(pairs, free, p, settled)
        return found.v, found.p, conditions, iterations + found.iterations, found.left, found.agreed

    start = remembered_impulses(solids, h), row_array(count, CONDITIONS.size)
    v, p, conditions, *rest = repeat(2, once, middle.v, *start, 0.0, 0.0, 0.0)
    found = PairImpulses(v, p, *rest)
    after = SolidsAfterImpulses(solids.with_conditions(conditions), found, h)
    power = system.power(middle.q, (middle.v + found.v) * 0.5, middle.loads(found.v))
    out = integrate(m, middle.q, after.push_out())
    pushing = sum(system.energies(out, found.v)) - sum(system.energies(middle.q, found.v))
    q, v = free_flight(m, out, found.v, 0.5 * h, mirrored=True)
    done = power * h + after.work(middle.v) + pushing
    moved = now._replace(q=q, v=v, work=now.work + done, solid_memory=after.memory(t + h))
    residual = maximum(now.solver.residual, found.left)
    return moved._replace(solver=moved.solver._replace(iterations=found.iterations, residual=residual)), True


def _may_bounce(m: Mechanism) -> bool:
    """Return whether a collision has a coefficient of restitution above 0, or a traced one, whose value is unknown."""
    given = [one.restitution for one in m.collisions]
    return any(np.asarray(x).dtype == object or x > 0.0 for x in given)
