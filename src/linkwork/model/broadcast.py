"""Running a function of one state over any batch shape, with every array's shape checked against the mechanism."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import NonFinite, ShapeError
from linkwork.spatial.scalar import Array

Shape = tuple[int, ...]


class Input(NamedTuple):
    """An array handed in by a user, and the shape that one state of it must have."""

    value: Any
    core: Shape


def as_numbers(name: str, value: Any) -> Array:
    """`value` as a C-ordered float64 array; arrays of other number-like objects pass unchanged."""
    try:
        array = np.asarray(value)
        if array.dtype == object and array.size and not all(isinstance(x, (int, float)) for x in array.flat):
            return array
        return np.ascontiguousarray(array, dtype=float).reshape(array.shape)
    except (TypeError, ValueError):
        raise ShapeError(f"{name} must be an array of numbers; got {value!r:.80}") from None


def checked(inputs: Mapping[str, Input]) -> tuple[list[Array], Shape]:
    """The inputs as arrays, and their common batch shape; ShapeError or NonFinite names the array at fault."""
    arrays: dict[str, Array] = {}
    for name, (value, core) in inputs.items():
        array = as_numbers(name, value)
        if array.shape[array.ndim - len(core) :] != core or array.ndim < len(core):
            wanted = ", ".join(["...", *map(str, core)])
            raise ShapeError(f"{name} has shape {array.shape}, expected ({wanted})")
        if array.dtype != object and not np.isfinite(array).all():
            where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
            raise NonFinite(f"{name}{list(where)} is {array[where]}; every number handed in must be finite")
        arrays[name] = array
    batches = {name: array.shape[: array.ndim - len(inputs[name].core)] for name, array in arrays.items()}
    try:
        return list(arrays.values()), np.broadcast_shapes(*batches.values())
    except ValueError:
        listing = ", ".join(f"{name}: {batch}" for name, batch in batches.items())
        raise ShapeError(f"batch shapes do not broadcast together: {listing}") from None


def over_batch(function: Callable[..., Array], inputs: Mapping[str, Input], result: Shape) -> Array:
    """`function` of one state applied to every member of the inputs' common batch; (..., *result)."""
    arrays, batch = checked(inputs)
    if not batch:
        return function(*arrays)
    cores = [inputs[name].core for name in inputs]
    flat = [np.broadcast_to(a, batch + core).reshape(-1, *core) for a, core in zip(arrays, cores, strict=True)]
    members = [function(*member) for member in zip(*flat, strict=True)]
    return np.array(members).reshape(batch + result) if members else np.empty(batch + result)
