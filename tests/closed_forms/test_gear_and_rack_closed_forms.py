"""Gears and racks against closed forms: ratios, Willis' equation, inertia at the input, tooth forces."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.scalar import Array
from random_mechanisms import relative

Z = (0.0, 0.0, 1.0)
INERTIAS = 0.02, 0.3


def solve(m: lw.Mechanism) -> lw.Dynamics:
    return lw.compile(m, target="numpy")


def pair(teeth: int, to_teeth: int, distance: float = 0.3, axis: Array | None = None) -> lw.Mechanism:
    """Two wheels on fixed axes; the second is along x from the first, or along -x if the first is a ring."""
    R = np.eye(3) if axis is None else lw.Ball().transform(axis).R
    b = lw.Builder("pair", gravity=(0, 0, 0))
    x = distance if teeth + to_teeth > 0 else -distance
    for name, inertia, at in (("first", INERTIAS[0], 0.0), ("second", INERTIAS[1], x)):
        b.body(name, 1.0, inertia=(inertia, inertia, inertia))
        b.joint(name, lw.Revolute(Z), "world", name, at=R @ [at, 0, 0], rotation=R)
    return b.close("mesh", lw.Gear(teeth, to_teeth), "first", "second", to_rpy=(0, 0, np.pi)).build()


PAIRS = [(20, 40), (40, 20), (17, 17), (17, -51), (-60, 24)]


@pytest.mark.parametrize(("teeth", "to_teeth"), PAIRS)
def test_gear_speeds_have_the_ratio_of_their_teeth(teeth: int, to_teeth: int) -> None:
    """At any angle, on any axes, over many turns."""
    ratio = -teeth / to_teeth
    for axis in (None, np.array([0.5, -0.5, 0.1, 0.7])):
        d = solve(pair(teeth, to_teeth, axis=axis))
        (free,) = d.mechanism.check_loops([0.0, 0.0]).free
        assert abs(free[1] / free[0] - ratio) < 1e-13
        for angle in np.linspace(-30.0, 30.0, 41):
            assert abs(d.constraint([angle, ratio * angle])[0]) < 1e-13
            tooth = 2.0 * np.pi / abs(to_teeth)
            assert abs(d.constraint([angle, ratio * angle + 7.0 * tooth])[0]) < 1e-13
            assert abs(d.constraint([angle, ratio * angle + 0.3 * tooth])[0] - 0.3 * tooth) < 1e-13


@pytest.mark.parametrize(("teeth", "to_teeth"), PAIRS)
def test_inertia_at_the_input_of_a_gear_pair_includes_the_driven_gear(teeth: int, to_teeth: int) -> None:
    """I1 + I2 (n1 / n2)^2; the tooth force acts at the pitch point, normal to the line of centres."""
    m = pair(teeth, to_teeth)
    d, seen = solve(m), INERTIAS[0] + INERTIAS[1] * (teeth / to_teeth) ** 2
    q, v = np.array([0.4, -0.4 * teeth / to_teeth]), np.array([2.0, -2.0 * teeth / to_teeth])
    a = d.forward_dynamics(q, v, [3.0, 0.0])
    assert relative(a, np.array([1.0, -teeth / to_teeth]) * 3.0 / seen) < 1e-12
    centre = d.pose(q, "second")[:3, 3]
    pitch_point = centre * teeth / (teeth + to_teeth)
    _, bearing, mesh = d.reactions(q, v, [3.0, 0.0])
    assert relative(mesh[:3], -bearing[:3]) < 1e-12
    R = d.pose(q, "second")[:3, :3]
    force = R @ mesh[:3]
    assert abs(force @ centre) < 1e-12
    assert relative(np.cross(pitch_point - centre, force), R @ mesh[3:]) < 1e-12
    assert relative(R @ mesh[3:], np.array([0.0, 0.0, INERTIAS[1] * a[1]])) < 1e-12


def planetary(sun: int = 24, planet: int = 18, ring: int = 60, held: str | None = "ring") -> lw.Mechanism:
    """Sun, carrier and ring on one axis; three planets on the carrier that mesh with both."""
    b = lw.Builder("planetary", gravity=(0, 0, 0))
    for name in ("sun", "carrier", "ring"):
        b.body(name, 2.0, inertia=(0.05, 0.05, 0.07)).joint(name, lw.Revolute(Z), "world", name)
    for k in range(3):
        name, angle = f"planet {k}", 2.0 * np.pi * k / 3
        place = 0.2 * np.array([np.cos(angle), np.sin(angle), 0.0])
        b.body(name, 0.5, inertia=(0.001, 0.001, 0.002)).joint(name, lw.Revolute(Z), "carrier", name, at=place)
        b.close(f"sun to {name}", lw.Gear(sun, planet), "sun", name)
        b.close(f"{name} to ring", lw.Gear(planet, -ring), name, "ring")
    if held:
        b.close("held", lw.Weld(), "world", held)
    return b.build()


def assembled(m: lw.Mechanism) -> tuple[lw.Dynamics, Array]:
    d = solve(m)
    return d, d.assemble(np.array([0.3, 0.1, 0.0, 0.2, -0.1, 0.05])[: m.nv] * 0.3)


def test_planetary_gear_satisfies_the_willis_equation() -> None:
    """(w_sun - w_carrier) / (w_ring - w_carrier) = -ring / sun: two of six freedoms remain."""
    d, q = assembled(planetary(held=None))
    check = d.mechanism.check_loops(q)
    assert (check.mobility, sum(check.redundant.values())) == (2, 2)
    for free in check.free:
        sun, carrier, ring = free[[d.mechanism.joints[name].v.start for name in ("sun", "carrier", "ring")]]
        assert abs((sun - carrier) * 24 + (ring - carrier) * 60) < 1e-12
        for k in range(3):
            turn = carrier + free[d.mechanism.joints[f"planet {k}"].v.start]
            assert abs((sun - carrier) * 24 + (turn - carrier) * 18) < 1e-12


def test_planetary_gear_with_fixed_ring_has_the_closed_form_inertia() -> None:
    """The carrier turns at sun / (sun + ring) of the sun's speed; inertias count with the square of their ratio."""
    d, q = assembled(planetary())
    (free,) = d.mechanism.check_loops(q).free
    numbers = {name: d.mechanism.joints[name].v.start for name in d.mechanism.joints.names}
    free = free / free[numbers["sun"]]
    slow = 24 / 84
    assert abs(free[numbers["carrier"]] - slow) < 1e-12
    spin = slow - 24 / 18 * (1 - slow)  # of a planet against the world
    seen = 0.07 + 0.07 * slow**2 + 3 * (0.002 * spin**2 + 0.5 * (0.2 * slow) ** 2)
    tau = np.zeros(d.mechanism.nv)
    tau[numbers["sun"]] = 0.7
    for speed in (0.0, 5.0):
        assert relative(d.forward_dynamics(q, speed * free, tau), free * 0.7 / seen) < 1e-11


