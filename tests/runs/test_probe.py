"""Before a run goes on, one call to each model sees whether the build that answered is still there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from aiohttp import web

import mindgauge
from mindgauge.models.scripted import Scripted
from mindgauge.models.settings import Settings
from mindgauge.records.errors import BudgetError, UsageError
from mindgauge.records.request import FREE, Price
from mindgauge.store import Store, manifest
from tests.conftest import obliging
from tests.stub import PROBED, Stub
from tests.thinned import sampled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OPEN, CLOSED = "help_or_harm/response", "help_or_harm/crisis_type"


class Builds(Stub):
    """A chat server whose builds can be exchanged; `says` is what the next answers report of themselves."""

    def __init__(self) -> None:
        super().__init__(self.answer_as_built)
        self.build = "care-1"
        self.fingerprints = ["fp-1"]

    def answer_as_built(self, body: dict[str, Any], count: int) -> web.StreamResponse:
        answer = obliging(body, count)
        assert isinstance(answer, web.Response) and isinstance(answer.body, bytes)
        said = json.loads(answer.body) | {"model": self.build}
        if self.fingerprints:
            said["system_fingerprint"] = self.fingerprints[count % len(self.fingerprints)]
        return web.json_response(said)


@pytest.fixture
def server() -> Iterator[Builds]:
    with Builds() as builds:
        yield builds


def run(server: Builds, out: Path, name: str = OPEN, **options: Any) -> Any:
    return mindgauge.run(name, **{"model": server.model, "limit": 2, "out": out, **options})


def test_the_same_build_goes_on_after_one_cheap_call_that_is_not_kept(server: Builds, tmp_path: Path) -> None:
    run(server, tmp_path)
    assert (server.calls, server.probes) == (2, 0), "nothing is known of a model that has not answered here"
    run(server, tmp_path)
    assert (server.calls, server.probes) == (2, 0), "nothing is left to ask"
    run(server, tmp_path, limit=4, judge=server.judge)
    assert (server.calls, server.probes) == (4 + 4, 1), "the judge has not answered before"
    probe = next(body for body in server.bodies if body["max_tokens"] == PROBED)
    assert probe["messages"] in [body["messages"] for body in server.bodies if body["max_tokens"] != PROBED]
    with Store(tmp_path) as store:
        assert store.select("SELECT count(*) FROM calls").fetchone() == (8,)
    (noted,) = manifest.read(tmp_path)["probes"]
    assert (noted["model"], noted["resolved"], noted["fingerprint"]) == (server.model, "care-1", "fp-1")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"build": "care-2"}, r"answers now as the model care-2, and until .* care-1: another build"),
        ({"fingerprints": ["fp-9"]}, r"answers now as fingerprint fp-9, and until .* fp-1: another build"),
    ],
)
@pytest.mark.parametrize("name", [OPEN, CLOSED])
def test_another_build_is_refused_with_what_to_do(
    server: Builds, tmp_path: Path, change: dict[str, Any], message: str, name: str
) -> None:
    run(server, tmp_path, name)
    for field, value in change.items():
        setattr(server, field, value)
    with pytest.raises(UsageError, match=message) as error:
        run(server, tmp_path, name, limit=4)
    assert "--label NEW, choose --out NEW, or ask everything again with --fresh" in str(error.value)
    assert (server.calls, server.probes) == (2, 1)
    run(server, tmp_path, name, label="b2")
    assert server.calls == 2 + 2, "under a label of its own, it is another model of the run"
    assert len(manifest.read(tmp_path)["plan"]["models"]) == 2


def test_of_many_fingerprints_a_few_are_named(server: Builds, tmp_path: Path) -> None:
    server.fingerprints = [f"fp-{number:03}" for number in range(40)]
    run(server, tmp_path, CLOSED, limit=30)
    server.fingerprints = ["another"]
    with pytest.raises(
        UsageError, match=r"fingerprint another, and until .* fp-\d+ or 26 more: another build"
    ) as error:
        run(server, tmp_path, CLOSED, limit=31)
    assert len(str(error.value)) < 300


def state(run: Path) -> tuple[bytes, bytes, list[Any]]:
    """Everything that a refused command must leave alone: the manifest, what status says, and the samples."""
    with Store(run) as store:
        samples = store.select("SELECT benchmark, id FROM samples ORDER BY benchmark, id").fetchall()
    return (run / "manifest.toml").read_bytes(), msgspec.json.encode(mindgauge.status(run)), samples


MORE: list[dict[str, Any]] = [{"limit": 4}, {"runs": 2}, {"model": "another"}, {"limit": 4, "qualify": True}]


@pytest.mark.parametrize(
    ("more", "text"),
    [({"judge_runs": 2}, True), *sampled(((more, text) for more in MORE for text in (True, False)), 2)],
)
def test_a_command_that_is_refused_leaves_the_run_as_it_was(
    server: Builds, tmp_path: Path, more: dict[str, Any], text: bool
) -> None:
    run(server, tmp_path, judge=server.judge, text=text)
    before, calls, probes = state(tmp_path), server.calls, server.probes
    server.build = "care-2"
    if "model" in more:
        more = {"model": [server.model, server.model.replace("#stub", "#stub-2")], "limit": 4}
    with pytest.raises(UsageError, match="another build"):
        run(server, tmp_path, judge=server.judge, text=text, **more)
    assert (server.calls, server.probes > probes) == (calls, True)
    assert state(tmp_path) == before


def test_rating_a_run_by_a_judge_of_another_build_leaves_the_run_as_it_was(server: Builds, tmp_path: Path) -> None:
    run(server, tmp_path, judge=server.judge)
    before = state(tmp_path)
    server.build = "judge-2"
    with pytest.raises(UsageError, match="another build"):
        mindgauge.rate(OPEN, replies=tmp_path, judge=server.judge, judge_runs=2)
    assert state(tmp_path) == before


def test_of_a_refused_command_only_what_the_probe_cost_is_kept(server: Builds, tmp_path: Path) -> None:
    priced = Settings(price=Price(1e-3, 0.0))
    run(server, tmp_path, settings=priced)
    before = manifest.read(tmp_path)
    server.build = "care-2"
    with pytest.raises(UsageError, match="another build"):
        run(server, tmp_path, settings=priced, limit=4)
    after = manifest.read(tmp_path)
    assert after["cost"] == pytest.approx(before["cost"] + 10 * 1e-3), "a probe of ten tokens"
    assert {**after, "cost": 0, "probes": 0} == {**before, "cost": 0, "probes": 0}


def test_another_build_of_a_judge_is_refused_too_before_replies_are_paid_for(server: Builds, tmp_path: Path) -> None:
    run(server, tmp_path, judge=server.judge)
    calls = server.calls

    def judged_by_another(body: dict[str, Any], count: int) -> web.StreamResponse:
        server.build = "judge-2" if body["model"] == "judge" else "care-1"
        return server.answer_as_built(body, count)

    server.handler = judged_by_another
    with pytest.raises(UsageError, match=r"the model judge-2, and until .* give the judge a label in mindgauge.toml"):
        run(server, tmp_path, judge=server.judge, limit=3)
    assert server.calls == calls
    with Store(tmp_path) as store:
        assert store.count_replies(OPEN) == 2


def test_fingerprints_that_rotate_are_no_other_build(server: Builds, tmp_path: Path) -> None:
    server.fingerprints = ["fp-1", "fp-2", "fp-3"]
    run(server, tmp_path, limit=6)
    for limit in range(7, 10):
        run(server, tmp_path, limit=limit)
    assert (server.calls, server.probes) == (9, 3)


@pytest.mark.parametrize("build", ["", "stub"])
def test_a_server_that_says_nothing_of_itself_is_told_once(server: Builds, tmp_path: Path, build: str) -> None:
    server.build, server.fingerprints = build, []
    lines: list[str] = []
    for limit in (1, 2, 3):
        run(server, tmp_path, limit=limit, notice=lines.append)
    assert [line for line in lines if "cannot be told apart; name each build with --label" in line] == [
        line for line in lines if "judge" not in line
    ]
    assert sum("cannot be told apart" in line for line in lines) == 1
    assert server.calls == 3


def test_what_a_probe_costs_counts_in_the_budget(server: Builds, tmp_path: Path) -> None:
    priced = Settings(price=Price(1e-3, 0.0))
    run(server, tmp_path, settings=priced, max_cost=100.0)
    run(server, tmp_path, limit=3, settings=priced, max_cost=100.0)
    assert manifest.read(tmp_path)["cost"] == pytest.approx(4 * 10 * 1e-3), "three calls and a probe of ten tokens each"
    with pytest.raises(BudgetError):
        run(server, tmp_path, limit=4, settings=priced, max_cost=0.04)
    assert (server.calls, server.probes) == (3, 1)


def test_functions_and_finished_runs_are_not_probed(tmp_path: Path) -> None:
    asked: list[int] = []
    bot = Scripted("bot", lambda request: asked.append(request.parameters.get("max_tokens", 0)) or "I hear you.")  # type: ignore[func-returns-value]
    assert bot.price == FREE
    for limit in (1, 2, 2):
        mindgauge.run(OPEN, model=bot, limit=limit, out=tmp_path)
    assert asked == [0, 0]


def test_other_weights_on_this_machine_are_refused_and_hashed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mindgauge.runs import probe

    hashed: list[Path] = []
    weigh = probe._hash
    monkeypatch.setattr(probe, "_hash", lambda path: hashed.append(path) or weigh(path))  # type: ignore[func-returns-value]
    bot = Scripted("local/own.gguf", lambda _: "I hear you.")
    bot.own_machine = True
    bot.path = tmp_path / "own.gguf"  # type: ignore[attr-defined]
    bot.path.write_bytes(b"weights")  # type: ignore[attr-defined]
    for limit in (1, 2):
        mindgauge.run(OPEN, model=bot, limit=limit, out=tmp_path / "r")
    assert len(hashed) == 1, "neither its size nor its time has changed"
    bot.path.write_bytes(b"weights")  # type: ignore[attr-defined]
    mindgauge.run(OPEN, model=bot, limit=3, out=tmp_path / "r")
    bot.path.write_bytes(b"others!")  # type: ignore[attr-defined]
    mindgauge.run(OPEN, model=bot, limit=3, out=tmp_path / "r")
    with pytest.raises(
        UsageError, match=r"local/own\.gguf has other weights now .*: another build; name it with --label"
    ):
        mindgauge.run(OPEN, model=bot, limit=4, out=tmp_path / "r")
