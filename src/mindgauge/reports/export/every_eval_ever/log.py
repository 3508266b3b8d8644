"""A file of figures for each benchmark and model, and beside it the ratings that they are of, line by line.

Figures of judges that may not give them stand in no file (`reports.standing`); those that are shown say how far to trust them.
"""

from __future__ import annotations

import datetime
import hashlib
import itertools
import json
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.benchmarks.restricted import open_samples
from mindgauge.raters.judge import Mode
from mindgauge.records import RaterKind
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import plural
from mindgauge.records.rubric import in_language
from mindgauge.reports.export.every_eval_ever import rows
from mindgauge.reports.export.every_eval_ever.identity import ModelIdentity, file_ident
from mindgauge.reports.export.figures import PublishedFigures
from mindgauge.reports.export.inspect_logs.cases import by_model, in_pages
from mindgauge.reports.reliability_gate import of_run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from mindgauge.analysis.score import Score, Scores
    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.metrics import Metric
    from mindgauge.records.rubric import Criterion
    from mindgauge.reports.export.folder import ExportFolder
    from mindgauge.reports.export.inspect_logs.cases import CasePlaces
    from mindgauge.reports.reliability_gate import ReliabilityGate
    from mindgauge.store import Store

RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
"""What who publishes has to do with a model's makers, by the schema's names."""
_CONFIDENCE = 0.95
_EXACT = "Clopper-Pearson, with conversations as n"
_RESAMPLED = "percentile bootstrap over conversations"
_HOSTS = """
SELECT DISTINCT model, json_extract(provenance, '$.endpoint'), json_extract(provenance, '$.parameters') FROM replies WHERE benchmark = ?"""
_RATERS = """
SELECT DISTINCT series.rater, series.criterion, origins.rater_kind, origins.instrument, origins.members
FROM series JOIN rated ON rated.series = series.id JOIN origins ON origins.id = rated.origin WHERE series.benchmark = ?"""
_ARGUMENTS = {"temperature": float, "top_p": float, "top_k": float, "max_tokens": int}
"""Parameters that the schema knows."""


class Publisher(msgspec.Struct, frozen=True):
    """Who passes figures on, and what they have to do with the models."""

    organisation: str = "unstated"
    relationship: str = "other"


class _Evaluation(NamedTuple):
    """What all figures of one benchmark are taken from."""

    store: Store
    benchmark: Benchmark
    figures: PublishedFigures
    manifest: dict[str, Any]
    raters: dict[tuple[str, str], list[tuple[str, str, dict[str, Any]]]]
    """Rater and criterion → kinds, instruments, and what is known of where they came from."""
    hosts: dict[str, set[str]]
    """Model → the hosts that answered for it."""
    parameters: dict[str, dict[str, Any]]
    providers: Collection[str]

    def origins(self, score: Score) -> list[tuple[str, str, dict[str, Any]]]:
        """Return what is known of who rated; of what was made of several ratings, who gave them."""
        rater = score.rater
        return self.raters.get((rater, score.criterion)) or self.raters.get(
            (rater.rpartition(":")[0], score.criterion), []
        )

    def identity(self, model: str) -> ModelIdentity:
        """Identify a model that answered or judged."""
        return ModelIdentity.of(model, self.hosts.get(model, ()), self.providers)


def write(
    folder: ExportFolder,
    store: Store,
    benchmarks: Sequence[Benchmark],
    scores: Scores,
    manifest: dict[str, Any],
    publisher: Publisher,
    providers: Collection[str],
    *,
    show_texts: bool,
) -> list[str]:
    """Write the files, and return what is to be said of them.

    Args:
        folder: where to.
        store: of the run.
        benchmarks: in it.
        scores: what was computed of it.
        manifest: of the run.
        publisher: who passes it on.
        providers: the hosts of those who sell answers.
        show_texts: whether restricted texts are written, too.

    Raises:
        UsageError: nobody has answered anything.
    """
    gate = of_run(store.folder)
    notes: list[str] = []
    for benchmark in benchmarks:
        source = _source(store, benchmark, scores, gate, manifest, providers)
        open_ids = None if show_texts else open_samples(benchmark, manifest)
        for model, places in by_model(store, benchmark).items():
            notes += _write(folder, source, model, places, publisher, open_ids)
    if not folder.written:
        raise UsageError(
            f"{store.folder}: there are no replies and no answers in this run, so there is nothing to export"
        )
    if publisher.organisation == Publisher().organisation:
        notes.append("who publishes this is unstated: name it with --organisation, and what it has to do with the models with --relationship")  # fmt: skip
    return notes


