"""The kernel cache works without a home folder, with odd variables and odd files, and across forks."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX users, pipes and forks")

CALL = """
import numpy as np
import linkwork as lw
print(lw.compile(lw.example("double_pendulum")).forward_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).shape)
"""


def run(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script in a process with only these environment variables, and return the finished process."""
    needed = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**needed, "TMPDIR": str(folder), **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_kernel_cache_works_without_home_folder_and_user_entry(tmp_path: Path) -> None:
    script = (
        f"import pathlib\ndef home(): raise RuntimeError('no home')\npathlib.Path.home = staticmethod(home)\n{CALL}"
    )
    found = run(script, tmp_path)
    assert found.stdout == "(2,)\n", found.stderr
    assert list(tmp_path.glob("linkwork-*/linkwork/??/*"))


@pytest.mark.parametrize("value", ["", "relative/folder"])
def test_an_empty_or_relative_xdg_cache_home_is_ignored(tmp_path: Path, value: str) -> None:
    (tmp_path / "home").mkdir()
    found = run(CALL, tmp_path, XDG_CACHE_HOME=value, HOME=str(tmp_path / "home"))
    assert found.stdout == "(2,)\n", found.stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"home"}


def test_a_named_pipe_in_the_kernel_cache_does_not_block(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert run(CALL, tmp_path, LINKWORK_CACHE_DIR=str(cache)).stdout == "(2,)\n"
    for path in cache.glob("??/*"):
        path.unlink()
        os.mkfifo(path)
    assert run(CALL, tmp_path, LINKWORK_CACHE_DIR=str(cache)).stdout == "(2,)\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_child_process_forked_while_a_thread_compiles_can_compile_too(tmp_path: Path) -> None:
    script = """
    import os, threading, time, warnings
    import numpy as np
    import linkwork as lw
    warnings.simplefilter("ignore")
    m = lw.example("five_bar")
    d = lw.compile(m)
    thread = threading.Thread(target=lambda: [f(m.neutral()) for f in (d.mass_matrix, d.gravity, d.center_of_mass)])
    thread.start()
    children = []
    while thread.is_alive() or not children:
        time.sleep(0.01)
        child = os.fork()
        if child == 0:
            d.mass_matrix(m.neutral())
            os._exit(0)
        children.append(child)
    print({os.waitpid(child, 0)[1] for child in children})
    """
    assert run(script, tmp_path, LINKWORK_CACHE_DIR=str(tmp_path / "cache")).stdout == "{0}\n"
