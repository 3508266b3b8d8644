"""`--ask`: the ways in which a closed question is put; each makes a model a rater of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindgauge.benchmarks import WAYS
from mindgauge.raters.few_shot import FewShotExamples
from mindgauge.raters.judge import PromptStyle
from mindgauge.records.errors import UsageError
from mindgauge.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.raters.judge import Instrument
    from mindgauge.records import Sample
    from mindgauge.records.request import Model
    from mindgauge.runs.options import Asking, RunConfig

_INSTRUMENTS = "SELECT DISTINCT instrument FROM ratings WHERE benchmark = ? AND rater = ?"


def questions(
    benchmark: Benchmark, data: Path | None, config: RunConfig, samples: Sequence[Sample] = ()
) -> list[Instrument]:
    """Return an instrument for each way in which a benchmark's question is to be put; none where it is open.

    Args:
        benchmark: whose question.
        data: the authors' released files, where examples come from; our own samples if not given.
        config: in which ways, and with how many examples.
        samples: dialogues of a user's own, which may be among our samples under another id and are then no examples.

    Raises:
        UsageError: it cannot be put in one of the ways, or not in the user's own words.
        DataError: there are no labelled samples for the examples.
    """
    if not benchmark.closed:
        return []
    for way in config.asking.ask:
        if way not in benchmark.ways:
            missing = next(kind for kind in WAYS[way] if kind not in benchmark.prompts)
            others = ", ".join(benchmark.ways)
            raise UsageError(f"{benchmark.name} cannot be asked {way}: it has no {missing}.md (its ways: {others})")
        if benchmark.brought is not None:
            benchmark.brought.need(*WAYS[way])
        if way is PromptStyle.FEW_SHOT and not all(
            {"rubric", "examples"} & p.slots for p in benchmark.prompts["ask"].values()
        ):
            raise UsageError(
                f"{benchmark.name} cannot be asked {way}: the prompt has no slot {{examples}} in which they stand"
            )
    return [
        benchmark.instrument(
            config.judging.mode,
            way,
            _deck(benchmark, data, config.asking, samples) if way is PromptStyle.FEW_SHOT else None,
        )
        for way in config.asking.ask
    ]


def _deck(benchmark: Benchmark, data: Path | None, asking: Asking, samples: Sequence[Sample]) -> FewShotExamples:
    pool, texts = benchmark.training(data), {sample.messages for sample in samples}
    clusters = {sample.cluster for sample in pool if sample.messages in texts}
    others = tuple(sample for sample in pool if sample.cluster not in clusters)
    return FewShotExamples(
        benchmark.rubric.criteria[0],
        benchmark.prompts["shots"],
        others,
        asking.shots or 1,
        asking.shot_seed or 0,
        asking.new_shots,
        benchmark.brought,
    )


def planned(
    benchmarks: Sequence[Benchmark],
    samples: Sequence[Sequence[Sample]],
    instruments: Sequence[Sequence[Instrument]],
    asking: Asking,
) -> dict[str, Any]:
    """Write down, for the manifest, how closed questions are put and which examples are shown.

    Raises:
        UsageError: no question is closed.
        DataError: a label has too few examples.
    """
    if asking.ask == (PromptStyle.FLAT,):
        return {}
    if not any(instruments):
        raise UsageError(f"--ask is for closed questions, and {benchmarks[0].name} is an open one")
    repeats = range(asking.runs if asking.new_shots else 1)
    example_ids = {
        benchmark.name: sorted(
            {shot.id for run in repeats for sample in asked_about for shot in instrument.deck.of_run(run).draw(sample)}
        )
        for benchmark, asked_about, variants in zip(benchmarks, samples, instruments, strict=True)
        for instrument in variants
        if instrument.deck is not None
    }
    if not example_ids:
        return {"ask": [str(way) for way in asking.ask]}
    decks = {
        benchmark.name: instrument.deck.hash[:12]
        for benchmark, variants in zip(benchmarks, instruments, strict=True)
        for instrument in variants
        if instrument.deck is not None
    }
    few_shot = {"shots": asking.shots or 1, "shot_seed": asking.shot_seed or 0, "shown": example_ids, "examples": decks}
    return {"ask": [str(way) for way in asking.ask], **few_shot}


def same_examples(
    folder: Path, benchmark: Benchmark, models: Sequence[Model], instruments: Sequence[Instrument]
) -> None:
    """Check that answers which a run holds already were given after the examples that are to be shown now.

    Raises:
        UsageError: some saw others.
    """
    few_shot = [(model, instrument) for model in models for instrument in instruments if instrument.deck is not None]
    with Store(folder) as store:
        for model, instrument in few_shot:
            rater = instrument.rater(model.name)
            if any(name != instrument.name for (name,) in store.select(_INSTRUMENTS, (benchmark.name, rater))):
                raise UsageError(
                    f"{rater}: {folder} has its answers after other examples; repeat those --shots and shot_seed, or "
                    "rate a file of replies into another --out"
                )
