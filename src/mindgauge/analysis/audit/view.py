"""The material as checks look at it, with what several of them need worked out once; what an audit reports, and how a check is declared."""

from __future__ import annotations

import functools
from collections import defaultdict
from difflib import SequenceMatcher
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
import polars as pl
from scipy import sparse

from mindgauge.analysis import independence
from mindgauge.analysis.frame import only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from mindgauge.analysis.independence import Dependence, Suspicion
    from mindgauge.benchmarks.released import Material


SHOWN = 10
"""Places that a finding names; the rest are counted."""
ALPHA = 0.001
"""The chance that a check which tests calls clean data faulty, over all raters and criteria of the material.

Each of the seven or so checks that test keeps to it, so that an audit of clean data gives a false alarm in fewer than
one case of a hundred.
"""


class Severity(StrEnum):
    """How much a fault matters. The most severe comes first."""

    ERROR = "error"
    """Numbers computed from this are wrong."""
    WARNING = "warning"
    """Numbers computed from this may mislead."""
    NOTE = "note"
    """A fact to know and to report beside the numbers."""


class Finding(msgspec.Struct, frozen=True):
    """One fault: what it is, how often it occurs, where, and what it does to results.

    `where` holds up to ten places, as `file:row` (rows count from 0) or as short facts, and last how many more there
    are. `subject` is the part of the data that was audited: a benchmark's member, a file, or several files of one kind.
    """

    id: str
    severity: Severity
    count: int
    where: list[str]
    effect: str
    message: str
    subject: str = ""


class CheckResult(msgspec.Struct, frozen=True):
    """What a check returns for each fault. `severity` replaces the check's own where this case matters less or more.

    `raters` are those whose values are one, on `criterion`; empty where the fault is another.
    """

    count: int
    message: str
    places: list[str]
    severity: Severity | None = None
    raters: tuple[str, ...] = ()
    criterion: str = ""


class AuditCheck(NamedTuple):
    """A check: a function from the material to the faults it finds, and what they mean."""

    id: str
    severity: Severity
    effect: str
    find: Callable[[View], Iterable[CheckResult]]

    def findings(self, view: View, subject: str) -> list[Finding]:
        """Run the check."""
        return [
            Finding(self.id, result.severity or self.severity, result.count, result.places, self.effect, result.message, subject)
            for result in self.find(view)
        ]  # fmt: skip


def check(
    ident: str, severity: Severity, effect: str
) -> Callable[[Callable[[View], Iterable[CheckResult]]], AuditCheck]:
    """Declare a function as a check; `effect` says what the fault does to results."""
    return lambda find: AuditCheck(ident, severity, effect, find)


def limited(facts: Sequence[str]) -> list[str]:
    """Return the first ten facts and how many more there are."""
    surplus = len(facts) - SHOWN
    return [*facts[:SHOWN], f"… and {surplus:,} more"] if surplus > 0 else list(facts)


def places(rows: pl.DataFrame) -> list[str]:
    """Return where rows stand, `file:row`, each place once, in the order of the files."""
    rows_named = rows.select("file", "row").unique().sort("file", "row")
    listed = [f"{file}:{row}" for file, row in rows_named.head(SHOWN).iter_rows()]
    surplus = rows_named.height - SHOWN
    return [*listed, f"… and {surplus:,} more"] if surplus > 0 else listed


def counted(rows: pl.DataFrame, column: str, limit: int = 8) -> str:
    """Say how often each value of a column occurs, the most frequent first: "a 12, b 3"."""
    counts = rows.group_by(pl.col(column).fill_null("–")).len().sort("len", column, descending=[True, False])
    listed = ", ".join(f"{value} {n:,}" for value, n in counts.head(limit).iter_rows())
    return listed + (", …" if counts.height > limit else "")


SHARED = 30
"""Two raters need so many subjects in common before their likeness is evidence."""
VARIED = 5
"""So many verdicts must differ from the most frequent one, or agreement costs nothing."""
ALIKE = 0.98
"""Two raters who agree this often gave the same verdicts, if people agree less."""
ROWS = 512
"""Raters that are compared with all others at once, which bounds the memory."""


class RaterPair(NamedTuple):
    """How often two raters give the same value to the same subject."""

    first: str
    second: str
    criterion: str
    n: int
    equal: int
    varied: bool


