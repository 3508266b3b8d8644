"""What is put to a model about one subject: criteria in one call, or one question after another.

A rubric's nodes can be asked in turn (`DecisionTree`): the first yes decides, and the path to it is kept as the reason.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from mindgauge.raters import verdict
from mindgauge.raters.verdict import NO, YES
from mindgauge.records import Status, Value
from mindgauge.records.rubric import Criterion, Level, Method, Node, Rubric, Scale, in_language

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mindgauge.records.prompt import Prompt

    Put: TypeAlias = "Callable[[JudgeCall], Awaitable[ParsedVerdicts]]"
    """Puts one call's part to the model and reads the answer."""

ANSWER, NONE = "answer", "none"


def worded(prompts: dict[str, Prompt], language: str) -> Prompt:
    """Pick the prompt for a language; English, or else the first there is, where that language is missing."""
    return prompts.get(language) or prompts.get("en") or next(iter(prompts.values()))


class ParsedVerdicts(NamedTuple):
    """What was read of each criterion, and what is known of how it came about."""

    verdicts: dict[str, verdict.Verdict]
    course: dict[str, Any]


class JudgeCall(msgspec.Struct, frozen=True, dict=True):
    """The criteria of one call, the JSON schema of its verdict, and their texts, written once."""

    rubric: Rubric
    method: Method = Method.RULE

    @property
    def of_reasoning(self) -> bool:
        """Whether it is about the model's reasoning; no call is about both that and the reply."""
        return self.rubric.criteria[0].of_reasoning

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The verdict's JSON schema."""
        return verdict.schema_for(self.rubric.criteria, self.method)

    @cached_property
    def form(self) -> str:
        """The verdict's form."""
        return verdict.form_for(self.rubric.criteria, self.method)

    @cached_property
    def _slots(self) -> dict[str, dict[str, str]]:
        return {}

    def slots(self, language: str) -> dict[str, str]:
        """Return what a prompt says of this part, by slot."""
        if language not in self._slots:
            self._slots[language] = {**self._texts(language), "form": self.form}
        return self._slots[language]

    def _texts(self, language: str) -> dict[str, str]:
        return {"rubric": self.rubric.render(language, self.method), "order": self.rubric.order()}

    @property
    def calls(self) -> tuple[JudgeCall, ...]:
        """The calls that it may take, in their order."""
        return (self,)

    @property
    def token_limit(self) -> int:
        """The longest answer; 0 where the model's usual room will do."""
        return self.method.token_limit * len(self.rubric.criteria)

    def calls_to(self, target: Value | None) -> int:  # noqa: ARG002 - one call, whatever the answer
        """Return how many calls it takes where every answer is right, or where none is known, at most."""
        return 1

    async def answer(self, ask: Put) -> ParsedVerdicts:
        """Get a verdict on every criterion."""
        return await ask(self)


class TreeNode(JudgeCall, frozen=True, dict=True, kw_only=True):
    """One node as a question: yes or no where it has one level, otherwise which one, if any."""

    criterion: Criterion
    node: Node

    @classmethod
    def of(cls, rubric: Rubric, criterion: Criterion, node: Node) -> TreeNode:
        """Build the question that a node asks. A level's own name is understood as yes."""
        levels: tuple[Level, ...]
        if len(node.levels) == 1:
            levels = (Level(YES, aliases=("是", str(node.levels[0]))), Level(NO, aliases=("否",)))
        else:
            levels = (*_levels(criterion, node), *([Level(NONE)] if node.otherwise is None else []))
        question = Criterion(ANSWER, Scale.NOMINAL, levels)
        return cls(rubric.only(question), criterion=criterion, node=node)

    def decides(self, answer: Value) -> Value | None:
        """Return the level that an answer means; None where the next node has to be asked."""
        if len(self.node.levels) == 1:
            return self.node.levels[0] if answer == YES else self.node.otherwise
        return None if self.node.otherwise is None and answer == NONE else answer

    @property
    def name(self) -> str:
        """The levels that it can decide."""
        return " / ".join(map(str, self.node.levels))

    def _texts(self, language: str) -> dict[str, str]:
        meanings = [f"- {v.value}: {in_language(v.text, language)}" for v in _levels(self.criterion, self.node)]
        return {"question": "\n".join([in_language(self.node.question, language), "", *meanings])}


def _levels(criterion: Criterion, node: Node) -> tuple[Level, ...]:
    """Return the levels that a node speaks of, in its order."""
    names = node.levels if len(node.levels) == 1 or node.otherwise is None else (*node.levels, node.otherwise)
    return tuple(level for name in names for level in criterion.levels if level.value == name)


class DecisionTree(JudgeCall, frozen=True, dict=True):
    """A criterion that is decided node by node, each in a call of its own, up to the first yes."""

    @cached_property
    def calls(self) -> tuple[TreeNode, ...]:
        """Its nodes as questions."""
        (criterion,) = self.rubric.criteria
        return tuple(TreeNode.of(self.rubric, criterion, node) for node in criterion.nodes)

    def calls_to(self, target: Value | None) -> int:
        """Return how many nodes are asked until the target is decided; all of them where there is no target."""
        return next((n for n, step in enumerate(self.calls, 1) if target in step.node.levels), len(self.calls))

    async def answer(self, ask: Put) -> ParsedVerdicts:
        """Ask node after node; one without a readable answer ends it with that answer's status.

        The rationale names every node asked and its answer; `path` also has each answer's own rationale and call.
        """
        (criterion,) = self.rubric.criteria
        path: list[dict[str, Any]] = []
        for number, step in enumerate(self.calls, 1):
            verdicts, course = await ask(step)
            judged = verdicts[ANSWER]
            given_answer = judged.status.value if judged.value is None else judged.value
            path.append(
                {
                    "node": number,
                    "name": step.name,
                    "answer": given_answer,
                    "rationale": judged.rationale,
                    "call": course["call"],
                }
            )
            decided = None if judged.value is None else step.decides(judged.value)
            if judged.status is not Status.OK or decided is not None:
                break
        rationale = "; ".join(f"{node['node']} {node['name']}: {node['answer']}" for node in path)
        problem = f"node {number}: {judged.problem}" if judged.problem else ""
        result = verdict.Verdict(judged.status, decided, rationale, judged.quotes, problem)
        return ParsedVerdicts({criterion.name: result}, {**course, "path": path})
