"""What tests stand on: nothing is left behind; samples of every row; calls as users write them.

A test that asks for ``sample`` runs for each sample of each row of the table, so that a row
without tests cannot exist.  ``@pytest.mark.kinds("linear")`` narrows it to some kinds.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import sys
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

import dualad as ad
from dualad import rules, tape
from dualad.primitive import (
    Elementwise,
    Implicit,
    NotDifferentiableError,
    Primitive,
    _open_levels,
    paused,
)
from dualad.tree import flatten

settings.register_profile("table", derandomize=True, deadline=None, max_examples=25, database=None)
settings.load_profile("table")


def pytest_configure(config):
    config.addinivalue_line("markers", "kinds(*names): only samples of rows of these kinds")


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    """No level open, no tape, no pause, and no global state of NumPy or Python changed."""
    before = np.geterr(), sys.getrecursionlimit()
    yield
    assert not _open_levels(), "a transform left its level open"
    assert not paused, "no_grad was not ended"
    assert not tape.is_recording(), "a record or a tape was not ended"
    assert (np.geterr(), sys.getrecursionlimit()) == before


# --------------------------------------------------------------------- samples of rows


@dataclasses.dataclass
class Sample:
    """A row with arguments to call it with; those in ``variable`` can be numbers."""

    row: Primitive
    args: tuple[Any, ...]
    params: dict[str, Any]
    variable: tuple[int, ...]
    rng: np.random.Generator

    def __call__(self, *some: Any) -> Any:
        """The row as a function of its variable arguments."""
        args = list(self.args)
        for i, a in zip(self.variable, some, strict=True):
            args[i] = a
        return self.row(*args, **self.params)

    @property
    def point(self) -> tuple[Any, ...]:
        """The variable arguments."""
        return tuple(self.args[i] for i in self.variable)

    def directions(self, lead: tuple[int, ...] = ()) -> tuple[Any, ...]:
        """Random tangents; hermitian where the argument is: some rows take only such matrices."""
        return tuple(
            t + np.conj(np.swapaxes(t, -1, -2)) if is_hermitian(x) else t
            for x, t in zip(self.point, self.like(self.point, lead), strict=True)
        )

    def like(self, values: Any, lead: tuple[int, ...] = ()) -> tuple[Any, ...]:
        """Random tangents (or cotangents) for these values, with leading axes."""
        return tuple(draw(self.rng, lead + np.shape(v), np.iscomplexobj(v)) for v in values)


def is_hermitian(x: Any) -> bool:
    """Whether an argument is a matrix (or a stack of them) that is its own adjoint."""
    return np.ndim(x) > 1 and np.array_equal(x, np.conj(np.swapaxes(x, -1, -2)))


def draw(rng: np.random.Generator, shape: tuple[int, ...], is_complex: bool = False) -> Any:
    """Normal deviates: an array, or a float where the shape has no axes."""
    x = rng.normal(size=shape)
    if is_complex:
        x = x + 1j * rng.normal(size=shape)
    return x if shape else x.item() if isinstance(x, (np.ndarray, np.generic)) else x


def samples_of(row: Primitive) -> dict[str, Sample]:
    """Samples of a row by name, their arguments drawn from what the row states."""
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    out = {}
    if isinstance(row, Elementwise):
        whole = [all(isinstance(end, int) for end in interval) for interval in row.domain]
        variable = tuple(i for i, w in enumerate(whole) if not w)
        patterns = {"": [()], "(2,3)": [(2, 3)]}
        if len(variable) > 1:
            patterns |= {"(3,)(2,3)": [(3,), (2, 3)], "()(2,)": [(), (2,)]}
            patterns |= {"(2,1)(3,)": [(2, 1), (3,)]}
        for name, pattern in patterns.items():
            each = itertools.islice(itertools.cycle(pattern), len(whole))
            args = tuple(
                int(rng.integers(interval[0], interval[1], endpoint=True)) if w
                else within(rng, interval, shape)
                for interval, w, shape in zip(row.domain, whole, each, strict=True)
            )  # fmt: skip
            can_vary = tuple(i for i in variable if not refuses(row, i, args))
            out[name] = Sample(row, args, {}, can_vary, rng)
        return out
    for j, (given, params) in enumerate(row.samples):
        if isinstance(row, Implicit):
            args = tuple(given)
        else:
            args = tuple(draw(rng, shape) for shape in given)
        out[str(j) if j else ""] = Sample(row, args, params, tuple(range(len(args))), rng)
    return out


def refuses(row: Elementwise, i: int, args: tuple[Any, ...]) -> bool:
    """Whether an argument must be constant (an order of Bessel's functions): its slope refuses."""
    try:
        with np.errstate(all="ignore"):
            row.partial(i, np, np.asarray(row(*args)), [np.asarray(a) for a in args])
    except NotDifferentiableError:
        return True
    return False


def within(rng: np.random.Generator, interval: tuple[float, float], shape: tuple[int, ...]) -> Any:
    """Points of an interval, a float where the shape has no axes."""
    x = rng.uniform(*interval, size=shape)
    return x if shape else float(x)


def pytest_generate_tests(metafunc):
    if "sample" not in metafunc.fixturenames:
        return
    mark = next(metafunc.definition.iter_markers("kinds"), None)
    kinds = mark.args if mark else ("elementwise", "linear", "multilinear", "selection", "implicit")
    found = [
        (row.name, name)
        for row in sorted(Primitive.table.values(), key=lambda row: row.name)
        if row.kind in kinds
        for name in samples_of(row)
    ]
    ids = ["-".join(filter(None, names)) for names in found]
    metafunc.parametrize("sample", found, indirect=True, ids=ids)


@pytest.fixture
def sample(request):
    """A sample of a row, the same in every run."""
    row, name = request.param
    return samples_of(Primitive.table[row])[name]


def assert_agree(got: Any, wanted: Any, rtol: float = 1e-11) -> None:
    """The same shapes, and entries that agree relative to the largest of them."""
    assert np.shape(got) == np.shape(wanted), f"shape {np.shape(got)}, not {np.shape(wanted)}"
    scale = np.max(np.abs(wanted), initial=1e-300)
    np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol * float(scale))


