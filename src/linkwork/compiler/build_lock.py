"""One global lock, held while a thread builds a kernel, starts the thread pool or imports the compiler's modules.

All kernels share this lock. A process forks only when no thread holds the lock, so a child process never inherits a
locked lock or a half-built kernel.
"""

from __future__ import annotations

import os
import threading

BUILDING = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=BUILDING.acquire, after_in_parent=BUILDING.release, after_in_child=BUILDING.release)
