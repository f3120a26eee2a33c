"""Functions, classes, modules and files that the pages name exist."""

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import linkwork as lw

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "linkwork"
PAPERS = [*sorted((ROOT / "docs" / "papers").glob("*.md")), ROOT / "docs" / "notation.md"]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"[\w/.-]+\.py")
DOTTED = re.compile(r"(\.?[A-Za-z]\w*(?:\.\w+)*)(?:\(.*\))?")
# What the pages call objects of these classes
OBJECTS: dict[str, Any] = {"d": lw.Dynamics, "m": lw.Mechanism, "run": lw.Run, "lw": lw, "Builder": lw.Builder}
LETTERS = {
    "k.i",
    "k.o",
    "f.H",
    "X.up",
    "X.down",
    "X_ab.up",
    "X_ab.down",
    "V.pair",
}  # of objects in examples on the page


def quoted(page: Path) -> list[str]:
    """The texts in backticks in the prose of a page."""
    return QUOTED.findall(BLOCK.sub("", page.read_text(encoding="utf-8")))


@cache
def modules() -> dict[str, str]:
    """Full names of modules and packages, by every suffix of these names; those nearer to the root take precedence."""
    found: dict[str, str] = {}
    files = sorted(PACKAGE.rglob("*.py"), key=lambda path: len(path.parts))
    for path in files:
        parts = ("linkwork", *path.relative_to(PACKAGE).with_suffix("").parts)
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        for k in range(len(parts)):
            found.setdefault(".".join(parts[k:]), ".".join(parts))
    return found


@cache
def classes() -> dict[str, str]:
    """The full module name of each class, by class name."""
    found: dict[str, str] = {}
    for name in dict.fromkeys(modules().values()):
        path = PACKAGE.joinpath(*name.split(".")[1:])
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, name)
    return found


def member(owner: Any, name: str) -> Any:
    """An attribute of a module or a class, the class of an annotated attribute, or None."""
    if hasattr(owner, name):
        return getattr(owner, name)
    if not inspect.isclass(owner):
        return None
    annotated = {key for base in owner.__mro__ for key in vars(base).get("__annotations__", {})}
    assigned = f"self.{name}" in inspect.getsource(owner)
    return inspect.Parameter if name in annotated or assigned else None


def resolved(dotted: str) -> Any:
    """The object of a name such as `single_limb_equations.Limb.Phi`, or None."""
    pieces = dotted.split(".")
    for size in range(len(pieces), 0, -1):
        head = ".".join(pieces[:size])
        starts = [OBJECTS[head]] if head in OBJECTS else []
        starts += [import_module(modules()[head])] if head in modules() else []
        starts += [getattr(import_module(classes()[head]), head)] if head in classes() else []
        for found in starts:
            for name in pieces[size:]:
                found = None if found is None else member(found, name)
            if found is not None:
                return found
    return None


def names(page: Path) -> Iterator[str]:
    """The dotted names of a page; a name with a leading dot continues the previous name."""
    before = ""
    for text in quoted(page):
        match = DOTTED.fullmatch(text)
        if not match or text in LETTERS or match[1] in LETTERS or FILE.fullmatch(text):
            continue
        name = match[1]
        if name.startswith("."):
            assert before, f"{name} follows nothing"
            beside = before.rpartition(".")[0] + name
            name = beside if resolved(beside) is not None else before + name
        elif "." not in name and name not in classes():
            continue
        before = name
        yield name


@pytest.mark.parametrize("page", PAPERS, ids=lambda path: path.name)
def test_functions_named_on_paper_pages_exist(page: Path) -> None:
    missing = [name for name in dict.fromkeys(names(page)) if resolved(name) is None]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_qualified_names_on_documentation_pages_exist(page: Path) -> None:
    found = [match[1] for match in map(DOTTED.fullmatch, quoted(page)) if match]
    assert not [name for name in found if name.startswith(("linkwork.", "lw.")) and resolved(name) is None]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_named_on_documentation_pages_exist(page: Path) -> None:
    known = [
        str(path.relative_to(ROOT)) for part in ("src", "tests", "benchmarks") for path in (ROOT / part).rglob("*.py")
    ]
    files = [text for text in quoted(page) if FILE.fullmatch(text)]
    assert not [text for text in files if not any(f"/{path}".endswith(f"/{text}") for path in known)]


def test_check_of_documentation_pages_detects_missing_names() -> None:
    limb = "single_limb_equations.Limb"
    for name in (f"{limb}.Phi", "algorithms.reactions.reactions", "d.constraint", "NewtonEuler.J_bar"):
        assert resolved(name) is not None, name
    for name in (f"{limb}.Psi", "algorithms.actions.reactions", "d.constraints", "model.contradictions"):
        assert resolved(name) is None, name