def pairs(rated: pl.DataFrame, people: list[str]) -> list[RaterPair]:
    """Compare every two raters on every criterion, by each subject's most frequent value (a tie is none).

    A crowd has too many pairs to keep. Kept are those that share SHARED subjects and can decide a check: pairs that are
    ALIKE, for each rater the closest of the others, and pairs without a person.
    """
    value = pl.coalesce(pl.col("number").cast(pl.String), pl.col("value").str.strip_chars())
    keys = ["subject", "rater"]
    compared = []
    for (criterion,), own in rated.group_by("criterion", maintain_order=True):
        modes = own.select(*keys, value=value).group_by(*keys, "value").len()
        modes = modes.filter(pl.col("len") == pl.col("len").max().over(keys)).filter(pl.len().over(keys) == 1)
        modes = modes.filter(pl.len().over("rater") >= SHARED)
        names = modes["rater"].unique().sort()
        for first, second, *counts in _counted(modes, names.is_in(people).to_numpy()):
            compared.append(RaterPair(names[int(first)], names[int(second)], str(criterion), *counts))  # type: ignore[arg-type]  # n, equal, varied
    return compared


def _counted(modes: pl.DataFrame, person: NDArray[np.bool_]) -> Iterator[tuple[int, int, int, int, bool]]:
    """Count what two raters share and give alike, a block of raters with all others at a time; raters are places by name."""
    answers = modes.with_columns(answer=pl.struct("subject", "value"))
    rater, subject, value, answer = (
        answers[name].rank("dense").to_numpy().astype(np.intp) - 1 for name in ("rater", "subject", "value", "answer")
    )
    shared, alike = _incidence(rater, subject), _incidence(rater, answer)
    frequent = answers.select(pl.len().over("rater", "value") > SHARED - VARIED).to_series().to_numpy()
    places = np.arange(len(person))
    for firsts in np.split(places, range(ROWS, len(places), ROWS)) if len(places) else ():
        n, equal = ((part[firsts] @ part.T).toarray() for part in (shared, alike))
        varied = np.ones(n.shape, dtype=bool)
        own = frequent & np.isin(rater, firsts)
        for level in np.unique(value[own]):  # a rarer value cannot be nearly all that two raters share
            of_level = own & (value == level)
            varied &= (
                n - (_incidence(rater[of_level], subject[of_level], shared.shape)[firsts] @ shared.T).toarray()
                >= VARIED
            )
        compared = (n >= SHARED) & (places > firsts[:, None])
        near = equal >= ALIKE * n
        kept = compared & (near | ~(person[firsts][:, None] | person))
        rest = np.where(compared & varied & ~near, equal / np.maximum(n, 1), 0.0)
        for axis in (0, 1):
            closest = np.expand_dims(rest.argmax(axis), axis)
            np.put_along_axis(kept, closest, np.take_along_axis(kept | (rest > 0), closest, axis), axis)
        first, second = np.nonzero(kept)
        columns = (firsts[first], second, n[first, second], equal[first, second], varied[first, second])
        yield from zip(*(column.tolist() for column in columns), strict=True)


def _incidence(rater: NDArray[np.intp], column: NDArray[np.intp], shape: tuple[int, int] | None = None) -> csr_array:
    """Return a sparse 1 wherever a rater has something."""
    shape = shape or (int(rater.max(initial=-1)) + 1, int(column.max(initial=-1)) + 1)
    return sparse.csr_array((np.ones(len(rater), dtype=np.int32), (rater, column)), shape)


# How two files' versions of one table differ: rows moved, texts changed, records replaced.


VERSIONS = 0.5
"""Two files are versions of one table if they have this share of their texts in common."""
EDITED = 0.5
"""Two versions of a text that are less alike than this (difflib's ratio) are two texts: one replaced the other."""
COMPARED = 2000
"""Characters of each text that are compared for likeness."""


class VersionDifference(NamedTuple):
    """A row whose text differs between two files; `moved` is how many rows away the first file has it, if at all."""

    key: str
    row: int
    other: int
    moved: int | None
    alike: float


