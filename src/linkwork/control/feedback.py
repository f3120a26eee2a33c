"""Feedback controllers: each function returns a controller `controller(t, q, v)` for one state.

A controller returns joint forces tau (nv,) [N m, N]. It is plain NumPy: it runs on floats and can be traced into a
kernel. A controller with memory is called as `controller(t, q, v, memory)` and returns (tau, memory). Its memory (k,)
are numbers that it returns and receives at the next call, such as an integral; its attribute `memory` has their initial
values.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from linkwork.control import controlled_plant as plants
from linkwork.control.controlled_plant import (
    Controller,
    Plant,
    controller,
    frame_motion,
    gains,
    limiter,
    refuse_no_mechanism,
)
from linkwork.control.controller_targets import drive_command, frame_target, joint_target, pose_error
from linkwork.control.drive_controller import DriveController
from linkwork.control.lqr import lqr
from linkwork.errors import LinkworkError
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array, ldlt, where

__all__ = [
    "computed_torque",
    "drives",
    "gravity_compensation",
    "lqr",
    "operational_space",
    "pd",
    "pid",
    "resolved_rate",
]

Joints = Iterable[str] | None  # names of actuated joints; None: all joints except free joints


def gravity_compensation(m: Mechanism, actuated: Joints = None) -> Controller:
    """Return a controller whose joint forces balance gravity: tau = gravity(q).

    Parameters
    ----------
    m : Mechanism
        Mechanism to control.
    actuated : iterable of str, optional
        Names of the joints that receive a force; by default all but free joints. Other joints get zero force.

    Returns
    -------
    Controller
        `controller(t, q, v)`, which returns tau (nv,) [N m, N].

    Examples
    --------
    >>> controller = lw.feedback.gravity_compensation(lw.example("double_pendulum"))
    >>> controller(0.0, np.array([0.5, 0.0]), np.zeros(2)).round(3)
    array([152.853,  49.383])

    """
    plant = Plant(m, actuated)
    return controller(lambda t, q, v: plant.expanded(plants.gravity(m, q)[plant.driven]))


def drives(m: Mechanism, command: Any) -> Controller:
    """Return a controller that sends controls to the mechanism's drives.

    Each drive computes its joint forces from its control by its gain, bias, limits and gear (see `Builder.drive`).

    Parameters
    ----------
    m : Mechanism
        Mechanism to control.
    command : array, Reference or function
        Controls u (ndrives,) in the order of `m.drives`, in the unit that the gain of the drive expects; a `Reference`
        of controls; or a function of (t, q, v) that returns controls.

    Returns
    -------
    Controller
        `controller(t, q, v)`, which returns tau (nv,) [N m, N].

    Raises
    ------
    LinkworkError
        If the mechanism has no drives.
    ShapeError
        If the controls do not have the shape (ndrives,).

    Examples
    --------
    >>> m = lw.example("two_speed_gearbox")  # the motor has a stall torque of 12 N m
    >>> controller = lw.feedback.drives(m, [5.0])
    >>> controller(0.0, np.zeros(2), np.zeros(2)).round(3)
    array([5., 0.])

    """
    refuse_no_mechanism(m)
    return DriveController(m, drive_command(m, command))


def pd(m: Mechanism, target: Any, kp: Any, kd: Any, limit: Any = None, actuated: Joints = None) -> Controller:
    """Return a PD controller: a spring and a damper from each joint to its target.

    tau = kp e + kd (v_target - v) with the position error e = m.difference(q, q_target) (nv,), which is a rotation
    vector for joints with quaternions.

    Parameters
    ----------
    m : Mechanism
        Mechanism to control.
    target : array, Reference or function of t
        Target coordinates q (nq,) [rad, m]; a `Reference` of coordinates; or a function of t that returns q (nq,),
        v (nv,) and a (nv,). A `Reference` cannot be the target of an actuated joint with a quaternion.
    kp : float or array (nv,), [N m/rad, N/m]
        Stiffness, not negative.
    kd : float or array (nv,), [N m s/rad, N s/m]
        Damping, not negative.
    limit : float or array (nv,), [N m, N], optional
        Largest absolute joint force; unlimited by default.
    actuated : iterable of str, optional
        Names of the joints that receive a force; by default all but free joints. Other joints get zero force.

    Returns
    -------
    Controller
        `controller(t, q, v)`, which returns tau (nv,) [N m, N].

    Examples
    --------
    >>> m = lw.example("double_pendulum")
    >>> controller = lw.feedback.pd(m, target=[0.5, 0.0], kp=100.0, kd=10.0, limit=30.0)
    >>> controller(0.0, np.array([0.0, 0.1]), np.array([0.0, 1.0])).round(3)
    array([ 30., -20.])

    """
    plant = Plant(m, actuated)
    wanted, limited = joint_target(plant, target), limiter(limit, m.nv)
    stiffness, damping = gains("kp", kp, m.nv), gains("kd", kd, m.nv)

    def control(t: Any, q: Array, v: Array) -> Array:
        place, rate, _ = wanted(t)
        tau = stiffness * m.difference(q, place) + damping * (rate - v)
        return limited(plant.expanded(tau[plant.driven]))

    return controller(control)


def pid(
    m: Mechanism, target: Any, kp: Any, ki: Any, kd: Any, dt: float, limit: Any = None, actuated: Joints = None
) -> Controller:
    """Return a PID controller: `pd` plus ki times the integral of the error, for sampled control.

    The memory (nv,) [rad s, m s] is the integral of the error. Anti-windup: while the force of a joint is at its limit,
    its integral does not grow in the direction of the limit. Simulate with `lw.sampled(controller, 1 / dt)`.

    Parameters
    ----------
    m : Mechanism
        Mechanism to control.
    target : array, Reference or function of t
        Target coordinates q (nq,) [rad, m]; a `Reference` of coordinates; or a function of t that returns q (nq,),
        v (nv,) and a (nv,). A `Reference` cannot be the target of an actuated joint with a quaternion.
    kp : float or array (nv,), [N m/rad, N/m]
        Stiffness, not negative.
    ki : float or array (nv,), [N m/(rad s), N/(m s)]
        Gain of the integral, not negative.
    kd : float or array (nv,), [N m s/rad, N s/m]
        Damping, not negative.
    dt : float, [s]
        Sampling period.
    limit : float or array (nv,), [N m, N], optional
        Largest absolute joint force; unlimited by default.
    actuated : iterable of str, optional
        Names of the joints that receive a force; by default all but free joints. Other joints get zero force.

    Returns
    -------
    Controller
        `controller(t, q, v, memory)`, which returns tau (nv,) [N m, N] and the new memory (nv,). Its attributes are
        `memory`, the initial memory (zeros), and the sampling period `dt` [s].

    Examples
    --------
    >>> controller = lw.feedback.pid(lw.example("double_pendulum"), [0.5, 0.0], kp=100.0, ki=20.0, kd=10.0, dt=0.01)
    >>> tau, memory = controller(0.0, np.zeros(2), np.zeros(2), controller.memory)
    >>> tau.round(3), memory.round(3)
    (array([50.1,  0. ]), array([0.005, 0.   ]))

    """
    if not (isinstance(dt, (int, float)) and 0.0 < dt < np.inf):
        raise LinkworkError(f"dt must be a number of seconds above 0; got {dt!r:.60}")
    plant = Plant(m, actuated)
    wanted, limited = joint_target(plant, target), limiter(limit, m.nv)
    stiffness, damping, integral = gains("kp", kp, m.nv), gains("kd", kd, m.nv), gains("ki", ki, m.nv)

    def control(t: Any, q: Array, v: Array, memory: Array) -> tuple[Array, Array]:
        place, rate, _ = wanted(t)
        error = m.difference(q, place)
        summed = memory + error * dt
        unlimited = plant.expanded((stiffness * error + integral * summed + damping * (rate - v))[plant.driven])
        tau = limited(unlimited)
        beyond = (unlimited - tau) * error  # positive if the force is at its limit and the error would increase it
        integrated = [where(b > 0.0, old, new) for b, old, new in zip(beyond, memory, summed, strict=True)]
        return tau, plant.expanded(np.array(integrated)[plant.driven])

    sampled: Any = controller(control)
    sampled.memory, sampled.dt = np.zeros(m.nv), float(dt)
    return sampled


def computed_torque(
    m: Mechanism, target: Any, kp: Any, kd: Any, limit: Any = None, actuated: Joints = None
) -> Controller:
    """Return a computed-torque controller: the errors of the actuated joints obey linear, decoupled equations.

    Inverse dynamics gives the actuated joints the acceleration a = a_target + kd (v_target - v) + kp e with the error
    e = m.difference(q, target) (Wendlandt, equation A.9, where e has the opposite sign). The controller compensates
    springs, dampers and friction. It accounts for the motion of joints that are not actuated.

    Parameters
    ----------
    m : Mechanism
        Mechanism to control.
    target : array, Reference or function of t
        Target coordinates q (nq,) [rad, m]; a `Reference` of coordinates; or a function of t that returns q (nq,),
        v (nv,) and a (nv,). A `Reference` cannot be the target of an actuated joint with a quaternion.
    kp : float or array (nv,), [1/s^2]
        Gain of the position error, not negative.
    kd : float or array (nv,), [1/s]
        Gain of the velocity error, not negative.
    limit : float or array (nv,), [N m, N], optional
        Largest absolute joint force; unlimited by default.
    actuated : iterable of str, optional
        Names of the joints that receive a force; by default all but free joints. Other joints get zero force.

    Returns
    -------
    Controller
        `controller(t, q, v)`, which returns tau (nv,) [N m, N].

    Examples
    --------
    >>> m = lw.example("double_pendulum")
    >>> controller, d = lw.feedback.computed_torque(m, [0.5, 0.0], kp=100.0, kd=20.0), lw.compile(m)
    >>> q, v = np.zeros(2), np.zeros(2)
    >>> d.forward_dynamics(q, v, controller(0.0, q, v)).round(6) + 0.0
    array([50.,  0.])

    """
    plant = Plant(m, actuated)
    wanted, limited = joint_target(plant, target), limiter(limit, m.nv)
    stiffness, damping = gains("kp", kp, m.nv), gains("kd", kd, m.nv)

    def control(t: Any, q: Array, v: Array) -> Array:
        place, rate, acceleration = wanted(t)
        a = acceleration + damping * (rate - v) + stiffness * m.difference(q, place)
        return limited(plant.forces_for(q, v, a[plant.driven]))

    return controller(control)


def resolved_rate(
    m: Mechanism,
    frame: str,
    target: Any,
    gain: Any,
    damping: float = 0.01,
    bandwidth: float = 50.0,
    limit: Any = None,
    actuated: Joints = None,
) -> Controller:
    """Return a controller that moves a frame to its target by resolved joint rates (Whitney 1969).

    The desired twist of the frame is V = V_target + gain e. The error e is that of the position, or of the position and
    the rotation vector, in the world's axes. The joint rates are the damped least-squares solution J^T (J J^T +
    damping^2 I)^-1 V, where J is the Jacobian of the frame. If joints are not actuated, such as a free base, J is the
    generalized Jacobian, which includes their reaction; the twist that the frame would keep if the actuated joints
    stopped is subtracted from V. A velocity loop commands the joint accelerations bandwidth (rates - v), and inverse
    dynamics computes the forces. The acceleration of the target is not used.

    Parameters
    ----------
    m : Mechanism
        Mechanism to control.
    frame : str
        Name of the frame or body to move.
    target : array, Reference or function of t
        Target position (3,) [m] or pose (4, 4) in the world; a `Reference` of positions; or a function of t that
        returns the position or pose, its velocity and its acceleration, (3,) or (6,) each, linear before angular, in
        the world's axes.
    gain : float or array (3,) or (6,), [1/s]
        Gain of the error, not negative.
    damping : float, default 0.01, [m, or 1 for rotations]
        Damping of the least squares; it limits the joint rates to |V| / (2 damping) near singular positions.
    bandwidth : float, default 50.0, [1/s]
        Gain of the velocity loop.
    limit : float or array (nv,), [N m, N], optional
        Largest absolute joint force; unlimited by default.
    actuated : iterable of str, optional
        Names of the joints that receive a force; by default all but free joints. Other joints get zero force.

    Returns
    -------
    Controller
        `controller(t, q, v)`, which returns tau (nv,) [N m, N].

    Examples
    --------
    >>> m = lw.example("double_pendulum")
    >>> controller = lw.feedback.resolved_rate(m, "end", target=[3.0, -4.0, 0.0], gain=2.0)
    >>> run = lw.simulate(m, [0.2, 1.0], duration=4.0, controller=controller, progress=False)
    >>> run["pose.end"][-1, :3, 3].round(2) + 0.0
    array([ 3., -4.,  0.])

    """
    plant, (wanted, rows) = _plant_and_frame_target(m, actuated, frame, target)
    proportional, limited = gains("gain", gain, rows), limiter(limit, m.nv)
    loosened = np.diag(gains("damping", damping, rows) ** 2)
    loop = gains("bandwidth", bandwidth, 1)[0]

    def control(t: Any, q: Array, v: Array) -> Array:
        place, rate, _ = wanted(t)
        motion = frame_motion(plant, frame, rows, q, v, plant.reduced(q, v))
        V = rate + proportional * pose_error(motion.pose, place) - motion.coasting
        rates = motion.J.T @ ldlt(motion.J @ motion.J.T + loosened).solve(V)
        return limited(plant.forces_for(q, v, loop * (rates - v[plant.driven])))

    return controller(control)


def operational_space(
    m: Mechanism,
    frame: str,
    target: Any,
    kp: Any,
    kd: Any,
    null_damping: float = 1.0,
    damping: float = 0.0,
    limit: Any = None,
    actuated: Joints = None,
) -> Controller:
    """Return an operational-space controller, which gives a frame a commanded acceleration (Khatib 1987).

    The commanded acceleration is A = A_target + kd (V_target - V) + kp e. The error e is that of the position, or of
    the position and the rotation vector, in the world's axes. With the Jacobian J of the frame, the mass matrix M and
    the bias forces, the joint forces are
    tau = J^T Lambda (A - dJ/dt v) + bias - null_damping (1 - J^T Lambda J M^-1) M v with Lambda = (J M^-1 J^T)^-1. The
    last term damps motion that does not move the frame. Springs, dampers and friction are compensated.

    Parameters
    ----------
    m : Mechanism
        Mechanism to control.
    frame : str
        Name of the frame or body to move.
    target : array, Reference or function of t
        Target position (3,) [m] or pose (4, 4) in the world; a `Reference` of positions; or a function of t that
        returns the position or pose, its velocity and its acceleration, (3,) or (6,) each, linear before angular, in
        the world's axes.
    kp : float or array (3,) or (6,), [1/s^2]
        Gain of the error, not negative.
    kd : float or array (3,) or (6,), [1/s]
        Gain of the velocity error, not negative.
    null_damping : float, default 1.0, [1/s]
        Rate at which joint motion that does not move the frame (null space of J) decays.
    damping : float, default 0.0, [kg^-1/2]
        With damping > 0, Lambda = (J M^-1 J^T + damping^2)^-1 stays bounded near singular positions; the acceleration
        is then not exact.
    limit : float or array (nv,), [N m, N], optional
        Largest absolute joint force; unlimited by default.
    actuated : iterable of str, optional
        Names of the joints that receive a force; by default all but free joints. Other joints get zero force.

    Returns
    -------
    Controller
        `controller(t, q, v)`, which returns tau (nv,) [N m, N].

    Examples
    --------
    >>> m = lw.example("double_pendulum")
    >>> controller = lw.feedback.operational_space(m, "end", [3.0, -4.0, 0.0], kp=25.0, kd=10.0, damping=1e-3)
    >>> run = lw.simulate(m, [0.2, 1.0], duration=4.0, controller=controller, progress=False)
    >>> run["pose.end"][-1, :3, 3].round(2) + 0.0
    array([ 3., -4.,  0.])

    """
    plant, (wanted, rows) = _plant_and_frame_target(m, actuated, frame, target)
    stiffness, drag, limited = gains("kp", kp, rows), gains("kd", kd, rows), limiter(limit, m.nv)
    loosened = np.diag(gains("damping", damping, rows) ** 2)
    decay = gains("null_damping", null_damping, 1)[0]

    def control(t: Any, q: Array, v: Array) -> Array:
        place, rate, acceleration = wanted(t)
        own = plant.reduced(q, v)
        motion = frame_motion(plant, frame, rows, q, v, own)
        A = acceleration + drag * (rate - motion.rate) + stiffness * pose_error(motion.pose, place)
        J, v_d = motion.J, v[plant.driven]
        inverse_lambda = ldlt(J @ ldlt(own.M).solve(J.T) + loosened)
        # One solution gives the force on the frame and the projection of the damping to the null space
        force = inverse_lambda.solve(A - motion.drift + decay * (J @ v_d))
        tau = J.T @ force + own.h - decay * (own.M @ v_d)
        return limited(plant.expanded(tau))

    return controller(control)


def _plant_and_frame_target(m: Mechanism, actuated: Joints, frame: str, target: Any) -> tuple[Plant, Any]:
    """Return the plant and the target as a function of time; raise a LinkworkError if the frame or the target is not
    valid.
    """
    plant = Plant(m, actuated)
    m.frames.index_of(frame)
    return plant, frame_target(target)
