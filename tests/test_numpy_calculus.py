"""Differences, integrals, interpolation, polynomials, products, Fourier transforms.

Calls are checked as in ``call`` of conftest; besides, what holds at the places of an interpolation,
for coordinates that happen to be equally spaced, and for transforms of complex signals.
"""

from __future__ import annotations

import functools
import itertools
import re

import numpy as np
import pytest

import dualad as ad

CALLS = """
    np.diff(x)
    np.diff(A, n=2)
    np.diff(A, axis=0)
    np.diff(A, n=0)
    np.diff(A, prepend=c, append=A[:, :2])
    np.diff(A, axis=0, append=2.0)
    np.ediff1d(A)
    np.ediff1d(x, to_end=[c, 9.0], to_begin=d)
    np.unwrap(9 * x)
    np.unwrap(9 * A, axis=0)
    np.unwrap(9 * A, discont=4.0, period=5.0 * d)
    np.gradient(x)
    np.gradient(x, edge_order=2)
    np.gradient(A)
    np.gradient(A, c, d)
    np.gradient(A, c)
    np.gradient(S, axis=(0, -1))
    np.gradient(S, np.cumsum(x**2), axis=2, edge_order=2)
    np.gradient(S, c, np.cumsum(x**2), axis=(1, 2))
    np.gradient(x, np.cumsum(y**2))
    np.gradient(x, np.cumsum(y**2), edge_order=2)
    np.trapezoid(x)
    np.trapezoid(A, dx=c, axis=0)
    np.trapezoid(A, y)
    np.trapezoid(A, y[:3], axis=0)
    np.trapezoid(A, np.cumsum(A**2, axis=1))
    np.trapezoid(S, x=y[:3], axis=-2)
    np.interp(x, [-2.0, -1.0, 0.5, 2.5], y)
    np.interp(x, np.cumsum(y**2), A[0])
    np.interp(A, np.cumsum(y**2) + 0.06, x)
    np.interp(c, np.cumsum(y**2), x)
    np.interp(x, [0.0, 0.5, 1.0], y[:3], left=c, right=d)
    np.interp(x, np.cumsum(y**2), y + 1j * A[1])
    np.interp(x, [0.1, 1.6, 1.2, 0.7], y, period=2.1)
    np.interp(x, y, A[1], period=2.1 * d)
    np.interp(x, [0.4], y[:1])
    np.convolve(x, y)
    np.convolve(x, x)
    np.convolve(x, [1.0, c], "same")
    np.convolve(y[:2], x, mode="valid")
    np.convolve(A[0] * (1 + 2j), x - 1j * y)
    np.correlate(x, y)
    np.correlate(x, y[:2], "full")
    np.correlate(y[:2], x, mode="same")
    np.correlate(x[:3], y, "full")
    np.correlate(x + 1j * y, y[:3] - 2j * x[:3], "valid")
    np.kron(A, Q)
    np.kron(x, A)
    np.kron(A, x)
    np.kron(c, x)
    np.kron(c, d)
    np.kron(np.eye(2), x)
    np.cross(B[:3], Q)
    np.cross(B, Q[0])
    np.cross(Q, Q**2, axis=0)
    np.cross(Q.T, B[:3], axisa=0, axisc=0)
    np.cross([c, d, 1.0], Q)
    np.linalg.cross(B, B**2)
    np.vecdot(A, x)
    np.vecdot(A, S)
    np.vecdot(B, B**2, axis=0)
    np.vecdot(x + 1j * y, A * 1j + A**2)
    np.linalg.vecdot(A, A + 1, axis=0)
    np.matvec(S, x)
    np.matvec(A, A**2)
    np.matvec(A, S[:, 0][:, None])
    np.vecmat(x[:3], S)
    np.vecmat(x[:3] + 1j * y[:3], A)
    np.polyval(x, c)
    np.polyval(y, A / 2)
    np.polyval([], x) + c
    np.polyval([c, 1.0, d], x)
    np.polyadd(x, y[:2])
    np.polysub(x[:2], y)
    np.polymul(x, y[:3])
    np.polymul(x, c)
    np.polydiv(x, y[:2])
    np.polydiv(x, y[:1])
    np.polydiv(np.convolve(x, y[:3]), y[:3])
    np.polydiv(x[:2], y)
    np.polyder(x)
    np.polyder(x, 2)
    np.polyint(x)
    np.polyint(x, 2, [c, d])
    np.polyint(x, m=2, k=c)
    np.poly(x)
    np.poly(Q)
    np.sort(np.roots(np.poly(x)))
    np.roots([x[0], y[0], 3.0])
    np.roots([0.0, x[0], y[0], 3.0, 0.0])
    np.roots([0.0, c, 0.0]) + c
    np.polyfit(x, y, 1)
    np.polyfit(x, y, 2, w=y**2 + 1)
    np.polyfit(x, B, 1)
    np.polyfit(x, y, 1, cov=True)
    np.polyfit(x, B, 1, cov=True)
    np.polyfit(x, y, 1, cov="unscaled")
    np.polyfit(x, y, 1, full=True)[:2]
    np.polynomial.polynomial.polyval(c, x)
    np.polynomial.Polynomial(x)(c)
    np.polynomial.chebyshev.chebval(c, x)
    np.fft.fft(x)
    np.fft.fft(A, axis=0)
    np.fft.fft(A, n=3, norm="ortho")
    np.fft.fft(A, 6, 0, "forward")
    np.fft.fft(x + 1j * y)
    np.fft.ifft(x)
    np.fft.ifft(A * (1 - 2j), n=5, axis=-2)
    np.fft.rfft(x)
    np.fft.rfft(x[:3])
    np.fft.rfft(A, n=5, axis=0, norm="forward")
    np.fft.irfft(x)
    np.fft.irfft(x + 1j * y, 5)
    np.fft.irfft(A * (1 + 1j), n=4, axis=0, norm="ortho")
    np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(y))
    np.fft.hfft(x + 1j * y)
    np.fft.hfft(A, n=5, axis=0, norm="ortho")
    np.fft.ihfft(x)
    np.fft.ihfft(A, n=5, axis=0)
    np.fft.fft2(A)
    np.fft.fft2(S, norm="ortho")
    np.fft.ifft2(A * (1 + 2j), s=(2, 5))
    np.fft.rfft2(A)
    np.fft.rfft2(S, s=(4, 3), axes=(0, 1))
    np.fft.irfft2(A * (2 + 1j))
    np.fft.irfft2(A * (2 + 1j), s=(2, 5))
    np.fft.fftn(S)
    np.fft.fftn(S, axes=(0, 2))
    np.fft.ifftn(S * 1j, s=(3, 2), axes=(2, 0), norm="forward")
    np.fft.rfftn(S)
    np.fft.rfftn(S, s=(-1, 5), axes=(0, 1))
    np.fft.irfftn(S * (1 + 1j))
    np.fft.irfftn(S * (1 + 1j), s=(3, -1), axes=(1, 2))
    np.fft.irfftn(S * (1 + 1j), s=(3, 5), axes=(0, 2), norm="ortho")
    np.fft.fftshift(x)
    np.fft.fftshift(A)
    np.fft.ifftshift(S, axes=(0, 2))
    np.fft.ifftshift(A[0, :3])
    np.fft.fftfreq(5, d) * c
    np.abs(np.fft.fft(x)) ** 2
"""
LISTED = [line.strip() for line in CALLS.strip().splitlines()]


