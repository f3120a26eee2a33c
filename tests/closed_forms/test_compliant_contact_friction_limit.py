"""Compliant blocks near the friction angle, with default steps, stick below the angle and slide above it."""

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation.results.run import Run

G, MU, MASS, WIDTH = 9.81, 0.5, 2.0, 0.2
LOW, HIGH = 0.02, 0.3  # heights of blocks [m]; the high one tilts far, but does not topple
DEPTHS, RATIOS = (1e-4, 1e-3), (0.1, 1.0)  # depth at rest on a level plane [m], and damping ratio
METHODS = {
    "auto": {},
    "rk4": {"method": "rk4"},
    "semi-implicit": {"method": "semi-implicit"},
    "midpoint": {"method": "midpoint"},
    "variational, located": {"method": "variational", "locate": True},
    "rk4, located": {"method": "rk4", "locate": True},
}
QUICK = ("auto", "semi-implicit", "rk4, located")
EACH_METHOD = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in METHODS]


def block(height: float) -> lw.Mechanism:
    size = np.array([WIDTH, WIDTH, height])
    b = lw.Builder("block").body("block", MASS, inertia=MASS / 12.0 * (np.square(size).sum() - np.square(size)))
    b.joint("free", lw.Free(), "world", "block").surface("plane", lw.Plane())
    return b.touch("corner", "block", lw.box_corners(size)[:4], stiffness=1e4, damping=1.0, friction=MU).build()


def laid(
    height: float, angles: Any, method: str, duration: float, friction: Any = MU, drop: float = 0.0, **options: Any
) -> Run:
    """Blocks of all depths and damping ratios at rest on planes inclined by each of `angles` [rad], one per member."""
    m = block(height)
    cases = np.array([(a, d, ratio) for a in np.ravel(angles) for d in DEPTHS for ratio in RATIOS])
    angle, depth, ratio = cases.T
    hard = MASS * G / (4.0 * depth)
    soft = ratio * 2.0 * np.sqrt(hard * MASS / 4.0)
    values = {"stiffness": hard, "tangential_stiffness": hard, "damping": soft, "tangential_damping": soft}
    values["friction"] = np.tile(np.broadcast_to(friction, 2), (len(cases), 1))
    given = {f"corner {k}.{key}": value for k in range(1, 5) for key, value in values.items()}
    turn = options.pop("azimuth", 0.0)
    gravity = [np.sin(angle) * np.cos(turn), np.sin(angle) * np.sin(turn), -np.cos(angle)]
    q = np.zeros((len(cases), 7))
    q[:, 2], q[:, 3] = 0.5 * height - depth * np.cos(angle) + drop, 1.0
    return lw.simulate(
        m, q, options.pop("v", None), duration, parameters=given | {"gravity": G * np.array(gravity).T}, every=100,
        record=("q", "v", "contact.state"), **METHODS[method], **options,
    ).check()  # fmt: skip


BELOW = (np.arctan(0.99 * MU), np.arctan(MU) - np.radians(0.5))


@pytest.mark.parametrize("height", [LOW, HIGH], ids=["low", "high"])
@pytest.mark.parametrize("method", EACH_METHOD)
def test_block_below_the_friction_angle_comes_to_rest_and_stays(method: str, height: float) -> None:
    run = laid(height, BELOW, method, 6.0)
    late = run.t >= 5.0
    assert (run["contact.state"][:, -1] == 4.0).all()
    assert np.ptp(run.q[:, late, :3], axis=1).max() < 1e-8
    if height == LOW:  # it need not tilt: it hardly moves at all
        assert np.abs(run.q[:, :, 0]).max() < 2e-4


@pytest.mark.slow
@pytest.mark.parametrize("height", [LOW, HIGH], ids=["low", "high"])
def test_block_a_tenth_of_a_degree_below_the_friction_angle_does_not_creep_in_a_minute(height: float) -> None:
    for azimuth in (0.0, 0.25 * np.pi, 2.0):
        run = laid(height, np.arctan(MU) - np.radians(0.1), "auto", 70.0, azimuth=azimuth)
        settled = run.t >= 10.0
        calm = slice(None) if height == LOW else slice(1, None, 2)  # see the test of dropped blocks
        assert np.ptp(run.q[calm, settled, :3], axis=1).max() < 1e-8


@pytest.mark.parametrize("method", EACH_METHOD)
def test_block_above_the_friction_angle_slides_with_its_acceleration(method: str) -> None:
    angles = np.arctan(MU) + np.radians([0.1, 0.5])
    run = laid(HIGH, angles, method, 3.0)
    expected = np.repeat(G * (np.sin(angles) - MU * np.cos(angles)), len(DEPTHS) * len(RATIOS))
    late = run.t >= 2.0
    found = [2.0 * np.polyfit(run.t[late], q[late, 0], 2)[0] for q in run.q]
    assert found == pytest.approx(expected, rel=1e-2 if method == "semi-implicit" else 1e-9)
    assert (run["contact.state"][:, -1] == 2.0).all()


