"""How far a run can be trusted: what mechanics says must hold, measured, beside what it may be.

Energy: E(t) - E(0) is the work of all forces that no energy belongs to. The imbalance is told relative to the energy
that was exchanged. Momentum: where a mechanism touches the world by free joints only, without forces in them, its
angular momentum about the centre of mass stays, and its momentum grows by the impulse of gravity. The drift is told
relative to what the joints' velocities contribute. `ALLOWED` says how much either may be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork.algorithms.articulated_loops import DAMPING
from linkwork.errors import LinkworkError, unknown_name
from linkwork.model.mechanism import WORLD, Joint
from linkwork.simulation.integrators import METHODS
from linkwork.simulation.recording import Run
from linkwork.simulation.switching import slips
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from rich.console import RenderableType

# Relative imbalance that is allowed. Good steps of smooth motion stay far below; where stops, friction and sampled
# controllers make kinks, methods of any order are about as good as one of second order with a step of 1 ms.
ALLOWED = 1e-4
ALLOWED_ROUGH = 1e-2  # for methods of first order, whose balance is off by about the step times the motion's rate
GLOBAL = 1e-3  # estimated error of the state, relative to how far it moves
UNIT_LENGTH = 1e-12  # of quaternions, off by
CLOSED = 1e-8  # loops may be open by [m or rad], and opening at [m/s or rad/s]
PULLED = 1e-4  # the same where forces pull them closed
LOOKED_AT = 500  # positions in which loops are looked at for being singular
RANK = 1e-9  # effects below this part of the largest are none
BEYOND = 0.05  # of a joint's range, beyond its limits
STILL = 1e-6  # of the energy that is there: what counts as exchanged at least
SAMPLED = 20_000  # states in which the scale of momentum is looked for, at most
GOOD = ("finished", "event")
PASSED, FAILED, TOLD = "ok", "bad", ""


class Row(NamedTuple):
    """A line of the report: what was measured, what it may be, "ok" or "bad" ("" where nothing is asked), and more."""

    name: str
    value: float | str
    bound: float | None = None
    verdict: str = TOLD
    note: str = ""


@dataclass(frozen=True)
class Report:
    """What was found about a run. `passed` is whether nothing was bad; `print` shows it, `rows` has the numbers."""

    title: str
    rows: tuple[Row, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is bad."""
        return not self.failures

    @property
    def failures(self) -> tuple[str, ...]:
        """The names of the rows that are bad."""
        return tuple(row.name for row in self.rows if row.verdict == FAILED)

    def __getitem__(self, name: str) -> Row:
        """The row of that name."""
        named = {row.name: row for row in self.rows}
        if name not in named:
            raise unknown_name("row", name, named)
        return named[name]

    def __str__(self) -> str:
        from io import StringIO

        from rich.console import Console

        stream = StringIO()
        Console(file=stream, width=160, color_system=None).print(self.__rich__())
        return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())

    def __rich__(self) -> RenderableType:
        from rich.box import SIMPLE_HEAD
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table("", "found", "allowed", "", "", box=SIMPLE_HEAD, pad_edge=False)
        colors = {PASSED: "green", FAILED: "bold red", TOLD: ""}
        for row in self.rows:
            bound = "" if row.bound is None else f"{row.bound:.2g}"
            value = row.value if isinstance(row.value, str) else f"{row.value:.2e}"
            table.add_row(row.name, value, bound, Text(row.verdict, colors[row.verdict]), Text(row.note, "dim"))
        last = "trusted: everything is as it must be" if self.passed else f"NOT trusted: {', '.join(self.failures)}"
        return Group(Text(self.title, "bold"), table, Text(last, "bold green" if self.passed else "bold red"))


