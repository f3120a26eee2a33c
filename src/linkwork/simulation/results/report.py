"""The report on a run: what mechanics says must hold, measured, beside how much it may be off.

`energy` defines the energy balance, `report_momenta` checks momenta, `symplecticity` the symplectic form, and
`report_limits` has all limits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from linkwork.algorithms.constraints.articulated_constraints import DAMPING
from linkwork.algorithms.ranks import row_scales
from linkwork.errors import LinkworkError
from linkwork.model.mechanism import Joint
from linkwork.simulation.derived_series import run_energies
from linkwork.simulation.energy import balance
from linkwork.simulation.events.schedule import slips
from linkwork.simulation.methods.registry import METHODS, RIGID, Method
from linkwork.simulation.results import report_limits as limits
from linkwork.simulation.results.extremes import largest_magnitude, relative
from linkwork.simulation.results.report_momenta import momenta
from linkwork.simulation.results.report_rows import Report, Row, checked, member_name, verdict
from linkwork.simulation.results.run_data import RunData
from linkwork.simulation.results.symplecticity import STEPS, run_defect, without_form
from linkwork.spatial.scalar import Array
from linkwork.tolerances import RANK

GOOD = ("finished", "event")


def report(run: RunData, compare: bool = False, structure: bool = False) -> Report:
    """All checks of a run.

    With `compare` the run is repeated with smaller steps to estimate the error of its states; with `structure` the
    symplectic defect of its steps is measured.
    """
    with np.errstate(all="ignore"):  # numbers of members that failed overflow
        rows = [
            *_settings(run),
            _outcomes(run),
            _energy(run),
            *momenta(run),
            _quaternions(run),
            *_loops(run),
            *_slips(run),
            _joint_limits(run),
            *_iterations(run),
        ]
    if compare:
        rows.append(_state_error(run))
    if structure:
        rows.append(_symplectic(run))
    return Report(f"{run.mechanism.name}: checks of this run", (*rows, _speed(run)))


def _method(run: RunData) -> Method | None:
    """The method of a run; None for SciPy's."""
    return RIGID if run.method == RIGID.name else METHODS.get(run.method)


# --- rows ---


def _settings(run: RunData) -> Iterator[Row]:
    s = run.settings
    yield Row("method", s.method, note=s.why if s.order is None else f"order {s.order}; {s.why}")
    if s.rtol is None:
        yield Row("step", f"{s.dt:g} s", note=f"a sample every {s.every} steps" if s.every > 1 else "")
    else:
        yield Row("tolerances", f"{s.rtol:g}, {s.atol:g}", note="relative, absolute")


def _outcomes(run: RunData) -> Row:
    outcomes = list(run.outcomes.flat)
    bad = [k for k, outcome in enumerate(outcomes) if outcome.kind not in GOOD]
    kinds = [outcome.kind for outcome in outcomes]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    note = f"{member_name(run, bad[0])}{outcomes[bad[0]]}" if bad else ""
    return Row("members" if run.batch else "outcome", counts if run.batch else kinds[0], None, verdict(not bad), note)


def _energy(run: RunData) -> Row:
    name = "energy balance"
    if not {"q", "v", "work"} <= run.recorded.keys():
        return Row(name, "unknown", note="q, v and work were not all recorded")
    error, scale = balance(run.once(run_energies), run["work"])
    return checked(run, name, relative(error, scale), "|E(t) - E(0) - work|, relative to the energy exchanged")


def _quaternions(run: RunData) -> Row:
    name, joints = "quaternion norm", [j for j in run.mechanism.leaders if j.kind.nq != j.kind.nv]
    if not joints or "q" not in run.recorded:
        return Row(name, "none")
    off = [np.abs(run.q[..., j.q] - j.kind.normalized(run.q[..., j.q])).max(axis=-1) for j in joints]
    return checked(run, name, largest_magnitude(np.max(off, axis=0)), "deviation from unit norm", limits.UNIT_NORM)


