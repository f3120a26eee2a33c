"""Several constraint kinds at once: accelerations, velocity jumps and constraint forces match multiplier equations.

The constraint rows are written here from the definition of each constraint; singular values solve the equations.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial.scalar import Array
from shaft_mechanisms import shafts, two_wheels


def chain(kinds: str) -> lw.Builder:
    """Bodies "0", "1", ... on joints "j0", "j1", ... of these kinds in a chain, with skew axes."""
    b, parent, rng = lw.Builder("chain"), "world", np.random.default_rng(3)
    made = {
        "r": lambda: lw.Revolute(rng.normal(size=3)),
        "u": lw.Universal,
        "b": lw.Ball,
        "f": lw.Free,
        "p": lw.Planar,
        "c": lw.Cylindrical,
    }
    for k, kind in enumerate(kinds):
        b.body(f"{k}", 1.0 + k, com=rng.normal(size=3) * 0.2, inertia=(0.2, 0.25, 0.3))
        b.joint(f"j{k}", made[kind](), parent, f"{k}", at=(0.3, 0.1, -0.2))
        parent = f"{k}"
    return b


def ring(b: lw.Builder) -> lw.Builder:
    b.clutch("ab", "j0", "j1", 2.0, engaged=True).clutch("bc", "j1", "j2", -3.0, engaged=True)
    return b.clutch("ac", "j0", "j2", -6.0, engaged=True)


EYE = np.eye(9)
MACHINES: dict[str, tuple[Callable[[], lw.Builder], Any]] = {
    "brake on a ball": (lambda: chain("rbr").brake("x", "j1", engaged=True), EYE[1:4, :5]),
    "brake on a free base": (lambda: chain("frr").brake("x", "j0", engaged=True), EYE[:6, :8]),
    "brake on a universal, clutch beside": (
        lambda: chain("rurr").brake("x", "j1", engaged=True).clutch("y", "j0", "j3", -1.3, engaged=True),
        [[1.3, 0, 0, 0, 1], *EYE[1:3, :5]],
    ),
    "clutches in a ring, one too many": (lambda: ring(chain("rrr")), [[-2, 1, 0], [0, 3, 1], [6, 0, 1]]),
    "two brakes on one joint": (
        lambda: chain("rrr").brake("x", "j1", engaged=True).brake("y", "j1", engaged=True),
        [EYE[1, :3], EYE[1, :3]],
    ),
    "sums of joints that mimic": (
        lambda: (
            chain("rrrr").mimic("j1", "j0", 0.5).brake("x", "j3", engaged=True)
            .clutch("c", {"j1": 1, "j0": 2.0}, {"j2": 1, "j1": 3.0}, -1.3, engaged=True)
        ),
        [[1.5 + 1.3 * 2.5, 1, 0], [0, 0, 1]],
    ),
    "differential, both sides clutched": (
        lambda: (
            chain("rrrr").differential("d", "j0", "j1", "j2", 1.5).clutch("c", "j1", "j2", engaged=True)
            .clutch("e", "j0", "j1", 1.5, engaged=True)
        ),
        [[0, -1, 1, 0], [-1.5, 1, 0, 0], [-3, 1, 1, 0]],
    ),
    "gear and blade": (
        lambda: (
            chain("frr").transmission("t", "j1", "j2", (2.0, -4.0), 2)
            .couple("k", {"j0": [0, 1, 0, 0, 0, 0.2], "j1": 2})
        ),
        [[0, 0, 0, 0, 0, 0, 0.25, 1], [0, 1, 0, 0, 0, 0.2, 2, 0]],
    ),
    "everything held": (
        lambda: (
            chain("rr").brake("x", "j0", engaged=True).brake("y", "j1", engaged=True)
            .clutch("c", "j0", "j1", 4.0, engaged=True)
        ),
        [[-4, 1], [1, 0], [0, 1]],
    ),
}  # fmt: skip


def solved(A: Array, b: Array) -> Array:
    return np.linalg.lstsq(A, b, rcond=1e-12)[0]


@pytest.mark.parametrize("name", MACHINES)
def test_accelerations_and_velocity_jumps_match_multipliers(name):
    builder, rows = MACHINES[name]
    m, C = builder().build(), np.array(rows, dtype=float)
    d, rng = lw.compile(m, target="numpy"), np.random.default_rng(0)
    q, v, tau = m.random(rng), rng.normal(size=m.nv), rng.normal(size=m.nv)
    M = d.mass_matrix(q)
    after = d.consistent(q, v)
    expected = v - np.linalg.solve(M, C.T) @ solved(C @ np.linalg.solve(M, C.T), C @ v)
    np.testing.assert_allclose(after, expected, rtol=0, atol=1e-12)
    a = d.forward_dynamics(q, after, tau)
    system = np.block([[M, -C.T], [C, np.zeros((len(C), len(C)))]])
    bias = d.bias(q, after)
    found = solved(system, np.concatenate([tau - bias, np.zeros(len(C))]))
    np.testing.assert_allclose(a, found[: m.nv], rtol=0, atol=1e-11)
    carried = d.carried(q, after, tau)
    np.testing.assert_allclose(C.T @ carried, M @ a + bias - tau, rtol=0, atol=1e-10)  # nothing else acts
    np.testing.assert_allclose(d.inverse_dynamics(q, after, a) - tau, C.T @ carried, rtol=0, atol=1e-10)
    if np.linalg.matrix_rank(C) == len(C):
        np.testing.assert_allclose(carried, found[m.nv :], rtol=0, atol=1e-10)
    check = m.check_loops(q)
    assert (check.mobility, check.rank, check.nc) == (m.nv - check.rank, np.linalg.matrix_rank(C), len(C))
    assert sum(check.repeating.values()) == len(C) - check.rank
    assert np.abs(C @ check.free.T).max(initial=0.0) < 1e-12


def test_loop_check_names_redundant_constraints():
    check = ring(chain("rrr")).build().check_loops(np.zeros(3))
    assert check.repeating == {"clutch 'ac'": 1}
    assert "clutch 'ac': 1 row is redundant" in str(check)


# --- during a run ---


def stepped(duration: float, h: float, torque: Callable[[float], float]) -> Array:
    """Return the speeds (3,) of three wheels of 1 kg m^2, integrated by small steps that enumerate all cases.

    A ratchet lets the second run ahead of the first; a clutch of 0.4 N m is between the second and the third.
    """
    v = np.zeros(3)
    for k in range(round(duration / h)):
        pushed = v + h * np.array([torque((k + 0.5) * h), 0.0, 0.0])
        for holds, slip in product((0, 1), (0, 1, -1)):
            rows = [[-1.0, 1.0, 0.0]] * holds + [[0.0, -1.0, 1.0]] * (slip == 0)
            C, start = np.array(rows).reshape(-1, 3), pushed + 0.4 * h * slip * np.array([0.0, -1.0, 1.0])
            impulses = -solved(C @ C.T, C @ start) if rows else np.zeros(0)
            found = start + C.T @ impulses
            pushes = impulses[0] >= -1e-13 if holds else found[1] - found[0] >= -1e-13
            sticks = abs(impulses[-1]) <= 0.4 * h + 1e-13 if slip == 0 else slip * (found[1] - found[2]) >= -1e-13
            if pushes and sticks:
                v = found
                break
        else:
            raise AssertionError("no case fits")
    return v


@pytest.mark.parametrize(("method", "close"), [("rk4", 1e-6), ("variational", 1e-3)])
def test_ratchet_drives_a_slipping_clutch(method, close):
    m = shafts(3).ratchet("ratchet", "a", "b").clutch("clutch", "b", "c", capacity=0.4, engaged=True).build()
    run = lw.simulate(
        m, np.zeros(3), duration=2.0, dt=0.01, method=method, controller=lambda t, q, v: [2.0 * np.cos(5.0 * t), 0, 0]
    )
    expected = stepped(2.0, 5e-4, lambda t: 2.0 * np.cos(5.0 * t))
    np.testing.assert_allclose(run.v[-1], expected, rtol=0, atol=close)
    events = [event.what.split(" (")[0] for event in run.events]
    assert {"clutch slips", "clutch holds", "ratchet overruns", "ratchet holds"} <= set(events)


@pytest.mark.parametrize("method", ["rk4", "semi-implicit", "variational", "dop853"])
def test_gears_shift_while_a_clutch_slips(method):
    """Shifts conserve the momentum along the free motion of the gear; only the clutch torque changes it."""
    b = two_wheels().body("third", 1.0, inertia=(4, 4, 4)).joint("c", lw.Revolute(), "world", "third", at=(2, 0, 0))
    m = b.clutch("clutch", "a", "b", capacity=2.0).transmission("gears", "b", "c", (2.0, 0.5, -1.0), selected=1).build()
    schedule = [(0.1, "engage", "clutch"), (0.3, "shift", "gears", 2), (0.5, "shift", "gears", 3)]
    run = lw.simulate(m, np.zeros(3), [10.0, 2.0, 1.0], duration=0.7, dt=0.01, method=method, schedule=schedule)
    a, c, torque, lost = 10.0, 1.0, 2.0, 0.0
    for last, now, duration in ((2.0, 2.0, 0.2), (2.0, 0.5, 0.2), (0.5, -1.0, 0.2)):
        inertia = 3 * now**2 + 4
        before, c = 0.5 * (3 * last**2 + 4) * c**2, (3 * now * last + 4) / inertia * c
        lost += before - 0.5 * inertia * c**2
        a, c = a - torque / 2 * duration, c + now * torque / inertia * duration
        assert a > now * c  # it slips to the end
    np.testing.assert_allclose(run.v[-1], [a, -c, c], rtol=0, atol=1e-12)
    shifts = [event for event in run.events if event.what.startswith("shift")]
    assert -sum(event.energy for event in shifts) == pytest.approx(lost, rel=1e-9)
