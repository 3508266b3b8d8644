"""Ratings from anywhere, as one checked table: runs, and long files with the columns subject, criterion, rater, value."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis import drawn, drawn_part, stock
from mindgauge.analysis import frame as runs
from mindgauge.analysis.reliability import correction, slices
from mindgauge.analysis.reliability.pairs import numbered
from mindgauge.analysis.reliability.scale import Unsafe, ValueScale, of_criterion, settle
from mindgauge.analysis.reliability.unsafe_levels import UnsafeByPeople, UnsafeRule, people_apart
from mindgauge.analysis.score import open_run
from mindgauge.records import drawn as records_drawn
from mindgauge.records import languages
from mindgauge.records import ratings as shaped
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import tables
from mindgauge.records.instruments import by_rater
from mindgauge.records.ratings import NOTHING_SAID, long
from mindgauge.records.rounding import count, plural
from mindgauge.store import sent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mindgauge.analysis.reliability.correction import Dates
    from mindgauge.analysis.reliability.pairs import Codes
    from mindgauge.records.files.texts import Frame
    from mindgauge.records.ratings import Account, RatingLayout

TEXT = (
    "subject",
    "criterion",
    "rater",
    "rater_kind",
    "value",
    "status",
    "system",
    "cluster",
    "category",
    "selection",
    "language",
)
_KEY = ("subject", "criterion", "rater", "run")
_FIRST = 3
"""Places named in a message."""


NO_MEANS = pl.DataFrame(schema={"subject": pl.String, "criterion": pl.String, "rater": pl.String, "number": pl.Float64})


NO_ATTRIBUTES = pl.DataFrame(schema={"subject": pl.String})


class Ratings(NamedTuple):
    """Checked ratings. `frame` has the columns `TEXT`, `drawn.COLUMNS`, `run`, and `number` (the value, null if it is a word or missing).

    `scales` has one scale per criterion, with its unsafe values; `critical` names, for each, the categories in which
    nothing may be missed; `notes` says what was assumed or counted as missing, one line each. `stated` holds judges' means
    on subjects of which their verdicts were not released: subject, criterion, rater, number.
    """

    source: str
    frame: pl.DataFrame
    scales: dict[str, ValueScale]
    critical: dict[str, tuple[str, ...]]
    notes: list[str]
    stated: pl.DataFrame = NO_MEANS
    asked: Mapping[str, str] = MappingProxyType({})
    """Rater → what was really sent with its calls, in words, as far as a run says it."""
    instruments: Mapping[str, frozenset[str]] = MappingProxyType({})
    """Rater → the instruments that it rated by, as far as a run says it."""
    account: Account | None = None
    """What was read of tables; None where there were only runs."""
    stock: frozenset[str] = frozenset()
    """The subjects that are stock replies; tables have no texts, so none of theirs is known."""
    attributes: pl.DataFrame = NO_ATTRIBUTES
    """What else is known of subjects, by which they are put into slices: texts, and numbers that are cut into parts."""
    dated: Mapping[str, correction.Dates] = MappingProxyType({})
    """Rater → when it rated what people rated, as far as a run says it."""
    public: bool = False
    """Whether they are of a paper's release."""


