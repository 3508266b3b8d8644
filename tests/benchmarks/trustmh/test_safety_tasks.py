"""Requests as they are asked: every jailbreak beside its plain request, and what becomes of them."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis import frame
from mindgauge.analysis.cross_checks import cross_check
from mindgauge.analysis.score import Scores, open_run
from mindgauge.benchmarks.trustmh.jailbreak.jailbreak import read_requests
from mindgauge.benchmarks.variants.jailbreak import JailbreakKind
from mindgauge.records.errors import MissingDataError
from tests.stub import Stub, says, words

if TYPE_CHECKING:
    from aiohttp import web

    from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease

JAILBREAK, TOXICITY = (benchmarks.find_one(f"trustmh/{name}") for name in ("jailbreak", "toxicity"))
RELEASED = {
    JailbreakKind.FIXED_SENTENCE, JailbreakKind.SCENARIO, JailbreakKind.BAD_WORDS, JailbreakKind.NO_PUNCTUATION, JailbreakKind.NO_REFUSAL_WORDS, JailbreakKind.STEP_BY_STEP,
    JailbreakKind.MULTITASK, JailbreakKind.NO_LONG_WORD,
}  # fmt: skip


def test_our_requests_are_made_with_every_kind() -> None:
    samples = JAILBREAK.samples(None)
    assert Counter(s.tags["method"] for s in samples) == {
        "none": 10,
        "benign": 30,
        **{kind.value: 10 for kind in JailbreakKind},
    }
    plain = {s.id: s for s in samples if s.tags["method"] == "none"}
    assert len({s.tags["objective"] for s in plain.values()}) >= 5
    for one in samples:
        if one.tags["method"] != "benign":
            base = plain[one.tags["base"]]
            assert (one.cluster, one.tags["objective"]) == (base.cluster, base.tags["objective"])


def test_toxicity_makes_the_same_calls_for_harmful_requests(tmp_path: Path) -> None:
    harmful = [s for s in JAILBREAK.samples(None) if s.tags["method"] != "benign"]
    assert TOXICITY.samples(None) == harmful
    where: dict[str, tuple[str, ...]] = {"objective": ("Generate Bias",)}
    asked = []
    for benchmark in (JAILBREAK, TOXICITY):
        with Stub(_refusing) as stub:
            mindgauge.run(
                benchmark.name, model=stub.model, judge=stub.judge, out=tmp_path / benchmark.folder.name, where=where
            )
            bodies = [body for body in stub.bodies if "response_format" not in body]
        asked.append({json.dumps(body, sort_keys=True) for body in bodies})
    assert asked[0] == asked[1]
    assert len(asked[0]) == 15


def test_one_run_of_both_pays_for_a_reply_once(tmp_path: Path) -> None:
    where: dict[str, tuple[str, ...]] = {"objective": ("Generate Bias",)}
    with Stub(_refusing) as stub:
        found = mindgauge.run(
            [JAILBREAK.name, TOXICITY.name], model=stub.model, judge=stub.judge, out=tmp_path, where=where, runs=2
        )
        asked = [body for body in stub.bodies if "response_format" not in body]
    assert isinstance(found, Scores)
    assert len(asked) == 2 * 15
    assert {(c.benchmark, c.n) for c in found.statuses_by if c.kind == "reply"} == {
        (JAILBREAK.name, 30), (TOXICITY.name, 30),
    }  # fmt: skip


def test_released_requests_stand_beside_their_plain_ones(real: TrustMHRelease) -> None:
    samples = JAILBREAK.samples(real.folder)
    assert Counter(s.tags["method"] for s in samples) == {
        "none": 70, "benign": 30, **{kind.value: 70 for kind in RELEASED},
    }  # fmt: skip
    plain = {s.id: s for s in samples if s.tags["method"] == "none"}
    for one in samples:
        if one.tags["method"] != "benign":
            base = plain[one.tags["base"]]
            assert base.messages[0].content in one.messages[0].content
            assert one.cluster == base.cluster
            assert one.tags["objective"] == base.tags["objective"]
    assert len({s.cluster for s in samples if s.tags["method"] != "benign"}) == 70
    assert len({s.id for s in samples}) == len(samples) == 660
    assert TOXICITY.samples(real.folder) == [s for s in samples if s.tags["method"] != "benign"]


def test_further_kinds_are_made_where_their_templates_are_at_hand_and_only_asked_on_demand(
    real: TrustMHRelease, tmp_path: Path
) -> None:
    every = JAILBREAK.samples(real.folder, {"made": ("released", "ours", "generated")})
    made = [s for s in every if s.tags["made"] == "generated"]
    assert Counter(s.tags["method"] for s in made) == {kind.value: 70 for kind in {*JailbreakKind} - RELEASED}
    assert len({s.id for s in every}) == len(every) == 1080
    for name in ("PsyHarm.csv", "JailbreakMH.csv"):
        shutil.copy(Path(real.require(name, "").source), tmp_path / name)
    without = read_requests(tmp_path)
    assert len(without) == 660
    assert {s.tags["made"] for s in without} == {"released", "ours"}


def test_some_kinds_bring_their_plain_requests_along(real: TrustMHRelease) -> None:
    samples = JAILBREAK.samples(real.folder, {"method": ("cot", "scenario")})
    assert Counter(s.tags["method"] for s in samples) == {"none": 70, "cot": 70, "scenario": 70}
    assert len(JAILBREAK.samples(real.folder, limit=4)) == 2 * 9 + 2, (
        "two requests with their jailbreaks, two benign ones"
    )


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"PsyHarm\.csv"):
        JAILBREAK.samples(tmp_path)
    (tmp_path / "PsyHarm.csv").write_text("ID,Attack Objective,Prompt (English)\r\n1,Test,Say something.\r\n", "utf-8")
    with pytest.raises(MissingDataError, match=r"JailbreakMH\.csv"):
        JAILBREAK.samples(tmp_path)


def _refusing(body: dict[str, Any], _: int) -> web.StreamResponse:
    """Refuse plain requests, comply with jailbroken ones, answer benign ones; judge what the reply says."""
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    if not schema:
        return says({True: "Sorry, I cannot help with that.", False: "Gladly."}[len(words(body)) < 170])
    reply = words(body).rsplit("<reply ", 1)[1]
    refused = "cannot help" in reply
    told = {
        "outcome": "refused" if refused else "complied",
        "toxicity": 0 if refused else 1,
        "toxicity_if_complied": "not_applicable" if refused else "slight",
    }
    asked = {name: level for name, level in told.items() if name in schema["properties"]}
    return says(json.dumps({"quotes": [], "rationale": "so it says", **asked}))


def test_outcomes_are_counted_where_they_belong(tmp_path: Path) -> None:
    with Stub(_refusing) as stub:
        found = mindgauge.run(JAILBREAK.name, model=stub.model, judge=stub.judge, out=tmp_path)
    assert isinstance(found, Scores)
    store, (benchmark,), _ = open_run(tmp_path)
    with store:
        rows = frame.ratings(store, benchmark)
        replies = {s.id: len(s.messages[0].content) < 170 for s in store.samples(benchmark.name)}
    samples = {s.id: s for s in JAILBREAK.samples(None)}
    jailbroken = [replies[s.id] for s in samples.values() if s.tags["method"] not in {"none", "benign"}]
    benign = [replies[s.id] for s in samples.values() if s.tags["method"] == "benign"]
    gains = [
        replies[s.tags["base"]] - replies[s.id] for s in samples.values() if s.tags["method"] not in {"none", "benign"}
    ]
    figures = {m.name: m for m in found.metrics if m.criterion == "outcome" and m.slice == "all"}
    assert figures["rta_rate"].value == pytest.approx(sum(jailbroken) / 140)
    assert figures["attack_success_rate"].value == pytest.approx(1 - sum(jailbroken) / 140)
    assert figures["over_refusal_rate"].value == pytest.approx(sum(benign) / 30)
    assert figures["attack_gain"].value == pytest.approx(sum(gains) / 140)
    assert (figures["rta_rate"].n, figures["rta_rate"].clusters, figures["over_refusal_rate"].n) == (140, 10, 30)
    assert found.find("attack_success_rate", "method=none") == []
    (read,) = found.find("share_yes", criterion="refusal_words")
    assert read.value == pytest.approx(sum(replies.values()) / 180)
    (checked,) = cross_check(rows, "outcome", "refusal_words", ["refused"])
    assert (checked.kappa, checked.n, checked.missing) == (1, 180, 0)


def test_toxicity_of_what_complied_has_an_n_of_its_own(tmp_path: Path) -> None:
    with Stub(_refusing) as stub:
        found = mindgauge.run(TOXICITY.name, model=stub.model, judge=stub.judge, out=tmp_path)
    assert isinstance(found, Scores)
    (mean,) = found.find("mean_toxicity")
    (of_complied,) = found.find("toxicity_of_complied")
    assert mean.n == 140
    assert of_complied.n == pytest.approx(4 * 140 * (mean.value or 0))
    assert of_complied.value == pytest.approx(0.25)
    assert {m.criterion for m in found.metrics if m.name == "mean_toxicity"} == {"toxicity"}
