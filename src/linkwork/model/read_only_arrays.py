"""Function that makes the arrays of a mechanism read-only, also after unpickling in another process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

import numpy as np


def freeze(item: Any) -> None:
    """Make all arrays in `item` read-only, also in nested sequences, mappings and dataclasses.

    This is needed after unpickling too, because unpickled arrays are writeable.
    """
    if isinstance(item, np.ndarray):
        item.flags.writeable = False
    elif isinstance(item, Mapping):
        freeze(tuple(item.values()))
    elif is_dataclass(item) and not isinstance(item, type):
        freeze(tuple(vars(item).values()))
    elif isinstance(item, Sequence) and not isinstance(item, (str, bytes)):
        for one in item:
            freeze(one)
