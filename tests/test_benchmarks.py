"""The benchmarks run, agree with their peers and write their results. Speed is never asserted."""

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

if find_spec("pinocchio") is None:
    pytest.skip("Pinocchio is not installed (the extra 'peers')", allow_module_level=True)

ROOT = Path(__file__).parent.parent
ARM = "arm7"
COMPARED = ("forward dynamics, batch", "inverse dynamics, batch", "mass matrix, batch", "forward dynamics, one call")


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    file = tmp_path_factory.mktemp("benchmarks") / "found.json"
    ran = python("-m", "benchmarks", "--quick", "--target", "numpy", "--only", ARM, "--json", str(file))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"{ARM}: forward dynamics, batch" in ran.stdout
    return json.loads(file.read_text(encoding="utf-8"))


def test_benchmark_results_include_versions_cpu_and_date(written: dict[str, Any]) -> None:
    assert written["versions"]["linkwork"]
    assert written["versions"]["pin"]
    assert written["cpu"]["model"]
    assert written["cpu"]["cores"] >= 1
    assert written["date"]
    assert written["quick"]
    assert written["target"] == "numpy"


def test_benchmark_results_agree_with_peers_and_times_are_positive(written: dict[str, Any]) -> None:
    rows = {row["name"]: row for row in written["rows"]}
    for question in COMPARED:
        row = rows[f"{ARM}: {question}"]
        assert row["status"] == "ok", row["note"]
        assert 0.0 <= row["disagreement"] < 1e-8
        assert row["ratio"] > 0.0
        for side in ("linkwork", "peer"):
            assert 0.0 < row[side]["low"] <= row[side]["median"] <= row[side]["high"]
    first = rows[f"{ARM}: first answer, from cache"]
    assert first["status"] == "ok", first["note"]
    assert first["linkwork"]["median"] > 0.0
    assert first["peer"]["median"] > 0.0


def test_benchmark_without_a_comparison_has_no_ratio(written: dict[str, Any]) -> None:
    (row,) = (row for row in written["rows"] if row["name"] == f"{ARM}: forward dynamics, two threads")
    assert row["status"] == "not available"
    assert row["ratio"] is None
    assert "one thread" in row["note"]


@pytest.mark.skipif(find_spec("mujoco") is None, reason="MuJoCo is not installed (the extra 'peers')")
def test_ladder_benchmarks_report_time_and_accuracy(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    ran = python("-m", "benchmarks", "--quick", "--only", "ladder2:", "--json", str(file))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "accuracy" in ran.stdout
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert [row["status"] for row in rows] == ["ok", "ok"], rows
    accuracy = {what: {side: row["accuracy"][side][what] for side in ("linkwork", "peer")}
                for row in rows for what in row["accuracy"]["peer"]}  # fmt: skip
    assert list(accuracy) == ["closed form", "position error of loops [m]", "energy drift"]
    for what, found in accuracy.items():
        assert found["linkwork"] < 1e-11, what
        assert found["peer"] < 0.1, what  # it is the same machine


@pytest.mark.skipif(find_spec("mujoco") is None, reason="MuJoCo is not installed (the extra 'peers')")
def test_structure_preserving_method_benchmarks_report_time_and_accuracy(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    ran = python(
        "-m", "benchmarks", "--quick", "--only", "pendulums: a run by steps of 10 ms, rk4", "--json", str(file)
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (row,) = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert row["status"] == "ok", row
    ours, theirs = row["accuracy"]["linkwork"], row["accuracy"]["peer"]
    assert ours["error [m]"] < 1e-6
    assert ours["energy drift"] < 1e-7
    for what, found in ours.items():  # the same method on the same machine, and so the same errors
        assert theirs[what] == pytest.approx(found, rel=1e-2)


@pytest.mark.skipif(find_spec("mujoco") is None, reason="MuJoCo is not installed (the extra 'peers')")
def test_creep_benchmark_compares_with_mujoco(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    ran = python("-m", "benchmarks", "--quick", "--only", "incline:", "--json", str(file))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    creeps = [[row["accuracy"][side]["creep in 1 s [m]"] for side in ("linkwork", "peer")] for row in rows]
    assert [row["status"] for row in rows] == ["ok"] * 3
    assert all(ours < 1e-9 for ours, _ in creeps)
    default, elliptic, without_slip = (theirs for _, theirs in creeps)
    assert default > 1e-4 > elliptic > 1e-7 > without_slip  # the best settings hold too


def test_chain_benchmarks_report_iterations_and_first_run_time(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    ran = python("-m", "benchmarks", "--quick", "--only", "chain4: a variational step", "--json", str(file))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (row,) = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert re.search(r"the first run took [0-9.]+ s; [1-4]\.[0-9] iterations", row["note"]), row


def test_benchmark_does_not_time_libraries_with_differing_results() -> None:
    script = """
import numpy as np
from benchmarks.timing import QUICK, Row, compare
from benchmarks.peer_libraries import Contender

for wrong in (1.0 + 1e-7, np.nan):
    row = Row("made up", "us")
    right, other = Contender("right", lambda: np.ones(3)), Contender("wrong", lambda: np.array([1.0, wrong, 1.0]))
    compare(row, lambda: right, lambda: other, 1, QUICK)
    assert row.status == "answers differ", row
    assert row.ratio is row.linkwork is row.peer is None
    assert row.record()["ratio"] is None
"""
    ran = python("-c", script)
    assert ran.returncode == 0, ran.stderr


def test_unknown_benchmark_name_lists_the_names() -> None:
    ran = python("-m", "benchmarks", "--quick", "--only", "nothing of the kind")
    assert ran.returncode == 2
    assert "arm7: mass matrix, batch" in ran.stderr


@pytest.mark.slow
def test_walker_benchmark_reports_time(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    ran = python("-m", "benchmarks", "--quick", "--only", "walks, different schedules", "--json", str(file))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (row,) = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert row["size"] == {"nv": 23, "states": 3, "steps": 200}
    assert row["linkwork"]["median"] > 0.0
    assert "0.3 s of walking in" in row["note"]
