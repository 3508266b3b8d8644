"""What the user says of how ratings stand in tables; what is not said is seen from the tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mindgauge.records import drawn
from mindgauge.records.errors import UsageError
from mindgauge.records.files import mapping
from mindgauge.records.files.mapping import FileLayout

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REQUIRED = ("subject", "criterion", "rater", "value")
OPTIONAL = (
    "rater_kind",
    "status",
    "system",
    "cluster",
    "category",
    "selection",
    "language",
    "run",
    *drawn.COLUMNS,
    drawn.WEIGHT,
)
FILE, COLUMNS, ROW = "file", "columns", "row"
"""Said of raters: each file or sheet is one; each column is one. Said of subjects: rows, in the order of the files."""


_SEEN = FileLayout()
"""How a file is read of which nothing is said."""


@dataclass(frozen=True)
class RatingLayout:
    """How ratings stand in tables, as far as the user says it; several names are a list, or a text with commas."""

    subject: Sequence[str] = ()
    """The columns that together say what a row rates, or `row`."""
    rater: str = ""
    """The column with who rated, or `file`, or `columns`."""
    criteria: Sequence[str] = ()
    """The columns with values; where one column names the criterion, the criteria."""
    levels: Sequence[str] = ()
    """Words for levels, worst first, each with its other spellings or languages: `low|niedrig,high|hoch`."""
    not_applicable: Sequence[str] = ()
    """Answers that say that a criterion does not apply."""
    drop: Sequence[str] = ()
    """Columns, criteria, raters and files that are left out."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Our name → the file's name of a column."""
    file: FileLayout = _SEEN
    """How files are read."""

    def __post_init__(self) -> None:
        """Split texts with commas, and check names of columns and levels.

        Raises:
            UsageError: a column is none of ours, or the levels cannot be read.
        """
        for name in ("subject", "criteria", "levels", "not_applicable", "drop"):
            object.__setattr__(self, name, split(getattr(self, name)))
        column_map = mapping.read(self.columns, (*REQUIRED, *OPTIONAL))
        object.__setattr__(self, "columns", column_map.columns)
        if column_map.layout != _SEEN:
            object.__setattr__(self, "file", column_map.layout)
        if self.levels:
            self._spellings()

    @property
    def scale(self) -> str:
        """The levels as a scale is written, `worst,…,best`; empty where none are said."""
        return ",".join(spellings[0] for spellings in self._spellings())

    @property
    def words(self) -> dict[str, str]:
        """A level's spelling, in small letters → the level."""
        return {word.casefold(): spellings[0] for spellings in self._spellings() for word in spellings}

    def _spellings(self) -> list[list[str]]:
        levels = [[word.strip() for word in level.split("|") if word.strip()] for level in self.levels]
        words = [word.casefold() for spellings in levels for word in spellings]
        if levels and (len(levels) < 2 or not all(levels) or len(set(words)) < len(words)):
            raise UsageError(
                f"--levels {','.join(self.levels)!r}: write each level once, worst to best, for example none,some,full, or none|keine,full|voll"
            )
        return levels


def split(text: str | Sequence[str]) -> tuple[str, ...]:
    """Read names separated by commas; a comma within double quotes belongs to a name."""
    if not isinstance(text, str):
        return tuple(name for part in text for name in split(part))
    names, quoted = [""], False
    for letter in text:
        if letter == '"':
            quoted = not quoted
        elif letter == "," and not quoted:
            names.append("")
        else:
            names[-1] += letter
    return tuple(name.strip() for name in names if name.strip())


NOTHING_SAID = RatingLayout()
