"""The released replies and their scores as records: every answer, every judge's run, and the people's scores.

A judge's row belongs to the answer at the same position, if the inputs are equal there; its own copy of the answer
proves nothing, because the authors' error handler wrote over it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindgauge.benchmarks import Released
from mindgauge.benchmarks.help_or_harm import released
from mindgauge.benchmarks.help_or_harm.answers import Loader, answer_text, at, origin, rate
from mindgauge.benchmarks.help_or_harm.labels import unique
from mindgauge.benchmarks.help_or_harm.selected import human_scores, review_sets
from mindgauge.records import RaterKind, Status
from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks.help_or_harm.released import ReleasedFile


def load_response(data: Path) -> Released:
    """Load the released replies and everybody's scores of them.

    Samples are those that were replied to. `tokens` stays in a reply's provenance: it counts prompt and completion
    together, which `usage` keeps apart. A score of a refused or failed reply is kept as `provenance.raw` only.

    Raises:
        DataError: nothing usable is there, or a file is broken.
    """
    files = released.find(data)
    if not any(files.of(kind) for kind in ("answers", "judgements", "lowest")):
        raise DataError(f"{data}: no answers here; {released.EXPECTED}")
    loader = Loader(files)
    for source in sorted({origin(file) for kind in ("answers", "judgements") for file in files.of(kind)}):
        loader.answers(source)
    for file in files.of("judgements"):
        _judgements(loader, file)
    human_scores(loader, review_sets(loader))
    ratings = unique(loader.ratings, loader.notes)
    _note_missing(loader)
    replied = {reply.sample for reply in loader.replies.values()}
    samples = [sample for sample in loader.samples.values() if sample.id in replied]
    return Released(samples, list(loader.replies.values()), ratings, loader.notes)


def _judgements(loader: Loader, file: ReleasedFile) -> None:
    """Read one judge's run over one answer file."""
    same = loader.files.of("judgements", judge=file.judge, model=file.model, dataset=file.dataset, time=file.time)
    run, rater = sorted(other.again for other in same).index(file.again), released.model(file.judge)
    answers = loader.rows[origin(file)]
    lost, moved, overwritten, unread = [], [], [], []
    for number, row in enumerate(file.rows()):
        answer, in_place = at(answers, number, released.text(row["inputs"]))
        if answer is None:
            lost.append(number)
            continue
        provenance: dict[str, Any] = {
            "source_file": file.source,
            "source_row": number,
            "model_raw": file.judge,
            "protocol": row.get("label"),
        }
        if not in_place:
            moved.append(number)
        if answer_text(row) != answer.answer:
            overwritten.append(number)
            provenance["answer_overwritten"] = True
        if row.get("error"):
            provenance["error"] = released.as_text(row["error"])
        rating = rate(answer.reply, row, provenance, rater=rater, kind=RaterKind.MODEL, run=run)
        if rating.status is Status.UNPARSABLE:
            unread.append(number)
        loader.ratings.append(rating)
    loader.note(
        file,
        (lost, "inputs that are not at that place in the answer file; left out"),
        (moved, "another place in the answer file; joined by their text"),
        (overwritten, "an answer that is not the one judged (overwritten); kept with the answer at that place"),
        (unread, "no score of 1 to 5; kept as unparsable"),
    )


def _note_missing(loader: Loader) -> None:
    """List what the authors released on responses and is not here."""
    raters = {file.rater for file in loader.files.of("human_scores")}
    loader.notes += [f"human_label/{r}_scores_*.json: missing" for r in ("H1", "H2") if r not in raters]
    if not loader.files.of("lowest", rater=""):
        instead = "people's scores are joined by inputs and answer, those of other models are left out"
        if loader.lowest:
            instead = f"{loader.lowest[0][0].source} stands in for it"
        loader.notes.append(f"llm_evaluator/sampled/sampled_lowest_scores_n200.json: missing; {instead}")
    raw = {(file.judge, *origin(file)) for file in loader.files.of("judgements")}
    for file in loader.files.of("merged_judgements"):
        if (file.judge, *origin(file)) not in raw:
            loader.notes.append(f"{file.source}: its raw judgements are missing; means of runs are not loaded")
    judged = {origin(file) for file in loader.files.of("judgements")}
    for file in loader.files.of("answers"):
        if origin(file) not in judged:
            loader.notes.append(f"{file.source}: no judge's scores of these answers are here")
