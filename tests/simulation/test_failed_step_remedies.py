"""The diagnosis of a failed step is quick, compiles little, and gives a remedy that works."""

import re
import time
from typing import Any
from unittest import mock

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.kernel import Kernel
from linkwork.examples import four_bar_ladder
from linkwork.simulation.methods import newton_failure
from linkwork.simulation.runners import failure_diagnosis, smaller_step_search
from linkwork.spatial.scalar import Array

Y = (0, 1, 0)
LONGEST = 10.0  # longest processor time of a diagnosis [s]: ten times what is promised, for slow machines


def stiff_pendulum(stiffness: float) -> lw.Mechanism:
    """A double pendulum with stiff springs in its joints [N m/rad]."""
    b = lw.Builder("stiff")
    for name, parent, at in (("upper", "world", (0, 0, 0)), ("lower", "upper", (0, 0, -1))):
        b.body(name, 1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
        b.joint(name, lw.Revolute(Y), parent, name, at=at, stiffness=stiffness)
    return b.build()


def bricard() -> lw.Mechanism:
    """Six links of length 1 with perpendicular neighbouring axes, closed along the edges of a cube."""
    points = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1), (0, 1, 1), (0, 0, 1)], dtype=float)
    axes = [(0, 0, 1), (0, 1, 0), (1, 0, 0)] * 2
    b, parent, before = lw.Builder("bricard", gravity=(0, 0, 0)), "world", points[0]
    for k in range(5):
        name, along = f"link {k + 1}", points[k + 1] - points[k]
        b.body(name, 1.0, com=along / 2, inertia=(0.1, 0.1, 0.1))
        b.joint(name, lw.Revolute(axes[k]), parent, name, at=points[k] - before)
        parent, before = name, points[k]
    b.close("closing", lw.Revolute(axes[5]), "link 5", "world", at=points[5] - points[4], to=points[5])
    return b.build()


def fast(m: lw.Mechanism, speed: float) -> dict[str, Any]:
    """The start position of a mechanism, with all joints at about `speed` [rad/s]."""
    d = lw.compile(m)
    q = m.keyframes[0].q if m.keyframes else m.neutral()
    return {"q0": q, "v0": d.consistent(q, np.full(m.nv, speed))}


CASES: dict[str, tuple[lw.Mechanism, dict[str, Any]]] = {
    "spinning pendulum, midpoint": (
        lw.example("double_pendulum"),
        {"q0": [0.5, 0.2], "v0": [40.0, -90.0], "duration": 0.9, "dt": 0.3, "method": "midpoint"},
    ),
    "spinning pendulum, variational": (
        lw.example("double_pendulum"),
        {"q0": [0.5, 0.2], "v0": [40.0, -90.0], "duration": 2.0, "dt": 0.2, "method": "variational"},
    ),
    "stiff and spinning, energy-momentum": (
        stiff_pendulum(1e4),
        {"q0": [0.5, 0.2], "v0": [100.0, -250.0], "duration": 1.0, "dt": 0.1, "method": "energy-momentum"},
    ),
    "four-bar, variational": (lw.example("four_bar"), {"duration": 5.0, "dt": 0.1, "method": "variational"}),
    "fast four-bar, energy-momentum": (
        lw.example("four_bar"),
        {**fast(lw.example("four_bar"), 100.0), "duration": 1.0, "dt": 0.02, "method": "energy-momentum"},
    ),
    "ladder, variational": (four_bar_ladder.build(5), {"duration": 2.0, "dt": 0.25, "method": "variational"}),
    "bricard, variational": (bricard(), {**fast(bricard(), 3.0), "duration": 0.2, "dt": 0.1, "method": "variational"}),
    "bricard, midpoint": (bricard(), {**fast(bricard(), 20.0), "duration": 0.1, "dt": 0.025, "method": "midpoint"}),
    "fast bricard, variational": (
        bricard(),
        {**fast(bricard(), 20.0), "duration": 0.1, "dt": 0.025, "method": "variational"},
    ),
}


@pytest.fixture(params=CASES, name="case")
def _case(request: pytest.FixtureRequest) -> tuple[lw.Mechanism, dict[str, Any]]:
    return CASES[request.param]


def test_diagnosis_of_a_failed_step_is_quick_and_its_remedy_works(case: tuple[lw.Mechanism, dict[str, Any]]) -> None:
    m, options = case
    spent: list[float] = []
    whole, original = failure_diagnosis._diagnosis, Kernel._new_code

    def built(kernel: Kernel, variant: str) -> bytes:
        assert kernel.name.startswith("rates"), "a diagnosis compiles the state derivative at most"
        return original(kernel, variant)

    def timed(*arguments: Any) -> str:
        begin = time.process_time()
        with mock.patch.object(Kernel, "_new_code", autospec=True, side_effect=built):
            found = whole(*arguments)
        spent.append(time.process_time() - begin)
        return found

    with mock.patch.object(failure_diagnosis, "_diagnosis", timed):
        run = lw.simulate(m, **options)
    if run.outcome.kind == "finished":
        pytest.skip("the method now solves this case")
    assert run.outcome.kind == "not converged"
    assert max(spent) < LONGEST
    advice = re.search(r"use (?:method='(\w+)' with )?dt=([\d.e-]+)", run.outcome.diagnosis)
    assert advice, run.outcome.diagnosis
    better = {**options, "dt": float(advice[2]), "method": advice[1] or options["method"]}
    assert lw.simulate(m, **better).outcome.kind == "finished"


