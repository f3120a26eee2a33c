"""Seeded random mechanisms with every joint kind, and random states of these mechanisms."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

import linkwork as lw
from linkwork.model import JointKind
from linkwork.model.bodies import Place
from linkwork.model.elements.spring import Spring
from linkwork.model.mechanism import numbered
from linkwork.model.mimic_joints import Mimic
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array
from quick_test_selection import mark_slow_except

TREES = 300  # for tests of mechanics identities
QUICK = 30  # of them always: every size once, every kind of joint often
GROUPS = mark_slow_except(
    [range(start, start + 10) for start in range(0, TREES, 10)],
    [range(start, start + 10) for start in range(0, QUICK, 10)],
    name=lambda seeds: f"trees-{seeds.start}",
)
MOVING_KINDS = ("revolute", "prismatic", "screw", "cylindrical", "universal", "ball", "planar", "free")


class State(NamedTuple):
    """One random state of a mechanism: positions, velocities, accelerations, joint forces and wrenches."""

    q: Array
    v: Array
    a: Array
    tau: Array
    wrenches: Array


def random_kind(rng: np.random.Generator, name: str) -> JointKind:
    axis = rng.normal(size=3) if rng.random() < 0.5 else np.eye(3)[rng.integers(3)]
    match name:
        case "revolute":
            return lw.Revolute(axis)
        case "prismatic":
            return lw.Prismatic(axis)
        case "screw":
            return lw.Screw(axis, pitch=rng.normal() * 0.2)
        case "cylindrical":
            return lw.Cylindrical(axis)
        case "universal":
            return lw.Universal(axis, np.cross(axis, rng.normal(size=3)))
        case "ball":
            return lw.Ball()
        case "planar":
            return lw.Planar(axis)
        case "free":
            return lw.Free()
        case _:
            return lw.Weld()


def random_inertia(rng: np.random.Generator, size: float = 0.3) -> Array:
    """Return a physical inertia (3, 3) per kg about the centre of mass: that of random points."""
    points = rng.normal(size=(8, 3)) * size
    points -= points.mean(axis=0)
    second = points.T @ points / 8.0
    return np.trace(second) * np.eye(3) - second


@lru_cache(maxsize=400)
def tree(seed: int) -> lw.Mechanism:
    """Return the random tree number `seed`: 1 to 30 movable joints, branches, welds, armature on some joints.

    The base is fixed or free.
    """
    rng = np.random.default_rng(seed)
    njoints = 1 + seed % 30
    b = lw.Builder(f"tree {seed}", gravity=rng.normal(size=3) * 9.81 if seed % 3 else (0, 0, 0))
    bodies = ["world"]
    movable = 0
    while movable < njoints:
        k = len(bodies)
        if movable == 0 and seed % 2:
            kind, parent = "free", "world"
        else:
            # Every kind comes up in turn; a free joint inside a tree is rare but allowed.
            kind = "weld" if k > 1 and rng.random() < 0.1 else MOVING_KINDS[(seed + movable) % 8]
            chain = rng.random() < 0.6
            parent = bodies[-1] if chain else bodies[int(rng.integers(len(bodies)))]
        name = f"body {k}"
        mass = float(rng.uniform(0.5, 3.0))
        b.body(name, mass=mass, com=rng.normal(size=3) * 0.2, inertia=mass * random_inertia(rng))
        b.joint(
            f"joint {k}",
            random_kind(rng, kind),
            parent,
            name,
            at=rng.normal(size=3) * 0.4,
            rpy=rng.uniform(-3, 3, size=3),
            armature=float(rng.uniform(0.0, 0.2)) if rng.random() < 0.4 else 0.0,
            damping=float(rng.uniform(0.0, 2.0)),
            stiffness=float(rng.uniform(0.0, 5.0)),
        )
        bodies.append(name)
        movable += kind != "weld"
    b.frame("probe", body=bodies[-1], at=rng.normal(size=3), rpy=rng.uniform(-3, 3, size=3))
    return b.build()


@lru_cache(maxsize=50)
def revolute_tree(seed: int) -> lw.Mechanism:
    """Return a branched tree of 1 to 16 revolute joints, on the world or on a free body.

    It has welds, armature and gravity.
    """
    rng = np.random.default_rng([seed, 9])
    b = lw.Builder(f"revolute tree {seed}", gravity=rng.normal(size=3) * 9.81)
    bodies = ["world"]
    for k in range(1 + seed % 16 + 2 * (seed % 2)):
        name, mass = f"body {k}", float(rng.uniform(0.5, 3.0))
        kind = (
            lw.Free() if k == 0 and seed % 2 else random_kind(rng, "weld" if k and rng.random() < 0.1 else "revolute")
        )
        outer = bodies[1:] if seed % 2 and k else bodies
        parent = outer[-1] if rng.random() < 0.5 else outer[int(rng.integers(len(outer)))]
        b.body(name, mass=mass, com=rng.normal(size=3) * 0.2, inertia=mass * random_inertia(rng))
        rotor = float(rng.uniform(0.0, 0.2)) if rng.random() < 0.4 else 0.0
        at, rpy = rng.normal(size=3) * 0.4, rng.uniform(-3, 3, size=3)
        b.joint(f"joint {k}", kind, parent, name, at, rpy, armature=rotor)
        bodies.append(name)
    return b.build()


@cache
def tree_with_mimics(seed: int) -> lw.Mechanism:
    """Return a random tree in which some single-coordinate joints are mimic joints of other joints."""
    m, rng = tree(seed), np.random.default_rng([seed, 7])
    names = [j.name for j in m.joints if j.kind.nq == j.kind.nv == 1]
    rng.shuffle(names)
    followers, leaders = names[: len(names) // 2], names[len(names) // 2 :]
    numbers = rng.uniform(-2.0, 2.0, size=(len(followers), 2)).tolist()
    pairs = [Mimic(name, str(rng.choice(leaders)), *two) for name, two in zip(followers, numbers, strict=True)]
    return replace(m, joints=numbered(m.joints, {mimic.joint: mimic for mimic in pairs}))


@cache
def tree_with_springs(seed: int, mimics: bool = False) -> lw.Mechanism:
    """Return a random tree with three springs and dampers between its bodies, one of them to the world.

    With `mimics`, some joints are mimic joints.
    """
    m, rng = tree_with_mimics(seed) if mimics else tree(seed), np.random.default_rng([seed, 8])
    springs = []
    for k in range(3):
        a, b = rng.choice(np.arange(k > 0, len(m.bodies)), 2, replace=False) if k and m.nbodies > 1 else (0, m.nbodies)
        places = [Place.stated(Transform.identity()).on(int(body), _point(rng)) for body in (a, b)]
        numbers = rng.uniform((5.0, 0.1, 0.1), (50.0, 2.0, 1.0)).tolist()
        own = dict(zip(("stiffness", "damping", "length"), numbers, strict=True))
        springs.append(Spring(f"spring {k}", m.bodies[a].name, m.bodies[b].name, *places, **own))
    return m.with_elements("springs", springs)


def _point(rng: np.random.Generator) -> Transform:
    return Transform(np.eye(3), rng.normal(size=3) * 0.5)


def state(m: lw.Mechanism, seed: int, near: str = "anywhere") -> State:
    """Return a random state: anywhere, 1e-7 from the neutral position, or near gimbal positions (quarter turns)."""
    rng = np.random.default_rng(seed + 10_000)
    if near == "anywhere":
        q = m.random(rng)
    elif near == "identity":
        q = m.integrate(m.neutral(), rng.normal(size=m.nv) * 1e-7)
    else:
        quarter = rng.integers(-1, 3, size=m.nv) * (np.pi / 2)
        q = m.integrate(m.neutral(), quarter + rng.normal(size=m.nv) * 1e-9)
    v, a, tau = rng.normal(size=(3, m.nv))
    return State(q, v, a, tau * 5.0, rng.normal(size=(m.nbodies, 6)))


def relative(found: Array, expected: Array, scale: float = 0.0) -> float:
    """Return the largest difference divided by the largest expected value (or by `scale`, if larger)."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), scale, 1e-300)) if found.size else 0.0


def hanging_chain(links: int) -> lw.Builder:
    """Return a Builder with a chain of hanging links with alternating joint axes."""
    b = lw.Builder("chain")
    for k in range(links):
        b.body(f"link {k}", 1.0, com=(0.1, 0.02, 0.03), inertia=(0.01, 0.02, 0.025))
        below, at = ("world", (0, 0, 0)) if not k else (f"link {k - 1}", (0.2, 0, 0))
        b.joint(f"joint {k}", lw.Revolute((1, 0, 0) if k % 2 else (0, 1, 0)), below, f"link {k}", at=at)
    return b
