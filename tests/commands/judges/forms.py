"""Runs whose judge gives reasons."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import mindgauge
from tests.commands.judges.conftest import judge, replies_file

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records.request import Request


def chain(warmth: dict[str, Any], asks: dict[str, Any]) -> str:
    reasons = {"quotes": ["I hear you"], "rationale": "it says so", "uncertain": False}
    return json.dumps({"warmth": {**reasons, **warmth}, "asks": {**reasons, "checks": {"question": "no"}, **asks}})


def judged(tmp_path: Path, said: Any, **more: Any) -> Path:
    """Let a judge answer the chain of each of 24 replies by their number."""

    def numbered(method: str, warmth: int, asks: str, request: Request) -> object:
        number = int(request.messages[0].content.split("I hear you [")[1].split("] ")[1].split("/")[0])
        return said(number)

    out = tmp_path / "run"
    mindgauge.rate(
        "care", replies=replies_file(tmp_path / "r.jsonl", 12, 2), judge=judge(numbered, "secret-model"), out=out,
        method="chain", **more,
    )  # fmt: skip
    return out
