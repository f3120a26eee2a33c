"""Outcomes of the members of a run, and events during it."""

from __future__ import annotations

from typing import NamedTuple

FINISHED, EVENT, NOT_CONVERGED, NON_FINITE, STOPPED = "finished", "event", "not converged", "non-finite", "stopped"
KINDS = (FINISHED, EVENT, NOT_CONVERGED, NON_FINITE, STOPPED)


class Outcome(NamedTuple):
    """How a member ended: one of `KINDS`, the time [s] of its last good state, and the evidence."""

    kind: str
    time: float
    evidence: str = ""

    def __str__(self) -> str:
        return f"{self.kind} at {self.time:.6g} s" + (f": {self.evidence}" if self.evidence else "")


class Event(NamedTuple):
    """An event: its time [s], the member of the batch, and what it was.

    Where something was switched, `energy` [J] is what the velocity jump gained, `impulse` [N s or N m s] is that of the
    constraint, and `carried` [N or N m] its force after the jump, or before it where the constraint was released; for
    constraints with several rows, such as loops, these are the norms.
    """

    time: float
    member: tuple[int, ...]
    what: str
    energy: float = 0.0
    impulse: float = 0.0
    carried: float = 0.0

    def __str__(self) -> str:
        who = f", member {', '.join(map(str, self.member))}" if self.member else ""
        more = [f"{name} {x:.6g}" for name, x in (("impulse", self.impulse), ("carries", self.carried)) if x]
        return "; ".join([f"at {self.time:.6g} s{who}: {self.what}", *more])
