"""What is read of an authors' release: its records, numbers recomputed from it, and its texts and ratings as an audit looks at them.

A benchmark's reader fills it from the authors' files as they are, before anything is repaired or left out;
a ratings file or a folder of tables fills it without a benchmark.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from mindgauge.records import Rating, Reply, Sample, Value
from mindgauge.records.rounding import decimal, plural
from mindgauge.records.rubric import Scale

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path, PurePosixPath

    import polars as pl

    from mindgauge.records.rubric import Criterion


class Released(msgspec.Struct):
    """What the authors released, as records. `notes` says what was missing, doubled or damaged, one line each."""

    samples: list[Sample]
    replies: list[Reply]
    ratings: list[Rating]
    notes: list[str]


class RecomputedCell(msgspec.Struct, frozen=True):
    """A recomputed number or word, to stand beside the published one of the same table, row and column.

    `value` is None where the files it needs are missing (`note` says which). `repaired` marks our corrected figure
    for a number that the source computed wrongly. `n` counts what it was computed from, where that is known. `stated` is the published number itself, where a released file states
    it beside what it was computed from. `tolerance` is how far off is still the same, where that is more than the published
    number's own tolerance: it was computed from rounded numbers.
    """

    table: str
    row: str
    column: str
    value: float | str | None
    note: str = ""
    repaired: bool = False
    stated: float | str | None = None
    tolerance: float = 0.0
    n: int = 0


RatedAnswer: TypeAlias = tuple[str, str, str, str, Value | None]
"""Who answered, which sample, who rated it, on which criterion, and the value."""


class RankPlace(msgspec.Struct, frozen=True):
    """Where a model of a run comes in a row of a paper's table of ranks, among the models whose outputs are stored; 1 is best.

    `place` is None where none can be given; `note` says why. `low` and `high` are its 95 % interval, None of too few items.
    Models with the same score share the best of their places. `better_rank` and `worse_rank` are the published ranks next to it.
    """

    row: str
    model: str
    place: int | None = None
    low: int | None = None
    high: int | None = None
    among: list[str] = []
    """The models whose outputs are stored, without itself."""
    score: str = ""
    """By what they are ordered, in words."""
    value: float | None = None
    n: int = 0
    """How many items all of them answered."""
    better_rank: int | None = None
    worse_rank: int | None = None
    note: str = ""

    @property
    def told(self) -> str:
        """Say the place, or why there is none."""
        title = f"{self.model}, {self.row}" if self.model else self.row
        if self.place is None:
            return f"{title}: no place in the paper's table of ranks can be given. {self.note}"
        interval = "with no interval of so few items" if self.low is None else f"95% interval {self.low} to {self.high}"
        return (
            f"{title}: place {self.place} of {len(self.among) + 1}, {interval}. It is compared by {self.score} "
            f"({decimal(self.value, 3)}) on {plural(self.n, 'item')} with the {plural(len(self.among), 'model')} whose outputs are stored. {self.note}"
        )


def source_name(place: PurePosixPath, data: Path, folders: Collection[str]) -> str:
    """Name a released file the same wherever the user keeps the authors' `folders`."""
    parts = (*data.parts, *place.parts)
    start = max((i for i, part in enumerate(parts[:-1]) if part in folders), default=len(data.parts))
    return "/".join(parts[start:])


# What an audit looks at: the texts and ratings of released files, each with where it stands.


TEXTS = {
    "file": "String", "row": "Int64", "kind": "String", "id": "String", "text": "String", "system": "String",
    "source": "String", "split": "String", "label": "String",
}  # fmt: skip
"""Columns of `Material.texts`. `file` and `row` (0-based) say where; `kind` what it is (`input`, `reply`, `verdict`);
`id` which thing it claims to be, so that two files' versions of one thing can be compared; `system` who wrote it;
`source` the data set that it was taken from (of a verdict: the judge, whose judged system is `system`); `label` its gold label. All but `file`, `row`, `kind` and `text` may be null."""
RATINGS = {
    "subject": "String", "criterion": "String", "rater": "String", "rater_kind": "String", "run": "Int64",
    "status": "String", "value": "String", "system": "String", "cluster": "String", "file": "String", "row": "Int64",
}  # fmt: skip
"""Columns of `Material.ratings`, one row per rating as released: `value` is text, null where there is none; `status` is
`ok` where there is a value, however wrong; `row` (0-based) is its place in `file`."""


class Material(NamedTuple):
    """The texts and ratings of some released files.

    `scales` gives a criterion's lowest and highest value, `options` the values offered by a closed question; `notes`
    says what could not be read, one line each. `unsafe` gives a criterion's unsafe levels, where a rubric names them.
    """

    texts: pl.DataFrame
    ratings: pl.DataFrame
    scales: dict[str, tuple[float, float]]
    options: dict[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()
    unsafe: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    contradictions: tuple[str, ...] = ()
    """Where the release contradicts what it says of itself, a line for each file."""


def declared(criteria: Sequence[Criterion]) -> tuple[dict[str, tuple[float, float]], dict[str, tuple[str, ...]]]:
    """Return the scales of criteria whose levels are ordered numbers, and the options of others, as `Material` has them."""
    ordinal = [c for c in criteria if c.scale is Scale.ORDINAL and all(isinstance(v, int) for v in c.values)]
    return (
        {c.name: (float(min(c.values)), float(max(c.values))) for c in ordinal},
        {c.name: tuple(map(str, c.choices)) for c in criteria if c not in ordinal},
    )


def unsafe_levels(criteria: Sequence[Criterion]) -> dict[str, tuple[str, ...]]:
    """Return the unsafe levels of the criteria that name some, as `Material` has them."""
    return {c.name: tuple(map(str, c.unsafe)) for c in criteria if c.unsafe}


def frame(rows: list[tuple[object, ...]], columns: dict[str, str]) -> pl.DataFrame:
    """Build `texts` or `ratings` from rows in the columns' order."""
    import polars as pl

    return pl.DataFrame(rows, {name: getattr(pl, kind) for name, kind in columns.items()}, orient="row")
