"""What cannot be differentiated is refused: the error says what was given, wanted, and to write."""

from __future__ import annotations

import fractions
import math
import pickle

import numpy as np
import pytest

import dualad as ad

X = np.array([1.0, 2.0, 3.0])
MODES = ["forward", "reverse", "auto"]
modes = pytest.mark.parametrize("mode", MODES)
TRANSFORMS = {
    "grad": lambda f, x: ad.grad(f)(x),
    "value_and_grad": lambda f, x: ad.value_and_grad(f)(x),
    "jacobian": lambda f, x: ad.jacobian(f)(x),
    "hessian": lambda f, x: ad.hessian(f)(x),
    "hyperdual": lambda f, x: ad.hessian(f, mode="hyperdual")(x),
    "derivative": lambda f, x: ad.derivative(f)(x),
    "second": lambda f, x: ad.derivative(f, 2)(x),
    "jvp": lambda f, x: ad.jvp(f, (x,), (1.0,)),
    "vjp": lambda f, x: ad.vjp(f, x),
    "hvp": lambda f, x: ad.hvp(f, x, 1.0),
}
transforms = pytest.mark.parametrize("transform", TRANSFORMS)


def kind(value):
    return type(value).__name__


def refused(call, error, *words):
    """A call that raises that error, with all of these words in it."""
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    for word in words:
        assert word in message, f"{word!r} is not in: {message}"


# -------------------------------------------------------------------- what f gives


@modes
def test_a_gradient_of_what_is_no_number(mode):
    grad = ad.grad(lambda x: x * x, mode=mode)
    refused(lambda: grad(X), TypeError, "grad", "(3,)", "jacobian", "np.sum")
    refused(lambda: ad.grad(lambda x: (x[0], x[1]), mode=mode)(X), TypeError, "jacobian")
    refused(lambda: ad.grad(lambda x: x[:1], mode=mode)(X), TypeError, "(1,)", "jacobian")
    refused(lambda: ad.grad(lambda x: 1j * np.sum(x), mode=mode)(X), TypeError, "complex")
    refused(lambda: ad.grad(lambda x: np.sum(x) > 0, mode=mode)(X), TypeError, "bool")


@pytest.mark.parametrize("mode", ["hyperdual", "forward", "reverse"])
def test_a_hessian_of_what_is_no_number(mode):
    refused(lambda: ad.hessian(lambda x: x * x, mode=mode)(X), TypeError, "(3,)", "jacobian")


@transforms
def test_f_returns_nothing(transform):
    refused(lambda: TRANSFORMS[transform](lambda x: None, 1.0), TypeError, "None", "return")


@transforms
@pytest.mark.parametrize("answer", ["text", object(), {1, 2}, np.array(["a"])], ids=kind)
def test_f_returns_what_is_not_numeric(transform, answer):
    call = lambda: TRANSFORMS[transform](lambda x: answer, 1.0)  # noqa: E731
    refused(call, TypeError, "f returned", kind(answer), "number")


@pytest.mark.parametrize("transform", ["grad", "hessian", "hyperdual"])
def test_f_returns_a_ragged_list(transform):
    ragged = lambda x: [x * np.ones(2), x * np.ones(3)]  # noqa: E731
    refused(lambda: TRANSFORMS[transform](ragged, 1.0), TypeError, "(2,)", "(3,)", "jacobian")
    # A list is structure: where arrays may be returned, each has a Jacobian of its own.
    assert [j.shape for j in ad.jacobian(ragged)(1.0)] == [(2,), (3,)]


def test_derivative_at_an_array_of_what_is_not_entry_by_entry():
    refused(lambda: ad.derivative(np.sum)(X), ValueError, "(3,)", "ad.grad", "ad.jacobian")


# -------------------------------------------------------------------------- the point


@transforms
@pytest.mark.parametrize("point", ["text", None, object(), {1.0}], ids=kind)
def test_the_point_is_no_number(transform, point):
    refused(lambda: TRANSFORMS[transform](lambda x: x, point), TypeError, "number", kind(point))


