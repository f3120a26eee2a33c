"""Contacts between solids, as a contact family: checks, rates, memory, wrenches and recorded vectors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork import evaluation
from linkwork.algorithms.compliant_contact import APART
from linkwork.algorithms.contact_tolerances import INSIDE_AT_START
from linkwork.algorithms.kinematics import joint_poses, subspaces, world_poses
from linkwork.algorithms.mimic_reduction import to_tree
from linkwork.algorithms.solid_contact.body_responses import about, body_jacobian
from linkwork.algorithms.solid_contact.compliant_pairs import CompliantSolids, SolidMemory
from linkwork.algorithms.solid_contact.pair_tables import BodyRows, groups_of, half_extents
from linkwork.algorithms.solid_contact.solid_contact_forces import RigidSolids, SolidForces
from linkwork.errors import LinkworkError, listed
from linkwork.model.elements.collision import Collision
from linkwork.model.solids import POINTS, SolidPair
from linkwork.simulation.contact_family_interface import DEEP, FINE_CONTACTS, ContactFamily, Rates, largest_rate
from linkwork.simulation.solid_separation_bounds import depth_bounds, solid_tables, stacked, with_world
from linkwork.spatial import Transform
from linkwork.spatial.row_arrays import RowLayout
from linkwork.spatial.scalar import Array, Number, where

if TYPE_CHECKING:
    from linkwork.simulation.series_definition import Sample
    from linkwork.simulation.simulation_problem import Problem
    from linkwork.simulation.state import StepState

METHODS = ("rk4", "semi-implicit")  # methods for compliant contact between solids
FINE_DAMPERS = 0.5  # product of step and rate of the dampers of compliant contacts between solids
CHAIN = 2.0  # factor on the stiffness and damping of one pair, because a body in a stack lies between two others
PAIRS_CHECKED = 20_000  # largest number of solid pairs, summed over members, whose start is checked
FEW_MEMBERS = 8  # up to this number of members, poses are computed without compiled code


class SolidContacts(ContactFamily):
    """All pairs of solids of a mechanism that can touch."""

    automatic_method = METHODS[0]
    skips_ended_members = True

    @property
    def pairs(self) -> Sequence[SolidPair]:
        """All pairs of solids that can touch."""
        return self.mechanism.solid_pairs

    @property
    def elements(self) -> Sequence[Collision]:
        """All collision elements of the mechanism, each with the contact law of some pairs."""
        return list(self.mechanism.collisions)

    def refuse_own(self, problem: Problem, method: str, locate: bool) -> None:
        """Raise a LinkworkError if the contact is compliant and `method` cannot simulate it, or `locate` is true."""
        if problem.rigid:
            return
        if method not in (*METHODS, "auto"):
            raise LinkworkError(
                f"method {method!r} cannot simulate compliant contact of solids (collision "
                f"{self.elements[0].name!r}): use {listed(METHODS)}, or contact='rigid'"
            )
        if locate:
            raise LinkworkError(
                "locate=True works for point contacts only, not for contacts between solids: leave it out"
            )

    def start_warning(self, problem: Problem) -> str | None:
        """Return the text of a warning if two solids start deep inside each other, else None.

        Contact points are computed only for pairs of solids whose depth may be large, according to a cheap upper bound.
        """
        tables = solid_tables(self.mechanism)
        indices = list(islice(np.ndindex(problem.batch), max(1, PAIRS_CHECKED // len(tables.pairs))))
        with np.errstate(all="ignore"):
            poses = _poses(problem, indices)
            most = depth_bounds(tables, poses, INSIDE_AT_START)
        for s in np.flatnonzero(most.any(axis=1)):
            found = _deepest_solids(problem, indices[s], poses[s], most[s])
            if found is not None:
                return _depth_warning(problem, indices[s], *found)
        return None

    def rates(self, M: Array, position: Array, weight: float) -> list[Rates]:
        """Return the rates [1/s] of the springs and dampers of each pair, as a list with one entry per pair.

        A solid touches only a few others, so that the rates are those of one solid between two others.
        """
        return [self._rates_of_pair(pair, M, position, weight) for pair in self.pairs]

    def _rates_of_pair(self, pair: SolidPair, M: Array, position: Array, weight: float) -> Rates:
        """Return the rates [1/s] of the springs and dampers of one pair, as if all its contact points touched.

        Each solid is taken to lie between two others. The contact points are taken to be at the ends of the solids. The
        other arguments are those of `rates`.
        """
        m = self.mechanism
        poses, S = world_poses(m.tree, joint_poses(m.tree, position)), subspaces(m.tree, position)
        hard, drag = pair.collision.slopes(weight)
        K, D = np.zeros_like(M), np.zeros_like(M)
        for solid in (pair.first, pair.second):
            squares = np.square(half_extents(solid.shape))
            # from the world to the frame of the shape
            axes = np.kron(np.eye(2), (poses[solid.body].R @ solid.pose.R).T)
            J = axes @ about(body_jacobian(m, poses, S, solid.body), poses[solid.body].R @ solid.pose.p)
            # squares of distances from the axes of rotation
            arms = np.concatenate([np.ones(3), squares.sum() - squares])
            K = K + POINTS * CHAIN * max(hard, pair.collision.tangential_stiffness) * (J.T * arms) @ J
            D = D + POINTS * CHAIN * max(drag, pair.collision.tangential_damping) * (J.T * arms) @ J
        return Rates(np.sqrt(largest_rate(M, K)), largest_rate(M, D), pair.name)

    def step_rate(self, rates: Rates, method: str) -> float:
        """Return the rate [1/s] that limits the step: that of springs or, multiplied by a factor, that of dampers.

        The dampers limit the step because all methods treat them explicitly.
        """
        return max(rates.stiffness, rates.damping * FINE_CONTACTS / FINE_DAMPERS)

    def begun(self, t: Number, contact_memory: Array, solid_memory: Array) -> tuple[str, SolidMemory]:
        """Return "solids", the name of a field of `System`, and the contact memory of solids in a step that begins at t
        [s].
        """
        return "solids", SolidMemory(solid_memory, t)

    def rigid_wrenches(self, now: StepState) -> Array:
        """Return the wrenches (nbodies, 6) [N, N m] of rigid contacts between solids on the bodies, from the contact
        memory of `now`.
        """
        return RigidSolids(self.mechanism, now.solid_memory, now.q, now.v).wrenches()

    def forces(self, now: Sample) -> list[Array]:
        """Return the force (3,) [N] at each contact point of compliant contacts, in world axes."""
        return [force for force, *_ in now.once(_contact_points)]

    def slips(self, now: Sample) -> list[Array]:
        """Return the slip velocity (3,) [m/s] at each contact point, in world axes; zero if the solids are apart."""
        return [slip for _, slip, _, _ in now.once(_contact_points)]

    def points(self, now: Sample) -> list[Array]:
        """Return the position (3,) [m] of each contact point in the world; zero if the solids are apart."""
        return [point for _, _, point, _ in now.once(_contact_points)]

    def energies(self, now: Sample) -> list[Number]:
        """Return the energy [J] of the springs of each compliant contact point."""
        return [energy for *_, energy in now.once(_contact_points)]

    def wrenches(self, now: Sample) -> Array:
        """Return the sum (nbodies, 6) [N, N m] of the contact wrenches on each body, about its origin and in its
        axes.
        """
        return now.once(_solids).wrenches()


def _poses(problem: Problem, indices: Sequence[tuple[int, ...]]) -> Array:
    """Return the world poses (s, nbodies + 1, 4, 4) of the world and all bodies, at the start, for s batch members.
    `indices` are the batch indices of these members.
    """
    m = problem.mechanism
    if len(indices) <= FEW_MEMBERS:
        found = []
        for index in indices:
            now, values = problem.member(index)
            tree = problem.system(values).mechanism.tree
            found.append(stacked(world_poses(tree, joint_poses(tree, *to_tree(m, ("q",), (now.q,))))))
        return np.concatenate(found)
    # The first members in the order of `np.ndindex`, from arrays of all members: `member` takes 7 us for each of them
    of_all = {name: (value, problem.core(name)) for name, value in problem.parameters.items()}
    of_all["q"] = np.asarray(problem.start.q), (m.nq,)
    first = {
        name: np.broadcast_to(value, (*problem.batch, *core)).reshape(-1, *core)[: len(indices)]
        for name, (value, core) in of_all.items()
    }
    q = first.pop("q")
    dynamics = evaluation.compile(m, parameters=first, check=False)
    return with_world(dynamics.poses(q, parameters=first))


def _deepest_solids(
    problem: Problem, index: tuple[int, ...], poses: Array, most: Array
) -> tuple[SolidPair, float, float] | None:
    """Return the deepest pair of solids at the start, its depth [m] and its contact force [N]; None if no warning is
    needed.

    `index` is the batch index of the member. `poses` (nbodies + 1, 4, 4) are the poses of the world and all bodies, and
    `most` (n,) [m] upper bounds of the depths of the n pairs.
    """
    now, values = problem.member(index)
    m = problem.system(values).mechanism
    new = now.motion.solid_memory.reshape(len(most), POINTS, -1)[:, :, 0].max(axis=1) == APART
    weight, deepest = float(m.mass) * float(np.linalg.norm(m.gravity)), (INSIDE_AT_START, -1)
    for k in sorted(np.flatnonzero(new & (most > INSIDE_AT_START)).tolist(), key=lambda k: -most[k]):
        collision = m.solid_pairs[k].collision
        if most[k] <= deepest[0] or (not problem.rigid and collision.press(float(most[k])) <= DEEP * weight):
            continue
        depth = _depth(m.solid_pairs[k], poses)
        if depth > deepest[0] and (problem.rigid or collision.press(depth) > DEEP * weight):
            deepest = depth, k
    depth, k = deepest
    return None if k < 0 else (m.solid_pairs[k], depth, m.solid_pairs[k].collision.press(depth))


def _depth(pair: SolidPair, poses: Array) -> float:
    """Return the penetration depth [m] of a pair of solids at its deepest contact point.

    `poses` (nbodies + 1, 4, 4) are the world poses of all bodies.
    """
    of = BodyRows([pair])
    (group,) = groups_of([pair], of)
    one = group.read(0)
    bodies = [Transform(X[:3, :3], X[:3, 3]) for X in (poses[of.numbers[int(row)]] for row in (one.row_a, one.row_b))]
    found = group.patch(one.a, one.b, (bodies[1] @ one.on_b).inverse() @ bodies[0] @ one.on_a)
    return -float(min(found.distances))


def _depth_warning(problem: Problem, index: tuple[int, ...], pair: SolidPair, depth: float, force: float) -> str:
    """Return the text of the warning that a pair of solids starts with a penetration `depth` [m].

    `index` is the batch index of the member, and `force` [N] the contact force at this depth.
    """
    who = f"of member {index} " if problem.batch else ""
    pushes = f"the spring of a contact point will push with {force:.3g} N"
    follows = "they will be pushed apart in the first step" if problem.rigid else pushes
    return f"linkwork: solids {pair.name!r} {who}start {depth:.3g} m inside each other; {follows}: start them apart"


def _solids(now: Sample) -> SolidForces:
    """Return an object that computes the forces between solids in the sample `now`, at the contact points of each
    pair.
    """
    m, stored = now.system.mechanism, now.state.motion.solid_memory
    if now.system.rigid:
        return RigidSolids(m, stored, now.q, now.v)
    return CompliantSolids(m, SolidMemory(stored, 0.0), 0.0, now.q, now.v)


def _contact_points(now: Sample) -> list[list[Any]]:
    """Return, for each contact point between solids, its force [N], slip velocity [m/s], position [m] and energy [J].

    The vectors (3,) are those of the sample `now`, in world axes; the position is zero if the solids are apart.
    """
    return now.once(_solids).each(
        RowLayout((3,), (3,), (3,), ()),
        lambda one, point: (one.force, one.slip, where(one.number > APART, point, np.zeros(3)), one.energy),
    )
