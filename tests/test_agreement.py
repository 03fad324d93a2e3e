"""All number systems agree, and so do their nestings, on every row of the table."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dualad as ad


def inner(a, b):
    """The real inner product of two tuples of arrays."""
    return sum(float(np.real(np.vdot(x, y))) for x, y in zip(a, b, strict=True))


def listed(y):
    """A tuple of outputs: some rows have several."""
    return y if isinstance(y, tuple) else (y,)


def test_forward_is_the_transpose_of_reverse(sample, agree):
    tangents = sample.like(sample.point)
    y, slope = ad.jvp(sample, sample.point, tangents)
    again, pullback = ad.vjp(sample, *sample.point)
    agree(listed(y), listed(sample(*sample.point)), 0)
    agree(listed(again), listed(y), 0)
    cts = sample.like(listed(y))
    pulled = pullback(cts if isinstance(y, tuple) else cts[0])
    assert [np.shape(p) for p in pulled] == [np.shape(x) for x in sample.point]
    forward, backward = inner(cts, listed(slope)), inner(pulled, tangents)
    size = sum(np.sum(np.abs(c * s)) for c, s in zip(cts, listed(slope), strict=True))
    assert abs(forward - backward) <= 1e-11 * max(size, 1e-300)


def test_k_directions_are_k_passes(sample, agree):
    # k is the first axis of an argument, so that (k, n) may be taken for (m, n).
    k = max((np.shape(x)[0] for x in sample.point if np.shape(x)), default=3)
    tangents = sample.like(sample.point, (k,))
    numbers = [ad.Dual(x, t) for x, t in zip(sample.point, tangents, strict=True)]
    together = listed(sample(*numbers))
    for j in range(k):
        y, slope = ad.jvp(sample, sample.point, tuple(t[j] for t in tangents))
        for number, value, t in zip(together, listed(y), listed(slope), strict=True):
            if isinstance(number, ad.Dual):
                agree((number.primal, number.tangent[j]), (value, t))
            else:
                agree((number, np.zeros_like(t)), (value, t))


def test_one_argument_a_number_and_the_others_constant(sample, agree):
    k = 2
    tangents = sample.like(sample.point, (k,))
    for i, (x, t) in enumerate(zip(sample.point, tangents, strict=True)):
        mixed = list(sample.point)
        mixed[i] = ad.Dual(x, t)
        together = listed(sample(*mixed))
        zeros = [np.zeros(np.shape(a), np.result_type(a)) for a in sample.point]
        for j in range(k):
            zeros[i] = t[j]
            _, slope = ad.jvp(sample, sample.point, tuple(zeros))
            for number, wanted in zip(together, listed(slope), strict=True):
                got = number.tangent[j] if isinstance(number, ad.Dual) else np.zeros_like(wanted)
                agree(got, wanted)


def test_jacobians_of_both_modes_and_in_chunks(sample, agree):
    chosen = tuple(range(len(sample.point)))
    answers = [
        ad.jacobian(sample, chosen, mode, chunk)(*sample.point)
        for mode, chunk in [("forward", None), ("reverse", None), ("forward", 2), ("reverse", 2)]
    ]
    for answer in answers[1:]:
        agree(answer, answers[0])


def along(f, point, u, v, outer, inner_mode):
    """d/ds of the slope of f along v, as the point moves along u: in two modes, nested."""

    def slope(*xs):
        if inner_mode == "forward":
            return ad.jvp(f, xs, v)[1]
        moved = lambda s: f(*(x + s * t for x, t in zip(xs, v, strict=True)))  # noqa: E731
        return ad.jacobian(moved, mode="reverse")(0.0)

    if outer == "forward":
        return ad.jvp(slope, point, u)[1]
    moved = lambda s: slope(*(x + s * t for x, t in zip(point, u, strict=True)))  # noqa: E731
    return ad.jacobian(moved, mode="reverse")(0.0)


NESTINGS = list(itertools.product(["forward", "reverse"], repeat=2))


def test_nestings_agree_on_second_derivatives(sample, agree):
    u, v = sample.like(sample.point), sample.like(sample.point)
    answers = [listed(along(sample, sample.point, u, v, *modes)) for modes in NESTINGS]
    numbers = [
        ad.HyperDual(x, a, b, np.zeros(np.shape(x)))
        for x, a, b in zip(sample.point, u, v, strict=True)
    ]
    answers.append(tuple(
        y.mixed if isinstance(y, ad.HyperDual) else np.zeros(np.shape(y))
        for y in listed(sample(*numbers))
    ))  # fmt: skip
    for answer in answers[1:]:
        agree(answer, answers[0], 1e-9)


def test_nestings_agree_on_third_derivatives(sample, agree):
    u, v, w = (sample.directions() for _ in range(3))

    def second(*xs):
        zeros = [np.zeros(np.shape(x)) for x in sample.point]
        y = sample(*map(ad.HyperDual, xs, u, v, zeros))
        parts = (p.mixed if isinstance(p, ad.HyperDual) else 0.0 * p for p in listed(y))
        return tuple(parts) if isinstance(y, tuple) else next(parts)

    def slope(*xs):
        return ad.jvp(sample, xs, u)[1]

    def slope_of_slope(*xs):
        return ad.jvp(slope, xs, v)[1]

    nested = ad.jvp(slope_of_slope, sample.point, w)[1]
    agree(ad.jvp(second, sample.point, w)[1], nested, 1e-8)
    moved = lambda s: second(*(x + s * t for x, t in zip(sample.point, w, strict=True)))  # noqa: E731
    agree(ad.jacobian(moved, mode="reverse")(0.0), nested, 1e-8)


@pytest.mark.kinds("elementwise")
def test_floats_0d_arrays_and_one_element_arrays_agree(sample):
    if any(map(np.shape, sample.args)) or np.iscomplexobj(sample(*sample.point)):
        return
    forms = {
        "np.float64": np.float64,
        "0-d array": np.array,
        "one element": lambda x: np.array([x]),
    }
    for i in range(len(sample.point)):
        one = tuple(float(i == j) for j in range(len(sample.point)))
        y, slope = ad.jvp(sample, sample.point, one)
        assert type(y) is type(slope) is float
        for name, form in forms.items():
            value, t = ad.jvp(sample, tuple(map(form, sample.point)), tuple(map(form, one)))
            if name == "one element":
                assert value.shape == t.shape == (1,)
                value, t = value.item(), t.item()
            assert type(value) is type(t) is float, name
            # math and NumPy may differ in the last places: a row says how far from the truth.
            assert abs(value - y) <= 4 * np.spacing(abs(y)), name
            assert abs(t - slope) <= 2 * sample.row.ulps * np.spacing(abs(slope)), name
