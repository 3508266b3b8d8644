"""A batch service for tests, which speaks OpenAI's or Anthropic's protocol and misbehaves on request."""

from __future__ import annotations

import asyncio
import datetime
import json
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.stub import Loopback

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.stub import Handler

NAMES = ("completed", "failed", "expired", "cancelled")
ANTHROPIC_FINISH = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}


class Batch:
    """A batch as the provider knows it."""

    def __init__(self, ident: str, requests: list[dict[str, Any]], **more: Any) -> None:
        self.ident = ident
        self.requests = requests
        self.more = more
        self.began = time.time()
        self.looks = 0
        self.status = ""
        """The status it is forced into; if empty, it is completed after some looks."""
        self.errors: list[dict[str, Any]] = []


class BatchStub(Loopback):
    """Serves batches; `paid` counts how often each call was accepted.

    `event(name)` is called before each request is handled (`upload`, `create`, `look`, `list`, `results`, `chat`) and after a
    batch was accepted (`created`); what it returns, if anything, is the answer. `lines(batch, good, bad)` may change the
    files of results.
    """

    def __init__(self, handler: Handler, protocol: str = "openai") -> None:
        super().__init__()
        self.handler = handler
        self.protocol = protocol
        self.ready_after = 1
        self.event: Callable[[str], web.Response | None] = lambda _: None
        self.lines: Callable[[Batch, list[str], list[str]], tuple[list[str], list[str]]] = lambda _, good, bad: (good, bad)  # fmt: skip
        self.paid: Counter[str] = Counter()
        self.events: Counter[str] = Counter()
        self.batches: dict[str, Batch] = {}
        self.files: dict[str, bytes] = {}
        self.live = 0

    def route(self, router: web.UrlDispatcher) -> None:
        add = router.add_route
        add("POST", "/v1/chat/completions", self._told("chat", self._chat))
        if self.protocol == "openai":
            add("POST", "/v1/files", self._told("upload", self._upload))
            add("GET", "/v1/files/{id}/content", self._told("results", self._content))
            add("POST", "/v1/batches", self._told("create", self._create))
            add("GET", "/v1/batches", self._told("list", self._list))
            add("GET", "/v1/batches/{id}", self._told("look", self._look))
        elif self.protocol == "anthropic":
            add("POST", "/v1/messages/batches", self._told("create", self._create_messages))
            add("GET", "/v1/messages/batches", self._told("list", self._list))
            add("GET", "/v1/messages/batches/{id}", self._told("look", self._look))
            add("GET", "/v1/messages/batches/{id}/results", self._told("results", self._results))

    def _told(self, name: str, handle: Any) -> Any:
        async def told(request: web.Request) -> web.StreamResponse:
            self.headers.append(dict(request.headers))
            self.events[name] += 1
            answer = await asyncio.to_thread(self.event, name)
            if answer is not None:
                return answer
            found: web.StreamResponse = await handle(request)
            return found

        return told

    # -- calls on their own -------------------------------------------------------------------------------------------

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        self.live += 1
        answer = self.handler(await request.json(), self.live)
        return answer if isinstance(answer, web.StreamResponse) else await answer

    # -- OpenAI -------------------------------------------------------------------------------------------------------

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        assert form["purpose"] == "batch"
        assert isinstance(form["file"], web.FileField)
        ident = f"file-{len(self.files)}"
        self.files[ident] = form["file"].file.read()
        return web.json_response({"id": ident, "object": "file", "purpose": "batch"})

    async def _create(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        assert (body["endpoint"], body["completion_window"]) == ("/v1/chat/completions", "24h")
        requests = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        assert all((r["method"], r["url"]) == ("POST", "/v1/chat/completions") for r in requests)
        return await self._begun(Batch(f"batch_{len(self.batches)}", requests, **body))

    async def _begun(self, batch: Batch) -> web.StreamResponse:
        assert len({r["custom_id"] for r in batch.requests}) == len(batch.requests)
        self.batches[batch.ident] = batch
        if batch.status != "failed":
            self.paid.update(r["custom_id"] for r in batch.requests)
        self.events["created"] += 1
        return await asyncio.to_thread(self.event, "created") or web.json_response(self._shown(batch))

    async def _look(self, request: web.Request) -> web.StreamResponse:
        batch = self.batches.get(request.match_info["id"])
        if batch is None:
            return web.json_response({"error": {"message": "no such batch"}}, status=404)
        batch.looks += 1
        return web.json_response(self._shown(batch))

    async def _list(self, request: web.Request) -> web.StreamResponse:
        batches = [*reversed(self.batches.values())]
        after = request.query.get("after") or request.query.get("after_id")
        if after:
            batches = batches[[b.ident for b in batches].index(after) + 1 :]
        page = batches[:2]  # small, so that pages are turned
        return web.json_response({"data": [self._shown(b) for b in page], "has_more": len(batches) > 2})

    def _ended(self, batch: Batch) -> bool:
        return bool(batch.status) or batch.looks > self.ready_after

    def _shown(self, batch: Batch) -> dict[str, Any]:
        ended, count = self._ended(batch), len(batch.requests)
        if self.protocol == "anthropic":
            return {
                "id": batch.ident, "type": "message_batch", "processing_status": "ended" if ended else "in_progress",
                "created_at": datetime.datetime.fromtimestamp(batch.began, datetime.UTC).isoformat().replace("+00:00", "Z"),
                "request_counts": {"processing": 0 if ended else count, "succeeded": count if ended else 0, "errored": 0, "canceled": 0, "expired": 0},
                "results_url": f"{self.url}/messages/batches/{batch.ident}/results" if ended else None,
            }  # fmt: skip
        status = batch.status or ("completed" if ended else "in_progress")
        good, bad = self._written(batch) if ended and status != "failed" else ([], [])
        self.files[f"{batch.ident}-good"] = "".join(good).encode(errors="surrogatepass")
        self.files[f"{batch.ident}-bad"] = "".join(bad).encode(errors="surrogatepass")
        return {
            "id": batch.ident, "object": "batch", "status": status, "metadata": batch.more.get("metadata"),
            "input_file_id": batch.more["input_file_id"], "created_at": int(batch.began),
            "output_file_id": f"{batch.ident}-good" if good else None, "error_file_id": f"{batch.ident}-bad" if bad else None,
            "errors": {"object": "list", "data": batch.errors} if batch.errors else None,
            "request_counts": {"total": count, "completed": len(good), "failed": len(bad)},
        }  # fmt: skip

    def _written(self, batch: Batch) -> tuple[list[str], list[str]]:
        """Write the results once: a file of answers and, with OpenAI, one of errors."""
        if "written" not in batch.more:
            good: list[str] = []
            bad: list[str] = []
            for number, request in enumerate(batch.requests):
                answer = self.handler(_body(request), number)
                assert isinstance(answer, web.Response)
                assert isinstance(answer.body, bytes)
                line = self._line(request["custom_id"], answer.status, json.loads(answer.body))
                (good if answer.status == 200 else bad).append(line)
            batch.more["written"] = self.lines(batch, good, bad)
        written: tuple[list[str], list[str]] = batch.more["written"]
        return written

    def _line(self, custom_id: str, status: int, body: Any) -> str:
        if self.protocol == "openai":
            response = {"status_code": status, "request_id": "req", "body": body}
            return json.dumps({"id": "batch_req", "custom_id": custom_id, "response": response, "error": None}) + "\n"
        if status == 200:
            result = {"type": "succeeded", "message": _message(body)}
        else:
            result = {"type": "errored", "error": {"type": "error", "error": body["error"]}}
        return json.dumps({"custom_id": custom_id, "result": result}) + "\n"

    async def _content(self, request: web.Request) -> web.StreamResponse:
        content = self.files.get(request.match_info["id"])
        if content is None:
            return web.json_response({"error": {"message": "no such file"}}, status=404)
        return web.Response(body=content, content_type="application/jsonl")

    # -- Anthropic ----------------------------------------------------------------------------------------------------

    async def _create_messages(self, request: web.Request) -> web.StreamResponse:
        assert request.headers["anthropic-version"] == "2023-06-01"
        body = json.loads(await request.read())
        for one in body["requests"]:
            assert one["params"]["max_tokens"] >= 1
            assert one["params"]["messages"]
            assert {message["role"] for message in one["params"]["messages"]} <= {"user", "assistant"}
            assert "seed" not in one["params"]
        return await self._begun(Batch(f"msgbatch_{len(self.batches)}", body["requests"]))

    async def _results(self, request: web.Request) -> web.StreamResponse:
        batch = self.batches[request.match_info["id"]]
        if not self._ended(batch):
            return web.json_response(
                {"type": "error", "error": {"type": "not_found_error", "message": "not yet"}}, status=404
            )
        good, bad = self._written(batch)
        return web.Response(body="".join([*good, *bad]).encode(errors="surrogatepass"))


def _body(request: dict[str, Any]) -> dict[str, Any]:
    """Say a request of either protocol as a chat request."""
    if "body" in request:
        body: dict[str, Any] = request["body"]
        return body
    params = dict(request["params"])
    system = params.pop("system", "")
    schema = params.pop("output_config", {}).get("format", {}).get("schema")
    if system:
        params["messages"] = [{"role": "system", "content": system}, *params["messages"]]
    if schema:
        params["response_format"] = {"type": "json_schema", "json_schema": {"schema": schema}}
    return {**params, "seed": 0}


def _message(body: dict[str, Any]) -> dict[str, Any]:
    """Say a chat completion as a message."""
    (choice,) = body["choices"]
    text = choice["message"]["content"] or ""
    return {
        "type": "message", "role": "assistant", "model": body["model"], "content": [{"type": "text", "text": text}],
        "stop_reason": ANTHROPIC_FINISH[choice["finish_reason"]],
        "usage": {"input_tokens": 6, "cache_creation_input_tokens": 1, "cache_read_input_tokens": 3, "output_tokens": 5},
    }  # fmt: skip
