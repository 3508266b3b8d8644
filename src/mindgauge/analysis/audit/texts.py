"""Checks of texts: of items that are there twice, of characters read wrongly, and of replies: nothing, an error, or another form."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis.audit.view import REPLIES, CheckResult, Severity, check, counted, limited, places
from mindgauge.raters.rule import refusal
from mindgauge.records.rounding import percent, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.analysis.audit.view import View


MAIN = 40
"""A part with this mean length is a text of the item, not a name or an option."""
PASSAGE = 15
"""A turn of so many Chinese characters, or four times as many Latin ones, is too long to be said twice by chance."""
BOILERPLATE = 0.05
"""A passage in more than this share of the items, and in more than ten, is a form of words and ties none of them."""
CUT = 200
"""Texts shorter than this are not cut by a limit on length."""
PILE_UP = 1e-4
"""So improbable must it be that so many texts share the greatest length, given how many are nearly as long."""
CELL_LIMITS = (32_759, 32_767, 65_535)
"""Lengths at which spreadsheets cut a cell."""

_WIDE = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]"
_ROLES = r"seeker|client|patient|user|human|help[- ]?seeker|speaker|supporter|counsell?or|therapist|assistant|system|bot|listener"
_PEOPLE = r"(?i)^(?:seeker|client|patient|user|human|help[- ]?seeker|speaker|求助者|来访者|咨客)\x1f"
_TURNS = rf"(?i)\[({_ROLES})\]|(?m:^\s*({_ROLES}|求助者|来访者|支持者|咨询师)\s*[:：])"
_BREAKS = r"\n|\\n|\s+EOS\s+"
_NUMBERING = r"^[\d.\s)\]:-]+"


def _new_keys(rows: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Return the rows of each group but those of the group's first item."""
    first = pl.struct("file", "key").first().over(keys, order_by="place")
    return rows.filter(pl.struct("file", "key") != first)


@check(
    "duplicate_texts",
    Severity.WARNING,
    "the same item counts more than once, and intervals that take the copies as independent are too narrow",
)
def duplicate_texts(view: View) -> Iterator[CheckResult]:
    """Items of one split and system with the same texts throughout."""
    rows = view.items.with_columns(split=pl.col("split").fill_null(""), system=pl.col("system").fill_null(""))
    repeated = _new_keys(rows, ["split", "system", "whole"])
    if repeated.height:
        groups = repeated.select("split", "system", "whole").n_unique()
        parts = f" ({counted(repeated, 'split')})" if repeated["split"].n_unique() > 1 else ""
        yield CheckResult(repeated.height, f"{plural(repeated.height, 'surplus copy', 'surplus copies')} of {plural(groups, 'text')}{parts}", places(repeated))  # fmt: skip


@check(
    "repeated_inputs",
    Severity.NOTE,
    "items that share an input are not independent: resample them together (a cluster)",
)
def repeated_inputs(view: View) -> Iterator[CheckResult]:
    """Items that share a part of some length (context, prompt, situation) and differ in the rest."""
    long = pl.col("plain").str.len_chars() >= PASSAGE
    main = pl.col("plain").str.len_chars().mean().over("kind") >= MAIN
    parts = view.keyed.filter(~pl.col("kind").is_in(REPLIES), long, main).select("file", "row", "kind", "plain")
    rows = view.items.filter(pl.col("parts") > 1).join(parts, on=["file", "row"])
    rows = rows.with_columns(system=pl.col("system").fill_null(""), split=pl.col("split").fill_null(""))
    keys = ["split", "system", "kind", "plain"]
    in_several_items = (pl.col("whole").n_unique().over(keys) > 1) & (
        pl.struct("file", "key").n_unique().over(keys) > 1
    )
    no_boilerplate = pl.col("whole").n_unique().over(keys) <= max(10, BOILERPLATE * view.items.height)
    for (kind,), own in rows.filter(in_several_items & no_boilerplate).group_by("kind", maintain_order=True):
        groups = own.group_by("plain").agg(pl.col("label").drop_nulls().n_unique())
        text = f"{plural(groups.height, 'text')} ({kind}) in {plural(own.height, 'item')} that differ in the rest"
        if differ := groups.filter(pl.col("label") > 1).height:
            text += f"; {differ} of them with different labels"
        yield CheckResult(groups.height, text, places(own))


