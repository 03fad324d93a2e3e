"""Plain Python and NumPy code meets numbers: operators, builtins, methods, types, errors."""

from __future__ import annotations

import math
import numbers

import numpy as np
import pytest

import dualad as ad
from dualad import rules
from dualad.primitive import NotDifferentiableError, Number
from dualad.protocols import ArrayNumber, Operators

MODES = pytest.mark.parametrize("mode", ["forward", "reverse"])
BY_HAND = {
    "Dual": lambda v: ad.Dual(v, np.ones(np.shape(v))[()]),
    "HyperDual": lambda v: ad.HyperDual(v, *[np.ones(np.shape(v))[()]] * 3),
    "Variable": ad.Variable,
}

EXPRESSIONS = """
    np.float64(2.0) * c
    np.float64(2.0) - x
    x * np.int64(3)
    np.float32(0.5) * x
    np.array(2.0) * x
    x ** np.array(2)
    True * x + False
    x + [1, 2, 3, 4]
    [1.0, 2.0, 3.0, 4.0] - x
    (1, 2, 3, 4) * x
    x * [c, d, 1.0, 2.0]
    np.multiply([c, d, 1.0, 2.0], x)
    np.array([c, d, 1.0, 2.0]) * x
    np.array([c, d, 1.0, 2.0]) / (3 + np.array([d, c, 1.0, 0.5]))
    x - np.array([c, d, 1.0, 2.0])
    np.array([[c], [d]]) * x
    x @ [1.0, 2.0, 3.0, 4.0]
    [[1.0, 2.0, 3.0, 4.0]] @ x
    np.eye(4) @ x
    A @ x
    x[:3] @ A
    np.arange(4) // (x * x + 1)
    7 % (x * x + 2)
    7 // (c + 1)
    2.0 ** x
    2 ** c
    c ** 2
    c ** -1
    c ** 0.5
    c ** d
    (-c) ** 3
    pow(c, 3)
    abs(-c)
    -c + +d
    1 - c
    1 / c
    c / 2
    c * x
    x * c
    A * x
    A + c
    x[:, None] - y
    (x > 0) * x
    x * (y > 0)
    x if x[0] > 0 else -x
    [v for v in x if v > 0]
    sum(x, 1.0)
    sum(v * w for v, w in zip(x, y))
    min(c, d) + max(c, 0.0)
    sorted([d, c])
    max([c, d], key=lambda v: -v)
    list(enumerate(x))[2][1]
    {"a": c, "b": [d, x]}
    (c, (d, x))
    any(x > 9) * c + all(x < 9) * d
    x.sum()
    A.sum(axis=0)
    A.sum(0, keepdims=True)
    A.mean(-1)
    A.std(axis=1, ddof=1)
    A.var()
    A.max(axis=0)
    A.min()
    A.prod(axis=1)
    A.cumsum(axis=1)
    A.cumprod(0)
    x.dot(y)
    A.dot(B)
    A.T.dot(x[:3])
    A.trace()
    A.ravel()
    A.swapaxes(0, 1)
    A[:, None].squeeze()
    x.conj() + x.conjugate()
    x.real + x.imag
    x[1].sum() + x[1].mean() * x[1].max()
    x[1].reshape(1) * x[1].item() * x[1].T
    x[1].real + x[1].imag + x[1].conj() + x[1].ravel()
    x[1].flatten() * x[1].copy() + x[1].squeeze()
    x[1].astype(float) * x[1].clip(0.0, 1.0) + x[1].round()
    x[1].ndim + x[1].size + len(x[1].shape) + x[1]
    np.frompyfunc(lambda a, b: a * b, 2, 1)(x, c)
    np.frompyfunc(lambda a: (a, a * a), 1, 2)(x)
    np.add.reduce([c, d])
    np.add(c, d) * np.multiply(c, x)
    np.add(x, [c, d, 1.0, 2.0])
    np.maximum(x, [c, d, 1.0, 2.0])
    np.where([True, False, True, False], [c, d, 1.0, 2.0], x)
    np.dot([c, d], x[:2])
    np.concatenate([[c, d], x])
    np.stack([x, [c, d, 1.0, 2.0]])
    np.sum([x, y], axis=0)
    np.max([c, d, 0.0])
    np.linalg.norm([c, d])
    np.linalg.norm(np.stack([c, d]))
    np.polyval([c, d, 1.0], 2.0)
    np.interp(c, [0.0, 1.0], [d, 3.0])
    np.hypot(c, [d, 1.0])
    np.arctan2([c, d], 1.0)
    np.exp([c, d])
    np.isfinite(x) * x
    x[int(np.floor(1.5))]
    np.array([c, d]).T @ np.array([[c, 1.0], [2.0, d]]) @ x[:2]
    np.array([x[:2], y[:2]]) @ x[:2]
    np.vstack([np.array([c, d]), x[:2]])
    np.linalg.solve(np.stack([[c, 1.0], [2.0, d]]), x[:2])
    np.array([np.sin(x), np.cos(x)]).sum(axis=0)
    np.array([[np.cos(c), -np.sin(c)], [np.sin(c), np.cos(c)]]) @ A[:2]
    sum([x[i] * y[i] for i in range(4)])
    np.sum([x[i] * y[i] for i in range(4)])
    np.prod([c, d, 2])
    np.mean([x, y], axis=0)
    np.max(np.array([x, y]), axis=0)
    np.array([c, d])[None] * x[:2, None]
    np.dot([[c, d], [1, 2]], x[:2])
    np.trapezoid(np.array([c, d, 1.0]), dx=0.5)
    np.trapezoid(x, y)
    np.cumsum([c, d, c])
    np.polyval(x, np.array([c, d]))
    np.outer([c, d], [1, 2])
    np.cross([c, d, 1.0], x[:3])
    np.interp([c, d], [0.0, 1.0, 2.0], x[:3])
    np.histogram(x, bins=[-2.0, 0.0, 2.0], weights=y)[0]
    np.bincount([0, 1, 1, 0], weights=x)
    np.convolve([c, d], x)
    np.gradient(x, 0.5)
    np.diff([c, d, 1.0])
    np.unwrap(x * 3)
    np.quantile(x, c)
    np.percentile(A, [25, 50], axis=1)
    np.median(A, axis=0, keepdims=True)
    np.average(A, weights=x, axis=1)
    np.cov(A)
    np.corrcoef(A)
    np.einsum("ij,kj->ik", A, A)
    np.where(np.isnan(x), 0.0, x)
    np.roots([1.0, -3 - c, 2 * c]).real
    np.sum(x * x) ** 0.5
    np.sqrt(np.sum(np.square(x[:, None] - y), axis=-1))
    np.exp(-0.5 * ((x - c) / d) ** 2) / (d * np.sqrt(2 * np.pi))
    np.linalg.norm(A - x, axis=1, keepdims=True)
    np.add.outer(x, y) @ x
    np.fft.ifft(np.fft.fft(x) * np.fft.fft(y)).real
    np.polyfit(np.arange(4.0), x, 2)
    np.apply_along_axis(lambda v: np.interp(c, [0, 1, 2, 3], v), 1, A)
    np.nan_to_num(x / np.where(x > 0, x, 0.5))
    np.choose(np.clip(np.arange(4), 0, 1), [x, y])
    np.lib.stride_tricks.sliding_window_view(x, 2) @ x[:2]
    np.polynomial.polynomial.polyval(c, x)
    np.polynomial.Polynomial(x)(c)
    np.polynomial.chebyshev.chebval(x, y)
    np.linalg.matrix_power(Q * c, 3) @ x[:3]
    np.array(c) * x
    np.array([c]) * x
    np.asarray(c) + x
    np.atleast_1d(np.asarray(c)) + x
    np.asarray(c).item() + x
    np.asarray(x)[np.newaxis].T + x
    np.asarray(x).copy() * c
    np.reshape([c, d, c, d], (2, 2)) @ x[:2]
    np.ravel([[c, d], [1, 2]])
    np.broadcast_to(np.asarray(c), (3,)) * d
    np.emath.sqrt(c) + np.emath.sqrt(-c)
    np.emath.log(x)
    np.emath.arcsin(c)
    np.emath.arctanh(np.tanh(x))
    np.emath.log2(np.abs(x)) + np.emath.log10(x)
    np.emath.arccos(c)
"""
EXPRESSIONS = [e.strip() for e in EXPRESSIONS.strip().splitlines()]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_is_differentiated_in_every_mode(call, text):
    call(text)


