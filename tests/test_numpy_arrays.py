"""NumPy's functions that make, move, join and pick entries: each call as users write it.

Every call is run on plain arrays and on numbers: values agree, slopes agree with differences of
the plain function, forward with reverse, k directions with one, hyper-dual with nested.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

CALLS = """
    np.atleast_1d(c)
    np.atleast_1d(c, x)
    np.atleast_2d(x)
    np.atleast_3d(A)
    np.atleast_3d(x)
    np.moveaxis(S, 0, -1)
    np.moveaxis(S, [0, 1], [-1, -2])
    np.rollaxis(S, 2)
    np.rollaxis(S, 0, 3)
    np.swapaxes(S, 0, -1)
    S.swapaxes(1, 2)
    np.transpose(S, (1, 0, 2))
    S.transpose(2, 0, 1)
    S.T
    S.mT
    V.T
    np.matrix_transpose(S)
    np.linalg.matrix_transpose(S)
    np.permute_dims(S, (2, 0, 1))
    np.reshape(A, (2, -1))
    np.reshape(A, (2, 6), order="F")
    A.reshape(4, 3)
    A.reshape(-1)
    V.reshape(-1)
    np.ravel(V)
    np.ravel(A, order="F")
    V.flatten()
    A.flatten("F")
    np.squeeze(A[:, None])
    np.squeeze(x[None, :, None], axis=-1)
    np.expand_dims(x, (0, 2))
    np.broadcast_to(x, (3, 4))
    np.broadcast_to(c, (2, 3))
    np.broadcast_arrays(x, A)
    np.broadcast_arrays(x, c)
    np.flip(A)
    np.flip(S, (0, -1))
    np.flipud(A)
    np.fliplr(A)
    x[::-1]
    np.rot90(A)
    np.rot90(A, 2)
    np.rot90(S, -1, axes=(1, 2))
    np.roll(x, 1)
    np.roll(A, -2, axis=1)
    np.roll(S, (1, 2), axis=(0, -1))
    np.repeat(x, 2)
    np.repeat(A, [1, 0, 3], axis=0)
    A.repeat(2, axis=-1)
    np.tile(x, 2)
    np.lib.stride_tricks.sliding_window_view(x, 2)
    np.lib.stride_tricks.sliding_window_view(A, (2, 2)).sum(axis=(-1, -2))
    np.tile(A, (2, 1))
    np.tile(c, 3)
    np.resize(x, (2, 3))
    np.resize(A, 5)
    np.tril(Q)
    np.tril(S, -1)
    np.triu(A, 1)
    np.tril(x)
    np.diag(x)
    np.diag(x, -1)
    np.diag(Q)
    np.diag(A, 1)
    np.diagonal(S, 0, 1, 2)
    A.diagonal(1)
    np.linalg.diagonal(S, offset=-1)
    np.diagflat(B, 1)
    np.trace(Q)
    np.trace(S, 1, -1, 0)
    Q.trace(offset=-1)
    np.linalg.trace(S)
    np.concatenate([x, y])
    np.concatenate([A, np.ones((2, 4))], axis=0)
    np.concatenate([A, B.T], axis=-1)
    np.concatenate([A, x], axis=None)
    np.concat([x, y, e])
    np.stack([x, y], axis=-1)
    np.stack([c, d])
    np.stack([A, B.T], axis=1)
    np.vstack([x, A])
    np.hstack([x, y, 1.0])
    np.hstack([A, B.T])
    np.dstack([x, y])
    np.dstack([A, B.T])
    np.column_stack([x, y, A.T])
    np.block([[Q, Q], [np.zeros((1, 3)), np.ones((1, 3))]])
    np.block([x, c])
    np.append(x, c)
    np.append(A, [[1.0, 2.0, 3.0, 4.0]], axis=0)
    np.insert(x, 1, c)
    np.insert(x, [1, 3], y[:2])
    np.insert(A, 2, x[:3], axis=1)
    np.insert(A, 1, 5.0, axis=0)
    np.delete(x, 1)
    np.delete(A, [0, 2], axis=1)
    np.delete(A, slice(0, 4, 2), axis=-1)
    np.split(x, 2)
    np.split(A, [1, 3], axis=1)
    np.split(x, [2, 2])
    np.array_split(x, 3)
    np.hsplit(A, 2)
    np.vsplit(A, 3)
    np.dsplit(S, 2)
    np.unstack(S, axis=1)
    np.pad(x, 2)
    np.pad(x, (1, 2), constant_values=c)
    np.pad(A, ((1, 0), (0, 2)), constant_values=((1.0, 2.0), (3.0, 4.0)))
    np.pad(A, 1, mode="edge")
    np.pad(x, 3, mode="reflect")
    np.pad(A, 2, mode="symmetric")
    np.pad(x, 3, mode="reflect", reflect_type="odd")
    np.pad(A, ((1, 0), (2, 5)), mode="symmetric", reflect_type="odd")
    np.pad(S, ((0, 0), (1, 1), (2, 0)), mode="wrap")
    np.pad(A, 2, mode="mean")
    np.pad(x, 2, mode="maximum", stat_length=2)
    np.pad(x, (0, 2), mode="minimum")
    np.pad(x, 2, mode="median", stat_length=3)
    np.pad(A, (2, 1), mode="linear_ramp", end_values=0.5)
    np.trim_zeros(np.array([0.0, 0.0, 1.0, 0.0, 1.0, 0.0]) * c)
    np.trim_zeros(np.concatenate([np.zeros(2), x, np.zeros(1)]), "f")
    np.meshgrid(x, y)
    np.meshgrid(x, y, indexing="ij", sparse=True)
    np.meshgrid(x, y[:2], [c, d])
    np.ix_(x, y)
    np.vander(x)
    np.vander(x, 3, increasing=True)
    np.linspace(c, d, 5)
    np.linspace(x, y, 4, endpoint=False, axis=-1)
    np.linspace(c, 2.0, 3, retstep=True)
    np.linspace(0.0, A, 3)
    np.linspace(c, d, 1)
    np.logspace(c / 9, d / 9, 4)
    np.logspace(0.0, x, 3, base=2.0)
    np.logspace(0.0, 1.0, 3, base=d)
    np.geomspace(c, d, 4)
    np.geomspace(np.exp(x), 3.0, 3, axis=-1)
    np.full_like(x, c)
    np.full_like(x, y)
    np.full_like(np.zeros(3), 2.0) * c
    np.full(3, c)
    np.full(3, c) @ Q
    np.full((2, 4), x)
    np.full(3, c, like=x)
    np.ones_like(x) * x
    np.zeros_like(A) + x
    np.zeros(3, like=x) + c
    np.arange(4, like=x) * x
    np.eye(4, like=x) @ x
    np.fromfunction(lambda i, j: c * i + d * j, (2, 3))
    np.apply_along_axis(lambda v: v * v[0], 1, A)
    np.apply_along_axis(np.sum, 0, S)
    np.apply_along_axis(lambda v: np.outer(v, v), -1, A)
    np.apply_over_axes(np.sum, S, [0, 2])
    np.vectorize(lambda a, b: a * np.sin(b))(x, c)
    np.vectorize(lambda v: v @ v, signature="(n)->()")(A)
    np.asarray(x)
    np.asarray(x) * 2 + x
    np.array(x)
    np.array([c, 1.0, np.sin(d)])
    np.array([[c, d], [1.0, c * d]]) @ x[:2]
    np.array([x, y]) @ x
    np.array([x[0], x[1] * 2]) + y[:2]
    np.sin(np.array([c, d])) * np.exp(np.array([d, c]))
    np.array([x[0], 2.0, c]) @ np.linalg.inv(Q)
    np.linalg.solve(np.array([[c, 1.0], [2.0, d]]), x[:2])
    np.dot(np.array([c, d]), np.array([d, d]))
    np.asarray([x[0], x[1]]).sum()
    np.array([c, d]).reshape(2, 1) * x
    np.mean([c, d])
    np.std([c, d, 2.0])
    np.sum([c * d, c])
    np.max([c, d])
    np.linalg.norm([c, d])
    np.array([c, d, 2.0]).mean() * np.arctan2(np.array([c, d]), 2.0)
    np.hypot(np.array([c, d]), np.array([d, c]))
    np.ascontiguousarray(V)
    np.asfortranarray(A)
    np.require(A)
    np.copy(A)
    A.copy()
    A.astype(float)
    np.astype(x, np.complex128) * 1j
    x.astype(complex)
    x.astype(object) * 2
    np.nan_to_num(x)
    np.nan_to_num(np.where(x > 0, x, np.nan), nan=2.0)
    np.nan_to_num(np.where(x > 0, x, np.inf), posinf=7.0)
    np.real_if_close(x + 0j)
    np.real_if_close(x + 1j)
    np.angle(x + 1j * y)
    np.angle(c + 1j * d, deg=True)
    np.angle(x)
    np.real(x * (1 + 2j))
    np.imag(x * (1 + 2j))
    (x * 1j).imag
    (x + 1j * y).real
    np.conj(x + 1j * y)
    np.conjugate(x * 1j)
    (x * 1j).conj()
    np.abs(x + 1j * y)
    np.trunc(x) + x
    np.round(x, 1) * x
    np.around(x) + x
    round(c) + c
    x.round(1) + x
    np.modf(x)
    np.modf(c)[0]
    np.frexp(x)
    np.frexp(c)
    A[np.array([True, False, True]), [[0], [0]]]
    A[[True, False, False], [0, 0, 1]]
    np.ldexp(c, np.int64(2))
    np.divmod(x, c)
    divmod(x, c)
    divmod(7.5, c)
    np.clip(x, -1.0, 1.0)
    np.clip(x, None, c)
    np.clip(x, c, d)
    np.clip(x, y, 2.0)
    np.clip(x, a_min=c, a_max=None)
    np.clip(x, min=-0.5)
    np.clip(c, 0.0, x)
    x.clip(0.0)
    x.clip(-1, 1)
    np.clip(A, x, 1.0)
    np.where(x > 0, x, c)
    np.where(x > 0, x * 2, 0.0)
    np.where([[True], [False]], x, y)
    np.where(A > 0, A, x)
    x[np.where(x > 0)]
    x[np.nonzero(x > 0)] * x[x > 0]
    x[np.flatnonzero(x > 0)]
    A[A > 0]
    A[x > 0.0 if False else np.array([True, False, True])]
    x[np.argsort(x)]
    x[np.argmax(x)]
    np.sort(x)
    np.sort(A, axis=0)
    np.sort(A, axis=None)
    np.partition(x, 2)
    np.partition(A, 1, axis=0)
    np.take(x, [0, 2, 2])
    np.take(A, [[0, 1], [2, 2]], axis=0)
    np.take(A, 1, axis=-1)
    np.take(A, [5, 7])
    np.take(x, [5, -7], mode="wrap")
    x.take([1, 1])
    np.take_along_axis(A, np.argsort(A, axis=1), axis=1)
    np.take_along_axis(A, np.array([[0], [3], [1]]), axis=-1)
    np.compress([True, False, True], A, axis=0)
    np.compress(x > 0, x)
    x.compress([1, 0, 1, 1])
    np.extract(A > 0, A)
    np.choose([0, 1, 0, 1], [x, y])
    np.choose([[0], [1]], [x, c])
    np.choose(np.array([0, 1, 0, 1]), A[:2])
    np.select([x > 1, x > 0], [x, y], default=c)
    np.select([x > 1, x < 0], [x ** 2, 2.0])
    np.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v ** 2])
    np.piecewise(x, [x < 0], [c, np.sin])
    np.piecewise(c, [c < 0, c >= 0], [np.cos, np.sin])
    np.piecewise(x, x > 0, [1.0 * c, np.sin])
    np.piecewise(x, [[True, False, True, True]], [np.cos, lambda v: v * c])
    np.piecewise(c, c > 0, [np.sin, 0.0])
    np.piecewise(A, [A < 0], [0.0, lambda v, k: v * k], 3.0)
    np.unique(x)
    np.unique(np.append(x, x))
    np.unique(A, return_index=True)
    np.unique(A, axis=0)
    np.unique_values(x)
    np.unique_counts(x).values
    np.unique_all(x).values
    np.unique_inverse(x).values
    np.union1d(x, y)
    np.intersect1d(x, x[:2])
    np.setdiff1d(x, x[:2])
    np.setxor1d(x, y)
    x[1]
    x[-1]
    x[1:3]
    x[::2]
    x[...]
    x[None]
    A[1]
    A[1, 2]
    A[:, 1]
    A[..., -1]
    A[1:, ::-2]
    A[:, None, 1:3]
    A[[0, 2]]
    A[[0, 2], [1, 1]]
    A[[[0], [2]], [1, 3]]
    A[:, [0, 0, 3]]
    A[np.ix_([0, 2], [1, 3])]
    S[0, :, [1, 2]]
    S[[0, 1], :, [1, 2]]
    S[:, [0, 2], [1, 1]]
    S[0, [1, 2], None]
    S[..., np.array([True, False, True, True])]
    S[np.array([True, False]), :, 1]
    x[np.array([0, 0, 2])]
    x[[True, False, True, False]]
    x[np.array(2)]
    x[[]]
    A[()]
    e.sum() + c
    np.concatenate([e, x])
    E.sum(axis=0) + c
    np.sum(E) + c
    E.reshape(3, 0).T + x[:3]
    np.flip(e)
    np.stack([e, e]).sum() + c
    sum(x)
    sorted(x)
    max(x) * min(x)
    [v * v for v in x]
    list(reversed(A))
    len(x) * x
    x.flat[2]
    A.flat[[1, 5, 5]]
    list(A.flat)
    A.item(3)
    A.item((1, 2))
    x[1:2].item()
    A[0].tolist()
    A.tolist()
    np.add.reduce(A)
    np.add.reduce(A, axis=(0, 1))
    np.add.reduce(A, axis=None, keepdims=True)
    np.add.reduce(x, initial=c)
    np.add.reduce(A, axis=1, where=A > 0)
    np.multiply.reduce(x)
    np.multiply.reduce(A, axis=-1)
    np.subtract.reduce(x)
    np.divide.reduce(2 + A * A, axis=1)
    np.maximum.reduce(A)
    np.minimum.reduce(A, axis=1, keepdims=True)
    np.fmax.reduce(A, axis=None)
    np.logaddexp.reduce(x)
    np.logaddexp.reduce(A, axis=-1)
    np.logaddexp.reduce(A, axis=None)
    np.hypot.reduce(S, axis=(0, 2))
    np.add.accumulate(x)
    np.add.accumulate(A, axis=1)
    np.multiply.accumulate(x)
    np.maximum.accumulate(A, axis=1)
    np.logaddexp.accumulate(x)
    np.subtract.accumulate(A)
    np.multiply.outer(x, y)
    np.subtract.outer(A, x)
    np.add.outer(c, x)
    np.hypot.outer(x, np.ones((2, 2)))
    np.add.reduceat(x, [0, 2])
    np.add.reduceat(x, [0, 3, 1])
    np.multiply.reduceat(A, [0, 2], axis=1)
    np.maximum.reduceat(x, [0, 1])
    np.add(x, y, out=np.zeros_like(x))
    np.sin(x, out=np.zeros_like(x))
    np.exp(x, where=x > 0, out=np.zeros_like(x))
    np.log(x, where=x > 0, out=y.copy())
    np.multiply(x, c, out=np.zeros(4, like=x))
    np.sum(A, axis=0, out=np.zeros_like(x))
    np.cumsum(x, out=np.zeros_like(x))
    np.clip(x, -1, 1, np.zeros_like(x))
    np.dot(A, x, out=np.zeros(3, like=x))
    np.add(x, 1, dtype=np.float64)
    np.add.at(x * 1, [0, 0, 2], 1.0) or x
    np.array([[1.0, 2.0, 3.0, 4.0]]).dot(x)
    np.ones((2, 4)).dot(x) * c
    np.ones((2, 4)) @ x
    x @ B
    2 ** x
    x // c + x % c
    abs(x)
    +x
    -x
    x / y
    1 / d
    np.isclose(x, 0.4) * x
    np.array_equal(x, x) * x
    (x > y) * x
    np.all(x > -9) * x
    np.searchsorted([0.0, 1.0], x) * x
    np.digitize(x, [0.0, 1.0]) * x
    np.count_nonzero(x) * x
    np.shape(A)[0] * c
    np.size(A) * c / (A.ndim * np.ndim(A))
    x[np.argpartition(x, 2)[:2]]
    np.result_type(x, c).itemsize * x
    np.zeros(3, dtype=x[0].dtype) + x[0]
    np.iscomplexobj(x) + x
    (x * 1j).dtype.kind == "c" and x
    np.finfo(x[0].dtype).eps + x
    np.absolute(x)
    np.square(x) + np.square(c)
    np.amax(A, axis=1)
    np.amin(A, axis=(0, 1))
    np.asanyarray(x) * c
    np.sort_complex(x)
    np.asarray(x)[1:] * np.asarray(y)[:-1]
    np.asarray(x, dtype=object) * 2
    np.asarray_chkfinite(x) * 2
    np.array([x, [c, 1.0, d, 2.0]]).T @ x[:2]
    np.array([[x[0], x[1]], [c, d]]).sum(axis=0) * y[:2]
    np.array([c, d, 3.0]) ** 2 / np.array([d, 1.0, c])
    np.sqrt(np.array([c, d])) + np.log(np.array([c, d]))
    np.abs(np.array([-c, d]))
    np.array([c, d]) > 1
    np.where(np.array([c, d]) > 1, np.array([c, d]), 0.0)
    np.clip(np.array([c, d]), 0.0, x[:2] + 9)
    np.concatenate([np.array([c, d]), x])
    np.cumsum(np.array([c, d, 1.0]))
    np.prod(np.array([c, d, 2.0]))
    np.var(np.array([c, d, 2.0]))
    np.median(np.array([c, d, 2.0, 5.0]))
    np.sort(np.array([d, c]))
    np.array([c, d])[np.argsort(np.array([d, c]))]
    np.einsum("i,i->", np.array([c, d]), x[:2])
    np.outer(np.array([c, d]), x)
    np.linalg.norm(np.array([c, d, 1.0]))
    np.linalg.det(np.stack([np.array([c, d]), x[:2]]))
    np.diff(np.array([c, d, 1.0]))
    np.exp(np.array([[c, d]])).T @ np.array([[c, d]])
    np.tanh(np.array([c, [d, 1.0][0]]))
    np.r_[x, c, 1.0] * 2
    np.c_[x, y] @ x[:2]
    np.array([c + 1j * d, c])
    np.abs(np.fft.fft(x)) ** 2
    np.inner(x, y)
    np.inner(A, B.T)
    np.outer(A, x)
    np.vdot(x, y)
    np.kron(Q, x[:2])
    np.cross(x[:3], y[:3])
    np.cross(Q, x[:3])
    np.tensordot(A, B, 1)
    np.tensordot(S, S, axes=([0, 2], [0, 2]))
    np.einsum("ij,jk->ki", A, B)
    np.einsum(",i->i", c, x)
    np.einsum("...i,i", S, x)
    np.einsum("ii->i", Q)
    np.matmul(S, x)
    np.matmul(S, B)
    np.linalg.cholesky(Q @ Q.T)
    np.linalg.cond(Q)
    np.linalg.cond(B[:3], 1)
    np.linalg.eig(np.diag([1.0, 4.0, 9.0]) + 0.3 * Q).eigenvalues
    np.linalg.eigvals(np.diag([1.0, 4.0, 9.0]) + 0.3 * Q).real
    np.linalg.eigh(Q + Q.T).eigenvalues
    np.abs(np.linalg.eigh(Q + Q.T)[1])
    np.linalg.eigvalsh(Q + Q.T, UPLO="U")
    np.linalg.lstsq(B, x, rcond=None)[0]
    np.linalg.norm(A)
    np.linalg.norm(A, axis=1)
    np.linalg.norm(x, 3)
    np.linalg.norm(A, "nuc")
    np.linalg.norm(S, 2, axis=(1, 2))
    np.linalg.norm(A, 1)
    np.linalg.norm(A, np.inf)
    np.linalg.matrix_norm(S)
    np.linalg.vector_norm(S, axis=(0, 1), ord=1)
    np.linalg.matrix_power(Q, 3)
    np.linalg.matrix_power(Q, -2)
    np.linalg.multi_dot([A, B, Q])
    np.linalg.pinv(A)
    np.abs(np.linalg.qr(Q).Q)
    np.abs(np.linalg.qr(B)[1])
    np.linalg.slogdet(Q).logabsdet
    np.linalg.slogdet(np.stack([Q, Q.T * 2]))[1]
    np.linalg.svd(A, compute_uv=False)
    np.abs(np.linalg.svd(A, full_matrices=False).Vh)
    np.linalg.svdvals(A)
    np.linalg.tensorinv(Q.reshape(3, 1, 3), ind=2)
    np.linalg.tensorsolve(Q, x[:3])
    np.linalg.solve(Q, B.T)
    np.linalg.inv(np.stack([Q, Q + 1]))
    np.linalg.det(np.stack([Q, Q.T * 2]))
    np.linalg.outer(x, y)
    np.linalg.cross(x[:3], y[:3])
    np.linalg.vecdot(A, x)
    np.vecdot(A, x)
    np.matvec(A, x)
    np.vecmat(x, B)
    np.linalg.tensordot(A, B, axes=1)
    np.linalg.matmul(A, B)
