"""How replies come about: a message is answered once, or a dialogue is held with a person of the benchmark's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import inspect_ai.model as of_inspect
import msgspec
from inspect_ai.solver import solver
from inspect_ai.util import LimitExceededError

from mindgauge.commands.inspect import model as adapter
from mindgauge.commands.inspect.instrument import TaskMaterial, TaskOptions
from mindgauge.commands.inspect.model import InspectModel
from mindgauge.records import Exchange, Message, Reply, Status
from mindgauge.runs.conversation_steps import ConversationStep

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mindgauge.records.errors import MindgaugeError
    from mindgauge.records.request import Model, Request
    from mindgauge.runs.session import Session

REPLIES = "mindgauge:replies"
"""Where the state of a sample holds the turns of a dialogue."""


def _judged_by_another(own_family: bool = False) -> Any:
    """See, before anything is asked, that there is a judge, and that it is of another family than the model under test."""

    async def solve(state: Any, _: Any) -> Any:
        adapter.grader(str(state.model), own_family=own_family)
        return state

    return solve


def _reply() -> Any:
    """Let the model answer; a call that fails for good is a reply that never came, and counts as one."""

    async def solve(state: Any, generate: Any) -> Any:
        try:
            return await generate(state)
        except LimitExceededError:
            raise
        except Exception as error:  # noqa: BLE001 - each provider has errors of its own
            state.output = _output(str(state.model), adapter.failed(error))
            return state

    return solve


def _output(model: str, exchange: Exchange) -> Any:
    """Return an exchange as Inspect has it, where that has none itself."""
    if exchange.status is Status.FILTERED:
        return of_inspect.ModelOutput.from_content(model, exchange.text, stop_reason="content_filter")
    return of_inspect.ModelOutput(model=model, choices=[], error=exchange.error)


def _converse(
    benchmark: str,
    language: str = "",
    data: str = "",
    turns: int = 0,
    person: str = "",
    clients: list[str] | None = None,
) -> Any:
    """Let the model talk with a person of the benchmark's, turn by turn, as `mindgauge run` does."""
    options = TaskOptions(
        benchmark=benchmark, language=language, data=data, turns=turns, person=person, clients=tuple(clients or ())
    )
    material = TaskMaterial(options)

    async def solve(state: Any, _: Any) -> Any:
        tested = InspectModel(of_inspect.get_model())
        players: list[Model] = [player for role in roles() if (player := adapter.in_role(role)) is not None]
        plan = material.benchmark.dialogues
        assert plan is not None, "only dialogues are held so"
        step = ConversationStep(benchmark=material.benchmark, model=tested, dialogues=plan, clients=tuple(players))
        dialogue = _Dialogue()
        await step.hold(cast("Session", dialogue), material.dialogues[str(state.sample_id)], state.epoch - 1)
        last = max(
            (r for r in dialogue.replies if r.model == tested.name),
            key=lambda r: int(r.provenance["turn"]),
            default=None,
        )
        if last is not None:
            sample = material.dialogues[str(state.sample_id)].whole
            state.messages = [
                *adapter.messages(last.answered(sample).messages),
                *adapter.messages([Message("assistant", last.text)] if last.text else []),
            ]
            state.output = of_inspect.ModelOutput.from_content(tested.name, last.text)
        state.store.set(REPLIES, msgspec.to_builtins(dialogue.replies))
        return state

    return solve


def roles() -> tuple[str, ...]:
    """Return the roles of models that play persons: a score takes two, of different families."""
    return (adapter.CLIENT, f"{adapter.CLIENT}2", f"{adapter.CLIENT}3")


class _Dialogue:
    """Keeps the turns of one dialogue as a `Session` does; what it costs, and what was asked before, is Inspect's to know."""

    stop: MindgaugeError | None = None

    def __init__(self) -> None:
        self.replies: list[Reply] = []

    @property
    def store(self) -> _Dialogue:
        """See `Session`."""
        return self

    def add_reply(self, _: str, reply: Reply) -> None:
        """Keep a reply."""
        self.replies.append(reply)

    def add_call(self, *_: object, **__: object) -> None:
        """Keep nothing: Inspect's log has the call."""

    async def call(
        self, model: Model, request: Request, ask: Callable[[Request], Awaitable[Exchange]] | None = None
    ) -> Exchange:
        """Make a call."""
        return await (ask or model.ask)(request)

    def asker(self, model: Model, _: str, *, kept_as: object = None) -> Callable[[Request], Awaitable[Exchange]]:  # noqa: ARG002 - nothing is kept
        """Return the way to a model."""
        return model.ask

    async def committed(self) -> None:
        """Do nothing: what a sample leaves is kept by Inspect."""


judged_by_another = solver(name="judged_by_another")(_judged_by_another)
reply = solver(name="reply")(_reply)
converse = solver(name="converse")(_converse)
