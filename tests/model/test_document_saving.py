"""A document is written completely or not at all, and only to a valid path."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import linkwork as lw


def assert_rejected(m: Any, path: Any, *says: str) -> None:
    with pytest.raises(lw.ModelError) as caught:
        lw.save(m, path)
    for words in says:
        assert words in str(caught.value)


def test_save_accepts_only_mechanisms_and_only_toml_files(tmp_path: Path) -> None:
    m = lw.example("heavy_top")
    for name in ("arm.urdf", "arm", "arm.toml.bak"):
        assert_rejected(m, tmp_path / name, name, "must end in .toml")
    assert_rejected(lw.Builder("b"), tmp_path / "arm.toml", "mechanism must be a Mechanism")
    assert_rejected(m, 3, "a string or a pathlib.Path; got 3")
    assert not os.listdir(tmp_path)


def test_save_reports_paths_that_cannot_be_written(tmp_path: Path) -> None:
    m = lw.example("heavy_top")
    assert_rejected(m, tmp_path / "no" / "Such" / "arm.toml", "there is no folder", "Such", "create it first")
    (tmp_path / "folder.toml").mkdir()
    assert_rejected(m, tmp_path / "folder.toml", "cannot be written", "directory")
    assert_rejected(m, "a\0b.toml", "cannot be written")
    assert_rejected(m, tmp_path / ("a" * 5000 + ".toml"), "cannot be written")
    assert os.listdir(tmp_path) == ["folder.toml"]


def test_save_rejects_a_folder_without_write_permission(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write everywhere")
    assert_rejected(lw.example("heavy_top"), folder / "arm.toml", "cannot be written", "permission denied")


def test_failed_save_leaves_the_old_document_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "arm.toml"
    path.write_text("old")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert_rejected(lw.example("heavy_top"), path, "no space left on device")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["arm.toml"]


def test_mechanisms_that_cannot_be_loaded_are_not_saved(tmp_path: Path) -> None:
    def named(name: str = "b", mass: float = 1.0) -> lw.Mechanism:
        return lw.Builder("m").body(name, mass, inertia=(1, 1, 1)).joint("j", lw.Ball(), "world", name).build()

    path = tmp_path / "arm.toml"
    assert_rejected(named("b" * 300), path, "cannot be saved", "1 to 200 characters")
    assert_rejected(named("\ud800"), path, "cannot be saved", "characters that UTF-8 cannot encode")
    assert_rejected(named(mass=1e60), path, "cannot be saved", "bodies.b.mass", "1e+50")
    assert not os.listdir(tmp_path)


def test_saving_follows_symbolic_links_and_replaces_the_old_document(tmp_path: Path) -> None:
    target, link = tmp_path / "target.toml", tmp_path / "link.toml"
    target.write_text("old")
    link.symlink_to(target)
    lw.save(lw.example("heavy_top"), link)
    assert link.is_symlink()
    assert lw.load(target).name == lw.load(str(link)).name == "heavy_top"
    assert sorted(os.listdir(tmp_path)) == ["link.toml", "target.toml"]
    umask = os.umask(0)
    os.umask(umask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~umask