@pytest.mark.parametrize("text", LISTED)
def test_a_call_is_right_in_every_mode(call, text):
    call(text)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_every_mode_of_convolution_at_every_pair_of_lengths(name, mode, agree):
    f = getattr(np, name)
    rng = np.random.default_rng(1)
    for n, m in itertools.product(range(1, 5), repeat=2):
        a, v = rng.normal(size=n), rng.normal(size=m)
        y, pullback = ad.vjp(functools.partial(f, mode=mode), a, v)
        agree(y, f(a, v, mode), 1e-14)
        unit_a = np.array([f(e, v, mode) for e in np.eye(n)])  # bilinear: the Jacobians
        unit_v = np.array([f(a, e, mode) for e in np.eye(m)])
        ct = rng.normal(size=y.shape)
        agree(pullback(ct), (unit_a @ ct, unit_v @ ct))
        both = ad.jacobian(f, (0, 1), mode="forward")(a, v, mode)
        agree(both, (unit_a.T, unit_v.T))


@pytest.mark.parametrize("mode", ["full", "valid"])
def test_third_derivatives_of_a_convolution_with_all_directions_at_once(mode, agree):
    """Both factors then carry direction axes, of two levels: none may be taken for another's."""

    def f(x):
        return np.sum(np.convolve(np.sin(x), x[:2] ** 2, mode) ** 2)

    x = np.array([0.4, -0.7, 1.1])
    thirds = {
        (outer, inner): ad.jacobian(ad.hessian(f, mode=inner), mode=outer)(x)
        for outer in ("forward", "reverse")
        for inner in ("hyperdual", "forward", "reverse")
    }
    h = 1e-3
    hessian = ad.hessian(f)
    differences = np.stack(
        [
            8 * (hessian(x + e) - hessian(x - e)) - (hessian(x + 2 * e) - hessian(x - 2 * e))
            for e in h * np.eye(3)
        ], -1,
    ) / (12 * h)  # fmt: skip
    for third in thirds.values():
        agree(third, differences, 1e-9)


