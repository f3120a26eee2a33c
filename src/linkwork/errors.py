"""Every exception of linkwork. A message names the culprit, says what was expected and lists valid choices."""

from __future__ import annotations

from collections.abc import Iterable


class LinkworkError(Exception):
    """Base of all errors that linkwork raises on purpose."""


class ModelError(LinkworkError):
    """A mechanism cannot be what its description says.

    `reason` says what is wrong and what would be right; `element` names the culprit; `file` and `line`
    say where it was written, when it came from a file.
    """

    def __init__(self, reason: str, element: str | None = None, file: str | None = None, line: int | None = None):
        self.reason, self.element, self.file, self.line = reason, element, file, line
        place = "" if file is None else f"{file}:{line}: " if line is not None else f"{file}: "
        super().__init__(place + (f"{element}: " if element else "") + reason)


class ModelWarning(UserWarning):
    """A model was read and can be computed with, but something in it is missing or not as it should be."""


class ShapeError(LinkworkError):
    """An array has a shape that does not fit the mechanism or the other arrays of the call."""


class NameNotFound(ModelError, KeyError, IndexError):
    """A name or number that the mechanism does not have. Also what mappings and sequences raise."""

    __str__ = Exception.__str__  # KeyError would print the message in quotes


class NotTraceable(LinkworkError):
    """A function asked a number for its value while being traced (a branch, `float()`, an in-place write)."""


class NotConverged(LinkworkError):
    """An iteration ended at its bound without meeting its tolerance.

    Where they are known, `history` holds what was left round by round, and `step` [s] is a smaller step that converges.
    """

    def __init__(self, message: str, history: tuple[float, ...] = (), step: float | None = None):
        self.history, self.step = history, step
        super().__init__(message)


class NonFinite(LinkworkError):
    """A number handed in, or a result, is not finite."""


class OverConstrained(LinkworkError):
    """Constraints contradict each other or repeat each other where that is not allowed."""


def unknown_name(what: str, name: object, valid: Iterable[str], hint: str = "") -> NameNotFound:
    """The error for a wrong `name` of a `what`: suggests the nearest valid name and lists the valid ones."""
    from difflib import get_close_matches  # here, so that importing linkwork stays quick

    names = list(valid)
    # Comparing takes long with long names and with very many
    near = get_close_matches(str(name), names, n=1) if len(str(name)) <= 100 and len(names) <= 1000 else []
    suggestion = f" Did you mean {near[0]!r}?" if near else ""
    return NameNotFound(f"there is no {what} {name!r}.{suggestion}{hint} Valid: {listed(names) or 'none'}.")


def listed(names: Iterable[str], most: int = 20) -> str:
    """The names with commas between; of very many the first and how many there are."""
    names = list(names)
    return ", ".join(names[:most]) + (f", ... ({len(names)} in all)" if len(names) > most else "")