@transforms
def test_the_point_is_an_array_of_no_numbers(transform):
    for point in (np.array(["a", "b"]), np.array([None, 1.0]), np.array(["2020-01-01"], "M8[D]")):
        refused(lambda point=point: TRANSFORMS[transform](lambda x: x, point), TypeError, "number")


@transforms
def test_f_is_no_function(transform):
    refused(lambda: TRANSFORMS[transform](3.0, 1.0), TypeError, "float", "function")


@pytest.mark.parametrize("value", ["text", None, {}], ids=kind)
def test_numbers_are_made_of_numbers(value):
    for make in (
        lambda: ad.Dual(value, 1.0),
        lambda: ad.Dual(1.0, value),
        lambda: ad.HyperDual(1.0, 1.0, 1.0, value),
        lambda: ad.Variable(value),
    ):
        refused(make, TypeError, "number", kind(value))


# -------------------------------------------------------------------- shapes and modes


def test_shapes_of_tangents():
    refused(lambda: ad.jvp(np.sum, (X,), (np.ones(2),)), ValueError, "(2,)", "(3,)", "shape")
    refused(lambda: ad.jvp(np.sum, (X,), (1.0,)), ValueError, "()", "(3,)")
    refused(lambda: ad.jvp(np.sum, (X,), (X, X)), ValueError, "1 primals", "2 tangents")
    refused(lambda: ad.jvp(np.sum, X, X), TypeError, "tuples")
    refused(lambda: ad.jvp(np.sum, ([1.0, 2.0],), ([1.0],)), ValueError, "structure")
    refused(lambda: ad.hvp(np.sum, X, np.ones(2)), ValueError, "(2,)", "(3,)")
    refused(lambda: ad.Dual(X, np.ones(2)), ValueError, "(3,)", "(2,)", "leading axis")
    refused(lambda: ad.Dual(X, np.ones((2, 2, 3))), ValueError, "(2, 2, 3)")
    refused(lambda: ad.HyperDual(X, X, X, np.ones(2)), ValueError, "(3,)", "(2,)")
    refused(lambda: ad.HyperDual(X, np.ones((2, 3)), np.ones((4, 3)), np.ones((4, 2, 3))), ValueError, "mixed")  # fmt: skip  # noqa: E501


def test_shapes_of_cotangents():
    _, pullback = ad.vjp(lambda x: x * x, X)
    refused(lambda: pullback(np.ones(2)), ValueError, "(2,)", "(3,)", "cotangent")
    refused(lambda: pullback(1.0), ValueError, "()", "(3,)")
    refused(lambda: pullback(None), TypeError, "pullback", "None")
    x = ad.Variable(X)
    refused(lambda: (x * x).backward(), ValueError, "(3,)", "gradient", "sum")
    refused(lambda: (x * x).backward(gradient=np.ones(2)), ValueError, "gradient", "(2,)", "(3,)")


def test_unknown_modes():
    for transform in (ad.grad, ad.value_and_grad, ad.jacobian):
        refused(lambda t=transform: t(np.sum, mode="sideways"), ValueError, "sideways", *MODES)
    refused(lambda: ad.hessian(np.sum, mode="tape"), ValueError, "tape", "hyperdual", "forward")
    refused(lambda: ad.jacobian(np.sum, mode="hyperdual"), ValueError, "hyperdual", "reverse")


@pytest.mark.parametrize("order", [-1, 1.5, "two", None])
def test_orders_are_whole_numbers(order):
    refused(lambda: ad.derivative(np.sin, order), ValueError, "order", repr(order))


# ----------------------------------------------------------- what would lose the derivative

NUMBERS = {
    "Dual": lambda: ad.Dual(2.0, 1.0),
    "HyperDual": lambda: ad.HyperDual(2.0, 1.0, 1.0, 0.0),
    "Variable": lambda: ad.Variable(2.0),
}
numbers = pytest.mark.parametrize("name", NUMBERS)


