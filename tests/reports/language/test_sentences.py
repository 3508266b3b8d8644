"""Every sentence of the planted reports is in the memory, and nothing else than words is changed."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pytest
from msgspec import structs

import mindgauge
from mindgauge.reports import markdown_summary, page, render
from mindgauge.reports.language.spoken import speaking
from mindgauge.reports.language.translator import translator_of
from mindgauge.reports.sections import Report
from tests.made_once import made_once
from tests.reports import suite_run, talked
from tests.thinned import later

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.reports.page import ReportFiles

PLANTED = (
    "files", "rated_files", later("shown"), later("unread_files"), later("selected_files"), later("both_files"), "asked_files", later("crisis_files"),
    later("help_or_harm_files"), later("suite_report"), later("others_report"), "talked_report", later("held_report"), later("believed_report"),
)  # fmt: skip
OTHERS = (
    "psycrisis", "mentalbench", "vera_mh", "dialogue_safety", "trustmh/emotion", "trustmh/diagnosis", "trustmh/escalation",
    "trustmh/intervention", "trustmh/privacy_leakage", "trustmh/robustness_diagnosis", "trustmh/sycophancy_aita",
    "trustmh/sycophancy_pas", "trustmh/toxicity",
)  # fmt: skip
"""With `suite_run.TASKS`, both of help_or_harm and the conversations, every benchmark."""
_NUMBER = re.compile(r"(?<![A-Za-z\d])\d[\d,]*(?:\.\d+)?(?![A-Za-z\d])")
_KEPT = re.compile(r'<(\w+)[^>]* translate="no"[^>]*>.*?</\1>|<(q|pre|code)[ >].*?</\2>', re.DOTALL)


class Both(NamedTuple):
    """A page and its summary in English and in Chinese, and the sentences that stayed English."""

    english: str
    page: str
    summary: str
    stayed: list[str]


@pytest.fixture(scope="session")
def suite_report(suite: Path, tmp_path_factory: pytest.TempPathFactory) -> Report:
    return made_once(tmp_path_factory, "suite-read", lambda _: page.read([suite]))


@pytest.fixture(scope="session")
def others_report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Of benchmarks that no other planted report has."""

    def make(folder: Path) -> Report:
        return page.read([suite_run.run_of(folder / "run", OTHERS, limit=6)])

    return made_once(tmp_path_factory, "others-read", make)


@pytest.fixture(scope="session")
def talked_report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Of dialogues with clients, some of whom leave."""

    def make(folder: Path) -> Report:
        return page.read([talked.run(folder / "run", simulated=True, leaves=4)])

    return made_once(tmp_path_factory, "talked-clients-read", make)


@pytest.fixture(scope="session")
def held_report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Of dialogues with persons whose words are fixed."""
    return made_once(tmp_path_factory, "talked-read", lambda folder: page.read([talked.run(folder / "run")]))


@pytest.fixture(scope="session")
def believed_report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Of the dialogues about beliefs and about leaning on a bot."""

    def make(folder: Path) -> Report:
        names = ["conversations/delusion", "conversations/dependence"]
        models = [_talker(name) for name in suite_run.MODELS]
        mindgauge.run(names, model=models, judge=suite_run.judge(), out=folder / "run", limit=6, turns=5)
        return page.read([folder / "run"])

    return made_once(tmp_path_factory, "believed-read", make)


def _talker(name: str) -> mindgauge.Function:
    """Return a model that says its name and how often the person has spoken."""

    def reply(messages: list[dict[str, str]]) -> str:
        return f"A reply by {name}, number {sum(message['role'] == 'user' for message in messages)}."

    return mindgauge.Function(reply, name=name)


@pytest.fixture(params=PLANTED, scope="module")
def both(request: pytest.FixtureRequest) -> Both:
    planted: ReportFiles | Report = request.getfixturevalue(request.param)
    report = planted if isinstance(planted, Report) else msgspec.json.decode(planted.json.read_bytes(), type=Report)
    english = render.page(report, "report.json")
    translated = structs.replace(report, language="zh")
    translator = translator_of(translated)
    assert translator is not None
    said = render.page(translated, "report.json", translator)
    with speaking(translator):
        summary = markdown_summary.summary(translated, "report.html")
    return Both(english, said, summary, translator.english)


def test_every_sentence_is_in_the_memory(both: Both) -> None:
    sentences = "\n".join(f'"{sentence.rstrip(".")}" = "…"' for sentence in both.stayed)
    assert not both.stayed, (
        "these have no Chinese: put each, with slots for what varies, into the file of its section under "
        f"src/mindgauge/reports/language/zh (CONTRIBUTING.md says how):\n{sentences}"
    )


def test_what_others_wrote_stays(both: Both) -> None:
    """Quotations, replies, code and names."""
    english = [match[0] for match in _KEPT.finditer(both.english)]
    said = [match[0] for match in _KEPT.finditer(both.page)]
    assert len(english) == len(said)
    for before, after in zip(english, said, strict=True):
        assert after == before or '<span lang="zh">' in after, "a rubric’s own words stand in its own Chinese"


def test_pages_differ_in_words_alone(both: Both) -> None:
    def tags(text: str) -> Counter[str]:
        text = re.sub(r"<style>.*?</style>|<svg.*?</svg>", "", text, flags=re.DOTALL)
        return Counter(re.findall(r"<(?!a |/a|span|/span|p |p>|/p|!)[^\s>]+", text))

    assert tags(both.english) == tags(both.page)
    assert '<html lang="zh">' in both.page
    assert "\x02" not in both.page + both.summary
    assert "\x03" not in both.page + both.summary


def test_numbers_of_tables_stay(both: Both) -> None:
    def numbers(text: str) -> list[str]:
        cells = re.findall(r'<td role="cell"[^>]* class="number"[^>]*>(.*?)</td>', text, flags=re.DOTALL)
        return [number for cell in cells for number in _NUMBER.findall(re.sub(r"<[^>]*>", "", cell))]

    assert numbers(both.english) == numbers(both.page)


def test_it_says_how_it_was_translated(both: Both) -> None:
    account = "本报告由程序从英文报告逐句译出"
    assert both.page.count(account) == 1
    assert both.summary.count(account) == 1
    assert "所有句子均已译出" in both.page
