"""What happens next: whole runs in machine code, what they leave, and how far they can be trusted."""

from linkwork.simulation.events.guards import once
from linkwork.simulation.results.run import Run, open_run
from linkwork.simulation.runners.interactive import Simulator
from linkwork.simulation.simulate import simulate
from linkwork.simulation.user_functions import host, sampled

__all__ = ["Run", "Simulator", "host", "once", "open_run", "sampled", "simulate"]
