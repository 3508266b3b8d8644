"""Sycophancy: which file is read, what is compared, and what constant models score."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.score import Scores
from mindgauge.benchmarks.trustmh import trustmh
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease
from mindgauge.records.errors import DataError, MissingDataError
from tests.stub import Stub, says

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aiohttp import web

OEQ, AITA, PAS = (benchmarks.find_one(f"trustmh/sycophancy_{name}") for name in ("oeq", "aita", "pas"))
MEASURES = ("emotional_validation", "indirect_language", "indirect_action", "accept_framing")
HEADER = ",prompt,human,source," + ",".join(f"{measure}_human" for measure in MEASURES)


def scored(name: str, answer: str | Callable[[list[str]], str], out: Path) -> Scores:
    """Run with a model that always answers the same, and a judge that answers by what it is asked about."""

    def handler(body: dict[str, Any], _: int) -> web.StreamResponse:
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
        asked = [criterion for criterion, described in schema.items() if "enum" in described]
        return says(answer if isinstance(answer, str) else answer(asked) if asked else "As you say.")

    with Stub(handler) as stub:
        judge = () if benchmarks.find_one(name).closed else stub.judge
        found = mindgauge.run(name, model=stub.model, judge=judge, out=out)
    assert isinstance(found, Scores)
    return found


def value(found: Scores, name: str, criterion: str) -> float | None:
    (score,) = (s for s in found.find(name, criterion=criterion) if s.model in found.models)
    return score.value


def always(said: str) -> Callable[[list[str]], str]:
    return lambda asked: json.dumps({"quotes": [], "rationale": "so", **dict.fromkeys(asked, said)})


def below(folder: Path, **files: str) -> Path:
    for name, content in files.items():
        (folder / f"{name.replace('__', '-')}.csv").write_text(content, encoding="utf-8")
    return folder


# -- files ------------------------------------------------------------------------------------------------------------


def test_the_released_samples_are_read(real: TrustMHRelease) -> None:
    asked = OEQ.samples(real.folder)
    assert Counter(s.tags["source"] for s in asked) == {"relationship": 5, "advisorqa": 5}
    assert all({f"target.{measure}" for measure in MEASURES[1:]} <= s.tags.keys() for s in asked)
    assert {s.target for s in asked} <= {"yes", "no"}
    assert Counter(s.target for s in AITA.samples(real.folder)) == {"NTA": 6, "YTA": 4}
    with pytest.raises(MissingDataError, match=r"no PAS\.csv here; .*SS\.csv"):
        PAS.samples(real.folder)


def test_the_whole_file_wins_over_the_sample(tmp_path: Path) -> None:
    row = '1,"May I?",No.,letters,1,0.0,1.0,0\n'
    below(
        tmp_path, OEQ_sample=f"{HEADER}\n{row}", OEQ=f"Unnamed: 0{HEADER}\n{row}{row.replace('May I', 'Should I')}{row}"
    )
    found, notes = trustmh.questions(TrustMHRelease.below(tmp_path))
    assert [question.messages[0].content for question in found] == ["May I?", "Should I?"]
    assert [found[0].target, *(found[0].tags[f"target.{name}"] for name in trustmh.MEASURES[1:])] == [
        "yes",
        "no",
        "yes",
        "no",
    ]
    assert [note.partition(": ")[2] for note in notes] == ["1 rows repeat a text; left out"]


@pytest.mark.parametrize("name", ["AITA__YTA", "AITA_YTA", "AITA", "AITA_sample"])
@pytest.mark.parametrize(
    "table", ["prompt,ytanta\nMine,YTA\nTheirs,NTA\n", "prompt,is_asshole\nMine,1\nTheirs,0.0\n",
              "prompt,is_asshole,ytanta\nMine,1,YTA\nTheirs,0,NTA\n"],
)  # fmt: skip
def test_posts_are_read_under_several_names_by_either_column(name: str, table: str, tmp_path: Path) -> None:
    samples = AITA.samples(below(tmp_path, **{name: table}))
    assert [(s.messages[0].content, s.target) for s in samples] == [("Mine", "YTA"), ("Theirs", "NTA")]


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (
            {"AITA": "prompt,is_asshole,ytanta\nMine,1,NTA\n"},
            "csv:2: expected YTA in ytanta as is_asshole says, found 'NTA'",
        ),
        ({"AITA": "prompt,ytanta\nMine,maybe\n"}, "csv:2: ytanta: expected YTA or NTA, found 'maybe'"),
        ({"AITA": "prompt,ytanta\nMine,\n"}, "csv:2: ytanta: expected YTA or NTA, found ''"),
        ({"AITA": "prompt,score\nMine,3\n"}, "expected columns is_asshole or ytanta, found prompt, score"),
        ({"AITA": "prompt,is_asshole\nMine,2\n"}, "csv:2: is_asshole: expected 0 or 1, found '2'"),
        ({"AITA": "prompt,ytanta\n ,YTA\n"}, "csv:2: expected a text in prompt, found nothing"),
    ],
)
def test_a_fault_in_posts_is_one_clear_line(files: dict[str, str], told: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        AITA.samples(below(tmp_path, **files))
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_a_request_without_a_label_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="csv:2: indirect_language_human: expected 0 or 1, found ''"):
        OEQ.samples(below(tmp_path, OEQ=f"{HEADER}\n1,May I?,No.,letters,1,,0,0\n"))


def test_statements_need_a_prompt_only_and_labels_become_targets(tmp_path: Path) -> None:
    (bare,) = PAS.samples(below(tmp_path, SS="id,prompt\n1,So I will.\n"))
    assert (bare.messages[0].content, bare.target, bare.tags) == ("So I will.", None, {"language": "en"})
    below(tmp_path, PAS="prompt,accept_framing_human\nSo I will.,1\n")
    (labelled,) = PAS.samples(tmp_path)
    assert labelled.tags["target.accept_framing"] == "yes"


# -- what is compared -------------------------------------------------------------------------------------------------


def test_our_own_people_are_the_plain_replies_among_the_anchors() -> None:
    anchors = OEQ.anchors()
    for sample in OEQ.samples(None):
        plain = next(anchor for anchor in anchors if anchor.sample.messages == sample.messages)
        first, *others = MEASURES
        assert plain.ratings == {first: sample.target, **{m: sample.tags[f"target.{m}"] for m in others}}


@pytest.mark.parametrize("said", ["yes", "no"])
def test_a_model_is_compared_with_people_on_each_measure(said: str, tmp_path: Path) -> None:
    found = scored("trustmh/sycophancy_oeq", always(said), tmp_path)
    people = dict(zip(MEASURES, (4 / 12, 2 / 12, 3 / 12, 3 / 12), strict=True))
    for measure, rate in people.items():
        assert value(found, "people_rate", measure) == pytest.approx(rate)
        assert value(found, "yes_rate", measure) == (1 if said == "yes" else 0)
        assert value(found, "excess_over_people", measure) == pytest.approx((said == "yes") - rate)


def test_statements_have_a_rate_and_nothing_to_compare_it_with(tmp_path: Path) -> None:
    found = scored("trustmh/sycophancy_pas", always("yes"), tmp_path)
    assert [value(found, "yes_rate", name) for name in ("accept_framing", "indirect_action")] == [1, 1]
    assert not found.find("excess_over_people")


def test_one_measure_s_labels_are_not_the_other_s(tmp_path: Path) -> None:
    data = below(tmp_path, PAS="prompt,accept_framing_human\nSo I will.,1\nAnd so will I.,0\n")

    def handler(body: dict[str, Any], _: int) -> web.StreamResponse:
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
        return says(always("yes")([c for c, described in schema.items() if "enum" in described]) if schema else "Do.")

    with Stub(handler) as stub:
        found = mindgauge.run(PAS.name, model=stub.model, judge=stub.judge, data=data, out=tmp_path / "run")
    assert isinstance(found, Scores)
    assert value(found, "excess_over_people", "accept_framing") == pytest.approx(0.5)
    assert not found.find("excess_over_people", criterion="indirect_action")


@pytest.mark.parametrize(
    ("answer", "endorsed", "blamed"),
    [("NTA", 1, 0), ("YTA", 0, 1), ('{"verdict": "NTA"}', 1, 0), ("Verdict: YTA", 0, 1)],
)
def test_a_verdict_that_never_changes(answer: str, endorsed: float, blamed: float, tmp_path: Path) -> None:
    found = scored("trustmh/sycophancy_aita", answer, tmp_path)
    assert value(found, "endorsement_rate", "verdict") == endorsed
    assert value(found, "blame_rate", "verdict") == blamed
    assert value(found, "macro_recall", "verdict") == 0.5


@pytest.mark.parametrize("answer", ["Either NTA or YTA.", "That is a hard one.", "YTAX"])
def test_both_verdicts_or_none_endorse_nobody_and_are_shown(answer: str, tmp_path: Path) -> None:
    found = scored("trustmh/sycophancy_aita", answer, tmp_path)
    (score,) = (s for s in found.find("endorsement_rate") if s.model in found.models)
    assert (score.value, score.n, score.missing, score.worst) == (0, 6, 6, 1)
    assert value(found, "unparsable_rate", "verdict") == 1
