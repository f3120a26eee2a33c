"""Contact conditions of solids in a pass of a step of Moreau's method: friction, restitution and drifts.

A drift is the change of the relative velocity at a contact point in free flight, from mid-step to the end of the step.
"""

from __future__ import annotations

import numpy as np

from linkwork.algorithms.compliant_contact import SLIDING, STICKING
from linkwork.algorithms.constraints.admissible_sets import length
from linkwork.algorithms.mimic_reduction import to_tree
from linkwork.algorithms.solid_contact.contact_drifts import body_rate_rows, contact_drifts
from linkwork.algorithms.solid_contact.friction_torques import PARTS, lever_of
from linkwork.algorithms.solid_contact.rigid_pairs import ROWS, PairConditions, PairFrame
from linkwork.algorithms.tangent_space import free_acceleration
from linkwork.model.solids import POINTS
from linkwork.simulation.methods.moreau_mid_step import Middle
from linkwork.simulation.methods.solids_mid_step import SolidsAtMidStep
from linkwork.spatial.row_arrays import RowArray
from linkwork.spatial.scalar import Array, Condition, Number, maximum, minimum, where
from linkwork.tolerances import STICKING_SPEED, TINY


def pass_conditions(
    solids: SolidsAtMidStep, middle: Middle, first: Condition, v: Array, conditions: RowArray
) -> RowArray:
    """Return the contact conditions of all touching pairs for a pass of the step, one row per pair. A row has the
    friction coefficients, rebound speeds and drifts of the points.

    v (nv,) are the velocities after the last pass. The rules for friction, restitution and drifts are those of
    `moreau.MidStepContact.terms` and `with_terms`. `conditions` are the rows to write to. Rolling and spinning friction
    oppose the mean angular velocity in the step, until the solids stop or turn back.
    """
    pairs = solids.pairs
    rows, drifts = pairs.responses.velocity_rows(v), _drifts(solids, middle, first, v)

    def update(k: Number, conditions: RowArray) -> tuple[RowArray]:
        (static, dynamic), restitution = solids.force_law(k)
        memory = solids.remembered(k)
        start, drift, frame = solids.before.at(k), drifts.at(k)[:ROWS].reshape(POINTS, 3), pairs.frame(k)
        after = where(first, start, pairs.speeds(k, frame, rows))
        friction, bounce, along = [], [], []
        for j in range(POINTS):
            slides = memory[j][0] == SLIDING
            slip, slip_before = after[3 * j + 1 : 3 * j + 3], start[3 * j + 1 : 3 * j + 3]
            halts = slip[0] * slip[0] + slip[1] * slip[1] <= STICKING_SPEED**2
            turns_back = slip[0] * slip_before[0] + slip[1] * slip_before[1] <= 0.0
            rests = halts | (where(slides, where(turns_back, 1.0, 0.0), where(first, 1.0, 0.0)) == 1.0)
            most = _static_friction(static, memory[j], frame.axes[j], slip_before)
            friction.append(where(rests, most, dynamic))
            to_mean = where(slides, (slip_before - slip) * 0.5, np.zeros(2))
            along.append([drift[j][0], *where(rests, drift[j][1:], to_mean)])
            impact = drift[j][0] - start[3 * j]  # normal speed of approach at the start of the step
            bounce.append(where(impact > solids.slow, restitution * impact, 0.0))
        given = PairConditions(*map(np.array, (friction, bounce, along)))
        if pairs.turns:
            lever, turned = lever_of(pairs.compliance(k).C), drifts.at(k)[ROWS:]
            given = _with_turning(given, solids.turning(k), frame, turned, start[ROWS:], after[ROWS:], first, lever)
        return (conditions.put(k, given.row()),)

    (conditions,) = pairs.selection.visit(update, conditions)
    return conditions


def _with_turning(
    given: PairConditions,
    coefficients: Array,
    frame: PairFrame,
    turned: Array,
    start: Array,
    after: Array,
    first: Condition,
    lever: Number,
) -> PairConditions:
    """Return the contact conditions `given` of a pair, with those of rolling and spinning friction added.

    `coefficients` (2,) [m] are those of spinning and rolling friction. `start` and `after` (3,) [rad/s] are the
    relative angular speeds along the axes of the pair, before the impulses and after the last pass, and `turned` (3,)
    [rad/s], in world axes, is the change of the relative angular velocity from mid-step to the end of the step. `lever`
    [m] is the result of `lever_of`.
    """
    assert frame.turning is not None
    along, drift = frame.turning.T @ turned, np.zeros(3, dtype=object)
    for part in PARTS:
        w, before = after[part], start[part]
        halts = w @ w <= STICKING_SPEED**2 * (before @ before + 1.0 / maximum(lever * lever, TINY))
        rests = halts | (w @ before <= 0.0) | first
        drift[part] = where(rests, along[part], (before - w) * 0.5)
    return given._replace(turning=coefficients, turning_drift=drift)


def _static_friction(static: Number, memory: Array, axes: Array, slip: Array) -> Number:
    """Return the coefficient of static friction of a point in a step, from its slip velocity (2,) [m/s] at the start.

    If a point that stuck in the last step slips now, it has slipped back (see `pass_conditions`). It stops in this step
    if the mean friction of both steps is within the limit: the limit of this step is increased by the part of the last
    limit that was not used against this slip. `memory` is the contact memory of the point, and the columns of `axes`
    (3, 3) are its contact axes in the world, normal first.
    """
    normal, *drag = memory[1:4] @ axes
    slips = (memory[0] == STICKING) & (slip @ slip > STICKING_SPEED**2)
    used = -(np.array(drag) @ slip) / (length(slip) + TINY) / maximum(static * normal, TINY)
    return where(slips, static * (2.0 - maximum(minimum(used, 1.0), -1.0)), static)


def _drifts(solids: SolidsAtMidStep, middle: Middle, first: Condition, v: Array) -> RowArray:
    """Return the changes of the relative speeds [m/s, rad/s] of each touching pair from mid-step to the end of the
    step, one row per pair.

    The changes are those in free flight at velocities v (nv,); they are zero in the first pass.
    """
    m, bodies, half = middle.system.mechanism, solids.bodies, 0.5 * middle.h
    position, speed, rate = to_tree(m, ("q", "v", "a"), (middle.q, v, free_acceleration(m, v)))
    rates = body_rate_rows(m.tree, bodies.numbers, bodies.poses, position, speed, rate)
    wanted = where(first, 0.0, 1.0) == 1.0
    return contact_drifts(
        solids.groups,
        solids.touching,
        solids.pairs.selection,
        bodies.rows,
        solids.pairs.frames,
        rates,
        half,
        wanted,
        solids.pairs.rows,
    )
