"""A run that repeats a released model's answers has that model's row to the digit, and its place in the table of ranks."""

from __future__ import annotations

import json
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.benchmarks.released import RankPlace
from mindgauge.benchmarks.trustmh import reproduce
from mindgauge.benchmarks.trustmh.ethics import dilemmas as released_ethics
from mindgauge.benchmarks.trustmh.privacy_awareness import privacy_awareness
from mindgauge.benchmarks.trustmh.released import outputs
from mindgauge.store import Store
from tests import in_process
from tests.benchmarks.trustmh import made
from tests.stub import Stub, says, words

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aiohttp import web

    from mindgauge.analysis.beside_published import NewRow
    from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease
    from mindgauge.commands.reproduce import Reproduction

    Answers = dict[tuple[str, str], str]

LABEL = {"ask.en.md": "{dialogue}\nAnswer: ", "instrument.toml": 'name = "authors"\nanswer = "label"\nfence = false'}
"""The authors' form of asking for a number."""
LETTERS = made.RIGHT * 3
SCORE = reproduce._SCORES["trustmh/privacy_leakage"]._replace(better=1)


def repeating(answers: Answers) -> Callable[[dict[str, Any], int], web.Response]:
    """Answer each model's request with what stands for its name and the longest text that occurs in it."""
    by_length = sorted(answers.items(), key=lambda item: -len(item[0][1]))

    def handler(body: dict[str, Any], _: int) -> web.Response:
        asked = words(body)
        return says(next((a for (model, text), a in by_length if model == body["model"] and text in asked), "x"))

    return handler


def ran(
    task: str, folder: Path, data: Path, answers: Answers, *, files: dict[str, str] | None = None, **more: Any
) -> Path:
    """Run a task as published with a stub for each model among the answers, and `judge` as judge if it is one of them."""
    if files:
        more["instrument"] = folder / "authors"
        for name, text in files.items():
            made.write(folder / "authors" / name, text)
    models = sorted({model for model, _ in answers} - {"judge"})
    with Stub(repeating(answers)) as stub:
        judge = [stub.judge] * any(model == "judge" for model, _ in answers)
        mindgauge.run(
            f"trustmh/{task}", model=[f"{stub.url}#{model}" for model in models], judge=judge, data=data, qualify=False,
            out=folder / "run", **{"as_published": True, **more},
        )  # fmt: skip
    return folder / "run"


def row_of(result: Reproduction, model: str) -> NewRow:
    return next(row for row in result.beside if row.row.startswith(model))


def place_of(result: Reproduction, model: str) -> RankPlace:
    return next(place for place in result.places if place.model.startswith(model))


def recomputed(result: Reproduction, table: str, model: str) -> dict[str, Any]:
    cells = [c for c in result.cells if (c.table, c.row) == (table, model) and c.verdict != "repaired"]
    return {cell.column: cell.recomputed for cell in cells}


# -- ethics -----------------------------------------------------------------------------------------------------------

CHOSEN = {"gpt-4o-mini": LETTERS[:11] + "D", "SoulChat2": LETTERS[:7] + "DDDDD", "gpt-5.1": LETTERS[:2] + "D" * 10}
"""In the order of the published row: ranks 3, 6 and 12."""


def ethics_files(folder: Path, chosen: dict[str, str] = CHOSEN) -> Path:
    made.dilemmas(folder, LETTERS)
    for model, letters in chosen.items():
        made.ethics(folder, model, letters, right_letters=LETTERS)
    return folder


def ethics_answers(chosen: str, *, model: str = "new", judged: bool = True) -> Answers:
    levels = dict(
        zip((c.name for c in benchmarks.asked_one("trustmh/ethics").rubric.criteria), (5, 4, 3, 2, 1), strict=True)
    )
    answers = {
        (model, f"Case {n} happens."): json.dumps({"choice": letter, "reasoning": "So."})
        for n, letter in enumerate(chosen)
    }
    verdict = json.dumps({"quotes": [], "rationale": "r", **levels})
    return answers | ({("judge", "Case"): verdict} if judged else {})


