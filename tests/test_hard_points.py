"""Hard points: where a partial is infinite or NaN, where arguments tie, where NumPy would warn.

The laws are tested over the whole table, at points chosen to be bad for most functions.
"""

import itertools
import math
import warnings

import numpy as np
import pytest

import dualad as ad
from dualad import rules
from dualad.primitive import Elementwise, Multilinear, Primitive

INF, NAN = math.inf, math.nan
BAD = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, INF, -INF, NAN, 1e308, -1e308, 5e-324]
PAIRS = [0.0, 1.0, -1.0, 0.5, 2.0, INF, -INF, NAN, 1e308]

ELEMENTWISE = {n: r for n, r in Primitive.table.items() if isinstance(r, Elementwise)}
MULTILINEAR = {n: r for n, r in Primitive.table.items() if isinstance(r, Multilinear)}


def is_whole(interval):
    return all(isinstance(end, int) for end in interval)


def variable(row):
    """The arguments of a row that may be numbers."""
    return [i for i, interval in enumerate(row.domain) if not is_whole(interval)]


def bad_points(row):
    """All combinations of bad points, as one array an argument."""
    free = variable(row)
    values = BAD if len(free) == 1 else PAIRS if len(free) == 2 else [0.0, 1.0, INF, NAN]
    combinations = np.array(list(itertools.product(values, repeat=len(free)))).T
    args = [1] * len(row.domain)
    for i, column in zip(free, combinations, strict=True):
        args[i] = column
    return args


elementwise = pytest.mark.parametrize("row", ELEMENTWISE.values(), ids=ELEMENTWISE)


