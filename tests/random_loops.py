"""Random trees with random loops of every kind, which are closed at a known position, and states of these trees."""

from __future__ import annotations

from functools import cache

import numpy as np

import linkwork as lw
from linkwork.algorithms.kinematics import joint_poses, world_poses
from linkwork.model.bodies import Place
from linkwork.model.elements.loop import Loop
from linkwork.model.joints import ClosingKind
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array
from random_mechanisms import State, random_kind, state, tree, tree_with_mimics

HOLDING = (
    "revolute",
    "prismatic",
    "screw",
    "cylindrical",
    "universal",
    "ball",
    "planar",
    "weld",
    "rod",
    "point on line",
)
MESHING = ("gear", "rack")
CLOSING_KINDS = (*HOLDING, *MESHING)


def random_closure(rng: np.random.Generator, name: str) -> tuple[ClosingKind, Transform]:
    """Return a loop kind, and a random pose of its frame B in its frame A at which the loop is closed."""
    if name == "rod":
        ends = rng.normal(size=3)
        return lw.Rod(float(np.linalg.norm(ends))), Transform(random_rotation(rng), ends)
    if name == "point on line":
        kind = lw.PointOnLine(rng.normal(size=3))
        return kind, Transform(random_rotation(rng), np.array(kind.axis) * rng.normal())
    if name in MESHING:
        return random_mesh(rng, name)
    kind = random_kind(rng, name)
    return kind, kind.transform(kind.random(rng))


def random_mesh(rng: np.random.Generator, name: str) -> tuple[ClosingKind, Transform]:
    """Return a gear (external or internal) or a rack, and a pose with parallel axes in which its teeth mesh."""
    turn = lw.Cylindrical(rng.normal(size=3))
    n, X = turn.n, turn.transform(rng.normal(size=2))
    across = np.cross(n, rng.normal(size=3))
    if name == "gear":
        X = Transform(X.R, X.p + across)
        teeth = int(rng.integers(7, 20)), int(rng.integers(21, 40)) * int(rng.choice([1, -1]))
        return lw.Gear(*teeth, n, phase=lw.Gear(*teeth, n).closing[0].error(X)), X
    kind = lw.Rack(float(rng.uniform(0.1, 0.4)), n, across, teeth=int(rng.integers(1, 30)))
    u, (row,) = np.array(kind.direction), kind.closing
    X = Transform(X.R, X.p + X.R @ np.cross(n, u))
    return kind, Transform(X.R, X.p + X.R @ u * row.error(X))


def random_rotation(rng: np.random.Generator) -> Array:
    """Return a random rotation matrix (3, 3)."""
    return lw.Ball().transform(lw.Ball().random(rng)).R


def with_loops(m: lw.Mechanism, q: Array, kinds: tuple[str, ...], rng: np.random.Generator) -> lw.Mechanism:
    """Return the mechanism with one more loop of each kind, closed at q, between body parts or to the world."""
    X_0 = world_poses(m.tree, joint_poses(m.tree, m.tree_position(q)))
    home = {part.name: (body.index, part.pose) for body in m.bodies for part in body.parts}
    home["world"] = (0, Transform.identity())
    loops = list(m.loops)
    for name in kinds:
        kind, X = random_closure(rng, name)
        a, b = random_pair_of_parts(home, rng)
        at = Place.stated(Transform(random_rotation(rng), rng.normal(size=3) * 0.5))
        A = X_0[home[a][0]] @ home[a][1] @ at.offset
        to = Place.stated((X_0[home[b][0]] @ home[b][1]).inverse() @ A @ X)
        loops.append(Loop(f"{name} {len(loops)}", kind, a, b, at, to).placed(home))
    return m.with_elements("loops", loops)


def random_pair_of_parts(home: dict[str, tuple[int, Transform]], rng: np.random.Generator) -> tuple[str, str]:
    """Return the names of two parts of different bodies; often one is the world."""
    names = list(home)
    while True:
        a, b = (str(name) for name in rng.choice(names, 2))
        if home[a][0] != home[b][0]:
            return a, b


def relative_eigenvalues(m: lw.Mechanism, q: Array) -> Array:
    """Return the eigenvalues of J M^-1 J^T divided by their mean.

    The smallest one shows how nearly redundant the loops are.
    """
    d = lw.compile(m, target="numpy")
    J = d.constraint_jacobian(q)
    sizes = np.linalg.eigvalsh(J @ np.linalg.solve(d.mass_matrix(q), J.T))
    return sizes / sizes.mean()


@cache
def looped_tree(seed: int, kinds: tuple[str, ...], mimics: bool = False) -> tuple[lw.Mechanism, State]:
    """Return the random tree number `seed` with independent loops of these kinds, and a state that satisfies them."""
    m = tree_with_mimics(seed) if mimics else tree(seed)
    s = state(m, seed)
    for attempt in range(200):
        closed = with_loops(m, s.q, kinds, np.random.default_rng([seed, 11, attempt]))
        if (
            relative_eigenvalues(closed, s.q).min() > 1e-2
        ):  # so that the iterations remove the effect of damping of 1e-7
            v = lw.compile(closed, target="numpy").consistent(s.q, s.v)
            return closed, s._replace(v=v)
    raise AssertionError(f"no loops {kinds} on tree {seed} are independent")


CASES = [(seed, (kind,), False) for seed, kind in enumerate(HOLDING * 2, start=5)]
CASES += [(seed, (kind,), True) for seed, kind in enumerate(HOLDING, start=8)]
CASES += [(26, ("ball", "rod", "universal"), False), (16, ("screw", "point on line"), True)]
CASES += [(27, ("revolute", "planar", "rod"), False), (5, ("rod", "rod"), False)]
CASES += [(6, ("gear",), False), (7, ("rack",), False), (9, ("gear",), True), (13, ("rack",), True)]
CASES += [(17, ("gear", "gear"), False), (21, ("rack", "screw"), False)]
SMALL = [case for case in CASES if case[0] < 16]  # with every kind


def label(case: tuple[int, tuple[str, ...], bool]) -> str:
    """Return the name of a test case in reports."""
    seed, kinds, mimics = case
    return f"{' and '.join(kinds)} on {seed}{' with mimics' * mimics}"