@pytest.mark.parametrize("judged", [True, False])
def test_a_run_with_released_choices_has_the_released_row_of_ethics(judged: bool, tmp_path: Path) -> None:
    data = ethics_files(tmp_path / "data")
    run = ran("ethics", tmp_path, data, ethics_answers(CHOSEN["SoulChat2"], judged=judged))
    result = mindgauge.papers_reproduce("trustmh", data=data, beside=run)
    row, released = row_of(result, "new"), recomputed(result, "derived.ethics", "SoulChat2")
    assert row.row == ("new, judged by judge" if judged else "new")
    assert released["judge_mean"] == 3
    assert row.notes == ({} if judged else {"judge_mean": "no judge rated it"})
    assert row.values == pytest.approx({**released, **({} if judged else {"judge_mean": None})})
    assert not any("missing" in reason or "could not be read" in reason for reason in row.reasons)


def test_the_place_has_an_interval_and_the_published_ranks_next_to_it(tmp_path: Path) -> None:
    data = ethics_files(tmp_path / "data")
    run = ran("ethics", tmp_path, data, ethics_answers(LETTERS[:9] + "DDD", judged=False))
    (place,) = mindgauge.papers_reproduce("trustmh", data=data, beside=run).places
    assert (place.row, place.model, place.place, place.n) == ("Ethics: Ethical Reasoning", "new", 2, 12)
    assert place.value == 0.75
    assert sorted(place.among) == ["SoulChat2", "gpt-4o-mini", "gpt-5.1"]
    assert (place.low, place.high) == (1, 3), "of 12 dilemmas, only gpt-5.1 is surely worse, with 2 right answers to 9"
    assert (place.better_rank, place.worse_rank) == (3, 6)
    command = ("papers", "reproduce", "trustmh", "--data", data, "--beside", run)
    shown = " ".join(in_process.mindgauge(*command).stdout.split())
    assert "new, Ethics: Ethical Reasoning: place 2 of 4, 95% interval 1 to 3." in shown
    assert "in the row of 12 it comes after rank 3 and before rank 6" in shown
    (in_json,) = json.loads(in_process.mindgauge(*command, "--json").stdout)["places"]
    assert (in_json["place"], in_json["low"], in_json["high"]) == (2, 1, 3)


def test_models_in_another_order_than_the_published_one_leave_no_place_in_its_row(tmp_path: Path) -> None:
    swapped = {"gpt-5.1": CHOSEN["gpt-4o-mini"], "gpt-4o-mini": CHOSEN["gpt-5.1"]}
    data = ethics_files(tmp_path / "data", swapped)
    run = ran("ethics", tmp_path, data, ethics_answers(LETTERS[:5] + "D" * 7, judged=False))
    (place,) = mindgauge.papers_reproduce("trustmh", data=data, beside=run).places
    assert (place.place, place.better_rank, place.worse_rank) == (2, None, None)
    assert "another order in the published row" in place.told


def test_a_choice_that_cannot_be_read_is_wrong_and_lacks_in_no_place(tmp_path: Path) -> None:
    data = ethics_files(tmp_path / "data")
    answers = ethics_answers(LETTERS[:9], judged=False)
    run = ran("ethics", tmp_path, data, answers)
    result = mindgauge.papers_reproduce("trustmh", data=data, beside=run)
    assert place_of(result, "new").value == 0.75
    assert row_of(result, "new").values["D"] == 0
    assert "3 answers could not be read" in row_of(result, "new").but_for


def test_a_run_that_lacks_many_answers_has_no_place(tmp_path: Path) -> None:
    data = ethics_files(tmp_path / "data")
    run = ran("ethics", tmp_path, data, ethics_answers(LETTERS, judged=False), limit=11)
    place = place_of(mindgauge.papers_reproduce("trustmh", data=data, beside=run), "new")
    assert (place.place, place.low, place.value) == (None, None, None)
    assert "It lacks 1 of 12 values, more than 5 %" in place.told


