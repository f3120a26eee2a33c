"""Recorded results of a discrete system, and the diagnosis of steps that have no solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from linkwork.errors import NotConverged
from linkwork.lagrangian.deprecated_arguments import warn_renamed
from linkwork.lagrangian.lagrangian_tolerances import DEPENDENT_ROWS
from linkwork.lagrangian.one_step_integrator import Integrator, State
from linkwork.simulation.methods.newton_method import Floor, newton
from linkwork.spatial.scalar import Array

SERIES = ("t", "x", "xdot", "p", "multipliers", "energy", "momentum", "iterations")  # in the order of a sample
HALVINGS = 12  # number of times that a step without a solution is halved, to find a step size with a solution
MOST_STEPS_CHECKED = 1000  # largest number of steps of a run whose derivatives are evaluated


@dataclass(frozen=True, eq=False)
class DiscreteRun:
    """The recorded motion of a discrete system, or of a batch of them; returned by `Discrete.run`.

    T is the number of samples, n of coordinates, m of constraints (nonholonomic ones included), k of symmetries.

    Attributes
    ----------
    dt : float
        Step size [s]; with a clock, in the clock's time.
    t : array, shape (T,), unit [s]
        Times of the samples; with a clock, shape (..., T).
    x, xdot, p : array, shape (..., T, n)
        Coordinates, velocities and momenta.
    multipliers : array, shape (..., T, m)
        Constraint multipliers of the step before each sample; NaN at the start.
    energy : array, shape (..., T), unit [J]
        Energy p xdot - L.
    momentum : array, shape (..., T, k)
        Momenta of the symmetries, which the system conserves.
    iterations : array, shape (..., T)
        Largest number of Newton iterations in a step since the previous sample.
    outcomes : array of Outcome, shape (...)
        How each batch member ended; `outcome` is the same for a run without batch axes.
    final : State
        The last valid state, from which another run can continue.

    The samples of a member that ended early are NaN after its end.

    """

    dt: float
    t: Array
    x: Array
    xdot: Array
    p: Array
    multipliers: Array
    energy: Array
    momentum: Array
    iterations: Array
    outcomes: Array
    final: State
    step_derivatives: Callable[[Array], list[Array]] = field(repr=False)

    @cached_property
    def symplectic_defect(self) -> Array:
        """Return the largest change (...,) of the symplectic form in a step, for each batch member.

        The change is round-off if the integrator conserves the form. Areas in the phase space (x, p) before and after a
        step are compared, for up to 1000 steps of the run. Each area is spanned by two of a set of orthonormal changes
        of the state that satisfy the constraints.
        """
        good = np.isfinite(self.energy)
        samples = np.unique(np.linspace(0, self.energy.shape[-1] - 2, MOST_STEPS_CHECKED).astype(int))
        A, rows, dp = self.step_derivatives(samples)
        found = np.zeros(good.shape[:-1])
        for *member, k in np.argwhere(good[..., samples + 1]):
            at = (*member, k)
            found[tuple(member)] = max(found[tuple(member)], _change_of_form(A[at], rows[at], dp[at]))
        return found[()]

    @property
    def outcome(self) -> Any:
        """How the run ended: an `Outcome`, or an array of them for a batch."""
        return self.outcomes if self.outcomes.shape else self.outcomes[()]

    @property
    def h(self) -> float:
        """Deprecated name of `dt`."""
        warn_renamed("the attribute 'h' of a discrete run", "'dt'", stacklevel=2)
        return self.dt

    def __repr__(self) -> str:
        members = f" of {self.outcomes.size} members" if self.outcomes.shape else ""
        kinds = sorted({str(one.kind) for one in self.outcomes.ravel()})
        return f"<run{members}: {len(self.t)} samples to {self.t[-1]:g} s, steps of {self.dt:g} s, {', '.join(kinds)}>"


def _change_of_form(A: Array, rows: Array, dp: Array) -> float:
    """Return the largest change of the symplectic form in a step, over all changes of state that satisfy the
    constraints.

    A (2n, 2n) is the derivative of the step for (x, p). The matrices `rows` and `dp` are those of
    `LagrangianSystem.tangents`: changes (dx, dxdot) of the state satisfy the constraints if rows @ (dx, dxdot) = 0, and
    change the momentum by dp @ (dx, dxdot).
    """
    n = len(A) // 2
    allowed = np.linalg.svd(rows)[2][np.linalg.matrix_rank(rows) :].T if len(rows) else np.eye(2 * n)
    before = np.linalg.qr(np.concatenate([allowed[:n], dp @ allowed]))[0]
    after = A @ before
    areas = [T[:n].T @ T[n:] for T in (before, after)]
    return float(np.abs((areas[1] - areas[1].T) - (areas[0] - areas[0].T)).max())


def failure(integrator: Integrator, start: State, length: float) -> NotConverged:
    """Return the error that explains why a step of size `length` [s] from the state `start` has no solution.

    The function tries smaller steps and reports a step size [s] that converges, if it finds one. `start` is the state
    before the failed step, and consists of floats; `integrator` is the integrator of this step.
    """
    implicit, now, h = integrator.failing(start, length)
    history: list[float] = []
    left: list[Array] = []

    def watched(d: Array, impulses: Array) -> tuple[Array, Array]:
        momenta, positions = implicit.residual(now, h, d, impulses)
        left[:] = momenta, positions * h
        history.append(float(np.abs(np.concatenate(left)).max()))
        return implicit.correction(now, h, d, impulses)

    with np.errstate(all="ignore"):
        rows = implicit.system.rows(now.x)
        newton(watched, now.xdot, np.zeros(len(rows)), Floor(0.0, 0.0))
        halves = (length / 2.0**k for k in range(1, HALVINGS + 1))
        smaller = next((one for one in halves if integrator.step(start, one).solved), None)
    momenta, positions = (np.nan_to_num(np.abs(part), nan=np.inf) for part in left)
    n = int(np.argmax(np.concatenate([momenta, positions])))
    worst = f"the momentum of x[{n}]" if n < len(momenta) else f"constraint {n - len(momenta)}"
    repeated = repeated_row(rows)
    if repeated is not None:
        remedy = f"constraint {repeated} is a combination of the others at this position: remove it, or start elsewhere"
    elif smaller is None:
        remedy = f"shorter steps, down to {length / 2.0**HALVINGS:.3g} s, fail too: check the forces and constraints"
    else:
        remedy = f"with dt={smaller:.6g}, this step converges"
    residuals = ", ".join(f"{one:.1e}" for one in (*history[:4], *history[-1:]))
    return NotConverged(
        f"the step of {length:g} s from t = {float(start.t):.6g} s did not converge in {len(history)} Newton "
        f"iterations; largest residual: {worst}; residuals {residuals}; {remedy}",
        tuple(history),
        smaller,
    )


def repeated_row(rows: Array) -> int | None:
    """Return the index of a row of the constraint Jacobian `rows` (m, n) that depends linearly on the other rows.

    The result is None if there is no such row.
    """
    if not len(rows):
        return None
    sizes = np.linalg.norm(rows, axis=1)
    if not sizes.all():
        return int(np.argmin(sizes))
    u, s, _ = np.linalg.svd(rows / sizes[:, None])
    dependent = len(rows) > rows.shape[1] or s[-1] < DEPENDENT_ROWS * s[0]
    return int(np.argmax(np.abs(u[:, -1]))) if dependent else None