def report(run: Run, compare: bool = False) -> Report:
    """What can be said of a run; with `compare` it is run again, finer, and the error of its states estimated."""
    with np.errstate(all="ignore"):  # numbers of lost members overflow
        rows = [
            *_making(run),
            _endings(run),
            _energy(run),
            *_momentum(run),
            _quaternions(run),
            *_loops(run),
            *_slips(run),
            _limits(run),
        ]
    if compare:
        rows.append(_global_error(run))
    return Report(f"{run.mechanism.name}: can this run be trusted?", (*rows, _speed(run)))


def allowed(run: Run) -> float:
    """The relative imbalance that a run by this method may have: a good step of it stays well below."""
    method = METHODS.get(run.method)
    return ALLOWED_ROUGH if method is not None and method.order == 1 else ALLOWED


# --- rows ---


def _making(run: Run) -> Iterator[Row]:
    s = run.settings
    yield Row("method", s.method, note=s.why)
    if s.rtol is None:
        yield Row("step", f"{s.dt:g} s", note=f"a row every {s.every} steps" if s.every > 1 else "")
    else:
        yield Row("tolerances", f"{s.rtol:g}, {s.atol:g}", note="relative, absolute")


def _endings(run: Run) -> Row:
    outcomes = list(run.outcomes.flat)
    bad = [k for k, outcome in enumerate(outcomes) if outcome.kind not in GOOD]
    kinds = [outcome.kind for outcome in outcomes]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    note = f"{_who(run, bad[0])}{outcomes[bad[0]]}" if bad else ""
    return Row("members" if run.batch else "outcome", counts if run.batch else kinds[0], None, _verdict(not bad), note)


def _energy(run: Run) -> Row:
    name = "energy balance"
    if not {"q", "v", "work"} <= run.recorded.keys():
        return Row(name, "unknown", note="q, v and work were not all recorded")
    work = run["work"] - run["work"][..., :1]
    balance = np.abs(run["energy"] - run["energy"][..., :1] - work)
    stored = run["energy.gravity"] + run["energy.springs"]
    scale = np.maximum.reduce([_most(run["energy.kinetic"]), _range(stored), _most(work), STILL * _most(run["energy"])])
    return _worst(run, name, _ratio(_most(balance), scale), "|E(t) - E(0) - work|, of the energy exchanged")


def _momentum(run: Run) -> Iterator[Row]:
    names = "momentum", "angular momentum"
    why_not = _what_changes_momentum(run)
    if why_not:
        yield Row(names[0], "not kept", note=f"{why_not}: nothing is asked of it")
        return
    momentum, scale = run.momentum, _momentum_scale(run)
    impulse = _weight(run)[..., None, :] * (run.t - run.t[0])[:, None]
    linear = momentum[..., :3] - momentum[..., :1, :3] - impulse
    angular = momentum[..., 3:] - momentum[..., :1, 3:]
    notes = "drift without gravity's impulse, of what joints contribute", "drift about the centre of mass, likewise"
    for name, drift, size, note in zip(names, (linear, angular), scale, notes, strict=True):
        yield _worst(run, name, _ratio(_most(np.linalg.norm(drift, axis=-1)), size), note)


def _quaternions(run: Run) -> Row:
    name, joints = "quaternion length", [j for j in run.mechanism.leaders if j.kind.nq != j.kind.nv]
    if not joints or "q" not in run.recorded:
        return Row(name, "none")
    off = [np.abs(run.q[..., j.q] - j.kind.normalized(run.q[..., j.q])).max(axis=-1) for j in joints]
    return _worst(run, name, _most(np.max(off, axis=0)), "off one", UNIT_LENGTH)


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
        most = float(np.nanmax(np.abs(errors), initial=0.0))
        bound = CLOSED if run.settings.baumgarte is None else PULLED
        yield Row(name, most, bound, _verdict(most <= bound), unit)
    if run.settings.baumgarte is None:
        repair = float(np.max(run.final.repair, initial=0.0))
        yield Row("loops moved by", repair, note="m or rad, the farthest that a step moved a joint to close them again")
    yield _singular(run, J)