# ---------------------------------------------------------------- methods and attributes

#: those that arrays really have: some names only say that they were removed
OF_ARRAYS = [n for n in dir(np.ndarray) if not n.startswith("_") and hasattr(np.eye(1), n)]


def test_every_method_and_attribute_of_an_array_has_an_account():
    known = {*rules.methods, *rules.attributes, *rules.refused_attributes}
    known |= {"shape", "ndim", "size", "dtype"}
    assert [n for n in OF_ARRAYS if n not in known] == []


def test_every_method_of_an_array_is_one_of_numbers():
    for name in OF_ARRAYS:
        assert hasattr(ArrayNumber, name), name


@pytest.mark.parametrize("kind", BY_HAND)
@pytest.mark.parametrize("name", sorted(rules.refused_attributes))
def test_what_would_give_memory_away_says_what_to_write(name, kind):
    with pytest.raises(NotDifferentiableError, match=r"use |pass "):
        getattr(BY_HAND[kind](np.ones(3)), name)


def test_operators_that_numbers_lack_are_refused_by_python():
    x = ad.Dual(np.ones(3), np.ones(3))
    for operation in (
        lambda: x & 1, lambda: 1 | x, lambda: x ^ x, lambda: ~x, lambda: x << 1, lambda: x >> 1,
    ):  # fmt: skip
        with pytest.raises(TypeError):
            operation()


