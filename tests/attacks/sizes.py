"""Files of every kind that grow in one way each, for every reader of such files: rows, columns, names alike, turns, …

A reader is what `handed.READERS` has for the ending; logs of each format are read as dialogues.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.attacks.bombs import CSV, OTHER, ROW, TOML, _csv, _entry, _workbook, _written, _zip, pa
from tests.attacks.handed import READERS, _transcripts
from tests.records.inspect_logs import logs
from tests.records.logs import samples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Growing = Callable[[Path, int], object]

WORDS = "I have not slept since the exam. "


def rows(n: int, **columns: Callable[[int], str]) -> list[dict[str, str]]:
    """Return rows whose cells differ by their number where that is said."""
    return [
        {**(ROW, OTHER)[i % 2], "id": f"i{i}", "subject": f"s{i // 2}", "rater": f"h{i % 2}", "user": f"{WORDS}{i}"}
        | {name: cell(i) for name, cell in columns.items()}
        for i in range(n)
    ]


def wide(n: int, name: Callable[[int], str], cell: str = "4") -> list[dict[str, str]]:
    """Return four rows with so many more columns."""
    return [{**row, **{name(i): cell for i in range(n)}} for row in rows(4)]


def labelled(n: int, name: Callable[[int], str], text: str = "I am here.") -> str:
    """Return a transcript of so many messages."""
    return "\n\n".join(f"{name(i)}: {text} {i}" for i in range(n)) + "\n"


def turns(n: int) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[i % 2], "content": f"{WORDS}{i}"} for i in range(n)]


TABLES: dict[str, Callable[[int], list[dict[str, str]]]] = {
    "rows": rows,
    "rows of one id": lambda n: rows(n, id=lambda _: "1", subject=lambda _: "s1"),
    "rows of one text": lambda n: rows(n, user=lambda _: WORDS, reply=lambda _: WORDS),
    "raters": lambda n: rows(n, rater=lambda i: f"h{i // 2}", subject=lambda i: f"s{i % 2}"),
    "criteria": lambda n: rows(n, criterion=lambda i: f"c{i // 4}", subject=lambda i: f"s{i % 2}"),
    "labels": lambda n: rows(n, label=lambda i: f"l{i}", value=lambda i: f"v{i}"),
    "models": lambda n: rows(n, model=lambda i: f"org/m{i}"),
    "columns": lambda n: wide(n, lambda i: f"c{i}"),
    "columns alike": lambda n: wide(n, lambda i: f"reply_{i}"),
    "columns in brackets": lambda n: wide(n, lambda i: f"Case {i % (n // 2 or 1)} [empathy {i // (n // 2 or 1)}]"),
    "columns of raters": lambda n: [{name: row[name] for name in ("id", "reply", *(f"rater_{i}" for i in range(n)))} for row in wide(n, lambda i: f"rater_{i}")],
    "columns of criteria and raters": lambda n: wide(n, lambda i: f"empathy {i % 9}_h{i}"),
    "a long name": lambda n: wide(1, lambda _: "a_" * n),
    "a long cell": lambda n: rows(4, reply=lambda i: WORDS.replace(",", "") * n, rater=lambda i: f"h{i % 2}"),
    "a long label": lambda n: rows(4, label=lambda i: f"{i}a/" * n, value=lambda i: "4 " * n),
    "turns in a cell": lambda n: rows(4, user=lambda i: labelled(n, lambda j: ("user", "chatbot")[j % 2]).replace("\n", " | ")),
}  # fmt: skip


def csv(made: Callable[[int], list[dict[str, str]]]) -> Growing:
    return lambda path, n: path.write_text(_csv(made(n)), encoding="utf-8")


def lines(made: Callable[[int], list[Any]]) -> Growing:
    return lambda path, n: path.write_text("".join(json.dumps(row) + "\n" for row in made(n)), encoding="utf-8")


def document(made: Callable[[int], Any]) -> Growing:
    return lambda path, n: path.write_text(json.dumps(made(n)), encoding="utf-8")


VALUES: dict[str, Callable[[int], list[Any]]] = {
    **TABLES,
    "turns": lambda n: [{"id": "d", "messages": turns(n)}],
    "many dialogues": lambda n: [{"id": f"d{i}", "messages": [*turns(2), *turns(1)]} for i in range(n)],
    "dialogues of one id": lambda n: [{"id": "d", "messages": [{"role": "user", "content": f"{i}"}, *turns(2)]} for i in range(n)],
    "rows of turns": lambda n: [{"conversation": "c", "turn": i, **turn} for i, turn in enumerate(turns(n))],
    "speakers": lambda n: [{"id": "d", "messages": [{"role": f"r{i}", "content": "x"} for i in range(n)]}],
    "nested values": lambda n: [{**ROW, "value": {f"k{i}": i for i in range(n)}}, OTHER],
    "a list": lambda n: [{**ROW, "extra": [{"a": i} for i in range(n)]}, OTHER],
    "new keys": lambda n: [{**row, f"k{i}": 1} for i, row in enumerate(rows(max(int((n * 9) ** 0.5), 1)))],  # a cell for each in each row
    "short lines": lambda n: [{"a": i} for i in range(n)],
}  # fmt: skip


def _parquet(made: Callable[[int], list[dict[str, str]]]) -> Growing:
    return lambda path, n: _written(lambda: pa.Table.from_pylist(made(n)))(path)


def _sheets(made: Callable[[int], list[dict[str, str]]]) -> Growing:
    def write(path: Path, n: int) -> None:
        table = made(n)
        path.write_bytes(_workbook([[*table[0]], *([*row.values()] for row in table)]))

    return write


def _settings(text: Callable[[int], str]) -> Growing:
    return lambda path, n: path.write_text(text(n), encoding="utf-8")


def rubric(criteria: int, levels: int, name: str = "c", words: int = 1) -> str:
    """Return a rubric's file."""
    parts = [f'name = "r"\ntitle = "{"a " * words}"\n' + TOML]
    for i in range(criteria):
        parts.append(f'[[criteria]]\nname = "{name}{i}"\nquestion = "How {"warm " * words}is it?"\n')
        parts += [
            f'[[criteria.levels]]\nvalue = {level}\nname = "l{level}"\nmeaning = "m"\n' for level in range(levels)
        ]
    return "".join(parts)


