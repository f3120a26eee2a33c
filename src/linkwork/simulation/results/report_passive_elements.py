"""Report checks: contacts, clutches, brakes, dampers and dry friction add no energy.

The work of each kind of element is an entry of the work ledger. The energy balance contains only the sum of these
entries, so that it is also satisfied if contacts add as much energy as brakes remove. The energy that elements add is
divided by the energy exchanged: the larger of the scale of the energy balance and the turnover of these elements, which
is the sum of the energies that they take in and return. Without event location, a contact spring is already compressed
when it begins to act, by at most the path of one step: this adds energy in proportion to the square of the step.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from linkwork.simulation.derived_series import run_energies
from linkwork.simulation.energy_balance import balance
from linkwork.simulation.results.report_rows import FAILED, PASSED, WARNING, Row, checked
from linkwork.simulation.results.report_tolerances import ADDED_BY_CONTACTS, ADDED_BY_RIGID_SOLIDS
from linkwork.simulation.results.run_data import RunData
from linkwork.simulation.results.series_extremes import largest_magnitude, relative
from linkwork.simulation.work_ledger import WORK_ENTRIES, ledger_entries
from linkwork.simulation.work_ledger_series import TITLES
from linkwork.spatial.scalar import Array

CONTACTS, CLUTCHES, _ = WORK_ENTRIES
ENERGY = "contact.energy"


def passive_elements(run: RunData) -> Iterator[Row]:
    """Yield a report row for the work of each kind of passive element, which fails if these elements have added
    energy.
    """
    for name in ledger_entries(run.mechanism, run.parameters):
        title = TITLES[name]
        why_not = _why_not(run, name)
        if why_not:
            if name in (CONTACTS, CLUTCHES):
                yield Row(title, "unknown", note=f"not checked: {why_not}", not_checked=why_not)
            continue
        work = run[f"work.{name}"]
        stored = run[ENERGY] if name == CONTACTS and not run.facts.rigid else np.zeros_like(work)
        changes = np.abs(np.diff(work, axis=-1))
        turnover = np.nansum(changes, axis=-1)
        scale = np.maximum(turnover, balance(run.once(run_energies), run["work"]).scale)
        total = _last(work - work[..., :1])
        spent = f"energy added, relative to the energy exchanged; work {_total_work_text(total)}"
        bound = ADDED_BY_CONTACTS[run.settings.order == 1] if name == CONTACTS and not run.facts.rigid else None
        if name == CONTACTS and run.facts.rigid and run.mechanism.solid_pairs:
            yield _of_rigid_solids(run, title, _largest_rise(work), scale, spent)
        else:
            yield checked(run, title, relative(_largest_rise(work + stored), scale), spent, bound)


def _of_rigid_solids(run: RunData, title: str, added: Array, scale: Array, spent: str) -> Row:
    """Return the report row for the energy `added` (*batch,) [J] by rigid contacts of solids, with a warning for a
    small excess.

    `scale` (*batch,) [J] is the energy exchanged; it is at least the kinetic energy that gravity gives the mechanism in
    one step, which contacts at rest remove again in every step. `title` is the name of the row, and `spent` the start
    of its note.
    """
    gravity = np.linalg.norm(np.asarray(run.parameters.get("gravity", run.mechanism.gravity)), axis=-1)
    falling = float(run.mechanism.mass) * (gravity * (run.settings.dt or 0.0)) ** 2 / 2.0
    row = checked(run, title, relative(added, np.maximum(scale, falling)), spent)
    if row.bound is None:
        return row
    small = float(row.value) <= ADDED_BY_RIGID_SOLIDS
    note = f"{row.note}; added {float(np.max(added, initial=0.0)):.3g} J" + ("" if small else "; use a smaller dt")
    if row.verdict == FAILED:
        return row._replace(note=note)
    return row._replace(note=note, bound=ADDED_BY_RIGID_SOLIDS, verdict=PASSED if small else WARNING)


def _why_not(run: RunData, name: str) -> str:
    """Return the reason why the work of the kind of elements `name` cannot be checked; an empty text if it can be."""
    if name not in run.facts.ledger_entries:
        return f"method {run.method!r} does not compute the work of these elements"
    needed = [f"work.{name}", "q", "v", "work"] + ([ENERGY] if name == CONTACTS and not run.facts.rigid else [])
    absent = [one for one in needed if one not in run.recorded]
    if absent:
        return f"{', '.join(absent)} {'was' if len(absent) == 1 else 'were'} not recorded"
    if name == CONTACTS and not run.facts.rigid and run.settings.every > 1:
        return "only some steps were recorded; use every=1"
    return ""


def _largest_rise(energy: Array) -> Array:
    """Return the largest rise (*batch,) [J] of `energy` (*batch, T) [J] from any sample to a later one."""
    known = np.where(np.isnan(energy), np.inf, energy)
    lowest = np.minimum.accumulate(known, axis=-1)
    return largest_magnitude(np.where(np.isnan(energy), 0.0, energy - lowest))


def _last(values: Array) -> Array:
    """Return the last value (*batch,) of `values` (*batch, T) that is not nan."""
    count = np.maximum((~np.isnan(values)).sum(axis=-1), 1)
    return np.take_along_axis(values, count[..., None] - 1, axis=-1)[..., 0]


def _total_work_text(total: Array) -> str:
    """Return a text with the smallest and the largest of the total works `total` (*batch,) [J]."""
    low, high = float(np.min(total, initial=np.inf)), float(np.max(total, initial=-np.inf))
    return f"{low:.3g} J" if low == high else f"{low:.3g} to {high:.3g} J"
