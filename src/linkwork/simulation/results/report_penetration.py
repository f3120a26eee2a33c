"""Report check: the penetration depth of contacts, compared with the depth that stiffness and load explain.

A compliant contact may store at most the energy that the mechanism had available: kinetic energy at the start,
potential energy released since, and work of controllers and other forces. A few times the depth under the whole weight
is allowed in addition. The limit for a rigid contact is the documented depth: a few times g h^2 at rest, with gravity g
and step h, or the path of one step after an impact. A contact deeper than its own radius, or than half of the thickness
of the surface, may pass through the surface.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from linkwork.algorithms.compliant_contact import APART
from linkwork.algorithms.contact_kinematics import contact_kinematics
from linkwork.algorithms.contact_tolerances import INSIDE_AT_START
from linkwork.algorithms.mimic_reduction import to_tree
from linkwork.model.elements.contact import Contact, Pair
from linkwork.model.geometry import Box, Cylinder, Sphere
from linkwork.simulation.contact_family_interface import DEEP
from linkwork.simulation.derived_series import run_energies
from linkwork.simulation.results.report_rows import Row, member_name, verdict
from linkwork.simulation.results.run_data import RunData
from linkwork.tolerances import TINY

NEEDED = ("q", "v", "work", "work.contacts", "contact.state", "contact.force")
# largest number of batch members whose contacts are examined, and of samples spread over the run
MEMBERS, SPREAD = 16, 24
THROUGH = 0.9  # depth at which a contact may pass through, relative to the size of the contact or of the surface
# if the cosine of the angle between the forces at two samples is below minus this value, the force has reversed
REVERSED = 0.7
AT_REST = 3.0  # the limit for rigid contacts at rest is this multiple of the documented depth g h^2


def penetration(run: RunData) -> Iterator[Row]:
    """Yield the report row for the deepest contact, relative to its limit, at the recorded samples."""
    name = "penetration"
    absent = [one for one in NEEDED if one not in run.recorded]
    if absent:
        reason = f"{', '.join(absent)} {'was' if len(absent) == 1 else 'were'} not recorded"
        yield Row(name, "unknown", note=f"not checked: {reason}", not_checked=reason)
        return
    through = _passed_through(run)
    if through:
        yield Row(name, "passed through", None, verdict(False), through)
        return
    worst, ratio = Row(name, 0.0, None, verdict(True), "no contact was inside a surface at the examined samples"), 0.0
    for number, index in list(enumerate(np.ndindex(run.batch)))[:MEMBERS]:
        m = run.varied(index)
        brought, weight = energy_brought(run, index), float(m.mass) * float(np.linalg.norm(m.gravity))
        for sample in _samples(run, index):
            q, v = run.q[index][sample], run.v[index][sample]
            there, _ = contact_kinematics(m.tree, *to_tree(m, ("q", "v"), (q, v)))
            for pair, at in zip(m.contact_pairs, there, strict=True):
                depth = max(0.0, -float(at.distance))
                if run.facts.rigid:
                    limit = _rigid_limit(run, pair, sample, float(np.linalg.norm(at.velocity)))
                else:
                    limit = _compliant_limit(pair.contact, weight, brought)
                size = THROUGH * _size(pair)
                if depth > ratio * min(limit, size):
                    ratio = depth / max(min(limit, size), TINY)
                    why = "of rigid contacts at this step" if run.facts.rigid else "that stiffness and load explain"
                    why = "from which it may pass through (radius or half thickness)" if size < limit else why
                    where = f"{pair.name!r} at {run.t[sample]:g} s"
                    note = f"{member_name(run, number)}m; {where}; the limit is the depth {why}"
                    worst = Row(name, depth, min(limit, size), verdict(ratio <= 1.0), note)
    yield worst


def _passed_through(run: RunData) -> str:
    """Return a text that names a contact that passed through a surface of finite thickness; an empty text if none did.

    Between two samples the force of this contact reverses, because the opposite side of the surface is then nearest.
    """
    for k, pair in enumerate(run.mechanism.contact_pairs):
        if not np.isfinite(_thickness(pair)):
            continue
        force = run["contact.force"][..., k, :]
        along, sizes = (force[..., 1:, :] * force[..., :-1, :]).sum(axis=-1), np.linalg.norm(force, axis=-1)
        turned = along < -REVERSED * sizes[..., 1:] * sizes[..., :-1]
        found = np.argwhere(turned)
        if len(found):
            *index, sample = found[0].tolist()
            number = int(np.ravel_multi_index(index, run.batch)) if run.batch else 0
            return f"{member_name(run, number)}{pair.name!r} passed through its surface at {run.t[sample]:g} s"
    return ""


def _samples(run: RunData, index: tuple[int, ...]) -> list[int]:
    """Return the samples of a batch member to examine: first, last, at the largest forces, and some between."""
    known = np.flatnonzero(np.isfinite(run.q[index]).all(axis=-1))
    touches = (run["contact.state"][index] != APART).any(axis=-1)
    force = np.nan_to_num(np.linalg.norm(run["contact.force"][index], axis=-1))
    picked = {*np.argmax(force, axis=0).tolist(), *known[:1].tolist(), *known[-1:].tolist()}
    touching = np.intersect1d(known, np.flatnonzero(touches))
    picked |= set(touching[:: max(1, len(touching) // SPREAD)].tolist())
    if "contact.energy" in run.recorded:
        picked.add(int(np.nan_to_num(run["contact.energy"][index]).argmax()))
    return sorted(picked & set(known.tolist()))


def energy_brought(run: RunData, index: tuple[int, ...]) -> float:
    """Return the largest energy [J] that contact springs of a batch member can have stored at any time.

    `index` is the batch index of the member.
    """
    stored = run.once(run_energies)
    kinetic, potential = (np.asarray(x)[index] for x in (stored.kinetic, stored.potential))
    others = run["work"][index] - run["work.contacts"][index]
    gained = potential[0] - potential + (others - others[0])
    return float(kinetic[0] + max(0.0, np.nanmax(gained, initial=0.0)))


def _compliant_limit(contact: Contact, weight: float, brought: float) -> float:
    """Return the largest plausible depth [m] of a compliant contact.

    `weight` [N] is the weight of the mechanism, and `brought` [J] the largest energy that the contact springs can have
    stored.
    """
    k = float(np.asarray(contact.stiffness))
    if contact.dissipation is None:
        return DEEP * weight / k + float(np.sqrt(2.0 * brought / k))
    return float((DEEP * weight / k) ** (2.0 / 3.0) + (2.5 * brought / k) ** 0.4)


def _rigid_limit(run: RunData, pair: Pair, sample: int, speed: float) -> float:
    """Return the documented largest depth [m] of a rigid contact at sample number `sample`; `speed` [m/s] is the speed
    of the contact there.
    """
    h = run.settings.dt or 0.0
    gravity = float(
        np.max(np.linalg.norm(np.atleast_2d(run.parameters.get("gravity", run.mechanism.gravity)), axis=-1))
    )
    before = speed / max(float(np.max(np.asarray(pair.contact.restitution))), 0.1)
    return AT_REST * gravity * h * h + before * h + (INSIDE_AT_START if sample == 0 else 0.0)


def _size(pair: Pair) -> float:
    """Return half of the thickness [m] of the surface, or the radius of the contact if it is a ball with a smaller
    radius.
    """
    radius = float(pair.contact.radius)
    return min(_thickness(pair), radius) if radius > 0.0 else _thickness(pair)


def _thickness(pair: Pair) -> float:
    """Return half of the thickness [m] of the shape that the contact of a pair touches; inf for planes and ground."""
    shape = pair.surface.shape
    if isinstance(shape, Box):
        return 0.5 * float(min(shape.size))
    return float(shape.radius) if isinstance(shape, (Sphere, Cylinder)) else np.inf
