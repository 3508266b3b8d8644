"""A rubric is the instrument: criteria, each with ordered levels, each level with what it looks like.

It is read from `rubric.toml`; a bad one is refused with one line that names the file and the criterion.
Texts are given per language (`text.en = "…"`); a criterion may word its levels differently for each *protocol*
(for example per crisis category), while the scale stays the same.
Where levels are decided in an order, the rubric's *nodes* say so, and nothing else does.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from mindgauge.errors import RubricError
from mindgauge.records import Status, Value, digest

if TYPE_CHECKING:
    from pathlib import Path

Texts = dict[str, str]


def in_language(texts: Texts, language: str) -> str:
    """Pick the wording for a language; English, or else the first there is, where that language is missing."""
    return texts.get(language) or texts.get("en") or next(iter(texts.values()), "")


class Scale(StrEnum):
    """How levels relate: `ordinal` ones are ordered worst to best, `nominal` ones are only different."""

    ORDINAL = "ordinal"
    NOMINAL = "nominal"


class Level(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One value a rater may give, and what it looks like; the mean of several may also lie between."""

    value: Value
    text: Texts = {}
    aliases: tuple[str, ...] = ()


class Node(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step of a decision: the first node that says yes decides which of its levels it is."""

    levels: tuple[Value, ...]
    """Where several apply, the first of them."""
    question: Texts = {}
    otherwise: Value | None = None
    """On the last node: the level that is left where no node says yes."""


class Criterion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that is rated. Ordinal levels stand worst to best."""

    name: str
    scale: Scale
    levels: tuple[Level, ...]
    text: Texts = {}
    protocols: dict[str, tuple[Texts, ...]] = {}
    """Per protocol, one wording for each level, in the levels' order."""
    not_applicable: Texts = {}
    """When the criterion does not apply; where this says nothing, a rater has to choose a level."""
    nodes: tuple[Node, ...] = ()
    """The order in which nominal levels are decided; where there are none, all are weighed at once."""

    @property
    def values(self) -> tuple[Value, ...]:
        """The values a rater may give, in the rubric's order."""
        return tuple(level.value for level in self.levels)

    @property
    def choices(self) -> tuple[Value, ...]:
        """What a rater may answer: the values, and `not_applicable` where the rubric allows it."""
        return (*self.values, Status.NOT_APPLICABLE.value) if self.not_applicable else self.values

    def read(self, answer: object) -> Value | None:
        """Turn an answer into a level's value, strictly: exact value, its spelling, or an alias; otherwise None."""
        if isinstance(answer, float) and answer.is_integer():
            answer = int(answer)
        if isinstance(answer, bool) or not isinstance(answer, int | str):
            return None
        wanted = str(answer).strip().casefold()
        for level in self.levels:
            if wanted == str(level.value).casefold() or wanted in (alias.casefold() for alias in level.aliases):
                return level.value
        return None


class Rubric(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Criteria with an id and a version. A changed word is a new version."""

    id: str
    version: str
    source: str
    criteria: tuple[Criterion, ...]

    @property
    def name(self) -> str:
        """The rubric's id and version, as ratings carry it."""
        return f"{self.id}@{self.version}"

    @property
    def hash(self) -> str:
        """Hash over every word of the rubric."""
        return digest("rubric", self)

    def only(self, criterion: Criterion) -> Rubric:
        """Return the rubric reduced to one criterion, for judging one at a time."""
        return msgspec.structs.replace(self, criteria=(criterion,))

    def under(self, protocol: str) -> Rubric:
        """Return the rubric with its levels worded for one protocol.

        Raises:
            RubricError: a criterion has protocols, but not this one.
        """
        return msgspec.structs.replace(self, criteria=tuple(_under(c, protocol, self.name) for c in self.criteria))

    def render(self, language: str) -> str:
        """Write the rubric as Markdown, for a prompt."""
        return "\n\n".join(_render(criterion, language) for criterion in self.criteria)

    def order(self) -> str:
        """Write the order of decision as a numbered list of levels, one node a line; empty where there is none."""
        return "\n\n".join(_order(criterion.nodes) for criterion in self.criteria if criterion.nodes)

    @classmethod
    def load(cls, path: Path) -> Rubric:
        """Read a rubric file.

        Raises:
            RubricError: the file cannot be read, or its criteria or levels are not fit to rate with.
        """
        try:
            rubric = msgspec.toml.decode(path.read_bytes(), type=cls)
        except OSError as error:
            raise RubricError(f"{path}: cannot read the rubric ({error.strerror})") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RubricError(f"{path}: not a rubric: {error}") from error
        fault = _fault(rubric)
        if fault:
            raise RubricError(f"{path}: {fault}")
        return rubric


def _under(criterion: Criterion, protocol: str, rubric: str) -> Criterion:
    if not criterion.protocols:
        return criterion
    if protocol not in criterion.protocols:
        known = ", ".join(criterion.protocols)
        raise RubricError(f"{rubric}: criterion {criterion.name!r} has no protocol {protocol!r} (it has {known})")
    levels = tuple(
        msgspec.structs.replace(level, text=text)
        for level, text in zip(criterion.levels, criterion.protocols[protocol], strict=True)
    )
    return msgspec.structs.replace(criterion, levels=levels, protocols={})


def _render(criterion: Criterion, language: str) -> str:
    lines = [f"## {criterion.name}", "", in_language(criterion.text, language), ""]
    lines += [f"- {level.value}: {in_language(level.text, language)}" for level in criterion.levels]
    if criterion.not_applicable:
        lines.append(f"- {Status.NOT_APPLICABLE}: {in_language(criterion.not_applicable, language)}")
    return "\n".join(lines)


def _order(nodes: tuple[Node, ...]) -> str:
    lines = [", ".join(map(str, node.levels)) for node in nodes] + [str(nodes[-1].otherwise)]
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


def _fault(rubric: Rubric) -> str:
    """Say the first thing that makes a rubric unusable; empty if nothing does."""
    if not rubric.criteria:
        return "the rubric has no criteria"
    names = [criterion.name for criterion in rubric.criteria]
    twice = _repeated(names)
    if twice:
        return f"criterion {twice!r} stands there twice"
    return next(filter(None, map(_criterion_fault, rubric.criteria)), "")


def _criterion_fault(criterion: Criterion) -> str:
    where = f"criterion {criterion.name!r}"
    if len(criterion.levels) < 2:
        return f"{where} needs at least two levels, it has {len(criterion.levels)}"
    aliases = [alias for level in criterion.levels for alias in level.aliases]
    spellings = [str(spelling).casefold() for spelling in (*criterion.choices, *aliases)]
    if _repeated(spellings):
        return f"{where}: level or alias {_repeated(spellings)!r} stands there twice"
    fault = _numbering_fault(criterion) or _wording_fault(criterion) or _order_fault(criterion)
    return f"{where}{fault}" if fault else ""


def _numbering_fault(criterion: Criterion) -> str:
    numbers = [level.value for level in criterion.levels if isinstance(level.value, int)]
    if numbers and len(numbers) < len(criterion.levels):
        return " mixes numbers and words as levels"
    if numbers and sorted(numbers) != list(range(min(numbers), max(numbers) + 1)):
        missing = sorted(set(range(min(numbers), max(numbers))) - set(numbers))
        return f": level {', '.join(map(str, missing))} is missing"
    return ""


def _wording_fault(criterion: Criterion) -> str:
    for protocol, texts in criterion.protocols.items():
        if len(texts) != len(criterion.levels):
            return f", protocol {protocol!r}: {len(texts)} wordings for {len(criterion.levels)} levels"
        if not all(texts):
            return f", protocol {protocol!r}: a level has no wording"
    if not criterion.protocols and not all(level.text for level in criterion.levels):
        return ": a level does not say what it looks like (text.en = …)"
    return ""


def _order_fault(criterion: Criterion) -> str:
    """Say what is wrong with the nodes: they must decide every level once and leave none open."""
    nodes = criterion.nodes
    if not nodes:
        return ""
    if criterion.scale is not Scale.NOMINAL or criterion.not_applicable:
        return ": only a nominal criterion that always applies can be decided by nodes"
    bare = next((number for number, node in enumerate(nodes, 1) if not (node.levels and node.question)), 0)
    if bare:
        return f", node {bare}: it needs levels and a question (question.en = …)"
    if [node for node in nodes if node.otherwise is not None] != [nodes[-1]]:
        return ': the last node, and no other, says which level holds otherwise (otherwise = "…")'
    decided = [str(level) for node in nodes for level in node.levels] + [str(nodes[-1].otherwise)]
    return _decided_fault(decided, [str(value) for value in criterion.values])


def _decided_fault(decided: list[str], levels: list[str]) -> str:
    unknown = next((level for level in decided if level not in levels), "")
    if unknown:
        return f": a node decides {unknown!r}, which is no level"
    if _repeated(decided):
        return f": nodes decide {_repeated(decided)!r} twice"
    undecided = next((level for level in levels if level not in decided), "")
    return f": no node decides {undecided!r}" if undecided else ""


def _repeated(items: list[str]) -> str:
    return next((item for i, item in enumerate(items) if item in items[:i]), "")