@pytest.fixture
def agree():
    """Check that two answers, or two tuples of them, agree."""

    def check(got: Any, wanted: Any, rtol: float = 1e-11) -> None:
        if isinstance(wanted, (tuple, list)):
            assert len(got) == len(wanted)
            for g, w in zip(got, wanted, strict=True):
                check(g, w, rtol)
        else:
            assert_agree(got, wanted, rtol)

    return check


# -------------------------------------------------------- calls as users write them

#: the arrays that calls are written with
POINTS = {
    "c": 0.7,
    "d": 1.3,
    "x": np.array([0.3, -1.2, 0.8, 1.9]),
    "y": np.array([1.1, 0.4, -0.9, 0.6]),
    "A": np.array([[0.5, -1.1, 0.9, 1.7], [2.3, 0.2, -0.4, 0.6], [-0.8, 1.4, 1.2, -0.3]]),
    "B": np.array([[1.2, 0.1, -0.7], [0.4, -1.5, 0.8], [0.3, 2.2, 0.9], [-0.6, 0.5, 1.6]]),
    "Q": np.array([[2.0, 0.3, -0.4], [0.1, 1.5, 0.6], [0.7, -0.2, 1.8]]),
    "S": np.cos(np.arange(1.0, 25.0) ** 1.5).reshape(2, 3, 4),
    "e": np.zeros(0),
    "E": np.zeros((0, 3)),
    "V": np.sin(np.arange(48.0) * 1.7).reshape(6, 8)[::2, ::2].T,  # not contiguous
}


def _total(values) -> object:
    """One number that depends on every entry of a result, and not linearly."""
    leaves, _ = flatten(values)
    total = 0.0
    for leaf in leaves:
        leaf = rules.lift(leaf)
        kind = np.dtype(leaf.dtype).kind if hasattr(leaf, "dtype") else "f"
        parts = (np.real(leaf), np.imag(leaf)) if kind == "c" else (leaf,) if kind == "f" else ()
        for j, part in enumerate(parts):
            weights = np.cos(1.0 + j + np.arange(np.size(part))).reshape(np.shape(part))
            total = total + np.sum(weights * np.sin(part))
    return total


def _entries(values) -> object:
    """All entries of a result, real and imaginary parts apart, in one axis."""
    leaves, _ = flatten(values)
    parts = [np.zeros(0)]
    for leaf in leaves:
        leaf = rules.lift(leaf)
        kind = rules.dtype_of(leaf).kind
        if kind in "fc":
            both = (np.real(leaf), np.imag(leaf)) if kind == "c" else (leaf,)
            parts += [np.reshape(part, (-1,)) for part in both]
    return np.concatenate(parts)


def _close(got, expected, what: str, rtol: float) -> None:
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, not {expected.shape}"
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    error = float(np.max(np.abs(got - expected), initial=0.0))
    assert error <= rtol * scale, f"{what}: off by {error:.3g}\n{got}\nagainst\n{expected}"


def _difference(f, args, direction, h=2e-3):
    """The slope of f along a direction, by differences exact for polynomials of degree six."""

    def at(t):
        return f(*(a + t * v for a, v in zip(args, direction, strict=True)))

    return sum(w * (at(k * h) - at(-k * h)) for k, w in ((1, 45), (2, -9), (3, 1))) / (60 * h)


