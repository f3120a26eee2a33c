"""What happens next: whole runs in machine code, what they leave, and how far they can be trusted."""

from typing import TYPE_CHECKING, Any

from linkwork.simulation.events.guards import once
from linkwork.simulation.results.run import Run, open_run
from linkwork.simulation.simulate import simulate
from linkwork.simulation.user_functions import host, sampled

if TYPE_CHECKING:
    from linkwork.simulation.runners.interactive import Simulator

__all__ = ["Run", "Simulator", "host", "once", "open_run", "sampled", "simulate"]


def __getattr__(name: str) -> Any:
    if name != "Simulator":  # which whole runs do without
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from linkwork.simulation.runners.interactive import Simulator

    return Simulator
