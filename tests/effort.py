"""How much work something is: counted, since clocks differ and machines are busy."""

import sys
from collections.abc import Callable
from typing import Any


def calls(function: Callable[..., Any], *arguments: Any) -> tuple[Any, int]:
    """What a function returns, and how many calls of functions, of Python and of C, it took."""
    count = 0

    def seen(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        found = function(*arguments)
    finally:
        sys.setprofile(before)
    return found, count
