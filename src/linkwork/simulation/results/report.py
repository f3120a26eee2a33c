"""How far a run can be trusted: what mechanics says must hold, measured, beside what it may be.

Energy: E(t) - E(0) is the work of all forces that no energy belongs to. The imbalance is told relative to the energy
that was exchanged. Momenta are those of `trust_momenta`, the symplectic form that of `structure`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from linkwork.algorithms.constraints.articulated_constraints import DAMPING
from linkwork.errors import LinkworkError
from linkwork.model.mechanism import Joint
from linkwork.simulation.events.schedule import slips
from linkwork.simulation.methods.registry import METHODS, RIGID
from linkwork.simulation.results.report_momenta import momenta
from linkwork.simulation.results.report_rows import Report, Row, most, ratio, span, verdict, who, worst
from linkwork.simulation.results.run import Run
from linkwork.simulation.results.symplecticity import STEPS, run_defect, without_form
from linkwork.spatial.scalar import Array

GLOBAL = 1e-3  # estimated error of the state, relative to how far it moves
UNIT_LENGTH = 1e-12  # of quaternions, off by
CLOSED = 1e-8  # loops may be open by [m or rad], and opening at [m/s or rad/s]
PULLED = 1e-4  # the same where forces pull them closed
LOOKED_AT = 500  # positions in which loops are looked at for being singular
RANK = 1e-9  # effects below this part of the largest are none
BEYOND = 0.05  # of a joint's range, beyond its limits
STILL = 1e-6  # of the energy that is there: what counts as exchanged at least
FORM = 1e-10  # symplectic defect of methods that have none but round-off
AGREED = 1e-3  # speed by which a contact may break its laws, of the fastest speed in the run
AT_REST = 1e-12  # [m/s] so where nothing moves
GOOD = ("finished", "event")


def report(run: Run, compare: bool = False, structure: bool = False) -> Report:
    """What can be said of a run.

    With `compare` it is run again, finer, and the error of its states estimated; with `structure` the symplectic defect
    of its steps is measured.
    """
    with np.errstate(all="ignore"):  # numbers of lost members overflow
        rows = [
            *_making(run),
            _endings(run),
            _energy(run),
            *momenta(run),
            _quaternions(run),
            *_loops(run),
            *_slips(run),
            _limits(run),
            *_rounds(run),
        ]
    if compare:
        rows.append(_global_error(run))
    if structure:
        rows.append(_symplectic(run))
    return Report(f"{run.mechanism.name}: can this run be trusted?", (*rows, _speed(run)))


# --- rows ---


def _making(run: Run) -> Iterator[Row]:
    s = run.settings
    yield Row("method", s.method, note=s.why if s.order is None else f"order {s.order}; {s.why}")
    if s.rtol is None:
        yield Row("step", f"{s.dt:g} s", note=f"a row every {s.every} steps" if s.every > 1 else "")
    else:
        yield Row("tolerances", f"{s.rtol:g}, {s.atol:g}", note="relative, absolute")


def _endings(run: Run) -> Row:
    outcomes = list(run.outcomes.flat)
    bad = [k for k, outcome in enumerate(outcomes) if outcome.kind not in GOOD]
    kinds = [outcome.kind for outcome in outcomes]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    note = f"{who(run, bad[0])}{outcomes[bad[0]]}" if bad else ""
    return Row("members" if run.batch else "outcome", counts if run.batch else kinds[0], None, verdict(not bad), note)


def _energy(run: Run) -> Row:
    name = "energy balance"
    if not {"q", "v", "work"} <= run.recorded.keys():
        return Row(name, "unknown", note="q, v and work were not all recorded")
    work = run["work"] - run["work"][..., :1]
    balance = np.abs(run["energy"] - run["energy"][..., :1] - work)
    stored = run["energy.gravity"] + run["energy.springs"]
    scale = np.maximum.reduce([most(run["energy.kinetic"]), span(stored), most(work), STILL * most(run["energy"])])
    return worst(run, name, ratio(most(balance), scale), "|E(t) - E(0) - work|, of the energy exchanged")


def _quaternions(run: Run) -> Row:
    name, joints = "quaternion length", [j for j in run.mechanism.leaders if j.kind.nq != j.kind.nv]
    if not joints or "q" not in run.recorded:
        return Row(name, "none")
    off = [np.abs(run.q[..., j.q] - j.kind.normalized(run.q[..., j.q])).max(axis=-1) for j in joints]
    return worst(run, name, most(np.max(off, axis=0)), "off one", UNIT_LENGTH)


def _loops(run: Run) -> Iterator[Row]:
    """How far loops were open, and opening."""
    if not run.mechanism.loops:
        return
    if not {"q", "v"} <= run.recorded.keys():
        yield Row("loops", "unknown", note="q and v were not both recorded")
        return
    d, q, v = run.dynamics, run["q"], run["v"]
    given = run.along_time()
    J = d.constraint_jacobian(q, parameters=given)
    for name, errors, unit in (
        ("loops open by", d.constraint(q, parameters=given), "m or rad"),
        ("loops open at", (J @ v[..., None])[..., 0], "m/s or rad/s"),
    ):
        found = float(np.nanmax(np.abs(errors), initial=0.0))
        if name == "loops open at" and run.method in METHODS and METHODS[run.method].opens:
            yield Row(name, found, note=f"{unit}; velocities of this method keep loops closed to its order")
            continue
        bound = CLOSED if run.settings.baumgarte is None else PULLED
        yield Row(name, found, bound, verdict(found <= bound), unit)
    if run.settings.baumgarte is None:
        repair = float(np.max(run.final.repair, initial=0.0))
        yield Row("loops moved by", repair, note="m or rad, the farthest that a step moved a joint to close them again")
    yield _singular(run, J)


def _slips(run: Run) -> Iterator[Row]:
    """How fast clutches and brakes slipped that were engaged."""
    if "v" in run.recorded and run.mechanism.holders:
        speeds = slips(run.mechanism, run.v, run.along_time())
        name = max(speeds, key=lambda name: float(np.nanmax(speeds[name], initial=0.0)))
        fastest = float(np.nanmax(speeds[name], initial=0.0))
        yield Row(
            "slip", fastest, CLOSED, verdict(fastest <= CLOSED), f"rad/s or m/s, of {name}" if fastest else "none"
        )


def _singular(run: Run, J: Array) -> Row:
    """How near a run came to a position in which loops lose grip of a direction, by rows J (*batch, T, nc, nv)."""
    flat = J.reshape(-1, *J.shape[-2:])
    times = np.broadcast_to(run.t, J.shape[:-2]).reshape(-1)
    kept = np.flatnonzero(np.isfinite(flat).all(axis=(-2, -1)))[:: max(1, len(flat) // LOOKED_AT)]
    if not (len(kept) and flat.shape[-2]):
        return Row("nearest to singular", "unknown")
    sizes = np.linalg.svd(flat[kept], compute_uv=False)
    largest = np.maximum(sizes.max(axis=-1, keepdims=True), 1e-300)
    rank = int((sizes > RANK * largest).sum(axis=-1).max())
    grips = (sizes / largest)[:, rank - 1] if rank else np.ones(len(kept))
    least = int(np.argmin(grips))
    note = f"least over largest effect of loop rows, at {times[kept[least]]:g} s"
    soft = "; reactions along it were damped" if grips[least] < np.sqrt(DAMPING) else ""
    return Row("nearest to singular", float(grips[least]), note=note + soft)


def _limits(run: Run) -> Row:
    """How far beyond its limits a joint went, of its range; stops give way, but not so much."""
    name, tree = "joint limits", run.mechanism.tree
    limited = [(j, d) for j in tree.joints for d in np.flatnonzero(np.isfinite(j.lower) | np.isfinite(j.upper))]
    if not limited or "q" not in run.recorded:
        return Row(name, "none")
    q = run.mechanism.tree_position(run.q)
    beyond = {}
    for j, d in limited:
        x = q[..., j.q.start + d]
        beyond[j, d] = most(np.maximum(np.maximum(j.lower[d] - x, x - j.upper[d]), 0.0))
    (j, d), _ = max(beyond.items(), key=lambda item: float((item[1] / _reach(*item[0])).max(initial=0.0)))
    far, unit = beyond[j, d], "rad" if j.kind.turns[d] else "m"
    note = f"of its range, {far.max():.3g} {unit} beyond those of {j.name!r}" if far.any() else "nowhere exceeded"
    return worst(run, name, far / _reach(j, d), note, BEYOND)


def _reach(joint: Joint, d: int) -> float:
    """The range [rad or m] of a joint; where it has one end only, a turn or two metres."""
    width = joint.upper[d] - joint.lower[d]
    return float(width) if np.isfinite(width) and width > 0.0 else 2.0 * np.pi if joint.kind.turns[d] else 2.0


def _rounds(run: Run) -> Iterator[Row]:
    """In how many rounds steps that solve equations did so, or rigid contacts agreed."""
    if run.method == RIGID.name:
        yield from _agreed(run)
    if run.method not in METHODS or METHODS[run.method].posed is None:
        return
    found = f"at most {float(np.max(run.final.most_rounds, initial=0.0)):g}"
    if "rounds" in run.recorded and len(run.t) > 1:
        median = float(np.nanmedian(run["rounds"][..., 1:]))
        yield Row("rounds", f"{median:g}, {found}", note="of Newton's method in a step: median of rows, and the most")
    else:
        yield Row("rounds", found, note='of Newton\'s method in a step; record "rounds" for more')


def _agreed(run: Run) -> Iterator[Row]:
    """In how many rounds rigid contacts agreed, and how far they were from it at worst."""
    left, most_rounds = (float(np.max(x, initial=0.0)) for x in (run.final.left, run.final.most_rounds))
    yield Row("rounds", f"at most {most_rounds:g}", note="until rigid contacts agreed in a step")
    speed = most(run["v"]).max(initial=0.0) if "v" in run.recorded else 1.0
    note = "m/s, the most by which a contact broke its laws in the last round of a step"
    bound = max(AGREED * float(speed), AT_REST)
    yield Row("contacts agreed to", left, bound, verdict(left <= bound), note)


def _symplectic(run: Run) -> Row:
    """How far steps are from keeping the symplectic form, at some rows of the first member."""
    name, why_not = "symplectic defect", without_form(run)
    if why_not:
        return Row(name, "unknown", note=why_not)
    found, bound = run_defect(run), None
    if METHODS[run.method].symplectic:
        bound = FORM
    note = f"|A^T W A - W| / |W| of single steps from {STEPS} rows, A their derivative"
    return Row(name, found, bound, "" if bound is None else verdict(found <= bound), note)


def _speed(run: Run) -> Row:
    begin = float(run.t[0]) if len(run.t) else 0.0
    simulated = sum(outcome.time - begin for outcome in run.outcomes.flat)
    return Row("wall time", f"{run.wall:.3g} s", note=f"{simulated / max(run.wall, 1e-9):.3g} x real time")


def _global_error(run: Run) -> Row:
    """By Richardson: halving the step of a method of order p leaves 1 / 2^p of the error."""
    if run.again is None:
        raise LinkworkError("a run from a file cannot be compared: its controller is not in it; simulate it anew")
    for series in ("q", "v"):
        if series not in run.recorded:
            raise LinkworkError(f"a run is compared by its states; {series} was not recorded")
    finer = run.again()
    _, here, there = np.intersect1d(run.t, finer.t, return_indices=True)
    order = run.settings.order
    factor = 1.0 if order is None else 2.0**order / (2.0**order - 1.0)
    found = np.zeros(run.batch)
    for series in ("q", "v"):
        error = np.abs(run[series][..., here, :] - finer[series][..., there, :]).max(axis=-1, initial=0.0)
        size = np.abs(run[series]).max(axis=-1, initial=0.0)
        found = np.maximum(found, ratio(factor * most(error), np.maximum(most(size), STILL)))
    how = "tolerances a hundredth as large" if order is None else "half the step"
    return worst(run, "estimated error", found, f"of the largest q and v, from a run with {how}", GLOBAL)
