"""Wrong shapes, names and values in a call raise one clear LinkworkError that states the valid ones."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw

M = lw.example("double_pendulum")
D = lw.compile(M, target="numpy")
BALL = lw.example("heavy_top")
OK = np.zeros(2)

BAD_CALLS: dict[str, tuple[Callable[[], Any], type[lw.LinkworkError], str]] = {
    "q too long": (lambda: D.gravity(np.zeros(3)), lw.ShapeError, r"q has shape \(3,\), expected \(..., 2\)"),
    "q a number": (lambda: D.gravity(1.0), lw.ShapeError, r"q has shape \(\), expected \(..., 2\)"),
    "v too short": (lambda: D.bias(OK, [1.0]), lw.ShapeError, r"v has shape \(1,\), expected \(..., 2\)"),
    "wrenches flat": (
        lambda: D.forward_dynamics(OK, OK, OK, np.zeros(12)),
        lw.ShapeError,
        r"wrenches has shape \(12,\), expected \(..., 2, 6\)",
    ),
    "batches clash": (
        lambda: D.bias(np.zeros((3, 2)), np.zeros((4, 2))),
        lw.ShapeError,
        r"do not broadcast together: q: \(3,\), v: \(4,\)",
    ),
    "text": (lambda: D.gravity("left"), lw.ShapeError, "q must be an array of real numbers"),
    "list of texts": (lambda: D.gravity(["a", "b"]), lw.ShapeError, "q must be an array of real numbers"),
    "ragged": (lambda: D.gravity([[1, 2], [3]]), lw.ShapeError, "q must be an array of real numbers"),
    "nothing": (lambda: D.gravity(None), lw.ShapeError, "q must be an array of real numbers"),
    "complex": (lambda: D.gravity([1j, 0]), lw.ShapeError, "q must be an array of real numbers"),
    "NaN in": (lambda: D.bias([0.0, np.nan], OK), lw.NonFinite, r"q\[1\] is nan"),
    "infinity in": (lambda: D.bias(OK, [[0, 0], [np.inf, 0]]), lw.NonFinite, r"v\[1, 0\] is inf"),
    "quaternion of no length": (
        lambda: lw.compile(BALL, target="numpy").gravity(np.zeros((2, 4))),
        lw.NonFinite,
        r"gravity of member 0 is not finite.*joint 'point'.*quaternion",
    ),
    "unknown frame": (lambda: D.jacobian(OK, "ent"), lw.ModelError, "no frame 'ent'. Did you mean 'end'"),
    "unknown expression": (lambda: D.jacobian(OK, "end", "wrld"), lw.ModelError, "Did you mean 'world'"),
    "unknown target": (lambda: lw.compile(M, target="gpu"), lw.ModelError, "no target 'gpu'.*numpy"),
    "threads": (lambda: lw.compile(M, target="numpy", threads=2), lw.LinkworkError, "on one thread"),
    "unknown parameter": (
        lambda: lw.compile(M, parameters=["link 1.maas"], target="numpy"),
        lw.ModelError,
        "Did you mean 'link 1.mass'",
    ),
    "parameter not named as varying": (
        lambda: D.gravity(OK, parameters={"link 1.mass": 1.0}),
        lw.ModelError,
        "Name it in compile",
    ),
    "parameter of wrong shape": (
        lambda: lw.compile(M, ["gravity"], target="numpy").gravity(OK, parameters={"gravity": 9.81}),
        lw.ShapeError,
        "gravity has shape",
    ),
    "unphysical parameter": (
        lambda: lw.compile(M, ["link 1.mass"], target="numpy").gravity(OK, parameters={"link 1.mass": -1.0}),
        lw.ModelError,
        "mass': must be >= 0",
    ),
    "one unphysical parameter of many": (
        lambda: lw.compile(M, ["link 1.mass"]).gravity(OK, parameters={"link 1.mass": [1.0, -2.0, 3.0]}),
        lw.ModelError,
        "'link 1.mass': must be >= 0; got -2",
    ),
    "unknown example": (lambda: lw.example("heavy_topp"), lw.ModelError, "Did you mean 'heavy_top'"),
    "unknown formulation": (lambda: lw.formulations["newton"], lw.ModelError, "newton-euler"),
    "not a mechanism": (lambda: lw.compile("arm"), lw.LinkworkError, "needs a Mechanism"),  # pyright: ignore
    "no samples": (lambda: lw.cross_check(M, samples=0), lw.LinkworkError, "samples must be at least 1"),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_error_of_an_invalid_call_names_the_culprit_and_the_remedy(case: str) -> None:
    call, kind, message = BAD_CALLS[case]
    with pytest.raises(kind, match=message):
        call()


def test_singular_position_error_names_member_joint_and_line() -> None:
    """Two pins on one axis with a massless body between them: only the sum of their angles has an equation."""
    b = lw.Builder("idle pin")
    b.body("nothing")
    b.body("mass", mass=1.0, com=(1.0, 0.0, 0.0))
    b.joint("inner", lw.Revolute((0, 0, 1)), "world", "nothing")
    b.joint("outer", lw.Revolute((0, 0, 1)), "nothing", "mass")
    m = b.build()
    d = lw.compile(m, target="numpy")
    with pytest.raises(lw.NonFinite, match=r"forward_dynamics of member 0 .* joint 'inner' in `.*pivot.*`"):
        d.forward_dynamics([[0.0, 0.0], [1.0, 0.0]], OK, OK)
    for name, formulation in lw.formulations.items():
        with pytest.raises(lw.NonFinite, match=f"{name}' of member 0"):
            formulation(m).forward_dynamics([0.0, 0.0], OK, OK)
    with pytest.raises(lw.NonFinite, match="of member 0"):
        lw.cross_check(m)


def test_failing_calls_give_no_numpy_warnings_and_restore_numpy_settings() -> None:
    before = np.geterr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(lw.NonFinite):
            lw.compile(BALL, target="numpy").forward_dynamics(np.zeros(4), np.zeros(3), np.zeros(3))
    assert np.geterr() == before


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_batch_with_check_false_returns_the_results_of_the_valid_members(target: str) -> None:
    """One member has a quaternion of length zero, one has a NaN velocity."""
    m = lw.example("heavy_top")
    q, v = np.tile(m.random(0), (6, 1)), np.ones((6, m.nv))
    expected = lw.compile(m, target=target).forward_dynamics(q, v, np.zeros(m.nv))
    q[1], v[4, 0] = 0.0, np.nan
    found = lw.compile(m, target=target, check=False).forward_dynamics(q, v, np.zeros(m.nv))
    bad = ~np.isfinite(found).all(axis=1)
    assert bad.tolist() == [False, True, False, False, True, False]
    assert (found[~bad] == expected[~bad]).all()
    with pytest.raises(lw.NonFinite):
        lw.compile(m, target=target).forward_dynamics(q, v, np.zeros(m.nv))
