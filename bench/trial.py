"""The figures of a trial: how far fresh readers who follow our words agree with people, as a `[[trial]]` of a benchmark's `trial.toml`.

    python bench/trial.py SOURCE... [--criterion NAME] [--unsafe 'appropriateness<=2'] [--calm no_crisis]
        [--person NAME]... [--reader NAME]... [--language en] [--data WORDS] [--written-on WORDS] [--hash HASH] …

A source is a run, or a table of ratings in long form (subject, criterion, rater, rater_kind, value). Raters of the kind
`person` are people, `gold` is the label of a closed question, all others but rules are readers; one name in two sources
is two readers. Subjects are those that a reader was given and people rated. A verdict that cannot be read has found nothing: it
stays in the counts, is written as `unread`, and only agreement and bias are without it.
"""

from __future__ import annotations

import argparse
import datetime
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import tomli_w

from mindgauge.analysis import frame
from mindgauge.analysis.reliability import ratings
from mindgauge.analysis.score import open_run
from mindgauge.records.files import tables
from mindgauge.records.languages import named
from mindgauge.stats import agreement
from mindgauge.stats.icc import icc

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mindgauge.analysis.reliability.scale import ValueScale

    Floats = NDArray[np.float64]

PLACES = 3


def read(options: argparse.Namespace) -> tuple[pl.DataFrame, ValueScale, dict[str, str]]:
    """Return the ratings on one criterion with a place on its scale, the scale, and each reader's instrument."""
    parts: list[pl.DataFrame] = []
    instruments: dict[str, str] = {}
    scale: ValueScale | None = None
    for number, source in enumerate(options.sources):
        said = ratings.read([source], unsafe=options.unsafe, nominal=[options.criterion] if options.calm else [])
        rows = scales_of(said.frame, options.criterion, source)
        scale = scale or said.scales[rows["criterion"][0]]  # one order of the labels for all sources
        rows = scale.numbered(rows)
        reads = ~pl.col("rater_kind").is_in(["person", "gold", "rule", "author"])
        who = pl.when(reads).then(pl.format("{} in {}", "rater", pl.lit(source))).otherwise("rater")
        chosen = pl.col("rater").is_in(options.reader) if options.reader else reads
        people = pl.col("rater").is_in(options.person) if options.person else pl.col("rater_kind") == "person"
        rows = rows.with_columns(part=pl.when(chosen & reads).then(pl.lit("reader")).when(people).then(pl.lit("person")).when(pl.col("rater_kind") == "gold").then(pl.lit("gold")))  # fmt: skip
        parts.append(rows.drop_nulls("part").with_columns(who=who, source=number))
        if tables.is_run(source):
            instruments |= used(Path(source))
    assert scale is not None, "argparse asks for a source"
    whole = pl.concat(parts, how="diagonal_relaxed").filter(pl.col("status") != "not_applicable")
    if options.language:
        tags = {tag: named(tag) for tag in whole["language"].drop_nulls().unique()}
        spoken = pl.col("language").replace(tags) == named(options.language)
        whole = whole.filter(spoken | pl.col("language").is_null())
    return whole, scale, instruments


def scales_of(rows: pl.DataFrame, criterion: str | None, source: str) -> pl.DataFrame:
    """Return the ratings on a criterion; on the only one, where none is named."""
    criteria = rows["criterion"].unique().sort().to_list()
    if criterion is None and len(criteria) == 1:
        criterion = criteria[0]
    if criterion not in criteria:
        raise SystemExit(f"{source}: name a criterion with --criterion: {', '.join(criteria)}")
    return rows.filter(pl.col("criterion") == criterion)


def used(run: Path) -> dict[str, str]:
    """Return the instrument of each reader of a run, with its hash."""
    store, benchmarks, _ = open_run(run)
    with store:
        pairs = [pair for b in benchmarks for pair in frame.distinct(frame.ratings(store, b), "rater", "instrument").iter_rows()]  # fmt: skip
    return {f"{rater} in {run}": instrument for rater, instrument in pairs if instrument}


def wide(rows: pl.DataFrame, subjects: list[str]) -> Floats:
    """Return the means over repeats, a row for each subject and a column for each rater; NaN where there is no value."""
    means = rows.group_by("subject", "who").agg(pl.col("number").mean()).pivot("who", index="subject", values="number")
    placed = pl.DataFrame({"subject": subjects}).join(means, on="subject", how="left", maintain_order="left")
    return placed.drop("subject").to_numpy().astype(float)


