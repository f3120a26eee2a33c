"""Invalid arguments of the balance controller are rejected with a reason and a remedy."""

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from legged_mechanisms import FEET, quadruped
from linkwork.examples import biped, biped_hit

BIPED, HERE = biped.build(), np.array([0, 0, 1.0, 1, 0, 0, 0])


def rejection_message(m: Any, feet: Any, **options: Any) -> str:
    def called() -> None:
        controller = lw.balance(m, feet, **({"target": HERE, "kp": 10.0, "kd": 5.0} | options))
        controller(0.0, m.neutral(), np.zeros(m.nv))

    with pytest.raises(lw.LinkworkError) as found:
        called()
    return str(found.value)


def test_balance_rejects_unknown_or_invalid_feet() -> None:
    assert "left foot centre" in rejection_message(BIPED, ["left foot center"])
    assert "needs at least one foot" in rejection_message(BIPED, [])
    assert "twice" in rejection_message(BIPED, ["left foot", "left foot"])
    assert "on the base itself" in rejection_message(BIPED, ["trunk"])
    assert "it is the world" in rejection_message(BIPED, ["world"])
    assert "Mechanism" in rejection_message("biped", ["left foot"])


def test_balance_rejects_fixed_bases_and_several_bases() -> None:
    arm = lw.example("double_pendulum")
    text = rejection_message(arm, [arm.bodies[-1].name])
    assert "Revolute" in text
    assert "Free" in text
    text = rejection_message(biped_hit.build(), ["left foot", "block"])
    assert "'trunk' and 'block'" in text


def test_balance_rejects_legs_with_too_few_joints() -> None:
    text = rejection_message(quadruped(), FEET)
    assert "'hind right foot' has 3 joint velocities, but needs 6" in text
    assert "3 directions of the base's motion" in text
    assert "point_feet=True" in text
    b = lw.Builder("poles").body("body", 1.0, inertia=(1, 1, 1)).joint("float", lw.Free(), "world", "body")
    for k in range(3):
        b.body(f"pole {k}", 1.0, com=(0, 0, -0.5), inertia=(1, 1, 1))
        b.joint(f"hip {k}", lw.Universal(), "body", f"pole {k}", at=np.eye(3)[k])
    text = rejection_message(b.build(), [f"pole {k}" for k in range(3)], point_feet=True)
    assert "1 direction of" in text
    assert "has 2 joint velocities, but needs 3" in text


def test_balance_rejects_too_few_point_feet() -> None:
    m = quadruped()
    assert "the line through both feet" in rejection_message(m, FEET[:2], point_feet=True)
    assert "rotation about the foot" in rejection_message(m, FEET[:1], point_feet=True)


def test_balance_rejects_loops_and_mimic_joints() -> None:
    assert "loops" in rejection_message(lw.example("four_bar"), ["coupler"])
    b = (
        lw.Builder("pair")
        .body("a", 1.0, inertia=(1, 1, 1))
        .body("b", 1.0, inertia=(1, 1, 1))
        .body("c", 1.0, inertia=(1, 1, 1))
    )
    b.joint("float", lw.Free(), "world", "a").joint("one", lw.Revolute((1, 0, 0)), "a", "b")
    b.joint("two", lw.Revolute((1, 0, 0)), "b", "c").mimic("two", of="one")
    assert "mimic" in rejection_message(b.build(), ["c"])


def test_balance_rejects_invalid_gains_limits_and_options() -> None:
    assert "big base, exact" in rejection_message(BIPED, biped.FEET, dynamics="rough")
    assert "above 0" in rejection_message(BIPED, biped.FEET, friction=-0.3)
    assert "kp must be at least 0" in rejection_message(BIPED, biped.FEET, kp=-1.0)
    assert "(6,)" in rejection_message(BIPED, biped.FEET, kp=np.ones(12))
    assert "(7,)" in rejection_message(BIPED, biped.FEET, target=np.zeros(3))
    assert "zero" in rejection_message(BIPED, biped.FEET, target=np.zeros(7))
    assert "zero" in rejection_message(BIPED, biped.FEET, target=lw.Reference([0.0, 1.0], np.zeros((2, 7))))
    assert "(7,)" in rejection_message(BIPED, biped.FEET, target=lw.Reference([0.0, 1.0], np.zeros((2, 3))))
    assert "(6,)" in rejection_message(BIPED, biped.FEET, target=lambda t: (HERE, np.zeros(3), np.zeros(6)))
    assert "'contacts'" in rejection_message(BIPED, biped.FEET, standing="ground")
    assert "'contacts'" in rejection_message(BIPED, biped.FEET, standing=np.nan)
    assert "must return 2 values" in rejection_message(BIPED, biped.FEET, standing=lambda t, q, v: [True])
    assert "(18,)" in rejection_message(BIPED, biped.FEET, others=lambda t, q, v: np.zeros(3))


def test_balance_by_friction_or_contacts_rejects_feet_without_contact_points() -> None:
    b = lw.Builder("bare").body("body", 1.0, inertia=(1, 1, 1)).joint("float", lw.Free(), "world", "body")
    b.body("foot", 1.0, inertia=(1, 1, 1)).joint("leg", lw.Free(), "body", "foot")
    m = b.build()
    assert "a sole needs at least three" in rejection_message(m, ["foot"], friction=0.5)
    assert "Builder.touch" in rejection_message(m, ["foot"], standing="contacts")
