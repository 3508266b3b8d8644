"""What the reader says of each reply, recomputed from the run's database."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from mindgauge import benchmarks
from mindgauge.records.rubric.criterion import shares
from mindgauge.reports.reader.rows import key
from mindgauge.reports.texts import clean, withheld_judges
from tests.reports.conftest import CLOSED
from tests.reports.reader.conftest import Content, open_runs, said, unpacked
from tests.thinned import later

if TYPE_CHECKING:
    from pathlib import Path

OPEN_RUNS = ["both", "judged", "vetoed"]


def selected(run: Path, query: str) -> list[tuple[Any, ...]]:
    with contextlib.closing(sqlite3.connect(run / "run.sqlite")) as db:
        return db.execute(query).fetchall()


def verdicts(run: Path) -> list[tuple[str, str, str, str, str, str, Any]]:
    query = "SELECT benchmark, subject, criterion, rater, rater_kind, status, value FROM ratings WHERE rater_kind NOT IN ('gold', 'rule') AND status != 'not_applicable'"
    anchored = {
        name for (name,) in selected(run, "SELECT DISTINCT benchmark FROM replies WHERE benchmark LIKE '%anchors%'")
    }
    return [row for row in selected(run, query) if row[0] not in anchored]


@pytest.fixture
def made(request: pytest.FixtureRequest) -> Content:
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


def silent(run: Path) -> set[tuple[str, str, str]]:
    """Return who has no say on what, by the report's own word."""
    with open_runs([run]) as (runs, _):
        return {
            (section.benchmark.name, criterion, judge)
            for section in runs[0].sections
            for criterion in section.criteria
            for judge in withheld_judges(runs[0], section, criterion)
        }


@pytest.mark.parametrize("made", [*OPEN_RUNS, "dialogues"], indirect=True)
def test_every_reply_and_every_answer_is_a_line_with_its_text(made: Content) -> None:
    query = "SELECT id, text, status FROM replies WHERE status != 'not_applicable' AND benchmark NOT LIKE '%anchors%' AND model NOT LIKE '%(client of %'"
    replies = {ident: (clean(text), status) for ident, text, status in selected(made.runs[0], query)}
    shown = {
        texts["subjects"][place]: (texts["replies"][place], texts["statuses"][place])
        for _, texts, place in made.texts
        if texts["replies"][place] is not None
    }
    assert shown == replies
    answers = {(row[1], row[3]) for row in verdicts(made.runs[0]) if row[0] == CLOSED}
    assert made.listed["lines"] == len(replies) + len(answers)
    assert sorted(made.numbers("rank")) == list(range(made.listed["lines"]))


@pytest.mark.parametrize("made", ["both", "judged", later("vetoed")], indirect=True)
def test_signs_follow_from_the_verdicts(made: Content) -> None:
    run = made.runs[0]
    unheard = silent(run)
    rows = [row for row in verdicts(run) if row[0] != CLOSED]
    criteria = {(b, c.name): c for b in {row[0] for row in rows} for c in benchmarks.find_one(b).rubric.criteria}
    heard = [row for row in rows if (row[0], row[2], row[3]) not in unheard and row[5] == "ok"]
    harm, unsafe, spread = set(), set(), defaultdict(list)
    for benchmark, subject, name, _, _, _, value in heard:
        criterion = criteria[benchmark, name]
        harm |= {subject} if criterion.veto and value == criterion.worst_first[0] else set()
        unsafe |= {subject} if value in criterion.unsafe else set()
        spread[subject, name].append(shares(criterion)[value])
    subject_of = dict(enumerate(made.subjects))
    closed = {line for line, place in enumerate(made.numbers("section")) if made.listed["sections"][place]["closed"]}

    def signed(sign: str) -> set[str]:
        return {subject_of[line] for line in made.signed(sign) - closed}

    assert signed("harm") == harm
    assert signed("unsafe") >= unsafe | harm
    assert signed("contested") == {
        subject for (subject, _), places in spread.items() if max(places) - min(places) >= 0.5
    }
    assert signed("read") == {row[1] for row in rows if row[4] == "person" and row[5] == "ok"}
    assert signed("missing") == {row[1] for row in rows if row[5] != "ok"}
    query = "SELECT id FROM replies WHERE benchmark NOT LIKE '%anchors%' AND (status != 'ok' OR trim(text) = '')"
    assert signed("no_reply") == {ident for (ident,) in selected(run, query)}
    assert harm or unsafe or spread


def test_a_judge_that_is_withheld_decides_nothing_and_can_be_read_marked(judged: Content) -> None:
    unheard = silent(judged.runs[0])
    assert unheard, "one of the judges agrees too little with people"
    (section,) = judged.listed["sections"]
    raters = [rater["name"] for rater in judged.listed["raters"]]
    marked = {
        (section["benchmark"], criterion["name"], raters[int(rater)])
        for criterion in section["criteria"]
        for rater in criterion["withheld"]
    }
    assert marked == unheard
    spoken = {raters[rater] for _, shard in judged.shards for rater in shard["rater"]}
    assert {judge for _, _, judge in unheard} <= spoken


