"""The paper's human means and its 28 cells (judge and attribute), as published and repaired.

As published follows the authors: rows joined by ConvID, every value that parses (zeros and sixes too), the judge's own
system left out and the original reply in, so nine systems; intraclass correlations of the nine pairs of means; an
interval over 1,000 resamples of systems, those outside [0, 1] discarded; a class from that interval's width alone.
Repaired joins by concern, takes levels from 1 to 5 only, leaves out empty replies, and resamples systems and
conversations, keeping every resample.

The limits of the source's rule are the terciles of its own 28 printed widths, so a third of them is good whatever the judges do.

The authors pair by ConvID. A reply's ConvID is that of the released judges' rows, which were written from the replies; of
a judge that rated the reply here, too.
"""

from __future__ import annotations

import functools
import math
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec
import numpy as np

from mindgauge.benchmarks import RecomputedCell
from mindgauge.benchmarks.mentalbench import cells, released
from mindgauge.benchmarks.mentalbench.cells import ATTRIBUTES, CRITERIA, CellFault, Repair
from mindgauge.benchmarks.mentalbench.released import ORIGINAL, PEOPLE, Conversations, empty_replies
from mindgauge.records import RaterKind, Status
from mindgauge.records.rounding import count
from mindgauge.stats import bootstrap, icc, moments

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from mindgauge.benchmarks.mentalbench.cells import CellScores
    from mindgauge.benchmarks.mentalbench.released import ConversationRow, ParsedSheet
    from mindgauge.records import Rating, Reply

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]


LIMITS = {"GR": 0.355, "MR": 0.560}
"""The widest interval of each class, to three digits: good, moderate; above both poor (PR)."""
RESAMPLES = 1000


def source_interval(means: Floats) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Return the authors' intervals of ICC(C,1), and how many of their 1,000 resamples of systems they keep.

    Args:
        means: people's and the judge's mean of each system, shape (attributes, systems, 2).
    """
    weights = _weights(means.shape[1])
    values = icc.consistency(icc.mean_squares(means[:, None], weights))
    usable = np.isfinite(values) & (values >= 0) & (values <= 1)
    ends = np.array([bootstrap.percentile(of_attribute) for of_attribute in np.where(usable, values, np.nan)])
    return ends[:, 0], ends[:, 1], usable.sum(axis=1)


@functools.cache
def _weights(systems: int) -> Floats:
    """Return how often each of the authors' resamples draws each system; their script seeds every one anew."""
    seeds = np.random.RandomState(42).randint(0, 100_000, RESAMPLES)
    drawn = np.array([np.random.RandomState(seed).choice(systems, systems) for seed in seeds])
    weights: Floats = (drawn[:, :, None] == np.arange(systems)).sum(axis=1).astype(np.float64)
    return weights


def classify(width: float) -> str:
    """Return the class for an interval of this width."""
    return next((name for name, limit in LIMITS.items() if round(width, 3) <= limit), "PR")


def counted(own: Collection[str], systems: Sequence[str]) -> list[int]:
    """Return the places of the systems that count for a judge, all but its own, in the order in which the authors resample them."""
    places = [place for place, name in enumerate(systems) if name not in own]
    return sorted(places, key=lambda place: (systems[place] != ORIGINAL, systems[place]))


class Values(NamedTuple):
    """A sheet's values, read in two ways; NaN where there is none.

    `source` as the authors' scripts read them: zeros and sixes too, and no cell that needs more than its fence off.
    `levels` are levels from 1 to 5. `empty` tells replies that were empty.
    """

    rated: ParsedSheet
    systems: list[str]
    source: Floats
    levels: Floats
    empty: Mask

    @classmethod
    def of(cls, rated: ParsedSheet, empty: set[tuple[ConversationRow, str]]) -> Values:
        """Read every cell of a sheet once."""
        source, levels = [], []
        for column in rated.scores.values():
            source.append([source_values(scores) for scores in column])
            levels.append([[cells.level(raw) for raw in scores.raw] for scores in column])
        systems = list(rated.scores)
        empty_cells = [[(place, name) in empty for name in systems] for place in rated.places]
        shape = len(systems), len(rated.places), len(cells.CRITERIA)
        arrays = [np.array(part, dtype=np.float64).reshape(shape).swapaxes(0, 1) for part in (source, levels)]
        return cls(rated, systems, arrays[0], arrays[1], np.array(empty_cells, dtype=bool))  # None became NaN

    def only(self, systems: Sequence[str]) -> Values:
        """Return the values of some systems, in this order."""
        positions = [self.systems.index(name) for name in systems]
        return Values(
            self.rated, list(systems), self.source[:, positions], self.levels[:, positions], self.empty[:, positions]
        )

    @property
    def usable(self) -> Floats:
        """The levels of replies that were not empty."""
        levels = self.levels.copy()
        levels[self.empty] = np.nan
        return levels


