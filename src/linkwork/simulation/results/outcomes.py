"""Outcomes of a run (how each batch member ended), and events during the run."""

from __future__ import annotations

import warnings
from typing import NamedTuple

from linkwork.simulation.events.event_tolerances import SMALLEST_FORCE

FINISHED, EVENT, NOT_CONVERGED, NON_FINITE, STOPPED = "finished", "event", "not converged", "non-finite", "stopped"
JAMMED = "jammed"  # the friction of a joint has no unique solution
KINDS = (FINISHED, EVENT, NOT_CONVERGED, NON_FINITE, STOPPED, JAMMED)


class Outcome(NamedTuple):
    """How a batch member ended: the `kind` of end, the `time` [s] of its last valid state, and a failure `diagnosis`.

    The kinds are "finished"; "event" (ended by `stop_when`); "not converged"; "non-finite"; "stopped" (by Ctrl-C); and
    "jammed" (the friction of a joint has no unique solution).
    """

    kind: str
    time: float
    diagnosis: str = ""

    @property
    def evidence(self) -> str:
        """The failure diagnosis; deprecated name of `diagnosis`."""
        warnings.warn("linkwork: Outcome.evidence is now Outcome.diagnosis", DeprecationWarning, stacklevel=2)
        return self.diagnosis

    def __str__(self) -> str:
        return f"{self.kind} at {self.time:.6g} s" + (f": {self.diagnosis}" if self.diagnosis else "")


class Event(NamedTuple):
    """An event of a run: `time` [s], index of the `member` in the batch, and a text that says `what` occurred.

    For an element that was switched, `energy` [J] is the energy gained by the velocity jump, `impulse` [N s or N m s]
    the constraint impulse, and `carried` [N or N m] the constraint force after the event; if this force is 0, for
    example after a release, `carried` is the force before the event. The force of a slipping constraint counts as 0.
    For constraints with several rows, such as loops, impulse and force are norms.
    """

    time: float
    member: tuple[int, ...]
    what: str
    energy: float = 0.0
    impulse: float = 0.0
    carried: float = 0.0

    def __str__(self) -> str:
        who = f", member {', '.join(map(str, self.member))}" if self.member else ""
        force = self.carried if abs(self.carried) > SMALLEST_FORCE else 0.0
        more = [f"{name} {x:.6g}" for name, x in (("impulse", self.impulse), ("force", force)) if x]
        return "; ".join([f"at {self.time:.6g} s{who}: {self.what}", *more])
