"""Transforms keep what they are given: structure, order, precision, and the caller's arrays."""

from __future__ import annotations

import collections
import threading
from typing import NamedTuple

import numpy as np
import pytest

import dualad as ad

MODES = ["forward", "reverse", "auto"]
modes = pytest.mark.parametrize("mode", MODES)
HESSIANS = ["hyperdual", "forward", "reverse", "auto"]
hessians = pytest.mark.parametrize("mode", HESSIANS)


class Layer(NamedTuple):
    weight: object
    bias: object


def same(got, wanted):
    """The same structure, shapes and numbers."""
    assert type(got) is type(wanted), (got, wanted)
    if isinstance(wanted, dict):
        assert list(got) == list(wanted)
        for key in wanted:
            same(got[key], wanted[key])
    elif isinstance(wanted, (list, tuple)):
        assert len(got) == len(wanted)
        for g, w in zip(got, wanted, strict=True):
            same(g, w)
    elif isinstance(wanted, np.ndarray):
        assert got.dtype == wanted.dtype
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-14)
    else:
        assert got == pytest.approx(wanted, rel=1e-12)


# ------------------------------------------------------------------ which arguments


def cubic(x, y, *, scale=1.0):
    return scale * np.sum(x * x * y)


X, Y = np.array([1.0, -2.0]), np.array([0.5, 3.0])
DX, DY = 2 * X * Y, X * X


@modes
def test_argnums(mode):
    same(ad.grad(cubic, mode=mode)(X, Y), DX)
    same(ad.grad(cubic, 1, mode)(X, Y), DY)
    same(ad.grad(cubic, -1, mode)(X, Y), DY)
    same(ad.grad(cubic, (0, 1), mode)(X, Y), (DX, DY))
    same(ad.grad(cubic, (1, 0), mode)(X, Y), (DY, DX))
    same(ad.grad(cubic, (1,), mode)(X, Y), (DY,))
    same(ad.grad(cubic, [0], mode)(X, Y), (DX,))
    same(ad.jacobian(cubic, (1, 0), mode)(X, Y), (DY, DX))


@modes
def test_keywords_pass_through(mode):
    same(ad.grad(cubic, mode=mode)(X, Y, scale=2.0), 2 * DX)
    value = float(2 * cubic(X, Y))
    same(ad.value_and_grad(cubic, 1, mode)(X, Y, scale=2.0), (value, 2 * DY))
    same(ad.derivative(lambda x, power: x**power)(3.0, power=2), 6.0)


@hessians
def test_hessian_argnums(mode):
    xx, xy, yy = np.diag(2 * Y), np.diag(2 * X), np.zeros((2, 2))
    same(ad.hessian(cubic, mode=mode)(X, Y), xx)
    same(ad.hessian(cubic, (0, 1), mode)(X, Y), ((xx, xy), (xy, yy)))
    same(ad.hessian(cubic, (1, 0), mode)(X, Y), ((yy, xy), (xy, xx)))
    same(ad.hessian(cubic, (1,), mode)(X, Y), ((yy,),))


@pytest.mark.parametrize("transform", [ad.grad, ad.jacobian, ad.hessian])
def test_an_argnum_that_is_not_there(transform):
    with pytest.raises(ValueError, match="argnums=2 names argument 2, but f was called with 2"):
        transform(cubic, 2)(X, Y)


# ------------------------------------------------------------------------ structure


def of_nested(p):
    (a, b), c = p["layers"], p["rate"]
    return c * (np.sum(a.weight @ a.bias) + np.sum(b[0] * b[1]))


