"""A judge and people with different instruments are told so before any agreement between them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

import mindgauge
from mindgauge.analysis.escalation import subjects
from mindgauge.analysis.judge_comparison.compare import JudgeComparison
from mindgauge.analysis.score import open_run
from mindgauge.records.instruments import RELEASED, SAME_NOT, by_rater, difference
from tests import in_process
from tests.analysis.test_drawn import drawn_world, of_people
from tests.benchmarks.help_or_harm.conftest import Copy, _write
from tests.stub import Stub, says

if TYPE_CHECKING:
    from pathlib import Path

    from aiohttp import web


@pytest.mark.parametrize(
    ("judge", "people", "differs"),
    [
        ("r@1#abc", "r@1#def", False),
        ("r@1#abc", RELEASED, True),
        ("r@1+authors-1#abc", "r@1#def", True),
        ("r@1#abc", "r@2#def", True),
        ("", "r@1", False),
        ("r@1", "", False),
    ],
)
def test_rubric_and_whose_words_make_an_instrument(judge: str, people: str, differs: bool) -> None:
    used = by_rater([("j", judge), ("ana", people)], loaded=False)
    assert difference("j", ["ana"], used).startswith(SAME_NOT) is differs


def test_a_released_rating_is_by_the_authors_instrument_and_a_judge_s_sum_is_by_the_judge_s() -> None:
    used = by_rater([("ana", ""), ("j", "r@1#abc"), ("j", None)], loaded=True)
    assert used == {"ana": frozenset({RELEASED}), "j": frozenset({"r@1"})}


def answered(*_: object) -> web.Response:
    return says('{"quotes": [], "rationale": "r", "appropriateness": 3}')


def test_a_judge_of_ours_beside_people_of_a_release(tmp_path: Path) -> None:
    _write(Copy(tmp_path / "data"))
    run = tmp_path / "run"
    mindgauge.papers_load("help_or_harm/response", data=tmp_path / "data", out=run)
    with Stub(answered) as stub:
        compared = mindgauge.judges_compare(
            "help_or_harm/response",
            replies=run,
            judge=stub.judge,
            out=tmp_path / "compared",
            method="rule",
            judge_runs=1,
            resamples=100,
        )
        mindgauge.rate("help_or_harm/response", replies=run, judge=stub.judge)
    assert isinstance(compared, JudgeComparison)
    assert compared.notes[0].startswith(f"{stub.judge}: {SAME_NOT}")
    reliability = mindgauge.reliability(run, resamples=100)
    judge_cards = [card for card in reliability.cards if card.judge == stub.judge]
    assert judge_cards
    assert all(card.warnings[0].startswith(SAME_NOT) for card in judge_cards)
    other_cards = [card for card in reliability.cards if card.judge != stub.judge]
    assert not any(warning.startswith(SAME_NOT) for card in other_cards for warning in card.warnings)
    store, (benchmark,), _ = open_run(run)
    with store:
        rated = subjects.read(store, benchmark, "appropriateness<=2", [])
    assert rated.notes[0].startswith(f"{stub.judge}: {SAME_NOT}")


def test_corrected_scores_say_so_before_an_estimate(tmp_path: Path) -> None:
    """In the terminal and on the page, of means by cards and of what a drawn part says of all."""
    world, drawn = drawn_world(2)
    people = [*of_people(world, drawn, weigh=True)]
    world.ratings = [
        *(structs.replace(rating, instrument="help_or_harm/response@1.1#ours") for rating in world.ratings),
        *(structs.replace(rating, instrument="help_or_harm/response@1.1+authors-1#theirs") for rating in people),
    ]
    run = world.write(tmp_path / "run")
    for frame in mindgauge.score(run).frames:
        assert frame.note.startswith(SAME_NOT) is (frame.by != "people")
    page = re.sub(r"<[^>]+>|\s+", " ", mindgauge.report(run, out=tmp_path / "out").path.read_text(encoding="utf-8"))
    scored = " ".join(in_process.mindgauge("score", run, "--full").stdout.split())
    told = " ".join(in_process.mindgauge("reliability", run, "--resamples", "100", "--full").stdout.split())
    of_frames, of_cards = f"a drawn part; {SAME_NOT}: m", f"the judge alone; {SAME_NOT}: m"
    assert of_frames in scored
    assert of_frames in page
    assert of_cards in told
    assert of_cards in page
