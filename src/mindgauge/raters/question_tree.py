"""A rubric that is a tree of questions: each answer says which question comes next, and may settle a criterion.

It is put to a judge one question a call, or all of it in one call; either way the walk is ours, by the tree's own words: a
criterion on which an answer gives a level has that level, one whose questions were passed without one has its best level, and
one that the walk never came to, or that an answer sets aside, does not apply.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.raters.part import JudgeCall, ParsedVerdicts
from mindgauge.raters.verdict import NO, YES, Verdict
from mindgauge.records import Status, Value, digest
from mindgauge.records.rubric import Criterion, Level, Method, Rubric, Scale

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.raters.part import Put

ANSWER_TOKENS, REASON_TOKENS = 16, 240
"""Room in tokens for the answer to one question, and for quotes and the reason, where all are answered in one call."""
_ALIASES = {YES: ("是",), NO: ("否",)}
_NOT_REACHED = {
    "en": "the way through the questions does not come to this one",
    "zh": "按答题的走向，走不到这一题",
}
_WORDS = {
    "en": {
        "then": "then {}",
        "end": "then nothing more",
        "first": "Begin with {}. After each answer go on as it says.",
    },
    "zh": {"then": "接着答 {}", "end": "到此为止", "first": "从 {} 开始；每答一题，照答案后面写的往下走。"},
}


class Option(msgspec.Struct, frozen=True):
    """One answer to a question: what comes next, and what it settles."""

    answer: str
    to: str = ""
    """The id of the next question; empty where the walk ends."""
    level: Value | None = None
    """The level that it gives the question's criterion; None where it gives none."""
    excludes: tuple[str, ...] = ()
    """Criteria that do not apply after it, whatever came before."""


class Question(msgspec.Struct, frozen=True):
    """A question on one criterion, with its answers; one with a single answer is asked of nobody."""

    id: str
    criterion: str
    text: str
    options: tuple[Option, ...]

    @property
    def key(self) -> str:
        """Its name in a verdict."""
        return f"q{self.id}"

    def criterion_of(self, *, skippable: bool) -> Criterion:
        """Return it as what a judge answers; `skippable`, where it may say that the walk does not come to it."""
        levels = tuple(Level(o.answer, aliases=_ALIASES.get(o.answer.casefold(), ())) for o in self.options)
        return Criterion(self.key, Scale.NOMINAL, levels, not_applicable=_NOT_REACHED if skippable else {})


class TreeFault(msgspec.Struct, frozen=True):
    """What keeps a tree from being walked, and at which question."""

    question: str
    problem: str


class QuestionTree(msgspec.Struct, frozen=True, dict=True):
    """Questions in the order of their file; the walk begins with the first."""

    questions: tuple[Question, ...]

    @cached_property
    def by_id(self) -> dict[str, Question]:
        """The questions by their ids."""
        return {question.id: question for question in self.questions}

    @cached_property
    def hash(self) -> str:
        """Hash over every word and every way of it."""
        return digest("tree", self.questions)

    @property
    def criteria(self) -> tuple[str, ...]:
        """The criteria that it has questions on, in their order."""
        return tuple(dict.fromkeys(question.criterion for question in self.questions))

    def faults(self) -> Iterator[TreeFault]:
        """Say where it cannot be walked: an id or answer twice, a way to no question, one that comes back, nothing to ask."""
        ids: set[str] = set()
        for question in self.questions:
            if question.id in ids:
                yield TreeFault(question.id, f"question {question.id!r} occurs twice")
            ids.add(question.id)
            answers = [option.answer.casefold() for option in question.options]
            if twice := next((a for n, a in enumerate(answers) if a in answers[:n]), ""):
                yield TreeFault(question.id, f"question {question.id!r} has the answer {twice!r} twice")
            for option in question.options:
                if option.to and option.to not in self.by_id:
                    yield TreeFault(
                        question.id,
                        f"expected the id of a question after {option.answer!r}, found {option.to!r}, and there is none",
                    )
        if len(ids) == len(self.questions) and (cycle := self._cycle()):
            yield TreeFault(cycle[0], f"expected a way that ends, found one that comes back: {' → '.join(cycle)}")
        elif not self.asked:
            yield TreeFault(self.questions[0].id, "expected a question with two answers, found none to ask")

    def _cycle(self) -> tuple[str, ...]:
        """Return a way that comes back to where it began; empty if there is none."""
        closed: set[str] = set()
        for start in self.by_id:
            way: list[tuple[str, Iterator[str]]] = [(start, self._next(start))]
            while way:
                following = next(way[-1][1], None)
                if following is None:
                    closed.add(way.pop()[0])
                    continue
                stands = [ident for ident, _ in way]
                if following in stands:
                    return (*stands[stands.index(following) :], following)
                if following not in closed and following in self.by_id:
                    way.append((following, self._next(following)))
        return ()

    def _next(self, ident: str) -> Iterator[str]:
        return iter([option.to for option in self.by_id[ident].options if option.to])

    def reached(self, start: str) -> frozenset[str]:
        """Return the ids of the questions to which a walk may come from one, itself among them."""
        waiting, reached = [start], {start}
        while waiting:
            following = [ident for ident in self._next(waiting.pop()) if ident in self.by_id and ident not in reached]
            reached.update(following)
            waiting += following
        return frozenset(reached)

    @property
    def unreachable(self) -> tuple[str, ...]:
        """The ids of the questions to which no walk comes."""
        reached = self.reached(self.questions[0].id)
        return tuple(question.id for question in self.questions if question.id not in reached)

    def open_from(self, ident: str) -> frozenset[str]:
        """Return the criteria of which a walk that stands at a question may still say something."""
        questions = [self.by_id[name] for name in self.reached(ident)]
        return frozenset(
            {question.criterion for question in questions}
            | {name for question in questions for option in question.options for name in option.excludes}
        )

    @property
    def asked(self) -> tuple[Question, ...]:
        """The questions to which somebody has to find the answer."""
        reached = self.reached(self.questions[0].id)
        return tuple(q for q in self.questions if q.id in reached and len(q.options) > 1)

    def first_asked(self, ident: str) -> str:
        """Return the key of the question that is asked next from one on: a single answer leads on by itself; empty where none is."""
        while ident and len(self.by_id[ident].options) == 1:
            ident = self.by_id[ident].options[0].to
        return self.by_id[ident].key if ident else ""


