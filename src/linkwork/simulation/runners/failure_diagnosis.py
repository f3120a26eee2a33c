"""Why a member ended: the step that failed is run again in plain text, which names the joint and the line."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.errors import LinkworkError
from linkwork.evaluation.diagnosis import failures_named
from linkwork.simulation.events.schedule import refused
from linkwork.simulation.problem import Request
from linkwork.simulation.results.outcomes import FINISHED, KINDS, Event, Outcome
from linkwork.simulation.state import EVENT, GOING, NON_FINITE, NOT_CONVERGED, Carry
from linkwork.spatial.scalar import Array

TOLD = 3  # members of a kind whose failure is looked into
SAME = "as others of this run"


def outcomes(march: Any) -> tuple[Array, tuple[Event, ...]]:
    """How every member (*batch,) ended, and what happened on the way."""
    now, asked = march.now, march.asked
    found, events = np.empty(asked.batch, dtype=object), list(march.events)
    looked_into = dict.fromkeys(KINDS, 0)
    for index in np.ndindex(asked.batch):
        code, at = float(np.asarray(now.code)[index]), float(np.asarray(now.step)[index]) * march.dt
        kind = FINISHED if code == GOING else KINDS[int(code)]
        evidence = ""
        if code in (NOT_CONVERGED, NON_FINITE):
            looked_into[kind] += 1
            evidence = _evidence(march, index, code) if looked_into[kind] <= TOLD else SAME
        if code == EVENT:
            evidence = "stop_when"
            events.append(Event(at, index, "stop_when"))
        found[index] = Outcome(kind, at, evidence)
    return found, tuple(sorted(events, key=lambda event: event.time))


def _evidence(march: Any, index: tuple[int, ...], code: float) -> str:
    """What a member's last state shows when it goes on from there."""
    asked: Request = march.asked
    _, values = asked.member(index)
    now = Carry(*(np.asarray(x)[index] for x in march.now))
    for part in (0.0, 0.5, 1.0):  # the instants of a step at which methods ask a controller
        t = (float(now.step) + part) * march.dt
        forces = asked.system(values).loads(t, now.q, now.v, now.held).control
        if asked.sampler is not None:
            answer = asked.sample(values, t, now)
            forces = answer.forces
            for name, mode in answer.modes.items():
                if refused([name], [mode]) != GOING:
                    return f"the controller returned {mode:g} for {name!r} at {t:g} s"
        for joint in asked.mechanism.leaders:
            if not np.isfinite(np.asarray(forces, dtype=float)[joint.v]).all():
                return f"the controller returned {np.asarray(forces)[joint.v]} for joint {joint.name!r} at {t:g} s"
    if code == NOT_CONVERGED:
        return march.not_converged(values, now)
    fastest = max(asked.mechanism.leaders, key=lambda j: float(np.abs(now.v[j.v]).max(initial=0.0)))
    speed = float(np.abs(now.v[fastest.v]).max(initial=0.0))
    found = f"joint {fastest.name!r} moves at {speed:.3g}, faster than any other"
    try:
        with failures_named("the next state", int(np.ravel_multi_index(index, asked.batch)) if index else 0):
            march.again(values, now)
    except LinkworkError as failure:
        return f"{found}; {failure}"
    return f"{found}; a smaller step may follow it"
