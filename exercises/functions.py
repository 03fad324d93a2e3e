"""The functions that the chapter is about."""

from __future__ import annotations

from typing import Any

import numpy as np

#: the point at which exercises 5 to 7 take f, and its derivative there
POINT = 2.0
SLOPE = 0.08239541392249738


def log_sine(x: Any) -> Any:
    """f(x) = log(x²) sin x + 1/x, the function of exercises 5 to 7."""
    return np.log(x**2) * np.sin(x) + 1 / x


def control_flow(a: Any) -> Any:
    """Loop and branch depend on the argument, as printed in the chapter."""
    b = a * 2
    while np.linalg.norm(b) < 1000:
        b = b * 2
    if b.sum() > 0:  # noqa: SIM108
        c = b
    else:
        c = 100 * b
    return c
