"""The tape: what it records, how it is swept and released, and what it guards against."""

import gc
import itertools
import math
import sys
import tracemalloc

import numpy as np
import pytest

import dualad as ad
from dualad import tape
from dualad.checkpointing import extra_steps, split_at

RNG = np.random.default_rng(5)


def reverse(f, **kwargs):
    return ad.grad(f, mode="reverse", **kwargs)


# ---------------------------------------------------------------------------- long chains


def test_a_chain_of_a_million_operations_sweeps_and_is_released(request):
    limit = sys.getrecursionlimit()
    gc.disable()  # its passes over a million nodes are not what is tested
    request.addfinalizer(gc.enable)
    x = ad.Variable(1.0)
    y = x
    for _ in range(1_000_000):
        y = y * 1.00001
    y.backward(retain_graph=True)
    # (1 + 1e-5)**1e6, by the factor as it is in floating point
    assert x.grad == pytest.approx(math.exp(1e6 * math.log1p(1.00001 - 1)), rel=1e-9)
    del y
    assert sys.getrecursionlimit() == limit


def test_a_chain_longer_than_the_recursion_limit_has_its_slope():
    def f(x):
        y = x
        for _ in range(100_000):
            y = y * 1.00001
        return y

    assert reverse(f)(1.0) == pytest.approx(2.718268237192297, rel=1e-9)


def nodes_walked(f, x):
    """How many nodes the sweep of f has."""
    y = f(ad.Variable(x))
    return len(tape.schedule([y.node]))


def test_the_record_grows_with_the_operations_and_not_with_the_paths():
    def doubled(x, n):
        for _ in range(n):
            x = x + x
        return x

    assert [nodes_walked(lambda x, n=n: doubled(x, n), 0.5) for n in (10, 20, 40)] == [11, 21, 41]
    assert reverse(lambda x: doubled(x, 60))(0.5) == 2.0**60


def test_indexing_in_a_loop_adds_into_one_buffer(monkeypatch):
    made = []
    zeros = np.zeros

    def counted(shape, *args, **kwargs):
        made.append(shape)
        return zeros(shape, *args, **kwargs)

    x = RNG.uniform(size=200)
    monkeypatch.setattr(np, "zeros", counted)
    got = reverse(lambda x: sum(x[i] * x[i] for i in range(200)))(x)
    monkeypatch.undo()
    assert np.array_equal(got, 2 * x)
    assert made.count((200,)) <= 1


# ------------------------------------------------------------------- sweeping more than once


def test_a_pullback_gives_the_same_answer_every_time():
    y, pullback = ad.vjp(lambda x: x * x, 3.0)
    assert (y, pullback(1.0), pullback(1.0), pullback(2.0)) == (9.0, (6.0,), (6.0,), (12.0,))
    x = np.array([1.0, 2.0])
    f = reverse(lambda x: np.sum(x * x))
    assert np.array_equal(f(x), f(x))
    _, pullback = ad.vjp(lambda x: np.sum(np.exp(x)) * x, x)
    first, again = pullback(x)[0], pullback(x)[0]
    assert np.array_equal(first, again)
    first[:] = 7
    assert np.array_equal(pullback(x)[0], again)


def test_an_exception_leaves_nothing_behind():
    error = ValueError("stop")

    def f(x):
        np.sin(x)
        raise error

    for call in (
        lambda: reverse(f)(1.0),
        lambda: ad.vjp(f, np.ones(3)),
        lambda: ad.jacobian(f)(np.ones(3)),
        lambda: reverse(ad.checkpoint(f))(1.0),
    ):
        with pytest.raises(ValueError, match="stop") as caught:
            call()
        assert caught.value is error
    for block in (ad.record, ad.no_grad, ad.Tape):
        with pytest.raises(ValueError, match="stop"), block():
            raise error
    assert not tape.is_recording()
    before = np.geterr()
    with pytest.raises(ValueError, match="stop"):
        reverse(lambda x: f(np.log(x)))(np.zeros(2) + 1)
    assert np.geterr() == before
    x = ad.Variable(3.0)
    (x * x).backward()
    assert x.grad == 6.0


