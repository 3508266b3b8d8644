"""`--ask`: the ways in which a closed question is put; each makes a model a rater of its own."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from mindgauge.benchmark import WAYS
from mindgauge.engine import rate
from mindgauge.errors import UsageError
from mindgauge.raters.judge import Way
from mindgauge.raters.shots import Deck
from mindgauge.store import Store
from mindgauge.verbs import plan

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mindgauge.benchmark import Benchmark
    from mindgauge.engine import Session, Step
    from mindgauge.models.request import Model
    from mindgauge.raters.judge import Instrument
    from mindgauge.records import Sample

_INSTRUMENTS = "SELECT DISTINCT instrument FROM ratings WHERE benchmark = ? AND rater = ?"


def ways_of(names: Sequence[str]) -> tuple[Way, ...]:
    """Read ways of asking, each once.

    Raises:
        UsageError: there is none of a name.
    """
    for name in names:
        if name not in set(Way):
            near = difflib.get_close_matches(name, list(Way), 1, 0.5)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(Way)}"
            raise UsageError(f"unknown way to --ask {name!r}: {hint}")
    return tuple(dict.fromkeys(map(Way, names))) or (Way.FLAT,)


def instruments(
    benchmark: Benchmark, data: Path | None, asked: plan.Asked, given: Sequence[Sample] = ()
) -> list[Instrument]:
    """Return an instrument for each way in which a benchmark's question is to be put; none where it is open.

    Args:
        benchmark: whose question.
        data: the authors' released files, where examples come from; our own samples if not given.
        asked: in which ways, and with how many examples.
        given: dialogues of a user's own, which may be among our samples under another id and are then no examples.

    Raises:
        UsageError: it cannot be put in one of the ways.
        DataError: there are no labelled samples for the examples.
    """
    if not benchmark.closed:
        return []
    for way in asked.ask:
        if way not in benchmark.ways:
            missing = next(kind for kind in WAYS[way] if kind not in benchmark.prompts)
            known = ", ".join(benchmark.ways)
            raise UsageError(f"{benchmark.name} cannot be asked {way}: it has no {missing}.md (its ways: {known})")
    return [
        benchmark.instrument(asked.mode, way, _deck(benchmark, data, asked, given) if way is Way.FEW_SHOT else None)
        for way in asked.ask
    ]


def _deck(benchmark: Benchmark, data: Path | None, asked: plan.Asked, given: Sequence[Sample]) -> Deck:
    pool, texts = benchmark.training(data), {sample.messages for sample in given}
    clusters = {sample.cluster for sample in pool if sample.messages in texts}
    others = tuple(sample for sample in pool if sample.cluster not in clusters)
    return Deck(
        benchmark.rubric.criteria[0], benchmark.prompts["shots"], others, asked.shots or 1, asked.shot_seed or 0
    )


def planned(
    benchmarks: Sequence[Benchmark],
    samples: Sequence[Sequence[Sample]],
    found: Sequence[Sequence[Instrument]],
    asked: plan.Asked,
) -> dict[str, Any]:
    """Write down, for the manifest, how closed questions are put and which examples are shown.

    Raises:
        UsageError: no question is closed.
        DataError: a label has too few examples.
    """
    if asked.ask == (Way.FLAT,):
        return {}
    if not any(found):
        raise UsageError(f"--ask is for closed questions, and {benchmarks[0].name} is an open one")
    shown = {
        benchmark.name: sorted({shot.id for sample in asked_about for shot in instrument.deck.draw(sample)})
        for benchmark, asked_about, its in zip(benchmarks, samples, found, strict=True)
        for instrument in its
        if instrument.deck is not None
    }
    few = {"shots": asked.shots or 1, "shot_seed": asked.shot_seed or 0, "shown": shown} if shown else {}
    return {"ask": [str(way) for way in asked.ask], **few, "asked_with": [[i.name for i in its] for its in found]}


def same_examples(folder: Path, benchmark: Benchmark, models: Sequence[Model], found: Sequence[Instrument]) -> None:
    """Check that answers which a run holds already were given after the examples that are to be shown now.

    Raises:
        UsageError: some saw others.
    """
    few_shot = [(model, instrument) for model in models for instrument in found if instrument.deck is not None]
    with Store(folder) as store:
        for model, instrument in few_shot:
            rater = instrument.rater(model.name)
            if any(name != instrument.name for (name,) in store.select(_INSTRUMENTS, (benchmark.name, rater))):
                raise UsageError(
                    f"{rater}: {folder} has its answers after other examples; repeat those --shots and --shot-seed, or "
                    "rate a file of replies into another --out"
                )


def asking(
    session: Session,
    benchmark: Benchmark,
    models: Sequence[Model],
    found: Sequence[Instrument],
    asked: plan.Asked,
) -> list[tuple[Model, Step]]:
    """Return the steps in which models answer a closed question in each way."""

    def step(model: Model, instrument: Instrument) -> Step:
        judge = plan.judge_for(model, instrument, asked.parameters)
        return lambda: rate(session, benchmark, judge, model, runs=asked.runs)

    return [(model, step(model, instrument)) for model in models for instrument in found]
