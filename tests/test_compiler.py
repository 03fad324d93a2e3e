"""A compiled function answers as the function does: over functions, kinds of arguments, branches.

Each pass is held to its promise alone; and a program that is given up, or that asks the
function itself, must not hide in an answer that is right all the same.
"""

from __future__ import annotations

import concurrent.futures
import math
import threading
import warnings

import numpy as np
import pytest

import dualad as ad
from dualad.compiler import CompileWarning, passes
from dualad.compiler.emit import Blocked
from dualad.program import Operation, trace
from dualad.tree import flatten

POINT = np.array([0.5, 1.25, 2.0, 0.75])
WEIGHTS = np.random.default_rng(3).normal(size=(4, 4))


def chapter(x):
    return np.log(x**2) * np.sin(x) + 1 / x


def doubling(a):
    """The chapter's function with control flow."""
    b = a * 2
    while np.linalg.norm(b) < 1000:
        b = b * 2
    return b if b > 0 else 100 * b


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def in_a_loop(x):
    y = 0.0
    for i in range(len(x) - 1):
        y = y + 100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2
    return y


def assigned(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i] * x[(i + 1) % len(x)]
    y[1:] += x[:-1]
    return np.sum(y * y)


def network(w):
    hidden = np.tanh(WEIGHTS @ w["in"] + w["bias"])
    return np.sum((hidden - w["out"][0]) ** 2)


def step(w):
    """A training step."""
    return w - 0.1 * ad.grad(lambda z: np.sum(np.tanh(WEIGHTS @ z) ** 2))(w)


TREE = {"in": POINT, "bias": POINT * 0.1, "out": [POINT - 1.0]}

FUNCTIONS = {
    "function": (chapter, 2.0),
    "derivative": (ad.derivative(chapter), 2.0),
    "entry by entry": (ad.derivative(chapter), POINT),
    "second": (ad.derivative(chapter, order=2), 2.0),
    "second, entry by entry": (ad.derivative(chapter, order=2), POINT),
    "third": (ad.derivative(np.tanh, order=3), 0.4),
    "fourth": (ad.derivative(np.tanh, order=4), POINT),
    "reverse": (ad.grad(chapter, mode="reverse"), 2.0),
    "gradient": (ad.grad(rosenbrock), POINT),
    "value and gradient": (ad.value_and_grad(rosenbrock), POINT),
    "gradient of a loop": (ad.grad(in_a_loop), POINT),
    "forward gradient": (ad.grad(rosenbrock, mode="forward"), POINT),
    "hessian": (ad.hessian(rosenbrock), POINT),
    "hessian by hyper-duals": (ad.hessian(in_a_loop, mode="hyperdual"), POINT),
    "hessian in reverse": (ad.hessian(rosenbrock, mode="reverse"), POINT),
    "jacobian forward": (ad.jacobian(lambda x: np.outer(x, np.sin(x)), mode="forward"), POINT),
    "jacobian reverse": (ad.jacobian(lambda x: x[::2] * x[1], mode="reverse"), POINT),
    "jacobian of a layer": (ad.jacobian(lambda x: WEIGHTS @ np.tanh(WEIGHTS @ x)), POINT),
    "assignment": (ad.grad(assigned), POINT),
    "hessian of assignments": (ad.hessian(assigned), POINT),
    "structure": (ad.grad(network), TREE),
    "structured result": (lambda x: {"a": [x, x * 2], "b": (3.0, np.sum(x), x > 1)}, POINT),
    "training step": (step, POINT),
    "jvp": (lambda x: ad.jvp(np.tanh, (x,), (np.ones_like(x),)), POINT),
    "vjp": (lambda x: ad.vjp(np.tanh, x)[1](np.ones(4)), POINT),
    "hvp": (lambda x: ad.hvp(rosenbrock, x, x), POINT),
    "max": (ad.grad(np.max), POINT),
    "sort": (ad.jacobian(lambda x: np.sort(x) ** 2), POINT),
    "median": (ad.grad(np.median), POINT),
    "argmax": (ad.grad(lambda x: x[np.argmax(x)] ** 2), POINT),
    "mask": (ad.grad(lambda x: np.sum(x[x > 1] ** 3)), POINT),
    "where": (ad.grad(lambda x: np.sum(np.where(x > 1, x * x, np.sin(x)))), POINT),
    "solve": (ad.grad(lambda x: np.sum(np.linalg.solve(np.diag(x) + 1.0, x))), POINT),
    "determinant": (ad.grad(lambda x: np.linalg.det(np.outer(x, x) + np.eye(4))), POINT),
    "norm": (ad.grad(np.linalg.norm), POINT),
    "fourier": (ad.grad(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2)), POINT),
    "broadcast": (ad.grad(lambda x: np.sum(np.exp(x[:, None] - x) * WEIGHTS)), POINT),
    "statistics": (ad.grad(lambda x: np.var(x) + np.mean(x**3) + np.prod(x)), POINT),
    "a factor read where its sum is": (ad.grad(lambda x: np.sin(np.var(x))), POINT),
    "numbers put into what was computed": (
        ad.grad(lambda x: np.stack([x[0] * x[1], x[1] ** 2, x[0]]) @ np.array([1.0, 2.0, 3.0])),
        POINT,
    ),
    "two operands spread alike": (lambda x: np.sum(np.cov(x)), POINT),
    "float32": (ad.grad(rosenbrock), POINT.astype(np.float32)),
    "nothing depends": (ad.grad(lambda x: 3.0), POINT),
}


