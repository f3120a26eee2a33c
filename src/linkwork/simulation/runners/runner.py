"""What every runner offers: where its members are, its events, and what a failed step looks like."""

from __future__ import annotations

from typing import Protocol

from linkwork.simulation.problem import Problem
from linkwork.simulation.recording import Storage
from linkwork.simulation.results.outcomes import Event
from linkwork.simulation.runners.progress import Watch
from linkwork.simulation.state import MemberState
from linkwork.simulation.user_functions import Values


class Runner(Protocol):
    """A run of a problem: `now` is the state of all members, `dt` [s] its step or the time between samples."""

    problem: Problem
    storage: Storage
    now: MemberState
    dt: float
    events: list[Event]

    def go(self, watch: Watch) -> None:
        """Run to the end, calling `watch` with the fraction that is done."""
        ...

    def again(self, values: Values, now: MemberState) -> None:
        """Evaluate the failing step of one member in plain Python."""
        ...

    def not_converged(self, values: Values, now: MemberState) -> str:
        """Why the equations of a member's next step were not solved, in words."""
        ...
