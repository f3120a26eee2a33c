"""Run the numerical tests as on other processors: OpenBLAS, NumPy and linkwork kernels with other instructions.

    python tests/other_instruction_sets.py [--variants Haswell,numpy] [--paths tests/evaluation tests/spatial] [--jobs
    2]

Results that depend on the order of sums, or on fused multiplications, differ in their last bits between processors.
A test that passes on only one of them has a tolerance without a scale. Each variant runs in a separate pytest process;
variants that this processor cannot run are skipped, and the table gives the reason.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
PATHS = [f"tests/{name}" for name in (
    "spatial", "algorithms", "evaluation", "closed_forms", "compiler", "simulation", "model", "control",
)]  # fmt: skip
# Kernels of OpenBLAS, and what NumPy calls the instructions without which they end with an illegal one
CORES = {
    "Nehalem": ("SSE42",),
    "Haswell": ("AVX2", "FMA3"),
    "Zen": ("AVX2", "FMA3"),
    "SkylakeX": ("AVX512F", "AVX512DQ", "AVX512BW", "AVX512VL"),
}
# Processors for which linkwork's kernels are made instead, the doubles in their vectors, and whether they fuse
KERNELS = {"x86-64-v2": (2, False, "SSE42"), "x86-64-v3": (4, True, "AVX2")}
MADE_FOR = "LINKWORK_TEST_PROCESSOR"  # names one of these to the process of pytest, which has this file as a plugin


@dataclass(frozen=True)
class Variant:
    """Settings of a pytest process that imitates another processor, or the reason why it cannot run here."""

    name: str
    what: str
    settings: Mapping[str, str] = field(default_factory=dict)
    why_not: str = ""


@dataclass(frozen=True)
class Result:
    """Outcome of one pytest process: the counts that pytest prints, the failed tests, and the duration [s]."""

    counts: Mapping[str, int]
    failures: Sequence[str]
    code: int
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether at least one test ran and all that ran passed."""
        return self.code == 0 and self.counts.get("passed", 0) > 0

    def __str__(self) -> str:
        if self.code < 0:
            return f"ended by signal {-self.code}"
        failed = self.counts.get("failed", 0) + self.counts.get("error", 0) + self.counts.get("errors", 0)
        return f"{self.counts.get('passed', 0)} passed, {failed} failed" + (
            "" if self.code in (0, 1) else ", broken off"
        )


def variants() -> Iterator[Variant]:
    """Yield all processor variants, including those that cannot run here."""
    inside: Any = np._core._multiarray_umath  # pyright: ignore[reportAttributeAccessIssue]
    has: Mapping[str, bool] = inside.__cpu_features__
    yield Variant("host", "as this processor is")
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]  # type: ignore[index]
    for core, needed in CORES.items():
        lacking = [name for name in needed if not has.get(name)]
        why_not = f"the processor has no {', '.join(lacking)}" if lacking else ""
        why_not = why_not if "openblas" in blas else f"NumPy is built with {blas}, not OpenBLAS"
        settings = {"OPENBLAS_CORETYPE": core}
        what = "" if why_not else _core_in_use(settings)
        why_not = why_not if why_not or what else "OpenBLAS does not start"
        yield Variant(core, f"OpenBLAS with kernels of {what}", settings, why_not)
    extra = [name for name in inside.__cpu_dispatch__ if has.get(name)]
    why_not = "" if extra else "NumPy uses nothing beyond its baseline here"
    disabled = {"NPY_DISABLE_CPU_FEATURES": " ".join(extra)}
    yield Variant("numpy", f"NumPy without {' '.join(extra)}", disabled, why_not)
    for name, (width, fuses, needed) in KERNELS.items():
        why_not = "" if has.get(needed) else f"the processor has no {needed}"
        how = f"{width} doubles wide, {'fused' if fuses else 'not fused'}"
        yield Variant(name, f"linkwork's kernels {how}", {MADE_FOR: name}, why_not)


def _core_in_use(settings: Mapping[str, str]) -> str:
    """Return the name of the kernels that OpenBLAS uses under these settings; empty if OpenBLAS fails to start."""
    script = "import numpy as np; np.linalg.svd(np.ones((40, 40)))"
    environment = {**os.environ, **settings, "OPENBLAS_VERBOSE": "2"}
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    core = re.search(r"Core: (\w+)", run.stderr)
    return "" if run.returncode or not core else core[1]


def run(variant: Variant, paths: Sequence[str], jobs: int) -> Result:
    """Run the tests under a processor variant and return the result."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    searched = [str(ROOT / "src"), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    environment |= {**variant.settings, "PYTHONPATH": os.pathsep.join(filter(None, searched))}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "other_instruction_sets", *paths]
    command += ["-n", str(jobs)] if jobs > 1 else []
    begin = time.perf_counter()
    ended = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    return read(ended.stdout, ended.returncode, time.perf_counter() - begin)


def read(output: str, code: int, seconds: float) -> Result:
    """Return the test result parsed from the output of pytest."""
    lines = output.strip().splitlines() or [""]
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped|errors?)\b", lines[-1])}
    return Result(counts, [line for line in lines if line.startswith(("FAILED ", "ERROR "))], code, seconds)


def pytest_configure(config: Any) -> None:
    """Pytest hook: this file is a plugin that applies the variant at the start; all kernels compile as users do."""
    config.option.as_shipped = True  # the option of tests/conftest.py
    apply_processor_variant()


def apply_processor_variant() -> None:
    """If the environment names a processor, let linkwork build its kernels for it."""
    name = os.environ.get(MADE_FOR)
    if name is None:
        return
    from linkwork.compiler.targets.cpu import code_loader, cpu_target

    width, fuses, _ = KERNELS[name]
    found = code_loader.processor()._replace(name=name, features="", width=width, has_fma=fuses)
    for module in (code_loader, cpu_target):
        module.processor = lambda: found  # type: ignore[assignment]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all or the named variants and print a table; return 1 if a test failed under one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = {variant.name: variant for variant in variants()}
    parser.add_argument("--variants", default=",".join(known), help="names, with commas between them: %(default)s")
    parser.add_argument("--paths", nargs="+", default=PATHS, help="files or folders of tests")
    parser.add_argument("--jobs", type=int, default=1, help="processes in parallel (pytest -n)")
    options = parser.parse_args(arguments)
    names = options.variants.split(",")
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"there is no variant {unknown[0]!r}; there are {', '.join(known)}")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored, also by tests of Ctrl-C
    failed = False
    for variant in (known[name] for name in names):
        if variant.why_not:
            print(f"{variant.name:10} skipped: {variant.why_not}", flush=True)
            continue
        result = run(variant, options.paths, options.jobs)
        failed |= not result.passed
        print(f"{variant.name:10} {result!s:28} {result.seconds:7.1f} s   {variant.what}", flush=True)
        for line in result.failures:
            print(f"{'':10} {line}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
