"""With `locate`, contacts land, separate, stick and slip at the closed-form times, and methods keep their order."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation.events.event_location import TRIALS, Switching, locate
from linkwork.simulation.events.event_tolerances import EVENT_DELAY
from linkwork.simulation.results.run import Run
from linkwork.simulation.state import StepState

G = 9.81
ORDERS = {"rk4": 4, "variational": 2, "midpoint": 2, "rattle": 2, "energy-momentum": 2, "semi-implicit": 1}


# --- a mass that is dropped on a spring and damper ---

STIFFNESS, DAMPING, FALL = 4e4, 60.0, 0.00337  # [N/m], [N s/m], and how long it falls [s], until it has 1 m/s


def pressed(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return height [m] and velocity [m/s] of a mass of 1 kg at times [s] after landing, while the contact pushes."""
    rate, rest = DAMPING / 2.0, -G / STIFFNESS
    turn = np.sqrt(STIFFNESS - rate**2)
    c, s = -rest, (-1.0 - rate * rest) / turn
    cos, sin, fade = np.cos(turn * t), np.sin(turn * t), np.exp(-rate * t)
    z = fade * (c * cos + s * sin)
    return rest + z, -rate * z + fade * turn * (s * cos - c * sin)


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Root of a function that is negative at `low`, by bisection."""
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if function(middle) < 0.0 else (low, middle)
    return high


def push(t: float) -> float:
    z, v = pressed(np.array(t))
    return float(STIFFNESS * z + DAMPING * v)


RELEASED = root(push, 0.008, 0.022)  # when its force ends, after it landed


def height(t: np.ndarray) -> np.ndarray:
    """Height of the mass [m] at times [s] from the start."""
    after = t - FALL
    z, v = pressed(np.array(RELEASED))
    flies = after - RELEASED
    flight = z + v * flies - 0.5 * G * flies**2
    return np.where(after < 0, -after - 0.5 * G * after**2, np.where(flies < 0, pressed(after)[0], flight))


@cache
def dropped(method: str, dt: float, locate: bool = True) -> Run:
    b = lw.Builder("drop", gravity=(0, 0, -G)).body("mass", 1.0).joint("up", lw.Prismatic((0, 0, 1)), "world", "mass")
    m = b.surface("floor", lw.Plane()).touch("it", "mass", stiffness=STIFFNESS, damping=DAMPING).build()
    start = height(np.zeros(1)), [-1.0 + G * FALL]
    return lw.simulate(m, *start, 0.032, dt, method, locate=locate).check()


def worst(run: Run) -> float:
    return float(np.abs(run.q[:, 0] - height(run.t)).max())


@pytest.mark.parametrize("method", ORDERS)
def test_integration_methods_keep_their_order_through_a_bounce(method: str) -> None:
    errors = [worst(dropped(method, dt)) for dt in (4e-4, 2e-4, 1e-4)]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert orders == pytest.approx(ORDERS[method], abs=0.1)


def test_errors_of_contact_runs_are_larger_without_event_location() -> None:
    assert worst(dropped("rk4", 1e-4)) < 2e-11
    assert worst(dropped("rk4", 1e-4, locate=False)) > 1e-6


def test_times_of_landing_and_separation_are_recorded() -> None:
    run = dropped("rk4", 1e-4)
    since, state = run["contact.since"][:, 0], run["contact.state"][:, 0]
    landed = since[np.argmax(state > 1)]
    assert landed == pytest.approx(FALL, abs=1e-12)
    z, v = pressed(np.array(RELEASED))  # it is still inside where its force ends, and flies on
    out = (v - np.sqrt(v**2 + 2.0 * G * z)) / G
    assert since[-1] == pytest.approx(FALL + RELEASED + out, abs=1e-9)
    assert state[-1] == 1.0


@pytest.mark.parametrize("method", ["rk4", "variational", "midpoint", "energy-momentum"])
def test_drops_on_stiff_contacts_with_located_events_gain_no_energy(method: str) -> None:
    """Without dampers, at 5 m/s, with steps of 0.3 and 1 over the spring's rate, landing anywhere in a step."""
    b = lw.Builder("drop", gravity=(0, 0, -G)).body("mass", 1.0).joint("up", lw.Prismatic((0, 0, 1)), "world", "mass")
    m = b.surface("floor", lw.Plane()).touch("it", "mass", stiffness=1e6).build()
    for dt in (3e-4, 1e-3):
        z = 0.02 + 5.0 * dt * np.linspace(0.0, 1.0, 20, endpoint=False)
        runs = [
            lw.simulate(m, z[:, None], np.full((20, 1), -5.0), dt * round(0.04 / dt), dt, method, locate=locate)
            for locate in (True, False)
        ]
        won, without = ((run.energy[:, -1] / run.energy[:, 0] - 1.0).max() for run in runs)
        assert (runs[0]["contact.state"][:, -1] == 1).all()
        assert won < 1e-13
        assert without > 5e-3  # what a step that begins too high has stored before it is felt


