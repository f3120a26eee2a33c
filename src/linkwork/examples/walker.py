"""The K2T Walker: two stacked frames that yaw, eight legs, 17 revolute joints, five motors (Nelson and Quinn, sec. 5).

`walker_mechanism` builds it; `walker_gaits` has its gaits and controllers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.algorithms.formulations.limb_dynamics import accelerations
from linkwork.algorithms.formulations.limb_systems import LimbSystem, limb_system
from linkwork.algorithms.forward_dynamics import forward_dynamics
from linkwork.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.examples.catalogue import Claim
from linkwork.examples.walker_gaits import straight
from linkwork.examples.walker_mechanism import FEMURS, FRAMES, LEGS, build, hip, knee
from linkwork.model import Mechanism
from linkwork.spatial.scalar import Array


def motors() -> dict[str, dict[str, float]]:
    """Return, for each of the four leg motors by name, the names of the joints that it moves, each with its ratio.

    A femur motor moves the four hips of a body frame of the walker. A tibia motor moves its four tibiae; their angles
    are named by the knees and measured from the body frame. The yaw motor is not included.
    """
    found: dict[str, dict[str, float]] = {}
    for frame in FRAMES:
        found[f"{frame} femurs"] = {hip(frame, leg): sign for leg, sign in FEMURS.items()}
        found[f"{frame} tibiae"] = {knee(frame, leg): 1.0 for leg in LEGS}
    return found


def limbs(mechanism: Mechanism) -> LimbSystem:
    """Return the limb system of the walker with all clutches engaged: six coordinates of the base, five of the motors.

    Limbs are serial chains from the base to the feet.
    """
    from_frame = {knee(frame, leg): frame for frame in FRAMES for leg in LEGS}
    return limb_system(mechanism, motors(), measured_from=from_frame)


# --- Nelson and Quinn's matrices, with the numbers of their equations ---


def matrices(system: LimbSystem) -> dict[str, Array]:
    """Return the matrices of Nelson and Quinn's equations (42) to (49) by name, computed by linkwork.

    The result has the matrices D of a limb on the bottom frame and of a limb on the top frame, D1, D2 and D3.
    Rotational coordinates of the base are angular velocities; they equal Euler angle rates in the neutral position.
    """
    bottom, top = (system.D0[number][3:, 3:] for number in (0, -1))
    return {"D bottom": bottom, "D top": top, "D1": system.D1, "D2": system.D2, "D3": system.D3}


def printed() -> dict[str, Array]:
    """Return the matrices of Nelson and Quinn's equations (42) to (49) by name, as printed in the paper."""
    base, y, z = (0, np.eye(6)), np.array([[0.0], [1.0], [0.0]]), np.array([[0.0], [0.0], [1.0]])  # (43)
    D_A = [block for k in range(4) for block in (base, (6 + 3 * k, np.eye(3)))]  # (45)
    D_B = [block for k in range(4) for block in (base, (18 + 2 * k, np.eye(2)))]  # (46)
    shared = [block for k in range(4) for block in ((6, np.eye(1)), (7 + 2 * k, np.eye(2)))]
    D_F, D_T = (1.0, 0.0, 1.0, 0.0, -1.0, 0.0, -1.0, 0.0), (0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0)  # (49)
    legs = np.array([D_F, D_T])
    return {
        "D bottom": _columns(12, (0, np.eye(3)), (3, z), (6, y), (9, y)),  # (42)
        "D top": _columns(9, (0, np.eye(3)), (3, y), (6, y)),
        "D1": _columns(26, *D_A, *D_B).T,  # (44)
        "D2": _columns(23, base, *shared, (15, np.eye(8))).T,  # (47)
        "D3": _columns(11, base, (6, np.eye(1)), (7, legs), (9, legs)).T,  # (48)
    }


def _columns(rows: int, *blocks: tuple[int, Array]) -> Array:
    """Return a matrix with `rows` rows whose blocks are side by side, each below its first row number, with zeros
    elsewhere.
    """
    return np.hstack([np.pad(block, ((above, rows - above - len(block)), (0, 0))) for above, block in blocks])


def differences(mechanism: Mechanism, states: int) -> tuple[float, float]:
    """Return the largest relative differences between accelerations from two formulations, at random states.

    The first number compares the accelerations of all joints in limb coordinates with the articulated-body algorithm.
    The second compares the accelerations of the motor coordinates, with all clutches engaged, with those from the mass
    matrix of the composite-rigid-body algorithm, projected to the motor coordinates. `states` is the number of states.
    """
    rng, system, free = np.random.default_rng(0), limbs(mechanism), limb_system(mechanism)
    P, whole, coupled = system.velocity_map, 0.0, 0.0
    for _ in range(states):
        q, rate, tau = mechanism.random(rng), rng.normal(size=P.shape[1]), rng.normal(size=mechanism.nv)
        v = rng.normal(size=mechanism.nv)
        found, expected = accelerations(mechanism, free, q, v, tau), forward_dynamics(mechanism, q, v, tau)
        whole = max(whole, np.abs(found - expected).max() / np.abs(expected).max())
        h = inverse_dynamics(mechanism, q, P @ rate, np.zeros(mechanism.nv)).tau
        expected = np.linalg.solve(P.T @ mass_matrix(mechanism, q) @ P, P.T @ (tau - h))
        found = accelerations(mechanism, system, q, rate, tau)
        coupled = max(coupled, np.abs(found - expected).max() / np.abs(expected).max())
    return float(whole), float(coupled)


def arguments(duration: float = 10.0) -> dict[str, Any]:
    """Return keyword arguments for `lw.simulate`: a straight walk of `duration` [s]."""
    return straight(duration).arguments


def claim() -> Claim:
    """Check the walker's matrices against the printed matrices, and compare two formulations of its dynamics.

    Accelerations computed in limb coordinates must equal those of the articulated-body algorithm. Return the measured
    error and its tolerance as a `Claim`.
    """
    m = build()
    found, expected = matrices(limbs(m)), printed()
    wrong = max(float(np.abs(found[name] - expected[name]).max()) for name in expected)
    return Claim(
        "error of the matrices against the paper, and relative error of accelerations in limb coordinates",
        max(wrong, *differences(m, states=5)),
        1e-11,
    )