@numbers
def test_conversions_to_plain_numbers(name):
    x = NUMBERS[name]()
    refused(lambda: float(x), TypeError, name, "stop_gradient")
    refused(lambda: int(x), TypeError, name, "stop_gradient")
    refused(lambda: complex(x), TypeError, name)
    refused(lambda: [1, 2, 3][x], TypeError, name, "stop_gradient")
    refused(lambda: range(x), TypeError, name)
    refused(lambda: np.asarray(x, float), TypeError, name, "np.asarray(x)")
    refused(lambda: np.array([x, x], float), TypeError, name)
    refused(lambda: pow(x, 2, 3), TypeError, "modulus")
    refused(lambda: hash(x), TypeError, "unhashable")


@numbers
@pytest.mark.parametrize("f", [math.sin, math.exp, math.sqrt, math.fabs, math.isfinite])
def test_functions_of_math(name, f):
    refused(lambda: f(NUMBERS[name]()), TypeError, "np.", "math")


@numbers
def test_assignment_into_a_float_array(name):
    x = NUMBERS[name]()

    def assign():
        z = np.zeros(3)
        z[0] = x

    refused(assign, TypeError, name, "np.zeros_like(x)", "like=x")


def test_assignment_of_an_array_into_a_float_array():
    def f(x):
        z = np.zeros(3)
        z[:] = x
        return np.sum(z)

    for mode in MODES:
        with pytest.raises((TypeError, ValueError)):
            ad.grad(f, mode=mode)(X)


@numbers
def test_scalars_have_no_items(name):
    x = NUMBERS[name]()
    for call in (lambda: x[0], lambda: len(x), lambda: list(x), lambda: x.append(1)):
        with pytest.raises((TypeError, AttributeError)):
            call()
    refused(lambda: x.nothing, AttributeError, "nothing")


INTEGERS_ONLY = {"np.packbits": np.packbits, "np.bitwise_and": lambda x: np.bitwise_and(x, 1)}


@modes
@pytest.mark.parametrize("name", INTEGERS_ONLY)
def test_functions_of_integers(name, mode):
    call = lambda: ad.jacobian(INTEGERS_ONLY[name], mode=mode)(X)  # noqa: E731
    refused(call, ad.NotDifferentiableError, name, "integers")


@modes
def test_functions_without_a_rule(mode):
    special = pytest.importorskip("scipy.special")
    call = lambda: ad.grad(lambda x: np.sum(special.mathieu_a(1, x)), mode=mode)(X)  # noqa: E731
    words = "scipy.special.mathieu_a", "ad.primitive", "CONTRIBUTING.md", "ad.stop_gradient(x)"
    refused(call, ad.NotDifferentiableError, *words)
    assert issubclass(ad.NotDifferentiableError, TypeError)


# ---------------------------------------------------------------------- out of its time


def test_a_number_that_outlives_its_transform():
    kept = []
    keep = lambda x: kept.append(x) or x  # noqa: E731
    ad.derivative(keep)(1.0)
    ad.grad(keep, mode="reverse")(1.0)
    ad.derivative(keep, 2)(1.0)
    for number in kept:
        refused(lambda n=number: ad.derivative(lambda x: x * n)(1.0), ad.LevelError, "returned")


def test_live_numbers_do_not_travel():
    def f(x):
        pickle.dumps(x)
        return x

    refused(lambda: ad.derivative(f)(1.0), TypeError, "pickle", "stop_gradient")


def test_backward_of_what_was_not_recorded():
    x = ad.Variable(2.0)
    with ad.no_grad():
        y = x * x
    refused(lambda: y.backward(), AttributeError, "backward")
    z = x * x
    z.backward()
    refused(lambda: z.backward(), RuntimeError, "retain_graph")
    refused(lambda: z.zero_grad(), TypeError, "zero_grad")


def test_exact_numbers_are_numbers():
    """What is refused above is not refused for being no float."""
    half = fractions.Fraction(1, 2)
    assert ad.derivative(lambda x: x * x)(half) == 1
    assert ad.Dual(half, 1).primal == half
