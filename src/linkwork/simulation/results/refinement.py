"""The same run once more, but finer: what an estimate of its error is made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from linkwork.simulation.results.run import Run, Settings
from linkwork.simulation.user_functions import Sampled

TIGHTER = 0.01  # tolerances of methods with their own steps


def companion(again: Callable[..., Run], q0: Any, controller: Any, sampling: Sampled | None, made: Settings) -> Run:
    """A run from q0 with half the step, or tolerances a hundredth as large, and rows at least at the same times.

    `again` is `simulate` with all that does not depend on this; `made` says how the run to compare with was made.
    """
    assert made.dt is not None
    finer: dict[str, Any] = {"dt": 0.5 * made.dt, "every": 2 * made.every}
    if made.rtol is not None and made.atol is not None:  # its steps are never longer than from row to row
        finer |= {"every": made.every, "rtol": TIGHTER * made.rtol, "atol": TIGHTER * made.atol}
    if sampling is not None and sampling.rate is None:  # still once a step of the other run
        controller = replace(sampling, rate=1.0 / made.dt)
    whole = max(1, round(made.duration / made.dt)) * made.dt
    return again(q0, controller=controller, duration=whole, **finer)
