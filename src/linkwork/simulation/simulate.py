"""`simulate`: from a mechanism and a state to a run, checked before it starts and kept whatever happens on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from linkwork.errors import LinkworkError, NotTraceable, listed, unknown_name
from linkwork.model.mechanism import Mechanism
from linkwork.simulation.automatic import ADAPTIVE, Choice, chosen
from linkwork.simulation.carry import GOING, STOPPED, Carry
from linkwork.simulation.closed_start import refuse_open
from linkwork.simulation.contacts.contact_start import check_start, method_of, refuse_unfit
from linkwork.simulation.controllers import sampled
from linkwork.simulation.evidence import outcomes
from linkwork.simulation.field import Field
from linkwork.simulation.marching import FixedSteps, ended
from linkwork.simulation.preparation import Request, positive, request, try_once
from linkwork.simulation.progress import Watch, watching
from linkwork.simulation.results.companion import companion
from linkwork.simulation.results.recording import Run, Settings
from linkwork.simulation.steps.integrators import METHODS, RIGID, of_order, refuse_composed
from linkwork.simulation.storage import Storage
from linkwork.simulation.switching.switching import entries_of

NAMES = ("auto", *METHODS, RIGID.name, *ADAPTIVE)
TARGETS = ("cpu", "numpy")
EXPLICIT = ("semi-implicit", "rk4")
COMPOSED = [method.name for method in METHODS.values() if method.symmetric]
TRIALS = 20  # states of a trial run that are looked at


def simulate(
    mechanism: Mechanism,
    q0: Any = None,
    v0: Any = None,
    duration: float = 10.0,
    dt: float | None = None,
    method: str = "auto",
    controller: Any = None,
    schedule: Sequence[Any] | None = None,
    wrenches: Any = None,
    record: Sequence[str] | None = None,
    progress: bool | Watch | None = None,
    *,
    every: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    gains: Mapping[str, Any] | None = None,
    memory: Any = None,
    stop_when: Callable[..., Any] | None = None,
    stops: float | None = 0.02,
    contact: str = "compliant",
    baumgarte: float | None = None,
    rtol: float = 1e-9,
    atol: float = 1e-10,
    order: int | None = None,
    locate: bool | None = None,
    threads: int | None = None,
    target: str = "cpu",
) -> Run:
    """Move a mechanism from q0 (..., nq) and v0 (..., nv) for `duration` [s]; all members of a batch run together.

    Without q0 it starts in the state of its keyframe "start", or neutral where it has none; without v0, at rest. Loops
    must be closed in q0, and v0 must keep them so (`d.assemble`, `d.consistent`); every step closes them again. With
    `baumgarte`, a rate [1/s], forces pull them closed instead, which lets them drift a little. `schedule` says what is
    switched when: [(0.5, "open", "pin"), (lambda t, q, v: q[0] - 1.0, "close", "pin")]; a guard in place of a time
    switches where it becomes positive, which is located within the step. Closing makes velocities jump as impulses
    along the loop do, which `run.events` tells with the energy it takes; a gap of more than 1 cm or 0.01 rad is not
    closed.

    `method` is "semi-implicit", "rk4" or "midpoint" (for stiff springs and dampers) with the step `dt` [s]; one that
    keeps momenta at any step, with the symplectic form ("variational", "rattle", "shake") or with energy
    ("energy-momentum"), which an `order` of 4 or 6 makes more accurate by several substeps; one of SciPy's "dop853",
    "radau", "lsoda" with the tolerances `rtol` and `atol`; or "auto", which picks one, and a step if none is given;
    `run.settings.why` says why. Joint springs, dampers and friction act, and joints are stopped at their
    limits by springs and dampers with the time constant `stops` [s], None for none. Contacts change their states at the
    ends of steps; with `locate` the instants at which they land, leave, stick and slip are found within the step, which
    is then made in parts: `run["contact.since"]` tells them, and methods have their order again.

    Contacts are springs and dampers with anchors, as Builder.touch says of them, or with `contact="rigid"` bodies that
    do not give way: impulses keep them apart, with the restitution and friction of each contact and no stiffness. The
    method is then "moreau", which meets impacts once a step.

    `controller(t, q, v)` returns joint forces (nv,) [N m, N] and acts at every instant; `controller(t, q, v, memory)`
    returns forces and the next memory (k,), is called once a step and needs its first `memory`; `lw.sampled(f, rate)`
    is called at that rate. They are plain NumPy and become machine code; `lw.host(f, rate)` stays in Python. Instead of
    forces they may return a mapping that switches too, {"tau": forces, "clutch.engaged": q[0] > 1.0}. `wrenches`
    on the bodies, (..., nbodies, 6), act at their frames' origins in their frames, always the same or as a function of
    (t, q, v). The run ends when `stop_when(t, q, v)` is true or positive. `parameters` (see `mechanism.parameters`) and
    `gains`, which these functions name among their arguments, may differ between members: they have the batch's
    shape in front of their own.

    Rows are recorded at the start, after `every` steps and at the end; `record` names the series ("q", "v", "tau",
    "work", "memory", "stops", "wrenches", "rounds", "drive.force", "contact.state", ...); beside q and v that is also
    what is switched on the way. A run given as `q0` is continued from its end. `progress` shows a bar, by itself on
    long runs at a terminal, or is called with the fraction that is done.

    What happens to a member shows in `run.outcome`. An error from a controller in Python carries what was computed
    until then as its attribute `run`; Ctrl-C returns it.
    """
    for what, name, names in (("method", method, NAMES), ("target", target, TARGETS)):
        if name not in names:
            raise unknown_name(what, name, names)
    if baumgarte is not None and method not in EXPLICIT:
        raise LinkworkError(f"baumgarte is for methods {listed(EXPLICIT)}; name one of them")
    duration, dt = positive("duration", duration), None if dt is None else positive("dt", dt)
    tolerances = positive("rtol", rtol), positive("atol", atol)
    schedule = entries_of(schedule)  # gone through more than once
    method = method_of(method, contact, locate, q0.method if isinstance(q0, Run) else None)
    asked = request(
        mechanism, q0, v0, controller, wrenches, stop_when, parameters, gains, memory, stops, dt, schedule, baumgarte,
        rigid=contact == "rigid",
    )  # fmt: skip
    begun = q0.settings.dt if isinstance(q0, Run) else None
    commands = try_once(asked, dt or begun or 0.0)
    if commands:  # a controller that switches is sampled
        controller = controller if asked.sampling is not None else sampled(controller)
        asked = request(
            mechanism, q0, v0, controller, wrenches, stop_when, parameters, gains, memory, stops, dt, schedule,
            baumgarte, commands, contact == "rigid",
        )  # fmt: skip
    if isinstance(q0, Run):
        if method == "auto":
            method, order = q0.method, q0.settings.order if order is None else order
        dt = q0.settings.dt if dt is None else dt
        locate = q0.settings.locate if locate is None else locate
    if order is not None:
        if method not in METHODS:
            raise LinkworkError(f"order is for methods {listed(COMPOSED)}; name one of them")
        refuse_composed(mechanism, of_order(method, order), bool(asked.guards))
    refuse_open(asked, opening=not isinstance(q0, Run))
    refuse_unfit(asked, method, adaptive=method in ADAPTIVE)
    field = Field(asked, target)
    try:
        choice = chosen(asked, field, method, dt, duration, partial(_trial, asked, duration, target))
        check_start(asked, choice.method, choice.dt)
        if choice.method not in ADAPTIVE:
            choice = choice._replace(order=of_order(choice.method, order).order, locate=bool(locate))
        storage = Storage(asked, choice, record, every, duration)
        if choice.method in ADAPTIVE:
            from linkwork.simulation.adaptive import Adaptive

            march: Any = Adaptive(asked, choice, storage, field, *tolerances)
        else:
            march = FixedSteps(asked, choice, storage, target, threads)
            tolerances = None, None
        limits = None if asked.stops is None else stops
        settings = Settings(
            choice.method,
            choice.why,
            choice.dt,
            storage.every,
            duration,
            *tolerances,
            limits,
            asked.wrenches is not None,
            asked.control is not None or asked.sampler is not None,
            asked.baumgarte,
            choice.order,
            choice.locate,
        )
        same = partial(
            simulate, mechanism, v0=v0, method=choice.method, schedule=schedule, wrenches=wrenches, record=("q", "v"),
            progress=False, parameters=parameters, gains=gains, memory=memory, stop_when=stop_when, stops=stops,
            contact=contact, baumgarte=baumgarte, threads=threads, target=target, order=order, locate=locate,
        )  # fmt: skip
        again = partial(companion, same, q0, controller, asked.sampling, settings)
        return replace(_marched(asked, march, settings, progress), again=again)
    except NotTraceable as failure:
        failure.add_note("lw.host(f, rate=...) calls a controller in Python instead of compiling it")
        raise


def _trial(asked: Request, duration: float, target: str, choice: Choice) -> list[Carry]:
    """Some states along a run of the first member; none if its controller is in Python, which would see it twice."""
    if asked.in_python:
        return []
    alone = asked.alone()
    every = max(1, round(duration / choice.dt) // TRIALS)
    storage = Storage(alone, choice, ("q", "v"), every, duration)
    FixedSteps(alone, choice, storage, target, threads=1).go(lambda fraction: None)
    states = zip(storage.arrays["q"][: storage.rows], storage.arrays["v"][: storage.rows], strict=True)
    return [alone.start._replace(q=q, v=v) for q, v in states]


def _marched(asked: Request, march: Any, settings: Settings, progress: bool | Watch | None) -> Run:
    """The run, or what there is of it if it was stopped."""
    begin = time.perf_counter()
    try:
        with watching(progress, f"{asked.mechanism.name}, {settings.duration:g} s by {settings.method}") as watch:
            march.go(watch)
    except KeyboardInterrupt:
        code = np.asarray(march.now.code)
        march.now = march.now._replace(code=np.where(code == GOING, STOPPED, code))
    except Exception as failure:
        if march.storage.rows:
            failure.run = _run(asked, march, settings, time.perf_counter() - begin)  # type: ignore[attr-defined]
            failure.add_note("what was computed until then is the attribute `run` of this error")
        raise
    return _run(asked, march, settings, time.perf_counter() - begin)


def _run(asked: Request, march: Any, settings: Settings, wall: float) -> Run:
    storage, now = march.storage, march.now
    found, events = outcomes(march)
    return Run(
        asked.mechanism,
        settings,
        storage.steps[: storage.rows] * settings.dt,
        storage.recorded(ended(now)),
        now,
        asked.parameters_in(now.modes),
        found,
        events,
        wall,
    )
