"""A rubric is the instrument: criteria, each with ordered levels, each level with what it looks like.

It is read from `rubric.toml`; a bad one is refused with one line that names the file and the criterion.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import msgspec
import tomli_w

from mindgauge.records.errors import RubricError, UsageError
from mindgauge.records.files import bounds, private, sealed
from mindgauge.records.records import digest
from mindgauge.records.rubric import wording
from mindgauge.records.rubric.criterion import Criterion, Scale
from mindgauge.records.rubric.wording import Method

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class Rubric(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Criteria with an id and a version. A changed word is a new version."""

    id: str
    version: str
    source: str
    criteria: tuple[Criterion, ...]
    critical: tuple[str, ...] = ()
    """Categories of samples in which nothing may be missed: suicide, self-harm and the like."""

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

    def facets(self, tags: Mapping[str, str]) -> tuple[bool | str | None, ...]:
        """Return what of these tags decides how the rubric is put: equal facets, equal questions."""
        about = [criterion.about(tags) for criterion in self.criteria if criterion.applies]
        return (*about, *(tags.get(criterion.options) for criterion in self.criteria if criterion.options))

    def on(self, tags: Mapping[str, str]) -> Rubric:
        """Return the criteria that are about a sample with these tags, with the levels that it offers; perhaps none."""
        offered = (criterion.offered(tags) for criterion in self.criteria if criterion.about(tags))
        return msgspec.structs.replace(self, criteria=tuple(offered))

    def render(self, language: str, method: Method = Method.RULE) -> str:
        """Write the rubric as Markdown, for a prompt: as much of it as a method of judging shows."""
        return "\n\n".join(wording.render(criterion, language, method) for criterion in self.criteria)

    def order(self) -> str:
        """Write the order of decision as a numbered list of levels, one node a line; empty where there is none."""
        return "\n\n".join(wording.order(criterion.nodes) for criterion in self.criteria if criterion.nodes)

    def write(self, path: Path) -> None:
        """Write it as a rubric file with its checksum, which `load` reads as the same rubric."""
        private.write(path, sealed.seal(tomli_w.dumps(_said(msgspec.to_builtins(self)))))

    @classmethod
    def load(cls, path: Path) -> Rubric:
        """Read a rubric file.

        Raises:
            RubricError: the file cannot be read, or its criteria or levels are not fit to rate with.
        """
        try:
            rubric = msgspec.convert({**_unsaid(path), **bounds.toml(path)}, cls)
        except OSError as error:
            raise RubricError(f"{path}: cannot read the rubric ({error.strerror})") from error
        except ValueError as error:
            raise RubricError(f"{path}: not a rubric: {error}") from error
        fault = first(rubric.criteria)
        if fault:
            raise RubricError(f"{path}: {fault}")
        return rubric

    @classmethod
    def kept(cls, path: Path, command: str = "the command that made the run") -> Rubric:
        """Read a rubric that stands in a run beside its ratings, with the checksum that it was written with.

        Args:
            path: its file.
            command: what writes it again where it is gone.

        Raises:
            UsageError: it is gone, or not as it was written.
            RubricError: it cannot be read.
        """
        try:
            sealed.read(path, f"remove {path}, {command} then writes it again")
        except FileNotFoundError as error:
            raise UsageError(f"{path}: missing; {command} writes it again") from error
        return cls.load(path)


def _unsaid(path: Path) -> dict[str, str]:
    """Return what holds where a rubric file says only its criteria; it is called as its file, or as that one's folder."""
    name = path.stem if path.name != "rubric.toml" else path.resolve().parent.name
    return {"id": name, "version": "1", "source": ""}


def _under(criterion: Criterion, protocol: str, rubric: str) -> Criterion:
    if not criterion.protocols:
        return criterion
    if protocol not in criterion.protocols:
        protocols = ", ".join(criterion.protocols)
        raise RubricError(f"{rubric}: criterion {criterion.name!r} has no protocol {protocol!r} (it has {protocols})")
    levels = tuple(
        msgspec.structs.replace(level, text=text)
        for level, text in zip(criterion.levels, criterion.protocols[protocol], strict=True)
    )
    return msgspec.structs.replace(criterion, levels=levels, protocols={})


def _said(content: Any) -> Any:
    """Leave out what is not set: it is the default, and TOML has no word for None."""
    if isinstance(content, dict):
        unset = {name for name, value in content.items() if value is None or value is False or value in ((), [], {})}
        return {name: _said(value) for name, value in content.items() if name not in unset}
    return [_said(value) for value in content] if isinstance(content, list | tuple) else content


