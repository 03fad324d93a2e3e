"""dualad: exact derivatives of plain NumPy code, forward and reverse, and what each costs."""

from dualad.checking import CheckError as CheckError
from dualad.checking import check as check
from dualad.checkpointing import checkpoint as checkpoint
from dualad.checkpointing import checkpoint_loop as checkpoint_loop
from dualad.dual import Dual as Dual
from dualad.harness.compare import compare as compare
from dualad.hyperdual import HyperDual as HyperDual
from dualad.primitive import LevelError as LevelError
from dualad.primitive import NotDifferentiableError as NotDifferentiableError
from dualad.primitive import no_grad as no_grad
from dualad.registration import primitive as primitive
from dualad.program import Program as Program
from dualad.program import trace as trace
from dualad.tape import Tape as Tape
from dualad.tape import Variable as Variable
from dualad.tape import record as record
from dualad.tape import stop_gradient as stop_gradient
from dualad.transforms import derivative as derivative
from dualad.transforms import grad as grad
from dualad.transforms import hessian as hessian
from dualad.transforms import hvp as hvp
from dualad.transforms import jacobian as jacobian
from dualad.transforms import jvp as jvp
from dualad.transforms import value_and_grad as value_and_grad
from dualad.transforms import vjp as vjp
