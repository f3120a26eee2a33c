"""`linkwork run`: its output, files and exit codes; it finds invalid arguments before it simulates."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from command_line_helper import command
from linkwork.app import bench_command
from linkwork.app.cli import main
from linkwork.papers import output_folder


def test_run_command_simulates_and_saves_an_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "new" / "out"
    code, printed = command(capsys, "run", "double_pendulum", "--duration", 1, "--out", out, "--seed", 3)
    assert code == 0, printed
    for words in (
        "from its neutral position, with random velocities",
        "seed 3",
        "energy balance",
        "all checks passed",
        "written",
    ):
        assert words in printed
    assert sorted(os.listdir(out)) == ["double_pendulum.npz", "double_pendulum.png"]
    run = lw.open_run(out / "double_pendulum.npz")
    assert run.t[-1] == pytest.approx(1.0)
    assert np.array_equal(run.v[0], np.random.default_rng(3).normal(size=2) * 0.5)


def test_run_command_applies_its_options_for_method_comparison_and_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("run", "double_pendulum", "--duration", 0.1, "--out", tmp_path, "--no-plot")
    code, printed = command(capsys, *words, "--dt", 0.01, "--method", "midpoint", "--compare")
    assert "estimated error" in printed
    assert os.listdir(tmp_path) == ["double_pendulum.npz"]
    assert lw.open_run(tmp_path / "double_pendulum.npz").settings.method == "midpoint"
    code, printed = command(capsys, *words, "--no-report")
    assert code == 0
    assert "energy balance" not in printed


def test_failed_checks_exit_with_code_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("run", "heavy_top", "--duration", 5, "--dt", 0.5, "--out", tmp_path, "--no-plot", "--method", "rk4")
    code, printed = command(capsys, *words)
    assert code == 1
    assert " failed: " in printed
    assert os.listdir(tmp_path) == ["heavy_top.npz"]
    code, printed = command(capsys, *words, "--no-report")
    assert code == 1
    assert " failed: " in printed


def test_run_command_closes_the_loops_of_linkages_at_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, printed = command(capsys, "run", "five_bar", "--duration", 0.1, "--out", tmp_path, "--no-plot")
    assert code == 0, printed
    assert "from keyframe 'start', with random velocities" in printed
    b = lw.Builder("rhombus")
    for name, parent in (("a", "world"), ("b", "a")):
        b.body(name, 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
        b.joint(f"to {name}", lw.Revolute((0, 1, 0)), parent, name, at=(1, 0, 0))
    b.close("stay", lw.Rod(1.5), "world", "b", at=(1, 0, 0), to=(1, 0, 0))
    lw.save(b.build(), tmp_path / "rhombus.toml")
    code, printed = command(capsys, "run", tmp_path / "rhombus.toml", "--duration", 0.1, "--out", tmp_path, "--no-plot")
    assert code == 0, printed
    assert "from its neutral position, after closing its loops, with random velocities" in printed
    run = lw.open_run(tmp_path / "rhombus.npz")
    assert np.abs(run.dynamics.constraint(run.q)).max() < 1e-12
    assert np.ptp(run.q) > 0.0


def test_run_of_a_model_file_starts_from_its_keyframe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    b = lw.Builder("my/arm").body("link", 1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    b.joint("pin", lw.Revolute((0, 1, 0)), "world", "link", limits=(0.5, 1.5))
    lw.save(b.build(), tmp_path / "arm.toml")
    words = ("run", tmp_path / "arm.toml", "--duration", 0.1, "--out", tmp_path, "--no-plot", "--dt", 0.001)
    code, printed = command(capsys, *words)
    assert code == 0, printed
    assert "from its neutral position" in printed
    assert lw.open_run(tmp_path / "my_arm.npz").q[0] == [0.5]  # within its limits
    b.keyframe("raised", {"pin": 1.2})
    lw.save(b.build(), tmp_path / "arm.toml")
    code, printed = command(capsys, *words)
    assert "from keyframe 'raised'" in printed
    assert lw.open_run(tmp_path / "my_arm.npz").q[0] == [1.2]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("run", "double_pendulun"), "Did you mean 'double_pendulum'?"),
        (("run", "nothing.urdf"), "no such file"),
        (("run", "double_pendulum", "--method", "rk5"), "there is no method 'rk5'"),
        (("run", "double_pendulum", "--duration", "-1"), "duration must be a positive number"),
        (("run", "double_pendulum", "--durration", "1"), "--duration"),
        (("run",), "what"),
        (("runn", "x"), 'Did you mean "run"'),
    ],
)
def test_invalid_arguments_of_the_run_command_exit_with_code_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: Any, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, printed = command(capsys, *words)
    assert code == 2
    assert says in printed or says in printed.lower()
    assert not list(tmp_path.rglob("*.npz"))


def test_unwritable_folder_is_reported_before_the_simulation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("it was run")

    monkeypatch.setattr(lw, "simulate", never)
    (tmp_path / "file").write_text("")
    code, printed = command(capsys, "run", "double_pendulum", "--out", tmp_path / "file")
    assert code == 2
    assert "cannot write to the folder" in printed
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o500)
    if not os.access(closed, os.W_OK):
        code, printed = command(capsys, "run", "double_pendulum", "--out", closed)
        assert code == 2
        assert "permission denied" in printed


def test_run_command_needs_matplotlib_only_for_requested_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_folder, "find_spec", lambda name: None)
    code, printed = command(capsys, "run", "double_pendulum", "--plot", "--out", tmp_path)
    assert code == 2
    assert "pip install 'linkwork[plot]'" in printed
    code, printed = command(capsys, "run", "double_pendulum", "--duration", 0.1, "--out", tmp_path)
    assert code == 0
    assert os.listdir(tmp_path) == ["double_pendulum.npz"]


def test_debug_option_raises_the_exception_instead_of_printing_it(tmp_path: Path) -> None:
    with pytest.raises(lw.LinkworkError, match="there is no example"):
        main(["run", "nothing", "--debug", "--out", str(tmp_path)])


def test_bench_command_measures_the_examples(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_command, "find_spec", lambda name: None)
    monkeypatch.setattr(lw, "examples", lambda found=lw.examples: [e for e in found() if e.name == "double_pendulum"])
    code, printed = command(capsys, "bench")
    assert code == 0
    assert "double_pendulum" in printed
    assert "one state, us" in printed
    code, printed = command(capsys, "bench", "--quick")
    assert code == 2
    assert "not available here" in printed


def test_bench_command_runs_the_repository_benchmarks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "benchmarks"
    package.mkdir()
    for name in ("__init__", "robots", "peer_libraries"):
        (package / f"{name}.py").write_text("")
    (package / "__main__.py").write_text("import sys\nprint('measured', *sys.argv[1:])\nsys.exit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
        monkeypatch.delitem(sys.modules, name)
    code, printed = command(capsys, "bench", "--only", "arm7")
    assert (code, printed.strip()) == (3, "measured --only arm7")


@pytest.mark.parametrize(
    ("name", "duration", "switched"),
    [
        ("clutched_flywheels", 2.0, "engage clutch"),
        ("two_speed_gearbox", 3.0, "shift gearbox to gear 2"),
        ("differential_cart", 4.0, "engage curve"),
        ("cable_arm", 1.0, ""),
        pytest.param("biped_hit", 3.0, "", marks=pytest.mark.slow),
        pytest.param("biped_reach", 3.0, "", marks=pytest.mark.slow),
        pytest.param("walker", 2.0, "lock yaw brake", marks=pytest.mark.slow),
        pytest.param("cockroach", 0.3, "", marks=pytest.mark.slow),
    ],
)
def test_run_command_uses_the_motors_and_schedule_of_an_example(
    name: str, duration: float, switched: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run each example with its motors and schedules for its duration or the given one; legged examples walk."""
    walks = name in ("walker", "cockroach")
    words = ("--duration", duration) if walks else ()
    code, printed = command(capsys, "run", name, *words, "--out", tmp_path, "--no-plot")
    assert code == 0, printed
    assert "with the settings of the example: controller, schedule, method and step" in printed
    run = lw.open_run(tmp_path / f"{name}.npz")
    assert run.t[-1] == pytest.approx(duration)
    assert any(event.what.startswith(switched) for event in run.events) == bool(switched)
    assert not walks or run.q[-1, 0] > 0.2 * duration * (1.0 if name == "walker" else 0.5)


def test_command_line_options_override_the_settings_of_an_example(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--duration", 0.5, "--dt", 0.05, "--method", "midpoint")
    code, printed = command(capsys, "run", "clutched_flywheels", *words, "--out", tmp_path, "--no-plot")
    assert code == 0, printed
    run = lw.open_run(tmp_path / "clutched_flywheels.npz")
    assert run.method == "midpoint"
    assert len(run.t) == 11
