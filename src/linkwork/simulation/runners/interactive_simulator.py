"""`Simulator`: step one mechanism from Python, at one or two microseconds per step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.errors import LinkworkError, NotConverged, ShapeError, unknown_name
from linkwork.model.batch_broadcasting import as_numbers, refuse_non_finite
from linkwork.model.elements import with_locks
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.contact_anchors_at_start import with_anchors_at_start
from linkwork.simulation.contact_checks import method_for_contacts, refuse_unsuitable_method
from linkwork.simulation.events.guards import self_switched_modes
from linkwork.simulation.events.impulses import impact, why_impossible
from linkwork.simulation.events.schedule import LOCKS, locked_names, modes_of, switch_of
from linkwork.simulation.events.schedule_conflicts import refuse_contradictions
from linkwork.simulation.joint_friction_rows import friction_count
from linkwork.simulation.methods.integration_step_derivatives import StepDerivatives
from linkwork.simulation.methods.method_registry import METHODS, RIGID, method_of_order, refuse_composed
from linkwork.simulation.problem_setup import Setup, positive, problem_of
from linkwork.simulation.runners.interactive_step import StepKernel, flat_state, state_of
from linkwork.simulation.simulated_system import System
from linkwork.simulation.start_state_checks import refuse_open, refuse_slipping
from linkwork.spatial.scalar import Array


class State(NamedTuple):
    """State of a simulator: t [s], coordinates q (nq,) [rad, m, quaternions] and velocities v (nv,) [rad/s, m/s]."""

    t: float
    q: Array
    v: Array


class Simulator:
    """Interactive simulation: advance one state of a mechanism step by step from Python.

    Call `step(tau)` and read `state`. Between steps, `push` a body, `open` or `close` loops, `engage` or `release`
    clutches, or `lock` or `unlock` joints. Joint springs, dampers, friction and stops act as in `lw.simulate`. A step
    that fails raises an error and leaves the state unchanged.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism.
    q0 : array, shape (nq,), unit [rad, m, quaternions], default None
        Start coordinates. None: the keyframe "start", or the neutral position.
    v0 : array, shape (nv,), unit [rad/s, m/s], default None
        Start velocities. None: at rest, or those of the keyframe.
    dt : float, unit [s], default 1e-3
        Integration step.
    method : str or None, default None
        A method of `lw.simulate` with fixed steps. None: "rk4"; "midpoint" for joints with dry friction
        in a mechanism without contacts; "moreau" for rigid contacts.
    stops : float or None, unit [s], default 0.02
        Time constant of the springs and dampers at joint limits. None: limits are ignored.
    order : int or None, default None
        2, 4 or 6: order to which "variational", "rattle" or "energy-momentum" steps are composed. None: 2.
    locate : bool, default False
        True locates contact events within the step; False: contacts change at the ends of steps.
    contact : {"compliant", "rigid"}, default "compliant"
        Contact model, as in `lw.simulate`.
    clip_effort : bool, default False
        True clips the joint forces of every step to the `effort_limit` of the joints, as in `lw.simulate`.

    Raises
    ------
    LinkworkError
        If an argument is invalid, q0 does not close the loops, or the method does not fit the mechanism.
    ShapeError
        If q0 or v0 is a batch.

    Examples
    --------
    >>> sim = lw.Simulator(lw.example("double_pendulum"), [1.0, 0.5], dt=0.01)
    >>> for _ in range(100):
    ...     sim.step(tau=-2.0 * sim.state.v)
    >>> round(sim.state.t, 3), sim.state.q.shape
    (1.0, (2,))

    """

    def __init__(
        self,
        mechanism: Mechanism,
        q0: ArrayLike | None = None,
        v0: ArrayLike | None = None,
        dt: float = 1e-3,
        method: str | None = None,
        stops: float | None = 0.02,
        order: int | None = None,
        locate: bool = False,
        contact: str = "compliant",
        clip_effort: bool = False,
    ):
        found = method_for_contacts("auto" if method is None else method, contact, locate)
        setup = Setup(mechanism, q0, v0, stops=stops, rigid=contact == "rigid", clip_effort=clip_effort)
        self._problem = problem_of(setup)
        mechanism = self._problem.mechanism
        slip_directions = bool(friction_count(mechanism)) and not mechanism.touches
        method = ("midpoint" if slip_directions else "rk4") if method is None and found == "auto" else found
        if method not in (*METHODS, RIGID.name):
            raise unknown_name("method", method, METHODS)
        self._method = method_of_order(method, order, locate)
        refuse_composed(mechanism, self._method)
        self.mechanism, self.dt, self.method, self.order = mechanism, positive("dt", dt), method, self._method.order
        refuse_open(self._problem)
        refuse_unsuitable_method(self._problem, method, adaptive=False, locate=bool(locate))
        if self._problem.batch:
            raise ShapeError(f"a Simulator has one state; q0 and v0 have the batch shape {self._problem.batch}")
        self._problem = with_anchors_at_start(self._problem, "numpy")
        self._steps = 0
        self._x = flat_state(self._problem.start.motion)
        self._zero = np.zeros(mechanism.nv)
        # active pushes: number of the step at which the push ends, wrench, body
        self._pushes: list[tuple[int, Array, int]] = []
        self._modes = modes_of(mechanism)
        self._switched = False  # whether a mode differs from its value in the mechanism
        self._free = StepKernel(self, changed=False)
        self._changed = StepKernel(self, changed=True)

    def __getstate__(self) -> dict[str, object]:
        """Return the data for copies and pickles, without machine code, which copies load at their first step."""
        state = {name: value for name, value in vars(self).items() if name not in ("_free", "_changed")}
        return state | {"_method": self._method.locates, "_pushes": list(self._pushes), "_modes": dict(self._modes)}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self._method = method_of_order(self.method, self.order, bool(state["_method"]))
        self._free, self._changed = StepKernel(self, changed=False), StepKernel(self, changed=True)

    def __repr__(self) -> str:
        return f"<Simulator of {self.mechanism!r} at {self._steps * self.dt:g} s, {self.method} with dt={self.dt:g}>"

    @property
    def state(self) -> State:
        """The present time t [s], coordinates q (nq,) [rad, m, quaternions] and velocities v (nv,) [rad/s, m/s].

        Assign (t, q, v) to set the state; t is rounded to whole steps. Contacts then start as in a new run, and latches
        as in the mechanism. An engaged constraint without capacity that slips in the new state raises a LinkworkError.
        """
        now = state_of(self.mechanism, self._x)
        return State(self._steps * self.dt, now.q, now.v)

    @state.setter
    def state(self, new: tuple[float, ArrayLike, ArrayLike]) -> None:
        """Set t [s], q (nq,) [rad, m, quaternions] and v (nv,) [rad/s, m/s]; see the documentation of the getter."""
        t, q, v = new
        modes = {
            **self._modes,
            **{name: float(self.mechanism.parameters[name]) for name in self_switched_modes(self.mechanism)},
        }
        problem = problem_of(Setup(self.mechanism, q, v, parameters=modes, rigid=self._problem.rigid))
        problem = with_anchors_at_start(problem, "numpy")
        if problem.start.q.ndim > 1:
            raise ShapeError("a Simulator has one state; q and v must not be batches")
        refuse_slipping(problem)
        self._steps = round(float(t) / self.dt)
        self._x, self._modes = flat_state(problem.start.motion), modes

    def step(self, tau: ArrayLike | None = None) -> None:
        """Advance the state by one integration step of `dt`.

        Parameters
        ----------
        tau : array, shape (nv,), unit [N m or N], default None
            Joint forces, constant through the step. None: zero. They are clipped to the effort limits of the joints if
            the simulator has `clip_effort=True`.

        Raises
        ------
        NotConverged
            If the equations of the step were not solved.
        NonFinite
            If the new state is not finite.

        Examples
        --------
        >>> sim = lw.Simulator(lw.example("double_pendulum"), dt=0.01)
        >>> sim.step(tau=[1.0, 0.0])
        >>> sim.state.t
        0.01

        """
        forces = self._zero if tau is None else tau
        if self._pushes or self._switched:
            self._x = self._step_with_wrenches_and_modes(forces)
        else:
            self._x = self._free.step(self._x, forces)
        self._steps += 1

    def push(self, body: str, wrench: ArrayLike, duration: float | None = None) -> None:
        """Apply an external wrench to a body during the next steps.

        Parameters
        ----------
        body : str
            Name of the body.
        wrench : array, shape (6,), unit [N, N m]
            Force that acts at the origin of the body's frame, then torque; both in the axes of this frame.
        duration : float or None, unit [s], default None
            Duration, rounded to whole steps. None: one step.

        Raises
        ------
        LinkworkError
            If the body is the world or does not exist.
        ShapeError
            If `wrench` does not have six numbers.

        Examples
        --------
        >>> sim = lw.Simulator(lw.example("double_pendulum"), dt=0.01)
        >>> sim.push("link 2", [0, 0, 0, 0, 0, 1.0], duration=0.05)
        >>> sim.step()
        >>> bool(sim.state.v[1] > 0.0)
        True

        """
        number = self.mechanism.bodies.index_of(body)
        if number == 0:
            raise LinkworkError("the world cannot be pushed; name another body")
        array = as_numbers("wrench", wrench)
        if array.shape != (6,):
            raise ShapeError(f"wrench has shape {array.shape}, expected (6,)")
        refuse_non_finite("wrench", array)
        steps = 1 if duration is None else max(1, round(positive("duration", duration) / self.dt))
        self._pushes.append((self._steps + steps, np.array(array), number))

    def open(self, loop: str) -> None:
        """Open a loop: its constraint no longer acts.

        Parameters
        ----------
        loop : str
            Name of the loop closure.

        Examples
        --------
        >>> sim = lw.Simulator(lw.example("four_bar"))
        >>> sim.open("closing pin")
        >>> sim.step()

        """
        self._switch("open", loop)

    def close(self, loop: str) -> float:
        """Close a loop and return the change of energy [J].

        Impulses change the velocities so that they satisfy the loop constraint. A projection removes a closure error.

        Parameters
        ----------
        loop : str
            Name of the loop closure.

        Returns
        -------
        float
            Change of energy [J]; negative if energy is lost.

        Raises
        ------
        NotConverged
            If the closure error is more than 1 cm or 0.01 rad.

        Examples
        --------
        >>> sim = lw.Simulator(lw.example("four_bar"))
        >>> sim.open("closing pin")
        >>> sim.step()
        >>> sim.close("closing pin") <= 0.0
        True

        """
        return self._switch("close", loop)

    def engage(self, name: str) -> float:
        """Engage a clutch, brake, ratchet, latch, differential or coupling; return the change of energy [J].

        Impulses change the velocities so that they satisfy the constraint. A clutch or brake with a finite capacity
        slips at first and exerts no impulse.

        Parameters
        ----------
        name : str
            Name of the clutch, brake, ratchet, latch, differential or coupling.

        Returns
        -------
        float
            Change of energy [J]; negative if energy is lost.

        Raises
        ------
        LinkworkError
            If engaged elements contradict each other.

        Examples
        --------
        >>> sim = lw.Simulator(lw.example("clutched_flywheels"), v0=[10.0, 0.0])
        >>> sim.engage("clutch")  # it has a capacity, so that it slips
        0.0

        """
        return self._switch("engage", name)

    def release(self, name: str) -> None:
        """Release a clutch, brake, ratchet, latch, differential or coupling.

        Parameters
        ----------
        name : str
            Name of the clutch, brake, ratchet, latch, differential or coupling.

        Examples
        --------
        >>> sim = lw.Simulator(lw.example("clutched_flywheels"), v0=[10.0, 0.0])
        >>> energy = sim.engage("clutch")
        >>> sim.release("clutch")

        """
        self._switch("release", name)

    def shift(self, name: str, ratio: float) -> float:
        """Set the ratio of a clutch or ratchet, or the gear of a transmission; return the change of energy [J].

        If the element is engaged, impulses make the velocities satisfy the new ratio.

        Parameters
        ----------
        name : str
            Name of the clutch, ratchet or transmission.
        ratio : float
            New ratio, not 0; for a transmission the number of a gear, 0 for neutral.

        Returns
        -------
        float
            Change of energy [J]; negative if energy is lost.

        Examples
        --------
        >>> sim = lw.Simulator(lw.example("two_speed_gearbox"), v0=[10.0, 2.5])
        >>> round(sim.shift("gearbox", 2), 3)
        -0.579

        """
        return self._switch("shift", name, ratio)

    def reverse(self, clutch: str) -> float:
        """Reverse the sign of a clutch's ratio, or the direction of a ratchet; return the change of energy [J].

        If the element is engaged, impulses make the velocities satisfy the new ratio or direction. An element with a
        finite capacity slips at first and exerts no impulse.

        Parameters
        ----------
        clutch : str
            Name of the clutch or ratchet.

        Returns
        -------
        float
            Change of energy [J]; negative if energy is lost.

        Examples
        --------
        >>> sim = lw.Simulator(lw.example("clutched_flywheels"), v0=[10.0, 0.0])
        >>> sim.reverse("clutch")  # it is not engaged
        0.0

        """
        return self._switch("reverse", clutch)

    def lock(self, joint: str) -> float:
        """Lock a joint at its present position and return the change of energy [J].

        Impulses set the velocities of the joint to zero. The joint needs no brake.

        Parameters
        ----------
        joint : str
            Name of the joint; or name of a brake, which is then engaged and slips at its capacity.

        Returns
        -------
        float
            Change of energy [J]; negative if energy is lost.

        Examples
        --------
        >>> sim = lw.Simulator(lw.example("double_pendulum"), v0=[1.0, 0.0])
        >>> round(sim.lock("pin 1"), 6)
        -16.0
        >>> bool(abs(sim.state.v[0]) < 1e-12)
        True

        """
        return self._switch("lock", joint)

    def unlock(self, joint: str) -> None:
        """Unlock a joint that `lock` locked.

        Parameters
        ----------
        joint : str
            Name of the joint; or name of a brake, which is then released.

        Examples
        --------
        >>> sim = lw.Simulator(lw.example("double_pendulum"), v0=[1.0, 0.0])
        >>> energy = sim.lock("pin 1")
        >>> sim.unlock("pin 1")

        """
        self._switch("unlock", joint)

    def step_derivatives(self, tau: ArrayLike | None = None) -> StepDerivatives:
        """Return the derivatives A and B of `step(tau)`: the state after the step changes by A (dq, dv) + B dtau.

        (dq, dv) is a change of the present state, with dq in the tangent space, as in `Mechanism.difference`; dtau is a
        change of tau. A and B are exact to round-off, also for steps that solve equations or project onto loops.

        Parameters
        ----------
        tau : array, shape (nv,), unit [N m or N], default None
            Joint forces of the step. None: zero.

        Returns
        -------
        StepDerivatives
            A, shape (2 nv, 2 nv), and B, shape (2 nv, nv).

        Raises
        ------
        LinkworkError
            If the mechanism has contacts, clutches or other elements that can change state within the step.
        NotConverged
            If the equations of the step were not solved.

        Examples
        --------
        >>> sim = lw.Simulator(lw.example("double_pendulum"), dt=0.01)
        >>> A, B = sim.step_derivatives()
        >>> A.shape, B.shape
        ((4, 4), (4, 2))

        """
        forces = as_numbers("tau", self._zero if tau is None else tau)
        if forces.shape != (self.mechanism.nv,):
            raise ShapeError(f"tau has shape {forces.shape}, expected ({self.mechanism.nv},)")
        stepper = self._changed if self._pushes or self._switched else self._free
        return stepper.map.derivatives(self._x, forces, *(self._user_wrenches_and_modes() if stepper.changed else ()))

    def _switch(self, *entry: str | float) -> float:
        """Apply a schedule entry, without its time, to the present state; return the energy gained [J].

        `entry` is a verb, a name, and the ratio if the verb is "shift". Only (un)lock finds brakes that `lock` added.
        """
        held = with_locks(self.mechanism, locked_names([(0.0, *entry)]))
        now, latched = state_of(held, self._x), self_switched_modes(held)
        before = {**modes_of(held), **self._modes, **dict(zip(latched, now.modes.tolist(), strict=True))}
        named = held if entry[0] in LOCKS else self._problem.mechanism
        switch = switch_of(named, f"Simulator.{entry[0]}", (0.0, *entry))
        refuse_contradictions(held, (switch,), before, (), 0.0)
        after = {**before, switch.parameter: switch.applied(before[switch.parameter])}
        found = impact(System(m := held.varied(after), rigid=self._problem.rigid), now.q, now.v, now.slip)
        if not found.possible:
            raise NotConverged(
                why_impossible(m, now.q) or f"{switch.what}: the constraints cannot be satisfied from the present state"
            )
        if len(after) > len(self._modes):  # a joint without a brake was locked, so that the mechanism has a new brake
            self.mechanism, self._changed = held, StepKernel(self, changed=True)
        modes = np.array([after[name] for name in latched])
        self._modes, self._x = after, flat_state(now._replace(q=found.q, v=found.v, slip=found.slip, modes=modes))
        self._switched = after != modes_of(held)
        return float(found.energy)

    def _user_wrenches_and_modes(self) -> tuple[Array, Array]:
        """Return the sum of all active user wrenches on each body, and the values (k,) of all switchable parameters.

        The wrenches (nbodies, 6) [N, N m] are those of `push`, in the frames of the bodies. The values have the order
        of `_modes`.
        """
        wrenches = np.zeros((self.mechanism.nbodies, 6))
        for _, wrench, body in self._pushes:
            wrenches[body - 1] += wrench
        return wrenches, np.array(list(self._modes.values()))

    def _step_with_wrenches_and_modes(self, forces: ArrayLike) -> Array:
        """Return the state array after a step with the present pushes, modes and joint forces (nv,); remove pushes that
        end.
        """
        found = self._changed.step(self._x, forces, *self._user_wrenches_and_modes())
        self._pushes = [push for push in self._pushes if push[0] > self._steps + 1]
        return found
