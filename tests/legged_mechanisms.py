"""Legged mechanisms for tests of the balance controller."""

from __future__ import annotations

import numpy as np

import linkwork as lw
from linkwork.spatial.scalar import Array


def quadruped(arm: bool = False) -> lw.Mechanism:
    """Return a base on four legs of three joints with point feet, and with `arm` also an arm of two joints."""
    b = lw.Builder("quadruped")
    b.surface("floor", lw.Plane())
    b.body("body", 20.0, com=(0.02, -0.01, 0.03), inertia=(0.3, 0.8, 0.9)).joint("float", lw.Free(), "world", "body")
    for x in (-1, 1):
        for y in (-1, 1):
            name = f"{'fore' if x > 0 else 'hind'} {'left' if y > 0 else 'right'}"
            parent = "body"
            places = ((0.3 * x, 0.15 * y, 0.0), (0.0, 0.05 * y, 0.0), (0.0, 0.0, -0.3))
            for k in range(3):
                body = f"{name} {k}"
                b.body(body, 0.8, com=(0, 0.01, -0.1), inertia=(0.01, 0.011, 0.003))
                axis = (1, 0, 0) if k == 0 else (0, 1, 0)
                b.joint(f"{name} joint {k}", lw.Revolute(axis), parent, body, at=places[k], damping=0.1, armature=0.002)
                parent = body
            b.frame(f"{name} foot", parent, at=(0, 0, -0.3))
            b.touch(f"{name} ball", parent, (0, 0, -0.3), stiffness=3e4, damping=300.0, friction=0.6)
    if arm:
        b.body("upper", 1.0, com=(0, 0, 0.1), inertia=(0.01, 0.01, 0.002)).body("lower", 0.5, com=(0, 0, 0.1))
        b.joint("shoulder", lw.Revolute((0, 1, 0)), "body", "upper", at=(0.2, 0, 0.1), stiffness=5.0, damping=0.3)
        b.joint("elbow", lw.Revolute((0, 1, 0)), "upper", "lower", at=(0, 0, 0.25), damping=0.1)
    return b.build()


FEET = tuple(f"{end} {side} foot" for end in ("hind", "fore") for side in ("right", "left"))


def crouched(m: lw.Mechanism) -> Array:
    """Return the coordinates (nq,) of a quadruped with bent knees and level feet."""
    q = m.neutral()
    q[2] = 0.52
    for joint in m.joints:
        if joint.name.endswith(("joint 1", "joint 2")):
            q[joint.q] = 0.6 if joint.name.endswith("1") else -1.1
    return q


def seven_joint_biped(waist: bool = False) -> lw.Mechanism:
    """Return a base on two legs of seven joints, with corner contacts at the soles.

    With `waist`, both legs are attached to a common waist joint.
    """
    b = lw.Builder("tall")
    b.surface("floor", lw.Plane())
    b.body("chest", 30.0, com=(0.01, 0, 0.05), inertia=(1.0, 0.9, 0.4)).joint(
        "float", lw.Free(), "world", "chest", at=(0.1, 0.2, 0.0), rpy=(0.1, -0.2, 0.3)
    )
    trunk = "chest"
    if waist:
        b.body("hips", 4.0, inertia=(0.05, 0.05, 0.05))
        b.joint("waist", lw.Revolute((0, 0, 1)), "chest", "hips", at=(0, 0, -0.1))
        trunk = "hips"
    axes = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0))
    for side, y in (("left", 0.12), ("right", -0.12)):
        parent = trunk
        for k, axis in enumerate(axes):
            body = f"{side} {k}"
            b.body(body, 1.5, com=(0.01, 0, -0.05), inertia=(0.02, 0.02, 0.01))
            at = (0, y, -0.05) if k == 0 else (0, 0, -0.3 if k in (3, 5) else -0.02)
            b.joint(f"{side} joint {k}", lw.Revolute(axis), parent, body, at=at)
            parent = body
        b.frame(f"{side} sole", parent, at=(0.03, 0, -0.05), rpy=(0.0, 0.1, 0.0))
        corners = lw.box_corners((0.2, 0.1, 0.1))[:4]
        b.touch(f"{side} corner", parent, corners, stiffness=5e4, damping=500.0, friction=0.5)
    return b.build()


SOLES = ("left sole", "right sole")


def randomly_bent(m: lw.Mechanism, rng: np.random.Generator) -> Array:
    """Return coordinates (nq,) of a legged mechanism with randomly bent joints."""
    return m.integrate(m.neutral(), np.r_[rng.normal(size=6) * 0.2, rng.uniform(0.3, 0.8, size=m.nv - 6)])