# --- a block on a table, in two directions ---

MU, REST, WEIGHT, HARD = 0.3, 1e-3, 2.0 * G, 1e5


def table(damping: float = 0.0) -> lw.Mechanism:
    """A mass of 2 kg on rails along x and z, with a tangential contact stiffness of 2e4 N/m."""
    b = lw.Builder("table", gravity=(0, 0, -G)).body("rail", 0.0).body("mass", 2.0)
    b.joint("x", lw.Prismatic((1, 0, 0)), "world", "rail").joint("z", lw.Prismatic((0, 0, 1)), "rail", "mass")
    b.surface("top", lw.Plane())
    return b.touch(
        "sole", "mass", stiffness=HARD, damping=1e3, friction=MU, tangential_stiffness=2e4, tangential_damping=damping
    ).build()


@pytest.mark.parametrize("method", ["rk4", "variational", "midpoint", "energy-momentum"])
def test_sliding_mass_sticks_at_the_closed_form_time_and_position(method: str) -> None:
    speed = 0.5
    run = lw.simulate(table(200.0), [0, -WEIGHT / HARD], [speed, 0], 0.3, 1e-3, method, locate=True)
    stops = (speed - REST) / (MU * G)
    stuck = run["contact.state"][:, 0] == 4
    assert run.t[stuck][0] == pytest.approx(np.ceil(stops / 1e-3) * 1e-3)
    assert run["contact.since"][stuck][0, 0] == pytest.approx(stops, abs=2e-9)
    assert run["contact.anchor"][stuck][0, 0, 0] == pytest.approx((speed**2 - REST**2) / (2 * MU * G), abs=2e-9)


def test_pulled_mass_slips_at_the_friction_limit() -> None:
    """Pulled by r t from 0.1 s on, it moves as a driven spring and damper up to the friction limit."""
    pull, damping, begin, dt = 300.0, 200.0, 0.1, 5e-4
    run = lw.simulate(
        table(damping), [0, -WEIGHT / HARD], duration=0.2, dt=dt, method="rk4", locate=True,
        controller=lambda t, q, v: [pull * np.maximum(t - begin, 0.0), 0.0],
    )  # fmt: skip
    rate, k = damping / 4.0, 2e4
    turn, ahead = np.sqrt(k / 2.0 - rate**2), -pull * damping / k**2

    def holding(t: float) -> float:
        c, s = -ahead, (-pull / k - rate * ahead) / turn
        z = np.exp(-rate * t) * (c * np.cos(turn * t) + s * np.sin(turn * t))
        v = -rate * z + np.exp(-rate * t) * turn * (s * np.cos(turn * t) - c * np.sin(turn * t))
        return float(k * (pull * t / k + ahead + z) + damping * (pull / k + v))

    slips = begin + root(lambda t: holding(t) - MU * WEIGHT, 0.0, 0.05)
    state, since = run["contact.state"][:, 0], run["contact.since"][:, 0]
    assert (state[(run.t > 0.01) & (run.t < slips)] == 4).all()
    assert since[run.t > slips][0] == pytest.approx(slips, abs=1e-8)


# --- many contacts ---

BOX = lw.example("box_drop")


@cache
def box(method: str, dt: float) -> Run:
    return lw.simulate(BOX, duration=1.5, dt=dt, method=method, locate=True).check()


