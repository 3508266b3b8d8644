"""A rubric is the instrument: criteria, each with ordered levels, each level with what it looks like; and how a prompt words it.

It is read from `rubric.toml`; a bad one is refused with one line that names the file, and every fault of its criteria.
"""

from __future__ import annotations

import functools
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec
import tomli_w

from mindgauge.records.errors import RubricError, UsageError
from mindgauge.records.files import bounds, private
from mindgauge.records.files import private as sealed
from mindgauge.records.records import Status, digest
from mindgauge.records.rubric import faults
from mindgauge.records.rubric.criterion import Criterion, in_language

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from mindgauge.records.rubric.criterion import Level, Node


_CHAIN = {
    "en": {"look": "What to look at", "checks": "Checks, each answered yes or no", "rule": "Rule", "if": "if",
           "and": "and", "yes": "yes", "no": "no", "otherwise": "otherwise", "levels": "Levels"},
    "zh": {"look": "看什么", "checks": "逐项检查，每项答 yes 或 no", "rule": "判定规则", "if": "若",
           "and": "且", "yes": "yes", "no": "no", "otherwise": "其余情况", "levels": "等级"},
}  # fmt: skip


class Method(StrEnum):
    """How much of the rubric a judge is shown, and what it is to do with it."""

    GENERAL = "general"
    """The names of the criteria and the scale."""
    RULE = "rule"
    """What each level looks like."""
    CHAIN = "chain"
    """What to look at, checks to answer, the rule that leads from them to a level."""

    @property
    def usual(self) -> bool:
        """Whether a judge has no name of its own with it."""
        return self is Method.RULE

    @property
    def describes(self) -> bool:
        """Whether a judge is shown what the levels look like."""
        return self is not Method.GENERAL

    @property
    def reasons(self) -> bool:
        """Whether a judge writes checks, evidence and a reason for each criterion before its level."""
        return self is Method.CHAIN

    @property
    def prompt(self) -> str:
        """The file of its prompt, without the ending."""
        return "judge" if self.usual else f"judge.{self}"

    @property
    def token_limit(self) -> int:
        """The longest answer for one criterion; 0 where the model's usual room will do."""
        return 240 if self.reasons else 0

    @property
    def expected_tokens(self) -> int:
        """The expected length of an answer for one criterion; 0 where all of them share one reason."""
        return 120 if self.reasons else 0


def render(criterion: Criterion, language: str, method: Method = Method.RULE) -> str:
    """Write one criterion as Markdown."""
    lines = [f"## {criterion.name}", "", in_language(criterion.text, language), ""]
    if not method.describes or criterion.options:
        lines.append(f"- {' | '.join(map(str, criterion.choices))}")
        return "\n".join(lines)
    lines += _chain(criterion, language) if method.reasons and criterion.checks else []
    lines += [f"- {level.value}: {in_language(level.text, language)}" for level in criterion.levels]
    if criterion.not_applicable:
        lines.append(f"- {Status.NOT_APPLICABLE}: {in_language(criterion.not_applicable, language)}")
    if criterion.misfit:
        lines += ["", f"`misfit`: {in_language(criterion.misfit, language)}"]
    return "\n".join(lines)


def _chain(criterion: Criterion, language: str) -> list[str]:
    words = _CHAIN.get(language, _CHAIN["en"])
    look = [f"{words['look']}: {in_language(criterion.look, language)}", ""] if isinstance(criterion.look, dict) and criterion.look else []  # fmt: skip
    checks = [f"- {check.name}: {in_language(check.ask, language)}" for check in criterion.checks]
    best_first = [_rule(level, words) for level in reversed(criterion.levels)]
    return [*look, f"{words['checks']}:", *checks, "", f"{words['rule']}:", *best_first, "", f"{words['levels']}:"]


def _rule(level: Level, words: dict[str, str]) -> str:
    """Write what a level needs; the best level that holds counts, so they stand best first."""
    conditions = [f"{name} {words['yes']}" for name in level.needs] + [f"{name} {words['no']}" for name in level.unless]
    if not conditions:
        return f"- {level.value}: {words['otherwise']}"
    return f"- {level.value}: {words['if']} " + f" {words['and']} ".join(conditions)


def order(nodes: tuple[Node, ...]) -> str:
    """Write the order of decision as a numbered list of levels, one node a line."""
    lines = [", ".join(map(str, node.levels)) for node in nodes] + [str(nodes[-1].otherwise)]
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


# A rubric is the instrument: criteria, each with ordered levels, each level with what it looks like.


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

    def restricted(self, names: Collection[str]) -> Rubric:
        """Return the rubric reduced to some criteria, for calls of their own."""
        return msgspec.structs.replace(self, criteria=tuple(c for c in self.criteria if c.name in names))

    def without_misfit(self) -> Rubric:
        """Return the rubric without the question whether the levels fit, which only our instrument asks."""
        return msgspec.structs.replace(
            self, criteria=tuple(msgspec.structs.replace(c, misfit={}) for c in self.criteria)
        )

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
        return "\n\n".join(render(criterion, language, method) for criterion in self.criteria)

    def order(self) -> str:
        """Write the order of decision as a numbered list of levels, one node a line; empty where there is none."""
        return "\n\n".join(order(criterion.nodes) for criterion in self.criteria if criterion.nodes)

    def write(self, path: Path) -> None:
        """Write it as a rubric file with its checksum, which `papers load` reads as the same rubric."""
        private.write(path, sealed.seal(tomli_w.dumps(_said(msgspec.to_builtins(self)))))

    @classmethod
    def load(cls, path: Path) -> Rubric:
        """Read a rubric file.

        Raises:
            RubricError: the file cannot be read, or its criteria or levels are not fit to rate with; the message names
                every fault.
        """
        try:
            content = bounds.toml(path)
        except OSError as error:
            raise RubricError(f"{path}: cannot read the rubric ({error.strerror})") from error
        except ValueError as error:
            raise RubricError(f"{path}: not a rubric: {error}") from error
        problems = faults.of_file(content, cls)
        if problems:
            raise RubricError(faults.line(path, problems))
        return msgspec.convert(content, cls)

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
            sealed.read_sealed(path, f"remove {path}, {command} then writes it again")
        except FileNotFoundError as error:
            raise UsageError(f"{path}: missing; {command} writes it again") from error
        return cls.load(path)


@functools.cache
def shipped(path: Path) -> Rubric:
    """Read a rubric that comes with this package, once."""
    return Rubric.load(path)


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
