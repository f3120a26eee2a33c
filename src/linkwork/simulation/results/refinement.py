"""The same run with smaller steps: what an estimate of its error is made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from linkwork.simulation.results.run import Run
from linkwork.simulation.results.run_data import Settings
from linkwork.simulation.user_functions import Sampled

TIGHTER = 0.01  # factor on the tolerances of methods that choose their own steps


def companion(
    again: Callable[..., Run], q0: object, controller: object, sampling: Sampled | None, made: Settings
) -> Run:
    """A run from q0 with half the step, or tolerances a hundredth as large, with samples at least at the same times.

    `again` is `simulate` with all other arguments; `made` are the settings of the run to compare with.
    """
    assert made.dt is not None
    finer: dict[str, float] = {"dt": 0.5 * made.dt, "every": 2 * made.every}
    if made.rtol is not None and made.atol is not None:  # its steps are never longer than from sample to sample
        finer |= {"every": made.every, "rtol": TIGHTER * made.rtol, "atol": TIGHTER * made.atol}
    if sampling is not None and sampling.rate is None:  # still once a step of the other run
        controller = replace(sampling, rate=1.0 / made.dt)
    whole = max(1, round(made.duration / made.dt)) * made.dt
    return again(q0, controller=controller, duration=whole, **finer)
