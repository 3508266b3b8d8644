"""Everyday commands, one after another, in a process that notes every address it reaches for. Run as a script.

The chat server that they ask is in the same process, so all of it works in a network namespace of its own.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

REACHING = frozenset(
    {"socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname", "socket.getnameinfo"}
)
reached: list[str] = []


def note(event: str, details: tuple[Any, ...]) -> None:
    if event in REACHING:
        place = details[1] if event in {"socket.connect", "socket.sendto"} else details[0]
        reached.append(str(place[0] if isinstance(place, tuple) else place))


def flows(stub: Any, folder: Path) -> list[list[str]]:
    """Return the commands: first those that ask models, then those that read what is there."""
    run, more, model = str(folder / "r"), str(folder / "rated"), stub.model
    asked = ["--local-only", "--limit", "4", "--concurrency", "2"]
    rows = [
        {"user": "The nights are long.", "reply": f"I hear you. {n}", "category": "anxiety_crisis"} for n in range(3)
    ]
    replies = folder / "replies.jsonl"
    replies.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    named = model.replace("127.0.0.1", "localhost")
    return [
        ["run", "help_or_harm/response", "--model", model, "--judge", model, "--judge", "rule/refusal", "--own-family", "--no-qualify", *asked, "--out", run],
        ["run", "help_or_harm/crisis_type", "--model", model, *asked, "--no-text", "--out", str(folder / "closed")],
        ["rate", "help_or_harm/response", "--replies", str(replies), "--judge", model, "--local-only", "--no-qualify", "--out", more],
        ["run", "help_or_harm/crisis_type", "--model", named, *asked, "--out", str(folder / "named")],
        ["score", run],
        ["report", run, "--out", str(folder / "report.html")],
        ["export", run, "--to", "csv", "--out", str(folder / "csv")],
        ["export", run, "--to", "parquet", "--out", str(folder / "parquet")],
        ["compare", str(folder / "closed"), str(folder / "named")],
        ["audit", run],
        ["run", "help_or_harm/response", "--model", "openai/gpt-4o-mini", "--dry-run", "--limit", "2"],
        ["list"],
    ]  # fmt: skip


def main(folder: Path) -> None:
    from mindgauge import cli
    from tests.conftest import obliging
    from tests.stub import Stub

    os.chdir(folder)
    sys.addaudithook(note)
    with Stub(obliging) as stub:
        for words in flows(stub, folder):
            reached.clear()
            said = StringIO()
            sys.argv = ["mindgauge", *words]
            with redirect_stdout(StringIO()), redirect_stderr(said):
                try:
                    cli.main()
                    code: object = 0
                except SystemExit as end:
                    code = end.code or 0
            sys.stdout.write(
                json.dumps({"words": words, "code": code, "said": said.getvalue(), "reached": sorted(set(reached))})
                + "\n"
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
