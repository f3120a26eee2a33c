"""Methods of `Dynamics` for joint friction, and the diagnosis of joints that jam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.algorithms.joint_friction import friction_dynamics
from linkwork.algorithms.joint_friction.friction_sites import has_friction
from linkwork.algorithms.mimic_reduction import CONSTRAINED, WITH_MIMIC_JOINTS
from linkwork.errors import LinkworkError, NotConverged, listed
from linkwork.evaluation import friction_derivatives
from linkwork.evaluation.batch_evaluation import SEVERAL, SOLVING, BatchEvaluation, Out, Parameters
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array

Algorithm = Callable[..., Array]


def diagnosed(algorithm: Algorithm) -> Algorithm:
    """Return a function like `algorithm` that raises a NotConverged error if friction makes its result non-finite.

    The error names the joints whose friction forces are not unique, because their equations have no unique solution.
    Traced results are not checked.
    """

    def run(mechanism: Mechanism, *state: Array) -> Array:
        found = algorithm(mechanism, *state)
        if found.dtype != object and not np.isfinite(found).all():
            require_unique_friction(mechanism, *state)
        return found

    return run


def require_unique_friction(
    mechanism: Mechanism, q: Array, v: Array, tau: Array, wrenches: Array | None = None
) -> None:
    """Raise a NotConverged error if the friction in one state has no unique solution; the error names the joints.

    The state is q (nq,), v (nv,), under joint forces tau (nv,) and external wrenches (nbodies, 6) on the bodies.
    """
    with np.errstate(all="ignore"):
        jammed, undecided = friction_dynamics.unsolved_joints(mechanism, q, v, tau, wrenches)
    names = jammed or undecided
    if not names:
        return
    many = len(names) > 1
    reason = (
        f"grows as fast as the force that moves {'them' if many else 'it'} (jamming or self-locking)"
        if jammed
        else "is consistent with the load that it causes neither in any direction of slip nor at rest (jamming, or "
        "static friction above dynamic friction)"
    )
    raise NotConverged(
        f"the motion with friction has no unique solution: the friction of joint{'s' if many else ''} "
        f"{listed(map(repr, names))} {reason}; reduce the friction coefficients or the levers of the load"
    )


FORWARD, INVERSE, REACTIONS, FORCES = (
    "forward_dynamics with friction",
    "inverse_dynamics with friction",
    "reactions with friction",
    "friction",
)
FORWARD_DERIVATIVES, INVERSE_DERIVATIVES = (
    "forward_dynamics_derivatives with friction",
    "inverse_dynamics_derivatives with friction",
)
ALGORITHMS: dict[str, Algorithm] = {
    FORWARD_DERIVATIVES: friction_derivatives.forward_dynamics_derivatives,
    INVERSE_DERIVATIVES: friction_derivatives.inverse_dynamics_derivatives,
    FORWARD: friction_dynamics.forward_dynamics,
    INVERSE: friction_dynamics.inverse_dynamics,
    REACTIONS: friction_dynamics.reactions,
    FORCES: friction_dynamics.friction,
}
UNCHECKED = ", unchecked"  # added to the name of a quantity whose failures are not diagnosed
WITH_FRICTION = "with friction"  # distinguishes kernels with friction
for _name, _one in ALGORITHMS.items():  # mimic joints and loops are treated inside these algorithms
    _checked = _one if _name in (INVERSE, INVERSE_DERIVATIVES) else diagnosed(_one)
    for _quantity, _run in ((_name, _checked), (_name + UNCHECKED, _one)):
        CONSTRAINED[_quantity] = WITH_MIMIC_JOINTS[_quantity] = _run
        SOLVING.add(_quantity)
SEVERAL.update(name + check for name in (FORWARD_DERIVATIVES, INVERSE_DERIVATIVES) for check in ("", UNCHECKED))


def with_friction(quantity: str, check: bool) -> tuple[str, Algorithm]:
    """Return the name of the kernel and the algorithm of a quantity with friction, such as forward dynamics.

    If `check` is true, the algorithms for which friction may not be unique raise the error of `diagnosed`.
    """
    name = quantity if check else quantity + UNCHECKED
    return name, CONSTRAINED[name]


def checked_choice(friction: object) -> bool:
    """Return the argument `friction` of a method; raise a LinkworkError unless it is True or False."""
    if not isinstance(friction, bool | np.bool_):
        raise LinkworkError(f"friction must be True or False; got {friction!r:.80}")
    return bool(friction)


class FrictionMethods(BatchEvaluation):
    """Methods of `Dynamics` for the dry friction of joints."""

    def _includes(self, friction: object) -> bool:
        """Return whether a method includes friction: `friction` is True, and the mechanism has dry friction.

        A varying parameter of friction counts as dry friction, whatever its value. `friction` is the argument of the
        method; the function raises a LinkworkError unless it is True or False.
        """
        return checked_choice(friction) and (
            has_friction(self.mechanism) or any(name.endswith(".friction") for name in self.varying)
        )

    def friction(
        self, q: Any, v: Any, tau: Any, wrenches: Any = None, *, parameters: Parameters = None, out: Out = None
    ) -> Array:
        """Return the forces of the dry friction of all joints and loops.

        The friction depends on the loads of the joints, and so on the joint forces and wrenches. A joint at rest, with
        a speed below 1e-9 rad/s or m/s, has the friction that holds it, if this is within its static limit. Viscous
        friction is damping, a part of `passive`.

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
        array, shape (..., nv), [N m, N]
            Joint forces of the friction.

        Raises
        ------
        NotConverged
            If the motion with friction has no unique solution, because a joint jams. The message names the joints.

        Examples
        --------
        >>> b = lw.Builder().body("disc", 2.0, inertia=(0.1, 0.1, 0.1))
        >>> b = b.joint("axle", lw.Revolute((1, 0, 0)), "world", "disc", friction=lw.Bearing(mu=0.1, radius=0.02))
        >>> d = lw.compile(b.build())
        >>> d.friction([0.0], [[3.0], [-3.0], [0.0]], [0.01]).round(5).ravel()  # 0.1 times 0.02 m times 19.62 N
        array([-0.03924,  0.03924, -0.01   ])

        """
        inputs = self._state(q, v, wrenches, tau=tau)
        name, run = with_friction(FORCES, self.check)
        return self._evaluate(name, run, inputs, (self.mechanism.nv,), parameters, out, WITH_FRICTION)
