"""`reproduce --beside RUN`: a run's rows below a published table, comparable or not; and figures of ours tied to their files."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.analysis.reproduce import MeasuredOn, compare, load_published
from mindgauge.benchmarks import RecomputedCell
from mindgauge.records.errors import DataError, UsageError
from tests import in_process
from tests.benchmarks.help_or_harm.conftest import Copy, loaded, real, small
from tests.stub import PROBED, Stub, says, words
from tests.thinned import later

if TYPE_CHECKING:
    from pathlib import Path

    from aiohttp import web

__all__ = ["loaded", "real", "small"]


def release(path: Path) -> Path:
    """Write two items in the authors' layout."""
    path.mkdir()
    rows = [{"context": f"[seeker]我很累{n}", "response": "[supporter]听起来很辛苦", "label": 7} for n in range(2)]
    (path / "test.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    return path


@pytest.mark.parametrize("published", [True, False])
def test_a_run_stands_below_the_published_rows_and_says_why_it_may_not(published: bool, tmp_path: Path) -> None:
    data = release(tmp_path / "data")
    with Stub(lambda body, count: says('{"quotes": [], "rationale": "r", "category": "Safe Response"}')) as stub:
        mindgauge.run("dialogue_safety", model=stub.model, data=data, out=tmp_path / "run", as_published=published)
    (row,) = mindgauge.papers_reproduce("dialogue_safety", data=data, beside=tmp_path / "run").beside
    assert row.title == "Table 2"
    assert row.values["accuracy"] == row.values["recall"] == 100
    assert row.published["BERT-base"]["accuracy"] == 70.3
    assert not row.comparable
    assert any(
        ("all 800 items: 2 were asked about" if published else "not run --as-published") in reason
        for reason in row.reasons
    )
    result = in_process.mindgauge(
        "papers", "reproduce", "dialogue_safety", "--data", data, "--beside", tmp_path / "run"
    )
    assert f"new: {row.row}"[:20] in result.stdout
    assert "not comparable with Table 2" in result.stdout


@pytest.mark.parametrize("name", ["help_or_harm", "help_or_harm/response"])
def test_a_run_of_any_benchmark_of_the_paper_stands_below_its_table(name: str, small: Copy, tmp_path: Path) -> None:
    """The paper's files are one benchmark's to recompute; the run is another's, and its judge gives no verdict."""
    with Stub(lambda body, count: says("I cannot say.")) as stub:
        mindgauge.run("help_or_harm/response", model=stub.model, judge=stub.judge, out=tmp_path / "run", limit=2)
    row, *by_category = mindgauge.papers_reproduce(name, data=small.root, beside=tmp_path / "run").beside
    assert (row.table, row.row) == ("test.responses", "stub, judged by judge")
    assert [other.table for other in by_category] == [f"test.category_{name}" for name in ("mean", "low", "share_1")]
    assert "mean" in row.values
    assert {*row.values.values()} == {None}
    assert row.reasons == ["it was not run --as-published", "no usable verdict in 2 of 2", "2 verdicts are missing"]


def test_a_run_of_another_benchmark_is_refused(tmp_path: Path) -> None:
    data = release(tmp_path / "data")
    with Stub(lambda body, count: says("x")) as stub:
        mindgauge.run("help_or_harm/crisis_type", model=stub.model, out=tmp_path / "run", limit=1)
    with pytest.raises(UsageError, match="and not of dialogue_safety"):
        mindgauge.papers_reproduce("dialogue_safety", data=data, beside=tmp_path / "run")


def test_figures_of_ours_are_compared_only_with_the_files_they_were_measured_on(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "ratings").mkdir(parents=True)
    (data / "ratings" / "a.json").write_text("[1]", encoding="utf-8")
    (data / "readme.md").write_text("this does not count", encoding="utf-8")
    digest = MeasuredOn(files=("*/ratings/*.json",), sha256="").digest(data)
    table = '\n[[table]]\nname = "{}"\nneeds = "a.json"\ncolumns = ["x"]\ntolerance = 0\n[table.rows]\n"m" = [1]\n'
    path = tmp_path / "published.toml"
    path.write_text(
        f'[measured_on.ratings]\nfiles = ["*/ratings/*.json"]\nsha256 = "{digest}"\n'
        + table.format("paper")
        + table.format("derived.ours"),
        encoding="utf-8",
    )
    cells = [RecomputedCell(name, "m", "x", 2) for name in ("paper", "derived.ours")]

    def verdicts(place: Path) -> list[str]:
        return [cell.verdict for cell in compare(load_published(path), cells, place)]

    assert verdicts(data) == ["differs", "differs"]
    packed = tmp_path / "packed"
    packed.mkdir()
    with zipfile.ZipFile(packed / "all.zip", "w") as archive:
        archive.write(data / "ratings" / "a.json", "ratings/a.json")
        archive.writestr("__MACOSX/ratings/._a.json", "what a Mac puts into zips")
    assert verdicts(packed) == ["differs", "differs"], "packed or not, they are the same files"
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "theirs").symlink_to(data)
    assert verdicts(linked) == ["differs", "differs"], "behind a link, too"
    (data / "ratings" / "b.json").write_text("[2]", encoding="utf-8")
    assert verdicts(data) == ["differs", "missing"]
    (packed / "half.zip").write_bytes((packed / "all.zip").read_bytes()[:40])
    with pytest.raises(DataError, match=r"half\.zip"):
        verdicts(packed)


