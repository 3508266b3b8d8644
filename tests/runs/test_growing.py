"""A run grows in every direction and in any order, killed in between: nothing is paid twice, and it ends as one command would."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mindgauge
from mindgauge.analysis.score import Scores
from mindgauge.models.scripted import Scripted
from mindgauge.models.settings import Settings
from mindgauge.records.errors import EndpointError, UsageError
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records.request import Request

OPEN, CLOSED, OTHER = "help_or_harm/response", "help_or_harm/crisis_type", "psycrisis"
ONE_BY_ONE = Settings(concurrency=1)


class Caller:
    """A stub behind all models of a test: it counts calls, and breaks after some."""

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self.breaks_after: int | None = None

    def model(self, name: str) -> Scripted:
        def answer(request: Request) -> str:
            if self.breaks_after is not None:
                if self.breaks_after == 0:
                    raise EndpointError(f"{name} is gone")
                self.breaks_after -= 1
            self.keys.append(request.key(name))
            if request.schema is None:
                return f"I hear you, says {name} ({request.key(name).hex()[:6]})."
            verdict: dict[str, Any] = {"quotes": [], "rationale": "r"}
            for criterion, described in request.schema["properties"].items():
                if "enum" in described:
                    place = request.key(name)[0] % len(described["enum"])
                    verdict[criterion] = described["enum"][place]
            return json.dumps(verdict)

        return Scripted(name, answer)


Step = dict[str, Any]
steps = st.fixed_dictionaries({
    "names": st.sampled_from([(OPEN,), (OPEN, CLOSED)]),
    "limit": st.integers(1, 3),
    "runs": st.integers(1, 2),
    "judge_runs": st.integers(1, 2),
    "models": st.sampled_from([("bot-a",), ("bot-b",), ("bot-a", "bot-b")]),
    "judges": st.sampled_from([(), ("claude-x",), ("grok-x",), ("claude-x", "grok-x")]),
    "method": st.sampled_from([("rule",), ("rule", "chain")]),
    "breaks_after": st.none() | st.integers(0, 6),
})  # fmt: skip


def hull(commands: list[Step]) -> Step:
    """Return the one command for all that the commands ask for."""

    def names(key: str) -> tuple[str, ...]:
        return tuple(sorted({name for command in commands for name in command[key]}, reverse=key == "names"))

    most = {key: max(command[key] for command in commands) for key in ("limit", "runs", "judge_runs")}
    together = {key: names(key) for key in ("names", "models", "judges", "method")}
    return {**most, **together, "breaks_after": None}


def run(caller: Caller, out: Path, command: Step, **more: Any) -> Scores | None:
    caller.breaks_after = command["breaks_after"]
    try:
        scores = mindgauge.run(
            command["names"], model=[caller.model(name) for name in command["models"]],
            judge=[caller.model(name) for name in command["judges"]], limit=command["limit"], runs=command["runs"],
            judge_runs=command["judge_runs"], method=command["method"], out=out, settings=ONE_BY_ONE, **more,
        )  # fmt: skip
    except EndpointError:
        assert command["breaks_after"] is not None
        return None
    assert isinstance(scores, Scores)
    return scores


def comparable(scores: Scores) -> list[tuple[object, ...]]:
    return sorted((m.benchmark, m.name, m.criterion, m.slice, m.model, m.rater, m.value, m.low, m.high, m.n, m.missing) for m in scores.metrics if m.value is not None)  # fmt: skip


@settings(max_examples=12)
@given(commands=st.lists(steps, min_size=1, max_size=4))
def test_calls_and_numbers_are_those_of_one_command_for_all(
    commands: list[Step], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("grown")
    grown, at_once = Caller(), Caller()
    union = hull(commands)
    for command in commands:
        run(grown, folder / "grown", command)
        assert set(grown.keys) == set(dict.fromkeys(grown.keys)) and len(grown.keys) == len(set(grown.keys))
    last = run(grown, folder / "grown", union)
    whole = run(at_once, folder / "whole", union)
    assert last is not None and whole is not None
    assert len(grown.keys) == len(set(grown.keys)), "nothing is paid twice"
    assert sorted(grown.keys) == sorted(at_once.keys), "the calls of the union, and no others"
    assert comparable(last) == comparable(whole)
    plans = [manifest.read(folder / name)["plan"] for name in ("grown", "whole")]
    assert [{**plan, **{k: sorted(plan[k]) for k in ("benchmarks", "instruments", "samples", "models", "judges")}, "methods": sorted(plan.get("methods", ["rule"]))} for plan in plans[:1]] == [{**plan, **{k: sorted(plan[k]) for k in ("benchmarks", "instruments", "samples", "models", "judges")}, "methods": sorted(plan.get("methods", ["rule"]))} for plan in plans[1:]]  # fmt: skip
    asked = len(grown.keys)
    for command in commands:
        run(grown, folder / "grown", {**command, "breaks_after": None})
    assert len(grown.keys) == asked, "fewer than the run has: nothing is asked"
    assert manifest.read(folder / "grown")["plan"] == plans[0], "and nothing is lost"