def source_values(scores: cells.CellScores) -> list[float]:
    """Return the seven values of a cell as the authors' scripts read it; NaN where it needs more than its fence off."""
    if scores.repairs and scores.repairs != (Repair.FENCE,):
        return [np.nan] * len(scores.raw)
    return [raw if type(raw) is int else cells.as_source(raw) for raw in scores.raw]


class ValuePairs(NamedTuple):
    """Values of the same rows; NaN in both where one of them has none."""

    human: Floats
    judge: Floats


def by_row(people: Values, judge: Values) -> ValuePairs:
    """Pair rows of the same ConvID, the authors' way; of several rows with one ConvID the first."""
    rows, first = (
        {ident: row for row, ident in reversed([*enumerate(side.rated.sheet.conversation)])} for side in (judge, people)
    )
    both = sorted((row, rows[ident]) for ident, row in first.items() if ident in rows)
    return paired(people.source, judge.source, both)


def by_concern(people: Values, judge: Values) -> ValuePairs:
    """Pair rows of the same conversation, levels only, without empty replies; rows that repeat a concern stay out."""
    rows = {place: row for row, place in enumerate(judge.rated.places) if place}
    both = [(row, rows[place]) for row, place in enumerate(people.rated.places) if place in rows]
    return paired(people.usable, judge.usable, both)


def paired(human: Floats, judge: Floats, rows: Sequence[tuple[int, int]]) -> ValuePairs:
    """Put these rows side by side."""
    of_human, of_judge = np.array(rows, dtype=np.intp).reshape(-1, 2).T
    human, judge = human[of_human], judge[of_judge]
    both = np.isfinite(human) & np.isfinite(judge)
    return ValuePairs(np.where(both, human, np.nan), np.where(both, judge, np.nan))


# The paper's human means and its 28 cells (judge and attribute), as published and repaired.


PUBLISHED = Path(__file__).parent / "published.toml"
SYSTEMS = {
    "GPT-4o": "gpt-4o",
    "Gemini-2.0-Flash": "gemini-2.0-flash",
    "GPT-4o-Mini": "gpt-4o-mini",
    "LLaMA-3.1-8B": "llama-3.1-8b",
    "DeepSeek-LLaMA-8B": "deepseek-llama-8b",
    "Qwen-2.5-7B": "qwen-2.5-7b",
    "Claude-3.5-Haiku": "claude-3.5-haiku",
    "DeepSeek-Qwen-7B": "deepseek-qwen-7b",
    "Qwen-3-4B": "qwen-3-4b",
}
JUDGES = {"Claude": "claude-3-7-sonnet-20250219", "GPT-4o": "gpt-4o", "Gemini": "gemini", "o4-mini": "o4-mini"}


class Estimates(NamedTuple):
    """What the 28 cells are made of, each of shape (attributes,), and the number of pairs."""

    c1: Floats
    a1: Floats
    human_mean: Floats
    judge_mean: Floats
    bias: Floats
    mse: Floats
    n: Floats


def reproduce(data: Path) -> Iterator[RecomputedCell]:
    """Recompute what the files that are there suffice for; a cell without its files says which it needs.

    Raises:
        DataError: nothing usable is there, or a file is broken.
    """
    files = released.find(data)
    conversations = Conversations(files)
    rated = conversations.rated(files)
    empty = empty_replies(files, conversations, rated)
    by_rater = {ratings.sheet.rater: Values.of(ratings, empty) for ratings in rated}
    people = by_rater.pop(released.PEOPLE, None)
    computed = set()
    for cell in (*_human_means(people), *_cells(people, by_rater)) if people else ():
        if not cell.repaired:
            computed.add((cell.table, cell.row, cell.column))
        yield cell
    for table in tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))["table"]:
        for row in table["rows"]:
            for column in table["columns"]:
                if (table["name"], row, column) not in computed:
                    needs = table["needs"].replace("*", row.partition(" / ")[0].lower())
                    yield RecomputedCell(table["name"], row, column, None, f"needs {needs}, with every system")


def _human_means(people: Values) -> Iterator[RecomputedCell]:
    names = {paper: name for paper, name in SYSTEMS.items() if name in people.systems}
    shown_systems = people.only([*names.values()])
    repair = "levels 1 to 5, no empty replies"
    for values, repaired, note in ((shown_systems.source, False, ""), (shown_systems.usable, True, repair)):
        for row, paper in enumerate(names):
            means = [_mean(values[:, row, k]) for k in range(len(ATTRIBUTES))]
            for column, mean in zip((*ATTRIBUTES, "average"), (*means, sum(means) / len(means)), strict=True):
                yield RecomputedCell("human means", paper, column, mean, note, repaired)


