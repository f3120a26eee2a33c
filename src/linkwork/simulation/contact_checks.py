"""Before a run with contacts: whether its method can follow them, how fine its steps must be, and where it starts."""

from __future__ import annotations

import warnings
from itertools import islice
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.compliant_contact import APART
from linkwork.algorithms.contact_geometry import contact_rows, meetings
from linkwork.algorithms.kinematics import subspaces
from linkwork.algorithms.mass import mass_matrix
from linkwork.algorithms.reduction import coupled, to_tree
from linkwork.errors import LinkworkError, unknown_name
from linkwork.model.geometry import Mesh
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.problem import Problem
from linkwork.spatial.scalar import Array

FINE = 0.1  # product of step and rate at which a bounce is followed by sixty steps
EXPLICIT = {"rk4": 2.5}  # product of step and rate of dampers beyond which a method blows up
COARSE = 1.5  # product of step and rate of springs beyond which no method follows a bounce
DEEP = 3.0  # times the weight: a spring at the start that throws the mechanism
INSIDE = 1e-3  # depth [m] at the start that is reported for rigid contacts
MOREAU = "moreau"  # the method of rigid contacts
RIGID = "rigid"
CONTACT = ("compliant", RIGID)  # what contacts may be
LOOKED_AT = 64  # members whose start is looked at


class Rates(NamedTuple):
    """How fast contacts can be [1/s]: all springs together, all dampers together; and the pair that adds most."""

    stiffness: float
    damping: float
    fastest: str


def contact_rates(mechanism: Mechanism, q: Array) -> Rates:
    """The rates at q (nq,) [rad, m] if all contacts touched at once: of stiffness and damping over the masses."""
    m = mechanism
    M = coupled("mass_matrix", mass_matrix, ("q",))(m, q)
    (position,) = to_tree(m, ("q",), (q,))
    there, poses = meetings(m.tree, position, np.zeros(m.tree.nv))
    S, springs, dampers, each = subspaces(m.tree, position), np.zeros_like(M), np.zeros_like(M), []
    for pair, at in zip(m.contact_pairs, there, strict=True):
        J = contact_rows(m.tree, poses, S, pair, at, at.point - at.normal * at.distance)[:3] @ m.spread
        contact = pair.contact
        hard, drag = contact.slopes(float(m.mass) * float(np.linalg.norm(m.gravity)))
        N = np.outer(at.normal, at.normal)
        P = np.eye(3) - N
        K = J.T @ (N * hard + P * contact.tangential_stiffness) @ J
        springs, dampers = springs + K, dampers + J.T @ (N * drag + P * contact.tangential_damping) @ J
        each.append(_largest(M, K))
    return Rates(np.sqrt(_largest(M, springs)), _largest(M, dampers), m.contact_pairs[int(np.argmax(each))].name)


def _largest(M: Array, K: Array) -> float:
    """The largest eigenvalue of M^-1 K."""
    return float(np.abs(np.linalg.eigvals(np.linalg.solve(M, K))).max())


def method_of(method: str, contact: str, locate: bool | None = False, continued: str | None = None) -> str:
    """The method that was named, or the one of rigid contacts; a LinkworkError if they do not go together.

    `continued` is the method of the run that goes on, if one does.
    """
    if contact not in CONTACT:
        raise unknown_name("contact", contact, CONTACT)
    rigid = contact == RIGID
    if continued is not None and (continued == MOREAU) != rigid:
        had, has = ("rigid", "compliant") if continued == MOREAU else ("compliant", "rigid")
        raise LinkworkError(
            f"the run that goes on had contact={had!r}, not {has!r}: name that, or start from its last q and v"
        )
    if not rigid and method == MOREAU:
        raise LinkworkError(f"method {MOREAU!r} is that of contact='rigid'; for contact='compliant' name another")
    if rigid and locate:
        raise LinkworkError("rigid contacts meet once a step, and nothing of them is located: leave locate out")
    if rigid and method not in ("auto", MOREAU):
        raise LinkworkError(
            f"{method!r} needs forces that act for a while, and rigid contacts give impulses: with contact='rigid' "
            f"leave the method out, which makes it {MOREAU!r}, or use contact='compliant'"
        )
    return MOREAU if rigid else method


