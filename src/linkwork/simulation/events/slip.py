"""Slip of clutches, brakes and ratchets: constraint rows whose multiplier is at its bound.

Every constraint with a bounded multiplier (clutch, brake, ratchet) has a slip direction in the state: 0 while it holds,
else -1 or 1, the sign of its slip speed. The multiplier (force [N m or N]) of a slipping constraint has the magnitude
of its bound, and opposes the slip. A holding constraint is a constraint row of the mechanism until its multiplier
exceeds the bound. A one-sided constraint, such as a ratchet, has the bound 0 in one direction: it slips freely in that
direction only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from linkwork.algorithms.constraints.velocity_constraints import factors
from linkwork.algorithms.tangent_space import difference
from linkwork.model.elements.key_types import is_finite
from linkwork.model.elements.velocity_constraint import VelocityConstraint
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.state import StepState
from linkwork.spatial.scalar import Array, Condition, Number, Value, where
from linkwork.tolerances import BOUND_SLACK, STICKING_SPEED

NOTHING_GIVEN: Mapping[str, Value] = MappingProxyType({})


def holding(mechanism: Mechanism, slip: Array) -> Mechanism:
    """Return the mechanism with all slipping clutches, brakes and ratchets released; `slip` has their slip directions
    -1, 0 or 1, in the order of `mechanism.bounded`. Further entries are not used.

    Slip of joints with friction is not treated here, but in `joint_friction_rows.locked`.
    """
    # `slip` may be longer: the slip directions of joint friction follow those of bounded constraints
    pairs = zip(mechanism.bounded, slip, strict=False)
    engaged = {f"{item.name}.engaged": item.engaged * where(s == 0.0, 1.0, 0.0) for item, s in pairs}
    return mechanism.varied(engaged) if engaged else mechanism


def unbounded(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with all clutches, brakes and ratchets of bounded force released.

    The remaining constraints have multipliers without bounds.
    """
    released = {f"{item.name}.engaged": 0.0 for item in mechanism.bounded}
    return mechanism.varied(released) if released else mechanism


def slip_rows(mechanism: Mechanism) -> Array:
    """Return the rows (n, nv) of the n constraints with bounded force, engaged or not; rows @ v are their slip speeds
    [rad/s or m/s].
    """
    tree = [factors(mechanism.tree, next(iter(item.velocity_rows))) for item in mechanism.bounded]
    return np.array(tree).reshape(len(tree), mechanism.tree.nv) @ mechanism.spread


def slip_speeds(mechanism: Mechanism, v: Array) -> Array:
    """Return the slip speeds (n,) [rad/s or m/s] of all clutches, brakes and ratchets at velocities v (nv,) [rad/s,
    m/s].
    """
    return slip_rows(mechanism) @ v


def slip_multipliers(
    mechanism: Mechanism, slip: Iterable[Value], given: Mapping[str, Value] = NOTHING_GIVEN
) -> list[Value]:
    """Return the force [N m or N] of each clutch, brake and ratchet along its row: its bound, against the slip, if it
    slips; 0 if it holds.

    Constraints that are not engaged are treated as engaged. `slip` has the slip direction -1, 0 or 1 of each element of
    `mechanism.bounded`, in its order, and `given` has the values of parameters by name.
    """
    found = []
    for item, s in zip(mechanism.bounded, slip, strict=False):
        own = {key: given[f"{item.name}.{key}"] for key in item.parameters if f"{item.name}.{key}" in given}
        item = item.varied(own)
        backward, forward = (most if is_finite(most) else 0.0 for most in item.capacities)
        found.append(where(s > 0.0, -backward, where(s < 0.0, forward, 0.0)))
    return found


def slip_forces(mechanism: Mechanism, slip: Array) -> Array:
    """Return the joint forces (nv,) [N m or N] of slipping clutches, brakes and ratchets.

    `slip` (n,) has the slip direction of each element of `mechanism.bounded`, in its order: -1 or 1, or 0 while the
    element sticks.
    """
    pushes = zip(slip_multipliers(mechanism, slip), mechanism.bounded, strict=True)
    return slip_rows(mechanism).T @ np.array([push * item.engaged for push, item in pushes])


