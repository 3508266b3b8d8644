"""Where a person says that they are at risk: words in English and Chinese, in `risk_cues.toml`, in two grades.

They choose what a judge of a long dialogue is still shown, and rate nothing. A plain cue is said in so many words of the
writer, and not denied. A hint is anything that may mean it: the same words denied or said of somebody else, or words of
harm, despair, violence and intoxication. A wrong cue costs the room of one turn, a missed one the context of what
follows, so hints are many. `bench/cues.py` measures both.

What a helper asks (`asked`) is found by the words of `risk_questions.toml`, in questions alone. A question in other words is missed, so what is found is at
least so much, and what is not found is not known to be absent.
"""

from __future__ import annotations

import functools
import re
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import msgspec

from mindgauge.records.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from mindgauge.records import Message


Asked: TypeAlias = Literal["plan", "means", "time"]
KINDS: tuple[Asked, ...] = get_args(Asked)
_QUESTION = r"[^.!?。！？\n]*(?:[?？]|[吗嗎呢](?:[。\n]|$))"
"""A question in Chinese may do without a mark."""
_LONGEST = 400
"""Characters of a question that are looked at; a longer one is a list, or there to be slow."""


@functools.cache
def _patterns() -> dict[str, str]:
    content = resources.files(__package__).joinpath("risk_questions.toml").read_bytes()
    words = msgspec.toml.decode(content, type=dict[str, dict[str, list[str]]])
    return {kind: "|".join([rf"\b(?:{'|'.join(each['en'])})\b", *each["zh"]]) for kind, each in words.items()}


def asked(texts: pl.Series) -> pl.DataFrame:
    """Return what each reply asks for, a column for each of `KINDS`.

    Polars looks through a text in a time that grows with its length and no faster, whatever it says, and in a twentieth of that
    which `re` takes for these patterns.
    """
    import polars as pl  # the help of `run` needs this module, and no tables

    rows = texts.alias("text").to_frame().with_row_index("place")
    questions = rows.with_columns(pl.col("text").str.extract_all(_QUESTION)).explode("text", empty_as_null=False).select(
        "place", text=pl.col("text").str.strip_chars_end("。\n").str.tail(_LONGEST).str.to_lowercase()
    )  # fmt: skip
    asks = [pl.col("text").str.contains(pattern).any().alias(kind) for kind, pattern in _patterns().items()]
    asking = rows.select("place").join(
        questions.group_by("place").agg(asks), on="place", how="left", maintain_order="left"
    )
    return asking.select(pl.col(KINDS).fill_null(value=False))


REMEMBERED = 8192
"""Texts whose grade is remembered: every turn of a dialogue is looked at again for each turn after it."""

_LOOKED_BACK = 400
"""Characters of a clause before a cue that say of whom it speaks; longer clauses are made of lists, or to be slow."""


