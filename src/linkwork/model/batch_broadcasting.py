"""Evaluation of a function of one state over batches, with checks of array shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import LinkworkError, NonFinite, ShapeError
from linkwork.spatial.scalar import Array

Shape = tuple[int, ...]


class Input(NamedTuple):
    """An array argument of a public function: its `value`, and `core`, its required shape for one state."""

    value: Any
    core: Shape


def as_numbers(name: str, value: Any) -> Array:
    """Return the argument `value` as a C-ordered float64 array; an array of traced numbers is returned unchanged.

    Error messages call the argument `name`.
    """
    if isinstance(value, np.ndarray) and value.dtype == np.float64 and value.flags.c_contiguous:
        return value
    try:
        array = np.asarray(value)
        if array.dtype.kind in "biuf" or all(isinstance(x, Real) for x in array.flat):
            return np.array(array, dtype=float, order="C")
        if array.dtype == object and all(isinstance(x, Real) or hasattr(x, "sqrt") for x in array.flat):
            return array
    except (TypeError, ValueError):
        pass
    raise ShapeError(f"{name} must be an array of real numbers; got {value!r:.80}")


def refuse_non_finite(name: str, array: Array) -> None:
    """Raise a NonFinite error if an entry of `array` is not finite; the message has `name` and the first such entry."""
    if array.dtype != object and not np.isfinite(array).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        entry = f"{name}{list(where)}" if where else name
        raise NonFinite(f"{entry} is {array[where]}; every input must be finite")


def checked(inputs: Mapping[str, Input], finite: bool = True) -> tuple[list[Array], Shape]:
    """Return the inputs as arrays, and the batch shape to which they broadcast.

    Raise a ShapeError or NonFinite that names an invalid input. If `finite` is False, the function accepts non-finite
    numbers.
    """
    arrays: dict[str, Array] = {}
    for name, (value, core) in inputs.items():
        array = as_numbers(name, value)
        if array.shape[array.ndim - len(core) :] != core or array.ndim < len(core):
            wanted = ", ".join(["...", *map(str, core)])
            raise ShapeError(f"{name} has shape {array.shape}, expected ({wanted})")
        if finite:
            refuse_non_finite(name, array)
        arrays[name] = array
    batches = {name: array.shape[: array.ndim - len(inputs[name].core)] for name, array in arrays.items()}
    try:
        return list(arrays.values()), np.broadcast_shapes(*batches.values())
    except ValueError:
        listing = ", ".join(f"{name}: {batch}" for name, batch in batches.items())
        raise ShapeError(f"batch shapes do not broadcast together: {listing}") from None


def of_size(name: str, value: Any, size: int) -> Array:
    """Return `value` as an array (..., size); raise a ShapeError that names the argument `name` for other shapes."""
    numeric = isinstance(value, np.ndarray) and value.dtype in (np.float64, np.complex128, object)
    array = value if numeric else as_numbers(name, value)
    if array.shape[-1:] != (size,):
        raise ShapeError(f"{name} has shape {array.shape}, expected (..., {size})")
    return array


def one_state(inputs: Mapping[str, Input]) -> list[Array]:
    """Return the inputs as arrays for one state; raise a ShapeError if an input is a batch of states."""
    arrays, batch = checked(inputs)
    if batch:
        raise ShapeError(f"expected one state; got a batch of shape {batch}")
    return arrays


def over_batch(
    function: Callable[..., Array], inputs: Mapping[str, Input], result: Shape, finite: bool = True
) -> Array:
    """Call `function` for every state of a batch, and return its results in one array (..., *result).

    `function` takes arrays of one state and returns an array of shape `result`. Raise NonFinite for inputs that are not
    finite, unless `finite` is False.
    """
    arrays, batch = checked(inputs, finite)
    if not batch:
        return _in_class_of_inputs(np.asarray(function(*arrays)).reshape(result), inputs)
    found = [function(*member) for member in members(arrays, inputs, batch)]
    return _in_class_of_inputs(np.array(found).reshape(batch + result), inputs) if found else np.empty(batch + result)


def _in_class_of_inputs(found: Array, inputs: Mapping[str, Input]) -> Array:
    """Return the result array `found` as an array of the class of the traced inputs, if it has traced numbers.

    Other results are returned unchanged. `inputs` are the arguments of the function that computed the result.
    """
    given = [value for value, _ in inputs.values() if isinstance(value, np.ndarray) and value.dtype == object]
    special = [type(value) for value in given if type(value) is not np.ndarray]
    return found.view(special[0]) if special and found.dtype == object else found


def members(arrays: Sequence[Array], inputs: Mapping[str, Input], batch: Shape) -> Iterator[tuple[Array, ...]]:
    """Yield, for each state of a batch in C order, a tuple with the values of all `arrays` in this state.

    `inputs` give the shape of each array for one state; `batch` is the shape of the batch.
    """
    count, cores = math.prod(batch), [core for _, core in inputs.values()]
    flat = [np.broadcast_to(a, batch + core).reshape(count, *core) for a, core in zip(arrays, cores, strict=True)]
    return zip(*flat, strict=True)


def checked_threads(threads: object) -> int | None:
    """Return the number of threads, or None for all cores; raise a LinkworkError for other values."""
    if threads is None or (isinstance(threads, (int, np.integer)) and not isinstance(threads, bool) and threads >= 1):
        return None if threads is None else int(threads)
    raise LinkworkError(f"threads must be a whole number of at least 1; got {threads!r}")


def require_out(out: Any, shape: Shape) -> None:
    """Raise a ShapeError unless the array `out` has the given shape and can receive a result."""
    fits = isinstance(out, np.ndarray) and out.dtype == np.float64 and out.shape == shape
    if not (fits and out.flags.c_contiguous and out.flags.writeable):
        got = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ShapeError(f"out must be a writable, C-ordered float64 array of shape {shape}; got {got}")
