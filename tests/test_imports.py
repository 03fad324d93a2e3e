"""Imports run strictly downwards, and importing the library loads NumPy and nothing else."""

from __future__ import annotations

import ast
import graphlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
#: modules and packages, each of which may import those before it
ORDER = [
    "dualad.scalar", "dualad.tree", "dualad.primitive", "dualad.rules", "dualad.protocols",
    "dualad.dual", "dualad.hyperdual", "dualad.tape", "dualad.undetermined", "dualad.program",
    "dualad.modes", "dualad.transforms", "dualad.checking", "dualad.checkpointing",
    "dualad.registration", "dualad.compiler", "dualad.graph", "dualad.harness", "dualad",
    "dualad.__main__",
]  # fmt: skip
#: Matplotlib takes half a second to load: what draws is loaded when something is drawn
DRAWING = {"dualad.graph", "dualad.harness.report"}


def modules() -> dict[str, Path]:
    """Every module of the package by its name."""
    found = {}
    for path in (ROOT / "dualad").rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


MODULES = modules()


def layer(module: str) -> str:
    """The entry of ORDER that a module belongs to."""
    return max((entry for entry in ORDER if f"{module}.".startswith(f"{entry}.")), key=len)


def imports(module: str, inside_functions: bool) -> set[str]:
    """What a module imports, at its top or anywhere in it."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    found = set()
    for node in ast.walk(tree) if inside_functions else tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relative to itself"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in MODULES else str(node.module))
    return found


def test_every_module_has_its_place():
    top = {name for name in MODULES if name.count(".") <= 1}
    assert top == set(ORDER), "a module of dualad/ belongs into ORDER, above all that it imports"


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_run_downwards(module):
    here = ORDER.index(layer(module))
    for other in imports(module, inside_functions=True) & MODULES.keys():
        there = ORDER.index(layer(other))
        assert there < here or layer(module) == layer(other), f"{module} imports {other}, above it"


def test_no_imports_in_a_circle():
    graph = {module: imports(module, False) & MODULES.keys() for module in MODULES}
    order = list(graphlib.TopologicalSorter(graph).static_order())
    assert set(order) == set(MODULES)


def test_only_what_draws_imports_matplotlib():
    using = {
        module
        for module in MODULES
        if any(name.split(".")[0] == "matplotlib" for name in imports(module, True))
    }
    assert using == DRAWING


def test_no_module_that_draws_is_loaded_before_something_is_drawn():
    for module in MODULES.keys() - DRAWING:
        if module != "dualad.harness.figures":
            assert not imports(module, inside_functions=False) & DRAWING


@pytest.mark.parametrize("module", ["dualad", "dualad.__main__"])
def test_importing_loads_numpy_and_nothing_else(module):
    # NumPy's extensions bring names of their own, and so does multiprocessing.
    known = loaded_by("numpy, numpy.linalg, numpy.fft, numpy.random, multiprocessing.spawn")
    foreign = {name.split(".")[0] for name in loaded_by(module) - known}
    assert foreign - set(sys.stdlib_module_names) == {"dualad"}


def loaded_by(imported: str) -> set[str]:
    """All modules that an import loads in a fresh interpreter, in silence."""
    script = f"import json, sys, {imported}; print(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert not run.stderr
    return set(json.loads(run.stdout))
