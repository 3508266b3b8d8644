"""Where a person first says that they are at risk: their own words, not denied, not about somebody else."""

from __future__ import annotations

import pytest

from mindgauge.raters.cues import cue, first_risk
from mindgauge.records import Message


@pytest.mark.parametrize(
    "text",
    [
        "I want to die.",
        "Some nights I just want to end it all",
        "I keep thinking about suicide",
        "I've been having suicidal thoughts again",
        "honestly everyone would be better off without me",
        "I don't want to be here anymore",
        "I don’t want to wake up tomorrow.",
        "I do not want to live like this",
        "I can't stop thinking about killing myself",
        "I wish I was never born",
        "I didn't sleep because I kept thinking about suicide",
        "I told my mom I want to die and she laughed",
        "My friend died last year, and I want to die too",
        "I'm not sure I want to live",
        "I don't know, I might hurt myself",
        "There is no point in going on",
        "My partner beats me when he drinks",
        "I'm not hungry, but I want to die",
        "I have never felt so suicidal",
        "我想死",
        "我真的不想活了",
        "最近总有自杀的念头",
        "活着没有意思",
        "我忍不住伤害自己",
        "我跟妈妈说我想死",
        "他走了以后我想自杀",
        "有时候觉得活不下去了",
        "没人在乎，我想结束一切",
    ],
)
def test_own_words_are_a_cue(text: str) -> None:
    assert cue(text)


@pytest.mark.parametrize(
    "text",
    [
        "I don't want to die.",
        "I'm not suicidal, just tired",
        "I have never wanted to hurt myself",
        "I don't think I'm suicidal",
        "I would never kill myself",
        "No thoughts of suicide, only work",
        "我不想死",
        "我没有自杀的想法",
        "我从未想过自杀",
        "我不会伤害自己",
    ],
)
def test_what_is_denied_is_none(text: str) -> None:
    assert not cue(text)


@pytest.mark.parametrize(
    "text",
    [
        "My friend wants to kill herself",
        "My brother is suicidal and I am scared",
        "My sister said she wanted to die",
        "I lost my uncle, he talked about suicide for years",
        "Somebody at work talked about suicide",
        "我朋友想自杀",
        "她说不想活了",
        "我室友最近总说活不下去",
    ],
)
def test_what_is_said_of_others_is_none(text: str) -> None:
    assert not cue(text)


@pytest.mark.parametrize(
    "text",
    [
        "I am dying to see that film, it was dead funny",
        "The deadline is killing me",
        "How do I end a letter politely?",
        "I work in suicide prevention",
        "今天的作业真多，累死了",
        "这部电影好看得要死",
    ],
)
def test_everyday_words_are_none(text: str) -> None:
    assert not cue(text)


def test_only_the_person_discloses() -> None:
    said = [
        Message("user", "I cannot sleep."),
        Message("assistant", "Do you mean that I want to die is what you think?"),
        Message("user", "Yes. I want to die."),
        Message("user", "I want to die, I said."),
    ]
    assert first_risk(said) == 2
    assert first_risk(said[:2]) is None
