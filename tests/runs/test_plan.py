"""A plan is a list of steps: what is foreseen of every benchmark is what is then asked, and nothing is asked twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.cli.program import leaves
from mindgauge.commands.annotate.new import Labelling, LabellingOptions
from mindgauge.commands.train import Learning, TrainOptions
from mindgauge.models.chat_endpoint import CallLimitOptions, CallLimits
from mindgauge.models.scripted import Scripted
from mindgauge.runs.forecast import DryRun
from mindgauge.runs.options import OF_PROTOCOL, Asking, AskingOptions, Judging, JudgingOptions, RunConfig, RunOptions
from mindgauge.runs.step_outputs import recorded
from mindgauge.store import manifest
from tests.thinned import sampled

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records.request import Request
    from mindgauge.runs.steps import Step

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


@pytest.mark.parametrize("name", sampled(names(), 4))
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


@pytest.mark.parametrize("name", sampled(names(), 13))
def test_a_manifest_says_what_the_steps_leave(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[list[Step]] = []
    monkeypatch.setattr("mindgauge.commands.run.warn_of_length", lambda steps, _: planned.append(list(steps)))
    benchmark = benchmarks.find_one(name)
    ways: Any = {"ask": [str(way) for way in benchmark.ways]} if benchmark.closed else {"method": ["rule", "general"]}
    if not benchmark.closed and "judge.general" not in benchmark.prompts:
        ways = {}
    judge: list[str | Counted] = [] if benchmark.closed else [Counted("other/judge"), "rule/refusal"]
    mindgauge.run(
        name, model=[Counted("subject/one"), Counted("subject/two")], judge=judge, out=tmp_path / "r", limit=2, runs=2,
        judge_runs=3, qualify=False, **ways,
    )  # fmt: skip
    (steps,) = planned
    outputs = [output for step in steps for output in step.outputs()]
    assert outputs
    assert sorted(recorded(manifest.read(tmp_path / "r"), closed=benchmark.closed)) == sorted(outputs)
    remaining = {(left.kind, left.name): left for left in mindgauge.status(tmp_path / "r").left}
    assert remaining.keys() == {(output.kind, output.name) for output in outputs}
    assert {left.left for left in remaining.values()} == {0}


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
    for options, records in (
        (AskingOptions, [Asking]), (JudgingOptions, [Judging]), (TrainOptions, [Learning]),
        (LabellingOptions, [Labelling]), (CallLimitOptions, [CallLimits]),
    ):  # fmt: skip
        fields = [name for record in records for name in record.__struct_fields__]
        if Learning in records:
            fields.remove("encoder")
        if {Asking, Judging} & {*records}:
            fields = [name for name in fields if name not in OF_PROTOCOL]
        assert sorted(options.__annotations__) == sorted(fields)
    with pytest.raises(TypeError, match=r"there is no option 'judge_run'; did you mean 'judge_runs'\?"):
        RunConfig.of({"judge_run": 2}, RunOptions, mindgauge.run)


@pytest.mark.parametrize(
    ("call", "wrong", "meant"),
    [
        (mindgauge.run, "judges", "judge"),
        (mindgauge.rate, "judges", "judge"),
        (mindgauge.run, "models", "model"),
        (mindgauge.rate, "limits", "limit"),
        (mindgauge.judges_compare, "references", "reference"),
        (mindgauge.judges_stress, "probe", "probes"),
    ],
)
def test_a_misspelled_parameter_is_hinted_at_as_an_option_is(call: Any, wrong: str, meant: str) -> None:
    needed: dict[str, Any] = {"model": "a"} if call is mindgauge.run else {"judge": "a", "replies": "b.csv"}
    with pytest.raises(TypeError, match=rf"there is no option '{wrong}'; did you mean '{meant}'\?"):
        call(**{**needed, wrong: "b"})


def test_commands_have_an_option_of_every_name(tmp_path: Path) -> None:
    for command, options in (("train", TrainOptions), ("annotate new", LabellingOptions)):
        assert options.__annotations__.keys() <= {built.name for built in leaves()[command].built.values()}
    with pytest.raises(TypeError, match=r"there is no option 'epoch'; did you mean 'epochs'\?"):
        mindgauge.train("x", out=tmp_path, baseline=True, epoch=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"there is no option 'batches'; did you mean 'batch'\?"):
        mindgauge.annotate_new(tmp_path, items="x", annotators=["a"], batches=3)  # type: ignore[call-arg]
