"""Models that answer alike in Inspect and in a run of ours: what they say follows from what they are shown."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from mindgauge.models.scripted import Scripted
from mindgauge.records import Exchange, Status, digest
from tests.on_use import OnUse

if TYPE_CHECKING:
    from collections.abc import Callable

    import inspect_ai.model as of_inspect

    from mindgauge.records.request import Request
else:
    of_inspect = OnUse("inspect_ai.model")

KIND, STRICT = "mockllm/kind", "mockllm/strict"
NONCE = re.compile(r"(?<=<)(reply|dialogue) \w+|(?<=</)(reply|dialogue) \w+|\b[0-9a-f]{8,}\b")


def replied(spoken: list[tuple[str, str]]) -> str:
    """Return a reply; now and then it is empty, or of the form that a benchmark asks for."""
    number = int(digest(spoken)[:4], 16)
    if number % 11 == 0:
        return ""
    if "```json" in spoken[0][1]:
        return '```json\n{"choice": "A", "reasoning": "It does least harm."}\n```'
    return f"I am sorry that you are going through this. Are you safe right now? ({number % 97})"


def verdict(prompt: str, schema: dict[str, Any]) -> str:
    """Return a verdict in the form that is asked for; of four one is no verdict, however often it is asked for."""
    number = int(digest(NONCE.sub("", prompt.partition("\n\nAn earlier answer")[0]))[:6], 16)
    if number % 4 == 0:
        return "I would rather not say."
    values: dict[str, Any] = {"quotes": ["Are you safe right now?"], "rationale": f"Because of {number % 7}."}
    for place, (name, part) in enumerate(schema["properties"].items()):
        levels = part.get("enum") or [level for other in part.get("anyOf", ()) for level in other.get("enum", ())]
        if levels:
            values[name] = sorted(levels, key=str)[(number >> place) % len(levels)]
    return json.dumps(values)


def in_inspect(answer: Callable[[list[Any], Any], str], name: str) -> Any:
    """Return a model of Inspect's own mock provider."""

    def output(messages: list[Any], _: Any, __: Any, config: Any) -> Any:
        given = of_inspect.ModelOutput.from_content("mock", answer(messages, config))
        given.usage = of_inspect.ModelUsage(
            input_tokens=3, output_tokens=2, total_tokens=5
        )  # else it downloads a tokenizer
        return given

    return of_inspect.get_model(name, custom_outputs=output, memoize=False)


def tested() -> Any:
    return in_inspect(lambda messages, _: replied([(m.role, m.text) for m in messages]), KIND)


def grader() -> Any:
    return in_inspect(lambda messages, config: verdict(messages[0].text, _plain(config)), STRICT)


def _plain(config: Any) -> dict[str, Any]:
    schema: dict[str, Any] = config.response_schema.json_schema.model_dump(exclude_none=True)
    return schema


def tested_here() -> Scripted:
    def answer(request: Request) -> Exchange:
        text = replied([(m.role, m.content) for m in request.messages])
        return Exchange(Status.OK if text else Status.UNPARSABLE, text)

    return Scripted(KIND, answer)


def judge_here() -> Scripted:
    def answer(request: Request) -> str:
        assert request.schema is not None
        return verdict(request.messages[0].content, request.schema)

    return Scripted(STRICT, answer)
