"""`mindgauge list`: a line for each benchmark, and the card of one."""

from __future__ import annotations

import re

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.cli import layout
from mindgauge.records.english import words
from tests import in_process

NAMES = benchmarks.names()
MODEL, JUDGE = "http://127.0.0.1:9/v1#m", "http://127.0.0.1:9/v1#j"


def said(*arguments: object) -> str:
    done = in_process.mindgauge("list", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_benchmark_has_one_line_of_eighty_columns() -> None:
    lines = said().splitlines()
    assert len(lines) <= len(NAMES) + 12
    assert max(map(layout.measure, lines)) <= 80
    for name in NAMES:
        (entry,) = mindgauge.list(name).benchmarks
        own = name.rpartition("/")[2]
        (line,) = [line for line in lines if re.match(rf" *{own} ", line)]
        assert line.split()[-1] == f"{entry.calls:,}"
        assert f" {entry.samples} " in line
        assert (" yes " in line) is entry.judged
    assert [line for line in lines if line.strip().endswith("/")] == [
        "conversations/",
        "help_or_harm/",
        "trustmh/",
    ] or [line.strip() for line in lines if line.strip().endswith("/")] == [
        "conversations/",
        "help_or_harm/",
        "trustmh/",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_calls_of_a_card_are_those_of_a_dry_run(name: str) -> None:
    closed = benchmarks.find_one(name).closed
    foreseen = mindgauge.run(name, model=MODEL, judge=() if closed else JUDGE, qualify=False, dry_run=True)
    (entry,) = mindgauge.list(name).benchmarks
    assert entry.calls == foreseen.calls
    assert entry.judged is not closed


@pytest.mark.parametrize("name", NAMES)
def test_a_card_says_what_is_measured_and_what_is_not_and_shows_a_sample_of_ours(name: str) -> None:
    benchmark = benchmarks.find_one(name)
    text = " ".join(said(name).split())
    for sentence in (benchmark.card.measures, benchmark.card.does_not_measure, benchmark.card.licence):
        assert " ".join(sentence.split()) in text
    assert "No clinician has checked them" in text
    shown = text.partition("A sample of ours:")[2]
    ours = [" ".join(message.content.split()) for sample in benchmark.own_samples() for message in sample.messages]
    assert any(content in shown for content in ours)
    assert f"Next: mindgauge run {name} --model MODEL" in text
    criterion = benchmark.rubric.criteria[0]
    assert f"{words(criterion.name)} (" in text
    assert max(map(layout.measure, said(name).splitlines())) <= 160


def test_a_level_stands_in_words() -> None:
    text = " ".join(said("psycrisis", "--full").split())
    for criterion in benchmarks.find_one("psycrisis").rubric.criteria:
        for level in criterion.levels:
            assert f"{words(level.value)}: {level.text['en']}" in text
    assert "more criteria: --full" in said("psycrisis")


def test_of_a_family_there_are_the_lines_and_with_full_the_cards() -> None:
    lines = said("help_or_harm")
    assert "crisis_type" in lines and "Does not measure" not in lines
    assert said("help_or_harm", "--full").count("Does not measure") == 2
