"""What the numbers say of each model in sentences: its gates, where there is no score, its shares and means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis import fitness, frame
from mindgauge.analysis.reliability.favour import CANNOT_TELL, FAVOURS, NO_SIGN
from mindgauge.benchmarks import rubric_defaults
from mindgauge.benchmarks.metrics import SHARES_OF_YES, UNMOVED, label_of, mean_level
from mindgauge.benchmarks.metrics.metric_sentences import Comparators
from mindgauge.models.family import same_family
from mindgauge.records.english import ended, first_sentence, lowered, named, words
from mindgauge.records.rounding import count, interval, percent, plural
from mindgauge.records.rubric import Scale
from mindgauge.records.rubric.composite import CompositeRule
from mindgauge.records.rubric.criterion import rising
from mindgauge.reports import reliability_gate, score_tables, unsafe_by_people
from mindgauge.reports.content import REPLIES, SystemFindings
from mindgauge.reports.runs import PERSON, RULE, constant, every_score_of, is_demonstration, scores_of, void_of
from mindgauge.reports.sections import Summary, TaskAnswer
from mindgauge.reports.trust import DEMONSTRATION, allowed, cards_of, judges_of
from mindgauge.store.continued import span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mindgauge.analysis.score import Score
    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.metrics import Metric
    from mindgauge.records import Value
    from mindgauge.records.rubric import Criterion
    from mindgauge.records.rubric.composite import Composite
    from mindgauge.reports.content import System
    from mindgauge.reports.reliability_gate import ReliabilityGate, RunCard
    from mindgauge.reports.runs import OpenRun, Section


def of_gates(
    scores: Sequence[Score],
    section: Section,
    standings: ReliabilityGate,
    group: str,
    what: str,
    who: Callable[[Score], str],
) -> Iterator[str]:
    """Say what each rater's gates let through, of the replies in a group; `who` names the rater of a score."""
    gates = _gates(section)
    shares = [s for s in scores if s.slice == group and s.name in SHARES_OF_YES and s.criterion in gates]
    shares = [s for s in shares if s.value is not None and not standings.limited(s)]
    for rater in dict.fromkeys(s.rater for s in shares):
        own_shares = sorted((s for s in shares if s.rater == rater), key=lambda s: gates.index(s.criterion))
        ns = sorted({s.subjects for s in own_shares})
        n = plural(ns[0], "reply", "replies") if len(ns) == 1 else f"{count(ns[0])} to {count(ns[-1])} replies"
        yield f"Of {n}{what}, {lowered(who(own_shares[0]))} called {named([_share(s) for s in own_shares], limit=9)}."


def meanings(sections: Sequence[Section]) -> Iterator[str]:
    """Say what the gates mean by which replies were judged, each once."""
    for section in {section.benchmark.name: section for section in sections}.values():
        sentences = [_meaning(name, section.benchmark.composites[name]) for name in _gates(section)]
        if sentences:
            yield " ".join(sentences)


def _meaning(name: str, gate: Composite) -> str:
    parts = [words(part) for part in gate.of]
    if gate.how is CompositeRule.ANY:
        phrase = f"there is {named(parts, 'or', limit=9)}"
    elif len(parts) == 2:
        phrase = f"neither {parts[0]} nor {parts[1]}"
    else:
        phrase = f"none of {named(parts, 'or', limit=9)}"
    return f"“{words(name)[:1].upper()}{words(name)[1:]}” means: {phrase}."


def _gates(section: Section) -> list[str]:
    return [name for name, composite in section.benchmark.composites.items() if composite.gate]


def gravest(benchmark: Benchmark) -> list[str]:
    """Return what is looked at before everything else that is rated: a benchmark's gates, then its vetoes."""
    gates = [name for name, composite in benchmark.composites.items() if composite.gate]
    return [*gates, *(criterion.name for criterion in benchmark.rubric.criteria if criterion.veto)]


