"""The public checker and users' own primitives: what is wrong is found, what is right passes."""

import numpy as np
import pytest

import dualad as ad
from dualad.primitive import Primitive

SYSTEMS = ["forward", "reverse"]


def softplus_rows():
    return ad.primitive(
        lambda x: np.logaddexp(0.0, x), partials=[lambda xp, y, x: 1 / (1 + xp.exp(-x))]
    )


def test_what_is_right_passes_and_shows_every_way():
    report = ad.check(lambda x, d: {"a": np.sin(x) * d["k"], "b": [x @ x]}, np.ones(3), {"k": 3})
    assert report.holds
    ways = {(row.order, row.way) for row in report.rows}
    for order in (1, 2):
        assert (order, "differences") in ways
    nestings = {f"{a} over {b}" for a in SYSTEMS for b in SYSTEMS}
    assert {way for order, way in ways if order == 2} == nestings | {"hyper-dual", "differences"}
    assert len({f"{row.value:.6g}" for row in report.rows}) == 2
    assert "differs" not in str(report)
    assert max(row.order for row in ad.check(np.sin, 1.0, order=1).rows) == 1


WRONG = {
    "a first partial": (
        ad.primitive(lambda x: x**3, partials=[lambda xp, y, x: 2 * x * x]), 2.0, 1,
    ),
    "a second partial": (
        ad.primitive(np.square, partials=[lambda xp, y, x: 2 * ad.stop_gradient(x)]), 2.0, 2,
    ),
    "a transpose": (
        ad.primitive(lambda x: 3 * x, transpose=lambda ct: 2 * ct), np.ones(2), 1,
    ),
    "a forgotten partial": (
        ad.primitive(lambda x: x**3, partials=[None]), 2.0, 1,
    ),
    "a constant that was meant to vary": (lambda x: x * ad.stop_gradient(np.sin(x)), 2.0, 1),
    "a small function": (
        ad.primitive(lambda x: 1e-30 * x**3, partials=[lambda xp, y, x: 2e-30 * x * x]), 2.0, 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found(name):
    f, x, order = WRONG[name]
    with pytest.raises(ad.CheckError, match="differs") as caught:
        ad.check(f, x)
    assert isinstance(caught.value, AssertionError)
    if order == 2:
        ad.check(f, x, order=1)


def test_a_kink_is_no_fault():
    assert ad.check(np.abs, 0.0).holds


def test_what_check_refuses():
    with pytest.raises(ValueError, match="order"):
        ad.check(np.sin, 1.0, order=3)
    with pytest.raises(TypeError, match="real"):
        ad.check(np.sin, 1j)


# ------------------------------------------------------------------- users' own primitives


@pytest.mark.parametrize("x", [0.3, -40.0, np.array([[0.1, -2.0], [30.0, 1.0]])])
def test_an_elementwise_primitive_in_every_system(x):
    f = softplus_rows()
    s = 1 / (1 + np.exp(-x))
    np.testing.assert_allclose(ad.derivative(f)(x), s, rtol=1e-13)
    np.testing.assert_allclose(ad.derivative(f, order=2)(x), s * s * np.exp(-x), rtol=1e-12)
    np.testing.assert_allclose(ad.vjp(f, x)[1](np.ones_like(x)[()])[0], s, rtol=1e-13)
    assert np.array_equal(f(x), np.logaddexp(0.0, x))
    assert ad.check(f, x).holds


def test_a_primitive_of_several_arguments_broadcasts():
    f = ad.primitive(
        lambda a, b, c: a * b + c,
        partials=[lambda xp, y, a, b, c: b, lambda xp, y, a, b, c: a, 1],
    )
    assert ad.check(f, np.ones((2, 1)) * 0.3, np.array([1.0, 2.0, 3.0]), 0.5).holds
    assert ad.check(lambda x: f([x[0], x[1]], 2.0, x), np.array([0.5, 1.5])).holds


def test_a_ufunc_gets_its_rule():
    cubed = np.frompyfunc(lambda x: x**3, 1, 1)
    ad.primitive(cubed, partials=[lambda xp, y, x: 3 * x * x])
    assert ad.derivative(lambda x: cubed(x))(2.0) == 12.0


def test_a_ufunc_that_has_a_rule_keeps_it():
    mine = ad.primitive(np.sin, partials=[lambda xp, y, x: 7.0])
    assert (ad.derivative(mine)(0.0), ad.derivative(np.sin)(0.0)) == (7.0, 1.0)


def test_a_linear_primitive_in_every_system():
    a = np.random.default_rng(0).normal(size=(3, 2))
    calls = []

    def f(x):
        assert type(x) is np.ndarray
        assert x.shape == (2,)
        calls.append(x)
        return a @ x

    linear = ad.primitive(f, transpose=lambda ct: a.T @ ct)
    x = np.array([0.5, -1.0])
    for mode in SYSTEMS:
        assert np.array_equal(ad.jacobian(linear, mode=mode)(x), a)
    assert ad.check(lambda x: np.sin(linear(x * x)), x).holds
    for mode in ("hyperdual", "forward", "reverse"):
        got = ad.hessian(lambda x: np.sum(linear(x) ** 2), mode=mode)(x)
        np.testing.assert_allclose(got, 2 * a.T @ a)
    assert calls


def test_what_cannot_be_registered_or_called():
    with pytest.raises(TypeError, match="either"):
        ad.primitive(np.sin)
    with pytest.raises(TypeError, match="either"):
        ad.primitive(np.sin, partials=[1], transpose=np.cos)
    with pytest.raises(TypeError, match="partial"):
        ad.primitive(np.sin, partials=["cos"])
    with pytest.raises(TypeError, match="function"):
        ad.primitive(3, partials=[1])
    with pytest.raises(TypeError, match="arguments"):
        softplus_rows()(1.0, 2.0)
    with pytest.raises(ValueError, match="entry by entry"):
        ad.primitive(np.sum, partials=[1])(ad.Variable(np.ones(3)))


def test_a_users_row_is_not_in_the_librarys_table():
    before = dict(Primitive.table)
    f = ad.primitive(lambda x: 2 * x, transpose=lambda ct: 2 * ct)
    g = softplus_rows()
    assert (f(1.0), ad.derivative(f)(1.0), ad.derivative(g)(0.0)) == (2.0, 2.0, 0.5)
    assert Primitive.table == before


def test_the_registered_function_keeps_its_name_and_doc():
    def logistic(x):
        """One over one plus exp(-x)."""
        return 1 / (1 + np.exp(-x))

    f = ad.primitive(logistic, partials=[lambda xp, y, x: y * (1 - y)])
    assert (f.__name__, f.__doc__) == (logistic.__name__, logistic.__doc__)
