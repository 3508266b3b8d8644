"""Personal data in what people wrote, found by rule and replaced: the same thing by the same placeholder in a dialogue.

A rule finds what is written as such things are; it does not find a name, a place or a story that gives a person away.
What a bot says keeps its numbers and links, which are helplines far more often than anybody's own, except those that the
person wrote before. What the bot was told beforehand is cleaned as the person's words are, since profiles stand there.

Each pattern begins only where nothing of its kind stands before, so that a long text is looked through once.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from mindgauge.records.text import HAN, compatible, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mindgauge.records import Message
    from mindgauge.records.transcripts.transcript import Transcript

_INTRODUCED = re.compile(
    r"(?:(?i:my name is|my name's|i am called|call me) |我(?:的名字)?(?:叫|是叫)|我的名字是)"
    r"([^\W\d_][\w'’-]+(?: [^\W\d_][\w'’-]+)?)"
)
_SHORTEST, _LONGEST = 2, 4
"""Characters of a Chinese name; where it ends in a sentence, nothing says."""
_OF_THE_LOG = frozenset({"month", "trace", "spans", "responses", "participant"})
"""Tags that say where a dialogue stands in its log; `participant` is a person's id, which becomes a number."""
_SECRET = frozenset({"email", "identity", "card", "account"})
"""What is nobody's but one person's: taken out of a bot's words, too, where it was told so beforehand."""


class Scrubber:
    """Replaces personal data, dialogue by dialogue, and counts what it replaced."""

    def __init__(self, names: Iterable[str] | None = None) -> None:
        """Make one that also replaces names.

        Args:
            names: to replace, and those by which people introduce themselves; None for no names at all.
        """
        self.introduced = names is not None
        self.introductions = 0
        """Names by which people introduce themselves, and that were kept."""
        self.listed = _folded_names(names or ())
        self._listed = _as_words(self.listed)
        self.counts: Counter[str] = Counter()

    def scrub(self, transcript: Transcript) -> Transcript:
        """Return a dialogue without what the rules find."""
        person = [_readable(message.content) for message in transcript.messages if message.role == "user"]
        own = _folded_names(_introduced(person)) if self.introduced else set()
        self.introductions += 0 if self.introduced else len(_folded_names(_introductions(person)) - self.listed)
        dialogue = _ScrubbedDialogue(self.counts, _as_words(self.listed | own) if own else self._listed)
        dialogue.learn(person, RULES)
        dialogue.learn([_readable(transcript.system)], [rule for rule in RULES if rule.kind in _SECRET])
        return msgspec.structs.replace(
            transcript,
            messages=tuple(dialogue.message(message) for message in transcript.messages),
            system=dialogue.cleaned(transcript.system),
            tags={
                name: value if name in _OF_THE_LOG or _is_number(value) else dialogue.cleaned(value)
                for name, value in transcript.tags.items()
            },
        )

    def finds(self, text: str) -> bool:
        """Whether there is something to replace in a text, such as an id."""
        found: Counter[str] = Counter()
        _ScrubbedDialogue(found, self._listed).cleaned(text)
        return found.total() > 0


class _ScrubbedDialogue:
    """The placeholders of one dialogue."""

    def __init__(self, counts: Counter[str], names: Sequence[re.Pattern[str]]) -> None:
        self._counts, self._names = counts, names
        self._placeholders: dict[tuple[str, str], str] = {}
        self._numbers: Counter[str] = Counter()

    def learn(self, texts: Iterable[str], rules: Sequence[PersonalRule]) -> None:
        """Number what the rules find in some texts, in their order."""
        for text in texts:
            self._replaced(text, rules, count=False)

    def message(self, message: Message) -> Message:
        """Return a message of either side without what is personal in it."""
        clean = self.cleaned if message.role == "user" else self._echoes
        return msgspec.structs.replace(message, content=clean(message.content))

    def cleaned(self, text: str) -> str:
        """Return a text without what the rules find."""
        return self._without_names(self._replaced(_readable(text), RULES))

    def _replaced(self, text: str, rules: Sequence[PersonalRule], *, count: bool = True) -> str:
        for rule in rules:

            def placed(match: re.Match[str], rule: PersonalRule = rule) -> str:
                if not rule.holds(match[0]):
                    return match[0]
                return self._placeholder(rule.kind, _same(rule.kind, match[0]), count=count)

            text = rule.pattern.sub(placed, text)
        return text

    def _echoes(self, text: str) -> str:
        """Replace in the bot's words what the person wrote."""
        text = _readable(text)
        for rule in RULES:

            def placed(match: re.Match[str], kind: str = rule.kind) -> str:
                known = self._placeholders.get((kind, _same(kind, match[0])))
                if known is None:
                    return match[0]
                self._counts[kind] += 1
                return known

            text = rule.pattern.sub(placed, text)
        return self._without_names(text)

    def _without_names(self, text: str) -> str:
        for pattern in self._names:
            pieces, place = [], 0
            for match in pattern.finditer(_folded(text)):
                pieces += [text[place : match.start()], self._placeholder("name", match[0])]
                place = match.end()
            text = "".join([*pieces, text[place:]])
        return text

    def _placeholder(self, kind: str, same: str, *, count: bool = True) -> str:
        self._counts[kind] += count
        known = self._placeholders.get((kind, same))
        if known is None:
            self._numbers[kind] += 1
            known = self._placeholders[kind, same] = f"[{kind} {self._numbers[kind]}]"
        return known


