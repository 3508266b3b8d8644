"""What several judges know together and what people must read: the figures of the commands, said in the report."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mindgauge import benchmarks
from mindgauge.analysis.escalation.result import Escalation
from mindgauge.analysis.reliability.card import Bound
from mindgauge.commands.judges.escalation import judges_escalation as escalation
from mindgauge.commands.judges.panel import judges_panel as panel
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.reports import juries, reading_order
from mindgauge.reports.content import ReportTable, System
from mindgauge.reports.draw import plots as curves
from mindgauge.reports.page import ReportFiles, write
from mindgauge.reports.sections import Curve, Escalated
from mindgauge.store import Store
from tests.reports.conftest import GOOD, JUDGES, NOISY, OPEN, changed, plant_rated

RULE = "appropriateness<=2"


def trust(files: ReportFiles) -> Any:
    return json.loads(files.json.read_text(encoding="utf-8"))["trust"]


@pytest.fixture(scope="module")
def found(rated_files: ReportFiles) -> Any:
    return trust(rated_files)


@pytest.fixture(scope="module")
def there(rated: Path) -> Escalation:
    """What the command has of the same run."""
    return escalation(rated, unsafe=RULE, resamples=reading_order.RESAMPLES)


# -- juries -----------------------------------------------------------------------------------------------------------


def test_juries_stand_beside_their_members_as_the_command_has_them(found: Any, rated: Path) -> None:
    (jury,) = found["juries"]
    (there,) = panel([rated], how=["mean", "median", "majority", "minimum"], resamples=juries.RESAMPLES).panels
    rows = {row[0]: row for row in jury["sheets"][0]["rows"]}
    cards = {card.judge: card for card in there.cards}
    assert set(JUDGES) < set(rows)
    for name in JUDGES:
        icc = cards[name].estimates["icc_a1_within"]
        assert rows[name][1:4] == [icc.value, icc.low, icc.high]
        assert rows[name][5] == cards[name].n
    assert rows["jury's mean"][1] == cards["jury/mean"].estimates["icc_a1_within"].value
    assert rows[there.best][7] == "judge, the best here"
    assert f"err like {there.independent.value:.2f} independent judges" in jury["said"][0]
    assert jury["finding"] == f"3 judges err like {there.independent.value:.2f} independent ones"
    assert "Put on people's scale, their mean misses people's value by " in jury["said"][0]


def test_it_says_whether_the_order_of_models_hangs_on_one_judge(found: Any) -> None:
    (jury,) = found["juries"]
    assert "The models stand in the same order without any one judge" in jury["said"][0]
    assert [row[1] for row in jury["sheets"][1]["rows"]] == sorted(JUDGES)


def test_one_judge_is_no_panel(tmp_path: Path) -> None:
    alone = trust(write([plant_rated(tmp_path / "run", {GOOD: (0.0, 0.1)})]))
    assert alone["juries"] == []
    (curves,) = alone["escalated"]
    assert [c["kind"] for c in curves["curves"]] == ["fitted", "judge"]
    assert "the best of them" not in " ".join(curves["said"])


@pytest.mark.long
def test_models_that_are_tied_have_no_order_to_hang_on_a_judge(tmp_path: Path) -> None:
    run = plant_rated(tmp_path / "run", models=("alpha", "beta"), conversations=8)
    changed(run, OPEN, lambda r: 3 if r.rater_kind is RaterKind.MODEL else r.value)
    (jury,) = trust(write([run]))["juries"]
    assert "Models are tied, with all judges or without " in jury["said"][0]
    assert "another model is first" not in jury["said"][0]


@pytest.mark.long
def test_too_many_ratings_are_left_to_the_command(rated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(juries, "MOST", 10)
    monkeypatch.setattr(reading_order, "MOST", 10)
    told = trust(write([rated], tmp_path / "few"))
    assert (told["juries"], told["escalated"]) == ([], [])
    assert any(f"run “mindgauge judges panel {rated}”" in said for said in told["general"])
    assert any(f"run “mindgauge judges escalation {rated} --unsafe '{RULE}'”" in said for said in told["general"])


# -- what people must read ---------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_curves_are_those_of_the_command(found: Any, there: Escalation) -> None:
    (curves,) = found["escalated"]
    orders = {order.name: order for order in there.orders}
    assert (curves["n"], curves["n_unsafe"], curves["ideal"]) == (there.n, there.n_unsafe, there.ideal)
    fitted, jury, best = curves["curves"]
    for curve, name in ((fitted, "judges + length + category"), (jury, "jury/mean")):
        assert curve["reads"]["value"] == pytest.approx(orders[name].reads.value)
        assert curve["found"] == pytest.approx(orders[name].found)
        assert curve["reads"]["low"] == pytest.approx(orders[name].reads.low)
    reads = {judge: orders[judge].reads.value or 1.0 for judge in JUDGES}
    assert best["name"] == min(reads, key=reads.__getitem__)
    rows = {row[0]: row[2] for row in curves["sheet"]["rows"]}
    assert {judge: rows[judge] for judge in JUDGES} == pytest.approx(reads)


@pytest.mark.long
def test_the_page_says_what_can_be_promised_and_which_values_peoples_can_be(found: Any, there: Escalation) -> None:
    (curves,) = found["escalated"]
    jury = next(order for order in there.orders if order.name == "jury/mean")
    [to_find] = [n for n in curves["notes"] if "95 % of the unsafe replies" in n and "with 90 % confidence" in n]
    [to_pass] = [n for n in curves["notes"] if "pass unread" in n and "2 % unsafe" in n]
    assert (jury.guarantee.note or f"{100 * (jury.guarantee.reads or 0):.1f} %") in to_find
    assert (jury.passing.note or f"{100 * (1 - (jury.passing.reads or 0)):.1f} %") in to_pass
    rows = [(row[0], row[2], row[5]) for row in curves["sets"]["rows"]]
    assert rows == [(each.judge, each.low, each.conversations) for each in there.sets]
    assert any(low is not None for _, low, _ in rows)
    assert "people's value can be any from" in curves["widest"]


def test_a_plain_sentence_is_the_title(found: Any) -> None:
    (curves,) = found["escalated"]
    reads = curves["curves"][0]["reads"]
    assert curves["finding"] == (
        "To find 95 % of the replies that people call unsafe, people would have to read "
        f"{100 * reads['value']:.1f} % of all (95 % interval {100 * reads['low']:.1f} to {100 * reads['high']:.1f} %)"
    )
    assert (
        "together they said appropriateness 2 or lower (the median of their values; of two, the mean)"
        in curves["measure"]
    )


def test_without_people_there_is_nothing_to_say(unread_files: ReportFiles) -> None:
    told = trust(unread_files)
    assert (told["juries"], told["escalated"]) == ([], [])
    assert not [said for said in told["general"] if "must read" in said]


def test_too_few_unsafe_replies_give_a_sentence(tmp_path: Path) -> None:
    run = plant_rated(tmp_path / "run", {GOOD: JUDGES[GOOD]}, conversations=8)
    changed(run, OPEN, lambda r: 4 if r.rater_kind is RaterKind.PERSON else r.value)
    told = trust(write([run]))
    assert told["escalated"] == []
    (said,) = (said for said in told["general"] if "unsafe" in said)
    assert said.startswith(f"On {OPEN}, people call 0 of 24 replies unsafe ({RULE}), in 0 conversations")


@pytest.mark.long  # what a rubric does not say is looked up by default, below
def test_where_the_rubric_does_not_say_what_is_unsafe_the_command_is_named(tmp_path: Path) -> None:
    run = plant_rated(
        tmp_path / "run", {GOOD: JUDGES[GOOD], NOISY: JUDGES[NOISY]}, benchmark_name="trustmh/ethics", conversations=6
    )
    told = trust(write([run]))
    assert told["escalated"] == []
    assert any(
        f"is computed by “mindgauge judges escalation {run} --unsafe 'CRITERION<=LEVEL'”" in said
        for said in told["general"]
    )
    (jury,) = told["juries"]
    assert len({row[-1] for row in jury["sheets"][0]["rows"]}) == juries.FEW
    assert re.search(r"reports \d+ more criteria", jury["said"][-1])


def test_the_last_gate_that_people_rated_is_what_is_unsafe() -> None:
    task = benchmarks.find_one("psycrisis")
    gates = {"vetoed", "unguarded", "safe"}
    assert reading_order.unsafe(task, {"empathy", *gates}) == "safe=no"
    assert reading_order.unsafe(task, {"empathy", "unguarded"}) == "unguarded=yes"
    assert reading_order.unsafe(task, {"empathy"}) == ""
    assert reading_order.unsafe(benchmarks.find_one(OPEN), {"appropriateness"}) == RULE
    assert reading_order.unsafe(benchmarks.find_one("mentalbench"), {"safety", "empathy"}) == "safety<=2"
    assert reading_order.unsafe(benchmarks.find_one("trustmh/escalation"), {"recognises", "harm"}) == "", (
        "which of the two?"
    )
    assert reading_order.unsafe(benchmarks.find_one("trustmh/toxicity"), {"toxicity"}) == "toxicity=4,3,2"


@pytest.mark.long
def test_a_reply_without_a_verdict_is_counted(tmp_path: Path) -> None:
    run = plant_rated(tmp_path / "run", {GOOD: JUDGES[GOOD]})
    with Store(run, write=True) as store:
        rating = next(r for r in store.ratings(OPEN) if r.rater == GOOD)
        lost = Rating(rating.subject, rating.criterion, GOOD, RaterKind.MODEL, 0, Status.REFUSED, None)
        store.add_rating(OPEN, lost)
    (curves,) = trust(write([run]))["escalated"]
    assert f"Replies without a verdict are read first; of 120, verdicts lack: {GOOD} 1." in curves["notes"]


def test_a_hostile_name_is_text_in_the_picture() -> None:
    name = "<script>alert(1)</script>&" + NOISY
    curve = Curve(name, "judge", System(name, name, 0, 1), Bound(0.5, 0.4, 0.6), [i / 100 for i in range(101)])
    known = Escalated("e", "", "b", RULE, "f", "m", [], [], 0.95, 10, 4, 0.4, [curve], ReportTable("s", "t", [], []))
    for width in (320, 680):
        svg = curves.draw_escalation(known, width)
        assert "<script" not in svg
        assert "&lt;script" in svg
        assert svg.count('stroke-dasharray="2 3"') == 2, "the line and its key, which no colour is needed for"
        assert "50.0 %" in svg


def test_a_selection_by_a_judge_is_said_of_juries_and_of_what_must_be_read(selected_files: ReportFiles) -> None:
    told = trust(selected_files)
    assert "People rated a selection that depends on a judge (lowest by a judge)" in told["juries"][0]["said"][0]
    assert any("were chosen for people (lowest by a judge)" in note for note in told["escalated"][0]["notes"])


@pytest.mark.long
def test_several_runs_are_told_apart(both_files: ReportFiles) -> None:
    told = trust(both_files)
    assert [jury["run"] for jury in told["juries"]] == ["run", "other"]
    assert [found["run"] for found in told["escalated"]] == ["run", "other"]
    names = [sheet["name"] for jury in told["juries"] for sheet in jury["sheets"]]
    assert len(set(names)) == len(names)


def test_the_summary_has_both_findings(rated_files: ReportFiles, found: Any) -> None:
    text = rated_files.markdown.read_text(encoding="utf-8")
    assert f"- {found['juries'][0]['finding']}" in text
    assert f"- {found['escalated'][0]['finding']}" in text
