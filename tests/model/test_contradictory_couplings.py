"""A joint driven at two ratios through any chain of couplings is reported before the simulation starts."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from shaft_mechanisms import shafts


def build_error(b: lw.Builder) -> str:
    with pytest.raises(lw.ModelError) as caught:
        b.build()
    return str(caught.value)


def test_ring_of_clutches_with_inconsistent_ratios_is_rejected():
    b = shafts().clutch("ab", "a", "b", 2.0, engaged=True).clutch("bc", "b", "c", 3.0, engaged=True)
    message = build_error(b.clutch("ca", "c", "a", 1 / 5, engaged=True))
    assert "clutch 'ca'" in message
    assert "clutch 'ab'" in message
    assert "clutch 'bc'" in message
    assert "it could not move" in message


def test_ring_of_clutches_with_consistent_ratios_is_accepted():
    b = shafts().clutch("ab", "a", "b", 2.0, engaged=True).clutch("bc", "b", "c", 3.0, engaged=True)
    m = b.clutch("ca", "c", "a", 1 / 6, engaged=True).build()
    v = lw.compile(m).consistent(np.zeros(5), [1.0, 0, 0, 0, 0])
    assert v[:3] == pytest.approx(v[0] * np.array([1, 2, 6]), rel=1e-9)
    assert v[0] > 0.0


def test_gear_and_clutch_that_couple_joints_at_different_ratios_are_rejected():
    b = shafts().transmission("gearbox", "a", "b", (2.0, 4.0), selected=2).clutch("ab", "a", "b", 0.5, engaged=True)
    message = build_error(b)
    assert "transmission 'gearbox'" in message
    assert "clutch 'ab'" in message
    assert "drives 'a' at another ratio" in message
    b = shafts().transmission("gearbox", "a", "b", (2.0, 4.0), selected=1).clutch("ab", "a", "b", 0.5, engaged=True)
    assert b.build().nv == 5


def test_differential_with_both_wheels_geared_to_its_shaft_is_rejected():
    b = shafts().differential("axle", "a", "b", "c").clutch("left", "a", "b", 3.0, engaged=True)
    message = build_error(b.clutch("right", "a", "c", -2.0, engaged=True))
    assert "differential 'axle'" in message
    assert "clutch 'left'" in message
    assert "clutch 'right'" in message


def test_locked_differential_is_accepted_by_the_check_for_contradictions():
    b = shafts().differential("axle", "a", "b", "c").clutch("lock", "b", "c", engaged=True)
    assert lw.compile(b.build()).consistent(np.zeros(5), [1.0, 0, 0, 0, 0])[0] > 0.0


def test_check_for_contradictory_couplings_includes_mimic_joints():
    b = shafts().mimic("b", "a", 2.0).clutch("bc", "b", "c", 1.0, engaged=True)
    message = build_error(b.clutch("ac", "a", "c", 3.0, engaged=True))
    assert "clutch 'ac'" in message
    assert "clutch 'bc'" in message


def test_couplings_that_hold_a_sum_of_speeds_at_zero_are_accepted():
    """Motors at rest hold the joints that their cables run over."""
    b = shafts().couple("first", {"a": 1, "b": 1}).couple("second", {"a": 1, "b": 1, "c": 1})
    assert lw.compile(b.build()).consistent(np.zeros(5), np.ones(5))[2] == pytest.approx(0.0, abs=1e-12)


def test_rolling_constraints_of_a_vehicle_are_accepted():
    """Two parallel axles allow only straight motion."""
    b = (
        lw.Builder("cart", gravity=(0, 0, 0))
        .body("cart", 1.0, inertia=(1, 1, 1))
        .joint("free", lw.Free(), "world", "cart")
    )
    b.couple("rear", {"free": [0, 1, 0, 0, 0, 0]}).couple("front", {"free": [0, 1, 0, 0, 0, 0.5]})
    v = lw.compile(b.build()).consistent([0, 0, 0, 1, 0, 0, 0], [1.0, 1, 0, 0, 0, 1])
    assert v == pytest.approx([1, 0, 0, 0, 0, 0], abs=1e-12)


def test_clutch_that_forces_a_joint_velocity_to_zero_is_rejected():
    message = build_error(shafts().clutch("odd", "a", {"a": 1, "b": 1}, 1.0, engaged=True))
    reason = "clutch 'odd': forces the velocity of 'b' to zero at this ratio, so it could not move"
    assert f"{reason}; to lock a joint, use a brake" in message


def test_coupling_that_repeats_a_mimic_relation_is_rejected():
    message = build_error(shafts().mimic("b", "a", 0.1).couple("rope", {"b": 3, "a": -0.3}))
    assert "coupling 'rope': mimic joints already impose this relation on 'b', 'a'" in message


def test_brakes_and_slipping_clutches_never_contradict():
    b = shafts().clutch("ab", "a", "b", 2.0, engaged=True).clutch("soft", "b", "c", 3.0, capacity=5.0, engaged=True)
    b.clutch("ca", "c", "a", 1 / 5, engaged=True).brake("brake", "d", engaged=True)
    assert b.clutch("beside", "a", "b", -1.0, capacity=2.0, engaged=True).build().nv == 5


def test_contradictory_schedule_is_rejected_at_its_entry():
    b = shafts().transmission("gearbox", "a", "b", (2.0, 4.0)).transmission("other", "b", "c", (3.0, 1.0))
    m = b.clutch("short", "a", "c", 1 / 6).build()
    good = [(0.1, "shift", "gearbox", 1), (0.2, "shift", "other", 1), (0.3, "engage", "short")]
    lw.simulate(m, np.zeros(5), duration=0.4, dt=0.01, schedule=good)
    with pytest.raises(lw.LinkworkError, match="entry 3 of the schedule: transmission 'other' drives") as caught:
        lw.simulate(m, np.zeros(5), duration=0.5, dt=0.01, schedule=[*good, (0.4, "shift", "gearbox", 2)])
    assert "clutch 'short'" in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ((0.1, "shift", "gearbox", 3), "selected must be a gear from 1 to 2, or 0 for neutral; got 3"),
        ((0.1, "shift", "gearbox", 1.5), "selected must be a gear from 1 to 2, or 0 for neutral; got 1.5"),
        ((0.1, "shift", "gearbox"), "must be (time, 'shift', name, gear) or (time, 'shift', name, ratio)"),
        ((0.1, "shift", "nothing", 1), "there is no clutch or ratchet or transmission 'nothing'"),
        ((0.1, "shift", "clutch", 0.0), "the ratio must not be 0"),
        (
            (0.1, "engage", "gearbox"),
            "there is no clutch or brake or ratchet or latch or differential or coupling 'gearbox'",
        ),
        ((0.1, "engage", "clutch", 2.0), "must be (time, 'engage', name)"),
    ],
)
def test_invalid_shift_entries_are_rejected(entry, message):
    m = shafts().transmission("gearbox", "a", "b", (2.0, 4.0)).clutch("clutch", "c", "d").build()
    with pytest.raises(lw.LinkworkError) as caught:
        lw.simulate(m, np.zeros(5), duration=0.2, dt=0.01, schedule=[entry])
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("a", "b", ()), "ratios must be numbers, one for each gear"),
        (("a", "b", (1.0, 0.0)), "the ratio of gear 2 must not be 0"),
        (("a", "b", (1.0, np.inf)), "ratios must be numbers"),
        (("a", "b", (1.0, 2.0), 3), "selected must be a gear from 1 to 2"),
        (("a", "a", (1.0,)), "driven: 'a' is the same joint as driving"),
        (("a", "x", (1.0,)), "driven: there is no joint 'x'"),
    ],
)
def test_invalid_transmissions_are_rejected(given, message):
    with pytest.raises(lw.ModelError) as caught:
        shafts().transmission("gearbox", *given).build()
    assert "transmission 'gearbox'" in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("a", "b", "b"), "right: 'b' is the same joint as left"),
        (("a", "b", "c", 0.0), "ratio must not be 0"),
        (("a", "b", "nose"), "right: there is no joint 'nose'"),
    ],
)
def test_invalid_differentials_are_rejected(given, message):
    with pytest.raises(lw.ModelError) as caught:
        shafts().differential("axle", *given).build()
    assert "differential 'axle'" in str(caught.value)
    assert message in str(caught.value)


def test_switched_elements_need_unique_names():
    message = build_error(shafts().clutch("x", "a", "b").differential("x", "c", "d", "e"))
    assert "differential 'x'" in message
    assert "has the name of a clutch" in message


def test_invalid_gear_of_a_batch_member_is_rejected():
    m = shafts().transmission("gearbox", "a", "b", (2.0, 4.0)).build()
    with pytest.raises(lw.ModelError, match="selected must be a gear from 1 to 2, or 0 for neutral; got 5"):
        lw.simulate(m, np.zeros((2, 5)), duration=0.1, dt=0.01, parameters={"gearbox.selected": [1, 5]})
    with pytest.raises(lw.ModelError, match="got 5"):
        lw.compile(m, parameters=["gearbox.selected"]).forward_dynamics(
            np.zeros(5), np.zeros(5), np.zeros(5), parameters={"gearbox.selected": 5}
        )