def _loops(run: RunData) -> Iterator[Row]:
    """Position and velocity errors of loop closure, and how near loops came to a singular position."""
    if not run.mechanism.frame_constraints:
        return
    if not {"q", "v"} <= run.recorded.keys():
        yield Row("loops", "unknown", note="q and v were not both recorded")
        return
    d, q, v = run.dynamics, run["q"], run["v"]
    given, method = run.along_time(), _method(run)
    J = d.constraint_jacobian(q, parameters=given)
    bound = limits.CLOSURE if run.settings.baumgarte is None else limits.CLOSURE_BAUMGARTE
    error = float(np.nanmax(np.abs(d.constraint(q, parameters=given)), initial=0.0))
    yield Row("loop position error", error, bound, verdict(error <= bound), "m or rad")
    name, rate = "loop velocity error", float(np.nanmax(np.abs((J @ v[..., None])[..., 0]), initial=0.0))
    if method is not None and method.opens:
        yield Row(name, rate, note="m/s or rad/s; not checked: this method satisfies it to its order only")
    else:
        yield Row(name, rate, bound, verdict(rate <= bound), "m/s or rad/s")
    if run.settings.baumgarte is None:
        repair = float(np.max(run.final.motion.solver.projection, initial=0.0))
        yield Row(
            "loop projection", repair, note="m or rad, the farthest that a step moved a coordinate to close loops"
        )
    yield _singular(run, J)


def _slips(run: RunData) -> Iterator[Row]:
    """How fast clutches and brakes slipped while they held."""
    speeds = slips(run.mechanism, run.v, run.along_time()) if "v" in run.recorded else {}
    if speeds:
        name = max(speeds, key=lambda name: float(np.nanmax(speeds[name], initial=0.0)))
        fastest = float(np.nanmax(speeds[name], initial=0.0))
        yield Row(
            "slip",
            fastest,
            limits.CLOSURE,
            verdict(fastest <= limits.CLOSURE),
            f"rad/s or m/s, of {name}" if fastest else "none",
        )