def _share(score: Score) -> str:
    bounds = interval(score.low, score.high, "share")
    lost = f", {count(score.missing)} of {count(score.n)} verdicts unknown" if score.missing else ""
    return f"{percent(score.value)} {words(score.criterion)} ({bounds}{lost})"


ONLY_UNFIT = "Its replies were rated only by judges that cannot be used, so nothing can be said of them."


def unfit(runs: Sequence[OpenRun]) -> list[str]:
    """Say which judges cannot be used, before anything else is said; with the run's name, where there are several."""
    sentences = []
    for run in runs:
        place = f"In {run.folder.resolve().name}: " if len(runs) > 1 else ""
        sentences += [f"{place}{sentence}" for sentence in fitness.told(run.scores.unfit)]
    return sentences


def of_shortage(run: OpenRun, section: Section, system: System) -> Iterator[str]:
    """Say of one system in one benchmark where too few answers or verdicts could be used, and what follows."""
    void_scores = list(void_of(run, system, section))
    judges = {(entry.judge, entry.criterion) for entry in run.scores.unfit if entry.benchmark == section.benchmark.name}
    withheld = run.scores.withheld_by_clients
    shortages = [
        score
        for score in void_scores
        if (score.rater, score.criterion) not in judges and (score.benchmark, score.model) not in withheld
    ]
    if reason := withheld.get((section.benchmark.name, system.model)):
        yield f"There is no score: {ended(reason)}"
    for rater, reason, measures in shortage_reasons(shortages, every_score_of(run, system, section)):
        subject = "It" if section.benchmark.closed else f"The judge {rater}"
        yield f"{subject} gave {reason}, so there is no score{f' for {named(measures, limit=MANY)}' if measures else ''}."
    raters = {score.rater for score in shortages if score.slice == "all"}
    parts = dict.fromkeys(score.slice for score in shortages if score.rater not in raters)
    if parts:
        yield f"There is no score on {named([words(part) for part in parts])}: more than half of what was asked there could not be used."
    rest = [score for score in scores_of(run, system, section) if score.name not in UNMOVED]
    if not section.benchmark.closed and void_scores and not shortages and not rest and not reason:
        yield ONLY_UNFIT