def read(
    sources: Sequence[str | Path | Frame],
    *,
    scale: Mapping[str, str] | None = None,
    nominal: Sequence[str] = (),
    layout: RatingLayout = NOTHING_SAID,
    unsafe: Sequence[str] = (),
    critical: Sequence[str] = (),
) -> Ratings:
    """Read and check ratings; several sources are put one under the other.

    Args:
        sources: run directories, or tables as `tables.open_table` takes them.
        scale: criterion → its scale, `1:5` or `worst,middle,best`; the key `*` stands for all others.
        nominal: criteria whose values are classes without an order, even if they are numbers.
        layout: what is said of the shape of tables.
        unsafe: which levels are unsafe, as `unsafe.Rule` reads it; the rubric's, or the worst two fifths, if not given.
        critical: categories in which nothing may be missed, where no rubric says so.

    Raises:
        UsageError: no source is named, a scale or an unsafe level cannot be read, or a critical category is not there.
        DataError: a file, a column or a value is not as expected.
    """
    if not sources:
        raise UsageError("name a run directory or a ratings file")
    rules = [UnsafeRule.read(text) for text in unsafe]
    empty = next((source for source in sources if tables.is_run(source) and not _holds_run(Path(str(source)))), None)
    if empty is not None:
        raise DataError(f"{empty}: neither a run (run.sqlite) nor a table of ratings here")
    files = [source for source in sources if not isinstance(source, str | Path) or not tables.is_run(source)]
    folders = [Path(source) for source in sources if isinstance(source, str | Path) and tables.is_run(source)]
    parts = [_run(folder) for folder in folders]
    notes: list[str] = []
    if files:
        table = _tables(files, layout)
        parts.append(table._replace(frame=by_reply(table.frame, folders, notes)))
    source_scales = {name: scale for part in parts for name, scale in part.scales.items()}
    marked = {name: categories for part in parts for name, categories in part.critical.items()}
    names = ", ".join(str(s) if isinstance(s, str | Path) else "table" for s in sources)
    frame = pl.concat([long.whole_subjects(part.frame, notes) for part in parts], how="diagonal_relaxed")
    if files or len(parts) > 1:  # a run holds each rating once
        _refuse_repeats(frame, names)
    frame = frame.with_row_index("row")
    scales, off_scales = {}, [pl.Series(dtype=pl.UInt32)]
    by_criterion = frame.group_by("criterion").agg("row").sort("criterion")  # to filter by each takes their square
    for criterion, places in zip(*by_criterion, strict=True):
        rows = frame[places]
        declared = (scale or {}).get(criterion, (scale or {}).get("*", ""))
        declared = declared or (layout.scale if _worded(rows) else "")
        scales[criterion], off_scale, remarks = settle(
            rows, criterion, declared, source_scales.get(criterion), nominal=criterion in nominal
        )
        notes += remarks
        if len(off_scale):
            off_scales.append(off_scale)
            notes.append(
                _off_scale(rows.filter(pl.col("row").is_in(off_scale.implode())), criterion, scales[criterion])
            )
    frame = _without(frame, pl.concat(off_scales))
    scales = _with_unsafe(scales, rules, notes)
    _refuse_unknown(frame, critical)
    return Ratings(
        names, frame.drop("row", "line"), scales, {name: marked.get(name, tuple(critical)) for name in scales}, notes,
        pl.concat([NO_MEANS, *(part.stated for part in parts)]),
        {rater: line for part in parts for rater, line in part.asked.items()},
        {rater: names for part in parts for rater, names in part.instruments.items()}, table.account if files else None,
        frozenset().union(*(part.stock for part in parts)),
        pl.concat([NO_ATTRIBUTES, *(part.attributes for part in parts)], how="diagonal_relaxed").unique("subject", keep="first", maintain_order=True),
        correction.together(part.dated for part in parts), any(part.public for part in parts),
    )  # fmt: skip


def _holds_run(folder: Path) -> bool:
    return any((folder / name).exists() for name in ("run.sqlite", "manifest.toml"))


def _worded(rows: pl.DataFrame) -> bool:
    """Whether a criterion has words for levels."""
    return bool(rows.select((pl.col("value").is_not_null() & pl.col("number").is_null()).any()).item())


def _with_unsafe(scales: dict[str, ValueScale], rules: Sequence[UnsafeRule], notes: list[str]) -> dict[str, ValueScale]:
    """Give each ordered scale its unsafe values, and say where they are assumed."""
    named = {rule.about(list(scales)): rule for rule in rules}
    settled: dict[str, ValueScale] = {}
    assumed: dict[str, list[str]] = {}
    for criterion, scale in scales.items():
        has_ends = scale.ordered and scale.low < scale.high  # one value that all gave is no worst one
        unsafe = scale.unsafe or (Unsafe.assumed(scale) if has_ends else None)
        if criterion in named:
            unsafe = named[criterion].on(scale)
        settled[criterion] = scale._replace(unsafe=unsafe)
        if unsafe is not None and unsafe.is_assumed:
            assumed.setdefault(", ".join(map(str, unsafe.levels(scale))), []).append(criterion)
    for levels, criteria in assumed.items():
        notes.append(
            f"{', '.join(criteria)}: nothing says which levels are unsafe, so the worst two fifths of the scale are taken ({levels}); "
            f"set them with --unsafe '{criteria[0]}<=LEVEL'"
        )
    return settled


