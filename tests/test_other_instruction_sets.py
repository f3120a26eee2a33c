"""`make test-portable` runs tests with other instruction sets, reports skipped variants, and fails if a test fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import other_instruction_sets

TEST = "from importlib import import_module\nimport numpy as np\n\ndef test_{name}():\n    assert {what}\n"


@pytest.fixture
def inside() -> Any:
    return np._core._multiarray_umath  # pyright: ignore[reportAttributeAccessIssue]


def test_portable_tests_skip_unsupported_processors_with_a_reason(inside: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inside, "__cpu_features__", {"SSE42": True, "AVX2": True, "FMA3": True, "X86_V3": True})
    monkeypatch.setattr(inside, "__cpu_dispatch__", ["X86_V3", "X86_V4"])
    monkeypatch.setattr(other_instruction_sets, "_core_in_use", lambda settings: settings["OPENBLAS_CORETYPE"])
    found = {variant.name: variant for variant in other_instruction_sets.variants()}
    assert found["numpy"].settings == {"NPY_DISABLE_CPU_FEATURES": "X86_V3"}  # others would be warned about
    if "NumPy is built with" not in found["Haswell"].why_not:
        assert found["Haswell"].why_not == ""
        assert found["SkylakeX"].why_not == "the processor has no AVX512F, AVX512DQ, AVX512BW, AVX512VL"


@pytest.mark.parametrize(
    ("output", "code", "shown", "passed"),
    [
        ("....\n12 passed, 3 skipped in 0.1s", 0, "12 passed, 0 failed", True),
        ("FAILED tests/a.py::b - assert\n1 failed, 12 passed in 0.1s", 1, "12 passed, 1 failed", False),
        ("ERROR tests/a.py\n2 errors in 0.1s", 2, "0 passed, 2 failed, broken off", False),
        ("....", -4, "ended by signal 4", False),
        ("3 deselected in 0.1s", 5, "0 passed, 0 failed, broken off", False),
    ],
)
def test_portable_tests_parse_the_output_of_pytest(output: str, code: int, shown: str, passed: bool) -> None:
    result = other_instruction_sets.read(output, code, 1.0)
    assert (str(result), result.passed) == (shown, passed)
    assert len(result.failures) == output.count("FAILED") + output.count("ERROR")


def test_portable_test_variant_runs_tests_and_names_failures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if next(variant for variant in other_instruction_sets.variants() if variant.name == "x86-64-v2").why_not:
        pytest.skip("not an x86-64 processor")
    kernels = (
        "__import__('importlib').import_module('linkwork.compiler.targets.cpu.code_loader').processor().width == 2"
    )
    (tmp_path / "test_width.py").write_text(TEST.format(name="width", what=kernels))
    assert other_instruction_sets.main(["--variants", "x86-64-v2", "--paths", str(tmp_path)]) == 0
    assert other_instruction_sets.main(["--variants", "host", "--paths", str(tmp_path / "test_width.py")]) in (
        0,
        1,
    )  # by its width
    (tmp_path / "test_wrong.py").write_text(TEST.format(name="wrong", what="np.pi == 3"))
    assert other_instruction_sets.main(["--variants", "x86-64-v2", "--paths", str(tmp_path)]) == 1
    output = capsys.readouterr().out
    assert "1 passed, 1 failed" in output
    assert "test_wrong.py::test_wrong" in output
    with pytest.raises(SystemExit):
        other_instruction_sets.main(["--variants", "Alpha"])
    _, errors = capsys.readouterr()
    assert "there is no variant 'Alpha'; there are host, Nehalem" in errors
