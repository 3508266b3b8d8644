"""What makes a rubric unusable, and what to write instead: all of it at once, criterion by criterion."""

from __future__ import annotations

import contextlib
import difflib
import functools
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.records.records import REASONING
from mindgauge.records.rubric.criterion import Check, Criterion, Level, Node, Scale

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

MOST_CHECKS = 8
"""A longer chain is no longer one that a person follows, or that can be tried out whole."""
TAKEN = frozenset({"quotes", "rationale", "checks", "uncertain", "misfit", "value", "not_applicable"})
"""What judges write beside their levels, under these names."""
_MOST = 20
"""Faults that are told; whoever mends so many reads the file anew anyway."""
_PARTS: dict[str, type[msgspec.Struct]] = {"levels": Level, "checks": Check, "nodes": Node}
_TO_WRITE = {
    "id": 'id = "warmth"',
    "version": 'version = "1"',
    "source": 'source = "who wrote it, and after what"',
    "criteria": "[[criteria]], one for each",
    "name": 'name = "warmth"',
    "scale": 'scale = "ordinal", with levels from the worst to the best, or scale = "nominal", for classes',
    "levels": 'levels = [{ value = "no", text.en = "…" }, { value = "yes", text.en = "…" }]',
    "value": 'value = "yes", or a whole number',
    "text": 'text.en = "…"',
    "ask": 'ask.en = "…"',
}


def line(path: Path, problems: Sequence[str]) -> str:
    """Write the faults of a file on one line."""
    if len(problems) == 1:
        return f"{path}: {problems[0]}"
    numbered = "; ".join(f"({number}) {problem}" for number, problem in enumerate(problems[:_MOST], 1))
    return f"{path}: {len(problems)} faults: {numbered}" + ("; …" if len(problems) > _MOST else "")


def of_file(content: dict[str, Any], kind: type[msgspec.Struct]) -> list[str]:
    """Say all that is wrong with the content of a rubric file; nothing where `msgspec.convert` makes a good one of it.

    Args:
        content: of the file.
        kind: what it is converted to, `Rubric`.
    """
    problems = [f"not a rubric: {problem}" for problem in _shape(content, kind)]
    tables = content.get("criteria", [])
    if not isinstance(tables, list):
        return [*problems, f"not a rubric: `criteria` is no list of tables; write {_TO_WRITE['criteria']}"]
    usable: list[Criterion] = []
    for number, table in enumerate(tables, 1):
        name = table.get("name") if isinstance(table, dict) else None
        place = f"criterion {name!r}" if isinstance(name, str) else f"criterion {number}"
        problems += [f"{place}{problem}" for problem in _criterion_shape(table)]
        with contextlib.suppress(msgspec.ValidationError):  # what is wrong with its fields is said already
            usable.append(msgspec.convert(_known(table), Criterion))
    if not problems:
        try:
            msgspec.convert(content, kind)
        except msgspec.ValidationError as error:
            return [f"not a rubric: {error}"]
    return problems + ([] if not usable and problems else of(usable))


def of(criteria: Sequence[Criterion]) -> list[str]:
    """Say all that makes criteria unusable to rate with."""
    if not criteria:
        return [f"the rubric has no criteria; write {_TO_WRITE['criteria']}"]
    twice = _repeated([name.casefold() for criterion in criteria for name in (criterion.name, *criterion.aliases)])
    doubled = [f"criterion {twice!r} occurs twice; give each a name of its own"] if twice else []
    return [*doubled, *(fault for criterion in criteria for fault in _faults_of(criterion))]


def _criterion_shape(table: object) -> Iterator[str]:
    """Say what a table lacks to be a criterion, and what it has too much."""
    if not isinstance(table, dict):
        yield f": no table; write {_TO_WRITE['criteria']}"
        return
    problems = [f": {problem}" for problem in _shape(table, Criterion)]
    for key, kind in _PARTS.items():
        parts = table.get(key, [])
        for number, part in enumerate(parts if isinstance(parts, list) else [], 1):
            if isinstance(part, dict):
                problems += [f", {key.removesuffix('s')} {part.get('value', number)}: {p}" for p in _shape(part, kind)]
    if not problems:
        try:
            msgspec.convert(table, Criterion)
        except msgspec.ValidationError as error:
            problems = [f": {error}"]
    yield from problems


