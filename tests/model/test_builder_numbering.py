"""The Builder numbers joints depth-first and merges welded bodies exactly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from call_counting import count_calls
from linkwork.spatial import RigidInertia, Transform
from linkwork.spatial.scalar import Array
from random_mechanisms import random_kind, relative, tree
from random_spatial_quantities import generators, positive, rotation

EPS = 5e-15
Z = (0, 0, 1)
Edge = tuple[str, str]  # parent and child
EDGES: list[Edge] = [("world", "a"), ("a", "b"), ("b", "c"), ("a", "d"), ("world", "e"), ("e", "f"), ("d", "g")]


def declared(bodies: list[str], edges: list[Edge]) -> lw.Mechanism:
    """Bodies and joints declared in this order."""
    b, rng = lw.Builder("tree"), np.random.default_rng(0)
    for name in bodies:
        b.body(name, mass=1.0, inertia=(1, 1, 1))
    kinds = ("revolute", "ball", "planar", "free", "universal", "prismatic", "cylindrical")
    for (parent, child), kind in zip(edges, kinds, strict=False):
        b.joint(f"to {child}", random_kind(rng, kind), parent, child)
    return b.build()


def depth_first(edges: list[Edge], parent: str = "world") -> Iterator[str]:
    for above, child in edges:
        if above == parent:
            yield child
            yield from depth_first(edges, child)


# --- numbering ---


@pytest.mark.parametrize("seed", range(20))
def test_joints_are_numbered_depth_first_in_declaration_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = [EDGES[k] for k in rng.permutation(len(EDGES))]
    m = declared([str(name) for name in rng.permutation(list("abcdefg"))], edges)
    order = list(depth_first(edges))
    assert m.bodies.names == ("world", *order)
    assert m.frames.names == ("world", *order)
    assert m.joints.names == tuple(f"to {name}" for name in order)
    assert [(j.parent, j.child) for j in m.joints] == [next(e for e in edges if e[1] == name) for name in order]


def test_joints_of_one_parent_are_numbered_in_their_order_of_declaration() -> None:
    assert declared(list("gfedcba"), EDGES).bodies.names == ("world", *"abcdgef")


@pytest.mark.parametrize("seed", range(20))
def test_index_slices_of_joints_in_q_and_v_are_contiguous(seed: int) -> None:
    m = tree(seed)
    nq = nv = 0
    for k, joint in enumerate(m.joints):
        assert (joint.o, m.bodies[joint.o].name, m.bodies[joint.i].name) == (k + 1, joint.child, joint.parent)
        assert joint.i < joint.o
        assert (joint.q, joint.v) == (slice(nq, nq + joint.kind.nq), slice(nv, nv + joint.kind.nv))
        nq, nv = joint.q.stop, joint.v.stop
    assert (m.nq, m.nv, m.nbodies) == (nq, nv, len(m.joints))
    assert [body.index for body in m.bodies] == list(range(m.nbodies + 1))
    assert relative(np.array(m.mass), np.array(sum(body.inertia.mass for body in m.bodies[1:]))) < EPS


@pytest.mark.parametrize(("kind", "bodies"), [(lw.Revolute(Z), 600), (lw.Weld(), 0)], ids=["hinges", "welds"])
def test_building_a_long_chain_takes_linear_time(kind: Any, bodies: int) -> None:
    def chain(length: int) -> lw.Mechanism:
        b = lw.Builder("chain")
        for k in range(length):
            b.body(f"link {k}", mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
            b.joint(f"pin {k}", kind, f"link {k - 1}" if k else "world", f"link {k}", at=(1, 0, 0))
        return b.build()

    (_, less), (m, work) = count_calls(chain, 300), count_calls(chain, 600)
    assert work < 2.1 * less
    assert (m.nbodies, m.nv, len(m.frames)) == (bodies, bodies, 601)
    assert m.topology.B.tolist() == list(range(bodies))


# --- SpaceDyn's graph ---


def test_topology_of_the_branched_tree_matches_the_paper() -> None:
    t = lw.example("branched_tree").topology
    assert t.B.tolist() == [0, 1, 2, 3, 4, 4, 2, 7]
    assert t.S.tolist() == [
        [-1, 1, 0, 0, 0, 0, 0, 0],
        [0, -1, 1, 0, 0, 0, 1, 0],
        [0, 0, -1, 1, 0, 0, 0, 0],
        [0, 0, 0, -1, 1, 1, 0, 0],
        [0, 0, 0, 0, -1, 0, 0, 0],
        [0, 0, 0, 0, 0, -1, 0, 0],
        [0, 0, 0, 0, 0, 0, -1, 1],
        [0, 0, 0, 0, 0, 0, 0, -1],
    ]
    assert t.S0.tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
    assert t.Se.tolist() == [0, 0, 0, 0, 1, 1, 0, 1]


def test_topology_of_two_trees_side_by_side_has_two_roots() -> None:
    t = declared(list("abcdefg"), EDGES).topology  # a 1, b 2, c 3, d 4, g 5, e 6, f 7
    assert t.B.tolist() == [0, 1, 2, 1, 4, 0, 6]
    assert t.S0.tolist() == [1, 0, 0, 0, 0, 1, 0]
    assert t.Se.tolist() == [0, 0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize("seed", range(20))
def test_inverse_of_the_incidence_matrix_gives_the_paths_from_the_world(seed: int) -> None:
    m = tree(seed)
    paths = np.zeros((m.nbodies, m.nbodies))
    for j in range(m.nbodies):
        k = j + 1
        while k:
            paths[k - 1, j] = 1.0
            k = m.joints[k - 1].i
    t = m.topology
    assert (-t.S @ paths == np.eye(m.nbodies)).all()
    assert (t.S0 + t.S.sum(axis=0) == 0).all()
    assert (t.Se == (paths.sum(axis=1) == 1)).all()


# --- welds ---


def point_inertia(mass: float, r: Array) -> Array:
    return mass * (r @ r * np.eye(3) - np.outer(r, r))


def test_welded_pair_has_the_inertia_computed_by_hand() -> None:
    for rng in generators(10):
        (ma, mb), (ca, cb, p, tip, at) = rng.uniform(0.5, 2.0, size=2), rng.normal(size=(5, 3))
        Ia, Ib = positive(rng, 3), positive(rng, 3)
        Ia, Ib = (np.trace(A) * np.eye(3) - A for A in (Ia, Ib))  # so that the triangle inequality holds
        R, Q = rotation(rng), rotation(rng)
        b = lw.Builder("welded").body("arm", ma, ca, Ia).body("tool", mb, cb, Ib).body("tip", 1.0, (1, 0, 0))
        b.joint("hinge", lw.Revolute(Z), "world", "arm").joint("glue", lw.Weld(), "arm", "tool", p, rotation=R)
        b.joint("wrist", lw.Revolute(Z), "tool", "tip", at, rotation=Q).frame("eye", "tool", tip)
        m = b.build()
        cb_in_arm, mass = p + R @ cb, ma + mb
        com = (ma * ca + mb * cb_in_arm) / mass
        inertia = Ia + point_inertia(ma, ca - com) + R @ Ib @ R.T + point_inertia(mb, cb_in_arm - com)
        expected = RigidInertia.of(mass, com, inertia)
        assert relative(m.bodies["arm"].inertia.matrix, expected.matrix) < EPS
        assert relative(m.joints["wrist"].place.matrix, Transform(R @ Q, p + R @ at).matrix) < EPS
        assert (m.joints["wrist"].parent, m.joints["wrist"].i) == ("arm", 1)
        assert relative(m.frames["eye"].pose.p, p + R @ tip) < EPS
        assert relative(m.frames["tool"].pose.matrix, Transform(R, p).matrix) < EPS
        assert [frame.body for frame in m.frames] == [0, 1, 1, 2, 1]
        assert (m.bodies.names, m.joints.names) == (("world", "arm", "tip"), ("hinge", "wrist"))
        assert m.frames.names == ("world", "arm", "tool", "tip", "eye")
        assert [part.name for part in m.bodies["arm"].parts] == ["arm", "tool"]


def test_parts_welded_to_the_world_support_joints_and_never_move() -> None:
    b = lw.Builder("crane").body("tower", mass=100.0).body("mast", mass=50.0).body("jib", 1.0, (1, 0, 0))
    b.joint("bolts", lw.Weld(), "world", "tower", at=(0, 0, 2)).joint(
        "more bolts", lw.Weld(), "tower", "mast", (1, 0, 3)
    )
    m = b.joint("slew", lw.Revolute(Z), "mast", "jib", at=(0, 4, 0)).frame("lamp", "mast", at=(0, 0, 1)).build()
    assert m.bodies.names == ("world", "jib")
    assert (m.mass, m.nbodies, m.nv) == (1.0, 1, 1)
    assert (m.joints["slew"].i, m.joints["slew"].parent) == (0, "world")
    assert m.joints["slew"].place.p.tolist() == [1.0, 4.0, 5.0]
    poses = {name: (m.frames[name].body, m.frames[name].pose.p.tolist()) for name in ("tower", "mast", "lamp")}
    assert poses == {"tower": (0, [0.0, 0.0, 2.0]), "mast": (0, [1.0, 0.0, 5.0]), "lamp": (0, [1.0, 0.0, 6.0])}


# --- limits and text ---


@pytest.mark.parametrize(
    "limits",
    [
        (0.2, 0.3),
        (-9.0, -8.0),
        (0.7, np.inf),
        (-np.inf, -0.7),
        (5.0, np.inf),
        ((0.2, -np.inf, 0.5), (0.3, np.inf, 0.6)),
    ],
    ids=str,
)
def test_random_positions_are_within_the_joint_limits(limits: tuple[Any, Any]) -> None:
    b = lw.Builder("limited").body("a", mass=1.0, inertia=(1, 1, 1))
    m = b.joint("j", lw.Planar(), "world", "a", limits=limits).build()
    q = np.array([m.random(seed) for seed in range(100)])
    assert (q >= np.array(limits[0])).all()
    assert (q <= np.array(limits[1])).all()
    assert len(np.unique(q)) == q.size


def test_joint_with_equal_limits_has_one_random_position() -> None:
    b = lw.Builder("stuck").body("a", mass=1.0, inertia=(1, 1, 1))
    assert b.joint("j", lw.Universal(), "world", "a", limits=(2, 2)).build().random(0).tolist() == [2.0, 2.0]


def test_printed_text_of_a_mechanism_shows_its_tree() -> None:
    b = lw.Builder("robot").body("upper", 2.0, inertia=(1, 1, 1)).body("cuff", 0.5).body("fore", 1.0, (1, 0, 0))
    b.joint("shoulder", lw.Ball(), "world", "upper").joint("glue", lw.Weld(), "upper", "cuff")
    b.joint("elbow", lw.Revolute(Z), "cuff", "fore").body("cart", 2.25, inertia=(1, 1, 1))
    m = b.joint("rail", lw.Planar(), "world", "cart").build()
    assert str(m).splitlines() == [
        "robot: 7 degrees of freedom, 5.75 kg",
        "world",
        "├─ upper  [shoulder: Ball, 2.5 kg, with cuff]",
        "│  └─ fore  [elbow: Revolute, 1 kg]",
        "└─ cart  [rail: Planar, 2.25 kg]",
    ]
    assert repr(m) == "<Mechanism 'robot': 3 bodies, 3 joints, nq=8, nv=7>"