@check(
    "duplicates_across_splits",
    Severity.ERROR,
    "what was tuned or trained on one split is tested on the same texts in another: results are too good",
)
def duplicates_across_splits(view: View) -> Iterator[CheckResult]:
    """Texts that stand in more than one split."""
    rows = view.items.filter(pl.col("split").is_not_null())
    splits = rows.group_by("split").len().sort("len", "split")["split"].to_list()
    for index, small in enumerate(splits):
        own = rows.filter(pl.col("split") == small)
        for large in splits[index + 1 :]:
            other = rows.filter(pl.col("split") == large)
            both = own.join(other.select("input").unique(), on="input", how="semi")
            if both.height:
                texts = both["input"].n_unique()
                yield CheckResult(
                    both.height,
                    f"{plural(both.height, 'row')} of {small} ({plural(texts, 'text')}) also in {large}",
                    places(both),
                )


@check(
    "shared_passages",
    Severity.WARNING,
    "items cut from one dialogue or text stand side by side: a split by item leaks, and items are no independent sample",
)
def shared_passages(view: View) -> Iterator[CheckResult]:
    """Items that share a long passage said by the person, and the groups into which they fall."""
    items = view.asked.with_row_index("item")
    tied = tied_items(items)
    if not tied.height:
        return
    group = groups(tied)
    rows = items.filter(pl.col("item").is_in(list(group)))
    sizes: dict[int, int] = defaultdict(int)
    for root in group.values():
        sizes[root] += 1
    text = f"{plural(rows.height, 'item')} of {items.height:,} share a passage with another; they form {plural(len(sizes), 'group')}, the largest of {max(sizes.values())}"
    splits = items.join(tied, on="item").filter(pl.col("split").n_unique().over("passage") > 1)
    crossing = splits["item"].n_unique()
    if crossing:
        text += f"; {plural(crossing, 'item')} share one with another split"
    yield CheckResult(rows.height, text, places(rows), Severity.ERROR if crossing else None)


def tied_items(items: pl.DataFrame) -> pl.DataFrame:
    """Return which items share a long passage with another that is no copy of theirs: `item`, `passage`.

    Args:
        items: `item`, its number; `raw`, its text; `whole`, the same with blanks evened out.
    """
    passages = _passages(items).join(items.select("item", "whole"), on="item")
    many_items = min(items.height / 2, max(10, BOILERPLATE * items.height))
    different = pl.col("whole").n_unique().over("passage")  # copies of an item are duplicates, not parts of one text
    return passages.filter(different > 1, pl.len().over("passage") <= many_items)


def _passages(items: pl.DataFrame) -> pl.DataFrame:
    """Cut items into turns; where roles are named, only the person's own turns count."""
    turns = pl.col("raw").str.replace_all(_TURNS, "\n${1}${2}\x1f").str.replace_all(_BREAKS, "\n")
    rows = items.select("item", passage=turns.str.split("\n")).explode("passage")
    rows = rows.with_columns(person=pl.col("passage").str.contains(_PEOPLE))
    if rows["person"].any():
        rows = rows.filter("person")
    text = pl.col("passage").str.replace(r"^[^\x1f]*\x1f", "").str.replace(_NUMBERING, "")
    rows = rows.select("item", passage=text.str.replace_all(r"\s+", " ").str.strip_chars())
    shortest = pl.when(pl.col("passage").str.contains(_WIDE)).then(PASSAGE).otherwise(4 * PASSAGE)
    return rows.filter(pl.col("passage").str.len_chars() >= shortest).unique()


def groups(tied: pl.DataFrame) -> dict[int, int]:
    """Join items that share a passage, and what those share, into groups: item → its group."""
    parent: dict[int, int] = {}

    def root(item: int) -> int:
        while parent.setdefault(item, item) != item:
            parent[item] = item = parent[parent[item]]
        return item

    for (items,) in tied.group_by("passage").agg("item").select("item").iter_rows():
        for item in items[1:]:
            parent[root(item)] = root(items[0])
    return {item: root(item) for item in list(parent)}


