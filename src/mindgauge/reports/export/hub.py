"""The Hugging Face layout: items, replies, and what raters said of them, one Parquet file per model and rater, with a card.

`TABLES` says which columns each table has. Replies that were drawn from others, which are not here, have a table apart from
the responses, whose means they would bend. Ids are those of the run. Names are made safe for paths; people have pseudonyms.

Ratings are read rater by rater, so no more of them is held than is written at once.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from itertools import count as numbers_from
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from mindgauge.benchmarks.hub_layout.records import ENTRY_TESTS, entry_tests
from mindgauge.benchmarks.hub_layout.tables import RATER, SUMMARY, TABLES, TableKind
from mindgauge.benchmarks.restricted import open_samples
from mindgauge.records import HELD, RaterKind, encode
from mindgauge.records.drawn import DRAWN
from mindgauge.records.errors import UsageError
from mindgauge.reports.export.templates import licence_id, rendered
from mindgauge.store.manifest import software

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Rating, Reply, Sample
    from mindgauge.reports.export.folder import ExportFolder
    from mindgauge.store import Store

Row = dict[str, Any]
_TYPES = {"text": pl.String(), "whole": pl.Int64(), "real": pl.Float64()}
_FRAME = 1_000
"""How many rows are Python objects at a time."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_ANONYMOUS = re.compile(r"H\d+")
_LONGEST = 80
_KINDS = {RaterKind.MODEL: TableKind.JUDGES, RaterKind.PERSON: TableKind.PEOPLE}
_PLACES = {
    TableKind.ITEMS: "items", TableKind.RESPONSES: "responses", TableKind.CHOSEN: "chosen_responses",
    **{kind: f"evaluations/{kind}" for kind in RATER},
}  # fmt: skip
"""Folders, in the order in which the card names them."""
_OF_REPLY = (
    DRAWN, "client", "dialogue", HELD, "is_json", "label", "model_raw", "outcome", "parent", "reaction", "review_sets",
    "rung", "selection", "source_dataset_id", "target", "turn", "unanswered", "unit",
)  # fmt: skip
"""What of a reply's provenance goes along: how it was drawn, its place in a dialogue, and what its release says of it."""
_OF_RATING = (
    "answer_changed", "answer_overwritten", DRAWN, "explanation_is_json", "inputs_changed", "model_raw", "protocol", "raw",
    "selection", "tokens",
)  # fmt: skip
"""What of a rating's provenance goes along: how it came to people, and what its file had otherwise."""
_QUOTING = {HELD, "raw", "review_sets"}
"""What of these may quote a message."""
_PEOPLE = "SELECT DISTINCT rater FROM ratings WHERE rater_kind = 'person' ORDER BY rater"


class CardFacts(NamedTuple):
    """What a card says beside the tables: whether the run was read from the authors' files, in which languages, what is left out."""

    loaded: bool = False
    languages: Sequence[str] = ()
    hidden: int = 0
    """How many messages are restricted, so that nothing here may quote them."""


def write(
    folder: ExportFolder,
    store: Store,
    benchmark: Benchmark,
    manifest: dict[str, Any],
    licence: str,
    *,
    show_texts: bool = False,
) -> int:
    """Write a benchmark's part of a run; return how many samples are told by ids alone.

    A closed question has no replies: its items are written, and the labels that people and models gave them.

    Args:
        folder: where to.
        store: of the run.
        benchmark: whose part.
        manifest: of the run.
        licence: what is published under.
        show_texts: whether restricted messages, replies to them, and reasons about them are written, too.

    Raises:
        UsageError: there are no replies, and it is no closed question with labels.
    """
    name = benchmark.name
    if not (store.count_samples(name) if benchmark.closed else store.count_replies(name)):
        raise UsageError(f"{store.folder}: no replies to {name} in this run, so there is nothing to export")
    run = _Exported(folder, store, benchmark, None if show_texts else open_samples(benchmark, manifest))
    run.write()
    if tests := [*entry_tests(store, benchmark)]:
        folder.text(ENTRY_TESTS, "".join(f"{line}\n" for line in tests))
    facts, hidden = _facts(manifest, benchmark), len(run.hidden)
    folder.written.sort(key=lambda record: record.file)
    rows = {record.file: record.rows for record in folder.written if record.rows is not None}
    folder.json(SUMMARY, {
        "benchmark": name, "software": software(), "files": rows, "run": facts, "ratings_left_out": run.left_out,
        "texts_left_out": {
            "messages": hidden,
            "why": "restricted by those who released them: of replies to them, and of reasons, ids and values stand here",
        },
    })  # fmt: skip
    languages = sorted(run.languages) or benchmark.card.languages
    folder.text("README.md", card(benchmark, rows, licence, CardFacts(facts["loaded"], languages, hidden)))
    return hidden


