"""The people's scores as records.

Two people scored one reply per item: the one with the lowest score among all answers under the first judge. Their
ratings say so in `provenance.selection`, because figures on replies chosen by a judge's score say little about that
judge elsewhere. More than half of these replies are by models whose answers are not released otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindgauge.benchmarks.help_or_harm import released
from mindgauge.benchmarks.help_or_harm.answers import answer_text, at, rate, sampled_from
from mindgauge.records import RaterKind, Status

if TYPE_CHECKING:
    from mindgauge.benchmarks.help_or_harm.answers import Answer, Loader
    from mindgauge.benchmarks.help_or_harm.released import File

SELECTION = "lowest_scores_n200"


def human_scores(loader: Loader) -> None:
    """Attach the people's scores: row i scores the reply in row i of the set of lowest scores.

    A row is trusted to be in its place if its inputs or its answer are still the same there: spreadsheets damaged the
    other one in a few rows. Any other row is sought by inputs and answer among all replies.
    """
    scored = _lowest_replies(loader, *loader.lowest) if loader.lowest else []
    by_content = {(_spreadsheet(a.text), a.answer): a for rows in (*loader.rows.values(), scored) for a in rows}
    for file in loader.files.of("human_scores"):
        lost, damaged, unread = [], [], []
        for number, row in enumerate(file.rows()):
            key = (released.text(row["inputs"]), answer_text(row))
            answer = scored[number] if number < len(scored) else None
            same = (
                answer is not None and _spreadsheet(answer.text) == key[0],
                answer is not None and answer.answer == key[1],
            )
            if not any(same):
                answer = by_content.get(key)
            elif not all(same):
                damaged.append(number)
            if answer is None:
                lost.append(number)
                continue
            provenance = {"source_file": file.source, "source_row": number, "selection": SELECTION}
            provenance["protocol"] = row.get("label")
            rating = rate(answer.reply, row, provenance, rater=file.rater, kind=RaterKind.PERSON, run=0)
            if rating.status is Status.UNPARSABLE:
                unread.append(number)
            loader.ratings.append(rating)
        loader.note(
            file,
            (lost, "a reply that is nowhere here; left out"),
            (damaged, "inputs or an answer changed since the reply was drawn; joined by position"),
            (unread, "no score of 1 to 5; kept as unparsable"),
        )


def _spreadsheet(text: str) -> str:
    """Return a message as the people's files hold it, its sentences joined by another sign."""
    return text.replace("\n", " | ")


def _lowest_replies(loader: Loader, file: File, rows: list[dict[str, Any]]) -> list[Answer]:
    """Return the reply of each row of the set; a reply of no answer file here becomes a record of its own."""
    answers, new, changed = [], 0, []
    for number, row in enumerate(rows):
        source = sampled_from(row) or ("unknown", "", "")
        answer, _ = at(loader.rows.get(source, []), number, released.text(row["inputs"]))
        if answer is None:
            answer = loader.add(source, row, file, number, selection=SELECTION)
            new += 1
        elif answer.answer != answer_text(row):
            changed.append(number)
        answers.append(answer)
    if new:
        loader.notes.append(f"{file.source}: {new} of {len(rows)} replies stand in no answer file here; taken from it")
    loader.note(file, (changed, "an answer other than its answer file; that file's is kept"))
    return answers
