"""A test mechanism with elements of every kind, with default and with other values."""

from __future__ import annotations

import numpy as np

import linkwork as lw

TURN = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]


def frame() -> lw.Builder:
    """Return a Builder with seven wheels, an arm on the first, and a free body with a welded cuff; some have shapes."""
    b = lw.Builder("everything")
    for k, name in enumerate("abcdefg"):
        b.body(name, 1.0, (0.1, 0, 0), (1, 1, 1))
        b.joint(name, lw.Revolute((0, 1, 0)), "world", name, at=(float(k), 0, 0))
    b.body("free", 1.0, inertia=(1, 1, 1)).joint("free", lw.Free(), "world", "free")
    b.body("cuff", 1.0, inertia=(1, 1, 1))
    b.joint("glue", lw.Weld(), "free", "cuff", at=(0.2, 0.1, 0), rpy=(0.1, 0.2, 0.3))
    b.geometry("g", lw.Sphere(0.1), role="collision").geometry("free", lw.Box((0.1, 0.2, 0.3)), role="collision")
    b.geometry("tip", lw.Capsule(0.1, 0.2), role="collision")
    return b.body("tip", 1.0, inertia=(1, 1, 1)).joint("tip", lw.Revolute(), "a", "tip", at=(0, 0, 1))


def mechanism_with_all_elements() -> lw.Builder:
    """Return a Builder with bodies, joints and elements of every kind."""
    b = frame()
    b.close("pin", lw.Ball(), "a", "cuff", (0, 0, 1), (0.1, 0, 0), rpy=(0.1, 0.2, 0.3), to_rotation=TURN)
    b.close("mesh", lw.Gear(20, 30, (0, 1, 0)), "a", "b", closed=False).close("rod", lw.Rod(0.5), "c", "world")
    limits = {"control_limits": (-1, np.inf), "force_limits": (-3, 4), "stall_torque": 3, "no_load_speed": 100}
    losses = {"gear": 2, "rotor_inertia": 0.1, "efficiency": (0.9, 0.8)}
    b.drive("motor", {"a": 20, "free": (0, 0, 0, 1, 2, 3)}, gain=2, bias=(1, 0, -0.1), **limits, **losses)
    b.drive("plain", {"b": 1}).drive("cable", {"tip": 2.0}, measured_from="world")
    b.clutch("clutch", "a", "b").clutch("sum", {"a": 1, "b": -0.5}, {"c": 2.0}, -1.5, 10.0, True)
    b.brake("brake", "c", 5, True).brake("hold", "free", engaged=False)
    b.ratchet("ratchet", "d").ratchet("one way", "d", {"e": 2.0}, 2.0, 4.0, False, -1)
    b.latch("latch", "e", 0.5).latch("up", "f", 0.7, "below", True)
    b.transmission("gearbox", "f", "g", (3.0, 2.0, 1.0), 2).differential("axle", "a", "f", "g", 0.5, False)
    b.couple("wheel", {"free": (0, 1, 0, 0, 0, 0.3), "g": -0.2}).couple("two", {"d": 1, "e": 2}, False)
    b.surface("ground", lw.Plane()).surface("step", lw.Box((1, 1, 0.1)), "a", (0, 0, 1), (0, 0, 0.3))
    b.surface("terrain", lw.HeightField((1, 1), [[0, 0.1], [0.1, 0.2]]))
    b.touch("point", "cuff", (0.1, 0.2, 0.3), stiffness=1e4, damping=10)
    along = {"tangential_stiffness": 1e3, "friction": (0.8, 0.6), "rest_speed": 1e-2}
    b.touch(
        "ball", "a", radius=0.1, against="ground", stiffness=1e4, rolling=0.01, spinning=0.02, dissipation=0.3, **along
    )
    corners = lw.box_corners((1, 1, 1))[:2]
    b.touch("rigid", "b", corners, friction=0.4, restitution=0.5, against=("ground", "terrain"))
    b.collide("bump", "g", "free", stiffness=2e4, damping=5, friction=(0.8, 0.6), restitution=0.4)
    b.collide("press", pairs=[("free", "tip")], exclude=[("free", "g")], stiffness=1e4, **along)
    b.spring("spring", "a", "cuff", (0, 0, 0.1), stiffness=9, damping=0.5, length=0.2)
    b.friction("tip", lw.Bearing(0.1, 0.02, 0.01, 0.2, length=0.3, stribeck=0.4)).friction("f", lw.DryFriction(2, 3))
    return b.spring("damper", "world", "b", damping=1.0)