@pytest.mark.parametrize("method", QUICK)
def test_block_between_static_and_dynamic_friction_angle_sticks_at_rest_and_slides_if_pushed(method: str) -> None:
    angle = np.arctan(0.5)
    rests = laid(LOW, angle, method, 2.0, friction=(0.6, 0.4))
    assert (rests["contact.state"][:, -1] == 4.0).all()
    assert np.abs(rests.q[:, :, 0]).max() < 2e-4
    pushed = laid(LOW, angle, method, 2.0, friction=(0.6, 0.4), v=[0.02, 0, 0, 0, 0, 0])
    fall = G * (np.sin(angle) - 0.4 * np.cos(angle))
    assert (pushed["contact.state"][:, -1] == 2.0).all()
    assert pushed.v[:, -1, 0] == pytest.approx(0.02 + fall * 2.0, rel=2e-3)
    steep = laid(LOW, np.arctan(0.61), method, 2.0, friction=(0.6, 0.4))
    assert (steep["contact.state"][:, -1] == 2.0).all()


@pytest.mark.parametrize("height", [LOW, HIGH], ids=["low", "high"])
def test_dropped_block_comes_to_rest_below_the_friction_angle(height: float) -> None:
    """Only the high block with a damping ratio of 0.1 chatters on: sliding and rocking excite each other."""
    run = laid(height, np.arctan(0.95 * MU), "auto", 4.0, drop=5e-3)
    calm = slice(None) if height == LOW else slice(1, None, 2)
    assert np.ptp(run.q[calm, run.t >= 3.0, :3], axis=1).max() < 1e-8
    assert (run["contact.state"][calm, -1] == 4.0).all()


@pytest.mark.parametrize("contact", ["apart", "frictionless"])
def test_open_and_frictionless_contacts_start_in_state_1_without_anchor_energy(contact: str) -> None:
    m, height = block(LOW), 0.5 * LOW
    given = {f"corner {k}.friction": np.zeros(2) for k in range(1, 5)} if contact == "frictionless" else {}
    z = height + 1e-6 if contact == "apart" else height - 1e-4
    run = lw.simulate(m, [0, 0, z, 1, 0, 0, 0], duration=1e-3, dt=1e-4, parameters=given)
    assert (run["contact.state"][0] == 1.0).all()
    assert run["contact.energy"][0] == pytest.approx(4 * 0.5 * 1e4 * max(height - z, 0.0) ** 2)


def test_anchors_at_the_start_are_the_same_in_batches_simulators_and_plain_python() -> None:
    m, angle = block(HIGH), np.arctan(0.9 * MU)
    q = [0.01, 0.02, 0.5 * HIGH - 5e-4, 1, 0, 0, 0]
    given = {"gravity": G * np.array([np.sin(angle), 0, -np.cos(angle)])}
    runs = [lw.simulate(m, q, duration=2e-3, dt=1e-3, method="rk4", target=target, parameters=given)
            for target in ("cpu", "numpy")]  # fmt: skip
    batch = lw.simulate(m, [q, q], duration=2e-3, dt=1e-3, method="rk4", parameters=given)
    anchors = [runs[0]["contact.anchor"], runs[1]["contact.anchor"], batch["contact.anchor"][1]]
    for found in anchors:
        assert found == pytest.approx(anchors[0], abs=1e-15)
        pull = 1e4 * (found[0, :, 0] - (lw.box_corners((WIDTH, WIDTH, HIGH))[:4, 0] + 0.01))
        assert -pull == pytest.approx(np.full(4, MASS * G * np.sin(angle) / 4.0), rel=1e-9)
    level = lw.simulate(m, q, duration=2e-3, dt=1e-3, method="rk4")
    sim = lw.Simulator(m, q, dt=1e-3, method="rk4")
    sim.step()
    sim.step()
    assert sim.state.q == pytest.approx(level.q[-1], abs=1e-15)


def test_friction_load_at_the_start_is_distributed_within_the_friction_limit_of_each_contact() -> None:
    """A plate with its centre of mass far to one side slides only where friction cannot hold it."""
    b = lw.Builder("plate").body("plate", MASS, inertia=(0.01, 0.01, 0.02)).joint("free", lw.Free(), "world", "plate")
    b.surface("plane", lw.Plane())
    feet = np.array([(x, y, 0.0) for x in (-0.1, 0.1) for y in (-0.1, 0.1)])
    b.touch("foot", "plate", feet, stiffness=1e4, damping=100.0, friction=MU)
    # The feet on the left carry little weight: with equal shares of the load they would slip
    tilt = 3e-4
    q = [0, 0, -5e-4, np.cos(tilt), 0, np.sin(tilt), 0]
    angle = np.arctan(0.95 * MU)
    gravity = G * np.array([0.0, np.sin(angle), -np.cos(angle)])
    run = lw.simulate(b.build(), q, duration=1e-4, dt=1e-4, parameters={"gravity": gravity})
    along, normal = run["contact.force"][0, :, :2], run["contact.force"][0, :, 2]
    assert (np.linalg.norm(along, axis=1) <= MU * normal * (1.0 + 1e-3)).all()
    assert along[:, 1].sum() == pytest.approx(-MASS * G * np.sin(angle), rel=0.02)
