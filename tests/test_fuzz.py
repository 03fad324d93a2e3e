"""Random programs: in every mode, and against differences, the same derivatives.

A program is a list of steps, each of which takes values computed before and appends one: a
row of the table, a broadcast, an index, an assignment, a branch, a product, a choice.  The
derivatives of its result along a line are asked for in every way that ``ad.check`` knows.

``DUALAD_FUZZ=5000 pytest tests/test_fuzz.py`` tries that many programs instead of a few.
"""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dualad as ad
from dualad.primitive import Elementwise, Primitive

EXAMPLES = int(os.environ.get("DUALAD_FUZZ", "25"))


# ------------------------------------------------------------------------------ the steps

STEPS = []


def step(f):
    STEPS.append(f)
    return f


def into(v, interval):
    """v, brought smoothly into the inner part of an interval."""
    low, high = max(interval[0], -2.5), min(interval[1], 2.5)
    middle, width = (low + high) / 2, 0.4 * (high - low)
    return middle + width * np.sin(v)


def pick(values, rng, ndim=None):
    """One of the values, the later the likelier; of that many axes, if there is one."""
    fitting = [v for v in values if ndim is None or np.ndim(v) == ndim] or [values[0]]
    return fitting[min(int(rng.triangular(0, len(fitting), len(fitting))), len(fitting) - 1)]


def like(v, rng):
    """A constant in the shape of v."""
    return rng.uniform(-1, 1, np.shape(v))


ROWS = [
    row
    for name, row in sorted(Primitive.table.items())
    if isinstance(row, Elementwise)
    and not any(isinstance(end, int) for interval in row.domain for end in interval)
    and (len(row.domain) == 1 or not name.startswith("special."))
    and len(row.domain) <= 2
]


@step
def a_row(values, rng):
    row = ROWS[rng.integers(len(ROWS))]
    args = [into(pick(values, rng), interval) for interval in row.domain]
    if len(args) == 2:
        if rng.uniform() < 0.3:  # a constant operand, of either kind
            i = rng.integers(2)
            args[i] = into(float(rng.uniform(-1, 1)), row.domain[i])
            if rng.uniform() < 0.5:
                args[i] = np.full(3, args[i])
        args = together(args)
    return row(*args)


def together(args):
    """Two operands whose shapes broadcast; where they do not, one is summed up first."""
    a, b = args
    try:
        np.broadcast_shapes(np.shape(a), np.shape(b))
    except ValueError:
        b = np.sum(b) / np.size(b)
    return [a, b]


step(a_row)  # twice as likely as the others


@step
def arithmetic(values, rng):
    a, b = together([pick(values, rng), pick(values, rng)])
    k = rng.integers(9)
    if k == 0:
        return a + b
    if k == 1:
        return a - b
    if k == 2:
        return a * b
    if k == 3:
        return a / (2.5 + b * b)
    if k == 4:
        return (1.5 + a * a) ** b
    if k == 5:
        return 2 - a
    if k == 6:
        return a ** int(rng.integers(0, 4))
    if k == 7:
        return 1.5 / (2 + a**2)
    return -a + 0.5


@step
def a_broadcast(values, rng):
    v = pick(values, rng)
    k = rng.integers(4)
    if k == 0:
        return np.broadcast_to(v, (2, *np.shape(v))) if np.ndim(v) < 3 else v
    if k == 1:
        return v[..., None] * np.linspace(-1, 1, 2) if 0 < np.ndim(v) < 3 else v
    if k == 2:
        return v + np.ones((2, 1)) if np.ndim(v) == 1 else v
    return v - np.mean(v, axis=-1, keepdims=True) if np.ndim(v) else v


@step
def a_reduction(values, rng):
    v = pick(values, rng)
    if not np.ndim(v):
        return v
    axis = [None, -1, 0, tuple(range(np.ndim(v)))][rng.integers(4)]
    keep = bool(rng.integers(2))
    reduce = [np.sum, np.mean, np.max, np.min, np.prod, np.var][rng.integers(6)]
    return reduce(v, axis=axis, keepdims=keep)


@step
def a_rearrangement(values, rng):
    v = pick(values, rng)
    if not np.ndim(v):
        return np.stack([v, 2 * v])
    k = rng.integers(7)
    if k == 0:
        return np.reshape(v, (-1,))
    if k == 1:
        return v.T
    if k == 2:
        return np.concatenate([v, v[:1] * 2.0])
    if k == 3:
        return np.cumsum(v, axis=int(rng.integers(np.ndim(v))))
    if k == 4:
        return np.stack([v, v * v], axis=-1) if np.ndim(v) < 3 else v
    if k == 5:
        return np.ravel(v)[::-1]
    return np.expand_dims(v, 0) if np.ndim(v) < 3 else v[0]


@step
def an_index(values, rng):
    v = pick(values, rng)
    if not np.ndim(v):
        return v
    n = np.shape(v)[0]
    k = rng.integers(6)
    if k == 0:
        return v[int(rng.integers(n))]
    if k == 1:
        return v[:: int(rng.choice([-1, 1, 2]))]
    if k == 2:
        return v[rng.integers(n, size=4)]  # entries repeat
    if k == 3:
        mask = np.arange(n) % 2 == 0
        return v[mask]
    if k == 4:
        return v[..., -1]
    return np.take(v, rng.integers(n, size=(2, 2)), axis=0) if np.ndim(v) < 3 else v