# --------------------------------------------------------------------------------- no_grad

SYSTEMS = {
    "Dual": lambda x: ad.Dual(x, np.ones_like(x)[()]),
    "HyperDual": lambda x: ad.HyperDual(x, *[np.ones_like(x)[()]] * 3),
    "Variable": ad.Variable,
    "Dual over Variable": lambda x: ad.Dual(ad.Variable(x), np.ones_like(x)[()]),
    "Variable over Dual": lambda x: ad.Variable(ad.Dual(x, np.ones_like(x)[()])),
}
systems = pytest.mark.parametrize("system", SYSTEMS)


@systems
@pytest.mark.parametrize("x", [2.0, np.array([1.0, 2.0])], ids=["scalar", "array"])
def test_results_inside_no_grad_are_constants(system, x):
    n = SYSTEMS[system](x)
    operations = [
        lambda n: n * n, lambda n: 2 * n, lambda n: n / 2, lambda n: 2 / n, lambda n: n + n,
        lambda n: n - 1, lambda n: 1 - n, lambda n: -n, lambda n: n**2, lambda n: n**0.5,
        np.sin, np.sum, lambda n: np.maximum(n, 1.5), lambda n: np.reshape(n, (-1,)),
        lambda n: np.where(n > 1.5, n, 0.0),
    ]  # fmt: skip
    with ad.no_grad(), ad.no_grad():
        got = [f(n) for f in operations]
    for f, y in zip(operations, got, strict=True):
        assert type(y) in (float, np.float64, np.ndarray)
        assert np.array_equal(y, f(x))
    assert not isinstance(n * n, (float, np.ndarray))


def test_a_transform_inside_no_grad_differentiates_but_is_a_constant_outside():
    with ad.no_grad():
        assert reverse(lambda x: x**3)(2.0) == ad.derivative(lambda x: x**3)(2.0) == 12.0

    def f(x):
        with ad.no_grad():
            slope = ad.derivative(lambda y: x * y * y)(3.0)
        return slope * x

    for D in (ad.derivative, reverse):
        assert D(f)(2.0) == 12.0


def test_no_grad_ends_with_an_exception():
    with pytest.raises(KeyError), ad.no_grad():
        raise KeyError
    assert isinstance(ad.Variable(2.0) * 2, ad.Variable)


# --------------------------------------------------------------------------- stop_gradient


@systems
def test_stop_gradient_gives_the_plain_value(system):
    for x in (2.0, np.array([1.0, 2.0])):
        n = SYSTEMS[system](x)
        y = ad.stop_gradient(n * n)
        assert type(y) is type(x)
        assert np.array_equal(y, x * x)


@systems
def test_stop_gradient_keeps_structure_and_what_is_plain(system):
    x = np.array([1.0, 2.0])
    n = SYSTEMS[system](x)
    got = ad.stop_gradient({"a": [n, 3], "b": (x, "text")})
    assert np.array_equal(got["a"][0], x)
    assert got["a"][1] == 3
    assert got["b"][0] is x
    assert got["b"][1] == "text"
    assert np.array_equal(ad.stop_gradient(np.array([n[0], 5.0])), [1.0, 5.0])


def test_writing_to_a_stopped_value_reaches_no_record():
    def f(x):
        y = np.exp(x)
        u = ad.stop_gradient(y)
        u[:] = 0
        return np.sum(y)

    assert np.array_equal(reverse(f)(np.zeros(2)), np.ones(2))


# ---------------------------------------------------- arrays that change before the sweep

