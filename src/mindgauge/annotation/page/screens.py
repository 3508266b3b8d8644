"""One screen of the labelling page: a question, the answers that it can have, the steps that led to it, and the rubric beside it.

A criterion with nodes is decided one node a screen, up to the first yes; all other criteria share one form.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

import msgspec

from mindgauge.annotation.agreement import AgreementFigure, below, with_anchors
from mindgauge.annotation.labels import NO, last
from mindgauge.annotation.page.pages import Worded, called, in_words, said, worded, words
from mindgauge.annotation.ratings import read
from mindgauge.annotation.records import Answered, Phase, Role
from mindgauge.benchmarks.persons.persona import NEVER, PLAIN_TURN
from mindgauge.raters.window import Unit
from mindgauge.records.rubric.criterion import Scale
from mindgauge.records.text import visible

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from mindgauge.annotation.gold import Gold
    from mindgauge.annotation.project import Annotation, Batch
    from mindgauge.annotation.records import Gate, Item, Label, Person
    from mindgauge.annotation.tasks import Assignment
    from mindgauge.records import Value
    from mindgauge.records.rubric import Criterion, Rubric
    from mindgauge.records.rubric.criterion import Node


class Choice(NamedTuple):
    """One answer that can be given."""

    value: str
    """What the form sends."""
    name: str
    meaning: Worded
    key: str
    """That chooses it; empty if none does."""
    chosen: bool
    earlier: bool
    """Whether the person answered so in an earlier phase."""


class FormQuestion(NamedTuple):
    """What is asked on one criterion, or on one node of it."""

    criterion: str
    name: str
    text: Worded
    choices: list[Choice]
    ordinal: bool
    missing: bool
    """Whether an answer was expected, and none came."""
    node: int = 0
    of: int = 0
    """Nodes of the criterion; 0 where all its levels are asked at once."""


class Screen(NamedTuple):
    """What is asked now: one node, or all criteria without nodes."""

    decision: FormQuestion | None
    questions: list[FormQuestion]
    crumbs: list[dict[str, str]]
    """Steps that were taken: `name`, `answer`, and the `link` that takes one again."""
    earlier: list[dict[str, str]]
    """`name` of a criterion, and the person's `answer` of an earlier phase."""
    form: str
    """Id of the form: sent twice, it counts once."""
    note: str
    evidence: list[dict[str, str]]
    before: float
    """Seconds that the item has been on the screen."""
    problem: str
    """Why the last attempt was not taken; empty if there was none."""

    @property
    def asked(self) -> set[str]:
        """The criteria that are asked about."""
        return {self.decision.criterion} if self.decision else {question.criterion for question in self.questions}


def screen(
    assignment: Assignment,
    language: str,
    *,
    step_back: tuple[str, int] | None = None,
    missing: frozenset[str] = frozenset(),
    problem: str = "",
) -> Screen:
    """Say what is asked now.

    Args:
        assignment: the item before the person, with their draft.
        language: of the interface.
        step_back: criterion and node of a step that the person wants to take again.
        missing: criteria on which an answer was expected, and none came.
        problem: why the last attempt was not taken.
    """
    walks = [criterion for criterion in assignment.rubric.criteria if criterion.nodes]
    others = [criterion for criterion in assignment.rubric.criteria if not criterion.nodes]
    open_node = _asked(assignment, walks, bool(others), step_back)
    crumbs = []
    for criterion in walks:
        path = _path(assignment, criterion)
        if open_node and open_node[0] is criterion:
            path = path[: open_node[1]]
        crumbs += [_crumb(assignment, criterion, step, language, len(walks) > 1) for step in path]
        if open_node and open_node[0] is criterion:
            break
    names = {criterion.name: criterion for criterion in assignment.rubric.criteria}
    draft = assignment.draft
    notes = next((label for label in assignment.own.values()), None)
    marks = [{"quote": m.quote, "source": m.source} for m in notes.evidence] if notes else []
    return Screen(
        decision=_decision(assignment, *open_node, language, missing) if open_node else None,
        questions=[] if open_node else [_question(assignment, criterion, language, missing) for criterion in others],
        crumbs=crumbs,
        earlier=[
            {"name": name.replace("_", " "), "answer": said(names[name], label, language)}
            for name, label in assignment.own.items() if name in names
        ],
        form=secrets.token_hex(16),
        note=draft.get("note", notes.note if notes else ""),
        evidence=draft.get("evidence", marks),
        before=draft.get("seconds", 0.0),
        problem=problem,
    )  # fmt: skip


