"""The cockroach: 36 freedoms, feet that follow straight strokes, and always three feet on the ground."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.formulations.limb_systems import limb_system
from linkwork.examples import cockroach, gait_measures


@cache
def walked() -> lw.Run:
    return lw.simulate(**cockroach.arguments(1.2), record=("q", "v", "tau", "contact.state", "contact.force"))


def test_cockroach_has_36_degrees_of_freedom_in_six_limbs() -> None:
    m = lw.example("cockroach")
    assert m.nv == 36
    assert [len(path) for path in limb_system(m).paths] == [6] * 6  # the body and five joints
    assert m.mass == pytest.approx(3e-3, rel=1e-12)


@pytest.mark.parametrize("name", cockroach.LEGS)
def test_feet_of_the_cockroach_follow_their_targets(name: str) -> None:
    """Leg angles against forward kinematics, on the whole path of a foot."""
    m, leg = lw.example("cockroach"), cockroach.LEGS[name]
    d, frame = lw.compile(m, target="numpy"), m.frames[f"{name} foot"]
    for back, up in ((-0.5, 0.0), (0.5, 0.0), (0.2, 1.0)):
        foot = leg.foot + np.array([-back * cockroach.STRIDE, 0.0, up * cockroach.LIFT])
        q = m.neutral()
        for joint, angle in cockroach.leg_angles(leg, foot).items():
            q[m.joints[f"{name} {joint}"].q] = angle
        found = d.poses(q)[frame.body - 1] @ [*frame.pose.p, 1.0]
        assert np.allclose(found[:3], foot, rtol=0, atol=1e-15)


def test_cockroach_walks_on_tripods() -> None:
    run = walked()
    assert run.outcome.kind == "finished"
    late = run.t > 2 * cockroach.PERIOD
    touching = run["contact.state"][late] > 1
    assert touching.sum(axis=1).min() >= 3
    names = list(cockroach.LEGS)
    tripods = [[names.index(name) for name in names if cockroach.LEGS[name].phase == phase] for phase in (0.0, 0.5)]
    assert [len(tripod) for tripod in tripods] == [3, 3]
    assert (touching[:, tripods[0]].all(axis=1) | touching[:, tripods[1]].all(axis=1)).mean() > 0.95
    speed = np.polyfit(run.t[late], run.q[late, 0], 1)[0]
    assert speed == pytest.approx(cockroach.STRIDE / (0.56 * cockroach.PERIOD), rel=0.1)


def test_cockroach_walks_without_slip_or_wobble() -> None:
    """Feet slip by less than a tenth of a stride, and the body keeps its height and orientation."""
    run = walked()
    since = 2 * cockroach.PERIOD
    slips = gait_measures.slips(run, since)
    assert len(slips) > 40
    assert slips.max() < 0.1 * cockroach.STRIDE
    assert np.ptp(run.q[run.t > since, 2]) < 1.2 * cockroach.MM
    x, y = run.q[:, 4], run.q[:, 5]
    assert np.degrees(np.arccos(1.0 - 2.0 * (x * x + y * y))).max() < 2.0


def test_mean_ground_force_of_the_cockroach_is_its_weight() -> None:
    run = walked()
    rows = slice(120, 120 + 7 * round(cockroach.PERIOD / cockroach.ROW))
    force = run["contact.force"][rows].sum(axis=1).mean(axis=0)
    assert force[2] == pytest.approx(run.mechanism.mass * 9.81, rel=0.02)