# A function that reads a captured array c, and its gradient at x for the c that it read.
READERS = {
    "product": (lambda x, c: np.sum(x * c), lambda x, c: c),
    "product from the left": (lambda x, c: np.sum(c * x), lambda x, c: c),
    "quotient": (lambda x, c: np.sum(x / c), lambda x, c: 1 / c),
    "dot": (lambda x, c: np.dot(c, x), lambda x, c: c),
    "view": (lambda x, c: np.sum(x[::2] * c[::2]), lambda x, c: c * (np.arange(c.size) % 2 == 0)),
    "reshaped": (lambda x, c: np.sum(np.reshape(x, (2, -1)) * c.reshape(2, -1)), lambda x, c: c),
    "einsum": (lambda x, c: np.einsum("i,i->", x, c), lambda x, c: c),
    "power": (lambda x, c: np.sum(x**c), lambda x, c: c * x ** (c - 1)),
    "where": (lambda x, c: np.sum(np.where(c > 1, x, 0.0)), lambda x, c: (c > 1) * 1.0),
    "matrix": (
        lambda x, c: np.sum(np.matmul(np.reshape(c, (2, -1)), x[: c.size // 2])),
        lambda x, c: np.concatenate([c.reshape(2, -1).sum(0), 0 * c[: c.size // 2]]),
    ),
}
# One entry, all entries, an exchange, the order: what a cheaper look could miss.
CHANGES = {
    "one entry": lambda c: c.__setitem__(c.size // 2, 1.75),
    "all entries": lambda c: np.multiply(c, 1.5, out=c),
    "two exchanged": lambda c: c.__setitem__([1, 4], c[[4, 1]]),
    "reversed": lambda c: c.__setitem__(slice(None), c[::-1].copy()),
    "a NaN": lambda c: c.__setitem__(0, np.nan),
}
SIZES = {"small": 8, "middle": 10_000, "large": 60_000}


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_captured_array_that_changes_gives_the_right_gradient_or_an_error(reader, change, size):
    f, gradient = READERS[reader]
    x, c = RNG.uniform(1, 2, (2, size))
    want = gradient(x, c.copy())
    _, pullback = ad.vjp(lambda x: f(x, c), x)
    CHANGES[change](c)
    try:
        (got,) = pullback(1.0)
    except RuntimeError as error:
        assert size > 8, "small arrays are copied"
        assert "changed" in str(error)  # noqa: PT017
    else:
        np.testing.assert_allclose(got, want, rtol=1e-14)


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("view", [lambda x: x, lambda x: x[::2], lambda x: x.reshape(2, -1).T])
def test_the_point_may_change_between_the_passes(size, view):
    x = RNG.uniform(1, 2, size)
    want = 2 * view(x)
    _, pullback = ad.vjp(lambda x: np.sum(x**2) + np.sum(x * x) - np.sum(x * x), view(x))
    x[:] = 99
    np.testing.assert_allclose(pullback(1.0)[0], want, rtol=1e-12)


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_f_writes_to_the_callers_array_behind_its_back(size):
    x = RNG.uniform(1, 2, size)

    def f(y):
        z = np.sum(y * y)
        x[0] = 99
        return z

    want = 2 * x
    try:
        got = reverse(f)(x)
    except RuntimeError as error:
        assert "changed" in str(error)  # noqa: PT017
    else:
        assert np.array_equal(got, want)


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_a_work_buffer_used_again_inside_f(size):
    buffer = np.empty(size)
    base = RNG.uniform(1, 2, size)

    def f(x):
        total = 0.0
        for i in range(1, 4):
            np.multiply(base, i, out=buffer)
            total = total + np.sum(x * buffer)
        return total

    try:
        got = reverse(f)(np.ones(size))
    except RuntimeError as error:
        assert "buffer.copy()" in str(error)  # noqa: PT017
    else:
        np.testing.assert_allclose(got, 6 * base)


def test_a_changed_constant_of_another_kind():
    x = np.ones(3)
    zero_dim = np.array(2.0)
    mapped = np.arange(3.0).view(np.memmap)
    single = np.float32([1, 2, 3])
    for c in (zero_dim, mapped, single):
        want = np.broadcast_to(c, 3).copy()
        _, pullback = ad.vjp(lambda x, c=c: np.sum(x * c), x)
        c[...] = 9
        assert np.array_equal(pullback(1.0)[0], want)
    _, pullback = ad.vjp(lambda x: x * zero_dim, 3.0)
    zero_dim[...] = 1
    assert pullback(1.0) == (9.0,)


def test_an_index_array_that_changes():
    for size in (4, 5000):
        x, index = RNG.uniform(size=size), np.arange(size)
        _, pullback = ad.vjp(lambda x, index=index: np.sum(x[index] * x), x)
        index[0] = 1
        np.testing.assert_allclose(pullback(1.0)[0], 2 * x)


def test_the_value_of_a_variable_made_by_hand_may_be_written_to():
    for size in (4, 60_000):
        x = ad.Variable(np.arange(1.0, size + 1))
        y = np.sum(x * x)
        x.primal[0] = 99.0
        try:
            y.backward()
        except RuntimeError as error:
            assert "changed" in str(error)  # noqa: PT017
        else:
            assert x.grad[0] == 2.0


def test_the_value_that_vjp_gave_may_be_written_to():
    x = np.array([0.0, 1.0])
    y, pullback = ad.vjp(np.exp, x)
    y[:] = 0
    assert np.array_equal(pullback(np.ones(2))[0], np.exp(x))


def test_a_captured_array_in_nested_modes():
    c = RNG.uniform(1, 2, 8)
    want = c.copy()

    def inner_pullback(x):
        _, pullback = ad.vjp(lambda y: np.sum(y * y * c * x), x)
        c[0] += 1
        return np.sum(pullback(1.0)[0])

    x = RNG.uniform(size=8)
    np.testing.assert_allclose(reverse(inner_pullback)(x), 4 * want * x)


@pytest.mark.parametrize("shape", [(3000,), (60, 50), (50, 60, 2)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.bool_, np.complex128])
def test_a_fingerprint_sees_any_one_entry(shape, dtype):
    a = RNG.integers(0, 2, shape).astype(dtype)
    for array in (a, a.T, a[::2], np.broadcast_to(a, (2, *shape))):
        before = tape.fingerprint(array)
        assert tape.fingerprint(array) == before
        flat = a.reshape(-1)
        kept = flat[0]
        flat[0] = 1 - kept
        assert tape.fingerprint(array) != before
        flat[0] = kept


# --------------------------------------------------------------------- whose memory is whose

GIVERS = {
    "grad": lambda f, x: [ad.grad(f, mode="reverse")(x)],
    "grad forward": lambda f, x: [ad.grad(f, mode="forward")(x)],
    "vjp": lambda f, x: list(ad.vjp(f, x)[1](1.0)),
    "jvp": lambda f, x: list(ad.jvp(lambda x: x + 0 * f(x), (x,), (np.ones(3),))),
    "jvp of x": lambda f, x: list(ad.jvp(lambda x: x, (x,), (np.ones(3),))),
    "vjp of x": lambda f, x: [ad.vjp(lambda x: x, x)[0], *ad.vjp(lambda x: x, x)[1](x)],
    "jacobian": lambda f, x: [ad.jacobian(lambda x: f(x) * x)(x)],
    "jacobian reverse": lambda f, x: [ad.jacobian(lambda x: f(x) * x, mode="reverse")(x)],
    "hessian": lambda f, x: [ad.hessian(f)(x)],
    "hessian hyperdual": lambda f, x: [ad.hessian(f, mode="hyperdual")(x)],
    "hvp": lambda f, x: [ad.hvp(f, x, np.ones(3))],
    "derivative": lambda f, x: [ad.derivative(lambda x: x + 1)(x)],
    "second derivative": lambda f, x: [ad.derivative(lambda x: x + 1, order=2)(x)],
}
FUNCTIONS = {
    "sum": np.sum,
    "mean": np.mean,
    "sum of two": lambda x: np.sum(x + x),
    "last": lambda x: x[-1],
    "dot": lambda x: np.dot(x, np.ones(3)),
    "constant": lambda x: 1.0,
    "broadcast": lambda x: np.sum(np.broadcast_to(x, (4, 3))),
}


@pytest.mark.parametrize("giver", GIVERS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_given_out_is_writable_and_shares_memory_with_nothing(giver, name):
    x = np.array([1.0, 2.0, 3.0])
    before, flags = x.copy(), str(x.flags)
    first = GIVERS[giver](FUNCTIONS[name], x)
    for a, b in itertools.combinations([x, *first], 2):
        assert not np.shares_memory(a, b)
    again = [np.copy(a) for a in first]
    for a in first:
        assert isinstance(a, np.ndarray)
        assert a.flags.writeable
        a[...] = 7
    for a, b in zip(GIVERS[giver](FUNCTIONS[name], x), again, strict=True):
        assert np.array_equal(a, b)
    assert np.array_equal(x, before)
    assert str(x.flags) == flags


def test_gradients_of_an_inner_transform_do_not_share_an_array_either():
    def f(x):
        a, b = reverse(lambda p, q: np.sum((p + q) ** 2), argnums=(0, 1))(x, x)
        a *= 10
        return np.sum(b)

    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(reverse(f)(x), [4.0, 4.0])


def test_the_points_array_may_be_read_only():
    x = np.arange(3.0)
    x.flags.writeable = False
    for mode in ("forward", "reverse"):
        assert np.array_equal(ad.grad(lambda x: np.sum(x * x), mode=mode)(x), 2 * x)
    assert not x.flags.writeable


# ---------------------------------------------------------------------- assignment by hand


def test_a_step_of_descent_keeps_the_variable():
    x = ad.Variable(np.array([1.0, 2.0]))
    for _ in range(3):
        np.sum(x * x).backward()
        with ad.no_grad():
            x -= 0.25 * x.grad
        x.zero_grad()
    assert np.array_equal(x.primal, [0.125, 0.25])


def test_a_recorded_assignment_to_a_variable_is_refused():
    x = ad.Variable(np.array([1.0, 2.0]))
    with pytest.raises(RuntimeError, match="no_grad"):
        x -= 0.1 * x
    with pytest.raises(RuntimeError, match="no_grad"):
        x[0] = 5.0
    y = x.copy()
    y[0] = 5.0
    np.sum(y * y).backward()
    assert np.array_equal(x.grad, [0.0, 4.0])


# --------------------------------------------------------------------------- checkpointing


def least(n, s):
    """t(n, s) by its recurrence: t(1, s) = 0, t(n, 1) = n (n - 1) / 2, and the best split."""
    table = {}
    for length in range(1, n + 1):
        for k in range(1, s + 1):
            table[length, k] = (
                0 if length == 1
                else length * (length - 1) // 2 if k == 1
                else min(i + table[i, k] + table[length - i, k - 1] for i in range(1, length))
            )  # fmt: skip
    return table


def test_the_schedule_is_the_optimal_one():
    table = least(60, 8)
    for (n, s), t in table.items():
        assert extra_steps(n, s) == t
        if n > 1 and s > 1:
            i = split_at(n, s)
            assert i + table[i, s] + table[n - i, s - 1] == t


# t(n, s) by the formula of ADOL-C: r n - C(s + r, s + 1), r the least with C(s + r, s) >= n.
PUBLISHED = {
    (10, 1): 45, (10, 2): 20, (10, 3): 15, (10, 5): 13, (10, 8): 10, (10, 10): 9, (10, 20): 9,
    (20, 1): 190, (20, 3): 45, (20, 20): 19, (50, 2): 285, (50, 5): 122, (100, 1): 4950,
    (100, 3): 490, (100, 5): 316, (100, 10): 222, (100, 20): 178, (250, 5): 1040, (250, 20): 497,
}  # fmt: skip


@pytest.mark.parametrize(("n", "s"), PUBLISHED)
def test_a_checkpointed_loop_calls_step_as_often_as_is_published(n, s):
    calls = []

    def step(x):
        calls.append(type(x))
        return np.sin(x)

    def f(x):
        return ad.checkpoint_loop(step, x, n, snapshots=s)

    got = reverse(f)(1.0)
    assert len(calls) == n + PUBLISHED[n, s]
    assert sum(issubclass(t, ad.Variable) for t in calls) == n
    assert got == pytest.approx(ad.derivative(f)(1.0), rel=1e-13)


def peak_bytes(f, x):
    """The traced peak of f(x), in units of x, after a first call that fills caches."""
    f(x[:10])
    tracemalloc.start()
    f(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / x.nbytes


@pytest.mark.parametrize(("n", "s"), [(10, 1), (10, 3), (100, 4), (30, 40)])
def test_never_more_than_s_states_are_stored(n, s):
    # Beside them: the copy of the point, the state that is moved on, and what one step with its
    # record, its sum and its sweep need at a time.
    x = np.linspace(0.5, 1.5, 100_000)
    f = reverse(lambda x: np.sum(ad.checkpoint_loop(np.sin, x, n, snapshots=s)))
    assert peak_bytes(f, x) <= min(s, n) + 6.5


def test_nested_states_parameters_and_second_order():
    def step(state):
        x, v = state["x"], state["v"]
        return {"x": np.sin(x) + v, "v": 0.5 * v * x, "i": state["i"] + 1}

    def looped(x, v):
        end = ad.checkpoint_loop(step, {"x": x, "v": v, "i": 0}, 7, snapshots=2)
        assert end["i"] == 7
        return np.sum(end["x"] * end["v"])

    def plain(x, v):
        state = {"x": x, "v": v, "i": 0}
        for _ in range(7):
            state = step(state)
        return np.sum(state["x"] * state["v"])

    args = RNG.uniform(0.5, 1, (2, 3))
    for transform in (
        lambda f: reverse(f, argnums=(0, 1)),
        lambda f: ad.grad(f, (0, 1), mode="forward"),
        lambda f: ad.hessian(f, mode="forward"),
        lambda f: ad.hessian(f, mode="reverse"),
        lambda f: ad.hessian(f, mode="hyperdual"),
    ):
        got, want = transform(looped)(*args), transform(plain)(*args)
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)


def test_variables_that_a_step_captures_get_their_gradient():
    x = RNG.uniform(size=3)

    def looped(theta):
        return np.sum(ad.checkpoint_loop(lambda x: np.sin(theta * x), x * theta, 9, snapshots=3))

    def plain(theta):
        y = x * theta
        for _ in range(9):
            y = np.sin(theta * y)
        return np.sum(y)

    def only_captured(theta):
        return np.sum(ad.checkpoint_loop(lambda y: np.sin(theta * y), x, 9, snapshots=3))

    theta = RNG.uniform(1, 2, 3)
    np.testing.assert_allclose(reverse(looped)(theta), reverse(plain)(theta), rtol=1e-13)
    np.testing.assert_allclose(
        ad.jacobian(reverse(looped), mode="reverse")(theta), ad.hessian(plain)(theta), rtol=1e-11
    )
    np.testing.assert_allclose(
        reverse(only_captured)(theta), ad.grad(only_captured, mode="forward")(theta), rtol=1e-13
    )


def test_a_checkpointed_function_has_the_derivatives_of_the_function():
    def f(a, b, power=2):
        return {"u": np.sin(a["x"]) * b**power, "v": [np.sum(b)]}

    def through(f):
        def g(x):
            out = f({"x": x}, x * 2, power=3)
            return np.sum(out["u"]) * out["v"][0]

        return g

    x = RNG.uniform(size=4)
    plain, checked = through(f), through(ad.checkpoint(f))
    assert checked(x) == plain(x)
    for transform in (
        reverse, ad.hessian, lambda f: ad.hessian(f, mode="reverse"),
        lambda f: ad.hessian(f, mode="hyperdual"),
    ):  # fmt: skip
        np.testing.assert_allclose(transform(checked)(x), transform(plain)(x), rtol=1e-12)
    got = ad.jacobian(ad.checkpoint(np.sin), mode="reverse")(x)
    np.testing.assert_allclose(got, np.diag(np.cos(x)))
    _, pullback = ad.vjp(checked, x)
    assert np.array_equal(pullback(1.0)[0], pullback(1.0)[0])


def test_a_checkpoint_inside_another_and_inside_an_inner_transform():
    inner = ad.checkpoint(lambda x: np.sin(x) * x)
    outer = ad.checkpoint(lambda x: inner(inner(x)) * x)
    x = 0.7

    def plain(x):
        y = np.sin(x) * x
        return np.sin(y) * y * x

    assert reverse(outer)(x) == pytest.approx(ad.derivative(plain)(x), rel=1e-13)
    for D in (ad.derivative, reverse):

        def f(x, D=D):
            return D(lambda y: outer(y * x))(0.3)

        def g(x):
            return ad.derivative(lambda y: plain(y * x))(0.3)

        assert reverse(f)(x) == pytest.approx(ad.derivative(g)(x), rel=1e-12)


def test_a_checkpoint_recomputes_instead_of_storing():
    def block(x):
        for _ in range(50):
            x = np.sin(x)
        return x

    def four(block):
        return reverse(lambda x: np.sum(block(block(block(block(x))))))

    x = np.linspace(0, 1, 20_000)
    assert peak_bytes(four(block), x) >= 200
    assert peak_bytes(four(ad.checkpoint(block)), x) <= 50 + 15


def test_a_checkpoint_that_gives_another_value_the_second_time_is_refused():
    c = np.array([2.0, 3.0])
    _, pullback = ad.vjp(ad.checkpoint(lambda x: np.sum(x * x * c)), np.ones(2))
    c[0] = 5.0
    with pytest.raises(RuntimeError, match="another value"):
        pullback(1.0)
    rng = np.random.default_rng(0)
    with pytest.raises(RuntimeError, match="another value"):
        reverse(ad.checkpoint(lambda x: x * rng.uniform()))(1.0)
    with pytest.raises(RuntimeError, match="another value"):
        reverse(lambda x: ad.checkpoint_loop(lambda y: y * rng.uniform(), x, 9, snapshots=2))(1.0)


def test_a_step_may_write_to_its_state():
    def step(x):
        x[0] = x[0] * x[1]
        x *= 1.1
        return x

    x = np.array([0.5, 0.9, 0.3])
    before = x.copy()

    def plain(x):
        y = x.copy()
        for _ in range(6):
            y = step(y)
        return np.sum(y)

    got = reverse(lambda x: np.sum(ad.checkpoint_loop(step, x, 6, snapshots=2)))(x)
    np.testing.assert_allclose(got, reverse(plain)(x), rtol=1e-13)
    assert np.array_equal(x, before)


def test_what_a_loop_cannot_be():
    with pytest.raises(ValueError, match="snapshots"):
        ad.checkpoint_loop(np.sin, 1.0, 3, snapshots=0)
    with pytest.raises(ValueError, match="n is at least 0"):
        ad.checkpoint_loop(np.sin, 1.0, -1, snapshots=1)
    with pytest.raises(ValueError, match="structure"):
        reverse(lambda x: ad.checkpoint_loop(lambda y: [y, y], x, 2, snapshots=1)[0])(1.0)
    assert ad.checkpoint_loop(np.sin, 1.0, 0, snapshots=1) == 1.0
    assert reverse(lambda x: ad.checkpoint_loop(np.sin, x, 0, snapshots=1))(1.0) == 1.0
