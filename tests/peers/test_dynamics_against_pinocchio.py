"""On example robots, with fixed and free bases, every quantity matches Pinocchio to 1e-10 of the largest value.

The Builder describes the mechanisms by hand from Pinocchio's model, joints last to first, so that the two
libraries number their joints differently and every comparison is by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import JointKind
from linkwork.spatial.scalar import Array
from pinocchio_reference import FOLDER, coordinates, mass_matrix, pin, velocity_order
from random_mechanisms import State, relative, state

AGREE = 1e-10
STATES = 5
URDF = {
    "panda": "panda_description/urdf/panda.urdf",  # an arm of 7 joints, a gripper with prismatic fingers
    "kinova": "kinova_description/robots/kinova.urdf",  # an arm, half of its joints continuous
    "allegro": "allegro_hand_description/urdf/allegro_right_hand.urdf",  # a hand of four fingers
    "tiago": "tiago_description/robots/tiago_no_hand.urdf",  # on wheels: continuous and prismatic joints
    "pr2": "pr2_description/urdf/pr2.urdf",  # two arms, grippers, continuous and prismatic joints
    "anymal": "anymal_c_simple_description/urdf/anymal.urdf",  # a quadruped
    "talos": "talos_data/robots/talos_reduced.urdf",  # a humanoid
}
EXPRESSED = {"body": "LOCAL", "world": "WORLD", "mixed": "LOCAL_WORLD_ALIGNED"}  # ours: Pinocchio's
AXES = {"X": (1, 0, 0), "Y": (0, 1, 0), "Z": (0, 0, 1)}
ALIGNED = {"R": lw.Revolute, "RUB": lw.Revolute, "P": lw.Prismatic}  # before the letter of the axis
UNALIGNED = {"Revolute": lw.Revolute, "RevoluteUnbounded": lw.Revolute, "Prismatic": lw.Prismatic}


class Both(NamedTuple):
    """A random state with its forces in linkwork's order, and the same in Pinocchio's order."""

    own: State
    pin_q: Array
    pin_v: Array
    pin_a: Array
    forces: list[Any]


class Robot:
    """The same robot twice: Pinocchio's `model` with its `data`, and linkwork's mechanism `m` with its dynamics `d`."""

    def __init__(self, urdf: str, free: bool, armature: float = 0.0):
        root = (pin.JointModelFreeFlyer(),) if free else ()
        self.model = pin.buildModelFromUrdf(str(FOLDER / urdf), *root)
        self.model.armature = armature * np.random.default_rng(1).uniform(0.5, 1.5, self.model.nv)
        self.data = self.model.createData()
        self.frames = self.one_frame_per_joint()
        self.m = self.described()
        self.d = lw.compile(self.m, target="numpy")

    # --- the description, by hand ---

    def one_frame_per_joint(self) -> list[int]:
        """Pinocchio's index of one frame on every moving body: the last one away from the joint, if any."""
        found: dict[int, int] = {}
        for k, frame in enumerate(self.model.frames):
            fixed_to_body = frame.type in (pin.FrameType.BODY, pin.FrameType.OP_FRAME) and frame.parentJoint > 0
            if fixed_to_body and (frame.parentJoint not in found or not frame.placement.isIdentity(1e-6)):
                found[frame.parentJoint] = k
        return list(found.values())

    def described(self) -> lw.Mechanism:
        model = self.model
        b = lw.Builder(model.name, gravity=model.gravity.linear)
        body = ["world", *(f"{name} body" for name in model.names[1:])]
        for k in range(model.njoints - 1, 0, -1):
            place, joint = model.jointPlacements[k], model.joints[k]
            armature = model.armature[joint.idx_v : joint.idx_v + joint.nv]
            describe_body(b, body[k], model.inertias[k])
            b.joint(
                model.names[k],
                kind_of(joint),
                body[model.parents[k]],
                body[k],
                at=place.translation,
                rotation=place.rotation,
                armature=armature,
            )
        if model.inertias[0].mass > 0.0:  # what never moves is part of the world and must not count
            describe_body(b, "base", model.inertias[0])
            b.joint("base", lw.Weld(), "world", "base")
        for frame in (model.frames[k] for k in self.frames):
            place = frame.placement
            b.frame(frame.name, body[frame.parentJoint], at=place.translation, rotation=place.rotation)
        return b.build()

    # --- from our numbering to Pinocchio's ---

    @cached_property
    def order(self) -> Array:
        """The index (nv,) in linkwork's velocities of each of Pinocchio's velocities."""
        return velocity_order(self.m, self.model)

    def coordinates(self, q: Array) -> Array:
        """Return Pinocchio's coordinates for linkwork's coordinates q."""
        return coordinates(self.m, self.model, q)

    def states(self) -> Iterator[Both]:
        for seed in range(STATES):
            own = state(self.m, seed)
            of_body = dict(zip(self.m.bodies.names[1:], own.wrenches, strict=True))
            forces = [pin.Force.Zero(), *(pin.Force(of_body[f"{name} body"]) for name in self.model.names[1:])]
            yield Both(own, self.coordinates(own.q), own.v[self.order], own.a[self.order], forces)