def _singular(run: RunData, J: Array) -> Row:
    """How near loops came to a singular position, by the singular values of their rows J (*batch, T, nc, nv)."""
    name, flat = "loop conditioning", J.reshape(-1, *J.shape[-2:])
    times = np.broadcast_to(run.t, J.shape[:-2]).reshape(-1)
    finite = np.flatnonzero(np.isfinite(flat).all(axis=(-2, -1)))[:: max(1, len(flat) // limits.POSITIONS_CHECKED)]
    if not (len(finite) and flat.shape[-2]):
        return Row(name, "unknown")
    positions = run["q"].reshape(len(flat), run.mechanism.nq)
    scales = np.max([row_scales(run.mechanism, positions[k]) for k in (finite[0], finite[-1])], axis=0)[: J.shape[-2]]
    rank = int((np.linalg.svd(flat[finite] / scales[:, None], compute_uv=False) > RANK).sum(axis=-1).max())
    sizes = np.linalg.svd(flat[finite], compute_uv=False)
    largest = np.maximum(sizes.max(axis=-1), RANK * scales.max())
    ratios = sizes[:, rank - 1] / largest if rank else np.ones(len(finite))
    least = int(np.argmin(ratios))
    note = f"smallest over largest singular value of loop rows, at {times[finite[least]]:g} s"
    soft = "; reactions in this direction were damped" if ratios[least] < np.sqrt(DAMPING) else ""
    return Row(name, float(ratios[least]), note=note + soft)


def _joint_limits(run: RunData) -> Row:
    """How far a joint went beyond its limits, relative to its range; stops are springs, but stiff ones."""
    name, tree = "joint limits", run.mechanism.tree
    limited = [(j, d) for j in tree.joints for d in np.flatnonzero(np.isfinite(j.lower) | np.isfinite(j.upper))]
    if not limited or "q" not in run.recorded:
        return Row(name, "none")
    q = run.mechanism.tree_position(run.q)
    beyond = {}
    for j, d in limited:
        x = q[..., j.q.start + d]
        beyond[j, d] = largest_magnitude(np.maximum(np.maximum(j.lower[d] - x, x - j.upper[d]), 0.0))
    (j, d), _ = max(beyond.items(), key=lambda item: float((item[1] / _range(*item[0])).max(initial=0.0)))
    far, unit = beyond[j, d], "rad" if j.kind.turns[d] else "m"
    note = f"relative to its range; {far.max():.3g} {unit} beyond those of {j.name!r}" if far.any() else "not exceeded"
    return checked(run, name, far / _range(j, d), note, limits.BEYOND_LIMITS)


def _range(joint: Joint, d: int) -> float:
    """The range [rad or m] of a joint, or what counts as one where it is limited on one side."""
    width = joint.upper[d] - joint.lower[d]
    if np.isfinite(width) and width > 0.0:
        return float(width)
    return limits.RANGE_OF_TURN if joint.kind.turns[d] else limits.RANGE_OF_SLIDE


def _iterations(run: RunData) -> Iterator[Row]:
    """How many iterations steps took that solve equations, or that solve for rigid contacts."""
    method, name = _method(run), "iterations"
    most = f"at most {float(np.max(run.final.most_iterations, initial=0.0)):g}"
    if method is RIGID:
        yield Row(name, most, note="of the contact solver in a step")
        yield _contact_residual(run)
    elif method is not None and method.implicit:
        if "iterations" in run.recorded and len(run.t) > 1:
            median = float(np.nanmedian(run["iterations"][..., 1:]))
            note = "of Newton's method in a step: median of the samples, and the largest"
            yield Row(name, f"{median:g}, {most}", note=note)
        else:
            yield Row(name, most, note='of Newton\'s method in a step; record "iterations" for more')


def _contact_residual(run: RunData) -> Row:
    left = float(np.max(run.final.motion.solver.residual, initial=0.0))
    speed = largest_magnitude(run["v"]).max(initial=0.0) if "v" in run.recorded else 1.0
    bound = max(limits.CONTACT_RESIDUAL * float(speed), limits.CONTACT_RESIDUAL_AT_REST)
    note = "m/s, by which a contact violated its force laws after the last iteration of a step"
    return Row("contact residual", left, bound, verdict(left <= bound), note)


def _symplectic(run: RunData) -> Row:
    """By how much steps from some samples of the first member miss the symplectic form."""
    name, why_not, method = "symplectic defect", without_form(run), _method(run)
    if why_not or method is None:
        return Row(name, "unknown", note=why_not)
    found, note = run_defect(run), f"|A^T W A - W| / |W| of single steps from {STEPS} samples, A their derivative"
    if not method.symplectic:
        return Row(name, found, note=note)
    return Row(name, found, limits.SYMPLECTIC, verdict(found <= limits.SYMPLECTIC), note)


def _speed(run: RunData) -> Row:
    begin = float(run.t[0]) if len(run.t) else 0.0
    simulated = sum(outcome.time - begin for outcome in run.outcomes.flat)
    return Row("wall time", f"{run.wall:.3g} s", note=f"{simulated / max(run.wall, 1e-9):.3g} x real time")


def _state_error(run: RunData) -> Row:
    """By Richardson: halving the step of a method of order p leaves 1 / 2^p of the error."""
    if run.again is None:
        raise LinkworkError("a run from a file cannot be compared: its controller is not in it; simulate it again")
    for series in ("q", "v"):
        if series not in run.recorded:
            raise LinkworkError(f"a comparison needs the states; {series} was not recorded")
    finer = run.again()
    _, here, there = np.intersect1d(run.t, finer.t, return_indices=True)
    order = run.settings.order
    factor = 1.0 if order is None else 2.0**order / (2.0**order - 1.0)
    found = np.zeros(run.batch)
    for series in ("q", "v"):
        error = np.abs(run[series][..., here, :] - finer[series][..., there, :]).max(axis=-1, initial=0.0)
        size = np.abs(run[series]).max(axis=-1, initial=0.0)
        scale = np.maximum(largest_magnitude(size), limits.LEAST_STATE)
        found = np.maximum(found, relative(factor * largest_magnitude(error), scale))
    how = "tolerances a hundredth as large" if order is None else "half the step"
    note = f"relative to the largest q and v, from a run with {how}"
    return checked(run, "estimated error", found, note, limits.STATE_ERROR)
