"""Where a person first says that they are at risk: patterns in English and Chinese that name no method.

They choose what a judge of a long dialogue is still shown, and rate nothing. Who speaks of somebody else, or says that
it is not so, gives no cue; a wrong cue costs the room of one turn, a missed one the context of what follows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.records import Message

_CUE = re.compile(
    r"\bsuicid(?:e|al)\b(?! (?:of|by|prevention|hotline|awareness)\b)|\bself[- ]?harm"
    r"|\b(?:kill|hurt|harm)(?:ed|ing)? (?:him|her|them)?myself\b|\btak(?:e|ing) my (?:own )?life\b"
    r"|\bend(?:ing)? (?:it all|my (?:own )?life|everything)\b|\b(?:want(?:ed|ing)?|wish|wanna|ready|going) (?:to )?die\b"
    r"|\bwish (?:that )?i (?:was|were) (?:dead|gone|never born)|\bwish i (?:wouldn['’]?t|would not|didn['’]?t) wake up"
    r"|\b(?:don['’]?t|do not|didn['’]?t|no longer) (?:really )?(?:want|wish) to (?:live|be alive|be here|exist|wake up|go on)\b"
    r"|\bnot sure (?:if |that )?i (?:want to|can) (?:live|be here|go on|stay alive)\b"
    r"|\b(?:no|any) (?:reason|point) (?:to live|to go on|in (?:living|going on|being alive))\b|\bcan(?:['’]?t|not) go on\b"
    r"|\b(?:life|living) (?:is(?:n['’]?t| not)|(?:no longer|not)) worth\b|\bnot worth living\b|\bbetter off (?:without me|dead)\b"
    r"|\b(?:hits?|beats?|chokes?|abuses?|abused|raped) me\b|\bafraid (?:he|she|they) (?:will|might) kill me\b"
    r"|自[杀殺残殘伤傷]|[轻輕]生|[寻尋]死|[伤傷]害自己|想死|去死|死了(?:算|就好|更好)|[还還]不如死|不想(?:再)?活|活不下去"
    r"|[结結]束(?:自己的?|我的?)?(?:生命|一切)|了[结結](?:自己|生命|一切)"
    r"|活(?:着|著)?(?:真的?|还|還|也)?[没沒]有?(?:什么|什麼|任何)?(?:意[思义義])|(?:打|强奸|強姦|虐待)我",
    re.IGNORECASE,
)
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
_SUBJECT = re.compile(
    rf"(?P<aside>\b{_SPOKEN_TO}{_OTHERS}\b(?!['’]s)|[对對跟和向[给給][为為把被](?:我的?)?{_OTHERS_ZH})"
    rf"|(?P<own>\bi\b|\bim\b|我)|(?P<other>\b(?:he|she|they)\b|\b{_OTHERS}\b|{_OTHERS_ZH})",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:do|did|have|had|would|wo|is|was|ai)n['’]?t\b(?! (?:know|care|see))|\bnot\b(?! (?:sure|only|just|certain|know))"
    r"|\bnever\b(?! (?:felt|been) (?:so|this|more))|\bno\b(?! (?:longer|one|reason|point|idea))|\bwithout\b"
    r"|不(?=$|会|會|想|要|是|曾)|[没沒](?!人|用|[办辦]法|意|[关關]系)|[从從]未|未曾|[别別](?=$)",
    re.IGNORECASE,
)
_NOT_SO = re.compile(
    r"\b(?:don['’]?t|do not) (?:think|believe|mean|say) (?:that )?$|(?:不是|不[觉覺]得|不[认認][为為])$", re.IGNORECASE
)
_CLAUSE = re.compile(
    r"[.!?;,:\n。！？；，、：…]+|\b(?:but|although|though|because)\b|但是?|可是|不[过過]|因[为為]", re.IGNORECASE
)


def first_risk(messages: Sequence[Message]) -> int | None:
    """Return the place, from 0, of the first message by the person with a cue; None where none has one."""
    return next((i for i, m in enumerate(messages) if m.role == "user" and cue(m.content)), None)


def cue(text: str) -> str:
    """Return the words with which the writer says that they themselves are at risk; empty if they say nothing of it."""
    for clause in _CLAUSE.split(text):
        for found in _CUE.finditer(clause):
            if _own(clause, found):
                return found[0]
    return ""


def _own(clause: str, found: re.Match[str]) -> bool:
    """Whether the one that a clause speaks of before a cue is its writer, who does not deny it."""
    if found[0].casefold().endswith((" me", "打我", "待我", "奸我", "姦我")):
        return not _DENIED.search(clause[: found.start()])
    subject = None
    for subject in _SUBJECT.finditer(clause, 0, found.start()):  # noqa: B007 - the last one is wanted
        pass
    start = subject.start() if subject else 0
    if subject is not None and subject["other"]:
        return False
    return not (_DENIED.search(clause[start : found.start()]) or _NOT_SO.search(clause[:start]))
