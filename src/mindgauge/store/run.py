"""The run directory's database: samples, replies, ratings and calls in one SQLite file.

A call and what came of it are committed together, so a run killed at any moment continues where it stopped:
what is in the file is finished, what is not was in flight. One process writes a run at a time.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import msgspec

from mindgauge.records import HELD, Evidence, Exchange, RaterKind, Rating, Reply, Sample, Status, Usage, encode
from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.files import private
from mindgauge.store import textless
from mindgauge.store.failures import PENDING, damaged, grouped, one_line
from mindgauge.store.locks import lock
from mindgauge.store.opening import EmptyRunError, absent, attach, connect
from mindgauge.store.rows import RatingInterner, change, put
from mindgauge.store.soundness import seal

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from mindgauge.store.failures import CallFailures

Record = TypeVar("Record")
_EXCHANGE = (
    "status, text, finish_reason, prompt_tokens, completion_tokens, cached_tokens, seconds, attempts, model_resolved, fingerprint, "
    "cost, error, at, unsupported"
)
"""Columns of a call that say what came of it, in the order in which `exchange` takes them."""
UNPRICED = "((cost IS NULL AND status != 'failed') + (SELECT count(*) FROM overdue WHERE overdue.key = calls.key))"
"""SQL: how often it is unknown what a call cost. No price is known, or it ran into its time limit and may have been charged,
also where a later command asked again."""
KEPT = "everything finished is kept, run the same command to go on"
"""What a command that is interrupted says of its run."""
_PAGE = 50
_SERIES = "SELECT rater, criterion FROM series WHERE benchmark = ? ORDER BY rater, criterion"
_RATINGS = """
SELECT subject, criterion, rater, rater_kind, run, status, value, rationale, evidence, instrument, provenance FROM ratings
WHERE benchmark = ? AND rater = ? AND criterion = ? ORDER BY subject, run"""
_RATINGS_OF = """
SELECT subject, criterion, rater, rater_kind, run, status, value, rationale, evidence, instrument, provenance FROM ratings
WHERE benchmark = ? AND subject IN (SELECT value FROM json_each(?)) ORDER BY rater, criterion, run"""
_decode_sample = msgspec.json.Decoder(Sample).decode
_decode_evidence = msgspec.json.Decoder(tuple[Evidence, ...]).decode
_decode_json = msgspec.json.Decoder().decode


class ReplyScope(NamedTuple):
    """Replies to some samples by some models, up to so many repeats: what one command asks for, of a run that holds more."""

    samples: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()
    runs: int = 0
    ids: frozenset[str] = frozenset()
    """Of the replies, where they are known."""

    @classmethod
    def of_ids(cls, ids: Iterable[str]) -> ReplyScope:
        """Return a scope of replies that are known."""
        return cls(ids=frozenset(ids))

    def holds(self, ident: str, sample: str, model: str, run: int) -> bool:
        """Whether a reply is among them."""
        return ident in self.ids or (sample in self.samples and model in self.models and run < self.runs)


class Store:
    """A run's records. Additions are gathered and reach the disk together on `flush`."""

    def __init__(self, folder: Path, *, write: bool = False, text: bool = True) -> None:
        """Open the run in `folder`; with `write`, create it where it is missing and be its only writer.

        Without `text` the run keeps nothing that anybody said (`textless`). What is still needed while a command is at work, such as
        replies that wait for their judges, is in a second file in `pending/`, attached to the run's and removed when the command
        has come to its end. Texts are read there: of all samples, and of the replies that came since it was last removed.

        Raises:
            UsageError: there is no run, another process is writing it, or another version wrote it.
        """
        self.folder = folder
        self.path = folder / "run.sqlite"
        self._lock = lock(folder) if write else None
        if not write and not self.path.is_file():
            raise UsageError(absent(folder))
        with contextlib.ExitStack() as undone:
            if self._lock is not None:
                undone.callback(os.close, self._lock)
            self._db = connect(self.path, write=write)
            undone.callback(self._db.close)
            self._texts = "" if text else "texts."
            """What names the tables in which texts are looked up: of a run without text, those of the second file."""
            if not text:
                waiting = folder / PENDING / "run.sqlite"
                private.refuse_link(waiting.parent)
                private.folder(waiting.parent)
                attach(self._db, waiting, "texts")
            undone.pop_all()
        self._calls: dict[str, list[tuple[Any, ...]]] = {"": [], self._texts: []}
        self._replies: dict[str, list[tuple[Any, ...]]] = {"": [], self._texts: []}
        self._overdue: list[tuple[bytes, float, float]] = []
        self._keys: set[bytes] | None = None
        """Of all calls, once a writer asks for one: nobody else adds any."""
        self._ratings: RatingInterner | None = None
        self._failed = False
        if self._texts:
            self._catch_up()

    @classmethod
    @contextlib.contextmanager
    def begun(cls, folder: Path) -> Iterator[Self | None]:
        """Open a run to be read; None where there is none, or where it was stopped before it was laid out."""
        store: Self | None = None
        with contextlib.suppress(EmptyRunError):
            if (folder / "run.sqlite").is_file():
                store = cls(folder)
        with store or contextlib.nullcontext():
            yield store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *stopped: object) -> None:
        self._failed = any(stopped)
        error = next((error for error in stopped if isinstance(error, BaseException)), None)
        if isinstance(error, KeyboardInterrupt):
            error.args = (KEPT,)
        self.close()
        waiting = self.folder / PENDING
        if self._texts and error is None:
            with one_line(waiting):
                private.remove(waiting)
        elif self._texts and isinstance(error, MindgaugeError | KeyboardInterrupt):
            error.args = (f"{error}; texts wait in {waiting}, remove that folder to give them up",)

    def close(self) -> None:
        """Write what is pending and let go of the run."""
        try:
            self.flush()
        except BaseException:
            self._failed = True
            raise
        finally:
            self._db.close()
            if self._lock is not None:
                try:
                    if not self._failed:  # else the file may be what failed: who opens it next looks at all of it
                        seal(self.path)
                finally:
                    os.close(self._lock)
                    self._lock = None

    # -- samples ----------------------------------------------------------------------------------------------------

    def put_samples(self, benchmark: str, samples: Iterable[Sample]) -> int:
        """Keep samples in their order; return how many were duplicates of one already there."""
        doubled = 0
        samples = list(samples) if self._texts else samples
        for place, copies in reversed(self._copies(samples, lambda records: map(textless.bare_sample, records))):
            before = self._db.total_changes
            query = f"SELECT coalesce(max(position) + 1, 0) FROM {place}samples WHERE benchmark = ?"
            first = self._db.execute(query, (benchmark,)).fetchone()[0]
            numbers = itertools.count()
            rows = ((benchmark, first + i, s.id, encode(s)) for s, i in zip(copies, numbers, strict=False))
            with one_line(self.path):
                put(self._db, f"{place}samples", rows, anew=False)
                self._db.commit()
            doubled = next(numbers) - (self._db.total_changes - before)
        return doubled

    def update_samples(self, benchmark: str, samples: Iterable[Sample]) -> None:
        """Replace what is known of samples that are here, by their ids; their places stay."""
        with one_line(self.path):
            for sample in samples:
                for place, copy in self._copies(sample, textless.bare_sample):
                    key = {"benchmark": benchmark, "id": sample.id}
                    change(self._db, f"{place}samples", key, {"body": encode(copy)})
            self._db.commit()

    def count_samples(self, benchmark: str) -> int:
        """Return how many samples a benchmark has here."""
        row = self._db.execute(
            f"SELECT count(*) FROM {self._texts}samples WHERE benchmark = ?", (benchmark,)
        ).fetchone()
        return int(row[0])

    def sample_ids(self, benchmark: str) -> list[str]:
        """Return the ids of a benchmark's samples, in order."""
        query = f"SELECT id FROM {self._texts}samples WHERE benchmark = ? ORDER BY position"
        return [row[0] for row in self._db.execute(query, (benchmark,))]

    def sample(self, benchmark: str, ident: str) -> Sample:
        """Return one sample.

        Raises:
            KeyError: there is none with this id.
        """
        query = f"SELECT body FROM {self._texts}samples WHERE benchmark = ? AND id = ?"
        row = self._db.execute(query, (benchmark, ident)).fetchone()
        if row is None:
            raise KeyError(ident)
        with self._readable():
            return _decode_sample(row[0])

    def samples(self, benchmark: str) -> Iterator[Sample]:
        """Stream a benchmark's samples in order, a page at a time."""
        return self._samples(self._texts, benchmark)

    def stored_samples(self, benchmark: str) -> Iterator[Sample]:
        """Stream a benchmark's samples as the run keeps them, be it without text."""
        return self._samples("", benchmark)

    def _samples(self, place: str, benchmark: str) -> Iterator[Sample]:
        query = (
            f"SELECT position, body FROM {place}samples WHERE benchmark = ? AND position > ? ORDER BY position LIMIT ?"
        )
        with self._readable():
            yield from (_decode_sample(body) for _, body in _pages(self._db, query, (benchmark,), -1))

    # -- replies ----------------------------------------------------------------------------------------------------

    def replies(self, benchmark: str) -> Iterator[Reply]:
        """Stream a benchmark's replies in the order they were written, a page at a time."""
        # The plus keeps SQLite from an index by benchmark, with which every page would sort all that is left.
        query = f"SELECT rowid, * FROM {self._texts}replies WHERE +benchmark = ? AND rowid > ? ORDER BY rowid LIMIT ?"
        with self._readable():
            yield from (_reply(row[2:]) for row in _pages(self._db, query, (benchmark,), 0))

    def replies_by_sample(self, benchmark: str, scope: ReplyScope | None = None) -> dict[str, list[tuple[str, int]]]:
        """Return each sample's replies: the id of each, and where it stands, for `reply_at`; only those within a scope."""
        places: dict[str, list[tuple[str, int]]] = {}
        query = f"SELECT sample, model, run, id, rowid FROM {self._texts}replies WHERE benchmark = ? ORDER BY rowid"
        for sample, model, run, ident, place in self._db.execute(query, (benchmark,)):
            if scope is None or scope.holds(ident, sample, model, run):
                places.setdefault(sample, []).append((ident, place))
        return places

    def reply_at(self, place: int) -> Reply:
        """Return the reply that stands there."""
        row = self._db.execute(f"SELECT * FROM {self._texts}replies WHERE rowid = ?", (place,)).fetchone()
        with self._readable():
            return _reply(row[1:])

    def reply(self, benchmark: str, ident: str) -> Reply | None:
        """Return the reply of an id; None where there is none."""
        row = self._db.execute("SELECT * FROM replies WHERE benchmark = ? AND id = ?", (benchmark, ident)).fetchone()
        with self._readable():
            return None if row is None else _reply(row[1:])

    def count_replies(self, benchmark: str) -> int:
        """Return how many replies a benchmark has here."""
        row = self._db.execute(
            f"SELECT count(*) FROM {self._texts}replies WHERE benchmark = ?", (benchmark,)
        ).fetchone()
        return int(row[0])

    def count_held(self, benchmark: str) -> int:
        """Return how many replies answer another dialogue than the one on file: bots were told it turn by turn, or spoke first."""
        query = "SELECT count(*) FROM replies WHERE benchmark = ? AND json_type(provenance, ?) IS NOT NULL"
        row = self._db.execute(query, (benchmark, f"$.{HELD}")).fetchone()
        return int(row[0])

    def answered(self, benchmark: str, model: str) -> set[tuple[str, int]]:
        """Return (sample, run) of every reply by this model that need not be asked for again."""
        query = "SELECT sample, run FROM replies WHERE benchmark = ? AND model = ? AND status != 'failed'"
        return set(self._db.execute(query, (benchmark, model)))

    def replied(self, benchmark: str, model: str) -> set[tuple[str, int]]:
        """Return (sample, run) of every reply by this model that was asked for; turns that do not come are none."""
        query = "SELECT sample, run FROM replies WHERE benchmark = ? AND model = ? AND status NOT IN ('failed', 'not_applicable')"
        return set(self._db.execute(query, (benchmark, model)))

    def replied_elsewhere(self, benchmark: str, model: str) -> dict[tuple[str, int], int]:
        """Return (sample, run) → place of this model's replies to the same samples in other benchmarks."""
        query = (
            f"SELECT r.sample, r.run, r.rowid FROM {self._texts}replies r JOIN {self._texts}samples s ON s.id = r.sample AND s.benchmark = ? "
            f"WHERE r.benchmark IN (SELECT DISTINCT benchmark FROM {self._texts}samples WHERE benchmark != ?) "
            "AND r.model = ? AND r.status != 'failed'"
        )
        rows = self._db.execute(query, (benchmark, benchmark, model))
        return {(sample, run): place for sample, run, place in rows}

    def forget_failed(self, benchmark: str, model: str) -> None:
        """Drop replies that never came, and what was said of them, so that they are asked for again."""
        condition = "benchmark = ? AND model = ? AND status = 'failed'"
        with one_line(self.path):
            self._db.execute(
                f"DELETE FROM ratings WHERE benchmark = ? AND subject IN (SELECT id FROM replies WHERE {condition})",
                (benchmark, benchmark, model),
            )
            for place in {"", self._texts}:
                self._db.execute(f"DELETE FROM {place}replies WHERE {condition}", (benchmark, model))
            self._db.commit()

    def gone(self, benchmark: str) -> set[str]:
        """Return the replies whose texts are gone: none of a run that keeps them."""
        query = f"SELECT id FROM replies WHERE benchmark = ? EXCEPT SELECT id FROM {self._texts}replies"
        return {ident for (ident,) in self._db.execute(query, (benchmark,))}

    def ask_again(self, benchmark: str, wanted: Iterable[tuple[str, str, int]]) -> None:
        """Drop replies whose texts are gone and that lack one of these ratings, so that they are asked for again.

        Args:
            benchmark: whose replies.
            wanted: rater, criterion and number of times of every rating that each of them is to have.
        """
        missing, lacking = self.gone(benchmark), set[str]()
        for rater, criterion, times in wanted if missing else ():
            rated = self.rated(benchmark, rater, criterion, at_hand=False)
            lacking |= {ident for ident in missing if any((ident, run) not in rated for run in range(times))}
        self.forget_replies(benchmark, sorted(lacking))

    def forget_replies(self, benchmark: str, idents: Sequence[str]) -> None:
        """Drop replies, and what was said of them."""
        with one_line(self.path):
            for ident in idents:
                self._db.execute("DELETE FROM ratings WHERE benchmark = ? AND subject = ?", (benchmark, ident))
                self._db.execute("DELETE FROM replies WHERE benchmark = ? AND id = ?", (benchmark, ident))
            self._db.commit()

    def forget_rating(self, benchmark: str, rating: Rating) -> None:
        """Drop a rating."""
        key = (benchmark, rating.subject, rating.criterion, rating.rater, rating.run)
        query = "DELETE FROM ratings WHERE benchmark = ? AND subject = ? AND criterion = ? AND rater = ? AND run = ?"
        with one_line(self.path):
            self._db.execute(query, key)
            self._db.commit()

    # -- ratings ----------------------------------------------------------------------------------------------------

    def ratings(self, benchmark: str) -> Iterator[Rating]:
        """Stream a benchmark's ratings, ordered by rater, criterion, subject and run."""
        for names in self._db.execute(_SERIES, (benchmark,)).fetchall():
            with self._readable():
                yield from map(_rating, self._db.execute(_RATINGS, (benchmark, *names)))

    def ratings_of(self, benchmark: str, subjects: Sequence[str]) -> dict[str, list[Rating]]:
        """Return the ratings of some subjects, each ordered by rater, criterion and run; as many as fit into memory."""
        by_subject: dict[str, list[Rating]] = {subject: [] for subject in subjects}
        with self._readable():
            for row in self._db.execute(_RATINGS_OF, (benchmark, encode(subjects).decode())):
                by_subject[row[0]].append(_rating(row))
        return by_subject

    def rated(self, benchmark: str, rater: str, criterion: str, *, at_hand: bool = True) -> set[tuple[str, int]]:
        """Return (subject, run) of every rating by this rater on this criterion that need not be made again.

        In a run without text these are, with `at_hand`, of subjects whose texts are at hand.
        """
        query = (
            "SELECT subject, run FROM ratings WHERE benchmark = ? AND rater = ? AND criterion = ? "
            "AND status != 'failed'"
        )
        if self._texts and at_hand:
            query += f" AND subject IN (SELECT id FROM {self._texts}replies UNION SELECT id FROM {self._texts}samples)"
        return set(self._db.execute(query, (benchmark, rater, criterion)))

    def count_ratings(self, benchmark: str) -> list[tuple[str, str, str, int]]:
        """Return how many ratings there are: rater, criterion, status, n."""
        query = (
            "SELECT series.rater, series.criterion, status, count(*) FROM series JOIN rated ON rated.series = series.id "
            "WHERE benchmark = ? GROUP BY series.id, status ORDER BY rater, criterion, status"
        )
        return self._db.execute(query, (benchmark,)).fetchall()

    # -- calls ------------------------------------------------------------------------------------------------------

    def exchange(self, key: bytes) -> Exchange | None:
        """Return a call that was finished before, unless it failed."""
        if self._lock is not None:  # each call is looked up before it is made, most of them in vain
            if self._keys is None:
                self._keys = {stored for (stored,) in self._db.execute(f"SELECT key FROM {self._texts}calls")}
                self._keys.update(row[0] for row in self._calls[self._texts])
            if key not in self._keys:
                return None
        query = f"SELECT {_EXCHANGE} FROM {self._texts}calls WHERE key = ? AND status != 'failed'"
        row = self._db.execute(query, (key,)).fetchone()
        return None if row is None or row[1] is None else exchange(row)

    def called(self, key: bytes) -> bool:
        """Say whether a call was finished before, and did not fail."""
        query = f"SELECT 1 FROM {self._texts}calls WHERE key = ? AND status != 'failed'"
        return self._db.execute(query, (key,)).fetchone() is not None

    def spent(self) -> float:
        """Return what the calls cost so far, in US dollars, as far as prices are known."""
        return float(self._db.execute("SELECT coalesce(sum(cost), 0) FROM calls").fetchone()[0])

    def overdue(self) -> float:
        """Return what all calls that ran into their time limit cost at most, in US dollars, as far as prices are known."""
        return float(self._db.execute("SELECT coalesce(sum(at_most), 0) FROM overdue").fetchone()[0])

    def commonest_failure(self) -> CallFailures | None:
        """Return who failed most often for one reason; None where no call failed for any."""
        query = "SELECT model, error, count(*) FROM calls WHERE status = 'failed' AND error != '' GROUP BY model, error"
        return next(iter(grouped(self._db.execute(query))), None)

    def unread_answer(self) -> tuple[str, str] | None:
        """Return why some judge's answer could not be read, and that answer; None where all were, or none is kept."""
        query = """SELECT json_extract(provenance, '$.problem'), json_extract(provenance, '$.call') FROM ratings
            WHERE status = 'unparsable' AND json_extract(provenance, '$.call') IS NOT NULL LIMIT 1"""
        for problem, call in self._db.execute(query):
            for (text,) in self._db.execute("SELECT text FROM calls WHERE key = ?", (bytes.fromhex(call),)):
                return problem or "", text or ""
        return None

    # -- additions --------------------------------------------------------------------------------------------------

    def add_call(
        self, key: bytes, prompt: bytes, benchmark: str, model: str, run: int, exchange: Exchange, *, text: bool = True
    ) -> None:
        """Keep a finished call; without `text` where a reply keeps the same words."""
        if self._keys is not None:
            self._keys.add(key)
        if exchange.at_most is not None:
            self._overdue.append((key, exchange.at, exchange.at_most))
        usage = exchange.usage
        for place, call in self._copies(exchange, textless.bare_call):
            words = call.text if text and place == self._texts else None
            self._calls[place].append((
                key, prompt, benchmark, model, run, call.status.value, words, call.finish_reason, usage.prompt_tokens,
                usage.completion_tokens, usage.cached_tokens, call.seconds, call.attempts, call.model_resolved, call.fingerprint,
                call.cost, call.error, call.at, ",".join(call.unsupported),
            ))  # fmt: skip

    def add_reply(self, benchmark: str, reply: Reply) -> None:
        """Keep a reply."""
        usage = reply.usage
        for place, copy in self._copies(reply, textless.bare_reply):
            self._replies[place].append((
                benchmark, copy.id, copy.sample, copy.model, copy.run, copy.status.value, copy.text, copy.finish_reason,
                usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens, copy.seconds, copy.provenance,
            ))  # fmt: skip

    def _copies(self, record: Record, bare: Callable[[Any], Record]) -> list[tuple[str, Record]]:
        """Return where a record is kept, and what of it: in a run without text all of it only among the texts that wait."""
        return [("", bare(record)), (self._texts, record)] if self._texts else [("", record)]

    def add_rating(self, benchmark: str, rating: Rating) -> None:
        """Keep a rating; one of the same rater, criterion, subject and run is replaced."""
        if self._ratings is None:
            self._ratings = RatingInterner(self._db)
        self._ratings.add(benchmark, textless.bare_rating(rating) if self._texts else rating)

    def flush(self) -> None:
        """Commit what was added, all or nothing; of a run without text the texts first, which `_catch_up` goes by.

        Raises:
            MindgaugeError: the disk is full or the database cannot be written; what was committed before stays.
        """
        if not (self._calls[""] or self._overdue or self._replies[""] or self._ratings):
            return
        with one_line(self.path):
            for place in dict.fromkeys((self._texts, "")):
                put(self._db, f"{place}overdue", self._overdue)
                put(self._db, f"{place}calls", self._calls[place])
                put(self._db, f"{place}replies", ((*facts, encode(origin)) for *facts, origin in self._replies[place]))
                if self._ratings and not place:
                    self._ratings.write()
                self._db.commit()
        self._overdue, self._calls, self._replies = [], {"": [], self._texts: []}, {"": [], self._texts: []}
        if self._ratings:
            self._ratings.written()

    def _catch_up(self) -> None:
        """Take up what a kill between two commits left among the texts alone, so that nothing that was answered is asked again."""
        self._db.execute("INSERT OR REPLACE INTO main.overdue SELECT * FROM texts.overdue")
        self._db.commit()
        replies = "SELECT * FROM texts.replies WHERE (benchmark, id) NOT IN (SELECT benchmark, id FROM main.replies)"
        for benchmark, *facts in self._db.execute(replies).fetchall():
            self.add_reply(benchmark, _reply(tuple(facts)))
        calls = f"SELECT key, prompt, benchmark, model, run, {_EXCHANGE} FROM texts.calls WHERE key NOT IN (SELECT key FROM main.calls)"
        for row in self._db.execute(calls).fetchall():
            key, prompt, benchmark, model, run, status, text, *facts = row
            call = exchange((status, text or "", *facts))
            self.add_call(key, prompt, benchmark, model, run, call, text=text is not None)
        self.flush()

    def select(self, query: str, parameters: tuple[object, ...] = ()) -> sqlite3.Cursor:
        """Read with SQL, for analyses that need columns rather than records."""
        return self._db.execute(query, parameters)

    def columns(self, query: str, parameters: tuple[object, ...] = (), **kinds: type) -> dict[str, list[Any]]:
        """Read with SQL what fits into memory, column by column: SQLite writes each as one text, which takes a third of what its rows take.

        Args:
            query: without a semicolon.
            parameters: of the query.
            kinds: the name of each of its columns, in their order, and what it holds where it is not null.
        """
        packed = ", ".join(f"json_group_array({name})" for name in kinds)
        row = self._db.execute(f"WITH found ({', '.join(kinds)}) AS ({query}) SELECT {packed} FROM found", parameters)
        with self._readable():
            return {name: _column(kind)(text) for (name, kind), text in zip(kinds.items(), row.fetchone(), strict=True)}

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        """Say in one line that a record makes no sense."""
        try:
            yield
        except (msgspec.MsgspecError, ValueError, TypeError) as error:
            raise damaged(self.path, error) from error

    def state(self) -> object:
        """Return what is another after every change, by whomever."""
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        stats = [path.stat() for path in files if path.exists()]
        return self._db.total_changes, [(stat.st_mtime_ns, stat.st_size) for stat in stats]


