"""`new`: a benchmark of the user's own, as a folder in which every slot is explained, and which runs as it is."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import tomli_w

from mindgauge.benchmarks import Benchmark, own_columns, own_folder, rubric_defaults
from mindgauge.benchmarks.card import as_settings, public_content, read_public
from mindgauge.commands.command import CommandOption, command
from mindgauge.records.command_result import Tabular
from mindgauge.records.errors import DataError, FaultsError, UsageError
from mindgauge.records.files import folder as files
from mindgauge.records.files import mapping, private, tables
from mindgauge.records.files.folder import Readable
from mindgauge.records.files.input_table import SEPARATED, WORKBOOKS, text_of
from mindgauge.records.rubric import Rubric
from mindgauge.records.shell import command_line
from mindgauge.store import locks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mindgauge.benchmarks.card import PublicCard
    from mindgauge.records.files.input_table import InputTable

PROMPTS = "prompts"
_MOST_LABELS = 20
"""Targets of more kinds are no labels."""
_TARGETS = "targets"
_SHOWN = 12


class NewBenchmark(Tabular, msgspec.Struct, frozen=True):
    """The folder that was written, and what stands in it."""

    folder: str
    closed: bool
    samples: int
    criteria: tuple[str, ...]
    placeholder: bool
    """Whether its rubric is one that nobody has written yet."""
    files: tuple[str, ...]
    columns: dict[str, str]
    """Our name → the column of the table in which it stands."""
    notes: tuple[str, ...]

    def summary(self) -> Iterator[str]:
        """Say what was written, what is still to be written, and how it is run."""
        asked = (
            "the model under test answers each"
            if self.closed
            else "the model under test replies, and raters rate each reply"
        )
        yield f"{self.folder}: {self.samples} messages; {asked} by {', '.join(self.criteria)}"
        yield f"Written: {', '.join(self.files)}"
        yield from (f"Note: {note}" for note in self.notes)
        if self.placeholder:
            yield f"The rubric is a placeholder: write into {self.folder}/rubric.toml what you mean."
        typed = self.folder if self.folder.startswith((".", "/")) else f"./{self.folder}"
        judge = [] if self.closed else ["--judge", "JUDGE"]
        yield f"Run it: {command_line('run', typed, '--model', 'MODEL', *judge)}"

    def _listed(self) -> list[dict[str, Any]]:
        return [{"file": file} for file in self.files]


class _Items(msgspec.Struct):
    """The user's table, and which of its columns holds what."""

    path: Readable
    mapped: dict[str, str]
    """As the user, or `columns.toml` beside the table, says it, with how the file is read."""
    columns: dict[str, str]
    """The same, with what was seen from the table."""
    headers: list[str]
    labels: dict[str, list[Any]]
    """Criterion → its targets, in the order in which they come; `targets` where no criterion is named."""
    notes: list[str]

    @property
    def name(self) -> str:
        return f"{own_folder.SAMPLES}{self.path.suffix.lower()}"


