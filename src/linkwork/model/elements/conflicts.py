"""Couplings that contradict each other: a joint that is driven at two ratios, directly or through others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.errors import listed
from linkwork.model.elements.keys import Direction, is_finite
from linkwork.model.elements.velocity_constraint import (
    ROUNDING,
    VelocityConstraint,
    VelocityRow,
    direction_of,
    may_hold,
    side_text,
)
from linkwork.model.faults import Fault
from linkwork.spatial.scalar import Array, Number, where
from linkwork.tolerances import RANK_OF_UNIT_ROWS, TINY

if TYPE_CHECKING:
    from linkwork.model.mechanism import Mechanism

STILL = 1e-12  # part of a velocity below which nothing of it is left


def contradictions(mechanism: Mechanism, modes: Mapping[str, float] = MappingProxyType({})) -> Iterator[Fault]:
    """Couplings at ratios that leave a joint no speed but zero, engaged as they are.

    `modes` are parameters by name that are other than they were built. Brakes hold joints on purpose, and what can
    slip does.
    """
    coupled = [_switched(one, modes) for one in couplings(mechanism)]
    rigid = [one for one in coupled if _is_rigid(one)]
    yield from list(_direct(rigid)) or _through_others(mechanism, rigid)


def agreeing(mechanism: Mechanism) -> Any:
    """Whether no such couplings contradict each other: a condition, of numbers that may hide their values."""
    rigid = [one for one in couplings(mechanism) if _is_rigid(one)]
    rows = [row for one in rigid for row in one.velocity_rows if may_hold(row.engaged)]
    good: Any = True
    if len(rows) > 1:
        for left in left_free([_unit_row(mechanism, row) * row.engaged for row in rows]):
            good = good & (left > STILL * STILL)
    return good


def couplings(mechanism: Mechanism) -> Iterator[VelocityConstraint]:
    """What drives joints at ratios, in the order of kinds.

    Not those of Builder.couple, which hold sums at zero on purpose: motors that stand still, wheels that roll.
    """
    return (one for one in mechanism.velocity_constraints if one.couples_ratios)


def _is_rigid(one: VelocityConstraint) -> bool:
    return not any(is_finite(most) for bound in one.bounds for most in bound)


def _switched(one: VelocityConstraint, modes: Mapping[str, float]) -> VelocityConstraint:
    """A coupling as these modes have it."""
    own = {key: modes[f"{one.name}.{key}"] for key in one.modes() if f"{one.name}.{key}" in modes}
    return replace(one, **own) if own else one


def _direct(rigid: Iterable[VelocityConstraint]) -> Iterator[Fault]:
    """Those that, engaged as they are, drive a joint or a sum of joints at two ratios."""
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
        if abs(ratio / before - 1.0) > ROUNDING and first.driven_sides is not None:
            side_a, side_b, by = first.driven_sides
            sides = f"{side_text(side_b)!r} from {side_text(side_a)!r}"
            reason = f"drives {sides} at {ratio / before * by:g}, and {first.label} at {by:g}"
            yield Fault(reason, one.label, "engage one of them at a time")


def _through_others(mechanism: Mechanism, rigid: Iterable[VelocityConstraint]) -> Iterator[Fault]:
    """The first coupling that makes others, all of them together, hold a joint still."""
    engaged = [(one.label, row) for one in rigid if one.engaged for row in one.velocity_rows]
    names, rows = [name for name, _ in engaged], [_unit_row(mechanism, row) for _, row in engaged]
    if not names or not _held_still(rows).any():
        return
    count = next(k for k in range(1, len(rows) + 1) if _held_still(rows[:k]).any())
    number, name = int(np.flatnonzero(_held_still(rows[:count]))[0]), names[count - 1]
    # The joint's own direction as a sum of rows: those in it take part
    shares = np.linalg.lstsq(np.array(rows[:count]).T, np.eye(mechanism.nv)[number], rcond=None)[0]
    others = [
        other for other, share in zip(names, shares, strict=False) if abs(share) > RANK_OF_UNIT_ROWS and other != name
    ]
    joint = next(j.name for j in mechanism.leaders if j.v.start <= number < j.v.stop)
    if others:
        together = f"{listed(others)} {'do together' if len(others) > 1 else 'does'}"
        reason = f"drives {joint!r} at another ratio than {together}"
        remedy = "release one of them, or hold the joint by"
    else:
        reason, remedy = f"holds {joint!r} still at this ratio", "use"
    yield Fault(f"{reason}: it could not move", name, f"{remedy} a brake")


def _unit_row(mechanism: Mechanism, row: VelocityRow) -> Array:
    """By what the velocities (nv,) enter a row, of unit size."""
    factors: list[Number] = [0.0] * mechanism.tree.nv
    for joint, number, factor in row.velocities:
        factors[mechanism.tree.joints[joint].v.start + number] += factor
    found = np.array(factors) @ mechanism.spread
    return found / np.sqrt(found @ found + TINY)


def _held_still(rows: Sequence[Array]) -> Array:
    """Which velocities (nv,) are zero wherever all rows (k, nv) of unit size are."""
    return np.array([left <= STILL * STILL for left in left_free(rows)])


def left_free(rows: Sequence[Array]) -> list[Number]:
    """How much of each of nv velocities the rows (k, nv), of unit size or zero, leave free: its share, squared.

    The rows are made orthogonal to each other one after the other (Gram and Schmidt, twice, as Kahan has it); those
    that follow from the others fall away.
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
