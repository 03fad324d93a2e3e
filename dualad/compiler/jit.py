"""Programs of numbers as machine code, with Numba (the extra ``jit``).

The same statements, compiled once more: worth a second or so of compilation where a program of
many operations is run many times.  Arithmetic is NumPy's (no exceptions: infinities and NaN).
Programs with arrays stay with NumPy, and so does what Numba does not know.
"""

from __future__ import annotations

import importlib.util
import types
from collections.abc import Callable
from typing import Any

from dualad.compiler.emit import Emitter, Source
from dualad.program import Program


def require() -> None:
    """Raise ``ImportError`` where Numba is not installed."""
    if importlib.util.find_spec("numba") is None:
        raise ImportError("backend='numba' needs Numba: pip install 'dualad[jit]'")


def machine_code(program: Program, example: list[Any]) -> Callable[..., Any] | None:
    """The program as a function that gives (whether its guards held, output, output ...).

    None where Numba cannot compile it.
    """
    import numba

    namespace: dict[str, Any] = {}
    names = [op.name for op in program.inputs]
    source = Source(namespace, [*names, *(op.name for op in program.operations)])
    failed = f"return (False, {'0.0, ' * len(program.outputs)})"
    outputs = Emitter(program, source, list(program.steps)).emit(failed)
    given = ", ".join(f"float({y})" for y in outputs)
    body = "\n    ".join([*source.lines, f"return (True, {given},)"])
    for name, value in namespace.items():
        if isinstance(value, types.FunctionType):
            namespace[name] = numba.njit(error_model="numpy")(value)
    exec(f"def program({', '.join(names)}):\n    {body}", namespace)
    try:
        fast = numba.njit(error_model="numpy")(namespace["program"])
        fast(*example)
    except (numba.core.errors.NumbaError, TypeError, NotImplementedError):
        return None
    code: Callable[..., Any] = fast
    return code
