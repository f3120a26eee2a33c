"""Settings of all tests: one thread for linear algebra, one kernel cache for all processes, verified LLVM texts.

Most tests run a kernel for milliseconds, after LLVM has spent seconds on its code. Tests therefore compile at LLVM's
lowest level of code generation, in a fifth of the time; the bits are the same (tests/compiler/
test_code_generation_levels.py). Tests in the folders `AS_SHIPPED` and all subprocesses compile as users do, and so do
all tests with the option `--as-shipped`, as in `make test-all`.
"""

import atexit
import gc
import os
import shutil
import tempfile

import pytest

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

gc.set_threshold(100_000, 20, 50)  # traces make millions of small objects: fewer collections save 4 % of the time

if "PYTEST_XDIST_WORKER" not in os.environ:  # workers inherit the folder of the process that starts them
    os.environ["LINKWORK_CACHE_DIR"] = tempfile.mkdtemp(prefix="linkwork-kernels-")
    atexit.register(shutil.rmtree, os.environ["LINKWORK_CACHE_DIR"], ignore_errors=True)

AS_SHIPPED = ("compiler", "peers")
LEVEL = pytest.StashKey[int]()  # the level of code generation at which kernels of users are compiled


def pytest_addoption(parser):
    parser.addoption("--as-shipped", action="store_true", help="compile all kernels as users do (slower)")


def pytest_configure(config):
    from linkwork.compiler.targets.cpu import code_loader

    config.stash[LEVEL] = code_loader.CODE_GENERATION_LEVEL


def pytest_collection_modifyitems(items):
    """Start with the files outside folders: they have the longest tests, and no process ends long after the others."""
    items.sort(key=lambda item: item.path.parent.name != "tests")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Set LLVM's level of code generation for the next test; at a new level, forget the kernels in memory."""
    from linkwork.compiler import in_memory_kernel_cache
    from linkwork.compiler.targets.cpu import code_loader

    shipped = item.config.getoption("--as-shipped") or item.path.parent.name in AS_SHIPPED
    level = item.config.stash[LEVEL] if shipped else 0
    if code_loader.CODE_GENERATION_LEVEL != level:
        code_loader.CODE_GENERATION_LEVEL = level
        in_memory_kernel_cache.forget()


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


@pytest.fixture(autouse=True)
def _registered_series_end_with_their_test():
    """Remove the series that a test or an example of a page registers, which later tests would see."""
    from linkwork.simulation.series import SERIES

    before = dict(SERIES)
    yield
    if SERIES.keys() != before.keys():
        SERIES.clear()
        SERIES.update(before)
