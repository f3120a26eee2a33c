"""Linear-quadratic regulator (LQR) about an equilibrium."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from linkwork.algorithms.dynamics_derivatives import forward_dynamics_derivatives
from linkwork.algorithms.forward_dynamics import forward_dynamics
from linkwork.algorithms.mimic_reduction import for_mimic_joints
from linkwork.control import controlled_plant as plants
from linkwork.control.control_tolerances import AT_REST, STABLE
from linkwork.control.controlled_plant import Controller, Plant, controller
from linkwork.errors import LinkworkError, NotConverged, ShapeError
from linkwork.model.batch_broadcasting import as_numbers, refuse_non_finite
from linkwork.model.mechanism import Mechanism
from linkwork.model.physical_validity import require_inertia
from linkwork.spatial.scalar import Array

_accelerations = for_mimic_joints("forward_dynamics", forward_dynamics, ["q", "v", "tau"])
_partials = for_mimic_joints("forward_dynamics_derivatives", forward_dynamics_derivatives, ["q", "v", "tau"])


def lqr(m: Mechanism, q0: Any, Q: Any, R: Any, tau0: Any = None, actuated: Iterable[str] | None = None) -> Controller:
    """Return a linear-quadratic regulator about an equilibrium: tau = tau0 - K x.

    The state is x = [m.difference(q0, q), v] (2 nv,). The gain matrix K (k, 2 nv) minimises the integral of
    x^T Q x + u^T R u over infinite time, where u = tau - tau0 (k,) are the forces of the actuated joints with k
    velocities, for the dynamics linearised at q0. The linearisation includes springs and dampers. SciPy solves the
    Riccati equation.

    Parameters
    ----------
    m : Mechanism
        Mechanism to control.
    q0 : array (nq,), [rad, m]
        Position of the equilibrium.
    Q : float, array (2 nv,) or (2 nv, 2 nv)
        Weight of the state: a multiple of the identity, a diagonal, or a symmetric positive semidefinite matrix.
    R : float, array (k,) or (k, k)
        Weight of the forces: a multiple of the identity, a diagonal, or a symmetric positive definite matrix.
    tau0 : array (nv,), [N m, N], optional
        Joint forces that hold the mechanism at q0; by default the actuated joints balance gravity and springs.
    actuated : iterable of str, optional
        Names of the joints that receive a force; by default all but free joints.

    Returns
    -------
    Controller
        `controller(t, q, v)`, which returns tau (nv,) [N m, N]. Its attribute `K` (k, 2 nv) is the gain matrix.

    Raises
    ------
    LinkworkError
        If q0 is not an equilibrium under tau0, the actuated joints cannot stabilise it, or Q or R is not valid.
    NotConverged
        If the Riccati equation has no stabilising solution.

    Examples
    --------
    >>> m = lw.example("double_pendulum")
    >>> controller = lw.feedback.lqr(m, q0=[np.pi, 0.0], Q=100.0, R=1e-3)
    >>> controller.K.shape
    (2, 4)
    >>> run = lw.simulate(m, [np.pi + 0.1, 0.0], duration=10.0, controller=controller, progress=False)
    >>> bool(np.abs(run.q[-1] - [np.pi, 0.0]).max() < 1e-3)
    True

    """
    plant = Plant(m, actuated)
    require_inertia(m)
    q0 = _checked_array("q0", q0, (m.nq,))
    holding = plants.gravity(m, q0) - plants.passive(m, q0, np.zeros(m.nv))
    tau0 = plant.expanded(holding[plant.driven]) if tau0 is None else _checked_array("tau0", tau0, (m.nv,))
    _require_equilibrium(plant, q0, tau0)
    A, B = linearised(plant, q0, tau0)
    _require_stabilisable(plant, A, B)
    weights = _weight("Q", Q, 2 * m.nv, least=0.0), _weight("R", R, len(plant.driven), least=1e-300)
    K = _riccati_gain(A, B, *weights)

    def control(t: Any, q: Array, v: Array) -> Array:
        x = np.concatenate([m.difference(q0, q), v])
        return plant.expanded(tau0[plant.driven] - K @ x)

    regulator: Any = controller(control)
    regulator.K = K
    return regulator


def linearised(plant: Plant, q0: Array, tau0: Array) -> tuple[Array, Array]:
    """Return the matrices A (2 nv, 2 nv) and B (2 nv, k) of the linearised dynamics x' = A x + B u of a plant.

    The plant is linearised at the equilibrium q0 (nq,) under the joint forces tau0 (nv,). x (2 nv,) are the deviations
    of position and velocity from the equilibrium, u (k,) the deviations of the k actuated joint forces from tau0.
    """
    m, rest = plant.mechanism, np.zeros(plant.mechanism.nv)
    springs = plants.passive(m, q0, rest)
    by_q, by_v, by_tau = _partials(m, q0, rest, tau0 + springs)
    springs_by_q = _derivatives(lambda dq: plants.passive(m, m.integrate(q0, dq), rest), m.nv)
    dampers_by_v = _derivatives(lambda v: plants.passive(m, q0, v), m.nv)
    zero, one = np.zeros((m.nv, m.nv)), np.eye(m.nv)
    A = np.block([[zero, one], [by_q + by_tau @ springs_by_q, by_v + by_tau @ dampers_by_v]])
    return A, np.concatenate([zero, by_tau])[:, plant.driven]


def _derivatives(function: Callable[[Array], Array], size: int, h: float = 1e-5) -> Array:
    """Return the derivatives (size, size) of function(x) with respect to x (size,) at x = 0, by central differences.

    `h` [rad, m, rad/s or m/s] is the step of the differences. The function returns the joint forces (size,) of springs
    and dampers, which are nearly linear.
    """
    return np.array([(function(h * e) - function(-h * e)) / (2.0 * h) for e in np.eye(size)]).T


# --- checks of the arguments ---


def _checked_array(name: str, given: Any, shape: tuple[int, ...]) -> Array:
    """Return `given` as an array of floats; raise a ShapeError if it does not have the shape `shape`."""
    array = as_numbers(name, given)
    refuse_non_finite(name, array)
    if array.shape != shape:
        raise ShapeError(f"{name} has shape {array.shape}, expected {shape}")
    return array


def _weight(name: str, given: Any, size: int, least: float) -> Array:
    """Return the LQR weight `given` as a symmetric matrix (size, size); raise a LinkworkError if it is not valid.

    A weight is not valid if it has an eigenvalue smaller than `least`. `name` is the name of the weight in the message.
    """
    array = as_numbers(name, given)
    refuse_non_finite(name, array)
    if array.shape not in ((), (size,), (size, size)):
        raise ShapeError(f"{name} has shape {array.shape}, expected one number, ({size},) or ({size}, {size})")
    W = array if array.ndim == 2 else np.diag(np.broadcast_to(array, (size,)))
    if not np.allclose(W, W.T, rtol=1e-12, atol=0.0):
        raise LinkworkError(f"{name} must be symmetric; it differs from its transpose by {np.abs(W - W.T).max():g}")
    smallest = np.linalg.eigvalsh(W).min()
    if smallest < least - (0.0 if least else 1e-12 * np.abs(W).max()):
        wanted = "positive definite" if least else "positive semidefinite"
        raise LinkworkError(f"{name} must be {wanted}; its smallest eigenvalue is {smallest:g}")
    return W


def _name_of(plant: Plant, dof: int) -> str:
    """Return the name of the joint to which the velocity with index `dof` belongs."""
    return next(j.name for j in plant.mechanism.leaders if j.v.start <= dof < j.v.stop)


def _require_equilibrium(plant: Plant, q0: Array, tau0: Array) -> None:
    """Raise a LinkworkError unless the plant is in equilibrium at q0 (nq,) under the joint forces tau0 (nv,)."""
    m, rest = plant.mechanism, np.zeros(plant.mechanism.nv)
    for dof in plant.idle:
        if tau0[dof] != 0.0:
            raise LinkworkError(
                f"tau0[{dof}] is {tau0[dof]:g}, but joint {_name_of(plant, dof)!r} is not actuated; set it to 0"
            )
    a = _accelerations(m, q0, rest, tau0 + plants.passive(m, q0, rest))
    worst = int(np.argmax(np.abs(a)))
    if abs(a[worst]) > AT_REST:
        raise LinkworkError(
            f"q0 is not an equilibrium: under tau0 joint {_name_of(plant, worst)!r} accelerates by {a[worst]:g} "
            "[rad/s^2, m/s^2]; give the q0 of an equilibrium, or the tau0 that holds the mechanism at q0"
        )


def _require_stabilisable(plant: Plant, A: Array, B: Array) -> None:
    """Raise a LinkworkError unless the motors can influence every mode of x' = A x + B u that does not decay.

    This is the Popov-Belevitch-Hautus test. A and B are the matrices of `linearised`. For a mode that no motor
    influences, the message names the joint of `plant` with the largest component in it.
    """
    values, left = np.linalg.eig(A.T)
    scale = max(1.0, np.abs(values).max())
    size = len(A)
    for value, mode in zip(values, left.T, strict=True):
        if value.real > -STABLE * scale:
            singular = np.linalg.svd(np.column_stack([A - value * np.eye(size), B]), compute_uv=False)
            if singular[-1] < 1e-9 * singular[0]:
                dof = int(np.argmax(np.abs(mode))) % plant.mechanism.nv
                raise LinkworkError(
                    f"q0 cannot be stabilised: no actuated joint excites the mode of {_name_of(plant, dof)!r} with "
                    f"the eigenvalue {value:.3g} 1/s; actuate more joints"
                )


def _riccati_gain(A: Array, B: Array, Q: Array, R: Array) -> Array:
    """Return the LQR gain K (k, 2 nv) = R^-1 B^T P, where P solves A^T P + P A - P B R^-1 B^T P + Q = 0.

    See `linearised` for A and B; Q (2 nv, 2 nv) and R (k, k) are the weights of states and inputs.
    """
    from scipy.linalg import solve_continuous_are  # imported only here, so that importing linkwork stays quick

    try:
        P = solve_continuous_are(A, B, Q, R)
    except np.linalg.LinAlgError as failure:
        raise NotConverged(
            f"the Riccati equation has no stabilising solution ({failure}); "
            "Q must penalise every mode that does not decay"
        ) from None
    K = np.linalg.solve(R, B.T @ P)
    slowest = np.linalg.eigvals(A - B @ K).real.max()
    if not slowest < 0.0:
        raise NotConverged(
            f"the regulator is not stable: an eigenvalue has real part {slowest:g} 1/s; "
            "Q must penalise every mode that does not decay"
        )
    return K
