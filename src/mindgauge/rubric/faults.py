"""What makes a rubric unfit to rate with, each as a line that names the criterion."""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING

from mindgauge.rubric.criterion import Criterion, Scale

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_CHECKS = 8
"""A longer chain is no longer one that a person follows, or that can be tried out whole."""


def first(criteria: Sequence[Criterion]) -> str:
    """Say the first thing that makes a rubric unusable; empty if nothing does."""
    if not criteria:
        return "the rubric has no criteria"
    twice = _repeated([name.casefold() for criterion in criteria for name in (criterion.name, *criterion.aliases)])
    if twice:
        return f"criterion {twice!r} stands there twice"
    return next(filter(None, map(_criterion_fault, criteria)), "")


def _criterion_fault(criterion: Criterion) -> str:
    name = f"criterion {criterion.name!r}"
    if len(criterion.levels) < 2:
        return f"{name} needs at least two levels, it has {len(criterion.levels)}"
    aliases = [alias for level in criterion.levels for alias in level.aliases]
    spellings = [str(spelling).casefold() for spelling in (*criterion.choices, *aliases)]
    if _repeated(spellings):
        return f"{name}: level or alias {_repeated(spellings)!r} stands there twice"
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
        return f": check {_repeated(names)!r} stands there twice"
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
