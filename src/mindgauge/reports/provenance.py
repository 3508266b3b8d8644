"""How it was done: instruments, prompts, models, settings, cost; and people who labelled in rounds."""

from __future__ import annotations

import json
import platform
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import tomli_w

from mindgauge.analysis.beside_published import model_rows
from mindgauge.analysis.reliability import rule
from mindgauge.benchmarks import replica
from mindgauge.raters.judge import Mode
from mindgauge.records.english import ended, named, words
from mindgauge.records.rounding import count, decimal, interval, percent, plural, seconds, spending
from mindgauge.records.rubric import in_language
from mindgauge.reports.content import ReportTable, heads
from mindgauge.reports.sections import InstrumentSection, Made, MethodsSection
from mindgauge.stats.level import named as with_level
from mindgauge.store import growth, sent
from mindgauge.store import manifest as run_manifest
from mindgauge.store.continued import span
from mindgauge.store.run import UNPRICED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.card import BenchmarkCard
    from mindgauge.reports.content import Cell
    from mindgauge.reports.runs import OpenRun


_ALL = 8
"""So many names are told; of more, the first ones."""
_COEFFICIENTS = {name: with_level(name) for name in ("fleiss", "alpha")}
_POLICIES = {
    "unanimous": "by all alike",
    "majority": "by a majority",
    "adjudicated": "by the adjudicator",
    "single": "by one person alone",
}


def rounds(manifest: dict[str, Any]) -> str:
    """Tell in one paragraph how people labelled; empty where a run's manifest knows of no batch that is closed."""
    annotation = manifest.get("annotation", {})
    if not annotation.get("batches"):
        return ""
    return " ".join([
        _who(annotation),
        *_training(annotation),
        _gate(annotation),
        *_agreement(annotation),
        _gold(annotation),
    ])  # fmt: skip


def labelled_by(manifest: dict[str, Any]) -> str:
    """Name those who labelled and who decided; empty where nobody did."""
    annotation = manifest.get("annotation", {})
    if not annotation.get("batches"):
        return ""
    decided = annotation.get("adjudicators")
    return named(annotation["annotators"], limit=_ALL) + (f"; {named(decided)} adjudicated" if decided else "")


def _who(annotation: dict[str, Any]) -> str:
    people, batches = annotation["annotators"], annotation["batches"]
    items = sum(batch["items"] for batch in batches)
    alone = (
        "each alone, not seeing models, judges or each other's labels"
        if len(people) > 1
        else "not seeing models or judges"
    )
    plural_raters = f" in {count(len(batches))} batches" if len(batches) > 1 else ""
    return f"{named(people, limit=_ALL)} labelled {plural(items, 'item')}{plural_raters}, {alone}."


def _training(annotation: dict[str, Any]) -> Iterator[str]:
    """Say what share of the anchors each person placed rightly, over all criteria."""
    shares = []
    for person in annotation["annotators"]:
        own_record = [entry for entry in annotation.get("training", []) if entry["person"] == person]
        n = sum(entry["n"] for entry in own_record)
        if n:
            shares.append(f"{person} {percent(sum(entry['right'] * entry['n'] for entry in own_record) / n)}")
    if shares:
        yield f"Of the training round's anchors they placed rightly at once: {', '.join(shares)}."


def _gate(annotation: dict[str, Any]) -> str:
    """Say how many batches reached the gate, and when."""
    at_once = stage = never = 0
    for batch in annotation["batches"]:
        passed = [entry["passed"] for entry in batch["rounds"]]
        at_once += bool(passed) and passed[0]
        stage += any(passed[1:])
        never += not any(passed)
    gate = decimal(annotation["gate"])
    if len(annotation["batches"]) > 1:
        return (
            f"The gate was {gate}: {count(at_once)} of {count(len(annotation['batches']))} batches reached it at once, {count(stage)} after "
            f"review or discussion, {count(never)} did not."
        )
    measure = "reached at once" if at_once else "reached after review or discussion" if stage else "not reached"
    return f"The gate was {gate}; it was {measure}."


