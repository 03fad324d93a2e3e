"""The table of rules, and the namespace in which formulas meet numbers.

Each file holds the rows of one kind; ``composed`` holds functions that need no row.  Seen as
a namespace, this package has NumPy's names, so that a row's formula can be evaluated on
numbers as it is on arrays.
"""

from dualad.primitive import Elementwise, Primitive
from dualad.rules.calculus import *  # noqa: F403
from dualad.rules.composed import *  # noqa: F403
from dualad.rules.elementwise import *  # noqa: F403
from dualad.rules.fourier import *  # noqa: F403
from dualad.rules.implicit import undetermined_hook as undetermined_hook
from dualad.rules.lifting import as_array as as_array
from dualad.rules.lifting import has_number as has_number
from dualad.rules.lifting import lift as lift
from dualad.rules.linalg import det as det
from dualad.rules.linear import *  # noqa: F403
from dualad.rules.linear import setitem as setitem
from dualad.rules.methods import *  # noqa: F403
from dualad.rules.multilinear import *  # noqa: F403
from dualad.rules.plain import *  # noqa: F403
from dualad.rules.polynomials import *  # noqa: F403
from dualad.rules.products import *  # noqa: F403
from dualad.rules.reductions import *  # noqa: F403
from dualad.rules.roots import product as product
from dualad.rules.roots import raised as raised
from dualad.rules.selection import *  # noqa: F403
from dualad.rules.statistics import *  # noqa: F403
from dualad.rules.ufuncs import *  # noqa: F403

elementwise_rows = frozenset(r for r in Primitive.table.values() if isinstance(r, Elementwise))
