"""How the plan of a run grows: what may join it, what may not differ, and how both are said in words.

A plan is a crossing: messages by models by repeats, judged by judges by repeats. Each of these may become more. What
changes answers (a temperature, a system message, the words of a criterion, the mode, the protocol) is the same for
everything in a run, else its numbers would be about two things under one name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.records.english import named
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Plan = dict[str, Any]
BY_BENCHMARK = ("benchmarks", "instruments", "samples")
"""Lists with a place for each benchmark. The hashes of samples and replies are written anew when these are in the run."""
_REPEATS = {"runs": "replies per message", "judge_runs": "verdicts per reply"}
_LISTS = {
    "models": "model",
    "judges": "judge",
    "methods": "method",
    "ask": "way of asking",
    "data": "data",
    "clients": "client",
    "units": "unit",
}
_USUAL = {"methods": ["rule"], "ask": ["flat"]}
"""What a plan without the entry means."""
_EXAMPLES = ("shots", "shot_seed")
"""What is fixed once a question is put with examples."""
_OF_UNITS = ("whole_with",)
"""What is fixed once whole dialogues are rated."""
_OF_JUDGES = ("protocol", "judge_temperature", "judge_max_tokens", "judge_top_p", "judge_seed", "judge_limit")
"""What changes nothing in a run that nobody has judged."""
_OF_COMMANDS = ("rate", "compared", "stress", "loaded", "unit", "text")
"""Entries that no option gives."""
EXAMPLES_SHOWN = "examples shown"
_PHRASES = {EXAMPLES_SHOWN: "the examples shown in"}
_PARTS = {"system": "the system message", "headers": "the set of headers", "parameters": "the set of parameters"}


class Growth(NamedTuple):
    """The plan of a run after a command, and how it comes about."""

    plan: Plan
    differences: list[str]
    """What changes answers and is not as in the run, each in words; such a command is refused."""
    joined: dict[str, Any]
    """What joins, for the history in the manifest."""
    kept: list[str]
    """What the run holds beyond the command, in words."""


def union(standing: Mapping[str, Any], planned: Mapping[str, Any], *, judged: bool = True) -> Growth:
    """Return the union of a run's plan and that of a command.

    Args:
        standing: the plan of the run.
        planned: the plan of the command.
        judged: whether somebody has judged in the run.
    """
    growth = Growth(dict(standing), [], {}, [])
    judged = judged or bool(standing.get("judges"))
    _benchmarks(growth, standing, planned)
    for name, kind in _LISTS.items():
        _join(growth, standing, planned, name, kind)
    for name, kind in _REPEATS.items():
        before, after = standing.get(name, 1), planned.get(name, 1)
        if after < before:
            growth.kept.append(f"{before} {kind} (this command says {after})")
        elif after > before:
            growth.plan[name] = after
            growth.joined[name] = [before, after]
    growth.differences.extend(setup_differences(standing, planned, _names(standing) & _names(planned)))
    setups = {**standing.get("setups", {}), **planned.get("setups", {})}
    growth.plan.update({"setups": setups} if setups else {})
    _words(growth, standing, planned)
    _shown(growth, standing, planned)
    looked_at = {*BY_BENCHMARK, *_LISTS, *_REPEATS, "replies", "setups", "words", "calls", "shown"}
    for name in {**standing, **planned}:
        before, after = standing.get(name), planned.get(name)
        if name in looked_at or before == after:
            continue
        absent = name in {*_EXAMPLES, *_OF_UNITS} and None in (before, after)
        if absent or (name in _OF_JUDGES and not judged):
            growth.plan.update({name: after} if after is not None else {})
        else:
            growth.differences.append(_difference(name, before, after))
    return growth


def differences(standing: Mapping[str, Any], planned: Mapping[str, Any]) -> list[str]:
    """Return where two plans that cannot grow differ, each in words."""
    return [
        f"{name}: there {standing.get(name)!r}, asked {planned.get(name)!r}"
        for name in {**planned, **standing}
        if planned.get(name) != standing.get(name)
    ]


def setup_differences(standing: Mapping[str, Any], planned: Mapping[str, Any], names: set[str]) -> list[str]:
    """Return how the set-ups of models differ from those of a run, by the entry `setups` of both plans.

    Args:
        standing: of the run: model → what it was set up with.
        planned: of a command.
        names: of the models that are in both.
    """
    faults = []
    for name in sorted(names):
        before, after = standing.get("setups", {}).get(name, {}), planned.get("setups", {}).get(name, {})
        parts = [_PARTS.get(part, part) for part in sorted({*before, *after}) if before.get(part) != after.get(part)]
        if parts:
            other = "is another one" if len(parts) == 1 else "are others"
            faults.append(
                f"{_all(parts)} of {name} {other} than this run's: a new build has a new --out, or another --label beside the old one"
            )
    return faults


def told(joined: Mapping[str, Any]) -> str:
    """Say what joined a run, from an entry of its history."""
    parts = [f"{plural(count, 'message')} of {name}" for name, count in joined.get("samples", {}).items()]
    parts += [f"{plural(count, 'reply', 'replies')} of {name}" for name, count in joined.get("replies", {}).items()]
    parts += [f"the benchmark {name}" for name in joined.get("benchmarks", ())]
    parts += [f"the {kind} {name}" for key, kind in _LISTS.items() for name in joined.get(key, ())]
    parts += [
        f"{kind}: {after} rather than {before}"
        for key, kind in _REPEATS.items()
        if key in joined
        for before, after in [joined[key]]
    ]
    parts += [
        f"the {'criterion' if len(names) == 1 else 'criteria'} {_all(names)} of {name}, asked in calls of their own"
        for name, names in joined.get("criteria", {}).items()
    ]
    return "; ".join(parts)


def refusal(folder: object, faults: Sequence[str]) -> str:
    """Say why a command cannot go on with a run, and what to do: all that differs at once."""
    return f"{folder} holds a run with another plan ({'; '.join(faults)}); repeat that plan to continue it, or choose another --out"


def _names(plan: Mapping[str, Any]) -> set[str]:
    return {*plan.get("models", ()), *plan.get("judges", ())}


def _benchmarks(growth: Growth, standing: Mapping[str, Any], planned: Mapping[str, Any]) -> None:
    before, after = list(standing.get("benchmarks", [])), list(planned.get("benchmarks", []))
    families = {name.partition("/")[0] for name in before}
    strangers = [name for name in after if name.partition("/")[0] not in families]
    if strangers:
        growth.differences.append(f"{_all(strangers)}: of another family than {_all(before)}")
    added = [name for name in after if name not in before]
    places = {name: place for place, name in enumerate(after)}
    for key in BY_BENCHMARK:
        values = list(standing.get(key, []))
        for place, name in enumerate(before):
            if key == "instruments" and name in places and place < len(values):
                values[place] = planned[key][places[name]]  # criteria may have joined; `words` refuses what differs
        growth.plan[key] = [*values, *(planned[key][places[name]] for name in added)]
    if added:
        growth.joined["benchmarks"] = added
    rest = [name for name in before if name not in after]
    if rest:
        growth.kept.append(f"{plural(len(rest), 'further benchmark')} ({_all(rest)})")


def _join(growth: Growth, standing: Mapping[str, Any], planned: Mapping[str, Any], name: str, kind: str) -> None:
    usual = _USUAL.get(name, [])
    before, after = list(standing.get(name, usual)), list(planned.get(name, usual))
    added, rest = [entry for entry in after if entry not in before], [entry for entry in before if entry not in after]
    if name in standing or name in planned:
        growth.plan[name] = before + added
    if added:
        growth.joined[name] = added
    if rest and name != "data":
        growth.kept.append(f"the {kind} {_all(rest)}" if len(rest) == 1 else f"the {kind}s {_all(rest)}")


def _words(growth: Growth, standing: Mapping[str, Any], planned: Mapping[str, Any]) -> None:
    """Hold the words of criteria and prompts against the run's; new ones join, in calls of their own."""
    words = {name: dict(parts) for name, parts in standing.get("words", {}).items()}
    calls = dict(standing.get("calls", {}))
    for name, parts in planned.get("words", {}).items():
        before = words.get(name)
        if before is None:
            words[name] = dict(parts)
            continue
        changed = [part for part in before if part in parts and parts[part] != before[part]]
        removed = [part for part in before if part not in parts and part.startswith(CRITERION)]
        growth.differences.extend(
            f"{_PHRASES.get(part, f'the words of the {part} of')} {name} are not this run's" for part in changed
        )
        growth.differences.extend(f"the {part} of {name}, which this run has, is gone" for part in removed)
        old = [part.removeprefix(CRITERION) for part in before if part.startswith(CRITERION)]
        new = [part.removeprefix(CRITERION) for part in parts if part.startswith(CRITERION) and part not in before]
        if new:
            calls[name] = [*calls.get(name, [old]), new]
            growth.joined.setdefault("criteria", {})[name] = new
        words[name] = {**before, **parts}
    growth.plan.update({"words": words} if words else {})
    growth.plan.update({"calls": calls} if calls else {})


CRITERION = "criterion "
"""Before a criterion's name among the words of a plan."""


def _shown(growth: Growth, standing: Mapping[str, Any], planned: Mapping[str, Any]) -> None:
    ids: dict[str, list[str]] = dict(standing.get("shown", {}))
    for name, values in planned.get("shown", {}).items():
        ids[name] = sorted({*ids.get(name, ()), *values})
    growth.plan.update({"shown": ids} if ids else {})


def _difference(name: str, before: object, after: object) -> str:
    """Say how an entry that must be the same differs."""
    if name in _OF_COMMANDS:
        return f"it is of another command ({name}: there {before!r}, asked {after!r})"
    option = f"--{name.replace('_', '-')}"
    return f"{option} is {_said(after)}, this run's is {_said(before)}"


def _said(value: object) -> str:
    return "not given" if value is None else f"{value}"


def _all(names: Sequence[str]) -> str:
    return named(names, limit=len(names))
