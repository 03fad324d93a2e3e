"""Dependency graphs, drawn: what a result depends on, and by how much.

A program's operations are laid out from left to right, each as far from the arguments as its
longest way there; every box says the formula and the value, every arrow the local partial.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from dualad.program import Graph, Program

_BOX = {"boxstyle": "round,pad=0.35", "linewidth": 1.0}


def layers(graph: Graph) -> dict[str, int]:
    """How far every node is from the arguments, by the longest way."""
    depth = {node.name: 0 for node in graph.nodes}
    for edge in graph.edges:  # in order of evaluation
        depth[edge.target] = max(depth[edge.target], depth[edge.source] + 1)
    return depth


def _number(value: Any) -> str:
    """A value in few digits; an array by its shape."""
    shape = getattr(value, "shape", ())
    return f"array {shape}" if shape else f"{value:.4g}"


def _places(graph: Graph) -> dict[str, tuple[float, float]]:
    """A place for every node: its layer, and a row near those that it comes from."""
    depth = layers(graph)
    columns: dict[int, list[str]] = {}
    for node in graph.nodes:
        columns.setdefault(depth[node.name], []).append(node.name)
    before: dict[str, list[str]] = {}
    for edge in graph.edges:
        before.setdefault(edge.target, []).append(edge.source)
    places: dict[str, tuple[float, float]] = {}
    for d in sorted(columns):
        names = columns[d]
        heights = {
            n: sum(places[m][1] for m in before[n]) / len(before[n]) if n in before else 0.0
            for n in names
        }
        names.sort(key=heights.__getitem__, reverse=True)
        for i, name in enumerate(names):
            places[name] = (float(d), (len(names) - 1) / 2.0 - i)
    return places


def draw(program: Program | Graph, path: str | Path, title: str = "") -> Path:
    """Draw a dependency graph into a file, and give its path.

    >>> import tempfile
    >>> from dualad import trace
    >>> file = Path(tempfile.mkdtemp()) / "graph.svg"
    >>> draw(trace(lambda x, y: x * y + x)(2.0, 3.0), file).stat().st_size > 0
    True
    """
    graph = program.graph() if isinstance(program, Program) else program
    places = _places(graph)
    width = max(x for x, _ in places.values()) + 1.0
    height = 2.0 * max(abs(y) for _, y in places.values()) + 1.5
    figure = Figure(figsize=(2.3 * width + 0.6, 1.15 * height + 0.5), layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_xlim(-0.5, width - 0.5)
    axes.set_ylim(-height / 2, height / 2)
    if title:
        axes.set_title(title)
    boxes = {}
    for node in graph.nodes:
        color = "#f4f4f4"
        if node.name in graph.inputs:
            color = "#dcebf7"
        elif node.name in graph.outputs:
            color = "#fbe3d0"
        text = node.name if node.formula == node.name else f"{node.name} = {node.formula}"
        boxes[node.name] = axes.text(
            *places[node.name], f"{text}\n{_number(node.value)}", ha="center", va="center",
            fontsize=9, bbox={**_BOX, "facecolor": color, "edgecolor": "#555555"}, zorder=3,
        )  # fmt: skip
    figure.draw_without_rendering()  # now the boxes have their sizes
    seen: dict[tuple[str, str], int] = {}
    for edge in graph.edges:
        again = seen[edge.source, edge.target] = seen.get((edge.source, edge.target), -1) + 1
        start, end = places[edge.source], places[edge.target]
        bend = 0.25 * again + (0.4 if end[0] - start[0] > 1 and start[1] == end[1] else 0.0)
        axes.add_patch(FancyArrowPatch(
            start, end, patchA=boxes[edge.source].get_bbox_patch(),
            patchB=boxes[edge.target].get_bbox_patch(), arrowstyle="-|>", mutation_scale=10,
            connectionstyle=f"arc3,rad={bend}", color="#777777", linewidth=1.0, zorder=1,
        ))  # fmt: skip
        if edge.partial is not None:
            x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
            y -= bend * (end[0] - start[0]) / 2
            axes.text(
                x, y, _number(edge.partial), fontsize=8, ha="center", va="center",
                color="#b03a2e", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
                zorder=2,
            )  # fmt: skip
    path = Path(path)
    with matplotlib.rc_context({"svg.hashsalt": "dualad"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    return path
