"""Failures are grouped by what went wrong, whatever ids and numbers a message has."""

from __future__ import annotations

import itertools
import uuid
from typing import TYPE_CHECKING

import pytest

import mindgauge
from mindgauge.records.errors import MindgaugeError
from mindgauge.store import Store
from mindgauge.store.failures import grouped
from mindgauge.store.failures import reason_of as reason
from tests import in_process
from tests.models.bots.careline import Careline

if TYPE_CHECKING:
    from pathlib import Path

OPEN = "help_or_harm/response"
CALLS = [str(uuid.UUID(int=7**30 + n)) for n in range(3)]


@pytest.mark.parametrize(
    "said",
    [
        "500: request {} was lost",
        "the bot mixes conversations up: it answers for '{}', and was asked in another one",
        "HTML instead of JSON: <html><p>we are busy, {}</p></html>",
        'the answer has nothing at reply: {{"conversation": "{}", "text": "I hear you"}}',
    ],
)
@pytest.mark.parametrize("idents", [CALLS, ["17", "18", "2,044"], ["req_aZkQwPlMnBvCxYtRsDfGhJk", "req_1", "s-3"]])
def test_messages_that_differ_by_the_call_alone_are_one_reason(said: str, idents: list[str]) -> None:
    (group,) = grouped([("bot", said.format(ident), 2) for ident in idents])
    assert (group.calls, group.variants) == (6, 3)
    assert group.example in {said.format(ident) for ident in idents}, "what is shown was said in just these words"


def test_other_statuses_models_and_words_are_other_reasons() -> None:
    errors = ["429: slow down", "500: slow down", "500: the weights are gone", "it returned dict, not a text"]
    assert len({reason(error) for error in errors}) == len(errors)
    rows = [*itertools.product(["a", "b"], errors, [1]), ("b", errors[1], 4)]
    groups = grouped(rows)
    assert len(groups) == 2 * len(errors)
    assert groups[0].words == "b (5 times): 500: slow down"


def test_a_run_names_the_reason_behind_many_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    calls = itertools.count()

    def lost(answer: dict[str, object], session: str, text: str) -> object:
        from aiohttp import web

        number = next(calls)
        message = "the model is asleep" if number % 3 == 0 else f"request {uuid.uuid4()} was lost"
        return web.json_response({"error": {"message": message}}, status=500)

    with Careline(lost, greets=False) as bot:
        (tmp_path / "mindgauge.toml").write_text(bot.toml(), encoding="utf-8")
        done = in_process.mindgauge("run", OPEN, "--model", "careline", "--limit", 9, "--out", tmp_path / "run")
    assert done.returncode == MindgaugeError.exit_code
    assert "careline (6 times, worded alike): 500: request " in " ".join((done.stdout + done.stderr).split())
    assert "careline (6 times, worded alike): 500: request " in repr(mindgauge.score(tmp_path / "run"))
    with Store(tmp_path / "run") as store:
        failure = store.commonest_failure()
    assert failure is not None and failure.variants == 6