def beside_people(values: Floats, people: Floats, scale: ValueScale) -> dict[str, Any]:
    """Hold a reader against the mean of people on a scale with an order."""
    if scale.unsafe is None or scale.unsafe.limit is None:
        raise SystemExit("nothing says which levels are unsafe: name them with --unsafe, or --calm for labels")
    mean, read = np.nanmean(people, axis=1), np.isfinite(values)
    called, unsafe = scale.unsafe.among(values) & read, scale.unsafe.among(mean)
    either = (scale.unsafe.among(people) & np.isfinite(people)).any(axis=1)
    return {
        "icc": icc(np.column_stack([values, mean])).agreement.value,
        "bias": float((values - mean)[read].mean()) if read.any() else None,
        "unsafe_found": [int((called & unsafe).sum()), int(unsafe.sum())],
        "false_alarms": [int((called & ~unsafe).sum()), int((~unsafe).sum())],
        "unsafe_to_either": [int((called & either).sum()), int(either.sum())],
        "unread": int((~read).sum()),
    }


def beside_gold(values: Floats, gold: Floats, calm: float) -> dict[str, Any]:
    """Hold a reader against labels without an order; all labels but `calm` are what is to be found."""
    read = np.isfinite(values)
    called, unsafe = (values != calm) & read, gold != calm
    pairs = np.column_stack([values, gold])
    return {
        "kappa": agreement.kappa(pairs, resamples=2).value,
        "same": [int((values == gold).sum()), len(gold)],
        "unsafe_found": [int((called & unsafe).sum()), int(unsafe.sum())],
        "false_alarms": [int((called & ~unsafe).sum()), int((~unsafe).sum())],
        "unread": int((~read).sum()),
    }


def trials(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return a trial for each wording that was read: readers who were asked with one instrument are one trial."""
    whole, scale, instruments = read(options)
    truth = whole.filter(part="gold" if options.calm else "person").unique(["subject", "who", "run"], maintain_order=True)  # fmt: skip
    truth = truth.filter(pl.col("number").is_not_null())
    readers: dict[tuple[str, frozenset[str]], dict[str, pl.DataFrame]] = {}
    for (who,), rows in whole.filter(part="reader").group_by("who", maintain_order=True):
        given = frozenset(rows["subject"]) & frozenset(truth["subject"])
        if given:
            readers.setdefault((instruments.get(str(who), ""), given), {})[str(who)] = rows
    if not readers:
        raise SystemExit("no reader and person rated the same subject")
    found = []
    for (instrument, given), group in readers.items():
        subjects = sorted(given)
        rubric, _, digest = instrument.partition("#")
        true = wide(truth.filter(pl.col("subject").is_in(subjects)), subjects)
        entry: dict[str, Any] = {
            "date": options.date, "language": options.language or "en", "reader": options.kind,
            "rubric": options.rubric or rubric, "method": options.method or ("" if options.calm else "rule"), "hash": options.hash or digest,
            "data": options.data, "criterion": whole["criterion"][0], "people": options.people, "finds": options.finds,
            "n": len(subjects), "written_on": options.written_on, "note": options.note,
        }  # fmt: skip
        if options.calm:
            calm = scale.place(options.calm)
            told = [beside_gold(wide(rows, subjects)[:, 0], true[:, 0], calm) for rows in group.values()]
        else:
            entry["people_icc"] = icc(true).agreement.value if true.shape[1] > 1 else None
            told = [beside_people(wide(rows, subjects)[:, 0], true, scale) for rows in group.values()]
        found.append(entry | {"readings": told})
    return found


def written(content: Any) -> Any:
    """Leave out what is not known, and shares of nothing, and round."""
    if isinstance(content, dict):
        return {name: written(value) for name, value in content.items() if value not in (None, "", [0, 0])}
    if isinstance(content, list):
        return [written(value) for value in content]
    return round(content, PLACES) if isinstance(content, float) else content


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", help="runs and tables of ratings")
    parser.add_argument("--criterion", help="which people and readers rated; the only one if none is named")
    parser.add_argument("--unsafe", action="append", default=[], help="the unsafe levels, where no rubric says so")
    parser.add_argument("--calm", help="the label of all that need not be found: for labels without an order")
    parser.add_argument("--person", action="append", default=[], help="who counts as people; all of the kind person")
    parser.add_argument("--reader", action="append", default=[], help="who counts as a reader; all models")
    parser.add_argument("--language", help="only rows in this language")
    parser.add_argument("--kind", default="a large language model", help="what kind of reader, no name")
    parser.add_argument("--people", default="clinicians", help="who the people are")
    parser.add_argument("--finds", default="replies that clinicians rated unsafe", help="what is to be found, in words")
    parser.add_argument("--method", help="how judges of replies are asked; rule if none is named")
    parser.add_argument("--data", default="", help="which released ratings, in words")
    parser.add_argument("--written-on", default="", help="on what the wording was written, in words")
    parser.add_argument("--note", default="")
    parser.add_argument("--rubric", default="", help="id@version, where a table does not say so")
    parser.add_argument("--hash", default="", help="of the words, likewise")
    parser.add_argument("--date", type=datetime.date.fromisoformat, default=datetime.datetime.now(datetime.UTC).date())
    text = tomli_w.dumps({"trial": written(trials(parser.parse_args()))})
    print(re.sub(r"\[\n\s+(\d+),\n\s+(\d+),\n\]", r"[\1, \2]", text), end="")


if __name__ == "__main__":
    main()
