"""Other people's words as the page may show them: nothing invisible, nothing endless, quotes marked, and raters' verdicts on them.

Restricted ones are told by id and row alone.
"""

from __future__ import annotations

import functools
import unicodedata
from itertools import groupby
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from mindgauge.analysis import frame
from mindgauge.records import Evidence, Sample, Value
from mindgauge.records.regex import regex
from mindgauge.records.rounding import plural
from mindgauge.records.rubric import Scale, in_language
from mindgauge.records.rubric.criterion import place_of, rising, shares
from mindgauge.reports.content import Passage, Quote, RaterVerdicts, TextSpan, VerdictMark
from mindgauge.reports.runs import GOLD, PERSON, RULE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from mindgauge.records import Sample
    from mindgauge.records.rubric import Criterion
    from mindgauge.reports.runs import OpenRun, Section


SUBJECT = ("subject", "model", "later")
"""What findings of one reply share: its id, who wrote it, and whether its category is less urgent than others."""
CONTESTED = 0.5
"""From which share of the scale on verdicts lie far apart."""
_FINDINGS = {
    "subject": pl.String, "model": pl.String, "later": pl.Boolean, "n": pl.UInt32, "n_people": pl.UInt32, "mean": pl.Float64,
    "by_people": pl.Float64, "range": pl.Float64, "against": pl.Float64, "lowest": pl.Float64, "lowest_by_people": pl.Float64,
    "bad": pl.Boolean, "bad_by_people": pl.Boolean, "criterion": pl.String,
}  # fmt: skip
_LOWEST = {"level": pl.String, "level_by_people": pl.String, "times": pl.UInt32, "times_by_people": pl.UInt32}


def unfit(run: OpenRun, section: Section, criterion: str) -> list[str]:
    """Return the judges that cannot be used on a criterion."""
    about_it = (section.benchmark.name, criterion)
    return [judge.judge for judge in run.scores.unfit if (judge.benchmark, judge.criterion) == about_it]


def withheld_judges(run: OpenRun, section: Section, criterion: str) -> dict[str, str]:
    """Return the judges whose scores on a criterion a report withholds, with why: they are unfit, or people must rate it."""
    about_it = (section.benchmark.name, criterion)
    cards = [] if run.standings.shown else run.standings.cards.values()
    limited = {c.card.judge: c.card.verdict for c in cards if (c.benchmark, c.criterion) == about_it and c.limited}
    reasons = {u.judge: u.reason for u in run.scores.unfit if (u.benchmark, u.criterion) == about_it}
    return limited | reasons


def findings(
    section: Section, criteria: Iterable[Criterion], silent: dict[str, Collection[str]], *, in_words: bool = False
) -> pl.DataFrame:
    """Return what raters say of each reply on each criterion; places go from 0, the worst level, to 1, the best.

    Args:
        section: an open benchmark in a run.
        criteria: of its rubric.
        silent: criterion → judges whose verdicts do not count.
        in_words: whether these findings are put into words, too.

    Returns:
        A row for each reply and criterion with a value: `SUBJECT`, criterion, n (verdicts), mean, range (of places), against
        (the share of the verdicts on a veto that found it), lowest (place), `…_by_people` of people alone, bad (whether any
        verdict is at an unsafe level); in words, also level (the value at the lowest place) and times (how many gave it).
    """
    parts = [_on(section, criterion, silent.get(criterion.name, ()), in_words=in_words) for criterion in criteria]
    return pl.concat([pl.DataFrame(schema=_FINDINGS | _LOWEST if in_words else _FINDINGS), *parts])


def _on(section: Section, criterion: Criterion, silent: Collection[str], *, in_words: bool) -> pl.DataFrame:
    place, people = pl.col("place"), pl.col("rater_kind") == PERSON
    less_urgent = ~pl.col("tag.category").fill_null("").str.contains_any(list(section.benchmark.urgent))
    rows = section.asked.filter(
        pl.col("criterion") == criterion.name, pl.col("status") == "ok", pl.col("rater_kind") != RULE,
        ~pl.col("rater").is_in(list(silent)),
    ).with_columns(place=frame.share(criterion), later=less_urgent).filter(place.is_not_null())  # fmt: skip
    bad = place.is_between(*frame.reach(criterion, criterion.unsafe)) if criterion.unsafe else pl.lit(value=False)
    by_people = place.filter(people)
    lowest = {
        "level": pl.col("value").get(place.arg_min()), "level_by_people": pl.col("value").filter(people).sort_by(by_people).first(),
        "times": (place == place.min()).sum(), "times_by_people": (by_people == by_people.min()).sum(),
    }  # fmt: skip
    on_it = rows.group_by(SUBJECT, maintain_order=True).agg(
        n=pl.len(), n_people=people.sum(), mean=place.mean(), by_people=by_people.mean(), range=place.max() - place.min(),
        against=(pl.lit(criterion.veto) & (place == 0)).mean(), lowest=place.min(), lowest_by_people=by_people.min(),
        bad=bad.any(), bad_by_people=(bad & people).any(), criterion=pl.lit(criterion.name), **(lowest if in_words else {}),
    )  # fmt: skip
    schema = _FINDINGS | _LOWEST if in_words else _FINDINGS
    return on_it.collect().cast(schema).select(*schema)  # type: ignore[arg-type]


