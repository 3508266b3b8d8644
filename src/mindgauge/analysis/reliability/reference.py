"""Who is compared with whom: the reference is people, or whom the user names; every other rater is a judge.

Where every rater is a person there is no judge, and people are compared among themselves.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.records.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

_PEOPLE = re.compile(
    r"(human|people|person|panel|expert|clinician|annotator|therapist|gold|h)s?[\W_]*\d*", re.IGNORECASE
)
"""Names that plainly say people, for files without `rater_kind`."""


def split(frame: pl.DataFrame, names: Sequence[str], notes: list[str]) -> tuple[list[str], list[str]]:
    """Return the reference raters and the judges.

    Without names the reference is every rater of kind `person`, else of kind `gold`, else those whose names plainly
    say so; other persons are then no judges.

    Raises:
        UsageError: a name is unknown.
        DataError: there is only one rater, it is not known who is a person, or there is neither a judge nor a second
            person.
    """
    raters = {
        str(rater): kind
        for rater, kind in frame.group_by("rater").agg(pl.col("rater_kind").first()).sort("rater").iter_rows()
    }
    if len(raters) < 2:
        raise DataError(
            f"only one rater here ({next(iter(raters))}): agreement needs a second one, a judge or a person"
        )
    reference = _named(raters, names) if names else _found(raters, notes)
    kinds = {"person", "gold", "rule"} if not names else {"gold", "rule"}
    judges = [rater for rater, kind in raters.items() if rater not in reference and kind not in kinds]
    if not judges and len(reference) < 2:
        raise DataError(
            f"beside {reference[0]} there is no judge here and no second person ({_some(raters)}); name whom to compare with by --reference RATER"
        )
    return reference, judges


def _named(raters: dict[str, str | None], names: Sequence[str]) -> list[str]:
    for name in names:
        if name not in raters:
            near = difflib.get_close_matches(name, raters, 1)
            hint = f"did you mean {near[0]}?" if near else f"raters are {_some(raters)}"
            raise UsageError(f"--reference {name!r}: no such rater; {hint}")
    return list(dict.fromkeys(names))


def _found(raters: dict[str, str | None], notes: list[str]) -> list[str]:
    for kind in ("person", "gold"):
        matching = [rater for rater, rater_kind in raters.items() if rater_kind == kind]
        if matching:
            return matching
    matching = [rater for rater, kind in raters.items() if kind is None and _PEOPLE.fullmatch(rater)]
    if matching:
        notes.append(
            f"there is no rater_kind; by their names, {_some(matching)} {'are' if len(matching) > 1 else 'is'} taken as people (--reference says otherwise)"
        )
        return matching
    raise DataError(
        f"which raters are people? Name each with --reference RATER, or give a column rater_kind with the value person; raters are {_some(raters)}"
    )


def _some(names: dict[str, str | None] | list[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:8]) + (f" and {len(listed) - 8} more" if len(listed) > 8 else "")
