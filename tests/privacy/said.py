"""Whether anything that somebody said stands in a run's files, and a server whose words are easy to find again."""

from __future__ import annotations

import json
import re
import sqlite3
import zlib
from contextlib import closing
from typing import TYPE_CHECKING, Any

from aiohttp import web

from mindgauge.records import digest
from tests.stub import says, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

REPLY = "Thank you for telling me how the nights have been. 谢谢你把这些告诉我，我在这里听你说。"
QUOTE = "how the nights have been"
RATIONALE = "It names what the person carries, calmly and without haste."
NODE = "Nothing in these lines points to it as far as I can see."
UNREADABLE = "I would rather put my verdict into plain sentences this once."
REFUSAL = "I'm sorry, but I can't help with that, however much I wish to."
OFF_SCALE = "somewhere between a three and a four"
SPOKEN = (REPLY, QUOTE, RATIONALE, NODE, UNREADABLE, REFUSAL, OFF_SCALE)


def speaking(body: dict[str, Any], _: int) -> web.StreamResponse:
    """Answer by what is asked alone, so that two runs are told the same; some answers are bad, some errors echo."""
    asked, seed = _asked(body), int(digest(_asked(body), body.get("seed"))[:8], 16)
    properties = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
    repaired = "could not be read" in asked
    if seed % 11 == 0:
        said = f"bad request: the input «{words(body)}» is not accepted"
        return web.json_response({"error": {"message": said, "code": said}}, status=400)
    if seed % 11 == 1:
        return says(REFUSAL if seed % 2 else None, refusal=None if seed % 2 else REFUSAL)
    if seed % 11 == 2:
        return says(None, finish_reason=f"content_filter, since «{words(body)}»")
    if seed % 11 == 3 and properties and not repaired:
        return says(UNREADABLE)
    return willing(body, 0)


def willing(body: dict[str, Any], _: int) -> web.StreamResponse:
    """Answer like a good subject and, but for a value off the scale now and then, a good judge."""
    seed = int(digest(_asked(body), body.get("seed"))[:8], 16)
    properties = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
    if not properties:
        return says(f"{REPLY} ({seed})")
    return says(json.dumps(_verdict(properties, seed), ensure_ascii=seed % 2 == 0))


def _asked(body: dict[str, Any]) -> str:
    """Return the question without its fences' mark, which another process draws anew."""
    return re.sub(r"\b[0-9a-f]{16}\b", "", words(body))


def _verdict(properties: dict[str, Any], seed: int) -> dict[str, Any]:
    verdict: dict[str, Any] = {"quotes": [QUOTE], "rationale": RATIONALE}
    for place, (name, described) in enumerate(properties.items()):
        if "enum" in described:
            choices = described["enum"]
            verdict[name] = OFF_SCALE if seed % 11 == 4 else choices[(seed >> place) % len(choices)]
        elif name == "checks":
            verdict[name] = {**dict.fromkeys(described["properties"], "yes"), RATIONALE: "yes", "more": NODE}
        elif described.get("type") == "object":
            verdict[name] = _verdict(described["properties"], seed)
    if "answer" in properties:
        verdict["rationale"] = NODE
    return verdict


def pieces(texts: Iterable[str]) -> set[str]:
    """Return the parts of texts by which they are known again: what stands between two stops, if it is long enough."""
    parts = (part.strip() for text in texts for part in re.split(r"[.!?;,\n。！？；，、：:—]+", text))
    return {part for part in parts if len(part) >= (5 if re.search("[\u3400-\u9fff]", part) else 16)}


def found(folder: Path, texts: Iterable[str], *, without: str = "pending") -> list[str]:
    """Return which files of a run say any of this: byte by byte, and in every cell of a database, unpacked.

    Args:
        folder: the run's.
        texts: what was said.
        without: a folder in it that is not looked at.
    """
    wanted = {form for piece in pieces(texts) for form in (piece.encode(), json.dumps(piece)[1:-1].encode())}
    assert wanted, "nothing to look for"
    pattern = re.compile(b"|".join(map(re.escape, sorted(wanted))))
    hits = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and without not in p.relative_to(folder).parts):
        content = [path.read_bytes(), *(_cells(path) if path.suffix == ".sqlite" else [])]
        hits += [f"{path.name}: {hit[0].decode(errors='replace')}" for part in content if (hit := pattern.search(part))]
    return hits


def _cells(path: Path) -> Iterator[bytes]:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            for row in db.execute(f'SELECT * FROM "{table}"'):
                for cell in row:
                    if isinstance(cell, str | bytes):
                        yield from _unpacked(cell.encode() if isinstance(cell, str) else cell)


def _unpacked(cell: bytes) -> Iterator[bytes]:
    yield cell
    for wbits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        try:
            yield zlib.decompressobj(wbits).decompress(cell)
        except zlib.error:
            continue