def _pages(db: sqlite3.Connection, query: str, parameters: tuple[object, ...], start: int) -> Iterator[tuple[Any, ...]]:
    """Read in pages keyed by the first column, so that no cursor stays open while the run is written."""
    after: int = start
    while True:
        rows = db.execute(query, (*parameters, after, _PAGE)).fetchall()
        yield from rows
        if len(rows) < _PAGE:
            return
        after = rows[-1][0]


@functools.cache
def _column(kind: type) -> Callable[[str], list[Any]]:
    return msgspec.json.Decoder(list[kind | None]).decode  # type: ignore[valid-type]


def exchange(row: Sequence[Any]) -> Exchange:
    """Read a call: its columns from `status` on, in the order of the schema."""
    status, text, reason, prompt, completion, cached, *rest, unsupported = row
    call = Exchange(Status(status), text, reason, Usage(prompt, completion, cached), *rest)
    return msgspec.structs.replace(call, unsupported=listed(unsupported))


def listed(names: str) -> tuple[str, ...]:
    """Read names that stand in one column."""
    return tuple(filter(None, names.split(",")))


def _rating(row: tuple[Any, ...]) -> Rating:
    subject, criterion, rater, kind, run, status, value, rationale, evidence, instrument, provenance = row
    return Rating(
        subject, criterion, rater, RaterKind(kind), run, Status(status), value, rationale or "",
        _decode_evidence(evidence) if evidence else (), instrument, _decode_json(provenance),
    )  # fmt: skip


def _reply(row: tuple[Any, ...]) -> Reply:
    ident, sample, model, run, status, text, reason = row[:7]
    return Reply(
        ident, sample, model, run, Status(status), text, reason, Usage(*row[7:10]), row[10], _decode_json(row[11])
    )
