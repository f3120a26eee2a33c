"""Compiled step of the interactive simulator, its state as one array, and the diagnosis of a failed step."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms.solid_contact.solid_contact_forces import stored_columns
from linkwork.errors import LinkworkError, NonFinite, NotConverged, ShapeError
from linkwork.evaluation.floating_point_failures import failures_named
from linkwork.model.batch_broadcasting import as_numbers, refuse_non_finite
from linkwork.model.mechanism import Mechanism
from linkwork.model.solids import POINTS
from linkwork.simulation.events.guards import self_switched_modes
from linkwork.simulation.joint_friction_rows import friction_count
from linkwork.simulation.methods.integration_step_derivatives import StepMap
from linkwork.simulation.methods.newton_failure import FailedStep, Unsolved, solved_step, unsolved
from linkwork.simulation.runners.jam_diagnosis import jam_text
from linkwork.simulation.runners.run_kernels import kernel_of
from linkwork.simulation.simulated_system import System
from linkwork.simulation.state import CONTACT_COLUMNS, StepState
from linkwork.spatial.scalar import Array, where

if TYPE_CHECKING:
    from linkwork.simulation.runners.interactive_simulator import Simulator


def flat_state(now: StepState) -> Array:
    """Return the `StepState` `now` as one array (n,): q, v, contact memory, slip directions, modes and arming states,
    in this order.
    """
    memories = (np.ravel(now.contact_memory), np.ravel(now.solid_memory))
    return np.concatenate([now.q, now.v, *memories, now.slip, now.modes, now.armed])


def state_of(m: Mechanism, x: Array) -> StepState:
    """Return the `StepState` of the mechanism m from the array x (n,) that `flat_state` returned."""
    count, others = len(m.contact_pairs), [len(m.bounded) + friction_count(m), len(m.self_switching)]
    columns = stored_columns(m.collisions)
    solid = POINTS * len(m.solid_pairs) * columns
    size = (len(x) - m.nq - m.nv - solid - sum(others) - len(m.self_switching)) // max(count, 1)
    q, v, contacts, solids, slip, modes, armed = np.split(x, np.cumsum([m.nq, m.nv, size * count, solid, *others]))
    contacts, solids = contacts.reshape(count, size or CONTACT_COLUMNS), solids.reshape(-1, columns)
    return StepState(q, v, contact_memory=contacts, slip=slip, modes=modes, armed=armed, solid_memory=solids)


class StepKernel:
    """Compiled integration step of a simulator, as a fast function of the state and the joint forces.

    Inputs that are not float64 arrays of the right shape are converted first. If `changed` is true, wrenches (nbodies,
    6) [N, N m] on the bodies and the values (k,) of all modes are further inputs.
    """

    def __init__(self, simulator: Simulator, changed: bool):
        self.simulator, self.changed = simulator, changed
        self.step: Callable[..., Array] = self._build

    def system(self, *changes: Array) -> System:
        """Return the mechanism and its forces as the `System` that a step integrates.

        If `changed` is true, `changes` are wrenches (nbodies, 6) and modes (k,); otherwise there are none.
        """
        sim = self.simulator
        m, forces = sim.mechanism, None
        if self.changed:
            wrenches, modes = changes
            named = dict(zip(sim._modes, modes, strict=True))
            m, forces = m.varied(named), lambda t, q, v: wrenches
        known = sim._problem
        return System(
            m, None, forces, known.stops, modes=self_switched_modes(m), rigid=known.rigid, effort=known.effort
        )

    @cached_property
    def map(self) -> StepMap:
        """The step as a `StepMap`, which also computes the derivatives of the step."""
        sim = self.simulator
        name = repr(list(sim._modes)) if self.changed else ""
        return StepMap(sim._problem, sim._method, sim.dt, self.system, self.shapes[2:], name)

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the inputs of a step: state, joint forces, and wrenches and modes if `changed` is true."""
        sim = self.simulator
        changes = [(sim.mechanism.nbodies, 6), (len(sim._modes),)] if self.changed else []
        return [sim._x.shape, (sim.mechanism.nv,), *changes]

    def one(self, x: Array, tau: Array, *changes: Array) -> Array:
        """Return the state array after one step from the state array x; nan if the step's equations were not solved.

        `flat_state` defines the arrays; tau (nv,) are joint forces, and `changes` the arguments of `system`.
        """
        sim, system = self.simulator, self.system(*changes)
        moved, solved = sim._method.step(system, 0.0, state_of(system.mechanism, x), sim.dt, system.clipped(tau))
        found = flat_state(moved)
        return found if solved is True else where(solved, found, np.full(len(found), np.nan))

    def _build(self, *inputs: ArrayLike) -> Array:
        """Compile the step, and return the state array after a first step with `inputs`."""
        sim = self.simulator
        name = ("changed step" if self.changed else "step", sim._method.title, repr(sim.dt), repr(list(sim._modes)))
        self.kernel = kernel_of(sim._problem, name, self.one, self.shapes, self.shapes[:1])
        self.step = self.kernel.fast_call(self._slow, "step", "One step of the simulator.")
        return self.step(*inputs)

    def _slow(self, x: Array, tau: ArrayLike, *changes: Array) -> Array:
        """Return the state after one step, for arguments that are not float64 arrays; raise an error if the step fails.

        The error explains the failure. x is the state array, tau (nv,) are joint forces, and `changes` the arguments of
        `system`.
        """
        forces = as_numbers("tau", tau)
        if forces.shape != (self.simulator.mechanism.nv,):
            raise ShapeError(f"tau has shape {forces.shape}, expected ({self.simulator.mechanism.nv},)")
        refuse_non_finite("tau", forces)
        (found,), finite = self.kernel.over_batch([x, forces, *changes], (), 1)
        if finite:
            return found
        sim, system = self.simulator, self.system(*changes)
        at, valid = f"at {sim.state.t:g} s with dt={sim.dt:g}", bool(np.isfinite(x).all())
        step = FailedStep(sim._method, system, 0.0, state_of(system.mechanism, x), sim.dt, system.clipped(forces))
        if valid and (jam := jam_text(system, sim.state.t, step.now, sim.dt, system.clipped(forces))):
            raise LinkworkError(f"the step at {sim.state.t:g} s: {jam}")
        failed = unsolved(step) if valid and np.isnan(found).all() else None
        # report this at once, because the complete step in Python may take many iterations
        if failed and np.isfinite(failed.history).all():
            raise self._not_converged(step, failed)
        with failures_named("the state after a step", 0):
            after = self.one(x, forces, *changes)
        if valid and np.isnan(after).all():
            if failed:
                raise self._not_converged(step, failed)
            raise NotConverged(f"the projection onto the loops did not converge after the step {at}; use a smaller dt")
        raise NonFinite(f"the state after the step {at} is not finite; use a smaller dt, or check the forces")

    def _not_converged(self, step: FailedStep, failed: Unsolved) -> NotConverged:
        """Return the error of a step whose equations were not solved; it suggests a smaller step that is solved, if
        found.

        `step` is the failed step, and `failed` its diagnosis.
        """
        shorter = solved_step(step)
        remedy = f"dt={shorter:g} is solved" if shorter else "no smaller dt that is solved was found"
        text = f"the step at {self.simulator.state.t:g} s: {failed.text(step.h)}; {remedy}"
        return NotConverged(text, failed.history, shorter)
