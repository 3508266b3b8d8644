"""One report's words in another language: sentences by the memory, names as they are, and a count of what is not known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.records import text as english_text
from mindgauge.records.english import lowered
from mindgauge.records.regex import regex
from mindgauge.records.rounding import plural
from mindgauge.reports.language import memory
from mindgauge.reports.language.memory import ENDS, HAN, NUMBER, ended, folded, joined, number, percents
from mindgauge.reports.language.memory import STARTS as ENGLISH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mindgauge.reports.content import Case
    from mindgauge.reports.language.memory import Index, Memory, Pattern
    from mindgauge.reports.sections import Report

_HAN = re.compile(f"[{HAN}]")
_LETTERS = re.compile(r"[A-Za-z]{2}")
_NUMBER = regex(f"(?:{NUMBER})")
_INTERVAL = regex(rf"({NUMBER}) to ({NUMBER})")
_BOUNDED = regex(rf"({NUMBER}) \[({NUMBER}), ({NUMBER})\]")
_NAME = re.compile(r"(?=\S*[\d_/\\<>@#=.]|\S+[A-Z])\S+|[0-9a-f]{8}", re.DOTALL)
"""What is no word of English: something without a blank that has a number, a sign or a capital within, or an identifier."""
_CUT = {
    sign: regex(f"({cut})|[(\\[“]|[)\\]”]")
    for sign, cut in ((";", "; "), ("–", " – "), ("+", r" \+ "), (",", ", | and | or "))
}
"""Where a text is cut into parts, and what keeps parts of it together."""
_NEXT = re.compile(r"(?<=[.!?]) (?=[A-Z“\d])")
_BETWEEN = re.compile(r"^([A-Za-z][\w ()/.-]*?): (.+)$", re.DOTALL)
_ASIDE = re.compile(r"^(.+?) \(([^()]+)\)$", re.DOTALL)
_LONGEST, _DEEPEST, _MOST_EFFORT = 2000, 20, 500
"""Letters of a clause, clauses within clauses, and clauses of a text, several times what any text of ours has: whatever
else comes stays English soon."""
_MOST_CLAUSES = 3
_MOST_JOINT = 5
"""Items of a list that may be one name: a title has its own commas."""
_EDGES = re.compile(r"^([\s–,:;]*+)((?:.*[^\s–,:;])?)([\s–,:;]*)$", re.DOTALL)
_FULL_SIGNS = {".": "。", ",": "，", ";": "；", ":": "："}
_SIGNS = str.maketrans({",": "，", ":": "：", ";": "；"})
_ACCOUNT = (
    "This report was translated by a program, from sentences that a language model wrote and no clinician checked."
)
_IN_DOUBT = "In doubt, the English report holds."
_PAIRS = (("(", ")"), ("“", "”"), ("[", "]"))
"""What is opened and closed within a part of a sentence, or not at all."""


class Sentence(NamedTuple):
    """A sentence as it is shown, and whether it is in the page's language."""

    text: str
    known: bool


