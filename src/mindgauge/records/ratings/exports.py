"""Ratings that other tools export: Argilla's lists per question, Langfuse's scores, OpenInference's annotations.

Each says itself what its columns are, so nothing is guessed.
"""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING, Any

import polars as pl

from mindgauge.records.ratings import raters
from mindgauge.records.ratings.columns import key

if TYPE_CHECKING:
    from collections.abc import Collection

    from mindgauge.records.ratings.tables import Sheet

_LIST = re.compile(r"^(?P<question>.+)\.responses$")
_KEPT = {"submitted", "completed", ""}
"""Statuses of an answer that counts; drafts and discarded ones do not."""
_SOURCES = {
    "annotation": "person",
    "eval": "model",
    "human": "person",
    "llm": "model",
    "llm_judge": "model",
    "ai_judge": "model",
    "code": "rule",
    "api": None,
    "app": None,
}
_UNKNOWN = "nobody named"


def read(sheet: Sheet) -> tuple[str, pl.DataFrame, list[str]] | None:
    """Read a table in one of these forms.

    Returns:
        How it was read; rows with subject, criterion, rater, rater_kind, value, status, cluster, system and `row`, as
        far as there are any; and what was left out. None where it is none of these.
    """
    keys = {key(name): name for name in sheet.frame.columns}
    if any(_LIST.match(name) for name in sheet.frame.columns):
        return _lists(sheet)
    if {"name", "value"} <= keys.keys() and keys.keys() & {"trace_id", "observation_id"}:
        return _langfuse(sheet, keys)
    if keys.keys() & {"annotation_name", "name"} and "annotator_kind" in keys:
        return _openinference(sheet, keys, "annotations in OpenInference's form")
    if "assessment_name" in keys and keys.keys() & {"trace_id", "request_id"}:
        return _openinference(sheet, keys, "assessments of MLflow's")
    return None


def _first(keys: dict[str, str], names: Collection[str]) -> pl.Expr:
    """Return the first filled of some columns."""
    present = [pl.col(keys[name]) for name in names if name in keys]
    return pl.coalesce(present) if present else pl.lit(None, pl.String)


def _langfuse(sheet: Sheet, keys: dict[str, str]) -> tuple[str, pl.DataFrame, list[str]]:
    """Read scores: one a row, people's with their author where the export has the provenance."""
    source = _first(keys, ["source"]).str.to_lowercase()
    text = _first(keys, ["string_value"])
    kind = _first(keys, ["data_type"]).str.to_uppercase()
    author = _first(keys, ["author_user_id", "author_user_name", "user_id"])
    judge = _first(keys, ["evaluator_id", "evaluator_name", "config_id"])
    frame = sheet.frame.select(
        sheet.rows,
        subject=_first(keys, ["observation_id", "trace_id", "session_id", "dataset_run_id"]),
        criterion=pl.col(keys["name"]),
        rater=pl.when(source == "annotation").then(pl.coalesce(author, pl.lit(_UNKNOWN)))
        .when(source == "eval").then(pl.coalesce(judge, pl.lit("evaluator")))
        .otherwise(pl.coalesce(author, judge, source, pl.lit(_UNKNOWN))),
        rater_kind=source.replace_strict(_SOURCES, default=None, return_dtype=pl.String),
        value=pl.when(kind.is_in(["CATEGORICAL", "BOOLEAN"])).then(pl.coalesce(text, pl.col(keys["value"])))
        .otherwise(pl.coalesce(pl.col(keys["value"]), text)),
        cluster=_first(keys, ["session_id", "trace_id"]),
        type=kind,
        at=_first(keys, ["updated_at", "timestamp", "created_at"]),
    )  # fmt: skip
    texts = frame.filter(pl.col("type").is_in(["TEXT", "CORRECTION"]))
    left_out = [f"{sheet.name}: {len(texts)} scores that are texts or corrections"] if len(texts) else []
    frame = frame.filter(~pl.col("type").is_in(["TEXT", "CORRECTION"]).fill_null(value=False))
    frame, replaced = _latest(frame)
    if replaced:
        left_out.append(f"{sheet.name}: {replaced} scores that the same rater gave anew later")
    unnamed = frame.filter((pl.col("rater") == _UNKNOWN) & (pl.col("rater_kind") == "person")).height
    if unnamed:
        left_out.append(f"{sheet.name}: who gave {unnamed} of people's scores; the export leaves out score_provenance, so all of them are one rater")  # fmt: skip
    return f"{sheet.name}: scores exported by Langfuse, one a row", frame.drop("type", "at"), left_out


