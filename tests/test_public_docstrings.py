"""Public docstrings follow NumPy's format: a summary, every parameter, and an example that runs."""

import doctest
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import linkwork as lw

CLASSES = [lw.Builder, lw.Mechanism, lw.Dynamics, lw.Run, lw.Simulator, lw.Reference, lw.CrossCheck]
FEEDBACK = ["computed_torque", "drives", "gravity_compensation", "lqr"]
FEEDBACK += ["operational_space", "pd", "pid", "resolved_rate"]
# Methods for other packages of linkwork, not for users
INTERNAL = {"Mechanism.by_joint", "Mechanism.check_parameter", "Mechanism.constraint_of_row", "Mechanism.keeping"}
INTERNAL |= {
    "Mechanism.frame_constraint_of_row",
    "Mechanism.possible_mode",
    "Mechanism.unknown_parameter",
    "Mechanism.varied",
}
INTERNAL |= {"Mechanism.with_elements", "Run.along_time", "Run.once", "Run.varied"}
SECTION = re.compile(r"^(\w[\w ]*)\n-+$", re.MULTILINE)
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : .*)?$", re.MULTILINE)


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function, class and method, by its name in user code."""
    for name in lw.__all__:
        found = getattr(lw, name)
        if inspect.isroutine(found) or inspect.isclass(found):
            yield f"lw.{name}", found
    for class_ in CLASSES:
        for name in dir(class_):
            found = getattr(class_, name)
            if not name.startswith("_") and inspect.isfunction(found) and f"{class_.__name__}.{name}" not in INTERNAL:
                yield f"{class_.__name__}.{name}", found
    for name in FEEDBACK:
        yield f"lw.feedback.{name}", getattr(lw.feedback, name)


PUBLIC = dict(public())
ERRORS = {name for name, found in PUBLIC.items() if inspect.isclass(found) and issubclass(found, Exception)}


def sections(docstring: str) -> dict[str, str]:
    """The sections of a docstring in NumPy's format, by title; the summary is under ""."""
    parts = SECTION.split(docstring)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def parameters(found: Callable[..., Any]) -> list[str]:
    """The names of a callable's parameters."""
    try:
        signature = inspect.signature(found)
    except ValueError:
        return []
    return [name for name in signature.parameters if name not in ("self", "cls")]


@pytest.mark.parametrize("name", PUBLIC)
def test_the_first_line_of_a_docstring_is_a_sentence(name: str) -> None:
    first = (inspect.getdoc(PUBLIC[name]) or "").split("\n\n")[0]
    assert first.endswith((".", ":")), first
    assert len(first) > 10


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - ERRORS))
def test_every_parameter_is_documented(name: str) -> None:
    found = sections(inspect.getdoc(PUBLIC[name]) or "")
    listed = {one.strip("* ") for entry in ENTRY.findall(found.get("Parameters", "")) for one in entry.split(",")}
    assert set(parameters(PUBLIC[name])) <= listed


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - ERRORS))
def test_the_example_of_a_docstring_runs(name: str) -> None:
    text = inspect.getdoc(PUBLIC[name]) or ""
    assert ">>>" in sections(text).get("Examples", ""), "no example"
    test = doctest.DocTestParser().get_doctest(text, {"lw": lw, "np": np}, name, None, None)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    report: list[str] = []
    runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)
