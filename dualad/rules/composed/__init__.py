"""Compositions: functions that need no rule, since they are written with others.

Each has NumPy's signature and answers for NumPy's function of the same name.  One file
holds a chapter of NumPy's manual.
"""

from dualad.rules.composed.averaging import *  # noqa: F403
from dualad.rules.composed.creating import *  # noqa: F403
from dualad.rules.composed.indexing import *  # noqa: F403
from dualad.rules.composed.joining import *  # noqa: F403
from dualad.rules.composed.parts import *  # noqa: F403
from dualad.rules.composed.shaping import *  # noqa: F403
