"""`linkwork bench` measures every example, one line each, and prints nothing else."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

import linkwork as lw
from command_line_helper import command
from linkwork.app import bench_command
from quick_test_selection import mark_slow_except

EXAMPLES = [example.name for example in lw.examples()]
QUICK = ("double_pendulum", "box_drop", "clutched_flywheels", "differential_cart")


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, number in (("STATES", 8), ("MEMBERS", 4), ("STEPS", 5), ("TURNS", 1)):
        monkeypatch.setattr(bench_command, name, number)
    monkeypatch.setattr(bench_command, "find_spec", lambda name: None)


@pytest.mark.parametrize("name", mark_slow_except(EXAMPLES, QUICK))
def test_bench_command_runs_every_example_without_a_warning(name: str) -> None:
    """Random states slip at engaged gears and penetrate the ground at feet; the benchmark must not warn of either."""
    once, each, rate = bench_command.times(lw.example(name))
    assert 0.0 < once < 1.0
    assert 0.0 < each < 1.0
    assert rate > 1.0


def test_bench_table_has_one_line_per_example(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    some = ("clutched_flywheels", "differential_cart", "four_bar", "two_speed_gearbox")
    monkeypatch.setattr(lw, "examples", lambda found=lw.examples: [one for one in found() if one.name in some])
    code, output = command(capsys, "bench")
    assert code == 0
    lines = [line.split() for line in output.splitlines() if line.strip()]
    assert [words[0] for words in lines[3:]] == list(some)
    assert all(re.fullmatch(r"[\d.e+]+", word) for words in lines[3:] for word in words[1:])


def test_failed_examples_are_listed_below_the_bench_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(m: lw.Mechanism) -> Any:
        warnings.warn("linkwork: a step is too large", stacklevel=2)
        warnings.warn("linkwork: a step is too large", stacklevel=2)
        if m.name == "double_pendulum":
            raise lw.LinkworkError("it slips at the start")
        return 1e-6, 1e-7, 1e5

    some = ("double_pendulum", "heavy_top")
    monkeypatch.setattr(lw, "examples", lambda found=lw.examples: [one for one in found() if one.name in some])
    monkeypatch.setattr(bench_command, "times", measured)
    code, output = command(capsys, "bench")
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    assert code == 2
    assert [line.split()[0] for line in lines[3:5]] == list(some)
    assert lines[5:] == [
        "double_pendulum: it slips at the start",
        "double_pendulum: linkwork: a step is too large",
        "heavy_top: linkwork: a step is too large",
    ]
