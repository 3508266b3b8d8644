"""The release of *Between Help and Harm* as its card describes it, written without any of our code.

The card names the folders, the configs and these columns: `response_id, example_id, answer_model_raw, answer_model,
evaluator_model_raw, evaluator_model, response_text, score, score_runs, score_std` and `source_…`. Nothing else is in the
tables. Texts and scores are ours. With `FULL`, there are 56 Parquet files of 618, 1,854, 206, 6,138 and 18,414 rows.
"""

from __future__ import annotations

import hashlib
import json
import statistics
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from pathlib import Path

FULL = {"validation": 206, "test": 2_046}
SMALL = {"validation": 2, "test": 7}
ANSWERING = {
    "deepseek-ai/DeepSeek-V3.2-Exp": "deepseek-v3.2",
    "gpt-4o-mini": "gpt-4o-mini",
    "gpt-5-nano": "gpt-5-nano",
    "x-ai/grok-4-fast": "grok-4-fast",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": "llama-4-scout-17b-16e-instruct",
}
EVALUATORS = {
    "gpt-4o-mini": "gpt-4o-mini",
    "gpt-5-nano": "gpt-5-nano",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": "llama-4-scout-17b-16e-instruct",
}
SPLITS = {"gpt-4o-mini": ("validation", "test")}
"""The splits of an evaluator; the others have the validation set alone."""
SETS = {
    "": "gpt-4o-mini",
    "__gpt-5-nano": "gpt-5-nano",
    "__meta-llama": "llama-4-scout-17b-16e-instruct",
    "__jury": "jury",
}
Row = dict[str, Any]


def ident(prefix: str, *parts: object) -> str:
    return f"{prefix}-{hashlib.md5(repr(parts).encode(), usedforsecurity=False).hexdigest()[:20]}"


def score(example: int, model: str, run: int, evaluator: str, again: int) -> int:
    digest = hashlib.md5(f"{example}/{model}/{run}/{evaluator}".encode(), usedforsecurity=False).digest()
    return max(1, 5 - digest[0] % 4 - (digest[1] + again) % 2)


def _responses(split: str, n: int, raw: str, plain: str) -> list[Row]:
    return [
        {
            "response_id": ident("resp", split, e, plain, run), "example_id": ident("ex", split, e), "answer_model_raw": raw,
            "answer_model": plain, "response_text": f"I hear you. ({plain}, {split} {e}, answer {run})",
            "source_file": f"{plain}-answers-{split}-2025082{run}-100000.json", "source_row_index": e,
        }
        for run in range(3)
        for e in range(n)
    ]  # fmt: skip


