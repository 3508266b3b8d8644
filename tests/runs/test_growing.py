"""A run grows in every direction and in any order, killed in between: nothing is paid twice, and it ends as one command would."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mindgauge
from mindgauge.analysis.score import Scores
from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.own_texts import OwnReader
from mindgauge.models.scripted import Scripted
from mindgauge.models.settings import Settings
from mindgauge.records.errors import EndpointError, UsageError
from mindgauge.reports.page import write
from mindgauge.store import Store, manifest
from tests.thinned import examples

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records.request import Request

OPEN, CLOSED, OTHER = "help_or_harm/response", "help_or_harm/crisis_type", "psycrisis"
ONE_BY_ONE = Settings(concurrency=1)


class Caller:
    """A stub behind all models of a test: it counts calls, and breaks after some."""

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self.breaks_after: int | None = None

    def model(self, name: str) -> Scripted:
        def answer(request: Request) -> str:
            if self.breaks_after is not None:
                if self.breaks_after == 0:
                    raise EndpointError(f"{name} is gone")
                self.breaks_after -= 1
            self.keys.append(request.key(name))
            if request.schema is None:
                return f"I hear you, says {name} ({request.key(name).hex()[:6]})."
            verdict: dict[str, Any] = {"quotes": [], "rationale": "r"}
            for criterion, described in request.schema["properties"].items():
                if "enum" in described:
                    place = request.key(name)[0] % len(described["enum"])
                    verdict[criterion] = described["enum"][place]
            return json.dumps(verdict)

        return Scripted(name, answer)


Step = dict[str, Any]
steps = st.fixed_dictionaries({
    "names": st.sampled_from([(OPEN,), (OPEN, CLOSED)]),
    "limit": st.integers(1, 3),
    "runs": st.integers(1, 2),
    "judge_runs": st.integers(1, 2),
    "models": st.sampled_from([("bot-a",), ("bot-b",), ("bot-a", "bot-b")]),
    "judges": st.sampled_from([(), ("claude-x",), ("grok-x",), ("claude-x", "grok-x")]),
    "method": st.sampled_from([("rule",), ("rule", "chain")]),
    "breaks_after": st.none() | st.integers(0, 6),
})  # fmt: skip


def hull(commands: list[Step]) -> Step:
    """Return the one command for all that the commands ask for."""

    def names(key: str) -> tuple[str, ...]:
        return tuple(sorted({name for command in commands for name in command[key]}, reverse=key == "names"))

    most = {key: max(command[key] for command in commands) for key in ("limit", "runs", "judge_runs")}
    together = {key: names(key) for key in ("names", "models", "judges", "method")}
    return {**most, **together, "breaks_after": None}


def run(caller: Caller, out: Path, command: Step, **more: Any) -> Scores | None:
    caller.breaks_after = command["breaks_after"]
    try:
        scores = mindgauge.run(
            command["names"], model=[caller.model(name) for name in command["models"]],
            judge=[caller.model(name) for name in command["judges"]], limit=command["limit"], runs=command["runs"],
            judge_runs=command["judge_runs"], method=command["method"], out=out, settings=ONE_BY_ONE, **more,
        )  # fmt: skip
    except EndpointError:
        assert command["breaks_after"] is not None
        return None
    assert isinstance(scores, Scores)
    return scores


def comparable(scores: Scores) -> list[tuple[object, ...]]:
    return sorted((m.benchmark, m.name, m.criterion, m.slice, m.model, m.rater, m.value, m.low, m.high, m.n, m.missing) for m in scores.metrics if m.value is not None)  # fmt: skip


def in_order(plan: dict[str, Any]) -> dict[str, Any]:
    """Return a plan whose lists stand in an order that does not say what joined first."""
    lists = {name: sorted(values) for name, values in plan.items() if isinstance(values, list)}
    return {**plan, "methods": ["rule"], **lists}


@pytest.mark.long
@examples(12)
@given(commands=st.lists(steps, min_size=1, max_size=4))
def test_calls_and_numbers_are_those_of_one_command_for_all(
    commands: list[Step], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("grown")
    grown, at_once = Caller(), Caller()
    union = hull(commands)
    for command in commands:
        run(grown, folder / "grown", command)
        assert set(grown.keys) == set(dict.fromkeys(grown.keys)) and len(grown.keys) == len(set(grown.keys))
    last = run(grown, folder / "grown", union)
    whole = run(at_once, folder / "whole", union)
    assert last is not None and whole is not None
    assert len(grown.keys) == len(set(grown.keys)), "nothing is paid twice"
    assert sorted(grown.keys) == sorted(at_once.keys), "the calls of the union, and no others"
    assert comparable(last) == comparable(whole)
    plans = [manifest.read(folder / name)["plan"] for name in ("grown", "whole")]
    assert in_order(plans[0]) == in_order(plans[1])
    asked = len(grown.keys)
    for command in commands:
        run(grown, folder / "grown", {**command, "breaks_after": None})
    assert len(grown.keys) == asked, "fewer than the run has: nothing is asked"
    assert manifest.read(folder / "grown")["plan"] == plans[0], "and nothing is lost"


# -- what may not differ, what is fewer, what is other data ------------------------------------------------------------


def test_all_that_differs_is_said_at_once_in_words_and_nothing_is_asked(tmp_path: Path) -> None:
    caller, lines = Caller(), list[str]()
    command: Step = {
        "names": OPEN, "limit": 2, "runs": 1, "judge_runs": 1, "models": ("bot-a",), "judges": ("claude-x",),
        "method": ("rule",), "breaks_after": None,
    }  # fmt: skip
    run(caller, tmp_path / "r", command)
    asked = len(caller.keys)
    other: dict[str, Any] = {"temperature": 0.5, "judge_temperature": None, "protocol": "recognised", "mode": "split"}
    with pytest.raises(UsageError) as error:
        run(caller, tmp_path / "r", {**command, "runs": 2}, **other)
    refusal = str(error.value)
    for difference in (
        "--temperature is 0.5, this run's is not given",
        "--judge-temperature is not given, this run's is 0.0",
        "--protocol is recognised, this run's is gold",
        "--mode is split, this run's is joint",
        "choose another --out",
    ):
        assert difference in refusal
    assert "\n" not in refusal
    assert "runs" not in refusal, "more repeats may join"
    mindgauge.run(
        OPEN, model=caller.model("bot-a"), limit=2, out=tmp_path / "r", dry_run=True, notice=lines.append, **other
    )
    assert any(line.startswith("this command would be refused: ") and "--mode is split" in line for line in lines)
    with pytest.raises(UsageError, match="psycrisis: of another family than help_or_harm/response"):
        run(caller, tmp_path / "r", {**command, "names": OTHER})
    assert len(caller.keys) == asked


def test_a_line_says_what_a_run_holds_beyond_a_command_and_the_history_says_what_joined(tmp_path: Path) -> None:
    caller, lines = Caller(), list[str]()
    command: Step = {
        "names": OPEN, "limit": 3, "runs": 2, "judge_runs": 2, "models": ("bot-a", "bot-b"), "judges": ("claude-x",),
        "method": ("rule",), "breaks_after": None,
    }  # fmt: skip
    run(caller, tmp_path, {**command, "limit": 2, "models": ("bot-a",), "runs": 1, "judge_runs": 1})
    run(caller, tmp_path, command, notice=lines.append)
    assert not lines
    first, second = manifest.read(tmp_path)["joined"]
    assert (first["models"], first["runs"], first["judge_runs"]) == (["bot-b"], [1, 2], [1, 2])
    assert second["samples"] == {OPEN: 1}
    asked = len(caller.keys)
    scores = run(
        caller, tmp_path, {**command, "limit": 1, "runs": 1, "judge_runs": 1, "models": ("bot-b",)}, notice=lines.append
    )
    assert len(caller.keys) == asked
    (line,) = lines
    for part in (
        f"3 messages of {OPEN} (this command asks about 1)",
        "the model bot-a",
        "2 replies per message (this command says 1)",
        "2 verdicts per reply (this command says 1)",
        "Nothing of it is lost, and scores are over all that the run holds",
    ):
        assert part in line
    assert scores is not None and scores.models == ["bot-a", "bot-b"]
    page = write([tmp_path]).path.read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    assert "the model bot-b; replies per message: 2 rather than 1" in page
    assert f"1 message of {OPEN}" in page


def test_other_words_under_the_same_ids_are_refused(tmp_path: Path) -> None:
    def replies(*texts: str) -> Path:
        rows = [
            {"id": f"m{i}", "user": f"I feel low ({i}).", "reply": text, "model": "bot", "category": "no_crisis"}
            for i, text in enumerate(texts)
        ]
        path = tmp_path / "replies.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    caller = Caller()
    judge = caller.model("claude-x")
    mindgauge.rate(OPEN, replies=replies("I hear you."), judge=judge, out=tmp_path / "r")
    mindgauge.rate(OPEN, replies=replies("I hear you.", "I am here."), judge=judge, out=tmp_path / "r")
    assert len(caller.keys) == 2, "more rows in the same data join"
    assert manifest.read(tmp_path / "r")["joined"][-1]["replies"] == {OPEN: 1}
    with pytest.raises(UsageError, match=r"2 replies to help_or_harm/response have other words than this run's"):
        mindgauge.rate(OPEN, replies=replies("No.", "Never."), judge=judge, out=tmp_path / "r")
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({"user": "Somebody else.", "reply": "I hear you.", "category": "no_crisis"}) + "\n")
    with pytest.raises(UsageError, match="none of the 1 message of help_or_harm/response is in this run"):
        mindgauge.rate(OPEN, replies=other, judge=judge, out=tmp_path / "r")
    assert len(caller.keys) == 2


def test_a_run_without_text_takes_what_needs_no_text_that_is_gone(tmp_path: Path) -> None:
    caller = Caller()
    command: Step = {
        "names": OPEN, "limit": 2, "runs": 1, "judge_runs": 1, "models": ("bot-a",), "judges": ("claude-x",),
        "method": ("rule",), "breaks_after": None,
    }  # fmt: skip
    run(caller, tmp_path, command, text=False)
    run(caller, tmp_path, {**command, "limit": 4, "runs": 2, "models": ("bot-a", "bot-b")}, text=False)
    assert len(caller.keys) == len(set(caller.keys)) == 2 * (4 * 2 * 2)
    status = mindgauge.status(tmp_path)
    assert [(left.name, left.of, left.left) for left in status.left] == [
        ("bot-a", 8, 0), ("bot-b", 8, 0), ("claude-x", 16, 0),
    ]  # fmt: skip
    with pytest.raises(UsageError, match="further judges cannot rate the 16 replies that are kept without text"):
        run(caller, tmp_path, {**command, "limit": 4, "runs": 2, "judges": ("claude-x", "grok-x")}, text=False)
    with Store(tmp_path) as store:
        assert store.count_replies(OPEN) == 16, "nothing that was paid for is deleted"


def test_without_out_more_of_the_same_finds_the_run_and_others_find_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    caller = Caller()

    def folder(**options: Any) -> str:
        model, judge = caller.model("bot-a"), caller.model("claude-x")
        found = mindgauge.run(OPEN, **{"model": model, "judge": judge, "limit": 2, **options})
        assert isinstance(found, Scores)
        return found.run

    first = folder()
    for more in ({"limit": 3}, {"limit": None, "runs": 2}, {"judge_runs": 2}, {"judge": [caller.model("grok-x")]}, {}):
        assert folder(**more) == first
    others = ({"temperature": 0.5}, {"mode": "split"}, {"where": {"category": ("self-harm",)}}, {"model": caller.model("bot-b")})  # fmt: skip
    assert len({first, *(folder(**{"limit": 1, **other}) for other in others)}) == 1 + len(others)


def test_fresh_asks_again_and_takes_nothing_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    caller, lines = Caller(), list[str]()
    bot = caller.model("bot-a")
    runs = [mindgauge.run(OPEN, model=bot, limit=2, fresh=fresh, notice=lines.append) for fresh in (False, True, True)]
    folders = [found.run for found in runs if isinstance(found, Scores)]
    assert folders == [folders[0], f"{folders[0]}-2", f"{folders[0]}-3"]
    assert len(caller.keys) == 6
    assert any(f"go on with it by --out {folders[2]}" in line for line in lines)
    with pytest.raises(UsageError, match="holds a run, and --fresh asks everything again; name another --out"):
        mindgauge.run(OPEN, model=bot, limit=2, fresh=True, out=folders[1])
    assert mindgauge.run(OPEN, model=bot, limit=2, out=folders[1]) and len(caller.keys) == 6


@pytest.mark.parametrize("own", [False, True])
def test_a_limit_reads_the_messages_once_and_finds_the_run_of_all(
    own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = tmp_path / "texts.csv"
    table.write_text("user\nI feel alone tonight\nI cannot sleep\nNothing helps\n", encoding="utf-8")
    reads: list[Any] = []
    reader = OwnReader.read if own else Benchmark.own_samples
    holder = OwnReader if own else Benchmark

    def counted(*arguments: Any) -> Any:
        reads.append(arguments)
        return reader(*arguments)

    monkeypatch.setattr(holder, reader.__name__, counted)
    folders, bot = set(), Scripted("bot", lambda _: "I hear you.")
    for limit in (1, 2, None):
        scores = mindgauge.run(OPEN, model=bot, data=table if own else None, limit=limit)
        assert isinstance(scores, Scores)
        folders.add(scores.run)
        assert len(reads) == 1
        reads.clear()
    assert len(folders) == 1
