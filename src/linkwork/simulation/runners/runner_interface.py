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
    """Interface of a run in progress: `now` is the state of the batch, `dt` [s] the step, or for adaptive methods the
    time between samples.
    """

    problem: Problem
    storage: Storage
    now: MemberState
    dt: float
    events: list[Event]

    def go(self, watch: Watch) -> None:
        """Run to the end; call `watch` with the completed fraction."""
        ...

    def again(self, values: Values, now: MemberState) -> None:
        """Repeat the failed step of one batch member in plain Python, so that its error is raised.

        `values` are the parameters and gains of the member, and `now` is its last state.
        """
        ...

    def not_converged(self, index: tuple[int, ...], now: MemberState) -> str:
        """Return why the next step of the batch member at `index` failed in the state `now`, and a remedy."""
        ...
