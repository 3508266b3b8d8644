"""Which lines the reader lists: a reply, an answer to a message, a turn or a whole dialogue, in the order of the data.

Judges whose scores the report withholds decide none of these; their verdicts can be read all the same, marked.
"""

from __future__ import annotations

from enum import IntFlag
from hashlib import blake2b
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis import frame
from mindgauge.raters.window import Unit
from mindgauge.records import Status
from mindgauge.records.english import words
from mindgauge.reports import texts
from mindgauge.reports.runs import GOLD, PERSON, RULE

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mindgauge.reports.content import System
    from mindgauge.reports.runs import OpenRun, Section

TEXT, INTEGER = pl.String, pl.Int64
ROWS = {
    "subject": TEXT, "sample": TEXT, "model": TEXT, "repeat": INTEGER, "status": TEXT, "size": INTEGER, "unit": TEXT, "dialogue": TEXT,
    "turn": INTEGER, "answer": TEXT, "system": INTEGER, "section": INTEGER, "category": TEXT, "language": TEXT, "target": TEXT, "protocol": TEXT,
    "persona": TEXT, "words": TEXT, "weight": INTEGER, "hidden": pl.Boolean, "group": INTEGER, "key": pl.Binary,
}  # fmt: skip
"""Of each line: whose words (`subject`: a reply's id, of a closed question the sample's), which of a model's repeats, what
became of it, how many characters it has; in dialogues the unit, dialogue and turn; to a closed question the answer and the
target; the places of its system and section; tags of its sample; `words`, how the message begins; `weight`, about how many
characters are kept of it; whether its texts are `hidden`; `group`, what is read together; `key`, its address."""
_REPLIES = """
SELECT id, sample, model, run, status, length(trim(text)), coalesce(json_extract(provenance, '$.unit'), ''),
    json_extract(provenance, '$.dialogue'), json_extract(provenance, '$.turn'),
    substr(json_extract(provenance, iif(json_extract(provenance, '$.unit') = 'dialogue', '$.held[0].content', '$.held[#-1].content')), 1, ?),
    length(json_extract(provenance, '$.held'))
FROM replies WHERE benchmark = ? AND status != 'not_applicable' ORDER BY rowid"""
_SAMPLE = {
    "sample": TEXT, "position": INTEGER, "category": TEXT, "language": TEXT, "target": TEXT, "protocol": TEXT, "persona": TEXT,
    "asked": TEXT, "message_size": INTEGER,
}  # fmt: skip
_GLANCE = 4 * texts.WORDS
KEY = 6
"""Bytes of a line's key: enough that two of 100,000 lines hardly share one."""


def key(benchmark: str, subject: str, model: str, repeat: int) -> str:
    """Return the address of a line within the reader: the same whatever else is in it."""
    return _digest(benchmark, subject, model, repeat).hex()


def _digest(benchmark: str, subject: str, model: str, repeat: int) -> bytes:
    return blake2b("\0".join((benchmark, subject, model, str(repeat))).encode(), digest_size=KEY).digest()


def rows(runs: Sequence[OpenRun], systems: Sequence[System]) -> pl.DataFrame:
    """Return every line of some runs (columns `ROWS`), those of a section side by side, those of a group within it, too."""
    parts = [pl.DataFrame(schema=ROWS)]
    sections = [(number, run, section) for number, run in enumerate(runs) for section in run.sections]
    for place, (number, run, section) in enumerate(sections):
        own = {system.model: index for index, system in enumerate(systems) if system.run == number}
        part = _answers(section) if section.benchmark.closed else _replies(run, section)
        part = part.with_columns(
            system=pl.col("model").replace_strict(own, default=None, return_dtype=INTEGER), section=pl.lit(place, INTEGER)
        ).filter(pl.col("system").is_not_null())  # fmt: skip
        part = _beside_samples(part, run, section)
        parts.append(_grouped(part, section.benchmark.name))
    listed = pl.concat([part.select(*ROWS) for part in parts])
    group = pl.struct("section", "group").rle_id().cast(INTEGER)
    return listed.with_columns(group=group)


def _replies(run: OpenRun, section: Section) -> pl.DataFrame:
    """Return the replies that were asked for, of a run of dialogues also these as a whole; none of clients."""
    replies = frame.columns(
        run.store, _REPLIES, (_GLANCE, section.benchmark.name),
        subject=str, sample=str, model=str, repeat=int, status=str, size=int, unit=str, dialogue=str, turn=int, addressed=str, held_size=int,
    )  # fmt: skip
    replies = frame.of_targets(replies, section.benchmark).filter(pl.col("unit") != Unit.CLIENT.value)
    return replies.with_columns(answer=pl.lit(None, TEXT))


