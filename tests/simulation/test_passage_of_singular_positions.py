"""A parallelogram rotates through its flat positions, where its loop has lower rank, and the report shows it."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

LENGTHS = (("crank", 0.3), ("coupler", 0.5), ("follower", 0.3))


def parallelogram() -> lw.Mechanism:
    """Three bars in the plane x, y with gravity along -y."""
    b = lw.Builder("parallelogram", gravity=(0, -9.81, 0))
    for name, length in LENGTHS:
        b.body(name, 1.0, com=(length / 2, 0, 0), inertia=(0.001, 0.01, 0.01))
    z = lw.Revolute((0, 0, 1))
    b.joint("left", z, "world", "crank").joint("top", z, "crank", "coupler", at=(0.3, 0, 0))
    b.joint("right", z, "world", "follower", at=(0.5, 0, 0))
    return b.close("pin", z, "coupler", "follower", at=(0.5, 0, 0), to=(0.3, 0, 0)).build()


@pytest.mark.parametrize("method", ["rk4", "midpoint", "variational"])
def test_parallelogram_continues_through_flat_positions(method):
    m = parallelogram()
    q = np.array([1.0, -1.0, 1.0])
    v = lw.compile(m).consistent(q, [6.0, 0.0, 0.0])
    run = lw.simulate(m, q, v, duration=1.0, dt=1e-3, method=method)
    turned = run.q[:, 0]
    assert np.ptp(turned) > 2.5 * np.pi  # through several flat positions
    # Where it is flat, an angle shows in the closure with its square only
    np.testing.assert_allclose(run.q, turned[:, None] * [1, -1, 1], rtol=0, atol=1e-9 if method == "rk4" else 1e-5)
    inertia = 2 * (0.01 + 0.15**2) + 0.3**2  # two bars about their ends, and the coupler's mass on a circle
    height = (2 * 0.15 + 0.3) * (np.sin(turned) - np.sin(turned[0]))
    exact = np.sqrt(v[0] ** 2 - 2 * 9.81 * height / inertia)
    np.testing.assert_allclose(run.v[:, 0], exact, rtol=1e-8 if method == "rk4" else 2e-3)


def test_report_gives_the_time_of_worst_conditioning():
    m = parallelogram()
    q = np.array([0.3, -0.3, 0.3])
    run = lw.simulate(m, q, lw.compile(m).consistent(q, [-6.0, 0.0, 0.0]), duration=0.1, dt=1e-3, method="rk4")
    row = run.report()["loop conditioning"]
    flat = run.t[np.argmin(np.abs(run.q[:, 0]))]
    assert float(row.value) < 1e-2
    assert f"at {flat:g} s" in row.note
