"""The stored outputs of the authors' models, as replies, and what their judge said of them, as ratings."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from mindgauge.benchmark import Released
from mindgauge.benchmarks.trustmh.ethics.dilemmas import CHOICE, PRINCIPLES, sample
from mindgauge.benchmarks.trustmh.released import ethics, outputs
from mindgauge.benchmarks.trustmh.released.files import Files
from mindgauge.records import RaterKind, Rating, Reply, Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.records import Sample

JUDGE = "gpt-4.1"
_LEVELS = range(1, 6)
_NOT_BLIND = f"{JUDGE} was shown the expected option, and of some models the whole reply in place of its reasoning"


def load(data: Path) -> Released:
    """Read replies, the choices in them, and the judge's ratings; a second file of one model is a repeat of it.

    Raises:
        DataError: the dilemmas are missing or broken.
    """
    files = Files.below(data)
    dilemmas, notes = ethics.dilemmas(files)
    asked = {dilemma.number: sample(dilemma) for dilemma in dilemmas}
    known = {
        number: one.variant(one.messages) for number, one in asked.items()
    }  # as a run asks them, without shuffling
    found, faults = outputs.readable(files, ethics.STORED, ethics.stored_in)
    names, spelt = outputs.spellings(one.model for one in found)
    released = Released(list(known.values()), [], [], [*notes, *files.broken, *spelt, *faults.values()])
    runs: Counter[str] = Counter()
    for one in found:
        model, source = names[one.model], outputs.origin(files, one.source)
        pairs = [*zip(one.results, one.judged, strict=True)]
        here = [(known[row["sample_id"]], row, judged) for row, judged in pairs if row["sample_id"] in known]
        for its, row, judged in here:
            reply = _reply(its, model, runs[model], row, judged, source)
            released.replies.append(reply)
            released.ratings += [CHOICE.rate(its, reply), *_judged(reply, judged, source)]
        rebuilt = sum("rebuilt" in reply.provenance for reply in released.replies[len(released.replies) - len(here) :])
        runs[model] += 1
        released.notes += [f"{one.source}: {len(pairs) - len(here)} entries about other items"] * (
            len(here) < len(pairs)
        )
        released.notes += [
            f"{one.source}: raw outputs are not stored; replies are rebuilt from choice and reasoning"
        ] * bool(rebuilt)
    released.notes += [_NOT_BLIND] * bool(found)
    return released


def _reply(
    its: Sample, model: str, run: int, row: dict[str, Any], judged: dict[str, Any], source: dict[str, str]
) -> Reply:
    """Return what a model wrote, or where that is not stored, an object of what the authors read from it."""
    origin = {**source, "source_row": row["sample_id"]}
    response = row.get("response")
    raw = response.get("content") if isinstance(response, dict) else None
    if isinstance(raw, str):
        return Reply.of(its.id, model, run, Status.OK if raw.strip() else Status.UNPARSABLE, raw, provenance=origin)
    told = {"choice": judged["model_choice_option"], "reasoning": row.get("model_reasoning")}
    text = json.dumps({key: value for key, value in told.items() if value is not None}, ensure_ascii=False)
    return Reply.of(
        its.id, model, run, Status.OK, text, provenance={**origin, "rebuilt": "from the stored choice and reasoning"}
    )


def _judged(reply: Reply, judged: dict[str, Any], source: dict[str, str]) -> Iterator[Rating]:
    for key, criterion in zip(ethics.PRINCIPLES, PRINCIPLES, strict=True):
        told = judged["judge_parsed"].get(key)
        value = told if type(told) is int and told in _LEVELS else None
        status = Status.UNPARSABLE if value is None else Status.OK
        why = judged["judge_parsed"].get(f"{key}_reason")
        origin = {**source, "source_column": key, **({} if value is not None else {"raw": told})}
        yield Rating(reply.id, criterion, JUDGE, RaterKind.MODEL, 0, status, value, str(why or ""), provenance=origin)
