"""The one reader of transcripts: files, folders and zips of them, in whatever way dialogues are kept."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.records import inspect_logs
from mindgauge.records.english import named
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds, folder, mapping, tables, texts
from mindgauge.records.files.folder import File
from mindgauge.records.files.input_table import RecordTable
from mindgauge.records.files.mapping import TAG
from mindgauge.records.inspect_logs.rows import dialogues
from mindgauge.records.logs import GatheredCalls
from mindgauge.records.rounding import plural
from mindgauge.records.transcripts import labelled, rows
from mindgauge.records.transcripts.account import TranscriptAccount, counted
from mindgauge.records.transcripts.rows import UnreadError
from mindgauge.records.transcripts.transcript import PARTS, Speakers, Tally, refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.records.files.folder import Readable
    from mindgauge.records.files.input_table import InputTable
    from mindgauge.records.files.mapping import FileLayout
    from mindgauge.records.files.texts import Frame
    from mindgauge.records.transcripts.transcript import Transcript

FILE = "file"
COLUMNS = (*rows.NAMES, *PARTS, FILE)
"""What `--map` may name, beside `tag.NAME` and how a file is to be read."""
TEXTS = (".txt", ".md", ".markdown", ".text", ".log")
_ABOUT = {"readme", "license", "licence", "changelog", "notice", "citation"}
"""Files that lie beside data and speak of it."""
_SHOWN = 5


class Transcripts(NamedTuple):
    """What was read."""

    transcripts: list[Transcript]
    account: TranscriptAccount


def read(
    source: str | Path | Frame | list[Path], mapped: Mapping[str, str] | None = None, limit: int | None = None
) -> Transcripts:
    """Read transcripts.

    Args:
        source: a file, also in a zip (`archive.zip/member.txt`), a folder or a zip of them, several of these, or a table in
            memory.
        mapped: our name → the file's column (`messages`, `conversation`, `role`, `content`, `turn`, `time`, and what is known of a
            dialogue); `file` → the pattern of file names, see `NamePattern`; `user`, `assistant`, `system` and `omit` → names of speakers, several separated by `|`; how files are to
            be read, see `mapping`.
        limit: at most this many transcripts.

    Raises:
        UsageError: the mapping names something else.
        DataError: nothing in it is a transcript, or one cannot be read; the message names the file and the line.
    """
    column_map = mapping.read(mapped, COLUMNS, (mapping.TAG,))
    speakers = Speakers.of({part: column_map.columns[part] for part in PARTS if part in column_map.columns})
    columns = {name: column for name, column in column_map.columns.items() if name not in {*PARTS, FILE}}
    pattern = NamePattern(column_map.columns[FILE]) if FILE in column_map.columns else None
    tally, transcripts, files = Tally(), dict[Any, "Transcript"](), 0
    words: set[str] = set()
    for file, parts in _of_each(source, columns, column_map.layout, speakers, tally):
        files += bool(parts)
        for transcript in parts if pattern is None or file is None else pattern.applied(parts, _place(file), file):
            if limit is not None and len(transcripts) >= limit:
                break
            hashed = transcript.words
            ident = transcript.id if transcript.named else ""
            same = (hashed, ident, transcript.model, transcript.run, transcript.cluster)
            if same in transcripts:
                tally.repeated.append(f"{transcript.id} ({transcripts[same].id})")
                continue
            tally.same_words += hashed in words
            words.add(hashed)
            transcripts[same] = transcript
        if limit is not None and len(transcripts) >= limit:
            break
    if not transcripts:
        raise DataError(tally.left_out[0] if tally.left_out else f"{_name(source)}: no transcripts in it")
    listed = list(transcripts.values())
    return Transcripts(listed, counted(listed, files, tally))


def _name(source: str | Path | Frame | list[Path]) -> str:
    return named([str(path) for path in source], limit=_SHOWN) if isinstance(source, list) else tables.name_of(source)


def _of_each(
    source: str | Path | Frame | list[Path],
    columns: Mapping[str, str],
    layout: FileLayout,
    speakers: Speakers,
    tally: Tally,
) -> Iterator[tuple[Readable | None, list[Transcript]]]:
    """Yield each file with its transcripts; what holds none is left out, with a reason."""
    if not isinstance(source, str | Path | list):
        table = tables.open_table(source, layout)
        yield None, list(rows.transcripts(table, "table", columns, speakers, tally))
        return
    gathered = GatheredCalls(tally.left_out)
    listed = source if isinstance(source, list) else [Path(source)]
    for file in (file for path in listed for file in _files(path, tally)):
        if file.suffix.lower() in tables.ENDINGS and gathered.take(file):
            continue
        try:
            yield file, list(_of_file(file, columns, tables.suited(file, layout), speakers, tally))
        except UnreadError as error:
            tally.left_out.append(str(error))
    for file, table, shape in gathered.tables():
        spoken = rows.transcripts(table, _place(file), columns, speakers, tally)
        yield file, [msgspec.structs.replace(transcript, shape=shape) for transcript in spoken]


def _files(path: Path, tally: Tally) -> list[Readable]:
    """Return the files that may hold transcripts."""
    place = folder.at(path)
    if isinstance(place, File) or (place.exists() and not place.is_dir() and place.suffix.lower() != ".zip"):
        return [place]
    lying, broken = tables.lying_in(place)
    tally.left_out += broken
    files: list[Readable] = []
    others: Counter[str] = Counter()
    for file in sorted(lying, key=lambda member: member.place):
        if file.suffix.lower() not in {*TEXTS, *tables.ENDINGS} or file.stem.casefold() in _ABOUT:
            others[file.name if file.stem.casefold() in _ABOUT else file.suffix.lower() or "no ending"] += 1
        else:
            files.append(file)
    if others:
        kinds = named([f"{kind} ({count})" for kind, count in others.most_common()], limit=_SHOWN)
        tally.left_out.append(f"{plural(sum(others.values()), 'file')} that are no transcripts by their names: {kinds}")
    if not files:
        tally.left_out.insert(0, f"{path}: no transcripts here ({', '.join((*TEXTS[:2], *tables.ENDINGS))})")
    return files


def _of_file(
    file: Readable, columns: Mapping[str, str], layout: FileLayout, speakers: Speakers, tally: Tally
) -> Iterator[Transcript]:
    name = _place(file)
    if file.suffix.lower() in tables.ENDINGS:
        log = inspect_logs.opened(file)
        tally.notes += log.remarks if log is not None else []
        for table in _opened(file, layout, tally.left_out) if log is None else [dialogues(log, tally.left_out)]:
            title = f"{name}/{table.part}" if table.part else name
            yield from rows.transcripts(table, title, columns, speakers, tally)
        return
    text = bounds.clean(texts.read_text(file, layout.encoding))
    if isinstance(file, File) and not labelled.has_speakers(text, file, speakers):
        names = labelled.unknown(text, file, speakers)
        if len(names) > 1:
            raise UnreadError(str(refusal(file, names, speakers)))
        raise UnreadError(f"{file}: no line begins with the name of a speaker, such as `user:` and `chatbot:`; name the person and the bot with --map user=NAME,assistant=NAME")  # fmt: skip
    spoken, ending = labelled.utterances(text, file, speakers, tally)
    transcript = rows.composed(spoken, name, tally, source=str(file), ending=ending, shape="text with speakers")
    if transcript is not None:
        yield transcript


def _place(file: Readable) -> str:
    """Return a file's path below the folder that was named, without its ending."""
    return (file.place if isinstance(file, File) else Path(file.name)).with_suffix("").as_posix()