# ----------------------------------------------------------------------------- hard points


def test_coordinates_that_are_equally_spaced_keep_their_slopes(agree):
    y = np.array([1.0, 3.0, 2.0, 5.0])
    even = np.arange(4.0)
    nearby = even + np.array([0.0, 1e-7, -1e-7, 0.0])  # no shortcut here
    for order in (1, 2):
        J = ad.jacobian(np.gradient, 1)
        agree(J(y, even, edge_order=order), J(y, nearby, edge_order=order), 1e-5)


AT_A_PLACE = [
    (1.0, [0.0, 1.0, 3.0], 1.0),  # 1 before, 2 behind
    (1.0, [0.0, 2.0, 3.0], 1.0),
    (1.0, [0.0, 1.0, -3.0], 0.0),  # of different sign
    (0.0, [0.0, 1.0, 3.0], 0.0),  # before the first place it is flat
    (2.0, [0.0, 1.0, 3.0], 0.0),
]


@pytest.mark.parametrize(("x", "fp", "slope"), AT_A_PLACE)
def test_the_slope_of_an_interpolation_at_a_place_is_the_least(x, fp, slope):
    places = np.array([0.0, 1.0, 2.0])
    fp = np.array(fp)
    with np.errstate(all="raise"):
        for mode in ("forward", "reverse"):
            assert ad.grad(lambda x: np.interp(x, places, fp), mode=mode)(x) == slope
            weights = ad.grad(lambda fp: np.interp(x, places, fp), mode=mode)(fp)
            assert np.array_equal(weights, (places == x).astype(float))


@pytest.mark.parametrize("x", [-1.0, 0.3, 1.0, 1.7, 3.0])
def test_a_jump_in_an_interpolation_divides_by_nothing(x):
    places = np.array([0.0, 1.0, 1.0, 2.0])
    fp = np.array([1.0, 2.0, 4.0, 3.0])

    def f(x, places, fp):
        return np.interp(x, places, fp)

    with np.errstate(all="raise"):
        for mode in ("forward", "reverse"):
            y, slopes = ad.value_and_grad(f, (0, 1, 2), mode=mode)(x, places, fp)
            assert y == f(x, places, fp)
            assert all(np.all(np.isfinite(s)) for s in slopes)
            assert np.sum(slopes[2]) == pytest.approx(1.0)


# ----------------------------------------------------------------------- transforms, complex

TRANSFORMS = [
    (lambda z: np.fft.fft(z), 5),
    (lambda z: np.fft.ifft(z, 7), 5),
    (lambda z: np.fft.fft(z, 3, norm="ortho"), 5),
    (lambda z: np.fft.irfft(z), 4),
    (lambda z: np.fft.irfft(z, 7), 4),
    (lambda z: np.fft.irfft(z, 3, norm="forward"), 4),
    (lambda z: np.fft.hfft(z), 4),
    (lambda z: np.fft.hfft(z, 5, norm="ortho"), 4),
]


@pytest.mark.parametrize(("f", "n"), TRANSFORMS)
def test_a_pullback_is_the_adjoint_in_the_real_inner_product(f, n, agree):
    rng = np.random.default_rng(3)
    z, t = rng.normal(size=(2, n)) + 1j * rng.normal(size=(2, n))
    y, pullback = ad.vjp(f, z)
    ct = rng.normal(size=y.shape) + (1j * rng.normal(size=y.shape) if np.iscomplexobj(y) else 0.0)
    (pulled,) = pullback(ct)
    pushed = ad.jvp(f, (z,), (t,))[1]
    agree(pushed, f(t))  # a linear function is its own derivative
    agree(np.vdot(pulled, t).real, np.vdot(ct, pushed).real)


CHUNKED = [t for t in LISTED if re.search(r"\bA\b", t) and not re.search(r"\b[xycdQBSVE]\b|j", t)]


@pytest.mark.parametrize("text", CHUNKED)
def test_as_many_directions_as_rows(text, agree):
    """Where k is a leading dimension, a direction axis taken for an entry axis goes unnoticed."""
    A = np.array([[0.5, -1.1, 0.9, 1.7], [2.3, 0.2, -0.4, 0.6], [-0.8, 1.4, 1.2, -0.3]])

    def f(A):
        y = eval(text, {"np": np, "A": A})
        y = np.stack(y) if isinstance(y, tuple) else y
        return np.stack([np.real(y), np.imag(y)])

    wanted = ad.jacobian(f, mode="reverse")(A)
    for k in A.shape:
        agree(ad.jacobian(f, mode="forward", chunk=k)(A), wanted)


