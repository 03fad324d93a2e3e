"""Every Python example in the README runs, and prints what the README says."""

import doctest
import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
EXAMPLES = re.findall(r"(?ms)^```python\n(.*?)^```$", README.read_text("utf-8"))


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
