"""Dialogues that stop in the middle: for money, for Ctrl-C, with a server or a bot; the same command goes on with each."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import signal
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.models.settings import Settings
from mindgauge.records import Exchange, Reply, Status
from mindgauge.records.errors import BudgetError, MindgaugeError
from mindgauge.records.request import Price
from mindgauge.runs.session import Interrupted, Session
from mindgauge.store import Store
from tests.reports import talked
from tests.stub import PROBED, Stub, says
from tests.thinned import later

if TYPE_CHECKING:
    from pathlib import Path

    from aiohttp import web

NAME = "conversations/risk"
WORDS = (
    "rain", "bus", "kettle", "homework", "neighbour", "garden", "shift", "window", "letter", "stairs", "cousin", "market",
)  # fmt: skip


class Talk:
    """A server whose answers never repeat, of a target and of a client, and what it was asked how often."""

    def __init__(self) -> None:
        self.asked = Counter[str]()
        self.at: dict[int, Any] = {}
        """What is done when so many calls came."""

    def answer(self, body: dict[str, Any], count: int) -> web.Response:
        if body.get("max_tokens") != PROBED:
            self.asked[json.dumps((body["model"], body["messages"]))] += 1
        self.at.get(count, lambda: None)()
        words = " and ".join(random.sample(WORDS, 6))
        return says(words if body["model"] == "person" else f"That sounds hard. You said {words}?")

    @property
    def twice(self) -> int:
        return sum(times - 1 for times in self.asked.values())


def hold(folder: Path, model: Any, **options: Any) -> None:
    usual: dict[str, Any] = {"turns": 4, "limit": 3, "where": {"language": ("en",)}, "qualify": False}
    settings = options.pop("settings", Settings(concurrency=2))
    mindgauge.run(NAME, model=model, out=folder, settings=settings, **{**usual, **options})


def kept(folder: Path, unit: str) -> list[Reply]:
    with Store(folder) as store:
        return [reply for reply in store.replies(NAME) if reply.provenance["unit"] == unit]


def holds_together(folder: Path, dialogues: int, turns: int = 4) -> None:
    """See that each dialogue is there once, from its first turn to its last, and each turn answers the one before."""
    wholes, replies = kept(folder, "dialogue"), kept(folder, "turn")
    assert [whole.provenance["outcome"] for whole in wholes] == ["complete"] * dialogues
    assert len({whole.sample for whole in wholes}) == dialogues
    by_turn = {(reply.provenance["dialogue"], reply.provenance["turn"]): reply for reply in replies}
    assert len(by_turn) == len(replies) == dialogues * turns
    for (dialogue, turn), reply in by_turn.items():
        held = [message["content"] for message in reply.provenance["held"]]
        said = [by_turn[dialogue, before].text for before in range(1, turn)]
        assert held[1::2] == said, "what is answered is what was said"


@pytest.mark.parametrize("clients", [0, 1])
def test_a_budget_ends_dialogues_in_the_middle_before_it_is_overspent(tmp_path: Path, clients: int) -> None:
    talk = Talk()
    with Stub(
        talk.answer
    ) as stub:  # 10 tokens read and 5 written a call: 25 millionths of a dollar, at most 100 expected
        settings = Settings(concurrency=2, price=Price.parse("1:3"))
        options = {"client": [f"{stub.url}#person"] * clients, "settings": settings, "max_tokens": 300}
        with pytest.raises(BudgetError, match="raise --max-cost and run the same command to go on"):
            hold(tmp_path, stub.model, max_cost=0.0012, **options)
        with Store(tmp_path) as store:
            assert 0 < store.spent() <= 0.0012
        assert 0 < len(kept(tmp_path, "turn")) < 12 and len(kept(tmp_path, "dialogue")) != 3
        hold(tmp_path, stub.model, max_cost=1, **options)
    holds_together(tmp_path, 3)
    assert talk.twice == 0, "nothing is paid twice"


@pytest.mark.parametrize("clients", [0, 1])
def test_after_ctrl_c_no_call_begins_and_the_next_command_goes_on(tmp_path: Path, clients: int) -> None:
    talk = Talk()
    talk.at[6] = lambda: signal.raise_signal(signal.SIGINT)

    async def slowly(body: dict[str, Any], count: int) -> web.Response:
        answer = talk.answer(body, count)
        await asyncio.sleep(0.1)
        return answer

    with Stub(slowly) as stub:
        options = {"client": [f"{stub.url}#person"] * clients}
        with pytest.raises(Interrupted, match=r"^stopped; everything finished is kept, run the same command to go on$"):
            hold(tmp_path, stub.model, **options)
        assert stub.calls <= 6, "of the two dialogues under way, none begins another call"
        hold(tmp_path, stub.model, **options)
    holds_together(tmp_path, 3)
    assert talk.twice == 0


def test_a_server_that_dies_in_mid_dialogue_leaves_its_dialogues_to_the_others(tmp_path: Path) -> None:
    talk = Talk()
    with Stub(talk.answer) as well, Stub(talk.answer) as dying:
        refused = itertools.count()

        def dies(body: dict[str, Any], count: int) -> web.Response:
            if count < 6:
                return talk.answer(body, count)
            next(refused)
            raise ConnectionError

        dying.handler = dies
        servers = ",".join([well.url, f"{dying.url}#stub"])
        hold(tmp_path, servers, client=servers.replace("#stub", "#person"), settings=Settings(concurrency=3))
        assert next(refused), "it was there, and then it was not"
    holds_together(tmp_path, 3)
    assert talk.twice == 0, "only what the dead server had is asked again"


def test_status_tells_how_far_dialogues_are_while_they_are_held(tmp_path: Path) -> None:
    talk, seen = Talk(), []
    talk.at[8] = lambda: seen.append(mindgauge.status(tmp_path))
    with Stub(talk.answer) as stub:
        hold(tmp_path, stub.model, client=f"{stub.url}#person", settings=Settings(concurrency=1))
    [early] = seen
    assert early.writer
    left = {entry.name: (entry.left, entry.of) for entry in early.left}
    whole, turns, messages = (
        next(v for k, v in left.items() if mark in k) for mark in ("(whole", "#stub", "(client of")
    )
    assert whole == (2, 3) and turns[1] == 12 and messages[1] == 9
    assert turns[0] + messages[0] == 21 - 7, "the first dialogue's seven calls are there"
    assert not [entry for entry in mindgauge.status(tmp_path).left if entry.left]


def test_more_dialogues_join_those_that_were_held(tmp_path: Path) -> None:
    talk = Talk()
    with Stub(talk.answer) as stub:
        for limit, clients in ((1, 1), (3, 1), (3, 2), (2, 1)):
            players = [f"{stub.url}#person", f"{stub.url.replace('127.0.0.1', 'localhost')}#person"][:clients]
            hold(tmp_path, stub.model, client=players, limit=limit)
    holds_together(tmp_path, 6)
    assert talk.twice == 3, "both clients begin the same way, which the other server does not know"


@pytest.mark.parametrize(
    ("clients", "lost"), [(0, "turn"), later(0, "dialogue"), later(1, "turn"), (1, "client"), later(1, "dialogue")]
)
def test_a_dialogue_that_lacks_something_in_the_middle_is_mended(tmp_path: Path, clients: int, lost: str) -> None:
    """As of a run that was salvaged: what follows a lost turn answers another dialogue than is gone on with."""
    talk = Talk()
    with Stub(talk.answer) as stub:
        options = {"client": [f"{stub.url}#person"] * clients}
        hold(tmp_path, stub.model, judge=talked.judge(), **options)
        before = stub.calls
        gone = [reply.id for reply in kept(tmp_path, lost) if lost == "dialogue" or reply.provenance["turn"] == 2]
        assert len(gone) == 3
        with Store(tmp_path, write=True) as store:
            store.forget_replies(NAME, gone)
        hold(tmp_path, stub.model, judge=talked.judge(), **options)
        asked = 3 * 3 if lost == "turn" and not clients else 0  # a client's dialogues are kept as calls, too
        assert stub.calls == before + asked
    holds_together(tmp_path, 3)
    assert len(kept(tmp_path, "client")) == 9 * clients
    with Store(tmp_path) as store:
        rated = {rating.subject for rating in store.ratings(NAME)}
        assert rated == {reply.id for reply in store.replies(NAME)}


@pytest.mark.parametrize("stop_after", [1, 4, 7])
def test_a_bot_with_a_state_that_is_killed_in_mid_dialogue_is_begun_again(
    tmp_path: Path, stop_after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Bot:
        def start(self) -> str:
            self.heard = 0
            return "Hello, I am here."

        def reply(self, message: str) -> str:
            self.heard += 1
            return f"That is the {self.heard}. thing. {random.random()}"

    asked, ask = itertools.count(1), Session.call

    async def killed(self: Session, *args: Any) -> Exchange:
        if next(asked) > stop_after:
            raise MindgaugeError("stop here")
        return await ask(self, *args)

    with monkeypatch.context() as patched:
        patched.setattr(Session, "call", killed)
        with pytest.raises(MindgaugeError, match="stop here"):
            hold(tmp_path, mindgauge.Function(Bot, name="bot"), settings=Settings(concurrency=2))
    told = Counter(reply.provenance["dialogue"] for reply in kept(tmp_path, "turn"))
    hold(tmp_path, mindgauge.Function(Bot, name="bot"))
    replies = kept(tmp_path, "turn")
    assert len(replies) == len({reply.sample for reply in replies}) == 12
    assert all(reply.text.startswith(f"That is the {reply.provenance['turn']}. thing") for reply in replies)
    again = {reply.provenance["dialogue"] for reply in replies if reply.provenance.get("begun_again")}
    assert again == {dialogue for dialogue, turns in told.items() if turns < 4} != set()
    assert {whole.status for whole in kept(tmp_path, "dialogue")} == {Status.OK}
