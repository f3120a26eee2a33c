"""Feedback laws: each function makes a controller `controller(t, q, v)` that gives joint forces tau (nv,) [N m, N].

The controllers are plain functions of one state; they run on floats and are traced into kernels. Those with memory take
and return it, `controller(t, q, v, memory)` -> (tau, memory); their first memory is the attribute `memory`.

`actuated` names the joints that take a force (all but free joints, if it is not given); the others get zero. Gains are
numbers or arrays with one for each velocity. `limit` [N m, N] keeps the forces within both signs of it. A joint target
is a position q (nq,), a `Reference` of such positions, or a function of t that returns q (nq,), v (nv,) and a (nv,).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from linkwork.control import plant as plants
from linkwork.control.commanded import Commanded
from linkwork.control.linear import lqr
from linkwork.control.plant import Controller, Plant, controller, frame_motion, gains, limiter, refuse_no_mechanism
from linkwork.control.target import drive_command, frame_target, joint_target, pose_error
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

Joints = Iterable[str] | None


def gravity_compensation(m: Mechanism, actuated: Joints = None) -> Controller:
    """Joint forces that hold the mechanism still against gravity: tau = gravity(q)."""
    plant = Plant(m, actuated)
    return controller(lambda t, q, v: plant.spread(plants.gravity(m, q)[plant.driven]))


def drives(m: Mechanism, command: Any) -> Controller:
    """Commands sent through the mechanism's own drives, whose gains, biases and limits make the joint forces.

    `command` is the controls u (ndrives,) in the order of `m.drives`, a `Reference` of them, or a function of t,
    q (nq,) and v (nv,) that returns them.
    """
    refuse_no_mechanism(m)
    return Commanded(m, drive_command(m, command))


def pd(m: Mechanism, target: Any, kp: Any, kd: Any, limit: Any = None, actuated: Joints = None) -> Controller:
    """Springs kp [N m/rad, N/m] and dampers kd [N m s/rad, N s/m] from each joint to its target.

    tau = kp e + kd (v_target - v), with the error e = m.difference(q, target): the velocity that leads there in unit
    time, also for joints with quaternions.
    """
    plant = Plant(m, actuated)
    wanted, limited = joint_target(plant, target), limiter(limit, m.nv)
    stiffness, damping = gains("kp", kp, m.nv), gains("kd", kd, m.nv)

    def law(t: Any, q: Array, v: Array) -> Array:
        place, rate, _ = wanted(t)
        tau = stiffness * m.difference(q, place) + damping * (rate - v)
        return limited(plant.spread(tau[plant.driven]))

    return controller(law)


def pid(
    m: Mechanism, target: Any, kp: Any, ki: Any, kd: Any, dt: float, limit: Any = None, actuated: Joints = None
) -> Controller:
    """The law of `pd` with ki [N m/(rad s), N/(m s)] times the integral of the error, sampled every `dt` [s].

    The memory (nv,) is that integral. Against windup, a joint whose force is at its limit adds nothing to it that would
    push further.
    """
    if not (isinstance(dt, (int, float)) and 0.0 < dt < np.inf):
        raise LinkworkError(f"dt must be a number of seconds above 0; got {dt!r:.60}")
    plant = Plant(m, actuated)
    wanted, limited = joint_target(plant, target), limiter(limit, m.nv)
    stiffness, damping, integral = gains("kp", kp, m.nv), gains("kd", kd, m.nv), gains("ki", ki, m.nv)

    def law(t: Any, q: Array, v: Array, memory: Array) -> tuple[Array, Array]:
        place, rate, _ = wanted(t)
        error = m.difference(q, place)
        summed = memory + error * dt
        asked = plant.spread((stiffness * error + integral * summed + damping * (rate - v))[plant.driven])
        tau = limited(asked)
        beyond = (asked - tau) * error  # above zero where the limit is reached and the error asks for more
        kept = [where(b > 0.0, old, new) for b, old, new in zip(beyond, memory, summed, strict=True)]
        return tau, plant.spread(np.array(kept)[plant.driven])

    sampled: Any = controller(law)
    sampled.memory, sampled.dt = np.zeros(m.nv), float(dt)
    return sampled


def computed_torque(
    m: Mechanism, target: Any, kp: Any, kd: Any, limit: Any = None, actuated: Joints = None
) -> Controller:
    """Forces by inverse dynamics, so that every driven joint obeys the same linear law (S4 A.9).

    a = a_target + kd (v_target - v) + kp e, with kp [1/s^2], kd [1/s] and e = m.difference(q, target); the paper's e is
    its negative. Joints' own springs and dampers are compensated; joints that are not driven move as they must.
    """
    plant = Plant(m, actuated)
    wanted, limited = joint_target(plant, target), limiter(limit, m.nv)
    stiffness, damping = gains("kp", kp, m.nv), gains("kd", kd, m.nv)

    def law(t: Any, q: Array, v: Array) -> Array:
        place, rate, acceleration = wanted(t)
        a = acceleration + damping * (rate - v) + stiffness * m.difference(q, place)
        return limited(plant.forces_for(q, v, a[plant.driven]))

    return controller(law)


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
    """A frame led to its target by joint rates (Whitney 1969), which a velocity loop turns into forces.

    The frame shall move at V = V_target + gain e, with `gain` [1/s], one number or one for each row, and e the error of
    position, or of position and rotation vector, in the world's axes. Joint rates are the damped least squares
    solution J^T (J J^T + damping^2)^-1 V, where `damping` bounds them near singular places; under a base that is not
    driven J is the generalized Jacobian, and V is less what its momentum gives the frame anyway. The velocity loop
    asks for the accelerations bandwidth (rate - v), with `bandwidth` [1/s], and inverse dynamics gives the forces.

    `target` is a position (3,) or a pose (4, 4) in the world, a Reference of positions, or a function of t that returns
    place, rate (3,) or (6,), and acceleration, which is not used.
    """
    plant, (wanted, rows) = _with_frame(m, actuated, frame, target)
    proportional, limited = gains("gain", gain, rows), limiter(limit, m.nv)
    loosened = np.diag(gains("damping", damping, rows) ** 2)
    loop = gains("bandwidth", bandwidth, 1)[0]

    def law(t: Any, q: Array, v: Array) -> Array:
        place, rate, _ = wanted(t)
        motion = frame_motion(plant, frame, rows, q, v, plant.carrying(q, v))
        V = rate + proportional * pose_error(motion.pose, place) - motion.coasting
        rates = motion.J.T @ ldlt(motion.J @ motion.J.T + loosened).solve(V)
        return limited(plant.forces_for(q, v, loop * (rates - v[plant.driven])))

    return controller(law)


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
    """A frame that accelerates as if it were alone (Khatib 1987), while motion that leaves it in place dies out.

    The frame's acceleration is A = A_target + kd (V_target - V) + kp e with kp [1/s^2] and kd [1/s], one number or one
    for each row, and e the error of position, or of position and rotation vector, in the world's axes. Forces are
    tau = J^T Lambda (A - dJ/dt v) + bias - null_damping (1 - J^T Lambda J M^-1) M v, with Lambda = (J M^-1 J^T)^-1;
    `null_damping` [1/s] is the rate at which the remaining motion decays. Near singular places `damping` > 0
    [kg^-1/2] keeps Lambda = (J M^-1 J^T + damping^2)^-1 bounded, at the price of the exact acceleration.

    `target` is a position (3,) or a pose (4, 4) in the world, a Reference of positions, or a function of t that returns
    place, rate (3,) or (6,), and acceleration. Joints' own springs and dampers are compensated.
    """
    plant, (wanted, rows) = _with_frame(m, actuated, frame, target)
    stiffness, drag, limited = gains("kp", kp, rows), gains("kd", kd, rows), limiter(limit, m.nv)
    loosened = np.diag(gains("damping", damping, rows) ** 2)
    decay = gains("null_damping", null_damping, 1)[0]

    def law(t: Any, q: Array, v: Array) -> Array:
        place, rate, acceleration = wanted(t)
        own = plant.carrying(q, v)
        motion = frame_motion(plant, frame, rows, q, v, own)
        A = acceleration + drag * (rate - motion.rate) + stiffness * pose_error(motion.pose, place)
        J, v_d = motion.J, v[plant.driven]
        inverse_lambda = ldlt(J @ ldlt(own.M).solve(J.T) + loosened)
        # Both uses of Lambda in one: the force on the frame, and what must be taken from the damping of all motion
        force = inverse_lambda.solve(A - motion.drift + decay * (J @ v_d))
        tau = J.T @ force + own.h - decay * (own.M @ v_d)
        return limited(plant.spread(tau))

    return controller(law)


def _with_frame(m: Mechanism, actuated: Joints, frame: str, target: Any) -> tuple[Plant, Any]:
    plant = Plant(m, actuated)
    m.frames.index_of(frame)
    return plant, frame_target(target)
