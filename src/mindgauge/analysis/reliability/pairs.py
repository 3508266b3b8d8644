"""Who is compared with whom, and a judge beside one person at a time, as the sums that every coefficient of two raters needs.

Where every rater is a person there is no judge, and people are compared among themselves.

For each conversation and system there are six sums of a person's value and the judge's, for differences and
correlations, and a table of how often a person said a where the judge said b, for categories. A subject has weight 1
however many people rated it, and each of them an equal part of it: agreement is with a single person, so that more
people make it surer and not higher; one that was drawn with a known probability has the weight of those that it stands
for. Resampling conversations weights the rows, resampling systems weights blocks of
columns, and each coefficient is a function of what is left.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from scipy import sparse

from mindgauge.analysis import drawn
from mindgauge.records.english import nearest
from mindgauge.records.errors import DataError, UsageError
from mindgauge.stats.codes import dense
from mindgauge.stats.moments import terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from mindgauge.analysis.reliability.scale import ValueScale

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]


_PEOPLE = re.compile(
    r"(human|people|person|panel|expert|clinician|annotator|therapist|gold|h)s?[\W_]*\d*", re.IGNORECASE
)
"""Names that plainly say people, for files without `rater_kind`."""


def split(frame: pl.DataFrame, names: Sequence[str], notes: list[str]) -> tuple[list[str], list[str]]:
    """Return the reference raters and the judges.

    Without names the reference is every rater of kind `person`, else of kind `gold`, else those whose names plainly
    say so; other persons are then no judges.

    Raises:
        UsageError: a name is unknown.
        DataError: there is only one rater, it is not known who is a person, or there is neither a judge nor a second
            person.
    """
    raters = {
        str(rater): kind
        for rater, kind in frame.group_by("rater").agg(pl.col("rater_kind").first()).sort("rater").iter_rows()
    }
    if len(raters) < 2:
        raise DataError(
            f"only one rater here ({next(iter(raters))}): agreement needs a second one, a judge or a person"
        )
    reference = _named(raters, names) if names else _found(raters, notes)
    kinds = {"person", "gold", "rule"} if not names else {"gold", "rule"}
    judges = [rater for rater, kind in raters.items() if rater not in reference and kind not in kinds]
    if not judges and len(reference) < 2:
        raise DataError(
            f"beside {reference[0]} there is no judge here and no second person ({_some(raters)}); name whom to compare with by --reference RATER"
        )
    return reference, judges


def _named(raters: dict[str, str | None], names: Sequence[str]) -> list[str]:
    for name in names:
        if name not in raters:
            hint = nearest(name, raters, f"raters are {_some(raters)}")
            raise UsageError(f"--reference {name!r}: no such rater; {hint}")
    return list(dict.fromkeys(names))


def _found(raters: dict[str, str | None], notes: list[str]) -> list[str]:
    for kind in ("person", "gold"):
        matching = [rater for rater, rater_kind in raters.items() if rater_kind == kind]
        if matching:
            return matching
    matching = [rater for rater, kind in raters.items() if kind is None and _PEOPLE.fullmatch(rater)]
    if matching:
        notes.append(
            f"there is no rater_kind; by their names, {_some(matching)} {'are' if len(matching) > 1 else 'is'} taken as people (--reference says otherwise)"
        )
        return matching
    raise DataError(
        f"which raters are people? Name each with --reference RATER, or give a column rater_kind with the value person; raters are {_some(raters)}"
    )


def _some(names: dict[str, str | None] | list[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:8]) + (f" and {len(listed) - 8} more" if len(listed) > 8 else "")


# A judge beside one person at a time, as sums: what every coefficient of two raters needs, and nothing more.


MOMENTS = 6


class RatingPairs(NamedTuple):
    """People's values and a judge's on one criterion.

    `cells` has shape (conversations, systems × m): m = six moments around the scale's lowest value if it is ordered,
    then levels² counts (person's level × judge's) if it has levels. `present` holds the indices of the systems
    that occur; `rated` has shape (systems,) and counts what of each was rated by both.
    """

    cells: Floats | csr_array
    scale: ValueScale
    present: Codes
    rated: Codes

    @property
    def subjects(self) -> int:
        """How many subjects were rated by both."""
        return int(self.rated.sum())

    @property
    def systems(self) -> int:
        """The number of systems."""
        return len(self.present)

    @property
    def width(self) -> int:
        """m, the number of columns of one system."""
        return self._before + (len(self.scale.values) ** 2 if self.scale.levels else 0)

    @property
    def _before(self) -> int:
        return MOMENTS if self.scale.ordered else 0

    @property
    def origin(self) -> float:
        """What the moments are measured from."""
        return self.scale.low

    @property
    def clusters(self) -> int:
        """The number of conversations."""
        return int(self.cells.shape[0])

    def of(self, place: int) -> RatingPairs:
        """Return what is of one system, by its place among the `present`."""
        cells, present = self.cells[:, place * self.width : (place + 1) * self.width], slice(place, place + 1)
        filled = cells.any(axis=1) if isinstance(cells, np.ndarray) else np.diff(cells.indptr) > 0
        cells = cells[filled]
        if not isinstance(cells, np.ndarray) and cells.shape[0] * cells.shape[1] <= SMALL:
            cells = cells.toarray()
        return RatingPairs(cells, self.scale, self.present[present], self.rated[present])

    def whole(self) -> Floats:
        """Return everything, each conversation once: blocks of shape (1, systems, m)."""
        return self.blocks(self.cells.sum(axis=0))

    def blocks(self, sums: Floats) -> Floats:
        """Reshape rows of `cells`, or weighted sums of them, to (B, systems, m)."""
        return np.asarray(sums).reshape(-1, self.systems, self.width)

    def moments(self, sums: Floats) -> Floats:
        """Cut the moments out of (…, m): shape (…, 6); only where the scale is ordered."""
        return sums[..., : self._before]

    def joint(self, sums: Floats) -> Floats:
        """Cut the table of levels out of (…, m): shape (…, q, q); only where the scale has levels."""
        q = len(self.scale.values)
        return sums[..., self._before :].reshape(*sums.shape[:-1], q, q)

    def sizes(self, blocks: Floats) -> Floats:
        """Return how many subjects blocks of shape (B, systems, m) hold, shape (B, systems)."""
        return np.asarray(blocks[..., 0] if self.scale.ordered else blocks.sum(axis=2))

    def opposed(self, blocks: Floats, share: float) -> Floats:
        """Return blocks (1, systems, m) in which a share of the subjects has values at the two ends of the scale.

        Half of these have the person's value at the low end and the judge's at the high end, half the other way round.
        """
        low, high, q = np.zeros(1), np.array([self.scale.high - self.origin]), len(self.scale.values)
        column = np.zeros(self.width)
        if self.scale.ordered:
            for x, y in ((low, high), (high, low)):
                column[:MOMENTS] += np.concatenate(terms(x, y)) / 2
        if self.scale.levels:
            column[self._before + q - 1] += 0.5
            column[self._before + q * (q - 1)] += 0.5
        return np.asarray((1 - share) * blocks + share * self.sizes(blocks)[..., None] * column)


def pair(people: pl.DataFrame, judge: pl.DataFrame, scale: ValueScale) -> RatingPairs:
    """Put each person's value of a subject beside the judge's: of several the mean where there is an order, each in tables.

    A subject's weights add up to 1, or to what it stands for.

    Args:
        people: columns subject, cluster, system (indices), number, and `drawn.COLUMNS` where they were drawn; rows with a
            value only.
        judge: columns subject, number.
        scale: of the values.
    """
    return _paired(people, judge, scale, people["system"].to_numpy(), drawn.weights(people))


def pair_each(people: pl.DataFrame, judge: pl.DataFrame, scale: ValueScale, group: Codes) -> dict[int, RatingPairs]:
    """Put people beside the judge in each group of subjects apart, whatever systems are in it; groups with pairs only.

    Args:
        people: as `pair` takes them.
        judge: likewise.
        scale: of the values.
        group: shape (n,), of each row of people; below 0 for rows that are in none.
    """
    inside = group >= 0
    people, group = people.filter(inside), group[inside]
    paired = _paired(people, judge, scale, group, drawn.weights(people, group))
    return {int(name): paired.of(place) for place, name in enumerate(paired.present)}


MOST_BESIDE = 32
"""Where a subject has more raters, its values are counted, and not paired one by one."""


def beside_others(rated: pl.DataFrame, raters: Sequence[str]) -> Iterator[tuple[str, pl.DataFrame, pl.DataFrame]]:
    """Yield each rater with their rows and those of the other `raters` on the same subjects, in the order of the table.

    A value of others has a row for each of them; where a subject has a crowd, one for all, `times` as many.
    """
    rows = rated.filter(pl.col("rater").is_in(list(raters)))
    columns = {"subject", "cluster", "system", "category", "number", *drawn.COLUMNS}
    values = rows.select(name for name in rows.columns if name in columns)
    own_values, place = values.select("subject", "number"), np.arange(len(rows))
    if int(rows["subject"].value_counts()["count"].max() or 0) > MOST_BESIDE:  # type: ignore[arg-type]
        place = values.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(np.intp) - 1
        values = values[np.unique(place, return_index=True)[1]]
    times = np.bincount(place, minlength=len(values))
    names, subject = dense(values["subject"].to_numpy())
    order = np.argsort(subject, kind="stable")
    of_subject = np.split(order, np.searchsorted(subject[order], np.arange(1, len(names))))
    owned = dict(rows.select("rater", place=pl.int_range(pl.len())).group_by("rater").agg("place").iter_rows())
    weighted = "probability" in rows.columns and rows["probability"].null_count() < len(rows)
    for rater in raters:
        own = np.array(owned.get(rater, []), dtype=np.intp)
        shared = [own[:0], *(of_subject[i] for i in np.unique(subject[place[own]]))]
        shared_values = (
            np.arange(len(values)) if weighted else np.sort(np.concatenate(shared))
        )  # weights are relative to all
        other_times = times[shared_values] - np.bincount(
            np.searchsorted(shared_values, place[own]), minlength=len(shared_values)
        )
        others = values[shared_values[other_times > 0]].with_columns(pl.Series("times", other_times[other_times > 0]))
        yield rater, own_values[own], others


def numbered(column: pl.Series) -> tuple[list[str], Codes]:
    """Return the names in a column, in order, and the place of each row's among them, shape (n,); -1 where it has none."""
    names = column.drop_nulls().unique().sort()
    places = column.cast(pl.Enum(names)).to_physical().cast(pl.Int64).fill_null(-1)  # sooner than ranking texts
    return names.to_list(), places.to_numpy().astype(np.intp)


