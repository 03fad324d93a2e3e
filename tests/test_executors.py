"""A Jacobian whose chunks an executor works on has the same digits whatever the executor."""

import importlib
import os
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import dualad as ad
from dualad.harness.problems import PROBLEMS

modes = pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])


class Here:
    """An executor that works at once, where it is."""

    def submit(self, function, *args):
        future = Future()
        future.set_result(function(*args))
        return future


# Processes import what they call, so this is a module of its own.
MODULE = """
import os
import numpy as np

def several(x, scale):
    return {"a": np.sin(x["p"]) * scale, "b": [np.sum(x["p"]) * x["q"], x["q"] * scale]}

def constant(x):
    return np.ones(3), x[0]

def dies(x):
    if str(os.getpid()) != os.environ["PARENT"]:
        os._exit(1)
    return np.sin(x)

def loses(x):
    return float(x[0]) * x
"""


@pytest.fixture(scope="module", autouse=True)
def mine(tmp_path_factory):
    directory = tmp_path_factory.mktemp("mine")
    (directory / "called_elsewhere.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(directory)
        patch.setenv("PARENT", str(os.getpid()))
        yield importlib.import_module("called_elsewhere")


@pytest.fixture(scope="module")
def executors(mine):
    # Not forked: a fork of a process with threads may hang.
    processes = ProcessPoolExecutor(2, mp_context=get_context("spawn"))
    with ThreadPoolExecutor(2) as threads, processes:
        yield [Here(), threads, processes]


def equal(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    return type(a) is type(b) and np.shape(a) == np.shape(b) and np.array_equal(a, b)


@modes
@pytest.mark.parametrize("name", ["wide", "tall", "bundle", "rosenbrock"])
def test_every_executor_gives_the_same_digits(name, mode, executors):
    f, (x,) = PROBLEMS[name].make(20)
    answers = [ad.jacobian(f, mode=mode, executor=executor)(x) for executor in executors]
    assert all(equal(answer, answers[0]) for answer in answers[1:])
    plain = ad.jacobian(f, mode=mode)(x)
    assert np.shape(plain) == np.shape(answers[0])
    np.testing.assert_allclose(answers[0], plain, rtol=1e-13, atol=1e-14)


@modes
@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_a_chunk_gives_the_digits_that_it_gives_without_an_executor(chunk, mode, executors):
    f, (x,) = PROBLEMS["tall"].make(7)
    plain = ad.jacobian(f, mode=mode, chunk=chunk)(x)
    for executor in executors:
        assert equal(ad.jacobian(f, mode=mode, chunk=chunk, executor=executor)(x), plain)


@modes
def test_structures_and_keywords(mode, executors, mine):
    x = {"p": np.arange(1.0, 4.0), "q": 2.0}
    plain = ad.jacobian(mine.several, mode=mode)(x, scale=3.0)
    for executor in executors:
        assert equal(ad.jacobian(mine.several, mode=mode, executor=executor)(x, scale=3.0), plain)


@modes
def test_outputs_that_do_not_depend_on_the_input(mode, executors, mine):
    f, x = mine.constant, np.arange(2.0)
    plain = ad.jacobian(f, mode=mode)(x)
    for executor in executors:
        assert equal(ad.jacobian(f, mode=mode, executor=executor)(x), plain)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_worker_that_dies_is_an_error(mode, mine):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        jacobian = ad.jacobian(mine.dies, mode=mode, executor=pool)
        with pytest.raises(BrokenExecutor):
            jacobian(np.arange(4.0))


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_an_error_in_f_is_raised_here(mode, executors, mine):
    for executor in executors:
        with pytest.raises(TypeError, match="float"):
            ad.jacobian(mine.loses, mode=mode, executor=executor)(np.arange(4.0))


@pytest.mark.slow
@modes
def test_a_cluster_of_dask(mode):
    distributed = pytest.importorskip("distributed")
    f, (x,) = PROBLEMS["wide"].make(20)
    local = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**local) as cluster, distributed.Client(cluster) as client:
        answer = ad.jacobian(f, mode=mode, executor=client.get_executor())(x)
    assert equal(answer, ad.jacobian(f, mode=mode, executor=Here())(x))
