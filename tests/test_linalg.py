"""numpy.linalg: every function forward, reverse and twice, against differences; hard points."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dualad as ad
from dualad.primitive import Implicit, NotDifferentiableError, Primitive

L = np.linalg
rng = np.random.default_rng(0)
A, S = rng.normal(size=(3, 3)), rng.normal(size=(2, 3, 3))
B, b, R, W = (rng.normal(size=s) for s in ((3, 2), 3, (4, 3), (2, 4)))
RANK_2 = A.copy()
RANK_2[2] = RANK_2[0] + RANK_2[1]
RANK_1 = np.outer(b, b)
Z, ZS, ZR, ZW = (
    rng.normal(size=s) + 1j * rng.normal(size=s) for s in ((3, 3), (2, 3, 3), (4, 3), (2, 4))
)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def positive(x):
    return x @ adjoint(x) + np.eye(x.shape[-1])


def rebuilt(x):
    u, s, vh = L.svd(x, full_matrices=False)
    return (u * s[..., None, :] ** 2) @ vh


def projected(v):
    """What does not change when complex vectors change their phase."""
    return (v * np.arange(1.0, 4.0)) @ adjoint(v)


#: name -> a function and where: real matrices
CALLS = {
    "norm of a vector": (L.norm, b),
    "norm of a matrix": (L.norm, A),
    "norm of a stack": (L.norm, S),
    "norm of a number": (lambda x: L.norm(x[0]) + L.norm(x[1]), b),
    **{f"norm {o} of vectors": (lambda x, o=o: L.norm(x, o, axis=0), A)
       for o in (1, 2, 3, 0.5, -1, -2, np.inf, -np.inf)},
    **{f"norm {o} of a matrix": (lambda x, o=o: L.norm(x, o), A)
       for o in (1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc")},
    "norm over two axes": (lambda x: L.norm(x, -2, axis=(2, 0), keepdims=True), S),
    "norm with keepdims": (lambda x: L.norm(x, 1, axis=-1, keepdims=True), S),
    "vector_norm": (lambda x: L.vector_norm(x, axis=(0, 2), ord=3), S),
    "vector_norm of all": (L.vector_norm, S),
    "matrix_norm": (lambda x: L.matrix_norm(x, ord=2), S),
    "matrix_norm with keepdims": (lambda x: L.matrix_norm(x, keepdims=True), S),
    "inv": (L.inv, A),
    "inv of a stack": (L.inv, S),
    "solve, the matrix": (lambda x: L.solve(x, b), A),
    "solve, a vector": (lambda x: L.solve(A, x), b),
    "solve, both": (lambda x: L.solve(x, x @ B), S),
    "solve, a stack and a vector": (lambda x: L.solve(x, b), S),
    "solve, a stack and a matrix": (lambda x: L.solve(S, x), B),
    "solve, a matrix and a stack": (lambda x: L.solve(x, S), A),
    "det": (L.det, A),
    "det of a stack": (L.det, S),
    "det of rank 2": (L.det, RANK_2),
    "det of rank 1": (L.det, RANK_1),
    "det of rank 0": (L.det, np.zeros((3, 3))),
    "det of a stack, one singular": (L.det, np.stack([RANK_2, A])),
    "det of one number": (L.det, np.zeros((1, 1))),
    "slogdet": (lambda x: L.slogdet(x).logabsdet, A),
    "slogdet of a stack": (lambda x: L.slogdet(x)[1], S),
    "eigvalsh": (L.eigvalsh, A),
    "eigvalsh of the upper triangle": (lambda x: L.eigvalsh(x, "U"), A),
    "eigh, values": (lambda x: L.eigh(x).eigenvalues, S),
    "eigh, vectors": (lambda x: L.eigh(x)[1], A),
    "eigh, vectors of the upper triangle": (lambda x: L.eigh(x, "U")[1], S),
    "cholesky": (L.cholesky, positive(A)),
    "cholesky, upper": (lambda x: L.cholesky(x, upper=True), positive(A)),
    "cholesky of a stack": (lambda x: L.cholesky(positive(x)), S),
    "svdvals": (L.svdvals, R),
    "svd, u": (lambda x: L.svd(x, full_matrices=False).U, R),
    "svd, s": (lambda x: L.svd(x).S, R),
    "svd, vh": (lambda x: L.svd(x).Vh, R),
    "svd, u with one more": (lambda x: L.svd(x)[0], R),
    "svd, vh with one more": (lambda x: L.svd(x)[2], R.T),
    "svd, vh of a wide matrix": (lambda x: L.svd(x, full_matrices=False)[2], W),
    "svd of a stack": (lambda x: L.svd(x)[0], S),
    "svd, all": (rebuilt, R),
    "svd, values only": (lambda x: L.svd(x, compute_uv=False), W),
    "svd, hermitian values": (lambda x: L.svd(x, compute_uv=False, hermitian=True), A),
    "svd, hermitian": (lambda x: L.svd(x, hermitian=True)[0], A),
    "qr, q": (lambda x: L.qr(x).Q, R),
    "qr, r": (lambda x: L.qr(x).R, R),
    "qr of a stack": (lambda x: L.qr(x)[0], S),
    "qr of a wide matrix, q": (lambda x: L.qr(x)[0], W),
    "qr of a wide matrix, r": (lambda x: L.qr(x)[1], W),
    "qr, mode r": (lambda x: L.qr(x, "r"), R),
    "qr, complete of a square one": (lambda x: L.qr(x, mode="complete")[0], A),
    "pinv": (L.pinv, R),
    "pinv of a wide matrix": (L.pinv, W),
    "pinv of a stack": (L.pinv, S),
    "pinv, cut off": (lambda x: L.pinv(x, rcond=0.9), R),
    "pinv, cut off in a stack": (lambda x: L.pinv(x, rcond=0.6), S),
    "lstsq, cut off": (lambda x: L.lstsq(x, np.arange(4.0), rcond=0.9)[0], R),
    "pinv, hermitian": (lambda x: L.pinv(x, hermitian=True), A),
    "lstsq, the matrix": (lambda x: L.lstsq(x, np.arange(4.0))[0], R),
    "lstsq, the right-hand side": (lambda y: L.lstsq(R, y, rcond=None)[0], np.arange(4.0)),
    "lstsq, residuals": (lambda x: L.lstsq(x, np.eye(4, 2) + 1.0)[1], R),
    "lstsq, singular values": (lambda x: L.lstsq(x, np.arange(4.0))[3], R),
    "lstsq of a wide matrix": (lambda x: L.lstsq(x, np.arange(2.0))[0], W),
    "cond": (L.cond, A),
    **{f"cond {p}": (lambda x, p=p: L.cond(x, p), S) for p in (1, -2, np.inf, "fro")},
    **{f"matrix_power {n}": (lambda x, n=n: L.matrix_power(x, n), S) for n in (-2, 1, 3, 6)},
    "multi_dot with vectors": (lambda x: L.multi_dot([b, A, x, B, x[:2, 0]]), A),
    "multi_dot": (lambda x: L.multi_dot([R, x, x, B]), A),
    "tensorsolve": (lambda x: L.tensorsolve(x.reshape(2, 3, 6), B.T), rng.normal(size=(6, 6))),
    "tensorsolve, axes": (lambda x: L.tensorsolve(x.reshape(2, 6, 3), B.T, axes=(1,)),
                          rng.normal(size=(6, 6))),
    "tensorinv": (lambda x: L.tensorinv(x.reshape(2, 3, 6)), rng.normal(size=(6, 6))),
    "eigvals, real parts": (lambda x: L.eigvals(x).real, A),
    "eigvals, imaginary parts": (lambda x: L.eigvals(x).imag, S),
    "eig, vectors": (lambda x: L.eig(x)[1].real + L.eig(x)[1].imag, S),
    "eig, real vectors": (lambda x: L.eig(x)[1].real, np.diag([1.0, 3.0, -2.0]) + 0.1 * A),
    "trace": (lambda x: L.trace(x, offset=1), S),
    "diagonal": (lambda x: L.diagonal(x, offset=-1), S),
    "matrix_transpose": (L.matrix_transpose, S),
    "matmul": (lambda x: L.matmul(x, x[0]), S),
    "outer": (lambda x: L.outer(x, x * x), b),
    "tensordot": (lambda x: L.tensordot(x, x, axes=2), S[:, :2, :2]),
    "vecdot": (lambda x: L.vecdot(x, x[0]), A),
    "cross": (lambda x: L.cross(x, x[::-1]), A),
}  # fmt: skip


def differences(f, x, h=1e-6):
    columns = []
    for i in np.ndindex(x.shape):
        e = np.zeros_like(x)
        e[i] = h
        columns.append((np.asarray(f(x + e)) - np.asarray(f(x - e))) / (2 * h))
    out = np.moveaxis(np.array(columns), 0, -1)
    return out.reshape(*out.shape[:-1], *x.shape)


def near(got, want, rtol=1e-6, **about):
    scale = np.max(np.abs(want), initial=1e-3)
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * scale, **about)


@pytest.mark.parametrize("name", CALLS)
def test_forward_and_reverse(name):
    f, x = CALLS[name]
    forward = ad.jacobian(f, mode="forward")(x)
    near(forward, differences(f, x))
    near(ad.jacobian(f, mode="reverse")(x), forward, 1e-11)
    digits = 1e-13 if name.startswith(("lstsq", "qr", "cholesky, upper")) else 0
    near(ad.jvp(f, (x,), (x,))[0], f(x), digits)


@pytest.mark.parametrize("name", CALLS)
def test_second_order_in_every_mode(name):
    f, x = CALLS[name]
    weights = np.random.default_rng(1).normal(size=np.shape(f(x)))
    total = lambda x: np.sum(f(x) * weights)  # noqa: E731
    want = differences(ad.grad(total, mode="reverse"), x)
    for mode in ("forward", "reverse", "hyperdual"):
        near(ad.hessian(total, mode=mode)(x), want, 1e-5, err_msg=mode)


COMPLEX = {
    "norm": (L.norm, Z),
    "norm 1": (lambda z: L.norm(z, 1), Z),
    "norm inf of vectors": (lambda z: L.norm(z, np.inf, axis=0), Z),
    "norm 3 of vectors": (lambda z: L.norm(z, 3, axis=0), Z),
    "norm 2": (lambda z: L.norm(z, 2), Z),
    "norm nuc": (lambda z: L.norm(z, "nuc"), ZR),
    "inv": (L.inv, ZS),
    "solve": (lambda z: L.solve(z, z[0]), ZS),
    "det": (L.det, ZS),
    "det, singular": (L.det, np.outer(Z[0], Z[0])),
    "slogdet, sign": (lambda z: L.slogdet(z)[0], ZS),
    "slogdet, logarithm": (lambda z: L.slogdet(z)[1], Z),
    "eigvalsh": (L.eigvalsh, Z),
    "eigh": (lambda z: projected(L.eigh(z)[1]), ZS),
    "eigh, vectors": (lambda z: L.eigh(z)[1], ZS),
    "eigh, vectors of the upper triangle": (lambda z: L.eigh(z, "U")[1], Z),
    "cholesky": (lambda z: L.cholesky(positive(z)), ZS),
    "svdvals": (L.svdvals, ZR),
    "svd": (rebuilt, ZR),
    "svd, wide": (rebuilt, ZW),
    "svd, u": (lambda z: L.svd(z, full_matrices=False)[0], ZR),
    "svd, vh": (lambda z: L.svd(z)[2], ZR),
    "svd, u of a wide one": (lambda z: L.svd(z, full_matrices=False)[0], ZW),
    "svd, vh of a wide one": (lambda z: L.svd(z, full_matrices=False)[2], ZW),
    "svd, one more": (lambda z: projected(L.svd(z)[0][:, 1:]), ZR),
    "svd, hermitian": (lambda z: L.svd(z, hermitian=True)[2], Z),
    "qr, q": (lambda z: L.qr(z)[0], ZR),
    "qr, r": (lambda z: L.qr(z)[1], ZW),
    "pinv": (L.pinv, ZR),
    "lstsq": (lambda z: L.lstsq(z, np.ones(4))[0], ZR),
    "lstsq, residuals": (lambda z: L.lstsq(z, np.ones(4))[1], ZR),
    "eigvals": (L.eigvals, Z),
    "eig, vectors": (lambda z: L.eig(z)[1], ZS),
    "cond": (L.cond, Z),
    "matrix_power": (lambda z: L.matrix_power(z, -3), Z),
    "vecdot": (lambda z: L.vecdot(z, z[0] * 2j), Z),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_matrices(name):
    f, z = COMPLEX[name]
    t = np.random.default_rng(2).normal(size=(2, *z.shape)) @ np.diag(np.arange(1, z.shape[-1] + 1))
    t = t[0] + 1j * t[1]
    h = 1e-6

    def slope(g):
        return (np.asarray(g(z + h * t)) - np.asarray(g(z - h * t))) / (2 * h)

    y, dy = ad.jvp(f, (z,), (t,))
    near(dy, slope(f))
    near(ad.jvp(lambda z: ad.jvp(f, (z,), (t,))[1], (z,), (t,))[1],
         slope(lambda z: ad.jvp(f, (z,), (t,))[1]), 1e-5)  # fmt: skip
    ct = np.asarray(y) * np.exp(0.3j) if np.iscomplexobj(y) else np.asarray(y)
    pull = lambda z: ad.vjp(f, z)[1](ct)[0]  # noqa: E731
    near(np.vdot(pull(z), t).real, np.vdot(ct, dy).real, 1e-9)
    near(ad.jvp(pull, (z,), (t,))[1], slope(pull), 1e-5)


# --------------------------------------------------------------------------- laws of the rows


@pytest.mark.parametrize(
    "row", [r for r in Primitive.table.values() if isinstance(r, Implicit)], ids=lambda r: r.name
)
@pytest.mark.parametrize("lead", [(), (2,), (3,)], ids=str)
def test_pull_is_the_transpose_of_push(row, lead):
    """Also with as many directions as a stack has matrices, or a matrix rows."""
    draw = np.random.default_rng(3)
    for args, params in row.samples:
        y = row(*args, **params)
        ys = y if isinstance(y, tuple) else (y,)
        tangents = [draw.normal(size=lead + a.shape) for a in args]
        if row.name in ("eigh", "eigvalsh", "cholesky"):
            tangents = [t + adjoint(t) for t in tangents]
        dy = row.push(y, args, tangents, **params)
        pushed = [0.0 * v if d is None else d for d, v in zip(_tuple(dy), ys, strict=True)]
        cts = [draw.normal(size=lead + np.shape(v)) for v in ys]
        pulled = row.pull(y, args, _alone(cts), [True] * len(args), **params)
        for k in np.ndindex(lead):
            there = [np.vdot(np.asarray(c)[k], np.broadcast_to(d, np.shape(c))[k]).real
                     for c, d in zip(cts, pushed, strict=True)]  # fmt: skip
            pairs = zip(pulled, tangents, strict=True)
            back = [np.sum((p[k].conj() * t[k]).real) for p, t in pairs]
            np.testing.assert_allclose(math.fsum(back), math.fsum(there), rtol=1e-9, atol=1e-9)


def _tuple(x):
    return x if isinstance(x, tuple) else (x,)


def _alone(x):
    return tuple(x) if len(x) > 1 else x[0]


# ------------------------------------------------------------------------------- hard points

MODES = ("forward", "reverse")


def test_norm_at_the_origin_is_flat():
    for order in (None, 1, 2, 3, 0.5, np.inf):
        for mode in MODES:
            f = lambda x, o=order: L.norm(x, o)  # noqa: E731
            assert np.array_equal(ad.grad(f, mode=mode)(np.zeros(3)), np.zeros(3))
    for mode in MODES:
        squared = ad.grad(lambda x: L.norm(x) ** 2, mode=mode)
        assert np.array_equal(squared(np.zeros(3)), np.zeros(3))
        half = ad.jacobian(lambda x: L.norm(x, axis=1), mode=mode)(np.array([[0.0, 0], [3, 4]]))
        assert np.array_equal(half, [[[0, 0], [0, 0]], [[0, 0], [0.6, 0.8]]])


def test_norm_slopes_do_not_overflow():
    for size in (1e200, 1e-200):
        with np.errstate(over="ignore"):
            slope = ad.grad(L.norm)(np.array([3.0, 4.0]) * size)
        np.testing.assert_allclose(slope, [0.6, 0.8], rtol=1e-15)


def test_det_of_singular_matrices_by_hand():
    x = np.array([[1.0, 2.0], [2.0, 4.0]])
    second = np.zeros((2, 2, 2, 2))
    second[0, 0, 1, 1] = second[1, 1, 0, 0] = 1
    second[0, 1, 1, 0] = second[1, 0, 0, 1] = -1
    for mode in MODES:
        np.testing.assert_allclose(ad.grad(L.det, mode=mode)(x), [[4, -2], [-2, 1]], rtol=1e-14)
        np.testing.assert_allclose(ad.hessian(L.det, mode=mode)(x), second, atol=1e-14)
    np.testing.assert_allclose(ad.hessian(L.det, mode="hyperdual")(x), second, atol=1e-14)


def test_slopes_of_det_outlive_its_overflow():
    x = np.array([[1e200, 3.0], [-2.0, 4e200]])
    with np.errstate(over="ignore"):
        for mode in MODES:
            slope = ad.grad(L.det, mode=mode)(x)
            np.testing.assert_allclose(slope, [[4e200, 2.0], [-3.0, 1e200]], rtol=1e-14)


def test_nans_stay_nans():
    with np.errstate(invalid="ignore"):
        for f in (L.det, lambda x: np.sum(L.inv(x)), L.norm):
            assert np.all(np.isnan(ad.grad(f)(np.full((2, 2), np.nan))))


def test_third_derivatives_of_det_at_zero_are_signs_of_permutations():
    third = ad.jacobian(ad.hessian(L.det))(np.zeros((3, 3)))
    for i, j, k in np.ndindex(3, 3, 3):
        sign = L.det(np.eye(3)[[i, j, k]])
        np.testing.assert_allclose(third[0, i, 1, j, 2, k], sign, atol=1e-14)


def test_repeated_eigenvalues_share_their_slope():
    for f in (L.eigvalsh, lambda x: L.eigh(x)[0], L.svdvals, L.eigvals, lambda x: L.eig(x)[0]):
        for mode in MODES:
            slopes = ad.jacobian(f, mode=mode)(2.0 * np.eye(3))
            np.testing.assert_allclose(slopes, [np.eye(3) / 3] * 3, atol=1e-15)
    tangents = np.eye(9).reshape(9, 3, 3)
    x = ad.HyperDual(2.0 * np.eye(3), tangents, tangents, np.zeros((9, 9, 3, 3)))
    total = np.sum(L.eigh(x)[0])
    np.testing.assert_allclose(total.tangent1.reshape(3, 3), np.eye(3), atol=1e-15)
    with pytest.raises(NotDifferentiableError, match="repeated"):
        float(total.mixed)


@pytest.mark.parametrize(
    "f",
    [lambda x: L.eigh(x)[1], lambda x: L.eigh(x)[1][0, 0], lambda x: tuple(L.eigh(x)),
     lambda x: L.eig(x)[1], lambda x: L.svd(x)[0], lambda x: L.svd(x)[2]],
)  # fmt: skip
def test_vectors_of_repeated_values_are_refused(f):
    for mode in MODES:
        with pytest.raises(NotDifferentiableError, match="repeated"):
            ad.jacobian(f, mode=mode)(2.0 * np.eye(3))
    with pytest.raises(NotDifferentiableError, match="repeated"):
        ad.jvp(f, (2.0 * np.eye(3),), (A,))


def test_second_derivatives_of_repeated_values_are_refused():
    for f in (lambda x: np.sum(L.eigvalsh(x) ** 2), lambda x: np.sum(L.eigh(x)[0] ** 3)):
        for mode in ("forward", "reverse", "hyperdual"):
            with pytest.raises(NotDifferentiableError, match="repeated"):
                ad.hessian(f, mode=mode)(2.0 * np.eye(3))


def test_derivatives_along_a_line_are_refused_too():
    line = lambda t: 2.0 * np.eye(3) + t * (A + A.T)  # noqa: E731
    for order, f in (
        (1, lambda t: L.eigh(line(t))[1][0, 0]), (2, lambda t: np.sum(L.eigvalsh(line(t)) ** 2)),
    ):  # fmt: skip
        for t in (0.0, np.array(0.0)):
            with pytest.raises(NotDifferentiableError, match="repeated"):
                ad.derivative(f, order)(t)


def test_the_vector_of_a_single_eigenvalue_beside_repeated_ones():
    x = np.diag([1.0, 2.0, 2.0])
    first = lambda x: L.eigh(x)[1][:, 0] * np.sign(L.eigh(x)[1][0, 0])  # noqa: E731
    for mode in MODES:
        near(ad.jacobian(first, mode=mode)(x), differences(first, x))


def test_singular_values_of_zero_are_flat():
    u = np.array([1.0, 2.0])
    x = np.outer(u, u)
    for f in (lambda x: L.norm(x, "nuc"), lambda x: np.sum(L.svdvals(x))):
        for mode in MODES:
            np.testing.assert_allclose(ad.grad(f, mode=mode)(x), np.outer(u, u) / 5, atol=1e-14)


def test_defective_matrices_are_refused():
    for f in (L.eigvals, lambda x: L.eig(x)[1]):
        for mode in MODES:
            with pytest.raises(NotDifferentiableError, match="defective"):
                ad.jacobian(f, mode=mode)(np.array([[1.0, 1.0], [0.0, 1.0]]))


def test_bases_that_only_complete_are_refused():
    tall = rng.normal(size=(5, 2))
    for mode in MODES:
        with pytest.raises(NotDifferentiableError, match="full_matrices"):
            ad.jacobian(lambda x: L.svd(x)[0], mode=mode)(tall)
        first = ad.jacobian(lambda x: L.svd(x)[0][:, :2], mode=mode)(tall)
        near(first, differences(lambda x: L.svd(x)[0][:, :2], tall))
        for how in ("complete", "raw"):
            with pytest.raises(NotDifferentiableError, match="reduced"):
                ad.jacobian(lambda x, how=how: L.qr(x, how)[0], mode=mode)(tall)


def test_functions_of_a_phase_are_refused():
    """Where a vector has no real entry to tell its phase by: the last of a whole basis; zeros."""
    for f, z in ((lambda z: L.svd(z)[0][:, 3].imag, ZR),
                 (lambda z: L.eigh(z)[1][1].imag, np.diag([1.0 + 0j, 2.0, 3.0]))):  # fmt: skip
        y, pull = ad.vjp(f, z)
        with pytest.raises(NotDifferentiableError, match="phase"):
            pull(np.ones_like(y))


def test_errors_are_numpys():
    for f, x in (
        (L.inv, np.ones((2, 2))), (L.inv, b), (L.cholesky, -np.eye(2)), (L.det, b),
        (lambda x: L.slogdet(x)[1], np.ones((2, 2))),
    ):  # fmt: skip
        with pytest.raises(L.LinAlgError):
            ad.jacobian(f)(x)
    for f in (lambda x: L.norm(x, "bad"), lambda x: L.norm(x[0], "fro"), lambda x: L.eigh(x, "X")):
        with pytest.raises(ValueError, match=r"[Ii]nvalid|must be"):
            ad.jacobian(f)(A)


# --------------------------------------------------------------------------- forms of results


def test_named_tuples_stay_named_tuples():
    for f in (L.slogdet, L.eigh, L.eig, L.svd, L.qr):
        y, dy = ad.jvp(f, (A,), (A,))
        assert type(y) is type(dy) is type(f(A))
        assert type(ad.vjp(f, A)[0]) is type(f(A))


def test_ranks_are_plain():
    def f(x):
        assert type(L.matrix_rank(x)) is type(L.matrix_rank(A))
        assert type(L.lstsq(x, b)[2]) is int
        return L.matrix_power(x, 0) + x

    assert np.array_equal(ad.jacobian(f)(A).reshape(9, 9), np.eye(9))


def test_object_arrays_of_numbers_beside_a_number():
    f = lambda x: L.solve(np.array([[x[0], x[1]], [1.0, x[2]]]), x[:2])  # noqa: E731
    for mode in MODES:
        near(ad.jacobian(f, mode=mode)(b), differences(f, b))


def test_object_arrays_alone_are_refused():
    """NumPy hands these to LAPACK without asking; its norm, which it writes in Python, works."""
    made = lambda x: np.array([[x[0], x[1]], [1.0, x[2]]])  # noqa: E731
    for mode in MODES:
        for f in (L.det, L.inv, L.eigvalsh):
            with pytest.raises(TypeError):
                ad.jacobian(lambda x, f=f: f(made(x)), mode=mode)(b)
        near(ad.grad(lambda x: L.norm(made(x)), mode=mode)(b),
             differences(lambda x: L.norm(made(x)), b))  # fmt: skip


def test_integers_are_floats_here():
    x = np.array([[2, 1], [1, 3]])
    np.testing.assert_allclose(ad.grad(L.det)(x), [[3, -1], [-1, 2]])


@pytest.mark.parametrize(
    "f",
    [L.inv, L.det, L.svdvals, L.eigvalsh, L.cholesky, lambda x: L.qr(x)[0], L.pinv, L.norm, L.cond,
     lambda x: L.solve(x, x[0]), L.eigvals, lambda x: L.norm(x, 3, axis=0), lambda x: L.svd(x)[0],
     lambda x: L.slogdet(x)[1], lambda x: L.lstsq(x, x[0])[0], lambda x: L.eigh(x)[1]],
)  # fmt: skip
def test_float32_stays_float32(f):
    x = positive(A).astype(np.float32)
    y, dy = ad.jvp(f, (x,), (x,))
    # NumPy 2.5 gives eigenvalues as complex numbers always: of the same precision
    assert np.real(y).dtype == np.real(dy).dtype == np.float32
    assert ad.vjp(f, x)[1](y)[0].dtype == np.float32


def test_empty_matrices():
    none = np.zeros((0, 0))
    for f in (L.det, L.norm, lambda x: L.slogdet(x)[1], lambda x: np.sum(L.inv(x)),
              lambda x: np.sum(L.eigvalsh(x)), lambda x: np.sum(L.eigh(x)[1]),
              lambda x: np.sum(L.svd(x)[0]), lambda x: np.sum(L.cholesky(x))):  # fmt: skip
        for mode in MODES:
            assert ad.grad(f, mode=mode)(none).shape == (0, 0)
    for f in (L.inv, L.det, L.eigvalsh, lambda x: L.solve(x, np.ones(3))):
        assert ad.jacobian(f)(np.zeros((0, 3, 3))).shape == (*f(np.zeros((0, 3, 3))).shape, 0, 3, 3)