def _shape(table: dict[str, Any], kind: type[msgspec.Struct]) -> Iterator[str]:
    """Say which fields are unknown, missing, or a text without its language."""
    fields = _fields(kind)
    for key in table:
        if key not in fields:
            near = difflib.get_close_matches(key, fields, 1)
            hint = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(fields)}"
            yield f"unknown field `{key}`; {hint}"
    for name, field in fields.items():
        if field.required and name not in table:
            yield f"no `{name}`; write {_TO_WRITE.get(name, f'{name} = …')}"
    if "scale" in fields and "scale" in table and table["scale"] not in [*Scale]:
        yield f"`scale` is {table['scale']!r}; write {_TO_WRITE['scale']}"
    for name in ("text", "look", "ask", "question", "not_applicable"):
        if name in fields and isinstance(table.get(name), str) and (name, table[name]) != ("look", REASONING):
            yield f"`{name}` does not say its language; write {name}.en = {table[name][:40]!r}"


def _known(table: object) -> object:
    """Leave out the fields of a criterion that nobody reads, so that the others are looked at all the same."""
    return (
        {key: value for key, value in table.items() if key in _fields(Criterion)} if isinstance(table, dict) else table
    )


@functools.cache  # it reads the annotations of all of them each time
def _fields(kind: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.name: field for field in msgspec.structs.fields(kind)}


def _faults_of(criterion: Criterion) -> Iterator[str]:
    """Say everything that is wrong with one criterion."""
    name = f"criterion {criterion.name!r}"
    if not criterion.name.strip() or "." in criterion.name or criterion.name.casefold() in TAKEN:
        yield f"{name}: no name for a criterion; take another, without a dot, and none of {', '.join(sorted(TAKEN))}"
    if len(criterion.levels) < 2:
        yield f"{name} needs at least two levels, it has {len(criterion.levels)} ({_TO_WRITE['levels']})"
        return
    aliases = [alias for level in criterion.levels for alias in level.aliases]
    spellings = [str(spelling).casefold() for spelling in (*criterion.choices, *aliases)]
    if _repeated(spellings):
        yield f"{name}: level or alias {_repeated(spellings)!r} occurs twice"
        return
    looked_for = (_numbering_fault, _wording_fault, _order_fault, _chain_fault, _unsafe_fault)
    yield from (f"{name}{fault}" for fault in (look(criterion) for look in looked_for) if fault)


def _numbering_fault(criterion: Criterion) -> str:
    numbers = [level.value for level in criterion.levels if isinstance(level.value, int)]
    if numbers and len(numbers) < len(criterion.levels):
        return " mixes numbers and words as levels"
    if numbers:
        step = min(abs(b - a) for a, b in pairwise(sorted(numbers)))
        missing = sorted(set(range(min(numbers), max(numbers), step)) - set(numbers))
        if missing:
            return f": level {', '.join(map(str, missing))} is missing"
        if criterion.scale is Scale.ORDINAL and numbers not in (sorted(numbers), sorted(numbers, reverse=True)):
            listed = ", ".join(map(str, numbers))
            return (
                f': its levels are not ordered ({listed}); write them from the worst to the best, or scale = "nominal"'
            )
    return ""


def _wording_fault(criterion: Criterion) -> str:
    for protocol, texts in criterion.protocols.items():
        if len(texts) != len(criterion.levels):
            return f", protocol {protocol!r}: {len(texts)} wordings for {len(criterion.levels)} levels"
        if not all(texts):
            return f", protocol {protocol!r}: a level has no wording"
    if criterion.options:  # what a letter stands for is said by the question
        return ""
    bare = [str(level.value) for level in criterion.levels if not any(text.strip() for text in level.text.values())]
    if not criterion.protocols and bare:
        if len(bare) > 1:
            return f": levels {', '.join(bare)} do not say what they look like (text.en = …)"
        return f": level {bare[0]} does not say what it looks like (text.en = …)"
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
        return f": check {_repeated(names)!r} occurs twice"
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