def _agreement(annotation: dict[str, Any]) -> Iterator[str]:
    """Give each criterion's coefficient before anybody knew of the others' labels, and in the last round measured."""
    measured: dict[str, dict[str, list[list[dict[str, Any]]]]] = {}  # coefficient → criterion → batch → round
    for batch in annotation["batches"]:
        by_criterion: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for figure in (figure for entry in batch["rounds"] for figure in entry["figures"]):
            by_criterion.setdefault((figure["coefficient"], figure["criterion"]), []).append(figure)
        for (coefficient, criterion), figures in by_criterion.items():
            measured.setdefault(coefficient, {}).setdefault(criterion, []).append(figures)
    for coefficient, criteria in measured.items():
        repeated = any(len(figures) > 1 for batches in criteria.values() for figures in batches)
        values = [
            f"{words(name)} {_values([f[0] for f in batches])}{f', {_values([f[-1] for f in batches])}' if repeated else ''}"
            for name, batches in criteria.items()
        ]
        moment = "after the first round, and after the last" if repeated else "after the first round"
        yield f"{_COEFFICIENTS[coefficient]} {moment}: {'; '.join(values)}."


def _values(figures: list[dict[str, Any]]) -> str:
    """Write the coefficient of one batch with its interval, or the range over several."""
    if len(figures) == 1:
        sole = figures[0]
        bounds = f" ({interval(sole.get('low'), sole.get('high'))}; n {count(sole['n'])})"
        return decimal(sole["value"]) + bounds if "value" in sole else "not defined"
    values = sorted(figure["value"] for figure in figures if "value" in figure)
    if not values:
        return "not defined"
    undefined = f" (not defined in {count(len(figures) - len(values))})" if len(values) < len(figures) else ""
    return f"{decimal(values[0])} to {decimal(values[-1])}{undefined}"


def _gold(annotation: dict[str, Any]) -> str:
    """Say how the gold was read off, and what stayed open."""
    votes: dict[str, int] = {}
    for batch in annotation["batches"]:
        for policy, n in batch["gold"].items():
            votes[policy] = votes.get(policy, 0) + n
    settled = [f"{count(votes[policy])} {wording}" for policy, wording in _POLICIES.items() if votes.get(policy)]
    unsettled = [f"{plural(votes['tie'], 'tie')} kept"] if votes.get("tie") else []
    unsettled += [f"{count(votes['none'])} open, since all handed them on"] if votes.get("none") else []
    remaining = sum(batch["disagreed"] for batch in annotation["batches"])
    open_still = (
        f"On {plural(remaining, 'item')} they were still not of one mind in the end."
        if remaining
        else "In the end they were of one mind on every item."
    )
    return (
        f"The gold is read off their last labels (policy: {annotation['policy']}): {', '.join([*settled, *unsettled])}. {open_still} "
        "Judges are compared with what each person said alone, in the first round."
    )


METHODS = [
    (
        "Shares have exact 95 % intervals, with conversations as n, so that repeats of one conversation count once: Clopper CJ, Pearson ES. "
        "The use of confidence or fiducial limits illustrated in the case of the binomial. Biometrika 1934; 26: 404–413."
    ),
    (
        "Means and coefficients have 95 % percentile intervals from 2,000 resamples of conversations with all that belongs to them: "
        "Efron B. Bootstrap methods: another look at the jackknife. Annals of Statistics 1979; 7: 1–26. Davison AC, Hinkley DV. "
        "Bootstrap Methods and their Application. Cambridge University Press 1997, section 3.8."
    ),
    (
        "Agreement over repeats and among people: Fleiss JL. Measuring nominal scale agreement among many raters. Psychological Bulletin 1971; 76: 378–382. "
        "Agreement with a label: Cohen J. A coefficient of agreement for nominal scales. Educational and Psychological Measurement 1960; 20: 37–46."
    ),
    (
        "Judges beside people: intraclass correlations ICC(A,1) and ICC(C,1) of single values: McGraw KO, Wong SP. Forming inferences about some intraclass "
        "correlation coefficients. Psychological Methods 1996; 1: 30–46. Krippendorff K. Content Analysis. 4th ed. Sage 2019. Limits of agreement: Bland JM, "
        "Altman DG. Statistical methods for assessing agreement between two methods of clinical measurement. Lancet 1986; 327: 307–310. "
        f"The limits of the rule {rule.load(rule.MINDGAUGE).name} were fixed before any data was read."
        " Bounds on a card here are those of a single look; whoever looks while people still rate uses `mindgauge reliability RUN --look-until N`."
    ),
    "A missing value is neither a number nor left out: each mean stands beside the value it would take were all missing values the worst, and were they the best.",
    "Colours: Okabe M, Ito K. Color universal design. 2008.",
]
_MOST_COMMANDS = 5
_CALLS = f"""
SELECT model, group_concat(DISTINCT model_resolved), group_concat(DISTINCT fingerprint), count(*), sum(status = 'failed'),
    sum(prompt_tokens), sum(completion_tokens), sum(cost), sum({UNPRICED}), avg(seconds), group_concat(DISTINCT nullif(unsupported, ''))
FROM calls GROUP BY +model ORDER BY model"""  # noqa: S608 - constant text
_REPLIED = """
SELECT model, group_concat(DISTINCT json_extract(provenance, '$.endpoint')),
    group_concat(DISTINCT json_extract(provenance, '$.parameters')) FROM replies GROUP BY model"""