def _drafted(assignment: Assignment, criterion: Criterion) -> Mapping[str, Any]:
    answers: Mapping[str, Mapping[str, Any]] = assignment.draft.get("answers", {})
    return answers.get(criterion.name, {})


def _path(assignment: Assignment, criterion: Criterion) -> list[tuple[int, str]]:
    steps = _drafted(assignment, criterion).get("path", [])
    return [(node, answer) for node, answer in steps if 0 <= node < len(criterion.nodes)]


def _asked(
    assignment: Assignment, walks: list[Criterion], has_form: bool, step_back: tuple[str, int] | None
) -> tuple[Criterion, int] | None:
    """Return the criterion and node to ask; None where it is the form's turn."""
    for criterion in walks:
        path = _path(assignment, criterion)
        if (
            step_back
            and step_back[0] == criterion.name
            and 0 <= step_back[1] <= len(path)
            and step_back[1] < len(criterion.nodes)
        ):
            return criterion, step_back[1]
    for criterion in walks:
        if not _drafted(assignment, criterion).get("answered"):
            return criterion, min(len(_path(assignment, criterion)), len(criterion.nodes) - 1)
    if has_form or not walks:
        return None
    return walks[-1], max(len(_path(assignment, walks[-1])) - 1, 0)  # all decided and taken back: the last step again


def _decision(
    assignment: Assignment, criterion: Criterion, node: int, language: str, missing: frozenset[str]
) -> FormQuestion:
    texts = words(language)["item"]
    question = criterion.nodes[node]
    chosen = dict(_path(assignment, criterion)).get(node)
    own = assignment.own.get(criterion.name)
    before = dict(own.path).get(node) if own else None
    single = len(question.levels) == 1
    offered = [
        (
            str(value),
            in_words(texts["yes_level"], level=name) if single else name,
            _anchor_meaning(criterion, value, language),
        )
        for value in question.levels
        for name in [called(criterion, value, language)]
    ]
    if question.otherwise is None:
        offered.append((NO, texts["no"] if single else texts["none"], Worded(texts["go_on"], language)))
    else:
        name = called(criterion, question.otherwise, language)
        name = in_words(texts["no_level"], level=name) if single else name
        offered.append((NO, name, _anchor_meaning(criterion, question.otherwise, language)))
    keyed = [(*answer, key) for answer, key in zip(offered, _node_keys(question), strict=True)]
    keyed.append(
        (Answered.CANNOT_TELL.value, texts["cannot_tell"], Worded(texts["cannot_tell_meaning"], language), "c")
    )
    return FormQuestion(
        criterion=criterion.name,
        name=criterion.name.replace("_", " "),
        text=worded(question.question, language),
        choices=[Choice(*answer, chosen=answer[0] == chosen, earlier=answer[0] == before) for answer in keyed],
        ordinal=False,
        missing=criterion.name in missing,
        node=node,
        of=len(criterion.nodes),
    )


def _node_keys(question: Node) -> list[str]:
    """Return a key for each answer to a node: by its place; of numbered levels its number, and 0 for none of them."""
    if all(str(level).isdigit() for level in question.levels):
        return [*(str(level) if len(str(level)) == 1 else "" for level in question.levels), "0"]
    return [str(place) if place < 10 else "" for place in range(1, len(question.levels) + 2)]


