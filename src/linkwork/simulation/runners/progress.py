"""Progress of a run: a bar at a terminal, or calls of a user function with the completed fraction."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from linkwork.errors import visible

PATIENCE = 1.0  # [s] time after which the bar appears, so that short runs show no bar
Watch = Callable[[float], None]


@contextmanager
def watching(progress: bool | Watch | None, title: str) -> Iterator[Watch]:
    """Provide, as a context manager, a function to be called with the completed fraction of a run.

    The function is the user's `progress`, or draws a bar called `title`, or does nothing.
    """
    if callable(progress):
        yield progress
    elif progress or (progress is None and sys.stderr.isatty()):
        with _bar(title, 0.0 if progress else PATIENCE) as watch:
            yield watch
    else:
        yield lambda fraction: None


@contextmanager
def _bar(title: str, patience: float) -> Iterator[Watch]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
    task = bar.add_task(visible(title), total=1.0)
    begin = time.perf_counter()

    def watch(fraction: float) -> None:
        if not bar.live.is_started and time.perf_counter() - begin >= patience:
            bar.start()
        bar.update(task, completed=fraction)

    try:
        yield watch
    finally:
        if bar.live.is_started:
            bar.stop()
