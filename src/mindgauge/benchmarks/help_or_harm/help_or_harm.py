"""Between Help and Harm: does the model see the crisis, and does its reply help?

Arnaiz-Rodriguez et al., JMIR Mental Health 2026, e88435, arXiv 2509.24857. Departures from the paper: card.toml.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.benchmarks import Benchmark, RecomputedCell, hub_layout
from mindgauge.benchmarks.benchmark import LayoutNames
from mindgauge.benchmarks.help_or_harm import from_hub, material, released, score_tables
from mindgauge.benchmarks.help_or_harm.inputs import load_crisis_type, read_as_shipped, read_inputs
from mindgauge.benchmarks.help_or_harm.reproduce import reproduce
from mindgauge.benchmarks.help_or_harm.responses import SELECTION, answer_text, load_response, named_source, origin
from mindgauge.benchmarks.metrics import (
    STATUS_RATES,
    accuracy,
    accuracy_of_read,
    call_rate,
    cohen_kappa,
    fleiss_kappa,
    macro_f1,
    mean_level,
    precision,
    recall,
    share,
    share_at_most,
    status_rate,
)
from mindgauge.benchmarks.metrics.metric_sentences import MetricWords, ShareFigure, taken
from mindgauge.benchmarks.self_stated import broken, of_mean
from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, csv_rows, folder, tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mindgauge.benchmarks.help_or_harm.released import HelpOrHarmRelease, ReleasedFile
    from mindgauge.benchmarks.self_stated import Fault
    from mindgauge.records.rubric import Rubric


_Rows = dict[str, list[dict[str, Any]]]
_Means = dict[tuple[str, str], list[tuple[str, object]]]
"""By inputs and answer: the judges of a reply, and the mean that each has."""
_NAMES = ("evaluation", "evaluation_std", "its evaluations")
_RUNS = 3
"""How often the authors had each reply evaluated."""
_FIRST_JUDGE = "gpt-4o-mini"
"""Whose the set of lowest scores is that names none."""


def faults(data: Path, checked: Counter[str]) -> Iterator[Fault]:
    """Yield where a file contradicts itself, or the others.

    Raises:
        DataError: nothing usable is there.
    """
    files, rows = released.find(data), _Rows()
    for file in files.files:
        try:
            rows[file.source] = file.rows()
        except DataError as error:
            yield broken(error, data)
    files = released.HelpOrHarmRelease(files.root, tuple(f for f in files.files if f.source in rows), ())
    yield from _sets(files, rows, checked)
    yield from _tables(data, files, rows, checked)
    yield from _answers(files, rows, checked)
    means: _Means = defaultdict(list)
    for file in files.of("merged_judgements"):
        for row in rows[file.source]:
            means[released.text(row["inputs"]), answer_text(row)].append((file.judge, row.get("evaluation")))
    for file in files.files:
        single = [rows[other.source] for other in _single(files, file)]
        for place, row in enumerate(rows[file.source]):
            beside = [other[place] for other in single if place < len(other)]
            fault = _fault(file, row, beside, checked) or _of_lowest(file, row, means, checked)
            if fault:
                yield file.source, f"row {place}: {fault}"


def _single(files: HelpOrHarmRelease, file: ReleasedFile) -> list[ReleasedFile]:
    """Return the files that a merged file was made of."""
    if file.kind == "merged_judgements":
        return [other for other in files.of("judgements", judge=file.judge) if origin(other) == origin(file)]
    if file.kind == "merged_labels":
        return files.of("labels", model=file.model, dataset=file.dataset)
    return files.of("human_labels") if file.kind == "consensus" else []


def _set(file: ReleasedFile) -> str:
    """Return the set that a file is about: empty for that of the people, which the authors merged from two."""
    return "" if "merged" in file.dataset else file.dataset


def _sets(files: HelpOrHarmRelease, rows: _Rows, checked: Counter[str]) -> Iterator[Fault]:
    """Compare files with their set: how many rows they have, and whether these are its items."""
    inputs = {_set(file): len(rows[file.source]) for file in files.of("inputs")}
    for name in {_set(file): None for file in files.files}:
        about = [file for file in files.files if _set(file) == name]
        heights = Counter(len(rows[file.source]) for file in about)
        own_height = inputs.get(name)
        height_of_set = max(heights, key=lambda height: (heights[height], height == own_height, height))
        source_of_height = "its set has" if height_of_set == own_height else "the other files of its set have"
        checked["numbers of rows"] += len(about)
        texts = {}
        for file in about:
            if (height := len(rows[file.source])) != height_of_set:
                yield file.source, f"{height:,} rows, and {source_of_height} {height_of_set:,}"
            elif file.dataset:
                texts[file.source] = [released.text(row["inputs"]) for row in rows[file.source]]
        holding = Counter(text for column in texts.values() for text in {*column})
        for source, column in texts.items():
            strangers = [place for place, text in enumerate(column) if 2 * holding[text] < len(texts)]
            yield from ((source, f"row {place}: inputs that most files of its set do not have") for place in strangers)


def _tables(data: Path, files: HelpOrHarmRelease, rows: _Rows, checked: Counter[str]) -> Iterator[Fault]:
    """Compare the tables (CSV) of lowest scores with the JSON files of their names."""
    by_name = {file.path.stem: rows[file.source] for file in files.of("lowest")}
    for file in folder.below(data).all:
        if file.suffix != ".csv" or file.stem not in by_name:
            continue
        checked["numbers of rows"] += 1
        try:
            cells = [row for _, row in tables.open_table(file).rows()]
        except DataError as error:
            yield broken(error, data)
            continue
        if len(cells) != (height := len(by_name[file.stem])):
            yield file.place.as_posix(), f"{len(cells):,} rows, and {file.stem}.json has {height:,}"
            continue
        for place, (row, other) in enumerate(zip(cells, by_name[file.stem], strict=True)):
            if fault := of_mean(row.get("evaluation"), None, [other.get("evaluation")], ("evaluation", "", f"the rows of {file.stem}.json")):  # fmt: skip
                yield file.place.as_posix(), f"row {place}: {fault}"


def _answers(files: HelpOrHarmRelease, rows: _Rows, checked: Counter[str]) -> Iterator[Fault]:
    """Compare answers with the evaluation files, which repeat them but where an `error` took an answer's place."""
    for file in files.of("answers"):
        about = [f for kind in ("judgements", "merged_judgements") for f in files.of(kind) if origin(f) == origin(file)]
        for place, row in enumerate(rows[file.source]):
            others = [f for f in about if place < len(rows[f.source])]
            checked["answers"] += len(others)
            changes = [f for f in others if _other_answer(row, rows[f.source][place])]
            if 2 * len(changes) > len(others) > 1:
                yield file.source, f"row {place}: an answer other than in {len(changes)} files that evaluate it"
            else:
                yield from ((f.source, f"row {place}: an answer other than in {file.source}") for f in changes)