def _answers(section: Section) -> pl.DataFrame:
    """Return the answers to a closed question, each with its value on the first criterion."""
    first = section.benchmark.rubric.criteria[0].name
    answers = section.asked.filter(~pl.col("rater_kind").is_in([PERSON, RULE]))
    return answers.group_by("subject", "rater", "run", maintain_order=True).agg(
        sample=pl.col("sample").first(), size=pl.lit(None, INTEGER),
        status=pl.col("status").filter(pl.col("criterion") == first).first(),
        answer=pl.col("value").filter(pl.col("criterion") == first).first(),
        unit=pl.lit(""), dialogue=pl.lit(None, TEXT), turn=pl.lit(None, INTEGER), addressed=pl.lit(None, TEXT), held_size=pl.lit(None, INTEGER),
    ).rename({"rater": "model", "run": "repeat"}).collect()  # fmt: skip


def _beside_samples(part: pl.DataFrame, run: OpenRun, section: Section) -> pl.DataFrame:
    """Put what is known of each line's sample beside it, and how the message that it answers begins."""
    benchmark = section.benchmark
    asked = -2 if benchmark.about_reply else -1
    samples = pl.DataFrame(
        [
            (
                s.id, position, s.tags.get("category"), s.tags.get("language"), None if s.target is None else str(s.target),
                s.tags.get(benchmark.protocol), s.tags.get("persona"),
                s.messages[asked:][0].content[:_GLANCE] if s.messages else "", sum(len(m.content) for m in s.messages),
            )
            for position, s in enumerate(run.store.samples(benchmark.name))
        ],
        _SAMPLE, orient="row",
    )  # fmt: skip
    part = part.join(samples, on="sample", how="left", maintain_order="left")
    ids = part["sample"].unique().to_list()
    hidden = [ident for ident in ids if section.hides(ident)]
    glance = pl.coalesce("addressed", "asked").fill_null("")
    part = part.with_columns(
        hidden=pl.col("sample").is_in(hidden),
        weight=pl.sum_horizontal(pl.col("size").fill_null(0), pl.coalesce("held_size", "message_size").fill_null(0)),
    ).with_columns(words=pl.when(~pl.col("hidden")).then(glance).otherwise(pl.lit("")))  # fmt: skip
    begins = {text: texts.beginning(text) for text in part["words"].unique().to_list()}
    return part.with_columns(pl.col("words").replace_strict(begins, return_dtype=TEXT) if begins else pl.col("words"))


def _grouped(part: pl.DataFrame, benchmark: str) -> pl.DataFrame:
    """Put what is read together side by side: replies to a message, turns of a dialogue; and give each line its key."""
    held = pl.col("dialogue").is_not_null()
    dialogue = pl.concat_str("dialogue", "model", "repeat", separator="\0", ignore_nulls=True)
    group = pl.when(held).then(dialogue).otherwise("sample")
    first = pl.col("position").min().over("together")
    ordered = part.with_columns(together=group, first=pl.lit(0)).with_columns(first=first).sort(
        "first", "together", pl.col("unit") == Unit.DIALOGUE.value, "turn", "system", "repeat", maintain_order=True, nulls_last=True
    )  # fmt: skip
    keys = [_digest(benchmark, *row) for row in ordered.select("subject", "model", "repeat").iter_rows()]
    return ordered.with_columns(
        group=pl.col("together").rle_id().cast(INTEGER), key=pl.Series(keys, dtype=pl.Binary)
    ).drop("together", "first", "position")  # fmt: skip


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
        _answers_seen(part, section) if section.benchmark.closed else _replies_seen(part, run, section)
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


def _replies_seen(lines: pl.DataFrame, run: OpenRun, section: Section) -> pl.DataFrame:
    criteria = section.benchmark.rubric.criteria
    silent: dict[str, Collection[str]] = {name: texts.withheld_judges(run, section, name) for name in section.criteria}
    findings = texts.findings(section, criteria, silent, in_words=True)
    of_reply = texts.replies(section, findings).drop("model")
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
            by_people=unsafe, unsafe=unsafe | bad | harm, harm=harm, contested=pl.col("range") >= texts.CONTESTED, missing=pl.col("lost"),
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


def _answers_seen(lines: pl.DataFrame, section: Section) -> pl.DataFrame:
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