@pytest.fixture(autouse=True)
def plain_warnings_are_expected():
    """The plain functions themselves warn at these points; what we add is tested by itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def parts_of(y):
    """The parts of a number beyond its primal, innermost ones included."""
    if not hasattr(y, "parts"):
        return []
    found = []
    for name, part in y.parts().items():
        if hasattr(part, "parts"):
            found += parts_of(part)
        if name != "primal":
            found.append(ad.stop_gradient(part))
    return found


def all_zero(parts):
    return all(np.all(np.asarray(p) == 0) for p in parts)


# ------------------------------------------------------------------------- strong zeros


def zero_numbers(x):
    """Numbers over x with no slope at all, in every system and nesting."""
    z = np.zeros_like(x)
    k = np.zeros((2, *np.shape(x)))
    return {
        "Dual": ad.Dual(x, z),
        "Dual of two directions": ad.Dual(x, k),
        "HyperDual": ad.HyperDual(x, z, z, z),
        "Dual over Dual": ad.Dual(ad.Dual(x, z), ad.Dual(z, z)),
        "HyperDual over Dual": ad.HyperDual(*[ad.Dual(p, z) for p in (x, z, z, z)]),
    }


@elementwise
def test_a_zero_tangent_stays_zero_against_any_partial(row):
    args = bad_points(row)
    for i in variable(row):
        for system, number in zero_numbers(args[i]).items():
            y = row(*args[:i], number, *args[i + 1 :])
            assert all_zero(parts_of(y)), (system, i)


@elementwise
def test_a_zero_tangent_of_a_float_stays_zero(row):
    columns = [a if isinstance(a, np.ndarray) else [a] * 500 for a in bad_points(row)]
    for point in itertools.islice(zip(*columns, strict=False), 40):
        point = [p if isinstance(p, int) else float(p) for p in point]
        for i in variable(row):
            for system, number in zero_numbers(point[i]).items():
                if system == "Dual of two directions":
                    continue
                y = row(*point[:i], number, *point[i + 1 :])
                assert all_zero(parts_of(y)), (system, i, point)


@elementwise
def test_a_zero_cotangent_stays_zero_against_any_partial(row):
    args = bad_points(row)
    for i in variable(row):

        def f(x, i=i):
            return row(*args[:i], x, *args[i + 1 :])

        y, pullback = ad.vjp(f, args[i])
        assert np.array_equal(pullback(np.zeros_like(y))[0], np.zeros_like(args[i]))
        # One float for all entries, and a zero that arises on the way.
        assert np.all(ad.grad(lambda x, f=f: 0.0 * np.sum(f(x)), mode="reverse")(args[i]) == 0)
        assert np.all(ad.grad(lambda x, f=f: np.sum(0.0 * f(x)), mode="reverse")(args[i]) == 0)
        # Two directions at once, of which one is zero.
        on = np.stack([np.zeros(y.shape, bool), np.ones(y.shape, bool)])
        two = ad.jacobian(lambda x, f=f, on=on: np.where(on, f(x), 0.0), mode="reverse")(args[i])
        assert np.all(two[0] == 0)


@elementwise
def test_an_unselected_branch_contributes_nothing(row):
    args = bad_points(row)
    for i in variable(row):
        x = args[i]
        selected = np.arange(x.size) % 2 == 0

        def f(x, i=i, selected=selected):
            return np.sum(np.where(selected, x, row(*args[:i], x, *args[i + 1 :])))

        def masked(x, i=i, selected=selected):
            # By a mask: what is not selected is never evaluated at a variable.
            y = row(*args[:i], x, *args[i + 1 :])
            return np.sum(y[selected] * 0.0)

        # All entries are turned off in one of the two functions or the other.
        for mode in ("forward", "reverse"):
            assert np.all(ad.grad(f, mode=mode)(x)[selected] == 1)
            assert np.all(ad.grad(masked, mode=mode)(x)[~selected] == 0)
        off = np.zeros(x.size, dtype=bool)

        def nothing(x, i=i, off=off):
            return np.sum(np.where(off, row(*args[:i], x, *args[i + 1 :]), 3.0))

        for mode in ("hyperdual", "forward", "reverse"):
            assert np.all(ad.hessian(nothing, mode=mode)(x) == 0), mode


@elementwise
def test_second_order_zeros_in_reverse(row):
    args = bad_points(row)
    for i in variable(row):

        def f(x, i=i):
            return 0.0 * np.sum(row(*args[:i], x, *args[i + 1 :]))

        x = args[i]
        z = np.zeros_like(x)
        # A direction that is zero, through a gradient; and the gradient of a slope that is zero.
        assert np.all(ad.jvp(ad.grad(f, mode="reverse"), (x,), (z,))[1] == 0)
        assert np.all(ad.grad(lambda x, f=f, z=z: ad.jvp(f, (x,), (z,))[1], mode="reverse")(x) == 0)


@pytest.mark.parametrize("name", MULTILINEAR)
@pytest.mark.parametrize("bad", [INF, NAN])
def test_products_keep_zeros_against_bad_factors(name, bad):
    row = MULTILINEAR[name]
    rng = np.random.default_rng(3)
    for shapes, params in row.samples:
        args = [rng.uniform(1, 2, shape) for shape in shapes]
        for i in range(len(args)):
            if len(args) == 1:
                continue
            others = [np.where(rng.uniform(size=a.shape) < 0.5, bad, a) if j != i else a
                      for j, a in enumerate(args)]  # fmt: skip
            z = np.zeros(shapes[i])

            def f(x, i=i, others=others, params=params):
                return row(*others[:i], x, *others[i + 1 :], **params)

            for system, number in zero_numbers(args[i]).items():
                assert all_zero(parts_of(f(number))), system
            y, pullback = ad.vjp(f, args[i])
            assert np.array_equal(pullback(np.zeros_like(y))[0], z)


# --------------------------------------------------------------------- special values

SPECIAL = [
    pytest.param(row, point, wanted, id=f"{name}{point}")
    for name, row in ELEMENTWISE.items()
    for point, wanted in row.special.items()
]


def same(a, b, rel=1e-14):
    a, b = float(a), float(b)
    return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=rel)


def first_slope(y):
    """The first tangent of a hyper-dual number; none, where the function is flat."""
    return y.tangent1 if isinstance(y, ad.HyperDual) else np.zeros_like(y)


@pytest.mark.parametrize(("row", "point", "wanted"), SPECIAL)
def test_special_slopes_are_signed_and_alike_in_all_modes(row, point, wanted):
    for i, want in enumerate(wanted):
        for wrap in (float, lambda v: np.array([v, v])):
            args = [wrap(p) for p in point]

            def f(x, i=i, args=args):
                return row(*args[:i], x, *args[i + 1 :])

            x = args[i]
            for scale in (1.0, -2.0):
                t = np.full_like(x, scale)[()]
                got = {
                    "forward": ad.jvp(f, (x,), (t,))[1],
                    "hyperdual": first_slope(f(ad.HyperDual(x, t, t, np.zeros_like(x)[()]))),
                    "reverse": ad.vjp(f, x)[1](t)[0],
                }
                for mode, slope in got.items():
                    assert all(same(s, want * scale) for s in np.ravel(slope)), (mode, slope, want)


FAMOUS = {
    "sqrt at 0": (np.sqrt, 0.0, INF),
    "sqrt at -0": (np.sqrt, -0.0, INF),
    "arccos at -1": (np.arccos, -1.0, -INF),
    "arccos at 1": (np.arccos, 1.0, -INF),
    "arcsin at 1": (np.arcsin, 1.0, INF),
    "cbrt at 0": (np.cbrt, 0.0, INF),
    "log at 0": (np.log, 0.0, INF),
    "arccosh at 1": (np.arccosh, 1.0, INF),
    "-sqrt at 0": (lambda x: -np.sqrt(x), 0.0, -INF),
    "x**0.5 at 0": (lambda x: x**0.5, 0.0, INF),
    "x**0 at 0": (lambda x: x**0, 0.0, 0.0),
    "x**0.0 at 0": (lambda x: x**0.0, 0.0, 0.0),
    "x**1 at 0": (lambda x: x**1, 0.0, 1.0),
    "0**y": (lambda y: np.power(0.0, y), 1.5, 0.0),
    "abs at 0": (np.abs, 0.0, 0.0),
    "abs at -0": (np.abs, -0.0, 0.0),
    "sign": (np.sign, 0.0, 0.0),
    "floor": (np.floor, 1.0, 0.0),
    "heaviside": (lambda x: np.heaviside(x, 0.5), 0.0, 0.0),
    "clip at its upper bound": (lambda x: np.clip(x, 0.0, 1.0), 1.0, 1.0),
    "clip at its lower bound": (lambda x: np.clip(x, 0.0, 1.0), 0.0, 1.0),
    "clip outside": (lambda x: np.clip(x, 0.0, 1.0), 1.5, 0.0),
    "where of a bad branch": (lambda x: np.where(x > 0, np.log(np.abs(x)), 0.0), 0.0, 0.0),
    "softplus far out": (lambda x: np.logaddexp(0.0, x), 800.0, 1.0),
    "softplus far down": (lambda x: np.logaddexp(0.0, x), -800.0, 0.0),
}


@pytest.mark.parametrize("name", FAMOUS)
def test_famous_points(name):
    f, x, want = FAMOUS[name]
    got = {
        "forward": ad.derivative(f)(x),
        "reverse": ad.grad(f, mode="reverse")(x),
        "array": ad.derivative(f)(np.array([x, x]))[0],
        "array, reverse": ad.grad(lambda x: np.sum(f(x)), mode="reverse")(np.array([x, x]))[1],
        "hyperdual": f(ad.HyperDual(x, 1.0, 1.0, 0.0)).tangent2 if want != 0 else want,
    }
    for mode, slope in got.items():
        assert same(slope, want), mode


def test_hessians_where_there_is_no_kink_but_it_looks_like_one():
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    functions = {
        "squared norm": (lambda x: np.linalg.norm(x) ** 2, 2 * np.eye(2)),
        "quadratic form": (lambda x: x @ (a @ x), a + a.T),
        "sum of squares": (lambda x: np.sum(x**2), 2 * np.eye(2)),
        "abs squared": (lambda x: np.sum(np.abs(x) ** 2), 2 * np.eye(2)),
        "product": (lambda x: x[0] * x[1], [[0.0, 1.0], [1.0, 0.0]]),
        "prod": (lambda x: np.prod(x), [[0.0, 1.0], [1.0, 0.0]]),
        "multiplied zeros": (lambda x: np.sum(np.outer(x, x)), 2 * np.ones((2, 2))),
    }
    for mode in ("hyperdual", "forward", "reverse"):
        for name, (f, want) in functions.items():
            got = ad.hessian(f, mode=mode)(np.zeros(2))
            assert np.array_equal(got, want), (name, mode, got)


# ------------------------------------------------------------------------------- ties

TIES = {
    "maximum": lambda x: np.maximum(x, x),
    "minimum": lambda x: np.minimum(x, x),
    "fmax": lambda x: np.fmax(x, x),
    "fmin": lambda x: np.fmin(x, x),
    "max": lambda x: np.max(np.stack([x, x, x])),
    "min": lambda x: np.min(np.stack([x, x, x])),
    "max of max": lambda x: np.maximum(np.maximum(x, x), np.maximum(x, x)),
    "median": lambda x: np.median(np.stack([x, x, x])),
    "sort": lambda x: np.sort(np.stack([x, x]))[0],
    "clip": lambda x: np.clip(x, x, x),
    "where": lambda x: np.where(x > 0, x, x),
    "logaddexp": lambda x: np.logaddexp(x, x),
    "hypot": lambda x: np.hypot(x, x) / math.sqrt(2),
}


@pytest.mark.parametrize("name", TIES)
def test_shares_of_a_tie_sum_to_one(name):
    f = TIES[name]
    for x in (2.0, 1e-300, 3e100):
        for D in (ad.derivative, lambda f: ad.grad(f, mode="reverse")):
            assert same(D(f)(x), 1.0)


def test_a_tie_is_shared_alike():
    x, y = 1.0, 1.0
    for mode in ("forward", "reverse"):
        for f in (np.maximum, np.minimum, np.fmax, np.fmin):
            assert ad.grad(f, (0, 1), mode=mode)(x, y) == (0.5, 0.5)
        for f in (np.max, np.min):
            got = ad.grad(f, mode=mode)(np.full(4, 3.0))
            assert np.array_equal(got, np.full(4, 0.25))
        got = ad.grad(np.max, mode=mode)(np.array([3.0, 1.0, 3.0]))
        assert np.array_equal(got, [0.5, 0.0, 0.5])


# ----------------------------------------------------------- what NumPy would warn about


def raises(call):
    """Whether a call raises under errstate(all="raise")."""
    with np.errstate(all="raise"):
        try:
            call()
        except FloatingPointError:
            return True
    return False


ORDERS = {
    "forward": lambda f, x: ad.derivative(f)(x),
    "reverse": lambda f, x: ad.vjp(f, x)[1](np.ones_like(x)[()]),
    "hyperdual": lambda f, x: ad.derivative(f, order=2)(x),
    "forward over reverse": lambda f, x: ad.hvp(lambda x: np.sum(f(x)), x, np.ones_like(x)[()]),
    "forward over forward": lambda f, x: ad.derivative(ad.derivative(f))(x),
}


@pytest.mark.parametrize("how", ORDERS)
@elementwise
def test_nothing_is_raised_that_the_function_does_not_raise(row, how):
    columns = [a if isinstance(a, np.ndarray) else [a] * 500 for a in bad_points(row)]
    for point in zip(*columns, strict=False):
        for i in variable(row):
            for wrap in (float, lambda v: np.array([float(v)])):
                args = [p if isinstance(p, int) else wrap(p) for p in point]

                def f(x, i=i, args=args):
                    return row(*args[:i], x, *args[i + 1 :])

                if not raises(lambda f=f, i=i, args=args: f(args[i])):
                    assert not raises(lambda f=f, i=i, args=args: ORDERS[how](f, args[i])), (
                        point, i, wrap,
                    )  # fmt: skip


def test_the_callers_error_state_holds_inside_f():
    def f(x):
        assert np.geterr()["divide"] == "raise"
        return np.log(x)

    with np.errstate(divide="raise"):
        for D in (ad.derivative, lambda f: ad.grad(f, mode="reverse")):
            with pytest.raises(FloatingPointError):
                D(f)(np.zeros(2))


def test_the_strong_product():
    assert rules.scaled(INF, 0.0) == 0.0
    got = rules.scaled(np.array([INF, NAN, 2.0]), np.array([0.0, 0.0, 3.0]))
    assert np.array_equal(got, [0.0, 0.0, 6.0])
