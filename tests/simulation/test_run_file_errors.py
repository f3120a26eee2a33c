"""A run file is written completely or not at all; broken, foreign or newer files are rejected and never executed."""

from __future__ import annotations

import json
import os
import pickle
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw

FORMS = (".npz", ".nc")


@cache
def some_run() -> lw.Run:
    m = lw.example("double_pendulum")
    return lw.simulate(m, [0.3, 0.4], duration=2.0, dt=0.01, stop_when=lambda t, q, v: t > 1.5, target="numpy")


def assert_rejected(act: Callable[[], Any], *says: str) -> None:
    with pytest.raises(lw.LinkworkError) as caught:
        act()
    for words in says:
        assert words in str(caught.value)


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Limit file sizes to this number of bytes, like a full disk."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


# --- writing ---


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("limit", [1000, 9000])
def test_full_disk_leaves_the_old_run_file_unchanged(tmp_path: Path, form: str, limit: int) -> None:
    path = tmp_path / f"run{form}"
    path.write_bytes(b"old")
    with file_size_limit(limit):
        assert_rejected(lambda: some_run().save(path), path.name, "cannot be written")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [path.name]
    some_run().save(path)
    assert lw.open_run(path).outcome == some_run().outcome


@pytest.mark.parametrize("form", FORMS)
def test_failed_write_of_a_run_file_leaves_no_partial_file(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert_rejected(lambda: some_run().save(tmp_path / f"run{form}"), "cannot be written: no space left on device")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("form", FORMS)
def test_run_files_at_unwritable_paths_are_reported(tmp_path: Path, form: str) -> None:
    run = some_run()
    assert_rejected(
        lambda: run.save(tmp_path / "Nowhere" / f"run{form}"), "there is no folder", "Nowhere", "create it first"
    )
    (tmp_path / f"folder{form}").mkdir()
    assert_rejected(lambda: run.save(tmp_path / f"folder{form}"), "cannot be written", "directory")
    assert_rejected(lambda: run.save(f"a\0b{form}"), "cannot be written")
    assert os.listdir(tmp_path) == [f"folder{form}"]
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o500)
    if not os.access(closed, os.W_OK):
        assert_rejected(lambda: run.save(closed / f"run{form}"), "cannot be written", "permission denied")


def test_only_run_file_types_are_written_and_opened(tmp_path: Path) -> None:
    for name in ("run.toml", "run", "run.npz.bak"):
        assert_rejected(lambda name=name: some_run().save(tmp_path / name), name, ".npz or .nc")
        assert_rejected(lambda name=name: lw.open_run(tmp_path / name), name, ".npz or .nc")
    path: Any = 3
    assert_rejected(lambda: some_run().save(path), "path must be a str or a pathlib.Path; got 3")
    assert_rejected(lambda: lw.open_run(path), "path must be a str or a pathlib.Path; got 3")
    assert_rejected(lambda: lw.open_run(tmp_path / "run.npz"), "does not exist")
    assert not os.listdir(tmp_path)


def test_error_names_packages_that_are_missing_for_a_run_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = some_run()
    run.save(tmp_path / "there.nc")
    for package in ("h5py", "h5netcdf", "xarray"):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, package, None)
            assert_rejected(lambda: run.save(tmp_path / "run.nc"), "not installed", "pip install 'linkwork[data]'")
            if package == "h5py":
                assert_rejected(
                    lambda: lw.open_run(tmp_path / "there.nc"), "not installed", "pip install 'linkwork[data]'"
                )
            if package == "xarray":
                assert_rejected(run.to_xarray, "not installed", "pip install 'linkwork[data]'")
    assert os.listdir(tmp_path) == ["there.nc"]


# --- opening ---


def is_refused(path: Path) -> bool:
    try:
        lw.open_run(path)
    except lw.LinkworkError as error:
        return path.name in str(error)
    return False


