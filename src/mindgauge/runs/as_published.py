"""`--as-published`: everything of a paper's protocol that is no wording, set at once; and whether the run may stand beside its tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.benchmarks import replica as protocols
from mindgauge.raters.judge import Mode, PromptStyle
from mindgauge.records.english import named
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import count, plural
from mindgauge.runs.options import Asking, Judging

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.replica import JudgesTable, Replica
    from mindgauge.records import Sample
    from mindgauge.runs.options import RunConfig

_OWN = "own"


def protocol(
    benchmarks: Sequence[Benchmark], config: RunConfig, tags: Mapping[str, tuple[str, ...]] | None
) -> tuple[Benchmark, RunConfig]:
    """Return the benchmark and the command as the paper has them: what a command names under its paper's protocol: the first that no option of the user's contradicts.

    Raises:
        UsageError: there is no protocol on record, several benchmarks are named, or an option contradicts every protocol.
    """
    if len(benchmarks) != 1:
        raise UsageError("--as-published is for one benchmark, whose paper it is; name one")
    (benchmark,) = benchmarks
    candidates = protocols.replicas(benchmark.folder)
    if not candidates:
        raise UsageError(
            f"{benchmark.name}: no protocol of a paper is on record here, so --as-published sets nothing; leave it out"
        )
    contradictions = [_contradiction(replica, config, tags or {}) for replica in candidates]
    fitting = next((r for r, problem in zip(candidates, contradictions, strict=True) if not problem), None)
    if fitting is None:
        raise UsageError(
            f"{benchmark.name} as published ({candidates[0].name}): {contradictions[0]}; leave out the one or the other"
        )
    asking = msgspec.structs.replace(config.asking, **_fields(config.asking, fitting))
    judging = msgspec.structs.replace(config.judging, **_fields(config.judging, fitting))
    if fitting.judge and not judging.own_family:
        judging = msgspec.structs.replace(judging, own_family=True)
        config.notice("replies by a judge's own family are rated, too, as in the paper")
    config = msgspec.structs.replace(config, asking=asking, judging=judging, replica=fitting)
    return _asked(benchmark, fitting), config


def judging(benchmark: Benchmark, config: RunConfig) -> tuple[Benchmark, RunConfig, JudgesTable | None]:
    """Return what judges of a paper's released replies are asked, and how; with --as-published as its own were, by the labels as shipped.

    The table of these judges comes with it; None where it is not as published.

    Raises:
        UsageError: no table of judges beside people is on record, or an option contradicts its protocol.
    """
    if not config.as_published:
        return benchmark, config, None
    table = protocols.read(benchmark.folder).judges
    if table is None:
        raise UsageError(
            f"{benchmark.name}: no paper's table of judges beside people is on record here, so rate --as-published sets nothing; leave it out"
        )
    judged, config = protocol([benchmark], config, None)
    if table.category:
        instrument = benchmark.brought and msgspec.structs.replace(benchmark.brought, category=table.category)
        judged = msgspec.structs.replace(
            benchmark, rubric=judged.rubric, protocol=table.category, brought=instrument, shares=judged.shares
        )
    if table.own_left_out:
        own_family = msgspec.structs.replace(config.judging, own_family=True)
        config = msgspec.structs.replace(config, judging=own_family)
        config.notice("replies by a judge's own family are rated as in the paper; its row leaves its own system out")
    words = _lacking_words(table.words, benchmark)
    config.notice(
        f"as published, beside {table.compares_with}: "
        + (f"still to bring: {words}" if words else "nothing is left to bring")
    )
    return judged, config, table


def _contradiction(replica: Replica, config: RunConfig, tags: Mapping[str, tuple[str, ...]]) -> str:
    """Say which option of the user's is another than the paper's; empty where none is."""
    for options, usual in ((config.asking, Asking()), (config.judging, Judging())):
        for name, wanted in _fields(options, replica).items():
            chosen = getattr(options, name)
            if chosen not in (getattr(usual, name), wanted):
                option = f"--{name.replace('_', '-')}"
                return f"{option} is {_written(wanted)} in the paper, and {_written(chosen)} was asked for"
    tag = next((tag for tag, values in replica.tags.items() if tag in tags and {*tags[tag]} != {*values}), None)
    if tag is not None:
        return f"--where {tag} is {', '.join(replica.tags[tag])} in the paper, and {', '.join(tags[tag])} was asked for"
    return ""


def _written(value: Any) -> str:
    if value is None:
        return "the model's own"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _fields(options: Asking | Judging, replica: Replica) -> dict[str, Any]:
    """Return what a protocol says of these options."""
    unlimited = {
        name.replace("max_tokens", "limit"): False
        for name, value in replica.options.items()
        if name.endswith("max_tokens") and value == _OWN
    }
    values = {name: value for name, value in (replica.options | unlimited).items() if name in options.__struct_fields__}
    return {name: _value(name, value) for name, value in values.items()}


def _value(name: str, value: Any) -> Any:
    if name == "ask":
        return (PromptStyle(value),)
    if name == "mode":
        return Mode(value)
    return None if value == _OWN else value


def _asked(benchmark: Benchmark, replica: Replica) -> Benchmark:
    """Return a benchmark with the items, criteria and prompts of a protocol."""
    rubric = benchmark.rubric.restricted(replica.criteria) if replica.criteria else benchmark.rubric
    own_rubric, brought = protocols.own_rubric(replica, benchmark.folder), benchmark.brought
    if own_rubric is not None:
        rubric = own_rubric
        brought = brought and msgspec.structs.replace(brought, replaces=own_rubric)
    rubric = rubric if brought else rubric.without_misfit()
    for kind, other in replica.prompts.items():
        if brought is not None:
            brought.need(other)
            brought = msgspec.structs.replace(brought, kinds=(*brought.kinds, *[kind] * (other in brought.kinds)))
    criteria = tuple(
        msgspec.structs.replace(c, not_applicable={}) if c.name in replica.unconditional else c for c in rubric.criteria
    )
    prompts = {**benchmark.prompts, **{kind: benchmark.prompts[other] for kind, other in replica.prompts.items()}}
    return msgspec.structs.replace(
        benchmark,
        rubric=msgspec.structs.replace(rubric, criteria=criteria),
        prompts={
            kind: {k: p for k, p in by_language.items() if k == replica.language} or by_language
            for kind, by_language in prompts.items()
        },
        readings=(*benchmark.readings, *benchmark.replica_readings),
        names_in=tuple(replica.names_in),
        shares=replica.shares,
        brought=brought,
        read=benchmark.readers[replica.reader] if replica.reader else benchmark.read,
        keep={tag: tuple(values) for tag, values in replica.tags.items()},
        notes=None if replica.reader else benchmark.notes,
        variants=None if replica.reader else benchmark.variants,
        judged_part=None if replica.whole_reply else benchmark.judged_part,
    )


def to_bring(
    replica: Replica | None, benchmark: Benchmark, data: Path | None, samples: Sequence[Sample], judges: Sequence[str]
) -> list[str]:
    """Return what stands between a run and the paper's table, each in words; nothing where it may stand beside it.

    Args:
        replica: the protocol; None for none.
        benchmark: as it is asked.
        data: where the authors' files lie.
        samples: that are asked about.
        judges: who rates replies.
    """
    if replica is None:
        return []
    words = _lacking_words(replica.words, benchmark)
    lacking = [
        *(["the authors' files with --data, so it asks our own samples"] if data is None else []),
        *([words] if words else []),
        *(
            [f"the paper's judge {replica.judge} with --judge"]
            if replica.judge and not _among(replica.judge, judges)
            else []
        ),
    ]
    if data is not None and replica.items and len(samples) != replica.items:
        lacking.append(f"all {count(replica.items)} items: {plural(len(samples), 'was', 'were')} asked about")
    if replica.examples and not any(s.tags.get("split") == "train" for s in (benchmark.read(data) if data else [])):
        lacking.append("the authors' training part, so the examples are ours")
    return lacking


def _lacking_words(files: Sequence[str], benchmark: Benchmark) -> str:
    """Say which of a paper's words the user has not brought; empty where none is lacking.

    A judge's prompt without a slot `{rubric}` holds the rubric itself; with one, it shows ours where the folder has none.
    """
    instrument, words, settings = benchmark.brought, [*files], list[str]()
    if instrument is not None:
        kinds = [kind for kind in instrument.kinds if kind.startswith(("ask", "judge"))]
        prompts = [p for kind in kinds for p in benchmark.prompts[kind].values()]
        slots = {slot for prompt in (*prompts, *instrument.opening.values()) for slot in prompt.slots}
        worded = not {"rubric.toml", *benchmark.shipped_instrument}.isdisjoint(instrument.files)
        words = [file for file in files if file not in instrument.files and (file != "rubric.toml" or not kinds)]
        words += ["rubric.toml"] * bool(kinds and {"rubric", "order"} & slots and not worded)
        words += ["{form}"] * ("form" in slots)
        settings += ["answer"] * bool(kinds and not benchmark.names_in and instrument.answer is None)
        settings += ["fence = false"] * bool(kinds and not instrument.bare)
    parts = [f"the words of {named(words, limit=len(words))} with --instrument DIR, so these are ours"] if words else []
    parts += [f"{named(settings)} in instrument.toml, so our form is sent"] if settings else []
    return "; ".join(parts)


def _among(judge: str, judges: Sequence[str]) -> bool:
    """Whether a judge is among those named, by whatever provider or address; a dated build of it is it, a smaller sibling is not."""
    model = re.compile(rf"(?:.*[/#:])?{re.escape(judge)}(?:-\d{{4}}(?:-\d\d-\d\d)?)?(?: \(.*\))?", re.DOTALL)
    return any(model.fullmatch(name) for name in judges)


def noted(replica: Replica | None, lacking: Sequence[str]) -> dict[str, Any]:
    """Return what the manifest says of a run under a paper's protocol; nothing where it is under none."""
    if replica is None:
        return {}
    reasons = [*lacking, *([] if replica.compares_with else [replica.no_table])]
    entry = {
        "protocol": replica.name,
        "table": replica.compares_with,
        "comparable": not reasons,
        "lacks": reasons,
        "not_stated": replica.not_stated,
        "but_for": replica.not_rebuilt,
    }
    return {protocols.RECORD: entry}


def told(replica: Replica | None, lacking: Sequence[str]) -> list[str]:
    """Say in one line what the user must still bring; nothing where there is no protocol."""
    if replica is None:
        return []
    table = f"beside {replica.compares_with}" if replica.compares_with else replica.no_table
    rest = f"still to bring: {'; '.join(lacking)}" if lacking else "nothing is left to bring"
    by_design = f"; by design it differs in this: {'; '.join(replica.not_rebuilt)}" if replica.not_rebuilt else ""
    return [f"as published ({replica.name}), {table}: {rest}{by_design}"]
