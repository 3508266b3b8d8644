"""Whether two raters worked with the same instrument: what is said before any agreement or bias between them.

What people said by a paper's rubric and a judge by ours are values on one scale, and not of one thing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.records.english import named

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

RELEASED = "as released"
"""The instrument of ratings that a paper released: its own words, which are not here."""
SAME_NOT = "not the same instrument"


def of_ratings(instrument: str, *, loaded: bool) -> str:
    """Return whose words a rating was given by: a rubric's `id@version`, a user's own beside it, `RELEASED`, or nothing known."""
    return instrument.partition("#")[0] or (RELEASED if loaded else "")


def by_rater(pairs: Iterable[tuple[str, str | None]], *, loaded: bool) -> dict[str, frozenset[str]]:
    """Return the instruments of each rater, as far as they are known.

    Args:
        pairs: rater, and the instrument of some of its ratings.
        loaded: whether these are of a run that was loaded from a paper's release.
    """
    names: dict[str, set[str]] = {}
    for rater, instrument in pairs:
        names.setdefault(rater, set()).add(of_ratings(instrument or "", loaded=loaded))
    return {
        rater: frozenset(used - {""} - ({RELEASED} if used - {"", RELEASED} else set()))
        for rater, used in names.items()
    }


def difference(judge: str, people: Iterable[str], instruments: Mapping[str, frozenset[str]]) -> str:
    """Say that a judge and people worked with different instruments; empty where they did not, or nothing is known of one.

    Args:
        judge: a rater.
        people: the raters it is held against.
        instruments: rater → those it worked with.
    """
    judge_instruments = instruments.get(judge, frozenset())
    people_instruments = frozenset(name for person in people for name in instruments.get(person, frozenset()))
    if not judge_instruments or not people_instruments or judge_instruments & people_instruments:
        return ""
    return f"{SAME_NOT}: the judge rated by {named(sorted(judge_instruments))}, people by {_told(people_instruments)}; bias and agreement hold the difference of the two"


def _told(names: frozenset[str]) -> str:
    return named(["the authors' own" if name == RELEASED else name for name in sorted(names)])


def all_differences(
    judges: Iterable[str], people: Iterable[str], instruments: Mapping[str, frozenset[str]]
) -> list[str]:
    """Say of each judge that differs so, with its name."""
    people = [*people]
    sentences = ((judge, difference(judge, people, instruments)) for judge in judges)
    return [f"{judge}: {sentence}" for judge, sentence in sentences if sentence]


def with_instruments(title: str, judges: Iterable[str]) -> str:
    """Return the title of a table of corrected figures, with the judges that worked with another instrument than people."""
    titles = [*judges]
    return f"{title}; {SAME_NOT}: {named(titles, limit=len(titles))}" if titles else title
