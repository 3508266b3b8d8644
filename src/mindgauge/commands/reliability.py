"""`reliability`: when a judge can be trusted, how far people agree; `--plan`: what a verdict takes; `--show-reading`: how ratings are read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from mindgauge.analysis import beside_published
from mindgauge.analysis.rationales import with_reasons
from mindgauge.analysis.reliability import pairs, plan
from mindgauge.analysis.reliability import rule as rules
from mindgauge.analysis.reliability.cards import CardOptions, cards
from mindgauge.analysis.reliability.ratings import read
from mindgauge.commands.command import NAMED, CommandOption, FromZero, Resamples, command
from mindgauge.records.command_result import Tabular
from mindgauge.records.errors import UsageError
from mindgauge.records.files import private, tables
from mindgauge.records.files.texts import neutralised
from mindgauge.records.ratings import NOTHING_SAID
from mindgauge.records.ratings import read as read_ratings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from mindgauge.analysis.reliability.card import Reliability
    from mindgauge.analysis.reliability.plan import ReliabilityPlan
    from mindgauge.records.files.texts import Frame
    from mindgauge.records.ratings import Account, RatingLayout


@command(
    first="reference scale nominal unsafe critical levels plan show_reading out map rater",
    doing="Estimating",
)
def reliability(
    ratings: str | Path | Frame | Sequence[str | Path | Frame],
    *,
    reference: str | Sequence[str] = (),
    adjudicators: Annotated[str | Sequence[str], CommandOption(flag="--adjudicator")] = (),
    scale: str | Mapping[str, str] | None = None,
    nominal: Sequence[str] = (),
    unsafe: str | Sequence[str] = (),
    critical: str | Sequence[str] = (),
    layout: RatingLayout = NOTHING_SAID,
    rule: Annotated[str | Path, NAMED] = "mindgauge",
    look_until: FromZero = 0,
    resamples: Resamples = 2000,
    seed: FromZero = 0,
) -> Reliability:
    """Say when a judge can be trusted, by a card for each judge and criterion, and how far people agree.

    Where several people rated, it also says how far they agree among themselves; with people alone it says that only.

    Args:
        ratings: Run directories; files (CSV, Excel, JSON, JSONL, Parquet), folders and zips that hold ratings, in any
            shape. None with --plan before labelling begins.
        reference: Whom to compare with; people, if the ratings say who they are. May be repeated.
        adjudicators: Who decided between others and is no independent rater. May be repeated.
        scale: 1:5, or worst,…,best, for all criteria; or CRITERION=1:5. May be repeated.
        nominal: A criterion whose values are classes without an order. May be repeated.
        unsafe: Which levels are unsafe: CRITERION<=LEVEL, or CRITERION=LEVEL,LEVEL. May be repeated.
        critical: A category in which nothing may be missed, such as suicide. May be repeated.
        layout: what is said of the shape of tables; the rest is seen from them, and stands in `reading`.
        rule: mindgauge; mentalbench (the source's own, for comparison); or a file like rule.toml.
        look_until: You look while people still rate, and stop when a judge is good: how many replies they will rate at
            most.
        resamples: Bootstrap resamples.
        seed: Seed of the bootstrap.

    Raises:
        UsageError: an option is wrong.
        DataError: the ratings cannot be read, or there are not two raters to compare.
    """
    sources: list[str | Path | Frame] = list(ratings) if isinstance(ratings, list | tuple) else [ratings]  # type: ignore[list-item]  # a lone source
    scales = {"*": scale} if isinstance(scale, str) else dict(scale or {})
    levels, categories = ([text] if isinstance(text, str) else list(text) for text in (unsafe, critical))
    rating_table = read(sources, scale=scales, nominal=nominal, layout=layout, unsafe=levels, critical=categories)
    by_width = str(rule) == rules.MENTALBENCH
    if look_until < 0 or (look_until and by_width):
        raise UsageError("--look-until takes a number of replies, and Mindgauge's rule or a file of its form")
    limits = rules.load(rules.MINDGAUGE if by_width else rule)
    named, deciding = ([names] if isinstance(names, str) else list(names) for names in (reference, adjudicators))
    runs = [Path(source) for source in sources if isinstance(source, str | Path) and tables.is_run(source)]
    authors = beside_published.judge_means(runs[0]) if by_width and len(sources) == len(runs) == 1 and not named else {}
    result = cards(
        rating_table,
        CardOptions(limits, by_width, authors, resamples, seed, tuple(deciding), look_until=look_until),
        named,
    )
    return msgspec.structs.replace(with_reasons(result, runs), reading=rating_table.account)


@command()
def reliability_plan(
    ratings: str | Path | Frame | Sequence[str | Path | Frame] = (),
    *,
    verdict: str = "",
    power: float = 0.8,
    assume: Mapping[str, float] | None = None,
    reference: str | Sequence[str] = (),
    scale: str | Mapping[str, str] | None = None,
    nominal: Sequence[str] = (),
    unsafe: str | Sequence[str] = (),
    layout: RatingLayout = NOTHING_SAID,
    rule: Annotated[str | Path, NAMED] = "mindgauge",
) -> ReliabilityPlan:
    """Say how many replies, people and judges a verdict takes, with or without ratings.

    Without ratings it plans from what is assumed; with people's ratings from these, a judge being taken as one more
    person; with judges' from their cards: how many in all, if what was seen goes on.

    Args:
        ratings: See `reliability`; none before labelling.
        verdict: With --plan: moderate or good; both if not given.
        power: With --plan: the chance of the verdict.
        assume: With --plan: unsafe=0.1,agreement=0.8,people=3, and ceiling, repeat, judges, repeats, replies, alike,
            levels, classes.
        reference: as in `reliability`.
        scale: as in `reliability`.
        nominal: as in `reliability`.
        unsafe: as in `reliability`.
        layout: as in `reliability`.
        rule: `mindgauge`, or a file like Mindgauge's rule.toml.

    Raises:
        UsageError: an option is wrong.
        DataError: the ratings cannot be read.
    """
    if verdict and verdict not in plan.VERDICTS:
        raise UsageError(f"--verdict {verdict}: {' or '.join(plan.VERDICTS)}")
    if not 0 < power < 1:
        raise UsageError(f"--power {power:g}: must lie between 0 and 1")
    if str(rule) == rules.MENTALBENCH:
        raise UsageError("--rule mentalbench knows no power: its limits depend on its own data")
    verdicts = [plan.VERDICTS[verdict]] if verdict else list(plan.VERDICTS.values())
    limits, given = rules.load(rule), dict(assume or {})
    sources: list[str | Path | Frame] = list(ratings) if isinstance(ratings, list | tuple) else [ratings]  # type: ignore[list-item]  # a lone source
    if not sources:
        assumed = plan.assumptions(given)
        rows = plan.before(assumed, limits, verdicts, power)
        return plan.ReliabilityPlan("before labelling", limits.name, power, assumed, rows, plan.notes(rows))
    scales = {"*": scale} if isinstance(scale, str) else dict(scale or {})
    levels = [unsafe] if isinstance(unsafe, str) else list(unsafe)
    table = read(sources, scale=scales, nominal=nominal, layout=layout, unsafe=levels)
    named = [reference] if isinstance(reference, str) else list(reference)
    result = cards(table, CardOptions(limits, resamples=100), named)
    if result.cards:
        if given:
            raise UsageError("--assume: the judges' ratings say it; leave it out, or plan without ratings")
        rows = plan.during(result, table, limits, verdicts, power)
        return plan.ReliabilityPlan(table.source, limits.name, power, None, rows, plan.notes(rows))
    persons, _ = pairs.split(table.frame, named, [])
    rows, lacks = [], []
    for criterion, assumed_of, lack in plan.of_people(result, table, persons, given):
        if assumed_of is None:
            lacks.append(f"{criterion}: {lack}")
        else:
            rows += plan.before(assumed_of, limits, verdicts, power, criterion)
    return plan.ReliabilityPlan(table.source, limits.name, power, None, rows, [*lacks, *plan.notes(rows)])


ENDINGS = (".parquet", ".csv", ".jsonl")
"""Forms in which a long table is written."""


@dataclass(frozen=True, repr=False)
class LongTable(Tabular):
    """Ratings in long form: `table` holds them, `reading` says what was read and what was left out."""

    frame: pl.DataFrame
    reading: Account
    out: str | None

    def summary(self) -> list[str]:
        """Say what was read."""
        return [*self.reading.lines(), *([f"Written to {self.out}"] if self.out else [])]

    @property
    def table(self) -> pl.DataFrame:
        """One row for each rating; `file` and `row` (from 1, without the header) say where it stands."""
        return self.frame


@command()
def ratings(
    files: str | Path | Frame | Sequence[str | Path | Frame],
    *,
    out: str | Path | None = None,
    layout: RatingLayout = NOTHING_SAID,
) -> LongTable:
    """Show how ratings of any shape are read, before anything is computed.

    Args:
        files: Files (CSV, Excel, JSON, JSONL, Parquet), folders and zips that hold ratings, in any shape.
        out: With --show-reading: write the ratings, one a row: long.parquet, .csv or .jsonl.
        layout: what is said of the shape of the tables; the rest is seen from them.

    Raises:
        UsageError: `out` has another ending or is one of the files that are read, or the layout names what is not there.
        DataError: a file cannot be read, or nothing in it is a rating.
    """
    path = None if out is None else Path(out)
    if path is not None and path.suffix.lower() not in ENDINGS:
        raise UsageError(f"--out {path}: write a table that ends in {', '.join(ENDINGS)}")
    sources: list[str | Path | Frame] = list(files) if isinstance(files, list | tuple) else [files]  # type: ignore[list-item]  # a lone source
    if path is not None and path.exists() and any(_holds(source, path) for source in sources):
        raise UsageError(
            f"--out {path}: that file is among what is read; name another one, so that nobody's ratings are replaced"
        )
    frame, reading = read_ratings(sources, layout)
    frame = frame.drop("line")
    if path is not None:
        _write(frame, path)
    return LongTable(frame, reading, None if path is None else str(path))


def _holds(source: str | Path | Frame, path: Path) -> bool:
    """Whether a file is a source, or lies in one."""
    if not isinstance(source, str | Path):
        return False
    own = Path(source).resolve()
    return own == path.resolve() or own in path.resolve().parents


def _write(frame: pl.DataFrame, path: Path) -> None:
    with private.written(path) as file:
        if path.suffix.lower() == ".parquet":
            frame.write_parquet(file, compression="zstd")
        elif path.suffix.lower() == ".csv":
            neutralised(frame).write_csv(file, include_bom=True)
        else:
            frame.write_ndjson(file)