@command()
def new(
    folder: str | Path,
    *,
    items: Annotated[str | Path | None, CommandOption(flag="--from")] = None,
    columns: Mapping[str, str] | None = None,
    rubric: str | Path | None = None,
    extras: Annotated[str | Sequence[str], CommandOption(flag="--with", commas=True)] = (),
) -> NewBenchmark:
    """Write a benchmark of your own: a folder in which every slot is explained, and which runs as it is.

    With a column of targets the question is closed, and its levels are the values that stand there; otherwise it is open,
    with a rubric of placeholders, one for each kind of scale. Nothing is overwritten.

    Args:
        folder: The folder to write: new, or empty.
        items: A table of messages, one a row, copied as it is, or a benchmark card of the public schema (card.json);
            two example messages if not given.
        columns: our name → the table's column, as far as it is not `user`, `messages`, `target` and the like, see `mapping`.
        rubric: A rubric file, in the place of placeholders.
        extras: prompts: write the usual prompts out, to change them.

    Raises:
        UsageError: something is in the folder already, or an option is wrong.
        FaultsError: the table or the rubric cannot be used; all that is wrong is named.
    """
    path = Path(folder)
    wanted = {extras} if isinstance(extras, str) else set(extras)
    if wanted - {PROMPTS}:
        raise UsageError(f"--with {min(wanted - {PROMPTS})}: write {PROMPTS}")
    if columns and items is None:
        raise UsageError("--map says how a table is read; name the table with --from")
    if rubric is not None:
        Rubric.load(Path(rubric))
    public = _public(items)
    if public is not None and columns:
        raise UsageError("--map says how a table is read; a benchmark card has no columns")
    table = _items(items, dict(columns or {})) if items is not None and public is None else None
    with locks.made_whole(path, "change what is here") as draft:
        _write(draft, path, table, Path(rubric) if rubric is not None else None)
        if public is not None:
            _fill_in(draft / own_folder.CARD, public[0])
        try:
            benchmark = Benchmark.from_folder(draft, name=path.resolve().name)
        except FaultsError as error:
            raise FaultsError(f"{folder} is not written, since it could not be run", error.lines) from error
        if PROMPTS in wanted:
            _write_prompts(draft, benchmark)
        _write_page(draft, path, benchmark, table.name if table else "samples.csv")
        written = tuple(sorted(file.name for file in draft.iterdir()))
    notes = [*(table.notes if table is not None else public[1] if public is not None else []), *benchmark.own_notes]
    return NewBenchmark(
        str(folder), benchmark.closed, len(benchmark.own_samples()), tuple(c.name for c in benchmark.rubric.criteria),
        bool(benchmark.remarks), written, table.columns if table is not None else {}, tuple(notes),
    )  # fmt: skip


# -- a card --------------------------------------------------------------------------------------------------------------


def _public(source: str | Path | None) -> tuple[PublicCard, list[str]] | None:
    """Read a benchmark card of the public schema, with notes; None where the file is none.

    Raises:
        DataError: it is broken.
    """
    path = files.at(Path(source)) if source is not None else None
    content = public_content(path) if path is not None else None
    if path is None or content is None:
        return None
    card, unread = read_public(path, content)
    notes = ["the card has no messages, so samples.csv has two examples; put your own in their place"]
    return card, notes + ([f"not kept of the card: {', '.join(unread)}"] if unread else [])


def _fill_in(path: Path, card: PublicCard) -> None:
    """Write what a card says into our own, each key in the place of the line that explains it."""
    settings = as_settings(card)
    rest = settings.pop("benchmarkcard")
    lines = path.read_text("utf-8").splitlines()
    for key, value in settings.items():
        place = next(n for n, line in enumerate(lines) if line.startswith((f"{key} = ", f"# {key} = ")))
        lines[place] = tomli_w.dumps({key: value}).strip()
    lines += ["", "# What else the card said, by the names of the public schema; mindgauge list FOLDER --to benchmarkcard writes it again."]  # fmt: skip
    _put(path, "\n".join(lines) + "\n" + tomli_w.dumps({"benchmarkcard": rest}))


# -- the table -----------------------------------------------------------------------------------------------------------


def _items(source: str | Path, mapped: dict[str, str]) -> _Items:
    """See which column of a table holds what: as it is said, else by the columns' names, else by the length of texts.

    Raises:
        UsageError, DataError: the table or the mapping cannot be read.
    """
    path = tables.find(source)
    mapped = {**mapping.beside(path), **mapped}
    column_map = mapping.read(mapped, own_columns.SAMPLE_COLUMNS, (own_columns.TARGET, own_columns.TAG))
    table = tables.open_table(path, column_map.layout)
    table.places(column_map.columns)
    columns, notes = dict(column_map.columns), []
    free = [header for header in table.headers if header and header not in columns.values()]
    for name in own_columns.SAMPLE_COLUMNS:
        spelled = next((header for header in free if header.strip().casefold() == name), None)
        if name not in columns and spelled is not None:
            columns[name] = spelled
    if not columns.keys() & {"user", "messages"}:
        spans = zip(table.headers, own_columns.lengths_of(table), strict=True)
        lengths = {name: n for name, n in spans if name in free and n > 0}
        if not lengths:
            raise DataError(f"{path}: no column of messages; name it with --map user=COLUMN; the columns are {table.columns}")  # fmt: skip
        columns["user"] = max(lengths, key=lengths.__getitem__)
        notes.append(f"user = {columns['user']!r}, the column with the longest texts; another one: --map user=COLUMN")
    labels = _labels(table, columns)
    if "reply" in columns and not labels:
        notes.append(f"{columns.pop('reply')!r} is not read: the model under test writes the replies. To rate those that are there: {command_line('rate', './FOLDER', '--replies', source)}")  # fmt: skip
    if others := own_columns.unread(table.headers, columns.values()):
        notes.append(
            f"columns that are not read: {', '.join(others[:_SHOWN])}; columns.toml says how one is kept as a tag"
        )
    return _Items(path, mapped, columns, table.headers, labels, notes)