class TreeQuestion(JudgeCall, frozen=True, dict=True, kw_only=True):
    """One question in a call of its own."""

    question: Question

    @classmethod
    def of(cls, rubric: Rubric, question: Question) -> TreeQuestion:
        """Build the call that asks a question."""
        return cls(rubric.only(question.criterion_of(skippable=False)), question=question)

    def _texts(self, language: str) -> dict[str, str]:  # noqa: ARG002 - a tree has one language
        answers = [f"- {option.answer}" for option in self.question.options]
        return {"rubric": "\n".join([f"## {self.question.key}", "", self.question.text, "", *answers]), "order": ""}


class TreeInOneCall(JudgeCall, frozen=True, dict=True, kw_only=True):
    """All questions in one call: a judge is shown after each answer where to go on, and says which questions it passed by."""

    tree: QuestionTree

    @classmethod
    def of(cls, rubric: Rubric, tree: QuestionTree) -> TreeInOneCall:
        """Build the call that asks them all."""
        questions = tuple(question.criterion_of(skippable=True) for question in tree.asked)
        return cls(msgspec.structs.replace(rubric, criteria=questions), tree=tree)

    @property
    def token_limit(self) -> int:
        """The longest answer."""
        return REASON_TOKENS + ANSWER_TOKENS * len(self.rubric.criteria)

    def _texts(self, language: str) -> dict[str, str]:
        words = _WORDS.get(language, _WORDS["en"])
        texts = [words["first"].format(self.tree.first_asked(self.tree.questions[0].id))]
        for question in self.tree.asked:
            answers = [f"- {option.answer}: {self._way(option.to, words)}" for option in question.options]
            skipped = f"- {Status.NOT_APPLICABLE}: {_NOT_REACHED.get(language, _NOT_REACHED['en'])}"
            texts.append("\n".join([f"## {question.key}", "", question.text, "", *answers, skipped]))
        return {"rubric": "\n\n".join(texts), "order": ""}

    def _way(self, to: str, words: dict[str, str]) -> str:
        key = self.tree.first_asked(to)
        return words["then"].format(key) if key else words["end"]


