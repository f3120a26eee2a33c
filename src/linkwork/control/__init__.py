"""Controllers and the reference trajectories that they follow.

All controllers are plain NumPy functions of one state. They run on floats and can be traced into kernels, as functions
of users can.
"""

from linkwork.control import feedback
from linkwork.control.balance import balance
from linkwork.control.reference import Reference

__all__ = ["Reference", "balance", "feedback"]