def refuse_unfit(problem: Problem, method: str, adaptive: bool) -> None:
    """Raise a LinkworkError if a method cannot follow a mechanism's contacts."""
    pairs = problem.mechanism.contact_pairs
    if problem.rigid and not pairs:
        raise LinkworkError("contact='rigid' is for mechanisms with contacts, which Builder.touch adds; there are none")
    for pair in pairs:
        varies = f"{pair.contact.name}.stiffness" in problem.parameters
        if not (problem.rigid or varies or pair.contact.stiffness > 0.0):
            raise LinkworkError(
                f"contact {pair.contact.name!r} has no stiffness: give it one, or simulate(..., contact='rigid')"
            )
    for pair in pairs:
        if isinstance(pair.surface.shape, Mesh):
            reason = f"contact {pair.contact.name!r} may touch surface {pair.surface.name!r}, which is a mesh"
            raise LinkworkError(f"{reason}: name other surfaces `against` it, or make it of boxes and other shapes")
    if adaptive and pairs:
        raise LinkworkError(f"contacts change at the ends of steps, which {method!r} chooses by itself: name another")


def check_start(problem: Problem, method: str, dt: float) -> None:
    """Warn of contacts that start deep inside, and of steps that are too large for them.

    Numbers of members that no contact can have raise a LinkworkError.
    """
    m = problem.mechanism
    if not m.contact_pairs or 0 in problem.batch:
        return
    _refuse_numbers(problem)
    _warn_of_depth(problem)
    if problem.rigid:
        return
    now, values = problem.member(problem.first)
    rates = contact_rates(problem.system(values).mechanism, now.q)
    product = max(dt * rates.stiffness / COARSE, dt * rates.damping / EXPLICIT.get(method, np.inf))
    if product > 1.0:
        fine = FINE / max(rates.stiffness, rates.damping if method in EXPLICIT else 0.0)
        warnings.warn(
            f"linkwork: a step of {dt:g} s is too large for contact {rates.fastest!r}, whose springs and dampers move "
            f"its body at rates of {rates.stiffness:.3g} and {rates.damping:.3g} 1/s: dt={fine:.1g} follows them",
            stacklevel=3,
        )


def _refuse_numbers(problem: Problem) -> None:
    """What the Builder refuses of one mechanism, for the parameters of all members."""
    given = problem.parameters
    for name in dict.fromkeys(pair.contact.name for pair in problem.mechanism.contact_pairs):
        for key in ("stiffness", "tangential_stiffness", "rest_speed"):
            if (given.get(f"{name}.{key}", np.ones(1)) <= 0.0).any():
                raise LinkworkError(f"parameter '{name}.{key}' must be > 0 in all members: contact {name!r} needs it")
        friction = given.get(f"{name}.friction", np.zeros(2))
        if (friction[..., 0] < friction[..., 1]).any():
            raise LinkworkError(f"parameter '{name}.friction' must be (static, dynamic) with static >= dynamic")


def _warn_of_depth(problem: Problem) -> None:
    for index in islice(np.ndindex(problem.batch), LOOKED_AT):
        now, values = problem.member(index)
        m = problem.system(values).mechanism
        there, _ = meetings(m.tree, *to_tree(m, ("q", "v"), (now.q, now.v)))
        weight = float(m.mass) * float(np.linalg.norm(m.gravity))
        for (contact, surface), at, (number, *_) in zip(m.contact_pairs, there, now.motion.contact_memory, strict=True):
            depth = max(0.0, -float(at.distance))
            force = 0.0 if problem.rigid else contact.press(depth)
            if number != APART or (depth <= INSIDE if problem.rigid else force <= DEEP * weight):
                continue
            who = f"of member {index} " if problem.batch else ""
            follows = (
                "and is moved out in the first step"
                if problem.rigid
                else f"whose spring will throw it with {force:.3g} N"
            )
            warnings.warn(
                f"linkwork: contact {contact.name!r} {who}starts {depth:.3g} m inside surface {surface.name!r}, "
                f"{follows}: start it higher",
                stacklevel=4,
            )
            return