SMALL = 100_000
"""Numbers of which a dense table is sooner read than a sparse one, and each row sooner looked at than told from the others."""


def summed(data: Floats, rows: Codes, columns: Codes, shape: tuple[int, int]) -> Floats | csr_array:
    """Add up entries by row and column: a dense table where that is small, a sparse one otherwise.

    Both to the same last digit: which resample draws which conversation hangs on it (`bootstrap.types`).
    """
    cells = sparse.coo_array((data, (rows, columns)), shape=shape).tocsr()
    return cells if shape[0] * shape[1] > SMALL else cells.toarray()


def _paired(
    people: pl.DataFrame, judge: pl.DataFrame, scale: ValueScale, system: Codes, weights: Floats
) -> RatingPairs:
    """Put people beside a judge, where rows of people are of some systems and have some weights, shape (n,) each."""
    subject = judge["subject"].to_numpy()
    order = np.argsort(subject, kind="stable")
    verdict = judge["number"].to_numpy()[order]
    judged, start, repeats = np.unique(subject[order], return_index=True, return_counts=True)
    rated = people["subject"].to_numpy()
    place = np.searchsorted(judged, rated)
    shared = np.flatnonzero(np.append(judged, -1)[place] == rated)
    place, value = place[shared], people["number"].to_numpy()[shared]
    _, first, number = np.unique(place, return_index=True, return_inverse=True)
    times = people["times"].to_numpy()[shared] if "times" in people.columns else np.ones(len(shared))
    weight = weights[shared] * times / np.bincount(number, times)[number]
    conversations, row = dense(people["cluster"].to_numpy()[shared])
    present, block = dense(system[shared])
    before, q = MOMENTS if scale.ordered else 0, len(scale.values) if scale.levels else 0
    width = before + q**2
    column = block * width
    parts: list[tuple[Floats, Codes, Codes]] = []
    if scale.ordered:
        mean = np.bincount(np.repeat(np.arange(len(judged)), repeats), verdict, len(judged)) / repeats
        for i, term in enumerate(terms(value - scale.low, mean[place] - scale.low)):
            parts.append((weight * term, row, column + i))
    if q:
        verdicts = repeats[place]
        person = np.repeat(np.arange(len(place)), verdicts)
        within = np.arange(len(person)) - np.repeat(np.cumsum(verdicts) - verdicts, verdicts)
        x, y = (
            np.searchsorted(scale.values, level) for level in (value[person], verdict[start[place][person] + within])
        )
        parts.append(((weight / verdicts)[person], row[person], column[person] + before + x * q + y))
    data, rows, columns = (np.concatenate([part[i] for part in parts]) for i in range(3))
    cells = summed(data, rows, columns, (len(conversations), len(present) * width))
    of_systems = np.bincount(block[first], minlength=len(present))
    return RatingPairs(cells, scale, present.astype(np.intp), of_systems)
