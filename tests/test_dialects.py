"""The four dialects, and Julia's line, each as the chapter has it, and each one's edges."""

import numpy as np
import pytest

import dualad as ad


def f(a):
    """The chapter's function of control flow: linear, with a scale that depends on a."""
    b = a * 2
    while np.linalg.norm(b) < 1000:
        b = b * 2
    return b if b.sum() > 0 else 100 * b


POINTS = [0.37, -0.37, 1e-3, -812.0]


# ------------------------------------------------------------------------------- PyTorch


def test_pytorch_as_in_the_chapter():
    x = ad.Variable(np.arange(4.0))
    assert x.grad is None
    y = 2 * np.dot(x, x)
    assert y.primal == 28.0
    y.backward()
    assert np.array_equal(x.grad, [0.0, 4.0, 8.0, 12.0])
    assert np.all(x.grad == 4 * x)

    x.zero_grad()
    assert np.array_equal(x.grad, np.zeros(4))
    y = x.sum()
    y.backward()
    assert np.array_equal(x.grad, np.ones(4))

    x.zero_grad()
    y = x * x
    y.backward(gradient=np.ones(len(y)))
    assert np.array_equal(x.grad, [0.0, 2.0, 4.0, 6.0])

    x.zero_grad()
    y = x * x
    u = y.detach()
    z = u * x
    z.sum().backward()
    assert np.all(x.grad == u)
    x.zero_grad()
    y.sum().backward()
    assert np.all(x.grad == 2 * x)


@pytest.mark.parametrize("point", POINTS)
def test_pytorch_through_control_flow(point):
    a = ad.Variable(point)
    d = f(a)
    d.backward()
    assert a.grad == d / a


def test_gradients_accumulate_until_they_are_reset():
    x = ad.Variable(np.arange(3.0))
    for times in (1, 2, 3):
        (x * x).sum().backward()
        assert np.array_equal(x.grad, times * 2 * x.primal)
    before = x.grad
    x.zero_grad()
    assert np.array_equal(before, 6 * x.primal)
    assert np.array_equal(x.grad, np.zeros(3))


def test_a_second_backward_refuses_unless_the_graph_is_retained():
    x = ad.Variable(3.0)
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.backward()
    assert x.grad == 6.0
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad == 18.0


def test_a_second_backward_through_a_shared_part_refuses():
    x = ad.Variable(3.0)
    y = x * x
    z, w = np.sin(y), np.cos(y)
    z.backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        w.backward()


def test_backward_of_a_non_scalar_says_how_to_reduce_it():
    x = ad.Variable(np.ones((2, 3)))
    y = x * x
    with pytest.raises(ValueError, match=r"\(2, 3\).*gradient=.*sum\(\)"):
        y.backward()
    with pytest.raises(ValueError, match=r"\(3,\).*\(2, 3\)"):
        y.backward(gradient=np.ones(3))
    y.backward(gradient=np.full((2, 3), 2.0))  # the failed calls have consumed nothing
    assert np.array_equal(x.grad, np.full((2, 3), 4.0))


def test_backward_of_what_was_not_recorded_refuses():
    with pytest.raises(RuntimeError, match="recorded"):
        np.zeros_like(ad.Variable(np.ones(3))).backward(gradient=np.ones(3))


def test_a_result_has_no_gradient_of_its_own():
    x = ad.Variable(np.ones(3))
    y = x * x
    y.sum().backward()
    assert y.grad is None
    for method in (y.zero_grad, y.attach_grad):
        with pytest.raises(TypeError, match="result of a computation"):
            method()


def test_a_vector_argument_of_the_control_flow_needs_a_direction():
    a = ad.Variable(np.array([0.2, -0.1, 0.5]))
    d = f(a)
    with pytest.raises(ValueError, match="gradient"):
        d.backward()
    d.backward(gradient=np.ones(3))
    np.testing.assert_array_equal(a.grad, np.full(3, d.primal[0] / a.primal[0]))