def versions(rows: pl.DataFrame) -> dict[tuple[str, str], list[VersionDifference]]:
    """Compare the files that have versions of one table with the first of them, text by text.

    Texts are matched by kind, system, split and key (the id, or the row where ids are no keys). Returns the differences
    of each pair of files (first, other); pairs without any are left out.
    """
    differences_by_pair: dict[tuple[str, str], list[VersionDifference]] = {}
    tables: dict[tuple[str, ...], dict[str, dict[str, tuple[int, str]]]] = defaultdict(lambda: defaultdict(dict))
    columns = ["kind", "system", "split", "file", "key", "row", "plain"]
    reply_system = pl.when(pl.col("kind").is_in(("reply", "verdict"))).then(
        "system"
    )  # an input is the same for all systems
    rows = rows.with_columns(system=reply_system)
    shared = rows.filter(pl.col("file").n_unique().over("kind", "system", "split", "key") > 1)
    for kind, system, split, file, key, row, plain in shared.select(columns).iter_rows():
        tables[kind, system, split][file].setdefault(key, (row, plain))
    for files in tables.values():
        compared: list[str] = []
        for file, texts in files.items():
            first = next((earlier_file for earlier_file in compared if _same_table(files[earlier_file], texts)), None)
            compared.append(file)
            if first is not None and (differences := _differences(files[first], texts)):
                differences_by_pair.setdefault((first, file), []).extend(differences)
    return differences_by_pair


def _same_table(first: dict[str, tuple[int, str]], other: dict[str, tuple[int, str]]) -> bool:
    """Whether most keys of the smaller table are in both, and most of its texts too."""
    keys = len(first.keys() & other.keys())
    texts, others = {text for _, text in first.values()}, {text for _, text in other.values()}
    threshold = VERSIONS * min(len(first), len(other))
    return keys >= threshold and len(texts & others) >= VERSIONS * min(len(texts), len(others))


def _differences(first: dict[str, tuple[int, str]], other: dict[str, tuple[int, str]]) -> list[VersionDifference]:
    shared_keys = [key for key in other if key in first]
    differing = [key for key in shared_keys if first[key][1] != other[key][1]]
    if not differing:
        return []
    places: dict[str, list[int]] = defaultdict(list)
    for row, text in first.values():
        places[text].append(row)
    differences = []
    for key in differing:
        row, text = other[key]
        first_row = first[key][0]
        moved = min((place - first_row for place in places.get(text, [])), key=abs, default=None)
        alike = 0.0 if moved is not None else _alike(first[key][1], text)
        differences.append(VersionDifference(key, first_row, row, moved, alike))
    return differences


