"""Run linear algebra on one thread per test process, and share one kernel cache between test processes."""

import atexit
import os
import shutil
import tempfile

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

if "PYTEST_XDIST_WORKER" not in os.environ:  # workers inherit the folder of the process that starts them
    os.environ["LINKWORK_CACHE_DIR"] = tempfile.mkdtemp(prefix="linkwork-kernels-")
    atexit.register(shutil.rmtree, os.environ["LINKWORK_CACHE_DIR"], ignore_errors=True)