def _refuse_unknown(frame: pl.DataFrame, critical: Sequence[str]) -> None:
    categories = frame["category"].drop_nulls().unique().sort().to_list()
    unknown = next((name for name in critical if name not in categories), None)
    if unknown is not None:
        raise UsageError(f"--critical {unknown!r}: no such category; there are {', '.join(categories) or 'none'}")


def _tables(sources: Sequence[str | Path | Frame], layout: RatingLayout) -> Ratings:
    """Read everything but runs at once, for a file may be one rater's part of a whole."""
    details: list[pl.DataFrame] = []
    frame, account = shaped.read(sources, layout, details=details)
    number = pl.col("value").cast(pl.Float64, strict=False)
    tags = frame["language"].drop_nulls().unique().to_list()
    frame = frame.with_columns(
        run=_run_column(frame), number=pl.when(number.is_finite()).then(number),
        language=pl.col("language").replace({tag: languages.named(tag) or None for tag in tags}),
    )  # fmt: skip
    frame = _drawn(frame)
    rows = frame.select(*TEXT, *drawn.COLUMNS, "run", "number", "line")
    return Ratings("", rows, {}, {}, [], account=account, attributes=details[0])


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """Read the probabilities with which subjects were drawn, or their weights, and what is known of the draw.

    Raises:
        DataError: a number is none, or a subject was drawn with two probabilities.
    """
    names = (*drawn.COLUMNS, records_drawn.WEIGHT)
    present = [column for column in names if frame[column].null_count() < len(frame)]
    frame = frame.drop(column for column in names if column not in present)
    if not {"probability", records_drawn.WEIGHT} & set(present):
        nothing = [pl.lit(None, kind).alias(column) for column, kind in drawn.COLUMNS.items()]
        return frame.with_columns(nothing)
    distinct = frame.group_by(present, maintain_order=True).agg(pl.col("file", "line").first())
    records = [
        records_drawn.of_row(row, f"{row['file']}: line {row['line']}") for row in distinct.iter_rows(named=True)
    ]
    cells = [record.cells if record else (None,) * len(records_drawn.COLUMNS) for record in records]
    keys = distinct.select(pl.col(present).name.prefix("given "))
    known = pl.concat(
        [keys, pl.DataFrame(cells, {column: drawn.COLUMNS[column] for column in records_drawn.COLUMNS}, orient="row")],
        how="horizontal",
    )
    given = frame.rename({column: f"given {column}" for column in present})
    frame = given.join(
        known, on=[f"given {column}" for column in present], nulls_equal=True, maintain_order="left"
    ).drop(f"given {column}" for column in present)
    twice = frame.drop_nulls("probability").filter(pl.col("probability").n_unique().over("subject", "draw") > 1)
    if len(twice):
        raise DataError(
            f"{twice['file'][0]}: {twice['subject'][0]!r} was drawn with {twice.filter(pl.col('subject') == twice['subject'][0])['probability'].n_unique()} "
            f"probabilities (first: {long.lines(twice)}); a subject has one in a draw"
        )
    return frame


def _run_column(frame: pl.DataFrame) -> pl.Series:
    run = frame["run"].fill_null("0").cast(pl.Float64, strict=False)
    odd = frame.filter(run.is_null() | (run != run.floor()) | (run.abs() >= 2**53))
    if len(odd):
        raise DataError(
            f"{odd['file'][0]}: run must be a whole number, found {odd['run'][0]!r} (first: {long.lines(odd)})"
        )
    return run.cast(pl.Int64)