@modes
def test_the_gradient_has_the_structure_of_the_argument(mode):
    w, v = np.arange(6.0).reshape(2, 3), np.array([1.0, -1.0, 2.0])
    point = {"layers": [Layer(w, v), (2.0, np.array([3.0, 4.0]))], "rate": 0.5}
    inner = float(np.sum(w @ v) + 2.0 * 7.0)
    answer = {
        "layers": [
            Layer(0.5 * np.array([v, v]), 0.5 * w.sum(axis=0)),
            (0.5 * 7.0, 0.5 * np.array([2.0, 2.0])),
        ],
        "rate": inner,
    }
    same(ad.grad(of_nested, mode=mode)(point), answer)
    value, gradient = ad.value_and_grad(of_nested, mode=mode)(point)
    assert value == pytest.approx(0.5 * inner)
    same(gradient, answer)


def test_an_ordered_dictionary_and_its_order():
    point = collections.OrderedDict(b=2.0, a=3.0)
    gradient = ad.grad(lambda p: p["a"] ** 2 * p["b"])(point)
    assert list(gradient.items()) == [("b", 9.0), ("a", 12.0)]


@modes
def test_jacobian_of_nested_outputs_and_inputs(mode):
    def f(p):
        return {"sum": p[0] + p[1], "pair": (p[0] * 2.0, [np.sum(p[1])])}

    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    eye, zero = np.eye(2), np.zeros((2, 2))
    answer = {
        "sum": [eye, eye],
        "pair": ([2 * eye, zero], [[np.zeros(2), np.ones(2)]]),
    }
    same(ad.jacobian(f, mode=mode)([x, y]), answer)


def test_jvp_and_vjp_of_nested_values():
    def f(p, q):
        return [p["a"] * q, (p["b"],)]

    p, q = {"a": np.array([1.0, 2.0]), "b": 3.0}, 4.0
    y, t = ad.jvp(f, (p, q), ({"a": np.array([1.0, 0.0]), "b": 5.0}, 1.0))
    same(y, [np.array([4.0, 8.0]), (3.0,)])
    same(t, [np.array([5.0, 2.0]), (5.0,)])
    y, pullback = ad.vjp(f, p, q)
    same(y, [np.array([4.0, 8.0]), (3.0,)])
    same(pullback([np.array([1.0, 1.0]), (2.0,)]), ({"a": np.array([4.0, 4.0]), "b": 2.0}, 3.0))


@hessians
def test_hessian_of_a_nested_point(mode):
    def f(p):
        return p["a"] ** 2 * np.sum(p["b"])

    b = np.array([1.0, 2.0])
    answer = {
        "a": {"a": 6.0, "b": np.array([6.0, 6.0])},
        "b": {"a": np.array([6.0, 6.0]), "b": np.zeros((2, 2))},
    }
    same(ad.hessian(f, mode=mode)({"a": 3.0, "b": b}), answer)


# ---------------------------------------------------------------------------- empty


@modes
@pytest.mark.parametrize("nothing", [[], (), {}, np.zeros(0), np.zeros((0, 3)), [(), {}]], ids=str)
def test_a_gradient_of_nothing_is_nothing(mode, nothing):
    same(ad.grad(lambda x: 3.0, mode=mode)(nothing), nothing)
    if isinstance(nothing, np.ndarray):
        same(ad.grad(np.sum, mode=mode)(nothing), nothing)
        same(ad.jacobian(lambda x: x * 2, mode=mode)(nothing), np.zeros(nothing.shape * 2))


@hessians
def test_a_hessian_of_nothing_is_nothing(mode):
    same(ad.hessian(np.sum, mode=mode)(np.zeros(0)), np.zeros((0, 0)))


# -------------------------------------------------------------------- what depends on nothing


@modes
@pytest.mark.parametrize("point", [2.0, X, [2.0, X]], ids=str)
def test_an_output_that_does_not_depend_on_the_input(mode, point):
    zeros = {
        "2.0": 0.0,
        str(X): np.zeros(2),
        str([2.0, X]): [0.0, np.zeros(2)],
    }[str(point)]
    same(ad.grad(lambda x: 7.0, mode=mode)(point), zeros)
    same(ad.grad(lambda x: 7, mode=mode)(point), zeros)
    same(ad.grad(lambda x: np.float64(7.0), mode=mode)(point), zeros)
    if isinstance(point, np.ndarray):
        same(ad.jacobian(lambda x: np.ones(3), mode=mode)(point), np.zeros((3, 2)))
        same(ad.jacobian(lambda x: 7.0, mode=mode)(point), np.zeros(2))


