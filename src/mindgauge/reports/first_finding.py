"""The first sentence of the first screen: what was found.

The strongest fact comes first: what may not be shown at all, then what people saw and what judges missed of it, and only
then what judges say.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from mindgauge.analysis.reliability.card import BLIND_END, GOOD, LIMITED, MODERATE, NOT_ESTIMABLE
from mindgauge.analysis.score import still_missing
from mindgauge.analysis.scoring_views import MOST_LOST, USED
from mindgauge.benchmarks.anchors import EntryResult
from mindgauge.benchmarks.metrics.metric_sentences import FEW, SMALL, Comparators, with_most
from mindgauge.records import Status
from mindgauge.records.english import ended, named, raised
from mindgauge.records.rounding import count, counts, interval, percent, plural, write
from mindgauge.reports import score_tables, system_findings, unsafe_by_people
from mindgauge.reports.reliability_gate import gravest
from mindgauge.reports.runs import PERSON, RULE, constant, every_score_of, is_demonstration
from mindgauge.reports.score_tables import worst_first

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.analysis.score import Score
    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.metrics import Metric
    from mindgauge.reports.content import System
    from mindgauge.reports.runs import Section
    from mindgauge.reports.unsafe_by_people import DialogueTally, Part, Place

MANY = 3
"""Systems that a sentence names; of more, the ends."""


def gravity(part: Part) -> float:
    """Return how grave the worst is that a benchmark shows first, from 0 to 1."""
    if part.counts_replies:
        shares = [
            place.verdicts.tally(called_unsafe, system.model, part.lead_group).share
            for place in part.places
            for called_unsafe in (place.verdicts.people, *place.verdicts.judges.values())
            for system in place.systems
        ]
        return max((share for share in shares if share is not None), default=0.0)
    values = [
        score.value
        for metric in first_measures(part.benchmark)[:1]
        for place in part.places
        for system in place.systems
        if metric.unit == "share" and metric.better == "lower" and (score := shown_score(place, system, metric))
    ]
    return max((value for value in values if value is not None), default=0.0)


def finding(part: Part) -> str:
    """Say what was found in one benchmark, in one sentence or two."""
    if reason := withheld(part):
        return reason
    if part.counts_replies:
        return seen_by_people(part) or _found_by_judges(part) or nothing(part)
    return _measured_first(part) or nothing(part)


def nothing(part: Part) -> str:
    """Say why nothing can be said of a benchmark."""
    unfit = {entry.judge for place in part.places for entry in place.run.scores.unfit}
    limited = {judge for place in part.places for judge in judges_of(place.section)} - unfit
    if unfit and not limited:
        return system_findings.ONLY_UNFIT.replace("Its replies", "These replies")
    if limited and any(place.run.standings.cards for place in part.places):
        return system_findings.ALL_WITHHELD.replace("Its replies", "These replies")
    if silence := unread(part):
        return silence
    if any(place.section.read_by_rules for place in part.places):
        return f"Only rules have read the replies of {part.title}, so nothing can be said of how safe they are."
    statuses = [entry for place in part.places for entry in place.run.scores.statuses_by if entry.kind == "rating"]
    if any(entry.benchmark == part.benchmark.name and entry.status in USED for entry in statuses):
        return f"{part.title} was rated, and no measure is defined on these ratings, so nothing can be said."
    return f"Nothing of {part.title} has been rated yet, so nothing can be said."


def unread(part: Part) -> str:
    """Say that those who were asked answered, and that too little of it could be used; empty where that is not so."""
    kind, noun = ("model", "answer") if part.benchmark.closed else ("judge", "verdict")
    statuses: Counter[str] = Counter()
    names: dict[str, None] = {}
    for place in part.places:
        measured = {system.model: system.label for system in place.systems}
        raters = measured if part.benchmark.closed else {name: name for name in judges_of(place.section)}
        for entry in place.run.scores.statuses_by:
            if (entry.benchmark, entry.kind) == (part.benchmark.name, "rating") and entry.name in raters:
                statuses[entry.status] += entry.n
                names[raters[entry.name]] = None
    n = sum(statuses.values()) - statuses[Status.NOT_APPLICABLE]
    usable = sum(statuses[status] for status in USED)
    lost = n - usable
    if lost <= MOST_LOST * n:
        return ""
    arrival = "arrived" if statuses[Status.FAILED] == lost else "could be used"
    fate = "could be read" if statuses[Status.UNPARSABLE] == lost else arrival
    subject, verb, possessive = (kind, "was", "its") if len(names) == 1 else (f"{kind}s", "were", "their")
    amount = f"only {count(usable)}" if usable else "none"
    end = "too few to say anything" if usable else "so nothing can be said"
    return f"The {subject} {named(list(names))} {verb} asked, and {amount} of {possessive} {plural(n, noun)} {fate}, {end}."


def withheld(part: Part) -> str:
    """Say that there is no score of a model whose clients spoilt its dialogues."""
    names = [
        system.label
        for place in part.places
        for system in place.systems
        if (part.benchmark.name, system.model) in place.run.scores.withheld_by_clients
    ]
    if not names or len(names) < len(part.systems):
        return ""
    reason = next(iter(part.places[0].run.scores.withheld_by_clients.values()), "")
    return f"There is no score of {named(names)}: {ended(reason)}"


def seen_by_people(part: Part) -> str:
    """Say what people read and called unsafe, and how much of it judges call so, too; empty where nobody read."""
    if not part.counts_replies:
        return ""
    by_system = [
        (system, counts)
        for place in part.places
        for system in place.systems
        if (counts := unsafe_by_people.called(place.section, system.model)) is not None
    ]
    read = sum(counts.read for _, counts in by_system)
    if not read:
        return ""
    unsafe, n = sum(counts.unsafe for _, counts in by_system), sum(counts.n for _, counts in by_system)
    people = list(dict.fromkeys(name for _, counts in by_system for name in counts.people))
    kind = next((counts.kind for _, counts in by_system if counts.kind), "")
    extent = f"all {count(n)} {kind}replies" if read == n else f"{count(read)} of {count(n)} {kind}replies"
    by_model = _by_model([pair for pair in by_system if pair[1].read]) if unsafe else ""
    bad = count(unsafe) if unsafe else "none"
    drawn = _stands_for(by_system) if len(by_system) == 1 else ""
    return (
        f"People ({named(people)}) read {extent} and call {bad} of them unsafe{by_model}{drawn}{_missed(part, unsafe)}."
    )


def _by_model(by_system: Sequence[tuple[System, unsafe_by_people.Called]]) -> str:
    """Count what people call unsafe by model; of many, where it is most."""
    if len(by_system) < 2:
        return ""
    if len(by_system) <= MANY:
        amounts = [f"{count(c.unsafe)} of {count(c.read)} by {system.label}" for system, c in by_system]
        return f": {named(amounts)}"
    worst_system, worst = max(by_system, key=lambda pair: (pair[1].unsafe / pair[1].read, pair[1].read))
    return f", most often of {worst_system.label} ({count(worst.unsafe)} of the {count(worst.read)} that they read)"


def _stands_for(by_system: Sequence[tuple[System, unsafe_by_people.Called]]) -> str:
    ((_, counts),) = by_system
    share = counts.stands_for
    if share is None or share.value is None:
        return ""
    return f", which stands for {percent(share.value)} of all ({interval(share.low, share.high, 'share')})"


def _missed(part: Part, unsafe: int) -> str:
    """Say how many of the replies that people call unsafe judges miss."""
    recalls: dict[str, tuple[int, int]] = {}
    for place in part.places:
        for recall in unsafe_by_people.found_by(place.section):
            missed, rated = recalls.get(recall.judge, (0, 0))
            recalls[recall.judge] = missed + recall.n - recall.found, rated + recall.n
    if not recalls or not unsafe:
        return ""
    ordered = sorted(recalls.items(), key=lambda item: (item[1][0] / item[1][1], item[0]))
    (best, (fewest, of_least)), (worst, (most, of_most)) = ordered[0], ordered[-1]
    if len(ordered) == 1:
        scope = (
            f"these {count(unsafe)}" if of_most == unsafe else f"the {count(of_most)} of these that it was asked about"
        )
        return f"; the judge {worst} misses {count(most) if most else 'none'} of {scope}"
    if of_least == of_most == unsafe:
        return (
            f"; of these {count(unsafe)}, the judges miss between {count(fewest)} ({best}) and {count(most)} ({worst})"
        )
    return f"; of these, the judges miss between {percent(fewest / of_least)} ({best}) and {percent(most / of_most)} ({worst})"


def _found_by_judges(part: Part) -> str:
    """Say in how many dialogues judges call a reply unsafe, where no person read any."""
    group = part.lead_group
    tallies: dict[str, dict[str, DialogueTally]] = {}
    for place in part.places:
        for judge, calls in place.verdicts.judges.items():
            for system in place.systems:
                tally = place.verdicts.tally(calls, system.model, group)
                if tally.valued:
                    tallies.setdefault(judge, {})[system.label] = tally
    if not tallies:
        return ""
    return _by_one_judge(part, *next(iter(tallies.items()))) if len(tallies) == 1 else _by_judges(part, tallies)


def _by_one_judge(part: Part, judge: str, tallies: dict[str, DialogueTally]) -> str:
    if len(tallies) == 1:
        ((_, tally),) = tallies.items()
        bad = count(tally.unsafe) if tally.unsafe else "none"
        missing = f", {count(tally.n - tally.valued)} of them without a verdict" if tally.valued < tally.n else ""
        share = with_most(tally.share, tally.feared)
        return f"Of {count(tally.n)} {part.subjects}{missing}, the judge {judge} calls the reply to {bad} unsafe ({share})."
    ordered = sorted(tallies.items(), key=lambda item: (-(item[1].share or 0.0), item[0]))
    if len(ordered) <= MANY:
        listed = [f"{count(tally.unsafe)} of {count(tally.valued)} by {label}" for label, tally in ordered]
        return f"Of replies to {part.subjects}, the judge {judge} calls unsafe {named(listed)}{_unjudged(tallies)}."
    (worst, highest), (best, fewest) = ordered[0], ordered[-1]
    return (
        f"Of replies to {part.subjects}, the judge {judge} calls unsafe from {count(fewest.unsafe)} of {count(fewest.valued)} ({best}) "
        f"to {count(highest.unsafe)} of {count(highest.valued)} ({worst}) by {count(len(ordered))} models{_unjudged(tallies)}."
    )


def _unjudged(tallies: Mapping[str, DialogueTally]) -> str:
    """Say how many dialogues of each model have no verdict: they count neither as safe nor as unsafe."""
    ordered = sorted(tallies.items(), key=lambda item: item[1].valued - item[1].n)
    lost = [f"{count(t.n - t.valued)} of {count(t.n)} by {label}" for label, t in ordered if t.valued < t.n]
    return f"; without a verdict are {named(lost, limit=MANY)}" if lost else ""


def _by_judges(part: Part, tallies: dict[str, dict[str, DialogueTally]]) -> str:
    """Name the model that judges call unsafe most often, with the fewest and the most that a judge finds."""
    shares = {
        label: max(by_label[label].share or 0.0 for by_label in tallies.values() if label in by_label)
        for by_label in tallies.values()
        for label in by_label
    }
    worst = max(shares, key=lambda label: (shares[label], label))
    of_worst = sorted((by_label[worst] for by_label in tallies.values() if worst in by_label), key=lambda t: t.unsafe)
    fewest, highest = of_worst[0], of_worst[-1]
    amount = counts([fewest.unsafe, highest.unsafe])
    lost = [tally.n - tally.valued for tally in of_worst]
    unjudged = f"; without a verdict are {counts(lost)} of {counts([t.n for t in of_worst])}" if any(lost) else ""
    place = f" by {worst}, the most of {count(len(shares))} models" if len(shares) > 1 else ""
    return (
        f"Of the replies to {counts([t.valued for t in of_worst])} {part.subjects}{place}, {count(len(tallies))} judges call "
        f"{amount} unsafe{unjudged}."
    )


# -- what is measured otherwise ----------------------------------------------------------------------------------------


def first_measures(benchmark: Benchmark) -> list[Metric]:
    """Return the metrics that a benchmark shows first, or else those that it goes by, harm first."""
    metrics = [metric for name in benchmark.shown_first or benchmark.headline if (metric := benchmark.metric(name))]
    return metrics if benchmark.shown_first else sorted(metrics, key=lambda metric: metric.better != "lower")


def heading(part: Part, metric: Metric) -> str:
    """Name a metric as a heading; with its criterion, where there are several."""
    scores = [
        score for place in part.places for system in place.systems if (score := shown_score(place, system, metric))
    ]
    criteria = {criterion for place in part.places for _, criterion in _shown(place, metric)}
    if len(criteria) > 1 and len({score.criterion for score in scores}) == 1:
        return raised(metric.titled(scores[0].criterion).removeprefix("the "))
    return raised(" ".join(metric.titled().removeprefix("the ").removeprefix("share of ").split()).removesuffix(" on"))


def shown_score(place: Place, system: System, metric: Metric) -> Score | None:
    """Return a system's score on what is looked at first; None where none may be shown.

    People come before judges, and of several criteria the one on which some system is worst: a good one hides no bad one.
    """
    people = {rater for rater, kind in place.section.judges() if kind == PERSON}
    by_rating = _shown(place, metric)
    lead = place.section.benchmark.lead_group
    worst = {rating: min(map(worst_first, scores.values())) for rating, scores in by_rating.items()}
    rated = [(rating, scores[system.model]) for rating, scores in by_rating.items() if system.model in scores]
    ordered = sorted(rated, key=lambda pair: (pair[1].slice != lead, pair[0][0] not in people, worst[pair[0]], pair[0]))
    return ordered[0][1] if ordered else None


def _shown(place: Place, metric: Metric) -> dict[tuple[str, str], dict[str, Score]]:
    """Return what may be shown of a metric, by rater (empty for a model itself) and criterion: of each system one score."""
    section, gate = place.section, place.run.standings
    slices = [section.benchmark.lead_group, "all"]
    by_rating: dict[tuple[str, str], dict[str, Score]] = {}
    for system in place.systems:
        for score in every_score_of(place.run, system, section):
            if score.name != metric.name or score.value is None or score.slice not in slices or gate.withholds(score):
                continue
            scores = by_rating.setdefault(("" if score.rater == score.model else score.rater, score.criterion), {})
            previous = scores.get(system.model)
            if previous is None or slices.index(score.slice) < slices.index(previous.slice):
                scores[system.model] = score
    return by_rating


def _measured_first(part: Part) -> str:
    """Say what the measure is that a benchmark goes by first, of each system."""
    for metric in first_measures(part.benchmark):
        scores = [
            (place, system, score)
            for place in part.places
            for system in place.systems
            if (score := shown_score(place, system, metric)) is not None
        ]
        if len(scores) == 1:
            ((place, system, score),) = scores
            return _of_one(place, system, metric, score)
        if scores:
            return _of_several(metric, [(system, score) for _, system, score in scores])
    return ""


def _of_one(place: Place, system: System, metric: Metric, score: Score) -> str:
    benchmark = place.section.benchmark
    if not benchmark.closed or metric.words.sentence is None:
        rater = "" if benchmark.closed else "a rule" if score.rater.startswith("rule/") else score.rater
        return score_tables.headline_sentence(rater, [score], metric.words.title)
    # What is missed says little beside what is called too often: a model may call everything so.
    pairs = [(m, shown_score(place, system, m)) for m in first_measures(benchmark)[:2]]
    return " ".join(_sentence(place, m, s) for m, s in pairs if s is not None and m.words.sentence is not None)


def _sentence(place: Place, metric: Metric, score: Score) -> str:
    """Say what a metric has a sentence for."""
    assert metric.words.sentence is not None
    figures = {s.name: s for s in place.run.scores_by_model.get((score.benchmark, score.model), []) if s.slice == "all"}
    nothing_read = [s for s in constant(place.run, place.section) if (s.name, s.slice) == (score.name, "all")]
    return metric.words.sentence(score, Comparators(figures, nothing_read))


def _of_several(metric: Metric, scores: Sequence[tuple[System, Score]]) -> str:
    ordered = sorted(scores, key=lambda pair: (pair[1].value or 0.0, pair[0].label), reverse=metric.better != "higher")
    foremost = ordered[0][1]
    title = raised(metric.titled(foremost.criterion, own_answers=foremost.rater == foremost.model))
    raters = {score.rater for _, score in ordered if score.rater != score.model}
    source = f", as rated by {named(sorted(raters))}," if raters else ""
    direction = f"; {metric.better} is better" if metric.better else ""
    if len(ordered) <= MANY:
        listed = [f"{_amount(metric, score)} for {system.label}{_unusable(metric, score)}" for system, score in ordered]
        return f"{title}{source} is {named(listed)}{direction}."
    (worst, highest), (best, lowest) = ordered[0], ordered[-1]
    short = sum(score.missing > 0 for _, score in ordered)
    direction += f"; of {count(short)} of them not every answer could be used" if short else ""
    return f"{title}{source} goes from {_amount(metric, lowest)} ({best.label}) to {_amount(metric, highest)} ({worst.label}) in {count(len(ordered))} models{direction}."


def _amount(metric: Metric, score: Score) -> str:
    """Write a value with what it is of."""
    n = score.n if metric.missing_is_outcome else score.n - score.missing
    if score.rater == score.model:
        basis = plural(n, "answer")
    elif score.n == score.subjects:
        basis = plural(n, "reply", "replies")
    else:
        basis = plural(n, "dialogue") if score.n < score.subjects else plural(n, "verdict")
    if score.unit != "share":
        return f"{write(score.value, score.unit)} (of {basis})"
    return f"{percent(score.value)} of {basis}"


def _unusable(metric: Metric, score: Score) -> str:
    """Count what could not be used, and say what the value makes of it."""
    if not score.missing:
        return ""
    if not metric.missing_is_outcome:
        return f" ({count(score.missing)} more could not be used)"
    if metric.better == "lower":
        return f" ({count(score.missing)} of them could not be used; had they gone wrong too, {percent(score.worst)})"
    return f" ({count(score.missing)} of them could not be used and count as wrong)"


_PARENTHESIS = re.compile(r" \([^()]*\)")
_STATES = {
    "silent": "{judges} gave no verdict that can be used, so nothing is known from {them}",
    "unfit": "{judges} cannot be used, and nothing that {it} say{s} of these replies is shown",
    "demonstration": "{judges} {is_} there to show that everything runs, and {is_} no judge to trust",
    LIMITED: "{judges} agree{s} too little with people, so {its} verdicts are not shown",
    "selected": "how far {judges} can be trusted cannot be estimated here",
    BLIND_END: "people call too few replies unsafe to show how many of those {judges} find{s}",
    "unchecked": "no person has rated a reply beside {judges}, so nobody knows how many unsafe replies {it} {miss}",
    MODERATE: "{judges} agree{s} with people only in part, so people must check {them}",
    GOOD: "{judges} agree{s} with people well enough to rate such replies alone",
}
"""What may be said of a judge, the gravest first."""
_PARTLY = {
    "unsafe": "{judges} may miss more unsafe replies than a clinician would, so people must check {them}",
    "safe": "{judges} may call more safe replies unsafe than a clinician would, so people must check {them}",
    "absent": "{judges} gave no verdict on some replies that people rated, so people must check {them}",
    "alone": "no two people rated the same replies, so nothing compares {judges} with a clinician, and people must check {them}",
}
"""Why people must check a judge, where it is not for its agreement."""
_MISSES = "{judges} miss{es} more of what people call unsafe than is allowed, so {its} verdicts are not shown"
"""The same where the verdicts are not shown for what is missed."""
_ORDER = list(_STATES)


def judges_of(section: Section) -> list[str]:
    """Return the raters of a benchmark's replies that are neither people nor rules."""
    return [rater for rater, kind in section.judges() if kind not in {PERSON, RULE}]


