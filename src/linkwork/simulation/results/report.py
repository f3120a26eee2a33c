"""The report on a run: checks of energy balance, momenta, constraints and joint limits, each with its limit.

`energy_balance` defines the energy balance, `report_momenta` checks momenta, `symplectic_defect` computes the
symplectic defect, and `report_tolerances` has all limits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from linkwork.algorithms.constraint_ranks import row_scales
from linkwork.algorithms.constraints.constraint_tolerances import ADDED_DIAGONAL
from linkwork.errors import LinkworkError
from linkwork.model.mechanism import Joint
from linkwork.simulation.contact_families import contact_families
from linkwork.simulation.derived_series import run_energies
from linkwork.simulation.energy_balance import balance
from linkwork.simulation.events.schedule import slips
from linkwork.simulation.methods.method_registry import METHODS, RIGID, Method
from linkwork.simulation.point_contacts import PointContacts
from linkwork.simulation.results import report_tolerances as limits
from linkwork.simulation.results.report_fall_below_surfaces import falls
from linkwork.simulation.results.report_joint_limits import velocity_and_effort_limits
from linkwork.simulation.results.report_momenta import momenta
from linkwork.simulation.results.report_passive_elements import passive_elements
from linkwork.simulation.results.report_penetration import penetration
from linkwork.simulation.results.report_rows import FAILED, Report, Row, checked, member_name, verdict
from linkwork.simulation.results.report_solids import solids
from linkwork.simulation.results.report_step_size import step_resolution
from linkwork.simulation.results.run_data import RunData
from linkwork.simulation.results.series_extremes import largest_magnitude, relative
from linkwork.simulation.results.symplectic_defect import STEPS, run_defect, why_no_symplectic_form
from linkwork.simulation.solid_contacts import SolidContacts
from linkwork.spatial.scalar import Array
from linkwork.tolerances import RANK

CONTACT_CHECKS = {PointContacts: penetration, SolidContacts: solids}  # checks of depths, by contact family
GOOD = ("finished", "event")
NO_POSITIONS, NO_STATES = "q was not recorded", "q and v were not both recorded"  # reasons why checks are not made


def report(run: RunData, compare: bool = False, structure: bool = False) -> Report:
    """Return a report with all checks of a run.

    If `compare` is true, the run is repeated with smaller steps to estimate the error of its states. If `structure` is
    true, the symplectic defect of some steps is computed.
    """
    with np.errstate(all="ignore"):  # values of failed members may overflow
        rows = [
            *_settings(run),
            _outcomes(run),
            _finite(run),
            _energy(run),
            *passive_elements(run),
            *momenta(run),
            _quaternions(run),
            *_loops(run),
            *_slips(run),
            _joint_limits(run),
            *velocity_and_effort_limits(run),
            *_iterations(run),
            *(row for family in contact_families(run.mechanism) for row in CONTACT_CHECKS[type(family)](run)),
            *falls(run),
            *step_resolution(run),
        ]
    left_out = [] if "v" in run.recorded or not run.mechanism.velocity_constraints else [("slip", "v was not recorded")]
    if compare:
        rows.append(_state_error(run))
    else:
        left_out.append(("estimated error", "use report(compare=True)"))
    if structure:
        rows.append(_symplectic(run))
    else:
        left_out.append(("symplectic defect", "use report(structure=True)"))
    return Report(f"{run.mechanism.name}: checks of this run", (*rows, _speed(run)), tuple(left_out))


def _method(run: RunData) -> Method | None:
    """Return the integration method of a run; None for adaptive methods."""
    return RIGID if run.method == RIGID.name else METHODS.get(run.method)


# --- rows ---


def _settings(run: RunData) -> Iterator[Row]:
    """Yield the report rows for the method, and for its step or tolerances."""
    s = run.settings
    yield Row("method", s.method, note=s.why if s.order is None else f"order {s.order}; {s.why}")
    if s.rtol is None:
        yield Row("step", f"{s.dt:g} s", note=f"one sample every {s.every} steps" if s.every > 1 else "")
    else:
        yield Row("tolerances", f"{s.rtol:g}, {s.atol:g}", note="relative, absolute")


def _outcomes(run: RunData) -> Row:
    """Return the report row that checks whether every batch member finished."""
    outcomes = list(run.outcomes.flat)
    bad = [k for k, outcome in enumerate(outcomes) if outcome.kind not in GOOD]
    kinds = [outcome.kind for outcome in outcomes]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    note = f"{member_name(run, bad[0])}{outcomes[bad[0]]}" if bad else ""
    return Row("members" if run.batch else "outcome", counts if run.batch else kinds[0], None, verdict(not bad), note)


def _finite(run: RunData) -> Row:
    """Return the report row that checks whether all samples of each batch member, until its end, are finite."""
    ended = np.array([outcome.time for outcome in run.outcomes.flat]).reshape(*run.batch, 1)
    before_end = run.t <= ended + limits.SAME_TIME * np.abs(ended)
    for name, values in run.recorded.items():
        axes = tuple(range(before_end.ndim, np.ndim(values)))
        finite = np.isfinite(np.asarray(values, dtype=float)).all(axis=axes)
        bad = np.argwhere(before_end & ~finite)
        if len(bad):
            note = f"first in series {name!r} at {run.t[bad[0][-1]]:g} s"
            return Row("finite samples", f"{len(bad)} are not", None, verdict(False), note)
    return Row("finite samples", "all", None, verdict(True))


def _energy(run: RunData) -> Row:
    """Return the report row that checks the energy balance."""
    name = "energy balance"
    if not {"q", "v", "work"} <= run.recorded.keys():
        reason = "q, v and work were not all recorded"
        return Row(name, "unknown", note=reason, not_checked=reason)
    error, scale = balance(run.once(run_energies), run["work"])
    row = checked(run, name, relative(error, scale), "|E(t) - E(0) - work|, relative to the energy exchanged")
    if row.verdict != FAILED:
        return row
    return row._replace(note=f"{row.note}; use a smaller {'dt' if run.settings.rtol is None else 'rtol'}")


def _quaternions(run: RunData) -> Row:
    """Return the report row that checks whether quaternions have unit norm."""
    name, joints = "unit-norm error", [j for j in run.mechanism.leaders if j.kind.nq != j.kind.nv]
    if not joints:
        return Row(name, "none", note="no quaternions")
    if "q" not in run.recorded:
        return Row(name, "none", note=NO_POSITIONS, not_checked=NO_POSITIONS)
    off = [np.abs(run.q[..., j.q] - j.kind.normalized(run.q[..., j.q])).max(axis=-1) for j in joints]
    return checked(run, name, largest_magnitude(np.max(off, axis=0)), "of the quaternions", limits.UNIT_NORM)


def _loops(run: RunData) -> Iterator[Row]:
    """Yield the report rows for errors of loop closure, the projection onto loops, and the loop conditioning."""
    if not run.mechanism.frame_constraints:
        return
    if not {"q", "v"} <= run.recorded.keys():
        yield Row("loops", "unknown", note=NO_STATES, not_checked=NO_STATES)
        return
    d, q, v = run.dynamics, run["q"], run["v"]
    given, method = run.along_time(), _method(run)
    J = d.constraint_jacobian(q, parameters=given)
    bound = limits.CLOSURE if run.settings.baumgarte is None else limits.CLOSURE_BAUMGARTE
    error = float(np.nanmax(np.abs(d.constraint(q, parameters=given)), initial=0.0))
    far = bound * limits.at_least_one(np.abs(J).max(axis=-1, initial=0.0))
    yield Row("loop position error", error, far, verdict(error <= far), "m or rad")
    name, rate = "loop velocity error", float(np.nanmax(np.abs((J @ v[..., None])[..., 0]), initial=0.0))
    if method is not None and method.opens:
        reason = "the velocities satisfy the constraints only to the order of the method"
        yield Row(name, rate, note=f"m/s or rad/s; not checked: {reason}", not_checked=reason)
    else:
        fast = bound * limits.at_least_one((np.abs(J) @ np.abs(v)[..., None])[..., 0])
        yield Row(name, rate, fast, verdict(rate <= fast), "m/s or rad/s")
    if run.settings.baumgarte is None:
        repair = float(np.max(run.final.motion.solver.projection, initial=0.0))
        yield Row("loop projection", repair, note="m or rad; largest change of a coordinate by a projection")
    yield _singular(run, J)


def _slips(run: RunData) -> Iterator[Row]:
    """Yield the report row for the largest slip speed of engaged elements without a capacity, such as gears; they must
    not slip.
    """
    speeds = slips(run.mechanism, run.v, run.along_time()) if "v" in run.recorded else {}
    if speeds:
        name = max(speeds, key=lambda name: float(np.nanmax(speeds[name], initial=0.0)))
        fastest = float(np.nanmax(speeds[name], initial=0.0))
        bound, worst = limits.CLOSURE * limits.at_least_one(run.v), f": {name}" if fastest else ""
        yield Row(
            "slip",
            fastest,
            bound,
            verdict(fastest <= bound),
            f"rad/s or m/s; largest slip speed of engaged elements without a capacity{worst}",
        )


def _singular(run: RunData, J: Array) -> Row:
    """Return the report row for the worst conditioning of the loops at any sample, from their Jacobians J (*batch, T,
    nc, nv).
    """
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
    note = f"ratio of smallest to largest singular value of the constraint rows, at {times[finite[least]]:g} s"
    soft = (
        "; near-singular: constraint forces in this direction are damped"
        if ratios[least] < np.sqrt(ADDED_DIAGONAL)
        else ""
    )
    return Row(name, float(ratios[least]), note=note + soft)


def _joint_limits(run: RunData) -> Row:
    """Return the report row for the largest violation of a joint limit, relative to the range of the joint.

    Violations occur because joint stops are stiff springs.
    """
    name, tree = "joint limits", run.mechanism.tree
    limited = [(j, d) for j in tree.joints for d in np.flatnonzero(np.isfinite(j.lower) | np.isfinite(j.upper))]
    if not limited:
        return Row(name, "none", note="no joint has limits")
    if "q" not in run.recorded:
        return Row(name, "none", note=NO_POSITIONS, not_checked=NO_POSITIONS)
    q = run.mechanism.tree_position(run.q)
    beyond = {}
    for j, d in limited:
        x = q[..., j.q.start + d]
        beyond[j, d] = largest_magnitude(np.maximum(np.maximum(j.lower[d] - x, x - j.upper[d]), 0.0))
    (j, d), _ = max(beyond.items(), key=lambda item: float((item[1] / _range(*item[0])).max(initial=0.0)))
    far, unit = beyond[j, d], "rad" if j.kind.turns[d] else "m"
    beyond_by = f"relative to the range; {far.max():.3g} {unit} beyond the limit of {j.name!r}"
    note = beyond_by if far.any() else "not exceeded"
    return checked(run, name, far / _range(j, d), note, limits.BEYOND_LIMITS)


def _range(joint: Joint, d: int) -> float:
    """Return the range [rad or m] of joint coordinate d, or an assumed range if the joint has only one limit."""
    width = joint.upper[d] - joint.lower[d]
    if np.isfinite(width) and width > 0.0:
        return float(width)
    return limits.RANGE_OF_TURN if joint.kind.turns[d] else limits.RANGE_OF_SLIDE


def _iterations(run: RunData) -> Iterator[Row]:
    """Yield the report rows for the iterations per step of implicit methods, or of the contact solver."""
    method, name = _method(run), "Newton iterations"
    most = f"at most {float(np.max(run.final.most_iterations, initial=0.0)):g}"
    if method is RIGID:
        yield Row("contact iterations", most, note="of the contact solver per step")
        yield _contact_residual(run)
    elif method is not None and method.implicit:
        if "iterations" in run.recorded and len(run.t) > 1:
            median = float(np.nanmedian(run["iterations"][..., 1:]))
            yield Row(name, f"median {median:g}, {most}", note="per step")
        else:
            yield Row(name, most, note='per step; record "iterations" for the median')


def _contact_residual(run: RunData) -> Row:
    """Return the report row for the largest violation of the conditions of rigid contacts in any step.

    The limit of a batch member depends on its own largest velocity. The row is that of the member whose violation is
    the largest fraction of its limit.
    """
    name = "contact residual"
    note = "m/s; largest violation of the contact conditions after the last iteration of a step"
    left = np.asarray(run.final.motion.solver.residual, dtype=float).reshape(-1)
    if not left.size:
        return Row(name, "none", note="the batch is empty")
    speed = largest_magnitude(run["v"].reshape(left.size, -1)) if "v" in run.recorded else np.ones(left.size)
    bounds = np.maximum(limits.CONTACT_RESIDUAL * speed, limits.CONTACT_RESIDUAL_AT_REST)
    number = int(np.argmax(left / bounds))
    most, bound = float(left[number]), float(bounds[number])
    note += "" if most <= bound else "; the contact solver did not converge: try a smaller dt, or restitution=0"
    return Row(name, most, bound, verdict(most <= bound), member_name(run, number) + note)


def _symplectic(run: RunData) -> Row:
    """Return the report row for the symplectic defect of steps from some samples of the first batch member."""
    name, why_not, method = "symplectic defect", why_no_symplectic_form(run), _method(run)
    if why_not or method is None:
        return Row(name, "unknown", note=why_not, not_checked=why_not)
    found, note = (
        run_defect(run),
        f"|A^T W A - W| / |W| of steps from {STEPS} samples; A: derivative of a step, W: symplectic form",
    )
    if not method.symplectic:
        return Row(name, found, note=note, not_checked="this method is not symplectic")
    return Row(name, found, limits.SYMPLECTIC, verdict(found <= limits.SYMPLECTIC), note)


def _speed(run: RunData) -> Row:
    """Return the report row for the computing time, compared with the simulated time."""
    begin = float(run.t[0]) if len(run.t) else 0.0
    simulated = sum(outcome.time - begin for outcome in run.outcomes.flat)
    return Row("wall time", f"{run.wall:.3g} s", note=f"{simulated / max(run.wall, 1e-9):.3g} x real time")


def _state_error(run: RunData) -> Row:
    """Return the report row for the estimated error of q and v, by Richardson extrapolation from a run with half the
    step.

    For a method of order p, half the step reduces the error to 1 / 2^p. Adaptive methods are compared with a run with
    tighter tolerances instead.
    """
    if run.again is None:
        raise LinkworkError(
            "report(compare=True) must repeat the run, which needs its controller; a run that was read from a file or "
            "pickled has none: simulate it again"
        )
    for series in ("q", "v"):
        if series not in run.recorded:
            raise LinkworkError(f"report(compare=True) needs q and v; {series} was not recorded")
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
    how = "1/100 of the tolerances" if order is None else "half the step"
    note = f"of q and v, relative to their largest values; compared with a run with {how}"
    return checked(run, "estimated error", found, note, limits.STATE_ERROR)