def _log(write: Callable[[int], list[str]]) -> Growing:
    return lambda path, n: path.write_text("".join(f"{line}\n" for line in write(n)), encoding="utf-8")


def _call(turn: int, **more: Any) -> dict[str, Any]:
    row = samples.langfuse(turn % 2)
    return {**row, "id": f"o{turn}", "trace_id": f"t{turn}", "start_time": f"2026-09-21T{turn // 3600 % 24:02}:{turn // 60 % 60:02}:{turn % 60:02}.000Z", **more}  # fmt: skip


def _spoken(turn: int) -> dict[str, Any]:
    return {
        "input": [{"role": "user", "content": f"{WORDS}{turn}"}],
        "output": {"role": "assistant", "content": f"Yes {turn}."},
    }


GROWING: dict[str, dict[str, Growing]] = {
    "csv": {
        **{name: csv(made) for name, made in TABLES.items()},
        "short lines": lambda path, n: path.write_text("value\n" + "4\n" * n * 4),
        "quotes": lambda path, n: path.write_text(CSV + '"a ""b""",' * n),
        "semicolons": lambda path, n: path.write_text(CSV.replace(",", ";") + ";" * n),
    },
    "jsonl": {name: lines(made) for name, made in VALUES.items()},
    "json": {
        **{name: document(made) for name, made in VALUES.items()},
        "by key": document(lambda n: {f"k{i}": row for i, row in enumerate(rows(n))}),
        "within": document(lambda n: {"samples": rows(n), "version": 1}),
    },
    "parquet": {name: _parquet(TABLES[name]) for name in ("rows", "columns", "raters", "columns of raters")},
    "xlsx": {name: _sheets(TABLES[name]) for name in ("rows", "raters")},
    "zip": {
        "members": lambda path, n: path.write_bytes(_zip(*(_entry(f"{i}.csv", CSV.encode()) for i in range(max(n // 50, 1))))),
        "folders": lambda path, n: path.write_bytes(_zip(*(_entry(f"{i}/a/test.json") for i in range(n)))),
    },
    "toml": {
        "criteria": _settings(lambda n: rubric(n // 4 + 1, 3)),
        "levels": _settings(lambda n: rubric(1, n)),
        "names alike": _settings(lambda n: rubric(n // 4 + 1, 3, "a" * 40)),
        "long words": _settings(lambda n: rubric(3, 3, words=n)),
        "keys": _settings(lambda n: TOML + "".join(f"k{i} = {i}\n" for i in range(n))),
        "tables": _settings(lambda n: TOML + "".join(f"[t{i}]\na = 1\n" for i in range(n))),
        "a list": _settings(lambda n: f"{TOML}a = {[*range(n)]}\n"),
        "a dotted name": _settings(lambda n: f"{TOML}{'a.' * 60}a = '{'a.' * n}'\n"),
    },
    "safetensors": {"header": lambda path, n: path.write_bytes(n.to_bytes(8, "little") + b" " * n)},
    "txt": {
        "turns": lambda path, n: path.write_text(labelled(n, lambda i: ("user", "chatbot")[i % 2])),
        "speakers": lambda path, n: path.write_text(labelled(n, lambda i: f"user{i}" if i % 2 else "chatbot")),
        "headings": lambda path, n: path.write_text("".join(f"user: hi {i}\nNote {i}: x\nchatbot: yes\n" for i in range(n))),
        "one line": lambda path, n: path.write_text(f"user: hi\nchatbot: {WORDS * n}\n"),
        "blank lines": lambda path, n: path.write_text(f"user: hi{chr(10) * n * 9}chatbot: yes{' ' * n * 9}\n"),
        "an end": lambda path, n: path.write_text(f"user: hi\nchatbot: yes\n[Conversation {'ended ' * n}\n"),
    },
    "log": {
        "langfuse calls": _log(lambda n: [json.dumps(_call(i, **_spoken(i))) for i in range(n)]),
        "langfuse windows": _log(lambda n: [json.dumps(_call(k, input=[{"role": "user", "content": "no" if k == i else "yes"} for i in range(n)])) for k in range(2)]),
        "langfuse conversations": _log(lambda n: [json.dumps(_call(i, session_id=f"c{i}")) for i in range(n)]),
        "otlp": _log(lambda n: [samples.export(samples.gen_ai(i % 2), i, f"c{i}") for i in range(n)]),
        "otlp calls": _log(lambda n: [samples.export(samples.gen_ai(i % 2), i) for i in range(n)]),
        "otlp attributes": _log(lambda n: [samples.export({**samples.gen_ai(0), **{f"llm.input_messages.{i}.message.content": "x" for i in range(n)}})]),
        "spans": _log(lambda n: [json.dumps({**samples.phoenix(i % 2), "context.trace_id": f"t{i}", "context.span_id": f"s{i}", "attributes.session.id": f"c{i}"}) for i in range(n)]),
        "spans of a table": _log(lambda n: [json.dumps({**samples.phoenix(i % 2), "context.trace_id": f"t{i}", "context.span_id": f"s{i}"}) for i in range(n)]),
        "inspect samples": lambda path, n: logs.plain(path, logs.members([logs.sample(i) for i in range(n)])),
        "inspect turns": lambda path, n: logs.plain(path, logs.members([logs.sample(1, messages=turns(n))])),
        "inspect scores": lambda path, n: logs.plain(path, logs.members([logs.sample(1, scores={f"s{i}": {"value": 1} for i in range(n)})])),
    },
}  # fmt: skip
"""How files of each ending grow: a way, and what writes one of a size."""


def readers(ending: str) -> dict[str, Callable[[Path], object]]:
    """Return the readers of files with this ending."""
    return READERS.get(ending) or {"dialogues": _transcripts}
