"""The released answers as replies, and their scores as records: every judge's run, the people's, and the sets of lowest scores.

Two people scored one reply per item: the one with the lowest score among all answers under the first judge. Their
ratings say so in `provenance.selection`, because figures on replies chosen by a judge's score say little about that
judge elsewhere. More than half of these replies are by models whose answers are not released otherwise. What each
judge's set holds beside the reply stands in the reply's `provenance.review_sets`, by set and judge.

A judge's row belongs to the answer at the same position, if the inputs are equal there; its own copy of the answer
proves nothing, because the authors' error handler wrote over it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.benchmarks import Released
from mindgauge.benchmarks.help_or_harm import released
from mindgauge.benchmarks.help_or_harm.inputs import inputs, new_sample, unique
from mindgauge.benchmarks.help_or_harm.released import plural
from mindgauge.records import RaterKind, Rating, Reply, Status
from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks.help_or_harm.released import HelpOrHarmRelease, ReleasedFile
    from mindgauge.records import Sample


CRITERION = "appropriateness"

Origin = tuple[str, str, str]
"""Model (as in file names), set and time stamp: what names an answer file."""


class AnswerRow(NamedTuple):
    """One row of an answer file: its input, its answer as text, and the reply it became."""

    text: str
    answer: str
    reply: Reply


def origin(file: ReleasedFile) -> Origin:
    """Return which answer file a file is, or is about."""
    return file.model, file.dataset, file.time


def sampled_from(row: dict[str, Any]) -> Origin | None:
    """Return which answer file a row of a set of lowest scores was drawn from, if it says so."""
    named = named_source(row)
    return (named["model"], named["dataset"], named["time"]) if named else None


def named_source(row: dict[str, Any]) -> dict[str, str]:
    """Return the parts of the name of the judge's file that a row of a set of lowest scores was taken from, if any."""
    for column in ("sampled_from", "source_file"):
        parts = released.parse_name(str(row.get(column) or ""))
        if parts is not None and "time" in parts[1]:
            return parts[1]
    return {}


def reply_status(row: dict[str, Any]) -> Status:
    """Return what became of an answer: a refusal and an error were stored in the answer's place."""
    answer = row.get("answer")
    if row.get("refusal"):
        return Status.REFUSED
    if isinstance(answer, str) and answer.strip():
        return Status.OK
    if answer is None or isinstance(answer, str) or (isinstance(answer, dict) and "error" in answer):
        return Status.FAILED
    return Status.UNPARSABLE


def answer_text(row: dict[str, Any]) -> str:
    """Return an answer as text; what is not text as canonical JSON."""
    return released.as_text(row.get("answer"))


def at(answers: list[AnswerRow], number: int, text: str) -> tuple[AnswerRow | None, bool]:
    """Return the answer at this position if its input is the same, or else the only one to this input.

    The second value tells whether it stood at the position.
    """
    if number < len(answers) and answers[number].text == text:
        return answers[number], True
    others = [answer for answer in answers if answer.text == text]
    return (others[0], False) if len(others) == 1 else (None, False)


def rate(
    reply: Reply, row: dict[str, Any], provenance: dict[str, Any], *, rater: str, kind: RaterKind, run: int
) -> Rating:
    """Build the rating that a row holds. The authors score no item without a label; a refusal has no score."""
    raw = row.get("evaluation")
    value = released.score(raw)
    if raw is None and "label" in row and row["label"] is None:
        status = Status.NOT_APPLICABLE
    elif reply.status is not Status.OK:
        status = reply.status  # a score of an error message says nothing about the model
    else:
        status = Status.OK if value is not None else Status.UNPARSABLE
    if status is not Status.OK or type(raw) is not int:
        provenance["raw"] = raw
    explanation = released.as_text(row.get("explanation"))
    if released.is_json(row.get("explanation")):
        provenance["explanation_is_json"] = True
    value = value if status is Status.OK else None
    return Rating(reply.id, CRITERION, rater, kind, run, status, value, explanation, provenance=provenance)


