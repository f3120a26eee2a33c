"""What a mechanism may say that its dynamics do not contain yet: refused where it would change an answer."""

from __future__ import annotations

from linkwork.errors import LinkworkError, listed
from linkwork.model.clutches import engaged_names
from linkwork.model.mechanism import Mechanism

# Answers that depend on what holds bodies and joints together besides the tree
DEPENDENT = {"forward_dynamics", "forward_dynamics_derivatives", "reactions", "motion"}


def refuse_unhonoured(quantity: str, mechanism: Mechanism) -> None:
    """Raise a LinkworkError if a quantity would be another with the mechanism's engaged clutches or brakes.

    The quantity "motion" is a simulation, which contacts change too.
    """
    if quantity not in DEPENDENT:
        return
    for what, names in (
        ("engaged clutches", engaged_names(mechanism.clutches)),
        ("engaged brakes", engaged_names(mechanism.brakes)),
        ("contacts", mechanism.contacts.names if quantity == "motion" else ()),
    ):
        if names:
            name = quantity.replace("_", " ")
            raise LinkworkError(f"{what} are not honoured by {name} yet; {mechanism.name!r} has {listed(names)}")