def _labels(table: InputTable, columns: Mapping[str, str]) -> dict[str, list[Any]]:
    """Return the values of each column of targets."""
    named = {name: name.removeprefix(own_columns.TARGET) for name in (*columns, *table.headers) if name.startswith(own_columns.TARGET)}  # fmt: skip
    named |= {"target": _TARGETS} if "target" in columns else {}
    values: dict[str, dict[Any, None]] = {criterion: {} for criterion in named.values()}
    for _, row in table.rows(columns) if named else ():
        for name, criterion in named.items():
            if text := text_of(row.get(name)):
                values[criterion].setdefault(text.strip())
    return {criterion: _in_order(list(found)) for criterion, found in values.items() if found}


def _in_order(values: list[str]) -> list[Any]:
    """Return whole numbers as such, in their order and without a gap; labels as they come."""
    if all(value.lstrip("-").isdigit() for value in values):
        numbers = sorted(map(int, values))
        if numbers[-1] - numbers[0] < _MOST_LABELS:
            return [*range(numbers[0], numbers[-1] + 1)]
        return list(numbers)
    return list(values)


# -- the files -----------------------------------------------------------------------------------------------------------


def _write(draft: Path, path: Path, table: _Items | None, rubric: Path | None) -> None:
    name = path.resolve().name
    closed = table is not None and bool(table.labels)
    title = json.dumps(name.replace("_", " ").replace("-", " ").capitalize(), ensure_ascii=False)
    _put(draft / own_folder.CARD, _blank("card", TITLE=title, CLOSED="true" if closed else "false"))
    if rubric is not None:
        private.write(draft / own_folder.RUBRIC, files.content(rubric))
    elif table is not None and table.labels:
        _put(draft / own_folder.RUBRIC, _blank("closed", ID=json.dumps(name)) + "".join(_criteria(table.labels)))
    else:
        _put(draft / own_folder.RUBRIC, _blank("rubric", ID=json.dumps(name)))
    if table is None:
        _put(draft / "samples.csv", _text("samples.csv"))
        return
    private.write(draft / table.name, files.content(table.path))
    _put(draft / mapping.FILE, _columns(table))


def _criteria(labels: Mapping[str, list[Any]]) -> Iterable[str]:
    """Write the criteria that targets are of, with the values that stand there as levels."""
    for name, values in labels.items():
        if not 2 <= len(values) <= _MOST_LABELS:
            raise DataError(
                f"the column of targets has {len(values)} different values, and a closed question offers 2 to {_MOST_LABELS}; "
                "name another column with --map target=COLUMN, or a rubric with --rubric FILE"
            )
        numbers = all(isinstance(value, int) for value in values)
        levels = [f"  {{ value = {json.dumps(value, ensure_ascii=False)}, text.en = {json.dumps(_level_text(value), ensure_ascii=False)} }}," for value in values]  # fmt: skip
        title = "label" if name == _TARGETS else name
        yield _blank(
            "criterion",
            NAME=json.dumps(title, ensure_ascii=False),
            SCALE='"ordinal"' if numbers else '"nominal"',
            TEXT=json.dumps(
                f"Placeholder: which {title.replace('_', ' ')} fits what the person writes?", ensure_ascii=False
            ),
            LEVELS="\n".join(levels),
        )


def _level_text(value: Any) -> str:
    return f"What fits {value} best." if isinstance(value, int) else f"{str(value).replace('_', ' ')}."