class TreeWalk(JudgeCall, frozen=True, dict=True, kw_only=True):
    """Criteria that are rated by walking a tree; `at_once` where all its questions are asked in one call."""

    tree: QuestionTree
    at_once: bool = False

    @classmethod
    def of(cls, rubric: Rubric, tree: QuestionTree, method: Method, *, at_once: bool) -> TreeWalk:
        """Build what rates the criteria of a rubric by a tree."""
        return cls(rubric, method, tree=tree, at_once=at_once)

    @cached_property
    def token_limit(self) -> int:
        """The longest answer to one of its calls."""
        return max(call.token_limit for call in self.calls)

    @cached_property
    def calls(self) -> tuple[JudgeCall, ...]:
        """Its questions, one a call; or the one call with all of them."""
        if self.at_once:
            return (TreeInOneCall.of(self.rubric, self.tree),)
        return tuple(TreeQuestion.of(self.rubric, question) for question in self.tree.asked)

    def calls_to(self, target: Value | None) -> int:  # noqa: ARG002 - a target says nothing of the way to it
        """Return how many calls it takes at most."""
        return len(self.calls)

    async def answer(self, ask: Put) -> ParsedVerdicts:
        """Walk from the first question; one without a readable answer ends the walk with that answer's status.

        What the rest of the walk could not have changed stays; every other criterion has that status. Each rationale names
        the questions asked on its criterion and their answers; `path` has all, with each answer's own rationale and call.
        """
        walk = _Walk(self.tree)
        calls = (
            {} if self.at_once else {call.question.id: call for call in self.calls if isinstance(call, TreeQuestion)}
        )
        together = await ask(self.calls[0]) if self.at_once else None
        while walk.at:
            question = self.tree.by_id[walk.at]
            if len(question.options) == 1:
                walk.goes_on(question, question.options[0], Verdict(Status.OK), "")
                continue
            parsed = together or await ask(calls[question.id])
            walk.course = parsed.course
            judged = _answered(parsed.verdicts[question.key], question)
            chosen = next((option for option in question.options if option.answer == judged.value), None)
            if chosen is None:
                walk.breaks_off(question, judged, parsed.course.get("call", ""))
                break
            walk.goes_on(question, chosen, judged, parsed.course.get("call", ""))
        verdicts = {criterion.name: walk.verdict(criterion) for criterion in self.rubric.criteria}
        return ParsedVerdicts(verdicts, {**walk.course, "path": walk.path})


def _answered(judged: Verdict, question: Question) -> Verdict:
    """Return what was read of the answer to a question to which the walk has come."""
    if judged.status is not Status.NOT_APPLICABLE:
        return judged
    problem = f"it passes {question.key} by, to which its own answers lead"
    return msgspec.structs.replace(judged, status=Status.UNPARSABLE, problem=problem)


class _Walk:
    """A walk through a tree: where it stands, what it settled, and how."""

    def __init__(self, tree: QuestionTree) -> None:
        """Begin at the first question."""
        self.tree = tree
        self.at = tree.questions[0].id
        self.path: list[dict[str, Any]] = []
        self.course: dict[str, Any] = {}
        self._levels: dict[str, list[tuple[Value, tuple[str, ...]]]] = {}
        self._quotes: dict[str, tuple[str, ...]] = {}
        self._excluded: set[str] = set()
        self._passed: dict[str, list[str]] = {}
        self._open: frozenset[str] = frozenset()
        self._broken: Verdict | None = None

    def _note(self, question: Question, answer: str, judged: Verdict, call: str) -> None:
        self._passed.setdefault(question.criterion, []).append(f"{question.id}: {answer}")
        self.path.append(
            {
                "node": len(self.path) + 1,
                "name": question.id,
                "answer": answer,
                "rationale": judged.rationale,
                "call": call,
            }
        )

    def goes_on(self, question: Question, option: Option, judged: Verdict, call: str) -> None:
        """Take an answer: keep what it settles, and go to the next question."""
        self._note(question, option.answer, judged, call)
        if option.level is not None:
            self._levels.setdefault(question.criterion, []).append((option.level, judged.quotes))
        self._quotes[question.criterion] = judged.quotes
        self._excluded.update(option.excludes)
        self.at = option.to

    def breaks_off(self, question: Question, judged: Verdict, call: str) -> None:
        """End where there is no readable answer."""
        self._note(question, judged.status.value, judged, call)
        problem = f"question {question.id}: {judged.problem}" if judged.problem else ""
        self._broken = msgspec.structs.replace(judged, value=None, problem=problem)
        self._open = self.tree.open_from(question.id)

    def verdict(self, criterion: Criterion) -> Verdict:
        """Return what the walk says of a criterion."""
        name = criterion.name
        rationale = "; ".join(self._passed.get(name, ()))
        if self._broken is not None and name in self._open:
            return msgspec.structs.replace(self._broken, rationale=rationale, quotes=())
        if name in self._excluded or name not in self._passed:
            return Verdict(Status.NOT_APPLICABLE, rationale=rationale)
        best = (criterion.worst_first[-1], self._quotes[name])
        level, quotes = min(self._levels.get(name, [best]), key=lambda pair: criterion.places[str(pair[0])])
        return Verdict(Status.OK, level, rationale, quotes)