def shortage_reasons(void_scores: Iterable[Score], scores: Iterable[Score]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield by whom there is no score on the whole, why, and for which measures: none is named where that holds for all.

    Args:
        void_scores: those that are not there, of one system.
        scores: all of the system.
    """
    void = [score for score in void_scores if score.slice == "all"]
    ids = {(score.rater, score.name, score.criterion) for score in void}
    valued = {
        score.rater
        for score in scores
        if score.slice == "all" and score.name not in UNMOVED and (score.rater, score.name, score.criterion) not in ids
    }
    for rater, reason in dict.fromkeys((score.rater, score.void) for score in void):
        measures = [score.title for score in void if (score.rater, score.void) == (rater, reason)]
        yield rater, reason, measures if rater in valued else []


def silenced(runs: Sequence[OpenRun]) -> set[str]:
    """Return the judges of which nothing at all is shown."""
    speaking = {
        score.rater for run in runs for score in run.scores.metrics if not score.void and score.name not in UNMOVED
    }
    return {entry.judge for run in runs for entry in run.scores.unfit} - speaking


ALL_WITHHELD = (
    "Its replies were rated, but only by judges that agree too little with people, so nothing can be said of them."
)
UNDEFINED = "It was rated, and no measure is defined on these ratings, so nothing can be said."
MANY = 3
"""With more criteria than this, each rater is told in one sentence."""


def people_first(section: Section, system: System, scope: str = "") -> list[str]:
    """Say what people read of a system's replies and called unsafe: in the group that is looked at first, and in the rest."""
    group = section.lead_group
    first = unsafe_by_people.called(section, system.model, group)
    rest = unsafe_by_people.called(section, system.model, group, outside=True)
    if first is None or rest is None:
        return []
    sentences = [unsafe_by_people.of_system(first, _to(section.benchmark, group) + scope)] if first.n else []
    if rest.unsafe or (rest.read and not first.read):
        sentences.append(unsafe_by_people.of_system(rest, scope, "its other" if first.n else "its"))
    return sentences


def told(
    run: OpenRun, section: Section, system: System, *, scored: bool = False, people_told: bool = False
) -> SystemFindings | None:
    """Say what the numbers say of one system in one benchmark, what people say first; None where nothing of it was rated.

    Where no sentence tells what the benchmark goes by first, one says its value, unless it was `scored` elsewhere and
    there is something else to say. With `people_told`, what people called unsafe stands elsewhere.
    """
    scores = list(scores_of(run, system, section))
    void_notes = list(of_shortage(run, section, system))
    if not scores and not void_notes:
        return None
    judging = _ReplyVerdicts(section, system, run.standings)
    if section.benchmark.closed:
        first, last = [], [always_the_same(section, system)] if scores else []
        sentences = [*_closed(scores, constant(run, section), section.benchmark), *_distributions(scores, section)]
    else:
        first = [] if people_told else people_first(section, system)
        sentences, last = list(_open(scores, judging)), []
    vetoes, others = (list(_by_criterion(scores, judging, vetoes=vetoes)) for vetoes in (True, False))
    if vetoes or others:
        sentences = [*vetoes, *sentences, *others]
    elif not any(sentences) or not (scored or _tells(scores, section)):
        sentences += _headlines(scores, judging)
    withheld = [] if section.benchmark.closed else _withheld(scores, section.benchmark, run.standings)
    if withheld and not any(sentences):
        sentences = [ALL_WITHHELD]
    facts = [fact for fact in (*first, *void_notes, *sentences, *last) if fact]
    if not facts and any(True for _ in void_of(run, system, section)):
        facts = [ONLY_UNFIT]
    if not facts and scores and all(score.value is None for score in scores):
        facts = [UNDEFINED]
    separate = len(section.judges()) > 2 and len(section.ordinal) <= MANY
    return SystemFindings(system, facts if separate else [" ".join(facts)] if facts else [], withheld)


def _tells(scores: Sequence[Score], section: Section) -> bool:
    """Whether what the benchmark goes by first has a sentence of its own."""
    first = section.benchmark.headline[0] if section.benchmark.headline else ""
    if section.benchmark.closed:
        metric = section.benchmark.metric(first)
        return metric is not None and metric.words.sentence is not None
    names = {mean_level.name} if section.ordinal else set()
    names |= SHARES_OF_YES if any(c.gate for c in section.benchmark.composites.values()) else set()
    return first in names and any(s.name == first for s in scores)


def _closed(scores: Sequence[Score], nothing_read: Sequence[Score], benchmark: Benchmark) -> Iterator[str]:
    """Say what each metric has a sentence for, on the whole and over its labels."""
    overall = {s.name: s for s in scores if s.slice == "all"}
    by_name = {metric.name: metric for metric in benchmark.metrics if metric.name not in benchmark.silent}
    for name, metric in by_name.items():
        if metric.words.sentence is not None and name in overall:
            constant = [s for s in nothing_read if (s.name, s.slice) == (name, "all")]
            yield metric.words.sentence(overall[name], Comparators(overall, constant))
    for name, metric in by_name.items():
        if metric.words.across is not None:
            yield metric.words.across([s for s in scores if s.name == name])


def _distributions(scores: Sequence[Score], section: Section) -> Iterator[str]:
    """Say of texts and dialogues of the user's own how often each label was given, criterion by criterion."""
    names = _shares(section)
    by_criterion: dict[str, list[Score]] = {}
    for s in scores:
        if s.slice == "all" and s.name in names and not s.void:
            by_criterion.setdefault(s.criterion, []).append(s)
    for shares in by_criterion.values():
        yield score_tables.distribution(shares, targeted=section.targeted)


def _shares(section: Section) -> set[str]:
    return {m.name for m in section.benchmark.distribution if section.benchmark.closed and label_of(m.name)}


def always_the_same(section: Section, system: System) -> str:
    """Warn where nearly all answers of a system are one label though the messages differ."""
    valued = section.asked.filter(
        pl.col("rater") == system.model, pl.col("status") == "ok", pl.col("target").is_not_null()
    )
    answers = valued.select("value", "target").collect()
    return score_tables.always_the_same(answers["value"].to_list(), answers["target"].to_list())


class _ReplyVerdicts:
    """What raters made of one system's replies to one benchmark."""

    def __init__(self, section: Section, system: System, standings: ReliabilityGate) -> None:
        self.section, self.system, self.standings = section, system, standings
        self.people = {rater for rater, kind in section.judges() if kind == PERSON}
        self.judges = [rater for rater, kind in section.judges() if kind not in {PERSON, RULE}]

    def who(self, score: Score) -> str:
        """Name a score's rater; a judge whose trust is not estimable is called that."""
        return score_tables.rater_phrase(
            score.rater, person=score.rater in self.people, doubtful=self.standings.not_estimable(score)
        )

    def ordered(self, scores: Sequence[Score]) -> list[Score]:
        """Return scores by people before those by judges."""
        return sorted(scores, key=lambda s: s.rater not in self.people)


def _to(benchmark: Benchmark, group: str) -> str:
    if group == "all":
        return ""
    title = benchmark.group_titles.get(group)
    return f" to {title}" if title else f" ({group})"


def _open(scores: Sequence[Score], judging: _ReplyVerdicts) -> Iterator[str]:
    section, standings = judging.section, judging.standings
    group = next((name for name in section.benchmark.groups if any(s.slice == name for s in scores)), "all")
    means = judging.ordered([s for s in scores if s.name == mean_level.name and s.criterion in section.ordinal])
    overall = [s for s in means if s.slice == group]
    allowed = [s for s in overall if not standings.limited(s)]
    yield from of_gates(judging.ordered(scores), section, standings, group, _to(section.benchmark, group), judging.who)
    yield from _told(allowed, judging, group)
    yield from _lowest([s for s in means if not standings.limited(s)], allowed, judging)
    doubtful = [s for s in overall if standings.limited(s)]
    if standings.shown and doubtful:
        yield from reliability_gate.unreliable(_cards(doubtful, standings))
        yield from _told(doubtful, judging, group)
    if means and not overall:
        n = max(s.subjects for s in means)
        yield f"Only {plural(n, 'of its replies', 'of its replies')} that {'was' if n == 1 else 'were'} chosen for what a judge thought of them {'was' if n == 1 else 'were'} rated, so nothing can be said about its replies as a whole."


def _headlines(scores: Sequence[Score], judging: _ReplyVerdicts) -> Iterator[str]:
    """Say what a benchmark goes by, rater by rater: every measure that has no sentence of its own."""
    section = judging.section
    visible = [s for s in scores if s.slice == "all" and not judging.standings.withholds(s)]
    rules = {reading.rater for reading in section.benchmark.readings}
    for name in (name for name in section.benchmark.headline if name not in _shares(section)):
        metric = section.benchmark.metric(name)
        by_rater: dict[str, list[Score]] = {}
        for s in judging.ordered([s for s in visible if s.name == name]):
            rule = (
                "a rule"
                if s.rater in rules
                else f"the rule {s.rater.partition('/')[2]}"
                if s.rater.startswith("rule/")
                else ""
            )
            rater = "" if section.benchmark.closed else rule or lowered(judging.who(s))
            by_rater.setdefault(rater, []).append(s)
        for rater, rater_scores in by_rater.items():
            yield score_tables.headline_sentence(rater, rater_scores, metric.words.title if metric else "")


def _by_criterion(scores: Sequence[Score], judging: _ReplyVerdicts, *, vetoes: bool) -> Iterator[str]:
    """Say of replies, where each criterion has metrics of its own, those that stand for it, of all raters in one sentence.

    Means, and what of a numbered order is at its worst, are told level by level; of classes, how often each was given.
    """
    benchmark = judging.section.benchmark
    if benchmark.closed:
        return
    visible = [s for s in scores if s.slice == "all" and s.value is not None and not judging.standings.withholds(s)]
    for criterion in (c for c in benchmark.rubric.criteria if c.veto == vetoes):
        titles = {m.name: m.titled(criterion.name) for m in _leading(benchmark, criterion)}
        figures = judging.ordered([s for s in visible if s.criterion == criterion.name and s.name in titles])
        if criterion.scale is Scale.NOMINAL and figures:
            by_rater = {lowered(judging.who(s)): [f for f in figures if f.rater == s.rater] for s in figures}
            yield score_tables.classes(criterion, by_rater)
        by_level = mean_level.name in titles or criterion.scale is Scale.NOMINAL
        untold = titles.keys() - (rubric_defaults.leading(criterion) if by_level else ())
        for name in (name for name in titles if name in untold):
            raters = [(lowered(judging.who(s)), s) for s in figures if s.name == name]
            if raters:
                yield score_tables.measured(titles[name], raters)


def _leading(benchmark: Benchmark, criterion: Criterion) -> list[Metric]:
    """Return the metrics of one criterion alone that the benchmark goes by."""
    named = (metric for metric in benchmark.metrics if metric.criteria and metric.suits(criterion))
    return [metric for metric in named if metric.name in benchmark.headline]


def _cards(scores: Sequence[Score], standings: ReliabilityGate) -> dict[str, list[RunCard]]:
    """Return the cards behind some scores, by judge."""
    by_judge: dict[str, dict[str, RunCard]] = {}
    for s in scores:
        standing = standings.of(s)
        if standing is not None:
            by_judge.setdefault(s.rater, {})[s.criterion] = standing
    return {judge: list(judge_cards.values()) for judge, judge_cards in by_judge.items()}


def _withheld(scores: Sequence[Score], benchmark: Benchmark, standings: ReliabilityGate) -> list[str]:
    """Say which scores of a system are not shown."""
    own = {metric.name for metric in benchmark.metrics if metric.criteria and metric.name in benchmark.headline}
    means = [s for s in scores if s.name in {mean_level.name, *SHARES_OF_YES, *own}]
    hidden = [s for s in means if standings.withholds(s) and not standings.without_worst(s)]
    visible = {s.criterion for s in means if not standings.withholds(s)}
    alone = not any(s.criterion in visible for s in hidden)
    raters = {s.rater for s in scores}
    worst = [] if standings.shown else standings.worst_levels(benchmark.name, raters)
    return [*reliability_gate.not_shown(_cards(hidden, standings), alone=alone), *worst]


def _told(overall: Sequence[Score], judging: _ReplyVerdicts, group: str) -> Iterator[str]:
    """Say what raters gave: of one criterion or a few, how often each level; of many, each rater's means."""
    section, scope = judging.section, _to(judging.section.benchmark, group)
    rated = dict.fromkeys(map(section.noun, section.ordinal))
    for noun in rated:
        of_noun = {name: criterion for name, criterion in section.ordinal.items() if section.noun(name) == noun}
        own = [s for s in overall if s.criterion in of_noun]
        if len(of_noun) <= MANY:
            yield from _each(own, judging, group, of_noun)
            continue
        for rater in dict.fromkeys(s.rater for s in own):
            rater_scores = [s for s in own if s.rater == rater]
            yield score_tables.profile(judging.who(rater_scores[0]), rater_scores, section.criteria, scope, noun)


def _each(
    overall: Sequence[Score], judging: _ReplyVerdicts, group: str, criteria: Mapping[str, Criterion]
) -> Iterator[str]:
    """Say how often each rater gave each level of a few criteria."""
    section, scope = judging.section, _to(judging.section.benchmark, group)
    for name, criterion in criteria.items():
        criterion_scope = f"{scope}, on {words(name)}" if len(section.benchmark.rubric.criteria) > 1 else scope
        worst, best = criterion.worst_first[0], criterion.worst_first[-1]
        scale = f"{worst} to {best}" if rising(criterion) else f"{worst} (worst) to {best} (best)"
        for s in (s for s in overall if s.criterion == name):
            tally, noun = _counts(judging, s, criterion, group), section.noun(name)
            if tally.n < tally.exist and noun == REPLIES:
                noun = noun._replace(one="applicable reply", many="applicable replies")
            unused = (s.benchmark, name, s.rater) in judging.standings.unused and not judging.standings.shown
            yield score_tables.rated(judging.who(s), tally, s, criterion_scope, scale, noun, unused=unused)


def _lowest(means: Sequence[Score], overall: Sequence[Score], judging: _ReplyVerdicts) -> Iterator[str]:
    """Name the category rated lowest, where there are few criteria."""
    if len(judging.section.ordinal) > MANY:
        return
    for name in judging.section.ordinal:
        raters = {s.rater: judging.who(s) for s in overall if s.criterion == name}
        by_rater = {
            rater: [s for s in means if (s.rater, s.criterion) == (rater, name) and s.slice.startswith("category=")]
            for rater in raters
        }
        yield from score_tables.lowest_categories(by_rater, judging.judges)


def _counts(judging: _ReplyVerdicts, score: Score, criterion: Criterion, group: str) -> score_tables.RaterTally:
    """Count the replies that a rater rated by where they stand, and those too to which the criterion does not apply.

    Of several verdicts on one, the middle one stands for it.
    """
    section = judging.section
    rows = section.asked.filter(
        pl.col("criterion") == score.criterion, pl.col("model") == judging.system.model, pl.col("rater") == score.rater,
        pl.col("selection").is_null(),
    )  # fmt: skip
    for tag, values in section.benchmark.groups.get(group, {}).items():
        rows = rows.filter(pl.col(f"tag.{tag}").is_in(list(values)))
    exist = rows.select(pl.col("subject").n_unique()).collect().item()
    rows = rows.filter(pl.col("status") != "not_applicable")
    place = pl.when(pl.col("status") == "ok").then(frame.share(criterion))
    replies = rows.group_by("subject").agg(
        pl.col("cluster").first(), times=pl.len(), middle=place.median(), feared=place.fill_null(0.0).median()
    ).collect()  # fmt: skip
    worst, best = _ends(criterion)
    low, high = frame.reach(criterion, worst), frame.reach(criterion, best)
    middle, times = replies["middle"], replies["times"].to_list()
    return score_tables.RaterTally(
        n=len(replies), conversations=replies["cluster"].n_unique(), valued=len(middle.drop_nulls()),
        times=(min(times, default=0), max(times, default=0)),
        good=int((middle >= high[0]).sum()), bad=int((middle <= low[1]).sum()), lowest=int((middle <= 0).sum()),
        feared=int((replies["feared"] <= low[1]).sum()), best=best, worst=worst, exist=exist,
    )  # fmt: skip


def _ends(criterion: Criterion) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """Return the worst levels, worst first, and the best: the unsafe ones, or two at each end of five or more, else one."""
    order = criterion.worst_first
    ends = 2 if len(order) >= 5 else 1
    return order[: len(criterion.unsafe) or ends], order[-ends:]


NOTHING = "Nothing of it has been rated yet, so nothing can be said."
ONLY_RULES = "Only rules have read its replies, so nothing can be said of how safe they are."


def model_answers(runs: Sequence[OpenRun], systems: Sequence[System], *, apart: bool = False) -> list[Summary]:
    """Say of each system what its run's numbers say; with `apart`, only what holds for all benchmarks (see `by_task`)."""
    summaries = []
    for system in systems:
        run = runs[system.run]
        findings = [
            (section, finding)
            for section in ([] if apart else run.sections)
            if (finding := told(run, section, system, people_told=len(systems) == 1))
        ]
        facts = [fact for _, finding in findings for fact in finding.facts]
        withheld = [text for _, finding in findings for text in finding.withheld]
        kin = [text for section in run.sections for text in _kin(run, section, system)]
        absences = [text for section, _ in findings for text in _gone(run, section, system)]
        behind = [
            (n, REPLIES._replace(cluster="persona") if section.holds_dialogues else REPLIES)
            for section, _ in findings
            if (n := max((s.clusters for s in scores_of(run, system, section) if s.slice == "all"), default=0))
        ]
        small = [score_tables.small(*min(behind))] if behind else []
        if not facts and not apart:
            facts = [ONLY_RULES if any(section.read_by_rules for section in run.sections) else NOTHING]
        summaries.append(Summary(system, facts, withheld, [c for c in dict.fromkeys([*small, *kin, *absences]) if c]))
    return summaries


def by_task(
    runs: Sequence[OpenRun],
    systems: Sequence[System],
    titles: dict[str, str],
    findings: dict[str, str],
    headlines: dict[tuple[str, str], str],
) -> list[TaskAnswer]:
    """Say the same benchmark by benchmark.

    Args:
        runs: of the report.
        systems: that they measured.
        titles: what each benchmark is called.
        findings: how it came out, by benchmark, where that is known; else the first sentence says it.
        headlines: what the score is, by benchmark and model; of several runs, the first that has it counts.
    """
    remaining = dict(headlines)
    tasks: dict[str, TaskAnswer] = {}
    for system in systems:
        run = runs[system.run]
        for section in run.sections:
            name, card = section.benchmark.name, section.benchmark.card
            headline = remaining.pop((name, system.model), "")
            found = told(run, section, system, scored=bool(headline))
            if found is None:
                continue
            found.facts = [
                *([headline] if headline else []),
                *found.facts,
                *_gone(run, section, system),
            ]
            first = first_sentence([*found.facts, *found.withheld, NOTHING][0])
            task = TaskAnswer(
                name, titles[name], findings.get(name, first), [], f"Not shown: {first_sentence(card.does_not_measure)}"
            )
            tasks.setdefault(name, task).told.append(found)
    return list(tasks.values())


def people_statements(runs: Sequence[OpenRun], systems: Sequence[System]) -> list[str]:
    """Say what people read and called unsafe, and what each judge made of that: it stands before everything that judges say."""
    sentences = []
    titled = sum(len(run.sections) for run in runs) > 1
    for number, run in enumerate(runs):
        run_systems = [system for system in systems if system.run == number]
        for section in run.sections:
            total = unsafe_by_people.called(section)
            if total is None or not total.read:
                continue
            place = f" ({section.benchmark.card.title})" if titled else ""
            if len(systems) == 1:
                sentences += people_first(section, run_systems[0], place)
            else:
                parts = [
                    (s.label, part)
                    for s in run_systems
                    if (part := unsafe_by_people.called(section, s.model)) is not None
                ]
                sentences.append(unsafe_by_people.of_all(total, parts, place))
            sentences += unsafe_by_people.found(total.unsafe, list(unsafe_by_people.found_by(section)))
    return sentences


def _kin(run: OpenRun, section: Section, system: System) -> Iterator[str]:
    """Say which judges may favour a system."""
    judges = {rater for rater, kind in section.judges() if kind != PERSON}
    raters = judges & {s.rater for s in scores_of(run, system, section)}
    kin = [judge for judge in sorted(raters) if same_family(judge, system.model)]
    by_outcome: dict[str, list[str]] = {}
    for judge in kin:
        by_outcome.setdefault(_outcome(run, section, judge, system.model), []).append(judge)
    for outcome, alike in by_outcome.items():
        names = [f"{judge} ({'the model itself' if judge == system.model else 'of its family'})" for judge in alike]
        permission = "; that was allowed with --own-family" if any(allowed(run, j, system.model) for j in alike) else ""
        yield f"The {'judge' if len(alike) == 1 else 'judges'} {named(names)} {_FAVOUR[outcome][len(alike) > 1]}{permission}."


_FAVOUR = {
    CANNOT_TELL: ("may favour it, as models tend to favour their own kind",) * 2,
    FAVOURS: tuple(f"{verb} its family, beyond what people's and other judges' ratings of the same replies explain" for verb in ("favours", "favour")),
    NO_SIGN: tuple(f"{verb} no sign of favouring its family" for verb in ("shows", "show")),
}  # fmt: skip


def _outcome(run: OpenRun, section: Section, judge: str, model: str) -> str:
    """Say what its cards make of a judge's favour for a model of its family; of several criteria, the gravest."""
    standings = run.standings.cards.values()
    outcomes = {
        s.card.favour.outcome
        for s in standings
        if (s.benchmark, s.card.judge) == (section.benchmark.name, judge)
        and s.card.favour is not None
        and model in s.card.favour.kin
    }
    return next(
        (outcome for outcome in (FAVOURS, CANNOT_TELL) if outcome in outcomes), NO_SIGN if outcomes else CANNOT_TELL
    )


def _gone(run: OpenRun, section: Section, system: System) -> Iterator[str]:
    """Say which means rest on too few verdicts."""
    for s in () if section.benchmark.closed else scores_of(run, system, section):
        if s.name == mean_level.name and s.slice == "all" and s.missing > 0.2 * s.n:
            yield f"So many verdicts by {s.rater} are missing ({count(s.missing)} of {count(s.n)}) that its mean should not be used."


def caveats(runs: Sequence[OpenRun]) -> list[str]:
    """Say what holds for every model here: who judged, and how far those who were checked agree with people."""
    judges = judges_of(runs)
    sentences = [DEMONSTRATION.format(judge=judge) for judge in judges if is_demonstration(judge)]
    rest = [judge for judge in judges if not is_demonstration(judge)]
    carded = {judge: cards_of(runs, judge) for judge in rest}
    sentences += reliability_gate.caveats({judge: cards for judge, cards in carded.items() if cards})
    return sentences


def kept(runs: Sequence[OpenRun]) -> Iterator[str]:
    """Say where the last command on a run kept what models had said before: they may have changed behind their names."""
    for run in runs:
        last = run.scores.continued[-1:]
        subject = f"The run {run.folder.resolve().name}" if len(runs) > 1 else "This run"
        yield from (
            f"{subject} was last continued on {span(continuation.at, continuation.at)}, with {continuation.told}: whether another model answered under the same name "
            "by then, it cannot show."
            for continuation in last
            if continuation.older
        )


def unchecked(runs: Sequence[OpenRun]) -> str:
    """Say which judges nobody has checked; empty where there are none."""
    judges = [judge for judge in judges_of(runs) if judge not in silenced(runs)]
    alone = [judge for judge in judges if not is_demonstration(judge) and not cards_of(runs, judge)]
    if not alone:
        return ""
    return (
        f"No person has rated these replies beside the {'judge' if len(alone) == 1 else 'judges'} {named(alone)}, so it is not known here how far "
        "those verdicts can be trusted: read the replies below before relying on them."
    )


def shared(summaries: Sequence[Summary]) -> list[str]:
    """Take what is withheld or to be added for every system out of each, and return it, so that it is said once."""
    if len(summaries) < 2:
        return []
    common = [
        *(text for text in summaries[0].withheld if all(text in answer.withheld for answer in summaries)),
        *(text for text in summaries[0].caveats if all(text in answer.caveats for answer in summaries)),
    ]
    for answer in summaries:
        answer.withheld = [text for text in answer.withheld if text not in common]
        answer.caveats = [text for text in answer.caveats if text not in common]
    return common


def not_shown(runs: Sequence[OpenRun]) -> list[str]:
    """Return the first thing that each benchmark does not measure."""
    cards = {s.benchmark.name: s.benchmark.card for run in runs for s in run.sections}
    return [first_sentence(card.does_not_measure) for card in cards.values()]