@check(
    "source_listed_twice",
    Severity.WARNING,
    "a data set counts twice, and its share of the whole is not what the table of sources says",
)
def source_listed_twice(view: View) -> Iterator[CheckResult]:
    """Texts under two source names, and names that differ in spelling only."""
    rows = view.items.filter(pl.col("source").is_not_null())
    names = rows.group_by("source").len().sort("source")
    spelled = _spellings(names["source"].to_list())
    if spelled:
        counts = dict(names.iter_rows())
        fewer = sum(min(counts[name] for name in same) for same in spelled)
        facts = [f"{' = '.join(same)}: {' and '.join(str(counts[name]) for name in same)} rows" for same in spelled]
        yield CheckResult(len(spelled), f"{plural(len(spelled), 'source')} under two spellings; {plural(fewer, 'row')} under the rarer one", limited(facts))  # fmt: skip
    alias = {name: same[0] for same in spelled for name in same}
    rows = rows.with_columns(source=pl.col("source").replace(alias))
    shared = rows.filter(pl.col("source").n_unique().over("input") > 1)
    if shared.height:
        pairs: dict[tuple[str, ...], int] = defaultdict(int)
        for (sources,) in shared.group_by("input").agg(pl.col("source").unique().sort()).select("source").iter_rows():
            for i, first in enumerate(sources):
                for second in sources[i + 1 :]:
                    pairs[first, second] += 1
        ranked = sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0]))
        texts = shared["input"].n_unique()
        yield CheckResult(texts, f"{plural(texts, 'text')} under two source names or more", limited([f"{a} and {b}: {plural(n, 'text')}" for (a, b), n in ranked]))  # fmt: skip


def _spellings(names: list[str]) -> list[tuple[str, ...]]:
    """Pair names that are equal but for case and shortened words: `hugg_16k` and `hugging_16K`."""
    spellings: list[tuple[str, ...]] = []
    parts = {name: re.split(r"[\W_]+", name.casefold()) for name in names}
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            pairs = list(zip(parts[first], parts[second], strict=False))
            alike = all(a == b or (min(len(a), len(b)) >= 3 and a.isalpha() and b.isalpha() and (a.startswith(b) or b.startswith(a))) for a, b in pairs)  # fmt: skip
            if alike and len(parts[first]) == len(parts[second]):
                spellings.append((first, second))
    return spellings


@check(
    "cut_texts", Severity.ERROR, "the end of these texts is lost, and with it what raters and models should have read"
)
def cut_texts(view: View) -> Iterator[CheckResult]:
    """Texts that pile up at one greatest length, or are as long as a spreadsheet's cell can be."""
    rows = view.texts.with_columns(length=pl.col("text").str.len_chars()).filter(pl.col("length") >= CUT)
    rows = rows.unique(["file", "kind", "plain"], keep="first", maintain_order=True)
    for (file, kind), own in rows.group_by("file", "kind", maintain_order=True):
        longest = int(own["length"].max())  # type: ignore[arg-type]
        cut = own.filter(pl.col("length") == longest)
        near = own.filter(pl.col("length").is_between(0.9 * longest, longest, closed="left")).height
        expected = max(near / (0.1 * longest), 0.05)
        if longest in CELL_LIMITS or (cut.height >= 3 and _poisson_tail(cut.height, expected) < PILE_UP):
            yield CheckResult(cut.height, f"{plural(cut.height, 'text')} ({kind}) of {file} end at exactly {longest:,} characters, the maximum", places(cut))  # fmt: skip


def _poisson_tail(count: int, expected: float) -> float:
    """Return P(X ≥ count) for a Poisson variable."""
    from scipy.special import gammainc

    return float(gammainc(count, expected))


# Checks of texts as characters: read in the wrong encoding, escaped once too often, or changed by a spreadsheet.


