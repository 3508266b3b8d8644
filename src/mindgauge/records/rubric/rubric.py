"""A rubric is the instrument: criteria, each with ordered levels, each level with what it looks like.

It is read from `rubric.toml`; a bad one is refused with one line that names the file, and every fault of its criteria.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import tomli_w

from mindgauge.records.errors import RubricError, UsageError
from mindgauge.records.files import bounds, private, sealed
from mindgauge.records.records import digest
from mindgauge.records.rubric import faults, wording
from mindgauge.records.rubric.criterion import Criterion
from mindgauge.records.rubric.wording import Method

if TYPE_CHECKING:
    from collections.abc import Mapping
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
            sealed.read(path, f"remove {path}, {command} then writes it again")
        except FileNotFoundError as error:
            raise UsageError(f"{path}: missing; {command} writes it again") from error
        return cls.load(path)


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