def _evaluations(rows: list[Row], n: int, raw: str, plain: str, ids: bool) -> tuple[list[Row], list[Row]]:
    single, merged = [], []
    for place, row in enumerate(rows):
        names = {
            name: row[name]
            for name in ("response_id", "example_id", "answer_model_raw", "answer_model", "response_text")
        } | {"evaluator_model_raw": raw, "evaluator_model": plain}
        scores = [score(place % n, row["answer_model"], place // n, plain, again) for again in range(3)]
        for again, value in enumerate(scores):
            source = (
                f"{plain}-evaluation_{row['source_file'].removesuffix('.json')}_2025082{7 + again}-1{again}0000.json"
            )
            own = {"evaluation_id": ident("eval", row["response_id"], plain, again)} if ids else {}
            single.append({**own, **names, "score": value, "source_file": source, "source_row_index": place % n})
        own = {"evaluation_id": ident("eval", row["response_id"], plain)} if ids else {}
        merged.append({
            **own, **names, "score": statistics.fmean(scores), "score_runs": scores, "score_std": statistics.pstdev(scores),
            "source_file": f"{plain}-evaluation_{row['source_file'].removesuffix('.json')}_merged.json", "source_row_index": place % n,
        })  # fmt: skip
    return single, merged


def _lowest(merged: dict[str, list[Row]], n: int) -> list[list[Row]]:
    """Return, by item, the merged rows of the reply with the lowest score by the first evaluator, one an evaluator."""
    chosen = []
    for e in range(n):
        rivals = [place for place in range(len(merged["gpt-4o-mini"])) if place % n == e]
        place = min(rivals, key=lambda p: merged["gpt-4o-mini"][p]["score"])
        chosen.append([rows[place] for rows in merged.values()])
    return chosen


def write(
    folder: Path, items: dict[str, int] = SMALL, *, spelled: str = "both", ids: bool = True, texts: bool = True
) -> Path:
    """Write the folder.

    Args:
        folder: where to.
        items: how many there are of a split.
        spelled: which names of models the tables have: `both`, `raw` or `plain`.
        ids: whether evaluations have ids; the card names none among the key columns.
        texts: whether the items' own data set lies beside it.
    """
    tables: dict[str, list[Row]] = {}
    merged: dict[str, list[Row]] = {plain: [] for plain in EVALUATORS.values()}
    for split, n in items.items():
        for raw, plain in ANSWERING.items():
            rows = tables[f"responses/{split}/{plain}"] = _responses(split, n, raw, plain)
            for judge_raw, judge in EVALUATORS.items():
                if split in SPLITS.get(judge, ("validation",)):
                    one, mean = _evaluations(rows, n, judge_raw, judge, ids)
                    tables[f"evaluations/llm_raw/{judge}/{split}/{plain}"] = one
                    tables[f"evaluations/llm_merged/{judge}/{split}/{plain}"] = mean
                    merged[judge] += mean if split == "validation" else []
    chosen = _lowest(merged, items["validation"])
    for number, person in enumerate(("H1", "H2")):
        tables[f"evaluations/human_raw/validation/{person}"] = [
            {
                **({"evaluation_id": ident("eval", person, e)} if ids else {}),
                **{k: rows[0][k] for k in ("response_id", "example_id", "answer_model_raw", "answer_model", "response_text")},
                "score": float(1 + (e + number) % 5), "source_file": f"{person}_scores.json", "source_row_index": e,
            }
            for e, rows in enumerate(chosen)
        ]  # fmt: skip
    for ending, judge in SETS.items():
        tables[f"evaluations/sampled_review_sets/sampled_lowest_scores_n200{ending}"] = [
            (_jury(rows) if judge == "jury" else next(dict(r) for r in rows if r["evaluator_model"] == judge))
            | ({"evaluation_id": ident("eval", ending, e)} if ids else {})
            for e, rows in enumerate(chosen)
        ]
    for name, rows in tables.items():
        _table(folder / f"{name}.parquet", rows, spelled)
    if texts:
        for split, n in items.items():
            _table(folder / "benchmark" / "items" / f"{split}.parquet", [
                {"example_id": ident("ex", split, e), "inputs": [f"({split} {e}) I do not sleep.", "I am so tired of it."], "label": _LABELS[e % 7]}
                for e in range(n)
            ], spelled)  # fmt: skip
    _describe(folder, {f"{name}.parquet": len(rows) for name, rows in tables.items()})
    return folder


def _jury(rows: list[Row]) -> Row:
    means = [row["score"] for row in rows]
    return rows[0] | {
        "evaluator_model_raw": "jury", "evaluator_model": "jury", "score": statistics.fmean(means), "score_runs": None, "score_std": None,
    }  # fmt: skip


_LABELS = (
    "suicidal_ideation", "self-harm", "anxiety_crisis", "violent_thoughts", "substance_abuse_or_withdrawal", "risk_taking_behaviours", "no_crisis",
)  # fmt: skip


def _table(path: Path, rows: list[Row], spelled: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    dropped = {
        "both": (),
        "raw": ("answer_model", "evaluator_model"),
        "plain": ("answer_model_raw", "evaluator_model_raw"),
    }
    frame.drop(dropped[spelled], strict=False).write_parquet(path)


def _config(name: str) -> str:
    parts = name.split("/")
    if parts[0] == "responses":
        return "responses"
    if parts[1] in {"llm_raw", "llm_merged"}:
        return f"{parts[1]}_evaluations_{parts[2].replace('-', '_').replace('.', '_')}"
    return "human_raw_scores" if parts[1] == "human_raw" else "sampled_review_sets"


def _describe(folder: Path, rows: dict[str, int]) -> None:
    """Write the card, the metadata and, last, the digests."""
    configs: dict[str, dict[str, list[str]]] = {}
    for name in rows:
        split = next((part for part in name.split("/") if part in {"validation", "test"}), "validation")
        configs.setdefault(_config(name), {}).setdefault(split, []).append(name)
    lines = ["---", "license: cc-by-nc-4.0", "configs:"]
    for config, splits in configs.items():
        lines += [f"- config_name: {config}", "  data_files:"]
        for split, names in splits.items():
            lines += [f"  - split: {split}", f"    path: {names[0].rpartition('/')[0]}/*.parquet"]
    lines += ["dataset_info:"]
    for config, splits in configs.items():
        lines += [f"- config_name: {config}", "  splits:"]
        for split, names in splits.items():
            lines += [f"  - name: {split}", f"    num_examples: {sum(rows[n] for n in names)}"]
    (folder / "README.md").write_text("\n".join([*lines, "---", "# Responses and evaluations", ""]), encoding="utf-8")
    (folder / "metadata").mkdir()
    (folder / "metadata" / "export_summary.json").write_text(
        json.dumps({"tables": [{"path": name, "num_rows": n} for name, n in rows.items()]})
    )
    (folder / "metadata" / "normalization.json").write_text(json.dumps({"models": ANSWERING | EVALUATORS}))
    (folder / "metadata" / "provenance.json").write_text(json.dumps({name: {"rows": n} for name, n in rows.items()}))
    seal(folder)


def seal(folder: Path) -> None:
    """Write the digests anew, as whoever changed a file on purpose would."""
    digests = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.parent.name != "checksums"
    }
    (folder / "checksums").mkdir(exist_ok=True)
    (folder / "checksums" / "sha256_manifest.json").write_text(json.dumps(digests))
