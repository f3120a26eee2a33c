"""Dynamics: every algorithm as a method that takes any batch of states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.algorithms import inverse, jacobians, kinematics, momentum
from linkwork.algorithms.constraints import closure
from linkwork.algorithms.derivatives import forward_dynamics_derivatives, inverse_dynamics_derivatives
from linkwork.algorithms.forward import forward_dynamics
from linkwork.algorithms.joint_forces import passive, spring_energy
from linkwork.algorithms.mass import mass_matrix
from linkwork.algorithms.reactions import reactions, reactions_about
from linkwork.algorithms.reduction import CLOSED, carried, consistent_velocity, coupled
from linkwork.algorithms.symmetries import momentum_maps
from linkwork.compiler.build_lock import BUILDING
from linkwork.errors import LinkworkError, ModelError, unknown_name
from linkwork.evaluation import assembly, closed_chains
from linkwork.evaluation.constrained_derivatives import closed_forward_derivatives
from linkwork.evaluation.diagnosis import explain_non_finite, unwatched, watched
from linkwork.model.analyses import Symmetry
from linkwork.model.broadcast import Input, Shape, checked, checked_threads, members, one_state, over_batch, require_out
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from linkwork.compiler import Kernel

TARGETS = ("cpu", "numpy")
Parameters = Mapping[str, Any] | None
Out = Array | None
PLAIN = {"q", "v", "a", "tau"}  # inputs that a quick call takes
SEVERAL = {
    "energy",
    "forward_dynamics_derivatives",
    "inverse_dynamics_derivatives",
}  # methods that make several results of one
CLOSED["forward_dynamics_derivatives"] = closed_forward_derivatives  # here, as algorithms do not know the compiler


def compile(
    mechanism: Mechanism,
    parameters: Iterable[str] = (),
    target: str = "cpu",
    threads: int | None = None,
    check: bool = True,
) -> Dynamics:
    """The dynamics of a mechanism, ready to call.

    `parameters` names what varies from call to call (see `mechanism.parameters`); everything else is constant.
    `target` "cpu" runs machine code made for this mechanism, built on first use and kept on disk; batches use up to
    `threads` threads (all there are, if not given). "numpy" runs the plain text of the algorithms, state by state and
    on one thread: the reference.

    A result that is not finite raises NonFinite with its member, joint and source line; this costs nothing that can be
    measured. With `check=False` such numbers are returned as they are, and the other members of the batch with them.
    """
    if not isinstance(mechanism, Mechanism):
        raise ModelError(
            f"compile takes a Mechanism, as lw.example(...) or builder.build() gives; got {mechanism!r:.80}"
        )
    if target not in TARGETS:
        raise unknown_name("target", target, TARGETS)
    threads = checked_threads(threads)
    if target == "numpy" and threads not in (None, 1):
        raise LinkworkError(f"target 'numpy' runs on one thread; got threads={threads!r}")
    varying = (parameters,) if isinstance(parameters, str) else tuple(parameters)
    for name in varying:
        if name not in mechanism.parameters:
            raise mechanism.unknown_parameter(name)
    return Dynamics(mechanism, varying, target, threads, bool(check))


class Dynamics:
    """Answers for a mechanism at any batch of states. Made by `compile`.

    q is (..., nq) and v, a, tau are (..., nv), where `...` is any batch shape, broadcast as NumPy does. `wrenches`
    is (..., nbodies, 6): the external wrench on each body, [N] and [N m], at its frame's origin, in its frame, bodies
    in the order of `mechanism.bodies` without the world. `parameters` gives values, (..., shape of the parameter), to
    those named as varying; the mechanism's own values are the default. `out` receives the result, if given.
    """

    def __init__(self, mechanism: Mechanism, varying: tuple[str, ...], target: str, threads: int | None, check: bool):
        self.mechanism, self.varying, self.target = mechanism, varying, target
        self.threads, self.check = threads, check
        self._kernels: dict[tuple[str, ...], Kernel] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """For copies and other processes: without machine code, which each makes or finds on disk when it is called."""
        return type(self), (self.mechanism, self.varying, self.target, self.threads, self.check)

    def __repr__(self) -> str:
        return f"<Dynamics of {self.mechanism!r}, target {self.target!r}>"

    # --- kinematics ---

    def poses(self, q: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Pose of every body in the world, (..., nbodies, 4, 4) [m]."""

        def one(m: Mechanism, q: Array) -> Array:
            poses = kinematics.world_poses(m, kinematics.joint_poses(m, q))
            return np.array([X.matrix for X in poses[1:]])

        return self._evaluate("poses", one, self._state(q), (self.mechanism.nbodies, 4, 4), parameters, out)

    def pose(self, q: Any, frame: str, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Pose of a named frame in the world, (..., 4, 4) [m]."""
        self._require_frame(frame)
        return self._evaluate(
            "pose",
            lambda m, q: kinematics.frame_pose(m, q, frame).matrix,
            self._state(q),
            (4, 4),
            parameters,
            out,
            frame,
        )

    def velocities(self, q: Any, v: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Twist of every body in its own frame, (..., nbodies, 6) [m/s, rad/s]."""

        def one(m: Mechanism, q: Array, v: Array) -> Array:
            return np.array([V.array for V in kinematics.kinematics(m, q, v).twist[1:]])

        return self._evaluate("velocities", one, self._state(q, v), (self.mechanism.nbodies, 6), parameters, out)

    def accelerations(self, q: Any, v: Any, a: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Rate of every body's twist in its own frame, (..., nbodies, 6) [m/s^2, rad/s^2]."""

        def one(m: Mechanism, q: Array, v: Array, a: Array) -> Array:
            return np.array([A.array for A in kinematics.accelerations(m, kinematics.kinematics(m, q, v), a)[1:]])

        return self._evaluate(
            "accelerations", one, self._state(q, v, a=a), (self.mechanism.nbodies, 6), parameters, out
        )

    def jacobian(
        self, q: Any, frame: str, expressed: str = "body", *, parameters: Parameters = None, out: Out = None
    ) -> Array:
        """Jacobian of a named frame, (..., 6, nv): J v is its twist [m/s, rad/s].

        `expressed` "body": in the frame's axes about its origin; "world": in the world's axes about the world's
        origin (spatial); "mixed": in the world's axes about the frame's origin.
        """
        self._require_frame(frame, expressed)
        return self._evaluate(
            "jacobian",
            lambda m, q: jacobians.jacobian(m, q, frame, expressed),
            self._state(q),
            (6, self.mechanism.nv),
            parameters,
            out,
            frame,
            expressed,
        )

    def jacobian_rate(
        self, q: Any, v: Any, frame: str, expressed: str = "body", *, parameters: Parameters = None, out: Out = None
    ) -> Array:
        """Rate of `jacobian`, (..., 6, nv): the rate of the twist as expressed is J a + dJ/dt v [m/s^2, rad/s^2]."""
        self._require_frame(frame, expressed)
        return self._evaluate(
            "jacobian_rate",
            lambda m, q, v: jacobians.jacobian_rate(m, q, v, frame, expressed),
            self._state(q, v),
            (6, self.mechanism.nv),
            parameters,
            out,
            frame,
            expressed,
        )

    # --- dynamics ---

    def inverse_dynamics(
        self, q: Any, v: Any, a: Any, wrenches: Any = None, *, parameters: Parameters = None, out: Out = None
    ) -> Array:
        """Joint forces (..., nv) [N m, N] that produce the acceleration a: inertia with armature, gravity, wrenches."""
        return self._evaluate(
            "inverse_dynamics",
            lambda m, *state: inverse.inverse_dynamics(m, *state).tau,
            self._state(q, v, wrenches, a=a),
            (self.mechanism.nv,),
            parameters,
            out,
        )

    def bias(self, q: Any, v: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Joint forces (..., nv) [N m, N] at zero acceleration: Coriolis, centrifugal and gravity terms."""
        return self._evaluate("bias", inverse.bias, self._state(q, v), (self.mechanism.nv,), parameters, out)

    def gravity(self, q: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Joint forces (..., nv) [N m, N] that hold the mechanism still against gravity."""
        return self._evaluate("gravity", inverse.gravity, self._state(q), (self.mechanism.nv,), parameters, out)

    def passive(self, q: Any, v: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Forces (..., nv) [N m, N] of springs, dampers and friction, which dynamics do not contain.

        They are those of the joints, and those of springs between bodies.
        """
        return self._evaluate("passive", passive, self._state(q, v), (self.mechanism.nv,), parameters, out)

    def mass_matrix(self, q: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Mass matrix (..., nv, nv) [kg m^2, kg m, kg] with armature: kinetic energy is v^T M v / 2."""
        shape = (self.mechanism.nv, self.mechanism.nv)
        return self._evaluate("mass_matrix", mass_matrix, self._state(q), shape, parameters, out)

    def forward_dynamics(
        self, q: Any, v: Any, tau: Any, wrenches: Any = None, *, parameters: Parameters = None, out: Out = None
    ) -> Array:
        """Joint accelerations (..., nv) [rad/s^2, m/s^2] under joint forces tau, gravity and wrenches."""
        inputs = self._state(q, v, wrenches, tau=tau)
        return self._evaluate("forward_dynamics", forward_dynamics, inputs, (self.mechanism.nv,), parameters, out)

    def carried(
        self, q: Any, v: Any, tau: Any, wrenches: Any = None, *, parameters: Parameters = None, out: Out = None
    ) -> Array:
        """Force (..., k) [N m or N] of each clutch on its b, then of brakes and other holders; 0 where released."""
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
        parameters: Parameters = None,
        out: Out = None,
    ) -> Array:
        """Wrench (..., njoints + nloops, 6) [N, N m] of the parent on the child through joints, in the child's frame.

        Loops come after the joints of the tree: of their body a on b, in the frame of b. If a `frame` is named, that of
        a body, another or "world", all are about its origin and in its axes.
        """
        shape = len(self.mechanism.joints) + len(self.mechanism.frame_constraints), 6
        inputs = self._state(q, v, wrenches, tau=tau)
        if frame is None:
            return self._evaluate("reactions", reactions, inputs, shape, parameters, out)
        self._require_frame(frame)
        through = Input(self._evaluate("reactions", reactions, inputs, shape, parameters, None), shape)
        return self._evaluate(
            "reactions_about",
            lambda m, q, through: reactions_about(m, q, through, frame),
            self._state(q) | {"through": through},
            shape,
            parameters,
            out,
            frame,
        )

    # --- loops ---

    def constraint(self, q: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Errors of closure (..., nc) [m or rad], the rows of all loops one after the other: zero where they close."""
        return self._evaluate("constraint", closure.constraint, self._state(q), (self.mechanism.nc,), parameters, out)

    def constraint_jacobian(self, q: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """J (..., nc, nv): J v is the rate of `constraint` [m/s or rad/s]."""
        shape = (self.mechanism.nc, self.mechanism.nv)
        return self._evaluate(
            "constraint_jacobian", closure.constraint_jacobian, self._state(q), shape, parameters, out
        )

    def assemble(self, q: Any, fixed: Iterable[str] = ()) -> Array:
        """Coordinates (..., nq) [rad, m] near q that close all loops, found from there; joints named `fixed` stay.

        Raises NotConverged with the loop that stays open, if they cannot be closed from there.
        """
        names = (fixed,) if isinstance(fixed, str) else tuple(fixed)
        for name in names:
            self.mechanism.joints.index_of(name)
        m = self.mechanism
        return over_batch(lambda q: assembly.assembled(self, q, names), {"q": Input(q, (m.nq,))}, (m.nq,))

    def actuation(
        self,
        q: Any,
        v: Any,
        a: Any,
        actuated: Iterable[str],
        weights: Mapping[str, float] | None = None,
        wrenches: Any = None,
    ) -> closed_chains.Actuation:
        """Forces (nv,) [N m, N] of the actuated joints alone that make a motion, and the loops' multipliers (nc,).

        Where more joints are driven than needed, the sum of weight force^2 is least. One state.
        """
        q, v, a = one_state(self._state(q, v, a=a))
        return closed_chains.actuation(self, q, v, a, list(actuated), dict(weights or {}), wrenches)

    def observed(self, q: Any, v: Any, a: Any, sensed: Iterable[str]) -> closed_chains.Observed:
        """The whole motion q (nq,), v (nv,), a (nv,) [rad, m, s] from that of the sensed joints, which is in q, v, a.

        Raises a LinkworkError that names the joints which can still move, if these sensors do not suffice.
        """
        q, v, a = one_state(self._state(q, v, a=a))
        return closed_chains.observed(self, q, v, a, sensed)

    def consistent(self, q: Any, v: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """The velocities (..., nv) [rad/s, m/s] nearest to v that keep all loops closed: by impulses along their rows.

        Nearest is meant in the metric of kinetic energy; q must close the loops.
        """
        return self._evaluate(
            "consistent", consistent_velocity, self._state(q, v), (self.mechanism.nv,), parameters, out
        )

    # --- derivatives ---

    def forward_dynamics_derivatives(
        self, q: Any, v: Any, tau: Any, *, parameters: Parameters = None
    ) -> tuple[Array, Array, Array]:
        """da_dq, da_dv, da_dtau, each (..., nv, nv), of the acceleration [rad/s^2, m/s^2] under tau.

        dq is in the tangent space: the change of coordinates is `mechanism.integrate(q, dq)` with dq (nv,).
        """
        return self._derivatives(
            "forward_dynamics_derivatives", forward_dynamics_derivatives, q, v, parameters, tau=tau
        )

    def inverse_dynamics_derivatives(
        self, q: Any, v: Any, a: Any, *, parameters: Parameters = None
    ) -> tuple[Array, Array, Array]:
        """dtau_dq, dtau_dv, dtau_da, each (..., nv, nv), of the joint forces [N m, N]; dq is in the tangent space."""
        return self._derivatives("inverse_dynamics_derivatives", inverse_dynamics_derivatives, q, v, parameters, a=a)

    def _derivatives(
        self, quantity: str, algorithm: Callable[..., Array], q: Any, v: Any, parameters: Parameters, **third: Any
    ) -> tuple[Array, Array, Array]:
        shape = (3, self.mechanism.nv, self.mechanism.nv)
        three = self._evaluate(quantity, algorithm, self._state(q, v, **third), shape, parameters, None)
        return three[..., 0, :, :], three[..., 1, :, :], three[..., 2, :, :]

    # --- the whole ---

    def momentum(self, q: Any, v: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Momentum (..., 6) about the centre of mass, world axes: linear [kg m/s], angular [kg m^2/s]."""
        return self._evaluate("momentum", momentum.momentum, self._state(q, v), (6,), parameters, out)

    def momentum_rate(self, q: Any, v: Any, a: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Rate of `momentum` (..., 6) [N, N m] for the acceleration a."""
        return self._evaluate("momentum_rate", momentum.momentum_rate, self._state(q, v, a=a), (6,), parameters, out)

    def momentum_matrix(self, q: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Matrix (..., 6, nv) that takes v to `momentum` [kg, kg m, kg m^2]."""
        shape = (6, self.mechanism.nv)
        return self._evaluate("momentum_matrix", momentum.momentum_matrix, self._state(q), shape, parameters, out)

    def momentum_maps(
        self, q: Any, v: Any, *, symmetries: Sequence[Symmetry] | None = None, parameters: Parameters = None
    ) -> Array:
        """Momenta (..., k) [kg m^2/s or kg m/s] of symmetries, those of `mechanism.symmetries()` if none are given."""
        kept = self.mechanism.symmetries() if symmetries is None else symmetries
        twists = np.array([symmetry.twist for symmetry in kept]).reshape(-1, 6)

        def algorithm(m: Mechanism, q: Array, v: Array) -> Array:
            return momentum_maps(m, q, v, twists)

        shape, state = (len(twists),), self._state(q, v)
        return self._evaluate("momentum_maps", algorithm, state, shape, parameters, None, repr(twists.tolist()))

    def center_of_mass(self, q: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Centre of mass (..., 3) in the world [m]."""
        return self._evaluate("center_of_mass", momentum.center_of_mass, self._state(q), (3,), parameters, out)

    def energy(self, q: Any, v: Any, *, parameters: Parameters = None) -> tuple[Array, Array]:
        """(kinetic, potential), each (...) [J]; potential is that of gravity, zero at the world's origin."""
        both = self._evaluate("energy", momentum.energy, self._state(q, v), (2,), parameters, None)
        return both[..., 0], both[..., 1]

    def spring_energy(self, q: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Energy (...) [J] stored in springs, of joints and between bodies, which `energy` does not contain."""
        return self._evaluate("spring_energy", spring_energy, self._state(q), (), parameters, out)

    # --- how a call runs ---

    def _state(self, q: Any, v: Any = None, wrenches: Any = None, **accelerations_or_forces: Any) -> dict[str, Input]:
        """The inputs of a call in the order the algorithms take them: q, v, a or tau, wrenches."""
        m = self.mechanism
        inputs = {"q": Input(q, (m.nq,))}
        if v is not None:
            inputs["v"] = Input(v, (m.nv,))
        inputs |= {name: Input(value, (m.nv,)) for name, value in accelerations_or_forces.items()}
        if wrenches is not None:
            inputs["wrenches"] = Input(wrenches, (m.nbodies, 6))
        return inputs

    def _evaluate(
        self,
        quantity: str,
        algorithm: Callable[..., Array],
        inputs: dict[str, Input],
        result: Shape,
        parameters: Parameters,
        out: Out,
        *fixed: str,
    ) -> Array:
        """Run `algorithm`, whose meaning `quantity` and `fixed` name, on every member of a batch."""
        given = dict(parameters or {})
        for name in given:
            if name not in self.varying:
                hint = " Name it in compile(..., parameters=[...])." if name in self.mechanism.parameters else ""
                raise unknown_name("varying parameter", name, self.varying, hint)
        m, states = self.mechanism, len(inputs)
        run = coupled(quantity, algorithm, list(inputs))

        def one(*arrays: Array) -> Array:
            varied = m.varied(dict(zip(given, arrays[states:], strict=True))) if given else m
            return run(varied, *arrays[:states])

        inputs = inputs | {name: Input(value, m.parameters[name].shape) for name, value in given.items()}
        arrays, batch = checked(inputs, finite=False)  # what is not finite shows in the result
        for name, array in zip(given, arrays[states:], strict=True):
            self.mechanism.check_parameter(name, array)
        if out is not None:
            require_out(out, batch + result)
            arrays = [array.copy() if np.may_share_memory(out, array) else array for array in arrays]
        if self.target == "numpy" or any(array.dtype == object for array in arrays):
            found = over_batch(
                watched(quantity, one) if self.check else unwatched(one, result), inputs, result, finite=self.check
            )
            if out is None:
                return found
            np.copyto(out, found)
            return out
        kernel = self._kernel((quantity, *fixed, *inputs), one, [core for _, core in inputs.values()], result)
        (found,), finite = kernel.over_batch(arrays, batch, self.threads, None if out is None else [out])
        if self.check and not finite:
            checked(inputs)
            explain_non_finite(quantity, one, members(arrays, inputs, batch), found.reshape(-1, *result))
        if batch == () and quantity not in vars(self).keys() | SEVERAL and not fixed and inputs.keys() <= PLAIN:
            self._quicken(quantity, kernel)
        return found

    def _kernel(self, name: tuple[str, ...], one: Callable[..., Array], cores: list[Shape], result: Shape) -> Kernel:
        """The kernel called `name`, made when it is first asked for."""
        with BUILDING:
            if name not in self._kernels:
                from linkwork.evaluation import dynamics_kernels  # here, so that importing linkwork loads no compiler

                self._kernels[name] = dynamics_kernels.kernel_of(self.mechanism, name, one, cores, result)
        return self._kernels[name]

    def _quicken(self, quantity: str, kernel: Kernel) -> None:
        """Put the kernel in front of the method of that name: from now on one state takes a microsecond."""
        from linkwork.evaluation import dynamics_kernels

        setattr(self, quantity, dynamics_kernels.as_method(kernel, getattr(type(self), quantity), self))

    def _require_frame(self, frame: str, expressed: str = "body") -> None:
        self.mechanism.frames.index_of(frame)
        if expressed not in jacobians.EXPRESSED:
            raise unknown_name("way to express a Jacobian", expressed, jacobians.EXPRESSED)
