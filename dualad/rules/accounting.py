"""What becomes of every public name of NumPy: a table read off the registry.

A name is differentiated, plain by nature, made like a number (``like=x``), refused with a
reason, or nothing that is ever given a number.  A name of a new NumPy that is none of
these has no account, and a test fails.  ``python -m dualad.rules.accounting`` prints the table.
"""

from __future__ import annotations

import types
from typing import Any, NamedTuple

import numpy as np

from dualad.primitive import Primitive, implementations
from dualad.rules.composed import creations
from dualad.rules.plain import plain_functions, refused_functions

NAMESPACES: dict[str, Any] = {"np": np, "np.linalg": np.linalg, "np.fft": np.fft}

#: functions that are given no numbers: why -> their names
WITHOUT_NUMBERS = {
    "reads data from outside": (
        "load loadtxt genfromtxt fromfile fromregex frombuffer fromstring from_dlpack"
    ),
    "about types": (
        "isdtype issubdtype promote_types mintypecode typename isscalar iterable isfortran "
        "broadcast_shapes"
    ),
    "indices, which are integers": (
        "diag_indices indices mask_indices tril_indices triu_indices nested_iters"
    ),
    "a window of constants": "bartlett blackman hamming hanning kaiser",
    "sample frequencies, which are constants": "fftfreq rfftfreq",
    "text": (
        "base_repr binary_repr format_float_positional format_float_scientific set_printoptions "
        "get_printoptions printoptions"
    ),
    "settings of NumPy": (
        "geterr seterr geterrcall seterrcall getbufsize setbufsize get_include show_config "
        "show_runtime test info"
    ),
    "makes a function that NumPy calls entry by entry": "frompyfunc",
    "matrices are arrays of NumPy's own: use arrays": "asmatrix bmat",
    "calls np.asarray": "asarray_chkfinite",
}


class Account(NamedTuple):
    """What becomes of a name: how it is treated, and why or by what."""

    name: str
    treatment: str
    remark: str


def accounts() -> list[Account]:
    """An account of every public name; its treatment is ``""`` where there is none."""
    return [
        Account(f"{prefix}.{name}", *_treatment(name, getattr(module, name)))
        for prefix, module in NAMESPACES.items()
        for name in public_names(module)
    ]


def public_names(module: Any) -> list[str]:
    """The functions and objects that a namespace offers, without its modules."""
    return [
        name
        for name in sorted(dir(module))
        if not name.startswith("_") and not isinstance(getattr(module, name), types.ModuleType)
    ]


def _treatment(name: str, thing: Any) -> tuple[str, str]:
    if isinstance(thing, type):
        return "no function", "a class"
    if not callable(thing):
        return "no function", "a constant, or an object to index"
    if thing in refused_functions:
        return "refused", refused_functions[thing]
    if thing in plain_functions:
        return "plain", "sees the primal, gives a plain result"
    if thing in creations:
        return "constant", "a plain array; with like=x one that numbers can be assigned into"
    implementation = implementations.get(thing)
    if isinstance(implementation, Primitive):
        return "differentiated", f"a row: {implementation.kind}"
    if implementation is not None:
        return "differentiated", "written with others"
    for reason, names in WITHOUT_NUMBERS.items():
        if name in names.split():
            return "no numbers", reason
    return "", ""


def table() -> str:
    """All accounts as a table in Markdown."""
    rows = [
        f"| `{a.name}` | {a.treatment or '**none**'} | {a.remark} |"
        for a in accounts()
        if a.treatment != "no function"
    ]
    return "\n".join(["| name | treatment | how, or why |", "|---|---|---|", *rows])


if __name__ == "__main__":
    print(table())
