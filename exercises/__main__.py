"""Run the exercises: all of them, or those whose numbers are given."""

from __future__ import annotations

import argparse
import importlib
import os
from collections.abc import Sequence
from pathlib import Path

from exercises.page import PLOTS

NUMBERS = range(9)

# Times are those of the method, not of the threads that a matrix product may start: on a busy
# machine these wait for each other, a hundred times as long as the product takes.  Before
# NumPy is loaded, hence before the exercises are.
for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")


def run(numbers: Sequence[int], plots: Path, quick: bool) -> None:
    """Run these exercises in turn."""
    for number in numbers:
        importlib.import_module(f"exercises.exercise_{number}").main(plots, quick)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and run what it asks for."""
    parser = argparse.ArgumentParser(prog="python -m exercises", description=__doc__)
    parser.add_argument(
        "numbers", nargs="*", type=int, metavar="N", help="which exercises, 0 to 8; by default all"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, for a quick check")
    parser.add_argument("--plots", type=Path, default=PLOTS, help="where the pictures go")
    options = parser.parse_args(argv)
    wrong = sorted(set(options.numbers) - set(NUMBERS))
    if wrong:
        parser.error(f"there is no exercise {wrong[0]}: they are numbered from 0 to 8")
    run(options.numbers or NUMBERS, options.plots, options.quick)


if __name__ == "__main__":
    main()
