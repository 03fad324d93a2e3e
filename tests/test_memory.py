"""Memory: what a record holds, for how long, and that it comes back without the collector."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import dualad as ad

N = 100_000


def wave(x):
    return np.sum(np.exp(np.sin(x)))


def reverse(f):
    return ad.grad(f, mode="reverse")


@pytest.fixture(autouse=True)
def without_the_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def peak(call):
    """Traced bytes at most, beyond those before, in a second call."""
    call()
    tracemalloc.start()
    call()
    top = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return top


def assigning(x):
    y = np.zeros_like(x)
    y[3:] = x[:-3]
    z = y[:100]
    z *= 2
    return np.sum(y * y)


def on_a_tape(x):
    with ad.Tape() as tape:
        v = tape.watch(x)
        y = wave(v)
    return tape.gradient(y, v)


def by_backward(x):
    v = ad.Variable(x)
    wave(v).backward()
    return v.grad


def recorded(x):
    v = ad.Variable(x)
    v.attach_grad()
    with ad.record():
        y = np.sin(v)
    y.backward()
    return v.grad


CALLS = {
    "grad": reverse(wave),
    "grad forward": lambda x: ad.grad(wave, mode="forward")(x[:40]),
    "grad of assignments": reverse(assigning),
    "grad of a gradient": reverse(lambda x: np.sum(reverse(wave)(x) ** 2)),
    "vjp": lambda x: ad.vjp(wave, x)[1](1.0),
    "jvp": lambda x: ad.jvp(wave, (x,), (x,)),
    "hvp": lambda x: ad.hvp(wave, x, x),
    "jacobian": lambda x: ad.jacobian(lambda x: np.sin(x)[:3], mode="reverse")(x),
    "hessian": lambda x: ad.hessian(wave)(x[:40]),
    "hessian hyperdual": lambda x: ad.hessian(wave, mode="hyperdual")(x[:40]),
    "tape": on_a_tape,
    "backward": by_backward,
    "record": recorded,
    "checkpoint": reverse(ad.checkpoint(wave)),
    "checkpoint_loop": reverse(lambda x: np.sum(ad.checkpoint_loop(np.sin, x, 9, snapshots=3))),
}


@pytest.mark.parametrize("call", CALLS)
def test_memory_is_back_as_soon_as_a_call_returns(call):
    x = np.linspace(0.5, 1.5, N)
    CALLS[call](x)
    gc.collect()
    tracemalloc.start()
    for _ in range(3):
        CALLS[call](x)
    left = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert left < 0.1 * x.nbytes
    assert gc.collect() == 0, "a reference cycle was left behind"


def test_two_hundred_gradients_take_the_memory_of_one():
    x = np.linspace(0.5, 1.5, N)
    f = reverse(wave)
    one = peak(lambda: f(x))
    assert peak(lambda: [f(x) is None for _ in range(200)]) < 1.5 * one


def test_an_intermediate_array_is_dead_when_the_call_has_returned():
    seen = []

    def f(x):
        y = np.sin(x)
        seen.extend([weakref.ref(y.primal), weakref.ref(y)])
        return np.sum(np.exp(y))

    reverse(f)(np.ones(1000))
    assert [r() for r in seen] == [None, None]


def test_a_record_lives_as_long_as_it_is_kept():
    seen = []

    def f(x):
        y = np.sin(x)
        z = np.exp(y)
        seen.append(weakref.ref(z.primal))  # kept as the partial of exp
        return np.sum(z * y)

    _, pullback = ad.vjp(f, np.ones(1000))
    assert seen[0]() is not None
    pullback(1.0)
    assert seen[0]() is not None
    del pullback
    assert seen[0]() is None


def test_a_dropped_result_frees_its_record_with_no_sweep():
    x = ad.Variable(np.ones(1000))
    y = np.exp(np.sin(x))
    seen = weakref.ref(y.primal)
    z = np.sum(y * y)
    del y
    assert seen() is not None
    del z
    assert seen() is None


def test_backward_frees_the_record_unless_it_is_retained():
    x = ad.Variable(np.ones(1000))
    y = np.sin(x)
    seen = weakref.ref(y.primal)
    z = np.sum(y * y)
    del y
    z.backward(retain_graph=True)
    assert seen() is not None
    z.backward()
    assert seen() is None


def test_an_exception_frees_the_record():
    seen = []

    def f(x):
        y = np.exp(x)
        seen.append(weakref.ref(y.primal))
        raise KeyError("stop")

    with pytest.raises(KeyError):
        reverse(f)(np.ones(1000))
    # The traceback held f's frame; pytest.raises has let go of it by now.
    assert seen[0]() is None


def test_the_callers_array_is_not_kept_alive():
    for call in CALLS.values():
        x = np.linspace(0.5, 1.5, N)
        base = weakref.ref(x)
        call(x)
        del x
        assert base() is None


# -------------------------------------------------------------------- how much is stored


def test_operations_that_need_no_value_store_none():
    x = np.ones((300, 300))

    def needless(x):
        for _ in range(100):
            x = x + 1
            x = 2 * x
            x = x - x / 2
            x = np.reshape(x.T, x.shape)
        return np.sum(x)

    f = reverse(needless)
    assert peak(lambda: f(x)) <= 8 * x.nbytes


DEPTH = 120
STEPS = {
    "sin": np.sin,
    "exp": lambda x: np.exp(-x),
    "square": lambda x: x * x,
    "sqrt": lambda x: np.sqrt(x),
    "tanh": np.tanh,
    "power": lambda x: x**3,
    "product with a constant": lambda x: x * CONSTANT,
}
CONSTANT = np.linspace(0.9, 1.1, N)


@pytest.mark.parametrize("step", STEPS)
def test_a_chain_stores_one_array_an_operation_in_reverse_and_none_forward(step):
    step = STEPS[step]

    def deep(x):
        for _ in range(DEPTH):
            x = step(x)
        return np.sum(x)

    x = np.linspace(0.5, 0.9, N)
    f = reverse(deep)
    assert peak(lambda: f(x)) <= 1.1 * DEPTH * x.nbytes
    assert peak(lambda: ad.jvp(deep, (x,), (x,))) <= 12 * x.nbytes


def test_a_deep_chain_peaks_at_a_tenth_more_than_what_it_stores():
    def deep(x):
        for _ in range(1000):
            x = np.sin(x)
        return np.sum(x)

    x = np.linspace(0.5, 0.9, 20_000)
    f = reverse(deep)
    assert peak(lambda: f(x)) <= 1.1 * 1000 * x.nbytes


def test_a_product_with_a_constant_stores_the_constant_once():
    def deep(x):
        for _ in range(100):
            x = x * CONSTANT
        return np.sum(x)

    x = np.linspace(0.5, 0.9, N)
    f = reverse(deep)
    assert peak(lambda: f(x)) <= 10 * x.nbytes


def test_a_constant_of_middle_size_is_not_copied_at_every_use():
    matrix = np.eye(150) * 0.99  # 180 kB: copied the first few times, then watched

    def deep(x):
        for _ in range(200):
            x = matrix @ x
        return np.sum(x)

    f = reverse(deep)
    x = np.ones(150)
    assert peak(lambda: f(x)) <= 10 * matrix.nbytes


def test_indexing_reads_no_more_than_it_takes():
    x = np.linspace(0.5, 0.9, N)

    def few(x):
        return sum(x[i] ** 2 for i in range(200))

    f = reverse(few)
    assert peak(lambda: f(x)) <= 4 * x.nbytes


def test_a_wide_and_a_tall_jacobian_keep_within_a_few_times_the_answer():
    wide = np.linspace(0.5, 1.5, 10_000)  # 1 output: one pullback
    assert peak(lambda: ad.jacobian(wave)(wide)) <= 20 * wide.nbytes
    a = np.random.default_rng(0).normal(size=(2048, 20))  # 20 inputs: 20 directions
    tall = np.linspace(0.5, 1.5, 20)
    assert peak(lambda: ad.jacobian(lambda x: np.sin(a @ x))(tall)) <= 6 * 2048 * 20 * 8
