"""The page that the exercises write on: headings, paragraphs, and where pictures go."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

#: where pictures go unless told otherwise
PLOTS = Path(__file__).parent.parent / "plots"


def heading(number: int, title: str) -> None:
    """``Exercise N`` on a line of its own, then what it is about."""
    line = f"Exercise {number}"
    print(f"\n{line}\n{'=' * len(line)}\n{title}")


def section(title: str) -> None:
    """A heading inside an exercise."""
    print(f"\n{title}\n{'-' * len(title)}")


def say(text: str) -> None:
    """Paragraphs, which blank lines separate, filled to the width of a page."""
    for paragraph in textwrap.dedent(text).strip().split("\n\n"):
        print("\n" + textwrap.fill(" ".join(paragraph.split()), 88))


def show(text: object) -> None:
    """A table, a number or a message as it stands, indented."""
    print("\n" + textwrap.indent(str(text), "    "))


def refused(call: Callable[[], object], kind: type[Exception], *words: str) -> None:
    """Show the error that a call raises, of that kind and with these words in it."""
    try:
        call()
    except kind as error:
        message = str(error)
    else:
        raise AssertionError(f"a {kind.__name__} was expected, and nothing was refused")
    show(textwrap.fill(f"{kind.__name__}: {message}", 84, subsequent_indent="  "))
    assert all(word in message for word in words), message


def drawn(path: Path) -> None:
    """Say where a picture is."""
    print(f"\nDrawn: {path.parent.name}/{path.name}")