def _run(folder: Path) -> Ratings:
    """Read the ratings of a run, composites included."""
    store, benchmarks, manifest = open_run(folder)
    parts: list[pl.DataFrame] = []
    scales: dict[str, ValueScale] = {}
    critical: dict[str, tuple[str, ...]] = {}
    means = [NO_MEANS]
    used: list[tuple[str, str | None]] = []
    attributes = [NO_ATTRIBUTES]
    stock_replies: set[str] = set()
    loaded = bool(manifest.get("plan", {}).get("loaded"))
    with store:
        for benchmark in benchmarks:
            criteria = runs.criteria(benchmark)
            run_names = {name: name if name not in scales else f"{benchmark.name}:{name}" for name in criteria}
            rows = runs.only(runs.ratings(store, benchmark), pl.col("criterion").is_in(list(criteria)))
            attributes.append(slices.of_replies(store, benchmark))
            stock_replies.update(stock.found(store, benchmark).drop_nulls("stock")["subject"])
            used += runs.distinct(rows, "rater", "instrument").iter_rows()
            scales |= {run_names[name]: of_criterion(criterion) for name, criterion in criteria.items()}
            critical |= dict.fromkeys(run_names.values(), benchmark.rubric.critical)
            absent = drawn_part.standing_in(drawn_part.mean_calls(store, benchmark), rows).filter(
                pl.col("criterion").is_in(list(criteria))
            )
            means.append(
                absent.select(
                    "subject", pl.col("criterion").replace_strict(run_names, return_dtype=pl.String), "rater",
                    number=pl.col("value").cast(pl.Float64, strict=False),
                ).drop_nulls()
            )  # fmt: skip
            system = pl.lit(None, pl.String) if benchmark.closed else pl.col("model")
            tagged = f"tag.{languages.LANGUAGE}" in rows.columns
            parts.append(
                rows.with_columns(
                    system=system,
                    criterion=pl.col("criterion").replace_strict(run_names, return_dtype=pl.String),
                    category=pl.col("tag.category"),
                    language=pl.col(f"tag.{languages.LANGUAGE}") if tagged else pl.lit(None, pl.String),
                    number=pl.col("value").cast(pl.Float64, strict=False),
                ).select(*TEXT, *drawn.COLUMNS, "run", "number")
            )
        dated = {} if loaded else correction.dates(store)
    frame = pl.concat(parts).with_row_index("line", offset=1).with_columns(pl.col("line").cast(pl.Int64))
    if frame.is_empty():
        raise DataError(f"{folder}: this run holds no ratings yet")
    asked = {rater: sent.words(noted) for rater, noted in manifest.get("sent", {}).items()}
    return Ratings(
        str(folder), frame, scales, critical, [], pl.concat(means), asked, by_rater(used, loaded=loaded), None, frozenset(stock_replies),
        pl.concat(attributes, how="diagonal_relaxed"), dated, loaded,
    )  # fmt: skip


def _refuse_repeats(frame: pl.DataFrame, name: str) -> None:
    criteria = frame.select(_KEY).group_by("criterion")  # one after the other, so that little is in memory at once
    if sum(rows.n_unique() for _, rows in criteria) == len(frame):
        return
    repeated = frame.filter(pl.struct(_KEY).is_duplicated())
    surplus = len(repeated) - repeated.select(pl.struct(_KEY).n_unique()).item()
    first = repeated.row(0, named=True)
    same = repeated.filter(pl.all_horizontal(pl.col(column) == first[column] for column in _KEY))
    raise DataError(
        f"{name}: {plural(surplus, 'row')} {'repeats' if surplus == 1 else 'repeat'} a subject, criterion, rater and run (first: {first['subject']!r}, {first['criterion']}, "
        f"{first['rater']}, {long.lines(same)}); number repeats in a column `run`, or remove the copies"
    )


def _off_scale(faults: pl.DataFrame, criterion: str, scale: ValueScale) -> str:
    """Say how many values are off the scale, and that they count as missing."""
    values = faults["value"].value_counts(sort=True)
    faulty_values = ", ".join(f"{n} × {value}" for value, n in values.head(_FIRST).iter_rows())
    return f"{criterion}: {len(faults)} values are off the scale {scale} ({faulty_values}; first: {long.lines(faults)}) and count as missing"


def _without(frame: pl.DataFrame, off_scale: pl.Series) -> pl.DataFrame:
    """Count values off the scale as missing."""
    if off_scale.is_empty():
        return frame
    faulty = pl.col("row").is_in(off_scale.implode())
    blank = pl.lit(None)
    return frame.with_columns(
        value=pl.when(faulty).then(blank).otherwise(pl.col("value")),
        number=pl.when(faulty).then(blank).otherwise(pl.col("number")),
        status=pl.when(faulty).then(pl.lit("unparsable")).otherwise(pl.col("status")),
    )


