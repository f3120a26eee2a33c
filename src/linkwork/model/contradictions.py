"""Couplings that contradict each other: a joint that is driven at two ratios, directly or through others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.errors import listed
from linkwork.model.clutches import Tie, contradiction_faults
from linkwork.model.faults import Fault
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from linkwork.model.mechanism import Mechanism

MODES = ("engaged", "ratio", "selected")
TINY = 1e-300
RANK = 1e-10  # of rows of unit size, below which one follows from the others


def contradictions(mechanism: Mechanism, modes: Mapping[str, float] = MappingProxyType({})) -> Iterator[Fault]:
    """Clutches, transmissions and differentials that leave a joint no speed but zero, engaged as they are.

    `modes` are parameters by name that are other than they were built. Brakes hold joints on purpose, and what can
    slip does.
    """
    kinds = {
        "clutch": mechanism.clutches,
        "transmission": mechanism.transmissions,
        "differential": mechanism.differentials,
    }
    coupled = [(f"{what} {one.name!r}", _switched(one, modes)) for what, items in kinds.items() for one in items]
    direct = list(contradiction_faults(one for _, one in coupled[: len(mechanism.clutches)]))
    yield from direct or _through_others(mechanism, coupled)


def _switched(one: Any, modes: Mapping[str, float]) -> Any:
    """A coupling as these modes have it."""
    own = {key: modes[f"{one.name}.{key}"] for key in MODES if f"{one.name}.{key}" in modes}
    return replace(one, **own) if own else one


def _through_others(mechanism: Mechanism, coupled: Sequence[tuple[str, Any]]) -> Iterator[Fault]:
    """The first coupling that makes others, all of them together, hold a joint still."""
    engaged = [(name, one) for name, one in coupled if one.engaged and np.isinf(one.capacities).all()]
    names = [name for name, one in engaged for _ in one.ties]
    rows = np.array([_row(mechanism, tie) for _, one in engaged for tie in one.ties])
    if not names or not _held_still(rows).any():
        return
    count = next(k for k in range(1, len(rows) + 1) if _held_still(rows[:k]).any())
    number, name = int(np.flatnonzero(_held_still(rows[:count]))[0]), names[count - 1]
    # The joint's own direction as a sum of rows: those in it take part
    shares = np.linalg.lstsq(rows[:count].T, np.eye(mechanism.nv)[number], rcond=None)[0]
    others = [other for other, share in zip(names, shares, strict=False) if abs(share) > RANK and other != name]
    joint = next(j.name for j in mechanism.leaders if j.v.start <= number < j.v.stop)
    reason = f"drives {joint!r} at another ratio than {listed(others)} do together: it could not move"
    yield Fault(reason, name, "release one of them, or hold the joint by a brake")


def _row(mechanism: Mechanism, tie: Tie) -> Array:
    """By what the velocities (nv,) enter a tie, of unit size."""
    row = np.zeros(mechanism.tree.nv)
    for joint, number, factor in tie.velocities:
        row[mechanism.tree.joints[joint].v.start + number] += float(factor)
    found = row @ mechanism.spread
    return found / max(float(np.linalg.norm(found)), TINY)


def _held_still(rows: Array) -> Array:
    """Which velocities (nv,) are zero wherever all rows (k, nv) are."""
    tied = np.flatnonzero(np.abs(rows).max(axis=0, initial=0.0) > RANK)
    _, sizes, directions = np.linalg.svd(rows[:, tied])
    free = directions[np.count_nonzero(sizes > RANK * sizes.max(initial=0.0)) :]
    held = np.full(rows.shape[1], False)
    held[tied] = np.abs(free).max(axis=0, initial=0.0) < RANK
    return held
