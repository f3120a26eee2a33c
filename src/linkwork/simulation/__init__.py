"""What happens next: whole runs in machine code, what they leave, and how far they can be trusted."""

from linkwork.simulation.controllers import host, sampled
from linkwork.simulation.results.recording import Run, open_run
from linkwork.simulation.simulate import simulate
from linkwork.simulation.stepping import Simulator
from linkwork.simulation.switching.guards import once

__all__ = ["Run", "Simulator", "host", "once", "open_run", "sampled", "simulate"]