def _other_answer(row: dict[str, Any], judged: dict[str, Any]) -> bool:
    return not judged.get("error") and row["inputs"] == judged["inputs"] and answer_text(row) != answer_text(judged)


def _fault(file: ReleasedFile, row: dict[str, Any], single: list[dict[str, Any]], checked: Counter[str]) -> str:
    """Say what a row has other than its own parts say; empty where nothing is wrong."""
    evals, votes, panel = row.get("evals"), row.get("all_labels"), row.get("llm_evaluations")
    if isinstance(votes, list):
        checked["labels"] += 1
        label, mode = row.get("label") or None, released.mode(votes)
        if label != mode:
            return f"label is {label!r}, and its votes give {mode!r}"
        votes_of_files = Counter(other["label"] for other in single if other.get("label"))
        return "" if votes_of_files <= Counter(votes) else "its votes are not those of the files of single labels"
    scores = [released.score(other.get("evaluation")) for other in single]
    if evals is None and panel is None and file.kind == "merged_judgements":
        evals = scores
    repeats = evals if isinstance(evals, list) else [*panel.values()] if isinstance(panel, dict) else None
    if not repeats or (panel and None in repeats and row.get("evaluation") is None):
        return ""  # a panel has a mean of replies that all of it scored
    checked["means"] += 1
    if fault := of_mean(row.get("evaluation"), row.get("evaluation_std"), repeats, _NAMES):
        return fault
    votes_of_files, merged = (
        Counter(score for score in some if score is not None) for some in (scores, map(released.score, repeats))
    )
    # Where a file of single evaluations is not here, more are merged than are single.
    match = votes_of_files == merged if len(single) >= _RUNS else votes_of_files <= merged
    return "" if match else "evals are not those of the files of single evaluations"


def _of_lowest(file: ReleasedFile, row: dict[str, Any], means: _Means, checked: Counter[str]) -> str:
    """Say what a row of a set of lowest scores has other than the merged files on the same reply."""
    if file.kind != "lowest":
        return ""
    panel = row.get("llm_evaluations")
    judge = named_source(row).get("judge") or file.rater or _FIRST_JUDGE
    by_judge: Mapping[str, Any] = panel if isinstance(panel, dict) else {judge: row.get("evaluation")}
    for name, score in by_judge.items():
        merged = means.get((released.text(row["inputs"]), answer_text(row)), [])
        scores = [mean for judge, mean in merged if f"{judge}-".startswith(f"{name}-")]
        checked["means"] += bool(scores)
        contradictions = [
            of_mean(score, None, [mean], ("evaluation", "", f"the merged files of {name}")) for mean in scores
        ]
        if contradictions and all(contradictions):
            return contradictions[0]
    return ""


FILE = "protocol.csv"
_LABEL = "label"


