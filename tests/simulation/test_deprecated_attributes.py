"""Old names of attributes still work for one release, and warn."""

import pytest

import linkwork as lw


def test_the_old_name_of_an_outcomes_diagnosis_warns() -> None:
    outcome = lw.simulate(lw.example("double_pendulum"), duration=0.1, stop_when=lambda t, q, v: t - 0.05).outcome
    with pytest.warns(DeprecationWarning, match="Outcome.diagnosis"):
        assert outcome.evidence == outcome.diagnosis == "stop_when"
