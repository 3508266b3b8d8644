"""Every number that the paper prints, and those derived from the same files beforehand, recomputed; judges beside people here.

Row i of a person's file scores the reply in row i of the sets. The sets name the file that a reply was drawn from, so
that replies of models whose answers are not released can be told from the others.
"""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from mindgauge.benchmarks import RecomputedCell
from mindgauge.benchmarks.help_or_harm import label_tables, released, score_tables
from mindgauge.benchmarks.help_or_harm.inputs import inputs
from mindgauge.benchmarks.help_or_harm.label_tables import paper_name
from mindgauge.stats.errors import rater_errors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from mindgauge.benchmarks.help_or_harm.released import HelpOrHarmRelease

    Floats: TypeAlias = NDArray[np.float64]

    Mask: TypeAlias = NDArray[np.bool_]


PUBLISHED = Path(__file__).parent / "published.toml"


def reproduce(data: Path) -> Iterator[RecomputedCell]:
    """Recompute the paper's tables from whatever files are there; a cell without its files says which it needs.

    Tables whose names begin with `derived.` are not in the paper: their published values are those that were computed
    from the same files beforehand.

    Args:
        data: a copy of the authors' files.

    Raises:
        DataError: nothing usable is there, or a file is broken.
    """
    files = released.find(data)
    released_inputs = inputs(files)
    published = tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))["table"]
    (part,) = (table["part"] for table in published if table["name"] == "derived.judges.archived")
    computed = set()
    for tables in (
        label_tables.cells(files, released_inputs),
        cells(files, part),
        score_tables.cells(files, released_inputs),
    ):
        for cell in tables:
            computed.add((cell.table, cell.row, cell.column))
            yield cell
    for table in published:
        for row, values in table["rows"].items():
            for column, value in zip(table["columns"], values, strict=True):
                if not math.isnan(value) and (table["name"], row, column) not in computed:
                    yield RecomputedCell(
                        table["name"], row, column, None, f"needs {table['needs']}, whole; not all are here"
                    )


# The paper's tables about judges beside people, recomputed from the shipped sets of lowest scores.


_SETS = {"": "gpt-4o-mini", "gpt-5-nano": "gpt-5-nano", "meta-llama": "llama-4-scout", "jury": "jury"}
_PEOPLE = ("H1", "H2")


def cells(files: HelpOrHarmRelease, part: Collection[str]) -> Iterator[RecomputedCell]:
    """Recompute every table that the sets of lowest scores and the people's scores suffice for.

    Args:
        files: where to look.
        part: the paper's names of the models whose replies the `archived` figures were measured on.
    """
    people = {file.rater: _scores(file.rows()) for file in files.of("human_scores") if file.rater in _PEOPLE}
    for person, scores in people.items():
        for level in range(5, 0, -1):
            yield RecomputedCell("derived.people.scores", person, str(level), float((scores == level).sum()))
    drawn = {_SETS[f.rater]: f.rows() for f in files.of("lowest") if f.rater in _SETS}
    judges = {name: _scores(rows) for name, rows in drawn.items()}
    if len({len(scores) for scores in (*people.values(), *judges.values())}) > 1 or not people:
        return  # positions cannot be trusted between files of different lengths
    n = len(next(iter(people.values())))
    archived = _archived(files, drawn.get("gpt-4o-mini", []), part)
    for name, scores in judges.items():
        yield from _against(name, scores, people, np.ones(n, dtype=bool), "judges.people")
        if archived is not None:
            yield from _against(name, scores, people, archived, "derived.judges.archived")
    for level in (4, 5):
        constant = np.full(n, float(level))
        yield from _constant(f"constant {level}", constant, people, np.ones(n, dtype=bool), "derived.judges.constant")
        if archived is not None:
            yield from _constant(f"constant {level}", constant, people, archived, "derived.judges.constant_archived")
    if len(people) == 2:
        yield from _between_people(people["H1"], people["H2"], archived)