_REPLACED = "\N{REPLACEMENT CHARACTER}"
_ENCODING_WIDE = r"[\u2e80-\u9fff\ue000-\uf8ff\uff00-\uffef\u0400-\u04ff\u3000-\u30ff]"
SUSPECT = rf"[\u00c2-\u00f4][^\x00-\x7f]|{_ENCODING_WIDE}"
_RUN = re.compile(r"[^\x00-\x7f\ufffd]+")
_PLAUSIBLE = re.compile(r"[\u00a0-\u024f\u2010-\u203a\u20ac\u2122\u2190-\u21ff\u2600-\u27bf\U0001f300-\U0001faff]+")
_TWO_BYTES = re.compile(r"[\u00c2\u00c3][\u0080-\u00bf]|[\u00c2-\u00f4][^\x00-\x7f]{2,3}")
_ESCAPES = r"\\[nrt](?:[^\w]|\\|[A-Z]|$)|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|&(?:amp|lt|gt|quot|nbsp|#39|#x27|#\d{2,5});|_x000[dD]_"
_CONTROLS = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\u009f\ufeff\ufff9-\ufffb]"
_ERRORS = r"#(?:NAME\?|REF!|VALUE!|DIV/0!|N/A|NUM!|NULL!)"
_FORMULA = r"^=?\s*[A-Z]{1,2}\d{1,5}(?:\s*[+*/-]\s*[A-Z]{1,2}\d{1,5})+$|^=(?:SUM|AVERAGE|IF|[A-Z]{1,2}\d{1,5})\b|^[A-Z]{1,2}(?:\+[A-Z]{1,2}\d{1,5})+$"
_DATE = r"^(?:\d{1,2}[-/. ](?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*[-/. ]\d{1,4}|\d{4}-\d\d-\d\d(?:[ T]00:00:00)?)$"
_LOST = r"[a-z]\?(?:s|t|re|ve|ll|d|m)(?-u:\b)|\x{FFFD}\?"


def _texts(view: View, pattern: str) -> pl.DataFrame:
    """Return the texts with a pattern, each once, however many files repeat it."""
    texts = view.texts.filter(pl.col("text").str.contains(pattern))
    return texts.unique(["kind", "plain"], keep="first", maintain_order=True)


def _told(rows: pl.DataFrame, fault: str) -> Iterator[CheckResult]:
    """Say how many texts have a fault, and where; nothing where none has."""
    if rows.height:
        row_count = rows.select("file", "row").n_unique()
        words = f"{plural(rows.height, 'text')} in {plural(row_count, 'row')} with {fault} ({counted(rows, 'kind')})"
        yield CheckResult(rows.height, words, places(rows))


@check(
    "replacement_characters",
    Severity.ERROR,
    "bytes that were not UTF-8 are lost; models and raters read a text with holes",
)
def replacement_characters(view: View) -> Iterator[CheckResult]:
    """Texts with U+FFFD, which stands where a byte could not be read."""
    yield from _told(_texts(view, _REPLACED), "the replacement character U+FFFD")


@check(
    "mojibake",
    Severity.ERROR,
    "a text was read in the wrong encoding and stored so; models and raters were given garbage",
)
def mojibake(view: View) -> Iterator[CheckResult]:
    """Texts of which a part, written in an older encoding and read as UTF-8, becomes plain punctuation or letters."""
    rows = _texts(view, SUSPECT)
    hits = rows.filter(pl.Series([garbled(text) for text in rows["text"]], dtype=pl.Boolean))
    yield from _told(hits, "characters of another encoding")


def garbled(text: str) -> bool:
    """Whether a text holds UTF-8 that was read as Windows-1252, Latin-1, or (in a Latin text) GB18030."""
    if any(_undone(match[0], codec) for codec in ("cp1252", "latin-1") for match in _TWO_BYTES.finditer(text)):
        return True
    letters = sum(c.isascii() and c.isalpha() for c in text)
    if 2 * letters < len(text):  # a text in Chinese is no Latin text gone wrong
        return False
    return any(_undone(match[0], "gb18030") for match in _RUN.finditer(text))


def _undone(run: str, codec: str) -> bool:
    """Whether reading a run's bytes as UTF-8, up to twice, gives shorter, plausible characters."""
    for _ in range(2):
        try:
            run = run.encode(codec).decode("utf-8")
        except UnicodeError:
            return False
        if _PLAUSIBLE.fullmatch(_RUN.search(run)[0] if _RUN.search(run) else ""):  # type: ignore[index]
            return True
    return False


