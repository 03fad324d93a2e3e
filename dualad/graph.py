"""Dependency graphs, drawn: what a result depends on, and by how much.

A program's operations are laid out from left to right, each as far from the arguments as its
longest way there; every box says the formula and the value, every arrow the local partial.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
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


Point = tuple[float, float]


def _places(graph: Graph) -> tuple[dict[str, Point], list[list[Point]]]:
    """A place for every node, and the points that every edge passes.

    Columns are layers.  An edge that crosses a layer gets a place there like a node, so that
    it runs between the boxes; in each column what comes from above stands above.
    """
    depth = layers(graph)
    stops: dict[Any, list[Any]] = {}  # each node or crossing -> what it comes from
    columns: dict[int, list[Any]] = {}
    for node in graph.nodes:
        columns.setdefault(depth[node.name], []).append(node.name)
        stops[node.name] = []
    routes = []
    for i, edge in enumerate(graph.edges):
        route: list[Any] = [edge.source]
        for d in range(depth[edge.source] + 1, depth[edge.target]):
            crossing = (i, d)
            columns[d].append(crossing)
            stops[crossing] = [route[-1]]
            route.append(crossing)
        stops[edge.target].append(route[-1])
        routes.append([*route, edge.target])
    places: dict[Any, Point] = {}
    for d in sorted(columns):
        column = columns[d]
        heights = {
            n: sum(places[m][1] for m in stops[n]) / len(stops[n]) if stops[n] else 0.0
            for n in column
        }
        column.sort(key=heights.__getitem__, reverse=True)
        for row, name in enumerate(column):
            places[name] = (float(d), (len(column) - 1) / 2.0 - row)
    return places, [[places[stop] for stop in route] for route in routes]


def draw(
    program: Program | Graph,
    path: str | Path,
    title: str = "",
    *,
    notes: Mapping[str, str] | None = None,
    labels: Sequence[str] | None = None,
    backwards: bool = False,
) -> Path:
    """Draw a dependency graph into a file, and give its path.

    ``notes`` are lines to add to the boxes of nodes, by name; ``labels`` are what to write at the
    edges instead of the local partials, in the order of ``graph.edges``; ``backwards`` turns
    the arrows, from results to what they depend on.

    >>> import tempfile
    >>> from dualad import trace
    >>> file = Path(tempfile.mkdtemp()) / "graph.svg"
    >>> draw(trace(lambda x, y: x * y + x)(2.0, 3.0), file).stat().st_size > 0
    True
    """
    graph = program if isinstance(program, Graph) else program.graph()
    notes = notes or {}
    places, routes = _places(graph)
    if labels is None:
        labels = ["" if e.partial is None else _number(e.partial) for e in graph.edges]
    points = [*places.values()]
    width = max(x for x, _ in points) + 1.0
    height = 2.0 * max(abs(y) for _, y in points) + 1.0
    figure = Figure(figsize=(2.1 * width + 0.3, 1.05 * height + 0.4), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_xlim(-0.5, width - 0.5)
    axes.set_ylim(-height / 2, height / 2)
    if title:
        axes.set_title(title, loc="left", fontsize=10)
    boxes = {}
    for node in graph.nodes:
        color = "#f4f4f4"
        if node.name in graph.inputs:
            color = "#dcebf7"
        elif node.name in graph.outputs:
            color = "#fbe3d0"
        text = node.name if node.formula == node.name else f"{node.name} = {node.formula}"
        lines = [text, f"value {_number(node.value)}", *filter(None, [notes.get(node.name)])]
        boxes[node.name] = axes.text(
            *places[node.name], "\n".join(lines), ha="center", va="center",
            fontsize=9, bbox={**_BOX, "facecolor": color, "edgecolor": "#555555"}, zorder=3,
        )  # fmt: skip
    figure.draw_without_rendering()  # now the boxes have their sizes
    seen: dict[tuple[str, str], int] = {}
    for edge, route, label in zip(graph.edges, routes, labels, strict=True):
        again = seen[edge.source, edge.target] = seen.get((edge.source, edge.target), -1) + 1
        bend = 0.25 * again  # the second arrow between the same two boxes
        last = len(route) - 2
        for i, (start, end) in enumerate(itertools.pairwise(route)):
            tip = (i == 0) if backwards else (i == last)
            axes.add_patch(FancyArrowPatch(
                *((end, start) if backwards else (start, end)),
                **_clipped(boxes[edge.source] if i == 0 else None,
                           boxes[edge.target] if i == last else None, backwards),
                arrowstyle="-|>" if tip else "-", mutation_scale=10, shrinkA=0,
                shrinkB=2 if tip else 0,
                connectionstyle=f"arc3,rad={-bend if backwards else bend}", color="#777777",
                linewidth=1.0, zorder=1,
            ))  # fmt: skip
        # A crossing has room for its label; between neighbours the middle has.
        x, y = route[len(route) // 2] if len(route) > 2 else (
            (route[0][0] + route[1][0]) / 2, (route[0][1] + route[1][1]) / 2 - bend / 2
        )  # fmt: skip
        if label:
            axes.text(
                x, y, label, fontsize=8, ha="center", va="center", color="#b03a2e",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0}, zorder=2,
            )  # fmt: skip
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    stamp = {".png": "Software", ".svg": "Date", ".pdf": "CreationDate"}
    metadata = {stamp[path.suffix]: None} if path.suffix in stamp else None
    with matplotlib.rc_context({"svg.hashsalt": "dualad"}):
        figure.savefig(path, metadata=metadata)
    return path


def _clipped(source: Any, target: Any, backwards: bool) -> dict[str, Any]:
    """The boxes at whose borders an arrow begins and ends."""
    ends = [text and text.get_bbox_patch() for text in (source, target)]
    return dict(zip(("patchB", "patchA") if backwards else ("patchA", "patchB"), ends, strict=True))
