"""Exercise 6: the chain rule on the graph, each edge with its local partial."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import dualad as ad
from dualad.graph import draw
from dualad.harness.tables import table
from dualad.program import Edge, Graph
from exercises.functions import POINT, SLOPE, log_sine
from exercises.page import PLOTS, drawn, heading, say, section, show

#: the local partial of each operation in its first and in its second argument, as one writes it
PARTIALS = {
    "x ** 2": ("2 * x", None),
    "np.log(v1)": ("1 / v1", None),
    "np.sin(x)": ("np.cos(x)", None),
    "v2 * v3": ("v3", "v2"),
    "1 / x": ("-1 / x**2", None),
    "v4 + v5": ("1", "1"),
}


def main(plots: Path = PLOTS, quick: bool = False) -> None:
    """Partials at the edges, products along paths, and their sum."""
    heading(6, "df/dx by the chain rule, term by term on the graph of exercise 5.")
    graph = ad.trace(log_sine)(POINT).graph()
    formulas = at_edges(graph)
    total = along_paths(graph)
    in_one_line(total)
    labels = [
        f"{formula}\n= {edge.partial:.4g}" if formula != "1" else "1"
        for formula, edge in zip(formulas, graph.edges, strict=True)
    ]
    path = plots / "exercise_6.png"
    title = f"local partials at the edges: df/dx = {total:.6g} at x = {POINT:g}"
    draw(graph, path, title, labels=labels)
    drawn(path)


def at_edges(graph: Graph) -> list[str]:
    """The local partial of every edge, as a formula and as a number."""
    section("Each edge: how much does the result change for a change of what it uses?")
    values = {node.name: node.value for node in graph.nodes}
    operation = {node.name: node.formula for node in graph.nodes}
    used: dict[str, int] = {}
    formulas, rows = [], []
    for edge in graph.edges:
        i = used[edge.target] = used.get(edge.target, -1) + 1
        formula = PARTIALS[operation[edge.target]][i]
        assert formula is not None
        by_hand = eval(formula, {"np": np}, values)
        # The number at the edge is the table's, the formula is ours: they are the same.
        assert math.isclose(by_hand, edge.partial, rel_tol=1e-15)
        formulas.append(formula)
        rows.append([
            f"{edge.source} -> {edge.target}", operation[edge.target],
            f"d{edge.target}/d{edge.source} = {formula}", f"{edge.partial:+.6f}",
        ])  # fmt: skip
    show(table(["edge", "operation", "local partial", "number"], rows))
    return formulas


def paths(graph: Graph, node: str) -> Iterator[list[Edge]]:
    """Every path from a node to the output."""
    if node in graph.outputs:
        yield []
    for edge in graph.edges:
        if edge.source == node:
            for rest in paths(graph, edge.target):
                yield [edge, *rest]


def along_paths(graph: Graph) -> float:
    """The product along each path from x to f, and the sum of the products."""
    section("Each path: the product of its edges.  All paths: their sum")
    rows, total = [], 0.0
    for path in paths(graph, "x"):
        product = math.prod(edge.partial for edge in path)
        total += product
        rows.append([
            " -> ".join(["x", *(edge.target for edge in path)]),
            " * ".join(f"({edge.partial:.4g})" for edge in path), f"{product:+.15f}",
        ])  # fmt: skip
    rows.append(["df/dx", "the sum", f"{total:+.15f}"])
    show(table(["path", "product of partials", "contribution"], rows))
    say("""
        That is the chain rule: whatever way x takes to f, a small change is multiplied by the
        partials that it passes, and the ways add up.
    """)
    assert len(rows) == 4
    return total


def in_one_line(total: float) -> None:
    """The same with formulas instead of numbers, and what the library says."""
    section("In one line")
    x = POINT
    by_hand = (1 / x**2) * (2 * x) * np.sin(x) + np.cos(x) * np.log(x**2) - 1 / x**2
    automatic = ad.derivative(log_sine)(x)
    show(
        """
df/dx = (1 / x^2)(2 x) sin x + cos x log(x^2) - 1/x^2
      = 2 sin(x)/x + cos x log(x^2) - 1/x^2
""".strip()
    )
    show(
        f"from the graph:  {total!r}\n"
        f"by the formula:  {float(by_hand)!r}\n"
        f"ad.derivative:   {automatic!r}"
    )
    assert automatic == SLOPE
    # The terms are near 1 and their sum is near 0.1, so that the last bits of the terms show.
    ulp = float(np.spacing(1.0))
    assert abs(total - SLOPE) <= ulp
    assert abs(by_hand - SLOPE) <= ulp


if __name__ == "__main__":
    main()
