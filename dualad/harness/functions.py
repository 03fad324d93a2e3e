"""The functions that the harness differentiates: plain NumPy, or plain Python over entries.

They are written as their authors or a user would write them, and know nothing of
differentiation, except that the last two are handed a gradient to take inside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = Any  # a number or an array, of any number system
Function = Callable[[Array], Array]
Gradient = Callable[[Function], Function]


# -------------------------------------------------------------- the Helmholtz energy


def helmholtz(x: Array, a: Array, b: Array) -> Array:
    """Helmholtz energy of a mixed fluid, in a dozen calls of NumPy, with R = T = 1."""
    root2 = math.sqrt(2)
    bx = b @ x
    mixing = np.log((1 + (1 + root2) * bx) / (1 + (1 - root2) * bx))
    return np.sum(x * np.log(x / (1 - bx))) - (x @ (a @ x)) / (2 * root2 * bx) * mixing


def helmholtz_scalar(x: Array, a: Sequence[Sequence[float]], b: Sequence[float]) -> Array:
    """The same energy, entry by entry: about n² products and sums."""
    root2 = math.sqrt(2)
    x = x.tolist()
    bx = 0.0
    for bi, xi in zip(b, x, strict=True):
        bx = bx + bi * xi
    ideal = xax = 0.0
    for row, xi in zip(a, x, strict=True):
        ideal = ideal + xi * np.log(xi / (1 - bx))
        for aij, xj in zip(row, x, strict=True):
            xax = xax + xi * aij * xj
    mixing = np.log((1 + (1 + root2) * bx) / (1 + (1 - root2) * bx))
    return ideal - xax / (2 * root2 * bx) * mixing


def helmholtz_adolc(x: Array, a: Array, b: Array, te: float = 0.01) -> Array:
    """The energy as ADOL-C times it, with no random data."""
    root2 = math.sqrt(2)
    bx = b @ x
    ideal = np.sum(x * np.log(x)) - te * np.log(1 - bx)
    mixing = np.log((1 + bx * (1 + root2)) / (1 + bx * (1 - root2)))
    return 1.3625e-3 * ideal - mixing * (x @ (a @ x)) / bx


# ------------------------------------------------------------ functions of a vector


def ackley(x: Array) -> Array:
    """Ackley's test function."""
    n = x.size
    spread = np.exp(-0.2 * np.sqrt(np.sum(x**2) / n))
    return -20 * spread - np.exp(np.sum(np.cos(2 * np.pi * x)) / n) + 20 + np.e


def rosenbrock(x: Array) -> Array:
    """Rosenbrock's valley, in n dimensions."""
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def weighted_logit(x: Array) -> Array:
    """A logistic function of x weighted by itself."""
    return 1 / (1 + np.exp(-(x @ x)))


def speelpenning(x: Array) -> Array:
    """The product of the entries, one after the other."""
    product = 1.0
    for entry in x.tolist():
        product = product * entry
    return product


def determinant(x: Array) -> Array:
    """The determinant of a matrix, by expansion along minors: about n! products."""

    def minor(rows: list[list[Array]]) -> Array:
        if not rows:
            return 1.0
        total, sign = 0.0, 1.0
        for k, entry in enumerate(rows[0]):
            total = total + sign * entry * minor([row[:k] + row[k + 1 :] for row in rows[1:]])
            sign = -sign
        return total

    return minor(x.tolist())


# ------------------------------------------------------------- functions of a number


def fike_alonso(x: Array) -> Array:
    """The function on which hyper-dual numbers were introduced."""
    return np.exp(x) / np.sqrt(np.sin(x) ** 3 + np.cos(x) ** 3)


def logistic(x: Array, iterates: int) -> Array:
    """The last of that many iterates of the logistic map, x being the first."""
    for _ in range(iterates - 1):
        x = 4 * x * (1 - x)
    return x


# ------------------------------------------------------------- layers, chains, loops


def layers(x: Array, inner: Array, outer: Array) -> Array:
    """Two layers of a network, with tanh between them."""
    return outer @ np.tanh(inner @ x)


def chain(x: Array, depth: int) -> Array:
    """The sum of sin(sin(...sin(x))): what a tape must remember grows with the depth."""
    for _ in range(depth):
        x = np.sin(x)
    return np.sum(x)


def ode(x: Array, steps: int) -> Array:
    """The last y at t = 2 of y₀' = x₀, yᵢ' = xᵢ yᵢ₋₁ from y = 0, by Runge-Kutta steps."""

    def slope(y: Array) -> Array:
        return np.concatenate([x[:1], x[1:] * y[:-1]])

    h = 2.0 / steps
    y = np.zeros(len(x))
    for _ in range(steps):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y[-1]


def network(weights: Array, features: Array, targets: Array, width: int) -> Array:
    """The mean squared error of a network with one hidden layer, in all of its weights."""
    entries = features.shape[1] * width
    first = weights[:entries].reshape(-1, width)
    bias, second = weights[entries : entries + width], weights[entries + width : -1]
    predicted = np.tanh(features @ first + bias) @ second + weights[-1]
    return np.mean((predicted - targets) ** 2)


# ------------------------------------------------------------ derivatives inside f


def argmin(f: Function, x: Array, gradient: Gradient) -> Array:
    """Where naive gradient descent from x ends: the solver of both nested problems."""
    slope_of = gradient(f)
    value, slope = f(x), slope_of(x)
    eta, accepted = 1e-5, 0
    while np.sqrt(slope @ slope) > 1e-5:
        if accepted == 10:
            eta, accepted = 2 * eta, 0
            continue
        step = eta * slope
        if np.sqrt(step @ step) <= 1e-5:
            break
        new = f(x - step)
        if new < value:
            x = x - step
            value, slope = new, slope_of(x)
            accepted += 1
        else:
            eta, accepted = eta / 2, 0
    return x


def saddle(outer: Gradient, inner: Gradient) -> Array:
    """The saddle point of (x₁² + x₂²) - (y₁² + y₂²), a minimum of maxima, both by descent."""
    start = np.array([1.0, 1.0])

    def argmax(x: Array, gradient: Gradient) -> Array:
        return argmin(lambda y: -(x @ x - y @ y), start, gradient)

    def highest(x: Array) -> Array:
        y = argmax(x, inner)
        return x @ x - y @ y

    x = argmin(highest, start, outer)
    return np.concatenate([x, argmax(x, outer)])


def particle(outer: Gradient, inner: Gradient) -> Array:
    """How far to move one of two charges so that a falling particle lands near 0."""
    return argmin(lambda w: landing(w[0], inner), np.array([0.0]), outer)


def landing(w: Array, gradient: Gradient) -> Array:
    """The square of where the particle meets the ground; the field is a gradient."""

    def potential(place: tuple[Array, Array]) -> Array:
        x, y = place
        far = np.sqrt((x - 10) ** 2 + (y - (10 - w)) ** 2)
        near = np.sqrt((x - 10) ** 2 + y**2)
        return 1 / far + 1 / near

    field = gradient(potential)
    x, y, u, v, dt = 0.0, 8.0, 0.75, 0.0, 0.1
    while y + dt * v > 0:
        force_x, force_y = field((x, y))
        x, y = x + dt * u, y + dt * v
        u, v = u - dt * force_x, v - dt * force_y
    return (x - y / v * u) ** 2