class Translator:
    """Says a report's words in a language.

    Args:
        memory: of the language.
        names: what stands as it is wherever it stands: models, judges, benchmarks, runs, people.
        pairs: further texts in both languages, such as a rubric's own.
    """

    def __init__(self, memory: Memory, names: Iterable[str] = (), pairs: Mapping[str, str] | None = None) -> None:
        self.memory = memory
        self._pairs = {folded(key): text for key, text in (pairs or {}).items()}
        self._values: dict[str, str | None] = {}
        self._sentences: dict[str, list[Sentence]] = {}
        self._effort = _MOST_EFFORT
        self._depth = 0
        self.names: set[str] = set()
        self.names = self._kept(list(names))

    # -- whole texts --------------------------------------------------------------------------------------------------

    def worded(self, text: str) -> str:
        """Return how a rubric words a text in the language; empty where it does not."""
        return self._pairs.get(folded(text.replace("\N{NO-BREAK SPACE}", " ")), "")

    def sentences(self, text: str) -> list[Sentence]:
        """Return a text's sentences in the language, and as they are where they are not known."""
        if text not in self._sentences:
            self._effort = _MOST_EFFORT
            self._sentences[text] = list(self._said(text))
        return self._sentences[text]

    def _kept(self, names: Iterable[str]) -> set[str]:
        """Return the names that stay; those that are made of words of ours, as a baseline’s or an aside, are pairs."""
        self.names = {name for name in names if name and " " not in name}
        stay = set(self.names)
        for name in (name for name in names if " " in name):
            self._effort = _MOST_EFFORT
            wording = self.clause(name)
            if wording is None:
                stay.add(name)
            else:
                self._pairs[folded(name)] = wording
        self._values.clear()
        return stay

    @property
    def english(self) -> list[str]:
        """Sentences that were to be said and stay English, each once."""
        unknown = (sentence.text for wording in self._sentences.values() for sentence in wording if not sentence.known)
        return list(dict.fromkeys(unknown))

    def account(self) -> str:
        """Say who translated, and how many sentences stay English."""
        count = plural(len(self.english), "sentence") if self.english else "No sentence"
        wording = self.sentences(f"{_ACCOUNT} {count} stayed English. {_IN_DOUBT}")
        return together(wording)

    def _said(self, text: str) -> Iterator[Sentence]:
        plain = unmarked(text).replace("\N{NO-BREAK SPACE}", " ").strip()
        if not _LETTERS.search(plain) or _HAN.search(plain):
            wording = None if _HAN.search(plain) else _FULL_SIGNS.get(plain) or self._direct(plain)
            yield Sentence(wording or percents(unmarked(text).strip()), known=True)
            return
        parts = english_text.split(plain)
        whole = self._several(plain) if len(parts) > 1 else self._whole(plain)
        if whole is not None:
            yield Sentence(whole, known=True)
            return
        place = 0
        while place < len(parts):
            for end in (place + 1, place + 2, place + 3):
                wording = self._whole(" ".join(parts[place:end])) if end <= len(parts) and len(parts) > 1 else None
                if wording is not None:
                    break
            else:
                end = place + 1
            yield from [Sentence(wording, known=True)] if wording is not None else self._further(parts[place])
            place = end

    def _several(self, text: str) -> str | None:
        """Return several sentences that stand in the memory together."""
        core = text.removesuffix(".")
        wording = self._fixed(core) or self._matched(core, self.memory.long)
        return None if wording is None else ended(wording, text[len(core) :])

    def _further(self, text: str) -> Iterator[Sentence]:
        """Cut an unknown sentence where another may begin behind what looks like an abbreviation, as `n.`."""
        parts = _NEXT.split(text)
        wording = [self._whole(part) for part in parts]
        if None in wording:
            yield Sentence(text, known=False)
        else:
            yield from (Sentence(part, known=True) for part in wording if part is not None)

    def _whole(self, text: str) -> str | None:
        """Return one sentence, or what stands between signs."""
        if len(text) > _LONGEST:
            return None
        match = _EDGES.match(text)
        if match and (match[1] or match[3]) and match[2]:
            inner = self._whole(match[2])
            if inner is not None:
                return f"{_edge(match[1])}{inner}{_edge(match[3])}"
        core = text.rstrip(".?!") if text[-1:] in ".?!" else text
        sign = text[len(core) :]
        wording = self.clause(core)
        return None if wording is None else ended(wording, sign[:1])

    # -- parts of a sentence ------------------------------------------------------------------------------------------

    def clause(self, text: str) -> str | None:
        """Return a clause, a label, a name, a number or a list of these; None where it is not known."""
        if text not in self._values:
            if not self._effort or self._depth == _DEEPEST or len(text) > _LONGEST:
                return None
            closed = all(text.count(left) == text.count(right) for left, right in _PAIRS)
            self._effort -= 1
            self._depth += 1
            self._values[text] = self._clause(text) if closed else None
            self._depth -= 1
        return self._values[text]

    def _clause(self, text: str) -> str | None:
        wording = self._direct(text)
        if wording is None and not (_LETTERS.search(text) and not _NAME.fullmatch(text)):
            return text
        return self._composed(text) if wording is None else wording

    def _direct(self, text: str) -> str | None:
        """Return what stands in the memory as it is or by one of its patterns, a name, a number or an interval."""
        for name in (text, lowered(text)):  # a sentence may have raised it
            if name in self.names:
                return name
        fixed = self._fixed(text)
        if fixed is not None:
            return fixed
        if _NUMBER.fullmatch(text):
            return number(text)
        if match := _BOUNDED.fullmatch(text):
            return f"{number(match[1])} [{number(match[2])}, {number(match[3])}]"
        if match := _INTERVAL.fullmatch(text):
            return f"{number(match[1])} 至 {number(match[2])}"
        wording = self._matched(text, self.memory.clauses)
        if wording is None and len(parts := _parts(text, ";")) > 1:
            wording = self._clauses(parts)
        if wording is None and len(parts := _parts(text, "–")) > 1:
            wording = self._of_parts(parts, " – ")
        return self._matched(text, self.memory.index) if wording is None else wording

    def _matched(self, text: str, index: Index) -> str | None:
        for pattern, found in index.matches(text) if len(text) <= _LONGEST else ():
            wording = self._filled(pattern, found)
            if wording is not None:
                return wording
        return None

    def _filled(self, pattern: Pattern, found: Mapping[str, str]) -> str | None:
        """Put what stands in a pattern's slots into its form in the language; None where one of them is not known."""
        values = {}
        for slot, kind in pattern.kinds.items():
            value = found[slot]
            wording = self._in_slot(value, kind)
            if wording is None:
                return None
            values[slot] = wording
        return joined(*(part for words, slot in pattern.target for part in (words, values[slot] if slot else "")))

    def _in_slot(self, text: str, kind: str | None) -> str | None:
        if kind == "english":
            return f"{ENGLISH}{text}{ENDS}" if _LETTERS.search(text) else text
        if kind in {"keep", "word"}:
            return text
        if kind == "metric":
            return self.memory.metrics.get(folded(text.replace("_", " ")))
        if kind == "label":
            return self._known(text)
        if kind in {None, "amounts"}:
            return None if _NEXT.search(text) else self.clause(text)
        return number(text)

    def _composed(self, text: str) -> str | None:
        """Return clauses that signs hold together, a list, or something with an aside."""
        for form in (self._in_brackets, self._sum, self._headed, self._list, self._aside, self._pair):
            wording = form(text)
            if wording is not None:
                return wording
        return None

    def _in_brackets(self, text: str) -> str | None:
        wording = self.clause(text[1:-1]) if text[0] == "(" and text[-1] == ")" else None
        return None if wording is None else f"（{wording}）"

    def _aside(self, text: str) -> str | None:
        match = _ASIDE.match(text)
        wording = self._of_parts([match[1], match[2]], "（") if match else None
        return None if wording is None else f"{wording}）"

    def _headed(self, text: str) -> str | None:
        """Return what stands behind a name or a heading."""
        for name in self.names:
            if text.startswith(f"{name}: "):
                return self._of_parts([name, text[len(name) + 2 :]], "：")
        match = _BETWEEN.match(text)
        heading = self._direct(match[1]) if match else None
        wording = self.clause(match[2]) if match and heading is not None else None
        return None if wording is None else f"{heading}：{wording}"

    def _sum(self, text: str) -> str | None:
        parts = _parts(text, "+")
        return self._of_parts(parts, " + ") if len(parts) > 1 else None

    def _of_parts(self, parts: Sequence[str], sign: str) -> str | None:
        """Return parts with a sign between them."""
        wording = []
        for part in parts:
            known = self.clause(part)
            if known is None:
                return None
            wording.append(known)
        return sign.join(wording)

    def _clauses(self, parts: Sequence[str]) -> str | None:
        """Return clauses between semicolons, of which several may stand in the memory together."""
        wording, place = [], 0
        while place < len(parts):
            for end in range(min(len(parts), place + _MOST_CLAUSES), place, -1):
                joint = "; ".join(parts[place:end]).removesuffix(".")
                several = end > place + 1
                part = (
                    (self._fixed(joint) or self._matched(joint, self.memory.clauses)) if several else self.clause(joint)
                )
                if part is not None:
                    break
            else:
                return None
            wording.append(part)
            place = end
        return "；".join(wording)

    def _list(self, text: str) -> str | None:
        """Return `a, b and c`; of what is joined by “or”, the same with its word."""
        items = _parts(text, ",")
        if len(items) < 2:
            return None
        wording, ends, before, place = [], _ends(text, items), 0, 0
        while place < len(items):
            for end in range(min(len(items), place + _MOST_JOINT), place, -1):
                joint = text[ends[place][0] : ends[end - 1][1]]
                part = self._joint(joint, end - place)
                if part is not None:
                    break
            else:
                return None
            wording.append(part)
            before, place = place, end
        last = text[ends[before - 1][1] : ends[before][0]] if len(wording) > 1 else ", "
        if last == ", ":
            return "、".join(wording)
        return joined("、".join(wording[:-1]), "或" if last == " or " else "和", wording[-1])

    def _joint(self, text: str, items: int) -> str | None:
        """Return so many items of a list that may be one: whole, two by a pattern, more as a name that is known."""
        return self.clause(text) if items == 1 else self._direct(text) if items == 2 else self._fixed(text)

    def _fixed(self, text: str) -> str | None:
        """Return what a text is in the language without any slots: as a rubric words it, or as the memory has it."""
        known = self._pairs.get(folded(text)) or self.memory.exact.get(text) or self.memory.fixed.get(folded(text))
        return self.memory.headings.get(folded(text.replace("_", " "))) if known is None and "_" in text else known

    def _known(self, text: str) -> str | None:
        """Return a name or a label that is known as it is."""
        if text in self.names:
            return text
        fixed = self._fixed(text)
        return text if fixed is None and _NAME.fullmatch(text) else fixed

    def _pair(self, text: str) -> str | None:
        """Return a heading and the value that stands behind it."""
        place = text.rfind(" ") if ". " not in text else 0
        while place > 0:
            name = text[:place]
            heading = name if name in self.names else self.memory.headings.get(folded(name))
            value = self.clause(text[place + 1 :]) if heading is not None else None
            if heading is not None and value is not None:
                return f"{heading}{'：' if _HAN.match(value) else ' '}{value}"
            place = text.rfind(" ", 0, place)
        return None


