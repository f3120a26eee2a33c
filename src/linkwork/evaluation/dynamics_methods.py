"""Dynamic methods of `Dynamics`: inverse and forward dynamics, their terms, derivatives, and constraint forces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkwork.algorithms import inverse_dynamics
from linkwork.algorithms.dynamics_derivatives import forward_dynamics_derivatives, inverse_dynamics_derivatives
from linkwork.algorithms.forward_dynamics import forward_dynamics
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.algorithms.mimic_reduction import CONSTRAINED, carried
from linkwork.algorithms.passive_joint_forces import passive
from linkwork.algorithms.reactions import reactions, reactions_about
from linkwork.evaluation.batch_evaluation import Out, Parameters
from linkwork.evaluation.constrained_derivatives import constrained_forward_derivatives
from linkwork.evaluation.friction_methods import (
    FORWARD,
    FORWARD_DERIVATIVES,
    INVERSE,
    INVERSE_DERIVATIVES,
    REACTIONS,
    WITH_FRICTION,
    FrictionMethods,
    checked_choice,
    with_friction,
)
from linkwork.model.batch_broadcasting import Input
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array

CONSTRAINED["forward_dynamics_derivatives"] = (
    constrained_forward_derivatives  # set here, because the package `algorithms` must not import the compiler
)


class DynamicsMethods(FrictionMethods):
    """Methods of `Dynamics` for the equations of motion: joint forces, accelerations, mass matrix and reactions.

    Methods for the derivatives of joint forces and accelerations are included.
    """

    def inverse_dynamics(
        self,
        q: Any,
        v: Any,
        a: Any,
        wrenches: Any = None,
        *,
        friction: bool = False,
        parameters: Parameters = None,
        out: Out = None,
    ) -> Array:
        """Return the joint forces that produce the accelerations a.

        The forces balance inertia (with armature), gravity and the external wrenches. Springs, damping and friction
        (see `passive`) and the forces of loops, clutches and brakes (see `actuation`) are left out.

        Parameters
        ----------
        q, v, a : arrays, shapes (..., nq), (..., nv) and (..., nv), [rad, m], [rad/s, m/s] and [rad/s^2, m/s^2]
            Coordinates, velocities and accelerations.
        wrenches : array, shape (..., nbodies, 6), [N, N m], optional
            External wrench on each body, in the body's frame.
        friction : bool, default False
            Whether the joint forces also overcome the dry friction of the joints, see `friction`. For a joint that
            stays at rest, the result is the smallest force with which static friction can hold the joint. The loads
            of the joints are those without the forces of loops.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (..., nv), [N m, N]
            Joint forces.

        Examples
        --------
        >>> d = lw.compile(lw.example("double_pendulum"))
        >>> d.inverse_dynamics([0.5, 0.0], [0.0, 0.0], [1.0, 0.0]).round(3)
        array([356.353, 122.883])

        """
        inputs, shape = self._state(q, v, wrenches, a=a), (self.mechanism.nv,)
        if self._includes(friction):
            name, run = with_friction(INVERSE, self.check)
            return self._evaluate(name, run, inputs, shape, parameters, out, WITH_FRICTION)

        def run_without(m: Mechanism, *state: Array) -> Array:
            return inverse_dynamics.inverse_dynamics(m, *state).tau

        return self._evaluate("inverse_dynamics", run_without, inputs, shape, parameters, out)

    def bias(self, q: Any, v: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Return the joint forces at zero acceleration: Coriolis, centrifugal and gravity terms.

        The result is the term c + g of M(q) a + c(q, v) + g(q) = tau; it equals `inverse_dynamics(q, v, 0)`.

        Parameters
        ----------
        q, v : arrays, shapes (..., nq) and (..., nv), [rad, m] and [rad/s, m/s]
            Coordinates and velocities.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (..., nv), [N m, N]
            Joint forces.

        Examples
        --------
        >>> d = lw.compile(lw.example("double_pendulum"))
        >>> d.bias([0.5, 0.2], [1.0, -1.0]).round(3)
        array([178.171,  74.702])

        """
        return self._evaluate("bias", inverse_dynamics.bias, self._state(q, v), (self.mechanism.nv,), parameters, out)

    def gravity(self, q: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Return the joint forces that hold the mechanism at rest against gravity.

        The result is the term g of M(q) a + c(q, v) + g(q) = tau. Forces of springs and loops are left out.

        Parameters
        ----------
        q : array, shape (..., nq), [rad, m]
            Coordinates.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (..., nv), [N m, N]
            Joint forces.

        Examples
        --------
        >>> d = lw.compile(lw.example("double_pendulum"))
        >>> d.gravity([0.5, 0.0]).round(3)
        array([152.853,  49.383])

        """
        return self._evaluate(
            "gravity", inverse_dynamics.gravity, self._state(q), (self.mechanism.nv,), parameters, out
        )

    def passive(
        self, q: Any, v: Any, *, friction: bool = True, parameters: Parameters = None, out: Out = None
    ) -> Array:
        """Return the forces of springs, dampers, dry friction and other force elements.

        These elements act at joints and between bodies. `forward_dynamics` and `inverse_dynamics` leave their forces
        out; `forward_dynamics(q, v, tau + passive(q, v))` includes them. The forces of joint limits and contacts are
        not part of the result.

        Parameters
        ----------
        q, v : arrays, shapes (..., nq) and (..., nv), [rad, m] and [rad/s, m/s]
            Coordinates and velocities.
        friction : bool, default True
            Whether to include dry friction that is given by numbers (the argument `friction` of `Builder.joint`). This
            friction decreases to zero with the speed below about 1e-3 rad/s or m/s. Friction that depends on the load
            is never included: see `friction`. Use False together with `forward_dynamics(..., friction=True)`.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (..., nv), [N m, N]
            Joint forces of the mechanism's force elements.

        Examples
        --------
        >>> m = lw.example("free_flyer")
        >>> d = lw.compile(m)
        >>> d.passive(m.neutral(), np.ones(m.nv))[6:9].round(3)  # damping of 0.5 N m s/rad
        array([-0.5, -0.5, -0.5])

        """
        inputs, shape = self._state(q, v), (self.mechanism.nv,)
        if checked_choice(friction):
            return self._evaluate("passive", passive, inputs, shape, parameters, out)

        def without_friction(m: Mechanism, q: Array, v: Array) -> Array:
            return passive(m, q, v, dry=False)

        return self._evaluate("passive", without_friction, inputs, shape, parameters, out, "without friction")

    def mass_matrix(self, q: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Return the mass matrix M with armature: the kinetic energy is v^T M v / 2.

        The constraints of loops, clutches and brakes are not included. Armature is the inertia of rotors.

        Parameters
        ----------
        q : array, shape (..., nq), [rad, m]
            Coordinates.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (..., nv, nv), [kg m^2, kg m, kg]
            Symmetric positive definite matrix.

        Examples
        --------
        >>> d = lw.compile(lw.example("double_pendulum"))
        >>> d.mass_matrix([0.5, 0.0]).round(3)
        array([[203.5,  73.5],
               [ 73.5,  31.5]])

        """
        shape = (self.mechanism.nv, self.mechanism.nv)
        return self._evaluate("mass_matrix", mass_matrix, self._state(q), shape, parameters, out)

    def forward_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any,
        wrenches: Any = None,
        *,
        friction: bool = False,
        parameters: Parameters = None,
        out: Out = None,
    ) -> Array:
        """Return the accelerations under joint forces, gravity and external wrenches.

        Loops, engaged clutches and engaged brakes constrain the accelerations. Springs, damping and, by default,
        friction are left out: add `passive(q, v)` to tau to include them. Joint limits and contacts act only in
        `simulate`.

        Parameters
        ----------
        q, v, tau : arrays, shapes (..., nq), (..., nv) and (..., nv), [rad, m], [rad/s, m/s] and [N m, N]
            Coordinates, velocities and joint forces.
        wrenches : array, shape (..., nbodies, 6), [N, N m], optional
            External wrench on each body, in the body's frame.
        friction : bool, default False
            Whether to include the dry friction of joints and loops, see `friction`. If True, add `passive(q, v,
            friction=False)` instead of `passive(q, v)` to tau for springs and damping.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (..., nv), [rad/s^2, m/s^2]
            Accelerations.

        Examples
        --------
        >>> d = lw.compile(lw.example("double_pendulum"))
        >>> d.forward_dynamics([0.5, 0.0], [0.0, 0.0], [0.0, 0.0]).round(3)
        array([-1.176,  1.176])

        """
        inputs = self._state(q, v, wrenches, tau=tau)
        if self._includes(friction):
            (name, run), shape = with_friction(FORWARD, self.check), (self.mechanism.nv,)
            return self._evaluate(name, run, inputs, shape, parameters, out, WITH_FRICTION)
        return self._evaluate("forward_dynamics", forward_dynamics, inputs, (self.mechanism.nv,), parameters, out)

    def carried(
        self, q: Any, v: Any, tau: Any, wrenches: Any = None, *, parameters: Parameters = None, out: Out = None
    ) -> Array:
        """Return the constraint forces of clutches, brakes and other velocity constraints.

        Every engaged element is treated as sticking, so the force may exceed its capacity. In a simulation, where
        elements slip, `run["carried"]` contains the force that was transmitted.

        Parameters
        ----------
        q, v, tau : arrays, shapes (..., nq), (..., nv) and (..., nv), [rad, m], [rad/s, m/s] and [N m, N]
            Coordinates, velocities and joint forces.
        wrenches : array, shape (..., nbodies, 6), [N, N m], optional
            External wrench on each body, in the body's frame.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (..., k), [N m or N]
            One force for each of the k constraint rows, in the order of `mechanism.velocity_constraints`: clutches
            first, then brakes and others. The force of a clutch is that on its joint b. A released element has the
            force 0.

        Examples
        --------
        >>> m = lw.example("clutched_flywheels")  # inertias 0.8 and 1.2 kg m^2
        >>> d = lw.compile(m.with_parameters({"clutch.engaged": 1.0}))
        >>> d.carried([0.0, 0.0], [1.0, 1.0], [2.0, 0.0]).round(3)
        array([1.2])

        """
        count = sum(len(list(item.velocity_rows)) for item in self.mechanism.velocity_constraints)
        inputs = self._state(q, v, wrenches, tau=tau)
        return self._evaluate("carried", carried, inputs, (count,), parameters, out)

    def reactions(
        self,
        q: Any,
        v: Any,
        tau: Any,
        wrenches: Any = None,
        frame: str | None = None,
        *,
        friction: bool = False,
        parameters: Parameters = None,
        out: Out = None,
    ) -> Array:
        """Return the wrench that each joint transmits from its parent body to its child body.

        The wrench contains the constraint forces and the joint force. Springs, damping and friction act only if tau
        contains their forces (see `passive`).

        Parameters
        ----------
        q, v, tau : arrays, shapes (..., nq), (..., nv) and (..., nv), [rad, m], [rad/s, m/s] and [N m, N]
            Coordinates, velocities and joint forces.
        wrenches : array, shape (..., nbodies, 6), [N, N m], optional
            External wrench on each body, in the body's frame.
        frame : str, optional
            Frame, body or "world" about whose origin and in whose axes all wrenches are expressed. By default each
            wrench is about the origin and in the axes of its child body.
        friction : bool, default False
            Whether to include the dry friction of joints and loops, see `friction`. If True, add `passive(q, v,
            friction=False)` instead of `passive(q, v)` to tau for springs and damping.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (..., njoints + nloops, 6), [N, N m]
            Force before torque. First the joints of the tree in the order of `mechanism.joints`, then the loops: for
            a loop, the wrench of its body a on its body b, in the frame of b.

        Examples
        --------
        >>> d = lw.compile(lw.example("double_pendulum"))
        >>> d.reactions([0.0, 0.0], [0.0, 0.0], [0.0, 0.0], frame="world")[:, 1].round(3)  # weights carried by the pins
        array([53.955, 34.335])

        """
        shape = len(self.mechanism.joints) + len(self.mechanism.frame_constraints), 6
        inputs = self._state(q, v, wrenches, tau=tau)
        quantity, run = "reactions", reactions
        fixed: tuple[str, ...] = ()
        if self._includes(friction):
            (quantity, run), fixed = with_friction(REACTIONS, self.check), (WITH_FRICTION,)
        if frame is None:
            return self._evaluate(quantity, run, inputs, shape, parameters, out, *fixed)
        self._require_frame(frame)
        through = Input(self._evaluate(quantity, run, inputs, shape, parameters, None, *fixed), shape)
        return self._evaluate(
            "reactions_about",
            lambda m, q, through: reactions_about(m, q, through, frame),
            self._state(q) | {"through": through},
            shape,
            parameters,
            out,
            frame,
        )

    def forward_dynamics_derivatives(
        self, q: Any, v: Any, tau: Any, *, friction: bool = False, parameters: Parameters = None
    ) -> tuple[Array, Array, Array]:
        """Return the derivatives of `forward_dynamics` with respect to q, v and tau.

        The derivative by q is taken in the tangent space: the coordinates change to `mechanism.integrate(q, dq)` with
        dq (nv,). External wrenches are zero.

        Parameters
        ----------
        q, v, tau : arrays, shapes (..., nq), (..., nv) and (..., nv), [rad, m], [rad/s, m/s] and [N m, N]
            Coordinates, velocities and joint forces.
        friction : bool, default False
            Whether to include the dry friction of the joints, see `friction`. Joints that stick have zero acceleration.
            The derivatives hold as long as no joint begins or stops slipping.
        parameters : mapping, optional
            Values of varying parameters: see `Dynamics`.

        Returns
        -------
        da_dq, da_dv, da_dtau : arrays, each of shape (..., nv, nv)
            Derivatives of the accelerations [rad/s^2, m/s^2] per unit of q, v and tau. Each row belongs to an
            acceleration, each column to a component of dq, v or tau.

        Examples
        --------
        >>> d = lw.compile(lw.example("double_pendulum"))
        >>> da_dq, da_dv, da_dtau = d.forward_dynamics_derivatives([0.5, 0.0], [0.0, 0.0], [0.0, 0.0])
        >>> (da_dtau @ d.mass_matrix([0.5, 0.0])).round(9) + 0.0
        array([[1., 0.],
               [0., 1.]])

        """
        name, run = "forward_dynamics_derivatives", forward_dynamics_derivatives
        if self._includes(friction):
            name, run = with_friction(FORWARD_DERIVATIVES, self.check)
        return self._derivatives(name, run, q, v, parameters, tau=tau)

    def inverse_dynamics_derivatives(
        self, q: Any, v: Any, a: Any, *, friction: bool = False, parameters: Parameters = None
    ) -> tuple[Array, Array, Array]:
        """Return the derivatives of `inverse_dynamics` with respect to q, v and a.

        The derivative by q is taken in the tangent space: the coordinates change to `mechanism.integrate(q, dq)` with
        dq (nv,). External wrenches are zero.

        Parameters
        ----------
        q, v, a : arrays, shapes (..., nq), (..., nv) and (..., nv), [rad, m], [rad/s, m/s] and [rad/s^2, m/s^2]
            Coordinates, velocities and accelerations.
        friction : bool, default False
            Whether to include the dry friction of the joints, see `inverse_dynamics`. The derivatives hold as long as
            no joint begins or stops slipping.
        parameters : mapping, optional
            Values of varying parameters: see `Dynamics`.

        Returns
        -------
        dtau_dq, dtau_dv, dtau_da : arrays, each of shape (..., nv, nv)
            Derivatives of the joint forces [N m, N] per unit of q, v and a. Each row belongs to a joint force, each
            column to a component of dq, v or a. Without friction, dtau_da is the mass matrix. Friction that depends on
            the load adds a further part, because the load depends on a.

        Examples
        --------
        >>> d = lw.compile(lw.example("double_pendulum"))
        >>> dtau_dq, dtau_dv, dtau_da = d.inverse_dynamics_derivatives([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
        >>> dtau_dq.round(3)  # stiffness of gravity about the hanging position
        array([[318.825, 103.005],
               [103.005, 103.005]])

        """
        name, run = "inverse_dynamics_derivatives", inverse_dynamics_derivatives
        if self._includes(friction):
            name, run = with_friction(INVERSE_DERIVATIVES, self.check)
        return self._derivatives(name, run, q, v, parameters, a=a)

    def _derivatives(
        self, quantity: str, algorithm: Callable[..., Array], q: Any, v: Any, parameters: Parameters, **third: Any
    ) -> tuple[Array, Array, Array]:
        """Return the three derivatives (..., nv, nv) of a quantity with respect to q, v and a third argument.

        The derivative with respect to q is in the tangent space. `algorithm` computes all three for one state, stacked
        as (3, nv, nv). `quantity` is the name of the kernel, and `third` is the third argument by name, a or tau.
        """
        shape = (3, self.mechanism.nv, self.mechanism.nv)
        three = self._evaluate(quantity, algorithm, self._state(q, v, **third), shape, parameters, None)
        return three[..., 0, :, :], three[..., 1, :, :], three[..., 2, :, :]
