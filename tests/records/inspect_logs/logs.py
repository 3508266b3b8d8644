"""Logs as Inspect writes them, in every container it uses; made by hand, so that inspect-ai is not needed."""

from __future__ import annotations

import json
import struct
import sys
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

if sys.version_info >= (3, 14):
    from compression.zstd import compress as compressed
else:
    from backports.zstd import compress as compressed

if TYPE_CHECKING:
    from pathlib import Path

SHA = "9f2b" * 8


def sample(ident: str | int, epoch: int = 1, **more: Any) -> dict[str, Any]:
    """Return a sample: a person, an answer in parts after a tool was called, and the scores of two scorers."""
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": f"I have not slept since Monday, {ident}."},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": "look_up", "arguments": {}}]},
        {"role": "tool", "content": "nothing found", "tool_call_id": "1"},
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "reasoning": "They are tired."},
                {"type": "text", "text": "That is hard."},
                {"type": "text", "text": f"attachment://{SHA}"},
            ],
        },
    ]
    return {
        "id": ident,
        "epoch": epoch,
        "input": messages[:2],
        "target": "rest",
        "messages": messages,
        "output": {"model": "m", "choices": [{"message": messages[-1], "stop_reason": "stop"}], "completion": "x"},
        "scores": {"care": {"value": {"warmth": 4, "safety": 2}, "explanation": "why"}, "includes": {"value": "C"}},
        "metadata": {"language": "en", "topic": "sleep", "urgent": True, "deep": {"a": [1]}, "cluster": "c1"},
        "attachments": {SHA: "What kept you awake?"},
        "events": [{"event": "model", "input": ["x" * 50], "deep": {"more": [1, 2, {"a": "]}"}]}}],
        **more,
    }


def header(**more: Any) -> dict[str, Any]:
    spec = {"task": "support", "model": "openai/gpt-x", "created": "2026-11-01T10:00:00+00:00", "config": {"epochs": 1}}
    return {"version": 2, "status": "success", "eval": {**spec, **more.pop("eval", {})}, "plan": {}, **more}


def members(samples: list[dict[str, Any]], head: dict[str, Any] | None = None) -> dict[str, bytes]:
    """Return the files of a log by name."""
    head = head or header()
    files: dict[str, Any] = {"_journal/start.json": {k: head[k] for k in ("version", "eval", "plan")}}
    files |= {f"samples/{s['id']}_epoch_{s['epoch']}.json": s for s in samples}
    files |= {"summaries.json": [{"id": s["id"], "epoch": s["epoch"]} for s in samples], "header.json": head}
    return {name: json.dumps(content).encode() for name, content in files.items()}


def deflated(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def zip64(path: Path, files: dict[str, bytes]) -> Path:
    """Write sizes and places as only large zips need them."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            with archive.open(name, "w", force_zip64=True) as file:
                file.write(content)
    return path


def zstandard(path: Path, files: dict[str, bytes], *, frames: int = 1, damage: bool = False) -> Path:
    """Write files packed with Zstandard, as inspect-ai does from 0.3.199 on; a large one in several frames."""
    body, table, count = b"", b"", 0
    for name, content in files.items():
        size = -(-len(content) // frames)
        pieces = [content[start : start + size] for start in range(0, len(content), size)]
        packed = b"".join(compressed(piece) for piece in pieces)
        checksum = zlib.crc32(content) ^ damage
        facts = struct.pack("<HHHHHIIIHH", 63, 0, 93, 0, 33, checksum, len(packed), len(content), len(name.encode()), 0)
        table += struct.pack("<4sH", b"PK\x01\x02", 63) + facts
        table += struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + name.encode()
        body += b"PK\x03\x04" + facts + name.encode() + packed
        count += 1
    ending = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, count, count, len(table), len(body), 0)
    path.write_bytes(body + table + ending)
    return path


def plain(path: Path, files: dict[str, bytes]) -> Path:
    """Write the same log as JSON."""
    head = json.loads(files["header.json"])
    samples = [json.loads(content) for name, content in files.items() if name.startswith("samples/")]
    path = path.with_suffix(".json")
    path.write_text(json.dumps({**head, "samples": samples}, indent=2), encoding="utf-8")
    return path


CONTAINERS = {"deflate": deflated, "zip64": zip64, "zstd": zstandard, "json": plain}
