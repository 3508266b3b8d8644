"""Models of Inspect's as ours, and how replies come about: a message is answered once.

Our requests go to Inspect's models, and what they put out becomes an exchange with a status by our rules.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any, Self

import inspect_ai.model as of_inspect
from inspect_ai._util.error import PrerequisiteError  # what its command line prints in a line; it has no public name
from inspect_ai.solver import solver
from inspect_ai.util import JSONSchema, LimitExceededError

from mindgauge.models import completion
from mindgauge.models.completion import Completion
from mindgauge.models.family import same_maker, same_model
from mindgauge.records import Exchange, Message, Status, Usage
from mindgauge.records.errors import MindgaugeError
from mindgauge.records.request import BARE, UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mindgauge.records.request import Price, Request, Setup

GRADER = "grader"
"""The role of the model that judges replies."""
_NOBODY = "none/none"
_REFUSED = frozenset((401, 403, 404))
"""Answers of a server that no later call changes: our key is refused, or there is no such model."""
_REASONS = {"max_tokens": "length", "model_length": "length", "unknown": ""}
"""Why an answer ended, as Inspect says it → as servers do."""
TOKENS = 4096
"""The longest answer asked for, where nobody says otherwise; that of all our models."""


class InspectModel:
    """A model that Inspect calls, with Inspect's retries, limits, cache and log."""

    own_machine = False
    context: int | None = None
    price: Price | None = None
    setup: Setup = BARE
    at_once: int | None = None
    host = ""
    max_tokens = TOKENS

    def __init__(self, model: Any) -> None:
        """Take a model; nothing is sent.

        Args:
            model: an `inspect_ai.model.Model`.
        """
        self._model = model
        self.name = str(model)

    async def ask(self, request: Request) -> Exchange:
        """Answer one request; see `mindgauge.records.request.Model.ask`. What the user set for the model himself holds."""
        wanted: dict[str, Any] = {"max_tokens": self.max_tokens, **request.parameters}
        wanted = {
            name: value
            for name, value in wanted.items()
            if getattr(self._model.config, name, None) is None and (name, value) != ("max_tokens", UNLIMITED)
        }
        if request.schema is not None:
            wanted["response_schema"] = of_inspect.ResponseSchema(
                name="verdict", json_schema=_schema(request.schema), strict=True
            )
        began = time.perf_counter()
        try:
            output = await self._model.generate(messages(request.messages), config=of_inspect.GenerateConfig(**wanted))
        except LimitExceededError:
            raise
        except Exception as error:  # noqa: BLE001 - each provider has errors of its own, and any is a call that failed
            return failed(error, time.perf_counter() - began)
        return exchange(output, time.perf_counter() - began)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return


def _schema(schema: dict[str, Any]) -> Any:
    """Return a schema as Inspect has it; some versions know of one type alone, and several are then alternatives."""
    bare = completion.without_lengths(schema)
    try:
        return JSONSchema.model_validate(bare)
    except ValueError:
        return JSONSchema.model_validate(_alternatives(bare))


def _alternatives(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    types = schema.get("type")
    if not isinstance(types, list):
        return {key: _alternatives(part) for key, part in schema.items()}
    others = {key: part for key, part in schema.items() if key not in {"type", "enum"}}
    values = schema.get("enum", [])
    parts = [{"type": kind, "enum": [v for v in values if isinstance(v, str) == (kind == "string")]} for kind in types]
    return {**others, "anyOf": [part if part["enum"] else {"type": part["type"]} for part in parts]}


def failed(error: Exception, seconds: float = 0.0) -> Exchange:
    """Return what became of a call that Inspect gave up; what no later call can repair is raised as it is."""
    if getattr(error, "status_code", None) in _REFUSED or isinstance(error, PrerequisiteError):
        raise error
    text = completion.one_line(str(error))[:300] or type(error).__name__
    status = Status.FILTERED if completion.blocked(text) else Status.FAILED
    return Exchange(status, seconds=seconds, error=text, at=time.time())


def exchange(output: Any, seconds: float = 0.0) -> Exchange:
    """Return what a model put out, with the status that it has by our rules.

    Args:
        output: an `inspect_ai.model.ModelOutput`.
        seconds: how long it took.
    """
    if not output.choices:
        error = completion.one_line(str(output.error or "an answer without a choice"))[:300]
        return Exchange(Status.FAILED, seconds=seconds, error=error, at=time.time())
    counted = output.usage
    cached = (counted.input_tokens_cache_read or 0) if counted is not None else 0
    usage = Usage(counted.input_tokens + cached, counted.output_tokens, cached) if counted is not None else Usage()
    reason = _REASONS.get(output.stop_reason, output.stop_reason)
    content = output.choices[0].message.content
    thoughts = [part.reasoning for part in content if part.type == "reasoning" and not part.redacted] if isinstance(content, list) else []  # fmt: skip
    reasoning = completion.words("\n\n".join(thoughts))
    answer = Completion(completion.words(output.completion), reason, "", usage, str(output.model), "", reasoning)
    return completion.exchange(answer, None, seconds=seconds)


def messages(dialogue: Iterable[Message]) -> list[Any]:
    """Return messages as Inspect has them."""
    kinds = {
        "system": of_inspect.ChatMessageSystem, "user": of_inspect.ChatMessageUser,
        "assistant": of_inspect.ChatMessageAssistant,
    }  # fmt: skip
    return [kinds[message.role](content=message.content) for message in dialogue]


@contextlib.contextmanager
def in_a_line() -> Iterator[None]:
    """Say what is wrong as Inspect's command line says it: in a line, without a traceback."""
    try:
        yield
    except MindgaugeError as error:
        raise PrerequisiteError(str(error)) from error


def grader(tested: str, *, own_family: bool) -> InspectModel:
    """Return the judge.

    Args:
        tested: the model whose replies it judges.
        own_family: whether it may be of the same family.

    Raises:
        PrerequisiteError: there is none, or it is of the family of the model that it would judge.
    """
    model = InspectModel(of_inspect.get_model(role=GRADER, default=_NOBODY))
    if model.name == _NOBODY:
        raise PrerequisiteError(
            "no judge is named: give the role of the grader to a model, --model-role grader=PROVIDER/NAME"
        )
    if not own_family and (same_maker(model.name, tested) or same_model(model.name, tested)):
        raise PrerequisiteError(
            f"{model.name} would judge replies of its own family, by {tested}, and models favour their own kind; name a grader "
            "of another family, or add -T own_family=true to do it anyway"
        )
    return model


def _judged_by_another(own_family: bool = False) -> Any:
    """See, before anything is asked, that there is a judge, and that it is of another family than the model under test."""

    async def solve(state: Any, _: Any) -> Any:
        grader(str(state.model), own_family=own_family)
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
            state.output = _output(str(state.model), failed(error))
            return state

    return solve


def _output(model: str, exchange: Exchange) -> Any:
    """Return an exchange as Inspect has it, where that has none itself."""
    if exchange.status is Status.FILTERED:
        return of_inspect.ModelOutput.from_content(model, exchange.text, stop_reason="content_filter")
    return of_inspect.ModelOutput(model=model, choices=[], error=exchange.error)


judged_by_another = solver(name="judged_by_another")(_judged_by_another)
reply = solver(name="reply")(_reply)
