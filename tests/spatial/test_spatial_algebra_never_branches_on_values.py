"""The spatial algebra gives the same result on floats and on scalars that hide their value, for each choice."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from linkwork.spatial import ArticulatedInertia, Force, Motion, RigidInertia, Transform
from linkwork.spatial import inertia as inertia_module
from linkwork.spatial import rotation as rot
from linkwork.spatial import scalar as scalar_module
from linkwork.spatial import transform as transform_module
from linkwork.spatial import vectors as vectors_module
from linkwork.spatial.scalar import Array
from random_mechanisms import relative
from random_spatial_quantities import force, motion, positive, rigid, rotation, transform, unit
from scalars_of_unknown_value import Opaque, from_opaque, lift, to_opaque

RNG = np.random.default_rng(1)
X_AXIS, OBLIQUE = np.array([1.0, 0.0, 0.0]), unit(RNG)
Q, R = unit(RNG, 4) * 1.7, rotation(RNG)
U, V, W, F = Motion.of(RNG.normal(size=(6, 2))), motion(RNG), motion(RNG), force(RNG)
X, Y = transform(RNG), transform(RNG)
I, J = rigid(RNG), rigid(RNG)
P = I.articulated()
G = Force.of(RNG.normal(size=(6, 2)))
SQUARES = (0.0, 0.1, 0.25, 3.0)
LOCKED = [rot.matrix_from_rpy(0.3, np.pi / 2, 0.4), np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])]
VECTORS = [np.zeros(3), unit(RNG) * 1e-9, unit(RNG) * 0.3, unit(RNG) * 2.0, X_AXIS * np.pi]
# Each of the four components largest, with the scalar part of either sign: every pivot and the change of sign.
PIVOTS = [np.insert(np.array([s * 0.1, 0.2, -0.3]), k, 1.0) for k in range(4) for s in (1.0, -1.0)]
MATRICES = [rot.matrix_from_quaternion(q) for q in PIVOTS]

VALUE_TYPES = (Transform, Motion, Force, RigidInertia, ArticulatedInertia)
Function = Callable[..., Any]
Case = tuple[Function, tuple[Any, ...]]


def over(function: Function, *arguments: Any) -> list[Case]:
    """One case for each single argument."""
    return [(function, (argument,)) for argument in arguments]


ROTATION: dict[str, list[Case]] = {
    "product": [(rot.product, (Q, Q[::-1]))],
    **{f.__name__: over(f, Q) for f in (rot.conjugate, rot.normalized, rot.W_L, rot.W_R, rot.W_b, rot.W_s)},
    **{f.__name__: over(f, Q) for f in (rot.B_b, rot.B_s, rot.matrix_from_quaternion)},
    "quaternion_from_matrix": over(rot.quaternion_from_matrix, *MATRICES),
    "matrix_about_axis": over(lambda angle: rot.matrix_about_axis(OBLIQUE, angle), 0.7),
    "quaternion_about_axis": [(rot.quaternion_about_axis, (OBLIQUE, 0.7))],
    "axis_angle": over(rot.axis_angle, Q, -Q, np.array(rot.IDENTITY)),
    "matrix_from_rpy": [(rot.matrix_from_rpy, (0.3, -0.4, 2.0))],
    "rpy_from_matrix": over(rot.rpy_from_matrix, R, R.T, *LOCKED),
    "direction_cosines": [(rot.direction_cosines, (0.3, -0.4, 2.0))],
    "rpy_from_direction_cosines": over(rot.rpy_from_direction_cosines, R, *LOCKED),
    **{f.__name__: over(f, *SQUARES) for f in (rot.half_sinc, rot.exp_coefficient, rot.log_coefficient)},
    "angle_per_sine": over(rot.angle_per_sine, 0.7, -0.4),
    "exp_quaternion": over(rot.exp_quaternion, *VECTORS),
    "log_quaternion": over(rot.log_quaternion, *PIVOTS, np.array(rot.IDENTITY), -np.array(rot.IDENTITY)),
    "exp_matrix": over(rot.exp_matrix, *VECTORS),
    "log_matrix": over(rot.log_matrix, *MATRICES, np.eye(3)),
}
SCALAR: dict[str, list[Case]] = {
    "where": [(lambda a, b: scalar_module.where(a < b, a * Q, Q), (s, 1.0)) for s in (0.5, 2.0)],
    "lookup": [(lambda a: scalar_module.lookup(R, a), (s,)) for s in (-1.0, 1.5, 9.0)],
    "minimum": [(scalar_module.minimum, pair) for pair in ((0.5, 2.0), (2.0, 0.5))],
    "maximum": [(lambda a: scalar_module.maximum(1.0, a), (s,)) for s in (0.5, 2.0)],
    "largest": over(lambda a: scalar_module.largest(a), OBLIQUE),
    "real": over(lambda a: scalar_module.real(a) * 1.0, -0.7),
    "arctan2": [(scalar_module.arctan2, pair) for pair in ((0.5, -2.0), (-2.0, 0.5))],
    "dot": [(scalar_module.dot, (V.linear, V.angular))],
    "cross": [(scalar_module.cross, (V.linear, V.angular)), (scalar_module.cross, (V.linear, R))],
    "hat": over(scalar_module.hat, OBLIQUE),
    "symmetric": over(lambda A: scalar_module.symmetric(lambda i, j: A[i, j]), R),
    "congruence": [(scalar_module.congruence, (R, positive(RNG, 3)))],
    **{
        factor.__name__: [
            (lambda A, b, factor=factor: factor(A).solve(b), (positive(RNG, d), b))
            for d in range(1, 7)
            for b in (RNG.normal(size=d), RNG.normal(size=(d, 2)))
        ]
        for factor in (scalar_module.ldlt, scalar_module.lu)
    },
}
TRANSFORM: dict[str, list[Case]] = {
    "place": [(Transform.place, (V.linear, V.angular))],
    "__matmul__": [(Transform.__matmul__, (X, Y))],
    "inverse": over(Transform.inverse, X),
    "point": [(Transform.point, (X, OBLIQUE))],
    "up": [(Transform.up, (X, x)) for x in (V, F, U, G, I, P)],
    "down": [(Transform.down, (X, x)) for x in (V, F, U, G)],
    "matrix": over(lambda X: X.matrix, X),
    "snapped": over(Transform.snapped, X),
    "snap": over(transform_module.snap, R),
    "exp_transform": over(transform_module.exp_transform, *(Motion(V.linear, w) for w in VECTORS)),
    "log_transform": over(transform_module.log_transform, *(Transform(A, X.p) for A in (*MATRICES, np.eye(3)))),
}
VECTOR: dict[str, list[Case]] = {
    "of": over(Motion.of, V.array),
    "array": over(lambda x: x.array, V, U),
    "__add__": [(Motion.__add__, (V, W))],
    "__sub__": [(Motion.__sub__, (V, W))],
    "__neg__": over(Motion.__neg__, V),
    "__mul__": [(Motion.__mul__, (V, 0.7))],
    "__matmul__": [(Motion.__matmul__, (U, np.array([0.3, -2.0])))],
    "rotated": [(Motion.rotated, (V, R))],
    "cross": [(Motion.cross, (V, x)) for x in (W, F, U, G)],
    "pair": [(Motion.pair, pair) for pair in ((V, F), (U, F), (V, G), (U, G))],
    "to_frame_a": [(Motion.to_frame_a, (V, X)), (Force.to_frame_a, (F, X))],
    "to_frame_b": [(Motion.to_frame_b, (V, X)), (Force.to_frame_b, (F, X))],
}
INERTIA: dict[str, list[Case]] = {
    "of": [(RigidInertia.of, (1.5, OBLIQUE, positive(RNG, 3)))],
    "__add__": [(RigidInertia.__add__, (I, J)), (ArticulatedInertia.__add__, (P, J.articulated()))],
    "__matmul__": [(RigidInertia.__matmul__, (I, V)), *((ArticulatedInertia.__matmul__, (P, x)) for x in (V, U))],
    "gyroscopic": [(RigidInertia.gyroscopic, (I, V))],
    "central": over(lambda x: x.central, I),
    "to_frame_a": [(RigidInertia.to_frame_a, (I, X)), (ArticulatedInertia.to_frame_a, (P, X))],
    "articulated": over(RigidInertia.articulated, I),
    "less": [(ArticulatedInertia.less, (P, P @ U, P @ U))],
    "matrix": over(lambda x: x.matrix, I, P),
}
TABLES = {"rotation": ROTATION, "scalar": SCALAR, "transform": TRANSFORM, "vector": VECTOR, "inertia": INERTIA}
CASES = [
    pytest.param(*case, id=f"{table}-{name}-{k}")
    for table, cases in TABLES.items()
    for name, some in cases.items()
    for k, case in enumerate(some)
]


def as_opaque(argument: Any) -> Any:
    """The same argument with scalars of unknown value."""
    if isinstance(argument, VALUE_TYPES):
        return type(argument)(*(as_opaque(x) for x in vars(argument).values()))
    return to_opaque(argument) if np.ndim(argument) else lift(argument)


def flat(result: Any) -> Array:
    """All numbers of a result in one array."""
    values = (
        vars(result).values() if isinstance(result, VALUE_TYPES) else result if isinstance(result, tuple) else [result]
    )
    return np.concatenate([np.ravel(x) for x in values])


@pytest.mark.parametrize(("function", "arguments"), CASES)
def test_spatial_algebra_never_branches_on_the_value_of_a_number(
    function: Function, arguments: tuple[Any, ...]
) -> None:
    found, expected = flat(function(*map(as_opaque, arguments))), flat(function(*arguments))
    assert any(isinstance(x, Opaque) for x in found)  # the numbers did go through
    assert expected.dtype == float
    assert relative(from_opaque(found), expected) < 2e-15


def test_samples_cover_both_branches_of_every_selection_in_rotation_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: dict[int, set[bool]] = {}

    def recorded(condition: Any, yes: Any, no: Any) -> Any:
        caller = inspect.stack(0)[1].frame
        taken.setdefault(caller.f_code.co_firstlineno * 10_000 + caller.f_lasti, set()).add(bool(condition))
        return scalar_module.where(condition, yes, no)

    monkeypatch.setattr(rot, "where", recorded)
    for cases in ROTATION.values():
        for function, arguments in cases:
            function(*arguments)
    assert len(taken) == inspect.getsource(rot).count("where(")
    assert all(sides == {True, False} for sides in taken.values())


@pytest.mark.parametrize(
    ("modules", "table"),
    [
        ((rot,), ROTATION),
        ((scalar_module,), SCALAR),
        ((transform_module, Transform), TRANSFORM),
        ((vectors_module, vectors_module.SixVector, Motion, Force), VECTOR),
        ((inertia_module, RigidInertia, ArticulatedInertia), INERTIA),
    ],
)
def test_samples_cover_every_function_of_the_spatial_algebra(
    modules: tuple[ModuleType | type, ...], table: dict[str, list[Case]]
) -> None:
    without_numbers = {"identity", "zero", "may_be_nonzero", "own_copy"}  # the last treats opaque numbers differently
    written_by_dataclass = {"__init__", "__repr__", "__setattr__", "__delattr__", "__replace__", "__getstate__"}
    found: set[str] = set()
    for owner in modules:
        home = owner.__name__ if inspect.ismodule(owner) else owner.__module__
        for name, member in vars(owner).items():
            code = getattr(member, "fget", None) or getattr(member, "__func__", member)
            if inspect.isfunction(code) and code.__module__ == home:
                found.add(name)
    public = {name for name in found if name.startswith("__") or not name.startswith("_")}
    assert public - without_numbers - written_by_dataclass == set(table)


@pytest.mark.parametrize("holds", [True, False])
def test_where_accepts_booleans_arrays_and_traced_conditions(holds: bool) -> None:
    small = 1.0 if holds else 3.0
    conditions = [small < 2.0, np.float64(small) < 2.0, np.array([small])[0] < 2.0, lift(small) < 2.0]
    for condition in conditions:
        assert from_opaque(scalar_module.where(condition, 5.0, 7.0)) == (5.0 if holds else 7.0)
        yes, no = np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])
        assert (from_opaque(scalar_module.where(condition, yes, no)) == (yes if holds else no)).all()


def test_only_zeros_of_known_value_count_as_zero() -> None:
    there = scalar_module.may_be_nonzero
    assert [there(0.0), there(np.float64(0.0)), there(2.0), there(lift(0.0)), there(lift(2.0))] == [False] * 2 + [
        True
    ] * 3


def test_scalars_of_unknown_value_reject_conversion_and_branching() -> None:
    peeks: list[Function] = [float, bool, int, lambda x: x < 2.0 and x, lambda x: np.array([x], dtype=float)]
    for peek in peeks:
        with pytest.raises(AssertionError, match="algorithm"):
            peek(lift(1.0))


@pytest.mark.parametrize(("y", "x"), [(0.5, 2.0), (-0.5, -2.0), (1.0, 0.0), (0.0, 3.0)])
def test_arctan2_accepts_complex_numbers_for_derivatives_by_complex_steps(y: float, x: float) -> None:
    """The directional derivative matches central differences; the value is the same to the bit."""
    dy, dx, h = 0.3, -0.8, 1e-5
    found = scalar_module.arctan2(y + 1j * 1e-30 * dy, x + 1j * 1e-30 * dx)
    slope = (np.arctan2(y + h * dy, x + h * dx) - np.arctan2(y - h * dy, x - h * dx)) / (2.0 * h)
    assert scalar_module.real(found) == np.arctan2(y, x)
    assert abs(found.imag / 1e-30 - slope) < 1e-9
