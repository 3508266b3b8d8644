"""A new judge among MentalAlign's cells: it rates the released replies, and `reproduce --beside` gives its seven rows."""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import mindgauge
from mindgauge.analysis.beside_published import own_systems
from mindgauge.analysis.reliability.cards import VERDICTS
from mindgauge.benchmarks.mentalbench.cells import ATTRIBUTES
from mindgauge.benchmarks.mentalbench.released import OWN_SYSTEM
from mindgauge.records.errors import UsageError
from tests import in_process
from tests.benchmarks.mentalbench.conftest import (
    CLAUDE,
    GPT,
    PEOPLE,
    ROWS,
    SYSTEMS,
    Copy,
    cell,
    concern,
    real,
    small,
)
from tests.stub import PROBED, Stub, says, words
from tests.thinned import later

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mindgauge.analysis.beside_published import NewRow
    from mindgauge.commands.reproduce import Reproduction

__all__ = ["real", "small"]
COLUMNS = ("c1", "low", "high", "width", "a1", "status", "human_mean", "judge_mean", "bias", "mse")
IN_100K = ("response", "Claude-3.5-Haiku", "deepseek-llama", "deepseek-qwen", "Gemini", "gpt-4o", "gpt-4omini", "Llama-3.1", "Qwen-2.5", "Qwen-3")  # fmt: skip
PAPER = {"claude-3-7-sonnet-20250219": ("Claude", CLAUDE), "gpt-4o": ("GPT-4o", GPT)}


@pytest.fixture
def words_of_authors(tmp_path: Path) -> Path:
    """A judge's prompt that holds the rubric itself, and says under which names an answer has the attributes."""
    folder = tmp_path / "authors"
    folder.mkdir()
    keys = "\n".join(f'{name.lower()} = "{name}"' for name in ATTRIBUTES)
    (folder / "judge.en.md").write_text('Rate all seven.\n"{dialogue}"\n"{reply}"\n', encoding="utf-8")
    (folder / "instrument.toml").write_text(f'answer = "json"\nfence = false\n[keys]\n{keys}\n', encoding="utf-8")
    return folder


