"""What moves a mechanism on purpose: references that controllers follow, and controllers themselves.

Everything here is plain NumPy on one state, so that it runs on floats and is traced into kernels like functions that
users write.
"""

from linkwork.control import feedback
from linkwork.control.balance import balance
from linkwork.control.reference import Reference

__all__ = ["Reference", "balance", "feedback"]
