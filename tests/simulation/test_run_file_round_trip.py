"""A saved and opened run is bit-identical and can be continued."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation.state import flatten
from random_mechanisms import state, tree, tree_with_mimics

FORMS = (".npz", ".nc")


def push(t: Any, q: Any, v: Any, memory: Any) -> Any:
    """A controller with memory: an integrator."""
    return -2.0 * v - memory, memory + 0.01 * v


def pendulums(duration: float = 0.5, **more: Any) -> lw.Run:
    q0 = np.random.default_rng(0).normal(size=(2, 3, 2))
    masses = {"link 1.mass": np.array([1.0, 2.0, 3.0]), "gravity": np.array([0.0, 0.0, -5.0])}
    return lw.simulate(
        lw.example("double_pendulum"),
        q0,
        duration=duration,
        dt=0.01,
        controller=push,
        memory=np.zeros(2),
        parameters=masses,
        **more,
    )


def same_bits(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def assert_same(found: lw.Run, expected: lw.Run) -> None:
    assert found.settings == expected.settings
    assert found.wall == expected.wall
    assert found.events == expected.events
    assert found.outcomes.tolist() == expected.outcomes.tolist()
    assert same_bits(found.t, expected.t)
    assert list(found.recorded) == list(expected.recorded)
    assert list(found.parameters) == list(expected.parameters)
    for kind in ("recorded", "parameters"):
        for name, values in getattr(expected, kind).items():
            assert same_bits(getattr(found, kind)[name], values), name
    for one, other in zip(flatten(found.final), flatten(expected.final), strict=True):
        assert same_bits(one, other)
    assert list(found) == list(expected)


@pytest.mark.parametrize("form", FORMS)
def test_saved_runs_are_restored_to_the_bit(tmp_path: Path, form: str) -> None:
    run = pendulums(record=("q", "v", "tau", "work", "memory"), stop_when=lambda t, q, v: q[0] > 1.2)
    assert {outcome.kind for outcome in run.outcomes.flat} == {"finished", "event"}
    assert np.isnan(run.q).any()
    path = tmp_path / f"run{form}"
    run.save(path)
    assert os.listdir(tmp_path) == [path.name]
    again = lw.open_run(str(path))
    assert_same(again, run)
    for name in ("energy", "momentum", "passive", "pose.link 2", "velocity.end"):
        assert same_bits(again[name], run[name]), name


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", [5, 16, 23])
def test_runs_with_every_kind_of_element_are_restored_from_files(tmp_path: Path, form: str, seed: int) -> None:
    for m in (tree(seed), tree_with_mimics(seed)):
        s = state(m, seed)
        q = s.q if m is tree(seed) else m.random(seed)
        run = lw.simulate(m, q, duration=0.02, dt=0.01, method="semi-implicit", target="numpy")
        run.save(tmp_path / f"run{form}")
        again = lw.open_run(tmp_path / f"run{form}")
        assert_same(again, run)
        assert str(again.mechanism) == str(m)


@pytest.mark.parametrize("form", FORMS)
def test_restored_run_continues_with_the_same_bits(tmp_path: Path, form: str) -> None:
    whole, first = pendulums(0.5), pendulums(0.2)
    first.save(tmp_path / f"half{form}")
    opened = lw.open_run(tmp_path / f"half{form}")
    rest = lw.simulate(opened.mechanism, opened, duration=0.3, controller=push, parameters=dict(opened.parameters))
    assert same_bits(rest.t, whole.t[20:])
    for name in whole.recorded:
        assert same_bits(rest[name], np.ascontiguousarray(whole[name][:, :, 20:])), name
    for one, other in zip(flatten(rest.final), flatten(whole.final), strict=True):
        assert same_bits(one, other)


def test_npz_needs_no_pickle_and_describes_its_content(tmp_path: Path) -> None:
    run = pendulums()
    run.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz", allow_pickle=False) as file:
        assert same_bits(file["q"], run.q)
        assert "double_pendulum" in str(file["mechanism"])
        assert '"method": "rk4"' in str(file["about"])
        assert file["outcome"].shape == (2, 3)


def test_netcdf_is_readable_by_xarray(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    run = pendulums()
    run.save(tmp_path / "run.nc")
    with xarray.open_dataset(tmp_path / "run.nc", engine="h5netcdf") as data:
        assert data["q"].dims == ("batch_0", "batch_1", "time", "coordinate")
        assert same_bits(data["q"].values, run.q)
        assert data["q"].attrs["units"] == "rad"
        assert data["parameter_0"].attrs["long_name"] == "parameter link 1.mass"
