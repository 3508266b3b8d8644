"""Annotations in OpenInference's form: of spans, and of sessions that hold one reply or several."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

import mindgauge

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def annotation(place: dict[str, str], reply: str, *, value: int | None = 4) -> dict[str, Any]:
    """Write what a judge says of a reply; a session's annotation names the reply that it is of."""
    result = {"explanation": "no verdict: unparsable"} if value is None else {"score": value, "label": str(value)}
    ending = "" if "span_id" in place else f":{reply}"
    return {
        **place, "name": "appropriateness", "annotator_kind": "LLM", **result, "identifier": f"judge:0{ending}",
        "metadata": {"rater": "judge", "subject": reply},
    }  # fmt: skip


def table(folder: Path, rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    path = folder / "annotations.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return mindgauge.ratings(path).table


def test_an_annotation_without_score_and_label_is_no_level(tmp_path: Path) -> None:
    rows = [annotation({"span_id": "s1", "trace_id": "t"}, "r1"), annotation({"span_id": "s2", "trace_id": "t"}, "r2", value=None)]  # fmt: skip
    assert table(tmp_path, rows)["value"].cast(pl.String).to_list().count("4") == 1


def test_several_replies_of_one_session_stay_apart(tmp_path: Path) -> None:
    rows = [annotation({"session_id": session}, f"{session}-{run}") for session in ("a", "b") for run in range(3)]
    read = table(tmp_path, rows)
    assert (read["subject"].n_unique(), read["rater"].n_unique(), len(read)) == (6, 1, 6)


def test_what_people_say_of_a_session_meets_what_a_judge_said_of_its_one_reply(tmp_path: Path) -> None:
    rows = [annotation({"session_id": session}, f"reply to {session}") for session in ("a", "b")]
    people = [{**row, "annotator_kind": "HUMAN", "identifier": "ana", "metadata": {}} for row in rows]
    by_rater = table(tmp_path, [*rows, *people]).group_by("rater")
    subjects = {rater: set(part["subject"]) for (rater,), part in by_rater}
    assert len(subjects) == 2
    assert all(found == {"a", "b"} for found in subjects.values())