def _slips(run: Run) -> Iterator[Row]:
    """How fast clutches and brakes slipped that were engaged."""
    if "v" in run.recorded and (run.mechanism.clutches or run.mechanism.brakes):
        speeds = slips(run.mechanism, run.v, run.along_time())
        name = max(speeds, key=lambda name: float(np.nanmax(speeds[name], initial=0.0)))
        most = float(np.nanmax(speeds[name], initial=0.0))
        yield Row("slip", most, CLOSED, _verdict(most <= CLOSED), f"rad/s or m/s, of {name}" if most else "none")


def _singular(run: Run, J: Array) -> Row:
    """How near a run came to a position in which loops lose grip of a direction, by rows J (*batch, T, nc, nv)."""
    flat = J.reshape(-1, *J.shape[-2:])
    times = np.broadcast_to(run.t, J.shape[:-2]).reshape(-1)
    kept = np.flatnonzero(np.isfinite(flat).all(axis=(-2, -1)))[:: max(1, len(flat) // LOOKED_AT)]
    if not (len(kept) and flat.shape[-2]):
        return Row("nearest to singular", "unknown")
    sizes = np.linalg.svd(flat[kept], compute_uv=False)
    most = np.maximum(sizes.max(axis=-1, keepdims=True), 1e-300)
    rank = int((sizes > RANK * most).sum(axis=-1).max())
    grips = (sizes / most)[:, rank - 1] if rank else np.ones(len(kept))
    worst = int(np.argmin(grips))
    note = f"least over largest effect of loop rows, at {times[kept[worst]]:g} s"
    soft = "; reactions along it were damped" if grips[worst] < np.sqrt(DAMPING) else ""
    return Row("nearest to singular", float(grips[worst]), note=note + soft)


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
        beyond[j, d] = _most(np.maximum(np.maximum(j.lower[d] - x, x - j.upper[d]), 0.0))
    (j, d), _ = max(beyond.items(), key=lambda item: float((item[1] / _reach(*item[0])).max(initial=0.0)))
    most, unit = beyond[j, d], "rad" if j.kind.turns[d] else "m"
    note = f"of its range, {most.max():.3g} {unit} beyond those of {j.name!r}" if most.any() else "nowhere exceeded"
    return _worst(run, name, most / _reach(j, d), note, BEYOND)


def _reach(joint: Joint, d: int) -> float:
    """The range [rad or m] of a joint; where it has one end only, a turn or two metres."""
    width = joint.upper[d] - joint.lower[d]
    return float(width) if np.isfinite(width) and width > 0.0 else 2.0 * np.pi if joint.kind.turns[d] else 2.0


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
    method = METHODS.get(run.method)
    factor = 1.0 if method is None else 2.0**method.order / (2.0**method.order - 1.0)
    worst = np.zeros(run.batch)
    for series in ("q", "v"):
        error = np.abs(run[series][..., here, :] - finer[series][..., there, :]).max(axis=-1, initial=0.0)
        size = np.abs(run[series]).max(axis=-1, initial=0.0)
        worst = np.maximum(worst, _ratio(factor * _most(error), np.maximum(_most(size), STILL)))
    how = "tolerances a hundredth as large" if method is None else "half the step"
    return _worst(run, "estimated error", worst, f"of the largest q and v, from a run with {how}", GLOBAL)


# --- when momentum is kept, and what it is measured by ---


def _what_changes_momentum(run: Run) -> str:
    """Why the momentum need not be kept; empty if it must be."""
    if not {"q", "v"} <= run.recorded.keys():
        return "q and v were not both recorded"
    if run.settings.pushed:
        return "wrenches act"
    for joint in run.mechanism.joints:
        if joint.i == WORLD and joint.kind.nv != 6:
            return f"joint {joint.name!r} holds it to the world"
        if joint.i == WORLD and _has_forces(run, joint):
            return f"joint {joint.name!r} to the world has forces of its own"
    for what, things in (("loop", run.mechanism.loops), ("spring", run.mechanism.springs)):
        for one in things:
            if WORLD in (one.at.body, one.to.body):
                return f"{what} {one.name!r} holds it to the world"
    for pair in run.mechanism.touches:
        if WORLD in (pair.contact.at.body, pair.surface.place.body):
            return f"contact {pair.contact.name!r} may touch the world"
    if run.settings.controlled and "tau" not in run.recorded:
        return "a controller acts, and tau was not recorded"
    if "tau" in run.recorded:
        for joint in run.mechanism.leaders:
            if joint.i == WORLD and np.nan_to_num(run.tau[..., joint.v]).any():
                return f"a controller acts on joint {joint.name!r}"
    return ""


def _has_forces(run: Run, joint: Joint) -> bool:
    """Whether springs, dampers, friction, stops or a rotor act between a body and the world."""
    own = [joint.damping, joint.stiffness, joint.armature, joint.friction]
    varied = [run.parameters.get(f"{joint.name}.{key}") for key in ("damping", "stiffness", "armature", "friction")]
    limited = np.isfinite(joint.lower).any() or np.isfinite(joint.upper).any()
    return bool(limited or any(np.any(x) for x in (*own, *varied) if x is not None))


def _weight(run: Run) -> Array:
    """Mass times gravity (..., 3) [N] of every member."""
    own, mass = run.mechanism.parameters, np.asarray(run.mechanism.mass)
    for name, value in run.parameters.items():
        if name.endswith(".mass"):
            mass = mass + (value - own[name])
    return np.asarray(mass)[..., None] * run.parameters.get("gravity", run.mechanism.gravity)


def _momentum_scale(run: Run) -> tuple[Array, Array]:
    """What single velocities contribute to the momentum, summed: linear and angular (*batch,), the largest in time."""
    every = max(1, run.q[..., 0].size // SAMPLED)
    q, v = run.q[..., ::every, :], run.v[..., ::every, :]
    parts = run.dynamics.momentum_matrix(q, parameters=run.along_time()) * v[..., None, :]
    sizes = [np.linalg.norm(part, axis=-2).sum(axis=-1) for part in (parts[..., :3, :], parts[..., 3:, :])]
    return _most(sizes[0]), _most(sizes[1])


# --- numbers of members ---


def _most(series: Array) -> Array:
    """The largest magnitude in time (*batch,) of a series (*batch, T); nan is of members that had ended."""
    return np.nan_to_num(np.abs(series), nan=0.0, posinf=np.inf).max(axis=-1, initial=0.0)


def _range(series: Array) -> Array:
    """Largest less smallest in time (*batch,)."""
    return np.ptp(np.where(np.isfinite(series), series, series[..., :1]), axis=-1)


def _ratio(error: Array, scale: Array) -> Array:
    """Error over scale; zero where there is no error, whatever the scale."""
    with np.errstate(all="ignore"):
        found = np.asarray(error) / np.asarray(scale)
    return np.where(np.asarray(error) == 0.0, 0.0, np.nan_to_num(found, nan=np.inf, posinf=np.inf))


def _worst(run: Run, name: str, values: Array, note: str, bound: float | None = None) -> Row:
    """The row of the member with the largest value."""
    bound = allowed(run) if bound is None else bound
    flat = np.asarray(values).reshape(-1)
    worst = int(np.argmax(flat)) if flat.size else 0
    value = float(flat[worst]) if flat.size else 0.0
    return Row(name, value, bound, _verdict(value <= bound), _who(run, worst) + note)


def _who(run: Run, number: int) -> str:
    if not run.batch:
        return ""
    index = [int(k) for k in np.unravel_index(number, run.batch)]
    return f"member {index[0] if len(index) == 1 else tuple(index)}: "


def _verdict(good: Any) -> str:
    return PASSED if good else FAILED