def rack(teeth: int = 1) -> lw.Mechanism:
    """A pinion of 0.1 m on a fixed axis, above a rack that slides along x."""
    b = lw.Builder("rack", gravity=(0, 0, 0))
    b.body("pinion", 1.0, inertia=(0.01, 0.01, 0.02)).joint("turn", lw.Revolute(Z), "world", "pinion")
    b.body("rack", 3.0, inertia=(0.1, 0.1, 0.1)).joint("slide", lw.Prismatic((1, 0, 0)), "world", "rack")
    return b.close("mesh", lw.Rack(0.1, Z, (1, 0, 0), teeth), "pinion", "rack", to=(0, 0.02, 0)).build()


def test_inertia_at_a_pinion_includes_the_mass_of_its_rack() -> None:
    """I + m r^2, for a rack below the pinion that moves with the pinion's lower edge."""
    for teeth in (1, 25):
        d, period = solve(rack(teeth)), 2.0 * np.pi * 0.1 / teeth
        for angle in np.linspace(-20.0, 20.0, 21):
            assert abs(d.constraint([angle, 0.1 * angle])[0]) < 1e-13
            assert abs(d.constraint([angle, 0.1 * angle + 5 * period])[0]) < 1e-13
            assert abs(d.constraint([angle, 0.1 * angle + 0.2 * period])[0] + 0.2 * period) < 1e-13
    q, v = np.array([0.4, 0.04]), np.array([3.0, 0.3])
    a = d.forward_dynamics(q, v, [0.5, 0.0])
    assert relative(a, np.array([1.0, 0.1]) * 0.5 / (0.02 + 3.0 * 0.1**2)) < 1e-12
    on_rack = d.reactions(q, v, [0.5, 0.0])[2]  # at the rack's frame, which is at y = 0: the pitch line is at y = -0.1
    assert relative(on_rack, np.array([3.0 * a[1], 0, 0, 0, 0, 0.1 * 3.0 * a[1]])) < 1e-12


def test_wheel_rolls_without_slip_on_a_fixed_rack() -> None:
    """m r^2 + I for a pinion that moves along a fixed rack; it turns backwards as it moves forwards."""
    b = lw.Builder("roller", gravity=(0, 0, 0)).body("wheel", 2.0, inertia=(0.02, 0.02, 0.03))
    b.joint("plane", lw.Planar(Z), "world", "wheel").close("rail", lw.PointOnLine((1, 0, 0)), "world", "wheel")
    d = solve(b.close("mesh", lw.Rack(0.2), "wheel", "world").build())
    a = d.forward_dynamics([0, 0, 0], [0, 0, 0], [1.0, 0, 0])
    assert relative(a, np.array([1.0, 0.0, -5.0]) / (2.0 + 0.03 / 0.2**2)) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("machine", ["planetary", "rack", "pair"])
def test_gear_teeth_never_slip_over_many_turns(machine: str) -> None:
    """A hundred turns at 200 rad/s, with a step of about one tooth."""
    m = {"planetary": planetary(), "rack": rack(25), "pair": pair(17, -51)}[machine]
    d = lw.compile(m)
    q = d.assemble(m.neutral() + 1e-3)
    v = d.consistent(q, [200.0, *[0.0] * (m.nv - 1)])
    v = v * (200.0 / v[0])
    run = lw.simulate(m, q, v, duration=3.2, dt=1e-3, every=320)
    turned = run.q[-1] - run.q[0]
    assert abs(turned[0] - 640.0) < 1e-9  # nothing drives, nothing brakes
    assert np.abs(turned - v / v[0] * turned[0]).max() < 1e-9
    assert np.abs(d.constraint(run.q)).max() < 1e-12
