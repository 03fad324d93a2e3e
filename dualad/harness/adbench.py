"""The objectives of ADBench as its code has them, and the reader of its data files.

"As its code has them" matters: the mixture's prior enters with a plus sign, which others
have corrected since, and the published numbers depend on it.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from dualad.harness.functions import Array, Function


def gmm(theta: Array, x: Array, components: int, gamma: float, m: int) -> Array:
    """Log-likelihood of a Gaussian mixture and its Wishart prior.

    ``theta`` holds the logits α, the means μ, and for each component the logarithms q of
    the diagonal of its lower triangular matrix with, column by column, what is below.
    """
    n, d = x.shape
    k, below = components, d * (d - 1) // 2
    alpha, mu = theta[:k], theta[k : k + k * d].reshape(k, d)
    q_l = theta[k + k * d :].reshape(k, d + below)
    q, lower = q_l[:, :d], q_l[:, d:]

    # The matrices are gathered from [exp q, lower, 0]: the last column is their upper half.
    place = np.full((d, d), d + below)
    place[np.diag_indices(d)] = np.arange(d)
    columns, rows = np.triu_indices(d, 1)
    place[rows, columns] = d + np.arange(below)
    diagonal = np.exp(q)
    matrices = np.concatenate([diagonal, lower, np.zeros((k, 1))], axis=1)[:, place]

    z = np.einsum("kij,nkj->nki", matrices, x[:, None, :] - mu)
    terms = alpha + np.sum(q, axis=1) - 0.5 * np.sum(z**2, axis=2)
    likelihood = np.sum(_log_sum_exp(terms)) - n * _log_sum_exp(alpha)

    nu = d + m + 1
    log_gamma = d * (d - 1) / 4 * math.log(math.pi)
    log_gamma += sum(math.lgamma((nu - j) / 2) for j in range(d))
    norm = nu * d * (math.log(gamma) - 0.5 * math.log(2)) - log_gamma
    squares = np.sum(diagonal**2) + np.sum(lower**2)
    prior = 0.5 * gamma**2 * squares - m * np.sum(q) - k * norm
    return -n * d / 2 * math.log(2 * math.pi) + likelihood + prior


def _log_sum_exp(x: Array) -> Array:
    top = np.max(x, axis=-1, keepdims=True)
    return np.log(np.sum(np.exp(x - top), axis=-1)) + top[..., 0]


def bundle(p: Array, feature: Array) -> Array:
    """Residuals of bundle adjustment: three for each observation of a point by a camera.

    The last axis of p holds a camera (rotation 3, centre 3, focal length, principal point
    2, radial distortion 2), a point (3) and the weight of the observation.
    """
    rotation, centre, focal = p[..., 0:3], p[..., 3:6], p[..., 6:7]
    principal, radial = p[..., 7:9], p[..., 9:11]
    point, weight = p[..., 11:14], p[..., 14:15]
    seen = _rotate(rotation, point - centre)
    flat = seen[..., :2] / seen[..., 2:]
    square = np.sum(flat**2, axis=-1, keepdims=True)
    distorted = flat * (1 + radial[..., :1] * square + radial[..., 1:] * square**2)
    error = weight * (distorted * focal + principal - feature)
    return np.concatenate([error, 1 - weight**2], axis=-1)


def _rotate(rotation: Array, x: Array) -> Array:
    """X turned about the axis ``rotation`` by its length, after Rodrigues."""
    square = np.sum(rotation**2, axis=-1, keepdims=True)
    turns = square != 0
    angle = np.sqrt(np.where(turns, square, 1.0))
    axis = rotation / angle
    along = np.sum(axis * x, axis=-1, keepdims=True)
    cos, sin = np.cos(angle), np.sin(angle)
    turned = x * cos + _cross(axis, x) * sin + axis * along * (1 - cos)
    return np.where(turns, turned, x + _cross(rotation, x))


def _cross(a: Array, b: Array) -> Array:
    # Half the time of np.cross, which looks at many cases.
    after, before = [1, 2, 0], [2, 0, 1]
    return a[..., after] * b[..., before] - a[..., before] * b[..., after]


def lstm(theta: Array, state: Array, sequence: Array) -> Array:
    """The loss of an LSTM with diagonal weights that predicts each next character.

    ``theta`` holds two rows a layer (weights and biases of the forget, input, output and
    change gates) and three rows that scale the input and scale and shift the prediction;
    ``state`` two rows a layer, hidden and cell.
    """
    width = sequence.shape[1]
    depth = len(state) // 2
    gates = theta[: 8 * depth * width].reshape(depth, 2, 4 * width)
    scale_in, scale_out, shift = theta[8 * depth * width :].reshape(3, width)
    hidden, cell = list(state[0::2]), list(state[1::2])
    total = 0.0
    for x, wanted in pairwise(sequence):
        x = x * scale_in
        for layer in range(depth):
            h = hidden[layer]
            z = np.concatenate([x, h, x, h]) * gates[layer, 0] + gates[layer, 1]
            forget, take, give = (1 / (1 + np.exp(-z[: 3 * width]))).reshape(3, width)
            cell[layer] = cell[layer] * forget + take * np.tanh(z[3 * width :])
            x = hidden[layer] = give * np.tanh(cell[layer])
        guess = x * scale_out + shift
        total = total + np.sum(wanted * (guess - np.log(2 + np.sum(np.exp(guess)))))
    return -total / (width * (len(sequence) - 1))


def read_gmm(path: str | Path) -> tuple[Function, tuple[Array]]:
    """The mixture of a data file of ADBench, as ``Problem.make`` gives it."""
    (d, k, n), numbers = _read(path, 3)
    theta, x, (gamma, m) = np.split(numbers, [k * (1 + d + d * (d + 1) // 2), numbers.size - 2])
    return partial(gmm, x=x.reshape(n, d), components=k, gamma=float(gamma), m=int(m)), (theta,)


def read_bundle(path: str | Path) -> tuple[Function, tuple[Array]]:
    """The bundle adjustment of a data file of ADBench, whose observations are all alike."""
    (_, _, observations), numbers = _read(path, 3)
    p, feature = np.split(numbers, [15])
    f = partial(bundle, feature=np.tile(feature, (observations, 1)))
    return f, (np.tile(p, (observations, 1)),)


def read_lstm(path: str | Path) -> tuple[Function, tuple[Array]]:
    """The LSTM of a data file of ADBench."""
    (depth, characters, width), numbers = _read(path, 3)
    theta, state, sequence = np.split(
        numbers, [8 * depth * width + 3 * width, 10 * depth * width + 3 * width]
    )
    f = partial(
        lstm,
        state=state.reshape(2 * depth, width),
        sequence=sequence.reshape(characters, width),
    )
    return f, (theta,)


def _read(path: str | Path, sizes: int) -> tuple[list[int], Array]:
    words = Path(path).read_text("ascii").split()
    return [int(word) for word in words[:sizes]], np.array(words[sizes:], dtype=float)
