"""The K2T Walker: matrices (42) to (49) as printed, coordinates 68 to 26 to 23 to 11, and the action of its motors."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms.constraints.velocity_constraints import factors, velocity_row_matrix
from linkwork.algorithms.drive_forces import drive_forces
from linkwork.algorithms.formulations.limb_dynamics import accelerations, limb_at
from linkwork.algorithms.formulations.limb_systems import LimbSystem, limb_system
from linkwork.algorithms.kinematics import joint_poses, world_poses
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.examples import walker, walker_mechanism

M = walker.build()
MOTORS = ("yaw", "bottom femurs", "bottom tibiae", "top femurs", "top tibiae")


@pytest.fixture(scope="module")
def system() -> LimbSystem:
    return walker.limbs(M)


def test_walker_has_17_joints_5_motors_and_8_limbs(system: LimbSystem) -> None:
    assert sum(isinstance(j.kind, lw.Revolute) for j in M.joints) == 17
    assert tuple(drive.name for drive in M.drives) == MOTORS
    assert [len(path) for path in system.paths] == [4, 4, 4, 4, 3, 3, 3, 3]


@pytest.mark.parametrize("name", walker.printed())
def test_walker_matrix_equals_the_printed_matrix(system: LimbSystem, name: str) -> None:
    assert np.array_equal(walker.matrices(system)[name], walker.printed()[name])


def test_numbers_of_walker_coordinates_equal_the_printed_numbers(system: LimbSystem) -> None:
    assert sum(D.shape[1] for D in system.D0) == 68
    assert [D.shape for D in (system.D1, system.D2, system.D3)] == [(68, 26), (26, 23), (23, 11)]
    assert [D.shape for D in (walker.matrices(system)[name] for name in ("D top", "D bottom"))] == [(9, 5), (12, 6)]


def test_masses_of_walker_bodies_are_divided_among_8_or_4_limbs(system: LimbSystem) -> None:
    """Equation (41)."""
    poses = world_poses(M, joint_poses(M, M.neutral()))
    for number, path in enumerate(system.paths):
        limb = limb_at(M, system, path, poses)
        assert limb.m[0] == walker_mechanism.NUMBERS["top"].mass / 8
        assert number >= 4 or limb.m[1] == walker_mechanism.NUMBERS["bottom"].mass / 4


def test_each_drive_moves_one_motor_coordinate(system: LimbSystem) -> None:
    """The drives have the power of five motors: drive rows times the coordinate map are unit rows."""
    rows = np.array([drive.row for drive in M.drives])
    assert np.allclose(rows @ system.velocity_map, np.eye(11)[6:], rtol=0, atol=1e-15)
    tau = drive_forces(M, M.neutral(), np.zeros(M.nv), np.full(5, 1e-3))
    stiffness = [
        walker_mechanism.YAW,
        walker_mechanism.FEMUR,
        walker_mechanism.TIBIA,
        walker_mechanism.FEMUR,
        walker_mechanism.TIBIA,
    ]
    torques = [0.0] * 6 + [1e-3 * servo.stiffness for servo in stiffness]
    assert np.allclose(system.velocity_map.T @ tau, torques, rtol=0, atol=1e-14)


@pytest.mark.parametrize("frame", walker_mechanism.FRAMES)
def test_motors_lift_femurs_and_keep_tibiae_parallel_to_the_body(system: LimbSystem, frame: str) -> None:
    """5.2: a femur motor with negative speed lifts four knees; tibiae and the legs of the other frame do not rotate."""
    rate = np.zeros(11)
    rate[6 + MOTORS.index(f"{frame} femurs")] = -1.0
    d, v = lw.compile(M, target="numpy"), system.velocity_map @ rate
    twists = dict(zip((body.name for body in M.bodies[1:]), d.velocities(M.neutral(), v), strict=True))
    for leg in walker_mechanism.LEGS:
        for other in walker_mechanism.FRAMES:
            tibia = twists[f"{other} {leg} tibia"]
            assert np.allclose(tibia[3:], 0.0, rtol=0, atol=1e-15)
            assert tibia[2] == pytest.approx(walker_mechanism.FEMUR_LENGTH if other == frame else 0.0, abs=1e-15)
    rate = np.zeros(11)
    rate[6 + MOTORS.index(f"{frame} tibiae")] = 1.0
    twists = dict(zip(twists, d.velocities(M.neutral(), system.velocity_map @ rate), strict=True))
    assert all(np.allclose(twists[f"{frame} {leg} tibia"], [0, 0, 0, 0, 1, 0]) for leg in walker_mechanism.LEGS)


def test_clutches_couple_legs_as_the_motors_do(system: LimbSystem) -> None:
    """The clutches have the ratios of (49), with tibiae measured as in (29), and none is engaged."""
    for clutch in M.clutches:
        assert not clutch.engaged
        (tie,) = clutch.velocity_rows
        assert not factors(M, tie) @ system.velocity_map @ np.ones(11)
    assert len(M.clutches) == 12
    assert [brake.engaged for brake in M.brakes] == [False]


def test_engaged_clutches_match_the_limb_coordinates(system: LimbSystem) -> None:
    """With all clutches engaged, accelerations of the tree equal those of the limbs in eleven coordinates."""
    held = M.with_parameters({f"{clutch.name}.engaged": 1.0 for clutch in M.clutches})
    d, rng = lw.compile(held, target="numpy"), np.random.default_rng(3)
    assert np.linalg.matrix_rank(velocity_row_matrix(held)) == 12
    q, rate, tau = M.random(rng), rng.normal(size=11), rng.normal(size=M.nv)
    a = d.forward_dynamics(q, system.velocity_map @ rate, tau)
    assert np.allclose(a, system.velocity_map @ accelerations(M, system, q, rate, tau), rtol=1e-10, atol=1e-10)


def test_engaging_all_clutches_projects_velocities_onto_the_limb_coordinates(system: LimbSystem) -> None:
    """3.1.1, 5.3.1: momentum balance of clutching by D0 D1 D2 D3; momentum in eleven directions is conserved."""
    rng, P = np.random.default_rng(5), system.velocity_map
    q, v = M.keyframes["start"].q.copy(), rng.normal(size=M.nv)
    q[2] = 2.0  # in the air
    schedule = [(0.0, "engage", clutch.name) for clutch in M.clutches]
    run = lw.simulate(M, q, v, duration=1e-3, dt=1e-3, method="semi-implicit", schedule=schedule)
    inertia = mass_matrix(M, q)
    projected = P @ np.linalg.solve(P.T @ inertia @ P, P.T @ inertia @ v)
    assert np.abs(run.v[0] - projected).max() < 1e-13 * np.abs(v).max()
    lost = 0.5 * (v - projected) @ inertia @ (v - projected)
    assert sum(event.energy for event in run.events) == pytest.approx(-lost, rel=1e-12)


def test_reversed_clutches_change_only_signs_of_the_matrix_d_f() -> None:
    """3.1.4: back femurs clutched with opposite sign move all femurs in one direction, by the sign of D_F alone."""
    same = {name: dict.fromkeys(ratios, 1.0) for name, ratios in walker.motors().items()}
    changed = limb_system(M, same)
    assert np.array_equal(changed.D3, np.abs(walker.printed()["D3"]))
    q, rng = M.random(0), np.random.default_rng(0)
    rate, tau = rng.normal(size=11), rng.normal(size=M.nv)
    d = lw.compile(M, target="numpy")
    a = changed.velocity_map @ accelerations(M, changed, q, rate, tau)
    left = tau - d.inverse_dynamics(q, changed.velocity_map @ rate, a)
    assert np.abs(changed.velocity_map.T @ left).max() < 1e-12  # what is left over does no work


def test_walker_starts_with_all_feet_on_the_ground() -> None:
    poses = lw.compile(M, target="numpy").poses(M.keyframes["start"].q)
    feet = [poses[frame.body - 1] @ [*frame.pose.p, 1.0] for frame in M.frames if frame.name.endswith("foot")]
    assert len(feet) == 8
    assert np.allclose([foot[2] for foot in feet], 0.0, rtol=0, atol=1e-15)
