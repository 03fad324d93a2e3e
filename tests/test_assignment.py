"""Assignment into arrays: what plain NumPy would hold, with the right derivative, or an error.

A number over an array is changed in place as an array is: by index, by mask, through views,
by ``+=``, by ``out=`` and by the functions of NumPy that write.
"""

from __future__ import annotations

import numpy as np
import pytest

import dualad as ad

PROGRAMS = r"""
z = np.zeros_like(x); z[0] = x[1]; z[2:] = x[:2] * 2
z = np.empty_like(x); z[:] = x ** 2; z[1] = 3.0
z = np.zeros(3, like=x); z[1] = c * x[0]; z[2] = c
z = np.zeros((2, 3), like=x); z[1] = x[:3]; z[:, 0] += c
z = np.ones_like(A); z[1, 2] = c; z[:, 1] = x[:3]; z[A > 1] = d
z = np.zeros_like(A); z[[0, 2], [1, 3]] = x[:2]
z = np.zeros_like(x); z[[0, 0, 1]] = x[:3]
z = np.zeros_like(x); z[np.array([True, False, True, False])] = x[2:]
z = np.zeros_like(S); z[:, [0, 2], [1, 1]] = c
z = np.zeros_like(S); z[[0, 1], :, [1, 2]] = x[:3]
z = np.zeros_like(S); z[..., 1] = A[:2, :3]; z[0, ..., -1] = 2.0
z = np.zeros_like(A); z[1:, ::2] = np.array([[c, d]])
z = np.zeros_like(A); z[None, 1] = x
z = np.zeros_like(x); z[1] = np.array([c])[0]
z = x.copy(); z[0], z[1] = z[1], z[0]
z = x.copy(); z[::-1] = x
z = x.copy(); z[1:] = z[:-1]
z = x.copy(); z[x > 0] = 0.0; z[1] **= 2
z = x.copy(); z += y; z *= 2; z -= c; z /= d
z = x.copy(); z **= 2; z //= 3.0; z %= 2.0
z = Q.copy(); z @= Q
z = x.copy(); z[1:3] += y[:2]; z[0] *= c
z = A.copy(); z[0] += A[1]; z[:, 1] *= 2.0; z[1, 1] -= c
z = A.copy(); z[[0, 0]] += 1.0
z = A.copy(); w = z[1]; w[2] = c; z = z * w
z = A.copy(); w = z[1:, ::2]; w *= c; w[0, 0] = d
z = A.copy(); w = z.T; w[0] = x[:3]; z = z @ w
z = A.copy(); w = z.reshape(2, 6); w[1] = c; w[0, 1:3] *= 2
z = A.copy(); w = z.ravel(); w[5] = c
z = A.copy(); w = z[0]; z[0, 1] = c; z = w * 2
z = A.copy(); w = z[0][1:]; w[0] = c; z[0, 2] = d; z = z[0] * np.sum(w)
z = A.copy(); w = z[0]; v = z[:, 1]; w[1] = c; z = v + np.sum(w)
z = A.copy(); w = z[[0, 1]]; w[0] = 5.0
z = A.copy(); w = z + 0; w[0] = 5.0
z = A.copy(); w = z.copy(); w[0] = c; z = z[0] + w[0]
z = x.copy(); w = z; w[0] = c; z = z * w
z = x.copy(); w = z; w = w + 1; w[0] = c; z = z + w
z = np.zeros_like(x); w = z[1:]; w += x[1:]; w[-1] *= 2
z = A.copy(); w = z[::-1, None]; w[0, 0, 1] = c
z = A.copy(); w = np.flip(z, 0); w[0] = x
z = A.copy(); w = np.squeeze(z[None]); w[0] = x
z = A.copy(); w = np.expand_dims(z, 1); w[:, 0, 1] = x[:3]
z = A.copy(); w = np.moveaxis(z, 0, 1); w[2] = c
z = A.copy(); w = np.split(z, 2, axis=1)[1]; w[:] = c
z = A.copy(); w = np.atleast_2d(z[0]); w[0, 1] = c
z = A.copy(); z.T[1] = x[:3]
z = x * (1 + 2j); z.real = y; z.imag = c
z = A.copy(); z.flat = x[:2]
z = x.copy(); z.real[1] = c; z = z * z
z = x * (1 + 2j); z.real[1] = c; z.imag[2] = d
z = x * (1 + 2j); w = z.imag; w *= c; np.real(z)[0] = 0.5; z = z * c
z = A.copy(); w = np.ravel(z, order="F"); z = z + w[1]
z = A.copy(); z.flat[3] = c; z.flat[[0, 5]] = x[:2]
z = A.copy(); z.flat[:] = x[:2]
z = x.copy(); z.sort(); z[0] = c
z = x.copy(); z.fill(c); z[0] = x[1]
z = x.copy(); z.put([0, 3], [c, d])
z = x.copy(); z.partition(1); z = z * z
z = A.copy(); np.put(z, [1, 5, 5], [c, d, 2.0])
z = A.copy(); np.place(z, A > 0, [c, d])
z = A.copy(); np.putmask(z, A > 0, A ** 2)
z = A.copy(); np.copyto(z, x)
z = A.copy(); np.copyto(z, c, where=A > 0)
z = A.copy(); np.fill_diagonal(z, c)
z = A.T.copy(); np.fill_diagonal(z, x[:3], wrap=True)
z = A.copy(); i = np.array([[0], [3], [1]]); np.put_along_axis(z, i, x[:3, None], 1)
z = x.copy(); np.add.at(z, [0, 0, 2], y[:3])
z = x.copy(); np.subtract.at(z, [0, 0, 2], c)
z = x.copy(); np.multiply.at(z, [0, 0, 2], [c, d, 2.0])
z = A.copy(); np.maximum.at(z, ([0, 0], [1, 1]), [c, d])
z = A.copy(); np.add.at(z, (slice(None), [0, 0]), c)
z = x.copy(); np.negative.at(z, [0, 2])
z = A.copy(); z.flat = x
z = x + 1j * y; z.real = c; z.imag[1] *= d
z = x + 1j * y; v = z[1:].real; v[:] = d
z = x + 0j; z[0] = 1j * x[1]; z[[1, 1]] = y[:2] * 1j
z = A.copy(); v = A.T.ravel(); v[2] = c
z = A.copy(); v = np.ravel(z, "F"); v[2] = c
z = A.copy(); v = z.conj(); v[2] = c
z = A.copy(); v = np.conjugate(z); v[2] = c
z = A.copy(); v = z.astype(float, copy=False); v[2] = c
z = np.maximum(c, 10) * np.ones_like(x); z[0] = np.minimum(d, -10)
z = x.copy(); np.sin.at(z, [0, 2, 2])
z = np.zeros_like(x); np.multiply(x, c, out=z); z[0] += 1
z = np.zeros_like(x); np.multiply(x, c, out=z[:]); z[0] += 1
z = np.zeros_like(x); np.add.reduce(A, axis=0, out=z)
z = np.zeros_like(x); np.add.reduce(A, 0, None, z)
z = x.copy(); np.clip(z, -1, 1, out=z); z += y
z = x.copy(); z.clip(-1, 1, z); z += y
z = x.copy(); np.exp(z, out=z); np.add(z, 1.0, z); z *= c
z = x.copy(); np.add(z[1:], y[1:], out=z[1:])
z = A.copy(); A.sum(axis=0, out=z[1])
z = A.copy(); np.cumsum(z, axis=1, out=z); z *= c
z = x.copy(); z[z < 0] *= -1; z[[0, 1]] = z[[1, 0]]
z = x.copy(); z[1:][::2] += c
z = A.copy(); z[1][2] = c; z[1][1:] *= d
z = A.copy(); z[...] = c * x; z[()][0, 0] = d
z = A.copy(); z[1:] -= z[:-1]
z = A.copy(); z[:, 0], z[:, 1] = z[:, 1].copy(), z[:, 0].copy()
z = A.copy(); z.sort(axis=0); z[0] = c
z = x.copy(); i = 2; z[i], z[i - 1] = z[i - 1] * c, z[i]
z = x.copy(); z[np.argmax(z)] = 0.0; z[np.where(z < 0)] = c
z = A.copy(); z[A > 1] = x; z[A < 0] += d
z = A.copy(); z[[True, False, True]] = x
z = S.copy(); z[0, :, 1] = x[:3]; z[1][0] += x; z[..., ::-1][0] *= c
z = np.zeros((3, 4), like=x); z.T[:] = B; z.reshape(-1)[::5] += c
z = x.copy(); y = z[1:3]; z = z * 2; y += c; z[1:3] += y
z = np.zeros_like(x); z[0] = x[0]; w = z.copy(); w[1] = c; z[2] = np.sum(w)
z = np.zeros_like(x); np.divmod(x, c, out=(np.zeros_like(x), z))
z = x.copy(); np.nan_to_num(z, copy=False); z[0] = c
z = np.full_like(x, c); z[1] = d
z = np.array([x[0], 1.0, c]); z[1] = d; z += 1; z = z * 2
z = np.asarray(x); z = z.copy(); z[0] = c
z = np.array([c, d, 1.0]); z[z > 1] = 0.0
z = np.array([0.0, c]); np.add.at(z, [0, 0], d)
z = [0.0, 0.0, 0.0]; z[1] = c; z[2] = c * d
z = c; z *= d; z += 1; z **= 2; z = z + c
z = x.copy(); z[1] = c; z[1] = z[1] * z[1]; z = np.cumsum(z)
z = np.zeros_like(x)\nfor i in range(1, 4):\n    z[i] = 0.5 * z[i - 1] + x[i]
z = A.copy()\nfor i in (1, 2):\n    for j in range(4):\n        z[i, j] = x[j] * z[i - 1, j] + c
z = np.zeros((4,), like=x[:1]); z[0] = c; z[1:] = c * d
z = np.zeros_like(x, shape=(2,)); z[0] = c
z = np.zeros_like(x, dtype=bool); z[0] = True; z = np.where(z, x, c)
z = np.zeros_like(x, dtype=int); z[1] = 2; z = z * x
z = np.zeros_like(x, dtype=complex); z[0] = c * 1j; z[1] = d
"""