def _columns(table: _Items) -> str:
    """Write which column is which, so that the table stays as it is."""
    lines = [
        f"# What the columns of {table.name} hold, so that the table can stay as it is. Left stands Mindgauge's name, right the",
        '# column: its header, its position ("#2") or, where no header is called so, its letter.',
        "# A column that has Mindgauge's name already needs no line.",
        "",
    ]
    said = table.columns | {name: value for name, value in table.mapped.items() if name in mapping.LAYOUT}
    lines += [
        f"{_key(name)} = {json.dumps(column, ensure_ascii=False)}" for name, column in said.items() if column != name
    ]
    lines += ["", "# What else there may be:"]
    lines += [f'# {name} = "…"   # {meaning}' for name, meaning in _MEANINGS.items() if name not in said]
    unread = own_columns.unread(table.headers, table.columns.values())
    if unread:
        lines += [
            "",
            "# Columns that are not read. As a tag, a column can be chosen by (--where) and scores stand for each of its values:",
        ]
        lines += [f"# tag.{_word(header)} = {json.dumps(header, ensure_ascii=False)}" for header in unread]
    suffix = table.path.suffix.lower()
    lines += ["", "# How the file is read, where that is not seen from it:"]
    lines += [f"# {line}" for line in (
        *(['sheet = "…"'] if suffix in WORKBOOKS else []),
        *(["header = 1   # the row of the headers; 0 where there are none"] if suffix in WORKBOOKS | SEPARATED else []),
        *(['separator = ";"'] if suffix in SEPARATED else []),
        *(['encoding = "gb18030"'] if suffix not in WORKBOOKS | {".parquet"} else []),
    )]  # fmt: skip
    return "\n".join(lines) + "\n"


_MEANINGS = {
    "user": "the person's one message",
    "messages": "or a whole dialogue, as a JSON list of role and content",
    "id": "your own id of the message",
    "language": "en, zh, …",
    "category": "what kind of message it is; it chooses the wording of a rubric that has several",
    "cluster": "messages of one person or conversation: intervals take them together",
    "target": "the right answer to a closed question, or target.CRITERION of several criteria",
    "reply": "a reply that a closed question is about",
}


def _key(name: str) -> str:
    """Write a name as a key of TOML: dots divide its parts."""
    return ".".join(part if part.replace("_", "").replace("-", "").isascii() and part.replace("_", "").replace("-", "").isalnum() else json.dumps(part, ensure_ascii=False) for part in name.split(".", 1))  # fmt: skip


def _word(header: str) -> str:
    """Return a column's header as a tag's name."""
    word = "_".join(filter(None, "".join(c if c.isalnum() else " " for c in header.casefold()).split()))
    return _key(word or "more")


def _write_prompts(draft: Path, benchmark: Benchmark) -> None:
    kinds = ("ask",) if benchmark.closed else ("judge", "judge.split")
    for kind, prompts in rubric_defaults.prompts(benchmark.rubric, closed=benchmark.closed).items():
        for language, prompt in prompts.items() if kind in kinds else ():
            _put(draft / f"{kind}.{language}.md", f"{prompt.text}\n")


def _write_page(draft: Path, path: Path, benchmark: Benchmark, samples: str) -> None:
    prompts = sorted(file.name for file in draft.glob("*.md"))
    line = f"| {', '.join(f'`{name}`' for name in prompts)} | what raters are asked |\n" if prompts else ""
    page = _text("folder.md")
    if not (draft / mapping.FILE).exists():
        page = "\n".join(part for part in page.splitlines() if mapping.FILE not in part) + "\n"
    fillings = {
        "HEADING": benchmark.card.title, "SAMPLES": samples, "PROMPTS\n": line + "\n" if line else "\n", "FOLDER": path.name,
        "PROMPT": "ask" if benchmark.closed else "judge", "JUDGE": "" if benchmark.closed else " --judge JUDGE",
    }  # fmt: skip
    for name, filling in fillings.items():
        mark = f"@{name[:-1]}@\n" if name.endswith("\n") else f"@{name}@"
        page = page.replace(mark, filling)
    _put(draft / "README.md", page)


def _blank(name: str, **fillings: str) -> str:
    text = _text(f"{name}.blank.toml")
    for slot, filling in fillings.items():
        text = text.replace(f"@{slot}@", filling)
    return text


def _text(name: str) -> str:
    return resources.files("mindgauge.commands").joinpath("blank", name).read_text("utf-8")


def _put(path: Path, text: str) -> None:
    private.write(path, text.encode())
