"""Limits of memory: how much a run needs is estimated before it starts, and refused if the machine does not have it."""

from __future__ import annotations

import os

from linkwork.errors import LinkworkError

PART_OF_MEMORY = 0.8  # of the machine's memory, which a run may take


def refuse_beyond_memory(what: str, needed: float, remedy: str) -> None:
    """Raise a LinkworkError if `what` needs more bytes than this machine can give."""
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if needed > PART_OF_MEMORY * there:
            sizes = f"{needed / 1e9:.1f} GB, and this machine has {there / 1e9:.1f} GB"
            raise LinkworkError(f"{what} would take {sizes}: {remedy}")