def _readable(text: str) -> str:
    """Return a text without what nobody sees, and each letter as one character with its accents."""
    return compatible(visible(text), "NFC")


def _same(kind: str, text: str) -> str:
    """Return by what two ways of writing one thing are known as one."""
    if kind in {"telephone", "card"} and digits(text):
        return digits(text)
    written = compatible(text).casefold()
    return re.sub(r"\s", "", written) if kind == "email" else written.strip(" :号是")


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


# Names: as they are listed, whatever their accents, and in Chinese anywhere.


def _folded_names(names: Iterable[str]) -> set[str]:
    return {_folded(_readable(name.strip())) for name in names} - {""}


def _as_words(folded: Iterable[str]) -> list[re.Pattern[str]]:
    """Return where names stand, the longest first, in a text that is folded: as words of their own, in Chinese anywhere."""
    ordered = sorted(folded, key=lambda name: (-len(name), name))
    words = [rf"(?<!\w){re.escape(name)}(?!\w)" for name in ordered if not HAN.search(name)]
    chinese = [re.escape(name) for name in ordered if HAN.search(name)]
    return [re.compile("|".join(alternatives)) for alternatives in (words, chinese) if alternatives]


def _folded(text: str) -> str:
    """Return a text as long as it is, in small letters without accents: Héloïse as heloise."""
    return text.lower() if text.isascii() else "".join(map(_letter, text))


@lru_cache(maxsize=1 << 12)
def _letter(character: str) -> str:
    base = unicodedata.normalize("NFKD", character)[0].casefold()
    return base[0] if base else character


def _introductions(texts: Iterable[str]) -> Iterator[str]:
    """Yield how people say that they are called."""
    names = (match[1] for text in texts for match in _INTRODUCED.finditer(text))
    return (name for name in names if HAN.match(name) or name[0].isupper())


def _introduced(texts: Iterable[str]) -> list[str]:
    """Return the names by which people say that they are called, and each part of one."""
    names: list[str] = []
    for name in _introductions(texts):
        if HAN.match(name):
            names += [name[:length] for length in range(_SHORTEST, _LONGEST + 1) if len(name) >= length]
        else:
            words = [word for word in name.split() if word[0].isupper()]
            names += [" ".join(words), *words]
    return names


class PersonalRule(NamedTuple):
    """The kind of what a rule finds, how it is written, and whether what is so written is one."""

    kind: str
    pattern: re.Pattern[str]
    holds: Callable[[str], bool]


def digits(text: str) -> str:
    """Return the digits of a text."""
    return re.sub(r"\D", "", text)


def _luhn(number: str) -> bool:
    """Whether digits are a card's (ISO/IEC 7812-1, annex B)."""
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(number))]
    return sum(value - 9 * (value > 9) for value in doubled) % 10 == 0


def _is_card(text: str) -> bool:
    return 13 <= len(digits(text)) <= 19 and _luhn(digits(text))


def _is_telephone(text: str) -> bool:
    """Whether digits are as many as a whole telephone number has; 988 and 116 123 are nobody's own."""
    return 7 <= len(digits(text)) <= 15 and not re.fullmatch(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}", text.strip())


def _always(_: str) -> bool:
    return True


_GAP = r"[ ().\-/·\u2010-\u2015\u2212（）－．]"
"""What may stand between the digits of a telephone number: dashes of any kind among it."""
_LETTER = r"[^\W\u3400-\u9fff]"
"""Of an address: Chinese text stands beside one without a blank."""
_LOCAL = rf"(?:{_LETTER}|[.+%'’!#$&*=~^{{|}}-])"
_LABEL = rf"(?:{_LETTER}|-){{1,63}}"
_AT = r"(?:[@＠]|\s?[\[({<]\s?(?:at|@)\s?[\])}>]\s?|\sAT\s)"
_DOT = r"(?:[.．]|\s?[\[({<]\s?(?:dot|\.)\s?[\])}>]\s?|\sDOT\s)"
_ENDINGS = "app|be|ch|cn|co|com|de|edu|es|fr|gg|info|io|it|link|ly|me|net|nl|org|ru|tv|uk|xyz"
_ADDRESS = r"[^\s<>\"'，。）)]*[^\s<>\"'，。）),.;:!?]"
_MONTH_DAY = r"(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])"

