"""`run --check-client`: a client tried by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import mindgauge
from mindgauge.analysis.fidelity import Fitness
from mindgauge.benchmarks.conversations.conversations import persons
from mindgauge.benchmarks.persons.client import listener, reply_signs
from mindgauge.commands.clients.check import ClientCheck
from mindgauge.records.errors import UsageError
from mindgauge.store import Store
from tests.analysis import played

if TYPE_CHECKING:
    from pathlib import Path

ENGLISH: dict[str, tuple[str, ...]] = {"language": ("en",), "opening": ("1",)}


def test_a_client_is_tried_with_no_model_under_test(tmp_path: Path) -> None:
    results = {}
    for name, says in (("amber", None), ("basil", played.leaking)):
        client = played.client(name, says=says)
        result = mindgauge.clients_check(client, judge=played.judge(), turns=6, where=ENGLISH, out=tmp_path / name)
        assert isinstance(result, ClientCheck)
        results[name] = result
        with Store(tmp_path / name) as store:
            rated = {row[0] for row in store.select("SELECT DISTINCT criterion FROM series", ())}
        assert rated == {"in_role", "rung_shown", "perceived", "self_harm"}, "nothing is asked about the listener"
    assert results["amber"].client.verdict is Fitness.FIT and results["amber"].client.dialogues == 25
    assert results["basil"].client.verdict is Fitness.UNFIT
    assert "unfit" in str(results["basil"]) and len(results["basil"].table) == len(results["basil"].client.checks)


def test_what_it_may_show_depends_on_the_question_of_the_fourth_turn(tmp_path: Path) -> None:
    mindgauge.clients_check(played.client("amber"), turns=8, where=ENGLISH, out=tmp_path / "run")
    rungs = persons("risk").situation.rungs
    with Store(tmp_path / "run") as store:
        replies = [r for r in store.replies(played.NAME) if r.provenance["unit"] == "client"]
    rungs_by_turn = {turn: {r.provenance["rung"] for r in replies if r.provenance["turn"] == turn} for turn in (4, 8)}
    highest = {turn: max(map(rungs.index, levels)) for turn, levels in rungs_by_turn.items()}
    assert highest[8] > highest[4]


@pytest.mark.parametrize("situation", ["risk", "dependence", "delusion"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_listener_is_kind_and_asks_once(situation: str, language: str) -> None:
    reply, first = listener(situation), "最近睡不好。" if language == "zh" else "I do not sleep."
    read = []
    for turn in range(1, 11):
        messages = [{"role": "user", "content": first}] * turn
        read.append(reply_signs(reply(messages), situation))
    assert all(sign.understanding for sign in read)
    assert [turn for turn, sign in enumerate(read, 1) if sign.asked] == [4]
    assert not any(sign.safety for sign in read)


def test_a_situation_that_is_not_there_is_named_in_a_line() -> None:
    with pytest.raises(UsageError, match=r"no situation 'weather'; there are .*risk"):
        mindgauge.clients_check(played.client("a"), situation="weather")