def _parts(text: str, sign: str) -> list[str]:
    """Cut a text at a sign, but not within brackets or quotations."""
    parts, start, depth = [], 0, 0
    for match in _CUT[sign].finditer(text):
        if match[1] is None:
            depth += 1 if match[0] in "([“" else -1
        elif depth == 0:
            parts.append(text[start : match.start()])
            start = match.end()
    return [*parts, text[start:]]


def _ends(text: str, parts: Iterable[str]) -> list[tuple[int, int]]:
    """Return where each part of a text begins and ends."""
    places, start = [], 0
    for part in parts:
        start = text.index(part, start)
        places.append((start, start + len(part)))
        start += len(part)
    return places


def unmarked(text: str) -> str:
    """Return a text without the signs around what stays English."""
    return text.replace(ENGLISH, "").replace(ENDS, "")


def _edge(signs: str) -> str:
    """Return the signs around a text, in full width; a dash keeps its blanks."""
    return signs if "–" in signs else signs.replace(", ", ",").replace(": ", ":").replace("; ", ";").translate(_SIGNS)


def together(wording: Iterable[Sentence]) -> str:
    """Return sentences as one text."""
    return english_text.join([sentence.text for sentence in wording])


def translator_of(report: Report) -> Translator | None:
    """Return who says a report's words in its language; nobody for English."""
    if report.language == memory.ENGLISH:
        return None
    return Translator(memory.read(report.language), _names(report), dict(_pairs(report, report.language)))


