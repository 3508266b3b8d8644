"""Every reply's place in the Hugging Face layout, its item, split and id, and what raters said of it, read a few replies at a time.

Ids are SHA-256 over canonical JSON of content and provenance, so that they are the same in every export of the same
run, on every machine. An item that occurs several times in its set has one text but several ids, told apart by an
ordinal; the rows that its replies were read from give their order.

Names are made safe for paths and configs; people's names do not leave the house.

Of a run with a million ratings no more is held than is written at once.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from itertools import count as numbers_from
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.benchmarks.hub_layout.tables import EXAMPLE, LABEL, RESPONSE
from mindgauge.records import HELD, RaterKind, Rating, Reply, Sample, Status
from mindgauge.records.drawn import DRAWN
from mindgauge.records.text import compatible
from mindgauge.store.failures import damaged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.store import Store


_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_ANONYMOUS = re.compile(r"H\d+")
_LONGEST = 80


def config_name(name: str) -> str:
    """Return a safe file name as it stands in the name of a config or split."""
    return re.sub(r"\W", "_", name)


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Give every name one that is safe as a file name, without folders in it, on any system.

    Names that would be the same then, in a config's spelling too, get part of their hash.
    """
    distinct = sorted(set(names))
    plain = {name: _UNSAFE.sub("_", name).lstrip("._-")[:_LONGEST] or "unnamed" for name in distinct}
    uses = Counter(config_name(safe).casefold() for safe in plain.values())
    return {
        name: safe
        if uses[config_name(safe).casefold()] == 1
        else f"{safe}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        for name, safe in plain.items()
    }


def pseudonyms(people: Iterable[str]) -> dict[str, str]:
    """Call people H1, H2, … in the order of their names; who is called so already keeps that name."""
    persons = sorted(set(people))
    free = (name for number in numbers_from(1) if (name := f"H{number}") not in persons)
    return {person: person if _ANONYMOUS.fullmatch(person) else next(free) for person in persons}


def file_only(source: object) -> str | None:
    """Return where a record was read from; of a path on somebody's machine only the file's name."""
    if source is None:
        return None
    text = str(source)
    private = text.startswith(("/", "~", "\\")) or re.match(r"[A-Za-z]:", text) or ".." in text.split("/")
    return re.split(r"[/\\]", text)[-1] if private else text


SPLIT = "validation"
"""Where items go whose `split` tag does not say: the layout's own name for the set that people rate."""
RULES = {
    "example_id": (
        'ex_ + [split, messages as [{"role", "content"}], occurrence from 0]; with sample_id behind it where a sample before has this text'
    ),
    "response_id": "rs_ + [example_id, answer_model, answer_run]",
    "evaluation_id": (
        'ev_ + [response_id, evaluator_model, run], [response_id, evaluator_model, "merged"], '
        '[response_id, "human:H1"] or [response_id, evaluator_model, "review:SET"]; '
        "with a criterion in front of the run where the rubric has several"
    ),
    "hash": "first 32 hexadecimal digits of the SHA-256 of JSON with sorted keys, no whitespace, NFC, UTF-8",
}
DETAILS = (
    DRAWN, "client", "dialogue", HELD, "outcome", "parent", "selection", "source_dataset_id", "target", "turn", "unanswered", "unit",
)  # fmt: skip
"""What of a reply's provenance the layout has no column for: how it was drawn, and its place in a dialogue."""
_TOLD = frozenset({
    EXAMPLE, LABEL, RESPONSE, "is_json", "model", "model_raw", "review_sets", "source_file", "source_row", "tokens", *DETAILS,
})  # fmt: skip
"""What of a reply's provenance the layout tells."""


class Placed(msgspec.Struct, frozen=True):
    """A reply and its place, without what is long: its text, and of its sample the messages.

    `position` is that of its row in the set, or of its sample in the run. Of the reply's provenance there is what the
    layout tells.
    """

    reply: Reply
    sample: Sample
    split: str
    position: int
    example_id: str
    response_id: str

    @property
    def selection(self) -> str | None:
        """Why only this reply of its model is here, if it was drawn from others that are not."""
        return self.reply.provenance.get("selection")

    @property
    def order(self) -> tuple[int, int, str]:
        """Sort by repeat, then by row, as the released files do."""
        return self.reply.run, self.position, self.response_id


