"""A recipe: which sources, under which licences, through which steps, in which order."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec

from mindgauge.records.english import named
from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds, mapping

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

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