def test_no_dependence_in_the_other_transforms():
    assert ad.derivative(lambda x: 7.0)(1.0) == 0.0
    assert ad.derivative(lambda x: 7.0, order=2)(1.0) == 0.0
    same(ad.jvp(lambda x: np.ones(3), (1.0,), (1.0,)), (np.ones(3), np.zeros(3)))
    y, pullback = ad.vjp(lambda x: np.ones(3), X)
    same(y, np.ones(3))
    same(pullback(np.ones(3)), (np.zeros(2),))
    same(ad.hvp(lambda x: 7.0, X, Y), np.zeros(2))


@hessians
def test_a_hessian_of_what_is_constant_or_linear(mode):
    same(ad.hessian(lambda x: 7.0, mode=mode)(X), np.zeros((2, 2)))
    same(ad.hessian(np.sum, mode=mode)(X), np.zeros((2, 2)))


# ------------------------------------------------------------------------ precision


@modes
@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16", "bool"])
def test_integers_and_bools_become_float64(mode, dtype):
    x = np.array([1, 0, 1], dtype)
    gradient = ad.grad(lambda x: np.sum(x**2), mode=mode)(x)
    same(gradient, 2.0 * x)
    assert x.dtype == dtype


@modes
def test_python_integers_and_bools_become_floats(mode):
    for x in (3, True, np.int32(3)):
        gradient = ad.grad(lambda x: x * x, mode=mode)(x)
        assert type(gradient) is float
        assert gradient == 2.0 * x
    same(ad.grad(np.sum, mode=mode)([1, 2]), [1.0, 1.0])


@modes
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
def test_other_precisions_stay(mode, dtype):
    x = np.array([1.0, 2.0, 3.0], dtype)

    def f(x):
        return np.sum(2 * x * x)

    value, gradient = ad.value_and_grad(f, mode=mode)(x)
    assert value.dtype == dtype
    assert gradient.dtype == dtype
    assert np.array_equal(gradient, 4 * x)
    assert ad.jacobian(lambda x: x * x, mode=mode)(x).dtype == dtype
    scalar = ad.grad(lambda x: x * x, mode=mode)(dtype(3.0))
    assert scalar.dtype == dtype
    assert scalar == 6


def test_products_with_a_vector_stay_in_their_precision():
    x = np.array([1.0, 2.0], np.float32)
    y, t = ad.jvp(lambda x: x * x, (x,), (np.ones(2, np.float32),))
    assert (y.dtype, t.dtype) == (np.float32, np.float32)
    y, pullback = ad.vjp(lambda x: x * x, x)
    assert (y.dtype, pullback(np.ones(2))[0].dtype) == (np.float32, np.float32)
    assert ad.derivative(np.sin)(x).dtype == np.float32


@hessians
def test_a_hessian_stays_in_its_precision(mode):
    x = np.array([1.0, 2.0], np.float32)
    same(ad.hessian(lambda x: np.sum(x**3), mode=mode)(x), np.diag(6 * x))


@hessians
def test_a_hessian_at_a_complex_point_is_refused(mode):
    with pytest.raises(TypeError, match="real and imaginary parts"):
        ad.hessian(lambda z: np.sum(np.abs(z) ** 2), mode=mode)(np.array([1.0 + 1j]))


def test_a_real_function_of_a_complex_point_gives_the_steepest_ascent():
    z = np.array([1.0 + 2.0j, 3.0 - 1.0j])
    same(ad.grad(lambda z: np.sum(np.abs(z) ** 2))(z), 2 * z)
    same(ad.grad(lambda z: np.sum(z.real))(z), np.ones(2, complex))
    same(ad.grad(lambda z: np.sum(z.imag))(z), np.full(2, 1j))
    same(ad.jacobian(lambda z: np.abs(z) ** 2)(z), np.diag(2 * z))
    with pytest.raises(TypeError, match="reverse"):
        ad.grad(lambda z: np.sum(np.abs(z)), mode="forward")(z)