@check(
    "literal_escapes",
    Severity.WARNING,
    "models and raters are shown the escape itself, not the line break or character that is meant",
)
def literal_escapes(view: View) -> Iterator[CheckResult]:
    r"""Texts with a written-out escape such as backslash-n, \u2019 or &amp;."""
    rows = _texts(view, _ESCAPES)
    rows = rows.filter(~pl.col("kind").is_in(["verdict"]))
    yield from _told(rows, "escapes written out, such as backslash-n")


@check(
    "control_characters",
    Severity.WARNING,
    "invisible characters change tokens and break comparisons of texts that look the same",
)
def control_characters(view: View) -> Iterator[CheckResult]:
    """Texts with control characters (tab and line ends aside) or a byte order mark inside."""
    yield from _told(_texts(view, _CONTROLS), "control characters or a byte order mark")


@check(
    "lost_characters",
    Severity.WARNING,
    "an apostrophe, quote or dash was lost on the way; models and raters read a question mark",
)
def lost_characters(view: View) -> Iterator[CheckResult]:
    """Texts with a question mark where an apostrophe stood, as in `don?t`."""
    rows = _texts(view, _LOST).filter(~pl.col("text").str.contains(r"https?://\S*\?"))
    yield from _told(rows, "a question mark in the place of another character")


@check("spreadsheet_damage", Severity.ERROR, "a spreadsheet replaced what stood in these cells; the content is lost")
def spreadsheet_damage(view: View) -> Iterator[CheckResult]:
    """Error values, formulas and bare numbers in the place of texts; dates in the place of numbers."""
    alone = pl.col("plain").str.contains(f"^{_ERRORS}$") | pl.col("plain").str.contains(_FORMULA)
    number = pl.col("plain").str.contains(r"^-?\d+(?:\.\d+)?(?:[eE]\+?\d+)?$")
    long = (pl.col("plain").str.len_chars() >= 20).mean().over("file", "kind") > 0.9
    rows = view.texts.filter(alone | (number & long))
    if rows.height:
        yield CheckResult(rows.height, f"{plural(rows.height, 'text')} that are an error value, a formula or a number ({counted(rows, 'kind')})", places(rows))  # fmt: skip
    value = pl.col("value")
    bad = view.rated.filter(value.str.contains(f"^{_ERRORS}$") | value.str.contains(_DATE))
    if bad.height:
        yield CheckResult(bad.height, f"{plural(bad.height, 'value')} that are an error value or a date ({counted(bad, 'value')})", places(bad))  # fmt: skip


NOTHING = ("", "nan", "none", "null", "n/a", "na", "#n/a", "[]", "{}", "undefined", "-")
"""What stands where a reply is missing, in lower case."""
_EMPTY = (
    r"(?i)\b(?:response|reply|answer|text|message|content|it|which|output)\b[^.!?]{0,40}\b(?:is|was|were|being|contains?|consists?(?: only)? of|simply|just|shows?|says?|provid\w+)\b"
    r"[^.!?]{0,30}(?:['\"‘“]?\bnan\b|\b(?:empty|blank|nonexistent|non-existent)\b)"
    r"|['\"‘“(]nan['\"’”)]|\bnan\b[^.!?]{0,20}\b(?:response|reply|value)|\b(?:no|empty|blank) (?:actual )?(?:response|reply|answer)\b|\bnot a number\b"
)
_CUT = (
    r"(?i)\b(?:response|reply|answer|text|message|it|but|and)\b[^.!?]{0,50}\b(?:is|was|gets?|got|being|appears?|seems?|feels?|though|slightly|bit)?\s*"
    r"(?:\bcuts? off\b|\bcut short\b|\btruncated\b|\bends? abruptly\b|\bmid-?sentence\b|\bunfinished\b)|(?:is|was|appears|seems|response) incomplete\b|incomplete (?:response|ending|sentence)"
)
_EMPTY_HINT = r"(?i)\b(?:nan|empty|blank|no (?:\w+ )?(?:response|reply|content|answer)|not a number)\b"
_CUT_HINT = r"(?i)cuts? off|cut short|truncated|incomplete|ends? abruptly|mid-?sentence|unfinished"
_ERROR = re.compile(
    r"^\W*(?:error\b|exception\b|traceback \(|model[- ]error|request (?:failed|timed out)|time-?out\b|rate limit|too many requests|"
    r"internal server error|bad gateway|service unavailable|an error occurred|openai\.\w*error|http(?: error)? ?[45]\d\d|failed to (?:generate|parse|get))"
    r"|^\s*\{\s*['\"](?:error|message)['\"]\s*:(?=.*['\"](?:code|type|error|param|status)['\"])"
    r"|^\s*\{(?=.*['\"]code['\"]\s*:)(?=.*['\"]message['\"]\s*:)",
    re.IGNORECASE | re.DOTALL,
)
_JSON = r"^\s*(?:```(?:json)?\s*)?[\[{]\s*[\"\[{]"
SHORT, LONG = 3, 20
"""A reply of at most three words is a verdict, one of at least twenty is a text."""
_FORM = 0.95