def _mean(values: Floats) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else math.nan


def _cells(people: Values, judges: dict[str, Values]) -> Iterator[RecomputedCell]:
    for paper, name in JUDGES.items():
        judge, systems = judges.get(name), units(name)
        if judge is None or not {*systems} <= {*people.systems} & {*judge.systems}:
            continue
        rows = [f"{paper} / {attribute}" for attribute in ATTRIBUTES]
        both = people.only(systems), judge.only(systems)
        published, repaired = by_row(*both), by_concern(*both)
        if len(published.human):
            yield from as_published(rows, published)
        if len(repaired.human):
            figures = estimates(repaired)
            low, high = two_way_interval(repaired)
            for k, row in enumerate(rows):
                note = f"joined by concern, levels 1 to 5, no empty replies; n = {count(int(figures.n[k]))}"
                yield from _row(row, figures, low, high, k, note, repaired=True)


def as_published(rows: Sequence[str], pairs: ValuePairs) -> Iterator[RecomputedCell]:
    """Compute the cells of one judge, a row for each attribute, as the authors compute them."""
    figures = estimates(pairs)
    low, high, counts = source_interval(system_means(pairs))
    for k, row in enumerate(rows):
        lost = f", {RESAMPLES - counts[k]} resamples discarded" * bool(counts[k] < RESAMPLES)
        yield from _row(row, figures, low, high, k, f"n = {count(int(figures.n[k]))}{lost}")


def _row(
    row: str, figures: Estimates, low: Floats, high: Floats, k: int, note: str, *, repaired: bool = False
) -> Iterator[RecomputedCell]:
    width = high[k] - low[k]
    interval = {"low": low[k], "high": high[k], "width": width}
    resampled = "systems and conversations resampled, all kept" if repaired else note
    for column, values in figures._asdict().items():
        if column != "n":
            yield RecomputedCell("cells", row, column, float(values[k]), note, repaired)
    for column, value in interval.items():
        yield RecomputedCell("cells", row, column, float(value), resampled, repaired)
    rule = "the source's rule on the repaired width" if repaired else "by the width alone"
    yield RecomputedCell("cells", row, "status", classify(width) if math.isfinite(width) else None, rule, repaired)


def units(judge: str) -> list[str]:
    """Return the systems that the authors take for a judge: the original reply and all but its own."""
    return [name for name in (released.ORIGINAL, *sorted(SYSTEMS.values())) if name != released.OWN_SYSTEM[judge]]


def system_means(values: ValuePairs) -> Floats:
    """Return each system's two means over the pairs that both rated, shape (attributes, systems, 2)."""
    with np.errstate(invalid="ignore"):
        n = np.isfinite(values.human).sum(axis=0)
        sums = [np.nansum(side, axis=0) for side in values]
        means: Floats = np.stack(sums, axis=-1).swapaxes(0, 1) / n.T[..., None]
    return means


def estimates(values: ValuePairs) -> Estimates:
    """Compute the 28 cells' numbers for one judge: correlations of system means, the rest over all pairs."""
    squares = icc.mean_squares(system_means(values))
    both = np.isfinite(values.human)
    sums = np.concatenate(
        [
            moments.moments(values.human[..., k][both[..., k]], values.judge[..., k][both[..., k]])
            for k in range(len(ATTRIBUTES))
        ]
    )
    return Estimates(
        icc.consistency(squares), icc.agreement(squares), moments.mean_first(sums), moments.mean_second(sums),
        moments.bias(sums), moments.mse(sums), sums[:, 0],
    )  # fmt: skip


def two_way_interval(values: ValuePairs, resamples: int = 2000) -> tuple[Floats, Floats]:
    """Return percentile intervals of ICC(C,1) over resamples of systems and of conversations, each of shape (attributes,)."""
    rows, systems, attributes = values.human.shape
    both = np.isfinite(values.human)
    columns = np.concatenate(
        [np.where(both, side, 0.0).reshape(rows, -1) for side in values] + [both.reshape(rows, -1)], axis=1
    )
    resampled = []
    for of_systems, of_rows in bootstrap.two_way_weights(systems, rows, resamples, columns=columns.shape[1]):
        human, judge, n = np.split((of_rows @ columns).reshape(-1, 3, systems, attributes), 3, axis=1)
        with np.errstate(invalid="ignore"):
            means = np.stack([human[:, 0], judge[:, 0]], axis=-1) / n[:, 0, ..., None]
        squares = icc.mean_squares(means.swapaxes(1, 2), of_systems[:, None])
        resampled.append(icc.consistency(squares))
    return _percentiles(np.concatenate(resampled).T)


def _percentiles(values: Floats) -> tuple[Floats, Floats]:
    ends = np.array([bootstrap.percentile(of_attribute) for of_attribute in values])
    return ends[:, 0], ends[:, 1]