def _opened(file: Readable, layout: FileLayout, left_out: list[str]) -> list[InputTable]:
    """Open the tables of a file; JSON may hold dialogues in other ways than as a list of objects."""
    suffix = file.suffix.lower()
    if suffix == ".json":
        numbered = list(enumerate(rows.of_json(texts.read_json(file, layout.encoding), str(file)), 1))
    elif suffix in tables.LINES:
        content = texts.decoded(file, layout.encoding)
        with texts.faults(file, content):
            numbered = []
            for line, value in bounds.json_lines(content):
                if not isinstance(value, dict | list):
                    raise bounds.Fault(f"expected an object or a list of messages, found {type(value).__name__}", line)
                numbered.append((line, value if isinstance(value, dict) else {"messages": value}))
    else:
        opened = tables.open_tables(file, layout, left_out=left_out)
        return [table for table in opened if next(table.cells(), None) is not None] or opened[:1]
    return [RecordTable(file, lambda: iter(numbered))]


_PART = re.compile(r"\{([^{}]*)\}|(\*)")


class NamePattern:
    """A pattern of file names: `{NAME}` is what is known of a transcript, `*` is anything within a folder's or file's name."""

    def __init__(self, text: str) -> None:
        """Read it.

        Raises:
            UsageError: it names nothing, or nothing that is known of a transcript, or something twice.
        """
        self.text, self.names = text, [name for name, _ in _PART.findall(text) if name]
        wrong = [name for name in self.names if name not in rows.KNOWN and not name.startswith(TAG)]
        if wrong or not self.names or len({*self.names}) < len(self.names):
            reason = (
                f"{wrong[0]!r} is not known of a transcript"
                if wrong
                else "it names something twice"
                if self.names
                else "it names nothing"
            )
            raise UsageError(
                f"--map file={text}: {reason}; write what the files are called, such as {{id}}_{{persona}}_run{{run}}, with any of {', '.join(rows.KNOWN)}, {TAG}…, and * for the rest"
            )
        pieces = _PART.split(text)  # text, name, star, text, …
        pattern = "".join(
            re.escape(piece or "")
            if position % 3 == 0
            else ""
            if piece is None
            else "([^/]+?)"
            if position % 3 == 1
            else "[^/]*?"
            for position, piece in enumerate(pieces)
        )
        self._pattern = re.compile(pattern)

    def applied(self, transcripts: Sequence[Transcript], place: str, label: object) -> list[Transcript]:
        """Return the transcripts of a file with what its name says, where they do not say it themselves.

        Args:
            transcripts: of the file.
            place: its path below the folder, without its ending; of a pattern without folders, only its name counts.
            label: how messages call it.

        Raises:
            DataError: the name is not of this pattern.
        """
        subject = place if "/" in self.text else place.rpartition("/")[2]
        match = self._pattern.fullmatch(subject)
        if match is None:
            raise DataError(f"{label}: the name is not as --map file={self.text} says; write * for what differs")
        cells: dict[str, Any] = dict(zip(self.names, match.groups(), strict=True))
        fields = rows.of_row(cells, str(label))
        return [_with(transcript, fields, alone=len(transcripts) == 1) for transcript in transcripts]


def _with(transcript: Transcript, fields: dict[str, Any], *, alone: bool) -> Transcript:
    changes: dict[str, Any] = {
        name: fields[name] for name in ("model", "run", "cluster") if fields[name] and not getattr(transcript, name)
    }
    if alone and fields["named"] and not transcript.named:
        changes |= {"id": fields["id"], "named": True}
    return msgspec.structs.replace(transcript, tags={**fields["tags"], **transcript.tags}, **changes)
