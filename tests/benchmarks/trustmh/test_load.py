"""`load`: the stored outputs of the authors' models as replies and ratings of our samples."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.score import score
from mindgauge.benchmarks.trustmh.released import outputs
from mindgauge.records import RaterKind, Status
from tests.benchmarks.trustmh import made

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks import Released
    from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease


def loaded(task: str, folder: Path) -> Released:
    load = benchmarks.find_one(f"trustmh/{task}").load
    assert load is not None
    return load(folder)


# -- ethics -----------------------------------------------------------------------------------------------------------


def test_replies_are_the_raw_ones_or_say_that_they_are_rebuilt(tmp_path: Path) -> None:
    made.dilemmas(tmp_path)
    made.ethics(tmp_path, "open-1", "CABD")
    made.ethics(tmp_path, "shut-1", "AAAA", raw=False)
    found = loaded("ethics", tmp_path)
    by = {model: [r for r in found.replies if r.model == model] for model in ("open-1", "shut-1")}
    assert by["open-1"][0].text.startswith("```json")
    assert all("rebuilt" not in reply.provenance for reply in by["open-1"])
    assert json.loads(by["shut-1"][0].text) == {"choice": "A", "reasoning": "Since so."}
    assert all("rebuilt" in reply.provenance for reply in by["shut-1"])
    assert sum("raw outputs are not stored" in note for note in found.notes) == 1
    assert any("was shown the expected option" in note for note in found.notes)


def test_choices_are_read_by_rule_and_the_judge_is_a_judge(tmp_path: Path) -> None:
    made.dilemmas(tmp_path)
    made.ethics(tmp_path, "open-1", "CABD")
    found = loaded("ethics", tmp_path)
    order = {reply.id: number for number, reply in enumerate(found.replies)}
    chosen = {order[r.subject]: r.value for r in found.ratings if r.rater == "rule/choice"}
    assert chosen == {0: "C", 1: "A", 2: "B", 3: "D"}
    judged = [r for r in found.ratings if r.rater == "gpt-4.1" and order[r.subject] == 0]
    assert {r.criterion: r.value for r in judged} == {
        "beneficence": 5, "fidelity": 4, "integrity": 3, "justice": 2, "respect": 1,
    }  # fmt: skip
    assert {r.rater_kind for r in judged} == {RaterKind.MODEL}
    assert judged[0].rationale == "reason 1"


def test_a_judge_s_value_off_the_scale_is_unparsable(tmp_path: Path) -> None:
    made.dilemmas(tmp_path)
    path = made.ethics(tmp_path, "open-1", "C")
    content = json.loads(path.read_text())
    content["judged"][0]["judge_parsed"] |= {"sc1": 6, "sc2": None, "sc3": "4"}
    del content["judged"][0]["judge_parsed"]["sc4"]
    path.write_text(json.dumps(content))
    statuses = [r.status for r in loaded("ethics", tmp_path).ratings if r.rater == "gpt-4.1"]
    assert statuses == [Status.UNPARSABLE] * 4 + [Status.OK]


def test_two_spellings_are_one_model_and_two_files_are_repeats(tmp_path: Path) -> None:
    made.dilemmas(tmp_path)
    made.ethics(tmp_path, "Gpt-9", "CABD")
    made.ethics(tmp_path, "gpt_9", "CABC", time="20260102_00_00_00")
    found = loaded("ethics", tmp_path)
    assert Counter((r.model, r.run) for r in found.replies) == {("Gpt-9", 0): 4, ("Gpt-9", 1): 4}
    assert any(note == "Gpt-9 is also written gpt_9; taken as one model" for note in found.notes)


def test_what_is_loaded_does_not_depend_on_where_it_lies(tmp_path: Path) -> None:
    for folder in (tmp_path / "here", tmp_path / "there"):
        made.dilemmas(folder)
        made.ethics(folder, "open-1", "CABD")
        made.items(folder)
        made.tier_2(folder, "m", "2a", [0.0])
        made.stories(folder)
        four = ("a", "b", "c", "no")
        made.replies(folder, "m", four, four, stated={})
    for task in ("ethics", "privacy_awareness", "privacy_leakage"):
        here, there = (loaded(task, tmp_path / folder) for folder in ("here", "there"))
        assert (here.samples, here.replies, here.ratings) == (there.samples, there.replies, there.ratings)
        assert here.ratings


def test_the_zip_that_something_was_read_from_is_recorded(real: TrustMHRelease, tmp_path: Path) -> None:
    mindgauge.papers_load("trustmh/ethics", data=real.folder, out=tmp_path / "run")
    sources = tomllib.loads((tmp_path / "run/manifest.toml").read_text(encoding="utf-8"))["sources"]
    assert list(sources) == ["ethics.zip"]


def test_a_copy_is_no_repeat(tmp_path: Path) -> None:
    made.dilemmas(tmp_path)
    made.ethics(tmp_path, "open-1", "CABD")
    made.ethics(tmp_path / "again", "open-1", "CABD")
    assert len(loaded("ethics", tmp_path).replies) == 4


def test_a_broken_file_is_named_and_the_others_are_loaded(tmp_path: Path) -> None:
    made.dilemmas(tmp_path)
    made.ethics(tmp_path, "open-1", "CABD")
    broken = made.ethics(tmp_path, "open-2", "CABD")
    broken.write_text(broken.read_text()[:200])
    found = loaded("ethics", tmp_path)
    assert {r.model for r in found.replies} == {"open-1"}
    (note,) = (note for note in found.notes if "open-2" in note)
    assert "broken JSON" in note
    assert "\n" not in note


def test_items_that_are_not_here_are_counted(tmp_path: Path) -> None:
    made.dilemmas(tmp_path)
    path = made.ethics(tmp_path, "open-1", "CA")
    content = json.loads(path.read_text())
    content["results"][1]["sample_id"] = content["judged"][1]["sample_id"] = 99
    path.write_text(json.dumps(content))
    found = loaded("ethics", tmp_path)
    assert len(found.replies) == 1
    assert any("1 entries about other items" in note for note in found.notes)


def test_the_released_outputs_score_as_published(real: TrustMHRelease, tmp_path: Path) -> None:
    mindgauge.papers_load("trustmh/ethics", data=real.folder, out=tmp_path / "run")
    found = score(tmp_path / "run", resamples=10)
    accuracy = {m.model: m for m in found.find("accuracy", criterion="choice") if m.rater == "rule/choice"}
    assert {m.n for m in accuracy.values()} == {125}
    assert accuracy["gpt-5.1"].value == pytest.approx(0.6)
    assert accuracy["Medtron3-70B"].value == pytest.approx(0.76)
    assert not found.find("option_consistency"), "nothing was asked in two orders"
    means = {m.model: m.value for m in found.find("mean", criterion="reasoning")}
    assert means["gpt-5.1"] == pytest.approx(4.552)
    assert means["Meditron-8B"] == pytest.approx(3.9856, abs=5e-4)


# -- privacy ----------------------------------------------------------------------------------------------------------


def test_answers_are_read_anew_where_they_are_stored(tmp_path: Path) -> None:
    made.items(tmp_path)
    raw = ['**Rating: 3) fairly**, not "4"', "2) little", "I cannot say: 3) or 4)", "4."]
    made.tier_1(tmp_path, "m", raw, [4.0, 2.0, 3.0, 4.0], 0.5)
    made.tier_2(tmp_path, "m", "2a", [-100.0, None, 50.0])
    found = loaded("privacy_awareness", tmp_path)
    number = {sample.id: n for n, sample in enumerate(found.samples)}
    assert {number[r.subject]: r.value for r in found.ratings} == {
        0: 3, 1: 2, 2: None, 3: 4, 4: -100, 5: None, 6: 50,
    }  # fmt: skip
    assert Counter(str(r.status) for r in found.ratings) == {"ok": 5, "unparsable": 2}
    assert {r.criterion for r in found.ratings if number[r.subject] >= 4} == {"appropriateness"}
    assert {(r.rater, r.rater_kind) for r in found.ratings} == {("m", RaterKind.MODEL)}


@pytest.mark.parametrize(
    ("raw", "number"),
    [
        ("4) very", 4),
        ("3", 3),
        ("Rating: 2", 2),
        ("14)", None),
        ("(3)", 3),
        ("2) little, not none (rating 1)", 2),
        ("none", None),
        ("2 or 3", None),
        ("3.5", None),
        ("1.", 1),
    ],
)
def test_a_number_is_read_as_it_was_asked_for(raw: str, number: float | None) -> None:
    assert outputs.reread(raw) == number


def test_stored_replies_about_stories_with_the_authors_own_measures(tmp_path: Path) -> None:
    made.stories(tmp_path)
    first = ("I say nothing of Ada.", "Ada and Dr. Roe, not Friend Kim.", "Ada", "No, that would be wrong.")
    second = ("It is about work.", "Dr. Lee", "Ben, Dr. Lee", "Well.")
    made.replies(tmp_path, "m", first, second, stated={})
    found = loaded("privacy_leakage", tmp_path)
    assert len(found.replies) == 8
    theirs = Counter((r.criterion, r.value) for r in found.ratings if r.rater == "rule/substrings")
    assert theirs == {
        ("name_mention", "named"): 1, ("name_mention", "unnamed"): 1,
        ("missing_knower", "no"): 3, ("missing_knower", "yes"): 1,
        ("outsider_listed", "yes"): 1, ("outsider_listed", "no"): 3,
        ("list_error", "yes"): 2, ("list_error", "no"): 2,
        ("control_error", "no"): 1, ("control_error", "yes"): 1,
    }  # fmt: skip
    ours = Counter((r.criterion, r.value) for r in found.ratings if r.rater == "rule/control_error")
    assert ours == {("control_error", "no"): 1, ("control_error", None): 1}, "unknown is no error"


def test_replies_about_other_stories_are_counted(tmp_path: Path) -> None:
    made.stories(tmp_path)
    four = ("a", "b", "c", "no")
    made.replies(tmp_path, "m", four, four, stated={})
    path = next((tmp_path / "result").glob("outputs_m_*"))
    path.write_text(path.read_text().replace("Friend Kim", "Friend Lou"))
    found = loaded("privacy_leakage", tmp_path)
    assert len(found.replies) == 4
    assert any("4 stored replies are about stories that are not here" in note for note in found.notes)


def test_ratings_are_about_samples_that_a_run_asks(real: TrustMHRelease) -> None:
    for task, samples, replies, ratings in (
        ("ethics", 125, 750, 4500),
        ("privacy_awareness", 206, 0, 306),
        ("privacy_leakage", 400, 1200, 3000),
    ):
        found = loaded(task, real.folder)
        assert (len(found.samples), len(found.replies), len(found.ratings)) == (samples, replies, ratings)
        asked = {s.id for s in benchmarks.find_one(f"trustmh/{task}").samples(real.folder)}
        assert {s.id for s in found.samples} <= asked
        subjects = asked | {reply.id for reply in found.replies}
        assert {rating.subject for rating in found.ratings} <= subjects
