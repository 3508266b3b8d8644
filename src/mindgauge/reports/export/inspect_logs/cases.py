"""What becomes a sample of a log: a reply, a dialogue with its turns, or the answer to a closed question; and what of it was rated."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge.raters.window import WHOLE, Unit
from mindgauge.records import Message, Reply, Sample, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mindgauge.benchmarks import Benchmark
    from mindgauge.store import Store

_REPLIES = """
SELECT rowid, id, sample, model, run, status, json_extract(provenance, '$.unit'), json_extract(provenance, '$.turn'),
    json_extract(provenance, '$.target'),
    json_array(json_extract(provenance, '$.dialogue'), json_extract(provenance, '$.source_file'),
        json_extract(provenance, '$.source_row'), json_extract(provenance, '$.source_id'))
FROM replies WHERE benchmark = ? ORDER BY rowid"""
_ANSWERS = """
SELECT DISTINCT series.rater, rated.subject, rated.run FROM series JOIN rated ON rated.series = series.id
    JOIN origins ON origins.id = rated.origin
WHERE series.benchmark = ? AND origins.rater_kind IN ('model', 'classifier')"""


class RatedPart(NamedTuple):
    """What of a case was rated at once."""

    subject: str
    """As ratings call it."""
    unit: str = ""
    """Empty for a reply that stands alone, and for an answer to a closed question."""
    turn: int = 0

    @property
    def mark(self) -> str:
        """What a rater's name gains in the log: the turn that was rated."""
        if self.unit == Unit.TURN:
            return f"@{self.turn}"
        return f"@client {self.turn}" if self.unit == Unit.CLIENT else ""


class LogCase(NamedTuple):
    """One sample of a log."""

    sample: Sample
    epoch: int
    dialogue: tuple[Message, ...]
    """The dialogue up to the last reply."""
    reply: Reply | None
    """The last; None for the answer to a closed question, which is a rating."""
    parts: list[RatedPart]
    outcome: Reply | None = None
    """What became of a dialogue as a whole, where that is known."""


class _Stored(NamedTuple):
    """Where a reply stands in the run, and what it is of its dialogue."""

    place: int
    ident: str
    status: str
    unit: str
    turn: int


class CasePlaces:
    """Where the cases of one model stand in a run; each is read when its turn comes."""

    def __init__(self, store: Store, benchmark: Benchmark) -> None:
        """Describe them."""
        self._store, self._benchmark = store, benchmark
        self._groups: dict[tuple[int, str, str], list[_Stored]] = {}
        """Repeat, sample or dialogue, and reply where it stands alone → what belongs together."""
        self._answers: list[tuple[str, int]] = []

    def __len__(self) -> int:
        return len(self._groups) + len(self._answers)

    def add(self, key: tuple[int, str, str], stored: _Stored) -> None:
        """Add a reply to the case of a key."""
        self._groups.setdefault(key, []).append(stored)

    def answer(self, sample: str, run: int) -> None:
        """Add the answer to a closed question."""
        self._answers.append((sample, run))

    @property
    def epochs(self) -> int:
        """The most repeats of a case."""
        return max([run for run, _, _ in self._groups] + [run for _, run in self._answers], default=0) + 1

    @property
    def distinct(self) -> int:
        """How many cases there are, repeats aside."""
        return len({about for _, about, _ in self._groups} | {sample for sample, _ in self._answers})

    def cases(self) -> Iterator[LogCase]:
        """Read the cases, one after the other."""
        for group in self._groups.values():
            yield self._of_replies(group)
        for ident, run in self._answers:
            sample = self._store.sample(self._benchmark.name, ident)
            yield LogCase(sample, run + 1, sample.messages, None, [RatedPart(ident)])

    def _of_replies(self, group: list[_Stored]) -> LogCase:
        complete = next((stored for stored in group if stored.unit == Unit.DIALOGUE), None)
        turns = [stored for stored in group if stored.unit not in {Unit.DIALOGUE, Unit.CLIENT}]
        answered = [stored for stored in turns if stored.status == Status.OK]
        last = max(
            answered or ([] if complete else turns), key=lambda stored: stored.turn, default=complete or group[0]
        )
        reply = self._store.reply_at(last.place)
        sample = self._store.sample(self._benchmark.name, reply.sample)
        dialogue = reply.answered(sample).messages
        outcome = self._store.reply_at(complete.place) if complete is not None else None
        if outcome is not None:
            sample = self._store.sample(self._benchmark.name, outcome.sample)
        alone = len(group) == 1 and last.unit != Unit.DIALOGUE
        rated = [stored for stored in group if stored.status != Status.NOT_APPLICABLE] or group
        # A viewer shows few scores of many: those of the whole dialogue come first.
        first_of_all = sorted(rated, key=lambda stored: stored.unit != Unit.DIALOGUE)
        parts = [RatedPart(stored.ident, "" if alone else stored.unit, stored.turn) for stored in first_of_all]
        return LogCase(sample, reply.run + 1, dialogue, reply, parts, outcome)


def by_model(store: Store, benchmark: Benchmark) -> dict[str, CasePlaces]:
    """Return the cases of each model that was measured, in the order of their names."""
    models: dict[str, CasePlaces] = {}

    def places(model: str) -> CasePlaces:
        return models.setdefault(model, CasePlaces(store, benchmark))

    for place, ident, sample, model, run, status, unit, turn, target, dialogue in store.select(
        _REPLIES, (benchmark.name,)
    ):
        stored = _Stored(place, ident, status, unit or "", turn or 0)
        name = target or str(model).removesuffix(WHOLE)
        places(name).add((run, dialogue, "") if unit else (run, sample, ident), stored)
    if benchmark.closed:
        for rater, subject, run in store.select(_ANSWERS, (benchmark.name,)):
            places(rater).answer(subject, run)
    return dict(sorted(models.items()))


def in_pages(cases: Iterable[LogCase], size: int = 200) -> Iterator[list[LogCase]]:
    """Yield cases so many at a time."""
    page: list[LogCase] = []
    for case in cases:
        page.append(case)
        if len(page) == size:
            yield page
            page = []
    if page:
        yield page
