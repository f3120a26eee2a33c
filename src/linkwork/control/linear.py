"""Linear quadratic regulation about an equilibrium: the best linear feedback for small deviations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from linkwork.algorithms.derivatives import forward_dynamics_derivatives
from linkwork.algorithms.forward import forward_dynamics
from linkwork.algorithms.reduction import coupled
from linkwork.control import plant as plants
from linkwork.control.plant import Controller, Plant, controller
from linkwork.errors import LinkworkError, NotConverged, ShapeError
from linkwork.model.broadcast import as_numbers, refuse_non_finite
from linkwork.model.mechanism import Mechanism
from linkwork.spatial.scalar import Array

AT_REST = 1e-6  # accelerations below [rad/s^2, m/s^2] count as none
STABLE = 1e-9  # real parts above -STABLE count as not stable, relative to the largest eigenvalue

_accelerations = coupled("forward_dynamics", forward_dynamics, ["q", "v", "tau"])
_partials = coupled("forward_dynamics_derivatives", forward_dynamics_derivatives, ["q", "v", "tau"])


def lqr(m: Mechanism, q0: Any, Q: Any, R: Any, tau0: Any = None, actuated: Iterable[str] | None = None) -> Controller:
    """The feedback tau = tau0 - K x about the equilibrium q0 (nq,), x = [m.difference(q0, q), v] (2 nv,).

    K, the controller's attribute of that name, has one row for each driven velocity and minimises the integral of
    x^T Q x + u^T R u, where u = tau - tau0 of the k driven velocities, for the motion linearised at q0 with the joints'
    own springs and dampers. Q (2 nv, 2 nv) must be symmetric and not negative, R (k, k) symmetric and positive; one
    number, or those of the diagonal, will do. `tau0` (nv,) [N m, N] are the forces that hold it at q0: if not given,
    those of gravity and springs. SciPy solves the Riccati equation.
    """
    plant = Plant(m, actuated)
    q0 = _sized("q0", q0, (m.nq,))
    holding = plants.gravity(m, q0) - plants.passive(m, q0, np.zeros(m.nv))
    tau0 = plant.spread(holding[plant.driven]) if tau0 is None else _sized("tau0", tau0, (m.nv,))
    _require_equilibrium(plant, q0, tau0)
    A, B = linearised(plant, q0, tau0)
    _require_stabilisable(plant, A, B)
    weights = _weight("Q", Q, 2 * m.nv, least=0.0), _weight("R", R, len(plant.driven), least=1e-300)
    K = _riccati_gain(A, B, *weights)

    def law(t: Any, q: Array, v: Array) -> Array:
        x = np.concatenate([m.difference(q0, q), v])
        return plant.spread(tau0[plant.driven] - K @ x)

    regulator: Any = controller(law)
    regulator.K = K
    return regulator


def linearised(plant: Plant, q0: Array, tau0: Array) -> tuple[Array, Array]:
    """A (2 nv, 2 nv) and B (2 nv, k) of x' = A x + B u near the equilibrium."""
    m, rest = plant.mechanism, np.zeros(plant.mechanism.nv)
    springs = plants.passive(m, q0, rest)
    by_q, by_v, by_tau = _partials(m, q0, rest, tau0 + springs)
    springs_by_q = _slopes(lambda dq: plants.passive(m, m.integrate(q0, dq), rest), m.nv)
    dampers_by_v = _slopes(lambda v: plants.passive(m, q0, v), m.nv)
    zero, one = np.zeros((m.nv, m.nv)), np.eye(m.nv)
    A = np.block([[zero, one], [by_q + by_tau @ springs_by_q, by_v + by_tau @ dampers_by_v]])
    return A, np.concatenate([zero, by_tau])[:, plant.driven]


def _slopes(function: Callable[[Array], Array], size: int, h: float = 1e-5) -> Array:
    """Derivatives of springs and dampers by central differences: exact to round-off, as they are all but linear."""
    return np.array([(function(h * e) - function(-h * e)) / (2.0 * h) for e in np.eye(size)]).T


