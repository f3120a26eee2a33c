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
    """Something that happened: when [s], to which member of the batch, and what.

    Of what was switched, `energy` [J] is what the jump won, `impulse` [N s or N m s] what it took along what is held,
    and `carried` [N or N m] the force that is carried after it, or was before where it was let go; of several rows, as
    loops have, these are the lengths.
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
