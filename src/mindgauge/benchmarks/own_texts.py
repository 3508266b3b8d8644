"""Texts that a user brings: any table of messages as samples of any benchmark, whatever its authors' files look like.

A table has `user` (one message) or `messages` (a dialogue), and optionally `own_columns.COLUMNS` and the tags that a benchmark
looks at. It is a file, or a folder or zip of files, which is then read whole; where no table is in it, each text file is a
message. The authors' released files are recognised first. Nothing is guessed: where no column is the message, a refusal says
which columns there are and which `--map` would do. Nothing is left out in silence.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.benchmarks import own_columns
from mindgauge.benchmarks.own_columns import ALSO, FILE, OWN, TARGET, TEXTS, targeted
from mindgauge.records import Message, Sample
from mindgauge.records.english import named
from mindgauge.records.errors import DataError, MissingDataError
from mindgauge.records.files import mapping, texts
from mindgauge.records.rounding import plural
from mindgauge.records.text import HAN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from mindgauge.benchmarks.own_columns import TextFile
    from mindgauge.benchmarks.sampled import SampledBenchmark
    from mindgauge.records.files.input_table import InputTable
    from mindgauge.records.files.mapping import ColumnMap


class NeitherError(MissingDataError):
    """What lies there is neither the authors' files nor texts of the user's own."""

    def __init__(self, refusal: DataError, fault: DataError, *, theirs: bool) -> None:
        """Put two reasons into one line.

        Args:
            refusal: why it is not the authors'.
            fault: why it is not the user's.
            theirs: whether the first is the likelier.
        """
        self.refusal = str(refusal)
        lines = (
            f"{refusal}; nor are texts of your own there: {fault}"
            if theirs
            else f"{fault}; nor are they the authors' files: {refusal}"
        )
        super().__init__(lines)


def unreleased(data: Path) -> list[Sample]:
    """Read the authors' files of a benchmark that has none: every table is one of the user's own.

    Raises:
        MissingDataError: always.
    """
    raise MissingDataError(f"{data}: there are no released files of this benchmark")


class TakenSamples(NamedTuple):
    """The samples that are asked about, what must be known of how they were read, and whether they are the user's own."""

    samples: list[Sample]
    notes: list[str]
    own: bool
    population: Callable[[], list[Sample]]
    """Returns all that a limit takes from."""


def _selected(
    benchmark: SampledBenchmark,
    candidates: list[Sample],
    keep: dict[str, tuple[str, ...]],
    limit: int | None,
    notes: list[str],
    *,
    own: bool,
) -> TakenSamples:
    samples = benchmark.selected(candidates, keep, limit)
    return TakenSamples(samples, notes, own, partial(benchmark.selected, candidates, keep, None))


def take(
    benchmark: SampledBenchmark,
    data: Path | None,
    where: dict[str, tuple[str, ...]] | None = None,
    limit: int | None = None,
    columns: Mapping[str, str] | None = None,
    *,
    by_protocol: bool = False,
) -> TakenSamples:
    """Return the samples that a benchmark is to ask about: the authors', the user's own, or those of this project.

    Args:
        benchmark: that asks.
        data: the authors' released files, or a table, folder or zip of the user's; our own samples if not given.
        where: tag → values to keep.
        limit: at most this many, each with its variants, spread evenly over the classes in the order of the file.
        columns: our name → the user's column, and how the file is read; it takes the place of `columns.toml` beside a table.
        by_protocol: whether judges rate by the protocol that a sample's tag names, so that one must be there.

    Raises:
        MissingDataError: neither the authors' files are there nor a column that the benchmark needs.
        DataError: nothing is there, or nothing usable, or it is broken.
        UsageError: `columns` names something that is not read.
    """
    if data is None:
        return _selected(benchmark, benchmark.own_samples(), dict(where or {}), limit, [], own=False)
    if not data.exists() and not own_columns.lying(data)[0]:  # nor is it a member of a zip
        raise DataError(
            f"{data}: no such file or folder; --data takes a table or texts of your own, a folder or zip of them, or the folder "
            "of the authors' released files"
        )
    if columns or benchmark.load_mapped is not None or benchmark.read is unreleased:
        files = own_columns.opened(benchmark, data, columns)
        return _own(benchmark, data, files, where, limit, by_protocol=by_protocol)
    try:
        released = benchmark.read(data)
    except DataError as refusal:
        if (data.is_dir() and not isinstance(refusal, MissingDataError)) or not own_columns.lying(data)[0]:
            raise
        try:
            files = own_columns.opened(benchmark, data, columns)
        except DataError as fault:
            raise NeitherError(refusal, fault, theirs=data.is_dir()) from fault
        return _own(benchmark, data, files, where, limit, by_protocol=by_protocol)
    notes = benchmark.notes(data) if benchmark.notes is not None else []
    return _selected(benchmark, released, {**benchmark.keep, **(where or {})}, limit, notes, own=False)


