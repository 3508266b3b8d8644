"""A recipe: which sources, under which licences, through which steps, in which order; and how a source is read."""

from __future__ import annotations

import ast
import contextlib
import difflib
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
import polars as pl

from mindgauge.analysis.dataset import duplicates
from mindgauge.records import languages, transcripts
from mindgauge.records.english import named
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds, folder, mapping, tables, texts
from mindgauge.records.files.input_table import text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from mindgauge.records import Message
    from mindgauge.records.files.folder import Readable
    from mindgauge.records.files.input_table import InputTable

Whole: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
Share: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=1)]
COLUMNS = ("text", "id", "group", "label", "language")
"""Names of columns of posts that a recipe may map to the file's."""


class DatasetSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Files of one kind, from one place, under one licence."""

    name: str
    files: str | list[str]
    """Beside the recipe, also in a zip (`archive.zip/posts.csv`); of dialogues, a folder, too."""
    licence: str
    """An SPDX id, or words."""
    redistribute: bool | None = None
    """Whether its texts may be passed on, where the licence alone does not say so."""
    holds: Literal["posts", "dialogues", "lines", "documents"] = "posts"
    """Rows of a table, dialogues in any form, a text a line, or a text a file."""
    columns: dict[str, str] = {}
    """Our name → the file's column."""
    joined: bool = False
    """Whether a cell holds a list of texts, as JSON or as Python writes it, to be joined line by line."""
    language: str = ""
    """Of all its texts, where no column says it."""

    @property
    def paths(self) -> list[str]:
        """Its files."""
        return [self.files] if isinstance(self.files, str) else self.files


class PersonSide(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="person"):
    """Keep what the person says, and nothing of the bot."""


class LastTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="cut"):
    """Let dialogues end with the person's last message."""


class Lengths(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="length"):
    """Keep texts that are neither shorter nor longer."""

    least: Whole = 0
    most: Positive | None = None
    unit: Literal["characters", "words"] = "characters"


class LanguageFilter(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="language"):
    """Keep texts in these languages: as a column or the source says, else as letters show (`en`, `zh`, `other`)."""

    keep: list[str]


class Junk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="junk"):
    """Drop what is no text: blanks, `[deleted]`, another encoding's characters, hardly a letter, the same few words again."""

    letters: Share = 0.5
    """Letters among the characters that are no blanks, at least."""
    distinct: Share = 0.1
    """Different words among the words of a text of 20 or more, at least."""


class LinkLimit(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="links"):
    """Drop texts with more links than these."""

    most: Whole = 0


class Scrub(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="scrub"):
    """Replace personal data that rules find, by placeholders."""

    names: list[str] | None = None
    """To replace, too, with those by which people introduce themselves; if not given, no names."""


class Exact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="exact"):
    """Keep one of the texts that are equal but for case, blanks and forms of characters."""


class Near(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="near"):
    """Put texts that are nearly the same into clusters, and keep one of each."""

    threshold: Annotated[float, msgspec.Meta(ge=0.5, le=1)] = 0.8
    """Jaccard similarity of their shingles, nine bytes each, from which texts are nearly the same."""
    drop: bool = True
    """Whether one of each cluster is kept; otherwise all, and the split keeps them together."""


class Sampling(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="sample"):
    """Draw so many by lot from each source, label or language; weights say for how many each item stands."""

    number: Positive | dict[str, Whole]
    """Of each, or by name; whoever is not named is kept as a whole."""
    by: Literal["source", "label", "language", "all"] = "source"


class Splitting(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="split"):
    """Share items among parts, so that no dialogue, group or cluster stands in two."""

    parts: dict[str, Share]
    """Part → its share; together 1."""
    passages: bool = True
    """Whether items that share a long passage stay together, too."""


Step: TypeAlias = (
    PersonSide | LastTurn | Lengths | LanguageFilter | Junk | LinkLimit | Scrub | Exact | Near | Sampling | Splitting
)
KINDS: dict[str, type[Step]] = {str(kind.__struct_config__.tag): kind for kind in Step.__args__}


class DatasetRecipe(msgspec.Struct, frozen=True, kw_only=True):
    """What a data set is made of."""

    name: str
    about: str = ""
    licence: str = ""
    """Under which the data set is released."""
    seed: int = 0
    sources: list[DatasetSource]
    steps: list[Step]


T = TypeVar("T", bound=msgspec.Struct)
ROUNDING = 1e-9
"""How far shares may be from adding up to 1."""
_TOP = ("name", "about", "licence", "seed", "source", "step")
_EXPECTED = {"str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false", "array": "a list", "object": "a table"}  # fmt: skip


