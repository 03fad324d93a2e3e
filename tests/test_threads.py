"""Threads: each has its own levels, records and pauses, and all answers are exact."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dualad as ad

THREADS = 8


def together(work):
    """work(k) in eight threads that start at once; their answers, or the first exception."""
    barrier = threading.Barrier(THREADS)

    def run(k):
        barrier.wait()
        return work(k)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(1, THREADS + 1)))


def reverse(f):
    return ad.grad(f, mode="reverse")


def point(k, i):
    return np.linspace(0.1 * k, 1.0, 5 + k) + 0.01 * i


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_two_hundred_gradients_in_each_of_eight_threads(mode):
    def work(k):
        f = ad.grad(lambda x: np.sum(np.sin(k * x)), mode=mode)
        points = [point(k, i) for i in range(200)]
        return max(np.max(np.abs(f(x) - k * np.cos(k * x))) for x in points)

    assert max(together(work)) <= 1e-12


def test_nested_derivatives_do_not_see_each_other():
    def work(k):
        wrong = 0
        for i in range(50):
            x = 0.1 * k + 0.001 * i
            got = ad.derivative(lambda x: x * reverse(lambda y: x * y * y)(k))(x)
            wrong += abs(got - 4 * k * x) > 1e-12
            got = reverse(lambda x: x * ad.derivative(lambda y: np.sin(x + y))(0.0))(x)
            wrong += abs(got - (np.cos(x) - x * np.sin(x))) > 1e-12
        return wrong

    assert together(work) == [0] * THREADS


def test_every_dialect_in_its_own_thread():
    def work(k):
        for i in range(50):
            x = ad.Variable(point(k, i))
            np.sum(x**k).backward()
            want = k * x.primal ** (k - 1)
            np.testing.assert_allclose(x.grad, want, rtol=1e-12)
            y = ad.Variable(point(k, i))
            y.attach_grad()
            with ad.record():
                z = y**k
            z.backward()
            np.testing.assert_allclose(y.grad, want, rtol=1e-12)
            with ad.Tape() as tape:
                w = x**k
            np.testing.assert_allclose(tape.gradient(w, x), want, rtol=1e-12)
            np.testing.assert_allclose(ad.hvp(lambda x: np.sum(x**k), y.primal, y.primal),
                                       (k - 1) * k * y.primal ** (k - 1), rtol=1e-12)  # fmt: skip
        return True

    assert all(together(work))


def test_a_pause_in_one_thread_pauses_no_other():
    def work(k):
        x = ad.Variable(2.0)
        for _ in range(200):
            if k % 2:
                with ad.no_grad():
                    assert type(x * x) is float
            else:
                assert isinstance(x * x, ad.Variable)
                assert ad.derivative(lambda x: x**3)(2.0) == 12.0
        return True

    assert all(together(work))


def test_an_exception_in_one_thread_disturbs_no_other():
    def failing(x):
        raise KeyError("stop")

    def work(k):
        for i in range(100):
            if k % 2:
                with pytest.raises(KeyError):
                    ad.grad(failing, mode="reverse")(1.0)
            else:
                x = point(k, i)
                assert np.array_equal(ad.grad(lambda x: np.sum(x * x), mode="reverse")(x), 2 * x)
        return True

    assert all(together(work))


def test_a_number_of_another_threads_transform_is_refused():
    kept, ready, done = [], threading.Event(), threading.Event()

    def f(x):
        kept.append(x)
        ready.set()
        assert done.wait(10)
        return x

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(ad.derivative(f), 2.0)
        assert ready.wait(10)
        try:
            with pytest.raises(ad.LevelError, match="another thread"):
                ad.derivative(lambda x: x * kept[0])(3.0)
        finally:
            done.set()
        assert other.result() == 1.0


def test_a_pullback_may_be_called_from_another_thread():
    _, pullback = ad.vjp(ad.checkpoint(lambda x: np.sum(np.sin(x) * x)), point(1, 0))
    want = pullback(1.0)[0]
    for got in together(lambda k: [pullback(1.0)[0] for _ in range(20)]):
        for g in got:
            assert np.array_equal(g, want)


def test_the_first_use_of_a_row_is_safe():
    # Rows are bound to a system on first use: eight threads may be the first at once.
    for _ in range(20):
        f = ad.primitive(lambda x: x * x, partials=[lambda xp, y, x: 2 * x])
        slope = ad.grad(f, mode="reverse")
        assert together(lambda k, slope=slope: slope(float(k))) == [2.0 * k for k in range(1, 9)]
