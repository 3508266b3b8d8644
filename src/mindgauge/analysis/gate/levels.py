"""The levels that a policy names, as a rubric has them: `1`, `1.0` and `"1"` are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.records.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mindgauge.records import Value
    from mindgauge.records.rubric import Criterion


def of(criterion: Criterion, wanted: Iterable[Value]) -> set[str]:
    """Return those of some levels that a criterion has, as ratings hold them."""
    by_form = {_form(value): str(value) for value in criterion.values}
    return {by_form[form] for form in map(_form, wanted) if form in by_form}


def refuse_unknown(title: str, wanted: Iterable[Value], criteria: Sequence[Criterion]) -> None:
    """See that each level is one of some criterion's: one that is written wrongly would never be met.

    Raises:
        UsageError: one is not; the message names those there are.
    """
    known = {_form(value) for criterion in criteria for value in criterion.values}
    unknown = [str(level) for level in wanted if _form(level) not in known]
    if unknown:
        levels = "; ".join(f"{c.name} has {', '.join(map(str, c.values))}" for c in criteria)
        raise UsageError(f"{title}: there is no level {', '.join(unknown)}; {levels}")


def _form(value: Value) -> str:
    """Write a level in one way; a number as a number, however it was given."""
    try:
        return f"{float(value):g}"
    except ValueError:
        return str(value)
