"""Contacts change between six states as in Figure 5.1 of Wendlandt; force derivatives match differences."""

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.compliant_contact import (
    APART,
    PULLED,
    SLIDING,
    SLIPPING,
    STICKING,
    STOPPING,
    Memory,
    contact_force,
    contact_wrenches,
    elastic_energy,
    mode_event_functions,
    mode_of,
)
from linkwork.algorithms.contact_anchor import anchor_after, state_after
from linkwork.algorithms.contact_kinematics import ContactKinematics, contact_kinematics, contact_rows
from linkwork.algorithms.kinematics import kinematics, subspaces, world_poses
from linkwork.model.elements.contact import Contact
from linkwork.spatial import Transform
from quick_test_selection import mark_slow_except

K, B, KT, BT, MU_S, MU_D, REST = 1000.0, 10.0, 800.0, 5.0, 0.6, 0.4, 0.01


def contact(**options: Any) -> Contact:
    b = lw.Builder("one").body("ball", 1.0, inertia=(1, 1, 1)).joint("free", lw.Free(), "world", "ball")
    numbers: dict[str, Any] = {
        "stiffness": K,
        "damping": B,
        "tangential_stiffness": KT,
        "tangential_damping": BT,
        "rest_speed": REST,
    }
    b.surface("floor", lw.Plane()).touch("it", "ball", friction=(MU_S, MU_D), **numbers | options)
    return b.build().contacts["it"]


def point_kinematics(
    depth: float, velocity: tuple[float, ...], at: tuple[float, ...] = (0.0, 0.0), turning=(0, 0, 0)
) -> ContactKinematics:
    point, z = np.array([*at, -depth]), np.array([0.0, 0.0, 1.0])
    arrays = (np.array(velocity, dtype=float), np.array(turning, dtype=float), np.zeros(3))
    return ContactKinematics(-depth, z, point, *arrays, np.zeros((3, 3)), Transform.identity())


SLOW, FAST = (0.5 * REST, 0.0, 0.0), (0.3, 0.4, 0.0)
WALKS = {  # state at the beginning, depth, velocity, place along the floor from the anchor: state at the end
    "stays apart": (APART, -0.01, FAST, (0, 0), APART),
    "lands": (APART, 0.01, FAST, (0, 0), SLIDING),
    "lands, however slowly": (APART, 0.01, SLOW, (0, 0), SLIDING),
    "slides": (SLIDING, 0.01, FAST, (0, 0), SLIDING),
    "stops": (SLIDING, 0.01, SLOW, (0, 0), STOPPING),
    "is pulled while sliding": (SLIDING, 0.01, (0.3, 0.0, 2.0), (0, 0), PULLED),
    "is pulled before it stops": (SLIDING, 0.01, (0.0, 0.0, 2.0), (0, 0), PULLED),
    "leaves": (SLIDING, -0.001, FAST, (0, 0), APART),
    "leaves before it is pulled": (SLIDING, -0.001, (0.0, 0.0, 2.0), (0, 0), APART),
    "sticks": (STICKING, 0.01, SLOW, (0.005, 0), STICKING),
    "sticks while it moves": (STICKING, 0.01, (0.1, 0.0, 0.0), (-0.001, 0), STICKING),
    "slips": (STICKING, 0.01, SLOW, (0.0, 0.008), SLIPPING),
    "is pulled while sticking": (STICKING, 0.01, (0.0, 0.0, 2.0), (0.1, 0), PULLED),
    "leaves its anchor": (STICKING, -0.001, SLOW, (0.1, 0), APART),
}


@pytest.mark.parametrize("walk", WALKS)
def test_contact_state_transitions_follow_their_priorities(walk: str) -> None:
    begin, depth, velocity, at, end = WALKS[walk]
    assert contact_force(contact(), begin, np.zeros(3), point_kinematics(depth, velocity, at)).number == end


def test_transient_contact_states_end_at_the_next_step() -> None:
    numbers = [APART, SLIDING, STOPPING, STICKING, SLIPPING, PULLED]
    begun = Memory(numbers, [np.zeros(3)] * 6, [0.0] * 6).begun(2.0)
    assert begun.number == [APART, SLIDING, STICKING, STICKING, SLIDING, SLIDING]
    assert begun.since == 2.0


