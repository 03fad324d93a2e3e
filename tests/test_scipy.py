"""SciPy with derivatives from here: optimisers, least squares, roots and differential equations.

What SciPy does to numbers itself is refused, never wrong.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.stats

import dualad as ad


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


STARTS = {
    "array": np.array([-1.2, 1.0]),
    "list": [-1.2, 1.0],
    "integers": np.array([-1, 2]),
    "list of integers": [-1, 2],
    "five": [1.2, 0.8, 1.1, 0.9, 1.2],
}
FIRST = ("BFGS", "L-BFGS-B", "CG", "TNC", "SLSQP")
SECOND = ("Newton-CG", "trust-exact", "trust-ncg", "trust-constr")

starts = pytest.mark.parametrize("start", STARTS)


def check(result, start):
    np.testing.assert_allclose(result.x, np.ones(len(STARTS[start])), atol=1e-4)


@starts
@pytest.mark.parametrize("method", FIRST)
@pytest.mark.parametrize("mode", ["forward", "auto"])
def test_minimize_with_the_gradient(method, mode, start):
    # With a gradient written by hand, too, TNC needs a smaller ftol to come this near.
    options = {"maxfun": 2000, "ftol": 1e-15} if method == "TNC" else {"maxiter": 2000}
    result = scipy.optimize.minimize(
        rosenbrock, STARTS[start], jac=ad.grad(rosenbrock, mode=mode), method=method, tol=1e-9,
        options=options,
    )  # fmt: skip
    check(result, start)


@starts
@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG"])
def test_minimize_with_value_and_gradient_at_once(method, start):
    both = ad.value_and_grad(rosenbrock)
    check(scipy.optimize.minimize(both, STARTS[start], jac=True, method=method), start)


@pytest.mark.parametrize("method", SECOND)
@pytest.mark.parametrize("mode", ["hyperdual", "forward", "reverse"])
def test_minimize_with_the_hessian(method, mode):
    result = scipy.optimize.minimize(
        rosenbrock, STARTS["array"], jac=ad.grad(rosenbrock),
        hess=ad.hessian(rosenbrock, mode=mode), method=method, tol=1e-9,
    )  # fmt: skip
    check(result, "array")


@starts
@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg"])
def test_minimize_with_hessian_vector_products(method, start):
    result = scipy.optimize.minimize(
        rosenbrock, STARTS[start], jac=ad.grad(rosenbrock), method=method, tol=1e-9,
        hessp=lambda x, v: ad.hvp(rosenbrock, x, v),
    )  # fmt: skip
    check(result, start)


@starts
def test_the_gradient_is_an_array_of_floats(start):
    gradient = ad.grad(rosenbrock)(np.asarray(STARTS[start]))
    assert type(gradient) is np.ndarray
    assert gradient.dtype == np.float64
    assert gradient.shape == (len(STARTS[start]),)


def test_constraints_have_jacobians():
    inside = lambda x: 1.0 - x @ x  # noqa: E731
    slope, gradient = ad.grad(inside), ad.grad(rosenbrock)
    first = scipy.optimize.minimize(
        rosenbrock, [0.0, 0.0], jac=gradient, method="SLSQP", tol=1e-9,
        constraints={"type": "ineq", "fun": inside, "jac": slope},
    )  # fmt: skip
    second = scipy.optimize.minimize(
        rosenbrock, [0.0, 0.0], jac=gradient, hess=ad.hessian(rosenbrock), method="trust-constr",
        constraints=scipy.optimize.NonlinearConstraint(
            inside, 0.0, np.inf, jac=slope, hess=lambda x, v: v[0] * ad.hessian(inside)(x)
        ),
    )  # fmt: skip
    np.testing.assert_allclose(first.x, second.x, atol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(first.x), 1.0, atol=1e-8)


def residuals(x):
    return np.array([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])


@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_least_squares(method, mode):
    jacobian = ad.jacobian(residuals, mode=mode)
    for start in (STARTS["array"], STARTS["list"], STARTS["integers"]):
        check(scipy.optimize.least_squares(residuals, start, jac=jacobian, method=method), "array")


@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_root(method, mode):
    jacobian = ad.jacobian(residuals, mode=mode)
    for start in (STARTS["array"], STARTS["list"], STARTS["integers"]):
        check(scipy.optimize.root(residuals, start, jac=jacobian, method=method), "array")


def test_root_scalar_and_newton():
    f = lambda x: np.cos(x) - x  # noqa: E731
    first, second = ad.derivative(f), ad.derivative(f, 2)
    root = scipy.optimize.brentq(f, 0.0, 1.0, xtol=1e-15)
    assert abs(scipy.optimize.newton(f, 0.5, first, fprime2=second) - root) < 1e-12
    halley = scipy.optimize.root_scalar(f, x0=0.5, fprime=first, fprime2=second, method="halley")
    assert abs(halley.root - root) < 1e-12


def test_curve_fit():
    t = np.linspace(0.0, 2.0, 20)
    model = lambda t, a, b: a * np.exp(-b * t)  # noqa: E731
    jacobian = lambda t, a, b: np.stack(ad.jacobian(model, (1, 2))(t, a, b), -1)  # noqa: E731
    found, _ = scipy.optimize.curve_fit(model, t, model(t, 3.0, 1.5), p0=[1.0, 1.0], jac=jacobian)
    np.testing.assert_allclose(found, [3.0, 1.5], rtol=1e-6)


def robertson(t, y):
    rates = np.array([0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2])
    return np.array([rates[1] - rates[0], rates[0] - rates[1] - rates[2], rates[2]])


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_stiff_equations_with_their_jacobian(method, mode):
    jacobian = lambda t, y: ad.jacobian(robertson, 1, mode)(t, y)  # noqa: E731
    y = scipy.integrate.solve_ivp(
        robertson, (0.0, 40.0), [1.0, 0.0, 0.0], method=method, jac=jacobian, rtol=1e-6, atol=1e-10
    ).y[:, -1]
    reference = scipy.integrate.solve_ivp(
        robertson, (0.0, 40.0), [1.0, 0.0, 0.0], method="Radau", rtol=1e-9, atol=1e-13
    ).y[:, -1]
    np.testing.assert_allclose(y, reference, rtol=1e-4)


REFUSED = {
    "linalg.inv": scipy.linalg.inv,
    "linalg.det": scipy.linalg.det,
    "linalg.solve": lambda x: scipy.linalg.solve(x, np.ones(2)),
    "linalg.expm": scipy.linalg.expm,
    "linalg.expm of a multiple": lambda x: scipy.linalg.expm(x[0, 0] * np.eye(2)),
    "linalg.logm": scipy.linalg.logm,
    "linalg.sqrtm": scipy.linalg.sqrtm,
    "linalg.eigh": lambda x: scipy.linalg.eigh(x)[0],
    "linalg.svd": lambda x: scipy.linalg.svd(x)[1],
    "linalg.cholesky": scipy.linalg.cholesky,
    "linalg.lu_factor": lambda x: scipy.linalg.lu_factor(x)[0],
    "linalg.norm": scipy.linalg.norm,
    "fft.fft": lambda x: scipy.fft.fft(x).real,
    "fft.rfft": lambda x: scipy.fft.rfft(x).real,
    "fft.dct": scipy.fft.dct,
    "signal.convolve": lambda x: scipy.signal.convolve(x, np.ones((2, 2))),
    "signal.fftconvolve": lambda x: scipy.signal.fftconvolve(x, np.ones((2, 2))),
    "signal.lfilter": lambda x: scipy.signal.lfilter([1.0, 2.0], [1.0, 0.5], x[0]),
    "interpolate.CubicSpline": lambda x: scipy.interpolate.CubicSpline([0.0, 1.0], x)(0.5),
    "integrate.simpson": lambda x: scipy.integrate.simpson(x),
    "stats.norm.pdf": lambda x: scipy.stats.norm.pdf(x),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_what_converts_its_input_is_right_or_refused(name, mode):
    f, x = REFUSED[name], np.array([[2.0, 0.3], [0.4, 1.5]])
    x = x + x.T
    try:
        slopes = ad.jacobian(f, mode=mode)(x)
    except (TypeError, ValueError, NotImplementedError):
        return
    steps = 1e-6 * np.eye(4).reshape(4, 2, 2)
    columns = [(np.asarray(f(x + s)) - np.asarray(f(x - s))) / 2e-6 for s in steps]
    np.testing.assert_allclose(
        slopes, np.moveaxis(columns, 0, -1).reshape(slopes.shape), rtol=1e-5, atol=1e-6
    )


def test_the_advice_names_numpys_function():
    x = 3.0 * np.eye(2)
    for f, instead in (
        (lambda x: scipy.fft.fft(x).real, "np.fft"), (scipy.linalg.cholesky, "np.linalg"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=instead):
            ad.jacobian(f)(x)
