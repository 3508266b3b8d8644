"""`export`: a run in another tool's format, or a benchmark's questions."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack

import msgspec

from mindgauge import benchmarks
from mindgauge.benchmarks import restricted
from mindgauge.benchmarks.persons.dialogues import PersonMode
from mindgauge.commands.command import NAMED, CommandOption, Count, FromZero, command
from mindgauge.records import Sample
from mindgauge.records.command_result import Tabular, noted
from mindgauge.records.english import nearest
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import megabytes, plural
from mindgauge.records.shell import command_line
from mindgauge.reports.export.address import destination, is_address
from mindgauge.reports.export.folder import ExportFolder, Written
from mindgauge.runs import conversations, inputs
from mindgauge.runs.options import Asking, RunConfig, refuse_unknown
from mindgauge.runs.reply_tables import TAGS
from mindgauge.runs.steps import reply_request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.reports.export.worklist import Lot
    from mindgauge.store import Store

QUESTIONS = "questions"
FORMATS = ("csv", "parquet", "hub", "inspect", "review", "decisions", QUESTIONS)
_FOLDERS = {"hub", "inspect", "review", "decisions"}
"""Formats that are written to folders of this machine only."""


class ExportOptions(TypedDict, total=False):
    """What one format alone takes; see `export`."""

    draw: Annotated[int | str | None, CommandOption(metavar="N")]
    random: Count | None
    seed: FromZero


class Exported(Tabular, msgspec.Struct, frozen=True):
    """What was written, file by file; `notes` says what of the run has no place in the format."""

    run: str
    to: str
    path: str
    files: list[Written]
    notes: list[str]

    def summary(self) -> list[str]:
        """Say what was written where, and what has no place there."""
        size = megabytes(sum(file.size for file in self.files))
        return [
            f"{plural(len(self.files), 'file')} ({self.to}, {size}) of {self.run}",
            *noted(self.notes, 3),
            self.path,
        ]

    def _listed(self) -> list[Written]:
        return self.files


@command(first="to out unsafe draw licence data limit where", doing="Writing")
def export(
    run: Annotated[str | Path, NAMED],
    *,
    to: str,
    out: Annotated[str | Path | None, NAMED] = None,
    licence: str | None = None,
    unsafe: str | None = None,
    partition_by: Annotated[Sequence[str], CommandOption(commas=True, metavar="COLUMN,…")] = (),
    rows_per_file: Count | None = None,
    show_texts: bool = False,
    data: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    limit: Count | None = None,
    where: dict[str, tuple[str, ...]] | None = None,
    **of_format: Unpack[ExportOptions],
) -> Exported:
    """Write a run in another tool's format, or a benchmark's questions for those who answer them elsewhere.

    Args:
        run: A run directory; with --to questions, a benchmark.
        to: csv, parquet, hub (the Hugging Face layout), inspect (logs for Inspect's viewer), review (what people should
            read first), decisions (what people decided in view), or questions (a benchmark's, to be answered
            elsewhere).
        out: The folder to write, or an address: s3://bucket/folder; RUN/export-FORMAT if not given. With questions, a
            file: .csv, .jsonl or .parquet.
        licence: The licence you publish under; hub needs one.
        unsafe: With review: safety<=2, to order by what people's ratings teach.
        partition_by: With parquet: a folder for each value, for example benchmark,rater.
        rows_per_file: With parquet; 100,000 if not given.
        show_texts: With hub: also what was said of restricted messages, which quotes them.
        data: With questions: a copy of the authors' released files, or a table of your own.
        columns: for `questions`, how that table is read, see `run`.
        limit: At most this many, each with its variants, spread evenly over the classes; of dialogues each with another
            person.
        where: Keep samples whose tag has a value: language=zh, or one of several: made=released,ours. May be repeated.
        of_format: for `review`, what is listed where not all is:

            draw: With review: list N replies, drawn with known probabilities: those that need people most, and --random
                of the rest. Or blocks of the list: 100=60,400=40,rest=50.
            random: With --draw: how many are drawn at random from the rest; 50 if not given.
            seed: Of --draw.

    Raises:
        TypeError: there is no such option.
        UsageError: there is no run, the format is unknown, it needs a licence, an option has no use with it, `out` is
            somebody else's, or nothing can be written there.
        EndpointError: the address cannot be reached.
        DataError: there is nothing to review, or nothing to learn its order from.
    """
    from mindgauge.analysis.score import open_run
    from mindgauge.benchmarks import restricted

    _check(to, licence, unsafe, partition_by, rows_per_file, show_texts=show_texts)
    refuse_unknown(of_format, ExportOptions, export)
    lot = _lot(to, of_format)
    if to == QUESTIONS:
        return _questions(str(run), out, data=data, columns=columns, limit=limit, where=where)
    for option, value in (("data", data), ("map", columns), ("limit", limit), ("where", where)):
        if value:
            raise UsageError(f"--{option} chooses questions; it has no use with --to {to}")
    folder = Path(run)
    path = out if out is not None else folder / f"export-{to}"
    if to in _FOLDERS and is_address(path):
        raise UsageError(f"--to {to} writes to folders of this machine only; export to one, then copy it")
    store, benchmarks, manifest = open_run(folder)
    with store:
        if to == "hub":
            written_files, notes = _hub(Path(path), store, benchmarks, manifest, licence or "", show_texts=show_texts)
        elif to in _FOLDERS:
            written_files, notes = (
                _inspect(Path(path), store, benchmarks, manifest) if to == "inspect"
                else _review(Path(path), store, benchmarks, unsafe, lot) if to == "review"
                else _decisions(Path(path), store, benchmarks)
            )  # fmt: skip
            notes += restricted.notes(store, benchmarks, manifest)
        else:
            with destination(path) as files:
                _write_tables(files, store, benchmarks, to, partition_by, rows_per_file)
            written_files, notes = files.written, restricted.notes(store, benchmarks, manifest)
            if is_address(path):
                path = files.out
                notes += [_sent(files, text=manifest.get("plan", {}).get("text", True))]
    return Exported(str(folder), to, str(path), written_files, notes)


def _questions(
    name: str,
    out: str | Path | None,
    *,
    data: str | Path | None,
    columns: Mapping[str, str] | None,
    limit: int | None,
    where: dict[str, tuple[str, ...]] | None,
) -> Exported:
    if out is None:
        raise UsageError("--to questions writes a file: name it with --out FILE.csv, FILE.jsonl or FILE.parquet")
    path = Path(out)
    count, notes = write_questions(
        name, path, data=None if data is None else Path(data), columns=columns, limit=limit, where=where
    )
    content = path.read_bytes()
    written = Written(path.name, count, len(content), hashlib.sha256(content).hexdigest())
    return Exported(name, QUESTIONS, str(path), [written], notes)


def _check(
    to: str, licence: str | None, unsafe: str | None, partition_by: Sequence[str], rows: int | None, *, show_texts: bool
) -> None:
    """Refuse options that make no sense together, before anything is opened or written."""
    if to not in FORMATS:
        hint = nearest(to.lower(), FORMATS, f"known are {', '.join(FORMATS)}", 0.4)
        raise UsageError(f"unknown format {to!r}: {hint}")
    if to == "hub" and not (licence or "").strip():
        raise UsageError("the hub layout is made to be published: state your licence with --licence")
    if unsafe is not None and to != "review":
        raise UsageError(f"--unsafe is about the order of a review list; it has no use with --to {to}")
    if to != "parquet" and (partition_by or rows is not None):
        raise UsageError(f"--partition-by and --rows-per-file are for --to parquet; they have no use with --to {to}")
    if show_texts and to != "hub":
        raise UsageError(f"--show-texts is about what is published; --to {to} holds every text anyway")
    if rows is not None and rows < 1:
        raise UsageError(f"--rows-per-file is at least 1, not {rows}")
    if partition_by:
        from mindgauge.reports.export.tabular import PARTITIONS

        unknown = [column for column in partition_by if column not in PARTITIONS]
        if unknown:
            raise UsageError(f"cannot partition by {unknown[0]}: choose from {', '.join(PARTITIONS)}")


def _write_tables(
    files: ExportFolder,
    store: Store,
    benchmarks: list[Benchmark],
    to: str,
    partition_by: Sequence[str],
    rows: int | None,
) -> None:
    from mindgauge.reports.export import tabular

    if to == "csv":
        tabular.write_csv(files, store, benchmarks)
    else:
        tabular.write_parquet(files, store, benchmarks, partition_by, rows or tabular.ROWS)


def _inspect(
    folder: Path, store: Store, benchmarks: list[Benchmark], manifest: dict[str, Any]
) -> tuple[list[Written], list[str]]:
    """Write a log for each benchmark and model."""
    from mindgauge.analysis.score import score
    from mindgauge.reports.export import inspect_logs

    if not manifest.get("plan", {}).get("text", True):
        raise UsageError(f"{store.folder}: this run keeps no text, and a log is made of conversations; use --to csv or --to parquet")  # fmt: skip
    with ExportFolder(folder) as files:
        notes = inspect_logs.write(files, store, benchmarks, score(store.folder), manifest)
    return files.written, [*notes, f"look at them with: inspect view --log-dir {files.out}"]


def _decisions(folder: Path, store: Store, benchmarks: list[Benchmark]) -> tuple[list[Written], list[str]]:
    """Write what people decided in `view`, and what they read."""
    from mindgauge.reports.export import decisions

    with ExportFolder(folder) as files:
        notes = decisions.write(files, store, benchmarks)
    return files.written, notes


def _sent(files: ExportFolder, *, text: bool) -> str:
    """Say what left this machine."""
    size = sum(file.size for file in files.written)
    contents = "what people and models said included" if text else "without text, as the run was made"
    return f"{len(files.written)} files, {megabytes(size)}, {contents}, left this machine for {files.out}"


def _lot(to: str, of_format: ExportOptions) -> Lot | None:
    """Read how replies are drawn for a review list.

    Raises:
        UsageError: the format has no use for it, or it says only how many come from the rest.
    """
    from mindgauge.reports.export.worklist import Lot

    draw, random = of_format.get("draw"), of_format.get("random")
    if to != "review" and (draw is not None or random is not None):
        raise UsageError(f"--draw and --random choose replies for people; they have no use with --to {to}")
    return Lot.read(draw, random, of_format.get("seed", 0))


def _review(
    folder: Path, store: Store, benchmarks: list[Benchmark], unsafe: str | None, lot: Lot | None
) -> tuple[list[Written], list[str]]:
    """Write the review list of every benchmark that judges rated; several each in a folder of its own."""
    from mindgauge.analysis.escalation import subjects
    from mindgauge.analysis.reliability import ratings
    from mindgauge.reports.export import worklist

    query = "SELECT count(*) FROM ratings WHERE benchmark = ? AND rater_kind IN ('model', 'classifier')"
    judged = [b for b in benchmarks if store.select(query, (b.name,)).fetchone()[0]]
    if not judged:
        raise UsageError(f"{store.folder}: no judge has rated anything here, so there is nothing to review")
    labelled = subjects.rated_by_people(store, judged, ()) if unsafe is not None else []
    if unsafe is not None and len(labelled) != 1:
        names = ", ".join(b.name for b in labelled) or "nothing"
        raise UsageError(f"{store.folder}: --unsafe needs one benchmark that people rated; here that is {names}")
    written_files: list[Written] = []
    notes: list[str] = []
    for benchmark in judged:
        name = "" if len(judged) == 1 else benchmark.name.replace("/", "-")
        rated_subjects = (
            subjects.with_words(subjects.read(store, benchmark, unsafe), store)
            if unsafe is not None and benchmark in labelled
            else None
        )
        with ExportFolder(folder / name) as files:
            remarks = worklist.write(files, store, benchmark, rated_subjects, lot)
            notes += [f"{benchmark.name}: {note}" for note in remarks]
        written_files += [
            msgspec.structs.replace(w, file=f"{name}/{w.file}" if name else w.file) for w in files.written
        ]
    keys = ", ".join(ratings.key_of(store.folder, benchmark.name).name for benchmark in judged)
    notes.append(f"give {worklist.REVIEW} to the reader; who wrote what stands in the run ({keys})")
    return written_files, notes


def _hub(
    out: Path,
    store: Store,
    benchmarks: list[Benchmark],
    manifest: dict[str, Any],
    licence: str,
    *,
    show_texts: bool,
) -> tuple[list[Written], list[str]]:
    """Write every benchmark that has replies or labels: one as the folder itself, several each in its own."""
    from mindgauge.reports.export import hub

    held_here = [b for b in benchmarks if store.count_replies(b.name) or (b.closed and store.count_ratings(b.name))]
    if not held_here:
        raise UsageError(
            f"{store.folder}: the hub layout is about replies and labels, and there are none yet "
            f"({', '.join(b.name for b in benchmarks)}); use --to csv or --to parquet"
        )
    written_files: list[Written] = []
    notes = [
        f"{b.name}: no replies and no labels, so nothing for the hub layout" for b in benchmarks if b not in held_here
    ]
    for benchmark in held_here:
        name = "" if len(held_here) == 1 else benchmark.name.replace("/", "-")
        if held := store.count_held(benchmark.name):
            notes.append(
                f"{benchmark.name}: {held} replies answer a dialogue as it was held, and the layout has the one on file; "
                "--to csv and --to parquet have the one that was held"
            )
        with ExportFolder(out / name) as files:
            if hidden := hub.write(files, store, benchmark, manifest, licence, show_texts=show_texts):
                notes.append(
                    f"{benchmark.name}: {hidden} restricted messages; replies to them and reasons, which quote them, are "
                    "left out (--show-texts writes them, where you may publish them)"
                )
        written_files += [
            msgspec.structs.replace(w, file=f"{name}/{w.file}" if name else w.file) for w in files.written
        ]
    return written_files, notes


def write_questions(
    name: str,
    out: Path,
    *,
    data: Path | None,
    columns: Mapping[str, str] | None,
    limit: int | None,
    where: dict[str, tuple[str, ...]] | None,
) -> tuple[int, list[str]]:
    """Write the questions of a benchmark into a file; return how many there are, and what is to be known about them.

    Raises:
        UsageError: there is no such benchmark, no reply answers its question, or the file cannot be written.
        DataError: samples are missing or bad.
    """
    from mindgauge.reports.export import questions

    benchmark = benchmarks.asked_one(name)
    if benchmark.closed and not benchmark.about_reply:
        raise UsageError(
            f"{name} is a closed question about what the person says: there are no replies to rate; use `{command_line('run', name)}`"
        )
    benchmark = _answered_once(benchmark, data)
    suffix = questions.suffix_of(out)
    available = inputs.at_hand([benchmark], data, where, limit, columns)
    samples = _asked(benchmark, available.samples[0])
    told = [_system(benchmark, sample) for sample in samples]
    questions.write(out, questions.table(samples, told, TAGS, computed=suffix == ".csv"))
    notes = [
        *available.notes,
        f"fill in the column `reply`, then: {command_line('rate', name, '--replies', out, '--judge', 'NAME')}",
    ]
    if any(told):
        notes.append("what stands in `system` is told to models beforehand; leave it away, and your bot was asked something else")  # fmt: skip
    held = restricted.open_samples(benchmark, {"plan": {"data": str(data)}}) if data is not None else None
    if count := 0 if held is None else sum(sample.id not in held for sample in samples):
        notes.append(f"do not pass this file on: it holds {count} restricted messages")
    return len(samples), notes


def _answered_once(benchmark: Benchmark, data: Path | None) -> Benchmark:
    """Let dialogues be stored ones, each answered once: what is said next in others depends on the answers."""
    if benchmark.persons is None:
        return benchmark
    config = RunConfig(asking=Asking(person=PersonMode.PREFIXED.value))
    return conversations.held([benchmark], [], config, data, text=True).benchmarks[0]


def _asked(benchmark: Benchmark, samples: list[Sample]) -> list[Sample]:
    """Return what is to be answered: of a question about a reply the dialogue before it, once, and nothing said of the reply."""
    if not benchmark.closed:
        return samples
    asked: dict[str, Sample] = {}
    for sample in samples:
        tags = {name: value for name, value in sample.tags.items() if name in TAGS}
        if before := sample.messages[:-1]:
            question = Sample.of(before, tags=tags, cluster=sample.cluster)
            asked.setdefault(question.id, question)
    return [*asked.values()]


def _system(benchmark: Benchmark, sample: Sample) -> str:
    """Return what a chat model would be told before a sample."""
    if benchmark.closed:
        return ""
    first, *_ = reply_request(benchmark, sample, 0, {}).messages
    return first.content if first.role == "system" and first not in sample.messages else ""
