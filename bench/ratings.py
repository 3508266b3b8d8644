"""What it costs to read ratings in any shape: `python bench/ratings.py [RATINGS]`.

Writes the same ratings (100,000 if not said) in seven shapes and prints a Markdown table: seconds of processor time, the
least of three, to read, shape and check them; and to read the same files with polars alone, without looking at them.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.records.ratings import read

if TYPE_CHECKING:
    from collections.abc import Callable

TRIES = 3
RATERS = [f"expert{number}" for number in range(1, 6)]
CRITERIA = ["empathy", "warmth", "names_risk", "guides_to_people"]


def long(ratings: int) -> pl.DataFrame:
    """Return ratings, one a row, in the order of subjects."""
    number = pl.int_range(ratings, eager=True)
    cells = len(RATERS) * len(CRITERIA)
    return pl.DataFrame(
        {
            "subject": "conv-" + (number // cells).cast(pl.String),
            "criterion": pl.Series(CRITERIA)[(number % len(CRITERIA))],
            "rater": pl.Series(RATERS)[number // len(CRITERIA) % len(RATERS)],
            "value": number * 7919 % 5 + 1,
        }
    )


def written(frame: pl.DataFrame, folder: Path) -> dict[str, Path]:
    """Write them in each shape."""
    by_rater = frame.pivot(on="criterion", index=["subject", "rater"], values="value")
    grid = frame.with_columns(column=pl.col("rater") + "_" + pl.col("criterion"))
    places = {
        "a rating a row, CSV": folder / "long.csv",
        "a rating a row, Parquet": folder / "long.parquet",
        "a row for each rater and subject": folder / "wide.csv",
        "a file for each rater": folder / "files",
        "a sheet for each rater": folder / "sheets.xlsx",
        "a column for each rater and criterion": folder / "grid.csv",
        "lists per question": folder / "lists.jsonl",
    }
    frame.write_csv(places["a rating a row, CSV"])
    frame.write_parquet(places["a rating a row, Parquet"])
    by_rater.write_csv(places["a row for each rater and subject"])
    grid.pivot(on="column", index="subject", values="value").write_csv(places["a column for each rater and criterion"])
    (folder / "files").mkdir()
    from xlsxwriter import Workbook  # type: ignore[import-untyped]

    with Workbook(places["a sheet for each rater"]) as book:
        for rater in RATERS:
            own = by_rater.filter(pl.col("rater") == rater).drop("rater")
            own.write_csv(folder / "files" / f"{rater}_ratings.csv")
            own.write_excel(book, rater)
    lists = frame.group_by("subject", "criterion", maintain_order=True).agg("rater", "value")
    with places["lists per question"].open("w", encoding="utf-8") as file:
        for (subject,), rows in lists.group_by("subject", maintain_order=True):
            record: dict[str, object] = {"id": subject}
            for _, criterion, people, values in rows.iter_rows():
                record |= {f"{criterion}.responses": values, f"{criterion}.responses.users": people}
            file.write(json.dumps(record) + "\n")
    return places


def plain(path: Path) -> None:
    """Read a file, or the files of a folder, with polars."""
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        match file.suffix:
            case ".csv":
                pl.read_csv(file, infer_schema=False)
            case ".parquet":
                pl.read_parquet(file)
            case ".xlsx":
                pl.read_excel(file, sheet_id=0)
            case _:
                pl.read_ndjson(file)


def least(work: Callable[[], object]) -> float:
    """Return the least processor time of some tries, in seconds, that of processes which are begun left out."""
    times = []
    for _ in range(TRIES):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


def main(ratings: int) -> None:
    """Print the table."""
    frame = long(ratings)
    print(f"| {len(frame):,} ratings | ours, s | polars alone, s | ratio |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for shape, path in written(frame, Path(name)).items():
            rows = read([path]).frame
            assert rows.height == frame.height, (shape, rows.height)
            ours, alone = least(partial(read, [path])), least(partial(plain, path))
            print(f"| {shape} | {ours:.2f} | {alone:.2f} | {ours / alone:.1f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