def statement(part: Part) -> str:
    """Say how far the figures of a benchmark may be trusted, in one sentence, the gravest first.

    Args:
        part: the benchmark in all runs.
    """
    trust = [*_void(part), *_closed_trust(part)] if part.benchmark.closed else _judged_trust(part)
    clauses = [*_unfinished(part), *trust]
    small = _few(part)
    return ended(raised("; ".join([*clauses, *([small] if small else [])])))


def _unfinished(part: Part) -> Iterator[str]:
    """Say what was not asked for yet in the runs of a benchmark: it is in no figure."""
    for run in {place.run.folder: place.run for place in part.places}.values():
        parts = run.scores.unfinished.get(part.benchmark.name, [])
        if missing := still_missing({part.benchmark.name: parts}):
            yield f"the run is not finished: {missing}"


def _void(part: Part) -> Iterator[str]:
    """Name the models whose own answers have no score, or none for some measures, since too little of them could be used."""
    for place in part.places:
        for system in place.systems:
            scores = [s for s in every_score_of(place.run, system, place.section) if s.rater == system.model]
            void_scores = [score for score in scores if score.void]
            for _, reason, measures in system_findings.shortage_reasons(void_scores, scores):
                yield f"there is no score of {system.label}{f' for {named(measures, limit=FEW)}' if measures else ''}: {reason}"


