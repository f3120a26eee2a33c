"""Failed runs of solids end soon: ended members are not stepped again, and the diagnosis has a time limit."""

from typing import Any
from unittest import mock

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation.runners import failure_diagnosis
from linkwork.simulation.runners.compiled_run import MemberProgram
from linkwork.simulation.runners.fixed_step_runner import FixedSteps
from linkwork.simulation.state import NON_FINITE, MemberState
from linkwork.spatial.row_arrays import row_array, selected_rows
from linkwork.spatial.traceable_loops import OutOfTime, iterate, repeat, time_limit


def cube() -> lw.Mechanism:
    """A cube with a parameter, above a floor."""
    b = lw.Builder("cube").surface("floor", lw.Plane()).body("cube", 1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("free", lw.Free(), "world", "cube").geometry("cube", lw.Box((1, 1, 1)), role="collision")
    return b.collide("all", friction=0.5).build()


START = [0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0]


def test_members_that_ended_are_not_stepped_again() -> None:
    """Before, a step with NaN was repeated until the end of the run: minutes for a humanoid with 200 pairs."""
    counts: list[float] = []

    def fails_later(self: MemberProgram, values: Any, dt: float, now: MemberState) -> MemberState:
        counts.append(float(now.step))
        return now._replace(status=NON_FINITE) if len(counts) == 4 else now._replace(step=now.step + 1.0)

    with mock.patch.object(MemberProgram, "_always_stepped", fails_later):
        run = lw.simulate(cube(), START, duration=0.02, dt=1e-3, contact="rigid", target="numpy", every=5)
    assert run.outcome.kind == "non-finite"
    assert run.outcome.time == pytest.approx(3e-3)
    assert counts == [0.0, 1.0, 2.0, 3.0]


def test_a_failed_member_of_a_batch_of_solids_leaves_the_others_alone() -> None:
    speeds = np.zeros((3, 6))
    speeds[:, 0], speeds[1, 3:] = 0.3, 1e200
    run = lw.simulate(cube(), [START] * 3, speeds, duration=0.08, dt=1e-3, contact="rigid")
    assert [one.kind for one in run.outcome] == ["finished", "non-finite", "finished"]
    assert np.array_equal(run.q[0], run.q[2])
    assert run.q[0, -1, 0] == pytest.approx(0.3**2 / (2 * 0.5 * 9.81), abs=1e-4)  # stops by friction


def test_a_failed_step_does_not_change_recorded_contact_forces() -> None:
    """The last sample has the forces of the last valid step, in which the cube rests."""

    def fails(t: float, q: Any, v: Any) -> Any:
        return np.sqrt(0.0205 - t) * np.full(6, 1e-9)

    record = ("q", "contact.force", "contact.state")
    run = lw.simulate(cube(), START, duration=0.04, dt=1e-3, contact="rigid", controller=fails, record=record)
    assert run.outcome.kind == "non-finite"
    assert run["contact.force"][-1] == pytest.approx(np.tile([0, 0, 9.81 / 4], (4, 1)), abs=1e-6)
    assert (run["contact.state"][-1] > 1.0).all()


def test_diagnosis_of_a_failed_step_with_solids_has_a_time_limit() -> None:
    """Before, a failed step was repeated in Python to its end, with all iterations: 150 s for a cube with NaN."""

    def endless(*_: Any) -> None:
        repeat(10**9, lambda k, x: (x,), 0.0)

    with (
        mock.patch.object(failure_diagnosis, "AGAIN_SECONDS", 0.01),
        mock.patch.object(FixedSteps, "again", endless),
    ):
        run = lw.simulate(cube(), START, [0, 0, 0, 1e200, 0, 0], duration=0.01, dt=1e-3, contact="rigid")
    assert run.outcome.kind == "non-finite"
    assert "the failing line was not found in 0.01 s; try a smaller dt" in run.outcome.diagnosis


def test_loops_of_kernels_run_in_plain_python_obey_the_time_limit() -> None:
    flags = row_array(1, 1).put(0, [1.0])
    loops = (
        lambda: repeat(2, lambda k, x: (x + 1.0,), 0.0),
        lambda: iterate(2, lambda x: ((x + 1.0,), False), 0.0),
        lambda: selected_rows(flags).visit(lambda k, x: (x + 1.0,), 0.0),
    )
    for loop in loops:
        loop()
        with pytest.raises(OutOfTime), time_limit(-1.0):
            loop()
        loop()
