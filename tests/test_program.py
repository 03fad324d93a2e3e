"""A traced program is the function: same values, same branches, and the graph that it ran along."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dualad as ad
from dualad.primitive import Elementwise, Linear, Multilinear, Primitive, Selection
from dualad.program import GuardError, Program, trace
from dualad.tree import flatten


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


def assigned(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i] * x[(i + 1) % len(x)]
    y[1:] += x[:-1]
    return np.sum(y * y)


POINT = np.array([0.5, 1.25, 2.0, 0.75])
FUNCTIONS = {
    "chapter": (chapter, 2.0),
    "derivative": (ad.derivative(chapter), 2.0),
    "second derivative": (ad.derivative(chapter, order=2), 2.0),
    "third derivative": (ad.derivative(chapter, order=3), 2.0),
    "reverse": (ad.grad(chapter, mode="reverse"), 2.0),
    "gradient": (ad.grad(rosenbrock), POINT),
    "hessian": (ad.hessian(rosenbrock), POINT),
    "hessian by hyper-duals": (ad.hessian(rosenbrock, mode="hyperdual"), POINT),
    "hessian reverse over reverse": (ad.hessian(rosenbrock, mode="reverse"), POINT),
    "jacobian forward": (ad.jacobian(lambda x: np.outer(x, x), mode="forward"), POINT),
    "jacobian reverse": (ad.jacobian(lambda x: x[::2] * x[1], mode="reverse"), POINT),
    "assignment": (ad.grad(assigned), POINT),
    "max": (ad.grad(np.max), POINT),
    "sort": (ad.jacobian(np.sort), POINT),
    "argmax as an index": (ad.grad(lambda x: x[np.argmax(x)] ** 2), POINT),
    "mask": (ad.grad(lambda x: np.sum(x[x > 1] ** 3)), POINT),
    "where": (ad.grad(lambda x: np.sum(np.where(x > 1, x * x, np.sin(x)))), POINT),
    "solve": (ad.grad(lambda x: np.sum(np.linalg.solve(np.diag(x) + 1.0, x))), POINT),
    "norm": (ad.grad(np.linalg.norm), POINT),
    "control flow": (ad.derivative(doubling), -0.5),
    "jvp": (lambda x: ad.jvp(np.tanh, (x,), (np.ones_like(x),)), POINT),
    "vjp": (lambda x: ad.vjp(np.tanh, x)[1](np.ones(4)), POINT),
    "hvp": (lambda x: ad.hvp(rosenbrock, x, x), POINT),
    "structure": (lambda x: {"a": [x, x * 2], "b": (3.0, np.sum(x))}, POINT),
}


def assert_same(got, expected, rtol=1e-13):
    """The same structure, types and values."""
    a, _ = flatten(got)
    b, _ = flatten(expected)
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert np.shape(x) == np.shape(y)
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=rtol, atol=1e-13)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_program_gives_what_the_function_gives(name):
    f, x = FUNCTIONS[name]
    program = trace(f)(x)
    assert isinstance(program, Program)
    assert program.operations
    assert_same(program(x), f(x))
    assert_same(program(x * 1.01), f(x * 1.01))  # no branch is taken otherwise so near


@pytest.mark.parametrize(
    "name", ["chapter", "derivative", "second derivative", "third derivative", "reverse"]
)
def test_source_is_numpy_source(name):
    f, x = FUNCTIONS[name]
    program = trace(f)(x)
    namespace = {"np": np}
    exec(program.source, namespace)
    assert_same(namespace[program.name](x), f(x))


def test_each_branch_on_a_traced_value_is_a_guard():
    program = trace(doubling)(0.5)
    assert len(program.guards) == 12  # 0.5 doubled eleven times, asked twelve times; and b > 0
    assert program(0.5) == doubling(0.5)
    with pytest.raises(GuardError, match="branch"):
        program(-0.5)
    assert not trace(rosenbrock)(POINT).guards


def test_int_of_a_traced_value_is_a_guard():
    program = trace(lambda x: x ** int(x))(3.5)
    assert program(3.25) == 3.25**3
    with pytest.raises(GuardError):
        program(4.5)


def test_inputs_are_named_as_the_parameters():
    program = trace(lambda alpha, beta: alpha * np.sum(beta))(2.0, POINT)
    assert [op.name for op in program.inputs] == ["alpha", "beta"]


def test_what_no_output_needs_is_left_out():
    program = trace(lambda x: (np.exp(x), x * x)[1])(2.0)
    assert [op.label for op in program.operations] == ["multiply"]


def test_a_program_keeps_nothing_of_its_arguments():
    x = POINT.copy()
    program = trace(lambda x: x * 2)(x)
    x[:] = 0
    assert_same(program(POINT), POINT * 2)
    result = program(POINT)
    result[:] = 7
    assert_same(program(POINT), POINT * 2)


def test_another_shape_is_refused():
    with pytest.raises(ValueError, match="shape"):
        trace(rosenbrock)(POINT)(np.ones(3))


def test_a_tracer_is_refused_outside():
    kept = []
    trace(lambda x: kept.append(x) or x * 2)(2.0)
    with pytest.raises(ad.LevelError):
        kept[0] * 2


def test_float_of_a_tracer_says_what_to_write():
    with pytest.raises(TypeError, match=r"np\.sin"):
        trace(lambda x: math.sin(x))(2.0)


def test_the_graph_has_values_and_local_partials():
    graph = trace(chapter)(2.0).graph()
    value = {node.name: node.value for node in graph.nodes}
    (output,) = graph.outputs
    assert value[output] == chapter(2.0)
    adjoint = dict.fromkeys(value, 0.0)
    adjoint[output] = 1.0
    for edge in reversed(graph.edges):  # the sweep, over the picture
        adjoint[edge.source] += adjoint[edge.target] * edge.partial
    assert adjoint["x"] == pytest.approx(ad.derivative(chapter)(2.0), rel=1e-14)


def test_the_graph_is_drawn(tmp_path):
    from dualad.graph import draw, layers

    program = trace(chapter)(2.0)
    for suffix in ("svg", "png"):
        assert draw(program, tmp_path / f"graph.{suffix}").stat().st_size > 1000
    depth = layers(program.graph())
    assert all(depth[e.source] < depth[e.target] for e in program.graph().edges)


def rows_with_samples():
    for name, row in Primitive.table.items():
        if isinstance(row, (Linear, Multilinear, Selection)):
            for j, (shapes, params) in enumerate(row.samples):
                yield pytest.param(row, shapes, params, id=f"{name}-{j}")


@pytest.mark.parametrize(("row", "shapes", "params"), list(rows_with_samples()))
def test_every_structural_row_is_recorded(row, shapes, params):
    rng = np.random.default_rng(0)
    args = [rng.uniform(0.5, 2.0, s) if s else 1.5 for s in shapes]
    program = trace(lambda *xs: row(*xs, **params))(*args)
    assert_same(program(*args), row.evaluate(*args, **params))


@pytest.mark.parametrize(
    "row", [r for r in Primitive.table.values() if isinstance(r, Elementwise)], ids=lambda r: r.name
)
def test_every_elementwise_row_is_recorded(row):
    args = [
        float((low + high) / 2 + 0.25) if isinstance(low, float) else int(low) + 1
        for low, high in row.domain
    ]
    program = trace(lambda *xs: row(*xs))(*args)
    assert_same(program(*args), row.evaluate(*args))