def _own(
    benchmark: SampledBenchmark,
    data: Path,
    files: list[TextFile],
    where: dict[str, tuple[str, ...]] | None,
    limit: int | None,
    *,
    by_protocol: bool,
) -> TakenSamples:
    reader = OwnReader(benchmark, data)
    for file in files:
        reader.read(file)
    samples = reader.samples(by_protocol=by_protocol)
    notes, others = reader.notes(by_protocol=by_protocol), own_columns.lying(data)[1]
    if others:
        notes.append(f"{data}: {plural(len(others), 'file is', 'files are')} not read: {named(others, limit=5)}")
    return _selected(benchmark, samples, dict(where or {}), limit, notes, own=True)


_NAMED = 5


# What happened to a row, and to several, in words.
EMPTY = ("row has no message and is left out", "rows have no message and are left out")
REPEATED = (
    "row repeats a message word for word, which counts once",
    "rows repeat a message word for word; each message counts once",
)
OTHERWISE = (
    "row repeats a message under another category; the first counts",
    "rows repeat a message under another category; the first counts",
)
ENDED = (
    "dialogue ends with a turn that is not the person's; it is asked about up to the person's last turn",
    "dialogues end with a turn that is not the person's; they are asked about up to the person's last turn",
)


class OwnReader:
    """Reads texts of a user's own into samples of a benchmark, and keeps what has to be said of them."""

    def __init__(self, benchmark: SampledBenchmark, data: Path) -> None:
        """Begin without any.

        Args:
            benchmark: that asks about them.
            data: how messages call what they come from.
        """
        self._benchmark, self._data = benchmark, data
        self._names, self._prefixes = own_columns.names(benchmark), own_columns.prefixes(benchmark)
        self._samples: dict[str, tuple[Sample, str]] = {}
        self._seen: dict[tuple[str, str], list[str]] = {}
        """What happened to rows, with where they stand."""
        self._lacking: dict[str, list[str]] = {}
        """Needed columns that rows have nothing in."""
        self._strange: dict[str, dict[str, list[str]]] = {}
        """Criterion → targets that are none of its levels → where they stand."""
        self._said: dict[str, None] = {}
        self._unread = ""
        self._headers: dict[str, None] = {}

    def read(self, file: TextFile) -> None:
        """Read one file.

        Raises:
            DataError: it is broken, or two rows contradict each other.
        """
        if file.table is None:
            self._row({"user": file.text}, str(file.file), file.file.name)
            return
        built, mapped = {*file.table.headers} >= own_columns.BUILT, file.column_map.columns
        for line, row in file.table.rows(mapped):
            cells = texts.filled(row)
            self._row(own_columns.of_item(cells, mapped) if built else cells, f"{file.file}:{line}", file.file.name)
        self._tell(file.table, file.column_map, own_columns.OF_ITEM if built else frozenset())

    def _tell(self, table: InputTable, column_map: ColumnMap, of_item: frozenset[str]) -> None:
        """Say which columns are read under which names, and which are not."""
        columns = {name: table.headers[place] for name, place in table.places(column_map.columns).items()}
        read = {*columns.values(), *of_item, *(h for h in table.headers if self._reads(h) and h not in columns)}
        renamed = [f"{name} from {column!r}" for name, column in columns.items() if column and column != name]
        idle = [repr(header[:40]) for header in table.headers if header and header not in read]
        parts = [
            *([f"read {', '.join(renamed)}"] if renamed else []),
            *([f"not read: {', '.join(idle[:_NAMED])}{' and more' * (len(idle) > _NAMED)}"] if idle else []),
        ]
        if parts:
            self._said.setdefault("; ".join(parts))
        self._headers |= dict.fromkeys(header for header in table.headers if header)

    def _reads(self, header: str) -> bool:
        return header in self._names or header.startswith(self._prefixes)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _row(self, row: dict[str, Any], place: str, file: str) -> None:
        if isinstance(row.get("user"), int | float) and not isinstance(row["user"], bool):
            row = {**row, **texts.words(row, "user")}
        stated = {"messages", "user"} & row.keys()
        dialogue = texts.messages(row, place) if stated else ()
        if not any(message.role == "user" and message.content.strip() for message in dialogue):
            self._note(EMPTY, place)
            return
        dialogue = self._asked(dialogue, row, place)
        if not dialogue:
            return
        tags = self._tags(row, dialogue, place, file)
        target, targets = self._targets(row, tags, place)
        cluster = texts.words(row, "cluster").get("cluster", "")
        sample = Sample.of(dialogue, target=target, tags={**tags, **targets}, cluster=cluster)
        if self._benchmark.completed is not None and not self._lacks(sample):
            try:
                sample = self._benchmark.completed(sample)
            except DataError as fault:
                kind = DataError if self._samples else MissingDataError  # such texts are not there at all
                raise kind(f"{place}: {self._benchmark.name}: {fault}") from fault
        for name in self._needed(sample.tags):
            if name not in sample.tags:
                self._lacking.setdefault(name, []).append(place)
        self._keep(sample, place)

    def _asked(self, dialogue: tuple[Message, ...], row: Mapping[str, Any], place: str) -> tuple[Message, ...]:
        """Return the dialogue as far as it is asked about: with the reply, or up to the person's last turn."""
        if self._benchmark.about_reply:
            reply = texts.words(row, "reply").get("reply", "")
            if reply:
                return (*dialogue, Message("assistant", reply))
            if dialogue[-1].role != "assistant" or not dialogue[-1].content.strip():
                self._lacking.setdefault("reply", []).append(place)
            return dialogue
        if self._benchmark.closed or dialogue[-1].role == "user":
            return dialogue
        self._note(ENDED, place)
        last = max(turn for turn, message in enumerate(dialogue) if message.role == "user")
        return dialogue[: last + 1]

    def _tags(self, row: Mapping[str, Any], dialogue: tuple[Message, ...], place: str, file: str) -> dict[str, str]:
        benchmark = self._benchmark
        plain = [name for name in self._names if name not in {"user", "messages", "reply", "target", "cluster", "tags", *ALSO}]  # fmt: skip
        tags = {TEXTS: OWN, FILE: file, **own_columns.tags_in(row, place, *plain)}
        if "language" not in tags and HAN.search(dialogue[-1].content):
            tags["language"] = "zh"
        if benchmark.protocol in tags:
            tags[benchmark.protocol] = benchmark.protocol_of(tags[benchmark.protocol], place)
        if benchmark.named_category is not None and "category" in tags:
            tags["category"] = benchmark.named_category(tags["category"])
        return tags

    def _needed(self, tags: Mapping[str, str]) -> dict[str, str]:
        """Return what a sample needs: what the benchmark says, and the tags by which a criterion is about it."""
        needed = dict(self._benchmark.needs)
        if not any(criterion.about(tags) for criterion in self._benchmark.criteria):
            for criterion in self._benchmark.criteria:
                for tag in criterion.applies:
                    values = {v: None for c in self._benchmark.criteria for v in c.applies.get(tag, ())}
                    needed.setdefault(tag, named([*values], "or", limit=len(values)))
        return needed

    def _lacks(self, sample: Sample) -> bool:
        return any(name not in sample.tags for name in self._benchmark.needs)

    def _targets(self, row: Mapping[str, Any], tags: Mapping[str, str], place: str) -> tuple[Any, dict[str, str]]:
        """Return a row's target, which is on the first criterion, and its targets on others as tags."""
        benchmark = self._benchmark
        criteria = [criterion for criterion in benchmark.criteria if criterion.about(tags)]
        by_name = {criterion.name: criterion for criterion in benchmark.criteria}
        first = benchmark.rubric.criteria[0].name
        target, others = None, {}
        for name, cell in texts.words(row, *(n for n in row if n == "target" or n.startswith(TARGET))).items():
            wanted = name.removeprefix(TARGET)
            if name != "target" and wanted not in by_name:
                raise DataError(
                    f"{place}: {name}: {benchmark.name} has no criterion {wanted!r}; it has {', '.join(by_name)}"
                )
            candidates = [by_name[wanted]] if name != "target" else criteria[:1] if benchmark.closed else criteria
            criterion = next((c for c in candidates if own_columns.level(c, cell) is not None), None)
            if criterion is None:
                for candidate in candidates[:1]:
                    self._strange.setdefault(candidate.name, {}).setdefault(cell, []).append(place)
                continue
            value = own_columns.level(criterion, cell)
            if criterion.name == first or (name == "target" and not benchmark.closed):
                target = value
            else:
                others[f"{TARGET}{criterion.name}"] = str(value)
        return target, others

    def _keep(self, sample: Sample, place: str) -> None:
        """Keep a sample once; of two rows with one text, the first counts.

        Raises:
            DataError: both have a target, and these differ.
        """
        first, first_place = self._samples.setdefault(sample.id, (sample, place))
        if first_place == place:
            return
        differs = any(first.tags.get(tag) != sample.tags.get(tag) for tag in ("category", self._benchmark.protocol))
        self._note(OTHERWISE if differs else REPEATED, place)
        if first.target is None:
            self._samples[sample.id] = (msgspec.structs.replace(first, target=sample.target), first_place)
        elif sample.target not in {None, first.target}:
            raise DataError(
                f"{place}: the same text as {first_place}, with the target {sample.target!r} here and {first.target!r} there; "
                "keep one of them"
            )

    def _note(self, oddity: tuple[str, str], place: str) -> None:
        self._seen.setdefault(oddity, []).append(place)

    # -- what came of it -----------------------------------------------------------------------------------------------

    def samples(self, *, by_protocol: bool) -> list[Sample]:
        """Return the samples, each once.

        Raises:
            MissingDataError: a column is not there that the benchmark needs.
            DataError: there is no message, or a target is no level.
        """
        self._refuse_lacking()
        self._refuse_strange()
        samples = [sample for sample, _ in self._samples.values()]
        if not samples:
            raise DataError(f"{self._data}: no message in it")
        tag = self._benchmark.protocol
        if by_protocol and tag and not any(tag in sample.tags for sample in samples):
            raise MissingDataError(
                f"{self._needs(tag, 'by which its judges rate')}, or let the judge find it with --protocol recognised"
            )
        return samples

    def _needs(self, name: str, about: str) -> str:
        """Say which column a benchmark needs, and how to name it."""
        option = f"name it with --map {name}=COLUMN" if self._headers else "put the texts into a table that has it"
        columns = f" (the columns are {mapping.described([*self._headers])})" if self._headers else ""
        return f"{self._benchmark.name} needs a column `{name}`, {about}{columns}; {option}"

    def _refuse_lacking(self) -> None:
        if not self._lacking:
            return
        needed = {**self._needed({}), "reply": "what was answered to the message, which is what is asked about"}
        name, places = next(iter(self._lacking.items()))
        further = [f"`{other}` ({needed[other]})" for other in self._lacking if other != name]
        about = needed[name] + (f", and {named(further, limit=len(further))}" if further else "")
        where = "" if len(places) >= len(self._samples) else f"; nothing stands in it in {_places(places)}"
        raise MissingDataError(f"{self._needs(name, about)}{where}")

    def _refuse_strange(self) -> None:
        """Say which targets are no levels; of replies that are judged, nobody need know levels before, and it is only noted."""
        benchmark = self._benchmark
        for criterion in (c for c in benchmark.criteria if c.name in self._strange):
            values = [
                f"{v[:40]!r} ({_places(places)})" for v, places in islice(self._strange[criterion.name].items(), _NAMED)
            ]
            surplus = len(self._strange[criterion.name]) - len(values)
            line = f"targets that are no level of {criterion.name}: {', '.join(values)}{f' and {surplus} more' if surplus else ''}"
            known = any(targeted(sample) for sample, _ in self._samples.values())
            if benchmark.closed or known:
                kind = DataError if known else MissingDataError  # they may be another benchmark's
                raise kind(
                    f"{benchmark.name}: {line}; its levels are {', '.join(map(str, criterion.values))}; an empty cell is no target"
                )
            self._unread = f"{benchmark.name} does not read the targets: they are no levels of its criteria"

    def notes(self, *, by_protocol: bool) -> list[str]:
        """Say what became of rows, which columns were read, and what cannot be said without further ones."""
        benchmark = self._benchmark
        samples = [sample for sample, _ in self._samples.values()]
        lines = [f"{self._data}: {plural(len(samples), 'text')} of your own{'; ' * bool(self._said)}{'; '.join(islice(self._said, _NAMED))}"]  # fmt: skip
        lines += [f"{plural(len(places), *oddity)} ({_places(places)})" for oddity, places in self._seen.items()]
        lines += [self._unread] if self._unread else []
        wanted = dict(benchmark.wants)
        if by_protocol and benchmark.protocol:
            wanted[benchmark.protocol] = "replies to texts without it are not judged"
        for name, about in wanted.items():
            without = sum(not (name in sample.tags or (name == "target" and targeted(sample))) for sample in samples)
            if without:
                lines.append(f"{benchmark.name}: {without} of {len(samples)} texts have no `{name}`: {about}")
        foreign = Counter(language for sample in samples if (language := sample.tags.get("language", "")) and not _prompted(benchmark, language))  # fmt: skip
        lines += [f"{benchmark.name}: it has no prompts in the language {language!r} of {plural(n, 'text')}; the English ones are used" for language, n in foreign.items()]  # fmt: skip
        return lines


def _prompted(benchmark: SampledBenchmark, language: str) -> bool:
    asking = [prompts for kind, prompts in benchmark.prompts.items() if kind in {"ask", "judge"}]
    return all(language in prompts for prompts in asking)


def _places(places: list[str]) -> str:
    """Name rows: file and lines, files with many rows in one go."""
    by_file: dict[str, list[str]] = {}
    for place in places:
        file, _, line = place.rpartition(":")
        by_file.setdefault(file or line, []).append(line if file else "")
    parts = []
    for file, lines in islice(by_file.items(), _NAMED):
        surplus = f" and {len(lines) - _NAMED} more" if len(lines) > _NAMED else ""
        shown = ", ".join(lines[:_NAMED])
        parts.append(f"{file}, {'lines' if len(lines) > 1 else 'line'} {shown}{surplus}" if shown else file)
    files_left = len(by_file) - len(parts)
    return "; ".join(parts) + (f"; and {files_left} more files" if files_left > 0 else "")
