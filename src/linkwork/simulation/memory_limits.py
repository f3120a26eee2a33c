"""Memory limits: estimate the memory that a run needs, and refuse the run if the computer has less."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from linkwork.errors import LinkworkError

PART_OF_MEMORY = 0.8  # largest fraction of the computer's memory that a run may use
COPIES = 4  # number of copies of the state of all batch members that a run holds at least


def refuse_beyond_memory(what: str, needed: float, remedy: str) -> None:
    """Raise a LinkworkError if `what` (a text like "the recording") needs more memory than the computer can provide.

    `needed` is the number of bytes, and `remedy` is the end of the message, which says what the user can do.
    """
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if needed > PART_OF_MEMORY * there:
            sizes = f"{needed / 1e9:.1f} GB of memory; this machine has {there / 1e9:.1f} GB"
            raise LinkworkError(f"{what} needs {sizes}: {remedy}")


def refuse_many_members(size: int, inputs: Iterable[tuple[ArrayLike, int]]) -> None:
    """Raise a LinkworkError if memory is too small for the states of all batch members, with `size` numbers per state.

    `inputs` are pairs of an array and the number of axes that it has for one member; its further, leading axes are
    those of the batch.
    """
    shapes = [np.shape(array)[: np.ndim(array) - own] for array, own in inputs]
    try:
        members = math.prod(np.broadcast_shapes(*shapes))
    except ValueError:  # a later check of the shapes names the arrays that do not fit
        members = max(math.prod(shape) for shape in shapes)
    refuse_beyond_memory(
        f"a batch of {members} members", 8.0 * members * COPIES * size, "simulate fewer members at a time"
    )
