"""Report checks of solids: their penetration depths, and whether solids can pass through each other.

The depth of a pair is compared with what the contact model explains: for rigid contact the path of a step, for
compliant contact the stiffness, the load and the energy. A depth above nearly half the thickness of the thinner solid
always fails the check, because the contact may then push to the wrong side. A solid that is nearly completely below the
surface of a plane or of ground fails it too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from linkwork.algorithms.contact_tolerances import INSIDE_AT_START
from linkwork.simulation.contact_family_interface import DEEP
from linkwork.simulation.results.ground_inside_solids import ground_depths
from linkwork.simulation.results.report_penetration import AT_REST, NEEDED, THROUGH, energy_brought
from linkwork.simulation.results.report_rows import WARNING, Row, member_name, verdict
from linkwork.simulation.results.report_tolerances import DEPTH_ROUND_OFF
from linkwork.simulation.results.run_data import RunData
from linkwork.simulation.results.solid_motions import SolidMotions, solid_motions
from linkwork.simulation.solid_penetration_depths import solid_depths
from linkwork.simulation.solid_separation_bounds import CONVEX, GROUND, SolidTables, depth_bounds, solid_tables
from linkwork.spatial.scalar import Array
from linkwork.tolerances import TINY

MOST_STATES = 1_000_000  # largest product of pairs of solids and states that is examined
AT_ONCE = 20_000  # largest product of pairs and states that is examined at once, which limits the memory needed
# between two samples, fast solids are examined at this number of positions per thickness; largest number
SUBSTEPS = 4.0, 512
# in a group of samples, at most this number of samples is examined for solids that passed through each other
MOST_CROSSINGS = 200
MISSED = 0.1  # a contact was missed if the overlap grows by this fraction of half the thickness between two samples


class Worst(NamedTuple):
    """The pair of solids with the largest `ratio` of a length `value` [m], such as a depth, to its `limit` [m].

    `pair`, `member` and `sample` are the numbers of the pair, of the batch member and of the sample.
    """

    ratio: float = 0.0
    value: float = 0.0
    limit: float = np.inf
    pair: int = 0
    member: int = 0
    sample: int = 0


def solids(run: RunData) -> Iterator[Row]:
    """Yield the report rows for the deepest pair of solids, and for solids that are fast enough to pass through."""
    name = "penetration of solids"
    needed = ("q", "v") if run.facts.rigid else [one for one in NEEDED if not one.startswith("contact")]
    absent = [one for one in needed if one not in run.recorded]
    if absent:
        reason = f"{', '.join(absent)} {'was' if len(absent) == 1 else 'were'} not recorded"
        yield Row(name, "unknown", note=f"not checked: {reason}", not_checked=reason)
        return
    if not run.outcomes.size or not len(run.t):
        return
    deepest, fastest, through = Worst(), Worst(), Worst()
    for piece in _sample_groups(run):
        motions = solid_motions(run, piece)
        deepest = max(deepest, _deepest(run, motions))
        fast, crossed = _fastest(run, motions)
        fastest, through = max(fastest, fast), max(through, crossed)
    row = _depth_row(run, name, deepest, through)
    some = f"; one of {_stride(run)} samples is examined" if _stride(run) > 1 else ""
    yield row._replace(note=row.note + some)
    if fastest.ratio > 1.0:
        who, h = _pair_and_time(run, fastest), run.settings.dt or 0.0
        note = f"m; {who} the two solids move by this distance relative to each other in one step, over half of their "
        note += f"thickness, and can pass through each other; use dt={h / np.ceil(2.0 * fastest.ratio):.6g} or smaller"
        yield Row("motion per step", fastest.value, fastest.limit, WARNING, note)


def _depth_row(run: RunData, name: str, deepest: Worst, through: Worst) -> Row:
    """Return the report row, called `name`, for the `deepest` pair of solids, or for a pair that passed `through` each
    other.
    """
    if through.ratio > 1.0:
        note = (
            f"{_pair_and_time(run, through)} the two solids passed through each other within one step; use a smaller dt"
        )
        return Row(name, "passed through", None, verdict(False), note)
    if not deepest.ratio:
        return Row(name, 0.0, None, verdict(True), "no solids overlapped at the examined samples")
    good, why = deepest.ratio <= 1.0, "the depth that stiffness and load explain"
    tables = solid_tables(run.mechanism)
    if deepest.limit == _depths_never_accepted(tables)[deepest.pair]:
        thin = "half the thickness of the thinner" if tables.kind[deepest.pair] == CONVEX else "the thickness of the"
        why = f"{THROUGH:g} of {thin} solid" + ("" if good else ": they may pass through each other")
    elif run.facts.rigid:
        why = "the relative motion in one step"
    remedy = "use a smaller dt" if deepest.sample else "start them apart"
    if tables.kind[deepest.pair] == GROUND:
        remedy += ", or smaller solids if the ground rises between their contact points"
    note = f"m; {_pair_and_time(run, deepest)} the limit is {why}" + ("" if good else f"; {remedy}")
    return Row(name, deepest.value, deepest.limit, verdict(good), note)


def _pair_and_time(run: RunData, one: Worst) -> str:
    """Return a text with the batch member, the name of the pair and the time of the record `one`, for a note."""
    pair = run.mechanism.solid_pairs[one.pair]
    return f"{member_name(run, one.member)}{pair.name!r} at {run.t[one.sample]:g} s;"


def _sample_groups(run: RunData) -> Iterator[Array]:
    """Yield the numbers of the examined samples in groups (k,); each group begins with the last sample of the previous
    group.
    """
    chosen = np.unique(np.append(np.arange(0, len(run.t), _stride(run)), len(run.t) - 1))
    length = max(1, AT_ONCE // (run.outcomes.size * len(run.mechanism.solid_pairs)))
    for begin in range(0, len(chosen), length):
        yield chosen[max(0, begin - 1) : begin + length]


def _stride(run: RunData) -> int:
    """Return k, where every k-th sample is examined."""
    return max(1, -(-run.outcomes.size * len(run.t) * len(run.mechanism.solid_pairs) // MOST_STATES))


# --- depths ---


def _depths_never_accepted(tables: SolidTables) -> Array:
    """Return, for each of n pairs, the depth (n,) [m] above which the check fails for every contact model."""
    half = tables.half_widths
    return THROUGH * np.where(tables.kind == CONVEX, half.min(axis=1), 2.0 * half[:, 0])


def _deepest(run: RunData, motions: SolidMotions) -> Worst:
    """Return the pair of solids whose depth relative to its limit is largest in a group of samples."""
    tables, limits = motions.tables, _limits(run, motions)
    found = depth_bounds(tables, motions.poses)
    unsure = ~tables.exact & (found > limits)
    states = np.flatnonzero(unsure.any(axis=1))
    if len(states):
        exact = solid_depths(run.mechanism, motions.poses[states])
        exact = np.where(np.isfinite(exact), exact, 0.0)
        found[states] = np.maximum(exact, ground_depths(tables, motions.poses[states]))
    ratio = found / np.maximum(limits, TINY)
    s, k = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    return Worst(float(ratio[s, k]), float(found[s, k]), float(limits[s, k]), int(k), *motions.where(int(s)))


def _limits(run: RunData, motions: SolidMotions) -> Array:
    """Return the largest depths (s, n) [m] that the contact model explains, for the s states of a group of samples."""
    tables, sizes = motions.tables, _depths_never_accepted(motions.tables)
    if run.facts.rigid:
        h, first = run.settings.dt or 0.0, motions.samples == 0
        gravity = np.atleast_2d(run.parameters.get("gravity", run.mechanism.gravity))
        rest = AT_REST * float(np.max(np.linalg.norm(gravity, axis=-1))) * h * h
        path = motions.of_members(motions.surface_speeds) * h
        # the path in the previous step counts too, because an impact may have stopped the solids since
        path[:, 1:] = np.maximum(path[:, 1:], path[:, :-1])
        path = path.reshape(-1, len(sizes)) + np.where(first, INSIDE_AT_START, 0.0)[:, None]
        explained = rest + path + DEPTH_ROUND_OFF * tables.radius.sum(axis=1)
    else:
        explained = np.repeat(run.once(_compliant_limits), len(motions.times), axis=0)
    return np.minimum(explained, sizes)


def _compliant_limits(run: RunData) -> Array:
    """Return the depths (members, n) [m] of compliant solids that stiffness, weight and the available energy
    explain.
    """
    found = []
    for index in np.ndindex(run.batch):
        m = run.varied(index)
        brought, weight = energy_brought(run, index), float(m.mass) * float(np.linalg.norm(m.gravity))
        known: dict[str, float] = {}
        for pair in m.solid_pairs:
            collision = pair.collision
            if collision.name not in known:
                k = float(np.asarray(collision.stiffness))
                if collision.dissipation is None:
                    known[collision.name] = DEEP * weight / k + float(np.sqrt(2.0 * brought / k))
                else:
                    known[collision.name] = float((DEEP * weight / k) ** (2.0 / 3.0) + (2.5 * brought / k) ** 0.4)
        found.append([known[pair.collision.name] for pair in m.solid_pairs])
    return np.array(found)


# --- fast solids ---


def _fastest(run: RunData, motions: SolidMotions) -> tuple[Worst, Worst]:
    """Return two records: the pair that moves farthest per step relative to its thickness, and a pair that passed
    through each other.

    Only pairs of convex solids that may meet are examined; a plane or ground has no other side. Two solids passed
    through each other if their overlap between two samples is larger than at both samples, and no contact force acted.
    If a force acted, they passed through each other if they overlap by more than THROUGH of half the thickness of the
    thinner solid.
    """
    h, tables = run.settings.dt or 0.0, motions.tables
    path, thickness = motions.speeds * h, motions.thickness
    fast = (path > thickness) & (tables.kind == CONVEX) & motions.may_meet
    if not fast.any():
        return Worst(), Worst()
    ratio = np.where(fast, path / np.maximum(thickness, TINY), 0.0)
    s, k = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    place = motions.where(int(s))
    fastest = Worst(float(ratio[s, k]), float(path[s, k]), float(thickness[s, k]), int(k), *place)
    return fastest, (_crossing(run, motions, ratio) if run.settings.every == 1 else Worst())


def _crossing(run: RunData, motions: SolidMotions, ratio: Array) -> Worst:
    """Return a pair of solids that passed through each other between two consecutive samples.

    `ratio` (s, n) is the relative motion in one step divided by the thickness, for fast pairs; zero for other pairs.
    """
    tables, sizes = motions.tables, motions.tables.half_widths.min(axis=1)
    fast, largest = ratio > 0.0, ratio.max(axis=1)
    for s in np.argsort(-largest, kind="stable")[: min(MOST_CROSSINGS, np.count_nonzero(largest))]:
        if (s + 1) % len(motions.times) == 0 or motions.samples[s + 1] != motions.samples[s] + 1:
            continue
        count = int(min(8.0 + SUBSTEPS[0] * largest[s], SUBSTEPS[1]))
        between = depth_bounds(tables, motions.between(int(s), count))
        ends, inside = np.maximum(between[0], between[-1]), between.max(axis=0)
        touched = motions.touched(run, int(s) + 1)
        limit = np.where(touched, THROUGH * sizes, ends + MISSED * sizes)
        passed = fast[s] & tables.exact & (inside > limit) & (inside > ends)
        if passed.any():
            k = int(np.argmax(np.where(passed, inside / limit, 0.0)))
            return Worst(float(inside[k] / limit[k]), float(inside[k]), float(limit[k]), k, *motions.where(int(s)))
    return Worst()
