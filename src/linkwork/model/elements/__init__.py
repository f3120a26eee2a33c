"""The elements that a Builder adds to bodies and joints (loops, clutches, springs, ...), one file for each kind."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar, cast

from linkwork.model.elements.brake import Brake, locks, with_locks
from linkwork.model.elements.clutch import Clutch
from linkwork.model.elements.collision import Collision
from linkwork.model.elements.contact import Contact
from linkwork.model.elements.coupling import Coupling
from linkwork.model.elements.differential import Differential
from linkwork.model.elements.drive import Drive
from linkwork.model.elements.element import Element, arrange
from linkwork.model.elements.element_key_definition import with_parameters_section
from linkwork.model.elements.gearbox import Transmission
from linkwork.model.elements.joint_friction import JointFriction, friction_of_loop
from linkwork.model.elements.latch import Latch
from linkwork.model.elements.loop import Loop, close
from linkwork.model.elements.ratchet import Ratchet
from linkwork.model.elements.spring import Spring
from linkwork.model.elements.surface import Surface, surface

__all__ = [
    "Brake",
    "Clutch",
    "Collision",
    "Contact",
    "Coupling",
    "Differential",
    "Drive",
    "Element",
    "ElementMethods",
    "JointFriction",
    "Latch",
    "Loop",
    "Ratchet",
    "Spring",
    "Surface",
    "Transmission",
    "locks",
    "with_locks",
]  # fmt: skip

# KINDS is the order of constraint rows, and DOCUMENT_ORDER the order of tables in a document. Kinds of users come last
KINDS = (
    Loop, Drive, Clutch, Brake, Ratchet, Latch, Transmission, Differential, Coupling, Surface, Contact, Collision,
    Spring, JointFriction,
)  # fmt: skip
DOCUMENT_ORDER = (
    Loop, Drive, Clutch, Ratchet, Brake, Latch, Differential, Transmission, Coupling, Surface, Contact, Collision,
    Spring, JointFriction,
)  # fmt: skip
arrange(KINDS)


class ElementReceiver(Protocol):
    """Interface of the Builder for its element methods: a method `add` that takes an element."""

    def add(self, element: Element) -> Self:
        """Add an element to the mechanism."""
        ...


P = ParamSpec("P")
B = TypeVar("B", bound=ElementReceiver)


def builder_method(make: Callable[P, Element], class_: type[Element]) -> Callable[Concatenate[B, P], B]:
    """Return the Builder method that adds an element of the class `class_`, such as `Builder.clutch`.

    `make` is the class or a function that returns an element. The method has the signature of `make`, and the docstring
    of `make` with the meaning of every key.
    """
    signature = inspect.signature(make)
    derived = _derived(make)
    arguments = [one for name, one in signature.parameters.items() if name not in derived]
    signature = signature.replace(parameters=arguments, return_annotation=Self)
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)

    def add(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        for name in derived & kwargs.keys():
            raise TypeError(f"{make.__name__}() got an unexpected keyword argument {name!r}")
        return self.add(make(*args, **kwargs))

    add.__doc__ = with_parameters_section(make.__doc__ or "", class_.definitions(), class_.what, class_.section)
    add.__signature__ = signature.replace(parameters=[itself, *arguments])  # pyright: ignore[reportFunctionMemberAccess]
    return add


def with_friction(method: Callable[Concatenate[B, P], B]) -> Callable[..., B]:
    """Return the Builder method with the argument `friction`, which adds a `JointFriction` of the same name.

    `method` adds an element to which friction can belong.
    """
    friction = inspect.Parameter("friction", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any)
    signature = inspect.signature(method)

    def add(self: Any, /, name: str, *args: Any, friction: Any = None, **kwargs: Any) -> Any:
        added = None if friction is None else friction_of_loop(name, friction)
        itself = cast("Callable[..., Any]", method)(self, name, *args, **kwargs)
        return itself if added is None else itself.add(added)

    about = """friction : float, [N m or N], or friction law, optional
    Dry friction of the joint that closes the loop: a constant force for each velocity, or a friction law such as
    `lw.Bearing`. A document has it in a table [frictions.NAME].
"""
    add.__doc__ = (method.__doc__ or "").replace("\nReturns\n-------\n", f"{about}\nReturns\n-------\n", 1)
    add.__signature__ = signature.replace(  # pyright: ignore[reportFunctionMemberAccess]
        parameters=[*signature.parameters.values(), friction]
    )
    return add


def _derived(make: object) -> set[str]:
    """Return the names of the fields that `Builder.build` computes for `make`, an element class or a function.

    The Builder method of this class does not take these fields. The set is empty for a function.
    """
    if not (isinstance(make, type) and issubclass(make, Element)):
        return set()
    return {field.name for field in fields(make)} - {"name", *make.definitions()}


class ElementMethods:
    """Mixin of the Builder with one method for each kind of element.

    `Builder.build` checks that the bodies and joints that elements name exist.
    """

    close = with_friction(builder_method(close, Loop))
    drive = builder_method(Drive, Drive)
    clutch = builder_method(Clutch, Clutch)
    brake = builder_method(Brake, Brake)
    ratchet = builder_method(Ratchet, Ratchet)
    latch = builder_method(Latch, Latch)
    transmission = builder_method(Transmission, Transmission)
    differential = builder_method(Differential, Differential)
    couple = builder_method(Coupling, Coupling)
    surface = builder_method(surface, Surface)
    touch = builder_method(Contact, Contact)
    collide = builder_method(Collision, Collision)
    spring = builder_method(Spring, Spring)
    friction = builder_method(JointFriction, JointFriction)


for _name, _method in list(vars(ElementMethods).items()):
    if inspect.isfunction(_method):
        _method.__name__, _method.__qualname__ = _name, f"{ElementMethods.__name__}.{_name}"
