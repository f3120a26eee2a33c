"""What controllers ask of a mechanism at one state, and which of its joints they may drive.

Idle joints, such as the free joint of a spacecraft, take no force: they move as the driven ones make them. With their
rows eliminated the driven joints obey equations of the same form as if there were no others (for a free base these are
those of the generalized Jacobian: Umetani and Yoshida 1989, S3 section 3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, NamedTuple, cast

import numpy as np

from linkwork.algorithms import inverse, jacobians, kinematics
from linkwork.algorithms.joint_forces import passive as passive_of_a_tree
from linkwork.algorithms.mass import mass_matrix
from linkwork.algorithms.reduction import coupled
from linkwork.errors import LinkworkError, ModelError, ShapeError, unknown_name
from linkwork.model.broadcast import as_numbers, refuse_non_finite
from linkwork.model.joints import Free
from linkwork.model.mechanism import Mechanism
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, ldlt, maximum, minimum

Controller = Callable[..., Any]

mass = coupled("mass_matrix", mass_matrix, ["q"])
gravity = coupled("gravity", inverse.gravity, ["q"])
passive = coupled("passive", passive_of_a_tree, ["q", "v"])
_bias = coupled("bias", inverse.bias, ["q", "v"])
_inverse = coupled("inverse_dynamics", lambda m, *state: inverse.inverse_dynamics(m, *state).tau, ["q", "v", "a"])


class Plant:
    """A mechanism as a controller sees it: `driven` and `idle` are the numbers of its velocities.

    `actuated` names the joints that take a force; None means all but free joints.
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
            raise LinkworkError(f"{mechanism.name} has no joint to actuate: name some in actuated=[...]")

    def spread(self, driven: Array, idle: Any = None) -> Array:
        """Numbers of the driven velocities, and of the idle ones (zero if not given), in their places (nv,)."""
        row: list[Any] = [0.0] * self.mechanism.nv
        others = [0.0] * len(self.idle) if idle is None else idle
        for d, x in zip([*self.driven, *self.idle], [*driven, *others], strict=True):
            row[d] = x
        return np.array(row)

    def forces_for(self, q: Array, v: Array, a: Array) -> Array:
        """Joint forces (nv,) [N m, N] that give the driven joints the accelerations a, numbered as they are driven.

        Forces of the joints' own springs and dampers are compensated.
        """
        idle = self.carrying(q, v).accelerations(a) if self.idle else None
        tau = _inverse(self.mechanism, q, v, self.spread(a, idle)) - passive(self.mechanism, q, v)
        return self.spread(tau[self.driven])

    def carrying(self, q: Array, v: Array) -> Carrying:
        """How the driven joints move the idle ones, and what of the dynamics is left for them."""
        m, d, i = self.mechanism, self.driven, self.idle
        M, h = mass(m, q), _bias(m, q, v) - passive(m, q, v)
        if not i:
            return Carrying(M, h, np.zeros((0, len(d))), np.zeros(0))
        own = ldlt(M[np.ix_(i, i)])
        carry, drift = -own.solve(M[np.ix_(i, d)]), -own.solve(h[i])
        across = M[np.ix_(d, i)]
        return Carrying(M[np.ix_(d, d)] + across @ carry, h[d] + across @ drift, carry, drift)


class Carrying(NamedTuple):
    """The driven joints' equations M a + h = tau, when the idle ones take carry a + drift.

    For k driven and f idle velocities: M (k, k), h (k,), carry (f, k), drift (f,).
    """

    M: Array
    h: Array
    carry: Array
    drift: Array

    def accelerations(self, a: Array) -> Array:
        """Accelerations (f,) of the idle joints."""
        return self.carry @ a + self.drift


class FrameMotion(NamedTuple):
    """A frame of a mechanism: its pose, and with k driven joints its rows J (r, k) and what moves without them.

    Rates are in the world's axes at the frame's origin, linear before angular: `rate` (r,) is the twist, of which
    `coasting` (r,) is left if the driven joints stop; the acceleration is J a + `drift` (r,). r is 6, or 3 without
    turning.
    """

    pose: Transform
    J: Array
    rate: Array
    coasting: Array
    drift: Array


def frame_motion(plant: Plant, frame: str, rows: int, q: Array, v: Array, carrying: Carrying) -> FrameMotion:
    """How a frame moves and what the driven joints do to it; `rows` is 3 for its origin alone, 6 for its pose."""
    m = plant.mechanism
    answers: dict[str, Callable[..., Any]] = {
        "pose": lambda m, q, v: kinematics.frame_pose(m, q, frame),
        "jacobian": lambda m, q, v: jacobians.jacobian(m, q, frame, "mixed")[:rows],
        "jacobian_rate": lambda m, q, v: jacobians.jacobian_rate(m, q, v, frame, "mixed")[:rows],
    }
    pose, J, dJ = (cast(Any, coupled(name, answer, ["q", "v"])(m, q, v)) for name, answer in answers.items())
    own, carried = J[:, plant.driven], J[:, plant.idle]
    coasting = carried @ (v[plant.idle] - carrying.carry @ v[plant.driven])
    drift = dJ @ v + carried @ carrying.drift
    return FrameMotion(pose, own + carried @ carrying.carry, J @ v, coasting, drift)


# --- arguments ---


def refuse_no_mechanism(given: Any) -> None:
    """Raise a ModelError unless this is what controllers are made for."""
    if not isinstance(given, Mechanism):
        raise ModelError(f"a controller is made for a Mechanism; got {given!r:.80}")


def gains(name: str, given: Any, size: int) -> Array:
    """A gain or limit, one number or (size,), as (size,); plain ones must be finite and not negative."""
    array = as_numbers(name, given)
    refuse_non_finite(name, array)
    if array.shape not in ((), (size,)):
        raise ShapeError(f"{name} has shape {array.shape}, expected one number or ({size},)")
    if array.dtype != object and (array < 0.0).any():
        raise LinkworkError(f"{name} must be at least 0; got {array.min():g}")
    return np.broadcast_to(array, (size,))


def limiter(limit: Any, size: int) -> Callable[[Array], Array]:
    """The function that keeps numbers (size,) within their limits on both sides; itself, if there are none."""
    if limit is None:
        return lambda tau: tau
    most = gains("limit", limit, size)
    return lambda tau: np.array([minimum(maximum(x, -high), high) for x, high in zip(tau, most, strict=True)])


def controller(law: Controller) -> Controller:
    """A law on plain arrays as a controller: it gives back arrays of the class that it is given, as tracing needs."""

    @wraps(law)
    def run(t: Any, q: Any, v: Any, *memory: Any) -> Any:
        found = law(t, *(np.asarray(x) for x in (q, v, *memory)))
        return tuple(_like(q, x) for x in found) if isinstance(found, tuple) else _like(q, found)

    return run


def _like(q: Any, array: Array) -> Array:
    return array.view(type(q)) if isinstance(q, np.ndarray) and array.dtype == object else array
