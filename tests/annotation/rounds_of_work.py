"""People at work: everybody answers what is put to them, by a rule, until nothing is left."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, TypeAlias

from mindgauge.annotation import submissions, tasks
from mindgauge.annotation.records import Answer, Answered, Person, Phase

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindgauge.annotation.project import Annotation
    from mindgauge.records import Evidence, Value
    from mindgauge.records.rubric import Criterion

    Rule: TypeAlias = "Callable[[str, tasks.Assignment, Criterion], Value | None]"
    """(name of the person, what is put to them, criterion) → an answer as `Label.given` has it; None: hands it on."""

_forms = itertools.count()


def everybody_works(
    a: Annotation, rule: Rule, *, until: Phase | None = None, note: str = "", evidence: tuple[Evidence, ...] = ()
) -> int:
    """Submit until nobody has anything to do, or a batch comes to a phase; return how many submissions there were."""
    done = 0
    while True:
        waiting = [(person, now) for person in a.people() if (now := _now(a, person)) is not None]
        if not waiting or (until is not None and any(now.phase is until for _, now in waiting)):
            return done
        for person, now in waiting:
            given = {criterion.name: rule(person.name, now, criterion) for criterion in now.rubric.criteria}
            form = f"form {next(_forms)}"
            if None in given.values():
                submissions.hand_on(a, person, now.item.id, now.phase, now.turn, form)
            else:
                answers = [_answer(name, value) for name, value in given.items()]
                about = now.item.id, now.phase, now.turn, form
                submissions.submit(a, person, *about, answers, note=note, evidence=evidence)
            done += 1


def _now(a: Annotation, person: Person) -> tasks.Assignment | None:
    found = tasks.current(a, person)
    return found if isinstance(found, tasks.Assignment) else None


def _answer(criterion: str, given: Value | None) -> Answer:
    said = {Answered.CANNOT_TELL.value, Answered.NOT_APPLICABLE.value}
    return Answer(criterion, Answered(str(given))) if given in said else Answer(criterion, Answered.OK, given)