def _facts(manifest: dict[str, Any], benchmark: Benchmark) -> dict[str, Any]:
    """Return what an export says of its run; one that was loaded from an export says what that said, and is no run of its own."""
    if stated := manifest.get("exported", {}).get(benchmark.name):
        return {**stated}
    plan = manifest["plan"]
    place = plan["benchmarks"].index(benchmark.name) if benchmark.name in plan["benchmarks"] else 0
    return {
        "loaded": bool(plan.get("loaded")),
        "asked": {key: plan[key] for key in ("runs", "judge_runs", "mode", "protocol") if key in plan},
        "samples": plan.get("samples", [""])[place],
        "date": str(manifest.get("ended") or manifest.get("created", ""))[:10],
        "notes": list(manifest.get("notes", [])),
        "sources": {file_only(source): digest for source, digest in manifest.get("sources", {}).items()},
    }


class _Exported:
    """A benchmark's part of a run on its way into the tables."""

    def __init__(
        self, folder: ExportFolder, store: Store, benchmark: Benchmark, open_ids: frozenset[str] | None
    ) -> None:
        """Take a run.

        Args:
            folder: where to.
            store: of the run.
            benchmark: whose part.
            open_ids: the samples whose texts may be passed on; None for all.
        """
        self._folder, self._store, self._benchmark, self._open = folder, store, benchmark, open_ids
        self._names = pseudonyms(person for (person,) in store.select(_PEOPLE))
        self._criteria = {criterion.name: criterion for criterion in benchmark.rubric.criteria}
        self._samples: dict[str, str] = {}
        """Subject (a sample's or a reply's id) → the sample."""
        self._replied: set[str] = set()
        self.hidden: set[str] = set()
        self.languages: set[str] = set()
        self.left_out: Counter[str] = Counter()

    def write(self) -> None:
        """Write all tables."""
        name = self._benchmark.name
        self._write(TableKind.ITEMS, "items", (self._item(*entry) for entry in enumerate(self._store.samples(name))))
        self.hidden = set() if self._open is None else self._samples.keys() - self._open
        models = file_names(model for (model,) in self._store.select("SELECT DISTINCT model FROM replies"))
        for model, file in models.items():
            idents = self._store.select(
                "SELECT id FROM replies WHERE benchmark = ? AND model = ? ORDER BY run, sample, id", (name, model)
            )
            self._replies(file, [ident for (ident,) in idents.fetchall()])
        series = self._store.count_ratings(name)
        files = file_names(self._names.get(rater, rater) for rater, *_ in series)
        for rater, ratings in groupby(self._store.ratings(name), key=lambda rating: rating.rater):
            outside = self._names.get(rater, rater)
            tables: dict[TableKind, _ExportRows] = {}
            for rating in ratings:
                if rating.subject not in self._samples:
                    self.left_out[f"{outside} on {rating.criterion}"] += 1
                elif rating.rater_kind is not RaterKind.GOLD or not self._benchmark.closed:  # else it is the target
                    kind = _KINDS.get(rating.rater_kind, TableKind.OTHER)
                    tables.setdefault(kind, _ExportRows(kind)).add(self._rating(rating, kind, outside))
            for kind, gathered in tables.items():
                self._folder.parquet(f"{_PLACES[kind]}/{files[outside]}.parquet", gathered.table())

    def _write(self, kind: TableKind, file: str, rows: Iterable[Row]) -> None:
        gathered = _ExportRows(kind)
        for row in rows:
            gathered.add(row)
        if gathered.height:
            self._folder.parquet(f"{_PLACES[kind]}/{file}.parquet", gathered.table())

    def _replies(self, file: str, idents: Iterable[str]) -> None:
        """Write a model's replies, those that were drawn from others apart."""
        tables = {kind: _ExportRows(kind) for kind in (TableKind.RESPONSES, TableKind.CHOSEN)}
        for ident in idents:
            reply = self._store.reply(self._benchmark.name, ident)
            if reply is not None and reply.sample in self._samples:
                self._samples[reply.id] = reply.sample
                self._replied.add(reply.id)
                kind = TableKind.CHOSEN if reply.provenance.get("selection") else TableKind.RESPONSES
                tables[kind].add(self._reply(reply))
        for kind, gathered in tables.items():
            if gathered.height:
                self._folder.parquet(f"{_PLACES[kind]}/{file}.parquet", gathered.table())

    def _shows(self, sample: str) -> bool:
        return self._open is None or sample in self._open

    def _item(self, position: int, sample: Sample) -> Row:
        self._samples[sample.id] = sample.id
        self.languages |= {language for language in [sample.tags.get("language")] if language}
        shown = self._shows(sample.id)
        return {
            "example_id": sample.id, "position": position, "messages": _json(sample.messages) if shown else None,
            "target": None if sample.target is None else _json(sample.target), "tags": _json(sample.tags),
            "cluster": sample.cluster, "parts": _json(sample.parts) if sample.parts and shown else None,
        }  # fmt: skip

    def _reply(self, reply: Reply) -> Row:
        tokens = reply.provenance.get("tokens", reply.usage.prompt_tokens + reply.usage.completion_tokens or None)
        return {
            "response_id": reply.id, "example_id": reply.sample, "answer_model": reply.model, "answer_run": reply.run,
            "response_text": reply.text if self._shows(reply.sample) else None, "status": reply.status.value,
            "tokens": tokens if isinstance(tokens, int) else None,
            **self._origin(reply, _OF_REPLY, shown=self._shows(reply.sample)),
        }  # fmt: skip

    def _rating(self, rating: Rating, kind: TableKind, rater: str) -> Row:
        sample = self._samples[rating.subject]
        shown, value = self._shows(sample), rating.value
        exact = {"value": value} if isinstance(value, float) and value.is_integer() else {}
        quotes = {"evidence": rating.evidence} if rating.evidence and shown else {}
        origin = self._origin(rating, _OF_RATING, shown=shown, **exact, **quotes)
        if rater != rating.rater:  # where a person's ratings were read from may say who they are
            origin |= {"source_file": None, "source_row": None}
        return {
            "response_id": rating.subject if rating.subject in self._replied else None, "example_id": sample,
            RATER[kind]: rater, "rater_kind": rating.rater_kind.value, "evaluation_run": rating.run,
            "criterion": rating.criterion, "score": self._score(rating),
            "level": value if isinstance(value, str) else None, "score_status": rating.status.value,
            "explanation": (rating.rationale or None) if shown else None, "instrument": rating.instrument or None, **origin,
        }  # fmt: skip

    def _score(self, rating: Rating) -> float | None:
        """Return a rating as a number: its value, or the place of its level."""
        if not isinstance(rating.value, str):
            return rating.value
        levels = self._criteria[rating.criterion].values if rating.criterion in self._criteria else ()
        return levels.index(rating.value) + 1 if rating.value in levels else None

    def _origin(self, record: Reply | Rating, names: Iterable[str], *, shown: bool, **facts: Any) -> Row:
        """Say where a record was read from and, as JSON, what else is known of it."""
        origin = record.provenance
        told = {name: origin[name] for name in names if name in origin and (shown or name not in _QUOTING)}
        told |= {"model_raw": origin["model"]} if "model" in origin else {}
        return {
            "source_file": file_only(origin.get("source_file")), "source_row": origin.get("source_row"),
            "details": _json(_public({**told, **facts})),
        }  # fmt: skip


