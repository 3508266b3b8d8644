"""The sets of lowest scores: what the records keep of them."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from mindgauge.benchmarks.help_or_harm.responses import load_response

from .conftest import MODELS, TIMES, VALIDATION, noted

if TYPE_CHECKING:
    from mindgauge.benchmarks import Released

    from .conftest import Copy

SETS = "llm_evaluator/sampled/sampled_lowest_scores_n200"
FIRST, OTHER, JURY = f"{SETS}.json", f"{SETS}__nano.json", f"{SETS}__jury.json"
SET = "lowest_scores_n200"


def drawn_from(judge: str, model: str) -> str:
    return f"{judge}-evaluation_{model}-answers-{VALIDATION}-{TIMES[1]}_merged.json"


@pytest.fixture
def sets(small: Copy) -> Copy:
    """Add another judge's set and a jury's; rows 0 and 1 are by a model of which nothing else is here."""
    rows = small.rows(FIRST)
    for i, row in enumerate(rows):
        model = "grok" if i < 2 else MODELS[2]
        row |= {"sampled_criteria": "lowest", "sampled_from": drawn_from("gpt-4o-mini", model)}
        row["answer"] = f"reply of grok to {i}" if i < 2 else row["answer"]
    rows[1] |= {"evaluation": None, "evals": [], "label": None}
    small.write(FIRST, rows)
    common = [{key: row[key] for key in ("inputs", "answer", "label", "dataset_id")} for row in rows]
    means = [3.5, None, 2.0, 3.0, 4.0, 5.0]
    names = [row["sampled_from"].replace("gpt-4o-mini-evaluation", "Nano-X-evaluation", 1) for row in rows]
    small.write(OTHER, [c | {"evaluation": m, "source_file": n} for c, m, n in zip(common, means, names, strict=True)])
    votes = [{"gpt-4o-mini": row["evaluation"], "nano": mean} for row, mean in zip(rows, means, strict=True)]
    jury = [3.75, None, 3.0, 3.5, 4.0, 4.5]
    small.write(
        JURY, [c | {"evaluation": m, "llm_evaluations": v} for c, m, v in zip(common, jury, votes, strict=True)]
    )
    for person in ("H1", "H2"):
        for i in (0, 1):
            small.change(f"human_label/{person}_scores*.json", i, answer=rows[i]["answer"])
    return small


def facts(found: Released, row: int) -> dict[str, Any]:
    """Return what the sets say of the reply in a row of theirs."""
    (held,) = [
        by_rater
        for reply in found.replies
        for by_rater in reply.provenance.get("review_sets", {}).values()
        if {fact["source_row"] for fact in by_rater.values()} == {row}
    ]
    return dict(held)


def test_a_reply_knows_what_every_set_says_of_it(sets: Copy) -> None:
    found = load_response(sets.root)
    assert len(found.replies) == 56
    held = facts(found, 0)
    assert list(held) == ["gpt-4o-mini", "nano-x", "jury"]
    assert {f["sampled_from"] for f in held.values()} == {drawn_from("gpt-4o-mini", "grok")}
    assert {f["sampled_criteria"] for f in held.values()} == {"lowest"}
    assert [(f["mean"], f.get("runs"), f["model_raw"]) for f in held.values()] == [
        (4.0, [4, 4, 4], "gpt-4o-mini"), (3.5, None, "Nano-X"), (3.75, None, "jury"),
    ]  # fmt: skip
    assert held["jury"]["panel"] == ["gpt-4o-mini", "nano"]  # no file of raw judgements tells nano's whole name
    assert not noted(found, "both are one reply")
    assert {r.rater for r in found.ratings} == {"gpt-4o-mini", "H1", "H2"}  # a set's means are no ratings


def test_any_of_the_sets_may_be_missing(sets: Copy) -> None:
    whole = {r.id for r in load_response(sets.root).replies}
    sets.path(FIRST).unlink()
    found = load_response(sets.root)
    assert {r.id for r in found.replies} == whole
    assert noted(found, "sampled_lowest_scores_n200.json: missing; llm_evaluator/sampled/sampled_lowest_scores_n200__")
    assert sum(r.rater == "H1" for r in found.ratings) == 6
    jury = sets.rows(JURY)
    sets.path(JURY).unlink()
    assert {r.id for r in load_response(sets.root).replies} == whole
    sets.path(OTHER).unlink()
    sets.write(JURY, jury)
    found = load_response(sets.root)
    assert sum(r.model == "unknown" for r in found.replies) == 2  # a jury's rows do not name their model
    assert sum(r.rater == "H1" for r in found.ratings) == 6
    shutil.rmtree(sets.data / "llm_evaluator/sampled")
    assert not any("review_sets" in r.provenance for r in load_response(sets.root).replies)


def test_a_set_in_another_order_says_the_same_of_each_reply(sets: Copy) -> None:
    before = facts(load_response(sets.root), 3)["nano-x"]["mean"]
    sets.path(OTHER).write_text(json.dumps(sets.rows(OTHER)[::-1]))
    found = load_response(sets.root)
    assert len(found.replies) == 56
    held = [r.provenance["review_sets"][SET] for r in found.replies if "review_sets" in r.provenance]
    assert next(h["nano-x"] for h in held if h["gpt-4o-mini"]["source_row"] == 3)["mean"] == before
    assert not noted(found, "both are one reply")


def test_a_changed_answer_and_a_doubled_row_are_noted(sets: Copy) -> None:
    sets.change(FIRST, 3, answer="another")
    for name in (FIRST, OTHER, JURY):
        rows = sets.rows(name)
        sets.path(name).write_text(json.dumps([*rows, rows[4]]))
    found = load_response(sets.root)
    assert noted(found, "sampled_lowest_scores_n200.json: row 3 has an answer other than its answer file")
    assert noted(found, "__jury.json: row 6 has a reply that another row of this set has; that row is kept")
    people = [r for r in found.ratings if r.rater == "H1" and r.provenance["source_row"] == 3]
    assert [r.provenance.get("answer_changed") for r in people] == [True]