"""

CALLS = [line.strip() for line in CALLS.strip().splitlines()]

#: names that the oldest NumPy does not have, or the newest no longer
NAMES = ("matvec", "vecmat")
LATER = {name for name in NAMES if not hasattr(np, name)}


CALLS = [c for c in CALLS if not any(f"np.{n}(" in c for n in LATER)]


@pytest.mark.parametrize("text", CALLS)
def test_a_call_is_differentiated_in_every_mode(call, text):
    call(text)


@pytest.mark.parametrize("text", [c for c in CALLS if "object" not in c])
def test_a_call_shows_the_shape_and_type_that_numpy_gives(shows_as_numpy, text):
    shows_as_numpy(text, np.float64)


#: where a number in single precision differs: object arrays remember no type of their own, NumPy
#: makes Python floats of items, and an array made beforehand may be of another type
NOT_SINGLE = (
    "np.array([", "np.r_[", "([c, d, 2.0])", ").dot(x)", "item(", "tolist(", "like=",
    "object",
)  # fmt: skip


@pytest.mark.parametrize("text", [c for c in CALLS if not any(n in c for n in NOT_SINGLE)])
def test_single_precision_stays_single(shows_as_numpy, text):
    shows_as_numpy(text, np.float32)


#: what NumPy does not define for complex numbers, or only by their order; and norms of object
#: arrays, which NumPy takes for real
REAL_ONLY = re.compile(
    r"[<>]|//|%|mod|clip|sort|max|min|median|round|around|trunc|frexp|ldexp|angle|nan_to_num|searchsorted"
    r"|digitize|arctan2|hypot|logaddexp|cbrt|isclose|unique|union|setdiff|setxor|intersect|piecewise"
    r"|linspace|trim_zeros|issub|finfo|partition|1j|out=|logspace|geomspace|percentile|eig|svd|float|cholesky|cond"
    r"|std\(\[|norm\(\[|(norm|var)\(np.array"
)


@pytest.mark.parametrize("text", [c for c in CALLS if not REAL_ONLY.search(c)])
def test_a_call_at_complex_points(complex_call, text):
    complex_call(text)
