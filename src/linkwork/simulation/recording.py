"""Storage of recorded series: arrays that are allocated before the run starts and filled during it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from linkwork.compiler import Results
from linkwork.errors import LinkworkError, unknown_name
from linkwork.simulation.memory_limits import refuse_beyond_memory
from linkwork.simulation.method_choice import Choice
from linkwork.simulation.series import RunFacts, Series, find, recordable, why_absent
from linkwork.simulation.simulation_problem import Problem
from linkwork.simulation.step_proposals import in_few_digits, is_whole, proposed_step
from linkwork.spatial.scalar import Array

# Memory limits [bytes]: without the argument `every`, a recording has at most COMFORTABLE; above WORTH_A_WARNING, a
# warning is given
COMFORTABLE = 2 << 30
WORTH_A_WARNING = 1 << 30
MOST_STEPS = 1e12  # largest number of steps of a run: at 0.1 us per step, the fastest, they take a day


class Storage:
    """Arrays (*batch, T, ...) for all recorded series, and the step numbers (T,) of their T samples. `record` and
    `every` are the arguments of `simulate`, `choice` has the step, and `duration` is in [s].
    """

    def __init__(
        self, problem: Problem, choice: Choice, record: Sequence[str] | None, every: int | None, duration: float
    ):
        batch, facts = problem.batch, problem.facts
        possible = recordable(facts)
        self.series = tuple(_names(record, facts, possible))
        shapes = {name: possible[name].shape(facts) for name in self.series}
        self.count = step_count(duration, choice.dt, None if problem.sampling is None else problem.sampling.rate)
        # bytes of one sample of all members, with its time
        sample = 8 * (1 + math.prod(batch) * sum(map(math.prod, shapes.values())))
        self.every = _every(every, self.count, sample)
        first = int(problem.start.step.max(initial=0.0))
        self.steps = np.append(np.arange(0.0, self.count, self.every), self.count) + first
        self.bytes = sample * len(self.steps)
        remedy = "record fewer samples (every=...), fewer series (record=...), or fewer members at a time"
        refuse_beyond_memory("the recording", self.bytes, remedy)
        if self.bytes > WORTH_A_WARNING:
            warnings.warn(
                f"linkwork: this run records {self.bytes / 1e9:.1f} GB ({', '.join(self.series)} in "
                f"{len(self.steps)} samples); use `every` or `record` to record less",
                stacklevel=4,
            )
        self.arrays = _arrays({name: (*batch, len(self.steps), *shape) for name, shape in shapes.items()})
        self.samples = 0  # number of samples recorded so far
        self._axis = len(batch)

    def places(self) -> dict[str, Array]:
        """Return, by series name, a view (*batch, k, ...) of the series' array for the k samples that are not yet
        recorded.
        """
        return {name: array[self._between(self.samples, len(self.steps))] for name, array in self.arrays.items()}

    def empty(self, count: int) -> dict[str, Array]:
        """Return new, uninitialized arrays (*batch, count, ...) for `count` samples of each series, by series name.

        They do not share memory with the recording. The caller may fill and append fewer than `count` samples.
        """
        shapes = {name: array.shape for name, array in self.arrays.items()}
        return {name: np.empty((*s[: self._axis], count, *s[self._axis + 1 :])) for name, s in shapes.items()}

    def put(self, samples: Mapping[str, Array], count: int) -> None:
        """Append `count` samples to the recording; `samples` has an array (*batch, count, ...) per series."""
        for name, values in samples.items():
            self.arrays[name][self._between(self.samples, self.samples + count)] = values
        self.samples += count

    def _between(self, start: int, stop: int) -> tuple[slice, ...]:
        """Return the index of the samples from `start` to `stop` in an array (*batch, T, ...)."""
        return (*(slice(None),) * self._axis, slice(start, stop))

    def cut(self, last: float) -> None:
        """Discard the recorded samples after step number `last`, at which the last batch member ended."""
        self.samples = int(np.searchsorted(self.steps[: self.samples], last, side="right"))

    def recorded(self, ended: Array) -> dict[str, Array]:
        """Return all samples recorded so far, by series name, with nan after the end of a batch member.

        `ended` (*batch,) is the step number at which each member ended; inf if it still runs.
        """
        steps = self.steps[: self.samples]
        late = steps > ended[..., None]
        found = {}
        for name, array in self.arrays.items():
            so_far = array[self._between(0, self.samples)]
            if late.any():
                so_far[late] = np.nan
            found[name] = so_far
        return found


_MEMORY = Results()  # holds the memory of a large run after its results are freed, for the next run


def _arrays(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """Return uninitialized arrays of the given shapes, by name, in one contiguous block of memory."""
    memory, begin = _MEMORY.new((sum(map(math.prod, shapes.values())),)), 0
    found: dict[str, Array] = {}
    for name, shape in shapes.items():
        end = begin + math.prod(shape)
        found[name] = memory[begin:end].reshape(shape)
        begin = end
    return found


def _names(record: Sequence[str] | None, facts: RunFacts, possible: Mapping[str, Series]) -> list[str]:
    """Return the names of the series to record.

    `record` is the argument of `simulate`, and `possible` are the recordable series by name. If q and v are recorded,
    the list also has all series that derived series need.
    """
    if record is None:
        return [name for name, series in possible.items() if series.included(facts)]
    names = [record] if isinstance(record, str) else list(dict.fromkeys(record))
    for name in names:
        if name not in possible:
            raise unknown_name("series to record", name, possible, _why_not(name, facts))
    if {"q", "v"} <= set(names):
        names += [name for name, series in possible.items() if series.with_state and name not in names]
    return names


def _why_not(name: str, facts: RunFacts) -> str:
    """Return the reason why the run cannot record the series `name`, for an error message."""
    series = find(facts, name)
    if series is None:
        return ""
    if series.derive is None:
        return why_absent(facts, series)
    return f" {name!r} is not recorded: run[{name!r}] computes it after the run from {', '.join(series.needed(facts))}."


def _every(every: int | None, count: int, sample: int) -> int:
    """Return the number of steps between samples: `every` if given, else the smallest number that the memory limit
    allows.

    `count` is the number of steps of the run, `sample` the size of a sample of all batch members [bytes].
    """
    if every is None:
        return max(1, math.ceil(sample * count / COMFORTABLE))
    if not (isinstance(every, (int, np.integer)) and every >= 1):
        raise LinkworkError(f"every must be a whole number of steps >= 1; got {every!r}")
    return min(int(every), count)


def step_count(duration: float, dt: float, rate: float | None = None) -> int:
    """Return the number of steps dt [s] in `duration` [s]; raise a LinkworkError if it is not a whole number.

    The message proposes a step that also suits the `rate` [1/s] of a sampled controller.
    """
    steps = duration / dt
    if steps > MOST_STEPS:
        raise LinkworkError(
            f"{duration:g} s in steps of {dt:g} s are {steps:.3g} steps, more than the {MOST_STEPS:.0e} of a run: "
            "use a longer dt or a shorter duration"
        )
    count = max(1, round(steps))
    if not is_whole(duration, dt):
        step, whole = proposed_step(duration, dt, rate), in_few_digits(count * dt, lambda one: is_whole(one, dt))
        suits = "" if rate is None else f", which suits the controller's rate of {rate:g} 1/s,"
        raise LinkworkError(
            f"a run of {duration:g} s is not a whole number of steps of dt={dt:g} s: use "
            + (f"dt={step}{suits} or duration={whole}" if step else f"duration={whole}")
        )
    return count
