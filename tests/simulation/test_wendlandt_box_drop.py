"""Wendlandt's box (section 5.3): times and corners of contact, rotation, rest position and energy."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.examples import box_drop
from linkwork.simulation.methods import variational as structured_steps
from linkwork.simulation.results.run import Run

DT, DURATION = 1e-3, 1.5
WEIGHT = box_drop.MASS * box_drop.GRAVITY
METHODS = ("variational", "midpoint", "rk4", "semi-implicit")
SECOND_ORDER = ("variational", "midpoint", "rk4")


@cache
def dropped(method: str) -> Run:
    return lw.simulate(lw.example("box_drop"), duration=DURATION, dt=DT, method=method).check()


def first_contacts(run: Run) -> list[float | None]:
    touched = run["contact.state"] > 1.0
    return [float(run.t[np.argmax(one)]) if one.any() else None for one in touched.T]


@pytest.mark.parametrize("method", SECOND_ORDER)
def test_corner_1_lands_first_and_corners_3_and_4_never_land(method: str) -> None:
    first = first_contacts(dropped(method))
    assert first[0] == pytest.approx(0.102)
    assert first[2] is None
    assert first[3] is None
    assert min(t for t in first[1:] if t is not None) > 0.2


@pytest.mark.parametrize("method", METHODS)
def test_box_comes_to_rest_upside_down_on_corners_5_to_8(method: str) -> None:
    run = dropped(method)
    assert run["contact.state"][-1].tolist() == [1, 1, 1, 1, 4, 4, 4, 4]
    late = run.t >= 1.36
    assert np.abs(run.v[late]).max() < 0.01
    _, x, y, z = run.q[-1, 3:]
    assert y > 0.99  # turned by half about y, with a slight turn about x
    assert 0.05 < abs(x) < 0.12
    assert abs(z) < 1e-3
    assert run.q[-1, 2] == pytest.approx(0.1 - WEIGHT / (4.0 * box_drop.STIFFNESS), abs=1e-6)
    assert run["contact.force"][-1].sum(axis=0) == pytest.approx([0, 0, WEIGHT], abs=0.5)


@pytest.mark.parametrize("method", SECOND_ORDER)
def test_center_of_mass_moves_as_in_figure_5_3(method: str) -> None:
    run = dropped(method)
    flies = run.t <= 0.101
    assert run.q[flies, 0] == pytest.approx(5.0 * run.t[flies], abs=1e-9)
    assert run.q[flies, 1] == pytest.approx(0.0, abs=1e-12)
    assert run.q[-1, 1] > 0.01  # y rises after the first contact
    assert run.q[-1, 0] == pytest.approx(3.27, abs=0.02)


def test_second_order_methods_agree_on_wendlandts_box() -> None:
    ends = [dropped(method).q[-1] for method in SECOND_ORDER]
    assert np.ptp(ends, axis=0).max() < 2e-3


@pytest.mark.parametrize("method", SECOND_ORDER)
def test_wendlandts_box_gains_energy_only_by_late_contact_detection(method: str) -> None:
    """A corner can penetrate by half a step's travel before its spring acts."""
    run = dropped(method)
    total = run.energy + run["contact.energy"]
    fastest = np.abs(run.v[:, :3]).max() + np.abs(run.v[:, 3:]).max() * 0.27
    late = 0.5 * box_drop.STIFFNESS * (0.5 * DT * fastest) ** 2
    assert np.diff(total).max() < late
    assert np.abs(run.energy - run.energy[0] - run["work"]).max() < 0.2


def test_run_of_wendlandts_box_passes_the_report() -> None:
    report = dropped("variational").report()
    assert report.passed, str(report)
    assert report["momentum"].verdict == report["angular momentum"].verdict == "ok"
    assert "gravity and ground" in report["momentum"].note


def test_steps_of_wendlandts_box_need_at_most_five_newton_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 5 in Figure 5.6; here through the first contact, with the NumPy target."""
    iterations, iterate = [], structured_steps.iterate

    def counted(*inputs: Any) -> tuple[Any, ...]:
        found = iterate(*inputs)
        iterations.append(found[1])
        return found

    monkeypatch.setattr(structured_steps, "iterate", counted)
    run = lw.simulate(lw.example("box_drop"), duration=0.13, dt=DT, method="variational", target="numpy", record=("q",))
    assert max(iterations) <= 5
    assert run.q == pytest.approx(dropped("variational").q[: len(run.t)], abs=1e-12)


def test_friction_coefficient_determines_how_wendlandts_box_comes_to_rest() -> None:
    """In one batch: with friction that does not fit the figures, corners 3 and 4 land, or the box slides on."""
    frictions = np.array([0.4, 0.38, 0.2])
    given = {f"corner {k}.friction": np.repeat(frictions[:, None], 2, axis=1) for k in range(1, 9)}
    run = lw.simulate(lw.example("box_drop"), duration=DURATION, dt=DT, method="rk4", parameters=given)
    assert run.q[0] == pytest.approx(dropped("rk4").q, abs=1e-9)
    rest = [float(run.t[np.flatnonzero(np.abs(v).max(axis=1) > 0.01)[-1]]) for v in run.v]
    assert 1.2 < rest[0] < rest[1] < 1.45
    assert rest[2] > 1.49
