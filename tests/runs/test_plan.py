"""A plan is a list of steps: what is foreseen of every benchmark is what is then asked, and nothing is asked twice."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, get_type_hints

import polars as pl
import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.models.scripted import Scripted
from mindgauge.runs.forecast import DryRun
from mindgauge.runs.options import Asking, AskingOptions, Judging, JudgingOptions, RunConfig, RunOptions

if TYPE_CHECKING:
    from mindgauge.records.request import Request

SOURCE = Path(mindgauge.__file__).parent
WIDEST = 12
WIDER = {
    "cli/annotate/new.py: new",
    "cli/judges/compare.py: compare",
    "cli/rate.py: rate",
    "cli/run.py: run",
    "cli/train.py: train",
    "models/chat.py: __init__",
    "commands/annotate/new.py: annotate_new",
    "commands/train.py: train",
}
"""Functions that still take more parameters one by one."""
REPAIR = "An earlier answer could not be read"


class Counted(Scripted):
    """Says something of its own to each question, and keeps what it was asked, repairs aside."""

    def __init__(self, name: str) -> None:
        super().__init__(name, self.say)
        self.asked: list[Request] = []

    def say(self, request: Request) -> str:
        if REPAIR not in request.messages[-1].content:
            self.asked.append(request)
        return f"I am listening, and I take what you say seriously ({request.key(self.name).hex()})."


def names() -> list[str]:
    found = []
    for benchmark in map(benchmarks.find_one, benchmarks.names()):
        try:
            benchmark.own_samples()
        except mindgauge.MindgaugeError:
            continue
        found.append(benchmark.name)
    return found


@pytest.mark.parametrize("name", names())
def test_what_is_foreseen_is_what_is_asked(name: str, tmp_path: Path) -> None:
    def planned(*, dry_run: bool) -> tuple[object, int]:
        model, judge = Counted("subject/one"), Counted("other/judge")
        found = mindgauge.run(
            name, model=model, judge=judge, out=tmp_path / "r", limit=2, runs=2, judge_runs=2, qualify=False, dry_run=dry_run
        )  # fmt: skip
        return found, len(model.asked) + len(judge.asked)

    before, asked = planned(dry_run=True)
    assert isinstance(before, DryRun) and asked == 0
    _, made = planned(dry_run=False)
    benchmark = benchmarks.find_one(name)
    if benchmark.judged_part is None and not benchmark.variants:
        assert before.calls == made > 0
    else:  # a reply may lack the part that is judged, and two variants may read alike
        assert before.calls >= made > 0
    after, asked = planned(dry_run=True)
    assert isinstance(after, DryRun)
    assert (after.calls, after.done, asked) == (0, made, 0)


def test_the_same_words_are_judged_once_and_foreseen_once(tmp_path: Path) -> None:
    judge = Counted("other/judge")
    rows = [{"user": "I feel low", "reply": "I hear you.", "category": "no_crisis", "model": model} for model in "ab"]
    table = pl.DataFrame(rows)
    found = mindgauge.rate(
        "help_or_harm/response", replies=table, judge=judge, out=tmp_path / "r", qualify=False, dry_run=True
    )
    assert isinstance(found, DryRun)
    mindgauge.rate("help_or_harm/response", replies=table, judge=judge, out=tmp_path / "r", qualify=False)
    assert found.calls == len(judge.asked) == 1


def test_every_option_stands_once() -> None:
    assert {*get_type_hints(AskingOptions)} == {*Asking.__struct_fields__}
    assert {*get_type_hints(JudgingOptions)} == {*Judging.__struct_fields__}
    with pytest.raises(TypeError, match=r"there is no option 'judge_run'; did you mean 'judge_runs'\?"):
        RunConfig.of({"judge_run": 2}, RunOptions)


def test_no_function_takes_more_than_a_dozen_parameters() -> None:
    wide = {
        f"{path.relative_to(SOURCE).as_posix()}: {node.name}"
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs) > WIDEST
    }
    assert wide == WIDER