# ------------------------------------------------------------------------- plain results


@pytest.mark.parametrize("kind", BY_HAND)
def test_comparisons_see_the_primal(kind):
    number = BY_HAND[kind]
    a, b = number(2.0), number(3.0)
    for holds in (a < b, a <= b, b > a, b >= a, a != b, a == 2.0, 1 < a):  # noqa: SIM300
        assert holds is True
    for fails in (a > b, a >= b, b < a, b <= a, a == b, a != 2.0, a < 1):
        assert fails is False
    x = number(np.array([1.0, 2.0]))
    for got in (x > 1.5, 1.5 < x, x >= x[1], np.greater(x, 1.5), x != 1.0):  # noqa: SIM300
        assert type(got) is np.ndarray
        assert got.tolist() == [False, True]
    assert 2.0 in x
    assert 5.0 not in x
    assert a
    assert not number(0.0)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x)


@pytest.mark.parametrize("kind", BY_HAND)
def test_steps_are_plain(kind):
    c = BY_HAND[kind](2.6)
    results = round(c), round(c, 1), math.floor(c), math.ceil(c), math.trunc(c)
    assert results == (3, 2.6, 2, 3, 2)
    assert not any(isinstance(r, Number) for r in results)


@pytest.mark.parametrize("kind", BY_HAND)
def test_numbers_are_not_hashable(kind):
    with pytest.raises(TypeError, match="unhashable"):
        {BY_HAND[kind](1.0)}
    with pytest.raises(TypeError, match="unhashable"):
        {BY_HAND[kind](np.ones(2)): 1}


@pytest.mark.parametrize("kind", BY_HAND)
def test_a_scalar_is_a_number_to_python_and_numpy_and_an_array_is_none(kind):
    for value in (1.5, np.ones(2), np.ones((2, 2))):
        number = BY_HAND[kind](value)
        assert np.isscalar(number) is np.isscalar(value)
        assert isinstance(number, numbers.Number) is isinstance(value, numbers.Number)
    assert not isinstance("1.5", numbers.Number)


