"""Steps of a recipe, one at a time: what each keeps, what it drops, and why."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.analysis.dataset import build, duplicates
from mindgauge.analysis.dataset.recipe import (
    Junk,
    LanguageFilter,
    Lengths,
    LinkLimit,
    Sampling,
    Scrub,
    Splitting,
    conflict,
    refusal,
    spdx,
)
from mindgauge.records.redaction.personal import MAY_HOLD, Scrubber
from tests.thinned import examples

WORDS = ["night", "work", "mother", "sleep", "friend", "alone", "school", "money", "talk", "week", "door", "rain", "walk", "house", "phone", "letter", "garden", "bread"]  # fmt: skip


def frame(*texts: str, **columns: list[str | None]) -> pl.DataFrame:
    return duplicates.numbered(
        pl.DataFrame({"text": texts, "origin": [f"{n:03}" for n in range(len(texts))], **columns})
    )


def reasons(result: duplicates.StepResult) -> dict[str, str]:
    return dict(result.dropped.select("text", "reason").rows())


def test_junk_says_why_each_text_is_none() -> None:
    plain = "I have not slept for a week, and nobody knows."
    garbled = "I donâ€™t know what to do"
    texts = (plain, "  ", "[deleted]", "12 34 56 78 !!", "no way " * 15, garbled)
    assert reasons(build.junk(frame(*texts), Junk())) == {
        "  ": "empty", "[deleted]": "a placeholder such as [deleted]", "12 34 56 78 !!": "hardly any letters",
        "no way " * 15: "the same few words again and again", garbled: "characters of another encoding",
    }  # fmt: skip


def test_lengths_are_counted_in_characters_or_words() -> None:
    texts = ("one two three", "one", "一二三四五六")
    assert reasons(build.lengths(frame(*texts), Lengths(least=2, unit="words"))).keys() == {"one", "一二三四五六"}
    assert reasons(build.lengths(frame(*texts), Lengths(least=4, most=12))) == {
        "one": "fewer than 4 characters", "one two three": "more than 12 characters",
    }  # fmt: skip


def test_a_stated_language_goes_before_what_letters_show() -> None:
    rows = frame("Ich kann nicht schlafen", "I cannot sleep", "我睡不着", "не сплю", language=["de", None, None, None])
    result = build.in_languages(rows, LanguageFilter(keep=["en", "zh-CN"]))
    assert reasons(result) == {"Ich kann nicht schlafen": "language de", "не сплю": "language other"}
    assert dict(result.items.select("text", "language").rows()) == {"I cannot sleep": "en", "我睡不着": "zh"}


def test_links_are_counted() -> None:
    one, two = "see https://one.example", "see https://one.example and www.two.example"
    assert reasons(build.links(frame(one, two), LinkLimit(most=1))) == {two: "more than 1 links"}
    assert reasons(build.links(frame(one, "none"), LinkLimit())) == {one: "links"}


def test_personal_data_are_replaced_and_counted() -> None:
    counts = Counter[str]()
    result = build.scrubbed_rows(
        frame("Write to jo@mail.example", "Call me Alma", "nothing"), Scrub(names=["Alma"]), counts
    )
    assert result.items["text"].to_list() == ["Write to [email 1]", "Call me [name 1]", "nothing"]
    assert counts == {"email": 1, "name": 1}
    assert result.dropped.is_empty()


CUES = ["jo", "@", "mail.example", " AT ", " DOT ", "[at]", "(dot)", "http://", "www.", "bit.ly/", "DE44", "0123 4567", "5555", "微信", "weixin ", "qq:", "insta: ", "48.1234, 11.5678", "一三八零零一三八零零零零", "\u200b", "\xa0", "Ａ", "\u202e", "😀\ufe0f", "-", ".", " ", "abc", "我"]  # fmt: skip


@given(st.lists(st.one_of(st.sampled_from(CUES), st.characters()), max_size=12).map("".join))
def test_no_rule_finds_anything_where_no_cue_is(text: str) -> None:
    text = text.encode("utf-8", "ignore").decode()
    if Scrubber().finds(text):
        assert pl.Series([text]).str.contains(MAY_HOLD).item()


def test_equal_texts_keep_the_first_and_say_which() -> None:
    result = duplicates.exact(frame("I am  tired", "i am tired", "I am awake"))
    assert result.items.select("text", "copies").rows() == [("I am  tired", 1), ("I am awake", 0)]
    assert result.dropped.select("text", "of").rows() == [("i am tired", 0)]


def test_near_duplicates_form_clusters_and_others_do_not() -> None:
    generator = np.random.default_rng(3)
    texts = [" ".join(generator.choice(WORDS, 60)) for _ in range(300)]
    planted = [f"{text} Thanks." for text in texts[:40]]
    result = duplicates.near(frame(*texts, *planted), 0.8, 7)
    assert set(result.dropped["text"]) == set(planted)
    assert result.dropped["of"].to_list() == [int(row) - 300 for row in result.dropped["row"]]
    kept = duplicates.near(frame(*texts, *planted), 0.8, 7, drop=False)
    assert kept.dropped.is_empty()
    assert kept.items["cluster"].n_unique() == 300


@pytest.mark.parametrize("threshold", [0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
def test_a_pair_at_the_threshold_is_surely_a_candidate(threshold: float) -> None:
    rows = duplicates.rows_of_band(threshold)
    assert 1 - (1 - threshold**rows) ** (duplicates.PERMUTATIONS // rows) >= duplicates.SURE


def test_short_and_empty_texts_are_compared_too() -> None:
    result = duplicates.near(frame("", "ok", "ok", "no"), 0.8, 0)
    assert result.items["text"].to_list() == ["", "ok", "no"]


def test_weights_of_a_sample_add_up_to_the_frame() -> None:
    rows = frame(*(f"text {n}" for n in range(50)), label=["rare" if n < 5 else "usual" for n in range(50)])
    result = build.sampled(rows, Sampling(number={"usual": 9}, by="label"), 3)
    weights = result.items.group_by("label").agg(pl.len(), (1 / pl.col("probability")).sum().round(9)).sort("label")
    assert weights.rows() == [("rare", 5, 5.0), ("usual", 9, 45.0)]
    assert set(result.dropped["reason"]) == {"not drawn"}
    again = build.sampled(rows, Sampling(number={"usual": 9}, by="label"), 3)
    assert again.items.equals(result.items)
    assert not build.sampled(rows, Sampling(number={"usual": 9}, by="label"), 4).items.equals(result.items)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([None, *"ghijk"]), st.integers(0, 99)), min_size=1, max_size=40),
    st.integers(0, 5),
)  # fmt: skip
def test_no_group_cluster_or_text_stands_in_two_parts(facts: list[tuple[str, str | None, int]], seed: int) -> None:
    sources, groups, numbers = zip(*facts, strict=True)
    rows = duplicates.numbered(pl.DataFrame({"source": sources, "group": groups, "text": [f"text {n}" for n in numbers]}, {"source": pl.String, "group": pl.String, "text": pl.String}))  # fmt: skip
    rows = rows.with_columns(cluster=pl.when(pl.col("row") % 5 == 0).then(pl.col("row") // 10))
    result = build.split(rows, Splitting(parts={"train": 0.5, "test": 0.5}), seed).items
    for keys in (["source", "group"], ["cluster"], ["text"], ["together"]):
        named = result.filter(pl.all_horizontal(pl.col(keys).is_not_null()))
        assert named.group_by(keys).agg(pl.col("split").n_unique())["split"].max() in (None, 1)
    assert result["split"].null_count() == 0


def test_parts_are_as_large_as_they_should_be() -> None:
    rows = frame(*(f"text {n}" for n in range(1000)))
    result = build.split(rows, Splitting(parts={"train": 0.8, "dev": 0.1, "test": 0.1}), 1).items
    assert dict(result.group_by("split").len().rows()) == {"train": 800, "dev": 100, "test": 100}


PARTS = [
    {"train": 0.8, "test": 0.2},
    {"train": 0.75, "dev": 0.125, "test": 0.125},
    {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3},
]


def parted(rows: pl.DataFrame, parts: dict[str, float], seed: int) -> pl.DataFrame:
    return build.split(rows, Splitting(parts=parts, passages=False), seed).items


def furthest(rows: pl.DataFrame, parts: dict[str, float]) -> float:
    """Return by how many items the part that is furthest from its share of some rows is off."""
    return max(abs(rows.filter(split=name).height - share * rows.height) for name, share in parts.items())


def largest(rows: pl.DataFrame) -> float:
    """Return how many items the largest group holds."""
    return max(float(size) for _, size in rows.group_by("group").len().iter_rows())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("parts", PARTS)
def test_a_label_of_3_in_300_is_shared_like_the_others(parts: dict[str, float], seed: int) -> None:
    labels = ["rare" if n in {5, 100, 250} else "usual" if n % 3 else "other" for n in range(300)]
    rows = frame(*(f"text {n}" for n in range(300)), label=[*labels], source=["forum" if n < 200 else "chat" for n in range(300)])  # fmt: skip
    result = parted(rows, parts, seed)
    for column in ("label", "source"):
        for _, of_one in result.group_by(column):
            assert furthest(of_one, parts) < (1 if column == "label" else 2), (column, of_one["split"].value_counts())
    assert furthest(result, parts) < 1
    assert result.equals(parted(rows, parts, seed)), "the seed decides"


@examples(200)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([None, *"xyz"]), st.integers(1, 5)), min_size=1, max_size=40),
    st.sampled_from(PARTS),
    st.integers(0, 3),
)  # fmt: skip
def test_no_part_is_off_its_share_of_a_label_by_a_whole_group(
    groups: list[tuple[str, str | None, int]], parts: dict[str, float], seed: int
) -> None:
    facts = [(source, label, f"g{n}") for n, (source, label, size) in enumerate(groups) for _ in range(size)]
    sources, labels, names = (list(column) for column in zip(*facts, strict=True))
    rows = frame(*(f"text {n}" for n in range(len(facts))), source=sources, label=labels, group=names)
    result = parted(rows, parts, seed)
    assert result.group_by("group").agg(pl.col("split").n_unique())["split"].max() == 1
    for _, of_one in result.group_by("label"):
        assert furthest(of_one, parts) < largest(of_one) + 1e-6
    assert furthest(result, parts) < largest(result) + 1e-6


@examples(200)
@given(st.lists(st.lists(st.sampled_from("xxxxyyz"), min_size=1, max_size=5), min_size=1, max_size=40), st.sampled_from(PARTS))  # fmt: skip
def test_groups_of_several_labels_leave_the_rarest_its_share(groups: list[list[str]], parts: dict[str, float]) -> None:
    labels: list[str | None] = [label for held in groups for label in held]
    names: list[str | None] = [f"g{n}" for n, held in enumerate(groups) for _ in held]
    result = parted(frame(*(f"text {n}" for n in range(len(names))), label=labels, group=names, source=["forum"] * len(names)), parts, 0)  # fmt: skip
    rarest = result.filter(label=min({*labels}, key=lambda label: (labels.count(label), str(label))))
    assert furthest(rarest, parts) < largest(rarest) + 1e-6
    assert result.group_by("group").agg(pl.col("split").n_unique())["split"].max() == 1


def test_every_group_can_come_into_every_part_it_fits_into() -> None:
    sizes = [1] * 20 + [2] * 10 + [5] * 6 + [10] * 3  # the share of dev and of test is 12
    names: list[str | None] = [f"g{number}" for number, size in enumerate(sizes) for _ in range(size)]
    names += ["whole"] * 20
    rows = frame(*(f"text {n}" for n in range(len(names))), label=["usual"] * len(names), source=["forum"] * len(names), group=names)  # fmt: skip
    parts = {"train": 0.8, "dev": 0.1, "test": 0.1}
    came: Counter[tuple[str, str]] = Counter()
    for seed in range(200):
        result = parted(rows, parts, seed)
        came.update(dict.fromkeys(result.select("group", "split").iter_rows(), 1))
        assert furthest(result, parts) < 1
    assert all(came[f"g{number}", part] for number in range(len(sizes)) for part in parts)
    assert came["whole", "train"] == 200, "20 items fit into no other part"
    for size in set(sizes):
        tested = [came[f"g{number}", "test"] / 200 for number, own in enumerate(sizes) if own == size]
        assert 0.06 < sum(tested) / len(tested) < 0.16, "groups of each size are as likely to be tested"


def test_items_of_one_passage_stay_in_one_part() -> None:
    shared = "Since my brother moved out I sit in the kitchen every night and count the cars outside until it is light."
    texts = [f"{shared}\nThis is ending number {n}." for n in range(4)] + [
        f"Another text, number {n}" for n in range(96)
    ]
    result = build.split(frame(*texts), Splitting(parts={"train": 0.5, "test": 0.5}), 2).items
    assert result.filter(pl.col("text").str.starts_with(shared))["split"].n_unique() == 1


def test_unknown_is_not_permission() -> None:
    assert spdx("cc by 4.0") == "CC-BY-4.0"
    assert refusal("CC-BY-4.0", None) == ""
    assert "not known" in refusal("as on the site", None)
    assert "not known" in refusal("", None)
    assert refusal("as on the site", redistribute=True) == ""
    assert "redistribute = false" in refusal("MIT", redistribute=False)
    assert "changed selection" in refusal("CC-BY-ND-4.0", None)
    assert "same licence" in conflict("CC-BY-SA-4.0", None, "MIT")
    assert conflict("CC-BY-SA-4.0", None, "cc-by-sa-4.0") == ""
    assert "commercial" in conflict("CC-BY-NC-4.0", None, "CC-BY-4.0")
    assert conflict("CC-BY-NC-4.0", None, "CC-BY-NC-4.0") == ""
