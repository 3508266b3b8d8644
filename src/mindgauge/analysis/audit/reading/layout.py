"""An export in the Hugging Face layout as a material: it says itself what each of its tables is, so nothing is guessed.

Responses and single evaluations are read. Means of a judge's runs, review sets and the texts that people's tables repeat
say the same once more, and are no ratings or replies of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from mindgauge import benchmarks
from mindgauge.benchmarks.material import RATINGS, TEXTS, DeclaredScales, Material, frame
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds, confined

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark

SUMMARY = "metadata/export_summary.json"
RESPONSES, PEOPLE, JUDGES = "responses", "human_raw_scores", "llm_raw_evaluations_"
CRITERION = "score"
"""What a rating is of where the layout has one criterion and does not name it."""


def is_one(folder: Path) -> bool:
    """Whether a folder holds an export in this layout."""
    return (folder / SUMMARY).is_file() and (folder / "checksums").is_dir()


def read(folder: Path) -> tuple[str, Material]:
    """Read what an export holds. A row is its place in its file.

    Raises:
        DataError: its summary is broken.
    """
    try:
        summary = bounds.json_value(bounds.content(folder / SUMMARY).decode())
        tables = [
            (config, file) for config, config_entry in summary["configs"].items() for file in config_entry["files"]
        ]
        name = str(summary["benchmark"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{folder / SUMMARY}: not the summary of an export ({error})") from error
    benchmark = _known(name)
    criteria = benchmark.rubric.criteria if benchmark else ()
    notes: list[str] = []
    unlabelled: set[str] = set()
    texts, ratings = [frame([], TEXTS)], [frame([], RATINGS)]
    for config, file in sorted(tables, key=lambda table: table[1]):
        if config in {RESPONSES, PEOPLE} or config.startswith(JUDGES):
            rows = _table(folder, file, notes)
            if rows is not None and config == RESPONSES:
                texts.append(_texts(rows, file))
            elif rows is not None:
                ratings.append(_ratings(rows, file, [criterion.name for criterion in criteria]))
            if rows is not None and "label" in rows.columns and benchmark is not None and benchmark.protocol:
                unlabelled |= set(rows.filter(pl.col("label").is_null())["response_id"])
    replies, rated = pl.concat(texts, rechunk=True), pl.concat(ratings, rechunk=True)
    # Without a label there was nothing to judge by.
    idle = (pl.col("status") == "not_evaluated") & pl.col("subject").is_in(sorted(unlabelled))
    rated = rated.filter(~idle, pl.col("status") != "not_applicable")
    wrote = dict(zip(replies["id"], replies["system"], strict=True))  # people's tables do not name the model
    rated = rated.with_columns(system=pl.coalesce("system", pl.col("subject").replace_strict(wrote, default=None)))
    return f"{folder.name}: {name}", Material(replies, rated, *DeclaredScales.of(criteria), tuple(notes))


def _known(name: str) -> Benchmark | None:
    """Return the benchmark that was exported; None where this Mindgauge does not know it."""
    try:
        return benchmarks.find_one(name)
    except UsageError:
        return None


def _table(folder: Path, file: str, notes: list[str]) -> pl.DataFrame | None:
    try:
        return confined.parquet(folder / file, file).with_row_index("row")
    except (DataError, pl.exceptions.PolarsError) as error:
        notes.append(f"{' '.join(str(error).split())[:300]}")
        return None


def _texts(rows: pl.DataFrame, file: str) -> pl.DataFrame:
    """Return replies; one that the model refused, or that never came, is none."""
    replies = rows.filter(pl.col("response_text").is_not_null(), ~pl.col("refusal").fill_null(value=False))
    return replies.select(
        file=pl.lit(file), row=pl.col("row").cast(pl.Int64), kind=pl.lit("reply"), id="response_id", text="response_text",
        system="answer_model", source="source_dataset_id", split="split", label=pl.lit(None, pl.String),
    ).select(list(TEXTS))  # fmt: skip


def _ratings(rows: pl.DataFrame, file: str, criteria: list[str]) -> pl.DataFrame:
    columns: dict[str, Any] = {
        "subject": pl.col("response_id"),
        "criterion": pl.col("criterion")
        if "criterion" in rows.columns
        else pl.lit(criteria[0] if criteria else CRITERION),
        "cluster": pl.col("example_id"),
        "file": pl.lit(file),
        "row": pl.col("row").cast(pl.Int64),
    }
    integer = pl.col("score").cast(pl.Int64, strict=False)
    score = pl.when(integer == pl.col("score")).then(integer.cast(pl.String)).otherwise(pl.col("score").cast(pl.String))
    value = pl.coalesce("level", score) if "level" in rows.columns else score
    if "annotator" in rows.columns:
        status = pl.when(value.is_null()).then(pl.lit("not_evaluated")).otherwise(pl.lit("ok"))
        columns |= {
            "rater": pl.col("annotator"),
            "rater_kind": pl.lit("person"),
            "run": pl.lit(0, pl.Int64),
            "status": status,
        }
        columns |= {"system": pl.lit(None, pl.String)}
    else:
        columns |= {"rater": pl.col("evaluator_model"), "rater_kind": pl.lit("model"), "run": pl.col("evaluation_run")}
        columns |= {"status": pl.col("score_status"), "system": pl.col("answer_model")}
    return rows.select(**columns, value=value.cast(pl.String)).select(list(RATINGS))