_Place: TypeAlias = tuple[str, str, int]
"""A ConvID, a system, an attribute."""
_ATTRIBUTES = {name: k for k, name in enumerate(CRITERIA)}
_UNREAD = {CellFault.EMPTY_CELL, CellFault.REFUSAL, CellFault.NO_VERDICT}


class RunValues(NamedTuple):
    """What a run holds; of each rater an array (ConvIDs, systems, attributes), NaN where there is no value."""

    systems: list[str]
    """In the order in which the authors resample them."""
    by_rater: dict[str, Floats]
    verdicts: dict[str, list[Rating]]
    """The verdicts of the judges that rated here, and not in a released file."""
    empty: frozenset[str]
    """The replies that came to nothing, so that no judge is shown them."""

    def beside_people(self, judge: str, systems: Sequence[str]) -> ValuePairs:
        """Pair people's values and a judge's, of these systems."""
        places = [self.systems.index(name) for name in systems]
        human, judged = (self.by_rater[rater][:, places] for rater in (PEOPLE, judge))
        return paired(human, judged, [(row, row) for row in range(len(human))])


def of_run(
    replies: Iterable[Reply], ratings: Iterable[Rating], answer: Callable[[str], str | None]
) -> RunValues | None:
    """Read the values of a run; None where it holds none of the panel, as every run but a loaded one.

    Args:
        replies: of the run.
        ratings: of the run.
        answer: returns the text of a judge's answer by its call, if the run keeps it.
    """
    of_reply = {reply.id: reply for reply in replies}
    home: dict[str, str] = {}
    values: dict[str, dict[_Place, float]] = {}
    verdicts: dict[str, list[Rating]] = {}
    for rating in ratings:
        if rating.criterion not in _ATTRIBUTES or rating.subject not in of_reply or rating.rater_kind is RaterKind.RULE:
            continue
        if (ident := rating.provenance.get("conv_id")) is None:
            verdicts.setdefault(rating.rater, []).append(rating)
            continue
        place = ident, of_reply[rating.subject].model, _ATTRIBUTES[rating.criterion]
        values.setdefault(rating.rater, {})[place] = _of_cell(rating)
        if rating.rater_kind is RaterKind.MODEL:
            home[rating.subject] = ident
    if PEOPLE not in values:
        return None
    for judge, of_judge in verdicts.items():
        values[judge] = {}
        read = functools.lru_cache(maxsize=1)(lambda call: cells.read(answer(call)))  # of one call, all seven follow
        for rating in sorted(of_judge, key=lambda rating: (rating.subject, rating.run)):
            reply = of_reply[rating.subject]
            if (ident := home.get(reply.id, reply.provenance.get("conv_id"))) is not None:
                place = ident, reply.model, _ATTRIBUTES[rating.criterion]
                values[judge].setdefault(place, _of_answer(rating, read))
    empty = frozenset(reply.id for reply in of_reply.values() if reply.status is not Status.OK)
    return RunValues(*_arrays(values), verdicts, empty)


def _arrays(values: dict[str, dict[_Place, float]]) -> tuple[list[str], dict[str, Floats]]:
    """Return the systems that people rated, and each rater's values of these and of people's ConvIDs."""
    idents = {ident: row for row, ident in enumerate(dict.fromkeys(ident for ident, *_ in values[PEOPLE]))}
    names = {system for _, system, _ in values[PEOPLE]}
    systems = [*sorted(names, key=lambda name: (name != ORIGINAL, name))]
    places = {name: place for place, name in enumerate(systems)}
    arrays = {}
    for rater, of_rater in values.items():
        arrays[rater] = np.full((len(idents), len(systems), len(CRITERIA)), np.nan)
        for (ident, system, attribute), value in of_rater.items():
            if ident in idents and system in places:
                arrays[rater][idents[ident], places[system], attribute] = value
    return systems, arrays


def _of_cell(rating: Rating) -> float:
    """Return what the authors' scripts read in a released cell: zeros and sixes too, and no cell that needs more than its fence off."""
    provenance = rating.provenance
    if provenance.get("fault") in _UNREAD or provenance.get("repair", Repair.FENCE) != Repair.FENCE:
        return math.nan
    return cells.as_source(provenance.get("released") if rating.value is None else rating.value)


def _of_answer(rating: Rating, read: Callable[[str], CellScores]) -> float:
    """Return what the same scripts would read in a judge's answer; where it is in no form of theirs, the value that we read."""
    scores = read(rating.provenance.get("call", ""))
    place = _ATTRIBUTES[rating.criterion]
    if scores.fault is not None or scores.raw[place] is msgspec.UNSET:
        return cells.as_source(rating.value)
    return source_values(scores)[place]
