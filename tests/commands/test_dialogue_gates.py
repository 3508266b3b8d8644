"""Gates over a dialogue follow from all of its turns, and dialogues of two systems are compared case by case."""

from __future__ import annotations

import json
import re
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis import composites, frame
from mindgauge.analysis.score import Scores
from mindgauge.cli import main
from mindgauge.commands.compare import compare
from mindgauge.models.scripted import Scripted
from mindgauge.records import Exchange, Status
from mindgauge.records.errors import UsageError
from mindgauge.stats.proportion import clopper_pearson
from mindgauge.store import Store
from tests.thinned import later

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.analysis.pairing import SystemComparison, SystemDifference
    from mindgauge.records.request import Request

NAME, TURNS, WHOLE = "psycrisis", "bot (all turns)", "bot (whole dialogue)"
SAYS = {"ask": "risk_assessment", "name": "referral", "shrug": "minimising"}
MUMBLED = "mumble"


def judge(request: Request) -> str | Exchange:
    """Find in a reply what its words say it does; where it mumbles, nothing can be read, and a calm reply has no risk."""
    text = request.messages[0].content
    single = re.findall(r"<reply \w+>\n(.*?)\n</reply", text, re.DOTALL)
    reply = single[-1] if single else " ".join(re.findall(r"\] Assistant: (.*)", text))
    if MUMBLED in reply:
        return Exchange(Status.FILTERED)
    assert request.schema is not None
    answers = {name: "no" for name, field in request.schema["properties"].items() if "enum" in field}
    answers |= {name: "yes" for word, name in SAYS.items() if word in reply}
    if "calm" in reply:
        answers["risk_assessment"] = "not_applicable"
    return json.dumps({"quotes": [], "rationale": "because", **answers})


def dialogue(*replies: str, opening: str = "I do not know where to start.", **more: Any) -> dict[str, Any]:
    said = []
    for place, reply in enumerate(replies):
        said += [
            {"role": "user", "content": opening if place == 0 else f"And after {replies[place - 1]}, then what?"},
            {"role": "assistant", "content": reply},
        ]
    return {"messages": said, "model": "bot", "category": "suicide", "language": "en", **more}


def rated(folder: Path, *rows: dict[str, Any], unit: str = "turn", name: str = "r") -> Any:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    return mindgauge.rate(NAME, dialogues=path, judge=Scripted("judge", judge), unit=unit, out=folder / name)


def gate(found: Any, criterion: str, slice_: str = "all", model: str = TURNS) -> Any:
    name = "share_yes" if criterion == "safe" else "yes_rate"
    return next(m for m in found.find(name, slice_, model=model, criterion=criterion, rater="judge"))


def test_one_vetoed_turn_vetoes_and_one_that_asks_guards(tmp_path: Path) -> None:
    found = rated(
        tmp_path,
        dialogue("nod", "shrug", "ask", id="vetoed"),
        dialogue("nod", "nod", "ask", id="asked late"),
        dialogue("name", "nod", id="named"),
        dialogue("nod", "nod", "nod", id="never"),
        unit="both",
    )
    vetoed, unguarded, safe = (gate(found, name) for name in ("vetoed", "unguarded", "safe"))
    assert (vetoed.value, vetoed.n, vetoed.clusters, vetoed.missing) == (0.25, 4, 4, 0)
    assert (vetoed.low, vetoed.high) == clopper_pearson(1, 4)[1:3]
    assert (unguarded.value, safe.value) == (0.25, 0.5)
    single = gate(found, "unguarded", model="bot")
    assert (single.value, single.n, single.clusters) == (8 / 11, 11, 4), "single turns stay apart"
    assert gate(found, "vetoed", model=WHOLE).n == 4
    assert not found.find("mean", model=TURNS), "only gates are taken over turns"


def test_turns_follow_three_valued_logic(tmp_path: Path) -> None:
    said = list(product(("nod", "shrug", "ask", MUMBLED, "calm"), repeat=3))
    rated(tmp_path, *(dialogue(*replies, id=" ".join(replies)) for replies in said))
    benchmark = benchmarks.find_one(NAME)
    with Store(tmp_path / "r") as store:
        found = composites.over_turns(frame.ratings(store, benchmark), benchmark)
    values = {(row["cluster"], row["criterion"]): row["value"] or row["status"] for row in found.iter_rows(named=True)}
    assert len(values) == len(found) == 3 * len(said)
    for replies in said:
        lost = "filtered" if MUMBLED in replies else ""
        vetoed = "yes" if "shrug" in replies else lost or "no"
        unguarded = "no" if "ask" in replies else lost or "yes"
        safe = "no" if "yes" in {vetoed, unguarded} else lost if lost in {vetoed, unguarded} else "yes"
        told = [values[" ".join(replies), name] for name in ("vetoed", "unguarded", "safe")]
        assert told == [vetoed, unguarded, safe], replies


def test_without_risk_in_any_turn_the_guard_does_not_apply_and_help_named_once_counts(tmp_path: Path) -> None:
    calm = {"category": "existential_distress"}
    found = rated(tmp_path, dialogue("calm", "calm", id="a", **calm), dialogue("calm", "name", id="b", **calm))
    assert (gate(found, "unguarded").value, gate(found, "unguarded").n) == (0, 1)
    assert (gate(found, "safe").value, gate(found, "safe").n) == (1, 2)


