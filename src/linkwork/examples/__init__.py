"""Built-in machines, one per file, named as the machine; each has `build()` and ends with a checked `claim()`."""

from linkwork.examples.catalogue import Claim, Example, example, examples

__all__ = ["Claim", "Example", "example", "examples"]