RULES: tuple[PersonalRule, ...] = tuple(PersonalRule(kind, re.compile(pattern), holds) for kind, pattern, holds in (
    ("email", rf"(?<!{_LETTER})(?<![.+%'’!#$&*=~^{{|}}-])(?=\w){_LOCAL}{{1,64}}(?:{_AT}{_LABEL}(?:{_DOT}{_LABEL}){{1,8}}| ?[@＠] {_LABEL}(?:\.{_LABEL}){{1,8}}|[@＠][\u3400-\u9fff]{{1,9}}\.(?:[\u3400-\u9fff]{{2,4}}|[a-z]{{2,4}}))", _always),
    ("link", rf"(?:https?://|(?<![\w.])www\.){_ADDRESS}", _always),
    ("link", rf"(?i)(?<![\w.@/-])(?:[a-z0-9-]{{1,63}}\.){{1,4}}(?:{_ENDINGS})/{_ADDRESS}", _always),
    ("account", r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])", _always),
    ("identity", rf"(?<!\d)[1-9]\d{{5}}[ -]?(?:19|20)\d{{2}}{_MONTH_DAY}[ -]?\d{{3}}[\dXxＸｘ](?!\d)|\b\d{{3}}-\d{{2}}-\d{{4}}\b", _always),
    ("account", r"(?i)(?:(?<=qq)|(?<=wechat)|(?<=weixin)|(?<=vx)|(?<=v信)|(?<=薇信)|(?<=微信)|(?<=微信号)|(?<=qq号)|(?<=扣扣))[号是:：\s]{0,4}[A-Za-z0-9][A-Za-z0-9_-]{4,19}", _always),
    ("account", r"(?i)(?<![a-z])(?:insta|instagram|ig|snap|snapchat|telegram|discord|kik|whatsapp|facebook|fb|wx)\s?[:：=]\s?(?=[\w@])@?[\w.#-]{3,40}", _always),
    ("account", r"(?<![\w@./])@[A-Za-zÀ-ɏ_][A-Za-zÀ-ɏ0-9_.]{1,29}\b", _always),
    ("location", r"(?<![\d.])-?\d{1,3}\.\d{3,}\s?,\s?-?\d{1,3}\.\d{3,}(?!\d)", _always),
    ("card", r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)", _is_card),
    ("number", r"(?<!\d)(?<!\d[ -])\d(?:[ -]?\d){15,}", _always),
    ("telephone", r"(?<![\d+＋])1[3-9]\d{9}(?!\d)|(?<![零〇○一二三四五六七八九])[一幺][零〇○一二三四五六七八九幺]{10}(?![零〇○一二三四五六七八九])", _always),
    ("telephone", rf"(?<![0-9_.])(?!\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?!\d))[+＋]?\(?\d(?:{_GAP}{{0,3}}\d){{6,14}}(?!{_GAP}{{0,3}}\d)(?:\s?(?:x|ext\.?)\s?\d{{1,6}})?(?![A-Za-z_])", _is_telephone),
))  # fmt: skip
"""In the order in which they are tried: what one has found, the next does not see."""

_CUES = (
    r"[@＠]", r"[\[({<]\s?(?:at|@)", r"\sAT\s",
    r"://", r"www\.", rf"(?i:\.(?:{_ENDINGS})/)",
    r"[A-Z]{2}[0-9]{2}", r"(?i:(?:qq|wechat|weixin|vx|v信|薇信|微信|扣扣)[号是:：\s]{0,4}[a-z0-9])",
    r"(?i:(?:insta|instagram|ig|snap|snapchat|telegram|discord|kik|whatsapp|facebook|fb|wx)\s?[:：=])",
    r"\.\d{3}", rf"\d(?:{_GAP}{{0,3}}\d){{6}}", r"[零〇○一二三四五六七八九幺]{11}",
)  # fmt: skip
"""Without any of these no rule finds anything."""
_UNSEEN = r"[\p{C}\p{Zl}\p{Zp}\p{Zs}\x{34f}\x{115f}\x{1160}\x{17b4}\x{17b5}\x{180b}-\x{180f}\x{2800}\x{3164}\x{fe00}-\x{fe0f}\x{ffa0}--[\n\r\t \x{3000}]]"
"""What a reader does not see, and what may hide a cue."""
MAY_HOLD = "|".join((*_CUES, _UNSEEN))
"""Where this stands nowhere in a text, no rule finds anything there; for the regular expressions of polars."""
