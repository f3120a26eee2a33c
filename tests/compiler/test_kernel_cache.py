"""Kernels are stored on disk between processes; damaged, foreign or unwritable folders never change a result."""

import multiprocessing
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from functions_run_in_subprocesses import many_pendulums, send_many_pendulums
from linkwork.compiler import in_memory_kernel_cache, kernel_cache
from linkwork.spatial import Motion

Q, V, TAU = np.array([0.3, -0.4]), np.array([1.0, 2.0]), np.array([0.1, 0.2])
SCRIPT = """
import numpy as np, linkwork as lw
from linkwork.compiler.targets.cpu import cpu_target
built = []
plain = cpu_target.object_code
cpu_target.object_code = lambda text: built.append("@chunk" in text) or plain(text)
q, v, tau = np.array([[0.3, -0.4], [1.0, 2.0], [0.1, 0.2]])
a = lw.compile(lw.example("double_pendulum")).forward_dynamics(q, v, tau)
print(sum(built), a.tobytes().hex())
"""


def expected() -> np.ndarray:
    return lw.compile(lw.example("double_pendulum"), target="numpy").forward_dynamics(Q, V, TAU)


def solve() -> np.ndarray:
    """Forward dynamics with no kernels loaded, so that the kernel is read from disk or built."""
    in_memory_kernel_cache.forget()
    return lw.compile(lw.example("double_pendulum")).forward_dynamics(Q, V, TAU)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    solve()  # so that the entry which all kernels share is in memory, and the folder has only kernels
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(tmp_path / "kernels"))
    in_memory_kernel_cache.forget()
    return tmp_path / "kernels"


def stored(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def in_new_process(folder: Path) -> tuple[int, str]:
    """Number of kernels that a new process built, and the bits of its result."""
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"LINKWORK_CACHE_DIR": str(folder)},
    )
    built, bits = run.stdout.split()
    return int(built), bits


def test_second_process_compiles_nothing_and_gives_the_same_bits(folder: Path) -> None:
    first, second = in_new_process(folder), in_new_process(folder)
    assert first[0] == 1
    assert second == (0, first[1])


def test_concurrent_processes_share_the_kernel_cache(folder: Path) -> None:
    answers: list[tuple[int, str]] = []
    threads = [threading.Thread(target=lambda: answers.append(in_new_process(folder))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({bits for _, bits in answers}) == 1
    assert len(stored(folder)) == 2  # whole files only, one for the one kernel and one for the entry of all kernels


@pytest.mark.parametrize("damage", ["truncated", "empty", "flipped bit", "other file", "not ours"])
def test_damaged_cache_file_is_reported_and_rebuilt(folder: Path, damage: str) -> None:
    bits = solve().tobytes()
    (path,) = stored(folder)
    data = path.read_bytes()
    path.write_bytes(
        {
            "truncated": data[: len(data) // 2],
            "empty": b"",
            "flipped bit": data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
            "other file": data.replace(path.name.encode(), b"0" * 64),
            "not ours": b"#!/bin/sh\nexit 1\n",
        }[damage]
    )
    with pytest.warns(UserWarning, match="damaged"):
        assert solve().tobytes() == bits
    assert path.read_bytes() == data
    assert solve().tobytes() == bits


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owner here")
def test_cached_file_of_another_user_is_reported_and_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bits = solve().tobytes()
    user = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    with pytest.warns(UserWarning, match="belongs to another user"):
        assert solve().tobytes() == bits


def test_unusable_folder_of_the_kernel_cache_causes_only_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("here is no folder")
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(blocked))
    with pytest.warns(UserWarning, match="cannot be stored"):
        assert np.abs(solve() - expected()).max() < 1e-12
    assert blocked.read_text() == "here is no folder"


def test_each_mechanism_and_quantity_has_its_own_cached_kernel(folder: Path) -> None:
    m = lw.example("double_pendulum")
    lw.compile(m).forward_dynamics(Q, V, TAU)
    lw.compile(m).inverse_dynamics(Q, V, TAU)
    lw.compile(m.with_parameters({"link 1.mass": 2.5})).forward_dynamics(Q, V, TAU)
    lw.compile(m).jacobian(Q, "end", "world")
    lw.compile(m).jacobian(Q, "end", "body")
    assert len(stored(folder)) == 5


def test_recently_used_kernels_stay_in_memory(folder: Path) -> None:
    bits = solve().tobytes()
    (path,) = stored(folder)
    path.unlink()
    assert lw.compile(lw.example("double_pendulum")).forward_dynamics(Q, V, TAU).tobytes() == bits
    assert stored(folder) == []  # neither read nor built


def test_least_recently_used_files_of_the_kernel_cache_are_removed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = bytes(1000)
    for age, name in enumerate(("aa newest", "bb middle", "cc oldest")):
        kernel_cache.store(name, body)
        os.utime(folder / name[:2] / name, (1e9 - age, 1e9 - age))
    assert kernel_cache.load("cc oldest") == body  # it is used, and so the newest now
    monkeypatch.setattr(kernel_cache, "MAX_BYTES", 3500)
    kernel_cache.store("dd", body)
    assert sorted(path.name for path in stored(folder)) == ["aa newest", "cc oldest", "dd"]


def test_cache_keys_that_are_divided_into_parts_differently_have_different_digests() -> None:
    assert kernel_cache.digest("ab", "c") != kernel_cache.digest("a", "bc")
    assert kernel_cache.digest("a") != kernel_cache.digest("a", "")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_kernels_and_threads_work_in_child_processes(method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    answer = many_pendulums()
    context: Any = multiprocessing.get_context(method)
    here, there = context.Pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads is what is tested
        child = context.Process(target=send_many_pendulums, args=(there,))
        child.start()
    assert here.poll(60)
    assert here.recv() == answer
    child.join(60)
    assert child.exitcode == 0


def test_threads_can_share_one_dynamics_object() -> None:
    d = lw.compile(lw.example("branched_tree"))
    m = d.mechanism
    q, v, tau = np.array([m.random(k) for k in range(300)]), np.ones(m.nv), np.zeros(m.nv)
    expected = d.forward_dynamics(q, v, tau)
    wrong: list[int] = []

    def work(k: int) -> None:
        for i in range(k, 300, 6):
            if not (d.forward_dynamics(q[i], v, tau) == expected[i]).all():
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_user_joint_kinds_of_equal_name_but_different_formulas_have_different_kernels() -> None:
    """Two classes with one name but different ratios, as when a user edits a class and runs it again."""

    def crank(factor: float) -> lw.Mechanism:
        class Geared(lw.Revolute):
            def transform(self, q: Any) -> Any:
                return super().transform(q * factor)

            def subspace(self, q: Any) -> Motion:
                return Motion(np.zeros((3, 1)), self.n[:, None] * factor)

        b = lw.Builder("crank").body("rod", 1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.02))
        return b.joint("pin", Geared((0, 1, 0)), "world", "rod").build()

    for factor in (1.0, 2.0):
        m = crank(factor)
        a, b = (lw.compile(m, target=target).forward_dynamics([0.3], [0.5], [0.1]) for target in ("cpu", "numpy"))
        np.testing.assert_allclose(a, b, rtol=1e-14)
        ends = [lw.simulate(m, [0.3], duration=0.1, dt=0.01, target=target).q[-1] for target in ("cpu", "numpy")]
        np.testing.assert_allclose(*ends, rtol=1e-14)