@modes
def test_a_holomorphic_function_has_a_complex_derivative(mode):
    z = np.array([1.0 + 2.0j, 3.0 - 1.0j])
    same(ad.jacobian(lambda z: z**3, mode=mode)(z), np.diag(3 * z * z))
    assert ad.derivative(lambda z: z**3)(1.0 + 2.0j) == pytest.approx(3 * (1.0 + 2.0j) ** 2)
    with pytest.raises(TypeError, match="holomorphic"):
        ad.jacobian(np.conj, mode=mode)(z)


@modes
def test_a_complex_function_of_a_real_point(mode):
    x = np.array([0.5, 1.5])
    same(ad.jacobian(lambda x: np.exp(1j * x), mode=mode)(x), np.diag(1j * np.exp(1j * x)))


# --------------------------------------------------------------------- chunks and passes


@modes
@pytest.mark.parametrize("chunk", [None, 1, 2, 3, 5, 100])
def test_chunks_change_nothing(mode, chunk):
    a = np.cos(np.arange(15.0)).reshape(3, 5)
    x = np.linspace(0.1, 0.9, 5)
    answer = a * np.cos(x)
    same(ad.jacobian(lambda x: a @ np.sin(x), mode=mode, chunk=chunk)(x), answer)


@hessians
@pytest.mark.parametrize("chunk", [None, 1, 2, 3, 100])
def test_chunks_of_a_hessian_change_nothing(mode, chunk):
    x = np.linspace(0.1, 0.9, 5)

    def f(x):
        return np.sum(np.sin(x)) * np.sum(x * x)

    s, q = np.sum(np.sin(x)), np.sum(x * x)
    cross = np.outer(np.cos(x), 2 * x)
    answer = np.diag(-np.sin(x) * q + 2 * s) + cross + cross.T
    same(ad.hessian(f, mode=mode, chunk=chunk)(x), answer)


class Counted:
    """A function that knows how often it was called."""

    def __init__(self, f):
        self.f, self.calls = f, 0

    def __call__(self, *args):
        self.calls += 1
        return self.f(*args)


