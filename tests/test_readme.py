"""The README's examples run and print what is said; CONTRIBUTING shows a real row."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


def python_blocks(page):
    return re.findall(r"(?ms)^```python\n(.*?)^```$", page.read_text("utf-8"))


EXAMPLES = python_blocks(README)


def test_the_readme_has_examples():
    assert EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES)
def test_example(example):
    if ">>>" not in example:
        exec(compile(example, str(README), "exec"), {})
        return
    test = doctest.DocTestParser().get_doctest(example, {}, "README", str(README), 0)
    failed, tried = doctest.DocTestRunner().run(test)
    assert tried
    assert not failed


def test_the_row_in_contributing_is_in_the_table():
    (row,) = python_blocks(ROOT / "CONTRIBUTING.md")
    assert row in (ROOT / "dualad" / "rules" / "elementwise.py").read_text("utf-8")
