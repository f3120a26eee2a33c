"""How members of a run end: each on its own, with the time and the evidence."""

from __future__ import annotations

from typing import NamedTuple

FINISHED, EVENT, NOT_CONVERGED, NON_FINITE, STOPPED = "finished", "event", "not converged", "non-finite", "stopped"
KINDS = (FINISHED, EVENT, NOT_CONVERGED, NON_FINITE, STOPPED)


class Outcome(NamedTuple):
    """How a member ended: one of `KINDS`, the time [s] of its last good state, and what shows it."""

    kind: str
    time: float
    evidence: str = ""

    def __str__(self) -> str:
        return f"{self.kind} at {self.time:.6g} s" + (f": {self.evidence}" if self.evidence else "")


class Event(NamedTuple):
    """Something that happened: when [s], to which member of the batch, and what."""

    time: float
    member: tuple[int, ...]
    what: str