ID = "review_id"
"""What stands in a list in the place of a reply."""
_KEYS = "review-key-"


def key_of(folder: Path, benchmark: str) -> Path:
    """Return where a run keeps what stands behind the names in the review list of a benchmark."""
    return folder / f"{_KEYS}{benchmark.replace('/', '-')}.csv"


def by_reply(frame: pl.DataFrame, runs: Iterable[Path], notes: list[str]) -> pl.DataFrame:
    """Give ratings of the lists of some runs the replies that they are of; what is of no list stays as it is.

    Raises:
        DataError: a run's key cannot be read.
    """
    names: dict[str, dict[str, str]] = {"subject": {}, "cluster": {}, "system": {}}
    for folder in runs:
        for key in sorted(folder.glob(f"{_KEYS}*.csv")):
            for _, row in tables.rows(key):
                for name, column in (("subject", "subject"), ("cluster", "cluster"), ("system", "model")):
                    if row.get(ID) and row.get(column):
                        names[name][row[ID]] = row[column]
    subjects = frame.filter(pl.col("subject").is_in([*names["subject"]]))["subject"].n_unique()
    if not subjects:
        return frame
    notes.append(
        f"{plural(subjects, 'subject')} {'goes' if subjects == 1 else 'go'} by the names of a review list; the run's key says which replies they are"
    )
    return frame.with_columns(
        pl.col("subject").replace_strict(by_id, default=pl.col(name), return_dtype=pl.String).alias(name)
        for name, by_id in names.items()
    )