def _source(
    store: Store, benchmark: Benchmark, scores: Scores, gate: ReliabilityGate, manifest: dict[str, Any], providers: Collection[str]
) -> _Evaluation:  # fmt: skip
    raters: dict[tuple[str, str], list[tuple[str, str, dict[str, Any]]]] = {}
    hosts: dict[str, set[str]] = {}
    parameters: dict[str, dict[str, Any]] = {}
    for rater, criterion, kind, instrument, members in store.select(_RATERS, (benchmark.name,)):
        origin = json.loads("{" + (members or "").rstrip(",") + "}")
        raters.setdefault((rater, criterion), []).append((kind, instrument or "", origin))
        if origin.get("endpoint"):
            hosts.setdefault(rater, set()).add(origin["endpoint"])
    for model, host, sent in store.select(_HOSTS, (benchmark.name,)):
        if host:
            hosts.setdefault(model, set()).add(host)
        parameters[model] = {
            **json.loads(sent or "{}"),
            **manifest.get("sent", {}).get(model, {}).get("parameters", {}),
        }
    people = {
        rater for (rater, _), origins in raters.items() if any(kind == RaterKind.PERSON for kind, _, _ in origins)
    }
    figures = PublishedFigures.of(scores, gate, people)
    return _Evaluation(store, benchmark, figures, manifest, raters, hosts, parameters, providers)


def _write(
    folder: ExportFolder, source: _Evaluation, model: str, places: CasePlaces, publisher: Publisher, open_ids: frozenset[str] | None
) -> list[str]:  # fmt: skip
    benchmark, identity = source.benchmark, source.identity(model)
    made = _epoch(source.manifest.get("ended") or source.manifest.get("created"))
    evaluation = f"{benchmark.name}/{identity.ident}/{made}"
    place = (
        f"{identity.folder(benchmark.name)}/{file_ident(source.manifest.get('plan', {}), benchmark.name, model, made)}"
    )
    figures, withheld = source.figures.of_model(benchmark.name, model)
    results = [_result(source, score, evaluation) for score in figures]
    leading: dict[tuple[str, str], str] = {}
    for score, result in zip(figures, results, strict=True):
        leading.setdefault((score.criterion, score.rater), result["evaluation_result_id"])
    levels = {criterion.name: rows.LevelScores(criterion) for criterion in benchmark.criteria}
    file = rows.FileContext(evaluation, identity, benchmark, leading, levels, source.figures.names, open_ids)
    samples = _rows(folder, f"{place}_samples.jsonl", source, places, file)
    folder.json(
        f"{place}.json",
        {
            "schema_version": rows.SCHEMA, "evaluation_id": evaluation, "evaluation_timestamp": str(source.manifest.get("created", "")),
            "retrieved_timestamp": made, "source_metadata": _metadata(source, publisher, withheld),
            "eval_library": {
                "name": "mindgauge", "version": str(source.manifest.get("mindgauge", "")).removeprefix("mindgauge ") or "unknown",
            },
            "model_info": identity.info, "evaluation_results": results, **({"detailed_evaluation_results": samples} if samples else {}),
        },
    )  # fmt: skip
    return [f"{benchmark.name}, {model}: {plural(len(withheld), 'figure is', 'figures are')} withheld: {next(iter(withheld.values()))}"] if withheld else []  # fmt: skip


def _rows(
    folder: ExportFolder, name: str, source: _Evaluation, places: CasePlaces, file: rows.FileContext
) -> dict[str, Any]:
    """Write the ratings, and return what the figures' file says of theirs; nothing where nobody rated."""
    lines = (msgspec.json.encode(row) + b"\n" for row in _ratings(source, places, file))
    first = next(lines, None)
    if first is None:
        return {}
    content, count = hashlib.sha256(), 0
    with folder.binary(name) as output:
        for line in itertools.chain((first,), lines):
            output.write(line)
            content.update(line)
            count += 1
    return {
        "format": "jsonl", "file_path": name, "hash_algorithm": "sha256", "checksum": content.hexdigest(), "total_rows": count,
    }  # fmt: skip


