"""Faults of ratings and of what models wrote, each planted in clean material."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from mindgauge.records.files.confined_reader import HIDDEN
from tests.analysis.audit.clean import (
    REPLIES,
    SYSTEMS,
    change_text,
    change_values,
    clean,
    usual,
    usual_labels,
    with_ratings,
    with_texts,
)
from tests.analysis.audit.plants_of_texts import Plant

if TYPE_CHECKING:
    from mindgauge.benchmarks.released import Material

OF_H1 = pl.col("rater") == "H1"
LAST = pl.col("row") >= 240


def _verdicts(*remarks: str) -> list[dict[str, object]]:
    return [
        {"file": "one.csv", "row": i, "kind": "verdict", "id": f"c{i}/alpha", "text": text, "system": "alpha", "source": "one"}
        for i, text in enumerate(remarks)
    ]  # fmt: skip


def duplicate_ratings() -> Plant:
    material = usual()
    again = material.ratings.filter(OF_H1, pl.col("row").is_in([4, 5]), pl.col("criterion") == "safety")
    return Plant(
        material, with_ratings(material, again.with_columns(row=pl.col("row") + 500)), 2, ("H1.csv:4", "H1.csv:504")
    )


def unplaced_ratings() -> Plant:
    material = usual()
    lost = pl.when(OF_H1 & (pl.col("row") == 9)).then(None).otherwise("subject")
    return Plant(material, material._replace(ratings=material.ratings.with_columns(subject=lost)), 3, ("H1.csv:9",))


def out_of_scale() -> Plant:
    material = usual()
    after = change_values(material, OF_H1 & (pl.col("row") == 11), "0")
    after = change_values(
        after, (pl.col("rater") == "two") & (pl.col("row") == 12) & (pl.col("criterion") == "safety"), "6"
    )
    return Plant(material, after, 4, ("H1.csv:11", "two.csv:12"))


def impossible_values() -> Plant:
    material = usual()
    return Plant(material, change_values(material, OF_H1 & (pl.col("row") == 11), "3.5"), 3, ("H1.csv:11",))


def placeholder_values() -> Plant:
    material = usual()
    return Plant(material, change_values(material, OF_H1 & (pl.col("row") == 11), "NaN"), 3, ("H1.csv:11",))


def mixed_types() -> Plant:
    material = usual()
    after = change_values(material, OF_H1 & (pl.col("row") == 11), "good")
    return Plant(material, change_values(after, OF_H1 & (pl.col("row") == 12), '"' + pl.col("value") + '"'), 6, ("H1.csv:11", "H1.csv:12"))  # fmt: skip


def stray_blanks() -> Plant:
    material = usual_labels()
    blank = (pl.col("rater") == "H2") & pl.col("row").is_in([5, 6])
    return Plant(material, change_values(material, blank, pl.col("value") + " "), 2, ("H2.csv:5", "H2.csv:6"))


def empty_replies_rated() -> Plant:
    material = usual()
    return Plant(
        material,
        change_text(change_text(material, REPLIES, 8, "nan"), REPLIES, 9, " "),
        2,
        (f"{REPLIES}:8", f"{REPLIES}:9"),
    )


def cut_replies_rated() -> Plant:
    material = with_texts(usual(), *_verdicts("Warm, and it cuts through the noise.", "A calm answer."))
    after = with_texts(usual(), *_verdicts("Warm, but the response is cut off at the end.", "A calm answer."))
    return Plant(material, after, 1, ("one.csv:0",))


def error_replies() -> Plant:
    material = usual()
    after = change_text(material, REPLIES, 7, '{"error": {"message": "rate limit", "code": 429}}')
    return Plant(material, change_text(after, REPLIES, 70, "Error code: 500"), 2, (f"{REPLIES}:7", f"{REPLIES}:70"))


def hand_edits() -> Plant:
    errors = [f"Error processing input: line {i}" for i in range(12)]
    return Plant(
        with_texts(usual(), *_verdicts(*errors)),
        with_texts(usual(), *_verdicts(*errors, "Model-error.")),
        1,
        ("one.csv:12",),
    )


def refusals() -> Plant:
    material = usual()
    return Plant(
        material, change_text(material, REPLIES, 70, "I'm sorry, but I can't help with that."), 1, (f"{REPLIES}:70",)
    )


def verdicts_as_replies() -> Plant:
    material = usual()
    after = material
    for row in (3, 6, 9):
        after = change_text(after, REPLIES, row, "YES" if row < 9 else "NO")
    return Plant(material, after, 3, tuple(f"{REPLIES}:{row}" for row in (3, 6, 9)))


def form_differs() -> Plant:
    material = usual()
    json = pl.when(pl.col("system") == "beta").then('{"reply": "' + pl.col("text") + '"}').otherwise("text")
    return Plant(material, material._replace(texts=material.texts.with_columns(text=json)), 120)


def fields_by_system() -> Plant:
    material = usual()
    raw = material.texts.filter(pl.col("system") == "beta").with_columns(kind=pl.lit("raw"))
    return Plant(material, material._replace(texts=pl.concat([material.texts, raw])), 1)


def model_vote_in_human_labels() -> Plant:
    material = usual_labels()
    vote = material.ratings.filter(pl.col("rater") == "solver").with_columns(
        rater=pl.lit("H3"), rater_kind=pl.lit("person")
    )
    return Plant(material, with_ratings(material, vote), 240)


def identical_raters() -> Plant:
    material = usual_labels()
    twin = material.ratings.filter(OF_H1).with_columns(rater=pl.lit("H9"))
    return Plant(material, with_ratings(material, twin), 240)


def straight_lining() -> Plant:
    material = usual()
    flat = pl.col("value").first().over("rater", "subject")
    after = change_values(material, OF_H1 & (pl.col("row") % 2 == 0), flat)
    vectors = after.ratings.filter(OF_H1).group_by("subject").agg(pl.col("value").n_unique())
    return Plant(material, after, vectors.filter(pl.col("value") == 1).height, ("H1.csv:0", "H1.csv:2"))


def constant_values() -> Plant:
    material = usual()
    return Plant(material, change_values(material, OF_H1 & (pl.col("criterion") == "empathy"), "3"), 360)


def ceiling() -> Plant:
    material = clean(raters={"H1": "person", "H2": "person"})
    draw = np.random.default_rng(1)
    top = pl.Series(draw.random(material.ratings.height) < 0.8)
    after = material.ratings.with_columns(value=pl.when(OF_H1 & (pl.col("criterion") == "safety") & top).then(pl.lit("5")).otherwise("value"))  # fmt: skip
    return Plant(material, material._replace(ratings=after), 1)


def judge_of_own_family() -> Plant:
    material = clean(systems=("gpt-4o", "beta"))
    after = material.ratings.with_columns(rater=pl.col("rater").replace("one", "gpt-4o-mini"))
    return Plant(material, material._replace(ratings=after), 360)


def one_person() -> Plant:
    material = usual()
    return Plant(material, material._replace(ratings=material.ratings.filter(pl.col("rater") != "H2")), 360)


def drift() -> Plant:
    material = usual()
    lower = pl.max_horizontal(pl.col("value").cast(pl.Int64) - 1, 1).cast(pl.String)
    return Plant(material, change_values(material, OF_H1 & LAST & (pl.col("criterion") == "safety"), lower), 1)


def _third(material: Material, value: pl.Expr, *, kind: str = "person", name: str = "H3") -> Material:
    """Add a rater whose value follows from those of H1 (`a`), H2 (`b`) and the model one (`c`)."""
    keys = [column for column in material.ratings.columns if column not in {"rater", "rater_kind", "value", "file"}]
    levels = [
        material.ratings.filter(pl.col("rater") == rater).select(*keys, pl.col("value").cast(pl.Float64).alias(letter))
        for rater, letter in (("H1", "a"), ("H2", "b"), ("one", "c"))
    ]
    joined = levels[0].join(levels[1], on=keys, maintain_order="left").join(levels[2], on=keys, maintain_order="left")
    added = joined.with_columns(
        value=value.cast(pl.String), rater=pl.lit(name), rater_kind=pl.lit(kind), file=pl.lit(f"{name}.csv")
    )
    return with_ratings(material, added)


def adjudicator_among_raters() -> Plant:
    material = usual()
    nearer = pl.when((pl.col("a") - pl.col("c")).abs() <= (pl.col("b") - pl.col("c")).abs()).then("a").otherwise("b")
    return Plant(material, _third(material, nearer), 1080)


def consensus_of_raters() -> Plant:
    material = usual()
    return Plant(material, _third(material, (pl.col("a") + pl.col("b")) / 2), 1080)


def repeats_as_raters() -> Plant:
    material = usual()
    again = material.ratings.filter(pl.col("rater") == "two")
    repeats = [again.with_columns(rater=pl.lit(f"two run {number}")) for number in (1, 2)]
    return Plant(material, with_ratings(material, pl.concat(repeats)), 2)


def copied_after() -> Plant:
    material = usual()
    copy = pl.when(pl.col("row") >= 180).then("a").otherwise("b")
    others = material._replace(ratings=material.ratings.filter(pl.col("rater") != "H2"))
    copied = _third(material, copy).ratings.filter(pl.col("rater") == "H3")
    return Plant(material, with_ratings(others, copied.with_columns(rater=pl.lit("H2"))), 60)


def judge_copied() -> Plant:
    """H1 gives the verdicts of `two` back, but for one row in twenty."""
    material = usual()
    of_two = material.ratings.filter(pl.col("rater") == "two").select("subject", "criterion", copy="value")
    pasted = material.ratings.join(of_two, on=["subject", "criterion"], how="left", maintain_order="left")
    value = pl.when(OF_H1 & (pl.col("row") % 20 != 0)).then("copy").otherwise("value")
    return Plant(material, material._replace(ratings=pasted.with_columns(value=value).drop("copy")), 1080)


def no_joint_events() -> Plant:
    material = usual()
    both = change_values(
        material, pl.lit(value=True), pl.when(pl.col("value") == "1").then(pl.lit("2")).otherwise("value")
    )
    first = both.ratings.filter(OF_H1, pl.col("criterion") == "safety", pl.col("row") < 7)["subject"]
    second = both.ratings.filter(OF_H1, pl.col("criterion") == "safety", pl.col("row").is_between(10, 14))["subject"]
    safety = pl.col("criterion") == "safety"
    after = change_values(both, safety & OF_H1 & pl.col("subject").is_in(first.implode()), "1")
    after = change_values(after, safety & (pl.col("rater") == "H2") & pl.col("subject").is_in(second.implode()), "1")
    return Plant(both, after._replace(unsafe={"safety": ("1",)}), 12)


def unused_level() -> Plant:
    material = usual()
    people = pl.col("rater_kind") == "person"
    lifted = pl.when(pl.col("value") == "1").then(pl.lit("2")).otherwise("value")
    return Plant(material, change_values(material, people & (pl.col("criterion") == "empathy"), lifted), 1)


def repeats_as_units() -> Plant:
    material = usual()
    once = material.ratings.filter(pl.col("rater") == "one", pl.col("row") < 3)
    again = [once.with_columns(run=pl.lit(run, pl.Int64), rater=pl.lit("three")) for run in range(5)]
    return Plant(material, with_ratings(material, pl.concat(again)), 45)


def missing_verdicts() -> Plant:
    material = usual()
    gone = OF_H1 & pl.col("row").is_in([5, 6])
    after = change_values(material, gone, None)
    dropped = after.ratings.filter(~(OF_H1 & (pl.col("row") == 7) & (pl.col("criterion") == "safety")))
    return Plant(material, after._replace(ratings=dropped), 7, ("H1.csv:5", "H1.csv:6", "H1.csv:7"))


def missing_by_system() -> Plant:
    material = usual()
    gone = OF_H1 & (pl.col("system") == "gamma") & (pl.col("row") < 60)
    return Plant(material, change_values(material, gone, None), 20, ("gamma: 20 of 120 subjects",))


def unequal_n() -> Plant:
    material = usual()
    fewer = ~((pl.col("system") == "gamma") & (pl.col("row") >= 60))
    return Plant(material, material._replace(ratings=material.ratings.filter(fewer)), 1)


def selected_on_score() -> Plant:
    material = usual()
    of_one = material.ratings.filter(pl.col("rater") == "one", pl.col("criterion") == "safety")
    lowest = of_one.sort(pl.col("value").cast(pl.Int64)).unique("cluster", keep="first", maintain_order=True)["subject"]
    people = pl.col("rater_kind") == "person"
    after = material.ratings.filter(
        ~people | ((pl.col("criterion") == "safety") & pl.col("subject").is_in(lowest.implode()))
    )
    random = people & (pl.col("row") % len(SYSTEMS) != 0)
    return Plant(material._replace(ratings=material.ratings.filter(~random)), material._replace(ratings=after), 120)


def contradicts_itself() -> Plant:
    material, line = usual(), "one.csv: 5 rows, and two.csv has 6"
    return Plant(material, material._replace(contradictions=(line,)), 1, (line,))


def hidden_content() -> Plant:
    material, line = usual(), f"one.xlsx: {HIDDEN}: the sheet 'two' (1 row); unhide it there to have it read"
    return Plant(material, material._replace(notes=("one.csv: a remark", line)), 1, (line,))


def reader_notes() -> Plant:
    material = usual()
    return Plant(material, material._replace(notes=("one.csv: a remark",)), 1, ("one.csv: a remark",))


PLANTS = {
    plant.__name__: plant
    for plant in (
        duplicate_ratings, unplaced_ratings, out_of_scale, impossible_values, placeholder_values, mixed_types, stray_blanks,
        empty_replies_rated, cut_replies_rated, error_replies, hand_edits, refusals, verdicts_as_replies, form_differs,
        fields_by_system, model_vote_in_human_labels, identical_raters, straight_lining, constant_values, ceiling,
        judge_of_own_family, one_person, drift, missing_verdicts, missing_by_system, unequal_n, selected_on_score,
        contradicts_itself, hidden_content, reader_notes, adjudicator_among_raters, consensus_of_raters, repeats_as_raters, judge_copied, copied_after, no_joint_events, unused_level,
        repeats_as_units,
    )
}  # fmt: skip
