"""Capacities of clutches and brakes, and points of loops, springs and contacts, can vary per batch member."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw

Y, Z = (0, 1, 0), (0, 0, 1)
CAPACITIES = np.array([1.0, 2.0, 4.0])


def flywheels(clutch: float = 2.0, brake: float = 0.5, pawl: float = 3.0) -> lw.Mechanism:
    b = lw.Builder("flywheels", gravity=(0, 0, 0))
    for name in "ab":
        b.body(name, 1.0, inertia=(1, 1, 1)).joint(name, lw.Revolute(Z), "world", name)
    b.clutch("clutch", "a", "b", capacity=clutch, engaged=True).brake("brake", "b", brake, True)
    return b.ratchet("pawl", "a", capacity=pawl).build()


SLOW = [pytest.param(method, marks=pytest.mark.slow) for method in ("semi-implicit", "variational", "rattle")]


@pytest.mark.parametrize("method", ["rk4", *SLOW[:2], "energy-momentum", "dop853"])
def test_capacities_can_vary_per_member(method: str) -> None:
    m, v0, run = flywheels(), np.array([3.0, 1.0]), {"duration": 1.0, "dt": 0.01, "method": method}
    given: dict[str, Any] = {"clutch.capacity": CAPACITIES, "brake.capacity": 0.4, "pawl.capacity": CAPACITIES + 1.0}
    batch = lw.simulate(m, np.zeros((3, 2)), np.tile(v0, (3, 1)), parameters=given, **run)
    for k, capacity in enumerate(CAPACITIES):
        own = {"clutch.capacity": capacity, "brake.capacity": 0.4, "pawl.capacity": capacity + 1.0}
        alone = lw.simulate(m, [0.0, 0.0], v0, parameters=own, **run)
        anew = lw.simulate(flywheels(capacity, 0.4, capacity + 1.0), [0.0, 0.0], v0, **run)
        for series in ("q", "v", "slip", "carried", "work"):
            assert (batch[series][k] == alone[series]).all(), series
            assert np.allclose(alone[series], anew[series], rtol=1e-12, atol=1e-12), series
    slow = 1e-3 if method in ("semi-implicit", "energy-momentum") else 1e-9
    assert batch.v[0, -1] == pytest.approx([2.0, 1.6], rel=slow)  # the clutch slips for all of the time
    assert batch.v[2, -1] == pytest.approx([1.8, 1.8], rel=slow)


def linkage(**points: Any) -> lw.Mechanism:
    """A four-bar whose pin is on a welded pad, with a spring and a contact point."""
    given = {"pin_at": (0.5, 0, 0), "pin_to": (0.1, 0, 0.02), "hook": (0, 0, 1), "foot": (0.25, 0, -0.1)} | points
    b = lw.Builder("linkage")
    for name, length in (("crank", 0.2), ("coupler", 0.5), ("rocker", 0.4)):
        b.body(name, mass=1.0, com=(length / 2, 0, 0), inertia=(0.001, 0.02, 0.02))
    b.body("pad", 0.1, inertia=(0.01, 0.01, 0.01))
    b.joint("input", lw.Revolute(Y), "world", "crank").joint(
        "glue", lw.Weld(), "rocker", "pad", (0.3, 0, 0), (0, 0.3, 0)
    )
    b.joint("elbow", lw.Revolute(Y), "crank", "coupler", at=(0.2, 0, 0))
    b.joint("output", lw.Revolute(Y), "world", "rocker", at=(0.5, 0, 0))
    b.close("pin", lw.Revolute(Y), "coupler", "pad", given["pin_at"], given["pin_to"])
    b.spring("spring", "world", "coupler", given["hook"], (0.2, 0, 0), stiffness=50, damping=1, length=0.4)
    b.surface("ground", lw.Plane(), at=(0, 0, 0.05))
    return b.touch("foot", "coupler", given["foot"], stiffness=1e4, damping=10, friction=0.3).build()


PLACES = {
    "pin_at": np.array([[0.5 - 0.01 * k, 0, 0] for k in range(3)]),
    "pin_to": np.array([[0.1 + 0.01 * k, 0, 0.02] for k in range(3)]),
    "hook": np.array([[0.1 * k, 0, 1] for k in range(3)]),
    "foot": np.array([[0.25, 0, -0.1 + 0.01 * k] for k in range(3)]),
}
NAMES = {"pin_at": "pin.at", "pin_to": "pin.to", "hook": "spring.at", "foot": "foot.at"}


def starts() -> np.ndarray:
    built = [linkage(**{key: x[k] for key, x in PLACES.items()}) for k in range(3)]
    return np.array([lw.compile(m).assemble([0.3, 0.5, -1.0]) for m in built])


@pytest.mark.parametrize("method", ["rk4", *SLOW[::2]])
def test_placements_can_vary_per_member(method: str) -> None:
    m, q0, run = linkage(), starts(), {"duration": 0.2, "dt": 0.002, "method": method}
    batch = lw.simulate(m, q0, parameters={NAMES[key]: x for key, x in PLACES.items()}, **run)
    for k in range(3):
        own = {NAMES[key]: x[k] for key, x in PLACES.items()}
        alone = lw.simulate(m, q0[k], parameters=own, **run)
        anew = lw.simulate(linkage(**{key: x[k] for key, x in PLACES.items()}), q0[k], **run)
        for series in ("q", "v", "energy"):
            assert (batch[series][k] == alone[series]).all(), series
            assert np.allclose(alone[series], anew[series], rtol=1e-9, atol=1e-9), series
        assert np.abs(lw.compile(m, parameters=list(own)).constraint(alone.q[-1], parameters=own)).max() < 1e-4


def test_dynamics_with_varying_placements_match_those_of_new_mechanisms() -> None:
    given, q0, ones = {NAMES[key]: x for key, x in PLACES.items()}, starts(), np.ones((3, 3))
    m = linkage()
    d = lw.compile(m, parameters=list(given))
    a = d.forward_dynamics(q0, 0 * ones, ones, parameters=given)
    for k in range(3):
        own = {name: x[k] for name, x in given.items()}
        assert (d.forward_dynamics(q0[k], 0 * ones[k], ones[k], parameters=own) == a[k]).all()
        built = lw.compile(m.with_parameters(own), target="numpy").forward_dynamics(q0[k], 0 * ones[k], ones[k])
        assert np.allclose(a[k], built, rtol=1e-11)
