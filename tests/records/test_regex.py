"""A pattern that is compiled when it is first used answers as any other."""

from __future__ import annotations

import re

import pytest

from mindgauge.records.regex import regex


def test_it_answers_as_a_compiled_one() -> None:
    text, pattern = "One line\nand ONE more", r"(?P<first>one) (\w+)"
    late, compiled = regex(pattern, re.IGNORECASE), re.compile(pattern, re.IGNORECASE)
    assert late.findall(text) == compiled.findall(text) == [("One", "line"), ("ONE", "more")]
    assert late.sub(r"\2", text) == compiled.sub(r"\2", text)
    assert late.fullmatch("one two") is not None
    assert (late.pattern, late.groupindex) == (compiled.pattern, compiled.groupindex)


def test_nothing_is_compiled_before_it_is_used() -> None:
    broken = regex("(")
    assert broken.pattern == "("
    with pytest.raises(re.error):
        broken.search("")