def test_a_cross_product_in_the_plane_is_its_third_component(agree):
    """NumPy has deprecated it; while it is there it is differentiated."""
    a, b = np.array([[1.0, 2.0], [0.5, -1.0]]), np.array([3.0, -1.0])
    J = ad.jacobian(lambda a, b: np.cross(a, b), (0, 1))(a, b)
    first = np.zeros((2, 2, 2))
    first[[0, 1], [0, 1]] = [b[1], -b[0]]
    agree(J, (first, np.stack([-a[:, 1], a[:, 0]], 1)))
    with_space = ad.jacobian(lambda b: np.cross(b, [1.0, 2.0, 3.0]))(b)
    agree(with_space, np.array([[0.0, 3.0], [-3.0, 0.0], [2.0, -1.0]]))


INVALID = """
    np.diff(x, -1)
    np.gradient(x, edge_order=3)
    np.gradient(A, 1.0, 2.0, 3.0)
    np.gradient(x[:1])
    np.gradient(x, [1.0, 2.0])
    np.interp(x, x, x, period=0)
    np.interp(x * 1j, x, x)
    np.fft.fft(x, 0)
    np.fft.fft(x, norm="none")
    np.fft.rfft(x * 1j)
    np.fft.fftn(A, s=(1,), axes=(0, 1))
    np.convolve(A, x)
    np.convolve(x, [])
    np.convolve(x, x, "other")
    np.cross(A, A)
    np.polyder(x, -1)
    np.polyint(x, -1)
    np.polyint(x, 3, [1.0, 2.0])
    np.poly(A)
    np.roots(A)
    np.polyfit(x, x, -1)
    np.polyfit(A, x, 1)
    np.polyfit(x, x[:2], 1)
    np.polyfit(x[:2], x[:2], 1, cov=True)
    np.matvec(A, x[:2])
"""


@pytest.mark.parametrize("text", [line.strip() for line in INVALID.strip().splitlines()])
def test_an_invalid_call_raises_what_numpy_raises(text):
    f = eval(f"lambda x, A: {text}", {"np": np})
    x, A = np.arange(4.0), np.arange(12.0).reshape(3, 4)
    with pytest.raises(Exception) as plain:  # noqa: PT011 - which one is NumPy's to say
        f(x, A)
    with pytest.raises(plain.type):
        ad.jvp(f, (x, A), (x, A))


# ---------------------------------------------------------------------------- complex points

COMPLEX = """
    np.prod(x)
    np.cumprod(A, axis=0)
    np.var(A, axis=1)
    np.std(x)
    np.average(x, weights=x * y)
    np.cov(A)
    np.corrcoef(x, y)
    np.sort(x)
    np.diff(A, axis=0)
    np.gradient(x, [0.0, 1.0, 3.0, 4.0])
    np.trapezoid(x, y)
    np.interp([0.3, 1.2], [0.0, 1.0, 2.0, 3.0], x)
    np.convolve(x, y[:2])
    np.correlate(x, y[:2], "same")
    np.correlate(x[:2], y)
    np.kron(x, A)
    np.cross(B, Q[0])
    np.vecdot(A, x)
    np.matvec(A, x)
    np.vecmat(x[:3], A)
    np.polyval(x, y)
    np.polydiv(x, y[:2])
    np.polyfit([0.0, 1.0, 2.0, 3.0], x, 1)
    np.roots(x[:3])
    np.poly(x)
    np.fft.fft(A, axis=0)
    np.fft.ifft(x, 6)
    np.fft.irfft(x)
    np.fft.hfft(x, 5)
    np.fft.fft2(A)
    np.fft.irfftn(A, s=(4, 5), axes=(0, 1))
    np.fft.fftshift(x)
"""


@pytest.mark.parametrize("text", [line.strip() for line in COMPLEX.strip().splitlines()])
def test_a_call_at_complex_points(complex_call, text):
    complex_call(text)


@pytest.mark.parametrize("name", ["prod", "cumprod", "var", "cov", "poly", "median", "fft.fft"])
def test_second_order_at_complex_points(name, agree):
    f = eval(f"np.{name}", {"np": np})

    def total(z):
        y = f(z)
        return np.sum(np.sin(np.real(y))) + np.sum(np.cos(np.imag(y)))

    z = np.array([0.4 - 0.3j, -0.2 + 0.9j, 0.7 + 0.1j, 0.8 - 0.5j])
    v = np.array([0.3 + 0.2j, 0.1 - 0.6j, -0.5 + 0.4j, 0.2 + 0.1j])
    gradient, h = ad.grad(total), 1e-3
    ends = [w * (gradient(z + k * h * v) - gradient(z - k * h * v)) for k, w in ((1, 8), (2, -1))]
    agree(ad.hvp(total, z, v), sum(ends) / (12 * h), 1e-8)