@pytest.mark.slow
def test_box_drop_converges_with_the_step_size() -> None:
    near = {
        method: np.abs(box(method, 1e-3).q[-1] - box(method, 2.5e-4).q[-1]).max() for method in ("rk4", "variational")
    }
    assert near["rk4"] < 1e-6
    assert near["variational"] < 2e-4
    assert np.abs(box("rk4", 2.5e-4).q[-1] - box("variational", 2.5e-4).q[-1]).max() < 2e-5


@pytest.mark.parametrize("method", ["rk4", "variational"])
def test_box_drop_with_located_contact_events_gains_no_energy_in_any_step(method: str) -> None:
    """Except for the oscillating energy error of a symplectic method while the box tumbles freely."""
    run = box(method, 1e-3)
    assert np.diff(run.energy + run["contact.energy"]).max() < (2e-8 if method == "variational" else 1e-9)
    assert run["contact.since"][-1, 0] > 0.101
    assert run["contact.since"][-1, 2] == 0.0  # it never touched


def test_batch_members_with_located_contact_events_match_single_runs() -> None:
    q = np.tile(BOX.keyframes["start"].q, (3, 1)) + np.array([[0.0], [0.01], [0.02]]) * np.eye(7)[2]
    v = BOX.keyframes["start"].v
    run = lw.simulate(BOX, q, v, duration=0.5, dt=1e-3, method="variational", locate=True)
    for k in range(3):
        alone = lw.simulate(BOX, q[k], v, duration=0.5, dt=1e-3, method="variational", locate=True)
        for name in run.recorded:
            assert np.array_equal(run[name][k], alone[name]), name


def test_located_run_is_saved_continued_and_matched_by_a_simulator(tmp_path: Path) -> None:
    whole = lw.simulate(BOX, duration=0.6, dt=1e-3, method="rk4", locate=True)
    half = lw.simulate(BOX, duration=0.3, dt=1e-3, method="rk4", locate=True)
    half.save(tmp_path / "half.npz")
    rest = lw.simulate(BOX, lw.open_run(tmp_path / "half.npz"), duration=0.3)
    assert rest.settings.locate
    for name in ("q", "v", "contact.state", "contact.since", "contact.anchor"):
        assert np.array_equal(rest[name][-1], whole[name][-1]), name
    start = BOX.keyframes["start"]
    by_hand = lw.Simulator(BOX, start.q, start.v, dt=1e-3, method="rk4", locate=True)
    for _ in range(600):
        by_hand.step()
    assert by_hand.state.q == pytest.approx(whole.q[-1], abs=1e-12)
    assert whole.to_xarray("contact.since")["contact.since"].attrs["units"] == "s"


def test_compiled_and_numpy_runs_locate_the_same_events() -> None:
    start = [0, -WEIGHT / HARD], [0.05, 0]
    runs = [lw.simulate(table(), *start, 0.05, 1e-3, "rk4", locate=True, target=target) for target in ("cpu", "numpy")]
    assert (runs[0]["contact.state"][-1] == 4).all()
    for name in runs[0].recorded:
        assert runs[0][name] == pytest.approx(runs[1][name], abs=1e-12), name


@pytest.mark.parametrize("method", ["variational", "midpoint", "energy-momentum"])
def test_randomly_thrown_boxes_finish_and_lose_energy(method: str) -> None:
    """The slip of some corners turns by more than 90 degrees within a step, at little more than rest_speed."""
    rng, count = np.random.default_rng(0), 64
    q = np.full((count, 7), 0.3) * [0, 0, 1, 0, 0, 0, 0]
    q[:, 3:] = [x / np.linalg.norm(x) for x in rng.normal(size=(count, 4))]
    v = rng.normal(size=(count, 6)) * [2.0, 2.0, 2.0, 3.0, 3.0, 3.0]
    record = ("q", "v", "contact.energy", "iterations")
    run = lw.simulate(BOX, q, v, duration=1.5, dt=1e-3, method=method, locate=True, record=record).check()
    energy = run.energy + run["contact.energy"]
    # Midpoint conserves neither energy nor momentum of a tumbling box exactly, and the symplectic method oscillates
    tumbling = {"variational": 5e-7, "midpoint": 1e-5, "energy-momentum": 1e-11}
    assert np.diff(energy, axis=1).max() < tumbling[method]
    assert run["iterations"].max() <= 40


# --- the search itself ---