_RATED = """
SELECT rater, group_concat(DISTINCT json_extract(origin, '$.endpoint')),
    group_concat(DISTINCT json_extract(origin, '$.parameters'))
FROM (SELECT DISTINCT series.rater, '{' || rtrim(origins.members, ',') || '}' AS origin
    FROM (SELECT DISTINCT series, origin FROM rated) AS said
    JOIN series ON series.id = said.series JOIN origins ON origins.id = said.origin) GROUP BY rater"""


def how(runs: Sequence[OpenRun]) -> MethodsSection:
    """Say how the runs were made."""
    instruments: dict[str, InstrumentSection] = {}
    has_calls = any(run.manifest.get("sent") for run in runs)
    for run in runs:
        plan = run.manifest.get("plan", {})
        used = dict(zip(plan.get("benchmarks", []), plan.get("instruments", []), strict=False))
        for section in run.sections:
            name = section.benchmark.name
            instrument = _instrument(
                section.benchmark, plan.get("mode", "joint"), used.get(name, ""), has_calls=has_calls
            )
            if name not in instruments:
                instruments[name] = instrument
            elif used.get(name) and used[name] not in instruments[name].used:
                instruments[name].used.append(used[name])
                instruments[name].same = instruments[name].same and instrument.same
    return MethodsSection(list(instruments.values()), [_made(run) for run in runs], METHODS)


def _instrument(benchmark: Benchmark, mode: str, used: str, *, has_calls: bool) -> InstrumentSection:
    card, rubric = benchmark.card, benchmark.rubric
    current = benchmark.instrument(Mode(mode)).name if benchmark.prompts else rubric.name  # people alone need no prompt
    prompts = [(k, language, p.hash, p.text) for k, texts in benchmark.prompts.items() for language, p in texts.items()]
    return InstrumentSection(
        benchmark.name, card.title, card.measures, card.does_not_measure, list(card.departures), _sent(card) if has_calls else [], card.licence, card.citation,
        card.link, rubric.name, rubric.hash, [used] if used else [], used in {"", current}, prompts,
        [_criterion(c) for c in rubric.criteria],
    )  # fmt: skip


def _sent(card: BenchmarkCard) -> list[tuple[str, str]]:
    """Say what is sent to whom."""
    kinds = (("a model under test", card.asks), ("a judge", card.judging))
    return [
        (f"Sent to {whom}", f"{content.form}; the parameters stand beside each model, above")
        for whom, content in kinds
        if content is not None
    ]


def _criterion(criterion: Any) -> dict[str, Any]:
    """Return a criterion's wording: per protocol if it has them, in every language."""
    languages = sorted({k for level in criterion.levels for k in level.text} | set(criterion.text)) or ["en"]
    wordings = []
    for language in languages:
        for protocol, texts in (criterion.protocols or {"": tuple(level.text for level in criterion.levels)}).items():
            levels = [(str(v), in_language(t, language)) for v, t in zip(criterion.values, texts, strict=True)]
            if criterion.not_applicable:
                levels.append(("not applicable", in_language(criterion.not_applicable, language)))
            wordings.append({"language": language, "protocol": protocol, "levels": levels})
    return {
        "name": criterion.name, "scale": str(criterion.scale), "texts": {k: criterion.text.get(k, "") for k in languages},
        "wordings": wordings,
    }  # fmt: skip


