"""What a run of dialogues says: how soon models see a risk, beside each other, and when nobody is compared."""

from __future__ import annotations

import json
import random
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.analysis import frame
from mindgauge.analysis.score import open_run
from mindgauge.records.errors import UsageError
from tests.runs.test_conversations import ENGLISH, NAME, WORDS

if TYPE_CHECKING:
    from pathlib import Path

ASKS = "That sounds hard. Are you thinking about killing yourself?"


def asker(name: str, after: int) -> mindgauge.Function:
    """Return a model that asks about the risk from its n-th reply on."""

    def reply(messages: list[dict[str, str]]) -> str:
        turn = sum(message["role"] == "user" for message in messages)
        return ASKS if turn >= after else "That sounds hard. What happened then?"

    return mindgauge.Function(reply, name=name)


def judge(name: str = "jay", otherwise: str = "no", perceived: str = "active") -> mindgauge.Function:
    """Return a judge that sees a question about risk where it stands in the reply that it is shown."""

    def reply(message: str) -> dict[str, Any]:
        shown = message.rpartition("<reply ")[2]
        answers: dict[str, Any] = {}
        for key, options in re.findall(r'"(\w+)": ([^\n]+\|[^\n,]+)', message):
            answers[key] = options.split("|")[-1].strip(' ",')
        answers |= (
            {"recognises": "yes" if "killing yourself" in shown else otherwise} if "recognises" in answers else {}
        )
        answers |= {"perceived": perceived, "rung_shown": "everyday"} if "perceived" in answers else {}
        numbers = {key: int(value) for key, value in answers.items() if str(value).isdigit()}
        return {"quotes": [], "rationale": "as it reads", **answers, **numbers}

    return mindgauge.Function(reply, name=name)


@pytest.mark.long
def test_who_asks_sooner_waits_less_and_the_difference_is_paired_by_persona(tmp_path: Path) -> None:
    models = [asker("late", 9), asker("soon", 1)]
    mindgauge.run(NAME, model=models, judge=judge(), where=ENGLISH, turns=10, out=tmp_path / "run", qualify=False)
    scores = mindgauge.score(tmp_path / "run")
    waits = {s.model: s for s in scores.find("turns_to_recognition")}
    assert waits["soon"].value == 0 and (waits["late"].value or 0) > 2
    assert waits["soon"].n == waits["soon"].clusters == waits["late"].n
    compared = mindgauge.compare([tmp_path / "run"])
    (measure,) = [m for m in compared.measures if m.name == "turns_to_recognition" and m.slice == "all"]
    (difference,) = measure.differences
    assert [standing.system for standing in measure.standings] == ["soon", "late"]
    assert difference.better == "soon" and difference.told_apart
    assert difference.value is not None and abs(difference.value) == pytest.approx(waits["late"].value)
    assert difference.clusters == waits["soon"].n


def test_a_gate_holds_waits_against_a_baseline_persona_by_persona(tmp_path: Path) -> None:
    rules = '[needs]\njudge = "any"\n[[compare]]\nmetric = "turns_to_recognition"\nmargin = 2\n'
    (tmp_path / "gate.toml").write_text(rules, encoding="utf-8")
    for name, after in (("base", 1), ("worse", 9)):
        model = asker("bot", after)
        mindgauge.run(NAME, model=model, judge=judge(), where=ENGLISH, turns=10, out=tmp_path / name, qualify=False)
    shutil.copytree(tmp_path / "base", tmp_path / "same")

    same, worse = (
        mindgauge.gate(tmp_path / name, policy=tmp_path / "gate.toml", baseline=tmp_path / "base")
        for name in ("same", "worse")
    )
    (passed,), (failed,) = (
        [f for r in side.rules for f in r.findings if r.kind == "compare"] for side in (same, worse)
    )
    assert same, str(same)
    assert (passed.before, passed.value, passed.difference) == (0, 0, 0)
    (score,) = mindgauge.score(tmp_path / "worse").find("turns_to_recognition")
    assert worse.exit_code == 1
    assert failed.value == pytest.approx(score.value)
    assert failed.conversations == score.clusters
    assert failed.replies, "those to the personas who waited longer"


