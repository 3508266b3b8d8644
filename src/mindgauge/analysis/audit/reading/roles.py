"""Which column of a table is what: id, text, label, options, scores; by its name and by what stands in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.audit.reading.tables import Row

LOOKED_AT = 2000
"""Rows that are looked at to tell what a column is."""
FILLED = 0.02
"""Columns with fewer filled cells say nothing of a table."""
_IDS = (
    "id", "sample_id", "example_id", "item_id", "question_id", "qid", "convid", "conversation_id", "dialogue_id", "data_id",
    "index", "idx", "uid", "uuid", "user", "column_0", "unnamed:_0",
)  # fmt: skip
_INPUTS = (
    "input", "inputs", "prompt", "question", "query", "context", "post", "user", "message", "messages", "dialogue", "dialog",
    "conversation", "scenario", "text", "situation", "concern", "line",
)  # fmt: skip
_REPLIES = ("reply", "response", "gpt_response", "assistant_response", "output", "completion", "generation", "model_reasoning")  # fmt: skip
_VERDICTS = ("explanation", "rationale", "reason", "justification", "judge_raw", "remark")
_LABELS = (
    "label", "gold", "target", "expected_reasoning", "ground_truth_option", "ground_truth", "answer", "correct_answer", "class",
    "is_asshole", "emotion_label",
)  # fmt: skip
_OPTIONS = ("options", "choices")
_SYSTEMS = ("model", "system", "model_name", "generator", "answer_model")
_SPLITS = ("split", "fold")
_SOURCES = ("source", "dataset", "dataset_id", "origin", "corpus")
_SCORES = re.compile(r"^(?:sc\d+|score|rating|evaluation|.*_score|.*_rating|.*_human|.*_gpt4o|human|judge|model)$")
_RATED = re.compile(r"^(?P<criterion>.+?)_(?P<rater>human|gpt4o|judge)$")
_WIDE = re.compile(r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]")
_OPTION = re.compile(r"^\s*([A-Z])[.):](?=\s|\w)", re.MULTILINE)


class Roles(NamedTuple):
    """What the columns of a table are. `texts` and `scores` map a column to its kind, and to (criterion, rater)."""

    id: str | None
    system: str | None
    split: str | None
    source: str | None
    label: str | None
    options: str | None
    texts: dict[str, str]
    answers: list[str]
    scores: dict[str, tuple[str, str]]


def roles(rows: Sequence[Row]) -> Roles:
    """Tell what the columns of a table are from its first rows."""
    rows = rows[:LOOKED_AT]
    names = dict.fromkeys(name for row in rows for name in row)
    cells = {name: [row[name] for row in rows if row.get(name, "").strip()] for name in names}
    columns = [name for name in names if len(cells[name]) > FILLED * len(rows)]
    label = _first(columns, _LABELS, lambda name: _closed(cells[name]))
    golds = {cell.strip() for cell in cells[label]} if label else set()
    texts = _texts(columns, cells)
    return Roles(
        id=_first(columns, _IDS, lambda name: len(set(cells[name])) > 1 and not cells[name][0].startswith("chatcmpl")),
        system=_first(columns, _SYSTEMS, lambda name: _closed(cells[name]) and not _numeric(cells[name])),
        split=_first(columns, _SPLITS, lambda name: _closed(cells[name])),
        source=_first(columns, _SOURCES, lambda name: _closed(cells[name])),
        label=label,
        options=_first(columns, _OPTIONS, lambda name: any(_OPTION.search(cell) for cell in cells[name])),
        texts=texts,
        answers=[
            name for name in columns
            if name != label and name not in texts and label and leaf(name) not in _LABELS and _closed(cells[name])
            and len({cell.strip() for cell in cells[name]} & golds) > 0.5 * len({cell.strip() for cell in cells[name]})
            and not (_numeric(cells[name]) and "predict" not in name)
        ],
        scores=_scores(columns, cells, texts),
    )  # fmt: skip


def leaf(name: str) -> str:
    """Return the telling part of a flattened name: `item.label` is a label, `judge_raw.content` a judge's words."""
    parts = re.sub(r"\s*\(.*?\)", "", name.casefold()).replace(" ", "_").split(".")
    if parts[-1] in {"content", "text"} and len(parts) > 1:
        return "response" if "choices" in parts else parts[-2]
    return parts[-1]