def assert_same(got, expected, rtol=1e-12):
    """The same structure, types and values."""
    a, _ = flatten(got)
    b, _ = flatten(expected)
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert np.shape(x) == np.shape(y)
        assert np.asarray(x).dtype == np.asarray(y).dtype
        single = np.asarray(y).dtype == np.float32
        scale = float(np.max(np.abs(y), initial=0.0))
        tolerance = 1e-5 if single else rtol
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * scale)


def programs(compiled):
    """All programs that a compiled function has."""
    return [v for variants in compiled.behind.kinds.values() for v in variants]


def asks_itself(compiled, monkeypatch):
    """From now on the function itself must not be called."""

    def refuse(*args, **kwargs):
        raise AssertionError("the function was called, not its program")

    monkeypatch.setattr(compiled.behind, "fn", refuse)


@pytest.fixture(autouse=True)
def _no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_is_uncompiled(name, monkeypatch):
    f, x = FUNCTIONS[name]
    compiled = ad.compile(f)
    assert_same(compiled(x), f(x))
    leaves, rebuild = flatten(x)
    nearby = rebuild(
        [leaf * leaf.dtype.type(1.01) if hasattr(leaf, "dtype") else leaf * 1.01 for leaf in leaves]
    )
    expected = [f(x), f(nearby)]
    asks_itself(compiled, monkeypatch)
    for point, want in zip((x, nearby), expected, strict=True):
        assert_same(compiled(point), want)


def test_the_name_and_the_text_are_the_functions():
    compiled = ad.compile(chapter)
    assert compiled.__name__ == "chapter"
    compiled(2.0)
    assert compiled.__name__ == "chapter"


# ------------------------------------------------------------------------- kinds and branches


def test_the_chapters_control_flow_is_followed(monkeypatch):
    slope = ad.derivative(doubling)
    compiled = ad.compile(slope)
    points = [0.3, -2.0, 5.0, 700.0, -1e-3, 0.29]
    for x in points:
        assert compiled(x) == slope(x)
    assert len(programs(compiled)) == 5  # 0.29 takes the branches of 0.3
    expected = [slope(x) for x in points]
    asks_itself(compiled, monkeypatch)
    assert [compiled(x) for x in points] == expected


def test_each_kind_of_argument_has_its_program():
    compiled = ad.compile(ad.grad(lambda x: np.sum(x * x)))
    for x in (3.0, POINT, POINT[:2], np.ones((2, 3)), POINT.astype(np.float32), 3.0, POINT):
        assert_same(compiled(x), 2 * x)
    assert len(compiled.behind.kinds) == 5


