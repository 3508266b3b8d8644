"""`papers load`: the authors' released replies and ratings, as a run like any other."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mindgauge import benchmarks
from mindgauge.benchmarks import hub_layout, own_ratings, self_stated
from mindgauge.benchmarks.hub_layout import records
from mindgauge.benchmarks.hub_layout.tables import HubLayout, OtherExportError
from mindgauge.commands.command import command
from mindgauge.records import digest
from mindgauge.records.command_result import Tabular, noted
from mindgauge.records.english import named
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import folder as files
from mindgauge.records.ratings import NOTHING_SAID
from mindgauge.records.rounding import plural
from mindgauge.runs.plan import samples_hash
from mindgauge.runs.rating_steps import put_gold
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.benchmarks import Benchmark, Released
    from mindgauge.records.files.folder import Readable
    from mindgauge.records.ratings import RatingLayout

_BATCH = 2000
"""Records that are committed together."""


class LoadedCount(msgspec.Struct, frozen=True):
    """How many samples, replies (by model) or ratings (by rater) of one benchmark a run holds."""

    benchmark: str
    kind: str
    name: str
    n: int


class Loaded(Tabular, msgspec.Struct, frozen=True):
    """What was loaded. `ratings` counts by rater; `notes` says what was missing, doubled or damaged, one line each."""

    run: str
    benchmarks: list[str]
    samples: int
    replies: int
    ratings: dict[str, int]
    notes: list[str]
    counts: list[LoadedCount]
    faults: list[str] = []
    """Where the release contradicts what it says of itself; none, unless `anyway`."""
    checked: dict[str, int] = {}
    """How much of what it says of itself was compared."""

    def lacks_damaged(self) -> bool:
        """Whether a benchmark was not loaded because a file is one that contradicts its release."""
        damaged = [fault.partition(": ")[0] for fault in self.faults]
        return any(file in note for note in self.notes if ": not loaded (" in note for file in damaged)

    def summary(self) -> list[str]:
        """Say how much was loaded, by whom it was rated, and what was odd."""
        raters = [f"{name} {n:,}" for name, n in self.ratings.items()]
        return [
            (
                f"{named(self.benchmarks)}: {plural(self.samples, 'sample')}, {plural(self.replies, 'reply', 'replies')}, "
                f"{plural(sum(self.ratings.values()), 'rating')}"
            ),
            *([f"Ratings by {named(raters, limit=6)}"] if raters else []),
            *noted(self.notes, 3),
            f'The run: {self.run} (mindgauge.score("{self.run}"), mindgauge.report("{self.run}"))',
        ]

    def _listed(self) -> list[LoadedCount]:
        return self.counts


@command(doing="Loading")
def papers_load(
    name: str,
    *,
    data: str | Path,
    mapping: Mapping[str, str] | None = None,
    ratings: str | Path | Sequence[str | Path] = (),
    layout: RatingLayout = NOTHING_SAID,
    out: str | Path | None = None,
    anyway: bool = False,
    command: str = "",
) -> Loaded:
    """Make a run of the authors' released replies and ratings.

    Args:
        name: A benchmark.
        data: A copy of the authors' released files, whole or in part.
        mapping: what is where in a table whose columns are the user's (`{"user": "#1", "reply": "answer"}`).
        ratings: Your own people's ratings of these replies: files, folders, zips, in any shape. May be repeated.
        layout: how ratings stand in these, where that is not seen from them.
        out: The run directory; if not given, one that follows from the plan.
        anyway: Go on where the files contradict what their release says of them.
        command: what the user typed, for the manifest.

    Raises:
        MindgaugeError: the release contradicts what it says of itself.
        UsageError: nothing of this benchmark can be loaded, or `out` holds a run of other data.
        DataError: nothing usable is there, or a file is broken.
    """
    folder, checked = Path(data), Counter[str]()
    parts: list[str] = []
    faults = self_stated.check(folder, benchmarks.asked_family(name), checked, parts, anyway=anyway)
    hub = HubLayout(folder) if hub_layout.is_one(folder) else None
    members, notes = _released(name, folder, mapping or {}, hub)
    notes = [*faults, *parts, *notes]
    sources = hub.digests() if hub is not None else _sources(folder, [released for _, released in members])
    rating_files = [Path(ratings)] if isinstance(ratings, str | Path) else [Path(path) for path in ratings]
    if rating_files:
        members, remarks = own_ratings.joined(members, rating_files, layout)
        notes += remarks
    plan = {
        "loaded": True,
        "benchmarks": [b.name for b, _ in members],
        "instruments": [b.instrument().name for b, _ in members],
        "samples": [samples_hash(sample.id for sample in released.samples) for _, released in members],
        "released": [digest(released.samples, released.replies, released.ratings) for _, released in members],
    }
    title = Path(name).resolve().name if benchmarks.is_path(name) else name.strip("/").replace("/", "-")
    path = Path(out) if out is not None else Path("runs") / f"{title}-{digest(plan)[:8]}"
    with Store(path, write=True) as store:
        content = manifest.begin(path, plan, command)
        if "ended" not in content:
            for benchmark, released in members:
                _keep(store, benchmark, released)
                if hub is not None and not benchmark.closed:
                    records.keep_entry_tests(store, benchmark, hub)
            outside = benchmarks.outside(benchmark for benchmark, _ in members)
            origin = {
                **({"folders": outside} if outside else {}),
                "data": str(folder),
                **({"mapping": dict(mapping)} if mapping else {}),
                **({"ratings": [str(path) for path in rating_files]} if rating_files else {}),
                **({"exported": {name: run for name, (_, run) in hub.exports.items()}} if hub is not None else {}),
                "notes": notes,
            }
            manifest.write(path, {**content, **origin, "sources": sources, "ended": manifest.now()})
        counts = [count for benchmark, _ in members for count in _counts(store, benchmark)]
    by_rater: dict[str, int] = {}
    for count in (count for count in counts if count.kind == "rating"):
        by_rater[count.name] = by_rater.get(count.name, 0) + count.n
    return Loaded(
        run=str(path),
        benchmarks=[b.name for b, _ in members],
        samples=sum(count.n for count in counts if count.kind == "sample"),
        replies=sum(count.n for count in counts if count.kind == "reply"),
        ratings=by_rater,
        notes=notes,
        counts=counts,
        faults=faults,
        checked=dict(checked),
    )


def _released(
    name: str, data: Path, mapping: Mapping[str, str], layout: HubLayout | None
) -> tuple[list[tuple[Benchmark, Released]], list[str]]:
    """Read what is there of every member; a member of which nothing is there is only noted where another has some."""
    members = benchmarks.asked_family(name)
    inside = rf"(?<![\w./-]){re.escape(str(data))}(?=[/:])"
    if mapping and layout is not None:
        raise UsageError(f"{data}: its columns are those of the Hugging Face layout, so --map has no use here")
    if mapping and not any(benchmark.load_mapped for benchmark in members):
        raise UsageError(f"{name}: its columns are the authors', so --map has no use here")
    available: list[tuple[Benchmark, Released]] = []
    notes: dict[str, None] = {}  # members that read the same files say the same of them once
    problems: list[DataError] = []
    for benchmark in members:
        if benchmark.load is None and (layout is None or benchmark.closed):
            notes[f"{benchmark.name}: its released files hold nothing to load"] = None
            continue
        try:
            released = _read(benchmark, data, mapping, layout)
        except DataError as error:
            problems.append(error)
            notes[f"{benchmark.name}: not loaded ({re.sub(inside, 'data', str(error))})"] = None
            continue
        available.append((benchmark, released))
        notes |= dict.fromkeys(released.notes)
    if problems and not available:
        raise min(problems, key=lambda problem: isinstance(problem, OtherExportError))
    if not available:
        raise UsageError(
            f"{name}: it does not say how released replies or ratings are read; `run` and `audit` read its data, and "
            f"`rate {name} --replies FILE` any file of replies"
        )
    return available, list(notes)


def _read(benchmark: Benchmark, data: Path, mapping: Mapping[str, str], layout: HubLayout | None) -> Released:
    if layout is not None:
        return records.load(benchmark, layout)
    if mapping and benchmark.load_mapped is not None:
        return benchmark.load_mapped(data, mapping)
    assert benchmark.load is not None
    return benchmark.load(data)


def _sources(data: Path, releases: Sequence[Released]) -> dict[str, str]:
    """Return the SHA-256 of every file that a reply or a rating was read from."""
    origins = [record.provenance for released in releases for record in released.replies]
    origins += [
        facts
        for origin in origins
        for by_rater in origin.get("review_sets", {}).values()
        for facts in by_rater.values()
    ]
    origins += [record.provenance for released in releases for record in released.ratings]
    names = {str(origin["source_file"]) for origin in origins if origin.get("source_file")}
    root = data.resolve()
    lying: dict[str, Readable] = {root.as_posix(): data} if data.is_file() else {}
    if files.is_zip(data):
        lying = {(root / file.place).as_posix(): file for file in files.below(data).packed}
    if data.is_dir():
        lying = {(root / file.place).as_posix(): file for file in files.below(data).packed}
        lying |= {(root / path.relative_to(data)).as_posix(): path for path in files.walk(data)}
    by_name: dict[str, list[tuple[str, Readable]]] = {}
    for place, file in sorted(lying.items()):
        by_name.setdefault(file.name, []).append((place, file))
    hashes = {}
    for name in sorted(names):
        for place, file in by_name.get(Path(name).name, ()):
            if place.endswith(f"/{name}"):
                hashes[name] = hashlib.sha256(files.content(file)).hexdigest()
                break
    return hashes


def _keep(store: Store, benchmark: Benchmark, released: Released) -> None:
    """Write a benchmark's records; what an interrupted load has written already is replaced by the same."""
    if not store.count_samples(benchmark.name):
        store.put_samples(benchmark.name, released.samples)
    if benchmark.closed:
        put_gold(store, benchmark)
    for start in range(0, len(released.replies), _BATCH):
        for reply in released.replies[start : start + _BATCH]:
            store.add_reply(benchmark.name, reply)
        store.flush()
    for start in range(0, len(released.ratings), _BATCH):
        for rating in released.ratings[start : start + _BATCH]:
            store.add_rating(benchmark.name, rating)
        store.flush()


def _counts(store: Store, benchmark: Benchmark) -> list[LoadedCount]:
    queries = {
        "sample": "SELECT '', count(*) FROM samples WHERE benchmark = ?",
        "reply": "SELECT model, count(*) FROM replies WHERE benchmark = ? GROUP BY model ORDER BY model",
        "rating": "SELECT rater, count(*) FROM ratings WHERE benchmark = ? GROUP BY rater ORDER BY rater",
    }
    return [
        LoadedCount(benchmark.name, kind, name, n)
        for kind, query in queries.items()
        for name, n in store.select(query, (benchmark.name,))
    ]