@pytest.mark.parametrize("unread", [later(0), 1])
def test_a_new_judge_stands_beside_each_person_with_n_and_what_is_missing(
    unread: int, small: Copy, tmp_path: Path
) -> None:
    """H1 gives every reply 3 and H2 5; the judge gives 4, 4 and 1, whose mean is 3, and may not be readable once.

    Our gold of row 0 is open, since people tie there; the paper's judges had the label that it shipped.
    """
    run = tmp_path / "run"
    mindgauge.papers_load("help_or_harm/response", data=small.root, out=run)
    asked: dict[str, int] = {}

    def judged(body: dict[str, Any], count: int) -> web.Response:
        repeat = asked[words(body)] = asked.get(words(body), 0) + 1
        unreadable = "reply 1 by deepseek-chat to 2" in words(body) and repeat <= 2 * unread
        if unreadable:
            return says("I cannot say.")
        return says(json.dumps({"quotes": [], "rationale": "r", "appropriateness": 1 if repeat == 3 else 4}))

    with Stub(judged) as stub:
        mindgauge.rate("help_or_harm/response", replies=run, judge=stub.judge, as_published=True)
    rows = mindgauge.papers_reproduce("help_or_harm", data=small.root, beside=run).beside
    row = next(row for row in rows if (row.table, row.row) == ("judges.people", "judge"))
    assert row.n == {"H1": 6, "H2": 6}
    assert {row.table for row in rows} == {"judges.people"}, "what the authors released is no run of a protocol"
    assert {*row.values} == {"mae_h1", "mae_h2", "mae", "rmse", "within_1"}
    assert row.published["gpt-4o-mini"]["mae"] == 0.6456
    assert not row.comparable
    assert row.reasons[0] == "the words of judge.en.md and protocol.csv with --instrument DIR, so these are ours"
    assert not any("temperature" in reason for reason in row.reasons)
    assert len(stub.bodies) - stub.probes >= 6 * 3, "the six replies that people rated, and no other"
    assert {words(b).count("by deepseek-chat to") for b in stub.bodies if b.get("max_tokens") != PROBED} == {1}
    assert all("temperature" not in body and "seed" not in body for body in stub.bodies)
    assert "H1 has values of 6 replies here, and of 190 in the paper" in row.reasons
    if not unread:
        assert row.values == pytest.approx({"mae_h1": 0, "mae_h2": 2, "mae": 1, "rmse": 1, "within_1": 50})
        assert not any("without a value" in reason for reason in row.reasons)
    else:
        assert any(reason.endswith("without a value, left out of the means") for reason in row.reasons)
    assert (
        "judge: not comparable with the table of evaluators against people, n = 6 beside H1, n = 6 beside H2"
        in row.told
    )
    released = next(
        row for row in rows if (row.table, row.row) == ("judges.people", "gpt-4o-mini, by its released verdicts")
    )
    assert released.values["mae_h1"] == 1.0, "5, 4 and 3 have the mean 4"
    assert not any("so these are ours" in reason for reason in released.reasons)
    result = in_process.mindgauge("papers", "reproduce", "help_or_harm", "--data", small.root, "--beside", run)
    assert "new: judge" in result.stdout
    assert "evaluators against people, n = 6 beside H1" in " ".join(result.stdout.split())