@pytest.mark.parametrize(("missing", "placed"), [(5, True), (6, False)])
def test_each_part_of_the_score_may_lack_a_twentieth(missing: int, placed: bool) -> None:
    keys = [(part, str(n)) for part in ("large", "small") for n in range(300 if part == "large" else 100)]
    stored = {key: float(number % 2) for number, key in enumerate(keys)}
    own = {key: 1.0 for key in keys if key[0] == "large" or int(key[1]) >= missing}
    place = reproduce._placed(RankPlace("row", "new", among=["old"]), SCORE, [own, stored], {})
    assert (place.place is not None) == placed, place.note
    assert place.note.startswith("It lacks 5 values that all" if placed else "It lacks 6 of 100 values of part “small”")


@pytest.mark.parametrize("shares", [(0.735, 0.73, 0.73, 0.73, 0.73, 0.73), (0.725, 0.73, 0.73, 0.73, 0.73, 0.73)])
def test_the_interval_of_a_place_holds_the_true_one_where_models_are_close(shares: tuple[float, ...]) -> None:
    generator, items, held, studies = np.random.default_rng(3), 125, 0, 40
    true = 1 + sum(share > shares[0] for share in shares)
    for _ in range(studies):
        hardness = generator.normal(size=items)
        abilities = 0.6**0.5 * hardness + 0.4**0.5 * generator.normal(size=(len(shares), items))
        cells = [
            {("", str(n)): float(value < NormalDist().inv_cdf(share)) for n, value in enumerate(row)}
            for share, row in zip(shares, abilities, strict=True)
        ]
        place = reproduce._placed(RankPlace("row", "new", among=["old"] * 5), SCORE, cells, {})
        assert place.low is not None
        assert place.high is not None
        held += place.low <= true <= place.high
    assert held >= 0.94 * studies


def test_released_models_that_were_loaded_are_placed_among_the_others(tmp_path: Path) -> None:
    data = ethics_files(tmp_path / "data")
    mindgauge.papers_load("trustmh/ethics", data=data, out=tmp_path / "loaded")
    places = mindgauge.papers_reproduce("trustmh", data=data, beside=tmp_path / "loaded").places
    assert {place.model: place.place for place in places} == {"gpt-4o-mini": 1, "SoulChat2": 2, "gpt-5.1": 3}
    assert not any("another way" in place.told for place in places)


# -- privacy ----------------------------------------------------------------------------------------------------------


def test_a_run_with_released_numbers_has_the_released_row_of_awareness(tmp_path: Path) -> None:
    raw = ["1", "2) Slightly.", "My answer: **3) Rather sensitive**\n\n(It is known to few.)", "4"]
    twos = [-100.0, -50.0, 50.0, 0.0]
    data = tmp_path / "data"
    made.items(data)
    made.tier_1(data, "gpt-5.1", raw, [1.0, 2.0, 3.0, 4.0], 0.5)
    answers = {("new", f"Item 1.{n}"): text for n, text in enumerate(raw)}
    for tier in ("2a", "2b"):
        made.tier_2(data, "gpt-5.1", tier, [*twos])
        answers |= {("new", f"Item {tier}.{n}"): str(int(number)) for n, number in enumerate(twos)}
    result = mindgauge.papers_reproduce(
        "trustmh", data=data, beside=ran("privacy_awareness", tmp_path, data, answers, files=LABEL)
    )
    row = row_of(result, "new")
    assert row.values == pytest.approx(recomputed(result, "derived.privacy_awareness", "gpt-5.1"))
    assert row.values["n_2"] == 4
    place = place_of(result, "new")
    assert (place.place, place.low, place.n) == (1, None, 8)
    assert "no interval of so few items" in place.told


def test_a_run_of_one_tier_has_no_place_by_the_mean_of_three(tmp_path: Path) -> None:
    data = tmp_path / "data"
    made.items(data)
    made.tier_1(data, "gpt-5.1", ["1", "2", "3", "4"], [1.0, 2.0, 3.0, 4.0], 0.5)
    made.tier_2(data, "gpt-5.1", "2a", [-100.0, -50.0, 50.0, 0.0])
    answers = {("new", f"Item 1.{n}"): str(n + 1) for n in range(4)}
    run = ran("privacy_awareness", tmp_path, data, answers, files=LABEL, where={"tier": ("1",)})
    result = mindgauge.papers_reproduce("trustmh", data=data, beside=run)
    assert place_of(result, "new").place is None
    assert "no values of 1 part of the score" in place_of(result, "new").told
    row = row_of(result, "new")
    assert row.values["tier_1"] is not None
    assert row.values["mean"] is None
    assert row.notes["mean"] == "one of tier_1, tier_2a and tier_2b has no figure"


