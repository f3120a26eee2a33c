"""Collisions: contact between solids, which are shapes that are fixed to bodies or to the world."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from linkwork.model.elements import contact_force_law as force_law
from linkwork.model.elements.element import Element
from linkwork.model.elements.key_types import key, name_pairs, names, not_negative
from linkwork.model.model_definition_faults import Fault
from linkwork.model.solids import pair_in_two, pairs_of_collision, solid_faults
from linkwork.spatial.scalar import Number

if TYPE_CHECKING:
    from linkwork.model.mechanism import Mechanism

MOST_PAIRS = 2000  # largest number of solid pairs; each takes memory in every state, even if the solids are apart


class Collision(Element, section="collisions"):
    """Add contact between solids.

    Solids are the collision shapes of bodies (`Builder.geometry` with role="collision") and the surfaces. By default
    every solid can touch every other one, except for solids of the same body, of bodies that a joint or a loop connects
    (unless one of them is the world), and of two bodies that are fixed to the world.

    Two solids touch in up to four points. The force law is that of `Builder.touch`, at each of these points.

    Examples
    --------
    >>> b = lw.Builder().surface("floor", lw.Plane())
    >>> for name in ("lower", "upper"):
    ...     b = b.body(name, 1.0, inertia=(0.1, 0.1, 0.1)).joint(f"{name} moves", lw.Free(), "world", name)
    ...     b = b.geometry(name, lw.Box((1, 1, 1)), role="collision")
    >>> m = b.collide("stack", friction=0.5).build()
    >>> [f"{pair.first.name}, {pair.second.name}" for pair in m.solid_pairs]
    ['lower, upper', 'lower, floor', 'upper, floor']

    """

    solids: Any = key(
        names,
        "Solids that can touch: names of bodies, of surfaces or of collision shapes; by default all",
        default=(),
    )
    against: Any = key(names, "Solids that those in `solids` can touch; by default `solids`", default=())
    exclude: Any = key(name_pairs, "Pairs of solids that cannot touch", default=(), kw_only=True)
    pairs: Any = key(
        name_pairs, "Pairs of solids that can touch, instead of `solids` and `against`", default=(), kw_only=True
    )
    stiffness: Number = force_law.stiffness()
    damping: Number = force_law.damping()
    tangential_stiffness: Number = force_law.tangential_stiffness()
    tangential_damping: Number = force_law.tangential_damping()
    friction: Any = force_law.friction()
    rest_speed: Number = force_law.rest_speed()
    rolling: Number = key(
        not_negative("m"), "Rolling resistance: torque divided by normal force", default=0.0, kw_only=True
    )
    spinning: Number = key(
        not_negative("m"),
        "Resistance to rotation about the normal: torque divided by normal force",
        default=0.0,
        kw_only=True,
    )
    restitution: Number = force_law.restitution()
    dissipation: Number | None = force_law.dissipation()

    acts_in_motion_only = True
    radius = 0.0  # needed by `compliant_contact.ContactLaw`; zero for solids

    def checked(self) -> Self:
        """Return the collision element with all its values checked; raise a ModelError for an invalid value.

        For rigid contacts, `completed` replaces omitted stiffness and damping by zeros. If such an element is checked
        again, these zeros count as omitted.
        """
        if self.stiffness == 0.0 and self.tangential_damping is not None:
            return super(Collision, replace(self, **force_law.OMITTED)).checked()
        return super().checked()

    def completed(self) -> Self:
        """Return the collision element with default values; raise a ModelError if keys contradict each other."""
        return self._with(force_law.completed(self))

    def faults(self, mechanism: Mechanism) -> Iterator[Fault]:
        """Yield a fault for each unknown name and each mesh, and if the pairs of solids are invalid as a whole.

        The pairs are invalid if there are none or too many, or if one of them belongs to an earlier collision too.
        """
        yield from (found := list(solid_faults(mechanism, self)))
        if found:
            return
        count = len(pairs_of_collision(mechanism, self))
        if not count:
            reason = "there are no two solids that could touch"
            remedy = 'give bodies collision shapes by Builder.geometry(..., role="collision"), or add surfaces'
            yield Fault(reason, self.label, remedy)
        if count > MOST_PAIRS:
            reason = f"its {count} pairs of solids are more than {MOST_PAIRS}"
            yield Fault(reason, self.label, "name the solids that can touch, or exclude pairs")
        elif twice := pair_in_two(mechanism, self):
            pair, other = twice
            names = pair.first.name, pair.second.name
            reason = f"the pair {pair.name!r} is also in {other.label}, and only one force law can act"
            yield Fault(reason, self.label, f"use exclude=[{names!r}] in one of the two collisions")

    def press(self, depth: float) -> float:
        """Return the elastic part of the normal force [N] of a contact point at the depth `depth` >= 0 [m]."""
        return self.stiffness * (depth if self.dissipation is None else depth**1.5)

    def slopes(self, load: float) -> tuple[float, float]:
        """Return normal stiffness [N/m] and damping [N s/m] of one contact point at the normal force `load` [N]."""
        return force_law.slopes(self, load)

    def document(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the element's table in a TOML document, without empty lists, and the comments after its keys."""
        table, notes = super().document()
        return {name: value for name, value in table.items() if value != []}, notes

    def describe(self) -> tuple[str, str]:
        """Return two cells for `linkwork check`: stiffness and friction of the contacts, and the solids."""
        static, dynamic = self.friction
        pairs = f"{self.pairs[0][0]} on {self.pairs[0][1]}" if len(self.pairs) == 1 else f"{len(self.pairs)} pairs"
        who = ", ".join(self.solids) or (pairs if self.pairs else "all solids")
        return f"{self.stiffness:g} N/m, friction {static:g}, {dynamic:g}", who
