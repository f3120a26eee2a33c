"""Text output of the command line: names without markup and terminal escapes, and exit code 130 after Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from rich.console import Console
from rich.text import Text

from linkwork.errors import visible

WIDTH = 160  # width in columns of output that does not go to a terminal
INTERRUPTED = 130  # exit code after Ctrl-C: 128 + SIGINT


class Terminal(Console):
    """Console of the package `rich` for user-defined names: no markup, control characters as escapes."""

    def __init__(self, stderr: bool = False):
        stream = sys.stderr if stderr else sys.stdout
        super().__init__(stderr=stderr, width=None if stream.isatty() else WIDTH, markup=False, emoji=False)

    def render_str(self, text: str, **how: Any) -> Text:
        """Return a string, such as a cell of a table, as rich text with control characters shown as escapes.

        `how` are further arguments of rich's method.
        """
        return super().render_str(visible(text), **how)


def plain(text: str, style: str = "") -> Text:
    """Return a text that contains user-defined names as rich text, with control characters shown as escapes.

    `style` is a style of rich.
    """
    return Text(visible(text), style)


def labelled(label: str, style: str, text: str) -> Text:
    """Return a line of text that begins with a coloured label, such as "error: "; `style` is the style of the label."""
    return Text.assemble((label, style), visible(text))


class Interrupted(BaseException):
    """Exception that Ctrl-C raises in a command; unlike KeyboardInterrupt, `simulate` does not catch it."""


@contextmanager
def exiting_after_interrupt() -> Iterator[None]:
    """Context manager that exits with code INTERRUPTED, without a traceback, if Ctrl-C is pressed inside it."""
    try:
        with _handling_interrupts(_interrupt):
            yield
    except (Interrupted, KeyboardInterrupt):
        sys.exit(INTERRUPTED)


@contextmanager
def keeping_stopped_runs() -> Iterator[None]:
    """Context manager in which Ctrl-C stops `simulate`, which then returns the computed part of the run."""
    with _handling_interrupts(signal.default_int_handler):
        yield


@contextmanager
def _handling_interrupts(handler: Any) -> Iterator[None]:
    """Context manager in which Ctrl-C calls `handler(signal number, stack frame)`."""
    # Python allows only the main thread to set signal handlers
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Raise `Interrupted`: the handler of Ctrl-C."""
    raise Interrupted
