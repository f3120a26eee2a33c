"""A loop row that restricts velocities only, given by a user: Chaplygin's sleigh, with the order of every method."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.constraint_rows import NONE, Row
from linkwork.model.elements.loop_kinds import Gear, PointOnLine, Rack, Rod
from linkwork.model.joints import ClosingKind
from linkwork.spatial import Force, Motion, Transform

METHODS = ("midpoint", "variational", "rattle", "shake", "energy-momentum")


class NoSlip(Row):
    """The origin of frame B does not move along the y axis of B. No position error expresses this."""

    def error(self, X: Transform) -> float:
        return 0.0

    def wrench(self, X: Transform) -> Force:
        return Force(np.array([0.0, 1.0, 0.0]), NONE)

    def wrench_rate(self, X: Transform, V: Motion) -> Force:
        return Force(NONE, NONE)


@dataclass(frozen=True)
class Blade(ClosingKind):
    """A blade on body b that does not slip sideways on body a."""

    @cached_property
    def closing(self) -> tuple[Row, ...]:
        return (NoSlip(),)


def sleigh() -> lw.Mechanism:
    """A sleigh in the plane, with its centre of mass ahead of its blade."""
    b = lw.Builder("sleigh", gravity=(0, 0, 0)).body("sleigh", 2.0, com=(0.3, 0, 0), inertia=(0.4, 0.4, 0.4))
    return b.joint("plane", lw.Planar((0, 0, 1)), "world", "sleigh").close("blade", Blade(), "world", "sleigh").build()


START = [-0.5, 0.0, 1.5]


def errors_of(method: str, counts: tuple[int, ...], order: int | None = None) -> list[float]:
    m = sleigh()
    exact = lw.simulate(m, None, START, 2.0, 1e-3, "rk4").check().q[-1]
    runs = [lw.simulate(m, None, START, 2.0, 2.0 / n, method, order=order).check() for n in counts]
    return [float(np.abs(run.q[-1] - exact).max()) for run in runs]


@pytest.mark.parametrize("method", METHODS)
def test_halving_the_step_with_a_velocity_constraint_quarters_the_error(method: str) -> None:
    coarse, fine = errors_of(method, (40, 80))
    assert np.log2(coarse / fine) == pytest.approx(2.0, abs=0.1)
    assert fine < 1e-3


def test_composition_of_symmetric_steps_has_order_four() -> None:
    coarse, fine = errors_of("variational", (20, 40), order=4)
    assert np.log2(coarse / fine) == pytest.approx(4.0, abs=0.3)


@pytest.mark.parametrize("method", ["variational", "energy-momentum"])
def test_blade_of_a_sleigh_does_not_slip_sideways_and_does_no_work(method: str) -> None:
    run = lw.simulate(sleigh(), None, START, 5.0, 0.05, method).check()
    heading = run.q[:, 2]
    assert np.abs(run.v[:, 1] * np.cos(heading) - run.v[:, 0] * np.sin(heading)).max() < 1e-12
    spread = np.ptp(run.energy) / run.energy[0]
    assert spread < (1e-12 if method == "energy-momentum" else 1e-2)


def test_report_does_not_check_the_symplectic_form_of_nonholonomic_systems() -> None:
    """The motion of a nonholonomic system conserves no symplectic form."""
    row = lw.simulate(sleigh(), None, START, 0.5, 0.05, "variational").report(structure=True)["symplectic defect"]
    assert (row.value, row.verdict) == ("unknown", "")
    assert "loop 'blade'" in row.note


def test_loop_rows_of_linkworks_own_kinds_are_holonomic() -> None:
    assert not NoSlip().holonomic
    kinds = [
        lw.Revolute(),
        lw.Prismatic(),
        lw.Screw(pitch=0.1),
        lw.Cylindrical(),
        lw.Universal(),
        lw.Ball(),
        lw.Planar(),
    ]
    kinds += [lw.Weld(), Rod(0.5), PointOnLine(), Gear(20, 30), Rack(0.1)]
    for kind in kinds:
        assert all(row.holonomic for row in kind.closing), kind