def clock(switches: list[float], bend: float = 0.0) -> Switching:
    """Return a test system whose q is the time and whose event functions are the times left until the switches.

    `bend` makes the event functions nonlinear in time; `slip` holds the times at which switches occurred.
    """

    def advance(begin: StepState, gone: float, h: float) -> tuple[StepState, bool]:
        assert h >= 0.99 * EVENT_DELAY
        assert begin.q[0] == pytest.approx(gone, abs=1e-15)
        return begin._replace(q=begin.q + h, work=begin.work + 1), True

    def event_functions(begin: StepState, end: StepState) -> np.ndarray:
        left = np.array(switches) - end.q[0]
        return np.where(begin.slip > 0, 1.0, np.expm1(bend * left) / bend if bend else left)

    def switched(end: StepState, gone: float, which: Any) -> StepState:
        return end._replace(slip=np.where(which, gone, end.slip))

    return Switching(advance, event_functions, switched)


def gone_through(switching: Switching, count: int) -> StepState:
    moved, solved = locate(switching, StepState(np.zeros(1), np.zeros(0), 0.0, slip=np.zeros(count)), 1.0)
    assert solved
    return moved


@pytest.mark.parametrize("bend", [0.0, 5.0, -5.0])
@pytest.mark.parametrize("switches", [[0.3], [0.7, 0.2], [0.5, 0.5], [1.0 - 1e-12], [1e-12], [0.25, 0.2500000001, 0.9]])
def test_contact_events_within_one_step_are_located_in_their_order(switches: list[float], bend: float) -> None:
    moved = gone_through(clock(switches, bend), len(switches))
    assert moved.q[0] == pytest.approx(1.0, abs=2e-15)
    assert moved.slip == pytest.approx(np.array(switches), abs=2.0 * EVENT_DELAY)
    assert (moved.slip > np.array(switches) - 1e-15).all()  # never before its time


def test_step_without_contact_events_is_computed_once() -> None:
    counted = []
    quiet = clock([2.0])
    moved = gone_through(quiet._replace(advance=lambda *a: (counted.append(a), quiet.advance(*a))[1]), 1)
    assert (len(counted), moved.q[0]) == (1, 1.0)


def test_event_function_that_is_almost_zero_long_before_its_event_costs_few_trials() -> None:
    """As the friction force of a contact just after it begins to slip, with an event when it stops."""
    tried = []
    quiet = clock([0.6])

    def bump(begin: StepState, end: StepState) -> np.ndarray:
        t = end.q[0]
        return np.where(begin.slip > 0, 1.0, np.array([1e-12 + t**2 * (0.6 - t)]))

    counting = quiet._replace(advance=lambda *a: (tried.append(a), quiet.advance(*a))[1], functions=bump)
    assert gone_through(counting, 1).slip == pytest.approx([0.6], abs=2.0 * EVENT_DELAY)
    assert len(tried) <= 15


def test_step_without_a_solution_is_split_into_substeps() -> None:
    made = []
    easy = clock([0.6])

    def advance(begin: StepState, gone: float, h: float) -> tuple[StepState, bool]:
        made.append(h)
        return easy.advance(begin, gone, h)[0], h < 0.3

    moved = gone_through(easy._replace(advance=advance), 1)
    assert moved.q[0] == pytest.approx(1.0, abs=2e-15)
    assert moved.slip == pytest.approx([0.6], abs=2.0 * EVENT_DELAY)
    assert len(made) < 20
    never = easy._replace(advance=lambda *a: (easy.advance(*a)[0], False))
    assert not locate(never, StepState(np.zeros(1), np.zeros(0), 0.0, slip=np.zeros(1)), 1.0)[1]


def test_endless_switching_of_a_contact_stops_after_the_trial_limit() -> None:
    """An event function that is always past zero is accepted after the maximum number of trials."""
    tried = []

    def advance(begin: StepState, gone: float, h: float) -> tuple[StepState, bool]:
        tried.append(h)
        return begin._replace(q=begin.q + h), True

    restless = Switching(advance, lambda begin, end: np.array([begin.q[0] - end.q[0]]), lambda end, *_: end)
    moved, solved = locate(restless, StepState(np.zeros(1), np.zeros(0), 0.0), 1.0)
    assert solved
    assert len(tried) == TRIALS
    assert moved.q[0] == pytest.approx(1.0)
