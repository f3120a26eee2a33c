"""Names from files at the terminal: no markup, no control characters. Ctrl-C: exit code 130 and no traceback."""

import io
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import linkwork as lw
from command_line_helper import command
from linkwork.app import demo, example_gallery
from linkwork.app.terminal_output import INTERRUPTED, Terminal, exiting_after_interrupt
from linkwork.errors import NameNotFound, visible
from linkwork.simulation.runners.progress import watching

ODD = "[/b] \x1b[31m \a \x85 \u202e :smile:"  # markup, ESC, BEL, C1, bidirectional mark, emoji
SHOWN = r"[/b] \x1b[31m \x07 \x85 \u202e :smile:"


class Screen(io.StringIO):
    """A text stream that claims to be a terminal, so that output is formatted for one."""

    def isatty(self) -> bool:
        return True


def odd_robot() -> lw.Mechanism:
    b = lw.Builder(ODD).body(ODD, 1.0, inertia=(1, 1, 1)).joint(ODD, lw.Revolute(), "world", ODD, limits=(-0.1, 0.1))
    return b.brake(ODD, ODD).build()


@pytest.fixture(autouse=True)
def _interrupts_are_not_ignored() -> Iterator[None]:
    """Give Python its own handler of SIGINT, since processes that a shell starts in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def odd_file(tmp_path: Path) -> Path:
    path = tmp_path / "odd.toml"
    lw.save(odd_robot(), path)
    return path


def test_check_command_prints_names_without_markup_and_units_in_headings(
    odd_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, output = command(capsys, "check", odd_file)
    assert code == 0
    assert output.count(SHOWN) == 5  # title, joint, child; the name of the brake, and its joint
    assert "mass [kg]" in output
    assert "limits [rad, m]" in output
    assert visible(output) == output


def test_run_command_and_report_print_names_without_markup(
    odd_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, output = command(capsys, "run", odd_file, "--duration", "2", "--dt", "0.01", "--out", tmp_path, "--no-plot")
    assert output.count(SHOWN) >= 2
    assert visible(output) == output


def test_errors_and_descriptions_print_names_without_markup() -> None:
    m = odd_robot()
    with pytest.raises(NameNotFound) as caught:
        m.joints["no"]
    for text in (str(caught.value), str(m), repr(m)):
        assert SHOWN in text.replace("\\\\", "\\")
        assert visible(text) == text


def test_progress_bar_prints_names_without_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Screen()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "200")
    with watching(True, ODD) as watch:
        watch(0.5)
    assert SHOWN in stream.getvalue()


def test_unprintable_characters_are_printed_as_escapes() -> None:
    assert visible(ODD) == SHOWN
    assert visible("a\nb\tc\r") == "a\nb\\tc\\r"
    assert visible("straße 関節") == "straße 関節"


@pytest.mark.parametrize("words", [("check", "x.urdf"), ("run", "pendulum"), ("bench",), ("paper", "wendlandt")])
def test_keyboard_interrupt_ends_every_command_with_exit_code_130(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def pressed(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

    monkeypatch.chdir(tmp_path)
    for place in (
        "linkwork.app.cli.check",
        "linkwork.app.run_command.run_machine",
        "linkwork.app.bench_command.bench",
        "linkwork.papers.reproduction.write_paper",
    ):
        monkeypatch.setattr(place, pressed)
    assert command(capsys, *words) == (INTERRUPTED, "")


@pytest.mark.parametrize("main", [demo.main, lambda: example_gallery.main(Path("figures"))])
def test_keyboard_interrupt_during_a_simulation_ends_demo_and_gallery(
    main: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stopped(run: object, watch: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("linkwork.simulation.runners.fixed_step_runner.FixedSteps.go", stopped)
    with pytest.raises(SystemExit) as ended, exiting_after_interrupt():
        main()  # type: ignore[operator]
    assert ended.value.code == INTERRUPTED
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_interrupted_run_command_writes_its_samples_and_exits_with_code_130(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def watched(*_: object) -> Iterator[Callable[[float], None]]:
        yield lambda fraction: os.kill(os.getpid(), signal.SIGINT) if 0.0 < fraction < 1.0 else None

    monkeypatch.setattr(sys.modules["linkwork.simulation.simulate"], "watching", watched)
    words = ["double_pendulum", "--duration", "1000", "--dt", "0.01", "--method", "rk4", "--out", str(tmp_path)]
    code, output = command(capsys, "run", *words)
    assert code == INTERRUPTED
    assert output.splitlines()[-1].startswith("interrupted; written: ")
    assert "stopped" in repr(lw.open_run(tmp_path / "double_pendulum.npz"))


def test_terminal_replaces_control_characters_by_escapes() -> None:
    assert Terminal().render_str("\x1b").plain == r"\x1b"
