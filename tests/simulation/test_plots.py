"""Plots have a panel per series and unit, lines, units and readable legends, and change no global state."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw

pytest.importorskip("matplotlib")


def panels(figure: Any) -> dict[str, Any]:
    """Visible panels, by title and unit."""
    shown = [axes for axes in figure.axes if axes.get_visible()]
    return {f"{axes.get_title(loc='left')} {axes.get_ylabel()}".strip(): axes for axes in shown}


def legend(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.fixture(scope="module")
def flying() -> lw.Run:
    m = lw.example("free_flyer")
    v0 = np.random.default_rng(0).normal(size=m.nv)
    return lw.simulate(m, v0=v0, duration=0.1, dt=0.01, controller=lambda t, q, v: np.append(np.zeros(6), -v[6:]))


@pytest.fixture(scope="module")
def many() -> lw.Run:
    q0 = np.random.default_rng(0).normal(size=(30, 2))
    return lw.simulate(lw.example("double_pendulum"), q0, duration=0.5, dt=0.01)


def test_default_plot_shows_motion_forces_and_energies(flying: lw.Run) -> None:
    figure = flying.plot()
    found = panels(figure)
    assert sorted(found) == sorted([
        "positions [m]", "quaternions", "positions [rad]", "velocities [m/s]", "velocities [rad/s]",
        "joint forces of controllers [N m]", "energies [J]",
    ])  # fmt: skip
    assert "free_flyer: rk4, dt 0.01 s; finished at 0.1 s" in figure.get_suptitle()
    assert legend(found["positions [m]"]) == ["float.x", "float.y", "float.z"]
    assert legend(found["energies [J]"]) == ["energy", "kinetic", "work"]
    line = found["positions [m]"].get_lines()[1]
    assert np.array_equal(line.get_xdata(), flying.t)
    assert np.array_equal(line.get_ydata(), flying.q[:, 1])
    assert sum(axes.get_xlabel() == "time [s]" for axes in found.values()) == 2


def test_legend_of_many_lines_is_short(flying: lw.Run) -> None:
    axes = panels(flying.plot("v"))["velocities [rad/s]"]
    texts = legend(axes)
    assert len(texts) == 9
    assert texts[-1] == "7 more curves with smaller ranges"
    assert len([line for line in axes.get_lines() if len(line.get_xdata())]) == 15


def test_batch_plot_shows_median_band_and_members(many: lw.Run) -> None:
    figure = many.plot("q")
    (axes,) = panels(figure).values()
    assert legend(axes) == ["pin 1, median", "pin 2, median"]
    assert len(axes.collections) == 2
    assert len(axes.get_lines()) == 2 * (3 + 1)
    assert any(np.allclose(line.get_ydata(), np.median(many.q[..., 0], axis=0)) for line in axes.get_lines())
    assert "5 to 95 % of the members" in figure.get_suptitle()


def test_plot_marks_the_end_of_a_failed_run() -> None:
    m = lw.example("double_pendulum")
    run = lw.simulate(m, [2.0, 1.0], [8.0, -9.0], 5.0, 0.2, "semi-implicit", lambda t, q, v: 3.0 * v)
    assert run.outcome.kind == "non-finite"
    figure = run.plot()
    for axes in panels(figure).values():
        assert axes.get_yscale() == "symlog"
        assert [text.get_text() for text in axes.texts] == ["non-finite"]
    assert "non-finite at" in figure.get_suptitle()
    figure.savefig(os.devnull, format="png")  # drawing it raises no warning


def test_series_of_poses_and_bodies_are_plotted(flying: lw.Run) -> None:
    found = panels(flying.plot("pose.left tool", "reactions", "center_of_mass"))
    assert legend(found["pose of 'left tool' [m]"]) == ["x.origin", "y.origin", "z.origin"]
    assert {"joint reactions [N]", "joint reactions [N m]", "centre of mass [m]"} <= set(found)


@pytest.mark.parametrize(("suffix", "mark"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_plots_are_saved_as_files(tmp_path: Path, many: lw.Run, suffix: str, mark: bytes) -> None:
    many.plot("q", path=tmp_path / f"run{suffix}")
    assert (tmp_path / f"run{suffix}").read_bytes().startswith(mark)
    assert os.listdir(tmp_path) == [f"run{suffix}"]


def test_plotting_does_not_load_pyplot(many: lw.Run) -> None:
    before = "matplotlib.pyplot" in sys.modules
    many.plot("q")
    assert ("matplotlib.pyplot" in sys.modules) == before


def test_invalid_plot_arguments_are_rejected_with_a_reason(
    tmp_path: Path, many: lw.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path: Any
    for path, says in (
        (tmp_path / "run.gif", "unsupported figure type '.gif'; expected .png, .svg, .pdf"),
        (tmp_path / "no" / "run.png", "there is no folder"),
        (3, "path must be a str or a pathlib.Path"),
    ):
        with pytest.raises(lw.LinkworkError, match=says):
            many.plot("q", path=path)
    with pytest.raises(lw.LinkworkError, match="there is no series 'speed'"):
        many.plot("speed")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(lw.LinkworkError, match=r"pip install 'linkwork\[plot\]'"):
        many.plot()
    assert not os.listdir(tmp_path)
