"""No coefficient is written for a reader without its level of measurement: alpha and kappa of an order are other figures than of classes."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from mindgauge.cli.annotate import _gates
from mindgauge.cli.cards import show
from mindgauge.stats.level import heading, in_sentence, level, named
from tests.analysis.reliability.conftest import World, made
from tests.analysis.reliability.test_copies import seen, table

if TYPE_CHECKING:
    import pytest

    from mindgauge.analysis.reliability.card import Reliability
    from mindgauge.reports.page import ReportFiles

_COEFFICIENT = re.compile(r"\b[Aa]lphas?\b|\b[Kk]appas?\b|α|κ|Gwet's AC\b")
_LEVEL = re.compile(r"[Oo]rdinal|[Nn]ominal|quadratic|linear weights|有序|名义|二次加权|测量层次|its level")
_NEAR = 40
"""So many characters from the name."""
_WORDS_ABOUT = ("How far raters agree beyond", "How far several people agree", "超出随机水平的一致程度")
"""The glossary says of each what its levels are."""


def bare(text: str) -> list[str]:
    """Return where a coefficient has no level near its name."""
    return [
        text[max(0, match.start() - _NEAR) : match.end() + _NEAR]
        for match in _COEFFICIENT.finditer(text)
        if not _LEVEL.search(text[max(0, match.start() - _NEAR) : match.end() + _NEAR])
        and not any(words in text[match.start() : match.end() + 100] for words in _WORDS_ABOUT)
    ]


def shown(page: str) -> str:
    """Return the words of a page without code, data, names of systems and the list of sources."""
    page = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", page, flags=re.DOTALL)
    page = re.sub(r"acme/alpha-2|alpha-2|\b(?:cohen|fleiss) kappa\b", "", page)  # a metric's key, as JSON has it
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_no_coefficient_of_a_report_is_without_its_level(rated_files: ReportFiles, files: ReportFiles) -> None:
    for made_files in (rated_files, files):
        text = shown(made_files.path.read_text(encoding="utf-8"))
        assert bare(text) == [], bare(text)
    assert "Krippendorff's alpha, ordinal" in shown(rated_files.path.read_text(encoding="utf-8"))


def test_no_coefficient_of_the_summary_or_of_a_sheet_is_without_its_level(rated_files: ReportFiles) -> None:
    folder = rated_files.path.parent
    for path in [*folder.rglob("*.md"), *folder.rglob("*.csv")]:
        assert bare(re.sub(r"acme/alpha-2", "", path.read_text(encoding="utf-8"))) == [], path.name


def _studies() -> list[Reliability]:
    world = World(conversations=40).rated_by("anna", "person").rated_by("bea", "person").rated_by("judge")
    random = np.random.default_rng(1)
    truth = random.choice([1.0, 2.0, 3.0], 120)
    words = dict(enumerate(("grief", "anger", "worry", "calm", "joy"), 1))
    classes = table({name: seen(random, truth, 0.5) for name in ("anna", "bea", "judge")}, words)  # type: ignore[arg-type]
    return [world.cards(), made(classes, scale="")]


def test_no_coefficient_in_the_terminal_is_without_its_level(capsys: pytest.CaptureFixture[str]) -> None:
    for study, own in zip(_studies(), ("ordinal", "nominal"), strict=True):
        for reliability in (study, msgspec.structs.replace(study, cards=[])):
            for full in (True, False):
                show(reliability, full=full)
                out = " ".join(capsys.readouterr().out.split())
                assert bare(out) == [], (own, full)
                assert full or reliability.cards or f"Krippendorff's alpha, {own}" in out
        assert bare(" ".join(study.summary())) == []
        assert study.people[0].level == own, "and JSON has it as a field"


def test_the_gate_of_annotation_names_the_level_of_each_criterion(capsys: pytest.CaptureFixture[str]) -> None:
    class Of:
        def __init__(self, **fields: object) -> None:
            self.__dict__.update(fields)

    figures = [
        Of(criterion=of, label="", fleiss=0.5, fleiss_low=0.4, fleiss_high=0.6, alpha=0.7, alpha_low=0.6, alpha_high=0.8, alpha_level=of, agreement=0.8, n=9, missing=0)
        for of in ("ordinal", "nominal")
    ]  # fmt: skip
    phase = type("Phase", (str,), {"alone": True})("labelling")
    _gates(Of(batches=[Of(batch=1, gates=[Of(phase=phase, figures=figures, passed=True)])]))  # type: ignore[arg-type]
    out = capsys.readouterr().out
    assert "0.70 [0.60, 0.80] ordinal" in out and "0.70 [0.60, 0.80] nominal" in out
    assert "Fleiss' kappa, nominal" in " ".join(out.split())


def test_one_table_knows_the_levels() -> None:
    assert named("alpha", ordered=True) == named("krippendorff_alpha") == "Krippendorff's alpha, ordinal"
    assert named("alpha", ordered=False) == "Krippendorff's alpha, nominal"
    assert (named("gwet_ac"), named("ac", ordered=False)) == ("Gwet's AC2, quadratic weights", "Gwet's AC1, nominal")
    assert (named("icc_a1"), named("kappa_quadratic")) == ("ICC(A,1), interval", "kappa, quadratic weights")
    assert heading("weighted_kappa", {True, False}) == "kappa, quadratic weights (classes: nominal)"
    assert in_sentence("alpha_within", ordered=False) == "nominal alpha within systems"
    assert (level("bias"), named("bias")) == ("", "")
