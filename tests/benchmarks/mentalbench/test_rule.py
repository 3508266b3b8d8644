"""`--rule mentalbench` is the source's rule: on the values that the authors take, it gives the classes of `reproduce`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import mindgauge
from mindgauge.analysis.beside_published import own_systems
from mindgauge.analysis.reliability.cards import VERDICTS
from mindgauge.benchmarks.mentalbench import reproduce as pairs
from mindgauge.benchmarks.mentalbench.cells import ATTRIBUTES
from mindgauge.benchmarks.mentalbench.released import ORIGINAL, PEOPLE
from mindgauge.benchmarks.mentalbench.reproduce import JUDGES, reproduce
from tests.thinned import later

from .conftest import values

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Copy

CLASSES = {verdict: name for name, verdict in VERDICTS.items()}


def table(data: Path, judge: str) -> pl.DataFrame:
    """Write what the authors compare as a table of ratings: rows of one ConvID, zeros and sixes too, every system."""
    read = values(data)
    people, judged = read[PEOPLE], read[judge]
    systems = [name for name in people.systems if name in judged.systems]
    both = pairs.by_row(people.only(systems), judged.only(systems))
    rows = [
        {
            "subject": f"{row}/{name}",
            "cluster": str(row),
            "system": name,
            "criterion": attribute,
            "value": str(int(value)),
        }
        | {"rater": judge if kind == "model" else "panel", "rater_kind": kind}
        for kind, side in (("person", both.human), ("model", both.judge))
        for (row, place, k), value in np.ndenumerate(side)
        if np.isfinite(value)
        for name, attribute in [(systems[place], ATTRIBUTES[k])]
    ]
    return pl.DataFrame(rows)


def classes(data: Path, judge: str) -> dict[str, str]:
    found = mindgauge.reliability(table(data, judge), scale="0:6", rule="mentalbench", resamples=100)
    assert any("the values given" in note and "reproduce mentalbench" in note for note in found.notes)
    return {card.criterion: CLASSES.get(card.verdict, card.verdict) for card in found.cards}


def recomputed(data: Path, paper: str) -> dict[str, str]:
    cells = [c for c in reproduce(data) if c.column == "status" and not c.repaired and c.row.startswith(f"{paper} /")]
    return {cell.row.partition(" / ")[2]: str(cell.value) for cell in cells}


@pytest.mark.parametrize("paper", ["Claude", later("GPT-4o")])
def test_the_classes_are_those_of_reproduce_on_made_up_files(small: Copy, paper: str) -> None:
    expected = recomputed(small.root, paper)
    assert len(expected) == 7
    assert classes(small.root, JUDGES[paper]) == expected


@pytest.mark.parametrize("paper", [later("Claude"), "GPT-4o"])
@pytest.mark.long
def test_the_classes_are_those_of_reproduce_on_the_authors_files(real: Path, paper: str) -> None:
    assert classes(real, JUDGES[paper]) == recomputed(real, paper)


def test_a_judge_s_own_system_does_not_count_and_the_rest_stand_in_the_authors_order() -> None:
    systems = ["claude-3.5-haiku", "gpt-4o", "gpt-4o-mini", ORIGINAL]
    for judge, own in (
        ("gpt-4o", 1),
        ("claude-3-7-sonnet-20250219", 0),
        ("o4-mini", 2),
        ("gpt-4o-mini", 2),
        ("other", None),
    ):
        counted = pairs.counted(own_systems(judge, systems), systems)
        assert counted == [3, *(place for place in range(3) if place != own)]