@pytest.mark.parametrize("n", [1, 4, 5])
@pytest.mark.parametrize("chunk", [1, 2, 3, 7])
def test_how_often_f_is_called(n, chunk):
    x = np.linspace(0.1, 0.9, n)
    k = -(-n // chunk)
    for transform, calls in [
        (lambda f: ad.hessian(f, mode="hyperdual", chunk=chunk), k * (k + 1) // 2),
        (lambda f: ad.jacobian(f, mode="forward", chunk=chunk), k),
        (lambda f: ad.jacobian(f, mode="reverse", chunk=chunk), 1),
        (lambda f: ad.grad(f, mode="reverse"), 1),
        (lambda f: ad.grad(f, mode="forward"), 1),
        (lambda f: lambda x: ad.hvp(f, x, x), 1),
    ]:
        f = Counted(lambda x: np.sum(np.sin(x)))
        transform(f)(x)
        assert f.calls == calls


@pytest.mark.parametrize("chunk", [0, -1])
def test_a_chunk_is_positive(chunk):
    with pytest.raises(ValueError, match="chunk"):
        ad.jacobian(np.sin, chunk=chunk)(X)


# ------------------------------------------------------------------- again, and elsewhere


def test_a_pullback_gives_the_same_answer_any_number_of_times():
    x = X.copy()
    _, pullback = ad.vjp(lambda x, y: x * y * y, x, Y)
    first = pullback(np.array([1.0, 2.0]))
    first_copy = tuple(a.copy() for a in first)
    for a in first:
        a[:] = 7.0  # what was given out belongs to the caller
    x[:] = 99.0  # and so does the point
    for _ in range(3):
        same(pullback(np.array([1.0, 2.0])), first_copy)
    same(pullback(np.zeros(2)), (np.zeros(2), np.zeros(2)))


@modes
def test_the_same_call_twice_gives_the_same(mode):
    g = ad.grad(lambda x: np.sum(np.sin(x) * x), mode=mode)
    first = g(X)
    kept = first.copy()
    first[:] = 7.0
    assert np.array_equal(g(X), kept)
    assert np.array_equal(g(X), kept)


@modes
@pytest.mark.parametrize("f", [np.sum, np.prod, lambda x: np.sum(x.T), lambda x: x[1]])
def test_the_answer_is_writable_and_shares_no_memory(mode, f):
    x = X.copy()
    gradient = ad.grad(f, mode=mode)(x)
    assert gradient.flags.writeable
    assert not np.shares_memory(gradient, x)
    assert np.array_equal(x, X)


@modes
def test_assignment_inside_f_does_not_reach_the_caller(mode):
    def f(x):
        x[0] = x[1] * 2.0
        x += 1.0
        return np.sum(x * x)

    x = X.copy()
    gradient = ad.grad(f, mode=mode)(x)
    assert np.array_equal(x, X)
    same(gradient, np.array([0.0, 4.0 * (2 * X[1] + 1) + 2.0 * (X[1] + 1)]))


def test_branches_are_those_of_each_call():
    f = ad.grad(lambda x: x if x > 0 else 0.0 * x)
    assert (f(-1.3), f(1.34), f(-1.3)) == (0.0, 1.0, 0.0)


@modes
def test_an_exception_in_f_is_the_callers(mode):
    def f(x):
        np.sin(x)
        raise error

    error = ValueError("stop")
    with pytest.raises(ValueError, match="stop") as caught:
        ad.grad(f, mode=mode)(0.5)
    assert caught.value is error
    twice = ad.derivative(ad.derivative(np.sin))(0.5)
    assert twice == pytest.approx(-np.sin(0.5), rel=1e-15)
    assert type(np.sin(X)) is np.ndarray


def test_threads_do_not_see_each_other():
    failures = []

    def work(k):
        x = np.linspace(0.0, 1.0, 5) + k
        try:
            for _ in range(50):
                got = ad.grad(lambda x: np.sum(np.sin(k * x)))(x)
                np.testing.assert_allclose(got, k * np.cos(k * x), rtol=1e-12, atol=1e-12)
                nested = ad.derivative(ad.grad(lambda x: np.sin(k * x)))(0.5)
                np.testing.assert_allclose(nested, -k * k * np.sin(k * 0.5), rtol=1e-12)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 7)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


# ---------------------------------------------------------------------- derivative, hvp


@pytest.mark.parametrize("order", range(6))
def test_derivatives_of_every_order(order):
    signs = [np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x)]
    for x in (0.7, np.array([0.7, -1.2])):
        got = ad.derivative(np.sin, order)(x)
        np.testing.assert_allclose(got, signs[order % 4](x), rtol=1e-13)
    wanted = [2.0**5, 5 * 2.0**4, 20 * 2.0**3, 60 * 2.0**2, 120 * 2.0, 120.0][order]
    assert ad.derivative(lambda x: x**5, order)(2.0) == wanted


def test_derivative_of_structured_results():
    same(ad.derivative(lambda x: {"a": x * x, "b": (x,)})(3.0), {"a": 6.0, "b": (1.0,)})
    same(ad.derivative(lambda x: np.array([x, x * x]))(3.0), np.array([1.0, 6.0]))


def test_hvp_is_hessian_times_vector():
    v = np.array([2.0, -1.0])

    def f(x):
        return np.exp(x[0]) * x[1] ** 3

    same(ad.hvp(f, X, v), ad.hessian(f)(X) @ v)


@modes
def test_names_and_docstrings_stay(mode):
    assert ad.grad(cubic, mode=mode).__name__ == "cubic"
