"""Controllers and the reference trajectories that they follow.

All controllers are plain NumPy functions of one state. Like user-defined controllers, they run on floats, and can be
traced into a kernel.
"""

from linkwork.control import feedback
from linkwork.control.balance import balance
from linkwork.control.reference_trajectory import Reference

__all__ = ["Reference", "balance", "feedback"]
