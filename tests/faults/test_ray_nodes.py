"""A Ray cluster of two nodes loses one in the middle of a run: the run ends as if nothing had been."""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from tests.configured import configured
from tests.faults.campaign import Work, account, command, complaints, finish, one_line, record, start
from tests.faults.ray_nodes import Nodes
from tests.faults.server import Call, Server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(find_spec("ray") is None, reason="needs ray: pip install 'mindgauge[ray]'"),
]
WORK = Work(100, 4, judged=False)
AT_ONCE = 16


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with Nodes() as found:
        yield found


@pytest.mark.parametrize("way", ["driver on a node", "ray://"])
def test_a_lost_node_costs_what_it_had_in_flight(nodes: Nodes, tmp_path: Path, way: str) -> None:
    number = nodes.add()
    engine = configured(tmp_path, engine=nodes.client if way == "ray://" else "ray", actors=2)
    environment = nodes.environment | ({} if way == "ray://" else {"RAY_ADDRESS": nodes.address})
    with Server(latency=0.05) as server:
        arguments = command(server, tmp_path, WORK, "--concurrency", AT_ONCE, *engine)
        with start(arguments, **environment) as process:
            while server.calls < 150 and process.poll() is None:
                time.sleep(0.002)
            nodes.lose(number)
            said = process.communicate(timeout=120)[1]
        assert (process.returncode, complaints(said)) == (0, [])
        found = account(server, tmp_path, WORK)
        assert found.sound, found
        assert 0 < server.calls - WORK.questions <= AT_ONCE / 2, "what that node had in flight, and nothing else"
    record(f"A Ray node lost ({way})", "SIGKILL to all processes of one of two nodes, 150 of 400 calls made", found,
           f"finished; {server.calls - WORK.questions} of {AT_ONCE // 2} calls that the node had in flight were made again")  # fmt: skip


def test_a_node_without_mindgauge_is_named(nodes: Nodes, tmp_path: Path) -> None:
    # The packages of this environment are found there, but not what stands in it as a link to a source tree.
    hidden = tmp_path / "hidden" / "mindgauge"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'mindgauge'\", name='mindgauge')\n"
    )
    number = nodes.add(PYTHONPATH=str(hidden.parent))
    try:
        with Server() as server:
            arguments = command(server, tmp_path / "r", WORK, *configured(tmp_path, engine=nodes.client, actors=4))
            said = one_line(finish(arguments, 2, **nodes.environment))
            assert server.calls == 0
    finally:
        nodes.lose(number)
    assert "Mindgauge cannot be imported on the cluster's node 127.0.0." in said, said


def test_a_cluster_that_is_lost_as_a_whole_ends_the_command_with_one_line(tmp_path: Path) -> None:
    with Server(latency=0.05) as server:
        with Nodes() as nodes:
            arguments = command(server, tmp_path, WORK, *configured(tmp_path, engine=nodes.client, actors=2))
            with start(arguments, **nodes.environment) as process:
                while server.calls < 100 and process.poll() is None:
                    time.sleep(0.002)
                nodes.lose(0)
                said = process.communicate(timeout=200)[1]
        assert process.returncode == 1, said
        assert "everything finished is kept" in one_line(said)
        finish(command(server, tmp_path, WORK))
        found = account(server, tmp_path, WORK)
        assert found.sound and found.repeated <= 4, found


@pytest.mark.parametrize(
    ("environment", "problem"),
    [
        ({}, "wants a token and there is none"),
        ({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "another" * 5}, "takes another token than ours"),
    ],
)
def test_a_token_that_does_not_fit_is_said_at_once(
    nodes: Nodes, tmp_path: Path, environment: dict[str, str], problem: str
) -> None:
    with Server() as server:
        for where in ({}, {"RAY_ADDRESS": nodes.address}):
            arguments = command(
                server, tmp_path / "r", WORK, *configured(tmp_path, engine="ray" if where else nodes.client)
            )
            said = one_line(finish(arguments, 2, **environment, **where, HOME=str(tmp_path)))
            assert problem in said and "RAY_AUTH_TOKEN" in said
        assert server.calls == 0


def test_an_endpoint_that_refuses_us_says_the_same_through_an_actor(nodes: Nodes, tmp_path: Path) -> None:
    async def refuse(call: Call) -> None:
        await call.send(401, b'{"error": {"message": "no such key"}}')

    with Server() as server:
        server.fault = refuse
        plainly = finish(command(server, tmp_path / "a", WORK), 1)
        carried = finish(
            command(server, tmp_path / "b", WORK, *configured(tmp_path, engine=nodes.client)), 1, **nodes.environment
        )
    assert one_line(carried) == one_line(plainly)