@pytest.mark.parametrize("form", FORMS)
def test_truncated_run_files_are_rejected(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"run{form}"
    some_run().save(path)
    data = path.read_bytes()
    for part in (0.0, 0.01, 0.3, 0.7, 0.99):
        path.write_bytes(data[: int(part * len(data))])
        assert_rejected(lambda: lw.open_run(path), path.name, "cannot be read as a run")


@pytest.mark.parametrize("form", FORMS)
def test_changed_bytes_of_a_run_file_are_detected(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"run{form}"
    some_run().save(path)
    data = path.read_bytes()
    for place in np.random.default_rng(0).integers(0, len(data), 40).tolist():
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
        if is_refused(path):
            continue
        found, expected = lw.open_run(path), some_run()  # what was changed was of no matter
        assert all(found[name].tobytes() == values.tobytes() for name, values in expected.recorded.items())
        assert found.settings == expected.settings


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "data", [b"", b"hello", b"PK\x05\x06" + bytes(18), b"\x89HDF\r\n\x1a\n" + bytes(100), bytes(5000)]
)
def test_files_that_are_not_run_files_are_rejected(tmp_path: Path, form: str, data: bytes) -> None:
    path = tmp_path / f"other{form}"
    path.write_bytes(data)
    assert_rejected(lambda: lw.open_run(path), "other", "cannot be read as a run")


class Trap:
    """An object that runs a command if it is unpickled, to test that opening a run file never does that."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (os.environ["TRAP"],)


def test_pickles_are_never_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAP", str(tmp_path / "sprung"))
    path = tmp_path / "run.npz"
    path.write_bytes(pickle.dumps(Trap()))
    assert_rejected(lambda: lw.open_run(path), "cannot be read as a run")
    rewritten(path, lambda arrays, about: arrays.update(q=np.array([Trap()], dtype=object)))
    assert_rejected(lambda: lw.open_run(path), "cannot be read as a run")
    assert not (tmp_path / "sprung").exists()


def rewritten(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
    """Save a run with changed arrays and JSON text."""
    some_run().save(path)
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    about = json.loads(str(arrays["about"]))
    change(arrays, about)
    if isinstance(about, dict):
        arrays["about"] = np.array(json.dumps(about))
    np.savez(path, **arrays)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda arrays, about: about.update({"linkwork run": 2}), "newer linkwork (0."),
        (lambda arrays, about: about.pop("linkwork run"), "not a run file of linkwork"),
        (lambda arrays, about: about.pop("settings"), "'settings' is missing"),
        (lambda arrays, about: about["settings"].update(dt=-1.0), "-1.0; expected a positive number"),
        (lambda arrays, about: about["settings"].update(colour="red"), "colour"),
        (lambda arrays, about: about["settings"].update(method=None), "no method"),
        (lambda arrays, about: about["series"].append("tau"), "'tau' is missing"),
        (lambda arrays, about: arrays.pop("final_motion.q"), "'final_motion.q' is missing"),
        (lambda arrays, about: arrays.update(q=arrays["q"][:-1]), "'q' has shape"),
        (lambda arrays, about: arrays.update(v=arrays["v"].astype("f4")), "'v' has dtype float32"),
        (lambda arrays, about: arrays.update({"final_motion.v": np.zeros(7)}), "'final_motion.v' has shape (7,)"),
        (lambda arrays, about: arrays.update(outcome=np.array("lost")), "unknown outcome 'lost'"),
        (lambda arrays, about: arrays.update(mechanism=np.array("hello = [")), "mechanism in it cannot be read"),
        (lambda arrays, about: arrays.pop("mechanism"), "not written by linkwork"),
    ],
)  # fmt: skip
def test_files_with_inconsistent_parts_are_rejected(tmp_path: Path, change: Any, says: str) -> None:
    path = tmp_path / "run.npz"
    rewritten(path, change)
    assert_rejected(lambda: lw.open_run(path), "run.npz", says)


def test_foreign_archives_and_data_sets_are_rejected(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", q=np.zeros(3))
    assert_rejected(lambda: lw.open_run(tmp_path / "other.npz"), "not written by linkwork")
    with zipfile.ZipFile(tmp_path / "zip.npz", "w") as archive:
        archive.writestr("about.npy", "hello")
    assert_rejected(lambda: lw.open_run(tmp_path / "zip.npz"), "zip.npz")
    xarray = pytest.importorskip("xarray")
    xarray.Dataset({"q": ("time", np.zeros(3))}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    assert_rejected(lambda: lw.open_run(tmp_path / "other.nc"), "not written by linkwork")
