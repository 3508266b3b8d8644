"""Ethical reasoning: which course does a model choose in a dilemma of mental health care, and how well does it say why?

TrustMH-Bench, arXiv 2603.03047, with the dilemmas of EthicsMH, arXiv 2509.11648. Departures: card.toml.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.benchmarks import Benchmark, Released
from mindgauge.benchmarks.metrics import STATUS_RATES, accuracy, accuracy_of_read, macro_f1, mean_level
from mindgauge.benchmarks.metrics.variants import PLACES, chance, option_consistency
from mindgauge.benchmarks.trustmh.ethics import dilemmas as released_ethics
from mindgauge.benchmarks.trustmh.ethics.dilemmas import (
    CHOICE,
    LETTERS,
    ORDER,
    PRINCIPLES,
    dilemmas,
    read,
    read_as_shipped,
    reasoning,
    sample,
    with_shuffled,
    written,
)
from mindgauge.benchmarks.trustmh.released import outputs
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease, notes_of
from mindgauge.benchmarks.trustmh.reproduce import rank_places, reproduce, unreadable_outputs
from mindgauge.records import BASE, RaterKind, Rating, Reply, Status
from mindgauge.records.rubric.composite import Composite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.records import Sample


JUDGE = "gpt-4.1"
_LEVELS = range(1, 6)
_NOT_BLIND = f"{JUDGE} was shown the expected option, and of some models the whole reply in place of its reasoning"


def load(data: Path) -> Released:
    """Read replies, the choices in them, and the judge's ratings; a second file of one model is a repeat of it.

    Raises:
        DataError: the dilemmas are missing or broken.
    """
    files = TrustMHRelease.below(data)
    dilemmas, notes = released_ethics.dilemmas(files)
    samples = {dilemma.number: sample(dilemma) for dilemma in dilemmas}
    variants = {
        number: output.variant(output.messages) for number, output in samples.items()
    }  # as a run asks them, without shuffling
    outputs_read, faults = outputs.readable(files, released_ethics.STORED, released_ethics.stored_in)
    names, spelt = outputs.spellings(output.model for output in outputs_read)
    released = Released(list(variants.values()), [], [], [*notes, *files.broken, *spelt, *faults.values()])
    runs: Counter[str] = Counter()
    for output in outputs_read:
        model, source = names[output.model], outputs.origin(files, output.source)
        pairs = [*zip(output.results, output.judged, strict=True)]
        shared = [(variants[row["sample_id"]], row, judged) for row, judged in pairs if row["sample_id"] in variants]
        for sample_asked, row, judged in shared:
            reply = _reply(sample_asked, model, runs[model], row, judged, source)
            released.replies.append(reply)
            released.ratings += [CHOICE.rate(sample_asked, reply), *_judged(reply, judged, source)]
        rebuilt = sum(
            "rebuilt" in reply.provenance for reply in released.replies[len(released.replies) - len(shared) :]
        )
        runs[model] += 1
        released.notes += [f"{output.source}: {len(pairs) - len(shared)} entries about other items"] * (
            len(shared) < len(pairs)
        )
        released.notes += [
            f"{output.source}: raw outputs are not stored; replies are rebuilt from choice and reasoning"
        ] * bool(rebuilt)
    released.notes += [_NOT_BLIND] * bool(outputs_read)
    return released


def _reply(
    asked_sample: Sample, model: str, run: int, row: dict[str, Any], judged: dict[str, Any], source: dict[str, str]
) -> Reply:
    """Return what a model wrote, or where that is not stored, an object of what the authors read from it."""
    origin = {**source, "source_row": row["sample_id"]}
    response = row.get("response")
    raw = response.get("content") if isinstance(response, dict) else None
    if isinstance(raw, str):
        return Reply.of(
            asked_sample.id, model, run, Status.OK if raw.strip() else Status.UNPARSABLE, raw, provenance=origin
        )
    stored_answer = {"choice": judged["model_choice_option"], "reasoning": row.get("model_reasoning")}
    text = json.dumps({key: value for key, value in stored_answer.items() if value is not None}, ensure_ascii=False)
    return Reply.of(
        asked_sample.id,
        model,
        run,
        Status.OK,
        text,
        provenance={**origin, "rebuilt": "from the stored choice and reasoning"},
    )


def _judged(reply: Reply, judged: dict[str, Any], source: dict[str, str]) -> Iterator[Rating]:
    for key, criterion in zip(released_ethics.STATED, PRINCIPLES, strict=True):
        level = judged["judge_parsed"].get(key)
        value = level if type(level) is int and level in _LEVELS else None
        status = Status.UNPARSABLE if value is None else Status.OK
        reason = judged["judge_parsed"].get(f"{key}_reason")
        origin = {**source, "source_column": key, **({} if value is not None else {"raw": level})}
        yield Rating(
            reply.id, criterion, JUDGE, RaterKind.MODEL, 0, status, value, str(reason or ""), provenance=origin
        )


CONSISTENCY = msgspec.structs.replace(option_consistency, supports=lambda levels: levels == tuple(LETTERS))
"""Of the choice alone, not of what judges say of the reasons."""

ethics = Benchmark.from_folder(
    Path(__file__).parent,
    read=read,
    readers={"as_shipped": read_as_shipped},
    notes=notes_of(dilemmas),
    load=load,
    reproduce=reproduce,
    self_stated=unreadable_outputs,
    rank_places=rank_places,
    item_parts=("scenario", "options", "task"),
    variants=with_shuffled,
    completed=written,
    readings=(CHOICE,),
    judged_part=reasoning,
    composites={"reasoning": Composite(PRINCIPLES)},
    metrics=(accuracy, accuracy_of_read, macro_f1, CONSISTENCY, chance("options", levels=4), mean_level, *STATUS_RATES),
    headline=("accuracy", "mean"),
    metric_tags=(BASE, PLACES, "options"),
    slices=("subcategory", ORDER),
)
