"""One global lock that a thread holds while it builds a kernel, starts the thread pool or imports the compiler's
modules.
"""

from __future__ import annotations

import os
import threading

BUILDING = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=BUILDING.acquire, after_in_parent=BUILDING.release, after_in_child=BUILDING.release)