def with_texts(copy: Copy, empty: tuple[tuple[int, str], ...] = ()) -> None:
    """Put a file of the 100k form among the data, with made-up replies."""
    with (copy.root / "MentalBench-100k.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["context", *IN_100K])
        for row in range(ROWS):
            texts = ["" if (row, name) in empty else f"Reply {row} by {name}." for name in SYSTEMS]
            writer.writerow([concern(row), *texts])


def damaged(copy: Copy) -> None:
    """Plant what the released files have: zeros, a six, nothing, another concern, cells that cannot be read, or not by all."""
    copy.set(PEOPLE, "qwen_2", 3, cell(0))
    copy.set(PEOPLE, "qwen_3", 4, cell(6))
    copy.set(PEOPLE, "llama_3", 5, None)
    frame = copy.frames[PEOPLE]
    copy.write(PEOPLE, frame.with_columns(context=pl.Series([*frame["context"][:7], *frame["context"][6:-1]])))
    copy.set(CLAUDE, "gemini", 2, "I would rather not say.")
    copy.set(CLAUDE, "gpt4o", 3, cell(4).removesuffix("}"))
    copy.set(CLAUDE, "ds_qwen", 6, cell(0, 5, 5, 5, 5, 5, 5))


def repeating(copy: Copy, name: str, **more: Any) -> Callable[[dict[str, Any], int], Any]:
    """Answer as the judge of a workbook did, by conversation and system; with more keys, in our own form."""
    frame = copy.frames[name]
    held = {header.strip().removeprefix("judge_response_"): frame[header].to_list() for header in frame.columns}

    def answered(body: dict[str, Any], count: int) -> Any:
        reply = re.search(r"Reply (\d+) by (\w+)\.", words(body))
        answer = held[reply[2]][int(reply[1])] if reply else "ok"
        if reply and more:
            answer = json.dumps({**more, **{name.lower(): level for name, level in json.loads(answer).items()}})
        return says(answer)

    return answered


def rows_of(found: Reproduction, judge: str) -> list[NewRow]:
    return [row for row in found.beside if row.table == "cells" and row.row.startswith(f"{judge} (authors) / ")]


@pytest.mark.parametrize("judge", ["claude-3-7-sonnet-20250219", later("gpt-4o")])
def test_a_stub_that_repeats_a_released_judge_has_its_cells_to_the_digit(
    judge: str, small: Copy, words_of_authors: Path, tmp_path: Path
) -> None:
    """Of its own family the paper leaves out one system; the stub rates all ten, as the paper's judges did."""
    paper, file = PAPER[judge]
    damaged(small)
    with_texts(small)
    run = tmp_path / "run"
    mindgauge.papers_load("mentalbench", data=small.root, out=run)
    with Stub(repeating(small, file)) as stub:
        spec = f"{stub.url}#{judge}"
        arguments = ["--replies", run, "--judge", spec, "--as-published", "--instrument", words_of_authors]
        done = in_process.mindgauge("rate", "mentalbench", *arguments)
    assert done.returncode == 0, done.stderr
    assert "nothing is left to bring" in done.stderr
    bodies = [body for body in stub.bodies if body.get("max_tokens") != PROBED]
    assert len(bodies) == ROWS * 10, "every reply that the paper's judges rated, once"
    assert {(body["temperature"], body["max_tokens"], "seed" in body) for body in bodies} == {(0.7, 512, False)}
    found = mindgauge.papers_reproduce("mentalbench", data=small.root, beside=run)
    cells = {(c.row, c.column): c.recomputed for c in found.cells if c.verdict != "repaired"}
    rows = rows_of(found, judge)
    assert [row.row.partition(" / ")[2] for row in rows] == [*ATTRIBUTES]
    for row, attribute in zip(rows, ATTRIBUTES, strict=True):
        assert {*row.values} == {*COLUMNS}
        assert {column: cells[f"{paper} / {attribute}", column] for column in COLUMNS} == row.values
        assert None not in row.values.values()
        assert len(row.published) == 28
    assert any("people rated replies to 12 concerns here, and to 1,000 in the paper" in r for r in rows[0].reasons)
    if paper == "Claude":
        reason = next(reason for reason in rows[0].reasons if "have no value" in reason)
        assert reason.startswith("15 of 840 verdicts have no value (15 unparsable)"), "two cells, and a zero"
        assert any("2 of the 107 replies" in reason for reason in rows[0].reasons), "the two cells"
    shown = in_process.mindgauge("papers", "reproduce", "mentalbench", "--data", small.root, "--beside", run).stdout
    assert f"new: {judge} (authors) / Guidance" in shown
    assert "the 28 cells of judges and attributes, n = " in " ".join(shown.split())


def test_a_judge_of_no_family_there_has_ten_systems_and_one_of_openai_eight(
    small: Copy, words_of_authors: Path, tmp_path: Path
) -> None:
    with_texts(small)
    run = tmp_path / "run"
    mindgauge.papers_load("mentalbench", data=small.root, out=run)
    for model, systems, reason in (
        ("gpt-5-mini", 8, "8 systems here (without gpt-4o and gpt-4o-mini, of its own family), and 9 for each"),
        ("mistral-large", 10, "10 systems here (none is of its own family), and 9 for each judge of the paper"),
    ):
        lines: list[str] = []
        with Stub(repeating(small, GPT)) as stub:
            mindgauge.rate(
                "mentalbench", replies=run, judge=f"{stub.url}#{model}", as_published=True, instrument=words_of_authors,
                notice=lines.append,
            )  # fmt: skip
        assert stub.calls == ROWS * 10
        assert any("its row leaves its own system out" in line for line in lines)
        rows = rows_of(mindgauge.papers_reproduce("mentalbench", data=small.root, beside=run), model)
        assert len(rows) == 7
        assert rows[0].n == {"panel": ROWS * systems}
        assert any(reason in each for each in rows[0].but_for), rows[0].but_for


def test_failed_and_empty_ones_are_counted_and_never_zero(small: Copy, words_of_authors: Path, tmp_path: Path) -> None:
    """An empty reply is not sent as the word nan; a verdict that cannot be read has no level."""
    with_texts(small, empty=((2, "qwen_3"),))
    run = tmp_path / "run"
    mindgauge.papers_load("mentalbench", data=small.root, out=run)
    answer = repeating(small, GPT)

    def unsure(body: dict[str, Any], count: int) -> Any:
        return says("I cannot say.") if "Reply 5 by llama_3." in words(body) else answer(body, count)

    with Stub(unsure) as stub:
        mindgauge.rate(
            "mentalbench",
            replies=run,
            judge=f"{stub.url}#mistral-large",
            as_published=True,
            instrument=words_of_authors,
        )
    row = rows_of(mindgauge.papers_reproduce("mentalbench", data=small.root, beside=run), "mistral-large")[0]
    assert row.n == {"panel": ROWS * 10 - 2}
    assert any("1 reply is empty and not sent" in difference for difference in row.but_for)
    assert any("7 of 840 verdicts have no value (7 unparsable)" in reason for reason in row.reasons)
    assert float(row.values["judge_mean"] or 0) > 1


def test_words_of_ours_and_another_temperature_are_named(small: Copy, tmp_path: Path) -> None:
    with_texts(small)
    run = tmp_path / "run"
    mindgauge.papers_load("mentalbench", data=small.root, out=run)
    with Stub(lambda body, count: says(cell(4, 3, 5).lower())) as stub:
        mindgauge.rate("mentalbench", replies=run, judge=f"{stub.url}#mistral-large", qualify=False)
    rows = [
        row
        for row in mindgauge.papers_reproduce("mentalbench", data=small.root, beside=run).beside
        if row.row.startswith("mistral-large / ")
    ]
    assert len(rows) == 7
    assert any("so these are ours" in reason for reason in rows[0].reasons)
    assert "asked at temperature 0, and in the paper at 0.7" in rows[0].reasons


def test_without_the_texts_of_the_replies_nothing_is_sent(small: Copy, tmp_path: Path) -> None:
    mindgauge.papers_load("mentalbench", data=small.root, out=tmp_path / "run")
    with Stub(lambda body, count: says("x")) as stub, pytest.raises(UsageError, match="120 replies have no text here"):
        mindgauge.rate("mentalbench", replies=tmp_path / "run", judge=stub.judge, as_published=True, qualify=False)
    assert stub.calls == 0


@pytest.mark.parametrize(
    ("judge", "own"),
    [
        ("claude-3-7-sonnet-20250219", {"claude-3.5-haiku"}),
        ("anthropic/claude-3-7-sonnet-latest (authors)", {"claude-3.5-haiku"}),
        ("http://127.0.0.1:9/v1#gpt-4o-2024-11-20", {"gpt-4o"}),
        ("openai/o4-mini-2025-04-16", {"gpt-4o-mini"}),
        ("gpt-4o-mini", {"gpt-4o-mini"}),
        ("openai/gpt-5", {"gpt-4o", "gpt-4o-mini"}),
        ("google/gemini-2.5-flash", {"gemini-2.0-flash"}),
        ("mistral-large", set()),
    ],
)
def test_own_systems_are_the_papers_or_all_of_the_family(judge: str, own: set[str]) -> None:
    assert own_systems(judge, [*OWN_SYSTEM.values(), "original", "llama-3.1-8b"]) == own


def test_the_source_s_rule_on_a_loaded_run_gives_the_classes_of_reproduce(small: Copy, tmp_path: Path) -> None:
    """Zeros that people gave, and a row of another concern, change what the authors take and not what we do."""
    for row in range(0, ROWS, 2):
        small.set(PEOPLE, "gpt4omini", row, cell(0, 1, 0, 1, 0, 1, 0))
    damaged(small)
    classes_by_both(small.root, tmp_path / "run")
    first = in_process.mindgauge("reliability", tmp_path / "run", "--rule", "mentalbench").stdout.partition("\n")[0]
    assert first.startswith("By the paper's rule, ")
    assert "for comparison only" in first


@pytest.mark.long
def test_the_source_s_rule_gives_13_of_the_14_printed_classes(real: Path, tmp_path: Path) -> None:
    found = classes_by_both(real, tmp_path / "run")
    assert len(found) == 14
    assert sum(ours == theirs for ours, theirs in found.values()) == 13


def classes_by_both(data: Path, run: Path) -> dict[str, tuple[str, str]]:
    """Hold the classes of `reliability` against those of `reproduce`; return these and the printed ones."""
    mindgauge.papers_load("mentalbench", data=data, out=run)
    found = mindgauge.reliability(run, rule="mentalbench", resamples=50)
    short = {verdict: name for name, verdict in VERDICTS.items()}
    classes = {f"{PAPER[c.judge][0]} / {c.criterion.title()}": short.get(c.verdict, c.verdict) for c in found.cards}
    of_reproduce = {
        cell.row: (str(cell.recomputed), str(cell.published))
        for cell in mindgauge.papers_reproduce("mentalbench", data=data).cells
        if cell.column == "status" and cell.recomputed is not None and cell.verdict != "repaired"
    }
    assert {row: classes[row] for row in of_reproduce} == {row: name for row, (name, _) in of_reproduce.items()}
    assert any("those of mindgauge papers reproduce mentalbench" in note for note in found.notes)
    return of_reproduce


def test_a_new_system_stands_below_the_human_means_and_says_that_a_judge_gave_its_levels(
    small: Copy, words_of_authors: Path, tmp_path: Path
) -> None:
    turn = 0

    def answer(body: dict[str, Any], count: int) -> Any:
        nonlocal turn
        if "Rate all seven" not in words(body):
            return says(f"I hear you ({concern(0)}, {count}).")
        turn += 1
        return says(json.dumps({name: 1 + (turn + k) % 5 for k, name in enumerate(ATTRIBUTES)}))

    run = tmp_path / "run"
    with Stub(answer) as stub:
        mindgauge.run(
            "mentalbench", model=stub.model, judge=stub.judge, data=small.root, as_published=True,
            instrument=words_of_authors, out=run,
        )  # fmt: skip
    (row,) = mindgauge.papers_reproduce("mentalbench", data=small.root, beside=run).beside
    assert (row.table, row.title) == ("human means", "the human means of the nine models")
    assert {*row.values} == {*ATTRIBUTES, "average"}
    levels = [row.values[name] for name in ATTRIBUTES]
    assert row.values["average"] == pytest.approx(sum(float(level or 0) for level in levels) / 7)
    assert all(1 < float(level or 0) < 5 for level in levels)
    assert any("people's means and this row a judge's" in difference for difference in row.but_for)
