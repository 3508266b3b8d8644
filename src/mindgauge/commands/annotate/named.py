"""Who takes part in an annotation project: their names, under which labels go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.annotation import people
from mindgauge.annotation.records import Person, Role
from mindgauge.records.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


def people_of(annotators: Sequence[str], adjudicator: str | None, owner: str | None, language: str) -> list[Person]:
    """Return everybody, annotators first; their ids are given by the project.

    Raises:
        UsageError: nobody labels, or a name is empty, too long, reserved, or there twice.
    """
    named = [(name, Role.ANNOTATOR) for name in annotators]
    named += [(adjudicator, Role.ADJUDICATOR)] if adjudicator is not None else []
    named.append((owner if owner is not None else Role.OWNER.value, Role.OWNER))
    if not annotators:
        raise UsageError("name who labels with --annotators ana,ben,chi")
    by_name: dict[str, Person] = {}
    for entered, role in named:
        name = people.tidy_name(entered)
        if not people.readable_name(name):
            excerpt = name[: people.LONGEST_NAME]
            raise UsageError(
                f"{role} {excerpt!r}: a name has 1 to {people.LONGEST_NAME} characters, none of them invisible"
            )
        if people.reserved_name(name):
            raise UsageError(f"{role} {name!r}: that is what a data set's own labels are called; choose another name")
        if name.casefold() in by_name:
            raise UsageError(f"two people are called {name!r}; each needs a name of their own, since labels go by it")
        by_name[name.casefold()] = Person("", name, role, language)
    return list(by_name.values())
