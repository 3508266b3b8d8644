"""Checks of what models wrote: nothing, an error, a verdict where a reply was due, or another form than other models."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis.audit.finding import CheckResult, Severity, check, counted, limited, places
from mindgauge.analysis.audit.view import REPLIES
from mindgauge.raters.rule import refusal
from mindgauge.records.rounding import percent, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.analysis.audit.view import View

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


@check(
    "error_replies",
    Severity.ERROR,
    "an error message is counted, or was rated, as what the model said",
)
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


CHECKS = (
    empty_replies_rated,
    cut_replies_rated,
    error_replies,
    hand_edits,
    refusals,
    verdicts_as_replies,
    form_differs,
)