def _question(assignment: Assignment, criterion: Criterion, language: str, missing: frozenset[str]) -> FormQuestion:
    texts = words(language)["item"]
    own = assignment.own.get(criterion.name)
    before = None if own is None else str(own.given)
    draft = _drafted(assignment, criterion)
    chosen = str(draft["value"] if draft["answered"] == Answered.OK else draft["answered"]) if draft else before
    keys = _keys(criterion)
    offered = [
        (str(level.value), called(criterion, level.value, language), worded(level.text, language), key)
        for level, key in zip(criterion.levels, keys, strict=False)
    ]
    if criterion.not_applicable:
        value = Answered.NOT_APPLICABLE.value
        offered.append((value, texts[value], worded(criterion.not_applicable, language), keys[-1]))
    value = Answered.CANNOT_TELL.value
    offered.append((value, texts[value], Worded("", ""), "c"))
    return FormQuestion(
        criterion=criterion.name,
        name=criterion.name.replace("_", " "),
        text=worded(criterion.text, language),
        choices=[Choice(*answer, chosen=answer[0] == chosen, earlier=answer[0] == before) for answer in offered],
        ordinal=criterion.scale is Scale.ORDINAL and not _about_person(criterion),
        missing=criterion.name in missing,
    )


def _about_person(criterion: Criterion) -> bool:
    """Whether its levels say how the person is, so that none of them is better than another."""
    return criterion.name == PLAIN_TURN or criterion.applies.get("unit") == (Unit.CLIENT,)


def _keys(criterion: Criterion) -> list[str]:
    """Return a key for each level and one for `does not apply`: a number is chosen by itself, all else by its place."""
    if criterion.name == PLAIN_TURN:
        return [*(str(turn) if len(str(turn)) == 1 else "" for turn in criterion.values[:-1]), "0", ""]
    numbers = [value for value in criterion.values if isinstance(value, int) and 0 <= value < 10]
    if len(numbers) < len(criterion.values):
        numbers = list(range(1, len(criterion.values) + 1))
    return [str(number) if number < 10 else "" for number in (*numbers, max(numbers) + 1)]


def _crumb(
    assignment: Assignment, criterion: Criterion, step: tuple[int, str], language: str, named: bool
) -> dict[str, str]:
    texts = words(language)["item"]
    node, answer = step
    question = criterion.nodes[node]
    name = " / ".join(called(criterion, value, language) for value in question.levels)
    if criterion.name == PLAIN_TURN:
        name = criterion.name.replace("_", " ")
    elif named:
        name = f"{criterion.name.replace('_', ' ')}: {name}"
    level = next((value for value in question.levels if str(value) == answer), None)
    if answer == NO:
        answer_text = called(criterion, NEVER, language) if criterion.name == PLAIN_TURN else texts["no"]
    elif answer == Answered.CANNOT_TELL:
        answer_text = texts["cannot_tell"]
    else:
        answer_text = texts["yes"] if len(question.levels) == 1 else called(criterion, level, language)
    query = urlencode({"item": assignment.item.id, "criterion": criterion.name, "node": node})
    return {"name": name, "answer": answer_text, "link": f"/item?{query}"}


# The rubric beside the question: criteria, levels, what to look at, and what authored replies at a level read like.


MOST_EXAMPLES = 2
"""For each level."""


def guide(
    a: Annotation, assignment: Assignment, person: Person, language: str, open_criteria: Collection[str]
) -> list[dict[str, Any]]:
    """Return the rubric as it is about an item, with examples that this person is not to label any more.

    While the turn is asked in which risk is plain, nothing else: other questions would give it away.

    Args:
        a: the project.
        assignment: the item before the person.
        person: who labels.
        language: of the interface.
        open_criteria: the criteria that are asked about now.
    """
    anchors = _anchors(a, assignment, person)
    shown = [c for c in assignment.rubric.criteria if PLAIN_TURN not in open_criteria or c.name in open_criteria]
    return [_part(criterion, anchors, language, criterion.name in open_criteria) for criterion in shown]