def test_a_variable_keeps_its_own_copy_of_the_array():
    array = np.arange(3.0)
    x = ad.Variable(array)
    array[:] = 9
    assert np.array_equal(x.primal, [0.0, 1.0, 2.0])
    x = ad.Variable([1, 2, 3])
    assert x.dtype == np.float64


def test_backward_reaches_every_variable():
    x, w, b = ad.Variable(np.ones(3)), ad.Variable(np.ones((2, 3))), ad.Variable(0.5)
    loss = np.sum((w @ x + b) ** 2)
    loss.backward()
    np.testing.assert_array_equal(x.grad, np.full(3, 14.0))
    np.testing.assert_array_equal(w.grad, np.full((2, 3), 7.0))
    assert b.grad == 14.0
    assert type(b.grad) is float


def test_second_derivatives_by_a_variable_of_a_variable():
    x = ad.Variable(3.0)
    inner = ad.Variable(x)
    (inner**3).backward()
    assert inner.grad == 27.0
    inner.grad.backward()
    assert x.grad == 18.0


# --------------------------------------------------------------------------------- MXNet


def test_mxnet_as_in_the_chapter():
    x = ad.Variable(np.arange(4.0))
    x.attach_grad()
    assert np.array_equal(x.grad, np.zeros(4))
    with ad.record():
        y = 2 * np.dot(x, x)
    assert y == 28.0
    y.backward()
    assert np.array_equal(x.grad, [0.0, 4.0, 8.0, 12.0])
    assert np.all(x.grad == 4 * x)

    with ad.record():
        y = x.sum()
    y.backward()
    assert np.array_equal(x.grad, np.ones(4))  # overwritten

    with ad.record():
        y = x * x
    y.backward()  # that of sum(x * x)
    assert np.array_equal(x.grad, [0.0, 2.0, 4.0, 6.0])

    with ad.record():
        y = x * x
        u = y.detach()
        z = u * x
    z.backward()
    assert np.all(x.grad == u)
    y.backward()
    assert np.all(x.grad == 2 * x)


@pytest.mark.parametrize("point", POINTS)
def test_mxnet_through_control_flow(point):
    a = ad.Variable(point)
    a.attach_grad()
    with ad.record():
        d = f(a)
    d.backward()
    assert a.grad == d / a


def test_an_attached_variable_records_inside_record_only():
    x = ad.Variable(np.ones(3))
    x.attach_grad()
    assert type(x * x) is np.ndarray
    with ad.record():
        y = x * x
        with ad.no_grad():
            assert type(x * x) is np.ndarray
        with ad.record():
            pass
        assert isinstance(x * x, ad.Variable)
    assert type(x * x) is np.ndarray
    y.backward()
    assert np.array_equal(x.grad, [2.0, 2.0, 2.0])


def test_a_plain_variable_records_and_accumulates_inside_record_too():
    plain, attached = ad.Variable(2.0), ad.Variable(2.0)
    attached.attach_grad()
    for times in (1, 2):
        with ad.record():
            y = plain * attached
        y.backward()
        assert plain.grad == 2.0 * times
        assert attached.grad == 2.0


# ----------------------------------------------------------------------------------- JAX


def test_jax_as_in_the_chapter():
    x = np.arange(4.0)

    def y(x):
        return 2 * np.dot(x, x)

    assert y(x) == 28.0
    x_grad = ad.grad(y)(x)
    assert np.array_equal(x_grad, [0.0, 4.0, 8.0, 12.0])
    assert np.all(x_grad == 4 * x)
    assert np.array_equal(ad.grad(lambda x: x.sum())(x), np.ones(4))

    def y(x):
        return x * x

    assert np.array_equal(ad.grad(lambda x: y(x).sum())(x), [0.0, 2.0, 4.0, 6.0])
    u = ad.stop_gradient(y(x))
    assert np.all(ad.grad(lambda x: (u * x).sum())(x) == y(x))
    assert np.all(ad.grad(lambda x: (ad.stop_gradient(y(x)) * x).sum())(x) == y(x))
    assert np.all(ad.grad(lambda x: y(x).sum())(x) == 2 * x)