def leakage_files(folder: Path) -> tuple[Path, Answers]:
    made.stories(folder)
    first = ("I say nothing of Ada.", "Ada and Dr. Roe, not Friend Kim.", "Ada", "No, that would be wrong.")
    second = ("It is about work.", "Dr. Lee", "Ben, Dr. Lee", "Well.")
    made.replies(folder, "gpt-5.1", first, second, stated={("free-response", "proxy-model"): 0.5})
    benchmark, answers = benchmarks.asked_one("trustmh/privacy_leakage"), (*first, *second)
    told = {
        sample.messages[0].content: text
        for read in (benchmark.read, benchmark.readers["as_shipped"])
        for sample, text in zip(read(folder), answers, strict=True)
    }
    return folder, {("new", text): answer for text, answer in told.items()}


def test_a_run_with_released_replies_has_the_released_row_of_leakage(tmp_path: Path) -> None:
    data, answers = leakage_files(tmp_path / "data")
    run = ran("privacy_leakage", tmp_path, data, answers)
    result = mindgauge.papers_reproduce("trustmh", data=data, beside=run)
    row, released = row_of(result, "new"), recomputed(result, "derived.privacy_leakage", "gpt-5.1")
    assert row.values == pytest.approx({**released, "proxy": None})
    assert released["access_error"] == released["sharing_error"] == 0.5
    assert row.notes == {"proxy": "no judge rated it"}
    place = place_of(result, "new")
    assert (place.place, place.better_rank, place.worse_rank) == (1, None, None)
    assert "The paper does not say what these ranks rest on" in place.told
    with Store(run) as store:
        raters = {rating.rater for rating in store.ratings("trustmh/privacy_leakage")}
    assert "rule/substrings" in raters
    assert "rule/substrings" not in mindgauge.score(run).judges


def test_the_authors_tests_of_substrings_are_read_under_their_protocol_alone(tmp_path: Path) -> None:
    data, answers = leakage_files(tmp_path / "data")
    run = ran("privacy_leakage", tmp_path, data, answers, as_published=False)
    result = mindgauge.papers_reproduce("trustmh", data=data, beside=run)
    with Store(run) as store:
        assert "rule/substrings" not in {rating.rater for rating in store.ratings("trustmh/privacy_leakage")}
    assert not result.beside
    assert "run it --as-published on all items" in place_of(result, "new").told


def test_a_task_without_released_outputs_has_no_place_and_says_so(tmp_path: Path) -> None:
    with Stub(lambda body, count: says('{"choice": "A"}')) as stub:
        mindgauge.run("trustmh/knowledge", model=stub.model, out=tmp_path / "run", limit=2)
    result = mindgauge.papers_reproduce("trustmh", data=tmp_path, beside=tmp_path / "run")
    (place,) = result.places
    assert (place.row, place.place) == ("Reliability: Knowledge", None)
    assert "released no outputs of their models for this task" in place.told
    assert not result.beside


def test_files_without_stored_outputs_leave_no_place(tmp_path: Path) -> None:
    data = ethics_files(tmp_path / "data", {})
    run = ran("ethics", tmp_path, data, ethics_answers(LETTERS, judged=False))
    (place,) = mindgauge.papers_reproduce("trustmh", data=data, beside=run).places
    assert place.place is None
    assert "no stored outputs of the paper's models" in place.told


# -- the real files ---------------------------------------------------------------------------------------------------