def load(path: Path) -> DatasetRecipe:
    """Read a recipe.

    Raises:
        UsageError: it is not there, is no TOML, or a key is not as docs/tasks/build_dataset.md says; the message names the key.
    """
    try:
        table = bounds.toml_value(bounds.content(path, bounds.SETTINGS))
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror or error}; it takes a recipe (docs/tasks/build_dataset.md shows one)"
        ) from error
    except ValueError as error:
        raise UsageError(f"{path}: not TOML ({error})") from error
    _refuse_unknown(table, _TOP, str(path))
    sources = [
        _converted(entry, DatasetSource, f"{path}: source {number}")
        for number, entry in enumerate(_entries(table, "source", path), 1)
    ]
    steps = [_step(entry, f"{path}: step {number}") for number, entry in enumerate(_entries(table, "step", path), 1)]
    head = {name: value for name, value in table.items() if name not in {"source", "step"}}
    recipe = _converted({**head, "sources": [], "steps": []}, DatasetRecipe, str(path))
    recipe = msgspec.structs.replace(recipe, sources=sorted(sources, key=lambda source: source.name), steps=steps)
    _check(recipe, path)
    return recipe


def _entries(table: dict[str, Any], name: str, path: Path) -> list[dict[str, Any]]:
    entries = table.get(name, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError(f"{path}: {name}: write each as [[{name}]]")
    if not entries and name == "source":
        raise UsageError(f"{path}: source: none in it; each is [[source]] with name, files and licence")
    return entries


def _step(entry: dict[str, Any], place: str) -> Step:
    kind = entry.get("do")
    if not isinstance(kind, str) or kind not in KINDS:
        raise UsageError(f"{place}: do = {kind!r} is no step; steps are {', '.join(KINDS)}")
    fields = {name: value for name, value in entry.items() if name != "do"}
    return _converted(fields, KINDS[kind], f"{place} ({kind})")


def _converted(entry: dict[str, Any], kind: type[T], place: str) -> T:
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    _refuse_unknown(entry, fields, place)
    for name, field in fields.items():
        if name not in entry:
            if field.required:
                raise UsageError(f"{place}: {name} is missing; it needs {named([n for n, f in fields.items() if f.required], limit=6)}")  # fmt: skip
            continue
        try:
            msgspec.convert(entry[name], field.type)
        except msgspec.ValidationError as error:
            raise UsageError(f"{place}: {name} = {entry[name]!r}: {_allowed(str(error), field.type)}") from error
    return msgspec.convert({**entry, **_tag(kind)}, kind)


def _tag(kind: type[msgspec.Struct]) -> dict[str, str]:
    config = kind.__struct_config__
    return {config.tag_field: str(config.tag)} if config.tag_field else {}


def _allowed(error: str, kind: Any) -> str:
    """Say what a value may be, in words of TOML."""
    for inner in getattr(kind, "__args__", ()):
        if isinstance(inner, str):
            return f"allowed are {', '.join(kind.__args__)}"
    text = error.partition(" - at ")[0].replace("`", "")
    for name, word in _EXPECTED.items():
        text = text.replace(f"Expected {name}", f"expected {word}").replace(f"got {name}", f"it is {word}")
    return text[:1].lower() + text[1:]


def _refuse_unknown(entry: dict[str, Any], names: Collection[str], place: str) -> None:
    for name in entry:
        if name not in names:
            close = difflib.get_close_matches(name, list(names), 1)
            hint = f" (is it {close[0]}?)" if close else ""
            allowed = ", ".join(names) if names else "none but do"
            raise UsageError(f"{place}: {name} is no key here{hint}; allowed are {allowed}")


def _check(recipe: DatasetRecipe, path: Path) -> None:
    """See that what stands in a recipe goes together.

    Raises:
        UsageError: it does not.
    """
    names = [source.name for source in recipe.sources]
    for number, source in enumerate(recipe.sources, 1):
        if not source.name.strip() or names.count(source.name) > 1:
            raise UsageError(f"{path}: source: name = {source.name!r}: each source has a name of its own")
        _check_files(source, f"{path}: source {number} ({source.name})")
    for number, step in enumerate(recipe.steps, 1):
        _check_step(step, f"{path}: step {number}", names)
        if isinstance(step, Splitting) and number < len(recipe.steps):
            raise UsageError(f"{path}: step {number} (split): it comes once, and last")


def _check_files(source: DatasetSource, place: str) -> None:
    if not source.paths:
        raise UsageError(f"{place}: files: none is named")
    if source.holds == "posts":
        _refuse_unknown(source.columns, (*COLUMNS, *mapping.LAYOUT), f"{place}: columns")
    elif source.joined:
        raise UsageError(f"{place}: joined: {source.holds} have no cells; leave it out")
    elif source.holds != "dialogues" and source.columns:
        raise UsageError(f"{place}: columns: {source.holds} have none; leave it out")


def _check_step(step: Step, place: str, sources: list[str]) -> None:
    if isinstance(step, Lengths) and step.most is not None and step.most < step.least:
        raise UsageError(f"{place} (length): most = {step.most} is below least = {step.least}")
    if isinstance(step, LanguageFilter) and not step.keep:
        raise UsageError(f"{place} (language): keep: name a language, such as 'en', 'zh' or 'other'")
    if isinstance(step, Sampling) and step.by == "source" and isinstance(step.number, dict):
        _refuse_unknown(step.number, sources, f"{place} (sample): number")
    if isinstance(step, Splitting) and abs(sum(step.parts.values()) - 1) > ROUNDING:
        raise UsageError(f"{place} (split): parts add up to {sum(step.parts.values()):g}; they must add up to 1")


_WRITTEN = {".txt", ".md", ".markdown", ".text", ".log"}


def read_source(source: DatasetSource, base: Path) -> tuple[pl.DataFrame, dict[str, str], list[str]]:
    """Return the rows of a source, the SHA-256 of each of its files, and what must be known of how it was read.

    Args:
        source: what the recipe says of it.
        base: the folder of the recipe.

    Raises:
        DataError: a file is not there, is broken, or lacks a column.
        UsageError: files are of another kind than the recipe says.
    """
    paths = [base / path for path in source.paths]
    notes: list[str] = []
    if source.holds == "dialogues":
        frame, notes = _dialogues(source, paths)
    elif source.holds == "posts":
        frame = pl.concat([_posts(source, path) for path in paths], how="diagonal_relaxed")
    else:
        frame = pl.concat([_texts(source, path) for path in paths])
    tag = languages.named(source.language) or None
    language = pl.col("language") if "language" in frame.columns else pl.lit(None, pl.String)
    frame = frame.with_columns(source=pl.lit(source.name), language=language.fill_null(pl.lit(tag, pl.String)))
    return frame, {str(path): _sha256(base / path) for path in sorted(source.paths)}, notes


def _posts(source: DatasetSource, path: Path) -> pl.DataFrame:
    file = folder.at(path)
    if file.suffix.lower() in _WRITTEN:
        raise UsageError(f"{path}: a text file holds no posts in columns; write holds = 'lines', 'documents' or 'dialogues' for {source.name}")  # fmt: skip
    column_map = mapping.read(source.columns, ("text", "id", "group", "label", "language"))
    table = tables.open_table(path, column_map.layout)
    columns = dict(column_map.columns)
    headers = table.headers
    columns |= {name: name for name in ("text", "id", "language") if name not in columns and name in headers}
    if "text" not in columns:
        raise DataError(f'{path}: no column text; name it in {source.name}: columns = {{text = "COLUMN"}} (it has {table.columns})')  # fmt: skip
    frame = _unlisted(table, columns) if source.joined else table.frame(columns, columns)
    cells = [
        (pl.col(name) if name in columns else pl.lit(None)).cast(pl.String).alias("origin" if name == "id" else name)
        for name in ("text", "id", "group", "label", "language")
    ]
    tag = pl.col("language").str.strip_chars().str.to_lowercase().str.replace_all("_", "-").str.replace("-.*", "")
    return frame.select(cells).with_columns(pl.col("text").fill_null(""), language=tag.replace("", None))


def _unlisted(table: InputTable, columns: dict[str, str]) -> pl.DataFrame:
    """Read a table whose texts are lists of texts, and join them."""
    cells: dict[str, list[str | None]] = {name: [] for name in columns}
    for _, row in table.rows(columns):
        for name, column in cells.items():
            column.append(text_of(_lines(row.get(name)) if name == "text" else row.get(name)))
    return pl.DataFrame(cells, dict.fromkeys(cells, pl.String))


def _lines(cell: object) -> object:
    """Put the texts of a list below each other; what is no list stays as it is."""
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            cell = ast.literal_eval(cell.strip())
    return "\n".join(str(line) for line in cell) if isinstance(cell, list) else cell


def _texts(source: DatasetSource, path: Path) -> pl.DataFrame:
    """Read texts of a file, each a line or all of it; of a folder, of each of its text files."""
    place = folder.at(path)
    files: Sequence[Readable] = [place]
    if isinstance(place, Path) and (place.is_dir() or place.suffix.lower() == ".zip"):
        files = [file for file in tables.lying_in(place)[0] if file.suffix.lower() in _WRITTEN]
    contents = [bounds.clean(texts.read_text(file)) for file in files]
    if source.holds == "lines":
        listed = [line for text in contents for line in text.split("\n")]
        return pl.DataFrame({"text": listed}, {"text": pl.String}).with_columns(origin=pl.lit(None, pl.String))
    names = [getattr(file, "place", Path(file.name)).as_posix() for file in files]
    return pl.DataFrame({"text": contents, "origin": names}, {"text": pl.String, "origin": pl.String})


def _dialogues(source: DatasetSource, paths: list[Path]) -> tuple[pl.DataFrame, list[str]]:
    account = transcripts.read(paths, source.columns or None)
    rows = [
        {
            "origin": dialogue.id if dialogue.named else None, "group": dialogue.cluster or None,
            "label": dialogue.tags.get("category"), "language": languages.named(dialogue.tags.get(languages.LANGUAGE, "")) or None,
            "text": written_out(dialogue.messages),
            "messages": [{"role": message.role, "content": message.content} for message in dialogue.messages],
        }
        for dialogue in account.transcripts
    ]  # fmt: skip
    schema = {name: duplicates.COLUMNS[name] for name in ("origin", "group", "label", "language", "text", "messages")}
    return pl.DataFrame(rows, schema), [] if account.account.plain else [*account.account.lines()]


def written_out(messages: Iterable[Message]) -> str:
    """Write a dialogue as a text."""
    return "\n".join(f"{message.role}: {message.content}" for message in messages)


def _sha256(path: Path) -> str:
    place = folder.at(path)
    if isinstance(place, Path) and place.is_dir():
        listed = sorted(f"{file.place.as_posix()} {hashlib.sha256(folder.content(file)).hexdigest()}" for file in tables.lying_in(place)[0])  # fmt: skip
        return hashlib.sha256("\n".join(listed).encode()).hexdigest()
    return hashlib.sha256(folder.content(place)).hexdigest()


OPEN = frozenset({
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0",
    "CC-BY-NC-3.0", "CC-BY-NC-4.0", "CC-BY-NC-SA-3.0", "CC-BY-NC-SA-4.0", "CDLA-Permissive-1.0", "CDLA-Permissive-2.0",
    "CDLA-Sharing-1.0", "GPL-3.0-only", "GPL-3.0-or-later", "ISC", "MIT", "MIT-0", "O-UDA-1.0", "ODC-By-1.0", "ODbL-1.0", "PDDL-1.0",
    "Unlicense",
})  # fmt: skip
"""SPDX ids of licences under which a changed selection of texts may be passed on, some of them without profit, or alike."""
NO_CHANGES = frozenset({"CC-BY-ND-3.0", "CC-BY-ND-4.0", "CC-BY-NC-ND-3.0", "CC-BY-NC-ND-4.0"})
"""SPDX ids of licences that forbid what a recipe does: passing on a changed selection."""
_OPEN = {ident.casefold(): ident for ident in OPEN | NO_CHANGES}
ALIKE = frozenset({"CC-BY-SA-3.0", "CC-BY-SA-4.0", "CC-BY-NC-SA-3.0", "CC-BY-NC-SA-4.0", "CDLA-Sharing-1.0", "ODbL-1.0", "GPL-3.0-only", "GPL-3.0-or-later"})  # fmt: skip
"""Licences that ask for the same licence of whatever holds their texts."""


def spdx(licence: str) -> str:
    """Return a licence as SPDX writes it, where this program knows it; else as it stands."""
    words = " ".join(licence.split())
    return _OPEN.get(words.replace(" ", "-").casefold(), words)


def refusal(licence: str, redistribute: bool | None) -> str:
    """Say why texts under a licence may not be passed on; nothing where they may.

    Args:
        licence: an SPDX id, or any words.
        redistribute: what the recipe says of permission; None where it says nothing.
    """
    ident = spdx(licence)
    if redistribute is not None:
        return "" if redistribute else "the recipe says redistribute = false"
    if ident in NO_CHANGES:
        return f"{ident} forbids passing on a changed selection"
    if ident in OPEN:
        return ""
    return f"whether {ident or 'an unnamed licence'} allows it is not known; unknown is not permission"


def conflict(licence: str, redistribute: bool | None, release: str) -> str:
    """Say why texts under a licence may not be released under another; nothing where they may, as far as ids say it."""
    ident, target = spdx(licence), spdx(release)
    if reason := refusal(licence, redistribute):
        return reason
    if redistribute is None and ident in ALIKE and ident != target:
        return f"{ident} asks for the same licence, and the data set is released under {target}"
    if redistribute is None and "-NC-" in ident and "-NC-" not in target:
        return f"{ident} forbids commercial use, and {target} would allow it"
    return ""