def test_contact_forces_match_wendlandts_section_5_2() -> None:
    c, anchor = contact(), np.array([0.001, 0.0, 0.0])
    normal = K * 0.01 - B * 0.2
    sliding = contact_force(c, SLIDING, anchor, point_kinematics(0.01, (0.3, 0.4, 0.2)))
    assert sliding.force == pytest.approx([-MU_D * normal * 0.6, -MU_D * normal * 0.8, normal])
    stopping = contact_force(c, SLIDING, anchor, point_kinematics(0.01, (0.004, 0.0, 0.2)))
    assert stopping.force == pytest.approx([-MU_D * normal * 0.4, 0, normal])
    sticking = contact_force(c, STICKING, anchor, point_kinematics(0.01, (0.1, 0.2, 0.2), (0.004, 0.0)))
    assert sticking.force == pytest.approx([-KT * 0.003 - BT * 0.1, -BT * 0.2, normal])
    slipping = contact_force(c, STICKING, anchor, point_kinematics(0.01, (0.0, 0.0, 0.2), (0.101, 0.0)))
    assert slipping.force == pytest.approx([-MU_S * normal, 0, normal])
    for state in (SLIDING, STICKING):
        assert not contact_force(c, state, anchor, point_kinematics(0.01, (0.1, 0.0, 2.0), (0.1, 0))).force.any()
    assert elastic_energy(c, STICKING, anchor, point_kinematics(0.01, (0, 0, 0), (0.004, 0))) == pytest.approx(
        0.5 * K * 1e-4 + 0.5 * KT * 9e-6
    )


def test_hunt_crossley_force_grows_with_depth_to_the_power_three_halves() -> None:
    c = contact(damping=0.0, dissipation=0.5)
    assert contact_force(c, SLIDING, np.zeros(3), point_kinematics(0.01, (0, 0, -2.0))).force[2] == pytest.approx(
        K * 1e-3 * 2.0
    )
    assert contact_force(c, SLIDING, np.zeros(3), point_kinematics(0.01, (0, 0, 3.0))).number == PULLED
    assert elastic_energy(c, SLIDING, np.zeros(3), point_kinematics(0.01, (0, 0, 0))) == pytest.approx(0.4 * K * 1e-5)


def test_rolling_and_spinning_friction_are_proportional_to_normal_force() -> None:
    c, normal = contact(radius=0.1, rolling=0.02, spinning=0.005), K * 0.01
    found = contact_force(c, SLIDING, np.zeros(3), point_kinematics(0.01, (0, 0, 0), turning=(3.0, 4.0, -2.0)))
    assert found.torque == pytest.approx(normal * np.array([-0.02 * 0.6, -0.02 * 0.8, 0.005]))
    assert found.torque == pytest.approx(-found.viscous[3:, 3:] @ (3.0, 4.0, -2.0))
    slow = contact_force(
        c, SLIDING, np.zeros(3), point_kinematics(0.01, (0, 0, 0), turning=(0.025, 0, 0))
    )  # rest is 0.1 rad/s
    assert slow.torque == pytest.approx([-normal * 0.02 * 0.25, 0, 0])


FORCE_LAWS: dict[str, dict[str, float]] = {
    "linear": {},
    "hunt-crossley": {"damping": 0.0, "dissipation": 0.5},
    "braked": {"radius": 0.1, "rolling": 0.02, "spinning": 0.01},
}


@pytest.mark.parametrize("force_law", FORCE_LAWS)
@pytest.mark.parametrize("walk", ["slides", "stops", "sticks", "slips", "leaves", "is pulled while sticking"])
@pytest.mark.parametrize("turning", [(0.03, 0.02, 0.05), (0.3, 0.2, -0.5)], ids=["slow", "fast"])
def test_contact_stiffness_and_damping_match_finite_differences(
    walk: str, force_law: str, turning: tuple[float, ...]
) -> None:
    """The Jacobian of the current state (S4 5.3) against finite differences."""
    begin, depth, velocity, (x, y), _ = WALKS[walk]
    c, anchor, e = contact(**FORCE_LAWS[force_law]), np.array([1e-4, -2e-4, 0.0]), 1e-7
    u = np.add(velocity, (0.0, 1e-3, -0.05))

    def force(move: np.ndarray, more: np.ndarray) -> np.ndarray:
        at = point_kinematics(
            depth - move[2], tuple(u + more[:3]), (x + move[0], y + move[1]), tuple(turning + more[3:])
        )
        found = contact_force(c, begin, anchor, at)
        return np.concatenate([found.force, np.zeros(3) if found.torque is None else found.torque])

    zero, found = np.zeros(6), contact_force(c, begin, anchor, point_kinematics(depth, tuple(u), (x, y), turning))
    size = len(found.stiffness)
    assert size == (6 if force_law == "braked" else 3)
    by_place = np.array([(force(d, zero) - force(-d, zero)) / (2 * e) for d in e * np.eye(6)]).T
    by_speed = np.array([(force(zero, d) - force(zero, -d)) / (2 * e) for d in e * np.eye(6)]).T
    assert found.stiffness == pytest.approx(-by_place[:size, :size], abs=2e-4)
    assert found.damping == pytest.approx(-by_speed[:size, :size], abs=2e-4)
    assert np.linalg.eigvalsh(found.viscous).min() >= -1e-12


