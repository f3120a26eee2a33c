"""Recorded series of the work of passive elements and of the impulse of the ground, read from the work ledger."""

from __future__ import annotations

from linkwork.simulation.series_definition import Axis, RunFacts, Series
from linkwork.simulation.state_series import six
from linkwork.simulation.work_ledger import IMPULSE, WORK_ENTRIES

TITLES = {
    "contacts": "work of contacts",
    "clutches": "work of clutches and brakes",
    "joints": "work of joint friction and dampers",
}
GROUND_IMPULSE = "contact.impulse"
_IMPULSE = Axis("impulse", ("px", "py", "pz", "lx", "ly", "lz"))


def _work(number: int, name: str) -> Series:
    """Return the recorded series of entry `number` of the work ledger: the work [J] of the kind of elements called
    `name`.
    """
    return Series(
        f"work.{name}", TITLES[name], "J", sample=lambda now: now.state.motion.ledger[number],
        exists=lambda facts: name in facts.ledger_entries, by_default=True,
    )  # fmt: skip


def _touches_world(facts: RunFacts) -> bool:
    bodies = (pair for _, *pair in facts.mechanism.contact_bodies)
    return "contacts" in facts.ledger_entries and any(0 in pair for pair in bodies)


LEDGER_SERIES: tuple[Series, ...] = (
    *(_work(number, name) for number, name in enumerate(WORK_ENTRIES)),
    Series(
        GROUND_IMPULSE, "impulse of the ground and its moment about the origin", six("N s", "N m s"), (_IMPULSE,),
        lambda now: now.state.motion.ledger[IMPULSE], exists=_touches_world,
    ),
)  # fmt: skip