@check(
    "empty_replies_rated",
    Severity.ERROR,
    "a score of nothing counts as the model's; its mean measures how often it failed to answer",
)
def empty_replies_rated(view: View) -> Iterator[CheckResult]:
    """Replies with nothing in them, and verdicts that say there was nothing to rate."""
    replies = view.texts.filter(pl.col("kind") == "reply")
    empty = replies.filter(pl.col("plain").str.to_lowercase().is_in(NOTHING))
    if empty.height:
        rated = view.rated.filter(pl.col("subject").is_in(empty["id"].drop_nulls().implode()))
        subjects = rated["subject"].n_unique()
        message = f"{plural(empty.height, 'reply', 'replies')} with nothing in them ({counted(empty, 'system')}); {subjects or 'none'} of them rated"
        yield CheckResult(empty.height, message, places(empty), None if subjects else Severity.WARNING)
    verdicts = _remarked(view, _EMPTY_HINT, _EMPTY)
    for (rater,), own in verdicts.group_by("source", maintain_order=True):
        author = f" by {rater}" if rater else ""
        yield CheckResult(own.height, f"{plural(own.height, 'verdict')}{author} on a reply that it calls empty ({counted(own, 'system')})", places(own))  # fmt: skip


@check(
    "cut_replies_rated",
    Severity.WARNING,
    "a limit on length, not the model, decided where the reply ends; its score measures the limit too",
)
def cut_replies_rated(view: View) -> Iterator[CheckResult]:
    """Verdicts that call the reply cut off."""
    verdicts = _remarked(view, _CUT_HINT, _CUT)
    for (rater,), own in verdicts.group_by("source", maintain_order=True):
        author = f" by {rater}" if rater else ""
        yield CheckResult(own.height, f"{plural(own.height, 'verdict')}{author} on a reply that it calls cut off ({counted(own, 'system')})", places(own))  # fmt: skip


def _remarked(view: View, hint: str, pattern: str) -> pl.DataFrame:
    """Return the verdicts with a remark, `source` being who gave them."""
    verdicts = view.texts.filter(pl.col("kind") == "verdict", pl.col("text").str.contains(hint))
    verdicts = verdicts.filter(pl.col("text").str.contains(pattern))
    return verdicts.with_columns(source=pl.col("source").fill_null(""))


@check("error_replies", Severity.ERROR, "an error message is counted, or was rated, as what the model said")
def error_replies(view: View) -> Iterator[CheckResult]:
    """Errors of a program stored where a reply or verdict belongs."""
    hits = _errors(view)
    for (kind,), own in hits.group_by("kind", maintain_order=True):
        noun = ("reply", "replies") if kind == "reply" else ("verdict", "verdicts")
        text = f"{plural(own.height, *noun)} that are an error message"
        rated = view.rated.filter(pl.col("subject").is_in(own["id"].drop_nulls().implode()))
        if rated.height and kind == "reply":
            text += f"; {plural(rated.height, 'rating')} of them ({counted(rated, 'value')})"
        yield CheckResult(own.height, text, places(own))