def test_failed_step_of_a_simulator_is_reported_quickly() -> None:
    """Before, the failed step was repeated in Python with up to 600 iterations, which took minutes."""
    m = lw.example("stewart_platform")
    start = fast(m, 50.0)
    sim = lw.Simulator(m, start["q0"], start["v0"], dt=0.05, method="energy-momentum")
    with pytest.raises(lw.NotConverged, match=r"no smaller dt that is solved was found|is solved"):
        sim.step()  # compiles
    begin = time.process_time()
    with pytest.raises(lw.NotConverged) as caught:
        sim.step()
    assert time.process_time() - begin < LONGEST
    assert len(caught.value.history) >= 1  # fewer iterations on a loaded machine: the diagnosis is limited in time


def test_failed_members_of_a_batch_get_one_remedy() -> None:
    m, starts = lw.example("double_pendulum"), np.array([[0.5, 0.2], [0.4, 0.1], [0.3, 0.0]])
    speeds = np.array([[40.0, -90.0], [0.1, 0.0], [45.0, -90.0]])
    run = lw.simulate(m, starts, speeds, duration=0.9, dt=0.3, method="midpoint")
    assert [one.kind for one in run.outcome] == ["not converged", "finished", "not converged"]
    advice = re.search(r"use dt=([\d.e-]+): a trial run with it", run.outcome[0].diagnosis)
    assert advice
    assert "see the remedy of member (0,)" in run.outcome[2].diagnosis
    again = lw.simulate(m, starts, speeds, duration=0.9, dt=float(advice[1]), method="midpoint")
    assert again.outcome[0].kind == "finished"


@pytest.mark.parametrize("batch", [False, True])
def test_trial_runs_from_a_failed_state_record_located_contact_events(batch: bool) -> None:
    """Before, a trial from the failed state had more lines in its event log than the run, and raised a ValueError."""
    b = lw.Builder("box", gravity=(0, 0, -9.81)).body("box", 70.0, inertia=(1.167, 0.758, 1.458))
    b.joint("float", lw.Free(), "world", "box").surface("floor", lw.Plane())
    b.touch("corner", "box", lw.box_corners((0.3, 0.4, 0.2)), stiffness=75e3, damping=2e3, friction=0.4)
    q, v = [0, 0, 0.3, 0.9239, 0.2706, 0.2706, 0], [4.29, 0.71, -2.57, 300, 150, 100]
    starts = ([q, q], [v, v]) if batch else (q, v)
    original = smaller_step_search._reached

    def only_later(runner: Any, problem: Any, *rest: Any) -> Any:
        return None if problem.start.step == 0.0 else original(runner, problem, *rest)

    with (
        mock.patch.object(smaller_step_search, "_reached", only_later),
        pytest.warns(UserWarning, match="dt=0.02 s is too large for contact"),
    ):
        run = lw.simulate(b.build(), *starts, duration=0.6, dt=0.02, method="variational", locate=True)
    assert "from this state, a trial run with it" in run.outcomes.flat[0].diagnosis


def test_trial_runs_of_a_diagnosis_do_not_call_controllers_in_python() -> None:
    m, calls = lw.example("double_pendulum"), []

    def controller(t: float, q: Array, v: Array) -> Array:
        calls.append(t)
        return np.zeros(2)

    options = {"duration": 0.9, "dt": 0.3, "method": "midpoint", "controller": lw.host(controller, rate=1 / 0.3)}
    run = lw.simulate(m, [0.5, 0.2], [40.0, -90.0], **options)
    assert run.outcome.kind == "not converged"
    assert "not tried, because a trial would call the controller in Python" in run.outcome.diagnosis


def test_diagnosis_of_a_failure_without_remedy_says_so() -> None:
    m = lw.example("double_pendulum")
    with (
        mock.patch.object(smaller_step_search, "HALVINGS", (1,)),
        mock.patch.object(smaller_step_search, "_solved_by_rk4", return_value=None),
    ):
        run = lw.simulate(m, [0.5, 0.2], [40.0, -90.0], duration=0.9, dt=0.3, method="midpoint")
    assert "no remedy was found: a run with dt=0.15 fails too, at 0 s" in run.outcome.diagnosis


def test_time_limits_of_a_diagnosis_add_up_to_less_than_a_second() -> None:
    limits = (newton_failure.HISTORY_SECONDS, smaller_step_search.SECONDS, smaller_step_search.RK4_SECONDS)
    assert sum(limits) < 0.9
