"""Built-in examples: one mechanism per file, with a function `build()` and a check `claim()` of its motion."""

from linkwork.examples.catalogue import Claim, Example, example, examples

__all__ = ["Claim", "Example", "example", "examples"]
