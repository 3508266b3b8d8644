"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.records.errors import UsageError

Names = Annotated[list[str], typer.Argument(help="Benchmarks, or families of them.")]
Name = Annotated[str, typer.Argument(help="A benchmark.")]
Judges = Annotated[
    list[str],
    typer.Option("--judge", help="Who rates: a model, classifier/FOLDER, or a rule (rule/refusal). May be repeated."),
]
Out = Annotated[Path | None, typer.Option(help="The run directory; if not given, one that follows from the plan.")]
Data = Annotated[Path | None, typer.Option(help="A copy of the authors' released files, whole or in part.")]
Limit = Annotated[
    int | None, typer.Option(min=1, help="At most this many, each with its variants, spread evenly over the classes.")
]
Where = Annotated[
    list[str],
    typer.Option(
        help="Keep samples whose tag has a value: language=zh, or one of several: made=released,ours. May be repeated."
    ),
]
NoText = Annotated[
    bool, typer.Option("--no-text", help="Keep hashes and places of quotes instead of what people and models said.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what it would take.")]
Map = Annotated[
    list[str],
    typer.Option(
        "--map",
        help="NAME=COLUMN, where a column has another name (reply=Antwort, user=#1), or how the file is read (sheet, header, encoding, separator); or FILE.toml.",
    ),
]
TABLE = "CSV, Excel, JSON, JSONL, Parquet"
"""What a table of the user's may be, in words; `docs/files.md` has it in full."""
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def several(items: list[str]) -> list[str]:
    """Read an option that takes several values, repeated or separated by commas."""
    return [part.strip() for text in items for part in text.split(",") if part.strip()]


def mapping(items: list[str]) -> dict[str, str]:
    """Read `--map`: NAME=COLUMN, several separated by commas, or files of them; see `mindgauge.records.files.mapping`."""
    from mindgauge.records.files.mapping import parse

    return parse(items)


def scales(items: list[str]) -> dict[str, str]:
    """Read scales, `1:5` for all criteria (kept under `*`) or CRITERION=1:5."""
    result = {}
    for item in items:
        name, equals, value = item.partition("=")
        result[name.strip() if equals else "*"] = (value if equals else name).strip()
    return result


def where(items: list[str]) -> dict[str, tuple[str, ...]]:
    """Read TAG=VALUE options; a tag with several values, `made=released,ours`, or given twice allows each of them.

    Raises:
        UsageError: one has no equals sign, or no tag before it.
    """
    result: dict[str, tuple[str, ...]] = {}
    for item in items:
        tag = ""
        for part in item.split(","):
            before, equals, remainder = part.partition("=")
            tag, value = (before.strip(), remainder.strip()) if equals else (tag, before.strip())
            if not (tag and value):
                raise UsageError(f"--where {item!r}: write TAG=VALUE, or TAG=VALUE,VALUE")
            result[tag] = tuple(dict.fromkeys((*result.get(tag, ()), value)))
    return result