@cache
def _words() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what a plain cue looks like, and a hint: whole words in English, characters in Chinese."""
    content = resources.files(__package__).joinpath("risk_cues.toml").read_bytes()
    grades = msgspec.toml.decode(content, type=dict[str, dict[str, list[str]]])
    plain, hinted = (
        [*(rf"\b(?:{words})\b" for words in grades[name]["en"]), *grades[name]["zh"]] for name in ("plain", "hint")
    )
    return re.compile("|".join(plain), re.IGNORECASE), re.compile("|".join(hinted), re.IGNORECASE)


_OTHERS = (
    r"(?:friend|brother|sister|mother|father|mum|mom|dad|son|daughter|husband|wife|partner|boyfriend|girlfriend|"
    r"roommate|colleague|cousin|uncle|aunt|neighbou?r|people|somebody|someone)"
)
_OTHERS_ZH = (
    "(?:[他她]们?|有人|别人|別人|朋友|妈妈?|媽媽?|爸爸?|[哥姐弟妹][哥姐弟妹]?|同[学學事]|男友|女友|丈夫|妻子|老公|老婆|"
    "孩子|儿子|兒子|女儿|女兒|室友|[亲親]戚)"
)
_SPOKEN_TO = (
    r"(?:told|tell|to|with|from|for|of|about|miss|missed|since|ask|asked|lost|and) (?:(?:my|our|the|a|best|old) )*"
)
_SUBJECT = regex(
    rf"(?P<aside>\b{_SPOKEN_TO}{_OTHERS}\b(?!'s)|[对對跟和向[给給][为為把被](?:我的?)?{_OTHERS_ZH})"
    rf"|(?P<own>\bi\b|\bim\b|我)|(?P<other>\b(?:he|she|they)\b|\b{_OTHERS}\b|{_OTHERS_ZH})",
    re.IGNORECASE,
)
_DENIED = regex(
    r"\b(?:do|did|have|had|would|wo|is|was|ai)n'?t\b(?! (?:know|care|see))|\bnot\b(?! (?:sure|only|just|certain|know))"
    r"|\bnever\b(?! (?:felt|been) (?:so|this|more))|\bno\b(?! (?:longer|one|reason|point|idea))|\bwithout\b"
    r"|不(?=$|会|會|想|要|是|曾)|[没沒](?!人|用|[办辦]法|意|[关關]系)|[从從]未|未曾|[别別](?=$)",
    re.IGNORECASE,
)
_NOT_SO = regex(
    r"\b(?:don'?t|do not) (?:think|believe|mean|say) (?:that )?$|(?:不是|不[觉覺]得|不[认認][为為])$", re.IGNORECASE
)
_CLAUSE = regex(
    r"[.!?;,:\n。！？；，、：…]+|\b(?:but|although|though|because)\b|但是?|可是|不[过過]|因[为為]", re.IGNORECASE
)


def signs(messages: Sequence[Message]) -> list[int]:
    """Return the places, from 0, of the person's messages with a sign of risk, those that matter most first."""
    turns = [(place, message.content) for place, message in enumerate(messages) if message.role == "user"]
    plain = [place for place, text in turns if cue(text)]
    plain_places = {*plain}
    return ranked(plain, [place for place, text in turns if place not in plain_places and hint(text)])


def ranked(plain: Sequence[int], hinted: Sequence[int]) -> list[int]:
    """Return the places of plain cues and of hints, those that matter most first.

    That is the first one with a plain cue; the first with any sign; then the others with a plain cue, and those with a
    hint, each from first to last.
    """
    return list(dict.fromkeys([*plain[:1], *sorted((*plain[:1], *hinted[:1]))[:1], *plain, *hinted]))


def first_risk(messages: Sequence[Message]) -> int | None:
    """Return the place, from 0, of the person's first message with a plain cue, or else with a hint; None without one."""
    return next(iter(signs(messages)), None)


@lru_cache(REMEMBERED)
def cue(text: str) -> str:
    """Return the words with which the writer says that they themselves are at risk; empty if they do not say so."""
    plain, _ = _words()
    for clause in _CLAUSE.split(_typed(text)):
        for match in plain.finditer(clause):
            if _own(clause, match):
                return match[0]
    return ""


@lru_cache(REMEMBERED)
def hint(text: str) -> str:
    """Return words that may mean that somebody is at risk, whoever it is and whatever is said of it; empty without any."""
    typed = _typed(text)
    match = next((match for pattern in _words() if (match := pattern.search(typed))), None)
    return match[0] if match else ""


def _typed(text: str) -> str:
    """Write apostrophes as keyboards do."""
    return text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").replace("\N{LEFT SINGLE QUOTATION MARK}", "'")


def _own(clause: str, match: re.Match[str]) -> bool:
    """Whether the one that a clause speaks of before a cue is its writer, who does not deny it."""
    before = clause[max(0, match.start() - _LOOKED_BACK) : match.start()]
    if match[0].casefold().endswith((" me", "打我", "待我", "奸我", "姦我")):
        return not _DENIED.search(before)
    subject = None
    for subject in _SUBJECT.finditer(before):  # noqa: B007 - the last one is wanted
        pass
    start = subject.start() if subject else 0
    if subject is not None and subject["other"]:
        return False
    return not (_DENIED.search(before[start:]) or _NOT_SO.search(before[:start]))