def _own_texts(manifest: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Say which benchmarks asked about texts of the user's own, and what became of these in reading."""
    question = manifest.get("plan", {}).get("own_texts", [])
    if question:
        yield (
            "Whose texts",
            f"texts of the user’s own in {', '.join(question)}; what is said of the licence of the authors’ data does not concern them",
        )
        yield "How they were read", " ".join(map(ended, manifest.get("remarks", [])))


def _own_samples(run: OpenRun) -> str:
    """Say whose samples a run without released data is about."""
    manifest = run.manifest
    if items := manifest.get("annotation", {}).get("items"):
        return f"what people were given to label: {items}"
    if manifest.get("plan", {}).get("rate"):
        return "messages and replies that existed already"
    folders = [str(s.benchmark.folder) for s in run.sections if s.benchmark.own is not None]
    return f"the samples in {named(folders)}" if folders else "samples that this project wrote itself"


def _made(run: OpenRun) -> Made:
    manifest, calls = run.manifest, run.scores.calls
    plan: dict[str, Any] = manifest.get("plan", {})
    facts = [
        ("Begun", manifest.get("created", "")),
        *(("Joined", f"on {span(entry['at'], entry['at'])}: {growth.told(entry)}") for entry in manifest.get("joined", [])),
        *_continued(run),
        ("Ended", manifest.get("ended", "")),
        ("Time", seconds(calls["seconds"]) if calls["seconds"] else ""),
        ("Data", ", ".join(plan.get("data", [])) or str(manifest.get("data") or _own_samples(run))),
        *_own_texts(manifest),
        ("Messages", ", ".join(f"{count(run.store.count_samples(s.benchmark.name))} in {s.benchmark.name}" for s in run.sections)),
        ("Replies per message", str(plan.get("runs", ""))),
        ("Verdicts per reply and judge", str(plan.get("judge_runs", ""))),
        ("Seeds", "the repeat's number, from 0" if "runs" in plan else ""),
        ("Asked", {"joint": "all criteria in one call", "split": "one criterion a call"}.get(plan.get("mode", ""), "")),
        ("Protocol", {"gold": "by the message's own category", "recognised": "by the category the judge saw"}.get(plan.get("protocol", ""), "")),
        ("Dialogues", _held(run)),
        ("Instrument", f"the user’s own, {plan['instrument'].partition('#')[0]}" if plan.get("instrument") else ""),
        ("Published tables", _beside_the_paper(run)),
        ("Labelled by", labelled_by(manifest)),
        ("Calls", f"{count(calls['made'])}, {count(calls['failed'])} failed, {count(calls['retries'])} repeated attempts" if calls["made"] else "none: loaded from files"),
        ("Kept verdicts", f"{count(manifest['kept_verdicts'])} of these calls were answered from what judges had answered to the same in other runs" if manifest.get("kept_verdicts") else ""),
        ("Tokens", f"{count(calls['prompt_tokens'])} read ({count(calls['cached_tokens'])} from cache), {count(calls['completion_tokens'])} written" if calls["made"] else ""),
        ("Cost", (spending(calls["cost"], calls["unpriced"]) or "not known") if calls["made"] else ""),
        ("Software", f"{manifest.get('mindgauge', '')}, Python {manifest.get('python', '?')} (report: Python {platform.python_version()})"),
    ]  # fmt: skip
    stated = [(name, value) for name, value in facts if value]
    commands = run_manifest.commands(manifest)
    return Made(
        run.folder.resolve().name, [command for command in commands if command], commands.count(""), stated, tomli_w.dumps(plan).strip(), _models(run),
        [(name, tomli_w.dumps(facts, multiline_strings=True).strip()) for name, facts in manifest.get("models", {}).items()],
    )  # fmt: skip


def _beside_the_paper(run: OpenRun) -> str:
    """Say whether the run may stand in a table of its paper, and why not; nothing where no protocol is on record."""
    record = run.manifest.get(replica.RECORD)
    if record is None:
        recorded = any(replica.replicas(section.benchmark.folder) for section in run.sections)
        asks = "models" in run.manifest.get("plan", {}) and not run.manifest["plan"].get("loaded")
        return published_standing(None) if recorded and asks else ""
    rows = [row for s in run.sections for row in model_rows(s.benchmark, run.folder, run.scores, record)]
    reasons = dict.fromkeys(
        (row.row, reason) for row in rows for reason in row.reasons if reason not in record["lacks"]
    )
    several = len({row.row for row in rows}) > 1
    return published_standing(record, [f"{row}: {reason}" if several else reason for row, reason in reasons])


def published_standing(record: Mapping[str, Any] | None, missing: Sequence[str] = ()) -> str:
    """Say with which published table a run is comparable and but for what, or why with none; see `replica.standing`."""
    reasons, but_for = replica.standing(record, missing)
    table = "" if reasons or record is None else f"{record['table']} (protocol {record['protocol']})"
    return replica.comparability(table, reasons, but_for)


def _held(run: OpenRun) -> str:
    """Say how many replies answer another dialogue than the one on file; where dialogues are held, all do."""
    dialogues = sum(
        run.store.count_held(section.benchmark.name)
        for section in run.sections
        if not section.benchmark.closed and section.benchmark.persons is None
    )
    if not dialogues:
        return ""
    return f"{plural(dialogues, 'reply', 'replies')} in a dialogue that a bot held itself (it spoke first, or was told it turn by turn); judges saw that one, and it is shown here"


def _continued(run: OpenRun) -> list[tuple[str, str]]:
    """Say of the last commands that went on with the run what they asked anew and what they kept."""
    continuations = run.scores.continued
    rows = [
        ("Continued", f"on {span(continuation.at, continuation.at)}: {continuation.told}")
        for continuation in continuations[-_MOST_COMMANDS:]
    ]
    omitted = len(continuations) - len(rows)
    return [*([("Continued", f"{plural(omitted, 'time')} before")] if omitted else []), *rows]


def _models(run: OpenRun) -> ReportTable:
    """Tabulate the models as asked for and as the servers resolved them."""
    origins: dict[str, tuple[str, str]] = {}
    for query in (_REPLIED, _RATED):
        for name, endpoint, parameters in run.store.select(query):
            if endpoint:
                for rater in (name, model_behind(name)):
                    origins.setdefault(rater, (endpoint, _parameters(parameters)))
    rows: list[list[Cell]] = []
    for model, resolved, fingerprint, *counted, cost, unpriced, time, refused in run.store.select(_CALLS):
        endpoint, parameters = origins.get(model, ("", ""))
        if model in run.manifest.get("sent", {}):
            parameters = sent.words(run.manifest["sent"][model])
        elif refused:
            names = ", ".join(sorted({*refused.split(",")}))
            parameters = f"{parameters}; asked without {names}, which the server does not take"
        rows.append([
            model, bare(resolved), endpoint, fingerprint, parameters, *counted,
            spending(cost, unpriced) or "not known" if unpriced else cost, time,
        ])  # fmt: skip
    columns = heads(
        "asked for | resolved to | endpoint | fingerprint | parameters | calls:count | failed:count | "
        "tokens read:count | tokens written:count | cost:dollars | per call:seconds"
    )
    return ReportTable(f"models-{run.folder.resolve().name}", "Models as resolved", columns, rows)


def model_behind(rater: str) -> str:
    """Return the model behind a rater, which another way of asking, or another instrument, names `MODEL (way)`."""
    return rater.rpartition(" (")[0] if rater.endswith(")") and " (" in rater else rater


def bare(resolved: str | None) -> str:
    """Name local files without the folders they lie in."""
    names = (resolved or "").split(",")
    return ", ".join(PurePath(name).name if name.startswith("/") else name for name in names)


def _parameters(text: str | None) -> str:
    try:
        settings = json.loads(text or "{}")
    except ValueError:
        return text or ""
    return ", ".join(f"{k} {v}" for k, v in settings.items()) or "the model's defaults"
