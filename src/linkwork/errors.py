"""All exceptions of linkwork. A message names the faulty object, the expected value and the valid choices."""

from __future__ import annotations

from collections.abc import Iterable


class LinkworkError(Exception):
    """Base class of all errors that linkwork raises for invalid input or failed computations.

    Examples
    --------
    >>> try:
    ...     lw.compile(lw.example("double_pendulum"), target="gpu")
    ... except lw.LinkworkError as error:
    ...     print(error)
    there is no target 'gpu'. Did you mean 'cpu'? Valid: cpu, numpy.

    """


class ModelError(LinkworkError):
    """Raised when the description of a mechanism is invalid, by the Builder, by `load`, or for an unknown name.

    Attributes
    ----------
    reason : str
        The fault and its remedy.
    element : str or None
        Name of the element at fault.
    file : str or None
        File that contains the fault, if the mechanism was loaded from a file.
    line : int or None
        Line of the fault in the file.

    """

    def __init__(self, reason: str, element: str | None = None, file: str | None = None, line: int | None = None):
        self.reason, self.element, self.file, self.line = reason, element, file, line
        place = "" if file is None else f"{file}:{line}: " if line is not None else f"{file}: "
        super().__init__(place + (f"{element}: " if element else "") + reason)


class ModelWarning(UserWarning):
    """Warning that a loaded model can be used, but has missing or doubtful data. It has no attributes."""


class ShapeError(LinkworkError):
    """Raised when the shape of an array does not fit the mechanism or the other arrays of the call. No attributes."""


class NameNotFound(ModelError, KeyError, IndexError):
    """Raised for a name or index that the mechanism does not have.

    NameNotFound is a ModelError with the same attributes, and also a KeyError and an IndexError, so that code for
    mappings and sequences can catch it.
    """

    __str__ = Exception.__str__  # KeyError would print the message in quotes


class NotTraceable(LinkworkError):
    """Raised when a function of the user, such as a controller, cannot be compiled.

    linkwork compiles a function by calling it once with symbolic numbers, which record all operations. Symbolic numbers
    have no value, so that `if`, `float()` and similar code fail; use `np.where` or `lw.where` instead of `if`. The
    message names the line. No attributes.
    """


class NotConverged(LinkworkError):
    """Raised when an iterative solution fails, for example in `Dynamics.assemble` or a step of a `Simulator`.

    Attributes
    ----------
    history : tuple of float
        Residual of the equations after each iteration, if known; else empty.
    step : float or None
        Smaller integration step [s] for which the iteration converges, if known.

    """

    def __init__(self, message: str, history: tuple[float, ...] = (), step: float | None = None):
        self.history, self.step = history, step
        super().__init__(message)


class NonFinite(LinkworkError):
    """Raised when an input or a result contains nan or an infinite number. No attributes."""


class OverConstrained(LinkworkError):
    """Raised when constraints are redundant where they must be independent. No attributes.

    The methods `start` and `run` of a system from `lw.discrete` raise OverConstrained if rows of `constraints` or
    `nonholonomic` are linearly dependent at x0. Redundant loops of a mechanism are allowed and raise no error.
    """


def unknown_name(what: str, name: object, valid: Iterable[str], hint: str = "", similar: bool = True) -> NameNotFound:
    """Return the error for the unknown `name` of an object of kind `what`, with a list of all `valid` names.

    The message suggests the most similar valid name, unless `similar` is False, and ends with the text `hint`.
    """
    from difflib import get_close_matches  # here, so that importing linkwork stays quick

    names = list(valid)
    # The comparison is slow for long names and for very many names
    quick = len(str(name)) <= 100 and len(names) <= 1000
    near = get_close_matches(str(name), names, n=1) if similar and quick else []
    suggestion = f" Did you mean {near[0]!r}?" if near else ""
    return NameNotFound(f"there is no {what} {name!r}.{suggestion}{hint} Valid: {listed(names) or 'none'}.")


def listed(names: Iterable[str], most: int = 20) -> str:
    """Return names as a comma-separated text; of more than `most` names, the first `most` and the total number."""
    names = list(names)
    return ", ".join(map(visible, names[:most])) + (f", ... ({len(names)} in all)" if len(names) > most else "")


def visible(text: str) -> str:
    r"""Return the text with unprintable characters, except line breaks, replaced by escapes such as \x1b.

    Names from files can contain terminal escapes, other control characters and marks that change the direction of text.
    """
    return text if text.isprintable() else "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