def describe_body(b: lw.Builder, name: str, inertia: Any) -> None:
    b.body(name, mass=inertia.mass, com=inertia.lever, inertia=inertia.inertia)


def kind_of(joint: Any) -> JointKind:
    name = joint.shortname().removeprefix("JointModel")
    if name == "FreeFlyer":
        return lw.Free()
    if name.endswith("Unaligned"):
        return UNALIGNED[name.removesuffix("Unaligned")](joint.extract().axis)
    return ALIGNED[name[:-1]](AXES[name[-1]])


CASES = {f"{name} {'free' if free else 'fixed'}": (name, free, 0.0) for name in URDF for free in (False, True)}
# Not on unaligned revolute joints, whose armature Pinocchio 4.1 forgets in the kinetic energy (not in its mass matrix).
CASES |= {"tiago fixed with rotors": ("tiago", False, 0.1), "talos free with rotors": ("talos", True, 0.1)}


@pytest.fixture(scope="module", params=CASES.values(), ids=list(CASES))
def robot(request: pytest.FixtureRequest) -> Robot:
    name, free, armature = request.param
    return Robot(URDF[name], free, armature)


def test_integrate_and_difference_match_pinocchio(robot: Robot) -> None:
    rng = np.random.default_rng(0)
    for s in robot.states():
        dv = rng.uniform(-1.7, 1.7, robot.m.nv)  # less than half a turn, where the difference is unique
        q = robot.m.integrate(s.own.q, dv)
        pin_q = pin.integrate(robot.model, s.pin_q, dv[robot.order])
        assert relative(robot.coordinates(q), pin_q) < AGREE
        assert (
            relative(robot.m.difference(s.own.q, q)[robot.order], pin.difference(robot.model, s.pin_q, pin_q)) < AGREE
        )


def test_inverse_dynamics_match_pinocchio_with_and_without_wrenches(robot: Robot) -> None:
    for s in robot.states():
        given = robot.model, robot.data, s.pin_q, s.pin_v, s.pin_a
        alone = robot.d.inverse_dynamics(s.own.q, s.own.v, s.own.a)
        pushed = robot.d.inverse_dynamics(s.own.q, s.own.v, s.own.a, s.own.wrenches)
        assert relative(alone[robot.order], pin.rnea(*given)) < AGREE
        assert relative(pushed[robot.order], pin.rnea(*given, s.forces)) < AGREE


def test_bias_and_gravity_match_pinocchio(robot: Robot) -> None:
    for s in robot.states():
        bias = pin.nonLinearEffects(robot.model, robot.data, s.pin_q, s.pin_v)
        gravity = pin.computeGeneralizedGravity(robot.model, robot.data, s.pin_q)
        assert relative(robot.d.bias(s.own.q, s.own.v)[robot.order], bias) < AGREE
        assert relative(robot.d.gravity(s.own.q)[robot.order], gravity) < AGREE


def test_forward_dynamics_match_pinocchio_with_and_without_wrenches(robot: Robot) -> None:
    for s in robot.states():
        given = robot.model, robot.data, s.pin_q, s.pin_v, s.own.tau[robot.order]
        alone = robot.d.forward_dynamics(s.own.q, s.own.v, s.own.tau)
        pushed = robot.d.forward_dynamics(s.own.q, s.own.v, s.own.tau, s.own.wrenches)
        assert relative(alone[robot.order], pin.aba(*given)) < AGREE
        assert relative(pushed[robot.order], pin.aba(*given, s.forces)) < AGREE


