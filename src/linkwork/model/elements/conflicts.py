"""Couplings that contradict each other: a joint that is driven at two ratios, directly or through others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.errors import listed
from linkwork.model.elements.clutches import Tie, contradiction_faults, may_hold
from linkwork.model.faults import Fault
from linkwork.spatial.scalar import Array, Number, where

if TYPE_CHECKING:
    from linkwork.model.mechanism import Mechanism

MODES = ("engaged", "ratio", "selected")
TINY = 1e-300
RANK = 1e-10  # of rows of unit size, below which one follows from the others
STILL = 1e-12  # part of a velocity below which nothing of it is left


def contradictions(mechanism: Mechanism, modes: Mapping[str, float] = MappingProxyType({})) -> Iterator[Fault]:
    """Clutches, transmissions and differentials that leave a joint no speed but zero, engaged as they are.

    `modes` are parameters by name that are other than they were built. Brakes hold joints on purpose, and what can
    slip does.
    """
    coupled = [(name, _switched(one, modes)) for name, one in couplings(mechanism)]
    direct = list(contradiction_faults(one for _, one in coupled[: len(mechanism.clutches)] if _is_rigid(one)))
    yield from direct or _through_others(mechanism, coupled)


def agreeing(mechanism: Mechanism) -> Any:
    """Whether no such couplings contradict each other: a condition, of numbers that may hide their values."""
    ties = [tie for _, one in couplings(mechanism) if _is_rigid(one) for tie in one.ties if may_hold(tie.engaged)]
    good: Any = True
    if len(ties) > 1:
        for left in left_free([_row(mechanism, tie) * tie.engaged for tie in ties]):
            good = good & (left > STILL * STILL)
    return good


def couplings(mechanism: Mechanism) -> Iterator[tuple[str, Any]]:
    """What drives joints at ratios, clutches first, as messages call it.

    Not those of Builder.couple, which hold sums at zero on purpose: motors that stand still, wheels that roll.
    """
    for what in ("clutch", "transmission", "differential"):
        for one in mechanism.holder_kinds[what]:
            yield f"{what} {one.name!r}", one


def _is_rigid(one: Any) -> bool:
    return bool(np.isinf(one.capacities).all())


def _switched(one: Any, modes: Mapping[str, float]) -> Any:
    """A coupling as these modes have it."""
    own = {key: modes[f"{one.name}.{key}"] for key in MODES if f"{one.name}.{key}" in modes}
    return replace(one, **own) if own else one


def _through_others(mechanism: Mechanism, coupled: Sequence[tuple[str, Any]]) -> Iterator[Fault]:
    """The first coupling that makes others, all of them together, hold a joint still."""
    engaged = [(name, one) for name, one in coupled if one.engaged and _is_rigid(one)]
    names = [name for name, one in engaged for _ in one.ties]
    rows = [_row(mechanism, tie) for _, one in engaged for tie in one.ties]
    if not names or not _held_still(rows).any():
        return
    count = next(k for k in range(1, len(rows) + 1) if _held_still(rows[:k]).any())
    number, name = int(np.flatnonzero(_held_still(rows[:count]))[0]), names[count - 1]
    # The joint's own direction as a sum of rows: those in it take part
    shares = np.linalg.lstsq(np.array(rows[:count]).T, np.eye(mechanism.nv)[number], rcond=None)[0]
    others = [other for other, share in zip(names, shares, strict=False) if abs(share) > RANK and other != name]
    joint = next(j.name for j in mechanism.leaders if j.v.start <= number < j.v.stop)
    if others:
        told = f"{listed(others)} {'do together' if len(others) > 1 else 'does'}"
        reason, remedy = f"drives {joint!r} at another ratio than {told}", "release one of them, or hold the joint by"
    else:
        reason, remedy = f"holds {joint!r} still at this ratio", "use"
    yield Fault(f"{reason}: it could not move", name, f"{remedy} a brake")


def _row(mechanism: Mechanism, tie: Tie) -> Array:
    """By what the velocities (nv,) enter a tie, of unit size."""
    row: list[Number] = [0.0] * mechanism.tree.nv
    for joint, number, factor in tie.velocities:
        row[mechanism.tree.joints[joint].v.start + number] += factor
    found = np.array(row) @ mechanism.spread
    return found / np.sqrt(found @ found + TINY)


def _held_still(rows: Sequence[Array]) -> Array:
    """Which velocities (nv,) are zero wherever all rows (k, nv) of unit size are."""
    return np.array([left <= STILL * STILL for left in left_free(rows)])


def left_free(rows: Sequence[Array]) -> list[Number]:
    """How much of each of nv velocities the rows (k, nv), of unit size or zero, leave free: its share, squared.

    The rows are made orthogonal to each other one after the other (Gram and Schmidt, twice, as Kahan has it); those
    that follow from the others fall away.
    """
    kept: list[Array] = []
    for row in rows:
        for unit in (*kept, *kept):
            row = row - unit * (unit @ row)
        size = np.sqrt(row @ row)
        new = size > RANK
        kept.append(row * where(new, 1.0 / where(new, size, 1.0), 0.0))
    found: list[Number] = []
    for number in range(len(rows[0]) if len(rows) else 0):
        left = np.eye(len(rows[0]))[number] - sum(unit * unit[number] for unit in kept)
        found.append(left @ left)
    return found
