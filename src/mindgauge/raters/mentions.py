"""Who is named in an answer in free words: names are compared without titles, and one person is looked for among others.

What says neither that this person is meant nor that it is somebody else, or nobody, is no answer. So a model that
declines, says nothing or does what a text told it to is never taken for one that saw nobody.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.raters import json_objects, rule
from mindgauge.raters.echo import NOTHING, words
from mindgauge.raters.json_objects import LONGEST, after_thinking
from mindgauge.raters.verdict import CUT, ENDLESS, NO, QUOTED, TWO, YES, Verdict
from mindgauge.records import Status
from mindgauge.records.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.raters.echo import PromptText


EMPTY = "it is empty"
UNNAMED = "it names nobody, and does not say that it is nobody"
DENIED = "it has the name in a sentence with a negation"
EITHER = "the name in it may be that of another"
NOT_KNOWN = "the sample does not say whose name is looked for"
_ARRAY = regex(r"\[\s*+(?:[\"'][^\[\]]*+)?+\]")
_ASIDE = regex(r"\([^)\n]{0,200}+\)|（[^）\n]{0,200}+）")
_LONGEST_NAME = 200
_COPIED = 3
"""Words in a row that nobody writes twice by chance."""
_PROFESSIONS = {
    "dr", "doctor", "counselor", "counsellor", "therapist", "psychologist", "prof", "professor",
}  # fmt: skip
_RELATIONS = {
    "friend", "boss", "family", "member", "colleague", "supervisor", "manager", "director", "teacher", "coach", "neighbour",
    "neighbor", "relative", "uncle", "aunt", "brother", "sister", "mother", "father", "cousin", "mr", "mrs", "ms", "miss",
}  # fmt: skip
_TITLES = _PROFESSIONS | _RELATIONS
_DOT_OF_TITLE = regex(r"\b(Dr|Prof|Mrs|Mr|Ms)\.", re.IGNORECASE)
_SENTENCE_END = regex(r"[.!?;。！？；\n]")
_TOKEN = regex(r"[^\W_]+(?:['’][^\W_]+)?")
_NOT = regex(
    r"\b(?:no|not|nobody|none|nor|neither|never|cannot|without|unknown|unclear|unnamed|unspecified|unidentified)\b|n['’]t\b",
    re.IGNORECASE,
)


class Name(NamedTuple):
    """A name without title or relation, and which of the two it carried: a profession, a relation, or nothing."""

    bare: str
    title: str


def name(text: str) -> Name:
    """Normalise a name: letter case, what stands in brackets, titles and relations aside."""
    spoken = re.findall(r"[\w'’-]+", _ASIDE.sub(" ", text[:_LONGEST_NAME]).split(",")[0].casefold())
    bare = [word for word in spoken if word not in _TITLES]
    titles = {"profession" if word in _PROFESSIONS else "relation" for word in spoken if word not in bare}
    return Name(" ".join(bare), "profession" if "profession" in titles else "relation" if titles else "")


def names(reply: str) -> list[str] | None:
    """Return the texts in a reply's array, JSON or as Python writes it; None where there is none, or two different ones."""
    array: list[str] | None = None
    for match in _ARRAY.finditer(after_thinking(reply)):
        try:
            listed = json_objects.read(match[0])
        except ValueError:
            continue
        if not all(isinstance(text, str) for text in listed):
            continue
        if array not in (None, listed):
            return None
        array = listed
    return array


def among(listed: Sequence[str], person: str, *others: str) -> bool | None:
    """Say whether a person is in a list; None where it cannot be told from another person of the same bare name.

    A bare name is the person's. Where the story has `Dr. Liu` and `Colleague Liu`, `Liu` alone may be either.
    """
    wanted = name(person)
    shared = any(wanted.bare == name(other).bare for other in others)
    titles = {listed_name.title for listed_name in map(name, listed) if listed_name.bare == wanted.bare}
    if wanted.title in titles:
        return True
    return (None if shared else True) if "" in titles else False


