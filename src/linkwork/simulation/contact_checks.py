"""Checks before a run with contacts: suitable method, small enough step, and valid start."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import islice

import numpy as np

from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.algorithms.mimic_reduction import for_mimic_joints, to_tree
from linkwork.errors import LinkworkError, unknown_name
from linkwork.model.elements.element import Element
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.contact_families import contact_families
from linkwork.simulation.contact_family_interface import Rates
from linkwork.simulation.simulation_problem import Problem
from linkwork.spatial.scalar import Array

FINE = 0.1  # product of dt and contact rate that warnings recommend; a bounce then takes sixty steps
EXPLICIT = {"rk4": 2.5}  # by method: largest stable product of dt and damper rate; other methods have no such limit
COARSE = 1.5  # product of dt and contact spring rate above which no method resolves a bounce
MOREAU = "moreau"  # the method of rigid contacts
RIGID = "rigid"
CONTACT = ("compliant", RIGID)  # contact models


def contact_rates(mechanism: Mechanism, q: Array) -> Rates:
    """Return the rates [1/s] of contact springs and dampers at q (nq,) [rad, m], as if all contact pairs touched.

    The spring rate and the contact name are those of the stiffest contact family; the damper rate is the largest of all
    families.
    """
    m = mechanism
    M = for_mimic_joints("mass_matrix", mass_matrix, ("q",))(m, q)
    (position,) = to_tree(m, ("q",), (q,))
    weight = float(m.mass) * float(np.linalg.norm(m.gravity))
    found = [rates for family in contact_families(m) for rates in family.rates(M, position, weight)]
    stiffest = max(found, key=lambda one: one.stiffness)
    return stiffest._replace(damping=max(one.damping for one in found))


def method_for_contacts(method: str, contact: str, locate: bool | None = False, continued: str | None = None) -> str:
    """Return the integration method to use: "moreau" for rigid contacts, else `method`.

    Raise a LinkworkError if `method`, or `locate` (whether events are located within steps), does not suit the contact
    model `contact`. If a run is continued, `continued` is the method of that run; another contact model than in that
    run is an error too.
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


def refuse_unsuitable_method(problem: Problem, method: str, adaptive: bool, locate: bool = False) -> None:
    """Raise a LinkworkError if the integration method cannot simulate the contacts of the mechanism.

    `adaptive` is true if the method has adaptive steps, and `locate` is true if the user requires contact events to be
    located within steps.
    """
    families = contact_families(problem.mechanism)
    if problem.rigid and not families:
        raise LinkworkError(
            "contact='rigid' needs a mechanism with contacts; add them with Builder.touch or Builder.collide"
        )
    for family in families:
        family.refuse(problem, method, adaptive, locate)


def check_start(problem: Problem, method: str, dt: float) -> None:
    """Warn if contacts start deep inside a surface, or if the step dt [s] is too large for contacts with this method.

    Raise a LinkworkError if a member of the batch has an invalid contact parameter. `method` is the name of the
    integration method.
    """
    if 0 in problem.batch:
        return
    families = contact_families(problem.mechanism)
    _refuse_invalid_parameters(problem, [one for family in families for one in family.elements])
    for text in islice(filter(None, (family.start_warning(problem) for family in families)), 1):
        warnings.warn(text, stacklevel=3)
    if not problem.compliant:
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


def _refuse_invalid_parameters(problem: Problem, elements: Sequence[Element]) -> None:
    """Raise a LinkworkError if a parameter of the contact elements, such as a stiffness, is out of range in the run
    `problem`.

    All batch members are checked.
    """
    given = problem.parameters
    if not given:
        return
    for name, label in {one.name: one.label for one in elements}.items():
        for key in ("stiffness", "tangential_stiffness", "rest_speed"):
            if (given.get(f"{name}.{key}", np.ones(1)) <= 0.0).any():
                raise LinkworkError(f"parameter '{name}.{key}' of {label} must be > 0 in all members")
        friction = given.get(f"{name}.friction", np.zeros(2))
        if (friction[..., 0] < friction[..., 1]).any():
            raise LinkworkError(f"parameter '{name}.friction' must be (static, dynamic) with static >= dynamic")