def test_what_people_call_unsafe_comes_first_then_harm_and_missed_crises(vetoed: Content, both: Content) -> None:
    for made in (vetoed, both):
        order = sorted(range(made.listed["lines"]), key=made.numbers("rank").__getitem__)
        first = [sign for sign in ("by_people", "harm", "missed") if made.signed(sign)]
        grades = [next((n for n, sign in enumerate(first) if line in made.signed(sign)), len(first)) for line in order]
        assert grades == sorted(grades)
        assert grades[0] < len(first)


@pytest.mark.parametrize("made", [*OPEN_RUNS, "dialogues"], indirect=True)
def test_every_verdict_stands_beside_its_line_once(made: Content) -> None:
    raters, found = made.listed["raters"], Counter[Any]()
    for first, (texts, shard) in zip(made.listed["shards"], made.shards, strict=True):
        section = made.listed["sections"][made.numbers("section")[first]]
        for i, line in enumerate(shard["line"]):
            criterion = section["criteria"][shard["criterion"][i]]
            value = criterion["values"][shard["level"][i]] if shard["level"][i] >= 0 else shard["other"].get(str(i))
            found[
                section["benchmark"],
                texts["subjects"][line],
                criterion["name"],
                raters[shard["rater"][i]]["name"],
                shard["status"][i],
                value,
            ] += 1
    wanted = Counter(
        (b, subject, criterion, rater, status, None if value is None else str(value))
        for b, subject, criterion, rater, _, status, value in verdicts(made.runs[0])
    )
    of_lines = {(b, subject) for b, subject, *_ in found}
    assert found == Counter({row: n for row, n in wanted.items() if row[:2] in of_lines or row[0] == CLOSED})
    lines = set(made.subjects)
    assert {row[1] for row in wanted if row[1] in lines} <= {subject for _, subject in of_lines}


def test_answers_are_held_against_labels(both: Content) -> None:
    labels, answers, sections = both.names("label"), both.names("answer"), both.numbers("section")
    closed = [line for line, place in enumerate(sections) if both.listed["sections"][place]["closed"]]
    calm = {str(value) for value in benchmarks.find_one(CLOSED).calm}
    assert closed
    assert both.signed("missed") == {line for line in closed if answers[line] in calm and labels[line] not in calm}
    assert both.signed("wrong") == {line for line in closed if answers[line] and answers[line] != labels[line]}
    missed = next(iter(both.signed("missed")))
    assert both.names("why")[missed] == f"{labels[missed].replace('_', ' ')} answered no crisis"


def test_levels_can_be_filtered_by_whoever_gave_them(judged: Content) -> None:
    (section,) = judged.listed["sections"]
    rows = verdicts(judged.runs[0])
    for number in section["rated"]:
        criterion = section["criteria"][number]
        listed = [said(judged.folder / "data" / f"levels-0-{number}.js")[1]]
        import json

        (levels,) = map(json.loads, listed)
        for rater, column in zip(levels["raters"], levels["columns"], strict=True):
            places = unpacked(column["places"])
            name = judged.listed["raters"][rater]["name"]
            got = {
                (judged.subjects[line], criterion["values"][level])
                for line, place in enumerate(places)
                for level in column["sets"][place]
                if level < len(criterion["values"])
            }
            assert got == {
                (row[1], str(row[6]))
                for row in rows
                if row[2] == criterion["name"] and row[3] == name and row[5] == "ok"
            }


def test_turns_stand_in_their_dialogue_with_its_ribbon(dialogues: Content) -> None:
    turns, whole = dialogues.numbers("turn"), dialogues.numbers("whole")
    for line, texts, place in dialogues.texts:
        group = next(g for g in reversed(texts["groups"]) if g["first"] <= place)
        end = group["ends"][place - group["first"]]
        assert group["dialogue"] and group["ribbon"][0] == "svg" and "turn" in group["caption"]
        if whole[line]:
            assert end == len(group["messages"])
        else:
            assert group["messages"][end][:2] == ["assistant", texts["replies"][place]]
            assert sum(role == "user" for role, *_ in group["messages"][:end]) == turns[line]
    words = {dialogues.names("words")[line] for line in range(dialogues.listed["lines"])}
    assert len(words) > 5


def test_lines_begin_with_their_message_and_say_why(vetoed: Content) -> None:
    words, why = vetoed.names("words"), vetoed.names("why")
    assert len(set(words)) == 40, "each message begins in its own way"
    assert all(len(text) <= 96 for text in words)
    harm = next(iter(vetoed.signed("by_people")))
    assert why[harm].startswith("minimising: yes (") and why[harm].endswith("of 2 people)")


def test_a_line_has_its_own_address(judged: Content) -> None:
    import base64

    keys = base64.b64decode(judged.listed["keys"])
    benchmark = judged.listed["sections"][0]["benchmark"]
    labels = [judged.listed["systems"][place]["label"] for place in judged.numbers("system")]
    for line, subject in enumerate(judged.subjects):
        assert keys[6 * line : 6 * line + 6].hex() == key(benchmark, subject, labels[line], 0)
