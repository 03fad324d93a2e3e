"""Transposes: <ct, f(t)> is <fT(ct), t>, for every linear and every multilinear row."""

from __future__ import annotations

import numpy as np
import pytest

from dualad.primitive import Linear, Selection

LEADS = [(), (2,), (3,)]
REAL_ONLY = {"astype", "rfft"}
leads = pytest.mark.parametrize("lead", LEADS, ids=str)
dtypes = pytest.mark.parametrize("dtype", ["real", "complex"])


def draw(rng, shape, dtype):
    """Normal deviates, always an array."""
    x = np.asarray(rng.normal(size=shape))
    return x + 1j * rng.normal(size=shape) if dtype == "complex" else x


def inner(a, b):
    """The real inner product."""
    return float(np.real(np.vdot(a, b)))


def sliced(function, args, lead):
    """The function on each slice along the leading axis."""
    if not lead:
        return function(*args)
    return np.stack([function(*(a[j] for a in args)) for j in range(lead[0])])


def check_linear(row, shapes, params, lead, dtype, rng, agree):
    """Leading axes are only carried; the transpose in each argument; the buffer."""
    ts = [draw(rng, lead + shape, dtype) for shape in shapes]
    y = np.asarray(row.function(*ts, **params))
    agree(y, sliced(lambda *a: row.function(*a, **params), ts, lead))
    ct = draw(rng, y.shape, "complex" if np.iscomplexobj(y) else "real")
    with_lead = [lead + shape for shape in shapes]
    total = 0.0
    for i, (t, shape) in enumerate(zip(ts, shapes, strict=True)):
        back = np.asarray(row.transpose(ct, i, with_lead, **params))
        assert back.shape == lead + shape
        total += inner(back, t)
        if row.accumulate is not None:
            start = draw(rng, back.shape, "complex" if np.iscomplexobj(back) else "real")
            buffer = start.copy()
            row.accumulate(buffer, ct, **params)
            agree(buffer, start + back)
    size = float(np.sum(np.abs(ct * y)))
    assert abs(inner(ct, y) - total) <= 1e-12 * max(size, 1e-300)


@pytest.mark.kinds("linear")
@leads
@dtypes
def test_linear_rows(sample, lead, dtype, agree):
    row, params = sample.row, sample.params
    if dtype == "complex" and row.name in REAL_ONLY:
        pytest.skip("of real arguments only")
    shapes = [np.shape(a) for a in sample.args]
    check_linear(row, shapes, params, lead, dtype, sample.rng, agree)


@pytest.mark.kinds("linear")
def test_linear_rows_are_linear(sample, agree):
    shapes = [np.shape(a) for a in sample.args]
    s, t = ([draw(sample.rng, shape, "real") for shape in shapes] for _ in range(2))
    combined = sample.row.function(*(2 * a - b for a, b in zip(s, t, strict=True)), **sample.params)
    f = lambda args: np.asarray(sample.row.function(*args, **sample.params))  # noqa: E731
    agree(np.asarray(combined), 2 * f(s) - f(t))


@pytest.mark.kinds("multilinear")
@leads
@dtypes
def test_multilinear_rows(sample, lead, dtype, agree):
    row, params, rng = sample.row, sample.params, sample.rng
    shapes = [np.shape(a) for a in sample.args]
    args = [draw(rng, shape, dtype) for shape in shapes]
    for i, shape in enumerate(shapes):
        t = draw(rng, lead + shape, dtype)
        given = [*args[:i], t, *args[i + 1 :]]
        y = np.asarray(row.function(*given, **params))
        alone = lambda t, i=i: row.function(*args[:i], t, *args[i + 1 :], **params)  # noqa: E731
        agree(y, sliced(alone, [t], lead))
        ct = draw(rng, y.shape, dtype)
        wanted = [lead + s if j == i else () for j, s in enumerate(shapes)]
        others = [None if j == i else a for j, a in enumerate(args)]
        back = np.asarray(row.transpose(ct, i, others, wanted, **params))
        assert back.shape == lead + shape
        size = float(np.sum(np.abs(ct * y)))
        assert abs(inner(ct, y) - inner(back, t)) <= 1e-12 * max(size, 1e-300)


@pytest.mark.kinds("selection")
@leads
def test_what_selections_gather(sample, lead, agree):
    row = sample.row
    assert isinstance(row, Selection)
    assert isinstance(row.gather, Linear)
    (x,) = sample.args
    y = row.function(x, **sample.params)
    chosen = row.chosen(x, y, sample.params)
    check_linear(row.gather, [np.shape(x)], chosen, lead, "real", sample.rng, agree)


@pytest.mark.kinds("selection")
def test_a_selection_gathers_its_own_value(sample, agree):
    (x,) = sample.args
    y = sample.row.function(x, **sample.params)
    agree(sample.row.gather(x, **sample.row.chosen(x, y, sample.params)), y, 1e-14)
