"""Every Python example in the README and the docs runs, and links between documents are valid."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
ELSEWHERE = {"contributing.md"}  # its examples are files of their own, which tests/test_contributing_exercises.py runs
WITH_EXAMPLES = [
    path for path in DOCUMENTS if path.name not in ELSEWHERE and BLOCK.search(path.read_text(encoding="utf-8"))
]
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]+)")


def ids(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=ids)
def test_examples_of_a_page_run_in_order(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    # Blank lines stand in for the prose, so that a traceback shows the document's own line numbers.
    script, position = "", 0
    for block in BLOCK.finditer(text):
        script += "\n" * text.count("\n", position, block.start(1)) + block.group(1)
        position = block.end(1)
    namespace = {"__name__": f"example_of_{path.stem}"}
    exec(compile(script, str(path), "exec"), namespace)


@pytest.mark.parametrize("path", DOCUMENTS, ids=ids)
def test_links_of_a_page_are_valid(path: Path) -> None:
    prose = BLOCK.sub("", path.read_text(encoding="utf-8"))
    for link in LINK.findall(prose):
        assert (path.parent / link).exists(), link


def test_make_demo_runs_and_shows_agreement_of_the_formulations(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "linkwork.app.demo"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    for word in (
        "free_flyer",
        "left upper joint",
        "rotation of the base",
        "newton-euler",
        "spacedyn",
        "worst:",
        "all checks passed",
    ):
        assert word in run.stdout
    drift = re.search(r"largest drift of the angular momentum\s+(\S+)", run.stdout)
    assert drift
    assert float(drift.group(1)) < 1e-10
    assert (tmp_path / "out" / "free_flyer.npz").is_file()
    assert (tmp_path / "out" / "free_flyer.png").is_file() == (find_spec("matplotlib") is not None)
    worst = re.search(r"worst: (\S+)", run.stdout)
    assert worst
    assert float(worst.group(1)) < 1e-10
