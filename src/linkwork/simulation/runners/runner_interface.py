"""The interface of runners: state of all members, events, and diagnosis of failed steps."""

from __future__ import annotations

from typing import Protocol

from linkwork.simulation.recording import Storage
from linkwork.simulation.results.outcomes import Event
from linkwork.simulation.runners.progress import Watch
from linkwork.simulation.simulation_problem import Problem
from linkwork.simulation.state import MemberState
from linkwork.simulation.user_functions import Values


class Runner(Protocol):
    """Interface of a run in progress.

    `now` is the state of all batch members. `dt` [s] is the step; for adaptive methods, it is the time between samples.
    """

    problem: Problem
    storage: Storage
    now: MemberState
    dt: float
    events: list[Event]

    def go(self, watch: Watch) -> None:
        """Run all batch members to the end; call `watch` with the completed fraction."""
        ...

    def again(self, values: Values, now: MemberState) -> None:
        """Repeat the failed step of one batch member in plain Python, so that the error raises an exception.

        `values` are the parameters and gains of the member, and `now` is its last state.
        """
        ...

    def not_converged(self, index: tuple[int, ...], now: MemberState) -> str:
        """Return the reason why the next step of a batch member fails from the state `now`, and a remedy.

        `index` is the batch index of the member.
        """
        ...
