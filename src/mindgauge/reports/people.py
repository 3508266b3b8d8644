"""What a report says of people who labelled in rounds: who, whether they agreed before and after, what stayed open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindgauge.records.english import named, words
from mindgauge.records.rounding import count, decimal, interval, percent, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

_ALL = 8
"""So many names are told; of more, the first ones."""
_COEFFICIENTS = {"fleiss": "Fleiss' kappa", "alpha": "Krippendorff's ordinal alpha"}
_POLICIES = {
    "unanimous": "by all alike",
    "majority": "by a majority",
    "adjudicated": "by the adjudicator",
    "single": "by one person alone",
}


def rounds(manifest: dict[str, Any]) -> str:
    """Tell in one paragraph how people labelled; empty where a run's manifest knows of no batch that is closed."""
    told = manifest.get("annotation", {})
    if not told.get("batches"):
        return ""
    return " ".join([
        _who(told),
        *_training(told),
        _gate(told),
        *_agreement(told),
        _gold(told),
    ])  # fmt: skip


def labelled_by(manifest: dict[str, Any]) -> str:
    """Name those who labelled and who decided; empty where nobody did."""
    told = manifest.get("annotation", {})
    if not told.get("batches"):
        return ""
    decided = told.get("adjudicators")
    return named(told["annotators"], most=_ALL) + (f"; {named(decided)} adjudicated" if decided else "")


def _who(told: dict[str, Any]) -> str:
    people, batches = told["annotators"], told["batches"]
    items = sum(batch["items"] for batch in batches)
    alone = (
        "each alone, not seeing models, judges or each other's labels"
        if len(people) > 1
        else "not seeing models or judges"
    )
    several = f" in {count(len(batches))} batches" if len(batches) > 1 else ""
    return f"{named(people, most=_ALL)} labelled {plural(items, 'item')}{several}, {alone}."


def _training(told: dict[str, Any]) -> Iterator[str]:
    """Say what share of the anchors each person placed rightly, over all criteria."""
    shares = []
    for person in told["annotators"]:
        mine = [found for found in told.get("training", []) if found["person"] == person]
        n = sum(found["n"] for found in mine)
        if n:
            shares.append(f"{person} {percent(sum(found['right'] * found['n'] for found in mine) / n)}")
    if shares:
        yield f"Of the training round's anchors they placed rightly at once: {', '.join(shares)}."


def _gate(told: dict[str, Any]) -> str:
    """Say how many batches reached the gate, and when."""
    at_once = after = never = 0
    for batch in told["batches"]:
        passed = [found["passed"] for found in batch["rounds"]]
        at_once += bool(passed) and passed[0]
        after += any(passed[1:])
        never += not any(passed)
    gate = decimal(told["gate"])
    if len(told["batches"]) > 1:
        return (
            f"The gate was {gate}: {count(at_once)} of {count(len(told['batches']))} batches reached it at once, {count(after)} after "
            f"review or discussion, {count(never)} did not."
        )
    how = "reached at once" if at_once else "reached after review or discussion" if after else "not reached"
    return f"The gate was {gate}; it was {how}."


def _agreement(told: dict[str, Any]) -> Iterator[str]:
    """Give each criterion's coefficient before anybody knew of the others' labels, and in the last round measured."""
    measured: dict[str, dict[str, list[list[dict[str, Any]]]]] = {}  # coefficient → criterion → batch → round
    for batch in told["batches"]:
        by_criterion: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for figure in (figure for found in batch["rounds"] for figure in found["figures"]):
            by_criterion.setdefault((figure["coefficient"], figure["criterion"]), []).append(figure)
        for (coefficient, criterion), figures in by_criterion.items():
            measured.setdefault(coefficient, {}).setdefault(criterion, []).append(figures)
    for coefficient, criteria in measured.items():
        again = any(len(figures) > 1 for batches in criteria.values() for figures in batches)
        values = [
            f"{words(name)} {_values([f[0] for f in batches])}{f', {_values([f[-1] for f in batches])}' if again else ''}"
            for name, batches in criteria.items()
        ]
        when = "after the first round, and after the last" if again else "after the first round"
        yield f"{_COEFFICIENTS[coefficient]} {when}: {'; '.join(values)}."


def _values(figures: list[dict[str, Any]]) -> str:
    """Write the coefficient of one batch with its interval, or the range over several."""
    if len(figures) == 1:
        only = figures[0]
        bounds = f" ({interval(only.get('low'), only.get('high'))}; n {count(only['n'])})"
        return decimal(only["value"]) + bounds if "value" in only else "not defined"
    values = sorted(figure["value"] for figure in figures if "value" in figure)
    if not values:
        return "not defined"
    undefined = f" (not defined in {count(len(figures) - len(values))})" if len(values) < len(figures) else ""
    return f"{decimal(values[0])} to {decimal(values[-1])}{undefined}"


def _gold(told: dict[str, Any]) -> str:
    """Say how the gold was read off, and what stayed open."""
    votes: dict[str, int] = {}
    for batch in told["batches"]:
        for policy, n in batch["gold"].items():
            votes[policy] = votes.get(policy, 0) + n
    settled = [f"{count(votes[policy])} {how}" for policy, how in _POLICIES.items() if votes.get(policy)]
    unsettled = [f"{plural(votes['tie'], 'tie')} kept"] if votes.get("tie") else []
    unsettled += [f"{count(votes['none'])} open, since all handed them on"] if votes.get("none") else []
    left = sum(batch["disagreed"] for batch in told["batches"])
    open_still = (
        f"On {plural(left, 'item')} they were still not of one mind in the end."
        if left
        else "In the end they were of one mind on every item."
    )
    return (
        f"The gold is read off their last labels (policy: {told['policy']}): {', '.join([*settled, *unsettled])}. {open_still} "
        "Judges are compared with what each person said alone, in the first round."
    )
