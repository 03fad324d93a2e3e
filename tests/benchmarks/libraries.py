"""How each library is asked for each kind of derivative; None where it is not installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

import dualad as ad

Make = Callable[[Any, str], Callable[[Any], Any]]


def by_hand(workload: Any) -> Callable[[Any], Any]:
    """The derivative written by hand: the floor."""
    return workload.by_hand


def eager(workload: Any) -> Callable[[Any], Any]:
    """dualad as it stands."""
    f = workload.make(np)
    return {
        "derivative": ad.derivative,
        "second": lambda f: ad.derivative(f, order=2),
        "entries": ad.derivative,
        "grad": ad.grad,
        "jacobian": ad.jacobian,
        "hessian": ad.hessian,
    }[workload.kind](f)


def compiled(workload: Any) -> Callable[[Any], Any]:
    """dualad, compiled."""
    return ad.compile(eager(workload))


def autograd(workload: Any) -> Callable[[Any], Any]:
    """Autograd: a tape over NumPy."""
    import autograd
    import autograd.numpy as anp

    f = workload.make(anp)
    return {
        "derivative": autograd.grad,
        "second": lambda f: autograd.grad(autograd.grad(f)),
        "entries": autograd.elementwise_grad,
        "grad": autograd.grad,
        "jacobian": autograd.jacobian,
        "hessian": autograd.hessian,
    }[workload.kind](f)


def jax(workload: Any) -> Callable[[Any], Any]:
    """JAX, compiled."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    derivative = {
        "derivative": jax.grad,
        "second": lambda f: jax.grad(jax.grad(f)),
        "entries": lambda f: jax.grad(lambda x: f(x).sum()),
        "grad": jax.grad,
        "jacobian": lambda f: lambda x: (jax.jacfwd if x.size < 100 else jax.jacrev)(f)(x),
        "hessian": jax.hessian,
    }[workload.kind](workload.make(jnp))
    fast = jax.jit(derivative)
    return lambda x: fast(x).block_until_ready()


def torch(workload: Any) -> Callable[[Any], Any]:
    """PyTorch."""
    import torch

    f = workload.make(torch)

    def gradient(x):
        t = torch.tensor(x, dtype=torch.float64, requires_grad=True)
        f(t).sum().backward()
        return t.grad.numpy()

    def second(x):
        t = torch.tensor(x, dtype=torch.float64, requires_grad=True)
        (d,) = torch.autograd.grad(f(t), t, create_graph=True)
        return torch.autograd.grad(d, t)[0].numpy()

    whole = {"jacobian": torch.func.jacrev, "hessian": torch.func.hessian, "second": None}
    transform = whole.get(workload.kind)
    if transform is not None:
        return lambda x: transform(f)(torch.tensor(x)).numpy()
    return second if workload.kind == "second" else gradient


LIBRARIES = {
    "by hand": by_hand,
    "dualad": eager,
    "dualad compiled": compiled,
    "autograd": autograd,
    "jax": jax,
    "torch": torch,
}


def installed(name: str) -> bool:
    """Whether a library can be timed here."""
    module = {"autograd": "autograd", "jax": "jax", "torch": "torch"}.get(name)
    return module is None or importlib.util.find_spec(module) is not None
