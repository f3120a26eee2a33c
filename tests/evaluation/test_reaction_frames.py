"""Reactions about any frame are the same wrenches, shifted; about the world they sum to the momentum rate."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.scalar import Array
from random_loops import CASES, label, looped_tree
from random_mechanisms import relative, state, tree

Case = tuple[int, tuple[str, ...], bool]
SOME = [CASES[k] for k in (0, 1, 5, 20, 30, 33, 34)]


def moved(wrench: Array, pose: Array, about: Array) -> Array:
    """Return a wrench (6,), given in a frame of pose `pose` (4, 4), in the axes and about the origin of `about`."""
    X = np.linalg.inv(about) @ pose
    force = X[:3, :3] @ wrench[:3]
    return np.concatenate([force, X[:3, :3] @ wrench[3:] + np.cross(X[:3, 3], force)])


def children(m: lw.Mechanism) -> list[str]:
    """Return the default frames of reactions: the child of each joint and part b of each loop."""
    return [*(joint.child for joint in m.joints), *(loop.b for loop in m.loops)]


@pytest.mark.parametrize("case", SOME, ids=label)
def test_reactions_in_another_frame_are_the_same_wrenches_shifted(case: Case) -> None:
    m, s = looped_tree(*case)
    d = lw.compile(m, target="numpy")
    own = d.reactions(s.q, s.v, s.tau, s.wrenches)
    for frame in ("world", "probe", m.bodies[-1].name, *(part.name for body in m.bodies for part in body.parts[1:2])):
        about = d.pose(s.q, frame)
        expected = [moved(w, d.pose(s.q, name), about) for w, name in zip(own, children(m), strict=True)]
        assert relative(d.reactions(s.q, s.v, s.tau, s.wrenches, frame), np.array(expected)) < 1e-12


def on_bodies_about_the_world(m: lw.Mechanism, through: Array) -> Array:
    """Return the wrenches (nbodies, 6) on the bodies from the wrenches through joints and loops.

    All wrenches are about the world's origin.
    """
    total = np.zeros((len(m.bodies), 6))
    ends = [*((joint.i, joint.o) for joint in m.joints), *((loop.at.body, loop.to.body) for loop in m.loops)]
    for (a, b), wrench in zip(ends, through, strict=True):
        total[b] += wrench
        total[a] -= wrench
    return total[1:]


def momenta_about_the_world(m: lw.Mechanism, d: lw.Dynamics, q: Array, v: Array) -> Array:
    """Momentum (nbodies, 6) of each body about the world's origin, in its axes, from its parts."""
    found = np.zeros((m.nbodies, 6))
    poses, twists = d.poses(q), d.velocities(q, v)
    for k, body in enumerate(m.bodies[1:]):
        R, p = poses[k][:3, :3], poses[k][:3, 3]
        for part in body.parts:
            com = part.pose.R @ part.com + part.pose.p
            speed = R @ (twists[k][:3] + np.cross(twists[k][3:], com))
            xx, yy, zz, xy, xz, yz = part.inertia
            inertia = part.pose.R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ part.pose.R.T
            spin = R @ (inertia @ twists[k][3:]) + np.cross(R @ com + p, part.mass * speed)
            found[k] += np.concatenate([part.mass * speed, spin])
    return found


def weights_about_the_world(m: lw.Mechanism, d: lw.Dynamics, q: Array) -> Array:
    """Wrench of gravity (nbodies, 6) on each body, about the world's origin."""
    found = np.zeros((m.nbodies, 6))
    for k, body in enumerate(m.bodies[1:]):
        X = d.poses(q)[k]
        for part in body.parts:
            com = X[:3, :3] @ (part.pose.R @ part.com + part.pose.p) + X[:3, 3]
            found[k] += np.concatenate([part.mass * m.gravity, np.cross(com, part.mass * m.gravity)])
    return found


@pytest.mark.parametrize("case", SOME, ids=label)
def test_reactions_about_the_world_sum_to_the_momentum_rate(case: Case) -> None:
    """On every body: joints, loops, gravity and external wrenches. Drive rotors, as armature, are not included."""
    m, s = looped_tree(*case)
    d = lw.compile(m, target="numpy")
    a = d.forward_dynamics(s.q, s.v, s.tau, s.wrenches)
    through = d.reactions(s.q, s.v, s.tau, s.wrenches, "world")
    outside = [moved(w, X, np.eye(4)) for w, X in zip(s.wrenches, d.poses(s.q), strict=True)]
    total = on_bodies_about_the_world(m, through) + weights_about_the_world(m, d, s.q) + outside

    def momenta(t: float) -> Array:
        return momenta_about_the_world(m, d, m.integrate(s.q, t * s.v + t * t / 2 * a), s.v + t * a)

    h = 1e-4
    rate = (8.0 * (momenta(h) - momenta(-h)) - (momenta(2 * h) - momenta(-2 * h))) / (12.0 * h)
    assert relative(total, rate) < 1e-7


def test_reaction_frames_work_with_batches_kernels_and_out() -> None:
    m, s = looped_tree(5, ("rod", "rod"))
    plain, fast = lw.compile(m, target="numpy"), lw.compile(m)
    q = np.stack([s.q, s.q, s.q])
    tau = np.stack([s.tau, 2.0 * s.tau, 0.0 * s.tau])
    expected = np.array([plain.reactions(s.q, s.v, t, frame="probe") for t in tau])
    out = np.zeros_like(expected)
    assert fast.reactions(q, s.v, tau, frame="probe", out=out) is out
    assert relative(out, expected) < 1e-11
    assert relative(fast.reactions(s.q, s.v, tau[1], None, "probe"), expected[1]) < 1e-11
    assert relative(fast.reactions(s.q, s.v, tau[1]), plain.reactions(s.q, s.v, tau[1])) < 1e-11
    assert relative(fast.reactions(s.q, s.v, tau[1], frame="probe"), expected[1]) < 1e-11


def test_reactions_follow_a_frame_that_parameters_move() -> None:
    m, s = tree(8), state(tree(8), 8)
    name = f"{m.joints[0].name}.at"
    varied = lw.compile(m, [name], target="numpy")
    changed = lw.compile(m.with_parameters({name: (1.0, 2.0, 3.0)}), target="numpy")
    found = varied.reactions(s.q, s.v, s.tau, frame="world", parameters={name: (1.0, 2.0, 3.0)})
    assert relative(found, changed.reactions(s.q, s.v, s.tau, frame="world")) < 1e-13


def test_unknown_frames_are_rejected() -> None:
    m, s = tree(8), state(tree(8), 8)
    with pytest.raises(lw.ModelError, match=r"no frame 'prob'\. Did you mean 'probe'"):
        lw.compile(m).reactions(s.q, s.v, s.tau, frame="prob")