def valued(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that have a value."""
    return rows.filter(pl.col("number").is_not_null())


class RatedCriterion(NamedTuple):
    """The ratings on one criterion: `subject`, `cluster` and `system` are indices, `name` is the subject's own.

    `stated` holds judges' means on subjects of which their verdicts were not released, `declined` those of which they said that
    the criterion does not apply: subject (its index), rater, number (null).
    """

    name: str
    scale: ValueScale
    rows: pl.DataFrame
    systems: list[str]
    critical: tuple[str, ...]
    stated: pl.DataFrame
    declined: pl.DataFrame
    drawn: str = ""
    """How people's part was drawn, where it was with known probabilities."""
    left_out: str = ""
    """What of people's ratings is not among them, where nothing was drawn."""
    attributes: pl.DataFrame | None = None
    """What else is known of subjects (their index)."""
    dated: Mapping[str, Dates] = MappingProxyType({})
    """Rater → when it rated what people rated, as far as that is known."""
    public: bool = False
    """Whether people's ratings were released."""

    def named(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows with the systems' names in place of their indices."""
        return rows.with_columns(pl.col("system").replace_strict(dict(enumerate(self.systems)), return_dtype=pl.String))

    def by(self, *raters: str) -> pl.DataFrame:
        """Return what was given to some raters, missing verdicts included."""
        return self.rows.filter(pl.col("rater").is_in(raters))

    def valued(self, *raters: str) -> pl.DataFrame:
        """Return the values that some raters gave, with the systems' names."""
        return self.named(valued(self.by(*raters)))

    def known_of(self, judge: str, judge_rows: pl.DataFrame) -> pl.DataFrame:
        """Put what else is known of a judge's verdicts under its rows: subject, number (null where it gave none)."""
        others = (part.filter(pl.col("rater") == judge) for part in (self.stated, self.declined))
        return pl.concat([part.select("subject", "number") for part in (judge_rows, *others)])


def rated_criterion(ratings: Ratings, name: str, persons: Sequence[str]) -> RatedCriterion:
    """Return the ratings on one criterion; of what people rated only one draw, where that was drawn with known probabilities."""
    scale = ratings.scales[name]
    everything = ratings.frame.filter(pl.col("criterion") == name)
    applies = pl.col("status") != "not_applicable"
    rows = scale.numbered(everything.filter(applies))
    blank = {column: pl.col(column).fill_null("") for column in ("cluster", "system")}
    is_stock = pl.col("subject").is_in(list(ratings.stock))
    rows = rows.with_columns(name=pl.col("subject"), stock=is_stock, **blank)
    indices = {column: numbered(rows[column]) for column in ("subject", "cluster", "system")}
    rows = rows.with_columns(pl.Series(column, places) for column, (_, places) in indices.items())
    subjects = rows.select("name", "subject").unique("name")

    def by_index(verdicts: pl.DataFrame) -> pl.DataFrame:
        named = verdicts.rename({"subject": "name"}).join(subjects, on="name", maintain_order="left")
        return named.select("subject", "rater", "number")

    criterion = RatedCriterion(
        name, scale, rows, indices["system"][0], ratings.critical[name],
        by_index(ratings.stated.filter(pl.col("criterion") == name)),
        by_index(everything.filter(~applies).with_columns(number=pl.lit(None, pl.Float64))),
        attributes=subjects.join(ratings.attributes.drop("name", strict=False), left_on="name", right_on="subject").drop("name"),
        dated=ratings.dated, public=ratings.public,
    )  # fmt: skip
    own, note = drawn.alone(criterion.by(*persons), name)
    if not note:
        return criterion
    others = criterion.rows.filter(~pl.col("rater").is_in(persons))
    rows = pl.concat([others, own])
    weighs = drawn.is_drawn(own)
    return criterion._replace(rows=rows, drawn=note if weighs else "", left_out="" if weighs else note)


class Compared(NamedTuple):
    """With whom judges are compared: the `reference`, and `everybody` of whom that is a part; who of these is independent."""

    reference: Sequence[str]
    everybody: Sequence[str]
    independent: Sequence[str]


class PeopleBeside(NamedTuple):
    """People whom all judges are compared with on a criterion: their `names`, and `independents` among them.

    `rows` are theirs, `rated` those with a value, of `categories` by the place of each (-1 for none), and `first` each
    one's first of a subject.
    """

    names: Sequence[str]
    independents: list[str]
    everybody: Sequence[str]
    rows: pl.DataFrame
    rated: pl.DataFrame
    categories: tuple[list[str], Codes]
    first: pl.DataFrame
    unsafe: UnsafeByPeople | None
    apart: tuple[float | None, float | None]
    """How far they agree with each other, and their largest bias."""
    subjects: pl.Series
    """The subjects that they were given, as one list."""
    selected: str
    """How these were selected, where they were not drawn with known probabilities."""

    @classmethod
    def of(cls, criterion: RatedCriterion, compared: Compared) -> PeopleBeside:
        """Read what they rated on a criterion."""
        rows = criterion.by(*compared.reference)
        rated = valued(rows)
        first = rated.sort("run", maintain_order=True).unique(["subject", "rater"], keep="first", maintain_order=True)
        independents = [rater for rater in compared.reference if rater in compared.independent]
        unsafe = UnsafeByPeople.of(criterion.named(rated), criterion.scale, independents, criterion.attributes)
        selections = [] if drawn.is_drawn(rows) else rows["selection"].drop_nulls().unique().to_list()
        return cls(
            compared.reference, independents, compared.everybody, rows, rated, numbered(rated["category"]), first, unsafe,
            people_apart(first, independents, criterion.scale), rows["subject"].unique().implode(), "; ".join(sorted(selections)),
        )  # fmt: skip

    @property
    def sharing(self) -> int:
        """How many independent people rated a subject that another rated, too; 1 where nobody did."""
        own = self.first.filter(pl.col("rater").is_in(self.independents))
        return max(1, own.filter(pl.len().over("subject") > 1)["rater"].n_unique())

    def share_of(self, planned: int) -> float | None:
        """Return which share of the planned replies two of them have rated, where any two did; None of no plan, or no reply.

        Raises:
            UsageError: they rated more than was planned.
        """
        total = self.rated["subject"].n_unique()
        if total > planned > 0:
            raise UsageError(
                f"--look-until {planned}: people have rated {count(total)} replies, and bounds hold at all looks only up to the number that was set before the first"
            )
        own = self.first.filter(pl.col("rater").is_in(self.independents))
        rated = own.filter(pl.len().over("subject") > 1)["subject"].n_unique() or total
        return rated / planned if planned and rated else None

    def beside(self, judge_rows: pl.DataFrame) -> pl.DataFrame:
        """Return a judge's rows on the subjects that people were given."""
        return judge_rows.filter(pl.col("subject").is_in(self.subjects))