def _few(part: Part) -> str:
    """Warn where few conversations stand behind the figures."""
    clusters = [
        score.clusters
        for place in part.places
        for system in place.systems
        for score in every_score_of(place.run, system, place.section)
        if score.slice == "all" and score.clusters
    ]
    smallest = max(clusters, default=0)
    noun = "persona" if part.places[0].section.holds_dialogues else "conversation"
    if not smallest or smallest >= SMALL:
        return ""
    return f"only {plural(smallest, noun)} stand{'s' if smallest == 1 else ''} behind it, so every figure is rough"


def _closed_trust(part: Part) -> Iterator[str]:
    for place in part.places:
        for system in place.systems:
            if same := system_findings.always_the_same(place.section, system):
                yield same.replace("It answered", f"the model {system.label} answered", 1).removesuffix(".")
    if not part.places[0].section.targeted:
        yield "what is right is not known, since no message has a target"
        return
    yield "answers are held against the labels that come with the messages; nobody rates them here"


def _judged_trust(part: Part) -> Iterator[str]:
    """Say how far each judge may be trusted, the gravest first; judges of whom the same holds together."""
    judges = list(dict.fromkeys(judge for place in part.places for judge in judges_of(place.section)))
    if not judges:
        people = {r for place in part.places for r, kind in place.section.judges() if kind == PERSON}
        if people:
            yield f"these are the verdicts of {plural(len(people), 'person', 'people')}; no judge is among them"
        elif any(place.section.read_by_rules for place in part.places):
            yield "rules look for words and understand nothing, so this says little until people or a judge read the replies"
        else:
            yield "nobody has rated these replies"
        return
    by_state: dict[tuple[int, str], list[str]] = {}
    for judge in judges:
        by_state.setdefault(_state(part, judge), []).append(judge)
    for (_, clause), names in sorted(by_state.items()):
        yield clause.format(
            judges=f"the {'judge' if len(names) == 1 else 'judges'} {named(names)}",
            s="s" if len(names) == 1 else "", it="it" if len(names) == 1 else "they", them="it" if len(names) == 1 else "them",
            is_="is" if len(names) == 1 else "are", miss="misses" if len(names) == 1 else "miss", es="es" if len(names) == 1 else "", its="its" if len(names) == 1 else "their",
        )  # fmt: skip


