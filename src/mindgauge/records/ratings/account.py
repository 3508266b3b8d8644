"""What was read of somebody's tables, in words: shown before anything is computed from it."""

from __future__ import annotations

import msgspec

from mindgauge.records.english import named
from mindgauge.records.rounding import plural

_SHOWN = 12
_OTHERWISE = "To have it read otherwise: --subject A,B, --rater COLUMN|file|columns, --criteria a,b, --drop NAME"


class Account(msgspec.Struct, frozen=True):
    """What was read as ratings, and what was left out."""

    rows: int
    ratings: int
    subjects: int
    raters: dict[str, int]
    """Rater → ratings."""
    criteria: dict[str, int]
    """Criterion → ratings."""
    missing: int
    not_applicable: int
    shapes: list[str]
    """How the tables were read, one line for each kind of table."""
    left_out: list[str]
    notes: list[str]
    plain: bool
    """Whether every table says itself what it holds, so that nothing was guessed."""

    @property
    def worth_saying(self) -> bool:
        """Whether something was guessed, left out or odd, so that it must be seen beside what is computed."""
        return not self.plain or bool(self.left_out or self.notes)

    def guess(self) -> str:
        """Say how the tables were read and how to have it otherwise, for one line of refusal; nothing where nothing was guessed."""
        return "" if self.plain else f"read as {'; '.join(self.shapes)}; {_OTHERWISE[0].lower()}{_OTHERWISE[1:]}"

    def lines(self) -> list[str]:
        """Say what was read, what was left out, and how to say it otherwise."""
        raters = named([*self.raters], limit=_SHOWN)
        criteria = named([*self.criteria], limit=_SHOWN)
        on = plural(len(self.criteria), "criterion", "criteria")
        parts = [
            (
                f"{plural(self.rows, 'row')} read as {plural(self.ratings, 'rating')} of {plural(self.subjects, 'subject')} "
                f"by {plural(len(self.raters), 'rater')} ({raters}) on {on} ({criteria})"
            ),
            *self.shapes,
        ]
        empty = [
            *([f"{plural(self.missing, 'value')} missing"] if self.missing else []),
            *([f"{plural(self.not_applicable, 'answer')} not applicable"] if self.not_applicable else []),
        ]
        if empty:
            parts.append(f"Of these: {named(empty)}")
        if self.left_out:
            parts += [f"Left out: {line}" for line in self.left_out[:_SHOWN]]
            if len(self.left_out) > _SHOWN:
                parts.append(f"Left out: {len(self.left_out) - _SHOWN} more, see --json")
        parts += self.notes
        if not self.plain:
            parts.append(_OTHERWISE)
        return parts
