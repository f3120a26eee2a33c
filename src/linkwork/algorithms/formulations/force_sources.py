"""Forces and torques of all sources in their natural coordinate systems (S1 section 3).

Every source is a six-vector that is linear in the unknowns of the dynamics: joint accelerations, joint forces, forces
of the ground and multipliers of loops. In its natural frame the six-vector has a simple form: inertial forces act at
the centre of mass in principal axes, weights at the centre of mass in world axes, actuators at joints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.formulations.coincident_frame_motions import FrameMotion
from linkwork.algorithms.formulations.propagation_matrices import JointMatrices, inboard_number
from linkwork.algorithms.rotor_inertia import rotor_matrix
from linkwork.algorithms.tree_traversal import outward
from linkwork.model.bodies import Body
from linkwork.model.mechanism import WORLD, Mechanism
from linkwork.spatial import Transform
from linkwork.spatial.scalar import Array, cross


class Columns(NamedTuple):
    """Column numbers of the unknowns in the balance equations.

    The columns `a` belong to the joint accelerations, `tau` to the joint forces, `ground` to the ground forces (six for
    each tree), and `loops` to the loop multipliers. `one` is the last column, that of the constant terms.
    """

    a: slice
    tau: slice
    ground: slice
    loops: slice
    one: int

    @staticmethod
    def of(nv: int, trees: int, nc: int) -> Columns:
        """Return the column numbers for nv joint velocities, `trees` trees, and nc constraint rows of loops."""
        ends = np.cumsum([nv, nv, 6 * trees, nc]).tolist()
        return Columns(slice(0, nv), slice(nv, ends[1]), slice(ends[1], ends[2]), slice(ends[2], ends[3]), ends[3])

    def affine(self, linear: Mapping[int, Array], constant: Array) -> Array:
        """Return the coefficients (6, n) of a six-vector that is an affine function of the n - 1 unknowns.

        The last column has the constant part. `linear` maps the number of the first of k successive columns to the
        coefficients (6, k) in these columns; all others are zero. `constant` (6,) is the constant part.
        """
        found = np.zeros((6, self.one + 1))
        for start, block in linear.items():
            found[:, start : start + block.shape[1]] = block
        found[:, self.one] = constant
        return found


class Source(NamedTuple):
    """A force/torque source: its kind, the number of the body on which it acts, its natural frame and its six-vector.

    The kind is "inertial", "gravity", "actuation" or "environment". `frame` is the pose of the natural frame in the
    body. `force` (6, n) has the coefficients of the wrench [N, N m] in the natural frame, in the columns of `Columns`.
    The ground has the negative number that `Chains` defines. `joint` is the number of the outboard body of
    the joint whose actuator or rotor exerts the force, else 0.
    """

    kind: str
    body: int
    frame: Transform
    force: Array
    joint: int = 0


def inertial_and_gravity(mechanism: Mechanism, motions: Sequence[FrameMotion], columns: Columns) -> Iterator[Source]:
    """Yield the inertial force and the weight of every body, at its centre of mass.

    `motions` are the motions of all body frames by body number, and `columns` the column numbers of the unknowns.
    """
    for body, motion in zip(mechanism.bodies[1:], motions[1:], strict=True):
        frame, principal = principal_frame(body)
        at = motion.moved(frame, np.zeros(6))
        inertia = np.diag([body.mass] * 3 + principal.tolist())
        euler = np.concatenate([np.zeros(3), cross(at.v[3:], principal * at.v[3:])])
        inertial = columns.affine({columns.a.start: -inertia @ at.J}, -inertia @ at.bias - euler)
        yield Source("inertial", body.index, frame, inertial)
        weight = np.concatenate([body.mass * mechanism.gravity, np.zeros(3)])
        yield Source("gravity", body.index, Transform(motion.X.R.T, frame.p), columns.affine({}, weight))


def principal_frame(body: Body) -> tuple[Transform, Array]:
    """Return the pose in a body of its principal axes at the centre of mass, and its principal moments (3,) [kg m^2].

    The moments of inertia are about the centre of mass, in ascending order. The centre of mass of a massless body is
    the origin of its frame.
    """
    inertia, mass = body.inertia, float(body.mass)
    c = inertia.moment / mass if mass > 0.0 else np.zeros(3)
    about_centre = inertia.rotational - mass * (c @ c * np.eye(3) - np.outer(c, c))
    moments, axes = np.linalg.eigh(about_centre)
    return Transform(axes * np.sign(np.linalg.det(axes)), c), moments


def joint_sources(
    mechanism: Mechanism, joints: Mapping[int, JointMatrices], columns: Columns, constants: Array
) -> Iterator[Source]:
    """Yield the forces of actuators and rotors: at every joint, a force on the outboard body and its reaction.

    `joints` has the matrices of each joint by the number of its outboard body, and `columns` the column numbers of the
    unknowns. `constants` (nv,) [N m, N] are constant joint forces, such as friction that does not depend on the load.
    """
    nv = mechanism.nv
    for kind, by_a, by_tau, constant in (
        ("actuation", np.zeros((nv, nv)), np.eye(nv), constants),
        ("inertial", -rotor_matrix(mechanism), np.zeros((nv, nv)), np.zeros(nv)),
    ):
        for j in outward(mechanism):
            T, X = joints[j.o].T, joints[j.o].X
            force = columns.affine(
                {columns.a.start: T @ by_a[j.v], columns.tau.start: T @ by_tau[j.v]}, T @ constant[j.v]
            )
            if force.any():
                yield Source(kind, j.o, Transform.identity(), force, j.o)
                yield Source(kind, inboard_number(j), X, -force, j.o)


def environment(mechanism: Mechanism, wrenches: Array, columns: Columns) -> Iterator[Source]:
    """Yield the external wrench on every body, and the unknown force on the ground at each root joint.

    The force on the ground holds it: it is the force of the surroundings, not that of the mechanism. It acts at the
    frame of the root joint in the world. `wrenches` (nbodies, 6) [N, N m] are in the bodies' frames. `columns` are the
    column numbers of the unknowns.
    """
    for body, wrench in zip(mechanism.bodies[1:], wrenches, strict=True):
        yield Source("environment", body.index, Transform.identity(), columns.affine({}, wrench))
    start = columns.ground.start
    for root in (j for j in outward(mechanism) if j.i == WORLD):
        yield Source("environment", inboard_number(root), root.place, columns.affine({start: np.eye(6)}, np.zeros(6)))
        start += 6
