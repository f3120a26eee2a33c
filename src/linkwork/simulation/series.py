"""Registry of all series that a run can record or derive: each entry has a name, a label, a shape and a formula.

Recording, kernels, `run[...]`, data sets, files, figures and error messages use the registry. Users add a series by one
call:

    register(Series("tip.height", "height of the tip", "m", sample=lambda now: 2.0 * np.sin(now.q[0])))

The argument `record=("q", "v", "tip.height")` of `simulate` then records this series. If a series has the function
`derive` instead of `sample`, it is computed after the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial

import numpy as np

from linkwork.errors import LinkworkError, ShapeError, unknown_name
from linkwork.model.batch_broadcasting import Shape
from linkwork.simulation.contact_series import CONTACT_SERIES
from linkwork.simulation.derived_series import DERIVED_SERIES
from linkwork.simulation.joint_friction_rows import friction_count
from linkwork.simulation.joint_friction_series import FRICTION_SERIES
from linkwork.simulation.series_definition import Axis, Family, Label, RunFacts, Sample, Series
from linkwork.simulation.state_series import LOAD_SERIES, STATE_SERIES
from linkwork.simulation.work_ledger_series import LEDGER_SERIES
from linkwork.spatial.scalar import Array, own_copy

__all__ = ["Axis", "Family", "Label", "RunFacts", "Sample", "Series", "find", "label_of", "recordable", "register"]

RECORDED = (*STATE_SERIES, *CONTACT_SERIES, *LOAD_SERIES, *LEDGER_SERIES, *FRICTION_SERIES)
OWN = {one.name: one for one in (*RECORDED, *DERIVED_SERIES)}
SERIES: dict[str, Series | Family] = dict(OWN)  # in the order in which runs list them; user-defined series are last
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_. ]*")
IN_FILES = re.compile(r"time|member|about|mechanism|outcome.*|(final|parameter|event|batch)[_.].*")
# names of the series of linkwork's families
OURS = re.compile(r"(pose|velocity)\..*|.*\.(closed|engaged|ratio|direction|selected)")

Formula = Callable[[Sample], Array]


def register(series: Series | Family) -> Series | Family:
    """Add a user-defined series to the registry, or replace one, and return it.

    Raise a LinkworkError if the name is invalid, or if it is the name of a built-in series.
    """
    name = series.name
    if not NAME.fullmatch(name) or IN_FILES.fullmatch(name):
        raise LinkworkError(
            f"series {name!r}: a name must begin with a letter, contain only letters, digits, '_', '.' and spaces, and "
            "not be reserved for run files (time, member, outcome, final_..., parameter_..., event_...)"
        )
    if name in OWN or OURS.fullmatch(name):
        raise LinkworkError(f"series {name!r} is built in and cannot be replaced; choose another name")
    SERIES[name] = series
    return series


def unregister(name: str) -> None:
    """Remove a user-defined series from the registry; raise a LinkworkError if there is no such user-defined series."""
    if name in OWN or name not in SERIES:
        raise unknown_name("user-defined series", name, SERIES.keys() - OWN.keys())
    del SERIES[name]


# --- the series of a run ---


def _series_of_run(facts: RunFacts, recorded: bool) -> Iterator[Series]:
    """Yield all recordable series of a run if `recorded` is true, else all series that are derived.

    The members of families such as "pose.FRAME" are included.
    """
    for entry in tuple(SERIES.values()):
        if entry.recorded != recorded:
            continue
        members = map(entry.of, entry.members(facts)) if isinstance(entry, Family) else (entry,)
        yield from (one for one in members if one.exists(facts))


def find(facts: RunFacts, name: str) -> Series | None:
    """Return the series called `name`, even if the run does not have it; None if there is no such series."""
    one = SERIES.get(name)
    if isinstance(one, Series):
        return one
    families = (one for one in SERIES.values() if isinstance(one, Family))
    return next((family.of(name) for family in families if name in family.members(facts)), None)


def why_absent(facts: RunFacts, series: Series) -> str:
    """Return the reason why a run does not have a recorded series, for an error message."""
    if series.exists(facts):
        return f" The run did not record {series.name!r}: add it to `record`."
    if series.name.startswith("contact."):
        return " The mechanism has no contacts with this series: add them with Builder.touch or Builder.collide."
    if series.name.startswith("friction") and not friction_count(facts.mechanism):
        return " No joint of the mechanism has dry friction: give `friction` to Builder.joint."
    return " This mechanism or run has no such series."


def recordable(facts: RunFacts) -> dict[str, Series]:
    """Return the series that a run can record, by name."""
    return {one.name: one for one in _series_of_run(facts, recorded=True)}


def derivable(facts: RunFacts, recorded: Collection[str]) -> list[str]:
    """Return the names of the series that can be derived from the series named in `recorded`."""
    return [one.name for one in _series_of_run(facts, recorded=False) if not missing(facts, one, recorded)]


def missing(facts: RunFacts, series: Series, recorded: Collection[str]) -> list[str]:
    """Return the names of the unrecorded series that the derived `series` needs, directly or through other derived
    series.

    `recorded` are the names of the recorded series.
    """
    found: list[str] = []
    for name in series.needed(facts):
        if name in recorded:
            continue
        other = find(facts, name)
        derived = other is not None and other.derive is not None and other.exists(facts)
        found += missing(facts, other, recorded) if other is not None and derived else [name]
    return list(dict.fromkeys(found))


def label_of(facts: RunFacts, name: str, shape: Shape = ()) -> Label:
    """Return the label (title, axes, units) of the series called `name`.

    If the series is not registered, its entries are numbered; `shape` is then the shape of one sample.
    """
    series = find(facts, name)
    if series is not None:
        return series.label(facts)
    axes = tuple(Axis(f"{name}_{k}", tuple(map(str, range(size)))) for k, size in enumerate(shape))
    return Label(name, axes, ("",) * (shape[-1] if shape else 1))


# --- formulas of recorded series, traced or on floats ---


def formulas(facts: RunFacts, names: Iterable[str]) -> dict[str, Formula]:
    """Return the formulas of the recorded series `names`, by name, each a function of one `Sample`.

    Results of user-defined formulas are checked.
    """
    users, found = of_users(facts, names := list(names)), {}
    for name in names:
        series = find(facts, name)
        assert series is not None
        assert series.sample is not None
        found[name] = partial(_of_user, series, series.label(facts).shape) if name in users else series.sample
    return found


def sample_shapes(facts: RunFacts, names: Iterable[str]) -> list[Shape]:
    """Return the shape of one sample of each series in `names`."""
    every = [find(facts, name) for name in names]
    return [series.shape(facts) for series in every if series is not None]


def of_users(facts: RunFacts, names: Iterable[str]) -> list[str]:
    """Return the names of user-defined series among `names`; names alone do not identify the formulas of these
    series.
    """
    families = [one for one in OWN.values() if isinstance(one, Family)]
    others = (name for name in names if name not in OWN)
    return [name for name in others if not any(name in family.members(facts) for family in families)]


def _of_user(series: Series, shape: Shape, now: Sample) -> Array:
    """Return a sample of a user-defined series in the sample `now`; raise a ShapeError if its shape is not `shape`."""
    formula = series.sample
    assert formula is not None
    if np.asarray(now.q).dtype == object:  # traced
        # imported only here, because runs on floats need no compiler
        from linkwork.compiler.traced_array import lift, lifted

        formula, now = lifted(formula), now.mapped(lambda x: lift(own_copy(x)))
    found = formula(now)
    array = found if np.shape(found) == () else np.asarray(found)
    if np.shape(array) != shape:
        raise ShapeError(f"the formula of series {series.name!r} must return shape {shape}; got {np.shape(array)}")
    return array
