"""Second derivatives: written out in a row, derived from it, and by nesting, they are one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dualad as ad
from dualad import rules
from dualad.primitive import Elementwise, Primitive, evaluate_formula

WRITTEN = sorted(
    (r for r in Primitive.table.values() if isinstance(r, Elementwise) and r.second is not None),
    key=lambda row: row.name,
)


def listed(y):
    """A tuple of outputs: some rows have several."""
    return y if isinstance(y, tuple) else (y,)


def first_partial(row, i):
    """The partial of a row in argument i as a function of plain values and numbers alike."""

    def partial(*args):
        formula = row.partials[i]
        if not callable(formula):
            return 0.0 * args[0] + (formula or 0)
        return evaluate_formula(formula, rules, row(*args), list(args))

    return partial


@pytest.mark.parametrize("row", WRITTEN, ids=lambda row: row.name)
def test_second_partials_are_the_derivatives_of_the_first(row, agree):
    n = len(row.partials)
    rng = np.random.default_rng(7)
    args = [
        rng.integers(*ends, size=40, endpoint=True) if isinstance(ends[0], int)
        else rng.uniform(*ends, size=40)
        for ends in row.domain
    ]  # fmt: skip
    y = row(*args)
    places = list(itertools.combinations_with_replacement(range(n), 2))
    assert len(row.second) == len(places)
    for (i, j), formula in zip(places, row.second, strict=True):
        written = evaluate_formula(formula, np, y, args) if callable(formula) else formula or 0
        for a, b in {(i, j), (j, i)}:
            if args[b].dtype.kind == "i":
                continue
            seeds = [np.ones(40) if c == b else np.zeros(40) for c in range(n)]
            chosen = [c for c in range(n) if args[c].dtype.kind != "i"]

            def of(*some, a=a, chosen=chosen):
                full = list(args)
                for c, x in zip(chosen, some, strict=True):
                    full[c] = x
                return first_partial(row, a)(*full)

            _, derived = ad.jvp(of, [args[c] for c in chosen], [seeds[c] for c in chosen])
            agree(np.broadcast_to(written, (40,)), np.broadcast_to(derived, (40,)), 1e-12)


def hyperduals(sample, lead1=(), lead2=()):
    """Hyper-dual arguments with random parts, the mixed one too."""
    parts = [sample.directions(lead) for lead in (lead1, lead2, lead1 + lead2)]
    numbers = [ad.HyperDual(*content) for content in zip(sample.point, *parts, strict=True)]
    return *parts, numbers


def part(y, name, like):
    """A part of a number; zeros of a constant."""
    return getattr(y, name) if isinstance(y, ad.HyperDual) else np.zeros(np.shape(like))


def test_hyperdual_numbers_are_duals_of_duals(sample, agree):
    first, second, mixed, numbers = hyperduals(sample)
    n = len(numbers)

    def slope(*both):
        return ad.jvp(sample, both[:n], both[n:])[1]

    y, along_first = ad.jvp(sample, sample.point, first)
    along_second, both = ad.jvp(slope, (*sample.point, *second), (*first, *mixed))
    nested = map(listed, (y, along_first, along_second, both))
    for number, *wanted in zip(listed(sample(*numbers)), *nested, strict=True):
        agree(part(number, "primal", y) if isinstance(number, ad.HyperDual) else number, wanted[0])
        for name, w in zip(("tangent1", "tangent2", "mixed"), wanted[1:], strict=True):
            agree(part(number, name, w), w)


def test_k1_times_k2_directions_are_as_many_passes(sample, agree):
    # Counts equal to axes of the arguments, where a wrong alignment would go unnoticed.
    k1 = max((np.shape(x)[0] for x in sample.point if np.shape(x)), default=2)
    k2 = max((np.shape(x)[-1] for x in sample.point if np.shape(x)), default=3)
    first, second, mixed, numbers = hyperduals(sample, (k1,), (k2,))
    together = listed(sample(*numbers))
    for i, j in {(0, 0), (k1 - 1, 0), (0, k2 - 1), (k1 - 1, k2 - 1)}:
        single = [
            ad.HyperDual(x, a[i], b[j], m[i, j])
            for x, a, b, m in zip(sample.point, first, second, mixed, strict=True)
        ]
        for number, alone in zip(together, listed(sample(*single)), strict=True):
            assert isinstance(number, ad.HyperDual) == isinstance(alone, ad.HyperDual)
            if isinstance(alone, ad.HyperDual):
                got = number.primal, number.tangent1[i], number.tangent2[j], number.mixed[i, j]
                agree(got, (alone.primal, alone.tangent1, alone.tangent2, alone.mixed))


def test_mixed_partials_commute(sample, agree):
    first, second, mixed, numbers = hyperduals(sample)
    swapped = [
        ad.HyperDual(x, b, a, m)
        for x, a, b, m in zip(sample.point, first, second, mixed, strict=True)
    ]
    for one, other in zip(listed(sample(*numbers)), listed(sample(*swapped)), strict=True):
        if isinstance(one, ad.HyperDual):
            agree((one.tangent1, one.tangent2), (other.tangent2, other.tangent1))
            agree(one.mixed, other.mixed)
        else:
            agree(one, other)
