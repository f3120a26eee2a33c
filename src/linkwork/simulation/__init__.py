"""Simulation: integration methods, events, compiled runs, the interactive simulator, and results with their checks."""

from typing import TYPE_CHECKING, Any

from linkwork.simulation.events.guards import one_shot
from linkwork.simulation.results.run import Run, open_run
from linkwork.simulation.simulate import simulate
from linkwork.simulation.user_functions import host, sampled

if TYPE_CHECKING:
    from linkwork.simulation.runners.interactive_simulator import Simulator

__all__ = ["Run", "Simulator", "host", "one_shot", "open_run", "sampled", "simulate"]


def __getattr__(name: str) -> Any:
    if name != "Simulator":  # imported on demand: `simulate` does not need it
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from linkwork.simulation.runners.interactive_simulator import Simulator

    return Simulator
