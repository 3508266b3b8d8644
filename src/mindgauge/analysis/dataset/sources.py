"""The rows of a source: posts of tables, dialogues, texts by line or by file."""

from __future__ import annotations

import ast
import contextlib
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis.dataset import duplicates
from mindgauge.records import languages, transcripts
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds, folder, mapping, tables, texts
from mindgauge.records.files.input_table import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mindgauge.analysis.dataset.recipe import DatasetSource
    from mindgauge.records import Message
    from mindgauge.records.files.folder import Readable
    from mindgauge.records.files.input_table import InputTable

_WRITTEN = {".txt", ".md", ".markdown", ".text", ".log"}


def read(source: DatasetSource, base: Path) -> tuple[pl.DataFrame, dict[str, str], list[str]]:
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