def test_whole_numbers_and_strings_choose_the_program():
    def f(x, n, how="plus"):
        return x**n + 1 if how == "plus" else x**n - 1

    compiled = ad.compile(f)
    for n in (2, 3):
        assert compiled(2.0, n) == f(2.0, n)
        assert compiled(2.0, n=n, how="minus") == f(2.0, n, "minus")
    assert ad.compile(ad.grad(lambda x: x * x))(3) == 6.0


def test_arguments_are_taken_by_name_and_too_many_are_refused():
    compiled = ad.compile(lambda x, y: x - y)
    assert compiled(3.0, 1.0) == 2.0
    assert compiled(y=1.0, x=3.0) == 2.0
    assert compiled(3.0, y=1.0) == 2.0
    with pytest.raises(TypeError):
        compiled(1.0)
    with pytest.raises(TypeError):
        compiled(1.0, 2.0, 3.0)


def test_parameters_may_have_any_name():
    def f(c, add, sin, answer, sure, MISS, v1):
        return c * add + np.sin(sin) * answer - sure * MISS + v1

    compiled = ad.compile(f)
    args = [2.0, POINT, POINT * 2, 3.0, 4.0, POINT, 6.0]
    for _ in range(2):
        assert_same(compiled(*args), f(*args))


def test_too_many_branches_run_uncompiled_with_one_warning():
    def f(x):
        return x * int(x)

    compiled = ad.compile(f)
    points = [i + 0.5 for i in range(50)]
    with pytest.warns(CompileWarning, match="uncompiled") as caught:
        assert [compiled(x) for x in points] == [f(x) for x in points]
    assert len(caught) == 1


def test_what_cannot_be_traced_runs_uncompiled_with_one_warning():
    def f(x):
        return math.sin(x)

    compiled = ad.compile(f)
    with pytest.warns(CompileWarning, match="uncompiled") as caught:
        assert [compiled(x) for x in (1.0, 2.0)] == [math.sin(1.0), math.sin(2.0)]
    assert len(caught) == 1


def test_backward_to_a_variable_from_outside_is_not_compiled():
    w = ad.Variable(3.0)

    def train(x):
        y = w * x
        y.backward()
        return y.primal

    compiled = ad.compile(train)
    with pytest.warns(CompileWarning, match="another computation"):
        assert [compiled(x) for x in (2.0, 5.0)] == [6.0, 15.0]
    assert w.grad == 7.0


def test_backward_inside_is_compiled(monkeypatch):
    def slope(x):
        v = ad.Variable(x)
        (v * v).backward()
        return v.grad

    compiled = ad.compile(slope)
    assert compiled(2.0) == 4.0
    asks_itself(compiled, monkeypatch)
    assert compiled(5.0) == 10.0


def test_the_functions_own_errors_are_raised():
    def f(x):
        if x > 3:
            raise KeyError("mine")
        return x * 2

    compiled = ad.compile(f)
    assert compiled(1.0) == 2.0
    with pytest.raises(KeyError, match="mine"):
        compiled(4.0)
    assert compiled(2.0) == 4.0


def test_an_array_from_elsewhere_that_is_written_to_is_noticed():
    w, big = np.ones(4), np.ones((100, 4))
    f = ad.grad(lambda x: np.sum(w * x * x) + np.sum(big @ x))
    compiled = ad.compile(f)
    assert_same(compiled(POINT), f(POINT))
    w[1] = 5.0
    assert_same(compiled(POINT), f(POINT))
    big *= 2.0
    assert_same(compiled(POINT), f(POINT))


def test_compiled_functions_are_differentiated_and_traced():
    compiled = ad.compile(chapter)
    compiled(2.0)
    assert ad.derivative(compiled)(2.0) == ad.derivative(chapter)(2.0)
    assert ad.compile(ad.derivative(compiled))(2.0) == ad.derivative(chapter)(2.0)
    assert ad.hessian(ad.compile(rosenbrock))(POINT).shape == (4, 4)


# ------------------------------------------------------------------------------ back ends


def test_an_unknown_backend_is_refused():
    with pytest.raises(ValueError, match="backend"):
        ad.compile(chapter, backend="fortran")


