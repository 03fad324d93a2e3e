"""Exercise 7: the same derivative from x to f, and from f to x."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import dualad as ad
from dualad.graph import draw
from dualad.harness.tables import table
from dualad.program import Edge, Graph
from exercises.functions import POINT, SLOPE, log_sine
from exercises.page import PLOTS, drawn, heading, say, section, show

ULP = float(np.spacing(1.0))


def main(plots: Path = PLOTS, quick: bool = False) -> None:
    """Both sweeps, step by step and on the graph."""
    heading(7, "Once from x to f (forward) and once from f to x (reverse).")
    graph = ad.trace(log_sine)(POINT).graph()
    tangents = forward(graph)
    adjoints = reverse(graph)
    compare(graph, tangents, adjoints)
    for name, values, mark, backwards, title in [
        ("forward", tangents, "tangent", False, "x to f: tangents, dv/dx"),
        ("reverse", adjoints, "adjoint", True, "f to x: adjoints, df/dv"),
    ]:
        path = plots / f"exercise_7_{name}.png"
        notes = {node: f"{mark} {value:.4g}" for node, value in values.items()}
        draw(graph, path, title, notes=notes, backwards=backwards)
        drawn(path)


def terms(pairs: list[tuple[float, float]]) -> str:
    """A sum of products, as one writes it."""
    return " + ".join(f"({a:.4g})({b:.4g})" for a, b in pairs)


def forward(graph: Graph) -> dict[str, float]:
    """Tangents: each node adds up, over its edges from before, partial times tangent."""
    section("From x to f")
    say("""
        The tangent of a node is its derivative with respect to x.  That of x is 1, the seed;
        every other is known as soon as those of the nodes before it are.
    """)
    tangents = {graph.inputs[0]: 1.0}
    rows = [["0", "x", "seed", "1"]]
    for step, node in enumerate(graph.nodes[1:], 1):
        arriving = [edge for edge in graph.edges if edge.target == node.name]
        pairs = [(edge.partial, tangents[edge.source]) for edge in arriving]
        tangents[node.name] = sum(partial * tangent for partial, tangent in pairs)
        rows.append([
            str(step), f"{node.name} = {node.formula}", terms(pairs), f"{tangents[node.name]:+.15f}"
        ])  # fmt: skip
    show(table(["step", "node", "partials times tangents", "tangent"], rows))
    return tangents


def reverse(graph: Graph) -> dict[str, float]:
    """Adjoints: each node hands its own, times the partial, to the nodes it came from."""
    section("From f to x")
    say("""
        The adjoint of a node is the derivative of f with respect to it.  That of f is 1, the
        seed; every other is complete as soon as all nodes that use it have handed back theirs.
    """)
    output = graph.outputs[0]
    adjoints = {output: 1.0}
    received: dict[str, list[tuple[float, float]]] = {}
    rows = [["0", output, "seed", f"{1.0:+.15f}"]]
    for step, node in enumerate(reversed(graph.nodes)):
        if node.name != output:
            rows.append([
                str(step), node.name, terms(received[node.name]), f"{adjoints[node.name]:+.15f}"
            ])  # fmt: skip
        for edge in leading_to(graph, node.name):
            pair = edge.partial, adjoints[node.name]
            received.setdefault(edge.source, []).append(pair)
            adjoints[edge.source] = adjoints.get(edge.source, 0.0) + pair[0] * pair[1]
    show(table(["step", "node", "partials times adjoints", "adjoint"], rows))
    return adjoints


def leading_to(graph: Graph, node: str) -> list[Edge]:
    """The edges that end at a node."""
    return [edge for edge in graph.edges if edge.target == node]


def compare(graph: Graph, tangents: dict[str, float], adjoints: dict[str, float]) -> None:
    """Both give df/dx; what differs is what else they give, and what they must keep."""
    section("The two against each other")
    by_forward, by_reverse = tangents[graph.outputs[0]], adjoints[graph.inputs[0]]
    x = ad.Variable(POINT)
    log_sine(x).backward()
    number = log_sine(ad.Dual(POINT, 1.0))
    show(table(["df/dx", "by the tables above", "by the library"], [
        ["x to f", repr(by_forward), f"{number.tangent!r} (a Dual)"],
        ["f to x", repr(by_reverse), f"{x.grad!r} (a Variable, backward)"],
    ]))  # fmt: skip
    # Each is a sum of the same three products; the order of the sum may cost a last bit of 1.
    for answer in (by_forward, by_reverse, number.tangent, x.grad):
        assert abs(answer - SLOPE) <= 2 * ULP
    assert number.tangent == ad.derivative(log_sine)(POINT) == SLOPE
    # Tangent times adjoint, added up over any cut through the graph, is df/dx.
    for cut in (["x"], ["v1", "v3", "v5"], ["v2", "v3", "v5"], ["v4", "v5"], ["v6"]):
        assert abs(sum(tangents[v] * adjoints[v] for v in cut) - SLOPE) <= 2 * ULP
    say("""
        Both walk along the same eight edges, one product at each.  They form the same
        three products in all, and add them up in another order: they differ in the last bit
        of the terms at most.

        What else they give differs.  Forward gives the derivative of every node with respect to
        x: with more outputs, all of them at once.  Reverse gives the derivative of f with
        respect to every node: with more inputs, all of them at once.  And what they need
        differs: forward goes along with f and forgets; reverse can begin only when f is
        done, and needs all the partials until then.
    """)


if __name__ == "__main__":
    main()
