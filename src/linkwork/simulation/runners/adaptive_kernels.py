"""Compiled functions of the state of one batch member, for adaptive methods: projection, event functions, series."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.mimic_reduction import project_state
from linkwork.simulation.events.event_sources import watch
from linkwork.simulation.events.slip import holding
from linkwork.simulation.joint_friction_rows import friction_count, locked
from linkwork.simulation.runners.compiled_run import MemberProgram, series_name
from linkwork.simulation.runners.run_kernels import kernel_of, packed, unpacked
from linkwork.simulation.state import MemberState, StepState, flatten, unflatten
from linkwork.simulation.user_functions import Values
from linkwork.spatial.scalar import Array

# From this number of samples on, a compiled function saves time: it takes 30 ms to build, and saves 0.1 ms per sample
MANY = 500


class Projected(NamedTuple):
    """Coordinates q (nq,) and velocities v (nv,) after projection onto the constraints.

    `error` [m or rad] is the largest remaining closure error, `moved` [m or rad] the largest displacement of a joint.
    """

    q: Array
    v: Array
    error: float
    moved: float


class MemberKernels:
    """Compiled functions of one batch member for adaptive runs: projection, event functions and recorded series. The
    step is `dt` [s], and `samples` is the number of samples of the run.

    The functions take flat arrays and are compiled at first use. If the run has only a few samples, the recorded series
    are computed in plain Python.
    """

    def __init__(self, program: MemberProgram, dt: float, target: str, samples: int):
        self.program, self.problem, self.dt = program, program.problem, dt
        self.compiled, self.many = target != "numpy", samples >= MANY
        self._functions: dict[str, Callable[..., Array]] = {}

    def projection(self, values: Values, slip: Array) -> Callable[[Array], Projected]:
        """Return a function that projects q and v onto the constraints; its argument is an array that begins with q and
        v.

        `values` are the parameters and gains. Constraints whose slip direction in `slip` (k,) is not zero are released.
        Without constraints, the function changes nothing.
        """
        nq = self.problem.mechanism.nq
        size = nq + self.problem.mechanism.nv
        if not self.problem.mechanism.constraints:
            return lambda x: Projected(x[:nq], x[nq:size], 0.0, 0.0)
        fixed = packed((slip, *values.values()))
        project = self._function("project", self._project, (size, len(fixed)), size + 2, (), self.compiled)

        def projected(x: Array) -> Projected:
            found = project(x[:size], fixed)
            return Projected(found[:nq], found[nq:size], *found[size:].tolist())

        return projected

    def watched(self, values: Values, now: MemberState, count: int) -> StepState:
        """Return the `StepState` in `now` with updated arming states and the values of `count` event functions.

        The constraint forces are updated too. `values` are the parameters and gains of the batch member.
        """
        x, armed = packed((*flatten(now), *values.values())), len(now.motion.armed)
        m = self.problem.mechanism
        results = armed + count + len(m.constraints) + friction_count(m) + 2 * armed + 1
        found = self._function("watch", self._watch, (len(x),), results, (repr(self.dt),), self.compiled)(x)
        return now.motion._replace(armed=found[:armed], watched=found[armed:])

    def sample(self, values: Values, now: MemberState) -> list[Array]:
        """Return one sample of every recorded series, evaluated in the state `now`.

        `values` are the parameters and gains of the batch member.
        """
        if not (self.compiled and self.many):
            return list(self.program.series_values(values, self.dt, now))
        x, more = packed((*flatten(now), *values.values())), (series_name(self.program), repr(self.dt))
        results = sum(map(math.prod, self.program.shapes.values()))
        found = self._function("adaptive sample", self._sample, (len(x),), results, more, True)(x)
        shapes = self.program.shapes.values()
        parts = np.split(found, np.cumsum([math.prod(shape) for shape in shapes])[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    # --- the functions of flat arrays ---

    def _project(self, x: Array, fixed: Array) -> Array:
        """Return q (nq,), v (nv,), closure error and displacement as one array, after projection of q and v, the first
        entries of x.

        `fixed` has the slip directions, then the parameters and gains. Error and displacement are those of `Projected`.
        """
        nq, slips = (
            self.problem.mechanism.nq,
            len(self.problem.mechanism.bounded) + friction_count(self.problem.mechanism),
        )
        cores = [(slips,), *map(self.problem.core, self.problem.values)]
        slip, *values = unpacked(fixed, cores)
        m = self.problem.system(dict(zip(self.problem.values, values, strict=True))).mechanism
        found = project_state(locked(holding(m, slip), slip), x[:nq], x[nq:])
        return np.concatenate([found.q, found.v, [found.error, found.moved]])

    def _watch(self, x: Array) -> Array:
        """Return the arming states and event functions as one array, for the state and parameters in the array x
        (n,).
        """
        values, now = self._unpacked(x)
        system = self.problem.system(values)
        found = watch(system, now.step * self.dt, now.motion, system.clipped(now.control))
        return np.concatenate([found.armed, found.watched])

    def _unpacked(self, x: Array) -> tuple[Values, MemberState]:
        """Return the parameters and gains, and the state, that an array x (n,) contains."""
        leaves = [np.shape(leaf)[len(self.problem.batch) :] for leaf in flatten(self.problem.start)]
        parts = unpacked(x, [*leaves, *map(self.problem.core, self.problem.values)])
        values = dict(zip(self.problem.values, parts[len(leaves) :], strict=True))
        return values, unflatten(self.problem.start, parts[: len(leaves)])

    def _sample(self, x: Array) -> Array:
        """Return one sample of all recorded series as one array, for the state and parameters in the array x (n,)."""
        values, now = self._unpacked(x)
        return np.concatenate([np.reshape(one, -1) for one in self.program.series_values(values, self.dt, now)])

    def _function(
        self,
        name: str,
        function: Callable[..., Array],
        sizes: Sequence[int],
        results: int,
        more: tuple[str, ...],
        compiled: bool,
    ) -> Callable[..., Array]:
        """Return a function of flat arrays, compiled if `compiled` is true, else `function` itself.

        `sizes` are the sizes of the arguments, and `results` is the size of the result. `name` and `more` identify the
        kernel.
        """
        if not compiled:
            return lambda *arrays: np.asarray(function(*arrays), dtype=float)
        if name not in self._functions:
            key = (name, *more, repr(list(self.problem.parameters)))
            kernel = kernel_of(self.problem, key, function, [(size,) for size in sizes], [(results,)])

            def general(*arrays: Array) -> Array:
                return kernel.over_batch(arrays, (), 1)[0][0]

            self._functions[name] = kernel.fast_call(general, name, "")
        return self._functions[name]
