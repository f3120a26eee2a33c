"""What a mechanism may say that simulations do not contain yet: refused, because motion would be another."""

from __future__ import annotations

from linkwork.errors import LinkworkError, listed
from linkwork.model.clutches import slipping_names
from linkwork.model.mechanism import Mechanism


def refuse_unhonoured(mechanism: Mechanism) -> None:
    """Raise a LinkworkError if a mechanism would move otherwise than a simulation would tell."""
    for what, names in (
        ("engaged clutches that can slip", slipping_names(mechanism.clutches)),
        ("engaged brakes that can slip", slipping_names(mechanism.brakes)),
    ):
        if names:
            raise LinkworkError(f"{what} are not simulated yet; {mechanism.name!r} has {listed(names)}")
