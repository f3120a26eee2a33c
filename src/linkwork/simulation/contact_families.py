"""The contact families of a mechanism: contacts of points with surfaces, and contacts between solids."""

from __future__ import annotations

from linkwork.model.mechanism import Mechanism
from linkwork.simulation.contact_family_interface import ContactFamily
from linkwork.simulation.point_contacts import PointContacts
from linkwork.simulation.solid_contacts import SolidContacts


def contact_families(mechanism: Mechanism) -> list[ContactFamily]:
    """Return the contact families of which a mechanism has pairs: point contacts first, then solids.

    An integration method that can simulate the last family in the list can simulate all of them.
    """
    return [family for family in (PointContacts(mechanism), SolidContacts(mechanism)) if family.pairs]
