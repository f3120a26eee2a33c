"""Mechanisms without degrees of freedom and batches without members: every method and every result works on them."""

import numpy as np
import pytest

import linkwork as lw

METHODS = ["rk4", "semi-implicit", "midpoint", "variational", "rattle", "energy-momentum", "dop853", "auto"]


def welded() -> lw.Mechanism:
    return lw.Builder("plate").body("plate", 1.0).joint("weld", lw.Weld(), "world", "plate").build()


@pytest.mark.parametrize("method", METHODS)
def test_a_mechanism_without_degrees_of_freedom_can_be_simulated(method: str) -> None:
    run = lw.simulate(welded(), duration=0.1, method=method)
    assert run.outcome.kind == "finished"
    assert run.q.shape == (len(run.t), 0)
    assert run.report().passed


def test_a_mechanism_without_degrees_of_freedom_is_drawn_and_plotted() -> None:
    lw.draw(welded())
    lw.simulate(welded(), duration=0.1).plot()


def test_cross_check_rejects_a_mechanism_without_degrees_of_freedom() -> None:
    with pytest.raises(lw.LinkworkError, match="no degrees of freedom"):
        lw.cross_check(welded())


@pytest.mark.parametrize("method", METHODS)
def test_a_batch_without_members_can_be_simulated(method: str) -> None:
    run = lw.simulate(lw.example("double_pendulum"), np.zeros((0, 2)), duration=0.1, dt=0.01, method=method)
    assert run.q.shape[0] == 0
    assert run.report().passed