def letters(options: str) -> list[str]:
    """Return the letters of an options cell."""
    return _OPTION.findall(options)


def _first(columns: list[str], names: Sequence[str], fits: object) -> str | None:
    ranked = sorted((names.index(leaf(name)), i, name) for i, name in enumerate(columns) if leaf(name) in names)
    return next((name for _, _, name in ranked if fits(name)), None)  # type: ignore[operator]


def _closed(cells: list[str]) -> bool:
    """Whether a column holds one of a few short values in each row."""
    distinct = {cell.strip() for cell in cells}
    return 1 <= len(distinct) <= max(20, len(cells) // 20) and len(cells) >= 2 * len(distinct) and max(map(len, distinct)) <= 60  # fmt: skip


def _numeric(cells: list[str]) -> bool:
    return bool(cells) and sum(re.fullmatch(r"\s*-?\d+(?:\.\d+)?\s*", cell) is not None for cell in cells) > 0.9 * len(cells)  # fmt: skip


def _prose(cells: list[str]) -> bool:
    """Whether a column holds texts that somebody wrote, not codes, names or numbers."""
    if len(set(cells)) < 2 or _closed(cells):
        return False
    prose_cells = sum(len(cell) >= 8 and (" " in cell.strip() or bool(_WIDE.search(cell))) for cell in cells)
    longest = max(map(len, cells))
    return prose_cells > 0.5 * len(cells) or (prose_cells > 0 and longest >= 100)


def _texts(columns: list[str], cells: dict[str, list[str]]) -> dict[str, str]:
    """Give each column of texts its kind; the first of a kind by name has it, others go by their own name."""
    kinds: dict[str, str] = {}
    contents = set()
    for name in columns:
        key = hash(tuple(cells[name]))
        if _prose(cells[name]) and key not in contents:
            contents.add(key)
            kinds[name] = name
    for kind, names in (("input", _INPUTS), ("reply", _REPLIES), ("verdict", _VERDICTS)):
        named = sorted((names.index(leaf(name)), i, name) for i, name in enumerate(kinds) if leaf(name) in names)
        if named:
            kinds[named[0][2]] = kind
    if "input" not in kinds.values():
        rest = [
            name for name, kind in kinds.items() if kind == name and not re.search(r"reason|explan|prompt", leaf(name))
        ]
        if rest:
            kinds[max(rest, key=lambda name: sum(map(len, cells[name])))] = "input"
    judged = {name for name in kinds if re.fullmatch(r".*_reason|judge.*", leaf(name)) or (kinds[name] == name and _json(cells[name]))}  # fmt: skip
    return {name: "verdict" if name in judged else kind for name, kind in kinds.items()}


def _json(cells: list[str]) -> bool:
    """Whether most cells are JSON objects, as judges write them."""
    return sum(re.match(r"\s*(?:```(?:json)?\s*)?\{", cell) is not None for cell in cells) > 0.5 * len(cells)


def _scores(columns: list[str], cells: dict[str, list[str]], texts: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Find columns of scores: (criterion, rater) by column."""
    scored = {}
    for name in columns:
        parts = name.split(".")
        judged = len(parts) > 1 and parts[-2].startswith("judge") and parts[-1] != "content"
        if name in texts or not (_SCORES.match(leaf(name)) or judged) or not _numeric(cells[name]):
            continue
        rated = _RATED.match(leaf(name))
        if rated:
            scored[name] = (rated["criterion"], rated["rater"])
        elif leaf(name) in {"human", "model", "judge"}:
            scored[name] = ("value", leaf(name))
        else:
            scored[name] = (leaf(name), parts[-2] if len(parts) > 1 else "score")
    return scored