class _ExportRows:
    """A table that grows row by row, of exactly its columns and types; few of its rows are Python objects at a time."""

    def __init__(self, kind: TableKind) -> None:
        self._columns = {name: _TYPES[type_name] for name, type_name in TABLES[kind].items()}
        self._rows: list[tuple[Any, ...]] = []
        self._frames: list[pl.DataFrame] = []
        self.height = 0

    def add(self, row: Row) -> None:
        self._rows.append(tuple(row[name] for name in self._columns))
        self.height += 1
        if len(self._rows) == _FRAME:
            self._settle()

    def table(self) -> pl.DataFrame:
        self._settle()
        return pl.concat(self._frames, rechunk=True)

    def _settle(self) -> None:
        self._frames.append(pl.DataFrame(self._rows, schema=self._columns, orient="row"))
        self._rows = []


def _json(value: Any) -> str:
    return encode(value).decode()


def _public(value: Any) -> Any:
    """Return facts in which files are named without a path of somebody's machine."""
    if isinstance(value, dict):
        return {k: file_only(v) if k in {"source_file", "sampled_from"} else _public(v) for k, v in value.items()}
    return value


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Give every name one that is safe as a file name, without folders in it, on any system.

    Names that would be the same then get part of their hash.
    """
    distinct = sorted(set(names))
    plain = {name: _UNSAFE.sub("_", name).lstrip("._-")[:_LONGEST] or "unnamed" for name in distinct}
    uses = Counter(safe.casefold() for safe in plain.values())
    return {
        name: safe if uses[safe.casefold()] == 1 else f"{safe}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
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


def card(benchmark: Benchmark, rows: dict[str, int], licence: str, facts: CardFacts) -> str:
    """Write the card.

    Args:
        benchmark: whose replies.
        rows: how many each table has, by its file.
        licence: what the user publishes under; this program does not know it.
        facts: what else is said.
    """
    words = " ".join(licence.split())
    return rendered(
        "card.md.j2", benchmark=benchmark.card, name=benchmark.name, closed=benchmark.closed, licence=words,
        licence_id=licence_id(words), configs=[*_configs(rows, closed=benchmark.closed)], **facts._asdict(),
    )  # fmt: skip


def _configs(rows: dict[str, int], *, closed: bool) -> Iterator[tuple[str, str, int]]:
    """Yield the configs that exist: name, glob, rows. The replies come first, since the first is the one that is shown."""
    first = TableKind.ITEMS if closed else TableKind.RESPONSES
    for kind, place in sorted(_PLACES.items(), key=lambda entry: entry[0] is not first):
        if own := [count for file, count in rows.items() if file.startswith(f"{place}/")]:
            yield kind.value, f"{place}/*.parquet", sum(own)
