"""The report sees samples that are not finite, and velocities and joint forces beyond the limits of joints."""

import numpy as np
import pytest

import linkwork as lw


def row(run: lw.Run, name: str) -> str:
    """Return the value in the line `name` of the run's report."""
    return next(str(one.value) for one in run.report().rows if one.name == name)


@pytest.mark.parametrize("series", ["q", "v", "work"])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_samples_that_are_not_finite_fail_the_report(series: str, batch: tuple[int, ...]) -> None:
    run = lw.simulate(lw.example("double_pendulum"), np.full((*batch, 2), 0.5), duration=0.1, dt=0.01)
    assert run.report().passed
    run.recorded[series].reshape(*batch, len(run.t), -1)[..., 4:6, :] = np.nan
    assert not run.report().passed
    assert "finite samples" in run.report().failures


def test_report_ignores_samples_after_the_end_of_a_batch_member() -> None:
    m = lw.example("double_pendulum")
    starts = [[0.5, 0.0], [0.0, 0.0]]
    stop = lambda t, q, v: (q[0] > 0.2) & (t > 0.05)  # noqa: E731
    run = lw.simulate(m, starts, duration=0.1, dt=0.01, stop_when=stop)
    assert np.isnan(run.q).any()
    assert "finite samples" not in run.report().failures


def test_velocities_and_forces_beyond_limits_are_reported() -> None:
    b = lw.Builder("arm", gravity=(0, 0, 0)).body("link", 1.0, inertia=(1, 1, 1))
    m = b.joint("pin", lw.Revolute(), "world", "link", velocity_limit=1.0, effort_limit=5.0).build()
    slow = lw.simulate(m, duration=0.1, dt=0.01, controller=lambda t, q, v: np.array([4.0]))
    fast = lw.simulate(m, v0=[1.5], q0=[0.0], duration=0.1, dt=0.01, controller=lambda t, q, v: np.array([6.0]))
    for name in ("velocity limits", "effort limits"):
        assert row(slow, name) == "not exceeded"
        assert row(fast, name) == "exceeded"