# --- what must hold ---


def _sized(name: str, given: Any, shape: tuple[int, ...]) -> Array:
    array = as_numbers(name, given)
    refuse_non_finite(name, array)
    if array.shape != shape:
        raise ShapeError(f"{name} has shape {array.shape}, expected {shape}")
    return array


def _weight(name: str, given: Any, size: int, least: float) -> Array:
    """A weight as a symmetric matrix (size, size) whose eigenvalues are at least so large."""
    array = as_numbers(name, given)
    refuse_non_finite(name, array)
    if array.shape not in ((), (size,), (size, size)):
        raise ShapeError(f"{name} has shape {array.shape}, expected one number, ({size},) or ({size}, {size})")
    W = array if array.ndim == 2 else np.diag(np.broadcast_to(array, (size,)))
    if not np.allclose(W, W.T, rtol=1e-12, atol=0.0):
        raise LinkworkError(f"{name} must be symmetric; it differs from its transpose by {np.abs(W - W.T).max():g}")
    smallest = np.linalg.eigvalsh(W).min()
    if smallest < least - (0.0 if least else 1e-12 * np.abs(W).max()):
        wanted = "be positive" if least else "not be negative"
        raise LinkworkError(f"{name} must {wanted}: its smallest eigenvalue is {smallest:g}")
    return W


def _name_of(plant: Plant, dof: int) -> str:
    return next(j.name for j in plant.mechanism.leaders if j.v.start <= dof < j.v.stop)


def _require_equilibrium(plant: Plant, q0: Array, tau0: Array) -> None:
    m, rest = plant.mechanism, np.zeros(plant.mechanism.nv)
    for dof in plant.idle:
        if tau0[dof] != 0.0:
            raise LinkworkError(f"tau0[{dof}] is {tau0[dof]:g}, but joint {_name_of(plant, dof)!r} takes no force")
    a = _accelerations(m, q0, rest, tau0 + plants.passive(m, q0, rest))
    worst = int(np.argmax(np.abs(a)))
    if abs(a[worst]) > AT_REST:
        raise LinkworkError(
            f"q0 is no equilibrium: under tau0 joint {_name_of(plant, worst)!r} accelerates by {a[worst]:g} "
            "[rad/s^2, m/s^2]; give the q0 at which it rests, or the tau0 that holds it"
        )


def _require_stabilisable(plant: Plant, A: Array, B: Array) -> None:
    """The test of Popov, Belevitch and Hautus: every mode that does not die out by itself is moved by some input."""
    values, left = np.linalg.eig(A.T)
    scale = max(1.0, np.abs(values).max())
    size = len(A)
    for value, mode in zip(values, left.T, strict=True):
        if value.real > -STABLE * scale:
            singular = np.linalg.svd(np.column_stack([A - value * np.eye(size), B]), compute_uv=False)
            if singular[-1] < 1e-9 * singular[0]:
                dof = int(np.argmax(np.abs(mode))) % plant.mechanism.nv
                raise LinkworkError(
                    f"q0 cannot be stabilised: no driven joint moves the mode of {_name_of(plant, dof)!r} whose "
                    f"eigenvalue is {value:.3g} 1/s; actuate more joints"
                )


def _riccati_gain(A: Array, B: Array, Q: Array, R: Array) -> Array:
    """K = R^-1 B^T P (k, 2 nv), where A^T P + P A - P B R^-1 B^T P + Q = 0."""
    from scipy.linalg import solve_continuous_are  # here, so that importing linkwork stays quick

    try:
        P = solve_continuous_are(A, B, Q, R)
    except np.linalg.LinAlgError as failure:
        raise NotConverged(
            f"the Riccati equation has no stabilising solution ({failure}); Q must weigh every mode that does not decay"
        ) from None
    K = np.linalg.solve(R, B.T @ P)
    slowest = np.linalg.eigvals(A - B @ K).real.max()
    if not slowest < 0.0:
        raise NotConverged(f"the regulator would not be stable: an eigenvalue has real part {slowest:g} 1/s")
    return K