@check(
    "hand_edits",
    Severity.WARNING,
    "somebody changed the record after the program wrote it; what else was changed cannot be seen",
)
def hand_edits(view: View) -> Iterator[CheckResult]:
    """An error message, alone in its form, where all others of the material have another."""
    hits = _errors(view).with_columns(form=pl.col("plain").str.to_lowercase().str.extract(r"^\W*(\w+(?:\W+\w+)?)"))
    forms = hits.group_by("form").len().sort("len", descending=True)
    if forms.height > 1 and forms["len"][0] >= 10:
        odd = hits.filter(pl.len().over("form") == 1)
        if odd.height:
            yield CheckResult(odd.height, f"{plural(odd.height, 'error message')} in a form of its own; {plural(forms['len'][0], 'other')} begin alike", places(odd))  # fmt: skip


@check(
    "refusals",
    Severity.NOTE,
    "a refusal is an outcome of its own; rated like a reply it mixes willingness with quality",
)
def refusals(view: View) -> Iterator[CheckResult]:
    """Replies in which the model declines."""
    rows = view.texts.filter(pl.col("kind") == "reply")
    rows = rows.unique(["system", "plain"], keep="first", maintain_order=True)
    hits = rows.filter(pl.Series([bool(refusal(text)) for text in rows["text"]], dtype=pl.Boolean))
    if hits.height:
        yield CheckResult(hits.height, f"{plural(hits.height, 'reply', 'replies')} that decline ({counted(hits, 'system')})", places(hits))  # fmt: skip


@check(
    "verdicts_as_replies",
    Severity.WARNING,
    "unless a verdict was asked for, these replies answer another question and cannot be rated like the rest",
)
def verdicts_as_replies(view: View) -> Iterator[CheckResult]:
    """Replies that are one of a few bare words, in a file that also has replies in sentences."""
    words = pl.col("plain").str.count_matches(r"\S+")
    wide = pl.col("plain").str.contains(r"\p{Han}")
    rows = view.texts.filter(pl.col("kind") == "reply", pl.col("plain") != "", ~wide).with_columns(words=words)
    rows = rows.filter(~pl.col("plain").str.to_lowercase().is_in(NOTHING))
    for (file,), own in rows.group_by("file", maintain_order=True):
        bare = own.filter(pl.col("words") <= SHORT)
        if (
            bare.height > bare["plain"].n_unique()
            and own.filter(pl.col("words") >= LONG).height
            and bare["plain"].n_unique() <= 10
        ):
            yield CheckResult(bare.height, f"{plural(bare.height, 'reply', 'replies')} of {own.height} in {file} are a bare verdict", places(bare))  # fmt: skip


@check(
    "form_differs",
    Severity.WARNING,
    "judges see one model's bare text and another's JSON: they compare forms, not content",
)
def form_differs(view: View) -> Iterator[CheckResult]:
    """Replies that are JSON for some systems and plain text for others."""
    rows = view.texts.filter(pl.col("kind") == "reply", pl.col("system").is_not_null(), pl.col("plain") != "")
    share = rows.group_by("system").agg(json=pl.col("text").str.contains(_JSON).mean(), n=pl.len()).sort("system")
    json, plain = share.filter(pl.col("json") >= _FORM), share.filter(pl.col("json") <= 1 - _FORM)
    if json.height and plain.height:
        count = int(json["n"].sum())
        facts = [f"{system}: {percent(share)} JSON of {n}" for system, share, n in share.iter_rows()]
        yield CheckResult(count, f"replies of {', '.join(json['system'])} are JSON, of {', '.join(plain['system'])} plain text", limited(facts))  # fmt: skip


def _errors(view: View) -> pl.DataFrame:
    """Return the error messages, each once, however many files repeat the record that holds it."""
    rows = view.keyed.filter(pl.col("kind").is_in(REPLIES))
    keys = ["kind", "system", "source", "split", "key", "plain"]
    errors = pl.Series([_ERROR.search(text[:2000]) is not None for text in rows["text"]], dtype=pl.Boolean)
    return rows.filter(errors).unique(keys, keep="first", maintain_order=True)