@step
def a_choice(values, rng):
    v = pick(values, rng)
    k = rng.integers(5)
    if k == 0:
        return np.where(like(v, rng) > 0, v, np.sin(v))
    if k == 1:
        return np.where(v > 0.3, v * v, 0.09 + 0.6 * (v - 0.3))
    if k == 2:
        return np.sort(v, axis=-1) if np.ndim(v) else v
    if k == 3:
        return np.maximum(v, 0.1234 + 0 * np.mean(v))
    return np.clip(v, -0.789, 0.654)


@step
def a_branch(values, rng):
    v = pick(values, rng)
    if np.sum(v) > 0.111:
        return v * 1.5
    for _ in range(int(rng.integers(1, 4))):
        v = v + 0.25 * np.cos(v)
    return v


@step
def an_assignment(values, rng):
    v, w = pick(values, rng), pick(values, rng)
    if not np.ndim(v):
        return v * 1.0
    scalar = np.sum(w) / np.size(w)
    n = np.shape(v)[0]
    k = rng.integers(8)
    if k == 0:
        y = np.zeros_like(v)
        y[0] = v[-1]
        y[-1] = y[-1] + scalar
        return y
    y = v.copy()
    if k == 1:
        y[int(rng.integers(n))] = scalar
    elif k == 2:
        y[:] = np.sin(y)
        y *= 0.5
    elif k == 3:
        y[..., 0] += scalar
    elif k == 4:
        y[0], y[-1] = y[-1] + 0.0, y[0] + 0.0
    elif k == 5:
        view = y[: (n + 1) // 2]
        view *= 2.0
        view[0] = view[0] + scalar
    elif k == 6:
        y[v > 0.2] = 0.5
    else:
        y = np.stack([v.ravel()[0], scalar, np.sum(v)])
    return y


@step
def a_product(values, rng):
    v = pick(values, rng)
    if not np.ndim(v):
        return v * v
    n = np.shape(v)[-1]
    a = rng.uniform(-1, 1, (n, 3))
    k = rng.integers(6)
    if k == 0:
        return v @ a
    if k == 1:
        return np.einsum("...i,ij->...j", v, a)
    if k == 2:
        return np.tensordot(v, v, axes=(-1, -1)) if np.ndim(v) == 1 else v
    if k == 3:
        return np.outer(v, v) if np.size(v) <= 6 else v
    if k == 4:
        return np.matmul(np.swapaxes(v, -1, -2), v) if np.ndim(v) >= 2 else np.dot(v, v)
    return np.dot(a.T, np.ravel(v)[:n])


@step
def linear_algebra(values, rng):
    v = pick(values, rng)
    flat = np.ravel(v) if np.ndim(v) else np.stack([v, v])
    flat = np.concatenate([flat, flat, flat, flat])[:4]
    a = 3 * np.eye(2) + np.reshape(np.sin(flat), (2, 2))
    k = rng.integers(5)
    if k == 0:
        return np.linalg.solve(a, flat[:2])
    if k == 1:
        return np.linalg.inv(a)
    if k == 2:
        return np.linalg.det(a) / 9
    if k == 3:
        return np.linalg.norm(a) / 4
    return np.linalg.slogdet(a)[1]


# ----------------------------------------------------------------------------- programs


def run(program, x):
    """The program's result at x: one number that depends on all its values."""
    values = [x]
    for which, seed in program:
        rng = np.random.default_rng(seed)
        y = STEPS[which](values, rng)
        if np.size(y) > 60:
            y = np.ravel(y)[:7]
        # Nothing grows, and a constant is a number too, so that it can be assigned into.
        values.append(np.arctan(y) + 0.0 * np.sum(x))
    total = 0.0
    for i, v in enumerate(values[1:]):
        weights = np.cos(i + np.arange(np.size(v))).reshape(np.shape(v))
        total = total + np.sum(weights * np.sin(v + 0.3))
    return total


steps = st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 2**32 - 1))
programs = st.lists(steps, min_size=5, max_size=30)
points = st.sampled_from([(3,), (2, 3), (1,), (2, 1), ()])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="DUALAD_FUZZ" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(program=programs, shape=points, seed=st.integers(0, 1000))
def test_every_way_to_a_derivative_of_a_random_program_agrees(program, shape, seed):
    x = np.random.default_rng(seed).uniform(-1, 1, shape)
    x = float(x) if shape == () else x
    before = np.copy(x)

    def f(x):
        return run(program, x)

    ad.check(f, x, rtol=1e-7)
    gradients = [ad.grad(f, mode=mode)(x) for mode in ("forward", "reverse")]
    np.testing.assert_allclose(*gradients, rtol=1e-7, atol=1e-9)
    if np.size(x) > 1:  # all directions at once, and a Hessian in each of its modes
        modes = ("hyperdual", "forward", "reverse")
        hessians = [ad.hessian(f, mode=mode)(x) for mode in modes]
        for other in hessians[1:]:
            np.testing.assert_allclose(other, hessians[0], rtol=1e-6, atol=1e-7)
    checkpointed = ad.grad(ad.checkpoint(f), mode="reverse")(x)
    np.testing.assert_allclose(checkpointed, gradients[1], rtol=1e-9, atol=1e-11)
    assert np.array_equal(x, before)
