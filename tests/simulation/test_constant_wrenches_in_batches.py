"""Wrenches common to all members act on each member, also where the batch size equals the number of bodies."""

import numpy as np

import linkwork as lw


def test_wrenches_common_to_all_members_act_on_each_member_if_batch_size_equals_body_count() -> None:
    m = lw.example("double_pendulum")
    rng = np.random.default_rng(0)
    wrenches = rng.normal(size=(m.nbodies, 6))
    q0 = rng.normal(size=(m.nbodies, m.nq))
    options = {"duration": 0.1, "dt": 0.01, "method": "rk4", "wrenches": wrenches}
    together = lw.simulate(m, q0, **options)
    for k, one in enumerate(q0):
        assert np.array_equal(lw.simulate(m, one, **options).q, together.q[k])