def _alike(first: str, second: str) -> float:
    matcher = SequenceMatcher(None, first[:COMPARED], second[:COMPARED], autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= EDITED else 0.0


# The material as the checks look at it: with what several of them need worked out once.


REPLIES = ("reply", "verdict")
"""Kinds of text that a model writes; every other kind is part of what an item puts to it."""
COPY = 0.9
"""A file of which this share of texts stands in a larger or earlier file of its split repeats it: it adds no items."""
BLOCK = 100_000
"""Ratings of so many are worked on at once, more only where one rater gave more."""


class View:
    """The texts and ratings of a material.

    `texts` has two more columns: `plain`, the text with its blanks evened out, and `place`, its position.
    `ratings` are those that say of whom, on what and by whom; `number` is the value as a number, null where it is none.
    `ends` has the scale of each criterion that was asked for (`values.scale`).
    """

    def __init__(self, material: Material) -> None:
        self.material = material
        plain = pl.col("text").str.replace_all(r"\s+", " ").str.strip_chars()
        texts = material.texts.with_columns(pl.col("text").fill_null(""))
        self.texts = texts.with_columns(plain=plain).with_row_index("place")
        placed = material.ratings.drop_nulls(["subject", "criterion", "rater"])
        self.ratings = placed.with_columns(number=_number())
        self.scales = material.scales
        self.ends: dict[str, tuple[float, float] | None] = {}
        self.options = material.options

    @functools.cached_property
    def rated(self) -> pl.DataFrame:
        """The ratings that have a value."""
        return only(self.ratings, pl.col("status") == "ok", pl.col("value").is_not_null())

    @property
    def opinions(self) -> pl.DataFrame:
        """The ratings that have a value and are somebody's, not the gold labels."""
        return only(self.rated, pl.col("rater_kind").fill_null("") != "gold")

    @property
    def scores(self) -> pl.DataFrame:
        """The opinions that are numbers on a scale; criteria with a gold value or a list of options are no scale."""
        closed = {*self.ratings.filter(pl.col("rater_kind") == "gold")["criterion"].unique(), *self.options}
        return only(self.opinions, pl.col("number").is_not_null(), ~pl.col("criterion").is_in(list(closed)))

    @functools.cached_property
    def keyed(self) -> pl.DataFrame:
        """The texts with `key`: what says which item one is. The id, or where ids are no keys the row."""
        ids = self.texts.filter(pl.col("id").is_not_null())
        per_id = ids.group_by("file", "kind", "system", "split", "id").agg(pl.col("plain").n_unique())
        shared = per_id.group_by("file", "kind").agg(bad=(pl.col("plain") > 1).mean())
        use_id = pl.col("id").is_not_null() & (pl.col("bad").fill_null(1.0) <= 0.1)
        key = pl.when(use_id).then("id:" + pl.col("id")).otherwise(pl.format("row:{}", "row"))
        return self.texts.join(shared, on=["file", "kind"], how="left", maintain_order="left").with_columns(key=key)

    @functools.cached_property
    def pairs(self) -> list[RaterPair]:
        """How often two raters agree, by criterion; see `pairs` for which are kept."""
        return pairs(self.rated, self.people)

    @functools.cached_property
    def people(self) -> list[str]:
        """The raters who are people; those of no stated kind where no kind is stated at all."""
        kinds = self.opinions.group_by("rater").agg(pl.col("rater_kind").drop_nulls().first()).sort("rater")
        persons = kinds.filter(pl.col("rater_kind") == "person")["rater"].to_list()
        return persons if kinds["rater_kind"].drop_nulls().len() else kinds["rater"].to_list()

    @functools.cached_property
    def dependent(self) -> tuple[list[Dependence], list[Suspicion]]:
        """Who among people depends on others by what they say."""
        return independence.detect(self.opinions, self.people)

    @functools.cached_property
    def versions(self) -> dict[tuple[str, str], list[VersionDifference]]:
        """How the files that hold the same things differ, by pair of files."""
        return versions(self.keyed)

    @functools.cached_property
    def items(self) -> pl.DataFrame:
        """One row per item: a row of a file that does not only repeat another file's texts.

        Columns: file, row, key, system, split, source, label, `input` (what is put to the model), `whole` (with the
        replies in the same row), `raw` (the input as it stands), `place`.
        """
        no_reply = ~pl.col("kind").is_in(REPLIES)
        rows = (
            self.keyed.sort("place")
            .group_by("file", "row", maintain_order=True)
            .agg(
                pl.col("key", "system", "split", "source", "label").drop_nulls().first(),
                pl.col("place").first(),
                input=pl.col("plain").filter(no_reply).str.join("\n"),
                raw=pl.col("text").filter(no_reply).str.join("\n"),
                whole=pl.col("plain").str.join("\n"),
                parts=pl.col("kind").filter(~pl.col("kind").is_in(["verdict"])).n_unique(),
            )
            .filter(pl.col("input") != "")
        )
        return rows.filter(~pl.col("file").is_in(list(_repeats(rows))))

    @functools.cached_property
    def asked(self) -> pl.DataFrame:
        """The items once each, where a file repeats them for every system."""
        repeated = self.items["system"].n_unique() > 1
        return self.items.unique(["split", "key"], keep="first", maintain_order=True) if repeated else self.items


def _repeats(rows: pl.DataFrame) -> set[str]:
    """Name the files that repeat another one of their split, text by text."""
    by_split: dict[str, list[set[str]]] = {}
    repeats = set()
    largest_first = rows.with_columns(size=pl.len().over("file")).sort("size", descending=True, maintain_order=True)
    for (file,), own in largest_first.group_by("file", maintain_order=True):
        split, texts = str(own["split"][0]), set(own["input"])
        if any(len(texts & other_texts) >= COPY * len(texts) for other_texts in by_split.get(split, [])):
            repeats.add(str(file))
        else:
            by_split.setdefault(split, []).append(texts)
    return repeats


def by_raters(ratings: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield all ratings of some raters at a time, in the order in which the raters first appear.

    What is computed rater by rater then takes little memory, however many ratings there are.
    """
    if ratings.height <= BLOCK:
        yield ratings
        return
    raters: list[str] = []
    size = 0
    for rater, n in ratings.group_by("rater", maintain_order=True).len().iter_rows():
        if raters and size + n > BLOCK:
            yield ratings.filter(pl.col("rater").is_in(raters))
            raters, size = [], 0
        raters.append(rater)
        size += n
    yield ratings.filter(pl.col("rater").is_in(raters))


def _number() -> pl.Expr:
    """Read values as numbers: quotes and blanks aside; null where one is none, also for NaN and infinity."""
    number = pl.col("value").str.strip_chars(" \t\r\n\"'").cast(pl.Float64, strict=False)
    return pl.when(number.is_finite()).then(number)