def read(path: Path, rubric: Rubric) -> Rubric:
    """Return a rubric whose levels are worded as in the authors' file: a row for each category, a column for each level.

    What is ours of the words is left out: the question, what to look at, and the checks.

    Raises:
        DataError: a row or a column is missing, or is none of the authors'.
    """
    (criterion,) = rubric.criteria
    content = bounds.content(path, bounds.SETTINGS)
    header, *rows = (cells for _, cells in csv_rows.rows(content.removeprefix(b"\xef\xbb\xbf"), ","))
    if header[:1] != [_LABEL] or len(header) != 1 + len(criterion.levels):
        raise DataError(
            f"{path}: the columns are {_LABEL} and one for each of the {len(criterion.levels)} levels, from the worst"
        )
    protocols = {}
    for name, *texts in rows:
        category = released.category(name)
        if category is None or len(texts) != len(criterion.levels) or not all(texts):
            raise DataError(f"{path}: {name!r} is no category with a text for each level")
        protocols[category] = tuple({"en": text} for text in texts)
    missing = next((category for category in criterion.protocols if category not in protocols), None)
    if missing is not None:
        raise DataError(f"{path}: no row for {missing}")
    levels = tuple(msgspec.structs.replace(level, needs=(), unless=()) for level in criterion.levels)
    worded = msgspec.structs.replace(criterion, protocols=protocols, levels=levels, text={}, look={}, checks=())
    return msgspec.structs.replace(rubric, criteria=(worded,))


HERE = Path(__file__).parent
CRISES = (
    "suicidal_ideation", "self-harm", "anxiety_crisis", "violent_thoughts", "substance_abuse_or_withdrawal",
    "risk_taking_behaviours",
)  # fmt: skip
CALM = ("no_crisis",)
NAMES = LayoutNames(released.model, released.category, released.data_set, SELECTION)
IN_CRISIS = "messages that show a crisis"
MISSED = MetricWords(
    title="the share of messages that show a crisis taken for none",
    sentence=taken(kind=("that shows a crisis", "that show a crisis"), mistaken_for="no crisis", if_none="missed none"),
    picture=ShareFigure(
        "missed", "Share of the messages showing a crisis that were taken for none", "Missed most", "missed",
        folded="By language and directness",
    ),
)  # fmt: skip
OVERCALLED = MetricWords(
    title="the share of messages without a crisis taken for one",
    sentence=taken(kind=("without a crisis", "without a crisis"), mistaken_for="a crisis", missed="missed_crisis_rate"),
)

MISFIT = share("share_misfit", 2, better="lower", title="the share of replies at 2 that do not fit the person")


def _reproduce(data: Path) -> Iterator[RecomputedCell]:
    """Recompute the paper's tables from the authors' files, or from their tables in the Hugging Face layout."""
    return reproduce(data, from_hub.files(response, crisis_type, data) if hub_layout.is_one(data) else None)


crisis_type = Benchmark.from_folder(
    HERE / "crisis_type",
    read=read_inputs,
    readers={"as_shipped": read_as_shipped},
    item_parts=("inputs_json",),
    item_facts=("dataset_id",),
    load=load_crisis_type,
    self_stated=faults,
    layout_names=NAMES,
    reproduce=_reproduce,
    material=material.crisis_type,
    metrics=(
        accuracy,
        accuracy_of_read,
        macro_f1,
        cohen_kappa,
        fleiss_kappa,
        call_rate("missed_crisis_rate", targets=CRISES, answers=CALM, words=MISSED),
        call_rate("overcalled_crisis_rate", targets=CALM, answers=CRISES, words=OVERCALLED),
        *(metric(label) for label in (*CRISES, *CALM) for metric in (recall, precision)),
        *STATUS_RATES,
        status_rate("tie"),
    ),
    headline=("accuracy", "macro_f1", "missed_crisis_rate", "overcalled_crisis_rate", "cohen_kappa", "fleiss_kappa"),
    slices=("language", "directness"),
    silent=("accuracy",),
    calm=CALM,
    keep={"split": ("validation",)},
)
response = Benchmark.from_folder(
    HERE / "response",
    read=read_inputs,
    readers={"as_shipped": read_as_shipped},
    item_parts=("inputs_json",),
    item_facts=("dataset_id",),
    load=load_response,
    self_stated=faults,
    layout_names=NAMES,
    material=material.response,
    cells_of_run=score_tables.of_run,
    metrics=(mean_level, share_at_most(2), share_at_most(1), MISFIT, fleiss_kappa, *STATUS_RATES),
    headline=("mean", "share_at_most_2", "share_at_most_1", "fleiss_kappa"),
    slices=("category", "language"),
    groups={"crisis only": {"category": CRISES}},
    group_titles={"crisis only": IN_CRISIS},
    keep={"split": ("validation",)},
    protocol="category",
    shipped_instrument={FILE: read},
    recognised_by=crisis_type,
)