def slip_of_speeds(
    bounded: Sequence[VelocityConstraint], speeds: Iterable[Value], slip: Iterable[Value]
) -> list[Value]:
    """Return the slip direction (-1, 0, 1) of each of the constraints `bounded` at the slip speeds `speeds`.

    `speeds` [rad/s or m/s] and `slip` have one entry per constraint. Where the speed is zero, the direction in `slip`
    remains. The direction is 0 where the constraint is released, or where its force against the slip has no bound.
    """
    found = []
    for item, w, s in zip(bounded, speeds, slip, strict=True):
        ahead, behind = (float(is_finite(most)) for most in item.capacities)
        found.append(where(w > STICKING_SPEED, ahead, where(w < -STICKING_SPEED, -behind, s)) * item.engaged)
    return found


def slip_work(mechanism: Mechanism, begin: StepState, end: StepState) -> Number:
    """Return the work [J] of slipping clutches and brakes in a substep from `begin` to `end`; negative if they heat up.

    The forces of slipping clutches and brakes are constant, so that the work is the force times the slip distance or
    angle.
    """
    return slip_forces(mechanism, begin.slip) @ difference(mechanism, begin.q, end.q)


def slip_functions(mechanism: Mechanism, slip: Array, v: Array, carried: Sequence[Number]) -> list[Number]:
    """Return two event functions per bounded constraint (2n,), not negative while the constraint continues to slip or
    hold.

    The first function of a constraint belongs to backward slip (direction -1), the second to forward slip (direction
    1). A function is negative where slip in its direction begins or ends. `slip` (n,) are the slip directions -1, 0 or
    1, v (nv,) [rad/s, m/s] the velocities, and `carried` (n,) [N m or N] the constraint forces.
    """
    found: list[Number] = []
    rows = zip(mechanism.bounded, slip[: len(mechanism.bounded)], slip_speeds(mechanism, v), carried, strict=True)
    for item, s, w, force in rows:
        backward, forward = (most + BOUND_SLACK if is_finite(most) else np.inf for most in item.capacities)
        less = forward - force if is_finite(forward) else 1.0
        more = force + backward if is_finite(backward) else 1.0
        on = item.engaged > 0.0
        found.append(where(on, where(s == 0.0, less, where(s < 0.0, STICKING_SPEED - w, 1.0)), 1.0))
        found.append(where(on, where(s == 0.0, more, where(s > 0.0, w + STICKING_SPEED, 1.0)), 1.0))
    return found


def one_releases(slip: Array, which: Sequence[Condition]) -> list[Condition]:
    """Return the slip events `which` (2n,), true where one occurs, reduced so that only the first constraint begins to
    slip.

    All multipliers change when one constraint begins to slip, so that the others may hold after all; their event
    functions are evaluated again. `slip` (n,) are the slip directions -1, 0 or 1, in the order of `mechanism.bounded`.
    """
    found: list[Condition] = []
    first: Number = 1.0
    for s, backward, forward in zip(slip, which[::2], which[1::2], strict=True):
        allowed = (s != 0.0) | (first == 1.0)
        found += [backward & allowed, forward & allowed]
        first = where((s == 0.0) & (backward | forward), 0.0, first)
    return found


def slip_after(slip: Array, which: Sequence[Condition]) -> list[Number]:
    """Return the slip direction (-1, 0, 1) of each bounded constraint after the slip events for which `which` (2n,) is
    true.

    `slip` (n,) are the slip directions -1, 0 or 1 before the events.
    """
    pairs = zip(slip, which[::2], which[1::2], strict=True)
    return [
        where(backward, where(s == 0.0, -1.0, 0.0), where(forward, where(s == 0.0, 1.0, 0.0), s))
        for s, backward, forward in pairs
    ]


def row_speeds(
    mechanism: Mechanism, v: Array, given: Mapping[str, Array]
) -> Iterator[tuple[str, VelocityConstraint, Array]]:
    """Yield the label, the constraint and the slip speed of every row of clutches, brakes and other velocity
    constraints.

    The speed (...) [rad/s or m/s] is that at velocities v (..., nv); it is 0 while the constraint is satisfied. `given`
    are the parameter values that differ from the model, by name.
    """
    velocities = mechanism.tree_velocity(v)
    for item in mechanism.velocity_constraints:
        names = {key: f"{item.name}.{key}" for key in item.modes()}
        now = replace(item, **{key: given[name] for key, name in names.items() if name in given})
        for row in now.velocity_rows:
            joints = [(mechanism.tree.joints[joint].v.start + k, by) for joint, k, by in row.velocities]
            speed = sum((velocities[..., k] * by for k, by in joints), np.zeros(v.shape[:-1]))
            yield item.label, now, speed
