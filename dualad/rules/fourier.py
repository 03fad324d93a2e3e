"""Fourier transforms: linear rows along one axis, and the rest of ``np.fft`` written with them.

A transform and its inverse are each other's transpose but for the scale, which NumPy
calls the norm: the adjoint of ``fft(norm="backward")`` is ``ifft(norm="forward")``.  The real
transforms keep half of a symmetric spectrum, where every entry but the ends stands for two:
so their adjoints are one another with the inner entries halved or doubled.

Padding and cropping happen before a row, so that a row's length is its argument's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualad.primitive import Linear, implements, shape_of
from dualad.rules.lifting import as_array, dtype_of
from dualad.rules.linear import axes_from_end, concatenate, conjugate, from_end, ndim_of
from dualad.rules.reductions import along

_ADJOINT_NORM = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _complex_row(name: str, other: str) -> Linear:
    transform = getattr(np.fft, name)
    return Linear(
        name,
        lambda x, *, axis, norm: transform(x, axis=axis, norm=norm),
        lambda ct, i, shapes, *, axis, norm: _rows[other](ct, axis=axis, norm=_ADJOINT_NORM[norm]),
        samples=(
            (((2, 3),), {"axis": -1, "norm": "backward"}),
            (((4, 2),), {"axis": -2, "norm": "ortho"}),
        ),
    )


def _multiplicity(n: int, axis: int, inner: float) -> Any:
    """A factor for the entries of a half spectrum: 1 for those that stand for themselves alone."""
    w = np.full(n // 2 + 1, inner)
    w[0] = 1.0
    if n % 2 == 0:
        w[-1] = 1.0
    return np.reshape(w, (-1,) + (1,) * (-1 - axis))


def _rfft_transpose(ct: Any, i: int, shapes: Any, *, axis: int, norm: str) -> Any:
    n = shapes[0][axis]
    halved = ct * _multiplicity(n, axis, 0.5)
    return _irfft_row(halved, n=n, axis=axis, norm=_ADJOINT_NORM[norm])


_rfft_row: Linear = Linear(
    "rfft",
    lambda x, *, axis, norm: np.fft.rfft(x, axis=axis, norm=norm),
    _rfft_transpose,
    samples=(
        (((2, 4),), {"axis": -1, "norm": "backward"}),
        (((5, 2),), {"axis": -2, "norm": "forward"}),
    ),
)

_irfft_row: Linear = Linear(
    "irfft",
    lambda x, *, n, axis, norm: np.fft.irfft(x, n, axis=axis, norm=norm),
    lambda ct, i, shapes, *, n, axis, norm: (
        _rfft_row(ct, axis=axis, norm=_ADJOINT_NORM[norm]) * _multiplicity(n, axis, 2.0)
    ),
    samples=(
        (((2, 3),), {"n": 4, "axis": -1, "norm": "backward"}),
        (((3, 2),), {"n": 5, "axis": -2, "norm": "ortho"}),
    ),
)

_rows = {"fft": _complex_row("fft", "ifft"), "ifft": _complex_row("ifft", "fft")}


# -------------------------------------------------------------------------- along one axis


def _fitted(x: Any, n: int, axis: int) -> Any:
    """x cropped or padded with zeros to length n along an axis."""
    shape = shape_of(x)
    if shape[axis] == n:
        return x
    if shape[axis] > n:
        return along(x, axis, slice(0, n))
    padding = list(shape)
    padding[axis] = n - shape[axis]
    return concatenate([x, np.zeros(padding, dtype_of(x))], axis)


def _length(given: Any, default: int) -> int:
    n = default if given is None else int(given)
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    return n


def _norm(norm: Any) -> str:
    norm = norm or "backward"
    if norm not in _ADJOINT_NORM:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return str(norm)


def _complex(name: str, a: Any, n: Any, axis: int, norm: Any) -> Any:
    a = as_array(a)
    axis = from_end(axis, ndim_of(a))
    a = _fitted(a, _length(n, shape_of(a)[axis]), axis)
    return _rows[name](a, axis=axis, norm=_norm(norm))


@implements(np.fft.fft)
def fft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The discrete Fourier transform along an axis."""
    return _complex("fft", a, n, axis, norm)


