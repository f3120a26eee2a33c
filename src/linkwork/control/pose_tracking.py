"""Pose tracking: the acceleration that moves a body to its target pose.

With this acceleration, the position error e, the angular velocity error w_e and the vector part q_e^v of the error
quaternion satisfy, in the world's axes,

    e'' + kd e' + kp e = 0         w_e' = -kd w_e - kp q_e^v

These are equations (4.14) and (4.26) of Wendlandt's thesis; kp and kd are the gains of pose and velocity error.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.control.controller_targets import Wanted
from linkwork.spatial import Motion, Transform
from linkwork.spatial.rotation import conjugate, matrix_from_quaternion, normalized, product
from linkwork.spatial.scalar import Array, cross, where


class Tracking(NamedTuple):
    """Result of `tracking`: the pose error (7,) of a body and the acceleration (6,) that reduces it.

    `error` has the position of the body minus that of the target [m], in the world, then the quaternion from target to
    body, whose scalar part is not negative. `acceleration` [m/s^2, rad/s^2] is the time derivative of the body's twist
    in the body's frame, Wendlandt's X^b.
    """

    error: Array
    acceleration: Array


def tracking(pose: Transform, turn: Array, twist: Motion, wanted: Wanted, kp: Array, kd: Array) -> Tracking:
    """Return the acceleration (6,) that reduces the pose error of a body (Wendlandt, Algorithm 4.4).

    The gains are kp (6,) [1/s^2] and kd (6,) [1/s]. `pose` is the pose of the body in the world, and `turn` (4,) the
    same rotation as a quaternion. `twist` is the twist of the body about its origin, in the body's frame. `wanted` is
    the target: coordinates (7,) [m, quaternion], rate (6,) and acceleration (6,), linear before angular, in the world's
    axes.
    """
    R, place = pose.R, np.asarray(wanted.place)
    speed, spin = R @ twist.linear, R @ twist.angular
    rate, acceleration = np.asarray(wanted.rate), np.asarray(wanted.acceleration)
    away = pose.p - place[:3]
    linear = acceleration[:3] - kd[:3] * (speed - rate[:3]) - kp[:3] * away
    q_et = product(normalized(turn), conjugate(normalized(place[3:])))  # equation (4.17)
    q_e = where(q_et[0] < 0.0, -q_et, q_et)
    R_e = matrix_from_quaternion(q_e)
    led = R_e @ rate[3:]
    angular = R_e @ acceleration[3:] + cross(spin, led) - kd[3:] * (spin - led) - kp[3:] * q_e[1:]  # eq. (4.24)
    # equation (4.12): the components of the twist rotate with the body. Misprint: Algorithm 4.4 has the position, not
    # the velocity
    return Tracking(np.concatenate([away, q_e]), np.concatenate([R.T @ (linear - cross(spin, speed)), R.T @ angular]))