def test_a_turn_without_an_answer_makes_the_dialogue_unknown(tmp_path: Path) -> None:
    found = rated(tmp_path, dialogue("nod", " ", "nod", id="a"), dialogue("ask", " ", "nod", id="b"))
    assert (gate(found, "vetoed").n, gate(found, "vetoed").missing) == (2, 2)
    assert (gate(found, "unguarded").value, gate(found, "unguarded").missing) == (0, 1)


def test_dialogues_of_one_cluster_and_repeats_stay_apart_as_subjects_and_together_as_clusters(tmp_path: Path) -> None:
    rows = [dialogue("shrug", "nod", cluster="c", run=run) for run in (0, 1)]
    found = rated(tmp_path, *rows, dialogue("nod", cluster="c"), dialogue("nod", cluster="d", opening="Hello."))
    assert (gate(found, "vetoed").n, gate(found, "vetoed").clusters, gate(found, "vetoed").value) == (4, 2, 0.5)


def test_where_single_replies_are_rated_nothing_is_taken_over_turns(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text(
        json.dumps({"user": "I cannot sleep.", "reply": "ask", "model": "bot", "category": "suicide"}) + "\n"
    )
    found = mindgauge.rate(NAME, replies=path, judge=Scripted("judge", judge), out=tmp_path / "r")
    assert isinstance(found, Scores)
    assert {m.model for m in found.metrics} == {"bot"}


# -- two systems ------------------------------------------------------------------------------------------------------


def difference(found: SystemComparison, criterion: str, first: str, second: str) -> SystemDifference:
    for measure in found.find("yes_rate", criterion=criterion):
        for gap in measure.differences:
            if {gap.first, gap.second} == {first, second}:
                return gap
    raise AssertionError((first, second))


def cases(model: str, late: str, **named: str) -> list[dict[str, Any]]:
    """Twenty-four cases, of as many turns as the model takes; it shrugs in half of them, if it does at all."""
    return [
        dialogue(
            "nod", *["nod"] * (place % 3), late if place % 2 else "nod", opening=f"It is day {place}.", model=model
        )
        | {column: value.format(place) for column, value in named.items()}
        for place in range(24)
    ]


@pytest.mark.parametrize("named", [later({}), later({"id": "case {}"}), {"cluster": "person {}"}])
def test_dialogues_of_two_runs_are_paired_by_their_case(tmp_path: Path, named: dict[str, str]) -> None:
    for model, late in (("bot", "shrug"), ("kind", "ask")):
        rated(tmp_path, *cases(model, late, **named), unit="both", name=model)
    found = compare([tmp_path / "bot", tmp_path / "kind"])
    for suffix in (" (all turns)", " (whole dialogue)"):
        gap = difference(found, "vetoed", f"bot{suffix}", f"kind{suffix}")
        assert (gap.n, gap.clusters) == (24, 24)
    gap = difference(found, "vetoed", TURNS, "kind (all turns)")
    assert abs(gap.value or 0) == 0.5 and gap.told_apart
    turns = difference(found, "vetoed", "bot", "kind")
    assert (turns.n, turns.clusters) == (24, 24)
    assert abs(turns.value or 0) == pytest.approx((1 / 2 + 1 / 3 + 1 / 4) * 4 / 24), (
        "a dialogue counts once, however long"
    )
    pairs = {frozenset((d.first, d.second)) for m in found.measures for d in m.differences}
    assert len(pairs) == 3, "turns, whole dialogues and all turns together are never compared with each other"


def test_a_run_of_turns_and_one_of_both_worked_with_the_same_prompt_about_turns(tmp_path: Path) -> None:
    for model, unit in (("bot", "turn"), ("kind", "both")):
        rated(tmp_path, *cases(model, "nod"), unit=unit, name=model)
    found = compare([tmp_path / "bot", tmp_path / "kind"])
    assert not [note for note in found.notes if "did not work with the same" in note]
    assert found.notes == ["psycrisis: only kind (whole dialogue), and nobody to compare it with"]


def test_an_id_pairs_what_begins_otherwise(tmp_path: Path) -> None:
    for model, opening in (("bot", "Good morning."), ("kind", "Good evening.")):
        rows = [dialogue("nod", "ask", opening=f"{opening} {i}", model=model, id=str(i)) for i in range(3)]
        rated(tmp_path, *rows, name=model, unit="dialogue")
    assert difference(compare([tmp_path / "bot", tmp_path / "kind"]), "vetoed", WHOLE, "kind (whole dialogue)").n == 3


def test_what_cannot_be_paired_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for model, opening in (("bot", "Good morning."), ("kind", "Good evening.")):
        rated(tmp_path, dialogue("nod", "ask", opening=opening, model=model), name=model, unit="dialogue")
    said = r"no two of bot \(whole dialogue\), kind \(whole dialogue\) have a dialogue in common \(one case by its `id`"
    with pytest.raises(UsageError, match=said):
        compare([tmp_path / "bot", tmp_path / "kind"])
    monkeypatch.setattr("sys.argv", ["mindgauge", "compare", str(tmp_path / "bot"), str(tmp_path / "kind")])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.long
def test_a_report_and_a_score_of_such_a_run_can_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rated(tmp_path, *cases("bot", "shrug")[:6], *cases("kind", "ask")[:6], unit="both")
    for verb in (["score", "--full"], ["report"], ["compare", "--full"]):
        monkeypatch.setattr("sys.argv", ["mindgauge", *verb, str(tmp_path / "r")])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsys.readouterr()
        assert (left.value.code or 0, err) == (0, "")
        assert verb == ["report"] or "(all turns)" in out
    assert "bot (all turns)" in (tmp_path / "r" / "report.json").read_text(encoding="utf-8")
