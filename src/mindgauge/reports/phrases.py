"""Sentences that follow from one number, by rule. Whole numbers, n always, and the bound that matters for safety."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.reports.numbers import SMALL, count, decimal, listed, percent, plural, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.score import Score

NOTHING = "none"
_MESSAGES = {
    "missed_crisis_rate": "that shows a crisis",
    "overcalled_crisis_rate": "without a crisis",
}


def hits(share: float | None, n: int) -> int:
    """Return how many of n a share is."""
    return round((share or 0.0) * n)


def _base(score: Score, what: str) -> str:
    """Say what a share is of: messages, or answers to messages where each was asked about more than once."""
    many = what.replace("shows", "show")
    if score.n > score.clusters:
        return f"{count(score.n)} answers to {plural(score.clusters, f'message {what}', f'messages {many}')}"
    return plural(score.n, f"message {what}", f"messages {many}")


def bound(share: float | None, low: float | None, high: float | None, *, feared: str) -> str:
    """Say a share with the end of its interval that is to be feared: `many` events, or `few`."""
    end = high if feared == "many" else low
    if share is None or end is None:
        return percent(share)
    at_end = share >= 1 if feared == "many" else share <= 0
    if at_end:
        return percent(share)
    return f"{percent(share)}; it could be as {feared} as {percent(end)}"


def called(score: Score, what: str, done: str, undone: str) -> str:
    """Say how often something unwanted happened, and what the missing answers could add to it."""
    if score.missing >= score.n:
        return f"None of its answers on the {_base(score, what)} could be used, so nothing can be said about them."
    number = hits(score.value, score.n)
    if score.n == 1:
        return f"There was one message {what}, and the model {done if number else undone}; one message shows next to nothing."
    if number == 0:
        limit = f"; it could still be as many as {percent(score.high)}" if score.high is not None else ""
        text = f"Of {_base(score, what)}, the model {done} in no case (0 %{limit})"
    elif number == score.n:
        text = f"Of {_base(score, what)}, the model {done} in every case ({bound(score.value, score.low, score.high, feared='few')})"
        text = text.replace("(100 %)", f"({percent(score.value)}; at least {percent(score.low)})")
    else:
        text = f"Of {_base(score, what)}, the model {done} in {count(number)} ({bound(score.value, score.low, score.high, feared='many')})"
    if score.missing:
        worst = hits(score.worst, score.n)
        text += (
            f"; {plural(score.missing, 'answer')} could not be used, and if {'it' if score.missing == 1 else 'they'} "
            f"had gone wrong too it would be {count(worst)} ({percent(score.worst)})"
        )
    return text + "."


def missed(score: Score) -> str:
    """Say how many crises were taken for none."""
    return called(score, _MESSAGES["missed_crisis_rate"], "saw no crisis", "saw a crisis")


def overcalled(score: Score) -> str:
    """Say how often a crisis was seen where there is none."""
    return called(score, _MESSAGES["overcalled_crisis_rate"], "saw a crisis", "saw none")


def right(score: Score) -> str:
    """Say how many answers agree with the label."""
    if score.missing >= score.n:
        return f"None of its {plural(score.n, 'answer')} could be used."
    text = f"It named the right class in {count(hits(score.value, score.n))} of {plural(score.n, 'answer')}"
    return f"{text} ({bound(score.value, score.low, score.high, feared='few')})."


def least_recognised(recalls: Sequence[Score]) -> str:
    """Name the class that is recognised least; empty where there is nothing to compare."""
    known = [r for r in recalls if r.value is not None and r.missing < r.n]
    if len(known) < 2:
        return ""
    lowest = min(r.value for r in known if r.value is not None)
    worst = [r for r in known if r.value == lowest]
    if len(worst) == len(known):
        return ""
    names = listed([f"{words(r.slice)} ({count(hits(r.value, r.n))} of {count(r.n)})" for r in worst[:3]])
    more = f" and {len(worst) - 3} more" if len(worst) > 3 else ""
    return f"It recognised {names}{more} least."


def rated(rater: str, person: bool, what: str, levels: dict[int, int], top: tuple[int, ...], bottom: tuple[int, ...], clusters: int) -> str:
    """Say how one rater rated replies, from how often each level was given.

    Args:
        rater: its name.
        person: whether it is one.
        what: what the replies are replies to.
        levels: level → how many verdicts.
        top: the levels that count as good.
        bottom: the levels that count as bad.
        clusters: conversations behind the verdicts, which decide how wide the bound is.
    """
    from mindgauge.stats.proportion import clopper_pearson

    n = sum(levels.values())
    who = f"{'The person' if person else 'The judge'} {rater}"
    if not n:
        return f"{who} gave no usable verdict on its replies{what}, so nothing can be said about them."
    good, bad = (sum(levels.get(level, 0) for level in some) for some in (top, bottom))
    high = clopper_pearson(bad / n * clusters, clusters).high
    unit = "reply" if n == clusters else "verdict"
    of = f"{plural(n, 'reply', 'replies')}{what}" if unit == "reply" else f"{plural(n, 'verdict')} on replies{what}"
    limit = f"{percent(bad / n)}; it could be as many as {percent(high)}" if bad < n else percent(bad / n)
    lowest = levels.get(bottom[0], 0)
    harm = f", {'none' if not lowest else count(lowest)} of them at {bottom[0]}" if len(bottom) > 1 and bad else ""
    mean = sum(level * k for level, k in levels.items()) / n
    verb = f"{who} rated {of}" if unit == "reply" else f"{who} gave {of}"
    return (
        f"{verb}: {count(good) if good else 'none'} at {_range(top)} and {count(bad) if bad else 'none'} at {_range(bottom)} ({limit}){harm}; "
        f"the mean is {decimal(mean, 1)} on the scale from {min((*bottom, *top))} to {max(top)}."
    )


def _range(levels: tuple[int, ...]) -> str:
    return f"{levels[0]} or {levels[-1]}" if len(levels) > 1 else str(levels[0])


def lowest_category(means: Sequence[Score]) -> str:
    """Name the category whose replies are rated lowest; empty where there is nothing to compare."""
    known = [m for m in means if m.value is not None]
    if len(known) < 2:
        return ""
    lowest = min(m.value for m in known if m.value is not None)
    worst = [m for m in known if m.value == lowest]
    if len(worst) == len(known):
        return ""
    names = listed([words(m.slice) for m in worst[:3]]) + (f" and {len(worst) - 3} more" if len(worst) > 3 else "")
    ns = listed(sorted({count(m.n - m.missing) for m in worst[:3]}))
    return f"Lowest were replies to {names}, with a mean of {decimal(lowest, 1)} (n {ns})."


def spread(score: Score, of: str) -> str:
    """Say what the missing verdicts could do to a mean."""
    if score.missing >= score.n or not score.missing:
        return ""
    return (
        f"{plural(score.missing, 'verdict')} of {count(score.n)} by {score.rater} {'is' if score.missing == 1 else 'are'} missing; {of} "
        f"would lie between {decimal(score.worst, 1)} and {decimal(score.best, 1)} if all of them were the worst or the best."
    )


def small(clusters: int) -> str:
    """Warn where few conversations stand behind the numbers."""
    if clusters >= SMALL:
        return ""
    if clusters == 1:
        return "One conversation stands behind this; it is an example, not a measurement."
    return f"Only {clusters} conversations stand behind this, so every share and mean here is rough."
