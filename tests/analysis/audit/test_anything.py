"""Whatever stands in the columns, an audit ends with findings, not with an error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.analysis.audit import checks
from mindgauge.benchmarks.released import RATINGS, TEXTS, Material, frame
from tests.thinned import examples

CELLS = st.one_of(
    st.none(), st.sampled_from(["", " ", "a", "b", "nan", "3", '"3"', "5.5", "1e400", "#NAME?"]), st.text(max_size=6)
)
NUMBERS = st.one_of(st.none(), st.integers(0, 4))
ROWS = st.integers(0, 60)
NAMES = st.sampled_from(["one.csv", "two.csv"])
KINDS = st.sampled_from(["input", "reply", "verdict", "context"])
WORDS = st.one_of(
    CELLS, st.text(min_size=40, max_size=80), st.just('{"error": "x", "code": 4}'), st.just("[user] Hello there[bot]")
)
MANY = 120


@pytest.mark.long
@given(
    st.lists(st.tuples(NAMES, ROWS, KINDS, CELLS, WORDS, CELLS, CELLS, CELLS, CELLS), max_size=MANY),
    st.lists(st.tuples(CELLS, CELLS, CELLS, st.sampled_from([None, "person", "model", "gold"]), NUMBERS, st.sampled_from(["ok", "failed", "not_applicable"]), CELLS, CELLS, CELLS, NAMES, ROWS), max_size=MANY),
    st.dictionaries(st.sampled_from(["a", "b"]), st.just((1.0, 5.0))),
    st.dictionaries(st.sampled_from(["a", "b", ""]), st.just(("a", "b", "c"))),
)  # fmt: skip
@examples(60)
def test_any_material(
    texts: list[tuple[object, ...]],
    ratings: list[tuple[object, ...]],
    scales: dict[str, tuple[float, float]],
    options: dict[str, tuple[str, ...]],
) -> None:
    findings = checks.run(Material(frame(texts, TEXTS), frame(ratings, RATINGS), scales, options))
    assert all(finding.count > 0 for finding in findings)


def test_nothing_at_all() -> None:
    assert checks.run(Material(frame([], TEXTS), frame([], RATINGS), {}, {})) == []
