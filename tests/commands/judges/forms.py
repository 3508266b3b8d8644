"""Runs whose judge gives reasons, and forms about them as people and spreadsheet programs leave them."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import polars as pl

import mindgauge
from tests.commands.judges.conftest import judge, replies_file

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records.request import Request

Row = dict[str, str]


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


def rows(path: Path) -> list[Row]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(path: Path, **values: Any) -> None:
    """Fill a form in: the given values for every verdict, a function of its row where they are one."""
    filled = [{**row, **{k: str(v(row) if callable(v) else v) for k, v in values.items()}} for row in rows(path)]
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, filled[0])
        writer.writeheader()
        writer.writerows(filled)


def as_excel(path: Path, delimiter: str) -> None:
    """Save a form again as a spreadsheet program may: rows and columns turned round, columns added, empty rows below."""
    form = rows(path)
    names = [*reversed(form[0]), "Done?"]
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\r\n")
        writer.writerow(["Rationality " if name == "rationality" else name for name in names])
        writer.writerows([[{**row, "Done?": "x"}[name] for name in names] for row in reversed(form)])
        writer.writerows([[""] * len(names)] * 3)


def as_workbook(path: Path) -> Path:
    form = pl.DataFrame(rows(path)).with_columns(pl.col("traceability").cast(pl.Float64, strict=False))
    form.write_excel(path.with_suffix(".xlsx"))
    return path.with_suffix(".xlsx")