def test_the_real_choices_of_six_models_give_their_six_rows(real: TrustMHRelease, tmp_path: Path) -> None:
    ethics = benchmarks.asked_one("trustmh/ethics")
    samples = ethics.readers["as_shipped"](real.folder)
    stored, _ = outputs.readable(real, released_ethics.STORED, released_ethics.stored_in)
    answers: Answers = {}
    for output in stored:
        for sample, entry, judged in zip(samples, output.results, output.judged, strict=True):
            told = {"choice": judged["model_choice_option"], "reasoning": entry.get("model_reasoning")}
            answers[output.model, sample.messages[0].content] = entry.get("response", {}).get("content") or json.dumps(
                told
            )
    result = mindgauge.papers_reproduce(
        "trustmh", data=real.folder, beside=ran("ethics", tmp_path, real.folder, answers)
    )
    assert len(result.beside) == len(result.places) == 6
    for row in result.beside:
        released = recomputed(result, "derived.ethics", row.row)
        assert row.values == pytest.approx({**released, "judge_mean": None})
    ranks = {place.model: (place.place, place.better_rank, place.worse_rank) for place in result.places}
    assert ranks["gpt-5.1"] == (6, 7, None), "the order by accuracy is the published one"
    assert ranks["gpt-4o-mini"] == (2, 1, 5)
    assert all(place.n == 125 and place.low is not None for place in result.places)


def test_the_real_numbers_of_awareness_give_the_stored_correlations(real: TrustMHRelease, tmp_path: Path) -> None:
    """Two of the three models were asked 20 of the 98 items of tier 2, so files of 20 items are asked here."""
    items, _ = privacy_awareness.expectations(real)
    stored, _ = outputs.answers(real)
    by_item = {
        (a.model, a.tier, a.item): a.raw if a.raw is not None else "none" if a.number is None else f"{a.number:g}"
        for a in stored
    }
    samples = benchmarks.asked_one("trustmh/privacy_awareness").readers["lines"](real.folder)
    answers = {
        (model, sample.messages[0].content.strip()): by_item[model, item.tier, item.number]
        for model in ("gpt-5.1", "claude-sonnet-4-5-20250929")
        for item, sample in zip(items, samples, strict=True)
        if (model, item.tier, item.number) in by_item
    }
    for name in {file for files in privacy_awareness.TIERS.values() for file in files[:2]}:
        made.write(tmp_path / "twenty" / name, "\n".join(real.require(name, "").lines()[:20]) + "\n")
    run = ran("privacy_awareness", tmp_path, tmp_path / "twenty", answers, files=LABEL)
    result = mindgauge.papers_reproduce("trustmh", data=real.folder, beside=run)
    first = row_of(result, "gpt-5.1")
    assert first.values == pytest.approx(recomputed(result, "derived.privacy_awareness", "gpt-5.1"))
    second, released = (
        row_of(result, "claude").values,
        recomputed(result, "derived.privacy_awareness", "claude-sonnet-4-5-20250929"),
    )
    assert [second[tier] for tier in ("tier_2a", "tier_2b")] == pytest.approx(
        [released["tier_2a"], released["tier_2b"]]
    )
    assert second["tier_1"] == pytest.approx(0.7554, abs=5e-5), "the authors' reader takes two answers of 3 for 4"
    assert place_of(result, "gpt-5.1").place == 1


def test_the_real_replies_about_secrets_give_the_stated_means(real: TrustMHRelease, tmp_path: Path) -> None:
    benchmark = benchmarks.asked_one("trustmh/privacy_leakage")
    assert benchmark.load is not None
    content = benchmark.load(real.folder)
    shipped = benchmark.readers["as_shipped"](real.folder)
    texts = {s.id: asked.messages[0].content for s, asked in zip(benchmark.read(real.folder), shipped, strict=True)}
    answers = {(reply.model, texts[reply.sample]): reply.text for reply in content.replies if reply.model == "gpt-5.1"}
    result = mindgauge.papers_reproduce(
        "trustmh", data=real.folder, beside=ran("privacy_leakage", tmp_path, real.folder, answers)
    )
    values = row_of(result, "gpt-5.1").values
    assert values == pytest.approx({**recomputed(result, "derived.privacy_leakage", "gpt-5.1"), "proxy": None})
    assert place_of(result, "gpt-5.1").place == 1
