"""`linkwork paper NAME` reproduces the printed tables and matrices, and its pages show them with the figures."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from command_line_helper import command
from linkwork.examples import biped_hit, biped_reach, walker
from linkwork.examples import walker_gaits as gaits
from linkwork.papers import (
    muir_neuman_friction,
    muir_neuman_pendulum,
    nelson_quinn,
    nelson_quinn_simulations,
    wendlandt_box,
)
from linkwork.papers import reproduction as papers
from linkwork.papers.nelson_quinn_simulations import Course
from linkwork.papers.wendlandt_biped import Biped, Map, biped_statements, converged, experiment, foot_travel, survived
from linkwork.papers.wendlandt_integrators import Experiment, Measured, pendulum_experiment, rigid_body_experiment


@pytest.fixture(scope="module")
def experiments() -> tuple[Experiment, Experiment]:
    return rigid_body_experiment(), pendulum_experiment()


@pytest.fixture(scope="module")
def biped() -> Biped:
    """Return the results of both biped experiments, with the map of throws as the slow test below computes it."""
    printed, in_cones = np.ones((2, 4, 2), bool)
    few = Map(np.array([3.0, 4.6, 6.0, 8.0]), np.array([0.0, 0.1]), printed, in_cones, seconds=1.0)
    few.printed[2:] = few.in_cones[3] = False
    return Biped(experiment(biped_reach), experiment(biped_hit), few)


def test_both_biped_experiments_match_wendlandts_dissertation(biped: Biped) -> None:
    """All checks pass; the trunk is within 2 mm and 0.5 degrees at 3 s, the feet within 1 mm after landing."""
    assert [one.paper for one in biped_statements(biped) if not one.agrees] == []
    for one in (biped.reach, biped.hit):
        apart, turned = converged(one)
        assert apart < 2e-3
        assert turned < 0.5
    assert max(foot_travel(biped.reach.run, f"{side} foot") for side in ("left", "right")) < 1e-3


@pytest.mark.slow
def test_survived_throws_of_the_block_are_the_same_again_and_batch_members_match_single_runs(biped: Biped) -> None:
    found = survived(biped.survived.speeds, biped.survived.places)
    assert found.printed[:, 1].tolist() == biped.survived.printed[:, 1].tolist()
    assert found.in_cones[:, 1].tolist() == biped.survived.in_cones[:, 1].tolist()
    m = biped_hit.build()
    controller, q, v = lw.sampled(biped_hit.controller(m), 500), m.keyframes["start"].q, m.keyframes["start"].v
    fast = v.copy()
    fast[m.joints["throw"].v] *= 1.1
    options: dict[str, Any] = {
        "duration": 0.3,
        "dt": 5e-4,
        "method": "semi-implicit",
        "controller": controller,
        "every": 2,
    }
    both = lw.simulate(m, q, np.array([fast, v]), **options)
    assert (both.q[1] == lw.simulate(m, q, v, **options).q).all()
    assert (both.q[1] == biped.hit.run.q[: len(both.t)]).all()


def test_errors_of_the_rigid_body_match_wendlandts_table_2_1(experiments: tuple[Experiment, Experiment]) -> None:
    """Energy and momentum agree to three digits or more, at the smallest step within 2 %; quaternions within 2 %."""
    for (_, h), (position, energy, momentum) in experiments[0].differences().items():
        close = 5e-4 if h >= 1e-3 else 0.02
        assert abs(energy) < close
        assert abs(momentum) < close
        assert abs(position) < 0.02 or h == 1e-4


def test_energies_printed_in_the_text_of_the_dissertation_are_reproduced(
    experiments: tuple[Experiment, Experiment],
) -> None:
    body, pendulum = (one.traces for one in experiments)
    smallest, small = body["DVP", 1e-4].energy, body["DVP", 1e-3].energy
    assert 32.999999349 <= smallest.min() <= smallest.max() <= 32.999999359
    assert 32.999937235 <= small.min() <= small.max() <= 32.999937236
    for h in (1e-2, 1e-1):
        assert np.ptp(body["DVP", h].energy) < 1e-9  # "no deviation"
    large = pendulum["DVP", 1e-1].energy
    assert large.min() == pytest.approx(
        20.910805793, rel=5e-4
    )  # the paper's initial state has more decimals than printed
    assert large.max() == pytest.approx(25.583335766, rel=5e-4)


def test_errors_of_the_pendulum_match_wendlandts_table_2_2(experiments: tuple[Experiment, Experiment]) -> None:
    """Errors agree within 3 %; the energy-momentum method conserves energy and momentum to round-off."""
    for (method, _), differences in experiments[1].differences().items():
        assert np.nanmax(np.abs([0.0, *differences])) < 0.03, method
    for (method, _), ours in experiments[1].measured.items():
        if method == "EM":
            assert max(ours.energy, ours.momentum) < 1e-10


def test_paper_command_writes_the_page_on_wendlandt(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    experiments: tuple[Experiment, Experiment],
    biped: Biped,
) -> None:
    pytest.importorskip("matplotlib")
    body, pendulum = experiments
    monkeypatch.setattr(papers, "rigid_body_experiment", lambda: body)
    monkeypatch.setattr(papers, "pendulum_experiment", lambda: pendulum)
    monkeypatch.setattr(papers, "biped_experiments", lambda: biped)
    code, said = command(capsys, "paper", "wendlandt", "--out", tmp_path)
    assert code == 0, said
    assert "all errors agree within 3%" in said
    assert "Table 2.2" in said
    page = (tmp_path / "wendlandt.html").read_text(encoding="utf-8")
    images = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    captions = re.findall(r"<figcaption>Figure (\d\.\d+)\.", page)
    assert captions == [
        *(f"2.{k}" for k in range(2, 13)),
        *(f"4.{k}" for k in range(3, 20)),
        *(f"5.{k}" for k in range(3, 7)),
    ]
    assert all(b"<svg" in base64.b64decode(image) for image in images)
    assert len(images) == 11 + 18 + 4
    assert page.count("<tr>") == 2 + 4 + 8 + 1 + 12 + 1 + 12
    assert "biped: 12 of 12 checks passed; box: 12 of 12 checks passed" in said
    assert 'class="far"' not in page
    assert "http" not in page  # the page loads no external resources

    box = wendlandt_box.box_experiment()
    slow = box._replace(run=replace(box.run, t=box.run.t * 1.1))  # too late: first contact and rest
    monkeypatch.setattr(papers, "box_experiment", lambda: slow)
    late = biped._replace(
        hit=biped.hit._replace(run=replace(biped.hit.run, t=biped.hit.run.t * 1.2))
    )  # too late: the block hits the back
    monkeypatch.setattr(papers, "biped_experiments", lambda: late)
    wrong = body.measured | {("DVP", 1e-1): Measured(1.0, 3.648e-2, 6.217e-1, 0.2)}
    monkeypatch.setattr(papers, "rigid_body_experiment", lambda: body._replace(measured=wrong))
    code, said = command(capsys, "paper", "wendlandt", "--out", tmp_path, "--no-plot")
    assert code == 1
    assert "1 of 36 errors differ by more than 3%; biped: 11 of 12 checks passed; box: 10 of 12 checks passed" in said
    page = (tmp_path / "wendlandt.html").read_text(encoding="utf-8")
    assert page.count('class="far"') == 1 + 1 + 2
    assert "matplotlib" in page


@pytest.mark.slow
def test_nelson_quinn_page_shows_matrices_and_walks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    turn = Course(lambda: gaits.turning(0.3, 1.0, 3.98), "a short turn", lambda run: run.q[-1, 0] > 1.0)
    monkeypatch.setattr(nelson_quinn, "COURSES", {"turning": turn})
    monkeypatch.setattr(nelson_quinn_simulations, "COURSES", {"turning": turn})
    code, said = command(capsys, "paper", "nelson-quinn", "--out", tmp_path)
    assert code == 0, said
    assert "68 -> 26 -> 23 -> 11" in said
    assert "all matrices equal the printed ones, and all walks reached their goal" in said
    page = (tmp_path / "nelson-quinn.html").read_text(encoding="utf-8")
    shown = [
        np.array([[float(x) for x in line.replace(".", "0").split()] for line in block.splitlines()])
        for block in re.findall(r"<pre>(.*?)</pre>", re.sub("</?b>", "", page), re.DOTALL)
    ]
    assert all(np.array_equal(*pair) for pair in zip(shown, walker.printed().values(), strict=True))
    images = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    assert [b"<svg" in base64.b64decode(image) for image in images] == [
        True,
        True,
    ]  # drawing of the walker, and path of the turn
    for words in ("a short turn", "unlock yaw brake", "lock yaw brake", "1.000 s", "3.98 s", "cost of transport"):
        assert words in said
        assert words in page
    assert 'class="far"' not in page
    assert "http" not in page  # the page loads no external resources

    wrong = walker.printed() | {"D3": -walker.printed()["D3"]}
    monkeypatch.setattr(walker, "printed", lambda: wrong)
    monkeypatch.setattr(walker, "differences", lambda m, states: (1e-16, 1e-9))
    far = turn._replace(arrived=lambda run: run.q[-1, 0] > 100.0)
    monkeypatch.setattr(nelson_quinn_simulations, "COURSES", {"turning": far})
    code, said = command(capsys, "paper", "nelson-quinn", "--out", tmp_path, "--no-plot")
    assert code == 1
    assert "checks failed: matrix D3, walk 'turning', accelerations with motors" in said
    page = (tmp_path / "nelson-quinn.html").read_text(encoding="utf-8")
    assert page.count('class="far"') == 1
    assert "matplotlib" in page


def test_muir_neuman_page_shows_that_vectors_matrices_and_equations_agree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, said = command(capsys, "paper", "muir-neuman", "--out", tmp_path, "--no-plot")
    assert code == 0, said
    assert "all 71 values and equations agree; 10 of the printed ones have misprints" in said
    page = (tmp_path / "muir-neuman.html").read_text(encoding="utf-8")
    assert page.count("<td>yes</td>") == 71
    for symbol in ("<sup>L12</sup><i>C</i><sub>L1L2</sub>", *(f"<i>({k})</i>" for k in range(1, 12))):
        assert symbol in page

    monkeypatch.setattr(muir_neuman_pendulum, "g", 9.8)  # the printed formulas with another gravity
    code, said = command(capsys, "paper", "muir-neuman", "--out", tmp_path, "--no-plot")
    assert code == 1
    assert "values that differ: ^L12 f_gL1, ^L22 f_gL2, ^A f_eL1" in said


@pytest.mark.parametrize("simulated", [muir_neuman_friction.swinging_pendulum, muir_neuman_friction.swaying_biped])
def test_friction_heat_of_the_pins_equals_the_energy_that_the_mechanism_loses(
    simulated: Callable[[float], lw.Run],
) -> None:
    run = simulated(1.0)
    assert run["friction.heat"][-1].sum() == pytest.approx(run.energy[0] - run.energy[-1], rel=1e-8)


def test_paper_command_rejects_invalid_names_and_folders_with_a_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = command(capsys, "paper", "wendland", "--out", tmp_path)
    assert code == 2
    assert "Did you mean 'wendlandt'" in said
    (tmp_path / "file").write_text("")
    code, said = command(capsys, "paper", "wendlandt", "--out", tmp_path / "file")
    assert code == 2
    assert "cannot write to the folder" in said
