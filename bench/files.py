"""What the one reader costs beside the plain readers that it stands on, in one run: `python bench/files.py [ROWS]`.

Prints a Markdown table: seconds of wall time, the least of three, of our reader and of a plain one that checks no bounds,
and their ratio. Each pair is measured one after the other, so that other work on the machine weighs on both.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import fastexcel
import polars as pl

from mindgauge.records.files import tables

if TYPE_CHECKING:
    from collections.abc import Callable

TRIES = 3
WANTED = ("subject", "criterion", "rater", "value")


def ratings(rows: int) -> pl.DataFrame:
    """Return a long table of ratings."""
    number = pl.int_range(rows, eager=True)
    return pl.DataFrame({
        "subject": ("reply-" + (number // 4).cast(pl.String)), "criterion": pl.Series(["empathy"]).new_from_index(0, rows),
        "rater": ("rater-" + (number % 4).cast(pl.String)), "value": (number % 5 + 1).cast(pl.String),
    })  # fmt: skip


def replies(rows: int) -> pl.DataFrame:
    """Return a table of messages and replies of some 300 characters."""
    number = pl.int_range(rows, eager=True).cast(pl.String)
    return pl.DataFrame({
        "id": number, "user": "I have slept badly for days, and it wears me out. " * 3 + number,
        "reply": 'That sounds exhausting, and "tired" is a mild word.\nWhat helps you a little? ' * 2 + number,
    })  # fmt: skip


def least(work: Callable[[], object]) -> float:
    """Return the least wall time of some tries, in seconds."""
    times = []
    for _ in range(TRIES):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def dict_rows(path: Path) -> list[dict[str, str]]:
    """Read CSV with the standard library."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def json_rows(path: Path) -> list[object]:
    """Read JSON lines with the standard library."""
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main() -> None:
    """Make the files, read each in both ways, and print the table."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts, long = replies(rows), ratings(10 * rows)
        texts.write_csv(folder / "replies.csv")
        texts.write_csv(folder / "replies_semicolon.csv", separator=";")
        texts.write_ndjson(folder / "replies.jsonl")
        texts.write_parquet(folder / "replies.parquet")
        texts.head(rows // 10).write_excel(folder / "replies.xlsx")
        long.write_csv(folder / "ratings.csv")
        long.write_csv(folder / "ratings_quoted.csv", quote_style="always")
        long.with_columns(pl.lit('a "word"').alias("note")).write_csv(folder / "ratings_noted.csv")
        long.write_ndjson(folder / "ratings.jsonl")
        long.write_parquet(folder / "ratings.parquet")
        schema = dict.fromkeys(WANTED, pl.String)

        def ours(file: str) -> Callable[[], object]:
            return lambda: list(tables.open_table(folder / file).rows())

        def frame(file: str) -> Callable[[], object]:
            return lambda: tables.open_table(folder / file).frame(WANTED)

        tables.open_table(folder / "replies.parquet")  # begins the other process, once for all files of a command
        pairs: list[tuple[str, Callable[[], object], str, Callable[[], object]]] = [
            (f"{rows:,} replies, CSV", ours("replies.csv"), "csv.DictReader", lambda: dict_rows(folder / "replies.csv")),
            (f"{rows:,} replies, CSV with `;`", ours("replies_semicolon.csv"), "csv.DictReader", lambda: dict_rows(folder / "replies.csv")),
            (f"{rows:,} replies, JSON lines", ours("replies.jsonl"), "json.loads", lambda: json_rows(folder / "replies.jsonl")),
            (f"{rows:,} replies, Parquet", ours("replies.parquet"), "polars", lambda: pl.read_parquet(folder / "replies.parquet").to_dicts()),
            (f"{rows // 10:,} replies, workbook", ours("replies.xlsx"), "fastexcel", lambda: fastexcel.read_excel(folder / "replies.xlsx").load_sheet(0).to_polars().to_dicts()),
            (f"{10 * rows:,} ratings, CSV", frame("ratings.csv"), "polars", lambda: pl.read_csv(folder / "ratings.csv", infer_schema=False)),
            (f"{10 * rows:,} ratings, CSV, each cell in quotes", frame("ratings_quoted.csv"), "polars", lambda: pl.read_csv(folder / "ratings_quoted.csv", infer_schema=False)),
            (f"{10 * rows:,} ratings, CSV, quotes within cells", frame("ratings_noted.csv"), "polars", lambda: pl.read_csv(folder / "ratings_noted.csv", infer_schema=False)),
            (f"{10 * rows:,} ratings, JSON lines", frame("ratings.jsonl"), "polars", lambda: pl.read_ndjson(folder / "ratings.jsonl", schema=schema)),
            (f"{10 * rows:,} ratings, Parquet", frame("ratings.parquet"), "polars", lambda: pl.read_parquet(folder / "ratings.parquet")),
        ]  # fmt: skip
        print("| what is read | ours, s | plain, s | by | ratio |\n|---|---|---|---|---|")
        for what, work, by, plain in pairs:
            mine, theirs = least(work), least(plain)
            print(f"| {what} | {mine:.2f} | {theirs:.2f} | {by} | {mine / theirs:.1f} |")


if __name__ == "__main__":
    main()
