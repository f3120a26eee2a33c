"""What cannot balance is told why, and what would."""

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.examples import biped, biped_hit
from standing_machines import FEET, quadruped

BIPED, HERE = biped.build(), np.array([0, 0, 1.0, 1, 0, 0, 0])


def refused(m: Any, feet: Any, **options: Any) -> str:
    def called() -> None:
        law = lw.balance(m, feet, **({"target": HERE, "kp": 10.0, "kd": 5.0} | options))
        law(0.0, m.neutral(), np.zeros(m.nv))

    with pytest.raises(lw.LinkworkError) as found:
        called()
    return str(found.value)


def test_feet_that_are_not_there() -> None:
    assert "left foot centre" in refused(BIPED, ["left foot center"])
    assert "needs at least one foot" in refused(BIPED, [])
    assert "twice" in refused(BIPED, ["left foot", "left foot"])
    assert "on the base itself" in refused(BIPED, ["trunk"])
    assert "it is the world" in refused(BIPED, ["world"])
    assert "Mechanism" in refused("biped", ["left foot"])


def test_bases_that_do_not_float_or_are_several() -> None:
    arm = lw.example("double_pendulum")
    text = refused(arm, [arm.bodies[-1].name])
    assert "Revolute" in text
    assert "Free" in text
    text = refused(biped_hit.build(), ["left foot", "block"])
    assert "'trunk' and 'block'" in text


def test_legs_that_are_too_weak_lose_directions() -> None:
    text = refused(quadruped(), FEET)
    assert "'hind right foot' has 3 velocities" in text
    assert "3 directions of the base's motion" in text
    assert "point_feet=True" in text
    b = lw.Builder("poles").body("body", 1.0, inertia=(1, 1, 1)).joint("float", lw.Free(), "world", "body")
    for k in range(3):
        b.body(f"pole {k}", 1.0, com=(0, 0, -0.5), inertia=(1, 1, 1))
        b.joint(f"hip {k}", lw.Universal(), "body", f"pole {k}", at=np.eye(3)[k])
    text = refused(b.build(), [f"pole {k}" for k in range(3)], point_feet=True)
    assert "1 direction of" in text
    assert "has 2 velocities" in text


def test_too_few_points_to_stand_on() -> None:
    m = quadruped()
    assert "the line through both feet" in refused(m, FEET[:2], point_feet=True)
    assert "rotation about the foot" in refused(m, FEET[:1], point_feet=True)


def test_loops_and_mimics() -> None:
    assert "loops" in refused(lw.example("four_bar"), ["coupler"])
    b = (
        lw.Builder("pair")
        .body("a", 1.0, inertia=(1, 1, 1))
        .body("b", 1.0, inertia=(1, 1, 1))
        .body("c", 1.0, inertia=(1, 1, 1))
    )
    b.joint("float", lw.Free(), "world", "a").joint("one", lw.Revolute((1, 0, 0)), "a", "b")
    b.joint("two", lw.Revolute((1, 0, 0)), "b", "c").mimic("two", of="one")
    assert "mimic" in refused(b.build(), ["c"])


def test_numbers_and_choices() -> None:
    assert "big base, exact" in refused(BIPED, biped.FEET, dynamics="rough")
    assert "above 0" in refused(BIPED, biped.FEET, friction=-0.3)
    assert "kp must be at least 0" in refused(BIPED, biped.FEET, kp=-1.0)
    assert "(6,)" in refused(BIPED, biped.FEET, kp=np.ones(12))
    assert "(7,)" in refused(BIPED, biped.FEET, target=np.zeros(3))
    assert "zero" in refused(BIPED, biped.FEET, target=np.zeros(7))
    assert "zero" in refused(BIPED, biped.FEET, target=lw.Reference([0.0, 1.0], np.zeros((2, 7))))
    assert "(7,)" in refused(BIPED, biped.FEET, target=lw.Reference([0.0, 1.0], np.zeros((2, 3))))
    assert "(6,)" in refused(BIPED, biped.FEET, target=lambda t: (HERE, np.zeros(3), np.zeros(6)))
    assert "'contacts'" in refused(BIPED, biped.FEET, standing="ground")
    assert "'contacts'" in refused(BIPED, biped.FEET, standing=np.nan)
    assert "must return 2 values" in refused(BIPED, biped.FEET, standing=lambda t, q, v: [True])
    assert "(18,)" in refused(BIPED, biped.FEET, others=lambda t, q, v: np.zeros(3))


def test_soles_without_contacts() -> None:
    b = lw.Builder("bare").body("body", 1.0, inertia=(1, 1, 1)).joint("float", lw.Free(), "world", "body")
    b.body("foot", 1.0, inertia=(1, 1, 1)).joint("leg", lw.Free(), "body", "foot")
    m = b.build()
    assert "a sole needs at least three" in refused(m, ["foot"], friction=0.5)
    assert "Builder.touch" in refused(m, ["foot"], standing="contacts")
