"""Functions of published packages, written for NumPy alone, differentiate as they stand.

Nothing of them is changed or wrapped.  Their derivatives in both modes are held to central
differences of the same function on plain arrays.
"""

import importlib
import warnings

import numpy as np
import pytest

import dualad as ad

OCEAN = [[34.0, 35.0, 36.2], [4.0, 10.0, 21.0], [10.0, 500.0, 2000.0]]
QUATERNION = [0.5, 0.4, -0.3, 0.7]
AIR = [[300.0, 305.0], [290.0, 295.0]]

#: (package, module, function, how it is called on the point x, the point)
CALLS = [
    ("seawater", "seawater", "dens", lambda f, x: f(x[0], x[1], x[2]), OCEAN),
    ("seawater", "seawater", "svel", lambda f, x: f(*x), OCEAN),
    ("seawater", "seawater", "ptmp", lambda f, x: f(x[0], x[1], x[2], 0.0), OCEAN),
    ("seawater", "seawater", "salt", lambda f, x: f(x[0] / 35, x[1], x[2]), OCEAN),
    ("transforms3d", "transforms3d.quaternions", "quat2mat", lambda f, x: f(x), QUATERNION),
    ("transforms3d", "transforms3d.quaternions", "qmult", lambda f, x: f(x, x[::-1]), QUATERNION),
    ("transforms3d", "transforms3d.quaternions", "qinverse", lambda f, x: f(x), QUATERNION),
    ("thermofeel", "thermofeel", "calculate_humidex", lambda f, x: f(x[0], x[1]), AIR),
    (
        "thermofeel",
        "thermofeel",
        "calculate_relative_humidity_percent",
        lambda f, x: f(x[0], x[1]),
        AIR,
    ),
    (
        "thermofeel",
        "thermofeel",
        "calculate_wind_chill",
        lambda f, x: f(x[0], x[1]),
        [[260.0, 265.0], [5.0, 9.0]],
    ),
    ("pymap3d", "pymap3d", "aer2enu", lambda f, x: f(*x), [33.0, 70.0, 1e3]),
    ("pymap3d", "pymap3d", "enu2aer", lambda f, x: f(*x), [186.0, 286.0, 939.0]),
    (
        "pymap3d",
        "pymap3d",
        "enu2uvw",
        lambda f, x: f(x[0], x[1], x[2], 42.0, -82.0),
        [186.0, 286.0, 939.0],
    ),
    (
        "numpy-financial",
        "numpy_financial",
        "pmt",
        lambda f, x: f(x[0], 10, x[1], x[2]),
        [0.05, 1000.0, 10.0],
    ),
    ("numpy-financial", "numpy_financial", "npv", lambda f, x: f(x[0], x[1:]), [0.05, -9, 2, 3, 9]),
    ("pyrr", "pyrr.quaternion", "cross", lambda f, x: f(x, x[::-1]), QUATERNION),
    ("pyrr", "pyrr.vector", "normalize", lambda f, x: f(x), QUATERNION),
    ("pyrr", "pyrr.matrix33", "create_from_quaternion", lambda f, x: f(x), QUATERNION),
]


def load(package, module):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(module)
    except ImportError:
        return pytest.skip(f"{package} is not installed (the extra 'packages' has it)")


def weighted_sum(y):
    """One number from whatever was returned, to which every entry contributes differently."""
    parts = y if isinstance(y, tuple) else (y,)
    return sum(
        np.sum(part * np.cos(np.arange(np.size(part)) + j).reshape(np.shape(part)))
        for j, part in enumerate(parts)
    )


def central_differences(f, x):
    slopes = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[i] = 1e-5 * max(1.0, abs(x[i]))
        slopes[i] = (f(x + step) - f(x - step)) / (2 * step[i])
    return slopes


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize(
    ("package", "module", "name", "call", "point"), CALLS, ids=[f"{c[1]}.{c[2]}" for c in CALLS]
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_a_published_function_differentiates_as_it_stands(package, module, name, call, point, mode):
    function = getattr(load(package, module), name)
    x = np.array(point, dtype=float)

    def f(x):
        return weighted_sum(call(function, x))

    got = ad.grad(f, mode=mode)(x)
    expected = central_differences(f, x)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())
