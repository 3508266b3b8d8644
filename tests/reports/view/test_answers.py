"""A person's answers over HTTP: ratings in the run that say how they came about, beside everybody else's, who stay as they are."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import time
from pathlib import Path

import pytest

import mindgauge
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.records.drawn import IN_SIGHT
from mindgauge.store import Store, manifest, reading
from tests.reports import crisis
from tests.reports.reader.conftest import unpacked
from tests.reports.view.conftest import refused, visiting

WORD = "minimising"


def ratings(run: Path, rater: str) -> list[Rating]:
    with Store(run) as store:
        return [rating for rating in store.ratings(crisis.NAME) if rating.rater == rater]


def others(run: Path, rater: str) -> list[Rating]:
    with Store(run) as store:
        return [rating for rating in store.ratings(crisis.NAME) if rating.rater != rater]


def test_what_is_answered_in_sight_of_verdicts_says_so_and_changes_nobody_else(tmp_path: Path) -> None:
    run = crisis.run(tmp_path / "run", people=(), criteria=crisis.FEW)
    before = others(run, "Cleo")
    with visiting(run, "--as", "Cleo") as visit:
        key, subject = next(iter(visit.subjects().items()))
        assert visit.state["lines"] == 80 and visit.line(key)["answer"] is None
        saved = visit.post(
            "/answers",
            {
                "line": key,
                "given": {WORD: {"answered": "ok", "value": "no"}},
                "note": "=1+1",
                "agreed": True,
                "seconds": 7,
            },
        )
        assert saved.status_code == 200, saved.text
        (rating,) = ratings(run, "Cleo")
        assert (rating.subject, rating.criterion, rating.rater_kind, rating.value) == (
            subject,
            WORD,
            RaterKind.PERSON,
            "no",
        )
        assert rating.rationale == "=1+1" and rating.instrument.startswith("psycrisis@")
        origin = rating.provenance
        assert origin["selection"] == IN_SIGHT and origin["source"] == "view" and origin["seconds"] == 7
        assert "drawn" not in origin and set(origin["verdicts"]) == set(crisis.JUDGES) and origin["at"]
        assert visit.post("/answers", {"line": key, "given": {WORD: {"answered": "cannot_tell"}}}).status_code == 200
        (rating,) = ratings(run, "Cleo")
        assert rating.status is Status.UNPARSABLE and rating.value is None
        (earlier,) = rating.provenance["earlier"]
        assert earlier["given"] == {"answered": "ok", "value": "no"} and earlier["note"] == "=1+1"
        assert visit.post("/withdrawn", {"line": key}).status_code == 200
        assert ratings(run, "Cleo") == [] and visit.state["answered"] == []
        assert visit.post("/withdrawn", {"line": key}).status_code == 409
    assert others(run, "Cleo") == before
    (entry,) = reading.entries(run)
    assert entry.withdrawn[WORD]["given"] == {"answered": "cannot_tell", "value": None}


@pytest.mark.long
def test_an_answer_is_one_that_the_rubric_allows(tmp_path: Path) -> None:
    run = crisis.run(tmp_path / "run", people=(), criteria=crisis.FEW)
    with visiting(run, "--as", "Cleo") as visit:
        key = visit.keys[0]
        wrong = {
            "nothing": ({}, 409, "at least one"),
            "a level off the scale": ({WORD: {"answered": "ok", "value": "perhaps"}}, 409, "is not one of"),
            "a stranger": ({"kindness": {"answered": "ok", "value": "yes"}}, 409, "not asked"),
            "one that always applies": ({WORD: {"answered": "not_applicable"}}, 409, "always applies"),
            "taken back": ({WORD: {"answered": "withdrawn"}}, 409, "taken back"),
            "no answer": ({WORD: {"answered": "maybe"}}, 422, "no answer"),
        }
        for name, (given, status, says) in wrong.items():
            answer = visit.post("/answers", {"line": key, "given": given})
            assert (answer.status_code, says in answer.json()["error"]) == (status, True), (name, answer.text)
        assert visit.answer(key, note="x" * 10_001).status_code == 409
        assert visit.answer(key, note="x" * 1_100_000).status_code == 413
        assert visit.post("/answers", {"line": "0" * 12, "given": {}}).status_code == 404
    assert ratings(run, "Cleo") == []


@pytest.mark.long
def test_forty_drawn_replies_are_answered_blind_and_a_card_and_estimates_appear(tmp_path: Path) -> None:
    run = crisis.run(tmp_path / "run", people=(), judges=("fair/judge",), criteria=crisis.FEW)
    manifest.write(run, {**manifest.read(run), "plan": {**manifest.read(run)["plan"], "models": list(crisis.MODELS)}})
    with visiting(run, "--as", "Cleo", "--draw", "40", "--random", "20") as visit:
        assert len(visit.keys) == 40
        served = "".join(
            visit.client.get(name).text
            for name in ("/", "/data/index.js", *(f"/data/{n:04}.js" for n in range(len(visit.index["shards"]))))
        )
        with Store(run) as store:
            idents = [reply.id for reply in store.replies(crisis.NAME)]
        hints = [*crisis.MODELS, "fair/judge", *idents]
        assert [hint for hint in hints if hint in served or hint.replace("/", "\\/") in served] == []
        index = visit.index
        assert set(unpacked(index["system"])) == set(unpacked(index["repeat"])) == {0}, "nothing groups the replies"
        assert [index[name]["names"] for name in ("category", "label", "answer", "persona")] == [[]] * 4
        assert not any(any(json.loads(visit.file(f"{n:04}")[1]).values()) for n in range(len(index["shards"])))
        first = visit.keys[0]
        firsts = {c["name"]: c["levels"][0] for c in visit.line(first)["criteria"]}
        part = visit.post("/answers", {"line": first, "given": {WORD: {"answered": "ok", "value": "no"}}})
        assert part.status_code == 409 and "not answered yet" in part.json()["error"]
        assert visit.line(first)["revealed"] is None
        for number, key in enumerate(visit.keys):
            said = visit.answer(key, level=number % 2, seconds=5)
            assert said.status_code == 200
        revealed = said.json()["line"]["revealed"]
        assert revealed["model"] in crisis.MODELS and "fair/judge" in [rater["name"] for rater in revealed["raters"]]
        assert visit.answer(first, level=1).json()["line"]["answer"]["later"]
    given = ratings(run, "Cleo")
    assert len({rating.subject for rating in given}) == 40
    assert all(0 < r.provenance["drawn"]["probability"] <= 1 and r.provenance["blind"] for r in given)
    revised = [rating for rating in given if "revised" in rating.provenance]
    assert {r.criterion: r.value for r in revised} == firsts, "what was said before the verdicts counts"
    frames = {(f.criterion, f.measure): f for f in mindgauge.score(run, resamples=200).frames if f.by == "people"}
    assert frames[WORD, "unsafe"].n == frames[WORD, "unsafe"].drawn == 40
    cards = {card.criterion: card for card in mindgauge.reliability([run], resamples=200).cards}
    assert cards[WORD].n == 40 and "drawn with known probabilities" in cards[WORD].drawn
    status = mindgauge.status(run)
    assert [(r.read, r.of, r.people) for r in status.read] == [(40, 80, ["Cleo"])]
    assert "Read by people: 40 of 80." in status.summary()


@pytest.mark.long
def test_whoever_goes_on_or_joins_has_the_same_draw(tmp_path: Path) -> None:
    run = crisis.run(tmp_path / "run", people=(), criteria=crisis.FEW)
    with visiting(run, "--as", "Cleo", "--draw", "10", "--random", "5") as visit:
        keys = visit.keys
        assert visit.answer(keys[3]).status_code == 200
        assert visit.post("/withdrawn", {"line": keys[3]}).status_code == 200
        (back,) = {(r.status, r.value, r.provenance["said"]) for r in ratings(run, "Cleo")}
        assert back == (Status.REFUSED, None, "withdrawn"), "what was drawn and taken back is missing, and not gone"
        visit.answer(keys[4])
    with visiting(run, "--as", "Dora", "--draw", "10", "--random", "5") as visit:
        assert visit.keys == keys and visit.state["answered"] == []
    with visiting(run, "--as", "Cleo", "--draw", "10", "--random", "5") as visit:
        assert sorted(visit.state["answered"]) == sorted(keys[3:5])


@pytest.mark.long
def test_what_is_chosen_in_sight_of_verdicts_makes_no_card_and_spoils_none(tmp_path: Path) -> None:
    alone = crisis.run(tmp_path / "alone", people=(), criteria=crisis.FEW)
    beside = crisis.run(tmp_path / "beside", criteria=crisis.FEW)
    before = mindgauge.reliability([beside], resamples=200)
    for run in (alone, beside):
        with visiting(run, "--as", "Cleo") as visit:
            for key in visit.keys[:45]:
                assert visit.answer(key, agreed=True).status_code == 200
    for card in mindgauge.reliability([alone], resamples=200).cards:
        assert "depends on a judge" in "; ".join(card.reasons), card.criterion
    after = mindgauge.reliability([beside], resamples=200)
    cards = {(c.judge, c.criterion): c for c in after.cards}
    for card in before.cards:
        now = cards[card.judge, card.criterion]
        assert (now.n, now.verdict, now.estimates) == (card.n, card.verdict, card.estimates)
    assert any(IN_SIGHT in note for note in after.notes)
    slices = {s.slice for s in mindgauge.score(alone, resamples=200).metrics if s.rater == "Cleo"}
    assert slices == {f"selection={IN_SIGHT}"}


@pytest.mark.long
def test_nobody_answers_under_the_name_of_another_rater(tmp_path: Path) -> None:
    run = crisis.run(tmp_path / "run", criteria=crisis.FEW)
    for name, says in {
        "fair/judge": "a model has the name", "Anna": "another person has the name", "anna": "another person has the name",
        "alpha": "a model has the name", " ": "a name has 1 to 80 characters", "a\nb\x1b[31m": "a name has 1 to 80 characters",
    }.items():  # fmt: skip
        code, said = refused(run, "--as", name)
        assert (code, says in said, "Traceback" in said) == (2, True, False), said
    with visiting(run, "--as", "Cleo") as visit:
        with Store(run, write=True) as store:
            subject = visit.subjects()[visit.keys[0]]
            store.add_rating(crisis.NAME, Rating(subject, WORD, "Cleo", RaterKind.PERSON, 0, Status.OK, "yes"))
        answer = visit.answer(visit.keys[0])
        assert answer.status_code == 409 and "another rater called Cleo" in answer.json()["error"]
    assert [rating.value for rating in ratings(run, "Cleo")] == ["yes"]


@pytest.mark.long
def test_an_answer_waits_for_a_writer_and_is_saved_when_the_run_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = crisis.run(tmp_path / "run", people=(), criteria=crisis.FEW)
    with visiting(run, "--as", "Cleo") as visit:
        key = visit.keys[0]
        writer = os.open(run / "run.lock", os.O_RDWR)
        fcntl.flock(writer, fcntl.LOCK_EX)
        began = time.monotonic()
        said = visit.answer(key)
        assert said.status_code == 503 and 8 < time.monotonic() - began < 25
        assert "is writing this run" in said.json()["error"] and "stays in this form" in said.json()["error"]
        assert visit.post("/read", {"line": key, "seconds": 5}).json()["read"], "what is read is kept all the same"
        os.close(writer)
        assert visit.answer(key).status_code == 200
        with Store(run, write=True):  # between two answers the run is free
            pass


@pytest.mark.long
def test_what_was_decided_is_exported_and_is_no_formula(tmp_path: Path) -> None:
    run = crisis.run(tmp_path / "run", people=())
    with visiting(run, "--as", "Cleo") as visit:
        first, second, third, *_ = visit.keys
        visit.answer(first, note='=HYPERLINK("http://evil.example")')
        visit.answer(second)
        visit.post("/withdrawn", {"line": second})
        visit.post("/read", {"line": third, "seconds": 1})
    exported = Path(mindgauge.export(run, to="decisions").path)
    with (exported / "decisions.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["note"] for row in rows} == {'\'=HYPERLINK("http://evil.example")', ""}
    assert {(row["who"], row["blind"], row["selection"]) for row in rows} == {("Cleo", "false", IN_SIGHT)}
    assert {row["decided"] for row in rows if row["criterion"] == WORD} == {"yes", "taken back"}
    assert all(set(json.loads(row["verdicts"])) == set(crisis.JUDGES) for row in rows if row["decided"] != "taken back")
    with (exported / "review.csv").open(encoding="utf-8-sig", newline="") as file:
        (listed,) = csv.DictReader(file)
    assert (listed["who"], listed[WORD], listed["comment"]) == ("Cleo", "yes", '\'=HYPERLINK("http://evil.example")')
    assert listed["reply"].startswith("An invented reply") and not set(crisis.MODELS) & set(listed.values())
    lines = [json.loads(line) for line in (exported / "decisions.jsonl").read_text().splitlines()]
    assert len(lines) == len(rows) and lines[0]["note"].startswith("=HYPERLINK")
    with (exported / "read.csv").open(encoding="utf-8-sig", newline="") as file:
        assert [row["read"] for row in csv.DictReader(file)].count("true") == 0, "one second is no reading"
