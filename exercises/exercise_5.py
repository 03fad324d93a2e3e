"""Exercise 5: the dependency graph of f(x) = log(x²) sin x + 1/x."""

from __future__ import annotations

from pathlib import Path

import dualad as ad
from dualad.graph import draw
from dualad.harness.tables import table
from exercises.functions import POINT, log_sine
from exercises.page import PLOTS, drawn, heading, say, show


def main(plots: Path = PLOTS, quick: bool = False) -> None:
    """Record f, list what depends on what, and draw it."""
    heading(5, "Draw the graph of how f(x) = log(x^2) sin x + 1/x depends on x.")
    program = ad.trace(log_sine)(POINT)
    say(f"""
        Run once at x = {POINT:g} on numbers that write down what is done with them, f becomes a
        list of single operations, each with a name:
    """)
    show(program.source.rstrip())
    graph = program.graph()
    say("As a graph: every name is a node; an edge leads from what is used to where it is used.")
    rows = []
    for node in graph.nodes:
        comes_from = [edge.source for edge in graph.edges if edge.target == node.name]
        leads_to = [edge.target for edge in graph.edges if edge.source == node.name]
        value = f"{node.value:.6f}"
        rows.append([node.name, node.formula, value, " ".join(comes_from), " ".join(leads_to)])
    show(table(["node", "formula", "value", "comes from", "leads to"], rows))
    say("""
        Three edges leave x, since x is used three times; from there three paths lead to f.
        The next exercise adds up what each of them contributes.
    """)

    assert program(POINT) == log_sine(POINT)
    assert graph.inputs == ["x"]
    assert graph.outputs == [graph.nodes[-1].name]
    assert graph.nodes[-1].value == log_sine(POINT)
    assert [edge.source for edge in graph.edges].count("x") == 3
    path = plots / "exercise_5.png"
    title = f"f(x) = log(x²) sin x + 1/x at x = {POINT:g}"
    draw(graph, path, title, labels=[""] * len(graph.edges))
    drawn(path)


if __name__ == "__main__":
    main()