@pytest.mark.parametrize(
    "name", ["function", "derivative", "second", "third", "reverse", "gradient"]
)
def test_machine_code_is_the_same_program(name):
    pytest.importorskip("numba", reason="the extra jit is not installed")
    f, x = FUNCTIONS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Numba about Python
        compiled = ad.compile(f, backend="numba")
        for point in (x, x * 1.01, x):
            assert_same(compiled(point), f(point))
    slope = ad.compile(ad.derivative(doubling), backend="numba")
    for point in (0.3, -2.0, 5.0, 0.3):
        assert slope(point) == ad.derivative(doubling)(point)


def test_the_extra_is_named_where_numba_is_missing(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="jit"):
        ad.compile(chapter, backend="numba")


# ----------------------------------------------------------------------- results are the caller's


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x,
        lambda x: (x, x, x[1:], x.reshape(2, 2)),
        lambda x: (y := x * 2, y, y[1:], y.reshape(2, 2).T),
        lambda x: np.broadcast_to(x, (3, 4)),
        lambda x: (WEIGHTS, x + 1),
        ad.grad(np.sum),
        ad.jacobian(lambda x: x * 1.0),
    ],
)
def test_results_are_fresh_and_writable(f):
    compiled = ad.compile(f)
    for _ in range(3):
        x = POINT.copy()
        outputs, _ = flatten(compiled(x))
        expected, _ = flatten(f(POINT))
        for i, y in enumerate(outputs):
            np.testing.assert_array_equal(y, expected[i])
            y[...] = 100.0 + i
        for i, y in enumerate(outputs):
            assert np.all(y == 100.0 + i)
        np.testing.assert_array_equal(x, POINT)


def test_arrays_in_any_layout():
    f = ad.grad(lambda x: np.sum(np.sin(x) @ WEIGHTS[:3]))
    compiled = ad.compile(f)
    base = np.random.default_rng(0).normal(size=(6, 8))
    for x in (
        base[::2, :3].copy(),
        base[::2, :3],
        np.asfortranarray(base[:3, :3]),
        base[2::-1, 4::-2],
    ):
        assert_same(compiled(x), f(x))


def test_threads_share_a_compiled_function():
    f = ad.grad(rosenbrock)
    compiled = ad.compile(f)
    points = [np.linspace(0.5, 1.5, 50) + i for i in range(16)]
    expected = [f(x) for x in points]
    ready = threading.Barrier(4)

    def work(i):
        ready.wait(10)
        return [compiled(x) for x in points[i::4]]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for i, got in enumerate(pool.map(work, range(4))):
            assert_same(got, expected[i::4])


# ---------------------------------------------------------------------------- the hard points


@pytest.mark.parametrize("x", [0.0, -0.0, math.inf, -math.inf, math.nan, 1e308, 5e-324, -1.0])
@pytest.mark.parametrize(
    "f",
    [np.sqrt, np.log, np.abs, np.exp, np.arccos, np.reciprocal, np.square, lambda x: np.power(x, 2),
     lambda x: np.power(x, 1.5), lambda x: np.divide(1.0, x),
     lambda x: np.where(x > 0, np.log(x), 0.0) * 1.0, lambda x: x - 0.0, lambda x: x + 0.0,
     lambda x: -(x * -1.0), lambda x: np.maximum(x, 0.0), lambda x: np.maximum(x, 0),
     lambda x: np.ldexp(x, 2)],
)  # fmt: skip
def test_hard_points(f, x):
    with np.errstate(all="ignore"):
        for g in (f, ad.derivative(f), ad.derivative(f, order=2)):
            for start in (0.5, x):
                compiled = ad.compile(g)
                compiled(start)
                want = g(x)
                np.testing.assert_array_equal(compiled(x), want)
                array = np.array([x, 0.5])
                arrays = ad.compile(g)
                arrays(np.array([start, 0.25]))
                np.testing.assert_array_equal(arrays(array), g(array))


def test_a_zero_tangent_stays_zero():
    f = ad.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0) + np.maximum(x, 1.0)))
    compiled = ad.compile(f)
    compiled(POINT)
    for x in (np.array([0.0, 1.0, -1.0, 4.0]), np.zeros(4)):
        with np.errstate(all="ignore"):
            want = f(x)
            assert np.all(np.isfinite(want))
            np.testing.assert_array_equal(compiled(x), want)