@pytest.mark.parametrize("kind", BY_HAND)
def test_a_scalar_is_no_sequence(kind):
    c = BY_HAND[kind](1.0)
    for use in (len, iter, list, lambda v: v[0], lambda v: 1.0 in v):
        with pytest.raises(TypeError):
            use(c)


@pytest.mark.parametrize("kind", BY_HAND)
def test_conversions_that_drop_a_derivative_say_so(kind):
    c = BY_HAND[kind](1.0)
    for convert in (float, int, complex, math.sin, math.exp, np.float64, lambda v: f"{float(v)}"):
        with pytest.raises(TypeError, match="lose the derivative"):
            convert(c)
    with pytest.raises(TypeError, match="stop_gradient"):
        [1, 2][c]
    with pytest.raises(TypeError):
        np.zeros(c)
    with pytest.raises(TypeError):
        pow(c, 2, 5)


# -------------------------------------------------------------------------------- types


@pytest.mark.parametrize("kind", BY_HAND)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_dtype_of_a_scalar_is_that_of_numpy_but_keeps_numbers(kind, dtype):
    x = BY_HAND[kind](np.ones(2, dtype))
    c = x[0]
    assert x.dtype is np.dtype(dtype)
    t = c.dtype
    assert (t == dtype, t == np.dtype(dtype), np.dtype(dtype) == t, t != np.int64) == (True,) * 4
    assert {np.dtype(dtype): 1}[t] == 1
    assert np.dtype(t) is np.dtype(dtype)
    assert np.zeros(2, dtype=t).dtype == dtype
    assert np.empty_like(np.ones(2), dtype=t).dtype == dtype
    assert np.result_type(t, np.float32) == np.result_type(dtype, np.float32)
    assert np.finfo(t).eps == np.finfo(dtype).eps
    assert np.issubdtype(t, np.floating)
    assert issubclass(t.type, np.floating)
    assert (t.kind, t.itemsize, str(t)) == ("f", np.dtype(dtype).itemsize, dtype.__name__)
    assert t.type(c) is c
    assert type(t.type(1.5)) is dtype


def test_mean_of_a_list_of_numbers_keeps_its_slope():
    assert ad.grad(lambda a, b: np.mean([a, b]), (0, 1))(1.0, 3.0) == (0.5, 0.5)
    assert ad.derivative(lambda a: np.mean([a, 2 * a, 1.0]))(1.0) == 1.0
    assert ad.derivative(lambda a: np.var([a, 3.0]))(1.0) == -1.0


@MODES
def test_object_arrays_are_lifted_where_they_meet_a_number_or_the_end(mode):
    def f(x):
        y = np.array([x[0], 1.0, np.sin(x[1])])
        assert y.dtype == object
        assert isinstance(x[0] * y, Number)
        assert isinstance(np.multiply(y, x[:1]), Number)
        assert isinstance(np.concatenate([y, x]), Number)
        return y

    got = ad.jacobian(f, mode=mode)(np.array([2.0, 0.5]))
    np.testing.assert_allclose(got, [[1, 0], [0, 0], [0, np.cos(0.5)]], rtol=1e-15)


@MODES
def test_a_nested_list_is_lifted_as_well(mode):
    def f(x):
        return x * [[x[0], 1.0], (x[1], x[0] * x[1])]

    def plain(x):
        return x * np.array([[x[0], 1.0], [x[1], x[0] * x[1]]])

    x = np.array([2.0, 0.5])
    h = 1e-6
    numeric = np.stack([(plain(x + e) - plain(x - e)) / (2 * h) for e in h * np.eye(2)], -1)
    np.testing.assert_allclose(ad.jacobian(f, mode=mode)(x), numeric, atol=1e-9)


