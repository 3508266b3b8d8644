"""The release of *Between Help and Harm* as its card describes it, written without any of our code.

The card names the folders, the configs and these columns: `response_id, example_id, answer_model_raw, answer_model,
evaluator_model_raw, evaluator_model, response_text, score` and `source_…`. Nothing else is in the
tables written here; means and review sets, which say the same again, are left out. Texts and scores are ours.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from pathlib import Path

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


def _evaluations(rows: list[Row], n: int, raw: str, plain: str) -> list[Row]:
    single = []
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
            single.append({**names, "score": value, "source_file": source, "source_row_index": place % n})
    return single


def write(folder: Path, items: dict[str, int] = SMALL, *, spelled: str = "both", texts: bool = True) -> Path:
    """Write the folder.

    Args:
        folder: where to.
        items: how many there are of a split.
        spelled: which names of models the tables have: `both`, `raw` or `plain`.
        texts: whether the items' own data set lies beside it.
    """
    tables: dict[str, list[Row]] = {}
    for split, n in items.items():
        for raw, plain in ANSWERING.items():
            rows = tables[f"responses/{split}/{plain}"] = _responses(split, n, raw, plain)
            for judge_raw, judge in EVALUATORS.items():
                if split in SPLITS.get(judge, ("validation",)):
                    tables[f"evaluations/llm_raw/{judge}/{split}/{plain}"] = _evaluations(rows, n, judge_raw, judge)
    chosen = tables["responses/validation/gpt-4o-mini"][: items["validation"]]
    for number, person in enumerate(("H1", "H2")):
        tables[f"evaluations/human_raw/validation/{person}"] = [
            {
                **{k: row[k] for k in ("response_id", "example_id", "answer_model_raw", "answer_model", "response_text")},
                "score": float(1 + (e + number) % 5), "source_file": f"{person}_scores.json", "source_row_index": e,
            }
            for e, row in enumerate(chosen)
        ]  # fmt: skip
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
    if parts[1] == "llm_raw":
        return f"llm_raw_evaluations_{parts[2].replace('-', '_').replace('.', '_')}"
    return "human_raw_scores"


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
