"""Entries of the work ledger for a step with rigid contacts: work of contacts and clutches, impulse of the ground."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.algorithms.constraints.bounded_constraints import Box
from linkwork.algorithms.constraints.bounded_impulse_solver import Block, product
from linkwork.algorithms.contact_kinematics import contact_kinematics
from linkwork.algorithms.mimic_reduction import to_tree
from linkwork.algorithms.rigid_contact import forces_of
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.joint_friction_rows import joint_shares
from linkwork.simulation.state import StepState
from linkwork.simulation.work_ledger import CLUTCHES, CONTACTS, JOINTS, SIZE, ground_impulse
from linkwork.spatial.scalar import Array, Number


def ledger_of_step(
    now: StepState,
    done: Array,
    blocks: Sequence[Block],
    p: Sequence[Array],
    before: Array,
    after: Array,
    push_out: Number,
    mechanism: Mechanism,
) -> Array:
    """Return the work [J] of a step, followed by the changes of the work ledger if the state `now` has one.

    `done` [J] has the work and the ledger changes of all other forces. The impulses p of the `blocks` of constraint
    rows change the velocities (nv,) from `before` to `after`. `push_out` [J] is the work of moving contacts out of
    penetration.
    """
    works: list[Number] = [0.0, 0.0, 0.0]
    friction: list[Number] = []
    for block, impulse in zip(blocks, p, strict=True):
        if isinstance(block, Box):
            each = [x * w * 0.5 for x, w in zip(impulse, block.K @ (before + after), strict=True)]
            count = len(each) - len(mechanism.friction_velocities)
            others, friction = each[:count], each[count:]
            works[CLUTCHES], works[JOINTS] = sum(others, works[CLUTCHES]), sum(friction, 0.0)
        else:
            works[CONTACTS] = works[CONTACTS] + product(impulse, block.K @ (before + after)) * 0.5
    total = sum(works, done[0] + push_out)
    if not len(now.ledger):
        return np.array([total])
    ledger = list(done[1:])
    ledger[CONTACTS] = ledger[CONTACTS] + works[CONTACTS] + push_out
    ledger[CLUTCHES] = ledger[CLUTCHES] + works[CLUTCHES]
    ledger[JOINTS] = ledger[JOINTS] + works[JOINTS]
    for k, shares in enumerate(joint_shares(mechanism) if friction else (), SIZE):
        ledger[k] = ledger[k] + sum((share * work for share, work in zip(shares, friction, strict=True)), 0.0)
    return np.array([total, *ledger])


def with_ground(mechanism: Mechanism, q: Array, v: Array, moved: StepState, h: Number) -> StepState:
    """Return the state `moved` after a step h [s], with the impulse of the ground added to its work ledger.

    A state without ledger is returned unchanged. q (nq,) and v (nv,) are the coordinates and velocities at mid-step,
    where the contact impulses act.
    """
    if not len(moved.ledger):
        return moved
    there, _ = contact_kinematics(mechanism.tree, *to_tree(mechanism, ("q", "v"), (q, v)))
    ground = ground_impulse(mechanism.contact_pairs, there, forces_of(moved.contact_memory) * h)
    return moved.pushed_by_ground(ground)
