"""Calls made by Ray actors: the same answers, errors and interruptions as without, and nothing left behind."""

from __future__ import annotations

import asyncio
import signal
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from mindgauge.models.ray import on_ray
from mindgauge.models.settings import Settings
from mindgauge.records.errors import EndpointError, MindgaugeError, UsageError
from mindgauge.runs.plan import open_carried
from tests.configured import configured
from tests.faults.campaign import Work, account, command, finish, one_line, start
from tests.faults.ray_nodes import descendants, wait_for_none
from tests.faults.server import Server
from tests.thinned import later

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs ray: pip install 'mindgauge[ray]'")
ADDRESS = "http://127.0.0.1:9/v1#subject"


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mindgauge.models.ray.find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"pip install 'mindgauge\[ray\]'"):
        open_carried(ADDRESS, Settings(engine="ray"))


def test_what_cannot_travel_or_sends_nothing_stays_here(tmp_path: Path) -> None:
    replies = tmp_path / "replies.jsonl"
    replies.write_text('{"user": "Long day.", "reply": "Tell me about it."}\n')
    spec = f"replay/{replies}"
    settings = Settings(engine="ray")
    plain = open_carried(spec, Settings())
    assert on_ray(plain, spec, settings) is plain
    assert type(open_carried(ADDRESS, Settings(engine="ray", sends=False))) is type(open_carried(ADDRESS, Settings()))


@needs_ray
@pytest.mark.parametrize("engine", ["ray://", "ray://head", "ray://:10001", "ray://head:port", "ray://head:70000"])
def test_what_is_no_address_is_refused(engine: str) -> None:
    with pytest.raises(UsageError, match="is no address of a Ray cluster; write ray://HOST:PORT"):
        open_carried(ADDRESS, Settings(engine=engine))


@needs_ray
@pytest.mark.parametrize(
    ("engine", "variable"),
    [("ray://10.1.2.3:10001", None), ("ray", "10.1.2.3:6379"), ("ray", "ray://head:10001"), ("ray", "auto")],
)
def test_local_only_refuses_a_cluster_elsewhere(
    monkeypatch: pytest.MonkeyPatch, engine: str, variable: str | None
) -> None:
    if variable is not None:
        monkeypatch.setenv("RAY_ADDRESS", variable)
    with pytest.raises(UsageError, match=r"--local-only: .*only a cluster at a loopback address"):
        open_carried(ADDRESS, Settings(engine=engine, local_only=True))


@needs_ray
@pytest.mark.parametrize("spec", [ADDRESS, "http://127.0.0.1:9/v1,http://127.0.0.1:10/v1#subject"])
def test_a_model_on_ray_has_the_name_and_bounds_of_the_plain_one(spec: str) -> None:
    settings = Settings(max_tokens=77, context=500)
    plain, carried = (
        open_carried(spec, settings),
        open_carried(spec, Settings(max_tokens=77, context=500, engine="ray")),
    )
    for name in ("name", "host", "price", "max_tokens", "context", "own_machine"):
        assert getattr(plain, name) == getattr(carried, name)


@needs_ray
def test_where_no_cluster_is_the_wait_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mindgauge.models.ray.cluster.WAIT", 0.5)

    async def enter() -> None:
        async with open_carried(ADDRESS, Settings(engine="ray://127.0.0.1:9")):
            pass

    with pytest.raises(MindgaugeError, match=r"no Ray cluster at ray://127.0.0.1:9: waited 0.5 s"):
        asyncio.run(enter())


def test_an_error_arrives_as_it_was() -> None:
    from mindgauge.models.ray.model import ActorOutcome, encode, outcomes

    errors = [
        EndpointError("model: host refuses the key"),
        UsageError("no such file"),
        ValueError("two\nlines"),
        OSError(),
    ]
    sent = [ActorOutcome.failing(i, error) for i, error in enumerate(errors)]
    endpoint, usage, foreign, empty = [outcome.error for outcome in outcomes(encode(sent))]
    assert (type(endpoint), str(endpoint)) == (EndpointError, "model: host refuses the key")
    assert (type(usage), str(usage)) == (UsageError, "no such file")
    assert (type(foreign), str(foreign)) == (MindgaugeError, "ValueError: two lines")
    assert str(empty) == "OSError:"


DIALOGUES = Work(28, judged=False, benchmark="conversations/risk", turns=10)


@needs_ray
@pytest.mark.parametrize("work", [Work(100), later(DIALOGUES)])
def test_a_run_is_killed_goes_on_by_actors_is_stopped_and_ends_plainly_as_if_nothing_had_been(
    tmp_path: Path, work: Work
) -> None:
    # Ray makes its sockets somewhere, and a socket's path may not be long.
    run = tmp_path / ("long" * 40) / "run"
    with Server(latency=0.05) as server:
        with start(command(server, run, work)) as process:
            while server.calls < 20 and process.poll() is None:
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
            process.communicate()
        with start(command(server, run, work, *configured(tmp_path, engine="ray", actors=3))) as process:
            while server.calls < 60 and process.poll() is None:
                time.sleep(0.002)
            family = descendants(process.pid)
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=120)[1]
        assert process.returncode == 130, said
        assert "everything finished is kept" in one_line(said)
        assert len(family) > 4, "raylet, head and actors ran"
        wait_for_none(family)
        assert not any(str(process.pid) in path.name for path in Path("/tmp").glob("mindgauge-ray-*/session_*"))
        assert server.calls < work.questions
        finish(command(server, run, work))
        found = account(server, run, work)
    assert found.sound and found.repeated <= 4, "those under way at the kill; none at the stop"