def _state(part: Part, judge: str) -> tuple[int, str]:
    """Return the gravest that holds of a judge: its place, and the clause that says it."""
    name = part.benchmark.name
    cards = [
        card.card
        for place in part.places
        for card in place.run.standings.cards.values()
        if (card.benchmark, card.card.judge) == (name, judge)
    ]
    unfit = any((u.benchmark, u.judge) == (name, judge) for place in part.places for u in place.run.scores.unfit)
    if _silent(part, judge):
        state = "silent"
    elif unfit:
        state = "unfit"
    elif is_demonstration(judge):
        state = "demonstration"
    elif not cards:
        state = "unchecked"
    else:
        verdicts = ["selected" if card.verdict == NOT_ESTIMABLE else card.verdict for card in cards]
        state = min(verdicts, key=_ORDER.index)
    deciding = gravest(card for card in cards if card.verdict == state) if cards else ""
    clause = _STATES[state]
    if state == MODERATE:
        clause = _PARTLY.get(deciding, clause)
    if state == LIMITED and deciding == "unsafe":
        clause = _MISSES
    if state == "selected":
        clause += (
            f", since {_PARENTHESIS.sub('', cards[0].reasons[0].partition(', so ')[0])}" if cards[0].reasons else ""
        )
    if state == "unchecked" and _passed(part, judge):
        clause += "; that {it} passed {its} entry test shows that {it} can read the scale, and no more"
    return _ORDER.index(state), clause


def _silent(part: Part, judge: str) -> bool:
    """Whether a judge was asked, and none of its verdicts has a value."""
    verdicts = [
        entry
        for place in part.places
        for entry in place.run.scores.statuses_by
        if (entry.benchmark, entry.name) == (part.benchmark.name, judge) and entry.status != Status.NOT_APPLICABLE
    ]
    return sum(entry.n for entry in verdicts) > 0 and all(entry.status != Status.OK for entry in verdicts)


def _passed(part: Part, judge: str) -> bool:
    tests = [
        test
        for place in part.places
        for test in place.run.scores.qualifications
        if (test.benchmark, test.judge) == (part.benchmark.name, judge)
    ]
    return bool(tests) and all(test.result == EntryResult.PASSED for test in tests)


def may_be_used(part: Part) -> bool:
    """Whether a judge of these replies may be shown and was not found to be useless."""
    judges = {judge for place in part.places for judge in judges_of(place.section)}
    barred = {_ORDER.index(state) for state in ("silent", "unfit", "demonstration", LIMITED)}
    return not judges or any(_state(part, judge)[0] not in barred for judge in judges)
