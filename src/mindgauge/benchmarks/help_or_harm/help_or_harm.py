"""Between Help and Harm: does the model see the crisis, and does its reply help?

Arnaiz-Rodriguez et al., JMIR Mental Health 2026, e88435, arXiv 2509.24857. Departures from the paper: card.toml.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.benchmark import LayoutNames
from mindgauge.benchmarks.help_or_harm import material, released, score_tables, self_stated
from mindgauge.benchmarks.help_or_harm.inputs import load_crisis_type, read_as_shipped, read_inputs
from mindgauge.benchmarks.help_or_harm.reproduce import reproduce
from mindgauge.benchmarks.help_or_harm.responses import SELECTION, load_response
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
from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, csv_rows

if TYPE_CHECKING:
    from mindgauge.records.rubric import Rubric


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


crisis_type = Benchmark.from_folder(
    HERE / "crisis_type",
    read=read_inputs,
    readers={"as_shipped": read_as_shipped},
    item_parts=("inputs_json",),
    item_facts=("dataset_id",),
    load=load_crisis_type,
    self_stated=self_stated.faults,
    layout_names=NAMES,
    reproduce=reproduce,
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
    self_stated=self_stated.faults,
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
