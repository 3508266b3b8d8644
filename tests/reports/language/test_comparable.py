"""What may be held beside what, and what not, is said in Chinese as it is in English: no such sentence stays English."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from mindgauge.benchmarks import find_one, names, replica
from mindgauge.records.instruments import RELEASED, by_rater, difference, with_instruments
from mindgauge.reports.cards import corrected_title
from mindgauge.reports.language import memory
from mindgauge.reports.language.memory import STARTS as ENGLISH
from mindgauge.reports.language.translator import Translator, together
from mindgauge.reports.provenance import published_standing
from mindgauge.reports.score_tables import TITLE
from mindgauge.runs import as_published

JUDGE = "acme/alpha-2"
NOT_COMPARABLE, COMPARABLE, NOT_THE_SAME = "不可比", "可与", "不是同一测量工具"


def chinese(text: str) -> str:
    """Return a sentence in Chinese; a test fails where any of it stays English."""
    translator = Translator(memory.read("zh"), [JUDGE])
    said = together(translator.sentences(text))
    assert translator.english == [], f"{text!r} stays English: {said}"
    return said


PROTOCOLS = {
    f"{name}, {protocol.name}": (find_one(name), protocol)
    for name in names()
    for protocol in replica.replicas(find_one(name).folder)
}


def record(protocol: replica.Replica, *lacks: str) -> dict[str, Any]:
    noted: dict[str, Any] = as_published.noted(protocol, lacks)[replica.RECORD]
    return noted


@pytest.mark.parametrize("title", [title for title, (_, p) in PROTOCOLS.items() if p.compares_with])
def test_comparable(title: str) -> None:
    _, protocol = PROTOCOLS[title]
    assert chinese(published_standing(record(protocol))).startswith(COMPARABLE)


@pytest.mark.parametrize("title", PROTOCOLS)
def test_not_comparable_for_what_a_user_has_not_brought(title: str) -> None:
    benchmark, protocol = PROTOCOLS[title]
    without_examples = msgspec.structs.replace(
        protocol, examples=False
    )  # which are looked for among the authors' files
    reasons = ["it was not run --as-published", *([protocol.no_table] if protocol.no_table else [])]
    for data in (None, Path("data")):
        reasons += as_published.to_bring(without_examples, benchmark, data, benchmark.own_samples()[:2], [])
    assert len(reasons) > 2
    for reason in reasons:
        sentence = chinese(published_standing(record(protocol, reason)))
        assert sentence.startswith(NOT_COMPARABLE)
        assert (ENGLISH in sentence) == bool(protocol.not_rebuilt), sentence


@pytest.mark.parametrize("title", [title for title, (_, p) in PROTOCOLS.items() if p.not_rebuilt])
def test_comparable_but_for_what_differs_by_design(title: str) -> None:
    """A protocol's own facts are quoted in English, and marked so."""
    _, protocol = PROTOCOLS[title]
    said = published_standing(record(protocol))
    if protocol.compares_with:
        assert said.startswith(f"comparable with {protocol.compares_with} (protocol {protocol.name}) but for: ")
        assert chinese(said).startswith(COMPARABLE)
    assert all(difference in said for difference in protocol.not_rebuilt)
    assert ENGLISH in chinese(said)


def test_not_the_same_instrument() -> None:
    used = by_rater([(JUDGE, "help_or_harm/response@1.1#a"), ("ana", RELEASED)], loaded=True)
    sentence = difference(JUDGE, ["ana"], used)
    assert chinese(sentence).startswith(NOT_THE_SAME)
    assert NOT_THE_SAME in chinese(f"{JUDGE}: {sentence}")
    for title in (corrected_title([JUDGE]), with_instruments(TITLE, [JUDGE])):
        assert NOT_THE_SAME in chinese(title)
        assert JUDGE in chinese(title)
