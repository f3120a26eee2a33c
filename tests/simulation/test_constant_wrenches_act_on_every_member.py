"""Wrenches that are the same for all members act on each, also where the batch is as large as the mechanism."""

import numpy as np

import linkwork as lw


def test_a_batch_as_large_as_the_mechanism_does_not_divide_its_wrenches() -> None:
    m = lw.example("double_pendulum")
    rng = np.random.default_rng(0)
    wrenches = rng.normal(size=(m.nbodies, 6))
    q0 = rng.normal(size=(m.nbodies, m.nq))
    options = {"duration": 0.1, "dt": 0.01, "method": "rk4", "wrenches": wrenches}
    together = lw.simulate(m, q0, **options)
    for k, one in enumerate(q0):
        assert np.array_equal(lw.simulate(m, one, **options).q, together.q[k])