PROGRAMS = [p.replace("\\n", "\n") for p in PROGRAMS.strip().splitlines()]


@pytest.mark.parametrize("text", PROGRAMS)
def test_assignment_holds_what_numpy_would_hold(call, text):
    call(text)


LOST = [
    "z = np.zeros(4); z.flat[1] = x[0]",
    "z = np.zeros(3); z[0] = x[1]",
    "z = np.zeros(4); z[:] = x",
    "z = np.zeros(4); z[1:3] = x[:2]",
    "z = np.zeros(4); z[x > 0] = x[x > 0]",
    "z = np.zeros((2, 4)); z[0] = x",
    "z = np.zeros(4); z[0] = x[:1]",
    "z = np.zeros(4); np.add(x, 1.0, out=z)",
    "z = np.zeros(4); np.add(x, 1.0, z)",
    "z = np.zeros(()); np.sum(x, out=z)",
    "z = np.zeros(4); np.cumsum(x, 0, None, z)",
    "z = np.zeros(4); np.put(z, [0], x[:1])",
    "z = np.zeros(4); np.place(z, z == 0, x)",
    "z = np.zeros(4); np.putmask(z, z == 0, x)",
    "z = np.zeros(4); np.copyto(z, x)",
    "z = np.zeros((4, 4)); np.fill_diagonal(z, x)",
    "z = np.zeros((1, 4)); np.put_along_axis(z, np.array([[0]]), x[:1, None], 1)",
    "z = np.zeros(4); np.add.at(z, [0, 1], x[:2])",
    "z = np.zeros(4); z += x",
    "z = np.zeros(4); z[1:] *= x[1:]",
    "z = np.zeros(4); z.fill(x[0])",
    "z = np.full_like(np.zeros(3), x[0])",
    "z = np.asarray(x, dtype=float)",
    "z = np.asarray(x, float)",
    "z = np.array([x[0], 1.0], dtype=float)",
    "z = np.array([x[0], x[1]]).astype(float)",
    "z = np.fromiter((v for v in x), float)",
    "z = np.fromiter(x, float, 4)",
    "z = np.array([1.0]) * float(x[0])",
    "z = int(x[0]); z = z * 1.0",
    "import math; z = math.sin(x[0])",
    "z = complex(x[0]).real",
    "z = [1.0, 2.0][x[0]]",
    "z = x[1:].data",
    "z = x.tobytes()",
    "z = x.view(np.int64)",
    "z = np.bitwise_and(x, 1)",
    "z = np.add(x, 1, where=x > 0)",
    "z = np.linalg.inv(np.array([[x[0], 1.0], [2.0, x[1]]]))",
    "z = np.linalg.eigh(np.asarray(x[:, None] * x))[0]",
    "z = np.where(np.isnan(np.asarray(x)), 0.0, 1.0)",
]


