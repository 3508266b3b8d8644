"""A profile of three invented models whose every number is known, and what stands behind its headlines."""

from collections.abc import Mapping

from mindgauge.analysis.profile import DimensionScore, Profile, TaskScore
from mindgauge.analysis.profile.records import FigureKind, FigureMark, TaskFigure
from mindgauge.reports.content import System
from mindgauge.reports.profile import overview, records, section
from mindgauge.reports.profile.records import DimensionPart

MODELS = ("acme/alpha-2", "beta<b>bold</b>", "gamma")
SYSTEMS = [System(model, model, 0, number) for number, model in enumerate(MODELS)]
JUDGE = "acme/judge-1"
TASKS: dict[str, dict[str, tuple[float | None, ...]]] = {
    "Counselling tasks": {"knowledge": (0.82, 0.61, 0.35), "emotion": (0.55, 0.58, 0.2)},
    "Crisis detection": {"severity": (0.48, 0.5, 0.12), "escalation": (0.7, 0.66, None)},
    "Resisting misuse": {"jailbreak": (0.91, 0.72, 0.4)},
    "Even support across groups": {"fairness": (0.88, 0.93, 0.95)},
    "Keeping confidences": {"privacy_awareness": (0.8, 0.65, 0.2)},
    "Steadiness under noise": {"robustness_support": (0.75, 0.6, 0.55)},
    "Resisting sycophancy": {"sycophancy_oeq": (0.42, 0.47, 0.3)},
    "Ethical dilemmas": {"ethics": (0.6, 0.74, 0.36)},
}
WHY = "acme/judge-1 gave no verdict"
HALF = 0.08
CLOSED = {"knowledge", "emotion", "severity", "ethics"}


def task_score(dimension: str, task: str, place: int, *, n: int = 60) -> TaskScore:
    """Return the score of one model in one task."""
    value = TASKS[dimension][task][place]
    bounds = (None, None) if value is None else (max(value - HALF, 0.0), min(value + HALF, 1.0))
    order = sorted((v for v in TASKS[dimension][task] if v is not None), reverse=True)
    rank = None if value is None else float(order.index(value) + 1)
    return TaskScore(
        suite="trustmh", dimension=dimension, task=task, title=task.replace("_", " ").capitalize(), benchmark=f"trustmh/{task}",
        model=MODELS[place], rater="" if task in CLOSED else JUDGE, metric="accuracy" if task in CLOSED else "mean",
        criterion="quality", better="higher", value=value, low=bounds[0], high=bounds[1], scaled=value, scaled_low=bounds[0],
        scaled_high=bounds[1], chance=0.25 if task in CLOSED else None, n=n, clusters=n, missing=2, worst=value, best=value,
        defined="upstream" if task in CLOSED else "ours", rank=rank, rank_low=rank, rank_high=rank,
        note=WHY if value is None else "",
    )  # fmt: skip


def dimension_score(dimension: str, place: int) -> DimensionScore:
    """Return the score of one model in one dimension, over the tasks that all models have."""
    common = [task for task, values in TASKS[dimension].items() if None not in values]
    means = [sum(TASKS[dimension][task][m] or 0.0 for task in common) / len(common) for m in range(len(MODELS))]
    value = means[place]
    near = tuple(MODELS[m] for m, mean in enumerate(means) if m != place and abs(mean - value) < 0.1)
    rank = float(sorted(means, reverse=True).index(value) + 1)
    return DimensionScore(
        suite="trustmh", dimension=dimension, model=MODELS[place], value=value, low=value - HALF, high=value + HALF,
        tasks=tuple(common), lacking=tuple(t for t in TASKS[dimension] if t not in common), rank=rank,
        rank_low=max(1.0, rank - bool(near)), rank_high=min(float(len(MODELS)), rank + bool(near)), indistinguishable=near,
        mean_rank=rank, rank_of_mean_rank=rank,
    )  # fmt: skip


def profile(models: int = len(MODELS)) -> Profile:
    """Return the profile of the first models."""
    places = range(models)
    return Profile(
        suite="trustmh",
        runs=["run"],
        models=list(MODELS[:models]),
        judge=JUDGE,
        tasks=[task_score(d, t, place) for d, tasks in TASKS.items() for t in tasks for place in places],
        dimensions=[dimension_score(d, place) for d in TASKS for place in places],
        lacking=["Psychological intervention (trustmh/intervention): not in these runs; data: ask the authors"],
        notes=["Severity identification: 2 samples have different targets in different runs; left out"],
    )