def canonical(value: Any) -> str:
    """Write JSON in the one way that equal content always has: sorted keys, no whitespace, Unicode form C."""
    return compatible(json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")), "NFC")


def ident(prefix: str, *parts: Any) -> str:
    """Return an id: a prefix and 32 hexadecimal digits."""
    return f"{prefix}_{hashlib.sha256(canonical(parts).encode()).hexdigest()[:32]}"


class ExampleIds:
    """The ids of items. Samples may share a text, as the parts of a dialogue do: all but the first have their own id in it."""

    def __init__(self) -> None:
        self._owners: dict[str, str] = {}

    def of(self, sample: Sample, split: str, occurrences: Iterable[int]) -> list[str]:
        """Return the ids of a sample's occurrences; samples come in the order of the run."""
        messages = msgspec.to_builtins(sample.messages)
        first = ident("ex", split, messages, 0)
        owner = self._owners.setdefault(first, sample.id)
        own = () if owner == sample.id else (sample.id,)
        return [ident("ex", split, messages, occurrence, *own) for occurrence in occurrences]


def place(store: Store, benchmark: Benchmark) -> list[Placed]:
    """Return the replies of a benchmark in a run, in the layout's order."""
    numbered = list(_occurrences(_replies(store, benchmark.name)))
    wanted: dict[str, set[int]] = {}
    for reply, occurrence in numbered:
        wanted.setdefault(reply.sample, set()).add(occurrence)
    items: dict[tuple[str, int], tuple[int, Sample, str, str]] = {}
    examples = ExampleIds()
    for number, sample in enumerate(store.samples(benchmark.name)):
        split = config_name(sample.tags.get("split") or SPLIT)
        bare, occurrences = msgspec.structs.replace(sample, messages=()), sorted(wanted.get(sample.id, ()))
        for occurrence, example in zip(occurrences, examples.of(sample, split, occurrences), strict=True):
            items[sample.id, occurrence] = number, bare, split, example
    placed = []
    for reply, occurrence in numbered:
        number, sample, split, example = items[reply.sample, occurrence]
        row = reply.provenance.get("source_row")
        # What was read from this layout keeps the ids it had there.
        example = reply.provenance.get(EXAMPLE, example)
        response = reply.provenance.get(RESPONSE) or ident("rs", example, reply.model, reply.run)
        placed.append(Placed(reply, sample, split, number if row is None else row, example, response))
    return sorted(placed, key=lambda p: p.order)


def _replies(store: Store, benchmark: str) -> Iterator[Reply]:
    """Return the replies to samples that are here, without what is long."""
    samples = set(store.sample_ids(benchmark))
    shared: dict[str, str] = {}  # names and files that many replies share
    for reply in store.replies(benchmark):
        if reply.sample in samples:
            provenance = {
                name: shared.setdefault(value, value) if isinstance(value, str) else value
                for name, value in reply.provenance.items()
                if name in _TOLD
            }
            model, sample = (shared.setdefault(name, name) for name in (reply.model, reply.sample))
            yield Reply(reply.id, sample, model, reply.run, reply.status, usage=reply.usage, provenance=provenance)


def _occurrences(replies: Iterable[Reply]) -> Iterator[tuple[Reply, int]]:
    """Number the replies that one model's run has to one text.

    Files in the order of the set put the same occurrence in the same row, so a reply that is alone where other files
    have several takes the number that its row has there.
    """
    groups: dict[tuple[str, str, int], list[Reply]] = {}
    for reply in replies:
        groups.setdefault((reply.sample, reply.model, reply.run), []).append(reply)
    rows: dict[str, list[Any]] = {}
    for (sample, _, _), group in sorted(groups.items()):
        group.sort(key=lambda reply: (reply.provenance.get("source_row") or 0, reply.id))
        if len(group) > len(rows.get(sample, ())):
            rows[sample] = [reply.provenance.get("source_row") for reply in group]
    for (sample, _, _), group in groups.items():
        for number, reply in enumerate(group):
            row = reply.provenance.get("source_row")
            alone = len(group) == 1 and row is not None and row in rows[sample]
            yield reply, rows[sample].index(row) if alone else number


# What raters said of replies in their places, read a few replies at a time, and the words of both.


_REPLIES = 500
"""How many replies are looked up at a time."""
_KNOWN = """
SELECT id FROM replies WHERE benchmark = ?1 AND sample IN (SELECT id FROM samples WHERE benchmark = ?1)"""
_COUNTS = f"""
SELECT rater, criterion, rater_kind, instrument, known, count(*), max(run) FROM (
    SELECT rater, criterion, rater_kind, instrument, run, subject IN ({_KNOWN}) AS known
    FROM ratings WHERE benchmark = ?1
) GROUP BY rater, criterion, rater_kind, instrument, known"""  # noqa: S608 - constant text
_RATING = "subject, criterion, rater_kind, run, status, value, rationale, instrument, provenance"
_RATINGS = f"""
SELECT {_RATING} FROM ratings WHERE benchmark = ? AND rater = ? AND subject IN (SELECT value FROM json_each(?))"""  # noqa: S608 - constant text
_FIRST = f"""
SELECT {_RATING} FROM ratings WHERE benchmark = ?1 AND rater = ?2 AND criterion = ?3 AND +rater_kind = 'model'
    AND subject IN ({_KNOWN})
ORDER BY subject, run LIMIT 1"""  # noqa: S608 - constant text
_SELECTED = """
SELECT DISTINCT subject, criterion, rater_kind, selection FROM ratings WHERE benchmark = ? AND selection IS NOT NULL"""
_LABELS = """
SELECT subject, criterion, rater_kind, protocol FROM ratings
WHERE benchmark = ? AND instrument = '' AND json_type(provenance, '$.protocol') IS NOT NULL
ORDER BY rater, criterion, subject, run"""
_CALLS = """
SELECT run, at, min(rowid) FROM calls WHERE benchmark = ? AND model = ? AND text IS NOT NULL AND at > 0
GROUP BY run, at HAVING count(*) = 1"""
_LABELLING = {RaterKind.MODEL.value, RaterKind.PERSON.value, RaterKind.GOLD.value}
_TABLED = {RaterKind.MODEL.value, RaterKind.PERSON.value}
"""Who has a table in the layout; rules, classifiers and panels have none."""


Pair = tuple["Placed", Rating]
"""A reply in its place, and what somebody said of it."""


def raw_rater(rating: Rating) -> Any:
    """Return a rater's name as its file, or its server, gave it, if either did."""
    return rating.provenance.get("model_raw") or rating.provenance.get("model")


class ExportedRatings:
    """The ratings of a benchmark's replies that have a table in the layout, and how many have none."""

    def __init__(self, store: Store, benchmark: Benchmark) -> None:
        """Count who rated what."""
        self._store, self._benchmark = store, benchmark.name
        self._criteria = {criterion.name for criterion in benchmark.rubric.criteria}
        self.left_out: dict[str, int] = {}
        self.others: list[str] = []
        """Who said what has no table of the layout's own: rules, classifiers, panels, and anybody on other criteria."""
        others: set[str] = set()
        self.judges: dict[str, int] = {}
        """How often each model was asked."""
        self.people: list[str] = []
        self.instruments: set[tuple[str, str]] = set()
        """What models rated with: rater, instrument."""
        people: set[str] = set()
        for rater, criterion, kind, instrument, present, count, last in store.select(_COUNTS, (benchmark.name,)):
            if present and not self._tabled(criterion, kind):
                others.add(rater)
            elif not present and benchmark.closed and kind in _LABELLING:
                continue  # a label, which has a table of its own
            elif not present:
                left_out = f"{kind if kind == RaterKind.PERSON.value else rater} on {criterion}"
                self.left_out[left_out] = self.left_out.get(left_out, 0) + count
            elif kind == RaterKind.PERSON.value:
                people.add(rater)
            else:
                self.judges[rater] = max(self.judges.get(rater, 0), last + 1)
                self.instruments.add((rater, instrument))
        self.people, self.others = sorted(people), sorted(others)

    def of(
        self, rater: str, kind: RaterKind | None, placed: Sequence[Placed], order: Callable[[Placed], tuple[Any, ...]]
    ) -> Iterator[Pair]:
        """Stream what somebody said of replies: by reply, in the given order, then by criterion and run.

        Where no kind is named, it is what has no table of the layout's own.
        """
        ranked = sorted(placed, key=order)
        for start in range(0, len(ranked), _REPLIES):
            chunk = {p.reply.id: p for p in ranked[start : start + _REPLIES]}
            subjects = msgspec.json.encode(list(chunk)).decode()
            rows = self._store.select(_RATINGS, (self._benchmark, rater, subjects))
            pairs = [
                (chunk[row[0]], self._rating(rater, row))
                for row in rows
                if (not self._tabled(row[1], row[2]) if kind is None else row[2] == kind and row[1] in self._criteria)
            ]
            yield from sorted(pairs, key=lambda pair: (order(pair[0]), pair[1].criterion, pair[1].subject, pair[1].run))

    def raw_name(self, judge: str) -> Any:
        """Return a judge's name as its file, or its server, gave it with the first rating, if either did."""
        for criterion in sorted(self._criteria):
            row = self._store.select(_FIRST, (self._benchmark, judge, criterion)).fetchone()
            if row is not None:
                return raw_rater(self._rating(judge, row))
        return None

    def selected(self) -> list[tuple[str, str]]:
        """Return for which selection a reply was rated: the reply's id, the selection."""
        rows = self._store.select(_SELECTED, (self._benchmark,))
        return [(subject, name) for subject, criterion, kind, name in rows if name and self._tabled(criterion, kind)]

    def labels(self) -> dict[str, str | None]:
        """Return the label that stood in the very row that was rated, of replies whose ratings were read from a file."""
        rows = self._store.select(_LABELS, (self._benchmark,))
        return {subject: label for subject, criterion, kind, label in rows if self._tabled(criterion, kind)}

    def _tabled(self, criterion: str, kind: str) -> bool:
        return criterion in self._criteria and kind in _TABLED

    def _rating(self, rater: str, row: tuple[Any, ...]) -> Rating:
        subject, criterion, kind, run, status, value, rationale, instrument, provenance = row
        try:
            origin = msgspec.json.decode(provenance)
        except (msgspec.MsgspecError, ValueError, TypeError) as error:
            raise damaged(self._store.path, error) from error
        return Rating(
            subject, criterion, rater, RaterKind(kind), run, Status(status), value, rationale or "",
            instrument=instrument, provenance=origin,
        )  # fmt: skip


class WordingIndex:
    """What was said in which words: looked up where it is written."""

    def __init__(self, store: Store, benchmark: str) -> None:
        self._store, self._benchmark = store, benchmark
        self._judge: str | None = None
        self._calls: dict[tuple[int, float], int] = {}
        self._last: tuple[int, str] | None = None

    def reply(self, placed: Placed) -> str:
        """Return what a reply says."""
        query = "SELECT text FROM replies WHERE benchmark = ? AND id = ?"
        text: str = self._store.select(query, (self._benchmark, placed.reply.id)).fetchone()[0]
        return text

    def call(self, judge: str, run: int, ended: float) -> str | None:
        """Return a judge's own words by run and time, where one call alone ended then."""
        if judge != self._judge:
            rows = self._store.select(_CALLS, (self._benchmark, judge))
            self._judge, self._calls = judge, {(run, ended): row for run, ended, row in rows}
        row = self._calls.get((run, ended))
        if row is None:
            return None
        if self._last is None or self._last[0] != row:  # ratings of one answer follow each other
            self._last = row, self._store.select("SELECT text FROM calls WHERE rowid = ?", (row,)).fetchone()[0]
        return self._last[1]