@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
@pytest.mark.parametrize("point", POINTS)
def test_jax_through_control_flow(point, mode):
    assert ad.grad(f, mode=mode)(point) == f(np.float64(point)) / point


@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
def test_the_gradient_of_a_non_scalar_is_refused(mode):
    for x in (np.array([1.0, 2.0, 3.0]), np.array([2.0])):
        with pytest.raises(TypeError, match=rf"\({len(x)},\).*jacobian"):
            ad.grad(lambda x: x * x, mode=mode)(x)


# ---------------------------------------------------------------------------- TensorFlow


def test_tensorflow_as_in_the_chapter():
    x = ad.Variable(np.arange(4.0))
    with ad.Tape() as t:
        y = 2 * np.tensordot(x, x, axes=1)
    assert y.primal == 28.0
    x_grad = t.gradient(y, x)
    assert np.array_equal(x_grad, [0.0, 4.0, 8.0, 12.0])
    assert np.all(x_grad == 4 * x)

    with ad.Tape() as t:
        y = np.sum(x)
    assert np.array_equal(t.gradient(y, x), np.ones(4))

    with ad.Tape() as t:
        y = x * x
    assert np.array_equal(t.gradient(y, x), [0.0, 2.0, 4.0, 6.0])

    with ad.Tape(persistent=True) as t:
        y = x * x
        u = ad.stop_gradient(y)
        z = u * x
    assert np.all(t.gradient(z, x) == u)
    assert np.all(t.gradient(y, x) == 2 * x)
    assert x.grad is None


@pytest.mark.parametrize("point", POINTS)
def test_tensorflow_through_control_flow(point):
    a = ad.Variable(point)
    with ad.Tape() as t:
        d = f(a)
    assert t.gradient(d, a) == d / a


def test_watch_gives_the_variable_to_compute_with():
    with ad.Tape(persistent=True) as tape:
        x = tape.watch(np.arange(3.0))
        made_inside = ad.Variable(2.0)
        y = np.sum(x * x) * made_inside
        assert tape.watch(x) is x
    assert np.array_equal(tape.gradient(y, x), [0.0, 4.0, 8.0])
    assert tape.gradient(y, made_inside) == 5.0
    both = tape.gradient(y, {"x": x, "m": [made_inside]})
    assert np.array_equal(both["x"], [0.0, 4.0, 8.0])
    assert both["m"] == [5.0]


def test_a_second_gradient_refuses_unless_the_tape_is_persistent():
    with ad.Tape() as tape:
        x = tape.watch(3.0)
        y = x * x
    assert tape.gradient(y, x) == 6.0
    for again in (tape.gradient, tape.jacobian):
        with pytest.raises(RuntimeError, match="persistent"):
            again(y, x)


def test_what_is_not_connected_is_none():
    with ad.Tape(persistent=True) as tape:
        x, w = tape.watch(3.0), tape.watch(np.ones(2))
        y = x * x
    assert tape.gradient(y, w) is None
    assert tape.jacobian(y, w) is None
    assert tape.gradient(5.0, x) is None
    assert tape.gradient(ad.stop_gradient(y), x) is None
    assert tape.gradient(y, [x, w]) == [6.0, None]
    with pytest.raises(TypeError, match="watch"):
        tape.gradient(y, 3.0)


def test_what_was_computed_outside_the_block_is_not_on_the_tape():
    x = ad.Variable(3.0)
    before = x * x
    with ad.Tape(persistent=True) as tape:
        y = before * x
    after = y * x
    assert tape.gradient(y, x) == 9.0
    assert tape.gradient(y, before) == 3.0
    assert tape.gradient(after, x) is None


def test_gradients_of_intermediate_results():
    with ad.Tape(persistent=True) as tape:
        x = tape.watch(np.array([1.0, 2.0]))
        y = x * x
        z = np.sum(np.sin(y))
    assert np.array_equal(tape.gradient(z, y), np.cos(y.primal))
    assert np.array_equal(tape.gradient(z, z), 1.0)
    np.testing.assert_allclose(tape.gradient(z, x), np.cos(y.primal) * 2 * x.primal)


