"""Methods of `Dynamics` for mechanisms with loops: closure errors, assembly, actuation and observation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from linkwork.algorithms.constraints import constrained_dynamics
from linkwork.algorithms.mimic_reduction import consistent_velocity
from linkwork.evaluation import closed_chain_actuation, loop_assembly
from linkwork.evaluation.batch_evaluation import Out, Parameters
from linkwork.evaluation.dynamics_methods import DynamicsMethods
from linkwork.model.batch_broadcasting import Input, one_state, over_batch
from linkwork.spatial.scalar import Array


class ConstraintMethods(DynamicsMethods):
    """Methods of `Dynamics` for loops: closure errors, Jacobian, assembly, consistent velocities, actuation.

    The method `observed` computes the motion of joints without sensors.
    """

    def constraint(self, q: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Return the position errors of loop closure: zero where all loops are closed.

        Parameters
        ----------
        q : array, shape (..., nq), [rad, m]
            Coordinates.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (..., nc), [m or rad]
            One error for each of the `mechanism.nc` constraint rows of the loops. The loops are in the order of
            `mechanism.frame_constraints`, the list of all loops. Clutches, brakes and other velocity constraints have
            no rows here.

        Examples
        --------
        >>> m = lw.example("four_bar")
        >>> d = lw.compile(m)
        >>> bool(np.abs(d.constraint(m.keyframes["start"].q)).max() < 1e-12)
        True

        """
        return self._evaluate(
            "constraint", constrained_dynamics.constraint, self._state(q), (self.mechanism.nc,), parameters, out
        )

    def constraint_jacobian(self, q: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Return the constraint Jacobian J of the loops: J v is the time derivative of `constraint`.

        J has rows for loops only, not for clutches, brakes and other velocity constraints.

        Parameters
        ----------
        q : array, shape (..., nq), [rad, m]
            Coordinates.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (..., nc, nv), [m/s or rad/s] per unit of v
            One row per row of `constraint`.

        Examples
        --------
        >>> m = lw.example("four_bar")
        >>> J = lw.compile(m).constraint_jacobian(m.keyframes["start"].q)
        >>> J.shape, int(np.linalg.matrix_rank(J))  # a planar loop: 2 of 5 rows are independent
        ((5, 3), 2)

        """
        shape = (self.mechanism.nc, self.mechanism.nv)
        return self._evaluate(
            "constraint_jacobian", constrained_dynamics.constraint_jacobian, self._state(q), shape, parameters, out
        )

    def assemble(self, q: Any, fixed: Iterable[str] = ()) -> Array:
        """Return coordinates near q at which all loops are closed.

        Newton's method with a line search starts at q. If it fails, it starts again at random positions near q.

        Parameters
        ----------
        q : array, shape (..., nq), [rad, m]
            Coordinates at which the search starts.
        fixed : str or iterable of str, default none
            Names of joints whose coordinates do not change.

        Returns
        -------
        array, shape (..., nq), [rad, m]
            Coordinates with closed loops.

        Raises
        ------
        NotConverged
            If no position with closed loops was found. The message names the loops that stay open and their errors.

        Examples
        --------
        >>> d = lw.compile(lw.example("four_bar"))
        >>> q = d.assemble([0.8, 0.0, 1.0], fixed="crank pin")
        >>> bool(np.abs(d.constraint(q)).max() < 1e-12), float(q[0])
        (True, 0.8)

        """
        names = (fixed,) if isinstance(fixed, str) else tuple(fixed)
        for name in names:
            self.mechanism.joints.index_of(name)
        m = self.mechanism
        return over_batch(lambda q: loop_assembly.assembled_position(self, q, names), {"q": Input(q, (m.nq,))}, (m.nq,))

    def consistent(self, q: Any, v: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Return the velocities nearest to v that satisfy all constraints.

        The distance is measured by kinetic energy. The result is the velocity after the impulses that loops, engaged
        clutches and engaged brakes would exert if they closed or engaged at the velocity v.

        Parameters
        ----------
        q, v : arrays, shapes (..., nq) and (..., nv), [rad, m] and [rad/s, m/s]
            Coordinates, at which the loops must be closed, and velocities.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (..., nv), [rad/s, m/s]
            Velocities.

        Examples
        --------
        >>> m = lw.example("clutched_flywheels")  # inertias 0.8 and 1.2 kg m^2
        >>> d = lw.compile(m.with_parameters({"clutch.engaged": 1.0}))
        >>> d.consistent([0.0, 0.0], [20.0, 0.0]).round(3)
        array([8., 8.])

        """
        return self._evaluate(
            "consistent", consistent_velocity, self._state(q, v), (self.mechanism.nv,), parameters, out
        )

    def actuation(
        self,
        q: Any,
        v: Any,
        a: Any,
        actuated: Iterable[str],
        weights: Mapping[str, float] | None = None,
        wrenches: Any = None,
    ) -> closed_chain_actuation.Actuation:
        """Return the forces of the actuated joints that produce a motion of a mechanism with loops.

        If more joints are actuated than the motion needs, the sum of weight * force^2 over these joints is minimal. The
        method takes one state, no batch. Springs, damping and friction are left out. If `passive(q, v)` is zero at all
        joints that are not actuated, subtract it from `tau` to compensate these forces. This method cannot compensate
        passive forces at joints that are not actuated.

        Parameters
        ----------
        q, v, a : arrays, shapes (nq,), (nv,) and (nv,), [rad, m], [rad/s, m/s] and [rad/s^2, m/s^2]
            A motion that satisfies the loops.
        actuated : iterable of str
            Names of the joints that have a motor.
        weights : mapping from joint name to float, optional
            Positive weights of the squared forces; 1 by default.
        wrenches : array, shape (nbodies, 6), [N, N m], optional
            External wrench on each body, in the body's frame.

        Returns
        -------
        Actuation
            `tau` (nv,) [N m, N]: joint forces, zero at joints that are not actuated. `multipliers` (nh,) [N, N m]: one
            for each constraint row, of the loops first, then of engaged clutches and other velocity constraints.

        Raises
        ------
        LinkworkError
            If the actuated joints cannot produce the motion (the message names the joints that need a force), or a
            weight is not positive.

        Examples
        --------
        >>> m = lw.example("four_bar")
        >>> d, q, rest = lw.compile(m), m.keyframes["start"].q, np.zeros(3)
        >>> d.actuation(q, rest, rest, ["crank pin"]).tau.round(3)  # holds the linkage against gravity
        array([2.143, 0.   , 0.   ])

        """
        q, v, a = one_state(self._state(q, v, a=a))
        return closed_chain_actuation.actuation(self, q, v, a, list(actuated), dict(weights or {}), wrenches)

    def observed(self, q: Any, v: Any, a: Any, sensed: Iterable[str]) -> closed_chain_actuation.Observed:
        """Return the motion of all joints of a mechanism with loops from the motion of its sensed joints.

        The method takes one state, no batch.

        Parameters
        ----------
        q : array, shape (nq,), [rad, m]
            Measured coordinates of sensed joints. The entries of other joints are a guess, at which the search starts.
        v, a : arrays, shape (nv,), [rad/s, m/s] and [rad/s^2, m/s^2]
            Measured velocities and accelerations. Entries of other joints are ignored.
        sensed : iterable of str
            Names of the joints that have a sensor.

        Returns
        -------
        Observed
            q (nq,), v (nv,) and a (nv,) of all joints, in the same units.

        Raises
        ------
        LinkworkError
            If the sensors do not determine the motion; the message names the joints that can still move.
        NotConverged
            If no position with closed loops was found.

        Examples
        --------
        >>> m = lw.example("four_bar")
        >>> d, start = lw.compile(m), m.keyframes["start"]
        >>> found = d.observed(start.q, [start.v[0], 0.0, 0.0], np.zeros(3), ["crank pin"])
        >>> bool(np.abs(found.v - start.v).max() < 1e-9)
        True

        """
        q, v, a = one_state(self._state(q, v, a=a))
        return closed_chain_actuation.observed(self, q, v, a, sensed)
