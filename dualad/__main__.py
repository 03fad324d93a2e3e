"""The command line: ``python -m dualad compare helmholtz --n 1,8,50``.

What cannot be done is said in one line on standard error, with exit status 2.  Whatever was
measured before an interrupt is kept.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from dualad.harness import storage, tables
from dualad.harness.compare import Comparison, compare
from dualad.harness.experiments import EXPERIMENTS
from dualad.harness.measure import machine
from dualad.harness.problems import PROBLEMS
from dualad.program import trace

#: seconds of rounds, and the longest call that is waited for, in full and quick form
FULL, QUICK = (1.0, 60.0), (0.05, 2.0)
#: operations that a graph can show
MOST_DRAWN = 150


class Refused(Exception):
    """What the user asked for cannot be done; the message is one line."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line too."""

    def error(self, message: str) -> NoReturn:
        raise Refused(message)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit status."""
    # A function of the user's is looked for where the user is.
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        options = _parser().parse_args(argv)
        run: Callable[[argparse.Namespace], int] = options.run
        return run(options)
    except Refused as refused:
        print(f"dualad: {' '.join(str(refused).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("dualad: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output, head say, has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> Parser:
    parser = Parser(prog="dualad", description="Forward against reverse, measured and explained.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)
    names = ", ".join(PROBLEMS)

    one = commands.add_parser("compare", help="what each mode costs on a function")
    one.add_argument("function", help=f"module:function, or one of {names}")
    one.add_argument("--n", type=_sizes, help="sizes of a named problem, as in 1,8,50")
    one.add_argument("--at", action="append", type=_literal, default=[], metavar="POINT",
                     help='an argument, as in "[0.1, 0.2]"; once for each')  # fmt: skip
    one.add_argument("--want", choices=["gradient", "jacobian", "hessian"])
    one.add_argument("--chunks", type=_sizes, default=[],
                     help="numbers of directions to push forward at once")  # fmt: skip
    one.add_argument("--compiled", action="store_true", help="compiled derivatives too")
    one.add_argument("--json", type=Path, help="a file to add the results to")
    one.add_argument("--plot", type=Path, help="a figure to draw")
    one.add_argument("--quick", action="store_true", help="seconds, for a first look")
    one.set_defaults(run=_compare)

    graph = commands.add_parser("graph", help="draw what the value of a function depends on")
    graph.add_argument("function", help="as for compare")
    graph.add_argument("--n", type=_sizes, help="the size of a named problem")
    graph.add_argument("--at", action="append", type=_literal, default=[], metavar="POINT")
    graph.add_argument("--out", type=Path, required=True, help="the figure to draw")
    graph.set_defaults(run=_graph, want=None)

    many = commands.add_parser("experiment", help="one of the experiments, or all")
    many.add_argument("which", help=f"a number from 1 to {max(EXPERIMENTS)}, or all")
    many.add_argument("--out", type=Path, help="a directory for figures and results")
    many.add_argument("--quick", action="store_true", help="seconds instead of minutes")
    many.add_argument("--redraw", action="store_true", help="draw again what --out holds")
    many.set_defaults(run=_experiment)

    two = commands.add_parser("draw", help="draw again what compare --json wrote")
    two.add_argument("json", type=Path)
    two.add_argument("--plot", type=Path, required=True)
    two.set_defaults(run=_draw)
    return parser


def _sizes(text: str) -> list[int]:
    try:
        sizes = [int(word) for word in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of sizes, as 1,8,50 is")
    return sizes


def _literal(text: str) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a point: write a number, or a list of numbers"
        ) from None
    try:
        point = np.array(value, dtype=float)
    except (ValueError, TypeError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a point: its entries are not numbers in rows of one length"
        ) from None
    return point if point.ndim else point[()]


# ---------------------------------------------------------------------------- compare


def _compare(options: argparse.Namespace) -> int:
    seconds, patience = QUICK if options.quick else FULL
    for path in (options.json, options.plot):
        _check_directory(path)
    if options.json is not None:
        _load(options.json)
    results: list[Comparison] = []
    status = 0
    for name, n, f, args in _instances(options):
        label = name if n is None else f"{name}, n = {n}"
        with tables.Progress(label) as progress:
            try:
                result = compare(
                    f, *args, want=options.want, chunks=options.chunks,
                    compiled=options.compiled, name=name, n=n, seconds=seconds,
                    patience=patience, progress=progress,
                )  # fmt: skip
            except (ValueError, TypeError) as error:
                raise Refused(f"{label}: {error}") from None
            except KeyboardInterrupt:
                status = 130
                break
        if results:
            print()
        print(result.table(), flush=True)
        results.append(result)
        if options.json is not None:
            storage.add(options.json, [result])
        if result.measurement.interrupted:
            status = 130
            break
    if status:
        print(f"dualad: interrupted after {len(results)} comparisons", file=sys.stderr)
    if options.plot is not None and results:
        _plot(results, options.plot)
    return status


def _instances(options: argparse.Namespace) -> Any:
    """The functions and points that are asked for, each made when its turn comes."""
    if ":" in options.function:
        if options.n is not None:
            raise Refused("--n is for the named problems; yours is taken --at a point")
        if not options.at:
            raise Refused(f'{options.function}: where? Say --at "[0.1, 0.2]"')
        f = _imported(options.function)
        _check_value(options.function, f, options.at)
        yield options.function, None, f, options.at
        return
    if options.function not in PROBLEMS:
        raise Refused(
            f"no problem is named {options.function!r}: there are {', '.join(PROBLEMS)}; a "
            "function of yours is module:function"
        )
    problem = PROBLEMS[options.function]
    sizes = options.n or list(problem.sizes)
    order = 2 if options.want == "hessian" else 1
    if min(sizes) < problem.smallest:
        raise Refused(f"{problem.name} has a size n of at least {problem.smallest}")
    for n in sizes:
        predicted, available = storage.predicted_bytes(problem, n, order), storage.available_bytes()
        if predicted > available:
            raise Refused(
                f"{problem.name} with n = {n} would take about {tables.memory(predicted)} of "
                f"memory, and {tables.memory(available)} are available"
            )
    if options.at and len(sizes) > 1:
        raise Refused("--at a point, a problem has one size: say which with --n")
    for n in sizes:
        f, (x,) = problem.make(n)
        if options.at:
            if len(options.at) != 1 or np.shape(options.at[0]) != np.shape(x):
                shapes = " and ".join(str(np.shape(a)) for a in options.at)
                raise Refused(
                    f"{problem.name} with n = {n} takes a point of shape {np.shape(x)}, "
                    f"not {shapes}"
                )
            (x,) = options.at
        _check_value(f"{problem.name} with n = {n}", f, [x])
        yield problem.name, n, f, [x]


def _imported(target: str) -> Callable[..., Any]:
    module_name, _, name = target.partition(":")
    try:
        f: Any = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise Refused(f"{module_name!r} does not import: {type(error).__name__}: {error}") from None
    for part in name.split("."):
        if not hasattr(f, part):
            raise Refused(f"{module_name!r} has no {name!r}")
        f = getattr(f, part)
    if not callable(f):
        raise Refused(f"{target} is of type {type(f).__name__}, not a function")
    return f  # type: ignore[no-any-return]


def _check_value(name: str, f: Callable[..., Any], args: Sequence[Any]) -> None:
    try:
        with np.errstate(all="ignore"):
            value = f(*args)
    except (Exception, SystemExit) as error:
        shapes = " and ".join(str(np.shape(a)) for a in args)
        raise Refused(
            f"{name} fails at the point, of shape {shapes}: {type(error).__name__}: {error}"
        ) from None
    try:
        entries = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise Refused(
            f"{name} gives a {type(value).__name__} at the point, not a number or an array"
        ) from None
    if not np.all(np.isfinite(entries)):
        raise Refused(f"{name} is not finite at the point: nothing to compare there")


# ------------------------------------------------------------------------------ graph


def _graph(options: argparse.Namespace) -> int:
    _check_directory(options.out)
    if ":" not in options.function and len(options.n or []) != 1:
        raise Refused("the graph of a problem is of one size: say which with --n")
    ((name, n, f, args),) = _instances(options)
    label = name if n is None else f"{name}, n = {n}"
    try:
        program = trace(f)(*args)
    except (TypeError, ValueError) as error:
        raise Refused(f"{label}: {error}") from None
    if len(program.operations) > MOST_DRAWN:
        raise Refused(
            f"{label} takes {len(program.operations)} operations, and a graph of more than "
            f"{MOST_DRAWN} cannot be read"
        )
    from dualad import graph  # loads Matplotlib

    try:
        graph.draw(program, options.out, label)
    except ValueError as error:  # a suffix that Matplotlib does not write
        raise Refused(f"{options.out}: {error}") from None
    print(f"drawn: {options.out}")
    return 0


# ------------------------------------------------------------------------- experiments


def _experiment(options: argparse.Namespace) -> int:
    if options.which != "all" and options.which not in map(str, EXPERIMENTS):
        raise Refused(f"no experiment {options.which!r}: they are 1 to {max(EXPERIMENTS)}, or all")
    numbers = list(EXPERIMENTS) if options.which == "all" else [int(options.which)]
    if options.out is None:
        if options.redraw:
            raise Refused("--redraw needs the directory of the results: --out")
    elif options.out.exists() and not options.out.is_dir():
        raise Refused(f"{options.out} is not a directory")
    for number in numbers:
        result = _stored(options.out, number) if options.redraw else _run(number, options.quick)
        print(f"{number}. {EXPERIMENTS[number].title}\n")
        print(textwrap.fill(EXPERIMENTS[number].tell(result["data"]), 96), end="\n\n", flush=True)
        if options.out is not None:
            _keep(options.out, number, result, store=not options.redraw)
    return 0


def _run(number: int, quick: bool) -> dict[str, Any]:
    with tables.Progress(EXPERIMENTS[number].title) as progress:
        try:
            data = EXPERIMENTS[number].run(quick, progress)
        except FileNotFoundError as error:
            raise Refused(str(error)) from None
    return {"experiment": number, "quick": quick, "machine": machine(), "data": data}


def _stored(out: Path, number: int) -> dict[str, Any]:
    path = out / f"experiment-{number}.json"
    try:
        stored: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise Refused(f"{path}: {error}") from None
    return stored


def _keep(out: Path, number: int, result: dict[str, Any], store: bool) -> None:
    """Write the results and the figure; and the page, once all are there."""
    from dualad.harness import figures  # loads Matplotlib

    out.mkdir(parents=True, exist_ok=True)
    if store:
        text = json.dumps(result, indent=1)
        (out / f"experiment-{number}.json").write_text(text + "\n", "utf-8")
    figure = out / f"experiment-{number}.png"
    figures.draw(result, figure)
    print(f"drawn: {figure}\n")
    if all((out / f"experiment-{k}.json").exists() for k in EXPERIMENTS):
        page = figures.page([_stored(out, k) for k in EXPERIMENTS])
        (out / "README.md").write_text(page, "utf-8")


# ------------------------------------------------------------------------------- files


def _check_directory(path: Path | None) -> None:
    if path is not None and not path.parent.is_dir():
        raise Refused(f"there is no directory {path.parent}")


def _load(path: Path) -> list[Comparison]:
    try:
        return storage.load(path)
    except (OSError, ValueError) as error:
        raise Refused(str(error)) from None


def _draw(options: argparse.Namespace) -> int:
    _check_directory(options.plot)
    results = _load(options.json)
    if not results:
        raise Refused(f"{options.json} holds no comparisons")
    _plot(results, options.plot)
    return 0


def _plot(results: Sequence[Comparison], path: Path) -> None:
    from dualad.harness import report  # loads Matplotlib

    try:
        report.comparisons(results, path)
    except ValueError as error:  # a suffix that Matplotlib does not write
        raise Refused(f"{path}: {error}") from None
    print(f"drawn: {path}")


if __name__ == "__main__":
    sys.exit(main())
