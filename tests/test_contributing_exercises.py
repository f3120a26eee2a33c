"""The exercises of docs/contributing.md: each is one short file that a user can run."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "contributing.md"
EXERCISE = re.compile(r"^## Exercise \d+: (.*?)\n(.*?)^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXERCISES = {title: code for title, _, code in EXERCISE.findall(PAGE.read_text(encoding="utf-8"))}
LONGEST = 59  # lines


def test_contributing_page_has_four_exercises_and_no_other_code() -> None:
    assert list(EXERCISES) == ["a joint kind", "a force element", "a constraint with a bound", "a recorded series"]
    assert PAGE.read_text(encoding="utf-8").count("```python") == len(EXERCISES)


@pytest.mark.parametrize("title", EXERCISES)
def test_exercise_is_short_and_uses_nothing_private(title: str) -> None:
    code = EXERCISES[title]
    assert len(code.splitlines()) <= LONGEST
    names = [node.attr for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Attribute)]
    imports = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    names += [part for node in imports for part in (node.module or "").split(".")]
    names += [alias.name for node in imports for alias in node.names]
    assert not [name for name in names if name.startswith("_")]


@pytest.mark.parametrize("title", EXERCISES)
def test_exercise_runs_as_a_user_file(title: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(EXERCISES[title], encoding="utf-8")
    command = [sys.executable, "-W", "error", file.name]
    run = subprocess.run(command, cwd=tmp_path, env={**os.environ, "MPLBACKEND": "agg"}, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert not run.stderr
