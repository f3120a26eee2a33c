"""A global lock for building a kernel, starting the thread pool and importing the compiler's modules.

Only one thread at a time does any of these.
"""

from __future__ import annotations

import os
import threading

BUILDING = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=BUILDING.acquire, after_in_parent=BUILDING.release, after_in_child=BUILDING.release)
