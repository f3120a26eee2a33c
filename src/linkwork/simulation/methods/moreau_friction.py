"""Friction laws of joints together with rigid contacts: friction bounds from the mean load of the joints in a step.

The load of a joint is the mean wrench that it transmits in a step. It follows from the change of the velocities by all
impulses, and from the contact impulses. The step computes loads and impulses alternately, in several passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from linkwork.algorithms.compliant_contact import wrenches_from_forces
from linkwork.algorithms.contact_kinematics import contact_kinematics
from linkwork.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.algorithms.joint_friction.friction_limits import active_limits
from linkwork.algorithms.joint_friction.friction_sites import sites, slip_velocities
from linkwork.algorithms.joint_friction.joint_friction_tolerances import BOUNDS_AGREE
from linkwork.algorithms.mimic_reduction import to_tree
from linkwork.algorithms.rigid_contact import forces_of, has_torques
from linkwork.algorithms.tangent_space import free_acceleration
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.joint_friction_rows import friction_part
from linkwork.simulation.methods.moreau_mid_step import Middle
from linkwork.simulation.slip_groups import velocity_of
from linkwork.simulation.state import Leaves, StepState
from linkwork.spatial.scalar import Array, Condition, Number, largest, where
from linkwork.spatial.traceable_loops import iterate
from linkwork.tolerances import BOUND_SLACK

PASSES = 60  # largest number of passes in a step; each reduces the error of the bounds by a factor of 10 to 100
# number of passes with full changes of the bounds; fraction of the change that later passes apply
PLAIN, CAREFUL = 8, 0.3


class Contact(Protocol):
    """A contact at mid-step, with its impulse and its angular impulse (3,) in contact axes, which are the columns of
    `axes`.
    """

    @property
    def axes(self) -> Array:
        """The contact axes in the world, as columns (3, 3), normal first."""
        ...

    def force(self, p: Sequence[Array]) -> Array:
        """Return the contact's impulse (3,) [N s] in contact axes, from the impulses p of all blocks."""
        ...

    def torque(self, p: Sequence[Array]) -> Array:
        """Return the contact's angular impulse (3,) [N m s] in contact axes, from the impulses p of all blocks."""
        ...


@dataclass(frozen=True, eq=False)
class StepBounds:
    """Computes the limits of joint friction in one step from the state `now`.

    `middle` is the system at mid-step, and `there` are the contacts at mid-step.
    """

    mechanism: Mechanism
    middle: Middle
    now: StepState
    there: Sequence[Contact]

    def after(self, k: Number, v: Array, p: Sequence[Array], limits: Array) -> tuple[Array, Array]:
        """Return the friction limits (nf,) [N m or N] after pass k, and their full computed change (nf,), from the
        velocities v (nv,) and the impulses p of all blocks.

        `limits` (nf,) are the limits in the pass. From pass PLAIN on, the limits change by only a part of the computed
        change, because the iteration overshoots if friction forces are strongly coupled.
        """
        m, h, memory = self.mechanism, self.middle.h, self.now.contact_memory
        slip_directions, known = friction_part(m, self.now.slip), np.zeros((0, 3))
        if self.there:
            turns = has_torques(memory[0])
            forces = [
                np.concatenate([one.axes @ one.force(p) / h, *([one.axes @ one.torque(p) / h] if turns else [])])
                for one in self.there
            ]
            known = where(k == 0, forces_of(memory), np.array(forces))
        new = limits_of_step(m, self.middle, v, known, p[0][len(m.bounded) :] / h, slip_directions) - limits
        step = where(k < PLAIN, 1.0, CAREFUL)
        return limits + new * step, new

    def repeated(self, once: Callable[..., Leaves], *begin: Any) -> Leaves:
        """Return the state after repeated passes `once(k, *state)` from the state `begin`, until the limits converge.

        The last parts of the state are the limits (nf,) and their change (nf,).
        """

        def one(k: Number, *state: Any) -> tuple[Leaves, Condition]:
            after = once(k, *state)
            return (k + 1.0, *after), (k >= 1.0) & self.agree(after[-1], after[-2])

        (_, *found), _, _ = iterate(PASSES, one, 0.0, *begin)
        return tuple(found)

    def agree(self, change: Array, limits: Array) -> Condition:
        """Return whether the friction limits (nf,) have converged: whether their last `change` (nf,) is small
        enough.
        """
        return largest(change) <= BOUNDS_AGREE * largest(limits) + BOUND_SLACK


def limits_of_step(
    mechanism: Mechanism, middle: Middle, v: Array, contact_forces: Array, friction: Array, slip: Array
) -> Array:
    """Return the largest friction force (nf,) [N m or N] of each velocity in `Mechanism.friction_velocities`.

    These limits belong to the mean loads in the step. v (nv,) are the velocities after the impulses of the step,
    `contact_forces` (n, 3) the mean forces [N] of n contacts in world axes, in an array (n, 6) followed by their mean
    torques [N m], and `friction` (nf,) the mean friction forces. `slip` (nf,) are the slip directions in the last step;
    static limits apply where they are zero.
    """
    m, tree = mechanism, mechanism.tree
    mean = (middle.v + v) * 0.5
    a = (v - middle.v) / middle.h + free_acceleration(m, mean)
    position, speed, acceleration = to_tree(m, ("q", "v", "a"), (middle.q, mean, a))
    outside = middle.loads(v).outside
    pushed = wrenches_from_forces(m.contact_pairs, contact_forces, *contact_kinematics(tree, position, speed))
    outside = pushed if outside is None else outside + pushed
    force = inverse_dynamics(tree, position, speed, acceleration, outside).force
    directions, forces = (dict(zip(m.friction_velocities, x, strict=True)) for x in (slip, friction))
    own = [velocity_of(m, site.joint, d) for site in sites(m) for d in range(site.size)]
    at_rest = np.array([where(directions[k] == 0.0, 1.0, 0.0) for _, k, _ in own])
    f = np.array([forces[k] / factor for _, k, factor in own])
    places = [site.joint for site in sites(m)]
    found: dict[int, Number] = dict.fromkeys(m.friction_velocities, 0.0)
    for one in active_limits(m, middle.q, slip_velocities(m, middle.q, mean), at_rest):
        joint = places[one.site]
        assert joint
        _, k, factor = own[one.numbers[0]]
        found[k] = found[k] + one.value(force[joint.o].array, f) * abs(factor)
    return np.array([found[k] for k in m.friction_velocities])