def slipping_path(across: float) -> list[ContactKinematics]:
    """Kinematics of a contact whose slip reverses its first component, with the constant second one `across` [m/s]."""
    return [point_kinematics(0.01, (u, across, 0.0)) for u in np.linspace(0.05, -0.05, 20_000)]


@pytest.mark.parametrize("across", mark_slow_except([0.0, 0.5 * REST, 1.05 * REST, 3.0 * REST], (0.0, 1.05 * REST)))
def test_force_and_event_functions_of_a_fixed_contact_state_are_continuous_where_slip_reverses(across: float) -> None:
    c, path = contact(), slipping_path(across)
    mode = mode_of(c, np.zeros(3), path[0])
    speeds = np.array([mode_event_functions(c, SLIDING, np.zeros(3), at, mode)[2] for at in path])
    forces = np.array([contact_force(c, SLIDING, np.zeros(3), at, mode=mode).force for at in path])
    step = 0.1 / 19_999
    assert np.abs(np.diff(speeds)).max() < 1.5 * step
    assert np.linalg.norm(np.diff(forces, axis=0), axis=1).max() < 1.1 * MU_D * K * 0.01 * step / max(
        across, 0.1 * REST
    )
    slip = np.array([at.velocity[:2] for at in path])
    ahead = slip @ mode.along[:2] > 0.0
    fast = np.linalg.norm(slip, axis=1) > REST
    event = np.argmax(speeds < 0.0)
    assert event == np.argmax(~(ahead & fast))  # where it is slow, or has turned by 90 degrees
    real = [contact_force(c, SLIDING, np.zeros(3), at).force for at in path[:event]]
    assert forces[:event] == pytest.approx(np.array(real), abs=1e-12)


def test_event_function_of_a_slow_contact_is_zero_when_it_reaches_the_rest_speed_in_any_direction() -> None:
    c, begin = contact(), point_kinematics(0.01, SLOW)
    mode = mode_of(c, np.zeros(3), begin)
    for speed, stays in ((-0.9, True), (-1.1, False), (0.9, True), (1.1, False)):
        at = point_kinematics(0.01, (speed * REST, 0.0, 0.0))
        assert (mode_event_functions(c, SLIDING, np.zeros(3), at, mode)[2] > 0.0) == stays


@pytest.mark.parametrize("u", [(0.03, 0.02, -0.01), (-0.03, 0.02, 0.01), (-0.2, 0.01, 0.0)])
def test_damping_of_a_fixed_contact_state_matches_finite_differences(u: tuple[float, ...]) -> None:
    c, e = contact(), 1e-7
    mode = mode_of(c, np.zeros(3), point_kinematics(0.01, (0.05, 0.01, 0.0)))

    def force(more: np.ndarray) -> np.ndarray:
        return contact_force(c, SLIDING, np.zeros(3), point_kinematics(0.01, tuple(u + more)), mode=mode).force

    by_speed = np.array([(force(d) - force(-d)) / (2 * e) for d in e * np.eye(3)]).T
    found = contact_force(c, SLIDING, np.zeros(3), point_kinematics(0.01, u), mode=mode)
    assert found.damping == pytest.approx(-by_speed, abs=1e-4)


@pytest.mark.parametrize("numbers", [(STICKING, STICKING), (SLIDING, SLIDING), (SLIDING, STOPPING), (STICKING, PULLED)])
def test_dragged_anchor_springs_stay_within_the_friction_limit_and_lose_energy(numbers: tuple[float, float]) -> None:
    c, rng, still = contact(), np.random.default_rng(3), np.zeros(3)
    for _ in range(200):
        depth, (x, y, u, w) = 0.01 * rng.random(), 0.02 * rng.normal(size=4)
        first, last = (point_kinematics(depth, (u, w, 0.0), (s * x, s * y)) for s in (0.9, 1.0))
        before, limit = 0.02 * rng.normal(size=3), (MU_S if numbers[0] == STICKING else MU_D) * K * depth
        anchor = anchor_after(c, numbers, before, still, first, last)
        stretch, had = last.point - anchor, (first.point - before)[:2]
        length = np.linalg.norm(stretch)
        assert abs(stretch[2]) < 1e-15
        assert KT * length <= limit * (1.0 + 1e-12)
        if numbers[0] == STICKING:  # shortened along itself
            stays = (last.point - before)[:2]
            assert stretch[:2] == pytest.approx(stays * min(1.0, limit / KT / np.linalg.norm(stays)))
        else:  # behind the slip, never longer than it was
            assert stretch[:2] == pytest.approx(np.array([u, w]) / np.hypot(u, w) * length, abs=1e-12)
            assert length == pytest.approx(min(np.linalg.norm(had), limit / KT))


