"""Finding the built-in machines by name."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

from linkwork.errors import unknown_name
from linkwork.model.mechanism import Mechanism

PACKAGE = "linkwork.examples"
NO_MACHINES = ("catalogue", "footsteps", "planar_links", "walker_gaits", "walker_machine")


class Claim(NamedTuple):
    """What an example shows: a sentence, the measured error and what it may be."""

    sentence: str
    error: float
    tolerance: float

    @property
    def holds(self) -> bool:
        """Whether the error is within the tolerance."""
        return self.error <= self.tolerance


@dataclass(frozen=True)
class Example:
    """A built-in machine: `about` is one line."""

    name: str
    about: str
    module: ModuleType

    def build(self) -> Mechanism:
        """The mechanism."""
        return self.module.build()

    def claim(self) -> Claim:
        """Compute what the example claims."""
        return self.module.claim()

    def request(self, duration: float | None = None) -> dict[str, Any]:
        """What `lw.simulate(**...)` is told so that it does what it is for, for so long [s].

        It is nothing where a machine is only let go.
        """
        if not hasattr(self.module, "request"):
            return {}
        return self.module.request() if duration is None else self.module.request(duration)


def examples() -> list[Example]:
    """All built-in machines, with `.name` and `.about`."""
    package = importlib.import_module(PACKAGE)
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__) if info.name not in NO_MACHINES)
    return [_load(name) for name in names]


def example(name: str) -> Mechanism:
    """The built-in mechanism called `name`; `examples()` lists them."""
    known = {found.name: found for found in examples()}
    if name not in known:
        raise unknown_name("example", name, known)
    return known[name].build()


def _load(name: str) -> Example:
    module = importlib.import_module(f"{PACKAGE}.{name}")
    about = (module.__doc__ or "").strip().splitlines()[0]
    return Example(name, about, module)
