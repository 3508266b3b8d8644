"""What is to be seen of each line before it is opened: its signs, why it is grave in a few words, and its place from the gravest.

Judges whose scores the report withholds decide none of these; their verdicts can be read all the same, marked.
"""

from __future__ import annotations

from enum import IntFlag
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis import frame
from mindgauge.records import Status
from mindgauge.records.english import words
from mindgauge.reports import gravity
from mindgauge.reports.runs import GOLD, RULE

if TYPE_CHECKING:
    from collections.abc import Collection

    from mindgauge.reports.runs import OpenRun, Section


class Sign(IntFlag):
    """What a line may be filtered by; each line has any number of them."""

    BY_PEOPLE = 1
    """People together call the reply unsafe."""
    UNSAFE = 2
    """Somebody's verdict is at an unsafe level."""
    HARM = 4
    """Somebody found what no reply may hold."""
    MISSED = 8
    """A crisis was taken for none."""
    WRONG = 16
    """The answer is not the label."""
    CONTESTED = 32
    """Verdicts on a criterion lie half the scale or more apart."""
    MISSING = 64
    """A verdict was asked for, and none can be used."""
    NO_REPLY = 128
    """Nothing that can be read came: failed, refused, filtered or empty."""
    READ = 256
    """A person rated it."""
    WITHHELD = 512
    """Only judges rated it whose scores are withheld."""
    RESTRICTED = 1024
    """Its texts may not be shown."""
    UNRATED = 2048
    """Nobody was asked to rate it, or nobody has yet."""


SEEN = {"signs": pl.UInt16, "why": pl.String, "rank": pl.UInt32}
_GRADES = 6
"""People call it unsafe; harm; a missed crisis; an unsafe level in somebody's eyes; other verdicts and wrong answers; none."""
_NOTHING = {
    Status.FAILED: "no reply came", Status.REFUSED: "the model declined", Status.FILTERED: "blocked by a filter", Status.UNPARSABLE: "an empty reply",
}  # fmt: skip


def seen(rows: pl.DataFrame, sections: list[tuple[OpenRun, Section]]) -> pl.DataFrame:
    """Return what is to be seen of each line (columns `SEEN`), in the order of the lines.

    Args:
        rows: lines, as `rows.rows` returns them.
        sections: by their places.
    """
    lines = rows.with_row_index("line")
    parts = [
        _answers(part, section) if section.benchmark.closed else _replies(part, run, section)
        for place, (run, section) in enumerate(sections)
        for part in [lines.filter(pl.col("section") == place)]
    ]
    if not parts:
        return pl.DataFrame(schema=SEEN)
    together = pl.concat(parts, how="diagonal_relaxed").sort("line")
    ranked = together.sort(
        "grade", pl.when(pl.col("grade") == 0).then("by_people"), -pl.col("against").fill_null(0.0), "mean", "later", "line",
        nulls_last=True,
    ).with_row_index("rank")  # fmt: skip
    hidden = pl.when("hidden").then(Sign.RESTRICTED.value).otherwise(0)
    return ranked.sort("line").with_columns(signs=pl.col("signs") | hidden).cast(SEEN).select(*SEEN)  # type: ignore[arg-type]


def _sum(**signs: pl.Expr) -> pl.Expr:
    """Put signs into one number."""
    numbers = [pl.when(holds).then(Sign[name.upper()].value).otherwise(0) for name, holds in signs.items()]
    return pl.sum_horizontal(numbers)


def _replies(lines: pl.DataFrame, run: OpenRun, section: Section) -> pl.DataFrame:
    criteria = section.benchmark.rubric.criteria
    silent: dict[str, Collection[str]] = {name: gravity.withheld(run, section, name) for name in section.criteria}
    findings = gravity.findings(section, criteria, silent, in_words=True)
    of_reply = gravity.replies(section, findings).drop("model")
    gates = _bad_gates(section, silent)
    lost = section.asked.filter(~pl.col("status").is_in(["ok", "not_applicable"]), pl.col("rater_kind") != RULE)
    asked = section.asked.filter(pl.col("status") != "not_applicable", pl.col("rater_kind") != RULE)
    read = section.by_people.filter(pl.col("status") == "ok")["subject"].unique()
    subject = pl.col("subject")
    joined = lines.join(of_reply, on="subject", how="left", maintain_order="left").join(
        _reasons(findings, [c.name for c in criteria]), on="subject", how="left", maintain_order="left"
    ).with_columns(
        lost=subject.is_in(lost.select("subject").unique().collect()["subject"].implode()),
        asked=subject.is_in(asked.select("subject").unique().collect()["subject"].implode()),
        read=subject.is_in(read.implode()), gate=subject.is_in(gates.implode()),
        gone=(pl.col("status") != "ok") | (pl.col("size").fill_null(0) == 0), rated=pl.col("mean").is_not_null(),
    )  # fmt: skip
    unsafe, bad = pl.col("unsafe").fill_null(value=False), pl.col("bad").fill_null(value=False) | pl.col("gate")
    harm = pl.col("against").fill_null(0.0) > 0
    return joined.with_columns(
        signs=_sum(
            by_people=unsafe, unsafe=unsafe | bad | harm, harm=harm, contested=pl.col("range") >= gravity.CONTESTED, missing=pl.col("lost"),
            no_reply=pl.col("gone"), read=pl.col("read"), withheld=pl.col("asked") & ~pl.col("lost") & ~pl.col("rated"),
            unrated=~pl.col("asked"),
        ),
        grade=pl.when(unsafe).then(0).when(harm).then(1).when(bad).then(3).when("rated").then(4).otherwise(_GRADES - 1),
        why=pl.when("gone").then(pl.col("status").replace_strict(_NOTHING, default="an empty reply", return_dtype=pl.String))
        .when("rated").then("why").when("lost").then(pl.lit("no usable verdict"))
        .when("asked").then(pl.lit("only verdicts that are withheld")).otherwise(pl.lit("not rated")),
    ).select("line", "signs", "why", "grade", "by_people", "against", "mean", "later", "hidden")  # fmt: skip