# -------------------------------------------------------------------------------- large arrays

N = 70_001


def shifted(x):
    return np.sum(np.sin(x[2:]) * x[:-2] + x[1:-1] ** 2)


def two_sums(x):
    return np.log(np.sum(x * x)) * np.sum(np.cos(x))


def rows(x):
    y = x.reshape(-1, 7)
    top = np.max(y, 1)
    return np.sum(top + np.log(np.sum(np.exp(y - top[:, None]), 1)))


LARGE = {
    "entry by entry": (ad.derivative(chapter), np.linspace(0.5, 2.0, N)),
    "sum": (ad.grad(lambda x: np.sum(np.sin(x) * np.exp(-x * x))), np.linspace(0.5, 2.0, N)),
    "slices": (ad.grad(rosenbrock), np.linspace(0.5, 2.0, N)),
    "value too": (ad.value_and_grad(rosenbrock), np.linspace(0.5, 2.0, N)),
    "three slices": (ad.value_and_grad(shifted), np.linspace(0.5, 2.0, N)),
    "two layers": (ad.grad(two_sums), np.linspace(0.5, 2.0, N)),
    "rows": (ad.grad(rows), np.random.default_rng(0).normal(size=7 * 10_011)),
    "function": (lambda x: (np.tanh(x), np.max(x * x), x > 1), np.linspace(0.5, 2.0, N)),
    "broadcast rows": (ad.grad(lambda w: np.sum(np.tanh(BATCH * w) ** 2)), np.linspace(-1, 1, 10)),
    "hessian times vector": (lambda x: ad.hvp(rosenbrock, x, x), np.linspace(0.5, 2.0, N)),
    "float32": (ad.grad(rosenbrock), np.linspace(0.5, 2.0, N, dtype=np.float32)),
}  # fmt: skip
BATCH = np.random.default_rng(1).normal(size=(8_011, 10))


@pytest.mark.parametrize("name", LARGE)
def test_blocks_give_what_whole_arrays_give(name, monkeypatch):
    f, x = LARGE[name]
    compiled = ad.compile(f)
    want = f(x)
    assert_same(compiled(x), want)
    (program,) = programs(compiled)
    assert any(isinstance(s, Blocked) for s in program.steps) or name == "float32"
    asks_itself(compiled, monkeypatch)
    assert_same(compiled(x), want)
    for a, b in zip(flatten(compiled(x))[0], flatten(compiled(x))[0], strict=True):
        np.testing.assert_array_equal(a, b)  # whatever thread did what


def test_blocks_from_many_threads():
    f, x = LARGE["two layers"]
    compiled = ad.compile(f)
    points = [x + i for i in range(6)]
    expected = [f(p) for p in points]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for got, want in zip(pool.map(compiled, points), expected, strict=True):
            assert_same(got, want)