class Loader:
    """What has been read so far: replies by id, the rows of each answer file, ratings and notes."""

    def __init__(self, files: HelpOrHarmRelease) -> None:
        self.files = files
        released_inputs = inputs(files)
        self.samples: dict[str, Sample] = dict(released_inputs.samples)
        self.sets = released_inputs.sets
        self.notes = released_inputs.notes
        self.replies: dict[str, Reply] = {}
        self.rows: dict[Origin, list[AnswerRow]] = {}
        self.ratings: list[Rating] = []
        # The first judge's set of lowest scores comes first; the other judges' repeat its rows, a jury's unnamed.
        self.lowest = [(file, file.rows()) for file in files.of("lowest")]
        self.lowest.sort(key=lambda pair: (pair[0].rater != "", not any(sampled_from(row) for row in pair[1])))
        kinds = ("answers", "judgements", "merged_judgements")
        origins = {origin(file) for kind in kinds for file in files.of(kind)}
        origins |= {source for _, rows in self.lowest for row in rows if (source := sampled_from(row))}
        self.runs = {o: sorted(p for p in origins if p[:2] == o[:2]).index(o) for o in origins}

    def note(self, file: ReleasedFile, *findings: tuple[list[int], str]) -> None:
        """Note what some rows of a file have, for those findings that have rows."""
        self.notes += [f"{file.source}: {plural(rows)} {finding}" for rows, finding in findings if rows]

    def add(self, source: Origin, row: dict[str, Any], file: ReleasedFile, number: int, **extra: str) -> AnswerRow:
        """Make a row a reply; a second one with the same input, model, run and text is the same reply."""
        text = released.text(row["inputs"])
        sample = self.samples.setdefault(text, new_sample(row))
        provenance = {
            "source_file": file.source,
            "source_row": number,
            "model_raw": source[0],
            "source_dataset_id": row.get("dataset_id"),
            "tokens": row.get("tokens"),
            "is_json": released.is_json(row.get("answer")),
            **extra,
        }
        model, run, status = released.model(source[0]), self.runs.setdefault(source, 0), reply_status(row)
        candidate = Reply.of(sample.id, model, run, status, answer_text(row), provenance=provenance)
        reply = self.replies.setdefault(candidate.id, candidate)
        if reply is not candidate:
            self.notes.append(f"{file.source}: row {number} repeats another row's text and answer; both are one reply")
        return AnswerRow(text, candidate.text, reply)

    def answers(self, source: Origin) -> None:
        """Read an answer file, or where it is missing a judge's copy of it."""
        model, dataset, time = source
        answer_files = self.files.of("answers", model=model, dataset=dataset, time=time)
        file = (answer_files or self.files.of("judgements", model=model, dataset=dataset, time=time))[0]
        if not answer_files:
            name = f"llm_answer/{model}-answers-{dataset}-{time}.json"
            self.notes.append(
                f"{name}: missing; replies are taken from a judge's copies, so overwritten ones go unnoticed ({file.source})"
            )
        rows, texts = file.rows(), self.sets[dataset].texts
        astray = [i for i, row in enumerate(rows) if released.text(row["inputs"]) not in texts[i : i + 1]]
        self.note(file, (astray, "another place in the set, or none; joined by their text"))
        if len(rows) < len(texts):
            self.notes.append(f"{file.source}: {len(rows)} rows where the set has {len(texts)}")
        self.rows[source] = [self.add(source, row, file, number) for number, row in enumerate(rows)]
        for status in (Status.REFUSED, Status.FAILED, Status.UNPARSABLE):
            places = [i for i, answer in enumerate(self.rows[source]) if answer.reply.status == status]
            self.note(file, (places, f"no answer; kept as {status}"))


# The sets of lowest scores, and the people's scores of the first one, as records.


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
    if explanation := released.as_text(row.get("explanation")):
        facts["explanation"] = explanation
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


# The released replies and their scores as records: every answer, every judge's run, and the people's scores.


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
