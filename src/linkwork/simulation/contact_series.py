"""Recorded series of contacts: states, forces, anchors and slip."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linkwork.algorithms.rigid_contact import contact_memory_size
from linkwork.algorithms.solid_contact.solid_contact_forces import stored_columns
from linkwork.simulation.contact_families import contact_families
from linkwork.simulation.contact_family_interface import ContactFamily
from linkwork.simulation.point_contacts import compliant_contacts
from linkwork.simulation.series_definition import Axis, RunFacts, Sample, Series
from linkwork.simulation.state import CONTACT_COLUMNS
from linkwork.simulation.state_series import bodies, six
from linkwork.spatial.scalar import Array, Number

DIRECTION = Axis("direction", ("x", "y", "z"))


def _of_all_points(now: Sample, vectors: Callable[[ContactFamily], list[Array]]) -> Array:
    """Return one vector per contact point, as an array (n, 3): `vectors` returns those of a contact family."""
    families = contact_families(now.system.mechanism)
    return np.array([one for family in families for one in vectors(family)]).reshape(-1, 3)


def _memory_columns(now: Sample, columns: int | slice) -> Array:
    """Return `columns` of the contact memory: first the rows of all contacts of points with surfaces, then those of all
    contact points between solids.
    """
    motion = now.state.motion
    return np.concatenate([motion.contact_memory[:, columns], motion.solid_memory[:, columns]])


def _force(now: Sample) -> Array:
    """Return the forces (n, 3) [N] of n contacts in the sample `now`, in world axes; for rigid contacts, those of the
    last step.
    """
    return (
        _memory_columns(now, slice(1, 4))
        if now.system.rigid
        else _of_all_points(now, lambda family: family.forces(now))
    )


def _slip(now: Sample) -> Array:
    """Return the slip velocities (n, 3) [m/s] of n contacts in the sample `now`, in world axes; zero for contacts that
    are apart.
    """
    return _of_all_points(now, lambda family: family.slips(now))


def _point(now: Sample) -> Array:
    """Return the positions (n, 3) [m] of n contact points in the sample `now`, in world axes; zero for contacts that
    are apart.
    """
    return _of_all_points(now, lambda family: family.points(now))


def _torque(now: Sample) -> Array:
    """Return the torques (n, 3) [N m] of rolling and spinning friction at n rigid contacts, in world axes."""
    motion = now.state.motion
    parts = [stored[:, CONTACT_COLUMNS:] for stored in (motion.contact_memory, motion.solid_memory)]
    return np.concatenate([part if part.size else np.zeros((len(part), 3)) for part in parts])


def _energy(now: Sample) -> Number:
    """Return the energy [J] of all contact springs in the sample `now`."""
    return sum((sum(family.energies(now), 0.0) for family in contact_families(now.system.mechanism)), 0.0)


def _wrenches(now: Sample) -> Array:
    """Return the sum (nbodies, 6) [N, N m] of the contact wrenches on each body in the sample `now`.

    A wrench is about the origin of the body's frame, in its axes. For rigid contacts, the wrenches are those of the
    last step.
    """
    m = now.system.mechanism
    return sum((family.wrenches(now) for family in contact_families(m)), np.zeros((m.nbodies, 6)))


def _touching(facts: RunFacts) -> bool:
    return facts.mechanism.touches


def _points_only(facts: RunFacts) -> bool:
    """Return whether a run has contacts, and no rigid contacts between solids."""
    return facts.mechanism.touches and not (facts.rigid and facts.mechanism.solid_pairs)


def _compliant(facts: RunFacts) -> bool:
    return facts.mechanism.touches and not facts.rigid


def _anchored(facts: RunFacts) -> bool:
    """Return whether all contacts of a run are compliant contacts of points with surfaces, which have anchors."""
    return _compliant(facts) and not facts.mechanism.solid_pairs


def _has_friction_torques(facts: RunFacts) -> bool:
    """Return whether the rigid contacts of a run have rolling or spinning friction, and therefore torques."""
    m = facts.mechanism
    sizes = contact_memory_size(m.contact_pairs), stored_columns(m.collisions)
    return facts.rigid and max(sizes) > CONTACT_COLUMNS


def _contacts(facts: RunFacts) -> tuple[Axis, ...]:
    return (Axis("contact", facts.mechanism.contact_names),)


def _vectors(facts: RunFacts) -> tuple[Axis, ...]:
    return (*_contacts(facts), DIRECTION)


# Vectors are in world axes
CONTACT_SERIES: tuple[Series, ...] = (
    Series(
        "contact.state", "contact states", "1", _contacts,
        lambda now: _memory_columns(now, 0), exists=_touching, by_default=True,
    ),
    Series(
        "contact.since", "start times of the contact states", "s", _contacts,
        lambda now: _memory_columns(now, 4), exists=_touching, by_default=True,
    ),
    Series("contact.force", "contact forces", "N", _vectors, _force, exists=_touching, by_default=True),
    Series(
        "contact.torque", "contact torques of rolling and spinning friction", "N m", _vectors,
        _torque, exists=_has_friction_torques, by_default=True,
    ),
    Series(
        "contact.anchor", "contact anchors", "m", _vectors,
        lambda now: np.array([each.anchor for each in now.once(compliant_contacts)]),
        exists=_anchored, by_default=True,
    ),
    Series(
        "contact.slip", "slip velocities of contacts", "m/s", _vectors, _slip, exists=_touching,
        by_default=_points_only,  # with rigid solids, contacts must be detected a second time
    ),
    Series("contact.point", "contact points", "m", _vectors, _point, exists=_touching),
    Series("contact.energy", "energy of contact springs", "J", sample=_energy, exists=_compliant, by_default=True),
    Series(
        "contact.wrenches", "contact wrenches on bodies", six("N", "N m"), bodies, _wrenches,
        exists=_touching,
    ),
)  # fmt: skip
