"""The sets of lowest scores, and the people's scores of the first one, as records.

Two people scored one reply per item: the one with the lowest score among all answers under the first judge. Their
ratings say so in `provenance.selection`, because figures on replies chosen by a judge's score say little about that
judge elsewhere. More than half of these replies are by models whose answers are not released otherwise. What each
judge's set holds beside the reply stands in the reply's `provenance.review_sets`, by set and judge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindgauge.benchmarks.help_or_harm import released
from mindgauge.benchmarks.help_or_harm.answers import (
    CRITERION,
    AnswerRow,
    answer_text,
    at,
    named_source,
    rate,
    sampled_from,
)
from mindgauge.records import RaterKind, Status

if TYPE_CHECKING:
    from mindgauge.benchmarks.help_or_harm.answers import Loader
    from mindgauge.benchmarks.help_or_harm.released import ReleasedFile

SELECTION = "lowest_scores_n200"


def human_scores(loader: Loader, drawn: list[AnswerRow]) -> None:
    """Attach the people's scores: row i scores the reply in row i of the first set of lowest scores.

    A row is trusted to be in its place if its inputs or its answer are still the same there: spreadsheets damaged the
    other one in a few rows. Any other row is sought by inputs and answer among all replies.
    """
    by_content = {(_spreadsheet(a.text), a.answer): a for rows in (*loader.rows.values(), drawn) for a in rows}
    selection = _selection(loader.lowest[0][0]) if loader.lowest else SELECTION
    for file in loader.files.of("human_scores"):
        lost, damaged, unread = [], [], []
        for number, row in enumerate(file.rows()):
            key = (released.text(row["inputs"]), answer_text(row))
            answer = drawn[number] if number < len(drawn) else None
            provenance: dict[str, Any] = {"source_file": file.source, "source_row": number, "selection": selection}
            changed = _changed(answer, key) if answer else {}
            if answer is None or len(changed) == 2:
                answer = by_content.get(key)
            elif changed:
                damaged.append(number)
                provenance |= changed
            if answer is None:
                lost.append(number)
                continue
            provenance["protocol"] = row.get("label")
            rating = rate(answer.reply, row, provenance, rater=file.rater, kind=RaterKind.PERSON, run=0)
            if rating.status is Status.UNPARSABLE:
                unread.append(number)
            loader.ratings.append(rating)
        loader.note(
            file,
            (lost, "a reply that none of the files here holds; left out"),
            (damaged, "inputs or an answer changed since the reply was drawn; joined by position"),
            (unread, "no score of 1 to 5; kept as unparsable"),
        )


def _changed(drawn: AnswerRow, key: tuple[str, str]) -> dict[str, bool]:
    """Flag what a person's row has other than the row that was drawn for it."""
    same = {"inputs_changed": _spreadsheet(drawn.text) == key[0], "answer_changed": drawn.answer == key[1]}
    return {flag: True for flag, equal in same.items() if not equal}


def _spreadsheet(text: str) -> str:
    """Return a message as the people's files hold it, its sentences joined by another sign."""
    return text.replace("\n", " | ")


def review_sets(loader: Loader) -> list[AnswerRow]:
    """Tell each reply in which sets of lowest scores it stands; return the rows of the first set, as they stand there.

    A reply of no answer file here becomes a record of its own.
    """
    first: dict[str, list[AnswerRow]] = {}
    for file, rows in loader.lowest:
        answers = _drawn(loader, file, rows, first.get(_selection(file), []))
        first.setdefault(_selection(file), answers)
    return next(iter(first.values()), [])


def _drawn(loader: Loader, file: ReleasedFile, rows: list[dict[str, Any]], first: list[AnswerRow]) -> list[AnswerRow]:
    """Return the reply of each row of a set, with the row's inputs and answer, and note in it what the set says."""
    everywhere = [answer for source_answers in loader.rows.values() for answer in source_answers]
    by_first = {(a.text, a.answer): a for a in first}
    by_content = {(a.text, a.answer): a for a in everywhere} | by_first
    answers, new, changed, repeated = [], 0, [], []
    for number, row in enumerate(rows):
        key, source = (released.text(row["inputs"]), answer_text(row)), sampled_from(row)
        answer = first[number] if number < len(first) and first[number][:2] == key else None
        if answer is None and source is not None:
            answer, _ = at(loader.rows.get(source, []), number, key[0])
        if answer is None:
            # A row that names its model is not another model's with the same words.
            answer = (by_first if source else by_content).get(key)
        if answer is None:
            answer = loader.add(source or ("unknown", "", ""), row, file, number, selection=_selection(file))
            new += 1
        facts = _facts(loader, file, number, row)
        if answer.answer != key[1]:
            changed.append(number)
            facts["answer_changed"] = True
        if not _keep(answer, _selection(file), facts):
            repeated.append(number)
        answers.append(AnswerRow(*key, answer.reply))
    if new:
        loader.notes.append(f"{file.source}: {new} of {len(rows)} replies stand in no answer file here; taken from it")
    loader.note(
        file,
        (changed, "an answer other than its answer file; that file's is kept"),
        (repeated, "a reply that another row of this set has; that row is kept"),
    )
    return answers


def _selection(file: ReleasedFile) -> str:
    """Return what the sets of all judges on the same replies are called."""
    return file.path.stem.removeprefix("sampled_").split("__")[0]


def _facts(loader: Loader, file: ReleasedFile, number: int, row: dict[str, Any]) -> dict[str, Any]:
    """Return what a row says of a reply beside its text; `runs` and `panel` only where the set has them.

    `runs` need not be in the order of the judge's runs: the authors dropped those without a score.
    """
    judge = named_source(row).get("judge") or file.rater
    mean, runs, panel = row.get("evaluation"), row.get("evals"), row.get("llm_evaluations")
    facts: dict[str, Any] = {
        "rater": released.model(judge),
        "model_raw": judge,
        "source_file": file.source,
        "source_row": number,
        "criterion": CRITERION,
        "mean": mean if isinstance(mean, int | float) and 1 <= mean <= 5 else None,
        "sampled_from": row.get("sampled_from") or row.get("source_file"),
        "sampled_criteria": row.get("sampled_criteria"),
    }
    if isinstance(runs, list):
        facts["runs"] = [released.score(value) for value in runs]
    if isinstance(panel, dict):
        judges = sorted({other.judge for other in loader.files.of("judgements")})
        full_names = {name: next((j for j in judges if f"{j}-".startswith(f"{name}-")), name) for name in panel}
        facts["panel"] = [released.model(name) for name in full_names.values()]
    return facts


def _keep(answer: AnswerRow, selection: str, facts: dict[str, Any]) -> bool:
    """Put a set's facts into a reply's provenance; only the first set says how its replies were drawn, if it is here."""
    by_rater = answer.reply.provenance.setdefault("review_sets", {}).setdefault(selection, {})
    for drawn in list(by_rater.values())[:1]:
        facts |= {name: drawn[name] for name in ("sampled_from", "sampled_criteria")}
    return by_rater.setdefault(facts.pop("rater"), facts) is facts
