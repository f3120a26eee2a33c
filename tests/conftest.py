"""Test processes run in parallel: their linear algebra keeps to one thread each, their kernels to their own folder."""

import os
import tempfile

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

os.environ["LINKWORK_CACHE_DIR"] = tempfile.mkdtemp(prefix="linkwork-kernels-")