MOST_CHECKS = 8
"""A longer chain is no longer one that a person follows, or that can be tried out whole."""


def first(criteria: Sequence[Criterion]) -> str:
    """Say the first thing that makes a rubric unusable; empty if nothing does."""
    if not criteria:
        return "the rubric has no criteria"
    twice = _repeated([name.casefold() for criterion in criteria for name in (criterion.name, *criterion.aliases)])
    if twice:
        return f"criterion {twice!r} occurs twice"
    return next(filter(None, map(_criterion_fault, criteria)), "")


def _criterion_fault(criterion: Criterion) -> str:
    name = f"criterion {criterion.name!r}"
    if len(criterion.levels) < 2:
        return f"{name} needs at least two levels, it has {len(criterion.levels)}"
    aliases = [alias for level in criterion.levels for alias in level.aliases]
    spellings = [str(spelling).casefold() for spelling in (*criterion.choices, *aliases)]
    if _repeated(spellings):
        return f"{name}: level or alias {_repeated(spellings)!r} occurs twice"
    looked_for = (_numbering_fault, _wording_fault, _order_fault, _chain_fault, _unsafe_fault)
    fault = next(filter(None, (look(criterion) for look in looked_for)), "")
    return f"{name}{fault}" if fault else ""


def _numbering_fault(criterion: Criterion) -> str:
    numbers = [level.value for level in criterion.levels if isinstance(level.value, int)]
    if numbers and len(numbers) < len(criterion.levels):
        return " mixes numbers and words as levels"
    if numbers:
        step = min(abs(b - a) for a, b in pairwise(sorted(numbers)))
        missing = sorted(set(range(min(numbers), max(numbers), step)) - set(numbers))
        return f": level {', '.join(map(str, missing))} is missing" if missing else ""
    return ""


def _wording_fault(criterion: Criterion) -> str:
    for protocol, texts in criterion.protocols.items():
        if len(texts) != len(criterion.levels):
            return f", protocol {protocol!r}: {len(texts)} wordings for {len(criterion.levels)} levels"
        if not all(texts):
            return f", protocol {protocol!r}: a level has no wording"
    if criterion.options:  # what a letter stands for is said by the question
        return ""
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


def _chain_fault(criterion: Criterion) -> str:
    """Say what is wrong with the checks and with what levels need of them."""
    names = [check.name for check in criterion.checks]
    if _repeated(names):
        return f": check {_repeated(names)!r} occurs twice"
    needed = [name for level in criterion.levels for name in (*level.needs, *level.unless)]
    unknown = next((name for name in needed if name not in names), "")
    if unknown:
        return f": a level needs {unknown!r}, which is no check"
    return _reach_fault(criterion, names) if names else ""


def _reach_fault(criterion: Criterion, names: list[str]) -> str:
    """Say whether some answers lead to no level, or no answers to a level."""
    if criterion.scale is not Scale.ORDINAL or len(names) > MOST_CHECKS:
        return f": only ordinal levels follow from checks, and at most {MOST_CHECKS} of them"
    mute = next((check.name for check in criterion.checks if not check.ask), "")
    if mute:
        return f": check {mute!r} has no question (ask.en = …)"
    cases = [dict(zip(names, answers, strict=True)) for answers in product((False, True), repeat=len(names))]
    reached = {criterion.implied(answers) for answers in cases}
    if None in reached:
        return ": some answers to its checks lead to no level"
    lost = next((str(value) for value in criterion.values if value not in reached), "")
    return f": no answers to its checks lead to level {lost}" if lost else ""


def _unsafe_fault(criterion: Criterion) -> str:
    """Say what is wrong with the unsafe levels: of an order, they are the first ones or the last ones."""
    unsafe, values = criterion.unsafe, criterion.values
    unknown = next((value for value in unsafe if value not in values), None)
    if unknown is not None:
        return f": the unsafe level {unknown!r} is no level"
    if unsafe and len(set(unsafe)) == len(values):
        return ": every level is unsafe"
    count = len(unsafe)
    if unsafe and criterion.scale is Scale.ORDINAL and set(unsafe) not in (set(values[:count]), set(values[-count:])):
        return ": the unsafe levels are the first ones or the last ones, without a gap"
    return ""


def _repeated(items: list[str]) -> str:
    return next((item for i, item in enumerate(items) if item in items[:i]), "")
