"""`jacobian(f)` is the derivative of f: on floats, in traces, in loops, of derivatives, and with captured values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linkwork.compiler.function_jacobian import is_structurally_zero, jacobian, jacobian_if_short, traced_on_new_inputs
from linkwork.compiler.kernel import Kernel
from linkwork.errors import NotTraceable
from linkwork.spatial.scalar import Array
from linkwork.spatial.traceable_loops import iterate, repeat


def compiled(function: Any, result: tuple[int, ...], *values: Any) -> Array:
    kernel = Kernel("test", function, [np.shape(v) for v in values], [result], None)
    return kernel.over_batch([np.asarray(v, dtype=float) for v in values], (), None)[0][0]


def value(x: Array, y: Array) -> Any:
    return np.sin(x[0]) * y[1] + x[1] ** 3 * x[0] + y[0] / x[1]


X, Y = np.array([0.7, 1.3]), np.array([-0.4, 2.0])
GRADIENT = np.array([np.cos(0.7) * 2.0 + 1.3**3, 3.0 * 1.3**2 * 0.7 + 0.4 / 1.3**2])
HESSIAN = np.array([[-np.sin(0.7) * 2.0, 3.0 * 1.3**2], [3.0 * 1.3**2, 6.0 * 1.3 * 0.7 - 0.8 / 1.3**3]])
MIXED = np.array([[0.0, np.cos(0.7)], [-1.0 / 1.3**2, 0.0]])


def test_traced_jacobian_gives_gradients_and_second_derivatives() -> None:
    for run in (lambda f, shape: f(X, Y), lambda f, shape: compiled(f, shape, X, Y)):
        assert run(jacobian(value), (2,)) == pytest.approx(GRADIENT, rel=1e-14)
        assert run(jacobian(jacobian(value)), (2, 2)) == pytest.approx(HESSIAN, rel=1e-14)
        assert run(jacobian(jacobian(value), 1), (2, 2)) == pytest.approx(MIXED, rel=1e-14)


def test_arguments_of_jacobian_can_be_equal_constant_or_scalar() -> None:
    """Each argument is differentiated separately, also if arguments are the same value or not traced."""

    def twice(x: Array) -> Array:
        return jacobian(lambda a, b: a[0] * b[0] * b[0])(x, x)

    assert compiled(twice, (1,), [3.0]) == pytest.approx([9.0])
    assert compiled(lambda x: jacobian(value)(X, x), (2,), Y) == pytest.approx(GRADIENT, rel=1e-14)
    assert compiled(lambda t: jacobian(lambda t: t * t * t)(t), (), 2.0) == pytest.approx(12.0)


def test_jacobian_treats_captured_values_as_constant() -> None:
    def function(x: Array, y: Array) -> Array:
        z = x * y
        return jacobian(lambda a: (a * z).sum() * a[0])(x)

    z = X * Y
    wanted = z * X[0] + np.array([(X * z).sum(), 0.0])
    assert compiled(function, (2,), X, Y) == pytest.approx(wanted, rel=1e-14)


def test_jacobian_works_inside_loops() -> None:
    """Newton's method for cube roots in a loop that captures its target."""

    def root(target: Array) -> Array:
        def body(x: Array) -> tuple[Any, Any]:
            def left(x: Array) -> Array:
                return x * x * x - target

            new = x - left(x) / jacobian(left)(x)[0, 0]
            return (new,), abs(new[0] - x[0]) < 1e-14

        return iterate(50, body, target)[0][0]

    assert compiled(root, (1,), [27.0]) == pytest.approx([3.0], rel=1e-15)
    assert root(np.array([27.0])) == pytest.approx([3.0], rel=1e-15)


def test_jacobian_through_loops_is_rejected() -> None:
    def function(x: Array) -> Array:
        return jacobian(lambda x: repeat(3, lambda _, y: (y * y,), x)[0])(x)

    with pytest.raises(NotTraceable):
        compiled(function, (1, 1), [2.0])


def test_derivatives_that_are_always_zero_are_detected() -> None:
    def third(f: Any) -> Any:
        return traced_on_new_inputs(jacobian(jacobian(jacobian(f))), (3,))

    assert is_structurally_zero(third(lambda x: x @ x + 3.0 * x[0]))
    assert not is_structurally_zero(third(lambda x: x[0] ** 3))
    assert not is_structurally_zero(third(lambda x: np.sin(x[1])))


def test_jacobian_at_an_invalid_argument_is_nan() -> None:
    with np.errstate(all="ignore"):
        assert np.isnan(jacobian(lambda x: np.sqrt(x[0]))(np.array([-1.0]))).all()


def test_captured_values_that_a_function_returns_have_zero_derivative() -> None:
    """A function that returns captured values beside computed ones."""

    def function(x: Array, y: Array) -> Array:
        return jacobian(lambda a: np.array([y[0], a[0] * y[1], 3.0]))(x)

    assert (compiled(function, (3, 2), X, Y) == [[0.0, 0.0], [Y[1], 0.0], [0.0, 0.0]]).all()


def test_jacobian_if_short_is_zero_for_functions_longer_than_the_limit() -> None:
    """Functions that exceed the size limit, or contain loops, get zero derivatives."""

    def short(x: Array) -> Array:
        return x * x

    def looping(x: Array) -> Array:
        return repeat(3, lambda _, y: (y * x,), x)[0]

    for most, wanted in ((10, np.diag(2.0 * X)), (1, np.zeros((2, 2)))):
        assert (compiled(lambda x, most=most: jacobian_if_short(short, most)(x), (2, 2), X) == wanted).all()
        assert (jacobian_if_short(short, most)(X) == wanted).all()
    both = compiled(lambda x: jacobian_if_short(looping, 100)(x) + np.diag(looping(x)), (2, 2), X)
    assert both == pytest.approx(np.diag(X**4), rel=1e-14)