def test_joint_reactions_match_pinocchio(robot: Robot) -> None:
    for s in robot.states():
        a = pin.aba(robot.model, robot.data, s.pin_q, s.pin_v, s.own.tau[robot.order], s.forces)
        pin.rnea(robot.model, robot.data, s.pin_q, s.pin_v, a, s.forces)
        reactions = robot.d.reactions(s.own.q, s.own.v, s.own.tau, s.own.wrenches)
        order = [robot.m.joints.index_of(name) for name in robot.model.names[1:]]
        assert relative(reactions[order], np.array([f.vector for f in robot.data.f.tolist()[1:]])) < AGREE


def test_mass_matrix_matches_pinocchio(robot: Robot) -> None:
    for s in robot.states():
        M = robot.d.mass_matrix(s.own.q)[np.ix_(robot.order, robot.order)]
        assert relative(M, mass_matrix(robot.model, robot.data, s.pin_q)) < AGREE


@pytest.mark.parametrize(("ours", "theirs"), EXPRESSED.items(), ids=list(EXPRESSED))
def test_frame_jacobians_and_their_rates_match_pinocchio(robot: Robot, ours: str, theirs: str) -> None:
    model, data, expressed = robot.model, robot.data, getattr(pin.ReferenceFrame, theirs)
    for i, s in enumerate(robot.states()):
        for k in robot.frames[i::STATES]:  # every frame in one of the states
            name = model.frames[k].name
            J = pin.computeFrameJacobian(model, data, s.pin_q, k, expressed)
            assert relative(robot.d.jacobian(s.own.q, name, ours)[:, robot.order], J) < AGREE
            pin.computeJointJacobiansTimeVariation(model, data, s.pin_q, s.pin_v)
            pin.updateFramePlacements(model, data)
            dJ = pin.getFrameJacobianTimeVariation(model, data, k, expressed)
            rate = robot.d.jacobian_rate(s.own.q, s.own.v, name, ours)[:, robot.order]
            assert relative(rate, dJ, scale=1.0) < AGREE  # on a free root the body's own rate is zero


def test_center_of_mass_and_centroidal_momentum_match_pinocchio(robot: Robot) -> None:
    model, data, d = robot.model, robot.data, robot.d
    for s in robot.states():
        assert relative(d.center_of_mass(s.own.q), pin.centerOfMass(model, data, s.pin_q)) < AGREE
        momentum = pin.computeCentroidalMomentum(model, data, s.pin_q, s.pin_v).vector
        assert relative(d.momentum(s.own.q, s.own.v), momentum) < AGREE
        rate = pin.computeCentroidalMomentumTimeVariation(model, data, s.pin_q, s.pin_v, s.pin_a).vector
        assert relative(d.momentum_rate(s.own.q, s.own.v, s.own.a), rate) < AGREE
        pin.ccrba(model, data, s.pin_q, s.pin_v)
        assert relative(d.momentum_matrix(s.own.q)[:, robot.order], data.Ag) < AGREE


def test_energies_match_pinocchio(robot: Robot) -> None:
    for s in robot.states():
        kinetic, potential = robot.d.energy(s.own.q, s.own.v)
        assert relative(kinetic, pin.computeKineticEnergy(robot.model, robot.data, s.pin_q, s.pin_v)) < AGREE
        assert relative(potential, pin.computePotentialEnergy(robot.model, robot.data, s.pin_q)) < AGREE


@pytest.mark.parametrize("free", [False, True], ids=["fixed", "free"])
def test_derivatives_match_pinocchio(free: bool) -> None:
    robot = Robot(URDF["kinova"], free)
    model, data, square = robot.model, robot.data, np.ix_(robot.order, robot.order)
    d = lw.compile(robot.m)
    for s in robot.states():
        tau = s.own.tau[robot.order]
        inverse = [x.copy() for x in pin.computeRNEADerivatives(model, data, s.pin_q, s.pin_v, s.pin_a)]
        forward = pin.computeABADerivatives(model, data, s.pin_q, s.pin_v, tau)
        for ours, theirs in (
            (d.inverse_dynamics_derivatives(s.own.q, s.own.v, s.own.a), inverse),
            (d.forward_dynamics_derivatives(s.own.q, s.own.v, s.own.tau), forward),
        ):
            for found, expected in zip(ours[:2], theirs[:2], strict=True):
                assert relative(found[square], expected) < AGREE
