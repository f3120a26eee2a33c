"""The lock that is held while kernels are built, the thread pool is started, and the compiler's modules are imported.

There is one for all kernels. A process forks only when no thread holds it: a child never inherits it locked, nor a
compiler in the middle of its work.
"""

from __future__ import annotations

import os
import threading

BUILDING = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=BUILDING.acquire, after_in_parent=BUILDING.release, after_in_child=BUILDING.release)
