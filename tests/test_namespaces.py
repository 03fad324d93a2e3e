"""Every public name of NumPy is differentiated, plain, refused, or given no numbers."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import dualad as ad
from dualad.primitive import NotDifferentiableError, Number, Primitive, implementations
from dualad.rules import accounting
from dualad.rules.plain import plain_functions, refused_functions

ACCOUNTS = accounting.accounts()


def test_every_public_name_of_numpy_has_an_account():
    assert [a.name for a in ACCOUNTS if not a.treatment] == []


def test_a_name_that_numpy_adds_is_noticed(monkeypatch):
    monkeypatch.setattr(np, "novel", lambda x: x, raising=False)
    monkeypatch.setattr(np.linalg, "novel", lambda x: x, raising=False)
    missing = [a.name for a in accounting.accounts() if not a.treatment]
    assert missing == ["np.novel", "np.linalg.novel"]


def test_every_ufunc_and_every_function_that_asks_us_is_answered():
    for module in accounting.NAMESPACES.values():
        for name in accounting.public_names(module):
            thing = getattr(module, name)
            if isinstance(thing, np.ufunc) or hasattr(thing, "_implementation"):
                assert thing in implementations, name


def test_every_function_written_with_others_is_called_in_a_test():
    """Rows are tested from the table; whatever else answers for NumPy needs a call somewhere."""
    tests = "".join(p.read_text() for p in pathlib.Path(__file__).parent.glob("test_*.py"))
    called = set(re.findall(r"\bnp\.(?:linalg\.|fft\.)?\w+", tests))
    written = {
        a.name: implementations[_function(a.name)]
        for a in ACCOUNTS
        if a.treatment == "differentiated" and a.remark == "written with others"
    }
    # Aliases count for each other.
    answered = {id(f) for name, f in written.items() if name in called}
    assert [name for name, f in written.items() if id(f) not in answered] == []


def _function(name):
    prefix, _, last = name.rpartition(".")
    return getattr(accounting.NAMESPACES[prefix], last)


REFUSED_CALLS = {
    "histogram2d": lambda x: np.histogram2d(x, x),
    "histogramdd": lambda x: np.histogramdd(x[:, None]),
    "gcd": lambda x: np.gcd(x, 2),
    "invert": lambda x: ~x if False else np.invert(x),
    "left_shift": lambda x: np.left_shift(x, 1),
    "packbits": np.packbits,
    "unravel_index": lambda x: np.unravel_index(x, (3, 3)),
    "ravel_multi_index": lambda x: np.ravel_multi_index((x, x), (3, 3)),
    "savetxt": lambda x: np.savetxt("nowhere", x),
    "save": lambda x: np.save("nowhere", x),
    "shares_memory": lambda x: np.shares_memory(x, x),
    "is_busday": np.is_busday,
    "isnat": np.isnat,
}


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name", REFUSED_CALLS)
def test_a_refused_function_says_why_and_what_to_write(name, mode):
    with pytest.raises(NotDifferentiableError) as caught:
        ad.grad(REFUSED_CALLS[name], mode=mode)(np.array([1.0, 2.0]))
    assert f".{name} is not differentiated: " in str(caught.value)
    assert refused_functions[getattr(np, name)] in str(caught.value)


def test_every_refusal_has_a_reason():
    for function, reason in refused_functions.items():
        assert len(reason.split()) > 3, function


PLAIN_CALLS = """
    np.argmax(A, axis=1)
    np.argmin(x)
    np.nanargmax(x)
    np.argsort(A, axis=0)
    np.argpartition(x, 1)
    np.argwhere(x > 0)
    np.argwhere(x)
    np.nonzero(x)
    np.flatnonzero(x)
    np.where(x > 0)
    np.count_nonzero(A, axis=0)
    np.searchsorted(np.sort(x), 0.5)
    np.searchsorted(np.array([0.0, 1.0]), x, side="right")
    np.digitize(x, [0.0, 1.0])
    np.lexsort((x, x))
    np.all(x, axis=0, keepdims=True)
    np.any(A > 0, axis=1)
    np.isclose(x, 0.3)
    np.allclose(x, x)
    np.array_equal(x, x + 1)
    np.array_equiv(A, A[0])
    np.isfinite(A)
    np.isnan(x)
    np.isinf(c)
    np.isneginf(x)
    np.isposinf(x)
    np.signbit(x)
    np.isreal(x)
    np.iscomplex(x)
    np.isrealobj(x)
    np.iscomplexobj(x)
    np.isin(x, [0.3, 2.0])
    np.greater(x, c)
    np.less_equal.outer(x, x)
    np.logical_and(x, x > 0)
    np.logical_not(x)
    np.logical_or.reduce(x)
    np.equal(x, x)
    x == x
    x != c
    x > c
    c < x
    x >= 0.5
    np.round(A, 1)
    np.around(c, 1)
    np.fix(x)
    np.shape(A)
    np.ndim(c)
    np.size(A, 1)
    np.result_type(x, np.float32)
    np.can_cast(A.dtype, np.float32)
    np.common_type(x, A)
    np.min_scalar_type(x)
    np.tril_indices_from(A)
    np.linalg.matrix_rank(A)
    np.einsum_path("ij,j->i", A, x)[0]
    np.array_repr(x)
    np.array_str(x)
    np.array2string(x)
    x.argmax()
    A.argsort(axis=0)
    x.argpartition(1)
    x.nonzero()
    A.any(axis=0)
    x.all()
    x.searchsorted(0.0)
    A.shape
    A.ndim
    A.size
    len(A)
    A.itemsize
    A.nbytes
    A.strides
    x.astype(int)
    x.astype(bool)
    0.3 in x
    bool(c)
    not c
    round(c)
"""


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")
@pytest.mark.parametrize("number", [ad.Dual, ad.HyperDual, ad.Variable])
@pytest.mark.parametrize("text", [line.strip() for line in PLAIN_CALLS.strip().splitlines()])
def test_a_plain_function_gives_what_it_gives_for_the_primal(text, number):
    values = {
        "x": np.array([0.3, -1.2, 0.0, 1.9]),
        "A": np.array([[0.5, -1.1, 0.9, 1.7], [2.3, 0.2, -0.4, 0.6], [-0.8, 1.4, 1.2, -0.3]]),
        "c": 0.7,
    }
    parts = {ad.Dual: 1, ad.HyperDual: 3, ad.Variable: 0}[number]
    numbers = {k: number(v, *[np.ones(np.shape(v))[()]] * parts) for k, v in values.items()}
    got, expected = (eval(text, {"np": np}, scope) for scope in (numbers, values))
    assert not isinstance(got, Number)
    assert type(got) is type(expected) or {type(got), type(expected)} <= {float, np.float64}
    if isinstance(expected, tuple):
        assert len(got) == len(expected)
    np.testing.assert_equal(got, expected)


def test_plain_and_refused_functions_are_none_of_the_table():
    rows = set(Primitive.table.values())
    assert not plain_functions & set(refused_functions)
    for function in plain_functions | set(refused_functions):
        assert implementations[function] not in rows, function


def test_the_table_is_printed_as_markdown():
    command = [sys.executable, "-m", "dualad.rules.accounting"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^\| `(np\.[\w.]+)` \| (\w[\w ]*) \| .+ \|$", text, re.MULTILINE)
    assert names == [(a.name, a.treatment) for a in ACCOUNTS if a.treatment != "no function"]