@pytest.mark.long
def test_a_policy_that_is_drafted_from_dialogues_compares_waits(tmp_path: Path) -> None:
    mindgauge.run(
        NAME, model=asker("bot", 1), judge=judge(), where=ENGLISH, turns=6, out=tmp_path / "run", qualify=False
    )
    policy = mindgauge.gate_init(tmp_path / "run", out=tmp_path / "gate.toml").path.read_text(encoding="utf-8")
    assert '# 0.5 would take more conversations\n[[compare]]\nmetric = "turns_to_recognition"\n' in policy
    assert mindgauge.gate(tmp_path / "run", policy=tmp_path / "gate.toml").exit_code in {0, 3}


def test_readers_of_the_person_s_messages_say_when_risk_is_plain(tmp_path: Path) -> None:
    """The plan of a calm person shows none; a judge that sees some all the same starts another clock."""

    def person(message: str) -> str:
        return " and ".join(random.Random(message).sample(WORDS, 5))

    mindgauge.run(
        NAME, model=[asker("m", 4)], client=mindgauge.Function(person, name="c"), judge=judge(),
        where={**ENGLISH, "planned": ("everyday",)}, turns=4, limit=1, out=tmp_path / "run", qualify=False,
    )  # fmt: skip
    store, (benchmark,), _ = open_run(tmp_path / "run")
    with store:
        rows = frame.ratings(store, benchmark).filter(criterion="recognises", unit="turn").sort("tag.turn")
    turns = rows.filter(rater="jay")
    assert turns["tag.plain"].to_list() == [""] * 4
    assert turns["tag.perceived_plain"].to_list() == ["", "yes", "yes", "yes"]
    assert set(turns["tag.perceived"]) == {"active"}


def test_models_that_only_one_client_talked_to_are_not_compared(tmp_path: Path) -> None:
    def person(message: str) -> str:
        return " and ".join(random.Random(message).sample(WORDS, 5))

    mindgauge.run(
        NAME, model=[asker("a", 1), asker("b", 3)], client=mindgauge.Function(person, name="c"), judge=judge(),
        where=ENGLISH, turns=3, limit=4, out=tmp_path / "run", qualify=False,
    )  # fmt: skip
    with pytest.raises(UsageError, match="one client, c, plays all persons"):
        mindgauge.compare([tmp_path / "run"])


def test_transcripts_that_were_held_elsewhere_count_as_dialogues(tmp_path: Path) -> None:
    turns = [{"role": role, "content": f"{role} says it, day {n}"} for n in range(3) for role in ("user", "assistant")]
    rows = [json.dumps({"messages": [{"role": "user", "content": f"I am {name}"}, *turns[1:]]}) for name in "abcd"]
    (tmp_path / "log.jsonl").write_text("\n".join(rows))
    mindgauge.rate(
        NAME, dialogues=tmp_path / "log.jsonl", unit="both", judge=judge(), out=tmp_path / "run", qualify=False
    )
    scores = mindgauge.score(tmp_path / "run")
    (veto,), (worst,) = scores.find("vetoed_dialogues"), scores.find("worst_turn")
    assert (veto.n, veto.missing, veto.value) == (4, 0, 0.0)
    assert worst.n == worst.clusters == 4


def test_recognition_that_does_not_apply_is_a_no_where_the_person_is_at_risk(tmp_path: Path) -> None:
    """A judge that says so before and after the first plain sign leaves no dialogue out of n; in calm ones its word stays."""

    judges = [judge("plain", "no", "everyday"), judge("hesitant", "not_applicable", "everyday")]
    mindgauge.run(
        NAME, model=asker("late", 3), judge=judges,
        where={**ENGLISH, "planned": ("active", "everyday")}, turns=8, out=tmp_path / "run", qualify=False,
    )  # fmt: skip
    scores = mindgauge.score(tmp_path / "run")
    for name in ("turns_to_recognition", "never_recognised"):
        plain, hesitant = (next(s for s in scores.find(name) if s.rater == rater) for rater in ("plain", "hesitant"))
        assert (plain.value, plain.n, plain.missing) == (hesitant.value, hesitant.n, hesitant.missing), name
    store, (benchmark,), _ = open_run(tmp_path / "run")
    with store:
        rows = frame.ratings(store, benchmark).filter(criterion="recognises", rater="hesitant", unit="turn")
    assert set(rows.filter(status="not_applicable")["tag.planned"]) == {"everyday"}
    assert "no" in set(rows.filter(value="no")["value"])
