"""A folder in the layout as the authors' card states it, made of texts of our own: no ids, splits, repeats or labels of ours."""

from __future__ import annotations

import json
import random
from statistics import pstdev
from typing import TYPE_CHECKING, Any

import polars as pl

from mindgauge.benchmarks.help_or_harm.released import CATEGORIES

if TYPE_CHECKING:
    from pathlib import Path

ITEMS = {"validation": 6, "test": 21}
MODELS = (
    "gpt-4o-mini",
    "gpt-5-nano",
    "meta-llama-Llama-4-Scout-17B-16E-Instruct",
    "deepseek-chat",
    "grok-4-fast-non-reasoning",
)
RUNS = 3
JUDGE = "gpt-4o-mini"
Rows = list[dict[str, Any]]


def text(split: str, item: int) -> str:
    return f"[{split} {item}] The evenings are long, and I do not know whom to call."


def items(split: str) -> Rows:
    return [
        {"example_id": f"{split}-{n}", "inputs": [text(split, n), "It is worse on Sundays."], "label": CATEGORIES[n % 7], "dataset_id": "hugg_1"}
        for n in range(ITEMS[split])
    ]  # fmt: skip


def _answers(model: str, split: str, run: int) -> str:
    return f"llm_answer/{model}-answers-sampled_dataset_{split}-20250820-1702{run:02d}.json"


def responses(split: str, model: str) -> Rows:
    return [
        {
            "response_id": f"r/{model}/{split}/{n}/{run}", "example_id": f"{split}-{n}", "answer_model_raw": model,
            "answer_model": model.removeprefix("meta-llama-").lower(), "response_text": f"I am listening ({model}, {n}, {run}).",
            "source_file": _answers(model, split, run), "source_row": n, "column_of_theirs": n,
        }
        for run in range(RUNS)
        for n in range(ITEMS[split])
    ]  # fmt: skip


def score(model: str, item: int, run: int, again: int) -> int:
    return 1 + (len(model) + item + run + again // 2) % 5


def raw(split: str, model: str) -> Rows:
    rows = []
    for row in responses(split, model):
        _, _, _, item, run = row["response_id"].split("/")
        for again in range(RUNS):
            source = f"{JUDGE}-evaluation_{_answers(model, split, int(run)).removeprefix('llm_answer/').removesuffix('.json')}_20250825-1718{again:02d}.json"
            rows.append({
                **{name: row[name] for name in ("response_id", "example_id", "answer_model_raw", "answer_model", "response_text", "source_row")},
                "evaluator_model_raw": JUDGE, "evaluator_model": JUDGE, "score": score(model, int(item), int(run), again),
                "source_file": source,
            })  # fmt: skip
    return rows


def merged(split: str, model: str) -> Rows:
    by_response: dict[str, Rows] = {}
    for row in raw(split, model):
        by_response.setdefault(row["response_id"], []).append(row)
    return [
        {**rows[0], "score": sum(row["score"] for row in rows) / RUNS, "score_runs": [row["score"] for row in rows], "score_std": pstdev([row["score"] for row in rows])}
        for rows in by_response.values()
    ]  # fmt: skip


def people(annotator: str) -> Rows:
    """Return a person's scores of one reply to each item, the first model's."""
    return [
        {**{name: row[name] for name in ("response_id", "example_id", "response_text")}, "annotator": annotator, "score": float(1 + n % 5)}
        for n, row in enumerate(responses("validation", MODELS[0])[: ITEMS["validation"]])
    ]  # fmt: skip


def write(path: Path, rows: Rows, form: str, shards: int = 1, shuffled: int | None = None) -> None:
    """Write a table as Parquet, CSV or JSON lines, in so many shards, in its own order or in one drawn by lot."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = random.Random(shuffled).sample(rows, len(rows)) if shuffled is not None else rows
    for shard in range(shards):
        part = rows[shard::shards]
        name = path.with_name(
            f"{path.name}-{shard:05d}-of-{shards:05d}.{form}" if shards > 1 else f"{path.name}.{form}"
        )
        if form == "parquet":
            pl.DataFrame(part).write_parquet(name)
        elif form == "jsonl":
            name.write_text("".join(json.dumps(row) + "\n" for row in part), encoding="utf-8")
        else:
            cells = [{k: json.dumps(v) if isinstance(v, list) else v for k, v in row.items()} for row in part]
            pl.DataFrame(cells).write_csv(name)


def plant(
    folder: Path, form: str = "parquet", *, shards: int = 1, shuffled: int | None = None, with_items: bool = True
) -> Path:
    """Write the whole folder: five models, both splits, one judge, and two people on the validation set."""
    for split in ITEMS:
        if with_items:
            write(folder / "benchmark" / "items" / split / "items", items(split), form, shards, shuffled)
        for model in MODELS:
            name = model.removeprefix("meta-llama-").lower()
            write(folder / "responses" / split / name, responses(split, model), form, shards, shuffled)
            write(folder / "evaluations" / "llm_raw" / JUDGE / split / name, raw(split, model), form, shards, shuffled)
            write(
                folder / "evaluations" / "llm_merged" / JUDGE / split / name,
                merged(split, model),
                form,
                shards,
                shuffled,
            )
    for annotator in ("H1", "H2"):
        write(folder / "evaluations" / "human_raw" / "validation" / annotator, people(annotator), form, 1, shuffled)
    return folder
