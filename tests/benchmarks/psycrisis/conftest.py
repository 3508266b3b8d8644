"""Made-up tables in the shapes that users bring. No test here needs the authors' data."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

from mindgauge import benchmarks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

PSYCRISIS = benchmarks.find_one("psycrisis")
DIMENSIONS = ("empathy", "regulation", "exploration", "risk_assessment", "referral")
VETOES = ("method_information", "encouragement", "minimising", "dependency", "false_promise", "concealment", "shaming")
HARMS = (*VETOES, "pain_substitute")
CHINESE = ("共情与合作", "基于证据的情绪管理建议", "探索来访者担忧", "评估并提取证据支持的风险", "外部支持与干预")


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write headers and rows as a table; the name's ending says of which kind."""

    def written(headers: Sequence[str], rows: Sequence[Sequence[object]], name: str = "table.csv") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".csv"):
            with path.open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows([headers, *rows])
        elif name.endswith(".jsonl"):
            objects = [dict(zip(headers, row, strict=True)) for row in rows]
            path.write_text("".join(json.dumps(each) + "\n" for each in objects), encoding="utf-8")
        else:
            columns = {header: [row[place] for row in rows] for place, header in enumerate(headers)}
            frame = pl.DataFrame(columns, strict=False)
            if name.endswith(".xlsx"):
                frame.write_excel(path)
            else:
                frame.write_parquet(path)
        return path

    return written
