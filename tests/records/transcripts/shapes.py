"""Dialogues, and every shape in which people keep them."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Spoken = list[tuple[str, str]]
"""Roles (`user`, `assistant`) and what they say, alternating."""
NAMES = {"user": "user", "assistant": "chatbot"}


def messages(spoken: Spoken) -> list[dict[str, str]]:
    return [{"role": role, "content": text} for role, text in spoken]


def labelled(spoken: Spoken, names: dict[str, str] | None = None, before: str = "", after: str = ": ") -> str:
    names = names or NAMES
    return "\n\n".join(f"{before}{names[role]}{after}{text}" for role, text in spoken) + "\n"


def _lines(path: Path, values: list[Any]) -> None:
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values), encoding="utf-8")


def _json_lines(key: str, role: str, content: str) -> Callable[[Path, list[Spoken]], Path]:
    def write(folder: Path, dialogues: list[Spoken]) -> Path:
        _lines(
            folder / "d.jsonl",
            [{"id": f"d{n}", key: [{role: r, content: t} for r, t in d]} for n, d in enumerate(dialogues)],
        )
        return folder / "d.jsonl"

    return write


def _parts(folder: Path, dialogues: list[Spoken]) -> Path:
    listed = [[{"role": r, "content": [{"type": "text", "text": t}]} for r, t in d] for d in dialogues]
    _lines(folder / "p.jsonl", [{"id": f"d{n}", "messages": d} for n, d in enumerate(listed)])
    return folder / "p.jsonl"


def _share(folder: Path, dialogues: list[Spoken]) -> Path:
    names = {"user": "human", "assistant": "gpt"}
    listed = [[{"from": names[r], "value": t} for r, t in d] for d in dialogues]
    (folder / "s.json").write_text(json.dumps([{"id": f"d{n}", "conversations": d} for n, d in enumerate(listed)]))
    return folder / "s.json"


def _arrays(folder: Path, dialogues: list[Spoken]) -> Path:
    _lines(folder / "a.jsonl", [messages(d) for d in dialogues])
    return folder / "a.jsonl"


def _by_id(folder: Path, dialogues: list[Spoken]) -> Path:
    (folder / "k.json").write_text(json.dumps({f"d{n}": messages(d) for n, d in enumerate(dialogues)}))
    return folder / "k.json"


def _wrapped(folder: Path, dialogues: list[Spoken]) -> Path:
    listed = [{"id": f"d{n}", "messages": messages(d)} for n, d in enumerate(dialogues)]
    (folder / "w.json").write_text(json.dumps({"version": 1, "dialogues": listed}))
    return folder / "w.json"


def _exported(folder: Path, dialogues: list[Spoken]) -> Path:
    exports = []
    for n, spoken in enumerate(dialogues):
        tree: dict[str, Any] = {"root": {"message": None, "parent": None}}
        for at, (role, text) in enumerate(spoken):
            message = {"author": {"role": role}, "content": {"content_type": "text", "parts": [text]}}
            tree[f"n{at}"] = {"message": message, "parent": f"n{at - 1}" if at else "root"}
            tree[f"other{at}"] = {"message": message, "parent": "root"}
        exports.append({"id": f"d{n}", "title": "x", "mapping": tree, "current_node": f"n{len(spoken) - 1}"})
    (folder / "conversations.json").write_text(json.dumps(exports))
    return folder / "conversations.json"


def _cells(folder: Path, dialogues: list[Spoken]) -> Path:
    pl.DataFrame({"id": [f"d{n}" for n, _ in enumerate(dialogues)], "messages": [json.dumps(messages(d)) for d in dialogues]}).write_csv(folder / "c.csv")  # fmt: skip
    return folder / "c.csv"


def _told(folder: Path, dialogues: list[Spoken]) -> Path:
    pl.DataFrame({"id": [f"d{n}" for n, _ in enumerate(dialogues)], "dialogue": [labelled(d) for d in dialogues]}).write_csv(folder / "t.csv")  # fmt: skip
    return folder / "t.csv"


def rows(dialogues: list[Spoken]) -> pl.DataFrame:
    """Return a message a row; the dialogues are mixed, and only the turn says the order."""
    longest = max(map(len, dialogues))
    taken = [
        (f"d{n}", at, *spoken[at])
        for at in reversed(range(longest))
        for n, spoken in enumerate(dialogues)
        if at < len(spoken)
    ]
    return pl.DataFrame(
        taken,
        schema={"conversation_id": pl.String, "turn": pl.Int64, "role": pl.String, "content": pl.String},
        orient="row",
    )


def _row_csv(folder: Path, dialogues: list[Spoken]) -> Path:
    rows(dialogues).write_csv(folder / "r.csv")
    return folder / "r.csv"


def _row_parquet(folder: Path, dialogues: list[Spoken]) -> Path:
    rows(dialogues).write_parquet(folder / "r.parquet")
    return folder / "r.parquet"


def _row_lines(folder: Path, dialogues: list[Spoken]) -> Path:
    rows(dialogues).write_ndjson(folder / "r.jsonl")
    return folder / "r.jsonl"


def _row_sheet(folder: Path, dialogues: list[Spoken]) -> Path:
    rows(dialogues).write_excel(folder / "r.xlsx")
    return folder / "r.xlsx"


def _lists_parquet(folder: Path, dialogues: list[Spoken]) -> Path:
    pl.DataFrame({"id": [f"d{n}" for n, _ in enumerate(dialogues)], "messages": [messages(d) for d in dialogues]}).write_parquet(folder / "l.parquet")  # fmt: skip
    return folder / "l.parquet"


def _texts(**how: Any) -> Callable[[Path, list[Spoken]], Path]:
    def write(folder: Path, dialogues: list[Spoken]) -> Path:
        (folder / "texts").mkdir()
        for n, spoken in enumerate(dialogues):
            (folder / "texts" / f"d{n}.txt").write_text(labelled(spoken, **how), encoding="utf-8")
        return folder / "texts"

    return write


def _zipped(folder: Path, dialogues: list[Spoken]) -> Path:
    with zipfile.ZipFile(folder / "z.zip", "w") as file:
        for n, spoken in enumerate(dialogues):
            file.writestr(f"d{n}.txt", labelled(spoken))
    return folder / "z.zip"


def _zipped_json(folder: Path, dialogues: list[Spoken]) -> Path:
    with zipfile.ZipFile(folder / "j.zip", "w") as file:
        for n, spoken in enumerate(dialogues):
            file.writestr(f"d{n}.json", json.dumps(messages(spoken)))
    return folder / "j.zip"


SHAPES: dict[str, Callable[[Path, list[Spoken]], Path]] = {
    **{f"JSON lines of {key}": _json_lines(key, "role", "content") for key in ("messages", "conversation", "dialogue", "history")},
    "JSON lines of speaker and text": _json_lines("turns", "speaker", "text"),
    "messages in parts": _parts,
    "ShareGPT": _share,
    "JSON lines of arrays": _arrays,
    "JSON by id": _by_id,
    "JSON under a key": _wrapped,
    "an export of ChatGPT": _exported,
    "CSV with JSON": _cells,
    "CSV with text": _told,
    "a message a row, CSV": _row_csv,
    "a message a row, Parquet": _row_parquet,
    "a message a row, JSON lines": _row_lines,
    "a message a row, workbook": _row_sheet,
    "lists in Parquet": _lists_parquet,
    "texts": _texts(),
    "texts, bold": _texts(before="**", after=":** "),
    "texts, bold, colon outside": _texts(before="**", after="**: "),
    "texts, headings": _texts(before="## ", after="\n\n"),
    "texts, Chinese": _texts(names={"user": "用户", "assistant": "助手"}, after="："),
    "texts, times": _texts(before="[2026-05-01 10:22:31] "),
    "texts of a messenger": _texts(before="01/05/2026, 10:22 - "),
    "texts, times behind": _texts(after=" (10:22): "),
    "texts, a line of its own": _texts(after=":\n"),
    "a zip of texts": _zipped,
    "a zip of JSON": _zipped_json,
}  # fmt: skip