def _anchors(a: Annotation, assignment: Assignment, person: Person) -> list[Item]:
    items = [item for item in a.items(0) if item.id != assignment.item.id]
    if assignment.phase is Phase.TRAINING and person.role is Role.ANNOTATOR:
        answered = {item for item, author, _ in last(a.labels(batch=0), Phase.TRAINING) if author == person.id}
        items = [item for item in items if item.id in answered]
    protocol, spoken = a.project.protocol, assignment.item.tags.get("language", "")
    if protocol:
        items = [item for item in items if item.tags.get(protocol) == assignment.item.tags.get(protocol)]
    return sorted(items, key=lambda item: item.tags.get("language", "") != spoken)


def _part(criterion: Criterion, anchors: Sequence[Item], language: str, is_open: bool) -> dict[str, Any]:
    """Return one criterion with its levels; `ordered` is whether these are decided in an order."""
    levels = []
    for level in criterion.levels:
        fitting = [item for item in anchors if item.expected.get(criterion.name) == level.value][:MOST_EXAMPLES]
        name, meaning = called(criterion, level.value, language), worded(level.text, language)
        levels.append({"name": name, "meaning": meaning, "examples": [_example(item) for item in fitting]})
    return {
        "name": criterion.name.replace("_", " "),
        "text": worded(criterion.text, language),
        "asked": is_open,
        "look": worded(criterion.look if isinstance(criterion.look, dict) else {}, language),
        "checks": [worded(check.ask, language) for check in criterion.checks],
        "levels": levels,
        "not_applicable": worded(criterion.not_applicable, language),
        "ordered": len(criterion.nodes) > 1,
    }


def _example(item: Item) -> dict[str, Worded]:
    """Return an authored text: what the person says last, and the reply to it, which may be empty."""
    lang = item.tags.get("language", "")
    return {"person": Worded(visible(item.messages[-1].content), lang), "reply": Worded(visible(item.reply), lang)}


_STRENGTHS = ((0.0, "none"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))
"""Upper bounds of what a coefficient is called: J. R. Landis, G. G. Koch, Biometrics 33 (1977), 159–174."""


class GateFigure(NamedTuple):
    """Agreement on one criterion after a step, by the coefficient that the gate looks at."""

    criterion: str
    value: float | None
    low: float | None
    high: float | None
    same: bool
    """Whether all labels were the same, so that no coefficient is defined."""
    reached: bool
    strength: str
    figures: list[AgreementFigure]
    """Of the whole criterion, then of each label against the rest."""


def measured(gate: Gate, gate_level: float) -> list[GateFigure]:
    """Read what the gate said of each criterion; `gate_level` is the agreement that it asks for."""
    figures = msgspec.convert(gate.figures, list[AgreementFigure])
    failed = below(figures, gate_level)
    rows = []
    for overall in (figure for figure in figures if not figure.label):
        value = overall.coefficient
        low, high = (
            (overall.fleiss_low, overall.fleiss_high)
            if overall.gated == "fleiss"
            else (overall.alpha_low, overall.alpha_high)
        )
        rows.append(
            GateFigure(
                criterion=overall.criterion,
                value=value,
                low=low,
                high=high,
                same=value is None and overall.agreement == 1.0,
                reached=overall.criterion not in failed,
                strength="" if value is None else strength(value),
                figures=[figure for figure in figures if figure.criterion == overall.criterion],
            )
        )
    return rows


def latest(gates: Sequence[Gate], gate_level: float) -> list[GateFigure]:
    """Read what the gate said last; nothing where it has said nothing yet."""
    return measured(gates[-1], gate_level) if gates else []


def strength(value: float) -> str:
    """Say in a word how strong an agreement is, after Landis and Koch."""
    return next((name for bound, name in _STRENGTHS if value <= bound), "high")


