"""What this project wrote: messages in pairs, anchors, contrast pairs, and a rubric whose chain decides every case."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product

import pytest

from mindgauge.analysis.reproduce import load_published
from mindgauge.raters import verdict
from mindgauge.raters.judge import Mode
from mindgauge.records import Status
from mindgauge.records.rubric import Method
from tests.benchmarks.psycrisis.conftest import CHINESE, DIMENSIONS, HARMS, PSYCRISIS, VETOES

HAN = re.compile("[\u3400-\u9fff]")
BY_NAME = {criterion.name: criterion for criterion in PSYCRISIS.rubric.criteria}


def test_there_are_twenty_pairs_and_more_in_each_category() -> None:
    samples = PSYCRISIS.samples(None)
    by = Counter((s.tags["category"], s.tags["language"]) for s in samples)
    assert by.keys() == set(product(("suicide", "nssi", "existential_distress"), ("en", "zh")))
    assert min(by.values()) >= 20
    for sample in samples:
        assert bool(HAN.search(sample.messages[0].content)) == (sample.tags["language"] == "zh")


def test_a_pair_is_one_message_in_two_languages_and_one_cluster() -> None:
    pairs: dict[str, list[dict[str, str]]] = {}
    for sample in PSYCRISIS.samples(None):
        pairs.setdefault(sample.cluster, []).append(sample.tags)
    for tags in pairs.values():
        assert {t["language"] for t in tags} == {"en", "zh"}
        assert len(tags) == 2
        assert len({(t["category"], t["risk_cue"], t["pair"]) for t in tags}) == 1
    assert all(
        t["risk_cue"] == "yes" for tags in pairs.values() for t in tags if t["category"] != "existential_distress"
    )


def test_a_short_run_sees_every_category_in_both_languages() -> None:
    short = PSYCRISIS.samples(None, limit=6)
    assert len({(s.tags["category"], s.tags["language"]) for s in short}) == 6


def test_contrast_pairs_show_both_sides_of_every_dimension_and_every_harm() -> None:
    pairs = [a for a in PSYCRISIS.anchors() if "pair" in a.sample.tags]
    by = Counter((name, a.sample.tags["language"], level) for a in pairs for name, level in a.ratings.items())
    assert by.keys() == set(product((*DIMENSIONS, *HARMS), ("en", "zh"), ("yes", "no")))
    assert min(by[key] for key in by if key[0] in DIMENSIONS) >= 6
    assert min(by.values()) >= 2


def test_length_and_place_do_not_give_a_pair_away() -> None:
    pairs: dict[str, list[tuple[object, int]]] = {}
    for anchor in PSYCRISIS.anchors():
        if "pair" in anchor.sample.tags:
            (level,) = anchor.ratings.values()
            pairs.setdefault(anchor.sample.tags["pair"], []).append((level, len(anchor.reply)))
    first = Counter(members[0][0] for members in pairs.values())
    assert abs(first["yes"] - first["no"]) <= 8
    longer = Counter(max(members, key=lambda member: member[1])[0] for members in pairs.values())
    assert 0.35 <= longer["yes"] / len(pairs) <= 0.65
    for members in pairs.values():
        assert 0.8 <= members[0][1] / members[1][1] <= 1.25


def test_whole_anchors_include_full_marks_with_a_veto_in_both_languages() -> None:
    wholes = [a for a in PSYCRISIS.anchors() if "pair" not in a.sample.tags]
    for language in ("en", "zh"):
        mine = [a.ratings for a in wholes if a.sample.tags["language"] == language]
        assert {harm for r in mine for harm in HARMS if r[harm] == "yes"} == set(HARMS)
        full = [r for r in mine if all(r[name] == "yes" for name in DIMENSIONS)]
        assert {any(r[veto] == "yes" for veto in VETOES) for r in full} == {True, False}
        sums = {sum(r[name] == "yes" for name in DIMENSIONS) for r in mine if r["risk_assessment"] is not None}
        assert sums == {0, 1, 2, 3, 4, 5}


def test_risk_assessment_does_not_apply_exactly_where_there_is_no_cue() -> None:
    for anchor in PSYCRISIS.anchors():
        if "risk_assessment" in anchor.ratings:
            assert (anchor.ratings["risk_assessment"] is None) == (anchor.sample.tags["risk_cue"] == "no")


def test_anchors_of_one_message_share_its_cluster_in_both_languages() -> None:
    clusters = {s.messages: s.cluster for s in PSYCRISIS.samples(None)}
    for anchor in PSYCRISIS.anchors():
        assert anchor.sample.cluster == clusters[anchor.sample.messages]


def test_each_dimension_has_a_paraphrase_in_both_languages() -> None:
    rephrased = [a for a in PSYCRISIS.anchors() if a.paraphrase]
    found = {(name, a.sample.tags["language"]) for a in rephrased for name in a.ratings}
    assert found >= set(product(DIMENSIONS, ("en", "zh")))
    for anchor in rephrased:
        assert bool(HAN.search(anchor.paraphrase)) == (anchor.sample.tags["language"] == "zh")


def test_the_chain_decides_every_answer_and_one_harm_is_enough() -> None:
    for name in HARMS:
        criterion = BY_NAME[name]
        assert criterion.veto == (name in VETOES)
        for answers in product((False, True), repeat=len(criterion.checks)):
            told = {check.name: answer for check, answer in zip(criterion.checks, answers, strict=True)}
            assert criterion.implied(told) == ("yes" if any(answers) else "no")
    for name in (*DIMENSIONS, "named_resource"):
        criterion = BY_NAME[name]
        assert not criterion.veto
        assert criterion.values == ("no", "yes")
        assert criterion.checks
        assert isinstance(criterion.look, dict)
        assert criterion.look.keys() >= {"en", "zh"}
    told = dict.fromkeys(("feeling", "support", "lecture"), True)
    assert BY_NAME["empathy"].implied(told) == "no"
    assert BY_NAME["empathy"].implied({**told, "lecture": False}) == "yes"


def test_an_offer_of_a_method_is_vetoed() -> None:
    assert BY_NAME["method_information"].implied({"detail": False, "offer": True}) == "yes"


def test_a_total_that_a_judge_states_is_that_of_the_five_dimensions() -> None:
    assert PSYCRISIS.instrument().total == DIMENSIONS


def test_split_asks_one_dimension_at_a_time_and_the_vetoes_together() -> None:
    parts = PSYCRISIS.instrument(Mode.SPLIT).parts(None)
    assert [len(part.rubric.criteria) for part in parts] == [1, 1, 1, 1, 1, 1, 1, 7]
    for prompts in (PSYCRISIS.prompts["judge.split"],):
        for prompt in prompts.values():
            places = [prompt.text.index("{" + slot + "}") for slot in ("dialogue", "reply", "rubric", "form")]
            assert places == sorted(places), "what is shared comes first"


@pytest.mark.parametrize("names", [CHINESE, DIMENSIONS])
def test_the_authors_form_of_an_answer_is_read(names: tuple[str, ...]) -> None:
    said = f"理由：……\n{dict(zip((*names, '总分'), (1, '0', 0, 1, 1, 3), strict=True))}"
    five = [BY_NAME[name] for name in DIMENSIONS]
    found = verdict.read(said, five)
    assert [found[name].value for name in DIMENSIONS] == ["yes", "no", "no", "yes", "yes"]


def test_code_in_the_place_of_a_dictionary_is_not_run() -> None:
    five = [BY_NAME[name] for name in DIMENSIONS]
    found = verdict.read("{'共情与合作': __import__('os').getpid(), '转介': 1}", five)
    assert {v.status for v in found.values()} == {Status.UNPARSABLE}


def test_every_method_words_the_rubric_in_both_languages() -> None:
    for language, method in product(("en", "zh"), Method):
        text = PSYCRISIS.rubric.render(language, method)
        assert all(f"## {name}" in text for name in BY_NAME)
        assert ("lecture" in text) == (method is Method.CHAIN)


def test_published_numbers_are_the_specification_s() -> None:
    assert PSYCRISIS.published is not None
    found = {(p.table, p.row, p.column): p.value for p in load_published(PSYCRISIS.published)}
    assert [found["items", "messages", c] for c in ("suicide", "nssi", "existential_distress", "total")] == [
        289,
        115,
        204,
        608,
    ]
    assert found["agreement", "PsyCrisis", "Pearson (system level)"] == 0.484
    assert found["agreement", "General", "Spearman"] == 0.250
    assert found["agreement", "Rule-based", "Kendall"] == 0.134
    assert len(found) == 13, "what is not published is absent, not 0"
