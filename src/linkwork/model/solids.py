"""Solids of a mechanism, which are the collision shapes of its bodies and its surfaces, and pairs of solids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import TYPE_CHECKING, NamedTuple, cast

from linkwork.errors import unknown_name
from linkwork.model.geometry import Mesh
from linkwork.model.model_definition_faults import Fault
from linkwork.spatial import Transform

if TYPE_CHECKING:
    from linkwork.model.elements.collision import Collision
    from linkwork.model.elements.constraint import FrameConstraint
    from linkwork.model.elements.surface import Surface
    from linkwork.model.elements.uneven_ground import SurfaceShape
    from linkwork.model.mechanism import Mechanism

POINTS = 4  # largest number of contact points of a solid pair
WORLD = 0  # the world's body number
# In a pair, the shape of the first solid is not after that of the second solid in this order
ORDER = ("Sphere", "Capsule", "Cylinder", "Box", "Hull", "Mesh", "Plane")
UNBOUNDED = ORDER.index("Plane")  # shapes from here on do not touch each other


class Solid(NamedTuple):
    """A solid: a shape that is fixed to body number `body`, with the given `pose` in the body's frame.

    `names` are the names by which a collision element can refer to the solid: its own name, and the name of the
    part to which it is fixed.
    """

    name: str
    body: int
    pose: Transform
    shape: SurfaceShape
    names: tuple[str, ...]


class SolidPair(NamedTuple):
    """The two solids `first` and `second`, which can touch, and the collision element with their force law.

    The solids are sorted by ORDER, so that the pair of a ball and a box is "ball on box" in any model.
    """

    first: Solid
    second: Solid
    collision: Collision

    @property
    def name(self) -> str:
        """The name of the pair: the names of both solids."""
        return f"{self.first.name} on {self.second.name}"


def solids(mechanism: Mechanism) -> list[Solid]:
    """Return all solids of a mechanism: the collision shapes of each body, then the surfaces."""
    found: list[Solid] = []
    for body in mechanism.bodies:
        for part in body.parts:
            shapes = [item for item in part.geometry if item.role == "collision"]
            for number, item in enumerate(shapes, start=1):
                short = part.name if len(shapes) == 1 else f"{part.name} {number}"
                pose = (part.pose @ item.pose).snapped()
                own = item.name or short
                found.append(Solid(own, body.index, pose, item.shape, (own, short, part.name)))
    for surface in cast("Sequence[Surface]", mechanism.surfaces):
        names = (surface.name, surface.body)
        found.append(Solid(surface.name, surface.place.body, surface.place.pose, surface.shape, names))
    return found


def solid_pairs(mechanism: Mechanism) -> tuple[SolidPair, ...]:
    """Return all solid pairs of a mechanism that can touch, collision after collision."""
    found: list[SolidPair] = []
    for collision in cast("Sequence[Collision]", mechanism.collisions):
        found += pairs_of_collision(mechanism, collision)
    return tuple(found)


def pairs_of_collision(mechanism: Mechanism, collision: Collision) -> list[SolidPair]:
    """Return the pairs of solids that can touch according to one collision element."""
    known, apart = solids(mechanism), _connected(mechanism)
    some = _selected(known, collision.solids)
    others = _selected(known, collision.against) if collision.against else some
    if collision.pairs:
        both = [(a, b) for one, two in collision.pairs for a, b in _between(known, one, two)]
    elif collision.against:
        both = list(product(some, others))
    else:
        both = list(combinations(some, 2))
    banned = {frozenset((id(a), id(b))) for one, two in collision.exclude for a, b in _between(known, one, two)}
    found: dict[frozenset[int], SolidPair] = {}
    for a, b in both:
        key = frozenset((id(a), id(b)))
        if a.body != b.body and key not in banned and (collision.pairs or frozenset((a.body, b.body)) not in apart):
            first, second = sorted((a, b), key=_rank)
            found.setdefault(key, SolidPair(first, second, collision))
    return [pair for pair in found.values() if collision.pairs or _rank(pair.first) < UNBOUNDED]


def pair_in_two(mechanism: Mechanism, collision: Collision) -> tuple[SolidPair, Collision] | None:
    """Return the first solid pair that an earlier collision element has too, and this earlier element; else None."""
    owners: dict[frozenset[tuple[object, ...]], Collision] = {}
    for pair in mechanism.solid_pairs:
        first = owners.setdefault(frozenset((_identity(pair.first), _identity(pair.second))), pair.collision)
        if pair.collision.name == collision.name and first.name != collision.name:
            return pair, first
    return None


def _identity(solid: Solid) -> tuple[object, ...]:
    """Return a key that identifies a solid uniquely in its mechanism."""
    return solid.body, solid.names, id(solid.shape), solid.pose.R.tobytes(), solid.pose.p.tobytes()


def _rank(solid: Solid) -> int:
    """Return the index of a solid's shape in ORDER, or the length of ORDER for uneven ground."""
    name = type(solid.shape).__name__
    return ORDER.index(name) if name in ORDER else len(ORDER)


def _between(known: Sequence[Solid], one: str, two: str) -> list[tuple[Solid, Solid]]:
    return list(product(_selected(known, (one,)), _selected(known, (two,))))


def solid_faults(mechanism: Mechanism, collision: Collision) -> Iterator[Fault]:
    """Yield a fault for each unknown name in a collision element, and for each mesh that its key `solids` selects.

    If this key is empty, it selects all solids.
    """
    known = solids(mechanism)
    valid = {name for one in known for name in one.names}
    given = [(role, name) for role in ("solids", "against") for name in getattr(collision, role)]
    given += [(role, name) for role in ("exclude", "pairs") for pair in getattr(collision, role) for name in pair]
    for role, name in given:
        if name not in valid:
            yield Fault(f"{role}: {unknown_name('solid', name, sorted(valid)).reason}", collision.label)
    meshes = [one for one in _selected(known, collision.solids) if isinstance(one.shape, Mesh)]
    for one in meshes:
        yield Fault(f"its solid {one.name!r} is a mesh, which is for display only", collision.label, "use lw.Hull")


def _selected(known: Sequence[Solid], names: Sequence[str]) -> list[Solid]:
    """Return the solids that have one of the given names; all solids if `names` is empty.

    `known` are all solids of the mechanism.
    """
    return [one for one in known if not names or not {*one.names}.isdisjoint(names)]


def _connected(mechanism: Mechanism) -> set[frozenset[int]]:
    """Return the pairs of body numbers that joints and loops connect, without pairs with the world."""
    found = {frozenset((joint.i, joint.o)) for joint in mechanism.joints}
    found |= {frozenset(_ends(one)) for one in mechanism.frame_constraints}
    return {pair for pair in found if WORLD not in pair}


def _ends(loop: FrameConstraint) -> tuple[int, int]:
    return loop.at.body, loop.to.body