def _latest(frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Keep the last of several scores of one rater on one criterion, by their time."""
    if frame["at"].null_count() == len(frame):
        return frame, 0
    latest = frame.sort("at", nulls_last=False, maintain_order=True).unique(
        ["subject", "criterion", "rater"], keep="last", maintain_order=True
    )
    return latest.sort("row"), len(frame) - len(latest)


def _openinference(sheet: Sheet, keys: dict[str, str], form: str) -> tuple[str, pl.DataFrame, list[str]]:
    """Read annotations: name, score or label, annotator_kind, identifier, on a span, trace or session."""
    kind = _first(keys, ["annotator_kind", "source.source_type", "source_type"]).str.to_lowercase()
    subject = _first(
        keys, ["span_id", "context.span_id", "document_id", "trace_id", "context.trace_id", "request_id", "session_id"]
    )
    label, score = (
        _first(keys, ["label", "result.label"]),
        _first(keys, ["score", "result.score", "feedback.value", "feedback_value", "value"]),
    )
    who = _first(
        keys,
        ["identifier", "user_id", "source.source_id", "source_id", "annotator", "metadata.annotator", "metadata.model"],
    )
    if {"session_id", "metadata.subject"} <= keys.keys():
        # Ours of a session end with the reply that they are of; where it holds several, these are what was rated.
        reply, session = (pl.col(keys[name]) for name in ("metadata.subject", "session_id"))
        ending = pl.concat_str(pl.lit(":"), reply)
        by_reply = ((subject == session) & who.str.ends_with(ending)).fill_null(value=False)
        several = pl.when(by_reply).then(reply).drop_nulls().n_unique().over(session) > 1
        subject = pl.when(by_reply & several).then(reply).otherwise(subject)
        who = pl.when(by_reply).then(who.str.strip_suffix(ending)).otherwise(who)
    frame = sheet.frame
    name = _first(keys, ["annotation_name", "assessment_name", "name"])
    scored = frame.group_by(name.alias("criterion")).agg(all=score.is_not_null().sum() >= label.is_not_null().sum())
    frame = frame.select(
        sheet.rows, subject=subject, criterion=name, rater=pl.coalesce(who, kind, pl.lit(_UNKNOWN)),
        rater_kind=kind.replace_strict(_SOURCES, default=None, return_dtype=pl.String),
        score=score, label=label,
        cluster=_first(keys, ["session_id", "session.id", "trace_id", "context.trace_id"]),
    ).join(scored, on="criterion", how="left", maintain_order="left")  # fmt: skip
    # A criterion is read by its scores or by its labels, not by both: a score beside a label says the same once more.
    frame = frame.with_columns(value=pl.when("all").then("score").otherwise("label")).drop("score", "label", "all")
    unnamed = frame.filter((pl.col("rater_kind") == "person") & pl.col("rater").is_in(["human", _UNKNOWN])).height
    left_out = [f"{sheet.name}: who gave {unnamed} of people's annotations; they have no identifier, so all of them are one rater"] if unnamed else []  # fmt: skip
    return f"{sheet.name}: {form}, one a row", frame, left_out


def _lists(sheet: Sheet) -> tuple[str, pl.DataFrame, list[str]]:
    """Read a record a row, with a question's answers, who gave them, and their statuses as lists beside each other."""
    names = sheet.frame.columns
    questions = [match["question"] for name in names if (match := _LIST.match(name))]
    keys = {key(name): name for name in names}
    ident = next((keys[name] for name in ("id", "record_id", "external_id", "_server_id") if name in keys), None)
    idents = sheet.frame[ident].to_list() if ident else [f"row {number}" for number in range(1, sheet.frame.height + 1)]
    rows: list[tuple[Any, ...]] = []
    idle = uneven = 0
    for question in questions:
        columns = [
            next((name for name in (f"{question}.responses.{what}", f"{question}.{what}") if name in names), None)
            for what in ("users", "status")
        ]
        empty = [None] * sheet.frame.height
        cells = zip(
            sheet.frame[f"{question}.responses"].to_list(),
            *(sheet.frame[name].to_list() if name else empty for name in columns), strict=True,
        )  # fmt: skip
        for number, (responses, users, statuses) in enumerate(cells, 1):
            answers = _list(responses)
            people = _list(users) or [f"{_UNKNOWN} {place}" for place in range(1, len(answers) + 1)]
            states = _list(statuses) or [""] * len(answers)
            uneven += len({len(answers), len(people), len(states)}) > 1
            for answer, person, state in zip(answers, people, states, strict=False):
                if str(state or "").casefold() not in _KEPT:
                    idle += 1
                    continue
                kind = raters.kind(str(person)) or "person"
                rows.append((number, idents[number - 1], question, str(person), kind, _value(answer)))
        if (agent := f"{question}.suggestion") in names:
            rows += _suggestions(sheet, question, agent, idents)
    left_out = [f"{sheet.name}: {idle} answers that are drafts or were discarded"] if idle else []
    if uneven:
        left_out.append(
            f"{sheet.name}: answers beyond the shorter list in {uneven} cells whose lists are of different lengths"
        )
    schema: dict[str, type[pl.DataType]] = {
        "row": pl.UInt32, "subject": pl.String, "criterion": pl.String, "rater": pl.String, "rater_kind": pl.String, "value": pl.String,
    }  # fmt: skip
    frame = pl.DataFrame(rows, schema, orient="row")
    return f"{sheet.name}: a record a row, the answers to each question as lists", frame, left_out


def _suggestions(sheet: Sheet, question: str, column: str, idents: list[Any]) -> list[tuple[Any, ...]]:
    """Return what a model suggested, where the export says which."""
    agent = f"{column}.agent"
    if agent not in sheet.frame.columns:
        return []
    return [
        (number, idents[number - 1], question, name, "model", _value(value))
        for number, (value, name) in enumerate(
            zip(sheet.frame[column].to_list(), sheet.frame[agent].to_list(), strict=True), 1
        )
        if value is not None and name is not None
    ]


def _list(cell: str | None) -> list[Any]:
    """Read a list as JSON, Python or numpy writes it; anything else is a list of one."""
    if cell is None:
        return []
    text = cell.strip()
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        return list(value) if isinstance(value, list | tuple) else [] if value is None else [value]
    if text.startswith("[") and text.endswith("]"):  # numpy leaves out the commas
        return [a or b or c for a, b, c in re.findall(r"'([^']*)'|\"([^\"]*)\"|([^\s,\[\]]+)", text)]
    return [text]


def _value(answer: Any) -> str | None:
    if answer is None:
        return None
    if isinstance(answer, bool):
        return str(answer).lower()
    if isinstance(answer, float) and answer.is_integer():
        return str(int(answer))
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
