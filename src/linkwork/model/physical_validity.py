"""Checks of physical validity: masses, inertias, and joints that move no inertia."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakSet

import numpy as np

from linkwork.errors import listed
from linkwork.model.bodies import Body, Part, inertia_matrix
from linkwork.model.elements.contradicting_couplings import contradictions
from linkwork.model.model_definition_faults import Fault, as_warnings, raise_first
from linkwork.model.model_tolerances import INERTIA_ROUND_OFF, MASSLESS
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from linkwork.model.mechanism import Mechanism

INERTIAL = ("mass", "com", "inertia", "armature", "rotor_inertia")  # parameters that change the mass matrix


def part_faults(part: Part) -> Iterator[Fault]:
    """Yield a fault for each unphysical mass or inertia of a part of a body, with the violated inequality."""
    impossible = list(mass_faults(part))
    yield from impossible
    if not impossible:
        yield from _inertia_faults(part)


def tolerant_faults(body: Body) -> Iterator[Fault]:
    """Yield the faults of the masses and inertias of a body's parts, as warnings if the whole body is usable.

    A body is usable if its mass and its kinetic energy are never negative. Published robot models often have links with
    inertias that no mass distribution can have; most of these bodies are usable.
    """
    impossible = [fault for part in body.parts for fault in mass_faults(part)]
    yield from impossible
    if impossible:
        return
    doubtful = [fault for part in body.parts for fault in _inertia_faults(part)]
    low = (
        _principal_moments(body.inertia.rotational - _point_mass_inertia(body))[0]
        if doubtful and body.index > 0
        else 0.0
    )
    if low < -INERTIA_ROUND_OFF * float(np.trace(body.inertia.rotational)):
        for fault in doubtful:
            merged = (
                "" if len(body.parts) == 1 else f"; body {body.name!r}, into which it is welded, is also unphysical"
            )
            yield replace(fault, reason=fault.reason + merged)
    else:
        yield from as_warnings(doubtful)


_with_inertia: WeakSet[Mechanism] = WeakSet()  # mechanisms that passed the check, which takes time for long chains


def require_inertia(mechanism: Mechanism, varying: Iterable[str] = ()) -> None:
    """Raise a ModelError if a joint moves no inertia, unless a name in `varying` is an inertial parameter.

    `varying` are the names of the parameters that vary in a run, such as "arm.mass".
    """
    if mechanism in _with_inertia or any(name.rpartition(".")[2] in INERTIAL for name in varying):
        return
    raise_first(massless_faults(mechanism))
    _with_inertia.add(mechanism)


def massless_warnings(mechanism: Mechanism) -> list[Fault]:
    """Return one warning that names all joints that move no inertia, if there are any."""
    faults = list(massless_faults(mechanism))
    names = [fault.element.removeprefix("joint ") for fault in faults if fault.element]
    others = f"; the same holds for joints {listed(names[1:])}" if len(names) > 1 else ""
    reason = f"{others}. Kinematics and inverse dynamics work; forward dynamics and `simulate` raise an error"
    return as_warnings(replace(fault, reason=fault.reason + reason) for fault in faults[:1])


def massless_faults(mechanism: Mechanism) -> Iterator[Fault]:
    """Yield a fault for each joint that can move without moving any inertia.

    The acceleration of such a joint would be undefined. Mimic joints are not checked, since their independent joint
    moves them.
    """
    rng = np.random.default_rng(0)  # for a position without special alignments
    outer, tree = [body.inertia for body in mechanism.bodies], mechanism.tree
    for joint in reversed(mechanism.joints):
        q = joint.kind.random(rng)
        S, composite = joint.kind.subspace(q), outer[joint.o]
        inertia = S.pair(composite.articulated() @ S) + np.diag(tree.armature[tree.joints[joint.name].v])
        # Scale of the inertia: a point mass on the joint's axis has no inertia but the round-off of larger terms
        about = abs(float(np.trace(composite.rotational))) * (S.angular**2).sum(axis=0)
        terms = np.sqrt(composite.mass * (S.linear**2).sum(axis=0) + about + np.abs(np.diag(inertia)))
        part = float(np.linalg.eigvalsh(inertia / np.maximum(np.outer(terms, terms), 1e-300))[0])
        if joint.mimic is None and not part > MASSLESS:
            least = 0.0 if abs(part) <= MASSLESS else float(np.linalg.eigvalsh(inertia)[0])
            yield Fault(
                f"it moves body {joint.child!r} and its descendants, {composite.mass:g} kg in total, but one direction "
                f"of its motion has no inertia (the smallest eigenvalue of S^T I S is {least:.3g}, must be > 0)",
                f"joint {joint.name!r}",
                "give the body mass and inertia, make the joint fixed, or give the joint an armature "
                f"(parameter {joint.name + '.armature'!r})",
            )
        if joint.i > 0:
            outer[joint.i] = outer[joint.i] + (joint.place @ joint.kind.transform(q)).up(composite)


def mass_faults(part: Part) -> Iterator[Fault]:
    """Yield a fault for a negative mass of a part, and for a mass, centre of mass or inertia that is not finite."""
    element = f"body {part.name!r}"
    for what, value in (("mass", part.mass), ("com", part.com), ("inertia", part.inertia)):
        if not np.isfinite(value).all():
            yield Fault(f"{what} must be finite; got {np.asarray(value).tolist()}", element)
    if part.mass < 0.0:
        yield Fault(f"mass must be >= 0 kg; got {part.mass:g}", element)


def _inertia_faults(part: Part) -> Iterator[Fault]:
    element, (low, middle, high) = f"body {part.name!r}", _principal_moments(inertia_matrix(part.inertia))
    tolerance = INERTIA_ROUND_OFF * (max(-low, high) + part.mass * float(part.com @ part.com))
    shown = f"principal moments of inertia about the centre of mass are {low:.6g}, {middle:.6g}, {high:.6g} kg m^2"
    if low < -tolerance:
        yield Fault(f"{shown}; each must be >= 0, but {low:.6g} < 0", element)
    elif low + middle < high - tolerance:
        yield Fault(
            f"{shown}; two must sum to at least the third (triangle inequality), "
            f"but {low:.6g} + {middle:.6g} = {low + middle:.6g} < {high:.6g}",
            element,
        )
    elif part.mass == 0.0 and high > 0.0:
        yield Fault(f"mass is 0 kg but {shown}; a body without mass must have zero inertia", element)


def _principal_moments(inertia: Array) -> tuple[float, float, float]:
    """Return the principal moments of a symmetric inertia (3, 3) [kg m^2], in ascending order."""
    low, middle, high = np.linalg.eigvalsh(inertia).tolist()
    return low, middle, high


def _point_mass_inertia(body: Body) -> Array:
    """Return the inertia (3, 3) [kg m^2] about the body's origin of a point mass at the body's centre of mass.

    The point mass is the mass of the whole body.
    """
    h, m = body.inertia.moment, body.inertia.mass
    return (h @ h * np.eye(3) - np.outer(h, h)) / m if m > 0.0 else np.zeros((3, 3))


def element_faults(mechanism: Mechanism) -> Iterator[Fault]:
    """Yield the faults of all elements of the built mechanism, then the faults of contradicting couplings."""
    for items in mechanism.elements.values():
        for one in items:
            yield from one.faults(mechanism)
    yield from contradictions(mechanism)
