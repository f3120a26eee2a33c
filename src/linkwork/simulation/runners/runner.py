"""The interface of runners: state of all members, events, and diagnosis of failed steps."""

from __future__ import annotations

from typing import Protocol

from linkwork.simulation.problem import Problem
from linkwork.simulation.recording import Storage
from linkwork.simulation.results.outcomes import Event
from linkwork.simulation.runners.progress import Watch
from linkwork.simulation.state import MemberState
from linkwork.simulation.user_functions import Values


class Runner(Protocol):
    """A run of a problem: `now` is the state of all members, `dt` [s] the step or the time between samples."""

    problem: Problem
    storage: Storage
    now: MemberState
    dt: float
    events: list[Event]

    def go(self, watch: Watch) -> None:
        """Run to the end; call `watch` with the completed fraction."""
        ...

    def again(self, values: Values, now: MemberState) -> None:
        """Repeat the failed step of one member in plain Python, to raise its error."""
        ...

    def not_converged(self, values: Values, now: MemberState) -> str:
        """Return why the equations of a member's next step were not solved."""
        ...
