"""Test processes already run in parallel: their linear algebra keeps to one thread each."""

import os

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