@pytest.mark.parametrize("mode", ["forward", "reverse", "hyperdual"])
@pytest.mark.parametrize("text", LOST)
def test_what_would_lose_the_derivative_is_refused(text, mode):
    scope = {"np": np}
    exec("def f(x):\n    " + text.replace("; ", "\n    ") + "\n    return np.sum(z)", scope)
    derivative = ad.hessian if mode == "hyperdual" else ad.grad
    with pytest.raises(TypeError) as caught:
        derivative(scope["f"], mode=mode)(np.array([0.3, -1.2, 0.8, 1.9]))
    advice = str(caught.value)
    assert any(w in advice for w in ("write", "use", "make the array", "leave", "pass it")), advice


def test_the_callers_array_is_never_written_to():
    x = np.array([1.0, 2.0])

    def f(x):
        x[0] = x[1] * 3
        x += 1
        return np.sum(x)

    for mode in ("forward", "reverse"):
        np.testing.assert_array_equal(ad.grad(f, mode=mode)(x), [0.0, 4.0])
        np.testing.assert_array_equal(x, [1.0, 2.0])


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_scalar_number_has_no_items(mode):
    def f(x):
        y = x[0]
        with pytest.raises(TypeError, match="does not support item assignment"):
            y[0] = 1.0
        with pytest.raises(TypeError):
            len(y)
        return y

    ad.grad(f, mode=mode)(np.array([1.0, 2.0]))


def test_a_scalar_number_is_rebound_not_changed():
    def f(x):
        y = x
        y *= 3.0
        return x * y

    assert ad.derivative(f)(2.0) == 12.0
    assert ad.grad(f, mode="reverse")(2.0) == 12.0


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_attributes_cannot_be_invented(mode):
    def f(x):
        with pytest.raises(AttributeError):
            x.name = "pressure"
        with pytest.raises(AttributeError):
            x.no_such_method  # noqa: B018
        with pytest.raises(AttributeError):
            x[0].units = 1
        return np.sum(x)

    ad.grad(f, mode=mode)(np.array([1.0, 2.0]))


def test_constants_made_like_a_number_are_plain_where_they_cannot_have_a_slope():
    def f(x):
        for plain in (
            np.zeros_like(x, dtype=bool), np.full_like(x, False, dtype=bool),
            np.ones_like(x, dtype=int), np.empty_like(x, dtype=object), np.arange(3, like=x),
        ):  # fmt: skip
            assert type(plain) is np.ndarray
        return np.sum(x)

    ad.grad(f)(np.array([1.0, 2.0]))
