"""Detection of contradicting couplings, such as two engaged clutches that drive a joint at different ratios."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.errors import listed
from linkwork.model.elements.key_types import Direction, is_finite
from linkwork.model.elements.velocity_constraint import (
    VelocityConstraint,
    VelocityRow,
    direction_of,
    may_be_engaged,
    side_text,
)
from linkwork.model.model_definition_faults import Fault
from linkwork.model.model_tolerances import EQUAL_RATIOS, NO_VELOCITY
from linkwork.spatial.scalar import Array, Number, where
from linkwork.tolerances import RANK_OF_UNIT_ROWS, TINY

if TYPE_CHECKING:
    from linkwork.model.mechanism import Mechanism


def contradictions(mechanism: Mechanism, modes: Mapping[str, float] = MappingProxyType({})) -> Iterator[Fault]:
    """Yield a fault for engaged couplings whose ratios contradict each other, so that a joint cannot move at all.

    `modes` maps the name of each switched mode, such as "shaft.engaged", to its current value. Two kinds of constraints
    are ignored: brakes, which stop joints on purpose, and couplings that can slip, with a finite bound of their force.
    """
    coupled = [_switched(one, modes) for one in couplings(mechanism)]
    rigid = [one for one in coupled if _is_rigid(one)]
    yield from list(_direct(rigid)) or _through_others(mechanism, rigid)


def couplings_agree(mechanism: Mechanism) -> Any:
    """Return whether the ratios of the engaged couplings of a mechanism do not contradict each other.

    The result is a traced truth value if the mechanism's parameters are traced.
    """
    rigid = [one for one in couplings(mechanism) if _is_rigid(one)]
    rows = [row for one in rigid for row in one.velocity_rows if may_be_engaged(row.engaged)]
    good: Any = True
    if len(rows) > 1:
        for left in squared_free_parts([_unit_row(mechanism, row) * row.engaged for row in rows]):
            good = good & (left > NO_VELOCITY * NO_VELOCITY)
    return good


def couplings(mechanism: Mechanism) -> Iterator[VelocityConstraint]:
    """Yield the velocity constraints that couple joints at given ratios, such as clutches and gearboxes.

    The constraints are in the order of their kinds. Constraints of `Builder.couple` are excluded: they may force a
    velocity to zero on purpose.
    """
    return (one for one in mechanism.velocity_constraints if one.couples_ratios)


def _is_rigid(one: VelocityConstraint) -> bool:
    return not any(is_finite(most) for bound in one.bounds for most in bound)


def _switched(one: VelocityConstraint, modes: Mapping[str, float]) -> VelocityConstraint:
    """Return the coupling `one` with its modes set by `modes`, a dict from names, as "shaft.engaged", to values."""
    own = {key: modes[f"{one.name}.{key}"] for key in one.modes() if f"{one.name}.{key}" in modes}
    return replace(one, **own) if own else one


def _direct(rigid: Iterable[VelocityConstraint]) -> Iterator[Fault]:
    """Yield a fault for each engaged coupling that drives two sides at another ratio than an earlier coupling does.

    `rigid` are the couplings that cannot slip.
    """
    driven: dict[tuple[Direction, Direction], tuple[VelocityConstraint, float]] = {}
    for one in rigid:
        if one.driven_sides is None or not one.engaged:
            continue
        side_a, side_b, by = one.driven_sides
        (a, by_a), (b, by_b) = direction_of(side_a), direction_of(side_b)
        ratio, pair = float(by) * by_a / by_b, (a, b)
        if (b, a) in driven:
            ratio, pair = 1.0 / ratio, (b, a)
        first, before = driven.setdefault(pair, (one, ratio))
        if abs(ratio / before - 1.0) > EQUAL_RATIOS and first.driven_sides is not None:
            side_a, side_b, by = first.driven_sides
            sides = f"{side_text(side_b)!r} from {side_text(side_a)!r}"
            reason = f"drives {sides} at the ratio {ratio / before * by:g}, but {first.label} drives it at {by:g}"
            yield Fault(reason, one.label, "engage only one of them at a time")


def _through_others(mechanism: Mechanism, rigid: Iterable[VelocityConstraint]) -> Iterator[Fault]:
    """Yield a fault for the first coupling that, together with previous couplings, forces a joint velocity to zero.

    `rigid` are the couplings that cannot slip.
    """
    engaged = [(one.label, row) for one in rigid if one.engaged for row in one.velocity_rows]
    names, rows = [name for name, _ in engaged], [_unit_row(mechanism, row) for _, row in engaged]
    if not names or not _forced_to_zero(rows).any():
        return
    count = next(k for k in range(1, len(rows) + 1) if _forced_to_zero(rows[:k]).any())
    number, name = int(np.flatnonzero(_forced_to_zero(rows[:count]))[0]), names[count - 1]
    # The joint's unit velocity is a combination of rows; couplings with a nonzero coefficient are involved
    shares = np.linalg.lstsq(np.array(rows[:count]).T, np.eye(mechanism.nv)[number], rcond=None)[0]
    others = [
        other for other, share in zip(names, shares, strict=False) if abs(share) > RANK_OF_UNIT_ROWS and other != name
    ]
    joint = next(j.name for j in mechanism.leaders if j.v.start <= number < j.v.stop)
    if others:
        together = f"{listed(others)} together do" if len(others) > 1 else f"{listed(others)} does"
        reason = f"drives {joint!r} at another ratio than {together}"
        remedy = "release one of them, or lock the joint with"
    else:
        reason, remedy = f"forces the velocity of {joint!r} to zero at this ratio", "to lock a joint, use"
    yield Fault(f"{reason}, so it could not move", name, f"{remedy} a brake")


def _unit_row(mechanism: Mechanism, row: VelocityRow) -> Array:
    """Return the coefficients (nv,) of a row in the independent velocities, scaled to unit length or nearly zero."""
    factors: list[Number] = [0.0] * mechanism.tree.nv
    for joint, number, factor in row.velocities:
        factors[mechanism.tree.joints[joint].v.start + number] += factor
    found = np.array(factors) @ mechanism.spread
    return found / np.sqrt(found @ found + TINY)


def _forced_to_zero(rows: Sequence[Array]) -> Array:
    """Return a boolean array (nv,): True for each velocity that the constraint rows `rows` (k, nv) force to zero.

    The rows have unit length.
    """
    return np.array([left <= NO_VELOCITY * NO_VELOCITY for left in squared_free_parts(rows)])


def squared_free_parts(rows: Sequence[Array]) -> list[Number]:
    """Return, for each of nv velocities, the squared norm of its projection onto the null space of `rows`.

    The rows (k, nv) have unit length or are zero. They are orthogonalized one after the other (Gram-Schmidt, twice, as
    Kahan recommends); linearly dependent rows have no effect.
    """
    units: list[Array] = []
    for row in rows:
        for unit in (*units, *units):
            row = row - unit * (unit @ row)
        size = np.sqrt(row @ row)
        new = size > RANK_OF_UNIT_ROWS
        units.append(row * where(new, 1.0 / where(new, size, 1.0), 0.0))
    found: list[Number] = []
    for number in range(len(rows[0]) if len(rows) else 0):
        left = np.eye(len(rows[0]))[number] - sum(unit * unit[number] for unit in units)
        found.append(left @ left)
    return found
