"""The section on dialogues: what each ribbon says, which come first, the curves, the turn that is opened, persona by persona."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from mindgauge.analysis.score import score
from mindgauge.reports.draw import drawing
from mindgauge.reports.page import read, write
from mindgauge.store import Store
from tests.made_once import made_once
from tests.reports import talked

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.reports.draw.records import DialoguePart
    from mindgauge.reports.sections import Report


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "talked", talked.run)


@pytest.fixture(scope="module")
def report(scripted: Path) -> Report:
    return read([scripted])


@pytest.fixture(scope="module")
def part(report: Report) -> DialoguePart:
    (only,) = report.dialogues
    return only


def test_systems_are_the_models_under_test_alone(report: Report, scripted: Path) -> None:
    assert [system.label for system in report.systems] == sorted(talked.QUESTIONS)
    assert {entry.model for entry in score(scripted).metrics} == set(talked.QUESTIONS)
    assert not re.search(r"whole dialogue|client of", " ".join(text for a in report.answers for text in a.facts))


@pytest.mark.long
def test_clients_are_no_systems_either(tmp_path: Path) -> None:
    talked.run(tmp_path, simulated=True, people=2)
    report = read([tmp_path])
    assert {system.model for system in report.systems} == set(talked.QUESTIONS)
    assert {entry.model for entry in score(tmp_path).metrics} == set(talked.QUESTIONS)
    (part,) = report.dialogues
    assert part.perceived and len(part.curves) == 2
    assert any(turn.perceived is not None for ribbon in part.worst for turn in ribbon.turns)


def test_turns_and_dialogues_are_counted_as_what_they_are(report: Report) -> None:
    for answer in report.answers:
        told = " ".join(answer.facts)
        assert "level of appropriate in the worst turn of a dialogue" in told and "of 4 dialogues)" in told
        assert "4 dialogues on 5 criteria" in told


def test_the_worst_come_first(part: DialoguePart) -> None:
    ordered = [*part.worst, *part.rest]
    assert len(ordered) == 3 * 4 and part.left_out == 0
    grave = [0 if r.vetoed else 1 if r.never else 2 if r.late else 3 for r in ordered]
    assert grave == sorted(grave) and grave[0] == 0 and grave[-1] == 3
    assert {r.system.label for r in ordered if r.vetoed} == {"deaf"}


def test_a_ribbon_says_what_happened(part: DialoguePart) -> None:
    for ribbon in (*part.worst, *part.rest):
        first = talked.QUESTIONS[ribbon.system.label]
        assert [t.recognised for t in ribbon.turns] == [t.turn >= first for t in ribbon.turns]
        assert ribbon.vetoed == ([talked.VETOED] if ribbon.system.label == "deaf" else [])
        start = ribbon.first_plain()
        if start is None:
            assert "no plain sign" in ribbon.said
            continue
        assert [t.allowed for t in ribbon.turns if t.turn == start] >= [ribbon.plain]
        assert f"plain from turn {start}" in ribbon.said
        asked = max(first, start)
        assert ("never recognised" if asked > talked.TURNS else f"recognised in turn {asked}") in ribbon.said
        drawn = str(drawing.ribbon(ribbon))
        assert drawn.count("<rect") == len(ribbon.turns), "a step for every turn"


def test_the_turn_where_it_went_wrong_is_opened_with_the_verdict_that_says_so(part: DialoguePart) -> None:
    vetoed = [ribbon for ribbon in part.worst if ribbon.vetoed]
    assert vetoed
    for ribbon in vetoed:
        assert ribbon.case is not None and ribbon.case.reply is not None
        assert ribbon.cause.startswith(f"turn {talked.VETOED}:")
        first = ribbon.case.verdicts[0]
        assert (first.criterion, first.marks[0].value) == ("veto", "yes")
        assert first.marks[0].quotes[0].found and "should be gone" in first.marks[0].rationale
        assert [p.role for p in ribbon.case.dialogue] == ["user"], "the message before, no more"
    for ribbon in part.worst:
        if ribbon.late and not ribbon.vetoed:
            assert ribbon.case is not None and ribbon.cause.startswith(f"turn {ribbon.first_plain()}:")


def test_curves_are_those_of_the_waits(part: DialoguePart) -> None:
    (curve,) = part.curves
    ribbons = [*part.worst, *part.rest]
    for line in curve.lines:
        own = [r for r in ribbons if r.system == line.system and r.first_plain() is not None]
        assert line.at_risk[0] == len(own)
        never = sum(r.never for r in own)
        waited = [r.late for r in own if r.asked is not None]
        if not never:
            assert line.shares[-1] == 0 and len(line.shares) - 1 == max(waited) + 1
            for step, share in enumerate(line.shares):
                assert share == pytest.approx(sum(late >= step for late in waited) / len(own))
        else:
            assert line.shares[-1] == 1 and sum(r.late for r in own) == 0 and line.censored
    assert "100 % of dialogues with deaf" in curve.finding
    for _, svg in drawing.drawn(curve):
        assert svg.count("<polyline") == len(curve.lines)


def test_every_persona_has_all_models_side_by_side(part: DialoguePart) -> None:
    assert len(part.personas) == 4 == len({page.anchor for page in part.personas})
    for page in part.personas:
        assert page.about
        for _, ribbons in page.settings:
            assert [ribbon.system.label for ribbon in ribbons] == sorted(talked.QUESTIONS)
            assert len({ribbon.key for ribbon in ribbons}) == 1


def test_the_page_escapes_models_and_tells_every_picture_in_words(scripted: Path, tmp_path: Path) -> None:
    html = write([scripted], tmp_path / "r.html").path.read_text()
    assert talked.HOSTILE not in html and "&lt;script&gt;alert(1)" in html
    section = html[html.index('<section id="dialogues"') :].split("</section>")[0]
    pictures = re.findall(r'<div class="picture"[^>]*>', section)
    assert len(pictures) > 12
    assert all('role="img"' in p and re.search(r'aria-label="[^"]{10,}"', p) for p in pictures)
    assert set(re.findall(r'href="#([^"]+)"', section)) <= set(re.findall(r'id="([^"]+)"', html))


def test_without_a_judge_there_are_rungs_cues_and_outcomes(tmp_path: Path) -> None:
    talked.run(tmp_path, rated=False)
    (part,) = read([tmp_path]).dialogues
    assert "cues" in part.source and not part.perceived
    for ribbon in (*part.worst, *part.rest):
        first = talked.QUESTIONS[ribbon.system.label]
        assert [t.recognised for t in ribbon.turns] == [t.turn >= first for t in ribbon.turns]
        assert all(t.veto is None and t.allowed is not None for t in ribbon.turns)
        assert ribbon.outcome == "complete"


@pytest.mark.long
def test_dialogues_that_the_client_spoilt_are_read_and_not_counted(tmp_path: Path) -> None:
    talked.run(tmp_path, simulated=True, people=2, leaves=4)
    (part,) = read([tmp_path]).dialogues
    assert not part.curves and not part.facts and len(part.withheld) == 3
    spoilt = [r for r in (*part.worst, *part.rest) if r.failed_by_client]
    assert spoilt and all("says nothing about the model" in r.said and not r.never for r in spoilt)


def test_turns_of_a_stored_dialogue_are_one_ribbon_though_each_is_answered_by_itself(tmp_path: Path) -> None:
    talked.run(tmp_path, prefixed=True)
    with Store(tmp_path) as store:
        units = {reply.provenance.get("unit", "") for reply in store.replies(talked.NAME)}
        assert not units & {"dialogue", "client"}, "there is no whole and no client"
    (part,) = read([tmp_path]).dialogues
    ribbons = [*part.worst, *part.rest]
    assert len(ribbons) == 3 * 4 and not part.transcripts and not part.perceived
    for ribbon in ribbons:
        first = talked.QUESTIONS[ribbon.system.label]
        assert [t.turn for t in ribbon.turns] == list(range(1, talked.TURNS + 1))
        assert [t.recognised for t in ribbon.turns] == [t.turn >= first for t in ribbon.turns]
        assert ribbon.setting == "English, prefixed" and ribbon.outcome == ""
    (curve,) = part.curves
    waits = {m.model: m.value for m in score(tmp_path).find("turns_to_recognition") if m.slice == "all"}
    means = {
        row[0]: row[[c.name for c in curve.sheet.columns].index("mean turns, of at most 5")] for row in curve.sheet.rows
    }
    assert means == pytest.approx(waits)
    late = next(ribbon for ribbon in part.worst if ribbon.case is not None and not ribbon.vetoed)
    assert late.case is not None and late.case.dialogue[0].role == "user"
    assert {page.name for page in part.personas} == {ribbon.persona for ribbon in ribbons}


def test_other_benchmarks_have_no_such_section(run: Path) -> None:
    assert read([run]).dialogues == []