@implements(np.fft.ifft)
def ifft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The inverse transform along an axis."""
    return _complex("ifft", a, n, axis, norm)


@implements(np.fft.rfft)
def rfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The half spectrum of real input."""
    a = as_array(a)
    if dtype_of(a).kind == "c":
        raise TypeError("np.fft.rfft is of real input; use np.fft.fft")
    axis = from_end(axis, ndim_of(a))
    a = _fitted(a, _length(n, shape_of(a)[axis]), axis)
    return _rfft_row(a, axis=axis, norm=_norm(norm))


@implements(np.fft.irfft)
def irfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """Real output from a half spectrum."""
    a = as_array(a)
    axis = from_end(axis, ndim_of(a))
    n = _length(n, 2 * (shape_of(a)[axis] - 1))
    a = _fitted(a, n // 2 + 1, axis)
    return _irfft_row(a, n=n, axis=axis, norm=_norm(norm))


@implements(np.fft.hfft)
def hfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The real spectrum of a signal given by half of it, the other half being its conjugate."""
    y = irfft(conjugate(as_array(a)), n, axis, _ADJOINT_NORM[_norm(norm)])
    return y


@implements(np.fft.ihfft)
def ihfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The inverse of ``hfft``."""
    return conjugate(rfft(a, n, axis, _ADJOINT_NORM[_norm(norm)]))


# ------------------------------------------------------------------------ along several axes


def _lengths(a: Any, s: Any, axes: Any, halved: bool = False) -> tuple[list[Any], list[int]]:
    """A length and an axis (counted from the end) for every transform, as NumPy reads them."""
    n = ndim_of(a)
    if axes is None:
        axes = range(-n, 0) if s is None else range(-len(s), 0)
    at = [from_end(int(x), n) for x in axes]
    lengths: list[Any] = [None] * len(at) if s is None else [None if m == -1 else m for m in s]
    if len(lengths) != len(at):
        raise ValueError("Shape and axes have different lengths.")
    if halved and s is not None and s[-1] == -1:
        lengths[-1] = shape_of(a)[at[-1]]
    return lengths, at


def _complex_over(name: str, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    a = as_array(a)
    lengths, at = _lengths(a, s, axes)
    for n, axis in reversed(list(zip(lengths, at, strict=True))):
        a = _complex(name, a, n, axis, norm)
    return a


@implements(np.fft.fftn)
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """The transform along several axes, by default all."""
    return _complex_over("fft", a, s, axes, norm)


@implements(np.fft.ifftn)
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """The inverse transform along several axes, by default all."""
    return _complex_over("ifft", a, s, axes, norm)


@implements(np.fft.fft2)
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """The transform along two axes."""
    return fftn(a, s, axes, norm, out)


@implements(np.fft.ifft2)
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """The inverse transform along two axes."""
    return ifftn(a, s, axes, norm, out)


@implements(np.fft.rfftn)
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """The transform of real input along several axes, a half spectrum along the last."""
    a = as_array(a)
    lengths, at = _lengths(a, s, axes)
    a = rfft(a, lengths[-1], at[-1], norm)
    for n, axis in list(zip(lengths, at, strict=True))[-2::-1]:
        a = _complex("fft", a, n, axis, norm)
    return a


@implements(np.fft.irfftn)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """Real output from a spectrum over several axes, half of it along the last."""
    a = as_array(a)
    lengths, at = _lengths(a, s, axes, halved=True)
    for n, axis in zip(lengths[:-1], at[:-1], strict=True):
        a = _complex("ifft", a, n, axis, norm)
    return irfft(a, lengths[-1], at[-1], norm)


@implements(np.fft.rfft2)
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """The transform of real input along two axes."""
    return rfftn(a, s, axes, norm, out)


@implements(np.fft.irfft2)
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """Real output from a spectrum over two axes."""
    return irfftn(a, s, axes, norm, out)


# ------------------------------------------------------------------------------------ shifts


def _shifted(x: Any, axes: Any, backwards: bool) -> Any:
    x = as_array(x)
    for axis in axes_from_end(axes, ndim_of(x)):
        n = shape_of(x)[axis]
        half = n // 2 if backwards else (n + 1) // 2
        x = concatenate([along(x, axis, slice(half, n)), along(x, axis, slice(0, half))], axis)
    return x


@implements(np.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Any:
    """Frequency zero in the middle."""
    return _shifted(x, axes, backwards=False)


@implements(np.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Any:
    """Frequency zero at the start again."""
    return _shifted(x, axes, backwards=True)


__all__ = [
    "fft", "fft2", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft",
    "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftn",
]  # fmt: skip