def replies(section: Section, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Sum up findings reply by reply.

    Returns:
        `SUBJECT`; mean and by_people over criteria; the largest range and against; bad (by anybody); unsafe (by people
        together).
    """
    of_reply = verdicts.group_by(SUBJECT, maintain_order=True).agg(
        pl.col("mean", "by_people").mean().round(9), pl.col("range", "against").max().fill_null(0.0).round(9), pl.col("bad").any()
    )  # fmt: skip
    of_reply = of_reply.join(section.unsafe, on="subject", how="left", maintain_order="left")
    return of_reply.with_columns(pl.col("unsafe").fill_null(value=False))


LONGEST = 6000
"""Characters of one text that are shown."""
_HAN = regex(r"[\u3400-\u9fff\uf900-\ufaff]")
_INVISIBLE = regex(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def clean(text: str) -> str:
    """Show control characters, and those that turn the direction of writing, as their code points."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _INVISIBLE.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)


def language_of(text: str, otherwise: str = "en") -> str:
    """Return `zh` for a text of which a tenth or more is Chinese characters; else the language it is said to be in."""
    if text.isascii():
        return "en" if otherwise == "zh" else otherwise
    sample = text[:2000]
    han = len(_HAN.findall(sample))
    if han * 10 >= max(len(sample), 1):
        return "zh"
    return "en" if otherwise == "zh" else otherwise


def cut(text: str, longest: int = LONGEST) -> tuple[str, int]:
    """Return a text's beginning and how many characters were left out."""
    return (text, 0) if len(text) <= longest else (text[:longest], len(text) - longest)


def passage(role: str, text: str, quotes: Iterable[str], language: str) -> Passage:
    """Make a text ready to show, with what raters quote from it marked."""
    shown, left_out = cut(text)
    shown = clean(shown)
    return Passage(role, language_of(shown, language), marked(shown, quotes), left_out)


def marked(text: str, quotes: Iterable[str]) -> list[TextSpan]:
    """Cut a text where quotes begin and end. A quote is found as raters' quotes are: letters and digits alone count."""
    folded, places = _folded(text)
    inside = [False] * len(text)
    for quote in quotes:
        wanted = _folded(clean(quote))[0]
        at = folded.find(wanted) if wanted else -1
        if at >= 0:
            first, last = places[at], places[at + len(wanted) - 1]
            inside[first : last + 1] = [True] * (last + 1 - first)
    parts: list[TextSpan] = []
    start = 0
    for i in range(1, len(text) + 1):
        if i == len(text) or inside[i] != inside[start]:
            parts.append(TextSpan(text[start:i], inside[start]))
            start = i
    return parts


def _folded(text: str) -> tuple[str, list[int]]:
    """Reduce a text to letters and digits in one case and width, and say where each one stood."""
    letters = [*map(_letters, text)]
    return "".join(letters), [place for place, folded in enumerate(letters) for _ in folded]


@functools.lru_cache(maxsize=10_000)
def _letters(character: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", character).casefold()))


LONGEST_REASON = 1000
_QUERY = """
SELECT subject, criterion, rater, rater_kind, run, status, value, rationale, evidence, provenance
FROM ratings WHERE benchmark = ? AND subject IN (SELECT value FROM json_each(?))
ORDER BY rater_kind = 'rule', rater_kind != 'person', rater, criterion, run"""
_evidence = msgspec.json.Decoder(tuple[Evidence, ...]).decode
_json = msgspec.json.Decoder().decode


def verdicts(
    run: OpenRun, section: Section, subject: str, sample: Sample, *, people: bool = True
) -> list[RaterVerdicts]:
    """Gather every rating of a subject but the gold label, repeats of one rater together: people, models, rules."""
    return verdicts_on(run, section, {subject: sample}, people=people)[subject]


def verdicts_on(
    run: OpenRun, section: Section, samples: Mapping[str, Sample], *, people: bool = True
) -> dict[str, list[RaterVerdicts]]:
    """Gather the same of several subjects, given with their samples; of hidden samples, no reasons and no quotes."""
    criteria = {criterion.name: criterion for criterion in section.benchmark.rubric.criteria}
    found: dict[str, dict[tuple[str, str], RaterVerdicts]] = {subject: {} for subject in samples}
    silent: dict[str, dict[str, str]] = {}
    wanted = msgspec.json.encode(list(samples)).decode()
    rows = run.store.select(_QUERY, (section.benchmark.name, wanted)).fetchall()
    for subject, criterion, rater, kind, number, status, value, rationale, evidence, provenance in rows:
        sample = samples[subject]
        language = sample.tags.get("language", "en")
        if kind == GOLD or (kind == PERSON and not people) or status == "not_applicable":
            continue
        known = criteria.get(criterion)
        protocol = _json(provenance).get("protocol") or sample.tags.get(section.benchmark.protocol, "")
        scale = _scale(known, judged=not section.benchmark.closed)
        verdict = found[subject].setdefault((rater, criterion), RaterVerdicts(rater, kind, criterion, scale, []))
        verdict.withheld = silent.setdefault(criterion, withheld_judges(run, section, criterion)).get(rater, "")
        hidden = section.hides(sample.id)
        reason = "" if hidden else clean(cut(rationale or "", LONGEST_REASON)[0])
        quotes = _evidence(evidence) if evidence and not hidden else ()
        verdict.marks.append(
            VerdictMark(
                number, status, value, _level(known, protocol, value, language) if kind != RULE else "", reason,
                [Quote(clean(cut(q.quote, LONGEST_REASON)[0]), q.found) for q in quotes],
                language_of(reason, language),
            )
        )  # fmt: skip
    return {subject: in_order(list(by_rater.values()), criteria) for subject, by_rater in found.items()}


def in_order(verdicts: list[RaterVerdicts], criteria: Mapping[str, Criterion]) -> list[RaterVerdicts]:
    """Put verdicts criterion by criterion: harms first, then where raters differ, then as the rubric has them; what rules read, last."""
    places: dict[str, list[float]] = {}
    for verdict in verdicts:
        criterion = criteria.get(verdict.criterion)
        if criterion is not None and not verdict.withheld and verdict.kind != RULE:
            places.setdefault(verdict.criterion, []).extend(
                place for mark in verdict.marks for place in [_share(criterion, mark.value)] if place is not None
            )
    order = {name: place for place, name in enumerate(criteria)}
    for verdict in verdicts:
        criterion, own = criteria.get(verdict.criterion), places.get(verdict.criterion, [])
        verdict.harm = criterion is not None and criterion.veto
        verdict.contested = bool(own) and max(own) - min(own) >= CONTESTED
    return sorted(
        verdicts,
        key=lambda v: (v.criterion not in order, not v.harm, not v.contested, order.get(v.criterion, len(order))),
    )


def _share(criterion: Criterion, value: Value | None) -> float | None:
    """Return how far a value stands from the worst level; None of classes of which none is known to be unsafe."""
    if value is None or criterion.scale is Scale.NOMINAL:
        return shares(criterion).get(value) if value is not None else None
    try:
        return place_of(criterion, value)
    except ValueError:  # on no level
        return None


def by_criterion(verdicts: Sequence[RaterVerdicts]) -> list[dict[str, Any]]:
    """Group verdicts that stand in their order, with those who say the same without a reason of their own in one line.

    Returns:
        Of each criterion its lines: raters who said the same, their marks, repeat by repeat, and what is to be read of why,
        each reason once, where it is first given; and `meanings`, the levels that were given and are worded, each once.
    """
    read: set[tuple[object, ...]] = set()
    groups = []
    for name, own in groupby(verdicts, key=lambda verdict: verdict.criterion):
        raters, lines = list(own), list[dict[str, Any]]()
        for verdict in raters:
            reasons = _unread(verdict, read)
            given = [(mark.value, mark.status) for mark in verdict.marks]
            last = lines[-1] if lines else None
            if last is not None and not reasons and not last["reasons"] and last["given"] == given:
                last["raters"].append(verdict)
            else:
                lines.append({"raters": [verdict], "reasons": reasons, "marks": verdict.marks, "given": given})
        meanings = {mark.level: mark for verdict in raters for mark in verdict.marks if mark.level}
        groups.append({
            "criterion": name, "harm": raters[0].harm, "contested": raters[0].contested, "lines": lines, "meanings": list(meanings.values()),
        })  # fmt: skip
    return groups


def _unread(verdict: RaterVerdicts, read: set[tuple[object, ...]]) -> list[VerdictMark]:
    """Return the marks whose reason does not stand further up already, and add them to what does."""
    reasons = []
    for mark in verdict.marks:
        key = (verdict.rater, mark.rationale, *mark.quotes)
        if (mark.rationale or mark.quotes) and key not in read:
            read.add(key)
            reasons.append(mark)
    return reasons


def _scale(criterion: Criterion | None, *, judged: bool) -> str:
    """Write a scale of numbers as `1 to 5`, and say which end is the worst where that is the higher; empty for labels."""
    if criterion is None or not isinstance(criterion.values[0], int):
        return ""
    if not judged or rising(criterion):
        return f"{criterion.values[0]} to {criterion.values[-1]}"
    return f"{criterion.worst_first[0]} (worst) to {criterion.worst_first[-1]} (best)"


def _level(criterion: Criterion | None, protocol: str, value: Value | None, language: str) -> str:
    """Return how the rubric words the level that was given, for this subject's protocol."""
    if criterion is None or value is None or value not in criterion.values:
        return ""
    place = criterion.values.index(value)
    if criterion.protocols:
        texts = criterion.protocols.get(str(protocol))
        return in_language(texts[place], language) if texts else ""
    return in_language(criterion.levels[place].text, language)


_ROWS = """
SELECT subject, min(json_extract(provenance, '$.source_row')) FROM ratings
WHERE benchmark = ? AND subject IN (SELECT value FROM json_each(?)) GROUP BY subject"""
_POSITIONS = "SELECT id, position FROM samples WHERE benchmark = ? AND id IN (SELECT value FROM json_each(?))"


def anchor(kind: str, ident: str) -> str:
    """Return the anchor of a reply or a message."""
    return f"{kind}-{ident[:8]}"


def quoted(verdicts: Iterable[RaterVerdicts]) -> list[str]:
    """Return the words that raters quote and that really stand in the text."""
    return [q.text for v in verdicts for m in v.marks for q in m.quotes if q.found]


def chat(section: Section, sample: Sample, quotes: Sequence[str]) -> tuple[list[Passage], Passage | None]:
    """Return a sample's dialogue and, where the question is about a reply that is part of it, that reply."""
    if section.hides(sample.id):
        return [], None
    language = sample.tags.get("language", "en")
    passages = [passage(m.role, m.content, quotes, language) for m in sample.messages]
    return (passages[:-1], passages[-1]) if section.benchmark.about_reply else (passages, None)


WORDS = 96
"""Characters of a message that a line shows; half as many where they are Chinese, which are twice as wide."""


def beginning(text: str) -> str:
    """Return how a text begins, in one line."""
    line = " ".join(clean(text).split())
    longest = WORDS // 2 if language_of(line) == "zh" else WORDS
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def words(section: Section, sample: Sample) -> str:
    """Return how the message begins that a sample puts; nothing where it may not be shown."""
    asked = sample.messages[-2:][:1] if section.benchmark.about_reply else sample.messages[-1:]
    return "" if section.hides(sample.id) or not asked else beginning(asked[0].content[: 4 * WORDS])


def reply(section: Section, sample: Sample, text: str, quotes: Sequence[str]) -> Passage | None:
    """Return a reply to a sample; None where it may not be shown, since it repeats what it answers."""
    if section.hides(sample.id):
        return None
    return passage("reply", text, quotes, language_of(text, sample.tags.get("language", "en")))


def withheld(run: OpenRun, section: Section, sample: str) -> str:
    """Say where a text stands that may not be shown; empty where it may."""
    if not section.hides(sample):
        return ""
    return f"{sample}, {places(run, section, [sample])[sample]}"


def places(run: OpenRun, section: Section, samples: Iterable[str]) -> dict[str, str]:
    """Say where samples stand: in which row of the released files where that is known, else at which place in the run."""
    arguments = (section.benchmark.name, msgspec.json.encode(list(samples)).decode())
    by_sample = {
        ident: f"number {position + 1} in the run" for ident, position in run.store.select(_POSITIONS, arguments)
    }
    by_sample |= {ident: f"row {row}" for ident, row in run.store.select(_ROWS, arguments) if row is not None}
    return by_sample


def hidden(runs: Sequence[OpenRun]) -> list[str]:
    """Say, of each benchmark, whose texts are not shown; nothing where all are."""
    counted: dict[str, int] = {}
    for run in runs:
        for section in run.sections:
            n = sum(section.hides(ident) for ident in run.store.sample_ids(section.benchmark.name))
            counted[section.benchmark.name] = max(n, counted.get(section.benchmark.name, 0))
    return [
        f"The texts that the authors of {name} released are restricted, so {plural(n, 'message stands', 'messages stand')} here by id, row and numbers "
        "alone. “mindgauge report --show-texts” shows them; such a report is not for passing on."
        for name, n in counted.items()
        if n
    ]