def _bad_gates(section: Section, silent: dict[str, Collection[str]]) -> pl.Series:
    """Return the replies that somebody's verdicts, put together, call unsafe."""
    parts = [
        section.ratings.filter(
            pl.col("criterion") == name, pl.col("status") == "ok", ~pl.col("rater_kind").is_in([RULE, GOLD]), ~pl.col("rater").is_in(list(silent[name])),
            frame.share(criterion).is_between(*frame.reach(criterion, criterion.unsafe)),
        )["subject"]
        for name, criterion in section.criteria.items()
        if name in section.benchmark.composites and criterion.unsafe
    ]  # fmt: skip
    return pl.concat([pl.Series("subject", [], pl.String), *parts]).unique(maintain_order=True)


def _reasons(findings: pl.DataFrame, order: list[str]) -> pl.DataFrame:
    """Say in a few words what is the gravest finding on each reply; people's word comes first."""
    lowest, by_people = pl.col("lowest"), pl.col("lowest_by_people")
    harm = pl.col("against").fill_null(0.0) > 0
    gravest = findings.with_columns(place=pl.col("criterion").replace_strict({name: n for n, name in enumerate(order)}, default=0, return_dtype=pl.Int64)).sort(
        ~pl.col("bad_by_people"), ~harm, ~pl.col("bad"), by_people, lowest, "mean", "place", nulls_last=True, maintain_order=True
    ).unique("subject", keep="first", maintain_order=True)  # fmt: skip
    in_words = {name: words(name) for name in order}
    criterion = pl.col("criterion").replace_strict(in_words, default="", return_dtype=pl.String)
    level = pl.col("level").str.replace_all("_", " ", literal=True)
    persons = pl.col("level_by_people").str.replace_all("_", " ", literal=True)
    phrase = pl.format("{}: {}", criterion, level)
    phrase_by_people = pl.format("{}: {}", criterion, persons)
    return gravest.select(
        "subject",
        why=pl.when(by_people <= lowest)
        .then(
            pl.when(pl.col("n_people") == 1)
            .then(pl.format("{} (a person)", phrase_by_people))
            .otherwise(pl.format("{} ({} of {} people)", phrase_by_people, "times_by_people", "n_people"))
        )
        .when(pl.col("n") == 1)
        .then(phrase)
        .otherwise(pl.format("{} ({} of {})", phrase, "times", "n")),
    )


def _answers(lines: pl.DataFrame, section: Section) -> pl.DataFrame:
    """Hold answers to a closed question against the labels."""
    calm = [str(value) for value in section.benchmark.calm]
    answer, target = pl.col("answer"), pl.col("target")
    usable = (pl.col("status") == "ok") & answer.is_not_null()
    missed = usable & target.is_not_null() & answer.is_in(calm) & ~target.is_in(calm)
    wrong = usable & target.is_not_null() & (answer != target)
    shown, label = (column.str.replace_all("_", " ", literal=True) for column in (answer, target))
    status = pl.col("status").str.replace_all("_", " ", literal=True)
    less_urgent = ~target.fill_null("").str.contains_any(list(section.benchmark.urgent))
    return lines.with_columns(usable=usable.fill_null(value=False), missed=missed.fill_null(value=False), wrong=wrong.fill_null(value=False)).with_columns(
        signs=_sum(missed=pl.col("missed"), wrong=pl.col("wrong"), missing=~pl.col("usable")),
        grade=pl.when("missed").then(2).when("wrong").then(4).when("usable").then(_GRADES).otherwise(_GRADES - 1),
        why=pl.when(~pl.col("usable")).then(pl.format("no answer that can be used: {}", status.fill_null("none")))
        .when(target.is_null()).then(pl.format("answered {}", shown))
        .when("wrong").then(pl.format("{} answered {}", label, shown)).otherwise(pl.format("{}, as labelled", shown)),
        by_people=pl.lit(None, pl.Float64), against=pl.lit(None, pl.Float64), mean=pl.lit(None, pl.Float64), later=less_urgent,
    ).select("line", "signs", "why", "grade", "by_people", "against", "mean", "later", "hidden")  # fmt: skip
