"""What a run of a discrete system leaves, and why a step could not be solved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from linkwork.errors import NotConverged
from linkwork.lagrangian.discrete_step import Mover, State
from linkwork.simulation.methods.newton import Floor, newton
from linkwork.spatial.scalar import Array

SERIES = ("t", "x", "xdot", "p", "multipliers", "energy", "momentum", "iterations")  # in the order of a row
HALVINGS = 12  # of a step that is too large, in search of one that is not
LOOKED_AT = 1000  # steps of a run whose derivatives are taken, at most
SINGULAR = 1e-9  # part of the largest singular value of Dg at which rows repeat each other


@dataclass(frozen=True, eq=False)
class DiscreteRun:
    """A motion of a discrete system, or of a batch of them.

    `t` (T,) [s], where there is a clock (..., T); `x`, `xdot` and `p` (..., T, n); `multipliers` (..., T, m), those
    over the step that led to a row; `energy` (..., T) [J]; `momentum` (..., T, k), what the symmetries conserve;
    `iterations` (..., T), the most of Newton's method in a step since the row before. A member that ended early has
    numbers until then and nan after.
    `outcome` is how the run ended: an `Outcome`, for a batch an array of them. `final` is the last good state, from
    which it can go on.
    """

    h: float
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
        """By how much steps changed the symplectic form, the most of any (...,): round-off, where a rule conserves it.

        Areas of the (x, p) plane that changes of the state span are compared before and after the steps from up to a
        thousand rows; the changes are orthonormal, and those that constraints allow.
        """
        good = np.isfinite(self.energy)
        rows = np.unique(np.linspace(0, self.energy.shape[-1] - 2, LOOKED_AT).astype(int))
        A, held, dp = self.step_derivatives(rows)
        found = np.zeros(good.shape[:-1])
        for *member, k in np.argwhere(good[..., rows + 1]):
            at = (*member, k)
            found[tuple(member)] = max(found[tuple(member)], _form_changed(A[at], held[at], dp[at]))
        return found[()]

    @property
    def outcome(self) -> Any:
        """How the run ended: an `Outcome`, for a batch an array of them."""
        return self.outcomes if self.outcomes.shape else self.outcomes[()]

    def __repr__(self) -> str:
        members = f" of {self.outcomes.size} members" if self.outcomes.shape else ""
        kinds = sorted({str(one.kind) for one in self.outcomes.ravel()})
        return f"<run{members}: {len(self.t)} rows to {self.t[-1]:g} s by steps of {self.h:g} s, {', '.join(kinds)}>"


def _form_changed(A: Array, held: Array, dp: Array) -> float:
    """By how much a derivative A (2n, 2n) of (x, p) changes the areas of tangents, which `system.tangents` gives."""
    n = len(A) // 2
    allowed = np.linalg.svd(held)[2][np.linalg.matrix_rank(held) :].T if len(held) else np.eye(2 * n)
    before = np.linalg.qr(np.concatenate([allowed[:n], dp @ allowed]))[0]
    after = A @ before
    areas = [T[:n].T @ T[n:] for T in (before, after)]
    return float(np.abs((areas[1] - areas[1].T) - (areas[0] - areas[0].T)).max())


def failure(mover: Mover, start: State, length: float) -> NotConverged:
    """Why a step of one member from a state (floats) has no solution, and which length [s] would have one."""
    stepper, now, h = mover.failing(start, length)
    history: list[float] = []
    left: list[Array] = []

    def watched(d: Array, held: Array) -> tuple[Array, Array]:
        momenta, positions = stepper.residual(now, h, d, held)
        left[:] = momenta, positions * h
        history.append(float(np.abs(np.concatenate(left)).max()))
        return stepper.correction(now, h, d, held)

    with np.errstate(all="ignore"):
        rows = stepper.system.rows(now.x)
        newton(watched, now.xdot, np.zeros(len(rows)), Floor(0.0, 0.0))
        halves = (length / 2.0**k for k in range(1, HALVINGS + 1))
        smaller = next((one for one in halves if mover.step(start, one).solved), None)
    momenta, positions = (np.nan_to_num(np.abs(part), nan=np.inf) for part in left)
    n = int(np.argmax(np.concatenate([momenta, positions])))
    worst = f"the momentum of x[{n}]" if n < len(momenta) else f"constraint {n - len(momenta)}"
    repeated = repeated_row(rows)
    if repeated is not None:
        remedy = f"constraint {repeated} repeats others in this position: leave it out, or stay away from here"
    elif smaller is None:
        remedy = (
            f"no step down to {length / 2.0**HALVINGS:.3g} s converges here either: look at the forces and constraints"
        )
    else:
        remedy = f"h={smaller:.6g} converges here"
    residuals = ", ".join(f"{one:.1e}" for one in (*history[:4], *history[-1:]))
    return NotConverged(
        f"the step of {length:g} s from t = {float(start.t):.6g} s has no solution that {len(history)} iterations "
        f"could find; worst is {worst}; residuals {residuals}; {remedy}",
        tuple(history),
        smaller,
    )


def repeated_row(rows: Array) -> int | None:
    """The number of a row of Dg (m, n) that depends on others, if there is one."""
    if not len(rows):
        return None
    sizes = np.linalg.norm(rows, axis=1)
    if not sizes.all():
        return int(np.argmin(sizes))
    u, s, _ = np.linalg.svd(rows / sizes[:, None])
    dependent = len(rows) > rows.shape[1] or s[-1] < SINGULAR * s[0]
    return int(np.argmax(np.abs(u[:, -1]))) if dependent else None