def test_anchor_of_a_landing_contact_is_at_its_contact_point() -> None:
    at = point_kinematics(0.01, FAST, (0.3, 0.4))
    assert anchor_after(contact(), (APART, SLIDING), np.ones(3), np.zeros(3), at, at) == pytest.approx(at.point)
    assert anchor_after(contact(), (SLIDING, APART), np.ones(3), np.zeros(3), at, at) == pytest.approx(np.ones(3))


@pytest.mark.parametrize(("velocity", "after"), [(SLOW, STICKING), (FAST, SLIPPING)])
def test_sticking_contact_beyond_the_friction_limit_slides_only_above_the_rest_speed(
    velocity: tuple[float, ...], after: float
) -> None:
    found = contact_force(contact(), STICKING, np.zeros(3), point_kinematics(0.01, velocity, (0.0, 0.02)))
    assert found.number == SLIPPING
    assert state_after(contact(), found) == after


def two_bodies() -> lw.Mechanism:
    """A ball on two joints near a sphere on a free body, and a point above a rotating box."""
    b = lw.Builder("two").body("arm", 1.0, inertia=(1, 1, 1)).body("hand", 1.0, inertia=(1, 1, 1))
    b.body("other", 2.0, inertia=(1, 2, 3)).joint("a", lw.Revolute((0, 1, 0)), "world", "arm")
    b.joint("b", lw.Ball(), "arm", "hand", (0.5, 0, 0.1)).joint("c", lw.Free(), "world", "other")
    b.surface("globe", lw.Sphere(0.3), "other", (0.1, 0, 0), (0.3, 0.2, 0.1)).surface("block", lw.Box((1, 1, 1)), "arm")
    b.touch("fist", "hand", (0.2, 0.1, 0), radius=0.1, stiffness=K, damping=B, friction=0.5, against="globe")
    b.touch("tip", "other", (0, 0.1, -0.2), stiffness=K, friction=0.5, against="block")
    return b.build()


def test_contact_point_velocities_match_pose_rates_and_contact_jacobian() -> None:
    m, rng, e = two_bodies(), np.random.default_rng(0), 1e-6
    q, v = m.random(rng), rng.normal(size=m.nv)
    there, poses = contact_kinematics(m, q, v)
    before, after = (contact_kinematics(m, m.integrate(q, sign * e * v), v)[0] for sign in (-1.0, 1.0))
    S = subspaces(m, q)
    for pair, at, early, late in zip(m.contact_pairs, there, before, after, strict=True):
        J = contact_rows(m, poses, S, pair, at)
        assert J @ v == pytest.approx([*at.velocity, *at.turning], abs=1e-12)
        assert (late.distance - early.distance) / (2 * e) == pytest.approx(at.normal @ at.velocity, abs=1e-8)
        # The nearest point is faster than the material there by rolling, along the surface
        moved = (late.point - early.point) / (2 * e)
        assert moved - at.velocity == pytest.approx(at.rolling, abs=1e-7)
        assert (abs(at.rolling).max() == 0.0) == (pair.contact.radius == 0.0)


def test_contact_wrenches_have_the_power_of_the_contact_forces() -> None:
    m, rng = two_bodies(), np.random.default_rng(1)
    q, v = m.random(rng), rng.normal(size=m.nv)
    there, poses = contact_kinematics(m, q, v)
    found = [
        contact_force(p.contact, SLIDING, np.zeros(3), at._replace(distance=-0.1))
        for p, at in zip(m.contact_pairs, there, strict=True)
    ]
    wrenches, motion = contact_wrenches(m.contact_pairs, found, poses), kinematics(m, q, v)
    assert poses[2].p == pytest.approx(world_poses(m, motion.X)[2].p)
    power = sum(w @ V.array for w, V in zip(wrenches, motion.twist[1:], strict=True))
    assert power == pytest.approx(sum(one.force @ one.at.velocity for one in found))
    total = sum(X.R @ w[:3] for X, w in zip(poses[1:], wrenches, strict=True))
    assert total == pytest.approx(np.zeros(3), abs=1e-12)