def test_a_judge_that_was_asked_as_ours_are_is_told_so(small: Copy, tmp_path: Path) -> None:
    """Our gold of row 0 is open, since people tie there: by it that reply has no protocol, and no verdict."""
    run = tmp_path / "run"
    mindgauge.papers_load("help_or_harm/response", data=small.root, out=run)
    with Stub(lambda body, count: says('{"quotes": [], "rationale": "r", "appropriateness": 4}')) as stub:
        mindgauge.rate("help_or_harm/response", replies=run, judge=stub.judge)
    rows = mindgauge.papers_reproduce("help_or_harm", data=small.root, beside=run).beside
    row = next(row for row in rows if (row.table, row.row) == ("judges.people", "judge"))
    assert row.n == {"H1": 5, "H2": 5}
    assert "1 reply of H1's 6 without a verdict of this judge" in row.reasons
    assert "asked at temperature 0, and the paper sent none" in row.reasons
    assert "3 verdicts on each reply in the paper, and here 1 on some" in row.reasons


def test_a_judge_that_could_rate_nothing_has_a_row_that_says_so(small: Copy, tmp_path: Path) -> None:
    """Without the shipped labels the paper's judges have no protocol here: nothing is asked, and nothing left out."""
    run = tmp_path / "run"
    small.path("human_label/*merged_labels.json").unlink()
    mindgauge.papers_load("help_or_harm/response", data=small.root, out=run)
    with Stub(lambda body, count: says("x")) as stub:
        mindgauge.rate("help_or_harm/response", replies=run, judge=stub.judge, as_published=True, qualify=False)
    assert stub.calls == 0
    rows = mindgauge.papers_reproduce("help_or_harm", data=small.root, beside=run).beside
    row = next(row for row in rows if (row.table, row.row) == ("judges.people", "judge"))
    assert row.n == {"H1": 0, "H2": 0}
    assert {*row.values.values()} == {None}
    assert "6 replies of H1's 6 without a verdict of this judge" in row.reasons


def test_replies_of_no_such_table_are_not_rated_as_published(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no paper's table of judges beside people"):
        mindgauge.rate("conversations/risk", replies=tmp_path / "none.csv", judge="replay/none", as_published=True)
    table = tmp_path / "replies.csv"
    table.write_text("user,reply,category\nI am low.,I hear you.,no_crisis\n", encoding="utf-8")
    with Stub(lambda body, count: says("x")) as stub, pytest.raises(UsageError, match="mindgauge papers load"):
        mindgauge.rate("help_or_harm/response", replies=table, judge=stub.judge, as_published=True)
    with Stub(lambda body, count: says("x")) as stub, pytest.raises(DataError, match=r"no column label\.CRITERION"):
        mindgauge.rate("psycrisis", replies=table, judge=stub.judge, as_published=True)


def test_a_judge_without_a_verdict_on_a_reply_of_people_s_is_told_so(small: Copy, tmp_path: Path) -> None:
    run = tmp_path / "run"
    small.path("llm_evaluator/gpt-4o-mini/n_200/*deepseek-chat*000002_20260101-000001.json").unlink()
    mindgauge.papers_load("help_or_harm/response", data=small.root, out=run)
    rows = mindgauge.papers_reproduce("help_or_harm", data=small.root, beside=run).beside
    row = next(row for row in rows if row.table == "judges.people")
    assert "3 verdicts on each reply in the paper, and here 2 on some" in row.reasons


def test_released_judges_have_the_figures_measured_on_the_replies_that_are_here(real: Path, loaded: Path) -> None:
    rows = mindgauge.papers_reproduce("help_or_harm", data=real, beside=loaded).beside
    (row,) = [row for row in rows if (row.table, row.row) == ("judges.people", "gpt-4o-mini, by its released verdicts")]
    derived = {
        (cell.row, cell.column): cell.published
        for cell in mindgauge.papers_reproduce("help_or_harm", data=real).cells
        if cell.table == "derived.judges.archived"
    }
    for column in ("mae_h1", "mae_h2"):
        assert row.values[column] == pytest.approx(derived["gpt-4o-mini", column], abs=5e-3)
    assert any("of H1's" in reason for reason in row.reasons), "replies of models that are not here have no verdict"