def beside(a: Annotation, batch: Batch, person: Person, language: str) -> list[dict[str, Any]]:
    """Set a person's last labels in a closed batch beside the gold, a record a criterion; only items that they labelled.

    `compared` holds a row an item, whose state is `same`, `differs`, or `open` where the gold has no value; `same`, `open`
    and `of` count those that are the same, are open, and have both values.

    Args:
        a: the project.
        batch: a closed one.
        person: whose labels.
        language: of the page.
    """
    closed = read(a, batch)
    labels = last(closed.labels)
    criteria = {criterion.name: criterion for criterion in a.rubric(batch.rubric).criteria}
    numbers = {item.id: number for number, item in enumerate(closed.items, 1)}
    by_criterion: dict[str, list[dict[str, Any]]] = {}
    for value in closed.gold:
        label = labels.get((value.item, person.id, value.criterion))
        if label is None:
            continue
        if value.answered in (None, Answered.CANNOT_TELL):
            state = "open"
        else:
            state = "same" if label.given == value.given else "differs"
        criterion = criteria[value.criterion]
        yours, gold = said(criterion, label, language), _gold(criterion, value, language)
        row = {"number": numbers[value.item], "yours": yours, "gold": gold, "state": state}
        by_criterion.setdefault(value.criterion, []).append(row)
    compared = []
    for name, rows in by_criterion.items():
        states = [row["state"] for row in rows]
        counts = {"same": states.count("same"), "open": states.count("open"), "of": len(rows) - states.count("open")}
        compared.append({"criterion": name, "compared": rows, **counts})
    return compared


def trained(a: Annotation, person: Person) -> tuple[int, int]:
    """Return in how many answers of the training a person chose the anchor's level, and how many they gave."""
    labels = [label for label in a.labels(batch=0) if label.person == person.id]
    number = next((batch.rubric for batch in a.batches() if batch.number == 0), None)
    figures = with_anchors(labels, a.items(0), a.rubric(number), resamples=1) if labels else []  # no interval is shown
    return sum(round(figure.right * figure.n) for figure in figures), sum(figure.n for figure in figures)


def _gold(criterion: Criterion, value: Gold, language: str) -> str:
    if value.answered is None:
        return words(language)["standing"]["tie" if value.votes else "no_label"]
    if value.answered is Answered.OK:
        return called(criterion, value.value, language)
    return words(language)["item"][value.answered]


def feedback(a: Annotation, rubric: Rubric, item: Item, person: Person, language: str) -> dict[str, Any] | None:
    """Compare a person's training labels with the authored levels; None where they have not answered this item.

    `lines` holds a criterion each; `same` and `of` say how often person and authors agreed so far.

    Args:
        a: the project.
        rubric: as far as it is about the item.
        item: of the training round.
        person: who labelled it.
        language: of the interface.
    """
    labels = {key: label for key, label in last(a.labels(batch=0), Phase.TRAINING).items() if key[1] == person.id}
    own = {criterion: label for (ident, _, criterion), label in labels.items() if ident == item.id}
    if not own:
        return None
    lines = [_line(c, item, own[c.name], language) for c in rubric.criteria if c.name in own]
    items = {other.id: other for other in a.items(0)}
    verdicts = [_same(items[ident].expected, label) for (ident, _, _), label in labels.items()]
    levelled = [verdict for verdict in verdicts if verdict is not None]
    return {"lines": lines, "same": sum(levelled), "of": len(levelled)}


def _same(expected: dict[str, Value | None], label: Label) -> bool | None:
    if label.criterion not in expected:
        return None
    authored = expected[label.criterion]
    return label.given == (Answered.NOT_APPLICABLE.value if authored is None else authored)


def _line(criterion: Criterion, item: Item, label: Label, language: str) -> dict[str, Any]:
    """Set the authored level beside the person's answer; `same` is None where no level was set."""
    same = _same(item.expected, label)
    authored = item.expected.get(criterion.name)
    name = ""
    if same is not None:
        name = (
            words(language)["training"]["not_applicable"] if authored is None else called(criterion, authored, language)
        )
    return {
        "name": criterion.name.replace("_", " "),
        "same": same,
        "authored": name,
        "authored_meaning": Worded("", "") if same is None else _anchor_meaning(criterion, authored, language),
        "yours": said(criterion, label, language),
        "yours_meaning": _anchor_meaning(criterion, label.value, language),
    }


def _anchor_meaning(criterion: Criterion, value: Value | None, language: str) -> Worded:
    if value is None:
        return worded(criterion.not_applicable, language)
    return next((worded(level.text, language) for level in criterion.levels if level.value == value), Worded("", ""))
