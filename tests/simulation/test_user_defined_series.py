"""User-defined series, recorded or derived, work like built-in ones; kernels are cached by their formulas."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler import program_from_graph
from linkwork.simulation.series import SERIES, Axis, Family, RunFacts, Sample, Series, register, unregister

PENDULUM = lw.example("double_pendulum")
LENGTHS = np.array([1.0, 1.0])
SWING = {"dt": 0.01, "method": "rk4", "progress": False}
RECORD = ("q", "v", "tip", "effort")


def tip(now: Sample) -> Any:
    """Position of the end of the second link, in plain NumPy."""
    angles = np.cumsum(now.q)
    return np.array([np.sum(np.sin(angles) * LENGTHS), np.sum(np.cos(angles) * LENGTHS)])


def effort(now: Sample) -> Any:
    """Return the norm of the joint forces times a gain, from loads, gains and time."""
    return np.sqrt(now.loads.control @ now.loads.control) * now.values["gain"] + 0.0 * now.t


def speed(run: lw.Run) -> Any:
    """Return a series that is derived from a user-defined series."""
    return np.gradient(run["tip"][..., 0], run.t, axis=-1)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    before, needs = set(SERIES), ("tip.speed", "effort")
    register(Series("tip", "place of the tip", "m", (Axis("across", ("x", "z")),), sample=tip))
    register(Series("effort", "size of the joint forces", "N m", sample=effort, exists=lambda facts: facts.controlled))
    register(Series("tip.speed", "speed of the tip", "m/s", derive=speed, needs=("tip",)))
    register(Series("tip.power", "power", "W", derive=lambda run: run["tip.speed"] * 2.0, needs=needs))
    yield
    for name in set(SERIES) - before:
        unregister(name)


def damp(t: Any, q: Any, v: Any, gain: Any) -> Any:
    return -gain * v


def swing(q0: Any = ((0.3, 0.2), (0.5, -0.4), (1.0, 0.1)), duration: float = 0.3, **more: Any) -> lw.Run:
    how: dict[str, Any] = {**SWING, "controller": damp, "gains": {"gain": 0.7}, "record": RECORD} | more
    return lw.simulate(PENDULUM, q0 if isinstance(q0, lw.Run) else np.array(q0), duration=duration, **how)


def expected(run: lw.Run) -> Any:
    angles = np.cumsum(run.q, axis=-1)
    return np.stack([np.sin(angles).sum(axis=-1), np.cos(angles).sum(axis=-1)], axis=-1)


@pytest.mark.parametrize("how", [{}, {"target": "numpy"}, {"method": "dop853"}, {"every": 7}])
def test_user_series_are_recorded_and_derived(how: dict[str, Any]) -> None:
    run = swing(**how)
    np.testing.assert_allclose(run["tip"], expected(run), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(run["effort"], 0.49 * np.linalg.norm(run.v, axis=-1), rtol=1e-12)
    assert {"tip", "effort", "tip.speed", "tip.power"} <= set(run)
    assert run["tip.speed"].shape == run["tip.power"].shape == (3, len(run.t))


def test_members_and_continued_runs_record_the_same_series() -> None:
    run = swing()
    for k in range(3):
        assert swing(run.q[k, 0])["tip"].tobytes() == run["tip"][k].tobytes()
    first = swing(duration=0.1)
    rest = swing(first, duration=0.2)
    assert rest["tip"].tobytes() == np.ascontiguousarray(run["tip"][:, 10:]).tobytes()


@pytest.mark.parametrize("form", [".npz", ".nc"])
def test_user_series_are_restored_from_files_also_when_unregistered(tmp_path: Path, form: str) -> None:
    run = swing()
    run.save(tmp_path / f"run{form}")
    opened = lw.open_run(tmp_path / f"run{form}")
    for name in (*RECORD, "tip.speed", "tip.power"):
        assert opened[name].tobytes() == run[name].tobytes(), name
    unregister("tip")
    unregister("tip.speed")
    stranger = lw.open_run(tmp_path / f"run{form}")
    assert stranger["tip"].tobytes() == run["tip"].tobytes()
    assert "tip.speed" not in stranger
    assert stranger.to_xarray("tip")["tip"].dims == ("member", "time", "tip_0")
    stranger.plot("tip")


def test_file_with_another_series_shape_is_rejected(tmp_path: Path) -> None:
    swing().save(tmp_path / "run.npz")
    register(Series("tip", "place of the tip", "m", (Axis("across", ("x", "y", "z")),), sample=tip))
    with pytest.raises(lw.LinkworkError, match=r"'tip' has shape \(3, 31, 2\); expected \(3, 31, 3\)"):
        lw.open_run(tmp_path / "run.npz")


def test_data_sets_and_plots_have_names_and_units_of_user_series() -> None:
    run = swing()
    data = run.to_xarray("tip", "effort", "tip.speed")
    assert data["tip"].dims == ("member", "time", "across")
    assert data["tip"].attrs == {"long_name": "place of the tip", "units": "m"}
    assert data["across"].values.tolist() == ["x", "z"]
    assert data["tip.speed"].attrs["units"] == "m/s"
    titles = [axes.get_title(loc="left") for axes in run.plot("tip", "effort", "tip.speed").axes]
    assert {"place of the tip", "size of the joint forces", "speed of the tip"} <= set(titles)
    register(
        Series("sides", "sides", "1", (Axis("coordinate", ("a", "b", "c")),), derive=lambda r: np.zeros((3, 31, 3)))
    )
    assert run.to_xarray("q", "sides")["sides"].dims == ("member", "time", "sides_coordinate")


def test_kernels_are_cached_by_the_series_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    def scaled(factor: float) -> Any:
        register(Series("scaled", "scaled", sample=lambda now: factor * now.q[0]))
        return swing([0.3, 0.2], record=("q", "scaled"))

    for factor in (2.0, 3.0):
        run = scaled(factor)
        np.testing.assert_allclose(run["scaled"], factor * run.q[..., 0], rtol=1e-14)

    def no_program_is_traced(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(program_from_graph, "trace", no_program_is_traced)
    scaled(2.0)
    with pytest.raises(AssertionError):
        scaled(5.0)


def test_family_of_series_has_one_series_per_element() -> None:
    def of(name: str) -> Series:
        joint = PENDULUM.joints[name.removeprefix("share.")]
        return Series(name, f"share of {joint.name}", sample=lambda now: now.v[joint.v.start] / (now.v @ now.v + 1.0))

    def names(facts: RunFacts) -> list[str]:
        return [f"share.{name}" for name in facts.mechanism.joints.names]

    register(Family("share.JOINT", names, of, recorded=True))
    run = swing(record=("q", "v", "share.pin 2"))
    np.testing.assert_allclose(run["share.pin 2"], run.v[..., 1] / ((run.v**2).sum(axis=-1) + 1.0), rtol=1e-13)


def test_derived_series_registered_again_is_recomputed() -> None:
    run = swing([0.3, 0.2])
    register(Series("twice", "twice", derive=lambda run: 2.0 * run.t))
    assert run["twice"][-1] == 2.0 * run.t[-1]
    register(Series("twice", "twice", derive=lambda run: 20.0 * run.t))
    assert run["twice"][-1] == 20.0 * run.t[-1]


@pytest.mark.parametrize(
    "name", ["q", "pose.end", "clutch.engaged", "time", "final_q", "outcome", "a/b", "", "contact.force"]
)
def test_reserved_series_names_are_rejected(name: str) -> None:
    with pytest.raises(lw.LinkworkError, match="name"):
        register(Series(name, "mine", sample=lambda now: now.t))


def test_invalid_user_defined_series_are_rejected_with_a_reason() -> None:
    with pytest.raises(lw.LinkworkError, match="must have exactly one formula"):
        Series("none", "none")
    register(Series("flat", "flat", "m", (Axis("across", ("x", "z")),), sample=lambda now: now.q[0]))
    with pytest.raises(lw.ShapeError, match=r"formula of series 'flat' must return shape \(2,\); got \(\)"):
        swing(record=("flat",))
    register(Series("odd", "odd", ("m", "s"), sample=lambda now: now.q[0]))
    with pytest.raises(lw.LinkworkError, match="'odd' must have one unit or 1, one per entry; got 2"):
        swing(record=("odd",))
    with pytest.raises(lw.LinkworkError, match=r"'effort'.* This mechanism or run has no such series"):
        swing(controller=None, gains=None)
    with pytest.raises(lw.LinkworkError, match=r"no series 'tip.power'.*It needs tip, effort"):
        swing(record=("q",))["tip.power"]