class NamedPeople(NamedTuple):
    """Whose name is looked for in an answer, and who else may be named."""

    sought: str
    others: tuple[str, ...]

    @classmethod
    def of(cls, tags: Mapping[str, str], names_in: Sequence[str]) -> NamedPeople:
        """Return the people whose names a sample's tags hold, the first of them sought."""
        sought, *others = (tags.get(tag, "") for tag in names_in)
        return cls(sought, tuple(filter(None, others)))


def read(text: str, people: NamedPeople, prompt_text: PromptText = NOTHING, *, cut: bool = False) -> Verdict:
    """Read whether an answer names a person: yes, or no where it names only others, or says that it is nobody.

    Args:
        text: what the model answered: an array of names, or free words.
        people: the person, and who else may be named.
        prompt_text: what others wrote and stood before the model; that it is nobody must be its own words.
        cut: whether the answer breaks off, so that a name may only not have been reached.
    """
    judged = _read(after_thinking(text), people, prompt_text)
    return judged if not cut or judged.value == YES else _unread(CUT)


def _read(answer: str, people: NamedPeople, prompt_text: PromptText) -> Verdict:
    if not name(people.sought).bare:
        return _unread(NOT_KNOWN)
    if not answer.strip():
        return _unread(EMPTY)
    if len(answer) > LONGEST:
        return _unread(ENDLESS)
    arrays = [match[0] for match in _ARRAY.finditer(answer)]
    return _in_array(answer, arrays, people, prompt_text) if arrays else _in_words(answer, people, prompt_text)


def _in_array(answer: str, arrays: list[str], people: NamedPeople, prompt_text: PromptText) -> Verdict:
    listed = names(answer)
    if listed is None:
        return _unread(TWO)
    if any(map(prompt_text.has, arrays)):
        return _unread(QUOTED)
    is_named = among(listed, people.sought, *people.others)
    return _unread(EITHER) if is_named is None else Verdict(Status.OK, YES if is_named else NO)


def _in_words(answer: str, people: NamedPeople, prompt_text: PromptText) -> Verdict:
    sentences = _SENTENCE_END.split(_DOT_OF_TITLE.sub(r"\1", answer))
    naming = [(s, forms) for s in sentences if (forms := {*_written(s, people.sought)})]
    meant = {
        (bool(_NOT.search(s)), among([form], people.sought, *people.others)) for s, forms in naming for form in forms
    }
    if (False, True) in meant:
        return Verdict(Status.OK, YES)
    refusal = rule.refusal(answer)
    if refusal and not prompt_text.says(refusal):
        return Verdict(Status.REFUSED, problem=UNNAMED)
    if (True, True) in meant:
        return _unread(DENIED)
    if any(is_meant is None for _, is_meant in meant):
        return _unread(EITHER)
    if {*"{["} & {*answer}:  # a list that breaks off, or a verdict in a form that nobody asked for
        return _unread(UNNAMED)
    telling = [
        s for s in sentences if _NOT.search(s) or any(True for other in people.others for _ in _written(s, other))
    ]
    own = [s for s in telling if len(words(s)) < _COPIED or not prompt_text.says(s)]
    return Verdict(Status.OK, NO) if own else _unread(QUOTED if telling else UNNAMED)


def _written(sentence: str, person: str) -> Iterator[str]:
    """Yield each place where a sentence has a person's bare name, with the titles before it; a small letter is no name."""
    tokens = [token.removesuffix("'s").removesuffix("’s") for token in _TOKEN.findall(sentence)]
    bare = _TOKEN.findall(name(person).bare)
    for start in range(len(tokens) - len(bare) + 1):
        part = tokens[start : start + len(bare)]
        if [token.casefold() for token in part] != bare or (part[0][0].islower() and not person.islower()):
            continue
        first = start
        while first and tokens[first - 1].casefold() in _TITLES:
            first -= 1
        yield " ".join(tokens[first : start + len(bare)])


def _unread(problem: str) -> Verdict:
    return Verdict(Status.UNPARSABLE, problem=problem)
