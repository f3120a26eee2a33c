"""Friction with one limit for several velocities in runs: balls in sockets, and sleeves that turn and slide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw

G = 9.81
MASS, LENGTH, INERTIA, RADIUS, MU = 2.0, 0.6, 0.05, 0.05, 0.3
FIXED = ("semi-implicit", "rk4", "midpoint", "variational", "energy-momentum", "rattle", "shake")
ADAPTIVE = ("dop853", "radau", "lsoda")
ORDERS = {"semi-implicit": 1, "midpoint": 2, "variational": 2, "energy-momentum": 2, "rk4": 4}


def options(method: str, dt: float) -> dict[str, Any]:
    """Return the options of `simulate` for a method; adaptive methods take a tolerance instead of a step."""
    return {"method": method, "rtol": 1e-10} if method in ADAPTIVE else {"method": method, "dt": dt}


def pendulum(kind: lw.model.joints.JointKind, friction: Any) -> lw.Mechanism:
    """Return a pendulum on a joint of the given kind with friction."""
    b = lw.Builder("pendulum", gravity=(0, 0, -G))
    b.body("bob", MASS, com=(LENGTH, 0, 0), inertia=(0.02, INERTIA, INERTIA))
    return b.joint("pin", kind, "world", "bob", friction=friction).build()


def arm() -> lw.Mechanism:
    """Return an arm with a socket and a sleeve, whose slip directions turn."""
    b = lw.Builder("arm", gravity=(0, 0, -G)).body("a", 1.0, com=(0.5, 0, 0.1), inertia=(0.05, 0.1, 0.08))
    b.body("b", 1.0, com=(0.3, 0.1, 0), inertia=(0.05, 0.1, 0.1))
    b.joint("hip", lw.Ball(), "world", "a", friction=lw.Socket(mu=0.3, radius=0.1, mu_static=0.35))
    sleeve = lw.Sleeve(mu=0.2, radius=0.05, length=0.3)
    b.joint("sleeve", lw.Cylindrical((1, 0, 0)), "a", "b", at=(1, 0, 0), friction=sleeve)
    return b.build()


@pytest.mark.parametrize("method", [*FIXED, *ADAPTIVE])
def test_a_spinning_ball_in_a_socket_slows_at_a_constant_rate_and_stops(method: str) -> None:
    b = lw.Builder("ball", gravity=(0, 0, -G)).body("ball", 2.0, inertia=(0.1, 0.1, 0.1))
    m = b.joint("socket", lw.Ball(), "world", "ball", friction=lw.Socket(mu=0.2, radius=0.05)).build()
    spin, rate = np.array([3.0, -2.0, 1.0]), 0.2 * 0.05 * 2.0 * G / 0.1
    run = lw.simulate(m, [1, 0, 0, 0], spin, duration=3.0, **options(method, 0.1))
    times = run.t[run.t < np.linalg.norm(spin) / rate]
    expected = spin * (1.0 - rate * times[:, None] / np.linalg.norm(spin))
    np.testing.assert_allclose(run.v[: len(times)], expected, atol=1e-9)
    assert [event.what for event in run.events] == ["socket holds"]
    assert run.events[0].time == pytest.approx(np.linalg.norm(spin) / rate, abs=2e-9)
    assert not run.v[-1].any()


@pytest.mark.parametrize("method", ["rk4", "midpoint", "variational", "dop853", "radau"])
def test_a_pendulum_in_a_socket_that_swings_in_a_plane_moves_as_in_a_journal(method: str) -> None:
    socket, journal = lw.Socket(mu=MU, radius=RADIUS), lw.Bearing(mu=MU, radius=RADIUS)
    angle = 0.1
    start = [np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0]
    ball = lw.simulate(pendulum(lw.Ball(), socket), start, duration=3.0, **options(method, 4e-3))
    plane = lw.simulate(pendulum(lw.Revolute((0, 1, 0)), journal), [angle], duration=3.0, **options(method, 4e-3))
    assert 2.0 * np.arctan2(ball.q[-1, 2], ball.q[-1, 0]) == pytest.approx(plane.q[-1, 0], abs=1e-10)
    assert [one.what for one in ball.events] == [one.what for one in plane.events]
    np.testing.assert_allclose([x.time for x in ball.events], [x.time for x in plane.events], atol=1e-9)
    assert len(ball.events) == 4


@pytest.mark.parametrize("method", ["rk4", "midpoint", "variational", "semi-implicit", "dop853", "lsoda"])
def test_a_shaft_that_turns_needs_almost_no_axial_force_to_slide(method: str) -> None:
    b = lw.Builder("shaft", gravity=(0, 0, -G)).body("ring", 2.0, inertia=(0.01, 0.01, 0.01))
    m = b.joint("shaft", lw.Cylindrical((1, 0, 0)), "world", "ring", friction=lw.Sleeve(mu=0.3, radius=0.02)).build()
    limit, push, spin = 0.3 * 2.0 * G, 0.5, 50.0
    still = lw.simulate(m, [0, 0], duration=5.0, controller=lambda t, q, v: [push, 0.0], **options(method, 0.01))
    assert not still.q.any()
    turned = lw.simulate(
        m,
        [0, 0],
        [0.0, spin],
        duration=4.0,
        controller=lambda t, q, v: [push, spin - v[1]],
        **options(method, 4e-3),
    )
    sine = push / limit  # of the angle between the slip and the circumference
    slide = 0.02 * turned.v[-1, 1] * sine / np.sqrt(1.0 - sine**2)
    assert turned.v[-1, 0] == pytest.approx(slide, rel=1e-4)
    assert turned.v[-1, 1] == pytest.approx(spin - limit * 0.02 * np.sqrt(1.0 - sine**2), rel=1e-6)
    assert not turned.events


@pytest.mark.parametrize("method", [*FIXED, *ADAPTIVE])
def test_a_sleeve_holds_for_a_minute_at_99_percent_of_its_limit_and_starts_above_it(method: str) -> None:
    b = lw.Builder("sleeve", gravity=(0, 0, -G)).body("ring", 2.0, inertia=(0.01, 0.01, 0.01))
    m = b.joint("shaft", lw.Cylindrical((1, 0, 0)), "world", "ring", friction=lw.Sleeve(mu=0.3, radius=0.02)).build()
    limit, inertia = 0.3 * 2.0 * G, np.array([2.0, 0.01 / 0.02**2])

    def loads(part: float) -> Any:
        return lambda t, q, v: [0.6 * limit * part, 0.8 * limit * 0.02 * part]

    rest = lw.simulate(m, [0, 0], duration=60.0, controller=loads(0.99), **options(method, 0.1))
    assert not rest.q.any()
    assert not rest.events
    run = lw.simulate(m, [0, 0], duration=0.1, controller=loads(1.01), **options(method, 0.01))
    # The slip u = a t in the direction e satisfies inertia |a| e = load - limit e
    low, high, e = 0.0, 1.0, np.zeros(2)
    for _ in range(100):
        size = 0.5 * (low + high)
        e = 1.01 * limit * np.array([0.6, 0.8]) / (limit + inertia * size)
        low, high = (size, high) if e @ e > 1.0 else (low, size)
    np.testing.assert_allclose(run.v[-1] * [1.0, 0.02], 0.1 * low * e, rtol=1e-6)
    assert [event.what for event in run.events] == ["shaft slips"]


@pytest.mark.parametrize("method", ORDERS)
def test_integration_methods_keep_their_order_while_slip_directions_turn(method: str) -> None:
    m = arm()
    q = m.random(np.random.default_rng(1))
    exact = lw.simulate(m, q, duration=0.5, dt=2.5e-4, method="rk4")
    runs = [lw.simulate(m, q, duration=0.5, dt=dt, method=method) for dt in (1e-2, 5e-3)]
    coarse, fine = (np.abs(run.q[-1] - exact.q[-1]).max() for run in runs)
    assert np.log2(coarse / fine) > ORDERS[method] - 0.4
    assert [event.what for event in runs[-1].events] == [event.what for event in exact.events]
    assert runs[-1]["friction.heat"][-1].sum() == pytest.approx(-runs[-1]["work"][-1], rel=1e-12)
    assert all(np.all(np.diff(run["friction.heat"], axis=0) >= 0.0) for run in runs)


def test_integration_methods_stop_a_swinging_ball_whose_slip_turns_at_the_same_time() -> None:
    b = lw.Builder("ball", gravity=(0, 0, -G)).body("bob", 2.0, com=(0.6, 0.1, 0), inertia=(0.02, 0.05, 0.05))
    m = b.joint("pin", lw.Ball(), "world", "bob", friction=lw.Socket(mu=0.4, radius=0.2)).build()
    q, v = m.random(np.random.default_rng(3)), [1.0, 2.0, -1.0]
    exact = lw.simulate(m, q, v, duration=6.0, method="dop853", rtol=1e-10)
    assert [event.what for event in exact.events] == ["pin holds"]
    for method, error in (("rk4", 1e-6), ("midpoint", 5e-6), ("variational", 1e-5)):
        runs = [lw.simulate(m, q, v, duration=6.0, dt=dt, method=method) for dt in (8e-3, 2e-3)]
        assert abs(runs[-1].events[0].time - exact.events[0].time) < 2e-4  # the slip direction turns ever faster
        coarse, fine = (np.abs(run.q[-1] - exact.q[-1]).max() for run in runs)
        assert fine < min(error, coarse / 4.0)
        for run in runs:
            assert [event.what for event in run.events] == ["pin holds"]
            assert not run.v[-1].any()


def test_a_batch_of_sockets_gives_the_bits_of_single_runs_also_without_friction() -> None:
    m = pendulum(lw.Ball(), lw.Socket(mu=MU, radius=RADIUS, mu_static=0.6))
    rng, mu = np.random.default_rng(5), np.array([0.0, 0.1, 0.6])
    q, v = np.array([m.random(rng) for _ in mu]), rng.normal(size=(len(mu), m.nv))
    for method in ("rk4", "midpoint"):
        more = options(method, 5e-3)
        batch = lw.simulate(m, q, v, duration=1.0, parameters={"pin.mu": mu}, **more)
        for k, one in enumerate(mu):
            single = lw.simulate(m, q[k], v[k], duration=1.0, parameters={"pin.mu": one}, **more)
            np.testing.assert_array_equal(single.q, batch.q[k])


def test_friction_of_a_ball_joint_that_closes_a_loop_equals_that_of_the_same_tree_joint() -> None:
    def linkage(closing: str) -> lw.Mechanism:
        b = lw.Builder("swing", gravity=(0, 0, -G)).body("bob", 2.0, com=(0.4, 0, 0), inertia=(0.1, 0.2, 0.2))
        if closing == "loop":
            b.joint("free", lw.Free(), "world", "bob").close("socket", lw.Ball(), "world", "bob")
            return b.friction("socket", lw.Socket(mu=0.3, radius=0.1)).build()
        return b.joint("socket", lw.Ball(), "world", "bob", friction=lw.Socket(mu=0.3, radius=0.1)).build()

    spin = np.array([1.0, 2.0, -0.5])
    tree = lw.simulate(linkage("tree"), [1, 0, 0, 0], spin, duration=1.0, dt=2.5e-3, method="rk4")
    for method, error in (("rk4", 1e-8), ("midpoint", 1e-4), ("dop853", 1e-8)):
        v = np.concatenate([np.zeros(3), spin])
        run = lw.simulate(linkage("loop"), [0, 0, 0, 1, 0, 0, 0], v, duration=1.0, **options(method, 2.5e-3))
        np.testing.assert_allclose(run.q[-1, 3:], tree.q[-1], atol=error)


def test_socket_friction_with_rigid_contact_is_rejected_with_the_name_of_the_joint() -> None:
    b = lw.Builder("ball", gravity=(0, 0, -G)).body("bob", 1.0, com=(0.6, 0, 0), inertia=(0.1, 0.1, 0.1))
    b.joint("hip", lw.Ball(), "world", "bob", friction=lw.Socket(mu=0.3, radius=0.1))
    m = b.surface("floor", lw.Plane(), at=(0, 0, -1)).touch("tip", "bob", (0.8, 0, 0)).build()
    with pytest.raises(lw.LinkworkError, match=r"'hip'.*one limit for several velocities.*rigid contacts"):
        lw.simulate(m, [1, 0, 0, 0], contact="rigid", duration=0.1)
