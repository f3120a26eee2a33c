"""Settings of all tests: one thread for linear algebra, one kernel cache for all processes, verified LLVM texts."""

import atexit
import os
import shutil
import tempfile

import pytest

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

if "PYTEST_XDIST_WORKER" not in os.environ:  # workers inherit the folder of the process that starts them
    os.environ["LINKWORK_CACHE_DIR"] = tempfile.mkdtemp(prefix="linkwork-kernels-")
    atexit.register(shutil.rmtree, os.environ["LINKWORK_CACHE_DIR"], ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def _verified_llvm_texts():
    """Verify every LLVM text that the tests compile; the package itself does not, to save time."""
    import llvmlite.binding as llvm

    parse = llvm.parse_assembly

    def verified(text, *context):
        module = parse(text, *context)
        module.verify()
        return module

    llvm.parse_assembly = verified
    yield
    llvm.parse_assembly = parse