def _ratings(source: _Evaluation, places: CasePlaces, file: rows.FileContext) -> Iterator[dict[str, Any]]:
    for page in in_pages(places.cases()):
        ratings = source.store.ratings_of(file.benchmark.name, [part.subject for case in page for part in case.parts])
        for case in page:
            yield from rows.of_case(case, ratings, file)


def _epoch(stated: object) -> str:
    """Return a time in seconds since 1970, as the schema has it; 0 where it is not known."""
    try:
        moment = datetime.datetime.fromisoformat(str(stated))
    except ValueError:
        return "0"
    return str(int((moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()))


def _metadata(source: _Evaluation, publisher: Publisher, withheld: dict[str, str]) -> dict[str, Any]:
    plan = source.manifest.get("plan", {})
    card = source.benchmark.card
    facts = {
        "benchmark": card.title, "measures": card.measures, "does_not_measure": card.does_not_measure, "citation": card.citation,
        "withheld": json.dumps(withheld, ensure_ascii=False) if withheld else "",
        "clients": "; ".join(line for entry in source.figures.scores.fidelity_of(source.benchmark.name) for line in entry.withheld),
        "ratings": "released by the benchmark's authors" if plan.get("loaded") else "",
    }  # fmt: skip
    return {
        "source_name": "Mindgauge", "source_type": "evaluation_run", "source_organization_name": publisher.organisation,
        "evaluator_relationship": publisher.relationship, "additional_details": {name: text for name, text in facts.items() if text},
    }  # fmt: skip


def _result(source: _Evaluation, score: Score, evaluation: str) -> dict[str, Any]:
    """Return a figure with its interval, who rated by what, and what is missing."""
    criterion = next((c for c in source.benchmark.criteria if c.name == score.criterion), None)
    interval = {}
    if score.low is not None and score.high is not None:
        method = score.note or (_EXACT if score.unit == "share" else _RESAMPLED)
        interval = {
            "confidence_interval": {"lower": score.low, "upper": score.high, "confidence_level": _CONFIDENCE, "method": method},
            "num_samples": score.n,
        }  # fmt: skip
    on = "" if score.slice == "all" else f", {score.slice}"
    return {
        "evaluation_result_id": f"{evaluation}#{score.name}/{score.criterion}/{score.slice}/{source.figures.rater(score.rater)}",
        "evaluation_name": f"{source.benchmark.name}{on}", "source_data": _data(source),
        "metric_config": _metric(source, score, criterion),
        "score_details": {"score": score.value, **({"uncertainty": interval} if interval else {})},
        **_generation(source.parameters.get(score.model, {})),
    }  # fmt: skip


def _data(source: _Evaluation) -> dict[str, Any]:
    """Return which samples were asked, by hash; where they can be had is said by the benchmark's card."""
    plan, name = source.manifest.get("plan", {}), source.benchmark.name
    hashes = dict(zip(plan.get("benchmarks", ()), plan.get("samples", ()), strict=False))
    facts = {
        "samples_hash": str(hashes.get(name, "")), "obtain": source.benchmark.card.obtain,
        "licence": source.benchmark.card.licence,
    }  # fmt: skip
    facts = {key: text for key, text in facts.items() if text}
    link = source.benchmark.card.link
    kind = {"source_type": "url", "url": [link]} if link else {"source_type": "other"}
    return {"dataset_name": source.benchmark.card.title or name, **kind, "additional_details": facts}


def _metric(source: _Evaluation, score: Score, criterion: Criterion | None) -> dict[str, Any]:
    """Return what a figure is: its scale, its rater, and how many ratings are missing and what they could change."""
    origins = source.origins(score)
    kinds = sorted({kind for kind, _, _ in origins})
    judges = bool({RaterKind.MODEL, RaterKind.PANEL} & {*kinds}) and not source.benchmark.closed
    facts = {
        **{name: _text(getattr(score, name)) for name in ("n", "missing", "worst", "best", "clusters", "subjects", "runs", "sd", "note")},
        "criterion": score.criterion, "slice": score.slice, "rater": source.figures.rater(score.rater), "rater_kind": ", ".join(kinds),
        "instrument": ", ".join(sorted({instrument for _, instrument, _ in origins if instrument})), "rubric": source.benchmark.rubric.name,
        "verdict": source.figures.verdict(score) if judges else "",
        "better": score.better or "neither",
        **({"is_correct": rows.LevelScores(criterion).rule} if criterion is not None else {}),
    }  # fmt: skip
    return {
        "evaluation_description": score.title or score.name, "metric_id": f"{source.benchmark.name}.{score.name}.{score.criterion}",
        "metric_name": score.title or score.name, "metric_kind": score.name,
        "metric_unit": "proportion" if score.unit == "share" else "points", "lower_is_better": score.better == "lower",
        **_scale(source.benchmark.metric(score.name), score, criterion), **(_judging(source, score, origins) if judges else {}), "additional_details": {name: text for name, text in facts.items() if text},
    }  # fmt: skip


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _scale(metric: Metric | None, score: Score, criterion: Criterion | None) -> dict[str, Any]:
    """Return the form of a figure: levels where it is one of them, else a range."""
    values = [float(v) for v in criterion.values if not isinstance(v, str)] if criterion is not None else []
    if criterion is not None and values and metric is not None and metric.of_level:
        levels = rows.LevelScores(criterion)
        return {
            "score_type": "levels", "level_names": [str(value) for value in criterion.values],
            "level_metadata": [in_language(level.text, "en") if level.text else "" for level in criterion.levels],
            "has_unknown_level": levels.unknown == -1.0, "min_score": min(values), "max_score": max(values),
        }  # fmt: skip
    limits = (0.0, 1.0) if score.unit == "share" else metric.limits if metric is not None else None
    low, high = limits or ("-Infinity", "Infinity")
    return {"score_type": "continuous", "min_score": low, "max_score": high}


def _judging(source: _Evaluation, score: Score, origins: Sequence[tuple[str, str, dict[str, Any]]]) -> dict[str, Any]:
    """Return who judged, by which words, and what people gave."""
    judge: dict[str, Any] = {"model_info": source.identity(score.rater).info}
    temperature = next(
        (o["parameters"]["temperature"] for _, _, o in origins if "temperature" in o.get("parameters", {})), None
    )
    if isinstance(temperature, int | float):
        judge["temperature"] = temperature
    resolved = sorted({str(origin["model"]) for _, _, origin in origins if origin.get("model")})
    judge["additional_details"] = {"resolved": ", ".join(resolved)} if resolved else {}
    people = _by_people(source, score)
    prompt = _prompt(source, {instrument for _, instrument, _ in origins})
    return {
        "llm_scoring": {
            "judges": [judge], "input_prompt": prompt, **({"expert_baseline": people.value} if people is not None else {}),
            "additional_details": {"expert_rater": source.figures.rater(people.rater)} if people is not None else {},
        }
    }  # fmt: skip


def _by_people(source: _Evaluation, score: Score) -> Score | None:
    """Return the same figure by people: by their majority where there is one, else by the only one who rated."""
    same = [
        m for m in source.figures.scores.metrics
        if (m.benchmark, m.name, m.criterion, m.slice, m.model) == (score.benchmark, score.name, score.criterion, score.slice, score.model)
        and m.value is not None and not m.void
        and {kind for kind, _, _ in source.origins(m)} & {RaterKind.PERSON, RaterKind.GOLD}
    ]  # fmt: skip
    joint = [m for m in same if ":" in m.rater]
    chosen = joint or same
    return chosen[0] if len(chosen) == 1 else None


def _prompt(source: _Evaluation, instruments: set[str]) -> str:
    """Return the words that a judge was shown, rubric and conversation left open; where they are not those of today, that they are not at hand."""
    benchmark = source.benchmark
    if benchmark.prompts:
        instrument = benchmark.instrument(Mode(source.manifest.get("plan", {}).get("mode", "joint")))
        if instrument.name in instruments:
            return "\n\n".join(prompt.text for prompt in instrument.prompts.values())
    return f"not at hand: the judge's words are those of {', '.join(sorted(instruments)) or 'an instrument that is not known'}"


def _generation(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return how a model was asked to answer."""
    arguments = {
        name: kind(parameters[name])
        for name, kind in _ARGUMENTS.items()
        if isinstance(parameters.get(name), int | float) and (name != "max_tokens" or parameters[name] >= 1)
    }
    others = {name: json.dumps(value) for name, value in parameters.items() if name not in arguments}
    if not parameters:
        return {}
    return {"generation_config": {"generation_args": arguments, **({"additional_details": others} if others else {})}}
