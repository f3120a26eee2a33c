"""Everything that can be put on a tree of bodies and joints, one file for each kind; this is the list of kinds."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

from linkwork.model.elements.brake import Brake, locks, with_locks
from linkwork.model.elements.clutch import Clutch
from linkwork.model.elements.contact import Contact
from linkwork.model.elements.coupling import Coupling
from linkwork.model.elements.differential import Differential
from linkwork.model.elements.drive import Drive
from linkwork.model.elements.element import Element, arrange
from linkwork.model.elements.gearbox import Transmission
from linkwork.model.elements.latch import Latch
from linkwork.model.elements.loop import Loop, close
from linkwork.model.elements.ratchet import Ratchet
from linkwork.model.elements.spring import Spring
from linkwork.model.elements.surface import Surface, surface

__all__ = [
    "Brake", "Clutch", "Contact", "Coupling", "Differential", "Drive", "Element", "Latch", "Loop", "Ratchet", "Spring",
    "Surface", "Transmission", "Verbs", "locks", "with_locks",
]  # fmt: skip

# The order of constraint rows, and of tables in a document. Kinds of users follow
KINDS = (
    Loop, Drive, Clutch, Brake, Ratchet, Latch, Transmission, Differential, Coupling, Surface, Contact, Spring
)  # fmt: skip
DOCUMENT_ORDER = (
    Loop, Drive, Clutch, Ratchet, Brake, Latch, Differential, Transmission, Coupling, Surface, Contact, Spring
)  # fmt: skip
arrange(KINDS)


class Takes(Protocol):
    """A Builder, to which elements are added."""

    def add(self, element: Element) -> Self:
        """Put an element on the mechanism."""
        ...


P = ParamSpec("P")
B = TypeVar("B", bound=Takes)


def verb(make: Callable[P, Element]) -> Callable[Concatenate[B, P], B]:
    """A method that adds the element which `make` gives: a class, or a function that makes one."""
    signature = inspect.signature(make)
    derived = _derived(make)
    arguments = [one for name, one in signature.parameters.items() if name not in derived]
    signature = signature.replace(parameters=arguments, return_annotation=Self)
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)

    def add(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        for name in derived & kwargs.keys():
            raise TypeError(f"got an unexpected keyword argument {name!r}")
        return self.add(make(*args, **kwargs))

    add.__doc__, add.__signature__ = make.__doc__, signature.replace(parameters=[itself, *arguments])  # pyright: ignore[reportFunctionMemberAccess]
    return add


def _derived(make: object) -> set[str]:
    """The fields of a class of elements that a Builder fills in: no arguments of its verb."""
    if not (isinstance(make, type) and issubclass(make, Element)):
        return set()
    return {field.name for field in fields(make)} - {"name", *make.definitions()}


class Verbs:
    """The verbs of a Builder that put elements on the tree; `build` looks for the bodies and joints that they name."""

    close = verb(close)
    drive = verb(Drive)
    clutch = verb(Clutch)
    brake = verb(Brake)
    ratchet = verb(Ratchet)
    latch = verb(Latch)
    transmission = verb(Transmission)
    differential = verb(Differential)
    couple = verb(Coupling)
    surface = verb(surface)
    touch = verb(Contact)
    spring = verb(Spring)


for _name, _method in list(vars(Verbs).items()):
    if inspect.isfunction(_method):
        _method.__name__, _method.__qualname__ = _name, f"{Verbs.__name__}.{_name}"