def _between_people(first: Floats, second: Floats, archived: Mask | None) -> Iterator[RecomputedCell]:
    all_rows = np.ones(len(first), dtype=bool)
    for column, value in zip(("mae", "rmse", "within_1"), _errors(first, second, all_rows), strict=False):
        yield RecomputedCell("judges.people", "H1-H2", column, value)
    if archived is not None:
        for column, value in zip(("mae", "rmse", "within_1", "bias"), _errors(first, second, archived), strict=True):
            yield RecomputedCell(
                "derived.judges.people", "H1-H2", column, value, n=int(_both(first, second, archived).sum())
            )


def _scores(rows: list[dict[str, object]]) -> Floats:
    """Return each row's mean score or person's score; NaN where there is none."""
    values = [row.get("evaluation") for row in rows]
    return np.array([value if isinstance(value, (int, float)) else np.nan for value in values], dtype=np.float64)


def _archived(files: HelpOrHarmRelease, rows: list[dict[str, object]], part: Collection[str]) -> Mask | None:
    """Tell the replies of some models whose answer file is here; None where there are none, or the first judge's set is missing."""
    present = {(file.model, file.dataset, file.time) for file in files.of("answers") if paper_name(file.model) in part}
    origins = [released.parse_name(str(row.get("sampled_from"))) for row in rows]
    keys = [(o[1].get("model"), o[1].get("dataset"), o[1].get("time")) if o else None for o in origins]
    archived = np.array([key in present for key in keys], dtype=bool)
    return archived if archived.any() else None


def _both(judge: Floats, person: Floats, rows: Mask) -> Mask:
    return rows & np.isfinite(judge) & np.isfinite(person)


def _errors(judge: Floats, person: Floats, rows: Mask) -> tuple[float, float, float, float]:
    """Return mean absolute error, root mean square error, % within 1, and mean error, of rows that both scored."""
    errors = rater_errors(judge[rows], person[rows])
    return errors.mae, errors.rmse, 100 * errors.within_1, errors.bias


def _against(name: str, judge: Floats, people: dict[str, Floats], rows: Mask, table: str) -> Iterator[RecomputedCell]:
    """Yield a judge's errors; the paper prints the mean of the two persons' figures, section 8 both of them."""
    errors = {person: _errors(judge, scores, rows) for person, scores in people.items()}
    for person, (mae, rmse, share_within, bias) in errors.items():
        suffix, n = person.lower(), int(_both(judge, people[person], rows).sum())
        yield RecomputedCell(table, name, f"mae_{suffix}", mae, f"n = {n}", n=n)
        if table != "judges.people":
            yield RecomputedCell(table, name, f"rmse_{suffix}", rmse, n=n)
            yield RecomputedCell(table, name, f"within_1_{suffix}", share_within, n=n)
            yield RecomputedCell(table, name, f"bias_{suffix}", bias, n=n)
            low = rows & (people[person] <= 2)
            found_low = low & (np.rint(judge * 3) <= 7)
            yield RecomputedCell(
                table, name, f"recall_low_{suffix}", float(found_low.sum() / low.sum()) if low.any() else None, n=n
            )
    if table == "judges.people" and len(errors) == 2:
        for column, values in zip(("mae", "rmse", "within_1"), zip(*errors.values(), strict=True), strict=False):
            yield RecomputedCell(table, name, column, float(np.mean(values)))


def _constant(name: str, judge: Floats, people: dict[str, Floats], rows: Mask, table: str) -> Iterator[RecomputedCell]:
    for person, scores in people.items():
        mae, _, share_within, _ = _errors(judge, scores, rows)
        n = int(_both(judge, scores, rows).sum())
        if (name, table) != ("constant 4", "derived.judges.constant"):  # nothing was recorded of its MAE
            yield RecomputedCell(table, name, f"mae_{person.lower()}", mae, n=n)
        yield RecomputedCell(table, name, f"within_1_{person.lower()}", share_within, n=n)
