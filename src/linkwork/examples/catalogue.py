"""Catalogue of the built-in examples: the functions `example` and `examples`."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

from linkwork.errors import unknown_name
from linkwork.model.mechanism import Mechanism

PACKAGE = "linkwork.examples"
# names of modules in this package that are not examples
HELPERS = ("catalogue", "gait_measures", "planar_linkage_formulas", "walker_gaits", "walker_mechanism")


class Claim(NamedTuple):
    """The result of the check of an example: what the check measures, the measured error and its tolerance."""

    sentence: str
    error: float
    tolerance: float

    @property
    def holds(self) -> bool:
        """Whether the check passed: the measured error is at most the tolerance."""
        return self.error <= self.tolerance


@dataclass(frozen=True)
class Example:
    """A built-in example: its name, a one-line description `about`, and its module."""

    name: str
    about: str
    module: ModuleType

    def build(self) -> Mechanism:
        """Build the mechanism of the example with its default arguments."""
        return self.module.build()

    def claim(self) -> Claim:
        """Check the example against a closed-form solution or a second formulation.

        Return the checked statement, the measured error and its tolerance.
        """
        return self.module.claim()

    def arguments(self, duration: float | None = None) -> dict[str, Any]:
        """Return keyword arguments for `lw.simulate`: mechanism, controller, schedule, method and step of the example.

        `duration` [s] replaces the duration of the example. The dict is empty for an example without controller and
        schedule.
        """
        if not hasattr(self.module, "arguments"):
            return {}
        return self.module.arguments() if duration is None else self.module.arguments(duration)


def examples() -> list[Example]:
    """Return all built-in examples, sorted by name.

    Returns
    -------
    list of Example
        Each has the attributes `name` and `about`, a one-line description, and the methods `build()`, which returns
        the mechanism, and `claim()`, which compares it with a closed-form solution.

    Examples
    --------
    >>> [found.name for found in lw.examples()][:3]
    ['biped', 'biped_hit', 'biped_reach']

    """
    package = importlib.import_module(PACKAGE)
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__) if info.name not in HELPERS)
    return [_load(name) for name in names]


def example(name: str) -> Mechanism:
    """Return a built-in mechanism.

    Parameters
    ----------
    name : str
        Name of an example; `examples()` lists them.

    Returns
    -------
    Mechanism
        Mechanism of the example, with its default arguments.

    Raises
    ------
    NameNotFound
        If there is no example of this name. The error is a ModelError, and its message lists the valid names.

    Examples
    --------
    >>> lw.example("double_pendulum")
    <Mechanism 'double_pendulum': 2 bodies, 2 joints, nq=2, nv=2>

    """
    known = {found.name: found for found in examples()}
    if name not in known:
        raise unknown_name("example", name, known)
    return known[name].build()


def _load(name: str) -> Example:
    """Return the example called `name`, whose module is imported."""
    module = importlib.import_module(f"{PACKAGE}.{name}")
    about = (module.__doc__ or "").strip().splitlines()[0]
    return Example(name, about, module)
