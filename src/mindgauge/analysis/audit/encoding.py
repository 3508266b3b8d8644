"""Checks of texts as characters: read in the wrong encoding, escaped once too often, or changed by a spreadsheet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis.audit.finding import CheckResult, Severity, check, counted, many, places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.analysis.audit.view import View

_REPLACED = "\N{REPLACEMENT CHARACTER}"
_WIDE = r"[\u2e80-\u9fff\ue000-\uf8ff\uff00-\uffef\u0400-\u04ff\u3000-\u30ff]"
_SUSPECT = rf"[\u00c2-\u00f4][^\x00-\x7f]|{_WIDE}"
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


def _told(rows: pl.DataFrame, fault: str) -> CheckResult:
    row_count = rows.select("file", "row").n_unique()
    return CheckResult(
        rows.height,
        f"{many(rows.height, 'text')} in {many(row_count, 'row')} with {fault} ({counted(rows, 'kind')})",
        places(rows),
    )


@check(
    "replacement_characters",
    Severity.ERROR,
    "bytes that were not UTF-8 are lost; models and raters read a text with holes",
)
def replacement_characters(view: View) -> Iterator[CheckResult]:
    """Texts with U+FFFD, which stands where a byte could not be read."""
    rows = _texts(view, _REPLACED)
    if rows.height:
        yield _told(rows, "the replacement character U+FFFD")


@check(
    "mojibake",
    Severity.ERROR,
    "a text was read in the wrong encoding and stored so; models and raters were given garbage",
)
def mojibake(view: View) -> Iterator[CheckResult]:
    """Texts of which a part, written in an older encoding and read as UTF-8, becomes plain punctuation or letters."""
    rows = _texts(view, _SUSPECT)
    hits = rows.filter(pl.Series([garbled(text) for text in rows["text"]], dtype=pl.Boolean))
    if hits.height:
        yield _told(hits, "characters of another encoding")


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
    if rows.height:
        yield _told(rows, "escapes written out, such as backslash-n")


@check(
    "control_characters",
    Severity.WARNING,
    "invisible characters change tokens and break comparisons of texts that look the same",
)
def control_characters(view: View) -> Iterator[CheckResult]:
    """Texts with control characters (tab and line ends aside) or a byte order mark inside."""
    rows = _texts(view, _CONTROLS)
    if rows.height:
        yield _told(rows, "control characters or a byte order mark")


@check(
    "lost_characters",
    Severity.WARNING,
    "an apostrophe, quote or dash was lost on the way; models and raters read a question mark",
)
def lost_characters(view: View) -> Iterator[CheckResult]:
    """Texts with a question mark where an apostrophe stood, as in `don?t`."""
    rows = _texts(view, _LOST).filter(~pl.col("text").str.contains(r"https?://\S*\?"))
    if rows.height:
        yield _told(rows, "a question mark in the place of another character")


@check(
    "spreadsheet_damage",
    Severity.ERROR,
    "a spreadsheet replaced what stood in these cells; the content is lost",
)
def spreadsheet_damage(view: View) -> Iterator[CheckResult]:
    """Error values, formulas and bare numbers in the place of texts; dates in the place of numbers."""
    alone = pl.col("plain").str.contains(f"^{_ERRORS}$") | pl.col("plain").str.contains(_FORMULA)
    number = pl.col("plain").str.contains(r"^-?\d+(?:\.\d+)?(?:[eE]\+?\d+)?$")
    long = (pl.col("plain").str.len_chars() >= 20).mean().over("file", "kind") > 0.9
    rows = view.texts.filter(alone | (number & long))
    if rows.height:
        yield CheckResult(rows.height, f"{many(rows.height, 'text')} that are an error value, a formula or a number ({counted(rows, 'kind')})", places(rows))  # fmt: skip
    value = pl.col("value")
    bad = view.rated.filter(value.str.contains(f"^{_ERRORS}$") | value.str.contains(_DATE))
    if bad.height:
        yield CheckResult(bad.height, f"{many(bad.height, 'value')} that are an error value or a date ({counted(bad, 'value')})", places(bad))  # fmt: skip


CHECKS = (
    replacement_characters,
    mojibake,
    lost_characters,
    literal_escapes,
    control_characters,
    spreadsheet_damage,
)