def test_the_jacobian_of_a_tape():
    with ad.Tape(persistent=True) as tape:
        x, s = tape.watch(np.array([1.0, 2.0])), tape.watch(3.0)
        y = np.stack([x[0] * x[1], x[0] * s, s * s])
        z = np.sum(y)
    assert np.array_equal(tape.jacobian(y, x), [[2.0, 1.0], [3.0, 0.0], [0.0, 0.0]])
    assert np.array_equal(tape.jacobian(y, s), [0.0, 1.0, 6.0])
    assert np.array_equal(tape.jacobian(z, x), [5.0, 1.0])
    assert tape.jacobian(z, s) == 7.0


def test_several_targets_are_summed():
    with ad.Tape() as tape:
        x = tape.watch(3.0)
        y, z = x * x, np.sin(x)
    assert tape.gradient([y, {"z": z}, y], x) == pytest.approx(12.0 + np.cos(3.0))


def test_tapes_nest_for_second_derivatives():
    with ad.Tape() as outer:
        x = outer.watch(3.0)
        with ad.Tape() as inner:
            x1 = inner.watch(x)
            y = x1**3
        slope = inner.gradient(y, x1)
    assert slope.primal == 27.0
    assert outer.gradient(slope, x) == 18.0

    with ad.Tape() as outer:
        x = ad.Variable(np.array([1.0, 2.0]))
        with ad.Tape() as inner:
            x1 = inner.watch(x)
            y = np.sum(x1**3)
        slope = inner.gradient(y, x1)
    assert np.array_equal(outer.jacobian(slope, x), [[6.0, 0.0], [0.0, 12.0]])


def test_an_inner_gradient_that_the_outer_tape_would_miss_is_refused():
    x = ad.Variable(3.0)
    with ad.Tape(), ad.Tape() as inner:
        y = x**3
        with pytest.raises(RuntimeError, match=r"inner\.watch"):
            inner.gradient(y, x)
    assert inner.gradient(y, x) == 27.0


def test_an_attached_variable_is_recorded_by_a_tape():
    x = ad.Variable(np.array([1.0, 2.0]))
    x.attach_grad()
    with ad.Tape() as tape:
        y = x * x
    assert np.array_equal(tape.gradient(y, x), [2.0, 4.0])
    assert np.array_equal(x.grad, [0.0, 0.0])


# --------------------------------------------------------------------------------- Julia


def test_julia_forwarddiff():
    x = np.arange(4.0)
    assert ad.derivative(lambda t: t**3)(2.0) == 12.0
    for chunk in (1, 2, 3, 4, 9):
        j = ad.jacobian(lambda x: x * x, mode="forward", chunk=chunk)(x)
        assert np.array_equal(j, np.diag(2 * x))
        h = ad.hessian(lambda x: np.sum(x**3), mode="hyperdual", chunk=chunk)(x)
        assert np.array_equal(h, np.diag(6 * x))
    assert np.array_equal(ad.grad(lambda x: np.sum(x * x), mode="forward")(x), 2 * x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_have_the_precision_of_the_variable(dtype):
    w = np.linspace(1, 2, 3)  # double precision, whatever x has
    x = ad.Variable(np.ones(3, dtype))
    np.sum(x * w).backward()
    assert x.grad.dtype == dtype
    with ad.Tape() as tape:
        y = x * w
    assert tape.gradient(y, x).dtype == dtype
    assert ad.grad(lambda x: np.sum(x * w), mode="reverse")(np.ones(3, dtype)).dtype == dtype


def test_backward_of_a_complex_output_needs_a_direction():
    x = ad.Variable(np.array([1 + 2j]))
    y = np.sum(x * x)
    with pytest.raises(TypeError, match="complex"):
        y.backward()
    np.abs(y).backward()
    assert x.grad.dtype == np.complex128
