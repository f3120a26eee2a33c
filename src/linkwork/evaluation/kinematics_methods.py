"""Kinematic methods of `Dynamics`: poses, twists, their rates, and Jacobians of bodies and frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.algorithms import jacobians, kinematics
from linkwork.evaluation.batch_evaluation import BatchEvaluation, Out, Parameters
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array


class KinematicsMethods(BatchEvaluation):
    """Methods of `Dynamics` for kinematics: poses, velocities, accelerations and Jacobians of bodies and frames."""

    def poses(self, q: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Return the pose of every body in the world.

        Parameters
        ----------
        q : array, shape (..., nq), [rad, m]
            Coordinates.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (..., nbodies, 4, 4), translations [m]
            Homogeneous matrices from the body's frame to the world, in the order of `mechanism.bodies` without the
            world.

        Examples
        --------
        >>> d = lw.compile(lw.example("double_pendulum"))
        >>> d.poses([0.0, 0.0])[1].round(3) + 0.0  # link 2 hangs below link 1; its x axis points down
        array([[ 0.,  1.,  0.,  0.],
               [-1.,  0.,  0., -4.],
               [ 0.,  0.,  1.,  0.],
               [ 0.,  0.,  0.,  1.]])

        """

        def one(m: Mechanism, q: Array) -> Array:
            poses = kinematics.world_poses(m, kinematics.joint_poses(m, q))
            return np.array([X.matrix for X in poses[1:]])

        return self._evaluate("poses", one, self._state(q), (self.mechanism.nbodies, 4, 4), parameters, out)

    def pose(self, q: Any, frame: str, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Return the pose of one frame in the world.

        Parameters
        ----------
        q : array, shape (..., nq), [rad, m]
            Coordinates.
        frame : str
            Name of a frame or body.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (..., 4, 4), translation [m]
            Homogeneous matrix from the frame to the world.

        Examples
        --------
        >>> d = lw.compile(lw.example("double_pendulum"))
        >>> d.pose([0.0, np.pi / 2], "end")[:3, 3].round(3)  # position of the end of link 2
        array([ 3., -4.,  0.])

        """
        self._require_frame(frame)
        return self._evaluate(
            "pose",
            lambda m, q: kinematics.frame_pose(m, q, frame).matrix,
            self._state(q),
            (4, 4),
            parameters,
            out,
            frame,
        )

    def velocities(self, q: Any, v: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Return the twist of every body: velocity of the origin of its frame and angular velocity, in the body's axes.

        Parameters
        ----------
        q, v : arrays, shapes (..., nq) and (..., nv), [rad, m] and [rad/s, m/s]
            Coordinates and velocities.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (..., nbodies, 6), [m/s, rad/s]
            Linear before angular velocity.

        Examples
        --------
        >>> d = lw.compile(lw.example("double_pendulum"))
        >>> d.velocities([0.0, 0.0], [1.0, 0.5]).round(3)
        array([[0. , 0. , 0. , 0. , 0. , 1. ],
               [0. , 4. , 0. , 0. , 0. , 1.5]])

        """

        def one(m: Mechanism, q: Array, v: Array) -> Array:
            return np.array([V.array for V in kinematics.kinematics(m, q, v).twist[1:]])

        return self._evaluate("velocities", one, self._state(q, v), (self.mechanism.nbodies, 6), parameters, out)

    def accelerations(self, q: Any, v: Any, a: Any, *, parameters: Parameters = None, out: Out = None) -> Array:
        """Return the time derivative of the twist of every body, in the body's axes.

        The result is the time derivative of the components that `velocities` returns. Gravity is not included.

        Parameters
        ----------
        q, v, a : arrays, shapes (..., nq), (..., nv) and (..., nv), [rad, m], [rad/s, m/s] and [rad/s^2, m/s^2]
            Coordinates, velocities and accelerations.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (..., nbodies, 6), [m/s^2, rad/s^2]
            Rate of the linear velocity, then rate of the angular velocity.

        Examples
        --------
        >>> d = lw.compile(lw.example("double_pendulum"))
        >>> d.accelerations([0.0, 0.0], [0.0, 0.0], [1.0, 0.5]).round(3)
        array([[0. , 0. , 0. , 0. , 0. , 1. ],
               [0. , 4. , 0. , 0. , 0. , 1.5]])

        """

        def one(m: Mechanism, q: Array, v: Array, a: Array) -> Array:
            return np.array([A.array for A in kinematics.accelerations(m, kinematics.kinematics(m, q, v), a)[1:]])

        return self._evaluate(
            "accelerations", one, self._state(q, v, a=a), (self.mechanism.nbodies, 6), parameters, out
        )

    def jacobian(
        self, q: Any, frame: str, expressed: str = "body", *, parameters: Parameters = None, out: Out = None
    ) -> Array:
        """Return the Jacobian J of a frame: the twist of the frame is J v.

        Parameters
        ----------
        q : array, shape (..., nq), [rad, m]
            Coordinates.
        frame : str
            Name of a frame or body.
        expressed : {"body", "world", "mixed"}, default "body"
            "body": in the frame's axes about its origin. "world": in the world's axes about the world's origin (the
            spatial Jacobian). "mixed": in the world's axes about the frame's origin.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (..., 6, nv), [m/s, rad/s] per unit of v
            Linear rows before angular rows.

        Examples
        --------
        >>> d = lw.compile(lw.example("double_pendulum"))
        >>> d.jacobian([0.0, np.pi / 2], "end", "mixed")[:3].round(3) + 0.0  # velocity of the end in world axes
        array([[4., 0.],
               [3., 3.],
               [0., 0.]])

        """
        self._require_frame(frame, expressed)
        return self._evaluate(
            "jacobian",
            lambda m, q: jacobians.jacobian(m, q, frame, expressed),
            self._state(q),
            (6, self.mechanism.nv),
            parameters,
            out,
            frame,
            expressed,
        )

    def jacobian_rate(
        self, q: Any, v: Any, frame: str, expressed: str = "body", *, parameters: Parameters = None, out: Out = None
    ) -> Array:
        """Return the time derivative dJ/dt of `jacobian`: the rate of the frame's twist is J a + dJ/dt v.

        Parameters
        ----------
        q, v : arrays, shapes (..., nq) and (..., nv), [rad, m] and [rad/s, m/s]
            Coordinates and velocities.
        frame : str
            Name of a frame or body.
        expressed : {"body", "world", "mixed"}, default "body"
            Axes and origin, as for `jacobian`.
        parameters, out : optional
            Values of varying parameters, and an array for the result: see `Dynamics`.

        Returns
        -------
        array, shape (..., 6, nv), [m/s^2, rad/s^2] per unit of v
            Linear rows before angular rows.

        Examples
        --------
        >>> d = lw.compile(lw.example("double_pendulum"))
        >>> dJ = d.jacobian_rate([0.0, 0.0], [1.0, 0.0], "end", "mixed")
        >>> (dJ @ [1.0, 0.0])[:3].round(3) + 0.0  # centripetal acceleration of the end, 7 m below the pin
        array([0., 7., 0.])

        """
        self._require_frame(frame, expressed)
        return self._evaluate(
            "jacobian_rate",
            lambda m, q, v: jacobians.jacobian_rate(m, q, v, frame, expressed),
            self._state(q, v),
            (6, self.mechanism.nv),
            parameters,
            out,
            frame,
            expressed,
        )