@MODES
def test_asarray_gives_entries_each_a_number(mode):
    def f(x):
        for made in (np.asarray(x), np.array(x), np.asanyarray(x), np.array(x, dtype=object)):
            assert (made.shape, made.dtype) == ((2,), object)
            assert all(isinstance(v, Number) for v in made)
        assert np.asarray(x[0]).shape == ()
        assert isinstance(np.asarray(x[0])[()], Number)
        assert np.array([x, x]).shape == (2, 2)
        assert isinstance(np.array([x[0], 1.0], like=x), Number)
        return np.sum(np.asarray(x) ** 2)

    np.testing.assert_array_equal(ad.grad(f, mode=mode)(np.array([1.0, 2.0])), [2.0, 4.0])


@MODES
def test_exact_numbers_in_object_arrays_are_left_alone(mode):
    from fractions import Fraction

    thirds = np.array([Fraction(1, 3), Fraction(2, 3)])
    assert rules.lift(thirds) is thirds
    got = ad.derivative(lambda t: t * t * Fraction(1, 3))(Fraction(1, 2))
    assert got == Fraction(1, 3)
    del mode


# ------------------------------------------------------------------------------- errors


@MODES
def test_a_function_without_a_rule_is_named(mode, monkeypatch):
    monkeypatch.delitem(rules.ufuncs.implementations, np.hypot)
    monkeypatch.delitem(rules.ufuncs.implementations, np.roll)
    for ad_kind in (ad.Dual, ad.Variable):
        monkeypatch.delitem(ad_kind.unary, np.hypot, raising=False)
    for name, f in {
        "np.hypot": lambda x: np.hypot(x, 1.0),
        "np.roll": lambda x: np.roll(x, 1),
    }.items():
        with pytest.raises(NotDifferentiableError, match=rf"{name} has no .* rule: .*CONTRIBUTING"):
            ad.jacobian(f, mode=mode)(np.ones(2))


@MODES
def test_a_function_on_a_cut_of_the_complex_plane_is_refused(mode):
    for function in (np.emath.arcsin, np.emath.arccos, np.emath.arctanh):
        with pytest.raises(NotDifferentiableError, match="write the branch"):
            ad.grad(lambda x, f=function: np.sum(np.abs(f(x))), mode=mode)(np.array([0.5, 2.0]))


def test_a_ufunc_method_for_the_wrong_ufunc_is_refused_as_numpy_does():
    x = ad.Dual(np.ones(3), np.ones(3))
    for wrong in (np.sin.reduce, np.sin.accumulate, np.divmod.reduce):
        with pytest.raises(ValueError, match="only supported for"):
            wrong(x)


def test_shapes_that_do_not_fit_are_refused_as_numpy_does():
    x = ad.Dual(np.ones(3), np.ones(3))
    for wrong in (
        lambda: x + np.ones(2), lambda: x.reshape(2, 2), lambda: np.stack([x, np.ones(2)]),
        lambda: np.concatenate([x, np.ones((2, 2))]), lambda: x @ np.ones(2),
        lambda: x.__iadd__(np.ones((2, 3))), lambda: x.__setitem__(slice(0, 2), np.ones(3)),
        lambda: np.add(x, 1.0, out=ad.Dual(np.ones(2), np.ones(2))),
        lambda: np.subtract.reduce(np.stack([x, x]), axis=(0, 1)),
    ):  # fmt: skip
        with pytest.raises(ValueError):  # noqa: PT011
            wrong()
    for beyond in (lambda: x[3], lambda: x[1, 2], lambda: x["a"], lambda: x[1.5], lambda: x[x]):
        with pytest.raises(IndexError):
            beyond()
    for beyond in (lambda: np.sum(x, axis=1), lambda: np.moveaxis(x, 2, 0), lambda: np.flip(x, 1)):
        with pytest.raises(np.exceptions.AxisError):
            beyond()


def test_scalars_and_arrays_share_one_layout():
    assert set(Operators.__slots__) >= {"_source", "_views", "__weakref__"}
    assert ArrayNumber.__slots__ == ()
