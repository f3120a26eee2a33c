"""Checks before a run with contacts: suitable method, small enough step, and valid start."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from linkwork import evaluation
from linkwork.algorithms.compliant_contact import APART
from linkwork.algorithms.contact_kinematics import contact_kinematics, contact_rows
from linkwork.algorithms.contact_tolerances import INSIDE_AT_START
from linkwork.algorithms.kinematics import joint_poses, subspaces, world_poses
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.algorithms.mimic_reduction import for_mimic_joints, to_tree
from linkwork.algorithms.solid_contact.body_responses import about, body_jacobian
from linkwork.algorithms.solid_contact.pair_tables import BodyRows, groups_of, half_extents
from linkwork.errors import LinkworkError, listed, unknown_name
from linkwork.model.geometry import Hull, Mesh
from linkwork.model.mechanism import Mechanism
from linkwork.model.solids import POINTS, SolidPair
from linkwork.simulation.simulation_problem import Problem
from linkwork.simulation.solid_separation_bounds import depth_bounds, solid_tables, stacked, with_world
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array

FINE = 0.1  # product of dt and contact rate that warnings recommend; a bounce then takes sixty steps
EXPLICIT = {"rk4": 2.5}  # by method: largest stable product of dt and damper rate; other methods have no limit
COARSE = 1.5  # product of dt and contact spring rate above which no method resolves a bounce
DEEP = 3.0  # contact force at the start, relative to the weight, that causes a warning
MOREAU = "moreau"  # the method of rigid contacts
RIGID = "rigid"
FOR_SOLIDS = ("rk4", "semi-implicit")  # methods for compliant contact between solids
CONTACT = ("compliant", RIGID)  # contact models
CHAIN = 2.0  # factor of the stiffness of one pair, because a body in a stack lies between two others
MEMBERS_CHECKED = 64  # largest number of batch members whose start is checked
PAIRS_CHECKED = 20_000  # largest number of solid pairs, summed over members, whose start is checked
FEW_MEMBERS = 8  # up to this number of members, poses are computed without compiled code


class Rates(NamedTuple):
    """Rates [1/s] of contact springs and dampers, and the name of the contact pair with the stiffest spring.

    `stiffness` is the largest angular frequency sqrt(eigenvalue of M^-1 K) of all contact springs together; `damping`
    is the largest eigenvalue of M^-1 D of all contact dampers together.
    """

    stiffness: float
    damping: float
    fastest: str


def contact_rates(mechanism: Mechanism, q: Array) -> Rates:
    """Return the rates [1/s] of contact springs and dampers at q (nq,) [rad, m], as if all contact pairs touched.

    A solid touches only a few others, so that the rates of solids are those of one solid between two others, for the
    stiffest pair.
    """
    m = mechanism
    M = for_mimic_joints("mass_matrix", mass_matrix, ("q",))(m, q)
    (position,) = to_tree(m, ("q",), (q,))
    weight = float(m.mass) * float(np.linalg.norm(m.gravity))
    found = [_point_rates(m, M, position, weight)] if m.contact_pairs else []
    found += [_solid_rates(m, M, position, pair, weight) for pair in m.solid_pairs]
    stiffest = max(found, key=lambda one: one.stiffness)
    return stiffest._replace(damping=max(one.damping for one in found))


def _solid_rates(m: Mechanism, M: Array, position: Array, pair: SolidPair, weight: float) -> Rates:
    """Return the rates [1/s] of the springs and dampers of one pair of solids, as if all its contact points touched.

    Each solid is taken to lie between two others. The contact points are taken to be at the ends of the solids.
    `position` (tree.nq,) [rad, m] are the joint coordinates, M (nv, nv) is the mass matrix, and `weight` [N] is the
    weight of the mechanism, the load at which the stiffness is evaluated.
    """
    poses, S = world_poses(m.tree, joint_poses(m.tree, position)), subspaces(m.tree, position)
    hard, drag = pair.collision.slopes(weight)
    K, D = np.zeros_like(M), np.zeros_like(M)
    for solid in (pair.first, pair.second):
        squares = np.square(half_extents(solid.shape))
        axes = np.kron(np.eye(2), (poses[solid.body].R @ solid.pose.R).T)  # from the world to the frame of the shape
        J = axes @ about(body_jacobian(m, poses, S, solid.body), poses[solid.body].R @ solid.pose.p)
        arms = np.concatenate([np.ones(3), squares.sum() - squares])  # squares of distances from the axes of rotation
        K = K + POINTS * CHAIN * max(hard, pair.collision.tangential_stiffness) * (J.T * arms) @ J
        D = D + POINTS * CHAIN * max(drag, pair.collision.tangential_damping) * (J.T * arms) @ J
    return Rates(np.sqrt(_largest(M, K)), _largest(M, D), pair.name)


def _point_rates(m: Mechanism, M: Array, position: Array, weight: float) -> Rates:
    """Return the rates [1/s] of all point contacts together; the arguments are those of `_solid_rates`."""
    there, poses = contact_kinematics(m.tree, position, np.zeros(m.tree.nv))
    S, springs, dampers, each = subspaces(m.tree, position), np.zeros_like(M), np.zeros_like(M), []
    for pair, at in zip(m.contact_pairs, there, strict=True):
        J = contact_rows(m.tree, poses, S, pair, at, at.point - at.normal * at.distance)[:3] @ m.spread
        contact = pair.contact
        hard, drag = contact.slopes(weight)
        N = np.outer(at.normal, at.normal)
        P = np.eye(3) - N
        K = J.T @ (N * hard + P * contact.tangential_stiffness) @ J
        springs, dampers = springs + K, dampers + J.T @ (N * drag + P * contact.tangential_damping) @ J
        each.append(_largest(M, K))
    return Rates(np.sqrt(_largest(M, springs)), _largest(M, dampers), m.contact_pairs[int(np.argmax(each))].name)


def _largest(M: Array, K: Array) -> float:
    """Return the largest absolute eigenvalue of M^-1 K, for matrices M and K (nv, nv)."""
    return float(np.abs(np.linalg.eigvals(np.linalg.solve(M, K))).max())


def method_of(method: str, contact: str, locate: bool | None = False, continued: str | None = None) -> str:
    """Return the integration method to use: "moreau" for rigid contacts, else `method`.

    Raise a LinkworkError if `method` or the option `locate` does not suit the contact model `contact`, or if the run
    that is continued, which used the method `continued`, had the other contact model.
    """
    if contact not in CONTACT:
        raise unknown_name("contact", contact, CONTACT)
    rigid = contact == RIGID
    if continued is not None and (continued == MOREAU) != rigid:
        had, has = ("rigid", "compliant") if continued == MOREAU else ("compliant", "rigid")
        raise LinkworkError(
            f"the continued run has contact={had!r}, got {has!r}: pass contact={had!r}, or start from its last q and v"
        )
    if not rigid and method == MOREAU:
        raise LinkworkError(f"method {MOREAU!r} needs contact='rigid'; choose another method for contact='compliant'")
    if rigid and locate:
        raise LinkworkError("locate=True needs contact='compliant': rigid contacts are solved once per step")
    if rigid and method not in ("auto", MOREAU):
        raise LinkworkError(
            f"method {method!r} cannot handle the impulses of rigid contacts: with contact='rigid' leave out `method` "
            f"(it is then {MOREAU!r}), or use contact='compliant'"
        )
    return MOREAU if rigid else method


def refuse_unfit(problem: Problem, method: str, adaptive: bool, locate: bool = False) -> None:
    """Raise a LinkworkError if the integration method cannot simulate the contacts of the mechanism.

    `adaptive` is true if the method has adaptive steps, and `locate` is true if the user requires contact events to be
    located within steps.
    """
    pairs = problem.mechanism.contact_pairs
    if problem.rigid and not problem.mechanism.touches:
        raise LinkworkError("contact='rigid' needs a mechanism with contacts; add them with Builder.touch")
    for pair in pairs:
        varies = f"{pair.contact.name}.stiffness" in problem.parameters
        if not (problem.rigid or varies or pair.contact.stiffness > 0.0):
            raise LinkworkError(
                f"contact {pair.contact.name!r} has no stiffness: set its stiffness, or simulate with contact='rigid'"
            )
    for pair in pairs:
        if isinstance(pair.surface.shape, Mesh | Hull):
            kind = type(pair.surface.shape).__name__.lower()
            reason = f"contact {pair.contact.name!r} may touch surface {pair.surface.name!r}, which is a {kind}"
            raise LinkworkError(f"{reason}; points cannot touch it: name other surfaces in `against`, or use boxes")
    if problem.compliant and problem.mechanism.solid_pairs:
        _refuse_solids(problem, method)
        if locate:
            raise LinkworkError(
                "locate=True works for point contacts only, not for contacts between solids: leave it out"
            )
    if adaptive and problem.mechanism.touches:
        raise LinkworkError(f"contacts need fixed steps; method {method!r} has adaptive steps: choose another method")


def _refuse_solids(problem: Problem, method: str) -> None:
    """Raise a LinkworkError if a compliant collision has no stiffness, or if `method` cannot simulate compliant
    solids.
    """
    for one in problem.mechanism.collisions:
        if not (f"{one.name}.stiffness" in problem.parameters or one.stiffness > 0.0):
            raise LinkworkError(
                f"collision {one.name!r} has no stiffness: set its stiffness, or simulate with contact='rigid'"
            )
    if method not in (*FOR_SOLIDS, "auto"):
        raise LinkworkError(
            f"method {method!r} cannot simulate compliant contact of solids (collision "
            f"{problem.mechanism.collisions[0].name!r}): use {listed(FOR_SOLIDS)}, or contact='rigid'"
        )


def check_start(problem: Problem, method: str, dt: float) -> None:
    """Warn if contacts start deep inside a surface, or if the step dt [s] is too large for contacts with this method.

    Raise a LinkworkError if a member of the batch has an invalid contact parameter. `method` is the name of the
    integration method.
    """
    m = problem.mechanism
    if not m.touches or 0 in problem.batch:
        return
    _refuse_numbers(problem)
    if not _warn_of_depth(problem):
        _warn_of_deep_solids(problem)
    if problem.rigid:
        return
    now, values = problem.member(problem.first)
    rates = contact_rates(problem.system(values).mechanism, now.q)
    product = max(dt * rates.stiffness / COARSE, dt * rates.damping / EXPLICIT.get(method, np.inf))
    if product > 1.0:
        fine = FINE / max(rates.stiffness, rates.damping if method in EXPLICIT else 0.0)
        warnings.warn(
            f"linkwork: dt={dt:g} s is too large for contact {rates.fastest!r}: its springs and dampers have rates of "
            f"{rates.stiffness:.3g} and {rates.damping:.3g} 1/s; use dt={fine:.1g}",
            stacklevel=3,
        )


def _refuse_numbers(problem: Problem) -> None:
    """Raise a LinkworkError if a contact parameter, such as a stiffness, of any batch member is out of range."""
    given = problem.parameters
    m = problem.mechanism
    elements = [*(pair.contact for pair in m.contact_pairs), *m.collisions]
    for name, label in {one.name: one.label for one in elements}.items():
        for key in ("stiffness", "tangential_stiffness", "rest_speed"):
            if (given.get(f"{name}.{key}", np.ones(1)) <= 0.0).any():
                raise LinkworkError(f"parameter '{name}.{key}' of {label} must be > 0 in all members")
        friction = given.get(f"{name}.friction", np.zeros(2))
        if (friction[..., 0] < friction[..., 1]).any():
            raise LinkworkError(f"parameter '{name}.friction' must be (static, dynamic) with static >= dynamic")


def _warn_of_deep_solids(problem: Problem) -> None:
    """Warn if two solids start deep inside each other; of a large batch, only the first members are checked.

    Contact points are computed only for pairs of solids whose depth may be large, according to a cheap upper bound.
    """
    m = problem.mechanism
    if not m.solid_pairs:
        return
    tables = solid_tables(m)
    indices = list(islice(np.ndindex(problem.batch), max(1, PAIRS_CHECKED // len(tables.pairs))))
    with np.errstate(all="ignore"):
        poses = _poses(problem, indices)
        most = depth_bounds(tables, poses, INSIDE_AT_START)
    for s in np.flatnonzero(most.any(axis=1)):
        found = _deepest_solids(problem, indices[s], poses[s], most[s])
        if found is not None:
            warnings.warn(_depth_warning(problem, indices[s], *found), stacklevel=4)
            return


def _poses(problem: Problem, indices: Sequence[tuple[int, ...]]) -> Array:
    """Return the poses (s, nbodies + 1, 4, 4) of the world and all bodies at the start of the s batch members
    `indices`.
    """
    m = problem.mechanism
    if len(indices) <= FEW_MEMBERS:
        found = []
        for index in indices:
            now, values = problem.member(index)
            tree = problem.system(values).mechanism.tree
            found.append(stacked(world_poses(tree, joint_poses(tree, *to_tree(m, ("q",), (now.q,))))))
        return np.concatenate(found)
    starts = [problem.member(index) for index in indices]
    given = {name: np.stack([values[name] for _, values in starts]) for name in problem.parameters}
    dynamics = evaluation.compile(m, parameters=given, check=False)
    return with_world(dynamics.poses(np.stack([now.q for now, _ in starts]), parameters=given))


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


def _warn_of_depth(problem: Problem) -> bool:
    """Warn if a point contact starts deep inside a surface; return whether there was a warning."""
    if not problem.mechanism.contact_pairs:
        return False
    for index in islice(np.ndindex(problem.batch), MEMBERS_CHECKED):
        now, values = problem.member(index)
        m = problem.system(values).mechanism
        there, _ = contact_kinematics(m.tree, *to_tree(m, ("q", "v"), (now.q, now.v)))
        weight = float(m.mass) * float(np.linalg.norm(m.gravity))
        for (contact, surface), at, (number, *_) in zip(m.contact_pairs, there, now.motion.contact_memory, strict=True):
            depth = max(0.0, -float(at.distance))
            force = 0.0 if problem.rigid else contact.press(depth)
            if number != APART or (depth <= INSIDE_AT_START if problem.rigid else force <= DEEP * weight):
                continue
            who = f"of member {index} " if problem.batch else ""
            follows = (
                "and will be pushed out in the first step"
                if problem.rigid
                else f"and its spring will push it out with {force:.3g} N"
            )
            warnings.warn(
                f"linkwork: contact {contact.name!r} {who}starts {depth:.3g} m inside surface {surface.name!r}, "
                f"{follows}: start it farther outside",
                stacklevel=4,
            )
            return True
    return False
