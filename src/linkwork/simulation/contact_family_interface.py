"""The interface of contact families: the quantities of point contacts and of contacts between solids that a run needs.

`contact_families` returns the families that a mechanism has. All other code loops over this list, or adds up the
results of its entries.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from linkwork.algorithms.compliant_contact import Memory
from linkwork.algorithms.solid_contact.compliant_pairs import SolidMemory
from linkwork.errors import LinkworkError
from linkwork.model.elements.collision import Collision
from linkwork.model.elements.contact import Contact, Pair
from linkwork.model.mechanism import Mechanism
from linkwork.model.solids import SolidPair
from linkwork.spatial.scalar import Array, Number

if TYPE_CHECKING:
    from linkwork.simulation.series_definition import Sample
    from linkwork.simulation.simulation_problem import Problem
    from linkwork.simulation.state import StepState

DEEP = 3.0  # normal contact force at the start, relative to the weight, that causes a warning
FINE_CONTACTS = 0.1  # product of step and spring rate of compliant contacts, for the methods that are chosen for them


class Rates(NamedTuple):
    """Rates [1/s] of contact springs and dampers, and the name of the contact pair with the stiffest spring.

    `stiffness` is the largest angular frequency sqrt(eigenvalue of M^-1 K) of all contact springs together; `damping`
    is the largest eigenvalue of M^-1 D of all contact dampers together.
    """

    stiffness: float
    damping: float
    fastest: str


class ContactFamily(ABC):
    """All contacts of one kind in a mechanism: those of points with surfaces, or those between solids.

    `automatic_method` is the integration method that is chosen automatically for compliant contacts. If
    `skips_ended_members` is true, no step is computed for batch members that have ended, because a step from an invalid
    state may take a thousand times longer.
    """

    automatic_method: ClassVar[str]
    skips_ended_members: ClassVar[bool] = False

    def __init__(self, mechanism: Mechanism):
        self.mechanism = mechanism

    @property
    @abstractmethod
    def pairs(self) -> Sequence[Pair | SolidPair]:
        """All pairs of the mechanism that can touch."""

    @property
    @abstractmethod
    def elements(self) -> Sequence[Contact | Collision]:
        """The contact elements of the mechanism, which have the force laws of the pairs."""

    # --- checks before a run ---

    def refuse(self, problem: Problem, method: str, adaptive: bool, locate: bool) -> None:
        """Raise a LinkworkError if the integration method `method` cannot simulate the contacts.

        `adaptive` is true if the method has adaptive steps, and `locate` is true if the user requires contact events to
        be located within steps.
        """
        for one in self.elements:
            if problem.compliant and not (f"{one.name}.stiffness" in problem.parameters or one.stiffness > 0.0):
                reason = f"{one.label} has no stiffness"
                raise LinkworkError(f"{reason}: set its stiffness, or simulate with contact='rigid'")
        self.refuse_own(problem, method, locate)
        if adaptive:
            reason = f"contacts need fixed steps; method {method!r} has adaptive steps"
            raise LinkworkError(f"{reason}: choose another method")

    @abstractmethod
    def refuse_own(self, problem: Problem, method: str, locate: bool) -> None:
        """Raise a LinkworkError if `method` or `locate` does not suit the contacts, for a reason that only this family
        has.

        `refuse` calls this method. The arguments are those of `refuse`.
        """

    @abstractmethod
    def start_warning(self, problem: Problem) -> str | None:
        """Return the text of a warning if contacts start deep inside each other, else None.

        Of a large batch, only the first members are checked.
        """

    @abstractmethod
    def rates(self, M: Array, position: Array, weight: float) -> list[Rates]:
        """Return the rates [1/s] of contact springs and dampers, as if all pairs of this family touched.

        M (nv, nv) is the mass matrix, `position` (tree.nq,) [rad, m] are the joint coordinates, and `weight` [N] is the
        weight of the mechanism, the load at which the stiffness is evaluated.
        """

    @abstractmethod
    def step_rate(self, rates: Rates, method: str) -> float:
        """Return the rate [1/s] to which the time step for the integration method `method` is inversely proportional,
        from the `rates` of all contacts.
        """

    # --- steps ---

    @abstractmethod
    def begun(self, t: Number, contact_memory: Array, solid_memory: Array) -> tuple[str, Memory | SolidMemory]:
        """Return the name of the field of `System` that holds this family's contact memory, and its value in a step
        that begins at t [s].

        `contact_memory` holds the stored numbers of all contacts of points with surfaces, `solid_memory` those of all
        contacts between solids; see `System.begun`.
        """

    @abstractmethod
    def rigid_wrenches(self, now: StepState) -> Array:
        """Return the wrenches (nbodies, 6) [N, N m] of rigid contacts on the bodies, about the body origins and in body
        axes. They follow from the contact memory of the state `now`.
        """

    # --- recorded series ---

    @abstractmethod
    def forces(self, now: Sample) -> list[Array]:
        """Return the force (3,) [N] at each contact point of compliant contacts, in world axes."""

    @abstractmethod
    def slips(self, now: Sample) -> list[Array]:
        """Return the slip velocity (3,) [m/s] at each contact point, in world axes; zero if the contact is apart."""

    @abstractmethod
    def points(self, now: Sample) -> list[Array]:
        """Return the position (3,) [m] of each contact point, from the world origin and in world axes; zero if the
        contact is apart.
        """

    @abstractmethod
    def energies(self, now: Sample) -> list[Number]:
        """Return the energy [J] of the springs of each compliant contact point."""

    @abstractmethod
    def wrenches(self, now: Sample) -> Array:
        """Return the sum (nbodies, 6) [N, N m] of the contact wrenches on each body, about its origin and in its
        axes.
        """


def largest_rate(M: Array, K: Array) -> float:
    """Return the largest absolute eigenvalue of M^-1 K, for a mass matrix M and a stiffness or damping matrix K (nv,
    nv).
    """
    return float(np.abs(np.linalg.eigvals(np.linalg.solve(M, K))).max())