def test_a_nan_in_one_block_is_seen():
    f = ad.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)))
    compiled = ad.compile(f)
    x = np.linspace(0.5, 2.0, N)
    compiled(x)
    x[N // 3] = 0.0
    assert f(x)[N // 3] == 0.0
    np.testing.assert_array_equal(compiled(x), f(x))


# ------------------------------------------------------------------------------------- passes


def labels(program):
    return [op.label for op in program.operations]


def through(f, x, *which):
    """The program of f after some passes, with its answer checked to the bit."""
    program = trace(f)(x)
    want = program(x)
    for one in which:
        program = one(program)
    got = program(x)
    np.testing.assert_array_equal(got, want)
    sign = np.signbit(got) | np.isnan(got)
    np.testing.assert_array_equal(sign, np.signbit(want) | np.isnan(want))
    return program


def test_constants_are_folded():
    def f(x):
        zeros = np.zeros_like(x)
        zeros[1] = 3.0
        return x + np.exp(zeros)

    assert labels(through(f, POINT, passes.fold_constants)) == ["add"]


def test_common_subexpressions_are_shared():
    program = through(lambda x: np.sin(x) * np.exp(x) + np.sin(x), POINT, passes.share_common)
    assert labels(program).count("sin") == 1
    program = through(lambda x: (x + 0.0) / (x + -0.0), 2.0, passes.share_common)
    assert len(program.operations) == 3  # 0 and -0 are not the same


@pytest.mark.parametrize(
    ("f", "left"),
    [
        (lambda x: x * 1.0, []),
        (lambda x: 1.0 * x, []),
        (lambda x: x + -0.0, []),
        (lambda x: x - 0.0, []),
        (lambda x: np.negative(-x), []),
        (lambda x: x**1, []),
        (lambda x: x**2, ["square"]),
        (lambda x: 3.0 + -x, ["subtract"]),
        (lambda x: 3.0 - -x, ["add"]),
        (lambda x: -(x * 3.0), ["multiply"]),
        (lambda x: (2 * x) * 100.0, ["multiply"]),
        (lambda x: (3 * x) * 100.0, ["multiply", "multiply"]),  # rounds twice
        (lambda x: (2 * x) * 0.1, ["multiply", "multiply"]),  # overflows on the way
        (lambda x: x + 0.0, ["add"]),  # turns -0 to 0
        (lambda x: x * 0.0, ["multiply"]),  # NaN at infinity, -0 below 0
        (lambda x: x - x, ["subtract"]),
        (lambda x: x / x, ["divide"]),
    ],
)
@pytest.mark.parametrize("x", [2.5, -0.0, 0.0, math.inf, -math.inf, math.nan, 1e308, 5e-324])
def test_identities_are_exact(f, left, x):
    with np.errstate(all="ignore"):
        for point in (x, np.array([x, 1.0, -3.0])):
            program = through(f, point, passes.apply_identities)
            assert labels(program) == left


def test_numbers_scattered_into_zeros_are_put_there_once():
    def f(x):
        return ad.grad(in_a_loop)(x)

    program = through(f, POINT, passes.settle_zeros, passes.assemble_scatters)
    assert "scatter_add" not in labels(program)
    assert labels(program).count("assemble") == 1


def test_all_passes_together_leave_fewer_operations():
    f, x = FUNCTIONS["hessian"]
    program = trace(f)(x)
    assert len(passes.optimised(trace(f)(x)).operations) < len(program.operations)
    assert all(isinstance(op, Operation) for op in program.operations)


# --------------------------------------------------------------------------------- a fuzz


UNARY = [np.sin, np.exp, np.tanh, np.sqrt, np.square, np.negative, np.arctan, np.abs, np.log1p]
BINARY = [np.add, np.subtract, np.multiply, np.maximum, np.hypot, np.logaddexp]
SHAPING = [
    lambda v: v[::-1], lambda v: np.roll(v, 1), lambda v: v.reshape(2, 2).T.ravel(),
    lambda v: np.cumsum(v), lambda v: np.sort(v), lambda v: np.where(v > 0.5, v, 0.25),
    lambda v: np.concatenate([v[2:], v[:2]]), lambda v: v - np.mean(v),
]  # fmt: skip


def random_function(rng):
    """A random straight-line function of a vector, with a branch at its end."""
    steps = rng.integers(0, 1000, (rng.integers(2, 10), 4)).tolist()

    def f(x):
        values = [x, 0.5 * x + 0.75]
        for kind, which, i, j in steps:
            a, b = values[i % len(values)], values[j % len(values)]
            if kind % 3 == 0:
                g = UNARY[which % len(UNARY)]
                values.append(g(np.abs(a) + 0.5 if g in (np.sqrt, np.log1p) else np.tanh(a)))
            elif kind % 3 == 1:
                values.append(BINARY[which % len(BINARY)](a, b))
            else:
                values.append(SHAPING[which % len(SHAPING)](a))
        total = np.sum(values[-1] * values[len(values) // 2])
        return total if total > 0.25 else -2.0 * total

    return f


@pytest.mark.parametrize("seed", range(30))
def test_random_functions(seed):
    rng = np.random.default_rng(seed)
    f = random_function(rng)
    points = rng.uniform(-2, 2, (2, 4))
    for g in (f, ad.grad(f), ad.hessian(f)):
        compiled = ad.compile(g)
        for x in (*points, *points):
            assert_same(compiled(x), g(x), rtol=1e-10)
        assert not compiled.behind.given_up