def _names(report: Report) -> Iterator[str]:
    yield from (*report.names, *report.names.values())
    for system in report.systems:
        yield from (system.label, system.model)
    for judge in report.trust.judges:
        yield judge.rater
    for instrument in report.how.instruments:
        yield from (instrument.benchmark, instrument.rubric, instrument.rubric_hash, *instrument.used)
        yield from (instrument.citation, instrument.link)
    for made in report.how.runs:
        yield from (made.run, *(name for name, _ in made.setups))
    for scores in report.scores:
        yield from (scores.run, scores.benchmark, *scores.models, *scores.judges)
        for metric in scores.metrics:
            yield metric.rater
            yield metric.model
    for case in _cases(report):
        yield from (verdict.rater for verdict in case.verdicts)
        yield case.words


def _cases(report: Report) -> Iterator[Case]:
    for chosen in report.reading:
        yield from chosen.items
    yield from report.weak.cited
    for part in report.dialogues:
        yield from (ribbon.case for ribbon in (*part.worst, *part.rest) if ribbon.case)


def _pairs(report: Report, language: str) -> Iterator[tuple[str, str]]:
    """Yield a rubric's words in English and in the language: criteria, and levels by their protocol."""
    for criterion in (criterion for instrument in report.how.instruments for criterion in instrument.criteria):
        texts = criterion["texts"]
        if texts.get(memory.ENGLISH) and texts.get(language):
            yield texts[memory.ENGLISH], texts[language]
        levels: dict[str, dict[str, list[tuple[str, str]]]] = {}
        for wording in criterion["wordings"]:
            levels.setdefault(wording["protocol"], {})[wording["language"]] = wording["levels"]
        for by_language in levels.values():
            if memory.ENGLISH in by_language and language in by_language:
                pairs = zip(by_language[memory.ENGLISH], by_language[language], strict=True)
                yield from ((english[1], other[1]) for english, other in pairs)