def mark(part: str, of: str, value: float | None, half: float = 0.05, beside: float | None = None) -> FigureMark:
    """Return a mark with an interval of known width."""
    low, high = (None, None) if value is None else (value - half, value + half)
    around = (None, None) if beside is None else (beside - half, beside + half)
    return FigureMark(part, of, value, low, high, 20, 20, 0, beside, *around)


def panels(models: int = len(MODELS)) -> list[TaskFigure]:
    """Return a panel of each kind for the first models."""
    return [panel for place in range(models) for panel in _of_model(place)]


def _of_model(place: int) -> list[TaskFigure]:
    model, worse = MODELS[place], 0.1 * place
    curves = [mark("", "", 0.8 - worse)]
    curves += [
        mark(noise, f"{at:.2f}", 0.8 - worse - at * (depth + 1) * (0.3 + worse))
        for depth, noise in enumerate(("character", "word", "sentence"))
        for at in (0.05, 0.1, 0.2, 0.3)
    ]
    axes = {
        "race": ("White", "Black", "Asian"),
        "gender": ("man", "woman", "non-binary"),
        "neutral": ("hobby", "weather", "pet"),
    }
    groups = [
        mark(axis, group, (number - 1) * (0.01 if axis == "neutral" else 0.04 + worse / 4), 0.02)
        for axis, names in axes.items()
        for number, group in enumerate(names)
    ]  # fmt: skip
    outcomes = [
        mark(method, outcome, share)
        for number, method in enumerate(("", "scenario", "no punctuation", "Refusal sentence prohibition"))
        for outcome, share in zip(
            ("complied", "safe_redirect", "refused", "no verdict"),
            (0.05 * (number + 1) + worse, 0.2, 0.7 - 0.05 * (number + 1) - worse, 0.05),
            strict=True,
        )
    ]
    people = [
        mark("2a", f"item{i}", min(100.0, max(-100.0, 50 * round((-100 + 10 * i) * (1 - 4 * worse) / 50))), beside=-100.0 + 10 * i)
        for i in range(21)
    ]  # fmt: skip
    rates = {"emotional_validation": (0.7, 0.4), "indirect_action": (0.5, 0.55), "accept_framing": (0.8 - worse, 0.3)}
    support = ("trustmh/robustness_support", "robustness_support", model, JUDGE, "quality", False)
    return [
        TaskFigure(FigureKind.CURVES, *support, curves),
        TaskFigure(FigureKind.GROUPS, "trustmh/fairness", "fairness", model, JUDGE, "quality", False, groups, [mark("neutral", "noise floor", 0.01)]),
        TaskFigure(FigureKind.OUTCOMES, "trustmh/jailbreak", "jailbreak", model, JUDGE, "outcome", False, outcomes),
        TaskFigure(
            FigureKind.PEOPLE, "trustmh/privacy_awareness", "privacy_awareness", model, "", "appropriateness", True, people,
            [mark("2a", "Pearson's r", 0.9 - worse)],
        ),
        *(
            TaskFigure(FigureKind.RATES, "trustmh/sycophancy_oeq", "sycophancy_oeq", model, JUDGE, name, False, [mark(name, "", mine, beside=theirs)])
            for name, (mine, theirs) in rates.items()
        ),
    ]  # fmt: skip


def dimensions(who: Mapping[str, System]) -> list[DimensionPart]:
    """Return every dimension of the profile with all its pictures."""
    whole, behind = profile(), panels()
    found = []
    for name, tasks in TASKS.items():
        scores = [score for score in whole.tasks if score.dimension == name]
        drawn = section.profile_pictures(scores, [panel for panel in behind if panel.task in tasks], who)
        anchor = f"profile-{name.casefold()}"
        said = records.rank_phrases(
            [d for d in whole.dimensions if d.dimension == name], records.labels_of(who), few=False
        )
        found.append(
            DimensionPart(
                anchor, name, said, drawn, [], [], overview.tasks(scores, anchor, name, records.labels_of(who)), [], []
            )
        )
    return found