def check_call(f, args) -> None:
    """f of floats and arrays: the value, and both orders of derivative in every mode."""
    plain = f(*args)
    numbers = tuple(range(len(args)))

    def total(*some):
        return _total(f(*some))

    value, reverse = ad.value_and_grad(total, numbers, mode="reverse")(*args)
    _close(value, _total(plain), "value", 1e-13)
    forward = ad.grad(total, numbers, mode="forward")(*args)  # all directions at once
    for got, expected in zip(forward, reverse, strict=True):
        _close(got, expected, "forward against reverse", 1e-11)
    rng = np.random.default_rng(zlib.crc32(repr([np.shape(a) for a in args]).encode()))
    direction = tuple(rng.standard_normal(np.shape(a))[()] for a in args)
    slope = sum(np.sum(g * v) for g, v in zip(reverse, direction, strict=True))
    _close(slope, _difference(total, args, direction), "against differences", 2e-9)
    _close(ad.jvp(total, args, direction)[1], slope, "one direction against all", 1e-11)

    def entries(*some):
        return _entries(f(*some))

    # As many directions as an argument has rows, and cotangents in pairs: where axes of
    # directions could be taken for axes of arrays.
    rows = max(2, np.shape(args[-1])[0] if np.shape(args[-1]) else 2)
    wide = ad.jacobian(entries, numbers, mode="forward")(*args)
    for chunk, mode in ((rows, "forward"), (None, "reverse"), (2, "reverse")):
        got = ad.jacobian(entries, numbers, mode=mode, chunk=chunk)(*args)
        for some, expected in zip(got, wide, strict=True):
            _close(some, expected, f"Jacobian, {mode}, in chunks of {chunk}", 1e-11)

    hyperdual = ad.hessian(total, numbers, mode="hyperdual")(*args)
    nested = ad.hessian(total, numbers, mode="forward")(*args)
    for i in numbers:
        along: object = 0.0
        for j in numbers:
            _close(hyperdual[i][j], nested[i][j], f"hyper-dual against nested, {i}{j}", 1e-10)
            axes = np.ndim(args[j])
            along = along + np.tensordot(hyperdual[i][j], direction[j], axes)
        gradient = _difference(lambda *p, i=i: ad.grad(total, numbers, mode="reverse")(*p)[i], args, direction)  # fmt: skip  # noqa: E501
        _close(along, gradient, f"second order against differences, {i}", 2e-8)


def parsed(text: str) -> tuple[Any, tuple[Any, ...]]:
    """A call given as text as a function of the arrays named in it, and those arrays."""
    names = [n for n in POINTS if re.search(rf"(?<![\w.]){n}(?![\w=])", text)]
    scope: dict[str, Any] = {"np": np}
    if "\n" in text or (" = " in text and "lambda" not in text):
        body = "\n    ".join(text.strip().split("\n"))
        exec(f"def f({', '.join(names)}):\n    {body}\n    return z", scope)
    else:
        scope["f"] = eval(f"lambda {', '.join(names)}: {text}", scope)
    return scope["f"], tuple(POINTS[n] for n in names)


@pytest.fixture
def call():
    """Check a call given as text: ``call("np.roll(x, 1)")``."""
    return lambda text: check_call(*parsed(text))


def complex_points(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arrays with imaginary parts."""
    waves = (np.cos(2.0 + np.arange(np.size(a))).reshape(np.shape(a))[()] for a in args)
    return tuple(a + 1j * wave for a, wave in zip(args, waves, strict=True))


@pytest.fixture
def complex_call():
    """Check a call at complex points: against differences, and that reverse is the adjoint."""

    def check(text: str) -> None:
        f, args = parsed(text)
        args = complex_points(args)
        rng = np.random.default_rng(7)
        along = tuple(draw(rng, np.shape(a), is_complex=True) for a in args)

        def entries(*some):
            return _entries(f(*some))

        values, slopes = ad.jvp(entries, args, along)
        _close(values, entries(*args), "value", 1e-13)
        _close(slopes, _difference(entries, args, along), "against differences", 2e-8)
        ct = rng.standard_normal(np.shape(values))
        pulled = ad.vjp(entries, *args)[1](ct)
        inner = sum(np.sum(np.real(np.conj(p) * t)) for p, t in zip(pulled, along, strict=True))
        _close(inner, np.sum(ct * slopes), "reverse against forward", 1e-11)

    return check


@pytest.fixture
def shows_as_numpy():
    """Check that a call gives numbers of the shapes and types that plain NumPy gives."""

    def check(text: str, dtype: type) -> None:
        f, args = parsed(text)
        args = tuple(np.asarray(a, dtype)[()] for a in args)
        with np.errstate(all="ignore"):
            plain, _ = flatten(f(*args))
        values, tangents = ad.jvp(f, args, tuple(np.ones_like(a) for a in args))
        (values, _), (tangents, _) = flatten(values), flatten(tangents)
        assert len(values) == len(plain)
        for got, slope, expected in zip(values, tangents, plain, strict=True):
            assert np.shape(got) == np.shape(expected)
            assert np.shape(slope) == np.shape(expected)
            assert np.asarray(got).dtype == np.asarray(expected).dtype
            if np.shape(slope) and np.asarray(expected).dtype.kind == "f":
                assert slope.dtype in (np.asarray(expected).dtype, dtype)

    return check
