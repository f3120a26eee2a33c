"""Two closed-loop problems of the IFToMM library of benchmarks, N four-bars and Bricard's linkage, and a pinned body.

All rods of the linkages are 1 m long and have a mass of 1 kg; gravity is 9.81 m/s^2 along -y.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

import linkwork as lw
from linkwork.spatial.scalar import Array

GRAVITY = 9.81
Z = lw.Revolute((0, 0, 1))


def rod_inertia(along: Array) -> tuple[float, ...]:
    """Return the moments of inertia (3,) [kg m^2] of a rod along a coordinate axis, about its centre."""
    return tuple(1e-4 if x else 1.0 / 12.0 for x in along)


def four_bars(windows: int) -> lw.Mechanism:
    """Return the benchmark "N four-bars": upright bars on the ground, joined by rods between their tops.

    In the keyframe "start" the bars are upright and turn at -1 rad/s. Whenever the bars are horizontal, each loop can
    change from a parallelogram to an antiparallelogram.
    """
    b, speeds = lw.Builder("four-bars", gravity=(0, -GRAVITY, 0)), {}
    for i in range(windows + 1):
        b.body(f"bar {i}", 1.0, com=(0, 0.5, 0), inertia=rod_inertia(np.array([0, 1, 0])))
        b.joint(f"ground {i}", Z, "world", f"bar {i}", at=(i, 0, 0))
        speeds[f"ground {i}"] = -1.0
        if i:
            b.body(f"top {i}", 1.0, com=(0.5, 0, 0), inertia=rod_inertia(np.array([1, 0, 0])))
            b.joint(f"knee {i}", Z, f"bar {i - 1}", f"top {i}", at=(0, 1, 0))
            b.close(f"loop {i}", Z, f"top {i}", f"bar {i}", at=(1, 0, 0), to=(0, 1, 0))
            speeds[f"knee {i}"] = 1.0
    return b.keyframe("start", {}, speeds).build()


def signs(m: lw.Mechanism) -> Array:
    """Return the ratio (nv,) of each joint angle to the angle of the bars, for N four-bars as parallelograms."""
    return np.array([-1.0 if j.name.startswith("knee") else 1.0 for j in m.joints])


def bar_angles(windows: int, t: Array) -> Array:
    """Return the angles (T,) [rad] of the bars of N four-bars, which move as a pendulum, to 1e-10.

    The motion starts at the keyframe "start".
    """
    inertia, moment = (windows + 1) / 3.0 + windows, (windows + 1) / 2.0 + windows
    rate = GRAVITY * moment / inertia

    def fall(_: float, y: Array) -> list[float]:
        return [y[1], rate * np.sin(y[0])]

    return solve_ivp(fall, (0.0, t[-1]), [0.0, -1.0], "DOP853", rtol=1e-12, atol=1e-12, t_eval=t).y[0]


def bricard() -> lw.Mechanism:
    """Return Bricard's linkage: five rods and the ground along six edges of a cube, with a hinge at each corner.

    One of the five constraint rows of its loop is redundant in every position; the linkage has one degree of freedom.
    """
    corners = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1), (0, 1, 1), (0, 0, 1)], dtype=float)
    edges = np.roll(corners, -1, axis=0) - corners
    axes = [lw.Revolute(np.cross(edges[k - 1], edges[k])) for k in range(6)]
    b, parent, origin = lw.Builder("bricard", gravity=(0, -GRAVITY, 0)), "world", np.zeros(3)
    for k in range(5):
        b.body(f"rod {k}", 1.0, com=edges[k] / 2, inertia=rod_inertia(edges[k]))
        b.joint(f"hinge {k}", axes[k], parent, f"rod {k}", at=corners[k] - origin)
        parent, origin = f"rod {k}", corners[k]
    return b.close("hinge 5", axes[5], "rod 4", "world", at=corners[5] - origin, to=corners[5]).build()


def pinned_body(pin: Array) -> lw.Mechanism:
    """Return a free body whose point `pin` (3,) [m] is connected to the world by a ball joint as a loop."""
    b = lw.Builder("pinned").body("body", 1.0, inertia=(0.02, 0.03, 0.04))
    return b.joint("free", lw.Free(), "world", "body").close("pin", lw.Ball(), "world", "body", to=pin).build()
