"""The plant of a controller: a mechanism, its actuated joints, and the dynamics of these joints at one state.

Actuated joints are called driven here. Joints without a motor, such as the free joint of a spacecraft, are called idle;
the forces of the driven joints accelerate them too. If the idle joints are eliminated from the equations of motion, the
equations of the driven joints have the same form as before. For a free base these are the equations with the
generalized Jacobian (Umetani and Yoshida 1989; SpaceDyn, section 3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, NamedTuple, cast

import numpy as np

from linkwork.algorithms import inverse_dynamics, jacobians, kinematics
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.algorithms.mimic_reduction import for_mimic_joints
from linkwork.algorithms.passive_joint_forces import passive as passive_of_a_tree
from linkwork.errors import LinkworkError, ModelError, ShapeError, unknown_name
from linkwork.model.batch_broadcasting import as_numbers, refuse_non_finite
from linkwork.model.joints import Free
from linkwork.model.mechanism import Mechanism
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, ldlt, maximum, minimum

Controller = Callable[..., Any]

mass = for_mimic_joints("mass_matrix", mass_matrix, ["q"])
gravity = for_mimic_joints("gravity", inverse_dynamics.gravity, ["q"])
passive = for_mimic_joints("passive", passive_of_a_tree, ["q", "v"])
_bias = for_mimic_joints("bias", inverse_dynamics.bias, ["q", "v"])
_inverse = for_mimic_joints(
    "inverse_dynamics", lambda m, *state: inverse_dynamics.inverse_dynamics(m, *state).tau, ["q", "v", "a"]
)


class Plant:
    """A mechanism with actuated joints, the joints with a motor.

    `driven` are the indices in v of the velocities of actuated joints, and `idle` those of all other velocities.
    `actuated` has the names of the actuated joints; None means all joints except free joints.
    """

    def __init__(self, mechanism: Mechanism, actuated: Iterable[str] | None = None):
        refuse_no_mechanism(mechanism)
        self.mechanism = mechanism
        names = [j.name for j in mechanism.leaders]
        chosen = {j.name for j in mechanism.leaders if not isinstance(j.kind, Free)}
        if actuated is not None:
            chosen = {actuated} if isinstance(actuated, str) else set(actuated)
            for name in sorted(chosen - set(names), key=str):
                raise unknown_name("joint that can be actuated", name, names)
        self.joints = [j for j in mechanism.leaders if j.name in chosen]
        self.driven = [d for j in self.joints for d in range(j.v.start, j.v.stop)]
        self.idle = sorted(set(range(mechanism.nv)) - set(self.driven))
        if not self.driven:
            raise LinkworkError(f"{mechanism.name} has no actuated joints; name at least one in actuated=[...]")

    def expanded(self, driven: Array, idle: Any = None) -> Array:
        """Return an array (nv,) with the numbers `driven` (k,) at actuated velocities and `idle` (f,) at all others.

        The default of `idle` is zeros.
        """
        row: list[Any] = [0.0] * self.mechanism.nv
        others = [0.0] * len(self.idle) if idle is None else idle
        for d, x in zip([*self.driven, *self.idle], [*driven, *others], strict=True):
            row[d] = x
        return np.array(row)

    def forces_for(self, q: Array, v: Array, a: Array) -> Array:
        """Return the joint forces (nv,) [N m, N] that give the k actuated velocities the accelerations a (k,).

        The forces compensate springs, dampers and friction; they are zero at joints without a motor.
        """
        idle = self.reduced(q, v).accelerations(a) if self.idle else None
        tau = _inverse(self.mechanism, q, v, self.expanded(a, idle)) - passive(self.mechanism, q, v)
        return self.expanded(tau[self.driven])

    def reduced(self, q: Array, v: Array) -> ReducedDynamics:
        """Return the equations of motion of the actuated joints at q (nq,), v (nv,), without all other joints."""
        m, d, i = self.mechanism, self.driven, self.idle
        M, h = mass(m, q), _bias(m, q, v) - passive(m, q, v)
        if not i:
            return ReducedDynamics(M, h, np.zeros((0, len(d))), np.zeros(0))
        own = ldlt(M[np.ix_(i, i)])
        response, drift = -own.solve(M[np.ix_(i, d)]), -own.solve(h[i])
        across = M[np.ix_(d, i)]
        return ReducedDynamics(M[np.ix_(d, d)] + across @ response, h[d] + across @ drift, response, drift)


class ReducedDynamics(NamedTuple):
    """Equations of motion M a + h = tau of the k driven velocities, after elimination of the f idle velocities.

    Driven velocities are those of joints with a motor, idle velocities all others. The idle accelerations are
    response a + drift. The shapes are M (k, k), h (k,), response (f, k) and drift (f,).
    """

    M: Array
    h: Array
    response: Array
    drift: Array

    def accelerations(self, a: Array) -> Array:
        """Return the accelerations (f,) of the idle velocities for the accelerations a (k,) of the driven ones."""
        return self.response @ a + self.drift


class FrameMotion(NamedTuple):
    """Motion of a frame: its pose in the world, and its Jacobian J (r, k) for the k velocities of joints with a motor.

    The number r of rows is 6, or 3 for the linear motion alone. Velocities are in the world's axes about the frame's
    origin, linear before angular. `rate` (r,) is the twist [m/s, rad/s] of the frame; `coasting` (r,) is the twist that
    would remain if the joints with a motor stopped. For accelerations a (k,) of these joints, the acceleration of the
    frame is J a + `drift` (r,).
    """

    pose: Transform
    J: Array
    rate: Array
    coasting: Array
    drift: Array


def frame_motion(plant: Plant, frame: str, rows: int, q: Array, v: Array, reduced: ReducedDynamics) -> FrameMotion:
    """Return the pose, Jacobian, twist and acceleration bias of a frame at q (nq,), v (nv,), for the driven joints.

    `frame` is the name of the frame; `rows` is 3 for its position, 6 for its pose. `reduced` are the equations of
    motion of the driven joints. The Jacobian includes the motion of the idle joints that the driven joints cause.
    """
    m = plant.mechanism
    answers: dict[str, Callable[..., Any]] = {
        "pose": lambda m, q, v: kinematics.frame_pose(m, q, frame),
        "jacobian": lambda m, q, v: jacobians.jacobian(m, q, frame, "mixed")[:rows],
        "jacobian_rate": lambda m, q, v: jacobians.jacobian_rate(m, q, v, frame, "mixed")[:rows],
    }
    pose, J, dJ = (cast(Any, for_mimic_joints(name, answer, ["q", "v"])(m, q, v)) for name, answer in answers.items())
    own, idle = J[:, plant.driven], J[:, plant.idle]
    coasting = idle @ (v[plant.idle] - reduced.response @ v[plant.driven])
    drift = dJ @ v + idle @ reduced.drift
    return FrameMotion(pose, own + idle @ reduced.response, J @ v, coasting, drift)


# --- arguments ---


def refuse_no_mechanism(given: Any) -> None:
    """Raise a ModelError unless the argument `given` is a Mechanism."""
    if not isinstance(given, Mechanism):
        raise ModelError(f"a controller needs a Mechanism as its first argument; got {given!r:.80}")


def gains(name: str, given: Any, size: int) -> Array:
    """Return a controller's gain or limit `given` as an array (size,); raise a LinkworkError if a value is not valid.

    Valid values are finite and not negative. `name` is the name of the gain in the message.
    """
    array = as_numbers(name, given)
    refuse_non_finite(name, array)
    if array.shape not in ((), (size,)):
        raise ShapeError(f"{name} has shape {array.shape}, expected one number or ({size},)")
    if array.dtype != object and (array < 0.0).any():
        raise LinkworkError(f"{name} must be at least 0; got {array.min():g}")
    return np.broadcast_to(array, (size,))


def limiter(limit: Any, size: int) -> Callable[[Array], Array]:
    """Return a function that clips an array (size,) to the interval from -limit to +limit.

    The function is the identity if `limit` is None.
    """
    if limit is None:
        return lambda tau: tau
    most = gains("limit", limit, size)
    return lambda tau: np.array([minimum(maximum(x, -high), high) for x, high in zip(tau, most, strict=True)])


def controller(function: Controller) -> Controller:
    """Return a controller that calls `function` with plain arrays, and returns results of the array class of q.

    Tracing requires results of this class.
    """

    @wraps(function)
    def run(t: Any, q: Any, v: Any, *memory: Any) -> Any:
        found = function(t, *(np.asarray(x) for x in (q, v, *memory)))
        return tuple(_in_class_of(q, x) for x in found) if isinstance(found, tuple) else _in_class_of(q, found)

    return run


def _in_class_of(q: Any, array: Array) -> Array:
    """Return an array with the class of q, such as the class of traced arrays."""
    return array.view(type(q)) if isinstance(q, np.ndarray) and array.dtype == object else array
