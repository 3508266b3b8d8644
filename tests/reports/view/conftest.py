"""The real command, serving planted runs, and a visitor who has its link."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import httpx2

from tests import in_process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Visit:
    """A server, its link, and a visitor who came in by it."""

    link: str
    client: httpx2.Client

    @property
    def base(self) -> str:
        return self.link.partition("/open/")[0]

    @property
    def state(self) -> dict[str, Any]:
        return self.client.get("/state").json()  # type: ignore[no-any-return]

    def file(self, name: str) -> list[Any]:
        """Return what a data file hands over."""
        inside = self.client.get(f"/data/{name}.js").text.removeprefix("Mindgauge.load(").removesuffix(");\n")
        return json.loads(f"[{inside}]")[1:]  # type: ignore[no-any-return]

    @property
    def index(self) -> dict[str, Any]:
        return json.loads(self.file("index")[0])  # type: ignore[no-any-return]

    @property
    def keys(self) -> list[str]:
        raw = base64.b64decode(self.index["keys"])
        return [raw[start : start + 6].hex() for start in range(0, len(raw), 6)]

    def subjects(self) -> dict[str, str]:
        """Return key → the subject that the data names."""
        index = self.index
        listed = [s for n in range(len(index["shards"])) for s in json.loads(self.file(f"{n:04}")[0])["subjects"]]
        return dict(zip(self.keys, listed, strict=True))

    def line(self, key: str) -> dict[str, Any]:
        return self.client.get(f"/lines/{key}").json()  # type: ignore[no-any-return]

    def post(self, path: str, body: dict[str, Any], **headers: str) -> httpx2.Response:
        return self.client.post(path, json=body, headers={"x-csrf": self.state["csrf"], **headers})

    def answer(self, key: str, level: int = 0, note: str = "", **more: Any) -> httpx2.Response:
        """Answer every criterion with its level of this place."""
        given = {c["name"]: {"answered": "ok", "value": c["levels"][level]} for c in self.line(key)["criteria"]}
        return self.post("/answers", {"line": key, "given": given, "note": note, **more})


def _command(run: Path, *options: str, port: int = 0) -> list[str]:
    return [sys.executable, "-c", "from mindgauge.cli import main; main()", "view", str(run), "--port", str(port), *options]  # fmt: skip


@contextlib.contextmanager
def begun(run: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], Visit]]:
    """Serve a run with the real command, and come in; how it ends is the test's."""
    with subprocess.Popen(
        _command(run, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            link = next((line.strip() for line in process.stdout if "/open/" in line), "")
            assert link, process.stderr.read()
            with httpx2.Client(base_url=link.partition("/open/")[0], follow_redirects=True, timeout=30) as client:
                assert client.get(link).status_code == 200
                yield process, Visit(link, client)
        finally:
            process.kill()


@contextlib.contextmanager
def visiting(run: Path, *options: str) -> Iterator[Visit]:
    """Serve a run, come in, and stop it as a person does."""
    with begun(run, *options) as (process, visit):
        try:
            yield visit
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0


def refused(run: Path, *options: str, port: int = 0) -> tuple[int, str]:
    """Return what the command says where it serves nothing."""
    ended = in_process.mindgauge("view", run, "--port", port, *options)
    return ended.returncode, ended.stderr
