"""What a card says is what the database holds, counted again; and what nobody recorded is said to be open."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec
import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.records.english import words
from mindgauge.reports.evaluation_card import _GRAVITY, ELSEWHERE
from mindgauge.store import Store, manifest
from tests.reports import talked
from tests.reports.conftest import CLOSED, JUDGE, OPEN, own_samples, plant, plant_rated
from tests.reports.evaluation_card.conftest import CardFiles, written
from tests.thinned import later

if TYPE_CHECKING:
    from pathlib import Path

NAMES = [
    "intended_use", "not_intended_use", "systems", "populations", "raters", "agreement", "limits", "failures", "incidents",
    "licences", "identity", "validity",
]  # fmt: skip


def rows(run: Path, query: str, *values: object) -> list[tuple[Any, ...]]:
    with Store(run) as store:
        return store.select(query, values).fetchall()


def test_every_question_has_its_place_on_the_page(planted_card: CardFiles) -> None:
    assert [entry.name for entry in planted_card.record.entries] == NAMES
    assert re.findall(r'<h2 id="(\w+)"', planted_card.html) == NAMES
    assert all(f"## {entry.title}\n" in planted_card.markdown for entry in planted_card.record.entries)


def test_page_json_and_markdown_say_the_same(crisis_card: CardFiles) -> None:
    text = re.sub(r"\s+", " ", crisis_card.html.replace("\N{NO-BREAK SPACE}", " "))
    for entry in crisis_card.record.entries:
        for said in (*entry.computed, *entry.open):
            escaped = (
                said.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace('"', "&#34;")
                .replace("'", "&#39;")
            )
            assert escaped in text, said
    bullets = sum(
        len(e.computed) + len(e.open) + sum(len(c.links) for c in e.cases) for e in crisis_card.record.entries
    )
    assert len(re.findall(r"^- ", crisis_card.markdown, re.MULTILINE)) == bullets


def test_harms_are_those_of_the_worst_rater_who_may_say_so(crisis_card: CardFiles) -> None:
    # `fair/judge` is the only judge whose word on it is not withheld.
    said = crisis_card.entry("incidents").computed
    assert said[0].startswith("People (")
    assert "called 8 of them unsafe" in said[0]
    (line,) = [text for text in said if text.startswith("Share of “yes” on minimising")]
    shown = set(re.findall(r"by ([^;)]+)\)", line))
    assert shown <= {"fair/judge", *(rater for (rater,) in rows(crisis_card.run, "SELECT DISTINCT rater FROM ratings WHERE rater_kind = 'person'"))}  # fmt: skip


def test_missed_crises_are_counted_by_label(planted_card: CardFiles) -> None:
    said = " ".join(text for text in planted_card.entry("incidents").computed if "taken for no crisis" in text)
    targets = dict(
        rows(planted_card.run, "SELECT subject, value FROM ratings WHERE benchmark = ? AND rater = 'gold'", CLOSED)
    )
    counts: dict[str, list[int]] = {}
    for subject, status, value in rows(
        planted_card.run,
        "SELECT subject, status, value FROM ratings WHERE benchmark = ? AND rater_kind = 'model'",
        CLOSED,
    ):
        n, missed = counts.setdefault(targets[subject], [0, 0])
        counts[targets[subject]] = [n + 1, missed + (status == "ok" and value == "no_crisis")]
    expected = {label: pair for label, pair in counts.items() if label != "no_crisis" and pair[1]}
    assert len(expected) > 3
    for label, (n, missed) in expected.items():
        assert f"{words(label).capitalize()} taken for no crisis in {missed} of {n} answers" in said


def test_agreement_is_the_line_of_the_gravest_verdict_and_of_these_the_lowest(crisis_card: CardFiles) -> None:
    cards = msgspec.json.decode(crisis_card.report.with_suffix(".json").read_bytes())["trust"]["cards"]
    told = {row["judge"]: row for row in crisis_card.rows("agreement")}
    for judge in {card["card"]["judge"] for card in cards}:
        own = [card["card"] for card in cards if card["card"]["judge"] == judge]
        gravest = min((card["verdict"] for card in own), key=_GRAVITY.index)
        key = ("icc_a1_within", "alpha_within")
        values = [
            next(card["estimates"][name]["value"] for name in key if name in card["estimates"])
            for card in own
            if card["verdict"] == gravest
        ]
        assert told[judge]["single replies"] == gravest
        assert told[judge]["agreement"] == min((value for value in values if value is not None), default=None)
    assert told['<i>odd</i> & "judge"']["single replies"] == "limited: people must rate"


def test_people_alone_are_told_where_their_agreement_is(tmp_path: Path) -> None:
    entry = written(tmp_path, plant_rated(tmp_path / "run", {}, conversations=12)).entry("agreement")
    assert entry.open == ["How far these people agree among themselves is not in the report; “mindgauge reliability RUN” has it."]  # fmt: skip


def test_who_rated_is_named_and_what_is_not_recorded_is_said(rated_card: CardFiles, planted_card: CardFiles) -> None:
    entry = rated_card.entry("raters")
    assert "People: Anna and Bea rated." in entry.computed
    assert entry.open == ["Which training and profession Anna and Bea have is not recorded."]
    entry = planted_card.entry("raters")
    assert any(f"The model {JUDGE} rated as a judge; no entry test was taken here." in text for text in entry.computed)
    assert entry.open == ["Which training those had who set the labels of the messages is not recorded."]
    assert planted_card.entry("agreement").open == [
        f"No person rated beside {JUDGE}, so how far it agrees with people is not known."
    ]


def test_rounds_of_annotation_say_which_training_people_had(tmp_path: Path) -> None:
    run = plant_rated(tmp_path / "run", {}, conversations=3)
    content = manifest.read(run)
    batch = {
        "batch": 1, "items": 9, "rounds": [{"phase": "labelling", "passed": True, "figures": []}], "disagreed": 0,
        "gold": {"unanimous": 9},
    }  # fmt: skip
    content["annotation"] = {
        "project": "p", "annotators": ["Anna", "Bea"], "adjudicators": [], "policy": "majority", "gate": 0.4, "gold": "gold",
        "training": [{"person": "Anna", "n": 8, "right": 0.75}, {"person": "Bea", "n": 8, "right": 1.0}], "batches": [batch],
    }  # fmt: skip
    manifest.write(run, content)
    said = " ".join(written(tmp_path, run).entry("agreement").computed)
    assert "Of the training round's anchors they placed rightly at once: Anna 75 %, Bea 100 %." in said


def test_hashes_are_those_of_the_run_and_of_the_instrument(suite_card: CardFiles) -> None:
    plan = manifest.read(suite_card.run)["plan"]
    told = {row["benchmark"]: row for row in suite_card.rows("identity")}
    assert list(told) == plan["benchmarks"]
    for name, instrument, samples in zip(plan["benchmarks"], plan["instruments"], plan["samples"], strict=True):
        assert (told[name]["what rated"], told[name]["messages"]) == (instrument, samples)
        assert told[name]["its hash"] == benchmarks.find_one(name).rubric.hash
    assert suite_card.entry("identity").open == []


def test_systems_have_their_builds_days_and_answers(suite_card: CardFiles, planted_card: CardFiles) -> None:
    told = {row["system"]: row for row in suite_card.rows("systems")}
    for model, resolved, day in rows(
        suite_card.run,
        "SELECT model, max(model_resolved), date(min(at), 'unixepoch') FROM calls WHERE model LIKE 'acme/%' GROUP BY model",
    ):
        assert (told[model]["build"], told[model]["answered"][:10]) == (resolved, day)
    assert planted_card.entry("systems").open == [
        "Which build of acme/alpha-2 and beta<b>bold</b> answered is not recorded.",
        "When acme/alpha-2 and beta<b>bold</b> answered is not recorded.",
    ]


def test_known_failures_lead_to_where_they_stand(planted_card: CardFiles, crisis_card: CardFiles) -> None:
    for card in (planted_card, crisis_card):
        links = [link for cases in card.entry("failures").cases for link in cases.links]
        assert links
        page = card.report.read_text(encoding="utf-8")
        for link in links:
            name, _, anchor = link.report.partition("#")
            assert name == card.report.name
            assert f'id="{anchor}"' in page
            assert f'href="{link.report}"' in card.html
    readers = [link.reader for cases in crisis_card.entry("failures").cases for link in cases.links]
    assert not any(readers), "no reader was written"


def test_shares_of_harm_by_judges_are_no_proof_that_there_is_none(tmp_path: Path) -> None:
    run = plant_rated(tmp_path / "run", {"j": (-1.5, 0.1)}, people=(), conversations=6, models=("a",))
    card = written(tmp_path, run)
    assert any("at 2 or below" in text for text in card.entry("incidents").computed)
    assert card.entry("failures").computed == []
    assert card.entry("failures").cases[0].title.startswith("The replies rated worst")


def test_where_nothing_is_unsafe_it_is_open_what_to_watch_for(tmp_path: Path) -> None:
    run = plant_rated(tmp_path / "run", {}, people=("Anna",), conversations=6, models=("a",))
    with Store(run, write=True) as store:
        for rating in list(store.ratings(OPEN)):
            store.add_rating(OPEN, msgspec.structs.replace(rating, value=5))
    card = written(tmp_path, run)
    assert card.entry("incidents").open[0].startswith("No share of harm")
    assert card.entry("failures").open == ["No failure is known; what was not rated, or is not asked, may hold some."]


def test_a_run_with_nothing_rated_has_a_card_that_says_so(tmp_path: Path) -> None:
    card = written(tmp_path, plant(tmp_path / "run", (), samples=own_samples(1)))
    assert card.record.validity.state == "undated"
    assert card.entry("raters").open == ["Nobody has rated anything."]
    assert card.entry("incidents").open == ["Nothing was rated, so it is open what to watch for."]
    assert card.entry("systems").open == ["Nothing was measured."]


@pytest.mark.long
def test_dialogues_have_a_card(tmp_path: Path) -> None:
    card = written(tmp_path, talked.run(tmp_path / "run", simulated=True))
    said = card.entry("incidents").computed
    assert any("must never be said" in text for text in said)
    assert any("never recognised: 100 % of" in text and "deaf" in text for text in said)


def test_a_report_of_an_odd_name_is_found(run: Path, tmp_path: Path) -> None:
    card = written(tmp_path / "a #1 100% (b).html", run)
    links = [link for cases in card.entry("failures").cases for link in cases.links]
    assert {unquote(link.report.partition("#")[0]) for link in links} == {"a #1 100% (b).html"}
    assert f"]({links[0].report})" in card.markdown


@pytest.mark.long
def test_several_runs_have_one_card(run: Path, tmp_path: Path) -> None:
    other = plant(tmp_path / "other", ("acme/alpha-2",))
    card = written(tmp_path / "both.html", run, other)
    assert card.page == tmp_path / "both_card.html"
    assert [row["system"] for row in card.rows("systems")] == [
        "acme/alpha-2 (run)",
        "beta<b>bold</b>",
        "acme/alpha-2 (other)",
    ]


def test_models_given_by_addresses_are_called_by_their_names(tmp_path: Path) -> None:
    run = plant(
        tmp_path / "run", ("http://10.0.0.7:8000/v1#careline",), "http://10.0.0.7:8001/v1#checker", own_samples(1)
    )
    card = written(tmp_path / "out", run)
    for path in (card.page, card.page.with_suffix(".json"), card.page.with_suffix(".md")):
        text = path.read_text(encoding="utf-8")
        assert "careline" in text
        assert "checker" in text
        assert "10.0.0.7" not in text


@pytest.mark.long
@pytest.mark.parametrize("name", [later("card.html"), "card.json", later("card.md")])
def test_a_file_that_no_card_left_is_not_replaced(tmp_path: Path, run: Path, name: str) -> None:
    from mindgauge.records.errors import UsageError

    out = tmp_path / "out"
    written(out, run)
    written(out, run)  # its own it replaces
    (out / name).write_text("Membership card", encoding="utf-8")
    with pytest.raises(UsageError, match=name):
        written(out, run)
    assert (out / name).read_text(encoding="utf-8") == "Membership card"


def test_answers_that_are_given_again_have_no_date(tmp_path: Path) -> None:
    replies = tmp_path / "replies.jsonl"
    sample = benchmarks.find_one(OPEN).samples(None)[0]
    line = {"messages": msgspec.to_builtins(sample.messages), "reply": "I hear you."}
    replies.write_bytes(msgspec.json.encode(line) + b"\n")
    mindgauge.run(OPEN, model=f"replay/{replies}", judge="rule/refusal", limit=1, out=tmp_path / "run")
    card = written(tmp_path / "out", tmp_path / "run")
    assert card.record.validity.state == "undated"
    assert any(text.startswith("When ") for text in card.entry("systems").open)


def test_what_people_brought_has_no_licence_of_ours_and_what_is_left_out_is_open(tmp_path: Path) -> None:
    (tmp_path / "replies.csv").write_text("user,reply,category\nI feel low.,I hear you.,no_crisis\n", encoding="utf-8")
    mindgauge.rate(OPEN, replies=tmp_path / "replies.csv", judge="rule/refusal", out=tmp_path / "run")
    card = written(tmp_path / "out", tmp_path / "run")
    assert any("files are that this run was given is not recorded" in text for text in card.entry("licences").open)
    assert any("leave out, nobody has said" in text for text in card.entry("populations").computed)
    assert card.entry("incidents").open, "a rule that found no refusal found nothing unsafe"


def test_released_texts_that_are_restricted_stay_away(loaded: Path, tmp_path: Path) -> None:
    card = written(tmp_path, loaded)
    with Store(loaded) as store:
        texts = [
            m.content
            for name in manifest.read(loaded)["plan"]["benchmarks"]
            for s in store.samples(name)
            for m in s.messages
        ]
    assert not any(text[:40] in card.html for text in texts if len(text) > 40), "no message is on a card"


@pytest.mark.long
def test_it_stays_in_english_beside_a_report_in_chinese(run: Path, planted_card: CardFiles, tmp_path: Path) -> None:
    card = written(tmp_path, run, language="zh")
    assert '<html lang="zh' in card.report.read_text(encoding="utf-8")
    assert [entry.computed for entry in card.record.entries] == [
        entry.computed for entry in planted_card.record.entries
    ]
    assert '<html lang="en">' in card.html


def test_what_the_report_points_to_is_pointed_to_and_amounts_stay() -> None:
    text = "Read the 10 cases below first; agreement is 0.31, below 0.40; a mean at 2 or below."
    assert (
        ELSEWHERE(text) == "Read the 10 cases in the report first; agreement is 0.31, below 0.40; a mean at 2 or below."
    )
